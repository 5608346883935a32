//! `kubectl cordon` and `kubectl uncordon`.

use super::Plan;
use super::command_line::CordonArgs;
use super::resource::{Found, find};
use crate::component::Request;
use crate::state::Store;

/// The printed line: `node/x cordoned`, or that it already was.
pub(super) fn line(name: &str, unschedulable: bool, already: bool) -> String {
    let done = if unschedulable { "cordoned" } else { "uncordoned" };
    let already = if already { "already " } else { "" };
    format!("node/{name} {already}{done}")
}

pub(super) fn plan(args: &CordonArgs, store: &Store, plan: &mut Plan) {
    let mut errors = Vec::new();
    let found = find(&args.selection, store, &mut errors);
    if !errors.is_empty() {
        // One unknown node and nothing is done.
        plan.stderr = errors;
        return;
    }
    for object in found {
        let Found::Node(node) = object else { continue };
        let name = store.node_name(node);
        let is_so = store.node(node).is_some_and(|n| n.unschedulable == args.unschedulable);
        if is_so {
            plan.stdout.push(line(name.as_str(), args.unschedulable, true));
            continue;
        }
        let request = Request::SetNodeUnschedulable { node, unschedulable: args.unschedulable };
        plan.step(request, line(name.as_str(), args.unschedulable, false), name.as_str());
    }
}
