//! What clouds say of machines: that they will be taken back, rebooted or ended, and that they were.
//!
//! # Source
//!
//! Amazon EventBridge (EC2, Auto Scaling, Health), as it is or as queues and topics carry it, CloudTrail, `aws ec2
//! describe-instance-status`; Azure's scheduled events and activity log; Google Cloud's audit log of Compute Engine.

mod aws;
mod azure;
mod google;

use std::io::{self, BufRead};

use rustc_hash::FxHashSet;
use serde_json::Value;

use super::{json, stamp};
use crate::arena::{Symbol, stable_hash};
use crate::evidence::{Bounds, Instant, Notice, Record, RecordKind, What};
use crate::import::outage::{ClockOptions, Evidence};

/// Fields in which clouds keep lists of what they have to say.
const LISTS: [&str; 6] = ["Records", "Messages", "Events", "InstanceStatuses", "value", "entries"];
/// Texts by which notices are told from other JSON.
const MARKS: [&str; 8] = [
    "detail-type",
    "\"InstanceStatuses\"",
    "\"DocumentIncarnation\"",
    "\"CloudTrailEvent\"",
    "\"ec2.amazonaws.com\"",
    "\"currentHealthStatus\"",
    "\"eventTimestamp\"",
    "compute.instances.",
];

/// What a cloud says of one machine.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    /// The id of the instance, or its name.
    machine: String,
    notice: Notice,
    when: Bounds,
    deadline: Option<Instant>,
}

/// Whether a text begins as notices do.
pub(super) fn is(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let has = |field: &str| text.contains(field);
    // Objects of clusters name their clouds, too.
    let is_object = has("\"apiVersion\"") && has("\"metadata\"");
    text.trim_start().starts_with(['{', '[']) && !is_object && MARKS.iter().any(|mark| has(mark))
}

/// Reads notices.
pub(super) fn read(name: &str, content: &mut dyn BufRead, clock: &ClockOptions, into: &mut Evidence) -> io::Result<()> {
    let record = into.begin(Record { name: name.to_owned(), kind: RecordKind::Cloud, covers: None, step: None });
    let mut seen = FxHashSet::default();
    let mut nameless = 0;
    json::read(name, content, &LISTS, into, &mut |into, _, place, value| {
        let told = told(&value, clock);
        nameless += usize::from(told.is_empty() && value.get("Code").is_some() && value.get("NotBefore").is_some());
        for Told { machine, notice, when, deadline } in told {
            if machine.is_empty() || !seen.insert(stable_hash(format!("{machine} {notice:?} {when:?}").as_bytes())) {
                continue;
            }
            let what = What::CloudNotice { machine: Symbol::new(&machine), notice, deadline };
            into.see(record, place, when, what);
        }
    })?;
    if nameless > 0 {
        into.not_read(
            name,
            "the metadata of an instance do not say which it is; `aws ec2 describe-instance-status` does",
        );
    }
    Ok(())
}

fn told(value: &Value, clock: &ClockOptions) -> Vec<Told> {
    let readers = [aws::told, azure::told, google::told];
    readers.iter().map(|read| read(value, clock)).find(|told| !told.is_empty()).unwrap_or_default()
}

/// The text at a path; empty if there is none.
fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    let found = path.iter().try_fold(value, |value, field| value.get(*field));
    found.and_then(Value::as_str).unwrap_or_default()
}

/// The items of the list at a path.
fn items<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    let found = path.iter().try_fold(value, |value, field| value.get(*field));
    found.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A time as clouds write it: RFC 3339, or `Mon, 19 Sep 2016 18:29:47 GMT` with or without the day.
