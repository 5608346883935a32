//! Claims of StatefulSets: with whom they go.

use kubesquall::observe::Observed;

use super::regressions::{play, printed};

/// A set of three with a claim each.
pub(super) fn set(policy: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db, namespace: default, uid: s}}, spec: {{replicas: 3, \
         persistentVolumeClaimRetentionPolicy: {{{policy}}}, selector: {{matchLabels: {{app: db}}}}, template: {{metadata: {{labels: \
         {{app: db}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}, volumeClaimTemplates: [{{metadata: {{name: data}}, spec: \
         {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}]}}}}"
    )
}

/// Plays lines, each at its second, and faults as they are written.
fn play_lines(lines: &[(u32, &str)], faults: &str, objects: &str) -> Observed {
    let entry =
        |(at, line): &(u32, &str)| format!("{{at: {at}s, kubectl: {}}}", serde_json::to_string(line).expect("text"));
    let entries: Vec<String> = lines.iter().map(entry).chain((!faults.is_empty()).then(|| faults.to_owned())).collect();
    play(&entries.join(", "), objects)
}

const ALL: [&str; 3] =
    ["persistentvolumeclaim/data-db-0", "persistentvolumeclaim/data-db-1", "persistentvolumeclaim/data-db-2"];

/// The claims that are left of a set of a policy after these lines.
#[track_caller]
fn check_left(policy: &str, lines: &[(u32, &str)], faults: &str, expected: &[&str]) {
    let lines = [lines, &[(400, "get pvc -o name")]].concat();
    let observed = play_lines(&lines, faults, &set(policy));
    assert_eq!(observed.transcript.last().expect("a line").stdout, expected, "{policy} {:?}", printed(&observed));
}

const RETAIN: &str =
    r#"patch sts db --type=merge -p '{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}}'"#;
const DELETE: &str =
    r#"patch sts db --type=merge -p '{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}}}'"#;

#[test]
fn claims_go_with_their_set_as_its_policy_says_when_it_is_deleted() {
    let delete = (60, "delete sts db");
    check_left("whenDeleted: Delete", &[delete], "", &[]);
    check_left("whenDeleted: Retain", &[delete], "", &ALL);
    check_left("whenDeleted: Delete", &[(30, RETAIN), delete], "", &ALL);
    check_left("whenDeleted: Retain", &[(30, DELETE), delete], "", &[]);
    check_left("whenDeleted: Delete", &[(60, "delete sts db --cascade=foreground")], "", &[]);
}

#[test]
fn claims_of_a_set_that_leaves_its_pods_behind_stay_until_another_owns_them() {
    let orphan = (60, "delete sts db --cascade=orphan");
    check_left("whenDeleted: Delete", &[orphan], "", &ALL);
    let again = format!("apply -f - <<EOF\n{}\nEOF", set("whenDeleted: Delete").replace(", uid: s", ""));
    check_left("whenDeleted: Delete", &[orphan, (90, &again)], "", &ALL);
    check_left("whenDeleted: Delete", &[orphan, (90, &again), (120, "delete sts db")], "", &[]);
}

#[test]
fn claims_of_a_set_that_went_while_nobody_looked_are_collected_later() {
    let outage = "{at: 30s, fault: {kind: ControlPlaneOutage, components: [kube-controller-manager], for: 60s}}";
    check_left("whenDeleted: Delete", &[(60, "delete sts db")], outage, &[]);
    check_left("whenDeleted: Retain", &[(60, "delete sts db")], outage, &ALL);
}

#[test]
fn claims_name_the_set_or_the_pod_with_which_they_go() {
    let check = |policy: &str, lines: &[(u32, &str)], expected: &str| {
        let owners =
            "get pvc -o jsonpath='{range .items[*]}{.metadata.name}={.metadata.ownerReferences[*].kind},{end}'";
        let lines = [lines, &[(70, owners)]].concat();
        let object = set(policy)
            .replace("template: {metadata: {", "template: {metadata: {annotations: {kubesquall.sim/stop: 25s}, ");
        let observed = play_lines(&lines, "", &object);
        assert_eq!(observed.transcript.last().expect("a line").stdout, [expected], "{policy}");
    };
    let smaller = (60, "scale sts db --replicas=2");
    check("whenScaled: Retain", &[smaller], "data-db-0=,data-db-1=,data-db-2=,");
    let both = "whenDeleted: Delete, whenScaled: Delete";
    check(both, &[smaller], "data-db-0=StatefulSet,data-db-1=StatefulSet,data-db-2=Pod,");
    check("whenDeleted: Delete", &[smaller], "data-db-0=StatefulSet,data-db-1=StatefulSet,data-db-2=StatefulSet,");
    check("whenScaled: Delete", &[smaller], "data-db-0=,data-db-1=,data-db-2=Pod,");
}

/// As a StatefulSet of an earlier version wrote it.
#[test]
fn claims_that_come_with_their_set_as_owner_lose_it_where_they_are_to_stay() {
    let claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-0, namespace: default, ownerReferences: \
                 [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: s}]}, spec: {accessModes: [ReadWriteOnce], resources: \
                 {requests: {storage: 1Gi}}}}";
    let check = |policy: &str, expected: &[&str]| {
        let objects = format!("{}\n---\n{claim}", set(policy));
        let observed = play_lines(&[(60, "delete sts db"), (400, "get pvc -o name")], "", &objects);
        assert_eq!(observed.transcript.last().expect("a line").stdout, expected, "{policy}");
    };
    check("whenDeleted: Retain", &ALL);
    check("whenDeleted: Delete", &[]);
}

