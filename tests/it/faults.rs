//! `faults.csv`: what each fault hit, for how long, and when it was noticed.

use std::path::Path;

use kubesquall::observe::{FaultRow, Matter, Observed};
use kubesquall::scenario::{self, Overrides};

use super::figures::{play, web};
use super::plays;

fn of<'a>(observed: &'a Observed, name: &str) -> Vec<&'a FaultRow> {
    observed.faults.iter().filter(|row| &*row.name == name).collect()
}

/// A row's object, node, and when it began and ended.
fn extent(row: &FaultRow) -> (&str, &str, f64, Option<f64>) {
    (&row.object, row.node.as_str(), row.began_at.as_secs_f64(), row.ended_at.map(|at| at.as_secs_f64()))
}

#[test]
fn a_fault_has_a_row_for_each_object_that_it_hits() {
    let timeline = "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0, n-1]}, for: 10m}}, \
                    {at: 20m, fault: {kind: ControlPlaneOutage, components: [kube-scheduler], for: 1m}}, \
                    {at: 22m, fault: {kind: PodKill, pods: {selector: app=web, count: 1}}}, \
                    {at: 23m, fault: {kind: Crash, nodes: {names: [n-2]}}}, \
                    {at: 24m, fault: {kind: PodKill, nodes: {names: [n-2]}, pods: {selector: app=web, names: [web-0]}}}";
    let observed = play("40m", timeline, &[&web(6)]);
    let crash = of(&observed, "Crash@1m0s");
    let extents: Vec<_> = crash.iter().map(|row| extent(row)).collect();
    assert_eq!(extents, [("node/n-0", "n-0", 60.0, Some(660.0)), ("node/n-1", "n-1", 60.0, Some(660.0))]);
    for row in &crash {
        assert_eq!((row.kind, row.pods), ("Crash", Some(2)), "{row:?}");
        // Silence is noticed 40 to 60 s later; the machine is Ready after its boot.
        let (noticed, ready) = (row.not_ready_at.expect("noticed"), row.ready_at.expect("Ready again"));
        assert!((99.0..121.0).contains(&noticed.as_secs_f64()) && ready.as_secs_f64() > 660.0, "{row:?}");
    }
    let [outage] = of(&observed, "ControlPlaneOutage@20m0s")[..] else { panic!("{:?}", observed.faults) };
    assert_eq!(extent(outage), ("process/kube-scheduler", "", 1200.0, Some(1260.0)));
    let [kill] = of(&observed, "PodKill@22m0s")[..] else { panic!("{:?}", observed.faults) };
    assert_eq!((kill.began_at, kill.pods, kill.not_ready_at), (kill.ended_at.expect("over at once"), None, None));
    let killed = observed.pods.iter().find(|pod| kill.object == format!("pod/default/{}", pod.name));
    assert_eq!(killed.map(|pod| pod.node), Some(kill.node));
    // It lasts to the end; a fault that hits nothing has no row.
    let [last] = of(&observed, "Crash@23m0s")[..] else { panic!("{:?}", observed.faults) };
    assert_eq!(extent(last), ("node/n-2", "n-2", 1380.0, None));
    assert!(last.not_ready_at.is_some() && last.ready_at.is_none());
    assert_eq!(of(&observed, "PodKill@24m0s").len(), 0);
}

#[test]
fn a_fault_that_nobody_noticed_has_no_part_in_what_comes_later() {
    let timeline = "{at: 1m, fault: {kind: Partition, nodes: {names: [n-0]}, for: 10s}}, \
                    {at: 5m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 5m}}, \
                    {at: 20m, fault: {kind: Reboot, nodes: {names: [n-1]}, boot: {constant: 3m}}}";
    let observed = play("30m", timeline, &[&web(6)]);
    let [partition] = of(&observed, "Partition@1m0s")[..] else { panic!("{:?}", observed.faults) };
    assert_eq!((partition.not_ready_at, partition.ready_at), (None, None), "{partition:?}");
    let [crash] = of(&observed, "Crash@5m0s")[..] else { panic!("{:?}", observed.faults) };
    assert!(crash.not_ready_at.is_some() && crash.ready_at > crash.not_ready_at, "{crash:?}");
    let [reboot] = of(&observed, "Reboot@20m0s")[..] else { panic!("{:?}", observed.faults) };
    // It lasts until the machine is up again, which takes as long as it boots.
    assert_eq!(reboot.ended_at.map(|at| at.as_secs_f64()), Some(1380.0));
    assert!(reboot.ready_at > reboot.ended_at, "{reboot:?}");
    let noticed = reboot.not_ready_at.expect("a boot of three minutes is noticed").as_secs_f64();
    assert!((1239.0..1261.0).contains(&noticed) && reboot.ready_at.is_some(), "{reboot:?}");
}

