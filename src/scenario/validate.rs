//! Everything that can be wrong with a scenario whose fields have the right types.

use std::collections::{BTreeMap, BTreeSet};

use super::actions::ActionEntry;
use super::assumptions;
use super::at::At;
use super::control_plane;
use super::document::Node;
use super::effects;
use super::expect::Expectation;
use super::inventory::{Inventory, KnownNode};
use super::objects;
use super::overrides::Caller;
use super::procedures;
use super::resolved::ResolvedScenario;
use super::room;
use super::runbook;
use super::schema::Spec;
use super::targets::{self, Fault, unknown};
use super::workloads;

use crate::arena::Symbol;
use crate::chaos::FaultProcessSpec;
use crate::diagnostics::{Diagnostic, Diagnostics, Location};
use crate::model::config::KubernetesVersion;
use crate::model::manifest::DUMP_COMMAND;
use crate::model::{
    LabelSelector, ManifestObject, Object, ObjectKind, domain_of, is_dns_subdomain, is_label_value, validation,
};
use crate::observe::METRICS;
use crate::units::SimDuration;

/// The most failures of one random process that are played.
const FAILURES_MAX: f64 = 1e7;

/// Problems with names of what a cluster has.
const OF_THE_CLUSTER: [&str; 2] = ["scenario::unknown_name", "scenario::selects_nothing"];

/// Checks everything that needs to know the whole scenario.
pub(super) fn validate(
    root: &Node,
    spec: &Spec,
    scenario: &ResolvedScenario,
    inventory: &Inventory,
    diagnostics: &mut Diagnostics,
) {
    check_head(root, spec, scenario, diagnostics);
    control_plane::check(root, spec, scenario, diagnostics);
    check_pools(root, spec, scenario, diagnostics);
    check_repeated_objects(root, scenario, diagnostics);
    check_older_rules(scenario, diagnostics);
    let before = diagnostics.len();
    objects::check(scenario, inventory, diagnostics);
    check_timeline(root, spec, scenario, inventory, diagnostics);
    runbook::check(root, spec, scenario, inventory, diagnostics);
    check_processes(root, spec, scenario, inventory, diagnostics);
    procedures::check_workload_autoscalers(root, spec, scenario, diagnostics);
    procedures::check_repair(root, spec, inventory, diagnostics);
    check_objectives(root, spec, scenario, diagnostics);
    if !inventory.is_whole {
        // What a name means may be what had to be left out.
        diagnostics.leave_out(before, |diagnostic| OF_THE_CLUSTER.contains(&diagnostic.code));
    }
    procedures::check_autoscaler(root, spec, scenario, inventory, diagnostics);
    check_ready_times(root, spec, scenario, diagnostics);
    effects::check(root, spec, scenario, inventory, diagnostics);
    if inventory.is_whole {
        room::check(scenario, diagnostics);
    }
}

/// A latency that is written down and applies to no pod.
fn check_ready_times(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let (timed, others_count) = assumptions::timed_by_probes(&scenario.objects);
    if spec.latency.pod_ready.is_none() || timed.is_empty() || others_count > 0 {
        return;
    }
    let message = "this applies to no pod: the readiness probes of all workloads say when their pods are Ready";
    diagnostics.push(
        Diagnostic::warning("scenario::no_effect", message)
            .at(
                At::root(root).field("spec").field("latency").field("podReady").location(),
                "no pod without a readiness probe",
            )
            .help("the annotation `kubesquall.sim/ready` of a pod template says when an application answers its probe"),
    );
}

fn check_head(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    if !is_dns_subdomain(&scenario.name) {
        let message = format!("`{}` cannot be the name of a scenario", scenario.name);
        diagnostics.push(
            Diagnostic::error("scenario::bad_name", message)
                .at(At::root(root).field("metadata").field("name").location(), "")
                .help("use lower-case letters, digits, `-` and `.`; the results go to a directory of that name"),
        );
    }
    if spec.duration == SimDuration::ZERO {
        let location = At::root(root).field("spec").field("duration").location();
        diagnostics
            .push(Diagnostic::error("scenario::bad_value", "a scenario of no duration shows nothing").at(location, ""));
    }
    check_has_nodes(root, spec, scenario, diagnostics);
}

