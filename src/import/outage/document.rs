//! The scenario that plays the outage again, with what each entry rests on as comments.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::commands::{Action, Command};
use super::facts::since;
use super::faults::{Entry, Extra, Fault, Hit, LateRenewal, Nodes};
use super::inventory::{Inventory, pool_of};
use super::rebuilt::Rebuilt;
use super::words::words;
use crate::evidence::{Bounds, Instant};
use crate::model::config::KubernetesVersion;
use crate::model::yaml_text;
use crate::units::{SimDuration, SimTime, counted, length};

/// Sightings that a comment names, and things that the head lists.
const EVIDENCE_MAX: usize = 4;
const LISTED_MAX: usize = 20;
/// The width of comments.
const WIDTH: usize = 130;
/// The next renewal is late if a fault that slows heartbeats begins before it, however soon it ends; no other falls into so short a time.
const ONE_RENEWAL: SimDuration = SimDuration::from_millis(100);
/// What follows the last thing that was seen.
const TAIL: SimDuration = SimDuration::from_secs(60);

/// The file of an object that was applied.
pub(super) fn applied_file(number: usize) -> String {
    format!("applied-{number:02}.yaml")
}

/// A length of time in the scenario of which the evidence leaves bounds: when a fault begins, or for how long it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedTime {
    /// Where it stands: `spec.timeline[0].at`.
    pub path: String,
    /// The line of the scenario, counted from 0.
    pub line: usize,
    /// The fault, by its kind and what it hits.
    pub fault: String,
    /// What is written there.
    pub value: SimDuration,
    /// The least that the evidence allows.
    pub least: SimDuration,
    /// The most that it allows.
    pub most: SimDuration,
}

/// The document, as it is written.
pub(super) struct Document {
    pub(super) text: String,
    /// The files that its lines apply: names and texts.
    pub(super) files: Vec<(String, String)>,
    /// What the evidence does not say exactly.
    pub(super) bounded: Vec<BoundedTime>,
}

pub(super) fn document(rebuilt: &Rebuilt<'_>, name: &str) -> Document {
    let mut text = String::new();
    head(&mut text, rebuilt);
    let mut files = Vec::new();
    let spec = spec(rebuilt);
    let scenario = json!({
        "apiVersion": "kubesquall.sim/v1alpha1", "kind": "Scenario", "metadata": {"name": name},
    });
    for key in ["apiVersion", "kind", "metadata"] {
        text.push_str(&yaml_text::document(&json!({key: scenario[key].clone()})));
    }
    text.push_str("spec:\n");
    for (key, value) in spec {
        push_indented(&mut text, &yaml_text::document(&json!({key: value})), "  ");
    }
    let entries = entries(rebuilt, &mut files);
    text.push_str(if entries.is_empty() { "  timeline: []\n" } else { "  timeline:\n" });
    let mut bounded = Vec::new();
    let mut line = text.lines().count();
    for (number, written) in entries.into_iter().enumerate() {
        let (mut comments, mut entry) = (String::new(), String::new());
        written.comments.iter().for_each(|comment| push_comment(&mut comments, comment, "  "));
        push_indented(&mut entry, &yaml_text::document(&json!([written.entry])), "  ");
        line += comments.lines().count();
        for (field, mut time) in written.bounded {
            let key = format!("{}: ", field.rsplit('.').next().unwrap_or(field));
            let is_it = |line: &str| line.trim_start_matches([' ', '-']).starts_with(&key);
            let Some(place) = entry.lines().position(is_it) else { continue };
            time.path = format!("spec.timeline[{number}].{field}");
            time.line = line + place;
            bounded.push(time);
        }
        line += entry.lines().count();
        text.push_str(&comments);
        text.push_str(&entry);
    }
    Document { text, files, bounded }
}

fn head(text: &mut String, rebuilt: &Rebuilt<'_>) {
    let mut say = |line: &str| push_comment(text, line, "");
    say("Made by kubesquall: an outage as its evidence tells it. evidence.json has all that each entry rests on.");
    say(&format!("t=0 is {}.", rebuilt.t0));
    for record in rebuilt.records {
        say(&format!("Read: {} ({})", record.name, record.kind.as_str()));
    }
    for unread in rebuilt.unread {
        say(&format!("Not read: {}: {}", unread.name, unread.why));
    }
    let grace = format!("Nodes are missed after a grace of {}", rebuilt.grace);
    say(&format!("{grace}: {}.", if rebuilt.is_grace_given { "as was said" } else { "by the version of the cluster" }));
    if has_shutdown(rebuilt) {
        let [total, critical] = SHUTDOWN_GRACE;
        say(&format!(
            "Machines that shut down wait for their pods for {total}, {critical} of it for critical ones: assumed."
        ));
    }
    for done in &rebuilt.put_back.done {
        say(&format!("Put back: {done}"));
    }
    for not_done in &rebuilt.put_back.not_done {
        say(&format!("Not put back: {not_done}"));
    }
    for line in rebuilt.unexplained.iter().take(LISTED_MAX) {
        say(&format!("Unexplained: {line}"));
    }
    if let Some(more) = rebuilt.unexplained.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        say(&format!("Unexplained: {more} more, in evidence.json"));
    }
}

