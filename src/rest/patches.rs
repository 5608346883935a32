//! Objects that are changed in part.

use serde_json::{Value, json};

use super::answer::{Response, Status};
use super::path::{Path, Target};
use super::writes::{check_uid, keep_status, make, shown, unknown_fields, write};
use super::{ClientRequest, Cluster};
use crate::kubectl::objects::{apply_json_patch, apply_over, export, fill_for_json_patch, merge, merge_strategically};
use crate::model::Object;

type Refused = Box<Status>;

/// How a patch is merged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Form {
    pub(super) fn of(request: &ClientRequest) -> Result<Self, Refused> {
        let media = request.content_type.split(';').next().unwrap_or_default().trim();
        Ok(match media {
            "application/json-patch+json" => Self::Json,
            "application/merge-patch+json" => Self::Merge,
            "application/strategic-merge-patch+json" => Self::Strategic,
            "application/apply-patch+yaml" => Self::Apply,
            _ => {
                let accepted = "application/json-patch+json, application/merge-patch+json, \
                                application/strategic-merge-patch+json, application/apply-patch+yaml";
                return Err(Box::new(Status::unsupported(accepted)));
            }
        })
    }

    /// A value as the patch leaves it.
    ///
    /// # Errors
    /// 400, 415 and 422.
    pub(super) fn patched(self, before: &Value, patch: &Value, is_built_in: bool) -> Result<Value, Refused> {
        let mut after = before.clone();
        match (self, patch) {
            (Self::Json, Value::Array(operations)) => {
                fill_for_json_patch(&mut after);
                return apply_json_patch(&after, operations).map_err(|_| {
                    let text = "the server rejected our request due to an error in our request";
                    Box::new(Status::new(422, "Invalid", text))
                });
            }
            (Self::Merge, Value::Object(_)) => merge(&mut after, patch),
            (Self::Strategic, Value::Object(_)) if is_built_in => merge_strategically(&mut after, patch),
            (Self::Strategic, Value::Object(_)) => {
                // Merge keys are known of built-in types alone.
                let accepted =
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
                return Err(Box::new(Status::unsupported(accepted)));
            }
            _ => return Err(Box::new(Status::bad_request("error decoding patch: it has another shape"))),
        }
        Ok(after)
    }
}

/// PATCH of an object.
pub(super) fn patch(
    request: &ClientRequest,
    path: &Path,
    target: &Target,
    body: Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Refused> {
    let form = Form::of(request)?;
    if form == Form::Apply {
        return apply(path, target, body, cluster);
    }
    let Some(found) = target.find(cluster.store()) else { return Err(Box::new(target.missing())) };
    let live = shown(target, cluster).unwrap_or_default();
    check_uid(&body["metadata"]["uid"], &live, target)?;
    let Some(before) = export(&found, cluster.store()) else { return Err(Box::new(Status::method_not_allowed())) };
    let mut before = before.to_value();
    if !target.resource.is_built_in() {
        before["apiVersion"] = target.resource.api_version().into();
    }
    if let Some(status) = live.get("status").filter(|_| !target.resource.is_built_in()) {
        before["status"] = status.clone();
    }
    let is_built_in = target.resource.is_built_in();
    let mut after = form.patched(&before, &body, is_built_in)?;
    if let Some(metadata) = after["metadata"].as_object_mut() {
        // A patch may name what it has read.
        metadata.remove("uid");
    }
    if !is_built_in && after.get("status") != before.get("status") {
        keep_status(target, after.get("status").cloned().unwrap_or_default(), cluster);
    }
    write(path, target, after, cluster)
}

/// Server-side apply.
///
/// # Source
/// kube-apiserver, `applyPatcher`: what the manager says holds, what it said before and no longer says goes.
///
/// # Differs
/// Only what the same manager applied before is known: who else owns a field is not, so there are no conflicts.
fn apply(path: &Path, target: &Target, mut body: Value, cluster: &mut dyn Cluster) -> Result<Response, Refused> {
    let manager = path.parameter("fieldManager").unwrap_or_default().to_owned();
    if manager.is_empty() {
        let text =
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
        return Err(Box::new(Status::new(422, "Invalid", text)));
    }
    let Some(fields) = body.as_object_mut() else {
        return Err(Box::new(Status::bad_request("the body of the request has no object")));
    };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| ["name", "namespace", "labels", "annotations"].contains(&field.as_str()));
    }
    let key = (target.resource.name(), target.namespace.clone(), target.name.clone(), manager);
    let said = body.clone();
    let response = match target.find(cluster.store()) {
        None => make(path, target, body, cluster)?,
        Some(found) => {
            let warnings = unknown_fields(path, target, &body)?;
            let Some(live) = export(&found, cluster.store()) else {
                return Err(Box::new(Status::method_not_allowed()));
            };
            let mut after = live.to_value();
            if !target.resource.is_built_in() {
                after["apiVersion"] = target.resource.api_version().into();
            }
            let before = cluster.kept().applied.get(&key).cloned();
            apply_over(&mut after, before.as_ref(), &normal(&body), target.resource.is_built_in());
            let response = write(path, target, after, cluster)?;
            response.with(warnings)
        }
    };
    cluster.kept_mut().applied.insert(key, normal(&said));
    Ok(response)
}

/// What somebody says in the words of the model, so that it can be held against what is there.
fn normal(said: &Value) -> Value {
    let mut value = match Object::from_any(said.clone()) {
        Some(Ok(object)) => object.to_value(),
        _ => said.clone(),
    };
    if let Some(version) = said.get("apiVersion") {
        value["apiVersion"] = version.clone();
    }
    if value["metadata"].is_null() {
        value["metadata"] = json!({});
    }
    value
}
