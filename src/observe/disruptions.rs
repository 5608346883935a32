//! `disruptions.csv`: each pod that its workload lost, the pod that came in its place, and how long that took.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::Detail;
use super::cause::is_disruption;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::pods::PodRow;
use super::table::{Column, Row, Table};
use super::workload::WorkloadKey;
use crate::arena::Symbol;
use crate::model::ObjectKind;
use crate::state::{Change, Changed, DeletionCause, ObjectDelta, PodPhase, ReplicaSetId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// A row of `disruptions.csv`.
#[derive(Clone, Debug)]
pub struct DisruptionRow {
    /// Position of the lost pod's row.
    pub(super) pod: usize,
    /// Namespace of both pods.
    pub namespace: Symbol,
    /// The pod that was lost.
    pub name: Arc<str>,
    /// When that one was created.
    pub created_at: SimTime,
    /// The workload that it counted for.
    pub workload: WorkloadKey,
    /// Its node.
    pub node: Symbol,
    /// When it stopped to serve; none if it never had been Ready.
    pub stopped_at: Option<SimTime>,
    /// When its owner lost it.
    pub lost_at: SimTime,
    /// What ended it; none if it failed by itself.
    pub by: Option<DeletionCause>,
    /// Whether it was taken away.
    pub taken_away: bool,
    /// When its deletion was asked for.
    pub deletion_at: Option<SimTime>,
    /// What became of its place.
    pub outcome: Outcome,
    /// The pod that came in its place.
    pub replacement: Option<Replacement>,
    /// How long each phase took, in the order of [`Phase::ALL`].
    pub phases: [SimDuration; Phase::ALL.len()],
}

/// The pod that came in another one's place.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// Name.
    pub name: Arc<str>,
    /// Its node.
    pub node: Symbol,
    /// Created.
    pub created_at: SimTime,
    /// Bound.
    pub scheduled_at: Option<SimTime>,
    /// Its containers ran.
    pub started_at: Option<SimTime>,
    /// First Ready.
    pub ready_at: Option<SimTime>,
}

/// What became of a lost pod's place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Another pod came and was Ready.
    Replaced,
    /// Another pod came and is not Ready by the end of the run.
    NotReadyByTheEnd,
    /// Another pod came and ended before it was Ready.
    ReplacementEnded,
    /// None by the end of the run.
    NotByTheEnd,
    /// Its owner wanted fewer by then.
    ScaledDown,
    /// It belonged to its node, which is gone.
    NodeGone,
    /// Its owner is gone.
    OwnerGone,
    /// Its Job has ended.
    JobEnded,
    /// It had no controller, or none that is modelled.
    NoController,
}

impl Outcome {
    /// The words in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::NotReadyByTheEnd => "not ready by the end",
            Self::ReplacementEnded => "replacement ended",
            Self::NotByTheEnd => "not by the end",
            Self::ScaledDown => "scaled down",
            Self::NodeGone => "node is gone",
            Self::OwnerGone => "owner is gone",
            Self::JobEnded => "job has ended",
            Self::NoController => "no controller",
        }
    }
}

/// A part of the time from when a pod stopped to serve until another one was Ready.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its machine is down, and it still counts as Ready.
    Detect,
    /// It is not Ready, and nobody has taken it away.
    Wait,
    /// Until its controller has made another one.
    Recreate,
    /// Until that one is bound.
    Schedule,
    /// Until the machine that it is bound to is up.
    DeadNode,
    /// Until its volumes are attached to its node.
    Attach,
    /// Until its kubelet has found them there.
    Mount,
    /// Until its containers run.
    Start,
    /// Until it is Ready.
    BecomeReady,
}

impl Phase {
    /// All, in their order.
    pub const ALL: [Self; 9] = [
        Self::Detect,
        Self::Wait,
        Self::Recreate,
        Self::Schedule,
        Self::DeadNode,
        Self::Attach,
        Self::Mount,
        Self::Start,
        Self::BecomeReady,
    ];

    /// Its name, as columns have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Detect => "detect",
            Self::Wait => "wait",
            Self::Recreate => "recreate",
            Self::Schedule => "schedule",
            Self::DeadNode => "dead_node",
            Self::Attach => "attach",
            Self::Mount => "mount",
            Self::Start => "start",
            Self::BecomeReady => "become_ready",
        }
    }
}