/// Whether there is, or will be, a node to run anything.
fn check_has_nodes(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let is_node = |object: &Object| matches!(object, Object::Node(_));
    let written = scenario.kubectl.lines.iter().flat_map(|line| &line.objects);
    let has_nodes = scenario.objects.iter().any(|object| is_node(&object.object))
        || !scenario.chaos.add_nodes.is_empty()
        || written.into_iter().any(|written| is_node(&written.object));
    if has_nodes || diagnostics.has_errors() {
        return;
    }
    // Pools of no node are meant.
    let is_meant = !spec.cluster.node_pools.is_empty() || spec.cluster.allow_partial;
    let diagnostic = if is_meant {
        Diagnostic::warning("scenario::no_nodes", "the cluster has no node")
    } else {
        Diagnostic::error("scenario::no_nodes", "the cluster has no node")
    };
    diagnostics.push(
        diagnostic
            .at(At::root(root).field("spec").field("cluster").location(), "every pod would stay Pending")
            .help("add `nodePools`, or a dump of the nodes:")
            .help(format!("`{DUMP_COMMAND}`")),
    );
}

/// Zones become values of the label `topology.kubernetes.io/zone`, and one of nothing would be no zone.
fn check_zones(pool: At<'_>, zones: &[Symbol], diagnostics: &mut Diagnostics) {
    for (index, zone) in zones.iter().enumerate() {
        let at = pool.field("zones").index(index);
        let help = if at.node().is_some_and(Node::is_null) {
            "write a name, or leave the zone out"
        } else if zone.is_empty() || !is_label_value(zone.as_str()) {
            "use up to 63 letters, digits, `-`, `_` and `.`, a letter or digit first and last"
        } else {
            continue;
        };
        let message = format!("`{zone}` cannot be the name of a zone");
        let diagnostic = Diagnostic::error("scenario::bad_name", message);
        diagnostics.push(diagnostic.at(at.location(), "it becomes the label of a node").help(help));
    }
}

fn check_pools(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let mut first_places: BTreeMap<Symbol, Location> = BTreeMap::new();
    for (index, entry) in spec.cluster.node_pools.iter().enumerate() {
        let at = At::root(root).field("spec").field("cluster").field("nodePools").index(index);
        if !is_dns_subdomain(entry.name.as_str()) {
            let message = format!("`{}` cannot begin the name of a node", entry.name);
            let help = "use lower-case letters, digits, `-` and `.`";
            diagnostics
                .push(Diagnostic::error("scenario::bad_name", message).at(at.field("name").location(), "").help(help));
        }
        if let Some(first) = first_places.get(&entry.name) {
            let message = format!("there are two node pools `{}`", entry.name);
            diagnostics.push(
                Diagnostic::error("scenario::duplicate_name", message)
                    .at(at.field("name").location(), "again here")
                    .at(first.clone(), "first here")
                    .help("give one of them another name"),
            );
        } else {
            first_places.insert(entry.name, at.field("name").location());
        }
        if !entry.template.metadata.name.is_empty() {
            let message = "the nodes of a pool are named after the pool";
            let label = "this name is not used";
            let location = at.field("template").field("metadata").field("name").location();
            diagnostics.push(Diagnostic::warning("scenario::unused", message).at(location, label));
        }
        check_zones(at, &entry.zones, diagnostics);
        check_template(at.field("template"), &entry.template, diagnostics);
        let (status, status_at) = (&entry.template.status, at.field("template").field("status"));
        for (field, resources) in [("allocatable", &status.allocatable), ("capacity", &status.capacity)] {
            for (name, amount) in resources.iter().filter(|(name, amount)| objects::is_impossible(*name, amount)) {
                let message = format!("a node cannot have {amount} of `{name}`");
                let location = status_at.field(field).key(name.as_str()).location();
                diagnostics.push(Diagnostic::error("scenario::impossible_quantity", message).at(
                    location,
                    if amount.is_negative() { "less than nothing" } else { "more than any machine has" },
                ));
            }
        }
        for (name, amount) in status.allocatable.iter() {
            if let Some(capacity) = status.capacity.get(name).filter(|capacity| *capacity < amount) {
                let message = format!("{amount} of `{name}` are allocatable on a node that has {capacity}");
                let location = status_at.field("allocatable").key(name.as_str()).location();
                let capacity = status_at.field("capacity").key(name.as_str()).location();
                diagnostics.push(
                    Diagnostic::error("scenario::impossible_quantity", message)
                        .at(location, "more than there is")
                        .at(capacity, "the node has this"),
                );
            }
        }
    }
    debug_assert_eq!(spec.cluster.node_pools.len(), scenario.pools.len());
}

