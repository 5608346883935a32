//! Events as `kubectl get events -o yaml` prints them: a List of v1 Events.

use std::borrow::Cow;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};

use crate::arena::stable_hash;
use crate::observe::SCENARIO;
use crate::report::run_tables::RunTables;
use crate::report::table::{Table, text, whole};
use crate::report::tables::TableError;

const COLUMNS: &[&str] = &["time_s", "component", "type", "reason", "kind", "namespace", "name", "node", "message"];

/// What the recorder puts before the message of the tenth Event that differs from others in its message alone, and of those after it.
const COMBINED: &str = "(combined from similar events): ";

/// What makes an Event the same as an earlier one, which then is counted there.
///
/// # Source
/// client-go, tools/record, `getEventKey`, and `EventAggregatorByReasonFunc` of those that are combined, whose messages do not count.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    component: &'a str,
    node: &'a str,
    event_type: &'a str,
    reason: &'a str,
    message: &'a str,
    about: About<'a>,
}

/// What an Event is about: pods of a StatefulSet have the same name one after the other.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct About<'a> {
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    created_ms: i64,
}

/// How often it happened, from when to when, in milliseconds since t=0, and what was said last.
struct Happened<'a> {
    first_ms: i64,
    last_ms: i64,
    count: u64,
    message: &'a str,
}

/// A run's Events as a List: the API's of events.csv, so neither timeline actions nor faults.
///
/// `api_version` of a kind is none of what is no object of the API, such as a kubectl line; `stamp` is the time stamp of so many
/// milliseconds since t=0, and `unix_nanos` the same as a number.
///
/// # Errors
///
/// If a table is missing or damaged.
///
/// # Source
/// client-go, tools/record: `makeEvent`, `GenerateEventName`, `eventObserve`.
///
/// # Differs
/// Events do not expire here. UIDs are made of kind, namespace, name and creation, as tables have none.
pub(crate) fn event_list(
    run: &RunTables,
    api_version: impl Fn(&str) -> Option<&'static str>,
    stamp: impl Fn(i64) -> String,
    unix_nanos: impl Fn(i64) -> i64,
) -> Result<Value, TableError> {
    let table = run.read("events.csv", COLUMNS)?;
    let created = creations(run.read("pods.csv", &["namespace", "name", "created_s"])?);
    let mut taken = FxHashSet::default();
    let items = happened(table, &created, &api_version).into_iter().map(|(key, happened)| {
        let About { kind, namespace, name, .. } = key.about;
        let own_namespace = if namespace.is_empty() { "default" } else { namespace };
        let mut involved = json!({"kind": kind, "name": name, "uid": uid(&key.about)});
        for (field, value) in [("apiVersion", api_version(kind).unwrap_or_default()), ("namespace", namespace)] {
            if !value.is_empty() {
                involved[field] = value.into();
            }
        }
        // Only kubelets name the machine that they run on.
        let host = if key.component == "kubelet" { key.node } else { "" };
        let mut source = json!({"component": key.component});
        if !host.is_empty() {
            source["host"] = host.into();
        }
        let first = stamp(happened.first_ms);
        let event_name = event_name(&mut taken, name, own_namespace, unix_nanos(happened.first_ms));
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": event_name,
                "namespace": own_namespace,
                "uid": uuid(&format!("Event/{own_namespace}/{event_name}")),
                "creationTimestamp": first,
            },
            "involvedObject": involved,
            "type": key.event_type,
            "reason": key.reason,
            "message": happened.message,
            "count": happened.count,
            "firstTimestamp": first,
            "lastTimestamp": stamp(happened.last_ms),
            "eventTime": null,
            "source": source,
            "reportingComponent": key.component,
            "reportingInstance": host,
        })
    });
    let items: Vec<Value> = items.collect();
    Ok(json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}))
}

/// When pods were created, in milliseconds since t=0, by namespace and name.
type Creations<'a> = FxHashMap<(&'a str, &'a str), Vec<i64>>;

fn creations(pods: &Table) -> Creations<'_> {
    let (namespace, name, at) = (pods.column("namespace"), pods.column("name"), pods.column("created_s"));
    let mut created = Creations::default();
    // Pods of one name stand in the order in which they were created.
    for row in pods.rows() {
        let key = (text(row, namespace), text(row, name));
        created.entry(key).or_default().push(whole(row, at).unwrap_or_default());
    }
    created
}

/// What happened, in the order in which each happened first.
fn happened<'a>(
    table: &'a Table,
    created: &Creations<'a>,
    api_version: &impl Fn(&str) -> Option<&'static str>,
) -> IndexMap<Key<'a>, Happened<'a>> {
    let [time, component, event_type, reason, kind, namespace, name, node, message] =
        COLUMNS.iter().map(|name| table.column(name)).collect::<Vec<_>>().try_into().expect("as many");
    let mut found: IndexMap<Key<'a>, Happened<'a>> = IndexMap::new();
    let of_the_api =
        table.rows().filter(|row| text(row, component) != SCENARIO && api_version(text(row, kind)).is_some());
    for row in of_the_api {
        let at_ms = whole(row, time).unwrap_or_default();
        let (kind, namespace, name, message) =
            (text(row, kind), text(row, namespace), text(row, name), text(row, message));
        let of_that_name = || created.get(&(namespace, name));
        let before = |of: &Vec<i64>| of.iter().rfind(|created_ms| **created_ms <= at_ms).copied();
        let created_ms = if kind == "Pod" { of_that_name().and_then(before).unwrap_or_default() } else { 0 };
        let key = Key {
            component: text(row, component),
            node: text(row, node),
            event_type: text(row, event_type),
            reason: text(row, reason),
            message: if message.starts_with(COMBINED) { COMBINED } else { message },
            about: About { kind, namespace, name, created_ms },
        };
        let entry = found.entry(key);
        let happened = entry.or_insert(Happened { first_ms: at_ms, last_ms: at_ms, count: 0, message });
        (happened.last_ms, happened.message) = (at_ms, message);
        happened.count += 1;
    }
    found
}

