//! No eviction takes more pods than their budget allows, and none takes a healthy pod without asking.

use rustc_hash::{FxHashMap, FxHashSet};

use super::mirror::{Mirror, copy_parts, pod_name};
use crate::model::LabelSelector;
use crate::state::{
    Change, Changed, DeletionCause, ObjectDelta, Pod, PodDelta, PodDisruptionBudget, PodDisruptionBudgetId, PodId,
    Store,
};
use crate::units::{SimDuration, SimTime};

/// How long the controller counts a pod as gone whose eviction was granted.
const GRANT_HOLDS: SimDuration = SimDuration::from_secs(120);

/// What happened to the pods of a budget besides evictions.
#[derive(Clone, Debug, Default)]
struct Losses {
    /// Pods that were healthy and ceased to be, not by an eviction.
    total: i64,
    /// How many at the last write of the budget.
    at_last_write: i64,
    /// How many at the write before the controller last wrote the status: it cannot have read an older budget, for then its
    /// write would have been refused.
    known_to_controller: i64,
}

/// Budgets, and what their controllers can have known.
#[derive(Clone, Debug, Default)]
pub(super) struct Budgets {
    losses: FxHashMap<PodDisruptionBudgetId, Losses>,
    /// Budgets of which some pod has had another one, too.
    shared: FxHashSet<PodDisruptionBudgetId>,
}

/// Whether it counts for a budget.
fn is_healthy(pod: &Pod) -> bool {
    pod.is_ready() && pod.deletion.is_none()
}

fn covers(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    budget.meta.namespace == pod.namespace
        && budget.spec.selector.as_ref().is_some_and(|selector: &LabelSelector| selector.matches(&pod.labels))
}

impl Budgets {
    pub(super) fn new(store: &Store) -> Self {
        let losses = store.budgets.ids().map(|id| (id, Losses::default())).collect();
        let mut budgets = Self { losses, shared: FxHashSet::default() };
        for (_, pod) in store.pods() {
            budgets.note_shared(pod, store);
        }
        budgets
    }

    pub(super) fn has_shared_pods(&self, id: PodDisruptionBudgetId) -> bool {
        self.shared.contains(&id)
    }

    fn note_all_shared(&mut self, id: PodDisruptionBudgetId, store: &Store) {
        let Some(budget) = store.budgets.get(id) else { return };
        for pod in store.pods_in(budget.meta.namespace).iter().filter_map(|id| store.pod(*id)) {
            if covers(budget, pod) {
                self.note_shared(pod, store);
            }
        }
    }

    fn note_shared(&mut self, pod: &Pod, store: &Store) {
        let mut covering = store.budgets.iter().filter(|(_, budget)| covers(budget, pod)).map(|(id, _)| id);
        if let (Some(first), Some(second)) = (covering.next(), covering.next()) {
            self.shared.extend([first, second].into_iter().chain(covering));
        }
    }

