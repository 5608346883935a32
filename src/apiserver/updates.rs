//! Whole objects that replace what is there: pods, nodes, claims and volumes, as kubectl patches and applies them.

use std::sync::Arc;

use super::{ApiServer, Session, finalizers, limit_ranger, pods, resource_quota, validation};
use crate::arena::Symbol;
use crate::component::{
    Answer, ApiError, CLAIM_PROTECTION, Counted, ErrorReason, Reply, VOLUME_PROTECTION, export_claim, export_node,
    export_pod, export_volume,
};
use crate::model::{self, Object, PersistentVolumeClaimPhase, PodSpec};
use crate::state::{
    Changed, JOB_TRACKING, NodeDelta, NodeId, PersistentVolumeClaimId, PersistentVolumeId, PodDelta, PodId, TaintOnNode,
};

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
            Some(id) => update_node(s, id, new),
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
/// kube-apiserver, pod strategy and `ValidatePodUpdate`.
///
/// # Differs
/// The refusal does not show the difference. What is mounted where is not kept, so that a change of it is let pass.
fn update_pod(s: &mut Session<'_>, id: PodId, mut new: model::Pod) -> Answer {
    let Some(mut old) = export_pod(s.store, id) else { return Err(pods::gone()) };
    old.apply_defaults();
    new.apply_defaults();
    admit_again(s, &mut new.spec, &old.spec);
    let (new, old) = (Object::from(new), Object::from(old));
    validation::change(s, &new, &old)?;
    let (Object::Pod(new), Object::Pod(old)) = (new, old) else { return Ok(Reply::Unchanged) };
    if s.store.pod(id).is_some_and(|pod| pod.deletion.is_some()) {
        let name = old.metadata.name.as_str();
        finalizers::refuse_new(model::ObjectKind::Pod, name, &new.metadata.finalizers, &old.metadata.finalizers)?;
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
    differs(new.metadata.finalizers != old.metadata.finalizers, PodDelta::SPEC | PodDelta::FINALIZERS);
    if delta == PodDelta::NONE {
        return Ok(Reply::Unchanged);
    }
    let answer = pods::update_whole(s, id, delta, |s| {
        s.store.update_pod(id, |pod| {
            pod.labels = new.metadata.labels;
            if new.metadata.finalizers != old.metadata.finalizers {
                Arc::make_mut(&mut pod.spec).finalizers = finalizers::foreign(&new.metadata.finalizers);
                pod.job_tracking = new.metadata.finalizers.iter().any(|finalizer| *finalizer == JOB_TRACKING);
            }
            if new.metadata.annotations != old.metadata.annotations || new.spec != old.spec {
                let admitted = Arc::make_mut(&mut pod.spec);
                admitted.annotations = Arc::new(new.metadata.annotations);
                admitted.spec = PodSpec { node_name: None, ..new.spec };
            }
        });
    });
    pods::settle_finalizers(s, id, answer)
}

/// What admission puts back into a pod that is updated.
///
/// # Source
/// kube-apiserver, the admission plugins DefaultTolerationSeconds and Priority.
fn admit_again(s: &Session<'_>, new: &mut PodSpec, old: &PodSpec) {
    for container in new.containers.iter_mut().chain(&mut new.init_containers) {
        // As of pods that are created: the token volume's random name would make equal specs differ.
        container.volume_mounts = model::Opaque::default();
    }
    new.volumes.retain(|volume| !volume.name.as_str().starts_with("kube-api-access-"));
    if s.config.kube_apiserver.admits_with("Priority") {
        new.priority = new.priority.or(old.priority);
        new.preemption_policy = new.preemption_policy.or(old.preemption_policy);
    }
    if !s.config.kube_apiserver.admits_with("DefaultTolerationSeconds") {
        return;
    }
    let defaults = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    for default in old.tolerations.iter().filter(|toleration| defaults.contains(&toleration.key.as_str())) {
        let tolerates = |toleration: &model::Toleration| {
            (toleration.key == default.key || toleration.key.is_empty())
                && toleration.effect.is_none_or(|effect| effect == model::TaintEffect::NoExecute)
        };
        if !new.tolerations.iter().any(tolerates) {
            new.tolerations.push(default.clone());
        }
    }
}

/// # Source
/// kube-apiserver, node strategy: an update of the object leaves its status as it is.
fn update_node(s: &mut Session<'_>, id: NodeId, mut new: model::Node) -> Answer {
    if let Some(old) = export_node(s.store, id) {
        new.status = model::NodeStatus::default();
        validation::change(s, &Object::from(new.clone()), &Object::from(old))?;
    }
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
    let held_by = finalizers::foreign(&new.metadata.finalizers);
    if s.store.volumes.claim(id).is_some_and(|claim| claim.meta.deleting.is_some()) {
        let name = old.metadata.name.as_str();
        finalizers::refuse_new(
            model::ObjectKind::PersistentVolumeClaim,
            name,
            &new.metadata.finalizers,
            &old.metadata.finalizers,
        )?;
        let is_used = is_protected && !s.store.volumes.pods_using(old.metadata.namespace, old.metadata.name).is_empty();
        if held_by.is_empty() && !is_used {
            if let Some(claim) = s.store.volumes.remove_claim(id) {
                s.changed.push(Changed::ClaimRemoved(Arc::new(claim)));
            }
            return Ok(Reply::Done);
        }
    }
    let (new, old) = (Object::from(new), Object::from(old));
    validation::change(s, &new, &old)?;
    let (Object::PersistentVolumeClaim(mut new), Object::PersistentVolumeClaim(old)) = (new, old) else {
        return Ok(Reply::Unchanged);
    };
    check_resize(s, &new, &old)?;
    limit_ranger::check_claim(s, &new)?;
    let of = ("persistentvolumeclaims", new.metadata.name.as_str());
    let (asked, had) = (Counted::Claim(&new.spec), Counted::Claim(&old.spec));
    resource_quota::charge(s, new.metadata.namespace, of, asked, Some(had))?.commit(s);
    let volume = new.spec.volume_name.take();
    let Some(claim) = s.store.volumes.claim_mut(id) else { return Ok(Reply::Unchanged) };
    let is_same = claim.meta.labels == new.metadata.labels
        && *claim.meta.annotations == new.metadata.annotations
        && claim.meta.finalizers == held_by
        && *claim.spec == new.spec
        && claim.volume == volume;
    if is_same {
        return Ok(if is_protected { Reply::Unchanged } else { Reply::Done });
    }
    claim.meta.labels = new.metadata.labels;
    claim.meta.annotations = Arc::new(new.metadata.annotations);
    claim.meta.finalizers = held_by;
    claim.spec = Arc::new(new.spec);
    claim.volume = volume;
    s.changed.push(Changed::ClaimChanged(id));
    Ok(Reply::Done)
}

/// # Source
/// kube-apiserver, the admission plugin PersistentVolumeClaimResize.
fn check_resize(
    s: &Session<'_>,
    new: &model::PersistentVolumeClaim,
    old: &model::PersistentVolumeClaim,
) -> Result<(), ApiError> {
    let size = |claim: &model::PersistentVolumeClaim| {
        claim.spec.resources.requests.get(Symbol::new("storage")).copied().unwrap_or_default()
    };
    if !s.config.kube_apiserver.admits_with("PersistentVolumeClaimResize") || size(new) <= size(old) {
        return Ok(());
    }
    let class = |claim: &model::PersistentVolumeClaim| claim.spec.storage_class_name.filter(|name| !name.is_empty());
    let expands = |name| s.store.volumes.class(name).is_some_and(|class| class.allow_volume_expansion == Some(true));
    let why = if old.status.phase != PersistentVolumeClaimPhase::Bound {
        "Only bound persistent volume claims can be expanded"
    } else if class(new) != class(old) || !class(old).is_some_and(expands) {
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
    } else {
        return Ok(());
    };
    let message = format!("persistentvolumeclaims \"{}\" is forbidden: {why}", new.metadata.name);
    Err(ApiError::new(ErrorReason::Forbidden, message))
}

/// A released volume that is told to forget its claim, or which claim of that name it was, is there for the next one.
///
/// # Source
/// kube-apiserver, `ValidatePersistentVolumeUpdate`; persistentvolume-binder-controller, `syncVolume`.
fn update_volume(s: &mut Session<'_>, id: PersistentVolumeId, mut new: model::PersistentVolume) -> Answer {
    let Some(mut old) = export_volume(s.store, id) else { return Ok(Reply::Unchanged) };
    new.apply_defaults();
    old.apply_defaults();
    let (new, old) = (Object::from(new), Object::from(old));
    validation::change(s, &new, &old)?;
    let (Object::PersistentVolume(mut new), Object::PersistentVolume(old)) = (new, old) else {
        return Ok(Reply::Unchanged);
    };
    let held_by = finalizers::foreign(&new.metadata.finalizers);
    if let Some(meta) = s.store.volumes.volume(id).map(|volume| &volume.meta)
        && meta.deleting.is_some()
    {
        finalizers::refuse_new(
            model::ObjectKind::PersistentVolume,
            meta.name.as_str(),
            &new.metadata.finalizers,
            &old.metadata.finalizers,
        )?;
        let is_protected = new.metadata.finalizers.contains(&Symbol::new(VOLUME_PROTECTION));
        if held_by.is_empty() && !(is_protected && super::volumes::is_bound(s, id)) {
            s.store.volumes.remove_volume(id);
            s.changed.push(Changed::VolumeRemoved(id));
            return Ok(Reply::Done);
        }
    }
    let is_same = new.metadata.labels == old.metadata.labels
        && new.metadata.annotations == old.metadata.annotations
        && new.metadata.finalizers == old.metadata.finalizers
        && new.spec == old.spec;
    if is_same {
        return Ok(Reply::Unchanged);
    }
    let claim = new.spec.claim_ref.take();
    let is_released = claim.as_ref().is_some_and(|claim| !claim.uid.is_empty());
    let model::PersistentVolume { metadata, spec, .. } = *new;
    s.store.volumes.change_volume(id, |volume| {
        volume.meta.labels = metadata.labels;
        volume.meta.annotations = Arc::new(metadata.annotations);
        volume.meta.finalizers = held_by;
        volume.is_released &= is_released;
        volume.claim = claim.map(|claim| (claim.namespace, claim.name));
        volume.spec = Arc::new(spec);
    });
    s.changed.push(Changed::VolumeChanged(id));
    Ok(Reply::Done)
}
