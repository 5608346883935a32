//! Images that could not be pulled.

use std::collections::BTreeMap;

use super::{Confidence, Extra, Fault, Found, Hit};
use crate::arena::Symbol;
use crate::evidence::{Bounds, PodName, What};
use crate::import::outage::timeline::Timeline;
use crate::units::SimDuration;

/// Failures of one image that lie further apart are of two troubles: the back-off of pulls is five minutes at most.
const APART: SimDuration = SimDuration::from_secs(360);
/// A pull that fails began so long before, as a rule.
const PULL: SimDuration = SimDuration::from_secs(30);

struct Trouble {
    first: Bounds,
    last: Bounds,
    nodes: Vec<Option<Symbol>>,
    pods: Vec<PodName>,
    evidence: Vec<usize>,
}

/// Looks for them.
pub(super) fn find(timeline: &Timeline<'_>, found: &mut Found) {
    let mut troubles: BTreeMap<Symbol, Vec<Trouble>> = BTreeMap::new();
    for (index, seen) in timeline.seen.iter().enumerate() {
        let What::ImagePullFailed { pod, node, image } = &seen.what else { continue };
        let node = node.or_else(|| timeline.node_of(*pod, seen.when.latest));
        let of_image = troubles.entry(*image).or_default();
        if of_image.last().is_none_or(|last| last.last.latest.later(APART) < seen.when.earliest) {
            let (first, last) = (seen.when, seen.when);
            of_image.push(Trouble { first, last, nodes: vec![], pods: vec![], evidence: vec![] });
        }
        let trouble = of_image.last_mut().expect("one was pushed");
        trouble.last = seen.when;
        trouble.nodes.push(node);
        trouble.pods.push(*pod);
        trouble.evidence.push(index);
    }
    for (image, troubles) in troubles {
        for mut trouble in troubles {
            trouble.nodes.sort_unstable();
            trouble.nodes.dedup();
            let node = match trouble.nodes[..] {
                [Some(only)] if timeline.inventory.nodes.contains_key(&only) => Some(only),
                _ => None,
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
                confidence: if node.is_some() { Confidence::Likely } else { Confidence::Certain },
                reason: "pulls of the image failed".to_owned(),
                alternatives: vec![],
                evidence: trouble.evidence,
            });
        }
    }
}

/// When the image could be pulled again: between the last failure and the first start of a container that had waited for it.
fn pulled(trouble: &Trouble, timeline: &Timeline<'_>) -> Option<Bounds> {
    let starts = trouble.pods.iter().flat_map(|pod| timeline.of_pod(*pod)).filter(|(_, seen)| {
        matches!(seen.what, What::ContainerStarted { .. } | What::PodReady { is_ready: true, .. })
            && seen.when.latest >= trouble.last.latest
    });
    let first = starts.map(|(_, seen)| seen.when.latest).min()?;
    Some(Bounds { earliest: trouble.last.earliest, latest: first })
}
