//! What was seen, and what would have been seen: the rows of `observed.csv` by their objects, and what its sources cover.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::Symbol;
use crate::evidence::{FactKind, ObservedFact, RecordKind};
use crate::units::SimTime;

/// By how many milliseconds times of two files that have been rounded can be apart without a difference.
const ROUNDING: i64 = 1;

/// When a fact was seen, in milliseconds since t=0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) at: i64,
    pub(super) earliest: i64,
    pub(super) latest: i64,
}

impl Window {
    pub(super) fn of(fact: &ObservedFact) -> Self {
        const NANOS: i64 = 1_000_000;
        let up = |time: SimTime| time.as_nanos().div_euclid(NANOS) + i64::from(time.as_nanos().rem_euclid(NANOS) > 0);
        Self {
            at: fact.at.to_milliseconds().as_nanos() / NANOS,
            earliest: fact.earliest.as_nanos().div_euclid(NANOS),
            latest: up(fact.latest),
        }
    }

    /// How long after the bounds an instant is; negative before them, zero within.
    pub(super) fn off(self, at: i64) -> i64 {
        if at < self.earliest - ROUNDING {
            at - self.earliest
        } else if at > self.latest + ROUNDING {
            at - self.latest
        } else {
            0
        }
    }
}

/// A pod, or all of one name, of which something was seen.
#[derive(Clone, Debug)]
pub(super) struct SeenPod {
    pub(super) namespace: Symbol,
    pub(super) name: Symbol,
    /// Empty if no fact of it tells.
    pub(super) owner_kind: Symbol,
    pub(super) owner_name: Symbol,
    /// The first that a fact of it tells, or empty.
    pub(super) node: Symbol,
    /// Places in the evidence, in the order of time.
    pub(super) facts: Vec<usize>,
}

/// The evidence by its objects.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Places of the facts of each node, in the order of time.
    pub(super) nodes: BTreeMap<Symbol, Vec<usize>>,
    /// In the order of namespace and name.
    pub(super) pods: Vec<SeenPod>,
}

impl Seen {
    pub(super) fn of(observed: &[ObservedFact]) -> Self {
        let mut places: Vec<usize> = (0..observed.len()).collect();
        places.sort_by_key(|place| (observed[*place].at, *place));
        let mut seen = Self::default();
        let mut pods: BTreeMap<(Symbol, Symbol), SeenPod> = BTreeMap::new();
        for place in places {
            let fact = observed[place].fact;
            if !fact.kind.is_of_pod() {
                seen.nodes.entry(fact.name).or_default().push(place);
                continue;
            }
            let pod = pods.entry((fact.namespace, fact.name)).or_insert_with(|| SeenPod {
                namespace: fact.namespace,
                name: fact.name,
                owner_kind: Symbol::empty(),
                owner_name: Symbol::empty(),
                node: Symbol::empty(),
                facts: Vec::new(),
            });
            pod.facts.push(place);
            if pod.owner_name.is_empty() {
                (pod.owner_kind, pod.owner_name) = (fact.owner_kind, fact.owner_name);
            }
            if pod.node.is_empty() {
                pod.node = fact.node;
            }
        }
        seen.pods = pods.into_values().collect();
        seen
    }
}

/// What a source tells of.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// None of facts whose row names no source.
    pub(super) kind: Option<RecordKind>,
    /// How many facts.
    pub(super) facts: usize,
    /// From the first bound to the last, in milliseconds.
    pub(super) from: i64,
    pub(super) to: i64,
    kinds: BTreeSet<FactKind>,
    namespaces: BTreeSet<Symbol>,
    /// Between two samples, in milliseconds; none of what does not sample.
    step: i64,
}

/// What the sources of the evidence tell of.
#[derive(Debug)]
pub(super) struct Coverage(pub(super) Vec<Source>);

