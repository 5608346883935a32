//! A first scenario for a cluster: what suits its zones, nodes, budgets and workloads, with comments on what else could happen.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::arena::{Symbol, sym};
use crate::model::{
    Node, Object, PodDisruptionBudget, Taint, TaintEffect, ZONE_LABEL, has_control_plane_role, is_control_plane_role,
    zone_of,
};
use crate::scenario::{API_VERSION, ResolvedScenario, pod_template};
use crate::units::{Quantity, counted};

/// Workloads that are given an objective.
const OBJECTIVES_MAX: usize = 3;
/// Budgets that a comment names.
const BUDGETS_NAMED_MAX: usize = 3;
/// Pods without a node that a comment names.
const HOMELESS_NAMED_MAX: usize = 5;

/// How the scenario is called, and what its cluster is read from.
#[derive(Clone, Debug)]
pub struct FirstScenario {
    /// `metadata.name`.
    pub name: String,
    /// Files, directories and globs, relative to the scenario.
    pub manifests: Vec<String>,
    /// A pool of so many nodes, because no manifest has any.
    pub pool: Option<u32>,
}

/// What is known of the cluster once it has been brought to t=0.
#[derive(Clone, Debug, Default)]
pub struct AtStart {
    /// Workloads as runs count them, pods without an owner among them.
    pub workloads: usize,
    /// Pods that have no node by then, as `NAMESPACE/NAME`.
    pub homeless: Vec<String>,
    /// How many pods each node bears.
    pub pods_on: BTreeMap<Symbol, usize>,
}

/// What of a cluster decides what can happen to it.
struct Cluster<'a> {
    at_start: &'a AtStart,
    /// Those that run what users run.
    nodes: Vec<&'a Node>,
    /// How many others there are.
    others_count: usize,
    /// Zones with the number of their nodes, the largest first.
    zones: Vec<(Symbol, usize)>,
    /// Deployments and StatefulSets of users as `kind/namespace/name`, with their replicas, the largest first.
    workloads: Vec<(String, i32)>,
    /// ` outside kube-system`, if there are such workloads in it, too.
    beside: &'static str,
    /// Those that cover a pod.
    budgets: Vec<String>,
}

impl<'a> Cluster<'a> {
    fn of(scenario: &'a ResolvedScenario, at_start: &'a AtStart) -> Self {
        let objects = || scenario.objects.iter().map(|object| &object.object);
        let all = objects().filter_map(|object| if let Object::Node(node) = object { Some(&**node) } else { None });
        let (others, mut nodes): (Vec<&Node>, Vec<&Node>) = all.partition(|node| is_for_the_control_plane(node));
        let mut others_count = others.len();
        if nodes.is_empty() {
            (nodes, others_count) = (others, 0);
        }
        let mut zones: Vec<(Symbol, usize)> = Vec::new();
        for zone in nodes.iter().filter_map(|node| zone_of(&node.metadata.labels)) {
            match zones.iter_mut().find(|(known, _)| *known == zone) {
                Some((_, count)) => *count += 1,
                None => zones.push((zone, 1)),
            }
        }
        let healthy = |zone: Symbol| {
            let of_zone = nodes.iter().filter(|node| zone_of(&node.metadata.labels) == Some(zone));
            of_zone.filter(|node| is_healthy(node)).count()
        };
        zones.sort_by_cached_key(|(zone, count)| (Reverse(healthy(*zone)), Reverse(*count), *zone));
        let (system, mut workloads): (Vec<_>, Vec<(String, i32)>) =
            objects().filter_map(workload).partition(|(name, _)| name.split('/').nth(1) == Some("kube-system"));
        let beside = if system.is_empty() { "" } else { " outside kube-system" };
        workloads.sort_by_key(|(name, replicas)| (Reverse(*replicas), name.clone()));
        let budgets = objects().filter_map(|object| match object {
            Object::PodDisruptionBudget(budget) if objects().any(|object| covers(budget, object)) => {
                Some(format!("{}/{}", budget.metadata.namespace, budget.metadata.name))
            }
            _ => None,
        });
        Self { at_start, budgets: budgets.collect(), zones, workloads, beside, nodes, others_count }
    }

