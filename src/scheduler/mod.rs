//! kube-scheduler: picks a node for every pod that has none.
//!
//! A component like any other: it keeps its own picture of the cluster from what watches deliver, assumes what it has
//! decided before the API server knows of it, and binds by a request.

mod algorithm;
mod arguments;
#[cfg(test)]
mod arguments_tests;
mod audit;
mod cache;
#[cfg(test)]
mod cache_tests;
mod configuration;
mod counts;
mod cycle;
mod decision;
mod equivalence;
mod event;
mod framework;
#[cfg(test)]
mod framework_tests;
mod images;
mod message;
mod node_info;
mod node_tree;
mod nominator;
mod obstacles;
mod own;
mod plugins;
mod prebinding;
mod preempting;
mod preemption;
#[cfg(test)]
mod preemption_tests;
mod profile;
mod queue;
mod rejection;
mod term;
mod volumes;
mod what_if;

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, EventDraft, ObjectRef, PodStatusPatch, Program, Recorder, Request,
    Snapshot, Start, pod_name,
};
use crate::state::{
    CauseId, Change, Changed, ControlPlaneProcess, NodeDelta, NodeId, NotScheduled, NotScheduledReason, Pod, PodDelta,
    PodId, Store,
};
use crate::units::{SimDuration, SimTime};
use algorithm::ScheduleAlgorithm;
use cache::Cache;
use event::{ClusterEvent, StorageEvent};
use framework::Incoming;
use prebinding::PreBindings;
use preempting::Preemptions;
use profile::Profiles;
use queue::{SchedulingQueue, Situation};
use volumes::VolumeLimits;

pub use arguments::{ArgumentUse, ConfigurationProblem, PluginArguments, Problems, ReadArguments};
pub use audit::Unseen;
pub use configuration::{argument_problems, argument_use, configuration_problems, is_plugin_played, plugin_names};
pub use decision::{Decision, NodeScore, Nomination};
#[cfg(feature = "cli")]
pub(crate) use rejection::abridged;
pub use rejection::{InsufficientResource, Obstacles, Rejection, Remedy};

/// What the scheduler waits for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// Pods are waiting to be scheduled.
    Schedule,
    /// Pods that have been unschedulable for long are tried again.
    Flush,
    /// The back-off of pods that met an error is over.
    ErrorBackoff,
    /// The volumes of this pod should have been bound.
    BindTimeout(PodId),
    /// It is time to see whether the claims of this pod are bound.
    LookAtClaims(PodId),
}

/// What a call was for.
#[derive(Copy, Clone, Debug)]
pub enum Tag {
    /// Binding this pod.
    Bind(PodId),
    /// Binding a volume of this pod.
    BindVolume(PodId),
    /// Writing down that no node takes a pod.
    Status,
    /// Saying on a victim that it is preempted.
    MarkVictim {
        /// For whom room is made.
        preemptor: PodId,
        /// Who goes.
        victim: PodId,
    },
    /// Deleting a victim.
    DeleteVictim {
        /// For whom room is made.
        preemptor: PodId,
        /// Who goes.
        victim: PodId,
    },
}

/// kube-scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    algorithm: ScheduleAlgorithm,
    queue: SchedulingQueue,
    preemptions: Preemptions,
    prebindings: PreBindings,
    profiles: Arc<Profiles>,
    volume_limits: VolumeLimits,
    /// Pods that have gone while their binding was under way and still count where they were to run.
    removed_while_binding: FxHashMap<PodId, Arc<Pod>>,
    is_awake: bool,
    /// The loop waits until it is written down that no node takes the last pod.
    is_writing: bool,
    /// When the process started: its flushes lie on a grid from there.
    started_at: SimTime,
    flush_at: Option<SimTime>,
}

/// Pods older than this in the unschedulable pool get another chance, at the next look every 30 seconds.
const UNSCHEDULABLE_MAX: SimDuration = SimDuration::from_secs(300);
const FLUSH_PERIOD: SimDuration = SimDuration::from_secs(30);

impl Scheduler {
    /// Within this time a pod that no node takes is tried again, whatever happens or does not: what helps it with the time alone is
    /// no event.
    pub const TRIES_AGAIN_WITHIN: SimDuration = SimDuration::from_secs(330);

