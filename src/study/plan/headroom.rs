//! How many more replicas of a workload a cluster holds and still survives everything.

use rayon::prelude::*;
use serde::Serialize;

use super::cases::Symmetry;
use super::document::Plan;
use super::results::{Candidate, Failure, failures_of};
use super::search::{Search, Thoroughness, Trial};
use crate::model::Object;
use crate::scenario::ResolvedScenario;
use crate::study::Progress;

/// Numbers of replicas that are played side by side.
const SIDE_BY_SIDE: usize = 4;

/// More replicas than this are not tried.
const MORE_MAX: u32 = 1_000;

/// What a workload may grow by.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Headroom {
    /// `deployment/shop/web`.
    pub workload: String,
    /// Its replicas.
    pub replicas: u32,
    /// So many more are survived, and every number between.
    pub more: u32,
    /// What one more is too many for; empty if the search ended first.
    pub binding: Vec<Failure>,
}

/// Adds one replica after the other, with these counts of nodes, until a case is not survived.
/// Of a workload that there is not, see [`replicas_of`], nothing is found.
#[must_use]
pub fn headroom(plan: &Plan, symmetry: Symmetry, counts: &[u32], workload: &str, progress: &dyn Progress) -> Headroom {
    let replicas = replicas_of(plan, workload).unwrap_or(0);
    let search = Search::new(plan, symmetry);
    let mut more = 0;
    let mut binding = Vec::new();
    while more < MORE_MAX && binding.is_empty() {
        let batch: Vec<u32> = (more + 1..=more + SIDE_BY_SIDE as u32).collect();
        let found: Vec<Candidate> = batch
            .par_iter()
            .with_max_len(1)
            .map(|extra| {
                let trial = Trial { counts, replicas: Some((workload, replicas + extra)) };
                let verdict = search.play(trial, Thoroughness::UntilOneFails);
                progress.advance();
                Candidate::new(plan, counts, verdict)
            })
            .collect();
        match found.iter().position(|candidate| !candidate.survives()) {
            None => more += SIDE_BY_SIDE as u32,
            Some(first) => {
                more += first as u32;
                let names: Vec<String> = plan.cases.iter().map(|case| case.label.clone()).collect();
                binding = failures_of(&found[first], &names);
            }
        }
    }
    Headroom { workload: workload.to_owned(), replicas, more, binding }
}

/// `kind/namespace/name`.
fn path_of(object: &Object) -> String {
    let metadata = object.metadata();
    format!("{}/{}/{}", object.kind().as_str().to_ascii_lowercase(), metadata.namespace, metadata.name)
}

/// Gives a workload another number of replicas; where there is none of that name, nothing changes.
pub(super) fn set_replicas(scenario: &mut ResolvedScenario, workload: &str, replicas: u32) {
    let replicas = i32::try_from(replicas).unwrap_or(i32::MAX);
    for object in scenario.objects.iter_mut().filter(|object| path_of(&object.object) == workload) {
        match &mut object.object {
            Object::Deployment(deployment) => deployment.spec.replicas = Some(replicas),
            Object::StatefulSet(set) => set.spec.replicas = Some(replicas),
            _ => {}
        }
    }
}

/// The replicas of a workload that is named `kind/namespace/name`.
///
/// # Errors
///
/// If there is no Deployment or StatefulSet of that name.
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
    let replicas = match found {
        Object::Deployment(deployment) => deployment.spec.replicas,
        Object::StatefulSet(set) => set.spec.replicas,
        _ => None,
    };
    Ok(replicas.unwrap_or(1).unsigned_abs())
}
