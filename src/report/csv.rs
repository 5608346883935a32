//! The rows of a run as CSV, one function a file. Columns are fixed; `design` names them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::observe::{
    CauseRow, ClusterRow, EventRow, NodeRow, Observed, PodRow, ReadinessRow, Room, ServiceRow, TranscriptRow,
    WorkloadRow, ZoneRow,
};
use crate::report::run_dir::{OutputDir, OutputError};
use crate::units::SimTime;

/// A line of a CSV file in the making.
struct Line<'a> {
    writer: &'a mut csv::Writer<Vec<u8>>,
    numbers: itoa::Buffer,
}

impl Line<'_> {
    fn text(&mut self, text: &str) -> &mut Self {
        self.writer.write_field(text).expect("writing to memory");
        self
    }

    fn number(&mut self, number: i64) -> &mut Self {
        let text = self.numbers.format(number);
        self.writer.write_field(text).expect("writing to memory");
        self
    }

    fn time(&mut self, at: SimTime) -> &mut Self {
        self.writer.write_field(at.to_string()).expect("writing to memory");
        self
    }

    fn maybe(&mut self, at: Option<SimTime>) -> &mut Self {
        match at {
            Some(at) => self.time(at),
            None => self.text(""),
        }
    }

    fn truth(&mut self, is_true: bool) -> &mut Self {
        self.text(if is_true { "true" } else { "false" })
    }

    fn room(&mut self, room: &Room) -> &mut Self {
        self.number(room.cpu_milli).number(room.memory).number(room.pods)
    }

    fn end(&mut self) {
        self.writer.write_record(None::<&[u8]>).expect("writing to memory");
    }
}

/// Writes a table with its header.
fn table<R>(columns: &[&str], rows: &[R], fill: impl Fn(&mut Line<'_>, &R)) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).expect("writing to memory");
    for row in rows {
        let mut line = Line { writer: &mut writer, numbers: itoa::Buffer::new() };
        fill(&mut line, row);
        line.end();
    }
    writer.into_inner().expect("writing to memory")
}

/// Writes every table of a run.
///
/// # Errors
/// If a file cannot be written.
pub fn write_tables(observed: &Observed, out: &OutputDir) -> Result<(), OutputError> {
    out.write("events.csv", &events(&observed.events))?;
    out.write("pods.csv", &pods(&observed.pods))?;
    out.write("readiness.csv", &readiness(&observed.readiness))?;
    out.write("nodes.csv", &nodes(&observed.nodes))?;
    out.write("workloads.csv", &workloads(&observed.workloads))?;
    out.write("cluster.csv", &cluster(&observed.cluster))?;
    out.write("zones.csv", &zones(&observed.zones))?;
    out.write("services.csv", &services(&observed.services))?;
    out.write("causes.csv", &causes(&observed.causes))?;
    out.write("transcript.jsonl", &transcript(&observed.transcript))
}

/// How many rows each table has, by the names of the files: what reads them back sees by it whether they are whole.
#[must_use]
pub fn row_counts(observed: &Observed) -> BTreeMap<&'static str, usize> {
    BTreeMap::from([
        ("events.csv", observed.events.len()),
        ("pods.csv", observed.pods.len()),
        ("readiness.csv", observed.readiness.len()),
        ("nodes.csv", observed.nodes.len()),
        ("workloads.csv", observed.workloads.len()),
        ("cluster.csv", observed.cluster.len()),
        ("zones.csv", observed.zones.len()),
        ("services.csv", observed.services.len()),
        ("causes.csv", observed.causes.len()),
        ("transcript.jsonl", observed.transcript.len()),
    ])
}

fn events(rows: &[EventRow]) -> Vec<u8> {
    let columns = ["time_s", "component", "type", "reason", "kind", "namespace", "name", "node", "message"];
    table(&columns, rows, |line, row| {
        line.time(row.at).text(row.component).text(row.event_type).text(row.reason).text(row.kind);
        line.text(row.namespace.as_str()).text(&row.name).text(row.node.as_str()).text(&row.message);
    })
}

fn pods(rows: &[PodRow]) -> Vec<u8> {
    let columns = [
        "namespace",
        "name",
        "owner_kind",
        "owner_name",
        "initial",
        "priority",
        "qos",
        "node",
        "created_s",
        "scheduled_s",
        "started_s",
        "ready_s",
        "deletion_s",
        "deletion_cause",
        "finished_s",
        "gone_s",
        "phase",
        "reason",
        "restarts",
        "unready_s",
        "workload_kind",
        "workload_name",
        "taken_away",
    ];
    table(&columns, rows, |line, row| {
        line.text(row.namespace.as_str()).text(&row.name).text(row.owner_kind.as_str()).text(row.owner_name.as_str());
        line.truth(row.initial).number(i64::from(row.priority)).text(row.qos.as_str()).text(row.node.as_str());
        line.time(row.created_at).maybe(row.scheduled_at).maybe(row.started_at).maybe(row.ready_at);
        line.maybe(row.deletion_at).text(row.deletion_cause.map_or("", |cause| cause.column()));
        line.maybe(row.finished_at).maybe(row.gone_at).text(row.phase.as_str()).text(row.reason.as_str());
        line.number(i64::from(row.restarts)).time(SimTime::ZERO + row.unready_for);
        line.text(row.workload.kind.as_str()).text(row.workload.name.as_str()).truth(row.taken_away().is_some());
    })
}

