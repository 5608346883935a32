//! Samples of kube-state-metrics, in whichever form they were saved.
//!
//! A sample says what was so at its time: a change lies between the last sample before it and the first behind it. That there is no
//! sample says nothing of the object as long as its scraper brought none of others either.

mod csv;
mod json;
mod labels;
mod nodes;
mod number;
mod pods;
mod presence;
mod samples;
mod states;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, BufRead};

use super::{ClockOptions, Evidence};
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Location};
use crate::evidence::{Bounds, Instant, Record, RecordKind, What};
use crate::units::SimDuration;
use labels::{Label, Metric};
use presence::Watch;
use samples::{SERIES_MAX, Samples, Table};

/// Stretches without a gap of which each becomes a record of its own.
const STRETCHES_MAX: usize = 200;

/// Which form a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Text,
    Csv,
}

/// Whether a text is samples of metrics.
pub(in crate::import::outage) fn is(head: &[u8]) -> bool {
    form(head).is_some()
}

fn form(head: &[u8]) -> Option<Form> {
    let head = String::from_utf8_lossy(head);
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let has = |text: &str| head.contains(text);
    if head.starts_with('{') && (head.starts_with("{__name__=") || has("} =>") || has("=\"") && !has("\":")) {
        return Some(Form::Text);
    }
    if head.starts_with(['{', '[']) {
        let is_answer = (has("\"status\"") && (has("\"resultType\"") || has("\"errorType\""))) || has("\"resultType\"");
        let is_series = has("\"metric\"") && ["\"values\"", "\"value\"", "\"__name__\""].into_iter().any(has);
        return (is_answer || is_series).then_some(Form::Json);
    }
    if csv::is(head) {
        return Some(Form::Csv);
    }
    let is_comment = ["# TYPE ", "# HELP ", "# UNIT ", "# EOF"].iter().any(|begin| head.starts_with(begin));
    let first = head.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty()).unwrap_or_default();
    let is_series = first.split_once('{').is_some_and(|(name, rest)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        !name.is_empty() && name.trim_end().chars().all(is_name) && rest.contains("=\"")
    });
    (is_comment || is_series).then_some(Form::Text)
}

/// Reads samples.
pub(in crate::import::outage) fn read(
    name: &str,
    content: &mut dyn BufRead,
    clock: &ClockOptions,
    into: &mut Evidence,
) -> io::Result<()> {
    let mut samples = Samples::default();
    let form = form(content.fill_buf()?).unwrap_or(Form::Text);
    let read = match form {
        Form::Json => json(name, content, &mut samples, into),
        Form::Text => exposition(name, content, &mut samples, into),
        Form::Csv => table(name, content, clock, &mut samples, into),
    };
    say(name, &samples, into);
    if !samples.is_empty() {
        conclude(name, &mut samples, into);
    }
    read
}

fn problem(name: &str, line: u32, code: &'static str, message: String, help: &str, into: &mut Evidence) {
    let diagnostic = Diagnostic::warning(code, message);
    let diagnostic = if help.is_empty() { diagnostic } else { diagnostic.help(help) };
    into.problem(diagnostic.at(Location::new(name, line, u32::from(line > 0), line.min(1)), ""), None);
}

fn json(name: &str, content: &mut dyn BufRead, samples: &mut Samples, into: &mut Evidence) -> io::Result<()> {
    let mut said = json::Said::default();
    let read = json::read(content, samples, &mut said);
    for error in said.errors {
        into.not_read(name, format!("Prometheus answered with an error: {error}"));
    }
    for warning in said.warnings {
        let message = format!("Prometheus warns of its answer: {warning}");
        problem(name, 0, "evidence::partial_answer", message, "", into);
    }
    if said.is_partial {
        let message = "the answer says of itself that it is partial: series may be missing".to_owned();
        problem(name, 0, "evidence::partial_answer", message, "", into);
    }
    match read? {
        Some(error) if error.is_eof() => into.not_read(name, "it ends in the middle"),
        Some(error) => {
            into.not_read(name, format!("it is no answer of Prometheus from line {} on: {error}", error.line()))
        }
        None => {}
    }
    Ok(())
}

fn exposition(name: &str, content: &mut dyn BufRead, samples: &mut Samples, into: &mut Evidence) -> io::Result<()> {
    let mut wrong = text::Wrong::default();
    let read = text::read(content, samples, &mut wrong);
    if let Some((line, text)) = wrong.first {
        let more =
            if wrong.count > 1 { format!(", and {} more lines are none", wrong.count - 1) } else { String::new() };
        problem(name, line, "evidence::syntax", format!("`{text}` is no sample{more}"), "", into);
    }
    if wrong.is_cut {
        into.not_read(name, "it ends in the middle");
    }
    if wrong.without_time > 0 {
        let help = "save what Prometheus has of it, which knows when: `promtool query range` or `/federate`";
        let message = format!("samples without a time: {}; they say nothing of when", wrong.without_time);
        problem(name, 0, "evidence::no_time", message, help, into);
    }
    read
}

