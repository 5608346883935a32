//! The attach/detach controller: volumes follow the pods from node to node.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::arena::{Symbol, sym};
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, EventDraft, Latencies, ObjectRef, Program, Request, Start, node_name,
};
use crate::engine::Ticket;
use crate::state::{
    AttachmentPhase, Change, Changed, ControlPlaneProcess, NodeDelta, NodeId, PersistentVolumeId, Pod, PodDelta, PodId,
    PodPhase, Status, Store,
};
use crate::units::{SimDuration, SimTime};

/// How long a node that is not ready may keep a volume that it says it uses.
///
/// # Source
/// kube-controller-manager, `ReconcilerMaxWaitForUnmountDuration`.
const UNMOUNT_MAX: SimDuration = SimDuration::from_secs(360);

/// How long after a write that was not answered well it is tried again.
const RETRY: SimDuration = SimDuration::from_secs(1);

/// The reconciler's loop period.
const LOOP: SimDuration = SimDuration::from_millis(100);

/// A volume on a node.
type Place = (PersistentVolumeId, NodeId);

/// What the controller asks to be woken for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// The node has had the volume long enough, or something is to be tried again.
    Expired(PersistentVolumeId, NodeId),
    /// The volume is attached.
    Attached(PersistentVolumeId, NodeId),
    /// The volume is detached.
    Detached(PersistentVolumeId, NodeId),
}

/// How the controller recognises an answer.
#[derive(Copy, Clone, Debug)]
pub struct Tag {
    volume: PersistentVolumeId,
    node: NodeId,
    phase: Option<AttachmentPhase>,
}

/// The attach/detach controller, with the attacher behind it.
///
/// # Source
/// kube-controller-manager, persistentvolume-attach-detach-controller: the reconciler's loop; external-attacher.
///
/// # Differs
/// Attaching and detaching never fail. The loop of 100 ms is not played: what it would find is done when it becomes so.
#[derive(Clone, Debug, Default)]
pub struct AttachDetach {
    /// Since when a volume should be detached, and the timer that ends the wait.
    unwanted: BTreeMap<Place, (SimTime, Option<Ticket>)>,
    /// Operations under way.
    operations: BTreeSet<Place>,
    /// Where a pod has been warned that its volume is elsewhere.
    warned: BTreeSet<Place>,
    /// Operations begun on each volume; keeps their durations apart.
    begun: FxHashMap<PersistentVolumeId, u64>,
}

fn volume_name(volume: PersistentVolumeId, store: &Store) -> String {
    let gone = || "a volume that is gone".to_owned();
    store.volumes.volume(volume).map_or_else(gone, |volume| format!("persistentvolume/{}", volume.meta.name))
}

/// The pods that want a volume, by their nodes: first those that run with it.
fn wanted(volume: PersistentVolumeId, store: &Store) -> Vec<(NodeId, Vec<PodId>)> {
    let claim = store.volumes.volume(volume).and_then(|object| object.claim);
    let Some((namespace, name)) = claim.filter(|c| store.volumes.volume_of(c.0, c.1) == Some(volume)) else {
        return Vec::new();
    };
    let users = store.volumes.pods_using(namespace, name).iter();
    let mut users: Vec<(bool, SimTime, PodId, NodeId)> = users
        .filter_map(|&id| {
            let pod = store.pod(id).filter(|pod| !pod.phase.is_terminal())?;
            Some((pod.phase != PodPhase::Running, pod.created_at, id, pod.node?))
        })
        .collect();
    users.sort_unstable();
    let mut nodes: Vec<(NodeId, Vec<PodId>)> = Vec::new();
    for (.., id, node) in users {
        match nodes.iter_mut().find(|(other, _)| *other == node) {
            Some((_, pods)) => pods.push(id),
            None => nodes.push((node, vec![id])),
        }
    }
    nodes
}

