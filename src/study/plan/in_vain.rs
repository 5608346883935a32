//! What is missed at every count that was played: more nodes may not be what it takes.

use std::collections::BTreeSet;

use super::capacity::scaled;
use super::results::{Candidate, PlanResults};
use super::shortfall::{Shortfall, ShortfallKind};
use crate::model::{Object, ObjectKind};
use crate::observe::Tone;
use crate::scenario::ResolvedScenario;
use crate::state::Store;
use crate::study::edit::path_of;
use crate::study::told::Remark;
use crate::units::counted;

/// Goals that get a line each.
const EACH_MAX: usize = 12;

/// The Deployments and StatefulSets of one replica that no autoscaler gives more.
pub(super) fn of_one_replica(store: &Store, scenario: &ResolvedScenario) -> BTreeSet<String> {
    let scaled = scaled(store, scenario);
    let is_one = |object: &&Object| {
        let (kind, replicas, metadata) = match object {
            Object::Deployment(of) => (ObjectKind::Deployment, of.spec.replicas, &of.metadata),
            Object::StatefulSet(of) => (ObjectKind::StatefulSet, of.spec.replicas, &of.metadata),
            _ => return false,
        };
        let id = store.find_workload(kind, metadata.namespace, metadata.name);
        replicas.unwrap_or(1) == 1 && id.is_none_or(|id| !scaled.contains(&id))
    };
    scenario.objects.iter().map(|object| &object.object).filter(is_one).map(path_of).collect()
}

/// A goal that is missed in some cases wherever they were played.
struct Missed<'a> {
    kind: ShortfallKind,
    object: &'a str,
    cases: Vec<&'a str>,
    /// With the fewest nodes and with the most: counts in words, and what is missed.
    with: [(String, &'a str); 2],
}

impl Missed<'_> {
    fn told(&self, is_brief: bool) -> String {
        let what = match self.kind {
            ShortfallKind::Budget => "is not kept",
            ShortfallKind::Expectation => "is not as expected",
            _ => "misses its objective",
        };
        let [(few, before), (many, after)] = &self.with;
        let figures = match before == after {
            _ if is_brief => (*after).to_owned(),
            true => format!("{after}, with {few} as with {many}"),
            false => format!("with {few}, {before}; with {many}, {after}"),
        };
        format!("{} {what} in {}: {figures}", self.object, self.cases.join(", "))
    }
}

fn is_goal(of: &&Shortfall) -> bool {
    matches!(of.kind, ShortfallKind::Budget | ShortfallKind::Objective | ShortfallKind::Expectation)
}

/// The first of the goals that are missed in a case with these counts.
fn goal<'a>(candidate: &'a Candidate, case: Option<usize>, wanted: (ShortfallKind, &str)) -> Option<&'a Shortfall> {
    let plays = candidate.plays().iter().filter(|play| play.case == case);
    plays.flat_map(|play| &play.outcome.shortfalls).find(|of| (of.kind, of.object.as_str()) == wanted)
}

impl PlanResults {
    /// The goals that every count misses that was played, if nothing survives: first those of workloads of one replica, which no node
    /// helps while that is away.
    #[must_use]
    pub fn in_vain(&self) -> Vec<Remark> {
        let missed = if self.answer.is_none() { self.missed_by_all() } else { Vec::new() };
        let is_single =
            |of: &Missed<'_>| of.kind == ShortfallKind::Objective && self.of_one_replica.contains(of.object);
        let (single, others): (Vec<_>, Vec<_>) = missed.into_iter().partition(is_single);
        let mut remarks = Vec::new();
        if let [first, ..] = &single[..] {
            let text = match single.len() {
                1 => format!("More nodes do not help {}, which has one replica:", first.object),
                count => format!("More nodes do not help {count} workloads, which have one replica each:"),
            };
            let advice = match single.len() {
                1 => {
                    "it misses its objective at every count that was played: while its only pod is away, none is ready. Give it a second \
                     replica, lower its `objective`, or leave it out of `slo`"
                }
                _ => {
                    "they miss their objectives at every count that was played: while the only pod of one is away, none is ready. Give them a \
                     second replica, lower their `objective`, or leave them out of `slo`"
                }
            };
            remarks.push(listed(Remark::new(Tone::Bad, text), &single, true).with(advice));
        }
        // Of one count nothing is told by others.
        let others: Vec<Missed<'_>> = others.into_iter().filter(|of| of.with[0].0 != of.with[1].0).collect();
        if !others.is_empty() {
            let text = "At every count that was played, which more nodes may not change:";
            remarks.push(listed(Remark::new(Tone::Bad, text), &others, false));
        }
        remarks
    }

    fn missed_by_all(&self) -> Vec<Missed<'_>> {
        let mut found: Vec<Missed<'_>> = Vec::new();
        for case in (0..self.cases.len()).map(Some) {
            let has_played = |of: &&Candidate| of.plays().iter().any(|play| play.case == case);
            let played: Vec<&Candidate> = self.candidates.iter().filter(has_played).collect();
            let (Some(first), Some(last)) = (played.first(), played.last()) else { continue };
            let plays = first.plays().iter().filter(|play| play.case == case);
            let goals: BTreeSet<(ShortfallKind, &str)> = plays
                .flat_map(|play| &play.outcome.shortfalls)
                .filter(is_goal)
                .map(|of| (of.kind, of.object.as_str()))
                .collect();
            for (kind, object) in goals {
                let missed: Vec<&Shortfall> = played.iter().filter_map(|of| goal(of, case, (kind, object))).collect();
                let (Some(&before), Some(&after)) = (missed.first(), missed.last()) else { continue };
                if missed.len() < played.len() {
                    continue;
                }
                let name = case.map_or("calm", |case| &self.cases[case]);
                match found.iter_mut().find(|of| (of.kind, of.object) == (kind, object)) {
                    Some(known) => known.cases.push(name),
                    None => found.push(Missed {
                        kind,
                        object,
                        cases: vec![name],
                        with: [(first, before), (last, after)].map(|(of, why)| (self.in_words(&of.counts), &*why.why)),
                    }),
                }
            }
        }
        found
    }
}

fn listed(remark: Remark, missed: &[Missed<'_>], is_brief: bool) -> Remark {
    let remark = missed.iter().take(EACH_MAX).fold(remark, |remark, of| remark.with(of.told(is_brief)));
    match missed.len().saturating_sub(EACH_MAX) {
        0 => remark,
        left => remark.with(format!("and {}", counted(left, "other", "others"))),
    }
}
