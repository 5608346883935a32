//! Changes of a cluster that may help: to whom each can be applied, and what it makes of the objects. One file a change.

mod objects;

use std::collections::BTreeSet;

use super::finding::Price;
use crate::model::Object;
use crate::scenario::ResolvedScenario;
use crate::state::Store;

/// What decides to whom a fix can be applied, beside the objects.
#[derive(Copy, Clone, Debug)]
pub(super) struct Circumstances<'a> {
    pub(super) zones: usize,
    pub(super) nodes: usize,
    /// Whether some play left pods without a node.
    pub(super) lacks_room: bool,
    /// Workloads whose roll-outs got stuck in a play.
    pub(super) stuck: &'a BTreeSet<String>,
    /// Workloads that lose something when memory is short.
    pub(super) pressed: &'a BTreeSet<String>,
    /// Workloads that services lead to.
    pub(super) served: &'a BTreeSet<String>,
    /// The settled cluster.
    pub(super) store: &'a Store,
}

/// What a change is, and how it is told.
trait Change: Sync {
    /// How the files under `patches/` name it.
    fn file(&self) -> &'static str;

    /// What is to be done, for people.
    fn words(&self) -> &'static str;

    /// What is wrong without it, as the cause that a finding names: of one workload, and of more.
    fn cause(&self) -> [&'static str; 2];

    /// Whether it can be applied to that workload.
    fn fits(&self, object: &Object, scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool;

    /// Makes the change for these workloads, by their paths. Workloads whose pods are made from another template then have been
    /// rolled out: the pods of the input that they own are not there any more, and their controllers make them anew.
    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>);

    /// What it takes.
    fn price(&self, _scenario: &ResolvedScenario, _workloads: &BTreeSet<String>) -> Price {
        Price::default()
    }

    /// What somebody has to know who applies the patch: a comment of it.
    fn caution(&self) -> Option<&'static str> {
        None
    }

    /// What is to be done where no kubectl line can do it, in words.
    fn by_hand(&self) -> Option<&'static str> {
        None
    }

    /// kubectl lines for an hour to come in place of a patch, as a shell script without its first lines.
    fn runbook(&self) -> Option<&'static str> {
        None
    }
}

/// Makes the modules and the enum of the list of changes.
macro_rules! fixes {
    ($($(#[$doc:meta])+ $module:ident::$fix:ident = $name:literal)+) => {
        $(mod $module;)+

        /// A change that may help.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
        pub enum Fix { $($(#[$doc])+ #[serde(rename = $name)] $fix,)+ }

        impl Fix {
            /// Every fix, in the order in which they are tried; of equally good ones the first is recommended.
            pub const ALL: &'static [Self] = &[$(Self::$fix,)+];

            fn change(self) -> &'static dyn Change {
                match self { $(Self::$fix => &$module::$fix,)+ }
            }
        }
    };
}

// One line a change: `file::Type`, and how `forecast.json` names it. Of equally good ones the first is recommended.
fixes! {
    /// A pod without a controller becomes a Deployment of one replica.
    controller::Controller = "controller"
    /// A budget that lets no pod go lets one go at a time.
    budget_loosen::BudgetLoosen = "budgetLoosen"
    /// A budget that holds nothing back lets one pod go at a time.
    budget_tighten::BudgetTighten = "budgetTighten"
    /// A budget that lets one pod go at a time.
    budget_add::BudgetAdd = "budgetAdd"
    /// Roll-outs take a pod away before they make the next.
    roll_out::RollOut = "rollOut"
    /// Replicas rather keep apart than that they have to.
    anti_affinity::AntiAffinity = "antiAffinity"
    /// No two replicas on a node, as far as there are nodes.
    spread_hosts::SpreadHosts = "spreadHosts"
    /// Replicas evenly over zones.
    spread_zones::SpreadZones = "spreadZones"
    /// Pods of lost nodes are evicted after 30 seconds.
    toleration::Toleration = "toleration"
    /// Somebody says of a machine that is off that it is.
    out_of_service::OutOfService = "outOfService"
    /// No selector pins the pods to few nodes.
    unpin::Unpin = "unpin"
    /// Volumes that every node can reach.
    volume::Volume = "volume"
    /// Requests of what pods use.
    requests::Requests = "requests"
    /// A readiness probe that looks earlier.
    probe::Probe = "probe"
    /// A priority above that of the others.
    priority::Priority = "priority"
    /// A grace period within the patience of a drain.
    grace::Grace = "grace"
    /// A second replica for what has one.
    replicas::SecondReplica = "replicas"
    /// A second replica, and both in zones of their own.
    replicas_across_zones::AcrossZones = "replicasAcrossZones"
    /// A node more.
    node::Node = "node"
    /// Nodes in one more zone.
    zone::Zone = "zone"
}

impl Fix {
    /// How the files under `patches/` name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.change().file()
    }

    /// What is to be done, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.change().words()
    }

    /// What is wrong without it, as the cause that a finding names; `is_one` workload or more.
    #[must_use]
    pub fn cause(self, is_one: bool) -> &'static str {
        let [one, more] = self.change().cause();
        if is_one { one } else { more }
    }

    /// What somebody has to know who applies its patch.
    pub(super) fn caution(self) -> Option<&'static str> {
        self.change().caution()
    }

    /// Changes that go for the same, more and less far: a cluster is told one of each such pair.
    pub(super) fn rival(self) -> Option<Self> {
        match self {
            Self::SecondReplica => Some(Self::AcrossZones),
            Self::AcrossZones => Some(Self::SecondReplica),
            Self::SpreadHosts => Some(Self::SpreadZones),
            Self::SpreadZones => Some(Self::SpreadHosts),
            _ => None,
        }
    }

    pub(super) fn fits(self, object: &Object, scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        self.change().fits(object, scenario, around)
    }

    pub(super) fn apply(self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        self.change().apply(scenario, workloads);
    }

    pub(super) fn price(self, scenario: &ResolvedScenario, workloads: &BTreeSet<String>) -> Price {
        self.change().price(scenario, workloads)
    }

    pub(super) fn by_hand(self) -> Option<&'static str> {
        self.change().by_hand()
    }

    pub(super) fn runbook(self) -> Option<&'static str> {
        self.change().runbook()
    }
}
