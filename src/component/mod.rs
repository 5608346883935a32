//! The contract of everything that lives in the cluster.
//!
//! A component is a *program* (all kubelets are one, with a column per fact). It receives changes from its
//! watches, its timers' firings and the answers to its calls; it reads the store and answers with calls, timers and records. It holds no
//! reference to the queue, the store or another component, and never writes state: only the API server does.

mod beginning;
mod config;
mod controller;
mod daemon_placement;
mod expectations;
mod export;
mod flow_control;
mod latency;
mod load;
mod message;
mod names;
mod ownership;
mod plugin;
mod pool;
mod quota;
pub mod reason;
mod record;
mod reflector;
mod request;
mod revision;
mod status_write;
mod volume_match;
mod what_if;
mod work_queue;

use std::fmt::Debug;

pub use beginning::{POD_GC_PERIOD, controllers_began, first_round, next_round, since_input};
pub use config::Config;
pub use controller::{
    CACHE_SYNC, Controller, ControllerTag, ControllerTimer, Enqueue, Planned, Reconcile, Step, SyncPlan,
};
pub use daemon_placement::{DaemonPlacement, automatic_tolerations};
pub use expectations::Expectations;
pub use export::{
    CLAIM_PROTECTION, VOLUME_PROTECTION, export_claim, export_metadata, export_node, export_pod, export_volume,
    export_workload,
};
pub use flow_control::{ClientLimit, TokenBucket};
pub use latency::{Latencies, WrittenLatencies};
pub use load::{Load, LoadCurve, LoadPoint};
pub use message::{CommandEnd, Message, TypedCommand};
pub use names::{name_of_pod, node_name, pod_name, workload_name};
pub use ownership::{Claim, controller_name, judge_claim};
pub use plugin::{
    FilterHook, PluginError, PluginFailure, PluginNode, PluginPod, SchedulerHook, SchedulerPlugin, ScoreHook,
    unless_plugins_fail,
};
pub use pool::{PoolPlan, pool_number};
pub use quota::{Counted, add_compute as add_quota_usage, is_live as is_counted, usage_in as quota_usage};
pub use record::{
    EventDraft, EventRecorder, EventType, FaultNature, FaultPhase, FaultTarget, InvolvedKind, ObjectRef, Record,
    Recorder, SCENARIO, Stops, Timer, TimerPhase, Transcript, typed,
};
pub use reflector::{RESET, Reflector};
pub use request::{
    Answer, ApiError, BaseVersion, CronJobStatusUpdate, DeleteOptions, ErrorReason, JobStatusUpdate, NewReplicaSet,
    NewRevision, NodeConditionUpdate, NodeRegistration, PodDraft, PodName, PodStatusPatch, Reply, Request,
    StatusUpdate,
};
pub use revision::{
    PresentRevision, RevisionOwner, present_revision, prune_revisions, revision_hash_label, same_template,
};
pub use status_write::{StatusStep, StatusWrites};
pub use volume_match::{find_matching_volume, satisfies};
pub use what_if::{MakeWhatIf, Snapshot, WhatIf};
pub use work_queue::WorkQueue;

use crate::engine::{Streams, Ticket};
use crate::state::{CauseId, Change, Changed, ControlPlaneProcess, MachineChange, NodeId, Store};
use crate::units::{SimDuration, SimTime};

/// Arms and disarms a component's timers.
pub trait Timers<T> {
    /// Wakes the component at `at` (now, if that is past), because of `cause`.
    fn arm(&mut self, at: SimTime, timer: T, cause: CauseId) -> Ticket;
    /// Takes a timer back; false if it has fired already.
    fn cancel(&mut self, ticket: Ticket) -> bool;
}

/// A call on its way to the API server.
#[derive(Clone, Debug)]
pub struct Call<G> {
    /// Which of the component's clients sends it.
    pub client: usize,
    /// What is asked.
    pub request: Request,
    /// How the component will recognise the answer; none if it does not wait for one.
    pub tag: Option<G>,
    /// Why it was sent.
    pub cause: CauseId,
}

