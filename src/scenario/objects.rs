//! Checks of the objects of the manifests against each other, and that they are not more than can be played. What the API
//! server refuses of each by itself is told where it is read.

use std::collections::BTreeMap;

use super::annotations;
use super::inventory::Inventory;
use super::pod_counts::pods_wanted;
use super::resolved::ResolvedScenario;
use super::targets::unknown;
use super::workloads::pod_template;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, nearest};
use crate::model::{ManifestObject, Object, PodSpec, ResourceRequirements, SYSTEM_PRIORITY_CLASSES};
use crate::units::Quantity;

/// More than this no machine has, whatever it is counted in; sums over all nodes stay within 64 bits.
const AMOUNT_MAX: i64 = 100_000_000_000_000;

/// Whether no machine could have so much of a resource.
pub(super) fn is_impossible(resource: Symbol, amount: &Quantity) -> bool {
    let unit = if resource == "cpu" { 1_000 } else { 1 };
    amount.is_negative() || amount.value() > AMOUNT_MAX / unit
}

/// Checks each object by itself, and that they are not more than can be played.
pub(super) fn check(scenario: &ResolvedScenario, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    check_pod_count(scenario, inventory, diagnostics);
    let written = scenario.objects.iter().filter_map(|object| match &object.object {
        Object::PriorityClass(class) => Some((class.metadata.name, class.value)),
        _ => None,
    });
    let system = SYSTEM_PRIORITY_CLASSES.map(|(name, value)| (Symbol::new(name), value));
    let classes: BTreeMap<Symbol, i32> = system.into_iter().chain(written).collect();
    let default = check_global_defaults(scenario, diagnostics);
    for object in &scenario.objects {
        let label = || object.object.label();
        annotations::check(&object.object, &object.source, diagnostics);
        match &object.object {
            Object::Node(node) => {
                let amounts = node.status.allocatable.iter().chain(node.status.capacity.iter());
                let is_of_pool = scenario
                    .pools
                    .iter()
                    .any(|pool| pool.index_of(node.metadata.name.as_str()).is_some_and(|index| index < pool.count));
                let is_too_much =
                    |(name, amount): &(Symbol, &Quantity)| !amount.is_negative() && is_impossible(*name, amount);
                if let Some((name, amount)) = amounts.into_iter().find(is_too_much)
                    && !is_of_pool
                {
                    let message = format!("{} cannot have {amount} of `{name}`", label());
                    diagnostics.push(
                        Diagnostic::error("scenario::impossible_quantity", message)
                            .at(object.source.clone(), "this node"),
                    );
                }
            }
            Object::Pod(pod) => {
                if let Some(node) = pod.spec.node_name
                    && !node.is_empty()
                    && !inventory.has_node(node)
                {
                    let names = inventory.nodes().map(|node| node.name.as_str());
                    let mut diagnostic = unknown("node", node.as_str(), names);
                    diagnostic.severity = crate::diagnostics::Severity::Warning;
                    diagnostic.code = "scenario::missing_node";
                    diagnostic.message = format!("{} is bound to node `{node}`, which does not exist", label());
                    let label = "Kubernetes accepts it and removes it within a minute";
                    diagnostics.push(diagnostic.at(object.source.clone(), label));
                }
                check_class(&pod.spec, object, &classes, true, diagnostics);
                check_bytes(&pod.spec, object, diagnostics);
            }
            other => {
                if let Some(template) = pod_template(other) {
                    check_class(&template.spec, object, &classes, false, diagnostics);
                    check_priority(&template.spec, object, &classes, default, diagnostics);
                    check_bytes(&template.spec, object, diagnostics);
                }
            }
        }
    }
}

/// The highest priority of any pod that the scenario's objects, and those that its command lines read, are or make; none if there
/// are no pods.
///
/// # Source
///
/// Admission plugin Priority: the class decides; without one what a dump says, the global default, else 0.
#[must_use]
pub fn highest_priority(scenario: &ResolvedScenario) -> Option<i32> {
    let typed = || scenario.kubectl.lines.iter().flat_map(|line| &line.objects).map(|written| &written.object);
    let objects = || scenario.objects.iter().map(|written| &written.object).chain(typed());
    let classes: Vec<_> = objects()
        .filter_map(|object| match object {
            Object::PriorityClass(class) => Some((class.metadata.name.as_str(), class.value, class.global_default)),
            _ => None,
        })
        .collect();
    let default = classes.iter().filter(|(.., is_default)| *is_default).map(|(_, value, _)| *value).min().unwrap_or(0);
    let of_class = |name: Symbol| {
        let own = classes.iter().map(|(name, value, _)| (*name, *value));
        own.chain(SYSTEM_PRIORITY_CLASSES).find(|(of, _)| *of == name.as_str()).map(|(_, value)| value)
    };
    let priority = |spec: &PodSpec| match spec.priority_class_name {
        Some(name) => of_class(name).or(spec.priority).unwrap_or(default),
        None => spec.priority.unwrap_or(default),
    };
    let specs = objects().filter_map(|object| match object {
        Object::Pod(pod) => Some(&pod.spec),
        other => pod_template(other).map(|template| &template.spec),
    });
    specs.map(priority).max()
}

