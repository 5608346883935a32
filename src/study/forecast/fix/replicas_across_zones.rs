//! A second replica, and both in zones of their own.

use std::collections::BTreeSet;

use super::objects::{change_templates, is_single, spread};
use super::replicas::SecondReplica;
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
        SecondReplica.cause()
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        is_single(object) && around.zones > 1
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        SecondReplica.apply(scenario, workloads);
        change_templates(&mut scenario.objects, workloads, |template, selector| spread(template, selector, ZONE_LABEL));
    }

    fn caution(&self) -> Option<&'static str> {
        SecondReplica.caution()
    }

    fn price(&self, scenario: &ResolvedScenario, workloads: &BTreeSet<String>) -> Price {
        SecondReplica.price(scenario, workloads)
    }
}
