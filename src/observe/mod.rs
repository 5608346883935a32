//! Facts into rows: what a run's files hold. One file per output file; each observer keeps typed rows of its own.
//!
//! Observers see committed changes, records and the physical world, and read the store as it stands right after. Nothing
//! flows back: with or without them a run plays the same events.

mod cause;
mod causes;
mod cluster;
mod daemons;
mod events;
mod faults;
mod glossary;
mod jobs;
mod nodes;
mod objective;
mod orders;
mod outcome;
mod pods;
mod readiness;
mod replacements;
mod rollouts;
mod services;
mod slo;
mod storms;
mod summary;
mod transcript;
mod traps;
mod verdict;
mod waiting;
mod waits;
mod workload;
mod workloads;

use std::collections::BTreeMap;
use std::fmt::Debug;

pub use causes::CauseRow;
pub use cluster::{ClusterRow, Room, ZoneRow};
pub use events::EventRow;
pub use glossary::{FIGURES, Figure, METRICS, TERMS, Term};
pub use jobs::FailedJob;
pub use nodes::NodeRow;
pub use objective::{MinReady, Objective, workload_matches};
pub use orders::{Order, Shortcoming};
pub use outcome::{JudgedObjective, OffMachines, WorkloadOutcome};
pub use pods::PodRow;
pub use readiness::ReadinessRow;
pub use rollouts::{RefusedWorkload, UnfinishedRollout};
pub use services::{ServiceOutcome, ServiceRow, Traffic};
pub use summary::{Counts, Quantiles, Summary};
pub use transcript::TranscriptRow;
pub use traps::{Trap, TrapKind};
pub use verdict::{Matter, Sentence, Tone};
pub use waiting::Waiting;
pub use waits::Waits;
pub use workload::WorkloadKey;
pub use workloads::WorkloadRow;

use crate::arena::Symbol;
use crate::component::{Config, Record, TypedCommand};
use crate::state::{CauseId, Change, Changed, ControlPlaneProcess, MachineChange, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// Which rows a run keeps.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing at all: the cluster is being brought up.
    Nothing,
    /// Only what the summary needs.
    Summary,
    /// Every file.
    Files,
}

/// All observers of a run.
#[derive(Debug)]
pub struct Observers {
    detail: Detail,
    causes: causes::Causes,
    events: events::Events,
    pods: pods::Pods,
    readiness: readiness::Readiness,
    nodes: nodes::Nodes,
    workloads: workloads::Workloads,
    cluster: cluster::Cluster,
    services: services::Services,
    daemons: daemons::Daemons,
    transcript: transcript::Transcripts,
    slo: slo::Slo,
    jobs: jobs::Jobs,
    faults: faults::Faults,
    orders: orders::Orders,
    counts: summary::Tallies,
    recoveries: replacements::Recoveries,
    rollouts: rollouts::Rollouts,
    /// Names of the scheduler's profiles.
    schedulers: Vec<Symbol>,
    /// Only where files are kept: nobody reads the lines of a study's runs.
    traps: Option<traps::Traps>,
    /// Only where somebody asks.
    waits: Option<Waits>,
}

/// Everything a finished run has to tell.
#[derive(Debug)]
pub struct Observed {
    /// `events.csv`.
    pub events: Vec<EventRow>,
    /// `pods.csv`.
    pub pods: Vec<PodRow>,
    /// `readiness.csv`.
    pub readiness: Vec<ReadinessRow>,
    /// `nodes.csv`.
    pub nodes: Vec<NodeRow>,
    /// `workloads.csv`.
    pub workloads: Vec<WorkloadRow>,
    /// `cluster.csv`.
    pub cluster: Vec<ClusterRow>,
    /// `zones.csv`.
    pub zones: Vec<ZoneRow>,
    /// `services.csv`.
    pub services: Vec<ServiceRow>,
    /// `transcript.jsonl`.
    pub transcript: Vec<TranscriptRow>,
    /// `causes.csv`.
    pub causes: Vec<CauseRow>,
    /// Names of the scheduler's profiles.
    pub schedulers: Vec<Symbol>,
    /// What `summary.json` tells of the run itself.
    pub summary: Summary,
    /// Whether rows of `cluster.csv` and `zones.csv` were left out.
    pub is_thinned: bool,
}

