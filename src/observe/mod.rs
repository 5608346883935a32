//! Facts into rows: what a run's files hold. One file per output file; each observer keeps typed rows of its own.
//!
//! Observers see committed changes, records and the physical world, and read the store as it stands right after. Nothing
//! flows back: with or without them a run plays the same events.

mod cause;
mod daemons;
mod glossary;
mod incident;
mod jobs;
mod missed;
mod mounts;
mod not_modelled;
mod objective;
mod observer;
mod orders;
mod outcome;
mod place;
mod replacements;
mod rollouts;
mod slo;
mod storms;
mod summary;
mod table;
mod traps;
mod unready;
mod verdict;
mod waiting;
mod waits;
mod workload;

use std::collections::BTreeMap;
use std::fmt::Debug;

pub use crate::component::{SCENARIO, reason};
pub use crate::diagnostics::Tone;
pub use cluster::Room;
pub use disruptions::{Outcome, Phase, Replacement};
pub use events::KUBECTL_KIND;
pub use glossary::{FIGURES, Figure, METRICS, TERMS, Term};
pub use jobs::FailedJob;
pub use objective::{MinReady, Objective, workload_matches};
pub use orders::{Order, Shortcoming};
pub use outcome::{JudgedObjective, OffMachines, WorkloadOutcome};
pub use rollouts::{RefusedWorkload, UnfinishedRollout};
pub use services::{ServiceOutcome, Traffic};
pub use summary::{Counts, Quantiles, Summary};
pub use table::{Cells, Column, ColumnInfo, Row, Table, TableInfo, TableVisitor, Value};
pub use taints::TaintChange;
pub use timers::{TimerEnd, TimerKind};
pub use traps::{Trap, TrapKind};
pub use verdict::{Matter, Sentence};
pub use waiting::Waiting;
pub use waits::Waits;
pub use workload::WorkloadKey;

use crate::arena::Symbol;
use crate::component::{Config, Record, TypedCommand};
use crate::model::NotModelled;
use crate::state::{CauseId, Change, Changed, ControlPlaneProcess, DeletionCause, MachineChange, PodId, Store};
use crate::units::{SimDuration, SimTime};
use observer::{Keeps, Observer, Seen, Setup, observers};
use slo::Slo;

/// Which rows a run keeps.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Nothing at all: the cluster is being brought up.
    #[default]
    Nothing,
    /// Only what the summary needs.
    Summary,
    /// Every file.
    Files,
}

observers! {
    first {
        pods::Pods => pods: PodRow;
        causes::Causes => causes: CauseRow;
    }
    tables {
        disruptions::Disruptions => disruptions: DisruptionRow;
        events::Events => events: EventRow;
        readiness::Readiness => readiness: ReadinessRow;
        nodes::Nodes => nodes: NodeRow;
        inventory::Inventory => inventory: InventoryRow;
        taints::Taints => taints: TaintRow;
        timers::Timers => timers: TimerRow;
        faults::Faults => faults: FaultRow;
        workloads::Workloads => workloads: WorkloadRow;
        cluster::Cluster => cluster: ClusterRow, zones: ZoneRow;
        services::Services => services: ServiceRow;
        transcript::Transcripts => transcript: TranscriptRow;
        trapped::Trapped => trapped: TrappedRow;
    }
    summary {
        counts: summary::Tallies;
        jobs: jobs::Jobs;
        orders: orders::Orders;
        missed: missed::MissedFaults;
        recoveries: replacements::Recoveries;
        rollouts: rollouts::Rollouts;
        daemons: daemons::Daemons;
        traps: Option<traps::Traps>;
        unready: unready::NeverReady;
        waits: Option<Waits>;
    }
}

/// Every table of a run's directory: those of the observers, and what of the input had no effect.
#[must_use]
pub fn tables() -> Vec<TableInfo> {
    let mut tables = tables_of_observers();
    tables.push(TableInfo::of::<NotModelled>());
    tables
}

/// What an observer has kept, or nothing.
fn take_rows<R>(observer: &mut impl Keeps<R>, keeps: bool) -> Vec<R> {
    if keeps { observer.take_rows() } else { Vec::new() }
}

impl Observers {
    /// Observers that keep as much as `detail` says; `objectives` are the scenario's, `sample` thins the time series.
    #[must_use]
    pub fn new(detail: Detail, objectives: Vec<Objective>, sample: SimDuration) -> Self {
        let causes = causes::Causes::new(detail == Detail::Files);
        Self { detail, sample, causes, slo: Slo::new(objectives), ..Self::default() }
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
        Self::default()
    }

    /// The rows of pods without a controller that the last change touched, if files are kept.
    fn take_loose(&mut self, at: SimTime) -> Vec<WorkloadRow> {
        let keeps = self.detail == Detail::Files;
        self.slo.loose_rows(at).filter(|_| keeps).collect()
    }

