//! How many more replicas of a workload a cluster holds and still survives everything.

use super::super::edit::path_of;
use super::cases::Symmetry;
use super::definition::Plan;
use super::refused::Refused;
use super::results::{Candidate, Failure, Headroom, PlayRecord, failures_of};
use super::search::{Search, Thoroughness, Trial};
use crate::arena::Symbol;
use crate::model::Object;
use crate::parallel;
use crate::study::{Part, Progress};

/// Numbers of replicas that are played side by side.
const SIDE_BY_SIDE: usize = 4;

/// More replicas than this are not tried.
const MORE_MAX: u32 = 1_000;

/// How many more replicas of a workload the answer survives: as many that enough placements survive them and every number below. One that
/// survives a number is taken to survive smaller ones, so that of 30 placements each is mostly tried with one number. Neither may the API server refuse
/// more pods than it does without the new replicas: nothing can grow beyond its quota.
/// Of a workload that there is not, see [`replicas_of`], nothing is found.
#[must_use]
pub fn headroom(
    plan: &Plan,
    symmetry: Symmetry,
    answer: &Candidate,
    workload: &str,
    progress: &dyn Progress,
) -> Headroom {
    let numbers = plan.placements.numbers();
    let spare = numbers.len() - plan.placements.needed().map_or(numbers.len(), |needed| needed as usize);
    let part = Part::begin(progress, u64::from(MORE_MAX) + numbers.len() as u64, 0, workload);
    let growth = Growth {
        plan,
        search: Search::new(plan, symmetry),
        answer,
        workload,
        replicas: replicas_of(plan, workload).unwrap_or(0),
        cases: plan.cases.iter().map(|case| case.label.clone()).collect(),
        part,
    };
    let (mut more, mut binding) = growth.in_placement(numbers[0]);
    // Those that do not survive so many more; what is not survived without more may be the first of them.
    let has_failed = |number: &u32| answer.placements().iter().any(|of| of.number == *number && !of.is_survived);
    let mut failing: Vec<u32> = numbers[..1].iter().copied().filter(has_failed).collect();
    for batch in numbers[1..].chunks(SIDE_BY_SIDE) {
        let mut found = growth.failures(batch, more);
        failing.extend(found.iter().map(|of| of.placement));
        while failing.len() > spare && more > 0 {
            more -= 1;
            binding = found;
            found = growth.failures(&failing, more);
            failing = found.iter().map(|of| of.placement).collect();
        }
    }
    // The first need not be among those that have to survive it.
    while failing.len() < spare && more < MORE_MAX && !binding.is_empty() {
        let others: Vec<u32> = numbers.iter().copied().filter(|number| !failing.contains(number)).collect();
        let found = growth.failures(&others, more + 1);
        if failing.len() + found.len() > spare {
            binding = found;
            break;
        }
        failing.extend(found.iter().map(|of| of.placement));
        more += 1;
    }
    let survived = (numbers.len() - failing.len()) as u32;
    let binding = binding.into_iter().flat_map(|of| of.failures).collect();
    let (placements, replicas) = (numbers.len() as u32, growth.replicas);
    Headroom { workload: workload.to_owned(), replicas, more, placements, survived, binding }
}

/// A workload that grows on the nodes that are the answer.
struct Growth<'a> {
    plan: &'a Plan,
    search: Search<'a>,
    answer: &'a Candidate,
    workload: &'a str,
    replicas: u32,
    /// Names of the cases.
    cases: Vec<String>,
    part: Part<'a>,
}

/// A placement in which so many more replicas are not survived, and why.
struct Overgrown {
    placement: u32,
    failures: Vec<Failure>,
}

