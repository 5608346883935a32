//! `kubectl taint`.

use smallvec::SmallVec;

use super::command_line::TaintArgs;
use super::failure::Failure;
use super::resource::{Found, find};
use super::{CommandPlan, Step};
use crate::component::Request;
use crate::model::{TaintArgument, TaintEffect};
use crate::state::{NodeId, Store, TaintOnNode};
use crate::units::SimTime;

pub(super) fn plan(args: &TaintArgs, store: &Store, now: SimTime, plan: &mut CommandPlan) {
    for result in find(&args.selection, store) {
        match result {
            Ok(Found::Node(node)) => taint(args, node, store, now, plan),
            Ok(_) => {}
            Err(failure) => plan.fail(failure),
        }
    }
}

/// # Source
/// kubectl taint, `updateTaints` and `reorganizeTaints`.
fn taint(args: &TaintArgs, id: NodeId, store: &Store, now: SimTime, plan: &mut CommandPlan) {
    let Some(node) = store.node(id) else { return };
    let name = store.node_name(id);
    let mut add: SmallVec<[TaintOnNode; 2]> = SmallVec::new();
    let mut remove: SmallVec<[_; 2]> = SmallVec::new();
    let (mut taken, mut missing) = (Vec::new(), Vec::new());
    for argument in &args.taints {
        match argument {
            TaintArgument::Add(taint) => {
                if node.taint(taint.key, taint.effect).is_some() && !args.overwrite {
                    taken.push(taint.key.as_str());
                }
                let added_at = (taint.effect == TaintEffect::NoExecute).then_some(now);
                add.push(TaintOnNode { key: taint.key, value: taint.value, effect: taint.effect, added_at });
            }
            TaintArgument::Remove { key, effect } => {
                let matching = node.taints.iter().filter(|t| t.key == *key && effect.is_none_or(|e| e == t.effect));
                let before = remove.len();
                remove.extend(matching.map(|t| (t.key, t.effect)));
                if remove.len() == before {
                    let shown = effect.map_or_else(|| key.to_string(), |e| format!("{key}:{e}"));
                    missing.push(format!("taint \"{shown}\" not found"));
                }
            }
        }
    }
    if !taken.is_empty() {
        let taken = taken.join(",");
        let text = format!("node {name} already has {taken} taint(s) with same effect(s) and --overwrite is false");
        return plan.fail(Failure::own(text));
    }
    if !missing.is_empty() {
        return plan.fail(Failure::Own(missing));
    }
    let done = match (add.is_empty(), remove.is_empty()) {
        _ if args.overwrite => "modified",
        (true, _) => "untainted",
        (false, true) => "tainted",
        (false, false) => "modified",
    };
    plan.call(Step::new(Request::PatchNodeTaints { node: id, add, remove }, format!("node/{name} {done}")));
}
