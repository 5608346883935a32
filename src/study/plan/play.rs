//! One play of a case, and what it leaves.

use std::sync::Arc;

use serde::Serialize;

use super::capacity::{Amount, stays_for_ever, unreachable};
use super::cases::LostSet;
use crate::arena::Symbol;
use crate::chaos::{ChaosPlan, FaultKind, FaultSpec, NodeTarget};
use crate::model::TaintEffect;
use crate::observe::{Detail, Objective, Observers};
use crate::scenario::{ResolvedScenario, TimelineAction};
use crate::simulation::{Prepared, Script, Simulation};
use crate::state::{Node, NodeId, Owner, Pod, PodPhase, Store};
use crate::units::{SimDuration, SimTime};

/// Something that is not as it has to be at the end of a case. What comes first in this list says most.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ShortfallKind {
    /// A pod has no node.
    Pending,
    /// A pod is still counted on a lost node.
    LeftBehind,
    /// A pod has a node and has not started there.
    NotStarted,
    /// A node could not be drained.
    NotDrained,
    /// A budget has fewer healthy pods than it wants.
    Budget,
    /// An objective does not hold.
    Objective,
    /// An `expect` of the case's scenario does not hold.
    Expectation,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shortfall {
    /// Which kind.
    pub kind: ShortfallKind,
    /// What falls short: `pod/shop/cart-1`, `deployment/shop/cart`.
    pub object: String,
    /// Why, as far as the cluster says.
    pub why: String,
}

/// What a play leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Everything that is not as it has to be, the most telling first; none if the case is survived.
    pub shortfalls: Vec<Shortfall>,
    /// Missing ready pods times seconds. Those of DaemonSets are left out: a lost node's go with it by their nature, and for
    /// how long they are missed depends on when their controller happens to look.
    pub unready_replica_s: f64,
    /// Workloads but DaemonSets that were below `minReady` at some time, or below what they want if they have no objective.
    pub workloads_below: u64,
    /// Pods of the given priority without a node at the end.
    pub pending: u64,
    /// Pods that hang on lost nodes at the end and that Kubernetes does not replace before the node is back: those of StatefulSets,
    /// and those that tolerate the loss without end.
    pub stuck: u64,
    /// Pods that are lost for good, as a run has it: nothing makes them anew, however many nodes there are.
    pub lost: u64,
    /// The first workload that has lost such pods.
    pub lost_first: Option<String>,
    /// CPU that is free on the nodes left, in thousandths.
    pub free_cpu_milli: i64,
    /// Memory that is free on them, in bytes.
    pub free_memory: i64,
    /// CPU they give.
    pub cpu_milli: i64,
    /// Memory they give.
    pub memory: i64,
    /// Pods that they have room for besides those that are there.
    pub free_pods: i64,
    /// Pods that they hold at most.
    pub pods: i64,
}

impl Outcome {
    /// Whether nothing falls short that nodes can help: pods that hang on lost nodes or are lost for good are counted apart.
    #[must_use]
    pub fn is_survived(&self) -> bool {
        self.shortfalls.is_empty()
    }

    /// What is left when more nodes are lost than there are.
    pub(super) fn nothing_left(count: u32) -> Self {
        let why = format!("the cluster has no {count} nodes to lose");
        let shortfall = Shortfall { kind: ShortfallKind::LeftBehind, object: "cluster".to_owned(), why };
        Self { shortfalls: vec![shortfall], ..Self::default() }
    }

    /// Pods that no number of nodes helps.
    #[must_use]
    pub fn beyond_help(&self) -> u64 {
        self.stuck + self.lost
    }

    /// The share of the scarcest of CPU, memory and pod slots that is free.
    #[must_use]
    pub fn free_share(&self) -> f64 {
        let share = |free: i64, all: i64| if all > 0 { free as f64 / all as f64 } else { 0.0 };
        let of_resources = share(self.free_cpu_milli, self.cpu_milli).min(share(self.free_memory, self.memory));
        of_resources.min(share(self.free_pods, self.pods))
    }
}

/// What plays have to be judged by.
#[derive(Copy, Clone, Debug)]
pub(super) struct Judge {
    /// Pods of at least this priority must have their place.
    pub(super) priority: i32,
}

