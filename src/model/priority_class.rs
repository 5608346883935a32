//! Priority classes.

use super::api_type::api_structs;
use super::meta::ObjectMeta;
use super::pod::PreemptionPolicy;
use crate::arena::Symbol;

api_structs! {
    /// A name for a priority.
    pub struct PriorityClass {
        pub metadata: ObjectMeta,
        pub value: i32,
        pub global_default: bool,
        pub description: Symbol,
        pub preemption_policy: Option<PreemptionPolicy> = "crate::model::api_type::empty_is_none",
    }
}

/// Pods at or above this priority are critical: the value of `system-cluster-critical`.
pub const SYSTEM_CRITICAL_PRIORITY: i32 = 2_000_000_000;

/// The value of `system-node-critical`.
pub const SYSTEM_NODE_CRITICAL_PRIORITY: i32 = SYSTEM_CRITICAL_PRIORITY + 1000;

/// The highest value a class that users make may have.
pub const HIGHEST_USER_PRIORITY: i32 = 1_000_000_000;

/// The two classes that every cluster has, as name and value.
pub const SYSTEM_PRIORITY_CLASSES: [(&str, i32); 2] =
    [("system-cluster-critical", SYSTEM_CRITICAL_PRIORITY), ("system-node-critical", SYSTEM_NODE_CRITICAL_PRIORITY)];

impl PriorityClass {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.preemption_policy.get_or_insert(PreemptionPolicy::PreemptLowerPriority);
    }
}
