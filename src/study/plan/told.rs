//! What a plan has found, in words.

use std::cmp::Reverse;

use super::bounds::Bound;
use super::definition::PoolRange;
use super::placement::Placements;
use super::refused::Refused;
use super::results::{Candidate, Failure, Headroom, PlanResults, PlayRecord};
use super::shortfall::ShortfallKind;
use crate::observe::Tone;
use crate::study::told::Remark;
use crate::units::{SimDuration, SimTime, counted, grouped};

/// Workloads that get a sentence each.
const EACH_MAX: usize = 12;

/// What an answer does not speak for: so many pods of one play that no number of nodes helps.
pub(crate) fn exception(pods: u64) -> String {
    match pods {
        0 => String::new(),
        pods => format!(", but for up to {} that no number of nodes helps", counted(pods as usize, "pod", "pods")),
    }
}

impl PlanResults {
    /// The answer in words, whole: what is beyond help, what was not tried or asked, what another seed may say.
    pub(super) fn verdict_told(&self) -> Vec<Remark> {
        let mut verdict = vec![self.headline()];
        verdict.extend(self.in_vain());
        verdict.extend(self.bindings());
        if self.answer.is_some() {
            verdict.extend(self.margin_told());
            verdict.push(self.played());
        }
        verdict.extend(self.not_tried());
        if self.answer.is_some() && self.headroom.is_empty() {
            let text = "By how much a workload may grow was not asked (`--headroom WORKLOAD`)";
            verdict.push(Remark::new(Tone::Neutral, text));
        }
        verdict
    }

    /// The answer.
    #[must_use]
    pub fn headline(&self) -> Remark {
        let cases = self.cases.join(", ");
        let Some(answer) = self.answer() else {
            let most: Vec<u32> = self.pools.iter().map(|pool| pool.max).collect();
            let text = format!("{}: nothing up to {} survives {cases}", self.plan, self.in_words(&most));
            return Remark::new(Tone::Bad, text);
        };
        let beyond_help = answer.plays().iter().map(|play| play.outcome.beyond_help()).max().unwrap_or(0);
        let tone = if beyond_help == 0 && self.doubts.is_empty() { Tone::Good } else { Tone::Neutral };
        let counts = self.in_words(&answer.counts);
        let placements = self.of_placements(answer);
        let exception = exception(beyond_help);
        let mut remark = Remark::new(tone, format!("{}: {counts} survive {cases} {placements}{exception}", self.plan));
        if answer.placements().len() > 1 {
            remark = remark.with(self.chance_told(answer));
        }
        if self.pools.len() > 1 {
            remark = remark.with(self.price_told(answer));
        }
        if self.is_least(&answer.counts) {
            remark = remark.with("which is the least that was to be tried: lower `min` to see whether fewer do");
        }
        let now: Vec<u32> = self.pools.iter().map(|pool| pool.now).collect();
        if now != answer.counts {
            remark = remark.with(format!("the scenario has {}", self.in_words(&now)));
        }
        for doubt in &self.doubts {
            remark = remark.with(format!("BUT {doubt}"));
        }
        remark
    }

    /// Whether fewer nodes of no pool were to be tried, though there could be fewer.
    fn is_least(&self, counts: &[u32]) -> bool {
        let is_at_least = |(count, pool): (&u32, &PoolRange)| *count == pool.min;
        counts.iter().zip(&self.pools).all(is_at_least) && self.pools.iter().any(|pool| pool.min > 0)
    }

    /// In how many placements counts survive: `in 30 of 30 placements`.
    fn of_placements(&self, candidate: &Candidate) -> String {
        match (candidate.survived(), candidate.placements()) {
            (_, [only]) => format!("in the one placement that was played, number {}", only.number),
            (survived, all) => format!("in {survived} of {} placements", all.len()),
        }
    }

    /// What the placements that were played say of all.
    fn chance_told(&self, answer: &Candidate) -> String {
        let least = percent(self.share_at_least(answer));
        let more = match self.contenders() {
            1 => String::new(),
            tried => format!(", for {tried} mixes that were tried so"),
        };
        let asked = match (self.placements.probability, self.placements.confidence) {
            (Some(share), Some(confidence)) => {
                format!("; asked was {} with a confidence of {}", percent(share), percent(confidence))
            }
            (Some(share), None) => format!("; asked was {} of those that are played", percent(share)),
            (None, _) => String::new(),
        };
        format!("so in at least {least} of all placements that chance may make, at a confidence of 95 %{more}{asked}")
    }

