//! Pods that are larger than every node: they stay Pending, whatever else happens.

use std::collections::BTreeMap;

use super::assumptions::placed_pod_specs;
use super::resolved::ResolvedScenario;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::model::{ManifestObject, Object, PodSpec, Resources, requests};
use crate::units::{Quantity, QuantityFormat};

/// The code of what is said of them.
pub(crate) const NO_ROOM: &str = "scenario::no_room";

/// What the plugin that asks for room is called.
const PLUGIN: &str = "NodeResourcesFit";

/// An amount that pods ask for, and the most that a node has of it, in the unit that the scheduler counts in.
struct Shortage<'a> {
    object: &'a ManifestObject,
    wanted: i64,
    most: i64,
    /// How many other workloads ask for more of it than any node has.
    more: usize,
}

/// Warns of pods that no node of t=0, of a pool, or of a kubectl line could ever hold.
///
/// # Source
/// Scheduler, `NodeResourcesFit`: a node without a resource has none of it.
pub(super) fn check(scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let nodes = nodes(scenario);
    if nodes.is_empty() {
        return;
    }
    let mut shortages: BTreeMap<Symbol, Shortage<'_>> = BTreeMap::new();
    for (object, spec) in placed_pod_specs(&scenario.objects) {
        if spec.is_bound() && matches!(object.object, Object::Pod(_)) {
            continue;
        }
        let Some(counts) = what_counts(scenario, spec) else { continue };
        let mut spec = spec.clone();
        spec.apply_defaults();
        spec.apply_pod_defaults();
        for (resource, wanted) in amounts(&requests(&spec)) {
            let most = nodes.iter().map(|node| amount(node, resource)).max().unwrap_or(0);
            if wanted <= most || (counts == Counts::Basic && !is_basic(resource)) {
                continue;
            }
            let shortage = Shortage { object, wanted, most, more: 0 };
            shortages.entry(resource).and_modify(|first| first.more += 1).or_insert(shortage);
        }
    }
    for (resource, Shortage { object, wanted, most, more }) in shortages {
        let [wanted, most] = [wanted, most].map(|amount| in_words(resource, amount));
        let (subject, label) = match object.object {
            Object::Pod(_) => (object.object.label(), "it stays Pending"),
            _ => (format!("a pod of {}", object.object.label()), "its pods stay Pending"),
        };
        let has = if most == "0" { "any".to_owned() } else { format!("more than {most}") };
        let message = format!("{subject} asks for {wanted} of `{resource}`, and no node has {has}");
        let others = if more == 0 { String::new() } else { format!(", as do those of {more} more") };
        diagnostics.push(
            Diagnostic::warning(NO_ROOM, message)
                .at(object.source.clone(), format!("{label}{others}"))
                .help("ask for less, or give a node pool nodes that have as much"),
        );
    }
}

/// Of which resources a pod's scheduler asks whether they suffice.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Counts {
    All,
    /// Those that no argument of the plugin passes over.
    Basic,
}

/// None where nobody asks, as the profile is not there or leaves the plugin out.
fn what_counts(scenario: &ResolvedScenario, spec: &PodSpec) -> Option<Counts> {
    let (name, profiles) = (spec.scheduler(), &scenario.config.kube_scheduler.profiles);
    let profile = profiles.iter().find(|profile| profile.scheduler_name == Some(name))?;
    let plugins = &profile.plugins;
    if [&plugins.multi_point, &plugins.filter].iter().any(|set| set.disables(PLUGIN)) {
        return None;
    }
    let has_arguments = profile.plugin_config.iter().any(|config| config.name == PLUGIN);
    Some(if has_arguments { Counts::Basic } else { Counts::All })
}

/// What nodes have that are there, or that may come.
fn nodes(scenario: &ResolvedScenario) -> Vec<Resources> {
    let typed = scenario.kubectl.lines.iter().flat_map(|line| &line.objects).map(|written| &written.object);
    let written = scenario.objects.iter().map(|object| &object.object).chain(typed);
    let written = written.filter_map(|object| if let Object::Node(node) = object { Some(&**node) } else { None });
    let all = written.chain(scenario.pools.iter().map(|pool| &pool.template));
    all.map(|node| Resources::from(node.status.given())).collect()
}

fn is_basic(resource: Symbol) -> bool {
    ["cpu", "memory", "ephemeral-storage"].iter().any(|basic| resource == *basic)
}

/// Each resource that is asked for.
fn amounts(resources: &Resources) -> impl Iterator<Item = (Symbol, i64)> {
    let basic = ["cpu", "memory", "ephemeral-storage"].map(Symbol::new);
    let all = basic.into_iter().chain(resources.scalars.iter().map(|scalar| scalar.0));
    all.map(|resource| (resource, amount(resources, resource))).filter(|(_, amount)| *amount > 0)
}

fn amount(resources: &Resources, resource: Symbol) -> i64 {
    match resource.as_str() {
        "cpu" => resources.cpu_milli,
        "memory" => resources.memory,
        "ephemeral-storage" => resources.ephemeral_storage,
        _ => resources.scalar(resource),
    }
}

fn in_words(resource: Symbol, amount: i64) -> String {
    let quantity = if resource == "cpu" { Quantity::from_milli(amount) } else { Quantity::from_value(amount) };
    let is_of_bytes = resource != "cpu" && (is_basic(resource) || resource.as_str().starts_with("hugepages-"));
    let format = if is_of_bytes { QuantityFormat::BinarySi } else { QuantityFormat::DecimalSi };
    quantity.with_format(format).to_string()
}
