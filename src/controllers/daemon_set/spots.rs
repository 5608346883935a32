//! What the pods of a DaemonSet on one node come to, worked out when they or the node have changed: the real controller looks at every
//! node in each pass, and most of them are as they were.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::placement::Placements;
use super::revision::Revision;
use super::status::Counts;
use crate::arena::{BitSet, ChangeLog, Column};
use crate::component::DaemonPlacement;
use crate::state::{DaemonPods, DaemonSet, DaemonSetId, NodeId, NodeSlot, Pod, PodId, PodPhase, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// A pod that is not being deleted.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Staying {
    pub(super) id: PodId,
    pub(super) is_available: bool,
}

/// The pods of one node that are not being deleted: of the new template and of the old one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// None of either.
    Nothing,
    /// Several of one kind: not in a state to be updated.
    Unclear,
    /// Only a new one.
    New(Staying),
    /// Only an old one.
    Old(Staying),
    /// Both.
    Both { new: Staying, old: Staying },
}

/// What the status counts of a node: of several pods on it the one that would be kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) is_ready: bool,
    pub(super) is_available: bool,
    pub(super) is_updated: bool,
}

/// A node and the live pods on it, or that aim at it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) node: NodeId,
    pub(super) placement: DaemonPlacement,
    pub(super) found: Found,
    /// None if there is no live pod.
    pub(super) kept: Option<Kept>,
    /// There is nothing to be done, if no update is.
    pub(super) is_quiet: bool,
    /// A pod is Ready and becomes available by waiting.
    waits: bool,
}

impl Spot {
    /// Whether all that is on the node is one pod of the new template, which is available.
    fn is_current(&self) -> bool {
        matches!(self.found, Found::New(pod) if pod.is_available)
    }
}

/// What decides about pods beside themselves.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rule<'a> {
    pub(super) store: &'a Store,
    pub(super) set: DaemonSetId,
    /// The present template.
    pub(super) revision: Revision,
    pub(super) min_ready: SimDuration,
    pub(super) now: SimTime,
    /// Pods that the controller does not know of yet.
    pub(super) unseen: &'a FxHashSet<PodId>,
}