    /// A scheduler that has seen nothing yet.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            algorithm: ScheduleAlgorithm::new(Cache::new(config.version)),
            queue: SchedulingQueue::new(&config.kube_scheduler, config.version),
            preemptions: Preemptions::default(),
            prebindings: PreBindings::default(),
            profiles: Arc::new(Profiles::of_config(config)),
            volume_limits: VolumeLimits::default(),
            removed_while_binding: FxHashMap::default(),
            is_awake: false,
            is_writing: false,
            started_at: SimTime::ZERO,
            flush_at: None,
        }
    }

    /// Decisions on the cluster as the store has it, one after the other, each on what those before it left: what
    /// `kubesquall schedule` shows. None for pods of other schedulers. A decision is taken when it is asked for.
    pub fn decide<'a>(snapshot: Snapshot<'a>, pods: &'a [PodId]) -> impl Iterator<Item = Option<Decision>> + 'a {
        let Snapshot { store, config, .. } = snapshot;
        let mut algorithm = ScheduleAlgorithm::of(store, config);
        algorithm.cache.replay(store, None);
        let profiles = Profiles::of_config(config);
        let decide = move |&id: &PodId| {
            let incoming = Incoming::of(id, snapshot)?;
            let profile = profiles.of(incoming.pod.spec.scheduler_name)?;
            let decision = algorithm.schedule(profile, incoming, true, &mut |_| 0);
            algorithm.nominate(id, incoming.pod, decision.nomination);
            if let Some(node) = decision.node {
                algorithm.assume(profile, incoming, node);
            }
            Some(decision)
        };
        pods.iter().map(decide)
    }

    /// Where pods end up, one after the other, if those that are preempted leave at once; none for pods that no node takes.
    #[must_use]
    pub fn place(snapshot: Snapshot<'_>, pods: &[PodId]) -> Vec<Option<NodeId>> {
        let Snapshot { store, config, .. } = snapshot;
        let mut algorithm = ScheduleAlgorithm::of(store, config);
        let profiles = Profiles::of_config(config);
        let mut place = |&id: &PodId| {
            let incoming = Incoming::of(id, snapshot)?;
            let profile = profiles.of(incoming.pod.spec.scheduler_name)?;
            let decision = algorithm.schedule(profile, incoming, false, &mut |_| 0);
            decision.victims.iter().for_each(|&victim| {
                algorithm.cache.forget(victim);
            });
            let node = match decision.nomination {
                Nomination::To(node) => Some(node),
                Nomination::Kept | Nomination::Cleared => decision.node,
            };
            if let Some(node) = node {
                algorithm.assume(profile, incoming, node);
            }
            node
        };
        pods.iter().map(&mut place).collect()
    }

    /// Pods that wait for a scheduler, in the order in which one takes them from its queue that has seen them come. Of those
    /// created at one instant their names decide, as in a list of the API's.
    #[must_use]
    pub fn queue_order(store: &Store) -> Vec<PodId> {
        let is_pending = |pod: &Pod| pod.node.is_none() && pod.deletion.is_none() && !pod.phase.is_terminal();
        let waiting = store.pods().filter(|(_, pod)| is_pending(pod) && pod.spec.scheduling_gates.is_empty());
        let mut order: Vec<(PodId, &Pod)> = waiting.collect();
        order.sort_by_key(|(_, pod)| (Reverse(pod.spec.priority), pod.created_at, pod.namespace, &pod.name));
        order.into_iter().map(|(id, _)| id).collect()
    }

    /// Whether this scheduler is responsible for the pod.
    fn is_ours(&self, pod: &Pod) -> bool {
        self.profiles.of(pod.spec.scheduler_name).is_some()
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, Self>) {
        if !self.is_awake && !self.is_writing && self.queue.has_next() {
            self.is_awake = true;
            ctx.arm(ctx.now, Timer::Schedule);
        }
    }

    fn event(&mut self, event: &ClusterEvent<'_>, ctx: &mut Ctx<'_, Self>) {
        self.with_queue(ctx, |queue, situation| queue.event(event, situation));
    }

    /// Lets the queue act on something that may bring pods back.
    fn with_queue(&mut self, ctx: &mut Ctx<'_, Self>, act: impl FnOnce(&mut SchedulingQueue, Situation<'_>)) {
        let is_held = |pod| self.preemptions.holds(pod, ctx.store, ctx.config.version);
        let (cache, profiles, cause) = (&self.algorithm.cache, &*self.profiles, ctx.cause);
        act(&mut self.queue, Situation { now: ctx.now, store: ctx.store, cache, profiles, is_held: &is_held, cause });
        self.wake(ctx);
    }

    /// Takes pods from the queue one after the other; each sees what those before it were given.
    ///
    /// # Source
    /// kube-scheduler, `ScheduleOne`: bindings run in the background, but the loop waits for the status write of a pod that no
    /// node takes.
    fn schedule_all(&mut self, ctx: &mut Ctx<'_, Self>) {
        let woken_by = ctx.cause;
        self.queue.flush_backoff(ctx.now);
        while !self.is_writing
            && let Some((id, cause)) = self.queue.pop()
        {
            ctx.cause = if cause == CauseId::NONE { woken_by } else { cause };
            let Some(incoming) = Incoming::of(id, ctx.snapshot()) else { continue };
            let pod = incoming.pod;
            if pod.node.is_some() || self.algorithm.cache.has(id) {
                continue;
            }
            if pod.deletion.is_some() {
                let message = format!("skip schedule deleting pod: {}/{}", pod.namespace, pod.name);
                ctx.event(failed(pod, message));
                continue;
            }
            let Some(profile) = self.profiles.of(pod.spec.scheduler_name) else { continue };
            let mut stream = None;
            let mut draw = |below| {
                let path = || format!("{}/{}", pod.namespace, pod.name);
                let make = || ctx.streams.at("scheduler-choice", &path(), ctx.now.as_nanos().unsigned_abs());
                stream.get_or_insert_with(make).below(below)
            };
            let decision = self.algorithm.schedule(profile, incoming, false, &mut draw);
            self.algorithm.nominate(id, pod, decision.nomination);
            match decision.node {
                Some(node) => {
                    let pre_binds = self.algorithm.assume(profile, incoming, node);
                    self.bind(id, node, pre_binds, ctx);
                }
                None => {
                    if let Some(leaves_at) = self.queue.failed(id, profile, &decision.rejectors, ctx.now) {
                        ctx.arm(leaves_at, Timer::ErrorBackoff);
                    }
                    self.unschedulable(id, pod, decision, ctx);
                }
            }
        }
        ctx.cause = woken_by;
        self.arm_flush(ctx);
    }

    fn unschedulable(&mut self, id: PodId, pod: &Pod, decision: Decision, ctx: &mut Ctx<'_, Self>) {
        let message: Arc<str> = Arc::from(decision.message.as_deref().unwrap_or(""));
        ctx.event(failed(pod, message::of_event(&message)));
        let nominated_node = match decision.nomination {
            Nomination::Kept => None,
            Nomination::Cleared => pod.nominated_node.is_some().then_some(None),
            Nomination::To(node) => (pod.nominated_node != Some(node)).then_some(Some(node)),
        };
        let reason = match decision.is_error {
            true => NotScheduledReason::SchedulerError,
            false => NotScheduledReason::Unschedulable,
        };
        let not_scheduled = Some(NotScheduled { reason, message });
        // What would change nothing is not written.
        if pod.not_scheduled != not_scheduled || nominated_node.is_some() {
            let patch = PodStatusPatch { not_scheduled, nominated_node, ..PodStatusPatch::default() };
            ctx.call(Request::PatchPodStatus { pod: id, patch: Box::new(patch) }, Tag::Status);
            self.is_writing = true;
        }
        if let Nomination::To(node) = decision.nomination {
            self.preempt(id, node, &decision.victims, ctx);
        }
    }

    fn arm_flush(&mut self, ctx: &mut Ctx<'_, Self>) {
        // Pods only join the pool as its youngest: whatever came since then is due later. Nobody else is looked at.
        if self.flush_at.is_some() {
            return;
        }
        let Some(oldest) = self.queue.oldest_unschedulable() else { return };
        let due = (oldest + UNSCHEDULABLE_MAX).max(ctx.now);
        // The look lies on a grid of 30 seconds from the start of the process; strictly older pods leave.
        let periods = due.saturating_since(self.started_at).as_nanos() / FLUSH_PERIOD.as_nanos() + 1;
        let at = self.started_at + FLUSH_PERIOD * periods;
        self.flush_at = Some(at);
        ctx.arm(at, Timer::Flush);
    }

    fn pod_updated(&mut self, id: PodId, pod: &Pod, delta: PodDelta, before: Option<&Pod>, ctx: &mut Ctx<'_, Self>) {
        if delta.touches(PodDelta::NOMINATION) && pod.node.is_none() {
            self.algorithm.set_nomination(id, pod, pod.nominated_node);
            if self.algorithm.nominator.publish(id, pod.nominated_node) {
                self.event(&ClusterEvent::PodRemoved { pod, was_assigned: false }, ctx);
            }
        }
        if delta.touches(PodDelta::NODE) {
            self.algorithm.nominator.forget(id);
            self.algorithm.nominator.publish(id, None);
            self.algorithm.cache.add(id, pod);
            self.queue.remove(id);
            self.event(&ClusterEvent::PodAdded(pod), ctx);
        }
        let is_assumed = pod.node.is_none() && self.algorithm.cache.has(id);
        if is_assumed && delta.touches(PodDelta::DELETION) && ctx.config.version.at_least(35) {
            self.algorithm.cache.forget(id);
            self.event(&ClusterEvent::PodRemoved { pod, was_assigned: true }, ctx);
        } else if delta.touches(PodDelta::LABELS | PodDelta::DELETION | PodDelta::SPEC) {
            self.algorithm.cache.update(id, pod);
        }
        if delta.touches(PodDelta::PHASE) && pod.phase.is_terminal() && self.algorithm.cache.forget(id) {
            self.event(&ClusterEvent::PodRemoved { pod, was_assigned: true }, ctx);
        }
        if let Some(node) = pod.node {
            self.algorithm.cache.touch(id, node);
        }
        let Some(before) = before.filter(|_| delta.touches(PodDelta::LABELS | PodDelta::SPEC)) else { return };
        if pod.node.is_some() {
            self.event(&ClusterEvent::PodUpdated { before, after: pod }, ctx);
        } else {
            self.with_queue(ctx, |queue, situation| queue.update(id, before, pod, situation));
        }
    }

    /// # Source
    /// kube-scheduler: a pod that is deleted between decision and binding frees its room at once; before 1.35 when the binding
    /// has failed.
    fn pod_removed(&mut self, id: PodId, last: &Arc<Pod>, ctx: &mut Ctx<'_, Self>) {
        self.queue.remove(id);
        self.algorithm.nominator.forget(id);
        let was_nominated = self.algorithm.nominator.publish(id, None);
        let waited_for_volumes = self.forget_prebinding(id, ctx).is_some();
        let is_binding = last.node.is_none() && self.algorithm.cache.has(id) && !waited_for_volumes;
        if is_binding && !ctx.config.version.at_least(35) {
            self.removed_while_binding.insert(id, Arc::clone(last));
            return;
        }
        let was_assigned = self.algorithm.cache.forget(id);
        if was_assigned || was_nominated {
            self.event(&ClusterEvent::PodRemoved { pod: last, was_assigned }, ctx);
        }
    }

    fn bound(&mut self, id: PodId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if let Some(last) = self.removed_while_binding.remove(&id) {
            self.algorithm.cache.forget(id);
            self.event(&ClusterEvent::PodRemoved { pod: &last, was_assigned: true }, ctx);
        }
        let Some(pod) = ctx.store.pod(id) else { return };
        match (answer, pod.node) {
            (Ok(_), Some(node)) => {
                let name = ctx.store.node_name(node);
                let message = format!("Successfully assigned {}/{} to {name}", pod.namespace, pod.name);
                let event = EventDraft::normal("Scheduled", ObjectRef::pod(pod), message).on(node);
                ctx.event(event.by(pod.spec.scheduler_name));
            }
            (Err(error), None) => {
                let message = format!("running Bind plugin \"DefaultBinder\": {}", error.message);
                self.binding_failed(id, pod, &message, ctx);
            }
            _ => {}
        }
    }

    /// A pod that counted on its node could not be bound.
    ///
    /// # Source
    /// kube-scheduler, `handleBindingCycleError`. It runs in the background: the loop does not wait for the status write.
    fn binding_failed(&mut self, id: PodId, pod: &Pod, message: &str, ctx: &mut Ctx<'_, Self>) {
        self.algorithm.cache.forget(id);
        self.event(&ClusterEvent::PodRemoved { pod, was_assigned: true }, ctx);
        if let Some(at) = self.queue.errored(id, ctx.now) {
            ctx.arm(at, Timer::ErrorBackoff);
        }
        ctx.event(failed(pod, message::of_event(message)));
        let patch = PodStatusPatch {
            not_scheduled: Some(NotScheduled {
                reason: NotScheduledReason::SchedulerError,
                message: Arc::from(message),
            }),
            nominated_node: pod.nominated_node.is_some().then_some(None),
            ..PodStatusPatch::default()
        };
        ctx.send(Request::PatchPodStatus { pod: id, patch: Box::new(patch) });
    }
}

