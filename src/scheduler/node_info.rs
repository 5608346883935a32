//! A node with the sums over the pods on it.

use std::sync::Arc;

use crate::arena::Symbol;
use crate::model::{HostPort, Resources, host_ports};
use crate::state::{AdmittedSpec, Node, NodeId, PodId};

/// A node as plugins see it.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeInfo {
    /// None until the node is known.
    pub(super) id: Option<NodeId>,
    pub(super) name: Symbol,
    /// Pods counted on it, in the order of the real list: whoever leaves is replaced by the last, and whoever changes leaves
    /// and comes again.
    pub(super) pods: Vec<PodId>,
    pub(super) object: Option<Arc<Node>>,
    /// Plain requests of the pods on it.
    pub(super) requested: Resources,
    /// The same with defaults for containers that name none: CPU and memory.
    pub(super) non_zero_cpu: i64,
    pub(super) non_zero_memory: i64,
    pub(super) pod_count: i64,
    pub(super) ports: Vec<HostPort>,
}

impl NodeInfo {
    /// Takes a pod off the list; the last one takes its place.
    ///
    /// # Source
    /// kube-scheduler, `removeFromSlice`. The order decides between victims of equal priority and start.
    pub(super) fn unlist(&mut self, pod: PodId) {
        if let Some(at) = self.place_of(pod) {
            self.pods.swap_remove(at);
        }
    }

    /// Takes a pod off the list, if it is there, and adds it again.
    pub(super) fn move_to_end(&mut self, pod: PodId) {
        if let Some(at) = self.place_of(pod) {
            self.pods.swap_remove(at);
            self.pods.push(pod);
        }
    }

    /// Where a pod is listed. Those that change have mostly come last.
    fn place_of(&self, pod: PodId) -> Option<usize> {
        self.pods.iter().rposition(|other| *other == pod)
    }

    /// Adds what a pod with this spec takes (1), or takes it away (-1).
    pub(super) fn change(&mut self, spec: &AdmittedSpec, sign: i64) {
        if sign > 0 {
            self.requested.add(&spec.requests);
        } else {
            self.requested.sub(&spec.requests);
        }
        let summed = |sum: i64, amount: i64| sum.saturating_add(sign * amount);
        self.non_zero_cpu = summed(self.non_zero_cpu, spec.non_zero_requests.cpu_milli);
        self.non_zero_memory = summed(self.non_zero_memory, spec.non_zero_requests.memory);
        self.pod_count += sign;
        let ports = host_ports(spec);
        if sign > 0 {
            self.ports.extend(ports);
        } else {
            for port in ports {
                if let Some(at) = self.ports.iter().position(|p| *p == port) {
                    self.ports.swap_remove(at);
                }
            }
        }
    }
}
