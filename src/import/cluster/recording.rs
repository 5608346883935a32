//! Recordings of clusters, which hold objects and what became of them: brought to the state at their end.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::kubectl::merge_strategically;
use crate::model::{ObjectKind, yaml};

/// What identifies an object of a recording: its resource or kind, its namespace, its name.
type Key = (String, String, String);

/// Objects, as changes one after the other leave them.
#[derive(Debug, Default)]
pub(in crate::import) struct Recorded {
    objects: BTreeMap<Key, Value>,
    /// Changes that were made.
    pub(super) changes: usize,
    /// Changes of objects that the recording does not have.
    pub(super) lost: usize,
}

impl Recorded {
    fn key(object: &Value) -> Key {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        (plural(&text("/kind")), text("/metadata/namespace"), text("/metadata/name"))
    }

    fn set(&mut self, object: Value) {
        self.objects.insert(Self::key(&object), object);
    }

    fn remove(&mut self, key: &Key) {
        if self.objects.remove(key).is_none() {
            self.lost += 1;
        }
    }

    /// The objects at the end, as a list.
    pub(in crate::import) fn into_list(self) -> String {
        json!({"apiVersion": "v1", "kind": "List", "items": self.objects.into_values().collect::<Vec<_>>()}).to_string()
    }
}

/// The resource of a kind: its plural in small letters.
fn plural(kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) if !kind.ends_with("ay") && !kind.ends_with("ey") => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

/// What KWOK records: objects, and behind them changes of kind `ResourcePatch`. Nothing if the text has no such change.
///
/// # Source
/// KWOK, `pkg/apis/action/v1alpha1` and `kwokctl snapshot replay`.
pub(super) fn kwok(text: &str) -> Option<Result<Recorded, String>> {
    let is_patch = |line: &str| line.trim_end() == "kind: ResourcePatch";
    text.lines().any(is_patch).then(|| read_kwok(text))
}

fn read_kwok(text: &str) -> Result<Recorded, String> {
    let mut recorded = Recorded::default();
    // In the order of time; the recorder sorts only what it waits for.
    let mut patches: Vec<(i64, Value)> = Vec::new();
    for piece in yaml::documents(text) {
        let options = yaml::options_with_duplicates(&piece.text);
        let tree: Value = serde_saphyr::from_str_with_options(&piece.text, options)
            .map_err(|error| format!("document at line {}: {error}", piece.line_offset + 1))?;
        if tree["kind"] == "ResourcePatch" {
            patches.push((tree["durationNanosecond"].as_i64().unwrap_or_default(), tree));
        } else if tree.is_object() {
            recorded.set(tree);
        }
    }
    patches.sort_by_key(|(at, _)| *at);
    for (_, mut patch) in patches {
        let text = |path: &str| patch.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = (text("/resource/resource"), text("/target/namespace"), text("/target/name"));
        let method = text("/method");
        let template = patch["template"].take();
        recorded.changes += 1;
        match (method.as_str(), recorded.objects.get_mut(&key)) {
            ("create", _) => {
                let mut object = template;
                complete(&mut object, &key);
                recorded.objects.insert(key, object);
            }
            ("patch", Some(object)) => merge_strategically(object, &template),
            ("delete", _) => recorded.remove(&key),
            _ => recorded.lost += 1,
        }
    }
    Ok(recorded)
}

/// What a recorder may leave out of an object because it says it beside.
fn complete(object: &mut Value, (_, namespace, name): &Key) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("name").or_insert_with(|| name.as_str().into());
        if !namespace.is_empty() {
            metadata.entry("namespace").or_insert_with(|| namespace.as_str().into());
        }
    }
}

/// What kube-scheduler-simulator exports: lists by kind, without kinds in them. Nothing if it is no such text.
///
/// # Source
/// kube-scheduler-simulator, `simulator/snapshot`, `ResourcesForSnap`.
pub(super) fn scheduler_snapshot(text: &str) -> Option<String> {
    const LISTS: [(&str, &str, &str); 7] = [
        ("namespaces", "v1", "Namespace"),
        ("nodes", "v1", "Node"),
        ("priorityClasses", "scheduling.k8s.io/v1", "PriorityClass"),
        ("storageClasses", "storage.k8s.io/v1", "StorageClass"),
        ("pvs", "v1", "PersistentVolume"),
        ("pvcs", "v1", "PersistentVolumeClaim"),
        ("pods", "v1", "Pod"),
    ];
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if !text.trim_start().starts_with('{') || !has("pods") || !has("nodes") || !has("pvcs") {
        return None;
    }
    let mut tree: Map<String, Value> = serde_json::from_str(text).ok()?;
    if tree.contains_key("kind") || !tree.contains_key("pods") || !tree.contains_key("nodes") {
        return None;
    }
    let mut items = Vec::new();
    for (list, api_version, kind) in LISTS {
        let Some(Value::Array(objects)) = tree.remove(list) else { continue };
        for mut object in objects {
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".to_owned(), api_version.into());
                fields.insert("kind".to_owned(), kind.into());
            }
            items.push(object);
        }
    }
    Some(json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string())
}

