//! How long a pod's steps take: the scenario's latencies, unless annotations of the workload say otherwise.

use smallvec::SmallVec;

use super::Kubelets;
use super::probe_timing::period;
use crate::component::{Ctx, Latencies};
use crate::engine::Distribution;
use crate::model::{Container, StatedUsage};
use crate::state::{Pod, Slowdown, WorkloadId};
use crate::units::{Quantity, SimDuration};

/// The pod in the user's words, for its random streams.
pub(super) fn entity(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

fn draw(
    pod: &Pod,
    own: Option<&Distribution>,
    concern: &str,
    default: &Distribution,
    index: u64,
    ctx: &Ctx<'_, Kubelets>,
) -> SimDuration {
    match own.unwrap_or(default) {
        Distribution::Constant(value) => *value,
        other => Latencies::draw(other, ctx.streams, concern, &entity(pod), index),
    }
}

/// Bound, images present -> containers running.
pub(super) fn start_latency(pod: &Pod, restarts: u32, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let own = pod.spec.behavior().start.as_ref();
    let usual = &ctx.config.latency.pod_start;
    disk_of(pod, ctx).stretch(draw(pod, own, "pod-start", usual, u64::from(restarts), ctx))
}

/// How slow the disk of the pod's machine is.
fn disk_of(pod: &Pod, ctx: &Ctx<'_, Kubelets>) -> Slowdown {
    pod.node.map_or(Slowdown::NONE, |node| ctx.store.machine(node).effects.disk_slowdown())
}

/// One pull of the image of the pod's container of that number.
pub(super) fn pull_latency(pod: &Pod, container: usize, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let latency = &ctx.config.latency.image_pull;
    disk_of(pod, ctx).stretch(Latencies::draw(latency, ctx.streams, "image-pull", &entity(pod), container as u64))
}

/// Running -> the application answers, whatever its probes say.
pub(super) fn application_latency(pod: &Pod, restarts: u32, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let is_probed = pod.spec.containers.iter().any(|c| c.readiness_probe.is_some());
    let own = pod.spec.behavior().ready.as_ref();
    if is_probed && own.is_none() {
        return SimDuration::ZERO;
    }
    draw(pod, own, "pod-ready", &ctx.config.latency.pod_ready, u64::from(restarts), ctx)
}

/// How long the application answers its probes; none if it does so until it ends.
pub(super) fn healthy_for(pod: &Pod, restarts: u32, ctx: &Ctx<'_, Kubelets>) -> Option<SimDuration> {
    let distribution = pod.spec.behavior().healthy_for.as_ref()?;
    Some(Latencies::draw(distribution, ctx.streams, "pod-healthy-for", &entity(pod), u64::from(restarts)))
}

/// How long each init container runs, if that is said.
pub(super) fn init_run(pod: &Pod) -> Option<&Distribution> {
    pod.spec.behavior().init.as_ref()
}

/// With which code the first init container ends.
pub(super) fn init_exit_code(pod: &Pod) -> i32 {
    pod.spec.behavior().init_exit_code.unwrap_or(0)
}

/// The syncs that come during a back-off of `wait`, from its beginning on; the last finds it over.
///
/// # Source
/// kubelet, pod workers: since 1.35 the next sync follows after what is left of the back-off, at most the sync period,
/// times 1 to 1.5; before, after ten seconds times that.
pub(super) fn syncs(
    pod: &Pod,
    wait: SimDuration,
    concern: &str,
    index: u64,
    ctx: &Ctx<'_, Kubelets>,
) -> SmallVec<[SimDuration; 4]> {
    const SYNCS_MAX: u64 = 64;
    const PERIOD: SimDuration = SimDuration::from_secs(10);
    let entity = entity(pod);
    let mut waited = SimDuration::ZERO;
    let mut syncs = SmallVec::new();
    for sync in 0..SYNCS_MAX {
        if waited >= wait {
            break;
        }
        let left = wait - waited;
        let next = if ctx.config.version.at_least(35) { left.min(ctx.config.kubelet.sync_frequency) } else { PERIOD };
        let factor = 1.0 + ctx.streams.at(concern, &entity, index * SYNCS_MAX + sync).unit() / 2.0;
        waited += SimDuration::from_secs_f64(next.as_secs_f64() * factor);
        syncs.push(waited);
    }
    syncs
}

/// The period of the pod's slowest readiness probe; none without one.
pub(super) fn readiness_period(pod: &Pod) -> Option<SimDuration> {
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar());
    pod.spec.containers.iter().chain(sidecars).filter_map(|c| c.readiness_probe.as_deref()).map(period).max()
}

/// How long a fresh kubelet sleeps before it probes a running container.
pub(super) fn first_probe(pod: &Pod, period: SimDuration, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let second = ctx.now.as_nanos().unsigned_abs() / 1_000_000_000;
    let mut stream = ctx.streams.at("first-probe", &entity(pod), second);
    SimDuration::from_secs_f64(stream.unit() * period.as_secs_f64())
}

/// A stated amount in whole units; what is not stated is nothing.
pub(super) fn amount(stated: Option<Quantity>) -> i64 {
    stated.map_or(0, |amount| amount.value())
}

/// What the pod takes of its node's disk: all but volumes in memory.
pub(super) fn disk_use(pod: &Pod, usage: &StatedUsage) -> i64 {
    let on_disk = pod
        .spec
        .volumes
        .iter()
        .filter(|volume| volume.empty_dir.as_ref().is_some_and(|dir| dir.medium.as_str() != "Memory"));
    let used = on_disk.map(|volume| amount(usage.of_volume(volume.name)));
    used.fold(amount(usage.ephemeral_storage), i64::saturating_add)
}

/// How long the longest preStop hook of these containers sleeps.
pub(super) fn pre_stop(containers: &[Container]) -> SimDuration {
    containers
        .iter()
        .filter_map(|c| c.lifecycle.as_ref()?.pre_stop.as_ref()?.sleep.as_ref())
        .map(|sleep| SimDuration::from_secs(sleep.seconds.max(0).unsigned_abs()))
        .max()
        .unwrap_or(SimDuration::ZERO)
}

/// How long a container's postStart hook sleeps.
pub(super) fn post_start(container: &Container) -> SimDuration {
    let hook = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.post_start.as_ref()?.sleep.as_ref());
    hook.map_or(SimDuration::ZERO, |sleep| SimDuration::from_secs(sleep.seconds.max(0).unsigned_abs()))
}

/// SIGTERM -> exit; not capped by the grace period.
pub(super) fn exit_latency(pod: &Pod, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    draw(pod, pod.spec.behavior().stop.as_ref(), "pod-stop", &ctx.config.latency.pod_stop, 0, ctx)
}

/// How long containers run before they end by themselves; none if they run until stopped. Those of Jobs that do not say it
/// run as long as the scenario says of all Jobs.
pub(super) fn run_for(pod: &Pod, restarts: u32, ctx: &Ctx<'_, Kubelets>) -> Option<SimDuration> {
    let of_jobs = || {
        let is_of_job = || matches!(pod.owner.and_then(WorkloadId::from_owner), Some(WorkloadId::Job(_)));
        ctx.config.latency.job_run.as_ref().filter(|_| is_of_job())
    };
    let distribution = pod.spec.behavior().run_for.as_ref().or_else(of_jobs)?;
    Some(Latencies::draw(distribution, ctx.streams, "pod-run-for", &entity(pod), u64::from(restarts)))
}

/// With which code they end.
pub(super) fn exit_code(pod: &Pod) -> i32 {
    pod.spec.behavior().exit_code.unwrap_or(0)
}
