//! Limits of local storage, which hold whether or not the node is short of it.

use super::{BoundPod, Disruption, GRACE, Kubelets, is_critical};
use crate::component::Ctx;
use crate::kubelet::settings::{amount, disk_use};
use crate::kubelet::worker::Worker;
use crate::model::{Container, PodSpec, StatedUsage};
use crate::state::{NodeId, Pod, PodPhase};
use crate::units::{Quantity, SimDuration};

const STORAGE: &str = "ephemeral-storage";

impl Kubelets {
    /// Evicts every pod of the node that exceeds a limit of its own; returns how long the slowest takes, if there is one.
    ///
    /// # Source
    /// kubelet, `localStorageEviction`: size limits of emptyDir volumes, then the limit of the pod, then those of its
    /// containers; the pods are not marked with DisruptionTarget.
    ///
    /// # Differs
    /// Several are killed at once, not one after the other.
    pub(super) fn enforce_limits(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) -> Option<SimDuration> {
        let mut took = None;
        for pod in BoundPod::unfinished_on(node, ctx.store).filter(|pod| pod.phase == PodPhase::Running) {
            let is_ended = self.workers.get(&pod.id).is_some_and(Worker::is_ended_by_kubelet);
            if is_ended || !self.goes_on(pod) || is_critical(&pod) {
                continue;
            }
            let usage = pod.spec.behavior().usage.as_ref();
            let Some(message) = usage.and_then(|usage| exceeded(&pod, usage)) else { continue };
            let time = self.evict(pod, GRACE, message, Disruption::Unmarked, ctx);
            took = Some(took.map_or(time, |took: SimDuration| took.max(time)));
        }
        took
    }
}

/// The first limit that a pod exceeds, as the message says it.
fn exceeded(pod: &Pod, usage: &StatedUsage) -> Option<String> {
    for volume in &pod.spec.volumes {
        let limit = volume.empty_dir.as_ref().and_then(|dir| dir.size_limit).filter(|limit| limit.nano_value() > 0);
        if let (Some(limit), Some(used)) = (limit, usage.of_volume(volume.name))
            && used.value() > limit.value()
        {
            return Some(format!("Usage of EmptyDir volume \"{}\" exceeds the limit \"{limit}\". ", volume.name));
        }
    }
    if let Some(limit) = pod_limit(&pod.spec.spec)
        && disk_use(pod, usage) > limit.value()
    {
        return Some(format!("Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "));
    }
    let container = pod.spec.containers.first()?;
    let limit = limit(container).filter(|limit| !limit.is_zero() && amount(usage.ephemeral_storage) > limit.value())?;
    Some(format!("Container {} exceeded its local ephemeral storage limit \"{limit}\". ", container.name))
}

fn limit(container: &Container) -> Option<Quantity> {
    container.resources.limits.get(STORAGE.into()).copied()
}

/// The limits of all containers together, if any has one.
fn pod_limit(spec: &PodSpec) -> Option<Quantity> {
    let (sidecars, inits): (Vec<&Container>, Vec<&Container>) =
        spec.init_containers.iter().partition(|container| container.is_sidecar());
    let together: Vec<Quantity> = spec.containers.iter().chain(sidecars).filter_map(limit).collect();
    let sum = together.iter().map(|limit| limit.value()).fold(0, i64::saturating_add);
    let largest = inits.into_iter().filter_map(limit).max_by_key(|limit| limit.value());
    match (together.first(), largest) {
        (_, Some(largest)) if largest.value() > sum => Some(largest),
        (Some(first), _) => Some(Quantity::from_value(sum).with_format(first.format())),
        (None, largest) => largest,
    }
}
