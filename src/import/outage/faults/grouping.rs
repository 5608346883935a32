//! Faults of one kind that came at once, as one entry; and whole zones, pools and labels by their names.

use std::collections::{BTreeMap, BTreeSet};

use super::{Extra, Fault, Hit};
use crate::arena::Symbol;
use crate::evidence::{Bounds, Instant};
use crate::import::outage::inventory::{Inventory, pool_of};
use crate::model::ZONE_LABEL;

/// Labels that are of one node each, or of too many things to be a cause.
const LABELS_OF_NODES: [&str; 6] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "failure-domain.beta.kubernetes.io/zone",
];

/// The nodes of an entry, as a scenario writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::import::outage) enum Nodes {
    /// None are named: pods, images and processes are hit wherever they are.
    Anywhere,
    All,
    Zone(Symbol),
    Pool(String),
    Selector(String),
    Names(Vec<Symbol>),
}

/// One entry of the timeline: faults of one kind at one time.
#[derive(Clone, Debug)]
pub(in crate::import::outage) struct Entry {
    pub(in crate::import::outage) nodes: Nodes,
    /// Whether they are all the machines of something that fails as a whole.
    pub(in crate::import::outage) shared_cause: bool,
    /// By what each of them leaves; by what all of them leave where the cause is shared.
    pub(in crate::import::outage) begin: Bounds,
    pub(in crate::import::outage) end: Option<Bounds>,
    pub(in crate::import::outage) begin_guess: Instant,
    pub(in crate::import::outage) end_guess: Option<Instant>,
    pub(in crate::import::outage) faults: Vec<Fault>,
}

impl Entry {
    pub(in crate::import::outage) fn first(&self) -> &Fault {
        &self.faults[0]
    }
}

