//! Containers that end while something else of theirs is under way.

use super::bench::Bench;
use super::{ONE, bound};
use crate::model::config::KubernetesVersion;
use crate::state::{ContainerState, PodPhase};

#[test]
fn a_container_that_ends_while_its_failed_probe_kills_it_starts_again() {
    let mut bench = Bench::new();
    let annotations = "kubesquall.sim/start: 20s, kubesquall.sim/healthy-for: 5s, kubesquall.sim/stop: 20s, \
                       kubesquall.sim/run-for: 15s";
    let probe = "livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 1}";
    bench.create(0.0, &bound(annotations, &format!("containers: [{{name: c, image: i, {probe}}}]")));
    // It runs at 20 s, fails its probe after 25 s, ends at 35 s and starts until 55 s: the kill of 47 s finds nothing.
    bench.run_until(60.0);
    assert_eq!(bench.events("Killing").len(), 1);
    assert_eq!(bench.events("Started").len(), 2);
    assert_eq!(bench.pod("p").phase, PodPhase::Running);
}

#[test]
fn a_container_that_is_probed_is_killed_for_its_memory_as_any_other() {
    for probe in ["", "readinessProbe: {httpGet: {port: 80}}, "] {
        let mut bench = Bench::new();
        let container = format!("{{name: c, image: i, {probe}resources: {{limits: {{memory: 100Mi}}}}}}");
        bench.create(0.0, &bound("kubesquall.sim/usage: '{memory: 200Mi}'", &format!("containers: [{container}]")));
        bench.run_until(8.0);
        assert!(bench.pod("p").restarts_max() > 0, "{probe}");
    }
}

#[test]
fn an_end_is_seen_at_a_listing_and_the_phase_follows_with_the_next() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 30s", &format!("restartPolicy: Never, {ONE}")));
    bench.run_until(60.0);
    let unready = bench.ready_changes("p")[1].0;
    assert!((32.0..33.1).contains(&unready), "{unready}");
    let finished = bench.finished_at("p").expect("it has finished");
    // The last status follows that listing.
    assert!((1.009..1.041).contains(&(finished - unready)), "{finished} {unready}");
    let ending = bench.pod("p").containers[0].state.ending().expect("an end");
    assert_eq!(ending.finished_at.as_nanos() / 100_000_000, 320);
}

#[test]
fn a_restart_follows_the_listing_and_its_back_off_the_end() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/run-for: 8s, kubesquall.sim/exit-code: '1'", ONE));
    bench.run_until(60.0);
    let starts = bench.events("Started");
    // Eight seconds and two for the start; the second time ten of back-off, with the jitter of what is left of it at the listing.
    assert!((10.0..11.1).contains(&(starts[1] - starts[0])), "{starts:?}");
    assert!((20.0..25.2).contains(&(starts[2] - starts[1])), "{starts:?}");
}

#[test]
fn a_container_that_backs_off_shows_its_end_until_the_next_sync() {
    let mut bench = Bench::new();
    bench.config_mut().version = KubernetesVersion::NEWEST;
    bench.create(0.0, &bound("kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '3'", ONE));
    bench.run_until(1.0);
    let (mut shown, mut before) = (Vec::new(), None);
    for second in 1..400 {
        bench.run_until(f64::from(second));
        let Some(status) = bench.pod("p").containers.first() else { continue };
        let words = match status.state {
            ContainerState::Terminated(ending) => {
                assert_eq!((ending.exit_code, status.last.is_some()), (3, status.restarts > 0));
                "ended"
            }
            ContainerState::CrashLoopBackOff => "waits",
            _ => "runs",
        };
        if before.replace(words) != Some(words) {
            shown.push(words);
        }
    }
    // The start takes two seconds, in which it waits.
    assert!(shown.windows(3).any(|words| words == ["ended", "waits", "runs"]), "{shown:?}");
    assert!(!shown.windows(2).any(|words| words == ["runs", "waits"]), "{shown:?}");
    assert!(shown.windows(2).filter(|words| *words == ["ended", "waits"]).count() >= 4, "{shown:?}");
}