impl AttachDetach {
    /// Whether something is being done with the volume that keeps it from being moved.
    fn is_busy(&self, volume: PersistentVolumeId, node: NodeId, is_shared: bool) -> bool {
        if is_shared {
            return self.operations.contains(&(volume, node));
        }
        self.operations.range((volume, NodeId::MIN)..).next().is_some_and(|(of, _)| *of == volume)
    }

    /// One pass of the reconciler over one volume: detaches first.
    fn look(&mut self, volume: PersistentVolumeId, ctx: &mut Ctx<'_, Self>) {
        let wanted = wanted(volume, ctx.store);
        let is_wanted = |node: NodeId| wanted.iter().any(|(other, _)| *other == node);
        self.warned.retain(|(of, node)| *of != volume || is_wanted(*node));
        let is_shared = ctx.store.volumes.volume(volume).is_some_and(|object| object.spec.is_shared());
        let places: Vec<_> = ctx.store.volumes.attachments_of(volume).collect();
        for (node, attachment) in places {
            if is_wanted(node) {
                if let Some((_, Some(ticket))) = self.unwanted.remove(&(volume, node)) {
                    ctx.cancel(ticket);
                }
            } else if attachment.phase == Some(AttachmentPhase::Attached) && !self.is_busy(volume, node, is_shared) {
                self.detach(volume, node, attachment.in_use, ctx);
            }
        }
        if !ctx.store.volumes.is_attachable(volume) {
            return;
        }
        for (node, pods) in wanted {
            let is_there = ctx.store.volumes.attachment(volume, node).phase.is_some();
            if is_there || self.is_busy(volume, node, is_shared) || ctx.store.node(node).is_none() {
                continue;
            }
            let mut others = ctx.store.volumes.attachments_of(volume).filter(|(_, other)| other.phase.is_some());
            match others.next() {
                Some(_) if !is_shared => self.warn_of_multi_attach(volume, node, &pods, ctx),
                _ => self.begin(volume, node, AttachmentPhase::Attaching, ctx),
            }
        }
    }

    /// # Source
    /// Attach/detach controller, `reconcile`: a volume that is still in use stays, unless the node is out of service, or is
    /// not ready and has had six minutes.
    fn detach(&mut self, volume: PersistentVolumeId, node: NodeId, in_use: bool, ctx: &mut Ctx<'_, Self>) {
        let (since, ticket) = self.unwanted.entry((volume, node)).or_insert((ctx.now, None));
        let object = ctx.store.node(node);
        let is_healthy = object.is_some_and(|object| object.conditions.ready() == Some(Status::True));
        let is_out_of_service = object.is_some_and(|object| {
            object.taints.iter().any(|taint| taint.key == sym!("node.kubernetes.io/out-of-service"))
        });
        let is_expired = ctx.now.saturating_since(*since) > UNMOUNT_MAX;
        let is_forced =
            is_expired && !is_healthy && !ctx.config.kube_controller_manager.disable_force_detach_on_timeout;
        if in_use && !is_forced && !is_out_of_service {
            if !is_expired && ticket.is_none() {
                *ticket = Some(ctx.arm(*since + UNMOUNT_MAX + LOOP, Timer::Expired(volume, node)));
            }
            return;
        }
        if let Some(ticket) = ticket.take() {
            ctx.cancel(ticket);
        }
        self.begin(volume, node, AttachmentPhase::Detaching, ctx);
    }

    fn begin(&mut self, volume: PersistentVolumeId, node: NodeId, phase: AttachmentPhase, ctx: &mut Ctx<'_, Self>) {
        self.operations.insert((volume, node));
        write(volume, node, Some(phase), ctx);
    }

