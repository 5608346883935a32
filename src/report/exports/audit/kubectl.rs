//! What was typed, by what it printed.

use serde_json::{Value, json};

use super::super::identity::Epoch;
use super::request::{Request, Resource, User};
use crate::report::table::{Table, text, whole};

/// The lines of the transcript.
pub(super) struct Lines<'a>(Vec<Line<'a>>);

struct Line<'a> {
    from_ms: i64,
    /// The last instant at which it asked for anything.
    to_ms: i64,
    command: &'a str,
    printed: Vec<&'a str>,
}

/// An object in a printed line, such as `deployment.apps/web`, and what was done to it.
struct Done<'a> {
    kind: &'a str,
    name: &'a str,
    what: &'a str,
}

impl<'a> Lines<'a> {
    pub(super) fn new(transcript: &'a Table) -> Self {
        let column = |name| transcript.column(name);
        let (at, done, command, stdout) = (column("at_s"), column("done_s"), column("command"), column("stdout"));
        let lines = transcript.rows().map(|row| {
            let from_ms = whole(row, at).unwrap_or_default();
            let to_ms = whole(row, done).unwrap_or(i64::MAX);
            Line { from_ms, to_ms, command: text(row, command), printed: text(row, stdout).lines().collect() }
        });
        Self(lines.collect())
    }

    /// Whether somebody types at that time what changes something.
    pub(super) fn runs_at(&self, at_ms: i64) -> bool {
        self.0.iter().any(|line| line.from_ms <= at_ms && at_ms <= line.to_ms && line.changes_something())
    }

    /// Whether a line that runs at that time has deleted a node.
    pub(super) fn has_deleted_node(&self, node: &str, at_ms: i64) -> bool {
        let running = self.0.iter().filter(|line| line.from_ms <= at_ms && at_ms <= line.to_ms);
        let mut printed = running.flat_map(|line| &line.printed);
        printed.any(|line| {
            done(line).is_some_and(|done| done.kind == "node" && done.name == node && done.what.starts_with("deleted"))
        })
    }

    /// What lines ask for of objects of which other tables do not tell: workloads, and whatever is labeled.
    pub(super) fn requests(&self, epoch: Epoch) -> Vec<Request<'a>> {
        let of_line = |line: &Line<'a>| -> Vec<Request<'a>> {
            line.printed.iter().filter_map(|printed| line.request(&done(printed)?, epoch)).collect()
        };
        self.0.iter().flat_map(of_line).collect()
    }
}

impl<'a> Line<'a> {
    fn changes_something(&self) -> bool {
        let verb = self.command.split_whitespace().find(|word| !word.starts_with('-'));
        // Requests of the timeline are there if they were refused.
        let is_refused = matches!(verb, Some("POST" | "PUT" | "PATCH" | "DELETE"));
        !is_refused
            && !matches!(verb, Some("get" | "describe" | "logs" | "top" | "wait" | "events" | "explain" | "version"))
    }

