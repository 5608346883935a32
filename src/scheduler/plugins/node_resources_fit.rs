//! NodeResourcesFit: requests against what is left; how full a node would be decides its score.

use serde::Deserialize;
use smallvec::SmallVec;

use super::resource_amount::amount;
use super::scoring_strategy::ScoringStrategy;
use crate::arena::{Symbol, sym};
use crate::model::api_type::null_is_default;
use crate::model::config::KubernetesVersion;
use crate::model::{Resources, is_qualified_name};
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{AnyPlugin, Incoming, LocalPlugin, Plugin, Point, Register, Spec};
use crate::scheduler::images::ImageStates;
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::rejection::{InsufficientResource, Rejection, Remedy};
use crate::state::{AdmittedSpec, Node, NodeDelta};

pub(in crate::scheduler) struct NodeResourcesFit {
    ignored: Vec<Symbol>,
    ignored_groups: Vec<String>,
    strategy: ScoringStrategy,
}

/// `NodeResourcesFitArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct NodeResourcesFitArgs {
    #[serde(deserialize_with = "null_is_default")]
    ignored_resources: Vec<Symbol>,
    #[serde(deserialize_with = "null_is_default")]
    ignored_resource_groups: Vec<String>,
    scoring_strategy: Option<ScoringStrategy>,
}

impl PluginArguments for NodeResourcesFitArgs {
    fn check(&self, problems: &mut Problems) {
        for (index, name) in self.ignored_resources.iter().enumerate() {
            let path = format_args!("ignoredResources[{index}]");
            problems.unless(is_qualified_name(name.as_str()), path, "be the name of a resource");
        }
        for (index, group) in self.ignored_resource_groups.iter().enumerate() {
            let path = format_args!("ignoredResourceGroups[{index}]");
            let is_group = !group.contains('/') && is_qualified_name(group);
            problems.unless(is_group, path, "be what stands before the `/` of resources");
        }
        if let Some(strategy) = &self.scoring_strategy {
            strategy.check(problems);
        }
    }
}

impl NodeResourcesFit {
    fn new(arguments: NodeResourcesFitArgs) -> Self {
        let NodeResourcesFitArgs { ignored_resources, ignored_resource_groups, scoring_strategy } = arguments;
        let strategy = scoring_strategy.unwrap_or_default().with_resources();
        Self { ignored: ignored_resources, ignored_groups: ignored_resource_groups, strategy }
    }

    /// Whether a resource does not count. Only extended ones can be ignored: huge pages and what is Kubernetes' own count.
    fn is_ignored(&self, name: Symbol) -> bool {
        let Some((group, _)) = name.as_str().split_once('/') else { return false };
        let is_native = group.contains("kubernetes.io") || name.as_str().starts_with("requests.");
        !is_native && (self.ignored.contains(&name) || self.ignored_groups.iter().any(|other| other == group))
    }
}

/// What a pod asks for and a node, or the same node without pods, has too little of. `plugin` says which resources do not count.
fn shortages(
    plugin: Option<&NodeResourcesFit>,
    spec: &AdmittedSpec,
    node: &Node,
    info: Option<&NodeInfo>,
    found: &mut dyn FnMut(InsufficientResource),
) {
    let mut check = |resource: Symbol, asked: i64, allocatable: i64, used: i64| {
        if asked > 0 && asked > allocatable - used {
            found(InsufficientResource { resource, asked, free: allocatable - used, allocatable });
        }
    };
    check(sym!("pods"), 1, node.allocatable_pods, info.map_or(0, |info| info.pod_count));
    let (asked, all) = (&spec.requests, &node.allocatable);
    let used = |field: fn(&Resources) -> i64| info.map_or(0, |info| field(&info.requested));
    check(sym!("cpu"), asked.cpu_milli, all.cpu_milli, used(|r| r.cpu_milli));
    check(sym!("memory"), asked.memory, all.memory, used(|r| r.memory));
    let storage = (asked.ephemeral_storage, all.ephemeral_storage, used(|r| r.ephemeral_storage));
    check(sym!("ephemeral-storage"), storage.0, storage.1, storage.2);
    for &(name, amount) in
        asked.scalars.iter().filter(|(name, _)| plugin.is_none_or(|plugin| !plugin.is_ignored(*name)))
    {
        check(name, amount, all.scalar(name), info.map_or(0, |info| info.requested.scalar(name)));
    }
}

