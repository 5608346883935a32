//! The catalogue: the single incidents that are likely to happen to a cluster.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use super::incident::{Incident, IncidentKind};
use super::rates::failure_domains;
use super::units::{Units, is_worker};
use crate::arena::Symbol;
use crate::engine::Streams;
use crate::model::{Object, ZONE_LABEL, has_control_plane_role, zone_of};
use crate::observe::WorkloadKey;
use crate::scenario::ResolvedScenario;
use crate::state::Store;
use crate::study::edit::path_of;
use crate::study::plan::cases::{domains, kinds, ways};
use crate::units::SimDuration;

/// At most so many incidents of a kind are played; what is left out is said.
pub(super) const OF_A_KIND_MAX: usize = 200;

/// At most so many incidents of a kind are in the catalogue, of which those that are played are chosen.
const KNOWN_OF_A_KIND_MAX: usize = 2000;

/// How often each node is drained a year, if nobody says otherwise: once a quarter, for a new kubelet or kernel.
pub(super) const DRAINS_PER_YEAR: f64 = 4.0;

/// How often each workload is rolled out a year, if nobody says otherwise: once a month.
pub(super) const ROLLOUTS_PER_YEAR: f64 = 12.0;

/// How often each node runs short of memory a year, where pods say what they use: a guess.
pub(super) const PRESSURES_PER_YEAR: f64 = 1.0;

/// How long somebody takes who follows the runbook, from the loss of a machine to the first line, in minutes.
pub(super) const REACTION_MIN: u64 = 10;

/// How long after a machine is back they take the taint off, in minutes.
pub(super) const RECOVERY_MIN: u64 = 5;

/// Labels by which clouds and installers name the pool of a node.
const POOL_LABELS: [&str; 8] = [
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "kops.k8s.io/instancegroup",
    "karpenter.sh/nodepool",
    "doks.digitalocean.com/node-pool",
    "machineconfiguration.openshift.io/role",
];

const fn minutes(count: u64) -> SimDuration {
    SimDuration::from_secs(count * 60)
}

/// The incidents of a cluster, and what was left out of them.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    pub(super) incidents: Vec<Incident>,
    pub(super) left_out: Vec<String>,
}

impl Catalogue {
    /// Everything that is likely to happen to this cluster. Of nodes that are alike one stands for all, see
    /// [`crate::study::plan::LostSet`].
    pub(super) fn of(store: &Store, scenario: &ResolvedScenario, mentioned: &FxHashSet<Symbol>, units: &Units) -> Self {
        let mut catalogue = Self::default();
        let kinds = kinds(store, mentioned);
        catalogue.single_nodes(&kinds);
        catalogue.groups(store);
        catalogue.pairs(&kinds, scenario.seed, &hosts(store, units));
        catalogue.control_plane(store);
        catalogue.planned(store, scenario, &kinds);
        catalogue.roll_outs(scenario, units);
        catalogue.rollouts(store, scenario, units);
        catalogue.pressures(store, &kinds);
        if !needs_runbook(scenario) {
            catalogue.without_runbooks();
        }
        catalogue
    }

    fn add_all(&mut self, kind: IncidentKind, mut incidents: Vec<Incident>) {
        if incidents.len() > KNOWN_OF_A_KIND_MAX {
            let all: u64 = incidents.iter().map(|incident| incident.alike).sum();
            incidents.truncate(KNOWN_OF_A_KIND_MAX);
            let kept: u64 = incidents.iter().map(|incident| incident.alike).sum();
            self.left_out.push(format!("{} of {all} incidents \"{}\" are not played", all - kept, kind.title()));
        }
        self.incidents.extend(incidents);
    }

