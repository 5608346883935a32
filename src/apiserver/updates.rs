//! Whole objects that replace what is there: pods, nodes, claims and volumes, as kubectl patches and applies them.

use std::sync::Arc;

use super::{ApiServer, Session, pods};
use crate::arena::Symbol;
use crate::component::{
    Answer, ApiError, CLAIM_PROTECTION, ErrorReason, Reply, export_claim, export_pod, export_volume,
};
use crate::model::{self, Affinity, PodSpec};
use crate::state::{
    Changed, NodeDelta, NodeId, PersistentVolumeClaimId, PersistentVolumeId, PodDelta, PodId, TaintOnNode,
};

/// What an update may change of a pod's spec.
const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                         `spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` \
                         (allow it to be set to 1 if it was previously negative)";

impl ApiServer {
    /// PUT a pod, or POST it.
    pub(super) fn apply_pod(&mut self, s: &mut Session<'_>, new: model::Pod) -> Answer {
        match s.store.find_pod(new.metadata.namespace, &Arc::from(new.metadata.name.as_str())) {
            Some(id) => update_pod(s, id, new),
            None => self.create(s, model::Object::Pod(Box::new(new))),
        }
    }

    /// PUT a node, or POST it.
    pub(super) fn apply_node(&mut self, s: &mut Session<'_>, new: model::Node) -> Answer {
        match s.store.find_node(new.metadata.name).filter(|id| s.store.node(*id).is_some()) {
            Some(id) => update_node(s, id, &new),
            None => self.create(s, model::Object::Node(Box::new(new))),
        }
    }

    /// PUT a claim, or POST it.
    pub(super) fn apply_claim(&mut self, s: &mut Session<'_>, new: model::PersistentVolumeClaim) -> Answer {
        match s.store.volumes.find_claim(new.metadata.namespace, new.metadata.name) {
            Some(id) => update_claim(s, id, new),
            None => self.create(s, model::Object::PersistentVolumeClaim(Box::new(new))),
        }
    }

    /// PUT a volume, or POST it.
    pub(super) fn apply_volume(&mut self, s: &mut Session<'_>, new: model::PersistentVolume) -> Answer {
        match s.store.volumes.find_volume(new.metadata.name) {
            Some(id) => update_volume(s, id, new),
            None => self.create(s, model::Object::PersistentVolume(Box::new(new))),
        }
    }
}

/// # Source
/// kube-apiserver, `ValidatePodUpdate`, with the admission plugin DefaultTolerationSeconds, which puts back what it put there.
///
/// # Differs
/// The refusal does not show the difference.
fn update_pod(s: &mut Session<'_>, id: PodId, mut new: model::Pod) -> Answer {
    let (Some(old), Some(pod)) = (export_pod(s.store, id), s.store.pod(id)) else { return Err(pods::gone()) };
    for container in new.spec.containers.iter_mut().chain(&mut new.spec.init_containers) {
        // As of pods that are created: the token volume's random name would make equal specs differ.
        container.volume_mounts = model::Opaque::default();
    }
    new.spec.volumes.retain(|volume| !volume.name.as_str().starts_with("kube-api-access-"));
    let defaults = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    for default in old.spec.tolerations.iter().filter(|toleration| defaults.contains(&toleration.key.as_str())) {
        let tolerates = |toleration: &model::Toleration| {
            (toleration.key == default.key || toleration.key.is_empty())
                && toleration.effect.is_none_or(|effect| effect == model::TaintEffect::NoExecute)
        };
        if !new.spec.tolerations.iter().any(tolerates) {
            new.spec.tolerations.push(default.clone());
        }
    }
    if let Err(problem) = check_spec(&new.spec, &old.spec) {
        let message = format!("Pod \"{}\" is invalid: {problem}", pod.name);
        return Err(ApiError::new(ErrorReason::Invalid, message));
    }
    let mut delta = PodDelta::NONE;
    let mut differs = |is_other: bool, what: PodDelta| {
        if is_other {
            delta = delta | what;
        }
    };
    differs(new.metadata.labels != old.metadata.labels, PodDelta::LABELS);
    differs(new.metadata.annotations != old.metadata.annotations, PodDelta::ANNOTATIONS);
    differs(new.spec != old.spec, PodDelta::SPEC);
    if delta == PodDelta::NONE {
        return Ok(Reply::Unchanged);
    }
    pods::update_whole(s, id, delta, |s| {
        s.store.update_pod(id, |pod| {
            pod.labels = new.metadata.labels;
            if new.metadata.annotations != old.metadata.annotations || new.spec != old.spec {
                let admitted = Arc::make_mut(&mut pod.spec);
                admitted.annotations = Arc::new(new.metadata.annotations);
                admitted.spec = PodSpec { node_name: None, ..new.spec };
            }
        });
    })
}

