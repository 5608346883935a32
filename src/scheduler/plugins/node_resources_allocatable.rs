//! NodeResourcesAllocatable: prefers small nodes, or large ones, whatever is on them.

use serde::Deserialize;

use super::resource_amount::amount;
use crate::arena::{Symbol, sym};
use crate::model::api_type::null_is_default;
use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::framework::{AnyPlugin, LocalPlugin, Normalizer, Plugin, Point, Register, Spec};
use crate::scheduler::images::ImageStates;
use crate::scheduler::node_info::NodeInfo;

pub(in crate::scheduler) struct NodeResourcesAllocatable {
    resources: Vec<Resource>,
    mode: Mode,
}

/// `NodeResourcesAllocatableArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::scheduler) struct NodeResourcesAllocatableArgs {
    #[serde(deserialize_with = "null_is_default")]
    mode: Mode,
    #[serde(deserialize_with = "null_is_default")]
    resources: Vec<Resource>,
}

/// Which nodes are preferred: those with the least, or with the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Mode {
    #[default]
    Least,
    Most,
}

/// A resource that counts, and how much.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Resource {
    name: Symbol,
    weight: i64,
}

impl PluginArguments for NodeResourcesAllocatableArgs {
    fn check(&self, problems: &mut Problems) {
        for (index, resource) in self.resources.iter().enumerate() {
            problems.unless_within(resource.weight, 1..=i64::MAX, format_args!("resources[{index}].weight"));
        }
    }
}

impl Register for NodeResourcesAllocatable {
    const NAME: &'static str = "NodeResourcesAllocatable";
    const POINTS: &'static [Point] = &[Point::Score];
    const WEIGHT: i64 = 1;
    const IS_DEFAULT: bool = false;
    const SUMMARY: &'static str = "of the scheduler-plugins project: nodes with the least (`mode: Least`) or the most (`Most`) allocatable of `resources`, by default `cpu` (a thousandth of a core counts as much as 1 MiB) and `memory`";
    type Arguments = NodeResourcesAllocatableArgs;

    fn make(arguments: NodeResourcesAllocatableArgs, _: KubernetesVersion) -> AnyPlugin {
        let NodeResourcesAllocatableArgs { mode, mut resources } = arguments;
        if resources.is_empty() {
            resources =
                vec![Resource { name: sym!("cpu"), weight: 1 << 20 }, Resource { name: sym!("memory"), weight: 1 }];
        }
        AnyPlugin::local(Self { resources, mode })
    }
}

impl Plugin for NodeResourcesAllocatable {}

impl LocalPlugin for NodeResourcesAllocatable {
    /// # Source
    /// scheduler-plugins, NodeResourcesAllocatable, `resourceScorer`: the weighted mean of what the node offers, negative if the
    /// least is preferred; CPU in thousandths, memory in bytes. Divisions truncate.
    ///
    /// # Differs
    /// The real sums wrap around beyond 64 bits.
    fn score(&self, _spec: Spec<'_>, node: &NodeInfo, _images: &ImageStates) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let (mut sum, mut weights) = (0_i128, 0_i128);
        for resource in &self.resources {
            sum += i128::from(amount(&object.allocatable, resource.name)) * i128::from(resource.weight);
            weights += i128::from(resource.weight);
        }
        let mean = (sum / weights.max(1)) as i64;
        match self.mode {
            Mode::Least => -mean,
            Mode::Most => mean,
        }
    }

    fn normalizer(&self) -> Option<Normalizer> {
        Some(normalize)
    }
}

/// # Source
/// scheduler-plugins, NodeResourcesAllocatable, `NormalizeScore`: from the lowest score, which is 0, to the highest, which is
/// 100; nodes that are all alike get 0.
fn normalize(scores: &mut [i64]) {
    let lowest = i128::from(scores.iter().copied().min().unwrap_or(0));
    let highest = i128::from(scores.iter().copied().max().unwrap_or(0));
    for score in scores {
        *score = match highest - lowest {
            0 => 0,
            range => ((i128::from(*score) - lowest) * 100 / range) as i64,
        };
    }
}
