//! Owner references beside the controlling one that acts: who else keeps an object, and whom an object outlives.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::meta::{Propagation, Uid};
use super::store::Store;
use super::workload::WorkloadId;
use crate::arena::Symbol;
use crate::model::{AnyKind, ObjectKind, StoredKind};

/// Printed kind, namespace and name of an object that has owners.
pub type DependentKey = (Symbol, Symbol, Symbol);

/// One owner, as `metadata.ownerReferences` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// `apiVersion`.
    pub api_version: Symbol,
    /// `kind`.
    pub kind: Symbol,
    /// `name`.
    pub name: Symbol,
    /// `uid`.
    pub uid: Uid,
    /// `controller`.
    pub is_controller: bool,
    /// `blockOwnerDeletion`: a foreground deletion of the owner waits for the dependent.
    pub blocks: bool,
    /// The owner was not among what the input holds, or is of a kind that nobody knows: it counts as alive.
    pub is_assumed: bool,
}

impl Reference {
    /// The owner's kind.
    #[must_use]
    pub fn owner_kind(&self) -> AnyKind {
        let group = self.api_version.as_str().split_once('/').map_or("", |(group, _)| group);
        let modelled = if self.api_version.is_empty() {
            ObjectKind::named(self.kind.as_str())
        } else {
            ObjectKind::in_group(self.kind.as_str(), group)
        };
        modelled.map_or_else(
            || {
                let known = StoredKind::parse(&self.kind.as_str().to_ascii_lowercase());
                let known = known.filter(|kind| kind.group == group);
                AnyKind::Stored(known.unwrap_or_else(|| StoredKind::custom(self.kind.as_str(), group)))
            },
            AnyKind::Modelled,
        )
    }
}

/// An object with owners.
#[derive(Clone, Debug)]
pub struct Dependent {
    /// Its kind.
    pub kind: AnyKind,
    /// Its UID: another object of the name has no part in this.
    pub uid: Uid,
    /// Its owners.
    pub owners: Vec<Reference>,
}

/// How it stands with one owner.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is there, or counts as if it were.
    Lives,
    /// It waits for its dependents to go.
    Waits,
    /// There is none of that name, or it has another UID.
    Gone,
}

/// All references of this sort; forks of a run share them. Few clusters have any.
#[derive(Clone, Debug, Default)]
pub struct References(Arc<BTreeMap<DependentKey, Dependent>>);

impl References {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is kept under a key, whether or not its object is there.
    #[must_use]
    pub fn get(&self, key: &DependentKey) -> Option<&Dependent> {
        self.0.get(key)
    }

    /// All, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&DependentKey, &Dependent)> {
        self.0.iter()
    }

    /// Whether an object of a kind is a dependent or an owner here.
    #[must_use]
    pub fn concern(&self, kind: AnyKind) -> bool {
        let printed = printed(kind);
        self.0.iter().any(|(key, dependent)| {
            key.0 == printed || dependent.owners.iter().any(|owner| self::printed(owner.owner_kind()) == printed)
        })
    }

    /// Writes an object's owners; none takes them out.
    pub fn set(&mut self, key: DependentKey, dependent: Option<Dependent>) {
        let all = Arc::make_mut(&mut self.0);
        match dependent.filter(|dependent| !dependent.owners.is_empty()) {
            Some(dependent) => all.insert(key, dependent),
            None => all.remove(&key),
        };
    }
}

/// A kind in a key.
#[must_use]
pub fn printed(kind: AnyKind) -> Symbol {
    match kind {
        AnyKind::Modelled(kind) => Symbol::new(kind.as_str()),
        AnyKind::Stored(kind) => kind.printed(),
    }
}

impl Store {
    /// Who else owns an object that is there.
    #[must_use]
    pub fn owners_beside(&self, kind: AnyKind, namespace: Symbol, name: Symbol) -> &[Reference] {
        if self.references.is_empty() {
            return &[];
        }
        let Some(dependent) = self.references.get(&(printed(kind), namespace, name)) else { return &[] };
        if self.uid_of(kind, namespace, name) == Some(dependent.uid) { &dependent.owners } else { &[] }
    }

