//! Tolerations whose time did not run as their author thought: begun anew by a restart, or lengthened when the timer ran.

use std::collections::BTreeMap;

use super::named::{Names, and_more, length, moment, workload_name};
use super::nodes::{NodeFacts, Turn, no_execute};
use super::{Mechanism, Trap, TrapKind};
use crate::component::{Config, name_of_pod, node_name};
use crate::model::{NoExecuteStay, PodTemplateSpec, Taint, Toleration, no_execute_stay};
use crate::observe::workload::root_of;
use crate::state::{Change, Changed, DeletionCause, NodeId, ObjectDelta, Pod, PodDelta, PodId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// Delays up to this come from queues, not from a restart.
const SLACK: SimDuration = SimDuration::from_secs(5);

/// A pod whose timer a restart lost.
#[derive(Clone, Debug)]
struct Lost {
    node: NodeId,
    /// When the first timer would have fired.
    due: SimTime,
    restarted_at: SimTime,
}

/// A pod whose toleration was lengthened when its timer ran.
#[derive(Clone, Debug)]
struct Lengthened {
    at: SimTime,
    /// When the new toleration would have ended; none = never.
    until: Option<SimTime>,
    /// Whose template was changed; none = the pod itself was.
    workload: Option<WorkloadId>,
}

/// What a trap has done so far.
#[derive(Clone, Debug, Default)]
struct Tally {
    pods: Names,
    worst: Option<Worst>,
    first_at: Option<SimTime>,
}

#[derive(Clone, Debug)]
struct Worst {
    cost: SimDuration,
    /// The new toleration has no end: it cost more than any number.
    is_endless: bool,
    text: String,
}

impl Tally {
    fn add(&mut self, at: SimTime, pod: &Pod, cost: SimDuration, is_endless: bool, text: impl FnOnce() -> String) {
        self.pods.add(name_of_pod(pod));
        self.first_at.get_or_insert(at);
        let is_worse = self.worst.as_ref().is_none_or(|worst| (is_endless, cost) > (worst.is_endless, worst.cost));
        if is_worse {
            self.worst = Some(Worst { cost, is_endless, text: text() });
        }
    }

    fn trap(self, kind: TrapKind) -> Option<Trap> {
        let (worst, at) = (self.worst?, self.first_at?);
        let text = format!("{}{}", worst.text, and_more(self.pods.count() - 1, "pod", "pods"));
        Some(self.pods.trap(kind, at, text, (!worst.is_endless).then_some(worst.cost)))
    }
}

/// Watches tolerations.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    lost: BTreeMap<PodId, Lost>,
    lengthened: BTreeMap<PodId, Lengthened>,
    /// Tolerations that templates had when a node with pods of theirs was tainted.
    templates: BTreeMap<WorkloadId, Vec<Toleration>>,
    restarted: Tally,
    late: Tally,
}

impl Mechanism for Timers {
    type Found = Vec<Trap>;

    fn begin(nodes: &NodeFacts, store: &Store, _: &Config) -> Self {
        let mut watcher = Self::default();
        for &node in nodes.tainted() {
            watcher.learn_templates(node, store);
        }
        watcher
    }

    fn changed(&mut self, change: &Change, turn: Turn, nodes: &NodeFacts, store: &Store) {
        if let Turn::Of(node) = turn {
            self.node_turned(change.at, node, nodes, store);
        }
        match &change.what {
            Changed::WorkloadUpdated(workload, delta) if delta.touches(ObjectDelta::SPEC) => {
                self.template_changed(change.at, *workload, nodes, store);
            }
            Changed::PodUpdated { pod, delta, before } => {
                let Some(object) = store.pod(*pod) else { return };
                if delta.touches(PodDelta::SPEC)
                    && let Some(before) = before
                {
                    self.pod_changed(change.at, *pod, before, object, nodes, store);
                }
                if delta.touches(PodDelta::DELETION) {
                    self.pod_left(change.at, *pod, object, store);
                }
            }
            Changed::PodRemoved { pod, last } => self.pod_left(change.at, *pod, last, store),
            _ => {}
        }
    }

