//! kubectl lines that the objects of the start already let fail: drains that the filters refuse, roll-backs without a history.

use std::collections::{BTreeMap, BTreeSet};

use super::resolved::ResolvedScenario;
use crate::arena::Symbol;
use crate::kubectl::{Command, DrainArgs, Kind, RolloutArgs, RolloutVerb, RunbookLine};
use crate::model::{DaemonSet, Node, Object, Pod, PodPhase, TaintEffect, Toleration};

/// Pods that a message names; the others are counted.
const NAMED_MAX: usize = 3;

/// Why a line will be refused and what helps, as far as the start tells; `earlier` are the lines before it.
pub(super) fn problem(
    line: &RunbookLine,
    earlier: &[&RunbookLine],
    scenario: &ResolvedScenario,
) -> Option<(String, String)> {
    match &line.command {
        Command::Drain(args) => drain(args, earlier, scenario),
        Command::Rollout(args) if args.verb == RolloutVerb::Undo => undo(args, earlier, scenario),
        _ => None,
    }
}

/// # Source
/// kubectl, drain filters.
fn drain(args: &DrainArgs, earlier: &[&RunbookLine], scenario: &ResolvedScenario) -> Option<(String, String)> {
    // What was deleted may be gone, and pods that a drain moved are elsewhere.
    let has_deleted = earlier.iter().any(|line| matches!(line.command, Command::Delete(_)));
    let has_moved = has_deleted || earlier.iter().any(|line| matches!(line.command, Command::Drain(_)));
    let names: BTreeSet<&str> = args.selection.targets.iter().map(|target| target.name.as_str()).collect();
    let is_drained = |node: &Node| match &args.selection.selector {
        Some(selector) if names.is_empty() => selector.matches(&node.metadata.labels),
        _ => names.contains(node.metadata.name.as_str()),
    };
    let nodes: Vec<&Node> = scenario
        .objects
        .iter()
        .filter_map(|object| if let Object::Node(node) = &object.object { Some(&**node) } else { None })
        .filter(|node| is_drained(node))
        .collect();
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let selects = |labels: &crate::model::Labels| args.pod_selector.as_ref().is_none_or(|s| s.matches(labels));
    for object in &scenario.objects {
        let full = || format!("{}/{}", object.object.metadata().namespace, object.object.metadata().name);
        match &object.object {
            Object::DaemonSet(set)
                if !args.ignore_daemon_sets
                    && !has_deleted
                    && selects(&set.spec.template.metadata.labels)
                    && nodes.iter().any(|node| runs_on(set, node)) =>
            {
                found.entry("--ignore-daemonsets").or_default().insert(full());
            }
            Object::Pod(pod) if !has_moved && selects(&pod.metadata.labels) => {
                let is_there = nodes.iter().any(|node| pod.spec.node_name == Some(node.metadata.name));
                if let Some(flag) = Some(pod).filter(|_| is_there).and_then(|pod| refusal(pod, args)) {
                    found.entry(flag).or_default().insert(full());
                }
            }
            _ => {}
        }
    }
    let (flags, pods): (Vec<&str>, Vec<BTreeSet<String>>) = found.into_iter().unzip();
    let pods: Vec<String> = pods.into_iter().flatten().collect();
    if pods.is_empty() {
        return None;
    }
    let rest = pods.len().saturating_sub(NAMED_MAX);
    let named = pods.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let help = format!("with `{}` it goes on", flags.join(" "));
    Some((format!("this drain will be refused because of {named}{rest}"), help))
}

/// The flag without which a drain is refused because of a pod.
fn refusal(pod: &Pod, args: &DrainArgs) -> Option<&'static str> {
    let is_over = matches!(pod.status.phase, PodPhase::Succeeded | PodPhase::Failed);
    let owner = pod.metadata.controller();
    if is_over || pod.metadata.annotations.contains_key(&Symbol::new("kubernetes.io/config.mirror")) {
        return None;
    }
    if owner.is_some_and(|owner| owner.kind == "DaemonSet") {
        return (!args.ignore_daemon_sets).then_some("--ignore-daemonsets");
    }
    if !args.delete_empty_dir_data && pod.spec.volumes.iter().any(|volume| volume.empty_dir.is_some()) {
        return Some("--delete-emptydir-data");
    }
    (owner.is_none() && !args.force).then_some("--force")
}

/// Whether the node is one of the set's, as far as its labels and taints tell.
fn runs_on(set: &DaemonSet, node: &Node) -> bool {
    let spec = &set.spec.template.spec;
    let (labels, name) = (&node.metadata.labels, node.metadata.name);
    let is_selected = spec.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    let required = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = required.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let tolerates = |taint: &crate::model::Taint| {
        taint.effect == TaintEffect::PreferNoSchedule
            || taint.key.as_str().starts_with("node.kubernetes.io/")
            || spec.tolerations.iter().any(|toleration: &Toleration| toleration.tolerates(taint))
    };
    is_selected
        && spec.node_name.is_none_or(|wanted| wanted == name)
        && required.is_none_or(|terms| terms.matches(labels, name))
        && node.spec.taints.iter().all(tolerates)
}

/// A workload that nobody has rolled out twice has nothing to go back to.
fn undo(args: &RolloutArgs, earlier: &[&RunbookLine], scenario: &ResolvedScenario) -> Option<(String, String)> {
    // Whatever writes a template, or objects of files, may make a history.
    let writes = |line: &&RunbookLine| {
        !line.objects.is_empty()
            || matches!(
                line.command,
                Command::Patch(_) | Command::SetImage(_) | Command::Set(_) | Command::Rollout(_) | Command::Replace(_)
            )
    };
    if earlier.iter().any(writes) {
        return None;
    }
    let namespace = Symbol::new(&args.selection.namespace);
    for target in &args.selection.targets {
        let (kind, keeper) = match target.kind {
            Kind::Deployment => ("Deployment", "ReplicaSet"),
            Kind::DaemonSet => ("DaemonSet", "ControllerRevision"),
            Kind::StatefulSet => ("StatefulSet", "ControllerRevision"),
            _ => continue,
        };
        let name = Symbol::new(&target.name);
        let is_there = scenario.objects.iter().any(|object| {
            let metadata = object.object.metadata();
            object.object.kind().as_str() == kind && (metadata.namespace, metadata.name) == (namespace, name)
        });
        let revisions = scenario.objects.iter().filter(|object| {
            let metadata = object.object.metadata();
            object.object.kind().as_str() == keeper
                && metadata.namespace == namespace
                && metadata.controller().is_some_and(|owner| owner.kind == kind && owner.name == name)
        });
        if is_there && args.to_revision == 0 && revisions.count() < 2 {
            let problem = format!("there is nothing to roll {} `{name}` back to: it has one revision", kind);
            let help = format!("a line before it has to change the template; a dump needs its {keeper}s for a history");
            return Some((problem, help));
        }
    }
    None
}