fn check_spec(new: &PodSpec, old: &PodSpec) -> Result<(), String> {
    for (field, new, old) in [
        ("containers", &new.containers, &old.containers),
        ("initContainers", &new.init_containers, &old.init_containers),
    ] {
        if new.len() != old.len() {
            return Err(format!("spec.{field}: Forbidden: pod updates may not add or remove containers"));
        }
    }
    match (new.active_deadline_seconds, old.active_deadline_seconds) {
        (Some(after), Some(before)) if before < after => {
            let text = "must be less than or equal to previous value";
            return Err(format!("spec.activeDeadlineSeconds: Invalid value: {after}: {text}"));
        }
        (None, Some(_)) => {
            let text = "must not update from a positive integer to nil value";
            return Err(format!("spec.activeDeadlineSeconds: Invalid value: null: {text}"));
        }
        _ => {}
    }
    let is_kept = |old: &model::Toleration| {
        let with = |seconds| model::Toleration { toleration_seconds: seconds, ..old.clone() };
        new.tolerations.iter().any(|toleration| *toleration == with(toleration.toleration_seconds))
    };
    if !old.tolerations.iter().all(is_kept) {
        let text = "existing toleration can not be modified except its tolerationSeconds";
        return Err(format!("spec.tolerations: Forbidden: {text}"));
    }
    if let Some((index, gate)) =
        new.scheduling_gates.iter().enumerate().find(|(_, gate)| !old.scheduling_gates.contains(gate))
    {
        let text = format!("only deletion is allowed, but found new scheduling gate '{}'", gate.name);
        return Err(format!("spec.schedulingGates[{index}].name: Forbidden: {text}"));
    }
    if with_what_may_change(new.clone(), old) == *old {
        return Ok(());
    }
    Err(format!("spec: Forbidden: pod updates may not change fields other than {UPDATABLE}"))
}

/// The new spec with the old one's values of all that an update may change.
fn with_what_may_change(mut new: PodSpec, old: &PodSpec) -> PodSpec {
    let containers = new.containers.iter_mut().zip(&old.containers);
    for (container, old) in containers.chain(new.init_containers.iter_mut().zip(&old.init_containers)) {
        container.image = old.image;
    }
    new.active_deadline_seconds = old.active_deadline_seconds;
    new.tolerations.clone_from(&old.tolerations);
    if old.termination_grace_period_seconds.is_some_and(|grace| grace < 0)
        && new.termination_grace_period_seconds == Some(1)
    {
        new.termination_grace_period_seconds = old.termination_grace_period_seconds;
    }
    if !old.scheduling_gates.is_empty() {
        // A pod that the scheduler must not look at yet may still learn where it has to run.
        if old.node_selector.iter().all(|(key, value)| new.node_selector.get(key) == Some(value)) {
            new.node_selector = old.node_selector.clone();
        }
        let of_old = old.affinity.as_ref().and_then(|affinity| affinity.node_affinity.clone());
        if let Some(affinity) = &mut new.affinity {
            affinity.node_affinity = of_old;
            if old.affinity.is_none() && **affinity == Affinity::default() {
                new.affinity = None;
            }
        }
    }
    new.scheduling_gates.clone_from(&old.scheduling_gates);
    new
}

