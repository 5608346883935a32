//! Everything a run consists of but the components: clock, queue, store, API server, calls in flight, watches.

use std::collections::VecDeque;
use std::sync::Arc;

use super::calls::Calls;
use super::clients::Heard;
use super::components::{AnyTag, AnyTimer, Components, Slot, Which};
use super::links::Links;
use super::refusals::{self, Refusals};
use super::settling::Settling;
use super::watches::{WatchId, Watcher, Watches};
use crate::apiserver::{ApiServer, Eviction, Served};
use crate::arena::Symbol;
use crate::arena::{Id, Table};
use crate::component::{
    Answer, ApiError, Component, Config, Ctx, ErrorReason, EventDraft, Message, Record, Recorder, Request, Timers,
};
use crate::engine::{EventQueue, Streams, Ticket};
use crate::kubelet::Kubelets;
use crate::observe::Observers;
use crate::state::{CauseId, Change, Changed, ControlPlaneProcess, MachineChange, NodeId, PodId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};
use crate::verify::Verifier;

/// Events a component keeps until they are posted; more are dropped (client-go, event broadcaster).
const EVENTS_QUEUED_MAX: usize = 1000;

/// How often an Event is sent to an API server that does not answer, and how long after each other.
const POST_TRIES: u32 = 12;
const POST_RETRY: SimDuration = SimDuration::from_secs(10);

/// Something that happens at an instant.
#[derive(Copy, Clone, Debug)]
pub(super) enum Event {
    /// A component's timer fires.
    Timer { epoch: u32, timer: AnyTimer },
    /// A call reaches the API server.
    Arrive(Id<PendingCall>),
    /// A call that takes several steps takes the next.
    Resume(Id<PendingEviction>),
    /// An answer reaches the caller.
    Answer(Id<PendingAnswer>),
    /// An Event reaches the API server.
    Post(Id<PendingPost>),
    /// An Event of the component was posted; it posts the next one.
    Posted { which: Which, epoch: u32 },
    /// The oldest undelivered changes of a watch arrive.
    Deliver(WatchId),
    /// A process that has lost its lease tries to lead.
    Elect { process: ControlPlaneProcess, number: u32 },
}

/// A queue entry: the event and what it follows from.
#[derive(Copy, Clone, Debug)]
pub(super) struct Scheduled {
    pub(super) cause: CauseId,
    pub(super) event: Event,
}

const _: () = assert!(size_of::<Scheduled>() <= 48);

/// A call on its way.
#[derive(Clone, Debug)]
pub(super) struct PendingCall {
    /// When it was asked for; since then it waits for a token of its client, or travels.
    pub(super) since: SimTime,
    pub(super) which: Which,
    pub(super) epoch: u32,
    pub(super) request: Request,
    pub(super) tag: Option<AnyTag>,
    /// The machine whose slow link it takes.
    over: Option<NodeId>,
    cause: CauseId,
    /// How many calls have been sent before.
    number: u64,
}

/// A call of several steps, between two of them.
#[derive(Clone, Debug)]
pub(super) struct PendingEviction {
    which: Which,
    epoch: u32,
    tag: Option<AnyTag>,
    rest: Box<Eviction>,
}

/// An answer on its way.
#[derive(Clone, Debug)]
pub(super) struct PendingAnswer {
    pub(super) epoch: u32,
    pub(super) tag: AnyTag,
    pub(super) answer: Answer,
}

/// An Event on its way.
#[derive(Clone, Debug)]
pub(super) struct PendingPost {
    pub(super) which: Which,
    pub(super) epoch: u32,
    pub(super) event: EventDraft,
    /// How often it has met no API server.
    pub(super) tries: u32,
    /// It had to wait for a token: until then it is in the memory of its process alone.
    pub(super) has_waited: bool,
    /// Others are not posted before it is answered.
    pub(super) is_awaited: bool,
}

