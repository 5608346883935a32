//! Back after the machine, the link, the kubelet or the API server was away.

use smallvec::SmallVec;

use super::back_off::BackOff;
use super::bound_pod::BoundPod;
use super::deadline::watch_deadline;
use super::dying::Finding;
use super::init::inits_after_boot;
use super::links::Away;
use super::pace::RELIST;
use super::process::Pods;
use super::readiness::{Probed, ready_latency};
use super::restart::SeenBy;
use super::status_manager::post;
use super::stopped::{Stopped, lost};
use super::timer::{NodeTimer, PodTimer};
use super::worker::{Awaits, Known, Launch, Outcome, Worker, WorkerState, rearm};
use super::{Kubelets, heartbeat, settings, statuses};
use crate::component::{Ctx, Latencies, PodStatusPatch, Request};
use crate::model::Container;
use crate::state::{ContainerState, ContainerStatus, MachineChange, NodeId, Pod, PodPhase, Power, Status};
use crate::units::{SimDuration, SimTime};

/// A boot after which no kubelet has looked at its pods yet.
#[derive(Copy, Clone, Debug)]
pub(super) struct FreshBoot {
    /// Whether the API server has heard of it.
    pub(super) is_told: bool,
}

/// How many lengths have been drawn of one machine, so that each is another; what happens to it of one kind shifts no draw of the other.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Draws {
    boots: u64,
    reconnections: u64,
}

/// What is left of the pod's regular containers, known so far, when its machine has booted: those that ran are lost; those that are started
/// again wait, the others have ended.
///
/// # Source
/// kubelet, `getPhase` and `ContainerShouldRestart`: each is judged by the code with which the runtime has found it dead.
pub(super) fn after_boot(known: &[ContainerStatus], pod: &Pod, now: SimTime) -> SmallVec<[ContainerStatus; 1]> {
    let regular = known.iter().zip(&pod.spec.containers).map(|(status, container)| {
        let code = status.state.ending().map_or(lost(now).exit_code, |ending| ending.exit_code);
        gone(status, pod.spec.restarts(container, code), now)
    });
    regular.collect()
}

fn gone(status: &ContainerStatus, restarts: bool, now: SimTime) -> ContainerStatus {
    let ran = status.state.running_since().is_some();
    let ending = if ran { Some(lost(now)) } else { status.state.ending() };
    let (state, last) = match ending {
        Some(ending) if !restarts => (ContainerState::Terminated(ending), status.last),
        _ => (ContainerState::Waiting, ending.or(status.last)),
    };
    // A container that is lost counts as restarted, also if it is not.
    let count = status.restarts + u32::from(ran && !restarts);
    ContainerStatus { state, last, ready: false, restarts: count }
}

impl Kubelets {
    /// Power is on: the machine boots.
    pub(super) fn boots(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        let Draws { boots, .. } = self.draws.entry(node).or_default();
        *boots += 1;
        let usual = Latencies::draw(&ctx.config.latency.node_boot, ctx.streams, "node-boot", name.as_str(), *boots);
        let delay = self.next_boot.remove(&node).unwrap_or(usual);
        self.await_in(node, delay, NodeTimer::Booted, ctx);
    }

    /// The timer is what the kubelet, or its machine, waits for from now on.
    fn await_in(&mut self, node: NodeId, delay: SimDuration, timer: NodeTimer, ctx: &mut Ctx<'_, Self>) {
        let process = self.links.process_mut(node);
        process.stop_waiting(ctx);
        process.awaited = Some(timer.arm_in(node, delay, ctx));
    }

    /// A new kubelet process looks at the pods that are bound to it.
    pub(super) fn opens_its_pods(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !self.links.are_up(node, ctx) {
            self.links.process_mut(node).stays_closed(ctx);
        } else if !self.links.know_pods(node) {
            self.takes_up_its_pods(node, ctx);
        }
    }

