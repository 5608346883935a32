//! All kubelets, as one component with a column per fact.
//!
//! A quiet node costs nothing: renewals and reports are formulas, and a pod that runs and is ready has no timer. What is
//! kept per pod is only what is under way: a start, a stop, a back-off.

mod admission;
mod deadline;
mod eviction;
mod heartbeat;
mod image;
mod init;
mod memory;
mod mirror;
mod node_status;
mod pace;
mod phase;
mod pod_worker;
mod preemption;
mod probe;
mod pull;
mod readiness_gates;
mod recovery;
mod restart;
mod settings;
mod shutdown;
mod termination;
mod volumes;
mod words;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, EventDraft, NodeRegistration, Record, Request, Start,
};
use crate::engine::Ticket;
use crate::state::{
    CauseId, Change, Changed, ContainerFate, ControlPlaneProcess, Ending, MachineChange, NodeDelta, NodeId,
    PersistentVolumeId, PodDelta, PodId, Power, Store,
};
use crate::units::SimDuration;
use pod_worker::Worker;
pub use probe::ProbeKind;
pub use pull::PullFailure;
pub use recovery::Away;

/// What a kubelet waits for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// The machine is up.
    Booted(NodeId),
    /// The kubelet sees again what the API server has.
    Reconnected(NodeId, Away),
    /// A new kubelet process finds its node ready.
    FirstStatus(NodeId),
    /// A new kubelet process looks at the pods that are bound to it.
    PodsSeen(NodeId),
    /// Another try to register.
    Register(NodeId),
    /// A renewal that was held up gets through.
    LateRenewal(NodeId),
    /// The status loop comes round and finds the node's conditions written by somebody else.
    Report(NodeId),
    /// The eviction manager looks again.
    Pressure(NodeId),
    /// The graceful shutdown's next group, or the end of it.
    Shutdown(NodeId, u32),
    /// The pod's containers run.
    Started(PodId),
    /// The pods that go for a critical one are gone.
    RoomMade(PodId),
    /// A pull of the pod's has failed.
    PullFailed(PodId, Symbol, PullFailure),
    /// A sync after a failed pull.
    PullSync(PodId, Symbol, PullFailure),
    /// The init container of that number has ended with that code.
    InitFailed(PodId, u32, i32),
    /// The back-off of an init container is over.
    InitRestart(PodId),
    /// The pod is ready.
    Ready(PodId),
    /// The pod's containers have stopped.
    Stopped(PodId),
    /// What is left of a pod that has stopped is cleaned up.
    Cleaned(PodId),
    /// The pod has been active as long as it may be.
    Deadline(PodId),
    /// A container uses more memory than it may.
    OutOfMemory(PodId),
    /// The pod's readiness gates are met.
    GatesMet(PodId),
    /// A container ends by itself.
    Ended(PodId),
    /// A probe has failed often enough.
    ProbeFailed(PodId, ProbeKind),
    /// A probe runs and the application is not up yet.
    ProbeEarly(PodId, ProbeKind),
    /// The containers that failed their probe have stopped, with this exit code.
    ProbeKilled(PodId, i32),
    /// The back-off before a restart is over.
    Restart(PodId),
    /// The status manager compares its pods with the API's.
    Resync(PodId),
    /// The volume manager looks whether the pod's volumes are attached.
    LookUpVolumes(PodId),
    /// A sync has waited long enough for the pod's volumes, or the next one begins.
    MountSync(PodId),
    /// The node's status says which volumes are in use.
    ReportVolumes(NodeId),
}

/// How a pool's machine registers, and under which names.
pub type Registrations = FxHashMap<NodeId, Arc<NodeRegistration>>;

