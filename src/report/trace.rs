//! A finished run as a trace that Perfetto and `chrome://tracing` open: zones are processes; nodes, their pods and timers are tracks.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::run_tables::RunTables;
use super::table::{Row, Table, is_true, maybe_number, number, text, time};
use super::tables::TableError;
use crate::observe::{KUBECTL_KIND, reason};
use crate::units::SimTime;

const CLUSTER: &[&str] = &["time_s"];
const INVENTORY: &[&str] = &["node", "zone", "pool"];
const NODES: &[&str] = &["time_s", "node", "ready", "unschedulable", "taints"];
const PODS: &[&str] = &[
    "namespace",
    "name",
    "node",
    "scheduled_s",
    "finished_s",
    "gone_s",
    "deletion_cause",
    "workload_kind",
    "workload_name",
    "phase",
];
const READINESS: &[&str] = &["time_s", "namespace", "name", "ready"];
const FAULTS: &[&str] = &["name", "kind", "object", "node", "began_s", "ended_s"];
const TIMERS: &[&str] = &["set_s", "timer", "namespace", "name", "node", "due_s", "ended_s", "end", "taint", "by"];
const TRANSCRIPT: &[&str] = &["at_s", "done_s", "command"];
const EVENTS: &[&str] = &["time_s", "component", "reason", "kind", "name", "message"];

/// A stretch of time on a track.
#[derive(Clone, Debug, PartialEq)]
struct Slice {
    from_s: f64,
    to_s: f64,
    name: String,
    category: &'static str,
    details: Map<String, Value>,
    /// What lies within it, in order.
    within: Vec<Slice>,
}

impl Slice {
    fn new(category: &'static str, name: impl Into<String>, from_s: f64, to_s: f64) -> Self {
        let (name, details) = (name.into(), Map::new());
        Self { from_s, to_s: to_s.max(from_s), name, category, details, within: Vec::new() }
    }

    fn detail(mut self, name: &str, value: &str) -> Self {
        if !value.is_empty() {
            self.details.insert(name.to_owned(), json!(value));
        }
        self
    }
}

/// One line of the file.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'a str,
    ph: &'static str,
    pid: u64,
    tid: u64,
    /// Microseconds since t=0.
    ts: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<i64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: &'a Map<String, Value>,
}

/// The file as it is written.
struct Writer<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Writer<W> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        serde_json::to_writer(&mut self.out, event).map_err(io::Error::from)
    }

    /// Names a process or a track, and says where it stands.
    fn named(&mut self, of: &str, (pid, tid): (u64, u64), name: &str) -> io::Result<()> {
        let place = if of == "process" { pid } else { tid };
        for (what, key, value) in [("name", "name", json!(name)), ("sort_index", "sort_index", json!(place))] {
            let name = format!("{of}_{what}");
            let args = Map::from_iter([(key.to_owned(), value)]);
            self.event(&Event { name: &name, cat: "", ph: "M", pid, tid, ts: 0, dur: None, args: &args })?;
        }
        Ok(())
    }

    fn slice(&mut self, (pid, tid): (u64, u64), slice: &Slice) -> io::Result<()> {
        let (from, to) = (micros(slice.from_s), micros(slice.to_s));
        let (name, cat, args) = (slice.name.as_str(), slice.category, &slice.details);
        self.event(&Event { name, cat, ph: "X", pid, tid, ts: from, dur: Some(to - from), args })?;
        slice.within.iter().try_for_each(|inner| self.slice((pid, tid), inner))
    }

    /// A process whose tracks are these: each has a name and slices, which get as many lines as overlap at once.
    fn process(&mut self, pid: u64, name: &str, tracks: Vec<(String, Vec<Slice>)>) -> io::Result<()> {
        self.named("process", (pid, 0), name)?;
        let mut tid = 0;
        for (name, slices) in tracks {
            for (index, line) in lines(slices).into_iter().enumerate() {
                tid += 1;
                let name = if index == 0 { name.clone() } else { format!("{name} ({})", index + 1) };
                self.named("thread", (pid, tid), &name)?;
                line.iter().try_for_each(|slice| self.slice((pid, tid), slice))?;
            }
        }
        Ok(())
    }
}

