//! Requests about nodes.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::super::identity::Epoch;
use super::super::pods::{NodeHistories, NodeState};
use super::kubectl::Lines;
use super::request::{Request, User};
use super::{CLOUD, user_of};
use crate::report::table::{Row, Table, text, whole};

/// A condition's type, and the reasons of the kubelet's Events that it holds, and that it does not.
const PRESSURES: [(&str, &str, &str); 3] = [
    ("MemoryPressure", "NodeHasInsufficientMemory", "NodeHasSufficientMemory"),
    ("DiskPressure", "NodeHasDiskPressure", "NodeHasNoDiskPressure"),
    ("PIDPressure", "NodeHasInsufficientPID", "NodeHasSufficientPID"),
];

/// What is taken to be the same status patch: its Events arrive a little later.
const PATCH_MS: i64 = 1000;

const NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";

/// Conditions that the kubelet posts, in the order in which it does.
const CONDITIONS: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];

pub(super) fn requests<'a>(
    nodes: &NodeHistories<'a>,
    events: &'a Table,
    taints: &'a Table,
    lines: &Lines<'a>,
    epoch: Epoch,
) -> Vec<Request<'a>> {
    let (pressures, taints) = (Pressures::new(events), Taints::new(taints));
    let mut requests = Vec::new();
    for (node, history) in nodes {
        for states in history.windows(2) {
            if states[1].ready == Some("Unknown") && !matches!(states[0].ready, None | Some("Unknown")) {
                let body = silence(node, &states[1], taints.at(node, states[1].at_ms, epoch), epoch);
                let silent = Request::on_node(states[1].at_ms, User::Controller("node-controller"), "update", node);
                requests.push(silent.subresource("status").body(body));
            }
            of_node(node, &states[0], &states[1], events, lines, epoch, &mut requests);
        }
        requests.extend(pressures.alone(node, history).map(|(at_ms, condition, holds)| {
            let posted = posted(condition, holds, at_ms, epoch);
            Request::on_node(at_ms, User::Kubelet(node), "patch", node).subresource("status").body(posted)
        }));
        if let Some(first) = history.first().filter(|first| first.at_ms > 0) {
            requests.push(joined(first.at_ms, node));
        }
    }
    taints.requests(nodes, epoch, &mut requests);
    requests.extend(starts(events, nodes));
    requests
}

fn joined<'a>(at_ms: i64, node: &'a str) -> Request<'a> {
    Request::on_node(at_ms, User::Kubelet(node), "create", node)
}

/// Kubelets that start on nodes that are there: they ask to register them first.
///
/// # Source
/// kubelet, `tryRegisterWithAPIServer`.
fn starts<'a>(events: &'a Table, nodes: &NodeHistories<'a>) -> Vec<Request<'a>> {
    let [time, component, reason, kind, name] =
        ["time_s", "component", "reason", "kind", "name"].map(|name| events.column(name));
    let is_start =
        |row: &Row<'a>| (text(row, component), text(row, reason), text(row, kind)) == ("kubelet", "Starting", "Node");
    let is_there = |node: &str, at_ms: i64| {
        let history = nodes.get(node).map_or(&[][..], Vec::as_slice);
        history.iter().rfind(|state| state.at_ms < at_ms).is_some_and(|state| state.ready.is_some())
    };
    let started = events.rows().filter(is_start).map(|row| (text(row, name), whole(row, time).unwrap_or_default()));
    started.filter(|(node, at_ms)| is_there(node, *at_ms)).map(|(node, at_ms)| joined(at_ms, node).refused()).collect()
}

/// What somebody asked for so that a node changed as it did.
fn of_node<'a>(
    node: &'a str,
    before: &NodeState<'a>,
    after: &NodeState<'a>,
    events: &'a Table,
    lines: &Lines<'a>,
    epoch: Epoch,
    requests: &mut Vec<Request<'a>>,
) {
    let at_ms = after.at_ms;
    match (before.ready, after.ready) {
        (None, Some(_)) => {
            requests.push(joined(at_ms, node));
            return;
        }
        (_, None) => {
            let is_typed = lines.has_deleted_node(node, at_ms);
            let user = if is_typed { User::Admin } else { who_deleted(node, at_ms, events) };
            requests.push(Request::on_node(at_ms, user, "delete", node));
            return;
        }
        (Some(before), Some(ready)) if before != ready && ready != "Unknown" => {
            let posted = posted("Ready", ready == "True", at_ms, epoch);
            requests
                .push(Request::on_node(at_ms, User::Kubelet(node), "patch", node).subresource("status").body(posted));
        }
        (Some(_), Some(_)) => {}
    }
    if before.is_unschedulable != after.is_unschedulable {
        let user = if lines.runs_at(at_ms) { User::Admin } else { AUTOSCALER };
        let value = if after.is_unschedulable { json!(true) } else { Value::Null };
        let patch = json!({"spec": {"unschedulable": value}});
        requests.push(Request::on_node(at_ms, user, "patch", node).body(patch));
    }
}

