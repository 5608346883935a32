//! `schedule`: where pending pods would go, and why not elsewhere.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::cluster::{self, Wanted};
use super::decision_text;
use super::failure::Failure;
use super::intake;
use super::ui::Ui;
use super::words::counted;
use super::{Ending, Output};
use crate::arena::Symbol;
use crate::component::Config;
use crate::diagnostics::{Style, nearest};
use crate::model::manifest::DUMP_COMMAND;
use crate::model::{ConditionStatus, ManifestObject, Object, PodConditionType};
use crate::scenario::{self, ResolvedScenario};
use crate::scheduler::{Decision, Nomination, Scheduler};
use crate::simulation::Prepared;
use crate::state::{Pod, PodId, Store};

/// Show where kube-scheduler would put pending pods, and why
#[derive(Args, Debug)]
#[command(after_help = format!("For example:\n  {DUMP_COMMAND}\n  kubesquall schedule -f cluster.yaml --pod shop/web-1"))]
pub(super) struct ScheduleArgs {
    /// Nodes, pods and what else there is: manifests or dumps; files, directories, globs, or `-` for standard input
    #[arg(short = 'f', long = "filename", required = true, value_name = "STATE")]
    state: Vec<PathBuf>,
    /// Go on with what can be read of them
    #[arg(long)]
    allow_partial: bool,
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
    let scheduler = match &arguments.config {
        Some(path) => serde_json::json!({"file": path.to_string_lossy()}),
        None => serde_json::json!({}),
    };
    let scenario = cluster::load(&Wanted {
        paths: &arguments.state,
        allow_partial: arguments.allow_partial,
        without_nodes: false,
        // A decision is about the state as it is.
        rebuild_owners: false,
        control_plane: serde_json::json!({"kubernetesVersion": arguments.kubernetes_version, "kubeScheduler": scheduler}),
    })?;
    ui.diagnostics(&scenario.warnings, &scenario.sources);
    let prepared = Prepared::unsettled(&scenario);
    let store = prepared.store();
    let Chosen { pods, left_out } = chosen(store, prepared.config(), &arguments.pod)?;
    let decisions = Scheduler::decide(store, prepared.config(), &pods);
    // Each is shown before the next is taken: all of them with the scores of all nodes would fill the memory.
    let decided = pods.iter().zip(decisions).filter_map(|(&pod, decision)| Some((pod, decision?)));
    match arguments.output {
        Output::Json => {
            ui.json_list(decided.map(|(pod, decision)| show(store, pod, decision)))?;
            for (pod, caveat) in pods.iter().filter_map(|&pod| Some((pod, decision_text::devices(store, pod)?))) {
                ui.note(format_args!("{}: {caveat}", path_of(store, pod)));
            }
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
            let recorded = recorded_refusals(&scenario);
            for (pod, decision) in decided {
                let mut text = decision_text::paragraph(store, pod, &decision);
                if let Some(message) = recorded
                    .get(&path_of(store, pod))
                    .copied()
                    .filter(|message| decision.message.as_deref() != Some(*message))
                {
                    text.push_str(&format!("  the input records another answer: {message}\n"));
                }
                separated(&text)?;
            }
            for (reason, pods) in &left_out {
                separated(&format!("{}\n", decision_text::left_out(reason, pods)))?;
            }
            if pods.is_empty() && left_out.is_empty() {
                ui.out(&nothing_pends(&scenario))?;
            }
        }
    }
    Ok(Ending::Done)
}

/// What the input says that a scheduler said of pods for which it found no node, by their paths.
fn recorded_refusals(scenario: &ResolvedScenario) -> BTreeMap<String, &'static str> {
    let refusals = scenario.objects.iter().filter_map(|object| {
        let Object::Pod(pod) = &object.object else { return None };
        let refusal = pod.status.conditions.iter().find(|condition| {
            condition.condition_type == PodConditionType::PodScheduled && condition.status == ConditionStatus::False
        })?;
        let message = refusal.message.as_str();
        (!message.is_empty()).then(|| (format!("{}/{}", pod.metadata.namespace, pod.metadata.name), message))
    });
    refusals.collect()
}

/// What to say if no pod of the state waits for a node.
fn nothing_pends(scenario: &ResolvedScenario) -> String {
    let unread = intake::unread(&scenario.input, Style::Plain);
    let is_pod = |object: &&ManifestObject| matches!(object.object, Object::Pod(_));
    let mut made_by_controllers =
        scenario.objects.iter().filter(|object| scenario::pod_template(&object.object).is_some());
    match (scenario.objects.iter().any(|object| is_pod(&object)), made_by_controllers.next()) {
        (false, Some(workload)) => format!(
            "{unread}There is no pod in this state, so there is nothing to decide: `schedule` takes pods as they are and makes none of\n\
             {}. A scenario does (`run`); or save the pods, too.\n",
            workload.object.label()
        ),
        _ => format!("{unread}No pod is pending.\n"),
    }
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