    /// The node with the most CPU for pods of those that are Ready, or of all if none is; of several, the one that bears most pods.
    fn biggest_node(&self) -> Option<&'a Node> {
        let cpu = |node: &&Node| node.status.allocatable.get(sym!("cpu")).copied().unwrap_or_else(Quantity::default);
        let pods = |node: &&Node| self.at_start.pods_on.get(&node.metadata.name).copied().unwrap_or(0);
        let key = |node: &&Node| (!is_healthy(node), Reverse(cpu(node)), Reverse(pods(node)), node.metadata.name);
        self.nodes.iter().copied().min_by_key(key)
    }
}

/// Whether a node bears the control plane and is kept for it: servers of small clusters run all that there is.
fn is_for_the_control_plane(node: &Node) -> bool {
    let keeps_off =
        |taint: &Taint| taint.effect != TaintEffect::PreferNoSchedule && is_control_plane_role(taint.key.as_str());
    has_control_plane_role(&node.metadata.labels) && node.spec.taints.iter().any(keeps_off)
}

/// Whether a node takes pods and is Ready, as far as the input says: what happens to another hurts nobody.
fn is_healthy(node: &Node) -> bool {
    !node.spec.unschedulable && !node.status.is_not_ready()
}

/// Whether a budget covers an object that is a pod, or pods that it makes.
fn covers(budget: &PodDisruptionBudget, object: &Object) -> bool {
    let labels = match object {
        Object::Pod(pod) if pod.status.phase.is_terminal() => return false,
        Object::Pod(pod) => &pod.metadata.labels,
        other => match pod_template(other) {
            Some(template) => &template.metadata.labels,
            None => return false,
        },
    };
    object.metadata().namespace == budget.metadata.namespace
        && budget.spec.selector.as_ref().is_some_and(|selector| selector.matches(labels))
}

/// A Deployment or StatefulSet with its replicas.
fn workload(object: &Object) -> Option<(String, i32)> {
    let (kind, replicas) = match object {
        Object::Deployment(deployment) => ("deployment", deployment.spec.replicas),
        Object::StatefulSet(set) => ("statefulset", set.spec.replicas),
        _ => return None,
    };
    let metadata = object.metadata();
    Some((format!("{kind}/{}/{}", metadata.namespace, metadata.name), replicas.unwrap_or(1)))
}

