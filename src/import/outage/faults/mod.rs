//! What must have gone wrong, from what was seen. Each rule looks for the traces of some kinds of faults.

mod api_server;
mod conditions;
mod containers;
mod control_plane;
mod flapping;
mod gone;
mod grouping;
mod images;
mod notices;
mod pod_kill;
mod restarts;
mod silence;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::timeline::Timeline;
use crate::arena::Symbol;
use crate::evidence::{Bounds, Instant, PodName};
use crate::units::SimDuration;

pub(super) use grouping::{Entry, Nodes, group};

/// How sure a fault, or its kind, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Confidence {
    /// A record says it, or nothing else does what was seen.
    Certain,
    /// It goes best with what was seen.
    Likely,
    /// What was seen does not tell it from the alternatives.
    Guess,
}

impl Confidence {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Guess => "guess",
        }
    }
}

/// What a fault hits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hit {
    Node(Symbol),
    Pod(PodName),
    /// Images on a node, or on all.
    Image {
        image: Symbol,
        node: Option<Symbol>,
    },
    Process(&'static str),
}

/// What a kind has besides its target and its length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extra {
    None,
    /// How long machines boot once power is back.
    Boot(SimDuration),
    /// From the warning of a spot instance to its end, and whether its node was drained.
    Notice {
        notice: SimDuration,
        drain: bool,
    },
    /// The renewals that were late, by time.
    Late(Vec<LateRenewal>),
}

/// A renewal of a node's lease that got through late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LateRenewal {
    /// The one before had got through, and this one had not begun.
    pub(super) after: Instant,
    pub(super) by: SimDuration,
}

/// One fault of one machine, pod or process.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// As the scenario calls it.
    pub(super) kind: &'static str,
    pub(super) hit: Hit,
    pub(super) begin: Bounds,
    /// The best guess, if it is not the middle of the bounds.
    pub(super) begin_guess: Option<Instant>,
    /// None: it has not ended as far as the evidence goes, or its kind does not last.
    pub(super) end: Option<Bounds>,
    pub(super) end_guess: Option<Instant>,
    pub(super) extra: Extra,
    pub(super) confidence: Confidence,
    /// Why it is this kind, as a clause.
    pub(super) reason: String,
    /// Kinds that would have looked alike.
    pub(super) alternatives: Vec<&'static str>,
    /// The sightings it rests on, by time.
    pub(super) evidence: Vec<usize>,
}

impl Fault {
    pub(super) fn node(&self) -> Option<Symbol> {
        match self.hit {
            Hit::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Whether its node cannot be heard at a time.
    pub(super) fn covers(&self, when: Bounds, after: SimDuration) -> bool {
        let until = self.end.map(|end| end.latest.later(after));
        when.latest >= self.begin.earliest && until.is_none_or(|until| when.earliest <= until)
    }
}

/// How the cluster finds out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detection {
    /// The grace of the node lifecycle controller.
    pub(super) grace: SimDuration,
}

/// What the rules have found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) faults: Vec<Fault>,
    /// By node: the places of its faults.
    by_node: BTreeMap<Symbol, Vec<usize>>,
    /// Sightings that are explained by faults.
    pub(super) explained: BTreeSet<usize>,
    /// What is odd and no fault, as sentences.
    pub(super) remarks: Vec<String>,
}

impl Found {
    fn push(&mut self, mut fault: Fault) {
        fault.evidence.sort_unstable();
        fault.evidence.dedup();
        self.explained.extend(fault.evidence.iter().copied());
        if let Hit::Node(node) = fault.hit {
            self.by_node.entry(node).or_default().push(self.faults.len());
        }
        self.faults.push(fault);
    }

    /// Takes faults away; what they rest on stays explained.
    fn remove(&mut self, mut places: Vec<usize>) {
        places.sort_unstable();
        for place in places.into_iter().rev() {
            self.faults.remove(place);
        }
        self.by_node.clear();
        for (place, fault) in self.faults.iter().enumerate() {
            if let Hit::Node(node) = fault.hit {
                self.by_node.entry(node).or_default().push(place);
            }
        }
    }

    /// The faults of a node.
    pub(super) fn of_node(&self, node: Symbol) -> impl Iterator<Item = &Fault> {
        self.by_node.get(&node).into_iter().flatten().map(|&place| &self.faults[place])
    }
}

/// Every fault that the evidence tells, by its begin.
pub(super) fn find(timeline: &Timeline<'_>, detection: Detection) -> Found {
    let mut found = Found::default();
    control_plane::find(timeline, &mut found);
    for node in timeline.nodes().collect::<Vec<_>>() {
        if !timeline.inventory.nodes.contains_key(&node) {
            continue;
        }
        notices::find(node, timeline, &mut found);
        silence::find(node, timeline, detection, &mut found);
        conditions::find(node, timeline, &mut found);
        gone::find(node, timeline, &mut found);
        restarts::find(node, timeline, detection, &mut found);
        flapping::find(node, detection, &mut found);
    }
    api_server::find(timeline, &mut found);
    silence::judge_together(timeline, &mut found);
    containers::find(timeline, &mut found);
    images::find(timeline, &mut found);
    pod_kill::find(timeline, &mut found);
    found.faults.sort_by(|a, b| (a.begin, a.kind, &a.hit).cmp(&(b.begin, b.kind, &b.hit)));
    found.remove(Vec::new());
    found
}
