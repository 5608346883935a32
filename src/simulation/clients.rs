//! Requests of clients, and what those hear who listen.
//!
//! A request takes place after all else of its instant, whether it was typed into a live run or stands in the scenario: one code plays both,
//! and what has happened once happens again.

use std::sync::Arc;

use super::Simulation;
use super::components::AnyTimer;
use crate::arena::Symbol;
use crate::chaos::{self, FaultSpec};
use crate::component::{
    Answer, ErrorReason, EventDraft, InvolvedKind, Load, ObjectRef, Record, Request, SCENARIO, Transcript, reason,
};
use crate::rest::{self, ClientRequest, Cluster, FaultStanding, FaultState, Kept, Response};
use crate::scenario::TimelineAction;
use crate::state::{Change, Store};
use crate::units::SimTime;

/// Through whom clients write.
pub(super) const CLIENT: &str = "kubectl";

/// The code of what is to be asked again later.
const TOO_MANY: u16 = 429;

/// What has happened since somebody asked last.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Committed changes, in their order.
    pub changes: Vec<Arc<Change>>,
    /// Events that were posted: when, by whom, and what they say.
    pub events: Vec<(SimTime, &'static str, EventDraft)>,
}

impl Simulation {
    /// Begins to keep what happens, for [`Simulation::heard`].
    pub fn listen(&mut self) {
        self.kernel.heard.get_or_insert_default();
    }

    /// What has happened since it was asked last; nothing unless somebody listens.
    pub fn heard(&mut self) -> Heard {
        self.kernel.heard.as_deref_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What is kept for clients alone.
    #[must_use]
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Whether a fault that clients have applied goes on.
    #[must_use]
    pub fn fault_standing(&self, place: usize) -> FaultStanding {
        let chaos = &self.components.chaos.component;
        let outcome = chaos.outcome(place).cloned();
        let state = match &outcome {
            _ if chaos.is_going_on(place) => FaultState::Active,
            Some(outcome) if outcome.targets.is_empty() => FaultState::Missed,
            _ => FaultState::Ended,
        };
        FaultStanding { state, outcome }
    }

    /// The loads that the scenario puts on workloads.
    #[must_use]
    pub fn loads(&self) -> Arc<[Load]> {
        self.inputs.procedures.loads()
    }

    /// What the run calls a fault.
    #[must_use]
    pub fn fault_name(&self, place: usize) -> String {
        self.components.chaos.component.fault_name(place)
    }

    /// Whether the API server answers.
    #[must_use]
    pub fn api_is_up(&self) -> bool {
        self.kernel.api_is_up
    }

    /// What t=0 is called, in nanoseconds since 1970.
    #[must_use]
    pub fn epoch_unix_nanos(&self) -> i64 {
        self.inputs.epoch_unix_nanos
    }

    /// Requests of the scenario, in the order in which they take place.
    pub(super) fn await_requests(&mut self) {
        let requests = self.inputs.timeline.iter().filter_map(|(at, action)| match action {
            TimelineAction::Request(index) => Some((*at, *index)),
            _ => None,
        });
        let mut requests: Vec<(SimTime, usize)> = requests.collect();
        requests.sort_by_key(|(at, _)| *at);
        self.requests = requests.into();
    }

    /// The request of the scenario that comes before every event that is left.
    pub(super) fn take_request(&mut self) -> Option<ClientRequest> {
        let (at, index) = *self.requests.front()?;
        let own = self.own_controllers.as_ref().and_then(|own| own.next_at());
        if self.kernel.queue.peek_time().is_some_and(|event| event <= at) || own.is_some_and(|own| own < at) {
            return None;
        }
        self.requests.pop_front();
        self.kernel.now = self.kernel.now.max(at);
        self.inputs.requests.get(index).cloned()
    }

    /// Does what a client asks for, now. All else of this instant has to be over: [`Simulation::run_until`] has been called for it.
    ///
    /// A dry run happens on a copy of all this.
    pub fn request(&mut self, request: &ClientRequest) -> Response {
        if self.is_calm {
            return Response::ok(serde_json::Value::Null);
        }
        if request.is_dry_run() {
            return self.clone().answer(request);
        }
        let now = self.kernel.now;
        self.kernel.cause = self.kernel.observers.root_cause(now, SCENARIO, || request.to_string());
        self.answer(request)
    }

    /// Plays a request whose cause is known.
    pub(super) fn answer(&mut self, request: &ClientRequest) -> Response {
        self.events += 1;
        self.fold_request(self.kernel.now);
        let response = rest::handle(request, self);
        self.settle_machines();
        if self.kernel.verifier.is_some() {
            self.verify_request();
        }
        response
    }

    /// A request of the scenario that is refused is told of as a line that fails. One that is to be asked again later (429) is a refusal as any
    /// other.
    pub(super) fn tell_refusal(&mut self, request: &ClientRequest, response: &Response) {
        if response.is_success() || response.code == TOO_MANY {
            return;
        }
        let text = |field: &str| response.body[field].as_str().unwrap_or_default();
        let said = match text("reason") {
            "" => format!("Error from server: {}", text("message")),
            reason => format!("Error from server ({reason}): {}", text("message")),
        };
        let what: Arc<str> = format!("{} {}", request.method.as_str(), rest::without_query(&request.path)).into();
        let (now, cause) = (self.kernel.now, self.kernel.cause);
        let about = ObjectRef::named(InvolvedKind::Request, Symbol::empty(), Arc::clone(&what));
        let event = EventDraft::warning(reason::REQUEST_REFUSED, about, said.clone());
        self.kernel.record(Record::Event { component: SCENARIO, event }, cause);
        let transcript = Transcript {
            at: now,
            // Requests come after all else of their instant.
            order: u64::MAX,
            done_at: Some(now),
            command: what,
            exit: Some(1),
            stdout: Vec::new(),
            stderr: vec![said],
        };
        self.kernel.record(Record::Transcript(transcript), cause);
    }

    fn fold_request(&mut self, at: SimTime) {
        for word in [at.as_nanos() as u64, self.kept.requests(), 7] {
            self.fold_word(word);
        }
    }
}

impl Cluster for Simulation {
    fn store(&self) -> &Store {
        &self.kernel.store
    }

