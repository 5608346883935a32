//! Configurations with which kube-scheduler does not start, but for the arguments of its plugins.

use super::arguments::{ConfigurationProblem, Problems};
use super::registry;
use crate::model::config::{KubeSchedulerConfiguration, KubeSchedulerProfile, KubernetesVersion, LeaderElection};
use crate::units::SimDuration;

/// A plugin that kube-scheduler is built with.
struct Known {
    name: &'static str,
    /// The extension points it takes part in.
    points: &'static [&'static str],
    /// The minor version with which it came; the oldest one that is known, if it was there before.
    since: u32,
}

const fn known(name: &'static str, points: &'static [&'static str]) -> Known {
    Known { name, points, since: KubernetesVersion::OLDEST.minor() }
}

/// Every plugin, in alphabetical order.
///
/// # Source
/// kube-scheduler, `NewInTreeRegistry` and the interfaces that its plugins say they implement.
static KNOWN: [Known; 23] = [
    known("DefaultBinder", &["bind"]),
    known("DefaultPreemption", &["preEnqueue", "postFilter"]),
    known("DynamicResources", &["preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind"]),
    Known { name: "GangScheduling", points: &["preEnqueue", "reserve", "permit"], since: 35 },
    known("ImageLocality", &["score"]),
    known("InterPodAffinity", &["preFilter", "filter", "preScore", "score"]),
    known("NodeAffinity", &["preFilter", "filter", "preScore", "score"]),
    Known { name: "NodeDeclaredFeatures", points: &["preFilter", "filter"], since: 35 },
    known("NodeName", &["filter"]),
    known("NodePorts", &["preFilter", "filter"]),
    known("NodeResourcesBalancedAllocation", &["preScore", "score"]),
    known("NodeResourcesFit", &["preFilter", "filter", "preScore", "score"]),
    known("NodeUnschedulable", &["filter"]),
    known("NodeVolumeLimits", &["preFilter", "filter"]),
    Known { name: "PodGroupPodsCount", points: &["placementScore"], since: 36 },
    known("PodTopologySpread", &["preFilter", "filter", "preScore", "score"]),
    known("PrioritySort", &["queueSort"]),
    known("SchedulingGates", &["preEnqueue"]),
    known("TaintToleration", &["filter", "preScore", "score"]),
    Known { name: "TopologyPlacementGenerator", points: &["placementGenerate"], since: 36 },
    known("VolumeBinding", &["preFilter", "filter", "preScore", "score", "reserve", "preBind"]),
    known("VolumeRestrictions", &["preFilter", "filter"]),
    known("VolumeZone", &["preFilter", "filter"]),
];

/// The plugins that a kube-scheduler of that version is built with.
pub fn plugin_names(version: KubernetesVersion) -> impl Iterator<Item = &'static str> + Clone {
    KNOWN.iter().filter(move |plugin| version.at_least(plugin.since)).map(|plugin| plugin.name)
}

/// Whether a plugin decides anything here.
#[must_use]
pub fn is_plugin_played(name: &str) -> bool {
    registry::entry(name).is_some()
}

/// What is wrong with a configuration as it is written, apart from the arguments of plugins and from plugins that do not
/// exist.
///
/// # Source
/// kube-scheduler, `ValidateKubeSchedulerConfiguration`, and what it refuses when it makes the frameworks of its profiles.
#[must_use]
pub fn configuration_problems(
    configuration: &KubeSchedulerConfiguration,
    version: KubernetesVersion,
) -> Vec<ConfigurationProblem> {
    let mut problems = Problems::new(version);
    check_numbers(configuration, &mut problems);
    check_leader_election(&configuration.leader_election, &mut problems);
    let profiles = &configuration.profiles;
    for (index, profile) in profiles.iter().enumerate() {
        let path = format!("profiles[{index}]");
        check_percentage(profile.percentage_of_nodes_to_score, &format!("{path}."), &mut problems);
        let name = profile.scheduler_name;
        let has_name = name.map_or(profiles.len() == 1, |name| !name.is_empty());
        problems.unless(has_name, format_args!("{path}.schedulerName"), "be given, as pods choose by it");
        let same = profiles[..index].iter().position(|other| name.is_some() && other.scheduler_name == name);
        if let Some(first) = same {
            let rule = format_args!("be another than that of `profiles[{first}]`");
            problems.unless(false, format_args!("{path}.schedulerName"), rule);
        }
        let is_sorted_alike = profile.plugins.queue_sort == profiles[0].plugins.queue_sort;
        let rule = "be the same in all profiles, as they share one queue";
        problems.unless(is_sorted_alike, format_args!("{path}.plugins.queueSort"), rule);
        check_points(profile, &path, &mut problems);
        for (index, config) in profile.plugin_config.iter().enumerate() {
            let is_first = profile.plugin_config[..index].iter().all(|other| other.name != config.name);
            let path = format_args!("{path}.pluginConfig[{index}].name");
            problems.unless(is_first, path, "not have arguments twice");
        }
    }
    problems.into_list()
}

