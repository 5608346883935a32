//! Probes of containers.

use super::*;
use crate::state::ContainerState;

#[test]
fn readiness_is_probed_when_the_container_runs_and_not_a_period_later() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, readinessProbe: {httpGet: {port: 80}, periodSeconds: 30}}]";
    bench.create(0.0, &bound("", spec));
    bench.run_until(60.0);
    let changes = bench.ready_changes("p");
    assert!(changes.iter().any(|(at, ready)| *ready && *at < 3.5), "{changes:?}");
}

#[test]
fn an_application_that_hangs_is_killed_and_restarted_by_its_liveness_probe() {
    let mut bench = Bench::new();
    let spec =
        "terminationGracePeriodSeconds: 7, containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 80}}}]";
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 55s, kubesquall.sim/stop: 1000s", spec));
    bench.run_until(95.0);
    // Silent from 57 s on: runs at 60, 70 and 80 s fail, the last after its timeout.
    assert_eq!(bench.events("Unhealthy"), [61.0, 71.0, 81.0]);
    assert_eq!(bench.events("Killing"), [81.0]);
    // SIGKILL after the pod's grace; the first restart waits for nothing, and is part of the sync that has killed: Ready stays.
    assert_eq!(bench.ready_changes("p"), [(2.01, true)]);
    assert_eq!(bench.events("Started"), [2.005, 90.0]);
    assert_eq!(bench.pod("p").restarts_max(), 1);
}

#[test]
fn containers_that_probes_kill_back_off_when_they_ran_shorter_than_their_back_off() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 80}, failureThreshold: 2}}]";
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 40s", spec));
    // Each run takes about a minute: back-offs of up to 40 s are over when it is killed, that of 80 s is not.
    bench.run_until(300.0);
    assert_eq!(bench.pod("p").restarts_max(), 4);
    assert!(matches!(bench.pod("p").containers[0].state, ContainerState::Running { .. }));
    bench.run_until(400.0);
    assert_eq!(bench.events("Killing").len(), 6);
    // The sync that has killed meets the back-off, and so does the next, which says it.
    assert_eq!(bench.events("BackOff").len(), 2);
    let [container] = bench.pod("p").containers[..] else { panic!("one container") };
    assert_eq!(container.state, ContainerState::CrashLoopBackOff);
    assert_eq!(container.last.map(|ending| ending.exit_code), Some(0));
}

#[test]
fn a_probe_has_a_grace_of_its_own() {
    let mut bench = Bench::new();
    let spec =
        "containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 80}, terminationGracePeriodSeconds: 3}}]";
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 55s, kubesquall.sim/stop: 1000s", spec));
    bench.run_until(95.0);
    assert_eq!(bench.events("Started"), [2.005, 86.0]);
}

#[test]
fn who_has_a_readiness_probe_is_not_ready_when_it_has_been_restarted() {
    let mut bench = Bench::new();
    let spec = "terminationGracePeriodSeconds: 7, containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 80}}, readinessProbe: \
                {httpGet: {port: 80}, periodSeconds: 3, failureThreshold: 100}}]";
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 55s, kubesquall.sim/ready: 5s", spec));
    bench.run_until(95.0);
    let changes = bench.ready_changes("p");
    let lost: Vec<f64> = changes.iter().filter(|(_, ready)| !ready).map(|(at, _)| *at).collect();
    let started = bench.events("Started")[1];
    assert!(lost.len() == 1 && (started..started + 0.1).contains(&lost[0]), "{changes:?}, {started}");
}

#[test]
fn an_application_that_hangs_without_a_liveness_probe_is_only_taken_out_of_traffic() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, readinessProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 2}}]";
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 30s", spec));
    bench.run_until(300.0);
    let changes = bench.ready_changes("p");
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert!(!changes[1].1 && (37.5..=38.5).contains(&changes[1].0), "{changes:?}");
    // Two failures count; of those that follow the recorder lets no more than 25 in all pass.
    assert_eq!(bench.events("Unhealthy").len(), 25);
    assert_eq!(bench.pod("p").restarts_max(), 0);
}

