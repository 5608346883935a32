//! `kubectl taint`.

use smallvec::SmallVec;

use super::Plan;
use super::command_line::TaintArgs;
use super::resource::{Found, find};
use crate::component::Request;
use crate::model::{TaintArgument, TaintEffect};
use crate::state::{NodeId, Store, TaintOnNode};
use crate::units::SimTime;

pub(super) fn plan(args: &TaintArgs, store: &Store, now: SimTime, plan: &mut Plan) {
    let mut errors = Vec::new();
    for object in find(&args.selection, store, &mut errors) {
        if let Found::Node(node) = object {
            taint(args, node, store, now, plan);
        }
    }
    plan.stderr.extend(errors);
}

fn taint(args: &TaintArgs, id: NodeId, store: &Store, now: SimTime, plan: &mut Plan) {
    let Some(node) = store.node(id) else { return };
    let name = store.node_name(id);
    let mut add: SmallVec<[TaintOnNode; 2]> = SmallVec::new();
    let mut remove: SmallVec<[_; 2]> = SmallVec::new();
    for argument in &args.taints {
        match argument {
            TaintArgument::Add(taint) => {
                if node.taint(taint.key, taint.effect).is_some() && !args.overwrite {
                    plan.fail(format!(
                        "error: node {name} already has {} taint(s) with same effect(s) and --overwrite is false",
                        taint.key
                    ));
                    return;
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
                    plan.fail(format!("error: taint \"{shown}\" not found"));
                    return;
                }
            }
        }
    }
    let done = match (add.is_empty(), remove.is_empty()) {
        (true, _) => "untainted",
        (false, true) => "tainted",
        (false, false) => "modified",
    };
    plan.step(Request::PatchNodeTaints { node: id, add, remove }, format!("node/{name} {done}"), name.as_str());
}
