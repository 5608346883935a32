//! Configurations with which kube-scheduler does not start.

use serde_json::Value;

use super::arguments::{ArgumentUse, ConfigurationProblem, PluginArguments, Problems, ReadArguments, from_value};
use super::framework::Point;
use super::plugins::{self, VisitArguments};
use crate::model::config::{
    KubeSchedulerConfiguration, KubeSchedulerProfile, KubernetesVersion, LeaderElection, PluginConfig,
};
use crate::units::SimDuration;

/// The group and version of the arguments of all plugins.
const ARGUMENTS_VERSION: &str = "kubescheduler.config.k8s.io/v1";

/// Plugins that kube-scheduler is built with and that decide nothing here: their names, their extension points, and the minor
/// version with which they came.
///
/// # Source
/// kube-scheduler, `NewInTreeRegistry` and the interfaces that its plugins say they implement.
static NOT_PLAYED: [(&str, &[Point], u32); 5] = [
    ("DefaultBinder", &[Point::Bind], KubernetesVersion::OLDEST.minor()),
    ("GangScheduling", &[Point::PreEnqueue, Point::Reserve, Point::Permit], 35),
    ("NodeDeclaredFeatures", &[Point::PreFilter, Point::Filter], 35),
    ("PodGroupPodsCount", &[Point::PlacementScore], 36),
    ("TopologyPlacementGenerator", &[Point::PlacementGenerate], 36),
];

/// The names of the plugins that a configuration of that version may hold, in alphabetical order.
#[must_use]
pub fn plugin_names(version: KubernetesVersion) -> Vec<&'static str> {
    let others = NOT_PLAYED.iter().filter(|(_, _, since)| version.at_least(*since)).map(|(name, ..)| *name);
    let mut names: Vec<&str> = plugins::ALL.iter().map(|entry| entry.name).chain(others).collect();
    names.sort_unstable();
    names
}

/// The extension points of a plugin, played or not.
fn points_of(name: &str) -> Option<&'static [Point]> {
    let of_others = || NOT_PLAYED.iter().find(|(other, ..)| *other == name).map(|(_, points, _)| *points);
    plugins::entry(name).map(|entry| entry.points).or_else(of_others)
}

/// Whether a plugin decides anything here.
#[must_use]
pub fn is_plugin_played(name: &str) -> bool {
    plugins::entry(name).is_some()
}

/// Whether anything hangs on the arguments of a plugin.
#[must_use]
pub fn argument_use(plugin: &str) -> ArgumentUse {
    plugins::entry(plugin).map_or(ArgumentUse::None, |entry| entry.arguments)
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
    plugins::visit_arguments(plugin, CheckArguments { plugin, arguments, version, reader })?
}

/// A check of arguments, whatever type they have.
struct CheckArguments<'a, R> {
    plugin: &'a str,
    arguments: &'a Value,
    version: KubernetesVersion,
    reader: &'a mut R,
}

impl<R: ReadArguments> VisitArguments for CheckArguments<'_, R> {
    type Output = Option<Vec<ConfigurationProblem>>;

    fn visit<A: PluginArguments>(self) -> Self::Output {
        let Self { plugin, arguments, version, reader } = self;
        if A::USE == ArgumentUse::None || !A::exist(version) {
            return None;
        }
        let mut problems = Problems::new(version);
        check_type(plugin, arguments, &mut problems);
        if let Some(read) = reader.read::<A>() {
            match from_value::<A>(arguments) {
                Ok(_) => read.check(&mut problems),
                // The reader is more lenient: it takes a number for text, say.
                Err(error) => problems.unless(false, "", format_args!("be of the right types: {error}")),
            }
        }
        Some(problems.into_list())
    }
}

/// What a plugin lacks to which no arguments are given.
struct WithoutArguments {
    version: KubernetesVersion,
}

impl VisitArguments for WithoutArguments {
    type Output = Vec<ConfigurationProblem>;

    fn visit<A: PluginArguments>(self) -> Self::Output {
        let mut problems = Problems::new(self.version);
        if A::exist(self.version) {
            A::default().check(&mut problems);
        }
        problems.into_list()
    }
}

fn check_type(plugin: &str, arguments: &Value, problems: &mut Problems) {
    let is = |field: &str, expected: &str| {
        let found = arguments.get(field).and_then(Value::as_str).unwrap_or_default();
        found.is_empty() || found == expected
    };
    let kind = format!("{plugin}Args");
    problems.unless(is("apiVersion", ARGUMENTS_VERSION), "apiVersion", format_args!("be `{ARGUMENTS_VERSION}`"));
    problems.unless(is("kind", &kind), "kind", format_args!("be `{kind}`"));
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
            let Some(points) = points_of(plugin.name.as_str()) else { continue };
            let points: Vec<&str> = points.iter().map(|point| point.as_str()).collect();
            let is_given = |config: &PluginConfig| config.name == plugin.name && !config.args.is_null();
            if is_first && !profile.plugin_config.iter().any(is_given) {
                let version = problems.version();
                for lacking in
                    plugins::visit_arguments(plugin.name.as_str(), WithoutArguments { version }).unwrap_or_default()
                {
                    let rule = format_args!("have arguments: `{}` must {}", lacking.path, lacking.rule);
                    problems.unless(false, &place, rule);
                }
            }
            let takes_part = point == "multiPoint" || points.contains(&point);
            let rule = format_args!("take part in `{point}`: it has to do with `{}`", points.join("`, `"));
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
    fn a_plugin_can_need_arguments() {
        #[derive(Default, serde::Deserialize)]
        struct Needs {
            seconds: Option<u32>,
        }

        impl PluginArguments for Needs {
            fn check(&self, problems: &mut Problems) {
                problems.unless(self.seconds.is_some(), "seconds", "be given");
            }
        }
        let lacking = WithoutArguments { version: KubernetesVersion::NEWEST }.visit::<Needs>();
        assert_eq!(lacking, [ConfigurationProblem { path: "seconds".to_owned(), rule: "be given".to_owned() }]);
        // None of Kubernetes' own does.
        for entry in plugins::ALL {
            check_plugins(&format!(r#"{{"multiPoint":{{"enabled":[{{"name":"{}"}}]}}}}"#, entry.name), &[]);
        }
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
        let has = |minor: &str, name: &str| plugin_names(minor.parse().expect("a version")).contains(&name);
        assert!(has("1.36", "PodGroupPodsCount") && !has("1.35", "PodGroupPodsCount"));
        assert!(has("1.35", "GangScheduling") && !has("1.34", "GangScheduling"));
        assert!(plugins::ALL.iter().all(|entry| has("1.33", entry.name)));
    }
}
