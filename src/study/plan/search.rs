//! Which counts survive: the search, and the proof that fewer do not.

use rustc_hash::FxHashSet;

use super::bounds::bounds;
use super::capacity::{Demand, set_replicas, too_little, with_counts};
use super::case::Plays;
use super::cases::{self, LostSet, Symmetry};
use super::definition::{Case, Plan};
use super::in_vain::of_one_replica;
use super::judge::Judge;
use super::placement::Placed;
use super::play::{self, Outcome};
use super::results::{Candidate, PlanResults, PlayRecord, Verdict};
use super::waits::{Reach, Watch};
use crate::arena::Symbol;
use crate::parallel;
use crate::scenario::ResolvedScenario;
use crate::simulation::Prepared;
use crate::study::{Part, Progress};

/// Counts that are played side by side. The same on every machine, as what is played besides the answer is reported.
const SIDE_BY_SIDE: usize = 4;

/// How many counts above the answer of a single pool are played, to see whether it is an island.
const BEYOND: u32 = 2;

/// How much of counts that fail is played.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Thoroughness {
    /// Every case.
    AllCases,
    /// Up to the first play that is not survived.
    UntilOneFails,
}

/// Works out a plan.
///
/// # The search
///
/// Adding a node is not always for the better in Kubernetes: a node more can shift the zones that nodes are handed to in turn, add
/// a domain that a spread constraint counts, or move pods to where their loss hurts more. So nothing is concluded from one count
/// to another: counts (mixes, by price, then by nodes) are tried in order, the first that survives is the answer, and every one
/// before it has been played and has failed, or is ruled out because the nodes left in some case give less than pods ask for
/// that need a place (a condition on those counts alone, see `too_little` in `capacity`).
///
/// # Placements
///
/// What survives one draw of chance need not survive another. Every mix is tried in the first placement; what survives that, or may
/// fail in it, is tried in the others, and is the answer if enough of them are survived. So most of what is too small costs one
/// placement, and what is told to do has been tried in all.
#[must_use]
pub fn work_out(plan: &Plan, symmetry: Symmetry, progress: &dyn Progress) -> PlanResults {
    let search = Search::new(plan, symmetry);
    let order = mixes(plan);
    let part = Part::begin(progress, order.len() as u64, 0, &plan.name);
    let is_single = plan.pools.len() == 1;
    let depth = if is_single { Thoroughness::AllCases } else { Thoroughness::UntilOneFails };
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut answer = None;
    for batch in order.chunks(SIDE_BY_SIDE) {
        if answer.is_some() {
            break;
        }
        let found: Vec<Candidate> = parallel::map(batch, |counts| search.evaluate(counts, depth, &part));
        for mut candidate in found {
            if answer.is_none() {
                search.try_others(&mut candidate, &part);
                answer = candidate.holds().then_some(candidates.len());
            }
            candidates.push(candidate);
        }
    }
    if let (true, Some(index)) = (is_single, answer) {
        let (pool, least) = (&plan.pools[0], candidates[index].counts[0]);
        let tried = candidates[candidates.len() - 1].counts[0];
        let beyond: Vec<Vec<u32>> = (tried + 1..=(least + BEYOND).min(pool.max)).map(|count| vec![count]).collect();
        let found: Vec<Candidate> = parallel::map(&beyond, |counts| search.evaluate(counts, depth, &part));
        candidates.extend(found);
    }
    drop(part);
    let binding = search.confirmed(&mut candidates, &mut answer, progress);
    let counts = answer.map(|answer| &*candidates[answer].counts);
    let bounds = bounds(plan, search.largest.store(), search.judge, &order, counts);
    let of_one_replica = of_one_replica(search.largest.store(), &plan.base);
    PlanResults { bounds, of_one_replica, ..PlanResults::new(plan, candidates, answer, binding) }
}

