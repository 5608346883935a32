//! Templates and their ReplicaSets: which belongs to which, how new ones are made, which old ones go.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::call::{Purpose, size_annotations, status_request};
use super::progress;
use super::view::View;
use crate::arena::{Symbol, sym};
use crate::component::{NewReplicaSet, Planned, Request, Step, SyncPlan, same_template};
use crate::model::config::KubernetesVersion;
use crate::model::{LabelSelector, ObjectKind, PodTemplateSpec, ReplicaSetSpec, pod_template_hash};
use crate::state::{Deployment, DeploymentStatus, Propagation, ReplicaSet, ReplicaSetId, Store, WorkloadId};

/// The annotation that holds a ReplicaSet's or Deployment's revision.
fn revision_key() -> Symbol {
    sym!("deployment.kubernetes.io/revision")
}

/// Annotations with one more entry.
fn history_key() -> Symbol {
    sym!("deployment.kubernetes.io/revision-history")
}

fn with(annotations: &Arc<BTreeMap<Symbol, Symbol>>, key: Symbol, value: &str) -> Arc<BTreeMap<Symbol, Symbol>> {
    let mut map = BTreeMap::clone(annotations);
    map.insert(key, Symbol::new(value));
    Arc::new(map)
}

fn hash_label() -> Symbol {
    sym!("pod-template-hash")
}

fn revision_of(set: &ReplicaSet) -> i64 {
    set.meta.annotations.get(&revision_key()).and_then(|r| r.as_str().parse().ok()).unwrap_or(0)
}

/// Namespace and name.
type Key = (Symbol, Symbol);

/// What templates hash to. Of those that had a ReplicaSet in the input it is known, whatever version of the API made it.
#[derive(Clone, Debug, Default)]
pub(super) struct Hashes {
    known: FxHashMap<Key, Vec<(Arc<PodTemplateSpec>, Symbol)>>,
    /// What templates have depends on the API's version.
    version: KubernetesVersion,
}

impl Hashes {
    /// Takes in the ReplicaSets that there are. Where names have met, the hash covers more than the template.
    pub(super) fn learn(&mut self, store: &Store, version: KubernetesVersion) {
        self.version = version;
        let by_deployment = store.deployments.iter().filter(|(_, deployment)| deployment.status.collision_count == 0);
        for (id, deployment) in by_deployment {
            let sets = store.replica_sets_of(id).iter().filter_map(|set| store.replica_sets.get(*set));
            let known = sets.filter_map(|set| {
                let real = set.meta.labels.get(hash_label())?;
                Some((Arc::clone(&set.spec.template), real))
            });
            let known: Vec<_> = known.collect();
            if !known.is_empty() {
                self.known.insert((deployment.meta.namespace, deployment.meta.name), known);
            }
        }
    }

    /// The hash of a template that means the same, in whatever words: the real one covers the defaults.
    fn of(&self, deployment: &Deployment) -> Symbol {
        let template = &deployment.spec.template;
        let collisions = deployment.status.collision_count;
        let known = self.known.get(&(deployment.meta.namespace, deployment.meta.name)).filter(|_| collisions == 0);
        let same = known.into_iter().flatten().find(|(known, _)| same_template(known, template));
        same.map_or_else(|| Symbol::new(&pod_template_hash(template, collisions, self.version)), |(_, real)| *real)
    }

    /// The hash of the present template, and the name of its ReplicaSet.
    pub(super) fn name(&self, deployment: &Deployment) -> (Symbol, Symbol) {
        let hash = self.of(deployment);
        (hash, Symbol::new(&format!("{}-{hash}", deployment.meta.name)))
    }
}

/// Whether another ReplicaSet has the name of the one that a pass is about to make: one that was released, or that has
/// been told apart by its labels.
///
/// # Source
/// deployment-controller, `getNewReplicaSet`: the creation is refused, and `collisionCount` raised.
pub(super) fn is_taken(store: &Store, deployment: &Deployment, plan: &SyncPlan<Purpose>) -> bool {
    let calls = plan.steps.iter().flat_map(|step| match step {
        Step::SlowStart(calls) | Step::Concurrent(calls) => calls,
    });
    let mut names = calls.filter_map(|call| match &call.request {
        Request::CreateReplicaSet(new) => Some(new.name),
        _ => None,
    });
    names.any(|name| store.find_workload(ObjectKind::ReplicaSet, deployment.meta.namespace, name).is_some())
}