/// What cordons nodes and is no person.
const AUTOSCALER: User<'static> = User::Program("kube-system", "cluster-autoscaler", "cluster-autoscaler");

/// The cloud's controller tells in an Event that it deletes a node; of the autoscaler's nodes it finds the machine gone, too.
fn who_deleted<'a>(node: &str, at_ms: i64, events: &'a Table) -> User<'a> {
    let [time, component, reason, name] = ["time_s", "component", "reason", "name"].map(|name| events.column(name));
    let told = events.rows().find(|row| {
        let since = at_ms - whole(row, time).unwrap_or_default();
        text(row, reason) == "DeletingNode" && text(row, name) == node && since.abs() <= PATCH_MS
    });
    told.map_or(CLOUD, |row| user_of(text(row, component), ""))
}

/// The status that the node lifecycle controller writes of a node that it has not heard of for too long.
fn silence(node: &str, state: &NodeState<'_>, taints: Value, epoch: Epoch) -> Value {
    let since = epoch.second(state.at_ms);
    let conditions = CONDITIONS.map(|condition| {
        json!({
            "type": condition,
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": since,
        })
    });
    let mut spec = json!({});
    if !taints.is_null() {
        spec["taints"] = taints;
    }
    if state.is_unschedulable {
        spec["unschedulable"] = true.into();
    }
    json!({
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": node},
        "spec": spec,
        "status": {"conditions": conditions},
    })
}

/// The patch in which a kubelet posts that a condition has changed.
fn posted(condition: &str, holds: bool, at_ms: i64, epoch: Epoch) -> Value {
    let reason = match (condition, holds) {
        ("Ready", true) => "KubeletReady",
        ("Ready", false) => "KubeletNotReady",
        ("MemoryPressure", true) => "KubeletHasInsufficientMemory",
        ("MemoryPressure", false) => "KubeletHasSufficientMemory",
        ("DiskPressure", true) => "KubeletHasDiskPressure",
        ("DiskPressure", false) => "KubeletHasNoDiskPressure",
        (_, true) => "KubeletHasInsufficientPID",
        (_, false) => "KubeletHasSufficientPID",
    };
    let order = CONDITIONS.map(|condition| json!({"type": condition}));
    let stamp = epoch.second(at_ms);
    json!({"status": {"$setElementOrder/conditions": order, "conditions": [{
        "type": condition,
        "status": if holds { "True" } else { "False" },
        "reason": reason,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }]}})
}

/// When kubelets told in Events that they have posted a pressure.
struct Pressures<'a>(Vec<(&'a str, i64, &'static str, bool)>);

impl<'a> Pressures<'a> {
    fn new(events: &'a Table) -> Self {
        let column = |name| events.column(name);
        let (time, component, reason, kind, name) =
            (column("time_s"), column("component"), column("reason"), column("kind"), column("name"));
        let told = events.rows().filter(|row| text(row, component) == "kubelet" && text(row, kind) == "Node");
        let of = |row: Row<'a>| {
            let said = text(row, reason);
            let found = PRESSURES.iter().find(|(_, yes, no)| said == *yes || said == *no);
            found.map(|(condition, yes, _)| {
                (text(row, name), whole(row, time).unwrap_or_default(), *condition, said == *yes)
            })
        };
        Self(told.filter_map(of).collect())
    }

    /// Those of a node that did not come with its being heard again.
    fn alone(&self, node: &str, history: &[NodeState<'_>]) -> impl Iterator<Item = (i64, &'static str, bool)> {
        let is_back = |at_ms: i64, holds: bool| {
            let returns = history.iter().filter(|state| state.ready == Some("True"));
            !holds && returns.map(|state| state.at_ms).any(|back| (0..=PATCH_MS).contains(&(at_ms - back)))
        };
        let of = self.0.iter().filter(|(of, at_ms, _, holds)| *of == node && !is_back(*at_ms, *holds));
        of.map(|(_, at_ms, condition, holds)| (*at_ms, *condition, *holds)).collect::<Vec<_>>().into_iter()
    }
}

