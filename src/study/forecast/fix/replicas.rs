//! A second replica for what has one.

use std::collections::BTreeSet;

use super::objects::{is_single, price_of_a_pod_each, two_replicas};
use super::{Change, Circumstances};
use crate::model::Object;
use crate::scenario::ResolvedScenario;
use crate::study::forecast::finding::Price;

/// A second replica for what has one.
pub(super) struct SecondReplica;

impl Change for SecondReplica {
    fn file(&self) -> &'static str {
        "replicas"
    }

    fn words(&self) -> &'static str {
        "run a second replica"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["has a single pod", "have a single pod each"]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        is_single(object) && around.nodes > 1
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        two_replicas(&mut scenario.objects, workloads);
    }

    fn caution(&self) -> Option<&'static str> {
        Some("whether these applications can run twice at a time, kubesquall does not know")
    }

    fn price(&self, scenario: &ResolvedScenario, workloads: &BTreeSet<String>) -> Price {
        price_of_a_pod_each(&scenario.objects, workloads)
    }
}
