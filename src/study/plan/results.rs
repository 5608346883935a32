//! What a plan has found: the answer, its proof, its margin, and every play as rows.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::bounds::{Bound, Bounds};
use super::cases::LostSet;
use super::definition::{Plan, PoolRange};
use super::placement::{CONFIDENCE, Placed, Placements};
use super::play::Outcome;
use super::shortfall::Shortfall;
use crate::observe::Row as _;
use crate::report::{CandidateRow, PlayRow, named_table_text};
use crate::study::statistics::share_at_least;
use crate::units::counted;

/// A play of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayRecord {
    /// The position of its case; none if nothing happens.
    pub case: Option<usize>,
    /// What is lost.
    pub lost: LostSet,
    /// What it leaves.
    pub outcome: Outcome,
    /// The number of its placement.
    pub placement: u32,
    /// The seed it was played with.
    pub seed: u64,
}

/// What is known of counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// They cannot be enough, so nothing was played.
    RuledOut {
        /// Why.
        why: String,
    },
    /// Cases were played.
    Played {
        /// The plays of one placement after the other, of each that of the calm cluster first.
        plays: Vec<PlayRecord>,
        /// What came of each placement.
        placements: Vec<Placed>,
    },
}

impl Verdict {
    /// Adds what was played in other placements.
    pub(super) fn extend(&mut self, other: Self) {
        let Self::Played { plays: more, placements: others } = other else { return };
        let Self::Played { plays, placements } = self else { return };
        plays.extend(more);
        placements.extend(others);
    }

    /// Adds the placements that only the other has, if it has all of these.
    pub(super) fn complete(&mut self, other: &Self) {
        let Self::Played { plays: all, placements: others } = other else { return };
        let Self::Played { plays, placements } = self else { return };
        let Some(last) = placements.last().map(|of| of.number) else { return };
        plays.extend(all.iter().filter(|play| play.placement > last).cloned());
        placements.extend(others.iter().filter(|of| of.number > last));
    }
}

/// Counts of the pools, and what is known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Nodes of each pool.
    pub counts: Vec<u32>,
    /// What they cost, in millionths.
    pub price_micros: i64,
    /// What is known.
    pub verdict: Verdict,
    /// In how many placements they are tried if they may be the answer.
    pub(super) wanted: u32,
    /// How many of these have to be survived.
    pub(super) needed: u32,
}

/// Why counts fail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// The case, or `nothing lost`.
    pub case: String,
    /// What was lost.
    pub lost: String,
    /// What falls short, the most telling.
    pub shortfall: Shortfall,
    /// How much else falls short in that play.
    pub others: usize,
    /// Pods that hang on the lost nodes whatever the number of the others: see [`Outcome::stuck`].
    pub stuck: u64,
    /// The placement of that play: `--placement` plays it alone.
    pub placement: u32,
    /// Its seed.
    pub seed: u64,
    /// In how many placements the case is not survived.
    pub failed_placements: u32,
    /// In how many it was played.
    pub placements: u32,
}

/// What a workload may grow by.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Headroom {
    /// `deployment/shop/web`.
    pub workload: String,
    /// Its replicas.
    pub replicas: u32,
    /// So many more are survived, and every number between.
    pub more: u32,
    /// In how many placements that was tried.
    pub placements: u32,
    /// How many of these survive so many more.
    pub survived: u32,
    /// What one more is too many for; empty if the search ended first.
    pub binding: Vec<Failure>,
}

impl Candidate {
    pub(super) fn new(plan: &Plan, counts: &[u32], verdict: Verdict) -> Self {
        let wanted = plan.placements.count;
        let needed = plan.placements.needed().unwrap_or(wanted);
        Self { counts: counts.to_vec(), price_micros: plan.price(counts), verdict, wanted, needed }
    }

    /// What was played.
    #[must_use]
    pub fn plays(&self) -> &[PlayRecord] {
        match &self.verdict {
            Verdict::RuledOut { .. } => &[],
            Verdict::Played { plays, .. } => plays,
        }
    }

    /// What came of each placement that was played.
    #[must_use]
    pub fn placements(&self) -> &[Placed] {
        match &self.verdict {
            Verdict::RuledOut { .. } => &[],
            Verdict::Played { placements, .. } => placements,
        }
    }

    /// In how many of them everything was survived.
    #[must_use]
    pub fn survived(&self) -> usize {
        self.placements().iter().filter(|of| of.is_survived).count()
    }

