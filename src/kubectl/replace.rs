//! `kubectl replace -f`.

use std::sync::Arc;

use super::failure::Failure;
use super::resource::{Kind, find_one, not_found};
use super::{Plan, Step, Written};
use crate::component::Request;
use crate::state::Store;

/// # Source
/// kubectl, `ReplaceOptions.Run`: what is not there is an error.
pub(super) fn plan(objects: &[Written], store: &Store, plan: &mut Plan) {
    if objects.is_empty() {
        plan.fail(Failure::own("no objects passed to replace"));
    }
    for Written { file, object } in objects {
        let Some(kind) = Kind::of(object) else { continue };
        let metadata = object.metadata();
        if find_one(kind, metadata.namespace, metadata.name.as_str(), store).is_none() {
            let error = not_found(kind, metadata.name.as_str());
            plan.fail(Failure::refusal(&error, Some(("replacing", file))));
            continue;
        }
        let line = format!("{}/{} replaced", kind.printed(), metadata.name);
        let source = Some(("replacing", Arc::clone(file)));
        plan.call(Step { source, ..Step::new(Request::Apply(Box::new(object.clone())), line) });
    }
}
