//! The story of a workload: when it was short, who was lost when and why, what came in their place, since when it is whole.

use std::collections::{BTreeMap, BTreeSet};

use super::super::causes::object_of;
use super::super::record::{Counts, Pod, Record, object_name};
use super::super::sentence::Sentence;
use super::super::words;
use super::{Because, Step, Story, Stretch, arithmetic, chain, fates, longest, pending, row_at, steps_of};
use crate::units::{SimDuration, SimTime, counted};

pub(super) fn story(record: &Record, object: &str) -> Story {
    let of = |pod: &Pod| pod.workload == object || pod.owner == object;
    let members: BTreeSet<usize> = (0..record.pods.len()).filter(|pod| of(&record.pods[*pod])).collect();
    let replaced = fates::replacements(record, &members);
    let (mut facts, worst) = shortages(record, object);
    facts.extend(without_nodes(record, &members));
    facts.extend(waited(record, &members));
    facts.extend(held_up(record, &members));
    facts.extend(refused(record, object));
    let mut steps = steps_of(record, [object]);
    steps.extend(losses(record, &members, &replaced));
    steps.extend(returns(record, &members));
    steps.sort_by_key(|step| step.at);
    let recoveries = members
        .iter()
        .filter(|pod| record.pods[**pod].taken_away)
        .filter_map(|pod| arithmetic::recovery(record, *pod, &replaced));
    let slowest = recoveries.max_by_key(|sum| sum.together).map(|mut sum| {
        sum.title = format!("Its longest recovery. {}", sum.title);
        sum
    });
    Story { facts, sums: slowest.into_iter().collect(), steps, worst, ..Story::default() }
}

/// When it had fewer ready pods than wanted, and which of these times was the longest.
fn shortages(record: &Record, object: &str) -> (Vec<Sentence>, Option<(SimTime, SimTime)>) {
    let rows = record.workloads.get(object).map_or(&[][..], Vec::as_slice);
    let Some(last) = rows.last() else { return (Vec::new(), None) };
    let mut gaps: Vec<Stretch> = Vec::new();
    let mut open: Option<(SimTime, i64)> = None;
    let told = |from: SimTime, missing: i64| Sentence::new(format!("Short of up to {missing} from ")).at(from);
    for &Counts { at, missing, .. } in rows {
        match open {
            None if missing > 0 => open = Some((at, missing)),
            Some((from, most)) if missing > 0 => open = Some((from, most.max(missing))),
            Some((from, most)) => {
                let said = told(from, most).text(" to ").at(at);
                let says = said.text(" (").lasting(at.saturating_since(from)).text("), whole again then");
                gaps.push(Stretch { from, to: at, says });
                open = None;
            }
            None => {}
        }
    }
    let mut at_the_end = Vec::new();
    if let Some((from, most)) = open {
        let length = record.end.saturating_since(from);
        at_the_end.push(told(from, most).text(" to the end of the run (").lasting(length).text("): not whole again"));
        gaps.push(Stretch { from, to: record.end, says: Sentence::default() });
    }
    let mut said = Sentence::new(format!("{} of {} ready at the end", last.ready, last.desired));
    if gaps.len() > 1 {
        let together = gaps.iter().fold(SimDuration::ZERO, |sum, gap| sum + gap.to.saturating_since(gap.from));
        said = said.text(format!("; short {} times, for ", gaps.len())).lasting(together).text(" in all");
    }
    let lengths = gaps.iter().rev().map(|gap| (gap.to.saturating_since(gap.from), (gap.from, gap.to)));
    let worst = lengths.max_by_key(|(length, _)| *length).map(|(_, worst)| worst);
    // What is not over is told however short it has been.
    gaps.truncate(gaps.len() - at_the_end.len());
    let never = gaps.is_empty() && at_the_end.is_empty();
    let never = never.then(|| Sentence::new("It was never short"));
    let facts = [said].into_iter().chain(never).chain(longest(gaps, "workloads.csv")).chain(at_the_end);
    (facts.collect(), worst)
}

