//! The eviction subresource: a request that reads before it writes, and meets other writers in between.

use std::sync::Arc;

use super::pods::{self, gone};
use super::registry;
use super::session::Session;
use crate::component::{Answer, ApiError, DeleteOptions, ErrorReason, PodStatusPatch, Reply};
use crate::model::{LabelSelector, Labels, UnhealthyPodEvictionPolicy};
use crate::state::{
    BudgetReason, DeletionCause, DisruptionReason, Pod, PodDisruptionBudget, PodDisruptionBudgetId, PodId, PodPhase,
};
use crate::units::SimDuration;

/// How far a request has come.
#[derive(Clone, Debug)]
pub enum Served {
    /// It is over.
    Answered(Answer),
    /// Its next step follows after this time.
    Continues(SimDuration, Box<Eviction>),
}

/// How often a write that met another is tried (`EvictionsRetry`).
const TRIES_MAX: u32 = 20;

/// The pause before the next try, without its jitter.
const PAUSE: SimDuration = SimDuration::from_millis(500);

/// By up to how much jitter lengthens the pause, in nanoseconds: a tenth of it.
const JITTER_NANOS: u32 = 50_000_000;

/// More evictions that were granted and not confirmed than this are too many.
const DISRUPTED_MAX: usize = 2000;

/// An eviction under way.
///
/// # Source
/// kube-apiserver, eviction subresource: it reads the pod, lists the budgets, writes the budget if it still is as it was read, and
/// then the pod, each by a call of its own.
///
/// # Differs
/// What the server asks itself takes half the round trip of any other call, which crosses no network, and a write of a budget
/// as long again. A pod that is made anew under its name while its eviction is under way is another pod.
#[derive(Clone, Debug)]
pub struct Eviction {
    pod: PodId,
    grace_s: Option<i64>,
    dry_run: bool,
    /// The pod's name and labels, its version and whether it was ready, as they were read.
    name: Arc<str>,
    labels: Labels,
    version: u64,
    is_ready: bool,
    /// Tries of this write that met another.
    conflicts: u32,
    next: Stage,
}

/// What an eviction does next.
#[derive(Clone, Debug)]
enum Stage {
    ReadPod,
    ListBudgets,
    /// Reads again a budget that somebody else has written.
    ReadBudget(PodDisruptionBudgetId),
    /// Writes a budget that was read in this version.
    TakeFrom(PodDisruptionBudgetId, u64),
    Delete(Guard),
    /// Receives the answer to a call of its own.
    Fail(Box<ApiError>),
}

/// What must hold of the pod when it is deleted.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Guard {
    None,
    /// It did not run when it was read: it is read again if it has changed since.
    StillPending,
    /// It was not ready and passed its budget, which is told: the caller asks again if it has changed since.
    StillUnready(PodDisruptionBudgetId),
}

impl Eviction {
    pub(super) fn new(pod: PodId, grace_s: Option<i64>, dry_run: bool) -> Self {
        Self {
            pod,
            grace_s,
            dry_run,
            name: Arc::from(""),
            labels: Labels::new(),
            version: 0,
            is_ready: false,
            conflicts: 0,
            next: Stage::ReadPod,
        }
    }

    /// The pod that is to go.
    #[must_use]
    pub fn pod(&self) -> PodId {
        self.pod
    }

    /// Takes the next step.
    pub(super) fn advance(self: Box<Self>, s: &mut Session<'_>) -> Served {
        match self.next.clone() {
            Stage::ReadPod => self.read_pod(s),
            Stage::ListBudgets => self.list_budgets(s),
            Stage::ReadBudget(budget) => self.read_budget(budget, s),
            Stage::TakeFrom(budget, version) => self.take_from(budget, version, s),
            Stage::Delete(guard) => self.delete(guard, s),
            Stage::Fail(error) => Served::Answered(Err(*error)),
        }
    }

    fn then(mut self: Box<Self>, after: SimDuration, next: Stage) -> Served {
        self.next = next;
        Served::Continues(after, self)
    }

