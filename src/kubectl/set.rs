//! `kubectl set image`.

use super::Plan;
use super::command_line::SetImageArgs;
use super::failure::Failure;
use super::patch::apply_value;
use super::resource::{Found, find};
use crate::component::export_workload;
use crate::state::Store;

/// # Source
/// kubectl set image: one object that is not there and nothing is done; a container that is not there hinders no other.
pub(super) fn plan(args: &SetImageArgs, store: &Store, plan: &mut Plan) {
    let results = find(&args.selection, store);
    if results.iter().any(Result::is_err) {
        return results.into_iter().filter_map(Result::err).for_each(|failure| plan.fail(failure));
    }
    let mut changed = Vec::new();
    for object in results.into_iter().flatten() {
        let name = object.printed(store);
        let Found::Workload(_, id) = object else { continue };
        let Some(current) = export_workload(store, id) else { continue };
        let mut value = current.to_value();
        let mut missing: Vec<&str> = args.images.iter().map(|(c, _)| c.as_str()).collect();
        for list in ["initContainers", "containers"] {
            let containers = value.pointer_mut(&format!("/spec/template/spec/{list}"));
            for container in containers.and_then(serde_json::Value::as_array_mut).into_iter().flatten() {
                for (wanted, image) in &args.images {
                    if wanted == "*" || container["name"] == **wanted {
                        container["image"] = image.clone().into();
                        missing.retain(|c| c != wanted);
                    }
                }
            }
        }
        for container in missing {
            plan.fail(Failure::own(format!("error: unable to find container named \"{container}\"")));
        }
        changed.push((name, value));
    }
    for (name, value) in changed {
        apply_value(value, format!("{name} image updated"), Some(String::new()), plan);
    }
}
