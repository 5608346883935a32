//! Whole objects that are made, replaced and deleted.

use serde_json::{Value, json};

use super::answer::{Response, Status};
use super::fields::{Selection, Traits};
use super::kept::{Kept, Whose};
use super::options::DeleteOptions;
use super::path::{Path, Target};
use super::resources::{Resource, rendered, take_hashes};
use super::{Clock, Cluster};
use crate::arena::{Symbol, stable_hash};
use crate::component::{DeleteOptions as PodDeletion, Reply, Request};
use crate::kubectl::objects::{Found, all, has_namespace};
use crate::model::{Object, SAFE_LETTERS as LETTERS, api_fields};
use crate::state::{DeletionCause, Store, Uid};

type Refused = Box<Status>;

/// Metadata that is the server's to write.
pub(super) const OF_THE_SERVER: [&str; 8] = [
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "selfLink",
];

/// The object of a body, for a collection or an object; what clients are warned of.
///
/// # Errors
/// 400 and 422.
pub(super) fn read(path: &Path, target: &Target, mut body: Value) -> Result<(Object, Vec<String>), Refused> {
    let resource = &target.resource;
    let bad = |message: String| Box::new(Status::bad_request(message));
    let Some(fields) = body.as_object_mut() else {
        return Err(bad("the body of the request has no object".to_owned()));
    };
    fields.entry("apiVersion").or_insert_with(|| resource.api_version().into());
    fields.entry("kind").or_insert_with(|| resource.kind_name.clone().into());
    let said = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (said("apiVersion"), said("kind"));
    let expected = resource.api_version();
    let of_group = |version: &str| version.split_once('/').map_or("", |(group, _)| group).to_owned();
    if (of_group(&api_version), kind.as_str()) != (resource.group.clone(), resource.kind_name.as_str()) {
        let expected = format!("{expected}, Kind={}", resource.kind_name);
        return Err(bad(format!("{api_version}, Kind={kind} is not {expected}, which the path names")));
    }
    if api_version != expected {
        let text =
            format!("the API version in the data ({api_version}) does not match the expected API version ({expected})");
        return Err(bad(text));
    }
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else { return Err(bad("metadata is no object".to_owned())) };
    let own = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if resource.is_namespaced {
        if !own.is_empty() && own != target.namespace {
            let text = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(bad(text.to_owned()));
        }
        metadata.insert("namespace".to_owned(), target.namespace.clone().into());
    } else {
        metadata.remove("namespace");
    }
    let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
    if !target.name.is_empty() {
        if !name.is_empty() && name != target.name {
            let text = "the name of the object does not match the name on the URL";
            return Err(bad(format!("{text} ({name} and {})", target.name)));
        }
        metadata.insert("name".to_owned(), target.name.clone().into());
    }
    for field in OF_THE_SERVER {
        metadata.remove(field);
    }
    let warnings = unknown_fields(path, target, &body)?;
    if resource.name() == "secrets" {
        take_hashes(&mut body);
    }
    match Object::from_any(body) {
        Some(Ok(mut object)) => {
            object.apply_defaults();
            Ok((object, warnings))
        }
        Some(Err(error)) => Err(bad(format!(
            "{} in version \"{}\" cannot be handled as a {}: {error}",
            resource.kind_name, resource.version, resource.kind_name
        ))),
        None => Err(bad("the body of the request has no kind".to_owned())),
    }
}

/// # Source
/// kube-apiserver, `fieldValidation`: `Warn` without it.
pub(super) fn unknown_fields(path: &Path, target: &Target, body: &Value) -> Result<Vec<String>, Refused> {
    let kind = &target.resource.kind_name;
    let mode = path.parameter("fieldValidation").filter(|mode| !mode.is_empty()).unwrap_or("Warn");
    if mode == "Ignore" || !api_fields::has_kind(&target.resource.api_version(), kind) {
        return Ok(Vec::new());
    }
    let unknown: Vec<String> =
        api_fields::unknown_in(kind, body).iter().map(|path| format!("unknown field {path:?}")).collect();
    if mode == "Strict" && !unknown.is_empty() {
        let text = format!(
            "{kind} in version \"{}\" cannot be handled as a {kind}: strict decoding error: {}",
            target.resource.version,
            unknown.join(", ")
        );
        return Err(Box::new(Status::bad_request(text)));
    }
    Ok(unknown)
}

/// The object as it is now.
pub(super) fn shown(target: &Target, cluster: &dyn Cluster) -> Option<Value> {
    let found = target.find(cluster.store())?;
    rendered(&found, &target.resource, cluster.store(), cluster.kept(), Clock(cluster.epoch_unix_nanos()))
}

pub(super) fn refused(error: &crate::component::ApiError, target: &Target) -> Refused {
    Box::new(Status::of(error, &target.resource, &target.name))
}

