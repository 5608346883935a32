//! What pods use, as the metrics server would report it, and how each of them counts.

use super::calculator::{Sample, Standing};
use crate::arena::Symbol;
use crate::component::Config;
use crate::state::{Pod, PodPhase, Status, Store};
use crate::units::{Quantity, SimTime};

/// One pod of a workload that is scaled.
#[derive(Clone, Debug)]
pub(super) struct View<'a> {
    pod: &'a Pod,
    /// Its kubelet can be asked.
    is_measured: bool,
    is_ready: bool,
    /// When its readiness begins to count whatever it has been; none if that is over.
    pub(super) initializing_until: Option<SimTime>,
    is_unready: bool,
    usage: Option<(Option<i64>, Option<i64>)>,
}

impl<'a> View<'a> {
    /// # Source
    /// podautoscaler, `groupPods`: within `--horizontal-pod-autoscaler-cpu-initialization-period` of its start a pod counts if it
    /// is Ready; later all count but those that have never been Ready, which are known by the time of their condition.
    ///
    /// # Differs
    /// The metrics server takes no time: what a pod uses is known as soon as it is Ready.
    pub(super) fn new(pod: &'a Pod, store: &Store, config: &Config, now: SimTime) -> Self {
        let flags = &config.kube_controller_manager;
        let is_not_ready = pod.ready.is_some_and(|ready| ready.status == Status::False);
        let until = pod.started_at.map(|at| at + flags.horizontal_pod_autoscaler_cpu_initialization_period);
        let initializing_until = until.filter(|until| *until > now);
        let is_unready = match (pod.ready, pod.started_at) {
            (Some(_), Some(_)) if initializing_until.is_some() => is_not_ready,
            (Some(ready), Some(started)) => {
                is_not_ready && started + flags.horizontal_pod_autoscaler_initial_readiness_delay > ready.since
            }
            _ => true,
        };
        Self {
            pod,
            is_measured: pod.phase == PodPhase::Running && pod.node.is_some_and(|node| store.machine(node).talks()),
            is_ready: pod.ready.is_some_and(|ready| ready.status == Status::True),
            initializing_until: initializing_until.filter(|_| is_not_ready),
            is_unready,
            usage: usage(pod),
        }
    }

    fn is_ignored(&self) -> bool {
        self.pod.deletion.is_some() || self.pod.phase == PodPhase::Failed
    }
}

/// What a pod says that it uses: thousandths of a core and of a byte.
fn usage(pod: &Pod) -> Option<(Option<i64>, Option<i64>)> {
    let used = pod.spec.behavior().usage.as_ref()?;
    let milli = |amount: Quantity| amount.milli_value();
    Some((used.cpu.map(milli), used.memory.map(milli)))
}

/// The load on a workload: how much there is, and under how much a pod uses the CPU that it requests.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pressure {
    pub(super) load: f64,
    pub(super) per_replica: f64,
}

/// What one metric sees of the pods.
///
/// # Errors
/// What the metrics server or the calculator would say.
///
/// # Source
/// podautoscaler, `GetResourceMetric`, `calculateRequests`.
pub(super) fn samples(
    views: &[View<'_>],
    resource: Symbol,
    container: Symbol,
    pressure: Option<Pressure>,
    needs_requests: bool,
) -> Result<Vec<Sample>, String> {
    let is_cpu = resource == "cpu";
    let sharing = views.iter().filter(|view| view.is_ready && !view.is_ignored()).count();
    let share =
        pressure.filter(|_| is_cpu).map(|p| if sharing == 0 { 0.0 } else { p.load / p.per_replica / sharing as f64 });
    let used = |view: &View<'_>| -> Option<i64> {
        let is_single = container.is_empty() || view.pod.spec.containers.len() == 1;
        let pod = Some(view).filter(|view| view.is_measured && is_single)?;
        if let Some(share) = share {
            let requested = request(pod.pod, Symbol::empty(), resource).unwrap_or(0);
            let part = if pod.is_ready && !pod.is_ignored() { share } else { 0.0 };
            return Some((part * requested as f64) as i64);
        }
        let (cpu, memory) = pod.usage?;
        match resource.as_str() {
            "cpu" => cpu,
            "memory" => memory,
            _ => None,
        }
    };
    let found: Vec<Option<i64>> = views.iter().map(used).collect();
    if found.iter().all(Option::is_none) {
        return Err(format!(
            "unable to get metrics for resource {resource}: no metrics returned from resource metrics API"
        ));
    }
    let mut samples = Vec::with_capacity(views.len());
    for (view, used) in views.iter().zip(found) {
        let standing = match (view.pod.phase, used) {
            _ if view.is_ignored() => Standing::Ignored,
            (PodPhase::Pending, _) => Standing::Unready,
            (_, None) => Standing::Missing,
            _ if is_cpu && view.is_unready => Standing::Unready,
            _ => Standing::Counted,
        };
        samples.push(Sample { standing, used: used.unwrap_or(0), requested: 0 });
    }
    if !samples.iter().any(|sample| sample.standing == Standing::Counted) {
        return Err("did not receive metrics for targeted pods (pods might be unready)".to_owned());
    }
    if needs_requests {
        for (view, sample) in views.iter().zip(&mut samples) {
            sample.requested = request(view.pod, container, resource)?;
        }
    }
    Ok(samples)
}

/// What a pod, or one of its containers, requests, in thousandths.
///
/// # Source
/// podautoscaler, `calculatePodLevelRequests` and `calculatePodRequestsFromContainers`: of all containers, and of those init
/// containers that go on running, each has to say.
fn request(pod: &Pod, container: Symbol, resource: Symbol) -> Result<i64, String> {
    let name = &pod.name;
    if container.is_empty()
        && let Some(whole) = &pod.spec.resources
        && (whole.requests != Default::default() || whole.limits != Default::default())
    {
        let given = whole.requests.get(resource).or_else(|| whole.limits.get(resource));
        return given
            .map(|amount| amount.milli_value())
            .ok_or_else(|| format!("missing pod-level request for {resource} in Pod {name}"));
    }
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar());
    let mut sum = 0_i64;
    for one in pod.spec.containers.iter().chain(sidecars) {
        if !container.is_empty() && one.name != container {
            continue;
        }
        let Some(amount) = one.resources.requests.get(resource) else {
            return Err(format!("missing request for {resource} in container {} of Pod {name}", one.name));
        };
        sum = sum.saturating_add(amount.milli_value());
        if one.name == container {
            return Ok(sum);
        }
    }
    if container.is_empty() { Ok(sum) } else { Err(format!("container {container} not found in Pod {name}")) }
}
