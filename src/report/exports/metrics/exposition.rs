//! Samples of kube-state-metrics as text: a whole run in OpenMetrics' form with time stamps, of which `promtool` makes blocks, and an
//! instant as Prometheus scrapes it.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::Path;

use super::super::identity::Epoch;
use super::{All, Change, Part, Samples, end_of, scrapes, seconds_text, seen};
use crate::report::run_tables::RunTables;
use crate::report::tables::TableError;
use crate::units::{SimDuration, SimTime};

/// What such a file begins with; the form has no place for who wrote it. What kube-state-metrics itself serves begins with `# HELP`.
const HEAD: &str = "# TYPE kube_";

/// Whether nothing else is lost if samples are written there: there is no file, or an earlier one of ours.
pub(crate) fn is_place_of_openmetrics(path: &Path) -> bool {
    let mut head = Vec::new();
    match File::open(path).and_then(|file| file.take(HEAD.len() as u64).read_to_end(&mut head)) {
        Ok(_) => head.is_empty() || head == HEAD.as_bytes() || head == b"# EOF\n",
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Writes what kube-state-metrics says of a run, a sample a step, with time stamps.
///
/// Samples of a metric stand together, as the form wants it: every metric is looked for in the tables by itself, so that what is written
/// need not fit into memory.
///
/// # Errors
///
/// If a table is missing or damaged; within, if `out` cannot be written.
///
/// # Source
/// OpenMetrics 1.0, text format; `promtool tsdb create-blocks-from openmetrics`.
///
/// # Differs
/// As samples of a range do. OpenMetrics has no mark for the end of a series: who asks Prometheus for an instant gets the last sample for as
/// long as it looks back.
pub(crate) fn write_openmetrics(
    run: &RunTables,
    epoch: Epoch,
    step: SimDuration,
    mut out: impl Write,
) -> Result<io::Result<()>, TableError> {
    let all = All::read(run)?;
    let scrapes = scrapes(epoch, step, end_of(run));
    let mut write = || {
        write_families(&all, epoch, (&scrapes, Stamps::Written), &mut out)?;
        out.write_all(b"# EOF\n")?;
        out.flush()
    };
    Ok(write())
}

/// Writes what kube-state-metrics says at an instant, as a scrape of `/metrics` gets it: Prometheus' text format.
///
/// # Errors
///
/// If a table is missing or damaged; within, if `out` cannot be written.
///
/// # Source
/// Prometheus, exposition formats: text format 0.0.4.
pub(crate) fn write_exposition(
    run: &RunTables,
    epoch: Epoch,
    at: SimTime,
    mut out: impl Write,
) -> Result<io::Result<()>, TableError> {
    let all = All::read(run)?;
    let at = at.as_nanos() / 1_000_000;
    Ok(write_families(&all, epoch, (&[at], Stamps::LeftOut), &mut out))
}

/// Whether samples have time stamps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stamps {
    Written,
    LeftOut,
}

/// Writes every metric with all of its samples.
fn write_families(all: &All, epoch: Epoch, (scrapes, stamps): (&[i64], Stamps), out: &mut dyn Write) -> io::Result<()> {
    for part in Part::ALL {
        let mut names = Names { epoch, scrapes, found: Vec::new() };
        all.write(part, &mut names)?;
        for family in &names.found {
            // A counter's own name lacks what its samples end with, and only OpenMetrics wants that.
            let is_counter = family.ends_with("_total");
            let of_samples = if stamps == Stamps::Written { family.strip_suffix("_total") } else { None };
            let kind = if is_counter { "counter" } else { "gauge" };
            writeln!(out, "# TYPE {} {kind}", of_samples.unwrap_or(family))?;
            all.write(part, &mut Family { name: family, epoch, scrapes, stamps, out })?;
        }
    }
    Ok(())
}

/// Takes the names of the metrics of which there is a sample.
struct Names<'a> {
    epoch: Epoch,
    scrapes: &'a [i64],
    found: Vec<String>,
}

impl Samples for Names<'_> {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn series(&mut self, name: &str, _: &[(&str, &str)], changes: &[Change]) -> io::Result<()> {
        if !self.found.iter().any(|found| found == name) && seen(self.scrapes, changes).next().is_some() {
            self.found.push(name.to_owned());
        }
        Ok(())
    }
}

/// Writes the samples of one metric.
struct Family<'a> {
    name: &'a str,
    epoch: Epoch,
    scrapes: &'a [i64],
    stamps: Stamps,
    out: &'a mut dyn Write,
}

impl Samples for Family<'_> {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn series(&mut self, name: &str, labels: &[(&str, &str)], changes: &[Change]) -> io::Result<()> {
        if name != self.name {
            return Ok(());
        }
        let labels: Vec<String> = labels
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let head = format!("{name}{{{}}}", labels.join(","));
        for (at, value) in seen(self.scrapes, changes) {
            match self.stamps {
                Stamps::Written => writeln!(self.out, "{head} {value} {}", seconds_text(self.epoch.unix_millis(at)))?,
                Stamps::LeftOut => writeln!(self.out, "{head} {value}")?,
            }
        }
        Ok(())
    }
}

/// A label's value as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Written, written};
    use super::*;

    fn text(what: Written, tables: &[(&str, &str)]) -> String {
        String::from_utf8(written(what, tables)).expect("text")
    }

    const NODES: (&str, &str) = ("nodes.csv", "0.000,a,True,false\n0.000,b,True,false\n65.500,a,Unknown,false\n");

    #[test]
    fn samples_of_a_metric_stand_together_with_their_time_stamps() {
        let text = text(Written::OpenMetrics { step_s: 60 }, &[NODES]);
        let families: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        assert_eq!(
            families,
            [
                "# TYPE kube_node_info gauge",
                "# TYPE kube_node_spec_unschedulable gauge",
                "# TYPE kube_node_status_condition gauge"
            ]
        );
        let ready: Vec<&str> = text
            .lines()
            .filter(|line| {
                line.starts_with("kube_node_status_condition{node=\"a\",condition=\"Ready\",status=\"unknown\"}")
            })
            .filter_map(|line| Some(line.split_once("} ")?.1))
            .collect();
        // t=0 is at 10 s of the Unix clock.
        assert_eq!(ready, ["0 60", "1 120", "1 180", "1 240"]);
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn an_instant_has_one_sample_a_series_and_no_time_stamps() {
        let text = text(Written::Instant { at_s: 66 }, &[NODES]);
        assert!(text.contains("kube_node_status_condition{node=\"a\",condition=\"Ready\",status=\"unknown\"} 1\n"));
        assert_eq!(text.lines().filter(|line| line.starts_with("kube_node_info")).count(), 2);
        assert!(!text.contains("EOF"));
    }

    #[test]
    fn restarts_are_a_counter_and_its_own_name_has_no_ending() {
        let pods = ("pods.csv", "shop,db-0,StatefulSet,db,true,a,0.000,0.000,0.000,,,,,Running,\n");
        let of_run = text(Written::OpenMetrics { step_s: 60 }, &[pods]);
        assert!(of_run.contains("# TYPE kube_pod_container_status_restarts counter\n"));
        assert!(of_run.contains("kube_pod_container_status_restarts_total{namespace=\"shop\""));
        assert!(
            text(Written::Instant { at_s: 60 }, &[pods])
                .contains("# TYPE kube_pod_container_status_restarts_total counter\n")
        );
    }

    #[test]
    fn what_labels_contain_ends_no_quote() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
