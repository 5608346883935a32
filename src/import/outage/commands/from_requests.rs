//! What an audit log says that operators asked for.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::super::faults::{Confidence, Extra, Found};
use super::super::timeline::Timeline;
use super::{Action, Command, Commands, drain, in_namespace, quoted};
use crate::arena::Symbol;
use crate::evidence::{Bounds, Request, What};
use crate::units::SimDuration;

/// Evictions of one node by one user that lie closer together are one drain.
const ONE_DRAIN: SimDuration = SimDuration::from_secs(300);
/// Deletions of one kind by one user that lie closer together are one line.
const ONE_LINE: SimDuration = SimDuration::from_secs(2);
/// Programs that act for people, whatever account they use.
const TOOLS: [&str; 8] = [
    "kubectl",
    "oc",
    "helm",
    "k9s",
    "argocd",
    "argocd-application-controller",
    "flux",
    "terraform-provider-kubernetes",
];
/// What says when a rollout was asked for.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// What only kubectl keeps account of.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Kinds that can be scaled and rolled out, by resource.
const WORKLOADS: [(&str, &str); 4] = [
    ("deployments", "deployment"),
    ("statefulsets", "statefulset"),
    ("daemonsets", "daemonset"),
    ("replicasets", "replicaset"),
];

/// Whether a person or a tool of one asked, and not a part of the cluster.
pub(in crate::import::outage) fn is_operators(request: &Request) -> bool {
    let (user, agent) = (request.user.as_str(), request.agent.as_str());
    let is_tool = TOOLS.contains(&agent);
    let is_person = !user.starts_with("system:") || user == "system:admin";
    let is_of_system = user.starts_with("system:node") || user.starts_with("system:serviceaccount:kube-system:");
    let is_autoscaler = agent.contains("autoscaler") || agent.contains("karpenter") || user.contains("karpenter");
    !is_autoscaler && (is_person || (is_tool && !is_of_system))
}

pub(super) fn find(timeline: &Timeline<'_>, found: &Found, commands: &mut Commands) {
    let requests: Vec<(usize, Bounds, &Request)> = timeline
        .seen
        .iter()
        .enumerate()
        .filter_map(|(index, seen)| match &seen.what {
            What::Request(request) if is_operators(request) && is_granted(request) => {
                Some((index, seen.when, &**request))
            }
            _ => None,
        })
        .collect();
    let drains = drains(&requests, timeline, found, commands);
    let mut deletions: Vec<Deletion> = Vec::new();
    let mut unplayed = Unplayed::default();
    for (index, when, request) in requests {
        if drains.contains(&index) || request.code >= 400 {
            continue;
        }
        if request.verb.as_str() == "delete" && request.subresource.is_empty() {
            delete(&mut deletions, index, when, request);
            continue;
        }
        let Some((action, confidence)) = action(request, timeline, when) else {
            unplayed.add(request, when);
            commands.explained.insert(index);
            continue;
        };
        let reason = format!("{} {} by {}", request.verb, resource(request), request.agent);
        commands.push(Command { when, action, by: Some(request.user), confidence, reason, evidence: vec![index] });
    }
    deletions.into_iter().for_each(|deletion| commands.push(deletion.command()));
    commands.remarks.extend(unplayed.remarks());
}

/// Refused evictions are traces of a drain; other refusals changed nothing.
fn is_granted(request: &Request) -> bool {
    request.code < 400 || (request.code == 429 && request.subresource.as_str() == "eviction")
}

fn resource(request: &Request) -> String {
    let sub = if request.subresource.is_empty() { String::new() } else { format!("/{}", request.subresource) };
    let name = if request.name.is_empty() { String::new() } else { format!(" {}", request.name) };
    format!("{}{sub}{name}", request.resource)
}

/// What was asked for and no play has. Programs that write without end are one remark for each kind of object and namespace.
#[derive(Default)]
struct Unplayed {
    of: FxHashMap<UnplayedKey, usize>,
    groups: Vec<UnplayedGroup>,
}

/// Who asked for what, where; and whether the body is known.
type UnplayedKey = (Symbol, Symbol, Symbol, Symbol, Symbol, bool);

