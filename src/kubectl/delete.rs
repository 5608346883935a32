//! `kubectl delete`.

use std::sync::Arc;

use super::command_line::{DeleteArgs, Selection};
use super::failure::Failure;
use super::resource::{Found, Kind, Target, find, find_one, not_found, of_another_namespace, unknown_kind};
use super::{CommandPlan, Gone, Step, Written};
use crate::arena::Symbol;
use crate::component::{DeleteOptions, Request};
use crate::model::Labels;
use crate::model::config::KubernetesVersion;
use crate::state::{DeletionCause, Propagation, Store};

/// # Source
/// kubectl delete, `DeleteResult`.
pub(super) fn plan(
    args: &DeleteArgs,
    objects: &[Written],
    version: KubernetesVersion,
    store: &Store,
    plan: &mut CommandPlan,
) {
    if args.force {
        plan.warnings.push(
            "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. \
             The resource may continue to run on the cluster indefinitely."
                .to_owned(),
        );
    }
    if let Some(failure) = unknown_kind(&args.selection, store) {
        return plan.fail(failure);
    }
    let is_chosen = |labels: &Labels| args.selection.selector.as_ref().is_none_or(|selector| selector.matches(labels));
    let objects: Vec<&Written> = objects.iter().filter(|w| is_chosen(&w.object.metadata().labels)).collect();
    for written in objects.iter().filter(|written| written.is_served(version)) {
        match of_another_namespace(written.object.metadata().namespace, args.selection.given_namespace()) {
            Some(failure) => plan.fail(failure),
            None => delete_written(args, written, store, plan),
        }
    }
    // A deletion asks for no object before; its own namespace is not looked for.
    let results: Vec<_> = if args.selection.targets.is_empty() {
        find(&args.selection, store)
    } else {
        let namespace = Symbol::new(&args.selection.namespace);
        let find = |target: &Target| {
            find_one(target.kind, namespace, &target.name, store)
                .ok_or_else(|| Failure::refusal(&not_found(target.kind.meant(store), &target.name), None))
        };
        args.selection.targets.iter().map(find).collect()
    };
    if results.is_empty() && objects.is_empty() {
        plan.say("No resources found");
    }
    for result in results {
        match result {
            Ok(object) => step(args, &object, store).into_iter().for_each(|step| plan.call(step)),
            // A selection finds what it finds; what it tells is told.
            Err(failure) if !args.ignore_not_found || args.selection.targets.is_empty() => plan.fail(failure),
            Err(_) => {}
        }
    }
}

/// Deletes an object of a file, in its own namespace.
fn delete_written(args: &DeleteArgs, written: &Written, store: &Store, plan: &mut CommandPlan) {
    let metadata = written.object.metadata();
    let source = Some(("deleting", Arc::clone(&written.file)));
    let (Some(kind), name) = (Kind::of(&written.object), metadata.name) else { return };
    match find_one(kind, metadata.namespace, name.as_str(), store) {
        Some(object) => {
            if let Some(step) = step(args, &object, store) {
                plan.call(Step { source, ..step });
            }
        }
        None if args.ignore_not_found => {}
        None => plan.fail(Failure::refusal(&not_found(kind, name.as_str()), Some(("deleting", &written.file)))),
    }
}

/// The deletion of an object that is to be made anew: it has to be gone first.
pub(super) fn forced(object: &Found, store: &Store) -> Option<Step> {
    let args = DeleteArgs {
        selection: Selection::default(),
        files: Vec::new(),
        cascade: Propagation::Background,
        grace_s: None,
        force: false,
        wait: true,
        timeout: None,
        ignore_not_found: true,
    };
    step(&args, object, store)
}

fn step(args: &DeleteArgs, object: &Found, store: &Store) -> Option<Step> {
    let namespace = object.namespace(store);
    let (request, gone) = match object {
        Found::Pod(pod) => {
            let options = DeleteOptions { grace_s: args.grace_s, uid: None };
            (Request::DeletePod { pod: *pod, options, cause: DeletionCause::Kubectl }, Some(Gone::Pod(*pod)))
        }
        Found::Node(node) => (Request::DeleteNode { node: *node }, Some(Gone::Node(*node))),
        Found::Workload(_, id) => {
            let request = Request::DeleteWorkload { workload: *id, propagation: args.cascade };
            (request, Some(Gone::Workload(*id)))
        }
        Found::Other(kind, namespace, name) => (
            Request::DeleteOther { kind: kind.any(), namespace: *namespace, name: *name },
            lingers(*kind, *namespace, *name, store),
        ),
    };
    let kind = object.kind();
    let force = if args.grace_s == Some(0) { "force " } else { "" };
    let place = if kind.is_namespaced() { format!(" from {namespace} namespace") } else { String::new() };
    let line = format!("{} \"{}\" {force}deleted{place}", kind.printed(), object.name(store));
    let wait = gone.filter(|_| args.wait);
    Some(Step { wait, may_be_gone: args.ignore_not_found, ..Step::new(request, line) })
}

/// What to wait for of the kinds that stay for a while after they are deleted; the others are gone with the answer.
fn lingers(kind: Kind, namespace: Symbol, name: Symbol, store: &Store) -> Option<Gone> {
    match kind {
        Kind::Namespace => store.namespace(name).map(|(id, _)| Gone::Namespace(id)),
        Kind::PersistentVolumeClaim => store.volumes.find_claim(namespace, name).map(Gone::Claim),
        _ => None,
    }
}
