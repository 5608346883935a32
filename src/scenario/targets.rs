//! Checks of what faults are aimed at.

use super::document::Node;
use super::validate::Inventory;
use crate::arena::Symbol;
use crate::chaos::{FaultKind, FaultSpec, NodeTarget, PodTarget};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity, nearest};
use crate::model::{LabelSelector, Labels, zone_of};

/// The parts of a fault that both its forms have.
pub(super) struct Fault<'a> {
    /// Where it is written.
    pub(super) path: String,
    pub(super) spec: &'a FaultSpec,
}

/// The highest exit code of a process.
const EXIT_CODE_MAX: i32 = 255;

/// Fields that only the random form has.
const PROCESS_FIELDS: [&str; 4] = ["name", "domain", "timeToFailure", "timeToRepair"];

/// Checks which fields are there, and that what they select exists.
pub(super) fn check(root: &Node, fault: &Fault<'_>, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    check_fields(root, fault, diagnostics);
    check_components(root, fault, diagnostics);
    check_nodes(root, &format!("{}.nodes", fault.path), &fault.spec.nodes, inventory, diagnostics);
    check_amounts(root, fault, diagnostics);
    if fault.spec.kind == FaultKind::GracefulShutdown && !inventory.has_graceful_shutdown() {
        let message = "GracefulShutdown is a plain crash here: the kubelets have no `shutdownGracePeriod`";
        diagnostics.push(
            Diagnostic::warning("scenario::no_grace_period", message)
                .at(root.locate_text(&format!("{}.kind", fault.path)), "no pod is ended before its machine is off")
                .help("add `kubelet: {shutdownGracePeriod: 30s, shutdownGracePeriodCriticalPods: 10s}` under `spec.controlPlane`"),
        );
    }
    if let Some(pods) = &fault.spec.pods {
        check_pods(root, &format!("{}.pods", fault.path), pods, inventory, diagnostics);
    }
}

/// The fields that mean something for a kind, besides `kind`; `true` marks those that must be there.
fn fields_of(kind: FaultKind) -> &'static [(&'static str, bool)] {
    match kind {
        FaultKind::ControlPlaneOutage => &[("components", true), ("for", false)],
        FaultKind::ContainerCrash => &[("pods", true), ("nodes", false), ("exitCode", false)],
        FaultKind::OomKill | FaultKind::PodKill => &[("pods", true), ("nodes", false)],
        FaultKind::InstanceGone => &[("nodes", true)],
        FaultKind::SpotInterruption => &[("nodes", true), ("for", false), ("notice", false), ("drain", false)],
        FaultKind::Reboot => &[("nodes", true), ("boot", false)],
        FaultKind::Crash | FaultKind::GracefulShutdown => &[("nodes", true), ("for", false), ("boot", false)],
        FaultKind::SlowHeartbeats => &[("nodes", true), ("for", false), ("delay", true)],
        FaultKind::MemoryPressure | FaultKind::DiskPressure | FaultKind::PidPressure => {
            &[("nodes", true), ("for", false), ("usage", false)]
        }
        FaultKind::ImagePullFailure => &[("nodes", false), ("images", false), ("for", false)],
        FaultKind::KubeletStop | FaultKind::Partition | FaultKind::NotReady | FaultKind::NetworkUnavailable => {
            &[("nodes", true), ("for", false)]
        }
    }
}

