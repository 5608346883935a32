//! `kubectl replace -f`.

use std::sync::Arc;

use super::command_line::ReplaceArgs;
use super::failure::Failure;
use super::resource::{Kind, find_one, not_found, of_another_namespace};
use super::{CommandPlan, Item, Step, Written, delete};
use crate::component::Request;
use crate::model::config::KubernetesVersion;
use crate::state::Store;

/// # Source
/// kubectl, `ReplaceOptions.Run`: what is not there is an error.
pub(super) fn plan(
    args: &ReplaceArgs,
    objects: &[Written],
    version: KubernetesVersion,
    store: &Store,
    plan: &mut CommandPlan,
) {
    if objects.is_empty() {
        plan.fail(Failure::own("no objects passed to replace"));
    }
    let served = |written: &&Written| written.is_served(version);
    let objects: Vec<&Written> = objects.iter().filter(served).collect();
    if args.force {
        let elsewhere = |w: &&Written| of_another_namespace(w.object.metadata().namespace, args.namespace.as_deref());
        if let Some(failure) = objects.iter().find_map(elsewhere) {
            return plan.fail(failure);
        }
        return make_anew(&objects, store, plan);
    }
    for written in objects {
        let Written { file, object, .. } = written;
        let Some(kind) = Kind::of(object) else { continue };
        let metadata = object.metadata();
        if let Some(failure) = of_another_namespace(metadata.namespace, args.namespace.as_deref()) {
            plan.fail(failure);
            continue;
        }
        if find_one(kind, metadata.namespace, metadata.name.as_str(), store).is_none() {
            let error = not_found(kind, metadata.name.as_str());
            plan.fail(Failure::refusal(&error, Some(("replacing", file))));
            continue;
        }
        if !written.is_taken("replacing", args.validation, plan) {
            continue;
        }
        let line = format!("{}/{} replaced", kind.printed(), metadata.name);
        let source = Some(("replacing", Arc::clone(file)));
        plan.call(Step { source, ..Step::new(Request::Apply(Box::new(object.clone())), line) });
    }
}

/// Deletes what is there, waits until all of it is gone, and creates everything.
///
/// # Source
/// kubectl, `ReplaceOptions.forceReplace`.
fn make_anew(objects: &[&Written], store: &Store, plan: &mut CommandPlan) {
    for Written { file, object, .. } in objects {
        let Some(kind) = Kind::of(object) else { continue };
        let metadata = object.metadata();
        let found = find_one(kind, metadata.namespace, metadata.name.as_str(), store);
        if let Some(step) = found.and_then(|found| delete::forced(&found, store)) {
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
