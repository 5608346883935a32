//! Events, which are served in two groups: each shows the same ones.

use serde_json::{Map, Value};

use super::resources::{EVENTS_GROUP, Resource};
#[cfg(feature = "serve")]
use super::{
    ClientRequest, Method, Path, Response, Status, Target,
    options::{DeleteOptions, check_write},
    patches::Form,
    writes::check_uid,
};

/// The version of the group.
const GROUP_VERSION: &str = "events.k8s.io/v1";

/// Fields of the core's Event, and what they are called in the group's own.
///
/// # Source
/// kube-apiserver, conversion of `events.k8s.io/v1`.
const FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// An Event of the core's, as the resource's group has it.
pub(crate) fn in_group(event: Value, resource: &Resource) -> Value {
    match resource.group.as_str() {
        EVENTS_GROUP => renamed(event, &FIELDS, GROUP_VERSION),
        _ => event,
    }
}

/// An Event of any group as the core has it.
pub(crate) fn of_core(event: Value) -> Value {
    renamed(event, &FIELDS.map(|(core, own)| (own, core)), "v1")
}

/// An answer about Events of the core, as the group has it.
pub(super) fn answered(body: &mut Value) {
    let kind = body["kind"].as_str().unwrap_or_default();
    match kind {
        "Event" => *body = renamed(body.take(), &FIELDS, GROUP_VERSION),
        "EventList" => {
            body["apiVersion"] = GROUP_VERSION.into();
            for item in body["items"].as_array_mut().into_iter().flatten() {
                *item = renamed(item.take(), &FIELDS, GROUP_VERSION);
            }
        }
        _ => {}
    }
}

/// What is to become of an Event that is none of the store's.
#[cfg(feature = "serve")]
#[derive(Debug)]
pub(crate) enum Change {
    /// It is deleted, which is answered so.
    Gone(Response),
    /// It is another, as the core has it.
    Other(Value),
}

/// What a client asks for of an Event that the run has posted; `live` is it, as the core has it.
///
/// # Errors
/// Those of any object.
#[cfg(feature = "serve")]
pub(crate) fn changed(
    request: &ClientRequest,
    path: &Path,
    target: &Target,
    live: &Value,
) -> Result<Change, Box<Status>> {
    check_write(request, path)?;
    let body = request.value()?;
    let mut after = match request.method {
        Method::Post => return Err(Box::new(Status::method_not_allowed())),
        Method::Delete => {
            let options = DeleteOptions::read(path, &body)?;
            check_uid(&options.uid.into(), live, target)?;
            let Resource { group, plural, .. } = &target.resource;
            return Ok(Change::Gone(Response::gone(&target.name, group, plural, &live["metadata"]["uid"])));
        }
        Method::Put => body,
        Method::Patch => {
            let form = Form::of(request)?;
            let form = if form == Form::Apply { Form::Merge } else { form };
            form.patched(&in_group(live.clone(), &target.resource), &body, true)?
        }
    };
    check_uid(&after["metadata"]["uid"], live, target)?;
    if after["metadata"]["name"].as_str().is_some_and(|name| name != target.name) {
        return Err(Box::new(Status::bad_request("the name of the object does not match the name on the URL")));
    }
    let Some(metadata) = after.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Err(Box::new(Status::bad_request("metadata is no object")));
    };
    for field in ["name", "namespace", "uid", "creationTimestamp"] {
        metadata.insert(field.to_owned(), live["metadata"][field].clone());
    }
    Ok(Change::Other(of_core(after)))
}

fn renamed(event: Value, names: &[(&str, &str)], api_version: &str) -> Value {
    let Value::Object(fields) = event else { return event };
    let is_one = fields.contains_key("apiVersion");
    let name = |field: String| match names.iter().find(|(from, _)| *from == field) {
        Some((_, to)) => (*to).to_owned(),
        None => field,
    };
    let mut fields: Map<String, Value> = fields.into_iter().map(|(field, value)| (name(field), value)).collect();
    if is_one {
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    fields.into()
}
