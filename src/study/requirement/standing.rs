//! Whether variants keep what is required, as far as their runs tell.

use serde::Serialize;

use super::super::document::RUNS_MAX;
use super::super::results::{CONFIDENCE, Results, confidence_of_look};
use super::super::run::RunRow;
use super::super::statistics::{binomial_at_most, share_at_least};
use super::{Limit, Place, Requirement};

/// What runs tell of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// At least the share that is required keeps it.
    Meets,
    /// A smaller share does.
    Misses,
    /// The runs do not tell.
    Open,
}

impl Standing {
    /// As tables have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Meets => "meets",
            Self::Misses => "misses",
            Self::Open => "open",
        }
    }
}

/// How one variant stands to one requirement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Kept {
    /// Position of the variant.
    pub variant: usize,
    /// What follows from its runs.
    #[serde(flatten)]
    pub judged: Judged,
}

/// What runs tell of the share of all runs that keep something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Runs that were played.
    pub n: usize,
    /// Those that keep it.
    pub kept: usize,
    /// At least this share of all runs keeps it: the lower end of Clopper and Pearson's interval.
    pub share_at_least: f64,
    /// At most this share does: the upper end. Each end holds with the confidence that is said with it.
    pub share_at_most: f64,
    /// What follows.
    pub standing: Standing,
    /// About how many runs would tell, if it goes on as it is, where these do not; none if no number that anybody plays does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u64>,
}

/// What `kept` of `n` runs tell of a requirement of that share.
fn standing(kept: usize, n: usize, share: f64, confidence: f64) -> Standing {
    let error = 1.0 - confidence;
    // That every run of all that may come keeps it no number of runs shows: those that were played decide.
    if share >= 1.0 {
        return match n {
            0 => Standing::Open,
            n if kept == n => Standing::Meets,
            _ => Standing::Misses,
        };
    }
    let is_told_to_meet = kept > 0 && 1.0 - binomial_at_most(kept - 1, n, share) <= error;
    let is_told_to_miss = binomial_at_most(kept, n, share) < error;
    match (is_told_to_meet, is_told_to_miss) {
        (true, _) => Standing::Meets,
        (_, true) => Standing::Misses,
        _ => Standing::Open,
    }
}

/// What `kept` of `n` runs tell of a requirement of that share, at that confidence of either end.
///
/// # Source
///
/// Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934), of one side.
pub(in crate::study) fn judged(kept: usize, n: usize, share: f64, confidence: f64) -> Judged {
    let standing = standing(kept, n, share, confidence);
    let (low, high) = bounds(kept, n, confidence);
    let runs_needed = match standing {
        Standing::Open => runs_needed(kept, n, share, confidence),
        Standing::Meets | Standing::Misses => None,
    };
    Judged { n, kept, share_at_least: low, share_at_most: high, standing, runs_needed }
}

/// At least and at most such a share of all runs keeps it, each at that confidence.
fn bounds(kept: usize, n: usize, confidence: f64) -> (f64, f64) {
    match n {
        0 => (0.0, 1.0),
        n => (share_at_least(kept, n, confidence), 1.0 - share_at_least(n - kept, n, confidence)),
    }
}

