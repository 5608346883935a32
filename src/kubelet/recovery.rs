//! Back after the machine, the link, the kubelet or the API server was away.

use smallvec::SmallVec;

use super::back_off::BackOff;
use super::bound_pod::BoundPod;
use super::deadline::watch_deadline;
use super::grace::KILLED;
use super::links::Away;
use super::pace::RELIST;
use super::phase::restarts_after;
use super::probe::may_fail;
use super::stopped::lost;
use super::timer::{NodeTimer, PodTimer, Timer};
use super::worker::{Known, Launch, Outcome, Worker, WorkerState, rearm};
use super::{Kubelets, heartbeat, settings, statuses};
use crate::component::{Ctx, EventDraft, Latencies, ObjectRef, PodStatusPatch, Request};
use crate::state::{ContainerState, ContainerStatus, Ending, NodeId, PodPhase, Status};
use crate::units::{SimDuration, SimTime};

impl Kubelets {
    /// Takes back a boot or a reconnection under way.
    pub(super) fn stop_waiting(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        for ticket in [self.links.awaited.remove(&node), self.late.remove(&node)].into_iter().flatten() {
            ctx.cancel(ticket);
        }
    }

    /// Power is on: the machine boots.
    pub(super) fn boots(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        let boot = self.boots.entry(node).or_insert(0);
        *boot += 1;
        let usual = Latencies::draw(&ctx.config.latency.node_boot, ctx.streams, "node-boot", name.as_str(), *boot);
        let delay = self.next_boot.remove(&node).unwrap_or(usual);
        self.stop_waiting(node, ctx);
        let ticket = ctx.arm_in(delay, Timer::Node(node, NodeTimer::Booted));
        self.links.awaited.insert(node, ticket);
    }

    /// A new kubelet process is cut off or ends before it has looked at its pods: who comes after it has to.
    pub(super) fn stays_closed(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if let Some(opening) = self.links.opening.remove(&node) {
            ctx.cancel(opening.ticket);
            let offline = if opening.is_boot { &mut self.booted_offline } else { &mut self.restarted_offline };
            offline.insert(node);
        }
    }

    /// A new kubelet process looks at the pods that are bound to it.
    pub(super) fn opens_its_pods(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !self.links.are_up(node, ctx) {
            self.stays_closed(node, ctx);
            return;
        }
        let Some(opening) = self.links.opening.remove(&node) else { return };
        for pod in BoundPod::all_on(node, ctx.store) {
            if opening.is_boot {
                self.pod_after_boot(pod, ctx);
            } else {
                self.pod_after_kubelet_restart(pod, ctx);
            }
        }
    }

    /// Containers died with the machine.
    pub(super) fn lost_power(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.stays_closed(node, ctx);
        self.booted_offline.remove(&node);
        self.static_pods_stop(node);
        for pod in ctx.store.pods_on(node) {
            self.forget(*pod, ctx);
        }
        self.restarted_offline.remove(&node);
        self.forget_shortages(node, ctx);
        self.images.lose_pulls(node, ctx.now);
        self.stop_waiting(node, ctx);
    }