fn table(
    name: &str,
    content: &mut dyn BufRead,
    clock: &ClockOptions,
    samples: &mut Samples,
    into: &mut Evidence,
) -> io::Result<()> {
    let mut told = csv::Told::default();
    let read = csv::read(content, clock, samples, &mut told);
    if let Some((line, cell)) = told.first_bad {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let more = if told.bad > 1 { format!(", and {} more rows have none", told.bad - 1) } else { String::new() };
        let message = format!("`{cell}` is no time, such as 2026-03-01 14:05:00 or 1772373900000{more}");
        problem(name, line, "evidence::no_time", message, "", into);
    }
    if !told.assumed.is_empty() {
        let message = format!(
            "columns that are named after no metric are taken for nodes that are ready (1) or not (0): {}",
            told.assumed.join(", ")
        );
        let help = "the legend `Verbose` names metric and labels";
        problem(name, 1, "evidence::assumed_metric", message, help, into);
    }
    if !told.unknown.is_empty() {
        let message = format!("columns of no metric that is read: {}", told.unknown.join(", "));
        problem(name, 1, "evidence::unknown_metric", message, "", into);
    }
    if told.is_local && clock.offset.is_none() {
        let message = "times without an offset are taken for UTC".to_owned();
        problem(name, 1, "evidence::no_offset", message, "say on which clock they are, if it is another one", into);
    }
    if let Some(why) = told.broken {
        into.not_read(name, why);
    }
    read
}

/// What is wrong with samples of any form.
fn say(name: &str, samples: &Samples, into: &mut Evidence) {
    if samples.bad > 0 {
        let message = format!("samples whose time or value is none: {}", samples.bad);
        problem(name, 0, "evidence::no_time", message, "", into);
    }
    if samples.dropped > 0 {
        let message = format!("series beyond the first {SERIES_MAX} are not read: {}", samples.dropped);
        problem(name, 0, "evidence::too_many_series", message, "select metrics and a cluster in the query", into);
    }
    if samples.clusters.len() > 1 {
        let clusters: Vec<&str> = samples.clusters.iter().take(5).map(String::as_str).collect();
        let message = format!("the series are of several clusters: {}", clusters.join(", "));
        problem(name, 0, "evidence::several_clusters", message, "select one by its label in the query", into);
    }
    if samples.is_empty() && samples.others > 0 {
        into.not_read(name, "none of its metrics tells when something came about");
    }
}

/// Sightings, each with the time of the sample that shows it.
#[derive(Debug, Default)]
struct Seen(Vec<(Bounds, u32, What)>);

impl Seen {
    fn see(&mut self, when: Bounds, place: u32, what: What) {
        self.0.push((when, place, what));
    }
}

fn at(nanos: i64) -> Instant {
    Instant::from_unix_nanos(nanos)
}

fn between(earliest: i64, latest: i64) -> Bounds {
    Bounds::between(at(earliest), at(latest))
}

/// Within the second of a value that is a time; nothing if it is none.
fn second(value: f64) -> Option<Bounds> {
    number::nanos_of_seconds(value)
        .filter(|nanos| *nanos > 0)
        .map(|nanos| Bounds::second(at(nanos / 1_000_000_000 * 1_000_000_000)))
}

/// What changes from sample to sample.
fn conclude(name: &str, samples: &mut Samples, into: &mut Evidence) {
    let table = samples.finish();
    let watch = Watch::of(&table);
    let mut seen = Seen::default();
    nodes::conclude(&table, &watch, &mut seen);
    pods::conclude(&table, &watch, &mut seen);
    workloads(&table, &mut seen);
    seen.0.sort_by_key(|(when, place, _)| (*when, *place));
    if table.lines.iter().all(|line| line.key.metric.is_sparse()) {
        let message =
            "its series are there only while something is the case, so that their ends may be those of the query";
        let help = "save `kube_node_info`, too, which is always there";
        problem(name, 0, "evidence::sparse_metrics", message.to_owned(), help, into);
    }
    records(name, &table, &watch, seen, into);
}

/// A record for each stretch that was watched without a gap: of what was between them it says nothing.
fn records(name: &str, table: &Table, watch: &Watch, seen: Seen, into: &mut Evidence) {
    let step = (table.step > 0).then(|| SimDuration::from_nanos(table.step.unsigned_abs()));
    let mut stretches = watch.all().to_vec();
    for gap in stretches.windows(2).take(STRETCHES_MAX) {
        let (from, to) = (at(gap[0].1), at(gap[1].0));
        let why = format!("it has no samples from {from} to {to}: kube-state-metrics or Prometheus was away");
        into.not_read(name, why);
    }
    if stretches.len() > STRETCHES_MAX {
        let last = stretches[stretches.len() - 1].1;
        stretches.truncate(STRETCHES_MAX);
        stretches[STRETCHES_MAX - 1].1 = last;
    }
    let ids: Vec<_> = stretches
        .iter()
        .map(|(first, last)| {
            let covers = Some(between(*first, *last));
            into.begin(Record { name: name.to_owned(), kind: RecordKind::Metrics, covers, step })
        })
        .collect();
    for (when, place, what) in seen.0 {
        let latest = when.latest.unix_nanos();
        let of_stretch = stretches.partition_point(|(first, _)| *first <= latest).saturating_sub(1);
        into.see(ids[of_stretch], place, when, what);
    }
}

/// Replicas that workloads want.
fn workloads(table: &Table, seen: &mut Seen) {
    let kinds = [
        (Metric::DeploymentReplicas, "Deployment", Label::Deployment),
        (Metric::StatefulSetReplicas, "StatefulSet", Label::StatefulSet),
    ];
    for (metric, kind, label) in kinds {
        for line in table.of(metric) {
            let (namespace, name) = (line.key.id(Label::Namespace), line.key.id(label));
            for pair in line.spans.windows(2).filter(|pair| pair[0].value != pair[1].value) {
                let [from, to] = [pair[0].value, pair[1].value].map(|value| value.round() as i64);
                let what = What::Scaled { kind: Symbol::new(kind), namespace, name, from: Some(from), to };
                seen.see(between(pair[0].last, pair[1].first), pair[1].place, what);
            }
        }
    }
}
