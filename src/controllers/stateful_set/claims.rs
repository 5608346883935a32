//! Claims of a StatefulSet's pods, and the template with a pod's own claims in it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::Request;
use crate::model::{
    Object, PersistentVolumeClaim, PersistentVolumeClaimVolume, PodTemplateSpec, RetentionPolicy, Volume,
};
use crate::state::{StatefulSet, StatefulSetId, Store};

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
        super::ordinal_of(set, rest)
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
    Request::DeleteOther { kind: "PersistentVolumeClaim", namespace, name }
}

fn template_names(set: &StatefulSet) -> Vec<Symbol> {
    set.spec.volume_claim_templates.iter().map(|template| template.metadata.name).collect()
}

/// Requests that delete the claims of ordinals that are no longer wanted and whose pods have gone.
///
/// # Source
/// statefulset-controller, `whenScaled: Delete`: the claim is owned by the pod and goes with it.
pub(super) fn retired(store: &Store, set: &StatefulSet) -> Vec<Request> {
    let policy = set.spec.persistent_volume_claim_retention_policy.as_ref();
    if set.spec.volume_claim_templates.is_empty() || policy.is_none_or(|p| p.when_scaled != RetentionPolicy::Delete) {
        return Vec::new();
    }
    let namespace = set.meta.namespace;
    let start = set.spec.ordinals.as_ref().map_or(0, |o| o.start);
    let wanted = start..start.saturating_add(set.spec.replicas.unwrap_or(1).max(0));
    of_set(store, namespace, set.meta.name, &template_names(set))
        .into_iter()
        .filter(|(_, ordinal)| !wanted.contains(ordinal))
        .filter(|(_, ordinal)| store.find_pod(namespace, &super::pod_name(set, *ordinal)).is_none())
        .map(|(name, _)| removal(namespace, name))
        .collect()
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