    /// Each node: lost, cut off for a moment, reclaimed.
    fn single_nodes(&mut self, kinds: &[Vec<Symbol>]) {
        let of_each = |kind: IncidentKind, words: &str, length: SimDuration, fault: &dyn Fn(&str) -> Value| {
            let incident = |nodes: &Vec<Symbol>| {
                let name = nodes[0].as_str();
                let timeline = vec![json!({"at": "0s", "fault": fault(name)})];
                let mut incident = Incident::new(kind, name, format!("{name} {words}"), length, timeline);
                (incident.alike, incident.nodes) = (nodes.len() as u64, nodes.clone());
                incident
            };
            kinds.iter().map(incident).collect::<Vec<_>>()
        };
        let mut lost = of_each(IncidentKind::NodeLost, "lost for 30m", minutes(60), &|name| crash(&[name], "30m"));
        for (incident, nodes) in lost.iter_mut().zip(kinds) {
            incident.runbook = runbook(&[nodes[0].as_str()]);
        }
        self.add_all(IncidentKind::NodeLost, lost);
        let hiccups = of_each(
            IncidentKind::NodeHiccup,
            "cut off for 75s",
            minutes(15),
            &|name| json!({"kind": "Partition", "nodes": {"names": [name]}, "for": "75s"}),
        );
        self.add_all(IncidentKind::NodeHiccup, hiccups);
        let reclaimed = of_each(
            IncidentKind::InstanceReclaimed,
            "reclaimed after 2m, not replaced",
            minutes(40),
            &|name| json!({"kind": "SpotInterruption", "nodes": {"names": [name]}}),
        );
        self.add_all(IncidentKind::InstanceReclaimed, reclaimed);
    }

    /// Each zone and each other failure domain that labels name.
    fn groups(&mut self, store: &Store) {
        let lost = |kind: IncidentKind, label: &str, called: &str, least: usize| {
            let sets = domains(store, label, called);
            let incident = |set: crate::study::plan::LostSet| {
                let what = set.label.replace(' ', "-");
                let value = set.label.strip_prefix(called).unwrap_or_default().trim();
                // Not by names: a node that a fix adds there is lost as well.
                let nodes = if label == ZONE_LABEL {
                    json!({"zone": value})
                } else {
                    json!({"selector": format!("{label}={value}")})
                };
                let timeline = vec![json!({"at": "0s", "fault": {"kind": "Crash", "nodes": nodes, "for": "30m"}})];
                let mut incident =
                    Incident::new(kind, &what, format!("{} lost for 30m", set.label), minutes(60), timeline);
                let names: Vec<&str> = set.nodes.iter().map(|name| name.as_str()).collect();
                incident.runbook = runbook(&names);
                incident
            };
            if sets.len() < least { Vec::new() } else { sets.into_iter().map(incident).collect::<Vec<_>>() }
        };
        // A cluster in one zone loses all of it; of a single machine the loss of that is told already.
        let least = if store.nodes().count() > 1 { 1 } else { 2 };
        self.add_all(IncidentKind::ZoneLost, lost(IncidentKind::ZoneLost, ZONE_LABEL, "zone", least));
        for (label, _) in failure_domains(store) {
            let called = label.as_str().rsplit('/').next().unwrap_or_default();
            self.add_all(IncidentKind::DomainLost, lost(IncidentKind::DomainLost, label.as_str(), called, 2));
        }
        if let Some(label) = pool_label(store) {
            self.add_all(IncidentKind::DomainLost, lost(IncidentKind::DomainLost, label, "pool", 2));
        }
    }

    /// Each pair of nodes; if there are too many those that hold all pods of a workload, and others that are drawn.
    fn pairs(&mut self, kinds: &[Vec<Symbol>], seed: u64, hosts: &BTreeMap<String, BTreeSet<Symbol>>) {
        let mut pairs: Vec<(Symbol, Symbol, u64)> = Vec::new();
        let sizes = |index: usize| kinds[index].len() as u64;
        let count = kinds.len() * (kinds.len() + 1) / 2;
        let pair = |first: usize, second: usize| {
            if first == second {
                (sizes(first) > 1).then(|| (kinds[first][0], kinds[first][1], ways(kinds[first].len(), 2)))
            } else {
                Some((kinds[first][0], kinds[second][0], sizes(first) * sizes(second)))
            }
        };
        if count <= OF_A_KIND_MAX {
            let all = (0..kinds.len()).flat_map(|a| (a..kinds.len()).map(move |b| (a, b)));
            pairs.extend(all.filter_map(|(a, b)| pair(a, b)));
        } else {
            let mut stream = Streams::new(seed).stream("forecast", "pairs");
            let kind_of = |node: &Symbol| kinds.iter().position(|nodes| nodes.contains(node));
            let telling: BTreeSet<(usize, usize)> = hosts
                .values()
                .filter(|nodes| nodes.len() == 2)
                .filter_map(|nodes| Some((kind_of(nodes.first()?)?, kind_of(nodes.last()?)?)))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect();
            let mut drawn: Vec<(usize, usize)> = telling.into_iter().take(OF_A_KIND_MAX / 2).collect();
            let told = drawn.len();
            let bound = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
            while drawn.len() < OF_A_KIND_MAX {
                let (a, b) = (stream.below(bound) as usize, stream.below(bound) as usize);
                let found = (a.min(b), a.max(b));
                if !drawn.contains(&found) {
                    drawn.push(found);
                }
            }
            drawn[told..].sort_unstable();
            pairs.extend(drawn.into_iter().filter_map(|(a, b)| pair(a, b)));
            let all: usize = kinds.iter().map(Vec::len).sum();
            let left = ways(all, 2) - pairs.iter().map(|(_, _, alike)| alike).sum::<u64>();
            self.left_out.push(format!(
                "{left} of {} pairs of nodes are not played: those are that hold a workload, or were drawn",
                ways(all, 2)
            ));
        }
        for (a, b, alike) in pairs {
            let timeline = vec![json!({"at": "0s", "fault": crash(&[a.as_str(), b.as_str()], "30m")})];
            let label = format!("{a} and {b} lost for 30m");
            let mut incident = Incident::new(IncidentKind::PairLost, &format!("{a}+{b}"), label, minutes(60), timeline);
            incident.alike = alike;
            incident.runbook = runbook(&[a.as_str(), b.as_str()]);
            self.incidents.push(incident);
        }
    }