/// The name of an Event: that of its object, and when it was; two at once are a nanosecond apart.
fn event_name(taken: &mut FxHashSet<String>, object: &str, namespace: &str, unix_nanos: i64) -> String {
    // What cannot be part of a name gives way to a UID in the API, too.
    let is_lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    let is_fit = !object.is_empty() && object.len() < 236 && object.chars().all(is_lower);
    let base = if is_fit { Cow::Borrowed(object) } else { Cow::Owned(uuid(object)) };
    let mut nanos = unix_nanos;
    loop {
        let name = format!("{base}.{nanos:x}");
        if taken.insert(format!("{namespace}/{name}")) {
            return name;
        }
        nanos += 1;
    }
}

fn uid(about: &About<'_>) -> String {
    let About { kind, namespace, name, created_ms } = about;
    uuid(&format!("{kind}/{namespace}/{name}/{created_ms}"))
}

/// A UUID of the form that is left to whoever makes it (RFC 9562, version 8).
fn uuid(text: &str) -> String {
    let (high, low) = (stable_hash(text.as_bytes()), stable_hash(format!("{text}#").as_bytes()));
    let high = high & !0xf000 | 0x8000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(events: &str) -> Vec<Value> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
        write("events.csv", &format!("{}\n{events}", COLUMNS.join(",")));
        write("pods.csv", "namespace,name,created_s\nshop,db-0,0.000\nshop,db-0,60.000\n");
        let api_version = |kind: &str| (kind != "Kubectl").then_some("v1");
        let run = RunTables::new(dir.path().to_owned(), Value::Null);
        let list = event_list(&run, api_version, |ms| format!("T{ms}"), |ms| ms * 1_000_000).expect("a list");
        assert_eq!((&list["apiVersion"], &list["kind"]), (&json!("v1"), &json!("List")));
        list["items"].as_array().expect("items").clone()
    }

    #[test]
    fn what_repeats_is_counted_and_what_is_another_object_is_not_the_same() {
        let row = |at: &str, name: &str, message: &str| {
            format!("{at},kubelet,Warning,Unhealthy,Pod,shop,{name},node-1,{message}\n")
        };
        let rows = [row("1.000", "db-0", "x"), row("2.5", "db-0", "x"), row("61.000", "db-0", "x")].concat();
        let events = list(&rows);
        let told = |event: &Value| {
            (event["count"].as_u64(), event["firstTimestamp"].to_string(), event["lastTimestamp"].to_string())
        };
        let stamp = |ms: u64| format!("\"T{ms}\"");
        assert_eq!(told(&events[0]), (Some(2), stamp(1000), stamp(2500)));
        assert_eq!(told(&events[1]), (Some(1), stamp(61_000), stamp(61_000)));
        assert_ne!(events[0]["involvedObject"]["uid"], events[1]["involvedObject"]["uid"]);
        assert_eq!(events[0]["source"], json!({"component": "kubelet", "host": "node-1"}));
        assert_eq!(events[0]["metadata"]["name"], format!("db-0.{:x}", 1_000_000_000));
    }

    #[test]
    fn combined_ones_are_one_with_the_last_message() {
        let row =
            |at: u32| format!("{at}.000,job-controller,Normal,Made,Job,shop,j,,(combined from similar events): {at}\n");
        let events = list(&[row(1), row(2)].concat());
        assert_eq!((events.len(), &events[0]["count"]), (1, &json!(2)));
        assert_eq!(events[0]["message"], "(combined from similar events): 2");
    }

    #[test]
    fn names_are_unique_and_what_no_api_has_is_left_out() {
        let rows = "1.000,a,Normal,R,Node,,N_1,,x\n1.000,a,Normal,S,Node,,N_1,,y\n1.000,a,Normal,R,Node,,n,,x\n\
                    1.000,a,Normal,S,Node,,n,,x\n2.000,scenario,Normal,R,Node,,n,,x\n2.000,upgrade,Normal,R,Kubectl,,n,,x\n";
        let events = list(rows);
        let mut names: Vec<String> = events.iter().map(|event| event["metadata"]["name"].to_string()).collect();
        names.sort();
        names.dedup();
        assert_eq!((events.len(), names.len()), (4, 4));
        assert!(names.iter().all(|name| !name.contains('_')), "{names:?}");
        assert_eq!(events[0]["metadata"]["namespace"], "default");
        assert!(events[0]["involvedObject"]["namespace"].is_null());
    }
}
