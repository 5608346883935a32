//! `kubectl rollout status`: one line a change, until the roll-out is over.

use super::command_line::RolloutArgs;
use super::resource::{Found, find};
use super::{Kubectl, Process, Timer};
use crate::arena::Id;
use crate::component::Ctx;
use crate::model::{DaemonSetUpdateStrategyType, StatefulSetUpdateStrategyType};
use crate::state::{DaemonSet, Deployment, StatefulSet, Store, WorkloadId};

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
fn of_deployment(object: &Deployment) -> Progress {
    let (name, status) = (object.meta.name, &object.status);
    if object.meta.generation > status.observed_generation {
        return Waits("Waiting for deployment spec update to be observed...".to_owned());
    }
    if status.progressing.is_some_and(|c| c.reason == "ProgressDeadlineExceeded") {
        return Failed(format!("error: deployment \"{name}\" exceeded its progress deadline"));
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
        return Failed("error: rollout status is only available for RollingUpdate strategy type".to_owned());
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
        return Failed("error: rollout status is only available for RollingUpdate strategy type".to_owned());
    }
    if status.observed_generation == 0 || object.meta.generation > status.observed_generation {
        return Waits("Waiting for statefulset spec update to be observed...".to_owned());
    }
    let wanted = object.spec.replicas.unwrap_or(1);
    if status.ready < wanted {
        return Waits(format!("Waiting for {} pods to be ready...", wanted - status.ready));
    }
    if let Some(partition) = strategy.rolling_update.as_ref().and_then(|u| u.partition).filter(|p| *p > 0) {
        let new = wanted - partition;
        return if status.updated < new {
            let updated = status.updated;
            Waits(format!(
                "Waiting for partitioned roll out to finish: {updated} out of {new} new pods have been updated..."
            ))
        } else {
            Done(format!("partitioned roll out complete: {} new pods have been updated...", status.updated))
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

fn progress(store: &Store, id: WorkloadId) -> Progress {
    match id {
        WorkloadId::Deployment(id) => store.deployments.get(id).map(of_deployment),
        WorkloadId::DaemonSet(id) => store.daemon_sets.get(id).map(of_daemon_set),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map(of_stateful_set),
        _ => return Failed("error: no status viewer has been implemented for this kind".to_owned()),
    }
    .unwrap_or_else(|| Failed("error: object has been deleted".to_owned()))
}

impl Kubectl {
    /// Looks at the workload and, if its roll-out is not over, waits for changes.
    pub(super) fn watch_rollout(&mut self, id: Id<Process>, args: &RolloutArgs, ctx: &mut Ctx<'_, Self>) {
        let process = &mut self.processes[id];
        let mut found = find(&args.selection, ctx.store, &mut process.stderr);
        let workload = match (found.pop(), found.is_empty()) {
            (Some(Found::Workload(_, workload)), true) => workload,
            (Some(_), false) => {
                process.stderr.push("error: rollout status is only supported on individual resources".to_owned());
                process.exit = 1;
                self.finish(id, ctx);
                return;
            }
            _ => {
                process.exit = 1;
                self.finish(id, ctx);
                return;
            }
        };
        process.rollout = args.watch.then_some(workload);
        if let Some(timeout) = args.timeout {
            ctx.arm_in(timeout, Timer::RolloutTimeout(id));
        }
        self.look_at_rollout(id, workload, ctx);
    }

    /// The workload changed.
    pub(super) fn look_at_rollout(&mut self, id: Id<Process>, workload: WorkloadId, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        match progress(ctx.store, workload) {
            Waits(line) => {
                process.stdout.push(line);
                if process.rollout.is_some() {
                    return;
                }
            }
            Done(line) => process.stdout.push(line),
            Failed(line) => {
                process.stderr.push(line);
                process.exit = 1;
            }
        }
        self.finish(id, ctx);
    }

    /// `--timeout` is over.
    pub(super) fn rollout_timed_out(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        process.stderr.push("error: timed out waiting for the condition".to_owned());
        process.exit = 1;
        self.finish(id, ctx);
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
            deleting: None,
            owner: None,
        }
    }

    #[test]
    fn a_deployment_is_updated_then_rid_of_old_pods_then_available() {
        let check = |observed_generation, (updated, replicas, available), expected: &str| {
            let spec = serde_saphyr::from_str("{replicas: 3}").expect("a spec");
            let status =
                DeploymentStatus { observed_generation, replicas, updated, available, ..DeploymentStatus::default() };
            let found = of_deployment(&Deployment { meta: meta(), spec, status });
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
    fn a_stateful_set_is_ready_then_at_its_revision() {
        let check = |spec: &str, (ready, updated), current: &str, expected: &str| {
            let spec = serde_saphyr::from_str(spec).expect("a spec");
            let status = StatefulSetStatus {
                observed_generation: 2,
                ready,
                updated,
                current: updated,
                current_revision: current.into(),
                update_revision: "new".into(),
                ..StatefulSetStatus::default()
            };
            let found = of_stateful_set(&StatefulSet { meta: meta(), spec, status });
            let (Waits(line) | Done(line) | Failed(line)) = found;
            assert_eq!(line, expected);
        };
        let (three, parted) = ("{replicas: 3}", "{replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}");
        check(three, (2, 1), "old", "Waiting for 1 pods to be ready...");
        check(three, (3, 1), "old", "waiting for statefulset rolling update to complete 1 pods at revision new...");
        check(three, (3, 3), "new", "statefulset rolling update complete 3 pods at revision new...");
        check(
            parted,
            (3, 0),
            "old",
            "Waiting for partitioned roll out to finish: 0 out of 1 new pods have been updated...",
        );
        check(parted, (3, 1), "old", "partitioned roll out complete: 1 new pods have been updated...");
    }
}