fn check_numbers(configuration: &KubeSchedulerConfiguration, problems: &mut Problems) {
    if let Some(parallelism) = configuration.parallelism {
        problems.unless_within(parallelism, 1..=i64::MAX, "parallelism");
    }
    check_percentage(configuration.percentage_of_nodes_to_score, "", problems);
    let (initial, max) = (configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds);
    if let Some(initial) = initial {
        problems.unless_within(initial, 1..=i64::MAX, "podInitialBackoffSeconds");
    }
    let least = initial.unwrap_or(1).max(1);
    match (initial, max) {
        (_, Some(max)) => {
            let rule = format_args!("be at least `podInitialBackoffSeconds`, {least}");
            problems.unless(max >= least, "podMaxBackoffSeconds", rule);
        }
        (_, None) => {
            let rule = "be at most `podMaxBackoffSeconds`, 10";
            problems.unless(least <= 10, "podInitialBackoffSeconds", rule);
        }
    }
    if let Some(burst) = configuration.client_connection.burst {
        problems.unless_within(burst, 0..=i64::MAX, "clientConnection.burst");
    }
}

fn check_percentage(percentage: Option<i32>, prefix: &str, problems: &mut Problems) {
    if let Some(percentage) = percentage {
        problems.unless_within(percentage, 0..=100, format_args!("{prefix}percentageOfNodesToScore"));
    }
}

fn check_leader_election(election: &LeaderElection, problems: &mut Problems) {
    if election.leader_elect == Some(false) {
        return;
    }
    // Zero stands for the default.
    let period = |written: Option<SimDuration>, default_s: u64| {
        written.filter(|period| !period.is_zero()).unwrap_or(SimDuration::from_secs(default_s))
    };
    let (lease, renewal) = (period(election.lease_duration, 15), period(election.renew_deadline, 10));
    if election.lease_duration.is_some() {
        let rule = format_args!("be longer than `renewDeadline`, {renewal}");
        problems.unless(lease > renewal, "leaderElection.leaseDuration", rule);
    } else {
        let rule = format_args!("be shorter than `leaseDuration`, {lease}");
        problems.unless(lease > renewal, "leaderElection.renewDeadline", rule);
    }
}