impl Observers {
    /// Observers that keep as much as `detail` says; `objectives` are the scenario's, `sample` thins the time series.
    #[must_use]
    pub fn new(detail: Detail, objectives: Vec<Objective>, sample: SimDuration) -> Self {
        Self {
            detail,
            causes: causes::Causes::new(detail == Detail::Files),
            events: events::Events::default(),
            pods: pods::Pods::default(),
            readiness: readiness::Readiness::default(),
            nodes: nodes::Nodes::default(),
            workloads: workloads::Workloads::default(),
            cluster: cluster::Cluster::new(sample),
            services: services::Services::default(),
            daemons: daemons::Daemons::default(),
            transcript: transcript::Transcripts::default(),
            slo: slo::Slo::new(objectives),
            jobs: jobs::Jobs::default(),
            faults: faults::Faults::default(),
            orders: orders::Orders::default(),
            counts: summary::Tallies::default(),
            recoveries: replacements::Recoveries::default(),
            rollouts: rollouts::Rollouts::default(),
            schedulers: Vec::new(),
            traps: None,
            waits: None,
        }
    }

    /// The same, and they watch which pods fit nowhere for so long or longer.
    #[must_use]
    pub fn watching_waits(self, least: SimDuration) -> Self {
        Self { waits: Some(Waits::new(least)), ..self }
    }

    /// Pods that fit nowhere, if they are watched.
    #[must_use]
    pub fn waits(&self) -> Option<&Waits> {
        self.waits.as_ref()
    }