/// Every mix, the cheapest first; of equally cheap ones that of fewer nodes, then that of fewer nodes of the first pool.
fn mixes(plan: &Plan) -> Vec<Vec<u32>> {
    let mut mixes = vec![Vec::new()];
    for pool in &plan.pools {
        let with = |mix: &Vec<u32>, count| mix.iter().copied().chain([count]).collect();
        mixes = mixes.iter().flat_map(|mix| (pool.min..=pool.max).map(move |count| with(mix, count))).collect();
    }
    mixes.sort_by_cached_key(|mix: &Vec<u32>| (plan.price(mix), mix.iter().sum::<u32>(), mix.clone()));
    mixes
}

/// The plays of a case.
struct PlayedCase {
    plays: Vec<PlayRecord>,
    /// Whether the last is not survived, and others were left out.
    is_cut_short: bool,
}

impl PlayedCase {
    /// Nothing was left out.
    fn whole(plays: Vec<PlayRecord>) -> Self {
        Self { plays, is_cut_short: false }
    }
}

/// What all evaluations share.
pub(super) struct Search<'a> {
    plan: &'a Plan,
    pub(super) judge: Judge,
    symmetry: Symmetry,
    /// The cluster with the most nodes.
    largest: Prepared,
    demand: Demand,
    pub(super) mentioned: FxHashSet<Symbol>,
    /// Names of the searched pools.
    pools: Vec<Symbol>,
}

/// A cluster to be tried.
#[derive(Copy, Clone, Debug)]
pub(super) struct Trial<'a> {
    /// Nodes of each searched pool.
    pub(super) counts: &'a [u32],
    /// The number of the placement.
    pub(super) placement: u32,
    /// A workload with another number of replicas.
    pub(super) replicas: Option<(&'a str, u32)>,
}

impl<'a> Trial<'a> {
    /// Other counts, and nothing else, in a placement.
    pub(super) fn of_counts(counts: &'a [u32], placement: u32) -> Self {
        Self { counts, placement, replicas: None }
    }

