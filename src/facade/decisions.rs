//! What kube-scheduler decides about the pods of a cluster, each decision with its reasons.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::error::Error;
use crate::arena::Symbol;
use crate::component::Config;
use crate::diagnostics::nearest_or;
use crate::scenario::ResolvedScenario;
use crate::scheduler::{self, Nomination, Scheduler};
use crate::simulation::Prepared;
use crate::state::{Pod, PodId, Store};
use crate::units::counted;

/// Decisions about pods, one after the other, each on what those before it left.
#[derive(Clone, Debug)]
pub struct Decisions {
    prepared: Prepared,
    pods: Vec<PodId>,
    /// Pods that are not decided about, by the reason.
    left_out: BTreeMap<String, Vec<String>>,
    /// Taints that nodes lacked, and these nodes.
    tainted: BTreeMap<String, Vec<String>>,
}

/// One decision. It writes itself as an item of `schedule -o json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Decision {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    /// Where it goes.
    pub node: Option<String>,
    /// The nodes with the highest total, of which `node` is one.
    pub ties: Vec<String>,
    /// The nodes that it could go to, in the order in which they were found.
    pub feasible: Vec<String>,
    /// Why it cannot go to others.
    pub filtered: BTreeMap<String, Rejected>,
    /// Scores of the feasible nodes by plugin, after normalization and weight, and their `total`; none where there was no choice.
    pub scores: BTreeMap<String, BTreeMap<String, i64>>,
    /// The text of `FailedScheduling`, if it goes nowhere.
    pub message: Option<String>,
    /// The node on which room is made for it.
    pub nominated_node: Option<String>,
    /// The pods that are to make room there.
    pub victims: Vec<String>,
}

/// Why a pod cannot go to a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rejected {
    /// The plugin that says so.
    pub plugin: &'static str,
    /// What it says.
    pub reasons: Vec<&'static str>,
}

impl Decisions {
    /// About all pods that wait, in the order of the queue.
    pub(super) fn of_all(scenario: &ResolvedScenario) -> Self {
        let (prepared, tainted) = loaded(scenario);
        let store = prepared.store();
        let places: FxHashMap<PodId, usize> =
            Scheduler::queue_order(store).into_iter().enumerate().map(|(place, pod)| (pod, place)).collect();
        let (mut pods, left_out) = parted(store, prepared.config(), waiting(store));
        pods.sort_by_key(|pod| places.get(pod).copied());
        Self { pods, left_out, tainted, prepared }
    }

    /// About these, in this order.
    pub(super) fn of_named<S: AsRef<str>>(
        scenario: &ResolvedScenario,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        let (prepared, tainted) = loaded(scenario);
        let store = prepared.store();
        let named = names.into_iter().map(|name| find(store, name.as_ref())).collect::<Result<Vec<_>, Error>>()?;
        let (pods, left_out) = parted(store, prepared.config(), named);
        Ok(Self { pods, left_out, tainted, prepared })
    }

    /// The decisions, each taken when it is asked for: all of them with the scores of all nodes may fill the memory.
    pub fn iter(&self) -> impl Iterator<Item = Decision> + '_ {
        self.taken().map(|(pod, decision)| shown(self.store(), pod, decision))
    }

    /// Pods that are not decided about, by the reason.
    pub fn left_out(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.left_out.iter().map(|(reason, pods)| (reason.as_str(), pods.as_slice()))
    }

    /// Taints that follow from conditions of nodes and that the input lacks, as `node.kubernetes.io/not-ready`, and the nodes that were
    /// given them: the node lifecycle controller would, within seconds.
    pub fn tainted(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.tainted.iter().map(|(key, nodes)| (key.as_str(), nodes.as_slice()))
    }

    pub(crate) fn taken(&self) -> impl Iterator<Item = (PodId, scheduler::Decision)> + '_ {
        let decisions = Scheduler::decide(self.prepared.snapshot(), &self.pods);
        self.pods.iter().zip(decisions).filter_map(|(&pod, decision)| Some((pod, decision?)))
    }

    pub(crate) fn store(&self) -> &Store {
        self.prepared.store()
    }

    #[cfg(feature = "cli")]
    pub(crate) fn pods(&self) -> &[PodId] {
        &self.pods
    }
}

/// The cluster as it stands, and the taints that its nodes were given.
fn loaded(scenario: &ResolvedScenario) -> (Prepared, BTreeMap<String, Vec<String>>) {
    let mut prepared = Prepared::unsettled(scenario);
    let mut tainted: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (node, key) in prepared.taint_by_condition() {
        tainted.entry(key.to_string()).or_default().push(prepared.store().node_name(node).to_string());
    }
    (prepared, tainted)
}

