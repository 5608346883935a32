//! Incidents that we play and then rebuild from the evidence of them alone: what `import outage` finds is held against what was played.
//!
//! A kind counts as right if it is the first that the importer names, or among the alternatives that it states: some records do not tell
//! a crash from a partition. Both are counted, and printed with `--nocapture`. A fault of which a record has no trace is not asked for.
//!
//! A play of what was rebuilt draws anew what chance decides: the phases of heartbeats and of the node monitor, which node of a zone is
//! tainted first, how long pods take. A fact agrees if the play has it within the bounds of the evidence or a minute of them; those within
//! the bounds are counted, too. What chance alone leaves is measured: the incident's own timeline, every line of it known to the
//! second, is played with another seed and held against the same facts (`known`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use kubesquall::evidence::write_observed;
use kubesquall::import::cluster::ClusterImport;
use kubesquall::import::outage::{ImportedOutage, OutageImport, OutageOptions};
use kubesquall::model::manifest;
use kubesquall::{Observations, Report, Scenario, SimDuration, WriteOptions};
use rayon::prelude::*;
use serde_json::Value;

use super::outage_incident::{Incident, PULLED_IMAGE, SNAPSHOT, incident};
use super::random::seeds;

/// As many as one waits for; `OUTAGE_SEEDS=0..300` plays more.
const SEEDS_BY_DEFAULT: u64 = 10;

/// What has to be right, of all.
const RIGHT_MIN: f64 = 0.95;

/// By how much fewer facts may agree than in another play of the incident itself. What chance decides anew takes the rest of both: which of
/// equal pods is scaled away, on which node a pod of a roll-out comes to be, and so what a later fault hits.
const BELOW_KNOWN_MAX: f64 = 0.05;

/// What chance may change of times when an incident is played again.
const CHANCE_S: f64 = 60.0;

/// What half a millisecond of the tables may add.
const ROUNDED_S: f64 = 0.001;

/// What the importer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Events,
    Metrics(u64),
    Audit,
    All,
}

const GIVEN: [Given; 6] =
    [Given::Events, Given::Metrics(15), Given::Metrics(30), Given::Metrics(60), Given::Audit, Given::All];

/// A fault as it was played, of one thing that it hit.
#[derive(Clone, Debug)]
struct Played {
    kind: String,
    object: String,
    began_s: f64,
    ended_s: Option<f64>,
    not_ready_s: Option<f64>,
    ready_s: Option<f64>,
}

impl Played {
    /// What such a record can know of it: where nobody tells of the cloud's notice, the machine was gone.
    fn as_told_by(&self, given: Given) -> Self {
        let is_unannounced = self.kind == "SpotInterruption" && !matches!(given, Given::Events | Given::All);
        match self.ended_s {
            Some(off) if is_unannounced => Self { kind: "InstanceGone".to_owned(), began_s: off, ..self.clone() },
            _ => self.clone(),
        }
    }

    /// Whether it is what a rebuilt fault hits. Images fail everywhere, and may be seen to fail on the one node that pulled.
    fn is_of(&self, object: &str) -> bool {
        let is_everywhere = self.kind == "ImagePullFailure";
        object == self.object || is_everywhere && object.starts_with(&format!("{} on ", self.object))
    }

    /// Whether such a record has a trace of it.
    fn is_in(&self, given: Given) -> bool {
        match self.kind.as_str() {
            // Pods that die leave no Event that tells it from what their owners do, nor a sample.
            "PodKill" => matches!(given, Given::Audit | Given::All),
            // Kubelets tell why a pull failed in Events alone.
            "ImagePullFailure" => matches!(given, Given::Events | Given::All),
            "NetworkUnavailable" => given != Given::Events,
            "MemoryPressure" | "DiskPressure" | "PIDPressure" => true,
            _ => match (given, self.not_ready_s) {
                (_, None) => false,
                // Too short for a sample to be sure to see it.
                (Given::Metrics(step), Some(from)) => self.ready_s.is_none_or(|until| until - from > step as f64),
                (_, Some(_)) => true,
            },
        }
    }
}