    /// A change, with the mirror as it was before.
    pub(super) fn changed(&mut self, change: &Change, store: &Store, before: &Mirror) -> Result<(), String> {
        match &change.what {
            Changed::BudgetAdded(id) => {
                self.losses.insert(*id, Losses::default());
                self.note_all_shared(*id, store);
            }
            Changed::PodAdded(id) => {
                if let Some(pod) = store.pod(*id).filter(|_| self.losses.len() > 1) {
                    self.note_shared(pod, store);
                }
            }
            Changed::BudgetUpdated(id, delta) => {
                if delta.touches(ObjectDelta::SPEC) {
                    self.note_all_shared(*id, store);
                }
                return self.written(*id, change.at, store, before);
            }
            Changed::BudgetRemoved(id) => {
                self.losses.remove(id);
            }
            Changed::PodUpdated { pod, delta, .. } => {
                let parts = PodDelta::LABELS | PodDelta::DELETION | PodDelta::READY;
                if !self.losses.is_empty()
                    && delta.touches(parts)
                    && let (Some(known), Some(now)) = (before.pod(*pod), store.pod(*pod))
                {
                    let mut next = known.clone();
                    copy_parts(&mut next, now, *delta);
                    if delta.touches(PodDelta::LABELS) {
                        self.note_shared(now, store);
                    }
                    return self.pod_changed(known, Some(&next), store);
                }
            }
            Changed::PodRemoved { pod, last } => {
                if !self.losses.is_empty()
                    && let Some(known) = before.pod(*pod)
                {
                    // A pod without grace goes in one step: that its deletion was asked for is seen with its end.
                    let next = Pod { deletion: last.deletion, ..known.clone() };
                    return self.pod_changed(known, Some(&next), store);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn written(
        &mut self,
        id: PodDisruptionBudgetId,
        now: SimTime,
        store: &Store,
        before: &Mirror,
    ) -> Result<(), String> {
        let (Some(budget), Some(losses)) = (store.budgets.get(id), self.losses.get_mut(&id)) else { return Ok(()) };
        let known = before.budget_status(id);
        let is_eviction = known.is_some_and(|known| {
            known.disruptions_allowed > budget.status.disruptions_allowed
                && known.disrupted_pods.len() < budget.status.disrupted_pods.len()
                && known.current_healthy == budget.status.current_healthy
        });
        if is_eviction {
            check_grant(budget, losses, now, store)?;
        } else {
            losses.known_to_controller = losses.at_last_write;
        }
        losses.at_last_write = losses.total;
        Ok(())
    }

    fn pod_changed(&mut self, known: &Pod, next: Option<&Pod>, store: &Store) -> Result<(), String> {
        if !is_healthy(known) {
            return Ok(());
        }
        for (id, budget) in store.budgets.iter().filter(|(_, budget)| covers(budget, known)) {
            if next.is_some_and(|next| is_healthy(next) && covers(budget, next)) {
                continue;
            }
            let deletion = next.and_then(|next| next.deletion);
            let is_eviction = deletion.is_some_and(|d| d.cause == DeletionCause::EvictionByEvictionApi);
            let Some(losses) = self.losses.get_mut(&id) else { continue };
            if !is_eviction {
                losses.total += 1;
                continue;
            }
            // Whose containers have ended is evicted without a word to its budget, although it still counts as Ready.
            if !known.phase.is_terminal() {
                check_evicted(budget, known)?;
            }
        }
        Ok(())
    }
}

/// An eviction was just granted: enough others are healthy, but for those that its controller could not know to be gone.
fn check_grant(budget: &PodDisruptionBudget, losses: &Losses, now: SimTime, store: &Store) -> Result<(), String> {
    let (name, status) = (budget.meta.name, &budget.status);
    if status.disruptions_allowed < 0 {
        return Err(format!("budget {}/{name} allows {}", budget.meta.namespace, status.disruptions_allowed));
    }
    let is_granted = |pod: &Pod| status.disrupted_pods.get(&pod.name).is_some_and(|at| *at + GRANT_HOLDS > now);
    let pods = store.pods_in(budget.meta.namespace).iter().filter_map(|id: &PodId| store.pod(*id));
    let healthy = pods.filter(|pod| covers(budget, pod) && is_healthy(pod) && !is_granted(pod)).count() as i64;
    let unknown = losses.total - losses.known_to_controller;
    if healthy + unknown >= i64::from(status.desired_healthy) {
        return Ok(());
    }
    Err(format!(
        "an eviction was granted though budget {name} wants {} healthy pods and only {healthy} are left ({unknown} were lost \
         otherwise of late)",
        status.desired_healthy
    ))
}

/// The pod was healthy and was just evicted: its budget has granted that, unless the budget itself is new.
fn check_evicted(budget: &PodDisruptionBudget, evicted: &Pod) -> Result<(), String> {
    let status = &budget.status;
    let is_new = status.observed_generation < budget.meta.generation;
    if is_new || status.disrupted_pods.contains_key(&evicted.name) {
        return Ok(());
    }
    Err(format!("pod {} was evicted though its budget {} was not asked", pod_name(evicted), budget.meta.name))
}
