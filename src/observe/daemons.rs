//! Pods of DaemonSets on machines that are off.
//!
//! Kubernetes soon does not count such a machine among those that should run one. Until then the DaemonSet is short by the pod that has
//! been found not to be Ready, and so it is when it is wanted again and has not started: that time counts twice, here and as short. The
//! rest no figure shows.

use rustc_hash::FxHashMap;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use super::outcome::{OffMachines, WorkloadOutcome};
use super::workload::WorkloadKey;
use crate::state::{Change, Changed, MachineChange, NodeId, Owner, Pod, PodDelta, PodId, Power, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

#[derive(Clone, Debug, Default)]
struct Course {
    pods: usize,
    pods_max: usize,
    since: SimTime,
    total: SimDuration,
    /// Of it, what did not count as short.
    hidden: SimDuration,
    /// Whether the DaemonSet is short, or not there.
    is_short: bool,
}

impl Course {
    fn change(&mut self, at: SimTime, by: isize) {
        let passed = at.saturating_since(self.since);
        if self.pods > 0 {
            self.total += passed;
            self.hidden += if self.is_short { SimDuration::ZERO } else { passed };
        }
        self.since = at;
        self.pods = self.pods.saturating_add_signed(by);
        self.pods_max = self.pods_max.max(self.pods);
    }
}

/// Follows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Daemons {
    courses: FxHashMap<WorkloadKey, Course>,
    /// Those that do not run because of their machine.
    off: FxHashMap<PodId, WorkloadKey>,
}

impl Observer for Daemons {
    const NEEDED_FOR: Detail = Detail::Files;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        let store = seen.store;
        let nodes: Vec<NodeId> = store.nodes().map(|(id, _)| id).filter(|id| is_off(*id, store)).collect();
        for node in nodes {
            self.look(node, seen);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let store = seen.store;
        match &change.what {
            Changed::PodRemoved { pod, .. } => self.ends(change.at, *pod),
            Changed::PodUpdated { pod, delta, .. } if delta.touches(PodDelta::NODE | PodDelta::PHASE) => {
                let Some(object) = store.pod(*pod) else { return };
                if object.phase.is_terminal() {
                    self.ends(change.at, *pod);
                } else if delta.touches(PodDelta::NODE)
                    && let Some(node) = object.node.filter(|node| is_off(*node, store))
                {
                    self.look(node, seen);
                }
            }
            _ => {}
        }
        self.judge(change, seen);
    }

    fn machine_changed(&mut self, change: &MachineChange, seen: &Seen<'_>) {
        if let MachineChange::PowerOff(node) | MachineChange::InstanceGone(node) | MachineChange::Booted(node) = *change
        {
            self.look(node, seen);
        }
    }
}

impl Daemons {
    /// A machine is off, or is on again.
    fn look(&mut self, node: NodeId, seen: &Seen<'_>) {
        let (at, store) = (seen.now, seen.store);
        let is_off = is_off(node, store);
        for &id in store.pods_on(node) {
            let Some(pod) = store.pod(id) else { continue };
            let Some(Owner::DaemonSet(set)) = pod.owner else { continue };
            if !is_off {
                self.ends(at, id);
            } else if !pod.phase.is_terminal()
                && !self.off.contains_key(&id)
                && let Some(key) = WorkloadKey::of(WorkloadId::DaemonSet(set), store)
            {
                self.off.insert(id, key);
                let course = self.courses.entry(key).or_default();
                course.change(at, 1);
                course.is_short = seen.slo.is_short(key);
            }
        }
    }

    /// A change of a DaemonSet or of its pods may have made it short, or whole.
    fn judge(&mut self, change: &Change, seen: &Seen<'_>) {
        if self.off.is_empty() {
            return;
        }
        let of = |pod: &Pod| match pod.owner {
            Some(Owner::DaemonSet(set)) => Some(WorkloadId::DaemonSet(set)),
            _ => None,
        };
        let touched = match &change.what {
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) => Some(*id),
            Changed::PodAdded(id) | Changed::PodUpdated { pod: id, .. } => seen.store.pod(*id).and_then(of),
            Changed::PodRemoved { last, .. } => of(last),
            _ => None,
        };
        let Some(key) = touched.and_then(|id| WorkloadKey::of(id, seen.store)) else { return };
        if let Some(course) = self.courses.get_mut(&key) {
            course.change(change.at, 0);
            course.is_short = seen.slo.is_short(key);
        }
    }

    fn ends(&mut self, at: SimTime, pod: PodId) {
        if let Some(course) = self.off.remove(&pod).and_then(|key| self.courses.get_mut(&key)) {
            course.change(at, -1);
        }
    }

    /// Tells each DaemonSet's outcome.
    pub(super) fn finish(mut self, end: SimTime, workloads: &mut [WorkloadOutcome]) {
        for workload in workloads {
            if let Some(mut course) = self.courses.remove(&workload.key()) {
                course.change(end, 0);
                let Course { pods, pods_max, total, hidden, .. } = course;
                let (total_s, hidden_s) = (total.as_secs_f64(), hidden.as_secs_f64());
                workload.off_machines = Some(OffMachines { pods_max, pods, total_s, hidden_s });
            }
        }
    }
}

fn is_off(node: NodeId, store: &Store) -> bool {
    let machine = store.machine(node);
    !machine.exists || machine.power != Power::On
}