    fn price_told(&self, answer: &Candidate) -> String {
        let tried = &self.candidates[..self.answer.unwrap_or(0)];
        let is_open = tried.iter().any(|of| self.is_open(of));
        let (survives, not_survive) =
            if is_open { ("is shown to survive", "is not shown to survive") } else { ("survives", "does not survive") };
        let before = match tried.len() {
            0 => String::new(),
            1 => format!("; the one mix before it, cheaper or as cheap with no more nodes, {not_survive}"),
            count => format!(
                "; none of the {} before it, cheaper or as cheap with no more nodes, {survives}",
                counted(count, "mix", "mixes")
            ),
        };
        format!("at a price of {}{before}", answer.price_micros as f64 / 1e6)
    }

    /// Why one node less does not do, or why nothing does.
    #[must_use]
    pub fn bindings(&self) -> Vec<Remark> {
        let verdict = |candidate: &Candidate| match (candidate.survived(), candidate.placements().len()) {
            (_, 1) => "do not:".to_owned(),
            (0, played) => format!("do not in any of {played} placements:"),
            (survived, played) if self.is_open(candidate) => {
                format!(
                    "do in {survived} of {played} placements, which does not show it; more may (`--placements`); else:"
                )
            }
            (survived, played) => format!("do in {survived} of {played} placements only:"),
        };
        // Where anything survives, more nodes than those that fail do help, or another draw of chance.
        let is_hopeless = self.candidates.iter().all(|candidate| candidate.survived() == 0);
        let of = |candidate: &Candidate| Remark {
            tone: if self.answer.is_some() { Tone::Neutral } else { Tone::Bad },
            text: format!("{} {}", self.in_words(&candidate.counts), verdict(candidate)),
            details: self.failures(candidate).iter().map(|of| failure(of, is_hopeless)).collect(),
        };
        let mut remarks: Vec<Remark> = self.binding.iter().map(of).collect();
        remarks.extend(self.sometimes());
        remarks
    }

    /// Whether counts survive as often as is asked in what was played, but too few placements were to show it with the confidence that
    /// is asked.
    fn is_open(&self, of: &Candidate) -> bool {
        let Placements { probability: Some(share), confidence: Some(_), .. } = self.placements else { return false };
        let played = of.placements().len();
        !of.survives() && played == self.placements.count as usize && of.survived() as f64 >= share * played as f64
    }

    /// Mixes that survive some placements and not enough of them, but for those of which it is said already: what one draw of chance
    /// would have called the answer.
    fn sometimes(&self) -> Option<Remark> {
        let is_told = |of: &&Candidate| self.binding.iter().any(|told| told.counts == of.counts);
        let holds_sometimes =
            |of: &&Candidate| of.placements().len() > 1 && of.survived() > 0 && !of.survives() && !is_told(of);
        let known = self.answer.unwrap_or(self.candidates.len());
        let mut found: Vec<&Candidate> = self.candidates[..known].iter().filter(holds_sometimes).collect();
        found.sort_by_key(|of| Reverse(of.survived()));
        let told = |of: &&Candidate| {
            let fails = of.first_failed().map_or(0, |placed| placed.number);
            let (counts, survived, played) = (self.in_words(&of.counts), of.survived(), of.placements().len());
            let open = if self.is_open(of) { ", which does not show it; more may (`--placements`)" } else { "" };
            format!("{counts} in {survived} of {played}{open}; not with `--placement {fails}`")
        };
        let mut details: Vec<String> = found.iter().take(EACH_MAX).map(told).collect();
        if let Some(left) = found.len().checked_sub(EACH_MAX).filter(|left| *left > 0) {
            details.push(format!("and {} (`plan.csv`)", counted(left, "other mix", "other mixes")));
        }
        (!details.is_empty()).then(|| Remark {
            tone: Tone::Neutral,
            text: "Some placements are survived by:".to_owned(),
            details,
        })
    }

