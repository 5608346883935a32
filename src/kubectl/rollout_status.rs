//! `kubectl rollout status`: one line a change, until the roll-out is over.

use super::failure::Failure;
use super::resource::{Found, find};
use super::rollout::{RolloutArgs, revision};
use super::{Command, CommandPlan, Item, Kubectl, Process, Timer};
use crate::arena::Id;
use crate::component::Ctx;
use crate::model::{DaemonSetUpdateStrategyType, StatefulSetUpdateStrategyType};
use crate::state::{DaemonSet, Deployment, DeploymentReason, StatefulSet, Store, WorkloadId};

/// What is printed of a roll-out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    Waits(String),
    Done(String),
    Failed(String),
}

use Progress::{Done, Failed, Waits};

/// # Source
/// kubectl, `DeploymentStatusViewer`.
fn of_deployment(object: &Deployment, wanted: i64) -> Progress {
    let (name, status) = (object.meta.name, &object.status);
    let running = revision(&object.meta);
    if wanted > 0 && wanted != running {
        return Failed(format!("desired revision ({wanted}) is different from the running revision ({running})"));
    }
    if object.meta.generation > status.observed_generation {
        return Waits("Waiting for deployment spec update to be observed...".to_owned());
    }
    if status.progressing.is_some_and(|c| c.reason == DeploymentReason::ProgressDeadlineExceeded) {
        return Failed(format!("deployment \"{name}\" exceeded its progress deadline"));
    }
    let wanted = object.spec.replicas.unwrap_or(1);
    let wait = |text: String| Waits(format!("Waiting for deployment \"{name}\" rollout to finish: {text}..."));
    if status.updated < wanted {
        return wait(format!("{} out of {wanted} new replicas have been updated", status.updated));
    }
    if status.replicas > status.updated {
        return wait(format!("{} old replicas are pending termination", status.replicas - status.updated));
    }
    if status.available < status.updated {
        return wait(format!("{} of {} updated replicas are available", status.available, status.updated));
    }
    Done(format!("deployment \"{name}\" successfully rolled out"))
}

/// # Source
/// kubectl, `DaemonSetStatusViewer`.
fn of_daemon_set(object: &DaemonSet) -> Progress {
    let (name, status) = (object.meta.name, &object.status);
    if object.spec.update_strategy.strategy_type == Some(DaemonSetUpdateStrategyType::OnDelete) {
        return Failed("rollout status is only available for RollingUpdate strategy type".to_owned());
    }
    if object.meta.generation > status.observed_generation {
        return Waits("Waiting for daemon set spec update to be observed...".to_owned());
    }
    let wait = |text: String| Waits(format!("Waiting for daemon set \"{name}\" rollout to finish: {text}..."));
    if status.updated < status.desired {
        return wait(format!("{} out of {} new pods have been updated", status.updated, status.desired));
    }
    if status.available < status.desired {
        return wait(format!("{} of {} updated pods are available", status.available, status.desired));
    }
    Done(format!("daemon set \"{name}\" successfully rolled out"))
}

/// # Source
/// kubectl, `StatefulSetStatusViewer`.
fn of_stateful_set(object: &StatefulSet) -> Progress {
    let status = &object.status;
    let strategy = &object.spec.update_strategy;
    if strategy.strategy_type == Some(StatefulSetUpdateStrategyType::OnDelete) {
        return Failed("rollout status is only available for RollingUpdate strategy type".to_owned());
    }
    if status.observed_generation == 0 || object.meta.generation > status.observed_generation {
        return Waits("Waiting for statefulset spec update to be observed...".to_owned());
    }
    let wanted = object.spec.replicas.unwrap_or(1);
    if status.ready < wanted {
        return Waits(format!("Waiting for {} pods to be ready...", wanted - status.ready));
    }
    // Defaults write the partition of whoever names no type; only a type without more leads on.
    if let Some(update) = &strategy.rolling_update {
        let (updated, new) = (status.updated, wanted - update.partition.unwrap_or(0));
        return if update.partition.is_some() && updated < new {
            Waits(format!(
                "Waiting for partitioned roll out to finish: {updated} out of {new} new pods have been updated..."
            ))
        } else {
            Done(format!("partitioned roll out complete: {updated} new pods have been updated..."))
        };
    }
    if status.update_revision != status.current_revision {
        let (updated, revision) = (status.updated, status.update_revision);
        return Waits(format!(
            "waiting for statefulset rolling update to complete {updated} pods at revision {revision}..."
        ));
    }
    let (current, revision) = (status.current, status.current_revision);
    Done(format!("statefulset rolling update complete {current} pods at revision {revision}..."))
}

