//! Requests about pods.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::super::containers::{CONTAINER, Restarts};
use super::super::identity::Epoch;
use super::super::pods::{NodeHistories, Pod, Readiness};
use super::kubectl::Lines;
use super::request::{Request, User};
use crate::report::table::{Table, text, whole};

pub(super) fn requests<'a>(
    pods: &'a Table,
    readiness: &'a Table,
    disruptions: &'a Table,
    restarts: &Restarts<'a>,
    nodes: &NodeHistories<'a>,
    lines: &Lines<'a>,
    epoch: Epoch,
) -> Vec<Request<'a>> {
    let (readiness, ended_by) = (Readiness::new(readiness), ended_by(disruptions));
    let mut requests = Vec::new();
    for pod in Pod::all(pods) {
        begins(&pod, &mut requests);
        statuses(&pod, &readiness, nodes, epoch, &mut requests);
        began_anew(&pod, restarts, epoch, &mut requests);
        let first = ended_by.get(&(pod.about.namespace, pod.about.name, pod.created));
        ends(&pod, first.copied().unwrap_or(pod.deletion_cause), lines, epoch, &mut requests);
    }
    requests
}

/// What ended a pod first, by namespace, name and creation.
fn ended_by(disruptions: &Table) -> FxHashMap<(&str, &str, i64), &str> {
    let [namespace, name, created, by] = ["namespace", "name", "created_s", "by"].map(|name| disruptions.column(name));
    let rows = disruptions.rows();
    rows.map(|row| ((text(row, namespace), text(row, name), whole(row, created).unwrap_or_default()), text(row, by)))
        .collect()
}

/// The account of a pod's controller; none if no controller made it.
fn controller<'a>(pod: &Pod<'a>) -> Option<User<'a>> {
    Some(match pod.owner.0 {
        "ReplicaSet" => User::Controller("replicaset-controller"),
        "StatefulSet" => User::Controller("statefulset-controller"),
        "DaemonSet" => User::Controller("daemon-set-controller"),
        "Job" => User::Controller("job-controller"),
        "ReplicationController" => User::Controller("replication-controller"),
        "Node" => User::Kubelet(pod.node),
        _ => return None,
    })
}

/// Its creation, without a name where the API server makes that, and its binding.
fn begins<'a>(pod: &Pod<'a>, requests: &mut Vec<Request<'a>>) {
    let (namespace, name) = pod.name();
    let has_own_name = !matches!(pod.owner.0, "ReplicaSet" | "DaemonSet" | "Job" | "ReplicationController");
    if !pod.is_initial {
        let user = controller(pod).unwrap_or(User::Admin);
        let name = if has_own_name { name } else { "" };
        requests.push(Request::on_pod(pod.created, user, "create", (namespace, name)));
    }
    let Some(bound) = pod.scheduled.filter(|at_ms| !pod.is_initial || *at_ms > 0) else { return };
    if pod.owner.0 != "Node" {
        let binding = json!({
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"namespace": namespace, "name": name, "uid": pod.uid},
            "target": {"kind": "Node", "name": pod.node},
        });
        let request = Request::on_pod(bound, User::Scheduler, "create", (namespace, name));
        requests.push(request.subresource("binding").body(binding));
    }
}

fn patch<'a>(at_ms: i64, user: User<'a>, pod: &Pod<'a>, status: Value) -> Request<'a> {
    let body = json!({"metadata": {"uid": pod.uid}, "status": status});
    Request::on_pod(at_ms, user, "patch", pod.name()).subresource("status").body(body)
}

/// What kubelets, and the node lifecycle controller in their place, write into its status.
fn statuses<'a>(
    pod: &Pod<'a>,
    readiness: &Readiness<'a>,
    nodes: &NodeHistories<'a>,
    epoch: Epoch,
    requests: &mut Vec<Request<'a>>,
) {
    let kubelet = User::Kubelet(pod.node);
    if let Some(started) = pod.started.filter(|at_ms| !pod.is_initial || *at_ms > 0) {
        requests.push(patch(started, kubelet, pod, json!({"phase": "Running"})));
    }
    for (at_ms, is_ready) in readiness.of(pod).into_iter().filter(|(at_ms, _)| !pod.is_initial || *at_ms > 0) {
        let status = if is_ready { "True" } else { "False" };
        let condition = json!({"type": "Ready", "status": status, "lastTransitionTime": epoch.second(at_ms)});
        if !is_ready && is_lost(nodes, pod.node, at_ms) {
            let (namespace, name) = pod.name();
            let body = json!({
                "kind": "Pod",
                "apiVersion": "v1",
                "metadata": {"namespace": namespace, "name": name, "uid": pod.uid},
                "status": {"conditions": [condition]},
            });
            let user = User::Controller("node-controller");
            requests.push(Request::on_pod(at_ms, user, "update", pod.name()).subresource("status").body(body));
        } else {
            requests.push(patch(at_ms, kubelet, pod, json!({"conditions": [condition]})));
        }
    }
    if let Some(finished) = pod.finished.filter(|at_ms| !pod.is_initial || *at_ms > 0) {
        let mut status = json!({"phase": pod.phase});
        if !pod.reason.is_empty() {
            status["reason"] = pod.reason.into();
        }
        requests.push(patch(finished, kubelet, pod, status));
    }
}

