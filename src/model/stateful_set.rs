//! Stateful sets.

use std::sync::Arc;

use super::api_type::{api_enums, api_structs};
use super::meta::ObjectMeta;
use super::pod::PodTemplateSpec;
use super::pod_disruption_budget::Condition;
use super::selector::LabelSelector;
use super::volume::PersistentVolumeClaim;
use crate::arena::Symbol;
use crate::units::IntOrPercent;

api_structs! {
    /// Pods with names and claims of their own.
    pub struct StatefulSet {
        pub metadata: ObjectMeta,
        pub spec: StatefulSetSpec,
        pub status: StatefulSetStatus,
    }

    /// What is wanted of a stateful set.
    pub struct StatefulSetSpec {
        pub replicas: Option<i32>,
        pub selector: Option<LabelSelector>,
        pub template: Arc<PodTemplateSpec>,
        pub volume_claim_templates: Vec<PersistentVolumeClaim>,
        pub service_name: Symbol,
        pub pod_management_policy: Option<PodManagementPolicy> = "crate::model::api_type::empty_is_none",
        pub update_strategy: StatefulSetUpdateStrategy,
        pub revision_history_limit: Option<i32>,
        pub min_ready_seconds: i32,
        pub persistent_volume_claim_retention_policy: Option<PersistentVolumeClaimRetentionPolicy>,
        pub ordinals: Option<StatefulSetOrdinals>,
    }

    /// How a changed template reaches the pods.
    pub struct StatefulSetUpdateStrategy {
        #[serde(rename = "type")]
        pub strategy_type: Option<StatefulSetUpdateStrategyType> = "crate::model::api_type::empty_is_none",
        pub rolling_update: Option<RollingUpdateStatefulSet>,
    }

    /// Limits of a rolling update; ordinals below `partition` stay as they are.
    pub struct RollingUpdateStatefulSet {
        pub partition: Option<i32>,
        pub max_unavailable: Option<IntOrPercent>,
    }

    /// What becomes of the claims of pods that are no longer wanted.
    #[derive(Eq)]
    pub struct PersistentVolumeClaimRetentionPolicy {
        pub when_deleted: RetentionPolicy,
        pub when_scaled: RetentionPolicy,
    }

    /// Where the numbering of the pods begins.
    #[derive(Eq)]
    pub struct StatefulSetOrdinals {
        pub start: i32,
    }

    /// What the controller last counted.
    pub struct StatefulSetStatus {
        pub observed_generation: i64,
        pub replicas: i32,
        pub ready_replicas: i32,
        pub current_replicas: i32,
        pub updated_replicas: i32,
        pub available_replicas: i32,
        pub current_revision: Symbol,
        pub update_revision: Symbol,
        pub collision_count: Option<i32>,
        pub conditions: Vec<Condition>,
    }
}

api_enums! {
    /// Whether pods are made one after the other.
    pub enum PodManagementPolicy {
        OrderedReady = "OrderedReady",
        Parallel = "Parallel",
    }

    /// Whether the controller replaces old pods by itself.
    pub enum StatefulSetUpdateStrategyType {
        RollingUpdate = "RollingUpdate",
        OnDelete = "OnDelete",
    }

    /// Whether claims outlive their pods.
    pub enum RetentionPolicy or Retain {
        Retain = "Retain",
        Delete = "Delete",
    }
}

impl StatefulSet {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        let spec = &mut self.spec;
        Arc::make_mut(&mut spec.template).spec.apply_defaults();
        spec.replicas.get_or_insert(1);
        spec.selector.get_or_insert_with(|| LabelSelector::from_labels(&spec.template.metadata.labels));
        spec.revision_history_limit.get_or_insert(10);
        spec.pod_management_policy.get_or_insert(PodManagementPolicy::OrderedReady);
        spec.persistent_volume_claim_retention_policy.get_or_insert_default();
        let strategy = &mut spec.update_strategy;
        if strategy.strategy_type.is_none() {
            strategy.strategy_type = Some(StatefulSetUpdateStrategyType::RollingUpdate);
            strategy.rolling_update.get_or_insert_default();
        }
        if strategy.strategy_type == Some(StatefulSetUpdateStrategyType::RollingUpdate)
            && let Some(update) = &mut strategy.rolling_update
        {
            update.partition.get_or_insert(0);
        }
        for claim in &mut spec.volume_claim_templates {
            claim.apply_defaults();
        }
    }
}