fn check_fields(root: &Node, fault: &Fault<'_>, diagnostics: &mut Diagnostics) {
    let path = super::overrides::parse_path(&fault.path).expect("paths in our own code are well formed");
    let Some(node) = root.find(&path) else { return };
    let super::document::Value::Map(entries) = &node.value else { return };
    let is_process = entries.iter().any(|entry| &*entry.key == "timeToFailure");
    let fields = fields_of(fault.spec.kind);
    let kind = fault.spec.kind.as_str();
    for entry in entries.iter().filter(|entry| !entry.node.is_removed()) {
        let key = &*entry.key;
        let is_known =
            key == "kind" || (is_process && PROCESS_FIELDS.contains(&key)) || fields.iter().any(|field| field.0 == key);
        if !is_known {
            let message = format!("`{key}` means nothing for {kind}");
            let fields: Vec<&str> =
                fields.iter().map(|field| field.0).filter(|field| !is_process || *field != "for").collect();
            diagnostics.push(
                Diagnostic::error("scenario::unknown_field", message)
                    .at(entry.key_location.clone(), "")
                    .help(format!("{kind} has the fields `{}`", fields.join("`, `"))),
            );
        }
    }
    for (field, _) in fields.iter().filter(|field| field.1) {
        let is_there = entries.iter().any(|entry| &*entry.key == *field) || node.has_removed(field);
        // A random process without nodes runs on every node, or takes those of its domain.
        let is_said = *field == "nodes" && is_process;
        if !is_there && !is_said {
            let message = format!("{kind} needs `{field}`");
            let location = root.locate_text(&format!("{}.kind", fault.path));
            let help = match *field {
                "nodes" => {
                    "add `nodes: {names: [...]}`, `{zone: ...}`, `{pool: ...}` or `{selector: ...}`; `{}` means all nodes"
                }
                "pods" => "add `pods: {namespace: ...}`, `{selector: ...}` or `{names: [...]}`",
                "delay" => "add `delay: 30s` or a distribution",
                "components" => "add `components: [kube-controller-manager]` or others of the control plane",
                _ => "add it",
            };
            diagnostics.push(Diagnostic::error("scenario::missing_field", message).at(location, "").help(help));
        }
    }
    let is_repaired = entries.iter().any(|entry| &*entry.key == "timeToRepair") || node.has_removed("timeToRepair");
    if is_process && fault.spec.kind.needs_repair() && !is_repaired {
        let message = format!("`timeToRepair` is missing: {kind} goes on until it is repaired");
        let location = root.locate_text(&format!("{}.kind", fault.path));
        let help = "add `timeToRepair: {lognormal: {median: 10m, p99: 6h}}` or another distribution";
        diagnostics.push(Diagnostic::error("scenario::missing_field", message).at(location, "").help(help));
    }
}

/// Amounts that no process ends with, or that are not what the fault's condition goes by.
fn check_amounts(root: &Node, fault: &Fault<'_>, diagnostics: &mut Diagnostics) {
    if let Some(code) = fault.spec.exit_code.filter(|code| !(0..=EXIT_CODE_MAX).contains(code)) {
        let location = root.locate_text(&format!("{}.exitCode", fault.path));
        let message = format!("no container exits with {code}");
        let diagnostic = Diagnostic::error("scenario::bad_value", message).at(location, "not an exit code");
        diagnostics.push(diagnostic.help(format!("write 0 to {EXIT_CODE_MAX}; 1 if left out")));
    }
    let resource = match fault.spec.kind {
        FaultKind::MemoryPressure => "memory",
        FaultKind::DiskPressure => "ephemeral-storage",
        FaultKind::PidPressure => "pids",
        _ => return,
    };
    const MEASURED: [&str; 3] = ["memory", "ephemeral-storage", "pids"];
    let usage = &fault.spec.usage;
    let place = |field: &str| root.locate_text(&format!("{}.usage{field}", fault.path));
    for (name, _) in usage.iter().filter(|(name, _)| !MEASURED.contains(&name.as_str())) {
        let diagnostic = unknown("resource that kubelets watch", name.as_str(), MEASURED.into_iter());
        diagnostics.push(diagnostic.at(place(&format!("[\"{name}\"]")), "nothing measures it"));
    }
    let is_known = |name: Symbol| MEASURED.contains(&name.as_str());
    if !usage.is_empty() && usage.iter().all(|(name, _)| is_known(name)) && !usage.contains(Symbol::new(resource)) {
        let kind = fault.spec.kind.as_str();
        let message = format!("{kind} with usage of something else than `{resource}`: this alone brings no {kind}");
        diagnostics.push(
            Diagnostic::warning("scenario::no_effect", message)
                .at(place(""), "the kubelet's thresholds decide, each about what is used of its own resource")
                .help(format!("add `{resource}`, or take the kind that goes with what is used")),
        );
    }
}

/// An outage of no process is none.
fn check_components(root: &Node, fault: &Fault<'_>, diagnostics: &mut Diagnostics) {
    let path = format!("{}.components", fault.path);
    // Names that are none are told one by one.
    let node = super::overrides::parse_path(&path).ok().and_then(|path| root.find(&path));
    let is_empty =
        node.is_some_and(|node| matches!(&node.value, super::document::Value::List(items) if items.is_empty()));
    if fault.spec.kind == FaultKind::ControlPlaneOutage && fault.spec.components.is_empty() && is_empty {
        diagnostics.push(
            Diagnostic::error("scenario::missing_field", "this names no component that is down")
                .at(root.locate_text(&path), "")
                .help("name some of `kube-apiserver`, `kube-controller-manager` and `kube-scheduler`"),
        );
    }
}

