//! Controllers that whoever embeds the simulator brings along.
//!
//! They hear of a change when their watch delivers it, and what they ask for arrives half a round trip later, after all else of that
//! instant, as a request of any client does. They begin at t=0, where they hear of every object that they watch.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::Simulation;
use super::inputs::Inputs;
use crate::component::{Config, PluginFailure};
use crate::rest::{ChangeKind, ClientRequest, ClusterReader, ControllerPlugin, Key, Names, ObjectChange, Resource};
use crate::state::{CauseId, Change};
use crate::units::{SimDuration, SimTime};

/// The least time that a request is on its way: whoever answers each refusal with the same request gets on with time.
const WAY_MIN: SimDuration = SimDuration::from_millis(1);

/// What a controller has asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerTally {
    /// Requests that arrived.
    pub requests: u64,
    /// Those of them that were refused.
    pub refused: u64,
}

/// The controllers, what they have heard of, and what they have asked for.
#[derive(Clone, Debug)]
pub(super) struct OwnControllers {
    plugins: Arc<[ControllerPlugin]>,
    /// None before the first look at the cluster: what changes until then is part of that.
    names: Option<Names>,
    /// Objects as they were told last.
    known: FxHashMap<Key, Value>,
    /// What is on its way, in the order in which it arrives.
    coming: VecDeque<(SimTime, CauseId, Coming)>,
    tallies: Vec<ControllerTally>,
    way: SimDuration,
}

#[derive(Clone, Debug)]
enum Coming {
    /// The first look at the cluster.
    List,
    /// A request of the controller at this place.
    Request(usize, ClientRequest),
}

impl OwnControllers {
    /// The controllers of a run; none if it has none.
    pub(super) fn new(inputs: &Inputs, config: &Config, now: SimTime) -> Option<Box<Self>> {
        if inputs.controllers.is_empty() {
            return None;
        }
        Some(Box::new(Self {
            plugins: Arc::clone(&inputs.controllers),
            names: None,
            known: FxHashMap::default(),
            coming: VecDeque::from([(now, CauseId::NONE, Coming::List)]),
            tallies: vec![ControllerTally::default(); inputs.controllers.len()],
            way: (config.round_trip / 2).max(WAY_MIN),
        }))
    }

    /// When the next thing arrives that they have asked for.
    pub(super) fn next_at(&self) -> Option<SimTime> {
        self.coming.front().map(|(at, ..)| *at)
    }

    pub(super) fn tallies(&self) -> &[ControllerTally] {
        &self.tallies
    }

    /// They list what they watch.
    fn list(&mut self, cluster: &ClusterReader<'_>) {
        self.names = Some(Names::of(cluster.store));
        let plugins = Arc::clone(&self.plugins);
        for (place, plugin) in plugins.iter().enumerate() {
            for resource in plugin.watched.iter() {
                for (key, object) in cluster.all(resource) {
                    self.tell(place, &change_of(ChangeKind::Added, &object), cluster, CauseId::NONE);
                    self.known.insert(key, object);
                }
            }
        }
    }

    /// They hear of a change, unless it changes nothing that clients see.
    fn changed(&mut self, change: &Change, cluster: &ClusterReader<'_>) {
        let Some(key) = self.names.as_mut().and_then(|names| names.touched(&change.what, cluster.store)) else {
            return;
        };
        let plugins = Arc::clone(&self.plugins);
        let is_it = |resource: &&Resource| resource.name() == key.resource.as_str();
        let watching = |plugin: &ControllerPlugin| plugin.watched.iter().any(|resource| is_it(&resource));
        let Some(resource) = plugins.iter().flat_map(|plugin| plugin.watched.iter()).find(is_it) else { return };
        let (kind, object) = match (self.known.remove(&key), cluster.object(key, resource)) {
            (None, None) => return,
            (None, Some(object)) => (ChangeKind::Added, object),
            (Some(last), None) => (ChangeKind::Deleted, last),
            (Some(last), Some(object)) if last == object => {
                self.known.insert(key, last);
                return;
            }
            (Some(_), Some(object)) => (ChangeKind::Modified, object),
        };
        for (place, _) in plugins.iter().enumerate().filter(|(_, plugin)| watching(plugin)) {
            self.tell(place, &change_of(kind, &object), cluster, change.cause);
        }
        if kind != ChangeKind::Deleted {
            self.known.insert(key, object);
        }
    }

