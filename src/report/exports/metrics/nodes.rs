//! What kube-state-metrics says of nodes.

use std::io;
use std::sync::Arc;

use indexmap::IndexMap;

use super::super::pods::{NODES, NodeState, node_histories};
use super::{Change, STATUSES, Samples};
use crate::report::run_tables::RunTables;
use crate::report::table::{Row, Table, number, text, whole};
use crate::report::tables::TableError;

const TAINTS: &[&str] = &["time_s", "node", "key", "value", "effect", "change"];
const EVENTS: &[&str] = &["time_s", "component", "reason", "kind", "name"];
const INVENTORY: &[&str] =
    &["node", "joined_s", "left_s", "allocatable_cpu_milli", "allocatable_memory_bytes", "allocatable_pods"];

/// Conditions of which a node has all or none, with the reasons of the kubelet's Events that they hold, and that they do not.
const PRESSURES: [(&str, &str, &str); 3] = [
    ("MemoryPressure", "NodeHasInsufficientMemory", "NodeHasSufficientMemory"),
    ("DiskPressure", "NodeHasDiskPressure", "NodeHasNoDiskPressure"),
    ("PIDPressure", "NodeHasInsufficientPID", "NodeHasSufficientPID"),
];

/// The taint that follows from the condition NetworkUnavailable, of which kubelets tell nothing.
const NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";

/// What there is to be read of nodes.
pub(super) struct Read {
    nodes: Arc<Table>,
    taints: Arc<Table>,
    events: Arc<Table>,
    inventory: Arc<Table>,
}

pub(super) fn read(run: &RunTables) -> Result<Read, TableError> {
    let read = |file, columns| run.read(file, columns).map(Arc::clone);
    Ok(Read {
        nodes: read("nodes.csv", NODES)?,
        taints: read("taints.csv", TAINTS)?,
        events: read("events.csv", EVENTS)?,
        inventory: read("inventory.csv", INVENTORY)?,
    })
}

pub(super) fn write(read: &Read, answer: &mut dyn Samples) -> io::Result<()> {
    let nodes = node_histories(&read.nodes);
    for (node, history) in &nodes {
        let labels = [("node", *node)];
        let there = |value: f64| -> Vec<Change> {
            history.iter().map(|state| (state.at_ms, state.ready.map(|_| value))).collect()
        };
        answer.series("kube_node_info", &labels, &there(1.0))?;
        let cordoned: Vec<Change> = history
            .iter()
            .map(|state| (state.at_ms, state.ready.map(|_| f64::from(u8::from(state.is_unschedulable)))))
            .collect();
        answer.series("kube_node_spec_unschedulable", &labels, &cordoned)?;
    }
    let mut flips = pressures(&read.events);
    for (node, history) in &nodes {
        let condition = |name| [("node", *node), ("condition", name)];
        let of = ("status", STATUSES);
        let ready: Vec<(i64, Option<&str>)> =
            history.iter().map(|state| (state.at_ms, state.ready.map(status))).collect();
        answer.one_of("kube_node_status_condition", &condition("Ready"), of, &ready)?;
        for (name, ..) in PRESSURES {
            let flips = flips.swap_remove(&(*node, name)).unwrap_or_default();
            let history = pressure(history, &flips);
            answer.one_of("kube_node_status_condition", &condition(name), of, &history)?;
        }
    }
    taints(&read.taints, answer)?;
    inventory(&read.inventory, answer)
}

/// A condition's status in the words of these metrics.
fn status(ready: &str) -> &'static str {
    match ready {
        "True" => "true",
        "False" => "false",
        _ => "unknown",
    }
}

