//! Claims of a StatefulSet's pods, and the template with a pod's own claims in it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::Request;
use crate::model::{
    Object, ObjectKind, PersistentVolumeClaim, PersistentVolumeClaimVolume, PodTemplateSpec, RetentionPolicy, Volume,
};
use crate::state::{
    ClaimOwner, PersistentVolumeClaim as Claim, PersistentVolumeClaimId, PodId, StatefulSet, StatefulSetId, Store,
};

fn claim_name(template: Symbol, set: Symbol, ordinal: i32) -> Symbol {
    Symbol::new(&format!("{template}-{set}-{ordinal}"))
}

/// Requests that create the claims of these ordinals that are missing, with ordinal and name.
pub(super) fn missing(store: &Store, set: &StatefulSet, ordinals: &[i32]) -> Vec<(i32, Symbol, Request)> {
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
            let request = Request::Create(Box::new(Object::PersistentVolumeClaim(Box::new(claim))));
            requests.push((ordinal, name, request));
        }
    }
    requests
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

/// Whether claims go with their set when it is deleted, and with pods that are no longer wanted.
fn deletes(set: &StatefulSet) -> (bool, bool) {
    let policy = set.spec.persistent_volume_claim_retention_policy.as_ref();
    policy.map_or((false, false), |policy| {
        (policy.when_deleted == RetentionPolicy::Delete, policy.when_scaled == RetentionPolicy::Delete)
    })
}

/// Whether a claim of an ordinal without a pod still belongs to the pod it had, so that no other may have it.
///
/// # Source
/// statefulset-controller, `PodClaimIsStale`.
pub(super) fn are_stale(store: &Store, set: &StatefulSet, ordinal: i32) -> bool {
    let is_of_pod = |claim: &Claim| matches!(claim.owner, Some(ClaimOwner::Pod(_)));
    deletes(set).1 && of_ordinal(store, set, ordinal).any(|(_, claim)| is_of_pod(claim))
}

/// The names of claims of that ordinal which are being deleted.
pub(super) fn being_deleted<'a>(
    store: &'a Store,
    set: &'a StatefulSet,
    ordinal: i32,
) -> impl Iterator<Item = Symbol> + 'a {
    let claims = of_ordinal(store, set, ordinal).filter(|(_, claim)| claim.meta.deleting.is_some());
    claims.map(|(_, claim)| claim.meta.name)
}

/// Requests after which the claims of a pod, which may not be there yet, go with the set, with the pod, or with nobody. What belongs
/// to another set or pod, or is controlled by others, is left alone.
///
/// # Source
/// statefulset-controller, `isClaimOwnerUpToDate`, `updateClaimOwnerRefForSetAndPod`: with `whenDeleted: Delete` the set owns the claims
/// of wanted pods, with `whenScaled: Delete` a pod that is no longer wanted owns its own; the garbage collector does the rest.
///
/// # Differs
/// `ConflictingController` is not told; the pod is not written beside its claims, and `SuccessfulUpdate` not told.
pub(super) fn hand_over(
    store: &Store,
    id: StatefulSetId,
    set: &StatefulSet,
    (ordinal, pod): (i32, Option<PodId>),
    is_wanted: bool,
) -> Vec<Request> {
    let (with_set, with_pod) = deletes(set);
    let owner = match (is_wanted, with_pod) {
        (false, true) => pod.map(ClaimOwner::Pod),
        _ => with_set.then_some(ClaimOwner::StatefulSet(id)),
    };
    if owner.is_none() && !store.volumes.has_owned_claims() {
        return Vec::new();
    }
    let kind = ObjectKind::PersistentVolumeClaim.into();
    let request = |(id_of_claim, claim): (PersistentVolumeClaimId, &Claim)| {
        let others = store.owners_beside(kind, claim.meta.namespace, claim.meta.name);
        let owner = owner.filter(|_| !others.iter().any(|other| other.is_controller));
        let is_ours = match claim.owner {
            None => true,
            Some(ClaimOwner::StatefulSet(other)) => other == id,
            Some(ClaimOwner::Pod(other)) => Some(other) == pod,
        };
        let request = Request::SetClaimOwner { claim: id_of_claim, owner };
        (is_ours && claim.owner != owner).then_some(request)
    };
    of_ordinal(store, set, ordinal).filter_map(request).collect()
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