    /// Tells one of them; what it wants done sets out.
    fn tell(&mut self, place: usize, change: &ObjectChange<'_>, cluster: &ClusterReader<'_>, cause: CauseId) {
        let plugin = &self.plugins[place];
        match (plugin.hook)(change, cluster) {
            Ok(wanted) => {
                let at = cluster.now + self.way;
                let by = |request| ClientRequest { user: plugin.name.to_string(), ..request };
                let coming = wanted.into_iter().map(|request| (at, cause, Coming::Request(place, by(request))));
                self.coming.extend(coming);
            }
            Err(error) => {
                let metadata = &change.object["metadata"];
                let name = change.object["kind"].as_str().unwrap_or_default();
                let asked = match metadata["name"].as_str() {
                    Some(own) => format!("about {name} {own}, which is {}", change.kind.as_str()),
                    None => format!("about a request of its own, which is {}", change.kind.as_str()),
                };
                PluginFailure { name: plugin.name, at: cluster.now, asked, error }.throw()
            }
        }
    }
}

fn change_of(kind: ChangeKind, object: &Value) -> ObjectChange<'_> {
    ObjectChange { kind, object, request: None }
}

impl Simulation {
    fn reader(&self) -> ClusterReader<'_> {
        ClusterReader {
            store: &self.kernel.store,
            kept: &self.kept,
            now: self.kernel.now,
            epoch_unix_nanos: self.inputs.epoch_unix_nanos,
        }
    }

    /// Does what these controllers have to do, on the cluster as it stands.
    fn with_own(&mut self, act: impl FnOnce(&mut OwnControllers, &ClusterReader<'_>)) {
        if let Some(mut own) = self.own_controllers.take() {
            act(&mut own, &self.reader());
            self.own_controllers = Some(own);
        }
    }

    /// A watch of these controllers delivers a change.
    pub(super) fn tell_own(&mut self, change: &Change) {
        if !self.is_calm {
            self.with_own(|own, cluster| own.changed(change, cluster));
        }
    }

    /// Plays what these controllers have asked for, if nothing else comes before; false if something does.
    pub(super) fn step_own(&mut self) -> bool {
        let Some(at) = self.own_controllers.as_ref().and_then(|own| own.next_at()) else { return false };
        let is_later = |other: SimTime| other <= at;
        let scripted = self.requests.front().map(|(at, _)| *at);
        if self.kernel.queue.peek_time().is_some_and(is_later) || scripted.is_some_and(is_later) {
            return false;
        }
        let Some((_, cause, coming)) = self.own_controllers.as_mut().and_then(|own| own.coming.pop_front()) else {
            return false;
        };
        self.kernel.now = self.kernel.now.max(at);
        match coming {
            Coming::List => self.with_own(|own, cluster| own.list(cluster)),
            Coming::Request(place, request) if !self.is_calm => self.request_of(place, &request, cause),
            Coming::Request(..) => {}
        }
        true
    }

    /// A request of one of these controllers arrives. It hears of a refusal at once.
    fn request_of(&mut self, place: usize, request: &ClientRequest, cause: CauseId) {
        let Some(name) = self.own_controllers.as_ref().map(|own| own.plugins[place].name.as_str()) else { return };
        let mut cause = cause;
        let response = if request.is_dry_run() {
            self.clone().answer(request)
        } else {
            cause = self.kernel.observers.own_cause(self.kernel.now, cause, || request.to_string());
            self.kernel.cause = cause;
            self.client = name;
            let response = self.answer(request);
            self.client = super::clients::CLIENT;
            response
        };
        self.with_own(|own, cluster| {
            own.tallies[place].requests += 1;
            if !response.is_success() {
                own.tallies[place].refused += 1;
                let refusal = ObjectChange { kind: ChangeKind::Error, object: &response.body, request: Some(request) };
                own.tell(place, &refusal, cluster, cause);
            }
        });
    }
}
