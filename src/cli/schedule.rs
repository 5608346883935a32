//! `schedule`: where pending pods would go, and why not elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::failure::Failure;
use super::ui::Ui;
use super::{Ending, Output};
use crate::diagnostics::nearest;
use crate::scenario::{self, API_VERSION, Overrides};
use crate::scheduler::{Decision, Nomination, Scheduler};
use crate::simulation::Prepared;
use crate::state::{PodId, Store};

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
    let pods = chosen(store, &arguments.pod)?;
    let decisions = Scheduler::decide(store, prepared.config(), &pods);
    let decided: Vec<(PodId, Decision)> =
        pods.into_iter().zip(decisions).filter_map(|(pod, decision)| Some((pod, decision?))).collect();
    match arguments.output {
        Output::Json => {
            let shown: Vec<Shown> = decided.into_iter().map(|(pod, decision)| show(store, pod, decision)).collect();
            ui.json(&shown)?;
        }
        Output::Text => ui.out(&super::decision_text::decisions(store, &decided))?,
    }
    Ok(Ending::Done)
}

pub(super) fn path_of(store: &Store, id: PodId) -> String {
    store.pod(id).map_or_else(String::new, |pod| format!("{}/{}", pod.namespace, pod.name))
}

/// The pods that are named, or all that wait.
fn chosen(store: &Store, named: &[String]) -> Result<Vec<PodId>, Failure> {
    let waiting = Scheduler::queue_order(store);
    if named.is_empty() {
        return Ok(waiting);
    }
    let paths: BTreeMap<String, PodId> = waiting.iter().map(|&id| (path_of(store, id), id)).collect();
    let find = |name: &String| {
        let with_namespace = if name.contains('/') { name.clone() } else { format!("default/{name}") };
        paths.get(&with_namespace).copied().ok_or_else(|| {
            let help = match nearest(&with_namespace, paths.keys().map(String::as_str)) {
                Some(nearest) => format!("the nearest that is pending is `{nearest}`"),
                None => format!("{} pods are pending; name one as NAMESPACE/NAME", paths.len()),
            };
            Failure::input(format!("there is no pending pod `{with_namespace}`"), help)
        })
    };
    named.iter().map(find).collect()
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