/// Reasons against a node, or against the same node without pods, and whether the pod would not fit even then.
fn insufficient(
    plugin: Option<&NodeResourcesFit>,
    spec: &AdmittedSpec,
    node: &Node,
    info: Option<&NodeInfo>,
) -> (SmallVec<[Symbol; 1]>, bool) {
    let mut reasons = SmallVec::new();
    let mut is_too_big = false;
    shortages(plugin, spec, node, info, &mut |shortage| {
        let resource = shortage.resource;
        // Pods can be removed, however few the node takes.
        let is_pods = resource == sym!("pods");
        is_too_big |= !is_pods && shortage.is_beyond_the_node();
        reasons.push(match resource {
            _ if is_pods => sym!("Too many pods"),
            _ if resource == sym!("cpu") => sym!("Insufficient cpu"),
            _ if resource == sym!("memory") => sym!("Insufficient memory"),
            _ => Symbol::new(&format!("Insufficient {resource}")),
        });
    });
    (reasons, is_too_big)
}

/// Whether some amount fell; if `of` is given, of a resource that it asks for.
fn asks_less(before: &Resources, after: &Resources, of: Option<&Resources>) -> bool {
    let concerns = |asked: i64| of.is_none() || asked > 0;
    let plain: [fn(&Resources) -> i64; 3] = [|r| r.cpu_milli, |r| r.memory, |r| r.ephemeral_storage];
    plain.iter().any(|field| concerns(of.map_or(0, field)) && field(after) < field(before))
        || before
            .scalars
            .iter()
            .any(|&(name, amount)| concerns(of.map_or(0, |of| of.scalar(name))) && after.scalar(name) < amount)
}

impl Register for NodeResourcesFit {
    const NAME: &'static str = "NodeResourcesFit";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter, Point::PreScore, Point::Score];
    const WEIGHT: i64 = 1;
    const SUMMARY: &'static str = "requests of containers, init containers, sidecars, overhead, the whole pod; LeastAllocated, MostAllocated, RequestedToCapacityRatio";
    type Arguments = NodeResourcesFitArgs;

    fn make(arguments: NodeResourcesFitArgs, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self::new(arguments))
    }
}

impl LocalPlugin for NodeResourcesFit {
    fn filter(&self, spec: Spec<'_>, node: &NodeInfo) -> Option<Rejection> {
        let (reasons, is_unresolvable) = insufficient(Some(self), &spec, node.object.as_ref()?, Some(node));
        (!reasons.is_empty()).then_some(Rejection { plugin: Self::NAME, reasons, is_unresolvable })
    }

    fn remedies(&self, spec: Spec<'_>, node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        let Some(object) = &node.object else { return Vec::new() };
        let mut remedies = Vec::new();
        shortages(Some(self), &spec, object, Some(node), &mut |shortage| remedies.push(Remedy::Resource(shortage)));
        remedies
    }

    fn score(&self, spec: Spec<'_>, node: &NodeInfo, _images: &ImageStates) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let parts = self.strategy.resources.iter().filter_map(|resource| {
            let name = resource.name;
            let (allocatable, taken, asked) = match name.as_str() {
                "cpu" => (object.allocatable.cpu_milli, node.non_zero_cpu, spec.non_zero_container_requests.cpu_milli),
                "memory" => (object.allocatable.memory, node.non_zero_memory, spec.non_zero_container_requests.memory),
                _ => {
                    let asked = amount(&spec.non_zero_container_requests, name);
                    if asked == 0 && name.as_str() != "ephemeral-storage" {
                        return None;
                    }
                    (amount(&object.allocatable, name), amount(&node.requested, name), asked)
                }
            };
            (allocatable > 0).then_some((allocatable, taken.saturating_add(asked), resource.weight()))
        });
        self.strategy.score(parts)
    }
}

