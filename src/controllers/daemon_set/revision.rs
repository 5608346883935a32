//! Templates of a DaemonSet: revisions, their hashes, and the template with its automatic tolerations.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Memo;
use super::placement::automatic_tolerations;
use crate::arena::{Symbol, stable_hash};
use crate::component::{NewRevision, Plan, Request};
use crate::model::PodTemplateSpec;
use crate::state::{DaemonSet, DaemonSetId, Pod, Store, WorkloadId};

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
                Some(old) => *old = toleration,
                None => template.spec.tolerations.push(toleration),
            }
        }
        let prepared = Arc::new(template);
        self.by_set.insert(id, (Arc::clone(&set.spec.template), Arc::clone(&prepared)));
        prepared
    }
}

/// Whether a pod was made from the revision with that hash.
pub(super) fn has_hash(pod: &Pod, hash: Symbol) -> bool {
    pod.labels.get(Symbol::new("controller-revision-hash")) == Some(hash)
}

/// The hash of the present template; a revision that is missing is created, one that is not the newest is raised, and old
/// ones beyond the limit are deleted.
///
/// # Source
/// daemonset-controller, `constructHistory` and `cleanupHistory`.
pub(super) fn current(store: &Store, id: DaemonSetId, set: &DaemonSet, plan: &mut Plan<Memo>) -> Symbol {
    let owner = WorkloadId::DaemonSet(id);
    let revisions: Vec<_> = store
        .revisions_of(owner)
        .iter()
        .filter_map(|&id| store.controller_revisions.get(id).map(|revision| (id, revision)))
        .collect();
    let newest = revisions.iter().map(|(_, r)| r.revision).max().unwrap_or(0);
    let same = |template: &PodTemplateSpec| template.spec == set.spec.template.spec && template.metadata.labels == set.spec.template.metadata.labels;
    let Some((found, revision)) = revisions.iter().find(|(_, r)| same(&r.template)) else {
        let hash = hash(&set.spec.template, set.status.collision_count);
        let new = NewRevision { owner, hash, revision: newest + 1, template: Arc::clone(&set.spec.template) };
        plan.then(Request::CreateRevision(Box::new(new)), Memo::Other);
        return hash;
    };
    if revision.revision < newest {
        plan.then(Request::SetRevisionNumber { id: *found, revision: newest + 1 }, Memo::Other);
    }
    prune(store, id, set, plan);
    revision.hash
}

fn prune(store: &Store, id: DaemonSetId, set: &DaemonSet, plan: &mut Plan<Memo>) {
    let owner = WorkloadId::DaemonSet(id);
    let limit = set.spec.revision_history_limit.unwrap_or(10).max(0) as usize;
    // One revision is in use at least, so that a short list needs no look at the pods.
    if store.revisions_of(owner).len() <= limit + 1 {
        return;
    }
    let used: Vec<Symbol> = store
        .pods_of(owner)
        .iter()
        .filter_map(|&pod| store.pod(pod)?.labels.get(Symbol::new("controller-revision-hash")))
        .collect();
    let mut unused: Vec<_> = store
        .revisions_of(owner)
        .iter()
        .filter_map(|&id| store.controller_revisions.get(id).map(|r| (r.revision, id, r.hash)))
        .filter(|(_, _, hash)| !used.contains(hash))
        .collect();
    unused.sort_unstable_by_key(|(revision, ..)| *revision);
    let surplus = unused.len().saturating_sub(limit);
    for (_, id, _) in unused.into_iter().take(surplus) {
        plan.then(Request::DeleteRevision { id }, Memo::Other);
    }
}

fn hash(template: &PodTemplateSpec, collisions: i32) -> Symbol {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let text = serde_json::to_string(template).unwrap_or_default();
    let mut rest = stable_hash(format!("{text}{collisions}").as_bytes());
    let mut out = String::new();
    for _ in 0..9 {
        out.push(char::from(LETTERS[(rest % 27) as usize]));
        rest /= 27;
    }
    Symbol::new(&out)
}