/// # Source
/// kube-apiserver, node strategy: an update of the object leaves its status as it is.
fn update_node(s: &mut Session<'_>, id: NodeId, new: &model::Node) -> Answer {
    super::nodes::update(s, id, |node| {
        let mut delta = NodeDelta::NONE;
        if node.labels != new.metadata.labels {
            node.labels = new.metadata.labels.clone();
            delta = delta | NodeDelta::LABELS;
        }
        if *node.annotations != new.metadata.annotations {
            node.annotations = Arc::new(new.metadata.annotations.clone());
            delta = delta | NodeDelta::ANNOTATIONS;
        }
        if std::mem::replace(&mut node.unschedulable, new.spec.unschedulable) != new.spec.unschedulable {
            delta = delta | NodeDelta::UNSCHEDULABLE;
        }
        let taints = new.spec.taints.iter().map(|taint| {
            let is_same =
                |old: &&TaintOnNode| (old.key, old.value, old.effect) == (taint.key, taint.value, taint.effect);
            let new = TaintOnNode { key: taint.key, value: taint.value, effect: taint.effect, added_at: None };
            node.taints.iter().find(is_same).copied().unwrap_or(new)
        });
        let taints = taints.collect();
        if node.taints != taints {
            node.taints = taints;
            delta = delta | NodeDelta::TAINTS;
        }
        delta
    })
}

/// # Source
/// kube-apiserver, `ValidatePersistentVolumeClaimUpdate`; pvc-protection-controller: a claim that is being deleted stays until
/// somebody takes its finalizer away.
fn update_claim(s: &mut Session<'_>, id: PersistentVolumeClaimId, new: model::PersistentVolumeClaim) -> Answer {
    let Some(old) = export_claim(s.store, id) else { return Ok(Reply::Unchanged) };
    let is_protected = new.metadata.finalizers.contains(&Symbol::new(CLAIM_PROTECTION));
    if !is_protected && s.store.volumes.claim(id).is_some_and(|claim| claim.meta.deleting.is_some()) {
        if let Some(claim) = s.store.volumes.remove_claim(id) {
            s.changed.push(Changed::ClaimRemoved(Arc::new(claim)));
        }
        return Ok(Reply::Done);
    }
    let kept = |spec: &model::PersistentVolumeClaimSpec| model::PersistentVolumeClaimSpec {
        resources: old.spec.resources.clone(),
        ..spec.clone()
    };
    if kept(&new.spec) != old.spec {
        let text =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        let message = format!("PersistentVolumeClaim \"{}\" is invalid: spec: Forbidden: {text}", new.metadata.name);
        return Err(ApiError::new(ErrorReason::Invalid, message));
    }
    let Some(claim) = s.store.volumes.claim_mut(id) else { return Ok(Reply::Unchanged) };
    let is_same = claim.meta.labels == new.metadata.labels
        && *claim.meta.annotations == new.metadata.annotations
        && claim.spec.resources == new.spec.resources;
    if is_same {
        return Ok(if is_protected { Reply::Unchanged } else { Reply::Done });
    }
    claim.meta.labels = new.metadata.labels;
    claim.meta.annotations = Arc::new(new.metadata.annotations);
    Arc::make_mut(&mut claim.spec).resources = new.spec.resources;
    s.changed.push(Changed::ClaimChanged(id));
    Ok(Reply::Done)
}

/// # Differs
/// Of a volume's spec only the reclaim policy can be changed.
fn update_volume(s: &mut Session<'_>, id: PersistentVolumeId, new: model::PersistentVolume) -> Answer {
    let Some(old) = export_volume(s.store, id) else { return Ok(Reply::Unchanged) };
    let policy = new.spec.persistent_volume_reclaim_policy;
    let spec = model::PersistentVolumeSpec { persistent_volume_reclaim_policy: policy, ..old.spec.clone() };
    let is_same = new.metadata.labels == old.metadata.labels
        && new.metadata.annotations == old.metadata.annotations
        && spec == old.spec;
    if is_same {
        return Ok(Reply::Unchanged);
    }
    let (labels, annotations) = (new.metadata.labels, Arc::new(new.metadata.annotations));
    s.store.volumes.change_volume(id, |volume| {
        volume.meta.labels = labels;
        volume.meta.annotations = annotations;
        volume.spec = Arc::new(spec);
    });
    s.changed.push(Changed::VolumeChanged(id));
    Ok(Reply::Done)
}
