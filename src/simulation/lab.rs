//! One component alone, on the real API server and this room's own event loop, with the clock in a test's hands.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::calls::Calls;
use super::components::{Components, Which};
use super::kernel::{Event, Kernel};
use super::watches::Watches;
use super::{Inputs, Simulation};
use crate::apiserver::ApiServer;
use crate::component::{
    Answer, ApiError, Component, Config, Ctx, ErrorReason, EventDraft, Outbox, Record, Reply, Request, Start, Timers,
    Transcript,
};
use crate::engine::{EventQueue, Streams, Ticket};
use crate::model::Object;
use crate::observe::Observers;
use crate::state::{CauseId, Change, Changed, MachineChange, Store, Uid};
use crate::units::{SimDuration, SimTime};

/// A component that can be under test: every line of the list of components is one.
pub(crate) trait Member: Component {
    /// Lets nobody but this component, and the faults of machines, take part.
    fn alone(simulation: &mut Simulation);

    /// The component as it stands.
    fn of(simulation: &Simulation) -> &Self;

    /// The component, to be changed.
    fn of_mut(simulation: &mut Simulation) -> &mut Self;

    /// Arms a timer of the component.
    fn arm(simulation: &mut Simulation, at: SimTime, timer: Self::Timer);
}

/// What the kernel writes down while a laboratory plays.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) changes: Vec<Arc<Change>>,
    pub(super) records: Vec<(SimTime, Record)>,
    pub(super) machine_changes: Vec<(SimTime, MachineChange)>,
}

type Script<C> = Box<dyn FnOnce(&mut Lab<C>)>;
type Reaction = Box<dyn FnMut(&Change, &Store) -> Option<(SimTime, Request)>>;
type Intercept = Box<dyn FnMut(&Request, &Store, SimTime) -> Option<Answer>>;

/// A component under test.
pub(crate) struct Lab<C: Member> {
    simulation: Simulation,
    scripts: BTreeMap<SimTime, VecDeque<Script<C>>>,
    intercept: Intercept,
    react: Reaction,
    /// Requests that arrived, but for plain reads.
    pub(crate) requests: Vec<(SimTime, Request)>,
    /// Plain reads that arrived.
    pub(crate) reads: Vec<SimTime>,
    /// Events that arrived.
    pub(crate) events: Vec<(SimTime, EventDraft)>,
    /// kubectl lines that ended.
    pub(crate) transcripts: Vec<Transcript>,
    /// What was committed.
    pub(crate) changes: Vec<Arc<Change>>,
    /// What happened to machines.
    pub(crate) machine_changes: Vec<(SimTime, MachineChange)>,
    /// Timers of the component that fired.
    pub(crate) timers_fired: usize,
    /// When creations of pods arrived.
    pub(crate) creates: Vec<SimTime>,
    /// Pods whose deletion was asked for.
    pub(crate) deletes: Vec<String>,
    uids: u128,
}

impl<C: Member> Lab<C> {
    /// An empty cluster at t=0; the component has not started.
    pub(crate) fn new(config: Config, seed: u64) -> Self {
        let config = Arc::new(config);
        let inputs = Arc::new(Inputs::default());
        let components = Components::new(&config, &inputs);
        let (store, streams) = (Store::default(), Streams::new(seed));
        let calls = Calls::new(&config.latency.api_call, config.round_trip);
        let mut kernel = Kernel::new(store, ApiServer::new(), config, streams, SimTime::ZERO, Observers::none(), calls);
        kernel.seen = Some(Box::default());
        let mut simulation = Simulation::new(kernel, components, inputs, |_| false);
        C::alone(&mut simulation);
        Self {
            simulation,
            scripts: BTreeMap::new(),
            intercept: Box::new(|_, _, _| None),
            react: Box::new(|_, _| None),
            requests: Vec::new(),
            reads: Vec::new(),
            events: Vec::new(),
            transcripts: Vec::new(),
            changes: Vec::new(),
            machine_changes: Vec::new(),
            timers_fired: 0,
            creates: Vec::new(),
            deletes: Vec::new(),
            uids: 0,
        }
    }

    // ---- what is there ----------------------------------------------------------------------------------------------

    /// The instant at which the test stands.
    pub(crate) fn now(&self) -> SimTime {
        self.simulation.kernel.now
    }

    /// The cluster.
    pub(crate) fn store(&self) -> &Store {
        &self.simulation.kernel.store
    }

    /// The cluster, to be changed past the API server; nobody hears of it but by [`Lab::announce`].
    pub(crate) fn store_mut(&mut self) -> &mut Store {
        &mut self.simulation.kernel.store
    }

