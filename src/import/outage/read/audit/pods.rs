//! What requests about pods mean.

use rustc_hash::FxHashSet;
use serde::Deserialize;

use super::super::objects::ended_by;
use super::super::objects::fields::{
    ContainerStatus, Metadata, PodSpec, PodStatus, Text, is_by_kubelet, stamp_of, text,
};
use super::account::Account;
use super::calls::Seen;
use super::line::Call;
use crate::arena::Symbol;
use crate::evidence::{Bounds, DeletedBy, PodName, What};
use crate::units::SimDuration;

/// How far the time that an object gives a change may lie before the request that makes it.
const JUST_NOW: SimDuration = SimDuration::from_secs(10);

/// What has been said of pods, so that it is not said again.
#[derive(Debug, Default)]
pub(super) struct Pods {
    finished: FxHashSet<PodName>,
    /// Containers, and when they ended.
    ended: FxHashSet<(PodName, Symbol, Bounds)>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PodObject<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    metadata: Option<Metadata<'a>>,
    spec: Option<PodSpec<'a>>,
    status: Option<PodStatus<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Binding<'a> {
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    target: Option<Metadata<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DeleteOptions {
    grace_period_seconds: Option<i64>,
}

/// The pod that was answered with.
fn answered<'a>(call: &Call<'a>) -> Option<PodObject<'a>> {
    let pod: PodObject<'_> = serde_json::from_str(call.response?.get()).ok()?;
    (text(pod.kind.as_ref()) == "Pod").then_some(pod)
}

fn asked<'a>(call: &Call<'a>) -> Option<PodObject<'a>> {
    serde_json::from_str(call.request?.get()).ok()
}

impl Pods {
    pub(super) fn take(&mut self, call: &Call<'_>, account: Account<'_>, place: u32, seen: &mut Seen) {
        match (call.resource, call.verb, call.subresource) {
            ("pods", "create", "") => self.created(call, place, seen),
            ("pods", "create", "binding") | ("bindings", "create", _) => bound(call, place, seen),
            ("pods", "create", "eviction") => {
                if let Some(pod) = call.pod() {
                    seen.see(call.when, place, What::PodDeletion { pod, by: DeletedBy::Eviction, node: None });
                }
            }
            ("pods", "delete", "") => deleted(call, account, place, seen),
            ("pods", "update" | "patch", "status") => self.reported(call, account, place, seen),
            _ => {}
        }
    }

    fn created(&mut self, call: &Call<'_>, place: u32, seen: &mut Seen) {
        let (answered, asked) = (answered(call), asked(call));
        let metadata = |pod: &Option<PodObject<'_>>| pod.as_ref()?.metadata.as_ref()?.name.as_ref().map(Text::symbol);
        let is_named = |name: &Symbol| !name.is_empty();
        let name = metadata(&answered).or(Some(Symbol::new(call.name)).filter(is_named)).or_else(|| metadata(&asked));
        // Names that the server makes stand only in its answers.
        let Some(name) = name.filter(is_named) else { return };
        let pod = PodName { namespace: call.namespace(), name };
        self.finished.remove(&pod);
        let owner = answered.or(asked).and_then(|pod| pod.metadata?.owner());
        seen.see(call.when, place, What::PodCreated { pod, owner });
    }

    fn reported(&mut self, call: &Call<'_>, account: Account<'_>, place: u32, seen: &mut Seen) {
        let Some(pod) = call.pod() else { return };
        let is_whole = call.verb == "update" || call.request.is_none();
        let Some(object) = (if call.request.is_some() { asked(call) } else { answered(call) }) else { return };
        let status = object.status.unwrap_or_default();
        match account {
            Account::Kubelet(_) => {
                readiness(pod, &status, is_whole, call, place, seen);
                self.containers(pod, &status, place, seen);
                self.end(pod, &status, call, place, seen);
            }
            Account::Controller("node-controller") => readiness(pod, &status, is_whole, call, place, seen),
            Account::Controller("pod-garbage-collector") => self.end(pod, &status, call, place, seen),
            Account::Scheduler => {
                let unbound =
                    status.condition("PodScheduled").filter(|found| text(found.reason.as_ref()) == "Unschedulable");
                if let Some(message) = unbound.and_then(|found| found.message.as_ref()) {
                    seen.see(call.when, place, What::PodUnschedulable { pod, message: message.symbol() });
                }
            }
            _ => {}
        }
    }

