//! How well a play agrees with what was seen of the real cluster.
//!
//! Each fact that was seen is paired with one of the play: of the same object, kind and value, in the order of time, so that all of the
//! shorter sequence are paired and times are as near as can be. Pods are paired before their facts are (`pods`).

mod played;
mod pods;
mod seen;
mod sequence;
mod tally;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::arena::Symbol;
use crate::evidence::{Fact, FactKind, ObservedFact};
use crate::report::{AgreementRow, RunTables, TableError, Verdict};
use crate::units::{SimDuration, SimTime};

pub(crate) use played::TABLES;
use played::{Played, PlayedFact, PlayedPod};
use pods::{Owners, cost_at, is_same_change, pair};
use seen::{Coverage, Seen, SeenPod, Window};
use sequence::{Cost, in_order};
pub use tally::{KindTally, LeftOut, SourceSpan, Stranger, Tally};

/// How many disagreements are told as sentences.
const WORST_MAX: usize = 5;

/// What it costs to take a fact that nobody need have seen for one that was seen: more than any distance within bounds.
const IMPLIED: Cost = 1 << 60;

/// A play beside what was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// Facts that were seen.
    pub observed: usize,
    /// All facts together.
    #[serde(flatten)]
    pub total: Tally,
    /// Those of each kind that was seen or played, in the order of [`FactKind::ALL`].
    pub kinds: Vec<KindTally>,
    /// Facts that the play cannot have.
    pub left_out: LeftOut,
    /// What was seen of nodes and owners of pods that the scenario does not have; the facts count as missing.
    pub unknown: Vec<Stranger>,
    /// What the evidence covers.
    pub sources: Vec<SourceSpan>,
    /// The worst disagreements, a sentence each.
    pub worst: Vec<String>,
    /// A row for each fact, in the order of time.
    #[serde(skip)]
    pub rows: Vec<AgreementRow>,
}

/// Holds the tables of a run of that length against what was seen.
///
/// # Errors
///
/// If a table of the run is missing or damaged.
pub fn agree(run: &RunTables, observed: &[ObservedFact], length: SimDuration) -> Result<Agreement, TableError> {
    Ok(hold(&Played::of(run)?, observed, length))
}

fn hold(played: &Played, observed: &[ObservedFact], length: SimDuration) -> Agreement {
    let seen = Seen::of(observed);
    let mut held = Held {
        observed,
        coverage: Coverage::of(observed),
        end: i64::try_from(length.as_millis()).unwrap_or(i64::MAX),
        rows: Vec::new(),
        unseen: BTreeMap::new(),
        left_out: LeftOut::default(),
        unknown: BTreeMap::new(),
    };
    held.nodes(&seen, played);
    held.pods(&seen, played);
    held.agreement()
}

/// A run being held against the evidence.
struct Held<'a> {
    observed: &'a [ObservedFact],
    coverage: Coverage,
    /// When the run ends, in milliseconds.
    end: i64,
    rows: Vec<AgreementRow>,
    /// How many facts of the play the evidence cannot know.
    unseen: BTreeMap<FactKind, u64>,
    left_out: LeftOut,
    unknown: BTreeMap<String, u64>,
}

/// An object of the play, as rows name it.
#[derive(Clone, Copy, Default)]
struct Object {
    namespace: Symbol,
    name: Symbol,
    owner_kind: Symbol,
    owner_name: Symbol,
}

impl Object {
    fn of(pod: &PlayedPod) -> Self {
        let &PlayedPod { namespace, name, owner_kind, owner_name, .. } = pod;
        Self { namespace, name, owner_kind, owner_name }
    }
}