impl DisruptionRow {
    /// When the first phase begins: the pod stopped to serve, or was lost if it never did.
    fn begins_at(&self) -> SimTime {
        self.stopped_at.unwrap_or(self.lost_at)
    }

    /// How long a phase is in the file: between two instants as files have them, so that lengths and instants add up there.
    fn phase(&self, phase: Phase) -> SimDuration {
        let before = |phases: usize| {
            self.phases[..phases].iter().fold(self.begins_at(), |at, phase| at + *phase).to_milliseconds()
        };
        before(phase as usize + 1).saturating_since(before(phase as usize))
    }

    /// The sum of the lengths that the file has.
    fn phases_together(&self) -> SimDuration {
        Phase::ALL.into_iter().fold(SimDuration::ZERO, |sum, phase| sum + self.phase(phase))
    }

    /// From when the pod stopped to serve, or was lost if it never did, until another was Ready, none was to come, or the run ended.
    #[must_use]
    pub fn total(&self) -> SimDuration {
        self.phases.iter().fold(SimDuration::ZERO, |sum, phase| sum + *phase)
    }

    fn of_replacement<T>(&self, of: fn(&Replacement) -> Option<T>) -> Option<T> {
        self.replacement.as_ref().and_then(of)
    }
}

impl Row for DisruptionRow {
    const TABLE: Table<Self> = Table {
        file: "disruptions.csv",
        holds: "a row for each pod that its workload lost against its wish (taken away, failed, or deleted by an operator), in the order of \
                `lost_s`; with the pod that came in its place. The lengths from `detect_s` to `become_ready_s` follow one another and add up \
                to `total_s`",
        columns: &[
            Column::text("namespace", "namespace of both pods", |row| row.namespace.as_str()),
            Column::text("name", "the pod that was lost", |row| &row.name),
            Column::time("created_s", "when it was created, which with its name joins it to `pods.csv`", |row| {
                row.created_at
            }),
            Column::text("workload_kind", "kind of its workload", |row| row.workload.kind.as_str()),
            Column::text("workload_name", "name of its workload", |row| row.workload.name.as_str()),
            Column::text("node", "its node", |row| row.node.as_str()),
            Column::maybe_time(
                "stopped_s",
                "when it stopped to serve: when its machine went down, or it was not Ready any longer; `lost_s` if it served until then; empty if \
                 it never was Ready",
                |row| row.stopped_at,
            ),
            Column::time("lost_s", "when its owner lost it: its deletion was asked for, or it had failed", |row| {
                row.lost_at
            }),
            Column::maybe_time("deletion_s", "when its deletion was asked for; empty if it failed and stays", |row| {
                row.deletion_at
            }),
            Column::text(
                "by",
                "what ended it first, in the words of `deletion_cause`; `PodKill`: a fault; `Failed`: its containers, or its kubelet did not \
                 take it",
                |row| row.by.map_or("Failed", DeletionCause::as_str),
            ),
            Column::truth("taken_away", "whether it was taken away", |row| row.taken_away),
            Column::text(
                "outcome",
                "`replaced`: another pod came and was Ready; `not ready by the end`: it came and is not; `replacement ended`: it came and ended \
                 before it was Ready, and has a row of its own if that was against its owner's wish; `not by the end`: none came; or none is to \
                 come: `scaled down` (its owner wanted fewer by then), `node is gone` (it belonged to its node), `owner is gone`, `job has ended`, \
                 `no controller`",
                |row| row.outcome.as_str(),
            ),
            Column::text(
                "replacement",
                "the pod that came in its place: of the pods that its owner made while one was missing, the first that is none of an earlier \
                 row; of a StatefulSet the one of its name, of a DaemonSet the one on its node",
                |row| row.replacement.as_ref().map_or("", |other| &other.name),
            ),
            Column::text("replacement_node", "the node of that one", |row| {
                row.replacement.as_ref().map_or("", |other| other.node.as_str())
            }),
            Column::maybe_time("replacement_created_s", "when it was created", |row| {
                row.of_replacement(|other| Some(other.created_at))
            }),
            Column::maybe_time("replacement_scheduled_s", "when it was bound", |row| {
                row.of_replacement(|other| other.scheduled_at)
            }),
            Column::maybe_time("replacement_started_s", "when its containers ran", |row| {
                row.of_replacement(|other| other.started_at)
            }),
            Column::maybe_time("replacement_ready_s", "when it was first Ready", |row| {
                row.of_replacement(|other| other.ready_at)
            }),
            Column::duration("detect_s", "how long the machine was down and the pod still counted as Ready", |row| {
                row.phase(Phase::Detect)
            }),
            Column::duration("wait_s", "for how long it then was not Ready and not lost: mostly a toleration", |row| {
                row.phase(Phase::Wait)
            }),
            Column::duration("recreate_s", "how long its controller took to make another", |row| {
                row.phase(Phase::Recreate)
            }),
            Column::duration("schedule_s", "until the scheduler had bound that", |row| row.phase(Phase::Schedule)),
            Column::duration("dead_node_s", "for how long the machine that it was bound to was down", |row| {
                row.phase(Phase::DeadNode)
            }),
            Column::duration(
                "attach_s",
                "until the volumes that have to be attached were attached to its node: mostly until they were let go elsewhere",
                |row| row.phase(Phase::Attach),
            ),
            Column::duration("mount_s", "until its kubelet had noticed that, which looks ever more seldom", |row| {
                row.phase(Phase::Mount)
            }),
            Column::duration("start_s", "until its containers ran: images, start", |row| row.phase(Phase::Start)),
            Column::duration("become_ready_s", "until it was Ready", |row| row.phase(Phase::BecomeReady)),
            Column::duration(
                "total_s",
                "all of these: until another pod was Ready or had ended, until `lost_s` if none is to come, else until the run ended",
                DisruptionRow::phases_together,
            ),
        ],
    };
}