impl Plugin for NodeResourcesFit {
    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_ALLOCATABLE | Events::POD_REMOVED | Events::POD_UPDATED | Events::ITSELF
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, cache: &Cache) -> bool {
        let fits_empty =
            || event.node(cache).is_some_and(|(_, node, _)| insufficient(None, &pod.spec, node, None).0.is_empty());
        match event {
            // On any node, of any size.
            ClusterEvent::PodRemoved { .. } => true,
            ClusterEvent::PodUpdated { before, after } => {
                asks_less(&before.spec.requests, &after.spec.requests, Some(&pod.spec.requests))
            }
            ClusterEvent::Itself { before } => asks_less(&before.spec.requests, &pod.spec.requests, None),
            ClusterEvent::NodeAdded(_) => fits_empty(),
            ClusterEvent::NodeUpdated { delta, before, node } => {
                let now = cache.node(*node).object.as_ref();
                delta.touches(NodeDelta::ALLOCATABLE)
                    && now.is_some_and(|now| {
                        let has_more_pods = now.allocatable_pods > before.allocatable_pods;
                        has_more_pods || asks_less(&now.allocatable, &before.allocatable, Some(&pod.spec.requests))
                    })
                    && fits_empty()
            }
            ClusterEvent::PodAdded(_)
            | ClusterEvent::NodeRemoved(_)
            | ClusterEvent::Storage(_)
            | ClusterEvent::UnschedulableTimeout(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Table;
    use crate::scheduler::cache_tests;
    use crate::state::{Pod, Store};
    use crate::units::SimTime;

    #[test]
    fn what_is_kubernetes_own_is_not_ignored() {
        #[track_caller]
        fn check(arguments: &str, expected: &[&str]) {
            let arguments = serde_json::from_str(arguments).expect("arguments");
            let mut spec = (*cache_tests::specs()[0]).clone();
            let asked = ["example.com/bbb", "hugepages-2Mi", "kubernetes.io/something"];
            spec.requests.scalars = asked.iter().map(|name| (Symbol::new(name), 1)).collect();
            let (reasons, is_too_big) =
                insufficient(Some(&NodeResourcesFit::new(arguments)), &spec, &cache_tests::node(0), None);
            let reasons: Vec<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
            assert_eq!(reasons, expected);
            assert!(is_too_big);
        }
        let [bbb, pages, something] =
            ["Insufficient example.com/bbb", "Insufficient hugepages-2Mi", "Insufficient kubernetes.io/something"];
        check("{}", &[bbb, pages, something]);
        check(r#"{"ignoredResources":["example.com/bbb"]}"#, &[pages, something]);
        check(r#"{"ignoredResourceGroups":["example.com","kubernetes.io"]}"#, &[pages, something]);
        check(r#"{"ignoredResources":["kubernetes.io/something","hugepages-2Mi"]}"#, &[bbb, pages, something]);
    }

    #[test]
    fn a_node_that_grew_is_good_news_if_the_pod_fits_it_and_lacked_what_grew() {
        #[track_caller]
        fn check(before: (i64, i64, i64), now: (i64, i64, i64), asked_cpu: i64, expected: bool) {
            let node = |(cpu_milli, memory, pods): (i64, i64, i64)| Node {
                allocatable: std::sync::Arc::new(Resources { cpu_milli, memory, ..Resources::default() }),
                allocatable_pods: pods,
                ..cache_tests::node(0)
            };
            let mut store = Store::default();
            let id = store.node_slot(Symbol::new("n"));
            store.insert_node(id, node(now));
            let mut cache = Cache::new(KubernetesVersion::default());
            cache.set_node(id, &store);
            let spec = cache_tests::spec(&format!(
                r#"{{"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"{asked_cpu}m"}}}}}}]}}"#
            ));
            let pod = cache_tests::pod(0, &spec, false);
            let before = node(before);
            let event = ClusterEvent::NodeUpdated { node: id, delta: NodeDelta::ALLOCATABLE, before: &before };
            let plugin = NodeResourcesFit::new(NodeResourcesFitArgs::default());
            let mut pods: Table<Pod> = Table::new();
            let waiting = Incoming { id: pods.insert(pod.clone()), pod: &pod, store: &store, now: SimTime::ZERO };
            assert_eq!(plugin.hint(waiting, &event, &cache), expected, "{asked_cpu}");
        }
        check((2000, 10, 110), (4000, 10, 110), 3000, true);
        check((2000, 10, 110), (4000, 10, 110), 5000, false);
        check((4000, 10, 110), (4000, 20, 110), 3000, false);
        check((4000, 10, 110), (4000, 10, 120), 3000, true);
        check((4000, 10, 110), (2000, 10, 110), 1000, false);
    }
}
