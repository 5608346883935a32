//! What operators did, from built evidence.

use super::super::bench::{Bench, at, cluster, pod, sym};
use super::super::faults::{Confidence, Found};
use super::{Action, find};
use crate::evidence::{Bounds, DeletedBy, RecordKind, Request, What};
use crate::model::ManifestObject;
use crate::model::manifest::load_text;

fn request(user: &str, agent: &str, verb: &str, path: &str, name: &str, body: &str) -> What {
    let (resource, subresource) = path.split_once('/').unwrap_or((path, ""));
    What::Request(Box::new(Request {
        user: sym(user),
        agent: sym(agent),
        verb: sym(verb),
        resource: sym(resource),
        subresource: sym(subresource),
        namespace: sym(if resource == "nodes" { "" } else { "shop" }),
        name: sym(name),
        code: 200,
        body: (!body.is_empty()).then(|| body.into()),
    }))
}

fn lines(bench: &mut Bench) -> Vec<(String, Confidence)> {
    lines_of(bench, &cluster())
}

fn lines_of(bench: &mut Bench, objects: &[ManifestObject]) -> Vec<(String, Confidence)> {
    bench.with_cluster(objects, |timeline, _| {
        let found = find(timeline, &Found::default());
        let line = |action: &Action| match action {
            Action::Kubectl(line) => line.clone(),
            Action::Apply(body) => format!("apply {body}"),
            Action::AddNodes { pool, count } => format!("{count} of {pool}"),
            Action::KillPods { namespace, selector, count } => format!("kill {count} of {selector} in {namespace}"),
        };
        found.commands.iter().map(|command| (line(&command.action), command.confidence)).collect()
    })
}

fn of_audit(what: What) -> Vec<String> {
    let lines = lines(Bench::of(RecordKind::Audit).see_at(10.0, what));
    lines.into_iter().map(|(line, _)| line).collect()
}

