//! The one owner of mutable state: builds a cluster, plays events, forks runs.
//!
//! The only room that knows which components exist. It decides nothing: it pops events, hands them to the component they
//! belong to, commits what the API server accepts, and delivers what changed.

mod bootstrap;
mod calls;
mod clients;
mod components;
mod inputs;
mod kernel;
#[cfg(test)]
pub(crate) mod lab;
mod leader_election;
mod links;
mod own_controllers;
mod past;
mod reflector;
mod refusals;
mod settling;
mod verified;
mod watches;

use std::collections::VecDeque;
use std::sync::Arc;

use calls::Calls;
use components::{AnyTimer, Components, Which};
use kernel::{Event, Kernel, Scheduled};
use leader_election::{Elections, Terms, Try};
use links::Links;
use own_controllers::OwnControllers;
use watches::{WatchId, Watcher, Watches};

pub use bootstrap::Prepared;
pub use clients::Heard;
pub use inputs::Inputs;
pub use own_controllers::ControllerTally;
pub use refusals::{Refusal, RefusedObject};
pub use settling::Storm;

use crate::arena::Symbol;
use crate::chaos::{self, ChaosPlan, Exposure};
use crate::component::{Config, Message, PoolPlan, Snapshot, Start};
use crate::engine::Streams;
use crate::kubectl::{self, Runbook};
use crate::observe::Observers;
use crate::procedures::ProcedurePlan;
use crate::procedures::cluster_autoscaler::fit_on_one_more;
use crate::procedures::rolling_reboot::RebootTimer;
use crate::procedures::rolling_upgrade::UpgradeTimer;
use crate::rest::{ClientRequest, Kept};
use crate::scenario::TimelineAction;
use crate::state::{CauseId, Changed, ControlPlaneProcess, MachineChange, PodId, Store, WorkloadId};
use crate::units::SimTime;
use crate::verify::Violation;

/// What happens to a cluster, apart from the cluster.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Faults, random processes and node pools.
    pub chaos: Arc<ChaosPlan>,
    /// kubectl lines.
    pub kubectl: Arc<Runbook>,
    /// What operators and their automata do.
    pub procedures: Arc<ProcedurePlan>,
    /// What clients of the API server want done.
    pub requests: Arc<Vec<ClientRequest>>,
    /// When which of them happens, in file order.
    pub timeline: Vec<(SimTime, TimelineAction)>,
}

/// A run in progress.
#[derive(Clone, Debug)]
pub struct Simulation {
    kernel: Kernel,
    components: Components,
    inputs: Arc<Inputs>,
    wanted: fn(Which) -> bool,
    api_down_since: Option<SimTime>,
    /// Processes that have lost their lease.
    elections: Elections,
    /// Nothing goes wrong any more, and nobody types.
    is_calm: bool,
    violation: Option<Violation>,
    /// Requests of the scenario that are to come, by their instants and in the order of the file.
    requests: VecDeque<(SimTime, usize)>,
    kept: Kept,
    /// As whom the API server knows the client of the request under way.
    client: &'static str,
    own_controllers: Option<Box<OwnControllers>>,
    /// Objects of the input that a cold start could not apply.
    refused_at_start: Vec<RefusedObject>,
    events: u64,
    digest: u64,
}

/// What a finished run leaves behind.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The observers with their rows.
    pub observers: Observers,
    /// The cluster at the end.
    pub store: Store,
    /// Events played.
    pub events: u64,
    /// Digest over the time, order and kind of every event; equal runs have equal digests.
    pub digest: u64,
    /// What each controller of whoever plays the run has asked for.
    pub controllers: Vec<ControllerTally>,
    /// Objects of the input that the API server refused when a cold start applied them.
    pub refused_at_start: Vec<RefusedObject>,
}

