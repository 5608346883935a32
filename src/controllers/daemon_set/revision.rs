//! Templates of a DaemonSet: revisions, their hashes, and the template with its automatic tolerations.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::purpose::Purpose;
use crate::arena::{Symbol, sym};
use crate::component::{
    RevisionOwner, SyncPlan, automatic_tolerations, present_revision, prune_revisions, revision_hash_label,
};
use crate::model::PodTemplateSpec;
use crate::model::config::KubernetesVersion;
use crate::state::{ControllerRevision, DaemonSet, DaemonSetId, Pod, Store, WorkloadId};

/// The prepared template of each set: one shared object per template, so that admission runs once.
#[derive(Clone, Debug, Default)]
pub(super) struct Templates {
    by_set: FxHashMap<DaemonSetId, (Arc<PodTemplateSpec>, Arc<PodTemplateSpec>)>,
}

impl Templates {
    pub(super) fn of(&mut self, id: DaemonSetId, set: &DaemonSet) -> Arc<PodTemplateSpec> {
        if let Some((raw, prepared)) = self.by_set.get(&id)
            && Arc::ptr_eq(raw, &set.spec.template)
        {
            return Arc::clone(prepared);
        }
        let mut template = PodTemplateSpec::clone(&set.spec.template);
        for toleration in automatic_tolerations(template.spec.host_network) {
            let same = |t: &crate::model::Toleration| t.key == toleration.key && t.effect == toleration.effect;
            match template.spec.tolerations.iter_mut().find(|t| same(t)) {
                Some(old) => *old = toleration.clone(),
                None => template.spec.tolerations.push(toleration.clone()),
            }
        }
        let prepared = Arc::new(template);
        self.by_set.insert(id, (Arc::clone(&set.spec.template), Arc::clone(&prepared)));
        prepared
    }
}

/// A template as the labels of its pods name it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Revision {
    hash: Symbol,
    /// How often the template has been written; none if the set does not bear it.
    generation: Option<Symbol>,
}

impl Revision {
    /// What a new pod is marked with.
    pub(super) fn labels(self) -> SmallVec<[(Symbol, Symbol); 2]> {
        let generation = self.generation.map(|generation| (generation_label(), generation));
        generation.into_iter().chain([(revision_hash_label(), self.hash)]).collect()
    }

    /// Whether a pod counts as made from it.
    ///
    /// # Source
    /// daemonset-controller, `IsPodUpdated`: one of the two marks is enough. A set that was made anew adopts pods of the same
    /// template generation as up to date, whatever their template is.
    pub(super) fn is_of(self, pod: &Pod) -> bool {
        let is_of_generation = |generation| pod.labels.get(generation_label()) == Some(generation);
        has_hash(pod, self.hash) || self.generation.is_some_and(is_of_generation)
    }
}

fn generation_label() -> Symbol {
    sym!("pod-template-generation")
}

fn has_hash(pod: &Pod, hash: Symbol) -> bool {
    pod.labels.get(revision_hash_label()) == Some(hash)
}

/// The present template; its revision is created or raised if need be, and old ones beyond the limit go.
pub(super) fn current(
    store: &Store,
    id: DaemonSetId,
    set: &DaemonSet,
    version: KubernetesVersion,
    plan: &mut SyncPlan<Purpose>,
) -> Revision {
    let owner = WorkloadId::DaemonSet(id);
    let selector = set.spec.selector.clone().unwrap_or_default();
    let collisions = set.status.collision_count;
    let present = RevisionOwner { id: owner, template: &set.spec.template, selector: &selector, collisions, version };
    let hash = present_revision(store, present, Purpose::Other, plan).hash;
    let is_used = |revision: &ControllerRevision| {
        let mut pods = store.pods_of(owner).iter().filter_map(|&pod| store.pod(pod));
        revision.hash == hash || pods.any(|pod| has_hash(pod, revision.hash))
    };
    prune_revisions(store, owner, set.spec.revision_history_limit, is_used, Purpose::Other, plan);
    Revision { hash, generation: set.template_generation() }
}