#[test]
fn requests_of_operators_become_lines_of_kubectl() {
    let kubectl =
        |verb: &str, path: &str, name: &str, body: &str| of_audit(request("ann", "kubectl", verb, path, name, body));
    assert_eq!(kubectl("patch", "nodes", "w-1", r#"{"spec":{"unschedulable":true}}"#), ["cordon w-1"]);
    assert_eq!(kubectl("patch", "nodes", "w-1", r#"{"spec":{"unschedulable":null}}"#), ["uncordon w-1"]);
    assert_eq!(
        kubectl("patch", "deployments/scale", "web", r#"{"spec":{"replicas":7}}"#),
        ["scale deployment web --replicas=7 -n shop"]
    );
    let restart = r#"{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"x"}}}}}"#;
    assert_eq!(kubectl("patch", "deployments", "web", restart), ["rollout restart deployment web -n shop"]);
    let image = r#"{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"image":"reg/app:2","name":"c"}]}}}}"#;
    assert_eq!(kubectl("patch", "deployments", "web", image), ["set image deployment/web c=reg/app:2 -n shop"]);
    assert_eq!(
        kubectl("patch", "statefulsets", "db", r#"{"metadata":{"labels":{"it's":"1"}}}"#),
        [r#"patch statefulset db --type=strategic -p '{"metadata":{"labels":{"it'\''s":"1"}}}' -n shop"#]
    );
    assert_eq!(
        kubectl("patch", "nodes", "w-1", r#"[{"op":"remove","path":"/spec/taints"}]"#),
        [r#"patch node w-1 --type=json -p '[{"op":"remove","path":"/spec/taints"}]'"#]
    );
    assert_eq!(
        kubectl("delete", "pods", "db-0", r#"{"gracePeriodSeconds":0}"#),
        ["delete pods db-0 -n shop --force --grace-period=0 --wait=false"]
    );
    assert_eq!(kubectl("create", "configmaps", "x", r#"{"kind":"ConfigMap"}"#), [r#"apply {"kind":"ConfigMap"}"#]);
}

#[test]
fn requests_of_the_cluster_itself_are_no_operators() {
    let of = |user: &str, agent: &str| {
        of_audit(request(user, agent, "patch", "deployments/scale", "web", r#"{"spec":{"replicas":7}}"#))
    };
    assert!(of("system:serviceaccount:kube-system:horizontal-pod-autoscaler", "kube-controller-manager").is_empty());
    assert!(of("system:kube-scheduler", "kube-scheduler").is_empty());
    assert!(of("ann", "cluster-autoscaler").is_empty());
    assert_eq!(of("system:serviceaccount:argocd:argocd", "argocd").len(), 1);
    assert_eq!(of("system:admin", "oc").len(), 1);
}

#[test]
fn evictions_of_one_node_are_a_drain() {
    let mut bench = Bench::of(RecordKind::Audit);
    bench.see_at(10.0, request("ann", "kubectl", "patch", "nodes", "w-1", r#"{"spec":{"unschedulable":true}}"#));
    for (time, name) in [(10.2, "web-1-bbbbb"), (10.3, "db-0"), (15.3, "db-0")] {
        bench.see_at(time, request("ann", "kubectl", "create", "pods/eviction", name, ""));
    }
    let drain = "drain w-1 --ignore-daemonsets --delete-emptydir-data --force".to_owned();
    assert_eq!(lines(&mut bench), [(drain, Confidence::Certain)]);
}

#[test]
fn events_alone_tell_cordons_from_drains() {
    let cordon = |is_schedulable| What::NodeSchedulable { node: sym("w-1"), is_schedulable };
    let said = lines(Bench::new().see(10.0, cordon(false)).see(90.0, cordon(true)));
    assert_eq!(said.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>(), ["cordon w-1", "uncordon w-1"]);
    let mut bench = Bench::new();
    bench.see(10.0, cordon(false));
    for name in ["web-1-bbbbb", "db-0"] {
        bench.see(14.0, What::PodDeletion { pod: pod(name), by: DeletedBy::Unknown, node: Some(sym("w-1")) });
    }
    assert!(lines(&mut bench)[0].0.starts_with("drain w-1 "));
}

#[test]
fn what_an_audit_log_says_is_not_said_again_by_events() {
    let mut bench = Bench::of(RecordKind::Audit);
    bench.see_at(10.4, request("ann", "kubectl", "patch", "nodes", "w-1", r#"{"spec":{"unschedulable":true}}"#));
    bench.record(RecordKind::Events, "events.json");
    let when = Bounds { earliest: at(2.0), latest: at(12.9) };
    bench.see_in(when, What::NodeSchedulable { node: sym("w-1"), is_schedulable: false });
    assert_eq!(lines(&mut bench), [("cordon w-1".to_owned(), Confidence::Certain)]);
}

#[test]
fn a_new_replica_set_is_a_rollout_and_another_number_is_a_change_of_scale() {
    let scaled = |name: &str, from, to| What::Scaled {
        kind: sym("ReplicaSet"),
        namespace: sym("shop"),
        name: sym(name),
        from: Some(from),
        to,
    };
    let mut bench = Bench::new();
    bench.see(10.0, scaled("web-1", 3, 5));
    bench.see(100.0, scaled("web-2", 0, 2)).see(104.0, scaled("web-1", 5, 4)).see(108.0, scaled("web-2", 2, 3));
    let said = lines(&mut bench);
    let said: Vec<(&str, Confidence)> = said.iter().map(|(line, sure)| (line.as_str(), *sure)).collect();
    let expected = [
        ("scale deployment web --replicas=5 -n shop", Confidence::Likely),
        ("rollout restart deployment web -n shop", Confidence::Guess),
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_replica_set_of_a_cluster_that_was_saved_after_the_outage_is_as_new_as_it_is() {
    let set = |name: &str, created: &str| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"{name}","namespace":"shop","creationTimestamp":"{created}",
            "ownerReferences":[{{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u-web","controller":true}}]}},"spec":{{"replicas":3}}}}"#
        )
    };
    let later = [set("web-2", "2026-03-02T12:01:40Z"), set("web-3", "2026-03-02T12:10:00Z")]
        .map(|text| load_text("later.json", &text).objects);
    let objects = [cluster()].into_iter().chain(later).flatten().collect::<Vec<_>>();
    let scaled = |name: &str, to| What::Scaled {
        kind: sym("ReplicaSet"),
        namespace: sym("shop"),
        name: sym(name),
        from: None,
        to,
    };
    let mut bench = Bench::new();
    bench
        .see(100.0, scaled("web-2", 2))
        .see(104.0, scaled("web-1", 1))
        .see(108.0, scaled("web-2", 3))
        .see(2000.0, scaled("web-2", 5));
    let expected = [
        ("rollout restart deployment web -n shop".to_owned(), Confidence::Guess),
        ("scale deployment web --replicas=5 -n shop".to_owned(), Confidence::Likely),
    ];
    assert_eq!(lines_of(&mut bench, &objects), expected);
}

#[test]
fn nodes_of_a_known_pool_join_together_and_others_are_told() {
    let joins = |name: &str| What::NodePresent { node: sym(name), is_present: true };
    let mut bench = Bench::new();
    bench.see(10.0, joins("w-6")).see(11.0, joins("w-7")).see(40.0, joins("w-8")).see(50.0, joins("gpu-0"));
    bench.with(|timeline, _| {
        let found = find(timeline, &Found::default());
        let added: Vec<_> = found.commands.iter().map(|command| command.action.clone()).collect();
        let of_pool = |count| Action::AddNodes { pool: "w".to_owned(), count };
        assert_eq!(added, [of_pool(2), of_pool(1)]);
        assert!(found.remarks[0].contains("gpu-0"));
    });
}

#[test]
fn a_node_that_is_removed_by_nobody_known_may_have_been_deleted_by_hand() {
    let removed = What::NodePresent { node: sym("w-1"), is_present: false };
    assert_eq!(
        lines(Bench::new().see(10.0, removed.clone())),
        [("delete node w-1 --wait=false".to_owned(), Confidence::Guess)]
    );
    let mut bench = Bench::of(RecordKind::Audit);
    bench.see_at(
        10.0,
        request("system:cloud-controller-manager", "cloud-controller-manager", "delete", "nodes", "w-1", ""),
    );
    assert!(lines(bench.see_at(10.0, removed)).is_empty());
}

fn made(name: &str, owner: &str) -> What {
    What::PodCreated { pod: pod(name), owner: Some((sym("ReplicaSet"), sym(owner))) }
}

#[test]
fn a_pod_of_a_new_replica_set_tells_of_a_rollout() {
    let mut bench = Bench::of(RecordKind::Metrics);
    bench.see(100.0, made("web-2-xxxxx", "web-2")).see(103.0, made("web-2-yyyyy", "web-2"));
    assert_eq!(lines(&mut bench), [("rollout restart deployment web -n shop".to_owned(), Confidence::Guess)]);
}

#[test]
fn a_pod_that_went_and_was_replaced_was_deleted_by_somebody() {
    let gone = |name: &str| What::PodGone { pod: pod(name) };
    assert!(lines(Bench::of(RecordKind::Metrics).see(100.0, gone("web-1-aaaaa"))).is_empty());
    let mut bench = Bench::of(RecordKind::Metrics);
    bench.see(100.0, gone("web-1-aaaaa")).see(100.5, made("web-1-ddddd", "web-1"));
    bench.see(101.0, What::PodScheduled { pod: pod("web-1-ddddd"), node: sym("w-3") });
    // The name of the second is another one in every play.
    bench.see(2000.0, gone("web-1-ddddd")).see(2001.0, made("web-1-eeeee", "web-1"));
    let said: Vec<String> = lines(&mut bench).into_iter().map(|(line, _)| line).collect();
    assert_eq!(said, ["delete pod web-1-aaaaa -n shop --wait=false", "kill 1 of app=web in shop"]);
}

#[test]
fn pods_that_were_scaled_away_are_the_cheapest_in_a_play() {
    let went = |name: &str| What::PodDeletion { pod: pod(name), by: DeletedBy::Workload, node: Some(sym("w-1")) };
    let mut bench = Bench::of(RecordKind::Audit);
    bench.see_at(10.0, request("ann", "kubectl", "patch", "deployments/scale", "web", r#"{"spec":{"replicas":1}}"#));
    bench.see(10.2, went("web-1-aaaaa")).see(900.0, went("web-1-bbbbb"));
    let said: Vec<String> = lines(&mut bench).into_iter().map(|(line, _)| line).collect();
    assert_eq!(
        said,
        [
            "annotate pod web-1-aaaaa controller.kubernetes.io/pod-deletion-cost=-1 -n shop",
            "scale deployment web --replicas=1 -n shop"
        ]
    );
}