/// That the API server lets it make no more of the pods that it wants at the end.
fn refused(record: &Record, object: &str) -> Option<Sentence> {
    let all = record.summary["refused_workloads"].as_array().into_iter().flatten();
    let text = |of: &serde_json::Value, field: &str| of[field].as_str().unwrap_or_default().to_owned();
    let is_it =
        |of: &&serde_json::Value| object_name(&text(of, "kind"), &text(of, "namespace"), &text(of, "name")) == object;
    let it = all.into_iter().find(is_it)?;
    let said = Sentence::new("At the end it wants more pods than the API server lets it make, for ");
    let said = said.lasting(SimDuration::from_secs_f64(it["refused_s"].as_f64().unwrap_or(0.0)));
    Some(said.text(format!(": {}", text(it, "message").trim_end_matches('.'))))
}

/// Its pods that have no node at the end, by what they lack.
fn without_nodes(record: &Record, members: &BTreeSet<usize>) -> Vec<Sentence> {
    let waiting =
        members.iter().map(|pod| &record.pods[*pod]).filter(|pod| pod.node.is_none() && pod.ended().is_none());
    let waiting: Vec<&Pod> = waiting.collect();
    let Some(first) = waiting.first() else { return Vec::new() };
    let count = counted(waiting.len(), "pod has", "pods have");
    let names =
        Sentence::new(format!("{count} no node at the end: ")).list(waiting.iter().map(|pod| pod.name.as_str()));
    [names].into_iter().chain(pending::facts(record, first)).collect()
}

/// Its pods that have a node, and had to wait for it: who waited longest, and what stood in the way.
fn waited(record: &Record, members: &BTreeSet<usize>) -> Vec<Sentence> {
    let wait = |pod: &Pod| Some(pod.scheduled?.saturating_since(pod.created));
    let failed = |pod: &&Pod| {
        let over = pod.scheduled.unwrap_or_default();
        let mut events = record.events_about(&pod.name).iter();
        events.any(|event| event.reason == "FailedScheduling" && (pod.created..=over).contains(&event.at))
    };
    let waited = members.iter().map(|pod| &record.pods[*pod]).filter(|pod| pod.scheduled.is_some());
    let mut waited: Vec<&Pod> = waited.filter(failed).collect();
    waited.sort_by_key(|pod| std::cmp::Reverse(wait(pod)));
    let Some(longest) = waited.first() else { return Vec::new() };
    let count = counted(waited.len(), "pod", "pods");
    let names = Sentence::new(format!("{count} had to wait for a node, the longest first: "));
    let names = names.list(waited.iter().map(|pod| pod.name.as_str()));
    [names].into_iter().chain(pending::facts(record, longest)).collect()
}

/// What containers of its pods waited for, as often as a row says so: `CrashLoopBackOff (c)`.
fn held_up(record: &Record, members: &BTreeSet<usize>) -> Vec<Sentence> {
    let causes = &record.causes;
    let names: BTreeSet<&str> = members.iter().map(|pod| record.pods[*pod].name.as_str()).collect();
    let mut found: BTreeMap<&str, (SimTime, SimTime, BTreeSet<&str>)> = BTreeMap::new();
    for name in names {
        for effect in causes.about(name).iter().map(|row| &causes.effects[*row]) {
            let Some(what) = waits(&effect.what) else { continue };
            let (from, to, pods) = found.entry(what).or_insert((effect.at, effect.at, BTreeSet::new()));
            (*from, *to) = ((*from).min(effect.at), (*to).max(effect.at));
            pods.insert(name);
        }
    }
    let said = |(what, (from, to, pods)): (&str, (SimTime, SimTime, BTreeSet<&str>))| {
        let count = counted(pods.len(), "pod", "pods");
        let said = Sentence::new(format!("Containers of {count} waited, {what}, ")).text("from ").at(from);
        let said = if to > from { said.text(", last told at ").at(to) } else { said };
        said.text(": ").list(pods.into_iter())
    };
    found.into_iter().map(said).collect()
}

/// What a row says that a container waits for.
fn waits(what: &str) -> Option<&str> {
    [" waits: ", ", its containers wait: "].iter().find_map(|verb| what.split_once(verb)).map(|(_, what)| what)
}

/// Pods that share a fate: what ended them, how, and where the chain begins.
type Fate<'a> = (&'a str, bool, Option<usize>, Option<&'a str>);

