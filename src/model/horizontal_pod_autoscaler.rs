//! Horizontal pod autoscalers: their target, bounds, metrics and behavior.

use super::api_type::{api_enums, api_structs};
use super::meta::{ObjectMeta, ObjectReference, Opaque};
use super::pod_disruption_budget::Condition;
use crate::arena::Symbol;
use crate::units::Quantity;

api_structs! {
    /// An autoscaler.
    pub struct HorizontalPodAutoscaler {
        pub metadata: ObjectMeta,
        pub spec: HorizontalPodAutoscalerSpec,
        pub status: HorizontalPodAutoscalerStatus,
    }

    /// What is scaled, by what, and between which bounds.
    pub struct HorizontalPodAutoscalerSpec {
        pub scale_target_ref: ObjectReference,
        pub min_replicas: Option<i32>,
        pub max_replicas: i32,
        pub metrics: Vec<MetricSpec>,
        pub behavior: Option<HorizontalPodAutoscalerBehavior>,
        /// Of `autoscaling/v1`; becomes a metric.
        #[serde(rename = "targetCPUUtilizationPercentage")]
        pub target_cpu_utilization_percentage: Option<i32>,
    }

    /// One thing to follow.
    pub struct MetricSpec {
        #[serde(rename = "type")]
        pub metric_type: Option<MetricSourceType> = "crate::model::api_type::empty_is_none",
        pub resource: Option<ResourceMetricSource>,
        pub container_resource: Option<ResourceMetricSource>,
        pub pods: Option<CustomMetricSource>,
        pub object: Option<CustomMetricSource>,
        pub external: Option<CustomMetricSource>,
    }

    /// What pods, or one container of each, use of a resource.
    pub struct ResourceMetricSource {
        pub name: Symbol,
        pub container: Symbol,
        pub target: MetricTarget,
    }

    /// A metric that only its own adapter knows.
    pub struct CustomMetricSource {
        pub metric: Option<Opaque>,
        pub described_object: ObjectReference,
        pub target: MetricTarget,
    }

    /// What a metric is to be.
    pub struct MetricTarget {
        #[serde(rename = "type")]
        pub target_type: Symbol,
        pub value: Option<Quantity>,
        pub average_value: Option<Quantity>,
        pub average_utilization: Option<i32>,
    }

    /// How fast it scales.
    pub struct HorizontalPodAutoscalerBehavior {
        pub scale_up: Option<HPAScalingRules>,
        pub scale_down: Option<HPAScalingRules>,
    }

    /// How fast it scales in one direction.
    pub struct HPAScalingRules {
        pub stabilization_window_seconds: Option<i32>,
        pub select_policy: Option<ScalingPolicySelect> = "crate::model::api_type::empty_is_none",
        pub policies: Option<Vec<HPAScalingPolicy>>,
        pub tolerance: Option<Quantity>,
    }

    /// By how much it may scale in a period.
    #[derive(Eq)]
    pub struct HPAScalingPolicy {
        #[serde(rename = "type")]
        pub policy_type: Option<HPAScalingPolicyType> = "crate::model::api_type::empty_is_none",
        pub value: i32,
        pub period_seconds: i32,
    }

    /// What the autoscaler last wanted.
    pub struct HorizontalPodAutoscalerStatus {
        pub observed_generation: i64,
        pub last_scale_time: Option<Symbol>,
        pub current_replicas: i32,
        pub desired_replicas: i32,
        pub current_metrics: Vec<MetricStatus>,
        pub conditions: Vec<Condition>,
    }

    /// What a metric last was; only of resources it is read.
    pub struct MetricStatus {
        #[serde(rename = "type")]
        pub metric_type: Symbol,
        pub resource: Option<ResourceMetricStatus>,
        pub container_resource: Option<ResourceMetricStatus>,
    }

    /// What pods last used of a resource.
    pub struct ResourceMetricStatus {
        pub name: Symbol,
        pub container: Symbol,
        pub current: MetricValueStatus,
    }

    /// A metric's last value.
    pub struct MetricValueStatus {
        pub average_value: Option<Quantity>,
        pub average_utilization: Option<i32>,
    }
}

api_enums! {
    /// Where a metric comes from.
    pub enum MetricSourceType {
        ContainerResource = "ContainerResource",
        External = "External",
        Object = "Object",
        Pods = "Pods",
        Resource = "Resource",
    }

    /// Which of several policies counts.
    pub enum ScalingPolicySelect {
        Disabled = "Disabled",
        Max = "Max",
        Min = "Min",
    }

    /// What a policy's value counts.
    pub enum HPAScalingPolicyType {
        Percent = "Percent",
        Pods = "Pods",
    }
}

/// Which utilization an autoscaler follows that names no metric.
const DEFAULT_CPU_UTILIZATION: i32 = 80;

