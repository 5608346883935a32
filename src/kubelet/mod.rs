//! All kubelets, as one component with a column per fact.
//!
//! A quiet node costs nothing: renewals and reports are formulas, and a pod that runs and is ready has no timer. What is
//! kept per pod is only what is under way: a start, a stop, a back-off.

mod admission;
mod back_off;
mod bound_pod;
mod deadline;
mod dying;
mod eviction;
mod grace;
mod heartbeat;
mod image;
mod init;
mod links;
mod memory;
mod mirror;
mod node_status;
mod pace;
mod phase;
mod preemption;
mod probe;
mod probe_timing;
mod process;
mod pull;
mod readiness;
mod readiness_gates;
mod recovery;
mod rejection;
mod replacement;
mod restart;
mod running;
mod settings;
mod shutdown;
mod status_manager;
mod statuses;
mod stopped;
mod sync;
mod sync_pod;
mod termination;
mod timer;
mod volumes;
mod wind_up;
mod worker;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, NodeRegistration, Program, Request, Start, controllers_began,
};
use crate::model::Object;
use crate::state::{
    CauseId, Change, Changed, ContainerFate, ControlPlaneProcess, Effect, Ending, MachineChange, NodeDelta, NodeId,
    PersistentVolumeId, Pod, PodDelta, PodId, PodPhase, Power, Store,
};
use crate::units::{SimDuration, SimTime};
pub use back_off::PullFailure;
use bound_pod::BoundPod;
use deadline::watch_deadline;
pub use links::Away;
pub use probe_timing::ProbeKind;
pub use timer::{NodeTimer, PodTimer, Timer};
use worker::Worker;

/// How a pool's machine registers, and under which names.
pub type Registrations = FxHashMap<NodeId, Arc<NodeRegistration>>;

/// All kubelets.
///
/// # Source
/// kubelet: registration, heartbeats, pod workers, status manager.
#[derive(Clone, Debug, Default)]
pub struct Kubelets {
    links: links::Links,
    workers: FxHashMap<PodId, Worker>,
    /// What runs of pods that are gone.
    dying: FxHashMap<NodeId, Vec<dying::Dying>>,
    /// Which change attached a volume that somebody waits for; a kubelet itself only sees the result.
    attached_by: FxHashMap<(PersistentVolumeId, NodeId), CauseId>,
    images: image::Images,
    gates: readiness_gates::ReadinessGates,
    /// The static pods whose files are on each machine, as their last mirrors were.
    statics: FxHashMap<NodeId, mirror::Files>,
    /// How long a machine's next boot takes, if that is special.
    next_boot: FxHashMap<NodeId, SimDuration>,
    /// Machines that have booted and whose pods no kubelet has looked at since: nothing of them runs.
    fresh_boots: FxHashMap<NodeId, recovery::FreshBoot>,
    /// How nodes register, by pool.
    templates: Arc<Vec<PoolTemplate>>,
    /// How a node whose object is gone would register again.
    registrations: Registrations,
    /// Draws made so far of each machine.
    draws: FxHashMap<NodeId, recovery::Draws>,
}

/// What the machines of a pool register with.
#[derive(Clone, Debug)]
pub struct PoolTemplate {
    /// Labels, taints and resources, without the labels that name the node and its zone.
    pub registration: NodeRegistration,
    /// Zones, handed out in turn by the number at the end of the name.
    pub zones: Vec<Symbol>,
}

impl Kubelets {
    /// Kubelets that know how the machines of each pool register.
    #[must_use]
    pub fn new(templates: Arc<Vec<PoolTemplate>>) -> Self {
        Self { templates, ..Self::default() }
    }

    /// Whether something of the pod is still to come: its containers start, end or are restarted, a probe fails or the pod becomes
    /// Ready; or its readiness waits for what never comes.
    #[must_use]
    pub fn is_busy_with(&self, pod: PodId) -> bool {
        let worker = self.workers.get(&pod);
        self.gates.are_closed(pod) || worker.is_some_and(Worker::has_more_to_come)
    }

    /// Whether the node's machine boots, and when that ends is known.
    #[must_use]
    pub fn is_booting(&self, node: NodeId) -> bool {
        self.links.process(node).is_some_and(|process| process.awaited.is_some())
    }
}

