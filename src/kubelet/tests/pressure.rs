//! Node-pressure eviction.

use super::bench::Bench;
use super::bound;
use crate::chaos::FaultKind;
use crate::state::{NodeConditionKind, PodPhase};

const MIB: i64 = 1 << 20;

/// A pod of one container with this priority, memory request (none if empty) and usage.
fn pod(name: &str, priority: i32, request: &str, usage: &str) -> String {
    let resources = if request.is_empty() { String::new() } else { format!("resources: {{requests: {{{request}}}}}") };
    let spec = format!("priority: {priority}, containers: [{{name: c, image: i, {resources}}}]");
    bound(&format!("kubesquall.sim/usage: '{{{usage}}}'"), &spec).replace("name: p,", &format!("name: {name},"))
}

/// A node of 16 GiB with five pods that use 1850 MiB.
fn five_pods(configuration: &str) -> Bench {
    let mut bench = Bench::new();
    bench.configure(configuration);
    let guaranteed = pod("g", -10, "memory: 1Gi", "memory: 900Mi")
        .replace("requests: {memory: 1Gi}", "limits: {cpu: 10m, memory: 1Gi}");
    bench.create(0.0, &guaranteed);
    bench.create(0.0, &pod("b1", 0, "memory: 100Mi", "memory: 50Mi"));
    bench.create(0.0, &pod("b2", 0, "memory: 100Mi", "memory: 400Mi"));
    bench.create(0.0, &pod("e1", 10, "", "memory: 400Mi"));
    bench.create(0.0, &pod("e2", -10, "", "memory: 100Mi"));
    bench
}

/// What others must use so that this much is available beside the five pods.
fn leave(mib: i64) -> String {
    format!("{{memory: {}Mi}}", 16 * 1024 - 1850 - mib)
}

fn evicted(bench: &Bench) -> Vec<&str> {
    bench.messages("Evicted").iter().map(|(name, _)| *name).collect()
}

const HARD: &str = r#"{"evictionHard":{"memory.available":"1Gi"}}"#;
const SOFT: &str = r#"{"evictionHard":{"memory.available":"1Gi"},"evictionSoft":{"memory.available":"2Gi"},
    "evictionSoftGracePeriod":{"memory.available":"2m"},"evictionMaxPodGracePeriod":5}"#;

#[test]
fn pods_whose_init_containers_run_have_figures() {
    let mut bench = Bench::new();
    bench.configure(HARD);
    bench.create(0.0, &pod("hog", 0, "memory: 100Mi", "memory: 400Mi"));
    let init = pod("init", 0, "memory: 1Gi", "memory: 50Mi")
        .replace("annotations: {", "annotations: {kubesquall.sim/init: 20m, ");
    bench.create(0.0, &init.replace("containers:", "initContainers: [{name: a, image: i}], containers:"));
    let crashing = pod("crashing", 0, "memory: 1Gi", "memory: 50Mi");
    let ends = "annotations: {kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '1', ";
    bench.create(0.0, &crashing.replace("annotations: {", ends));
    bench.burden(200, 400, FaultKind::MemoryPressure, "{memory: 16Gi}");
    bench.run_until(300.0);
    assert_eq!(evicted(&bench), ["crashing", "hog", "init"]);
    let texts: Vec<&str> = bench.messages("Evicted").iter().map(|(_, text)| *text).collect();
    // Of the others nobody knows what they use, or nobody says.
    let names = texts.iter().map(|text| text.contains("Container c was using")).collect::<Vec<bool>>();
    assert_eq!(names, [false, true, false]);
}

#[test]
fn exactly_the_threshold_is_enough() {
    let mut bench = five_pods(SOFT);
    bench.burden(10, 600, FaultKind::MemoryPressure, &leave(2048));
    bench.run_until(500.0);
    assert!(!bench.condition(NodeConditionKind::MemoryPressure));
    assert!(evicted(&bench).is_empty());
}

#[test]
fn a_soft_threshold_posts_its_condition_at_once_and_evicts_after_its_grace() {
    let mut bench = five_pods(SOFT);
    bench.burden(60, 190, FaultKind::MemoryPressure, &leave(1500));
    bench.run_until(80.0);
    assert!(bench.condition(NodeConditionKind::MemoryPressure));
    bench.run_until(179.0);
    assert!(evicted(&bench).is_empty());
    bench.run_until(190.0);
    assert_eq!(evicted(&bench)[0], "e2");
    let at = bench.events("Evicted")[0];
    assert!((180.0..=190.0).contains(&at), "{at}");
    let text = "The node was low on resource: memory. Threshold quantity: 2Gi, available: 1500Mi. \
        Container c was using 100Mi, request is 0, has larger consumption of memory. ";
    assert_eq!(bench.messages("Evicted")[0].1, text);
    assert_eq!((bench.pod("e2").phase, bench.pod("e2").reason.as_str()), (PodPhase::Failed, "Evicted"));
    assert!(
        bench.pod("e2").disruption_target.is_some_and(|target| target.status) && bench.pod("e2").deletion.is_none()
    );
}