impl Growth<'_> {
    /// How many more replicas one placement survives, and why one more is too many; not why if the search ends first.
    fn in_placement(&self, placement: u32) -> (u32, Vec<Overgrown>) {
        let mut more = 0;
        while more < MORE_MAX {
            let batch: Vec<u32> = (more + 1..=more + SIDE_BY_SIDE as u32).collect();
            let found = parallel::map(&batch, |more| self.failure(placement, *more));
            match found.iter().position(Option::is_some) {
                None => more += SIDE_BY_SIDE as u32,
                Some(first) => return (more + first as u32, found.into_iter().flatten().take(1).collect()),
            }
        }
        (more, Vec::new())
    }

    /// Those of the placements that do not survive so many more.
    fn failures(&self, placements: &[u32], more: u32) -> Vec<Overgrown> {
        parallel::map(placements, |placement| self.failure(*placement, more)).into_iter().flatten().collect()
    }

    /// Why a placement does not survive so many more; none if it does.
    fn failure(&self, placement: u32, more: u32) -> Option<Overgrown> {
        self.part.heed();
        let replicas = Some((self.workload, self.replicas + more));
        let trial = Trial { counts: &self.answer.counts, placement, replicas };
        let grown = self.search.play(trial, Thoroughness::UntilOneFails);
        let grown = Candidate::new(self.plan, &self.answer.counts, grown);
        self.part.advance();
        let mut failures = failures_of(&grown, &self.cases);
        failures.extend(self.more_refused(&grown));
        (!failures.is_empty()).then_some(Overgrown { placement, failures })
    }

    /// The first play in which more pods of a workload are refused than without the new replicas; none if that is so in no play.
    fn more_refused(&self, grown: &Candidate) -> Option<Failure> {
        let before = |play: &PlayRecord, object: &str| {
            let is_same = |other: &&PlayRecord| {
                (other.placement, other.case, &other.lost.label) == (play.placement, play.case, &play.lost.label)
            };
            let same = self.answer.plays().iter().find(is_same);
            same.map_or(0, |same| pods_of(&same.outcome.refusals, object))
        };
        grown.plays().iter().find_map(|play| {
            let refusals = &play.outcome.refusals;
            let mut grew = refusals.iter().filter(|found| {
                let object = &found.shortfall.object;
                pods_of(refusals, object) > before(play, object)
            });
            let worst = grew.next()?;
            Some(Failure {
                case: play.case.map_or_else(|| "calm".to_owned(), |case| self.cases[case].clone()),
                lost: play.lost.label.clone(),
                shortfall: worst.shortfall.clone(),
                others: grew.count(),
                stuck: play.outcome.stuck,
                placement: play.placement,
                seed: play.seed,
                failed_placements: 1,
                placements: 1,
            })
        })
    }
}

fn pods_of(refusals: &[Refused], object: &str) -> u32 {
    refusals.iter().filter(|found| found.shortfall.object == object).map(|found| found.pods).sum()
}

/// The replicas of a workload that is named `kind/namespace/name`.
///
/// # Errors
///
/// If there is no Deployment or StatefulSet of that name, or an autoscaler sets how many replicas it has.
pub fn replicas_of(plan: &Plan, workload: &str) -> Result<u32, String> {
    let objects = || plan.base.objects.iter().map(|object| &object.object);
    let grows = |object: &&Object| matches!(object, Object::Deployment(_) | Object::StatefulSet(_));
    let Some(found) = objects().filter(grows).find(|object| path_of(object) == workload) else {
        let known: Vec<String> = objects().filter(grows).map(path_of).collect();
        let of_name = known.iter().map(String::as_str).find(|path| path.ends_with(&format!("/{workload}")));
        let nearest = of_name.or_else(|| crate::diagnostics::nearest(workload, known.iter().map(String::as_str)));
        return Err(match nearest {
            Some(nearest) => format!("there is no `{workload}`; the nearest is `{nearest}`"),
            None => format!("there is no `{workload}` among the Deployments and StatefulSets of the scenario"),
        });
    };
    if is_scaled(plan, workload) {
        return Err(format!(
            "a HorizontalPodAutoscaler sets the replicas of `{workload}`, and would take others back: raise its load and its \
             `maxReplicas` instead, and plan again"
        ));
    }
    let replicas = match found {
        Object::Deployment(deployment) => deployment.spec.replicas,
        Object::StatefulSet(set) => set.spec.replicas,
        _ => None,
    };
    Ok(replicas.unwrap_or(1).unsigned_abs())
}

/// Whether an autoscaler sets the replicas of the workload that is named `kind/namespace/name`.
fn is_scaled(plan: &Plan, workload: &str) -> bool {
    let path =
        |kind: &str, namespace: Symbol, name: Symbol| format!("{}/{namespace}/{name}", kind.to_ascii_lowercase());
    let of_objects = plan.base.objects.iter().filter_map(|object| match &object.object {
        Object::HorizontalPodAutoscaler(scaler) => {
            let target = &scaler.spec.scale_target_ref;
            Some(path(target.kind.as_str(), scaler.metadata.namespace, target.name))
        }
        _ => None,
    });
    let implied = plan.base.procedures.workload_autoscalers.iter().filter(|spec| spec.object().is_some());
    let implied = implied
        .filter_map(|spec| spec.target_parts().map(|(kind, namespace, name)| path(kind.as_str(), namespace, name)));
    of_objects.chain(implied).any(|target| target == workload)
}