fn time(text: &str, clock: &ClockOptions) -> Option<Bounds> {
    if let Some(bounds) = stamp::bounds(text, clock) {
        return Some(bounds);
    }
    let stamp = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Bounds::second(Instant::from_unix_nanos(i64::try_from(stamp.as_nanosecond()).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str, Notice, Option<&str>)]) {
        assert!(is(&text.as_bytes()[..text.len().min(4096)]), "{text}");
        let mut into = Evidence::new();
        read("notices.json", &mut text.as_bytes(), &ClockOptions::default(), &mut into).expect("a text");
        let found: Vec<String> =
            into.sightings.iter().map(|seen| format!("{} {:?}", seen.when.earliest, seen.what)).collect();
        let expected: Vec<String> = expected
            .iter()
            .map(|(when, machine, notice, deadline)| {
                let deadline = deadline.map(|text| Instant::parse(text).expect("a time"));
                let what = What::CloudNotice { machine: Symbol::new(machine), notice: *notice, deadline };
                format!("{} {what:?}", Instant::parse(when).expect("a time"))
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn event_bridge_is_read_however_it_is_carried() {
        let spot = r#"{"version":"0","id":"1","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2","account":"1","time":"2026-03-01T14:05:00Z","region":"us-east-1","resources":[],"detail":{"instance-id":"i-0a","instance-action":"terminate"}}"#;
        let expected = [("2026-03-01T14:05:00Z", "i-0a", Notice::SpotInterruption, Some("2026-03-01T14:07:00Z"))];
        check(spot, &expected);
        check(&format!("{spot}\n{spot}\n"), &expected);
        check(&format!("[{spot}]"), &expected);
        let text = serde_json::Value::String(spot.to_owned());
        check(&format!(r#"{{"Messages":[{{"MessageId":"m","Body":{text}}}]}}"#), &expected);
        let topic = serde_json::json!({"Type": "Notification", "Message": spot}).to_string();
        check(&format!(r#"{{"Records":[{{"body":{}}}]}}"#, serde_json::Value::String(topic)), &expected);
    }

    #[test]
    fn states_of_instances_are_their_real_times() {
        let state = |state: &str, second: u32| {
            format!(
                r#"{{"detail-type":"EC2 Instance State-change Notification","source":"aws.ec2","time":"2026-03-01T14:05:{second:02}Z","detail":{{"instance-id":"i-0a","state":"{state}"}}}}"#
            )
        };
        let states = ["pending", "running", "stopping", "stopped", "shutting-down", "terminated"];
        let text: Vec<String> = states.iter().zip(0..).map(|(name, second)| state(name, second)).collect();
        check(
            &text.join("\n"),
            &[
                ("2026-03-01T14:05:01Z", "i-0a", Notice::Running, None),
                ("2026-03-01T14:05:02Z", "i-0a", Notice::Stopping, None),
                ("2026-03-01T14:05:03Z", "i-0a", Notice::Stopped, None),
                ("2026-03-01T14:05:04Z", "i-0a", Notice::Stopping, None),
                ("2026-03-01T14:05:05Z", "i-0a", Notice::Stopped, None),
            ],
        );
    }

    #[test]
    fn announcements_have_deadlines() {
        check(
            r#"{"detail-type":"AWS Health Event","source":"aws.health","time":"2026-03-01T14:05:00Z","detail":{"service":"EC2","eventTypeCode":"AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED","eventTypeCategory":"scheduledChange","startTime":"Sun, 15 Mar 2026 09:00:00 GMT","affectedEntities":[{"entityValue":"i-0a"},{"entityValue":"i-0b"}]}}"#,
            &[
                ("2026-03-01T14:05:00Z", "i-0a", Notice::Termination, Some("2026-03-15T09:00:00Z")),
                ("2026-03-01T14:05:00Z", "i-0b", Notice::Termination, Some("2026-03-15T09:00:00Z")),
            ],
        );
        check(
            r#"{"InstanceStatuses":[{"InstanceId":"i-0a","Events":[{"Code":"system-reboot","NotBefore":"2026-03-02T01:00:00.000Z"},{"Code":"instance-stop","Description":"[Completed] x","NotBefore":"2026-03-02T01:00:00.000Z"}]}]}"#,
            &[("2026-03-02T01:00:00Z", "i-0a", Notice::Reboot, Some("2026-03-02T01:00:00Z"))],
        );
        check(
            r#"{"DocumentIncarnation":2,"Events":[{"EventId":"e","EventStatus":"Scheduled","EventType":"Preempt","ResourceType":"VirtualMachine","Resources":["aks-np1-1-vmss_0"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT","EventSource":"Platform"},{"EventId":"f","EventType":"Freeze","Resources":["x"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"}]}"#,
            &[("2016-09-19T18:29:17Z", "aks-np1-1-vmss_0", Notice::SpotInterruption, Some("2016-09-19T18:29:47Z"))],
        );
    }

    #[test]
    fn logs_of_what_was_done_to_machines_are_read() {
        check(
            r#"{"Records":[{"eventTime":"2026-03-01T14:05:00Z","eventSource":"ec2.amazonaws.com","eventName":"TerminateInstances","requestParameters":{"instancesSet":{"items":[{"instanceId":"i-0a"},{"instanceId":"i-0b"}]}}},{"eventTime":"2026-03-01T14:05:01Z","eventSource":"ec2.amazonaws.com","eventName":"RebootInstances","errorCode":"Client.UnauthorizedOperation","requestParameters":{"instancesSet":{"items":[{"instanceId":"i-0a"}]}}},{"eventTime":"2026-03-01T14:06:00Z","eventSource":"ec2.amazonaws.com","eventName":"BidEvictedEvent","serviceEventDetails":{"instanceIdSet":["i-0c"]}}]}"#,
            &[
                ("2026-03-01T14:05:00Z", "i-0a", Notice::Termination, None),
                ("2026-03-01T14:05:00Z", "i-0b", Notice::Termination, None),
                ("2026-03-01T14:06:00Z", "i-0c", Notice::SpotInterruption, None),
            ],
        );
        check(
            r#"[{"protoPayload":{"methodName":"compute.instances.preempted","resourceName":"projects/p/zones/us-central1-a/instances/gke-a-1"},"operation":{"first":true,"id":"o"},"resource":{"type":"gce_instance","labels":{"instance_id":"42"}},"timestamp":"2026-03-01T14:05:00.123456Z"},{"protoPayload":{"methodName":"compute.instances.preempted","resourceName":"projects/p/zones/us-central1-a/instances/gke-a-1"},"operation":{"last":true,"id":"o"},"timestamp":"2026-03-01T14:05:30Z"},{"protoPayload":{"methodName":"compute.instances.hostError"},"resource":{"labels":{"instance_id":"43"}},"timestamp":"2026-03-01T14:06:00Z"},{"protoPayload":{"methodName":"v1.compute.instances.get","resourceName":"projects/p/zones/z/instances/x"},"timestamp":"2026-03-01T14:06:00Z"}]"#,
            &[
                ("2026-03-01T14:05:00.123456Z", "gke-a-1", Notice::SpotInterruption, None),
                ("2026-03-01T14:06:00Z", "43", Notice::Stopped, None),
            ],
        );
        check(
            r#"[{"eventTimestamp":"2026-03-01T14:05:00.5Z","operationName":{"value":"Microsoft.Resourcehealth/healthevent/Activated/action"},"properties":{"currentHealthStatus":"Unavailable","previousHealthStatus":"Available"},"resourceId":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm-1"},{"eventTimestamp":"2026-03-01T14:09:00Z","operationName":{"value":"Microsoft.Compute/virtualMachines/restart/action"},"status":{"value":"Started"},"resourceId":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm-2"},{"eventTimestamp":"2026-03-01T14:10:00Z","operationName":{"value":"Microsoft.Compute/virtualMachines/restart/action"},"status":{"value":"Succeeded"},"resourceId":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm-2"}]"#,
            &[
                ("2026-03-01T14:05:00.5Z", "vm-1", Notice::Stopped, None),
                ("2026-03-01T14:09:00Z", "vm-2", Notice::Reboot, None),
            ],
        );
    }

    #[test]
    fn objects_of_clusters_are_no_notices() {
        assert!(!is(br#"{"apiVersion":"v1","kind":"Node","metadata":{"annotations":{"x":"\"ec2.amazonaws.com\" \"detail-type\""}}}"#));
    }

    #[test]
    fn metadata_of_an_instance_do_not_say_which_it_is() {
        let mut into = Evidence::new();
        let text = r#"[{"NotBefore":"21 Jan 2019 09:00:43 GMT","Code":"system-reboot","Description":"scheduled reboot","State":"active"}]"#;
        read("scheduled.json", &mut text.as_bytes(), &ClockOptions::default(), &mut into).expect("a text");
        assert!(into.sightings.is_empty());
        assert_eq!(into.unread.len(), 1);
    }
}