impl MetricSpec {
    /// Follows what pods use of the CPU that they request, in percent.
    #[must_use]
    pub fn cpu_utilization(percent: i32) -> Self {
        let target = MetricTarget {
            target_type: Symbol::new("Utilization"),
            average_utilization: Some(percent),
            ..Default::default()
        };
        let resource = ResourceMetricSource { name: Symbol::new("cpu"), target, ..Default::default() };
        Self { metric_type: Some(MetricSourceType::Resource), resource: Some(resource), ..Default::default() }
    }
}

impl HorizontalPodAutoscaler {
    /// Fills in what the API server would, and turns what `autoscaling/v1` says into a metric. Doing it twice changes nothing.
    ///
    /// # Source
    /// kube-apiserver, `SetDefaults_HorizontalPodAutoscaler`, and the conversion of v1.
    pub fn apply_defaults(&mut self) {
        self.convert();
        let spec = &mut self.spec;
        spec.min_replicas.get_or_insert(1);
        if spec.metrics.is_empty() {
            spec.metrics.push(MetricSpec::cpu_utilization(DEFAULT_CPU_UTILIZATION));
        }
        if let Some(behavior) = &mut spec.behavior {
            let policy =
                |policy_type, value| HPAScalingPolicy { policy_type: Some(policy_type), value, period_seconds: 15 };
            let up = behavior.scale_up.get_or_insert_default();
            up.stabilization_window_seconds.get_or_insert(0);
            let both = [policy(HPAScalingPolicyType::Pods, 4), policy(HPAScalingPolicyType::Percent, 100)];
            up.fill(&both);
            behavior.scale_down.get_or_insert_default().fill(&both[1..]);
        }
    }
}

impl HorizontalPodAutoscaler {
    /// Turns what `autoscaling/v1` says into a metric.
    pub fn convert(&mut self) {
        let Some(percent) = self.spec.target_cpu_utilization_percentage.take() else { return };
        let is_cpu = |metric: &MetricSpec| metric.resource.as_ref().is_some_and(|resource| resource.name == "cpu");
        self.spec.metrics.retain(|metric| !is_cpu(metric));
        self.spec.metrics.push(MetricSpec::cpu_utilization(percent));
    }
}

impl HPAScalingRules {
    fn fill(&mut self, policies: &[HPAScalingPolicy]) {
        self.select_policy.get_or_insert(ScalingPolicySelect::Max);
        self.policies.get_or_insert_with(|| policies.to_vec());
    }

    /// What limits a step; none before the defaults are applied, if none is written.
    #[must_use]
    pub fn policies(&self) -> &[HPAScalingPolicy] {
        self.policies.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(spec: &str) -> HorizontalPodAutoscaler {
        let mut read: HorizontalPodAutoscaler =
            serde_saphyr::from_str(&format!("{{metadata: {{name: a}}, spec: {{maxReplicas: 3, {spec}}}}}"))
                .expect("one");
        read.apply_defaults();
        let once = read.clone();
        read.apply_defaults();
        assert_eq!(read, once);
        read
    }

    #[test]
    fn what_is_not_said_is_filled_in_as_the_server_does() {
        let utilization = |spec: &str| {
            let target = read(spec).spec.metrics[0].resource.clone().expect("a resource").target;
            target.average_utilization
        };
        assert_eq!(utilization(""), Some(80));
        assert_eq!(utilization("targetCPUUtilizationPercentage: 55"), Some(55));
        assert_eq!(read("").spec.min_replicas, Some(1));
        assert_eq!(read("").spec.behavior, None);
        let behavior =
            read("behavior: {scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 60}]}}").spec.behavior;
        let behavior = behavior.expect("behavior");
        let (up, down) = (behavior.scale_up.expect("up"), behavior.scale_down.expect("down"));
        assert_eq!((up.stabilization_window_seconds, up.policies().len()), (Some(0), 2));
        // The flag of the controller says for how long scaling down waits.
        assert_eq!((down.stabilization_window_seconds, down.policies().len()), (None, 1));
    }

    #[test]
    fn only_an_empty_list_of_policies_that_is_written_is_refused() {
        let errors = |rules: &str| {
            let read: HorizontalPodAutoscaler = serde_saphyr::from_str(&format!(
                "{{metadata: {{name: a, namespace: default}}, spec: {{maxReplicas: 3, scaleTargetRef: {{apiVersion: \
                 apps/v1, kind: Deployment, name: d}}, behavior: {{scaleDown: {rules}}}}}}}"
            ))
            .expect("one");
            crate::model::validation::validate(&crate::model::Object::from(read)).len()
        };
        for rules in ["{}", "{stabilizationWindowSeconds: 300}", "{selectPolicy: Disabled}", "{policies: null}"] {
            assert_eq!(errors(rules), 0, "{rules}");
        }
        assert_eq!(errors("{policies: []}"), 1);
    }
}
