//! What the eviction manager says of an eviction.

use std::fmt::Write as _;

use super::observation::{Observations, quantity};
use super::starved::StarvedResource;
use crate::kubelet::settings::amount;
use crate::model::StatedUsage;
use crate::model::config::{EvictionThreshold, KubernetesVersion};
use crate::state::Pod;
use crate::units::{Quantity, QuantityFormat};

/// The message of an eviction for a threshold.
///
/// # Source
/// kubelet, `evictionMessage`.
pub(super) fn node_low(
    pod: &Pod,
    usage: Option<&StatedUsage>,
    threshold: &EvictionThreshold,
    observed: &Observations,
    version: KubernetesVersion,
) -> String {
    let starved = StarvedResource::of(threshold.signal);
    let mut text = low(threshold, observed);
    consumers(&mut text, pod, usage, starved, version);
    text
}

/// The message where no figures are known.
pub(super) fn without_figures(
    pod: &Pod,
    usage: Option<&StatedUsage>,
    starved: StarvedResource,
    version: KubernetesVersion,
) -> String {
    let mut text = format!("The node was low on resource: {}. ", starved.resource());
    consumers(&mut text, pod, usage, starved, version);
    text
}

fn low(threshold: &EvictionThreshold, observed: &Observations) -> String {
    let mut text = format!("The node was low on resource: {}. ", threshold.signal.resource());
    if let Some(observed) = observed.of(threshold.signal) {
        let limit = threshold.amount.of(observed.capacity);
        let available = quantity(threshold.signal, observed.available);
        let _ = write!(text, "Threshold quantity: {limit}, available: {available}. ");
    }
    text
}

/// Names who uses more than is requested; nobody, if nobody knows what they use.
///
/// # Differs
/// What a pod uses is its first container's.
fn consumers(
    text: &mut String,
    pod: &Pod,
    usage: Option<&StatedUsage>,
    starved: StarvedResource,
    version: KubernetesVersion,
) {
    let resource = starved.resource();
    let of = |usage: &StatedUsage| match starved {
        StarvedResource::Memory => Some(amount(usage.memory)),
        StarvedResource::Disk => Some(amount(usage.ephemeral_storage)),
        StarvedResource::Pids => None,
    };
    let Some(used) = usage.and_then(of) else { return };
    let usage = Quantity::from_value(used).with_format(QuantityFormat::BinarySi);
    let of_pod = pod.spec.resources.as_ref().and_then(|resources| resources.requests.get(resource.into()));
    if let Some(request) = of_pod.filter(|_| starved == StarvedResource::Memory && version.at_least(34)) {
        let _ = write!(
            text,
            "Pod {} was using {usage}, request is {request}, has larger consumption of {resource}. ",
            pod.name
        );
    }
    let Some(container) = pod.spec.containers.first() else { return };
    let request = container.resources.requests.get(resource.into()).copied().unwrap_or(Quantity::ZERO);
    if usage.nano_value() > request.nano_value() {
        let _ = write!(
            text,
            "Container {} was using {usage}, request is {request}, has larger consumption of {resource}. ",
            container.name
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::observation::Observation;
    use super::*;
    use crate::model::config::{EvictionAmount, EvictionSignal};
    use crate::units::SimDuration;

    fn check(signal: EvictionSignal, threshold: &str, available: &str, expected: &str) {
        let threshold = EvictionThreshold {
            signal,
            amount: EvictionAmount::Quantity(threshold.parse().expect("a quantity")),
            grace_period: SimDuration::ZERO,
            minimum_reclaim: None,
        };
        let available: Quantity = available.parse().expect("a quantity");
        let observation = Some(Observation { available: available.value(), capacity: 4 << 30 });
        let observed = Observations { memory: observation, pids: observation, ..Observations::default() };
        assert_eq!(low(&threshold, &observed), expected);
    }

    #[test]
    fn the_message_names_threshold_and_what_is_available() {
        check(
            EvictionSignal::PidAvailable,
            "1200",
            "500",
            "The node was low on resource: pids. Threshold quantity: 1200, available: 500. ",
        );
        check(
            EvictionSignal::MemoryAvailable,
            "2Gi",
            "1500Mi",
            "The node was low on resource: memory. Threshold quantity: 2Gi, available: 1500Mi. ",
        );
    }
}