/// Finds who came for whom once the run has ended: what is watched is how many pods ReplicaSets want.
#[derive(Clone, Debug, Default)]
pub(super) struct Disruptions {
    wanted: Vec<(SimTime, WorkloadKey, i32)>,
    rows: Vec<DisruptionRow>,
}

impl Disruptions {
    fn wants(&mut self, at: SimTime, id: ReplicaSetId, store: &Store) {
        let Some(set) = store.replica_sets.get(id) else { return };
        if let Some(key) = WorkloadKey::of(WorkloadId::ReplicaSet(id), store) {
            self.wanted.push((at, key, set.replicas));
        }
    }

    /// The run has ended, and these are its pods.
    pub(super) fn finish(&mut self, pods: &[PodRow], end: SimTime, store: &Store) {
        let mut owners: BTreeMap<OwnerKey<'_>, Vec<Step>> = BTreeMap::new();
        for (index, pod) in pods.iter().enumerate() {
            let steps = owners.entry(owner_of(pod)).or_default();
            steps.push(Step { at: pod.created_at, what: What::Came(index) });
            if let Some(at) = left_at(pod) {
                steps.push(Step { at, what: What::Left(index) });
            }
        }
        for (at, key, replicas) in &self.wanted {
            let of = (key.namespace.as_str(), key.kind.as_str(), key.name.as_str(), "");
            if let Some(steps) = owners.get_mut(&of) {
                steps.push(Step { at: *at, what: What::Wants(*replicas) });
            }
        }
        let mut rows = Vec::new();
        for (key, mut steps) in owners {
            steps.sort_by_key(|step| (step.at, step.what.rank()));
            let fates = pair(&steps, pods);
            rows.extend(fates.into_iter().map(|(lost, fate)| row(lost, fate, pods, &key, end, store)));
        }
        rows.sort_by_key(|row| (row.lost_at, row.pod));
        self.rows = rows;
    }

    pub(super) fn rows(&self) -> &[DisruptionRow] {
        &self.rows
    }
}

impl Observer for Disruptions {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        for (id, _) in seen.store.replica_sets.iter() {
            self.wants(seen.now, id, seen.store);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        match &change.what {
            Changed::WorkloadAdded(WorkloadId::ReplicaSet(id)) => self.wants(seen.now, *id, seen.store),
            Changed::WorkloadUpdated(WorkloadId::ReplicaSet(id), delta) if delta.touches(ObjectDelta::SPEC) => {
                self.wants(seen.now, *id, seen.store);
            }
            _ => {}
        }
    }
}