/// When kubelets said that a pressure holds, or that it does not any more, by node and condition.
fn pressures(events: &Table) -> IndexMap<(&str, &'static str), Vec<(i64, bool)>> {
    let [time, component, reason, kind, name] =
        EVENTS.iter().map(|name| events.column(name)).collect::<Vec<_>>().try_into().expect("as many");
    let mut flips: IndexMap<(&str, &'static str), Vec<(i64, bool)>> = IndexMap::new();
    for row in events.rows().filter(|row| text(row, component) == "kubelet" && text(row, kind) == "Node") {
        let said = text(row, reason);
        for (condition, yes, no) in PRESSURES {
            if said == yes || said == no {
                let flip = (whole(row, time).unwrap_or_default(), said == yes);
                flips.entry((text(row, name), condition)).or_default().push(flip);
            }
        }
    }
    flips
}

/// The history of a pressure: what the kubelet says, and unknown while nobody hears it.
fn pressure<'a>(node: &[NodeState<'_>], flips: &[(i64, bool)]) -> Vec<(i64, Option<&'a str>)> {
    let mut history: Vec<(i64, Option<&str>)> = Vec::new();
    let mut holds = false;
    let mut next = 0;
    for (index, state) in node.iter().enumerate() {
        let until = node.get(index + 1).map_or(i64::MAX, |state| state.at_ms);
        let told = |holds: bool| if holds { "true" } else { "false" };
        let heard = state.ready.map(|ready| status(ready) != "unknown");
        history.push((state.at_ms, heard.map(|is_heard| if is_heard { told(holds) } else { "unknown" })));
        while let Some((at_ms, now)) = flips.get(next).filter(|(at_ms, _)| *at_ms < until) {
            (holds, next) = (*now, next + 1);
            if heard == Some(true) {
                history.push((*at_ms, Some(told(holds))));
            }
        }
    }
    history
}

fn taints(table: &Table, answer: &mut dyn Samples) -> io::Result<()> {
    let [time, node, key, value, effect, change] =
        TAINTS.iter().map(|name| table.column(name)).collect::<Vec<_>>().try_into().expect("as many");
    let mut taints: IndexMap<[&str; 4], Vec<Change>> = IndexMap::new();
    // The value that a taint has, by node, key and effect: another one is another series.
    let mut current: IndexMap<[&str; 3], &str> = IndexMap::new();
    let mut networks: IndexMap<&str, Vec<(i64, Option<&str>)>> = IndexMap::new();
    for row in table.rows() {
        let at_ms = whole(row, time).unwrap_or_default();
        let [node, key, value, effect] = [node, key, value, effect].map(|column| text(row, column));
        let is_there = text(row, change) != "removed";
        if let Some(before) = current.insert([node, key, effect], value).filter(|before| *before != value) {
            taints.entry([node, key, before, effect]).or_default().push((at_ms, None));
        }
        taints.entry([node, key, value, effect]).or_default().push((at_ms, is_there.then_some(1.0)));
        if key == NETWORK_UNAVAILABLE {
            networks.entry(node).or_default().push((at_ms, Some(if is_there { "true" } else { "false" })));
        }
    }
    for ([node, key, value, effect], changes) in &taints {
        let labels = [("node", *node), ("key", *key), ("value", *value), ("effect", *effect)];
        answer.series("kube_node_spec_taint", &labels, changes)?;
    }
    for (node, history) in &networks {
        let labels = [("node", *node), ("condition", "NetworkUnavailable")];
        answer.one_of("kube_node_status_condition", &labels, ("status", STATUSES), history)?;
    }
    Ok(())
}