/// The pods that it lost, those of one fate together.
pub(super) fn losses(record: &Record, members: &BTreeSet<usize>, replaced: &BTreeMap<usize, usize>) -> Vec<Step> {
    let mut fates: BTreeMap<Fate<'_>, Vec<usize>> = BTreeMap::new();
    for &pod in members {
        let of = &record.pods[pod];
        let Some(at) = of.ended() else { continue };
        // One that ended by itself did what it was there for; one that was deleted ends well, too, if its containers do.
        if of.phase == "Succeeded" && !of.taken_away && of.deletion.is_none() {
            continue;
        }
        let row = row_at(&record.causes, &of.name, at);
        let root = row.map(|row| record.causes.root(row));
        fates.entry((&of.cause, of.taken_away, root, of.node.as_deref())).or_default().push(pod);
    }
    fates.into_iter().map(|(fate, pods)| loss(record, fate, pods, replaced)).collect()
}

fn loss(
    record: &Record,
    (cause, taken_away, _, node): Fate<'_>,
    mut lost: Vec<usize>,
    replaced: &BTreeMap<usize, usize>,
) -> Step {
    lost.sort_by_key(|pod| record.pods[*pod].ended());
    let pods: Vec<&Pod> = lost.iter().map(|pod| &record.pods[*pod]).collect();
    let at = pods[0].ended().unwrap_or_default();
    let mut says = Sentence::default().list(pods.iter().map(|pod| pod.name.as_str()));
    if let Some(node) = node {
        says = says.text(" on ").object(format!("node/{node}"));
    }
    let (done, why) = words::deletion_and_why(cause, taken_away);
    says = says.text(format!(": {done}"));
    if let Some(last) = pods.last().and_then(|pod| pod.ended()).filter(|last| *last > at) {
        says = says.text(", the last at ").at(last);
    }
    says = says.text(why);
    let next: Vec<Came<'_>> = lost.iter().filter_map(|pod| came_for(record, *pod, *replaced.get(pod)?)).collect();
    let missed = lost.iter().filter(|pod| {
        record.disruptions.contains_key(pod)
            && !replaced.contains_key(pod)
            && arithmetic::not_to_come(record, **pod).is_none()
    });
    says = in_their_place(says, pods.len(), &next, missed.count());
    let (because, origin) =
        row_at(&record.causes, &pods[0].name, at).map_or((Vec::new(), None), |row| chain(&record.causes, row));
    Step { at, says, because, origin }
}

/// A pod that came for another.
struct Came<'a> {
    pod: &'a Pod,
    /// How long it waited for its machine and for its volumes once it was bound.
    held_up: SimDuration,
    /// The part of that for which its volumes were not there, or its kubelet had not noticed.
    volumes: SimDuration,
}

fn came_for(record: &Record, lost: usize, next: usize) -> Option<Came<'_>> {
    let zero = SimDuration::ZERO;
    let of = record.disruptions.get(&lost).map(|of| (of.dead_node, of.attach + of.mount));
    let (dead_node, volumes) = of.unwrap_or((zero, zero));
    Some(Came { pod: record.pods.get(next)?, held_up: dead_node + volumes, volumes })
}