impl Keeps<DisruptionRow> for Disruptions {
    fn take_rows(&mut self) -> Vec<DisruptionRow> {
        std::mem::take(&mut self.rows)
    }
}

/// Namespace, kind and name of an owner, and the place within it that a pod has: the pods of one key stand in for each other.
type OwnerKey<'a> = (&'a str, &'a str, &'a str, &'a str);

fn owner_of(pod: &PodRow) -> OwnerKey<'_> {
    let (namespace, kind) = (pod.namespace.as_str(), pod.owner_kind.as_str());
    // What takes the name of a pod without a controller makes up for it.
    let name = if pod.owner_name.is_empty() { pod.name.as_ref() } else { pod.owner_name.as_str() };
    let place = match kind {
        "DaemonSet" => pod.node.as_str(),
        "StatefulSet" | "Node" => pod.name.as_ref(),
        _ => "",
    };
    (namespace, kind, name, place)
}

/// Something that changes how many pods an owner has or wants.
#[derive(Copy, Clone, Debug)]
struct Step {
    at: SimTime,
    what: What,
}

#[derive(Copy, Clone, Debug)]
enum What {
    Wants(i32),
    Left(usize),
    Came(usize),
}

impl What {
    /// What of one instant comes first.
    fn rank(self) -> (u8, usize) {
        match self {
            Self::Wants(_) => (0, 0),
            Self::Left(pod) => (1, pod),
            Self::Came(pod) => (2, pod),
        }
    }
}

/// When a pod no longer counted for its owner: it had ended, or was being deleted.
fn left_at(pod: &PodRow) -> Option<SimTime> {
    [pod.deletion_at, pod.finished_at, pod.gone_at].into_iter().flatten().min()
}

/// When a pod was lost against its owner's wish, and by what, if it was; no cause if it failed by itself.
fn loss(pod: &PodRow) -> Option<(SimTime, Option<DeletionCause>)> {
    let at = left_at(pod)?;
    if pod.initial && at == SimTime::ZERO {
        return None;
    }
    let has_failed = pod.phase == PodPhase::Failed && pod.finished_at == Some(at) && pod.deletion_at != Some(at);
    match pod.ended_by {
        Some(cause) if is_disruption(cause) && pod.taken_away().is_some() => Some((at, Some(cause))),
        _ if has_failed => Some((at, None)),
        // It had done its work.
        _ if pod.finished_at == Some(at) && pod.deletion_at != Some(at) => None,
        Some(DeletionCause::Kubectl) => Some((at, Some(DeletionCause::Kubectl))),
        _ => None,
    }
}

/// What came of a lost pod's place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fate {
    Came(usize),
    NotWanted,
    Nothing,
}

/// Who came for each pod that was lost, of the pods that stand in for each other.
///
/// # Source
/// A controller that has fewer pods than it wants makes as many as are missing, and does not know for which: the first that it makes is here that
/// for whom it has missed longest. What is missing while it wants no more than it has is never made.
fn pair(steps: &[Step], pods: &[PodRow]) -> Vec<(usize, Fate)> {
    let mut fates = Vec::new();
    let mut missing: VecDeque<usize> = VecDeque::new();
    let mut wanted: Option<i32> = None;
    let mut active = 0i32;
    for step in steps {
        match step.what {
            What::Wants(replicas) => wanted = Some(replicas),
            What::Left(pod) => {
                active -= 1;
                if loss(&pods[pod]).is_some() {
                    missing.push_back(fates.len());
                    fates.push((pod, Fate::Nothing));
                }
            }
            What::Came(pod) => {
                active += 1;
                if !pods[pod].initial
                    && let Some(&place) = missing.front()
                    && fates[place].0 != pod
                {
                    missing.pop_front();
                    fates[place].1 = Fate::Came(pod);
                }
            }
        }
        if wanted.is_some_and(|wanted| active >= wanted) {
            missing.drain(..).for_each(|place| fates[place].1 = Fate::NotWanted);
        }
    }
    fates
}