/// All kubelets.
///
/// # Source
/// kubelet: registration, heartbeats, pod workers, status manager.
#[derive(Clone, Debug, Default)]
pub struct Kubelets {
    workers: FxHashMap<PodId, Worker>,
    /// Pods that wait for their volumes.
    mounts: FxHashMap<PodId, volumes::MountWait>,
    /// Which change attached a volume that somebody waits for; a kubelet itself only sees the result.
    attached_by: FxHashMap<(PersistentVolumeId, NodeId), CauseId>,
    images: image::Images,
    /// Eviction managers with something to watch.
    evictions: FxHashMap<NodeId, eviction::Manager>,
    /// Boot and reconnect timers under way.
    awaited: FxHashMap<NodeId, Ticket>,
    /// Pods whose readiness gates are not met.
    gated: FxHashSet<PodId>,
    /// The static pods whose files are on each machine, as their last mirrors were.
    statics: FxHashMap<NodeId, mirror::Files>,
    /// New kubelet processes that have not looked at their pods yet.
    opening: FxHashMap<NodeId, pace::Opening>,
    /// No node of the input has a kubelet of Kubernetes' own; neither will new ones.
    all_stand_ins: bool,
    /// How long a machine's next boot takes, if that is special.
    next_boot: FxHashMap<NodeId, SimDuration>,
    /// Renewals that are held up.
    late: FxHashMap<NodeId, Ticket>,
    /// Nodes whose status loop has something to correct when it next comes round.
    reporting: FxHashSet<NodeId>,
    /// Machines that booted while nobody could be told: their pods' containers are gone.
    booted_unheard: FxHashSet<NodeId>,
    /// Nodes whose kubelet process started while nobody could be told: its pods are as the one before left them.
    restarted_unheard: FxHashSet<NodeId>,
    /// Refused registrations in a row.
    registration_tries: FxHashMap<NodeId, u32>,
    /// The API server does not answer.
    api_down: bool,
    /// How nodes register, by pool.
    templates: Arc<Vec<PoolTemplate>>,
    /// How a node whose object is gone would register again.
    registrations: Registrations,
    /// Draws made so far per concern of a node; keeps repeated boots apart.
    boots: FxHashMap<NodeId, u64>,
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

    /// Whether the node's kubelet hears the API server and has caught up with it.
    fn hears(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        ctx.store.machine(node).talks() && !self.api_down && !self.awaited.contains_key(&node)
    }

    /// Whether something of the pod is still to come: its containers start, end or are restarted, a probe fails or the pod becomes
    /// Ready; or its readiness waits for what never comes.
    #[must_use]
    pub fn is_busy_with(&self, pod: PodId) -> bool {
        let worker = self.workers.get(&pod);
        self.gated.contains(&pod) || worker.is_some_and(Worker::has_more_to_come)
    }

    /// Whether the node's kubelet hears of changes of its pods.
    fn sees_pods(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        self.hears(node, ctx) && !self.opening.contains_key(&node)
    }

    /// Notes an Event of the node's kubelet; each kubelet has a sender of its own, so that none waits for another. What stands
    /// in for a kubelet posts none.
    fn event(&self, node: NodeId, event: EventDraft, ctx: &mut Ctx<'_, Self>) {
        let is_posted = ctx.store.machine(node).talks() && !self.api_down && !self.is_stand_in(node, ctx);
        if is_posted && !ctx.store.is_terminating(event.about.namespace) {
            ctx.record(Record::Event { component: Self::NAME, event: event.on(node) });
        }
    }
}

impl Component for Kubelets {
    type Timer = Timer;
    type Tag = NodeId;
    const NAME: &'static str = "kubelet";
    const PROCESS: Option<ControlPlaneProcess> = None;

    fn words(timer: &Timer, store: &Store) -> String {
        words::of(timer, store)
    }

