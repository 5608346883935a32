//! The run that clients talk to, what they have done to it, and what they have been shown.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::audience::{Audience, hash_of};
use super::events::{self, Events, Posted};
use super::past::{Branch, Log, Snapshots};
use super::table;
use super::time::{Pace, Speed};
use super::versions::Versions;
use crate::arena::Symbol;
use crate::component::{EventDraft, InvolvedKind, ObjectRef};
use crate::kubectl::objects::{Clock, Found, all, cells_of, find_one, mark};
use crate::observe::{Detail, Observers};
use crate::rest::{Key, Names, Resource, in_group, of_core, rendered, rendered_fault};
use crate::scenario::ResolvedScenario;
use crate::simulation::{Prepared, Simulation};
use crate::state::{Change, Changed, NodeId, Stored, Uid};
use crate::units::{SimDuration, SimTime};

type StoredObjects = Arc<std::collections::BTreeMap<(Symbol, Symbol, Symbol), Stored>>;

/// Leases, and where those of nodes are.
pub(super) const LEASES: &str = "leases.coordination.k8s.io";
const NODE_LEASES: &str = "kube-node-lease";

/// A time stamp as fields want it that have fractions of seconds.
fn micro_stamp(stamp: &Value) -> Option<String> {
    Some(format!("{}.000000Z", stamp.as_str()?.trim_end_matches('Z')))
}

/// How a session stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The instant.
    pub now: SimTime,
    /// Where it ends.
    pub end: SimTime,
    /// How fast it goes.
    pub speed: Speed,
    /// When the next event is due.
    pub next: Option<SimTime>,
    /// Events played.
    pub events: u64,
    /// Digest over them.
    pub digest: u64,
    /// Requests that clients have made and that count.
    pub requests: usize,
    /// Who watches.
    pub watches: usize,
    /// What was found not to hold, if the run checks itself.
    pub violation: Option<String>,
}

/// A run under way, and everything that is kept for clients.
#[derive(Debug)]
pub struct Session {
    pub(super) scenario: Arc<ResolvedScenario>,
    pub(super) run: Simulation,
    pub(super) pace: Pace,
    pub(super) log: Log,
    pub(super) snapshots: Snapshots,
    pub(super) branches: VecDeque<Branch>,
    pub(super) versions: Versions,
    pub(super) audiences: Vec<Audience>,
    pub(super) events: Events,
    pub(super) pages: super::lists::Pages,
    names: Names,
    /// Whether the API server answered when that was looked at last.
    is_up: bool,
    /// Names and uids of clients' faults, by what the run calls them.
    pub(super) fault_names: FxHashMap<Arc<str>, (Arc<str>, Uid)>,
    stored: StoredObjects,
}

impl Session {
    /// The scenario's cluster at t=0, where time stands still.
    #[must_use]
    pub fn new(scenario: Arc<ResolvedScenario>) -> Self {
        Self::begin(scenario, |_| {})
    }

    /// The same, checking itself after every event.
    #[must_use]
    pub fn verified(scenario: Arc<ResolvedScenario>) -> Self {
        Self::begin(scenario, Simulation::verify)
    }

    fn begin(scenario: Arc<ResolvedScenario>, prepare: fn(&mut Simulation)) -> Self {
        let prepared = Prepared::new(&scenario);
        let observers = Observers::new(Detail::Files, scenario.objectives.clone(), SimDuration::ZERO);
        let mut run = prepared.start(scenario.seed, observers);
        prepare(&mut run);
        run.listen();
        let snapshots = Snapshots::new(&run);
        let stored = Arc::clone(&run.store().stored);
        let mut session = Self {
            scenario,
            pace: Pace::new(Speed::Paused, run.now()),
            run,
            log: Log::default(),
            snapshots,
            branches: VecDeque::new(),
            versions: Versions::new(),
            audiences: Vec::new(),
            events: Events::default(),
            pages: super::lists::Pages::default(),
            names: Names::default(),
            is_up: true,
            fault_names: FxHashMap::default(),
            stored,
        };
        session.learn_names();
        session.play_until(SimTime::ZERO);
        session
    }

