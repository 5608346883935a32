//! What hangs below an object: its size, its status, its binding, its eviction.

use serde_json::{Value, json};

use super::answer::{Response, Status};
use super::options::DeleteOptions;
use super::patches::Form;
use super::path::{Path, Target};
use super::writes::{keep_status, refused, shown};
use super::{ClientRequest, Cluster, Method};
use crate::arena::Symbol;
use crate::component::{Answer, Reply, Request, export_pod};
use crate::kubectl::objects::{Found, has_scale};
use crate::model::{LabelSelector, Labels, Object};
use crate::state::PodId;

type Refused = Box<Status>;

pub(super) fn handle(
    request: &ClientRequest,
    path: &Path,
    target: &Target,
    body: Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    match (target.subresource.as_str(), target.resource.plural.as_str(), request.method) {
        ("eviction", "pods", Method::Post) => evict(path, target, &body, cluster),
        ("binding", "pods", Method::Post) => bind(target, &body, cluster),
        ("scale", _, Method::Put | Method::Patch) => scale(request, target, &body, cluster),
        ("status", _, Method::Put | Method::Patch) => status(request, target, &body, cluster),
        ("finalize", "namespaces", Method::Put) => finalize(path, target, body, cluster),
        ("token", _, Method::Post) => Err(Box::new(match target.find(cluster.store()) {
            Some(_) => Status::new(501, "NotImplemented", NO_TOKENS),
            None => target.missing(),
        })),
        ("exec" | "attach" | "portforward" | "proxy" | "ephemeralcontainers", ..) => {
            Err(Box::new(not_simulated(target)))
        }
        _ => Err(Box::new(Status::no_such_path())),
    }
}

/// Why no token is given.
const NO_TOKENS: &str = "no tokens are issued: this server does not tell accounts apart";

/// What needs a container that runs.
pub(crate) fn not_simulated(target: &Target) -> Status {
    let (what, name) = (&target.subresource, &target.name);
    let text = match what.as_str() {
        "log" => format!("there are no logs of {name}: containers are simulated, nothing runs in them"),
        _ => format!("{what} of {name} is not possible: containers are simulated, nothing runs in them"),
    };
    Status::new(501, "NotImplemented", text)
}

/// # Source
/// kube-apiserver, `EvictionREST.Create`.
///
/// # Differs
/// All steps of it are taken in one instant, so that nobody writes in between.
fn evict(path: &Path, target: &Target, body: &Value, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    check_posted(body, ("policy", "Eviction"), target)?;
    // What is not there is no body of its own: the query has the options of the creation.
    let options = match &body["deleteOptions"] {
        Value::Null => DeleteOptions::default(),
        options => DeleteOptions::read(path, options)?,
    };
    let Some(Found::Pod(pod)) = target.find(cluster.store()) else { return Err(Box::new(target.missing())) };
    let live = shown(target, cluster).unwrap_or_default();
    super::writes::check_uid(&options.uid.into(), &live, target)?;
    let request = Request::EvictPod { pod, grace_s: options.grace_s, dry_run: false };
    cluster.ask(request).map_err(|error| refused(&error, target))?;
    Ok(Response::created(
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
    ))
}

/// An object that is posted below another is of the kind that stands there, and has the other's name.
///
/// # Source
/// kube-apiserver, `EvictionREST.Create` and `BindingREST.Create`; apiserver, `EnsureObjectNamespaceMatchesRequestNamespace`.
fn check_posted(body: &Value, (group, kind): (&str, &str), target: &Target) -> Result<(), Refused> {
    let bad = |text: String| Err(Box::new(Status::bad_request(text)));
    if !body.is_object() {
        return bad("the body of the request has no object".to_owned());
    }
    let said = |field: &str| body[field].as_str().unwrap_or_default();
    let (api_version, own) = (said("apiVersion"), said("kind"));
    let own_group = api_version.split_once('/').map_or("", |(group, _)| group);
    if !own.is_empty() && own != kind || !api_version.is_empty() && own_group != group {
        return bad(format!("{api_version}, Kind={own} is not a {kind}, which the path names"));
    }
    let metadata = &body["metadata"];
    if metadata["name"].as_str().unwrap_or_default() != target.name {
        return bad(format!("name in URL does not match name in {kind} object"));
    }
    match metadata["namespace"].as_str().unwrap_or_default() {
        own if own.is_empty() || own == target.namespace => Ok(()),
        _ => bad("the namespace of the provided object does not match the namespace sent on the request".to_owned()),
    }
}

/// # Source
/// kube-apiserver, `BindingREST.Create` and `setPodNodeAndMetadata`.
///
/// # Differs
/// Annotations and labels that the binding brings are a write of their own, in the same instant.
fn bind(target: &Target, body: &Value, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    check_posted(body, ("", "Binding"), target)?;
    if !matches!(body["target"]["kind"].as_str().unwrap_or_default(), "" | "Node") {
        let kind = &body["target"]["kind"];
        let text = format!("target.kind: Unsupported value: {kind}: supported values: \"Node\", \"<empty>\"");
        return Err(Box::new(Status::new(500, "InternalError", text)));
    }
    let Some(Found::Pod(pod)) = target.find(cluster.store()) else { return Err(Box::new(target.missing())) };
    let live = shown(target, cluster).unwrap_or_default();
    super::writes::check_uid(&body["metadata"]["uid"], &live, target)?;
    let name = body["target"]["name"].as_str().unwrap_or_default();
    let store = cluster.store();
    let node = store.find_node(Symbol::new(name)).filter(|node| store.node(*node).is_some());
    let Some(node) = node else { return Err(Box::new(Status::not_found("nodes", "", name))) };
    cluster.ask(Request::BindPod { pod, node }).map_err(|error| refused(&error, target))?;
    bring(pod, &body["metadata"], cluster).map_err(|error| refused(&error, target))?;
    Ok(Response { code: 201, ..Response::done() })
}