/// A comment, in lines that are not too long. What comes from records has no control characters.
fn push_comment(text: &mut String, comment: &str, indent: &str) {
    let clean: String = comment.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut line = format!("{indent}#");
    let mut is_first = true;
    for word in clean.split_whitespace() {
        if !is_first && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = format!("{indent}#  ");
        }
        line.push(' ');
        line.push_str(word);
        is_first = false;
    }
    let _ = writeln!(text, "{line}");
}

fn push_indented(text: &mut String, block: &str, indent: &str) {
    for line in block.lines() {
        let _ = writeln!(text, "{indent}{line}");
    }
}

/// Everything but the timeline.
fn spec(rebuilt: &Rebuilt<'_>) -> Vec<(&'static str, Value)> {
    let mut cluster = json!({"manifests": ["cluster.yaml"]});
    let pools = node_pools(rebuilt);
    if !pools.is_empty() {
        cluster["nodePools"] = Value::Array(pools);
    }
    let mut control_plane = Map::new();
    let version = rebuilt.inventory.minor.and_then(|minor| format!("1.{minor}").parse::<KubernetesVersion>().ok());
    if let Some(version) = version {
        control_plane.insert("kubernetesVersion".to_owned(), version.to_string().into());
    }
    if rebuilt.grace != GRACE_DEFAULT {
        let flags = json!({"node-monitor-grace-period": rebuilt.grace.to_string()});
        control_plane.insert("kubeControllerManager".to_owned(), flags);
    }
    if has_shutdown(rebuilt) {
        let [total, critical] = SHUTDOWN_GRACE.map(|grace| grace.to_string());
        let kubelet = json!({"shutdownGracePeriod": total, "shutdownGracePeriodCriticalPods": critical});
        control_plane.insert("kubelet".to_owned(), kubelet);
    }
    let mut latency = rebuilt.latency.clone();
    // How long kubelets take to be heard again is in the lengths of the faults.
    latency.insert("kubeletReconnect".to_owned(), json!({"constant": "0s"}));
    let mut spec = vec![("duration", Value::from(duration(rebuilt).to_string())), ("cluster", cluster)];
    if !control_plane.is_empty() {
        spec.push(("controlPlane", Value::Object(control_plane)));
    }
    spec.push(("latency", Value::Object(latency)));
    spec
}

/// The grace of the versions that are played.
const GRACE_DEFAULT: SimDuration = SimDuration::from_secs(50);

/// How long a machine that shuts down waits for its pods, in all and for critical ones alone; pods that end sooner are not waited for. No
/// record tells how the kubelets are configured.
const SHUTDOWN_GRACE: [SimDuration; 2] = [SimDuration::from_secs(30), SimDuration::from_secs(10)];

fn has_shutdown(rebuilt: &Rebuilt<'_>) -> bool {
    rebuilt.entries.iter().any(|entry| entry.first().kind == "GracefulShutdown")
}