/// What kube-scheduler-simulator records: an array, or lines, of changes. Nothing if it is no such text.
///
/// # Source
/// kube-scheduler-simulator, `simulator/recorder`.
pub(super) fn scheduler_records(text: &str) -> Option<Recorded> {
    #[derive(Deserialize)]
    struct Record {
        event: String,
        resource: Value,
        #[serde(rename = "time")]
        _time: IgnoredAny,
    }
    let start = text.trim_start();
    let head = start.get(..400).unwrap_or(start);
    let is_one = head.contains("\"event\"") && head.contains("\"resource\"") && head.starts_with(['[', '{']);
    let is_line = head.contains("\"time\"") && head.contains("\"event\"");
    if !is_one && !is_line {
        return None;
    }
    let records: Vec<Record> = if start.starts_with('[') {
        serde_json::from_str(start).ok()?
    } else {
        serde_json::Deserializer::from_str(start).into_iter().collect::<Result<_, _>>().ok()?
    };
    let mut recorded = Recorded::default();
    for record in records {
        recorded.changes += 1;
        match record.event.as_str() {
            "Delete" => recorded.remove(&Recorded::key(&record.resource)),
            _ => recorded.set(record.resource),
        }
    }
    Some(recorded)
}

/// Whether bytes begin like a trace of SimKube: a map in MessagePack whose first key is `version`.
pub(super) fn is_simkube(head: &[u8]) -> bool {
    head.first().is_some_and(|byte| byte & 0xf0 == 0x80) && head[1..].starts_with(b"\xa7version")
}

/// A trace of SimKube.
///
/// # Source
/// SimKube, `sk-core/src/trace` and `docs/ref/trace-files.md`, version 2 of the format.
///
/// # Errors
///
/// Why it cannot be read.
pub(super) fn simkube(bytes: &[u8]) -> Result<Recorded, String> {
    #[derive(Deserialize)]
    struct Trace {
        version: u64,
        events: Vec<Event>,
    }
    #[derive(Deserialize)]
    struct Event {
        applied_objs: Vec<Value>,
        deleted_objs: Vec<Value>,
    }
    let trace: Trace = rmp_serde::from_slice(bytes).map_err(|error| format!("it is no whole trace: {error}"))?;
    if trace.version != 2 {
        return Err(format!("it is a trace of version {}; version 2 is read", trace.version));
    }
    let mut recorded = Recorded::default();
    for event in trace.events {
        recorded.changes += event.applied_objs.len() + event.deleted_objs.len();
        event.applied_objs.into_iter().for_each(|object| recorded.set(object));
        event.deleted_objs.iter().for_each(|object| recorded.remove(&Recorded::key(object)));
    }
    Ok(recorded)
}

/// What k8shark captures: answers of an API server by their paths, of which the last of each path counts.
#[derive(Debug, Default)]
pub(in crate::import) struct Capture {
    /// By path: when it was seen, its number, the answer.
    answers: BTreeMap<String, (String, u64, Value)>,
    /// Changes that a watch saw, by time.
    watched: Vec<(String, u64, String, Value)>,
}

/// Whether a path within an archive is that of a captured answer: what is told of it is its number.
pub(in crate::import) fn captured(path: &str) -> Option<u64> {
    let name = path.split_once("k8shark-capture/records/")?.1.rsplit('/').next()?;
    name.split('.').next()?.parse().ok()
}