/// Annotations, and from 1.35 on labels, of a binding become the pod's.
fn bring(pod: PodId, metadata: &Value, cluster: &mut dyn Cluster) -> Answer {
    let Some(mut bound) = export_pod(cluster.store(), pod) else { return Ok(Reply::Unchanged) };
    let of = |field: &str| metadata[field].as_object().into_iter().flatten();
    let text = |(key, value): (&String, &Value)| Some((Symbol::new(key), Symbol::new(value.as_str()?)));
    let before = bound.metadata.clone();
    bound.metadata.annotations.extend(of("annotations").filter_map(text));
    for (key, value) in of("labels").filter_map(text) {
        bound.metadata.labels = bound.metadata.labels.with(key, value);
    }
    if bound.metadata == before {
        return Ok(Reply::Unchanged);
    }
    cluster.ask(Request::Apply(Box::new(Object::Pod(Box::new(bound)))))
}

/// The size of a workload as an object of its own.
pub(crate) fn scale_of(target: &Target, live: &Value) -> Value {
    let selector = live["spec"]["selector"].clone();
    let selector = if target.resource.name() == "replicationcontrollers" {
        // Theirs is a map of labels.
        serde_json::from_value::<Labels>(selector).map(|labels| LabelSelector::from_labels(&labels))
    } else {
        serde_json::from_value::<LabelSelector>(selector)
    };
    let selector = selector.map(|selector| selector.to_string()).unwrap_or_default();
    let metadata = &live["metadata"];
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {
            "name": target.name, "namespace": target.namespace, "uid": metadata["uid"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {"replicas": live["spec"]["replicas"].as_i64().unwrap_or(1)},
        "status": {"replicas": live["status"]["replicas"].as_i64().unwrap_or(0), "selector": selector},
    })
}

fn scale(
    request: &ClientRequest,
    target: &Target,
    body: &Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    let Some(found) = target.find(cluster.store()) else { return Err(Box::new(target.missing())) };
    let Found::Workload(_, workload) = found else { return Err(Box::new(Status::no_such_path())) };
    if !has_scale(workload) {
        return Err(Box::new(Status::no_such_path()));
    }
    let live = shown(target, cluster).unwrap_or_default();
    let after = match request.method {
        Method::Patch => Form::of(request)?.patched(&scale_of(target, &live), body, true)?,
        _ => body.clone(),
    };
    let wanted = match &after["spec"]["replicas"] {
        Value::Null => 0,
        wanted => {
            let wanted = wanted.as_i64().and_then(|wanted| i32::try_from(wanted).ok());
            wanted.ok_or_else(|| Box::new(Status::bad_request("spec.replicas is no number of replicas")))?
        }
    };
    if wanted < 0 {
        let text = format!("spec.replicas: Invalid value: {wanted}: must be greater than or equal to 0");
        return Err(Box::new(Status::invalid("Scale.autoscaling", &target.name, &text)));
    }
    cluster.ask(Request::Scale { workload, replicas: wanted }).map_err(|error| refused(&error, target))?;
    let live = shown(target, cluster).unwrap_or_default();
    Ok(Response::ok(scale_of(target, &live)))
}

/// # Differs
/// The status of what is simulated is written by the simulation alone; that of any other object is what clients say.
fn status(
    request: &ClientRequest,
    target: &Target,
    body: &Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    if !target.resource.has_status {
        return Err(Box::new(Status::no_such_path()));
    }
    let Some(live) = shown(target, cluster) else { return Err(Box::new(target.missing())) };
    if target.resource.is_built_in() {
        let text = format!("the status of {} is the simulation's to write", target.resource.plural);
        return Err(Box::new(Status::new(405, "MethodNotAllowed", text)));
    }
    let after = match request.method {
        Method::Patch => {
            let form = Form::of(request)?;
            let form = if form == Form::Apply { Form::Merge } else { form };
            form.patched(&live, body, false)?
        }
        _ => body.clone(),
    };
    keep_status(target, after.get("status").cloned().unwrap_or_default(), cluster);
    Ok(Response::ok(shown(target, cluster).unwrap_or_default()))
}

/// # Source
/// kube-apiserver, `FinalizeREST`: `spec.finalizers` is what is left.
///
/// # Differs
/// The namespace controller takes its own finalizer off; here only those of `metadata` are kept.
fn finalize(path: &Path, target: &Target, body: Value, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    let (object, warnings) = super::writes::read(path, target, body)?;
    let Object::Namespace(_) = object else { return Err(Box::new(Status::no_such_path())) };
    let shown = shown(target, cluster).ok_or_else(|| Box::new(target.missing()))?;
    Ok(Response::ok(shown).with(warnings))
}
