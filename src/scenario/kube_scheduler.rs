//! Checks of a KubeSchedulerConfiguration: with what a kube-scheduler does not start is an error.

use super::at::{At, parse_path, refuse};
use super::decode::{Decoded, decode};
use super::document::{Node, Value};
use super::resolved::ResolvedScenario;
use super::schema::Spec;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, nearest};
use crate::model::config::{KubeSchedulerConfiguration, KubernetesVersion};
use crate::model::field_path::FieldPath;
use crate::scheduler::{self, ArgumentUse, PluginArguments, ReadArguments};

/// Where the configuration stands in a scenario.
const ROOT: &str = "spec.controlPlane.kubeScheduler";
const LABEL: &str = "kube-scheduler does not start with this";

/// Extension points that are played; at others plugins do what they always do.
const POINTS_PLAYED: [&str; 5] = ["preEnqueue", "filter", "postFilter", "score", "multiPoint"];

/// Checks what is configured.
pub(super) fn check(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let version = scenario.config.version;
    let configuration = &spec.control_plane.kube_scheduler;
    check_kind(root, configuration, diagnostics);
    check_names(root, configuration, version, diagnostics);
    for problem in scheduler::configuration_problems(configuration, version) {
        refuse(configuration_at(root), "kubeScheduler", &problem.path, &problem.rule, LABEL, diagnostics);
    }
    check_weights(root, configuration, diagnostics);
    check_extenders(root, diagnostics);
    check_arguments(root, configuration, version, diagnostics);
}

/// The configuration in the scenario.
fn configuration_at(root: &Node) -> At<'_> {
    At::root(root).field("spec").field("controlPlane").field("kubeScheduler")
}

fn check_kind(root: &Node, configuration: &KubeSchedulerConfiguration, diagnostics: &mut Diagnostics) {
    let expected = [
        ("apiVersion", configuration.api_version, "kubescheduler.config.k8s.io/v1"),
        ("kind", configuration.kind, "KubeSchedulerConfiguration"),
    ];
    for (field, found, expected) in expected {
        if !found.is_empty() && found != expected {
            let message = format!("`{found}` is not the `{field}` of a configuration of kube-scheduler");
            let location = configuration_at(root).field(field).location();
            let diagnostic = Diagnostic::error("scenario::bad_value", message);
            diagnostics.push(diagnostic.at(location, "").help(format!("write `{field}: {expected}`")));
        }
    }
}

/// Plugins that kube-scheduler does not have, which it refuses to start with.
fn check_names(
    root: &Node,
    configuration: &KubeSchedulerConfiguration,
    version: KubernetesVersion,
    diagnostics: &mut Diagnostics,
) {
    let plugins = scheduler::plugin_names(version);
    let mut check = |name: &str, at: At<'_>| {
        // `*` stands for all of them.
        if name == "*" || plugins.contains(&name) {
            return;
        }
        let comes_later = scheduler::plugin_names(KubernetesVersion::NEWEST).contains(&name);
        let of_version = if comes_later { format!(" {version}") } else { String::new() };
        let message = format!("kube-scheduler{of_version} has no plugin `{name}`");
        let diagnostic = Diagnostic::error("scenario::unknown_name", message);
        let help = match nearest(name, plugins.iter().copied()) {
            _ if comes_later => "it comes with a later version".to_owned(),
            Some(nearest) => format!("the nearest plugin is `{nearest}`"),
            None => "plugins that are not part of kube-scheduler cannot be played".to_owned(),
        };
        diagnostics.push(diagnostic.at(at.location(), "unknown plugin").help(help));
    };
    for (index, profile) in configuration.profiles.iter().enumerate() {
        let profile_at = configuration_at(root).field("profiles").index(index);
        for (point, set) in profile.plugins.sets() {
            for (list, plugins) in [("enabled", &set.enabled), ("disabled", &set.disabled)] {
                for (index, plugin) in plugins.iter().enumerate() {
                    let at = profile_at.field("plugins").field(point).field(list).index(index);
                    check(plugin.name.as_str(), at.field("name"));
                }
            }
        }
        for (index, config) in profile.plugin_config.iter().enumerate() {
            check(config.name.as_str(), profile_at.field("pluginConfig").index(index).field("name"));
        }
    }
}

