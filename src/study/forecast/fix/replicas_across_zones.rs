//! A second replica, and both in zones of their own.

use std::collections::BTreeSet;

use super::objects::{MAY_IT_RUN_TWICE, change_templates, is_single, price_of_a_pod_each, spread, two_replicas};
use super::{Change, Circumstances};
use crate::model::{Object, ZONE_LABEL};
use crate::scenario::ResolvedScenario;
use crate::study::forecast::finding::Price;

/// A second replica, and both in zones of their own.
pub(super) struct AcrossZones;

impl Change for AcrossZones {
    fn file(&self) -> &'static str {
        "replicas-across-zones"
    }

    fn words(&self) -> &'static str {
        "run a second replica, each in a zone of its own"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["has a single pod", "have a single pod each"]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        is_single(object) && around.zones > 1
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        two_replicas(&mut scenario.objects, workloads);
        change_templates(&mut scenario.objects, workloads, |template, selector| spread(template, selector, ZONE_LABEL));
    }

    fn caution(&self) -> Option<&'static str> {
        Some(MAY_IT_RUN_TWICE)
    }

    fn price(&self, scenario: &ResolvedScenario, workloads: &BTreeSet<String>) -> Price {
        price_of_a_pod_each(&scenario.objects, workloads)
    }
}
