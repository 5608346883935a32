//! Owners that a dump lacks: `kubectl get pods,deployments` shows pods without their ReplicaSets, `kubectl get pods` pods alone.
//!
//! Left as they are, such pods would belong to nobody: a Deployment would make all of its pods once more, and lost pods would
//! not be replaced. So the owner is made anew from what there is: its name and uid from the pods' reference, its template from
//! the newest pod, its replicas from their number. Owners of kinds that are not modelled stay what they are: nobody replaces
//! their pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::assumption::Assumption;
use super::former_taints::KEYS;
use crate::arena::Symbol;
use crate::model::manifest::DUMP_COMMAND;
use crate::model::{
    BEHAVIOR_PREFIX, DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, Job, JobSpec, LabelSelector, Labels,
    ManifestObject, Node, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm, Object,
    ObjectMeta, OwnerReference, PersistentVolumeClaim, Pod, PodTemplateSpec, PriorityClass, ReplicaSet, ReplicaSetSpec,
    ReplicationController, ReplicationControllerSpec, StatefulSet, StatefulSetSpec, Taint, TaintEffect, Toleration,
    TolerationOperator, deployment_of_replica_set, first_untolerated,
};

const TEMPLATE_HASH: &str = "pod-template-hash";
const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";

/// Labels that controllers give to pods, and that templates do not have.
const LABELS_OF_CONTROLLERS: [&str; 10] = [
    TEMPLATE_HASH,
    CONTROLLER_UID,
    "controller-uid",
    "batch.kubernetes.io/job-name",
    "job-name",
    "controller-revision-hash",
    "pod-template-generation",
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
];

/// Annotations of pods that their templates must have had.
const ANNOTATIONS_OF_TEMPLATES: [&str; 2] = [BEHAVIOR_PREFIX, "cluster-autoscaler.kubernetes.io/"];

/// Namespace, kind and name of an owner.
type Key = (Symbol, Symbol, Symbol);

/// A pod and where it is written.
#[derive(Clone, Copy)]
struct Owned<'a> {
    pod: &'a Pod,
    written: &'a ManifestObject,
}

impl Owned<'_> {
    fn is_live(&self) -> bool {
        !self.pod.status.phase.is_terminal() && self.pod.metadata.deletion_timestamp.is_none()
    }
}

/// The pods of one owner that is missing.
struct Orphans<'a> {
    owner: &'a OwnerReference,
    namespace: Symbol,
    pods: Vec<Owned<'a>>,
}

impl<'a> Orphans<'a> {
    /// The pod that tells the template: the newest that lives, as time stamps tell.
    fn newest(&self) -> Owned<'a> {
        let age = |owned: &&Owned<'_>| (owned.is_live(), owned.pod.metadata.creation_timestamp);
        *self.pods.iter().max_by_key(age).expect("an owner is known by its pods")
    }

    /// Of several owners that had the name one after the other only the last can be there; the pods of the others belong to
    /// nobody, and are not what it has to have.
    fn keep_newest_owner(&mut self) {
        if let Some(owner) = self.newest().pod.metadata.controller() {
            self.owner = owner;
            let is_its = |pod: &Pod| pod.metadata.controller().is_some_and(|other| other.uid == owner.uid);
            self.pods.retain(|owned| is_its(owned.pod));
        }
    }

    fn live_count(&self) -> i32 {
        let count = self.pods.iter().filter(|owned| owned.is_live()).count();
        i32::try_from(count).unwrap_or(i32::MAX)
    }

    fn metadata(&self) -> ObjectMeta {
        ObjectMeta {
            name: self.owner.name,
            namespace: self.namespace,
            uid: Some(self.owner.uid).filter(|uid| !uid.is_empty()),
            labels: labels_of_template(&self.newest().pod.metadata.labels),
            creation_timestamp: self.pods.iter().filter_map(|owned| owned.pod.metadata.creation_timestamp).min(),
            ..ObjectMeta::default()
        }
    }

    fn written(&self, object: impl Into<Object>) -> ManifestObject {
        let source = self.newest().written.source.clone();
        ManifestObject {
            object: object.into(),
            source,
            names_namespace: true,
            unknown_fields: Vec::new(),
            api_version: Symbol::empty(),
        }
    }
}

/// What was made anew.
pub(super) struct Rebuilt {
    pub(super) objects: Vec<ManifestObject>,
    pub(super) assumed: Vec<Assumption>,
}

