//! Status, conditions and the progress deadline.

use super::fenceposts::max_unavailable;
use super::view::View;
use crate::component::Config;
use crate::state::{Deployment, DeploymentCondition, DeploymentReason, DeploymentStatus, ReplicaSetStatus, Status};
use crate::units::{SimDuration, SimTime};

const NEW_AVAILABLE: DeploymentReason = DeploymentReason::NewReplicaSetAvailable;
const TIMED_OUT: DeploymentReason = DeploymentReason::ProgressDeadlineExceeded;
const PAUSED: DeploymentReason = DeploymentReason::DeploymentPaused;

/// The status as a sync of a roll-out sees it; `created` if it makes the new ReplicaSet.
pub(super) fn status(config: &Config, view: &View<'_>, created: bool) -> DeploymentStatus {
    let mut status = counted(config, view);
    status.progressing = progressing(view, &status, created);
    status.replica_failure = view.newest.iter().chain(&view.old).find_map(|(_, set)| set.status.failure);
    status
}

/// The status without an estimate of progress: of a Deployment that is paused, scaled or deleted.
///
/// # Source
/// deployment-controller, `syncDeploymentStatus`.
pub(super) fn counted(config: &Config, view: &View<'_>) -> DeploymentStatus {
    let old = view.deployment.status;
    let sum = |field: fn(&crate::state::ReplicaSetStatus) -> i32| view.all().map(|(_, set)| field(&set.status)).sum();
    let available: i32 = sum(|s| s.available);
    let mut status = DeploymentStatus {
        observed_generation: view.deployment.meta.generation,
        replicas: sum(|s| s.replicas),
        updated: view.newest.map_or(0, |(_, set)| set.status.replicas),
        ready: sum(|s| s.ready),
        available,
        unavailable: unavailable(view, available),
        terminating: terminating(config, view),
        ..old
    };
    let enough = status.available >= view.replicas() - max_unavailable(view);
    let (holds, reason) = match enough {
        true => (Status::True, DeploymentReason::MinimumReplicasAvailable),
        false => (Status::False, DeploymentReason::MinimumReplicasUnavailable),
    };
    status.availability = Some(condition(view, old.availability, holds, reason, false));
    status.progressing = paused_or_resumed(view);
    status
}

/// None where they are not counted, and where a ReplicaSet's status was written by a controller that did not.
///
/// # Source
/// deployment-controller, `GetTerminatingReplicaCountForReplicaSets`.
fn terminating(config: &Config, view: &View<'_>) -> Option<i32> {
    if !config.kube_controller_manager.feature_gates.terminating_replicas(config.version) {
        return None;
    }
    let is_seen = |status: &ReplicaSetStatus| status.observed_generation != 0 || status.terminating.is_some();
    let statuses = view.all().map(|(_, set)| &set.status).filter(|status| is_seen(status));
    statuses.map(|status| status.terminating).sum()
}

/// Pods that are not available, of those that all its ReplicaSets should have: those that surge count, too, and of those that
/// are on their way down none is missed.
///
/// # Source
/// deployment-controller, `calculateStatus`.
fn unavailable(view: &View<'_>, available: i32) -> i32 {
    i32::try_from((view.total() - i64::from(available)).max(0)).unwrap_or(i32::MAX)
}

/// The condition of a Deployment that has just been paused, or that goes on: nobody knows whether it gets on, and time spent
/// paused is not held against it.
///
/// # Source
/// deployment-controller, `checkPausedConditions`.
fn paused_or_resumed(view: &View<'_>) -> Option<DeploymentCondition> {
    let previous = view.deployment.status.progressing;
    let reason = previous.map(|condition| condition.reason);
    let is_deleting = view.deployment.meta.deleting.is_some();
    if is_deleting || deadline(view.deployment).is_none() || reason == Some(TIMED_OUT) {
        return previous;
    }
    let new = |reason| Some(condition(view, previous, Status::Unknown, reason, false));
    match (view.deployment.spec.paused, reason == Some(PAUSED)) {
        (true, false) => new(PAUSED),
        (false, true) => new(DeploymentReason::DeploymentResumed),
        _ => previous,
    }
}

fn condition(
    view: &View<'_>,
    old: Option<DeploymentCondition>,
    holds: Status,
    reason: DeploymentReason,
    refresh: bool,
) -> DeploymentCondition {
    changed(old, holds, reason, refresh, view.now)
}

