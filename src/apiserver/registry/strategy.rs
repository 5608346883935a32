//! What the files of the kinds have in common.

use std::sync::Arc;

use crate::apiserver::finalizers;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, Standing};
use crate::arena::Symbol;
use crate::component::{Answer, ApiError};
use crate::model::{ConditionStatus, Object, ObjectMeta, StoredKind};
use crate::state::{Meta, ObjectDelta, Owner, Status, Store, Uid};

/// What identifies an object among those of its type.
#[derive(Copy, Clone, Debug)]
pub(in crate::apiserver) struct Key {
    /// Namespace; empty for what lives in none.
    pub(in crate::apiserver) namespace: Symbol,
    /// Name.
    pub(in crate::apiserver) name: Symbol,
    /// The kind, of an object that decides nothing: all such kinds are one type.
    pub(in crate::apiserver) stored: Option<StoredKind>,
}

impl Key {
    pub(in crate::apiserver) fn of(object: &Object) -> Self {
        let metadata = object.metadata();
        Self { namespace: metadata.namespace, name: metadata.name, stored: object.stored_kind() }
    }
}

/// What the server does with objects of a kind.
pub(in crate::apiserver) trait Strategy: Sized {
    /// How the store names an object.
    type Id: Copy;

    /// Resource and group, as messages name them.
    const RESOURCE: &'static str;

    /// A PUT is validated by [`Strategy::replace`], once admission has put back what it adds.
    const VALIDATES_UPDATES: bool = false;

    /// The same, of kinds that share a type.
    fn resource(_key: &Key) -> &'static str {
        Self::RESOURCE
    }

    /// The object that is there.
    fn find(store: &Store, key: &Key) -> Option<Self::Id>;

    /// POST of an object that is not there.
    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer;

    /// PUT in the place of one that is: new spec, labels and annotations; the status stays.
    fn replace(self, api: &mut ApiServer, s: &mut Session<'_>, id: Self::Id) -> Answer;

    /// Whether the object is to go; of most kinds none lingers.
    fn standing(_store: &Store, _id: Self::Id) -> Standing {
        Standing::Stays
    }

    /// What admission refuses to delete, there or not.
    ///
    /// # Errors
    /// 403.
    fn admit_deletion(_key: &Key) -> Result<(), ApiError> {
        Ok(())
    }

    /// DELETE without options.
    fn delete(api: &mut ApiServer, s: &mut Session<'_>, id: Self::Id) -> Answer;

    /// The object as far as a change is held against it; none where a PUT is validated like a POST.
    fn present(_store: &Store, _id: Self::Id) -> Option<Object> {
        None
    }

    /// Takes over what a file does not say of an object that is there. Workloads come merged already.
    fn inherit(&mut self, _present: &Object) {}
}

impl ApiServer {
    pub(super) fn meta(&mut self, s: &Session<'_>, kind: &str, metadata: &ObjectMeta) -> Meta {
        Meta {
            namespace: metadata.namespace,
            name: metadata.name,
            uid: self.uid(s, kind, metadata),
            labels: metadata.labels.clone(),
            annotations: Arc::new(metadata.annotations.clone()),
            created_at: self.instant(metadata.creation_timestamp, s.now),
            generation: metadata.generation.max(1),
            // A cluster that is restored goes on where it was.
            version: (metadata.resource_version.filter(|_| self.is_restoring))
                .and_then(|version| version.as_str().parse().ok())
                .unwrap_or(1),
            deleting: metadata.deletion_timestamp.filter(|_| !metadata.finalizers.is_empty()).map(|_| {
                let since = self.instant(metadata.deletion_timestamp, s.now);
                (since, finalizers::propagation(&metadata.finalizers))
            }),
            finalizers: finalizers::foreign(&metadata.finalizers),
            owner: owner_by_name(metadata),
        }
    }

    pub(super) fn uid(&mut self, s: &Session<'_>, kind: &str, metadata: &ObjectMeta) -> Uid {
        match metadata.uid {
            Some(uid) if !uid.as_str().is_empty() => Uid::from_text(uid.as_str()),
            _ => self.names.new_uid(s, kind, metadata.namespace, metadata.name.as_str()),
        }
    }
}

/// Replaces labels, annotations and spec; the generation rises with the spec.
pub(super) fn replace<T: PartialEq>(meta: &mut Meta, metadata: &ObjectMeta, old: &mut Arc<T>, new: T) -> ObjectDelta {
    let mut delta = ObjectDelta::NONE;
    if meta.labels != metadata.labels || *meta.annotations != metadata.annotations {
        meta.labels = metadata.labels.clone();
        meta.annotations = Arc::new(metadata.annotations.clone());
        delta = delta | ObjectDelta::METADATA;
    }
    let finalizers = finalizers::foreign(&metadata.finalizers);
    if meta.finalizers != finalizers {
        meta.finalizers = finalizers;
        delta = delta | ObjectDelta::METADATA;
    }
    // Somebody takes off what the garbage collector would.
    if let Some((since, propagation)) = meta.deleting
        && propagation.finalizer().is_some_and(|held| !metadata.finalizers.iter().any(|finalizer| *finalizer == held))
    {
        meta.deleting = Some((since, crate::state::Propagation::Background));
        delta = delta | ObjectDelta::METADATA;
    }
    if **old != new {
        *old = Arc::new(new);
        meta.generation += 1;
        delta = delta | ObjectDelta::SPEC;
    }
    delta
}

/// The controlling owner as the metadata names it; [`link_owners`](crate::apiserver::link_owners) finds it later.
pub(super) fn owner_by_name(metadata: &ObjectMeta) -> Option<Owner> {
    let reference = metadata.controller()?;
    let uid = Uid::from_text(reference.uid.as_str());
    Some(Owner::Foreign { kind: reference.kind, name: reference.name, uid })
}

pub(super) fn status(status: ConditionStatus) -> Status {
    match status {
        ConditionStatus::True => Status::True,
        ConditionStatus::False => Status::False,
        ConditionStatus::Unknown => Status::Unknown,
    }
}
