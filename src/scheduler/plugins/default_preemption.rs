//! DefaultPreemption: pods of lower priority make room. How they are chosen stands in [`crate::scheduler::preemption`].

use serde::Deserialize;

use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::framework::{AnyPlugin, Handle, Plugin, Point, PostFilter, Register};
use crate::scheduler::preemption;

pub(in crate::scheduler) struct DefaultPreemption {
    arguments: DefaultPreemptionArgs,
}

/// `DefaultPreemptionArgs`: how many nodes are tried.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct DefaultPreemptionArgs {
    min_candidate_nodes_percentage: Option<i32>,
    min_candidate_nodes_absolute: Option<i32>,
}

impl DefaultPreemptionArgs {
    fn percentage(self) -> i32 {
        self.min_candidate_nodes_percentage.unwrap_or(10)
    }

    fn absolute(self) -> i32 {
        self.min_candidate_nodes_absolute.unwrap_or(100)
    }

    /// How many candidates are enough of so many nodes.
    fn wanted(self, nodes: usize) -> usize {
        let amount = |number: i32| usize::try_from(number).unwrap_or(0);
        (nodes * amount(self.percentage()) / 100).max(amount(self.absolute())).min(nodes)
    }
}

impl PluginArguments for DefaultPreemptionArgs {
    fn check(&self, problems: &mut Problems) {
        const PERCENTAGE: &str = "minCandidateNodesPercentage";
        const ABSOLUTE: &str = "minCandidateNodesAbsolute";
        problems.unless_within(self.percentage(), 0..=100, PERCENTAGE);
        problems.unless_within(self.absolute(), 0..=i64::MAX, ABSOLUTE);
        let has_some = (self.percentage(), self.absolute()) != (0, 0);
        problems.unless(has_some, PERCENTAGE, format_args!("be above 0 if `{ABSOLUTE}` is 0"));
        problems.unless(has_some, ABSOLUTE, format_args!("be above 0 if `{PERCENTAGE}` is 0"));
    }
}

impl Register for DefaultPreemption {
    const NAME: &'static str = "DefaultPreemption";
    const POINTS: &'static [Point] = &[Point::PreEnqueue, Point::PostFilter];
    const SUMMARY: &'static str = "pods of lower priority make room";
    type Arguments = DefaultPreemptionArgs;

    fn make(arguments: DefaultPreemptionArgs, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::other(Self { arguments })
    }
}

impl Plugin for DefaultPreemption {
    fn post_filter(&self, handle: &mut dyn Handle<'_>) -> Option<PostFilter> {
        Some(preemption::preempt(handle, |nodes| self.arguments.wanted(nodes)))
    }
}