    /// Warns pods, once, that their volume is attached elsewhere.
    fn warn_of_multi_attach(
        &mut self,
        volume: PersistentVolumeId,
        node: NodeId,
        pods: &[PodId],
        ctx: &mut Ctx<'_, Self>,
    ) {
        if !self.warned.insert((volume, node)) {
            return;
        }
        let Some(name) = ctx.store.volumes.volume(volume).map(|object| object.meta.name) else { return };
        let others = ctx.store.volumes.attachments_of(volume).filter(|(_, other)| other.phase.is_some());
        let others: Vec<NodeId> = others.map(|(other, _)| other).filter(|other| *other != node).collect();
        let users = wanted(volume, ctx.store).into_iter().filter(|(other, _)| others.contains(other));
        let users: Vec<&str> =
            users.flat_map(|(_, pods)| pods).filter_map(|id| Some(&*ctx.store.pod(id)?.name)).collect();
        let why = if users.is_empty() {
            "Volume is already exclusively attached to one node and can't be attached to another".to_owned()
        } else {
            format!("Volume is already used by pod(s) {}", users.join(", "))
        };
        for pod in pods.iter().filter_map(|id| ctx.store.pod(*id)) {
            let message = format!("Multi-Attach error for volume \"{name}\" {why}");
            ctx.event(EventDraft::warning("FailedAttachVolume", ObjectRef::pod(pod), message).on(node));
        }
    }

    /// The attacher has been asked: it takes its time.
    fn operate(&mut self, volume: PersistentVolumeId, node: NodeId, phase: AttachmentPhase, ctx: &mut Ctx<'_, Self>) {
        self.operations.insert((volume, node));
        let name = ctx.store.volumes.volume(volume).map_or(Symbol::empty(), |object| object.meta.name);
        let entity = format!("{name}/{}", ctx.store.node_name(node));
        let begun = self.begun.entry(volume).or_insert(0);
        *begun += 1;
        let latency = &ctx.config.latency;
        let (latency, concern, timer) = match phase {
            AttachmentPhase::Detaching => (&latency.volume_detach, "volume-detach", Timer::Detached(volume, node)),
            _ => (&latency.volume_attach, "volume-attach", Timer::Attached(volume, node)),
        };
        let takes = Latencies::draw(latency, ctx.streams, concern, &entity, *begun);
        ctx.arm_in(takes, timer);
    }

    fn look_at_pod(&mut self, pod: &Pod, ctx: &mut Ctx<'_, Self>) {
        for claim in pod.claims() {
            if let Some(volume) = ctx.store.volumes.volume_of(pod.namespace, claim.name) {
                self.look(volume, ctx);
            }
        }
    }

    fn look_at_node(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let volumes: Vec<_> = ctx.store.volumes.attachments_on(node).map(|(volume, _)| volume).collect();
        for volume in volumes {
            self.look(volume, ctx);
        }
    }
}

fn write(volume: PersistentVolumeId, node: NodeId, phase: Option<AttachmentPhase>, ctx: &mut Ctx<'_, AttachDetach>) {
    ctx.call(Request::SetAttachment { volume, node, phase }, Tag { volume, node, phase });
}

