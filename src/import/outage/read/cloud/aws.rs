//! Amazon: EventBridge, CloudTrail, statuses of instances.

use serde_json::Value;

use super::{Told, items, text, time};
use crate::evidence::{Bounds, Notice};
use crate::import::outage::ClockOptions;
use crate::units::SimDuration;

/// From the warning to the end of a spot instance.
const SPOT_WARNING: SimDuration = SimDuration::from_secs(120);
/// Texts one in the other in which queues and topics carry an event.
const WRAPPERS_MAX: usize = 4;

/// What an event, or whatever carries it, says.
pub(super) fn told(value: &Value, clock: &ClockOptions) -> Vec<Told> {
    unwrap(value, clock, WRAPPERS_MAX)
}

fn unwrap(value: &Value, clock: &ClockOptions, layers: usize) -> Vec<Told> {
    if value.get("detail-type").is_some() {
        return of_event(value, clock);
    }
    if value.get("eventSource").is_some() {
        return of_trail(value, clock);
    }
    if value.get("InstanceId").is_some() {
        return of_status(value, clock);
    }
    let carried = ["Body", "body", "Message", "CloudTrailEvent", "@message"].map(|field| text(value, &[field]));
    let Some(carried) = carried.into_iter().find(|carried| carried.starts_with('{')).filter(|_| layers > 0) else {
        return Vec::new();
    };
    serde_json::from_str(carried).map_or(Vec::new(), |inner: Value| unwrap(&inner, clock, layers - 1))
}

/// An event of EventBridge.
fn of_event(event: &Value, clock: &ClockOptions) -> Vec<Told> {
    let Some(when) = time(text(event, &["time"]), clock) else { return Vec::new() };
    let one = |machine: &str, notice: Notice| {
        let deadline = (notice == Notice::SpotInterruption).then(|| when.earliest.later(SPOT_WARNING));
        vec![Told { machine: machine.to_owned(), notice, when, deadline }]
    };
    let instance = text(event, &["detail", "instance-id"]);
    match text(event, &["detail-type"]) {
        "EC2 Spot Instance Interruption Warning" => one(instance, Notice::SpotInterruption),
        "EC2 Instance Rebalance Recommendation" => one(instance, Notice::Rebalance),
        "EC2 Instance State-change Notification" => match text(event, &["detail", "state"]) {
            "running" => one(instance, Notice::Running),
            "stopping" | "shutting-down" => one(instance, Notice::Stopping),
            "stopped" | "terminated" => one(instance, Notice::Stopped),
            _ => Vec::new(),
        },
        "EC2 Instance-terminate Lifecycle Action" => {
            one(text(event, &["detail", "EC2InstanceId"]), Notice::Termination)
        }
        "EC2 Instance Terminate Successful" => one(text(event, &["detail", "EC2InstanceId"]), Notice::Stopped),
        "AWS Health Event" => of_health(event, when, clock),
        _ => Vec::new(),
    }
}

fn of_health(event: &Value, when: Bounds, clock: &ClockOptions) -> Vec<Told> {
    let code = text(event, &["detail", "eventTypeCode"]);
    let Some(notice) = scheduled(code) else { return Vec::new() };
    let deadline = time(text(event, &["detail", "startTime"]), clock).map(|begin| begin.earliest);
    let entities = items(event, &["detail", "affectedEntities"]).iter().map(|entity| text(entity, &["entityValue"]));
    entities.map(|machine| Told { machine: machine.to_owned(), notice, when, deadline }).collect()
}

/// What is scheduled, by the codes of Health (`AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED`) and of instances (`instance-retirement`).
fn scheduled(code: &str) -> Option<Notice> {
    let code = code.to_ascii_lowercase().replace('_', "-");
    let is_of_instances = code.starts_with("aws-ec2-") || !code.starts_with("aws-");
    let has = |word: &str| is_of_instances && code.contains(word);
    if has("reboot") || has("system-maintenance") {
        Some(Notice::Reboot)
    } else if has("retirement") || has("terminat") {
        Some(Notice::Termination)
    } else if has("stop") {
        Some(Notice::Stopping)
    } else {
        None
    }
}

/// A line of CloudTrail. What was refused changed nothing.
fn of_trail(event: &Value, clock: &ClockOptions) -> Vec<Told> {
    let notice = match text(event, &["eventName"]) {
        "TerminateInstances" => Notice::Termination,
        "StopInstances" => Notice::Stopping,
        "RebootInstances" => Notice::Reboot,
        "StartInstances" => Notice::Running,
        "BidEvictedEvent" => Notice::SpotInterruption,
        _ => return Vec::new(),
    };
    let when = time(text(event, &["eventTime"]), clock).filter(|_| event.get("errorCode").is_none_or(Value::is_null));
    let Some(when) = when else { return Vec::new() };
    let asked =
        items(event, &["requestParameters", "instancesSet", "items"]).iter().map(|item| text(item, &["instanceId"]));
    let evicted = items(event, &["serviceEventDetails", "instanceIdSet"]).iter().filter_map(Value::as_str);
    let machines = asked.chain(evicted);
    machines.map(|machine| Told { machine: machine.to_owned(), notice, when, deadline: None }).collect()
}

/// What `aws ec2 describe-instance-status` says is scheduled. When it was announced it does not say: until it comes about it is known.
fn of_status(status: &Value, clock: &ClockOptions) -> Vec<Told> {
    let machine = text(status, &["InstanceId"]);
    let open = items(status, &["Events"]).iter().filter(|event| {
        let description = text(event, &["Description"]);
        !description.starts_with("[Completed]") && !description.starts_with("[Canceled]")
    });
    let told = open.filter_map(|event| {
        let when = time(text(event, &["NotBefore"]), clock)?;
        let notice = scheduled(text(event, &["Code"]))?;
        Some(Told { machine: machine.to_owned(), notice, when, deadline: Some(when.earliest) })
    });
    told.collect()
}
