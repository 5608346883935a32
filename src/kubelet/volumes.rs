//! Volumes of a pod: containers start when all are attached; what nobody uses any more is let go.

use super::bound_pod::BoundPod;
use super::timer::{NodeTimer, PodTimer};
use super::worker::{Awaits, Launch, MountWait, Worker, WorkerState};
use super::{Kubelets, settings};
use crate::component::{Ctx, EventDraft, ObjectRef, Record, Request};
use crate::state::{AttachmentPhase, NodeId, PersistentVolumeId, Pod, PodId, PodPhase, Store};
use crate::units::SimDuration;

/// First wait before attachment is looked up again; doubled up to the longest.
///
/// # Source
/// kubelet, volume manager: `exponentialbackoff`, 500 ms to 2 min 2 s.
const FIRST_WAIT: SimDuration = SimDuration::from_millis(500);
const LONGEST_WAIT: SimDuration = SimDuration::from_secs(122);

/// What the reconciler's loop of 100 ms adds to each wait, on average.
const LOOP_LAG: SimDuration = SimDuration::from_millis(50);

/// How long one sync of a pod waits for its volumes.
///
/// # Source
/// kubelet, `podAttachAndMountTimeout`.
const SYNC_WAIT: SimDuration = SimDuration::from_secs(123);

/// The volumes of a pod that must be attached, with the pod's names for them.
pub(super) fn attachable(pod: &Pod, store: &Store) -> Vec<(PersistentVolumeId, crate::arena::Symbol)> {
    let volumes = &store.volumes;
    let claims = pod.claims();
    let bound = claims.iter().filter_map(|used| Some((volumes.volume_of(pod.namespace, used.name)?, used.volume)));
    bound.filter(|(volume, _)| volumes.is_attachable(*volume)).collect()
}

/// The pods on the node that use the volume and have not ended.
fn users(volume: PersistentVolumeId, node: NodeId, store: &Store) -> impl Iterator<Item = PodId> {
    let claim = store.volumes.volume(volume).and_then(|object| object.claim);
    let users = claim.map(|(namespace, name)| store.volumes.pods_using(namespace, name));
    let is_there = move |pod: &Pod| pod.node == Some(node) && !pod.phase.is_terminal();
    users.into_iter().flatten().copied().filter(move |pod| store.pod(*pod).is_some_and(is_there))
}

/// Until the next of the kubelet's status updates, which come every ten seconds.
///
/// # Differs
/// The phase is drawn for each question.
fn until_status(concern: &str, entity: &str, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let period = ctx.config.kubelet.node_status_update_frequency;
    let second = ctx.now.as_nanos().unsigned_abs() / 1_000_000_000;
    SimDuration::from_secs_f64(ctx.streams.at(concern, entity, second).unit() * period.as_secs_f64())
}

impl Kubelets {
    /// Starts a pod's containers when its volumes are there.
    ///
    /// # Source
    /// kubelet, `WaitForAttachAndMount`: whether the controller has attached a volume is looked up only when the node's
    /// status says that the volume is in use, and then ever more seldom.
    ///
    /// # Differs
    /// Mounting what is attached takes no time of its own, and several volumes of a pod share one back-off.
    pub(super) fn await_volumes(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let volumes = attachable(&pod, ctx.store);
        if volumes.is_empty() {
            self.start(pod, ctx);
            return;
        }
        let is_reported = volumes.iter().all(|(volume, _)| ctx.store.volumes.attachment(*volume, pod.node).in_use);
        let delay =
            if is_reported { SimDuration::ZERO } else { until_status("volumes-in-use", &settings::entity(&pod), ctx) };
        let look_up = pod.arm_in(delay, PodTimer::LookUpVolumes, ctx);
        let sync = pod.arm_in(SYNC_WAIT, PodTimer::MountSync, ctx);
        let wait = MountWait { failures: 0, look_up, sync, is_paused: false, is_mounted: false, syncs: 0 };
        let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
        worker.enter(WorkerState::Starting(Launch::Pod, Awaits::Volumes(wait)), ctx);
    }