/// What its kubelet posts of containers that began anew: what had ended them, too.
fn began_anew<'a>(pod: &Pod<'a>, restarts: &Restarts<'a>, epoch: Epoch, requests: &mut Vec<Request<'a>>) {
    for (count, restart) in (1..).zip(restarts.of(pod)) {
        let mut container = json!({
            "name": CONTAINER,
            "restartCount": count,
            "state": {"running": {"startedAt": epoch.second(restart.at_ms)}},
        });
        if let Some(end) = restart.end {
            container["lastState"] = json!({"terminated": {
                "reason": end.reason,
                "exitCode": end.exit_code,
                "finishedAt": epoch.second(end.at_ms),
            }});
        }
        let status = json!({"containerStatuses": [container]});
        requests.push(patch(restart.at_ms, User::Kubelet(pod.node), pod, status));
    }
}

/// Whether a node is not Ready at that time: then its pods are marked for it.
fn is_lost(nodes: &NodeHistories<'_>, node: &str, at_ms: i64) -> bool {
    let history = nodes.get(node).map_or(&[][..], Vec::as_slice);
    history.iter().rfind(|state| state.at_ms <= at_ms).is_some_and(|state| state.ready != Some("True"))
}

/// Its deletion, by whoever asked first for it, and the end of its object.
fn ends<'a>(pod: &Pod<'a>, by: &'a str, lines: &Lines<'a>, epoch: Epoch, requests: &mut Vec<Request<'a>>) {
    let Some(asked) = pod.deletion else { return };
    let target = |reason: &str| {
        let condition = json!({
            "type": "DisruptionTarget",
            "status": "True",
            "reason": reason,
            "lastTransitionTime": epoch.second(asked),
        });
        json!({"conditions": [condition]})
    };
    let collector = User::Controller("pod-garbage-collector");
    let (user, mark) = match by {
        "TaintManagerEviction" => (User::Controller("node-controller"), Some("DeletionByTaintManager")),
        "DeletionByPodGC" => (collector, Some("DeletionByPodGC")),
        "PreemptionByScheduler" => (User::Scheduler, Some("PreemptionByScheduler")),
        "OwnerDeleted" => (User::Controller("generic-garbage-collector"), None),
        "PodKill" => (User::Program("chaos-mesh", "chaos-controller-manager", "chaos-controller-manager"), None),
        "ScaleDown" | "RollingUpdate" | "DaemonSetController" | "Completed" => {
            (controller(pod).unwrap_or(User::Admin), None)
        }
        "EvictionByEvictionAPI" => (if lines.runs_at(asked) { User::Admin } else { OTHERS }, None),
        "Kubectl" => (User::Admin, None),
        // A pod that its kubelet has ended.
        _ => (controller(pod).unwrap_or(collector), None),
    };
    if let Some(reason) = mark {
        requests.push(patch(asked, user, pod, target(reason)));
    }
    let gone_at_once = pod.gone == Some(asked);
    if by == "EvictionByEvictionAPI" {
        let (namespace, name) = pod.name();
        let body = json!({
            "kind": "Eviction",
            "apiVersion": "policy/v1",
            "metadata": {"namespace": namespace, "name": name},
        });
        requests.push(Request::on_pod(asked, user, "create", pod.name()).subresource("eviction").body(body));
    } else {
        let delete = Request::on_pod(asked, user, "delete", pod.name());
        requests.push(if gone_at_once { delete.body(no_grace(pod)) } else { delete });
    }
    if let Some(gone) = pod.gone.filter(|_| !gone_at_once) {
        // What nobody confirms any more, the collector of orphans removes.
        let is_orphan = pod.deletion_cause == "DeletionByPodGC";
        let user = if is_orphan { collector } else { User::Kubelet(pod.node) };
        if is_orphan || !pod.node.is_empty() {
            requests.push(Request::on_pod(gone, user, "delete", pod.name()).body(no_grace(pod)));
        }
    }
}

/// What drains nodes where nobody types.
const OTHERS: User<'static> = User::Program("kube-system", "cluster-autoscaler", "cluster-autoscaler");

fn no_grace(pod: &Pod<'_>) -> Value {
    json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": pod.uid},
    })
}
