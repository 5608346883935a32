//! The physical world below the API: power, network links, processes.

use std::sync::Arc;

use super::effects::{Effect, Effects};
use super::heartbeat::HeartbeatLoop;
use super::nodes::{NodeConditionKind, NodeId};
use super::pods::PodId;
use super::store::Store;
use crate::arena::Symbol;
use crate::engine::Distribution;
use crate::units::SimTime;

/// Whether a machine runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Power {
    /// The operating system is up.
    #[default]
    On,
    /// No power, or halted: kubelet and containers are gone.
    Off,
    /// Powered on, not yet up.
    Booting,
}

/// What a kubelet would post as its node's conditions.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct ReportedConditions {
    /// Ready=False: the container runtime or the network plugin is down.
    pub not_ready: bool,
    /// `MemoryPressure`.
    pub memory_pressure: bool,
    /// `DiskPressure`.
    pub disk_pressure: bool,
    /// `PIDPressure`.
    pub pid_pressure: bool,
    /// The node is in graceful shutdown: Ready=False, new pods are refused.
    pub shutting_down: bool,
}

/// The machine behind a node name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Whether it exists at all; a name without a machine never had a kubelet, or its instance is gone.
    pub exists: bool,
    /// Whether it is an instance of a cloud that can be asked about it: its Node has a `spec.providerID`.
    pub is_cloud_instance: bool,
    /// Whether something simpler than Kubernetes' kubelet speaks for it, such as KWOK.
    pub has_stand_in_kubelet: bool,
    /// Whether its first kubelet process began with those of other nodes.
    pub began_with_others: bool,
    /// Power.
    pub power: Power,
    /// Whether the link to the control plane carries packets.
    pub linked: bool,
    /// Whether the kubelet process runs.
    pub kubelet_running: bool,
    /// The kubelet process was stopped by itself: booting does not start it.
    pub kubelet_held: bool,
    /// What the kubelet observes.
    pub reported: ReportedConditions,
    /// What faults change of it for as long as they last.
    pub effects: Effects,
    /// Condition `NetworkUnavailable`, as the network would write it.
    pub network_unavailable: bool,
    /// When it was last powered on.
    pub booted_at: SimTime,
    /// Boots so far; containers of an earlier boot are gone.
    pub boots: u32,
    /// Processes of the kubelet that have ended so far: what one of them waited for means nothing to the next.
    pub kubelet_ends: u32,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            exists: false,
            is_cloud_instance: false,
            has_stand_in_kubelet: false,
            began_with_others: false,
            power: Power::Off,
            linked: true,
            kubelet_running: false,
            kubelet_held: false,
            reported: ReportedConditions::default(),
            effects: Effects::default(),
            network_unavailable: false,
            booted_at: SimTime::ZERO,
            boots: 0,
            kubelet_ends: 0,
        }
    }
}

impl Machine {
    /// A machine that is up, linked, with its kubelet running.
    #[must_use]
    pub fn running() -> Self {
        Self { exists: true, power: Power::On, kubelet_running: true, ..Self::default() }
    }

    /// Whether the kubelet process is alive (it may be cut off).
    #[must_use]
    pub fn kubelet_alive(&self) -> bool {
        self.exists && self.power == Power::On && self.kubelet_running
    }

    /// The kubelet process ends, if one runs.
    fn end_kubelet(&mut self) {
        self.kubelet_ends += u32::from(std::mem::take(&mut self.kubelet_running));
    }

    /// Whether the kubelet and the API server hear each other.
    #[must_use]
    pub fn talks(&self) -> bool {
        self.kubelet_alive() && self.linked
    }
}

/// A process of the control plane that can be down.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ControlPlaneProcess {
    /// `kube-apiserver`.
    KubeApiserver,
    /// `kube-controller-manager` with all its controllers.
    KubeControllerManager,
    /// `kube-scheduler`.
    KubeScheduler,
}

impl ControlPlaneProcess {
    /// The process's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeScheduler => "kube-scheduler",
        }
    }
}