    fn now(&self) -> SimTime {
        self.kernel.now
    }

    fn epoch_unix_nanos(&self) -> i64 {
        self.inputs.epoch_unix_nanos
    }

    fn ask(&mut self, request: Request) -> Answer {
        let kernel = &mut self.kernel;
        if !kernel.api_is_up {
            return Err(super::kernel::unavailable());
        }
        let evicted = if let Request::EvictPod { pod, .. } = request { Some(pod) } else { None };
        let answer = kernel.api.handle(
            &mut kernel.store,
            &kernel.config,
            &kernel.streams,
            kernel.now,
            request,
            &mut kernel.changed,
        );
        kernel.publish_by(self.client);
        if let Err(error) = &answer
            && error.reason == ErrorReason::TooManyRequests
        {
            let pod = evicted.filter(|_| error.retry_after.is_none());
            kernel.observers.refused(kernel.now, kernel.cause, pod, &kernel.store);
        }
        answer
    }

    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn kept_mut(&mut self) -> &mut Kept {
        &mut self.kept
    }

    fn begin_fault(&mut self, fault: FaultSpec) -> usize {
        let place = self.components.chaos.component.add(self.kernel.now, fault);
        self.components.fired(AnyTimer::Chaos(chaos::Timer::Fault(place)), &mut self.kernel);
        self.settle_machines();
        place
    }

    fn end_fault(&mut self, place: usize) {
        self.components.fired(AnyTimer::Chaos(chaos::Timer::FaultEnds(place)), &mut self.kernel);
        self.settle_machines();
    }

    fn fault_standing(&self, place: usize) -> FaultStanding {
        Simulation::fault_standing(self, place)
    }
}
