//! What the records leave open, in words.

use super::super::inputs::{InputRecords, InputUncertainty, Saving, Uncertain};
use super::super::results::Results;
use super::words::{percent, spread};
use super::{Remark, Teller};
use crate::observe::Tone;
use crate::units::{counted, grouped};

impl Teller<'_> {
    /// What the records leave open of each variant.
    pub(super) fn inputs(&self) -> Option<Remark> {
        let results = self.results;
        let (played, figures) = (results.inputs_played()?, results.input_uncertainty(results.decisive())?);
        let records: Vec<String> = played.processes.iter().map(records).collect();
        let runs = grouped(u64::from(played.count) * u64::from(played.replications));
        let text = format!(
            "What the records leave open: {}. Every variant was played with {} that were fitted to records drawn anew, {} each, {runs} runs",
            records.join("; "),
            counted(played.count as usize, "input", "inputs"),
            counted(played.replications as usize, "run", "runs")
        );
        let mut remark = Remark::new(Tone::Neutral, text);
        for of in figures.iter().take(self.named_max) {
            remark = remark.with(format!("{}: {}", results.label(of.variant), self.left_open(of)));
        }
        if let Some(left) = figures.len().checked_sub(self.named_max).filter(|left| *left > 0) {
            remark = remark.with(format!("{}: inputs.csv", counted(left, "other variant", "other variants")));
        }
        if figures.iter().any(|of| !of.figure.told) {
            remark = remark.with(
                "what is not told to differ from input to input may differ by less than the noise of so few runs of each: intervals allow for \
                 that; more `inputReplications` tell",
            );
        }
        for few in played.processes.iter().filter_map(few) {
            let line = format!("{few} are few to be drawn anew: what they leave open may be more than this");
            remark = Remark { tone: Tone::Bad, ..remark.with(line) };
        }
        for of in played.processes.iter().filter(|of| of.fitted < of.drawn) {
            remark = remark.with(format!(
                "{} of {} draws of {} could not be fitted and are left out: what is left is spread less than it should be",
                of.drawn - of.fitted,
                of.drawn,
                of.process
            ));
        }
        if results.requires() {
            remark = remark.with("what is required is judged with the inputs as they were fitted");
        }
        Some(remark)
    }

    /// `costs 120 [90, 160], 83 % of that uncertainty the records'; against the baseline -12 [-40, 8], cheaper with 71 of 100 inputs once
    /// noise is taken out`.
    fn left_open(&self, of: &InputUncertainty) -> String {
        let is_unpriced = self.results.prices.is_empty();
        let (costs, cheaper) = if is_unpriced { ("unready replica-seconds", "lower") } else { ("costs", "cheaper") };
        let mut text = format!("{costs} {}", uncertain(of.figure));
        if let Some(difference) = of.difference {
            text.push_str(&format!("; against the baseline {}", uncertain(difference)));
            // What is mostly noise is nothing to be counted.
            if let Some(count) = of.lower_with {
                text.push_str(&format!(", {cheaper} with {count} of {} inputs once noise is taken out", of.inputs));
            }
        }
        text
    }

    /// What is said of a saving that the runs tell, and whether it holds for what the records leave open, too.
    pub(super) fn as_far_as_records_tell(&self, of: &Saving) -> (bool, String) {
        let counted = of.cheaper_with.map_or_else(String::new, |count| {
            format!("cheaper with {count} of {} inputs once noise is taken out, ", of.inputs)
        });
        let with = format!("{counted}{} if what they leave open counts, too", spread(of.difference));
        let holds = of.holds();
        let verdict = if holds { "which leaves no doubt of it" } else { "which does NOT tell whether it is cheaper" };
        (holds, format!("as far as the records tell: {with}, {verdict}"))
    }
}

/// Fewer failures, or failures of fewer nodes, are few to be drawn anew.
const FAILURES_FEW: u64 = 5;

/// What there is too little of.
fn few(of: &InputRecords) -> Option<String> {
    if of.failures < FAILURES_FEW {
        return Some(format!("{} of {}", counted(of.failures as usize, "failure", "failures"), of.process));
    }
    let nodes = of.failed_nodes.filter(|nodes| *nodes < FAILURES_FEW)?;
    Some(format!("failures of {} ({})", counted(nodes as usize, "node", "nodes"), of.process))
}

/// `machine-crashes, 29 failures on 20 nodes`.
fn records(of: &InputRecords) -> String {
    let failures = counted(of.failures as usize, "failure", "failures");
    let units = if of.by_node {
        counted(of.units as usize, "node", "nodes")
    } else {
        counted(of.units as usize, "row", "rows")
    };
    format!("{}, {failures} {} {units}", of.process, if of.by_node { "on" } else { "in" })
}

fn uncertain(of: Uncertain) -> String {
    let share = match of.share() {
        Some(_) if !of.told => ", the records' share not told".to_owned(),
        Some(share) => format!(", {} % of the variance the records'", percent((share * 100.0).round() / 100.0)),
        None => String::new(),
    };
    format!("{}{share}", spread(of.interval))
}

impl Results {
    /// What the intervals of the table do not allow for.
    pub(super) fn note_of_inputs(&self) -> Option<String> {
        self.inputs_played().map(|_| {
            "intervals take the inputs that were fitted for the truth, unless it is said that they allow for what the records leave open"
                .to_owned()
        })
    }
}