fn row(lost: usize, fate: Fate, pods: &[PodRow], key: &OwnerKey<'_>, end: SimTime, store: &Store) -> DisruptionRow {
    let pod = &pods[lost];
    let (lost_at, by) = loss(pod).unwrap_or((end, None));
    let other = if let Fate::Came(other) = fate { Some(&pods[other]) } else { None };
    let outcome = match (fate, other) {
        (Fate::NotWanted, _) => Outcome::ScaledDown,
        (_, Some(other)) => outcome_of(other),
        (_, None) => without(pod, key, store),
    };
    let until = match (outcome, other) {
        (Outcome::NotByTheEnd, _) => end,
        (_, None) => lost_at,
        (_, Some(other)) => other.ready_at.or_else(|| left_at(other)).unwrap_or(end),
    };
    let stopped_at = pod.stopped_at.map(|at| at.min(lost_at)).or(pod.ready_at.map(|_| lost_at));
    let noticed_at = pod.noticed_at.map_or(lost_at, |at| at.min(lost_at));
    let milestone = |of: fn(&PodRow) -> Option<SimTime>| other.map_or(until, |other| of(other).unwrap_or(until));
    let milestones = [
        noticed_at,
        lost_at,
        milestone(|other| Some(other.created_at)),
        milestone(|other| other.scheduled_at),
        milestone(|other| other.machine_up_at),
        milestone(|other| other.mounts.attached_at),
        milestone(|other| other.mounts.mounted_at),
        milestone(|other| other.started_at),
        until,
    ];
    let mut last = stopped_at.unwrap_or(lost_at);
    let phases = milestones.map(|at| {
        let at = at.min(until.max(lost_at)).max(last);
        at.saturating_since(std::mem::replace(&mut last, at))
    });
    DisruptionRow {
        pod: lost,
        namespace: pod.namespace,
        name: Arc::clone(&pod.name),
        created_at: pod.created_at,
        workload: pod.workload,
        node: pod.node,
        stopped_at,
        lost_at,
        by,
        taken_away: pod.taken_away().is_some(),
        deletion_at: pod.deletion_at,
        outcome,
        replacement: other.map(replacement),
        phases,
    }
}

fn replacement(pod: &PodRow) -> Replacement {
    Replacement {
        name: Arc::clone(&pod.name),
        node: pod.node,
        created_at: pod.created_at,
        scheduled_at: pod.scheduled_at,
        started_at: pod.started_at,
        ready_at: pod.ready_at,
    }
}

fn outcome_of(replacement: &PodRow) -> Outcome {
    match (replacement.ready_at, left_at(replacement)) {
        (Some(_), _) => Outcome::Replaced,
        (None, Some(_)) => Outcome::ReplacementEnded,
        (None, None) => Outcome::NotReadyByTheEnd,
    }
}

/// Why nothing came for a pod.
fn without(pod: &PodRow, (namespace, kind, name, _): &OwnerKey<'_>, store: &Store) -> Outcome {
    if pod.is_loose {
        return Outcome::NoController;
    }
    let is_node_there = store.find_node(pod.node).is_some_and(|node| store.node(node).is_some());
    match *kind {
        "DaemonSet" | "Node" if !is_node_there => return Outcome::NodeGone,
        "Node" => return Outcome::NotByTheEnd,
        _ => {}
    }
    let Some(kind) = ObjectKind::named(kind) else { return Outcome::NotByTheEnd };
    match store.find_workload(kind, Symbol::new(namespace), Symbol::new(name)) {
        None => Outcome::OwnerGone,
        Some(WorkloadId::Job(id)) if store.jobs.get(id).is_some_and(|job| job.status.end().is_some()) => {
            Outcome::JobEnded
        }
        Some(WorkloadId::StatefulSet(id)) if !wants_ordinal(id, pod, store) => Outcome::ScaledDown,
        Some(_) => Outcome::NotByTheEnd,
    }
}

/// Whether a StatefulSet wants a pod of this name.
fn wants_ordinal(id: crate::state::StatefulSetId, pod: &PodRow, store: &Store) -> bool {
    let Some(set) = store.stateful_sets.get(id) else { return false };
    let first = set.spec.ordinals.as_ref().map_or(0, |ordinals| ordinals.start);
    let ordinal = pod.name.rsplit_once('-').and_then(|(_, ordinal)| ordinal.parse::<i32>().ok());
    ordinal.is_none_or(|ordinal| (first..first.saturating_add(set.spec.replicas.unwrap_or(1))).contains(&ordinal))
}
