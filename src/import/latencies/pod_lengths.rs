//! Lengths of time that pods and their events tell of.

mod pulls;
mod subject;

use std::collections::BTreeMap;

use serde_json::Value;

use super::evidence::{Evidence, items, text};
use super::instant::{Instant, at_most, between, longer};
use super::lengths::{Lengths, Measure};
use crate::engine::Bounds;
use pulls::{Images, Pulls};
use subject::{Started, Subject, subjects};

/// What tells that it is not the start itself that takes its time.
const KEPT_FROM_STARTING: [&str; 8] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];
/// Seconds from the end of a pod to a successor of its name that is bound.
const SUCCESSOR_S: f64 = 1.0;
/// The exit code of a container that was killed.
const KILLED: i64 = 137;

/// Adds what there is of pods.
pub(super) fn of_pods(evidence: &Evidence, found: &mut BTreeMap<Measure, Lengths>) {
    let subjects = subjects(evidence);
    let images = Images::of(&subjects);
    for subject in &subjects {
        let pulls = Pulls::of(subject, &images);
        let of = |measure, found: &mut BTreeMap<Measure, Lengths>, add: &dyn Fn(&mut Lengths)| {
            add(found.entry(measure).or_default());
        };
        of(Measure::ImagePull, found, &|lengths| {
            pulls.lengths.iter().for_each(|pull| lengths.add(*pull, None, true));
            (0..pulls.checks).for_each(|_| lengths.leave_out("images that were there and were only asked for"));
        });
        of(Measure::PodStart, found, &|lengths| {
            match start(subject, &pulls) {
                Some(Ok(bounds)) => lengths.add(bounds, subject.workload.as_deref(), true),
                Some(Err(why)) => lengths.leave_out(why),
                None => {}
            };
        });
        of(Measure::PodReady, found, &|lengths| match ready(subject, evidence) {
            Some(Ok((bounds, is_probed))) => lengths.add(bounds, subject.workload.as_deref(), !is_probed),
            Some(Err(why)) => lengths.leave_out(why),
            None => {}
        });
        of(Measure::PodStop, found, &|lengths| {
            for stop in stops(subject, evidence) {
                match stop {
                    Ok(bounds) => lengths.add(bounds, subject.workload.as_deref(), true),
                    Err(why) => lengths.leave_out(why),
                }
            }
        });
    }
    successors(&subjects, found.entry(Measure::PodStop).or_default());
}

/// What is known of a length, or why nothing is.
type Told<T> = Result<T, &'static str>;

/// From bound to running, what pulls took left out.
fn start(subject: &Subject<'_>, pulls: &Pulls) -> Option<Told<Bounds>> {
    let object = subject.object();
    if object.is_some_and(|pod| subject.is_static(pod)) {
        return Some(Err("static pods, which nobody schedules"));
    }
    let begin = subject.first("Scheduled").map(|event| event.first).or_else(|| bound(object?))?;
    if subject.has_inits() {
        return Some(Err("pods with init containers, which run before"));
    }
    if subject.first("SuccessfulAttachVolume").is_some() {
        return Some(Err("pods that waited for volumes"));
    }
    let end = match subject.started() {
        Started::At(end) => end,
        Started::Unknown => return Some(Err("pods whose containers restarted: when they first started is lost")),
        Started::NotYet => return not_started(subject, pulls, begin),
    };
    let whole = between(begin, end);
    if let Some((least, most)) = pulls.before_start {
        return Some(Ok(Bounds { low_s: whole.low_s - most, high_s: whole.high_s - least, ..whole }));
    }
    // Nobody knows whether an image was pulled.
    Some(Ok(if pulls.is_known { whole } else { at_most(begin, end) }))
}

/// When a pod was bound, as its status tells. A kubelet that takes up a pod that nobody has marked as bound does so itself, later.
fn bound(pod: &Value) -> Option<Instant> {
    let marked = condition(pod, "PodScheduled", "True");
    let taken_up = Instant::at(pod, "/status/startTime");
    match (marked, taken_up) {
        (Some(marked), Some(taken_up)) => Some(marked.earlier(taken_up)),
        (marked, _) => marked,
    }
}