fn check_nodes(root: &Node, path: &str, target: &NodeTarget, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    let before = diagnostics.len();
    for (index, name) in target.names.iter().enumerate() {
        if !inventory.has_node(Symbol::from(name)) {
            let names = inventory.nodes().map(|node| node.name.as_str());
            let diagnostic = unknown("node", name, names)
                .at(root.locate_text(&format!("{path}.names[{index}]")), "no node has this name");
            diagnostics.push(diagnostic);
        }
    }
    if let Some(zone) = &target.zone
        && !inventory.zones().contains(&Symbol::from(zone))
    {
        let zones = inventory.zones().iter().map(|zone| zone.as_str());
        let diagnostic = unknown("zone", zone, zones).at(root.locate_text(&format!("{path}.zone")), "no node is in it");
        diagnostics.push(diagnostic);
    }
    if let Some(pool) = &target.pool {
        let pools = inventory.pools();
        let is_known = pools.contains(&Symbol::from(pool)) || inventory.nodes().any(|node| in_pool(pool, node.name));
        if !is_known {
            let diagnostic = unknown("node pool", pool, pools.iter().map(|pool| pool.as_str()))
                .at(root.locate_text(&format!("{path}.pool")), "not under `nodePools`");
            diagnostics.push(diagnostic);
        }
    }
    let selector = check_selector(root, path, target.selector.as_deref(), diagnostics);
    check_share(root, path, target.count, target.fraction, diagnostics);
    if diagnostics.len() > before {
        return;
    }
    let is_admitted = |node: &&super::validate::KnownNode| admits(target, selector.as_ref(), node.name, &node.labels);
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
    diagnostics.push(Diagnostic::warning("scenario::selects_nothing", message).at(root.locate_text(path), label));
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

fn check_selector(
    root: &Node,
    path: &str,
    selector: Option<&str>,
    diagnostics: &mut Diagnostics,
) -> Option<LabelSelector> {
    match LabelSelector::parse(selector?) {
        Ok(selector) => Some(selector),
        Err(error) => {
            let location = root.locate_text(&format!("{path}.selector"));
            diagnostics.push(
                Diagnostic::error("scenario::bad_value", error.to_string())
                    .at(location, "not a label selector")
                    .help("write it as for `kubectl -l`: `app=web,tier in (a,b),!canary`"),
            );
            None
        }
    }
}

fn check_pods(root: &Node, path: &str, target: &PodTarget, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    let before = diagnostics.len();
    let selector = check_selector(root, path, target.selector.as_deref(), diagnostics);
    if let Some(namespace) = &target.namespace
        && !inventory.namespaces().contains(&Symbol::from(namespace))
    {
        let names = inventory.namespaces().iter().map(|name| name.as_str());
        let mut diagnostic = unknown("namespace", namespace, names);
        diagnostic.severity = Severity::Warning;
        diagnostics
            .push(diagnostic.at(root.locate_text(&format!("{path}.namespace")), "nothing in the manifests is in it"));
    }
    check_share(root, path, target.count, target.fraction, diagnostics);
    if diagnostics.len() == before && !inventory.has_pods(target.namespace.as_deref(), selector.as_ref()) {
        let diagnostic = Diagnostic::warning("scenario::selects_nothing", "this selects no pod");
        diagnostics.push(diagnostic.at(root.locate_text(path), "no pod and no template of the input meets all of it"));
    }
}

fn check_share(root: &Node, path: &str, count: Option<u32>, fraction: Option<f64>, diagnostics: &mut Diagnostics) {
    if let Some(fraction) = fraction
        && !(0.0..=1.0).contains(&fraction)
    {
        let message = format!("`fraction` is {fraction}, expected 0 to 1");
        let location = root.locate_text(&format!("{path}.fraction"));
        diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(location, ""));
    }
    if count.is_some() && fraction.is_some() {
        let location = root.locate_text(&format!("{path}.fraction"));
        let help = "remove one of the two";
        let message = "both `count` and `fraction` are given";
        diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(location, "").help(help));
    }
}

/// An unknown name, with the nearest one or the first of those there are.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    const LISTED_MAX: usize = 8;
    let diagnostic = Diagnostic::error("scenario::unknown_name", format!("there is no {what} `{name}`"));
    if let Some(nearest) = nearest(name, known.clone()).filter(|nearest| *nearest != name) {
        return diagnostic.help(format!("the nearest is `{nearest}`"));
    }
    let listed: Vec<&str> = known.clone().take(LISTED_MAX).collect();
    if listed.is_empty() {
        return diagnostic.help(format!("there is no {what} at all"));
    }
    let more = if known.count() > LISTED_MAX { ", …" } else { "" };
    diagnostic.help(format!("there are `{}`{more}", listed.join("`, `")))
}
