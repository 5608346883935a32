//! Containers whose pod has left the API before they have stopped.

use std::sync::Arc;

use super::Kubelets;
use super::bound_pod::BoundPod;
use super::grace::{own_grace, stop_latency};
use super::timer::{NodeTimer, Timer};
use super::worker::WorkerState;
use crate::component::Ctx;
use crate::state::{NodeId, PersistentVolumeId, Pod, PodId};
use crate::units::SimTime;

/// A pod of which nothing is left but what runs on its node.
#[derive(Clone, Debug)]
pub(super) struct Dying {
    node: NodeId,
    /// When its containers will have stopped.
    until: SimTime,
    last: Arc<Pod>,
    volumes: Vec<PersistentVolumeId>,
}

impl Kubelets {
    /// The object of a pod is gone, and its kubelet sees it: what runs is stopped as if the pod had been deleted with its own grace, and keeps
    /// its volumes until then. False if nothing runs, or nobody sees it.
    ///
    /// # Source
    /// kubelet, `HandlePodRemoves` and `calculateEffectiveGracePeriod`; the volume manager keeps what a runtime still uses.
    pub(super) fn dies(&mut self, id: PodId, last: &Arc<Pod>, ctx: &mut Ctx<'_, Self>) -> bool {
        let Some(node) = last.node else { return false };
        if last.is_mirror || !self.links.show_pods(node, ctx) || self.links.is_stand_in(node, ctx) {
            return false;
        }
        let until = match self.workers.get(&id).map(|worker| &worker.state) {
            Some(WorkerState::Terminating { stop: Some((_, at)), .. }) => *at,
            _ => {
                let pod = BoundPod { id, node, object: last };
                let running = self.running(pod, ctx);
                if !running.is_any() {
                    return false;
                }
                let marked = last.deletion.map(|deletion| deletion.grace).filter(|grace| !grace.is_zero());
                self.killing_events(pod, &running, ctx);
                ctx.now + stop_latency(last, &running, marked.unwrap_or_else(|| own_grace(last)), ctx)
            }
        };
        let volumes = super::volumes::attachable(last, ctx.store).into_iter().map(|(volume, _)| volume).collect();
        ctx.arm(until, Timer::Node(node, NodeTimer::Died));
        self.dying.push(Dying { node, until, last: Arc::clone(last), volumes });
        true
    }

    /// Containers of pods that are gone have stopped.
    pub(super) fn died(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let now = ctx.now;
        let over: Vec<Dying> = self.dying.extract_if(.., |dying| dying.node == node && dying.until <= now).collect();
        for Dying { last, .. } in over {
            self.unmount(&last, ctx);
        }
    }

    /// Whether containers use the volume on that node whose pod is gone.
    pub(super) fn is_held_by_the_dying(&self, volume: PersistentVolumeId, node: NodeId) -> bool {
        self.dying.iter().any(|dying| dying.node == node && dying.volumes.contains(&volume))
    }
}