fn not_started(subject: &Subject<'_>, pulls: &Pulls, begin: Instant) -> Option<Told<Bounds>> {
    let waits = subject.object().map(|pod| {
        let reasons = items(pod, "/status/containerStatuses").map(|status| text(status, "/state/waiting/reason"));
        reasons.filter(|reason| KEPT_FROM_STARTING.contains(reason)).count()
    });
    let is_failed = |event: &&&super::evidence::Event| event.reason.starts_with("Failed") || event.reason == "BackOff";
    if waits.is_some_and(|count| count > 0) || subject.events.iter().any(|event| is_failed(&event)) {
        return Some(Err("pods that were kept from starting"));
    }
    if subject.object().is_some_and(|pod| text(pod, "/status/phase") != "Pending") {
        return None;
    }
    let killed = subject.first("Killing").map(|event| event.first);
    let until = pulls.open.or(killed).or(subject.until)?;
    (until.nanos > begin.nanos).then(|| Ok(longer(begin, until)))
}

/// From running to Ready; and whether probes decide that.
fn ready(subject: &Subject<'_>, evidence: &Evidence) -> Option<Told<(Bounds, bool)>> {
    let pod = subject.object()?;
    let starts: Option<Vec<Instant>> =
        items(pod, "/status/containerStatuses").map(|status| Instant::at(status, "/state/running/startedAt")).collect();
    let begin = starts?.into_iter().reduce(Instant::later)?;
    if pod.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string) {
        return None;
    }
    if items(pod, "/spec/readinessGates").next().is_some() {
        return Some(Err("pods with readiness gates"));
    }
    let probes = || items(pod, "/spec/containers").filter_map(|container| container.get("readinessProbe"));
    let startup = || items(pod, "/spec/containers").filter_map(|container| container.get("startupProbe"));
    let is_probed = probes().chain(startup()).next().is_some();
    if let Some(end) = condition(pod, "Ready", "True") {
        if end.nanos < begin.nanos {
            return Some(Err("pods that were Ready before their containers last started"));
        }
        let became_ready = evidence.nodes.get(text(pod, "/spec/nodeName")).copied().flatten();
        if became_ready.is_some_and(|at| at.nanos > begin.nanos) {
            return Some(Ok((at_most(begin, end), is_probed)));
        }
        let bounds = between(begin, end);
        // The run before the one that found it ready did not, if there was one.
        let number = |probe: &Value, field: &str, usual: f64| probe[field].as_f64().unwrap_or(usual).max(1.0);
        let blind = |probe: &Value| number(probe, "periodSeconds", 10.0) * number(probe, "successThreshold", 1.0);
        let longest = |probes: &mut dyn Iterator<Item = &Value>| probes.map(blind).fold(0.0, f64::max);
        let low_s = bounds.low_s - longest(&mut probes()) - longest(&mut startup());
        return Some(Ok((Bounds { low_s: low_s.max(0.0).min(bounds.low_s), ..bounds }, is_probed)));
    }
    let lost = condition(pod, "Ready", "False")?;
    if lost.since_s(begin) > 1.0 {
        return Some(Err("pods that lost their readiness later"));
    }
    Some(Ok((longer(begin, subject.until?), is_probed)))
}

