//! Carrying out a preemption: the victims are marked and deleted, the last of them when the others are done.

use rustc_hash::FxHashMap;

use super::{Scheduler, Tag};
use crate::arena::Symbol;
use crate::component::{Answer, Ctx, DeleteOptions, ErrorReason, EventDraft, ObjectRef, PodStatusPatch, Request};
use crate::model::config::KubernetesVersion;
use crate::state::{DeletionCause, DisruptionReason, NodeId, PodId, Store, Uid};

/// A preemption under way.
#[derive(Clone, Debug)]
struct Ongoing {
    node: NodeId,
    /// The pod for which room is made.
    by: Uid,
    /// The profile that it asks for.
    profile: Option<Symbol>,
    /// All whom a call is made for: those without grace are gone when that is answered.
    about: Vec<(PodId, ObjectRef)>,
    /// Victims whose calls are not done.
    in_flight: usize,
    /// The victim that comes when the others are done; it stands here until then.
    last: Option<PodId>,
    /// The last victim, once its turn has come.
    awaited: Option<PodId>,
    has_failed: bool,
}

/// The preemptions under way, by the pod for which room is made.
///
/// # Source
/// kube-scheduler 1.33+, asynchronous preemption: `Executor.prepareCandidateAsync`.
#[derive(Clone, Debug, Default)]
pub(super) struct Preemptions(FxHashMap<PodId, Ongoing>);

impl Preemptions {
    /// Whether a pod may not enter the queue yet, as victims are still being deleted for it.
    ///
    /// # Source
    /// kube-scheduler, DefaultPreemption at PreEnqueue: it may when all calls are done; since 1.35 once the last victim is being
    /// deleted or gone.
    pub(super) fn holds(&self, preemptor: PodId, store: &Store, version: KubernetesVersion) -> bool {
        self.0.get(&preemptor).is_some_and(|ongoing| match ongoing.awaited {
            Some(last) if version.at_least(35) => store.pod(last).is_some_and(|pod| pod.deletion.is_none()),
            _ => true,
        })
    }
}

impl Scheduler {
    /// Makes room for a pod.
    pub(super) fn preempt(&mut self, preemptor: PodId, node: NodeId, victims: &[PodId], ctx: &mut Ctx<'_, Self>) {
        let is_leaving = |pod: &PodId| ctx.store.pod(*pod).is_none_or(|pod| pod.deletion.is_some());
        let mut staying: Vec<PodId> = victims.iter().copied().filter(|pod| !is_leaving(pod)).collect();
        // Those already terminating need no call.
        let refs = staying.iter().filter_map(|&pod| Some((pod, ObjectRef::pod(ctx.store.pod(pod)?))));
        let about = refs.collect();
        let (Some(last), Some(by)) = (staying.pop(), ctx.store.pod(preemptor)) else { return };
        self.withdraw_nominations(preemptor, node, ctx);
        let (by, profile, in_flight) = (by.uid, by.spec.scheduler_name, staying.len());
        let ongoing =
            Ongoing { node, by, profile, about, in_flight, last: Some(last), awaited: None, has_failed: false };
        self.preemptions.0.insert(preemptor, ongoing);
        for victim in staying {
            self.evict(preemptor, victim, ctx);
        }
        self.preempt_last(preemptor, ctx);
    }

    /// Pods of lower priority that hoped for the same node had better look elsewhere.
    fn withdraw_nominations(&self, preemptor: PodId, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let priority = ctx.store.pod(preemptor).map_or(0, |pod| pod.spec.priority);
        for lower in self.algorithm.nominator.on(node).iter().filter(|other| other.priority < priority) {
            let patch = PodStatusPatch { nominated_node: Some(None), ..PodStatusPatch::default() };
            ctx.send(Request::PatchPodStatus { pod: lower.pod, patch: Box::new(patch) });
        }
    }

    /// The last victim's turn, when the others are done.
    fn preempt_last(&mut self, preemptor: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(ongoing) = self.preemptions.0.get_mut(&preemptor) else { return };
        if ongoing.in_flight > 0 {
            return;
        }
        let spares_last = ongoing.has_failed && ctx.config.version.at_least(36);
        match ongoing.last.take().filter(|_| !spares_last) {
            Some(last) => {
                ongoing.awaited = Some(last);
                ongoing.in_flight = 1;
                self.evict(preemptor, last, ctx);
            }
            None => {
                let has_failed = ongoing.has_failed;
                self.preemptions.0.remove(&preemptor);
                if has_failed {
                    self.queue.activate(preemptor, ctx.cause);
                    self.wake(ctx);
                }
            }
        }
    }

    /// A victim goes: one that waits for its volumes goes back to the queue, any other is deleted.
    ///
    /// # Source
    /// kube-scheduler, `Executor.PreemptPod`; since 1.36 pods at PreBind are let off.
    fn evict(&mut self, preemptor: PodId, victim: PodId, ctx: &mut Ctx<'_, Self>) {
        if !(self.prebindings.has(victim) && ctx.config.version.at_least(36)) {
            mark(preemptor, victim, ctx);
            return;
        }
        self.tell_victim(preemptor, victim, " (in kube-scheduler memory).", ctx);
        self.victim_done(preemptor, false, ctx);
        self.give_up(victim, "preempted by DefaultPreemption", ctx);
    }

    /// A victim carries the condition: it is deleted, with its own grace.
    pub(super) fn victim_marked(&mut self, preemptor: PodId, victim: PodId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match answer {
            Ok(_) => {
                let request = Request::DeletePod {
                    pod: victim,
                    options: DeleteOptions::default(),
                    cause: DeletionCause::PreemptionByScheduler,
                };
                ctx.call(request, Tag::DeleteVictim { preemptor, victim });
            }
            Err(error) => self.victim_done(preemptor, error.reason != ErrorReason::NotFound, ctx),
        }
    }

    /// A victim is being deleted, or could not be.
    pub(super) fn victim_deleted(&mut self, preemptor: PodId, victim: PodId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let has_failed = answer.as_ref().is_err_and(|error| error.reason != ErrorReason::NotFound);
        if answer.is_ok() {
            self.tell_victim(preemptor, victim, "", ctx);
        }
        self.victim_done(preemptor, has_failed, ctx);
    }

    fn tell_victim(&self, preemptor: PodId, victim: PodId, how: &str, ctx: &mut Ctx<'_, Self>) {
        let Some(Ongoing { node, by, profile, about, .. }) = self.preemptions.0.get(&preemptor) else { return };
        if let Some((_, about)) = about.iter().find(|(pod, _)| *pod == victim) {
            let message = format!("Preempted by pod {by} on node {}{how}", ctx.store.node_name(*node));
            ctx.event(EventDraft::normal("Preempted", about.clone(), message).on(*node).by(*profile));
        }
    }

    fn victim_done(&mut self, preemptor: PodId, has_failed: bool, ctx: &mut Ctx<'_, Self>) {
        if let Some(ongoing) = self.preemptions.0.get_mut(&preemptor) {
            ongoing.in_flight -= 1;
            ongoing.has_failed |= has_failed;
        }
        self.preempt_last(preemptor, ctx);
    }
}

/// Says on a victim why it will go; when that is written it is deleted.
fn mark(preemptor: PodId, victim: PodId, ctx: &mut Ctx<'_, Scheduler>) {
    let disruption = Some((DisruptionReason::PreemptionByScheduler, true));
    let patch = PodStatusPatch { disruption, ..PodStatusPatch::default() };
    ctx.call(Request::PatchPodStatus { pod: victim, patch: Box::new(patch) }, Tag::MarkVictim { preemptor, victim });
}