    /// A new kubelet process takes up the pods that are bound to it.
    pub(super) fn takes_up_its_pods(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let process = self.links.process_mut(node);
        (process.pods, process.opened_at) = (Pods::Known, Some(ctx.now));
        let is_boot = self.fresh_boots.remove(&node).is_some();
        for pod in BoundPod::all_on(node, ctx.store) {
            if is_boot {
                self.pod_after_boot(pod, ctx);
            } else {
                self.pod_after_kubelet_restart(pod, ctx);
            }
        }
        self.kills_the_dying(node, Finding::Orphans, ctx);
        self.looks_at_static_pods(node, ctx);
    }

    /// Whether containers that have been started on the node run, if they have not ended: its machine is up, and a kubelet has looked at them
    /// since it has booted.
    pub(super) fn containers_survive(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        ctx.store.machine(node).power == Power::On && !self.fresh_boots.contains_key(&node)
    }

    /// Containers died with the machine.
    pub(super) fn lost_power(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.links.end_process(node, ctx);
        self.fresh_boots.remove(&node);
        self.static_pods_stop(node);
        self.the_dying_are_gone(node);
        for pod in ctx.store.pods_on(node) {
            self.forget(*pod, ctx);
        }
        self.images.lose_pulls(node, ctx.now);
    }

    /// The operating system is up, and a fresh kubelet runs unless somebody holds it back.
    pub(super) fn booted(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.fresh_boots.insert(node, FreshBoot { is_told: false });
        if ctx.store.machine(node).kubelet_alive() {
            self.process_starts(node, ctx);
        }
    }

    /// The machine is up again: pods that were not deleted meanwhile start over in place.
    ///
    /// # Source
    /// kubelet, start after a reboot: pods are admitted again; sandboxes are made anew, restart counts rise, and
    /// containers that never restart have failed. Those of the old sandbox are found dead, so that the next that ends backs off.
    fn pod_after_boot(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.deletion.is_some() {
            if self.links.is_stand_in(pod.node, ctx) {
                self.pod_deleted(pod, ctx);
            } else if pod.is_mirror {
                // It is the file that counts.
                self.begins_with_next_mirror(pod, ctx);
            } else {
                // Nothing is left to stop.
                let outcome = Outcome { ending: Some(lost(ctx.now)), ..Outcome::default() };
                self.stop_in(pod, SimDuration::ZERO, outcome, ctx);
            }
            return;
        }
        if pod.phase.is_terminal() {
            // A static pod that has ended begins anew, as its file is there, if its policy lets any of its containers.
            if pod.is_mirror && statuses::ended_for_good(&pod).is_none() {
                self.begins_with_next_mirror(pod, ctx);
            } else {
                self.finds_nothing_of(pod, ctx);
            }
            return;
        }
        if pod.phase == PodPhase::Pending {
            self.begins_anew(pod, ctx);
            return;
        }
        if self.admits(pod, ctx).is_none() {
            return;
        }
        watch_deadline(pod, ctx);
        let worker = self.workers.get(&pod.id);
        let known = statuses::known(worker, &pod);
        let containers = match self.links.is_stand_in(pod.node, ctx) {
            // It starts whatever was there.
            true => known.iter().map(|status| gone(status, true, ctx.now)).collect(),
            false => after_boot(known, &pod, ctx.now),
        };
        let restarts = containers.iter().any(|status| status.state.is_waiting());
        let inits = statuses::known_inits(worker, &pod);
        let inits = if restarts {
            inits_after_boot(inits, &pod, ctx)
        } else {
            let inits = inits.iter().zip(&pod.spec.init_containers);
            let of = |(status, init): (&ContainerStatus, &Container)| {
                if init.is_sidecar() { gone(status, false, ctx.now) } else { *status }
            };
            inits.map(of).collect()
        };
        let patch = PodStatusPatch {
            ready: Some(Status::False),
            containers: Some(containers.clone()),
            init_containers: (!inits.is_empty()).then(|| inits.clone()),
            ..PodStatusPatch::default()
        };
        if !restarts {
            self.wind_up(pod, patch, ctx);
            return;
        }
        ctx.send(Request::PatchPodStatus { pod: pod.id, patch: Box::new(patch) });
        let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
        // The runtime has forgotten its containers: for the back-off none has died.
        (worker.back_off, worker.init_back_off) = (BackOff::default(), BackOff::default());
        worker.ended = containers.iter().find(|status| status.state.is_waiting()).and_then(|status| status.last);
        if !inits.is_empty() || containers.iter().any(|status| status.state.ending().is_some()) {
            worker.known = Some(Box::new(Known { containers, inits }));
        }
        self.restart_whole(pod, ctx);
    }

