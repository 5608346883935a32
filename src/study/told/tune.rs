//! What is recommended, in words.

use std::collections::BTreeMap;

use super::super::confirmation::{Confirmation, Verdict};
use super::super::tuning::{KeptForUnseen, Promise, Together, Tuning, WorkloadChoice};
use super::sweep::unseen;
use super::words::{percent, spread};
use super::{Remark, Teller, undone};
use crate::observe::Tone;
use crate::units::counted;

impl Teller<'_> {
    /// What `tune` recommends, and whether new seeds say that it pays.
    #[must_use]
    pub fn tuning(&self, tuning: &Tuning, confirmation: Option<&Confirmation>) -> Vec<Remark> {
        let mut remarks: Vec<Remark> = self.promise(tuning).into_iter().collect();
        if tuning.requirements == Some(Promise::NobodyMeets) {
            remarks.extend(self.front_if_any());
            return remarks;
        }
        if tuning.workloads.is_empty() && !self.results.tuned.is_empty() {
            remarks.push(self.as_a_whole(tuning));
        }
        remarks.extend(self.others(tuning));
        if !self.is_below_table {
            remarks.extend(self.own_values(tuning));
        }
        remarks.extend(tuning.together.iter().map(together));
        remarks.extend(self.kept(tuning));
        if let Some(KeptForUnseen { values, unseen: found }) = &tuning.kept_for_unseen {
            remarks.push(Remark::new(Tone::Bad, format!("NOT TOLD whether {values} would pay: {}", unseen(found))));
        }
        let confirmed = confirmation.map(|found| self.confirmed(tuning, found));
        match confirmed {
            // Who reads only one sentence has to know that it does not pay.
            Some(remark) if !self.is_below_table && remark.tone == Tone::Bad => remarks.insert(0, remark),
            Some(remark) => remarks.push(remark),
            None => remarks.push(self.nothing_to_change(tuning)),
        }
        remarks.extend(self.search());
        let kept = if tuning.changes_others { tuning.combination() } else { self.results.baseline };
        if let Some(elsewhere) = self.results.done_elsewhere(kept) {
            let text = format!("{}: {}", self.results.label(kept), self.elsewhere(&elsewhere));
            remarks.push(Remark::new(Tone::Bad, text));
        }
        remarks.extend(self.asks_for_less(kept));
        remarks.push(Remark::new(Tone::Neutral, self.front()));
        remarks
    }

    /// The values of what is not `tolerationSeconds`.
    fn others(&self, tuning: &Tuning) -> Option<Remark> {
        if tuning.others.is_empty() {
            return None;
        }
        let values: Vec<String> = tuning.others.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        let verdict = if tuning.changes_others { "" } else { ", as it is" };
        let remark = Remark::new(Tone::Neutral, format!("Recommended: {}{verdict}", values.join(", ")));
        if tuning.alike_others.is_empty() {
            return Some(remark);
        }
        Some(remark.with(format!("cannot be told from: {}", self.named(&tuning.alike_others, "; "))))
    }

    /// The values that workloads get of their own: those with the same change in one sentence.
    fn own_values(&self, tuning: &Tuning) -> Vec<Remark> {
        let is_told = |choice: &&WorkloadChoice| {
            choice.changes() && !tuning.together.iter().any(|of| of.workloads.contains(&choice.workload))
        };
        let mut alike: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for choice in tuning.workloads.iter().filter(is_told) {
            alike.entry((&choice.recommended, &choice.today)).or_default().push(choice.workload.clone());
        }
        let one = |((value, today), workloads): (&(&str, &str), &Vec<String>)| {
            let workloads = self.named(workloads, ", ");
            Remark::new(
                Tone::Neutral,
                format!("Recommended: tolerationSeconds {value} instead of {today} for {workloads}"),
            )
        };
        alike.iter().map(one).collect()
    }

    /// Workloads that stay as they are though another value was cheaper in the runs.
    fn kept(&self, tuning: &Tuning) -> Vec<Remark> {
        let is_kept = |choice: &&WorkloadChoice| !choice.changes() && choice.best != choice.today;
        let kept: Vec<&WorkloadChoice> = tuning.workloads.iter().filter(is_kept).collect();
        let mut remarks: Vec<Remark> = kept.iter().take(self.named_max).map(|choice| self.stays(choice)).collect();
        if let Some(left) = kept.len().checked_sub(self.named_max).filter(|left| *left > 0) {
            let others = counted(left, "other workload", "other workloads");
            remarks.push(Remark::new(Tone::Neutral, format!("{others}: likewise (`tuning` of summary.json)")));
        }
        remarks
    }

    /// That nothing is to be changed, and what would save too little.
    fn nothing_to_change(&self, tuning: &Tuning) -> Remark {
        let of = if self.results.requires() { ", of what is told to meet what is required," } else { "" };
        let least = percent(self.results.indifference);
        let is_slight = tuning.kept_as_slight.is_some() || tuning.workloads.iter().any(|choice| choice.is_slight);
        let by = if is_slight { format!(" by {least} % or more") } else { String::new() };
        let text = format!("Nothing is to be changed: nothing{of} is told to be cheaper than what is there{by}.");
        let remark = Remark::new(Tone::Neutral, text);
        match &tuning.kept_as_slight {
            Some(values) => remark.with(format!(
                "{values} costs less, but is not told to save {least} %: too little to be worth a change"
            )),
            None => remark,
        }
    }

    /// What the new seeds say.
    fn confirmed(&self, tuning: &Tuning, found: &Confirmation) -> Remark {
        // What a workload's value costs others is not counted when it is chosen; everything else is chosen by the whole cost.
        let changes_workloads = tuning.workloads.iter().any(WorkloadChoice::changes);
        let (mut tone, mut verdict) = self.verdict_of(found, changes_workloads);
        let saving = self.results.saving_of_tuning(Some(tuning), Some(found));
        let of_records = saving.map(|of| self.as_far_as_records_tell(&of));
        if let (Verdict::Pays, Some((false, _))) = (found.verdict, &of_records) {
            tone = Tone::Neutral;
            verdict.push_str(" with the inputs as they were fitted; what their records leave open may undo it");
        }
        if tone == Tone::Good && tuning.changes_others && self.results.asks_for_less(tuning.combination()).is_some() {
            tone = Tone::Neutral;
            verdict.push_str(", as far as who asks for less may be said to save");
        }
        let looked = if self.results.looks == 0 { "" } else { " (95 %, as nobody has looked at these)" };
        let text = format!(
            "All together on {} new seeds{looked}: {}{} instead of {}, {}{}; {verdict}",
            found.n,
            self.by_figure(),
            spread(found.recommended),
            spread(found.today),
            spread(found.difference),
            if self.results.cost_by.is_mean() { " a run" } else { "" }
        );
        let mut remark = Remark::new(tone, text);
        if let Some((_, line)) = of_records {
            remark = remark.with(line);
        }
        if let (Some(runs), Verdict::Pays | Verdict::Slight | Verdict::CostsMore) = (found.runs_needed, found.verdict) {
            remark = remark.with(format!(
                "a few runs carry that difference: its interval is wider for that, and from about {runs} runs on would not have to be"
            ));
        }
        for line in self.kept_on_new_seeds(found) {
            remark = remark.with(line);
        }
        if !found.left_undone.is_empty() {
            remark = remark.with(format!("left undone on these: {}", undone::told(&found.left_undone)));
        }
        remark
    }

    /// Why a workload keeps its value.
    fn stays(
        &self,
        WorkloadChoice { workload, best, today, is_slight, rests_on_unseen, .. }: &WorkloadChoice,
    ) -> Remark {
        let text = if *is_slight {
            let least = percent(self.results.indifference);
            format!("{workload}: {best} costs less than {today}, but by less than {least} %; it stays as it is")
        } else {
            let why = rests_on_unseen.as_ref().map_or_else(|| "more replications may tell".to_owned(), unseen);
            format!("{workload}: the data cannot tell {best} from {today}; it stays as it is: {why}")
        };
        Remark::new(if rests_on_unseen.is_some() { Tone::Bad } else { Tone::Neutral }, text)
    }

    /// Why workloads get no values of their own.
    fn as_a_whole(&self, tuning: &Tuning) -> Remark {
        let because = self.of_whole_runs();
        let reason = match tuning.whole_for.join(", ") {
            _ if because.is_some() => because.unwrap_or_default(),
            _ if tuning.beats_each => {
                "a variant is told to be cheaper than a value of its own for each workload".to_owned()
            }
            metrics if metrics.is_empty() => "none of the workloads shows alone what all of them show".to_owned(),
            metrics => format!("{metrics} has a price and is no workload's own"),
        };
        Remark::new(Tone::Neutral, format!("tolerationSeconds are chosen for the cluster as a whole: {reason}"))
    }

    /// What follows from what the new seeds say.
    fn verdict_of(&self, found: &Confirmation, changes_workloads: bool) -> (Tone, String) {
        let (tone, text) = match found.verdict {
            Verdict::LeavesUndone => (Tone::Bad, "it leaves MORE undone, as said below; do not apply the patch"),
            Verdict::MissesRequired => (
                Tone::Bad,
                "it MISSES what is required, as said below: the study's seeds were lucky; do not apply the patch",
            ),
            Verdict::RequiredIsOpen => {
                (Tone::Bad, "NOT TOLD on these whether it meets what is required, as said below")
            }
            Verdict::Meets => (Tone::Good, "it meets what is required, which the baseline is not told to do"),
            Verdict::TooFewRuns => (Tone::Neutral, "one replication tells nothing"),
            Verdict::RestsOnUnseen => {
                let why = found.rests_on_unseen.as_ref().map(unseen).unwrap_or_default();
                return (Tone::Bad, format!("NOT TOLD whether it pays: {why}"));
            }
            Verdict::Alike => {
                (Tone::Neutral, "the data cannot tell the two apart: apply the patch only for other reasons")
            }
            Verdict::CostsMore if changes_workloads => (
                Tone::Bad,
                "it costs MORE: workloads hinder each other, or the study's seeds were lucky; do not apply the patch",
            ),
            Verdict::CostsMore => (Tone::Bad, "it costs MORE: the study's seeds were lucky; do not apply the patch"),
            Verdict::Slight => {
                let least = percent(self.results.indifference);
                return (Tone::Neutral, format!("it saves less than {least} %: too little to be worth a change"));
            }
            Verdict::Pays => (Tone::Good, "it pays"),
        };
        (tone, text.to_owned())
    }
}

fn together(Together { value, today, workloads, against_today }: &Together) -> Remark {
    let text = format!(
        "{value} instead of {today} for {} of which none shows alone that it pays: together they do, {} a run",
        counted(workloads.len(), "workload", "workloads"),
        spread(*against_today)
    );
    Remark::new(Tone::Neutral, text)
}