/// Runs from which on a share is told, if of more of them as large a share keeps it as of these.
fn runs_needed(kept: usize, n: usize, share: f64, confidence: f64) -> Option<u64> {
    let seen = if n == 0 { 1.0 } else { kept as f64 / n as f64 };
    let tells = |runs: u64| {
        let kept = (seen * runs as f64 + 1e-9).floor() as usize;
        standing(kept, runs as usize, share, confidence) != Standing::Open
    };
    let (mut low, mut high) = (n as u64, (n as u64).max(1) * 2);
    while !tells(high) {
        (low, high) = (high, high * 2);
        if high > RUNS_MAX {
            return None;
        }
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        if tells(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The fewest runs that can tell that a share keeps something: all of them have to.
pub(in crate::study) fn runs_to_tell_if_all_meet(share: f64, confidence: f64) -> u64 {
    if share >= 1.0 { 1 } else { (libm::log(1.0 - confidence) / libm::log(share) - 1e-9).ceil().max(1.0) as u64 }
}

impl Requirement {
    /// Runs that keep it, of a study that requires all these.
    pub(in crate::study) fn kept_in<'a>(&self, requirements: &[Self], runs: impl Iterator<Item = &'a RunRow>) -> usize {
        let Some(place) = Place::of(requirements, &self.figure()) else { return 0 };
        runs.filter(|row| self.limit.holds(place.in_run(row))).count()
    }

    /// Whether the runs of now decide, however many more may come.
    fn is_of_every_run(&self) -> bool {
        self.probability >= 1.0
    }
}

/// What a look at a variant has seen of a requirement.
#[derive(Clone, Copy)]
struct Seen {
    /// So many of its first runs.
    n: usize,
    /// Those of them that keep it.
    kept: usize,
    /// The confidence at which it may tell anything of it.
    confidence: f64,
}

impl Seen {
    fn standing(&self, one: &Requirement) -> Standing {
        standing(self.kept, self.n, one.probability, self.confidence)
    }
}

impl Limit {
    /// The number alone.
    pub(in crate::study) fn value(self) -> f64 {
        let (Self::AtLeast(value) | Self::AtMost(value)) = self;
        value
    }
}

impl Results {
    /// Whether anything is required of runs.
    #[must_use]
    pub fn requires(&self) -> bool {
        !self.requirements.is_empty()
    }

    /// The confidence of what is told of one requirement under one variant: all that is told of all of them holds at once at the study's,
    /// so that it also holds for a variant that was picked. Where variants are played in rounds, that of all looks together.
    ///
    /// # Source
    ///
    /// Bonferroni's inequality, as for pairs of variants: Law, Simulation Modeling and Analysis, section 10.3. What is told of one
    /// variant errs on one side only, as its share is on one side of what is required.
    #[must_use]
    pub fn requirement_confidence(&self) -> f64 {
        self.of_each(self.confidence_of_all())
    }

    /// The confidence of all that is told of requirements.
    pub(in crate::study) fn confidence_of_all(&self) -> f64 {
        if self.selection.is_some() { CONFIDENCE } else { self.confidence() }
    }

    /// That of one requirement under one variant, if all of them hold at such a one.
    fn of_each(&self, of_all: f64) -> f64 {
        let told = (self.variants.len() * self.requirements.len()).max(1) as f64;
        1.0 - (1.0 - of_all) / told
    }

    /// What the looks at a variant have seen of a requirement, the last one at the end. Where variants are played in rounds, what a look has told
    /// stays told, also of who was not played on.
    fn looks_at(&self, one: &Requirement, variant: usize) -> Vec<Seen> {
        let runs = &self.runs[variant];
        let seen = |n: usize, of_all: f64| {
            let kept = one.kept_in(&self.requirements, runs.iter().take(n));
            Seen { n, kept, confidence: self.of_each(of_all) }
        };
        match &self.selection {
            None => vec![seen(runs.len(), self.confidence())],
            Some(selection) => {
                let looks = selection.rounds_until(runs.len() as u32).zip(1..);
                looks.map(|(n, look)| seen(runs.len().min(n as usize), confidence_of_look(look))).collect()
            }
        }
    }

    /// How a variant stands to a requirement, by all looks at it. What it is told to miss outweighs what it was told to meet.
    fn standing_to(&self, one: &Requirement, variant: usize) -> Standing {
        let told: Vec<Standing> = self.looks_at(one, variant).iter().map(|seen| seen.standing(one)).collect();
        if one.is_of_every_run() {
            // A run that is still to come may not keep it.
            let last = told.last().copied().filter(|of| *of == Standing::Misses || !self.may_have_more(variant));
            return last.unwrap_or(Standing::Open);
        }
        let decisive = [Standing::Misses, Standing::Meets].into_iter().find(|of| told.contains(of));
        decisive.unwrap_or(Standing::Open)
    }

    /// The same with what it follows from.
    fn judged_to(&self, one: &Requirement, variant: usize) -> Judged {
        let looks = self.looks_at(one, variant);
        let Seen { n, kept, confidence } = *looks.last().expect("there is a last look");
        let last = bounds(kept, n, confidence);
        let each = looks.iter().map(|seen| bounds(seen.kept, seen.n, seen.confidence));
        let all = each.fold(last, |(low, high), of| (low.max(of.0), high.min(of.1)));
        // Looks that contradict one another leave the last one's bounds.
        let (share_at_least, share_at_most) = if all.0 <= all.1 { all } else { last };
        let standing = self.standing_to(one, variant);
        let runs_needed = match standing {
            Standing::Open if one.is_of_every_run() => self.selection.as_ref().map(|of| of.replications_max.into()),
            Standing::Open => runs_needed(kept, n, one.probability, confidence),
            Standing::Meets | Standing::Misses => None,
        };
        Judged { n, kept, share_at_least, share_at_most, standing, runs_needed }
    }

    /// How each variant stands to each requirement: a list for each of these.
    #[must_use]
    pub fn requirements_kept(&self) -> Vec<Vec<Kept>> {
        let of = |one: &Requirement, variant: usize| Kept { variant, judged: self.judged_to(one, variant) };
        let variants = 0..self.variants.len();
        self.requirements.iter().map(|one| variants.clone().map(|variant| of(one, variant)).collect()).collect()
    }

    /// How each variant stands to all that is required together: it meets all, or is told to miss one, or neither is told.
    pub(in crate::study) fn standings(&self) -> Vec<Standing> {
        let of = |variant: usize| {
            let each = self.requirements.iter().map(|one| self.standing_to(one, variant));
            let worst = |so_far: Standing, next: Standing| match (so_far, next) {
                (Standing::Misses, _) | (_, Standing::Misses) => Standing::Misses,
                (Standing::Open, _) | (_, Standing::Open) => Standing::Open,
                _ => Standing::Meets,
            };
            each.fold(Standing::Meets, worst)
        };
        (0..self.variants.len()).map(of).collect()
    }

    /// Whether a variant has fewer runs than it may have, as others are played on in its place.
    pub(in crate::study) fn may_have_more(&self, variant: usize) -> bool {
        let most = self.selection.as_ref().map_or(0, |selection| selection.replications_max as usize);
        self.runs[variant].len() < most
    }

    /// Labels of the requirements that each variant is told to miss.
    pub(crate) fn missed(&self) -> Vec<Vec<String>> {
        let mut missed = vec![Vec::new(); self.variants.len()];
        for (one, of) in self.requirements.iter().zip(self.requirements_kept()) {
            for kept in of.into_iter().filter(|kept| kept.judged.standing == Standing::Misses) {
                missed[kept.variant].push(one.label());
            }
        }
        missed
    }

    /// Variants that cannot be recommended: they are ruled out, or are not told to meet what is required.
    pub(in crate::study) fn not_to_recommend(&self) -> Vec<bool> {
        let standings = self.standings().into_iter();
        self.ruled_out().into_iter().zip(standings).map(|(is_out, of)| is_out || of != Standing::Meets).collect()
    }

    /// Whether something is required, and no variant that could be recommended is told to meet it.
    pub(crate) fn nobody_meets(&self) -> bool {
        self.requires() && self.not_to_win().into_iter().all(|is_out| is_out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::results::tests::{results, with_metric};
    use super::super::super::tuning::Selection;
    use super::*;

    fn check(kept: usize, n: usize, share: f64, expected: Standing) {
        assert_eq!(judged(kept, n, share, 0.95).standing, expected, "{kept} of {n} for {share}");
    }

    #[test]
    fn shares_are_told_as_exact_binomial_bounds_do() {
        // 0.95^59 is less than 5 %, 0.95^58 is not; of 93 one may miss.
        check(59, 59, 0.95, Standing::Meets);
        check(58, 58, 0.95, Standing::Open);
        check(92, 93, 0.95, Standing::Meets);
        check(91, 92, 0.95, Standing::Open);
        // The upper bound of 10 of 20 is 69.8 %: Clopper and Pearson.
        check(10, 20, 0.70, Standing::Misses);
        check(10, 20, 0.69, Standing::Open);
        check(0, 0, 0.95, Standing::Open);
        let of = judged(10, 20, 0.9, 0.95);
        assert!((of.share_at_most - 0.698_0).abs() < 1e-4 && (of.share_at_least - 0.302_0).abs() < 1e-4, "{of:?}");
        let none = judged(30, 30, 0.95, 0.95);
        assert!((none.share_at_least - 0.905_0).abs() < 1e-4 && none.share_at_most == 1.0, "{none:?}");
    }

    #[test]
    fn every_run_means_those_that_are_played() {
        check(5, 5, 1.0, Standing::Meets);
        check(4, 5, 1.0, Standing::Misses);
        check(0, 0, 1.0, Standing::Open);
    }

    #[test]
    fn how_many_runs_would_tell_is_worked_out_from_what_was_seen() {
        assert_eq!(judged(30, 30, 0.95, 0.95).runs_needed, Some(59));
        assert_eq!(runs_to_tell_if_all_meet(0.95, 0.95), 59);
        assert_eq!(runs_to_tell_if_all_meet(0.999, 0.95), 2995);
        let needed = judged(97, 100, 0.95, 0.95).runs_needed.expect("some number tells");
        let kept = |runs: u64| (0.97 * runs as f64 + 1e-9).floor() as usize;
        let at = |runs: u64| standing(kept(runs), runs as usize, 0.95, 0.95);
        assert_eq!((at(needed), at(needed - 1)), (Standing::Meets, Standing::Open));
        // Just what is required is never told.
        assert_eq!(judged(95, 100, 0.95, 0.95).runs_needed, None);
    }

    fn required(results: &mut Results, most: f64, probability: f64) {
        let metric = "longest_gap_s".to_owned();
        results.requirements.push(Requirement { metric, workload: None, limit: Limit::AtMost(most), probability });
    }

    /// Three variants of a hundred runs: the cheapest has gaps in a fifth of its runs, the next in none, what is there in none.
    fn found() -> Results {
        let costs = |mean: f64| (0..100).map(|run| mean + f64::from(run % 7)).collect::<Vec<f64>>();
        let mut found = results(&[&costs(50.0), &costs(10.0), &costs(30.0)]);
        let gaps: Vec<f64> = (0..100).map(|run| if run % 5 == 0 { 600.0 } else { 0.0 }).collect();
        with_metric(&mut found, 1, "longest_gap_s", &gaps);
        found
    }

    #[test]
    fn who_is_told_to_miss_cannot_be_the_cheapest() {
        let mut found = found();
        assert_eq!(found.comparison().expect("priced").best, 1);
        required(&mut found, 60.0, 0.95);
        assert_eq!(found.standings(), [Standing::Meets, Standing::Misses, Standing::Meets]);
        assert_eq!(found.ruled_out(), [false, true, false]);
        assert_eq!(found.missed()[1], ["longest_gap_s<=60"]);
        assert_eq!(found.comparison().expect("priced").best, 2);
        let tuning = found.tuning().expect("priced");
        assert_eq!((tuning.recommended_variant(), tuning.changes_others), (Some(2), true));
        let csv = found.variants_csv();
        assert!(csv.lines().next().is_some_and(|header| header.ends_with(",longest_gap_s<=60")), "{csv}");
        assert!(csv.lines().any(|row| row.starts_with("1,1,cost,") && row.ends_with(",longest_gap_s<=60,,,misses")));
    }

    #[test]
    fn who_leaves_it_open_is_not_recommended_either() {
        let mut found = found();
        let gaps: Vec<f64> = (0..100).map(|run| if run % 25 == 0 { 600.0 } else { 0.0 }).collect();
        with_metric(&mut found, 1, "longest_gap_s", &gaps);
        required(&mut found, 60.0, 0.95);
        assert_eq!(found.standings()[1], Standing::Open);
        assert_eq!(found.ruled_out(), [false; 3]);
        assert_eq!(found.comparison().expect("priced").best, 2);
    }

    #[test]
    fn where_what_is_there_misses_the_cheapest_that_meets_is_recommended_though_it_costs_more() {
        let mut found = found();
        found.baseline = 1;
        let tuning = found.tuning().expect("priced");
        assert!(!tuning.changes_others);
        required(&mut found, 60.0, 0.95);
        let tuning = found.tuning().expect("priced");
        assert_eq!((tuning.recommended_variant(), tuning.changes_others), (Some(2), true));
        assert!(found.comparison().expect("some meet").against_baseline.low > 0.0);
    }

    #[test]
    fn what_a_look_has_told_stays_told() {
        // None of the first 44 runs misses, so that it is told after the third look; of all 100 so many miss that 100 alone do not tell it.
        let costs = |mean: f64| (0..100).map(|run| mean + f64::from(run % 7)).collect::<Vec<f64>>();
        let mut found = results(&[&costs(50.0), &costs(10.0)]);
        let gaps: Vec<f64> = (0..100).map(|run| if run > 44 && run % 4 == 0 { 600.0 } else { 0.0 }).collect();
        with_metric(&mut found, 1, "longest_gap_s", &gaps);
        required(&mut found, 60.0, 0.85);
        assert_eq!(found.standings(), [Standing::Meets, Standing::Open]);
        found.selection = Some(Selection { replications: 100, looks: 6, ..Selection::begin(100) });
        found.looks = 6;
        assert_eq!(found.standings(), [Standing::Meets, Standing::Meets]);
        let judged = found.requirements_kept()[0][1].judged;
        assert!(judged.share_at_least >= 0.85 && judged.kept == 87 && judged.runs_needed.is_none(), "{judged:?}");
        // Of every run the last look decides.
        found.requirements[0].probability = 1.0;
        assert_eq!(found.standings(), [Standing::Meets, Standing::Misses]);
    }

    #[test]
    fn where_nobody_meets_nothing_is_recommended() {
        let mut found = found();
        let gaps = [600.0; 100];
        (0..3).for_each(|variant| with_metric(&mut found, variant, "longest_gap_s", &gaps));
        required(&mut found, 60.0, 0.95);
        assert!(found.nobody_meets() && found.comparison().is_none());
        assert!(found.tuning().is_some_and(|tuning| !tuning.changes()));
    }

    #[test]
    fn what_is_told_of_variants_and_requirements_holds_for_all_at_once() {
        // Shares of just what is required: whoever is told to meet or to miss is told wrongly of one of them or the other.
        let mut stream = crate::engine::Streams::new(5).stream("requirements", "");
        let wrong = (0..400).filter(|_| {
            let costs = [1.0; 80];
            let mut found = results(&[&costs, &costs, &costs, &costs]);
            for variant in 0..4 {
                let gaps: Vec<f64> = (0..80).map(|_| if stream.unit() < 0.1 { 600.0 } else { 0.0 }).collect();
                with_metric(&mut found, variant, "longest_gap_s", &gaps);
            }
            required(&mut found, 60.0, 0.9);
            found.standings().contains(&Standing::Meets)
        });
        let count = wrong.count();
        assert!(count <= 33, "{count} of 400");
    }
}
