//! `kubectl scale`.

use super::Plan;
use super::command_line::ScaleArgs;
use super::patch::apply_value;
use super::resource::{Found, find};
use crate::component::export_workload;
use crate::state::Store;

pub(super) fn plan(args: &ScaleArgs, store: &Store, plan: &mut Plan) {
    let mut errors = Vec::new();
    if args.replicas < 0 {
        plan.fail(format!("error: invalid replicas: {}; must be non-negative", args.replicas));
        return;
    }
    for object in find(&args.selection, store, &mut errors) {
        let name = object.printed(store);
        let Found::Workload(_, id) = object else {
            plan.fail(format!("error: cannot scale {name}"));
            continue;
        };
        let Some(current) = export_workload(store, id) else { continue };
        let mut value = current.to_value();
        let replicas = value.pointer("/spec/replicas").and_then(serde_json::Value::as_i64).unwrap_or(1);
        if args.current.is_some_and(|wanted| i64::from(wanted) != replicas) {
            let wanted = args.current.unwrap_or_default();
            plan.fail(format!("error: Expected replicas to be {wanted}, was {replicas}"));
            continue;
        }
        value["spec"]["replicas"] = args.replicas.into();
        apply_value(value, &name, format!("{name} scaled"), Some(format!("{name} scaled")), plan);
    }
    plan.stderr.extend(errors);
}
