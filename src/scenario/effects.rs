//! What is written and well formed, and yet does nothing, or less than it seems: a warning, as a run of it is true, or an error where
//! no run could mean anything.

use std::collections::BTreeMap;

use super::assumptions::placed_pod_specs;
use super::at::{At, parse_path};
use super::document::Node;
use super::inventory::Inventory;
use super::pod_counts::pods_wanted;
use super::resolved::ResolvedScenario;
use super::schema::Spec;
use super::workloads;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Location};
use crate::model::config::KubeletConfiguration;
use crate::model::field_path::FieldPath;
use crate::model::{ManifestObject, Object};
use crate::observe::{MinReady, Objective};
use crate::units::counted;

/// Checks what stands next to something that decides in its place.
pub(super) fn check(
    root: &Node,
    spec: &Spec,
    scenario: &ResolvedScenario,
    inventory: &Inventory,
    diagnostics: &mut Diagnostics,
) {
    check_pods_per_node(root, spec, scenario, diagnostics);
    check_schedulers(scenario, inventory, diagnostics);
    check_least_ready(root, spec, scenario, diagnostics);
}

/// Times to repair of what is over at once: paths below the document's root.
pub(super) fn of_processes(spec: &Spec) -> Vec<FieldPath> {
    let processes = spec.faults.iter().enumerate();
    let idle =
        processes.filter(|(_, process)| !process.fault.kind().course().lasts() && process.time_to_repair.is_some());
    let path = |index| parse_path(&format!("spec.faults[{index}].timeToRepair"));
    idle.map(|(index, _)| path(index).expect("a well-formed path")).collect()
}

/// A kubelet registers as many pods as its configuration says, but here nodes are what their manifests and pools say.
///
/// # Source
/// kubelet, `MachineInfo` setter: `maxPods` is the node's capacity of pods.
fn check_pods_per_node(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let Some(written) = spec.control_plane.kubelet.max_pods.filter(|written| *written >= 0) else { return };
    // A lock file spells out what nobody wrote.
    let default = KubeletConfiguration::default().resolve(scenario.config.version).max_pods;
    if spec.not_modelled.is_some() && written == default {
        return;
    }
    let pods = Symbol::new("pods");
    let said = scenario.objects.iter().filter_map(|object| {
        let Object::Node(node) = &object.object else { return None };
        let amount = node.status.allocatable.get(pods).or_else(|| node.status.capacity.get(pods))?.value();
        (amount != i64::from(written)).then(|| (amount, object.object.label()))
    });
    let said: Vec<(i64, String)> = said.collect();
    let Some((amount, first)) = said.first() else { return };
    let nodes = if said.len() == 1 { "a node says".to_owned() } else { format!("{} nodes say", said.len()) };
    let message = format!("{nodes} another number of pods than `maxPods` of {written}, and that number counts");
    diagnostics.push(
        Diagnostic::warning("scenario::no_effect", message)
            .at(At::root(root).field("spec").field("controlPlane").field("kubelet").field("maxPods").location(), format!("{first} takes {amount} pods"))
            .help(format!("a kubelet with this setting registers {written}: leave `pods` out of what the nodes have, or change it there")),
    );
}

/// Pods whose scheduler is none of the profiles: nobody ever binds them.
///
/// # Source
/// kube-scheduler: its queue takes pods whose `schedulerName` is that of a profile.
fn check_schedulers(scenario: &ResolvedScenario, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    let profiles = &scenario.config.kube_scheduler.profiles;
    let known: Vec<Symbol> = profiles.iter().filter_map(|profile| profile.scheduler_name).collect();
    let node_count = inventory.nodes().count() as u64;
    // By scheduler: pods, the first object that names it, and how many more objects there are.
    let mut lost: BTreeMap<Symbol, (u64, &Object, &Location, usize)> = BTreeMap::new();
    for (written, spec) in placed_pod_specs(&scenario.objects) {
        let (object, place) = (&written.object, &written.source);
        let name = spec.scheduler();
        if known.contains(&name) || (spec.is_bound() && matches!(object, Object::Pod(_))) {
            continue;
        }
        let pods = pods_wanted(object, node_count);
        lost.entry(name)
            .and_modify(|(count, _, _, more)| (*count, *more) = (*count + pods, *more + 1))
            .or_insert((pods, object, place, 0));
    }
    let profiles: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    for (name, (count, object, place, more)) in lost {
        let subject = counted(count, "pod names", "pods name");
        let message = format!("{subject} a scheduler that is not there: `{name}`");
        let others = if more == 0 { String::new() } else { format!(", and {more} more") };
        diagnostics.push(
            Diagnostic::warning("scenario::no_scheduler", message)
                .at(place.clone(), format!("{}{others}: nobody binds what is not bound yet", object.label()))
                .help(format!("the profiles of kube-scheduler are {}", profiles.join(" and "))),
        );
    }
}

