//! HorizontalPodAutoscalers: their statuses, and the subresource by which they size workloads.

use std::sync::Arc;

use super::{ApiServer, Session, not_found};
use crate::arena::Symbol;
use crate::component::{Answer, Reply, export_workload};
use crate::model::{self, ConditionStatus, Object};
use crate::state::{AutoscalerCondition, AutoscalerKey, AutoscalerStatus, MetricValue, Status, WorkloadId};
use crate::units::SimTime;

/// A status as a dump has it.
pub(super) fn status(
    written: &model::HorizontalPodAutoscalerStatus,
    instant: impl Fn(Option<Symbol>) -> SimTime,
) -> AutoscalerStatus {
    let condition = |condition: &model::Condition| AutoscalerCondition {
        kind: condition.condition_type,
        status: match condition.status {
            ConditionStatus::True => Status::True,
            ConditionStatus::False => Status::False,
            ConditionStatus::Unknown => Status::Unknown,
        },
        reason: condition.reason,
        message: Arc::from(condition.message.as_str()),
        since: instant(condition.last_transition_time),
    };
    let metric = |metric: &model::MetricStatus| {
        let current = &metric.resource.as_ref().or(metric.container_resource.as_ref())?.current;
        let average_milli = current.average_value.map_or(0, |value| value.milli_value());
        Some(MetricValue { utilization: current.average_utilization, average_milli })
    };
    AutoscalerStatus {
        current_replicas: written.current_replicas,
        desired_replicas: written.desired_replicas,
        last_scale_at: written.last_scale_time.map(|at| instant(Some(at))),
        metrics: written.current_metrics.iter().map(metric).collect(),
        conditions: written.conditions.iter().map(condition).collect(),
    }
}

pub(super) fn update_status(s: &mut Session<'_>, key: AutoscalerKey, new: AutoscalerStatus) -> Answer {
    let missing = || not_found("horizontalpodautoscalers.autoscaling", key.1.as_str());
    let held = s.store.autoscalers.get_mut(&key).ok_or_else(missing)?;
    if held.status == new {
        return Ok(Reply::Unchanged);
    }
    held.status = new;
    Ok(Reply::Done)
}

impl ApiServer {
    /// PUT of a workload's subresource `scale`.
    pub(super) fn scale(&mut self, s: &mut Session<'_>, workload: WorkloadId, replicas: i32) -> Answer {
        let missing = || not_found("the workload", "");
        let mut object = export_workload(s.store, workload).ok_or_else(missing)?;
        match &mut object {
            Object::Deployment(deployment) => deployment.spec.replicas = Some(replicas),
            Object::StatefulSet(set) => set.spec.replicas = Some(replicas),
            Object::ReplicaSet(set) => set.spec.replicas = Some(replicas),
            Object::ReplicationController(controller) => controller.spec.replicas = Some(replicas),
            _ => return Err(missing()),
        }
        self.apply(s, object)
    }
}