/// How far a roll-out is; only Deployments look whether it is the one of a revision.
fn progress(store: &Store, id: WorkloadId, revision: i64) -> Progress {
    match id {
        WorkloadId::Deployment(id) => store.deployments.get(id).map(|object| of_deployment(object, revision)),
        WorkloadId::DaemonSet(id) => store.daemon_sets.get(id).map(of_daemon_set),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map(of_stateful_set),
        _ => None,
    }
    .unwrap_or_else(|| Failed("object has been deleted".to_owned()))
}

/// One roll-out after the other.
///
/// # Source
/// kubectl rollout status, `Run`; `StatusViewerFor`.
pub(super) fn plan(args: &RolloutArgs, store: &Store, plan: &mut CommandPlan) {
    let results = find(&args.selection, store);
    if results.is_empty() {
        plan.warnings.push(format!("No resources found in {} namespace.", args.selection.namespace));
    }
    for result in results {
        match result {
            Ok(Found::Workload(
                _,
                id @ (WorkloadId::Deployment(_) | WorkloadId::DaemonSet(_) | WorkloadId::StatefulSet(_)),
            )) => plan.items.push(Item::Watch(id)),
            Ok(object) => {
                let text = format!("no status viewer has been implemented for {}", object.kind().group_kind());
                plan.fail(Failure::own(text));
            }
            Err(failure) => plan.fail(failure),
        }
    }
}

impl Kubectl {
    /// Looks at the workload and, if its roll-out is not over, waits for changes.
    pub(super) fn watch_rollout(&mut self, id: Id<Process>, workload: WorkloadId, ctx: &mut Ctx<'_, Self>) {
        let process = &mut self.processes[id];
        process.rollout = Some(workload);
        process.round += 1;
        if let Command::Rollout(RolloutArgs { timeout: Some(timeout), .. }) = process.line.command {
            ctx.arm_in(timeout, Timer::RolloutTimeout(id, process.round));
        }
        self.look_at_rollout(id, workload, ctx);
    }

    /// The workload changed.
    pub(super) fn look_at_rollout(&mut self, id: Id<Process>, workload: WorkloadId, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        let Command::Rollout(RolloutArgs { watch: waits, revision, .. }) = process.line.command else { return };
        match progress(ctx.store, workload, revision) {
            Waits(line) => {
                process.stdout.push(line);
                if waits {
                    return;
                }
            }
            Done(line) => process.stdout.push(line),
            Failed(text) => process.failures.push(Failure::own(text)),
        }
        self.end_of_rollout(id, ctx);
    }

    /// `--timeout` is over.
    pub(super) fn rollout_timed_out(&mut self, id: Id<Process>, round: u32, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        if process.round == round && process.rollout.is_some() {
            process.failures.push(Failure::own("timed out waiting for the condition"));
            self.end_of_rollout(id, ctx);
        }
    }