/// Objectives that want more ready pods than a workload has.
fn check_least_ready(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    for (index, objective) in scenario.objectives.iter().enumerate() {
        let place = At::root(root).field("spec").field("slo").index(index).field("minReady").location();
        let (amount, label, help) = match objective.min_ready {
            MinReady::Percent(percent) if percent > 100 => {
                (format!("ever has {percent}% of its pods"), "more than all", "write at most `100%`")
            }
            MinReady::Percent(percent) if percent < 0 => {
                let help = "write a percentage from `0%` to `100%`";
                (format!("has {percent}% of its pods"), "less than none", help)
            }
            MinReady::Count(count) if count < 0 => {
                let help = "write a count of pods such as `2`, or a percentage such as `80%`";
                (format!("has {count} pods"), "less than none", help)
            }
            MinReady::Count(count) => {
                check_count(objective, count, spec, scenario, &place, diagnostics);
                continue;
            }
            MinReady::Percent(_) => continue,
        };
        let diagnostic = Diagnostic::error("scenario::bad_value", format!("no workload {amount} ready"));
        diagnostics.push(diagnostic.at(place, label).help(help));
    }
}

fn check_count(
    objective: &Objective,
    count: i32,
    spec: &Spec,
    scenario: &ResolvedScenario,
    place: &Location,
    diagnostics: &mut Diagnostics,
) {
    let is_autoscaler = |object: &ManifestObject| matches!(object.object, Object::HorizontalPodAutoscaler(_));
    if !spec.horizontal_pod_autoscalers.is_empty() || scenario.objects.iter().any(is_autoscaler) {
        return;
    }
    let meant = scenario.objects.iter().filter_map(|object| {
        let path = workloads::path_of(object)?;
        let mut parts = path.splitn(3, '/');
        let mut part = || parts.next().unwrap_or_default();
        let is_meant = objective.matches(part(), part(), part()) && !matches!(object.object, Object::DaemonSet(_));
        is_meant.then(|| (pods_wanted(&object.object, 0), path))
    });
    let needed = u64::try_from(count).unwrap_or(0);
    let small: Vec<(u64, String)> = meant.filter(|(pods, _)| (1..needed).contains(pods)).collect();
    if let Some((pods, path)) = small.first() {
        let message = format!("{path} has {pods} replicas, which are never {count} ready ones");
        let label = "it misses the objective from the beginning, unless it is scaled up";
        diagnostics.push(Diagnostic::warning("scenario::never_met", message).at(place.clone(), label));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Overrides, load_text, lock_file};

    #[test]
    fn a_time_to_repair_of_what_is_over_at_once_is_listed() {
        let check = |kind: &str, expected: &[&str]| {
            let text = format!(
                "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: s}}\nspec: {{duration: 1m, cluster: {{nodePools: \
                 [{{name: n, count: 1, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, faults: [{{name: \
                 f, kind: {kind}, timeToFailure: 5m, timeToRepair: 1m}}]}}\n"
            );
            let scenario = load_text("s.yaml", &text, Path::new("."), &Overrides::none()).expect("a scenario");
            let paths: Vec<&str> = scenario.not_modelled.iter().map(|row| row.path.as_str()).collect();
            assert_eq!(paths, expected, "{kind}");
        };
        check("InstanceGone", &["spec.faults[0].timeToRepair"]);
        check("Reboot", &["spec.faults[0].timeToRepair"]);
        check("Crash", &[]);
        check("SpotInterruption", &[]);
    }

    #[test]
    fn a_lock_file_is_not_warned_of_a_default_that_it_spells_out() {
        let read = |text: &str| load_text("s.yaml", text, Path::new("."), &Overrides::none()).expect("a scenario");
        let warned = |text: &str| read(text).warnings.iter().any(|warning| warning.message.contains("`maxPods`"));
        let text = |kubelet: &str| {
            format!(
                "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: s}}\nspec: {{duration: 1m, cluster: {{nodePools: \
                 [{{name: n, count: 1, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, controlPlane: \
                 {{kubelet: {{{kubelet}}}}}}}\n"
            )
        };
        for (kubelet, is_warned, is_warned_again) in [
            ("", false, false),
            ("maxPods: 110", true, false),
            ("maxPods: 50", true, true),
            ("maxPods: 20", false, false),
        ] {
            let text = text(kubelet);
            assert_eq!(warned(&text), is_warned, "{kubelet}");
            assert_eq!(warned(&lock_file(&read(&text))), is_warned_again, "{kubelet}");
        }
    }
}
