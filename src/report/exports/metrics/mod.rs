//! Samples of kube-state-metrics: as Prometheus answers a query of a range, and as it scrapes them.

mod exposition;
mod nodes;
mod pods;
mod workloads;

use std::io::{self, Write};
use std::sync::Arc;

pub(crate) use exposition::{is_place_of_openmetrics, write_exposition, write_openmetrics};

use super::identity::Epoch;
use crate::report::run_tables::RunTables;
use crate::report::table::Table;
use crate::report::tables::TableError;
use crate::units::{SimDuration, SimTime};

/// What a series has from a time on, in milliseconds since t=0: none while its object, or what its labels say, is not there.
type Change = (i64, Option<f64>);

/// Writes what Prometheus would answer after the run when asked for the series of kube-state-metrics about nodes, pods and workloads, a
/// sample a step.
///
/// A sample shows the cluster as it is at a multiple of `step` since the Unix epoch: what comes and goes between two of them leaves no
/// trace. A series ends with what it is about, and one whose labels change gives way to another.
///
/// # Errors
///
/// If a table is missing or damaged; within, if `out` cannot be written.
///
/// # Panics
///
/// If the step is shorter than a millisecond.
///
/// # Source
/// kube-state-metrics, docs/metrics: names, labels and values; Prometheus, HTTP API: range queries.
///
/// # Differs
/// It is scraped from outside the cluster and at once: kube-state-metrics is in no pod that a fault could take, and no scrape fails. Labels
/// that tables do not have (addresses, images) are missing, as are times of pods that were there before the run.
pub(crate) fn write_metrics(
    run: &RunTables,
    epoch: Epoch,
    step: SimDuration,
    out: impl Write,
) -> Result<io::Result<()>, TableError> {
    let all = All::read(run)?;
    let mut answer = Answer { out, epoch, scrapes: scrapes(epoch, step, end_of(run)), is_first: true };
    let mut write = || {
        answer.out.write_all(br#"{"status":"success","data":{"resultType":"matrix","result":["#)?;
        Part::ALL.into_iter().try_for_each(|part| all.write(part, &mut answer))?;
        answer.out.write_all(b"\n]}}\n")?;
        answer.out.flush()
    };
    Ok(write())
}

/// When the run ends.
fn end_of(run: &RunTables) -> SimTime {
    let end_s = run.summary()["duration_s"].as_f64().unwrap_or_default();
    SimTime::from_millis((end_s * 1000.0).round() as i64)
}

/// What samples are about; no metric is about two of them.
#[derive(Clone, Copy)]
enum Part {
    Nodes,
    Pods,
    Workloads,
}

impl Part {
    const ALL: [Self; 3] = [Self::Nodes, Self::Pods, Self::Workloads];
}

/// What there is to be read.
struct All {
    nodes: nodes::Read,
    pods: pods::Read,
    workloads: Arc<Table>,
}

impl All {
    fn read(run: &RunTables) -> Result<Self, TableError> {
        Ok(Self { nodes: nodes::read(run)?, pods: pods::read(run)?, workloads: workloads::read(run)? })
    }

    /// Gives `samples` every series of a part.
    fn write(&self, part: Part, samples: &mut dyn Samples) -> io::Result<()> {
        match part {
            Part::Nodes => nodes::write(&self.nodes, samples),
            Part::Pods => pods::write(&self.pods, samples),
            Part::Workloads => workloads::write(&self.workloads, samples),
        }
    }
}

/// When it is scraped, in milliseconds since t=0.
fn scrapes(epoch: Epoch, step: SimDuration, end: SimTime) -> Vec<i64> {
    let step = i64::try_from(step.as_millis()).unwrap_or(i64::MAX);
    assert!(step > 0, "a step of at least a millisecond");
    let end = end.as_nanos() / 1_000_000;
    let before_first = epoch.unix_millis(0).rem_euclid(step);
    let first = if before_first == 0 { 0 } else { step - before_first };
    (first..=end).step_by(usize::try_from(step).unwrap_or(usize::MAX)).collect()
}

/// What takes samples, series by series.
trait Samples {
    /// The time stamp of t=0.
    fn epoch(&self) -> Epoch;

    /// Takes a series. Labels without a value are left out, as Prometheus does.
    fn series(&mut self, name: &str, labels: &[(&str, &str)], changes: &[Change]) -> io::Result<()>;

    /// Takes a series for each value that something can have, 1 for the one that it has from a time on; none while it has none.
    fn one_of(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        (label, values): (&str, &[&str]),
        history: &[(i64, Option<&str>)],
    ) -> io::Result<()> {
        for of in values {
            let is_it = |now: &&str| f64::from(u8::from(now == of));
            let changes: Vec<Change> = history.iter().map(|(at, now)| (*at, now.as_ref().map(is_it))).collect();
            let labels: Vec<(&str, &str)> = labels.iter().copied().chain([(label, *of)]).collect();
            self.series(name, &labels, &changes)?;
        }
        Ok(())
    }
}

/// What a series has at each scrape that sees it, by the milliseconds since t=0.
fn seen<'a>(scrapes: &'a [i64], changes: &'a [Change]) -> impl Iterator<Item = (i64, f64)> + 'a {
    let mut next = 0;
    let mut value = None;
    scrapes.iter().filter_map(move |at| {
        while let Some((_, now)) = changes.get(next).filter(|(since, _)| since <= at) {
            (value, next) = (*now, next + 1);
        }
        value.map(|value| (*at, value))
    })
}

/// The answer as it is written.
struct Answer<W> {
    out: W,
    epoch: Epoch,
    scrapes: Vec<i64>,
    is_first: bool,
}

impl<W: Write> Samples for Answer<W> {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Writes it, unless no scrape has seen it.
    fn series(&mut self, name: &str, labels: &[(&str, &str)], changes: &[Change]) -> io::Result<()> {
        let scrapes = std::mem::take(&mut self.scrapes);
        let mut has_samples = false;
        let mut write = || {
            for (at, value) in seen(&scrapes, changes) {
                if !has_samples {
                    self.head(name, labels)?;
                }
                let comma = if has_samples { "," } else { "" };
                has_samples = true;
                write!(self.out, "{comma}[{},\"{value}\"]", seconds_text(self.epoch.unix_millis(at)))?;
            }
            if has_samples { self.out.write_all(b"]}") } else { Ok(()) }
        };
        let written = write();
        self.scrapes = scrapes;
        written
    }
}

/// Milliseconds as seconds, with three decimals where there are any.
fn seconds_text(millis: i64) -> String {
    let part = millis.rem_euclid(1000);
    let part = if part == 0 { String::new() } else { format!(".{part:03}") };
    format!("{}{part}", millis.div_euclid(1000))
}

impl<W: Write> Answer<W> {
    fn head(&mut self, name: &str, labels: &[(&str, &str)]) -> io::Result<()> {
        let labels = labels.iter().filter(|(_, value)| !value.is_empty());
        let metric: serde_json::Map<String, serde_json::Value> = std::iter::once(&("__name__", name))
            .chain(labels)
            .map(|(label, value)| ((*label).to_owned(), (*value).into()))
            .collect();
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        write!(self.out, r#"{{"metric":{},"values":["#, serde_json::Value::from(metric))
    }
}

/// The values of a condition, as these metrics write them.
const STATUSES: &[&str] = &["true", "false", "unknown"];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is written.
    #[derive(Clone, Copy)]
    pub(super) enum Written {
        /// The answer to a query of a range.
        Answer { step_s: u64 },
        /// OpenMetrics' text.
        OpenMetrics { step_s: u64 },
        /// A scrape.
        Instant { at_s: u64 },
    }

    /// What is written of a run of four minutes from 00:00:10 of the Unix epoch on.
    pub(super) fn written(what: Written, tables: &[(&str, &str)]) -> Vec<u8> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let empty = [
            ("events.csv", "time_s,component,reason,kind,namespace,name\n"),
            ("faults.csv", "kind,object,began_s\n"),
            ("inventory.csv", "node,joined_s,left_s,allocatable_cpu_milli,allocatable_memory_bytes,allocatable_pods\n"),
            ("nodes.csv", "time_s,node,ready,unschedulable\n"),
            (
                "pods.csv",
                "namespace,name,owner_kind,owner_name,initial,node,created_s,scheduled_s,started_s,deletion_s,deletion_cause,finished_s,gone_s,phase,reason\n",
            ),
            ("readiness.csv", "time_s,namespace,name,ready\n"),
            ("taints.csv", "time_s,node,key,value,effect,change\n"),
            ("timers.csv", "set_s,timer,namespace,name,length_s\n"),
            ("workloads.csv", "time_s,namespace,kind,name,desired,current,ready,available,updated,misscheduled\n"),
        ];
        for (name, header) in empty {
            let rows = tables.iter().find(|(table, _)| *table == name).map_or("", |(_, rows)| rows);
            std::fs::write(dir.path().join(name), format!("{header}{rows}")).expect("a file");
        }
        let run = RunTables::new(dir.path().to_owned(), json!({"duration_s": 240.0}));
        let mut out = Vec::new();
        let epoch = Epoch::from_unix_nanos(10_000_000_000);
        let done = match what {
            Written::Answer { step_s } => write_metrics(&run, epoch, SimDuration::from_secs(step_s), &mut out),
            Written::OpenMetrics { step_s } => write_openmetrics(&run, epoch, SimDuration::from_secs(step_s), &mut out),
            Written::Instant { at_s } => {
                write_exposition(&run, epoch, SimTime::from_secs(at_s.cast_signed()), &mut out)
            }
        };
        done.expect("tables").expect("memory");
        out
    }

    /// The answer to that run at a step of so many seconds.
    pub(super) fn answer(step_s: u64, tables: &[(&str, &str)]) -> Vec<(Value, Vec<(f64, String)>)> {
        let out = written(Written::Answer { step_s }, tables);
        let answer: Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!((&answer["status"], &answer["data"]["resultType"]), (&json!("success"), &json!("matrix")));
        let sample = |sample: &Value| {
            (sample[0].as_f64().expect("a time"), sample[1].as_str().expect("a value as text").to_owned())
        };
        let series = answer["data"]["result"].as_array().expect("series").iter();
        series
            .map(|of| (of["metric"].clone(), of["values"].as_array().expect("samples").iter().map(sample).collect()))
            .collect()
    }

    /// The samples of the one series that has these labels, as `time=value`.
    pub(super) fn samples(answer: &[(Value, Vec<(f64, String)>)], labels: Value) -> String {
        let of: Vec<_> = answer.iter().filter(|(metric, _)| *metric == labels).collect();
        assert!(of.len() < 2, "{labels} twice");
        let told = |samples: &Vec<(f64, String)>| -> Vec<String> {
            samples.iter().map(|(at, value)| format!("{at}={value}")).collect()
        };
        of.first().map_or_else(String::new, |(_, samples)| told(samples).join(" "))
    }

    #[test]
    fn scrapes_are_at_whole_steps_of_the_unix_clock_and_see_what_is_there_then() {
        let nodes = "0.000,a,True,false\n65.500,a,Unknown,false\n70.000,a,True,false\n140.001,a,Unknown,true\n";
        let found = answer(60, &[("nodes.csv", nodes)]);
        let ready = |status: &str| {
            let labels =
                json!({"__name__": "kube_node_status_condition", "node": "a", "condition": "Ready", "status": status});
            samples(&found, labels)
        };
        assert_eq!(ready("true"), "60=1 120=1 180=0 240=0");
        assert_eq!(ready("unknown"), "60=0 120=0 180=1 240=1");
        assert_eq!(ready("false"), "60=0 120=0 180=0 240=0");
        let cordoned = samples(&found, json!({"__name__": "kube_node_spec_unschedulable", "node": "a"}));
        assert_eq!(cordoned, "60=0 120=0 180=1 240=1");
        let fine = answer(5, &[("nodes.csv", nodes)]);
        let labels =
            json!({"__name__": "kube_node_status_condition", "node": "a", "condition": "Ready", "status": "unknown"});
        let lost = samples(&fine, labels);
        assert!(lost.starts_with("10=0 15=0") && lost.contains("75=0 80=0") && lost.contains("150=0 155=1"), "{lost}");
    }
}