/// The owners that the objects name but do not hold, and the priority classes that their pods were given.
pub(super) fn missing(objects: &[ManifestObject]) -> Rebuilt {
    let present: BTreeSet<Key> = objects
        .iter()
        .map(|object| {
            let metadata = object.object.metadata();
            (metadata.namespace, Symbol::new(object.object.kind().as_str()), metadata.name)
        })
        .collect();
    let orphans = orphans(objects, &present);
    let mut made: Vec<ManifestObject> = Vec::new();
    for orphans in orphans.iter().filter(|orphans| orphans.owner.kind != "ReplicaSet") {
        made.extend(rebuilt(orphans, objects));
    }
    made.extend(replica_sets(&orphans, objects));
    let of_sets = deployments_of_replica_sets(objects, &present);
    let mut assumed = Vec::new();
    if !of_sets.is_empty() {
        let assumption = Assumption::new(
            "owners",
            "Deployments that the input lacks are made anew from their ReplicaSets",
            "what a ReplicaSet does not tell, such as an update strategy, is as by default",
            &format!("the Deployments among the manifests, which this saves, too: {DUMP_COMMAND}"),
        );
        assumed.push(assumption.about(of_sets.iter().map(|object| object.object.label())));
    }
    if !made.is_empty() {
        // Whoever reads this counts workloads: a ReplicaSet is a part of its Deployment.
        let is_part = |object: &&ManifestObject| {
            matches!(object.object, Object::ReplicaSet(_)) && object.object.metadata().controller().is_some()
        };
        let (parts, workloads): (Vec<_>, Vec<_>) = made.iter().partition(is_part);
        let parts_made = match parts.len() {
            0 => String::new(),
            1 => ", with a ReplicaSet".to_owned(),
            count => format!(", with {count} ReplicaSets"),
        };
        let workloads = if workloads.is_empty() { parts } else { workloads };
        let assumption = Assumption::new(
            "owners",
            format!("workloads that the input lacks are made anew from their pods{parts_made}"),
            "replicas are as many as there are pods; what a pod does not tell, such as an update strategy, is as by default",
            &format!("the owners among the manifests, which this saves, too: {DUMP_COMMAND}"),
        );
        assumed.push(assumption.about(workloads.iter().map(|object| object.object.label())));
    }
    made.extend(of_sets);
    let classes = priority_classes(objects, &present);
    if !classes.is_empty() {
        let assumption = Assumption::new(
            "priorityClasses",
            "priority classes that the input lacks have the priority of their pods",
            "who may preempt whom",
            "the PriorityClasses among the manifests",
        );
        assumed.push(assumption.about(classes.iter().map(|object| object.object.label())));
    }
    made.extend(classes);
    Rebuilt { objects: made, assumed }
}

/// The owners and priority classes that objects name and do not hold, made anew as a run would, and what is taken for granted of
/// them: each a sentence, and the objects that it is about.
#[must_use]
pub fn missing_owners(objects: &[ManifestObject]) -> (Vec<ManifestObject>, Vec<Assumption>) {
    let mut objects = objects.to_vec();
    // As a run sees them: labels decide where pods of DaemonSets belong, pods what their templates tolerate.
    let _ = super::node_labels::complete(&mut objects);
    let _ = super::former_taints::complete(&mut objects);
    let rebuilt = missing(&objects);
    (rebuilt.objects, rebuilt.assumed)
}

/// Pods by their missing owner, in the order in which owners are first named.
fn orphans<'a>(objects: &'a [ManifestObject], present: &BTreeSet<Key>) -> Vec<Orphans<'a>> {
    let mut places: BTreeMap<Key, usize> = BTreeMap::new();
    let mut found: Vec<Orphans<'a>> = Vec::new();
    for written in objects {
        let Object::Pod(pod) = &written.object else { continue };
        let Some(owner) = pod.metadata.controller() else { continue };
        let namespace = pod.metadata.namespace;
        let key = (namespace, owner.kind, owner.name);
        if owner.kind == "Node" || present.contains(&key) || owner.name.is_empty() {
            continue;
        }
        let place = *places.entry(key).or_insert_with(|| {
            found.push(Orphans { owner, namespace, pods: Vec::new() });
            found.len() - 1
        });
        found[place].pods.push(Owned { pod, written });
    }
    found.iter_mut().for_each(Orphans::keep_newest_owner);
    found
}

/// Whether a reference means a kind of Kubernetes itself; others have kinds of the same names.
fn is_of_group(owner: &OwnerReference, groups: &[&str]) -> bool {
    let api_version = owner.api_version.as_str();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    api_version.is_empty() || groups.contains(&group)
}

