//! What one sync sees.

use crate::component::same_template;
use crate::model::DeploymentStrategyType;
use crate::state::{Deployment, DeploymentId, ReplicaSet, ReplicaSetId};
use crate::units::SimTime;

/// A Deployment with its ReplicaSets, as one sync sees them.
pub(super) struct View<'a> {
    pub(super) id: DeploymentId,
    pub(super) deployment: &'a Deployment,
    /// The ReplicaSet of the present template.
    pub(super) newest: Option<(ReplicaSetId, &'a ReplicaSet)>,
    /// The others, oldest first.
    pub(super) old: Vec<(ReplicaSetId, &'a ReplicaSet)>,
    pub(super) now: SimTime,
}

impl<'a> View<'a> {
    pub(super) fn new(
        id: DeploymentId,
        deployment: &'a Deployment,
        mut sets: Vec<(ReplicaSetId, &'a ReplicaSet)>,
        now: SimTime,
    ) -> Self {
        sets.sort_by(|(_, a), (_, b)| {
            a.meta.created_at.cmp(&b.meta.created_at).then_with(|| a.meta.name.cmp(&b.meta.name))
        });
        let newest = sets.iter().position(|(_, set)| same_template(&set.spec.template, &deployment.spec.template));
        let newest = newest.map(|index| sets.remove(index));
        Self { id, deployment, newest, old: sets, now }
    }

    pub(super) fn replicas(&self) -> i32 {
        self.deployment.spec.replicas.unwrap_or(1)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &(ReplicaSetId, &'a ReplicaSet)> {
        self.old.iter().chain(&self.newest)
    }

    /// Wanted pods of all ReplicaSets.
    pub(super) fn total(&self) -> i64 {
        self.all().map(|(_, set)| i64::from(set.replicas)).sum()
    }

    /// It is of strategy Recreate, and its new ReplicaSet has not been scaled up yet.
    pub(super) fn waits_for_old_pods(&self) -> bool {
        !self.is_rolling() && self.newest.is_none_or(|(_, set)| set.replicas < self.replicas())
    }

    pub(super) fn is_rolling(&self) -> bool {
        self.deployment.spec.strategy.strategy_type != Some(DeploymentStrategyType::Recreate)
    }
}
