//! What events show of operators' doings where no audit log says who asked for what.

use std::collections::{BTreeMap, BTreeSet};

use super::super::faults::{Confidence, Fault, Found};
use super::super::inventory::pool_of;
use super::super::timeline::Timeline;
use super::from_requests::is_operators;
use super::{Action, Command, Commands, drain, drained, in_namespace, quoted};
use crate::arena::Symbol;
use crate::evidence::{Bounds, Instant, Request, What};
use crate::units::SimDuration;

/// A drain takes its pods within so long.
const DRAIN: SimDuration = SimDuration::from_secs(600);
/// What an audit log and an event tell of one thing lies no further apart.
const SAME: SimDuration = SimDuration::from_secs(15);
/// Changes of ReplicaSets of one Deployment that lie closer together are of one rollout.
const ONE_ROLLOUT: SimDuration = SimDuration::from_secs(600);
/// A ReplicaSet is told of no later after it was made.
const MADE: SimDuration = SimDuration::from_secs(2);
/// Nodes of one pool that join so close to each other join together.
const ONE_JOIN: SimDuration = SimDuration::from_secs(5);

pub(super) fn find(timeline: &Timeline<'_>, found: &Found, commands: &mut Commands) {
    let explained = &found.explained;
    for node in timeline.nodes().collect::<Vec<_>>() {
        if timeline.inventory.nodes.contains_key(&node) {
            schedulable(node, timeline, explained, commands);
            removed(node, timeline, found, commands);
        }
    }
    joined(timeline, commands);
    scaled(timeline, commands);
}

/// Whether an operator's request is known that a line says already.
fn is_said(commands: &Commands, when: Bounds, about: &str) -> bool {
    commands.commands.iter().any(|command| {
        let Action::Kubectl(line) = &command.action else { return false };
        command.when.earliest <= when.latest.later(SAME)
            && command.when.latest.later(SAME) >= when.earliest
            && line.split_whitespace().any(|word| word == about)
    })
}

fn schedulable(node: Symbol, timeline: &Timeline<'_>, explained: &BTreeSet<usize>, commands: &mut Commands) {
    let mut is_cordoned = false;
    for (index, seen) in timeline.of_node(node) {
        let What::NodeSchedulable { is_schedulable, .. } = seen.what else { continue };
        if is_schedulable != is_cordoned {
            // It is told again.
            commands.explained.insert(index);
            continue;
        }
        is_cordoned = !is_schedulable;
        if explained.contains(&index) || is_said(commands, seen.when, node.as_str()) {
            commands.explained.insert(index);
            continue;
        }
        let mut when = seen.when;
        if is_schedulable {
            let line = format!("uncordon {}", quoted(node.as_str()));
            push(commands, when, line, Confidence::Likely, "the node took pods again", vec![index]);
            continue;
        }
        let taken = drained(node, Bounds { earliest: when.earliest, latest: when.latest.later(DRAIN) }, timeline);
        let there = timeline
            .pods_of(node)
            .iter()
            .filter(|pod| timeline.node_of(**pod, seen.when.earliest) == Some(node))
            .filter(|pod| !is_of_daemon_set(**pod, timeline))
            .count();
        if taken.is_empty() || taken.len() * 2 < there {
            let line = format!("cordon {}", quoted(node.as_str()));
            push(commands, when, line, Confidence::Likely, "the node took no pods any more", vec![index]);
            continue;
        }
        let first = taken.iter().map(|taken| timeline.seen[*taken].when.latest).min();
        when.latest = first.map_or(when.latest, |first| when.latest.min(first).max(when.earliest));
        let mut evidence = vec![index];
        evidence.extend(taken);
        push(
            commands,
            when,
            drain(node),
            Confidence::Likely,
            "the node took no pods any more, and its pods went",
            evidence,
        );
    }
}

fn is_of_daemon_set(pod: crate::evidence::PodName, timeline: &Timeline<'_>) -> bool {
    timeline.inventory.owner_of(pod).is_some_and(|(kind, _)| kind.as_str() == "DaemonSet")
}

fn push(commands: &mut Commands, when: Bounds, line: String, confidence: Confidence, why: &str, evidence: Vec<usize>) {
    let (action, reason) = (Action::Kubectl(line), why.to_owned());
    commands.push(Command { when, action, by: None, confidence, reason, evidence });
}

/// A Node object that went without its machine being missed in the cloud.
fn removed(node: Symbol, timeline: &Timeline<'_>, found: &Found, commands: &mut Commands) {
    for (index, seen) in timeline.of_node(node) {
        if !matches!(seen.what, What::NodePresent { is_present: false, .. }) || found.explained.contains(&index) {
            continue;
        }
        let is_gone = |fault: &Fault| fault.kind == "InstanceGone" && fault.covers(seen.when, SimDuration::ZERO);
        if found.of_node(node).any(is_gone) || is_said(commands, seen.when, node.as_str()) {
            commands.explained.insert(index);
            continue;
        }
        let is_of_cluster = |request: &Request| request.verb.as_str() == "delete" && !is_operators(request);
        if timeline.requests_about(node).any(|(_, request)| is_of_cluster(request)) {
            continue;
        }
        let when = Bounds { earliest: seen.when.earliest.earlier(SimDuration::from_secs(5)), latest: seen.when.latest };
        let line = format!("delete node {} --wait=false", quoted(node.as_str()));
        let reason = "the Node went, and no cloud is known to have missed its machine";
        push(commands, when, line, Confidence::Guess, reason, vec![index]);
    }
}