#[test]
fn each_probe_of_an_application_that_is_not_up_yet_is_told() {
    let check = |annotations: &str, probes: &str, unhealthy: &[f64], ready_s: f64| {
        let mut bench = Bench::new();
        let spec = format!("containers: [{{name: c, image: i, {probes}}}]");
        bench.create(0.0, &bound(annotations, &spec));
        bench.run_until(100.0);
        let events: Vec<f64> = bench.events("Unhealthy").into_iter().map(|at| (at * 10.0).round() / 10.0).collect();
        assert_eq!(events, unhealthy, "{annotations}, {probes}");
        let first = bench.ready_changes("p").into_iter().find(|(_, ready)| *ready).map(|(at, _)| at);
        assert!(first.is_some_and(|at| (ready_s..ready_s + 0.05).contains(&at)), "{first:?}: {annotations}, {probes}");
        assert_eq!(bench.pod("p").restarts_max(), 0);
    };
    let slow = "kubesquall.sim/ready: 12s";
    // Containers run from 2 s on, and are listed at 2.8 s and every second from then on.
    let probe = "readinessProbe: {httpGet: {port: 80}, periodSeconds: 5}";
    check(slow, probe, &[2.0, 2.8, 3.8, 8.8, 13.8], 18.79);
    check("kubesquall.sim/ready: 10s", probe, &[2.0, 2.8, 3.8, 8.8], 13.79);
    check(slow, "readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 11}", &[13.8], 23.79);
    // The startup probe is asked first, on the beat of its worker.
    let both = "startupProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 9}, readinessProbe: {httpGet: {port: 80}}";
    check(slow, both, &[10.0], 20.0);
    check("", probe, &[], 2.0);
}

#[test]
fn a_startup_probe_kills_at_the_run_that_fails_once_too_often() {
    let mut bench = Bench::new();
    let probe = "startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 3, timeoutSeconds: 5}";
    // It runs from 2 s on; the application would be up at 19 s.
    bench.create(0.0, &bound("kubesquall.sim/ready: 17s", &format!("containers: [{{name: c, image: i, {probe}}}]")));
    bench.run_until(19.5);
    assert_eq!(bench.events("Unhealthy"), [5.0, 10.0, 15.0]);
    assert_eq!(bench.events("Killing"), [15.0]);
    assert!(bench.ready_changes("p").is_empty());
}

#[test]
fn a_new_kubelet_counts_failures_from_the_beginning_and_on_a_beat_of_its_own() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 80}, failureThreshold: 2}}]";
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 55s", spec));
    bench.fault(65, crate::chaos::FaultKind::KubeletStop, Some(5));
    bench.run_until(120.0);
    let unhealthy = bench.events("Unhealthy");
    let [before, first, second] = unhealthy[..] else { panic!("{unhealthy:?}") };
    assert_eq!(before, 61.0);
    // It looks at its pods after a little more than a second, sleeps for up to a period and waits for its timeout.
    assert!((72.1..82.5).contains(&first), "{unhealthy:?}");
    assert!((second - first - 10.0).abs() < 1e-6, "{unhealthy:?}");
    assert_eq!(bench.events("Killing"), [second]);
}

#[test]
fn an_application_that_hangs_is_no_more_ready_after_a_restart_of_its_kubelet() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, readinessProbe: {httpGet: {port: 80}, periodSeconds: 5}}]";
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 30s", spec));
    bench.fault(65, crate::chaos::FaultKind::KubeletStop, Some(5));
    bench.run_until(200.0);
    let changes = bench.ready_changes("p");
    assert_eq!(changes.len(), 2, "{changes:?}");
}

#[test]
fn an_application_without_probes_may_hang_for_ever() {
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 30s", ONE));
    bench.run_until(300.0);
    assert_eq!(bench.ready_changes("p"), [(2.01, true)]);
}

#[test]
fn an_application_slower_than_its_startup_probe_allows_never_comes_up() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, startupProbe: {httpGet: {port: 80}, failureThreshold: 3}}]";
    bench.create(0.0, &bound("kubesquall.sim/ready: 60s", spec));
    bench.run_until(200.0);
    assert!(bench.ready_changes("p").iter().all(|(_, ready)| !ready));
    assert!(bench.pod("p").restarts_max() >= 3, "{}", bench.pod("p").restarts_max());
    let mut patient = Bench::new();
    let spec = "containers: [{name: c, image: i, startupProbe: {httpGet: {port: 80}, failureThreshold: 30}}]";
    patient.create(0.0, &bound("kubesquall.sim/ready: 60s", spec));
    patient.run_until(200.0);
    assert_eq!(patient.pod("p").restarts_max(), 0);
    assert!(patient.pod("p").is_ready());
}

#[test]
fn a_probe_that_fails_during_termination_is_not_looked_at() {
    let mut bench = Bench::new();
    let spec = "containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 80}}}]";
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 55s, kubesquall.sim/stop: 1000s", spec));
    bench.delete(70.0, "p", Some(30));
    bench.run_until(150.0);
    // The first run that fails comes before.
    assert_eq!(bench.events("Unhealthy"), [61.0]);
    check_stopped(&bench, "p", 100.01);
}