    fn read_pod(mut self: Box<Self>, s: &Session<'_>) -> Served {
        let Some(pod) = s.store.pod(self.pod) else { return Served::Answered(Err(gone())) };
        (self.name, self.labels) = (Arc::clone(&pod.name), pod.labels.clone());
        (self.version, self.is_ready) = (pod.resource_version, pod.is_ready());
        let half = s.config.round_trip / 2;
        if pod.phase.is_terminal() || pod.deletion.is_some() {
            return self.then(half, Stage::Delete(Guard::None));
        }
        if pod.phase == PodPhase::Pending {
            return self.then(half, Stage::Delete(Guard::StillPending));
        }
        self.conflicts = 0;
        self.then(half, Stage::ListBudgets)
    }

    fn list_budgets(self: Box<Self>, s: &Session<'_>) -> Served {
        let half = s.config.round_trip / 2;
        let Some(namespace) = s.store.pod(self.pod).map(|pod| pod.namespace) else {
            return self.then(half, Stage::Fail(Box::new(gone())));
        };
        let selects = |budget: &PodDisruptionBudget| {
            budget.meta.namespace == namespace
                && budget.spec.selector.as_ref().is_some_and(|sel: &LabelSelector| sel.matches(&self.labels))
        };
        let mut matching = s.store.budgets.iter().filter(|(_, budget)| selects(budget));
        let Some((id, budget)) = matching.next() else {
            return self.then(s.config.round_trip, Stage::Delete(Guard::None));
        };
        if matching.next().is_some() {
            let message =
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return self.then(half, Stage::Fail(Box::new(ApiError::new(ErrorReason::InternalError, message))));
        }
        let status = &budget.status;
        let always = budget.spec.unhealthy_pod_eviction_policy == Some(UnhealthyPodEvictionPolicy::AlwaysAllow);
        let enough = status.current_healthy >= status.desired_healthy && status.desired_healthy > 0;
        if !self.is_ready && (always || enough) {
            return self.then(s.config.round_trip, Stage::Delete(Guard::StillUnready(id)));
        }
        self.judge(id, s)
    }

    fn read_budget(self: Box<Self>, id: PodDisruptionBudgetId, s: &Session<'_>) -> Served {
        if s.store.budgets.contains(id) {
            return self.judge(id, s);
        }
        let error = ApiError::new(ErrorReason::NotFound, "poddisruptionbudgets.policy not found");
        self.then(s.config.round_trip / 2, Stage::Fail(Box::new(error)))
    }

    /// What the budget, as it is now read, has to say; the answer is on its way, and so is what follows from it.
    fn judge(self: Box<Self>, id: PodDisruptionBudgetId, s: &Session<'_>) -> Served {
        let budget = &s.store.budgets[id];
        if let Err(error) = check(budget, s) {
            return self.then(s.config.round_trip / 2, Stage::Fail(Box::new(error)));
        }
        if self.dry_run {
            return self.then(s.config.round_trip, Stage::Delete(Guard::None));
        }
        let version = budget.resource_version;
        self.then(s.config.round_trip / 2, Stage::TakeFrom(id, version))
    }

    fn take_from(mut self: Box<Self>, id: PodDisruptionBudgetId, version: u64, s: &mut Session<'_>) -> Served {
        let round_trip = s.config.round_trip;
        let mut status = s.store.budgets.get(id).map(|budget| budget.status.clone()).unwrap_or_default();
        status.disruptions_allowed -= 1;
        if status.disruptions_allowed == 0 {
            status.condition = Some((false, BudgetReason::InsufficientPods, Arc::from("")));
        }
        // The API keeps times in whole seconds.
        status.disrupted_pods.insert(Arc::clone(&self.name), s.now.floor_to_second());
        match registry::update_budget_status(s, id, version, status) {
            Ok(_) => self.then(round_trip, Stage::Delete(Guard::None)),
            Err(error) if error.reason == ErrorReason::Conflict => {
                self.conflicts += 1;
                if self.conflicts == TRIES_MAX {
                    return self.then(round_trip / 2, Stage::Fail(Box::new(error)));
                }
                let pause = self.pause(s);
                self.then(round_trip + pause, Stage::ReadBudget(id))
            }
            Err(error) => self.then(round_trip / 2, Stage::Fail(Box::new(error))),
        }
    }

