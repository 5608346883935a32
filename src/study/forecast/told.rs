//! What a forecast has found, in words: the terminal prints them, `summary.json` has them as its verdict.

use super::finding::{Finding, Price, Unhelped};
use super::fix::Fix;
use super::results::{ForecastResults, NODE};
use crate::model::manifest::DUMP_COMMAND;
use crate::observe::Tone;
use crate::study::Remark;
use crate::study::statistics::Interval;
use crate::units::{Quantity, QuantityFormat, counted, grouped};

/// Findings that the terminal tells; the others are in the files.
const FINDINGS_TOLD: usize = 5;

/// Changes that were tried in vain, or were not, and that the terminal names.
const FIXES_TOLD: usize = 5;

/// Assumptions that the terminal tells.
const ASSUMED_TOLD: usize = 3;

/// What a drain that is blocked and lasts as long as people wait costs, and lost traffic: minutes with their interval.
fn spread(interval: Interval) -> String {
    let number = |value: f64| {
        let rounded = value.round();
        if value.abs() < 10.0 {
            format!("{:.1}", if value.abs() < 0.05 { 0.0 } else { value })
        } else {
            signed(rounded)
        }
    };
    if interval.mean.is_nan() {
        return "unknown".to_owned();
    }
    if !interval.is_known() {
        return number(interval.mean);
    }
    format!("{} [{}, {}]", number(interval.mean), number(interval.low), number(interval.high))
}

fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(value.abs() as u64))
}

fn minutes(value: f64) -> String {
    if value < 10.0 { format!("{value:.1} min") } else { format!("{} min", grouped(value.round() as u64)) }
}

