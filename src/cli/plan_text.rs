//! What a plan has found, in words.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table};

use super::paint::Paint;
use super::words::counted;
use crate::diagnostics::Style;
use crate::facade::exception;
use crate::study::plan::{
    Blast, Candidate, Failure, Headroom, PlanResults, PlayRecord, Refused, ShortfallKind, Verdict,
};
use crate::units::{SimDuration, SimTime};

/// Counts shown in the table.
const ROWS_MAX: usize = 12;

/// The answer, what binds it, the margin, and what was tried.
pub(super) fn text(results: &PlanResults, blasts: &[Blast], style: Style) -> String {
    let mut text = headline(results, style);
    bindings(results, &mut text);
    text.push('\n');
    let _ = writeln!(text, "{}", table(results));
    if let Some(answer) = results.answer() {
        let _ = write!(text, "\n{}", margin(results, answer));
    }
    if !blasts.is_empty() {
        let _ = write!(text, "\nWhat is worst to lose:\n{}\n", blast_table(blasts));
    }
    text
}

fn price(micros: i64) -> String {
    (micros as f64 / 1e6).to_string()
}

fn headline(results: &PlanResults, style: Style) -> String {
    let cases = results.cases.join(", ");
    let Some(answer) = results.answer() else {
        let most: Vec<u32> = results.pools.iter().map(|pool| pool.max).collect();
        let line = format!("{}: nothing up to {} survives {cases}", results.plan, results.in_words(&most));
        return format!("{}\n", Paint { style }.bold(&line));
    };
    let line = format!("{}: {} survive {cases}", results.plan, results.in_words(&answer.counts));
    let exception = exception(answer.plays().iter().map(|play| play.outcome.beyond_help()).max().unwrap_or(0));
    let mut text = format!("{}\n", Paint { style }.bold(&format!("{line}{exception}")));
    let is_lowest = answer.counts.iter().zip(&results.pools).all(|(count, pool)| *count == pool.min)
        && results.pools.iter().any(|pool| pool.min > 0);
    let now: Vec<u32> = results.pools.iter().map(|pool| pool.now).collect();
    if results.pools.len() > 1 {
        let before = match results.answer.unwrap_or(0) {
            0 => String::new(),
            1 => "; the one mix before it, cheaper or as cheap with no more nodes, does not survive".to_owned(),
            count => format!(
                "; none of the {} before it, cheaper or as cheap with no more nodes, survives",
                counted(count, "mix", "mixes")
            ),
        };
        let _ = writeln!(text, "  at a price of {}{before}", price(answer.price_micros));
    }
    if is_lowest {
        text.push_str("  which is the least that was to be tried: lower `min` to see whether fewer do\n");
    }
    if now != answer.counts {
        let _ = writeln!(text, "  the scenario has {}", results.in_words(&now));
    }
    text
}

/// Why one node less does not do, or why nothing does.
fn bindings(results: &PlanResults, text: &mut String) {
    for candidate in &results.binding {
        let _ = writeln!(text, "\n{} do not:", results.in_words(&candidate.counts));
        for failure in results.failures(candidate) {
            let Failure { case, lost, shortfall, others, stuck } = failure;
            let more = if others > 0 { format!(" (and {})", counted(others, "more", "more")) } else { String::new() };
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
            let _ = writeln!(text, "  {case}, {lost}: {} {what}{wait}{more}\n    {}", shortfall.object, shortfall.why);
            if shortfall.is_beyond_help {
                text.push_str("    a node more of what is searched would not take it either, so that a higher `max` does not help\n");
            }
            if stuck > 0 && !matches!(shortfall.kind, ShortfallKind::Pending | ShortfallKind::LeftBehind) {
                let _ = writeln!(text, "    {}", stuck_line(stuck));
            }
        }
    }
}

fn table(results: &PlanResults) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let pools = results.pools.iter().map(|pool| pool.name.as_str().to_uppercase());
    let cases = results.cases.iter().map(|case| case.to_uppercase());
    let prices = (results.pools.len() > 1).then(|| "PRICE".to_owned());
    table.set_header(pools.chain(prices).chain(["CALM".to_owned()]).chain(cases));
    let skipped = results.candidates.len().saturating_sub(ROWS_MAX);
    let mut notes = String::new();
    for candidate in &results.candidates[skipped..] {
        let counts = candidate.counts.iter().map(u32::to_string);
        let prices = (results.pools.len() > 1).then(|| price(candidate.price_micros));
        let verdicts: Vec<String> = match &candidate.verdict {
            Verdict::RuledOut { why } => {
                let _ = write!(notes, "\n  {} ruled out: {why}", results.in_words(&candidate.counts));
                vec!["ruled out".to_owned()]
            }
            Verdict::Played { .. } => std::iter::once(None)
                .chain((0..results.cases.len()).map(Some))
                .map(|case| verdict(candidate, case))
                .collect(),
        };
        table.add_row(counts.chain(prices).chain(verdicts));
    }
    for column in table.column_iter_mut().take(results.pools.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt() + &notes
}

/// Pods that no number of nodes helps.
fn stuck_line(stuck: u64) -> String {
    let pods = counted(stuck as usize, "pod hangs", "pods hang");
    format!("{pods} on the lost nodes: of StatefulSets, or tolerating the loss without end; more nodes change nothing")
}

fn headroom_line(headroom: &Headroom) -> String {
    let Headroom { workload, replicas, more, binding } = headroom;
    let mut text = format!("Headroom: {workload} may grow by {more}, from {replicas} to {}", replicas + more);
    match binding.first() {
        Some(Failure { case, lost, shortfall, .. }) => {
            let _ = writeln!(text, "; one more, and in {case}, {lost}, {} falls short", shortfall.object);
            if shortfall.kind == ShortfallKind::Refused {
                let _ = writeln!(text, "  its pods are refused: {}", shortfall.why);
            }
        }
        None => text.push_str(", where the search ends\n"),
    }
    text
}

