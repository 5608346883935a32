//! How long a pod's steps take: the scenario's latencies, unless annotations of the workload say otherwise.

use std::collections::BTreeMap;
use std::str::FromStr;

use rustc_hash::FxHashSet;

use super::Kubelets;
use crate::arena::Symbol;
use crate::component::{Ctx, Latencies};
use crate::engine::Distribution;
use crate::state::{NodeId, Pod};
use crate::units::{Quantity, SimDuration};

const START: &str = "kubesquall.sim/start";
const READY: &str = "kubesquall.sim/ready";
const STOP: &str = "kubesquall.sim/stop";
const RUN_FOR: &str = "kubesquall.sim/run-for";
const EXIT_CODE: &str = "kubesquall.sim/exit-code";
const USAGE: &str = "kubesquall.sim/usage";

fn annotation(pod: &Pod, name: &str) -> Option<Symbol> {
    if pod.spec.annotations.is_empty() {
        return None;
    }
    pod.spec.annotations.get(&Symbol::new(name)).copied()
}

/// A duration or a distribution in braces.
fn distribution(pod: &Pod, name: &str) -> Option<Distribution> {
    let text = annotation(pod, name)?.as_str();
    if let Ok(duration) = SimDuration::from_str(text) {
        return Some(Distribution::Constant(duration));
    }
    serde_saphyr::from_str(text).ok()
}

