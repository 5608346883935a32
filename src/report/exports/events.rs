//! Events as `kubectl get events -o yaml` prints them: a List of v1 Events.

use std::borrow::Cow;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use super::identity::{About, CREATIONS, Creations, Epoch, uuid};
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

/// How often it happened, from when to when, in milliseconds since t=0, and what was said last.
struct Happened<'a> {
    first_ms: i64,
    last_ms: i64,
    count: u64,
    message: &'a str,
}

/// The reasons of kube-scheduler's Events, which are those of the newer recorder: it posts them under the names of its profiles.
const OF_A_SCHEDULER: [&str; 3] = ["Scheduled", "FailedScheduling", "Preempted"];

/// A run's Events as a List: the API's of events.csv, so neither timeline actions nor faults.
///
/// `api_version` of a kind is none of what is no object of the API, such as a kubectl line.
///
/// # Errors
///
/// If a table is missing or damaged.
///
/// # Source
/// client-go, tools/record: `makeEvent`, `GenerateEventName`, `eventObserve`; tools/events, `makeEvent` and `recordToSink` of the Events of
/// kube-scheduler, as the core API shows them.
///
/// # Differs
/// Events do not expire here. kube-scheduler's recorder looks at the version of the pod and not at the message (`getKey`); tables have no
/// versions.
/// UIDs are made of kind, namespace, name and creation, as tables have none.
pub(crate) fn event_list(
    run: &RunTables,
    api_version: impl Fn(&str) -> Option<&'static str>,
    epoch: Epoch,
) -> Result<Value, TableError> {
    let table = run.read("events.csv", COLUMNS)?;
    let created = Creations::new(run.read("pods.csv", CREATIONS)?);
    let mut taken = FxHashSet::default();
    let items = happened(table, &created, &api_version).into_iter().map(|(key, happened)| {
        let About { kind, namespace, name, .. } = key.about;
        let own_namespace = if namespace.is_empty() { "default" } else { namespace };
        let mut involved = json!({"kind": kind, "name": name, "uid": key.about.uid()});
        for (field, value) in [("apiVersion", api_version(kind).unwrap_or_default()), ("namespace", namespace)] {
            if !value.is_empty() {
                involved[field] = value.into();
            }
        }
        let event_name = event_name(&mut taken, name, own_namespace, epoch.unix_nanos(happened.first_ms));
        let mut event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": event_name,
                "namespace": own_namespace,
                "uid": uuid(&format!("Event/{own_namespace}/{event_name}")),
                "creationTimestamp": epoch.second(happened.first_ms),
            },
            "involvedObject": involved,
            "type": key.event_type,
            "reason": key.reason,
            "message": happened.message,
            "reportingComponent": key.component,
        });
        if OF_A_SCHEDULER.contains(&key.reason) {
            as_newer(&mut event, &key, &happened, epoch)
        } else {
            as_older(&mut event, &key, &happened, epoch)
        }
        event
    });
    let items: Vec<Value> = items.collect();
    Ok(json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}))
}

/// The fields of the recorder of kubelets and controllers: whole seconds and a count.
fn as_older(event: &mut Value, key: &Key<'_>, happened: &Happened<'_>, epoch: Epoch) {
    // Only kubelets name the machine that they run on.
    let host = if key.component == "kubelet" { key.node } else { "" };
    event["source"] = json!({"component": key.component});
    if !host.is_empty() {
        event["source"]["host"] = host.into();
    }
    event["count"] = happened.count.into();
    event["firstTimestamp"] = epoch.second(happened.first_ms).into();
    event["lastTimestamp"] = epoch.second(happened.last_ms).into();
    event["eventTime"] = Value::Null;
    event["reportingInstance"] = host.into();
}

/// The fields of the recorder of kube-scheduler: microseconds, and a series from the second time on.
fn as_newer(event: &mut Value, key: &Key<'_>, happened: &Happened<'_>, epoch: Epoch) {
    let action = match key.reason {
        "Scheduled" => "Binding",
        "Preempted" => "Preempting",
        _ => "Scheduling",
    };
    event["source"] = json!({});
    event["action"] = action.into();
    event["firstTimestamp"] = Value::Null;
    event["lastTimestamp"] = Value::Null;
    event["eventTime"] = epoch.microsecond(happened.first_ms).into();
    event["reportingInstance"] = format!("{}-0", key.component).into();
    if happened.count > 1 {
        event["series"] = json!({"count": happened.count, "lastObservedTime": epoch.microsecond(happened.last_ms)});
    }
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
        let created_ms = if kind == "Pod" { created.of(namespace, name, at_ms) } else { 0 };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// With t=0 at the Unix epoch.
    fn list(events: &str) -> Vec<Value> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
        write("events.csv", &format!("{}\n{events}", COLUMNS.join(",")));
        write("pods.csv", "namespace,name,created_s\nshop,db-0,0.000\nshop,db-0,60.000\n");
        let api_version = |kind: &str| (kind != "Kubectl").then_some("v1");
        let run = RunTables::new(dir.path().to_owned(), Value::Null);
        let list = event_list(&run, api_version, Epoch::from_unix_nanos(0)).expect("a list");
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
        let stamp = |time: &str| format!("\"1970-01-01T{time}Z\"");
        assert_eq!(told(&events[0]), (Some(2), stamp("00:00:01"), stamp("00:00:02")));
        assert_eq!(told(&events[1]), (Some(1), stamp("00:01:01"), stamp("00:01:01")));
        assert_ne!(events[0]["involvedObject"]["uid"], events[1]["involvedObject"]["uid"]);
        assert_eq!(events[0]["source"], json!({"component": "kubelet", "host": "node-1"}));
        assert_eq!(events[0]["metadata"]["name"], format!("db-0.{:x}", 1_000_000_000));
    }

    #[test]
    fn the_scheduler_counts_in_series_and_to_the_microsecond() {
        let row = |at: &str| format!("{at},default-scheduler,Warning,FailedScheduling,Pod,shop,db-0,,0/1 nodes\n");
        let events = list(&[row("61.250"), row("90.001")].concat());
        assert_eq!(events[0]["eventTime"], "1970-01-01T00:01:01.250000Z");
        assert_eq!(events[0]["series"], json!({"count": 2, "lastObservedTime": "1970-01-01T00:01:30.001000Z"}));
        assert_eq!((&events[0]["source"], &events[0]["firstTimestamp"]), (&json!({}), &Value::Null));
        assert_eq!(
            (&events[0]["reportingComponent"], &events[0]["action"]),
            (&json!("default-scheduler"), &json!("Scheduling"))
        );
        assert!(list(&row("61.250"))[0]["series"].is_null());
        let packing = &list(&row("61.250").replace("default-scheduler", "packing"))[0];
        assert_eq!(
            (&packing["reportingComponent"], &packing["reportingInstance"], &packing["eventTime"]),
            (&json!("packing"), &json!("packing-0"), &events[0]["eventTime"])
        );
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
