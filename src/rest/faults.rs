//! `kind: Fault`: what breaks, applied and deleted as any object.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Response, Status};
use super::fields::{Selection, Traits};
use super::kept::{FaultObject, FaultStanding, FaultState};
use super::options::{DeleteOptions, ListOptions};
use super::patches::Form;
use super::path::{Path, Target};
use super::writes::{check_uid, generated};
use super::{ClientRequest, Clock, Cluster, Method};
use crate::chaos::FaultSpec;

type Refused = Box<Status>;

/// The API group of faults.
pub const FAULT_GROUP: &str = "kubesquall.sim";
/// Its version.
pub const FAULT_VERSION: &str = "v1alpha1";

/// Faults that clients may have at once.
const FAULTS_MAX: usize = 1000;

pub(super) fn handle(
    request: &ClientRequest,
    target: &Target,
    body: Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    if !matches!(target.subresource.as_str(), "") {
        return Err(Box::new(Status::no_such_path()));
    }
    let path = Path::parse(&request.path)?;
    match (request.method, target.name.is_empty()) {
        (Method::Post, true) => create(target, body, cluster),
        (Method::Put, false) => match cluster.kept().faults.contains_key(&target.name) {
            true => change(target, body, cluster),
            false => Err(Box::new(target.missing())),
        },
        (Method::Patch, false) => patch(request, target, &body, cluster),
        (Method::Delete, false) => delete(target, &DeleteOptions::read(&path, &body)?, cluster),
        (Method::Delete, true) => {
            ListOptions::read(&path)?;
            let (options, selection) = (DeleteOptions::read(&path, &body)?, Selection::read(&path, &target.resource)?);
            let mut items = Vec::new();
            let names: Vec<String> = cluster.kept().faults.keys().cloned().collect();
            for name in names {
                let Some(live) = shown(&name, cluster) else { continue };
                if selection.chooses("", &name, &Traits::of(&target.resource, &live)) {
                    delete(&Target { name, ..target.clone() }, &options, cluster)?;
                    items.push(live);
                }
            }
            let api_version = target.resource.api_version();
            Ok(Response::ok(json!({"apiVersion": api_version, "kind": "FaultList", "metadata": {}, "items": items})))
        }
        _ => Err(Box::new(Status::method_not_allowed())),
    }
}

/// # Source
/// apimachinery, `IsDNS1123Subdomain`.
fn is_object_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=253).contains(&name.len()) && name.chars().all(is_inner) && name.starts_with(is_end) && name.ends_with(is_end)
}

/// A fault as clients see it.
pub(crate) fn shown(name: &str, cluster: &dyn Cluster) -> Option<Value> {
    let fault = cluster.kept().faults.get(name)?;
    Some(rendered(name, fault, &cluster.fault_standing(fault.place), Clock(cluster.epoch_unix_nanos())))
}

/// The same of one that is known.
pub(crate) fn rendered(name: &str, fault: &FaultObject, standing: &FaultStanding, clock: Clock) -> Value {
    let mut value = fault.written.clone();
    let began = clock.stamp(fault.began_at);
    value["metadata"]["creationTimestamp"] = began.clone();
    value["metadata"]["uid"] = fault.uid(name).to_string().into();
    value["metadata"]["generation"] = 1.into();
    let mut status = json!({"phase": standing.state.as_str(), "beganAt": began});
    if let Some(outcome) = &standing.outcome {
        status["message"] = outcome.message.clone().into();
        status["targets"] = outcome.targets.clone().into();
    }
    if let Some(length) = fault.spec.length {
        status["endsAt"] = clock.stamp(fault.began_at + length);
    }
    value["status"] = status;
    value
}

/// The fault of a body.
fn read(target: &Target, body: &Value) -> Result<(String, FaultSpec, Value), Refused> {
    let invalid = |name: &str, text: &str| Box::new(Status::invalid("Fault.kubesquall.sim", name, text));
    let name = match body["metadata"]["name"].as_str() {
        Some(name) if target.name.is_empty() || target.name == name => name.to_owned(),
        None if !target.name.is_empty() => target.name.clone(),
        None => return Err(invalid("", "metadata.name: Required value: name or generateName is required")),
        Some(_) => {
            let text = "the name of the object does not match the name on the URL";
            return Err(Box::new(Status::bad_request(text)));
        }
    };
    if !is_object_name(&name) {
        return Err(invalid(&name, &format!("metadata.name: Invalid value: {name:?}: it is no name of an object")));
    }
    if let Some(kind) = body.get("kind").and_then(Value::as_str).filter(|kind| *kind != "Fault") {
        return Err(Box::new(Status::bad_request(format!("{kind} is not a Fault"))));
    }
    let spec: FaultSpec = serde_json::from_value(body["spec"].clone())
        .map_err(|error| invalid(&name, &format!("spec: Invalid value: {error}")))?;
    check_fields(&spec, &body["spec"]).map_err(|text| invalid(&name, &text))?;
    let mut metadata = serde_json::Map::from_iter([("name".to_owned(), name.clone().into())]);
    for field in ["labels", "annotations"] {
        let Some(texts) = body["metadata"].get(field).filter(|texts| !texts.is_null()) else { continue };
        if let Err(error) = BTreeMap::<String, String>::deserialize(texts) {
            return Err(invalid(&name, &format!("metadata.{field}: Invalid value: {error}")));
        }
        metadata.insert(field.to_owned(), texts.clone());
    }
    let written = json!({
        "apiVersion": format!("{FAULT_GROUP}/{FAULT_VERSION}"), "kind": "Fault", "metadata": metadata,
        "spec": body["spec"],
    });
    Ok((name, spec, written))
}

