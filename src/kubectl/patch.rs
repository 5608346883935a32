//! `kubectl patch`, and writing a changed object back.

use std::fmt::{Display, Write};

use serde_json::{Value, json};

use super::command_line::{
    Arguments, CommandLineError, DRY, FILES, PRINT, Selection, Stop, WithoutNames, Words, check_subresource, error,
};
use super::failure::Failure;
use super::printed::SCALE;
use super::resource::{Found, find_or_fail};
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Step, go_json, json_patch, strategic, three_way};
use crate::component::{ApiError, ErrorReason, Request};
use crate::model::{Object, api_fields, validation};
use crate::state::Store;

/// How a patch is merged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// Lists of named things merge by name.
    Strategic,
    /// Lists are replaced.
    Merge,
    /// A list of operations.
    Json,
}

/// Arguments of `patch`.
#[derive(Clone, Debug)]
pub struct PatchArgs {
    /// What.
    pub selection: Selection,
    /// `--type`.
    pub patch_type: PatchType,
    /// `-p`.
    pub patch: serde_json::Value,
    /// What the server says of a patch that begins as JSON does and is none.
    pub broken: Option<String>,
    /// `--patch-file`, whose content takes the place of `patch`.
    pub patch_file: Option<String>,
    /// `--subresource=scale`: of the size alone.
    pub of_scale: bool,
}

impl PatchArgs {
    /// Whether standard input holds the patch.
    pub(super) fn reads_input(&self) -> bool {
        self.patch_file.as_deref() == Some(INPUT_FILE)
    }
}

/// Standard input as a file. `-` is none for a patch.
///
/// # Source
/// kubectl, `RunPatch`: the patch is read as any file.
pub(crate) const INPUT_FILE: &str = "/dev/stdin";

impl Verb for PatchArgs {
    const COMMANDS: &'static [Words] =
        &[("patch", &[FILES, PRINT, DRY, "field-manager= local! patch,p= patch-file= record! subresource= type="])];
    const READS_BEFORE: bool = false;

    /// # Source
    /// kubectl, `PatchOptions.Validate` and `RunPatch`.
    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let file = arguments.text("patch-file").filter(|file| !file.is_empty()).map(str::to_owned);
        if file.as_deref() == Some("-") {
            return Err(Stop::error("unable to read patch file: open -: no such file or directory"));
        }
        let text = arguments.text("patch").filter(|text| !text.is_empty()).map(str::to_owned);
        let text = match (&file, text) {
            (Some(_), Some(_)) => return Err(Stop::error("cannot specify --patch and --patch-file together")),
            (None, None) => {
                return Err(Stop::error("must specify --patch or --patch-file containing the contents of the patch"));
            }
            (Some(_), None) => "null".to_owned(),
            (None, Some(text)) => text,
        };
        let patch_type = match arguments.text("type").map(str::to_lowercase).as_deref() {
            None | Some("strategic") => PatchType::Strategic,
            Some("merge") => PatchType::Merge,
            Some("json") => PatchType::Json,
            Some(other) => {
                return Err(Stop::error(format!("--type must be one of [json merge strategic], not {other:?}")));
            }
        };
        check_subresource(arguments)?;
        let invalid = |error: CommandLineError| Stop::error(format!("unable to parse {text:?}: {}", error.message));
        // What begins as JSON is sent as it is; anything else is read as YAML first.
        let broken = if text.trim_start().starts_with('{') { go_json::problem(&text) } else { None };
        let patch = if broken.is_some() { Value::Null } else { patch_value(&text).map_err(invalid)? };
        let selection = arguments.selection(WithoutNames::Refused)?;
        let of_scale = arguments.text("subresource") == Some("scale");
        Ok(Self { selection, patch_type, patch, broken, patch_file: file, of_scale })
    }

    works_on_selection!(of_words_or_files);

    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        for object in find_or_fail(&self.selection, store, plan) {
            patch(self, &object, store, plan);
        }
    }
}

/// Reads a patch: JSON, or YAML.
pub(crate) fn patch_value(text: &str) -> Result<serde_json::Value, CommandLineError> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(_) => serde_saphyr::from_str(text).map_err(|_| error(text, "the patch is neither JSON nor YAML")),
    }
}

/// Plans the write of a changed object.
pub(super) fn apply_value(value: Value, line: String, unchanged: Option<String>, plan: &mut CommandPlan) {
    match Object::from_any(value) {
        Some(Ok(object)) => plan.call(Step { unchanged, ..Step::new(Request::Apply(Box::new(object)), line) }),
        Some(Err(error)) => plan.fail(invalid(error)),
        None => plan.fail(Failure::own("the object cannot be changed")),
    }
}

fn invalid(problem: impl Display) -> Failure {
    Failure::line(format!("The request is invalid: {problem}"))
}