    /// A pod that does not run yet is taken up by a kubelet that remembers nothing of it, and finds nothing of it running.
    ///
    /// # Source
    /// kubelet, `doBackOff`: an init container that is found dead is started at once, and that counts as its first start.
    fn begins_anew(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if !pod.init_containers.iter().any(statuses::has_run) {
            self.pod_bound(pod, ctx);
            return;
        }
        self.learn_file(pod);
        if self.goes_on_as_mirror(pod, ctx) {
            return;
        }
        let inits = inits_after_boot(&pod.init_containers, &pod, ctx);
        let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
        worker.known = Some(Box::new(Known { inits, ..Known::default() }));
        worker.init_back_off = BackOff::of_found_dead();
        self.take_up(pod, ctx);
    }

    /// The kubelet process is gone: nothing is started or killed until it runs again; containers go on, or end as they were told to.
    ///
    /// # Source
    /// kubelet, node shutdown manager: what holds up a shutdown under way is a file that the process has open.
    pub(super) fn kubelet_stopped(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.links.end_process(node, ctx);
        self.images.lose_pulls(node, ctx.now);
        for pod in BoundPod::all_on(node, ctx.store) {
            if let Some(worker) = self.workers.get_mut(&pod.id) {
                worker.halt(pod, ctx);
            }
        }
        self.nobody_stops_the_dying(node, ctx);
        self.nobody_sees_static_pods(node, ctx);
        let machine = ctx.store.machine(node);
        if machine.power == Power::On && machine.reported.shutting_down {
            ctx.change_machine(MachineChange::PowerOff(node));
        }
    }

    /// Packets flow again: the lease is renewed at once, the rest follows when the watches are up. A process that has started meanwhile has no
    /// watches yet.
    pub(super) fn reconnected(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if self.links.process(node).is_some_and(|process| process.is_unheard) {
            self.introduces_itself(node, ctx);
            return;
        }
        heartbeat::is_heard_again(node, self.links.is_stand_in(node, ctx), ctx);
        let name = ctx.store.node_name(node);
        let Draws { reconnections, .. } = self.draws.entry(node).or_default();
        *reconnections += 1;
        let latency = &ctx.config.latency.kubelet_reconnect;
        let delay = Latencies::draw(latency, ctx.streams, "kubelet-reconnect", name.as_str(), *reconnections);
        self.await_reconnection(node, delay, Away::Link, ctx);
    }

    /// The kubelet catches up after `delay`.
    pub(super) fn await_reconnection(&mut self, node: NodeId, delay: SimDuration, away: Away, ctx: &mut Ctx<'_, Self>) {
        self.await_in(node, delay, NodeTimer::Reconnected(away), ctx);
    }

