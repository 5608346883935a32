//! Images that could not be pulled.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Confidence, Extra, Fault, Found, Hit};
use crate::arena::Symbol;
use crate::evidence::{Bounds, Instant, PodName, What};
use crate::import::outage::sources::Seen;
use crate::import::outage::timeline::Timeline;
use crate::units::SimDuration;

/// Failures of one image that lie further apart are of two troubles: the back-off of pulls is five minutes at most.
const APART: SimDuration = SimDuration::from_secs(360);
/// A pull that fails began so long before, as a rule.
const PULL: SimDuration = SimDuration::from_secs(30);

struct Trouble {
    first: Bounds,
    last: Bounds,
    /// A pull failed then, or later.
    failed: Instant,
    nodes: Vec<Option<Symbol>>,
    pods: Vec<PodName>,
    evidence: Vec<usize>,
}

/// Looks for them.
pub(super) fn find(timeline: &Timeline<'_>, found: &mut Found) {
    let mut troubles: BTreeMap<Symbol, Vec<Trouble>> = BTreeMap::new();
    // By when they had failed for sure: a pull that is waited for had failed some time before.
    let mut failed: Vec<(usize, &Seen)> = timeline.seen.iter().enumerate().collect();
    failed.retain(|(_, seen)| matches!(seen.what, What::ImagePullFailed { .. }));
    failed.sort_by_key(|(_, seen)| (seen.when.latest, Reverse(seen.when.earliest)));
    for (index, seen) in failed {
        let What::ImagePullFailed { pod, node, image } = &seen.what else { continue };
        let node = node.or_else(|| timeline.node_of(*pod, seen.when.latest));
        let of_image = troubles.entry(*image).or_default();
        if of_image.last().is_none_or(|last| last.last.latest.later(APART) < seen.when.earliest) {
            let (first, last, failed) = (seen.when, seen.when, seen.when.earliest);
            of_image.push(Trouble { first, last, failed, nodes: vec![], pods: vec![], evidence: vec![] });
        }
        let trouble = of_image.last_mut().expect("one was pushed");
        trouble.last = seen.when;
        trouble.failed = trouble.failed.max(seen.when.earliest);
        trouble.nodes.push(node);
        trouble.pods.push(*pod);
        trouble.evidence.push(index);
    }
    for (image, troubles) in troubles {
        for mut trouble in troubles {
            trouble.nodes.sort_unstable();
            trouble.nodes.dedup();
            // Where others could pull meanwhile it is the trouble of the one node.
            let (node, confidence, reason) = match trouble.nodes[..] {
                [Some(only)]
                    if timeline.inventory.nodes.contains_key(&only) && works_elsewhere(&trouble, only, timeline) =>
                {
                    (Some(only), Confidence::Likely, "pulls of the image failed on this node, and worked on others")
                }
                [_] => {
                    (None, Confidence::Likely, "pulls of the image failed, and none is known to have worked meanwhile")
                }
                _ => (None, Confidence::Certain, "pulls of the image failed on several nodes"),
            };
            let end = pulled(&trouble, timeline);
            found.push(Fault {
                kind: "ImagePullFailure",
                hit: Hit::Image { image, node },
                begin: Bounds { earliest: trouble.first.earliest.earlier(PULL), latest: trouble.first.latest },
                begin_guess: None,
                end,
                end_guess: None,
                extra: Extra::None,
                confidence,
                reason: reason.to_owned(),
                alternatives: vec![],
                evidence: trouble.evidence,
            });
        }
    }
}

/// Whether a container of the same workload was started on another node meanwhile.
fn works_elsewhere(trouble: &Trouble, node: Symbol, timeline: &Timeline<'_>) -> bool {
    let workload = |pod: PodName| timeline.inventory.owner_of(pod).map(|owner| (pod.namespace, owner));
    let workloads: Vec<_> = trouble.pods.iter().filter_map(|pod| workload(*pod)).collect();
    let is_meanwhile = |seen: &Seen| seen.when.earliest > trouble.first.latest && seen.when.latest < trouble.failed;
    timeline.pods().filter(|pod| workload(*pod).is_some_and(|of| workloads.contains(&of))).any(|pod| {
        timeline.of_pod(pod).any(|(_, seen)| {
            matches!(seen.what, What::ContainerStarted { .. })
                && is_meanwhile(seen)
                && timeline.node_of(pod, seen.when.latest).is_some_and(|other| other != node)
        })
    })
}

/// When the image could be pulled again: between the last failure and the first start of a container that had waited for it.
fn pulled(trouble: &Trouble, timeline: &Timeline<'_>) -> Option<Bounds> {
    let starts = trouble.pods.iter().flat_map(|pod| timeline.of_pod(*pod)).filter(|(_, seen)| {
        matches!(seen.what, What::ContainerStarted { .. } | What::PodReady { is_ready: true, .. })
            && seen.when.latest >= trouble.failed
    });
    let first = starts.map(|(_, seen)| seen.when.latest).min()?;
    Some(Bounds { earliest: trouble.failed, latest: first })
}
