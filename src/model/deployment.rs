//! Deployments.

use std::sync::Arc;

use super::api_type::{api_enums, api_structs};
use super::meta::ObjectMeta;
use super::pod::{ConditionStatus, PodTemplateSpec};
use super::selector::LabelSelector;
use crate::arena::Symbol;
use crate::units::IntOrPercent;

api_structs! {
    /// Replica sets that follow one another.
    pub struct Deployment {
        pub metadata: ObjectMeta,
        pub spec: DeploymentSpec,
        pub status: DeploymentStatus,
    }

    /// What is wanted of a deployment.
    pub struct DeploymentSpec {
        pub replicas: Option<i32>,
        pub selector: Option<LabelSelector>,
        pub template: Arc<PodTemplateSpec>,
        pub strategy: DeploymentStrategy,
        pub min_ready_seconds: i32,
        pub revision_history_limit: Option<i32>,
        pub paused: bool,
        pub progress_deadline_seconds: Option<i32>,
    }

    /// How a changed template replaces the old pods.
    pub struct DeploymentStrategy {
        #[serde(rename = "type")]
        pub strategy_type: Option<DeploymentStrategyType> = "crate::model::api_type::empty_is_none",
        pub rolling_update: Option<RollingUpdateDeployment>,
    }

    /// Limits of a rolling update; percentages are of `replicas`.
    pub struct RollingUpdateDeployment {
        pub max_unavailable: Option<IntOrPercent>,
        pub max_surge: Option<IntOrPercent>,
    }

    /// What the controller last counted.
    pub struct DeploymentStatus {
        pub observed_generation: i64,
        pub replicas: i32,
        pub updated_replicas: i32,
        pub ready_replicas: i32,
        pub available_replicas: i32,
        pub unavailable_replicas: i32,
        pub terminating_replicas: Option<i32>,
        pub collision_count: Option<i32>,
        pub conditions: Vec<DeploymentCondition>,
    }

    /// One condition of a deployment.
    #[derive(Eq)]
    pub struct DeploymentCondition {
        #[serde(rename = "type")]
        pub condition_type: Symbol,
        pub status: ConditionStatus,
        pub last_update_time: Option<Symbol>,
        pub last_transition_time: Option<Symbol>,
        pub reason: Symbol,
        pub message: Symbol,
    }
}

api_enums! {
    /// Whether old pods go step by step or all at once.
    pub enum DeploymentStrategyType {
        RollingUpdate = "RollingUpdate",
        Recreate = "Recreate",
    }
}

impl Deployment {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        let spec = &mut self.spec;
        Arc::make_mut(&mut spec.template).spec.apply_defaults();
        spec.replicas.get_or_insert(1);
        spec.selector.get_or_insert_with(|| LabelSelector::from_labels(&spec.template.metadata.labels));
        spec.revision_history_limit.get_or_insert(10);
        spec.progress_deadline_seconds.get_or_insert(600);
        let strategy_type = *spec.strategy.strategy_type.get_or_insert(DeploymentStrategyType::RollingUpdate);
        if strategy_type == DeploymentStrategyType::RollingUpdate {
            let rolling_update = spec.strategy.rolling_update.get_or_insert_default();
            rolling_update.max_unavailable.get_or_insert(IntOrPercent::Percent(25));
            rolling_update.max_surge.get_or_insert(IntOrPercent::Percent(25));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_fill_only_what_is_absent() {
        #[track_caller]
        fn check(spec: &str, expected: &str) {
            let mut deployment: Deployment = serde_json::from_str(&format!(r#"{{"spec":{spec}}}"#)).unwrap();
            deployment.apply_defaults();
            let once = deployment.clone();
            deployment.apply_defaults();
            assert_eq!(deployment, once, "{spec}");
            assert_eq!(serde_json::to_string(&deployment.spec.strategy).unwrap(), expected, "{spec}");
        }
        check("{}", r#"{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}}"#);
        check(
            r#"{"strategy":{"rollingUpdate":{"maxSurge":0}}}"#,
            r#"{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":0}}"#,
        );
        check(r#"{"strategy":{"type":"Recreate"}}"#, r#"{"type":"Recreate"}"#);
    }

    #[test]
    fn a_selector_comes_from_the_template_where_none_is_given() {
        let mut deployment: Deployment =
            serde_json::from_str(r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#).unwrap();
        deployment.apply_defaults();
        assert_eq!(deployment.spec.selector.unwrap().match_labels.to_string(), "a=b");
        assert_eq!((deployment.spec.replicas, deployment.spec.progress_deadline_seconds), (Some(1), Some(600)));
    }
}
