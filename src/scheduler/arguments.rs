//! Arguments of plugins: how they are read, and with which ones kube-scheduler does not start.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::plugins::default_preemption::DefaultPreemptionArgs;
use super::plugins::dynamic_resources::DynamicResourcesArgs;
use super::plugins::inter_pod_affinity::InterPodAffinityArgs;
use super::plugins::node_affinity::NodeAffinityArgs;
use super::plugins::node_resources_balanced_allocation::NodeResourcesBalancedAllocationArgs;
use super::plugins::node_resources_fit::NodeResourcesFitArgs;
use super::plugins::pod_topology_spread::PodTopologySpreadArgs;
use super::plugins::volume_binding::VolumeBindingArgs;
use crate::model::config::KubernetesVersion;

/// The group and version of the arguments of all plugins.
const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";

/// Something in a configuration with which kube-scheduler does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationProblem {
    /// Where it stands, from the configuration or the arguments on: `scoringStrategy.resources[0].weight`.
    pub path: String,
    /// What is true of everything that could stand there; it goes on "it must".
    pub rule: String,
}

/// Problems, in the order in which they are found.
#[derive(Debug)]
pub struct Problems {
    version: KubernetesVersion,
    list: Vec<ConfigurationProblem>,
}

impl Problems {
    /// None yet, for a kube-scheduler of that version.
    pub(super) fn new(version: KubernetesVersion) -> Self {
        Self { version, list: Vec::new() }
    }

    /// The version of the kube-scheduler that is to start.
    pub(super) fn version(&self) -> KubernetesVersion {
        self.version
    }

    /// Notes a problem unless all is well.
    pub(super) fn unless(&mut self, is_fine: bool, path: impl Display, rule: impl Display) {
        if !is_fine {
            self.list.push(ConfigurationProblem { path: path.to_string(), rule: rule.to_string() });
        }
    }

    /// Notes a problem unless a number lies within bounds, which are part of them.
    pub(super) fn unless_within(&mut self, number: impl Into<i64>, bounds: RangeInclusive<i64>, path: impl Display) {
        let (low, high) = (bounds.start(), bounds.end());
        let rule = if *high == i64::MAX { format!("be at least {low}") } else { format!("be from {low} to {high}") };
        self.unless(bounds.contains(&number.into()), path, rule);
    }

    /// All of them.
    pub(super) fn into_list(self) -> Vec<ConfigurationProblem> {
        self.list
    }
}

/// Arguments of a plugin.
pub trait PluginArguments: DeserializeOwned + Default {
    /// Notes what kube-scheduler refuses; paths go from the arguments on.
    fn check(&self, problems: &mut Problems);
}

/// Somebody who has arguments as text and reads them as whatever type they have.
pub trait ReadArguments {
    /// The arguments without `apiVersion` and `kind`; none if they cannot be read, which the reader says.
    fn read<A: PluginArguments>(&mut self) -> Option<A>;
}

/// Whether a plugin has arguments, in the newest version.
#[must_use]
pub fn takes_arguments(plugin: &str) -> bool {
    struct Nobody;
    impl ReadArguments for Nobody {
        fn read<A: PluginArguments>(&mut self) -> Option<A> {
            None
        }
    }
    argument_problems(plugin, &Value::Null, KubernetesVersion::NEWEST, &mut Nobody).is_some()
}

/// What is wrong with the arguments of a plugin; none if it has no arguments.
///
/// # Source
/// kube-scheduler, `ValidatePluginArgs` and what plugins refuse when they are made.
pub fn argument_problems(
    plugin: &str,
    arguments: &Value,
    version: KubernetesVersion,
    reader: &mut impl ReadArguments,
) -> Option<Vec<ConfigurationProblem>> {
    fn problems<A: PluginArguments>(arguments: &Value, reader: &mut impl ReadArguments, problems: &mut Problems) {
        let Some(read) = reader.read::<A>() else { return };
        match from_value::<A>(arguments) {
            Ok(_) => read.check(problems),
            // The reader is more lenient: it takes a number for text, say.
            Err(error) => problems.unless(false, "", format_args!("be of the right types: {error}")),
        }
    }
    let mut found = Problems::new(version);
    check_type(plugin, arguments, &mut found);
    match plugin {
        "DefaultPreemption" => problems::<DefaultPreemptionArgs>(arguments, reader, &mut found),
        "DynamicResources" if version.at_least(34) => {
            problems::<DynamicResourcesArgs>(arguments, reader, &mut found);
        }
        "InterPodAffinity" => problems::<InterPodAffinityArgs>(arguments, reader, &mut found),
        "NodeAffinity" => problems::<NodeAffinityArgs>(arguments, reader, &mut found),
        "NodeResourcesBalancedAllocation" => {
            problems::<NodeResourcesBalancedAllocationArgs>(arguments, reader, &mut found);
        }
        "NodeResourcesFit" => problems::<NodeResourcesFitArgs>(arguments, reader, &mut found),
        "PodTopologySpread" => problems::<PodTopologySpreadArgs>(arguments, reader, &mut found),
        "VolumeBinding" => problems::<VolumeBindingArgs>(arguments, reader, &mut found),
        _ => return None,
    }
    Some(found.into_list())
}

