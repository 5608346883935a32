//! Before a pod is bound its claims are: each gets its volume or node, and the volume binder is waited for.

use rustc_hash::FxHashMap;

use smallvec::SmallVec;

use super::framework::PreBind;
use super::{Scheduler, Tag, Timer};
use crate::arena::Symbol;
use crate::component::{Answer, Ctx, PodStatusPatch, Request};
use crate::engine::Ticket;
use crate::state::{NodeId, Pod, PodId, Store};
use crate::units::SimDuration;

/// A pod that is on a node as far as the scheduler goes, and waits for its volumes.
#[derive(Clone, Debug)]
struct Waiting {
    node: NodeId,
    /// Writes whose answers have not come.
    unanswered: usize,
    /// Whose time is running, and until when.
    timeouts: SmallVec<[(&'static str, Ticket); 1]>,
    /// The next look whether its claims are bound.
    look: Option<Ticket>,
}

/// How often the scheduler looks whether the claims of a pod are bound, and for how long it does not look at first.
const LOOK_PERIOD: SimDuration = SimDuration::from_secs(1);

/// Pods that are not bound yet, though their nodes are chosen.
#[derive(Clone, Debug, Default)]
pub(super) struct PreBindings(FxHashMap<PodId, Waiting>);

impl PreBindings {
    pub(super) fn has(&self, pod: PodId) -> bool {
        self.0.contains_key(&pod)
    }
}

impl Scheduler {
    /// Binds a pod to the node that was chosen for it, after its claims.
    ///
    /// # Source
    /// kube-scheduler, VolumeBinding at Reserve and PreBind. Since 1.35 `nominatedNodeName` says meanwhile where the pod
    /// will go. Without the plugin nobody binds its claims.
    pub(super) fn bind(&mut self, id: PodId, node: NodeId, pre_binds: Vec<PreBind>, ctx: &mut Ctx<'_, Self>) {
        if pre_binds.is_empty() {
            ctx.call(Request::BindPod { pod: id, node }, Tag::Bind(id));
            return;
        }
        nominate(id, node, ctx);
        let mut timeouts = SmallVec::new();
        let mut unanswered = 0;
        for PreBind { plugin, requests, timeout } in pre_binds {
            timeouts.push((plugin, ctx.arm_in(timeout, Timer::BindTimeout(id))));
            unanswered += requests.len();
            for request in requests {
                ctx.call(request, Tag::BindVolume(id));
            }
        }
        self.prebindings.0.insert(id, Waiting { node, unanswered, timeouts, look: None });
    }

    /// A claim got its volume or node, or could not.
    pub(super) fn volume_bound(&mut self, id: PodId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if let Err(error) = answer {
            self.give_up(id, &format!("binding volumes: {}", error.message), ctx);
        } else if let Some(waiting) = self.prebindings.0.get_mut(&id) {
            waiting.unanswered -= 1;
            if waiting.unanswered == 0 {
                waiting.look = Some(ctx.arm_in(LOOK_PERIOD, Timer::LookAtClaims(id)));
            }
        }
    }

    /// The pod is bound if all its claims are; else it is looked at again.
    ///
    /// # Source
    /// kube-scheduler, `volumeBinder.BindPodVolumes`: it polls once a second from the last of its writes on, and not at once.
    pub(super) fn look_at_claims(&mut self, id: PodId, ctx: &mut Ctx<'_, Self>) {
        let (Some(waiting), Some(pod)) = (self.prebindings.0.get_mut(&id), ctx.store.pod(id)) else { return };
        if ctx.store.node(waiting.node).is_none() {
            let name = ctx.store.node_name(waiting.node);
            let why = format!("binding volumes: failed to get node \"{name}\": node \"{name}\" not found");
            self.give_up(id, &why, ctx);
        } else if are_bound(pod, ctx.store) {
            if let Some(node) = self.forget_prebinding(id, ctx) {
                ctx.call(Request::BindPod { pod: id, node }, Tag::Bind(id));
            }
        } else {
            waiting.look = Some(ctx.arm_in(LOOK_PERIOD, Timer::LookAtClaims(id)));
        }
    }

    /// Its volumes were not bound in time.
    pub(super) fn bind_timed_out(&mut self, id: PodId, ctx: &mut Ctx<'_, Self>) {
        self.give_up(id, "binding volumes: context deadline exceeded", ctx);
    }

    /// It waits no longer: goes back to the queue.
    pub(super) fn give_up(&mut self, id: PodId, why: &str, ctx: &mut Ctx<'_, Self>) {
        let plugin =
            self.prebindings.0.get(&id).and_then(|waiting| waiting.timeouts.first()).map(|(plugin, _)| *plugin);
        if self.forget_prebinding(id, ctx).is_some()
            && let Some((pod, plugin)) = ctx.store.pod(id).zip(plugin)
        {
            let message = format!("running PreBind plugin \"{plugin}\": {why}");
            self.binding_failed(id, pod, &message, ctx);
        }
    }

    /// The pod is gone, or its claims are done with.
    pub(super) fn forget_prebinding(&mut self, id: PodId, ctx: &mut Ctx<'_, Self>) -> Option<NodeId> {
        let Waiting { node, timeouts, look, .. } = self.prebindings.0.remove(&id)?;
        for ticket in timeouts.into_iter().map(|(_, ticket)| ticket).chain(look) {
            ctx.cancel(ticket);
        }
        self.algorithm.cache.volumes.release(id);
        Some(node)
    }
}

fn nominate(pod: PodId, node: NodeId, ctx: &mut Ctx<'_, Scheduler>) {
    if ctx.config.version.at_least(35) {
        let patch = PodStatusPatch { nominated_node: Some(Some(node)), ..PodStatusPatch::default() };
        ctx.send(Request::PatchPodStatus { pod, patch: Box::new(patch) });
    }
}

fn are_bound(pod: &Pod, store: &Store) -> bool {
    let is_bound = |name: Symbol| store.volumes.volume_of(pod.namespace, name).is_some();
    pod.claims().iter().all(|claim| is_bound(claim.name))
}