impl Capture {
    /// Takes an answer.
    ///
    /// # Errors
    ///
    /// It is no such thing.
    pub(in crate::import) fn add(&mut self, number: u64, text: &str) -> Result<(), String> {
        #[derive(Deserialize)]
        struct Record {
            captured_at: String,
            api_path: String,
            #[serde(default)]
            event_type: String,
            response_code: u16,
            response_body: Value,
        }
        let record: Record = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let is_of_objects = (record.api_path.starts_with("/api/v1/") || record.api_path.matches('/').count() > 3)
            && !record.api_path.contains('?')
            && !record.api_path.starts_with("/openapi")
            && record.response_code == 200;
        if !is_of_objects {
            return Ok(());
        }
        if !record.event_type.is_empty() {
            let kind = record.response_body["kind"].as_str().and_then(ObjectKind::named);
            if kind.is_none() {
                return Ok(());
            }
            self.watched.push((record.captured_at, number, record.event_type, record.response_body));
            return Ok(());
        }
        let kind = record.response_body["kind"].as_str().and_then(|kind| kind.strip_suffix("List"));
        let is_list = kind.is_some_and(|kind| ObjectKind::named(kind).is_some());
        let known =
            self.answers.get(&record.api_path).is_some_and(|(at, of, _)| (at, *of) > (&record.captured_at, number));
        if is_list && !known {
            self.answers.insert(record.api_path, (record.captured_at, number, record.response_body));
        }
        Ok(())
    }

    pub(in crate::import) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.watched.is_empty()
    }

    /// The cluster at the end: the last lists, and what watches saw later.
    pub(in crate::import) fn into_recorded(mut self) -> Recorded {
        let mut recorded = Recorded::default();
        let mut listed_at: BTreeMap<Key, String> = BTreeMap::new();
        let mut latest = String::new();
        for (at, _, list) in self.answers.into_values() {
            let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List").to_owned();
            let api_version = list["apiVersion"].clone();
            latest = latest.max(at.clone());
            let Value::Array(items) = list["items"].clone() else { continue };
            for mut item in items {
                if let Some(fields) = item.as_object_mut() {
                    fields.entry("kind").or_insert_with(|| kind.as_str().into());
                    fields.entry("apiVersion").or_insert_with(|| api_version.clone());
                }
                let key = Recorded::key(&item);
                if listed_at.get(&key).is_none_or(|known| *known <= at) {
                    listed_at.insert(key, at.clone());
                    recorded.set(item);
                }
            }
        }
        self.watched.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        for (at, _, event, object) in self.watched {
            let key = Recorded::key(&object);
            // What a list told later is newer.
            if listed_at.get(&key).is_some_and(|listed| *listed > at) {
                continue;
            }
            recorded.changes += 1;
            match event.as_str() {
                "DELETED" => {
                    recorded.objects.remove(&key);
                }
                _ => recorded.set(object),
            }
        }
        recorded
    }
}