fn readiness(rows: &[ReadinessRow]) -> Vec<u8> {
    table(&["time_s", "namespace", "name", "ready"], rows, |line, row| {
        line.time(row.at).text(row.namespace.as_str()).text(&row.name);
        line.text(if row.ready { "True" } else { "False" });
    })
}

fn nodes(rows: &[NodeRow]) -> Vec<u8> {
    table(&["time_s", "node", "ready", "unschedulable", "taints", "pods"], rows, |line, row| {
        line.time(row.at).text(row.node.as_str()).text(row.ready).truth(row.unschedulable);
        line.text(&row.taints).number(row.pods);
    })
}

fn workloads(rows: &[WorkloadRow]) -> Vec<u8> {
    let columns = [
        "time_s",
        "namespace",
        "kind",
        "name",
        "desired",
        "current",
        "ready",
        "available",
        "updated",
        "pending",
        "terminating",
        "misscheduled",
    ];
    table(&columns, rows, |line, row| {
        line.time(row.at).text(row.namespace.as_str()).text(row.kind).text(row.name.as_str());
        for count in [
            row.desired,
            row.current,
            row.ready,
            row.available,
            row.updated,
            row.pending,
            row.terminating,
            row.misscheduled,
        ] {
            line.number(i64::from(count));
        }
    })
}

fn cluster(rows: &[ClusterRow]) -> Vec<u8> {
    let columns = [
        "time_s",
        "nodes_ready",
        "nodes_not_ready",
        "nodes_unknown",
        "nodes_unschedulable",
        "pods_unscheduled",
        "pods_pending",
        "pods_running",
        "pods_ready",
        "pods_succeeded",
        "pods_failed",
        "pods_terminating",
        "requested_cpu_milli",
        "requested_memory_bytes",
        "requested_pods",
        "allocatable_cpu_milli",
        "allocatable_memory_bytes",
        "allocatable_pods",
        "evictions",
        "preemptions",
        "refusals",
    ];
    table(&columns, rows, |line, row| {
        line.time(row.at).number(row.nodes_ready).number(row.nodes_not_ready).number(row.nodes_unknown);
        line.number(row.nodes_unschedulable).number(row.pods_unscheduled).number(row.pods_pending);
        line.number(row.pods_running).number(row.pods_ready).number(row.pods_succeeded).number(row.pods_failed);
        line.number(row.pods_terminating).room(&row.requested).room(&row.allocatable);
        line.number(row.evictions).number(row.preemptions).number(row.refusals);
    })
}

fn zones(rows: &[ZoneRow]) -> Vec<u8> {
    let columns = [
        "time_s",
        "zone",
        "nodes",
        "nodes_ready",
        "requested_cpu_milli",
        "requested_memory_bytes",
        "requested_pods",
        "allocatable_cpu_milli",
        "allocatable_memory_bytes",
        "allocatable_pods",
    ];
    table(&columns, rows, |line, row| {
        line.time(row.at).text(row.zone.as_str()).number(row.nodes).number(row.nodes_ready);
        line.room(&row.requested).room(&row.allocatable);
    })
}

fn services(rows: &[ServiceRow]) -> Vec<u8> {
    let columns = ["time_s", "namespace", "name", "endpoints", "ready", "terminating", "targets", "dead_targets"];
    table(&columns, rows, |line, row| {
        let traffic = &row.traffic;
        line.time(row.at).text(row.namespace.as_str()).text(row.name.as_str()).number(traffic.endpoints);
        line.number(traffic.ready).number(traffic.terminating).number(traffic.targets).number(traffic.dead_targets);
    })
}

fn causes(rows: &[CauseRow]) -> Vec<u8> {
    table(&["effect_id", "time_s", "what", "cause_id"], rows, |line, row| {
        line.number(i64::from(row.effect.0)).time(row.at).text(&row.what);
        match row.cause.0 {
            0 => line.text(""),
            id => line.number(i64::from(id)),
        };
    })
}

/// A JSON number with exactly three decimals, as the CSVs have them.
fn seconds(at: SimTime) -> Box<RawValue> {
    RawValue::from_string(at.to_string()).expect("a time reads as a JSON number")
}

#[derive(Serialize)]
struct TranscriptLine<'a> {
    at_s: Box<RawValue>,
    done_s: Option<Box<RawValue>>,
    command: &'a str,
    exit: Option<i32>,
    stdout: &'a [String],
    stderr: &'a [String],
}

fn transcript(rows: &[TranscriptRow]) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        let line = TranscriptLine {
            at_s: seconds(row.at),
            done_s: row.done_at.map(seconds),
            command: &row.command,
            exit: row.exit,
            stdout: &row.stdout,
            stderr: &row.stderr,
        };
        serde_json::to_writer(&mut out, &line).expect("writing to memory");
        out.push(b'\n');
    }
    out
}