fn patch(args: &PatchArgs, object: &Found, store: &Store, plan: &mut CommandPlan) {
    let name = object.printed(store);
    let Some(current) = three_way::export(object, store) else {
        return plan.fail(Failure::own(format!("{name} cannot be patched")));
    };
    if args.of_scale {
        return patch_scale(args, object, &current, plan);
    }
    if args.patch_type == PatchType::Strategic && current.stored_kind().is_some_and(|kind| !kind.is_built_in()) {
        // Merge keys are known of built-in types alone.
        let text = "the body of the request was in an unknown format - accepted media types include: \
                    application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        return plan.fail(Failure::line(format!("Error from server (UnsupportedMediaType): {text}")));
    }
    let before = current.to_value();
    let after = match patched(&before, args) {
        Ok(after) => after,
        Err(failure) => return plan.fail(failure),
    };
    let identity = |value: &Value, field: &str| value["metadata"].get(field).cloned();
    if let Some(failure) = of_another_name(&before, &after) {
        return plan.fail(failure);
    }
    if identity(&after, "namespace") != identity(&before, "namespace") {
        let text = "the namespace of the provided object does not match the namespace sent on the request";
        return plan.fail(Failure::refusal(&ApiError::new(ErrorReason::BadRequest, text), None));
    }
    if api_fields::has_kind(after["apiVersion"].as_str().unwrap_or_default(), current.kind().as_str()) {
        // A patch does not ask for strictness.
        let unknown = api_fields::unknown_in(current.kind().as_str(), &after);
        plan.warnings.extend(unknown.iter().map(|path| format!("Warning: unknown field {path:?}")));
    }
    if let Some(found) = api_fields::mistyped_in(current.kind().as_str(), &after)
        && let Some(Ok(_)) = Object::from_any(after.clone())
    {
        return plan.fail(unreadable(args, &after, &found.message));
    }
    match Object::from_any(after.clone()) {
        Some(Ok(patched)) => plan.call(Step {
            unchanged: Some(format!("{name} patched (no change)")),
            ..Step::new(Request::Apply(Box::new(patched)), format!("{name} patched"))
        }),
        Some(Err(error)) => plan.fail(match validation::unknown_words(&after).as_slice() {
            [] => unreadable(args, &after, &error.to_string()),
            words => Failure::refusal(&ApiError::invalid_object(&current, words), None),
        }),
        None => plan.fail(Failure::own(format!("{name} cannot be patched"))),
    }
}

/// What becomes of an object of whose subresource `scale` something is patched: nothing but its size.
///
/// # Source
/// kube-apiserver, `ScaleREST.Update`, `ValidateScale`.
fn patch_scale(args: &PatchArgs, object: &Found, current: &Object, plan: &mut CommandPlan) {
    let Found::Workload(_, id) = object else { return no_scale(plan) };
    if !super::scale::has_scale(*id) {
        return no_scale(plan);
    }
    let whole = current.to_value();
    let replicas = whole.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    let metadata = &whole["metadata"];
    let before = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": {"replicas": replicas},
    });
    let after = match patched(&before, args) {
        Ok(after) => after,
        Err(failure) => return plan.fail(failure),
    };
    if let Some(failure) = of_another_name(&before, &after) {
        return plan.fail(failure);
    }
    let wanted = match &after["spec"]["replicas"] {
        Value::Null => 0,
        wanted => match wanted.as_i64().and_then(|wanted| i32::try_from(wanted).ok()) {
            Some(wanted) => wanted,
            None => return plan.fail(unreadable(args, &after, "invalid type: string, expected i32")),
        },
    };
    if wanted < 0 {
        let text = format!(
            "The Scale \"{}\" is invalid: spec.replicas: Invalid value: {wanted}: must be greater than or equal to 0",
            current.metadata().name
        );
        return plan.fail(Failure::line(text));
    }
    // What is patched is the Scale of the object.
    let name = format!("{SCALE}/{}", current.metadata().name);
    let unchanged = Some(format!("{name} patched (no change)"));
    let request = Request::Scale { workload: *id, replicas: wanted };
    plan.call(Step { unchanged, ..Step::new(request, format!("{name} patched")) });
}

/// The refusal of a patch that makes another name of an object's own.
///
/// # Source
/// apiserver, `checkName`.
fn of_another_name(before: &Value, after: &Value) -> Option<Failure> {
    let name = |value: &Value| value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let (before, after) = (name(before), name(after));
    if before == after {
        return None;
    }
    let text = format!("the name of the object ({after}) does not match the name on the URL ({before})");
    Some(Failure::refusal(&ApiError::new(ErrorReason::BadRequest, text), None))
}

fn no_scale(plan: &mut CommandPlan) {
    // There is no subresource of that name.
    let text = "the server could not find the requested resource";
    plan.fail(Failure::refusal(&ApiError::new(ErrorReason::NotFound, text), None));
}