    /// The controller-manager starts with empty memory: its timers begin anew.
    fn restarted(&mut self, now: SimTime, nodes: &NodeFacts, store: &Store) {
        for &node in nodes.tainted() {
            let taints = no_execute(node, store);
            for (id, pod) in store.pods_on(node).iter().filter_map(|&id| Some((id, store.pod(id)?))) {
                if let Some((due, _)) = timer(pod, &taints, node, nodes) {
                    self.lost.entry(id).or_insert(Lost { node, due, restarted_at: now });
                }
            }
        }
    }

    /// What a restart did, and what came too late.
    fn finish(mut self, end: SimTime, _: &NodeFacts, store: &Store) -> Self::Found {
        let pods: Vec<PodId> = self.lost.keys().copied().collect();
        for pod in pods {
            if let Some(object) = store.pod(pod) {
                self.judge_restart(end, pod, object, "was still there at the end,", store);
            }
        }
        [self.restarted.trap(TrapKind::RestartedTolerations), self.late.trap(TrapKind::LateToleration)]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl Timers {
    fn node_turned(&mut self, at: SimTime, node: NodeId, nodes: &NodeFacts, store: &Store) {
        let fact = nodes.of(node);
        if fact.tainted_since == Some(at) {
            self.learn_templates(node, store);
        }
        if nodes.tainted().is_empty() {
            self.templates.clear();
        }
        if fact.tainted_since.is_some() || fact.unready_since.is_some() {
            return;
        }
        // Ready and untainted: whoever is still here stays.
        let staying: Vec<PodId> = self.lost.iter().filter(|(_, lost)| lost.node == node).map(|(pod, _)| *pod).collect();
        for pod in staying {
            if let Some(object) = store.pod(pod) {
                self.judge_restart(at, pod, object, "was still there when the node came back", store);
            }
        }
        let pods = store.pods_on(node);
        self.lengthened.retain(|pod, _| !pods.contains(pod));
    }

    fn learn_templates(&mut self, node: NodeId, store: &Store) {
        for pod in store.pods_on(node).iter().filter_map(|&pod| store.pod(pod)) {
            if let Some(workload) = root_of(pod, store)
                && let Some(template) = template_of(workload, store)
            {
                self.templates.entry(workload).or_insert_with(|| template.spec.tolerations.clone());
            }
        }
    }

    fn template_changed(&mut self, at: SimTime, workload: WorkloadId, nodes: &NodeFacts, store: &Store) {
        let Some(known) = self.templates.get_mut(&workload) else { return };
        let Some(template) = template_of(workload, store) else { return };
        if *known == template.spec.tolerations {
            return;
        }
        known.clone_from(&template.spec.tolerations);
        for &node in nodes.tainted() {
            let taints = no_execute(node, store);
            for (id, pod) in store.pods_on(node).iter().filter_map(|&id| Some((id, store.pod(id)?))) {
                if root_of(pod, store) == Some(workload) {
                    let stay = no_execute_stay(&taints, &template.spec.tolerations);
                    self.lengthen(at, id, pod, &taints, stay, node, nodes, Some(workload));
                }
            }
        }
    }

    fn pod_changed(&mut self, at: SimTime, id: PodId, before: &Pod, pod: &Pod, nodes: &NodeFacts, store: &Store) {
        if let Some(node) = pod.node.filter(|&node| nodes.of(node).tainted_since.is_some()) {
            let taints = no_execute(node, store);
            let stay = no_execute_stay(&taints, &pod.spec.tolerations);
            self.lengthen(at, id, before, &taints, stay, node, nodes, None);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one pod on one node, before and after")]
    fn lengthen(
        &mut self,
        at: SimTime,
        id: PodId,
        pod: &Pod,
        taints: &[Taint],
        stay: NoExecuteStay,
        node: NodeId,
        nodes: &NodeFacts,
        workload: Option<WorkloadId>,
    ) {
        let Some((due, began)) = timer(pod, taints, node, nodes) else { return };
        let until = match stay {
            NoExecuteStay::Untolerated => return,
            NoExecuteStay::Forever => None,
            NoExecuteStay::Seconds(seconds) => Some(began + whole_seconds(seconds)),
        };
        if until.is_none_or(|until| until > due) {
            self.lengthened.insert(id, Lengthened { at, until, workload });
        }
    }

    fn pod_left(&mut self, at: SimTime, id: PodId, pod: &Pod, store: &Store) {
        let is_evicted = pod.deletion.is_some_and(|deletion| deletion.cause == DeletionCause::TaintManagerEviction);
        self.judge_restart(at, id, pod, if is_evicted { "was evicted" } else { "was deleted" }, store);
        let Some(lengthened) = self.lengthened.remove(&id) else { return };
        let is_early = lengthened.until.is_none_or(|until| until > at);
        if is_evicted && is_early {
            let cost = lengthened.until.map_or(SimDuration::ZERO, |until| until.saturating_since(at));
            self.late.add(at, pod, cost, lengthened.until.is_none(), || late_text(at, pod, &lengthened, store));
        }
    }

    fn judge_restart(&mut self, at: SimTime, id: PodId, pod: &Pod, what: &str, store: &Store) {
        let Some(lost) = self.lost.remove(&id) else { return };
        if at <= lost.due + SLACK {
            return;
        }
        let cost = at.saturating_since(lost.due);
        self.restarted.add(lost.restarted_at, pod, cost, false, || {
            format!(
                "a start of kube-controller-manager at {} began tolerations anew: {} on {} {what} at {}, {} after its \
                 toleration's end",
                moment(lost.restarted_at),
                name_of_pod(pod),
                node_name(store, lost.node),
                moment(at),
                length(cost)
            )
        });
    }
}

fn late_text(at: SimTime, pod: &Pod, lengthened: &Lengthened, store: &Store) -> String {
    let whose = match lengthened.workload.and_then(|workload| workload_name(workload, store)) {
        Some(workload) => format!("of {workload} was lengthened"),
        None => format!("of {} was lengthened", name_of_pod(pod)),
    };
    let early = match lengthened.until {
        Some(until) => format!("{} before the new one's end", length(until.saturating_since(at))),
        None => "though the new one has no end".to_owned(),
    };
    let place = pod.node.map(|node| format!(" on {}", node_name(store, node))).unwrap_or_default();
    format!(
        "the toleration {whose} at {}, when the timer ran already: {}{place} was evicted at {}, {early}",
        moment(lengthened.at),
        name_of_pod(pod),
        moment(at),
    )
}

/// When a pod's toleration ends and when it began to count; none if no timer runs for it.
fn timer(pod: &Pod, taints: &[Taint], node: NodeId, nodes: &NodeFacts) -> Option<(SimTime, SimTime)> {
    if !pod.is_active() {
        return None;
    }
    let began = nodes.of(node).tainted_since?.max(pod.scheduled_at.unwrap_or(pod.created_at));
    match no_execute_stay(taints, &pod.spec.tolerations) {
        NoExecuteStay::Seconds(seconds) => Some((began + whole_seconds(seconds), began)),
        NoExecuteStay::Untolerated | NoExecuteStay::Forever => None,
    }
}

fn whole_seconds(seconds: i64) -> SimDuration {
    SimDuration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// The template from which a workload's next pods are made.
fn template_of(workload: WorkloadId, store: &Store) -> Option<&PodTemplateSpec> {
    match workload {
        WorkloadId::Deployment(id) => store.deployments.get(id).map(|set| &*set.spec.template),
        WorkloadId::ReplicaSet(id) => store.replica_sets.get(id).map(|set| &*set.spec.template),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map(|set| &*set.spec.template),
        WorkloadId::DaemonSet(_) | WorkloadId::Job(_) | WorkloadId::CronJob(_) => None,
    }
}
