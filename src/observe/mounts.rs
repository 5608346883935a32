//! When the volumes of a pod were there that have to be attached to its node before its containers start.

use crate::state::{AttachmentPhase, NodeId, PersistentVolumeId, Pod, PodId, PodPhase, Store};
use crate::units::SimTime;

/// What a pod that is bound waits for before its containers can start.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Mounts {
    /// Whether it has volumes that have to be attached.
    has_any: bool,
    /// When all of them were attached to its node: when it was bound, or later; none if they are not.
    pub(super) attached_at: Option<SimTime>,
    /// When its kubelet had found them and went on.
    pub(super) mounted_at: Option<SimTime>,
}

impl Mounts {
    /// Of a pod that is bound, or found, at an instant.
    pub(super) fn of(pod: &Pod, at: SimTime, store: &Store) -> Self {
        let Some(node) = pod.node else { return Self::default() };
        let volumes = attachable(pod, store);
        let has_any = !volumes.is_empty() && pod.phase == PodPhase::Pending;
        Self {
            has_any,
            attached_at: (!has_any || are_attached(&volumes, node, store)).then_some(at),
            mounted_at: (!has_any).then_some(at),
        }
    }

    /// Something was attached to its node.
    pub(super) fn attached(&mut self, pod: &Pod, at: SimTime, store: &Store) {
        if let Some(node) = pod.node.filter(|_| self.has_any && self.attached_at.is_none())
            && are_attached(&attachable(pod, store), node, store)
        {
            self.attached_at = Some(at);
        }
    }

    /// Its kubelet has found its volumes.
    pub(super) fn mounted(&mut self, at: SimTime) {
        self.mounted_at.get_or_insert(at);
    }

    /// Its machine is down before its containers ran: its kubelet has to look again.
    pub(super) fn machine_is_down(&mut self) {
        if self.has_any {
            self.mounted_at = None;
        }
    }
}

/// The pods on a node that use a volume.
pub(super) fn users(volume: PersistentVolumeId, node: NodeId, store: &Store) -> impl Iterator<Item = (PodId, &Pod)> {
    let claim = store.volumes.volume(volume).and_then(|object| object.claim);
    let users = claim.map(|(namespace, name)| store.volumes.pods_using(namespace, name));
    let users = users.into_iter().flatten().filter_map(|id| Some((*id, store.pod(*id)?)));
    users.filter(move |(_, pod)| pod.node == Some(node))
}

fn attachable(pod: &Pod, store: &Store) -> Vec<PersistentVolumeId> {
    let claims = pod.claims();
    let bound = claims.iter().filter_map(|used| store.volumes.volume_of(pod.namespace, used.name));
    bound.filter(|volume| store.volumes.is_attachable(*volume)).collect()
}

fn are_attached(volumes: &[PersistentVolumeId], node: NodeId, store: &Store) -> bool {
    volumes.iter().all(|volume| store.volumes.attachment(*volume, node).phase == Some(AttachmentPhase::Attached))
}
