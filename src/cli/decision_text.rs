//! Decisions of the scheduler for people: a table of scores, or what keeps a pod from every node and what would help.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table};

use crate::facade::path_of;
use crate::scheduler::{Decision, Nomination, Obstacles, abridged};
use crate::state::{NodeId, PodId, Store};
use crate::units::{counted, noun};

/// Nodes that are named one by one.
const NODES_SHOWN: usize = 30;

/// Pods that are not decided about.
pub(super) fn left_out(reason: &str, pods: &[String]) -> String {
    let names: Vec<&str> = pods.iter().map(String::as_str).collect();
    let verb = noun(names.len(), "is", "are");
    format!("{} {verb} not decided about: {reason}", abridged(&names))
}

/// Nodes that were given a taint.
pub(super) fn tainted(taint: &str, nodes: &[String]) -> String {
    let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let are = noun(names.len(), "is taken to have", "are taken to have");
    format!(
        "{} {are} the taint {taint}:NoSchedule, which follows from the conditions that the input records",
        abridged(&names)
    )
}

/// One decision.
pub(super) fn paragraph(store: &Store, id: PodId, decision: &Decision) -> String {
    let mut text = String::new();
    let name = |node: NodeId| store.node_name(node).as_str();
    match decision.node {
        Some(node) => {
            let _ = writeln!(text, "{} -> {}", path_of(store, id), name(node));
        }
        None => {
            let end = match decision.nomination {
                Nomination::To(node) => format!("waits for room on {}", name(node)),
                Nomination::Kept | Nomination::Cleared => "stays Pending".to_owned(),
            };
            let _ = writeln!(text, "{} {end}", path_of(store, id));
        }
    }
    if let Some(message) = &decision.message {
        let _ = writeln!(text, "  {message}");
    }
    if let Some(devices) = devices(store, id).filter(|_| decision.node.is_some()) {
        let _ = writeln!(text, "  {devices}");
    }
    if let [_, _, ..] = decision.ties.as_slice() {
        let others: Vec<&str> = decision.ties.iter().map(|&node| name(node)).collect();
        let _ = writeln!(text, "  as good as one another: {}", abridged(&others));
    }
    if !decision.scores.is_empty() {
        let _ = writeln!(text, "{}", scores(store, decision));
    }
    if let Nomination::To(node) = decision.nomination {
        let victims: Vec<String> = decision.victims.iter().map(|&victim| path_of(store, victim)).collect();
        let _ = writeln!(text, "  makes room on {} by preempting {}", name(node), victims.join(", "));
    }
    out(store, decision, &mut text);
    if let Some(nearest) = decision.nearest.as_ref().filter(|_| decision.victims.is_empty()) {
        closest(store, nearest, &mut text);
    }
    text
}

/// What a decision leaves out about a pod that claims devices: DynamicResources is not modelled.
pub(super) fn devices(store: &Store, id: PodId) -> Option<&'static str> {
    let claims = store.pod(id)?.spec.resource_claims;
    (!claims.is_none()).then_some(
        "its resourceClaims are not looked at: a node without such a device is out in reality, and the pod waits if none has one",
    )
}

/// Nodes by plugins, the best first, and among equals the one that was chosen.
fn scores(store: &Store, decision: &Decision) -> Table {
    let mut rows: Vec<_> = decision.feasible.iter().zip(&decision.scores).collect();
    rows.sort_by_key(|(node, score)| {
        (std::cmp::Reverse(score.total), decision.node != Some(**node), store.node_name(**node))
    });
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let plugins = decision.scores.first().into_iter().flat_map(|score| &score.by_plugin);
    let mut header = vec![" NODE".to_owned(), "TOTAL".to_owned()];
    header.extend(plugins.map(|(plugin, _)| (*plugin).to_owned()));
    table.set_header(header);
    for (node, score) in rows.iter().take(NODES_SHOWN) {
        let mut row = vec![format!(" {}", store.node_name(**node)), score.total.to_string()];
        row.extend(score.by_plugin.iter().map(|(_, value)| value.to_string()));
        table.add_row(row);
    }
    if rows.len() > NODES_SHOWN {
        table.add_row([format!(" and {} more", rows.len() - NODES_SHOWN)]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Why nodes are out: by reason, each with its nodes.
fn out(store: &Store, decision: &Decision, text: &mut String) {
    let mut by_reason: BTreeMap<(String, &str), Vec<&str>> = BTreeMap::new();
    for (node, rejection) in &decision.filtered {
        let nodes = by_reason.entry((rejection.to_string(), rejection.plugin)).or_default();
        nodes.push(store.node_name(*node).as_str());
    }
    for ((reasons, plugin), mut nodes) in by_reason {
        nodes.sort_unstable();
        let verb = noun(nodes.len(), "is", "are");
        let _ = writeln!(
            text,
            "  {} {verb} out, {reasons} ({plugin}): {}",
            counted(nodes.len(), "node", "nodes"),
            abridged(&nodes)
        );
    }
}

/// The node that lacks least, and what would let the pod in.
fn closest(store: &Store, nearest: &Obstacles, text: &mut String) {
    let _ = writeln!(text, "  the closest is {}; the pod would fit if", store.node_name(nearest.node));
    for remedy in &nearest.remedies {
        let _ = writeln!(text, "    - {remedy}");
    }
}
