//! Pod disruption budgets.

use std::collections::BTreeMap;

use super::api_type::{api_enums, api_structs};
use super::meta::ObjectMeta;
use super::pod::ConditionStatus;
use super::selector::LabelSelector;
use crate::arena::Symbol;
use crate::units::IntOrPercent;

api_structs! {
    /// How many pods of a set may be taken away on purpose.
    pub struct PodDisruptionBudget {
        pub metadata: ObjectMeta,
        pub spec: PodDisruptionBudgetSpec,
        pub status: PodDisruptionBudgetStatus,
    }

    /// The set and the limit; only one of the two limits is given.
    pub struct PodDisruptionBudgetSpec {
        pub min_available: Option<IntOrPercent>,
        pub max_unavailable: Option<IntOrPercent>,
        /// Absent: no pod; empty: every pod of the namespace (in `policy/v1beta1`: none).
        pub selector: Option<LabelSelector>,
        pub unhealthy_pod_eviction_policy: Option<UnhealthyPodEvictionPolicy> = "crate::model::api_type::empty_is_none",
    }

    /// What the disruption controller last counted.
    pub struct PodDisruptionBudgetStatus {
        pub observed_generation: i64,
        /// Pods whose eviction was granted but not yet seen, with the time of the grant.
        pub disrupted_pods: BTreeMap<Symbol, Symbol>,
        pub disruptions_allowed: i32,
        pub current_healthy: i32,
        pub desired_healthy: i32,
        pub expected_pods: i32,
        pub conditions: Vec<Condition>,
    }

    /// A condition in the form that newer kinds share.
    #[derive(Eq)]
    pub struct Condition {
        #[serde(rename = "type")]
        pub condition_type: Symbol,
        pub status: ConditionStatus,
        pub observed_generation: i64,
        pub last_transition_time: Option<Symbol>,
        pub reason: Symbol,
        pub message: Symbol,
    }
}

api_enums! {
    /// Which unready pods may be evicted.
    pub enum UnhealthyPodEvictionPolicy {
        IfHealthyBudget = "IfHealthyBudget",
        AlwaysAllow = "AlwaysAllow",
    }
}
