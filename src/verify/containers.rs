//! What no status may say of a pod's containers.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::mirror::pod_name;
use crate::model::config::KubernetesVersion;
use crate::model::{Container, GateTime};
use crate::state::{ContainerStatus, Pod, PodDelta, PodId, PodPhase, Store};
use crate::units::SimTime;

/// When a container began that was last shown running, and how often it had been restarted then.
#[derive(Copy, Clone, Debug)]
struct Begun {
    since: SimTime,
    restarts: u32,
}

/// What has been shown of the containers of each pod, init containers first.
#[derive(Clone, Debug, Default)]
pub(super) struct Containers {
    begun: FxHashMap<PodId, SmallVec<[Option<Begun>; 2]>>,
    /// Init containers behind the first begin anew with a new sandbox, and with them their counts.
    are_purged: bool,
}

impl Containers {
    pub(super) fn new(store: &Store, version: KubernetesVersion) -> Self {
        let mut containers = Self { are_purged: !version.at_least(36), ..Self::default() };
        for (id, pod) in store.pods() {
            containers.added(id, pod);
        }
        containers
    }

    pub(super) fn added(&mut self, id: PodId, pod: &Pod) {
        let runs = pod.phase == PodPhase::Running;
        let begun = places(pod).map(|(_, _, status)| Begun::of(status.filter(|_| runs)?));
        self.begun.insert(id, begun.collect());
    }

    pub(super) fn removed(&mut self, id: PodId) {
        self.begun.remove(&id);
    }

    /// What an update may not say, after what was said before.
    pub(super) fn step(&mut self, id: PodId, before: &Pod, now: &Pod, delta: PodDelta) -> Result<(), String> {
        if delta.touches(PodDelta::CONTAINERS) {
            self.counts(id, before, now)?;
            ends(before, now)?;
        }
        if delta.touches(PodDelta::CONTAINERS | PodDelta::READY) { ready(now) } else { Ok(()) }
    }

