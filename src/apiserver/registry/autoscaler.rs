//! HorizontalPodAutoscalers: what they say counts for the autoscaler; who they are stands among the stored objects.

use std::sync::Arc;

use super::strategy::{Key, Strategy};
use super::{stored, strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, not_found};
use crate::arena::Symbol;
use crate::component::{Answer, Reply};
use crate::model::{self, Object, ObjectKind, StoredObject};
use crate::state::{Autoscaler, AutoscalerCondition, AutoscalerKey, AutoscalerStatus, Changed, MetricValue, Store};
use crate::units::SimTime;

impl Strategy for model::HorizontalPodAutoscaler {
    type Id = AutoscalerKey;
    const RESOURCE: &'static str = "horizontalpodautoscalers.autoscaling";

    fn find(store: &Store, key: &Key) -> Option<AutoscalerKey> {
        let key = (key.namespace, key.name);
        store.autoscalers.contains_key(&key).then_some(key)
    }

    fn create(mut self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        self.apply_defaults();
        let (key, spec) = ((self.metadata.namespace, self.metadata.name), Arc::new(self.spec.clone()));
        let status = status(&self.status, |at| api.instant(at, s.now));
        stored::insert(api, s, &StoredObject::from(&Object::from(self)));
        s.store.autoscalers.insert(key, Autoscaler { spec, status });
        s.changed.push(Changed::AutoscalerChanged(key));
        Ok(Reply::Done)
    }

    fn replace(mut self, _api: &mut ApiServer, s: &mut Session<'_>, key: AutoscalerKey) -> Answer {
        self.apply_defaults();
        let spec = Arc::new(self.spec.clone());
        if let Reply::Unchanged = stored::write(s, &StoredObject::from(&Object::from(self))) {
            return Ok(Reply::Unchanged);
        }
        if let Some(held) = s.store.autoscalers.get_mut(&key) {
            held.spec = spec;
        }
        s.changed.push(Changed::AutoscalerChanged(key));
        Ok(Reply::Done)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, key: AutoscalerKey) -> Answer {
        stored::remove(s, ObjectKind::HorizontalPodAutoscaler, key.0, key.1);
        s.store.autoscalers.remove(&key);
        s.changed.push(Changed::AutoscalerRemoved(key));
        Ok(Reply::Done)
    }

    fn present(store: &Store, key: AutoscalerKey) -> Option<Object> {
        let spec = model::HorizontalPodAutoscalerSpec::clone(&store.autoscalers.get(&key)?.spec);
        Some(Object::from(Self { spec, ..Self::default() }))
    }
}

/// A status as a dump has it.
fn status(
    written: &model::HorizontalPodAutoscalerStatus,
    instant: impl Fn(Option<Symbol>) -> SimTime,
) -> AutoscalerStatus {
    let condition = |condition: &model::Condition| AutoscalerCondition {
        kind: condition.condition_type,
        status: strategy::status(condition.status),
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

pub(in crate::apiserver) fn update_status(s: &mut Session<'_>, key: AutoscalerKey, new: AutoscalerStatus) -> Answer {
    let missing = || not_found("horizontalpodautoscalers.autoscaling", key.1.as_str());
    let held = s.store.autoscalers.get_mut(&key).ok_or_else(missing)?;
    if held.status == new {
        return Ok(Reply::Unchanged);
    }
    held.status = new;
    Ok(Reply::Done)
}