    /// The scenario as it is tried.
    pub(super) fn apply(self, plan: &Plan, scenario: &ResolvedScenario) -> ResolvedScenario {
        let mut tried = with_counts(scenario, &plan.counts_in(scenario, self.counts));
        tried.seed = tried.seed.wrapping_add(self.placement.into());
        if let Some((workload, replicas)) = self.replicas {
            set_replicas(&mut tried, workload, replicas);
        }
        tried
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(plan: &'a Plan, symmetry: Symmetry) -> Self {
        // The base has the most nodes, so that every pod that can be made is there.
        let settled = Prepared::new(&plan.base);
        Self {
            plan,
            judge: Judge { priority: plan.priority },
            symmetry,
            demand: Demand::of(settled.store(), &plan.base, plan.priority),
            largest: settled,
            mentioned: cases::mentioned(&plan.base.objects),
            pools: plan.pools.iter().map(|pool| pool.name).collect(),
        }
    }

    /// Plays the cases on the cluster with these counts, in the first placement.
    pub(super) fn evaluate(&self, counts: &[u32], depth: Thoroughness, part: &Part<'_>) -> Candidate {
        part.heed();
        let trial = Trial::of_counts(counts, self.plan.placements.first);
        let verdict = match too_little(self.plan, &trial.apply(self.plan, &self.plan.base), &self.demand) {
            Some(why) => Verdict::RuledOut { why },
            None => self.play(trial, depth),
        };
        part.advance();
        Candidate::new(self.plan, counts, verdict)
    }

    /// Plays the other placements of counts that may be the answer: all of them if the first is survived, so that it is known how many
    /// are; else until too many are not.
    fn try_others(&self, candidate: &mut Candidate, part: &Part<'_>) {
        if candidate.placements().is_empty() || candidate.is_refuted() {
            return;
        }
        let is_whole = candidate.survives();
        for batch in self.plan.placements.numbers()[1..].chunks(SIDE_BY_SIDE) {
            if !is_whole && candidate.is_refuted() {
                return;
            }
            self.play_placements(candidate, batch, part);
        }
    }

    /// Plays more placements of counts, each up to its first play that is not survived.
    fn play_placements(&self, candidate: &mut Candidate, numbers: &[u32], part: &Part<'_>) {
        let counts = candidate.counts.clone();
        let found: Vec<Verdict> = parallel::map(numbers, |&placement| {
            part.heed();
            self.play(Trial::of_counts(&counts, placement), Thoroughness::UntilOneFails)
        });
        for verdict in found {
            candidate.verdict.extend(verdict);
        }
    }

    /// Plays the cases on a cluster, whatever it is said to give.
    pub(super) fn play(&self, trial: Trial<'_>, depth: Thoroughness) -> Verdict {
        let scenario = &trial.apply(self.plan, &self.plan.base);
        let settled = Prepared::placed(scenario, trial.placement);
        let calm = LostSet { label: "nothing lost".to_owned(), nodes: Vec::new(), alike: 1 };
        let outcome = self.judge.play_calm(scenario, &settled, self.watch(Reach::Named));
        let mut plays =
            vec![PlayRecord { case: None, lost: calm, outcome, placement: trial.placement, seed: scenario.seed }];
        let mut is_cut_short = false;
        if plays[0].outcome.is_survived() {
            for (index, case) in self.plan.cases.iter().enumerate() {
                let found = self.play_case((index, case), trial, scenario, &settled, depth);
                let has_failed = found.plays.iter().any(|play| !play.outcome.is_survived());
                plays.extend(found.plays);
                is_cut_short = found.is_cut_short;
                if has_failed && depth == Thoroughness::UntilOneFails {
                    break;
                }
            }
        }
        let is_survived = plays.iter().all(|play| play.outcome.is_survived());
        let placed = Placed { number: trial.placement, seed: scenario.seed, is_survived, is_cut_short };
        Verdict::Played { plays, placements: vec![placed] }
    }

    /// Watches which pods have to wait for room.
    pub(super) fn watch(&self, reach: Reach) -> Watch<'_> {
        Watch::new(self.judge, &self.pools, reach)
    }

    fn play_case(
        &self,
        (index, case): (usize, &Case),
        trial: Trial<'_>,
        scenario: &ResolvedScenario,
        settled: &Prepared,
        depth: Thoroughness,
    ) -> PlayedCase {
        let (placement, seed) = (trial.placement, scenario.seed);
        let record = |lost: LostSet, outcome: Outcome| PlayRecord { case: Some(index), lost, outcome, placement, seed };
        let all = |name: &str| LostSet { label: name.to_owned(), nodes: Vec::new(), alike: 1 };
        match case.kind.plays(settled.store(), &self.mentioned, self.symmetry) {
            Plays::Losses(sets, reach) => {
                let play = |lost: &LostSet| {
                    let script = play::loss(scenario, lost);
                    record(lost.clone(), self.judge.play(scenario, settled, script, self.watch(reach)))
                };
                play_losses(&sets, play, depth)
            }
            Plays::NothingLeft(count) => {
                let lost = all(&format!("there are not {count} nodes"));
                PlayedCase::whole(vec![record(lost, Outcome::nothing_left(count))])
            }
            Plays::Upgrades(spec) => {
                let upgraded: Vec<_> = self
                    .plan
                    .counts_in(scenario, trial.counts)
                    .iter()
                    .map(|(pool, _)| &scenario.pools[*pool])
                    .collect();
                PlayedCase::whole(parallel::map(&upgraded, |pool| {
                    let outcome = self.judge.play_upgrade(scenario, settled, spec, pool, self.watch(Reach::Named));
                    record(all(&format!("pool {}", pool.name)), outcome)
                }))
            }
            Plays::Own(own) => {
                let own = trial.apply(self.plan, own);
                let settled = Prepared::placed(&own, placement);
                let outcome = self.judge.play_own(&own, &settled, self.watch(Reach::of(&own.chaos)));
                let lost = all(&own.name);
                PlayedCase::whole(vec![PlayRecord { case: Some(index), lost, outcome, placement, seed: own.seed }])
            }
        }
    }