impl Simulation {
    fn new(kernel: Kernel, components: Components, inputs: Arc<Inputs>, wanted: fn(Which) -> bool) -> Self {
        Self {
            kernel,
            components,
            inputs,
            wanted,
            api_down_since: None,
            elections: Elections::default(),
            is_calm: false,
            violation: None,
            requests: VecDeque::new(),
            kept: Kept::default(),
            client: clients::CLIENT,
            own_controllers: None,
            refused_at_start: Vec::new(),
            events: 0,
            digest: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// The instant of the last event played.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.kernel.now
    }

    /// The cluster as it stands.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.kernel.store
    }

    /// Workloads that were refused what they want since the run began, what was refused, and how many pods they lack for it now.
    pub fn refusals(&self) -> impl Iterator<Item = (WorkloadId, &Refusal, u32)> {
        self.kernel.refusals.iter(&self.kernel.store)
    }

    /// What has been observed so far.
    #[must_use]
    pub fn observers(&self) -> &Observers {
        &self.kernel.observers
    }

    /// Of each pod, whether it would fit on a node more of one of the pools that are named, if that came up now. Nodes that `is_lost`
    /// says of, by pool and zone, could not come up.
    #[must_use]
    pub fn fit_on_one_more(
        &self,
        pods: &[PodId],
        pools: &[Symbol],
        is_lost: &dyn Fn(Symbol, Option<Symbol>) -> bool,
    ) -> Vec<bool> {
        let Kernel { store, config, now, .. } = &self.kernel;
        let named: Vec<&PoolPlan> =
            self.inputs.procedures.pools.iter().filter(|pool| pools.contains(&pool.name)).collect();
        let snapshot = Snapshot { store, config, now: *now };
        let mut what_if = crate::scheduler::Scheduler::what_if(snapshot);
        fit_on_one_more(pods, &named, is_lost, snapshot, what_if.as_mut())
    }

    /// What each random process went through until now, if failures are drawn with other hazards than they have; else nothing.
    #[must_use]
    pub fn exposures(&self) -> Vec<Exposure> {
        self.components.chaos.component.exposures(self.kernel.now)
    }

    /// Events played so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Digest over the events played so far.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Arms the timeline, then starts every process. Timeline entries thus lead their instant, in file order.
    fn begin(&mut self, start: Start) {
        self.own_controllers = OwnControllers::new(&self.inputs, &self.kernel.config, self.kernel.now);
        let present = self.components.present();
        let has_own = self.own_controllers.is_some();
        self.kernel.watches.set_present(if has_own { present.with(Watcher::OwnControllers) } else { present });
        self.await_requests();
        let kernel = &mut self.kernel;
        if let Some(oldest) = kernel.store.nodes().map(|(_, node)| node.created_at).min() {
            kernel.watches.set_begun(oldest, &kernel.streams);
        }
        for (at, action) in &self.inputs.timeline {
            let timer = match *action {
                TimelineAction::Fault(index) => AnyTimer::Chaos(chaos::Timer::Fault(index)),
                TimelineAction::AddNodes(index) => AnyTimer::Chaos(chaos::Timer::AddNodes(index)),
                TimelineAction::Kubectl(index) => AnyTimer::Kubectl(kubectl::Timer::Run(index)),
                TimelineAction::RollingReboot(index) => AnyTimer::RollingReboots(RebootTimer::Begin(index)),
                TimelineAction::RollingUpgrade(index) => AnyTimer::RollingUpgrades(UpgradeTimer::Begin(index)),
                // Requests follow all else of their instant.
                TimelineAction::Request(_) => continue,
            };
            let event = Event::Timer { epoch: 0, timer };
            self.kernel.queue.push_certain(*at, Scheduled { cause: CauseId::NONE, event });
        }
        self.start(None, start);
        for process in [
            ControlPlaneProcess::KubeApiserver,
            ControlPlaneProcess::KubeControllerManager,
            ControlPlaneProcess::KubeScheduler,
        ] {
            self.start(Some(process), start);
        }
        self.settle_machines();
    }

    fn start(&mut self, process: Option<ControlPlaneProcess>, start: Start) {
        let inputs = Arc::clone(&self.inputs);
        self.components.start(process, start, &inputs, self.wanted, &mut self.kernel);
    }