    /// The operating system is up and a fresh kubelet runs: it registers, or finds its Node and reports.
    pub(super) fn booted(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.watch_node(node, ctx);
        if !self.links.reach(node, ctx) {
            // Which pods it has, a kubelet learns from the API server only.
            self.booted_offline.insert(node);
            return;
        }
        let name = ctx.store.node_name(node);
        heartbeat::begin_now(node, ctx);
        self.links.event(node, EventDraft::normal("Starting", ObjectRef::node(name), "Starting kubelet."), ctx);
        self.tell_first_look(node, ctx);
        if ctx.store.node(node).is_some() {
            let boots = ctx.store.machine(node).boots;
            let message = format!("Node {name} has been rebooted, boot id: {name}-{boots}");
            self.links.event(node, EventDraft::warning("Rebooted", ObjectRef::node(name), message), ctx);
        }
        self.forget_schedulable(node, ctx);
        self.register_or_report(node, ctx);
        if !self.links.is_stand_in(node, ctx) {
            self.opens_its_pods_later(node, true, ctx);
            return;
        }
        for pod in BoundPod::all_on(node, ctx.store) {
            self.pod_after_boot(pod, ctx);
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
            } else {
                // Nothing is left to stop.
                let outcome = Outcome { ending: Some(lost(ctx.now)), ..Outcome::default() };
                self.stop_in(pod, SimDuration::ZERO, outcome, ctx);
            }
            return;
        }
        if pod.phase.is_terminal() {
            // A static pod that has ended begins anew: its file is there.
            if pod.is_mirror {
                Self::drop_mirror(pod, ctx);
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
        let lost = lost(ctx.now);
        let gone = |status: &ContainerStatus, restarts: bool| {
            let ending = if status.state.running_since().is_some() { Some(lost) } else { status.state.ending() };
            let (state, last) = match ending {
                Some(ending) if !restarts => (ContainerState::Terminated(ending), status.last),
                _ => (ContainerState::Waiting, ending.or(status.last)),
            };
            ContainerStatus { state, last, ready: false, ..*status }
        };
        let regular = statuses::known(worker, &pod).iter().zip(&pod.spec.containers).map(|(status, container)| {
            let code = status.state.ending().map_or(lost.exit_code, |ending| ending.exit_code);
            gone(status, restarts_after(container, &pod.spec, code))
        });
        let containers: SmallVec<[ContainerStatus; 1]> = regular.collect();
        let restarts = containers.iter().any(|status| status.state.is_waiting());
        let inits = pod.init_containers.iter().zip(&pod.spec.init_containers);
        let inits =
            inits.map(|(status, container)| if container.is_sidecar() { gone(status, restarts) } else { *status });
        let inits: SmallVec<[ContainerStatus; 0]> = inits.collect();
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
        self.restart_whole(pod, ctx);
        if let Some(worker) = self.workers.get_mut(&pod.id) {
            (worker.back_off, worker.init_back_off) = (BackOff::of_found_dead(), BackOff::of_found_dead());
            worker.ended = containers.iter().find(|status| status.state.is_waiting()).and_then(|status| status.last);
            if containers.iter().any(|status| status.state.ending().is_some()) {
                worker.known = Some(Box::new(Known { containers, inits }));
            }
        }
    }

    /// A pod that does not run yet is taken up by a kubelet that remembers nothing of it.
    ///
    /// # Source
    /// kubelet, `doBackOff`: an init container that is found dead is started at once, and that counts as its first start.
    fn begins_anew(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let has_run = |status: &ContainerStatus| status.last.is_some() || !status.state.is_waiting();
        self.pod_bound(pod, ctx);
        if let Some(worker) = self.workers.get_mut(&pod.id)
            && pod.init_containers.iter().any(has_run)
        {
            worker.init_back_off = BackOff::of_found_dead();
        }
    }

    /// The kubelet process is gone: nothing is started or killed until it runs again; containers go on, but for those that it
    /// was about to end by itself.
    pub(super) fn kubelet_stopped(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.forget_shortages(node, ctx);
        self.images.lose_pulls(node, ctx.now);
        for pod in BoundPod::all_on(node, ctx.store) {
            if let Some(worker) = self.workers.get_mut(&pod.id) {
                let exit = match worker.is_terminating() {
                    true => settings::exit_latency(&pod, ctx),
                    false => SimDuration::ZERO,
                };
                worker.halt(Ending::exit(KILLED, ctx.now), exit, ctx);
            }
        }
    }

    /// Packets flow again, or the process is back: the lease is renewed at once, the rest follows when the watches are up.
    pub(super) fn reconnected(&mut self, node: NodeId, is_link: bool, ctx: &mut Ctx<'_, Self>) {
        if self.booted_offline.remove(&node) {
            self.booted(node, ctx);
            return;
        }
        heartbeat::begin_now(node, ctx);
        let name = ctx.store.node_name(node);
        if is_link {
            let boot = self.boots.entry(node).or_insert(0);
            *boot += 1;
            let latency = &ctx.config.latency.kubelet_reconnect;
            let delay = Latencies::draw(latency, ctx.streams, "kubelet-reconnect", name.as_str(), *boot);
            self.await_reconnection(node, delay, Away::Link, ctx);
            return;
        }
        self.stop_waiting(node, ctx);
        self.links.event(node, EventDraft::normal("Starting", ObjectRef::node(name), "Starting kubelet."), ctx);
        self.tell_first_look(node, ctx);
        self.kubelet_restarted(node, ctx);
    }

    /// The kubelet catches up after `delay`.
    pub(super) fn await_reconnection(&mut self, node: NodeId, delay: SimDuration, away: Away, ctx: &mut Ctx<'_, Self>) {
        self.stop_waiting(node, ctx);
        let ticket = ctx.arm_in(delay, Timer::Node(node, NodeTimer::Reconnected(away)));
        self.links.awaited.insert(node, ticket);
    }

    /// A fresh kubelet process reports its node and takes over its pods.
    fn kubelet_restarted(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.watch_node(node, ctx);
        self.restarted_offline.remove(&node);
        self.forget_schedulable(node, ctx);
        self.register_or_report(node, ctx);
        if !self.links.is_stand_in(node, ctx) {
            self.opens_its_pods_later(node, false, ctx);
            return;
        }
        for pod in BoundPod::all_on(node, ctx.store) {
            self.pod_after_kubelet_restart(pod, ctx);
        }
    }

    /// The kubelet sees what changed while it was cut off.
    pub(super) fn caught_up(&mut self, node: NodeId, away: Away, ctx: &mut Ctx<'_, Self>) {
        if !self.links.reach(node, ctx) {
            return;
        }
        if self.booted_offline.remove(&node) {
            self.booted(node, ctx);
            return;
        }
        if !ctx.store.heartbeat(node).is_alive() {
            heartbeat::begin_now(node, ctx);
        }
        if self.restarted_offline.contains(&node) {
            self.kubelet_restarted(node, ctx);
            return;
        }
        let is_stand_in = self.links.is_stand_in(node, ctx);
        if ctx.store.node(node).is_some() {
            if is_stand_in {
                // It says so at once, after its link was down whether or not anything has changed.
                if away == Away::Link || self.differs(node, ctx) {
                    self.post(node, ctx);
                }
            } else {
                // The status loop goes on as it did; it finds the difference when it next comes round.
                self.conditions_overwritten(node, ctx);
                if self.cordoned.contains_key(&node) {
                    self.look_at_schedulable(node, ctx);
                }
            }
        } else if self.registration_tries.contains_key(&node) {
            self.register(node, ctx);
        }
        let sync_at = if is_stand_in { ctx.now + RELIST } else { Self::next_status_sync(node, ctx) };
        for pod in BoundPod::all_on(node, ctx.store) {
            self.pod_after_silence(pod, away, sync_at, ctx);
        }
    }

    /// The kubelet reaches the API server again: what was deleted is stopped, the others are reported as they are.
    ///
    /// # Source
    /// kubelet, status manager: a status that the API server shows otherwise is posted with the next `syncBatch`, at once if the
    /// pod's worker has something to do. A stand-in has no such manager: it takes up its pods when its link is back, and
    /// does not notice that somebody else has written their status.
    fn pod_after_silence(&mut self, pod: BoundPod<'_>, away: Away, sync_at: SimTime, ctx: &mut Ctx<'_, Self>) {
        let is_stand_in = self.links.is_stand_in(pod.node, ctx);
        let worker = self.workers.get(&pod.id);
        if pod.deletion.is_some() || worker.is_some_and(Worker::is_terminated) {
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
            self.pod_bound(pod, ctx);
            return;
        }
        let has_news = worker.is_some_and(|worker| worker.unposted.is_some());
        let is_watched = !is_stand_in || away == Away::Link;
        if has_news && is_stand_in {
            self.resync(pod, ctx);
        } else if has_news || (is_watched && !pod.is_ready()) {
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

    /// Takes up a pod whose containers run, though the status that says so has not arrived yet; whether they do.
    fn runs_unheard(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> bool {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return false };
        let restarts = worker.restarts;
        let Some(run) = worker.run_mut() else { return false };
        let Some(since) = run.since else { return false };
        run.probers_at = Some(ctx.now);
        let due = since + settings::ready_latency(&pod, restarts, since, ctx);
        rearm(&mut run.ready, Some(pod.arm(due.max(ctx.now), PodTimer::Ready, ctx)), ctx);
        worker.watch_probes(pod, ctx);
        watch_deadline(pod, ctx);
        true
    }

    /// A fresh kubelet process finds its containers as they are.
    ///
    /// # Source
    /// kubelet restart: every pod is admitted again, back-offs are forgotten, but a start of what is found dead counts; before 1.35 containers with a readiness
    /// probe are not ready until it has succeeded, after a first sleep of up to a period.
    fn pod_after_kubelet_restart(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.deletion.is_some() || self.workers.get(&pod.id).is_some_and(Worker::is_terminated) {
            self.deleted_or_stopped(pod, ctx);
            return;
        }
        if pod.phase.is_terminal() {
            return;
        }
        if pod.phase == PodPhase::Pending {
            if self.runs_unheard(pod, ctx) {
                return;
            }
            self.forget(pod.id, ctx);
            self.begins_anew(pod, ctx);
            return;
        }
        if self.admits(pod, ctx).is_none() {
            return;
        }
        watch_deadline(pod, ctx);
        if let Some(worker) = self.workers.get_mut(&pod.id) {
            worker.back_off = BackOff::default();
            worker.back_offs_told = 0;
            worker.init_back_off = BackOff::default();
            worker.pulls.clear();
            match &mut worker.state {
                WorkerState::Running(run) => {
                    if let Some(ending) = run.ended_unseen.take() {
                        self.container_ended(pod, Some(ending), ctx);
                        return;
                    }
                }
                WorkerState::Idle | WorkerState::Starting(..) | WorkerState::BackingOff(_) => {
                    worker.back_off = BackOff::of_found_dead();
                    self.restart(pod, Launch::Containers, ctx);
                    return;
                }
                // What is left of it are sidecars.
                WorkerState::Terminating { .. } => {
                    self.wind_up(pod, PodStatusPatch::default(), ctx);
                    return;
                }
                WorkerState::Stopped(_) | WorkerState::CleaningUp(_) => {}
            }
        }
        let probe_period = settings::readiness_period(&pod).filter(|_| !ctx.config.version.at_least(35));
        if pod.is_ready()
            && let Some(period) = probe_period
        {
            let patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
            ctx.send(Request::PatchPodStatus { pod: pod.id, patch: Box::new(patch) });
            let ticket = pod.arm_in(settings::first_probe(&pod, period, ctx), PodTimer::Ready, ctx);
            let worker = self.workers.entry(pod.id).or_insert_with(Worker::running);
            if let Some(run) = worker.run_mut() {
                rearm(&mut run.ready, Some(ticket), ctx);
            }
        } else if !pod.is_ready() {
            self.go_on(pod, ctx);
        }
        if may_fail(&pod) {
            let worker = self.workers.entry(pod.id).or_insert_with(Worker::running);
            if let Some(run) = worker.run_mut() {
                run.probers_at = Some(ctx.now);
            }
            worker.watch_probes(pod, ctx);
            self.settle(pod);
        }
    }
}