/// How a fault ends a container.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ContainerFate {
    /// It exits with this code.
    Exit(i32),
    /// The kernel kills it for its memory (exit code 137, reason `OOMKilled`).
    OomKilled,
}

/// A fault that has begun, told from all others of its run.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct FaultId(pub u32);

/// A change of the physical world. Kubelets and the cloud see it at once; the control plane only sees what follows.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineChange {
    /// The machine loses power: kubelet and containers are gone.
    PowerOff(NodeId),
    /// Power is back (or the reboot began): it boots, and its kubelet starts after the boot latency.
    PowerOn(NodeId),
    /// The next boot takes this long (nanoseconds), whatever the scenario says of boots in general.
    NextBootTakes {
        /// Node.
        node: NodeId,
        /// How long, in nanoseconds.
        length_ns: u64,
    },
    /// The operating system is up and the kubelet process starts.
    Booted(NodeId),
    /// The link to the control plane is cut, both ways.
    LinkDown(NodeId),
    /// The link carries packets again.
    LinkUp(NodeId),
    /// The kubelet process stops; containers go on.
    KubeletStopped(NodeId),
    /// The kubelet process starts.
    KubeletStarted(NodeId),
    /// What the kubelet observes of its node changes. For `Ready`, `holds` = false is the runtime or network being down.
    Observed {
        /// Node.
        node: NodeId,
        /// Condition.
        condition: NodeConditionKind,
        /// Whether it now holds.
        holds: bool,
    },
    /// What a fault changes of it for as long as it lasts is so from now on.
    Affected {
        /// Node.
        node: NodeId,
        /// By all causes together.
        effect: Effect,
    },
    /// What its kubelet sends from now on arrives late.
    RequestsDelayed {
        /// Node.
        node: NodeId,
        /// By a draw from each of these, added up; on time, if there are none.
        delays: Arc<[Distribution]>,
    },
    /// Pulls of some images fail that begin from now on.
    PullsFail {
        /// Because of this fault.
        fault: FaultId,
        /// On this node; on all, also those that are yet to come, if none is named.
        node: Option<NodeId>,
        /// An image, or with `*` at the end the beginning of images' names.
        images: Symbol,
    },
    /// No pulls fail any more because of this fault.
    PullsWork(FaultId),
    /// The operating system announces a shutdown: the kubelet ends pods by priority, then the machine is off.
    ShutdownBegins(NodeId),
    /// The instance is gone for good and the cloud knows it.
    InstanceGone(NodeId),
    /// A new machine of that name exists and boots; its kubelet will register as the pool's template says.
    InstanceCreated {
        /// Node name.
        name: Symbol,
        /// Position of the pool in the scenario.
        pool: u32,
    },
    /// The kubelet begins to renew its lease (again), and to report its status.
    HeartbeatBegins {
        /// Node.
        node: NodeId,
        /// Lease renewals.
        lease: HeartbeatLoop,
        /// Reports of an unchanged status.
        reports: HeartbeatLoop,
    },
    /// The kubelet posted a changed status; unchanged ones follow by this loop.
    StatusPosted {
        /// Node.
        node: NodeId,
        /// Reports of an unchanged status.
        reports: HeartbeatLoop,
    },
    /// A changed status that a slow link had held up is there.
    StatusArrived(NodeId),
    /// Renewals stop to reach the API server though machine, link and kubelet are fine: the API server is down.
    HeartbeatLost(NodeId),
    /// A container ends by itself.
    ContainerEnds {
        /// Pod.
        pod: PodId,
        /// How.
        fate: ContainerFate,
    },
    /// A process of the control plane stops.
    ProcessDown(ControlPlaneProcess),
    /// It starts again, with empty memory.
    ProcessUp(ControlPlaneProcess),
    /// The next lease renewal is late by this much (nanoseconds; 0 = on time): nothing is heard until then.
    HeartbeatsDelayed {
        /// Node.
        node: NodeId,
        /// By how much, in nanoseconds.
        delay_ns: u64,
    },
}

