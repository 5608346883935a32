//! `disruptions.csv`: who came for whom, how long that took, and why nobody came.

use kubesquall::observe::{DisruptionRow, Observed, Outcome, Phase};
use kubesquall::state::DeletionCause;

use super::figures::{play, pod, web};

fn length(row: &DisruptionRow, phase: Phase) -> f64 {
    row.phases[phase as usize].as_secs_f64()
}

/// The rows of pods whose names begin so.
fn of<'a>(observed: &'a Observed, name: &str) -> Vec<&'a DisruptionRow> {
    observed.disruptions.iter().filter(|row| row.name.starts_with(name)).collect()
}

/// Each row's lengths follow one another from when the pod stopped to serve.
fn check_sums(observed: &Observed) {
    assert!(!observed.disruptions.is_empty());
    for row in &observed.disruptions {
        let from = row.stopped_at.unwrap_or(row.lost_at);
        if let Some(ready) = row.replacement.as_ref().and_then(|other| other.ready_at) {
            assert_eq!(row.total(), ready.saturating_since(from), "{row:?}");
        }
    }
}

#[test]
fn a_pod_that_is_collected_with_its_node_is_replaced_by_the_one_made_when_it_failed() {
    // Many, as calls decide which is first.
    let observed = play("10m", "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}", &[&web(30)]);
    check_sums(&observed);
    let rows = of(&observed, "web");
    assert!(rows.len() >= 2);
    let mut made_before = 0;
    for row in rows {
        assert_eq!((row.by, row.outcome), (Some(DeletionCause::DeletionByPodGc), Outcome::Replaced), "{row:?}");
        assert_eq!(row.stopped_at.map(|at| at.as_secs_f64()), Some(60.0), "it served until its machine was gone");
        assert!(length(row, Phase::Detect) > 20.0 && length(row, Phase::Recreate) < 1.0, "{row:?}");
        let made = row.replacement.as_ref().map(|other| other.created_at);
        made_before += u32::from(row.deletion_at.is_some_and(|deleted| made < Some(deleted)));
    }
    assert!(made_before > 0, "its successor is made when it fails, which is before it is deleted");
}

#[test]
fn the_phases_of_an_eviction_are_the_silence_the_toleration_and_the_way_back() {
    let observed = play("20m", "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}}}", &[&web(6)]);
    check_sums(&observed);
    let rows = of(&observed, "web");
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!((row.by, row.outcome), (Some(DeletionCause::TaintManagerEviction), Outcome::Replaced), "{row:?}");
        assert!((35.0..65.0).contains(&length(row, Phase::Detect)), "{row:?}");
        assert!((295.0..315.0).contains(&length(row, Phase::Wait)), "{row:?}");
        assert_eq!(length(row, Phase::DeadNode), 0.0);
        assert!((0.9..5.0).contains(&length(row, Phase::Start)), "{row:?}");
    }
}

#[test]
fn machines_that_only_lose_their_link_serve_until_they_are_noticed() {
    let observed = play("20m", "{at: 1m, fault: {kind: Partition, nodes: {names: [n-0]}}}", &[&web(6)]);
    check_sums(&observed);
    assert!(of(&observed, "web").iter().all(|row| length(row, Phase::Detect) == 0.0));
}

#[test]
fn a_pod_bound_to_a_machine_that_is_off_waits_for_the_machine() {
    let timeline = "{at: 30s, kubectl: cordon n-0 n-2}, {at: 60s, fault: {kind: Crash, nodes: {names: [n-1]}, for: 3m}}, \
                    {at: 62s, kubectl: delete pod -l app=web --wait=false}";
    let observed = play("10m", timeline, &[&web(3)]);
    check_sums(&observed);
    let waited: Vec<_> = observed.disruptions.iter().filter(|row| length(row, Phase::DeadNode) > 0.0).collect();
    assert!(!waited.is_empty());
    for row in waited {
        assert_eq!(row.replacement.as_ref().map(|other| other.node.as_str()), Some("n-1"), "{row:?}");
        assert!((150.0..300.0).contains(&length(row, Phase::DeadNode)), "{row:?}");
    }
}

#[test]
fn why_nobody_comes_is_told() {
    let set = |kind: &str, name: &str, more: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}, namespace: default}}, spec: {{{more}selector: {{matchLabels: \
             {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}"
        )
    };
    let objects = [
        web(3),
        pod("lone", ""),
        set("DaemonSet", "agent", ""),
        set("StatefulSet", "db", "serviceName: db, replicas: 3, "),
        set("Deployment", "few", "replicas: 3, "),
    ];
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    // The nodes go for good; what is scaled down meanwhile has nothing to come back to.
    let timeline = "{at: 50s, fault: {kind: ControlPlaneOutage, components: [kube-controller-manager], for: 5m}}, \
                    {at: 60s, kubectl: delete pod -l app=few --wait=false}, {at: 70s, kubectl: scale deploy/few --replicas=0}, \
                    {at: 80s, kubectl: delete pod -l app=web --wait=false}, \
                    {at: 8m, fault: {kind: InstanceGone, nodes: {names: [n-0, n-1, n-2]}}}";
    let observed = play("20m", timeline, &objects);
    check_sums(&observed);
    let outcomes = |name: &str| -> Vec<Outcome> {
        let mut all: Vec<Outcome> = of(&observed, name).iter().map(|row| row.outcome).collect();
        all.dedup();
        all
    };
    assert_eq!(outcomes("lone"), [Outcome::NoController]);
    assert_eq!(outcomes("agent"), [Outcome::NodeGone]);
    assert_eq!(outcomes("few"), [Outcome::ScaledDown]);
    assert_eq!(outcomes("web"), [Outcome::Replaced, Outcome::NotReadyByTheEnd], "no node is left for the second");
    // A StatefulSet makes one at a time.
    let db = outcomes("db");
    assert!(db.contains(&Outcome::NotByTheEnd) && db.contains(&Outcome::NotReadyByTheEnd) && db.len() < 4, "{db:?}");
    assert!(of(&observed, "lone").iter().all(|row| length(row, Phase::Recreate) == 0.0));
    let waiting = of(&observed, "db")[0];
    assert_eq!(
        waiting.total(),
        observed.cluster.last().expect("rows").at.saturating_since(waiting.stopped_at.unwrap())
    );
}

#[test]
fn a_replacement_that_ends_before_it_is_ready_has_a_row_of_its_own() {
    let timeline = "{at: 30s, kubectl: cordon n-0 n-2}, {at: 60s, fault: {kind: Crash, nodes: {names: [n-1]}}}, \
                    {at: 62s, kubectl: delete pod -l app=web --wait=false}, {at: 5m, kubectl: uncordon n-0 n-2}";
    let observed = play("20m", timeline, &[&web(3)]);
    check_sums(&observed);
    let ended: Vec<_> = observed.disruptions.iter().filter(|row| row.outcome == Outcome::ReplacementEnded).collect();
    assert!(!ended.is_empty(), "{:?}", observed.disruptions);
    for row in ended {
        let other = row.replacement.as_ref().expect("a pod came");
        let own = observed.disruptions.iter().find(|own| own.name == other.name).expect("a row of its own");
        assert_eq!((own.outcome, own.stopped_at), (Outcome::Replaced, None));
        assert_eq!(
            row.lost_at + row.total(),
            own.lost_at + (row.stopped_at.map_or(Default::default(), |at| row.lost_at.saturating_since(at)))
        );
    }
}
