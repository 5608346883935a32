//! Images: what is on a node, and what is on its way.

use rustc_hash::{FxHashMap, FxHashSet};

use super::settings;
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::engine::Distribution;
use crate::state::{NodeId, Pod};
use crate::units::{SimDuration, SimTime};

use super::Kubelets;

/// Pulls in this run.
#[derive(Clone, Debug, Default)]
pub(super) struct Images {
    /// When an image is there, besides those the Node object lists.
    there_at: FxHashMap<(NodeId, Symbol), SimTime>,
    /// When each of the node's pullers is free; one if pulls are serial.
    free_at: FxHashMap<NodeId, Vec<SimTime>>,
    /// Images that the Node object lists and the kubelet has deleted.
    deleted: FxHashSet<(NodeId, Symbol)>,
}

impl Images {
    /// When all images of a pod are on its node; what is missing is pulled, one image after the other.
    ///
    /// # Source
    /// kubelet, image manager: pulls are serial unless `maxParallelImagePulls` or `serializeImagePulls: false` says
    /// otherwise; a pod whose image is on its way waits for it.
    ///
    /// # Differs
    /// Every pull succeeds; `imagePullPolicy: Always` costs nothing for an image that is there.
    pub(super) fn ready_at(&mut self, pod: &Pod, on: NodeId, ctx: &Ctx<'_, Kubelets>) -> SimTime {
        let latency = &ctx.config.latency.image_pull;
        if *latency == Distribution::Constant(SimDuration::ZERO) {
            return ctx.now;
        }
        let listed = ctx.store.node(on).map(|node| &node.images);
        let mut at = ctx.now;
        for (index, container) in pod.spec.init_containers.iter().chain(&pod.spec.containers).enumerate() {
            let image = container.image;
            let is_there = |names: &[Symbol]| names.contains(&image) && self.is_listed(on, names);
            if listed.is_some_and(|images| images.iter().any(|(names, _)| is_there(names))) {
                continue;
            }
            let known = self.there_at.get(&(on, image)).copied();
            let there_at = known.unwrap_or_else(|| {
                let takes = settings::pull_latency(pod, index, ctx);
                let done = self.pull(on, at, takes, ctx.config.kubelet.parallel_image_pulls_max);
                self.there_at.insert((on, image), done);
                done
            });
            at = at.max(there_at);
        }
        at
    }

    /// Whether an image that the Node object lists under these names is still on the node.
    pub(super) fn is_listed(&self, node: NodeId, names: &[Symbol]) -> bool {
        names.first().is_none_or(|name| !self.deleted.contains(&(node, *name)))
    }

    /// When a pull ends that is asked for at `at`.
    fn pull(&mut self, on: NodeId, at: SimTime, takes: SimDuration, limit: Option<i32>) -> SimTime {
        let Some(limit) = limit else { return at + takes };
        let pullers = self.free_at.entry(on).or_default();
        if pullers.len() < limit.max(1) as usize {
            pullers.push(at + takes);
            return at + takes;
        }
        let Some(first) = pullers.iter_mut().min() else { return at + takes };
        *first = (*first).max(at) + takes;
        *first
    }

    /// The machine went down: pulls under way are lost.
    pub(super) fn lost_power(&mut self, node: NodeId, now: SimTime) {
        self.free_at.remove(&node);
        self.there_at.retain(|(on, _), at| *on != node || *at <= now);
    }
}

impl Kubelets {
    /// Deletes the images of the node that no pod there needs.
    ///
    /// # Source
    /// kubelet, `DeleteUnusedImages`.
    ///
    /// # Differs
    /// The Node object goes on listing them.
    pub(super) fn delete_unused_images(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        let Some(object) = ctx.store.node(node) else { return };
        let pods = || ctx.store.pods_on(node).iter().filter_map(|pod| ctx.store.pod(*pod));
        let is_used = |names: &[Symbol]| {
            pods().filter(|pod| !pod.phase.is_terminal()).any(|pod| {
                let mut containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
                containers.any(|container| names.contains(&container.image))
            })
        };
        for (names, _) in object.images.iter().filter(|(names, _)| !is_used(names)) {
            if let Some(name) = names.first() {
                self.images.deleted.insert((node, *name));
            }
        }
        self.images.there_at.retain(|(on, image), _| *on != node || is_used(&[*image]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Store;

    /// Three pulls of ten seconds asked for at once.
    fn check(limit: Option<i32>, expected_s: [i64; 3]) {
        let node = Store::default().node_slot(Symbol::new("n"));
        let mut images = Images::default();
        let ends = [(); 3].map(|()| images.pull(node, SimTime::ZERO, SimDuration::from_secs(10), limit));
        assert_eq!(ends, expected_s.map(SimTime::from_secs), "{limit:?}");
    }

    #[test]
    fn pulls_wait_for_a_free_puller() {
        check(Some(1), [10, 20, 30]);
        check(Some(2), [10, 10, 20]);
        check(None, [10, 10, 10]);
    }
}