/// A fault as it was rebuilt, of one thing that it hit. Times are since t=0 of what was played.
#[derive(Debug)]
struct Told {
    kinds: Vec<String>,
    object: String,
    begin: (f64, f64),
    end: Option<(f64, f64)>,
}

/// What is right, of how many.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    right: u64,
    all: u64,
}

impl Share {
    fn add(&mut self, is_right: bool) {
        self.right += u64::from(is_right);
        self.all += 1;
    }

    fn plus(self, other: Self) -> Self {
        Self { right: self.right + other.right, all: self.all + other.all }
    }

    fn value(self) -> f64 {
        if self.all == 0 { 1.0 } else { self.right as f64 / self.all as f64 }
    }
}

#[derive(Clone, Debug, Default)]
struct Score {
    /// Of faults that were played or told: those that were both, of the same things.
    machines: Share,
    /// Of those: the kind is right, or stated as an alternative.
    kinds: Share,
    /// The same without alternatives.
    named_first: Share,
    /// Bounds, of begins and ends, that hold what was played.
    times: Share,
    /// Facts in which the play of what was rebuilt agrees with what was seen.
    facts: Share,
    /// Those at exactly the times of the evidence.
    exact_facts: Share,
    /// Facts in which another play of the incident itself agrees with what was seen.
    known_facts: Share,
    /// How many facts of a kind do not agree, by what is wrong with them.
    odd_facts: BTreeMap<String, u64>,
    /// What is wrong, a line each.
    wrong: Vec<String>,
}

impl Score {
    fn plus(mut self, other: Self) -> Self {
        self.wrong.extend(other.wrong);
        for (fact, count) in other.odd_facts {
            *self.odd_facts.entry(fact).or_default() += count;
        }
        Self {
            machines: self.machines.plus(other.machines),
            kinds: self.kinds.plus(other.kinds),
            named_first: self.named_first.plus(other.named_first),
            times: self.times.plus(other.times),
            facts: self.facts.plus(other.facts),
            exact_facts: self.exact_facts.plus(other.exact_facts),
            known_facts: self.known_facts.plus(other.known_facts),
            odd_facts: self.odd_facts,
            wrong: self.wrong,
        }
    }
}

/// An incident that was played: its files, and what was exported of it.
struct Evidence {
    scenario: String,
    played: Vec<Played>,
    cluster: String,
    events: Vec<u8>,
    audit: Vec<u8>,
    report: Report,
}

fn play(incident: &Incident, dir: &Path) -> Evidence {
    let files = [("scenario.yaml", incident.scenario.as_str()), ("apps.yaml", incident.apps.as_str())];
    let scenario = Scenario::parse(&incident.scenario, files).expect("the generator makes scenarios");
    let out = dir.join("run");
    scenario.play(scenario.seed()).write_with(&out, &WriteOptions::new().charts(false)).expect("a place to write");
    let report = Report::open(&out).expect("a run");
    let mut audit = Vec::new();
    report.write_audit_log(&mut audit).expect("a run").expect("memory takes it");
    let events = serde_json::to_vec(&report.events().expect("a run")).expect("JSON");
    let scenario = incident.scenario.clone();
    Evidence { scenario, played: played(&out), cluster: snapshot(&out), events, audit, report }
}

