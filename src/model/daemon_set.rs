//! Daemon sets.

use std::sync::Arc;

use super::api_type::{api_enums, api_structs};
use super::meta::ObjectMeta;
use super::pod::PodTemplateSpec;
use super::pod_disruption_budget::Condition;
use super::selector::LabelSelector;
use crate::units::IntOrPercent;

api_structs! {
    /// One pod on each node that fits.
    pub struct DaemonSet {
        pub metadata: ObjectMeta,
        pub spec: DaemonSetSpec,
        pub status: DaemonSetStatus,
    }

    /// What is wanted of a daemon set.
    pub struct DaemonSetSpec {
        pub selector: Option<LabelSelector>,
        pub template: Arc<PodTemplateSpec>,
        pub update_strategy: DaemonSetUpdateStrategy,
        pub min_ready_seconds: i32,
        pub revision_history_limit: Option<i32>,
    }

    /// How a changed template reaches the nodes.
    pub struct DaemonSetUpdateStrategy {
        #[serde(rename = "type")]
        pub strategy_type: Option<DaemonSetUpdateStrategyType> = "crate::model::api_type::empty_is_none",
        pub rolling_update: Option<RollingUpdateDaemonSet>,
    }

    /// Limits of a rolling update; percentages are of the nodes that should run the pod.
    pub struct RollingUpdateDaemonSet {
        pub max_unavailable: Option<IntOrPercent>,
        pub max_surge: Option<IntOrPercent>,
    }

    /// What the controller last counted.
    pub struct DaemonSetStatus {
        pub current_number_scheduled: i32,
        pub number_misscheduled: i32,
        pub desired_number_scheduled: i32,
        pub number_ready: i32,
        pub observed_generation: i64,
        pub updated_number_scheduled: i32,
        pub number_available: i32,
        pub number_unavailable: i32,
        pub collision_count: Option<i32>,
        pub conditions: Vec<Condition>,
    }
}

api_enums! {
    /// Whether the controller replaces old pods by itself.
    pub enum DaemonSetUpdateStrategyType {
        RollingUpdate = "RollingUpdate",
        OnDelete = "OnDelete",
    }
}

impl DaemonSet {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        let spec = &mut self.spec;
        Arc::make_mut(&mut spec.template).spec.apply_defaults();
        spec.selector.get_or_insert_with(|| LabelSelector::from_labels(&spec.template.metadata.labels));
        spec.revision_history_limit.get_or_insert(10);
        let strategy = &mut spec.update_strategy;
        let strategy_type = *strategy.strategy_type.get_or_insert(DaemonSetUpdateStrategyType::RollingUpdate);
        if strategy_type == DaemonSetUpdateStrategyType::RollingUpdate {
            let rolling_update = strategy.rolling_update.get_or_insert_default();
            rolling_update.max_unavailable.get_or_insert(IntOrPercent::Int(1));
            rolling_update.max_surge.get_or_insert(IntOrPercent::Int(0));
        }
    }
}