    /// The kubelet speaks again, after its link was down or the API server away, and sees what changed while it was cut off. What changes
    /// once the API server is back comes by the watches, which may take longer.
    pub(super) fn caught_up(&mut self, node: NodeId, away: Away, ctx: &mut Ctx<'_, Self>) {
        if !self.links.reach(node, ctx) {
            return;
        }
        let process = self.links.process(node);
        if process.is_some_and(|process| process.is_unheard) {
            self.introduces_itself(node, ctx);
            return;
        }
        let registers = process.is_some_and(|process| process.registration_tries.is_some());
        let is_stand_in = self.links.is_stand_in(node, ctx);
        if !ctx.store.heartbeat(node).is_alive() {
            heartbeat::is_heard_again(node, is_stand_in, ctx);
        }
        if !self.links.are_up(node, ctx) {
            return;
        }
        if ctx.store.node(node).is_some() {
            if !is_stand_in {
                if away == Away::Link {
                    self.looks_at_its_node(node, ctx);
                }
            } else if away == Away::Link || self.differs(node, ctx) {
                // It says so at once, after its link was down whether or not anything has changed.
                self.post(node, ctx);
            }
        } else if registers {
            self.register(node, ctx);
        }
        if !self.links.know_pods(node) {
            self.opens_its_pods_later(node, ctx);
            return;
        }
        let sync_at = if is_stand_in {
            ctx.now + RELIST
        } else if self.has_unposted(node, ctx) {
            ctx.now
        } else {
            Self::next_status_sync(node, ctx)
        };
        for pod in BoundPod::all_on(node, ctx.store) {
            self.pod_after_silence(pod, away, sync_at, ctx);
        }
        self.kills_the_dying(node, Finding::Removal, ctx);
        self.recreate_mirrors(node, ctx);
        if !is_stand_in && self.has_volumes_to_give(node, ctx) {
            NodeTimer::ReportVolumes.arm_in(node, Self::until_status_loop(node, ctx), ctx);
        }
    }

    /// The API server is back: what it had said of the node and its pods when it went away is known, as watches break without losing
    /// what has been sent.
    pub(super) fn sees_what_it_missed(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.looks_at_its_node(node, ctx);
        for pod in BoundPod::all_on(node, ctx.store) {
            if pod.deletion.is_none() {
                self.pod_bound(pod, ctx);
            } else if !self.workers.get(&pod.id).is_some_and(Worker::is_terminated) {
                self.pod_deleted(pod, ctx);
            }
        }
        self.kills_the_dying(node, Finding::Removal, ctx);
    }

    /// The status loop goes on as it did; it finds what differs when it next comes round.
    fn looks_at_its_node(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.conditions_overwritten(node, ctx);
        if self.links.process(node).is_some_and(|process| process.cordoned.is_some()) {
            self.look_at_schedulable(node, ctx);
        }
    }

    /// Whether there are statuses that the kubelet could not post.
    fn has_unposted(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        BoundPod::all_on(node, ctx.store)
            .filter_map(|pod| self.workers.get(&pod.id))
            .any(|worker| worker.unposted.is_some() || matches!(worker.state, WorkerState::Stopped(_)))
    }

    /// The kubelet reaches the API server again: what was deleted is stopped, the others are reported as they are.
    ///
    /// # Source
    /// kubelet, status manager: a status that the API server shows otherwise is posted with the next `syncBatch`, at once if the
    /// pod's worker has something to do, or if the one before could not be finished: it has waited for the API server since then. A stand-in has no such manager: it takes up its pods when its link is back, and
    /// does not notice that somebody else has written their status.
    fn pod_after_silence(&mut self, pod: BoundPod<'_>, away: Away, sync_at: SimTime, ctx: &mut Ctx<'_, Self>) {
        let is_stand_in = self.links.is_stand_in(pod.node, ctx);
        let worker = self.workers.get(&pod.id);
        let awaits_the_end = worker.is_some_and(|worker| matches!(worker.state, WorkerState::Stopped(_)));
        let is_watched = !is_stand_in && away == Away::ApiServer;
        if awaits_the_end || (pod.deletion.is_some() && (!is_watched || worker.is_some_and(Worker::is_terminated))) {
            if !is_stand_in && pod.phase == PodPhase::Running {
                self.resync(pod, ctx);
            }
            self.deleted_or_stopped(pod, ctx);
            return;
        }
        if pod.phase.is_terminal() {
            return;
        }
        if pod.phase == PodPhase::Pending && worker.is_none() {
            if !is_watched {
                self.pod_bound(pod, ctx);
            }
            return;
        }
        let has_news = worker.is_some_and(|worker| worker.unposted.is_some());
        // That somebody has written it comes by a watch, as all that has changed since the API server is back; what was found before it went
        // away could not be put right.
        let is_compared = away == Away::Link || (!is_stand_in && statuses::are_containers_ready(&pod));
        if has_news && is_stand_in {
            self.resync(pod, ctx);
        } else if has_news || (is_compared && !pod.is_ready()) {
            pod.arm(sync_at, PodTimer::Resync, ctx);
        }
    }