/// kube-scheduler takes weights below zero, and prefers what the plugin likes least.
fn check_weights(root: &Node, configuration: &KubeSchedulerConfiguration, diagnostics: &mut Diagnostics) {
    for (profile, plugins) in configuration.profiles.iter().map(|profile| &profile.plugins).enumerate() {
        for (point, set) in [("score", &plugins.score), ("multiPoint", &plugins.multi_point)] {
            for (index, plugin) in set.enabled.iter().enumerate().filter(|(_, plugin)| plugin.weight < 0) {
                let at = configuration_at(root).field("profiles").index(profile).field("plugins").field(point);
                let message = format!("a weight of {} turns the scores of `{}` around", plugin.weight, plugin.name);
                diagnostics.push(
                    Diagnostic::warning("scenario::negative_weight", message)
                        .at(at.field("enabled").index(index).field("weight").location(), "what it likes least wins")
                        .help("leave a plugin out by naming it under `disabled`"),
                );
            }
        }
    }
}

/// Extenders are not played, but what is wrong with them keeps kube-scheduler from starting.
///
/// # Source
/// kube-scheduler, `validateExtenders`.
fn check_extenders(root: &Node, diagnostics: &mut Diagnostics) {
    let extenders_at = configuration_at(root).key("extenders");
    let extenders = extenders_at.node().into_iter().flat_map(Node::items).enumerate();
    let has =
        |extender: &Node, verb: &str| extender.get(verb).and_then(Node::text).is_some_and(|verb| !verb.is_empty());
    let mut binders = Vec::new();
    for (index, extender) in extenders {
        let at = extenders_at.index(index);
        if has(extender, "bindVerb") {
            binders.push(at.key("bindVerb").location());
        }
        let weight = extender.get("weight").and_then(Node::text).and_then(|weight| weight.parse::<i64>().ok());
        if has(extender, "prioritizeVerb") && weight.unwrap_or(0) <= 0 {
            let message = format!("an extender with a `prioritizeVerb` has a weight of {}", weight.unwrap_or(0));
            let location = if weight.is_some() { at.key("weight") } else { at.key("prioritizeVerb") }.location();
            let diagnostic = Diagnostic::error("scenario::bad_value", message).at(location, LABEL);
            diagnostics.push(diagnostic.help("write a positive `weight`"));
        }
    }
    if let [_, second, ..] = binders.as_slice() {
        let message = format!("{} extenders have a `bindVerb`", binders.len());
        let diagnostic = Diagnostic::error("scenario::bad_value", message).at(second.clone(), LABEL);
        diagnostics.push(diagnostic.help("only one extender can bind"));
    }
}

/// Arguments as the scenario's text has them.
struct Arguments<'a> {
    node: Node,
    diagnostics: &'a mut Diagnostics,
}

impl ReadArguments for Arguments<'_> {
    fn read<A: PluginArguments>(&mut self) -> Option<A> {
        let mut found = Diagnostics::new();
        let Decoded { value, ignored, near_misses } = decode::<A>(&mut self.node, &mut found);
        for path in &ignored {
            found.push(unknown_field(&self.node, path, &near_misses));
        }
        let is_read = !found.has_errors();
        self.diagnostics.extend(found);
        value.filter(|_| is_read)
    }
}

fn check_arguments(
    root: &Node,
    configuration: &KubeSchedulerConfiguration,
    version: KubernetesVersion,
    diagnostics: &mut Diagnostics,
) {
    for (path, plugin, node) in all_arguments(root) {
        let Some(config) = configs(configuration).find(|(place, _)| *place == path) else { continue };
        let mut node = node.clone();
        if let Value::Map(entries) = &mut node.value {
            entries.retain(|entry| !matches!(&*entry.key, "apiVersion" | "kind"));
        }
        let mut reader = Arguments { node, diagnostics };
        let problems = scheduler::argument_problems(plugin, config.1, version, &mut reader).unwrap_or_default();
        for problem in problems {
            let at = At::root(root).written(&path);
            refuse(at, "args", &problem.path, &problem.rule, LABEL, diagnostics);
        }
    }
}

/// Arguments as they have been read, by their paths.
fn configs(configuration: &KubeSchedulerConfiguration) -> impl Iterator<Item = (String, &serde_json::Value)> {
    configuration.profiles.iter().enumerate().flat_map(|(profile, plugins)| {
        let configs = plugins.plugin_config.iter().enumerate();
        configs.map(move |(index, config)| (arguments_path(profile, index), &config.args))
    })
}

fn arguments_path(profile: usize, index: usize) -> String {
    format!("{ROOT}.profiles[{profile}].pluginConfig[{index}].args")
}

/// The arguments in the text: their paths, whose they are, and what they are.
fn all_arguments(root: &Node) -> impl Iterator<Item = (String, &str, &Node)> {
    let profiles = find(root, "profiles").into_iter().flat_map(Node::items).enumerate();
    profiles.flat_map(|(profile, node)| {
        let configs = node.get("pluginConfig").into_iter().flat_map(Node::items).enumerate();
        configs.filter_map(move |(index, config)| {
            let arguments = config.get("args").filter(|arguments| !arguments.is_null())?;
            Some((arguments_path(profile, index), config.get("name")?.text()?, arguments))
        })
    })
}

