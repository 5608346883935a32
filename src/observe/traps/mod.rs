//! Known traps of a real cluster that decided something in this run: one line each, with the page that explains it.
//!
//! A trap is named for what it did (a pod stayed down, an eviction was refused, a timer began anew), never for a setting
//! that might have. One file a mechanism; each keeps what it needs to tell and tells it when the run ends.

mod budgets;
mod dead_node;
mod drains;
mod named;
mod nodes;
mod one_place;
mod stopped;
mod timers;

use serde::Serialize;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use crate::component::{Config, Record};
use crate::state::{Change, ControlPlaneProcess, PodId, Store};
use crate::units::SimTime;

use named::seconds;

/// The page that explains every trap under a heading of its own.
const PAGE: &str = "docs/traps.md";

/// A trap.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TrapKind {
    /// A controller-manager that starts begins all tolerations anew.
    RestartedTolerations,
    /// A toleration lengthened once the timer runs.
    LateToleration,
    /// A budget that can never allow a disruption.
    ImpossibleBudget,
    /// The same of a workload of one pod.
    SingleReplicaBudget,
    /// A StatefulSet whose pod is Terminating where nobody can confirm it.
    StatefulPodOnDeadNode,
    /// All pods of a workload on the node, or in the zone, that failed.
    AllInOnePlace,
    /// A drain that waits for what does not come.
    EndlessDrain,
    /// Evictions stopped because too much was down.
    StoppedEvictions,
}

impl TrapKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::RestartedTolerations,
        Self::LateToleration,
        Self::ImpossibleBudget,
        Self::SingleReplicaBudget,
        Self::StatefulPodOnDeadNode,
        Self::AllInOnePlace,
        Self::EndlessDrain,
        Self::StoppedEvictions,
    ];

    /// Its name in `summary.json`, and its heading on the page.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RestartedTolerations => "restarted-tolerations",
            Self::LateToleration => "late-toleration",
            Self::ImpossibleBudget => "impossible-budget",
            Self::SingleReplicaBudget => "single-replica-budget",
            Self::StatefulPodOnDeadNode => "stateful-pod-on-dead-node",
            Self::AllInOnePlace => "all-in-one-place",
            Self::EndlessDrain => "endless-drain",
            Self::StoppedEvictions => "stopped-evictions",
        }
    }

    /// Where it is explained.
    #[must_use]
    pub fn see(self) -> String {
        format!("{PAGE}#{}", self.as_str())
    }
}

impl Serialize for TrapKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What a trap did in a run.
#[derive(Clone, Debug, Serialize)]
pub struct Trap {
    /// Which.
    pub trap: TrapKind,
    /// When it first decided something.
    #[serde(rename = "at_s", serialize_with = "seconds")]
    pub at: SimTime,
    /// One line.
    pub text: String,
    /// The objects it decided about, the first few.
    pub objects: Vec<String>,
    /// How many more there are.
    pub more: usize,
    /// What it cost at the worst, in seconds: pods down or held, operators waiting. None where that means nothing.
    pub cost_s: Option<f64>,
    /// Where it is explained.
    pub see: String,
}

/// All that watches for traps.
#[derive(Debug)]
pub(super) struct Traps {
    nodes: nodes::NodeFacts,
    timers: timers::Timers,
    budgets: budgets::Budgets,
    dead_node: dead_node::DeadNode,
    one_place: one_place::OnePlace,
    drains: drains::Drains,
    stopped: stopped::Stopped,
}

impl Traps {
    /// The run begins.
    fn of(store: &Store, config: &Config) -> Self {
        let nodes = nodes::NodeFacts::begin(store);
        let mut traps = Self {
            timers: timers::Timers::default(),
            budgets: budgets::Budgets::default(),
            dead_node: dead_node::DeadNode::default(),
            one_place: one_place::OnePlace::default(),
            drains: drains::Drains::default(),
            stopped: stopped::Stopped::begin(store, &nodes, config),
            nodes,
        };
        traps.timers.begin(store, &traps.nodes);
        traps.dead_node.begin(store);
        traps
    }

    fn changed(&mut self, change: &Change, store: &Store) {
        let turn = self.nodes.changed(change, store);
        self.timers.changed(change, turn, &self.nodes, store);
        self.budgets.changed(change);
        self.dead_node.changed(change, &self.nodes, store);
        self.one_place.changed(change, &self.nodes, store);
        self.drains.changed(change);
        self.stopped.changed(change, turn, &self.nodes, store);
    }

    /// What each trap did, in the order of [`TrapKind::ALL`].
    pub(super) fn finish(self, end: SimTime, store: &Store) -> Vec<Trap> {
        let (restarted, late) = self.timers.finish(end, store);
        let (impossible, single) = self.budgets.finish();
        let found = [
            restarted,
            late,
            impossible,
            single,
            self.dead_node.finish(end, &self.nodes, store),
            self.one_place.finish(end),
            self.drains.finish(end, store),
            self.stopped.finish(end, &self.nodes, store),
        ];
        found.into_iter().flatten().collect()
    }
}

/// There are none until the run begins.
impl Observer for Option<Traps> {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, setup: &Setup<'_>, seen: &Seen<'_>) {
        *self = Some(Traps::of(seen.store, setup.config));
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        if let Some(traps) = self {
            traps.changed(change, seen.store);
        }
    }

    fn recorded(&mut self, record: &Record, seen: &Seen<'_>) {
        if let Some(traps) = self {
            traps.drains.recorded(seen.now, record, seen.store);
        }
    }

    fn refused(&mut self, pod: Option<PodId>, seen: &Seen<'_>) {
        if let (Some(traps), Some(pod)) = (self, pod) {
            traps.budgets.refused(seen.now, pod, seen.store);
            traps.drains.refused(seen.now, pod);
        }
    }

    fn restarted(&mut self, process: ControlPlaneProcess, seen: &Seen<'_>) {
        if let (Some(traps), ControlPlaneProcess::KubeControllerManager) = (self, process) {
            traps.timers.restarted(seen.now, &traps.nodes, seen.store);
        }
    }
}
