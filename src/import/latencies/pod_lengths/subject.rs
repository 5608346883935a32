//! A pod with what was said of it: of some there is only that.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::evidence::{Event, Evidence, Pod, controller, items, text};
use super::super::instant::Instant;
use crate::arena::Symbol;
use crate::model::deployment_of_replica_set;

/// A pod, its events, or both.
#[derive(Debug)]
pub(super) struct Subject<'e> {
    pub(super) namespace: &'e str,
    pub(super) name: &'e str,
    pod: Option<&'e Pod>,
    /// In the order of time.
    pub(super) events: Vec<&'e Event>,
    pub(super) until: Option<Instant>,
    /// As `deployment/shop/web`.
    pub(super) workload: Option<String>,
}

/// When a pod's containers first ran.
#[derive(Clone, Copy, Debug)]
pub(super) enum Started {
    At(Instant),
    NotYet,
    Unknown,
}

impl Subject<'_> {
    pub(super) fn object(&self) -> Option<&Value> {
        self.pod.map(|pod| &pod.object)
    }

    /// The first event of a reason.
    pub(super) fn first(&self, reason: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.reason == reason).copied()
    }

    /// When containers were last told to stop for good.
    pub(super) fn last_stop(&self) -> Option<Instant> {
        let is_end = |event: &&&Event| event.reason == "Killing" && !event.message.contains("will be restarted");
        self.events.iter().rfind(is_end).map(|event| event.first)
    }

    pub(super) fn is_static(&self, pod: &Value) -> bool {
        let is_mirror = |name: &str| pod["metadata"]["annotations"][name].is_string();
        controller(pod).is_some_and(|(kind, _)| kind == "Node") || is_mirror("kubernetes.io/config.mirror")
    }

    pub(super) fn has_inits(&self) -> bool {
        self.object().is_some_and(|pod| items(pod, "/spec/initContainers").next().is_some())
            || self.events.iter().any(|event| event.field_path.starts_with("spec.initContainers"))
    }

    /// When the last of its containers first ran.
    pub(super) fn started(&self) -> Started {
        let Some(pod) = self.object() else {
            let started = self.events.iter().filter(|event| event.reason == "Started").map(|event| event.first);
            return started.reduce(Instant::later).map_or(Started::NotYet, Started::At);
        };
        let mut latest: Option<Instant> = None;
        for container in items(pod, "/spec/containers") {
            let name = text(container, "/name");
            let status = items(pod, "/status/containerStatuses").find(|status| text(status, "/name") == name);
            let Some(status) = status else { return Started::NotYet };
            let restarts = status["restartCount"].as_i64().unwrap_or(0);
            let path = if restarts == 0 { "/state" } else { "/lastState" };
            let run = status.pointer(path).filter(|_| restarts <= 1).and_then(|state| {
                Instant::at(state, "/running/startedAt").or_else(|| Instant::at(state, "/terminated/startedAt"))
            });
            let Some(at) = run.or_else(|| self.told_start(name)) else {
                return if restarts == 0 { Started::NotYet } else { Started::Unknown };
            };
            latest = Some(latest.map_or(at, |latest| latest.later(at)));
        }
        latest.map_or(Started::Unknown, Started::At)
    }

    fn told_start(&self, container: &str) -> Option<Instant> {
        let is_meant = |event: &&&Event| {
            event.reason == "Started"
                && (event.field_path.contains(&format!("{{{container}}}"))
                    || event.message.ends_with(&format!("container {container}")))
        };
        self.events.iter().find(is_meant).map(|event| event.first)
    }
}

