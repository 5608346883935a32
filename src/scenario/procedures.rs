//! Checks of what operators and their automata are to do.

use std::collections::{BTreeMap, BTreeSet};

use super::at::{At, bad_value};
use super::document::{Node, Value};
use super::inventory::Inventory;
use super::limits::Limits;
use super::resolved::ResolvedScenario;
use super::schema::Spec;
use super::targets::unknown;
use super::workloads;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, nearest};
use crate::model::{ManifestObject, Object};
use crate::procedures::HorizontalPodAutoscalerSpec;
use crate::procedures::cluster_autoscaler::{AutoscalerPlan, EXPANDERS};
use crate::units::{IntOrPercent, SimDuration};

/// Checks node auto-repair.
pub(super) fn check_repair(root: &Node, spec: &Spec, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    let Some(repair) = &spec.node_auto_repair else { return };
    let at = At::root(root).field("spec").field("nodeAutoRepair");
    let place = |field: &str| at.field(field).location();
    for (index, pool) in repair.pools.iter().enumerate() {
        inventory.check_pool(at.field("pools").index(index).location(), *pool, diagnostics);
    }
    for (field, limit) in [("maxConcurrent", repair.max_concurrent), ("maxUnhealthy", repair.max_unhealthy)] {
        let (IntOrPercent::Int(number) | IntOrPercent::Percent(number)) = limit;
        let is_none = number <= 0;
        let is_all_and_more = matches!(limit, IntOrPercent::Percent(101..));
        if is_none || is_all_and_more {
            let message = format!("`{field}` is {limit}");
            let label = if is_none { "nothing would be repaired" } else { "more than all nodes" };
            let help = "write a count such as `1`, or a percentage such as `40%`";
            diagnostics.push(bad_value(message, place(field), label, help));
        }
    }
    if repair.unhealthy_for < REPAIR_WAIT_MIN {
        let message = format!("an `unhealthyFor` of {} replaces nodes that only boot", repair.unhealthy_for);
        let help = format!("give at least {REPAIR_WAIT_MIN}; GKE and AKS wait ten minutes");
        diagnostics.push(bad_value(message, place("unhealthyFor"), "", &help));
    }
}

/// Checks autoscalers of workloads and their loads.
pub(super) fn check_workload_autoscalers(
    root: &Node,
    spec: &Spec,
    scenario: &ResolvedScenario,
    diagnostics: &mut Diagnostics,
) {
    let known: BTreeSet<String> = scenario.objects.iter().filter_map(workloads::path_of).collect();
    let mut first_places: BTreeMap<&str, Location> = BTreeMap::new();
    for (index, autoscaler) in spec.horizontal_pod_autoscalers.iter().enumerate() {
        let at = At::root(root).field("spec").field("horizontalPodAutoscalers").index(index);
        let place = at.field("target").location();
        if autoscaler.target_parts().is_none() {
            let message = format!("`{}` does not name a workload that can be scaled", autoscaler.target);
            let help = "write `deployment/<namespace>/<name>`, or `statefulset/…`, `replicaset/…`";
            diagnostics.push(bad_value(message, place.clone(), "", help));
        } else if !known.contains(&autoscaler.target) {
            let names = known.iter().map(String::as_str);
            let diagnostic = unknown("workload", &autoscaler.target, names);
            diagnostics.push(diagnostic.at(place.clone(), "not in the manifests"));
        }
        if let Some(first) = first_places.insert(&autoscaler.target, place.clone()) {
            let message = format!("two autoscalers scale `{}`", autoscaler.target);
            diagnostics.push(
                Diagnostic::error("scenario::duplicate_name", message)
                    .at(place, "again here")
                    .at(first, "first here")
                    .help("remove one of the two"),
            );
        }
        check_follower(at, autoscaler, scenario, diagnostics);
        check_workload_autoscaler(at, autoscaler, scenario.limits, diagnostics);
    }
}