impl<'a> Rule<'a> {
    /// The live pods on a node, or that aim at it, in the order of the set's pods.
    pub(super) fn pods_on(&self, node: NodeId) -> SmallVec<[(PodId, &'a Pod); 2]> {
        let here = self.store.daemon_pods(self.set).map(|pods| pods.on(node)).unwrap_or_default();
        let live = here.iter().filter(|id| !self.unseen.contains(id)).filter_map(|&id| {
            let pod = self.store.pod(id).filter(|pod| !(pod.phase.is_terminal() && pod.deletion.is_some()))?;
            Some((id, pod))
        });
        let mut pods: SmallVec<[(PodId, &'a Pod); 2]> = live.collect();
        if pods.len() > 1 {
            let all = self.store.pods_of(WorkloadId::DaemonSet(self.set));
            pods.sort_by_key(|(id, _)| all.get_index_of(id));
        }
        pods
    }

    /// Whether that pod has been Ready for `minReadySeconds`.
    pub(super) fn is_available(&self, pod: &Pod) -> bool {
        pod.is_available(self.min_ready, self.now)
    }

    /// Whether that pod was made from the present template.
    pub(super) fn is_new(&self, pod: &Pod) -> bool {
        self.revision.is_of(pod)
    }

    /// The nodes on which pods of the set were written.
    fn writes(&self) -> &'a ChangeLog<NodeSlot> {
        static NOTHING: ChangeLog<NodeSlot> = ChangeLog::new();
        self.store.daemon_pods(self.set).map_or(&NOTHING, DaemonPods::writes)
    }

    /// What an update finds on a node.
    pub(super) fn found(&self, node: NodeId) -> Found {
        self.found_among(&self.pods_on(node))
    }

    fn found_among(&self, pods: &[(PodId, &Pod)]) -> Found {
        let staying = pods.iter().filter(|(_, pod)| pod.deletion.is_none());
        Found::of(staying.map(|&(id, pod)| (self.is_new(pod), Staying { id, is_available: self.is_available(pod) })))
    }

    fn spot(&self, node: NodeId, placement: DaemonPlacement) -> Spot {
        let pods = self.pods_on(node);
        let kept = pods.iter().map(|(_, pod)| *pod).min_by(|a, b| keep_order(a, b)).map(|pod| Kept {
            is_ready: pod.is_ready(),
            is_available: self.is_available(pod),
            is_updated: self.is_new(pod),
        });
        let is_quiet = match &pods[..] {
            [] => !placement.should_run,
            [(_, pod)] => {
                placement.should_continue
                    && pod.deletion.is_none()
                    && matches!(pod.phase, PodPhase::Pending | PodPhase::Running)
            }
            _ => false,
        };
        let waits = pods.iter().any(|(_, pod)| pod.is_ready() && !self.is_available(pod));
        Spot { node, placement, found: self.found_among(&pods), kept, is_quiet, waits }
    }
}

impl Found {
    /// Of pods and whether they are new.
    fn of(pods: impl Iterator<Item = (bool, Staying)>) -> Self {
        let (mut new, mut old) = (None, None);
        for (is_new, pod) in pods {
            if if is_new { &mut new } else { &mut old }.replace(pod).is_some() {
                return Self::Unclear;
            }
        }
        match (new, old) {
            (None, None) => Self::Nothing,
            (Some(new), None) => Self::New(new),
            (None, Some(old)) => Self::Old(old),
            (Some(new), Some(old)) => Self::Both { new, old },
        }
    }
}

/// The spots of a set: all existing nodes by name, as the last pass saw them, and what they come to together.
#[derive(Clone, Debug, Default)]
pub(super) struct Spots {
    spots: Vec<Spot>,
    /// Where each node stands among them.
    positions: Column<NodeSlot, Option<u32>>,
    /// Positions of those where there is something to be done, even without an update.
    loud: BitSet,
    /// Positions of those that are not current.
    behind: BitSet,
    /// Positions of those that change by waiting.
    waiting: BitSet,
    counts: Counts,
    /// Up to where the set's writes and the changes of nodes have been taken in.
    read: (u64, u64),
    /// For which revision, how long a pod has to be Ready, which nodes, and which verdicts on them. None if a verdict may be another.
    worked_out_for: Option<(Revision, SimDuration, u64, u64)>,
    /// Positions that were last looked at; for the memory.
    stale: BitSet,
}

impl Spots {
    /// Verdicts on nodes may be others, as the set's spec is.
    pub(super) fn forget(&mut self) {
        self.worked_out_for = None;
    }

    /// Those where there is something to be done, even without an update.
    pub(super) fn loud(&self) -> impl Iterator<Item = &Spot> {
        self.loud.iter().map(|position| &self.spots[position])
    }

    /// All but the current ones: what an update looks at.
    pub(super) fn behind(&self) -> impl Iterator<Item = &Spot> {
        self.behind.iter().map(|position| &self.spots[position])
    }

    /// How many have one available pod of the new template, and nothing else.
    pub(super) fn current_count(&self) -> usize {
        self.spots.len() - self.behind.len()
    }

    /// What the status counts.
    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes in all that has changed: what a pass begins with.
    pub(super) fn refresh(&mut self, rule: &Rule<'_>, set: &DaemonSet, placements: &mut Placements) {
        placements.pass_begins(rule.set);
        let wanted = Some((rule.revision, rule.min_ready, rule.store.node_changes(), placements.orders()));
        if self.worked_out_for == wanted {
            let stale = self.find_stale(rule, placements);
            for position in stale.iter() {
                let spot = &self.spots[position];
                let placement = placements.of(rule.set, set, spot.node, rule.store).unwrap_or(spot.placement);
                self.put(position, rule.spot(spot.node, placement));
            }
            self.stale = stale;
        } else {
            let nodes = placements.order(rule.store).to_vec();
            // A node may have gone since, and its removal not have been delivered yet.
            let spots = nodes.into_iter().filter_map(|node| {
                let placement = placements.of(rule.set, set, node, rule.store)?;
                Some(rule.spot(node, placement))
            });
            *self = Self { worked_out_for: wanted, ..spots.collect() };
        }
        self.read = (rule.writes().end(), placements.log().end());
        debug_assert!(
            self.spots.iter().all(|spot| *spot == rule.spot(spot.node, spot.placement)),
            "a spot has changed, and nothing said so"
        );
        debug_assert!(self.add_up(), "spots do not come to what was counted");
    }

    /// Takes in what has become of pods: what a pass ends with. Nodes are those that it began with.
    pub(super) fn refresh_pods(&mut self, rule: &Rule<'_>, placements: &Placements) {
        let is_other = self
            .worked_out_for
            .is_none_or(|(revision, min_ready, ..)| (revision, min_ready) != (rule.revision, rule.min_ready));
        if is_other {
            self.forget();
        }
        let stale = self.find_stale(rule, placements);
        for position in stale.iter() {
            // The change of the node is for the next pass, which finds it in the log again.
            let spot = &self.spots[position];
            self.put(position, rule.spot(spot.node, spot.placement));
        }
        self.stale = stale;
        self.read.0 = rule.writes().end();
    }

    /// Positions at which anything may have changed, in memory that is to be given back.
    fn find_stale(&mut self, rule: &Rule<'_>, placements: &Placements) -> BitSet {
        let mut stale = std::mem::take(&mut self.stale);
        stale.clear();
        let logs = (rule.writes().since(self.read.0), placements.log().since(self.read.1));
        if let (Some(_), (Some(writes), Some(changes))) = (self.worked_out_for, logs) {
            stale.union(&self.waiting);
            for position in writes.chain(changes).filter_map(|node| *self.positions.get(node)) {
                stale.insert(position);
            }
        } else {
            (0..self.spots.len()).for_each(|position| _ = stale.insert(position));
        }
        stale
    }

    fn put(&mut self, position: usize, spot: Spot) {
        let before = std::mem::replace(&mut self.spots[position], spot);
        self.counts -= Counts::of(&before);
        self.count(position, &spot);
    }

    fn count(&mut self, position: usize, spot: &Spot) {
        self.counts += Counts::of(spot);
        self.loud.set(position, !spot.is_quiet);
        self.behind.set(position, !spot.is_current());
        self.waiting.set(position, spot.waits);
    }

    /// Whether what all spots come to is what they come to counted anew.
    fn add_up(&self) -> bool {
        let anew: Self = self.spots.iter().copied().collect();
        (anew.counts, anew.loud, anew.behind, anew.waiting)
            == (self.counts, self.loud.clone(), self.behind.clone(), self.waiting.clone())
    }
}

impl FromIterator<Spot> for Spots {
    fn from_iter<T: IntoIterator<Item = Spot>>(spots: T) -> Self {
        let mut all = Self { spots: spots.into_iter().collect(), ..Self::default() };
        for position in 0..all.spots.len() {
            let spot = all.spots[position];
            *all.positions.get_mut(spot.node) = Some(position as u32);
            all.count(position, &spot);
        }
        all
    }
}

/// Pods of one node in the order in which they are kept: bound before unbound, older first, then by name.
pub(super) fn keep_order(a: &Pod, b: &Pod) -> std::cmp::Ordering {
    (b.node.is_some().cmp(&a.node.is_some()))
        .then_with(|| a.created_at.floor_to_second().cmp(&b.created_at.floor_to_second()))
        .then_with(|| a.name.cmp(&b.name))
}

/// How long a pod has to be Ready to count as available.
pub(super) fn min_ready(set: &DaemonSet) -> SimDuration {
    SimDuration::from_secs(set.spec.min_ready_seconds.max(0).unsigned_abs().into())
}
