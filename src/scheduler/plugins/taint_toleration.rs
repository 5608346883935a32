//! TaintToleration: taints keep pods out (NoSchedule, NoExecute) or discourage them (PreferNoSchedule).

use crate::arena::{Symbol, sym};
use crate::model::config::KubernetesVersion;
use crate::model::{Taint, TaintEffect};
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{self, AnyPlugin, Incoming, LocalPlugin, Normalizer, Plugin, Point, Register, Spec};
use crate::scheduler::images::ImageStates;
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::rejection::{Rejection, Remedy};
use crate::state::{Node, NodeDelta};

pub(in crate::scheduler) struct TaintToleration {
    version: KubernetesVersion,
}

impl Register for TaintToleration {
    const NAME: &'static str = "TaintToleration";
    const POINTS: &'static [Point] = &[Point::Filter, Point::PreScore, Point::Score];
    const WEIGHT: i64 = 3;
    const SUMMARY: &'static str =
        "NoSchedule and NoExecute taints keep out; untolerated PreferNoSchedule taints cost score";
    type Arguments = NoArguments;

    fn make(_: NoArguments, version: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self { version })
    }
}

impl LocalPlugin for TaintToleration {
    fn filter(&self, spec: Spec<'_>, node: &NodeInfo) -> Option<Rejection> {
        let taint = node.object.as_ref()?.barring_taints(&spec.tolerations).next()?;
        let reason = if self.version.at_least(34) {
            sym!("node(s) had untolerated taint(s)")
        } else {
            Symbol::new(&format!("node(s) had untolerated taint {{{}: {}}}", taint.key, taint.value))
        };
        Some(Rejection::unresolvable(Self::NAME, reason))
    }

    fn remedies(&self, spec: Spec<'_>, node: &NodeInfo, _rejection: &Rejection) -> Vec<Remedy> {
        let taints = node.object.iter().flat_map(|object| object.barring_taints(&spec.tolerations));
        let taints: Vec<String> = taints.map(|taint| taint.to_string()).collect();
        vec![Remedy::Else(format!("it tolerated {}", taints.join(" and ")).into())]
    }

    fn score(&self, spec: Spec<'_>, node: &NodeInfo, _images: &ImageStates) -> i64 {
        let Some(object) = &node.object else { return 0 };
        let tolerates = |taint: &Taint| {
            let tolerations = spec.tolerations.iter();
            tolerations
                .filter(|t| t.effect.is_none_or(|e| e == TaintEffect::PreferNoSchedule))
                .any(|t| t.tolerates(taint))
        };
        let discouraging = object.taints.iter().filter(|t| t.effect == TaintEffect::PreferNoSchedule);
        discouraging.filter(|taint| !tolerates(&taint.plain())).count() as i64
    }

    fn normalizer(&self) -> Option<Normalizer> {
        Some(|scores| framework::normalize(scores, true))
    }
}

impl Plugin for TaintToleration {
    fn events(&self) -> Events {
        Events::NODE_ADDED | Events::NODE_TAINTS | Events::ITSELF
    }

    fn hint(&self, Incoming { pod, .. }: Incoming<'_>, event: &ClusterEvent<'_>, cache: &Cache) -> bool {
        if !event.is_node(NodeDelta::TAINTS) {
            return event.gives_tolerations(pod);
        }
        event.node(cache).is_some_and(|(_, node, before)| {
            let is_barred = |node: &Node| node.barring_taints(&pod.spec.tolerations).next().is_some();
            !is_barred(node) && before.is_none_or(is_barred)
        })
    }
}