    /// The run begins: the cluster as it is at t=0.
    pub fn begin(&mut self, store: &Store, config: &Config) {
        if self.detail == Detail::Nothing {
            return;
        }
        let profiles = config.kube_scheduler.profiles.iter();
        self.schedulers = profiles.filter_map(|profile| profile.scheduler_name).collect();
        self.causes.begin(store);
        self.slo.begin(store);
        self.pods.begin(store);
        let loose = self.take_loose(SimTime::ZERO);
        self.others_begin(&Setup { detail: self.detail, sample: self.sample, config }, store, &loose);
    }

    /// A timeline action, a fault or a process of its own begins: a root of the causal graph.
    pub fn root_cause(&mut self, now: SimTime, component: &'static str, what: impl FnOnce() -> String) -> CauseId {
        self.causes.root(now, component, what)
    }

    /// A timer fires whose firing is a thing that happens to an object: what comes of it follows from that.
    pub fn own_cause(&mut self, now: SimTime, parent: CauseId, what: impl FnOnce() -> String) -> CauseId {
        self.causes.happens(now, parent, what)
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
        self.slo.changed(change, store);
        let taken_away = self.pods.changed(change, store);
        let loose = self.take_loose(change.at);
        self.others_changed(change, store, &loose, taken_away);
    }

    /// The API server refused an eviction for a budget's sake; `pod` is none if the budget is only not counted yet.
    pub fn refused(&mut self, now: SimTime, cause: CauseId, pod: Option<PodId>, store: &Store) {
        self.others_refused(now, pod, store);
        if let Some(pod) = pod {
            self.causes.refused(now, cause, pod, store);
        }
    }

    /// A process of the control plane starts in the middle of the run, with empty memory.
    pub fn restarted(&mut self, now: SimTime, process: ControlPlaneProcess, store: &Store) {
        self.others_restarted(now, process, store);
    }

    /// A component recorded a fact.
    pub fn recorded(&mut self, now: SimTime, cause: CauseId, record: &Record, store: &Store) {
        if self.detail != Detail::Nothing {
            self.pods.recorded(now, record);
        }
        self.others_recorded(now, record, store);
        self.causes.recorded(now, cause, record, store);
    }

    /// The physical world changed.
    pub fn machine_changed(&mut self, now: SimTime, _cause: CauseId, change: &MachineChange, store: &Store) {
        if self.detail == Detail::Nothing {
            return;
        }
        self.pods.machine_changed(now, change, store);
        self.others_machine_changed(now, change, store);
    }

    /// The run ends before these command lines do.
    pub fn left_unfinished(&mut self, lines: &[TranscriptRow]) {
        self.others_left_unfinished(lines);
    }

    /// Ends the run and hands over the rows.
    #[must_use]
    pub fn finish(mut self, end: SimTime, store: &Store, event_count: u64) -> Observed {
        self.pods.end(end, store);
        self.others_end(end, store);
        self.disruptions.finish(self.pods.rows(), end, store);
        let summary = self.summary(end, store, event_count);
        self.into_observed(summary)
    }

    /// The run in numbers, and its verdict where files are kept.
    fn summary(&mut self, end: SimTime, store: &Store, event_count: u64) -> Summary {
        let pods = self.pods.rows();
        let orders = std::mem::take(&mut self.orders).finish();
        let mut workloads = std::mem::take(&mut self.slo).finish(end);
        std::mem::take(&mut self.daemons).finish(end, &mut workloads);
        let mut traps = self.traps.take().map(|traps| traps.finish(end, store)).unwrap_or_default();
        self.trapped.finish(&mut traps);
        let found = summary::Found {
            pods,
            disruptions: self.disruptions.rows(),
            workloads,
            services: self.services.take_outcomes(end),
            jobs: std::mem::take(&mut self.jobs).finish(),
            orders: &orders,
            traps,
            extremes: self.cluster.extremes(),
            rollouts: std::mem::take(&mut self.rollouts).finish(end, store),
        };
        let mut summary = std::mem::take(&mut self.counts).finish(found, &self.recoveries, event_count);
        if self.detail == Detail::Files {
            let standing = waiting::standing(pods, &self.causes);
            let evidence = verdict::Evidence {
                pods,
                storms: storms::storms(pods),
                workloads: &summary.workloads,
                jobs: &summary.failed_jobs,
                jobs_before: &summary.jobs_failed_before,
                unfinished: &summary.unfinished_rollouts,
                refused: &summary.refused_workloads,
                commands: &orders.0,
                procedures: &orders.1,
                faults: &std::mem::take(&mut self.missed).finish(),
                traps: &summary.traps,
                standing: &standing,
                never_ready: self.unready.nodes(),
                incident: incident::Incident {
                    faults: self.faults.rows(),
                    inventory: self.inventory.rows(),
                    services: &summary.services,
                    extremes: self.cluster.extremes(),
                },
                unserved: unserved(pods, &self.schedulers),
            };
            summary.verdict = verdict::verdict(&evidence, end, store);
        }
        summary
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
