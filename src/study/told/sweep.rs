//! Which variant costs least, in words, and what speaks against it.

use super::super::comparison::{Comparison, Unavailability};
use super::super::estimate::RestsOnUnseen;
use super::super::results::Precision;
use super::super::statistics::{FEW, Interval, observations_for_quantile, unseen_share};
use super::super::tables::Statistic;
use super::super::tuning::Selection;
use super::words::{number, percent, spread, too_few};
use super::{Remark, Teller};
use crate::observe::Tone;
use crate::report::SHOWN_METRICS;
use crate::units::{counted, grouped};

impl Teller<'_> {
    /// What stands in brackets.
    #[must_use]
    pub fn intervals(&self) -> Vec<String> {
        let results = self.results;
        let looked = match results.looks {
            0 => String::new(),
            looks => format!(", widened for {} at the results", counted(looks as usize, "look", "looks")),
        };
        let mut notes =
            vec![format!("[low, high] is the {} % interval of the mean{looked}", percent(results.confidence()))];
        let shown = SHOWN_METRICS.into_iter().chain([results.decisive()]).flat_map(|metric| results.of_metric(metric));
        let shown: Vec<Interval> = shown.flat_map(|of| [of.interval, of.difference]).collect();
        if shown.iter().any(|interval| interval.widened) {
            notes.push(
                "* allows for runs that nobody has seen: where hardly any run differs from the others rare ones may be missing, each as bad as \
                 the worst of any variant; where a few carry the mean, more of these"
                    .to_owned(),
            );
        }
        if shown.iter().any(|interval| interval.widened && !interval.is_known()) {
            notes.push("? is not known: no run of any variant shows how bad it can be".to_owned());
        }
        notes.extend(self.judged_by());
        notes.extend(results.note_of_inputs());
        if results.is_weighted() {
            notes.push(
                "runs have weights: means are those of all runs as they truly come; how runs vary, and quantiles, are left out".to_owned(),
            );
            return notes;
        }
        let for_p99 = observations_for_quantile(0.99, results.confidence());
        // The terminal shows no quantiles.
        if !self.is_below_table && (results.replications as usize) < for_p99 {
            let few = too_few(results.replications as usize);
            notes.push(format!("the 99th percentile has no interval: {few}, {for_p99} would do"));
        }
        notes
    }

    /// What speaks against the numbers, and which variants do not count.
    #[must_use]
    pub fn cautions(&self) -> Vec<Remark> {
        let mut remarks: Vec<Remark> = self.results.precision.map(|found| self.precision(found)).into_iter().collect();
        remarks.extend(self.results.selection.as_ref().map(|selection| self.selection(selection)));
        remarks.extend(self.samples());
        remarks.extend(self.ruled_out());
        remarks.extend(self.requirements());
        remarks.extend(self.too_few_for_figure());
        remarks.extend(self.inputs());
        remarks
    }

    /// Whether `--precision` was reached, and what it would take.
    fn precision(&self, found: Precision) -> Remark {
        let (goal, figure) = (percent(found.goal), self.results.cost_by.name());
        if found.reached {
            return Remark::new(Tone::Neutral, format!("Every interval is within {goal} % of its {figure}."));
        }
        let unknown = || "not known, as too few runs tell how bad it can be,".to_owned();
        let width = found.width.map_or_else(unknown, |width| format!("{} %", percent(width)));
        let needed = found.needed.map_or_else(String::new, |needed| format!("; about {needed} would do"));
        let runs = counted(found.replications as usize, "run", "runs");
        let text = format!(
            "{goal} % of the {figure} is NOT reached: the widest interval is {width} after {runs} of each variant{needed}"
        );
        Remark::new(Tone::Bad, text)
    }

    /// Who was played on, and whether that was enough.
    fn selection(&self, selection: &Selection) -> Remark {
        let results = self.results;
        let all = results.variants.len() as u64 * u64::from(selection.replications_max);
        let runs = format!("{} instead of {} runs", grouped(results.run_count() as u64), grouped(all));
        let least = percent(results.indifference);
        let open = match results.requires() {
            true => "Which of these is the cheapest that meets what is required".to_owned(),
            false => format!("Whether another one of these is cheaper by more than {least} %"),
        };
        let text = match (selection.is_decided, selection.set_aside.is_empty()) {
            (true, true) => format!("Decided after {runs}"),
            (true, false) => format!("Only contenders were played on until it was decided: {runs}"),
            (false, _) => format!("Only contenders were played on: {runs}. {open} is NOT decided"),
        };
        let mut remark = Remark::new(Tone::Neutral, text);
        let mut after: Vec<u32> = selection.set_aside.iter().map(|of| of.runs).collect();
        after.sort_unstable();
        after.dedup();
        for runs in after {
            let of = selection.set_aside.iter().filter(|of| of.runs == runs).map(|of| of.variant);
            let named = self.named(&self.labels(of), "; ");
            remark = remark.with(format!("set aside after {}: {named}", counted(runs as usize, "run", "runs")));
        }
        let least = if results.indifference > 0.0 {
            format!(", by more than {least} % of what the baseline costs")
        } else {
            String::new()
        };
        let what = match (selection.is_decided, selection.set_aside.is_empty()) {
            (false, true) => return remark,
            _ if results.requires() => format!(
                "at 95 % each, over all looks, whoever is set aside or left misses what is required, or is not cheaper than the cheapest that meets it{least}"
            ),
            (true, true) => format!("at 95 %, over all looks, none of the others is cheaper than the cheapest{least}"),
            (true, false) => {
                format!(
                    "at 95 %, over all looks, none of these and of the contenders is cheaper than the cheapest{least}"
                )
            }
            (false, false) => format!("at 95 %, over all looks, none of these is the cheapest{least}"),
        };
        remark.with(what)
    }

    /// The variant that costs least; none if nothing says which.
    #[must_use]
    pub fn recommendation(&self) -> Option<Remark> {
        let results = self.results;
        if results.nobody_meets() {
            let front = self.front_if_any().map(|front| front.text);
            return Some(front.into_iter().fold(self.nobody(), Remark::with));
        }
        let comparison = results.comparison()?;
        let of = if results.requires() { " of those that are told to meet what is required" } else { "" };
        let by = if results.cost_by.is_mean() { String::new() } else { format!(" by the {}", results.cost_by.name()) };
        let text = format!("Lowest cost{by}{of}: {}, at {}", results.label(comparison.best), spread(comparison.cost));
        let mut remark = Remark::new(Tone::Neutral, text);
        if comparison.best == results.baseline {
            remark = remark.with("which is the baseline");
        } else {
            let (tone, line) = self.against_baseline(&comparison);
            remark = Remark { tone, ..remark.with(line) };
            let (best, against) = (comparison.best, comparison.against_baseline);
            if let Some(of) = results.saving_of(best, against, comparison.confidence) {
                let (holds, line) = self.as_far_as_records_tell(&of);
                // What pays only with the inputs as they were fitted is not told to pay.
                let is_undone = tone == Tone::Good && !holds && against.high < 0.0;
                remark = Remark { tone: if is_undone { Tone::Neutral } else { tone }, ..remark.with(line) };
            }
        }
        if let Some(runner_up) = comparison.runner_up {
            remark = remark.with(format!("runner-up: {}", results.label(runner_up)));
        }
        if !comparison.alike.is_empty() {
            let alike = self.named(&self.labels(comparison.alike.iter().copied()), "; ");
            remark = remark
                .with(format!("not worse as far as the data tell: {alike}; more replications may tell them apart"));
        }
        if let Some(elsewhere) = &comparison.done_elsewhere {
            remark = Remark { tone: Tone::Bad, ..remark.with(self.elsewhere(elsewhere)) };
        }
        Some(remark.with(self.front()))
    }

    /// What the best variant saves, and whether that is told.
    fn against_baseline(&self, comparison: &Comparison) -> (Tone, String) {
        let (results, against) = (self.results, comparison.against_baseline);
        let is_promised = !results.requires() || !results.not_to_recommend()[results.baseline];
        let (tone, verdict) = match &comparison.rests_on_unseen {
            _ if !is_promised => (Tone::Good, "; the baseline is not told to meet what is required".to_owned()),
            Some(found) => (Tone::Bad, format!("; NOT TOLD: {}", unseen(found))),
            None if results.replications < 2 => (Tone::Neutral, "; one replication tells nothing apart".to_owned()),
            None if against.has_zero() => (Tone::Neutral, "; the data cannot tell the two apart".to_owned()),
            None if against.mean < 0.0 && self.is_slight(comparison) => {
                let least = percent(results.indifference);
                (
                    Tone::Neutral,
                    format!("; less than {least} % of what the baseline costs, which is too little to count"),
                )
            }
            None => (Tone::Good, String::new()),
        };
        let pairs = match (results.variants.len() > 2, self.is_below_table) {
            (false, _) => "",
            (true, true) => " (wider than above: for all pairs of variants at once)",
            (true, false) => " (an interval for all pairs of variants at once)",
        };
        let baseline = results.label(results.baseline);
        (tone, format!("against the baseline {baseline}: {}{pairs}{verdict}", spread(against)))
    }

    /// Whether it saves less than is worth a change.
    fn is_slight(&self, comparison: &Comparison) -> bool {
        let today = self.results.cost_estimate().mean(&self.results.costs(self.results.baseline)).mean;
        !self.results.matters(comparison.against_baseline, today)
    }

    /// Why no variant is named the cheapest, if nothing has a price.
    pub(super) fn unpriced(&self) -> Option<Remark> {
        let text = "Nothing has a price: no variant is named the cheapest";
        self.results.prices.is_empty().then(|| Remark::new(Tone::Neutral, text).with(self.front()))
    }

    /// What no other variant is told to beat.
    pub(super) fn front(&self) -> String {
        let (words, results) = (self.results.unavailability().unit(), self.results);
        let front = self.named(&self.labels(results.front()), "; ");
        let why = match results.unavailability() {
            Unavailability::LostTraffic if results.varies_detection => {
                " (not unready replica-seconds, as variants differ in how soon a lost node is found)"
            }
            Unavailability::Unready if results.varies_detection => {
                " (which count from when a lost node is found, and variants differ in that: the later, the better it looks)"
            }
            _ => "",
        };
        let of = if results.has_set_aside() { "Of the contenders not" } else { "Not" };
        format!("{of} told to be beaten in both {words}{why} and needless evictions: {front}")
    }

    /// The same, unless every variant is ruled out.
    pub(super) fn front_if_any(&self) -> Option<Remark> {
        (!self.results.front().is_empty()).then(|| Remark::new(Tone::Neutral, self.front()))
    }

    /// How many runs the verdict stands on.
    pub(super) fn stands_on(&self) -> Remark {
        let results = self.results;
        let variants = counted(results.variants.len(), "variant", "variants");
        let (runs, each) = (counted(results.run_count(), "run", "runs"), results.replications.max(1));
        let (first, last) = (results.seed(0), results.seed(each - 1));
        let seeds = if first == last { format!("seed {first}") } else { format!("seeds {first} to {last}") };
        let mirrored = if results.is_antithetic { ", each second run mirroring the one before it" } else { "" };
        let weights = if results.is_weighted() { ", failures drawn more often than they come" } else { "" };
        let least = results.selection.iter().flat_map(|selection| &selection.set_aside).map(|of| of.runs).min();
        let least = least.map_or_else(String::new, |runs| format!("{} to ", grouped(runs)));
        let each = format!("{least}{}", grouped(each));
        Remark::new(
            Tone::Neutral,
            format!("It stands on {runs}: {variants}, {each} each, with {seeds}{mirrored}{weights}"),
        )
    }

    /// What the intervals do not say: which variants hardly vary, and whose costs are carried by a few runs.
    fn samples(&self) -> Vec<Remark> {
        let results = self.results;
        let decisive = results.of_metric(results.decisive());
        let (mut rare, mut skewed, mut needed) = (Vec::new(), Vec::new(), 0.0_f64);
        // What is said of means says nothing of bad runs.
        let is_of_means = !results.is_weighted() && results.cost_by.is_mean();
        let counted_alike = if is_of_means { decisive.len() } else { 0 };
        for (variant, of) in decisive.iter().enumerate().take(counted_alike) {
            let seldom = if results.is_chancy { of.sample.noticed_exceptions() } else { of.sample.exceptions() };
            if let Some(seen) = seldom {
                rare.push((variant, seen));
            } else if of.sample.is_skewed() {
                skewed.push(results.label(variant));
                needed = needed.max(of.sample.observations_for_normality());
            }
        }
        let mut remarks = Vec::new();
        if !results.lengths_s.is_empty() {
            let text = "Runs of the variants last differently long, so that what they add up does not compare: no lowest cost is named";
            remarks.push(Remark::new(Tone::Bad, text));
        }
        if !rare.is_empty() {
            remarks.push(self.rare(&rare, &decisive));
        }
        if !skewed.is_empty() {
            let (skewed, needed) = (self.named(&skewed, "; "), grouped(needed.ceil() as u64));
            let few = if (results.replications as usize) < FEW {
                format!(". From fewer than {FEW} runs it may still be too narrow")
            } else {
                String::new()
            };
            let text = format!(
                "A few runs carry the mean: {skewed}. Its interval is wider for that, and for worse runs that nobody has seen{few}; from about \
                 {needed} runs on it would not have to be"
            );
            remarks.push(Remark::new(Tone::Neutral, text));
        }
        remarks
    }

    /// Variants of which hardly any run differs from the others, with how many do.
    fn rare(&self, rare: &[(usize, usize)], decisive: &[Statistic]) -> Remark {
        let (results, confidence) = (self.results, self.results.confidence());
        let n = |variant: usize| decisive[variant].sample.len();
        let named: Vec<String> = rare
            .iter()
            .map(|&(variant, seen)| {
                let seen = if seen == 0 { "none".to_owned() } else { seen.to_string() };
                format!("{} ({seen} of {})", results.label(variant), counted(n(variant), "run", "runs"))
            })
            .collect();
        let share = rare.iter().map(|&(variant, seen)| {
            let n = n(variant);
            seen as f64 / n as f64 + unseen_share(seen, n, confidence)
        });
        let (named, share) = (self.named(&named, "; "), percent(share.fold(0.0, f64::max)));
        let known = if decisive.iter().all(|of| of.interval.high.is_finite()) {
            "the interval allows for these to be as bad as the worst seen here"
        } else {
            "how bad these are nobody knows, as none was seen"
        };
        let text = format!(
            "Hardly any run differs from the others: {named}. What was seen so seldom does not tell how often it happens: up to {share} % of \
             all runs may differ; {known}"
        );
        Remark::new(Tone::Bad, text)
    }
}

/// What a saving rests on that may be none.
pub(super) fn unseen(of: &RestsOnUnseen) -> String {
    let seen = match of.exceptions {
        0 => format!("no failure that costs anything in {}", counted(of.n, "run", "runs")),
        some => format!("only {} of {} differ from the others", some, counted(of.n, "run", "runs")),
    };
    format!(
        "{seen}; up to {} % of all runs may differ, unseen, and nothing is saved if these cost {} more than usual",
        percent(of.share),
        number(of.break_even)
    )
}