#[test]
fn a_soft_eviction_kills_after_the_longest_grace_and_a_hard_one_after_two_seconds() {
    for (configuration, available, from_s, grace_s) in [(SOFT, 1500, 180.0, 5.0), (SOFT, 500, 60.0, 2.0)] {
        let mut bench = five_pods(configuration);
        bench.create(0.0, &pod("z", -20, "", "memory: 1Mi").replace("1Mi}'", "1Mi}', kubesquall.sim/stop: 1h"));
        bench.burden(60, 600, FaultKind::MemoryPressure, &leave(available));
        bench.run_until(300.0);
        assert_eq!(evicted(&bench)[0], "z");
        let finished = bench.finished_at("z").expect("it is over");
        let at = bench.events("Evicted")[0];
        assert!(at >= from_s && (finished - at - grace_s).abs() < 0.1, "{at} {finished}");
    }
}

#[test]
fn conditions_fall_five_minutes_after_they_were_last_observed() {
    let mut bench = five_pods(SOFT);
    bench.burden(60, 120, FaultKind::MemoryPressure, &leave(1500));
    bench.run_until(405.0);
    assert!(bench.condition(NodeConditionKind::MemoryPressure));
    bench.run_until(440.0);
    assert!(!bench.condition(NodeConditionKind::MemoryPressure));
    assert!(evicted(&bench).is_empty());
    assert_eq!(bench.pending(), 0);
}

#[test]
fn under_memory_pressure_best_effort_pods_are_refused_until_the_condition_falls() {
    let mut bench = five_pods(HARD);
    // One eviction makes enough room: then nothing is short, and the condition stays.
    bench.burden(60, 600, FaultKind::MemoryPressure, &leave(950));
    bench.create(100.0, &pod("late-best-effort", 0, "", "memory: 0"));
    bench.create(100.0, &pod("late-burstable", 0, "memory: 1Mi", "memory: 0"));
    bench.create(450.0, &pod("later-best-effort", 0, "", "memory: 0"));
    bench.run_until(110.0);
    assert_eq!(evicted(&bench)[0], "e2");
    let text = "Container c was using 100Mi, request is 0, has larger consumption of memory. ";
    assert!(bench.messages("Evicted")[0].1.ends_with(text), "{:?}", bench.messages("Evicted"));
    assert!(bench.messages("Evicted")[0].1.contains("Threshold quantity: 1Gi, available: 950Mi. "));
    assert_eq!(bench.pod("late-best-effort").phase, PodPhase::Failed);
    let refusal = bench.messages("Evicted")[1];
    assert_eq!(refusal, ("late-best-effort", "The node had condition: [MemoryPressure]. "));
    assert_eq!(bench.pod("late-burstable").phase, PodPhase::Running);
    bench.run_until(500.0);
    assert_eq!(bench.pod("later-best-effort").phase, PodPhase::Running);
}

#[test]
fn the_minimum_reclaim_is_freed_before_evictions_end() {
    // 400 MiB (e1) and 100 MiB (e2) go first or last; 1 GiB and 500 MiB must be there in the end.
    let reclaim =
        r#"{"evictionHard":{"memory.available":"1Gi"},"evictionMinimumReclaim":{"memory.available":"500Mi"}}"#;
    for (configuration, expected) in [(HARD, vec!["e2", "b2"]), (reclaim, vec!["e2", "b2", "e1"])] {
        let mut bench = five_pods(configuration);
        bench.burden(60, 600, FaultKind::MemoryPressure, &leave(650));
        bench.run_until(300.0);
        assert_eq!(evicted(&bench), expected);
    }
}

#[test]
fn evictions_follow_each_other_as_soon_as_the_pod_is_gone() {
    let mut bench = five_pods(HARD);
    bench.burden(60, 600, FaultKind::MemoryPressure, &leave(100));
    bench.run_until(300.0);
    let at = bench.events("Evicted");
    assert_eq!(evicted(&bench)[..3], ["e2", "b2", "e1"]);
    // It stops within a second, and is looked for after another.
    assert_eq!(at.windows(2).map(|pair| (pair[1] - pair[0]).round() as i64).collect::<Vec<_>>()[..2], [2, 2]);
}

#[test]
fn critical_pods_are_never_evicted() {
    let mut bench = Bench::new();
    bench.configure(HARD);
    let mirror = pod("mirror", 0, "", "memory: 2Gi")
        .replace("annotations: {", "annotations: {kubernetes.io/config.mirror: x, kubernetes.io/config.source: file, ");
    bench.create(0.0, &mirror);
    bench.create(0.0, &pod("critical", 2_000_000_000, "", "memory: 2Gi"));
    bench.create(0.0, &pod("plain", 0, "", "memory: 1Gi"));
    bench.burden(60, 600, FaultKind::MemoryPressure, "{memory: 14Gi}");
    bench.run_until(200.0);
    assert_eq!(evicted(&bench), ["plain"]);
}