fn inventory(table: &Table, answer: &mut dyn Samples) -> io::Result<()> {
    let column = |name| table.column(name);
    let (node, joined, left) = (column("node"), column("joined_s"), column("left_s"));
    let amounts = [
        ("cpu", "core", column("allocatable_cpu_milli"), 1000.0),
        ("memory", "byte", column("allocatable_memory_bytes"), 1.0),
        ("pods", "integer", column("allocatable_pods"), 1.0),
    ];
    // A node that joins again under its name goes on with the series of the one before.
    let mut nodes: IndexMap<&str, Vec<(i64, Option<Row<'_>>)>> = IndexMap::new();
    for row in table.rows() {
        let stays = nodes.entry(text(row, node)).or_default();
        stays.push((whole(row, joined).unwrap_or_default(), Some(row)));
        stays.extend(whole(row, left).map(|left| (left, None)));
    }
    let epoch = answer.epoch();
    for (node, stays) in &nodes {
        let changes = |of: &dyn Fn(&Row<'_>) -> Option<f64>| -> Vec<Change> {
            stays.iter().map(|(at_ms, row)| (*at_ms, row.as_ref().and_then(of))).collect()
        };
        let created = |row: &Row<'_>| {
            // When those were created that the run began with, tables do not say.
            let joined = whole(row, joined).filter(|joined| *joined > 0)?;
            Some(epoch.unix_millis(joined).div_euclid(1000) as f64)
        };
        let created = changes(&created);
        answer.series("kube_node_created", &[("node", node)], &created)?;
        for (resource, unit, column, scale) in amounts {
            let changes = changes(&|row| Some(number(row, column) / scale));
            let labels = [("node", *node), ("resource", resource), ("unit", unit)];
            answer.series("kube_node_status_allocatable", &labels, &changes)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{answer, samples};

    #[test]
    fn series_of_taints_and_nodes_end_with_them() {
        let nodes = "0.000,a,True,false\n100.000,a,Absent,false\n";
        let taints = "0.000,a,dedicated,gpu,NoSchedule,present\n30.000,a,dedicated,cpu,NoSchedule,modified\n\
                      40.000,a,node.kubernetes.io/unreachable,,NoExecute,added\n\
                      70.000,a,node.kubernetes.io/unreachable,,NoExecute,removed\n\
                      100.000,a,dedicated,cpu,NoSchedule,removed\n";
        let inventory = "a,0.000,100.000,3500,1024,110\nb,60.000,,1000,1,1\n";
        let found = answer(30, &[("nodes.csv", nodes), ("taints.csv", taints), ("inventory.csv", inventory)]);
        let taint = |key: &str, value: Option<&str>, effect: &str| {
            let mut labels = json!({"__name__": "kube_node_spec_taint", "node": "a", "key": key, "effect": effect});
            if let Some(value) = value {
                labels["value"] = value.into();
            }
            samples(&found, labels)
        };
        assert_eq!(taint("dedicated", Some("gpu"), "NoSchedule"), "30=1");
        assert_eq!(taint("dedicated", Some("cpu"), "NoSchedule"), "60=1 90=1");
        assert_eq!(taint("node.kubernetes.io/unreachable", None, "NoExecute"), "60=1");
        assert_eq!(samples(&found, json!({"__name__": "kube_node_info", "node": "a"})), "30=1 60=1 90=1");
        let cores = json!({"__name__": "kube_node_status_allocatable", "node": "a", "resource": "cpu", "unit": "core"});
        assert_eq!(samples(&found, cores), "30=3.5 60=3.5 90=3.5");
        let joined = samples(&found, json!({"__name__": "kube_node_created", "node": "b"}));
        assert!(joined.starts_with("90=70 120=70"), "{joined}");
    }

    #[test]
    fn a_pressure_is_unknown_while_nobody_hears_the_kubelet() {
        let nodes = "0.000,a,True,false\n100.000,a,Unknown,false\n160.000,a,True,false\n";
        let events = "45.000,kubelet,NodeHasDiskPressure,Node,,a\n75.000,kubelet,NodeHasNoDiskPressure,Node,,a\n";
        let found = answer(30, &[("nodes.csv", nodes), ("events.csv", events)]);
        let disk = |status: &str| {
            let labels = json!({"__name__": "kube_node_status_condition", "node": "a", "condition": "DiskPressure", "status": status});
            samples(&found, labels)
        };
        assert_eq!(disk("true"), "30=0 60=1 90=0 120=0 150=0 180=0 210=0 240=0");
        assert_eq!(disk("unknown"), "30=0 60=0 90=0 120=1 150=1 180=0 210=0 240=0");
    }
}
