//! What objects say of when things happened, as far as lengths of time follow from it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::instant::Instant;

/// Namespace and name.
pub(super) type Name = (String, String);

/// A pod as it was last seen.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) object: Value,
    /// By when it was seen: the last instant in its input.
    pub(super) until: Option<Instant>,
}

/// Something that was said of an object, once or several times.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) reason: String,
    pub(super) message: String,
    /// The container that it is about.
    pub(super) field_path: String,
    pub(super) component: String,
    pub(super) host: String,
    pub(super) first: Instant,
    pub(super) last: Instant,
}

/// What an event is about: kind, namespace, name, uid.
type About = (String, String, String, String);

/// All that was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// By namespace, name and uid.
    pub(super) pods: BTreeMap<(String, String, String), Pod>,
    /// When each node last became Ready, by name; none if it is not.
    pub(super) nodes: BTreeMap<String, Option<Instant>>,
    /// The owners of ReplicaSets and Jobs, as kind and name.
    pub(super) owners: BTreeMap<(String, Name), (String, String)>,
    /// By uid or name, so that an event that is there twice is one.
    events: BTreeMap<(About, String), Event>,
    /// The last instant of the input that is read.
    until: Option<Instant>,
    /// The last instant of all.
    pub(super) last: Option<Instant>,
    pub(super) others: usize,
}

pub(super) fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The items of the list at a path.
pub(super) fn items<'v>(object: &'v Value, path: &str) -> impl Iterator<Item = &'v Value> {
    object.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

impl Evidence {
    /// Takes an object, a list of them, or what a watch or an exporter wraps around one.
    pub(super) fn add(&mut self, mut value: Value, implied: &str) {
        if let Value::Array(items) = value {
            return items.into_iter().for_each(|item| self.add(item, implied));
        }
        for (mark, wrapped) in [("type", "object"), ("verb", "event")] {
            if value[mark].is_string() && value[wrapped].is_object() {
                return self.add(value[wrapped].take(), implied);
            }
        }
        let kind = text(&value, "/kind").to_owned();
        if let Some(Value::Array(items)) = value.get_mut("items").map(Value::take) {
            let item_kind = kind.strip_suffix("List").unwrap_or_default();
            return items.into_iter().for_each(|item| self.add(item, item_kind));
        }
        let kind = if kind.is_empty() { implied } else { &kind };
        match recognized(kind, &value) {
            Some("Pod") => self.add_pod(value),
            Some("Node") => self.add_node(&value),
            Some("Event") => self.add_event(&value),
            Some("ReplicaSet" | "Job") => self.add_owner(recognized(kind, &value).unwrap_or_default(), &value),
            _ => self.others += 1,
        }
    }