/// Who follows the load is said once: here, or by an object.
fn check_follower(
    at: At<'_>,
    autoscaler: &HorizontalPodAutoscalerSpec,
    scenario: &ResolvedScenario,
    diagnostics: &mut Diagnostics,
) {
    let Some((kind, namespace, name)) = autoscaler.target_parts() else { return };
    let scales = |object: &&ManifestObject| {
        matches!(&object.object, Object::HorizontalPodAutoscaler(object) if object.metadata.namespace == namespace
            && object.spec.scale_target_ref.kind == kind.as_str()
            && object.spec.scale_target_ref.name == name)
    };
    let object = scenario.objects.iter().find(scales);
    let place = |field: &str| at.field(field).location();
    let said = [
        ("minReplicas", autoscaler.min_replicas.is_some()),
        ("maxReplicas", autoscaler.max_replicas.is_some()),
        ("targetUtilization", autoscaler.target_utilization.is_some()),
    ];
    match object {
        Some(object) => {
            for (field, _) in said.into_iter().filter(|(_, is_said)| *is_said) {
                let message = format!("`{field}` of `{}` is said twice", autoscaler.target);
                diagnostics.push(
                    Diagnostic::error("scenario::duplicate_name", message)
                        .at(place(field), "here")
                        .at(object.source.clone(), "and by this HorizontalPodAutoscaler")
                        .help("take it out here: the object scales the workload, the scenario gives the load alone"),
                );
            }
        }
        None if autoscaler.max_replicas.is_some() != autoscaler.target_utilization.is_some() => {
            let missing = if autoscaler.max_replicas.is_some() { "targetUtilization" } else { "maxReplicas" };
            let help = "write both, or neither if an object or a line of the timeline scales the workload";
            let message = format!("`{missing}` is missing");
            diagnostics.push(bad_value(message, place("target"), "", help));
        }
        None if autoscaler.max_replicas.is_none()
            && !scenario.kubectl.lines.iter().any(|line| line.autoscales(kind, namespace, name)) =>
        {
            let message = format!("nothing scales `{}` by its load yet", autoscaler.target);
            diagnostics.push(Diagnostic::warning("scenario::bad_value", message).at(place("target"), "").help(
                "add `maxReplicas` and `targetUtilization`, a HorizontalPodAutoscaler to the manifests, or a line \
                     `kubectl autoscale` to the timeline",
            ));
        }
        None => {}
    }
}

fn check_workload_autoscaler(
    at: At<'_>,
    autoscaler: &HorizontalPodAutoscalerSpec,
    limits: Limits,
    diagnostics: &mut Diagnostics,
) {
    let place = |field: &str| at.field(field).location();
    let (min, max) = (autoscaler.min_replicas.unwrap_or(1), autoscaler.max_replicas);
    if min < 1 {
        let help = "at least one replica stays, as there would be nothing to measure";
        diagnostics.push(bad_value(format!("`minReplicas` is {min}"), place("minReplicas"), "", help));
    }
    if let Some(max) = max.filter(|max| min > *max) {
        let message = format!("`minReplicas` is {min}, more than `maxReplicas`, which is {max}");
        let help = "the workload is kept between both";
        diagnostics.push(bad_value(message, place("maxReplicas"), "less than the fewest", help));
    }
    if let Some(refusal) = max.and_then(|max| limits.refusal(max.max(0).unsigned_abs().into())) {
        diagnostics.push(refusal.at(place("maxReplicas"), ""));
    }
    if autoscaler.target_utilization == Some(0) {
        let help = "write a percentage of what a pod requests, such as `60`";
        diagnostics.push(bad_value("a target of 0 % can never be met", place("targetUtilization"), "", help));
    }
    if !(autoscaler.per_replica.is_finite() && autoscaler.per_replica > 0.0) {
        let message = format!("a replica that carries {} can carry nothing", autoscaler.per_replica);
        let help = "write the load under which a pod uses all that it requests, such as `100`";
        diagnostics.push(bad_value(message, place("perReplica"), "", help));
    }
    if autoscaler.load.is_empty() {
        let help = "add points: `load: [{at: 0s, load: 300}, {at: 10m, load: 1500}]`";
        diagnostics.push(bad_value("the load is not said", place("load"), "", help));
    }
    for (index, point) in autoscaler.load.iter().enumerate() {
        let point_at = at.field("load").index(index);
        if !(point.load.is_finite() && point.load >= 0.0) {
            let help = "a load is a number of at least 0";
            diagnostics.push(bad_value(
                format!("a load of {}", point.load),
                point_at.field("load").location(),
                "",
                help,
            ));
        }
        let before = index.checked_sub(1).map(|before| autoscaler.load[before].at);
        if before.is_some_and(|before| before > point.at) {
            let help = "write the points in order of time; two of one instant are a jump";
            let message = format!("{} lies before the point above", point.at);
            diagnostics.push(bad_value(message, point_at.field("at").location(), "", help));
        }
    }
}

/// The shortest time after which a node can be called unhealthy.
const REPAIR_WAIT_MIN: SimDuration = SimDuration::from_secs(10);