    /// Observers that keep nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::new(Detail::Nothing, Vec::new(), SimDuration::ZERO)
    }

    fn files(&self) -> bool {
        self.detail == Detail::Files
    }

    /// The run begins: the cluster as it is at t=0.
    pub fn begin(&mut self, store: &Store, config: &Config) {
        if self.detail == Detail::Nothing {
            return;
        }
        let profiles = config.kube_scheduler.profiles.iter();
        self.schedulers = profiles.filter_map(|profile| profile.scheduler_name).collect();
        self.slo.begin(store);
        self.jobs.begin(store);
        self.faults.begin(store);
        self.pods.begin(store);
        self.cluster.begin(store);
        self.recoveries.begin(store);
        self.rollouts.begin(store);
        self.services.begin(self.files(), store, &self.slo);
        if let Some(waits) = &mut self.waits {
            waits.begin(store);
        }
        if self.files() {
            self.causes.begin(store);
            self.daemons.begin(store);
            self.readiness.begin(store);
            self.nodes.begin(store);
            self.workloads.begin(store);
            self.slo.loose_rows(SimTime::ZERO).for_each(|row| self.workloads.push_loose(row));
            self.traps = Some(traps::Traps::begin(store, config));
        }
    }

    /// A timeline action, a fault or a process of its own begins: a root of the causal graph.
    pub fn root_cause(&mut self, now: SimTime, component: &'static str, what: impl FnOnce() -> String) -> CauseId {
        self.causes.root(now, component, what)
    }

    /// A program types a kubectl line: what the line does follows from it.
    pub fn typed(&mut self, now: SimTime, parent: CauseId, line: &TypedCommand) -> CauseId {
        self.causes.typed(now, parent, line)
    }

    /// Gives a committed change its place in the causal graph.
    pub fn next_cause(&mut self, now: SimTime, parent: CauseId, what: &Changed, store: &Store) -> CauseId {
        self.causes.next(now, parent, what, store)
    }

    /// A change was committed.
    pub fn changed(&mut self, change: &Change, store: &Store) {
        if self.detail == Detail::Nothing {
            return;
        }
        self.counts.changed(change);
        self.slo.changed(change, store);
        self.jobs.changed(change, store);
        self.recoveries.changed(change, store);
        self.rollouts.changed(change, store);
        self.services.changed(change, store, &self.slo);
        self.cluster.changed(change, store);
        if let Some(cause) = self.pods.changed(change, store) {
            self.cluster.cause_changed(cause);
        }
        if self.files() {
            self.daemons.changed(change, store);
            self.readiness.changed(change, store);
            self.nodes.changed(change, store);
            self.workloads.changed(change, store);
        }
        let files = self.files();
        let loose = self.slo.loose_rows(change.at);
        if files {
            loose.for_each(|row| self.workloads.push_loose(row));
        }
        if let Some(traps) = &mut self.traps {
            traps.changed(change, store);
        }
        if let Some(waits) = &mut self.waits {
            waits.changed(change, store);
        }
    }

    /// The API server refused an eviction for a budget's sake; `pod` is none if the budget is only not counted yet.
    pub fn refused(&mut self, now: SimTime, pod: Option<PodId>, store: &Store) {
        if self.detail != Detail::Nothing {
            self.cluster.refused(now);
        }
        if let (Some(traps), Some(pod)) = (&mut self.traps, pod) {
            traps.refused(now, pod, store);
        }
    }

    /// A process of the control plane starts in the middle of the run, with empty memory.
    pub fn restarted(&mut self, now: SimTime, process: ControlPlaneProcess, store: &Store) {
        if let (Some(traps), ControlPlaneProcess::KubeControllerManager) = (&mut self.traps, process) {
            traps.controller_manager_restarted(now, store);
        }
    }

    /// A component recorded a fact.
    pub fn recorded(&mut self, now: SimTime, cause: CauseId, record: &Record, store: &Store) {
        if self.detail == Detail::Nothing {
            return;
        }
        self.counts.recorded(record);
        self.orders.recorded(now, record);
        self.rollouts.recorded(now, record, store);
        self.faults.recorded(now, record);
        if let Some(traps) = &mut self.traps {
            traps.recorded(now, record, store);
        }
        if self.files() {
            match record {
                Record::Event { component, event } => self.events.recorded(now, component, event, store),
                Record::Transcript(transcript) => self.transcript.recorded(transcript),
                Record::Fault { .. } => {}
            }
            self.causes.recorded(now, cause, record, store);
        }
    }

    /// The physical world changed.
    pub fn machine_changed(&mut self, now: SimTime, _cause: CauseId, change: &MachineChange, store: &Store) {
        if self.detail != Detail::Nothing {
            self.counts.machine_changed(change);
            self.faults.machine_changed(now, change, store);
            self.services.machine_changed(now, change, store, &self.slo);
        }
        if self.files() {
            self.daemons.machine_changed(now, change, store);
        }
    }

    /// The run ends before these command lines do.
    pub fn left_unfinished(&mut self, lines: Vec<TranscriptRow>) {
        self.orders.left_unfinished(&lines);
        if self.files() {
            self.transcript.left_unfinished(lines);
        }
    }

    /// Ends the run and hands over the rows.
    #[must_use]
    pub fn finish(self, end: SimTime, store: &Store, event_count: u64) -> Observed {
        let files = self.files();
        let pods = self.pods.finish(end, store);
        let is_thinned = self.cluster.is_thinned();
        let (cluster, zones, extremes) = self.cluster.finish(end);
        let (services, of_services) = self.services.finish(end);
        let orders = self.orders.finish();
        let faults = self.faults.finish();
        let mut workloads = self.slo.finish(end);
        self.daemons.finish(end, &mut workloads);
        let found = summary::Found {
            pods: &pods,
            workloads,
            services: of_services,
            jobs: self.jobs.finish(),
            orders: &orders,
            traps: self.traps.map(|traps| traps.finish(end, store)).unwrap_or_default(),
            extremes: &extremes,
            rollouts: self.rollouts.finish(end, store),
        };
        let mut summary = self.counts.finish(found, &self.recoveries, event_count);
        if files {
            let standing = waiting::standing(&pods, &self.causes);
            let evidence = verdict::Evidence {
                pods: &pods,
                storms: storms::storms(&pods),
                workloads: &summary.workloads,
                jobs: &summary.failed_jobs,
                unfinished: &summary.unfinished_rollouts,
                refused: &summary.refused_workloads,
                commands: &orders.0,
                procedures: &orders.1,
                faults: &faults,
                traps: &summary.traps,
                standing: &standing,
                unserved: unserved(&pods, &self.schedulers),
            };
            summary.verdict = verdict::verdict(&evidence, end, store);
        }
        Observed {
            events: self.events.finish(),
            pods: if files { pods } else { Vec::new() },
            readiness: self.readiness.finish(),
            nodes: self.nodes.finish(),
            workloads: self.workloads.finish(),
            cluster,
            zones,
            services,
            transcript: self.transcript.finish(),
            causes: self.causes.finish(),
            schedulers: self.schedulers,
            summary,
            is_thinned,
        }
    }
}

/// Pods that wait at the end for a scheduler that is not there, by its name.
fn unserved(pods: &[PodRow], schedulers: &[Symbol]) -> BTreeMap<Symbol, Vec<String>> {
    let mut unserved: BTreeMap<Symbol, Vec<String>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod.is_there() && pod.scheduled_at.is_none()) {
        let wanted = pod.scheduler();
        if !schedulers.contains(&wanted) {
            unserved.entry(wanted).or_default().push(format!("pod/{}/{}", pod.namespace, pod.name));
        }
    }
    unserved
}

/// A node's zone, or empty.
fn zone_of(labels: &crate::model::Labels) -> Symbol {
    crate::model::zone_of(labels).unwrap_or_default()
}
