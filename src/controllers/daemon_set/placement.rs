//! Which nodes should run a daemon pod, remembered.

use std::collections::BTreeMap;

use crate::arena::{ChangeLog, Column};
use crate::component::DaemonPlacement;
use crate::state::{DaemonSet, DaemonSetId, NodeId, NodeSlot, Store};

/// Verdicts by set and node, kept until the node's labels or taints or the set's template change.
#[derive(Clone, Debug, Default)]
pub(super) struct Placements {
    by_set: BTreeMap<DaemonSetId, Column<NodeSlot, Option<DaemonPlacement>>>,
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

    pub(super) fn of(
        &mut self,
        id: DaemonSetId,
        set: &DaemonSet,
        node: NodeId,
        store: &Store,
    ) -> Option<DaemonPlacement> {
        let object = store.node(node)?;
        let verdict = self.by_set.entry(id).or_default().get_mut(node);
        Some(*verdict.get_or_insert_with(|| DaemonPlacement::of(set, store.node_name(node), object)))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::arena::Symbol;
    use crate::model::{DaemonSetSpec, TaintEffect};
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
        let placement = DaemonPlacement::of(&set(template_spec), Symbol::new("n"), bench.node("n"));
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