/// What the API server would refuse of the nodes of a pool; their names, and amounts that no machine has, are told apart.
fn check_template(at: At<'_>, template: &crate::model::Node, diagnostics: &mut Diagnostics) {
    let mut node = template.clone();
    node.metadata.name = Symbol::new("node");
    let object = Object::Node(Box::new(node));
    for error in validation::validate(&object) {
        if error.value.as_ref().is_some_and(|value| value.starts_with("\"-")) {
            continue;
        }
        let message = format!("the nodes of this pool are invalid: {error}");
        let diagnostic = Diagnostic::error("manifest::refused", message);
        diagnostics.push(diagnostic.at(at.path(&error.path).location(), "the API server refuses this"));
    }
}

fn pools_repeat(scenario: &ResolvedScenario) -> bool {
    let names: BTreeSet<Symbol> = scenario.pools.iter().map(|pool| pool.name).collect();
    names.len() < scenario.pools.len()
}

/// What the server of the scenario's version refuses although today's does not, by whose rules manifests are read.
fn check_older_rules(scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let version = scenario.config.version;
    if version == KubernetesVersion::NEWEST {
        return;
    }
    let is_new = |object: &&ManifestObject| object.object.metadata().uid.is_none_or(|uid| uid.is_empty());
    for ManifestObject { object, source, .. } in scenario.objects.iter().filter(is_new) {
        for error in validation::refused_before(object, version) {
            let message = format!("{} is invalid: {error}", object.label());
            let text = format!("the API server of {version} refuses this");
            diagnostics.push(Diagnostic::error("manifest::refused", message).at(source.clone(), text));
        }
    }
}

/// Objects of different sources with the same name; those of one source have been reported by the loader.
fn check_repeated_objects(root: &Node, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let is_set = |file: &str| [Caller::CommandLine, Caller::Program].iter().any(|caller| file == caller.source_name());
    let is_ours = |location: &Location| *location.file == *root.location.file || is_set(&location.file);
    let mut seen: BTreeMap<(ObjectKind, Symbol, Symbol), &Location> = BTreeMap::new();
    for object in &scenario.objects {
        let key = object.object.key();
        if key.2.is_empty() {
            continue;
        }
        let Some(first) = seen.insert(key, &object.source) else { continue };
        // Two pools of one name have been reported as such.
        let is_of_pools = matches!(object.object, Object::Node(_)) && is_ours(first) && pools_repeat(scenario);
        if is_of_pools {
            continue;
        }
        if is_ours(&object.source) {
            let label = object.object.label();
            diagnostics.push(
                Diagnostic::error("scenario::duplicate_name", format!("there are two of {label}"))
                    .at(object.source.clone(), "again here")
                    .at(first.clone(), "first here")
                    .help("remove one of the two, or give it another name"),
            );
        }
    }
}

fn check_timeline(
    root: &Node,
    spec: &Spec,
    scenario: &ResolvedScenario,
    inventory: &Inventory,
    diagnostics: &mut Diagnostics,
) {
    for (index, entry) in spec.timeline.iter().enumerate() {
        let at = At::root(root).field("spec").field("timeline").index(index);
        if entry.at > spec.duration {
            let message = format!("this happens at {}, after the end at {}", entry.at, spec.duration);
            diagnostics.push(
                Diagnostic::warning("scenario::after_the_end", message)
                    .at(at.field("at").location(), "it has no effect")
                    .at(At::root(root).field("spec").field("duration").location(), "the run ends here"),
            );
        }
        // What has been taken out has been reported.
        let is_reported =
            || at.node().is_some_and(|node| ActionEntry::FIELDS.iter().any(|field| node.has_removed(field)));
        let message = match entry.actions.len() {
            0 if !is_reported() => Some("nothing happens here"),
            0 | 1 => None,
            _ => Some("more than one thing happens here"),
        };
        if let Some(message) = message {
            let actions = ActionEntry::FIELDS.join("`, `");
            let help = format!("an entry has exactly one of `{actions}`; entries may have the same `at`");
            diagnostics.push(Diagnostic::error("scenario::bad_entry", message).at(at.location(), "").help(help));
        }
        for action in &entry.actions {
            action.check(at, &scenario.config, inventory, diagnostics);
        }
    }
}