/// That a pod could not be scheduled, as the profile that it asks for says it.
///
/// # Source
/// kube-scheduler, `newProfile`: each has a recorder with its own name.
fn failed(pod: &Pod, message: impl Into<String>) -> EventDraft {
    EventDraft::warning("FailedScheduling", ObjectRef::pod(pod), message).by(pod.spec.scheduler_name)
}

impl Component for Scheduler {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "default-scheduler";
    const PROGRAM: Program = Program::ControlPlane(ControlPlaneProcess::KubeScheduler);
    const CONTROLLERS: &'static [&'static str] = &[];
    const EVENT_CLIENT: usize = 1;
    const RECORDER: Recorder = Recorder::Events;

    /// Nobody moves pods that have waited for long: time does.
    fn begins_anew(timer: &Timer) -> bool {
        matches!(timer, Timer::Flush)
    }

    fn words(timer: &Timer, store: &Store) -> String {
        match *timer {
            Timer::Schedule => "the next pod of its queue".to_owned(),
            Timer::Flush => "pods that have long been unschedulable are tried again".to_owned(),
            Timer::ErrorBackoff => "pods are tried again after an error".to_owned(),
            Timer::LookAtClaims(pod) => format!("the volumes of {} are looked at", pod_name(store, pod)),
            Timer::BindTimeout(pod) => format!("the wait for the volumes of {} is over", pod_name(store, pod)),
        }
    }

    fn clients(config: &Config) -> Vec<ClientLimit> {
        let client = &config.kube_scheduler.client_connection;
        let burst = client.burst.and_then(|b| u32::try_from(b).ok()).unwrap_or(100);
        let limit = ClientLimit { qps: client.qps.unwrap_or(50.0), burst };
        vec![limit, limit]
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::NodeAdded(_)
                | Changed::NodeUpdated { .. }
                | Changed::NodeRemoved { .. }
                | Changed::ServiceChanged(_)
                | Changed::ServiceRemoved(_)
                | Changed::NamespaceChanged(_)
                | Changed::VolumeChanged(_)
                | Changed::ClaimChanged(_)
                | Changed::StorageChanged
                | Changed::AttachmentChanged { .. }
        )
    }

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Self>) {
        self.started_at = ctx.now;
        // A list that is streamed passes through a map, and comes in no order (client-go, reflector, `watchList`).
        let is_streamed = start == Start::Fresh && ctx.now > SimTime::ZERO && ctx.config.version.at_least(35);
        let instant = (ctx.now.as_nanos() / 1_000_000).unsigned_abs();
        let mut chance = is_streamed.then(|| ctx.streams.at("scheduler-list", "", instant));
        self.algorithm.list(ctx.store, chance.as_mut());
        self.volume_limits.have_risen(ctx.store);
        if start == Start::Initial {
            self.algorithm.cache.replay(ctx.store, Some(ctx.streams.stream("scheduler-bind-order", "")));
        }
        if start == Start::Initial && ctx.store.pods().any(|(_, pod)| pod.node.is_some()) {
            // It has taken decisions before: where its next search begins is a phase like any other.
            self.algorithm.begin_search_at(&mut |nodes| ctx.streams.stream("scheduler-first-node", "").below(nodes));
        }
        let mut waiting: Vec<(PodId, &Pod)> = ctx.store.pods().filter(|(_, pod)| pod.node.is_none()).collect();
        // A process that begins sees the API's list; one that has run for long saw them come.
        let came_at = |pod: &Pod| if start == Start::Initial { pod.created_at } else { SimTime::ZERO };
        waiting.sort_by_key(|(_, pod)| (came_at(pod), pod.namespace, &pod.name));
        if let Some(chance) = &mut chance {
            chance.shuffle(&mut waiting);
        }
        for (id, pod) in waiting {
            if !pod.phase.is_terminal()
                && let Some(profile) = self.profiles.of(pod.spec.scheduler_name)
            {
                self.queue.add(id, pod, profile, ctx.now, CauseId::NONE);
            }
        }
        self.wake(ctx);
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        let store = ctx.store;
        match &change.what {
            Changed::PodAdded(id) => {
                let Some(pod) = store.pod(*id) else { return };
                if pod.node.is_some() {
                    self.algorithm.cache.add(*id, pod);
                    self.event(&ClusterEvent::PodAdded(pod), ctx);
                } else if let Some(profile) = self.profiles.of(pod.spec.scheduler_name) {
                    self.queue.add(*id, pod, profile, ctx.now, ctx.cause);
                    self.wake(ctx);
                }
            }
            Changed::PodUpdated { pod: id, delta, before } => {
                if let Some(pod) = store.pod(*id) {
                    self.pod_updated(*id, pod, *delta, before.as_deref(), ctx);
                }
            }
            Changed::PodRemoved { pod, last } => self.pod_removed(*pod, last, ctx),
            Changed::NodeAdded(node) => {
                self.algorithm.cache.set_node(*node, store);
                self.event(&ClusterEvent::NodeAdded(*node), ctx);
            }
            Changed::NodeUpdated { node, delta, before } => {
                self.algorithm.cache.set_node(*node, store);
                let relevant =
                    NodeDelta::TAINTS | NodeDelta::UNSCHEDULABLE | NodeDelta::LABELS | NodeDelta::ALLOCATABLE;
                if delta.touches(relevant) {
                    self.event(&ClusterEvent::NodeUpdated { node: *node, delta: *delta, before }, ctx);
                }
            }
            Changed::NodeRemoved { node, last } => {
                self.event(&ClusterEvent::NodeRemoved(last), ctx);
                self.algorithm.cache.remove_node(*node);
            }
            Changed::ServiceChanged(_) | Changed::ServiceRemoved(_) => self.algorithm.cache.counts.invalidate(),
            Changed::NamespaceChanged(id) => {
                if let Some(namespace) = store.namespaces.get(*id) {
                    self.algorithm.cache.set_namespace(namespace.name, &namespace.labels);
                }
            }
            Changed::VolumeChanged(_) => self.event(&ClusterEvent::Storage(StorageEvent::Volume), ctx),
            Changed::ClaimChanged(claim) => {
                if let Some(claim) = store.volumes.claim(*claim) {
                    let (namespace, name) = (claim.meta.namespace, claim.meta.name);
                    self.event(&ClusterEvent::Storage(StorageEvent::Claim { namespace, name }), ctx);
                }
            }
            Changed::StorageChanged => {
                let has_risen = self.volume_limits.have_risen(store);
                let what = if has_risen { StorageEvent::Limits } else { StorageEvent::Class };
                self.event(&ClusterEvent::Storage(what), ctx);
            }
            Changed::AttachmentChanged { volume, node }
                if ctx.store.volumes.attachment(*volume, *node).phase.is_none() =>
            {
                let driver = store.volumes.volume(*volume).and_then(|volume| volume.driver);
                self.event(&ClusterEvent::Storage(StorageEvent::Detached { driver }), ctx);
            }
            Changed::HeartbeatChanged(_)
            | Changed::WorkloadAdded(_)
            | Changed::WorkloadUpdated(..)
            | Changed::WorkloadRemoved(_)
            | Changed::BudgetAdded(_)
            | Changed::BudgetUpdated(..)
            | Changed::BudgetRemoved(_)
            | Changed::EndpointsChanged(_)
            | Changed::AutoscalerChanged(_)
            | Changed::AutoscalerRemoved(_)
            | Changed::QuotaChanged(_)
            | Changed::NamespaceRemoved(_)
            | Changed::VolumeRemoved(_)
            | Changed::ClaimRemoved(_)
            | Changed::ReferencesChanged
            | Changed::AttachmentChanged { .. } => {}
        }
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Schedule => {
                self.is_awake = false;
                self.schedule_all(ctx);
            }
            Timer::Flush => {
                self.flush_at = None;
                self.event(&ClusterEvent::UnschedulableTimeout(UNSCHEDULABLE_MAX), ctx);
                self.arm_flush(ctx);
            }
            Timer::BindTimeout(pod) => self.bind_timed_out(pod, ctx),
            Timer::LookAtClaims(pod) => self.look_at_claims(pod, ctx),
            Timer::ErrorBackoff => {
                self.queue.flush_backoff(ctx.now);
                self.wake(ctx);
            }
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match tag {
            Tag::Bind(pod) => self.bound(pod, answer, ctx),
            Tag::BindVolume(pod) => self.volume_bound(pod, answer, ctx),
            Tag::Status => {
                self.is_writing = false;
                self.wake(ctx);
            }
            Tag::MarkVictim { preemptor, victim } => self.victim_marked(preemptor, victim, answer, ctx),
            Tag::DeleteVictim { preemptor, victim } => self.victim_deleted(preemptor, victim, answer, ctx),
        }
    }
}