/// What its kind needs is there, and nothing that means nothing for it: as in a scenario.
fn check_fields(spec: &FaultSpec, written: &Value) -> Result<(), String> {
    let (kind, fields) = (spec.kind().as_str(), spec.kind().fields());
    for key in written.as_object().into_iter().flat_map(serde_json::Map::keys).filter(|key| *key != "kind") {
        if !fields.iter().any(|field| field.name == key) {
            return Err(format!("spec.{key}: Forbidden: it means nothing for {kind}"));
        }
    }
    let is_there = |field: &str| match &written[field] {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    match fields.iter().find_map(|field| Some((field.name, field.needed.filter(|_| !is_there(field.name))?))) {
        Some((field, help)) => Err(format!("spec.{field}: Required value: {help}")),
        None => Ok(()),
    }
}

fn create(target: &Target, mut body: Value, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    if let (None, Some(prefix)) = (body["metadata"]["name"].as_str(), body["metadata"]["generateName"].as_str()) {
        body["metadata"]["name"] = generated(prefix, cluster).into();
    }
    let (name, spec, written) = read(target, &body)?;
    if cluster.kept().faults.contains_key(&name) {
        let text = format!("faults.{FAULT_GROUP} \"{name}\" already exists");
        let details = json!({"name": name, "group": FAULT_GROUP, "kind": "faults"});
        return Err(Box::new(Status { details, ..Status::new(409, "AlreadyExists", text) }));
    }
    if cluster.kept().faults.len() >= FAULTS_MAX {
        let text = format!("there are {FAULTS_MAX} faults: delete those that are over");
        return Err(Box::new(Status::new(403, "Forbidden", text)));
    }
    let began_at = cluster.now();
    let place = cluster.begin_fault(spec.clone());
    cluster.kept_mut().faults.insert(name.clone(), FaultObject { written, spec, began_at, place });
    let standing = cluster.fault_standing(place);
    let missed = standing.outcome.filter(|_| standing.state == FaultState::Missed);
    let warnings = missed.map(|outcome| outcome.message.clone()).into_iter().collect();
    Ok(Response::created(shown(&name, cluster).unwrap_or_default()).with(warnings))
}

/// What goes wrong stays as it is once it has begun; labels and annotations may change.
fn change(target: &Target, body: Value, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    let (name, spec, written) = read(target, &body)?;
    let Some(fault) = cluster.kept_mut().faults.get_mut(&name) else { return Err(Box::new(target.missing())) };
    if fault.spec != spec {
        let text = "spec: Forbidden: a fault that has begun cannot be changed: delete it and apply another";
        return Err(Box::new(Status::invalid("Fault.kubesquall.sim", &name, text)));
    }
    fault.written = written;
    Ok(Response::ok(shown(&name, cluster).unwrap_or_default()))
}

fn patch(
    request: &ClientRequest,
    target: &Target,
    body: &Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    let form = Form::of(request)?;
    let before = cluster.kept().faults.get(&target.name).map(|fault| fault.written.clone());
    match (form, before) {
        (Form::Apply, None) => create(target, body.clone(), cluster),
        (_, None) => Err(Box::new(target.missing())),
        (Form::Apply, Some(before)) => {
            let after = Form::Merge.patched(&before, body, false)?;
            change(target, after, cluster)
        }
        (form, Some(before)) => {
            let after = form.patched(&before, body, false)?;
            change(target, after, cluster)
        }
    }
}

/// Deleting a fault ends it.
fn delete(target: &Target, options: &DeleteOptions, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    let Some(live) = shown(&target.name, cluster) else { return Err(Box::new(target.missing())) };
    check_uid(&options.uid.clone().into(), &live, target)?;
    if let Some(fault) = cluster.kept_mut().faults.remove(&target.name) {
        cluster.end_fault(fault.place);
    }
    Ok(Response::gone(&target.name, FAULT_GROUP, "faults", &live["metadata"]["uid"]))
}