struct UnplayedGroup {
    /// The first of them.
    request: Request,
    first: Bounds,
    last: Bounds,
    count: usize,
    /// What they were about, a few of them.
    names: BTreeSet<Symbol>,
}

impl Unplayed {
    /// Names that a remark has.
    const NAMES_MAX: usize = 3;

    fn add(&mut self, request: &Request, when: Bounds) {
        let key = (
            request.user,
            request.verb,
            request.resource,
            request.subresource,
            request.namespace,
            request.body.is_some(),
        );
        let place = *self.of.entry(key).or_insert(self.groups.len());
        if place == self.groups.len() {
            let (request, names) = (request.clone(), BTreeSet::new());
            self.groups.push(UnplayedGroup { request, first: when, last: when, count: 0, names });
        }
        let group = &mut self.groups[place];
        group.last = when;
        group.count += 1;
        // One more than is told, so that it is seen that there are more.
        if group.names.len() <= Self::NAMES_MAX {
            group.names.insert(request.name);
        }
    }

    /// A sentence each, in the order of the first requests.
    fn remarks(self) -> impl Iterator<Item = String> {
        self.groups.into_iter().map(|UnplayedGroup { request, first, last, count, names }| {
            let place = match request.namespace.is_empty() {
                true => String::new(),
                false => format!(" in namespace {}", request.namespace),
            };
            let lacks = if request.body.is_none() { ": the audit log does not keep what was sent" } else { "" };
            let (user, verb) = (request.user, request.verb);
            if count == 1 {
                let (at, what) = (first.middle(), resource(&request));
                return format!("{user} asked at {at} to {verb} {what}{place}; it is not played{lacks}");
            }
            let (from, until) = (first.middle(), last.middle());
            let what = resource(&Request { name: Symbol::empty(), ..request });
            let named: Vec<&str> = names.iter().take(Self::NAMES_MAX).map(|name| name.as_str()).collect();
            let others = if names.len() > Self::NAMES_MAX { " and others" } else { "" };
            let named = format!("{}{others}", named.join(", "));
            format!(
                "{user} asked {count} times between {from} and {until} to {verb} {what}{place} ({named}); none of it is played{lacks}"
            )
        })
    }
}

/// Evictions by operators, as drains of the nodes; gives what belongs to them.
fn drains(
    requests: &[(usize, Bounds, &Request)],
    timeline: &Timeline<'_>,
    found: &Found,
    commands: &mut Commands,
) -> BTreeSet<usize> {
    struct Drain {
        when: Bounds,
        last: Bounds,
        user: Symbol,
        evidence: Vec<usize>,
    }
    let mut drains: BTreeMap<(Symbol, Symbol), Vec<Drain>> = BTreeMap::new();
    for (index, when, request) in requests.iter().filter(|(_, _, request)| request.subresource.as_str() == "eviction") {
        let pod = crate::evidence::PodName { namespace: request.namespace, name: request.name };
        let Some(node) = timeline.node_of(pod, when.earliest) else { continue };
        let of_node = drains.entry((node, request.user)).or_default();
        match of_node.last_mut().filter(|drain| when.earliest <= drain.last.latest.later(ONE_DRAIN)) {
            Some(drain) => {
                drain.last = *when;
                drain.evidence.push(*index);
            }
            None => of_node.push(Drain { when: *when, last: *when, user: request.user, evidence: vec![*index] }),
        }
    }
    let mut taken = BTreeSet::new();
    for ((node, user), of_node) in drains {
        for mut drain_of in of_node {
            // A drain cordons its node first, right before.
            let cordon = requests.iter().rev().find(|(_, when, request)| {
                request.resource.as_str() == "nodes"
                    && request.name == node
                    && request.user == user
                    && cordons(request) != Some(false)
                    && when.earliest <= drain_of.when.earliest
                    && when.latest.later(ONE_DRAIN) >= drain_of.when.earliest
            });
            if let Some((index, when, _)) = cordon {
                drain_of.evidence.push(*index);
                drain_of.when = *when;
            }
            taken.extend(drain_of.evidence.iter().copied());
            if is_of_notice(node, drain_of.when, found) {
                commands.explained.extend(drain_of.evidence);
                continue;
            }
            commands.push(Command {
                when: drain_of.when,
                action: Action::Kubectl(drain(node)),
                by: Some(drain_of.user),
                confidence: if cordon.is_some() { Confidence::Certain } else { Confidence::Likely },
                reason: "pods of the node were evicted one after the other".to_owned(),
                evidence: drain_of.evidence,
            });
        }
    }
    taken
}

