//! Recorded incidents of a real Kubernetes 1.36.2 control plane against ours.
//!
//! A real run is one draw of its random phases, so each scenario is played under several seeds: a recorded time is right when
//! it lies within what the seeds span, give or take the slack; facts that have no phase must hold in at least one seed, as a
//! whole for one object. `tests/recordings/<case>/known_differences.txt` lists the keys that are known to differ, each with
//! its reason; one that has vanished fails, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use kubesquall::observe::Observed;
use kubesquall::scenario;
use kubesquall::simulation::Prepared;
use kubesquall::units::SimTime;
use serde_json::Value;

use super::plays;

/// Holds the differences that are known; `UPDATE=1` writes it anew.
const KNOWN: &str = "known_differences.txt";

const SEEDS: u64 = 20;

/// Seeds where those show less than is expected: phases of heartbeats and passes, and order in races.
const SEEDS_MAX: u64 = 120;

/// Plays of ours that are put in the recording's place: what they score is the most that a recording can be expected to.
const OWN_SEEDS: std::ops::RangeInclusive<u64> = 1_001..=1_003;

/// By so many percentage points the recordings may score less than our own plays do.
const BEHIND_MAX: f64 = 2.5;
const SLACK_S: f64 = 1.5;
const REASONS: [&str; 10] = [
    "TaintManagerEviction",
    "NodeNotReady",
    "SuccessfulCreate",
    "SuccessfulDelete",
    "Scheduled",
    "Preempted",
    "ScalingReplicaSet",
    "RecreatingFailedPod",
    "BackoffLimitExceeded",
    "Completed",
];
/// Deletion causes that a real API server shows as a condition.
const CAUSES: [&str; 5] = [
    "TaintManagerEviction",
    "EvictionByEvictionAPI",
    "PreemptionByScheduler",
    "DeletionByPodGC",
    "TerminationByKubelet",
];

/// What must be equal as a whole, and the times that must fall within the span.
type Facts = BTreeMap<String, (String, Vec<f64>)>;

struct PodFact {
    name: String,
    group: String,
    initial: bool,
    created_s: f64,
    scheduled_s: Option<f64>,
    deletion_s: Option<f64>,
    gone_s: Option<f64>,
    cause: Option<String>,
    ready: Vec<(f64, bool)>,
}

struct NodeFact {
    at_s: f64,
    node: String,
    state: String,
}

struct EventFact {
    reason: String,
    kind: String,
    name: String,
}

struct CommandFact {
    command: String,
    exit: i64,
    stdout: Vec<String>,
    stderr: Vec<String>,
    done_s: f64,
}

#[derive(Default)]
struct Play {
    pods: Vec<PodFact>,
    nodes: Vec<NodeFact>,
    events: Vec<EventFact>,
    commands: Vec<CommandFact>,
}

/// `ReplicaSet/web-7d4b9c` becomes `Deployment/web`: generated suffixes differ.
fn group(kind: &str, owner: &str, pod: &str) -> String {
    match kind {
        "" => format!("Pod/{pod}"),
        "ReplicaSet" => format!("Deployment/{}", owner.rsplit_once('-').map_or(owner, |(stem, _)| stem)),
        _ => format!("{kind}/{owner}"),
    }
}

fn seconds(at: SimTime) -> f64 {
    (at.as_nanos() as f64 / 1e6).round() / 1e3
}