/// A cluster that is lost nodes of for as long as the play lasts.
pub(super) fn loss(scenario: &ResolvedScenario, lost: &LostSet) -> Script {
    let names = lost.nodes.iter().map(|name| name.as_str().to_owned()).collect();
    let nodes = NodeTarget { names, ..NodeTarget::default() };
    let fault = FaultSpec { nodes, ..FaultSpec::new(FaultKind::Crash) };
    let chaos =
        ChaosPlan { faults: vec![(SimTime::ZERO, fault)], pools: scenario.chaos.pools.clone(), ..ChaosPlan::default() };
    Script {
        chaos: Arc::new(chaos),
        procedures: Arc::clone(&scenario.procedures),
        timeline: vec![(SimTime::ZERO, TimelineAction::Fault(0))],
        ..Script::default()
    }
}

impl Judge {
    /// Plays a script on a settled cluster until nothing is left to happen, or the scenario is over.
    pub(super) fn play(self, scenario: &ResolvedScenario, settled: &Prepared, script: Script) -> Outcome {
        let observers = observers(&scenario.objectives);
        let end = SimTime::ZERO + scenario.duration;
        self.end(scenario, settled.start_script(script, scenario.seed, observers), end)
    }

    /// Plays what happens in the scenario itself.
    pub(super) fn play_own(self, scenario: &ResolvedScenario, settled: &Prepared) -> Outcome {
        let observers = observers(&scenario.objectives);
        let end = SimTime::ZERO + scenario.duration;
        self.end(scenario, settled.start(scenario.seed, observers), end)
    }

    /// Plays a run up to its end, and says what is left.
    pub(super) fn end(self, scenario: &ResolvedScenario, mut run: Simulation, end: SimTime) -> Outcome {
        run.run_until(end);
        let finished = run.finish();
        let mut outcome = self.judge(&finished.store);
        let observed = finished.observers.finish(end, &finished.store, finished.events);
        let summary = observed.summary;
        for workload in &summary.workloads {
            outcome.lost += u64::from(workload.lost);
            if workload.lost > 0 && outcome.lost_first.is_none() {
                outcome.lost_first = Some(workload.object());
            }
            if workload.kind != "DaemonSet" {
                outcome.unready_replica_s += workload.unready_replica_s;
                outcome.workloads_below += u64::from(workload.below_min_ready_s > 0.0);
            }
            if workload.objective_met == Some(false) {
                let object = format!("{}/{}/{}", workload.kind.to_ascii_lowercase(), workload.namespace, workload.name);
                let why = format!(
                    "enough pods are ready {:.3} % of the time; the objective is {:.3} %",
                    workload.availability * 100.0,
                    workload.objective.unwrap_or(0.0) * 100.0
                );
                outcome.shortfalls.push(Shortfall { kind: ShortfallKind::Objective, object, why });
            }
        }
        for expectation in &scenario.expectations {
            let found = expectation.judge(&summary.metrics);
            if !found.holds {
                let why = format!("is {}, expected {} {}", found.found, found.op, found.value);
                outcome.shortfalls.push(Shortfall { kind: ShortfallKind::Expectation, object: found.metric, why });
            }
        }
        outcome.shortfalls.sort_by_key(|shortfall| shortfall.kind);
        outcome
    }

    /// Pods that count, were made until then, and are not where they should be: the one that is hardest to place among the most
    /// important ones comes first.
    pub(super) fn misplaced(self, store: &Store, made_until: SimTime) -> Vec<Shortfall> {
        let mut pods: Vec<(ShortfallKind, &Pod, String)> = Vec::new();
        for (_, pod) in store.pods().filter(|(_, pod)| pod.created_at <= made_until) {
            let counts = pod.is_active() && pod.spec.priority >= self.priority && pod.spec.scheduling_gates.is_empty();
            if let Some((kind, why)) = counts.then(|| misplaced(pod, store)).flatten() {
                pods.push((kind, pod, why));
            }
        }
        pods.sort_by(|(kind, a, _), (other_kind, b, _)| {
            let urgency = |pod: &Pod| (pod.spec.priority, pod.spec.requests.cpu_milli, pod.spec.requests.memory);
            kind.cmp(other_kind)
                .then_with(|| urgency(b).cmp(&urgency(a)))
                .then_with(|| (a.namespace, &a.name).cmp(&(b.namespace, &b.name)))
        });
        let shortfall = |(kind, pod, why): (ShortfallKind, &Pod, String)| Shortfall {
            kind,
            object: format!("pod/{}/{}", pod.namespace, pod.name),
            why,
        };
        pods.into_iter().map(shortfall).collect()
    }

