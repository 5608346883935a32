//! Who watches a resource, and the last things that happened to its objects.
//!
//! # Source
//! apiserver, `cacher`: a ring of events a resource; who asks for what is no longer in it is told that it expired; who does not keep up
//! is cut off.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use axum::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;

use super::lists::Form;
use super::table;
use crate::arena::Symbol;
use crate::rest::{Resource, Selection, Traits};

/// Things that happened which are kept of a resource, and their bytes.
const EVENTS_MAX: usize = 8192;
const BYTES_MAX: usize = 16 << 20;

/// Whether an object appeared, changed or went.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    Added,
    Modified,
    Deleted,
}

impl Happening {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// An object as it was shown last.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) version: u64,
    /// With its version.
    pub(super) json: Bytes,
    /// Of what is shown but for the version.
    hash: u64,
    pub(super) seen: Seen,
}

/// What of an object lists and watches choose and show by, beside itself.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) cells: Arc<[String]>,
    /// What selectors choose by: worked out once, whoever watches.
    pub(super) traits: Arc<Traits>,
}

/// Something that happened to an object.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) version: u64,
    pub(super) happening: Happening,
    /// Namespace and name.
    place: (Symbol, Symbol),
    pub(super) json: Bytes,
    /// As it was before.
    before: Option<(Bytes, Seen)>,
    seen: Seen,
}

/// Which objects of a resource somebody wants.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) namespace: Option<Symbol>,
    pub(super) selection: Selection,
}

impl Choice {
    /// Whether that is all of a namespace, or of all.
    pub(super) fn is_everything(&self) -> bool {
        self.selection.is_everything()
    }

    /// Whether an object of that namespace and name is chosen.
    pub(super) fn takes(&self, (namespace, name): (Symbol, Symbol), traits: &Traits) -> bool {
        self.namespace.is_none_or(|own| own == namespace)
            && (self.is_everything() || self.selection.chooses(namespace.as_str(), name.as_str(), traits))
    }
}

/// Somebody who watches.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) choice: Choice,
    pub(super) form: Form,
    pub(super) wants_bookmarks: bool,
    pub(super) to: Sender<Bytes>,
    /// Whether the columns have been told.
    pub(super) has_columns: bool,
}

/// A resource that somebody has asked for.
#[derive(Debug)]
pub(super) struct Audience {
    pub(super) resource: Resource,
    pub(super) objects: BTreeMap<(Symbol, Symbol), Known>,
    ring: VecDeque<Event>,
    bytes: usize,
    /// Everything after this version is in the ring.
    pub(super) since: u64,
    pub(super) watchers: Vec<Watcher>,
}

/// An object in short, so that it can be told whether it is other than before.
pub(super) fn hash_of(object: &Value) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    object.to_string().as_bytes().hash(&mut hasher);
    hasher.finish()
}

/// An object as bytes, with its version.
pub(super) fn with_version(object: &mut Value, version: u64) -> Bytes {
    object["metadata"]["resourceVersion"] = version.to_string().into();
    Bytes::from(object.to_string())
}

impl Audience {
    pub(super) fn new(resource: Resource, since: u64) -> Self {
        let (objects, ring, watchers) = (BTreeMap::new(), VecDeque::new(), Vec::new());
        Self { resource, objects, ring, bytes: 0, since, watchers }
    }

    /// Keeps an object that was there already.
    pub(super) fn know(
        &mut self,
        namespace: Symbol,
        name: Symbol,
        mut object: Value,
        version: u64,
        cells: Arc<[String]>,
    ) {
        let hash = hash_of(&object);
        let traits = Arc::new(Traits::of(&self.resource, &object));
        let json = with_version(&mut object, version);
        self.objects.insert((namespace, name), Known { version, json, hash, seen: Seen { cells, traits } });
    }