fn ours(observed: &Observed) -> Play {
    let mut ready: BTreeMap<(&str, &str), Vec<(f64, bool)>> = BTreeMap::new();
    for row in &observed.readiness {
        ready.entry((row.namespace.as_str(), &row.name)).or_default().push((seconds(row.at), row.ready));
    }
    let pods = observed.pods.iter().map(|row| {
        let (created_s, gone_s) = (seconds(row.created_at), row.gone_at.map(seconds));
        let flips = ready.get(&(row.namespace.as_str(), &*row.name)).cloned().unwrap_or_default();
        PodFact {
            name: row.name.to_string(),
            group: group(row.owner_kind.as_str(), row.owner_name.as_str(), &row.name),
            initial: row.initial,
            created_s,
            scheduled_s: row.scheduled_at.map(seconds),
            deletion_s: row.deletion_at.map(seconds),
            gone_s,
            cause: row.deletion_cause.map(|c| c.as_str().to_owned()).filter(|c| CAUSES.contains(&c.as_str())),
            ready: flips
                .into_iter()
                .filter(|(at, _)| (row.initial || *at >= created_s) && gone_s.is_none_or(|gone| *at <= gone))
                .collect(),
        }
    });
    let nodes = observed.nodes.iter().map(|row| {
        let taints: Vec<&str> = row.taints.split(';').filter(|t| !t.is_empty()).collect();
        NodeFact {
            at_s: seconds(row.at),
            node: row.node.to_string(),
            state: format!("{} {} {}", row.ready, row.unschedulable, taints.join(";")),
        }
    });
    let events = observed.events.iter().filter(|e| e.component != "scenario" && e.component != "kubectl");
    Play {
        pods: pods.collect(),
        nodes: nodes.collect(),
        events: events
            .map(|e| EventFact { reason: e.reason.to_owned(), kind: e.kind.to_owned(), name: e.name.to_string() })
            .collect(),
        commands: observed
            .transcript
            .iter()
            .map(|t| CommandFact {
                command: t.command.to_string(),
                exit: t.exit.map_or(-1, i64::from),
                stdout: t.stdout.clone(),
                stderr: t.stderr.clone(),
                done_s: t.done_at.map_or(0.0, seconds),
            })
            .collect(),
    }
}