    /// The configuration, to be changed.
    pub(crate) fn config_mut(&mut self) -> &mut Config {
        Arc::make_mut(&mut self.simulation.kernel.config)
    }

    /// The component.
    pub(crate) fn component(&self) -> &C {
        C::of(&self.simulation)
    }

    /// The component, to be changed.
    pub(crate) fn component_mut(&mut self) -> &mut C {
        C::of_mut(&mut self.simulation)
    }

    /// What the scenario gives to the components; counts from the start on.
    pub(crate) fn inputs_mut(&mut self) -> &mut Inputs {
        Arc::make_mut(&mut self.simulation.inputs)
    }

    /// How many events are due.
    pub(crate) fn pending(&self) -> usize {
        self.simulation.kernel.queue.len()
    }

    /// Looks at the cluster as the component does.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Ctx<'_, C>) -> T) -> T {
        let Kernel { now, store, config, streams, .. } = &self.simulation.kernel;
        look(&Ctx::new(*now, store, config, streams, CauseId::NONE, &mut NoTimers, &mut Outbox::default()))
    }

    // ---- what the test does -----------------------------------------------------------------------------------------

    /// Sets the clock of a component that has not started.
    pub(crate) fn set_now(&mut self, now: SimTime) {
        self.simulation.kernel.now = now;
    }

    /// Lets time pass for a component that has not started.
    pub(crate) fn pass(&mut self, time: SimDuration) {
        self.set_now(self.now() + time);
    }

    /// A UID that no object has that the test has made.
    pub(crate) fn fresh_uid(&mut self) -> Uid {
        self.uids += 1;
        Uid(self.uids)
    }

    /// Starts a component that goes on where it was; what was set up before is not news to it.
    pub(crate) fn start(&mut self) {
        self.start_as(Start::Initial);
    }

    /// Starts the component with the configuration and the inputs as they are.
    pub(crate) fn start_as(&mut self, start: Start) {
        let Simulation { kernel, components, inputs, .. } = &mut self.simulation;
        let config = &kernel.config;
        kernel.queue = EventQueue::new();
        kernel.watches = Watches::new(config.latency.watch.clone());
        kernel.call_times = Calls::new(&config.latency.api_call, config.round_trip);
        *components = Components::new(config, inputs);
        self.simulation.begin(start);
        self.write_down();
    }

    /// From now on changes arrive so late.
    pub(crate) fn watch_latency(&mut self, latency: SimDuration) {
        self.config_mut().latency.watch = crate::engine::Distribution::Constant(latency);
        let kernel = &mut self.simulation.kernel;
        assert!(kernel.watches.oldest_undelivered().is_none_or(|at| at <= kernel.now), "a change is on its way");
        kernel.watches = Watches::new(kernel.config.latency.watch.clone());
    }

    /// Answers some requests in place of the API server.
    pub(crate) fn intercept(&mut self, answer: impl FnMut(&Request, &Store, SimTime) -> Option<Answer> + 'static) {
        self.intercept = Box::new(answer);
    }

    /// Makes the API server refuse some requests.
    pub(crate) fn refuse(&mut self, mut refuse: impl FnMut(&Request, SimTime) -> Option<ErrorReason> + 'static) {
        self.intercept(move |request, _, now| refuse(request, now).map(|reason| Err(ApiError::new(reason, "refused"))));
    }

    /// What others ask for when something is committed, and when; whether they get it is their affair.
    pub(crate) fn react(&mut self, react: impl FnMut(&Change, &Store) -> Option<(SimTime, Request)> + 'static) {
        self.react = Box::new(react);
    }

    /// The API server does that now.
    pub(crate) fn ask(&mut self, request: Request) -> Answer {
        let Kernel { api, store, config, streams, now, changed, .. } = &mut self.simulation.kernel;
        let answer = api.handle(store, config, streams, *now, request, changed);
        self.publish();
        answer
    }

    /// Puts an object into the cluster as it is written, status and all, unless that is refused.
    pub(crate) fn restore(&mut self, object: Object) -> Answer {
        let Kernel { api, store, config, streams, now, changed, .. } = &mut self.simulation.kernel;
        let answer = api.restore(store, config, streams, *now, object, changed);
        self.publish();
        answer
    }

    /// Puts an object into the cluster as it is written, status and all.
    #[track_caller]
    pub(crate) fn create(&mut self, object: Object) -> Reply {
        self.restore(object).expect("a new object")
    }

    /// Tells the watches of a change that the test has made itself.
    pub(crate) fn announce(&mut self, what: Changed) {
        self.simulation.kernel.changed.push(what);
        self.publish();
    }

    /// Something happens to a machine now.
    pub(crate) fn machine(&mut self, change: MachineChange) {
        self.simulation.kernel.machine_log.push_back((change, CauseId::NONE));
        self.simulation.settle_machines();
        self.write_down();
    }

    /// Arms a timer of the component.
    pub(crate) fn arm(&mut self, at: SimTime, timer: C::Timer) {
        C::arm(&mut self.simulation, at, timer);
    }

    /// Plays something at that second, before all else there.
    pub(crate) fn at(&mut self, at_s: f64, script: impl FnOnce(&mut Self) + 'static) {
        self.scripts.entry(SimTime::ZERO + SimDuration::from_secs_f64(at_s)).or_default().push_back(Box::new(script));
    }

    /// Plays until that second; what lies exactly there is played, too.
    pub(crate) fn run_until(&mut self, until_s: f64) {
        self.play_until(SimTime::ZERO + SimDuration::from_secs_f64(until_s));
    }

    /// Plays for so many seconds.
    pub(crate) fn run_for(&mut self, seconds: f64) {
        self.play_until(self.now() + SimDuration::from_secs_f64(seconds));
    }

    fn play_until(&mut self, end: SimTime) {
        loop {
            let script = self.scripts.keys().next().copied().filter(|at| *at <= end);
            let event = self.simulation.next_at().filter(|at| *at <= end);
            match (script, event) {
                (Some(at), event) if event.is_none_or(|event| at <= event) => self.play_script(at),
                (_, Some(_)) => self.step(),
                _ => break,
            }
        }
        self.simulation.kernel.now = end;
    }

    fn play_script(&mut self, at: SimTime) {
        let Some(mut due) = self.scripts.remove(&at) else { return };
        self.simulation.kernel.now = at;
        while let Some(script) = due.pop_front() {
            script(self);
            due.extend(self.scripts.remove(&at).unwrap_or_default());
        }
    }

    fn step(&mut self) {
        let Some((at, next)) = self.simulation.kernel.queue.peek() else { return };
        self.simulation.kernel.now = at;
        match next.event {
            Event::Timer { timer, .. } => self.timers_fired += usize::from(timer.which() != Which::Chaos),
            Event::Arrive(id) => self.arrive(at, id),
            _ => {}
        }
        self.simulation.step();
        self.write_down();
    }

    /// A request arrives; if the test answers it, the API server never sees it.
    fn arrive(&mut self, at: SimTime, id: crate::arena::Id<super::kernel::PendingCall>) {
        let kernel = &mut self.simulation.kernel;
        let Some(call) = kernel.calls.get(id) else { return };
        match &call.request {
            Request::Get => self.reads.push(at),
            request => self.requests.push((at, request.clone())),
        }
        match &call.request {
            Request::CreatePod(_) => self.creates.push(at),
            Request::DeletePod { pod, .. } => {
                self.deletes.extend(kernel.store.pod(*pod).map(|pod| pod.name.to_string()));
            }
            _ => {}
        }
        if let Some(answer) = (self.intercept)(&call.request, &kernel.store, at)
            && let Some(call) = kernel.calls.remove(id)
        {
            kernel.answer(answer, (call.which, call.epoch), call.tag);
        }
    }

    fn publish(&mut self) {
        self.simulation.kernel.publish();
        self.write_down();
    }

    fn write_down(&mut self) {
        let Some(mut seen) = self.simulation.kernel.seen.take() else { return };
        for change in seen.changes.drain(..) {
            if let Some((at, request)) = (self.react)(&change, &self.simulation.kernel.store) {
                let script: Script<C> = Box::new(|lab| drop(lab.ask(request)));
                self.scripts.entry(at).or_default().push_back(script);
            }
            self.changes.push(change);
        }
        self.machine_changes.append(&mut seen.machine_changes);
        for (at, record) in seen.records.drain(..) {
            if let Record::Event { event, .. } = record {
                self.events.push((at, event));
            } else if let Record::Transcript(transcript) = record {
                self.transcripts.push(transcript);
            }
        }
        self.simulation.kernel.seen = Some(seen);
    }
}

/// Who only looks arms nothing.
struct NoTimers;

impl<T> Timers<T> for NoTimers {
    fn arm(&mut self, _: SimTime, _: T, _: CauseId) -> Ticket {
        unreachable!("who only looks arms nothing")
    }

    fn cancel(&mut self, _: Ticket) -> bool {
        false
    }
}
