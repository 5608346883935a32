//! Faults that overlap on one machine: each condition counts its causes.

use rustc_hash::FxHashMap;

use crate::state::{ControlPlaneProcess, NodeId};

/// What a fault takes away from a machine.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Loss {
    /// Power.
    Power,
    /// The link to the control plane.
    Link,
    /// The kubelet process.
    Kubelet,
    /// Renewals in time.
    Punctuality,
    /// A condition the kubelet observes.
    Condition(crate::state::NodeConditionKind),
}

/// How many faults cause each loss of each machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Nesting {
    causes: FxHashMap<(NodeId, Loss), u32>,
    outages: FxHashMap<ControlPlaneProcess, u32>,
}

impl Nesting {
    /// One more cause; true if it is the first.
    pub(super) fn begin(&mut self, node: NodeId, loss: Loss) -> bool {
        let causes = self.causes.entry((node, loss)).or_insert(0);
        *causes += 1;
        *causes == 1
    }

    /// One cause less; true if it was the last.
    pub(super) fn end(&mut self, node: NodeId, loss: Loss) -> bool {
        match self.causes.get_mut(&(node, loss)) {
            Some(causes) if *causes > 1 => {
                *causes -= 1;
                false
            }
            Some(_) => {
                self.causes.remove(&(node, loss));
                true
            }
            None => false,
        }
    }

    /// Whether some fault causes the loss.
    pub(super) fn holds(&self, node: NodeId, loss: Loss) -> bool {
        self.causes.contains_key(&(node, loss))
    }

    /// One more outage of a process; true if it is the first.
    pub(super) fn begin_outage(&mut self, process: ControlPlaneProcess) -> bool {
        let causes = self.outages.entry(process).or_insert(0);
        *causes += 1;
        *causes == 1
    }

    /// One outage less; true if it was the last.
    pub(super) fn end_outage(&mut self, process: ControlPlaneProcess) -> bool {
        let causes = self.outages.entry(process).or_insert(0);
        let was_down = *causes > 0;
        *causes = causes.saturating_sub(1);
        was_down && *causes == 0
    }

    /// The machine is replaced: nothing of it is broken any more.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.causes.retain(|(other, _), _| *other != node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Store;

    #[test]
    fn a_machine_hit_twice_is_whole_when_both_are_over() {
        let node = Store::default().node_slot("n".into());
        let mut nesting = Nesting::default();
        assert!(nesting.begin(node, Loss::Power));
        assert!(!nesting.begin(node, Loss::Power));
        assert!(!nesting.end(node, Loss::Power));
        assert!(nesting.end(node, Loss::Power));
        assert!(!nesting.end(node, Loss::Power));
    }

    #[test]
    fn losses_of_different_kinds_do_not_nest() {
        let node = Store::default().node_slot("n".into());
        let mut nesting = Nesting::default();
        assert!(nesting.begin(node, Loss::Power));
        assert!(nesting.begin(node, Loss::Link));
        assert!(nesting.end(node, Loss::Power));
        assert!(nesting.holds(node, Loss::Link));
    }

    #[test]
    fn a_process_that_is_down_twice_runs_when_both_outages_are_over() {
        let mut nesting = Nesting::default();
        let process = ControlPlaneProcess::KubeScheduler;
        assert!(nesting.begin_outage(process));
        assert!(!nesting.begin_outage(process));
        assert!(!nesting.end_outage(process));
        assert!(nesting.end_outage(process));
        assert!(!nesting.end_outage(process));
    }
}