/// Text as a YAML document has it, in quotes where it could mean something else.
fn quoted(text: &str) -> String {
    let is_path = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
    let is_plain = (is_path || text.starts_with(|c: char| c.is_ascii_alphabetic()))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        && !["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { serde_json::to_string(text).expect("text is plain data") }
}

/// The document, for a cluster that was read from what it names.
#[must_use]
pub fn first_scenario(asked: &FirstScenario, scenario: &ResolvedScenario, at_start: &AtStart) -> String {
    let cluster = Cluster::of(scenario, at_start);
    let mut text = String::new();
    head(&mut text, asked, &cluster);
    timeline(&mut text, &cluster);
    faults(&mut text, &cluster);
    goals(&mut text, &cluster);
    text
}

/// The same with nothing but the cluster: what is read to know it.
#[must_use]
pub fn cluster_alone(asked: &FirstScenario) -> String {
    let mut text = String::new();
    opening(&mut text, asked);
    text
}

fn head(text: &mut String, asked: &FirstScenario, cluster: &Cluster<'_>) {
    let zones = match cluster.zones.len() {
        0 => "no zones".to_owned(),
        count => counted(count, "zone", "zones"),
    };
    let _ = writeln!(
        text,
        "# A first scenario for {}, {} and {}.",
        counted(cluster.nodes.len(), "worker node", "worker nodes"),
        zones,
        counted(cluster.at_start.workloads, "workload", "workloads"),
    );
    let _ = writeln!(
        text,
        "# Play it with `kubesquall run`, and change what happens below: one storm at a time tells most."
    );
    opening(text, asked);
    let _ = writeln!(text, "  # controlPlane:");
    let _ = writeln!(text, "  #   kubernetesVersion: \"1.36\"");
    let _ = writeln!(
        text,
        "  #   kubeApiserver: {{default-not-ready-toleration-seconds: 300, default-unreachable-toleration-seconds: 300}}"
    );
    let _ = writeln!(text, "  # latency:                    # how long your pods take to start, if you know it");
    let _ = writeln!(text, "  #   podStart: {{lognormal: {{median: 2s, p99: 12s}}}}");
    let _ = writeln!(text, "  #   podReady: {{constant: 10s}}");
}

fn opening(text: &mut String, asked: &FirstScenario) {
    let _ = writeln!(text, "apiVersion: {API_VERSION}\nkind: Scenario\nmetadata:\n  name: {}", quoted(&asked.name));
    let _ = writeln!(text, "spec:\n  duration: 45m\n  cluster:\n    manifests:");
    for manifest in &asked.manifests {
        let _ = writeln!(text, "    - {}", quoted(manifest));
    }
    if let Some(count) = asked.pool {
        let _ = writeln!(text, "    nodePools:                  # no manifest has nodes: say here what yours are like");
        let _ = writeln!(text, "    - name: worker\n      count: {count}\n      zones: [a, b, c]");
        let _ =
            writeln!(text, "      template: {{status: {{allocatable: {{cpu: \"8\", memory: 32Gi, pods: \"110\"}}}}}}");
    }
}

fn timeline(text: &mut String, cluster: &Cluster<'_>) {
    let node = cluster.biggest_node().map(|node| quoted(node.metadata.name.as_str()));
    let zone = cluster.zones.first().map(|(zone, count)| (quoted(zone.as_str()), *count));
    let Some(node) = node else {
        let _ = writeln!(text, "  timeline: []                # there is no node to which something could happen");
        return;
    };
    let _ = writeln!(text, "  timeline:");
    let loses_zone = cluster.zones.len() > 1;
    match (&zone, loses_zone, cluster.nodes.len()) {
        (Some((zone, count)), true, _) => {
            let nodes = counted(*count, "node", "nodes");
            let _ = writeln!(text, "  # Zone {zone} with its {nodes} loses power for twenty minutes.");
            let _ = writeln!(text, "  - {{at: 5m, fault: {{kind: Crash, nodes: {{zone: {zone}}}, for: 20m}}}}");
        }
        (_, _, 1) => {
            let only = if cluster.others_count == 0 { "The only node" } else { "The only worker node" };
            let _ = writeln!(text, "  # {only} restarts.");
            let _ = writeln!(text, "  - {{at: 5m, fault: {{kind: Reboot, nodes: {{names: [{node}]}}}}}}");
        }
        _ => {
            let _ = writeln!(text, "  # The biggest node loses power for twenty minutes.");
            let _ = writeln!(text, "  - {{at: 5m, fault: {{kind: Crash, nodes: {{names: [{node}]}}, for: 20m}}}}");
        }
    }
    let _ = writeln!(text, "  # What else could happen; remove the `#` of one, and put one before what stands above.");
    if loses_zone {
        let _ = writeln!(text, "  # The biggest node loses power:");
        let _ = writeln!(text, "  # - {{at: 5m, fault: {{kind: Crash, nodes: {{names: [{node}]}}, for: 20m}}}}");
    }
    let _ = writeln!(text, "  # It runs on, but the control plane does not hear from it:");
    let _ = writeln!(text, "  # - {{at: 5m, fault: {{kind: Partition, nodes: {{names: [{node}]}}, for: 10m}}}}");
    let _ = writeln!(text, "  # Its cloud takes it away, and it does not come back:");
    let _ = writeln!(text, "  # - {{at: 5m, fault: {{kind: InstanceGone, nodes: {{names: [{node}]}}}}}}");
    let _ = writeln!(text, "  # It is drained for maintenance{}:", under_budgets(cluster));
    let _ = writeln!(
        text,
        "  # - {{at: 5m, kubectl: drain {node} --ignore-daemonsets --delete-emptydir-data --timeout=10m}}"
    );
    let _ = writeln!(text, "  # - {{at: 20m, kubectl: uncordon {node}}}");
    if let Some((kind, namespace, name)) = cluster.workloads.first().and_then(|(workload, _)| parts(workload)) {
        let _ = writeln!(text, "  # The largest workload{} is rolled out anew:", cluster.beside);
        let _ = writeln!(text, "  # - {{at: 5m, kubectl: rollout restart {kind}/{name} -n {namespace}}}");
    }
    let _ = writeln!(text, "  # Nobody decides anything for a while:");
    let _ = writeln!(
        text,
        "  # - {{at: 5m, fault: {{kind: ControlPlaneOutage, components: [kube-controller-manager, kube-scheduler], for: 10m}}}}"
    );
}

fn parts(workload: &str) -> Option<(&str, &str, &str)> {
    let mut parts = workload.split('/');
    Some((parts.next()?, parts.next()?, parts.next()?))
}

fn under_budgets(cluster: &Cluster<'_>) -> String {
    if cluster.budgets.is_empty() {
        return "; no budget slows that down".to_owned();
    }
    let named: Vec<&str> = cluster.budgets.iter().take(BUDGETS_NAMED_MAX).map(String::as_str).collect();
    let more = if cluster.budgets.len() > named.len() { ", …" } else { "" };
    format!(", as far as {} let it: {}{more}", counted(cluster.budgets.len(), "budget", "budgets"), named.join(", "))
}

fn faults(text: &mut String, cluster: &Cluster<'_>) {
    let _ = writeln!(text, "  # What goes wrong at random, in a run of days or months:");
    let _ = writeln!(text, "  # faults:");
    let _ = writeln!(text, "  # - name: machine-crashes");
    let _ = writeln!(text, "  #   kind: Crash");
    let _ = writeln!(text, "  #   timeToFailure: {{exponential: {{mean: 60d}}}}");
    let _ = writeln!(text, "  #   timeToRepair: {{lognormal: {{median: 10m, p99: 6h}}}}");
    if cluster.zones.len() > 1 {
        let _ = writeln!(text, "  # - name: zone-outages");
        let _ = writeln!(text, "  #   kind: Crash");
        let _ = writeln!(text, "  #   domain: {ZONE_LABEL}");
        let _ = writeln!(text, "  #   timeToFailure: {{exponential: {{mean: 365d}}}}");
        let _ = writeln!(text, "  #   timeToRepair: {{lognormal: {{median: 30m, p99: 8h}}}}");
    }
}

fn goals(text: &mut String, cluster: &Cluster<'_>) {
    // Of a single pod all is lost with its node: no outage would leave such an objective kept.
    let shown: Vec<&String> = cluster
        .workloads
        .iter()
        .filter(|(_, replicas)| *replicas > 1)
        .map(|(workload, _)| workload)
        .take(OBJECTIVES_MAX)
        .collect();
    if shown.is_empty() && !cluster.workloads.is_empty() {
        let _ = writeln!(
            text,
            "  # No workload{} has a second replica, without which none keeps an objective while its node is lost.\n  # slo:",
            cluster.beside
        );
        for (workload, _) in cluster.workloads.iter().take(1) {
            let _ = writeln!(text, "  # - {{workload: {workload}, minReady: 50%, objective: 99%}}");
        }
    }
    if !shown.is_empty() {
        let _ = writeln!(
            text,
            "  slo:                          # what your users notice: how many pods, for which share of the time"
        );
    }
    for workload in &shown {
        let _ = writeln!(text, "  - {{workload: {workload}, minReady: 50%, objective: 99%}}");
    }
    let homeless = &cluster.at_start.homeless;
    let waiting = match homeless.len() {
        0 => "in the end every pod has a node".to_owned(),
        count => format!("in the end no more pods than at t=0, {count}, are without a node"),
    };
    let _ = writeln!(text, "  expect:                       # the exit status is 1 if one of these does not hold");
    if let Some(named) = homeless.get(..homeless.len().min(HOMELESS_NAMED_MAX)).filter(|named| !named.is_empty()) {
        let more = if homeless.len() > named.len() { ", …" } else { "" };
        let _ = writeln!(text, "  # Without a node at t=0, before anything happens: {}{more}", named.join(", "));
    }
    let _ = writeln!(text, "  - {{metric: pods_unscheduled_end, op: \"<=\", value: {}}}   # {waiting}", homeless.len());
    if !shown.is_empty() {
        let _ = writeln!(
            text,
            "  # - {{metric: objectives_missed, op: \"==\", value: 0}}       # each workload above keeps its objective"
        );
    }
    let _ = writeln!(
        text,
        "  # - {{metric: longest_gap_s, op: \"<=\", value: 2m}}           # nobody is below `minReady` for longer"
    );
    let _ = writeln!(
        text,
        "  # - {{metric: lost_traffic_s, op: \"<=\", value: 60}}          # services, a minute of all their traffic"
    );
    let _ = writeln!(
        text,
        "  # - {{metric: needless_evictions, op: \"==\", value: 0}}       # no pod moves that could have stayed"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_mean_something_else_is_quoted() {
        let check = |text: &str, expected: &str| assert_eq!(quoted(text), expected);
        check("apps/web.yaml", "apps/web.yaml");
        check("../dumps/prod.yaml", "../dumps/prod.yaml");
        check(".5", "\".5\"");
        check("on", "\"on\"");
        check("1a", "\"1a\"");
        check("apps/*.yaml", "\"apps/*.yaml\"");
        check("a: b", "\"a: b\"");
    }
}