fn played(run: &Path) -> Vec<Played> {
    let mut table = csv::Reader::from_path(run.join("faults.csv")).expect("a table");
    let header = table.headers().expect("a header").clone();
    let place = |name: &str| header.iter().position(|column| column == name).expect("a column");
    let places = ["kind", "object", "began_s", "ended_s", "not_ready_s", "ready_s"].map(place);
    let rows = table.records().map(|row| {
        let row = row.expect("a row");
        let [kind, object, began, ended, not_ready, ready] = places.map(|place| row[place].to_owned());
        let object = if kind == "ImagePullFailure" { format!("image {PULLED_IMAGE}") } else { object };
        Played {
            kind,
            object,
            began_s: began.parse().expect("a time"),
            ended_s: ended.parse().ok(),
            not_ready_s: not_ready.parse().ok(),
            ready_s: ready.parse().ok(),
        }
    });
    let mut rows: Vec<Played> = rows.collect();
    // A row for each node that could not pull.
    rows.dedup_by(|row, first| {
        row.kind == "ImagePullFailure" && (&row.kind, row.began_s) == (&first.kind, first.began_s)
    });
    rows
}

/// The cluster at t=0, as the first line of the transcript printed it.
fn snapshot(run: &Path) -> String {
    let transcript = fs::read_to_string(run.join("transcript.jsonl")).expect("a table");
    let first: Value = serde_json::from_str(transcript.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["exit"], 0, "{first}");
    let lines = first["stdout"].as_array().expect("lines");
    lines.iter().map(|line| format!("{}\n", line.as_str().expect("text"))).collect()
}

/// What `import outage` makes of a part of the evidence.
fn import(evidence: &Evidence, given: Given) -> Result<ImportedOutage, String> {
    let mut importing = ClusterImport::new();
    importing.add_stream(Cursor::new(evidence.cluster.clone().into_bytes()), "cluster.yaml");
    let cluster = importing.finish(false).map_err(|unusable| format!("the snapshot: {:?}", unusable.diagnostics))?;
    let cluster = manifest::load_text("cluster.yaml", &cluster.document).objects;
    let options = OutageOptions { name: "again".to_owned(), ..OutageOptions::default() };
    let mut importing = OutageImport::new(options);
    let metrics = |step: u64| {
        let mut samples = Vec::new();
        let written = evidence.report.write_metrics(SimDuration::from_secs(step), &mut samples);
        written.expect("a run").expect("memory takes it");
        samples
    };
    let mut add = |name: &str, content: Vec<u8>| importing.add_stream(Cursor::new(content), name);
    match given {
        Given::Events => add("events.json", evidence.events.clone()),
        Given::Audit => add("audit.jsonl", evidence.audit.clone()),
        Given::Metrics(step) => add("metrics.json", metrics(step)),
        Given::All => {
            add("events.json", evidence.events.clone());
            add("audit.jsonl", evidence.audit.clone());
            add("metrics.json", metrics(30));
        }
    }
    importing.finish(&cluster).map_err(|unusable| format!("{:?}", unusable.diagnostics))
}

/// The faults of `evidence.json`, and by how many seconds its t=0 is later than that of what was played.
fn told(imported: &ImportedOutage, epoch_nanos: i64) -> (Vec<Told>, f64) {
    let record: Value = serde_json::from_str(&imported.record).expect("JSON");
    let later_s = (imported.t0.unix_nanos() - epoch_nanos) as f64 / 1e9;
    let bounds = |value: &Value| {
        let bound = |name: &str| value[name].as_f64().map(|at| at + later_s);
        bound("earliest_s").zip(bound("latest_s"))
    };
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut faults = Vec::new();
    for entry in record["faults"].as_array().expect("faults") {
        let mut kinds = vec![entry["kind"].as_str().expect("a kind").to_owned()];
        kinds.extend(texts(&entry["alternatives"]));
        for hit in entry["hits"].as_array().expect("hits") {
            faults.push(Told {
                kinds: kinds.clone(),
                object: hit["hit"].as_str().expect("a name").to_owned(),
                begin: bounds(&hit["begin"]).expect("bounds"),
                end: bounds(&hit["end"]),
            });
        }
    }
    (faults, later_s)
}

fn holds((earliest, latest): (f64, f64), at: f64) -> bool {
    earliest - ROUNDED_S <= at && at <= latest + ROUNDED_S
}