    /// The first in which something was not.
    #[must_use]
    pub fn first_failed(&self) -> Option<Placed> {
        self.placements().iter().find(|of| !of.is_survived).copied()
    }

    /// Whether a case of the only placement was left at the first play that is not survived, so that it is not known how many
    /// others are.
    #[must_use]
    pub fn is_cut_short(&self, case: Option<usize>) -> bool {
        let of_only = |plays: &[PlayRecord]| plays.last().is_some_and(|last| last.case == case);
        matches!(&self.verdict, Verdict::Played { plays, placements } if matches!(placements[..], [Placed { is_cut_short: true, .. }]) && of_only(plays))
    }

    /// Whether enough of the placements that were played were survived; of counts that were not tried in all of them, every one.
    #[must_use]
    pub fn survives(&self) -> bool {
        let (played, survived) = (self.placements().len(), self.survived());
        played > 0 && (survived == played || self.is_tried_in_all() && survived >= self.needed as usize)
    }

    /// Whether every placement was played.
    #[must_use]
    pub fn is_tried_in_all(&self) -> bool {
        self.placements().len() == self.wanted as usize
    }

    /// Whether they are known to do.
    pub(super) fn holds(&self) -> bool {
        self.is_tried_in_all() && self.survives()
    }

    /// Whether the first placement left it open whether they do.
    fn may_hold(&self) -> bool {
        self.placements().len() > 1 && (self.placements()[0].is_survived || self.needed < self.wanted)
    }

    /// Whether so many placements have failed that the others can change nothing.
    pub(super) fn is_refuted(&self) -> bool {
        self.placements().len() - self.survived() > (self.wanted - self.needed) as usize
    }

    /// All nodes of the searched pools.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// The play with the least room left; ties go to the first.
    #[must_use]
    pub fn tightest(&self) -> Option<&PlayRecord> {
        let share = |play: &PlayRecord| play.outcome.margin.map(|margin| margin.free_share());
        let measured = self.plays().iter().filter_map(|play| Some((share(play)?, play)));
        measured.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, play)| play)
    }
}

fn case_of<'a>(play: &PlayRecord, cases: &'a [String]) -> &'a str {
    play.case.map_or("calm", |case| &cases[case])
}

/// Of each case, the first play that fails, and why.
pub(super) fn failures_of(candidate: &Candidate, cases: &[String]) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    for play in candidate.plays() {
        let case = case_of(play, cases);
        let Some(shortfall) = play.outcome.shortfalls.first() else { continue };
        if failures.iter().all(|failure| failure.case != case) {
            let by_placement = candidate.of_case(play.case);
            failures.push(Failure {
                case: case.to_owned(),
                lost: play.lost.label.clone(),
                shortfall: shortfall.clone(),
                others: play.outcome.shortfalls.len() - 1,
                stuck: play.outcome.stuck,
                placement: play.placement,
                seed: play.seed,
                failed_placements: by_placement.iter().filter(|of| !of.is_survived).count() as u32,
                placements: by_placement.len() as u32,
            });
        }
    }
    failures
}

/// What came of a case in one placement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PlacedCase {
    /// The number of the placement.
    pub placement: u32,
    /// How many plays of the case there were.
    pub plays: usize,
    /// How many of them are not survived.
    pub failed: usize,
    /// Whether all are survived.
    pub is_survived: bool,
}

impl Candidate {
    /// What came of a case in each placement in which it was played.
    #[must_use]
    pub fn of_case(&self, case: Option<usize>) -> Vec<PlacedCase> {
        let mut found: Vec<PlacedCase> = Vec::new();
        for play in self.plays().iter().filter(|play| play.case == case) {
            if found.last().is_none_or(|of| of.placement != play.placement) {
                found.push(PlacedCase { placement: play.placement, plays: 0, failed: 0, is_survived: true });
            }
            let of = found.last_mut().expect("one has just been added");
            of.plays += 1;
            of.failed += usize::from(!play.outcome.is_survived());
            of.is_survived &= play.outcome.is_survived();
        }
        found
    }
}