    /// A count never falls, and rises when the container is started again, and only then.
    ///
    /// # Source
    /// kubelet, `startContainer`; `purgeInitContainers`, after which those of a new sandbox begin anew, up to 1.35 from 0.
    fn counts(&mut self, id: PodId, before: &Pod, now: &Pod) -> Result<(), String> {
        let Self { begun, are_purged } = self;
        let begun = begun.entry(id).or_default();
        begun.resize(now.spec.init_containers.len() + now.spec.containers.len(), None);
        for (((container, is_init, status), (_, _, known)), last) in places(now).zip(places(before)).zip(begun) {
            let Some(status) = status else {
                // One that was rejected has no containers any more.
                *last = None;
                continue;
            };
            let wrong = |what: String| Err(format!("container {} of pod {} {what}", container.name, pod_name(now)));
            let (count, counted) = (status.restarts, known.map_or(0, |known| known.restarts));
            if is_init && *are_purged && count == 0 {
                *last = None;
            } else if count < counted {
                return wrong(format!("has {count} restarts, and had {counted} before"));
            }
            let has_run = status.state.running_since().is_some() || ended_at(Some(status)) > ended_at(known);
            if count > counted && known.is_some() && !has_run {
                return wrong(format!("has {count} restarts, had {counted} before, and has not run since"));
            }
            // Regular containers do not run in a pod that does not, whatever was written of them.
            let is_shown = is_init || now.phase != PodPhase::Pending;
            let Some(since) = status.state.running_since().filter(|_| is_shown) else { continue };
            match last.replace(Begun { since, restarts: count }) {
                Some(last) if since != last.since && count <= last.restarts => {
                    return wrong(format!("was started at {}, again at {since}, and has {count} restarts", last.since));
                }
                // What takes no time ends and is started again within an instant.
                Some(last) if count > last.restarts && status.last.is_some_and(|end| end.finished_at == since) => {}
                Some(last) if since == last.since && count != last.restarts => {
                    return wrong(format!("runs since {since}, with {} restarts, then with {count}", last.restarts));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// When the container ended last, as far as its status says.
fn ended_at(status: Option<&ContainerStatus>) -> Option<SimTime> {
    let ending = status.and_then(|status| status.state.ending().or(status.last));
    ending.map(|ending| ending.finished_at)
}

impl Begun {
    fn of(status: &ContainerStatus) -> Option<Self> {
        status.state.running_since().map(|since| Self { since, restarts: status.restarts })
    }
}

/// The pod's containers, init containers first; of each whether it is one, and its status if there is any.
fn places(pod: &Pod) -> impl Iterator<Item = (&Container, bool, Option<&ContainerStatus>)> {
    let inits = pod.spec.init_containers.iter().enumerate();
    let inits = inits.map(|(index, container)| (container, true, pod.init_containers.get(index)));
    let regular = pod.spec.containers.iter().enumerate();
    inits.chain(regular.map(|(index, container)| (container, false, pod.containers.get(index))))
}

/// A container that is done for good never runs again, nor does any of a pod that has come to its end.
///
/// # Source
/// kubelet, `ShouldContainerBeRestarted`; pod workers: a pod that is finished is not synced again.
fn ends(before: &Pod, now: &Pod) -> Result<(), String> {
    for ((container, is_init, known), (_, _, status)) in places(before).zip(places(now)) {
        let (Some(known), Some(status)) = (known, status) else { continue };
        let runs = status.state.running_since().is_some();
        let is_over = before.phase.is_terminal() && known.state.running_since().is_none();
        let is_done = !is_init && known.state.ending().is_some_and(|end| !now.spec.restarts(container, end.exit_code));
        if (runs && is_over) || (status.state.ending().is_none() && is_done) {
            let name = pod_name(now);
            return Err(format!("container {} of pod {name} is done, and is started again", container.name));
        }
    }
    Ok(())
}

/// A pod is Ready if all its containers are, sidecars as well, and its gates are open.
///
/// # Source
/// kubelet, `GeneratePodReadyCondition`.
fn ready(now: &Pod) -> Result<(), String> {
    if !now.is_ready() || now.phase != PodPhase::Running {
        return Ok(());
    }
    let name = pod_name(now);
    let mut counted = places(now).filter(|(container, is_init, _)| !is_init || container.is_sidecar());
    if let Some((container, _, _)) = counted.find(|(_, _, status)| status.is_none_or(|status| !status.ready)) {
        return Err(format!("pod {name} is Ready, and its container {} is not", container.name));
    }
    let since = now.ready.map_or(SimTime::ZERO, |ready| ready.since);
    for gate in &now.spec.readiness_gates {
        let is_early = match now.spec.behavior().gate(gate.condition_type.as_str()) {
            None => false,
            Some(GateTime::Never) => true,
            Some(GateTime::After(length)) => since < now.started_at.unwrap_or(now.created_at) + length.quantile(0.0),
        };
        if is_early {
            return Err(format!("pod {name} is Ready, and its gate {} is not met", gate.condition_type.as_str()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::arena::Symbol;
    use crate::model::{ContainerRestartPolicy, PodConditionType, PodReadinessGate, RestartPolicy};
    use crate::state::{ContainerState, Ending, PodCondition, Status};
    use crate::testing::{bare_pod, secs};

    fn runs(since: f64, restarts: u32) -> ContainerStatus {
        ContainerStatus { state: ContainerState::Running { since: secs(since) }, ready: true, restarts, last: None }
    }

    fn ended(code: i32, restarts: u32) -> ContainerStatus {
        let state = ContainerState::Terminated(Ending::exit(code, secs(9.0)));
        ContainerStatus { state, restarts, ..ContainerStatus::default() }
    }

    fn waits(restarts: u32) -> ContainerStatus {
        ContainerStatus { restarts, ..ContainerStatus::default() }
    }

    /// A pod of an init container, which may be a sidecar, and a regular one.
    fn pod(policy: RestartPolicy, init: Option<ContainerRestartPolicy>) -> Pod {
        let mut pod = Pod { phase: PodPhase::Running, ..bare_pod("a", 1) };
        let mut spec = (*pod.spec).clone();
        spec.spec.restart_policy = policy;
        let container = |name: &str| Container { name: Symbol::new(name), ..Container::default() };
        spec.spec.init_containers.push(Container { restart_policy: init, ..container("init") });
        spec.spec.containers.push(container("main"));
        pod.spec = Arc::new(spec);
        pod
    }

    /// What is wrong with statuses, of the init container and the regular one, that follow one another.
    fn wrong_with(pod: &Pod, version: &str, steps: &[(ContainerStatus, ContainerStatus)]) -> Option<String> {
        let mut store = Store::default();
        let id = store.insert_pod(pod.clone());
        let mut containers = Containers::new(&store, version.parse().expect("a version"));
        let mut before = pod.clone();
        for (init, main) in steps {
            let mut now = before.clone();
            now.init_containers = [*init].into_iter().collect();
            now.containers = [*main].into_iter().collect();
            let result = containers.step(id, &before, &now, PodDelta::CONTAINERS);
            if result.is_err() {
                return result.err();
            }
            before = now;
        }
        None
    }

    #[track_caller]
    fn check(wrong: Option<String>, expected: Option<&str>) {
        match (wrong, expected) {
            (None, None) => {}
            (Some(wrong), Some(expected)) if wrong.contains(expected) => {}
            (wrong, expected) => panic!("{wrong:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_count_never_falls_and_rises_with_each_start() {
        let pod = pod(RestartPolicy::Always, None);
        let of = |steps: &[ContainerStatus]| {
            let steps: Vec<_> = steps.iter().map(|main| (ended(0, 0), *main)).collect();
            wrong_with(&pod, "1.36", &steps)
        };
        let backs_off = ContainerStatus { last: Some(Ending::exit(1, secs(20.0))), ..waits(2) };
        check(
            of(&[waits(0), runs(1.0, 0), ended(1, 0), runs(9.0, 1), waits(1), runs(15.0, 2), backs_off, runs(30.0, 4)]),
            None,
        );
        check(of(&[runs(1.0, 3), waits(2)]), Some("container main of pod default/a has 2 restarts, and had 3 before"));
        check(of(&[runs(1.0, 0), waits(0), runs(9.0, 0)]), Some("started at 1.000, again at 9.000, and has 0"));
        check(of(&[runs(1.0, 0), runs(1.0, 1)]), Some("runs since 1.000, with 0 restarts, then with 1"));
        check(of(&[waits(0), waits(1)]), Some("has 1 restarts, had 0 before, and has not run since"));
        let within_an_instant = ContainerStatus { last: Some(Ending::exit(1, secs(1.0))), ..runs(1.0, 1) };
        check(of(&[runs(1.0, 0), within_an_instant]), None);
    }

    #[test]
    fn up_to_1_35_the_counts_of_init_containers_may_begin_anew() {
        let pod = pod(RestartPolicy::Always, Some(ContainerRestartPolicy::Always));
        let steps = [(runs(1.0, 2), waits(0)), (waits(0), waits(0)), (runs(9.0, 0), waits(0))];
        check(wrong_with(&pod, "1.35", &steps), None);
        let expected = "container init of pod default/a has 0 restarts, and had 2 before";
        check(wrong_with(&pod, "1.36", &steps), Some(expected));
    }

    #[test]
    fn a_container_that_is_done_does_not_run_again() {
        let steps = |code| [(ended(0, 0), ended(code, 0)), (ended(0, 0), runs(10.0, 1))];
        for (policy, code, is_wrong) in [
            (RestartPolicy::Always, 0, false),
            (RestartPolicy::OnFailure, 1, false),
            (RestartPolicy::OnFailure, 0, true),
            (RestartPolicy::Never, 1, true),
        ] {
            let expected = is_wrong.then_some("container main of pod default/a is done, and is started again");
            check(wrong_with(&pod(policy, None), "1.36", &steps(code)), expected);
        }
        // Nor one of a pod that is.
        let mut over = pod(RestartPolicy::Always, None);
        over.phase = PodPhase::Failed;
        check(wrong_with(&over, "1.36", &steps(1)), Some("is done, and is started again"));
    }

    #[test]
    fn a_pod_that_is_ready_has_ready_containers_and_open_gates() {
        let unready = |status: ContainerStatus| ContainerStatus { ready: false, ..status };
        let mut pod = pod(RestartPolicy::Always, Some(ContainerRestartPolicy::Always));
        pod.started_at = Some(SimTime::ZERO);
        pod.ready = Some(PodCondition { status: Status::True, since: secs(5.0) });
        let (init, main) = (runs(1.0, 0), runs(1.0, 0));
        let wrong = |init, main| wrong_with(&pod, "1.36", &[(init, main)]);
        check(wrong(init, main), None);
        check(wrong(init, unready(main)), Some("is Ready, and its container main is not"));
        check(wrong(unready(init), main), Some("is Ready, and its container init is not"));
        let gated = |time: &str| {
            let mut spec = (*pod.spec).clone();
            let condition_type = PodConditionType::from(Symbol::new("a/b"));
            spec.spec.readiness_gates = vec![PodReadinessGate { condition_type }];
            let annotation = (Symbol::new("kubesquall.sim/gate-b"), Symbol::new(time));
            spec.annotations = Arc::new([annotation].into_iter().collect());
            let gated = Pod { spec: Arc::new(spec), ..pod.clone() };
            wrong_with(&gated, "1.36", &[(init, main)])
        };
        check(gated("5s"), None);
        check(gated("6s"), Some("is Ready, and its gate a/b is not met"));
        check(gated("never"), Some("its gate a/b is not met"));
    }
}