/// Holds what was told against what was played.
fn compare(played: &[Played], mut others: Vec<Told>, given: Given, score: &mut Score) {
    for fault in played.iter().map(|fault| fault.as_told_by(given)) {
        let nearest = others
            .iter()
            .enumerate()
            .filter(|(_, told)| fault.is_of(&told.object))
            // A fault ends before the next one of the same machine begins.
            .filter(|(_, told)| {
                // Late heartbeats are missed now and then, as long as it lasts.
                let lasts =
                    if fault.kind == "SlowHeartbeats" { fault.ended_s.unwrap_or(fault.began_s) } else { fault.began_s };
                told.begin.0 - 120.0 <= lasts && fault.began_s < told.begin.1 + 120.0
            })
            .min_by(|(_, one), (_, other)| {
                let far = |told: &Told| (f64::midpoint(told.begin.0, told.begin.1) - fault.began_s).abs();
                far(one).total_cmp(&far(other))
            })
            .map(|(place, _)| place);
        let Some(told) = nearest.map(|place| others.remove(place)) else {
            if fault.is_in(given) {
                score.machines.add(false);
                score.wrong.push(format!("not found: {fault:?}"));
            }
            continue;
        };
        score.machines.add(true);
        score.named_first.add(told.kinds[0] == fault.kind);
        let is_right = told.kinds.contains(&fault.kind);
        score.kinds.add(is_right);
        if !is_right {
            score.wrong.push(format!("another kind: {fault:?} as {told:?}"));
        }
        if fault.kind == "SlowHeartbeats" {
            // Its silences may be told one by one, with the times of each.
            let until = fault.ended_s.unwrap_or(f64::INFINITY) + 60.0;
            others.retain(|other| {
                other.object != fault.object || !(fault.began_s - 60.0..until).contains(&other.begin.1)
            });
            continue;
        }
        let is_begin_right = holds(told.begin, fault.began_s);
        score.times.add(is_begin_right);
        if !is_begin_right {
            score.wrong.push(format!("begin: {fault:?} as {told:?}"));
        }
        if let Some(end) = told.end {
            let is_end_right = match (fault.kind.as_str(), fault.ended_s, fault.ready_s) {
                // A machine that boots was on, up and back one after the other, and any of these is its end.
                ("Crash" | "GracefulShutdown" | "Reboot", Some(on), Some(back)) => end.0 <= back && on <= end.1,
                _ => [fault.ended_s, fault.ready_s].into_iter().flatten().any(|at| holds(end, at)),
            };
            score.times.add(is_end_right);
            if !is_end_right {
                score.wrong.push(format!("end: {fault:?} as {told:?}"));
            }
        }
    }
    for told in others {
        if is_consequence(&told, played) {
            score.machines.add(true);
            score.kinds.add(true);
            score.named_first.add(false);
            continue;
        }
        score.machines.add(false);
        score.wrong.push(format!("nothing was there: {told:?}"));
    }
}

/// Whether a process that began anew did so as the API server was away, and the importer says that it may have been that.
fn is_consequence(told: &Told, played: &[Played]) -> bool {
    let other = format!("{} of ", told.kinds[0]);
    let processes = told.kinds.iter().filter_map(|kind| kind.strip_prefix(&other));
    let objects: Vec<String> = processes.map(|process| format!("process/{process}")).collect();
    played.iter().any(|fault| {
        objects.contains(&fault.object)
            && fault.ended_s.zip(told.end).is_some_and(|(ended, (_, latest))| (0.0..60.0).contains(&(latest - ended)))
    })
}

/// What was rebuilt, with the timeline of the incident in place of its own.
fn as_it_was(imported: &ImportedOutage, incident: &str, later_s: f64) -> String {
    let (head, _) = imported.scenario.split_once("\n  timeline:").expect("a timeline");
    let mut text = format!("{head}\n  controlPlane:\n");
    let (_, rest) = incident.split_once("  controlPlane:\n").expect("a control plane");
    for line in rest.lines() {
        let Some((at, what)) = line.strip_prefix("  - {at: ").and_then(|line| line.split_once("s, ")) else {
            let _ = writeln!(text, "{line}");
            continue;
        };
        let at = at.parse::<f64>().expect("seconds") - later_s;
        if at >= 0.0 && !what.contains(SNAPSHOT) {
            let _ = writeln!(text, "  - {{at: {at:.3}s, {what}");
        }
    }
    text
}