fn recorded(recording: &Value) -> Play {
    let list = |key: &str| recording[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let pods = list("pods").into_iter().map(|p| {
        let owner = text(&p["owner"]);
        let (kind, owner) = owner.split_once('/').unwrap_or(("", ""));
        let cause = text(&p["cause"]).replace("DeletionByTaintManager", "TaintManagerEviction");
        PodFact {
            name: text(&p["name"]),
            group: group(kind, owner, &text(&p["name"])),
            initial: p["initial"].as_bool().unwrap_or(false),
            created_s: p["created_s"].as_f64().unwrap_or(0.0),
            scheduled_s: p["scheduled_s"].as_f64(),
            deletion_s: p["deletion_s"].as_f64(),
            gone_s: p["gone_s"].as_f64(),
            cause: Some(cause).filter(|c| CAUSES.contains(&c.as_str())),
            ready: p["ready"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|flip| (flip[0].as_f64().unwrap_or(0.0), flip[1] == "True"))
                .collect(),
        }
    });
    let nodes = list("nodes").into_iter().map(|n| {
        let mut taints: Vec<String> = n["taints"].as_array().into_iter().flatten().map(text).collect();
        taints.sort();
        NodeFact {
            at_s: n["time_s"].as_f64().unwrap_or(0.0),
            node: text(&n["node"]),
            state: format!("{} {} {}", text(&n["ready"]), n["unschedulable"].as_bool() == Some(true), taints.join(";")),
        }
    });
    let lines = |value: &Value| value.as_array().into_iter().flatten().map(text).collect();
    Play {
        pods: pods.collect(),
        nodes: nodes.collect(),
        events: list("events")
            .into_iter()
            .map(|e| EventFact { reason: text(&e["reason"]), kind: text(&e["kind"]), name: text(&e["name"]) })
            .collect(),
        commands: list("kubectl")
            .into_iter()
            .map(|k| CommandFact {
                command: text(&k["command"]),
                exit: k["exit"].as_i64().unwrap_or(-1),
                stdout: lines(&k["stdout"]),
                stderr: lines(&k["stderr"]),
                done_s: k["done_s"].as_f64().unwrap_or(0.0),
            })
            .collect(),
    }
}

fn node_facts(play: &Play, facts: &mut Facts) {
    let mut nodes: Vec<&NodeFact> = play.nodes.iter().collect();
    nodes.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let mut sequence: BTreeMap<&str, Vec<(f64, &str)>> = BTreeMap::new();
    for row in nodes {
        if row.at_s <= 0.0 {
            first.insert(&row.node, &row.state);
            continue;
        }
        let states = sequence.entry(&row.node).or_default();
        let last = states.last().map(|s| s.1).or_else(|| first.get(row.node.as_str()).copied());
        if last != Some(&*row.state) {
            states.push((row.at_s, &row.state));
        }
    }
    for (node, states) in sequence.into_iter().filter(|(_, states)| !states.is_empty()) {
        let shape: Vec<&str> = states.iter().map(|s| s.1).collect();
        facts.insert(format!("node {node}"), (shape.join(" -> "), states.iter().map(|s| s.0).collect()));
    }
}

fn pod_facts(play: &Play, facts: &mut Facts) {
    let mut created: BTreeMap<&str, Vec<&PodFact>> = BTreeMap::new();
    for pod in &play.pods {
        if !pod.initial {
            created.entry(&pod.group).or_default().push(pod);
            continue;
        }
        let flips: Vec<&(f64, bool)> = pod.ready.iter().filter(|flip| flip.0 > 0.0).collect();
        if pod.deletion_s.is_none() && pod.gone_s.is_none() && flips.is_empty() {
            continue;
        }
        let cause = pod.cause.clone().filter(|_| pod.deletion_s.is_some());
        let shape = format!(
            "deleted {} by {cause:?}, gone {}, ready {:?}",
            pod.deletion_s.is_some(),
            pod.gone_s.is_some(),
            flips.iter().map(|flip| flip.1).collect::<Vec<_>>()
        );
        let times = pod.deletion_s.into_iter().chain(pod.gone_s).chain(flips.iter().map(|flip| flip.0)).collect();
        facts.insert(format!("pod {}", pod.name), (shape, times));
    }
    for (group, mut pods) in created {
        pods.sort_by(|a, b| a.created_s.total_cmp(&b.created_s));
        for (index, pod) in pods.into_iter().enumerate() {
            let up = pod.ready.iter().find(|flip| flip.1).map(|flip| flip.0);
            let shape = format!("{} {} {}", pod.scheduled_s.is_some(), up.is_some(), pod.deletion_s.is_some());
            let times = std::iter::once(pod.created_s).chain(pod.scheduled_s).chain(up).chain(pod.deletion_s).collect();
            facts.insert(format!("new {group} #{index}"), (shape, times));
        }
    }
}

fn facts(play: &Play) -> Facts {
    let mut facts = Facts::new();
    node_facts(play, &mut facts);
    pod_facts(play, &mut facts);
    let owners: BTreeMap<&str, &str> = play.pods.iter().map(|p| (p.name.as_str(), p.group.as_str())).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for event in play.events.iter().filter(|e| REASONS.contains(&e.reason.as_str())) {
        let name = owners.get(event.name.as_str()).copied().unwrap_or_else(|| match event.kind.as_str() {
            "ReplicaSet" => event.name.rsplit_once('-').map_or(event.name.as_str(), |(stem, _)| stem),
            _ => &event.name,
        });
        *counts.entry(format!("event {} {} {name}", event.reason, event.kind)).or_default() += 1;
    }
    facts.extend(counts.into_iter().map(|(key, count)| (key, (count.to_string(), Vec::new()))));
    for (index, command) in play.commands.iter().enumerate() {
        let mut stdout: Vec<String> = command.stdout.iter().map(|l| blank(l)).collect();
        stdout.sort();
        let stderr: BTreeSet<String> = command.stderr.iter().map(|l| blank(l)).collect();
        let shape = format!("exit {} {stdout:?} {stderr:?}", command.exit);
        facts.insert(format!("kubectl #{index} {}", command.command), (shape, vec![command.done_s]));
    }
    facts
}

/// Blanks generated suffixes: `-<8 to 10>-<5>` and `-<5>` of lower-case letters and digits at word ends.
fn blank(line: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(is_word) {
        let (before, tail) = rest.split_at(start);
        let length = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
        let (word, after) = tail.split_at(length);
        out.push_str(before);
        out.push_str(&blank_word(word));
        rest = after;
    }
    out + rest
}

fn blank_word(word: &str) -> String {
    let is_suffix = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len()) && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    match word.rsplit_once('-') {
        Some((stem, last)) if is_suffix(last, 5..=5) => match stem.rsplit_once('-') {
            Some((stem, hash)) if is_suffix(hash, 8..=10) => format!("{stem}-*"),
            _ => format!("{stem}-*"),
        },
        _ => word.to_owned(),
    }
}