    /// The input ends: what was seen in it was seen by its last instant.
    pub(super) fn end_input(&mut self) {
        let until = self.until.take();
        for pod in self.pods.values_mut().filter(|pod| pod.until.is_none()) {
            pod.until = until;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.nodes.is_empty() && self.events.is_empty()
    }

    pub(super) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// Events by what they are about, each in the order of time.
    pub(super) fn events_of(&self, kind: &str) -> BTreeMap<(&str, &str, &str), Vec<&Event>> {
        let mut found: BTreeMap<(&str, &str, &str), Vec<&Event>> = BTreeMap::new();
        for ((about, _), event) in self.events.iter().filter(|((about, _), _)| about.0 == kind) {
            found.entry((&about.1, &about.2, &about.3)).or_default().push(event);
        }
        found.values_mut().for_each(|events| events.sort_by_key(|event| event.first.nanos));
        found
    }

    fn saw(&mut self, at: Option<Instant>) {
        for last in [&mut self.until, &mut self.last] {
            *last = match (*last, at) {
                (Some(last), Some(at)) => Some(last.later(at)),
                (last, at) => last.or(at),
            };
        }
    }

    fn add_pod(&mut self, object: Value) {
        self.saw(Instant::at(&object, "/metadata/creationTimestamp"));
        for condition in items(&object, "/status/conditions") {
            self.saw(Instant::at(condition, "/lastTransitionTime"));
        }
        for list in ["/status/containerStatuses", "/status/initContainerStatuses"] {
            for status in items(&object, list) {
                for path in
                    ["/state/running/startedAt", "/state/terminated/finishedAt", "/lastState/terminated/finishedAt"]
                {
                    self.saw(Instant::at(status, path));
                }
            }
        }
        let key = |path: &str| text(&object, path).to_owned();
        let key = (key("/metadata/namespace"), key("/metadata/name"), key("/metadata/uid"));
        let version = |pod: &Value| text(pod, "/metadata/resourceVersion").parse().unwrap_or(0_u64);
        if self.pods.get(&key).is_none_or(|known| version(&known.object) <= version(&object)) {
            self.pods.insert(key, Pod { object, until: None });
        }
    }

    fn add_node(&mut self, object: &Value) {
        let mut ready = None;
        for condition in items(object, "/status/conditions") {
            self.saw(Instant::at(condition, "/lastHeartbeatTime"));
            self.saw(Instant::at(condition, "/lastTransitionTime"));
            if text(condition, "/type") == "Ready" && text(condition, "/status") == "True" {
                ready = Instant::at(condition, "/lastTransitionTime");
            }
        }
        self.nodes.insert(text(object, "/metadata/name").to_owned(), ready);
    }

    fn add_owner(&mut self, kind: &str, object: &Value) {
        if let Some(owner) = controller(object) {
            let name = (text(object, "/metadata/namespace").to_owned(), text(object, "/metadata/name").to_owned());
            self.owners.insert((kind.to_owned(), name), owner);
        }
    }

    fn add_event(&mut self, object: &Value) {
        let either = |paths: [&str; 2]| paths.map(|path| text(object, path)).into_iter().find(|text| !text.is_empty());
        let stamp = |paths: &[&str]| paths.iter().find_map(|path| Instant::at(object, path));
        let last = stamp(&[
            "/series/lastObservedTime",
            "/lastTimestamp",
            "/deprecatedLastTimestamp",
            "/eventTime",
            "/metadata/creationTimestamp",
        ]);
        let Some(last) = last else {
            self.others += 1;
            return;
        };
        let first =
            stamp(&["/eventTime", "/firstTimestamp", "/deprecatedFirstTimestamp", "/metadata/creationTimestamp"]);
        let first = first.unwrap_or(last).earlier(last);
        self.saw(Some(last));
        let about = if object["regarding"].is_object() { &object["regarding"] } else { &object["involvedObject"] };
        let field = |path: &str| text(about, path).to_owned();
        let kind = field("/kind");
        // Kubelets take the name of their node for its uid, and controllers do not.
        let uid = if kind == "Node" { String::new() } else { field("/uid") };
        let identity = either(["/metadata/uid", "/metadata/name"]).unwrap_or_default();
        let event = Event {
            reason: text(object, "/reason").to_owned(),
            message: either(["/message", "/note"]).unwrap_or_default().to_owned(),
            field_path: field("/fieldPath"),
            component: either(["/source/component", "/reportingComponent"])
                .or_else(|| either(["/reportingController", "/deprecatedSource/component"]))
                .unwrap_or_default()
                .to_owned(),
            host: either(["/source/host", "/deprecatedSource/host"]).unwrap_or_default().to_owned(),
            first,
            last,
        };
        let identity = if identity.is_empty() {
            format!("{}/{}/{}", event.reason, event.message, first.nanos)
        } else {
            identity.to_owned()
        };
        let name = field("/name");
        let namespace = if kind == "Node" { String::new() } else { field("/namespace") };
        let key = ((kind, namespace, name, uid), identity);
        match self.events.get_mut(&key) {
            Some(known) => {
                (known.first, known.last) = (known.first.earlier(first), known.last.later(last));
                known.message = event.message;
            }
            None => {
                self.events.insert(key, event);
            }
        }
    }
}

/// The kind of what says it, or has what only one kind has.
fn recognized(kind: &str, object: &Value) -> Option<&'static str> {
    let has = |path: &str| object.pointer(path).is_some_and(|value| !value.is_null());
    // The audit log calls its records Events, too.
    if has("/auditID") || has("/requestURI") {
        return None;
    }
    match kind {
        "Pod" => return Some("Pod"),
        "Node" => return Some("Node"),
        "Event" => return Some("Event"),
        "ReplicaSet" => return Some("ReplicaSet"),
        "Job" => return Some("Job"),
        "" => {}
        _ => return None,
    }
    if (has("/involvedObject") || has("/regarding")) && has("/reason") {
        Some("Event")
    } else if has("/spec/containers") && has("/metadata/name") {
        Some("Pod")
    } else if has("/status/nodeInfo") {
        Some("Node")
    } else if has("/spec/template") && text(object, "/metadata/ownerReferences/0/kind") == "Deployment" {
        Some("ReplicaSet")
    } else {
        None
    }
}

/// The kind and name of who owns an object.
pub(super) fn controller(object: &Value) -> Option<(String, String)> {
    let owner = items(object, "/metadata/ownerReferences").find(|owner| owner["controller"] == true)?;
    Some((text(owner, "/kind").to_owned(), text(owner, "/name").to_owned()))
}