/// The state of a run, without its components.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) now: SimTime,
    pub(super) cause: CauseId,
    pub(super) config: Arc<Config>,
    pub(super) streams: Streams,
    pub(super) store: Store,
    pub(super) api: ApiServer,
    pub(super) api_is_up: bool,
    pub(super) queue: EventQueue<Scheduled>,
    pub(super) calls: Table<PendingCall>,
    pub(super) evictions: Table<PendingEviction>,
    pub(super) answers: Table<PendingAnswer>,
    pub(super) posts: Table<PendingPost>,
    pub(super) watches: Watches,
    pub(super) call_times: Calls,
    pub(super) links: Links,
    pub(super) calls_sent: u64,
    /// What kubelets say again as soon as they reach the API server, in the order in which they have said it first.
    pub(super) unsaid: Vec<(NodeId, PendingCall)>,
    pub(super) machine_log: VecDeque<(MachineChange, CauseId)>,
    pub(super) messages: VecDeque<(Message, CauseId)>,
    pub(super) observers: Observers,
    pub(super) verifier: Option<Box<Verifier>>,
    /// Workloads that were refused what they want.
    pub(super) refusals: Refusals,
    /// Only while the cluster is brought up.
    pub(super) settling: Option<Box<Settling>>,
    pub(super) changed: Vec<Changed>,
    /// What happens, for somebody who listens.
    pub(super) heard: Option<Box<Heard>>,
    /// Only in a laboratory.
    #[cfg(test)]
    pub(super) seen: Option<Box<super::lab::Seen>>,
}

pub(super) fn unavailable() -> ApiError {
    ApiError::new(ErrorReason::Unavailable, "the server is currently unable to handle the request")
}

struct QueueTimers<'a, T> {
    queue: &'a mut EventQueue<Scheduled>,
    wrap: fn(T) -> AnyTimer,
    epoch: u32,
}

impl<T> Timers<T> for QueueTimers<'_, T> {
    fn arm(&mut self, at: SimTime, timer: T, cause: CauseId) -> Ticket {
        let event = Event::Timer { epoch: self.epoch, timer: (self.wrap)(timer) };
        self.queue.push(at, Scheduled { cause, event })
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.queue.cancel(ticket).is_some()
    }
}