    fn is_live(timer: &Timer, store: &Store) -> bool {
        match *timer {
            Timer::Started(pod)
            | Timer::RoomMade(pod)
            | Timer::PullFailed(pod, ..)
            | Timer::PullSync(pod, ..)
            | Timer::InitFailed(pod, ..)
            | Timer::InitRestart(pod)
            | Timer::Ready(pod)
            | Timer::Stopped(pod)
            | Timer::Cleaned(pod)
            | Timer::Deadline(pod)
            | Timer::OutOfMemory(pod)
            | Timer::GatesMet(pod)
            | Timer::Ended(pod)
            | Timer::ProbeFailed(pod, _)
            | Timer::ProbeEarly(pod, _)
            | Timer::ProbeKilled(pod, _)
            | Timer::Restart(pod)
            | Timer::Resync(pod)
            | Timer::LookUpVolumes(pod)
            | Timer::MountSync(pod) => store.pod(pod).is_some(),
            // The machine behind a name outlives its Node object.
            Timer::Booted(_)
            | Timer::Reconnected(..)
            | Timer::FirstStatus(_)
            | Timer::PodsSeen(_)
            | Timer::Register(_)
            | Timer::LateRenewal(_)
            | Timer::Report(_)
            | Timer::Pressure(_)
            | Timer::ReportVolumes(_)
            | Timer::Shutdown(..) => true,
        }
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

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let nodes: Vec<NodeId> = ctx.store.nodes().map(|(id, _)| id).collect();
        let is_stand_in = |node: &NodeId| ctx.store.machine(*node).has_stand_in_kubelet;
        self.all_stand_ins = !nodes.is_empty() && nodes.iter().all(is_stand_in);
        for node in nodes {
            if ctx.store.machine(node).kubelet_alive() {
                heartbeat::begin_long_ago(node, ctx);
                self.watch_node(node, ctx);
            }
        }
        self.volumes_found(ctx);
        self.find_failing_pulls(ctx);
        let pods: Vec<PodId> = ctx.store.pods().filter(|(_, pod)| pod.node.is_some()).map(|(id, _)| id).collect();
        for pod in pods {
            self.pod_found(pod, ctx);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match &change.what {
            Changed::PodAdded(id) => self.pod_bound(*id, ctx),
            Changed::PodUpdated { pod, delta, .. } => {
                if delta.touches(PodDelta::NODE) {
                    self.pod_bound(*pod, ctx);
                }
                if delta.touches(PodDelta::DELETION) {
                    self.pod_deleted(*pod, ctx);
                }
                if delta.touches(PodDelta::ANNOTATIONS)
                    && let Some(object) = ctx.store.pod(*pod)
                {
                    self.watch_usage_of(object, ctx);
                    self.watch_memory_of(*pod, ctx);
                }
                if delta.touches(PodDelta::READY) {
                    self.readiness_overwritten(*pod, ctx);
                }
                if delta.touches(PodDelta::PHASE)
                    && let Some(object) = ctx.store.pod(*pod).filter(|object| object.phase.is_terminal())
                {
                    self.unmount(object, ctx);
                }
            }
            Changed::PodRemoved { pod, last } => self.pod_gone(*pod, last, ctx),
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::CONDITIONS) => {
                self.conditions_overwritten(*node, ctx);
            }
            Changed::AttachmentChanged { volume, node } => self.attachment_changed(*volume, *node, ctx),
            Changed::NodeRemoved { node, last } => {
                self.registrations.insert(*node, Arc::new(node_status::registration_of(last)));
            }
            _ => {}
        }
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Booted(node) => {
                self.awaited.remove(&node);
                if ctx.store.machine(node).power == Power::Booting {
                    ctx.change_machine(MachineChange::Booted(node));
                }
            }
            Timer::Reconnected(node, away) => {
                self.awaited.remove(&node);
                self.caught_up(node, away, ctx);
            }
            Timer::FirstStatus(node) => {
                if self.hears(node, ctx) {
                    self.post(node, ctx);
                }
            }
            Timer::PodsSeen(node) => self.opens_its_pods(node, ctx),
            Timer::Register(node) => self.register(node, ctx),
            Timer::LateRenewal(node) => {
                self.late.remove(&node);
                if ctx.store.machine(node).talks() && !self.api_down {
                    heartbeat::begin_now(node, ctx);
                    // The status was held up with the renewal.
                    if self.differs(node, ctx) {
                        self.post(node, ctx);
                    }
                }
            }
            Timer::Report(node) => self.report(node, ctx),
            Timer::Pressure(node) => self.eviction_pass(node, ctx),
            Timer::Shutdown(node, group) => self.shutdown_step(node, group, ctx),
            Timer::Started(pod) => self.containers_started(pod, ctx),
            Timer::RoomMade(pod) => self.room_made(pod, ctx),
            Timer::PullFailed(pod, image, how) => self.pull_failed(pod, image, how, ctx),
            Timer::PullSync(pod, image, how) => self.pull_sync(pod, image, how, ctx),
            Timer::InitFailed(pod, index, code) => self.init_failed(pod, index as usize, code, ctx),
            Timer::InitRestart(pod) => self.run_inits_again(pod, ctx),
            Timer::Ready(pod) => self.became_ready(pod, ctx),
            Timer::Stopped(pod) => self.containers_stopped(pod, ctx),
            Timer::Cleaned(pod) => self.cleaned(pod, ctx),
            Timer::Deadline(pod) => self.deadline_passed(pod, ctx),
            Timer::OutOfMemory(pod) => self.out_of_memory(pod, ctx),
            Timer::GatesMet(pod) => self.gates_met(pod, ctx),
            Timer::Ended(pod) => self.container_ended(pod, None, ctx),
            Timer::ProbeFailed(pod, kind) => self.probe_failed(pod, kind, ctx),
            Timer::ProbeEarly(pod, kind) => self.probe_early(pod, kind, ctx),
            Timer::ProbeKilled(pod, code) => self.probe_killed(pod, code, ctx),
            Timer::Restart(pod) => self.restart(pod, ctx),
            Timer::Resync(pod) => self.post_ready_again(pod, ctx),
            Timer::LookUpVolumes(pod) => self.look_up_volumes(pod, ctx),
            Timer::MountSync(pod) => self.mount_sync(pod, ctx),
            Timer::ReportVolumes(node) => self.report_volumes(node, ctx),
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
            self.registration_tries.remove(&node);
            self.post_first(node, ctx);
            self.recreate_mirrors(node, ctx);
            return;
        }
        let tries = self.registration_tries.entry(node).or_insert(0);
        let wait = FIRST * (1 << (*tries).min(7));
        *tries += 1;
        ctx.arm_in(wait.min(LONGEST), Timer::Register(node));
    }

    fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Self>) {
        match *change {
            MachineChange::PowerOff(node) => self.lost_power(node, ctx),
            MachineChange::InstanceGone(node) => {
                self.lost_power(node, ctx);
                self.images.instance_gone(node);
            }
            MachineChange::PullsFail { node, images, fails } => {
                self.images.pulls_fail(node, images, fails, ctx.cause);
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
            MachineChange::LinkUp(node) | MachineChange::KubeletStarted(node) => {
                let is_link = matches!(change, MachineChange::LinkUp(_));
                if ctx.store.machine(node).talks() && !self.api_down {
                    self.heard_again(node, is_link, ctx);
                } else if !is_link && ctx.store.machine(node).kubelet_alive() {
                    self.restarted_unheard.insert(node);
                }
            }
            MachineChange::LinkDown(node) | MachineChange::KubeletStopped(node) => {
                self.stop_waiting(node, ctx);
                self.stays_closed(node, ctx);
                if matches!(change, MachineChange::KubeletStopped(_)) {
                    self.restarted_unheard.remove(&node);
                    self.kubelet_stopped(node, ctx);
                }
            }
            MachineChange::Observed { node, .. } => {
                if self.hears(node, ctx) {
                    self.post(node, ctx);
                }
                self.condition_observed(node, ctx);
            }
            MachineChange::Burdened { node, .. } => self.watch_usage(node, ctx),
            MachineChange::ShutdownBegins(node) => self.shutdown_begins(node, ctx),
            MachineChange::ContainerEnds { pod, fate } => {
                let ending = match fate {
                    ContainerFate::Exit(code) => Ending::exit(code, ctx.now),
                    ContainerFate::OomKilled => memory::out_of_memory(ctx.now),
                };
                self.container_ended(pod, Some(ending), ctx);
            }
            MachineChange::ProcessDown(ControlPlaneProcess::KubeApiserver) => self.api_stopped(ctx),
            MachineChange::ProcessUp(ControlPlaneProcess::KubeApiserver) => self.api_started(ctx),
            MachineChange::HeartbeatsDelayed { node, delay_ns } => {
                self.renewal_held_up(node, SimDuration::from_nanos(delay_ns), ctx);
            }
            MachineChange::HeartbeatBegins { .. }
            | MachineChange::HeartbeatLost(_)
            | MachineChange::StatusPosted { .. }
            | MachineChange::ProcessDown(_)
            | MachineChange::ProcessUp(_) => {}
        }
    }
}

/// Sends a request that only the node's kubelet could send.
fn tell(ctx: &mut Ctx<'_, Kubelets>, request: Request) {
    ctx.send(request);
}

#[cfg(test)]
mod tests;