impl Held<'_> {
    fn nodes(&mut self, seen: &Seen, played: &Played) {
        for (name, facts) in &seen.nodes {
            match played.nodes.get(name) {
                Some(of_play) => self.object(facts, of_play, Object { name: *name, ..Object::default() }),
                None => self.strangers(facts, format!("node {name}"), "no such node"),
            }
        }
        for (name, facts) in played.nodes.iter().filter(|(name, _)| !seen.nodes.contains_key(name)) {
            let object = Object { name: *name, ..Object::default() };
            (0..facts.len()).for_each(|place| self.extra(facts, place, object));
        }
    }

    fn pods(&mut self, seen: &Seen, played: &Played) {
        let owners = Owners::of(seen, played);
        let pairs = pair(self.observed, seen, played, &owners);
        let mut is_paired = vec![false; played.pods.len()];
        for (pod, pair) in seen.pods.iter().zip(pairs) {
            match pair {
                Some(place) => {
                    is_paired[place] = true;
                    let of_play = &played.pods[place];
                    self.object(&pod.facts, &of_play.facts, Object::of(of_play));
                }
                None if owners.of_seen(pod).is_some() => pod.facts.iter().for_each(|place| self.missing(*place, "")),
                None => self.strangers(&pod.facts, owner_in_words(pod), "no such owner"),
            }
        }
        for (pod, _) in played.pods.iter().zip(is_paired).filter(|(_, is_paired)| !is_paired) {
            (0..pod.facts.len()).for_each(|place| self.extra(&pod.facts, place, Object::of(pod)));
        }
    }

    /// Pairs the facts of an object: first those of one value, then those whose value nobody saw.
    fn object(&mut self, seen: &[usize], played: &[PlayedFact], object: Object) {
        let mut is_told = vec![false; played.len()];
        let mut groups: BTreeMap<(bool, FactKind, Symbol), Vec<usize>> = BTreeMap::new();
        for place in seen {
            let Fact { kind, value, .. } = self.observed[*place].fact;
            let is_vague = value.is_empty() && played.iter().any(|fact| fact.kind == kind && !fact.value.is_empty());
            groups.entry((is_vague, kind, value)).or_default().push(*place);
        }
        for places in groups.into_values() {
            let first = &self.observed[places[0]];
            let alike = |place: &usize| !is_told[*place] && is_same_change(first, &played[*place]);
            let of_play: Vec<usize> = (0..played.len()).filter(alike).collect();
            let window = |i: usize| Window::of(&self.observed[places[i]]);
            let pairs = in_order((places.len(), of_play.len()), |i, j| {
                let fact = &played[of_play[j]];
                cost_at(window(i), fact.at) + if fact.is_implied { IMPLIED } else { 0 }
            });
            let mut is_found = vec![false; places.len()];
            for (i, j) in pairs {
                (is_found[i], is_told[of_play[j]]) = (true, true);
                self.both(places[i], &played[of_play[j]], object);
            }
            let missing = places.iter().zip(is_found).filter(|(_, is_found)| !is_found);
            missing.for_each(|(place, _)| self.missing(*place, ""));
        }
        let extra = (0..played.len()).filter(|place| !is_told[*place]);
        extra.for_each(|place| self.extra(played, place, object));
    }

    fn both(&mut self, place: usize, played: &PlayedFact, object: Object) {
        let off = Window::of(&self.observed[place]).off(played.at);
        let row = AgreementRow {
            played_at: Some(SimTime::from_millis(played.at)),
            off: Some(SimTime::from_millis(off)),
            verdict: if off == 0 { Verdict::Same } else { Verdict::OtherTime },
            played_name: object.name,
            played_node: played.node,
            ..self.seen_row(place)
        };
        self.rows.push(row);
    }

    /// Takes down a fact that the play does not have, unless it may have come about before or after the play.
    fn missing(&mut self, place: usize, note: &'static str) {
        let Window { earliest, latest, .. } = Window::of(&self.observed[place]);
        if earliest < 0 {
            self.left_out.before += 1;
        } else if latest > self.end {
            self.left_out.after += 1;
        } else {
            self.rows.push(AgreementRow { note, ..self.seen_row(place) });
        }
    }

    /// Takes down a fact of the play that was not seen, if it would have been.
    fn extra(&mut self, played: &[PlayedFact], place: usize, object: Object) {
        let PlayedFact { at, kind, value, node, is_implied } = played[place];
        if is_implied {
            return;
        }
        let shown = shows_for(played, place);
        if !self.coverage.would_tell(kind, object.namespace, value, at, shown) {
            *self.unseen.entry(kind).or_default() += 1;
            return;
        }
        self.rows.push(AgreementRow {
            seen: None,
            played_at: Some(SimTime::from_millis(at)),
            off: None,
            verdict: Verdict::Extra,
            fact: kind.as_str(),
            namespace: object.namespace,
            name: object.name,
            owner_kind: object.owner_kind,
            owner_name: object.owner_name,
            node,
            value,
            played_name: object.name,
            played_node: node,
            sources: String::new(),
            note: "",
        });
    }

    fn strangers(&mut self, facts: &[usize], what: String, note: &'static str) {
        *self.unknown.entry(what).or_default() += facts.len() as u64;
        facts.iter().for_each(|place| self.missing(*place, note));
    }

    /// The row of a fact that was seen, as long as nothing of the play is beside it.
    fn seen_row(&self, place: usize) -> AgreementRow {
        let ObservedFact { at, earliest, latest, fact, sources } = &self.observed[place];
        let sources: Vec<&str> = sources.iter().map(|source| source.as_str()).collect();
        AgreementRow {
            seen: Some([*at, *earliest, *latest]),
            played_at: None,
            off: None,
            verdict: Verdict::Missing,
            fact: fact.kind.as_str(),
            namespace: fact.namespace,
            name: fact.name,
            owner_kind: fact.owner_kind,
            owner_name: fact.owner_name,
            node: fact.node,
            value: fact.value,
            played_name: Symbol::empty(),
            played_node: Symbol::empty(),
            sources: sources.join(";"),
            note: "",
        }
    }

    fn agreement(mut self) -> Agreement {
        let time = |row: &AgreementRow| row.seen.map(|seen| seen[0]).or(row.played_at);
        self.rows.sort_by_key(time);
        let kinds = tally::by_kind(&self.rows, &self.unseen);
        Agreement {
            observed: self.observed.len(),
            total: kinds.iter().map(|kind| kind.tally).sum(),
            kinds,
            left_out: self.left_out,
            unknown: tally::strangers(self.unknown),
            sources: self.coverage.0.iter().map(SourceSpan::of).collect(),
            worst: words::worst(&self.rows, WORST_MAX),
            rows: self.rows,
        }
    }
}