/// The pod in the user's words, for its random streams.
fn entity(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

fn draw(
    pod: &Pod,
    name: &'static str,
    concern: &str,
    default: &Distribution,
    index: u64,
    ctx: &Ctx<'_, Kubelets>,
) -> SimDuration {
    let own = distribution(pod, name);
    let chosen = own.as_ref().unwrap_or(default);
    match chosen {
        Distribution::Constant(value) => *value,
        other => Latencies::draw(other, ctx.streams, concern, &entity(pod), index),
    }
}

/// Bound, images present -> containers running.
pub(super) fn start_latency(pod: &Pod, restarts: u32, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    draw(pod, START, "pod-start", &ctx.config.latency.pod_start, u64::from(restarts), ctx)
}

/// All pulls of images that are not on the node; they are there afterwards.
pub(super) fn pull_latency(
    pod: &Pod,
    on: NodeId,
    pulled: &mut FxHashSet<(NodeId, Symbol)>,
    ctx: &Ctx<'_, Kubelets>,
) -> SimDuration {
    let latency = &ctx.config.latency.image_pull;
    if *latency == Distribution::Constant(SimDuration::ZERO) {
        return SimDuration::ZERO;
    }
    let node = ctx.store.node(on);
    let is_present = |image: Symbol| node.is_some_and(|n| n.images.iter().any(|(names, _)| names.contains(&image)));
    let mut total = SimDuration::ZERO;
    for (index, container) in pod.spec.init_containers.iter().chain(&pod.spec.containers).enumerate() {
        if !is_present(container.image) && pulled.insert((on, container.image)) {
            total += Latencies::draw(latency, ctx.streams, "image-pull", &entity(pod), index as u64);
        }
    }
    total
}

/// Running -> Ready.
///
/// # Source
/// kubelet, prober: the first readiness run follows the start at once, but not before `initialDelaySeconds`; it takes
/// `successThreshold` successes a period apart. A startup probe comes first.
pub(super) fn ready_latency(pod: &Pod, restarts: u32, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let seconds = |s: i32| SimDuration::from_secs(s.max(0).unsigned_abs().into());
    let own = distribution(pod, READY).is_some();
    let probes: Vec<_> = pod.spec.containers.iter().filter_map(|c| c.readiness_probe.as_ref()).collect();
    let app = if own || probes.is_empty() {
        draw(pod, READY, "pod-ready", &ctx.config.latency.pod_ready, u64::from(restarts), ctx)
    } else {
        SimDuration::ZERO
    };
    let startup = pod.spec.containers.iter().filter_map(|c| c.startup_probe.as_ref());
    let startup = startup.map(|p| seconds(p.initial_delay_seconds)).max().unwrap_or(SimDuration::ZERO);
    let probed = probes.iter().map(|probe| {
        let period = seconds(probe.period_seconds.unwrap_or(10).max(1));
        let delay = seconds(probe.initial_delay_seconds).max(startup);
        // The run that finds the application ready is the first at or after the moment it is.
        let late = app - delay;
        let periods = late.as_nanos().div_ceil(period.as_nanos());
        let more = u64::from(probe.success_threshold.unwrap_or(1).max(1).unsigned_abs()) - 1;
        delay + period * (periods + more)
    });
    probed.max().unwrap_or(app).max(startup)
}

/// What init containers add before the regular ones start.
///
/// # Source
/// kubelet, `SyncPod`: one after another; before 1.36 the end of each is noticed up to a second late.
pub(super) fn init_latency(pod: &Pod, restarts: u32, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    if ctx.config.version.at_least(36) {
        return SimDuration::ZERO;
    }
    let count = pod.spec.init_containers.iter().filter(|c| !c.is_sidecar()).count();
    if count == 0 {
        return SimDuration::ZERO;
    }
    let mut stream = ctx.streams.at("init-noticed", &entity(pod), u64::from(restarts));
    (0..count).map(|_| SimDuration::from_secs_f64(stream.unit())).sum()
}

/// The period of the pod's slowest readiness probe; none without one.
pub(super) fn readiness_period(pod: &Pod) -> Option<SimDuration> {
    let probes = pod.spec.containers.iter().filter_map(|c| c.readiness_probe.as_ref());
    let longest = probes.map(|probe| probe.period_seconds.unwrap_or(10).max(1).unsigned_abs()).max()?;
    Some(SimDuration::from_secs(longest.into()))
}

/// How long a fresh kubelet sleeps before it probes a running container.
pub(super) fn first_probe(pod: &Pod, period: SimDuration, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let second = ctx.now.as_nanos().unsigned_abs() / 1_000_000_000;
    let mut stream = ctx.streams.at("first-probe", &entity(pod), second);
    SimDuration::from_secs_f64(stream.unit() * period.as_secs_f64())
}

/// What the pod uses of a resource, as its annotation says.
pub(super) fn usage(pod: &Pod, resource: &str) -> Option<i64> {
    let text = annotation(pod, USAGE)?.as_str();
    let usage: BTreeMap<String, String> = serde_saphyr::from_str(text).ok()?;
    Quantity::from_str(usage.get(resource)?).ok().map(Quantity::value)
}

/// How long a preStop hook sleeps.
pub(super) fn pre_stop(pod: &Pod) -> SimDuration {
    pod.spec
        .containers
        .iter()
        .filter_map(|c| c.lifecycle.as_ref()?.pre_stop.as_ref()?.sleep.as_ref())
        .map(|sleep| SimDuration::from_secs(sleep.seconds.max(0).unsigned_abs()))
        .max()
        .unwrap_or(SimDuration::ZERO)
}

/// SIGTERM -> exit; not capped by the grace period.
pub(super) fn exit_latency(pod: &Pod, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    draw(pod, STOP, "pod-stop", &ctx.config.latency.pod_stop, 0, ctx)
}

/// How long containers run before they end by themselves; none if they run until stopped.
pub(super) fn run_for(pod: &Pod, restarts: u32, ctx: &Ctx<'_, Kubelets>) -> Option<SimDuration> {
    let distribution = distribution(pod, RUN_FOR)?;
    Some(Latencies::draw(&distribution, ctx.streams, "pod-run-for", &entity(pod), u64::from(restarts)))
}

/// With which code they end.
pub(super) fn exit_code(pod: &Pod) -> i32 {
    annotation(pod, EXIT_CODE).and_then(|code| code.as_str().parse().ok()).unwrap_or(0)
}
