//! `kubectl cordon` and `kubectl uncordon`.

use super::command_line::{Arguments, NODES, Selection, Stop, Words, check_nodes};
use super::resource::{Found, find};
use super::verb::{Scene, Verb};
use super::{CommandPlan, Step};
use crate::component::Request;
use crate::state::Store;

/// Arguments of `cordon` and `uncordon`.
#[derive(Clone, Debug)]
pub struct CordonArgs {
    /// Which nodes.
    pub selection: Selection,
    /// What `spec.unschedulable` becomes.
    pub unschedulable: bool,
}

impl Verb for CordonArgs {
    const COMMANDS: &'static [Words] = &[("cordon", &[NODES]), ("uncordon", &[NODES])];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        check_nodes(arguments)?;
        Ok(Self { selection: arguments.nodes()?, unschedulable: arguments.path == "cordon" })
    }

    fn selection(&self) -> Option<&Selection> {
        Some(&self.selection)
    }

    fn plan(&self, scene: &Scene<'_>, out: &mut CommandPlan) {
        plan(self, scene.store, out);
    }
}

/// The printed line: `node/x cordoned`, or that it already was.
pub(super) fn line(name: &str, unschedulable: bool, already: bool) -> String {
    let done = if unschedulable { "cordoned" } else { "uncordoned" };
    let already = if already { "already " } else { "" };
    format!("node/{name} {already}{done}")
}

fn plan(args: &CordonArgs, store: &Store, plan: &mut CommandPlan) {
    let found = match find(&args.selection, store).into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(found) => found,
        // One unknown node and nothing is done.
        Err(failure) => return plan.fail(failure),
    };
    for object in found {
        let Found::Node(node) = object else { continue };
        let name = store.node_name(node);
        let is_so = store.node(node).is_some_and(|n| n.unschedulable == args.unschedulable);
        if is_so {
            plan.say(line(name.as_str(), args.unschedulable, true));
            continue;
        }
        let request = Request::SetNodeUnschedulable { node, unschedulable: args.unschedulable };
        plan.call(Step::new(request, line(name.as_str(), args.unschedulable, false)));
    }
}