/// Plugins at points they do not take part in or that are named twice, and points that nobody is left for.
fn check_points(profile: &KubeSchedulerProfile, path: &str, problems: &mut Problems) {
    for (point, set) in profile.plugins.sets() {
        for (index, plugin) in set.enabled.iter().enumerate() {
            let place = format!("{path}.plugins.{point}.enabled[{index}].name");
            let is_first = set.enabled[..index].iter().all(|other| other.name != plugin.name);
            problems.unless(is_first, &place, "not be enabled twice");
            let Some(known) = KNOWN.iter().find(|known| known.name == plugin.name.as_str()) else { continue };
            let takes_part = point == "multiPoint" || known.points.contains(&point);
            let rule = format_args!("take part in `{point}`: it has to do with `{}`", known.points.join("`, `"));
            problems.unless(takes_part, &place, rule);
        }
    }
    for (point, plugin, set, purpose) in [
        ("queueSort", "PrioritySort", &profile.plugins.queue_sort, "sort the queue"),
        ("bind", "DefaultBinder", &profile.plugins.bind, "bind pods"),
    ] {
        let everywhere = &profile.plugins.multi_point;
        let is_everywhere = everywhere.enables(plugin) || !everywhere.disables(plugin);
        let is_left = set.enables(plugin) || (is_everywhere && !set.disables(plugin));
        let rule = format_args!("leave `{plugin}` enabled, which is there to {purpose}");
        let place = if set.disabled.is_empty() { "multiPoint" } else { point };
        problems.unless(is_left, format_args!("{path}.plugins.{place}.disabled"), rule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &[&str]) {
        let configuration = serde_json::from_str(json).expect("a configuration");
        let found = configuration_problems(&configuration, KubernetesVersion::NEWEST);
        let found: Vec<String> = found.iter().map(|problem| format!("{}: {}", problem.path, problem.rule)).collect();
        assert_eq!(found, expected, "{json}");
    }

    #[track_caller]
    fn check_plugins(plugins: &str, expected: &[&str]) {
        check(&format!(r#"{{"profiles":[{{"plugins":{plugins}}}]}}"#), expected);
    }

    #[test]
    fn numbers_keep_within_bounds() {
        check(r#"{"parallelism":1,"percentageOfNodesToScore":100,"podInitialBackoffSeconds":10}"#, &[]);
        check(r#"{"clientConnection":{"qps":-1,"burst":0}}"#, &[]);
        check(
            r#"{"parallelism":0,"percentageOfNodesToScore":500,"clientConnection":{"burst":-1}}"#,
            &[
                "parallelism: be at least 1",
                "percentageOfNodesToScore: be from 0 to 100",
                "clientConnection.burst: be at least 0",
            ],
        );
        check(
            r#"{"profiles":[{"percentageOfNodesToScore":-1}]}"#,
            &["profiles[0].percentageOfNodesToScore: be from 0 to 100"],
        );
    }

    #[test]
    fn back_off_grows() {
        check(r#"{"podMaxBackoffSeconds":-3}"#, &["podMaxBackoffSeconds: be at least `podInitialBackoffSeconds`, 1"]);
        check(
            r#"{"podInitialBackoffSeconds":20,"podMaxBackoffSeconds":19}"#,
            &["podMaxBackoffSeconds: be at least `podInitialBackoffSeconds`, 20"],
        );
        check(
            r#"{"podInitialBackoffSeconds":11}"#,
            &["podInitialBackoffSeconds: be at most `podMaxBackoffSeconds`, 10"],
        );
        check(r#"{"podInitialBackoffSeconds":0}"#, &["podInitialBackoffSeconds: be at least 1"]);
    }

    #[test]
    fn a_lease_outlives_its_renewal() {
        check(r#"{"leaderElection":{"leaseDuration":"60s","renewDeadline":"40s"}}"#, &[]);
        check(r#"{"leaderElection":{"leaderElect":false,"leaseDuration":"1s"}}"#, &[]);
        check(
            r#"{"leaderElection":{"leaseDuration":"10s"}}"#,
            &["leaderElection.leaseDuration: be longer than `renewDeadline`, 10s"],
        );
        check(
            r#"{"leaderElection":{"renewDeadline":"15s"}}"#,
            &["leaderElection.renewDeadline: be shorter than `leaseDuration`, 15s"],
        );
    }

    #[test]
    fn several_profiles_have_names_of_their_own_and_one_queue() {
        check(r#"{"profiles":[{}]}"#, &[]);
        check(r#"{"profiles":[{"schedulerName":"a"},{"schedulerName":"b"}]}"#, &[]);
        check(
            r#"{"profiles":[{"schedulerName":"a"},{"schedulerName":"a"},{},{"schedulerName":""}]}"#,
            &[
                "profiles[1].schedulerName: be another than that of `profiles[0]`",
                "profiles[2].schedulerName: be given, as pods choose by it",
                "profiles[3].schedulerName: be given, as pods choose by it",
            ],
        );
        check(
            r#"{"profiles":[{"schedulerName":"a"},
                {"schedulerName":"b","plugins":{"queueSort":{"enabled":[{"name":"PrioritySort"}]}}}]}"#,
            &["profiles[1].plugins.queueSort: be the same in all profiles, as they share one queue"],
        );
    }

    #[test]
    fn plugins_are_enabled_once_and_where_they_take_part() {
        check_plugins(r#"{"preScore":{"enabled":[{"name":"NodeResourcesFit"}]}}"#, &[]);
        check_plugins(
            r#"{"filter":{"enabled":[{"name":"ImageLocality"}]}}"#,
            &["profiles[0].plugins.filter.enabled[0].name: take part in `filter`: it has to do with `score`"],
        );
        check_plugins(
            r#"{"multiPoint":{"enabled":[{"name":"NodePorts"},{"name":"NodePorts"}]}}"#,
            &["profiles[0].plugins.multiPoint.enabled[1].name: not be enabled twice"],
        );
        check(
            r#"{"profiles":[{"pluginConfig":[{"name":"NodeAffinity"},{"name":"NodeAffinity"}]}]}"#,
            &["profiles[0].pluginConfig[1].name: not have arguments twice"],
        );
    }

    #[test]
    fn somebody_sorts_and_binds() {
        const SORT: &str = "disabled: leave `PrioritySort` enabled, which is there to sort the queue";
        const BIND: &str = "disabled: leave `DefaultBinder` enabled, which is there to bind pods";
        let at = |point: &str, rule: &str| format!("profiles[0].plugins.{point}.{rule}");
        check_plugins(r#"{"bind":{"disabled":[{"name":"*"}]}}"#, &[&at("bind", BIND)]);
        check_plugins(r#"{"queueSort":{"disabled":[{"name":"PrioritySort"}]}}"#, &[&at("queueSort", SORT)]);
        check_plugins(
            r#"{"multiPoint":{"disabled":[{"name":"*"}]}}"#,
            &[&at("multiPoint", SORT), &at("multiPoint", BIND)],
        );
        check_plugins(
            r#"{"multiPoint":{"disabled":[{"name":"*"}],"enabled":[{"name":"DefaultBinder"}]},
                "queueSort":{"enabled":[{"name":"PrioritySort"}]}}"#,
            &[],
        );
        check_plugins(r#"{"bind":{"disabled":[{"name":"*"}],"enabled":[{"name":"DefaultBinder"}]}}"#, &[]);
    }

    #[test]
    fn plugins_come_with_versions() {
        let has = |minor: &str, name: &str| plugin_names(minor.parse().expect("a version")).any(|known| known == name);
        assert!(has("1.36", "PodGroupPodsCount") && !has("1.35", "PodGroupPodsCount"));
        assert!(has("1.35", "GangScheduling") && !has("1.34", "GangScheduling"));
        assert!(registry::ALL.iter().all(|entry| has("1.33", entry.name)));
        assert!(KNOWN.is_sorted_by_key(|known| known.name));
    }
}