    /// The UID of the object of that kind and name.
    #[must_use]
    pub fn uid_of(&self, kind: AnyKind, namespace: Symbol, name: Symbol) -> Option<Uid> {
        let is_it = |meta: &super::meta::Meta| meta.namespace == namespace && meta.name == name;
        let kind = match kind {
            AnyKind::Stored(kind) => return Some(self.stored.get(&(kind.printed(), namespace, name))?.meta.uid),
            AnyKind::Modelled(kind) => kind,
        };
        Some(match kind {
            ObjectKind::Pod => self.pod(self.find_pod(namespace, &Arc::from(name.as_str()))?)?.uid,
            ObjectKind::Node => self.node(self.find_node(name)?)?.uid,
            ObjectKind::Namespace => self.namespace(name)?.1.uid,
            ObjectKind::Service => self.services.iter().find(|(_, service)| is_it(&service.meta))?.1.meta.uid,
            ObjectKind::PodDisruptionBudget => self.budgets.iter().find(|(_, budget)| is_it(&budget.meta))?.1.meta.uid,
            ObjectKind::PersistentVolume => self.volumes.volume(self.volumes.find_volume(name)?)?.meta.uid,
            ObjectKind::PersistentVolumeClaim => {
                self.volumes.claim(self.volumes.find_claim(namespace, name)?)?.meta.uid
            }
            ObjectKind::ControllerRevision => {
                self.controller_revisions.iter().find(|(_, revision)| is_it(&revision.meta))?.1.meta.uid
            }
            kind if kind.is_workload() => self.workload_meta(self.find_workload(kind, namespace, name)?)?.uid,
            _ => {
                let kind = StoredKind::parse(&kind.as_str().to_ascii_lowercase())?;
                self.stored.get(&(kind.printed(), namespace, name))?.meta.uid
            }
        })
    }

    /// The UID of the owner that a reference of an object in a namespace names, if there is one of its name.
    #[must_use]
    pub fn uid_of_owner(&self, namespace: Symbol, owner: &Reference) -> Option<Uid> {
        match owner.owner_kind() {
            AnyKind::Stored(kind) if !kind.is_built_in() => {
                let is_it = |key: &&DependentKey| key.2 == owner.name && (key.1 == namespace || key.1.is_empty());
                let mut named = self.stored.iter().filter(|(key, _)| is_it(key));
                named.find(|(_, stored)| stored.kind.kind == owner.kind).map(|(_, stored)| stored.meta.uid)
            }
            kind => self.uid_of(kind, namespace, owner.name).or_else(|| self.uid_of(kind, Symbol::empty(), owner.name)),
        }
    }

    /// The workload that a reference names, if it is there.
    #[must_use]
    pub fn workload_of_owner(&self, namespace: Symbol, owner: &Reference) -> Option<WorkloadId> {
        let AnyKind::Modelled(kind) = owner.owner_kind() else { return None };
        let id = self.find_workload(kind, namespace, owner.name)?;
        (self.workload_meta(id)?.uid == owner.uid).then_some(id)
    }

    /// How it stands with an owner of an object in a namespace.
    #[must_use]
    pub fn standing(&self, namespace: Symbol, owner: &Reference) -> Standing {
        if owner.is_assumed {
            return Standing::Lives;
        }
        if let Some(meta) = self.workload_of_owner(namespace, owner).and_then(|id| self.workload_meta(id)) {
            let waits = matches!(meta.deleting, Some((_, Propagation::Foreground)));
            return if waits { Standing::Waits } else { Standing::Lives };
        }
        match self.uid_of_owner(namespace, owner) {
            Some(uid) if uid == owner.uid => Standing::Lives,
            _ => Standing::Gone,
        }
    }
}
