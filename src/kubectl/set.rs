//! `kubectl set image`.

use super::Plan;
use super::command_line::SetImageArgs;
use super::patch::apply_value;
use super::resource::{Found, find};
use crate::component::export_workload;
use crate::state::Store;

pub(super) fn plan(args: &SetImageArgs, store: &Store, plan: &mut Plan) {
    let mut errors = Vec::new();
    for object in find(&args.selection, store, &mut errors) {
        let name = object.printed(store);
        let Found::Workload(_, id) = object else { continue };
        let Some(current) = export_workload(store, id) else { continue };
        let mut value = current.to_value();
        let mut missing: Vec<&str> = args.images.iter().map(|(c, _)| c.as_str()).filter(|c| *c != "*").collect();
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
        if let Some(container) = missing.first() {
            plan.fail(format!("error: unable to find container named \"{container}\""));
            continue;
        }
        apply_value(value, &name, format!("{name} image updated"), Some(String::new()), plan);
    }
    plan.stderr.extend(errors);
}
