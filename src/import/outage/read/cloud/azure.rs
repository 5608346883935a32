//! Azure: scheduled events of virtual machines, and the activity log.

use serde_json::Value;

use super::{Told, items, text, time};
use crate::evidence::{Bounds, Notice};
use crate::import::outage::ClockOptions;
use crate::units::SimDuration;

/// What an event says.
pub(super) fn told(value: &Value, clock: &ClockOptions) -> Vec<Told> {
    if value.get("EventType").is_some() { of_scheduled(value, clock) } else { of_activity(value, clock) }
}

/// A scheduled event. It does not say when it was announced: at the earliest so long before as is promised.
fn of_scheduled(event: &Value, clock: &ClockOptions) -> Vec<Told> {
    let (notice, seconds) = match text(event, &["EventType"]) {
        "Reboot" => (Notice::Reboot, 15 * 60),
        "Redeploy" => (Notice::Reboot, 10 * 60),
        "Preempt" => (Notice::SpotInterruption, 30),
        "Terminate" => (Notice::Termination, 15 * 60),
        // Machines that freeze go on where they were.
        _ => return Vec::new(),
    };
    // It is empty once it has begun.
    let Some(begin) = time(text(event, &["NotBefore"]), clock) else { return Vec::new() };
    let earliest = begin.earliest.earlier(SimDuration::from_secs(seconds));
    let when = Bounds { earliest, latest: begin.latest };
    let machines = items(event, &["Resources"]).iter().filter_map(Value::as_str);
    let one = |machine: &str| Told { machine: machine.to_owned(), notice, when, deadline: Some(begin.earliest) };
    machines.map(one).collect()
}

/// A line of the activity log.
fn of_activity(event: &Value, clock: &ClockOptions) -> Vec<Told> {
    let operation = match event.get("operationName") {
        Some(Value::String(name)) => name.as_str(),
        _ => text(event, &["operationName", "value"]),
    };
    let health = text(event, &["properties", "currentHealthStatus"]);
    // An operation has a line for its begin, and another for its end.
    let is_begin = matches!(text(event, &["status", "value"]), "" | "Started" | "Accepted");
    let operation = operation.to_ascii_lowercase();
    let is_of_machine = operation.starts_with("microsoft.compute/virtualmachine");
    let notice = match health {
        "Unavailable" => Notice::Stopped,
        "Available" => Notice::Running,
        _ if !is_begin || !is_of_machine => return Vec::new(),
        _ if operation.ends_with("/restart/action") || operation.ends_with("/redeploy/action") => Notice::Reboot,
        _ if operation.ends_with("/deallocate/action") || operation.ends_with("/poweroff/action") => Notice::Stopping,
        _ if operation.ends_with("/start/action") => Notice::Running,
        _ if operation.ends_with("/delete") || operation.ends_with("/delete/action") => Notice::Termination,
        _ => return Vec::new(),
    };
    let Some(when) = time(text(event, &["eventTimestamp"]), clock) else { return Vec::new() };
    let resource = [text(event, &["resourceId"]), text(event, &["resourceId", "value"])];
    let resource = resource.into_iter().find(|id| !id.is_empty()).unwrap_or_default();
    let machine = resource.rsplit('/').next().unwrap_or_default().to_owned();
    vec![Told { machine, notice, when, deadline: None }]
}