/// Creates the ReplicaSet of the present template with its first size applied, and notes it in the Deployment.
///
/// # Source
/// deployment-controller, `getNewReplicaSet`: one write of the Deployment has its revision and that the roll-out has begun.
pub(super) fn create(view: &View<'_>, hashes: &Hashes, size: i32, plan: &mut SyncPlan<Purpose>) {
    let deployment = view.deployment;
    let (hash, name) = hashes.name(deployment);
    let mut template = PodTemplateSpec::clone(&deployment.spec.template);
    template.metadata.labels = template.metadata.labels.with(hash_label(), hash);
    let mut selector: LabelSelector = deployment.spec.selector.clone().unwrap_or_default();
    selector.match_labels = selector.match_labels.with(hash_label(), hash);
    let revision = view.old.iter().map(|(_, set)| revision_of(set)).max().unwrap_or(0) + 1;
    let inherited = inherited(view, &Arc::default()).unwrap_or_default();
    let annotations = size_annotations(view, &with(&inherited, revision_key(), &revision.to_string()));
    let new = NewReplicaSet {
        deployment: view.id,
        name,
        labels: template.metadata.labels.clone(),
        annotations,
        replicas: size,
        spec: Arc::new(ReplicaSetSpec {
            replicas: Some(size),
            min_ready_seconds: deployment.spec.min_ready_seconds,
            selector: Some(selector),
            template: Arc::new(template),
        }),
    };
    let request = Request::CreateReplicaSet(Box::new(new));
    plan.steps.push(Step::Concurrent(vec![Planned { request, purpose: Purpose::Create(size) }]));
    let status = DeploymentStatus { progressing: progress::created(view), ..deployment.status };
    let annotations = raised(view, revision);
    if status != deployment.status || annotations.is_some() {
        plan.then(status_request(view, status, annotations), Purpose::Other);
    }
}

/// Gives the newest ReplicaSet the Deployment's annotations and `minReadySeconds`, and a higher revision if its template is wanted again; the
/// Deployment gets it by a later pass.
///
/// # Source
/// deployment-controller, `getNewReplicaSet`.
pub(super) fn refresh(view: &View<'_>, id: ReplicaSetId, set: &ReplicaSet, plan: &mut SyncPlan<Purpose>) {
    let highest = view.old.iter().map(|(_, old)| revision_of(old)).max().unwrap_or(0);
    let revision = revision_of(set);
    let is_raised = revision <= highest;
    let inherited = inherited(view, &set.meta.annotations);
    let min_ready_seconds = view.deployment.spec.min_ready_seconds;
    let min_ready_seconds = (set.spec.min_ready_seconds != min_ready_seconds).then_some(min_ready_seconds);
    if is_raised || inherited.is_some() || min_ready_seconds.is_some() {
        let mut annotations = inherited.unwrap_or_else(|| Arc::clone(&set.meta.annotations));
        if is_raised {
            if let Some(history) = history(&annotations) {
                annotations = with(&annotations, history_key(), &history);
            }
            annotations = with(&annotations, revision_key(), &(highest + 1).to_string());
        }
        plan.then(
            Request::UpdateReplicaSet {
                replica_set: id,
                base: Some(set.meta.version),
                replicas: None,
                annotations: Some(annotations),
                min_ready_seconds,
            },
            Purpose::Other,
        );
        return;
    }
    if let Some(annotations) = raised(view, revision) {
        plan.then(status_request(view, view.deployment.status, Some(annotations)), Purpose::Other);
    }
}

/// The revisions that a ReplicaSet has been before it becomes a new one; none if it has been none.
///
/// # Source
/// deployment-controller, `SetNewReplicaSetAnnotations`: so many characters at most, of which the oldest make room.
fn history(annotations: &BTreeMap<Symbol, Symbol>) -> Option<String> {
    const LENGTH_MAX: usize = 2000;
    let now = annotations.get(&revision_key())?.as_str();
    let before = annotations.get(&history_key()).map(|before| before.as_str()).filter(|before| !before.is_empty());
    let mut history = before.map_or_else(|| now.to_owned(), |before| format!("{before},{now}"));
    while history.len() > LENGTH_MAX {
        history = history.split_once(',')?.1.to_owned();
    }
    Some(history)
}

/// What a Deployment keeps for itself.
///
/// # Source
/// deployment-controller, `annotationsToSkip`.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

/// A ReplicaSet's annotations with those of its Deployment; none if it has them.
///
/// # Source
/// deployment-controller, `copyDeploymentAnnotationsToReplicaSet`.
fn inherited(view: &View<'_>, annotations: &Arc<BTreeMap<Symbol, Symbol>>) -> Option<Arc<BTreeMap<Symbol, Symbol>>> {
    let lacks = |(key, value): &(&Symbol, &Symbol)| annotations.get(key) != Some(value) && !OWN.contains(&key.as_str());
    let mut missing = view.deployment.meta.annotations.iter().filter(lacks).peekable();
    missing.peek()?;
    let mut map = BTreeMap::clone(annotations);
    map.extend(missing.map(|(key, value)| (*key, *value)));
    Some(Arc::new(map))
}