fn changed(
    old: Option<DeploymentCondition>,
    holds: Status,
    reason: DeploymentReason,
    refresh: bool,
    now: SimTime,
) -> DeploymentCondition {
    match old {
        Some(old) if old.status == holds && old.reason == reason && !refresh => old,
        Some(old) if old.status == holds => DeploymentCondition { reason, updated_at: now, ..old },
        _ => DeploymentCondition { status: holds, reason, updated_at: now, since: now },
    }
}

/// # Source
/// deployment-controller, `syncRolloutStatus`: completion, progress, or the deadline; a Deployment that was complete
/// never times out.
fn progressing(view: &View<'_>, status: &DeploymentStatus, created: bool) -> Option<DeploymentCondition> {
    let old = view.deployment.status;
    let previous = status.progressing;
    deadline(view.deployment)?;
    if created {
        return self::created(view);
    }
    let was_complete = status.replicas == status.updated && previous.is_some_and(|c| c.reason == NEW_AVAILABLE);
    if was_complete {
        return previous;
    }
    if is_complete(view, status) {
        return Some(condition(view, previous, Status::True, NEW_AVAILABLE, false));
    }
    let old_pods = |s: &DeploymentStatus| s.replicas - s.updated;
    let progressed = status.updated > old.updated
        || old_pods(status) < old_pods(&old)
        || status.ready > old.ready
        || status.available > old.available;
    if progressed {
        return Some(condition(view, previous, Status::True, DeploymentReason::ReplicaSetUpdated, true));
    }
    if has_timed_out(view, previous) {
        return Some(condition(view, previous, Status::False, TIMED_OUT, false));
    }
    previous.or_else(|| Some(condition(view, None, Status::True, DeploymentReason::FoundNewReplicaSet, false)))
}

/// The condition of a Deployment whose new ReplicaSet has just been created; none if its progress is not estimated.
pub(super) fn created(view: &View<'_>) -> Option<DeploymentCondition> {
    let previous = view.deployment.status.progressing;
    if deadline(view.deployment).is_none() {
        return previous;
    }
    Some(condition(view, previous, Status::True, DeploymentReason::NewReplicaSetCreated, false))
}

/// The condition of a Deployment whose new ReplicaSet could not be created.
pub(super) fn not_created(deployment: &Deployment, now: SimTime) -> Option<DeploymentCondition> {
    let previous = deployment.status.progressing;
    if deadline(deployment).is_none() {
        return previous;
    }
    Some(changed(previous, Status::False, DeploymentReason::ReplicaSetCreateError, false, now))
}

fn deadline(deployment: &Deployment) -> Option<SimDuration> {
    let seconds = deployment.spec.progress_deadline_seconds.filter(|s| *s < i32::MAX)?;
    Some(SimDuration::from_secs(seconds.max(0).unsigned_abs().into()))
}

fn has_timed_out(view: &View<'_>, condition: Option<DeploymentCondition>) -> bool {
    let (Some(condition), Some(deadline)) = (condition, deadline(view.deployment)) else { return false };
    let due = condition.updated_at.floor_to_second() + deadline;
    condition.reason == TIMED_OUT || (condition.reason != NEW_AVAILABLE && due < view.now)
}

/// All pods are of the new template, and available.
pub(super) fn is_complete(view: &View<'_>, status: &DeploymentStatus) -> bool {
    let wanted = view.replicas();
    status.updated == wanted
        && status.replicas == wanted
        && status.available == wanted
        && status.observed_generation >= view.deployment.meta.generation
}