/// How many facts were right, of how many.
#[derive(Clone, Copy, Default)]
struct Score {
    right: usize,
    of: usize,
}

impl Score {
    fn add(&mut self, (right, wrong): &(usize, Vec<(String, String)>)) {
        self.right += right;
        self.of += right + wrong.len();
    }

    fn percent(self) -> f64 {
        100.0 * self.right as f64 / self.of.max(1) as f64
    }
}

/// With [`SEEDS`] seeds: what the recordings score, and what plays of our own do in their place.
#[derive(Default)]
struct Scores {
    recorded: Score,
    own: Score,
}

/// The differences of one case: key and what differs. Adds to the scores.
fn differences(dir: &Path, known: &BTreeSet<&str>, scores: &mut Scores) -> (usize, Vec<(String, String)>) {
    let recording: Value =
        serde_json::from_slice(&fs::read(dir.join("recording.json")).expect("a recording")).expect("JSON");
    let real = facts(&recorded(&recording));
    let resolved = scenario::load(&dir.join("scenario.yaml"), &scenario::Overrides::none()).expect("a valid scenario");
    let prepared = Prepared::new(&resolved);
    let play = |seed| {
        let run = plays::begun(&prepared, &resolved, seed);
        facts(&ours(&plays::ended(run, SimTime::ZERO + resolved.duration).0))
    };
    let mut plays: Vec<Facts> = (1..=SEEDS).map(play).collect();
    let few = compare(&real, &plays);
    scores.recorded.add(&few);
    OWN_SEEDS.for_each(|seed| scores.own.add(&compare(&play(seed), &plays)));
    if few.1.iter().all(|(key, _)| known.contains(key.as_str())) {
        return few;
    }
    plays.extend((SEEDS + 1..=SEEDS_MAX).map(play));
    compare(&real, &plays)
}

/// How many facts are right, and those that are not.
fn compare(real: &Facts, plays: &[Facts]) -> (usize, Vec<(String, String)>) {
    let keys: BTreeSet<&String> = real.keys().chain(plays.iter().flat_map(BTreeMap::keys)).collect();
    let (mut right, mut wrong) = (0, Vec::new());
    for key in keys {
        let Some((shape, times)) = real.get(key) else {
            if plays.iter().all(|p| p.contains_key(key)) {
                wrong.push((key.clone(), format!("real: nothing; ours: {:?}", plays[0][key])));
            }
            continue;
        };
        let alike: Vec<&Vec<f64>> =
            plays.iter().filter_map(|p| p.get(key)).filter(|f| f.0 == *shape).map(|f| &f.1).collect();
        if alike.is_empty() {
            let seen = plays.iter().find_map(|p| p.get(key));
            wrong.push((key.clone(), format!("real: {shape} at {times:?}; ours: {seen:?}")));
            continue;
        }
        let late = times.iter().enumerate().find_map(|(index, at)| {
            let lowest = alike.iter().map(|t| t[index]).fold(f64::INFINITY, f64::min);
            let highest = alike.iter().map(|t| t[index]).fold(f64::NEG_INFINITY, f64::max);
            let outside = *at < lowest - SLACK_S || *at > highest + SLACK_S;
            outside.then(|| format!("real {at:.1} s, ours {lowest:.1} to {highest:.1} s"))
        });
        match late {
            Some(text) => wrong.push((key.clone(), text)),
            None => right += 1,
        }
    }
    (right, wrong)
}

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut cases: Vec<PathBuf> =
        fs::read_dir(root).expect("recordings").map(|e| e.expect("an entry").path()).collect();
    cases.sort();
    cases.retain(|path| path.join("recording.json").exists());
    cases
}