/// Workloads whose pods are refused: of each the play in which most of them are.
fn refused(results: &PlanResults, answer: &Candidate, text: &mut String) {
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
    let left = worst.len().saturating_sub(ROWS_MAX);
    for (play, Refused { pods, shortfall }) in worst.into_iter().take(ROWS_MAX) {
        let pods = counted(*pods as usize, "pod", "pods");
        let verb = if pods.starts_with("1 ") { "is" } else { "are" };
        let wait = shortfall.wait.map_or_else(String::new, |wait| format!(" {wait}"));
        let _ = writeln!(
            text,
            "Beware: {}, {pods} of {} {verb} refused{wait}: {}; more nodes change nothing",
            results.in_which(play),
            shortfall.object,
            shortfall.why
        );
    }
    if left > 0 {
        let _ = writeln!(text, "Beware: so are pods of {}", counted(left, "other workload", "other workloads"));
    }
}

/// The worst losses.
fn blast_table(blasts: &[Blast]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["LOST", "KIND", "ALIKE", "UNREADY REPLICA-S", "WORKLOADS BELOW", "PENDING", "WAITED"]);
    for Blast { kind, lost, outcome } in blasts.iter().take(ROWS_MAX) {
        table.add_row([
            lost.label.clone(),
            kind.clone(),
            lost.alike.to_string(),
            format!("{:.0}", outcome.unready_replica_s),
            outcome.workloads_below.to_string(),
            outcome.pending.to_string(),
            outcome.waited.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn verdict(candidate: &Candidate, case: Option<usize>) -> String {
    let of_case = || candidate.plays().iter().filter(|play| play.case == case);
    let plays = of_case().count();
    let failed = of_case().filter(|play| !play.outcome.is_survived()).count();
    match (plays, failed) {
        (0, _) => "-".to_owned(),
        (_, 0) => match of_case().map(|play| play.outcome.beyond_help()).max().unwrap_or(0) {
            0 => "survives".to_owned(),
            pods => format!("survives but for {pods}"),
        },
        _ if candidate.is_cut_short(case) => "fails, stopped at the first".to_owned(),
        (1, _) => "fails".to_owned(),
        (plays, failed) => format!("fails {failed} of {plays}"),
    }
}

fn margin(results: &PlanResults, answer: &Candidate) -> String {
    let mut text = String::new();
    if let Some((play, margin)) = answer.tightest().and_then(|play| Some((play, play.outcome.margin?))) {
        let gib = |bytes: i64| format!("{:.1}", bytes as f64 / f64::from(1 << 30));
        let _ = writeln!(
            text,
            "Margin: {}, where it is tightest ({} after the start), {} of {} CPU, {} of {} GiB of memory and {} of {} places for pods \
             stay free on the nodes that pods can go to",
            results.in_which(play),
            SimDuration::from_secs(margin.at.saturating_since(SimTime::ZERO).as_secs()),
            margin.free_cpu_milli as f64 / 1000.0,
            margin.cpu_milli as f64 / 1000.0,
            gib(margin.free_memory),
            gib(margin.memory),
            margin.free_pods,
            margin.pods
        );
    }
    for headroom in &results.headroom {
        text.push_str(&headroom_line(headroom));
    }
    for island in results.islands() {
        let _ = writeln!(text, "Beware: {} do not survive, though they are more", results.in_words(&island.counts));
    }
    let stuck =
        answer.plays().iter().max_by_key(|play| (play.outcome.stuck, std::cmp::Reverse(play.lost.label.as_str())));
    if let Some(play) = stuck.filter(|play| play.outcome.stuck > 0) {
        let _ = writeln!(text, "Beware: {}, {}", results.in_which(play), stuck_line(play.outcome.stuck));
    }
    let waited = answer.plays().iter().max_by_key(|play| (play.outcome.waited_beyond_help, play.outcome.longest_wait));
    if let Some((play, first)) = waited.and_then(|play| Some((play, play.outcome.first_beyond_help.as_ref()?))) {
        let pods = counted(play.outcome.waited_beyond_help as usize, "pod waits", "pods wait");
        let wait = first.wait.map_or_else(String::new, |wait| format!(" {wait}"));
        let _ = writeln!(
            text,
            "Beware: {}, {pods} for a node that no node more would be, {} the longest,{wait}: {}",
            results.in_which(play),
            first.object,
            first.why
        );
    }
    refused(results, answer, &mut text);
    let lost =
        answer.plays().iter().max_by_key(|play| (play.outcome.lost, std::cmp::Reverse(play.lost.label.as_str())));
    if let Some((play, first)) = lost.and_then(|play| Some((play, play.outcome.lost_first.as_ref()?))) {
        let pods = counted(play.outcome.lost as usize, "pod is lost", "pods are lost");
        let _ = writeln!(
            text,
            "Beware: {}, {pods} for good, as of {first}: nothing makes them anew; more nodes change nothing",
            results.in_which(play)
        );
    }
    let plays: usize = results.candidates.iter().map(|candidate| candidate.plays().len()).sum();
    let _ = writeln!(
        text,
        "{} played, each once, with seed {}: another seed decides ties between nodes otherwise and may answer otherwise",
        counted(plays, "case", "cases"),
        results.seed
    );
    text.push_str("(try `--seed` with another number); a node more than the answer is no luxury\n");
    text
}