impl Price {
    /// What a change takes, in words; none if it takes nothing.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.nodes > 0 {
            parts.push(counted(self.nodes as usize, "node more", "nodes more"));
        }
        if self.pods > 0 {
            let memory = Quantity::from_value(self.memory).with_format(QuantityFormat::BinarySi);
            let cores = self.cpu_milli as f64 / 1000.0;
            let asked = match (self.cpu_milli, self.memory) {
                (0, 0) => "which ask for nothing".to_owned(),
                (_, 0) => format!("{cores} cores"),
                (0, _) => format!("{memory} of memory"),
                _ => format!("{cores} cores, {memory} of memory"),
            };
            parts.push(format!("{} ({asked})", counted(self.pods as usize, "pod more", "pods more")));
        } else if self.memory > 0 {
            let memory = Quantity::from_value(self.memory).with_format(QuantityFormat::BinarySi);
            parts.push(format!("requests of {memory} of memory more"));
        }
        if self.interventions_per_year > 0.0 {
            parts.push(format!("somebody who acts {:.0} times a year", self.interventions_per_year.ceil()));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl Unhelped {
    fn told(&self) -> String {
        let Self { label, cost_min, tried, untried, .. } = self;
        let cost = minutes(*cost_min);
        if tried.is_empty() {
            return format!("nothing helps against {label}, which costs {cost}; no change makes a difference there");
        }
        let elsewhere =
            if untried.is_empty() { String::new() } else { format!("; not tried on it: {}", named(untried)) };
        format!("{label} costs {cost}: of what was tried on it ({}) nothing helps{elsewhere}", named(tried))
    }
}

/// The first of changes, by name, and how many more there are.
fn named(fixes: &[Fix]) -> String {
    let names: Vec<&str> = fixes.iter().take(FIXES_TOLD).map(|fix| fix.as_str()).collect();
    match fixes.len().saturating_sub(FIXES_TOLD) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

impl ForecastResults {
    /// The verdict: what it stands on, what hurts, what to change, what that brings together.
    #[must_use]
    pub fn told(&self) -> Vec<Remark> {
        if self.units.is_empty() && self.apart.is_none() {
            return vec![self.nobody_to_hurt(), self.stands()];
        }
        let mut told = vec![self.costs()];
        let findings = self.findings.iter().take(FINDINGS_TOLD).enumerate();
        told.extend(findings.map(|(index, finding)| finding_told(index, finding)));
        if let Some(more) = self.findings.len().checked_sub(FINDINGS_TOLD).filter(|more| *more > 0) {
            told.push(Remark::new(
                Tone::Neutral,
                format!("and {} in forecast.json", counted(more, "finding more", "findings more")),
            ));
        }
        if self.findings.is_empty() {
            told.push(self.nothing_found());
        }
        told.extend(self.together());
        told.extend(self.not_played());
        told.push(self.stands());
        told
    }

    /// What is no all-clear: nothing is lost where there is nobody to lose it.
    fn nobody_to_hurt(&self) -> Remark {
        let text = format!("{}: there is no service and no workload, so that nobody can be hurt", self.name);
        let read: Vec<String> = self.stands_on.objects.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let read = if read.is_empty() { "nothing".to_owned() } else { read.join(", ") };
        let help = format!("save what runs there, too: {DUMP_COMMAND}");
        Remark::new(Tone::Bad, text).with(format!("read: {read}")).with(help)
    }

    fn nothing_found(&self) -> Remark {
        if self.plays_left_out > 0 {
            let text = format!("Whether a change would mend anything is not known: {}", self.left_out_because());
            return Remark::new(Tone::Neutral, text);
        }
        if self.cost.mean >= 1.0 {
            return Remark::new(Tone::Neutral, "No change that was tried would mend this");
        }
        Remark::new(Tone::Good, "Nothing was found that a change would mend")
    }

    /// The usual failures that a file of rates stands in place of.
    fn not_played(&self) -> Option<Remark> {
        let left = &self.stands_on.not_played;
        let file = self.asked.rates.as_deref().unwrap_or("--rates");
        let text = format!("The usual failures are not played: what happens at random is what {file} names. Left out:");
        (!left.is_empty()).then(|| left.iter().cloned().fold(Remark::new(Tone::Bad, text), Remark::with))
    }

    /// Why plays were left out.
    fn left_out_because(&self) -> &'static str {
        if self.is_stopped { "it was stopped before" } else { "the budget was used up" }
    }

    fn costs(&self) -> Remark {
        let is_bad = self.lost.mean >= 1.0 || self.blocked_per_year > 0.0 || self.apart.is_some();
        let tone = if is_bad { Tone::Bad } else { Tone::Good };
        let who = counted(self.units.len(), "service or workload", "services and workloads");
        if self.lost.mean.is_nan() {
            let text = format!("{}: {who}; nothing was played that tells what they lose a year", self.name);
            return Remark::new(Tone::Neutral, text);
        }
        let what = if self.blocked.mean > 0.0 {
            let (lost, blocked) = (minutes(self.lost.mean), minutes(self.blocked.mean));
            format!("min a year in all: {lost} of lost traffic, {blocked} of planned work that waits in vain")
        } else {
            "min of lost traffic a year in all".to_owned()
        };
        let mut remark = Remark::new(tone, format!("{}: {who}, {} {what}", self.name, spread(self.cost)));
        let worst = self.units.iter().max_by(|a, b| a.lost.mean.total_cmp(&b.lost.mean));
        if let Some(worst) = worst.filter(|unit| unit.lost.mean > 0.0) {
            let availability = worst.availability() * 100.0;
            let days = self.year.as_secs_f64() / 86400.0;
            let worst_play = match days < 365.0 {
                true => {
                    format!("the worst play of {} d came to {} a year", days.round(), minutes(worst.worst_year_min))
                }
                false => format!("the worst year played had {}", minutes(worst.worst_year_min)),
            };
            remark = remark.with(format!(
                "most of {}: {} min a year, {availability:.3} % available; {worst_play}",
                worst.object,
                spread(worst.lost),
            ));
        }
        if let Some(worst) = self.incidents.first().filter(|row| row.lost_min > 0.0) {
            remark = remark.with(format!(
                "worst incident: {}, {} lost by {}",
                worst.label,
                minutes(worst.lost_min),
                worst.hurt
            ));
        }
        let is_worst = |of: &&Unhelped| self.incidents.first().is_some_and(|row| row.incident == of.incident);
        let (hopeless, tried): (Vec<_>, Vec<_>) = self.unhelped.iter().partition(|of| of.tried.is_empty());
        for unhelped in hopeless.into_iter().find(is_worst).into_iter().chain(tried.into_iter().next()) {
            remark = remark.with(unhelped.told());
        }
        if self.blocked_per_year > 0.0 {
            let times = self.blocked_per_year.round() as usize;
            remark = remark.with(format!(
                "{} a year in vain",
                counted(times, "drain or roll-out waits", "drains and roll-outs wait")
            ));
        }
        if let Some(apart) = &self.apart {
            let pods =
                counted(apart.pods(), "pod without a controller never comes", "pods without a controller never come");
            remark =
                remark.with(format!("{pods} back once lost: {} min a year more, in no other sum", spread(apart.lost)));
        }
        remark
    }

    /// What all changes together bring.
    fn together(&self) -> Option<Remark> {
        let last = self.front.last().filter(|_| self.front.len() > 1)?;
        let mut text = format!(
            "{} together: {} -> {} min a year",
            counted(self.front.len(), "change", "changes"),
            signed(self.cost.mean.round()),
            spread(last.cost)
        );
        if let Some(price) = last.price.words() {
            text.push_str(&format!(", for {price}"));
        }
        Some(Remark::new(Tone::Neutral, text))
    }

    fn stands(&self) -> Remark {
        let years =
            format!("{} of {} d", counted(self.years, "play", "plays"), (self.year.as_secs_f64() / 86400.0).round());
        let mut remark = Remark::new(
            Tone::Neutral,
            format!(
                "It stands on {years} of random failures and {}",
                counted(self.incidents.len(), "incident", "incidents")
            ),
        );
        if self.chosen_by > 0 {
            let others = counted(self.chosen_by as usize, "other play", "other plays");
            remark = remark.with(format!("every figure of a year is of these; changes were chosen by {others}"));
        }
        if self.plays_left_out > 0 {
            remark = remark.with(format!(
                "at least {} left out: {}",
                counted(self.plays_left_out as usize, "play was", "plays were"),
                self.left_out_because()
            ));
        }
        for left in self.left_out.iter().take(ASSUMED_TOLD) {
            remark = remark.with(left.clone());
        }
        for unread in &self.stands_on.unread {
            remark = remark.with(format!("not read: {unread}"));
        }
        let (nodes, others): (Vec<&String>, Vec<&String>) =
            self.stands_on.down.iter().partition(|object| object.starts_with(NODE));
        if let Some(first) = nodes.first() {
            let down = counted(nodes.len(), "node is", "nodes are");
            remark = remark.with(format!("{down} not Ready before anything happens: first {first}"));
        }
        if let Some(first) = others.first() {
            let down = counted(others.len(), "service or workload does", "services and workloads do");
            remark = remark
                .with(format!("{down} not serve before anything happens, and nothing is counted there: first {first}"));
        }
        if self.stands_on.unscheduled > 0 {
            let waiting = counted(self.stands_on.unscheduled, "pod has", "pods have");
            remark = remark.with(format!("{waiting} no node before anything happens"));
        }
        let assumed = &self.stands_on.assumed;
        for assumption in assumed.iter().rev().take(ASSUMED_TOLD) {
            remark = remark.with(format!("assumed: {} ({})", assumption.text, assumption.change));
        }
        if assumed.len() > ASSUMED_TOLD {
            remark = remark.with(format!(
                "and {} in forecast.json",
                counted(assumed.len() - ASSUMED_TOLD, "assumption more", "assumptions more")
            ));
        }
        remark
    }
}

fn finding_told(index: usize, finding: &Finding) -> Remark {
    let mut remark = Remark::new(Tone::Bad, format!("{}. {}", index + 1, finding.sentence()));
    let saved = &finding.saved;
    let by_hand = if finding.fix.by_hand().is_some() { " (by hand)" } else { "" };
    let mut fix = format!(
        "{}{by_hand}: saves {} of {} min a year",
        finding.fix.words(),
        spread(saved.cost),
        spread(finding.cost)
    );
    if let Some(price) = finding.price.words() {
        fix.push_str(&format!("; takes {price}"));
    }
    remark = remark.with(fix);
    if let Some(worst) = &finding.worst {
        let of = if finding.is_apart { ", of what never comes back alone" } else { "" };
        remark = remark.with(format!(
            "{}: {} -> {}{of}",
            worst.label,
            minutes(worst.cost_min),
            minutes(finding.worst_after_min)
        ));
    }
    let (blocked, after) = saved.blocked_per_year;
    if (blocked - after).abs() >= 0.5 {
        remark = remark.with(format!(
            "drains and roll-outs that wait in vain: {} -> {} a year",
            blocked.round(),
            after.round()
        ));
    }
    let (needless, more) = saved.needless_evictions_per_year;
    if more - needless >= 1.0 {
        remark = remark.with(format!("it makes needless evictions more: {needless:.0} -> {more:.0} a year"));
    }
    if saved.others.high < 0.0 {
        remark = remark.with(format!("it costs others {} min a year", spread(negated(saved.others))));
    }
    if finding.is_apart {
        remark = remark.with("this is in no sum: what never comes back is told apart");
    }
    if !finding.is_confirmed {
        remark = remark.with("not confirmed on new seeds: the budget was used up");
    }
    remark
}

fn negated(interval: Interval) -> Interval {
    Interval { mean: -interval.mean, low: -interval.high, high: -interval.low, ..interval }
}
