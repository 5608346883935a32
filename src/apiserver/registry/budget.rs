//! PodDisruptionBudgets.

use std::sync::Arc;

use super::strategy::{Key, Strategy, replace};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, not_found};
use crate::apiserver::workloads::modified;
use crate::arena::Symbol;
use crate::component::{Answer, Reply};
use crate::model::{self, Object};
use crate::state::{
    Changed, ObjectDelta, PodDisruptionBudget, PodDisruptionBudgetId, PodDisruptionBudgetStatus, Store,
};

impl Strategy for model::PodDisruptionBudget {
    type Id = PodDisruptionBudgetId;
    const RESOURCE: &'static str = "poddisruptionbudgets.policy";

    fn find(store: &Store, key: &Key) -> Option<PodDisruptionBudgetId> {
        let is_it =
            |budget: &PodDisruptionBudget| (budget.meta.namespace, budget.meta.name) == (key.namespace, key.name);
        store.budgets.iter().find(|(_, budget)| is_it(budget)).map(|(id, _)| id)
    }

    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        let meta = api.meta(s, "PodDisruptionBudget", &self.metadata);
        let at = |since: Symbol| api.instant(Some(since), s.now);
        let status = PodDisruptionBudgetStatus {
            observed_generation: self.status.observed_generation,
            disruptions_allowed: self.status.disruptions_allowed,
            current_healthy: self.status.current_healthy,
            desired_healthy: self.status.desired_healthy,
            expected_pods: self.status.expected_pods,
            disrupted_pods: {
                let pods = self.status.disrupted_pods.iter();
                pods.map(|(pod, since)| (Arc::from(pod.as_str()), at(*since))).collect()
            },
            ..PodDisruptionBudgetStatus::default()
        };
        let budget = PodDisruptionBudget { meta, spec: Arc::new(self.spec), status, resource_version: 1 };
        let id = s.store.budgets.insert(budget);
        s.changed.push(Changed::BudgetAdded(id));
        Ok(Reply::Done)
    }

    fn replace(self, _api: &mut ApiServer, s: &mut Session<'_>, id: PodDisruptionBudgetId) -> Answer {
        let held = &mut s.store.budgets[id];
        let delta = replace(&mut held.meta, &self.metadata, &mut held.spec, self.spec);
        if delta.is_none() {
            return Ok(Reply::Unchanged);
        }
        held.resource_version += 1;
        s.changed.push(Changed::BudgetUpdated(id, delta));
        Ok(Reply::Done)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: PodDisruptionBudgetId) -> Answer {
        s.store.budgets.remove(id);
        s.changed.push(Changed::BudgetRemoved(id));
        Ok(Reply::Done)
    }

    fn present(store: &Store, id: PodDisruptionBudgetId) -> Option<Object> {
        let spec = model::PodDisruptionBudgetSpec::clone(&store.budgets.get(id)?.spec);
        Some(Object::from(Self { spec, ..Self::default() }))
    }
}

/// What the controller has found, from the version of the budget that it read.
pub(in crate::apiserver) fn update_status(
    s: &mut Session<'_>,
    id: PodDisruptionBudgetId,
    read_version: u64,
    new: PodDisruptionBudgetStatus,
) -> Answer {
    let resource = model::PodDisruptionBudget::RESOURCE;
    let budget = s.store.budgets.get_mut(id).ok_or_else(|| not_found(resource, ""))?;
    if budget.resource_version != read_version {
        return Err(modified(resource, budget.meta.name));
    }
    if budget.status == new {
        return Ok(Reply::Unchanged);
    }
    budget.status = new;
    budget.resource_version += 1;
    s.changed.push(Changed::BudgetUpdated(id, ObjectDelta::STATUS));
    Ok(Reply::Done)
}
