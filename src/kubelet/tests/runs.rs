//! Containers that end while something else of theirs is under way.

use super::bench::Bench;
use super::bound;
use crate::state::PodPhase;

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
