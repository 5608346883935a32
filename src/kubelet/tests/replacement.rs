//! Pods whose containers get other images.

use super::bench::Bench;
use super::{ONE, bound};
use crate::state::Pod;

fn restarts(pod: &Pod) -> u32 {
    pod.containers[0].restarts
}

#[test]
fn another_image_restarts_a_container_in_one_sync_whatever_its_policy_says() {
    for policy in ["Always", "Never"] {
        let mut bench = Bench::new();
        bench.create(0.0, &bound("kubesquall.sim/stop: 3s", &format!("restartPolicy: {policy}, {ONE}")));
        bench.run_until(10.0);
        bench.set_image("p", "j");
        bench.run_until(14.9);
        assert_eq!((restarts(bench.pod("p")), bench.pod("p").is_ready()), (0, true), "{policy}");
        bench.run_until(20.0);
        let pod = bench.pod("p");
        assert_eq!((restarts(pod), pod.containers[0].last.map(|end| end.exit_code)), (1, Some(0)), "{policy}");
        assert_eq!(bench.ready_changes("p").len(), 1, "nobody sees that it was down: {:?}", bench.ready_changes("p"));
        assert_eq!(bench.messages("Killing"), [("p", "Container c definition changed, will be restarted")]);
    }
}

#[test]
fn another_image_ends_a_back_off_and_the_next_begins_anew() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '1'", ONE));
    // Starts at 2, 5, and after 10 and 20 seconds more.
    bench.run_until(30.0);
    let before = bench.events("Started").len();
    bench.set_image("p", "j");
    bench.run_until(34.0);
    assert_eq!(bench.events("Started").len(), before + 1, "{:?}", bench.events("Started"));
}

#[test]
fn a_label_alone_restarts_nothing() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("", ONE));
    bench.run_until(10.0);
    bench.set_image("p", "i");
    bench.annotate("p", "a", "b");
    bench.run_until(20.0);
    assert_eq!(bench.events("Started").len(), 1);
}
