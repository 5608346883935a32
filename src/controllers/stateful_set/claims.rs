//! Claims of a StatefulSet's pods, and the template with a pod's own claims in it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ordinal::ordinal_of;
use crate::arena::Symbol;
use crate::component::Request;
use crate::model::{
    Object, ObjectKind, PersistentVolumeClaim, PersistentVolumeClaimVolume, PodTemplateSpec, RetentionPolicy, Volume,
};
use crate::state::{PersistentVolumeClaim as Claim, PersistentVolumeClaimId, PodId, StatefulSet, StatefulSetId, Store};

fn claim_name(template: Symbol, set: Symbol, ordinal: i32) -> Symbol {
    Symbol::new(&format!("{template}-{set}-{ordinal}"))
}

/// Requests that create the claims of these ordinals that are missing.
pub(super) fn missing(store: &Store, set: &StatefulSet, ordinals: &[i32]) -> Vec<Request> {
    let mut requests = Vec::new();
    if set.spec.volume_claim_templates.is_empty() {
        return requests;
    }
    for &ordinal in ordinals {
        for template in &set.spec.volume_claim_templates {
            let name = claim_name(template.metadata.name, set.meta.name, ordinal);
            if store.volumes.find_claim(set.meta.namespace, name).is_some() {
                continue;
            }
            let mut claim = PersistentVolumeClaim::clone(template);
            claim.metadata.name = name;
            claim.metadata.namespace = set.meta.namespace;
            if let Some(selector) = &set.spec.selector {
                for (key, value) in selector.match_labels.iter() {
                    claim.metadata.labels = claim.metadata.labels.with(key, value);
                }
            }
            requests.push(Request::Create(Box::new(Object::PersistentVolumeClaim(Box::new(claim)))));
        }
    }
    requests
}

/// Claims by name: of a set's templates, with the ordinal.
fn of_set(store: &Store, namespace: Symbol, set: Symbol, templates: &[Symbol]) -> Vec<(Symbol, i32)> {
    let ordinal = |claim: &str, template: Symbol| -> Option<i32> {
        let rest = claim.strip_prefix(template.as_str())?.strip_prefix('-')?;
        ordinal_of(set, rest)
    };
    let claims = store.volumes.claims().filter(|(_, claim)| claim.meta.namespace == namespace);
    claims
        .filter_map(|(_, claim)| {
            let name = claim.meta.name;
            templates.iter().find_map(|&template| ordinal(name.as_str(), template)).map(|ordinal| (name, ordinal))
        })
        .collect()
}

fn removal(namespace: Symbol, name: Symbol) -> Request {
    Request::DeleteOther { kind: ObjectKind::PersistentVolumeClaim.into(), namespace, name }
}

fn template_names(set: &StatefulSet) -> Vec<Symbol> {
    set.spec.volume_claim_templates.iter().map(|template| template.metadata.name).collect()
}

/// The claims that exist of one ordinal's pod.
fn of_ordinal<'a>(
    store: &'a Store,
    set: &'a StatefulSet,
    ordinal: i32,
) -> impl Iterator<Item = (PersistentVolumeClaimId, &'a Claim)> {
    set.spec.volume_claim_templates.iter().filter_map(move |template| {
        let name = claim_name(template.metadata.name, set.meta.name, ordinal);
        let id = store.volumes.find_claim(set.meta.namespace, name)?;
        store.volumes.claim(id).map(|claim| (id, claim))
    })
}

fn go_with_pods(set: &StatefulSet) -> bool {
    let policy = set.spec.persistent_volume_claim_retention_policy.as_ref();
    policy.is_some_and(|policy| policy.when_scaled == RetentionPolicy::Delete)
}

/// Whether a claim of an ordinal without a pod still belongs to the pod it had, so that no other may have it.
///
/// # Source
/// statefulset-controller, `PodClaimIsStale`.
pub(super) fn are_stale(store: &Store, set: &StatefulSet, ordinal: i32) -> bool {
    go_with_pods(set) && of_ordinal(store, set, ordinal).any(|(_, claim)| claim.owner_pod.is_some())
}

