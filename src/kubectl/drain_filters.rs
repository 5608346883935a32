//! Which pods of a node a drain deletes, and which it must not.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Kubectl;
use super::drain::DrainArgs;
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::model::config::KubernetesVersion;
use crate::state::{NodeId, Owner, Pod, PodId, Store};
use crate::units::SimTime;

/// A node's pods after the filters.
#[derive(Default)]
pub(super) struct Listed {
    /// Those to delete.
    pub(super) pods: Vec<(PodId, Symbol, Arc<str>)>,
    /// What is said of which pods.
    pub(super) warnings: BTreeMap<String, Vec<String>>,
    /// Why which pods cannot be deleted.
    pub(super) refusals: BTreeMap<String, Vec<String>>,
}

impl Listed {
    /// As they are printed.
    pub(super) fn refusals(&self) -> Vec<String> {
        self.refusals.iter().map(|(text, pods)| format!("cannot delete {text}: {}", pods.join(", "))).collect()
    }
}

/// The node's pods, by namespace and name, and what the filters say of them; where one is refused, none is deleted.
pub(super) fn filter(node: NodeId, args: &DrainArgs, ctx: &Ctx<'_, Kubectl>) -> Listed {
    let mut listed = Listed::default();
    let of_node = ctx.store.pods_on(node).iter().filter_map(|&pod| ctx.store.pod(pod).map(|p| (pod, p)));
    let mut pods: Vec<(PodId, &Pod)> = of_node.collect();
    pods.sort_by(|(_, a), (_, b)| a.namespace.cmp(&b.namespace).then_with(|| a.name.cmp(&b.name)));
    for (id, pod) in pods {
        if args.pod_selector.as_ref().is_some_and(|s| !s.matches(&pod.labels)) {
            continue;
        }
        let full = format!("{}/{}", pod.namespace, pod.name);
        match judge(pod, args, ctx.config.version, ctx.store, ctx.now) {
            PodDeleteStatus::Skip => continue,
            PodDeleteStatus::SkipWith(text) => {
                listed.warnings.entry(text).or_default().push(full);
                continue;
            }
            PodDeleteStatus::Refuse(text) => {
                listed.refusals.entry(text).or_default().push(full);
                continue;
            }
            PodDeleteStatus::DeleteWith(text) => listed.warnings.entry(text.to_owned()).or_default().push(full),
            PodDeleteStatus::Delete => {}
        }
        listed.pods.push((id, pod.namespace, Arc::clone(&pod.name)));
    }
    listed
}

/// What a filter says of a pod.
enum PodDeleteStatus {
    Delete,
    DeleteWith(&'static str),
    Skip,
    SkipWith(String),
    Refuse(String),
}

/// Whether the DaemonSet of a daemon pod is still there, and its name: a set that has gone lives on in its pods' names.
fn daemon_set_of<'a>(pod: &'a Pod, store: &Store) -> Option<(bool, &'a str)> {
    match pod.owner? {
        Owner::DaemonSet(set) => {
            let stem = pod.name.rsplit_once('-').map_or(&*pod.name, |(stem, _)| stem);
            Some((store.daemon_sets.get(set).is_some(), stem))
        }
        Owner::Foreign { kind, name, .. } if kind.as_str() == "DaemonSet" => Some((false, name.as_str())),
        _ => None,
    }
}

/// Whether a pod should have been gone for longer than the operator cares to wait for.
///
/// # Source
/// kubectl, `shouldSkipPod`: counted from the deletionTimestamp, which holds the grace.
pub(super) fn is_long_overdue(pod: &Pod, args: &DrainArgs, now: SimTime) -> bool {
    let is_over = |deadline: SimTime| now.saturating_since(deadline).as_secs() > args.skip_wait_s.unsigned_abs();
    args.skip_wait_s > 0 && pod.deletion.is_some_and(|deletion| is_over(deletion.deadline))
}

/// # Source
/// kubectl, drain filters, in order; the last filter run decides the text. Up to 1.35 one of them says twice what cannot be done.
fn judge(pod: &Pod, args: &DrainArgs, version: KubernetesVersion, store: &Store, now: SimTime) -> PodDeleteStatus {
    if is_long_overdue(pod, args, now) {
        return PodDeleteStatus::Skip;
    }
    let is_finished = pod.phase.is_terminal();
    if let Some((exists, name)) = daemon_set_of(pod, store)
        && !is_finished
    {
        if exists && args.ignore_daemon_sets {
            return PodDeleteStatus::SkipWith("ignoring DaemonSet-managed Pods".to_owned());
        }
        if exists {
            return PodDeleteStatus::Refuse("DaemonSet-managed Pods (use --ignore-daemonsets to ignore)".to_owned());
        }
        if !args.force {
            return PodDeleteStatus::Refuse(format!("daemonsets.apps \"{name}\" not found"));
        }
    }
    if pod.is_mirror {
        return PodDeleteStatus::Skip;
    }
    let has_empty_dir = pod.spec.volumes.iter().any(|v| v.empty_dir.is_some());
    if has_empty_dir && !is_finished && !args.delete_empty_dir_data {
        return PodDeleteStatus::Refuse("Pods with local storage (use --delete-emptydir-data to override)".to_owned());
    }
    if is_finished || pod.owner.is_some() {
        return PodDeleteStatus::Delete;
    }
    if args.force {
        return PodDeleteStatus::DeleteWith("deleting Pods that declare no controller");
    }
    let twice = if version.at_least(36) { "" } else { "cannot delete " };
    PodDeleteStatus::Refuse(format!("{twice}Pods that declare no controller (use --force to override)"))
}
