//! What clients have done, and ways back to what was before.

use std::fmt;
use std::sync::Arc;

use serde_json::json;

use super::session::Session;
use super::time::Speed;
use super::versions::Versions;
use crate::rest::{ClientRequest, Key, Response, Status};
use crate::scenario::{ResolvedScenario, TimelineAction, lock_file};
use crate::simulation::Simulation;
use crate::units::{SimDuration, SimTime};

/// Requests that a session keeps, and their bytes.
const REQUESTS_MAX: usize = 1_000_000;
const BYTES_MAX: usize = 256 << 20;

/// Branches that are kept.
const BRANCHES_MAX: usize = 32;

/// What clients have done, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    entries: Vec<(SimTime, Arc<ClientRequest>)>,
    bytes: usize,
}

impl Log {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// When what was asked for.
    pub(super) fn entries(&self) -> &[(SimTime, Arc<ClientRequest>)] {
        &self.entries
    }

    fn is_full(&self) -> bool {
        self.entries.len() >= REQUESTS_MAX || self.bytes >= BYTES_MAX
    }

    fn push(&mut self, at: SimTime, request: Arc<ClientRequest>) {
        self.bytes += request.body.len() + request.path.len();
        self.entries.push((at, request));
    }

    /// Only what was done up to and including an instant.
    fn up_to(&self, instant: SimTime) -> Self {
        let mut kept = Self::default();
        for (at, request) in self.entries.iter().take_while(|(at, _)| *at <= instant) {
            kept.push(*at, Arc::clone(request));
        }
        kept
    }
}

/// Copies of the run as it was.
///
/// They are a bounded number: when there are too many every other one goes, and the next ones come half as often.
pub(super) struct Snapshots {
    /// When, how many requests had been made, and the run. The first is of t=0.
    kept: Vec<(SimTime, usize, Simulation)>,
    period: SimDuration,
    most: usize,
}

/// Simulated time between the first copies.
const PERIOD: SimDuration = SimDuration::from_secs(30);

/// Objects that all copies together may hold, and how many copies there are at least and at most.
const OBJECTS_MAX: usize = 1_000_000;
const COPIES: (usize, usize) = (3, 24);

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshots").field("count", &self.kept.len()).field("period", &self.period).finish()
    }
}

impl Snapshots {
    pub(super) fn new(run: &Simulation) -> Self {
        let store = run.store();
        let objects = 1 + store.pod_count() + store.nodes().count() + store.stored.len();
        let most = (OBJECTS_MAX / objects).clamp(COPIES.0, COPIES.1);
        Self { kept: vec![(SimTime::from_nanos(i64::MIN), 0, run.clone())], period: PERIOD, most }
    }

    /// The copy is taken before the next event.
    pub(super) fn take_if_due(&mut self, run: &Simulation, requests: usize) {
        let last = self.kept.last().map_or(SimTime::ZERO, |(at, ..)| (*at).max(SimTime::ZERO));
        let is_over = run.next_at().is_some_and(|next| next > run.now());
        if run.now().saturating_since(last) < self.period || !is_over {
            return;
        }
        if self.kept.len() >= self.most {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.period = self.period * 2;
        }
        self.kept.push((run.now(), requests, run.clone()));
    }

    /// The last copy of an instant or before, and how many requests had been made by then; later ones are forgotten.
    fn back_to(&mut self, instant: SimTime) -> (usize, Simulation) {
        self.kept.retain(|(at, ..)| *at <= instant);
        let (_, requests, run) = self.kept.last().expect("the first is of before everything");
        (*requests, run.clone())
    }
}

/// What was done before somebody went back.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) name: String,
    /// How far it had been played.
    pub(super) until: SimTime,
    /// To where somebody went back from it.
    pub(super) left_for: SimTime,
    pub(super) log: Log,
}

/// Objects that are deleted together are told of as they were.
fn give_versions(target: &crate::rest::Target, known: &Versions, response: &mut Response) {
    if !response.body["items"].is_array() {
        return;
    }
    for item in response.body["items"].as_array_mut().into_iter().flatten() {
        let text = |field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = Key::new(&target.resource.name(), &text("namespace"), &text("name"));
        item["metadata"]["resourceVersion"] = known.of(key).to_string().into();
    }
    response.body["metadata"]["resourceVersion"] = known.last().to_string().into();
}

impl Session {
    /// Does what a client asks for, at this instant.
    ///
    /// # Differs
    /// Versions are this session's own: what a writer says he has read is held against them here and goes no further.
    #[must_use]
    pub fn write(&mut self, request: ClientRequest) -> Response {
        match self.try_write(request) {
            Ok(response) => response,
            Err(status) => Response::from(*status),
        }
    }

