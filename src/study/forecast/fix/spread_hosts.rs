//! No two replicas on a node, as far as there are nodes.

use std::collections::BTreeSet;

use super::objects::{HOSTNAME_LABEL, change_templates, is_many, is_spread, spread};
use super::{Change, Circumstances};
use crate::model::Object;
use crate::scenario::ResolvedScenario;

/// No two replicas on a node, as far as there are nodes.
pub(super) struct SpreadHosts;

impl Change for SpreadHosts {
    fn file(&self) -> &'static str {
        "spread-hosts"
    }

    fn words(&self) -> &'static str {
        "spread the replicas over nodes"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["has its pods on one node", "have their pods on one node each"]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        is_many(object) && around.nodes > 1 && !is_spread(object, HOSTNAME_LABEL)
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        change_templates(&mut scenario.objects, workloads, |template, selector| {
            spread(template, selector, HOSTNAME_LABEL)
        });
    }
}
