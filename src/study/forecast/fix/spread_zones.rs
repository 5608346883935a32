//! Replicas evenly over zones.

use std::collections::BTreeSet;

use super::objects::{change_templates, is_many, is_spread, spread};
use super::{Change, Circumstances};
use crate::model::{Object, ZONE_LABEL};
use crate::scenario::ResolvedScenario;

/// Replicas evenly over zones.
pub(super) struct SpreadZones;

impl Change for SpreadZones {
    fn file(&self) -> &'static str {
        "spread-zones"
    }

    fn words(&self) -> &'static str {
        "spread the replicas over zones"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["has its pods in one zone", "have their pods in one zone each"]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        is_many(object) && around.zones > 1 && !is_spread(object, ZONE_LABEL)
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        change_templates(&mut scenario.objects, workloads, |template, selector| spread(template, selector, ZONE_LABEL));
    }
}
