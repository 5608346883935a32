//! Templates and their revisions, as DaemonSet, StatefulSet and Deployment know them.

use std::sync::Arc;

use super::controller::SyncPlan;
use super::request::{NewRevision, Request};
use crate::arena::{Symbol, sym};
use crate::model::config::KubernetesVersion;
use crate::model::{LabelSelector, PodTemplateSpec, pod_template_hash, revision_patch_hash};
use crate::state::{ControllerRevision, ControllerRevisionId, Store, WorkloadId};

/// The label that names a pod's or revision's template.
#[must_use]
pub fn revision_hash_label() -> Symbol {
    sym!("controller-revision-hash")
}

/// Whether two templates mean the same but for the label `pod-template-hash`.
#[must_use]
pub fn same_template(a: &Arc<PodTemplateSpec>, b: &Arc<PodTemplateSpec>) -> bool {
    if Arc::ptr_eq(a, b) {
        return true;
    }
    fn labels(of: &PodTemplateSpec) -> impl Iterator<Item = (Symbol, Symbol)> {
        let hash = sym!("pod-template-hash");
        of.metadata.labels.iter().filter(move |(key, _)| *key != hash)
    }
    labels(a).eq(labels(b)) && a.metadata.annotations == b.metadata.annotations && a.spec.means(&b.spec)
}

/// The revision of the template that is wanted now.
#[derive(Clone, Debug)]
pub struct PresentRevision {
    /// Its hash.
    pub hash: Symbol,
    /// Its name: `<owner>-<hash>`.
    pub name: Symbol,
}

/// What a workload's revisions hang on.
#[derive(Copy, Clone, Debug)]
pub struct RevisionOwner<'a> {
    /// The DaemonSet or StatefulSet.
    pub id: WorkloadId,
    /// Its present template.
    pub template: &'a Arc<PodTemplateSpec>,
    /// Its selector: what makes revisions without an owner its own.
    pub selector: &'a LabelSelector,
    /// `status.collisionCount`.
    pub collisions: i32,
    /// What templates have depends on the API's version.
    pub version: KubernetesVersion,
}

impl RevisionOwner<'_> {
    /// The hash of its present template: StatefulSets work it out from what the revision holds, DaemonSets as Deployments do.
    fn template_hash(&self) -> Symbol {
        let hash = match self.id {
            WorkloadId::StatefulSet(_) => revision_patch_hash,
            _ => pod_template_hash,
        };
        Symbol::new(&hash(self.template, self.collisions, self.version))
    }
}

/// Finds the revision of the present template among those of the owner. One that is missing is created, one that is not
/// the newest gets the highest number, and those that nobody owns are adopted.
///
/// # Source
/// kube-controller-manager, `constructHistory` of DaemonSets and `getStatefulSetRevisions`.
pub fn present_revision<M: Copy>(
    store: &Store,
    owner: RevisionOwner<'_>,
    purpose: M,
    plan: &mut SyncPlan<M>,
) -> PresentRevision {
    let meta = store.workload_meta(owner.id);
    let (namespace, owner_name) = meta.map_or((Symbol::empty(), Symbol::empty()), |m| (m.namespace, m.name));
    let mut revisions: Vec<(ControllerRevisionId, &ControllerRevision)> = store
        .revisions_of(owner.id)
        .iter()
        .filter_map(|&id| store.controller_revisions.get(id).map(|revision| (id, revision)))
        .collect();
    if !revisions.iter().any(|(_, r)| same_template(&r.template, owner.template)) {
        // Orphans matter only where a template is not known yet, which is rare enough to look at all revisions.
        for (id, revision) in store.controller_revisions.iter() {
            let is_orphan = revision.meta.owner.is_none() && revision.meta.namespace == namespace;
            if is_orphan && owner.selector.matches(&revision.meta.labels) {
                plan.then(Request::SetRevisionOwner { id, owner: Some(owner.id.as_owner()) }, purpose);
                revisions.push((id, revision));
            }
        }
    }
    let newest = revisions.iter().map(|(_, r)| r.revision).max().unwrap_or(0);
    let same = revisions.iter().filter(|(_, r)| same_template(&r.template, owner.template));
    let Some((id, revision)) = same.max_by_key(|(_, r)| r.revision) else {
        let hash = owner.template_hash();
        let new = NewRevision { owner: owner.id, hash, revision: newest + 1, template: Arc::clone(owner.template) };
        plan.then(Request::CreateRevision(Box::new(new)), purpose);
        return PresentRevision { hash, name: Symbol::new(&format!("{owner_name}-{hash}")) };
    };
    if revision.revision < newest {
        plan.then(Request::SetRevisionNumber { id: *id, revision: newest + 1 }, purpose);
    }
    PresentRevision { hash: revision.hash, name: revision.meta.name }
}

/// Deletes the oldest revisions beyond the limit; those in use do not count.
///
/// # Source
/// kube-controller-manager, `cleanupHistory` of DaemonSets and `truncateHistory` of StatefulSets.
pub fn prune_revisions<M: Copy>(
    store: &Store,
    owner: WorkloadId,
    limit: Option<i32>,
    is_used: impl Fn(&ControllerRevision) -> bool,
    purpose: M,
    plan: &mut SyncPlan<M>,
) {
    let limit = limit.unwrap_or(10).max(0) as usize;
    // One revision is in use at least, so that a short list needs no look at the pods.
    if store.revisions_of(owner).len() <= limit + 1 {
        return;
    }
    let mut unused: Vec<_> = store
        .revisions_of(owner)
        .iter()
        .filter_map(|&id| store.controller_revisions.get(id).map(|r| (r.revision, id, r)))
        .filter(|(_, _, revision)| !is_used(revision))
        .map(|(number, id, _)| (number, id))
        .collect();
    unused.sort_unstable_by_key(|(number, _)| *number);
    let surplus = unused.len().saturating_sub(limit);
    for (_, id) in unused.into_iter().take(surplus) {
        plan.then(Request::DeleteRevision { id }, purpose);
    }
}
