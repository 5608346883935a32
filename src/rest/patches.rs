//! Objects that are changed in part.

use serde_json::{Value, json};

use super::answer::{Response, Status};
use super::path::{Path, Target};
use super::writes::{OF_THE_SERVER, check_uid, has_own_status, make, shown, unknown_fields, whose, write};
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
                return apply_json_patch(&after, operations).map_err(|_| Box::new(Status::failed_patch()));
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
    if let Some(metadata) = after.get_mut("metadata").and_then(Value::as_object_mut) {
        // A patch may name what it has read.
        metadata.remove("uid");
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
    let mut uid = Value::Null;
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        uid = metadata.remove("uid").unwrap_or_default();
        metadata.retain(|field, _| !OF_THE_SERVER.contains(&field.as_str()));
    }
    let said = body.clone();
    let response = match target.find(cluster.store()) {
        None => match uid.as_str().filter(|uid| !uid.is_empty()) {
            Some(uid) => {
                let why =
                    format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
                return Err(Box::new(Status::conflict(&target.resource.name(), &target.name, &why)));
            }
            None => make(path, target, body, cluster)?,
        },
        Some(found) => {
            let shown = shown(target, cluster).unwrap_or_default();
            check_uid(&uid, &shown, target)?;
            let warnings = unknown_fields(path, target, &body)?;
            let Some(live) = export(&found, cluster.store()) else {
                return Err(Box::new(Status::method_not_allowed()));
            };
            let mut after = live.to_value();
            if !target.resource.is_built_in() {
                after["apiVersion"] = target.resource.api_version().into();
            }
            let before = whose(target, cluster).and_then(|of| cluster.kept().applied_by(&of, &manager).cloned());
            if let Some(status) = shown.get("status").filter(|_| has_own_status(target)) {
                after["status"] = status.clone();
            }
            apply_all(&mut after, before, normal(&body), target.resource.is_built_in());
            let response = write(path, target, after, cluster)?;
            response.with(warnings)
        }
    };
    if let Some(whose) = whose(target, cluster) {
        cluster.kept_mut().keep_applied(whose, manager, normal(&said));
    }
    Ok(response)
}

/// Lists of metadata of which everybody has items of his own, and what tells these apart.
///
/// # Source
/// apimachinery, `ObjectMeta`: `listType=set`, and `listType=map` with `listMapKey=uid`.
const SHARED: [(&str, Option<&str>); 2] = [("finalizers", None), ("ownerReferences", Some("uid"))];

/// What is said holds over an object, and what was said before and no longer is goes.
fn apply_all(after: &mut Value, before: Option<Value>, mut said: Value, is_built_in: bool) {
    let mut before = before.unwrap_or_default();
    for (list, key) in SHARED {
        let take = |of: &mut Value| match of.get_mut("metadata").and_then(Value::as_object_mut) {
            Some(metadata) => metadata.remove(list).and_then(|items| items.as_array().cloned()).unwrap_or_default(),
            None => Vec::new(),
        };
        let (said, before, held) = (take(&mut said), take(&mut before), take(after));
        let is_one = |one: &Value, other: &Value| match key {
            Some(key) => one[key] == other[key],
            None => one == other,
        };
        let has = |items: &[Value], item: &Value| items.iter().any(|other| is_one(other, item));
        let find = |item: &Value| said.iter().find(|other| is_one(other, item));
        let stay = held.iter().filter(|item| has(&said, item) || !has(&before, item));
        let stay = stay.map(|item| find(item).unwrap_or(item));
        let new = said.iter().filter(|item| !has(&held, item));
        let items: Vec<Value> = stay.chain(new).cloned().collect();
        if !items.is_empty() {
            after["metadata"][list] = items.into();
        }
    }
    let before = Some(&before).filter(|before| before.is_object());
    apply_over(after, before, &said, is_built_in);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_applies_items_of_his_own_to_the_lists_that_all_share() {
        let owner =
            |uid: &str, controller: bool| json!({"kind": "A", "name": uid, "uid": uid, "controller": controller});
        let object = |finalizers: &[&str], owners: &[Value]| json!({"metadata": {"finalizers": finalizers, "ownerReferences": owners}});
        let mut after = object(&["a", "mine"], &[owner("1", true), owner("2", false)]);
        let before = object(&["mine"], &[owner("2", false)]);
        apply_all(&mut after, Some(before), object(&["new"], &[owner("1", false), owner("3", false)]), true);
        assert_eq!(after, object(&["a", "new"], &[owner("1", false), owner("3", false)]));
        // Nothing is left, and so is no list.
        let mut after = object(&["mine"], &[]);
        apply_all(&mut after, Some(object(&["mine"], &[])), json!({"metadata": {}}), false);
        assert_eq!(after, json!({"metadata": {}}));
    }
}