/// From the request to stop to the exit: of a pod that is deleted, and of containers that probes have killed.
fn stops(subject: &Subject<'_>, evidence: &Evidence) -> Vec<Told<Bounds>> {
    let Some(pod) = subject.object() else { return Vec::new() };
    let mut found: Vec<Told<Bounds>> = deleted(subject, pod, evidence).into_iter().collect();
    let restarted =
        |event: &&&super::evidence::Event| event.reason == "Killing" && event.message.contains("will be restarted");
    for killing in subject.events.iter().filter(|event| restarted(event)) {
        let is_meant = |status: &&Value| {
            let name = text(status, "/name");
            killing.field_path.contains(&format!("{{{name}}}"))
                || killing.message.contains(&format!("Container {name} "))
        };
        let ended = items(pod, "/status/containerStatuses").find(is_meant);
        let end = ended.and_then(|status| Instant::at(status, "/lastState/terminated/finishedAt"));
        found.extend(end.filter(|end| end.nanos >= killing.last.nanos).map(|end| Ok(between(killing.last, end))));
    }
    found
}

fn deleted(subject: &Subject<'_>, pod: &Value, evidence: &Evidence) -> Option<Told<Bounds>> {
    let deletion = Instant::at(pod, "/metadata/deletionTimestamp")?;
    let grace_s = pod.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_f64).unwrap_or(0.0);
    let hook = |container: &Value| container.pointer("/lifecycle/preStop/sleep/seconds").and_then(Value::as_f64);
    let hook_s = items(pod, "/spec/containers").filter_map(hook).fold(0.0, f64::max);
    let request = deletion.plus(-grace_s);
    let begin = request.plus(hook_s);
    let mut end: Option<Instant> = None;
    let (mut is_running, mut is_killed) = (false, false);
    for status in items(pod, "/status/containerStatuses") {
        let state = &status["state"];
        is_running |= state["running"].is_object();
        // What had ended before stopped for another reason.
        let finished = Instant::at(state, "/terminated/finishedAt").filter(|at| at.nanos >= request.nanos);
        is_killed |=
            finished.is_some() && state.pointer("/terminated/exitCode").and_then(Value::as_i64) == Some(KILLED);
        end = match (end, finished) {
            (Some(end), Some(finished)) => Some(end.later(finished)),
            (end, finished) => end.or(finished),
        };
    }
    if is_running {
        let node = text(pod, "/spec/nodeName");
        if evidence.nodes.get(node).is_some_and(Option::is_none) {
            return Some(Err("pods on nodes that did not answer"));
        }
        let until = subject.until.filter(|until| until.nanos > begin.nanos)?;
        // At the end of the grace period it is killed.
        return Some(Ok(longer(begin, until.earlier(deletion))));
    }
    let end = end?;
    if is_killed && end.nanos >= deletion.nanos {
        return Some(Ok(longer(begin, deletion)));
    }
    Some(Ok(between(begin, end)))
}

/// Pods of one name come one after the other has gone: the next one is bound soon after the end of the one before.
fn successors(subjects: &[Subject<'_>], lengths: &mut Lengths) {
    let mut of_name: BTreeMap<(&str, &str), Vec<&Subject<'_>>> = BTreeMap::new();
    for subject in subjects {
        of_name.entry((subject.namespace, subject.name)).or_default().push(subject);
    }
    for lives in of_name.into_values().filter(|lives| lives.len() > 1) {
        let mut bound: Vec<Instant> =
            lives.iter().filter_map(|life| life.first("Scheduled")).map(|event| event.first).collect();
        bound.sort_by_key(|at| at.nanos);
        for life in lives.iter().filter(|life| life.object().is_none()) {
            let Some(killing) = life.last_stop() else { continue };
            let Some(next) = bound.iter().find(|at| at.nanos > killing.nanos) else { continue };
            let bounds = between(killing, *next);
            let low_s = (bounds.low_s - SUCCESSOR_S).max(0.0).min(bounds.low_s);
            lengths.add(Bounds { low_s, ..bounds }, life.workload.as_deref(), true);
        }
    }
}

/// Since when a condition is as it is, if it is so.
fn condition(pod: &Value, name: &str, status: &str) -> Option<Instant> {
    let is_it = |condition: &&Value| text(condition, "/type") == name && text(condition, "/status") == status;
    Instant::at(items(pod, "/status/conditions").find(is_it)?, "/lastTransitionTime")
}
