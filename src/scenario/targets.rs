//! Checks of what faults are aimed at.

use super::at::At;
use super::document::Value;
use super::inventory::Inventory;
use crate::arena::Symbol;
use crate::chaos::{Check, FaultSpec, NodeTarget, PROCESS_FIELDS, PodTarget, Target};
use crate::component::Config;
pub(super) use crate::diagnostics::unknown_name as unknown;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::model::{LabelSelector, Labels, zone_of};

/// The parts of a fault that both its forms have.
pub(super) struct Fault<'a> {
    /// Where it is written.
    pub(super) at: At<'a>,
    pub(super) spec: &'a FaultSpec,
}

/// Checks which fields are there, and that what they select exists.
pub(super) fn check(fault: &Fault<'_>, config: &Config, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    let Fault { at, spec } = fault;
    check_fields(fault, diagnostics);
    check_nodes(at.field("nodes"), &spec.nodes, inventory, diagnostics);
    let is_empty = |field: &str| {
        at.field(field).node().is_some_and(|node| match &node.value {
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            _ => false,
        })
    };
    spec.fault.check(&mut Check {
        config,
        place: &|field| at.written(field).location(),
        is_empty: &is_empty,
        diagnostics,
    });
    if let Target::Pods(pods) = spec.fault.target()
        && at.field("pods").node().is_some()
    {
        check_pods(at.field("pods"), pods, inventory, diagnostics);
    }
}

fn check_fields(fault: &Fault<'_>, diagnostics: &mut Diagnostics) {
    let Some(node) = fault.at.node() else { return };
    let Value::Map(entries) = &node.value else { return };
    let is_there = |field: &str| entries.iter().any(|entry| &*entry.key == field);
    let is_process = is_there("timeToFailure");
    let kind = fault.spec.kind();
    let (fields, kind_name) = (kind.fields(), kind.as_str());
    for entry in entries.iter().filter(|entry| !entry.node.is_removed()) {
        let key = &*entry.key;
        let is_known = key == "kind"
            || (is_process && PROCESS_FIELDS.contains(&key))
            || fields.iter().any(|field| field.name == key);
        if !is_known {
            let message = format!("`{key}` means nothing for {kind_name}");
            let fields: Vec<&str> =
                fields.iter().map(|field| field.name).filter(|field| !is_process || *field != "for").collect();
            diagnostics.push(
                Diagnostic::error("scenario::unknown_field", message)
                    .at(entry.key_location.clone(), "")
                    .help(format!("{kind_name} has the fields `{}`", fields.join("`, `"))),
            );
        }
    }
    let at_kind = fault.at.field("kind").location();
    for field in fields {
        let Some(help) = field.needed else { continue };
        // A random process without nodes runs on every node, or takes those of its domain.
        let is_said = field.name == "nodes" && is_process;
        if !is_there(field.name) && !node.has_removed(field.name) && !is_said {
            let message = format!("{kind_name} needs `{}`", field.name);
            diagnostics.push(Diagnostic::error("scenario::missing_field", message).at(at_kind.clone(), "").help(help));
        }
    }
    let is_repaired = is_there("timeToRepair") || node.has_removed("timeToRepair");
    if is_process && kind.course().needs_repair() && !is_repaired {
        let message = format!("`timeToRepair` is missing: {kind_name} goes on until it is repaired");
        let help = "add `timeToRepair: {lognormal: {median: 10m, p99: 6h}}` or another distribution";
        diagnostics.push(Diagnostic::error("scenario::missing_field", message).at(at_kind, "").help(help));
    }
}

