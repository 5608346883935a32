//! A readiness probe that looks earlier.

use std::collections::BTreeSet;

use super::objects::{change_templates, pod_spec, replicas_of};
use super::{Change, Circumstances};
use crate::model::{self, Container, Object};
use crate::scenario::ResolvedScenario;

/// What waits for no longer is not late, in seconds.
const SOON: i64 = 30;

/// How long a probe takes at least until it says that an application is up that was from the beginning, in seconds.
fn waits(probe: &model::Probe) -> i64 {
    let period = i64::from(probe.period_seconds.unwrap_or(10));
    let more = i64::from(probe.success_threshold.unwrap_or(1) - 1).max(0);
    i64::from(probe.initial_delay_seconds).max(period) + more * period
}

fn is_late(container: &Container) -> bool {
    let probes = [&container.readiness_probe, &container.startup_probe];
    probes.into_iter().flatten().any(|probe| waits(probe) > SOON)
}

/// A readiness probe that looks earlier. Whether the application is up by then, `kubesquall.sim/ready` says.
pub(super) struct Probe;

impl Change for Probe {
    fn file(&self) -> &'static str {
        "probe"
    }

    fn words(&self) -> &'static str {
        "let the readiness probe look from the fifth second on, every 5 s (initialDelaySeconds, periodSeconds)"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "is told ready late: its probe waits before it looks",
            "are told ready late: their probes wait before they look",
        ]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        replicas_of(object).is_some() && pod_spec(object).is_some_and(|spec| spec.containers.iter().any(is_late))
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        change_templates(&mut scenario.objects, workloads, |template, _| {
            for container in &mut template.spec.containers {
                for probe in [&mut container.readiness_probe, &mut container.startup_probe].into_iter().flatten() {
                    if waits(probe) > SOON {
                        probe.initial_delay_seconds = probe.initial_delay_seconds.min(5);
                        probe.period_seconds = Some(5);
                        probe.success_threshold = None;
                    }
                }
            }
        });
    }
}