/// The Deployment's annotations with that revision; none if it has it.
fn raised(view: &View<'_>, revision: i64) -> Option<Arc<BTreeMap<Symbol, Symbol>>> {
    let text = revision.to_string();
    let annotations = &view.deployment.meta.annotations;
    let is_there = annotations.get(&revision_key()).is_some_and(|r| r.as_str() == text);
    (!is_there).then(|| with(annotations, revision_key(), &text))
}

/// Deletes the oldest empty ReplicaSets beyond the history limit.
pub(super) fn prune(view: &View<'_>, plan: &mut SyncPlan<Purpose>) {
    let Some(limit) = view.deployment.spec.revision_history_limit.filter(|limit| *limit < i32::MAX) else { return };
    let surplus = view.old.len().saturating_sub(limit.max(0) as usize);
    let mut old: Vec<_> = view.old.iter().collect();
    old.sort_by_key(|(_, set)| revision_of(set));
    for (id, set) in old.into_iter().take(surplus) {
        let is_empty = set.replicas == 0 && set.status.replicas == 0 && set.meta.deleting.is_none();
        if is_empty && set.status.observed_generation >= set.meta.generation {
            let workload = WorkloadId::ReplicaSet(*id);
            plan.then(Request::DeleteWorkload { workload, propagation: Propagation::Background }, Purpose::Other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeploymentSpec;
    use crate::state::ReplicaSetStatus;
    use crate::testing::meta;
    use crate::units::SimTime;

    /// How many of three old sets go; each is its size, its pods and whether it goes already.
    #[track_caller]
    fn check(limit: i32, sets: [(i32, i32, bool); 3], expected: usize) {
        let mut store = Store::default();
        let spec = DeploymentSpec { revision_history_limit: Some(limit), ..DeploymentSpec::default() };
        let deployment =
            Deployment { meta: meta("web", None), spec: Arc::new(spec), status: DeploymentStatus::default() };
        let id = store.deployments.insert(deployment.clone());
        let old: Vec<(ReplicaSetId, ReplicaSet)> = sets
            .into_iter()
            .enumerate()
            .map(|(index, (replicas, pods, is_going))| {
                let mut meta = meta(&format!("web-{index}"), None);
                meta.deleting = is_going.then_some((SimTime::ZERO, Propagation::Background));
                let status = ReplicaSetStatus { replicas: pods, observed_generation: 1, ..ReplicaSetStatus::default() };
                let spec = Arc::default();
                let set = ReplicaSet { meta, is_replication_controller: false, replicas, spec, status };
                (store.replica_sets.insert(set.clone()), set)
            })
            .collect();
        let old = old.iter().map(|(id, set)| (*id, set)).collect();
        let view = View { id, deployment: &deployment, newest: None, old, now: SimTime::ZERO };
        let mut plan = SyncPlan::nothing();
        prune(&view, &mut plan);
        assert_eq!(plan.steps.len(), expected, "limit {limit}, {sets:?}");
    }

    #[test]
    fn a_replica_set_gets_its_deployments_annotations() {
        let mut store = Store::default();
        let mut meta = meta("web", None);
        let pair = |(key, value): (&str, &str)| (Symbol::new(key), Symbol::new(value));
        let of = |pairs: &[(&str, &str)]| Arc::new(pairs.iter().copied().map(pair).collect::<BTreeMap<_, _>>());
        let cause = ("kubernetes.io/change-cause", "new image");
        meta.annotations = of(&[cause, ("deployment.kubernetes.io/revision", "3"), (OWN[0], "{}")]);
        let deployment = Deployment { meta, spec: Arc::default(), status: DeploymentStatus::default() };
        let id = store.deployments.insert(deployment.clone());
        let view = View { id, deployment: &deployment, newest: None, old: Vec::new(), now: SimTime::ZERO };
        let own = ("deployment.kubernetes.io/revision", "1");
        let expected = of(&[cause, own]);
        assert_eq!(inherited(&view, &of(&[own, ("kubernetes.io/change-cause", "old")])), Some(expected.clone()));
        assert_eq!(inherited(&view, &expected), None);
    }

    #[test]
    fn empty_sets_beyond_the_history_limit_go() {
        let empty = (0, 0, false);
        check(1, [empty; 3], 2);
        check(0, [empty; 3], 3);
        check(10, [empty; 3], 0);
        check(i32::MAX, [empty; 3], 0);
        check(1, [(1, 0, false), (0, 1, false), empty], 0);
        check(0, [(0, 0, true), empty, empty], 2);
    }
}