/// The value at a path of the configuration.
fn find<'a>(root: &'a Node, path: &str) -> Option<&'a Node> {
    configuration_at(root).path(&parse_path(path).ok()?).node()
}

/// What is configured and decides nothing: paths below the document's root.
pub(super) fn without_effect(root: &Node) -> Vec<FieldPath> {
    let mut paths: Vec<String> = Vec::new();
    let mut add = |path: String| {
        if find(root, &path).is_some() {
            paths.push(path);
        }
    };
    let profiles = find(root, "profiles").into_iter().flat_map(Node::items).enumerate();
    for path in KubeSchedulerConfiguration::WITHOUT_EFFECT.iter().filter(|path| !path.contains("[]")) {
        add((*path).to_owned());
    }
    for (index, profile) in profiles {
        for path in KubeSchedulerConfiguration::WITHOUT_EFFECT.iter().filter(|path| path.contains("[]")) {
            add(path.replace("[]", &format!("[{index}]")));
        }
        let plugins = profile.get("plugins");
        for point in POINTS_PLAYED {
            let set = plugins.and_then(|plugins| plugins.get(point));
            for list in ["enabled", "disabled"] {
                let listed = set.and_then(|set| set.get(list)).into_iter().flat_map(Node::items).enumerate();
                for (place, plugin) in listed {
                    let name = plugin.get("name").and_then(Node::text).unwrap_or("*");
                    if name != "*" && !scheduler::is_plugin_played(name) {
                        add(format!("profiles[{index}].plugins.{point}.{list}[{place}]"));
                    }
                }
            }
        }
    }
    let mut paths: Vec<String> = paths.into_iter().map(|path| format!("{ROOT}.{path}")).collect();
    for (path, plugin, arguments) in all_arguments(root) {
        match scheduler::argument_use(plugin) {
            ArgumentUse::Ignored => {
                let keys = arguments.keys().filter(|key| !matches!(*key, "apiVersion" | "kind"));
                paths.extend(keys.map(|key| format!("{path}[\"{key}\"]")));
            }
            ArgumentUse::None => paths.push(path),
            ArgumentUse::Decides => {}
        }
    }
    paths.iter().filter_map(|path| parse_path(path).ok()).collect()
}

/// Takes out fields that kube-scheduler does not know: it reads its configuration strictly, so they are errors.
pub(super) fn refuse_unknown_fields(
    root: &Node,
    ignored: &mut Vec<FieldPath>,
    near_misses: &mut Vec<Diagnostic>,
    diagnostics: &mut Diagnostics,
) {
    let mut unknown = Vec::new();
    ignored.retain(|path| {
        let Some(below) = path.without_positions().strip_prefix(ROOT).map(|below| below[1..].to_owned()) else {
            return true;
        };
        // What is known and without effect is listed with the fields that are read.
        if !KubeSchedulerConfiguration::WITHOUT_EFFECT.contains(&below.as_str()) {
            unknown.push(unknown_field(root, path, near_misses));
        }
        false
    });
    near_misses.retain(|near_miss| !unknown.iter().any(|unknown| unknown.location() == near_miss.location()));
    unknown.into_iter().for_each(|unknown| diagnostics.push(unknown));
}

/// What is said about a field that does not exist.
fn unknown_field(root: &Node, path: &FieldPath, near_misses: &[Diagnostic]) -> Diagnostic {
    let (field, location) = key_of(root, path);
    let near_miss = near_misses.iter().find(|near_miss| near_miss.location() == Some(&location));
    let help = near_miss.and_then(|near_miss| near_miss.help.first().cloned());
    Diagnostic::error("scenario::unknown_field", format!("`{field}` is not a field here"))
        .at(location, "unknown field")
        .help(help.unwrap_or_else(|| "kube-scheduler does not start with fields it does not know".to_owned()))
}

/// The last key of a path, and where it stands.
fn key_of(root: &Node, path: &FieldPath) -> (String, Location) {
    let Some((last, above)) = path.steps().split_last() else { return (String::new(), root.location.clone()) };
    let key = last.key().map_or_else(String::new, |key| key.to_string());
    let above: FieldPath = above.iter().copied().collect();
    let entry = At::root(root).path(&above).node().and_then(|node| node.entry(&key));
    let location = entry.map_or_else(|| At::root(root).path(path).location(), |entry| entry.key_location.clone());
    (key, location)
}