fn micros(at_s: f64) -> i64 {
    (at_s * 1e6).round() as i64
}

/// Puts slices on lines on which they do not overlap, each on the first that is free.
fn lines(mut slices: Vec<Slice>) -> Vec<Vec<Slice>> {
    slices.sort_by(|a, b| a.from_s.total_cmp(&b.from_s).then(b.to_s.total_cmp(&a.to_s)));
    let mut lines: Vec<Vec<Slice>> = Vec::new();
    let mut ends: Vec<f64> = Vec::new();
    for slice in slices {
        match ends.iter().position(|end| *end <= slice.from_s) {
            Some(free) => {
                ends[free] = slice.to_s;
                lines[free].push(slice);
            }
            None => {
                ends.push(slice.to_s);
                lines.push(vec![slice]);
            }
        }
    }
    lines
}

/// What stands under a node.
#[derive(Default)]
struct OfNode {
    states: Vec<Slice>,
    pods: Vec<Slice>,
    timers: Vec<Slice>,
    faults: Vec<Slice>,
}

/// What every trace begins with.
const HEAD: &[u8] = b"{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";

/// Whether nothing of somebody else is lost if a trace is written there: there is no file, or an earlier trace.
#[must_use]
pub fn is_place_of_trace(path: &Path) -> bool {
    let mut head = Vec::new();
    match File::open(path).and_then(|file| file.take(HEAD.len() as u64).read_to_end(&mut head)) {
        Ok(_) => head.is_empty() || head == HEAD,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Writes the trace of a run.
///
/// # Errors
///
/// If a table is missing or damaged: then nothing is written. The operating system's answer, if it takes nothing more.
pub fn write_trace(run: &RunTables, out: impl FnOnce() -> io::Result<File>) -> Result<io::Result<()>, TableError> {
    let cluster = run.read("cluster.csv", CLUSTER)?;
    let at = cluster.column("time_s");
    let end_s = cluster.rows().last().map_or(0.0, |row| number(row, at));
    let mut nodes: BTreeMap<String, OfNode> = BTreeMap::new();
    states(run.read("nodes.csv", NODES)?, end_s, &mut nodes);
    pods(run.read("pods.csv", PODS)?, run.read("readiness.csv", READINESS)?, end_s, &mut nodes);
    timers(run.read("timers.csv", TIMERS)?, end_s, &mut nodes);
    let others = faults(run.read("faults.csv", FAULTS)?, end_s, &mut nodes);
    let ends = ends_of_lines(run.read("transcript.jsonl", TRANSCRIPT)?);
    let lines = operators(run.read("events.csv", EVENTS)?, ends, end_s);
    let zones = by_zone(run.read("inventory.csv", INVENTORY)?, nodes);

    Ok(out().and_then(|file| write(BufWriter::new(file), lines, others, zones)))
}

fn write(
    out: impl Write,
    lines: Vec<Slice>,
    others: Vec<Slice>,
    zones: BTreeMap<String, BTreeMap<String, OfNode>>,
) -> io::Result<()> {
    let mut writer = Writer { out, is_first: true };
    writer.out.write_all(HEAD)?;
    writer.process(1, "scenario", vec![("kubectl".to_owned(), lines), ("other faults".to_owned(), others)])?;
    for ((zone, nodes), pid) in zones.into_iter().zip(2..) {
        let mut tracks = Vec::new();
        for (node, of) in nodes {
            let beside = [("", of.states), (" faults", of.faults), (" timers", of.timers), (" pods", of.pods)];
            tracks.extend(beside.map(|(what, slices)| (format!("{node}{what}"), slices)));
        }
        writer.process(pid, &zone, tracks)?;
    }
    writer.out.write_all(b"\n]}\n")?;
    writer.out.flush()
}

/// The nodes of each zone, by name.
fn by_zone(table: &Table, nodes: BTreeMap<String, OfNode>) -> BTreeMap<String, BTreeMap<String, OfNode>> {
    let (node, zone) = (table.column("node"), table.column("zone"));
    let place: BTreeMap<&str, &str> = table.rows().map(|row| (text(row, node), text(row, zone))).collect();
    let mut zones: BTreeMap<String, BTreeMap<String, OfNode>> = BTreeMap::new();
    for (name, of) in nodes {
        let zone = match place.get(name.as_str()) {
            Some(&"") | None => "no zone".to_owned(),
            Some(zone) => format!("zone {zone}"),
        };
        zones.entry(zone).or_default().insert(name, of);
    }
    zones
}

fn states(table: &Table, end_s: f64, nodes: &mut BTreeMap<String, OfNode>) {
    let (at, node, ready) = (table.column("time_s"), table.column("node"), table.column("ready"));
    let (unschedulable, taints) = (table.column("unschedulable"), table.column("taints"));
    for row in table.rows() {
        let states = &mut nodes.entry(text(row, node).to_owned()).or_default().states;
        let cordoned = if is_true(row, unschedulable) { ", cordoned" } else { "" };
        let name = match text(row, ready) {
            "True" => format!("Ready{cordoned}"),
            "False" => format!("NotReady{cordoned}"),
            "Unknown" => format!("Unknown{cordoned}"),
            other => other.to_owned(),
        };
        let state = Slice::new("node", name, number(row, at), end_s).detail("taints", text(row, taints));
        if let Some(last) = states.last_mut() {
            if (&last.name, &last.details) == (&state.name, &state.details) {
                continue;
            }
            last.to_s = state.from_s;
        }
        states.push(state);
    }
}

/// Each pod on its node from when it is bound, with the times within which it is Ready.
fn pods(table: &Table, readiness: &Table, end_s: f64, nodes: &mut BTreeMap<String, OfNode>) {
    let mut changes: BTreeMap<(&str, &str), Vec<(f64, bool)>> = BTreeMap::new();
    let (at, namespace, name) = (readiness.column("time_s"), readiness.column("namespace"), readiness.column("name"));
    let ready = readiness.column("ready");
    for row in readiness.rows() {
        let of = changes.entry((text(row, namespace), text(row, name))).or_default();
        of.push((number(row, at), text(row, ready) == "True"));
    }
    let (namespace, name, node) = (table.column("namespace"), table.column("name"), table.column("node"));
    let (scheduled, finished, gone) = (table.column("scheduled_s"), table.column("finished_s"), table.column("gone_s"));
    let (cause, phase) = (table.column("deletion_cause"), table.column("phase"));
    let (kind, workload) = (table.column("workload_kind"), table.column("workload_name"));
    for row in table.rows() {
        let Some(from_s) = maybe_number(row, scheduled).filter(|_| !text(row, node).is_empty()) else { continue };
        let ends = [finished, gone].into_iter().filter_map(|end| maybe_number(row, end));
        let to_s = ends.fold(end_s, f64::min);
        let of = (text(row, namespace), text(row, name));
        let mut pod = Slice::new("pod", format!("{}/{}", of.0, of.1), from_s, to_s)
            .detail("workload", &format!("{} {}", text(row, kind), text(row, workload)))
            .detail("phase", text(row, phase))
            .detail("deletion_cause", text(row, cause));
        // A name may come again: what lies before this pod is another's.
        let own = changes.get(&of).into_iter().flatten().filter(|(at_s, _)| (from_s..=to_s).contains(at_s));
        let mut since = None;
        for &(at_s, is_ready) in own {
            match (since, is_ready) {
                (None, true) => since = Some(at_s),
                (Some(from_s), false) => {
                    pod.within.push(Slice::new("ready", "Ready", from_s, at_s));
                    since = None;
                }
                _ => {}
            }
        }
        pod.within.extend(since.map(|from_s| Slice::new("ready", "Ready", from_s, to_s)));
        nodes.entry(text(row, node).to_owned()).or_default().pods.push(pod);
    }
}

fn timers(table: &Table, end_s: f64, nodes: &mut BTreeMap<String, OfNode>) {
    let (set, timer, node) = (table.column("set_s"), table.column("timer"), table.column("node"));
    let (namespace, name) = (table.column("namespace"), table.column("name"));
    let (ended, end, due) = (table.column("ended_s"), table.column("end"), table.column("due_s"));
    let (taint, by) = (table.column("taint"), table.column("by"));
    for row in table.rows().filter(|row| !text(row, node).is_empty()) {
        let to_s = maybe_number(row, ended).unwrap_or(end_s);
        let about = match text(row, namespace) {
            "" => text(row, name).to_owned(),
            namespace => format!("{namespace}/{}", text(row, name)),
        };
        let slice = Slice::new("timer", format!("{} of {about}", text(row, timer)), number(row, set), to_s)
            .detail("due_s", &time(row, due).map(SimTime::seconds_text).unwrap_or_default())
            .detail("end", text(row, end))
            .detail("taint", text(row, taint))
            .detail("by", text(row, by));
        nodes.entry(text(row, node).to_owned()).or_default().timers.push(slice);
    }
}

/// The faults under the nodes that they hit; those of no node are left.
fn faults(table: &Table, end_s: f64, nodes: &mut BTreeMap<String, OfNode>) -> Vec<Slice> {
    let (name, kind, object) = (table.column("name"), table.column("kind"), table.column("object"));
    let (node, began, ended) = (table.column("node"), table.column("began_s"), table.column("ended_s"));
    let mut others = Vec::new();
    for row in table.rows() {
        let to_s = maybe_number(row, ended).unwrap_or(end_s);
        let fault = Slice::new("fault", text(row, kind), number(row, began), to_s)
            .detail("fault", text(row, name))
            .detail("object", text(row, object));
        match text(row, node) {
            "" => others.push(fault),
            node => nodes.entry(node.to_owned()).or_default().faults.push(fault),
        }
    }
    others
}

/// When it was begun and the first line of its text, of what was typed.
type Typed = (i64, String);

/// When each line ended, in seconds; none if the run ended before. Lines that were begun alike stand in the order in which they were.
type Ends = BTreeMap<Typed, VecDeque<Option<f64>>>;

fn ends_of_lines(table: &Table) -> Ends {
    let (at, done, command) = (table.column("at_s"), table.column("done_s"), table.column("command"));
    let mut ends = Ends::new();
    for row in table.rows() {
        let typed = (micros(number(row, at)), first_line(text(row, command)));
        ends.entry(typed).or_default().push_back(maybe_number(row, done));
    }
    ends
}

fn first_line(command: &str) -> String {
    command.lines().next().unwrap_or_default().trim_end_matches('\\').trim_end().to_owned()
}

/// What was typed, by operators and by procedures, for as long as it took.
fn operators(table: &Table, mut ends: Ends, end_s: f64) -> Vec<Slice> {
    let (at, component, reason) = (table.column("time_s"), table.column("component"), table.column("reason"));
    let (kind, name, message) = (table.column("kind"), table.column("name"), table.column("message"));
    let typed = table.rows().filter(|row| text(row, kind) == KUBECTL_KIND && text(row, reason) == reason::KUBECTL);
    let line = |row: Row<'_>| {
        let at_s = number(row, at);
        let ended = ends.get_mut(&(micros(at_s), first_line(text(row, name)))).and_then(VecDeque::pop_front);
        let to_s = ended.map_or(at_s, |done_s| done_s.unwrap_or(end_s));
        Slice::new("kubectl", text(row, message), at_s, to_s).detail("by", text(row, component))
    };
    typed.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_overlap_stand_on_lines_of_their_own_and_a_free_line_is_used_again() {
        let slice = |name: &str, from_s, to_s| Slice::new("pod", name, from_s, to_s);
        let found = lines(vec![slice("b", 5.0, 20.0), slice("a", 0.0, 10.0), slice("c", 10.0, 12.0)]);
        let names: Vec<Vec<&str>> =
            found.iter().map(|line| line.iter().map(|slice| slice.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["a", "c"], vec!["b"]]);
    }
}
