//! Which counts survive: the search, and the proof that fewer do not.

use rustc_hash::FxHashSet;

use super::capacity::{Demand, set_replicas, too_little, with_counts};
use super::case::Plays;
use super::cases::{self, LostSet, Symmetry};
use super::definition::{Case, Plan};
use super::judge::Judge;
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
        candidates.extend(found);
        answer = candidates.iter().position(Candidate::survives);
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
    PlanResults::new(plan, candidates, answer, binding)
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
    /// A workload with another number of replicas.
    pub(super) replicas: Option<(&'a str, u32)>,
}

impl<'a> Trial<'a> {
    /// Other counts, and nothing else.
    pub(super) fn of_counts(counts: &'a [u32]) -> Self {
        Self { counts, replicas: None }
    }

    /// The scenario as it is tried.
    pub(super) fn apply(self, plan: &Plan, scenario: &ResolvedScenario) -> ResolvedScenario {
        let mut tried = with_counts(scenario, &plan.counts_in(scenario, self.counts));
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
            mentioned: cases::mentioned(&plan.base.objects),
            pools: plan.pools.iter().map(|pool| pool.name).collect(),
        }
    }

    /// Plays the cases on the cluster with these counts.
    pub(super) fn evaluate(&self, counts: &[u32], depth: Thoroughness, part: &Part<'_>) -> Candidate {
        part.heed();
        let trial = Trial::of_counts(counts);
        let verdict = match too_little(self.plan, &trial.apply(self.plan, &self.plan.base), &self.demand) {
            Some(why) => Verdict::RuledOut { why },
            None => self.play(trial, depth),
        };
        part.advance();
        Candidate::new(self.plan, counts, verdict)
    }

    /// Plays the cases on a cluster, whatever it is said to give.
    pub(super) fn play(&self, trial: Trial<'_>, depth: Thoroughness) -> Verdict {
        let scenario = &trial.apply(self.plan, &self.plan.base);
        let settled = Prepared::new(scenario);
        let calm = PlayRecord::calm(self.judge.play_calm(scenario, &settled, self.watch(Reach::Named)));
        if !calm.outcome.is_survived() {
            return Verdict::Played { plays: vec![calm], is_cut_short: false };
        }
        let mut plays = vec![calm];
        let mut is_cut_short = false;
        for (index, case) in self.plan.cases.iter().enumerate() {
            let found = self.play_case(index, case, trial, scenario, &settled, depth);
            let has_failed = found.plays.iter().any(|play| !play.outcome.is_survived());
            plays.extend(found.plays);
            is_cut_short = found.is_cut_short;
            if has_failed && depth == Thoroughness::UntilOneFails {
                break;
            }
        }
        Verdict::Played { plays, is_cut_short }
    }

    /// Watches which pods have to wait for room.
    pub(super) fn watch(&self, reach: Reach) -> Watch<'_> {
        Watch::new(self.judge, &self.pools, reach)
    }

    fn play_case(
        &self,
        index: usize,
        case: &Case,
        trial: Trial<'_>,
        scenario: &ResolvedScenario,
        settled: &Prepared,
        depth: Thoroughness,
    ) -> PlayedCase {
        let record = |lost: LostSet, outcome: Outcome| PlayRecord { case: Some(index), lost, outcome };
        let all = |name: &str| LostSet { label: name.to_owned(), nodes: Vec::new(), alike: 1 };
        match case.kind.plays(settled.store(), &self.mentioned, self.symmetry) {
            Plays::Losses(sets, reach) => self.play_losses((index, reach), sets, scenario, settled, depth),
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
                let outcome = self.judge.play_own(&own, &Prepared::new(&own), self.watch(Reach::of(&own.chaos)));
                PlayedCase::whole(vec![record(all(&own.name), outcome)])
            }
        }
    }

    /// Plays the loss of each set of nodes.
    fn play_losses(
        &self,
        (index, reach): (usize, Reach),
        sets: Vec<LostSet>,
        scenario: &ResolvedScenario,
        settled: &Prepared,
        depth: Thoroughness,
    ) -> PlayedCase {
        let play = |lost: &LostSet| {
            let outcome = self.judge.play(scenario, settled, play::loss(scenario, lost), self.watch(reach));
            PlayRecord { case: Some(index), lost: lost.clone(), outcome }
        };
        if depth == Thoroughness::AllCases {
            return PlayedCase::whole(parallel::map(&sets, play));
        }
        let count = sets.len();
        let mut plays = Vec::new();
        for lost in &sets {
            let found = play(lost);
            let has_failed = !found.outcome.is_survived();
            plays.push(found);
            if has_failed {
                break;
            }
        }
        PlayedCase { is_cut_short: plays.len() < count, plays }
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
            let survivors: Vec<&Candidate> = binding.iter().filter(|candidate| candidate.survives()).collect();
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
            *answer = candidates.iter().position(Candidate::survives);
        }
    }

    /// What stands between the answer and one node less of each pool; if there is no answer, what the most nodes do not survive.
    /// Each is played in full.
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
            let is_known = |candidate: &&Candidate| candidate.counts == *counts && plan.pools.len() == 1;
            let known = candidates.iter().find(is_known);
            // What is ruled out has not been played; which pod it would hit is worth a play.
            let found = match known.filter(|candidate| matches!(candidate.verdict, Verdict::Played { .. })) {
                Some(candidate) => candidate.clone(),
                None => {
                    let verdict = self.play(Trial::of_counts(counts), Thoroughness::AllCases);
                    Candidate::new(plan, counts, verdict)
                }
            };
            part.advance();
            found
        })
    }
}