    /// How much is left, and what no number of nodes helps; nothing if nothing survives.
    #[must_use]
    pub fn margin_told(&self) -> Vec<Remark> {
        let Some(answer) = self.answer() else { return Vec::new() };
        let mut remarks: Vec<Remark> = self.bounds_told(answer).into_iter().collect();
        remarks.extend(self.margin(answer));
        remarks.extend(self.headroom.iter().map(headroom));
        let island = |of: &Candidate| format!("{} do not survive, though they are more", self.in_words(&of.counts));
        remarks.extend(self.islands().into_iter().map(island).map(beware));
        remarks.extend(self.beyond_help(answer));
        remarks
    }

    /// What it stands on.
    #[must_use]
    pub fn played(&self) -> Remark {
        let plays: usize = self.candidates.iter().map(|candidate| candidate.plays().len()).sum();
        let besides: usize = self.besides().map(|candidate| candidate.plays().len()).sum();
        let plays = match besides {
            0 => counted(plays, "case", "cases"),
            besides => format!("{} and {besides} of what is ruled out", counted(plays, "case", "cases")),
        };
        let first = self.seed.wrapping_add(self.placements.first.into());
        if self.placements.count == 1 {
            let text = format!(
                "{plays} played, each once, with seed {first}: another placement decides ties between nodes otherwise and may answer \
                 otherwise"
            );
            return Remark::new(Tone::Neutral, text)
                .with("(`--placements 30` plays 30 of them); a node more than the answer is no luxury");
        }
        let last = first.wrapping_add(u64::from(self.placements.count - 1));
        let text = format!(
            "{plays} played in up to {} placements, with seeds {first} to {last}: in each, chance decides anew to which of equal nodes \
             pods go",
            self.placements.count
        );
        Remark::new(Tone::Neutral, text).with(
            "(`--placement N` plays one alone); the margin is the least of all, the blast radius is that of the first",
        )
    }

    /// How far the answer is from what no placement can beat, and from what would do if pods were packed anew.
    fn bounds_told(&self, answer: &Candidate) -> Option<Remark> {
        let lower = self.bounds.lower.as_ref()?;
        let without = match self.bounds.without.join(", ") {
            cases if cases.is_empty() => String::new(),
            cases => format!(" (without {cases}, which bounds do not look at)"),
        };
        // Of one pool fewer nodes than are too few are too few, tried or not; of several, a mix may be left out that is cheaper.
        let of = if self.pools.len() == 1 { "" } else { " of what was to be tried" };
        let is_least = self.is_least(&lower.counts);
        if lower.counts == answer.counts {
            let text = format!("Lower bound: by what pods ask for, no placement survives with less{of}{without}");
            // Before the least that was to be tried nothing was looked at.
            return (!is_least).then(|| Remark::new(Tone::Neutral, text));
        }
        let named = |bound: &Bound| match self.pools.len() {
            1 => self.in_words(&bound.counts),
            _ => format!("{} at {}", self.in_words(&bound.counts), bound.price_micros as f64 / 1e6),
        };
        let text = match is_least {
            true => format!(
                "Lower bound: none; what pods ask for does not rule out the least that was to be tried, {}{without}",
                named(lower)
            ),
            false => format!(
                "Lower bound: by what pods ask for, nothing{of} before {} can survive, wherever pods are put{without}",
                named(lower)
            ),
        };
        let remark = Remark::new(Tone::Neutral, text);
        Some(match &self.bounds.repacked {
            None => remark.with("no packing of all pods is found that does with less than the answer".to_owned()),
            Some(packed) if packed.counts == answer.counts => {
                remark.with("packed anew after each loss, pods need the answer, too, as far as a packing is found".to_owned())
            }
            Some(packed) => remark.with(format!(
                "packed anew after each loss, {} would do: {} more is what it takes that pods which run stay where they are, and that \
                 the others go where the scheduler puts them",
                named(packed),
                self.gap(answer, packed)
            )),
        })
    }

    /// How much more the answer is than a bound: in nodes of a single pool, else in its price.
    fn gap(&self, answer: &Candidate, bound: &Bound) -> String {
        let nodes = answer.nodes().saturating_sub(bound.counts.iter().sum());
        if self.pools.len() == 1 || bound.price_micros <= 0 || answer.price_micros <= bound.price_micros {
            return counted(nodes as usize, "node", "nodes");
        }
        format!("{:.1} %", (answer.price_micros - bound.price_micros) as f64 * 100.0 / bound.price_micros as f64)
    }