fn rebuilt(orphans: &Orphans<'_>, objects: &[ManifestObject]) -> Option<ManifestObject> {
    let owner = orphans.owner;
    match owner.kind.as_str() {
        "DaemonSet" if is_of_group(owner, &["apps", "extensions"]) => Some(daemon_set(orphans, objects)),
        "StatefulSet" if is_of_group(owner, &["apps"]) => Some(stateful_set(orphans, objects)),
        "Job" if is_of_group(owner, &["batch"]) => job(orphans),
        "ReplicationController" if is_of_group(owner, &[""]) => {
            let template = template(orphans.newest().pod);
            let spec = ReplicationControllerSpec {
                replicas: Some(orphans.live_count()),
                selector: template.metadata.labels.clone(),
                template: Arc::new(template),
                ..ReplicationControllerSpec::default()
            };
            let metadata = orphans.metadata();
            Some(orphans.written(ReplicationController { metadata, spec, ..ReplicationController::default() }))
        }
        _ => None,
    }
}

fn labels_of_template(labels: &Labels) -> Labels {
    labels.iter().filter(|(key, _)| !LABELS_OF_CONTROLLERS.contains(&key.as_str())).collect()
}

/// The template that a pod was made from, as far as a pod tells.
fn template(pod: &Pod) -> PodTemplateSpec {
    let mut spec = pod.spec.clone();
    spec.node_name = None;
    // Admission fills these in again, for each new pod.
    spec.priority = None;
    spec.preemption_policy = None;
    spec.tolerations.retain(|toleration| !is_default_toleration(toleration));
    let is_kept = |key: &Symbol| ANNOTATIONS_OF_TEMPLATES.iter().any(|prefix| key.as_str().starts_with(prefix));
    let annotations = pod.metadata.annotations.iter().filter(|(key, _)| is_kept(key));
    PodTemplateSpec {
        metadata: ObjectMeta {
            labels: labels_of_template(&pod.metadata.labels),
            annotations: annotations.map(|(key, value)| (*key, *value)).collect(),
            ..ObjectMeta::default()
        },
        spec,
    }
}

/// Whether admission gave a pod this toleration: its seconds are a flag's, which a scenario may change.
fn is_default_toleration(toleration: &Toleration) -> bool {
    KEYS.iter().any(|(former, present)| toleration.key == *former || toleration.key == *present)
        && toleration.operator() == TolerationOperator::Exists
        && toleration.effect == Some(TaintEffect::NoExecute)
        && toleration.toleration_seconds == Some(300)
}

