//! One play of a case, and what it leaves.

use std::sync::Arc;

use super::capacity::{stays_for_ever, unreachable};
use super::cases::LostSet;
use super::judge::Judge;
use super::margin::{Margin, is_lost};
use super::refused::Refused;
use super::shortfall::{Shortfall, ShortfallKind, WAIT_MAX, Wait};
use super::waits::{Waited, Watch};
use crate::arena::Symbol;
use crate::chaos::{ChaosPlan, FaultKind, FaultSpec, NodeTarget};
use crate::model::TaintEffect;
use crate::observe::{Detail, Objective, Observers};
use crate::scenario::{ResolvedScenario, TimelineAction};
use crate::simulation::{Prepared, Script, Simulation};
use crate::state::{Node, Owner, Pod, PodPhase, Store};
use crate::units::{SimDuration, SimTime};

/// What a play leaves.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Pods of the given priority that fitted nowhere for a whole minute, at any time, though a node more would have taken them.
    pub waited: u64,
    /// The longest such wait.
    pub longest_wait: SimDuration,
    /// Pods that fitted nowhere for a whole minute, and on a node more neither: what they wait for is the end of the case itself.
    pub waited_beyond_help: u64,
    /// The longest of these waits.
    pub first_beyond_help: Option<Shortfall>,
    /// Pods that could not be made for a whole minute, of each workload the most at a time: a quota or a limit refuses them, whatever
    /// nodes there are.
    pub refused: u64,
    /// The workloads they are of, the most pods first.
    pub refusals: Vec<Refused>,
    /// Pods that hang on lost nodes at the end and that Kubernetes does not replace before the node is back: those of StatefulSets,
    /// and those that tolerate the loss without end.
    pub stuck: u64,
    /// Pods that are lost for good, as a run has it: nothing makes them anew, however many nodes there are.
    pub lost: u64,
    /// The first workload that has lost such pods.
    pub lost_first: Option<String>,
    /// The least that was free, of what was seen at the start, at the end and at least once a minute between; none if pods could go to
    /// no node then.
    pub margin: Option<Margin>,
}

impl Outcome {
    /// Whether nothing falls short that nodes can help: pods that hang on lost nodes, are lost for good or are refused are counted apart.
    #[must_use]
    pub fn is_survived(&self) -> bool {
        self.shortfalls.is_empty()
    }

    /// What is left when more nodes are lost than there are.
    pub(super) fn nothing_left(count: u32) -> Self {
        let why = format!("the cluster has no {count} nodes to lose");
        let shortfall = Shortfall::new(ShortfallKind::LeftBehind, "cluster".to_owned(), why);
        Self { shortfalls: vec![shortfall], ..Self::default() }
    }

    /// Adds what had to wait. A pod that has no node at the end is told of once, with the time since when.
    fn add_waits(&mut self, waited: Waited) {
        let Waited { short, beyond_help, refused } = waited;
        self.refused = refused.iter().map(|found| u64::from(found.pods)).sum();
        self.refusals = refused;
        self.waited = short.len() as u64;
        self.longest_wait = short.first().and_then(|first| first.wait).map_or(SimDuration::ZERO, Wait::length);
        self.waited_beyond_help = beyond_help.len() as u64;
        self.first_beyond_help = beyond_help.first().cloned();
        for known in self.shortfalls.iter_mut().filter(|known| known.kind == ShortfallKind::Pending) {
            let mut waits = short.iter().chain(&beyond_help);
            if let Some(found) = waits.find(|wait| wait.object == known.object) {
                (known.wait, known.is_beyond_help) = (found.wait, found.is_beyond_help);
            }
        }
        let is_new = |wait: &Shortfall| self.shortfalls.iter().all(|known| known.object != wait.object);
        let new: Vec<Shortfall> = short.into_iter().filter(is_new).collect();
        self.shortfalls.extend(new);
    }

    /// The columns of `cases.csv` that [`Self::beyond_help`] is the sum of.
    pub const BEYOND_HELP: [&'static str; 4] = ["stuck", "lost_for_good", "waited_beyond_help", "refused"];

    /// Pods that no number of nodes helps.
    #[must_use]
    pub fn beyond_help(&self) -> u64 {
        self.stuck + self.lost + self.waited_beyond_help + self.refused
    }
}

/// A script in which these faults happen at t=0, and whatever the scenario's loads and schedules bring.
fn script(scenario: &ResolvedScenario, chaos: ChaosPlan) -> Script {
    let timeline = (0..chaos.faults.len()).map(|index| (SimTime::ZERO, TimelineAction::Fault(index))).collect();
    let chaos = ChaosPlan { pools: scenario.chaos.pools.clone(), ..chaos };
    let procedures = Arc::clone(&scenario.procedures);
    Script { chaos: Arc::new(chaos), procedures, timeline, ..Script::default() }
}

/// A cluster that is lost nodes of for as long as the play lasts.
pub(super) fn loss(scenario: &ResolvedScenario, lost: &LostSet) -> Script {
    let names = lost.nodes.iter().map(|name| name.as_str().to_owned()).collect();
    let nodes = NodeTarget { names, ..NodeTarget::default() };
    let fault = FaultSpec { nodes, ..FaultSpec::new(FaultKind::Crash) };
    script(scenario, ChaosPlan { faults: vec![(SimTime::ZERO, fault)], ..ChaosPlan::default() })
}

impl Judge {
    /// What is left, and what had to wait, if nothing happens but what the scenario's loads and schedules bring.
    pub(super) fn play_calm(self, scenario: &ResolvedScenario, settled: &Prepared, watch: Watch<'_>) -> Outcome {
        self.play(scenario, settled, script(scenario, ChaosPlan::default()), watch)
    }