/// Plays a scenario with what was rebuilt of the cluster, and holds it against what was seen.
fn held(imported: &ImportedOutage, scenario: &str, mut judge: impl FnMut(&str, &str, bool)) -> Result<(), String> {
    if imported.observed.is_empty() {
        return Ok(());
    }
    let mut observed = Vec::new();
    write_observed(&mut observed, &imported.observed).expect("memory takes it");
    let observed = String::from_utf8(observed).expect("text");
    let seen = Observations::parse(&observed).map_err(|error| format!("observed.csv: {error}"))?;
    let mut files = vec![("cluster.yaml".to_owned(), imported.cluster.clone())];
    files.extend(imported.applied.iter().cloned());
    let scenario = Scenario::parse(scenario, files).map_err(|error| format!("{scenario}: {error}"))?;
    let outcome = scenario.play(scenario.seed()).held_against(&seen).map_err(|error| error.to_string())?;
    let rows = outcome.rows("agreement.csv").map_err(|error| error.to_string())?;
    for row in rows.iter() {
        let off = row.get("off_s").and_then(|off| off.as_time());
        let is_near = off.is_some_and(|off| off.as_secs_f64().abs() <= CHANCE_S);
        let text = |column: &str| row.get(column).and_then(|value| value.as_str()).unwrap_or_default();
        let verdict = text("verdict");
        judge(text("fact"), verdict, verdict == "same" || verdict == "other time" && is_near);
    }
    Ok(())
}

/// Plays what was rebuilt, and the incident itself once more, and holds both against what was seen.
fn replay(imported: &ImportedOutage, as_it_was: &str, score: &mut Score) -> Result<(), String> {
    held(imported, as_it_was, |_, _, agrees| score.known_facts.add(agrees))?;
    held(imported, &imported.scenario, |fact, verdict, agrees| {
        score.exact_facts.add(verdict == "same");
        score.facts.add(agrees);
        if !agrees {
            *score.odd_facts.entry(format!("{fact} {verdict}")).or_default() += 1;
        }
    })
}

fn score(evidence: &Evidence, given: Given, epoch_nanos: i64) -> Score {
    let mut score = Score::default();
    if !evidence.played.iter().any(|fault| fault.is_in(given)) {
        return score;
    }
    match import(evidence, given) {
        Ok(imported) => {
            let (faults, later_s) = told(&imported, epoch_nanos);
            compare(&evidence.played, faults, given, &mut score);
            // What follows from a pull that failed cannot come of a play that does not know of it.
            let is_blind = evidence.played.iter().any(|fault| fault.kind == "ImagePullFailure" && !fault.is_in(given));
            if is_blind {
                return score;
            }
            let as_it_was = as_it_was(&imported, &evidence.scenario, later_s);
            if let Err(why) = replay(&imported, &as_it_was, &mut score) {
                score.facts.add(false);
                score.wrong.push(why);
            } else if score.facts.value() < RIGHT_MIN {
                score.wrong.push(format!("{} of {} facts agree", score.facts.right, score.facts.all));
            }
        }
        Err(why) => {
            score.machines.add(false);
            score.wrong.push(why);
        }
    }
    score
}