#[expect(clippy::disallowed_methods, reason = "a switch for who writes the lists, not for the program")]
fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Writes the known differences anew; those that stay keep their reasons.
fn update(dir: &Path, written: &str, wrong: &[(String, String)]) {
    let path = dir.join(KNOWN);
    if wrong.is_empty() {
        let _ = fs::remove_file(path);
        return;
    }
    let mut text =
        "# Facts of the recording that no seed of ours shows yet. A line that is no longer needed fails the test.\n"
            .to_owned();
    for (key, what) in wrong {
        let same = |line: &&str| line.split(" # ").next() == Some(key.as_str());
        match written.lines().find(same) {
            Some(line) => text += line,
            None => text += &format!("{key} # {}", what.chars().take(160).collect::<String>().replace('\n', " ")),
        }
        text += "\n";
    }
    fs::write(path, text).expect("the known differences can be written");
}

#[test]
#[expect(clippy::print_stdout, reason = "the score is worth reading when all is well, too")]
fn recorded_incidents_play_as_they_did() {
    let mut report = String::new();
    let (mut right_total, mut wrong_total, mut surprises) = (0, 0, 0);
    let mut scores = Scores::default();
    for dir in cases() {
        let name = dir.file_name().expect("a name").to_string_lossy().into_owned();
        let written = fs::read_to_string(dir.join(KNOWN)).unwrap_or_default();
        let known: BTreeSet<&str> = written
            .lines()
            .filter(|l| !l.starts_with('#') && !l.is_empty())
            .map(|l| l.split(" # ").next().unwrap_or(l))
            .collect();
        let (right, wrong) = differences(&dir, &known, &mut scores);
        if is_update() {
            update(&dir, &written, &wrong);
        }
        let new: Vec<_> = wrong.iter().filter(|(key, _)| !known.contains(key.as_str())).collect();
        let vanished: Vec<_> = known.iter().filter(|key| !wrong.iter().any(|(k, _)| k == *key)).collect();
        right_total += right;
        wrong_total += wrong.len();
        surprises += new.len() + vanished.len();
        report += &format!("{name}: right {right} of {}\n", right + wrong.len());
        for (key, what) in new {
            report += &format!("    {key}: {what}\n");
        }
        for key in vanished {
            report += &format!("    {key}: listed as known, but no longer different\n");
        }
    }
    println!("{report}right {right_total} of {}", right_total + wrong_total);
    let (recorded, own) = (scores.recorded.percent(), scores.own.percent());
    println!("with {SEEDS} seeds: recordings {recorded:.1} %, plays of our own in their place {own:.1} %");
    assert_eq!(surprises, 0, "differences that are not known:\n{report}");
    assert!(recorded > own - BEHIND_MAX, "recordings are found right in {recorded:.1} %, our own plays in {own:.1} %");
}

#[test]
fn generated_suffixes_are_blanked() {
    assert_eq!(blank("pod/web-5785bcb8b5-x4wzf evicted"), "pod/web-* evicted");
    assert_eq!(blank("evicting pod default/agent-g7b52"), "evicting pod default/agent-*");
    assert_eq!(blank("node/w-0 drained"), "node/w-0 drained");
}