/// What `kubectl cluster-info dump` prints without `--output-directory`, without the logs among it: these lines are left empty, so
/// that all others keep their numbers. Nothing if there are none.
///
/// # Source
/// kubectl, `pkg/cmd/clusterinfo/clusterinfo_dump.go`.
pub(in crate::import) fn without_logs(text: &str) -> Option<String> {
    const START: &str = "==== START logs for container ";
    if !text.lines().any(|line| line.starts_with(START)) {
        return None;
    }
    let mut kept = String::with_capacity(text.len());
    let mut end: Option<String> = None;
    for line in text.lines() {
        match &end {
            Some(wanted) if line == wanted => end = None,
            Some(_) => {}
            None => match line.strip_prefix(START) {
                Some(of) => end = Some(format!("==== END logs for container {of}")),
                None => kept.push_str(line),
            },
        }
        kept.push('\n');
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(recorded: Recorded) -> Vec<String> {
        let list: Value = serde_json::from_str(&recorded.into_list()).expect("a list");
        let items = list["items"].as_array().expect("items").iter();
        items
            .map(|item| {
                format!("{} {}", item["kind"].as_str().unwrap_or("?"), item["metadata"]["name"].as_str().unwrap_or("?"))
            })
            .collect()
    }

    #[test]
    fn changes_that_kwok_recorded_are_made_in_their_order() {
        let change = |at: u64, method: &str, resource: &str, name: &str, template: &str| {
            format!(
                "---\napiVersion: action.kwok.x-k8s.io/v1alpha1\nkind: ResourcePatch\ndurationNanosecond: {at}\nmethod: {method}\n\
                 resource: {{version: v1, resource: {resource}}}\ntarget: {{name: {name}, namespace: x}}\n{template}"
            )
        };
        let text = [
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: x}\nspec: {containers: [{name: c, image: i}]}\n".to_owned(),
            change(30, "delete", "pods", "a", ""),
            change(20, "patch", "pods", "b", "template: {spec: {nodeName: n1, containers: [{name: c, image: j}]}}\n"),
            change(10, "create", "pods", "b", "template: {apiVersion: v1, kind: Pod, metadata: {name: b, namespace: x}, spec: {containers: [{name: c, image: i, args: [k]}]}}\n"),
            change(40, "patch", "pods", "none", "template: {}\n"),
        ]
        .concat();
        let recorded = kwok(&text).expect("a recording").expect("it is whole");
        assert_eq!((recorded.changes, recorded.lost), (4, 1));
        let pod = &recorded.objects[&("pods".to_owned(), "x".to_owned(), "b".to_owned())];
        assert_eq!(pod["spec"], json!({"nodeName": "n1", "containers": [{"name": "c", "image": "j", "args": ["k"]}]}));
        assert_eq!(names(recorded), ["Pod b"]);
        assert!(kwok("kind: Pod\n").is_none());
    }

    #[test]
    fn exports_of_the_scheduler_simulator_have_kinds_by_their_lists() {
        let text = r#"{"pods":[{"metadata":{"name":"p"}}],"nodes":[{"metadata":{"name":"n"}}],"pvs":null,"pvcs":[],"schedulerConfig":{}}"#;
        let list: Value = serde_json::from_str(&scheduler_snapshot(text).expect("a snapshot")).expect("a list");
        let kinds: Vec<&str> =
            list["items"].as_array().expect("items").iter().filter_map(|item| item["kind"].as_str()).collect();
        assert_eq!(kinds, ["Node", "Pod"]);
        assert_eq!(scheduler_snapshot(r#"{"kind":"List","pods":[],"nodes":[],"pvcs":[]}"#), None);
        let records = r#"[{"time":"t","event":"Add","resource":{"kind":"Node","metadata":{"name":"n"}}},
            {"time":"t","event":"Add","resource":{"kind":"Pod","metadata":{"name":"p","namespace":"x"}}},
            {"time":"t","event":"Delete","resource":{"kind":"Node","metadata":{"name":"n"}}}]"#;
        assert_eq!(names(scheduler_records(records).expect("records")), ["Pod p"]);
    }

    #[test]
    fn logs_among_a_dump_are_left_out() {
        let text = "{\"kind\":\"NodeList\"}\n==== START logs for container c of pod x/p ====\n{\"kind\":\"Pod\"}\n\
                    ==== END logs for container d of pod x/p ====\n==== END logs for container c of pod x/p ====\n{}\n";
        assert_eq!(without_logs(text).as_deref(), Some("{\"kind\":\"NodeList\"}\n\n\n\n\n{}\n"));
        assert_eq!(without_logs("{}\n"), None);
    }

    #[test]
    fn of_captured_answers_the_last_counts() {
        let pods = |names: &[&str]| json!({"apiVersion": "v1", "kind": "PodList", "items": names.iter().map(|name| json!({"metadata": {"name": name, "namespace": "x"}})).collect::<Vec<_>>()});
        let record = |at: &str, path: &str, event: &str, body: Value| {
            json!({"captured_at": at, "api_path": path, "event_type": event, "response_code": 200, "response_body": body}).to_string()
        };
        let path = "/api/v1/namespaces/x/pods";
        let pod = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "x"}});
        let mut capture = Capture::default();
        for (number, text) in [
            record("2026-01-01T00:00:30Z", path, "", pods(&["a", "b"])),
            record("2026-01-01T00:00:00Z", path, "", pods(&["old"])),
            record("2026-01-01T00:00:30Z", &format!("{path}?as=Table"), "", pods(&["table"])),
            record("2026-01-01T00:00:40Z", path, "DELETED", pod("a")),
            record("2026-01-01T00:00:10Z", path, "DELETED", pod("b")),
            record("2026-01-01T00:00:50Z", path, "ADDED", pod("c")),
            record("2026-01-01T00:00:50Z", "/apis/apps/v1", "", json!({"kind": "APIResourceList"})),
        ]
        .iter()
        .enumerate()
        {
            capture.add(number as u64, text).expect("a record");
        }
        assert_eq!(names(capture.into_recorded()), ["Pod b", "Pod c"]);
        assert_eq!(captured("k8shark-capture/records/ab/12.json.zst"), Some(12));
        assert_eq!(captured("k8shark-capture/index.json.zst"), None);
    }
}