    /// Says that the volumes are in use, and looks whether they are attached.
    pub(super) fn look_up_volumes(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let volumes = attachable(&pod, ctx.store);
        let is_up = self.links.are_up(pod.node, ctx);
        let Some(wait) = self.workers.get_mut(&pod.id).and_then(Worker::mount_wait) else { return };
        let attachment = |volume: PersistentVolumeId| ctx.store.volumes.attachment(volume, pod.node);
        let is_attached = |volume: PersistentVolumeId| attachment(volume).phase == Some(AttachmentPhase::Attached);
        let are_attached = is_up && volumes.iter().all(|(volume, _)| is_attached(*volume));
        let unreported: Vec<PersistentVolumeId> =
            volumes.iter().map(|(volume, _)| *volume).filter(|volume| is_up && !attachment(*volume).in_use).collect();
        for volume in unreported {
            ctx.send(Request::ReportVolume { volume, node: pod.node, in_use: true });
        }
        if are_attached {
            wait.is_mounted = true;
            let is_paused = wait.is_paused;
            let causes = volumes.iter().filter_map(|(volume, _)| self.attached_by.remove(&(*volume, pod.node)));
            if let Some(cause) = causes.max() {
                ctx.cause = cause;
            }
            if !is_paused {
                self.start_mounted(pod, ctx);
            }
            return;
        }
        let delay = look_up_wait(wait.failures);
        wait.failures += 1;
        wait.look_up = pod.arm_in(delay + LOOP_LAG + ctx.config.round_trip, PodTimer::LookUpVolumes, ctx);
    }

    /// The pod's volumes are mounted, and nothing else holds its containers.
    fn start_mounted(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        ctx.record(Record::VolumesMounted(pod.id));
        self.start(pod, ctx);
    }

    /// Remembers why a volume is there: what a pod that waits for it does next follows from that.
    pub(super) fn attachment_changed(&mut self, volume: PersistentVolumeId, node: NodeId, ctx: &Ctx<'_, Self>) {
        match ctx.store.volumes.attachment(volume, node).phase {
            Some(AttachmentPhase::Attached) => {
                let mut waiting = users(volume, node, ctx.store).filter_map(|pod| self.workers.get(&pod));
                if waiting.any(|worker| matches!(worker.state, WorkerState::Starting(_, Awaits::Volumes(_)))) {
                    self.attached_by.insert((volume, node), ctx.cause);
                }
            }
            Some(_) => {}
            None => {
                self.attached_by.remove(&(volume, node));
            }
        }
    }

    /// A sync has waited long enough for the pod's volumes, or the next one begins.
    ///
    /// # Source
    /// kubelet, pod workers: a failed sync is repeated after 10 to 15 seconds, when the loop of one second comes to it.
    pub(super) fn mount_sync(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        const PAUSE_S: f64 = 10.0;
        let Some(wait) = self.workers.get_mut(&pod.id).and_then(Worker::mount_wait) else { return };
        if wait.is_paused {
            wait.is_paused = false;
            if wait.is_mounted {
                self.start_mounted(pod, ctx);
                return;
            }
            wait.sync = pod.arm_in(SYNC_WAIT, PodTimer::MountSync, ctx);
            return;
        }
        wait.is_paused = true;
        wait.syncs += 1;
        let mut stream = ctx.streams.at("mount-retry", &settings::entity(&pod), wait.syncs);
        let pause = SimDuration::from_secs_f64(PAUSE_S * (1.0 + 0.5 * stream.unit()) + stream.unit());
        wait.sync = pod.arm_in(pause, PodTimer::MountSync, ctx);
        let all = attachable(&pod, ctx.store);
        let names = |volumes: &mut dyn Iterator<Item = &str>| volumes.collect::<Vec<_>>().join(" ");
        let unmounted = names(&mut all.iter().map(|(_, name)| name.as_str()));
        let is_missing = |volume: PersistentVolumeId| {
            ctx.store.volumes.attachment(volume, pod.node).phase != Some(AttachmentPhase::Attached)
        };
        let mut missing: Vec<&str> =
            all.iter().filter(|(volume, _)| is_missing(*volume)).map(|(_, name)| name.as_str()).collect();
        missing.sort_unstable();
        let message = format!(
            "Unable to attach or mount volumes: unmounted volumes=[{unmounted}], unattached volumes=[{}], \
             failed to process volumes=[]: context deadline exceeded",
            missing.join(" ")
        );
        self.links.event(pod.node, EventDraft::warning("FailedMount", ObjectRef::pod(&pod), message), ctx);
    }