/// All pods of which there is anything, by namespace and name.
pub(super) fn subjects(evidence: &Evidence) -> Vec<Subject<'_>> {
    let owners = Owners::of(evidence);
    let mut events = evidence.events_of("Pod");
    let mut found = Vec::new();
    for ((namespace, name, uid), pod) in &evidence.pods {
        let mut own = events.remove(&(namespace.as_str(), name.as_str(), uid.as_str())).unwrap_or_default();
        // Who does not say which pod of that name it means, means that one.
        own.extend(events.remove(&(namespace.as_str(), name.as_str(), "")).unwrap_or_default());
        own.sort_by_key(|event| event.first.nanos);
        let workload = owners.of_pod(namespace, name, Some(&pod.object));
        found.push(Subject { namespace, name, pod: Some(pod), events: own, until: pod.until, workload });
    }
    for ((namespace, name, _), own) in events {
        let workload = owners.of_pod(namespace, name, None);
        found.push(Subject { namespace, name, pod: None, events: own, until: evidence.last, workload });
    }
    found.sort_by_key(|subject| (subject.namespace, subject.name));
    found
}

/// Who made which pod, and who made that.
struct Owners<'e> {
    evidence: &'e Evidence,
    /// By namespace and name of the pod: kind and name, as controllers said.
    of_pods: BTreeMap<(&'e str, &'e str), (&'e str, &'e str)>,
    /// Deployments, by namespace and name of the ReplicaSet.
    of_sets: BTreeMap<(&'e str, &'e str), &'e str>,
}

impl<'e> Owners<'e> {
    fn of(evidence: &'e Evidence) -> Self {
        let mut owners = Self { evidence, of_pods: BTreeMap::new(), of_sets: BTreeMap::new() };
        for kind in ["ReplicaSet", "DaemonSet", "StatefulSet", "Job"] {
            for ((namespace, name, _), events) in evidence.events_of(kind) {
                for event in events.iter().filter(|event| event.reason == "SuccessfulCreate") {
                    if let Some(pod) = made_pod(&event.message) {
                        owners.of_pods.insert((namespace, pod), (kind, name));
                    }
                }
            }
        }
        for ((namespace, name, _), events) in evidence.events_of("Deployment") {
            for event in events.iter().filter(|event| event.reason == "ScalingReplicaSet") {
                if let Some((_, rest)) = event.message.split_once("replica set ") {
                    owners.of_sets.insert((namespace, rest.split(' ').next().unwrap_or_default()), name);
                }
            }
        }
        owners
    }

    fn of_pod(&self, namespace: &str, name: &str, pod: Option<&Value>) -> Option<String> {
        let told = || self.of_pods.get(&(namespace, name)).map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned()));
        let (kind, owner) = pod.and_then(controller).or_else(told)?;
        let known = self.evidence.owners.get(&(kind.clone(), (namespace.to_owned(), owner.clone())));
        let deployment = |name: &str| ("Deployment".to_owned(), name.to_owned());
        let (kind, owner) = match known {
            Some(known) => known.clone(),
            None if kind == "ReplicaSet" => {
                let hash = pod.map(|pod| text(pod, "/metadata/labels/pod-template-hash")).unwrap_or_default();
                let made_by = deployment_of_replica_set(Symbol::new(&owner), Symbol::new(hash));
                let told = self.of_sets.get(&(namespace, owner.as_str())).copied();
                match told.or(made_by.map(Symbol::as_str)) {
                    Some(name) => deployment(name),
                    None => (kind, owner),
                }
            }
            None => (kind, owner),
        };
        (kind != "Node").then(|| format!("{}/{namespace}/{owner}", kind.to_ascii_lowercase()))
    }
}

/// The pod that a controller says it has made: `Created pod: web-1`, `create Pod db-0 in StatefulSet db successful`.
fn made_pod(message: &str) -> Option<&str> {
    let behind = message.split_once("Created pod: ").or_else(|| message.split_once("create Pod "))?.1;
    behind.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_say_which_pods_they_made() {
        for (message, expected) in [
            ("Created pod: web-5d-x", Some("web-5d-x")),
            ("create Pod db-0 in StatefulSet db successful", Some("db-0")),
            ("create Claim data-db-0 Pod db-0 in StatefulSet db success", None),
        ] {
            assert_eq!(made_pod(message), expected, "{message}");
        }
    }
}