fn check_type(plugin: &str, arguments: &Value, problems: &mut Problems) {
    let is = |field: &str, expected: &str| {
        let found = arguments.get(field).and_then(Value::as_str).unwrap_or_default();
        found.is_empty() || found == expected
    };
    let kind = format!("{plugin}Args");
    problems.unless(is("apiVersion", API_VERSION), "apiVersion", format_args!("be `{API_VERSION}`"));
    problems.unless(is("kind", &kind), "kind", format_args!("be `{kind}`"));
}

/// Reads arguments; null stands for none at all, which are the defaults.
pub(super) fn from_value<A: DeserializeOwned + Default>(arguments: &Value) -> Result<A, serde_json::Error> {
    let mut arguments = arguments.clone();
    match &mut arguments {
        Value::Null => return Ok(A::default()),
        Value::Object(fields) => fields.retain(|name, _| name != "apiVersion" && name != "kind"),
        _ => {}
    }
    serde_json::from_value(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads JSON.
    struct Json<'a>(&'a Value);

    impl ReadArguments for Json<'_> {
        fn read<A: PluginArguments>(&mut self) -> Option<A> {
            Some(from_value(self.0).expect("readable arguments"))
        }
    }

    #[track_caller]
    fn check_of(minor: &str, plugin: &str, json: &str, expected: &[&str]) {
        let arguments = serde_json::from_str(json).expect("JSON");
        let version = minor.parse().expect("a version");
        let found = argument_problems(plugin, &arguments, version, &mut Json(&arguments)).unwrap_or_default();
        let found: Vec<String> = found.iter().map(|problem| format!("{}: {}", problem.path, problem.rule)).collect();
        assert_eq!(found, expected, "{plugin} {json}");
    }

    #[track_caller]
    fn check(plugin: &str, json: &str, expected: &[&str]) {
        check_of("1.36", plugin, json, expected);
    }

    #[test]
    fn preemption_needs_some_candidate() {
        let plugin = "DefaultPreemption";
        check(plugin, "null", &[]);
        check(plugin, r#"{"minCandidateNodesPercentage":0}"#, &[]);
        check(plugin, r#"{"minCandidateNodesPercentage":null,"minCandidateNodesAbsolute":0}"#, &[]);
        check(
            plugin,
            r#"{"minCandidateNodesPercentage":0,"minCandidateNodesAbsolute":0}"#,
            &[
                "minCandidateNodesPercentage: be above 0 if `minCandidateNodesAbsolute` is 0",
                "minCandidateNodesAbsolute: be above 0 if `minCandidateNodesPercentage` is 0",
            ],
        );
        check(
            plugin,
            r#"{"minCandidateNodesPercentage":101,"minCandidateNodesAbsolute":-1}"#,
            &["minCandidateNodesPercentage: be from 0 to 100", "minCandidateNodesAbsolute: be at least 0"],
        );
    }

    #[test]
    fn arguments_are_of_the_plugin_they_are_given_to() {
        let plugin = "InterPodAffinity";
        check(plugin, r#"{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"InterPodAffinityArgs"}"#, &[]);
        check(
            plugin,
            r#"{"apiVersion":"kubescheduler.config.k8s.io/v1beta2","kind":"NodeAffinityArgs"}"#,
            &["apiVersion: be `kubescheduler.config.k8s.io/v1`", "kind: be `InterPodAffinityArgs`"],
        );
    }

    #[test]
    fn affinity_weighs_up_to_100() {
        let plugin = "InterPodAffinity";
        check(plugin, r#"{"hardPodAffinityWeight":100,"ignorePreferredTermsOfExistingPods":null}"#, &[]);
        check(plugin, r#"{"hardPodAffinityWeight":101}"#, &["hardPodAffinityWeight: be from 0 to 100"]);
        check(plugin, r#"{"hardPodAffinityWeight":-1}"#, &["hardPodAffinityWeight: be from 0 to 100"]);
    }

    #[test]
    fn added_affinity_can_be_understood() {
        let terms = |requirement: &str| {
            format!(
                r#"{{"addedAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":
                    {{"nodeSelectorTerms":[{{"matchExpressions":[{requirement}]}}]}}}}}}"#
            )
        };
        check("NodeAffinity", &terms(r#"{"key":"a","operator":"Exists"}"#), &[]);
        check(
            "NodeAffinity",
            &terms(r#"{"key":"a","operator":"In"}"#),
            &["addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: \
               hold requirements that can be met (`a` In: at least one value is needed)"],
        );
    }

    #[test]
    fn balanced_resources_weigh_alike_and_count_once() {
        let plugin = "NodeResourcesBalancedAllocation";
        check(plugin, r#"{"resources":[{"name":"cpu"},{"name":"memory","weight":1}]}"#, &[]);
        check(
            plugin,
            r#"{"resources":[{"name":"cpu","weight":2},{"name":"cpu"}]}"#,
            &["resources[0].weight: be 1", "resources[1].name: be another than in `resources[0]`"],
        );
    }

    #[test]
    fn fit_takes_a_strategy_of_a_known_type() {
        let plugin = "NodeResourcesFit";
        check(plugin, "{}", &[]);
        check(plugin, r#"{"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"cpu","weight":100}]}}"#, &[]);
        check(
            plugin,
            r#"{"scoringStrategy":{"resources":[{"name":"cpu","weight":101},{"name":"memory","weight":-1}]}}"#,
            &[
                "scoringStrategy.type: be `LeastAllocated`, `MostAllocated` or `RequestedToCapacityRatio`",
                "scoringStrategy.resources[0].weight: be from 1 to 100",
                "scoringStrategy.resources[1].weight: be from 1 to 100",
            ],
        );
        check(
            plugin,
            r#"{"ignoredResources":["a b"],"ignoredResourceGroups":["example.com/a"]}"#,
            &[
                "ignoredResources[0]: be the name of a resource",
                "ignoredResourceGroups[0]: be what stands before the `/` of resources",
            ],
        );
    }

    #[test]
    fn a_shape_ascends_within_its_bounds() {
        #[track_caller]
        fn check_shape(shape: &str, expected: &[&str]) {
            let json = format!(
                r#"{{"scoringStrategy":{{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":{{"shape":{shape}}}}}}}"#
            );
            check("NodeResourcesFit", &json, expected);
        }
        check_shape(r#"[{"utilization":0,"score":10},{"utilization":100,"score":0}]"#, &[]);
        check_shape("[]", &["scoringStrategy.requestedToCapacityRatio.shape: have at least one point"]);
        check_shape(
            r#"[{"utilization":50,"score":99},{"utilization":20}]"#,
            &[
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: be above the 50 before it",
                "scoringStrategy.requestedToCapacityRatio.shape[0].score: be from 0 to 10",
            ],
        );
        check_shape(
            r#"[{"utilization":-1},{"utilization":101}]"#,
            &[
                "scoringStrategy.requestedToCapacityRatio.shape[0].utilization: be from 0 to 100",
                "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: be from 0 to 100",
            ],
        );
    }

    #[test]
    fn a_shape_belongs_to_its_strategy() {
        let plugin = "NodeResourcesFit";
        check(
            plugin,
            r#"{"scoringStrategy":{"type":"RequestedToCapacityRatio"}}"#,
            &["scoringStrategy.requestedToCapacityRatio: be given with this type"],
        );
        check(
            plugin,
            r#"{"scoringStrategy":{"type":"LeastAllocated","requestedToCapacityRatio":{}}}"#,
            &["scoringStrategy.requestedToCapacityRatio: be left out unless the type is `RequestedToCapacityRatio`"],
        );
    }

    #[test]
    fn default_constraints_are_whole_and_of_the_user_alone() {
        let plugin = "PodTopologySpread";
        let constraint = r#"{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}"#;
        check(plugin, &format!(r#"{{"defaultConstraints":[{constraint}],"defaultingType":"List"}}"#), &[]);
        check(plugin, r#"{"defaultingType":"List"}"#, &[]);
        for defaulting in ["", r#","defaultingType":"System""#] {
            check(
                plugin,
                &format!(r#"{{"defaultConstraints":[{constraint}]{defaulting}}}"#),
                &["defaultingType: be `List` where there are `defaultConstraints`"],
            );
        }
        check(
            plugin,
            &format!(
                r#"{{"defaultingType":"List","defaultConstraints":[{{"labelSelector":{{}}}},{constraint},{constraint}]}}"#
            ),
            &[
                "defaultConstraints[0].maxSkew: be at least 1",
                "defaultConstraints[0].topologyKey: be the key of a label",
                "defaultConstraints[0].whenUnsatisfiable: be `DoNotSchedule` or `ScheduleAnyway`",
                "defaultConstraints[0].labelSelector: be left out: which pods count follows from each pod",
                "defaultConstraints[2]: differ from `defaultConstraints[1]` in its key or in what happens",
            ],
        );
    }

    #[test]
    fn volumes_are_waited_for_some_time() {
        let plugin = "VolumeBinding";
        check(plugin, r#"{"bindTimeoutSeconds":0}"#, &[]);
        check(
            plugin,
            r#"{"bindTimeoutSeconds":-5,"shape":[{"utilization":0,"score":0}]}"#,
            &[
                "bindTimeoutSeconds: be at least 0",
                "shape: be left out: the feature gate StorageCapacityScoring is off",
            ],
        );
    }

    #[test]
    fn devices_have_arguments_in_later_versions() {
        let plugin = "DynamicResources";
        let binding = r#"{"filterTimeout":"10s","bindingTimeout":"500ms"}"#;
        check(plugin, binding, &["bindingTimeout: be at least 1s"]);
        let gate = "bindingTimeout: be left out before Kubernetes 1.36";
        check_of("1.35", plugin, binding, &[gate]);
        check_of("1.33", plugin, binding, &[]);
    }
}
