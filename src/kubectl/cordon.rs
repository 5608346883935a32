//! `kubectl cordon` and `kubectl uncordon`.

use super::command_line::{Arguments, NODES, Selection, Stop, Words, check_nodes};
use super::resource::{Found, find};
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Step};
use crate::component::Request;

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

    works_on_selection!(of_words);

    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        let found = match find(&self.selection, store).into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(found) => found,
            // One unknown node and nothing is done.
            Err(failure) => return plan.fail(failure),
        };
        for object in found {
            let Found::Node(node) = object else { continue };
            let name = store.node_name(node);
            let is_so = store.node(node).is_some_and(|n| n.unschedulable == self.unschedulable);
            if is_so {
                plan.say(line(name.as_str(), self.unschedulable, true));
                continue;
            }
            let request = Request::SetNodeUnschedulable { node, unschedulable: self.unschedulable };
            plan.call(Step::new(request, line(name.as_str(), self.unschedulable, false)).paced());
        }
    }
}

/// The printed line: `node/x cordoned`, or that it already was.
pub(super) fn line(name: &str, unschedulable: bool, already: bool) -> String {
    let done = if unschedulable { "cordoned" } else { "uncordoned" };
    let already = if already { "already " } else { "" };
    format!("node/{name} {already}{done}")
}