    fn try_write(&mut self, request: ClientRequest) -> Result<Response, Box<Status>> {
        self.expect_up(&request.path)?;
        if self.log.is_full() {
            let text = "the record of this session is full: begin another";
            return Err(Box::new(Status::new(507, "InsufficientStorage", text)));
        }
        let now = self.run.now();
        self.play_until(now);
        let path = crate::rest::Path::parse(&request.path)?;
        let target = path.target(self.run.store())?;
        let key = Key::new(&target.resource.name(), &target.namespace, &target.name);
        let request = self.without_version(request, &target, key)?;
        if let Some(written) = self.write_event(&request, &path, &target) {
            return written;
        }
        if request.is_dry_run() {
            let mut response = self.run.request(&request);
            self.give_version(&target, &mut response);
            return Ok(response);
        }
        let request = Arc::new(request);
        let is_of_many = target.name.is_empty() && request.method == crate::rest::Method::Delete;
        let known = if is_of_many { self.versions.clone() } else { Versions::new() };
        self.log.push(now, Arc::clone(&request));
        let mut response = self.run.request(&request);
        self.tell();
        let name = match response.body["metadata"]["name"].as_str() {
            Some(name) if target.name.is_empty() => name,
            _ => target.name.as_str(),
        };
        if response.is_success() && !name.is_empty() {
            self.show_if_other(Key::new(&target.resource.name(), &target.namespace, name));
        }
        if is_of_many {
            self.drop_chosen_events(&path, &target, &mut response)?;
            give_versions(&target, &known, &mut response);
            self.look_again(&target.resource.name());
        }
        self.over();
        self.give_version(&target, &mut response);
        Ok(response)
    }

    /// What no change tells of: the objects that only clients have to do with.
    fn show_if_other(&mut self, key: Key) {
        if self.audiences.iter().any(|audience| key.resource == audience.resource.name().as_str()) {
            self.show(key);
        }
    }

    fn give_version(&self, target: &crate::rest::Target, response: &mut Response) {
        let kind = response.body["kind"].as_str().unwrap_or_default();
        if kind == "Status" || kind.ends_with("List") || !response.body["metadata"].is_object() {
            return;
        }
        let name = response.body["metadata"]["name"].as_str().unwrap_or_default();
        let key = Key::new(&target.resource.name(), &target.namespace, name);
        response.body["metadata"]["resourceVersion"] = self.versions.of(key).to_string().into();
    }

