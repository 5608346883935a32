//! The case of a rolling upgrade.

use std::sync::Arc;

use super::judge::Judge;
use super::play::{Outcome, observers};
use super::shortfall::{Shortfall, ShortfallKind};
use super::waits::Watch;
use crate::arena::Symbol;
use crate::chaos::ChaosPlan;
use crate::procedures::ProcedurePlan;
use crate::procedures::rolling_upgrade::RollingUpgradeSpec;
use crate::scenario::{NodePool, ResolvedScenario, TimelineAction};
use crate::simulation::{Prepared, Script};
use crate::state::{Status, Store, Uid};
use crate::units::{SimDuration, SimTime};

/// How long one node may take besides what is specified, before the upgrade counts as stuck.
const NODE_MAX: SimDuration = SimDuration::from_secs(3600);

/// How often the progress of an upgrade is looked at.
const LOOK: SimDuration = SimDuration::from_secs(30);

/// How long the pods of the last node have to be Ready again.
const AFTERMATH: SimDuration = SimDuration::from_secs(600);

/// The upgrade of one pool, as it is specified for all.
fn script(scenario: &ResolvedScenario, spec: &RollingUpgradeSpec, pool: Symbol) -> Script {
    let spec = RollingUpgradeSpec { pool, ..spec.clone() };
    let procedures = ProcedurePlan { upgrades: vec![spec], ..(*scenario.procedures).clone() };
    Script {
        chaos: Arc::new(ChaosPlan { pools: scenario.chaos.pools.clone(), ..ChaosPlan::default() }),
        procedures: Arc::new(procedures),
        timeline: vec![(SimTime::ZERO, TimelineAction::RollingUpgrade(0))],
        ..Script::default()
    }
}

/// Nodes of a pool as they were before its upgrade.
struct OldNodes(Vec<(Symbol, Uid)>);

impl OldNodes {
    fn of(pool: &NodePool, store: &Store) -> Self {
        let nodes = store.nodes().map(|(id, node)| (store.node_name(id), node.uid));
        Self(nodes.filter(|(name, _)| pool.index_of(name.as_str()).is_some()).collect())
    }

    /// Those that are still there.
    fn left(&self, store: &Store) -> Vec<Symbol> {
        let is_old = |&&(name, uid): &&(Symbol, Uid)| {
            store.find_node(name).and_then(|id| store.node(id)).is_some_and(|node| node.uid == uid)
        };
        self.0.iter().filter(is_old).map(|(name, _)| *name).collect()
    }

    /// Whether all have been replaced, and every node is Ready.
    fn are_replaced(&self, store: &Store) -> bool {
        let is_ready = |status: Option<Status>| status == Some(Status::True);
        self.left(store).is_empty() && store.nodes().all(|(_, node)| is_ready(node.conditions.ready()))
    }
}

impl Judge {
    /// Plays the upgrade of a pool until it is over, and at least as long as the scenario lasts.
    pub(super) fn play_upgrade(
        self,
        scenario: &ResolvedScenario,
        settled: &Prepared,
        spec: &RollingUpgradeSpec,
        pool: &NodePool,
        mut watch: Watch<'_>,
    ) -> Outcome {
        let old = OldNodes::of(pool, settled.store());
        let (surge, unavailable) = spec.at_a_time(old.0.len());
        let rounds = old.0.len().div_ceil((surge + unavailable).max(1)) as u64;
        let limit = SimTime::ZERO + (spec.drain_timeout + spec.node_soak + NODE_MAX) * rounds;
        let observers = observers(&scenario.objectives);
        let mut run = settled.start_script(script(scenario, spec, pool.name), scenario.seed, observers);
        let mut now = SimTime::ZERO;
        while now < limit && !old.are_replaced(run.store()) {
            now += LOOK;
            watch.play_until(&mut run, now);
        }
        let left = old.left(run.store());
        let end = (now + AFTERMATH).max(SimTime::ZERO + scenario.duration);
        let mut outcome = self.end(scenario, run, watch, end);
        // The first is the one that could not be drained; the others were not begun.
        if let Some(first) = left.first() {
            let (left, all) = (left.len(), old.0.len());
            let timeout = spec.drain_timeout;
            let why = format!("{left} of {all} nodes were not replaced: a drain did not end within {timeout}");
            outcome.shortfalls.push(Shortfall::new(ShortfallKind::NotDrained, format!("node/{first}"), why));
        }
        outcome.shortfalls.sort_by_key(|shortfall| shortfall.kind);
        outcome
    }
}
