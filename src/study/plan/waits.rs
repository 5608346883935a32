//! Pods that had to wait for room while a case was played.

use std::collections::BTreeSet;

use super::judge::Judge;
use super::margin::{Margin, is_lost};
use super::refused::{Refusals, Refused};
use super::shortfall::{Shortfall, ShortfallKind, WAIT_MAX, Wait};
use crate::arena::Symbol;
use crate::chaos::ChaosPlan;
use crate::model::zone_of;
use crate::simulation::Simulation;
use crate::state::{NodeId, PodId, Status, Store};
use crate::units::SimTime;

/// Which new nodes a case would take with the others.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// None: it takes these nodes, or so many.
    Named,
    /// Those in a zone that is away.
    Zones,
    /// Those in a zone or of a pool of which all are away: it takes whatever is there.
    Groups,
}

impl Reach {
    /// The reach of what happens in a scenario.
    pub(super) fn of(chaos: &ChaosPlan) -> Self {
        let is_group = |target: &crate::chaos::NodeTarget| {
            target.names.is_empty() && target.count.is_none() && target.fraction.is_none()
        };
        let takes_groups = chaos.faults.iter().any(|(_, fault)| is_group(&fault.nodes)) || !chaos.processes.is_empty();
        if takes_groups { Self::Groups } else { Self::Named }
    }
}

/// What is watched while a case is played: whether pods that count fit nowhere for longer than pods have to wait.
///
/// A pod that is without a node because of the case itself is no fault of the counts: if even a node more of a searched pool would not
/// take it, as where all of its zone is away, it is only counted.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    judge: Judge,
    /// The searched pools.
    pools: &'a [Symbol],
    reach: Reach,
    judged: BTreeSet<(PodId, SimTime)>,
    found: Vec<Found>,
    refusals: Refusals,
    /// The least that was free.
    margin: Option<Margin>,
    /// How many events had been played when that was last looked at.
    measured_at: Option<u64>,
}

/// A pod that has waited for too long.
#[derive(Debug)]
struct Found {
    pod: PodId,
    since: SimTime,
    object: String,
    /// What the scheduler said of it.
    why: String,
    /// Whether a node more would have taken it.
    is_short: bool,
}

/// What pods had to wait for.
#[derive(Debug, Default)]
pub(super) struct Waited {
    /// Pods that a node more would have taken, the longest wait first.
    pub(super) short: Vec<Shortfall>,
    /// Pods that no node more would have taken, the longest wait first.
    pub(super) beyond_help: Vec<Shortfall>,
    /// Pods that were refused, the most first.
    pub(super) refused: Vec<Refused>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(judge: Judge, pools: &'a [Symbol], reach: Reach) -> Self {
        Self {
            judge,
            pools,
            reach,
            judged: BTreeSet::new(),
            found: Vec::new(),
            refusals: Refusals::default(),
            margin: None,
            measured_at: None,
        }
    }

    /// Plays up to and including `end`. A wait is looked at in the very instant in which it has lasted for too long: one that has begun
    /// since the last look cannot have.
    pub(super) fn play_until(&mut self, run: &mut Simulation, end: SimTime) {
        let mut now = run.now();
        loop {
            let due = self.look(run, now).min(self.refusals.look(self.judge, run, now));
            self.measure(run, now);
            if now >= end {
                return;
            }
            now = end.min(now + WAIT_MAX).min(due);
            run.run_until(now);
        }
    }

    /// Keeps the least that is free. It changes with events alone.
    fn measure(&mut self, run: &Simulation, now: SimTime) {
        if self.measured_at.replace(run.events()) == Some(run.events()) {
            return;
        }
        let Some(found) = Margin::of(run.store(), now) else { return };
        if self.margin.is_none_or(|least| found.free_share() < least.free_share()) {
            self.margin = Some(found);
        }
    }

    /// Judges the pods that have waited for too long by now, and says when the next of them will have.
    fn look(&mut self, run: &Simulation, now: SimTime) -> SimTime {
        let mut next = SimTime::MAX;
        let mut due: Vec<(PodId, SimTime)> = Vec::new();
        for (pod, since) in run.observers().waits().into_iter().flat_map(|waits| waits.open()) {
            let at = since + WAIT_MAX;
            if at > now {
                next = next.min(at);
            } else if self.judged.insert((pod, since)) {
                due.push((pod, since));
            }
        }
        let store = run.store();
        due.retain(|(pod, _)| store.pod(*pod).is_some_and(|pod| self.judge.counts(pod)));
        if !due.is_empty() {
            self.note(run, &due);
        }
        next
    }

    fn note(&mut self, run: &Simulation, due: &[(PodId, SimTime)]) {
        let store = run.store();
        let pods: Vec<PodId> = due.iter().map(|(pod, _)| *pod).collect();
        let is_lost = |pool: Symbol, zone: Option<Symbol>| is_away(self.reach, pool, zone, store);
        let fits = run.fit_on_one_more(&pods, self.pools, &is_lost);
        for (&(id, since), is_short) in due.iter().zip(fits) {
            let Some(pod) = store.pod(id) else { continue };
            let why = pod.not_scheduled.as_ref().map_or_else(String::new, |said| said.message.to_string());
            let object = format!("pod/{}/{}", pod.namespace, pod.name);
            self.found.push(Found { pod: id, since, object, why, is_short });
        }
    }

    /// The least that was free, and what had to wait, when the play ends.
    pub(super) fn end(self, run: &Simulation, end: SimTime) -> (Option<Margin>, Waited) {
        let mut waited = Waited { refused: self.refusals.into_worst(), ..Waited::default() };
        for Found { pod, since, object, why, is_short } in self.found {
            let until = run.observers().waits().and_then(|waits| waits.ended(pod, since)).unwrap_or(end);
            let wait = Some(Wait { since, until });
            let shortfall =
                Shortfall { wait, is_beyond_help: !is_short, ..Shortfall::new(ShortfallKind::Waited, object, why) };
            if is_short { &mut waited.short } else { &mut waited.beyond_help }.push(shortfall);
        }
        let length = |of: &Shortfall| of.wait.map(|wait| (std::cmp::Reverse(wait.length()), wait.since));
        for list in [&mut waited.short, &mut waited.beyond_help] {
            list.sort_by(|a, b| length(a).cmp(&length(b)).then_with(|| a.object.cmp(&b.object)));
        }
        (self.margin, waited)
    }
}

/// Whether a new node of a pool in a zone would be away: all that stand in its zone are, or all of its pool. Of what takes zones alone, a
/// pool that knows of none is in that of its nodes.
fn is_away(reach: Reach, pool: Symbol, zone: Option<Symbol>, store: &Store) -> bool {
    if reach == Reach::Named {
        return false;
    }
    let prefix = format!("{pool}-");
    let is_of_pool = |id: NodeId| {
        let number = store.node_name(id).as_str().strip_prefix(&prefix);
        number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let is_here = |id: NodeId| {
        !is_lost(id, store) && store.node(id).is_some_and(|node| node.conditions.ready() == Some(Status::True))
    };
    let all_away = |is_one: &dyn Fn(NodeId) -> bool| {
        let mut ones = store.nodes().map(|(id, _)| id).filter(|&id| is_one(id)).peekable();
        ones.peek().is_some() && !ones.any(is_here)
    };
    let in_zone = |id: NodeId| store.node(id).is_some_and(|node| zone_of(&node.labels) == zone);
    let is_pool_away = reach == Reach::Groups || zone.is_none();
    is_pool_away && all_away(&is_of_pool) || zone.is_some() && all_away(&in_zone)
}