/// What a handler asks for; drained by the simulation in this order when the handler returns.
#[derive(Clone, Debug)]
pub struct Outbox<G> {
    /// Calls to the API server.
    pub calls: Vec<Call<G>>,
    /// Events, by the client that posts them.
    pub events: Vec<(usize, EventDraft, CauseId)>,
    /// Facts that need no client.
    pub records: Vec<(Record, CauseId)>,
    /// Changes of the physical world.
    pub machine_changes: Vec<(MachineChange, CauseId)>,
    /// Messages to other programs.
    pub messages: Vec<(Message, CauseId)>,
}

impl<G> Default for Outbox<G> {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            events: Vec::new(),
            records: Vec::new(),
            machine_changes: Vec::new(),
            messages: Vec::new(),
        }
    }
}

impl<G> Outbox<G> {
    /// Whether nothing was asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
            && self.events.is_empty()
            && self.records.is_empty()
            && self.machine_changes.is_empty()
            && self.messages.is_empty()
    }
}

/// What a handler may see and ask for.
pub struct Ctx<'a, C: Component + ?Sized> {
    /// The instant.
    pub now: SimTime,
    /// The cluster as it stands.
    pub store: &'a Store,
    /// Flags, configuration and latencies.
    pub config: &'a Config,
    /// Random streams, by concern and entity.
    pub streams: &'a Streams,
    /// Why the handler was called; calls and timers inherit it.
    pub cause: CauseId,
    timers: &'a mut dyn Timers<C::Timer>,
    outbox: &'a mut Outbox<C::Tag>,
}

impl<'a, C: Component + ?Sized> Ctx<'a, C> {
    /// Assembles a context; the simulation and tests do.
    pub fn new(
        now: SimTime,
        store: &'a Store,
        config: &'a Config,
        streams: &'a Streams,
        cause: CauseId,
        timers: &'a mut dyn Timers<C::Timer>,
        outbox: &'a mut Outbox<C::Tag>,
    ) -> Self {
        Self { now, store, config, streams, cause, timers, outbox }
    }

    /// The cluster at this instant.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<'a> {
        Snapshot { store: self.store, config: self.config, now: self.now }
    }

    /// Wakes this component at `at`.
    pub fn arm(&mut self, at: SimTime, timer: C::Timer) -> Ticket {
        self.timers.arm(at.max(self.now), timer, self.cause)
    }

    /// Wakes this component after `delay`.
    pub fn arm_in(&mut self, delay: SimDuration, timer: C::Timer) -> Ticket {
        self.timers.arm(self.now + delay, timer, self.cause)
    }

    /// Takes a timer back; false if it has fired already.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        self.timers.cancel(ticket)
    }

    /// Sends a call with the component's first client; the answer comes back with `tag`.
    pub fn call(&mut self, request: Request, tag: C::Tag) {
        self.outbox.calls.push(Call { client: 0, request, tag: Some(tag), cause: self.cause });
    }

    /// Sends a request without waiting for its answer.
    pub fn send(&mut self, request: Request) {
        self.outbox.calls.push(Call { client: 0, request, tag: None, cause: self.cause });
    }

    /// Posts an Event with the component's event client, as its `source.component`.
    pub fn event(&mut self, event: EventDraft) {
        self.outbox.events.push((C::EVENT_CLIENT, event, self.cause));
    }

    /// Writes down a fact for the user.
    pub fn record(&mut self, record: Record) {
        self.outbox.records.push((record, self.cause));
    }

    /// Passes a message to the other programs, in the same step.
    pub fn notify(&mut self, message: Message) {
        self.outbox.messages.push((message, self.cause));
    }

    /// Changes the physical world.
    pub fn change_machine(&mut self, change: MachineChange) {
        self.outbox.machine_changes.push((change, self.cause));
    }
}

/// Whether a process starts with the run or in the middle of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// It has been running long before t=0 and knows what there is: nothing new is announced.
    Initial,
    /// It starts (again) with empty memory, as after an outage or on a cold cluster.
    Fresh,
}

