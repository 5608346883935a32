//! How a node is removed: taint, evictions, patience, the machine.

use smallvec::SmallVec;

use super::drainability::{Budgets, pods_to_move};
use super::{AutoscalerTag, AutoscalerTimer, ClusterAutoscaler};
use crate::arena::{Symbol, sym};
use crate::component::{Answer, Ctx, ErrorReason, EventDraft, EventType, ObjectRef, Request};
use crate::model::TaintEffect;
use crate::procedures::note;
use crate::state::{MachineChange, NodeId, PodId, TaintOnNode};
use crate::units::{SimDuration, SimTime};

/// Pause after an eviction that was refused.
const EVICTION_RETRY: SimDuration = SimDuration::from_secs(10);

/// Pause between two looks at pods that are going.
const POLL: SimDuration = SimDuration::from_secs(5);

/// What pods are given on top of their grace.
const HEADROOM: SimDuration = SimDuration::from_secs(30);

/// What a call was for.
#[derive(Copy, Clone, Debug)]
pub(super) enum Call {
    /// The taint of a node that is to go.
    Taint,
    /// The eviction of one of its pods.
    Evict(PodId),
}

/// A node on its way out.
#[derive(Clone, Debug)]
pub(super) struct Deletion {
    is_drain: bool,
    /// Pods whose eviction has not been granted.
    unevicted: Vec<PodId>,
    /// Pods that have to be gone.
    leaving: Vec<PodId>,
    evict_until: SimTime,
    gone_by: SimTime,
}

impl Deletion {
    pub(super) fn is_drain(&self) -> bool {
        self.is_drain
    }
}

fn hard_taint() -> Symbol {
    sym!("ToBeDeletedByClusterAutoscaler")
}

impl ClusterAutoscaler {
    /// A node is to go: no pods come to it from now on.
    pub(super) fn begin_deletion(&mut self, node: NodeId, is_drain: bool, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        let (reason, message) = if is_drain {
            ("ScaleDown", format!("Scale-down: removing node {name} (with drain)"))
        } else {
            ("ScaleDownEmpty", format!("Scale-down: removing empty node {:?}", name.as_str()))
        };
        note::about_cluster(ctx, EventType::Normal, reason, message);
        self.unneeded.remove(&node);
        let (unevicted, leaving) = (Vec::new(), Vec::new());
        let deletion = Deletion { is_drain, unevicted, leaving, evict_until: ctx.now, gone_by: ctx.now };
        self.deletions.insert(node, deletion);
        let taint = TaintOnNode {
            key: hard_taint(),
            value: Symbol::empty(),
            effect: TaintEffect::NoSchedule,
            added_at: Some(ctx.now),
        };
        let request = Request::PatchNodeTaints { node, add: SmallVec::from_iter([taint]), remove: SmallVec::new() };
        ctx.call(request, AutoscalerTag { node, call: Call::Taint });
    }

    pub(super) fn tainted(&mut self, node: NodeId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if !self.deletions.contains_key(&node) {
            return;
        }
        if let Err(error) = answer {
            self.fail(node, &format!("could not mark the node: {}", error.message), ctx);
            return;
        }
        let about = ObjectRef::node(ctx.store.node_name(node));
        let text = "marked the node as toBeDeleted/unschedulable";
        ctx.event(EventDraft::normal("ScaleDown", about, text).on(node));
        ctx.arm_in(self.flags.node_delete_delay_after_taint, AutoscalerTimer::Empty(node));
    }

    /// The pods of a node are asked to leave.
    pub(super) fn empty(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !self.deletions.contains_key(&node) {
            return;
        }
        let pods = match pods_to_move(node, &self.flags, &Budgets::default(), ctx.store) {
            Ok(pods) => pods,
            Err(why) => {
                self.fail(node, &format!("failed to drain the node: {why}"), ctx);
                return;
            }
        };
        let Some(deletion) = self.deletions.get_mut(&node) else { return };
        deletion.is_drain = !pods.is_empty();
        deletion.evict_until = ctx.now + self.flags.max_pod_eviction_time;
        deletion.unevicted.clone_from(&pods);
        deletion.leaving.clone_from(&pods);
        if pods.is_empty() {
            self.finish(node, ctx);
            return;
        }
        for id in pods {
            if let Some(pod) = ctx.store.pod(id) {
                let text = "deleting pod for node scale down";
                ctx.event(EventDraft::normal("ScaleDown", ObjectRef::pod(pod), text).on(node));
            }
            self.evict(node, id, ctx);
        }
    }

    pub(super) fn evict(&mut self, node: NodeId, id: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(deletion) = self.deletions.get_mut(&node) else { return };
        if !deletion.unevicted.contains(&id) {
            return;
        }
        let own = ctx.store.pod(id).and_then(|pod| pod.spec.termination_grace_period_seconds);
        let grace_s = own.map(|own| own.min(self.flags.max_graceful_termination_sec));
        let request = Request::EvictPod { pod: id, grace_s, dry_run: false };
        ctx.call(request, AutoscalerTag { node, call: Call::Evict(id) });
    }

    pub(super) fn evicted(&mut self, node: NodeId, pod: PodId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some(deletion) = self.deletions.get_mut(&node) else { return };
        match answer {
            Err(error) if error.reason != ErrorReason::NotFound => {
                if ctx.now + EVICTION_RETRY > deletion.evict_until {
                    self.fail(node, &format!("failed to drain the node: {}", error.message), ctx);
                } else {
                    ctx.arm_in(EVICTION_RETRY, AutoscalerTimer::Evict(node, pod));
                }
                return;
            }
            _ => deletion.unevicted.retain(|other| *other != pod),
        }
        if deletion.unevicted.is_empty() {
            let grace = SimDuration::from_secs(self.flags.max_graceful_termination_sec.unsigned_abs());
            deletion.gone_by = ctx.now + grace + HEADROOM;
            self.poll(node, ctx);
        }
    }

    /// Looks whether the pods are gone; after their time the node goes with them.
    pub(super) fn poll(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(deletion) = self.deletions.get_mut(&node) else { return };
        deletion.leaving.retain(|&pod| ctx.store.pod(pod).is_some());
        if deletion.leaving.is_empty() || deletion.gone_by <= ctx.now {
            self.finish(node, ctx);
        } else {
            ctx.arm_in(POLL, AutoscalerTimer::Poll(node));
        }
    }

    /// The machine goes; the cloud's controller removes the Node object.
    fn finish(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let about = ObjectRef::node(ctx.store.node_name(node));
        ctx.event(EventDraft::normal("ScaleDown", about, "node removed by cluster autoscaler").on(node));
        self.deletions.remove(&node);
        self.last_delete = Some(ctx.now);
        ctx.change_machine(MachineChange::InstanceGone(node));
    }

    /// The node stays.
    fn fail(&mut self, node: NodeId, why: &str, ctx: &mut Ctx<'_, Self>) {
        let about = ObjectRef::node(ctx.store.node_name(node));
        ctx.event(EventDraft::warning("ScaleDownFailed", about, why).on(node));
        self.deletions.remove(&node);
        self.last_failure = Some(ctx.now);
        let remove = SmallVec::from_iter([(hard_taint(), TaintEffect::NoSchedule)]);
        ctx.send(Request::PatchNodeTaints { node, add: SmallVec::new(), remove });
        self.disturb(ctx);
    }
}
