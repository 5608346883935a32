//! `kubectl replace -f`.

use std::sync::Arc;

use super::command_line::{
    Arguments, CREATE, DRY, FILES, FieldValidation, PRINT, Selection, Stop, WRITE, Words, check_kustomize,
    check_subresource, field_validation,
};
use super::failure::Failure;
use super::label::is_outdated;
use super::resource::{Kind, find_one, nameless, not_found, of_another_namespace};
use super::verb::{Scene, Verb};
use super::{CommandPlan, Item, Step, Written, delete};
use crate::arena::Symbol;
use crate::component::Request;
use crate::state::{Propagation, Store};

/// Arguments of `replace`.
#[derive(Clone, Debug)]
pub struct ReplaceArgs {
    /// `-n`, if given.
    pub namespace: Option<String>,
    /// `--force`: the objects are deleted and made anew.
    pub force: bool,
    /// `--cascade`, of what is deleted.
    pub cascade: delete::Cascade,
    /// `--validate`.
    pub validation: FieldValidation,
}

impl Verb for ReplaceArgs {
    const COMMANDS: &'static [Words] = &[(
        "replace",
        &[FILES, PRINT, DRY, WRITE, CREATE, "cascade? force! grace-period= raw= subresource= timeout= wait!"],
    )];

    /// # Source
    /// kubectl, `ReplaceOptions.Validate`.
    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let force = arguments.switch("force", false)?;
        if !force && arguments.number::<i64>("grace-period")?.is_some_and(|seconds| seconds >= 0) {
            return Err(Stop::error("--grace-period must have --force specified"));
        }
        if !force && arguments.has("timeout") {
            return Err(Stop::error("--timeout must have --force specified"));
        }
        if force && arguments.has("dry-run") {
            return Err(Stop::error("--dry-run can not be used when --force is set"));
        }
        if arguments.files().is_empty() && !arguments.has("kustomize") {
            return Err(Stop::error("must specify --filename to replace"));
        }
        check_kustomize(arguments)?;
        check_subresource(arguments)?;
        let namespace = arguments.has("namespace").then(|| arguments.namespace());
        let validation = field_validation(arguments)?;
        let cascade = delete::cascade(arguments)?;
        Ok(Self { namespace, force, cascade, validation })
    }

    fn selection(&self) -> Option<&Selection> {
        None
    }

    fn given_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// # Source
    /// kubectl, `ReplaceOptions.Run`: what is not there is an error.
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let Scene { version, store, .. } = *scene;
        let objects = &scene.line.objects;
        if objects.is_empty() {
            plan.fail(Failure::own("no objects passed to replace"));
        }
        let served = |written: &&Written| written.is_served(version);
        let objects: Vec<&Written> = objects.iter().filter(served).collect();
        plan.warnings.extend(self.cascade.warning());
        if self.force {
            let elsewhere =
                |w: &&Written| of_another_namespace(w.object.metadata().namespace, self.namespace.as_deref());
            if let Some(failure) = objects.iter().find_map(elsewhere) {
                return plan.fail(failure);
            }
            let unnamed = objects.iter().filter(|written| written.object.metadata().name.is_empty());
            let failures: Vec<_> = unnamed.map(|w| nameless().with_source("deleting", &w.file)).collect();
            if !failures.is_empty() {
                return failures.into_iter().for_each(|failure| plan.fail(failure));
            }
            return make_anew(&objects, self.cascade.propagation, store, plan);
        }
        for written in objects {
            let Written { file, object, .. } = written;
            let Some(kind) = Kind::of(object) else { continue };
            let metadata = object.metadata();
            if metadata.name.is_empty() {
                plan.fail(nameless().with_source("replacing", file));
                continue;
            }
            if let Some(failure) = of_another_namespace(metadata.namespace, self.namespace.as_deref()) {
                plan.fail(failure);
                continue;
            }
            let Some(found) = find_one(kind, metadata.namespace, metadata.name.as_str(), store) else {
                let error = not_found(kind, metadata.name.as_str());
                plan.fail(Failure::refusal(&error, Some(("replacing", file))));
                continue;
            };
            if !written.is_taken("replacing", self.validation, plan) {
                continue;
            }
            let version = metadata.resource_version.map(Symbol::as_str);
            if let Some(failure) = is_outdated(version, &found, store, Some(("replacing", file))) {
                plan.fail(failure);
                continue;
            }
            let line = format!("{}/{} replaced", kind.printed(), metadata.name);
            let source = Some(("replacing", Arc::clone(file)));
            plan.call(Step { source, ..Step::new(Request::Apply(Box::new(object.clone())), line) });
        }
    }
}

/// Deletes what is there, waits until all of it is gone, and creates everything.
///
/// # Source
/// kubectl, `ReplaceOptions.forceReplace`.
fn make_anew(objects: &[&Written], cascade: Propagation, store: &Store, plan: &mut CommandPlan) {
    for Written { file, object, .. } in objects {
        let Some(kind) = Kind::of(object) else { continue };
        let metadata = object.metadata();
        let found = find_one(kind, metadata.namespace, metadata.name.as_str(), store);
        if let Some(step) = found.and_then(|found| delete::forced(&found, cascade, store)) {
            plan.call(Step { source: Some(("deleting", Arc::clone(file))), ..step });
        }
    }
    plan.items.push(Item::AwaitGone(None));
    for Written { file, object, .. } in objects {
        let Some(kind) = Kind::of(object) else { continue };
        let metadata = object.metadata();
        let home = Some(metadata.namespace).filter(|namespace| !namespace.is_empty());
        let line = format!("{}/{} replaced", kind.printed(), metadata.name);
        let source = Some(("replacing", Arc::clone(file)));
        plan.call(Step { source, home, ..Step::new(Request::Create(Box::new(object.clone())), line) });
    }
}