    /// What an object that is other than it was shown now looks like, in short; none if it is as it was.
    pub(super) fn other(&self, namespace: Symbol, name: Symbol, object: Option<&Value>) -> Option<u64> {
        let hash = object.map(hash_of);
        let known = self.objects.get(&(namespace, name)).map(|known| known.hash);
        (known != hash).then(|| hash.unwrap_or_default())
    }

    /// Tells of an object that has changed, appeared or gone.
    pub(super) fn tell(
        &mut self,
        namespace: Symbol,
        name: Symbol,
        (object, hash): (Option<Value>, u64),
        version: u64,
        cells: Arc<[String]>,
    ) {
        let place = (namespace, name);
        let before = self.objects.remove(&place);
        let event = match object {
            Some(mut object) => {
                let seen = Seen { cells, traits: Arc::new(Traits::of(&self.resource, &object)) };
                let json = with_version(&mut object, version);
                let happening = if before.is_some() { Happening::Modified } else { Happening::Added };
                let known = Known { version, json: json.clone(), hash, seen: seen.clone() };
                self.objects.insert(place, known);
                Event { version, happening, place, json, before: before.map(|known| (known.json, known.seen)), seen }
            }
            None => {
                let Some(before) = before else { return };
                // It bears the version of its end.
                let mut last = serde_json::from_slice::<Value>(&before.json).unwrap_or_default();
                let json = with_version(&mut last, version);
                let (happening, seen) = (Happening::Deleted, before.seen.clone());
                Event { version, happening, place, json, before: Some((before.json, before.seen)), seen }
            }
        };
        self.send(&event);
        self.bytes += event.json.len();
        self.ring.push_back(event);
        while self.ring.len() > EVENTS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.ring.pop_front() else { break };
            self.bytes -= oldest.json.len();
            self.since = oldest.version;
        }
    }

    fn send(&mut self, event: &Event) {
        // All who want the same get the same bytes.
        let mut plain: [Option<Bytes>; 3] = [None, None, None];
        let resource = &self.resource;
        self.watchers.retain_mut(|watcher| {
            let Some(happening) = seen_by(&watcher.choice, event) else { return !watcher.to.is_closed() };
            let line = match &plain[happening as usize] {
                Some(line) if watcher.form == Form::Whole => line.clone(),
                _ => line(happening, event, resource, watcher),
            };
            if watcher.form == Form::Whole {
                plain[happening as usize].get_or_insert_with(|| line.clone());
            }
            // Who does not keep up lists anew.
            watcher.to.try_send(line).is_ok()
        });
    }

    /// What has happened since a version, as somebody sees it who watches; none if that is no longer known.
    pub(super) fn since(&self, version: u64, watcher: &mut Watcher) -> Option<Vec<Bytes>> {
        if version < self.since {
            return None;
        }
        let later = self.ring.iter().filter(|event| event.version > version);
        let mut lines = Vec::new();
        for event in later {
            if let Some(happening) = seen_by(&watcher.choice, event) {
                lines.push(line(happening, event, &self.resource, watcher));
            }
        }
        Some(lines)
    }

    /// Everything there is, as if it had just appeared.
    pub(super) fn present(&self, watcher: &mut Watcher) -> Vec<Bytes> {
        let mut lines = Vec::new();
        for (place, known) in &self.objects {
            let event = Event {
                version: known.version,
                happening: Happening::Added,
                place: *place,
                json: known.json.clone(),
                before: None,
                seen: known.seen.clone(),
            };
            if let Some(happening) = seen_by(&watcher.choice, &event) {
                lines.push(line(happening, &event, &self.resource, watcher));
            }
        }
        lines
    }

    /// Tells all who want it how far they have got.
    pub(super) fn bookmark(&mut self, version: u64) {
        let resource = &self.resource;
        self.watchers.retain_mut(|watcher| {
            if !watcher.wants_bookmarks {
                return !watcher.to.is_closed();
            }
            // Who is behind is not told that he is not.
            match watcher.to.try_send(bookmark(resource, version, false, watcher)) {
                Ok(()) => true,
                Err(error) => matches!(error, tokio::sync::mpsc::error::TrySendError::Full(_)),
            }
        });
    }

    /// What happened up to a version is not known any more.
    pub(super) fn begin_anew(&mut self, since: u64) {
        self.ring.clear();
        self.bytes = 0;
        self.since = since;
    }

    /// The resource is defined anew: what was shown of it reads otherwise now, and who watches is told the columns again.
    pub(super) fn define(&mut self, resource: Resource, since: u64) {
        self.resource = resource;
        self.objects.clear();
        self.begin_anew(since);
        self.watchers.iter_mut().for_each(|watcher| watcher.has_columns = false);
    }

    /// Ends all watches: what they know is of another time.
    pub(super) fn dismiss(&mut self, status: &Value) {
        let line = error_line(status);
        for watcher in self.watchers.drain(..) {
            let _ = watcher.to.try_send(line.clone());
        }
    }
}