fn check_nodes(at: At<'_>, target: &NodeTarget, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    let before = diagnostics.len();
    for (index, name) in target.names.iter().enumerate() {
        if !inventory.has_node(Symbol::from(name)) {
            let names = inventory.nodes().map(|node| node.name.as_str());
            let diagnostic =
                unknown("node", name, names).at(at.field("names").index(index).location(), "no node has this name");
            diagnostics.push(diagnostic);
        }
    }
    if let Some(zone) = &target.zone
        && !inventory.zones().contains(&Symbol::from(zone))
    {
        let zones = inventory.zones().iter().map(|zone| zone.as_str());
        let diagnostic = unknown("zone", zone, zones).at(at.field("zone").location(), "no node is in it");
        diagnostics.push(diagnostic);
    }
    if let Some(pool) = &target.pool {
        let pools = inventory.pools();
        let is_known = pools.contains(&Symbol::from(pool)) || inventory.nodes().any(|node| in_pool(pool, node.name));
        if !is_known {
            let diagnostic = unknown("node pool", pool, pools.iter().map(|pool| pool.as_str()))
                .at(at.field("pool").location(), "not under `nodePools`");
            diagnostics.push(diagnostic);
        }
    }
    let selector = check_selector(at, target.selector.as_deref(), diagnostics);
    check_share(at, target.count, target.fraction, diagnostics);
    if diagnostics.len() > before {
        return;
    }
    let is_admitted = |node: &&super::inventory::KnownNode| admits(target, selector.as_ref(), node.name, &node.labels);
    let admitted = inventory.nodes().filter(is_admitted).count();
    let (message, label) = if admitted == 0 {
        ("this selects no node".to_owned(), "no node meets all of it")
    } else if target.count.is_some_and(|count| count as usize > admitted) {
        let count = target.count.unwrap_or_default();
        (format!("{count} nodes are asked for, {admitted} can be chosen"), "all of them are taken")
    } else if target.count == Some(0) || target.fraction == Some(0.0) {
        ("this selects no node".to_owned(), "none of them is taken")
    } else {
        return;
    };
    diagnostics.push(Diagnostic::warning("scenario::selects_nothing", message).at(at.location(), label));
}

/// Whether a node can be chosen; `count` and `fraction` are not looked at.
pub(super) fn admits(target: &NodeTarget, selector: Option<&LabelSelector>, name: Symbol, labels: &Labels) -> bool {
    let zone = || zone_of(labels);
    (target.names.is_empty() || target.names.iter().any(|wanted| name == wanted.as_str()))
        && target.zone.as_ref().is_none_or(|wanted| zone().is_some_and(|zone| zone == wanted.as_str()))
        && target.pool.as_ref().is_none_or(|pool| in_pool(pool, name))
        && selector.is_none_or(|selector| selector.matches(labels))
}

fn in_pool(pool: &str, name: Symbol) -> bool {
    let number = name.as_str().strip_prefix(pool).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

fn check_selector(at: At<'_>, selector: Option<&str>, diagnostics: &mut Diagnostics) -> Option<LabelSelector> {
    match LabelSelector::parse(selector?) {
        Ok(selector) => Some(selector),
        Err(error) => {
            let location = at.field("selector").location();
            diagnostics.push(
                Diagnostic::error("scenario::bad_value", error.to_string())
                    .at(location, "not a label selector")
                    .help("write it as for `kubectl -l`: `app=web,tier in (a,b),!canary`"),
            );
            None
        }
    }
}

fn check_pods(at: At<'_>, target: &PodTarget, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    let before = diagnostics.len();
    let selector = check_selector(at, target.selector.as_deref(), diagnostics);
    if let Some(namespace) = &target.namespace
        && !inventory.namespaces().contains(&Symbol::from(namespace))
    {
        let names = inventory.namespaces().iter().map(|name| name.as_str());
        let mut diagnostic = unknown("namespace", namespace, names);
        diagnostic.severity = Severity::Warning;
        diagnostics.push(diagnostic.at(at.field("namespace").location(), "nothing in the manifests is in it"));
    }
    check_share(at, target.count, target.fraction, diagnostics);
    if diagnostics.len() > before {
        return;
    }
    let label = if !inventory.has_pods(target.namespace.as_deref(), selector.as_ref()) {
        "no pod and no template of the input meets all of it"
    } else if target.count == Some(0) || target.fraction == Some(0.0) {
        "none of them is taken"
    } else {
        return;
    };
    let diagnostic = Diagnostic::warning("scenario::selects_nothing", "this selects no pod");
    diagnostics.push(diagnostic.at(at.location(), label));
}

fn check_share(at: At<'_>, count: Option<u32>, fraction: Option<f64>, diagnostics: &mut Diagnostics) {
    if let Some(fraction) = fraction
        && !(0.0..=1.0).contains(&fraction)
    {
        let message = format!("`fraction` is {fraction}, expected 0 to 1");
        let location = at.field("fraction").location();
        diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(location, ""));
    }
    if count.is_some() && fraction.is_some() {
        let location = at.field("fraction").location();
        let help = "remove one of the two";
        let message = "both `count` and `fraction` are given";
        diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(location, "").help(help));
    }
}
