//! What must hold of the passes, which are only played when there is something to find out: none that was left out would have found a
//! node whose grace is over.

use super::NodeLifecycle;
use super::health::probe;
use crate::component::Config;
use crate::state::{NodeId, Status, Store};
use crate::units::{SimDuration, SimTime};

impl NodeLifecycle {
    /// Looks at every node as the last pass would have: none but those that a later pass looks at again (`dirty`, `retry`), or of which
    /// something is yet to be delivered (`is_late`), may have been silent for longer than it may be.
    ///
    /// # Errors
    ///
    /// If one has: which.
    ///
    /// # Source
    /// Node lifecycle controller, `monitorNodeHealth`: every pass looks at every node.
    pub fn audit(
        &self,
        store: &Store,
        config: &Config,
        is_late: &impl Fn(NodeId) -> bool,
        now: SimTime,
    ) -> Result<(), String> {
        if self.clock.is_running() || !self.is_synced {
            return Ok(());
        }
        let (_, pass) = self.clock.latest(now - SimDuration::from_nanos(1));
        for (node, object) in store.nodes() {
            let ready = object.conditions.ready();
            let Some(health) = self.health.get(&node).filter(|health| health.ready == ready && !health.is_another)
            else {
                continue;
            };
            let is_due_again = self.dirty.contains(&node) || self.retry.contains(&node);
            if ready == Some(Status::Unknown) || is_due_again || is_late(node) {
                continue;
            }
            let heartbeat = store.heartbeat(node);
            let floor = health.floor.max(self.probe_floor);
            let Some(heard) = probe(&self.clock, heartbeat, self.is_heard(node, heartbeat), floor, now) else {
                continue;
            };
            let due = heard + Self::grace(ready.is_some(), config);
            if due < pass {
                let name = store.node_name(node);
                return Err(format!(
                    "the pass at {pass} s of the node lifecycle controller overlooked node/{name}, whose silence was too long from {due} s on"
                ));
            }
        }
        Ok(())
    }
}
