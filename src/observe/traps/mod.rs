//! Known traps of a real cluster that decided something in this run: one line each, with the page that explains it.
//!
//! A trap is named for what it did (a pod stayed down, an eviction was refused, a timer began anew), never for a setting
//! that might have. One file a mechanism; each keeps what it needs to tell and tells it when the run ends.

mod named;
mod nodes;

use serde::Serialize;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use crate::component::{Config, Record};
use crate::state::{Change, ControlPlaneProcess, PodId, Store};
use crate::units::SimTime;

use named::seconds;
use nodes::{NodeFacts, Turn};

/// The page that explains every trap under a heading of its own.
const PAGE: &str = "docs/traps.md";

/// What watches for traps of one mechanism, in runs whose files are kept.
trait Mechanism: Sized {
    /// What it has found at the end: at most one of each of its kinds, in their order.
    type Found: IntoIterator<Item = Trap>;

    /// The run begins.
    fn begin(nodes: &NodeFacts, store: &Store, config: &Config) -> Self;

    /// A change was committed; `turn` says what it did to a node.
    fn changed(&mut self, change: &Change, turn: Turn, nodes: &NodeFacts, store: &Store);

    /// A component recorded a fact.
    fn recorded(&mut self, _now: SimTime, _record: &Record, _store: &Store) {}

    /// The API server refused the pod's eviction for a budget's sake.
    fn refused(&mut self, _now: SimTime, _pod: PodId, _store: &Store) {}

    /// kube-controller-manager starts in the middle of the run, with empty memory.
    fn restarted(&mut self, _now: SimTime, _nodes: &NodeFacts, _store: &Store) {}

    /// The run ends.
    fn finish(self, end: SimTime, nodes: &NodeFacts, store: &Store) -> Self::Found;
}

macro_rules! traps {
    ($($module:ident::$Mechanism:ident { $($(#[$doc:meta])+ $Kind:ident = $name:literal,)+ })+) => {
        $(mod $module;)+

        /// A trap.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub enum TrapKind { $($($(#[$doc])+ $Kind,)+)+ }

        impl TrapKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$($(Self::$Kind,)+)+];

            /// Its name in `summary.json`, and its heading on the page.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($(Self::$Kind => $name,)+)+ }
            }
        }

        /// All that watches for traps.
        #[derive(Clone, Debug)]
        pub(super) struct Traps {
            nodes: NodeFacts,
            $($module: $module::$Mechanism,)+
        }

        impl Traps {
            /// The run begins.
            fn of(store: &Store, config: &Config) -> Self {
                let nodes = NodeFacts::begin(store);
                Self { $($module: Mechanism::begin(&nodes, store, config),)+ nodes }
            }

            fn changed(&mut self, change: &Change, store: &Store) {
                let turn = self.nodes.changed(change, store);
                $(self.$module.changed(change, turn, &self.nodes, store);)+
            }

            fn recorded(&mut self, now: SimTime, record: &Record, store: &Store) {
                $(self.$module.recorded(now, record, store);)+
            }

            fn refused(&mut self, now: SimTime, pod: PodId, store: &Store) {
                $(self.$module.refused(now, pod, store);)+
            }

            fn restarted(&mut self, now: SimTime, store: &Store) {
                $(self.$module.restarted(now, &self.nodes, store);)+
            }

            /// What each trap did, in the order of [`TrapKind::ALL`].
            pub(super) fn finish(self, end: SimTime, store: &Store) -> Vec<Trap> {
                let mut found = Vec::new();
                $(found.extend(self.$module.finish(end, &self.nodes, store));)+
                found
            }
        }
    };
}

// One entry a mechanism, `file::Type`, with its traps and their names.
traps! {
    timers::Timers {
        /// A controller-manager that starts begins all tolerations anew.
        RestartedTolerations = "restarted-tolerations",
        /// A toleration lengthened once the timer runs.
        LateToleration = "late-toleration",
    }
    budgets::Budgets {
        /// A budget that can never allow a disruption.
        ImpossibleBudget = "impossible-budget",
        /// The same of a workload of one pod.
        SingleReplicaBudget = "single-replica-budget",
    }
    dead_node::DeadNode {
        /// A StatefulSet whose pod is Terminating where nobody can confirm it.
        StatefulPodOnDeadNode = "stateful-pod-on-dead-node",
    }
    one_place::OnePlace {
        /// All pods of a workload on the node, or in the zone, that failed.
        AllInOnePlace = "all-in-one-place",
    }
    drains::Drains {
        /// A drain that waits for what does not come.
        EndlessDrain = "endless-drain",
    }
    stopped::Stopped {
        /// Evictions stopped because too much was down.
        StoppedEvictions = "stopped-evictions",
    }
}

impl TrapKind {
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
    /// All of them, until they have a table.
    #[serde(skip)]
    pub(super) all: Vec<String>,
    /// What it cost at the worst, in seconds: pods down or held, operators waiting. None where that means nothing.
    pub cost_s: Option<f64>,
    /// Where it is explained.
    pub see: String,
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
            traps.recorded(seen.now, record, seen.store);
        }
    }

    fn refused(&mut self, pod: Option<PodId>, seen: &Seen<'_>) {
        if let (Some(traps), Some(pod)) = (self, pod) {
            traps.refused(seen.now, pod, seen.store);
        }
    }

    fn restarted(&mut self, process: ControlPlaneProcess, seen: &Seen<'_>) {
        if let (Some(traps), ControlPlaneProcess::KubeControllerManager) = (self, process) {
            traps.restarted(seen.now, seen.store);
        }
    }
}
