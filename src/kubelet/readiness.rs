//! When a pod's containers are asked whether they are ready, and when they are found so.

use smallvec::SmallVec;

use super::pace::RELIST;
use super::probe::{beat, begun_at};
use super::probe_timing::{ProbeKind, asked, next_run, period, probed_from, seconds};
use super::{Kubelets, settings};
use crate::component::Ctx;
use crate::model::Probe;
use crate::state::{ContainerStatus, Pod};
use crate::units::{SimDuration, SimTime};

/// Since when containers run, and who probes them.
#[derive(Copy, Clone, Debug)]
pub(super) struct Probed<'a> {
    /// What is known of them: those that are done are not asked.
    pub(super) known: &'a [ContainerStatus],
    pub(super) since: SimTime,
    /// When a kubelet that had just begun took over their probes.
    pub(super) probers_at: Option<SimTime>,
    /// When a change of the pod last had it synced, if that was since.
    pub(super) synced_at: Option<SimTime>,
}

/// The runs of the probe that asks whether a container is ready: some that syncs ask for, and one every period from the last of these.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    asked: SmallVec<[SimTime; 3]>,
    period: SimDuration,
}

impl Runs {
    /// Those of a container that may be asked from an instant on: when it runs, or when its startup probe has succeeded.
    ///
    /// # Source
    /// kubelet, `UpdatePodStatus` and prober: each sync of a container that is not ready has it asked at once, whatever its
    /// `initialDelaySeconds`, which only lets such runs do nothing, and the period begins anew then. Such syncs are that of the start and
    /// those of the next listing or two, and each that follows when somebody writes to the pod or deletes it. A worker that a kubelet has soon after its own start sleeps for a part of its period first.
    ///
    /// # Differs
    /// Whether the second listing finds something is drawn: in recordings it does three times in four, as the sandbox or the dead container
    /// has had its event while the start was under way. The first start behind init containers is a sync of its own, and nothing waits then. What
    /// stands in for a kubelet asks every period from the start on.
    fn new(
        pod: &Pod,
        probe: &Probe,
        restarts: u32,
        probed: Probed<'_>,
        startup_at: Option<SimTime>,
        ctx: &Ctx<'_, Kubelets>,
    ) -> Self {
        const SECOND: f64 = 0.75;
        let period = period(probe);
        let slept = probed.probers_at.map(|at| beat(pod, ProbeKind::Readiness, probe, at, ctx));
        let from = startup_at.unwrap_or(probed.since);
        let mut asked: SmallVec<[SimTime; 3]> = SmallVec::new();
        asked.push(slept.map_or(from, |slept| slept.max(from)));
        let is_found_running = probed.probers_at.is_some_and(|at| probed.since < at);
        let node = pod.node.filter(|node| !ctx.store.machine(*node).has_stand_in_kubelet);
        if let Some(node) = node.filter(|_| startup_at.is_none() && !is_found_running) {
            let listing = Kubelets::listed_at(node, from, ctx);
            let instant_ms = from.as_nanos().unsigned_abs() / 1_000_000;
            let unit = ctx.streams.at("readiness-sync", &settings::entity(pod), instant_ms).unit();
            let is_behind_inits = restarts == 0 && !pod.spec.init_containers.is_empty();
            let listings = [Some(listing), (unit < SECOND && !is_behind_inits).then_some(listing + RELIST)];
            let first = asked[0];
            asked.extend(listings.into_iter().flatten().filter(|at| *at > first));
        }
        if let Some(synced_at) = probed.synced_at.filter(|at| *at > asked[0]) {
            asked.retain(|at| *at < synced_at);
            asked.push(synced_at);
        }
        Self { asked, period }
    }

    /// When a run is, by its number.
    pub(super) fn at(&self, number: u64) -> SimTime {
        let last = self.asked.len() as u64 - 1;
        match self.asked.get(usize::try_from(number).unwrap_or(usize::MAX)) {
            Some(at) => *at,
            None => self.asked[last as usize] + self.period * (number - last),
        }
    }

    /// The number of the run that finds a container ready that runs since `since`, and whose application is up after `app`.
    fn ready(&self, probe: &Probe, since: SimTime, app: SimDuration) -> u64 {
        let more = u64::from(probe.success_threshold.unwrap_or(1).max(1).unsigned_abs()) - 1;
        self.first_from(probed_from(probe, since).max(since + app)) + more
    }

    /// The number of the first run at or after an instant.
    pub(super) fn first_from(&self, from: SimTime) -> u64 {
        if let Some(number) = self.asked.iter().position(|at| *at >= from) {
            return number as u64;
        }
        let last = self.asked.len() - 1;
        last as u64 + from.saturating_since(self.asked[last]).as_nanos().div_ceil(self.period.as_nanos())
    }
}