/// Whether it is what follows from the notice of an interruption: the fault drains its node itself.
fn is_of_notice(node: Symbol, when: Bounds, found: &Found) -> bool {
    found.of_node(node).any(|fault| match fault.extra {
        Extra::Notice { notice, drain: true } => {
            when.latest.later(ONE_DRAIN) >= fault.begin.earliest && when.earliest <= fault.begin.latest.later(notice)
        }
        _ => false,
    })
}

fn body(request: &Request) -> Option<Value> {
    serde_json::from_str(request.body.as_deref()?).ok()
}

/// What a change of a node does to its schedulability, if that is all that it says.
fn cordons(request: &Request) -> Option<bool> {
    match body(request)?.pointer("/spec/unschedulable") {
        Some(Value::Bool(is)) => Some(*is),
        Some(Value::Null) => Some(false),
        _ => None,
    }
}

/// The line that does the same.
fn action(request: &Request, timeline: &Timeline<'_>, when: Bounds) -> Option<(Action, Confidence)> {
    let kubectl = |line: String| Some((Action::Kubectl(line), Confidence::Certain));
    let name = quoted(request.name.as_str());
    let namespace = in_namespace(request.namespace);
    let is_change = matches!(request.verb.as_str(), "patch" | "update");
    let workload = WORKLOADS.iter().find(|(resource, _)| *resource == request.resource.as_str()).map(|(_, kind)| *kind);
    let sent = body(request);
    match (request.verb.as_str(), request.resource.as_str(), request.subresource.as_str()) {
        ("create", _, "") => {
            let object = sent.filter(|object| object["kind"].is_string())?;
            Some((Action::Apply(object.to_string().into()), Confidence::Certain))
        }
        (_, _, "scale") if is_change => {
            let replicas = sent?.pointer("/spec/replicas")?.as_i64()?;
            kubectl(format!("scale {} {name} --replicas={replicas}{namespace}", workload?))
        }
        (_, "nodes", "") if is_change => match cordons(request).or_else(|| cordon_seen(request.name, when, timeline)) {
            Some(true) => kubectl(format!("cordon {name}")),
            Some(false) => kubectl(format!("uncordon {name}")),
            None => kubectl(patch("node", request, &sent?)?),
        },
        (_, _, "") if is_change && workload.is_some() => {
            let (kind, sent) = (workload?, sent?);
            if request.verb.as_str() == "update" {
                return Some((Action::Apply(sent.to_string().into()), Confidence::Likely));
            }
            kubectl(
                rollout(kind, request, &sent)
                    .or_else(|| set_image(kind, request, &sent))
                    .or_else(|| replicas(kind, request, &sent))
                    .or_else(|| patch(kind, request, &sent))?,
            )
        }
        (_, resource, "") if request.verb.as_str() == "patch" && !request.name.is_empty() => {
            kubectl(patch(resource, request, &sent?)?)
        }
        _ => None,
    }
}

/// A change of a node whose body was not kept, but whose effect was seen.
fn cordon_seen(node: Symbol, when: Bounds, timeline: &Timeline<'_>) -> Option<bool> {
    let near = |what: &What| matches!(what, What::NodeSchedulable { .. });
    let (_, seen) = timeline.first_of_node(node, when.earliest, near)?;
    let What::NodeSchedulable { is_schedulable, .. } = seen.what else { return None };
    (seen.when.earliest <= when.latest.later(SimDuration::from_secs(1))).then_some(!is_schedulable)
}

fn rollout(kind: &str, request: &Request, sent: &Value) -> Option<String> {
    let annotations = sent.pointer("/spec/template/metadata/annotations")?.as_object()?;
    let is_only = annotations.len() == 1 && annotations.contains_key(RESTARTED_AT);
    is_only
        .then(|| format!("rollout restart {kind} {}{}", quoted(request.name.as_str()), in_namespace(request.namespace)))
}