    /// What happens to all nodes, and to the control plane.
    fn control_plane(&mut self, store: &Store) {
        let cut_off = json!({"kind": "Partition", "nodes": {}, "for": "15m"});
        let outage =
            |process: &str, length: &str| json!({"kind": "ControlPlaneOutage", "components": [process], "for": length});
        let mut add = |kind, what: &str, label: String, length, timeline| {
            self.incidents.push(Incident::new(kind, what, label, length, timeline));
        };
        let all = vec![json!({"at": "0s", "fault": cut_off})];
        add(IncidentKind::KubeletsCutOff, "all", "all kubelets cut off for 15m".to_owned(), minutes(45), all);
        let gone = vec![json!({"at": "0s", "fault": outage("kube-apiserver", "5m")})];
        add(IncidentKind::ApiServerGone, "5m", "API server gone for 5m".to_owned(), minutes(30), gone);
        let busiest = store.nodes().max_by_key(|(id, _)| (store.pods_on(*id).len(), std::cmp::Reverse(*id)));
        if let Some((id, _)) = busiest {
            let name = store.node_name(id).as_str();
            let timeline = vec![
                json!({"at": "0s", "fault": crash(&[name], "30m")}),
                json!({"at": "3m", "fault": outage("kube-controller-manager", "30s")}),
            ];
            let label = format!("kube-controller-manager restarts 3m after {name} is lost for 30m");
            add(IncidentKind::ControllerManagerRestart, name, label, minutes(60), timeline);
        }
    }

    /// What people do on purpose.
    fn planned(&mut self, store: &Store, scenario: &ResolvedScenario, kinds: &[Vec<Symbol>]) {
        let drain = |nodes: &Vec<Symbol>| {
            let name = nodes[0].as_str();
            let timeline = vec![
                json!({"at": "0s", "kubectl": drain_line(name, "30m")}),
                json!({"at": "31m", "kubectl": format!("uncordon {name}")}),
            ];
            let label = format!("{name} drained for 30m");
            let mut incident = Incident::new(IncidentKind::Drain, name, label, minutes(45), timeline);
            (incident.alike, incident.per_year) = (nodes.len() as u64, DRAINS_PER_YEAR);
            incident.nodes.clone_from(nodes);
            incident
        };
        self.add_all(IncidentKind::Drain, kinds.iter().map(drain).collect());
        for (pool, nodes) in pools(store, scenario) {
            self.pool_upgrade(&pool, &nodes);
        }
    }

    /// The nodes of a pool are drained one after the other, ten minutes each.
    fn pool_upgrade(&mut self, pool: &str, nodes: &[Symbol]) {
        const NODES_MAX: usize = 30;
        let at = |minute: usize| format!("{minute}m");
        let mut timeline = Vec::new();
        for (index, name) in nodes.iter().take(NODES_MAX).enumerate() {
            timeline.push(json!({"at": at(index * 10), "kubectl": drain_line(name.as_str(), "8m")}));
            timeline.push(json!({"at": at(index * 10 + 9), "kubectl": format!("uncordon {name}")}));
        }
        if nodes.len() > NODES_MAX {
            let left = nodes.len() - NODES_MAX;
            self.left_out.push(format!("{left} of {} nodes of the pool {pool} are not upgraded", nodes.len()));
        }
        let length = minutes(nodes.len().min(NODES_MAX) as u64 * 10 + 10);
        let label = format!("the nodes of {pool} drained one after the other");
        self.incidents.push(Incident::new(IncidentKind::PoolUpgrade, pool, label, length, timeline));
    }