/// The runs of a readiness probe of the pod, none before its startup probes have passed. A container that is ready no sync asks.
pub(super) fn runs(pod: &Pod, probe: &Probe, restarts: u32, probed: Probed<'_>, ctx: &Ctx<'_, Kubelets>) -> Runs {
    let app = settings::application_latency(pod, restarts, ctx);
    let startup = startup_latency(pod, restarts, probed, ctx);
    let mut runs = Runs::new(pod, probe, restarts, probed, startup.map(|latency| probed.since + latency), ctx);
    let ready = runs.ready(probe, probed.since, app);
    runs.asked.truncate(usize::try_from(ready).unwrap_or(usize::MAX).saturating_add(1));
    runs
}

/// Running -> all startup probes have succeeded; none without any.
///
/// # Source
/// kubelet, prober: a worker runs every period from when the pod was first synced, whenever the container has started.
fn startup_latency(pod: &Pod, restarts: u32, probed: Probed<'_>, ctx: &Ctx<'_, Kubelets>) -> Option<SimDuration> {
    let mut startup = asked(pod, probed.known).filter_map(|c| c.startup_probe.as_ref()).peekable();
    startup.peek()?;
    let app = settings::application_latency(pod, restarts, ctx);
    let latencies = startup.map(|probe| {
        let from = probed_from(probe, probed.since).max(probed.since + app);
        let is_of_fresh_kubelet = probed.probers_at.filter(|at| *at <= probed.since);
        let worker_at = begun_at(pod, ProbeKind::Startup, probe, is_of_fresh_kubelet, ctx);
        next_run(probe, worker_at, from).saturating_since(probed.since)
    });
    latencies.max()
}

/// Whether all startup probes of containers that run have succeeded.
pub(super) fn have_started(pod: &Pod, restarts: u32, probed: Probed<'_>, ctx: &Ctx<'_, Kubelets>) -> bool {
    startup_latency(pod, restarts, probed, ctx).is_none_or(|latency| probed.since + latency <= ctx.now)
}

/// Running -> Ready.
///
/// # Source
/// kubelet, prober: a run counts that is not before `initialDelaySeconds`; it takes `successThreshold` successes in a row.
pub(super) fn ready_latency(pod: &Pod, restarts: u32, probed: Probed<'_>, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let app = settings::application_latency(pod, restarts, ctx);
    let startup = startup_latency(pod, restarts, probed, ctx);
    let startup_at = startup.map(|latency| probed.since + latency);
    let probes = asked(pod, probed.known).filter_map(|c| c.readiness_probe.as_ref());
    let found = probes.map(|probe| {
        let runs = Runs::new(pod, probe, restarts, probed, startup_at, ctx);
        runs.at(runs.ready(probe, probed.since, app)).saturating_since(probed.since)
    });
    found.max().unwrap_or(app).max(startup.unwrap_or(SimDuration::ZERO)).max(sidecars_ready(pod))
}

/// Running -> the sidecars are ready: their readiness counts as that of others. They answer at once.
///
/// # Source
/// kubelet, `GeneratePodReadyCondition`.
///
/// # Differs
/// They begin with the regular containers, and it is these whose status says that they are not ready before. A probe of theirs does not
/// fail later on.
fn sidecars_ready(pod: &Pod) -> SimDuration {
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar());
    let probes = sidecars.filter_map(|sidecar| sidecar.readiness_probe.as_deref());
    let latencies = probes.map(|probe| {
        let more = u64::from(probe.success_threshold.unwrap_or(1).max(1).unsigned_abs()) - 1;
        seconds(probe.initial_delay_seconds) + period(probe) * more
    });
    latencies.max().unwrap_or(SimDuration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_one_another_by_the_period_from_the_last_that_was_asked_for() {
        let asked = [2, 3, 4].map(SimTime::from_secs);
        let runs = Runs { asked: asked.into_iter().collect(), period: SimDuration::from_secs(10) };
        let at = |numbers: &[u64]| numbers.iter().map(|n| runs.at(*n).as_nanos() / 1_000_000_000).collect::<Vec<_>>();
        assert_eq!(at(&[0, 1, 2, 3, 4]), [2, 3, 4, 14, 24]);
        let first = [0, 2, 3, 4, 5, 14, 15].map(|from| runs.first_from(SimTime::from_secs(from)));
        assert_eq!(first, [0, 0, 1, 2, 3, 3, 4]);
    }
}