/// ReplicaSets of pods, and the Deployments of those that have none.
fn replica_sets(orphans: &[Orphans<'_>], objects: &[ManifestObject]) -> Vec<ManifestObject> {
    let is_set = |orphans: &&Orphans<'_>| {
        orphans.owner.kind == "ReplicaSet" && is_of_group(orphans.owner, &["apps", "extensions"])
    };
    // Those of one Deployment together, as only one of them can be the present one.
    let mut families: Vec<(Option<Symbol>, Vec<&Orphans<'_>>)> = Vec::new();
    for set in orphans.iter().filter(is_set) {
        let name = deployment_name(set);
        let family = families.iter_mut().find(|(known, sets)| {
            known.is_some() && *known == name && sets.iter().all(|other| other.namespace == set.namespace)
        });
        match family {
            Some((_, sets)) => sets.push(set),
            None => families.push((name, vec![set])),
        }
    }
    families.iter().flat_map(|(name, sets)| family(*name, sets, objects)).collect()
}

/// The name of the Deployment that made a ReplicaSet.
fn deployment_name(set: &Orphans<'_>) -> Option<Symbol> {
    deployment_of_replica_set(set.owner.name, set.newest().pod.metadata.labels.get(Symbol::new(TEMPLATE_HASH))?)
}

/// ReplicaSets of one Deployment, which is made too if it is missing.
fn family(name: Option<Symbol>, sets: &[&Orphans<'_>], objects: &[ManifestObject]) -> Vec<ManifestObject> {
    let Some(name) = name else {
        return sets.iter().map(|set| replica_set(set, template(set.newest().pod), set.live_count(), None)).collect();
    };
    let namespace = sets[0].namespace;
    let present = objects.iter().find_map(|object| match &object.object {
        Object::Deployment(deployment) => {
            let metadata = &deployment.metadata;
            (metadata.name == name && metadata.namespace == namespace).then_some(&**deployment)
        }
        _ => None,
    });
    let newest = |sets: &[&Orphans<'_>]| {
        let age = |index: &usize| {
            let newest = sets[*index].newest();
            (present.is_some_and(|found| has_images_of(newest.pod, found)), newest.pod.metadata.creation_timestamp)
        };
        (0..sets.len()).max_by_key(age).unwrap_or(0)
    };
    let current = newest(sets);
    let live_count: i32 = sets.iter().map(|set| set.live_count()).sum();
    let mut made = Vec::new();
    let owner_uid = present.and_then(|deployment| deployment.metadata.uid);
    for (index, set) in sets.iter().enumerate() {
        let is_current = index == current && present.is_none_or(|deployment| is_up_to_date(deployment, set));
        let template = match present {
            Some(deployment) if is_current => (*deployment.spec.template).clone(),
            _ => template(set.newest().pod),
        };
        let wanted = present.filter(|_| is_current && sets.len() == 1).map(|found| found.spec.replicas.unwrap_or(1));
        made.push(replica_set(set, template, wanted.unwrap_or_else(|| set.live_count()), Some((name, owner_uid))));
    }
    if present.is_none() {
        let set = sets[current];
        let template = template(set.newest().pod);
        let mut metadata = set.metadata();
        (metadata.name, metadata.uid) = (name, None);
        let spec = DeploymentSpec {
            replicas: Some(live_count),
            selector: Some(LabelSelector::from_labels(&template.metadata.labels)),
            template: Arc::new(template),
            ..DeploymentSpec::default()
        };
        made.push(set.written(Deployment { metadata, spec, ..Deployment::default() }));
    }
    made
}

/// Whether a pod runs the images of a Deployment's template; webhooks may have added containers.
fn has_images_of(pod: &Pod, deployment: &Deployment) -> bool {
    let mut wanted = deployment.spec.template.spec.containers.iter();
    wanted.all(|wanted| pod.spec.containers.iter().any(|c| c.name == wanted.name && c.image == wanted.image))
}

/// Whether the newest ReplicaSet has the Deployment's template: its status tells, or else the images.
fn is_up_to_date(deployment: &Deployment, set: &Orphans<'_>) -> bool {
    let status = &deployment.status;
    if status.replicas > 0 {
        return status.updated_replicas > 0;
    }
    has_images_of(set.newest().pod, deployment)
}

fn replica_set(
    set: &Orphans<'_>,
    mut template: PodTemplateSpec,
    replicas: i32,
    deployment: Option<(Symbol, Option<Symbol>)>,
) -> ManifestObject {
    let labels = &set.newest().pod.metadata.labels;
    let mut metadata = set.metadata();
    let hash = labels.get(Symbol::new(TEMPLATE_HASH));
    if let Some(hash) = hash {
        template.metadata.labels = template.metadata.labels.with(Symbol::new(TEMPLATE_HASH), hash);
    }
    metadata.labels = template.metadata.labels.clone();
    if let Some((name, uid)) = deployment {
        metadata.owner_references = vec![OwnerReference {
            api_version: Symbol::new("apps/v1"),
            kind: Symbol::new("Deployment"),
            name,
            // Without a uid the name tells.
            uid: uid.unwrap_or_default(),
            controller: true,
            block_owner_deletion: true,
        }];
        metadata.annotations.insert(Symbol::new(DESIRED), Symbol::from(replicas.to_string()));
    }
    let spec = ReplicaSetSpec {
        replicas: Some(replicas),
        selector: Some(LabelSelector::from_labels(&template.metadata.labels)),
        template: Arc::new(template),
        ..ReplicaSetSpec::default()
    };
    set.written(ReplicaSet { metadata, spec, ..ReplicaSet::default() })
}

/// Deployments that ReplicaSets of the input name.
fn deployments_of_replica_sets(objects: &[ManifestObject], present: &BTreeSet<Key>) -> Vec<ManifestObject> {
    let mut families: Vec<(Key, Vec<(&ReplicaSet, &ManifestObject)>)> = Vec::new();
    for written in objects {
        let Object::ReplicaSet(set) = &written.object else { continue };
        let Some(owner) = set.metadata.controller() else { continue };
        let key = (set.metadata.namespace, owner.kind, owner.name);
        let is_missing = owner.kind == "Deployment" && is_of_group(owner, &["apps", "extensions"]);
        if !is_missing || present.contains(&key) {
            continue;
        }
        match families.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sets)) => sets.push((set, written)),
            None => families.push((key, vec![(set, written)])),
        }
    }
    families.iter().filter_map(|(key, sets)| deployment(*key, sets)).collect()
}