impl Kubelets {
    fn node_timer(&mut self, node: NodeId, timer: NodeTimer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            NodeTimer::Booted => {
                self.links.process_mut(node).awaited = None;
                if ctx.store.machine(node).power == Power::Booting {
                    ctx.change_machine(MachineChange::Booted(node));
                }
            }
            NodeTimer::Reconnected(away) => {
                self.links.process_mut(node).awaited = None;
                self.caught_up(node, away, ctx);
            }
            NodeTimer::Answered => self.caught_up(node, Away::ApiServer, ctx),
            NodeTimer::FirstStatus => {
                if self.links.are_up(node, ctx) {
                    self.post(node, ctx);
                }
            }
            NodeTimer::PodsSeen => self.opens_its_pods(node, ctx),
            NodeTimer::Register => self.register(node, ctx),
            NodeTimer::LateRenewal => {
                self.links.process_mut(node).late = None;
                if self.links.reach(node, ctx) {
                    heartbeat::begin_now(node, ctx);
                    // The status was held up with the renewal; over a slow link each goes by itself.
                    if self.differs(node, ctx) && !self.links.delayed.contains(&node) {
                        self.post(node, ctx);
                    }
                }
            }
            NodeTimer::Report => self.report(node, ctx),
            NodeTimer::Schedulable => self.tell_schedulable(node, ctx),
            NodeTimer::Pressure => self.eviction_pass(node, ctx),
            NodeTimer::Shutdown(group) => self.shutdown_step(node, group, ctx),
            NodeTimer::ReportVolumes => self.report_volumes(node, ctx),
            NodeTimer::Died => self.died(node, ctx),
        }
    }

    fn pod_timer(&mut self, pod: BoundPod<'_>, timer: PodTimer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            PodTimer::RoomMade => self.room_made(pod, ctx),
            PodTimer::LookUpVolumes => self.look_up_volumes(pod, ctx),
            PodTimer::MountSync => self.mount_sync(pod, ctx),
            PodTimer::PullFailed(image, how) => self.pull_failed(pod, image, how, ctx),
            PodTimer::PullSync(image, how) => self.pull_sync(pod, image, how, ctx),
            PodTimer::InitsChange => self.inits_change(pod, ctx),
            PodTimer::InitFailed(index, code) => self.init_failed(pod, index, code, ctx),
            PodTimer::InitRestart => self.run_inits_again(pod, ctx),
            PodTimer::Started => self.containers_started(pod, ctx),
            PodTimer::Ready => self.became_ready(pod, ctx),
            PodTimer::GatesMet => self.gates_met(pod, ctx),
            PodTimer::ProbeEarly => self.probe_early(pod, ctx),
            PodTimer::ProbeFailed(kind) => self.probe_failed(pod, kind, ctx),
            PodTimer::ProbeKilled(code) => self.probe_killed(pod, code, ctx),
            PodTimer::Ended => self.ended_by_itself(pod, ctx),
            PodTimer::EndSeen => self.end_seen(pod, ctx),
            PodTimer::OutOfMemory => self.out_of_memory(pod, ctx),
            PodTimer::BackOffSync(restarts) => self.looked_at_backing_off(pod, restarts, ctx),
            PodTimer::InitBackOffSync(restarts) => self.looked_at_init_backing_off(pod, restarts, ctx),
            PodTimer::Restart => self.backed_off(pod, ctx),
            PodTimer::Deadline => self.deadline_passed(pod, ctx),
            PodTimer::SyncOver => _ = self.sync_is_over(pod, ctx),
            PodTimer::Orphaned => self.orphaned(pod, ctx),
            PodTimer::Stopped => self.containers_stopped(pod, ctx),
            PodTimer::Cleaned => self.cleaned(pod, ctx),
            PodTimer::Resync => self.resync(pod, ctx),
        }
    }

    /// Somebody has written what the kubelet takes for a change, which a status is not: the pod is synced.
    ///
    /// # Source
    /// kubelet, `podsDifferSemantically`.
    fn pod_written(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.deletion.is_some() || self.links.is_stand_in(pod.node, ctx) || !self.links.show_pods(pod.node, ctx) {
            return;
        }
        if let Some(worker) = self.workers.get_mut(&pod.id) {
            worker.is_asked_anew(pod, ctx);
        }
    }

    /// A pod was written.
    fn pod_updated(
        &mut self,
        pod: BoundPod<'_>,
        delta: PodDelta,
        (at, before): (SimTime, Option<&Arc<Pod>>),
        ctx: &mut Ctx<'_, Self>,
    ) {
        if delta.touches(PodDelta::NODE) && !self.links.has_listed(pod.node, at) {
            self.pod_bound(pod, ctx);
        }
        if delta.touches(PodDelta::DELETION) {
            // The first status of a pod that is being deleted is posted whether or not it is new (status manager, `SetPodStatus`).
            if pod.phase == PodPhase::Running && !self.links.is_stand_in(pod.node, ctx) {
                self.resync(pod, ctx);
            }
            self.pod_deleted(pod, ctx);
        }
        if delta.touches(PodDelta::ANNOTATIONS) {
            self.watch_usage_of(pod, ctx);
            self.watch_memory_of(pod, ctx);
        }
        if delta.touches(PodDelta::LABELS | PodDelta::ANNOTATIONS | PodDelta::SPEC) {
            self.pod_written(pod, ctx);
        }
        if delta.touches(PodDelta::SPEC) && pod.started_at.is_some() {
            watch_deadline(pod, ctx);
            if let Some(before) = before {
                self.images_changed(pod, before, ctx);
            }
        }
        if delta.touches(PodDelta::READY) {
            self.readiness_overwritten(pod, ctx);
        }
        if delta.touches(PodDelta::PHASE) && pod.phase.is_terminal() {
            self.unmount(&pod, ctx);
            self.settle(pod);
        }
    }
}

