//! TaintToleration: taints keep pods out (NoSchedule, NoExecute) or discourage them (PreferNoSchedule).

use crate::model::{Taint, TaintEffect};
use crate::scheduler::cache::NodeInfo;
use crate::scheduler::framework::{self, ClusterEvent, Cycle, Plugin, Rejection};
use crate::state::{Node, NodeDelta, NodeId, Pod, TaintOnNode};

pub(in crate::scheduler) struct TaintToleration;

fn plain(taint: &TaintOnNode) -> Taint {
    Taint::new(taint.key, taint.value, taint.effect)
}

/// The first taint that keeps the pod out.
fn untolerated(pod: &Pod, node: &Node) -> Option<Taint> {
    let bars = |t: &&TaintOnNode| matches!(t.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
    let taints = node.taints.iter().filter(bars).map(plain);
    taints.into_iter().find(|taint| !pod.spec.tolerations.iter().any(|t| t.tolerates(taint)))
}

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        "TaintToleration"
    }

    fn filter(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
        let taint = untolerated(cycle.pod, node.object.as_ref()?)?;
        let reason = if cycle.version.at_least(34) {
            "node(s) had untolerated taint(s)".to_owned()
        } else {
            format!("node(s) had untolerated taint {{{}: {}}}", taint.key, taint.value)
        };
        Some(Rejection { plugin: self.name(), reasons: vec![reason], is_unresolvable: true })
    }

    fn score(&self, cycle: &Cycle<'_>, node: &NodeInfo) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let tolerates = |taint: &Taint| {
            let tolerations = cycle.spec.tolerations.iter();
            tolerations
                .filter(|t| t.effect.is_none_or(|e| e == TaintEffect::PreferNoSchedule))
                .any(|t| t.tolerates(taint))
        };
        let discouraging = object.taints.iter().filter(|t| t.effect == TaintEffect::PreferNoSchedule).map(plain);
        discouraging.filter(|taint| !tolerates(taint)).count() as i64
    }

    fn normalize(&self, _cycle: &Cycle<'_>, _feasible: &[NodeId], scores: &mut [i64]) {
        framework::normalize(scores, true);
    }

    fn hint(&self, pod: &Pod, event: &ClusterEvent<'_>, node: Option<&NodeInfo>) -> bool {
        let is_fine = node.and_then(|n| n.object.as_ref()).is_some_and(|n| untolerated(pod, n).is_none());
        match event {
            ClusterEvent::NodeAdded(_) => is_fine,
            ClusterEvent::NodeUpdated { delta, before, .. } => {
                delta.touches(NodeDelta::TAINTS) && is_fine && untolerated(pod, before).is_some()
            }
            ClusterEvent::PodAdded | ClusterEvent::PodRemoved => false,
        }
    }
}