fn check_processes(
    root: &Node,
    spec: &Spec,
    scenario: &ResolvedScenario,
    inventory: &Inventory,
    diagnostics: &mut Diagnostics,
) {
    let mut first_places: BTreeMap<&str, Location> = BTreeMap::new();
    for (index, process) in scenario.chaos.processes.iter().enumerate() {
        let at = At::root(root).field("spec").field("faults").index(index);
        let place = |field: &str| at.field(field).location();
        let fault = &process.fault;
        if let Some(first) = first_places.get(process.name.as_str()) {
            let message = format!("there are two random processes `{}`", process.name);
            diagnostics.push(
                Diagnostic::error("scenario::duplicate_name", message)
                    .at(place("name"), "again here")
                    .at(first.clone(), "first here")
                    .help("give one of them another name; it names its random numbers"),
            );
        } else {
            first_places.insert(&process.name, place("name"));
        }
        targets::check(&Fault { at, spec: fault }, &scenario.config, inventory, diagnostics);
        if process.time_to_failure.is_zero() {
            let message = format!("random process `{}` fails again at once, without end", process.name);
            diagnostics
                .push(Diagnostic::error("scenario::bad_value", message).at(place("timeToFailure"), "always zero"));
        } else if let Some(count) = failures(process, inventory, spec.duration).filter(|count| *count > FAILURES_MAX) {
            let message = format!("random process `{}` would fail about {count:.1e} times", process.name);
            diagnostics.push(
                Diagnostic::error("scenario::too_many", message)
                    .at(place("timeToFailure"), "too short")
                    .at(At::root(root).field("spec").field("duration").location(), "in this time")
                    .help(format!("at most about {FAILURES_MAX:e} failures can be played; make the times longer")),
            );
        }
        if let Some(domain) = &process.domain {
            let selector = fault.nodes.selector.as_ref().and_then(|text| LabelSelector::parse(text).ok());
            let is_hit = |node: &KnownNode| {
                targets::admits(&fault.nodes, selector.as_ref(), node.name, &node.labels)
                    && domain_of(&node.labels, domain).is_some()
            };
            if !inventory.nodes().any(is_hit) {
                let message = format!("no node has the label `{domain}`");
                let diagnostic = Diagnostic::warning("scenario::selects_nothing", message);
                diagnostics.push(diagnostic.at(place("domain"), "nothing fails"));
            }
        }
    }
}

/// About how often a random process fails in a time.
fn failures(process: &FaultProcessSpec, inventory: &Inventory, duration: SimDuration) -> Option<f64> {
    let repair = match process.time_to_repair.as_ref().filter(|_| process.fault.kind().course().lasts()) {
        Some(repair) => repair.mean()?.as_secs_f64(),
        None => 0.0,
    };
    let cycle = process.time_to_failure.mean()?.as_secs_f64() + repair;
    let instances = if process.fault.fault.target().has_nodes() { inventory.nodes().count() } else { 1 };
    Some(instances as f64 * duration.as_secs_f64() / cycle.max(1e-9))
}

fn check_objectives(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let known: Vec<String> = scenario.objects.iter().filter_map(workloads::path_of).collect();
    for (index, (entry, objective)) in spec.slo.iter().zip(&scenario.objectives).enumerate() {
        let location = At::root(root).field("spec").field("slo").index(index).field("workload").location();
        if let Err((message, help)) = workloads::check_pattern(&entry.workload) {
            diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(location, "").help(help));
            continue;
        }
        let matches = |path: &String| {
            let mut parts = path.splitn(3, '/');
            let mut part = || parts.next().unwrap_or_default();
            objective.matches(part(), part(), part())
        };
        if !known.iter().any(matches) {
            let message = format!("no workload is called `{}`", entry.workload);
            let diagnostic =
                Diagnostic::warning("scenario::selects_nothing", message).at(location, "nothing is judged by this");
            diagnostics.push(match workloads::nearest_pattern(&entry.workload, &known) {
                Some(nearest) => diagnostic.help(format!("the nearest is `{nearest}`")),
                None => diagnostic.help("workloads are named `kind/namespace/name`; `*` stands for any text"),
            });
        }
    }
}

/// The expectations whose metrics exist.
pub(super) fn expectations(root: &Node, spec: &Spec, diagnostics: &mut Diagnostics) -> Vec<Expectation> {
    let mut expectations = Vec::new();
    for (index, entry) in spec.expect.iter().enumerate() {
        let at = At::root(root).field("spec").field("expect").index(index);
        if METRICS.contains(&entry.metric.as_str()) {
            if entry.value.is_length && !entry.metric.ends_with("_s") {
                let message = format!("`{}` is no length of time", entry.metric);
                let diagnostic = Diagnostic::error("scenario::bad_value", message);
                let diagnostic = diagnostic.at(at.field("value").location(), "a duration");
                diagnostics.push(diagnostic.help("write a number in its unit; metrics in seconds end with `_s`"));
                continue;
            }
            expectations.push(Expectation {
                metric: entry.metric.clone(),
                comparison: entry.op,
                value: entry.value.value,
                location: at.location(),
            });
            continue;
        }
        let diagnostic = unknown("metric", &entry.metric, METRICS.iter().copied());
        diagnostics.push(diagnostic.at(at.field("metric").location(), "not in `summary.json`"));
    }
    expectations
}