/// Taints of nodes, all of them each time that a call has changed some.
struct Taints<'a>(Vec<Tainted<'a>>);

/// The taints of a node from a time on.
struct Tainted<'a> {
    at_ms: i64,
    node: &'a str,
    /// Who called; empty at t=0.
    by: &'a str,
    all: Vec<Taint<'a>>,
    /// What it means for the node's network.
    network: Option<bool>,
}

/// Key, effect, value, and when it was added.
type Taint<'a> = (&'a str, &'a str, &'a str, Option<i64>);

impl<'a> Taints<'a> {
    fn new(table: &'a Table) -> Self {
        let [time, node, key, value, effect, change, by] =
            ["time_s", "node", "key", "value", "effect", "change", "by"].map(|name| table.column(name));
        let mut current: FxHashMap<&str, Vec<Taint<'a>>> = FxHashMap::default();
        let mut states: Vec<Tainted<'a>> = Vec::new();
        for row in table.rows() {
            let (at_ms, node, by) = (whole(row, time).unwrap_or_default(), text(row, node), text(row, by));
            let (key, effect, change) = (text(row, key), text(row, effect), text(row, change));
            let all = current.entry(node).or_default();
            let place = all.iter().position(|taint| (taint.0, taint.1) == (key, effect));
            let added = Some(at_ms).filter(|_| change == "added");
            match (place, change) {
                (Some(place), "removed") => {
                    all.remove(place);
                }
                (Some(place), _) => all[place].2 = text(row, value),
                (None, "removed") => {}
                (None, _) => all.push((key, effect, text(row, value), added)),
            }
            let network = (key == NETWORK_UNAVAILABLE).then_some(change != "removed");
            match states.last_mut().filter(|last| (last.at_ms, last.node, last.by) == (at_ms, node, by)) {
                Some(last) => {
                    last.all.clone_from(all);
                    last.network = network.or(last.network);
                }
                None => states.push(Tainted { at_ms, node, by, all: all.clone(), network }),
            }
        }
        Self(states)
    }

    /// Those of a node at a time, as its spec has them.
    fn at(&self, node: &str, at_ms: i64, epoch: Epoch) -> Value {
        let state = self.0.iter().rfind(|state| state.node == node && state.at_ms <= at_ms);
        state.map_or(Value::Null, |state| state.spec(epoch))
    }

    /// The patches that made them, without those that come and go with their node.
    fn requests(self, nodes: &NodeHistories<'a>, epoch: Epoch, requests: &mut Vec<Request<'a>>) {
        let with_its_node = |state: &Tainted<'_>| {
            let history = nodes.get(state.node).map_or(&[][..], Vec::as_slice);
            let is_begin = |index: usize| index == 0 || history[index - 1].ready.is_none();
            let mut moments = history.iter().enumerate().filter(|(_, of)| of.at_ms == state.at_ms);
            moments.any(|(index, of)| of.ready.is_none() || is_begin(index))
        };
        for state in self.0.iter().filter(|state| !state.by.is_empty() && !with_its_node(state)) {
            requests.extend(state.network.map(|holds| network(state, holds, epoch)));
            let patch = json!({"spec": {"taints": state.spec(epoch)}});
            requests
                .push(Request::on_node(state.at_ms, user_of(state.by, state.node), "patch", state.node).body(patch));
        }
    }
}

impl Tainted<'_> {
    /// The list as a whole, which is how it is patched; null if there are none.
    fn spec(&self, epoch: Epoch) -> Value {
        let all = self.all.iter().map(|(key, effect, value, added)| {
            let mut taint = json!({"key": key, "effect": effect});
            if !value.is_empty() {
                taint["value"] = (*value).into();
            }
            if let Some(added) = added.filter(|_| *effect == "NoExecute") {
                taint["timeAdded"] = epoch.second(added).into();
            }
            taint
        });
        if self.all.is_empty() { Value::Null } else { all.collect() }
    }
}

/// The status patch of whoever makes routes, from which such a taint follows at once.
fn network<'a>(tainted: &Tainted<'a>, holds: bool, epoch: Epoch) -> Request<'a> {
    let (status, reason) = if holds { ("True", "NoRouteCreated") } else { ("False", "RouteCreated") };
    let stamp = epoch.second(tainted.at_ms);
    let patch = json!({"status": {"conditions": [{
        "type": "NetworkUnavailable",
        "status": status,
        "reason": reason,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }]}});
    let user = User::Controller("route-controller");
    Request::on_node(tainted.at_ms, user, "patch", tainted.node).subresource("status").body(patch)
}
