//! A single incident: what happens, how long it is played, and how often it comes.

use std::ops::Range;

use serde_json::Value;

use crate::arena::Symbol;
use crate::diagnostics::Location;
use crate::simulation::Script;
use crate::units::SimDuration;

/// What kind of thing happens in an incident.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum IncidentKind {
    /// A machine is off for longer than Kubernetes takes to notice it and to move its pods.
    NodeLost,
    /// The network of a machine is away for so short a time that its pods should stay.
    NodeHiccup,
    /// A machine is reclaimed after a notice of two minutes, and none comes in its place.
    InstanceReclaimed,
    /// Two machines are off together.
    PairLost,
    /// All machines of a zone are off.
    ZoneLost,
    /// All machines of another failure domain that labels name are off.
    DomainLost,
    /// All kubelets are cut off from the API server.
    KubeletsCutOff,
    /// The API server is away.
    ApiServerGone,
    /// kube-controller-manager begins anew in the middle of the loss of a machine.
    ControllerManagerRestart,
    /// A machine is drained and comes back.
    Drain,
    /// The machines of a pool are drained one after the other, as for an upgrade.
    PoolUpgrade,
    /// Workloads are restarted, one after the other.
    RollOut,
    /// A workload is restarted while a machine is off.
    RolloutWhileNodeLost,
    /// Something uses up the memory of a machine.
    NodePressure,
    /// What the input's scenario or the catalogue's file brings.
    Own,
}

impl IncidentKind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 15] = [
        Self::NodeLost,
        Self::ZoneLost,
        Self::DomainLost,
        Self::PairLost,
        Self::NodeHiccup,
        Self::InstanceReclaimed,
        Self::KubeletsCutOff,
        Self::ApiServerGone,
        Self::ControllerManagerRestart,
        Self::Drain,
        Self::PoolUpgrade,
        Self::RollOut,
        Self::RolloutWhileNodeLost,
        Self::NodePressure,
        Self::Own,
    ];

    /// How a catalogue's file and `forecast.json` name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NodeLost => "nodeLost",
            Self::NodeHiccup => "nodeHiccup",
            Self::InstanceReclaimed => "instanceReclaimed",
            Self::PairLost => "pairLost",
            Self::ZoneLost => "zoneLost",
            Self::DomainLost => "domainLost",
            Self::KubeletsCutOff => "kubeletsCutOff",
            Self::ApiServerGone => "apiServerGone",
            Self::ControllerManagerRestart => "controllerManagerRestart",
            Self::Drain => "drain",
            Self::PoolUpgrade => "poolUpgrade",
            Self::RollOut => "rollOut",
            Self::NodePressure => "nodePressure",
            Self::RolloutWhileNodeLost => "rolloutWhileNodeLost",
            Self::Own => "own",
        }
    }

    /// What all incidents of the kind are, as a heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::NodeLost => "any one node lost",
            Self::NodeHiccup => "any one node cut off for a moment",
            Self::InstanceReclaimed => "any one node reclaimed after two minutes' notice",
            Self::PairLost => "any two nodes lost",
            Self::ZoneLost => "any one zone lost",
            Self::DomainLost => "any other failure domain lost",
            Self::KubeletsCutOff => "all kubelets cut off",
            Self::ApiServerGone => "API server gone",
            Self::ControllerManagerRestart => "kube-controller-manager restarts in mid-outage",
            Self::Drain => "any one node drained",
            Self::PoolUpgrade => "a pool's nodes drained one after the other",
            Self::RollOut => "workloads restarted one after the other",
            Self::NodePressure => "any one node short of memory",
            Self::RolloutWhileNodeLost => "a roll-out while a node is lost",
            Self::Own => "incidents of your own",
        }
    }

    /// Whether somebody does it on purpose, so that it should cost nothing at all.
    #[must_use]
    pub fn is_planned(self) -> bool {
        matches!(self, Self::Drain | Self::PoolUpgrade | Self::RollOut)
    }
}

/// Something that happens to the settled cluster.
#[derive(Clone, Debug)]
pub struct Incident {
    /// Its name, unique in the catalogue: `nodeLost/worker-3`.
    pub id: String,
    /// What kind of thing happens.
    pub kind: IncidentKind,
    /// The same for people: `worker-3 lost for 30m`.
    pub label: String,
    /// How many incidents it stands for: itself, and those that are alike.
    pub alike: u64,
    /// Where it is of a single node: that, and those that are alike.
    pub(super) nodes: Vec<Symbol>,
    /// How often one of those it stands for is expected, a year; 0 for what is judged by its worst case alone, or comes at random
    /// in the years.
    pub per_year: f64,
    /// What happens when, as entries of a scenario's timeline.
    pub timeline: Vec<Value>,
    /// What somebody does about it who follows the runbook, likewise.
    pub(super) runbook: Vec<Value>,
    /// For how long it is played.
    pub length: SimDuration,
    /// Where its entries are written, if somebody wrote them.
    pub(super) entries_at: Vec<Location>,
    /// Where its entries stand in the timeline of the scenario that has all incidents.
    pub(super) entries: Range<usize>,
    /// The same of what the runbook says.
    pub(super) runbook_entries: Range<usize>,
    /// What happens instead, if it comes from elsewhere.
    pub(super) own: Option<Script>,
}

impl Incident {
    pub(super) fn new(
        kind: IncidentKind,
        what: &str,
        label: String,
        length: SimDuration,
        timeline: Vec<Value>,
    ) -> Self {
        let id = format!("{}/{what}", kind.as_str());
        Self {
            id,
            kind,
            label,
            alike: 1,
            nodes: Vec::new(),
            per_year: 0.0,
            timeline,
            runbook: Vec::new(),
            length,
            entries_at: Vec::new(),
            entries: 0..0,
            runbook_entries: 0..0,
            own: None,
        }
    }

    /// What makes the cluster's scenario one in which it happens, as `path=value`; nothing if it comes from elsewhere.
    pub(super) fn settings(&self) -> Vec<String> {
        if self.own.is_some() {
            return Vec::new();
        }
        vec![format!("spec.timeline={}", Value::from(self.timeline.clone())), format!("spec.duration={}", self.length)]
    }

    /// What somebody wrote: of each entry where it stands in the timeline of the scenario that has all incidents, what it says, and where.
    pub(super) fn written(&self) -> impl Iterator<Item = (usize, &Value, &Location)> {
        let entries = self.entries.clone().zip(&self.timeline).zip(&self.entries_at);
        entries.map(|((index, entry), at)| (index, entry, at))
    }

    /// What happens in it, of the script in which all incidents happen; also what the runbook says, if somebody acts by it.
    pub(super) fn script(&self, all: &Script, acts: bool) -> Script {
        let of_all = || {
            let runbook = if acts { self.runbook_entries.clone() } else { 0..0 };
            let timeline = [&all.timeline[self.entries.clone()], &all.timeline[runbook]].concat();
            Script { timeline, ..all.clone() }
        };
        self.own.clone().unwrap_or_else(of_all)
    }
}
