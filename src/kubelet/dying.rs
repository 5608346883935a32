//! Containers whose pod has left the API before they have stopped.

use std::sync::Arc;

use super::bound_pod::BoundPod;
use super::grace::{GRACE_MIN, own_grace, stop_latency};
use super::running::Running;
use super::timer::NodeTimer;
use super::worker::WorkerState;
use super::{Kubelets, settings};
use crate::component::Ctx;
use crate::state::{NodeId, PersistentVolumeId, Pod, PodId, Power};
use crate::units::{SimDuration, SimTime};

/// A pod of which nothing is left but what runs on its node.
#[derive(Clone, Debug)]
pub(super) struct Dying {
    id: PodId,
    node: NodeId,
    /// When its containers will have stopped; none before somebody has told them to.
    until: Option<SimTime>,
    running: Running,
    last: Arc<Pod>,
    volumes: Vec<PersistentVolumeId>,
}

/// How a kubelet finds out that the object of a pod is gone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Its watch shows it, at once or when it is back.
    Removal,
    /// It has just started, and containers run that belong to no pod.
    Orphans,
}

/// What is left to the containers of a pod that is gone.
///
/// # Source
/// kubelet, `HandlePodRemoves` and `calculateEffectiveGracePeriod`: what was given when it was deleted, but not nothing at all, else its own;
/// `HandlePodCleanups` and `SyncTerminatingRuntimePod`: a second, as nothing is known of the pod.
fn grace(last: &Pod, finding: Finding) -> SimDuration {
    let marked = || last.deletion.map(|deletion| deletion.grace).filter(|grace| !grace.is_zero());
    match finding {
        Finding::Removal => marked().unwrap_or_else(|| own_grace(last)),
        Finding::Orphans => GRACE_MIN,
    }
}

impl Kubelets {
    /// The object of a pod is gone: what runs is stopped as if the pod had been deleted with its own grace, as soon as its kubelet sees that, and
    /// keeps its volumes until then. False if nothing runs.
    ///
    /// # Source
    /// kubelet, `HandlePodRemoves`; the volume manager keeps what a runtime still uses.
    pub(super) fn dies(&mut self, id: PodId, last: &Arc<Pod>, ctx: &mut Ctx<'_, Self>) -> bool {
        let Some(node) = last.node else { return false };
        let is_up = ctx.store.machine(node).power == Power::On && !self.fresh_boots.contains_key(&node);
        if last.is_mirror || !is_up || self.links.is_stand_in(node, ctx) {
            return false;
        }
        let stopping = match self.workers.get(&id).map(|worker| &worker.state) {
            Some(WorkerState::Terminating { stop: Some((_, at)), .. }) => Some(*at),
            _ => None,
        };
        let running = self.running(BoundPod { id, node, object: last }, ctx);
        if stopping.is_none() && !running.is_any() {
            return false;
        }
        let volumes = super::volumes::attachable(last, ctx.store).into_iter().map(|(volume, _)| volume).collect();
        let mut dying = Dying { id, node, until: stopping, running, last: Arc::clone(last), volumes };
        if let Some(until) = stopping {
            NodeTimer::Died.arm(node, until, ctx);
        } else if self.links.show_pods(node, ctx) {
            self.kill(&mut dying, Finding::Removal, ctx);
        }
        self.dying.entry(node).or_default().push(dying);
        true
    }

    fn kill(&self, dying: &mut Dying, finding: Finding, ctx: &mut Ctx<'_, Self>) {
        let Dying { id, node, running, last, .. } = &*dying;
        self.killing_events(BoundPod { id: *id, node: *node, object: last }, running, ctx);
        let until = ctx.now + stop_latency(last, running, grace(last, finding), ctx);
        NodeTimer::Died.arm(*node, until, ctx);
        dying.until = Some(until);
    }

    /// The node's kubelet finds out which pods are gone: what it has not stopped of them, it stops.
    pub(super) fn kills_the_dying(&mut self, node: NodeId, finding: Finding, ctx: &mut Ctx<'_, Self>) {
        let Some(mut all) = self.dying.remove(&node) else { return };
        for dying in all.iter_mut().filter(|dying| dying.until.is_none()) {
            self.kill(dying, finding, ctx);
        }
        self.dying.insert(node, all);
        self.died(node, ctx);
    }

    /// The node's kubelet process is gone: what it was about to stop goes on, unless it has had its signal.
    pub(super) fn nobody_stops_the_dying(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        for dying in self.dying.get_mut(&node).into_iter().flatten() {
            let has_signal = |until: &SimTime| ctx.now + settings::exit_latency(&dying.last, ctx) >= *until;
            dying.until = dying.until.filter(has_signal);
        }
    }

    /// The machine is down: nothing is left of them.
    pub(super) fn the_dying_are_gone(&mut self, node: NodeId) {
        self.dying.remove(&node);
    }

    /// Containers of pods that are gone have stopped.
    pub(super) fn died(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(node).kubelet_alive() {
            // Whoever takes up its pods sees it.
            return;
        }
        let is_over = |dying: &mut Dying| dying.until.is_some_and(|until| until <= ctx.now);
        let Some(all) = self.dying.get_mut(&node) else { return };
        let over: Vec<Dying> = all.extract_if(.., is_over).collect();
        if all.is_empty() {
            self.dying.remove(&node);
        }
        for Dying { last, .. } in over {
            self.unmount(&last, ctx);
        }
    }

    /// Whether containers use the volume on that node whose pod is gone.
    pub(super) fn is_held_by_the_dying(&self, volume: PersistentVolumeId, node: NodeId) -> bool {
        self.dying.get(&node).is_some_and(|all| all.iter().any(|dying| dying.volumes.contains(&volume)))
    }
}