fn check_pod_count(scenario: &ResolvedScenario, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    let node_count = inventory.nodes().count() as u64;
    let wanted = |object: &ManifestObject| pods_wanted(&object.object, node_count);
    let total: u64 = scenario.objects.iter().map(wanted).sum();
    if total <= scenario.limits.pods() {
        return;
    }
    let Some(most) = scenario.objects.iter().max_by_key(|object| wanted(object)) else { return };
    let message = format!("the cluster would have {total} pods");
    let label = format!("{} wants {} of them", most.object.label(), wanted(most));
    diagnostics.push(
        Diagnostic::error("scenario::too_many", message)
            .at(most.source.clone(), label)
            .help(scenario.limits.of_pods_in_words()),
    );
}

/// How many pods its objects ask for; a pod that is there and whose owner asks for it counts twice.
#[must_use]
pub fn pod_count(scenario: &ResolvedScenario) -> u64 {
    let is_node = |object: &&ManifestObject| matches!(object.object, Object::Node(_));
    let pools: u64 = scenario.pools.iter().map(|pool| u64::from(pool.count)).sum();
    let node_count = pools + scenario.objects.iter().filter(is_node).count() as u64;
    scenario.objects.iter().map(|object| pods_wanted(&object.object, node_count)).sum()
}

/// How many pods a cluster would have, if these are more than can be played, and what to do about it.
#[must_use]
pub fn too_many_pods(scenario: &ResolvedScenario) -> Option<(u64, String)> {
    let total = pod_count(scenario);
    (total > scenario.limits.pods()).then(|| (total, scenario.limits.of_pods_in_words()))
}

/// Warns of all but one of several classes that are the default of pods that name none; the value of the one that counts.
///
/// # Source
///
/// Admission plugin Priority: a second one is refused; of several that got in the lowest counts.
fn check_global_defaults(scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) -> i32 {
    let defaults = scenario.objects.iter().filter_map(|object| match &object.object {
        Object::PriorityClass(class) if class.global_default => Some((class, object)),
        _ => None,
    });
    let defaults: Vec<_> = defaults.collect();
    let Some((lowest, _)) = defaults.iter().min_by_key(|(class, _)| class.value) else { return 0 };
    for (class, object) in defaults.iter().filter(|(class, _)| class.metadata.name != lowest.metadata.name) {
        let counts = lowest.metadata.name;
        let message = format!("PriorityClass {} and {counts} are both the `globalDefault`", class.metadata.name);
        let label = format!("the API server refuses a second one; here `{counts}` counts, whose value is lower");
        diagnostics.push(
            Diagnostic::warning("scenario::second_default", message)
                .at(object.source.clone(), label)
                .help("set `globalDefault` of one class only"),
        );
    }
    lowest.value
}

/// Whether pods of a template would be admitted with the priority that it names itself.
fn check_priority(
    spec: &PodSpec,
    object: &ManifestObject,
    classes: &BTreeMap<Symbol, i32>,
    default: i32,
    diagnostics: &mut Diagnostics,
) {
    let established = match spec.priority_class_name {
        Some(class) => classes.get(&class).copied(),
        None => Some(default),
    };
    let (Some(own), Some(established)) = (spec.priority, established) else { return };
    if own != established {
        let message = format!("{} has the priority {own}, and its class {established}", object.object.label());
        diagnostics.push(
            Diagnostic::warning("scenario::priority_without_class", message)
                .at(object.source.clone(), "its pods are refused by the API server")
                .help("say `priorityClassName`, and leave `priority` to the API server"),
        );
    }
}

/// Warns of parts of bytes, which somebody wrote who meant mebibytes.
///
/// # Source
/// kube-apiserver, warnings about pods: fractional byte values.
fn check_bytes(spec: &PodSpec, object: &ManifestObject, diagnostics: &mut Diagnostics) {
    let containers = spec.init_containers.iter().chain(&spec.containers);
    let lists = containers.flat_map(|container| {
        let ResourceRequirements { limits, requests, .. } = &container.resources;
        [("limits", limits), ("requests", requests)]
    });
    let mut amounts = lists.flat_map(|(list, amounts)| amounts.iter().map(move |(name, amount)| (list, name, amount)));
    let first = amounts.find(|(_, name, amount)| {
        matches!(name.as_str(), "memory" | "ephemeral-storage") && amount.milli_value() % 1000 != 0
    });
    let Some((list, name, amount)) = first else { return };
    let message = format!("{} has `{name}: {amount}` in its {list}, which is a part of a byte", object.object.label());
    diagnostics.push(
        Diagnostic::warning("scenario::part_of_a_byte", message)
            .at(object.source.clone(), "the API server warns of it")
            .help("`m` stands for a thousandth; mebibytes are `Mi`, megabytes `M`"),
    );
}

/// Whether the priority class of pods exists.
fn check_class(
    spec: &PodSpec,
    object: &ManifestObject,
    classes: &BTreeMap<Symbol, i32>,
    is_pod: bool,
    diagnostics: &mut Diagnostics,
) {
    let label = object.object.label();
    let Some(class) = spec.priority_class_name.filter(|class| !class.is_empty() && !classes.contains_key(class)) else {
        return;
    };
    let message = format!("{label} has the priority class `{class}`, which does not exist");
    let diagnostic = if is_pod {
        Diagnostic::error("scenario::unknown_name", message)
    } else {
        Diagnostic::warning("scenario::unknown_name", message)
    };
    let diagnostic = diagnostic.at(object.source.clone(), "its pods are refused by the API server");
    diagnostics.push(match nearest(class.as_str(), classes.keys().map(|class| class.as_str())) {
        Some(nearest) => diagnostic.help(format!("the nearest is `{nearest}`")),
        None => diagnostic.help("add the PriorityClass to the manifests"),
    });
}