impl Component for AttachDetach {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "attachdetach-controller";
    const PROGRAM: Program = Program::ControlPlane(ControlPlaneProcess::KubeControllerManager);
    const CONTROLLERS: &'static [&'static str] = &["persistentvolume-attach-detach-controller"];

    fn words(timer: &Timer, store: &Store) -> String {
        match *timer {
            Timer::Expired(volume, node) => {
                format!("the wait for {} on {} is over", volume_name(volume, store), node_name(store, node))
            }
            Timer::Attached(volume, node) => {
                format!("{} is attached to {}", volume_name(volume, store), node_name(store, node))
            }
            Timer::Detached(volume, node) => {
                format!("{} is detached from {}", volume_name(volume, store), node_name(store, node))
            }
        }
    }

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![config.controller_client()]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::PodUpdated { delta, .. } => delta.touches(PodDelta::NODE | PodDelta::PHASE),
            Changed::NodeUpdated { delta, .. } => delta.touches(NodeDelta::CONDITIONS | NodeDelta::TAINTS),
            Changed::PodAdded(_)
            | Changed::PodRemoved { .. }
            | Changed::NodeAdded(_)
            | Changed::NodeRemoved { .. }
            | Changed::ClaimChanged(_)
            | Changed::ClaimRemoved(_)
            | Changed::VolumeRemoved(_)
            | Changed::AttachmentChanged { .. } => true,
            _ => false,
        }
    }

    /// What the attacher was about to do before t=0, or before the process stopped, it does.
    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let volumes: Vec<PersistentVolumeId> = ctx.store.volumes.volumes().map(|(id, _)| id).collect();
        for volume in volumes {
            let places: Vec<_> = ctx.store.volumes.attachments_of(volume).collect();
            for (node, attachment) in places {
                match attachment.phase {
                    Some(phase @ (AttachmentPhase::Attaching | AttachmentPhase::Detaching)) => {
                        self.operate(volume, node, phase, ctx);
                    }
                    Some(AttachmentPhase::Attached) | None => {}
                }
            }
            self.look(volume, ctx);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match &change.what {
            Changed::PodAdded(id) | Changed::PodUpdated { pod: id, .. } => {
                if let Some(pod) = ctx.store.pod(*id) {
                    self.look_at_pod(pod, ctx);
                }
            }
            Changed::PodRemoved { last, .. } => self.look_at_pod(last, ctx),
            Changed::NodeAdded(node) | Changed::NodeUpdated { node, .. } | Changed::NodeRemoved { node, .. } => {
                self.look_at_node(*node, ctx);
            }
            Changed::ClaimChanged(id) => {
                let name = ctx.store.volumes.claim(*id).and_then(|claim| claim.volume);
                if let Some(volume) = name.and_then(|name| ctx.store.volumes.find_volume(name)) {
                    self.look(volume, ctx);
                }
            }
            Changed::ClaimRemoved(claim) => {
                if let Some(volume) = claim.volume.and_then(|name| ctx.store.volumes.find_volume(name)) {
                    self.look(volume, ctx);
                }
            }
            Changed::VolumeRemoved(volume) | Changed::AttachmentChanged { volume, .. } => self.look(*volume, ctx),
            _ => {}
        }
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Expired(volume, node) => {
                if let Some((_, ticket)) = self.unwanted.get_mut(&(volume, node)) {
                    *ticket = None;
                }
                self.look(volume, ctx);
            }
            Timer::Attached(volume, node) => write(volume, node, Some(AttachmentPhase::Attached), ctx),
            Timer::Detached(volume, node) => write(volume, node, None, ctx),
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Tag { volume, node, phase } = tag;
        if answer.is_err() {
            let again = match phase {
                Some(AttachmentPhase::Attaching | AttachmentPhase::Detaching) => {
                    self.operations.remove(&(volume, node));
                    Timer::Expired(volume, node)
                }
                Some(AttachmentPhase::Attached) => Timer::Attached(volume, node),
                None => Timer::Detached(volume, node),
            };
            ctx.arm_in(RETRY, again);
            return;
        }
        match phase {
            Some(phase @ (AttachmentPhase::Attaching | AttachmentPhase::Detaching)) => {
                self.operate(volume, node, phase, ctx);
            }
            Some(AttachmentPhase::Attached) => {
                self.operations.remove(&(volume, node));
                let Some(name) = ctx.store.volumes.volume(volume).map(|object| object.meta.name) else { return };
                let here = wanted(volume, ctx.store).into_iter().filter(|(on, _)| *on == node);
                for pod in here.flat_map(|(_, pods)| pods).filter_map(|id| ctx.store.pod(id)) {
                    let message = format!("AttachVolume.Attach succeeded for volume \"{name}\" ");
                    ctx.event(EventDraft::normal("SuccessfulAttachVolume", ObjectRef::pod(pod), message).on(node));
                }
                self.look(volume, ctx);
            }
            None => {
                self.operations.remove(&(volume, node));
                self.unwanted.remove(&(volume, node));
                self.look(volume, ctx);
            }
        }
    }
}