/// What came for so many lost pods, and how long each part of that took; for how many it is still to come.
fn in_their_place(mut says: Sentence, lost: usize, came: &[Came<'_>], missing: usize) -> Sentence {
    let next: Vec<&Pod> = came.iter().map(|of| of.pod).collect();
    if next.is_empty() {
        return if missing > 0 { says.text("; nothing came in its place") } else { says };
    }
    says = says
        .text(if lost == 1 { "; in its place " } else { "; in their place " })
        .list(next.iter().map(|pod| pod.name.as_str()));
    if missing > 0 {
        says = says.text(format!("; for {missing} nothing came"));
    }
    let ready = next.iter().filter_map(|pod| pod.ready);
    says = match ready.max() {
        Some(at) if next.iter().all(|pod| pod.ready.is_some()) => says.text(", Ready at ").at(at),
        Some(at) => says.text(", not all of them Ready, the last at ").at(at),
        None if next.iter().all(|pod| pod.ended().is_some()) => return says.text(", lost before it was Ready"),
        None => return says.text(", not Ready by the end"),
    };
    let longest = |from: fn(&Pod) -> Option<SimTime>, to: fn(&Pod) -> Option<SimTime>| {
        let each = next.iter().filter_map(|pod| Some(to(pod)?.saturating_since(from(pod)?)));
        each.max().unwrap_or(SimDuration::ZERO)
    };
    let schedule = longest(|pod| Some(pod.created), |pod| pod.scheduled);
    let started = came.iter().filter_map(|Came { pod, held_up, .. }| {
        let together = pod.started?.saturating_since(pod.scheduled?);
        Some(together.max(*held_up) - *held_up)
    });
    let start = started.max().unwrap_or(SimDuration::ZERO);
    let volumes = came.iter().map(|of| of.volumes).max().unwrap_or(SimDuration::ZERO);
    let become_ready = longest(|pod| pod.started, |pod| pod.ready);
    let how = if next.len() == 1 { " (schedule " } else { " (at the longest: schedule " };
    says = says.text(how).lasting(schedule);
    if !volumes.is_zero() {
        says = says.text(", attach and notice volumes ").lasting(volumes);
    }
    says = says.text(", pull and start ").lasting(start);
    says.text(", become Ready ").lasting(become_ready).text(")")
}

/// Pods that were not Ready for a time and came back by themselves, or did not, those with one root together: by what brought them back.
fn returns(record: &Record, members: &BTreeSet<usize>) -> Vec<Step> {
    let causes = &record.causes;
    let names: BTreeSet<&str> = members.iter().map(|pod| record.pods[*pod].name.as_str()).collect();
    let mut found: BTreeMap<(usize, usize), (SimTime, SimTime, Vec<&str>)> = BTreeMap::new();
    let mut stay: BTreeMap<usize, Vec<(usize, &str)>> = BTreeMap::new();
    for name in names {
        let mut unready: Option<usize> = None;
        for &row in causes.about(name) {
            let what = causes.effects[row].what.as_str();
            if what.ends_with(" created") || what.ends_with(" gone") || what.contains(" marked for deletion") {
                unready = None;
            } else if (what.ends_with(" Ready=False") || waits(what).is_some()) && words::was_ready(causes, name, row) {
                unready.get_or_insert(row);
            } else if what.ends_with(" Ready=True")
                && let Some(began) = unready.take()
            {
                let key = (causes.root(began), causes.root(row));
                let spell = (causes.effects[began].at, causes.effects[row].at, Vec::new());
                let (from, to, pods) = found.entry(key).or_insert(spell);
                (*from, *to) = ((*from).min(causes.effects[began].at), (*to).max(causes.effects[row].at));
                pods.push(name);
            }
        }
        if let Some(began) = unready {
            stay.entry(causes.root(began)).or_default().push((began, name));
        }
    }
    let stays = |(_, mut pods): (usize, Vec<(usize, &str)>)| {
        pods.sort_unstable();
        let lost = pods[0].0;
        let names: Vec<&str> = pods.into_iter().map(|(_, name)| name).collect();
        let says = Sentence::default().list(names.into_iter()).text(": not Ready, and not back by the end of the run");
        let (because, origin) = chain(causes, lost);
        Step { at: causes.effects[lost].at, says, because, origin }
    };
    let stay: Vec<Step> = stay.into_iter().map(stays).collect();
    let step = |((lost, back), (from, to, pods)): ((usize, usize), (SimTime, SimTime, Vec<&str>))| {
        let says = Sentence::default().list(pods.into_iter()).text(": not Ready, and back ");
        let brought = &causes.effects[back];
        let says = if back != lost && object_of(&brought.what).is_none() {
            let action = words::action(&brought.what);
            let by = match action.strip_suffix(" ends") {
                Some(fault) => format!(", after the end of {fault} at "),
                None => format!(", because of {action} at "),
            };
            says.text("at ").at(to).text(by).at(brought.at)
        } else {
            says.text("by itself at ").at(to)
        };
        let because = vec![Because { at: causes.effects[lost].at, says: words::clause(causes, lost) }];
        Step { at: from, says, because, origin: Some(super::origin(causes, lost)) }
    };
    found.into_iter().map(step).chain(stay).collect()
}