    /// All workloads are restarted, each when the one before had time enough.
    fn roll_outs(&mut self, scenario: &ResolvedScenario, units: &Units) {
        const WINDOW_MIN: u64 = 15;
        // Who is slow to start is not stuck.
        const TAIL_MIN: u64 = 120;
        let workloads = scenario.objects.iter().map(|object| &object.object);
        let rolled: Vec<&Object> =
            workloads.filter(|object| is_rolled(object) && units.of_workload.contains_key(&path_of(object))).collect();
        if rolled.is_empty() {
            return;
        }
        let at = |index: usize| format!("{}m", index as u64 * WINDOW_MIN);
        let entry = |(index, object): (usize, &&Object)| json!({"at": at(index), "kubectl": restart_line(object)});
        let timeline = rolled.iter().enumerate().map(entry).collect();
        let length = minutes(rolled.len() as u64 * WINDOW_MIN + TAIL_MIN);
        let label = "all workloads restarted one after the other".to_owned();
        let mut incident = Incident::new(IncidentKind::RollOut, "all", label, length, timeline);
        incident.per_year = ROLLOUTS_PER_YEAR;
        self.incidents.push(incident);
    }

    /// Each node whose pods say what they use runs out of memory: something else uses what was free.
    fn pressures(&mut self, store: &Store, kinds: &[Vec<Symbol>]) {
        /// Below the threshold of kubelets that are told nothing else, of 100 MiB.
        const LEFT: i64 = 50 << 20;
        let pressure = |nodes: &Vec<Symbol>| {
            let id = store.find_node(nodes[0])?;
            let capacity = store.node(id)?.capacity.memory;
            let usages =
                store.pods_on(id).iter().filter_map(|pod| store.pod(*pod)?.spec.behavior().usage.as_ref()?.memory);
            let used: Vec<i64> = usages.map(|memory| memory.value()).collect();
            let others = capacity - used.iter().sum::<i64>() - LEFT;
            if used.is_empty() || others <= 0 {
                return None;
            }
            let name = nodes[0].as_str();
            let fault = json!({
                "kind": "MemoryPressure", "nodes": {"names": [name]}, "usage": {"memory": others.to_string()}, "for": "30m",
            });
            let timeline = vec![json!({"at": "0s", "fault": fault})];
            let label = format!("{name} short of memory for 30m");
            let mut incident = Incident::new(IncidentKind::NodePressure, name, label, minutes(60), timeline);
            (incident.alike, incident.per_year) = (nodes.len() as u64, PRESSURES_PER_YEAR);
            incident.nodes.clone_from(nodes);
            Some(incident)
        };
        self.add_all(IncidentKind::NodePressure, kinds.iter().filter_map(pressure).collect());
    }

    /// Only where a runbook is of use its lines are kept.
    fn without_runbooks(&mut self) {
        self.incidents.iter_mut().for_each(|incident| incident.runbook.clear());
    }

    /// Each workload is restarted while the node of one of its pods is lost.
    fn rollouts(&mut self, store: &Store, scenario: &ResolvedScenario, units: &Units) {
        let mut nodes: BTreeMap<String, Symbol> = BTreeMap::new();
        for (_, pod) in store.pods() {
            if let Some(node) = pod.node.filter(|node| store.node(*node).is_some()) {
                let name = store.node_name(node);
                let first = nodes.entry(WorkloadKey::of_pod(pod, store).to_string()).or_insert(name);
                if name.as_str() < first.as_str() {
                    *first = name;
                }
            }
        }
        let mut incidents = Vec::new();
        for object in scenario.objects.iter().map(|object| &object.object).filter(|object| is_rolled(object)) {
            let path = path_of(object);
            let Some(node) = nodes.get(&path).filter(|_| units.of_workload.contains_key(&path)) else { continue };
            let timeline = vec![
                json!({"at": "0s", "fault": crash(&[node.as_str()], "30m")}),
                json!({"at": "2m", "kubectl": restart_line(object)}),
            ];
            let label = format!("{path} restarted 2m after {node} is lost for 30m");
            incidents.push(Incident::new(IncidentKind::RolloutWhileNodeLost, &path, label, minutes(60), timeline));
        }
        self.add_all(IncidentKind::RolloutWhileNodeLost, incidents);
    }
}