/// The shortest time between two looks of the autoscaler that it could keep up with.
const SCAN_INTERVAL_MIN: SimDuration = SimDuration::from_secs(1);

/// Checks what cluster-autoscaler is configured with.
pub(super) fn check_autoscaler(
    root: &Node,
    spec: &Spec,
    scenario: &ResolvedScenario,
    inventory: &Inventory,
    diagnostics: &mut Diagnostics,
) {
    let (Some(written), Some(plan)) = (&spec.cluster_autoscaler, &scenario.procedures.autoscaler) else { return };
    let pools_at = At::root(root).field("spec").field("clusterAutoscaler").field("pools");
    let mut first_places: BTreeMap<Symbol, Location> = BTreeMap::new();
    for (index, pool) in written.pools.iter().enumerate() {
        let place = |field: &str| pools_at.index(index).field(field).location();
        inventory.check_pool(place("name"), pool.name, diagnostics);
        if let Some(first) = first_places.insert(pool.name, place("name")) {
            let message = format!("pool `{}` is listed twice", pool.name);
            diagnostics.push(
                Diagnostic::error("scenario::duplicate_name", message)
                    .at(place("name"), "again here")
                    .at(first, "first here")
                    .help("remove one of the two"),
            );
        }
        if pool.min > pool.max {
            let message = format!("`min` is {}, more than `max`, which is {}", pool.min, pool.max);
            let help = "the pool is kept between both";
            diagnostics.push(bad_value(message, place("min"), "more than the most", help));
        }
        if u64::from(pool.max) > scenario.limits.nodes() {
            let message = format!("a pool of {} nodes", pool.max);
            let help = scenario.limits.of_nodes_in_words();
            let diagnostic = Diagnostic::error("scenario::too_many", message);
            diagnostics.push(diagnostic.at(place("max"), "").help(help));
        }
        let known = scenario.pools.iter().find(|known| known.name == pool.name);
        if let Some(known) = known.filter(|known| pool.min <= pool.max && !(pool.min..=pool.max).contains(&known.count))
        {
            let message = format!("pool `{}` has {} nodes at first", pool.name, known.count);
            let label = if known.count < pool.min { "less than the fewest" } else { "more than the most" };
            let field = if known.count < pool.min { "min" } else { "max" };
            let help =
                "cluster-autoscaler does not correct that: it adds for waiting pods and removes what is unneeded";
            let diagnostic = Diagnostic::warning("scenario::outside_limits", message);
            diagnostics.push(diagnostic.at(place(field), label).help(help));
        }
    }
    // Pools that have been taken out have been reported.
    let is_reported =
        pools_at.node().is_some_and(|list| matches!(&list.value, Value::List(items) if !items.is_empty()));
    if written.pools.is_empty() && !is_reported {
        let message = "cluster-autoscaler has no pool to change";
        let help = "add `pools: [{name: worker, min: 1, max: 10}]`";
        diagnostics.push(bad_value(message, pools_at.location(), "", help));
    }
    check_autoscaler_flags(root, plan, diagnostics);
}

fn check_autoscaler_flags(root: &Node, plan: &AutoscalerPlan, diagnostics: &mut Diagnostics) {
    let flags_at = At::root(root).field("spec").field("clusterAutoscaler").field("flags");
    let place = |flag: &str| flags_at.key(flag).location();
    for expander in plan.flags.expander.iter().filter(|name| !EXPANDERS.contains(&name.as_str())) {
        let help = match nearest(expander.as_str(), EXPANDERS) {
            Some(nearest) => format!("the nearest is `{nearest}`"),
            None => format!("there are `{}`; `price` and `grpc` cannot be played", EXPANDERS.join("`, `")),
        };
        let message = format!("there is no expander `{expander}`");
        diagnostics
            .push(Diagnostic::error("scenario::unknown_name", message).at(place("expander"), "unknown").help(help));
    }
    if plan.flags.scan_interval < SCAN_INTERVAL_MIN {
        let message = format!("a `scan-interval` of {} leaves no time for anything else", plan.flags.scan_interval);
        let help = format!("give at least {SCAN_INTERVAL_MIN}; the default is 10s");
        diagnostics.push(bad_value(message, place("scan-interval"), "", &help));
    }
    let threshold = plan.flags.scale_down_utilization_threshold;
    if threshold > 1.0 {
        let message = format!("`scale-down-utilization-threshold` is {threshold}");
        let help = "it is a share of what a node can give, from 0 to 1; the default is 0.5";
        diagnostics.push(bad_value(message, place("scale-down-utilization-threshold"), "", help));
    }
}