    /// Plays a script on a settled cluster until the scenario is over.
    pub(super) fn play(
        self,
        scenario: &ResolvedScenario,
        settled: &Prepared,
        script: Script,
        watch: Watch<'_>,
    ) -> Outcome {
        let run = settled.start_script(script, scenario.seed, observers(&scenario.objectives));
        self.end(scenario, run, watch, SimTime::ZERO + scenario.duration)
    }

    /// Plays what happens in the scenario itself.
    pub(super) fn play_own(self, scenario: &ResolvedScenario, settled: &Prepared, watch: Watch<'_>) -> Outcome {
        let run = settled.start(scenario.seed, observers(&scenario.objectives));
        self.end(scenario, run, watch, SimTime::ZERO + scenario.duration)
    }

    /// Plays a run up to its end, and says what is left and what had to wait.
    pub(super) fn end(
        self,
        scenario: &ResolvedScenario,
        mut run: Simulation,
        mut watch: Watch<'_>,
        end: SimTime,
    ) -> Outcome {
        watch.play_until(&mut run, end);
        let (margin, waited) = watch.end(&run, end);
        let finished = run.finish();
        let mut outcome = self.judge(&finished.store);
        outcome.margin = margin;
        outcome.add_waits(waited);
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
                outcome.shortfalls.push(Shortfall::new(ShortfallKind::Objective, object, why));
            }
        }
        for expectation in &scenario.expectations {
            let found = expectation.judge(&summary.metrics);
            if !found.holds {
                let why = format!("is {}, expected {} {}", found.found, found.op, found.value);
                outcome.shortfalls.push(Shortfall::new(ShortfallKind::Expectation, found.metric, why));
            }
        }
        outcome.shortfalls.sort_by_key(|shortfall| shortfall.kind);
        outcome
    }

    /// Pods that count and are not where they should be: the one that is hardest to place among the most important ones comes first.
    fn misplaced(self, store: &Store) -> Vec<Shortfall> {
        let mut pods: Vec<(ShortfallKind, &Pod, String)> = Vec::new();
        for (_, pod) in store.pods().filter(|(_, pod)| self.counts(pod)) {
            if let Some((kind, why)) = misplaced(pod, store) {
                pods.push((kind, pod, why));
            }
        }
        pods.sort_by(|(kind, a, _), (other_kind, b, _)| {
            let urgency = |pod: &Pod| (pod.spec.priority, pod.spec.requests.cpu_milli, pod.spec.requests.memory);
            kind.cmp(other_kind)
                .then_with(|| urgency(b).cmp(&urgency(a)))
                .then_with(|| (a.namespace, &a.name).cmp(&(b.namespace, &b.name)))
        });
        let shortfall = |(kind, pod, why): (ShortfallKind, &Pod, String)| {
            Shortfall::new(kind, format!("pod/{}/{}", pod.namespace, pod.name), why)
        };
        pods.into_iter().map(shortfall).collect()
    }

    /// What is not as it has to be in a cluster.
    pub(super) fn judge(self, store: &Store) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.stuck = store.pods().filter(|(_, pod)| is_stuck(pod, store)).count() as u64;
        outcome.shortfalls = self.misplaced(store);
        outcome.pending = outcome.shortfalls.iter().filter(|found| found.kind == ShortfallKind::Pending).count() as u64;
        let mut budgets: Vec<Shortfall> = Vec::new();
        for (_, budget) in store.budgets.iter() {
            let status = &budget.status;
            if status.expected_pods > 0 && status.current_healthy < status.desired_healthy {
                let object = format!("poddisruptionbudget/{}/{}", budget.meta.namespace, budget.meta.name);
                let why =
                    format!("{} of {} pods that it wants are healthy", status.current_healthy, status.desired_healthy);
                budgets.push(Shortfall::new(ShortfallKind::Budget, object, why));
            }
        }
        budgets.sort_by(|a, b| a.object.cmp(&b.object));
        outcome.shortfalls.extend(budgets);
        outcome
    }
}

pub(super) fn observers(objectives: &[Objective]) -> Observers {
    Observers::new(Detail::Summary, objectives.to_vec(), SimDuration::ZERO).watching_waits(WAIT_MAX)
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