/// Pods are adopted before anything is made of them.
#[test]
fn pods_are_adopted_while_a_claim_of_theirs_is_being_deleted() {
    let again = format!("apply -f - <<EOF\n{}\nEOF", set("whenDeleted: Retain").replace(", uid: s", ""));
    let lines = [
        (60, "delete pvc data-db-0 --wait=false"),
        (62, "delete sts db --cascade=orphan"),
        (65, &again),
        (67, "get sts db -o jsonpath='{.status.replicas} {.status.readyReplicas}'"),
    ];
    let observed = play_lines(&lines, "", &set("whenDeleted: Retain"));
    assert_eq!(observed.transcript.last().expect("a line").stdout, ["3 3"], "{:?}", printed(&observed));
    let failed = observed.events.iter().filter(|event| event.reason == "FailedCreate");
    assert_eq!(failed.map(|event| event.message.to_string()).collect::<Vec<_>>(), Vec::<String>::new());
    assert!(observed.pods.iter().all(|pod| pod.gone_at.is_none()));
}

/// Before the pod's own: whether a claim is made, and why it is not.
#[test]
fn claims_that_are_made_or_refused_are_told() {
    let small = set("whenDeleted: Retain").replace("replicas: 3", "replicas: 1");
    let quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: default}, spec: {hard: {persistentvolumeclaims: '2'}}}";
    let lines = [(60, "scale sts db --replicas=2"), (120, "scale sts db --replicas=3")];
    let observed = play_lines(&lines, "", &format!("{small}\n---\n{quota}"));
    let told = observed.events.iter().filter(|event| &*event.name == "db" && event.reason.ends_with("Create"));
    let mut told: Vec<String> = told.map(|event| format!("{} {}", event.reason, event.message)).collect();
    told.dedup();
    let refused = "persistentvolumeclaims \"data-db-2\" is forbidden: exceeded quota: few, requested: persistentvolumeclaims=1, used: \
                   persistentvolumeclaims=2, limited: persistentvolumeclaims=2";
    let expected = [
        "SuccessfulCreate Create Claim data-db-1 Pod db-1 in StatefulSet db success".to_owned(),
        "SuccessfulCreate Create Pod db-1 in StatefulSet db successful".to_owned(),
        format!("FailedCreate Create Claim data-db-2 for Pod db-2 in StatefulSet db failed error: {refused}"),
        format!(
            "FailedCreate Create Pod db-2 in StatefulSet db failed error: failed to create PVC data-db-2: {refused}"
        ),
    ];
    assert_eq!(told[..4], expected, "{told:?}");
}