impl Component for Kubelets {
    type Timer = Timer;
    type Tag = NodeId;
    const NAME: &'static str = "kubelet";
    const PROGRAM: Program = Program::Kubelet;
    const CONTROLLERS: &'static [&'static str] = &[];

    fn happens(timer: &Timer) -> bool {
        timer.happens()
    }

    fn words(timer: &Timer, store: &Store) -> String {
        timer.words(store)
    }

    fn is_live(timer: &Timer, store: &Store) -> bool {
        timer.is_live(store)
    }

    fn clients(_config: &Config) -> Vec<ClientLimit> {
        Vec::new()
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::NodeUpdated { .. }
                | Changed::NodeRemoved { .. }
                | Changed::AttachmentChanged { .. }
        )
    }

    fn sender(request: &Request, store: &Store) -> Option<NodeId> {
        match request {
            Request::CreateNode { node, .. }
            | Request::PatchNodeStatus { node, .. }
            | Request::ReportVolume { node, .. } => Some(*node),
            Request::PatchPodStatus { pod, .. } | Request::DeletePod { pod, .. } => store.pod(*pod)?.node,
            // The mirror of a static pod.
            Request::Create(object) => match &**object {
                Object::Pod(pod) => store.find_node(pod.spec.node_name?),
                _ => None,
            },
            // No kubelet sends anything else.
            _ => None,
        }
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let nodes: Vec<NodeId> = ctx.store.nodes().map(|(id, _)| id).collect();
        let is_stand_in = |node: &NodeId| ctx.store.machine(*node).has_stand_in_kubelet;
        self.links.are_all_stand_ins = !nodes.is_empty() && nodes.iter().all(is_stand_in);
        let is_young = controllers_began(ctx).is_some();
        for node in nodes {
            if ctx.store.machine(node).kubelet_alive() {
                heartbeat::begin_long_ago(node, is_young, ctx);
                self.watch_node(node, ctx);
            }
        }
        Self::volumes_found(ctx);
        self.find_failing_pulls(ctx);
        let store = ctx.store;
        for pod in store.pods().filter_map(|(id, _)| BoundPod::find(id, store)) {
            self.pod_found(pod, ctx);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match &change.what {
            Changed::PodAdded(pod) => {
                if let Some(pod) = BoundPod::find(*pod, ctx.store)
                    && !self.links.has_listed(pod.node, change.at)
                {
                    self.pod_bound(pod, ctx);
                }
            }
            Changed::PodUpdated { pod, delta, before } => {
                if let Some(pod) = BoundPod::find(*pod, ctx.store) {
                    self.pod_updated(pod, *delta, (change.at, before.as_ref()), ctx);
                }
            }
            Changed::PodRemoved { pod, last } => self.pod_gone(*pod, last, ctx),
            Changed::NodeUpdated { node, delta, before } => {
                if delta.touches(NodeDelta::CONDITIONS) {
                    self.conditions_overwritten(*node, ctx);
                }
                if delta.touches(NodeDelta::LABELS) || delta.touches(NodeDelta::ANNOTATIONS) {
                    // What others write there is not the kubelet's.
                    let own = || Arc::new(node_status::registers_again(before, None));
                    self.registrations.entry(*node).or_insert_with(own);
                }
                if delta.touches(NodeDelta::UNSCHEDULABLE) {
                    self.links.process_mut(*node).cordoned.get_or_insert(before.unschedulable);
                    self.look_at_schedulable(*node, ctx);
                }
            }
            Changed::AttachmentChanged { volume, node } => self.attachment_changed(*volume, *node, ctx),
            Changed::NodeRemoved { node, last } => {
                let own = self.registrations.get(node);
                let registration = node_status::registers_again(last, own.map(Arc::as_ref));
                self.registrations.insert(*node, Arc::new(registration));
                self.links.process_mut(*node).cordoned = None;
            }
            _ => {}
        }
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Node(node, _, what) => {
                if timer.is_live(ctx.store) {
                    self.node_timer(node, what, ctx);
                }
            }
            Timer::Pod(pod, timer) => {
                if let Some(pod) = BoundPod::find(pod, ctx.store) {
                    self.pod_timer(pod, timer, ctx);
                }
            }
        }
    }

    /// Only registration is answered: the status follows it.
    ///
    /// # Source
    /// kubelet, `registerWithAPIServer`: the next try comes 100 ms later, then twice that, at most 7 s.
    fn answered(&mut self, node: NodeId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        const FIRST: SimDuration = SimDuration::from_millis(100);
        const LONGEST: SimDuration = SimDuration::from_secs(7);
        if !ctx.store.machine(node).talks() {
            return;
        }
        if answer.is_ok() || ctx.store.node(node).is_some() {
            self.links.process_mut(node).registration_tries = None;
            self.post_first(node, ctx);
            self.recreate_mirrors(node, ctx);
            return;
        }
        let tries = self.links.process_mut(node).registration_tries.get_or_insert(0);
        let wait = FIRST * (1 << (*tries).min(7));
        *tries += 1;
        NodeTimer::Register.arm_in(node, wait.min(LONGEST), ctx);
    }

    fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Self>) {
        match *change {
            MachineChange::PowerOff(node) => self.lost_power(node, ctx),
            MachineChange::InstanceGone(node) => {
                self.lost_power(node, ctx);
                self.images.instance_gone(node, ctx.now);
                self.links.delayed.remove(&node);
                self.next_boot.remove(&node);
            }
            MachineChange::PullsFail { fault, node, images } => {
                self.images.pulls_fail(fault, node, images, ctx.cause);
                self.pulls_changed(node, ctx);
            }
            MachineChange::PullsWork(fault) => {
                self.images.pulls_work(fault);
                self.pulls_changed(None, ctx);
            }
            MachineChange::NextBootTakes { node, length_ns } => {
                self.next_boot.insert(node, SimDuration::from_nanos(length_ns));
            }
            MachineChange::PowerOn(node) => self.boots(node, ctx),
            MachineChange::InstanceCreated { name, pool } => {
                let Some(node) = ctx.store.find_node(name) else { return };
                self.instance_created(node, pool, ctx);
            }
            MachineChange::Booted(node) => self.booted(node, ctx),
            MachineChange::LinkUp(node) => {
                if self.links.reach(node, ctx) {
                    self.reconnected(node, ctx);
                }
            }
            MachineChange::KubeletStarted(node) => {
                if ctx.store.machine(node).kubelet_alive() {
                    self.process_starts(node, ctx);
                }
            }
            // A machine that boots goes on with that: there is no kubelet yet that could lose its link, or end.
            MachineChange::LinkDown(node) | MachineChange::KubeletStopped(node)
                if ctx.store.machine(node).power == Power::Booting => {}
            MachineChange::LinkDown(node) => {
                if let Some(process) = self.links.processes.get_mut(&node) {
                    process.stop_waiting(ctx);
                    process.stays_closed(ctx);
                }
            }
            MachineChange::KubeletStopped(node) => self.kubelet_stopped(node, ctx),
            MachineChange::Observed { node, .. } => {
                if self.links.are_up(node, ctx) {
                    self.post(node, ctx);
                }
                self.condition_observed(node, ctx);
            }
            MachineChange::Affected { node, effect } => match effect {
                Effect::Burdened(_) => self.watch_usage(node, ctx),
                Effect::DiskSlowed(_) => self.foresee_again(node, ctx),
            },
            MachineChange::ShutdownBegins(node) => self.shutdown_begins(node, ctx),
            MachineChange::ContainerEnds { pod, fate } => {
                let ending = match fate {
                    ContainerFate::Exit(code) => Ending::exit(code, ctx.now),
                    ContainerFate::OomKilled => memory::out_of_memory(ctx.now),
                };
                if let Some(pod) = BoundPod::find(pod, ctx.store) {
                    self.container_ends(pod, ending, ctx);
                }
            }
            MachineChange::ProcessDown(ControlPlaneProcess::KubeApiserver) => self.api_stopped(ctx),
            MachineChange::ProcessUp(ControlPlaneProcess::KubeApiserver) => self.api_started(ctx),
            MachineChange::HeartbeatsDelayed { node, delay_ns } => {
                self.renewal_held_up(node, SimDuration::from_nanos(delay_ns), ctx);
            }
            MachineChange::RequestsDelayed { node, ref delays } => {
                if delays.is_empty() {
                    self.links.delayed.remove(&node);
                } else {
                    self.links.delayed.insert(node);
                }
            }
            MachineChange::HeartbeatBegins { .. }
            | MachineChange::HeartbeatLost(_)
            | MachineChange::StatusPosted { .. }
            | MachineChange::StatusArrived(_)
            | MachineChange::ProcessDown(_)
            | MachineChange::ProcessUp(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
