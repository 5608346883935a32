//! `kubectl label` and `kubectl annotate`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Plan;
use super::command_line::{LabelArgs, MetadataPart};
use super::resource::{Found, find};
use crate::arena::Symbol;
use crate::component::{Request, export_workload};
use crate::model::Labels;
use crate::state::Store;

pub(super) fn plan(args: &LabelArgs, store: &Store, plan: &mut Plan) {
    let mut errors = Vec::new();
    for object in find(&args.selection, store, &mut errors) {
        let name = object.printed(store);
        match args.part {
            MetadataPart::Labels => labels(args, &object, &name, store, plan),
            MetadataPart::Annotations => annotations(args, &object, &name, store, plan),
        }
    }
    plan.stderr.extend(errors);
}

fn labels(args: &LabelArgs, object: &Found, name: &str, store: &Store, plan: &mut Plan) {
    let old = object.labels(store);
    let mut new = old.clone();
    for (key, value) in &args.changes {
        let symbol = Symbol::new(key);
        match (value, old.get(symbol)) {
            (Some(value), Some(present)) if present.as_str() != value && !args.overwrite => {
                plan.fail(format!("error: '{key}' already has a value ({present}), and --overwrite is false"));
                return;
            }
            (Some(value), _) => new = new.with(symbol, Symbol::new(value)),
            (None, Some(_)) => new = new.without(symbol),
            (None, None) => plan.stdout.push(format!("label \"{key}\" not found.")),
        }
    }
    let only_removes = args.changes.iter().all(|(_, value)| value.is_none());
    if new == old {
        plan.stdout.push(format!("{name} not labeled"));
        return;
    }
    let done = if only_removes { "unlabeled" } else { "labeled" };
    if let Some(request) = set_labels(object, new, store) {
        plan.step(request, format!("{name} {done}"), name);
    }
}

fn set_labels(object: &Found, labels: Labels, store: &Store) -> Option<Request> {
    Some(match object {
        Found::Pod(pod) => Request::SetPodLabels { pod: *pod, labels },
        Found::Node(node) => Request::SetNodeLabels { node: *node, labels },
        Found::Workload(_, id) => {
            let mut object = export_workload(store, *id)?;
            object.metadata_mut().labels = labels;
            Request::Apply(Box::new(object))
        }
        Found::Other(..) => return None,
    })
}

fn annotations(args: &LabelArgs, object: &Found, name: &str, store: &Store, plan: &mut Plan) {
    let old = match object {
        Found::Node(node) => store.node(*node).map(|n| Arc::clone(&n.annotations)),
        Found::Workload(_, id) => store.workload_meta(*id).map(|m| Arc::clone(&m.annotations)),
        Found::Pod(pod) => store.pod(*pod).map(|p| Arc::clone(&p.spec.annotations)),
        Found::Other(..) => None,
    };
    let Some(old) = old else {
        plan.stdout.push(format!("{name} annotated"));
        return;
    };
    let mut new = BTreeMap::clone(&old);
    for (key, value) in &args.changes {
        let symbol = Symbol::new(key);
        match value {
            Some(value) if !args.overwrite && old.get(&symbol).is_some_and(|v| v.as_str() != value) => {
                plan.fail(format!("error: --overwrite is false but found the following declared annotation(s): '{key}' already has a value ({})", old[&symbol]));
                return;
            }
            Some(value) => {
                new.insert(symbol, Symbol::new(value));
            }
            None => {
                new.remove(&symbol);
            }
        }
    }
    let annotations = Arc::new(new);
    let request = match object {
        Found::Node(node) => Request::SetNodeAnnotations { node: *node, annotations },
        Found::Workload(_, id) => Request::SetWorkloadAnnotations { workload: *id, annotations },
        Found::Pod(pod) => Request::SetPodAnnotations { pod: *pod, annotations },
        Found::Other(..) => return,
    };
    plan.step(request, format!("{name} annotated"), name);
}
