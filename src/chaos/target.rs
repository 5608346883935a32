//! Which nodes and pods a fault hits.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};

use super::Chaos;
use crate::component::{Ctx, pool_number};
use crate::model::{LabelSelector, zone_of};
use crate::state::{NodeId, PodId};
use crate::units::named;

/// Nodes by name, zone, pool or labels, and how many of those.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeTarget {
    /// These nodes; of any name, if not said.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "named")]
    pub names: Vec<String>,
    /// Nodes in this zone, by `topology.kubernetes.io/zone` or its former name `failure-domain.beta.kubernetes.io/zone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Nodes of this pool: named `<pool>-<number>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Nodes that this label selector matches, in kubectl's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// So many of them, drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// This share of them (0 to 1, or a percentage; rounded up), drawn.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "share")]
    #[cfg_attr(feature = "cli", schemars(schema_with = "super::schema::fraction"))]
    pub fraction: Option<f64>,
}

/// Which pods a fault hits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodTarget {
    /// Only this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Only pods that this label selector matches, in kubectl's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Only these names; any, if not said.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "named")]
    pub names: Vec<String>,
    /// So many of them, drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// This share of them, drawn.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "share")]
    #[cfg_attr(feature = "cli", schemars(schema_with = "super::schema::fraction"))]
    pub fraction: Option<f64>,
}

/// Reads a share: a number, or a percentage such as `25%`. Whether it lies between 0 and 1 is checked with the rest.
fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    struct Share;

    impl Visitor<'_> for Share {
        type Value = f64;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a share such as 0.25 or `25%`")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
            let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
            percent
                .map(|percent| percent / 100.0)
                .ok_or_else(|| E::custom(format_args!("`{text}` is not a share such as 0.25 or `25%`")))
        }

        fn visit_f64<E>(self, share: f64) -> Result<f64, E> {
            Ok(share)
        }

        fn visit_u64<E>(self, share: u64) -> Result<f64, E> {
            Ok(share as f64)
        }

        fn visit_i64<E>(self, share: i64) -> Result<f64, E> {
            Ok(share as f64)
        }
    }
    deserializer.deserialize_any(Share).map(Some)
}

impl NodeTarget {
    /// Whether it names nothing, and so means every node.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// The nodes that match before anything is drawn, in the order of their names' appearance: those whose machine exists.
pub(super) fn candidates(target: &NodeTarget, ctx: &Ctx<'_, Chaos>) -> Vec<NodeId> {
    let selector = target.selector.as_ref().and_then(|text| LabelSelector::parse(text).ok());
    // A fault may hit any node; it happens a few times in a run.
    ctx.store.node_ids().filter(|&id| admits(target, selector.as_ref(), id, ctx)).collect()
}

/// Whether the target names the node, before anything is drawn.
pub(super) fn matches(target: &NodeTarget, node: NodeId, ctx: &Ctx<'_, Chaos>) -> bool {
    let selector = target.selector.as_ref().and_then(|text| LabelSelector::parse(text).ok());
    admits(target, selector.as_ref(), node, ctx)
}

fn admits(target: &NodeTarget, selector: Option<&LabelSelector>, node: NodeId, ctx: &Ctx<'_, Chaos>) -> bool {
    let name = ctx.store.node_name(node);
    let labels = ctx.store.node(node).map(|node| &node.labels);
    let zone = || labels.and_then(zone_of);
    ctx.store.machine(node).exists
        && (target.names.is_empty() || target.names.iter().any(|n| n == name.as_str()))
        && target.zone.as_ref().is_none_or(|z| zone().is_some_and(|v| v.as_str() == z))
        && target.pool.as_ref().is_none_or(|p| pool_number(p, name.as_str()).is_some())
        && selector.is_none_or(|s| labels.is_some_and(|l| s.matches(l)))
}

/// How many of `all` a count or a fraction means.
fn wanted(all: usize, count: Option<u32>, fraction: Option<f64>) -> usize {
    let by_count = count.map_or(all, |count| count as usize);
    let by_fraction = fraction.map_or(all, |share| (share.clamp(0.0, 1.0) * all as f64).ceil() as usize);
    by_count.min(by_fraction).min(all)
}

/// The nodes hit; a count or fraction is drawn from the fault's own stream.
pub(super) fn select(target: &NodeTarget, fault: &str, ctx: &Ctx<'_, Chaos>) -> Vec<NodeId> {
    let all = candidates(target, ctx);
    let wanted = wanted(all.len(), target.count, target.fraction);
    if wanted == all.len() {
        return all;
    }
    let mut stream = ctx.streams.stream("fault-target", fault);
    stream.sample_indices(all.len(), wanted).into_iter().map(|index| all[index]).collect()
}

/// The pods hit.
pub(super) fn select_pods(target: &PodTarget, nodes: &[NodeId], fault: &str, ctx: &Ctx<'_, Chaos>) -> Vec<PodId> {
    let selector = target.selector.as_ref().and_then(|text| LabelSelector::parse(text).ok());
    let mut all: Vec<PodId> = nodes
        .iter()
        .flat_map(|&node| ctx.store.pods_on(node).iter().copied())
        .filter(|&id| {
            let Some(pod) = ctx.store.pod(id) else { return false };
            !pod.phase.is_terminal()
                && target.namespace.as_ref().is_none_or(|n| pod.namespace.as_str() == n)
                && selector.as_ref().is_none_or(|s| s.matches(&pod.labels))
                && (target.names.is_empty() || target.names.iter().any(|n| **n == *pod.name))
        })
        .collect();
    all.sort_by_key(|&id| ctx.store.pod(id).map(|pod| (pod.namespace, std::sync::Arc::clone(&pod.name))));
    let wanted = wanted(all.len(), target.count, target.fraction);
    if wanted == all.len() {
        return all;
    }
    let mut stream = ctx.streams.stream("fault-pods", fault);
    stream.sample_indices(all.len(), wanted).into_iter().map(|index| all[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_rounds_up() {
        assert_eq!(wanted(20, None, Some(0.85)), 17);
        assert_eq!(wanted(10, None, Some(0.01)), 1);
        assert_eq!(wanted(10, Some(3), None), 3);
        assert_eq!(wanted(2, Some(3), None), 2);
    }
}
