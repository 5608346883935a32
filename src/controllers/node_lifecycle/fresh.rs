//! What a process that begins anew does with what it finds: all its loops begin when its caches are filled.

use super::NodeLifecycle;
use crate::component::Ctx;
use crate::state::PodId;

impl NodeLifecycle {
    /// The first pass has found out how all zones are, and is about to act on it. The tainting loop begins at the same instant, and is often
    /// there in between: then one node gets its taint even though no zone has a healthy one.
    ///
    /// # Source
    /// Node lifecycle controller, `Run`: the loops are goroutines of their own.
    pub(super) fn race_to_taint(&mut self, ctx: &mut Ctx<'_, Self>) {
        let chance = ctx.streams.at("node-tainter-race", "", ctx.now.as_nanos().unsigned_abs()).unit();
        if self.is_first_pass && chance < 0.5 {
            self.tick(ctx);
        }
    }

    /// The first pass is over. Every pod that is bound is news: those that are Ready on nodes that are not are marked, also where a
    /// kubelet has said itself that its node is not ready.
    ///
    /// # Source
    /// Node lifecycle controller, `podUpdated` and `processPod`.
    pub(super) fn see_all_pods(&mut self, ctx: &mut Ctx<'_, Self>) {
        if !std::mem::take(&mut self.is_first_pass) {
            return;
        }
        let store = ctx.store;
        let down = self.health.keys().filter(|node| self.is_known_down(**node));
        let mut pods: Vec<PodId> = down.flat_map(|node| store.pods_on(*node).iter().copied()).collect();
        // A list comes in the order of the keys.
        pods.sort_by_key(|id| store.pod(*id).map(|pod| (pod.namespace, &pod.name)));
        for pod in pods {
            self.pod_bound(pod, 0, ctx);
        }
    }
}