/// Pools of nodes that join, after a node that is there.
fn node_pools(rebuilt: &Rebuilt<'_>) -> Vec<Value> {
    let mut names: Vec<&str> = rebuilt
        .commands
        .iter()
        .filter_map(|command| match &command.action {
            Action::AddNodes { pool, .. } => Some(pool.as_str()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    let nodes = || {
        rebuilt.put_back.objects.iter().filter_map(|object| match &object.object {
            crate::model::Object::Node(node) => Some(node),
            _ => None,
        })
    };
    let pool = |name: &str| {
        let model = nodes().find(|node| pool_of(node.metadata.name.as_str()) == Some(name))?;
        let labels: Map<String, Value> = model
            .metadata
            .labels
            .iter()
            .filter(|(key, _)| !key.as_str().ends_with("/hostname"))
            .map(|(key, value)| (key.as_str().to_owned(), value.as_str().into()))
            .collect();
        let status = json!({"capacity": model.status.capacity, "allocatable": model.status.allocatable});
        Some(json!({"name": name, "count": 0, "template": {"metadata": {"labels": labels}, "status": status}}))
    };
    names.into_iter().filter_map(pool).collect()
}

/// Long enough for all that was seen, and a tail.
fn duration(rebuilt: &Rebuilt<'_>) -> SimDuration {
    let ends = rebuilt.entries.iter().map(|entry| entry.end_guess.unwrap_or(entry.begin_guess));
    let commands = rebuilt.commands.iter().map(|command| command.when.latest);
    let facts = rebuilt.facts.iter().map(|fact| fact.latest);
    let last = ends.chain(commands).map(|at| since(at, rebuilt.t0)).chain(facts).max().unwrap_or(SimTime::ZERO);
    let whole = last.saturating_since(SimTime::ZERO).as_secs() + 1;
    SimDuration::from_secs(whole) + TAIL
}

/// An entry of the timeline.
struct Written {
    at: SimTime,
    comments: Vec<String>,
    entry: Value,
    /// By field: what is known within bounds.
    bounded: Vec<(&'static str, BoundedTime)>,
}

fn entries(rebuilt: &Rebuilt<'_>, files: &mut Vec<(String, String)>) -> Vec<Written> {
    let mut written: Vec<Written> = Vec::new();
    for (number, entry) in rebuilt.entries.iter().enumerate() {
        let fault = fault(entry, rebuilt.inventory, rebuilt.t0);
        if let Extra::Late(late) = &entry.first().extra {
            let comments = fault_comments(number + 1, entry, rebuilt);
            written.extend(late_renewals(late, &fault, comments, rebuilt.t0));
            continue;
        }
        let at = not_before_t0(since(entry.begin_guess, rebuilt.t0));
        let bounded = bounded(entry, at, rebuilt.t0);
        let entry_value = json!({"at": at_text(at), "fault": fault});
        let comments = fault_comments(number + 1, entry, rebuilt);
        written.push(Written { at, comments, entry: entry_value, bounded });
    }
    for command in rebuilt.commands {
        let at = not_before_t0(since(command.when.middle(), rebuilt.t0));
        let mut value = Map::new();
        value.insert("at".to_owned(), at_text(at).into());
        match &command.action {
            Action::Kubectl(line) => value.insert("kubectl".to_owned(), line.as_str().into()),
            Action::Apply(body) => {
                let name = applied_file(files.len() + 1);
                let object: Value = serde_json::from_str(body).unwrap_or_default();
                files.push((name.clone(), yaml_text::document(&object)));
                value.insert("kubectl".to_owned(), format!("apply -f {name}").into())
            }
            Action::KillPods { namespace, selector, count } => {
                let pods = json!({"namespace": namespace, "selector": selector, "count": count});
                value.insert("fault".to_owned(), json!({"kind": "PodKill", "pods": pods}))
            }
            Action::AddNodes { pool, count } => {
                value.insert("addNodes".to_owned(), json!({"pool": pool, "count": count}))
            }
        };
        let comments = command_comments(command, rebuilt);
        written.push(Written { at, comments, entry: Value::Object(value), bounded: Vec::new() });
    }
    written.sort_by_key(|written| written.at);
    written
}

/// An entry for each renewal that was late: the play has the silences that were seen, at their times.
fn late_renewals(late: &[LateRenewal], fault: &Value, mut comments: Vec<String>, t0: Instant) -> Vec<Written> {
    comments.push(format!(
        "One entry for each of {}",
        counted(late.len(), "renewal that was late", "renewals that were late")
    ));
    let mut written = Vec::new();
    for renewal in late {
        let at = not_before_t0(since(renewal.after, t0));
        let mut fault = fault.clone();
        fault["delay"] = SimDuration::from_millis(renewal.by.as_millis()).to_string().into();
        fault["for"] = ONE_RENEWAL.to_string().into();
        let entry = json!({"at": at_text(at), "fault": fault});
        written.push(Written { at, comments: std::mem::take(&mut comments), entry, bounded: Vec::new() });
    }
    written
}

/// What the evidence says of a fault's begin and length within bounds that hold more than a second.
fn bounded(entry: &Entry, at: SimTime, t0: Instant) -> Vec<(&'static str, BoundedTime)> {
    let millis = |from: Instant, to: Instant| to.nanos_since(from).max(0) / 1_000_000;
    let what = format!("{} of {}", entry.first().kind, hits(entry));
    let time = |value: SimDuration, least: i64, most: i64| {
        let value = value.as_millis();
        let [least, most] = [least, most].map(|millis| u64::try_from(millis).unwrap_or(0));
        let [value, least, most] = [value, least.min(value), most.max(value)].map(SimDuration::from_millis);
        let is_wide = most.as_millis() - least.as_millis() > 1000;
        is_wide.then(|| BoundedTime { path: String::new(), line: 0, fault: what.clone(), value, least, most })
    };
    let mut times = Vec::new();
    let begin =
        time(at.saturating_since(SimTime::ZERO), millis(t0, entry.begin.earliest), millis(t0, entry.begin.latest));
    times.extend(begin.map(|begin| ("at", begin)));
    if let Some((length, end)) = lasts(entry, t0).zip(entry.end) {
        let least = millis(entry.begin.latest, end.earliest).max(1000);
        let length = time(length, least, millis(entry.begin.earliest, end.latest));
        times.extend(length.map(|length| ("fault.for", length)));
    }
    times
}

fn not_before_t0(at: SimTime) -> SimTime {
    at.max(SimTime::ZERO)
}

/// A time of a timeline: whole milliseconds.
fn at_text(at: SimTime) -> String {
    SimDuration::from_millis(at.saturating_since(SimTime::ZERO).as_millis()).to_string()
}

/// Bounds as seconds since t=0.
pub(super) fn bounds_text(bounds: Bounds, t0: Instant) -> String {
    let [earliest, latest] = [bounds.earliest, bounds.latest].map(|at| since(at, t0).as_secs_f64());
    if latest - earliest < 0.05 { format!("{earliest:.1} s") } else { format!("{earliest:.1} to {latest:.1} s") }
}

fn fault_comments(number: usize, entry: &Entry, rebuilt: &Rebuilt<'_>) -> Vec<String> {
    let first = entry.first();
    let mut lines = vec![format!("{number}. {}: {}, {}", first.kind, first.confidence.as_str(), reasons(entry))];
    if !first.alternatives.is_empty() {
        lines.push(format!("It may have been: {}", first.alternatives.join(", ")));
    }
    let shared = if entry.shared_cause { ", as they share their cause" } else { "" };
    let end = match entry.end {
        Some(end) => format!("; end {}", bounds_text(end, rebuilt.t0)),
        None => String::new(),
    };
    lines.push(format!("begin {}{shared}{end}", bounds_text(entry.begin, rebuilt.t0)));
    let evidence: Vec<usize> = entry.faults.iter().flat_map(|fault| fault.evidence.iter().copied()).collect();
    lines.extend(evidence_lines(&evidence, rebuilt));
    lines
}

/// Why it is this kind; of several machines the most frequent reason first.
fn reasons(entry: &Entry) -> String {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for fault in &entry.faults {
        match reasons.iter_mut().find(|(reason, _)| *reason == fault.reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((&fault.reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match reasons[..] {
        [(only, _)] => only.to_owned(),
        [(first, _), ..] => format!("{first} (and {})", counted(reasons.len() - 1, "other reason", "other reasons")),
        [] => String::new(),
    }
}

fn command_comments(command: &Command, rebuilt: &Rebuilt<'_>) -> Vec<String> {
    let by = command.by.map_or_else(String::new, |by| format!(", by {by}"));
    let when = bounds_text(command.when, rebuilt.t0);
    let mut lines = vec![format!("{}: {}{by}; {when}", command.confidence.as_str(), command.reason)];
    lines.extend(evidence_lines(&command.evidence, rebuilt));
    lines
}

fn evidence_lines(evidence: &[usize], rebuilt: &Rebuilt<'_>) -> Vec<String> {
    let mut lines: Vec<String> = evidence.iter().take(EVIDENCE_MAX).map(|&index| line_of(index, rebuilt)).collect();
    if let Some(more) = evidence.len().checked_sub(EVIDENCE_MAX).filter(|more| *more > 0) {
        lines.push(format!("- and {}", counted(more, "sighting more", "sightings more")));
    }
    lines
}

fn line_of(index: usize, rebuilt: &Rebuilt<'_>) -> String {
    let seen = &rebuilt.seen[index];
    let said = seen.said[0];
    let record = &rebuilt.records[said.record.0 as usize];
    format!("- {} [{}:{}] {}", seen.when.middle(), record.name, said.place, words(&seen.what))
}

/// The fault as a scenario has it.
fn fault(entry: &Entry, inventory: &Inventory, t0: Instant) -> Value {
    let first = entry.first();
    let mut fault = Map::new();
    fault.insert("kind".to_owned(), first.kind.into());
    match &entry.nodes {
        Nodes::Anywhere => {}
        Nodes::All => drop(fault.insert("nodes".to_owned(), json!({}))),
        Nodes::Zone(zone) => drop(fault.insert("nodes".to_owned(), json!({"zone": zone}))),
        Nodes::Pool(pool) => drop(fault.insert("nodes".to_owned(), json!({"pool": pool}))),
        Nodes::Selector(selector) => drop(fault.insert("nodes".to_owned(), json!({"selector": selector}))),
        Nodes::Names(names) => drop(fault.insert("nodes".to_owned(), json!({"names": names}))),
    }
    if let Some(lasts) = lasts(entry, t0) {
        fault.insert("for".to_owned(), lasts.to_string().into());
    }
    match &first.extra {
        Extra::None => {}
        Extra::Boot(boot) => {
            let boot = SimDuration::from_millis(boot.as_millis());
            fault.insert("boot".to_owned(), boot.to_string().into());
        }
        Extra::Notice { notice, drain } => {
            fault.insert("notice".to_owned(), SimDuration::from_millis(notice.as_millis()).to_string().into());
            fault.insert("drain".to_owned(), (*drain).into());
        }
        // Each renewal is an entry.
        Extra::Late(_) => {}
    }
    targets(&mut fault, &entry.faults, inventory);
    Value::Object(fault)
}

/// For how long a fault lasts from t=0 on, in whole milliseconds, if it has an end.
fn lasts(entry: &Entry, t0: Instant) -> Option<SimDuration> {
    let lasts = super::sources::duration(entry.end_guess?.nanos_since(entry.begin_guess.max(t0)));
    Some(SimDuration::from_millis(lasts.max(SimDuration::from_secs(1)).as_millis()))
}

fn targets(fault: &mut Map<String, Value>, faults: &[Fault], inventory: &Inventory) {
    match &faults[0].hit {
        Hit::Node(_) => {}
        Hit::Process(process) => drop(fault.insert("components".to_owned(), json!([process]))),
        Hit::Image { .. } => {
            let images: Vec<&str> = faults
                .iter()
                .filter_map(|fault| match &fault.hit {
                    Hit::Image { image, .. } => Some(image.as_str()),
                    _ => None,
                })
                .collect();
            fault.insert("images".to_owned(), json!(images));
        }
        Hit::Pod(first) => {
            let names: Vec<_> = faults
                .iter()
                .filter_map(|fault| match fault.hit {
                    Hit::Pod(pod) => Some(pod),
                    _ => None,
                })
                .collect();
            let mut pods = json!({"namespace": first.namespace});
            // Pods that were made meanwhile have other names in a play: as many of their owner's are hit.
            let selector = inventory.selector_in_play(*first);
            match selector {
                Some(selector) => {
                    pods["selector"] = selector.into();
                    pods["count"] = names.len().into();
                }
                None => pods["names"] = names.iter().map(|pod| Value::from(pod.name.as_str())).collect(),
            }
            fault.insert("pods".to_owned(), pods);
        }
    }
}

/// An entry in a line, for people.
pub(super) fn told(entry: &Entry, t0: Instant) -> String {
    let (first, of) = (entry.first(), hits(entry));
    let at = since(entry.begin_guess, t0).as_secs_f64();
    let lasted = match entry.end_guess {
        Some(end) => format!(" for {}", length(end.nanos_since(entry.begin_guess).max(0) as f64 / 1e9)),
        None => String::new(),
    };
    let width = length(entry.begin.width().as_secs_f64() / 2.0);
    format!("{at:>8.1} s ±{width}  {} of {of}{lasted}: {}", first.kind, first.confidence.as_str())
}

/// What a fault hits, in words.
fn hits(entry: &Entry) -> String {
    let first = entry.first();
    match &entry.nodes {
        Nodes::All => "all nodes".to_owned(),
        Nodes::Zone(zone) => format!("zone {zone} ({})", counted(entry.faults.len(), "node", "nodes")),
        Nodes::Pool(pool) => format!("pool {pool} ({})", counted(entry.faults.len(), "node", "nodes")),
        Nodes::Selector(selector) => format!("{selector} ({})", counted(entry.faults.len(), "node", "nodes")),
        Nodes::Names(names) if names.len() <= 3 => {
            names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
        }
        Nodes::Names(names) => counted(names.len(), "node", "nodes"),
        Nodes::Anywhere => match &first.hit {
            Hit::Pod(pod) if entry.faults.len() == 1 => format!("{}/{}", pod.namespace, pod.name),
            Hit::Pod(pod) => format!("{} pods of {}", entry.faults.len(), pod.namespace),
            Hit::Image { image, .. } => image.to_string(),
            Hit::Process(process) => (*process).to_owned(),
            Hit::Node(node) => node.to_string(),
        },
    }
}
