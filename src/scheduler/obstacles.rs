//! Everything that stands between a pod and a node, for people who ask what would have to change.

use super::cache::Cache;
use super::framework::{Cycle, Rejection};
use super::profile::Profile;
use crate::arena::Symbol;
use crate::model::Taint;
use crate::state::NodeId;

/// What speaks against a node, by every plugin, not only the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacles {
    /// The node.
    pub node: NodeId,
    /// One for each plugin that rejects it.
    pub rejections: Vec<Rejection>,
    /// What would have to be otherwise, all of it, for these plugins to let the pod in.
    pub remedies: Vec<Remedy>,
}

/// Something that would have to be otherwise for a plugin to let a pod in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// More of a resource would have to be free, or less of it asked for.
    Resource(Shortage),
    /// The node would have to be uncordoned.
    Uncordon,
    /// The pod would have to tolerate these taints.
    Tolerate(Vec<Taint>),
    /// The pod would have to allow the node's labels, by selector and affinity.
    AllowLabels,
    /// The pod's host ports would have to be free there.
    FreePorts,
    /// The node would have to have the labels that the pod's spread constraints name.
    TopologyLabels,
    /// The pod's spread constraints would have to allow one more there.
    AllowSkew,
    /// The pods that the pod must be near would have to be there.
    Neighbors,
    /// Pods that it must keep away from, or that must keep away from it, would have to be elsewhere.
    Distance,
    /// These PersistentVolumeClaims would have to be there.
    Claims(Vec<Symbol>),
    /// A plugin would have to say otherwise.
    Else(Rejection),
}

/// Too little of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Its name: `cpu` in thousandths, `memory` and storage in bytes, `pods`, others in pieces.
    pub resource: Symbol,
    /// What the pod asks for.
    pub asked: i64,
    /// What is free, negative if more is promised than there is.
    pub free: i64,
    /// What there is.
    pub allocatable: i64,
}

impl Shortage {
    /// Whether the pod would not fit the empty node.
    #[must_use]
    pub fn is_beyond_the_node(&self) -> bool {
        self.asked > self.allocatable
    }

    /// What is missing, in thousandths of what is asked for.
    fn missing_milli(&self) -> i128 {
        i128::from(self.asked - self.free) * 1000 / i128::from(self.asked.max(1))
    }
}

/// Claims that the pod names and that are not there.
fn missing_claims(cycle: &Cycle<'_>) -> Vec<Symbol> {
    let named = cycle.pod.claims().into_iter().map(|claim| claim.name);
    named.filter(|name| cycle.store.volumes.find_claim(cycle.pod.namespace, *name).is_none()).collect()
}

/// The claim that a plugin says is not there.
fn claim_of(reason: &str) -> Option<&str> {
    reason.strip_prefix("persistentvolumeclaim \"")?.strip_suffix("\" not found")
}

/// What stands in the way on the nearest node: the one that the fewest plugins reject, for the fewest reasons that nobody but an
/// operator can remove, with the smallest shortage. The first of equals; none if no node is rejected.
pub(super) fn nearest(profile: &Profile, cycle: &Cycle<'_>, cache: &Cache) -> Option<Obstacles> {
    let of = |&node: &NodeId| {
        let info = cache.node(node);
        let (mut rejections, mut remedies) = (Vec::new(), Vec::new());
        let missing = missing_claims(cycle);
        let is_of_claims = |rejection: &Rejection| {
            missing
                .iter()
                .any(|name| rejection.reasons.iter().any(|reason| claim_of(reason.as_str()) == Some(name.as_str())))
        };
        if !missing.is_empty() {
            remedies.push(Remedy::Claims(missing.clone()));
        }
        for plugin in &profile.filters {
            if let Some(rejection) = plugin.filter(cycle, cache, info) {
                if !is_of_claims(&rejection) {
                    remedies.extend(plugin.remedies(cycle, info, &rejection));
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