fn deployment((namespace, _, name): Key, sets: &[(&ReplicaSet, &ManifestObject)]) -> Option<ManifestObject> {
    let number = |set: &ReplicaSet, key: &str| {
        set.metadata.annotations.get(&Symbol::new(key)).and_then(|text| text.as_str().parse::<i32>().ok())
    };
    let (set, written) =
        sets.iter().max_by_key(|(set, _)| (number(set, REVISION), set.metadata.creation_timestamp)).copied()?;
    let mut template = (*set.spec.template).clone();
    template.metadata.labels = template.metadata.labels.without(Symbol::new(TEMPLATE_HASH));
    let mut selector = set.spec.selector.clone()?;
    selector.match_labels = selector.match_labels.without(Symbol::new(TEMPLATE_HASH));
    let sum = sets.iter().map(|(set, _)| set.spec.replicas.unwrap_or(1)).sum();
    let metadata = ObjectMeta {
        name,
        namespace,
        uid: set.metadata.controller().map(|owner| owner.uid).filter(|uid| !uid.is_empty()),
        labels: template.metadata.labels.clone(),
        ..ObjectMeta::default()
    };
    let spec = DeploymentSpec {
        replicas: Some(number(set, DESIRED).unwrap_or(sum)),
        selector: Some(selector),
        template: Arc::new(template),
        min_ready_seconds: set.spec.min_ready_seconds,
        ..DeploymentSpec::default()
    };
    let deployment = Deployment { metadata, spec, ..Deployment::default() };
    let source = written.source.clone();
    Some(ManifestObject {
        object: deployment.into(),
        source,
        names_namespace: true,
        unknown_fields: Vec::new(),
        api_version: Symbol::empty(),
    })
}

fn daemon_set(orphans: &Orphans<'_>, objects: &[ManifestObject]) -> ManifestObject {
    let mut template = template(orphans.newest().pod);
    // The controller binds each pod to its node by name, in place of the node affinity that the template has.
    let is_of_node = |selector: &NodeSelector| {
        selector
            .node_selector_terms
            .iter()
            .any(|term| term.match_fields.iter().any(|field| field.key == "metadata.name"))
    };
    if let Some(affinity) = &mut template.spec.affinity
        && let Some(node_affinity) = &mut affinity.node_affinity
    {
        let required = &mut node_affinity.required_during_scheduling_ignored_during_execution;
        *required = required.take().filter(|selector| !is_of_node(selector));
    }
    let covered: BTreeSet<Symbol> = orphans.pods.iter().filter_map(|owned| owned.pod.spec.node_name).collect();
    let nodes = objects.iter().filter_map(|object| match &object.object {
        Object::Node(node) => Some(&**node),
        _ => None,
    });
    let is_eligible = |node: &Node| {
        let labels = &node.metadata.labels;
        let is_selected = template.spec.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
        let taints: Vec<Taint> = node
            .spec
            .taints
            .iter()
            .filter(|taint| !taint.key.as_str().starts_with("node.kubernetes.io/"))
            .cloned()
            .collect();
        let effects = [TaintEffect::NoSchedule, TaintEffect::NoExecute];
        is_selected && first_untolerated(&taints, &template.spec.tolerations, &effects).is_none()
    };
    let is_everywhere = nodes.filter(|node| is_eligible(node)).all(|node| covered.contains(&node.metadata.name));
    if !is_everywhere {
        // Something that pods do not tell keeps it off the other nodes.
        let terms = covered.iter().map(|name| NodeSelectorTerm {
            match_fields: vec![NodeSelectorRequirement {
                key: Symbol::new("metadata.name"),
                operator: NodeSelectorOperator::In,
                values: vec![*name],
            }],
            ..NodeSelectorTerm::default()
        });
        let affinity = template.spec.affinity.get_or_insert_default();
        let node_affinity = affinity.node_affinity.get_or_insert_default();
        node_affinity.required_during_scheduling_ignored_during_execution =
            Some(NodeSelector { node_selector_terms: terms.collect() });
    }
    let spec = DaemonSetSpec {
        selector: Some(LabelSelector::from_labels(&template.metadata.labels)),
        template: Arc::new(template),
        ..DaemonSetSpec::default()
    };
    orphans.written(DaemonSet { metadata: orphans.metadata(), spec, ..DaemonSet::default() })
}

