//! NodeAffinity: nodeSelector and node affinity.

use serde::Deserialize;

use crate::arena::{Symbol, sym};
use crate::model::config::KubernetesVersion;
use crate::model::{Labels, NodeAffinity as Affinity, NodeSelectorOperator, NodeSelectorTerm, PreferredSchedulingTerm};
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{
    self, AnyPlugin, Incoming, LocalPlugin, Normalizer, Plugin, Point, PreFilter, Register, Spec,
};
use crate::scheduler::images::ImageStates;
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::rejection::{Rejection, Remedy};
use crate::state::{AdmittedSpec, NodeDelta, Store};

pub(in crate::scheduler) struct NodeAffinity {
    added: Option<Affinity>,
}

/// `NodeAffinityArgs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct NodeAffinityArgs {
    added_affinity: Option<Affinity>,
}

impl PluginArguments for NodeAffinityArgs {
    fn check(&self, problems: &mut Problems) {
        let mut check = |term: &NodeSelectorTerm, path: String| {
            if let Err(error) = term.check() {
                problems.unless(false, path, format_args!("hold requirements that can be met ({error})"));
            }
        };
        let Some(added) = &self.added_affinity else { return };
        let required = added.required_during_scheduling_ignored_during_execution.iter();
        for (index, term) in required.flat_map(|selector| &selector.node_selector_terms).enumerate() {
            const PATH: &str = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
            check(term, format!("{PATH}[{index}]"));
        }
        let preferred = added.preferred_during_scheduling_ignored_during_execution.iter().enumerate();
        // What weighs nothing is not looked at.
        for (index, term) in preferred.filter(|(_, term)| term.weight != 0) {
            const PATH: &str = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution";
            check(&term.preference, format!("{PATH}[{index}].preference"));
        }
    }
}

impl NodeAffinity {
    /// Whether the configuration lets the node take pods of this profile.
    fn is_let(&self, labels: &Labels, name: Symbol) -> bool {
        let required = self.added.as_ref().and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
        required.is_none_or(|selector| selector.matches(labels, name))
    }

    /// What is preferred, by the pod and by the configuration.
    fn preferred<'a>(&'a self, spec: &'a AdmittedSpec) -> impl Iterator<Item = &'a PreferredSchedulingTerm> {
        let own = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        own.into_iter().chain(&self.added).flat_map(|a| &a.preferred_during_scheduling_ignored_during_execution)
    }
}

impl Register for NodeAffinity {
    const NAME: &'static str = "NodeAffinity";
    const POINTS: &'static [Point] = &[Point::PreFilter, Point::Filter, Point::PreScore, Point::Score];
    const WEIGHT: i64 = 2;
    const SUMMARY: &'static str =
        "`nodeSelector`, node affinity, `addedAffinity`; a preferred term that cannot be read is an error of the pod";
    type Arguments = NodeAffinityArgs;

    fn make(arguments: NodeAffinityArgs, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self { added: arguments.added_affinity })
    }
}

impl LocalPlugin for NodeAffinity {
    /// # Source
    /// kube-scheduler, NodeAffinity: if every term names nodes, no other node need be looked at.
    fn pre_filter(&self, spec: Spec<'_>, store: &Store) -> PreFilter {
        if let Some(node) = spec.pinned_node {
            return PreFilter::Only(vec![node]);
        }
        let Some(selector) = spec.required_node_affinity() else { return PreFilter::Pass };
        let mut named: Vec<Symbol> = Vec::new();
        for term in &selector.node_selector_terms {
            let fields = term.match_fields.iter();
            let mut lists = fields
                .filter(|field| field.key == sym!("metadata.name") && field.operator == NodeSelectorOperator::In)
                .map(|field| &field.values);
            let Some(first) = lists.next() else { return PreFilter::Pass };
            let others: Vec<_> = lists.collect();
            named.extend(first.iter().filter(|name| others.iter().all(|list| list.contains(name))));
        }
        if selector.node_selector_terms.is_empty() {
            return PreFilter::Pass;
        }
        named.sort_unstable();
        named.dedup();
        if named.is_empty() {
            return PreFilter::Reject(Rejection::unresolvable(Self::NAME, sym!("pod affinity terms conflict")));
        }
        PreFilter::Only(named.into_iter().filter_map(|name| store.find_node(name)).collect())
    }

    fn filter(&self, spec: Spec<'_>, node: &NodeInfo) -> Option<Rejection> {
        let object = node.object.as_ref()?;
        if !self.is_let(&object.labels, node.name) {
            return Some(Rejection::unresolvable(
                Self::NAME,
                sym!("node(s) didn't match scheduler-enforced node affinity"),
            ));
        }
        let is_pinned_elsewhere = spec.pinned_node.is_some() && spec.pinned_node != node.id;
        if !is_pinned_elsewhere && spec.allows_node(&object.labels, node.name) {
            return None;
        }
        Some(Rejection::unresolvable(Self::NAME, sym!("node(s) didn't match Pod's node affinity/selector")))
    }

    fn remedies(&self, _spec: Spec<'_>, _node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        vec![Remedy::Else("its nodeSelector and node affinity allowed the node's labels".into())]
    }

    fn pre_score(&self, spec: Spec<'_>) -> Result<bool, String> {
        for term in self.preferred(&spec).filter(|term| term.weight != 0) {
            term.preference.check().map_err(|error| error.to_string())?;
        }
        Ok(self.preferred(&spec).next().is_some())
    }

    fn score(&self, spec: Spec<'_>, node: &NodeInfo, _images: &ImageStates) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let matching = self.preferred(&spec).filter(|t| {
            let is_empty = t.preference.match_expressions.is_empty() && t.preference.match_fields.is_empty();
            !is_empty && t.preference.holds(&object.labels, node.name)
        });
        matching.map(|t| i64::from(t.weight)).sum()
    }

    fn normalizer(&self) -> Option<Normalizer> {
        Some(|scores| framework::normalize(scores, false))
    }
}

impl Plugin for NodeAffinity {
    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_LABELS
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, cache: &Cache) -> bool {
        event.is_node(NodeDelta::LABELS)
            && event.node(cache).is_some_and(|(info, node, before)| {
                let is_pinned_to = pod.pinned_node.is_none_or(|pinned| Some(pinned) == info.id);
                let allows = |labels: &Labels| pod.spec.allows_node(labels, info.name);
                is_pinned_to
                    && self.is_let(&node.labels, info.name)
                    && allows(&node.labels)
                    && before.is_none_or(|before| !allows(&before.labels))
            })
    }
}