#[test]
fn failures_by_chance_have_rows_as_their_events_say() {
    // The list of the timeline ends, and that of the random processes begins.
    let processes = "], faults: [{name: crashes, kind: Crash, timeToFailure: {exponential: {mean: 2h}}, timeToRepair: {constant: 10m}}";
    let observed = play("12h", processes, &[&web(6)]);
    let told = |reason: &str| {
        let events = observed.events.iter().filter(|event| event.reason == reason);
        events.map(|event| (event.name.to_string(), event.at)).collect::<Vec<_>>()
    };
    let began: Vec<_> = observed.faults.iter().map(|row| (row.name.to_string(), row.began_at)).collect();
    assert!(began.len() > 5);
    assert_eq!(began, told("FaultBegan"));
    let mut ended: Vec<_> =
        observed.faults.iter().filter_map(|row| Some((row.name.to_string(), row.ended_at?))).collect();
    ended.sort_by_key(|(_, at)| *at);
    assert_eq!(ended, told("FaultEnded"));
}

#[test]
fn a_machine_that_ends_after_its_fault_is_noticed() {
    // The new machine is ordered long before the old one is off.
    let timeline = "{at: 1m, fault: {kind: SpotInterruption, nodes: {names: [n-0]}, for: 30s, notice: 5m}}";
    let observed = play("20m", timeline, &[&web(6)]);
    let [spot] = of(&observed, "SpotInterruption@1m0s")[..] else { panic!("{:?}", observed.faults) };
    assert_eq!(spot.ended_at.map(|at| at.as_secs_f64()), Some(90.0));
    let noticed = spot.not_ready_at.expect("the machine is off from 6m on").as_secs_f64();
    assert!((360.0..430.0).contains(&noticed), "{spot:?}");
}

#[test]
fn a_fault_is_over_for_a_machine_that_is_gone() {
    let timeline = "{at: 1m, fault: {kind: SlowDisk, nodes: {names: [n-0, n-1]}, factor: 10}}, \
                    {at: 1m, fault: {kind: Crash, nodes: {names: [n-0, n-2]}, for: 20m}}, \
                    {at: 5m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}";
    let observed = play("30m", timeline, &[&web(6)]);
    let extents = |name: &str| of(&observed, name).into_iter().map(extent).collect::<Vec<_>>();
    assert_eq!(extents("SlowDisk@1m0s"), [("node/n-0", "n-0", 60.0, Some(300.0)), ("node/n-1", "n-1", 60.0, None)]);
    assert_eq!(
        extents("Crash@1m0s"),
        [("node/n-0", "n-0", 60.0, Some(300.0)), ("node/n-2", "n-2", 60.0, Some(1260.0))]
    );
}

#[test]
fn a_machine_that_is_hit_before_its_node_joins_has_the_zone_of_that() {
    let text = "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {name: zones}\nspec: {duration: 10m, cluster: {nodePools: \
                [{name: n, count: 2, zones: [a, b], template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, latency: \
                {nodeBoot: {constant: 30s}}, timeline: [{at: 1m, addNodes: {pool: n, count: 1}}, {at: 1m1s, fault: {kind: \
                MemoryPressure, nodes: {names: [n-2]}, for: 5m}}]}";
    let scenario = scenario::load_text("zones.yaml", text, Path::new("absent"), &Overrides::none());
    let (observed, _) = plays::whole(&scenario.unwrap_or_else(|invalid| panic!("{invalid:?}")));
    let [hit] = of(&observed, "MemoryPressure@1m1s")[..] else { panic!("{:?}", observed.faults) };
    let joined = observed.inventory.iter().find(|row| row.node == "n-2").expect("it joins");
    assert!(joined.joined_at > hit.began_at, "{joined:?}");
    assert_eq!((hit.zone.as_str(), hit.zone), ("a", joined.zone), "{hit:?}");
}