/// The number of a StatefulSet's pod.
fn ordinal(set: &OwnerReference, pod: &Pod) -> Option<i32> {
    pod.metadata.name.as_str().strip_prefix(set.name.as_str())?.strip_prefix('-')?.parse().ok()
}

fn stateful_set(orphans: &Orphans<'_>, objects: &[ManifestObject]) -> ManifestObject {
    let newest = orphans.newest().pod;
    let mut template = template(newest);
    let service_name = template.spec.subdomain.take().unwrap_or_default();
    template.spec.hostname = None;
    let mut claims = Vec::new();
    template.spec.volumes.retain(|volume| {
        let claim = volume.persistent_volume_claim.as_ref().map(|claim| claim.claim_name);
        let of_set = format!("{}-{}", volume.name, newest.metadata.name);
        if claim.is_none_or(|claim| claim != of_set.as_str()) {
            return true;
        }
        claims.push(claim_template(volume.name, &of_set, newest.metadata.namespace, objects));
        false
    });
    let last = orphans.pods.iter().filter_map(|owned| ordinal(orphans.owner, owned.pod)).max();
    let spec = StatefulSetSpec {
        replicas: Some(last.map_or_else(|| orphans.live_count(), |last| last.saturating_add(1))),
        selector: Some(LabelSelector::from_labels(&template.metadata.labels)),
        template: Arc::new(template),
        volume_claim_templates: claims,
        service_name,
        ..StatefulSetSpec::default()
    };
    orphans.written(StatefulSet { metadata: orphans.metadata(), spec, ..StatefulSet::default() })
}

/// The template of a claim that a pod of a StatefulSet uses.
fn claim_template(
    volume: Symbol,
    claim_name: &str,
    namespace: Symbol,
    objects: &[ManifestObject],
) -> PersistentVolumeClaim {
    let found = objects.iter().find_map(|object| match &object.object {
        Object::PersistentVolumeClaim(claim) => {
            let metadata = &claim.metadata;
            (metadata.name == claim_name && metadata.namespace == namespace).then_some(&**claim)
        }
        _ => None,
    });
    let mut template = PersistentVolumeClaim::default();
    template.metadata.name = volume;
    if let Some(claim) = found {
        template.spec = claim.spec.clone();
        template.spec.volume_name = None;
    }
    template
}

/// A Job of pods that still run. Of one whose pods are all over, nothing is left to do; which indexes of an Indexed one are
/// done, pods do not tell.
fn job(orphans: &Orphans<'_>) -> Option<ManifestObject> {
    let live_count = orphans.live_count();
    let newest = orphans.newest().pod;
    let index = Symbol::new("batch.kubernetes.io/job-completion-index");
    if live_count == 0 || newest.metadata.annotations.contains_key(&index) {
        return None;
    }
    let labels = &newest.metadata.labels;
    let mut template = template(newest);
    template.metadata.labels = labels.clone();
    let own: Labels =
        labels.iter().filter(|(key, _)| [CONTROLLER_UID, "controller-uid"].contains(&key.as_str())).collect();
    let spec = JobSpec {
        parallelism: Some(live_count),
        completions: Some(live_count),
        selector: Some(LabelSelector::from_labels(if own.is_empty() { labels } else { &own })),
        manual_selector: Some(true),
        template: Arc::new(template),
        ..JobSpec::default()
    };
    Some(orphans.written(Job { metadata: orphans.metadata(), spec, ..Job::default() }))
}

/// Classes that pods of a dump were given their priority by.
fn priority_classes(objects: &[ManifestObject], present: &BTreeSet<Key>) -> Vec<ManifestObject> {
    let mut made: BTreeMap<Symbol, ManifestObject> = BTreeMap::new();
    for written in objects {
        let Object::Pod(pod) = &written.object else { continue };
        let (Some(name), Some(value)) = (pod.spec.priority_class_name, pod.spec.priority) else { continue };
        let is_present = present.contains(&(Symbol::default(), Symbol::new("PriorityClass"), name));
        if is_present || name.as_str().starts_with("system-") || made.contains_key(&name) {
            continue;
        }
        let mut class =
            PriorityClass { value, preemption_policy: pod.spec.preemption_policy, ..PriorityClass::default() };
        class.metadata.name = name;
        let source = written.source.clone();
        made.insert(
            name,
            ManifestObject {
                object: class.into(),
                source,
                names_namespace: true,
                unknown_fields: Vec::new(),
                api_version: Symbol::empty(),
            },
        );
    }
    made.into_values().collect()
}