    fn end_of_rollout(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        process.rollout = None;
        self.go_on(id, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{DaemonSetStatus, DeploymentStatus, Meta, StatefulSetStatus, Uid};

    fn meta() -> Meta {
        Meta {
            namespace: "default".into(),
            name: "web".into(),
            uid: Uid(1),
            labels: crate::model::Labels::default(),
            annotations: std::sync::Arc::default(),
            created_at: crate::units::SimTime::ZERO,
            generation: 2,
            version: 1,
            deleting: None,
            finalizers: Box::default(),
            owner: None,
        }
    }

    #[test]
    fn a_deployment_is_updated_then_rid_of_old_pods_then_available() {
        let check = |observed_generation, (updated, replicas, available), expected: &str| {
            let spec = serde_saphyr::from_str("{replicas: 3}").expect("a spec");
            let status =
                DeploymentStatus { observed_generation, replicas, updated, available, ..DeploymentStatus::default() };
            let found = of_deployment(&Deployment { meta: meta(), spec, status }, 0);
            let (Waits(line) | Done(line) | Failed(line)) = found;
            assert_eq!(line, expected);
        };
        check(1, (3, 3, 3), "Waiting for deployment spec update to be observed...");
        check(
            2,
            (1, 4, 3),
            "Waiting for deployment \"web\" rollout to finish: 1 out of 3 new replicas have been updated...",
        );
        check(
            2,
            (3, 4, 3),
            "Waiting for deployment \"web\" rollout to finish: 1 old replicas are pending termination...",
        );
        check(
            2,
            (3, 3, 2),
            "Waiting for deployment \"web\" rollout to finish: 2 of 3 updated replicas are available...",
        );
        check(2, (3, 3, 3), "deployment \"web\" successfully rolled out");
    }

    #[test]
    fn a_daemon_set_is_updated_then_available() {
        let check = |(updated, available), expected: &str| {
            let spec = serde_saphyr::from_str("{}").expect("a spec");
            let status = DaemonSetStatus {
                observed_generation: 2,
                desired: 3,
                updated,
                available,
                ..DaemonSetStatus::default()
            };
            let found = of_daemon_set(&DaemonSet { meta: meta(), spec, status });
            let (Waits(line) | Done(line) | Failed(line)) = found;
            assert_eq!(line, expected);
        };
        check((1, 3), "Waiting for daemon set \"web\" rollout to finish: 1 out of 3 new pods have been updated...");
        check((3, 2), "Waiting for daemon set \"web\" rollout to finish: 2 of 3 updated pods are available...");
        check((3, 3), "daemon set \"web\" successfully rolled out");
    }

    #[test]
    fn a_stateful_set_is_ready_then_updated_down_to_its_partition() {
        let check = |strategy: &str, (ready, updated), current: &str, expected: &str| {
            let text = format!("{{spec: {{replicas: 3, {strategy} template: {{}}}}}}");
            let mut set: crate::model::StatefulSet = serde_saphyr::from_str(&text).expect("a set");
            set.apply_defaults();
            let status = StatefulSetStatus {
                observed_generation: 2,
                ready,
                updated,
                current: updated,
                current_revision: current.into(),
                update_revision: "new".into(),
                ..StatefulSetStatus::default()
            };
            let found = of_stateful_set(&StatefulSet { meta: meta(), spec: set.spec.into(), status });
            let (Waits(line) | Done(line) | Failed(line)) = found;
            assert_eq!(line, expected, "{strategy}");
        };
        let waits = |updated: i32, new: i32| {
            format!("Waiting for partitioned roll out to finish: {updated} out of {new} new pods have been updated...")
        };
        check("", (2, 1), "old", "Waiting for 1 pods to be ready...");
        check("", (3, 1), "old", &waits(1, 3));
        check("", (3, 3), "new", "partitioned roll out complete: 3 new pods have been updated...");
        let parted = "updateStrategy: {rollingUpdate: {partition: 2}},";
        check(parted, (3, 0), "old", &waits(0, 1));
        check(parted, (3, 1), "old", "partitioned roll out complete: 1 new pods have been updated...");
        let typed = "updateStrategy: {type: RollingUpdate},";
        check(typed, (3, 1), "old", "waiting for statefulset rolling update to complete 1 pods at revision new...");
        check(typed, (3, 3), "new", "statefulset rolling update complete 3 pods at revision new...");
        let by_hand = "updateStrategy: {type: OnDelete},";
        check(by_hand, (3, 1), "old", "rollout status is only available for RollingUpdate strategy type");
    }
}
