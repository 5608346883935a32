//! What a node tells.

use super::Found;
use super::fields::{Metadata, NodeSpec, NodeStatus, Text, stamp_of, text};
use crate::arena::Symbol;
use crate::evidence::{Reporter, What};
use crate::model::ConditionStatus;

/// Taints tell when they came if they have `timeAdded`; whatever else is of no known time stands in the cluster's dump.
pub(super) fn read(metadata: &Metadata<'_>, spec: &NodeSpec<'_>, status: &NodeStatus<'_>, found: &mut Found) {
    let node = Symbol::new(text(metadata.name.as_ref()));
    if let Some(when) = stamp_of(metadata.creation_timestamp.as_ref()) {
        found.see(when, What::NodePresent { node, is_present: true });
    }
    for taint in spec.taints.iter().flatten().flatten() {
        let (Some(key), Some(effect)) = (&taint.key, &taint.effect) else { continue };
        if let Some(when) = stamp_of(taint.time_added.as_ref()) {
            let (key, effect) = (key.symbol(), effect.symbol());
            found.see(when, What::NodeTaint { node, key, effect, is_present: true });
        }
    }
    for condition in status.conditions.iter().flatten() {
        let Some(name) = condition.condition.as_ref() else { continue };
        if let (Some(when), Some(status)) = (stamp_of(condition.last_transition_time.as_ref()), condition.status()) {
            found.see(when, changed(node, name, status));
        }
        // A controller that calls a silent node unknown leaves the time of its last word; before there was one it writes its own.
        let has_reported = text(condition.reason.as_ref()) != "NodeStatusNeverUpdated";
        if condition.is("Ready")
            && has_reported
            && let Some(when) = stamp_of(condition.last_heartbeat_time.as_ref())
        {
            found.see(when, What::Heartbeat { node });
        }
    }
}

/// A condition that took a status. That a node's Ready is unknown only its controller says.
fn changed(node: Symbol, condition: &Text<'_>, status: ConditionStatus) -> What {
    if condition.0 != "Ready" {
        return What::NodeCondition { node, condition: condition.symbol(), status };
    }
    let by = if status == ConditionStatus::Unknown { Reporter::Controller } else { Reporter::Kubelet };
    What::NodeReady { node, status, by }
}
