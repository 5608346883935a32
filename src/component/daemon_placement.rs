//! Whether a node should run the pod of a DaemonSet.

use std::sync::LazyLock;

use crate::arena::Symbol;
use crate::model::{Taint, TaintEffect, Toleration, TolerationOperator};
use crate::state::{DaemonSet, Node};

/// The verdict on one node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DaemonPlacement {
    /// A pod should be created if there is none.
    pub should_run: bool,
    /// A pod that is there may stay.
    pub should_continue: bool,
}

impl DaemonPlacement {
    /// The verdict on a node of that name.
    ///
    /// # Source
    /// daemonset-controller, `NodeShouldRunDaemonPod`: node name, selector and required affinity, then taints; nothing else.
    #[must_use]
    pub fn of(set: &DaemonSet, name: Symbol, node: &Node) -> Self {
        let no = Self { should_run: false, should_continue: false };
        let spec = &set.spec.template.spec;
        if spec.node_name.is_some_and(|wanted| wanted != name) || !spec.allows_node(&node.labels, name) {
            return no;
        }
        let automatic = automatic_tolerations(spec.host_network);
        let tolerated = |taint: &Taint| spec.tolerations.iter().chain(automatic).any(|t| t.tolerates(taint));
        let untolerated = |effects: &[TaintEffect]| {
            node.taints
                .iter()
                .filter(|t| effects.contains(&t.effect))
                .any(|t| !tolerated(&Taint::new(t.key, t.value, t.effect)))
        };
        if untolerated(&[TaintEffect::NoSchedule, TaintEffect::NoExecute]) {
            return Self { should_run: false, should_continue: !untolerated(&[TaintEffect::NoExecute]) };
        }
        Self { should_run: true, should_continue: true }
    }
}

/// What every daemon pod tolerates.
///
/// # Source
/// daemonset-controller, `AddOrUpdateDaemonPodTolerations`.
#[must_use]
pub fn automatic_tolerations(host_network: bool) -> &'static [Toleration] {
    // The last one is for pods in the host's network alone.
    let count = AUTOMATIC.len() - usize::from(!host_network);
    &AUTOMATIC[..count]
}

static AUTOMATIC: LazyLock<[Toleration; 7]> = LazyLock::new(|| {
    let toleration = |key: &str, effect| Toleration {
        key: Symbol::new(key),
        operator: Some(TolerationOperator::Exists),
        value: Symbol::empty(),
        effect: Some(effect),
        toleration_seconds: None,
    };
    [
        toleration("node.kubernetes.io/not-ready", TaintEffect::NoExecute),
        toleration("node.kubernetes.io/unreachable", TaintEffect::NoExecute),
        toleration("node.kubernetes.io/disk-pressure", TaintEffect::NoSchedule),
        toleration("node.kubernetes.io/memory-pressure", TaintEffect::NoSchedule),
        toleration("node.kubernetes.io/pid-pressure", TaintEffect::NoSchedule),
        toleration("node.kubernetes.io/unschedulable", TaintEffect::NoSchedule),
        toleration("node.kubernetes.io/network-unavailable", TaintEffect::NoSchedule),
    ]
});
