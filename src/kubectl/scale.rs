//! `kubectl scale`.

use super::command_line::{Arguments, DRY, FILES, PRINT, Selection, Stop, Words, all_or_refused, error};
use super::failure::Failure;
use super::patch::apply_value;
use super::resource::{Found, find};
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Item, Step};
use crate::component::{ApiError, ErrorReason, Request, export_workload};
use crate::state::WorkloadId;

/// Arguments of `scale`.
#[derive(Clone, Debug)]
pub struct ScaleArgs {
    /// What.
    pub selection: Selection,
    /// `--replicas`.
    pub replicas: i32,
    /// `--current-replicas`.
    pub current: Option<i32>,
    /// `--resource-version`.
    pub resource_version: Option<String>,
}

impl Verb for ScaleArgs {
    const COMMANDS: &'static [Words] = &[(
        "scale",
        &[FILES, PRINT, DRY, "all! current-replicas= record! replicas= resource-version= selector,l= timeout="],
    )];
    const READS_BEFORE: bool = false;

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let replicas = arguments
            .number("replicas")?
            .ok_or_else(|| error(&arguments.line, "kubectl scale needs --replicas=COUNT"))?;
        if replicas < 0 {
            let text = "The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0";
            return Err(Stop::error(text));
        }
        let current = arguments.number::<i32>("current-replicas")?;
        if current.is_some_and(|current| current < -1) {
            return Err(Stop::error("The --current-replicas must specify an integer of -1 or greater"));
        }
        if arguments.switch("all", false)?
            && let Some(selector) = arguments.text("selector")
        {
            return Err(Stop::error(format!(
                "found non-empty label selector {selector:?} with previously set 'all' parameter. "
            )));
        }
        let without = all_or_refused(arguments)?;
        let selection = arguments.selection(without)?;
        let resource_version = arguments.text("resource-version").filter(|text| !text.is_empty()).map(str::to_owned);
        let current = current.filter(|current| *current >= 0);
        Ok(Self { selection, replicas, current, resource_version })
    }

    works_on_selection!(of_words_or_files);

    /// # Source
    /// kubectl scale, `RunScale`: the first object that cannot be scaled ends it; what was not found is printed at the end. One
    /// client scales all, and reads before where something is to be held against what there is (`ScaleSimple`).
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        if self.replicas < 0 {
            let text = "The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0";
            return plan.fail(Failure::own(text));
        }
        let results = find(&self.selection, store);
        if results.is_empty() {
            return plan.fail(Failure::own("no objects passed to scale"));
        }
        let mut missing = Vec::new();
        for result in results {
            let object = match result {
                Ok(object) => object,
                Err(failure) => {
                    missing.push(failure);
                    continue;
                }
            };
            let id = match object {
                Found::Workload(_, id) if has_scale(id) => id,
                _ => {
                    // It has no subresource of that name.
                    let text = "the server could not find the requested resource";
                    return plan.fail(Failure::refusal(&ApiError::new(ErrorReason::NotFound, text), None));
                }
            };
            let Some(current) = export_workload(store, id) else { continue };
            let mut value = current.to_value();
            let replicas = value.pointer("/spec/replicas").and_then(serde_json::Value::as_i64).unwrap_or(1);
            if let Some(wanted) = self.current.filter(|wanted| i64::from(*wanted) != replicas) {
                return plan.fail(Failure::own(format!("Expected replicas to be {wanted}, was {replicas}")));
            }
            let version = store.workload_meta(id).map_or(0, |meta| meta.version).to_string();
            if let Some(wanted) = self.resource_version.as_ref().filter(|wanted| **wanted != version) {
                return plan.fail(Failure::own(format!("Expected resource version to be {wanted}, was {version}")));
            }
            value["spec"]["replicas"] = self.replicas.into();
            let done = format!("{} scaled", object.printed(store));
            if self.current.is_some() || self.resource_version.is_some() {
                plan.call(Step::new(Request::Get, "").paced());
            }
            let mut scaled = CommandPlan::default();
            apply_value(value, done.clone(), Some(done), &mut scaled);
            plan.items.extend(scaled.items.into_iter().map(Item::paced));
        }
        missing.into_iter().for_each(|failure| plan.fail(failure));
    }
}

/// Whether a kind of workload has a subresource `scale`.
pub(crate) fn has_scale(id: WorkloadId) -> bool {
    matches!(id, WorkloadId::Deployment(_) | WorkloadId::ReplicaSet(_) | WorkloadId::StatefulSet(_))
}