    /// A pod that is over. What the kubelet ended for the node's sake is a deletion, too.
    fn end(&mut self, pod: PodName, status: &PodStatus<'_>, call: &Call<'_>, place: u32, seen: &mut Seen) {
        let phase = text(status.phase.as_ref());
        if !matches!(phase, "Succeeded" | "Failed") || !self.finished.insert(pod) {
            return;
        }
        let reason = text(status.reason.as_ref());
        if is_by_kubelet(reason) {
            seen.see(call.when, place, What::PodDeletion { pod, by: DeletedBy::Kubelet, node: None });
        }
        let reason = Symbol::new(reason);
        seen.see(call.when, place, What::PodFinished { pod, is_success: phase == "Succeeded", reason });
    }

    /// Containers that ended: later reports show them again, as their last state.
    fn containers(&mut self, pod: PodName, status: &PodStatus<'_>, place: u32, seen: &mut Seen) {
        for ContainerStatus { name, state, last_state } in status.container_statuses.iter().flatten() {
            let Some(container) = name.as_ref().map(Text::symbol) else { continue };
            for state in [last_state, state].into_iter().flatten() {
                let Some(terminated) = &state.terminated else { continue };
                let Some(when) = stamp_of(terminated.finished_at.as_ref()) else { continue };
                if self.ended.insert((pod, container, when)) {
                    let by = ended_by(terminated, false);
                    seen.see(when, place, What::ContainerEnded { pod, container, by });
                }
            }
        }
    }
}

fn bound(call: &Call<'_>, place: u32, seen: &mut Seen) {
    let body = call.request.and_then(|body| serde_json::from_str::<Binding<'_>>(body.get()).ok());
    let Some(Binding { metadata, target }) = body else { return };
    let named = metadata.and_then(|metadata| metadata.name.as_ref().map(Text::symbol));
    let namespace = call.namespace();
    let pod = call.pod().or_else(|| named.map(|name| PodName { namespace, name }));
    let node = target.and_then(|target| target.name.as_ref().map(Text::symbol));
    if let (Some(pod), Some(node)) = (pod, node) {
        seen.see(call.when, place, What::PodScheduled { pod, node });
    }
}

fn deleted(call: &Call<'_>, account: Account<'_>, place: u32, seen: &mut Seen) {
    let Some(pod) = call.pod() else { return };
    // A kubelet takes away the object of a pod whose containers have ended.
    if matches!(account, Account::Kubelet(_)) {
        return seen.see(call.when, place, What::PodGone { pod });
    }
    let by = account.deletes_as();
    let node = answered(call).and_then(|pod| pod.spec?.node_name.as_ref().map(Text::symbol));
    seen.see(call.when, place, What::PodDeletion { pod, by, node });
    let options = call.request.and_then(|body| serde_json::from_str::<DeleteOptions>(body.get()).ok());
    let is_forced = options.is_some_and(|options| options.grace_period_seconds == Some(0));
    if is_forced || by == DeletedBy::PodGC {
        seen.see(call.when, place, What::PodGone { pod });
    }
}

/// A patch says that a pod is not ready when it becomes so, and when its life on the node begins.
fn readiness(pod: PodName, status: &PodStatus<'_>, is_whole: bool, call: &Call<'_>, place: u32, seen: &mut Seen) {
    let Some(ready) = status.condition("Ready").filter(|ready| ready.status.is_some()) else { return };
    let is_ready = ready.has_status("True");
    let changed = stamp_of(ready.last_transition_time.as_ref());
    let is_recent = changed.is_some_and(|changed| changed.latest.later(JUST_NOW) >= call.when.earliest);
    let is_first = !is_ready && status.start_time.is_some() && !is_whole;
    if !is_first && (is_recent || !is_whole) {
        seen.see(call.when, place, What::PodReady { pod, is_ready });
    }
}