/// The nodes on which each workload that counts has pods.
fn hosts(store: &Store, units: &Units) -> BTreeMap<String, BTreeSet<Symbol>> {
    let mut hosts: BTreeMap<String, BTreeSet<Symbol>> = BTreeMap::new();
    for (_, pod) in store.pods() {
        let path = WorkloadKey::of_pod(pod, store).to_string();
        if let Some(node) = pod.node.filter(|node| store.node(*node).is_some() && units.of_workload.contains_key(&path))
        {
            hosts.entry(path).or_default().insert(store.node_name(node));
        }
    }
    hosts
}

fn crash(names: &[&str], length: &str) -> Value {
    json!({"kind": "Crash", "nodes": {"names": names}, "for": length})
}

fn is_rolled(object: &Object) -> bool {
    matches!(object, Object::Deployment(_) | Object::StatefulSet(_)) && is_worker(object)
}

fn restart_line(object: &Object) -> String {
    let metadata = object.metadata();
    let kind = object.kind().as_str().to_ascii_lowercase();
    format!("rollout restart {kind}/{} -n {}", metadata.name, metadata.namespace)
}

/// Whether there is somebody for whom it makes a difference that a machine is said to be off.
pub(super) fn needs_runbook(scenario: &ResolvedScenario) -> bool {
    scenario.objects.iter().any(|object| matches!(object.object, Object::StatefulSet(_)))
}

/// What is typed when these machines have been off for so long: that they are, and half an hour later that they are back.
fn runbook(nodes: &[&str]) -> Vec<Value> {
    let [taint, untaint] = runbook_lines(&nodes.join(" "));
    vec![
        json!({"at": format!("{REACTION_MIN}m"), "kubectl": taint}),
        json!({"at": format!("{}m", 30 + RECOVERY_MIN), "kubectl": untaint}),
    ]
}

/// What is typed of nodes whose machines are off, and when they are back.
///
/// # Source
///
/// Kubernetes documentation, "Non-graceful node shutdown handling".
pub(super) fn runbook_lines(nodes: &str) -> [String; 2] {
    const TAINT: &str = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";
    [format!("taint nodes {nodes} {TAINT}"), format!("taint nodes {nodes} {TAINT}-")]
}

fn drain_line(node: &str, timeout: &str) -> String {
    format!("drain {node} --ignore-daemonsets --delete-emptydir-data --force --timeout={timeout}")
}

/// The label that names the pools of this cluster.
fn pool_label(store: &Store) -> Option<&'static str> {
    POOL_LABELS.into_iter().find(|label| store.nodes().any(|(_, node)| node.labels.get(Symbol::new(label)).is_some()))
}

/// The pools of a cluster, by the labels that name them; of a cluster without, all nodes that take ordinary pods.
fn pools(store: &Store, scenario: &ResolvedScenario) -> Vec<(String, Vec<Symbol>)> {
    let mut pools: BTreeMap<String, Vec<Symbol>> = BTreeMap::new();
    for (id, node) in store.nodes() {
        let is_control_plane = has_control_plane_role(&node.labels);
        let named = POOL_LABELS.iter().find_map(|label| node.labels.get(Symbol::new(label)));
        let name = store.node_name(id);
        let of_scenario = scenario.pools.iter().find(|pool| pool.index_of(name.as_str()).is_some());
        let pool = match named.or(of_scenario.map(|pool| pool.name)) {
            Some(pool) => pool.as_str().to_owned(),
            None if is_control_plane => "control plane".to_owned(),
            None => "workers".to_owned(),
        };
        pools.entry(pool).or_default().push(name);
    }
    for nodes in pools.values_mut() {
        nodes.sort_by_cached_key(|name| crate::study::plan::cases::natural(name.as_str()));
    }
    pools.into_iter().collect()
}

/// The zones of a cluster.
pub(super) fn zone_count(store: &Store) -> usize {
    let mut zones: Vec<Symbol> = store.nodes().filter_map(|(_, node)| zone_of(&node.labels)).collect();
    zones.sort_unstable();
    zones.dedup();
    zones.len()
}