    fn deleted_or_stopped(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.deletion.is_some() {
            self.pod_deleted(pod, ctx);
        } else {
            self.containers_stopped(pod, ctx);
        }
    }

    /// A fresh kubelet process finds its containers as they are.
    ///
    /// # Source
    /// kubelet restart: every pod is admitted again, back-offs are forgotten, but a start of what is found dead counts; a start under way goes
    /// on from what runs of it. `SyncTerminatingPod` says what is there before it stops it. Statuses follow from what the runtime has, so that what the process before could not post is said now.
    fn pod_after_kubelet_restart(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.deletion.is_some() {
            // Since 1.35 a probed container is as ready as the API has it.
            let keeps_readiness = settings::readiness_period(&pod).is_none();
            let is_stand_in = self.links.is_stand_in(pod.node, ctx);
            if !is_stand_in && keeps_readiness && self.runs(pod, ctx.now) {
                self.resync(pod, ctx);
            }
            self.pod_deleted(pod, ctx);
            return;
        }
        let worker = self.workers.get(&pod.id);
        if pod.phase.is_terminal() {
            self.finds_nothing_of(pod, ctx);
            return;
        }
        let unposted = worker.and_then(|worker| worker.unposted.as_ref());
        let phase = unposted.and_then(|patch| patch.phase).unwrap_or(pod.phase);
        let has_begun = worker.is_some_and(|worker| match &worker.state {
            WorkerState::Idle => phase != PodPhase::Pending,
            WorkerState::Starting(launch, Awaits::Process) => {
                *launch != Launch::Pod || statuses::known_inits(Some(worker), &pod).iter().any(statuses::has_run)
            }
            _ => true,
        });
        if phase == PodPhase::Pending && !has_begun {
            self.forget(pod.id, ctx);
            self.begins_anew(pod, ctx);
            return;
        }
        if self.admits(pod, ctx).is_none() {
            return;
        }
        watch_deadline(pod, ctx);
        let (mut is_unready, mut is_unheard) = (!pod.is_ready(), pod.phase == PodPhase::Pending);
        if let Some(worker) = self.workers.get_mut(&pod.id) {
            worker.back_off = BackOff::default();
            worker.back_offs_told = 0;
            worker.init_back_off = BackOff::default();
            worker.pulls.clear();
            let known = worker.known.as_ref().filter(|_| pod.phase == PodPhase::Running && pod.containers.is_empty());
            if let Some(Known { containers, inits }) = known.map(|known| (**known).clone()) {
                // The process before has rejected it.
                let (containers, init_containers) = (Some(containers), (!inits.is_empty()).then_some(inits));
                let patch = PodStatusPatch { containers, init_containers, ..PodStatusPatch::default() };
                worker.unposted.get_or_insert_with(|| Box::new(patch));
            }
            if let Some(patch) = &worker.unposted {
                is_unready = patch.ready.map_or(is_unready, |ready| ready != Status::True);
                is_unheard = true;
                post(&self.links, worker, pod, PodStatusPatch::default(), ctx);
            }
            if self.goes_on_with(pod, is_unready && is_unheard, ctx) {
                return;
            }
        }
        self.finds_running(pod, is_unready, ctx);
    }

    /// A fresh kubelet process finds nothing of a pod that has been rejected: it takes its containers for lost.
    ///
    /// # Source
    /// kubelet, `SyncTerminatedPod` and `TerminatePod`: each container has an end, known or not. Reason and message stay.
    fn finds_nothing_of(&self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if !pod.containers.is_empty() || !self.links.are_up(pod.node, ctx) || self.links.is_stand_in(pod.node, ctx) {
            return;
        }
        let mut patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        Stopped::new(None, &pod, &Outcome::default(), ctx.now).lay_over(&mut patch);
        ctx.send(Request::PatchPodStatus { pod: pod.id, patch: Box::new(patch) });
    }