    /// When the next event is due.
    #[must_use]
    pub fn next_at(&self) -> Option<SimTime> {
        let next = self.kernel.queue.peek_time();
        if self.requests.is_empty() && self.own_controllers.is_none() {
            return next;
        }
        let request = self.requests.front().map(|(at, _)| *at);
        let own = self.own_controllers.as_ref().and_then(|own| own.next_at());
        next.into_iter().chain(request).chain(own).min()
    }

    /// Plays everything that happens up to and including `end`.
    pub fn run_until(&mut self, end: SimTime) {
        while self.violation.is_none() && self.next_at().is_some_and(|at| at <= end) {
            self.step();
        }
        self.kernel.now = self.kernel.now.max(end);
    }

    /// Plays the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        if let Some(request) = self.take_request() {
            let response = self.request(&request);
            self.tell_refusal(&request, &response);
            return true;
        }
        if self.step_own() {
            return true;
        }
        let Some(next) = self.kernel.queue.pop() else { return false };
        assert!(next.at >= self.kernel.now, "time went back from {} to {}", self.kernel.now, next.at);
        self.kernel.now = next.at;
        self.kernel.cause = next.event.cause;
        self.events += 1;
        self.fold(next.at, next.sequence, &next.event.event);
        match next.event.event {
            Event::Timer { epoch, timer } => {
                let which = timer.which();
                let is_void = self.is_calm && Components::disturbs(&timer);
                if self.components.is_up(which) && self.components.epoch(which) == epoch && !is_void {
                    let (observers, store) = (&mut self.kernel.observers, &self.kernel.store);
                    let words = || Components::words(&timer, store);
                    if Components::happens(&timer) {
                        self.kernel.cause = observers.own_cause(next.at, next.event.cause, words);
                    } else if next.event.cause == CauseId::NONE || Components::begins_anew(&timer) {
                        self.kernel.cause = observers.root_cause(next.at, Components::name(which), words);
                    }
                    let under_way = self.before_timer(&timer);
                    self.components.fired(timer, &mut self.kernel);
                    self.after_timer(under_way, &next.event.event);
                }
            }
            Event::Arrive(id) => {
                let alive = self.kernel.calls.get(id).is_some_and(|call| {
                    self.components.is_up(call.which) && self.components.epoch(call.which) == call.epoch
                });
                if alive {
                    self.kernel.arrive(id);
                } else {
                    self.kernel.calls.remove(id);
                }
            }
            Event::Resume(id) => self.kernel.resume(id),
            Event::Answer(id) => {
                if let Some(pending) = self.kernel.answers.remove(id) {
                    let which = pending.tag.which();
                    if self.components.is_up(which) && self.components.epoch(which) == pending.epoch {
                        self.components.answered(pending.tag, &pending.answer, &mut self.kernel);
                    }
                }
            }
            Event::Post(id) => {
                // What is tried again, or waits for a token, is still in the memory of its process.
                let is_lost = self.kernel.posts.get(id).is_some_and(|post| {
                    (post.tries > 0 || (post.has_waited && !post.is_awaited))
                        && !(self.components.is_up(post.which) && self.components.epoch(post.which) == post.epoch)
                });
                if is_lost {
                    self.kernel.posts.remove(id);
                } else {
                    self.kernel.post(id);
                }
            }
            Event::Posted { which, epoch } => {
                if self.components.is_up(which) && self.components.epoch(which) == epoch {
                    self.components.posted(which, &mut self.kernel);
                }
            }
            Event::Deliver(watch) => self.deliver(watch),
            Event::Elect { process, number } => self.try_to_lead(process, number),
        }
        self.settle_machines();
        if self.kernel.verifier.is_some() {
            self.verify_event(&next.event.event);
        }
        true
    }

    fn fold(&mut self, at: SimTime, sequence: u64, event: &Event) {
        let kind = match event {
            Event::Timer { timer, .. } => 16 + timer.which() as u64,
            Event::Arrive(_) => 1,
            Event::Answer(_) => 2,
            Event::Post(_) => 3,
            Event::Deliver(_) => 4,
            Event::Posted { .. } => 5,
            Event::Resume(_) => 6,
            Event::Elect { .. } => 7,
        };
        for word in [at.as_nanos() as u64, sequence, kind] {
            self.fold_word(word);
        }
    }

    fn fold_word(&mut self, word: u64) {
        self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
    }

    /// Delivers what is due in a watch, in commit order.
    fn deliver(&mut self, watch: WatchId) {
        loop {
            match self.kernel.watches.take(watch, self.kernel.now) {
                Ok(change) => {
                    self.kernel.cause = change.cause;
                    self.components.changed(&change, watch.watcher(), &mut self.kernel);
                    if watch.watcher() == Watcher::OwnControllers {
                        self.tell_own(&change);
                    }
                }
                Err(Some(due)) => {
                    let event = Event::Deliver(watch);
                    self.kernel.queue.push_certain(due, Scheduled { cause: CauseId::NONE, event });
                    return;
                }
                Err(None) => return,
            }
        }
    }

    /// Applies changes of the physical world and passes on messages that handlers asked for, and what follows from them, until nothing more
    /// does.
    fn settle_machines(&mut self) {
        loop {
            if let Some((change, cause)) = self.kernel.machine_log.pop_front() {
                self.kernel.cause = cause;
                self.change_machine(&change);
            } else if let Some((message, cause)) = self.kernel.messages.pop_front() {
                self.kernel.cause = match &message {
                    Message::Typed(typed) => self.kernel.observers.typed(self.kernel.now, cause, typed),
                    Message::Ended(_) => cause,
                };
                self.components.notified(&message, &mut self.kernel);
            } else {
                return;
            }
        }
    }

    fn change_machine(&mut self, change: &MachineChange) {
        #[cfg(test)]
        if let Some(seen) = &mut self.kernel.seen {
            seen.machine_changes.push((self.kernel.now, change.clone()));
        }
        let kernel = &mut self.kernel;
        match change {
            MachineChange::RequestsDelayed { node, delays } => {
                kernel.links.change(*node, delays, kernel.now, (&kernel.store, &kernel.streams));
            }
            MachineChange::PowerOff(node) => kernel.lose_calls_of(*node),
            MachineChange::InstanceGone(node) => {
                kernel.lose_calls_of(*node);
                kernel.links.forget(*node);
            }
            MachineChange::LinkDown(node) | MachineChange::KubeletStopped(node) => kernel.break_connection(Some(*node)),
            _ => {}
        }
        match *change {
            MachineChange::ProcessDown(process) => self.process_down(process),
            MachineChange::ProcessUp(process) => self.process_up(process),
            _ => {
                let node = self.kernel.store.apply_machine_change(change, self.kernel.now);
                if let Some(node) = node {
                    self.kernel.changed.push(Changed::HeartbeatChanged(node));
                }
                if matches!(change, MachineChange::LinkUp(_) | MachineChange::KubeletStarted(_)) {
                    self.kernel.say_again();
                }
            }
        }
        self.kernel.observers.machine_changed(self.kernel.now, self.kernel.cause, change, &self.kernel.store);
        self.kernel.publish();
        self.components.machine_changed(change, &mut self.kernel);
    }

    fn process_down(&mut self, process: ControlPlaneProcess) {
        if process == ControlPlaneProcess::KubeApiserver {
            self.kernel.interrupt();
            self.kernel.break_connection(None);
            self.kernel.watches.break_off(self.kernel.now);
            self.api_down_since.get_or_insert(self.kernel.now);
        } else {
            self.elections.withdraw(process);
            self.components.stop(process);
        }
    }

    /// # Source
    /// client-go leader election: a holder that cannot renew within its deadline exits; its successor starts with empty memory, when it leads.
    fn process_up(&mut self, process: ControlPlaneProcess) {
        if process != ControlPlaneProcess::KubeApiserver {
            self.start_anew(process);
            return;
        }
        self.kernel.api_is_up = true;
        self.kernel.say_again();
        let kernel = &mut self.kernel;
        kernel.watches.resume(kernel.now, &kernel.store, &kernel.streams, &kernel.config.latency.kubelet_reconnect);
        let Some(since) = self.api_down_since.take() else { return };
        for process in [ControlPlaneProcess::KubeControllerManager, ControlPlaneProcess::KubeScheduler] {
            let Some(terms) = Terms::of(process, &self.kernel.config) else { continue };
            if !self.components.any_up(process) {
                continue;
            }
            let now = self.kernel.now;
            match terms.exit_at(process, (since, now), &self.kernel.streams) {
                Some(exit_at) if exit_at > now => {
                    let number = self.elections.leave(process, since);
                    self.kernel.elect(exit_at.saturating_since(now), process, number);
                }
                Some(_) => self.lose_lease(process, terms, since),
                None => {}
            }
        }
    }

    /// A process exits that could not renew its lease since `lost_at`; its successor waits to lead.
    fn lose_lease(&mut self, process: ControlPlaneProcess, terms: Terms, lost_at: SimTime) {
        self.components.stop(process);
        let Kernel { store, streams, now, .. } = &self.kernel;
        let (after, number) = self.elections.stand(process, terms, (lost_at, *now), (store, streams));
        self.kernel.elect(after, process, number);
    }

    fn try_to_lead(&mut self, process: ControlPlaneProcess, number: u32) {
        let (terms, now) = (Terms::of(process, &self.kernel.config), self.kernel.now);
        match self.elections.attempt((process, number), terms, now, self.kernel.api_is_up) {
            Try::Leads => self.start_anew(process),
            Try::Again(after, number) => self.kernel.elect(after, process, number),
            Try::Exits(lost_at) => {
                if let Some(terms) = terms {
                    self.lose_lease(process, terms, lost_at);
                }
            }
            Try::Void => {}
        }
    }

    /// Starts a process in the middle of the run.
    fn start_anew(&mut self, process: ControlPlaneProcess) {
        self.kernel.observers.restarted(self.kernel.now, process, &self.kernel.store);
        match process {
            ControlPlaneProcess::KubeControllerManager => {
                self.kernel.watches.list(Watcher::KubeControllerManager, self.kernel.now);
            }
            ControlPlaneProcess::KubeScheduler => {
                self.kernel.watches.list(Watcher::KubeScheduler, self.kernel.now);
            }
            ControlPlaneProcess::KubeApiserver => {}
        }
        self.start(Some(process), Start::Fresh);
    }

    /// Ends the run.
    #[must_use]
    pub fn finish(mut self) -> Finished {
        self.kernel.observers.left_unfinished(&self.components.kubectl.component.unfinished());
        Finished {
            observers: self.kernel.observers,
            store: self.kernel.store,
            events: self.events,
            digest: self.digest,
            refused_at_start: self.refused_at_start,
            controllers: self.own_controllers.map_or_else(Vec::new, |own| own.tallies().to_vec()),
        }
    }
}

impl Kernel {
    /// A kernel at `now` over the given cluster, with an empty queue.
    fn new(
        store: Store,
        api: crate::apiserver::ApiServer,
        config: Arc<Config>,
        streams: Streams,
        now: SimTime,
        observers: Observers,
        call_times: Calls,
    ) -> Self {
        let watches = Watches::new(config.latency.watch.clone());
        Self {
            now,
            cause: CauseId::NONE,
            config,
            streams,
            store,
            api,
            api_is_up: true,
            queue: crate::engine::EventQueue::new(),
            calls: crate::arena::Table::new(),
            evictions: crate::arena::Table::new(),
            answers: crate::arena::Table::new(),
            posts: crate::arena::Table::new(),
            watches,
            call_times,
            links: Links::default(),
            calls_sent: 0,
            unsaid: Vec::new(),
            machine_log: VecDeque::new(),
            messages: VecDeque::new(),
            observers,
            verifier: None,
            refusals: refusals::Refusals::default(),
            settling: None,
            changed: Vec::new(),
            heard: None,
            #[cfg(test)]
            seen: None,
        }
    }
}
