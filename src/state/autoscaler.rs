//! HorizontalPodAutoscalers: what they scale and what they last found. Who they are stands among the stored objects.

use std::sync::Arc;

use super::nodes::Status;
use crate::arena::Symbol;
use crate::model;
use crate::units::SimTime;

/// Namespace and name of an autoscaler.
pub type AutoscalerKey = (Symbol, Symbol);

/// A HorizontalPodAutoscaler.
#[derive(Clone, Debug)]
pub struct Autoscaler {
    /// Spec, with all defaults.
    pub spec: Arc<model::HorizontalPodAutoscalerSpec>,
    /// Status.
    pub status: AutoscalerStatus,
}

/// Status of a HorizontalPodAutoscaler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoscalerStatus {
    /// `currentReplicas`.
    pub current_replicas: i32,
    /// `desiredReplicas`.
    pub desired_replicas: i32,
    /// `lastScaleTime`.
    pub last_scale_at: Option<SimTime>,
    /// `currentMetrics`, by the metrics of the spec; none for one that could not be read.
    pub metrics: Vec<Option<MetricValue>>,
    /// `conditions`, in the order in which they were first set.
    pub conditions: Vec<AutoscalerCondition>,
}

/// What a metric last was.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MetricValue {
    /// Percent of what the pods request, if that is what the target says.
    pub utilization: Option<i32>,
    /// The average over the pods, in thousandths of the resource's unit.
    pub average_milli: i64,
}

/// A condition of a HorizontalPodAutoscaler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoscalerCondition {
    /// `AbleToScale`, `ScalingActive` or `ScalingLimited`.
    pub kind: Symbol,
    /// Status.
    pub status: Status,
    /// Reason.
    pub reason: Symbol,
    /// Message.
    pub message: Arc<str>,
    /// Since when the status is what it is.
    pub since: SimTime,
}

impl AutoscalerStatus {
    /// Sets a condition; since when it is so stays unless the status flips.
    pub fn set_condition(&mut self, kind: &str, status: bool, reason: &str, message: &str, now: SimTime) {
        let (kind, reason) = (Symbol::new(kind), Symbol::new(reason));
        let status = if status { Status::True } else { Status::False };
        let held = self.conditions.iter_mut().find(|condition| condition.kind == kind);
        match held {
            Some(held) => {
                if held.status != status {
                    held.since = now;
                }
                (held.status, held.reason) = (status, reason);
                if *held.message != *message {
                    held.message = Arc::from(message);
                }
            }
            None => {
                let message = Arc::from(message);
                self.conditions.push(AutoscalerCondition { kind, status, reason, message, since: now });
            }
        }
    }
}
