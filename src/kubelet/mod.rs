//! All kubelets, as one component with a column per fact.
//!
//! A quiet node costs nothing: renewals and reports are formulas, and a pod that runs and is ready has no timer. What is
//! kept per pod is only what is under way: a start, a stop, a back-off.

mod admission;
mod heartbeat;
mod node_status;
mod pod_worker;
mod restart;
mod settings;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::component::{Answer, ClientLimit, Component, Config, Ctx, NodeRegistration, Request, Start};
use crate::engine::Ticket;
use crate::state::{
    Change, Changed, ContainerFate, ControlPlaneProcess, MachineChange, NodeId, PodDelta, PodId, Power,
};
use crate::units::SimTime;
use pod_worker::Worker;

/// What a kubelet waits for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// The machine is up.
    Booted(NodeId),
    /// The kubelet sees again what the API server has.
    Reconnected(NodeId),
    /// The graceful shutdown's next group, or the end of it.
    Shutdown(NodeId, u32),
    /// The pod's containers run.
    Started(PodId),
    /// The pod is ready.
    Ready(PodId),
    /// The pod's containers have stopped.
    Stopped(PodId),
    /// A container ends by itself.
    Ended(PodId),
    /// The back-off before a restart is over.
    Restart(PodId),
    /// The status manager compares its pods with the API's.
    Resync(PodId),
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
    /// When the images being pulled on a node will all be there; pulls are serial.
    pulls_until: FxHashMap<NodeId, SimTime>,
    /// Boot and reconnect timers under way.
    awaited: FxHashMap<NodeId, Ticket>,
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
    pub zones: Vec<crate::arena::Symbol>,
}

impl Kubelets {
    /// Kubelets that know how the machines of each pool register.
    #[must_use]
    pub fn new(templates: Arc<Vec<PoolTemplate>>) -> Self {
        Self { templates, ..Self::default() }
    }

    /// Whether the node's kubelet hears the API server and has caught up with it.
    fn hears(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        ctx.store.machine(node).talks() && !self.awaited.contains_key(&node)
    }
}

impl Component for Kubelets {
    type Timer = Timer;
    type Tag = NodeId;
    const NAME: &'static str = "kubelet";
    const PROCESS: Option<ControlPlaneProcess> = None;

    fn clients(_config: &Config) -> Vec<ClientLimit> {
        Vec::new()
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_) | Changed::PodUpdated { .. } | Changed::PodRemoved { .. } | Changed::NodeRemoved { .. }
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let nodes: Vec<NodeId> = ctx.store.nodes().map(|(id, _)| id).collect();
        for node in nodes {
            if ctx.store.machine(node).kubelet_alive() {
                heartbeat::begin_long_ago(node, ctx);
            }
        }
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
                if delta.touches(PodDelta::READY) {
                    self.readiness_overwritten(*pod, ctx);
                }
            }
            Changed::PodRemoved { pod, last } => self.pod_gone(*pod, last, ctx),
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
            Timer::Reconnected(node) => {
                self.awaited.remove(&node);
                self.caught_up(node, ctx);
            }
            Timer::Shutdown(node, group) => self.shutdown_step(node, group, ctx),
            Timer::Started(pod) => self.containers_started(pod, ctx),
            Timer::Ready(pod) => self.became_ready(pod, ctx),
            Timer::Stopped(pod) => self.containers_stopped(pod, ctx),
            Timer::Ended(pod) => self.container_ended(pod, None, ctx),
            Timer::Restart(pod) => self.restart(pod, ctx),
            Timer::Resync(pod) => self.post_ready_again(pod, ctx),
        }
    }

    /// Only registration is answered: the status follows it.
    fn answered(&mut self, node: NodeId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if answer.is_ok() && ctx.store.machine(node).talks() {
            node_status::post(node, ctx);
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Self>) {
        match *change {
            MachineChange::PowerOff(node) | MachineChange::InstanceGone(node) => self.lost_power(node, ctx),
            MachineChange::PowerOn(node) => self.boots(node, ctx),
            MachineChange::InstanceCreated { name, pool } => {
                let Some(node) = ctx.store.find_node(name) else { return };
                self.instance_created(node, pool, ctx);
            }
            MachineChange::Booted(node) => self.booted(node, ctx),
            MachineChange::LinkUp(node) | MachineChange::KubeletStarted(node) => {
                if ctx.store.machine(node).talks() {
                    self.heard_again(node, matches!(change, MachineChange::LinkUp(_)), ctx);
                }
            }
            MachineChange::LinkDown(node) | MachineChange::KubeletStopped(node) => {
                if let Some(ticket) = self.awaited.remove(&node) {
                    ctx.cancel(ticket);
                }
            }
            MachineChange::Observed { node, .. } => {
                if ctx.store.machine(node).talks() {
                    node_status::post(node, ctx);
                }
            }
            MachineChange::ShutdownBegins(node) => self.shutdown_begins(node, ctx),
            MachineChange::ContainerEnds { pod, fate } => {
                let code = match fate {
                    ContainerFate::Exit(code) => code,
                    ContainerFate::OomKilled => 137,
                };
                self.container_ended(pod, Some(code), ctx);
            }
            MachineChange::HeartbeatBegins { .. }
            | MachineChange::StatusPosted { .. }
            | MachineChange::ProcessDown(_)
            | MachineChange::ProcessUp(_)
            | MachineChange::HeartbeatsDelayed { .. } => {}
        }
    }
}

/// Sends a request that only the node's kubelet could send.
fn tell(ctx: &mut Ctx<'_, Kubelets>, request: Request) {
    ctx.tell(request);
}