impl Coverage {
    pub(super) fn of(observed: &[ObservedFact]) -> Self {
        let mut sources: BTreeMap<Option<RecordKind>, Source> = BTreeMap::new();
        let step = step(observed);
        for fact in observed {
            let Window { earliest, latest, .. } = Window::of(fact);
            let named = fact.sources.iter().copied().map(Some);
            let unnamed = fact.sources.is_empty().then_some(None);
            for kind in named.chain(unnamed) {
                let source = sources.entry(kind).or_insert_with(|| Source {
                    kind,
                    facts: 0,
                    from: earliest,
                    to: latest,
                    kinds: BTreeSet::new(),
                    namespaces: BTreeSet::new(),
                    step: if kind == Some(RecordKind::Metrics) { step } else { 0 },
                });
                source.facts += 1;
                (source.from, source.to) = (source.from.min(earliest), source.to.max(latest));
                source.kinds.insert(fact.fact.kind);
                source.namespaces.extend(fact.fact.kind.is_of_pod().then_some(fact.fact.namespace));
            }
        }
        Self(sources.into_values().collect())
    }

    /// Whether the evidence would tell of a fact at that time, had it come about: a source of it tells facts of that kind, of pods of
    /// that namespace if it is of a pod, and of earlier and of later things, and samples as often as is needed to see what shows for so
    /// many milliseconds.
    pub(super) fn would_tell(&self, kind: FactKind, namespace: Symbol, value: Symbol, at: i64, shown: i64) -> bool {
        self.0.iter().any(|source| {
            source.kinds.contains(&kind)
                && shown >= source.step
                && (!kind.is_of_pod() || source.namespaces.contains(&namespace))
                && (source.from - ROUNDING..=source.to + ROUNDING).contains(&at)
                && source.kind.is_none_or(|source| tells_all(source, kind, value.as_str()))
        })
    }
}

/// The time between two samples, in milliseconds: as wide as the bounds of most of what samples alone tell of states are.
fn step(observed: &[ObservedFact]) -> i64 {
    let is_sampled = |fact: &&ObservedFact| {
        fact.sources == [RecordKind::Metrics]
            && matches!(
                fact.fact.kind,
                FactKind::NodeReady | FactKind::NodeTaint | FactKind::PodReady | FactKind::PodGone
            )
    };
    let mut widths: Vec<i64> =
        observed.iter().filter(is_sampled).map(Window::of).map(|window| window.latest - window.earliest).collect();
    widths.sort_unstable();
    widths.get(widths.len() / 2).copied().unwrap_or(0)
}

/// Whether a record of that kind that tells some facts of a kind and value tells all of them.
///
/// # Source
///
/// Events: kubelets and controllers report no condition Ready of a pod but that its node is lost, no end of a pod but an eviction by its
/// kubelet, and of deletions those by a taint, by the scheduler and by controllers of workloads. kube-controller-manager logs the
/// deletions of its taint manager and its garbage collector. An audit log without the responses' bodies does not name the pods that a
/// controller lets the API server name. A dump has the last change of an object alone; clouds know machines.
fn tells_all(source: RecordKind, kind: FactKind, value: &str) -> bool {
    match (source, kind) {
        (RecordKind::Audit, FactKind::PodCreated) => false,
        (RecordKind::Audit | RecordKind::Metrics, _) => true,
        (RecordKind::Objects | RecordKind::Cloud, _) => false,
        (RecordKind::Events | RecordKind::Intervals, FactKind::PodReady | FactKind::PodFinished) => false,
        (RecordKind::Events | RecordKind::Intervals, FactKind::PodDeletion) => {
            matches!(
                value,
                "TaintManagerEviction" | "PreemptionByScheduler" | "NodePressure" | "ScaleDown" | "RollingUpdate"
            )
        }
        (RecordKind::ControllerLog, FactKind::PodDeletion) => {
            matches!(value, "TaintManagerEviction" | "DeletionByPodGC")
        }
        (RecordKind::Events | RecordKind::Intervals | RecordKind::ControllerLog, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_widened_by_what_rounding_takes() {
        let window = Window { at: 100, earliest: 90, latest: 110 };
        assert_eq!([80, 88, 89, 90, 110, 111, 112].map(|at| window.off(at)), [-10, -2, 0, 0, 0, 0, 2]);
    }
}