/// `set image` sends the names of containers and their images, and nothing else.
fn set_image(kind: &str, request: &Request, sent: &Value) -> Option<String> {
    let spec = sent.pointer("/spec/template/spec")?.as_object()?;
    if spec.keys().any(|key| !matches!(key.as_str(), "containers" | "$setElementOrder/containers")) {
        return None;
    }
    let containers = spec.get("containers")?.as_array()?;
    let images: Option<Vec<String>> = containers
        .iter()
        .map(|container| {
            let fields = container.as_object().filter(|fields| fields.len() == 2)?;
            Some(quoted(&format!("{}={}", fields.get("name")?.as_str()?, fields.get("image")?.as_str()?)))
        })
        .collect();
    let images = images.filter(|images| !images.is_empty())?.join(" ");
    Some(format!("set image {kind}/{} {images}{}", quoted(request.name.as_str()), in_namespace(request.namespace)))
}

fn replicas(kind: &str, request: &Request, sent: &Value) -> Option<String> {
    let spec = sent.get("spec")?.as_object().filter(|spec| spec.len() == 1)?;
    let replicas = spec.get("replicas")?.as_i64()?;
    Some(format!(
        "scale {kind} {} --replicas={replicas}{}",
        quoted(request.name.as_str()),
        in_namespace(request.namespace)
    ))
}

/// The patch itself: a list of changes is a JSON patch, a map a strategic merge patch.
fn patch(kind: &str, request: &Request, sent: &Value) -> Option<String> {
    let mut sent = sent.clone();
    let form = if sent.is_array() { "json" } else { "strategic" };
    if let Some(annotations) = sent.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    let is_something =
        sent.as_array().is_some_and(|list| !list.is_empty()) || sent.as_object().is_some_and(|map| !map.is_empty());
    is_something.then(|| {
        let (name, namespace) = (quoted(request.name.as_str()), in_namespace(request.namespace));
        format!("patch {kind} {name} --type={form} -p {}{namespace}", quoted(&sent.to_string()))
    })
}

/// Objects of one kind that a line deletes together.
struct Deletion {
    when: Bounds,
    last: Bounds,
    resource: Symbol,
    namespace: Symbol,
    user: Symbol,
    agent: Symbol,
    /// As the body says it.
    flags: String,
    names: Vec<String>,
    evidence: Vec<usize>,
}

impl Deletion {
    fn command(self) -> Command {
        let (names, namespace) = (self.names.join(" "), in_namespace(self.namespace));
        Command {
            when: self.when,
            action: Action::Kubectl(format!("delete {} {names}{namespace}{} --wait=false", self.resource, self.flags)),
            by: Some(self.user),
            confidence: Confidence::Certain,
            reason: format!("delete {} by {}", self.resource, self.agent),
            evidence: self.evidence,
        }
    }
}

fn delete(deletions: &mut Vec<Deletion>, index: usize, when: Bounds, request: &Request) {
    if request.name.is_empty() {
        return;
    }
    let options = body(request).unwrap_or_default();
    let mut flags = String::new();
    match options["gracePeriodSeconds"].as_i64() {
        Some(0) => flags.push_str(" --force --grace-period=0"),
        Some(seconds) => flags.push_str(&format!(" --grace-period={seconds}")),
        None => {}
    }
    match options["propagationPolicy"].as_str() {
        Some("Orphan") => flags.push_str(" --cascade=orphan"),
        Some("Foreground") => flags.push_str(" --cascade=foreground"),
        _ => {}
    }
    let name = quoted(request.name.as_str());
    if let Some(last) = deletions.last_mut()
        && (last.resource, last.namespace, last.user) == (request.resource, request.namespace, request.user)
        && last.flags == flags
        && when.earliest <= last.last.latest.later(ONE_LINE)
    {
        last.last = when;
        last.names.push(name);
        last.evidence.push(index);
        return;
    }
    deletions.push(Deletion {
        when,
        last: when,
        resource: request.resource,
        namespace: request.namespace,
        user: request.user,
        agent: request.agent,
        flags,
        names: vec![name],
        evidence: vec![index],
    });
}
