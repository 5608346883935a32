//! `schedule`: where pending pods would go, and why not elsewhere.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use super::decision_text;
use super::failure::Failure;
use super::intake;
use super::ui::Ui;
use super::{Ending, Output};
use crate::diagnostics::Style;
use crate::facade::{Cluster, ClusterOptions, path_of};
use crate::model::manifest::DUMP_COMMAND;
use crate::model::{ConditionStatus, ManifestObject, Object, PodConditionType};
use crate::scenario::{self, ResolvedScenario};

/// Show where kube-scheduler would put pending pods, and why
///
/// Pods are taken one after the other, in the order of the scheduler's queue; each finds the cluster as those before it leave it. Of each
/// it says the node, or the closest ones and what the pod would have to ask for; why other nodes are out; scores after weights; and who
/// would be preempted. `-o json` has every node. A pod that fits nowhere is no failure: the exit status is 0.
#[derive(Args, Debug)]
#[command(after_help = after_help())]
pub(super) struct ScheduleArgs {
    /// Nodes, pods and what else there is: manifests or dumps; files, directories, globs, or `-` for standard input; may be given
    /// several times
    #[arg(short = 'f', long = "filename", required = true, value_name = "STATE")]
    state: Vec<PathBuf>,
    /// Go on with what can be read of them
    #[arg(long)]
    allow_partial: bool,
    /// A pending pod; give it several times for several, which are taken in that order [default: all, in the order of the queue]
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

/// An example that can be pasted as it stands: a shell joins what stands behind a `\` with the next line, if that has no indentation.
fn after_help() -> String {
    const WIDTH_MAX: usize = 76;
    let mut dump = String::new();
    let mut width = 0;
    for part in DUMP_COMMAND.split_inclusive(',') {
        if width + part.len() > WIDTH_MAX {
            dump.push_str("\\\n");
            width = 0;
        }
        dump.push_str(part);
        width += part.len();
    }
    format!("For example:\n{dump}\nkubesquall schedule -f cluster.yaml --pod shop/web-1")
}

/// Where a configuration of the scheduler stands in a scenario.
const SCHEDULER_PATH: &str = "spec.controlPlane.kubeScheduler.";

pub(super) fn schedule(arguments: &ScheduleArgs, ui: &Ui) -> Result<Ending, Failure> {
    let mut options = ClusterOptions::new().allow_partial(arguments.allow_partial).of_command_line();
    options = options.kubernetes_version(&arguments.kubernetes_version);
    if let Some(path) = &arguments.config {
        options = options.scheduler_config(path.to_string_lossy());
    }
    let cluster = Cluster::load_with(&arguments.state, &options)?;
    let scenario = cluster.resolved();
    let mut warnings = scenario.warnings.clone();
    // Each decision says by itself what its pod lacks.
    warnings.leave_out(0, |warning| warning.code == scenario::NO_ROOM);
    ui.diagnostics(&warnings, &scenario.sources);
    if ui.is_verbose {
        ui.note(intake::assumed_in_full(&scenario.assumed).trim_end());
    }
    for row in scenario.not_modelled.iter().filter(|row| row.path.starts_with(SCHEDULER_PATH)) {
        ui.note(format_args!(
            "`{}` of the scheduler's configuration decides nothing here",
            &row.path[SCHEDULER_PATH.len()..]
        ));
    }
    let decisions =
        if arguments.pod.is_empty() { cluster.decisions() } else { cluster.decisions_of(&arguments.pod)? };
    let (store, pods) = (decisions.store(), decisions.pods());
    for (taint, nodes) in decisions.tainted() {
        ui.note(decision_text::tainted(taint, nodes));
    }
    let left_out = || decisions.left_out().map(|(reason, pods)| decision_text::left_out(reason, pods));
    // Each is shown before the next is taken: all of them with the scores of all nodes would fill the memory.
    match arguments.output {
        Output::Json => {
            ui.json_list(decisions.iter())?;
            for (pod, caveat) in pods.iter().filter_map(|&pod| Some((pod, decision_text::devices(store, pod)?))) {
                ui.note(format_args!("{}: {caveat}", path_of(store, pod)));
            }
            left_out().for_each(|text| ui.note(text));
        }
        Output::Text => {
            let mut is_first = true;
            let mut separated = |text: &str| {
                let separator = if std::mem::take(&mut is_first) { "" } else { "\n" };
                ui.out(&format!("{separator}{text}"))
            };
            let recorded = recorded_refusals(scenario);
            for (pod, decision) in decisions.taken() {
                let mut text = decision_text::paragraph(store, pod, &decision);
                if let Some(message) = recorded
                    .get(&path_of(store, pod))
                    .copied()
                    .filter(|message| !decision.message.as_deref().is_some_and(|ours| says_the_same(ours, message)))
                {
                    text.push_str(&format!("  the input records another answer: {message}\n"));
                }
                separated(&text)?;
            }
            for text in left_out() {
                separated(&format!("{text}\n"))?;
            }
            if pods.is_empty() && left_out().next().is_none() {
                ui.out(&nothing_pends(scenario))?;
            }
        }
    }
    Ok(Ending::Done)
}

/// Whether two messages of schedulers say the same of the nodes: older ones say nothing of preemption behind that, nor of claims.
fn says_the_same(one: &str, other: &str) -> bool {
    let (old, new) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let more = new.strip_prefix(old.trim_end_matches('.'));
    let adds = |more: &str| more.starts_with(". ") && more.contains("preemption: ");
    old == new || !old.contains("preemption: ") && more.is_some_and(adds)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_a_word_of_preemption_says_the_same() {
        let old = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
        let new = format!(
            "{old} no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        );
        assert!(says_the_same(&new, old) && says_the_same(old, &new) && says_the_same(&new, &new));
        assert!(!says_the_same(&new, &new.replace("not helpful", "no use")));
        assert!(!says_the_same(&new, "0/1 nodes are available: 1 Insufficient cpu."));
    }
}
