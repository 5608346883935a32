//! Arguments with which kube-scheduler does not start.

use serde_json::Value;

use super::arguments::{PluginArguments, ReadArguments, from_value};
use super::configuration::argument_problems;

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
fn allocatable_resources_weigh_something() {
    let plugin = "NodeResourcesAllocatable";
    check(plugin, r#"{"mode":"Most","resources":[{"name":"cpu","weight":1048576}]}"#, &[]);
    check(
        plugin,
        r#"{"mode":null,"resources":[{"name":"cpu","weight":-1},{"name":"memory"}]}"#,
        &["resources[0].weight: be at least 1", "resources[1].weight: be at least 1"],
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
        &["bindTimeoutSeconds: be at least 0", "shape: be left out: the feature gate StorageCapacityScoring is off"],
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