/// What ends a watch.
pub(super) fn error_line(status: &Value) -> Bytes {
    Bytes::from(format!("{}\n", json!({"type": "ERROR", "object": status})))
}

/// What an event is for somebody who has chosen: an object may come into the selection, or leave it.
fn seen_by(choice: &Choice, event: &Event) -> Option<Happening> {
    if choice.namespace.is_some_and(|namespace| namespace != event.place.0) {
        return None;
    }
    if choice.is_everything() {
        return Some(event.happening);
    }
    let now = event.happening != Happening::Deleted && choice.takes(event.place, &event.seen.traits);
    let before = event.before.as_ref().is_some_and(|(_, seen)| choice.takes(event.place, &seen.traits));
    match (before, now) {
        (false, false) => None,
        (false, true) => Some(Happening::Added),
        (true, true) => Some(Happening::Modified),
        (true, false) => Some(Happening::Deleted),
    }
}

fn whole_line(happening: Happening, json: &Bytes) -> Bytes {
    let mut line = Vec::with_capacity(json.len() + 40);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(happening.as_str().as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(json);
    line.extend_from_slice(b"}\n");
    Bytes::from(line)
}

/// An event as somebody sees it. An object that leaves a selection is shown as it was last in it, with the version of the event.
///
/// # Source
/// apiserver, `cacheWatcher.convertToWatchEvent`.
fn line(happening: Happening, event: &Event, resource: &Resource, watcher: &mut Watcher) -> Bytes {
    let (json, cells) = match &event.before {
        Some((before, seen)) if happening == Happening::Deleted && event.happening != Happening::Deleted => {
            let mut last = serde_json::from_slice::<Value>(before).unwrap_or_default();
            (with_version(&mut last, event.version), &seen.cells)
        }
        _ => (event.json.clone(), &event.seen.cells),
    };
    let object = || serde_json::from_slice::<Value>(&json).unwrap_or_default();
    let shown = match watcher.form {
        Form::Whole => return whole_line(happening, &json),
        Form::Metadata => table::metadata_of(&object()),
        Form::Table(included) => {
            let row = table::row(cells, &object(), included);
            let columns = (!watcher.has_columns).then(|| table::columns(resource));
            watcher.has_columns = true;
            table::table(columns, vec![row], &event.version.to_string())
        }
    };
    Bytes::from(format!("{}\n", json!({"type": happening.as_str(), "object": shown})))
}

/// `BOOKMARK`: all up to a version has been told.
pub(super) fn bookmark(resource: &Resource, version: u64, ends_list: bool, watcher: &Watcher) -> Bytes {
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if ends_list {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let object = match watcher.form {
        Form::Whole => {
            json!({"kind": resource.kind_name, "apiVersion": resource.api_version(), "metadata": metadata})
        }
        Form::Metadata => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
        }
        Form::Table(_) => {
            let partial =
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
            table::table(None, vec![json!({"cells": [], "object": partial})], &version.to_string())
        }
    };
    Bytes::from(format!("{}\n", json!({"type": "BOOKMARK", "object": object})))
}
