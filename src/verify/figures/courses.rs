//! How workloads fared, from `pods.csv`, `readiness.csv` and `workloads.csv`.

use std::collections::{BTreeMap, BTreeSet};

use super::counted::{Figures, are_alike};
use super::disruptions::Matched;
use super::pods;
use crate::arena::Symbol;
use crate::observe::{MinReady, Observed, PodRow, WorkloadKey, WorkloadOutcome};
use crate::units::SimTime;

/// Namespace, kind and name.
type Key = (Symbol, &'static str, Symbol);

fn key_of(key: WorkloadKey) -> Key {
    (key.namespace, key.kind.as_str(), key.name)
}

/// What changed about a workload at an instant.
#[derive(Copy, Clone, Debug, Default)]
struct Step {
    ready: i64,
    wanted: Option<i64>,
}

/// What a course adds up to.
#[derive(Clone, Debug, Default)]
struct Sums {
    short_ns: i128,
    longest_ns: i128,
    missing_ns: i128,
    missing_max: i64,
    /// Below what the objective asks for.
    gap_ns: i128,
    longest_gap_ns: i128,
    wanted: i64,
    ready: i64,
}

impl Sums {
    /// What the summary says, where rows do not suffice to work it out.
    fn told(outcome: &WorkloadOutcome) -> Self {
        let nanoseconds = |seconds: f64| (seconds * 1e9).round() as i128;
        Self {
            short_ns: nanoseconds(outcome.below_desired_s),
            longest_ns: nanoseconds(outcome.longest_short_s),
            missing_ns: nanoseconds(outcome.unready_replica_s),
            missing_max: i64::from(outcome.missing_max),
            gap_ns: nanoseconds(outcome.below_min_ready_s),
            longest_gap_ns: nanoseconds(outcome.longest_gap_s),
            wanted: i64::from(outcome.desired),
            ready: i64::from(outcome.ready),
        }
    }

    /// Fewer ready pods than the objective asks for; than wanted, if there is none.
    fn has_gap(&self, min_ready: Option<MinReady>) -> bool {
        let enough = match min_ready {
            None => self.wanted,
            Some(MinReady::Count(_)) if self.wanted == 0 => 0,
            Some(MinReady::Count(count)) => i64::from(count),
            Some(MinReady::Percent(percent)) => (self.wanted * i64::from(percent) + 99).div_euclid(100),
        };
        self.ready < enough
    }
}

pub(super) fn count(
    figures: &mut Figures,
    observed: &Observed,
    matched: &[Matched<'_>],
    end: SimTime,
) -> Result<(), String> {
    let mut steps = wanted(observed);
    ready(&mut steps, observed);
    // Which of its pods stand where none should run, and so are none of those wanted, no row says.
    let misscheduled = observed.workloads.iter().filter(|row| row.misscheduled > 0);
    let misscheduled: BTreeSet<Key> = misscheduled.map(|row| (row.namespace, row.kind, row.name)).collect();
    let outcomes = &observed.summary.workloads;
    let mut total = Sums::default();
    for outcome in outcomes {
        let key = (outcome.namespace, outcome.kind, outcome.name);
        let sums = if misscheduled.contains(&key) {
            Sums::told(outcome)
        } else {
            let sums = walk(steps.remove(&key).unwrap_or_default(), outcome.min_ready, end);
            compare(outcome, &sums)?;
            sums
        };
        total.short_ns += sums.short_ns;
        total.missing_ns += sums.missing_ns;
        total.longest_ns = total.longest_ns.max(sums.longest_ns);
        total.gap_ns += sums.gap_ns;
        total.longest_gap_ns = total.longest_gap_ns.max(sums.longest_gap_ns);
    }
    taken(observed, matched)?;
    let count = |test: fn(&WorkloadOutcome) -> bool| outcomes.iter().filter(|outcome| test(outcome)).count();
    figures.put("below_desired_s", seconds(total.short_ns));
    figures.put("unready_replica_s", seconds(total.missing_ns));
    figures.put("longest_short_s", seconds(total.longest_ns));
    figures.count("workloads_below_desired_end", count(|of| of.ready < of.desired));
    figures.put("below_min_ready_s", seconds(total.gap_ns));
    figures.put("longest_gap_s", seconds(total.longest_gap_ns));
    figures.count("objectives_missed", count(|of| of.objective.is_some_and(|objective| of.availability < objective)));
    Ok(())
}

fn seconds(nanoseconds: i128) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The pods that workloads want, from `workloads.csv`.
fn wanted(observed: &Observed) -> BTreeMap<Key, BTreeMap<SimTime, Step>> {
    let mut steps: BTreeMap<Key, BTreeMap<SimTime, Step>> = BTreeMap::new();
    for row in &observed.workloads {
        let of = steps.entry((row.namespace, row.kind, row.name)).or_default();
        of.entry(row.at).or_default().wanted = Some(i64::from(row.desired));
    }
    steps
}

/// Adds the pods that are ready, from `readiness.csv`, as long as they count.
fn ready(steps: &mut BTreeMap<Key, BTreeMap<SimTime, Step>>, observed: &Observed) {
    let mut changes: BTreeMap<(Symbol, &str), Vec<(SimTime, bool)>> = BTreeMap::new();
    for row in &observed.readiness {
        changes.entry((row.namespace, &row.name)).or_default().push((row.at, row.ready));
    }
    for pod in &observed.pods {
        let counts_until = [pod.deletion_at, pod.finished_at, pod.gone_at].into_iter().flatten().min();
        let counts_until = counts_until.unwrap_or(SimTime::MAX);
        let lives = |at: SimTime| at >= pod.created_at && pod.gone_at.is_none_or(|gone| at <= gone);
        let of_name = changes.get(&(pod.namespace, &*pod.name)).into_iter().flatten();
        let mut since = None;
        for &(at, is_ready) in of_name.filter(|(at, _)| lives(*at)) {
            if is_ready {
                since.get_or_insert(at);
            } else if let Some(since) = since.take() {
                span(steps, pod, since, at.min(counts_until));
            }
        }
        if let Some(since) = since {
            span(steps, pod, since, counts_until);
        }
    }
}

/// A pod is ready for so long: of what it counted for at the time.
fn span(steps: &mut BTreeMap<Key, BTreeMap<SimTime, Step>>, pod: &PodRow, from: SimTime, to: SimTime) {
    let mut from = from;
    let last = [(SimTime::MAX, pod.workload)];
    for (until, workload) in pod.former_workloads.iter().chain(&last) {
        let part_to = to.min(*until);
        if from >= part_to {
            continue;
        }
        // Jobs have no such rows.
        if let Some(of) = steps.get_mut(&key_of(*workload)) {
            of.entry(from).or_default().ready += 1;
            of.entry(part_to).or_default().ready -= 1;
        }
        from = part_to;
    }
}

fn walk(steps: BTreeMap<SimTime, Step>, min_ready: Option<MinReady>, end: SimTime) -> Sums {
    let mut sums = Sums::default();
    let (mut at, mut short_since, mut gap_since) = (SimTime::ZERO, None, None);
    let instants = steps.into_iter().filter(|(instant, _)| *instant <= end);
    for (instant, step) in instants.chain([(end, Step::default())]) {
        let missing = sums.wanted - sums.ready;
        let passed = i128::from(instant.saturating_since(at).as_nanos());
        if missing > 0 && passed > 0 {
            sums.short_ns += passed;
            sums.missing_ns += passed * i128::from(missing);
            sums.missing_max = sums.missing_max.max(missing);
            let since = *short_since.get_or_insert(at);
            sums.longest_ns = sums.longest_ns.max(i128::from(instant.saturating_since(since).as_nanos()));
        } else if passed > 0 {
            short_since = None;
        }
        if sums.has_gap(min_ready) && passed > 0 {
            sums.gap_ns += passed;
            let since = *gap_since.get_or_insert(at);
            sums.longest_gap_ns = sums.longest_gap_ns.max(i128::from(instant.saturating_since(since).as_nanos()));
        } else if passed > 0 {
            gap_since = None;
        }
        sums.ready += step.ready;
        sums.wanted = step.wanted.unwrap_or(sums.wanted);
        at = instant;
    }
    sums
}

fn compare(outcome: &WorkloadOutcome, sums: &Sums) -> Result<(), String> {
    let wants_pods = outcome.desired > 0;
    let figures = [
        ("below_desired_s", outcome.below_desired_s, seconds(sums.short_ns)),
        ("unready_replica_s", outcome.unready_replica_s, seconds(sums.missing_ns)),
        ("longest_short_s", outcome.longest_short_s, seconds(sums.longest_ns)),
        ("longest_gap_s", outcome.longest_gap_s, seconds(sums.longest_gap_ns)),
        ("below_min_ready_s", outcome.below_min_ready_s, seconds(sums.gap_ns)),
        ("missing_max", f64::from(outcome.missing_max), sums.missing_max as f64),
        ("desired", f64::from(outcome.desired), sums.wanted as f64),
        // Nobody counts the pods that something leaves behind.
        (
            "ready",
            if wants_pods { f64::from(outcome.ready) } else { 0.0 },
            if wants_pods { sums.ready as f64 } else { 0.0 },
        ),
    ];
    for (name, reported, found) in figures {
        if !are_alike(reported, found) {
            return Err(format!("{name} of {} is {reported} in the summary, the rows give {found}", outcome.object()));
        }
    }
    Ok(())
}

/// What was taken from each workload.
fn taken(observed: &Observed, matched: &[Matched<'_>]) -> Result<(), String> {
    let mut found: BTreeMap<Key, [u32; 5]> = BTreeMap::new();
    for pod in &observed.pods {
        let of = found.entry(key_of(pod.workload)).or_default();
        let (evicted, preempted) = (u32::from(pods::is_evicted(pod)), u32::from(pods::is_preempted(pod)));
        let taken_away = u32::from(pods::is_taken_away(pod));
        *of = [of[0] + taken_away, of[1] + evicted, of[2] + preempted, 0, 0];
    }
    for pod in pods::needless(matched, observed) {
        found.entry(key_of(pod.workload)).or_default()[3] += 1;
    }
    for pod in pods::lost(&observed.pods) {
        found.entry(key_of(pod.workload)).or_default()[4] += 1;
    }
    for outcome in &observed.summary.workloads {
        let found = found.remove(&(outcome.namespace, outcome.kind, outcome.name)).unwrap_or_default();
        let reported =
            [outcome.disruptions, outcome.evictions, outcome.preemptions, outcome.needless_evictions, outcome.lost];
        if reported != found {
            let what = "pods taken away, evicted, preempted, evicted needlessly and lost";
            return Err(format!(
                "{what} of {} are {reported:?} in the summary, {found:?} in the rows",
                outcome.object()
            ));
        }
    }
    // Pods that no row of the summary counts as lost would be forgotten.
    match found.iter().find(|(_, counts)| counts[4] > 0) {
        Some((key, counts)) => {
            Err(format!("{} pods of {key:?} are lost, and the summary has no such workload", counts[4]))
        }
        None => Ok(()),
    }
}
