//! When a dump was made: the wall-clock instant of t=0.

use std::collections::BTreeMap;

use crate::arena::Symbol;
use crate::model::{ConditionStatus, ContainerState, ManifestObject, Object, PodConditionType};
use crate::units::unix_nanos_from_rfc3339;

const SECOND_NANOS: i64 = 1_000_000_000;

/// What time stamps call t=0 if the input has none: 2026-01-01T00:00:00Z, which is, like the day that schedules count from, a
/// Thursday and the first of a year, and leaves room for what was before.
pub(super) const UNSTAMPED_EPOCH_NANOS: i64 = 1_767_225_600 * SECOND_NANOS;

/// Namespace, kind and name.
type Key = (Symbol, &'static str, Symbol);

/// The earliest instant at which all objects can have been as they are, in nanoseconds since 1970; none if they bear no
/// time stamps.
///
/// No stamp lies in its future. And of the pods that a workload's status counts as available each had been ready for
/// `minReadySeconds`.
pub(super) fn epoch(objects: &[ManifestObject]) -> Option<i64> {
    let latest = objects.iter().flat_map(|object| stamps(&object.object)).max()?;
    let available = objects.iter().filter_map(|object| available_pods(&object.object));
    let mut ready = ready_pods(objects);
    let since = available.filter_map(|(key, count, min_ready_s)| {
        let pods = ready.get_mut(&key)?;
        pods.sort_unstable();
        let last = count.min(pods.len()).checked_sub(1)?;
        pods[last].checked_add(min_ready_s.checked_mul(SECOND_NANOS)?)
    });
    since.max().map(|at| at.max(latest)).or(Some(latest))
}

/// The instants of which an object tells that they have been.
fn stamps(object: &Object) -> impl Iterator<Item = i64> {
    let metadata = object.metadata();
    let nanos = |stamp: Symbol| unix_nanos_from_rfc3339(stamp.as_str());
    // It says when the object goes, which is its grace after it was deleted.
    let grace = metadata.deletion_grace_period_seconds.unwrap_or(0).max(0).saturating_mul(SECOND_NANOS);
    let deleted = metadata.deletion_timestamp.and_then(nanos).map(|due| due.saturating_sub(grace));
    let mut stamps = vec![metadata.creation_timestamp];
    match object {
        Object::Node(node) => {
            let conditions = &node.status.conditions;
            stamps.extend(conditions.iter().flat_map(|c| [c.last_heartbeat_time, c.last_transition_time]));
        }
        Object::Pod(pod) => {
            stamps.extend(pod.status.conditions.iter().map(|condition| condition.last_transition_time));
            stamps.push(pod.status.start_time);
            let containers = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
            stamps.extend(containers.flat_map(|c| [&c.state, &c.last_state]).flat_map(stamps_of_state));
        }
        Object::Deployment(deployment) => {
            let conditions = &deployment.status.conditions;
            stamps.extend(conditions.iter().flat_map(|c| [c.last_update_time, c.last_transition_time]));
        }
        Object::Job(job) => {
            stamps.extend([job.status.start_time, job.status.completion_time]);
            stamps.extend(job.status.conditions.iter().map(|condition| condition.last_transition_time));
        }
        Object::CronJob(cron_job) => {
            stamps.extend([cron_job.status.last_schedule_time, cron_job.status.last_successful_time]);
        }
        Object::HorizontalPodAutoscaler(autoscaler) => stamps.push(autoscaler.status.last_scale_time),
        Object::PodDisruptionBudget(budget) => {
            stamps.extend(budget.status.conditions.iter().map(|condition| condition.last_transition_time));
        }
        _ => {}
    }
    stamps.into_iter().flatten().filter_map(nanos).chain(deleted)
}

fn stamps_of_state(state: &ContainerState) -> [Option<Symbol>; 3] {
    let running = state.running.as_ref().and_then(|running| running.started_at);
    let [began, ended] = state.terminated.as_ref().map_or([None; 2], |over| [over.started_at, over.finished_at]);
    [running, began, ended]
}

/// How many pods of a workload are available by its status, and for how many seconds they had to be ready.
fn available_pods(object: &Object) -> Option<(Key, usize, i64)> {
    let (kind, count, min_ready_s) = match object {
        Object::ReplicaSet(set) => ("ReplicaSet", set.status.available_replicas, set.spec.min_ready_seconds),
        Object::DaemonSet(set) => ("DaemonSet", set.status.number_available, set.spec.min_ready_seconds),
        Object::StatefulSet(set) => ("StatefulSet", set.status.available_replicas, set.spec.min_ready_seconds),
        _ => return None,
    };
    let metadata = object.metadata();
    Some(((metadata.namespace, kind, metadata.name), usize::try_from(count).ok()?, i64::from(min_ready_s.max(0))))
}

/// Since when the pods of each owner are ready.
fn ready_pods(objects: &[ManifestObject]) -> BTreeMap<Key, Vec<i64>> {
    let mut ready: BTreeMap<Key, Vec<i64>> = BTreeMap::new();
    for object in objects {
        let Object::Pod(pod) = &object.object else { continue };
        let Some(owner) = pod.metadata.controller() else { continue };
        let is_ready = |c: &&crate::model::PodCondition| c.status == ConditionStatus::True;
        let since = pod.status.condition(PodConditionType::Ready).filter(is_ready).and_then(|c| c.last_transition_time);
        if let Some(since) = since.and_then(|stamp| unix_nanos_from_rfc3339(stamp.as_str())) {
            let key = (pod.metadata.namespace, owner.kind.as_str(), owner.name);
            ready.entry(key).or_default().push(since);
        }
    }
    ready
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::load_text;

    const SET: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: default}
spec: {minReadySeconds: 30, replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}
status: {availableReplicas: AVAILABLE}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: default, labels: {a: b}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}
spec: {containers: [{name: c}]}
status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:10Z'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: db-1, namespace: default, labels: {a: b}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}
spec: {containers: [{name: c}]}
status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:25Z'}]}
";

    #[test]
    fn no_stamp_of_any_object_lies_in_its_future() {
        let at = |text: &str| {
            let loaded = load_text("dump.yaml", text);
            epoch(&loaded.objects).map(|nanos| nanos.div_euclid(SECOND_NANOS) % 60)
        };
        let pod = |status: &str| {
            format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, creationTimestamp: '2026-01-01T00:00:00Z'}}\nstatus: {status}\n"
            )
        };
        let ended = "{startedAt: '2026-01-01T00:00:02Z', finishedAt: '2026-01-01T00:00:09Z'}";
        let cases = [
            (pod("{containerStatuses: [{name: c, state: {running: {startedAt: '2026-01-01T00:00:07Z'}}}]}"), 7),
            (pod(&format!("{{containerStatuses: [{{name: c, state: {{terminated: {ended}}}}}]}}")), 9),
            (pod(&format!("{{initContainerStatuses: [{{name: c, lastState: {{terminated: {ended}}}}}]}}")), 9),
            (
                "apiVersion: v1\nkind: Pod\nmetadata: {name: p, creationTimestamp: '2026-01-01T00:00:00Z', deletionTimestamp: \
                 '2026-01-01T00:00:45Z', deletionGracePeriodSeconds: 30}\n"
                    .to_owned(),
                15,
            ),
            (
                "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nstatus: {lastScheduleTime: '2026-01-01T00:00:40Z'}\n"
                    .to_owned(),
                40,
            ),
        ];
        for (text, second) in cases {
            assert_eq!(at(&text), Some(second), "{text}");
        }
    }

    #[test]
    fn available_pods_have_been_ready_for_long_enough() {
        let midnight = unix_nanos_from_rfc3339("2026-01-01T00:00:00Z").expect("a stamp");
        for (available, second) in [(0, 25), (1, 40), (2, 55), (9, 55)] {
            let loaded = load_text("dump.yaml", &SET.replace("AVAILABLE", &available.to_string()));
            assert_eq!(epoch(&loaded.objects), Some(midnight + second * SECOND_NANOS), "{available} available");
        }
        assert_eq!(epoch(&[]), None);
    }
}