/// Writes an incident, its evidence and what is made of that, to be looked at: `OUTAGE_KEEP=DIR`.
fn keep(dir: &Path, incident: &Incident, evidence: &Evidence) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join("scenario.yaml"), &incident.scenario)?;
    fs::write(dir.join("apps.yaml"), &incident.apps)?;
    fs::write(dir.join("events.json"), &evidence.events)?;
    fs::write(dir.join("audit.jsonl"), &evidence.audit)?;
    for given in GIVEN {
        let Ok(imported) = import(evidence, given) else { continue };
        let dir = dir.join(format!("{given:?}"));
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("cluster.yaml"), &imported.cluster)?;
        fs::write(dir.join("outage.yaml"), &imported.scenario)?;
        fs::write(dir.join("evidence.json"), &imported.record)?;
        write_observed(fs::File::create(dir.join("observed.csv"))?, &imported.observed)?;
        imported.applied.iter().try_for_each(|(name, text)| fs::write(dir.join(name), text))?;
    }
    Ok(())
}

fn of_seed(seed: u64) -> Vec<Score> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let incident = incident(seed);
    let evidence = play(&incident, dir.path());
    #[expect(clippy::disallowed_methods, reason = "a maintainer asks for it")]
    if let Some(kept) = std::env::var_os("OUTAGE_KEEP") {
        keep(&Path::new(&kept).join(seed.to_string()), &incident, &evidence).expect("a place to write");
    }
    let epoch = evidence.report.summary()["epoch"].as_str().expect("a time stamp");
    let epoch = kubesquall::evidence::Instant::parse(epoch).expect("a time stamp").unix_nanos();
    let named = |given: Given, mut score: Score| {
        score.wrong.iter_mut().for_each(|line| *line = format!("seed {seed}, {given:?}: {line}"));
        score
    };
    GIVEN.into_iter().map(|given| named(given, score(&evidence, given, epoch))).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the shares are what one plays many seeds for")]
fn incidents_are_rebuilt_from_their_evidence() {
    let (seeds, asked) = seeds("OUTAGE_SEEDS", 0..SEEDS_BY_DEFAULT);
    let none = || vec![Score::default(); GIVEN.len()];
    let add = |one: Vec<Score>, other: Vec<Score>| -> Vec<Score> {
        one.into_iter().zip(other).map(|(one, other)| one.plus(other)).collect()
    };
    let scores: Vec<Vec<Score>> = seeds.into_par_iter().map(of_seed).collect();
    let total = scores.into_iter().fold(none(), add);
    let mut failed = Vec::new();
    let head = ["machines", "kinds", "named first", "times", "facts", "exact facts", "known"];
    println!("{:<14} {}", "given", head.map(|name| format!("{name:>12}")).concat());
    for (given, score) in GIVEN.iter().zip(&total) {
        let shown = |share: Share| format!("{:>10.1} %", share.value() * 100.0);
        let seen = [score.facts, score.exact_facts, score.known_facts];
        let columns = [score.machines, score.kinds, score.named_first, score.times].into_iter().chain(seen);
        println!("{:<14} {}", format!("{given:?}"), columns.map(shown).collect::<String>());
        let mut odd: Vec<(&String, &u64)> = score.odd_facts.iter().collect();
        odd.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let odd: Vec<String> = odd.iter().take(8).map(|(fact, count)| format!("{count} {fact}")).collect();
        println!("{:<14} of {} facts: {}", "", score.facts.all, odd.join(", "));
        let shares = [
            ("machines", score.machines, RIGHT_MIN),
            ("kinds", score.kinds, RIGHT_MIN),
            ("times", score.times, RIGHT_MIN),
            ("facts", score.facts, score.known_facts.value() - BELOW_KNOWN_MAX),
        ];
        let low = shares.into_iter().filter(|(_, share, min)| share.value() < *min);
        failed.extend(low.map(|(what, share, _)| format!("{given:?}: {what}: {} of {}", share.right, share.all)));
    }
    let wrong: Vec<&str> = total.iter().flat_map(|score| &score.wrong).map(String::as_str).collect();
    if asked {
        wrong.iter().for_each(|line| println!("{line}"));
    }
    let shown = if asked { 0 } else { wrong.len().min(40) };
    assert!(failed.is_empty(), "{}\n{}", failed.join("\n"), wrong[..shown].join("\n"));
}
