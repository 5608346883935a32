//! `schedule`: where pending pods would go, and why not elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::decision_text;
use super::failure::Failure;
use super::ui::Ui;
use super::words::counted;
use super::{Ending, Output};
use crate::arena::Symbol;
use crate::component::Config;
use crate::diagnostics::nearest;
use crate::scenario::{self, API_VERSION, Overrides};
use crate::scheduler::{Decision, Nomination, Scheduler};
use crate::simulation::Prepared;
use crate::state::{Pod, PodId, Store};

/// Show where kube-scheduler would put pending pods, and why
///
/// For example: kubectl get nodes,pods,namespaces,pdb,priorityclasses -A -o yaml > now.yaml; kubesquall schedule -f now.yaml --pod shop/web-1
#[derive(Args, Debug)]
pub(super) struct ScheduleArgs {
    /// Nodes, pods and what else there is: manifests or dumps, files or directories
    #[arg(short = 'f', long = "filename", required = true, value_name = "STATE")]
    state: Vec<PathBuf>,
    /// A pending pod [default: all, in the order of the queue]
    #[arg(long, value_name = "NS/NAME")]
    pod: Vec<String>,
    /// A KubeSchedulerConfiguration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The version of Kubernetes
    #[arg(long, value_name = "VERSION", default_value = "1.36")]
    kubernetes_version: String,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// One decision, with names.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    pod: String,
    node: Option<String>,
    ties: Vec<String>,
    feasible: Vec<String>,
    filtered: BTreeMap<String, Filtered>,
    scores: BTreeMap<String, BTreeMap<String, i64>>,
    message: Option<String>,
    nominated_node: Option<String>,
    victims: Vec<String>,
}

#[derive(Serialize)]
struct Filtered {
    plugin: &'static str,
    reasons: Vec<&'static str>,
}

pub(super) fn schedule(arguments: &ScheduleArgs, ui: &Ui) -> Result<Ending, Failure> {
    // The state is read, defaulted and checked as that of a scenario in which nothing happens.
    let manifests: Vec<String> = arguments.state.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let scheduler = match &arguments.config {
        Some(path) => serde_json::json!({"file": path.to_string_lossy()}),
        None => serde_json::json!({}),
    };
    let document = serde_json::json!({
        "apiVersion": API_VERSION,
        "kind": "Scenario",
        "metadata": {"name": "schedule"},
        "spec": {
            "duration": "1s",
            "cluster": {"manifests": manifests},
            "controlPlane": {"kubernetesVersion": arguments.kubernetes_version, "kubeScheduler": scheduler},
        },
    });
    let scenario = scenario::load_text("arguments", &document.to_string(), Path::new(""), &Overrides::none())?;
    let prepared = Prepared::unsettled(&scenario);
    let store = prepared.store();
    let Chosen { pods, left_out } = chosen(store, prepared.config(), &arguments.pod)?;
    let decisions = Scheduler::decide(store, prepared.config(), &pods);
    // Each is shown before the next is taken: all of them with the scores of all nodes would fill the memory.
    let decided = pods.iter().zip(decisions).filter_map(|(&pod, decision)| Some((pod, decision?)));
    match arguments.output {
        Output::Json => {
            ui.json_list(decided.map(|(pod, decision)| show(store, pod, decision)))?;
            for (reason, pods) in &left_out {
                ui.note(decision_text::left_out(reason, pods));
            }
        }
        Output::Text => {
            let mut is_first = true;
            let mut separated = |text: &str| {
                let separator = if std::mem::take(&mut is_first) { "" } else { "\n" };
                ui.out(&format!("{separator}{text}"))
            };
            for (pod, decision) in decided {
                separated(&decision_text::paragraph(store, pod, &decision))?;
            }
            for (reason, pods) in &left_out {
                separated(&format!("{}\n", decision_text::left_out(reason, pods)))?;
            }
            if pods.is_empty() && left_out.is_empty() {
                ui.out("No pod is pending.\n")?;
            }
        }
    }
    Ok(Ending::Done)
}

pub(super) fn path_of(store: &Store, id: PodId) -> String {
    store.pod(id).map_or_else(String::new, |pod| format!("{}/{}", pod.namespace, pod.name))
}

/// Pods to be decided about, and others.
struct Chosen {
    pods: Vec<PodId>,
    /// Pods that are not decided about, by the reason.
    left_out: BTreeMap<String, Vec<String>>,
}

/// The pods that are named, each once, or all that wait.
fn chosen(store: &Store, config: &Config, named: &[String]) -> Result<Chosen, Failure> {
    let (candidates, is_named) = match named {
        [] => (waiting(store), false),
        named => (named.iter().map(|name| find(store, name)).collect::<Result<Vec<_>, Failure>>()?, true),
    };
    let mut chosen = Chosen { pods: Vec::new(), left_out: BTreeMap::new() };
    let mut seen = FxHashSet::default();
    for id in candidates.into_iter().filter(|id| seen.insert(*id)) {
        let Some(pod) = store.pod(id) else { continue };
        match why_not(store, config, pod) {
            None => chosen.pods.push(id),
            Some(reason) => chosen.left_out.entry(reason).or_default().push(path_of(store, id)),
        }
    }
    if !is_named {
        // The queue has an order; pods that are named are taken in the order of their names.
        let places: FxHashMap<PodId, usize> =
            Scheduler::queue_order(store).into_iter().enumerate().map(|(place, pod)| (pod, place)).collect();
        chosen.pods.sort_by_key(|pod| places.get(pod).copied());
    }
    Ok(chosen)
}

/// Pods without a node that could still come to have one.
fn waiting(store: &Store) -> Vec<PodId> {
    store.pods().filter(|(_, pod)| pod.node.is_none() && !pod.phase.is_terminal()).map(|(id, _)| id).collect()
}

fn find(store: &Store, name: &str) -> Result<PodId, Failure> {
    let path = if name.contains('/') { name.to_owned() } else { format!("default/{name}") };
    let found = path.split_once('/').and_then(|(namespace, name)| store.find_pod(Symbol::new(namespace), &name.into()));
    found.ok_or_else(|| {
        let paths: Vec<String> = store.pods().map(|(id, _)| path_of(store, id)).collect();
        let help = match nearest(&path, paths.iter().map(String::as_str)) {
            Some(nearest) => format!("the nearest is `{nearest}`"),
            None => format!("there are {}; name one as NAMESPACE/NAME", counted(paths.len(), "pod", "pods")),
        };
        Failure::input(format!("there is no pod `{path}`"), help)
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

fn show(store: &Store, pod: PodId, decision: Decision) -> Shown {
    let name = |node| store.node_name(node).to_string();
    let Decision { node, ties, feasible, scores, filtered, message, nomination, victims, .. } = decision;
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
    Shown {
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
                    Filtered {
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