    fn delete(mut self: Box<Self>, guard: Guard, s: &mut Session<'_>) -> Served {
        let Some(pod) = s.store.pod(self.pod) else { return Served::Answered(Err(gone())) };
        if guard != Guard::None && pod.resource_version != self.version {
            let Guard::StillUnready(budget) = guard else {
                let error = changed_since(pod, self.version);
                self.conflicts += 1;
                if self.conflicts == TRIES_MAX {
                    return Served::Answered(Err(error));
                }
                let pause = self.pause(s);
                return self.then(pause, Stage::ReadPod);
            };
            let name = s.store.budgets.get(budget).map(|budget| budget.meta.name).unwrap_or_default();
            return Served::Answered(Err(still_being_processed(name.as_str())));
        }
        Served::Answered(if self.dry_run { Ok(Reply::Pod(self.pod)) } else { self.mark_and_delete(s) })
    }

    fn mark_and_delete(&self, s: &mut Session<'_>) -> Answer {
        let patch = PodStatusPatch {
            disruption: Some((DisruptionReason::EvictionByEvictionApi, true)),
            ..PodStatusPatch::default()
        };
        pods::patch_status(s, self.pod, patch)?;
        let options = DeleteOptions { grace_s: self.grace_s, uid: None };
        pods::delete(s, self.pod, options, DeletionCause::EvictionByEvictionApi)?;
        Ok(Reply::Pod(self.pod))
    }

    /// How long to wait after a write that met another.
    fn pause(&self, s: &Session<'_>) -> SimDuration {
        let namespace = s.store.pod(self.pod).map(|pod| pod.namespace).unwrap_or_default();
        let entity = format!("{namespace}/{}", self.name);
        let mut stream = s.streams.at("eviction-retry", &entity, u64::from(self.conflicts));
        PAUSE + SimDuration::from_nanos(u64::from(stream.below(JITTER_NANOS)))
    }
}

/// # Source
/// kube-apiserver, `checkAndDecrement`: what is asked of a budget, in this order.
fn check(budget: &PodDisruptionBudget, s: &Session<'_>) -> Result<(), ApiError> {
    let status = &budget.status;
    if status.observed_generation < budget.meta.generation {
        return Err(still_being_processed(budget.meta.name.as_str()));
    }
    if status.disruptions_allowed < 0 {
        return Err(ApiError::new(ErrorReason::Forbidden, "pdb disruptions allowed is negative"));
    }
    if status.disrupted_pods.len() > DISRUPTED_MAX {
        let message = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(ApiError::new(ErrorReason::Forbidden, message));
    }
    if status.disruptions_allowed == 0 {
        return Err(too_many(None, exhausted(budget, s)));
    }
    Ok(())
}

fn too_many(retry_after: Option<SimDuration>, detail: String) -> ApiError {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    ApiError { retry_after, detail: Some(detail), ..ApiError::new(ErrorReason::TooManyRequests, message) }
}

fn still_being_processed(budget: &str) -> ApiError {
    let detail = format!("The disruption budget {budget} is still being processed by the server.");
    too_many(Some(SimDuration::from_secs(10)), detail)
}

fn changed_since(pod: &Pod, version: u64) -> ApiError {
    let message = format!(
        "Operation cannot be fulfilled on Pod \"{}\": the ResourceVersion in the precondition ({version}) does not match the \
         ResourceVersion in record ({}). The object might have been modified",
        pod.name, pod.resource_version
    );
    ApiError::new(ErrorReason::Conflict, message)
}

fn exhausted(budget: &PodDisruptionBudget, s: &Session<'_>) -> String {
    let (name, status) = (budget.meta.name, &budget.status);
    let needs = format!(
        "The disruption budget {name} needs {} healthy pods and has {} currently",
        status.desired_healthy, status.current_healthy
    );
    if !s.config.version.at_least(35) {
        return needs;
    }
    let base = format!("The disruption budget {name} does not allow evicting pods currently");
    match &status.condition {
        Some((false, BudgetReason::SyncFailed, message)) if !message.is_empty() => {
            format!("{base} because it failed sync: {message}")
        }
        _ if status.current_healthy <= status.desired_healthy => needs,
        Some((false, reason, message)) if !message.is_empty() => format!("{base} ({reason}): {message}"),
        _ => base,
    }
}
