//! Critical pods make room for themselves; labels count as they are.

use super::bench::Bench;
use super::{ONE, bound};
use crate::chaos::FaultKind;
use crate::state::PodPhase;

fn pod(name: &str, priority: i32, requests: &str) -> String {
    let spec =
        format!("priority: {priority}, containers: [{{name: c, image: i, resources: {{requests: {{{requests}}}}}}}]");
    bound("", &spec).replace("name: p,", &format!("name: {name},"))
}

#[test]
fn a_critical_pod_preempts_as_few_pods_as_possible() {
    let mut bench = Bench::new();
    bench.create(0.0, &pod("best-effort", 0, ""));
    bench.create(0.0, &pod("small", 0, "cpu: '1'"));
    bench.create(0.0, &pod("large", 0, "cpu: '6'"));
    bench.create(0.0, &pod("other-critical", 2_000_000_000, "cpu: '1'"));
    bench.create(10.0, &pod("critical", 2_000_000_000, "cpu: '1'"));
    bench.run_until(30.0);
    assert_eq!(bench.messages("Preempting"), [("small", "Preempted in order to admit critical pod")]);
    let victim = bench.pod("small");
    assert_eq!((victim.phase, victim.reason.as_str(), victim.deletion), (PodPhase::Failed, "Preempting", None));
    assert!(victim.disruption_target.is_some_and(|target| target.status));
    // It starts when its victim has stopped.
    assert_eq!(bench.ready_changes("critical")[0].0.round() as i64, 13);
}

#[test]
fn a_critical_pod_for_which_nobody_can_make_room_is_refused() {
    let mut bench = Bench::new();
    bench.create(0.0, &pod("other-critical", 2_000_000_000, "cpu: '8'"));
    bench.create(0.0, &pod("best-effort", 0, ""));
    bench.create(10.0, &pod("critical", 2_000_000_000, "cpu: '1'"));
    bench.run_until(30.0);
    assert_eq!(bench.pod("critical").reason.as_str(), "UnexpectedAdmissionError");
    assert!(bench.events("Preempting").is_empty());
    let text = bench.messages("UnexpectedAdmissionError")[0].1;
    assert!(text.ends_with("no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]"), "{text}");
}

#[test]
fn a_node_label_that_was_just_set_counts() {
    let mut bench = Bench::new();
    let spec = format!("nodeSelector: {{disk: fast}}, {ONE}");
    bench.create(1.0, &bound("", &spec));
    bench.run_until(5.0);
    assert_eq!((bench.pod("p").phase, bench.pod("p").reason.as_str()), (PodPhase::Failed, "NodeAffinity"));
    bench.label("disk", "fast");
    bench.create(10.0, &bound("", &spec).replace("name: p,", "name: q,"));
    bench.run_until(20.0);
    assert!(bench.pod("q").is_ready());
}

#[test]
fn a_victim_whose_end_is_forgotten_comes_to_its_own_end() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/run-for: 100s, kubesquall.sim/stop: 200s";
    let spec = "restartPolicy: Never, terminationGracePeriodSeconds: 60, \
        containers: [{name: c, image: i, resources: {requests: {cpu: '8'}}}]";
    bench.create(0.0, &bound(annotations, spec));
    bench.create(30.0, &pod("critical", 2_000_000_000, "cpu: '1'"));
    bench.fault(40, FaultKind::KubeletStop, Some(5));
    bench.delete(42.0, "critical", Some(0));
    bench.run_until(390.0);
    let ended_s = bench.finished_at("p").expect("it has ended");
    assert!((102.0..105.0).contains(&ended_s), "{ended_s}");
}