    fn margin(&self, answer: &Candidate) -> Option<Remark> {
        let play = answer.tightest()?;
        let margin = play.outcome.margin?;
        let gib = |bytes: i64| format!("{:.1}", bytes as f64 / f64::from(1 << 30));
        let text = format!(
            "Margin: {}, where it is tightest ({} after the start), {} of {} CPU, {} of {} GiB of memory and {} of {} places for pods \
             stay free on the nodes that pods can go to",
            self.in_which(play),
            SimDuration::from_secs(margin.at.saturating_since(SimTime::ZERO).as_secs()),
            margin.free_cpu_milli as f64 / 1000.0,
            margin.cpu_milli as f64 / 1000.0,
            gib(margin.free_memory),
            gib(margin.memory),
            margin.free_pods,
            margin.pods
        );
        Some(Remark::new(Tone::Neutral, text))
    }

    /// Pods that no number of nodes helps: hanging, waiting, refused, lost.
    fn beyond_help(&self, answer: &Candidate) -> Vec<Remark> {
        let mut remarks = Vec::new();
        let hanging = answer.plays().iter().max_by_key(|play| (play.outcome.stuck, Reverse(play.lost.label.as_str())));
        if let Some(play) = hanging.filter(|play| play.outcome.stuck > 0) {
            remarks.push(beware(format!("{}, {}", self.in_which(play), stuck(play.outcome.stuck))));
        }
        let waited =
            answer.plays().iter().max_by_key(|play| (play.outcome.waited_beyond_help, play.outcome.longest_wait));
        if let Some((play, first)) = waited.and_then(|play| Some((play, play.outcome.first_beyond_help.as_ref()?))) {
            let pods = counted(play.outcome.waited_beyond_help as usize, "pod waits", "pods wait");
            let wait = first.wait.map_or_else(String::new, |wait| format!(" {wait}"));
            let (place, object, why) = (self.in_which(play), &first.object, &first.why);
            remarks.push(beware(format!(
                "{place}, {pods} for a node that no node more would be, {object} the longest,{wait}: {why}"
            )));
        }
        remarks.extend(self.refused(answer));
        let lost = answer.plays().iter().max_by_key(|play| (play.outcome.lost, Reverse(play.lost.label.as_str())));
        if let Some((play, first)) = lost.and_then(|play| Some((play, play.outcome.lost_first.as_ref()?))) {
            let pods = counted(play.outcome.lost as usize, "pod is lost", "pods are lost");
            let place = self.in_which(play);
            remarks.push(beware(format!(
                "{place}, {pods} for good, as of {first}: nothing makes them anew; more nodes change nothing"
            )));
        }
        remarks
    }

    /// Workloads whose pods are refused: of each the play in which most of them are.
    fn refused(&self, answer: &Candidate) -> Vec<Remark> {
        let mut worst: Vec<(&PlayRecord, &Refused)> = Vec::new();
        for play in answer.plays() {
            for found in &play.outcome.refusals {
                let known = worst.iter_mut().find(|(_, known)| known.shortfall.object == found.shortfall.object);
                match known {
                    Some(known) if known.1.pods < found.pods => *known = (play, found),
                    Some(_) => {}
                    None => worst.push((play, found)),
                }
            }
        }
        let left = worst.len().saturating_sub(EACH_MAX);
        let told = |(play, Refused { pods, shortfall }): (&PlayRecord, &Refused)| {
            let verb = if *pods == 1 { "is" } else { "are" };
            let pods = counted(*pods as usize, "pod", "pods");
            let wait = shortfall.wait.map_or_else(String::new, |wait| format!(" {wait}"));
            let (place, object, why) = (self.in_which(play), &shortfall.object, &shortfall.why);
            beware(format!("{place}, {pods} of {object} {verb} refused{wait}: {why}; more nodes change nothing"))
        };
        let mut remarks: Vec<Remark> = worst.into_iter().take(EACH_MAX).map(told).collect();
        if left > 0 {
            remarks.push(beware(format!("so are pods of {}", counted(left, "other workload", "other workloads"))));
        }
        remarks
    }