/// Nodes that the cluster file does not have, of pools that it has.
fn joined(timeline: &Timeline<'_>, commands: &mut Commands) {
    let pools: BTreeSet<&str> = timeline.inventory.nodes.keys().filter_map(|node| pool_of(node.as_str())).collect();
    let mut joins: Vec<(Bounds, &str, usize)> = Vec::new();
    let mut known: BTreeSet<Symbol> = BTreeSet::new();
    for (index, seen) in timeline.seen.iter().enumerate() {
        let What::NodePresent { node, is_present: true } = &seen.what else { continue };
        if timeline.inventory.nodes.contains_key(node) || !known.insert(*node) {
            continue;
        }
        match pool_of(node.as_str()).filter(|pool| pools.contains(pool)) {
            Some(pool) => joins.push((seen.when, pool, index)),
            None => {
                commands.remarks.push(format!(
                    "node {node} joined at {}; the cluster file has no node of its pool, so it is not played",
                    seen.when.middle()
                ));
                commands.explained.insert(index);
            }
        }
    }
    let mut at = 0;
    while let Some((when, pool, _)) = joins.get(at).copied() {
        let together = joins[at..]
            .iter()
            .take_while(|(other, of, _)| *of == pool && other.earliest <= when.latest.later(ONE_JOIN))
            .count();
        let evidence: Vec<usize> = joins[at..at + together].iter().map(|(_, _, index)| *index).collect();
        commands.push(Command {
            when,
            action: Action::AddNodes { pool: pool.to_owned(), count: together },
            by: None,
            confidence: Confidence::Certain,
            reason: "nodes joined that the cluster file does not have".to_owned(),
            evidence,
        });
        at += together;
    }
}

/// A ReplicaSet whose replicas changed, or of which a pod was made.
struct Change {
    when: Bounds,
    set: Symbol,
    /// How many replicas it wants from then on, if that is known.
    to: Option<i64>,
    index: usize,
}

/// Replicas that changed: a ReplicaSet that is new is one of a rollout; else somebody scaled.
fn scaled(timeline: &Timeline<'_>, commands: &mut Commands) {
    let mut of_deployments: BTreeMap<(Symbol, Symbol), Vec<Change>> = BTreeMap::new();
    let mut add = |namespace: Symbol, change: Change| {
        if let Some(deployment) = timeline.inventory.deployment_of(namespace, change.set) {
            of_deployments.entry((namespace, deployment)).or_default().push(change);
        }
    };
    for (index, seen) in timeline.seen.iter().enumerate() {
        let when = seen.when;
        match &seen.what {
            What::Scaled { kind, namespace, name, to, .. } => match kind.as_str() {
                "ReplicaSet" => add(*namespace, Change { when, set: *name, to: Some(*to), index }),
                "Deployment" | "StatefulSet" => {
                    scale(commands, timeline, (*kind, *namespace, *name), *to, when, index);
                }
                _ => {}
            },
            What::PodCreated { pod, owner: Some((kind, set)) } if kind.as_str() == "ReplicaSet" => {
                add(pod.namespace, Change { when, set: *set, to: None, index });
            }
            _ => {}
        }
    }
    for ((namespace, deployment), changes) in of_deployments {
        of_deployment(namespace, deployment, &changes, timeline, commands);
    }
}

fn of_deployment(
    namespace: Symbol,
    deployment: Symbol,
    changes: &[Change],
    timeline: &Timeline<'_>,
    commands: &mut Commands,
) {
    // What makes a ReplicaSet sets its replicas within moments.
    let was_there =
        |change: &Change| timeline.inventory.had_replica_set(namespace, change.set, change.when.earliest.earlier(MADE));
    let mut made: BTreeSet<Symbol> = BTreeSet::new();
    let mut rolling_until: Option<Instant> = None;
    for change in changes {
        let is_rolling = rolling_until.is_some_and(|until| change.when.earliest <= until);
        if !was_there(change) && made.insert(change.set) {
            rolling_until = Some(change.when.latest.later(ONE_ROLLOUT));
            if is_said(commands, change.when, deployment.as_str())
                || is_said(commands, change.when, &format!("deployment/{deployment}"))
            {
                commands.explained.insert(change.index);
                continue;
            }
            let line = format!("rollout restart deployment {}{}", quoted(deployment.as_str()), in_namespace(namespace));
            let reason = format!("ReplicaSet {} came to be: what it changed is not recorded", change.set);
            push(commands, change.when, line, Confidence::Guess, &reason, vec![change.index]);
            continue;
        }
        if is_rolling {
            if change.to.is_some() {
                commands.explained.insert(change.index);
            }
            continue;
        }
        if let Some(to) = change.to {
            let workload = (Symbol::new("Deployment"), namespace, deployment);
            scale(commands, timeline, workload, to, change.when, change.index);
        }
    }
}

fn scale(
    commands: &mut Commands,
    timeline: &Timeline<'_>,
    (kind, namespace, name): (Symbol, Symbol, Symbol),
    to: i64,
    when: Bounds,
    index: usize,
) {
    let is_autoscaled = timeline.inventory.autoscaled.contains(&(namespace, kind, name));
    let kind = kind.as_str().to_lowercase();
    let is_known = is_said(commands, when, name.as_str()) || is_said(commands, when, &format!("{kind}/{name}"));
    if is_autoscaled || is_known {
        commands.explained.insert(index);
        return;
    }
    let line = format!("scale {kind} {} --replicas={to}{}", quoted(name.as_str()), in_namespace(namespace));
    push(commands, when, line, Confidence::Likely, "its replicas changed", vec![index]);
}