/// When a roll-out that does not get on has to be looked at again.
///
/// # Source
/// deployment-controller, `requeueStuckDeployment`: when the deadline has passed, from then on as fast as the queue lets it.
///
/// # Differs
/// Where the last roll-out was complete, only one that waits for pods of the last template to go is looked at again: in no other
/// does a look come to anything.
pub(super) fn check_again_after(view: &View<'_>, status: &DeploymentStatus) -> Option<SimDuration> {
    let condition = status.progressing?;
    let waits_for_none = condition.reason == NEW_AVAILABLE && !view.waits_for_old_pods();
    if is_complete(view, status) || condition.reason == TIMED_OUT || waits_for_none {
        return None;
    }
    let left = (condition.updated_at.floor_to_second() + deadline(view.deployment)?).saturating_since(view.now);
    Some(match left < SimDuration::from_secs(1) {
        false => left + SimDuration::from_secs(1),
        // This may go on for as long as a machine is away: as often as the queue's bucket of ten a second lets it.
        true if condition.reason == NEW_AVAILABLE => SimDuration::from_millis(100),
        // In the last second it is looked at again and again.
        true => left + SimDuration::from_millis(5),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::arena::Id;
    use crate::model;
    use crate::state::{DeploymentId, ReplicaSet, Store};
    use crate::testing::{config, meta};
    use crate::units::SimTime;

    const NOW: SimTime = SimTime::from_secs(100_000);

    fn deployment(
        deadline_s: Option<i32>,
        reason: DeploymentReason,
        updated_ago: SimDuration,
    ) -> (Deployment, DeploymentId) {
        let spec = model::DeploymentSpec {
            replicas: Some(3),
            progress_deadline_seconds: deadline_s,
            ..model::DeploymentSpec::default()
        };
        let updated_at = NOW - updated_ago;
        let progressing = DeploymentCondition { status: Status::True, reason, updated_at, since: updated_at };
        let status = DeploymentStatus { progressing: Some(progressing), ..DeploymentStatus::default() };
        let mut store = Store::default();
        let object = Deployment { meta: meta("web", None), spec: Arc::new(spec), status };
        let id: Id<Deployment> = store.deployments.insert(object.clone());
        (object, id)
    }

    const MILLI: SimDuration = SimDuration::from_millis(1);
    const SECOND: SimDuration = SimDuration::from_secs(1);

    #[test]
    fn a_roll_out_times_out_after_its_deadline_unless_it_was_complete() {
        let check = |deadline_s: Option<i32>, reason, ago_s: u64, expected: bool| {
            let (object, id) = deployment(deadline_s, reason, SECOND * ago_s);
            let view = View { id, deployment: &object, newest: None, old: Vec::new(), now: NOW };
            let case = format!("{deadline_s:?} {reason} {ago_s} s ago");
            assert_eq!(has_timed_out(&view, object.status.progressing), expected, "{case}");
        };
        check(Some(10), DeploymentReason::ReplicaSetUpdated, 11, true);
        check(Some(10), DeploymentReason::ReplicaSetUpdated, 9, false);
        check(Some(10), NEW_AVAILABLE, 11, false);
        check(Some(10), TIMED_OUT, 1, true);
        check(None, DeploymentReason::ReplicaSetUpdated, 11, false);
    }

    #[test]
    fn time_spent_paused_is_not_held_against_a_roll_out() {
        let check = |paused: bool, reason, expected_reason: DeploymentReason, is_fresh: bool| {
            let (mut object, id) = deployment(Some(10), reason, SECOND * 60);
            Arc::make_mut(&mut object.spec).paused = paused;
            let view = View { id, deployment: &object, newest: None, old: Vec::new(), now: NOW };
            let found = counted(&config(), &view).progressing.expect("a condition");
            assert_eq!((found.reason, found.updated_at == NOW), (expected_reason, is_fresh), "{paused} {reason}");
            assert_eq!(found.status == Status::Unknown, is_fresh, "{paused} {reason}");
            assert_eq!(has_timed_out(&view, Some(found)), !is_fresh && reason != NEW_AVAILABLE, "{paused} {reason}");
        };
        check(true, DeploymentReason::ReplicaSetUpdated, PAUSED, true);
        check(true, NEW_AVAILABLE, PAUSED, true);
        check(true, TIMED_OUT, TIMED_OUT, false);
        check(false, PAUSED, DeploymentReason::DeploymentResumed, true);
        check(false, DeploymentReason::ReplicaSetUpdated, DeploymentReason::ReplicaSetUpdated, false);
        check(false, NEW_AVAILABLE, NEW_AVAILABLE, false);
    }

    #[test]
    fn pods_that_surge_are_missed_and_those_on_their_way_down_are_not() {
        let check = |sets: &[(i32, i32)], expected: i32| {
            let (object, id) = deployment(Some(600), NEW_AVAILABLE, SECOND);
            let mut store = Store::default();
            let set = |(replicas, available): (i32, i32)| ReplicaSet {
                meta: meta("web-1", None),
                is_replication_controller: false,
                replicas,
                spec: Arc::default(),
                status: ReplicaSetStatus { available, ..ReplicaSetStatus::default() },
            };
            let made: Vec<ReplicaSet> = sets.iter().map(|&sizes| set(sizes)).collect();
            let old = made.iter().map(|set| (store.replica_sets.insert(set.clone()), set)).collect();
            let view = View { id, deployment: &object, newest: None, old, now: NOW };
            assert_eq!(counted(&config(), &view).unavailable, expected, "{sets:?}");
        };
        check(&[(3, 3)], 0);
        check(&[(3, 3), (1, 0)], 1);
        check(&[(2, 3), (2, 1)], 0);
        check(&[(0, 3), (0, 0)], 0);
        check(&[(6, 0), (4, 0)], 10);
    }

    #[test]
    fn terminating_pods_are_those_that_all_replica_sets_have_told() {
        let check = |version: &str, sets: &[(i64, Option<i32>)], expected: Option<i32>| {
            let (object, id) = deployment(Some(600), NEW_AVAILABLE, SECOND);
            let mut store = Store::default();
            let set = |(observed_generation, terminating): (i64, Option<i32>)| ReplicaSet {
                meta: meta("web-1", None),
                is_replication_controller: false,
                replicas: 1,
                spec: Arc::default(),
                status: ReplicaSetStatus { observed_generation, terminating, ..ReplicaSetStatus::default() },
            };
            let made: Vec<ReplicaSet> = sets.iter().map(|&status| set(status)).collect();
            let old = made.iter().map(|set| (store.replica_sets.insert(set.clone()), set)).collect();
            let view = View { id, deployment: &object, newest: None, old, now: NOW };
            let config = Config { version: version.parse().expect("a version"), ..config() };
            assert_eq!(counted(&config, &view).terminating, expected, "{version} {sets:?}");
        };
        check("1.36", &[], Some(0));
        check("1.36", &[(1, Some(2)), (3, Some(1))], Some(3));
        // One is new, the other was told of before terminating pods were.
        check("1.36", &[(1, Some(2)), (0, None)], Some(2));
        check("1.36", &[(1, Some(2)), (1, None)], None);
        check("1.34", &[(1, Some(2))], None);
    }

    #[test]
    fn what_goes_on_has_been_unknown_since_it_was_paused() {
        let (mut object, id) = deployment(Some(10), PAUSED, SECOND * 60);
        let paused = object.status.progressing.as_mut().expect("a condition");
        paused.status = Status::Unknown;
        let since = paused.since;
        let view = View { id, deployment: &object, newest: None, old: Vec::new(), now: NOW };
        let found = counted(&config(), &view).progressing.expect("a condition");
        let resumed = DeploymentReason::DeploymentResumed;
        let expected = DeploymentCondition { status: Status::Unknown, reason: resumed, updated_at: NOW, since };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_roll_out_is_looked_at_again_when_its_deadline_is_over() {
        let check = |deadline_s: Option<i32>, reason, ago: SimDuration, from_to: Option<(SimDuration, SimDuration)>| {
            let (object, id) = deployment(deadline_s, reason, ago);
            let view = View { id, deployment: &object, newest: None, old: Vec::new(), now: NOW };
            let found = check_again_after(&view, &object.status);
            let holds = match (found, from_to) {
                (Some(found), Some((from, to))) => (from..=to).contains(&found),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(holds, "{deadline_s:?} {reason} {ago} ago: {found:?}");
        };
        // Half a minute is left; a second more makes sure.
        check(Some(60), DeploymentReason::ReplicaSetUpdated, SECOND * 30, Some((SECOND * 30, SECOND * 31)));
        check(Some(60), DeploymentReason::ReplicaSetUpdated, SECOND * 59 + MILLI, Some((MILLI, SECOND + MILLI * 10)));
        check(Some(60), NEW_AVAILABLE, SECOND, None);
        check(Some(60), TIMED_OUT, SECOND, None);
        check(Some(i32::MAX), DeploymentReason::ReplicaSetUpdated, SECOND, None);
        check(None, DeploymentReason::ReplicaSetUpdated, SECOND, None);
    }
}