/// A name behind a prefix, of those that the API server gives.
///
/// # Source
/// apiserver, `names.SimpleNameGenerator`.
pub(super) fn generated(prefix: &str, cluster: &dyn Cluster) -> String {
    const LENGTH_MAX: usize = 63;
    const DRAWN: usize = 5;
    let prefix: String = prefix.chars().take(LENGTH_MAX - DRAWN).collect();
    let seed = format!("{prefix}/{}/{}", cluster.now().as_nanos(), cluster.kept().requests());
    let mut hash = stable_hash(seed.as_bytes());
    let mut name = prefix;
    for _ in 0..DRAWN {
        name.push(char::from(LETTERS[(hash % LETTERS.len() as u64) as usize]));
        hash /= LETTERS.len() as u64;
    }
    name
}

/// POST of a collection.
pub(super) fn create(
    path: &Path,
    target: &Target,
    mut body: Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    let resource = &target.resource;
    if resource.is_namespaced && target.namespace.is_empty() {
        return Err(Box::new(Status::method_not_allowed()));
    }
    if resource.is_namespaced && !has_namespace(Symbol::new(&target.namespace), cluster.store()) {
        return Err(Box::new(Status::not_found("namespaces", "", &target.namespace)));
    }
    let said = |body: &Value, field: &str| body["metadata"][field].as_str().unwrap_or_default().to_owned();
    let (name, prefix) = (said(&body, "name"), said(&body, "generateName"));
    if name.is_empty() && !prefix.is_empty() {
        body["metadata"]["name"] = generated(&prefix, cluster).into();
    }
    let name = said(&body, "name");
    if name.is_empty() {
        let message = "metadata.name: Required value: name or generateName is required";
        return Err(Box::new(Status::invalid(&resource.qualified_kind(), "", message)));
    }
    let target = Target { name, ..target.clone() };
    make(path, &target, body, cluster)
}

/// An object that is not there is made under its name.
pub(super) fn make(path: &Path, target: &Target, body: Value, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    let status = body.get("status").cloned();
    let version = body["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok());
    let (object, warnings) = read(path, target, body)?;
    if version.is_some_and(|version| version != 0) && path.all("dryRun").is_empty() {
        // The storage says so, and gives no reason; where nothing is to be written it is not asked.
        let text = "resourceVersion should not be set on objects to be created";
        return Err(Box::new(Status::new(500, "", text)));
    }
    cluster.ask(Request::Create(Box::new(object))).map_err(|error| refused(&error, target))?;
    if let Some(status) = status.filter(|_| has_own_status(target)) {
        keep_status(target, status, cluster);
    }
    let body = shown(target, cluster).unwrap_or_else(|| json!({}));
    Ok(Response::created(body).with(warnings))
}

/// Whether the status of an object is a field as any other: of a custom resource whose definition does not put it below the object.
///
/// # Source
/// apiextensions, `customResourceStrategy`: where it is below the object, writes of the object itself leave it as it was.
pub(super) fn has_own_status(target: &Target) -> bool {
    !target.resource.is_built_in() && !target.resource.has_status
}

/// The status of an object that decides nothing is what its writers say.
pub(super) fn keep_status(target: &Target, status: Value, cluster: &mut dyn Cluster) {
    if let Some(whose) = whose(target, cluster) {
        cluster.kept_mut().keep_status(whose, status);
    }
}

/// The object that is there now, as something is kept of it.
pub(super) fn whose(target: &Target, cluster: &dyn Cluster) -> Option<Whose> {
    let shown = shown(target, cluster)?;
    Some(Whose::of(&target.resource.name(), &target.namespace, &target.name, &shown))
}

/// PUT of an object.
pub(super) fn update(
    path: &Path,
    target: &Target,
    body: Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    let Some(live) = shown(target, cluster) else {
        return match target.resource.is_made_by_updates() {
            true => make(path, target, body, cluster),
            false => Err(Box::new(target.missing())),
        };
    };
    check_uid(&body["metadata"]["uid"], &live, target)?;
    write(path, target, body, cluster)
}

/// The uid that a writer means must be that of the object.
pub(super) fn check_uid(meant: &Value, live: &Value, target: &Target) -> Result<(), Refused> {
    let found = &live["metadata"]["uid"];
    match meant.as_str().filter(|meant| !meant.is_empty()) {
        Some(meant) if found.as_str().is_some_and(|found| found != meant) => {
            let found = found.as_str().unwrap_or_default();
            let why = format!("Precondition failed: UID in precondition: {meant}, UID in object meta: {found}");
            Err(Box::new(Status::conflict(&target.resource.name(), &target.name, &why)))
        }
        _ => Ok(()),
    }
}

/// Writes an object that is there.
pub(super) fn write(path: &Path, target: &Target, body: Value, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    let (last, written) = (shown(target, cluster), body.clone());
    let (object, warnings) = read(path, target, body)?;
    cluster.ask(Request::Apply(Box::new(object))).map_err(|error| refused(&error, target))?;
    if has_own_status(target) {
        keep_status(target, written.get("status").cloned().unwrap_or_default(), cluster);
    }
    let body = shown(target, cluster).unwrap_or_else(|| let_go(last.unwrap_or_default(), written));
    Ok(Response::ok(body).with(warnings))
}

/// An object that was gone with the write that took its last finalizer off: as it was written.
///
/// # Source
/// apiserver, `Store.deleteWithoutFinalizers`.
fn let_go(mut last: Value, written: Value) -> Value {
    let Value::Object(fields) = written else { return last };
    for (field, value) in fields {
        match field.as_str() {
            "metadata" => {
                for field in ["labels", "annotations", "finalizers"] {
                    let own = last["metadata"].as_object_mut();
                    match value.get(field).filter(|value| !value.is_null()) {
                        Some(value) => own.map(|own| own.insert(field.to_owned(), value.clone())),
                        None => own.map(|own| own.remove(field)),
                    };
                }
            }
            "status" | "apiVersion" | "kind" => {}
            _ => last[field.as_str()] = value,
        }
    }
    last
}

/// DELETE of an object.
pub(super) fn delete(
    path: &Path,
    target: &Target,
    body: &Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    let options = DeleteOptions::read(path, body)?;
    let Some(live) = shown(target, cluster) else { return Err(Box::new(target.missing())) };
    check_uid(&options.uid.clone().into(), &live, target)?;
    delete_one(target, &options, cluster)?;
    if let Some(still) = shown(target, cluster) {
        return Ok(Response::ok(still));
    }
    cluster.kept_mut().forget(&target.resource.name(), &target.namespace, &target.name);
    if target.resource.returns_deleted() {
        return Ok(Response::ok(live));
    }
    let Resource { group, plural, .. } = &target.resource;
    Ok(Response::gone(&target.name, group, plural, &live["metadata"]["uid"]))
}

fn delete_one(target: &Target, options: &DeleteOptions, cluster: &mut dyn Cluster) -> Result<Reply, Refused> {
    let Some(found) = target.find(cluster.store()) else { return Err(Box::new(target.missing())) };
    let request = match found {
        Found::Pod(pod) => {
            let uid = options.uid.as_deref().map(Uid::from_text);
            let options = PodDeletion { grace_s: options.grace_s, uid };
            Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }
        }
        Found::Node(node) => Request::DeleteNode { node },
        Found::Workload(_, workload) => Request::DeleteWorkload { workload, propagation: options.propagation },
        Found::Other(kind, namespace, name) => Request::DeleteOther { kind: kind.any(), namespace, name },
    };
    cluster.ask(request).map_err(|error| refused(&error, target))
}