    /// What is not as it has to be in a cluster, and how much of it is free.
    pub(super) fn judge(self, store: &Store) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.stuck = store.pods().filter(|(_, pod)| is_stuck(pod, store)).count() as u64;
        outcome.shortfalls = self.misplaced(store, SimTime::MAX);
        outcome.pending = outcome.shortfalls.iter().filter(|found| found.kind == ShortfallKind::Pending).count() as u64;
        let mut budgets: Vec<Shortfall> = Vec::new();
        for (_, budget) in store.budgets.iter() {
            let status = &budget.status;
            if status.expected_pods > 0 && status.current_healthy < status.desired_healthy {
                let object = format!("poddisruptionbudget/{}/{}", budget.meta.namespace, budget.meta.name);
                let why =
                    format!("{} of {} pods that it wants are healthy", status.current_healthy, status.desired_healthy);
                budgets.push(Shortfall { kind: ShortfallKind::Budget, object, why });
            }
        }
        budgets.sort_by(|a, b| a.object.cmp(&b.object));
        outcome.shortfalls.extend(budgets);
        measure(store, &mut outcome);
        outcome
    }
}

pub(super) fn observers(objectives: &[Objective]) -> Observers {
    Observers::new(Detail::Summary, objectives.to_vec(), SimDuration::ZERO)
}

/// Whether the machine of a node is off or gone.
fn is_lost(node: NodeId, store: &Store) -> bool {
    !store.machine(node).kubelet_alive()
}

/// A pod on a lost node that has an identity and waits for somebody to confirm that it is gone, or that is never evicted.
fn is_stuck(pod: &Pod, store: &Store) -> bool {
    let is_of_node = matches!(pod.owner, Some(Owner::DaemonSet(_) | Owner::Node(_)));
    let waits = matches!(pod.owner, Some(Owner::StatefulSet(_))) && pod.is_terminating();
    let stays = pod.is_active() && !is_of_node && stays_for_ever(pod);
    (waits || stays) && pod.node.is_some_and(|node| is_lost(node, store))
}

/// What keeps a pod that counts from being where it should; none if it has its place.
fn misplaced(pod: &Pod, store: &Store) -> Option<(ShortfallKind, String)> {
    let Some(node) = pod.node else {
        let said = pod.not_scheduled.as_ref().map(|said| said.message.to_string());
        let why = said.unwrap_or_else(|| "the scheduler has not got to it when the play ends".to_owned());
        return Some((ShortfallKind::Pending, why));
    };
    let name = store.node_name(node);
    if is_lost(node, store) {
        let is_bound_to_it = matches!(pod.owner, Some(Owner::DaemonSet(_) | Owner::Node(_))) || stays_for_ever(pod);
        return (!is_bound_to_it)
            .then(|| (ShortfallKind::LeftBehind, left_behind(name, store.node(node).map(|n| &**n))));
    }
    let has_started = pod.phase != PodPhase::Pending;
    (!has_started).then(|| (ShortfallKind::NotStarted, format!("it has not started on {name} when the play ends")))
}

fn left_behind(name: Symbol, node: Option<&Node>) -> String {
    let taint = unreachable();
    let is_tainted = node.is_some_and(|node| node.taint(taint.key, TaintEffect::NoExecute).is_some());
    if is_tainted {
        format!(
            "{name} is lost and the pod not yet evicted when the play ends: lengthen `spec.duration` of the scenario"
        )
    } else {
        format!(
            "{name} is lost and not tainted for eviction: kube-controller-manager holds evictions back when most nodes of a zone are lost, or the play is too short"
        )
    }
}

/// How much the nodes that pods can go to give, and how much of that is free.
fn measure(store: &Store, outcome: &mut Outcome) {
    let repels = |effect: TaintEffect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
    for (id, node) in store.nodes() {
        if is_lost(id, store) || node.unschedulable || node.taints.iter().any(|taint| repels(taint.effect)) {
            continue;
        }
        let Amount { resources: given, pods } = Amount::of_node(node);
        let mut free = given.clone();
        let mut free_pods = pods;
        for pod in store.pods_on(id).iter().filter_map(|pod| store.pod(*pod)).filter(|pod| !pod.phase.is_terminal()) {
            free.sub(&pod.spec.requests);
            free_pods -= 1;
        }
        outcome.pods += pods;
        outcome.free_pods += free_pods;
        outcome.cpu_milli += given.cpu_milli;
        outcome.memory += given.memory;
        outcome.free_cpu_milli += free.cpu_milli;
        outcome.free_memory += free.memory;
    }
}
