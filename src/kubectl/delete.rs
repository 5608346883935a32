//! `kubectl delete`.

use super::command_line::DeleteArgs;
use super::resource::{Found, Kind, find, find_one};
use super::{Gone, Plan, Step};
use crate::arena::Symbol;
use crate::component::{DeleteOptions, Request};
use crate::model::Object;
use crate::state::{DeletionCause, Store};

pub(super) fn plan(args: &DeleteArgs, objects: &[Object], store: &Store, plan: &mut Plan) {
    let mut errors = Vec::new();
    let mut found = find(&args.selection, store, &mut errors);
    for object in objects {
        let Some(kind) = Kind::parse(object.kind().as_str()) else { continue };
        let metadata = object.metadata();
        match find_one(kind, metadata.namespace, metadata.name.as_str(), store) {
            Some(object) => found.push(object),
            None => errors.push(super::resource::not_found(kind, metadata.name.as_str())),
        }
    }
    if args.force {
        plan.warnings.push(
            "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. \
             The resource may continue to run on the cluster indefinitely."
                .to_owned(),
        );
    }
    if found.is_empty() && errors.is_empty() {
        plan.stdout.push("No resources found".to_owned());
    }
    for object in found {
        if let Some(step) = step(args, &object, store) {
            plan.steps.push(step);
        }
    }
    if !args.ignore_not_found {
        plan.stderr.extend(errors);
    }
}

fn step(args: &DeleteArgs, object: &Found, store: &Store) -> Option<Step> {
    let grace_s = args.grace_s.or(args.force.then_some(0));
    let (request, gone) = match object {
        Found::Pod(pod) => {
            let options = DeleteOptions { grace_s, uid: None };
            (Request::DeletePod { pod: *pod, options, cause: DeletionCause::Kubectl }, Some(Gone::Pod(*pod)))
        }
        Found::Node(node) => (Request::DeleteNode { node: *node }, Some(Gone::Node(*node))),
        Found::Workload(_, id) => {
            let request = Request::DeleteWorkload { workload: *id, propagation: args.cascade };
            (request, Some(Gone::Workload(*id)))
        }
        Found::Other(kind, name) => {
            let namespace = if kind.is_namespaced() { Symbol::new(&args.selection.namespace) } else { Symbol::empty() };
            (
                Request::DeleteOther { kind: kind.other_kind()?, namespace, name: *name },
                lingers(*kind, namespace, *name, store),
            )
        }
    };
    let kind = object.kind();
    let force = if args.force { "force " } else { "" };
    let place =
        if kind.is_namespaced() { format!(" from {} namespace", args.selection.namespace) } else { String::new() };
    let line = format!("{} \"{}\" {force}deleted{place}", kind.printed(), object.name(store));
    Some(Step { request, line, unchanged: None, subject: object.name(store), wait: gone.filter(|_| args.wait) })
}

/// What to wait for of the kinds that stay for a while after they are deleted; the others are gone with the answer.
fn lingers(kind: Kind, namespace: Symbol, name: Symbol, store: &Store) -> Option<Gone> {
    match kind {
        Kind::Namespace => store.namespace(name).map(|(id, _)| Gone::Namespace(id)),
        Kind::PersistentVolumeClaim => store.volumes.find_claim(namespace, name).map(Gone::Claim),
        _ => None,
    }
}
