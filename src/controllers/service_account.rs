//! The service account controller: each namespace has its `default` account.

use std::sync::Arc;

use crate::arena::Symbol;
use crate::component::{Answer, Config, Controller, Ctx, Enqueue, ErrorReason, Reconcile, Request, Start, SyncPlan};
use crate::model::{Object, ObjectMeta, StoredObject};
use crate::state::{Change, Changed, Store};

/// The account that pods have which name none.
const DEFAULT: &str = "default";

/// The service account controller.
///
/// # Source
/// kube-controller-manager, serviceaccount-controller: `syncNamespace`.
///
/// # Differs
/// An account that is deleted is not made anew. Pods are admitted whether their account is there or not.
#[derive(Clone, Debug, Default)]
pub struct ServiceAccounts;

fn lacks(namespace: Symbol, store: &Store) -> bool {
    let key = (Symbol::new("serviceaccount"), namespace, Symbol::new(DEFAULT));
    let is_active = store.namespace(namespace).is_some_and(|(_, namespace)| namespace.deleting_since.is_none());
    is_active && !store.stored.contains_key(&key)
}

fn account(namespace: Symbol) -> Object {
    let metadata = ObjectMeta { name: Symbol::new(DEFAULT), namespace, ..ObjectMeta::default() };
    let (api_version, kind) = (Symbol::new("v1"), Symbol::new("ServiceAccount"));
    Object::Stored(Box::new(StoredObject { api_version, kind, metadata, fields: Arc::default() }))
}

impl Reconcile for ServiceAccounts {
    type Key = Symbol;
    type Purpose = ();
    const NAME: &'static str = "serviceaccount-controller";
    const CONTROLLERS: &'static [&'static str] = &["serviceaccount-controller"];

    fn workers(_: &Config) -> usize {
        1
    }

    fn watches(changed: &Changed) -> bool {
        matches!(changed, Changed::NamespaceChanged(_))
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Symbol>) {
        for (_, namespace) in ctx.store.namespaces.iter().filter(|(_, n)| lacks(n.name, ctx.store)) {
            queue.now(namespace.name);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Symbol>) {
        let Changed::NamespaceChanged(id) = &change.what else { return };
        if let Some(namespace) = ctx.store.namespaces.get(*id).filter(|n| lacks(n.name, ctx.store)) {
            queue.now(namespace.name);
        }
    }

    fn sync(&mut self, name: Symbol, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        if lacks(name, ctx.store) {
            plan.then(Request::Create(Box::new(account(name))), ());
        }
        plan
    }

    fn answered(&mut self, _: Symbol, (): (), _: &Answer, _: &mut Ctx<'_, Controller<Self>>) {}

    fn is_failure((): (), answer: &Answer) -> bool {
        matches!(answer, Err(error) if error.reason != ErrorReason::AlreadyExists)
    }
}