/// An object as the patch leaves it.
///
/// # Source
/// kubectl, `yaml.ToJSON`; kube-apiserver, `jsonPatcher` and `smpPatcher`: of a JSON patch that cannot be applied nothing more is said.
fn patched(before: &Value, args: &PatchArgs) -> Result<Value, Failure> {
    let bad = |text: &str| Failure::refusal(&ApiError::new(ErrorReason::BadRequest, text), None);
    let shape = |of: &Value, wanted: &str| {
        let kind = match of {
            Value::Null => return None,
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "bool",
        };
        Some(format!("json: cannot unmarshal {kind} into Go value of type {wanted}"))
    };
    const FIELDS: &str = "map[string]interface {}";
    if let Some(problem) = &args.broken {
        let decoding = if args.patch_type == PatchType::Strategic { "" } else { "error decoding patch: " };
        return Err(bad(&format!("{decoding}{problem}")));
    }
    match (args.patch_type, &args.patch) {
        (PatchType::Json, Value::Array(operations)) => {
            let mut whole = before.clone();
            json_patch::fill(&mut whole);
            json_patch::apply(&whole, operations)
                .map_err(|_| invalid("the server rejected our request due to an error in our request"))
        }
        (PatchType::Json, other) => match shape(other, "[]handlers.jsonPatchOp") {
            Some(text) => Err(bad(&format!("error decoding patch: {text}"))),
            None => Ok(before.clone()),
        },
        (PatchType::Merge, Value::Object(_)) => {
            let mut after = before.clone();
            strategic::merge(&mut after, &args.patch);
            Ok(after)
        }
        (PatchType::Merge, other) => Err(bad(&format!(
            "error decoding patch: {}",
            shape(other, FIELDS).unwrap_or_else(|| "Invalid JSON Patch".into())
        ))),
        (PatchType::Strategic, Value::Object(_)) => {
            let mut after = before.clone();
            strategic::merge_strategically(&mut after, &args.patch);
            Ok(after)
        }
        (PatchType::Strategic, other) => match shape(other, FIELDS) {
            Some(text) => Err(bad(&text)),
            None => Ok(before.clone()),
        },
    }
}

/// The patched object has a field of the wrong type.
///
/// # Source
/// apimachinery, `fromUnstructured`, for strategic patches; encoding/json for the others.
///
/// # Differs
/// The server shows more fields of the object, and in the latter case names the field.
fn unreadable(args: &PatchArgs, after: &Value, error: &str) -> Failure {
    let (found, expected) = error
        .strip_prefix("invalid type: ")
        .and_then(|rest| rest.split_once(", expected "))
        .map_or(("", ""), |(found, rest)| (found, rest.split(" at line").next().unwrap_or(rest)));
    let found = match found.split(' ').next() {
        Some("string") => "string",
        Some("integer") if args.patch_type == PatchType::Strategic => "int64",
        Some("floating") if args.patch_type == PatchType::Strategic => "float64",
        Some("integer" | "floating") => "number",
        Some("boolean") => "bool",
        Some("map") => "map",
        Some("sequence") => "slice",
        _ => "value",
    };
    let (wanted, shape) = match expected {
        "i32" => ("int32", ""),
        "i64" => ("int64", ""),
        "a boolean" => ("bool", ""),
        "a string" | "a symbol" => ("string", ""),
        "a sequence" => ("slice", "slice from"),
        "a map" => ("map", "map from"),
        "f64" => ("float64", ""),
        text if text.starts_with("struct") => ("struct", "struct from:"),
        _ => ("", ""),
    };
    let (value, why) = match args.patch_type {
        PatchType::Strategic if wanted.is_empty() => (go_text(&args.patch), error.to_owned()),
        PatchType::Strategic if shape.is_empty() => (go_text(&args.patch), format!("unrecognized type: {wanted}")),
        PatchType::Strategic => (go_text(&args.patch), format!("cannot restore {shape} {found}")),
        _ if wanted.is_empty() => (after.to_string(), error.to_owned()),
        _ => (after.to_string(), format!("json: cannot unmarshal {found} into Go value of type {wanted}")),
    };
    invalid(format!("patch: Invalid value: {value:?}: {why}"))
}

/// A value as Go prints it: `map[spec:map[replicas:x]]`.
pub(super) fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            let mut text = String::from("map[");
            for (index, (key, value)) in fields.into_iter().enumerate() {
                let blank = if index > 0 { " " } else { "" };
                let _ = write!(text, "{blank}{key}:{}", go_text(value));
            }
            text + "]"
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_go_prints_them() {
        let value = json!({"spec": {"replicas": "x", "b": [1, null, true]}});
        assert_eq!(go_text(&value), "map[spec:map[b:[1 <nil> true] replicas:x]]");
    }
}