#[test]
fn a_node_that_was_not_ready_before_or_for_another_reason_is_not_put_down_to_a_fault() {
    let timeline = "{at: 30s, kubectl: label node n-1 topology.kubernetes.io/zone=q}, \
                    {at: 1m, fault: {kind: MemoryPressure, nodes: {names: [n-0]}, for: 20m}}, \
                    {at: 1m, fault: {kind: ImagePullFailure, for: 20m}}, \
                    {at: 2m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 10m}}, \
                    {at: 5m, fault: {kind: Partition, nodes: {names: [n-0]}, for: 1m}}, \
                    {at: 6m, kubectl: delete node n-1}, {at: 6m, fault: {kind: KubeletStop, nodes: {names: [n-1]}}}, \
                    {at: 7m, fault: {kind: Crash, nodes: {names: [n-1]}}}";
    let observed = play("30m", timeline, &[&web(6)]);
    for name in ["MemoryPressure@1m0s", "ImagePullFailure@1m0s", "Partition@5m0s"] {
        let rows = of(&observed, name);
        assert!(!rows.is_empty(), "{name}");
        assert!(rows.iter().all(|row| (row.not_ready_at, row.ready_at) == (None, None)), "{rows:?}");
    }
    let [crash] = of(&observed, "Crash@2m0s")[..] else { panic!("{:?}", observed.faults) };
    assert!(crash.not_ready_at.is_some() && crash.ready_at > crash.ended_at, "{crash:?}");
    // The zone of a node that is deleted is what it was.
    let [gone] = of(&observed, "Crash@7m0s")[..] else { panic!("{:?}", observed.faults) };
    assert_eq!((gone.node.as_str(), gone.zone.as_str()), ("n-1", "q"));
}

#[test]
fn failures_by_chance_that_find_nobody_are_told_as_those_of_the_timeline() {
    let processes = "{at: 6h, kubectl: scale deployment web --replicas=0}], faults: [\
                     {name: nobody, kind: PodKill, pods: {namespace: absent}, timeToFailure: {exponential: {mean: 1h}}}, \
                     {name: some, kind: PodKill, pods: {selector: app=web, count: 1}, timeToFailure: {exponential: {mean: 1h}}}";
    let observed = play("12h", processes, &[&web(6)]);
    let count = |name: &str, reason: &str| {
        observed.events.iter().filter(|event| &*event.name == name && event.reason == reason).count()
    };
    let (missed, hit) = (count("nobody/PodKill", "NothingToFail"), count("some/PodKill", "FaultBegan"));
    assert!(missed > 2 && hit > 0 && count("some/PodKill", "NothingToFail") > 0);
    assert_eq!((count("nobody/PodKill", "FaultBegan"), count("nobody/PodKill", "FaultEnded")), (0, 0));
    assert_eq!(of(&observed, "some/PodKill").len(), hit);
    let told: Vec<_> =
        observed.summary.verdict.iter().filter(|sentence| sentence.kind == Matter::FaultHitNobody).collect();
    let [told] = told[..] else { panic!("{told:?}") };
    assert_eq!(told.objects, [format!("nobody/PodKill (PodKill: no pod matches, {missed} times)")]);
}

#[test]
fn nodes_that_join_while_a_fault_of_all_nodes_lasts_have_rows_of_their_own() {
    let timeline = "{at: 1m, fault: {kind: ImagePullFailure, for: 20m}}, {at: 2m, fault: {kind: ImagePullFailure, nodes: {names: [n-0]}, \
                    for: 20m}}, {at: 5m, addNodes: {pool: n, count: 1}}, {at: 10m, kubectl: delete node n-1}, \
                    {at: 30m, addNodes: {pool: n, count: 1}}";
    let observed = play("40m", timeline, &[&web(6)]);
    let rows = of(&observed, "ImagePullFailure@1m0s");
    let objects: Vec<&str> = rows.iter().map(|row| row.object.as_str()).collect();
    assert_eq!(objects, ["node/n-0", "node/n-1", "node/n-2", "node/n-3"]);
    assert!(rows.iter().all(|row| row.ended_at.map(|at| at.as_secs_f64()) == Some(1260.0)), "{rows:?}");
    let joined = rows[3].began_at.as_secs_f64();
    assert!((300.0..600.0).contains(&joined) && rows[3].pods == Some(0), "{:?}", rows[3]);
    assert_eq!(of(&observed, "ImagePullFailure@2m0s").len(), 1);
}