    /// What binds the answer. A count that had been ruled out and yet survives when it is played becomes the answer, and what
    /// is below it is played in turn: what is assumed of capacity never stands against what is played.
    fn confirmed(
        &self,
        candidates: &mut [Candidate],
        answer: &mut Option<usize>,
        progress: &dyn Progress,
    ) -> Vec<Candidate> {
        loop {
            let binding = self.binding(candidates, *answer, progress);
            for found in &binding {
                let known = candidates.iter_mut().find(|candidate| candidate.counts == found.counts);
                // In how many placements they survive is worth a line among what was tried, too.
                if let Some(known) = known.filter(|known| !known.placements().is_empty()) {
                    known.verdict.complete(&found.verdict);
                }
            }
            let survivors: Vec<&Candidate> = binding.iter().filter(|candidate| candidate.holds()).collect();
            if survivors.is_empty() {
                return binding;
            }
            for survivor in survivors {
                let known = candidates.iter_mut().find(|candidate| candidate.counts == survivor.counts);
                let known = known.expect("one node less costs no more, so it has been tried before");
                assert!(
                    matches!(known.verdict, Verdict::RuledOut { .. }),
                    "{:?} did not survive, and does when it is played again",
                    survivor.counts
                );
                *known = survivor.clone();
            }
            *answer = candidates.iter().position(Candidate::holds);
        }
    }

    /// What stands between the answer and one node less of each pool; if there is no answer, what the most nodes do not survive.
    /// Each is played in full in the first placement, and in all others, but for what is ruled out and does fail: that is too little in all.
    fn binding(&self, candidates: &[Candidate], answer: Option<usize>, progress: &dyn Progress) -> Vec<Candidate> {
        let plan = self.plan;
        let wanted: Vec<Vec<u32>> = match answer {
            None => vec![plan.pools.iter().map(|pool| pool.max).collect()],
            Some(index) => {
                let counts = &candidates[index].counts;
                let less = (0..counts.len()).filter(|&pool| counts[pool] > plan.pools[pool].min);
                let one_less = less.map(|pool| {
                    let mut counts = counts.clone();
                    counts[pool] -= 1;
                    counts
                });
                one_less.collect()
            }
        };
        let part = Part::begin(progress, wanted.len() as u64, 0, "what the answer rests on");
        parallel::map(&wanted, |counts| {
            let known = candidates.iter().find(|candidate| candidate.counts == *counts);
            let is_ruled_out = known.is_some_and(|known| matches!(known.verdict, Verdict::RuledOut { .. }));
            // What is ruled out has not been played; which pod it would hit is worth a play.
            let mut found = match known.filter(|_| plan.pools.len() == 1 && !is_ruled_out) {
                Some(known) => known.clone(),
                None => {
                    let trial = Trial::of_counts(counts, plan.placements.first);
                    Candidate::new(plan, counts, self.play(trial, Thoroughness::AllCases))
                }
            };
            let numbers = plan.placements.numbers();
            if !is_ruled_out || found.survives() {
                let left = &numbers[found.placements().len()..];
                self.play_placements(&mut found, left, &part);
            }
            part.advance();
            found
        })
    }
}

/// Plays the loss of each set of nodes.
fn play_losses(sets: &[LostSet], play: impl Fn(&LostSet) -> PlayRecord + Sync, depth: Thoroughness) -> PlayedCase {
    if depth == Thoroughness::AllCases {
        return PlayedCase::whole(parallel::map(sets, play));
    }
    let mut plays = Vec::new();
    for lost in sets {
        let found = play(lost);
        let has_failed = !found.outcome.is_survived();
        plays.push(found);
        if has_failed {
            break;
        }
    }
    PlayedCase { is_cut_short: plays.len() < sets.len(), plays }
}