    fn request(&self, done: &Done<'a>, epoch: Epoch) -> Option<Request<'a>> {
        let first = done.what.split(' ').next().unwrap_or_default();
        let (verb, subresource, body) = match first {
            "created" => ("create", "", None),
            "deleted" | "force" => ("delete", "", None),
            "scaled" => ("patch", "scale", self.flag("--replicas").map(replicas)),
            "restarted" => ("patch", "", Some(restart(self.to_or_from(), epoch))),
            "image" => ("patch", "", self.images()),
            "configured" | "serverside-applied" | "patched" | "labeled" | "unlabeled" | "annotated" | "paused"
            | "resumed" | "rolled" | "resource" | "env" | "edited" => ("patch", "", None),
            "replaced" => ("update", "", None),
            _ => return None,
        };
        // Tables tell of these what becomes of them, and when.
        if matches!(done.kind, "pod") || done.kind == "node" && verb == "delete" {
            return None;
        }
        let (resource, is_namespaced) = resource(done.kind)?;
        let says = done.what.split_once("from ").map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
        let namespace = says.or_else(|| self.flag("--namespace")).or_else(|| self.flag("-n")).unwrap_or("default");
        // A deletion is asked for at once, and waited for.
        let at_ms = if verb == "delete" { self.from_ms } else { self.to_or_from() };
        let namespace = if is_namespaced { namespace } else { "" };
        Some(Request {
            at_ms,
            user: User::Admin,
            verb,
            resource,
            subresource,
            namespace,
            name: done.name,
            body,
            is_refused: false,
        })
    }

    /// When it had asked for everything.
    fn to_or_from(&self) -> i64 {
        if self.to_ms == i64::MAX { self.from_ms } else { self.to_ms }
    }

    /// The value of a flag, behind `=` or as the next word.
    fn flag(&self, flag: &str) -> Option<&'a str> {
        let mut words = self.command.split_whitespace();
        while let Some(word) = words.next() {
            if word == flag {
                return words.next();
            }
            if let Some(value) = word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) {
                return Some(value);
            }
        }
        None
    }

    /// The containers and images of a line that sets them.
    fn images(&self) -> Option<Value> {
        let words = self.command.split_whitespace().filter(|word| !word.starts_with('-'));
        let images = words.filter_map(|word| word.split_once('='));
        let containers: Vec<Value> =
            images.map(|(container, image)| json!({"name": container, "image": image})).collect();
        let template = json!({"spec": {"containers": containers}});
        (!containers_of(&template).is_empty()).then(|| json!({"spec": {"template": template}}))
    }
}

fn containers_of(template: &Value) -> &[Value] {
    template["spec"]["containers"].as_array().map_or(&[], Vec::as_slice)
}

fn replicas(count: &str) -> Value {
    count.parse::<i64>().map_or(Value::Null, |count| json!({"spec": {"replicas": count}}))
}

fn restart(at_ms: i64, epoch: Epoch) -> Value {
    let annotations = json!({"kubectl.kubernetes.io/restartedAt": epoch.second(at_ms)});
    json!({"spec": {"template": {"metadata": {"annotations": annotations}}}})
}

/// What a printed line says that has been done: `deployment.apps/web scaled`, `deployment.apps "web" deleted from shop namespace`.
fn done(printed: &str) -> Option<Done<'_>> {
    let (object, what) = match printed.split_once(" \"") {
        Some((kind, rest)) => {
            let (name, what) = rest.split_once("\" ")?;
            ((kind, name), what)
        }
        None => {
            let (object, what) = printed.split_once(' ')?;
            (object.split_once('/')?, what)
        }
    };
    let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    let is_dry = what.contains("dry run") || what.contains("no change");
    (is_word(object.0) && is_word(object.1) && !is_dry).then_some(Done { kind: object.0, name: object.1, what })
}

/// The resource of a kind as kubectl prints it, and whether its objects are in namespaces.
fn resource(kind: &str) -> Option<(Resource<'_>, bool)> {
    let (short, group) = kind.split_once('.').unwrap_or((kind, ""));
    let (name, is_namespaced) =
        RESOURCES.iter().find(|(known, ..)| *known == short).map(|(_, name, is)| (*name, *is))?;
    let version = if group == "autoscaling" { "v2" } else { "v1" };
    Some((Resource { group, version, name }, is_namespaced))
}

/// Kinds, their resources, and whether their objects are in namespaces.
const RESOURCES: [(&str, &str, bool); 20] = [
    ("configmap", "configmaps", true),
    ("cronjob", "cronjobs", true),
    ("daemonset", "daemonsets", true),
    ("deployment", "deployments", true),
    ("horizontalpodautoscaler", "horizontalpodautoscalers", true),
    ("job", "jobs", true),
    ("limitrange", "limitranges", true),
    ("namespace", "namespaces", false),
    ("node", "nodes", false),
    ("persistentvolume", "persistentvolumes", false),
    ("persistentvolumeclaim", "persistentvolumeclaims", true),
    ("poddisruptionbudget", "poddisruptionbudgets", true),
    ("priorityclass", "priorityclasses", false),
    ("replicaset", "replicasets", true),
    ("replicationcontroller", "replicationcontrollers", true),
    ("resourcequota", "resourcequotas", true),
    ("secret", "secrets", true),
    ("service", "services", true),
    ("statefulset", "statefulsets", true),
    ("storageclass", "storageclasses", false),
];
