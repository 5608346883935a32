//! `kubectl set image`.

use super::command_line::SetImageArgs;
use super::failure::Failure;
use super::patch::apply_value;
use super::resource::find;
use super::{CommandPlan, three_way};
use crate::state::Store;

/// # Source
/// kubectl set image: one object that is not there and nothing is done; a container that is not there hinders no other.
pub(super) fn plan(args: &SetImageArgs, store: &Store, plan: &mut CommandPlan) {
    let results = find(&args.selection, store);
    if results.iter().any(Result::is_err) {
        return results.into_iter().filter_map(Result::err).for_each(|failure| plan.fail(failure));
    }
    let mut changed = Vec::new();
    for object in results.into_iter().flatten() {
        let name = object.printed(store);
        let Some(current) = three_way::export(&object, store) else { continue };
        let mut value = current.to_value();
        // A pod, something with a template, or a cron job with a template of a job.
        let specs = ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec"];
        let Some(spec) = specs.into_iter().find(|spec| value.pointer(&format!("{spec}/containers")).is_some()) else {
            continue;
        };
        let mut missing: Vec<&str> = args.images.iter().map(|(c, _)| c.as_str()).collect();
        for list in ["initContainers", "containers"] {
            let containers = value.pointer_mut(&format!("{spec}/{list}"));
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
