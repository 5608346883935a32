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

/// Adds one replica after the other, with these counts of nodes, until a case is not survived, or the API server refuses more pods than it
/// does without them: nothing can grow beyond its quota. All of that in the first placement alone.
/// Of a workload that there is not, see [`replicas_of`], nothing is found.
#[must_use]
pub fn headroom(plan: &Plan, symmetry: Symmetry, counts: &[u32], workload: &str, progress: &dyn Progress) -> Headroom {
    let replicas = replicas_of(plan, workload).unwrap_or(0);
    let search = Search::new(plan, symmetry);
    let names: Vec<String> = plan.cases.iter().map(|case| case.label.clone()).collect();
    let part = Part::begin(progress, u64::from(MORE_MAX) + 1, 0, workload);
    let try_one = |replicas: u32| {
        part.heed();
        let trial = Trial { counts, placement: plan.placements.first, replicas: Some((workload, replicas)) };
        let verdict = search.play(trial, Thoroughness::UntilOneFails);
        part.advance();
        Candidate::new(plan, counts, verdict)
    };
    let now = try_one(replicas);
    let mut more = 0;
    let mut binding = Vec::new();
    while more < MORE_MAX && binding.is_empty() {
        let batch: Vec<u32> = (more + 1..=more + SIDE_BY_SIDE as u32).collect();
        let found: Vec<Candidate> = parallel::map(&batch, |extra| try_one(replicas + extra));
        let refused = |candidate: &Candidate| more_refused(&now, candidate, &names);
        match found.iter().position(|candidate| !candidate.survives() || refused(candidate).is_some()) {
            None => more += SIDE_BY_SIDE as u32,
            Some(first) => {
                more += first as u32;
                binding = failures_of(&found[first], &names);
                binding.extend(refused(&found[first]));
            }
        }
    }
    Headroom { workload: workload.to_owned(), replicas, more, binding }
}

/// The first play in which more pods of a workload are refused than without the new replicas; none if that is so in no play.
fn more_refused(now: &Candidate, grown: &Candidate, cases: &[String]) -> Option<Failure> {
    let before = |play: &PlayRecord, object: &str| {
        let same = now.plays().iter().find(|other| other.case == play.case && other.lost.label == play.lost.label);
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
            case: play.case.map_or_else(|| "calm".to_owned(), |case| cases[case].clone()),
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
        let nearest = crate::diagnostics::nearest(workload, known.iter().map(String::as_str));
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