/// `NAMESPACE/NAME`.
pub(crate) fn path_of(store: &Store, id: PodId) -> String {
    store.pod(id).map_or_else(String::new, |pod| format!("{}/{}", pod.namespace, pod.name))
}

/// Pods to be decided about, each once, and others by the reason.
fn parted(store: &Store, config: &Config, candidates: Vec<PodId>) -> (Vec<PodId>, BTreeMap<String, Vec<String>>) {
    let (mut pods, mut left_out) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
    let mut seen = FxHashSet::default();
    for id in candidates.into_iter().filter(|id| seen.insert(*id)) {
        let Some(pod) = store.pod(id) else { continue };
        match why_not(store, config, pod) {
            None => pods.push(id),
            Some(reason) => left_out.entry(reason).or_default().push(path_of(store, id)),
        }
    }
    (pods, left_out)
}

/// Pods without a node that could still come to have one.
fn waiting(store: &Store) -> Vec<PodId> {
    store.pods().filter(|(_, pod)| pod.node.is_none() && !pod.phase.is_terminal()).map(|(id, _)| id).collect()
}

fn find(store: &Store, name: &str) -> Result<PodId, Error> {
    let path = if name.contains('/') { name.to_owned() } else { format!("default/{name}") };
    let found = path.split_once('/').and_then(|(namespace, name)| store.find_pod(Symbol::new(namespace), &name.into()));
    found.ok_or_else(|| {
        let paths: Vec<String> = store.pods().map(|(id, _)| path_of(store, id)).collect();
        let help = nearest_or(&path, paths.iter().map(String::as_str), || {
            format!("there are {}; name one as NAMESPACE/NAME", counted(paths.len(), "pod", "pods"))
        });
        Error::argument(format!("there is no pod `{path}`"), help)
    })
}

/// Why a pod is not decided about.
fn why_not(store: &Store, config: &Config, pod: &Pod) -> Option<String> {
    let profiles = config.kube_scheduler.profiles.iter().filter_map(|profile| profile.scheduler_name);
    let wanted = pod.spec.scheduler_name.unwrap_or_else(|| Symbol::new("default-scheduler"));
    if pod.phase.is_terminal() {
        return Some(format!("finished: {}", pod.phase.as_str()));
    }
    if let Some(node) = pod.node {
        return Some(format!("bound to {} already", store.node_name(node)));
    }
    if pod.deletion.is_some() {
        return Some("being deleted".to_owned());
    }
    if !pod.spec.scheduling_gates.is_empty() {
        let gates: Vec<&str> = pod.spec.scheduling_gates.iter().map(|gate| gate.name.as_str()).collect();
        return Some(format!("held by scheduling gates: {}", gates.join(", ")));
    }
    if !profiles.clone().any(|name| name == wanted) {
        let names: Vec<&str> = profiles.map(Symbol::as_str).collect();
        return Some(format!("left to another scheduler, {wanted}; the profiles here are {}", names.join(", ")));
    }
    None
}

fn shown(store: &Store, pod: PodId, decision: scheduler::Decision) -> Decision {
    let name = |node| store.node_name(node).to_string();
    let scheduler::Decision { node, ties, feasible, scores, filtered, message, nomination, victims, .. } = decision;
    let nominated = match nomination {
        Nomination::To(node) => Some(node),
        Nomination::Kept | Nomination::Cleared => None,
    };
    let scores = feasible.iter().zip(scores).map(|(&node, score)| {
        let mut by_plugin: BTreeMap<String, i64> =
            score.by_plugin.into_iter().map(|(plugin, score)| (plugin.to_owned(), score)).collect();
        by_plugin.insert("total".to_owned(), score.total);
        (name(node), by_plugin)
    });
    // What only one node could have was given without scoring.
    let ties = if ties.is_empty() { node.into_iter().collect() } else { ties };
    Decision {
        pod: path_of(store, pod),
        node: node.map(name),
        ties: ties.into_iter().map(name).collect(),
        scores: scores.collect(),
        feasible: feasible.into_iter().map(name).collect(),
        filtered: filtered
            .into_iter()
            .map(|(node, why)| {
                (
                    name(node),
                    Rejected {
                        plugin: why.plugin,
                        reasons: why.reasons.iter().map(|reason| reason.as_str()).collect(),
                    },
                )
            })
            .collect(),
        message,
        nominated_node: nominated.map(name),
        victims: victims.into_iter().map(|victim| path_of(store, victim)).collect(),
    }
}