/// The name of a claim of that ordinal which is being deleted.
pub(super) fn being_deleted(store: &Store, set: &StatefulSet, ordinal: i32) -> Option<Symbol> {
    let mut claims = of_ordinal(store, set, ordinal).filter(|(_, claim)| claim.meta.deleting.is_some());
    claims.next().map(|(_, claim)| claim.meta.name)
}

/// Requests after which the claims of a pod go with it, or do not. What belongs to another pod is left alone.
///
/// # Source
/// statefulset-controller, `UpdatePodClaimForRetentionPolicy`: with `whenScaled: Delete` a pod that is no longer wanted
/// owns its claims, and the garbage collector deletes them when it is gone.
pub(super) fn hand_over(store: &Store, set: &StatefulSet, ordinal: i32, pod: PodId, is_wanted: bool) -> Vec<Request> {
    let owner = (!is_wanted && go_with_pods(set)).then_some(pod);
    let is_free = |claim: &Claim| claim.owner_pod.is_none_or(|other| other == pod) && claim.owner_pod != owner;
    let claims = of_ordinal(store, set, ordinal).filter(|(_, claim)| is_free(claim));
    claims.map(|(claim, _)| Request::SetClaimOwner { claim, pod: owner }).collect()
}

/// What is left to do when a set whose claims go with it has been deleted.
#[derive(Clone, Debug)]
pub(super) struct Legacy {
    namespace: Symbol,
    set: Symbol,
    templates: Vec<Symbol>,
}

impl Legacy {
    /// None if the set's claims outlive it.
    pub(super) fn of(set: &StatefulSet) -> Option<Self> {
        let policy = set.spec.persistent_volume_claim_retention_policy.as_ref()?;
        (policy.when_deleted == RetentionPolicy::Delete).then(|| Self {
            namespace: set.meta.namespace,
            set: set.meta.name,
            templates: template_names(set),
        })
    }

    /// Requests that delete the claims.
    pub(super) fn removals(&self, store: &Store) -> Vec<Request> {
        let claims = of_set(store, self.namespace, self.set, &self.templates);
        claims.into_iter().map(|(name, _)| removal(self.namespace, name)).collect()
    }
}

/// A template as written, and with the pod's claims.
type Prepared = (Arc<PodTemplateSpec>, Arc<PodTemplateSpec>);

/// Templates with the claims of one ordinal; kept, so that a pod that is made anew is admitted once.
#[derive(Clone, Debug, Default)]
pub(super) struct Templates {
    by_pod: FxHashMap<(StatefulSetId, i32), Prepared>,
}

impl Templates {
    /// The template for one ordinal. Sets without claims share one for all.
    pub(super) fn of(
        &mut self,
        id: StatefulSetId,
        set: &StatefulSet,
        template: &Arc<PodTemplateSpec>,
        ordinal: i32,
    ) -> Arc<PodTemplateSpec> {
        if set.spec.volume_claim_templates.is_empty() {
            return Arc::clone(template);
        }
        if let Some((raw, prepared)) = self.by_pod.get(&(id, ordinal))
            && Arc::ptr_eq(raw, template)
        {
            return Arc::clone(prepared);
        }
        let mut own = PodTemplateSpec::clone(template);
        for claim in &set.spec.volume_claim_templates {
            let name = claim.metadata.name;
            own.spec.volumes.retain(|volume| volume.name != name);
            let claim_name = claim_name(name, set.meta.name, ordinal);
            let source = PersistentVolumeClaimVolume { claim_name, read_only: false };
            own.spec.volumes.push(Volume { name, persistent_volume_claim: Some(source), ..Volume::default() });
        }
        let prepared = Arc::new(own);
        self.by_pod.insert((id, ordinal), (Arc::clone(template), Arc::clone(&prepared)));
        prepared
    }
}