/// Everything a plan has found.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanResults {
    /// Name of the plan.
    pub plan: String,
    /// Its file, as it was given, an absolute path by its name alone; none if it was no file.
    pub file: Option<String>,
    /// The seed with which each case was played in placement 0; in the others it is larger by their number.
    pub seed: u64,
    /// In how many placements counts were to be tried, and how many of these had to be survived.
    pub placements: Placements,
    /// The searched pools.
    pub pools: Vec<PoolRange>,
    /// Names of the cases.
    pub cases: Vec<String>,
    /// Which of them are upgrades.
    pub is_upgrade: Vec<bool>,
    /// Which pods must have their place, as the document says it; none if all.
    pub priority: Option<String>,
    /// What was tried, in order.
    pub candidates: Vec<Candidate>,
    /// The position of the first that survives.
    pub answer: Option<usize>,
    /// One node less of each pool, or the most nodes if nothing survives; played in full.
    pub binding: Vec<Candidate>,
    /// What no placement can beat, and what would do if pods were packed anew.
    pub bounds: Bounds,
    /// What workloads may grow by, if it was asked.
    pub headroom: Vec<Headroom>,
    /// What takes the answer back, in part or all of it: warnings about the plan.
    pub(super) doubts: Vec<String>,
    /// Workloads of one replica.
    pub(super) of_one_replica: BTreeSet<String>,
}

impl PlanResults {
    pub(super) fn new(plan: &Plan, candidates: Vec<Candidate>, answer: Option<usize>, binding: Vec<Candidate>) -> Self {
        Self {
            plan: plan.name.clone(),
            file: plan.file.clone(),
            seed: plan.base.seed,
            placements: plan.placements,
            pools: plan.pools.clone(),
            cases: plan.cases.iter().map(|case| case.label.clone()).collect(),
            is_upgrade: plan.cases.iter().map(|case| case.kind.is_upgrade()).collect(),
            priority: plan.priority_label.clone(),
            candidates,
            answer,
            binding,
            bounds: Bounds::default(),
            headroom: Vec::new(),
            doubts: plan.doubts().collect(),
            of_one_replica: BTreeSet::new(),
        }
    }

    /// The counts that are the answer.
    #[must_use]
    pub fn answer(&self) -> Option<&Candidate> {
        self.answer.map(|index| &self.candidates[index])
    }

    /// What a play's case is called.
    #[must_use]
    pub fn case_of(&self, play: &PlayRecord) -> &str {
        case_of(play, &self.cases)
    }

    /// In which play something is as it is, for the middle of a sentence: `without zone a`, `in the upgrade of pool worker`.
    #[must_use]
    pub fn in_which(&self, play: &PlayRecord) -> String {
        match play.case {
            None => "while nothing is lost".to_owned(),
            Some(_) if !play.lost.nodes.is_empty() => format!("without {}", play.lost.label),
            Some(case) if self.is_upgrade[case] => format!("in the case {}, of {}", self.cases[case], play.lost.label),
            Some(case) => format!("in the case {}, which plays the scenario {}", self.cases[case], play.lost.label),
        }
    }

    /// Counts in words: `8 of worker`, `3 of small and 2 of large`.
    #[must_use]
    pub fn in_words(&self, counts: &[u32]) -> String {
        let parts: Vec<String> =
            counts.iter().zip(&self.pools).map(|(count, pool)| format!("{count} of {}", pool.name)).collect();
        parts.join(" and ")
    }

    /// How many mixes were tried in several placements until one held: each of them could have been the answer by luck.
    #[must_use]
    pub fn contenders(&self) -> usize {
        let known = self.answer.map_or(self.candidates.len(), |answer| answer + 1);
        self.candidates[..known].iter().filter(|of| of.may_hold()).count().max(1)
    }

    /// In at least which share of all placements counts survive, at a confidence of [`CONFIDENCE`] for all contenders together.
    #[must_use]
    pub fn share_at_least(&self, candidate: &Candidate) -> f64 {
        // Bonferroni's inequality: none of the contenders' bounds is wrong but with so little chance.
        let confidence = 1.0 - (1.0 - CONFIDENCE) / self.contenders() as f64;
        share_at_least(candidate.survived(), candidate.placements().len(), confidence)
    }

    /// Why counts fail: of each case, the first play that does.
    #[must_use]
    pub fn failures(&self, candidate: &Candidate) -> Vec<Failure> {
        failures_of(candidate, &self.cases)
    }

    /// Counts after the answer that were played and do not survive.
    #[must_use]
    pub fn islands(&self) -> Vec<&Candidate> {
        let behind = self.answer.map_or(self.candidates.len(), |answer| answer + 1);
        let is_larger = |candidate: &&Candidate| {
            self.answer().is_some_and(|answer| {
                !candidate.survives() && candidate.counts.iter().zip(&answer.counts).all(|(more, least)| more >= least)
            })
        };
        self.candidates[behind..].iter().filter(is_larger).collect()
    }

