//! Requests of what pods use.

use std::collections::BTreeSet;

use super::objects::{change_templates, replicas_of};
use super::{Change, Circumstances};
use crate::arena::Symbol;
use crate::model::{Behavior, Object, PodTemplateSpec, requests};
use crate::scenario::{ResolvedScenario, pod_template};
use crate::study::edit::path_of;
use crate::study::forecast::finding::Price;
use crate::units::{Quantity, QuantityFormat};

/// Requests of what pods use, as far as that is said.
pub(super) struct Requests;

/// Bytes of memory that a pod is said to use beyond what it asks for; none if that is not said, or it asks for enough.
fn missing(template: &PodTemplateSpec) -> Option<i64> {
    let usage = Behavior::of(&template.metadata.annotations).usage?;
    let missing = usage.memory?.value() - requests(&template.spec).memory;
    (missing > 0).then_some(missing)
}

impl Change for Requests {
    fn file(&self) -> &'static str {
        "requests"
    }

    fn words(&self) -> &'static str {
        "request the memory that its pods use"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "uses more memory than it requests: its pods land where there is none, and are the first to be evicted",
            "use more memory than they request: their pods land where there is none, and are the first to be evicted",
        ]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        // Somebody has to go: if nobody uses more than they request, these are as likely to as before.
        replicas_of(object).is_some()
            && pod_template(object).is_some_and(|template| missing(template).is_some())
            && around.pressed.contains(&path_of(object))
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        change_templates(&mut scenario.objects, workloads, |template, _| {
            let Some(missing) = missing(template) else { return };
            // Usage is said of the pod; the first container stands for it.
            let Some(container) = template.spec.containers.first_mut() else { return };
            let memory = Symbol::new("memory");
            let now = container.resources.requests.get(memory).map_or(0, |amount| amount.value());
            let wanted = Quantity::from_value(now + missing).with_format(QuantityFormat::BinarySi);
            container.resources.requests.insert(memory, wanted);
            if container.resources.limits.get(memory).is_some_and(|limit| limit.value() < wanted.value()) {
                container.resources.limits.insert(memory, wanted);
            }
        });
    }

    fn price(&self, scenario: &ResolvedScenario, workloads: &BTreeSet<String>) -> Price {
        let objects = scenario.objects.iter().map(|object| &object.object);
        let of = |object: &Object| {
            let missing = missing(pod_template(object)?)?;
            Some(missing * i64::from(replicas_of(object)?))
        };
        let memory = objects.filter(|object| workloads.contains(&path_of(object))).filter_map(of).sum();
        Price { memory, ..Price::default() }
    }
}