    /// The request without the version that its writer has read, which is held against the object's.
    fn without_version(
        &self,
        mut request: ClientRequest,
        target: &crate::rest::Target,
        key: Key,
    ) -> Result<ClientRequest, Box<Status>> {
        if request.method == crate::rest::Method::Post && target.name.is_empty() {
            // What is created has none, or is refused.
            return Ok(request);
        }
        let mut body = request.value()?;
        let (mut read, mut tested): (Option<String>, Option<String>) = (None, None);
        let mut has_changed = false;
        let mut take = |value: Option<serde_json::Value>| {
            has_changed |= value.is_some();
            read = value.and_then(|version| version.as_str().map(str::to_owned)).or(read.take());
        };
        if let Some(metadata) = body.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
            take(metadata.remove("resourceVersion"));
        }
        for options in ["/preconditions", "/deleteOptions/preconditions"] {
            if let Some(conditions) = body.pointer_mut(options).and_then(serde_json::Value::as_object_mut) {
                take(conditions.remove("resourceVersion"));
            }
        }
        if let Some(operations) = body.as_array_mut() {
            operations.retain_mut(|operation| {
                let is_it = operation["path"] == "/metadata/resourceVersion";
                if is_it && operation["op"] == "test" {
                    // One that fails is told of as any other.
                    tested = Some(operation["value"].as_str().unwrap_or_default().to_owned());
                    take(Some(serde_json::Value::Null));
                } else if is_it {
                    take(operation.get("value").cloned());
                }
                !is_it
            });
        }
        if has_changed {
            request.body = body.to_string();
            if request.content_type.contains("yaml") {
                // JSON is YAML, too.
                request.body.insert(0, ' ');
            }
        }
        let read = read.filter(|read| !read.is_empty() && read != "0" && !target.name.is_empty());
        if self.look(&target.resource, key).is_none() {
            // It is not there, whatever its writer has read.
            return Ok(request);
        }
        let version = self.versions.of(key).to_string();
        if read.is_none() && request.method == crate::rest::Method::Put && target.resource.needs_version() {
            let text = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
            return Err(Box::new(Status::invalid(&target.resource.name(), &target.name, text)));
        }
        if tested.is_some_and(|tested| tested != version) {
            return Err(Box::new(Status::failed_patch()));
        }
        match read {
            Some(read) if read != version => Err(Box::new(Status::modified(&target.resource.name(), &target.name))),
            _ => Ok(request),
        }
    }

    /// Goes to another instant: forward by playing, back by playing again from the last copy before.
    pub fn jump(&mut self, instant: SimTime) {
        let instant = instant.clamp(SimTime::ZERO, self.end());
        if instant >= self.run.now() {
            self.play_until(instant);
        } else {
            let left = self.leave(instant);
            self.branches.push_back(left);
            while self.branches.len() > BRANCHES_MAX {
                self.branches.pop_front();
            }
            let log = self.log.up_to(instant);
            self.play_again(log, instant, instant);
        }
        self.pace.rebase(self.run.now());
    }

    fn leave(&self, left_for: SimTime) -> Branch {
        let number = self.branches.back().and_then(|branch| branch.name.strip_prefix("branch-")?.parse::<u64>().ok());
        let name = format!("branch-{}", number.unwrap_or(0) + 1);
        Branch { name, until: self.run.now(), left_for, log: self.log.clone() }
    }

    /// Goes on where somebody went back from; what is left becomes a branch itself.
    ///
    /// # Errors
    /// 404, if there is no such branch.
    pub fn take_up(&mut self, name: &str) -> Result<(), Status> {
        let place = self.branches.iter().position(|branch| branch.name == name);
        let missing = || Status::new(404, "NotFound", format!("there is no branch {name:?}"));
        let wanted = self.branches.get(place.ok_or_else(missing)?).cloned().ok_or_else(missing)?;
        let left = self.leave(wanted.left_for);
        self.branches.retain(|branch| branch.name != name);
        self.branches.push_back(left);
        // Of which copies the two have in common is not known: one of them may have gone back further.
        self.snapshots.kept.truncate(1);
        let common = self.snapshots.kept[0].0;
        self.play_again(wanted.log, wanted.until, common);
        self.pace = super::time::Pace::new(Speed::Paused, self.run.now());
        Ok(())
    }

    /// Plays what is in a log up to an instant, from the last copy before. All that was shown is of another time; the Events up to
    /// `common` are of both.
    fn play_again(&mut self, log: Log, instant: SimTime, common: SimTime) {
        let (made, run) = self.snapshots.back_to(instant);
        self.run = run;
        self.events.forget_after(common, self.clock());
        self.fault_names.clear();
        let _ = self.run.heard();
        for (at, request) in log.entries.iter().skip(made) {
            self.run.run_until(*at);
            let _ = self.run.request(request);
            self.post_after(common);
        }
        self.run.run_until(instant);
        self.post_after(common);
        self.log = log;
        self.learn_faults();
        self.versions.begin_anew();
        let text = "time went back: what was read before means nothing now; list anew";
        let status = Status { code: 410, ..Status::expired(text) }.to_value();
        for mut audience in std::mem::take(&mut self.audiences) {
            audience.dismiss(&status);
        }
        self.pages.forget();
        self.learn_names();
        self.follow_api_server();
    }

    fn post_after(&mut self, common: SimTime) {
        let events = self.run.heard().events;
        self.post(events.into_iter().filter(|(at, ..)| *at > common).collect());
    }

    /// Branches, and how far each was played.
    #[must_use]
    pub fn branches(&self) -> serde_json::Value {
        let branch = |branch: &Branch| {
            json!({
                "name": branch.name, "until": branch.until.saturating_since(SimTime::ZERO).to_string(),
                "leftFor": branch.left_for.saturating_since(SimTime::ZERO).to_string(), "requests": branch.log.len(),
            })
        };
        self.branches.iter().map(branch).collect()
    }

    /// The scenario that plays the same again: everything that clients did stands in its timeline.
    ///
    /// It ends where the session stands.
    #[must_use]
    pub fn record(&self) -> String {
        let mut scenario = self.with_requests();
        let played = self.run.now().saturating_since(SimTime::ZERO);
        if !played.is_zero() {
            // What was to come stays in the timeline: it has its place among the events, though it is not played.
            scenario.duration = played.min(scenario.duration);
        }
        lock_file(&scenario)
    }

    /// The scenario that plays the same again and goes on to its end, as it does if nobody does anything more.
    pub(super) fn outlook(&self) -> String {
        lock_file(&self.with_requests())
    }

    /// The scenario with everything that clients did in its timeline.
    fn with_requests(&self) -> ResolvedScenario {
        let mut scenario = ResolvedScenario::clone(&self.scenario);
        let mut requests = Vec::clone(&scenario.requests);
        for (at, request) in &self.log.entries {
            scenario.timeline.push((*at, TimelineAction::Request(requests.len())));
            requests.push(ClientRequest::clone(request));
        }
        scenario.requests = Arc::new(requests);
        scenario
    }
}