    /// A fresh kubelet process goes on with what the one before had under way with a pod; false if its containers simply run. That they
    /// do and are not ready may be news to the API server.
    fn goes_on_with(&mut self, pod: BoundPod<'_>, is_news: bool, ctx: &mut Ctx<'_, Self>) -> bool {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return false };
        match &mut worker.state {
            WorkerState::Running(run) => {
                if let Some(ending) = run.ended_unseen.take() {
                    self.ended(pod, ending, SeenBy::NextSync, ctx);
                    return true;
                }
                let Some(since) = run.since.filter(|_| is_news) else { return false };
                run.probers_at = Some(ctx.now);
                let is_silent = run.is_silent;
                let known = statuses::known(Some(worker), &pod);
                let probed = Probed { known, since, probers_at: Some(ctx.now), synced_at: None };
                let due = since + ready_latency(&pod, worker.restarts, probed, ctx);
                let ticket = (!is_silent).then(|| pod.arm(due.max(ctx.now), PodTimer::Ready, ctx));
                if let Some(run) = worker.run_mut() {
                    rearm(&mut run.ready, ticket, ctx);
                }
                worker.watch_probes(pod, ctx);
            }
            WorkerState::Starting(_, Awaits::Hook { .. }) => self.containers_started(pod, ctx),
            WorkerState::Starting(_, Awaits::Init(_)) => self.goes_on_with_init(pod, ctx),
            WorkerState::Starting(launch, Awaits::Containers { .. }) => {
                let launch = *launch;
                self.try_again(pod, launch, ctx);
            }
            WorkerState::Starting(launch, _) => {
                let launch = *launch;
                if launch != Launch::Pod {
                    worker.back_off = BackOff::of_found_dead();
                }
                if statuses::has_run(&worker.known_init(&pod, worker.at_init)) {
                    worker.init_back_off = BackOff::of_found_dead();
                }
                self.try_again(pod, launch, ctx);
            }
            WorkerState::Idle | WorkerState::BackingOff { .. } => {
                worker.back_off = BackOff::of_found_dead();
                self.restart(pod, Launch::Containers, ctx);
            }
            // What is left of it are sidecars.
            WorkerState::Terminating { outcome, .. } => {
                if outcome.ends_at().is_some_and(|at| at <= ctx.now) {
                    self.containers_stopped(pod, ctx);
                } else {
                    self.wind_up(pod, PodStatusPatch::default(), ctx);
                }
            }
            WorkerState::Stopped(_) => self.containers_stopped(pod, ctx),
            WorkerState::Over | WorkerState::CleaningUp(_) => self.settle(pod),
        }
        true
    }

    /// A fresh kubelet process finds the pod's containers running.
    ///
    /// # Source
    /// kubelet, prober: before 1.35 containers with a readiness probe are not ready until it has succeeded, after a first sleep of up
    /// to a period.
    fn finds_running(&mut self, pod: BoundPod<'_>, is_unready: bool, ctx: &mut Ctx<'_, Self>) {
        let probe_period = settings::readiness_period(&pod).filter(|_| !ctx.config.version.at_least(35));
        if !is_unready && let Some(period) = probe_period {
            let patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
            ctx.send(Request::PatchPodStatus { pod: pod.id, patch: Box::new(patch) });
            let ticket = pod.arm_in(settings::first_probe(&pod, period, ctx), PodTimer::Ready, ctx);
            let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
            if let Some(run) = worker.run_mut() {
                rearm(&mut run.ready, Some(ticket), ctx);
            }
        } else if is_unready {
            self.go_on(pod, ctx);
        }
        self.probes_found(pod, ctx);
        self.settle(pod);
    }
}
