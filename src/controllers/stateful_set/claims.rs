//! Claims of a StatefulSet's pods, and the template with a pod's own claims in it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::Request;
use crate::model::{Object, PersistentVolumeClaim, PersistentVolumeClaimVolume, PodTemplateSpec, Volume};
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
            let of_name =
                |c: &crate::state::PersistentVolumeClaim| c.meta.namespace == set.meta.namespace && c.meta.name == name;
            if store.claims.iter().any(|(_, claim)| of_name(claim)) {
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