    /// Whether a pod on the node still uses the volume, or what is left of one.
    fn uses(&self, node: NodeId, volume: PersistentVolumeId, store: &Store) -> bool {
        users(volume, node, store).next().is_some() || self.is_held_by_the_dying(volume, node)
    }

    /// A pod is finished or gone: its volumes are unmounted, and the node's next status says so.
    pub(super) fn unmount(&self, pod: &Pod, ctx: &mut Ctx<'_, Self>) {
        let Some(node) = pod.node else { return };
        for (volume, name) in attachable(pod, ctx.store) {
            if !self.uses(node, volume, ctx.store) && ctx.store.volumes.attachment(volume, node).in_use {
                let entity = format!("{}/{}/{name}", pod.namespace, pod.name);
                let delay = until_status("volumes-unused", &entity, ctx);
                NodeTimer::ReportVolumes.arm_in(node, delay, ctx);
            }
        }
    }

    /// What the node's status says of volumes that nobody on it uses any more.
    pub(super) fn report_volumes(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !self.links.are_up(node, ctx) {
            return;
        }
        let unused: Vec<_> = self.unused(node, ctx.store).collect();
        for volume in unused {
            ctx.send(Request::ReportVolume { volume, node, in_use: false });
        }
    }

    /// Volumes that the node's status names and that nobody on it uses any more.
    fn unused(&self, node: NodeId, store: &Store) -> impl Iterator<Item = PersistentVolumeId> {
        let in_use = store.volumes.attachments_on(node).filter(|(_, attachment)| attachment.in_use);
        in_use.map(|(volume, _)| volume).filter(move |volume| !self.uses(node, *volume, store))
    }

    /// Whether the node's status names volumes that nobody on it uses any more.
    pub(super) fn has_volumes_to_give(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        self.unused(node, ctx.store).next().is_some()
    }

    /// Pods that were running before anybody looked have their volumes mounted.
    pub(super) fn volumes_found(ctx: &mut Ctx<'_, Self>) {
        let mut mounted = Vec::new();
        for (_, pod) in ctx.store.pods().filter(|(_, pod)| pod.phase == PodPhase::Running) {
            let Some(node) = pod.node else { continue };
            let volumes = attachable(pod, ctx.store).into_iter().map(|(volume, _)| volume);
            mounted.extend(volumes.filter(|v| !ctx.store.volumes.attachment(*v, node).in_use).map(|v| (v, node)));
        }
        for (volume, node) in mounted {
            ctx.send(Request::ReportVolume { volume, node, in_use: true });
        }
    }
}

/// How long until the next look-up after so many failures before this one.
fn look_up_wait(failures: u32) -> SimDuration {
    (FIRST_WAIT * (1 << failures.min(8))).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attachment_is_looked_up_ever_more_seldom_up_to_every_two_minutes() {
        let waits_ms = [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 122_000, 122_000, 122_000];
        for (failures, expected) in (0..).zip(waits_ms) {
            assert_eq!(look_up_wait(failures), SimDuration::from_millis(expected), "{failures} failures");
        }
    }
}