/// The objects that the selectors of a query choose, in the order of namespace and name.
///
/// # Errors
/// 400 of selectors that cannot be read.
pub(super) fn chosen(
    path: &Path,
    target: &Target,
    (store, kept, clock): (&Store, &Kept, Clock),
) -> Result<Vec<Found>, Refused> {
    let resource = &target.resource;
    let selection = Selection::read(path, resource)?;
    let namespace = Some(target.namespace.as_str()).filter(|namespace| !namespace.is_empty()).map(Symbol::new);
    let is_chosen = |found: &Found| {
        selection.is_everything()
            || rendered(found, resource, store, kept, clock).is_some_and(|object| {
                let traits = Traits::of(resource, &object);
                selection.chooses(found.namespace(store).as_str(), &found.name(store), &traits)
            })
    };
    let mut found = all(resource.kind, namespace, store);
    found.retain(is_chosen);
    found.sort_by_cached_key(|object| (object.namespace(store), object.name(store)));
    Ok(found)
}

fn of_cluster(cluster: &dyn Cluster) -> (&Store, &Kept, Clock) {
    (cluster.store(), cluster.kept(), Clock(cluster.epoch_unix_nanos()))
}

/// DELETE of a collection.
pub(super) fn delete_collection(
    path: &Path,
    target: &Target,
    body: &Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    if target.resource.is_namespaced && target.namespace.is_empty() {
        return Err(Box::new(Status::method_not_allowed()));
    }
    super::options::ListOptions::read(path)?;
    let options = DeleteOptions::read(path, body)?;
    let names: Vec<String> =
        chosen(path, target, of_cluster(cluster))?.iter().map(|found| found.name(cluster.store())).collect();
    let mut items = Vec::new();
    for name in names {
        let target = Target { name, ..target.clone() };
        let Some(live) = shown(&target, cluster) else { continue };
        delete_one(&target, &options, cluster)?;
        if target.find(cluster.store()).is_none() {
            cluster.kept_mut().forget(&target.resource.name(), &target.namespace, &target.name);
        }
        items.push(live);
    }
    Ok(Response::ok(json!({
        "apiVersion": target.resource.api_version(), "kind": format!("{}List", target.resource.kind_name),
        "metadata": {}, "items": items,
    })))
}
