//! Plug-ins that whoever embeds the simulator brings along. They are asked about each pod and node anew: nothing that they say is kept
//! (`equivalence.rs` is for local plugins alone), and any event may help a pod that they rejected.

use super::cache::Cache;
use super::framework::{Incoming, Plugin, Prepared, WidePlugin};
use super::node_info::NodeInfo;
use super::rejection::Rejection;
use crate::arena::Symbol;
use crate::component::{PluginError, PluginFailure, PluginNode, PluginPod, SchedulerHook, SchedulerPlugin};
use crate::state::{NodeId, Pod, Store};

/// The largest score.
///
/// # Source
/// kube-scheduler framework, `MaxNodeScore`.
const SCORE_MAX: i64 = 100;

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct OwnPlugin(pub(super) SchedulerPlugin);

impl Plugin for OwnPlugin {}

impl WidePlugin for OwnPlugin {
    fn prepare(&self, _pod: &Pod, _store: &Store, _cache: &mut Cache) -> Box<dyn Prepared> {
        Box::new(self.clone())
    }
}

impl OwnPlugin {
    /// What it answers; leaves the run if it fails.
    fn ask<R>(
        &self,
        what: &str,
        incoming: Incoming<'_>,
        node: &NodeInfo,
        ask: impl FnOnce(&PluginPod<'_>, &PluginNode<'_>) -> Result<R, PluginError>,
    ) -> Option<R> {
        let object = node.object.as_ref()?;
        let pod = PluginPod(incoming.pod);
        let seen = PluginNode {
            name: node.name,
            node: object,
            requested: &node.requested,
            pod_count: node.pod_count,
            pods: &node.pods,
            store: incoming.store,
        };
        match ask(&pod, &seen) {
            Ok(answer) => Some(answer),
            Err(error) => {
                let asked = format!("{what} node {} for pod {pod:?}", node.name);
                PluginFailure { name: self.0.name, at: incoming.now, asked, error }.throw()
            }
        }
    }
}

impl Prepared for OwnPlugin {
    fn filter(&self, incoming: Incoming<'_>, _cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        let SchedulerHook::Filter(hook) = &self.0.hook else { return None };
        let reason = self.ask("to filter", incoming, node, |pod, node| hook(pod, node))??;
        let name = self.0.name;
        let reason = if reason.is_empty() { format!("node(s) didn't satisfy {name}") } else { reason };
        Some(Rejection::unschedulable(name.as_str(), Symbol::new(&reason)))
    }

    fn score(&self, incoming: Incoming<'_>, cache: &Cache, feasible: &[NodeId], scores: &mut Vec<i64>) -> bool {
        let SchedulerHook::Score(hook, _) = &self.0.hook else { return false };
        for &node in feasible {
            let within = |score: i64| match score {
                0..=SCORE_MAX => Ok(score),
                other => Err(format!("a score is a number from 0 to {SCORE_MAX}, not {other}").into()),
            };
            let score = self.ask("to score", incoming, cache.node(node), |pod, node| hook(pod, node).and_then(within));
            scores.push(score.unwrap_or(0));
        }
        true
    }
}
