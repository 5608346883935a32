//! Before a pod is bound its claims are: each gets its volume or node, and the volume binder is waited for.

use rustc_hash::FxHashMap;

use smallvec::SmallVec;

use super::event::{ClusterEvent, StorageEvent};
use super::framework::PreBind;
use super::{Scheduler, Tag, Timer};
use crate::arena::Symbol;
use crate::component::{Answer, Ctx, PodStatusPatch, Request};
use crate::engine::Ticket;
use crate::state::{NodeId, PersistentVolumeClaimId, Pod, PodId, Store};

/// A pod that is on a node as far as the scheduler goes, and waits for its volumes.
#[derive(Clone, Debug)]
struct Waiting {
    node: NodeId,
    /// Whose time is running, and until when.
    timeouts: SmallVec<[(&'static str, Ticket); 1]>,
}

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
        for PreBind { plugin, requests, timeout } in pre_binds {
            timeouts.push((plugin, ctx.arm_in(timeout, Timer::BindTimeout(id))));
            for request in requests {
                ctx.call(request, Tag::BindVolume(id));
            }
        }
        self.prebindings.0.insert(id, Waiting { node, timeouts });
    }

    /// A claim got its volume or node, or could not.
    pub(super) fn volume_bound(&mut self, id: PodId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if let Err(error) = answer {
            self.give_up(id, &error.message, ctx);
        }
    }

    /// Its volumes were not bound in time.
    pub(super) fn bind_timed_out(&mut self, id: PodId, ctx: &mut Ctx<'_, Self>) {
        self.give_up(id, "context deadline exceeded", ctx);
    }

    fn give_up(&mut self, id: PodId, why: &str, ctx: &mut Ctx<'_, Self>) {
        let plugin =
            self.prebindings.0.get(&id).and_then(|waiting| waiting.timeouts.first()).map(|(plugin, _)| *plugin);
        if self.forget_prebinding(id, ctx).is_some()
            && let Some((pod, plugin)) = ctx.store.pod(id).zip(plugin)
        {
            let message = format!("running PreBind plugin \"{plugin}\": binding volumes: {why}");
            self.binding_failed(id, pod, &message, ctx);
        }
    }

    /// The pod is gone, or its claims are done with.
    pub(super) fn forget_prebinding(&mut self, id: PodId, ctx: &mut Ctx<'_, Self>) -> Option<NodeId> {
        let Waiting { node, timeouts } = self.prebindings.0.remove(&id)?;
        for (_, ticket) in timeouts {
            ctx.cancel(ticket);
        }
        self.algorithm.cache.volumes.release(id);
        Some(node)
    }

    /// A claim has changed: pods that wait for it are bound if all their claims are.
    pub(super) fn claim_changed(&mut self, claim: PersistentVolumeClaimId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.volumes.claim(claim) else { return };
        let key = (object.meta.namespace, object.meta.name);
        if object.volume.is_some() && !self.prebindings.0.is_empty() {
            let mut users: Vec<PodId> = ctx.store.volumes.pods_using(key.0, key.1).iter().copied().collect();
            users.retain(|pod| self.prebindings.has(*pod));
            users.sort_unstable();
            for id in users {
                let is_done = ctx.store.pod(id).is_some_and(|pod| are_bound(pod, ctx.store));
                if is_done && let Some(node) = self.forget_prebinding(id, ctx) {
                    ctx.call(Request::BindPod { pod: id, node }, Tag::Bind(id));
                }
            }
        }
        self.event(&ClusterEvent::Storage(StorageEvent::Claim { namespace: key.0, name: key.1 }), ctx);
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