impl Kernel {
    /// Runs one handler of a component and takes what it asks for.
    pub(super) fn handle<C: Component>(
        &mut self,
        which: Which,
        slot: &mut Slot<C>,
        wrap_timer: fn(C::Timer) -> AnyTimer,
        wrap_tag: fn(C::Tag) -> AnyTag,
        handler: impl FnOnce(&mut C, &mut Ctx<'_, C>),
    ) {
        let mut timers = QueueTimers { queue: &mut self.queue, wrap: wrap_timer, epoch: slot.epoch };
        let (now, cause) = (self.now, self.cause);
        let mut ctx = Ctx::new(now, &self.store, &self.config, &self.streams, cause, &mut timers, &mut slot.outbox);
        handler(&mut slot.component, &mut ctx);
        if slot.outbox.is_empty() {
            return;
        }
        let mut outbox = std::mem::take(&mut slot.outbox);
        for call in outbox.calls.drain(..) {
            let at = self.reserve(slot, call.client);
            let over = if self.links.are_fast() { None } else { C::sender(&call.request, &self.store) };
            let tag = call.tag.map(wrap_tag);
            let (since, epoch, cause) = (self.now, slot.epoch, call.cause);
            self.send(at, PendingCall { since, which, epoch, request: call.request, tag, over, cause, number: 0 });
        }
        // What is told before t=0 nobody reads, and nothing waits for it, as clients have no limits there.
        if self.settling.is_some() {
            outbox.events.clear();
        }
        for (client, event, cause) in outbox.events.drain(..) {
            if C::RECORDER == Recorder::Events {
                self.send_event(which, slot, client, event, cause);
            } else if let Some(event) = slot.recorder.admit(self.now, event, &self.store)
                && slot.unposted.len() < EVENTS_QUEUED_MAX
            {
                slot.unposted.push_back((client, event, cause));
            }
        }
        if !slot.is_posting {
            self.post_next(which, slot);
        }
        for (record, cause) in outbox.records.drain(..) {
            self.record(record, cause);
        }
        self.machine_log.extend(outbox.machine_changes.drain(..));
        self.messages.extend(outbox.messages.drain(..));
        slot.outbox = outbox;
    }

    /// A process tries to lead after that.
    pub(super) fn elect(&mut self, after: SimDuration, process: ControlPlaneProcess, number: u32) {
        let event = Event::Elect { process, number };
        self.queue.push_certain(self.now + after, Scheduled { cause: self.cause, event });
    }

    /// Sends a component's next Event.
    ///
    /// # Source
    /// client-go, `tools/record`: one sender, which waits for each answer; so Events take turns with the calls that wait
    /// for the same client's tokens.
    pub(super) fn post_next<C: Component>(&mut self, which: Which, slot: &mut Slot<C>) {
        let next = slot.unposted.pop_front();
        slot.is_posting = next.is_some();
        let Some((client, event, cause)) = next else { return };
        self.send_event(which, slot, client, event, cause);
    }

    /// An Event sets out as soon as its client has a token for it.
    ///
    /// # Source
    /// client-go, `tools/events`, `recordToSink`: each Event has a sender of its own.
    fn send_event<C: Component>(
        &mut self,
        which: Which,
        slot: &mut Slot<C>,
        client: usize,
        event: EventDraft,
        cause: CauseId,
    ) {
        let at = self.reserve(slot, client);
        let has_waited = at > self.now + self.call_times.request();
        let is_awaited = C::RECORDER == Recorder::Record;
        let post = PendingPost { which, epoch: slot.epoch, event, tries: 0, has_waited, is_awaited };
        let id = self.posts.insert(post);
        self.queue.push_certain(at, Scheduled { cause, event: Event::Post(id) });
    }

    fn reserve<C: Component>(&self, slot: &mut Slot<C>, client: usize) -> SimTime {
        let last = slot.clients.len() - 1;
        slot.clients[client.min(last)].reserve(self.now) + self.call_times.request()
    }

    /// A call arrives: the API server decides, commits and answers.
    pub(super) fn arrive(&mut self, id: Id<PendingCall>) {
        let Some(call) = self.calls.remove(id) else { return };
        let owner = refusals::owner_of(&call.request, call.which, &self.store);
        let evicted = if let Request::EvictPod { pod, .. } = call.request { Some(pod) } else { None };
        let late_status = match call.request {
            Request::PatchNodeStatus { node, .. } => call.over.map(|_| node),
            _ => None,
        };
        let served = if let Some(refusal) = self.settling.as_ref().and_then(|s| s.refuses(&call.request, &self.store)) {
            Served::Answered(Err(refusal))
        } else if self.api_is_up {
            self.api.serve(&mut self.store, &self.config, &self.streams, self.now, call.request, &mut self.changed)
        } else {
            Served::Answered(Err(unavailable()))
        };
        if let (Some(owner), Served::Answered(answer)) = (owner, &served) {
            self.asked(owner, answer);
        }
        self.served(served, evicted, (call.which, call.epoch), call.tag);
        if let Some(node) = late_status.filter(|_| self.api_is_up) {
            self.machine_log.push_back((MachineChange::StatusArrived(node), self.cause));
        }
    }

    /// A workload's controller asked for something new. What was not answered to the point says nothing.
    fn asked(&mut self, owner: WorkloadId, answer: &Answer) {
        let refusal = answer.as_ref().err();
        if refusal.is_none_or(refusals::is_final) {
            self.refusals.asked(owner, refusal, self.now, &self.store);
        }
        if let Some(verifier) = &mut self.verifier {
            verifier.asked_for_its_own(owner, refusal.is_some_and(refusals::is_final));
        }
    }

    /// A call of several steps takes the next.
    pub(super) fn resume(&mut self, id: Id<PendingEviction>) {
        let Some(PendingEviction { which, epoch, tag, rest }) = self.evictions.remove(id) else { return };
        let pod = rest.pod();
        let served = self.api.resume(&mut self.store, &self.config, &self.streams, self.now, rest, &mut self.changed);
        self.served(served, Some(pod), (which, epoch), tag);
    }

    /// A call sets out that arrives at `at` unless its link is slow.
    fn send(&mut self, at: SimTime, mut call: PendingCall) {
        let arrives_at = call.over.map_or(at, |node| self.links.arrival(node, at));
        if arrives_at > at
            && let Request::PatchPodStatus { patch, .. } = &mut call.request
        {
            patch.stamped_at.get_or_insert(at);
        }
        call.number = self.calls_sent;
        self.calls_sent += 1;
        let cause = call.cause;
        let id = self.calls.insert(call);
        self.queue.push_certain(arrives_at, Scheduled { cause, event: Event::Arrive(id) });
    }

    /// Takes calls back that are on their way, in the order in which they were sent.
    fn take_back(&mut self, is_meant: impl Fn(&PendingCall) -> bool) -> Vec<PendingCall> {
        let meant: Vec<Id<PendingCall>> =
            self.calls.iter().filter(|(_, call)| is_meant(call)).map(|(id, _)| id).collect();
        let mut calls: Vec<PendingCall> = meant.into_iter().filter_map(|id| self.calls.remove(id)).collect();
        calls.sort_by_key(|call| call.number);
        calls
    }

    /// A machine is off or gone: nobody says again what is lost on the way.
    pub(super) fn lose_calls_of(&mut self, node: NodeId) {
        self.links.connect_anew(Some(node));
        self.take_back(|call| call.over == Some(node));
        self.unsaid.retain(|(sender, _)| *sender != node);
    }

    /// The connection of a kubelet to the API server ends, or those of all: the kubelet's link is down, its process has ended, or the
    /// API server's has. What was on its way is said again; an answer that is waited for does not come.
    ///
    /// # Source
    /// kubelet, status manager: a status that could not be posted is posted by a later sync; a new process finds its pods as they are. The
    /// status of the node is made anew then.
    pub(super) fn break_connection(&mut self, node: Option<NodeId>) {
        self.links.connect_anew(node);
        let calls = match node {
            Some(node) => self.take_back(|call| call.over == Some(node)),
            None => self.take_back(|call| call.which == Which::Kubelets && call.tag.is_none()),
        };
        let is_made_anew = |call: &PendingCall| matches!(call.request, Request::PatchNodeStatus { .. });
        for call in calls.into_iter().filter(|call| call.tag.is_none() && !is_made_anew(call)) {
            if let Some(sender) = Kubelets::sender(&call.request, &self.store) {
                self.unsaid.push((sender, call));
            }
        }
    }

    /// Kubelets that reach the API server again say what did not get through.
    pub(super) fn say_again(&mut self) {
        if !self.api_is_up {
            return;
        }
        let at = self.now + self.call_times.request();
        for (sender, call) in std::mem::take(&mut self.unsaid) {
            if self.store.machine(sender).talks() {
                let over = (!self.links.are_fast()).then_some(sender);
                self.send(at, PendingCall { over, ..call });
            } else {
                self.unsaid.push((sender, call));
            }
        }
    }

    /// The API server stops: what it had begun is not finished.
    pub(super) fn interrupt(&mut self) {
        self.api_is_up = false;
        let interrupted: Vec<Id<PendingEviction>> = self.evictions.ids().collect();
        for id in interrupted {
            if let Some(pending) = self.evictions.remove(id) {
                self.answer(Err(unavailable()), (pending.which, pending.epoch), pending.tag);
            }
        }
    }

    /// What a step committed is published; the answer travels back, or the next step follows.
    fn served(&mut self, served: Served, evicted: Option<PodId>, caller: (Which, u32), tag: Option<AnyTag>) {
        self.publish_by(Components::name(caller.0));
        match served {
            Served::Continues(after, rest) => {
                let id = self.evictions.insert(PendingEviction { which: caller.0, epoch: caller.1, tag, rest });
                self.queue.push_certain(self.now + after, Scheduled { cause: self.cause, event: Event::Resume(id) });
            }
            Served::Answered(answer) => {
                if let Err(error) = &answer
                    && error.reason == ErrorReason::TooManyRequests
                {
                    let pod = evicted.filter(|_| error.retry_after.is_none());
                    self.observers.refused(self.now, self.cause, pod, &self.store);
                }
                self.answer(answer, caller, tag);
            }
        }
    }

    pub(super) fn answer(&mut self, answer: Answer, (which, epoch): (Which, u32), tag: Option<AnyTag>) {
        let Some(tag) = tag else { return };
        let id = self.answers.insert(PendingAnswer { epoch, tag, answer });
        let at = self.now + self.call_times.answer(which, self.now, &self.streams);
        self.queue.push_certain(at, Scheduled { cause: self.cause, event: Event::Answer(id) });
    }

    /// An Event arrives.
    ///
    /// # Source
    /// client-go, event broadcasters: while the API server does not answer the sender holds on to the Event, and to all that
    /// wait behind it, and tries again: after a random part of ten seconds, then every ten, twelve times in all. Those of `tools/events`
    /// wait for ten to twelve and a half seconds each time.
    ///
    /// # Differs
    /// What is tried again takes no token.
    pub(super) fn post(&mut self, id: Id<PendingPost>) {
        let Some(mut post) = self.posts.remove(id) else { return };
        if !self.api_is_up {
            post.tries += 1;
            if post.tries < POST_TRIES {
                let again = self.now + self.post_retry(&post);
                let id = self.posts.insert(post);
                self.queue.push_certain(again, Scheduled { cause: self.cause, event: Event::Post(id) });
                return;
            }
        }
        if post.is_awaited {
            let answered = Event::Posted { which: post.which, epoch: post.epoch };
            let at = self.now + self.call_times.answer(post.which, self.now, &self.streams);
            self.queue.push_certain(at, Scheduled { cause: self.cause, event: answered });
        }
        // An Event is an object too.
        if self.api_is_up && !self.store.is_terminating(post.event.about.namespace) {
            let component = post.event.reporter.map_or(Components::name(post.which), Symbol::as_str);
            self.record(Record::Event { component, event: post.event }, self.cause);
        }
    }

    pub(super) fn record(&mut self, record: Record, cause: CauseId) {
        if let (Some(heard), Record::Event { component, event }) = (&mut self.heard, &record) {
            heard.events.push((self.now, component, event.clone()));
        }
        self.observers.recorded(self.now, cause, &record, &self.store);
        #[cfg(test)]
        if let Some(seen) = &mut self.seen {
            seen.records.push((self.now, record));
        }
    }

    fn post_retry(&self, post: &PendingPost) -> SimDuration {
        if !post.is_awaited {
            let about = &post.event.about;
            let entity = format!("{}/{}/{}", Components::name(post.which), about.namespace, about.name);
            let part = self.streams.at("event-retry", &entity, self.now.as_nanos() as u64).unit();
            return SimDuration::from_nanos((POST_RETRY.as_nanos() as f64 * (1.0 + part / 4.0)) as u64);
        }
        if post.tries > 1 {
            return POST_RETRY;
        }
        let index = self.now.as_nanos() as u64;
        let part = self.streams.at("event-retry", Components::name(post.which), index).unit();
        SimDuration::from_nanos((POST_RETRY.as_nanos() as f64 * part) as u64)
    }

    /// Hands committed changes to the observers, and to the watches after their latency.
    pub(super) fn publish(&mut self) {
        self.publish_by("");
    }

    /// The same for changes that a call of this component brought about.
    pub(super) fn publish_by(&mut self, by: &'static str) {
        let mut changed = std::mem::take(&mut self.changed);
        for what in changed.drain(..) {
            let cause = self.observers.next_cause(self.now, self.cause, &what, &self.store);
            let change = Change { at: self.now, cause, by, what };
            self.observers.changed(&change, &self.store);
            if let Some(verifier) = &mut self.verifier {
                verifier.changed(&change, &self.store);
            }
            if let Some(settling) = &mut self.settling {
                settling.changed(&change.what, &self.store);
            }
            let interested = Components::watchers(&change.what).with(Watcher::OwnControllers);
            let change = Arc::new(change);
            if let Some(heard) = &mut self.heard {
                heard.changes.push(Arc::clone(&change));
            }
            #[cfg(test)]
            if let Some(seen) = &mut self.seen {
                seen.changes.push(Arc::clone(&change));
            }
            let queue = &mut self.queue;
            self.watches.send(&change, interested, &self.store, &self.streams, |due, watch| {
                queue.push_certain(due, Scheduled { cause: CauseId::NONE, event: Event::Deliver(watch) });
            });
        }
        // Nothing that is told changes anything at once, and the memory serves again.
        debug_assert!(self.changed.is_empty(), "a change was made while others were told");
        self.changed = changed;
    }
}
