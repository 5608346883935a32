//! NodeResourcesFit: requests against what is left; how full a node would be decides its score.

use serde::Deserialize;
use smallvec::SmallVec;

use super::scoring_strategy::ScoringStrategy;
use crate::arena::{Symbol, sym};
use crate::model::Resources;
use crate::scheduler::cache::{Cache, NodeInfo};
use crate::scheduler::framework::{ClusterEvent, Cycle, Plugin, Rejection};
use crate::state::{AdmittedSpec, Node, NodeDelta, Pod};

pub(in crate::scheduler) struct NodeResourcesFit {
    ignored: Vec<Symbol>,
    ignored_groups: Vec<String>,
    strategy: ScoringStrategy,
}

/// `NodeResourcesFitArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::scheduler) struct NodeResourcesFitArgs {
    ignored_resources: Vec<Symbol>,
    ignored_resource_groups: Vec<String>,
    scoring_strategy: ScoringStrategy,
}

impl NodeResourcesFit {
    pub(in crate::scheduler) fn new(arguments: NodeResourcesFitArgs) -> Self {
        let NodeResourcesFitArgs { ignored_resources, ignored_resource_groups, scoring_strategy } = arguments;
        Self { ignored: ignored_resources, ignored_groups: ignored_resource_groups, strategy: scoring_strategy }
    }

    /// Whether an extended resource does not count.
    fn is_ignored(&self, name: Symbol) -> bool {
        let group = name.as_str().split_once('/').map(|(group, _)| group);
        self.ignored.contains(&name) || group.is_some_and(|group| self.ignored_groups.iter().any(|g| g == group))
    }
}

/// How much of a resource there is in an amount.
pub(super) fn amount(of: &Resources, name: Symbol) -> i64 {
    match name.as_str() {
        "cpu" => of.cpu_milli,
        "memory" => of.memory,
        "ephemeral-storage" => of.ephemeral_storage,
        _ => of.scalar(name),
    }
}

fn insufficient_text(name: Symbol) -> Symbol {
    Symbol::new(&format!("Insufficient {name}"))
}

/// Reasons against a node, or against the same node without pods, and whether the pod would not fit even then.
fn insufficient(
    plugin: &NodeResourcesFit,
    spec: &AdmittedSpec,
    node: &Node,
    info: Option<&NodeInfo>,
) -> (SmallVec<[Symbol; 1]>, bool) {
    let mut reasons = SmallVec::new();
    let mut is_too_big = false;
    let pods = info.map_or(0, |i| i.pod_count);
    if pods + 1 > node.allocatable_pods {
        reasons.push(sym!("Too many pods"));
    }
    let asked = &spec.requests;
    if asked.requests_nothing() {
        return (reasons, false);
    }
    let mut check = |reason: &dyn Fn() -> Symbol, asked: i64, allocatable: i64, used: i64| {
        if asked > 0 && asked > allocatable - used {
            reasons.push(reason());
            is_too_big |= asked > allocatable;
        }
    };
    let all = &node.allocatable;
    let used = |field: fn(&Resources) -> i64| info.map_or(0, |i| field(&i.requested));
    check(&|| sym!("Insufficient cpu"), asked.cpu_milli, all.cpu_milli, used(|r| r.cpu_milli));
    check(&|| sym!("Insufficient memory"), asked.memory, all.memory, used(|r| r.memory));
    let storage = (asked.ephemeral_storage, all.ephemeral_storage, used(|r| r.ephemeral_storage));
    check(&|| sym!("Insufficient ephemeral-storage"), storage.0, storage.1, storage.2);
    for &(name, amount) in asked.scalars.iter().filter(|(name, _)| !plugin.is_ignored(*name)) {
        let used = info.map_or(0, |i| i.requested.scalar(name));
        check(&|| insufficient_text(name), amount, all.scalar(name), used);
    }
    (reasons, is_too_big)
}

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn is_local(&self) -> bool {
        true
    }

    fn filter(&self, cycle: &Cycle<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let (reasons, is_unresolvable) = insufficient(self, cycle.spec, node.object.as_ref()?, Some(node));
        (!reasons.is_empty()).then_some(Rejection { plugin: self.name(), reasons, is_unresolvable })
    }

    fn score(&self, cycle: &Cycle<'_>, _cache: &Cache, node: &NodeInfo) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let parts = self.strategy.resources.iter().filter_map(|resource| {
            let name = resource.name;
            let (allocatable, taken, asked) = match name.as_str() {
                "cpu" => (object.allocatable.cpu_milli, node.non_zero_cpu, cycle.template.non_zero.cpu_milli),
                "memory" => (object.allocatable.memory, node.non_zero_memory, cycle.template.non_zero.memory),
                _ => {
                    let asked = amount(&cycle.template.non_zero, name);
                    if asked == 0 && name.as_str() != "ephemeral-storage" {
                        return None;
                    }
                    (amount(&object.allocatable, name), amount(&node.requested, name), asked)
                }
            };
            (allocatable > 0).then_some((allocatable, taken + asked, resource.weight.max(1)))
        });
        self.strategy.score(parts)
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, node: Option<&NodeInfo>) -> bool {
        let fits_empty = || {
            node.and_then(|n| n.object.as_ref()).is_some_and(|n| insufficient(self, &pod.spec, n, None).0.is_empty())
        };
        match event {
            ClusterEvent::PodRemoved => true,
            ClusterEvent::PodAdded => false,
            ClusterEvent::NodeAdded(_) => fits_empty(),
            ClusterEvent::NodeUpdated { delta, .. } => {
                delta.touches(NodeDelta::TAINTS | NodeDelta::UNSCHEDULABLE)
                    || (delta.touches(NodeDelta::ALLOCATABLE) && fits_empty())
            }
        }
    }
}