    /// How it stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing {
            now: self.run.now(),
            end: self.end(),
            speed: self.pace.speed,
            next: self.run.next_at().filter(|at| *at <= self.end()),
            events: self.run.events(),
            digest: self.run.digest(),
            requests: self.log.len(),
            watches: self.audiences.iter().map(|audience| audience.watchers.len()).sum(),
            violation: self.run.violation().map(|violation| format!("{violation:?}")),
        }
    }

    /// Where the run ends.
    pub(super) fn end(&self) -> SimTime {
        SimTime::ZERO + self.scenario.duration
    }

    pub(super) fn clock(&self) -> Clock {
        Clock(self.run.epoch_unix_nanos())
    }

    /// Plays everything up to and including an instant; of what is behind the end, nothing.
    pub(super) fn play_until(&mut self, instant: SimTime) {
        let instant = instant.min(self.end());
        while self.run.violation().is_none() && self.run.next_at().is_some_and(|at| at <= instant) {
            self.step();
        }
        self.run.run_until(instant);
        self.over();
    }

    /// Plays one event and tells who watches.
    pub(super) fn step(&mut self) {
        self.snapshots.take_if_due(&self.run, self.log.len());
        self.run.step();
        self.tell();
    }

    /// Tells who watches what has just happened.
    pub(super) fn tell(&mut self) {
        let heard = self.run.heard();
        for posted in self.post(heard.events) {
            let key = Key::new("events", posted.namespace.as_str(), posted.name.as_str());
            self.show_event(key, Some(&posted.object));
        }
        let mut dirty: Vec<Key> = Vec::new();
        for change in &heard.changes {
            self.touched(change, &mut dirty);
        }
        if !Arc::ptr_eq(&self.stored, &self.run.store().stored) {
            self.stored_changed(&mut dirty);
        }
        dirty.dedup();
        for key in dirty {
            self.show(key);
            let is_namespace = key.resource == "namespaces";
            if is_namespace && self.run.store().namespace(key.name).is_none() {
                self.drop_events_of(key.name);
            }
        }
        self.follow_api_server();
    }

    /// Keeps Events that the run has posted.
    pub(super) fn post(&mut self, events: Vec<(SimTime, &'static str, EventDraft)>) -> Vec<Posted> {
        if events.iter().any(|(_, _, event)| event.about.kind == InvolvedKind::Fault) {
            self.learn_faults();
        }
        let clock = self.clock();
        let post = |(at, component, mut event): (SimTime, &'static str, EventDraft)| {
            if let Some((name, uid)) = self.fault_names.get(&event.about.name) {
                // The run's own word for it is not what its client has called it.
                event.about =
                    ObjectRef { uid: *uid, ..ObjectRef::named(InvolvedKind::Fault, Symbol::empty(), Arc::clone(name)) };
            }
            self.events.post(at, component, &event, self.run.store(), clock)
        };
        events.into_iter().map(post).collect()
    }

    /// Watches end with the API server's process, and its next one knows nothing of what happened before it.
    ///
    /// # Source
    /// apiserver, `cacher`: the cache of a new process begins with a list; a version from before is too old.
    pub(super) fn follow_api_server(&mut self) {
        let was_up = std::mem::replace(&mut self.is_up, self.run.api_is_up());
        if was_up == self.is_up {
            return;
        }
        let last = self.versions.last();
        for audience in self.audiences.iter_mut().filter(|audience| !audience.resource.is_fault()) {
            if was_up { audience.watchers.clear() } else { audience.begin_anew(last) }
        }
    }

    /// What clients have called the faults that are theirs, so that Events can name them; also after those are deleted.
    pub(super) fn learn_faults(&mut self) {
        for (name, fault) in &self.run.kept().faults {
            let known = (Arc::from(name.as_str()), fault.uid(name));
            self.fault_names.insert(Arc::from(self.run.fault_name(fault.place)), known);
        }
    }

    /// What no change tells of, once a stretch of time has been played.
    pub(super) fn over(&mut self) {
        let now = self.run.now();
        for gone in self.events.expired(now) {
            self.show_event(Key::new("events", gone.namespace.as_str(), gone.name.as_str()), None);
        }
        for resource in ["horizontalpodautoscalers.autoscaling", "resourcequotas", "faults.kubesquall.sim"] {
            self.look_again(resource);
        }
    }

    /// Looks at all objects of a resource for whatever is other than it was shown.
    pub(super) fn look_again(&mut self, resource: &str) {
        let known = self.audiences.iter().filter(|audience| audience.resource.name() == resource);
        let known: Vec<(Symbol, Symbol)> = known.flat_map(|audience| audience.objects.keys().copied()).collect();
        let Some(audience) = self.audiences.iter().find(|audience| audience.resource.name() == resource) else {
            return;
        };
        let mut all = self.keys_of(&audience.resource.clone());
        let name = Symbol::new(resource);
        all.extend(known.into_iter().map(|(namespace, key)| Key { resource: name, namespace, name: key }));
        all.sort_unstable();
        all.dedup();
        all.into_iter().for_each(|key| self.show(key));
    }

    /// All objects of a resource.
    pub(super) fn keys_of(&self, resource: &Resource) -> Vec<Key> {
        let name = resource.name();
        if resource.is_fault() {
            return self.run.kept().faults.keys().map(|fault| Key::new(&name, "", fault)).collect();
        }
        let store = self.run.store();
        let found = all(resource.kind, None, store);
        let mut keys: Vec<Key> =
            found.iter().map(|of| Key::new(&name, of.namespace(store).as_str(), &of.name(store))).collect();
        if name == LEASES {
            let nodes = store.nodes().map(|(id, _)| Key::new(&name, NODE_LEASES, store.node_name(id).as_str()));
            keys.extend(nodes);
        }
        if name == "events" {
            keys.extend(self.events.iter().map(|of| Key::new(&name, of.namespace.as_str(), of.name.as_str())));
        }
        keys
    }

    /// An object as it is, without its version, and its cells.
    pub(super) fn look(&self, resource: &Resource, key: Key) -> Option<(Value, Arc<[String]>)> {
        let (store, clock, now) = (self.run.store(), self.clock(), self.run.now());
        if resource.is_fault() {
            let fault = self.run.kept().faults.get(key.name.as_str())?;
            let object = rendered_fault(key.name.as_str(), fault, &self.run.fault_standing(fault.place), clock);
            let cells = table::fault_cells(&object, now.saturating_since(fault.began_at));
            return Some((object, cells.into()));
        }
        if resource.name() == "events"
            && let Some(posted) = self.events.find(key.namespace, key.name)
        {
            let cells = events::cells(posted, now, clock);
            return Some((in_group((**posted).clone(), resource), cells.into()));
        }
        let Some(found) = find_one(resource.kind, key.namespace, key.name.as_str(), store) else {
            return self.lease(resource, key);
        };
        let mut object = rendered(&found, resource, store, self.run.kept(), clock)?;
        let cells = self.cells(resource, &found, &object);
        if let Found::Node(id) = found {
            self.stamp_heartbeats(id, &mut object);
        }
        Some((object, cells.into()))
    }

    /// When the kubelet has posted the status last, be it unchanged: no event of the run.
    ///
    /// # Source
    /// kubelet, `setNodeStatus`: the conditions that are the kubelet's bear the time of the post. One that the node lifecycle controller
    /// sets keeps the time of the last.
    fn stamp_heartbeats(&self, id: NodeId, object: &mut Value) {
        let (store, clock) = (self.run.store(), self.clock());
        let Some(node) = store.node(id) else { return };
        let posted = store.heartbeat(id).posted_at(self.run.now()).unwrap_or(node.created_at);
        let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut).into_iter().flatten();
        for condition in conditions {
            let is_of_cloud = condition["type"] == "NetworkUnavailable";
            let since = condition["lastTransitionTime"].clone();
            condition["lastHeartbeatTime"] = if is_of_cloud { since } else { clock.stamp(posted) };
        }
    }

    /// The lease of a node, which its kubelet renews: no object of the store, as renewals are no events of the run.
    fn lease(&self, resource: &Resource, key: Key) -> Option<(Value, Arc<[String]>)> {
        let store = self.run.store();
        let id = store.find_node(key.name).filter(|_| resource.name() == LEASES && key.namespace == NODE_LEASES)?;
        let (node, clock, now) = (store.node(id)?, self.clock(), self.run.now());
        let renewed = store.heartbeat(id).renewed_at(now).or(store.heartbeat(id).renewed_in_earlier_runs());
        let renewed = renewed.map(|at| micro_stamp(&clock.stamp(at)));
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {
                "name": key.name, "namespace": key.namespace, "creationTimestamp": clock.stamp(node.created_at),
                "uid": crate::state::Uid::from_text(&format!("lease/{}", node.uid)).to_string(),
                "ownerReferences": [{
                    "apiVersion": "v1", "kind": "Node", "name": key.name, "uid": node.uid.to_string(),
                }],
            },
            "spec": {
                "holderIdentity": key.name, "renewTime": renewed,
                "leaseDurationSeconds": self.scenario.config.kubelet.node_lease_duration.as_secs(),
            },
        });
        let age = crate::kubectl::objects::human(now.saturating_since(node.created_at));
        Some((object, Arc::from([key.name.to_string(), key.name.to_string(), age])))
    }

    fn cells(&self, resource: &Resource, found: &Found, object: &Value) -> Vec<String> {
        let (store, clock, now) = (self.run.store(), self.clock(), self.run.now());
        if resource.name() == "events" {
            let object = if resource.group.is_empty() { object.clone() } else { of_core(object.clone()) };
            return events::cells(&object, now, clock);
        }
        let age = |text: &str| Some(now.saturating_since(clock.instant(text)?));
        if !resource.printer_columns.is_empty() {
            return table::own_cells(resource, object, &age);
        }
        let name = found.name(store) + mark(resource.kind, object);
        let cells = cells_of(found, object, store, (now, clock)).unwrap_or_default();
        [name].into_iter().chain(cells).collect()
    }

    /// An object may be other than it was: gives it a new version and tells who watches.
    pub(super) fn show(&mut self, key: Key) {
        let is_it = |audience: &Audience| key.resource == audience.resource.name().as_str();
        let places: Vec<usize> = (0..self.audiences.len()).filter(|place| is_it(&self.audiences[*place])).collect();
        if places.is_empty() {
            // Nobody has asked; it has changed all the same, or is gone.
            match self.is_there(key) {
                true => self.versions.raise(key),
                false => self.versions.drop(key),
            };
            return;
        }
        let mut version = None;
        for place in places {
            let resource = self.audiences[place].resource.clone();
            let found = self.look(&resource, key);
            let audience = &mut self.audiences[place];
            let Some(hash) = audience.other(key.namespace, key.name, found.as_ref().map(|(object, _)| object)) else {
                continue;
            };
            let is_there = found.is_some();
            let versions = &mut self.versions;
            let version = *version.get_or_insert_with(|| match is_there {
                true => versions.raise(key),
                false => versions.drop(key),
            });
            let (object, cells) = match found {
                Some((object, cells)) => (Some(object), cells),
                None => (None, Arc::from([])),
            };
            audience.tell(key.namespace, key.name, (object, hash), version, cells);
        }
    }

    /// Whether there is an object of the store, as far as is easily told.
    fn is_there(&self, key: Key) -> bool {
        let store = self.run.store();
        match key.resource.as_str() {
            "pods" => store.find_pod(key.namespace, &Arc::from(key.name.as_str())).is_some(),
            "nodes" => store.find_node(key.name).is_some_and(|node| store.node(node).is_some()),
            _ => true,
        }
    }

    pub(super) fn show_event(&mut self, key: Key, object: Option<&Arc<Value>>) {
        let version = if object.is_some() { self.versions.raise(key) } else { self.versions.drop(key) };
        let (now, clock) = (self.run.now(), self.clock());
        for audience in self.audiences.iter_mut().filter(|audience| audience.resource.name() == "events") {
            let cells: Arc<[String]> = object.map_or_else(|| Arc::from([]), |of| events::cells(of, now, clock).into());
            let object = object.map(|of| in_group((**of).clone(), &audience.resource));
            // Each that is posted is other than before.
            let hash = object.as_ref().map(hash_of).unwrap_or_default();
            audience.tell(key.namespace, key.name, (object, hash), version, cells);
        }
    }

    /// From now on it is known what happens to the objects of a resource.
    pub(super) fn attend(&mut self, resource: &Resource) -> usize {
        let is_it = |audience: &Audience| {
            audience.resource.name() == resource.name() && audience.resource.api_version() == resource.api_version()
        };
        if let Some(place) = self.audiences.iter().position(is_it) {
            self.follow_definition(place, resource);
            return place;
        }
        let mut audience = Audience::new(resource.clone(), self.versions.last());
        for key in self.keys_of(resource) {
            if let Some((object, cells)) = self.look(resource, key) {
                audience.know(key.namespace, key.name, object, self.versions.of(key), cells);
            }
        }
        self.audiences.push(audience);
        self.audiences.len() - 1
    }

    /// What a definition says may be other than it was, even where its objects live: rows are made anew.
    fn follow_definition(&mut self, place: usize, resource: &Resource) {
        if self.audiences[place].resource == *resource {
            return;
        }
        self.audiences[place].define(resource.clone(), self.versions.last());
        for key in self.keys_of(resource) {
            if let Some((object, cells)) = self.look(resource, key) {
                let version = self.versions.of(key);
                self.audiences[place].know(key.namespace, key.name, object, version, cells);
            }
        }
    }

    /// All objects that are there have names.
    pub(super) fn learn_names(&mut self) {
        self.names = Names::of(self.run.store());
        self.stored = Arc::clone(&self.run.store().stored);
    }

    /// The object that a change is about; one that the API does not show has none.
    fn touched(&mut self, change: &Change, dirty: &mut Vec<Key>) {
        dirty.extend(self.names.touched(&change.what, self.run.store()));
        if let Changed::StorageChanged = change.what {
            for resource in ["storageclasses", "csidrivers", "csinodes"] {
                self.look_again(&format!("{resource}.storage.k8s.io"));
            }
        }
    }

    /// Objects that decide nothing are compared with what they were.
    fn stored_changed(&mut self, dirty: &mut Vec<Key>) {
        let now = Arc::clone(&self.run.store().stored);
        let before = std::mem::replace(&mut self.stored, Arc::clone(&now));
        let key = |(_, namespace, name): &(Symbol, Symbol, Symbol), stored: &Stored| {
            Key::new(stored.kind.resource().as_str(), namespace.as_str(), name.as_str())
        };
        for (place, stored) in now.iter() {
            let is_same = before
                .get(place)
                .is_some_and(|old| old.meta.version == stored.meta.version && old.meta.uid == stored.meta.uid);
            if !is_same {
                dirty.push(key(place, stored));
            }
        }
        for (place, stored) in before.iter().filter(|(place, _)| !now.contains_key(*place)) {
            dirty.push(key(place, stored));
        }
    }
}
