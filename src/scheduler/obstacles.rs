//! Everything that stands between a pod and a node, for people who ask what would have to change.

use super::cache::Cache;
use super::cycle::Cycle;
use super::framework::Incoming;
use super::rejection::{Obstacles, Rejection, Remedy};
use crate::arena::Symbol;
use crate::state::NodeId;

/// Claims that the pod names and that are not there.
fn missing_claims(incoming: Incoming<'_>) -> Vec<Symbol> {
    let Incoming { pod, store, .. } = incoming;
    let named = pod.claims().into_iter().map(|claim| claim.name);
    named.filter(|name| store.volumes.find_claim(pod.namespace, *name).is_none()).collect()
}

/// The claim that a plugin says is not there.
fn claim_of(reason: &str) -> Option<&str> {
    reason.strip_prefix("persistentvolumeclaim \"")?.strip_suffix("\" not found")
}

/// What stands in the way on the nearest node: the one that the fewest plugins reject, for the fewest reasons that nobody but an
/// operator can remove, with the smallest shortage. The first of equals; none if no node is rejected.
pub(super) fn nearest(cycle: &Cycle<'_>, cache: &Cache) -> Option<Obstacles> {
    let of = |&node: &NodeId| {
        let info = cache.node(node);
        let (mut rejections, mut remedies) = (Vec::new(), Vec::new());
        let missing = missing_claims(cycle.incoming);
        let is_of_claims = |rejection: &Rejection| {
            missing
                .iter()
                .any(|name| rejection.reasons.iter().any(|reason| claim_of(reason.as_str()) == Some(name.as_str())))
        };
        if !missing.is_empty() {
            remedies.push(Remedy::Claims(missing.clone()));
        }
        for place in 0..cycle.profile.filters.len() {
            if let Some(rejection) = cycle.filter(place, cache, info) {
                if !is_of_claims(&rejection) {
                    remedies.extend(cycle.remedies(place, info, &rejection));
                }
                rejections.push(rejection);
            }
        }
        Obstacles { node, rejections, remedies }
    };
    let distance = |found: &Obstacles| {
        let unresolvable = found.rejections.iter().filter(|rejection| rejection.is_unresolvable).count();
        let shortages = found.remedies.iter().filter_map(|remedy| match remedy {
            Remedy::Resource(shortage) => Some(shortage.missing_milli()),
            _ => None,
        });
        (found.rejections.len(), unresolvable, shortages.max())
    };
    cache.order().iter().map(of).filter(|found| !found.rejections.is_empty()).min_by_key(distance)
}