/// Where components run: those of one program share its informers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A process of the control plane, whose stop takes them down.
    ControlPlane(ControlPlaneProcess),
    /// cloud-controller-manager.
    CloudControllerManager,
    /// The kubelets; each node's has informers of its own.
    Kubelet,
    /// Operators' terminals.
    Kubectl,
    /// Operators' automata, and the physical world.
    Other,
}

impl Program {
    const fn process(self) -> Option<ControlPlaneProcess> {
        match self {
            Self::ControlPlane(process) => Some(process),
            Self::CloudControllerManager | Self::Kubelet | Self::Kubectl | Self::Other => None,
        }
    }
}

/// A program of the cluster.
pub trait Component {
    /// What it asks to be woken for.
    type Timer: Copy + Debug;
    /// How it recognises an answer.
    type Tag: Copy + Debug;
    /// The real component's name, as events show it.
    const NAME: &'static str;
    /// The program that it is part of.
    const PROGRAM: Program;
    /// The process whose stop takes it down.
    const PROCESS: Option<ControlPlaneProcess> = Self::PROGRAM.process();
    /// The names by which `--controllers` switches it: it runs if one of them does, and always if it has none.
    const CONTROLLERS: &'static [&'static str];
    /// Whether it types kubectl lines.
    const TYPES: bool = false;
    /// Which of its clients posts Events.
    const EVENT_CLIENT: usize = 0;
    /// What becomes of its Events on the way to the API server.
    const RECORDER: Recorder = Recorder::Record;

    /// Whether the scenario asks for anything of it; else it is not started.
    fn has_work(&self) -> bool {
        true
    }

    /// Whether changes and messages can make it do something; `is_typed` says whether others type kubectl lines in this run.
    fn reacts(&self, _is_typed: bool) -> bool {
        self.has_work()
    }

    /// Whether a timer begins something that disturbs the cluster, as opposed to ending it.
    fn disturbs(_timer: &Self::Timer) -> bool {
        false
    }

    /// Whether what follows from a timer is not to be blamed on what armed it: that a fault ends is news of its own, as is the next one.
    fn begins_anew(_timer: &Self::Timer) -> bool {
        false
    }

    /// Whether the firing of a timer is a thing that happens to an object, as the end of a container is: its words say it, what comes of it
    /// follows from that, and that from what armed the timer.
    fn happens(_timer: &Self::Timer) -> bool {
        false
    }

    /// Whether the object that a timer is about still exists. When the timer of one that is gone fires, nothing may come of it.
    fn is_live(_timer: &Self::Timer, _store: &Store) -> bool {
        true
    }

    /// What a timer is for, in words: they stand at the root of what comes of it, where nothing else led to it. Of one that
    /// [happens](Self::happens) to an object, which.
    fn words(timer: &Self::Timer, store: &Store) -> String;

    /// The machine that one of its requests leaves from; none for programs that stand beside the API server.
    fn sender(_request: &Request, _store: &Store) -> Option<NodeId> {
        None
    }

    /// Rate limits of its API clients; an empty list means one unlimited client.
    fn clients(config: &Config) -> Vec<ClientLimit>;

    /// Whether it watches the kind of object that changed.
    fn watches(changed: &Changed) -> bool;

    /// The process starts: at the beginning of the run, and again after an outage with the value made anew. It lists
    /// everything it needs from the store.
    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Self>);

    /// A watch delivers a change.
    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>);

    /// A timer fires.
    fn fired(&mut self, timer: Self::Timer, ctx: &mut Ctx<'_, Self>);

    /// A call is answered.
    fn answered(&mut self, tag: Self::Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>);

    /// The physical world changed; most components cannot know.
    fn machine_changed(&mut self, _change: &MachineChange, _ctx: &mut Ctx<'_, Self>) {}

    /// A message of another program; most components take none.
    fn notified(&mut self, _message: &Message, _ctx: &mut Ctx<'_, Self>) {}
}