#[test]
fn under_disk_pressure_everybody_but_critical_pods_is_refused() {
    let mut bench = Bench::new();
    bench.disk(100 * 1024 * MIB, &[]);
    bench.burden(10, 600, FaultKind::DiskPressure, "{ephemeral-storage: 95Gi}");
    let guaranteed = pod("g", 0, "memory: 1Gi", "memory: 0").replace("requests:", "limits:");
    bench.create(60.0, &guaranteed);
    bench.create(60.0, &pod("critical", 2_000_000_000, "", "memory: 0"));
    bench.run_until(100.0);
    assert!(bench.condition(NodeConditionKind::DiskPressure));
    assert_eq!((bench.pod("g").phase, bench.pod("critical").phase), (PodPhase::Failed, PodPhase::Running));
}

#[test]
fn unused_images_go_before_pods() {
    for (burden, expected) in [("76Gi", vec![]), ("80Gi", vec!["large"])] {
        let mut bench = Bench::new();
        bench.disk(100 * 1024 * MIB, &[("i", 1024 * MIB), ("unused", 8 * 1024 * MIB)]);
        bench.create(0.0, &pod("small", 0, "", "ephemeral-storage: 10Mi"));
        bench.create(0.0, &pod("large", 0, "", "ephemeral-storage: 6Gi"));
        bench.create(0.0, &pod("within", 0, "ephemeral-storage: 8Gi", "ephemeral-storage: 100Mi"));
        // Pods use 6 GiB, images 9 GiB; 15 GiB must be free.
        let burden = format!("{{ephemeral-storage: {burden}}}");
        bench.burden(60, 600, FaultKind::DiskPressure, &burden);
        bench.run_until(200.0);
        assert_eq!(evicted(&bench), expected);
    }
}

#[test]
fn process_numbers_that_run_out_cost_the_pod_of_least_priority_with_the_most_processes() {
    let mut bench = Bench::new();
    bench.configure(r#"{"evictionHard":{"pid.available":"1200"}}"#);
    bench.create(0.0, &pod("few", 0, "", "pids: 100"));
    bench.create(0.0, &pod("many", 0, "", "pids: 900"));
    bench.create(0.0, &pod("high", 10, "", "pids: 3000"));
    bench.burden(60, 600, FaultKind::PidPressure, "{pids: 4189804}");
    bench.run_until(100.0);
    assert!(bench.condition(NodeConditionKind::PidPressure));
    let text = "The node was low on resource: pids. Threshold quantity: 1200, available: 500. ";
    assert_eq!(bench.messages("Evicted"), [("many", text)]);
}

#[test]
fn a_volume_over_its_limit_costs_its_pod_without_any_pressure() {
    let mut bench = Bench::new();
    bench.disk(100 * 1024 * MIB, &[]);
    let volumes = "volumes: [{name: cache, emptyDir: {sizeLimit: 1Gi}}], containers: [{name: c, image: i}]";
    bench.create(0.0, &bound("kubesquall.sim/usage: '{volumes/cache: 2Gi}'", volumes));
    let limited = "containers: [{name: c, image: i, resources: {limits: {ephemeral-storage: 1Gi}}}]";
    let over = bound("kubesquall.sim/usage: '{ephemeral-storage: 1025Mi}'", limited).replace("name: p,", "name: q,");
    bench.create(0.0, &over);
    bench.create(0.0, &over.replace("1025Mi", "1Gi").replace("name: q,", "name: r,"));
    bench.run_until(60.0);
    let expected = [
        ("p", "Usage of EmptyDir volume \"cache\" exceeds the limit \"1Gi\". "),
        ("q", "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "),
    ];
    assert_eq!(bench.messages("Evicted"), expected);
    assert_eq!((bench.pod("p").reason.as_str(), bench.pod("p").disruption_target), ("Evicted", None));
    assert!(!bench.condition(NodeConditionKind::DiskPressure));
}

#[test]
fn memory_is_dealt_with_before_everything_else() {
    let mut bench = Bench::new();
    bench.configure(r#"{"evictionHard":{"pid.available":"1200","nodefs.available":"10%","memory.available":"1Gi"}}"#);
    bench.disk(100 * 1024 * MIB, &[]);
    bench.create(0.0, &pod("disk", 0, "", "ephemeral-storage: 9Gi"));
    bench.create(0.0, &pod("memory", 0, "", "memory: 2Gi"));
    bench.burden(60, 600, FaultKind::MemoryPressure, "{memory: 14Gi, ephemeral-storage: 85Gi, pids: 4194000}");
    bench.run_until(80.0);
    assert_eq!(evicted(&bench)[..2], ["memory", "disk"]);
}

#[test]
fn pods_may_not_use_more_than_is_allocatable_together() {
    let mut bench = Bench::new();
    bench.capacity_of_memory(32 * 1024 * MIB);
    bench.create(0.0, &pod("large", 0, "", "memory: 10Gi"));
    bench.create(0.0, &pod("larger", 0, "", "memory: 7Gi"));
    bench.run_until(60.0);
    assert_eq!(evicted(&bench), ["large"]);
}
