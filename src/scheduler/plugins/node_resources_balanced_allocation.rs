//! NodeResourcesBalancedAllocation: prefers nodes whose CPU and memory are used alike.

use serde::Deserialize;
use smallvec::SmallVec;

use super::resource_amount::amount;
use super::scoring_strategy::WeightedResource;
use crate::model::api_type::null_is_default;
use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::framework::{AnyPlugin, LocalPlugin, Plugin, Point, Register, Spec};
use crate::scheduler::images::ImageStates;
use crate::scheduler::node_info::NodeInfo;
use crate::state::{AdmittedSpec, Node};

pub(in crate::scheduler) struct NodeResourcesBalancedAllocation {
    resources: Vec<WeightedResource>,
    version: KubernetesVersion,
}

/// `NodeResourcesBalancedAllocationArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::scheduler) struct NodeResourcesBalancedAllocationArgs {
    #[serde(deserialize_with = "null_is_default")]
    resources: Vec<WeightedResource>,
}

impl PluginArguments for NodeResourcesBalancedAllocationArgs {
    fn check(&self, problems: &mut Problems) {
        for (index, resource) in self.resources.iter().enumerate() {
            let first = self.resources.iter().position(|other| other.name == resource.name).unwrap_or(index);
            let rule = format_args!("be another than in `resources[{first}]`");
            problems.unless(first == index, format_args!("resources[{index}].name"), rule);
            problems.unless(resource.weight() == 1, format_args!("resources[{index}].weight"), "be 1");
        }
    }
}

impl NodeResourcesBalancedAllocation {
    /// What the resources that count offer, and what is requested of them on top of `asked`.
    fn parts(&self, spec: &AdmittedSpec, node: &NodeInfo, object: &Node, with_pod: bool) -> SmallVec<[(i64, i64); 2]> {
        let parts = self.resources.iter().filter_map(|resource| {
            let asked = amount(&spec.requests, resource.name);
            let is_scalar = !matches!(resource.name.as_str(), "cpu" | "memory" | "ephemeral-storage");
            if is_scalar && asked == 0 {
                return None;
            }
            let requested = amount(&node.requested, resource.name).saturating_add(if with_pod { asked } else { 0 });
            Some((amount(&object.allocatable, resource.name), requested))
        });
        parts.collect()
    }
}

/// How alike fractions are, 0 to 100. The order of the float operations is the real one's; it shows.
fn balance(parts: &[(i64, i64)]) -> i64 {
    let fractions: SmallVec<[f64; 2]> = parts
        .iter()
        .filter(|(allocatable, _)| *allocatable > 0)
        .map(|&(allocatable, requested)| (requested as f64 / allocatable as f64).min(1.0))
        .collect();
    let deviation = match fractions.as_slice() {
        [] | [_] => 0.0,
        [a, b] => ((a - b) / 2.0).abs(),
        more => {
            let mean = more.iter().sum::<f64>() / more.len() as f64;
            let squares: f64 = more.iter().map(|fraction| (fraction - mean) * (fraction - mean)).sum();
            (squares / more.len() as f64).sqrt()
        }
    };
    ((1.0 - deviation) * 100.0) as i64
}

impl Register for NodeResourcesBalancedAllocation {
    const NAME: &'static str = "NodeResourcesBalancedAllocation";
    const POINTS: &'static [Point] = &[Point::PreScore, Point::Score];
    const WEIGHT: i64 = 1;
    const SUMMARY: &'static str = "how even the use of resources is; since 1.36 how much more even the pod makes it";
    type Arguments = NodeResourcesBalancedAllocationArgs;

    fn make(arguments: Self::Arguments, version: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self { resources: WeightedResource::or_cpu_and_memory(arguments.resources), version })
    }
}

impl Plugin for NodeResourcesBalancedAllocation {}

impl LocalPlugin for NodeResourcesBalancedAllocation {
    fn pre_score(&self, spec: Spec<'_>) -> Result<bool, String> {
        Ok(self.resources.iter().any(|resource| amount(&spec.requests, resource.name) > 0))
    }

    fn score(&self, spec: Spec<'_>, node: &NodeInfo, _images: &ImageStates) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let with = balance(&self.parts(&spec, node, object, true));
        if !self.version.at_least(36) {
            return with;
        }
        let without = balance(&self.parts(&spec, node, object, false));
        50 + (50 + with - without) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncation_shows_in_the_last_place() {
        assert_eq!(balance(&[(100, 6), (100, 90)]), 57);
        assert_eq!(balance(&[(10000, 3000 + 3000), (20000, 5000)]), 82);
    }
}