impl Store {
    /// Applies a change of the physical world; names the node whose heartbeats began or stopped to be heard by it.
    ///
    /// Processes of the control plane are not kept here: whether they run is known to who plays them.
    pub fn apply_machine_change(&mut self, change: &MachineChange, now: SimTime) -> Option<NodeId> {
        let node = match *change {
            MachineChange::PowerOff(node) | MachineChange::InstanceGone(node) => {
                let machine = self.machine_mut(node);
                machine.exists &= matches!(change, MachineChange::PowerOff(_));
                machine.power = Power::Off;
                machine.end_kubelet();
                node
            }
            MachineChange::InstanceCreated { name, .. } => {
                let node = self.node_slot(name);
                let Machine { boots, kubelet_ends, .. } = *self.machine(node);
                let power = Power::Booting;
                *self.machine_mut(node) = Machine { exists: true, power, boots, kubelet_ends, ..Machine::default() };
                return None;
            }
            MachineChange::PowerOn(node) => {
                self.machine_mut(node).power = Power::Booting;
                return None;
            }
            MachineChange::Booted(node) => {
                let machine = self.machine_mut(node);
                machine.power = Power::On;
                machine.kubelet_running = !machine.kubelet_held;
                machine.reported.shutting_down = false;
                machine.booted_at = now;
                machine.boots += 1;
                return None;
            }
            MachineChange::LinkDown(node) => {
                self.machine_mut(node).linked = false;
                node
            }
            MachineChange::LinkUp(node) => {
                self.machine_mut(node).linked = true;
                return None;
            }
            MachineChange::KubeletStopped(node) => {
                let machine = self.machine_mut(node);
                machine.end_kubelet();
                machine.kubelet_held = true;
                node
            }
            MachineChange::KubeletStarted(node) => {
                let machine = self.machine_mut(node);
                machine.kubelet_running = machine.power == Power::On;
                machine.kubelet_held = false;
                return None;
            }
            MachineChange::ShutdownBegins(node) => {
                self.machine_mut(node).reported.shutting_down = true;
                return None;
            }
            MachineChange::Observed { node, condition, holds } => {
                let machine = self.machine_mut(node);
                match condition {
                    NodeConditionKind::Ready => machine.reported.not_ready = !holds,
                    NodeConditionKind::MemoryPressure => machine.reported.memory_pressure = holds,
                    NodeConditionKind::DiskPressure => machine.reported.disk_pressure = holds,
                    NodeConditionKind::PidPressure => machine.reported.pid_pressure = holds,
                    NodeConditionKind::NetworkUnavailable => machine.network_unavailable = holds,
                }
                return None;
            }
            MachineChange::Affected { node, effect } => {
                self.machine_mut(node).effects.put(effect);
                return None;
            }
            MachineChange::HeartbeatBegins { node, lease, reports } => {
                self.heartbeat_mut(node).begin(now, lease, reports);
                return Some(node);
            }
            MachineChange::StatusPosted { node, reports } => {
                self.heartbeat_mut(node).post(now, reports);
                return None;
            }
            MachineChange::StatusArrived(node) => {
                self.heartbeat_mut(node).arrive(now);
                return None;
            }
            MachineChange::HeartbeatsDelayed { delay_ns: 0, .. }
            | MachineChange::NextBootTakes { .. }
            | MachineChange::ContainerEnds { .. }
            | MachineChange::PullsFail { .. }
            | MachineChange::PullsWork(_)
            | MachineChange::RequestsDelayed { .. }
            | MachineChange::ProcessDown(_)
            | MachineChange::ProcessUp(_) => return None,
            MachineChange::HeartbeatsDelayed { node, .. } | MachineChange::HeartbeatLost(node) => node,
        };
        let was_heard = self.heartbeat(node).is_alive();
        self.heartbeat_mut(node).silence(now);
        was_heard.then_some(node)
    }
}