    /// The text of `summary.json`.
    #[must_use]
    pub fn summary_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.summary()).expect("results are plain data");
        text.push('\n');
        text
    }

    /// What stands in `summary.json`.
    #[must_use]
    pub fn summary(&self) -> Value {
        let answer = self.answer().map(|answer| {
            let tightest = answer.tightest().map(|play| {
                let margin = play.outcome.margin.unwrap_or_default();
                json!({
                    "case": self.case_of(play),
                    "lost": play.lost.label,
                    "atSeconds": margin.at.as_secs_f64(),
                    "freeCpuMilli": margin.free_cpu_milli,
                    "cpuMilli": margin.cpu_milli,
                    "freeMemory": margin.free_memory,
                    "memory": margin.memory,
                    "freePods": margin.free_pods,
                    "pods": margin.pods,
                })
            });
            let stuck = answer.plays().iter().map(|play| play.outcome.stuck).max();
            json!({
                "counts": self.counts_json(&answer.counts),
                "nodes": answer.nodes(),
                "price": answer.price_micros as f64 / 1e6,
                "plays": answer.plays().len(),
                "tightest": tightest,
                "stuckOnLostNodesMax": stuck,
                "waitedBeyondHelpMax": answer.plays().iter().map(|play| play.outcome.waited_beyond_help).max(),
                "refusedMax": answer.plays().iter().map(|play| play.outcome.refused).max(),
                "lostForGoodMax": answer.plays().iter().map(|play| play.outcome.lost).max(),
                "placements": self.placements_json(answer),
            })
        });
        let tried = self.candidates.iter().map(|candidate| {
            let (verdict, why) = self.verdict(candidate);
            json!({
                "counts": self.counts_json(&candidate.counts),
                "price": candidate.price_micros as f64 / 1e6,
                "verdict": verdict,
                "why": why,
                "placements": self.placements_json(candidate),
            })
        });
        let binding = self.binding.iter().map(|candidate| {
            json!({
                "counts": self.counts_json(&candidate.counts),
                "failures": self.failures(candidate),
                "placements": self.placements_json(candidate),
            })
        });
        let pools = self.pools.iter().map(|pool| {
            json!({
                "name": pool.name, "min": pool.min, "max": pool.max, "price": pool.price_micros as f64 / 1e6,
                "now": pool.now,
            })
        });
        let bound = |bound: &Bound| {
            json!({
                "counts": self.counts_json(&bound.counts),
                "nodes": bound.counts.iter().sum::<u32>(),
                "price": bound.price_micros as f64 / 1e6,
            })
        };
        json!({
            "plan": self.plan,
            "verdict": self.verdict_told(),
            "version": env!("CARGO_PKG_VERSION"),
            "pools": pools.collect::<Vec<Value>>(),
            "survive": self.cases,
            "seed": self.seed,
            "priority": self.priority,
            "answer": answer,
            "binding": binding.collect::<Vec<Value>>(),
            "headroom": self.headroom,
            "tried": tried.collect::<Vec<Value>>(),
            "file": self.file,
            "placements": {
                "first": self.placements.first,
                "count": self.placements.count,
                "needed": self.placements.needed(),
                "probability": self.placements.probability,
                "confidence": self.placements.confidence,
            },
            "bounds": {
                "lower": self.bounds.lower.as_ref().map(bound),
                "repacked": self.bounds.repacked.as_ref().map(bound),
                "without": self.bounds.without,
            },
            "rows": {
                (CandidateRow::TABLE.file): self.candidates.len(),
                (PlayRow::TABLE.file): self.candidates.iter().map(|of| of.plays().len()).sum::<usize>(),
            },
        })
    }

    /// In how many placements counts survive, and one in which they do not.
    fn placements_json(&self, candidate: &Candidate) -> Value {
        let failed = candidate.first_failed();
        json!({
            "played": candidate.placements().len(),
            "survived": candidate.survived(),
            "shareAtLeast": self.share_at_least(candidate),
            "failsIn": failed.map(|of| json!({"placement": of.number, "seed": of.seed})),
        })
    }

    fn counts_json(&self, counts: &[u32]) -> Value {
        let named = self.pools.iter().zip(counts).map(|(pool, count)| (pool.name.as_str().to_owned(), json!(count)));
        Value::Object(named.collect())
    }

    /// What is known of counts in a word, and why.
    fn verdict(&self, candidate: &Candidate) -> (&'static str, String) {
        match &candidate.verdict {
            Verdict::RuledOut { why } => ("ruled out", format!("{why}{}", self.played_besides(candidate))),
            Verdict::Played { .. } if candidate.survives() => ("survives", String::new()),
            Verdict::Played { .. } => {
                let first = self.failures(candidate).into_iter().next();
                let why = first.map(|failure| {
                    let Failure { case, lost, shortfall: Shortfall { kind, object, why, wait, .. }, .. } = failure;
                    let wait = wait.map_or_else(String::new, |wait| format!(" {wait}"));
                    format!("{case}, {lost}: {object} {kind:?}{wait}: {why}")
                });
                ("fails", why.unwrap_or_default())
            }
        }
    }

    /// What is played of counts that are ruled out: what fails there is told, and stands in no table.
    #[must_use]
    pub fn played_besides(&self, ruled_out: &Candidate) -> String {
        let plays = self.besides().find(|of| of.counts == ruled_out.counts).map_or(0, |of| of.plays().len());
        match plays {
            0 => String::new(),
            plays => {
                let plays = counted(plays, "play that is in no table", "plays that are in no table");
                format!(" ({plays}, besides, to say what fails)")
            }
        }
    }

    /// What binds the answer and was ruled out.
    pub(super) fn besides(&self) -> impl Iterator<Item = &Candidate> {
        let is_ruled_out = |of: &&Candidate| {
            let mut known = self.candidates.iter().filter(|known| known.counts == of.counts);
            known.any(|known| matches!(known.verdict, Verdict::RuledOut { .. }))
        };
        self.binding.iter().filter(is_ruled_out)
    }

    /// `plan.csv`: what was tried, in order.
    #[must_use]
    pub fn plan_csv(&self) -> Vec<u8> {
        let row = |candidate: &Candidate| {
            let (verdict, why) = self.verdict(candidate);
            CandidateRow {
                counts: candidate.counts.clone(),
                nodes: candidate.nodes(),
                price: candidate.price_micros as f64 / 1e6,
                verdict,
                plays: candidate.plays().len(),
                failed_plays: candidate.plays().iter().filter(|play| !play.outcome.is_survived()).count(),
                why,
                is_cut_short: candidate.placements().iter().any(|of| of.is_cut_short),
                placements: candidate.placements().len(),
                survived_placements: candidate.survived(),
                share_at_least: self.share_at_least(candidate),
                failed_placement: candidate.first_failed().map(|of| i64::from(of.number)),
            }
        };
        named_table_text::<CandidateRow>(&[&self.pool_names()], self.candidates.iter().map(row))
    }

    /// `cases.csv`: every play.
    #[must_use]
    pub fn cases_csv(&self) -> Vec<u8> {
        let plays = self.candidates.iter().flat_map(|of| of.plays().iter().map(move |play| (of, play)));
        let rows = plays.map(|(candidate, play)| self.play_row(candidate, play));
        named_table_text::<PlayRow>(&[&self.pool_names()], rows)
    }

    fn pool_names(&self) -> Vec<&str> {
        self.pools.iter().map(|pool| pool.name.as_str()).collect()
    }

    fn play_row(&self, candidate: &Candidate, play: &PlayRecord) -> PlayRow {
        let outcome = &play.outcome;
        let margin = outcome.margin.unwrap_or_default();
        let shortfall = |of: &Shortfall| [format!("{:?}", of.kind), of.object.clone(), of.why.clone()];
        PlayRow {
            counts: candidate.counts.clone(),
            case: self.case_of(play).to_owned(),
            lost: play.lost.label.clone(),
            nodes_lost: play.lost.nodes.len(),
            alike: play.lost.alike,
            is_survived: outcome.is_survived(),
            shortfalls: outcome.shortfalls.len(),
            pending: outcome.pending,
            stuck: outcome.stuck,
            unready_replica_s: outcome.unready_replica_s,
            free_cpu_milli: margin.free_cpu_milli,
            free_memory: margin.free_memory,
            waited: outcome.waited,
            longest_wait: outcome.longest_wait,
            waited_beyond_help: outcome.waited_beyond_help,
            shortfall: outcome.shortfalls.first().map(shortfall).unwrap_or_default(),
            lost_for_good: outcome.lost,
            free_pods: margin.free_pods,
            refused: outcome.refused,
            placement: play.placement,
            seed: play.seed,
        }
    }
}
