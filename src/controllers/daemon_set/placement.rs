//! Which nodes should run a daemon pod.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::arena::{ChangeLog, Column, Symbol};
use crate::model::{Taint, TaintEffect, Toleration, TolerationOperator};
use crate::state::{DaemonSet, DaemonSetId, Node, NodeId, NodeSlot, Store};

/// The verdict on one node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// A pod should be created if there is none.
    pub(super) should_run: bool,
    /// A pod that is there may stay.
    pub(super) should_continue: bool,
}

/// Verdicts by set and node, kept until the node's labels or taints or the set's template change.
#[derive(Clone, Debug, Default)]
pub(super) struct Placements {
    by_set: BTreeMap<DaemonSetId, Column<NodeSlot, Option<Placement>>>,
    /// The existing nodes by name; empty when out of date.
    order: Vec<NodeId>,
    /// How often that has been out of date.
    orders: u64,
    /// How often a node has come, gone or changed.
    changes: u64,
    /// The nodes that have, or on which pods have become known.
    log: ChangeLog<NodeSlot>,
    /// How often all had when a pass over all nodes last began.
    seen: BTreeMap<DaemonSetId, u64>,
}

impl Placements {
    pub(super) fn forget(&mut self, id: DaemonSetId) {
        self.by_set.remove(&id);
        self.seen.remove(&id);
    }

    /// Whether nodes have changed since a pass of the set last began.
    pub(super) fn have_changed(&self, id: DaemonSetId) -> bool {
        self.seen.get(&id) != Some(&self.changes)
    }

    /// A pass of the set begins.
    pub(super) fn pass_begins(&mut self, id: DaemonSetId) {
        self.seen.insert(id, self.changes);
    }

    pub(super) fn node_changed(&mut self, node: NodeId) {
        self.changes += 1;
        self.look_again(node);
        for verdicts in self.by_set.values_mut() {
            *verdicts.get_mut(node) = None;
        }
    }

    pub(super) fn node_came_or_went(&mut self, node: NodeId) {
        self.node_changed(node);
        self.order.clear();
        self.orders += 1;
    }

    /// Whoever remembers what is on that node does not know it any longer.
    pub(super) fn look_again(&mut self, node: NodeId) {
        self.log.push(node);
    }

    /// The nodes that have changed, or have to be looked at again.
    pub(super) fn log(&self) -> &ChangeLog<NodeSlot> {
        &self.log
    }

    pub(super) fn of(&mut self, id: DaemonSetId, set: &DaemonSet, node: NodeId, store: &Store) -> Option<Placement> {
        let object = store.node(node)?;
        let verdict = self.by_set.entry(id).or_default().get_mut(node);
        Some(*verdict.get_or_insert_with(|| judge(set, store.node_name(node), object)))
    }

    /// The nodes that exist as far as the watch has told, by name.
    pub(super) fn order(&mut self, store: &Store) -> &[NodeId] {
        if self.order.is_empty() {
            self.order.extend(store.nodes().map(|(node, _)| node));
            self.order.sort_by_cached_key(|node| store.node_name(*node));
        }
        &self.order
    }

    /// While this is the same, so is the order of nodes.
    pub(super) fn orders(&self) -> u64 {
        self.orders
    }
}

/// # Source
/// daemonset-controller, `NodeShouldRunDaemonPod`: node name, selector and required affinity, then taints; nothing else.
pub(super) fn judge(set: &DaemonSet, name: Symbol, node: &Node) -> Placement {
    let no = Placement { should_run: false, should_continue: false };
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
        return Placement { should_run: false, should_continue: !untolerated(&[TaintEffect::NoExecute]) };
    }
    Placement { should_run: true, should_continue: true }
}

/// # Source
/// daemonset-controller, `AddOrUpdateDaemonPodTolerations`.
pub(super) fn automatic_tolerations(host_network: bool) -> &'static [Toleration] {
    // The last one is for pods in the host's network alone.
    let count = AUTOMATIC.len() - usize::from(!host_network);
    &AUTOMATIC[..count]
}

static AUTOMATIC: LazyLock<[Toleration; 7]> = LazyLock::new(|| {
    let toleration = |key: &str, effect| Toleration {
        key: Symbol::new(key),
        operator: TolerationOperator::Exists,
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::DaemonSetSpec;
    use crate::state::DaemonSetStatus;
    use crate::testing::{Lab, config, meta};

    fn set(template_spec: &str) -> DaemonSet {
        let json = format!(r#"{{"template":{{"spec":{template_spec}}}}}"#);
        let spec: DaemonSetSpec = serde_json::from_str(&json).expect("a spec");
        DaemonSet { meta: meta("ds", None), spec: Arc::new(spec), status: DaemonSetStatus::default() }
    }

    /// Taints are `key:Effect`.
    #[track_caller]
    fn check(template_spec: &str, taints: &[&str], expected: (bool, bool)) {
        let mut bench = Lab::<crate::controllers::pod_gc::PodGc>::new(config(), 0);
        bench.add_silent_node("n", "a", true);
        for taint in taints {
            let (key, effect) = taint.split_once(':').expect("key:Effect");
            let effect = match effect {
                "NoSchedule" => TaintEffect::NoSchedule,
                "NoExecute" => TaintEffect::NoExecute,
                _ => TaintEffect::PreferNoSchedule,
            };
            bench.taint("n", key, effect);
        }
        let placement = judge(&set(template_spec), Symbol::new("n"), bench.node("n"));
        assert_eq!((placement.should_run, placement.should_continue), expected, "{template_spec} {taints:?}");
    }

    #[test]
    fn node_name_and_selector_decide_before_taints() {
        check("{}", &[], (true, true));
        check(r#"{"nodeName":"other"}"#, &[], (false, false));
        check(r#"{"nodeName":"n"}"#, &[], (true, true));
        check(r#"{"nodeSelector":{"disk":"ssd"}}"#, &[], (false, false));
        check(r#"{"nodeSelector":{"topology.kubernetes.io/zone":"a"}}"#, &[], (true, true));
    }

    #[test]
    fn an_untolerated_no_schedule_taint_keeps_the_pod_but_makes_no_new_one() {
        check("{}", &["custom:NoSchedule"], (false, true));
        check("{}", &["custom:PreferNoSchedule"], (true, true));
        check("{}", &["custom:NoExecute"], (false, false));
        check(r#"{"tolerations":[{"operator":"Exists"}]}"#, &["custom:NoExecute", "x:NoSchedule"], (true, true));
    }

    #[test]
    fn automatic_tolerations_cover_pressure_and_no_execute_of_lost_nodes() {
        let pressure = |kind: &str| format!("node.kubernetes.io/{kind}-pressure:NoSchedule");
        let pressures: Vec<String> = ["disk", "memory", "pid"].into_iter().map(pressure).collect();
        check("{}", &pressures.iter().map(String::as_str).collect::<Vec<_>>(), (true, true));
        check("{}", &["node.kubernetes.io/unschedulable:NoSchedule"], (true, true));
        check("{}", &["node.kubernetes.io/not-ready:NoExecute"], (true, true));
        check("{}", &["node.kubernetes.io/not-ready:NoSchedule"], (false, true));
        check(
            "{}",
            &["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"],
            (false, true),
        );
        check("{}", &["node.kubernetes.io/network-unavailable:NoSchedule"], (false, true));
        check(r#"{"hostNetwork":true}"#, &["node.kubernetes.io/network-unavailable:NoSchedule"], (true, true));
    }
}