/// Makes entries of faults that are in the order of their begins.
pub(in crate::import::outage) fn group(faults: Vec<Fault>, inventory: &Inventory) -> Vec<Entry> {
    let mut groups: Vec<Group> = Vec::new();
    let mut open: BTreeMap<(&'static str, u8), Vec<usize>> = BTreeMap::new();
    for fault in faults {
        let places = open.entry((fault.kind, shape(&fault.hit))).or_default();
        let place = places.iter().copied().find(|&at| groups[at].takes(&fault, inventory));
        match place {
            Some(at) => groups[at].add(fault),
            None => {
                places.push(groups.len());
                groups.push(Group::of(fault));
            }
        }
        // Groups that ended long before take nothing any more.
        places.retain(|&at| groups[at].begin.latest >= groups[groups.len() - 1].begin.earliest);
    }
    let mut entries: Vec<Entry> = groups.into_iter().map(|group| group.entry(inventory)).collect();
    entries.sort_by(|a, b| {
        (a.begin_guess, a.first().kind, &a.first().hit).cmp(&(b.begin_guess, b.first().kind, &b.first().hit))
    });
    entries
}

const fn shape(hit: &Hit) -> u8 {
    match hit {
        Hit::Node(_) => 0,
        Hit::Pod(_) => 1,
        Hit::Image { node: None, .. } => 2,
        Hit::Image { node: Some(_), .. } => 3,
        Hit::Process(_) => 4,
    }
}

struct Group {
    faults: Vec<Fault>,
    /// What all of them leave.
    begin: Bounds,
    end: Option<Bounds>,
}

impl Group {
    fn of(fault: Fault) -> Self {
        Self { begin: fault.begin, end: fault.end, faults: vec![fault] }
    }

    fn takes(&self, fault: &Fault, inventory: &Inventory) -> bool {
        let first = &self.faults[0];
        let is_one_target = match (&first.hit, &fault.hit) {
            (Hit::Node(_), Hit::Node(_)) => self.faults.iter().all(|known| known.hit != fault.hit),
            (Hit::Pod(one), Hit::Pod(other)) => {
                one.namespace == other.namespace
                    && inventory.selector_in_play(*one) == inventory.selector_in_play(*other)
            }
            (Hit::Image { node: None, .. }, Hit::Image { node: None, .. }) => true,
            _ => false,
        };
        let ends_agree = match (self.end, fault.end) {
            (None, None) => true,
            (Some(end), Some(other)) => end.and(other).is_some() && guesses_agree(first, fault),
            _ => false,
        };
        let extras_agree = match (&first.extra, &fault.extra) {
            (Extra::Boot(_), Extra::Boot(_)) if first.kind != "Reboot" => true,
            (one, other) => one == other,
        };
        is_one_target && ends_agree && extras_agree && self.begin.and(fault.begin).is_some()
    }

    fn add(&mut self, fault: Fault) {
        self.begin = self.begin.and(fault.begin).unwrap_or(self.begin);
        self.end = self.end.zip(fault.end).and_then(|(end, other)| end.and(other)).or(self.end);
        self.faults.push(fault);
    }

    fn entry(mut self, inventory: &Inventory) -> Entry {
        self.faults.sort_by(|a, b| a.hit.cmp(&b.hit));
        let names: BTreeSet<Symbol> = self.faults.iter().filter_map(Fault::node).collect();
        let nodes = named(&names, &self.faults[0].hit, inventory);
        let shared_cause = matches!(nodes, Nodes::All | Nodes::Zone(_) | Nodes::Pool(_) | Nodes::Selector(_));
        let hull = |of: &mut dyn Iterator<Item = Bounds>| {
            of.reduce(|one, other| Bounds {
                earliest: one.earliest.min(other.earliest),
                latest: one.latest.max(other.latest),
            })
        };
        let begin = if shared_cause {
            self.begin
        } else {
            hull(&mut self.faults.iter().map(|fault| fault.begin)).unwrap_or(self.begin)
        };
        let end = hull(&mut self.faults.iter().filter_map(|fault| fault.end));
        // Guesses of all of them are worth more than what their bounds leave.
        let mut begins: Vec<Instant> = self.faults.iter().filter_map(|fault| fault.begin_guess).collect();
        begins.sort_unstable();
        let guess = begins.get(begins.len() / 2).copied().filter(|_| begins.len() == self.faults.len());
        let mut ends: Vec<Instant> =
            self.faults.iter().filter_map(|fault| fault.end_guess.or(fault.end.map(Bounds::middle))).collect();
        ends.sort_unstable();
        Entry {
            nodes,
            shared_cause,
            begin,
            end,
            // All of them leave this.
            begin_guess: guess.unwrap_or(self.begin.middle()),
            end_guess: ends.get(ends.len() / 2).copied(),
            faults: self.faults,
        }
    }
}

/// Ends that were seen far apart are not one, however wide their bounds.
fn guesses_agree(one: &Fault, other: &Fault) -> bool {
    const APART_NANOS: i64 = 15_000_000_000;
    match (one.end_guess, other.end_guess) {
        (Some(one), Some(other)) => one.nanos_since(other).abs() <= APART_NANOS,
        _ => true,
    }
}

/// All and only the nodes of something are called by its name.
fn named(names: &BTreeSet<Symbol>, hit: &Hit, inventory: &Inventory) -> Nodes {
    match hit {
        Hit::Node(_) => {}
        Hit::Image { node: Some(node), .. } => return Nodes::Names(vec![*node]),
        _ => return Nodes::Anywhere,
    }
    let list = Nodes::Names(names.iter().copied().collect());
    if names.len() < 2 {
        return list;
    }
    if names.len() == inventory.nodes.len() {
        return Nodes::All;
    }
    let all_of =
        |belongs: &dyn Fn(Symbol) -> bool| inventory.nodes.keys().filter(|node| belongs(**node)).eq(names.iter());
    let first = *names.first().expect("there are several");
    if let Some(zone) = inventory.zone(first)
        && all_of(&|node| inventory.zone(node) == Some(zone))
    {
        return Nodes::Zone(zone);
    }
    if let Some(pool) = pool_of(first.as_str())
        && all_of(&|node| pool_of(node.as_str()) == Some(pool))
    {
        return Nodes::Pool(pool.to_owned());
    }
    let labels = &inventory.nodes[&first].labels;
    for (key, value) in labels.iter() {
        let is_cause = !LABELS_OF_NODES.contains(&key.as_str()) && key.as_str() != ZONE_LABEL && !value.is_empty();
        if is_cause && all_of(&|node| inventory.nodes[&node].labels.get(key) == Some(value)) {
            return Nodes::Selector(format!("{key}={value}"));
        }
    }
    list
}