/// For how many milliseconds a record that samples can see that a fact came about: as long as what it changed stayed so, and as what was
/// before it, if that was a change, too.
fn shows_for(facts: &[PlayedFact], place: usize) -> i64 {
    let fact = &facts[place];
    let is_end = |other: &&PlayedFact| {
        other.kind == FactKind::PodGone && fact.kind != FactKind::PodGone || is_undone_by(fact, other)
    };
    let after = facts[place + 1..].iter().find(is_end).map(|end| end.at - fact.at);
    let before = facts[..place].iter().rev().find(|other| is_undone_by(other, fact)).map(|begin| fact.at - begin.at);
    after.unwrap_or(i64::MAX).min(before.unwrap_or(i64::MAX))
}

/// Whether nothing is left of a fact after another of the same object.
fn is_undone_by(fact: &PlayedFact, other: &PlayedFact) -> bool {
    use FactKind::{NodeReady, NodeTaint, NodeUnschedulable, PodCreated, PodGone, PodReady};
    match (fact.kind, other.kind) {
        (NodeReady, NodeReady) | (NodeUnschedulable, NodeUnschedulable) | (PodReady, PodReady) => true,
        (PodCreated, PodGone) | (PodGone, PodCreated) => true,
        (NodeTaint, NodeTaint) => {
            let (one, two) = (fact.value.as_str(), other.value.as_str());
            one.strip_suffix('-') == Some(two) || two.strip_suffix('-') == Some(one)
        }
        _ => false,
    }
}

/// The owner of a pod that was seen, as people name it; the pod if nobody saw it.
fn owner_in_words(pod: &SeenPod) -> String {
    let SeenPod { namespace, name, owner_kind, owner_name, .. } = pod;
    if owner_name.is_empty() {
        format!("pod {namespace}/{name}")
    } else {
        format!("{owner_kind} {namespace}/{owner_name}")
    }
}