    /// Counts within the searched ranges of which nothing is known.
    fn not_tried(&self) -> Option<Remark> {
        let all = self.pools.iter().map(|pool| u64::from(pool.max - pool.min) + 1).fold(1, u64::saturating_mul);
        let left = all.saturating_sub(self.candidates.len() as u64);
        if left == 0 {
            return None;
        }
        let [pool] = &self.pools[..] else {
            let text = format!("Not tried: {} of {} mixes", grouped(left), grouped(all));
            return Some(Remark::new(Tone::Neutral, text));
        };
        let is_known = |count: &u32| self.candidates.iter().any(|candidate| candidate.counts[0] == *count);
        let open: Vec<u32> = (pool.min..=pool.max).filter(|count| !is_known(count)).collect();
        let runs = open.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
            [only] => only.to_string(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        });
        let text = format!("Not tried: {} of {}", runs.collect::<Vec<_>>().join(", "), pool.name);
        Some(Remark::new(Tone::Neutral, text))
    }
}

/// A share, rounded down to a tenth of a percent: nothing is said to be more than it is.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1000.0 + 1e-9).floor() / 10.0)
}

fn beware(text: String) -> Remark {
    Remark::new(Tone::Bad, format!("Beware: {text}"))
}

/// What falls short in a case, and below it why; whether a node more would help it, if nothing survives.
fn failure(failure: &Failure, is_hopeless: bool) -> String {
    let Failure { case, lost, shortfall, others, stuck: hanging, placement, failed_placements, placements, .. } =
        failure;
    let more = if *others > 0 { format!(" (and {})", counted(*others, "more", "more")) } else { String::new() };
    let what = match shortfall.kind {
        ShortfallKind::Pending => "stays Pending",
        ShortfallKind::Waited => "has no node",
        ShortfallKind::Refused => "has pods that are refused",
        ShortfallKind::LeftBehind => "stays on a lost node",
        ShortfallKind::NotStarted => "does not start",
        ShortfallKind::NotDrained => "is not drained",
        ShortfallKind::Budget => "is not kept",
        ShortfallKind::Objective => "misses its objective",
        ShortfallKind::Expectation => "is not as expected",
    };
    let wait = shortfall.wait.map_or_else(String::new, |wait| format!(" {wait}"));
    let mut text = format!("{case}, {lost}: {} {what}{wait}{more}\n{}", shortfall.object, shortfall.why);
    if shortfall.is_beyond_help && is_hopeless {
        text.push_str(
            "\na node more of what is searched would not take it either, so that a higher `max` does not help",
        );
    }
    if *placements > 1 && failed_placements < placements {
        text.push_str(&format!(
            "\nthat is so in {failed_placements} of {placements} placements; `--placement {placement}` is the first of them"
        ));
    }
    if *hanging > 0 && !matches!(shortfall.kind, ShortfallKind::Pending | ShortfallKind::LeftBehind) {
        text.push('\n');
        text.push_str(&stuck(*hanging));
    }
    text
}

/// Pods that no number of nodes helps.
fn stuck(pods: u64) -> String {
    let pods = counted(pods as usize, "pod hangs", "pods hang");
    format!("{pods} on the lost nodes: of StatefulSets, or tolerating the loss without end; more nodes change nothing")
}

fn headroom(Headroom { workload, replicas, more, placements, survived, binding }: &Headroom) -> Remark {
    let is_one = *placements == 1;
    let tried = if is_one { String::new() } else { format!(" in {survived} of {placements} placements") };
    let text = match more {
        0 => format!("Headroom: {workload} may not grow: {replicas} it is{tried}"),
        _ => format!("Headroom: {workload} may grow by {more}, from {replicas} to {}{tried}", replicas + more),
    };
    let Some(Failure { case, lost, shortfall, placement, .. }) = binding.first() else {
        return Remark::new(Tone::Neutral, format!("{text}, where the search ends"));
    };
    let which = if is_one { String::new() } else { format!(" in placement {placement}") };
    let text = format!("{text}; one more, and in {case}, {lost}, {} falls short{which}", shortfall.object);
    let remark = Remark::new(Tone::Neutral, text);
    match shortfall.kind {
        ShortfallKind::Refused => remark.with(format!("its pods are refused: {}", shortfall.why)),
        _ => remark,
    }
}
