//! Google Cloud: what the audit log says of Compute Engine's instances.

use serde_json::Value;

use super::{Told, text, time};
use crate::evidence::Notice;
use crate::import::outage::ClockOptions;

/// What an entry says. An operation has an entry for its begin, and another for its end.
pub(super) fn told(value: &Value, clock: &ClockOptions) -> Vec<Told> {
    let method = text(value, &["protoPayload", "methodName"]);
    let method = method.rsplit_once("compute.instances.").map_or("", |(_, name)| name);
    let notice = match method {
        "preempted" => Notice::SpotInterruption,
        "hostError" => Notice::Stopped,
        "automaticRestart" | "start" => Notice::Running,
        "terminateOnHostMaintenance" | "stop" | "suspend" | "guestTerminate" => Notice::Stopping,
        "reset" => Notice::Reboot,
        "delete" => Notice::Termination,
        _ => return Vec::new(),
    };
    let flag = |name: &str| value.get("operation").and_then(|operation| operation.get(name)).and_then(Value::as_bool);
    if flag("last") == Some(true) && flag("first") != Some(true) {
        return Vec::new();
    }
    let Some(when) = time(text(value, &["timestamp"]), clock) else { return Vec::new() };
    // Nodes of GKE have the names of their instances.
    let name = text(value, &["protoPayload", "resourceName"]).rsplit_once("/instances/").map(|(_, name)| name);
    let id = text(value, &["resource", "labels", "instance_id"]);
    let machine = name.filter(|name| !name.is_empty()).unwrap_or(id).to_owned();
    vec![Told { machine, notice, when, deadline: None }]
}