#[test]
fn nothing_but_startup_is_probed_before_it_has_passed() {
    let spec = "containers: [{name: c, image: i, startupProbe: {httpGet: {port: 80}, failureThreshold: 10}, \
                livenessProbe: {httpGet: {port: 80}, periodSeconds: 5}}]";
    // Up at 42 s, found so at 50 s: what is silent from 52 s on fails at 55, 60 and 65 s.
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/ready: 40s, kubesquall.sim/healthy-for: 50s", spec));
    bench.run_until(70.0);
    assert_eq!(bench.messages("Unhealthy").iter().filter(|(_, text)| text.starts_with("Liveness")).count(), 3);
    assert_eq!(bench.events("Killing"), [66.0]);
    // What is silent before has never started.
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/ready: 40s, kubesquall.sim/healthy-for: 20s", spec));
    bench.run_until(105.0);
    assert!(bench.messages("Unhealthy").iter().all(|(_, text)| text.starts_with("Startup")));
    assert_eq!((bench.events("Unhealthy").len(), bench.events("Killing")), (10, vec![100.0]));
    // Silent between being up and the run that would have found it so: the first run that fails is the first after that.
    let mut bench = Bench::new();
    bench.create(0.0, &bound("kubesquall.sim/ready: 40s, kubesquall.sim/healthy-for: 45s", spec));
    bench.run_until(105.0);
    assert!(bench.messages("Unhealthy").iter().all(|(_, text)| text.starts_with("Startup")));
}

#[test]
fn readiness_is_asked_at_the_start_at_the_next_listings_and_then_every_period() {
    let ready = |annotations: &str, probe: &str| {
        let mut bench = Bench::new();
        let probe = format!("readinessProbe: {{httpGet: {{port: 80}}, {probe}}}");
        bench.create(0.0, &bound(annotations, &format!("containers: [{{name: c, image: i, {probe}}}]")));
        bench.run_until(60.0);
        bench.ready_changes("p")[0].0 - bench.events("Started")[0]
    };
    assert!(ready("", "periodSeconds: 10") < 0.1);
    let soon = ready("kubesquall.sim/ready: 10ms", "periodSeconds: 30");
    assert!((0.01..2.1).contains(&soon), "{soon}");
    // The beat is that of the last listing, whatever the delay says.
    for (annotations, probe) in
        [("kubesquall.sim/ready: 5s", "periodSeconds: 10"), ("", "periodSeconds: 10, initialDelaySeconds: 4")]
    {
        let later = ready(annotations, probe);
        assert!((10.0..12.1).contains(&later), "{annotations} {probe}: {later}");
    }
}

#[test]
fn a_fresh_kubelet_sleeps_before_it_asks_what_it_starts_anew() {
    let mut bench = Bench::new();
    let probe = "readinessProbe: {httpGet: {port: 80}, periodSeconds: 10}";
    bench.create(0.0, &bound("", &format!("containers: [{{name: c, image: i, {probe}}}]")));
    super::crash(&mut bench, 20, 10);
    bench.run_until(80.0);
    let (changes, starts) = (bench.ready_changes("p"), bench.events("Started"));
    let waited = changes.last().map_or(0.0, |(at, _)| at - starts[1]);
    // The seed lets it sleep for longer than the start takes.
    assert!(waited > 0.1 && waited < 10.0, "{changes:?} {starts:?}");
}

#[test]
fn a_container_that_is_done_is_not_probed() {
    let mut bench = Bench::new();
    let probe = "livenessProbe: {tcpSocket: {port: 1}, periodSeconds: 5, failureThreshold: 1}";
    let spec = format!("containers: [{{name: a, image: i, restartPolicy: Never, {probe}}}, {{name: b, image: i}}]");
    bench.create(0.0, &bound("kubesquall.sim/healthy-for: 20s", &spec));
    bench.run_until(300.0);
    // It fails once, and takes the other with it, as containers fail together.
    assert_eq!(bench.events("Killing").len(), 1);
    assert_eq!(bench.pod("p").restarts_max(), 1);
}

#[test]
fn a_write_and_a_deletion_have_an_unready_pod_asked_at_once() {
    let probe = "readinessProbe: {httpGet: {port: 80}, periodSeconds: 60}";
    let spec = format!("containers: [{{name: c, image: i, {probe}}}]");
    let new = || {
        let mut bench = Bench::new();
        bench.create(0.0, &bound("kubesquall.sim/ready: 5s, kubesquall.sim/stop: 9s", &spec));
        bench
    };
    // Up at seven seconds, after all runs but that of a minute later.
    let mut bench = new();
    bench.run_until(20.0);
    assert!(bench.readiness("p").iter().all(|(_, ready)| !ready));
    bench.annotate("p", "a", "b");
    bench.run_until(21.0);
    assert!(bench.pod("p").is_ready());
    let mut bench = new();
    bench.run_until(6.0);
    bench.annotate("p", "kubesquall.sim/ready", "5s");
    bench.run_until(100.0);
    let ready_at = bench.ready_changes("p")[0].0;
    assert!((66.0..66.2).contains(&ready_at), "the period begins anew: {ready_at}");
    let mut bench = new();
    bench.delete(20.0, "p", None);
    bench.run_until(60.0);
    let changes = bench.ready_changes("p");
    assert!(changes.first().is_some_and(|(at, _)| (20.0..20.2).contains(at)), "{changes:?}");
}
