//! Watches: the way of a committed change to the programs that asked for it.
//!
//! Every process has a watch of its own for each kind of object, as its informers do: what happens to one kind arrives in the
//! order of the commits, but a process may receive a pod before it receives the pod's node, and two processes receive the same
//! pod at different instants. How late a watch is at an instant is a draw named by the watch and the instant, so that no
//! write shifts another's draw, and changes that come in a burst are late together.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::reflector::{RESET, Reflector};
use crate::component::Latencies;
use crate::engine::{Distribution, Streams};
use crate::state::{Change, Changed, NodeId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// For so long a watch is equally late: what holds back one message of a stream holds back those that follow.
const STEADY_FOR: SimDuration = SimDuration::from_millis(10);

/// Kubelets whose watches are late together; each node belongs to one of so many.
const KUBELET_GROUPS: usize = 16;

/// A program, or several that share their watches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Watcher {
    /// Operators' automata, and random faults of nodes that join.
    Procedures,
    /// The kubelets; each node's has a watch of its own.
    Kubelets,
    /// kube-controller-manager: its controllers share informers.
    KubeControllerManager,
    /// cloud-controller-manager.
    CloudControllerManager,
    /// kube-scheduler.
    KubeScheduler,
    /// Operators' terminals.
    Kubectl,
    /// Controllers that whoever plays the run brings along.
    OwnControllers,
}

impl Watcher {
    const ALL: [Self; 7] = [
        Self::Procedures,
        Self::Kubelets,
        Self::KubeControllerManager,
        Self::CloudControllerManager,
        Self::KubeScheduler,
        Self::Kubectl,
        Self::OwnControllers,
    ];

    /// The concern of its draws.
    const fn concern(self) -> &'static str {
        match self {
            Self::Procedures => "watch/procedures",
            Self::Kubelets => "watch/kubelet",
            Self::KubeControllerManager => "watch/kube-controller-manager",
            Self::CloudControllerManager => "watch/cloud-controller-manager",
            Self::KubeScheduler => "watch/kube-scheduler",
            Self::Kubectl => "watch/kubectl",
            Self::OwnControllers => "watch/own-controllers",
        }
    }
}

/// A set of [`Watcher`]s.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Watchers(u8);

impl Watchers {
    pub(super) const NONE: Self = Self(0);

    #[must_use]
    pub(super) const fn with(self, watcher: Watcher) -> Self {
        Self(self.0 | 1 << watcher as u8)
    }

    const fn has(self, watcher: Watcher) -> bool {
        self.0 & 1 << watcher as u8 != 0
    }
}

/// What one watch is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Pods,
    Nodes,
    Leases,
    Deployments,
    ReplicaSets,
    DaemonSets,
    StatefulSets,
    Jobs,
    CronJobs,
    PodDisruptionBudgets,
    Services,
    EndpointSlices,
    Namespaces,
    PersistentVolumes,
    PersistentVolumeClaims,
    StorageClasses,
    VolumeAttachments,
    HorizontalPodAutoscalers,
    Quotas,
    OwnerReferences,
}

impl Resource {
    const ALL: [Self; 20] = [
        Self::Pods,
        Self::Nodes,
        Self::Leases,
        Self::Deployments,
        Self::ReplicaSets,
        Self::DaemonSets,
        Self::StatefulSets,
        Self::Jobs,
        Self::CronJobs,
        Self::PodDisruptionBudgets,
        Self::Services,
        Self::EndpointSlices,
        Self::Namespaces,
        Self::PersistentVolumes,
        Self::PersistentVolumeClaims,
        Self::StorageClasses,
        Self::VolumeAttachments,
        Self::HorizontalPodAutoscalers,
        Self::Quotas,
        Self::OwnerReferences,
    ];

    fn of(changed: &Changed) -> Self {
        match changed {
            Changed::PodAdded(_) | Changed::PodUpdated { .. } | Changed::PodRemoved { .. } => Self::Pods,
            Changed::NodeAdded(_) | Changed::NodeUpdated { .. } | Changed::NodeRemoved { .. } => Self::Nodes,
            Changed::HeartbeatChanged(_) => Self::Leases,
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) | Changed::WorkloadRemoved(id) => match id {
                WorkloadId::Deployment(_) => Self::Deployments,
                WorkloadId::ReplicaSet(_) => Self::ReplicaSets,
                WorkloadId::DaemonSet(_) => Self::DaemonSets,
                WorkloadId::StatefulSet(_) => Self::StatefulSets,
                WorkloadId::Job(_) => Self::Jobs,
                WorkloadId::CronJob(_) => Self::CronJobs,
            },
            Changed::BudgetAdded(_) | Changed::BudgetUpdated(..) | Changed::BudgetRemoved(_) => {
                Self::PodDisruptionBudgets
            }
            Changed::ReferencesChanged => Self::OwnerReferences,
            Changed::ServiceChanged(_) | Changed::ServiceRemoved(_) => Self::Services,
            Changed::EndpointsChanged(_) => Self::EndpointSlices,
            Changed::NamespaceChanged(_) | Changed::NamespaceRemoved(_) => Self::Namespaces,
            Changed::VolumeChanged(_) | Changed::VolumeRemoved(_) => Self::PersistentVolumes,
            Changed::ClaimChanged(_) | Changed::ClaimRemoved(_) => Self::PersistentVolumeClaims,
            Changed::StorageChanged => Self::StorageClasses,
            Changed::AttachmentChanged { .. } => Self::VolumeAttachments,
            Changed::AutoscalerChanged(_) | Changed::AutoscalerRemoved(_) => Self::HorizontalPodAutoscalers,
            Changed::QuotaChanged(_) => Self::Quotas,
        }
    }

    /// The entity of its draws.
    const fn name(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Nodes => "nodes",
            Self::Leases => "leases",
            Self::Deployments => "deployments",
            Self::ReplicaSets => "replicasets",
            Self::DaemonSets => "daemonsets",
            Self::StatefulSets => "statefulsets",
            Self::Jobs => "jobs",
            Self::CronJobs => "cronjobs",
            Self::PodDisruptionBudgets => "poddisruptionbudgets",
            Self::Services => "services",
            Self::EndpointSlices => "endpointslices",
            Self::Namespaces => "namespaces",
            Self::PersistentVolumes => "persistentvolumes",
            Self::PersistentVolumeClaims => "persistentvolumeclaims",
            Self::StorageClasses => "storageclasses",
            Self::VolumeAttachments => "volumeattachments",
            Self::HorizontalPodAutoscalers => "horizontalpodautoscalers",
            Self::Quotas => "resourcequotas",
            Self::OwnerReferences => "ownerreferences",
        }
    }
}

/// Names a watch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct WatchId(u16);

impl WatchId {
    /// The watch of a process, or of a group of kubelets, for a resource.
    fn new(watcher: Watcher, resource: Resource, group: usize) -> Self {
        // The kubelets' groups stand behind all others.
        let row = if watcher == Watcher::Kubelets { Watcher::ALL.len() + group } else { watcher as usize };
        Self((row * Resource::ALL.len() + resource as usize) as u16)
    }

    pub(super) fn watcher(self) -> Watcher {
        let row = usize::from(self.0) / Resource::ALL.len();
        Watcher::ALL.get(row).copied().unwrap_or(Watcher::Kubelets)
    }

    fn resource(self) -> Resource {
        Resource::ALL[usize::from(self.0) % Resource::ALL.len()]
    }

    fn group(self) -> u64 {
        let row = usize::from(self.0) / Resource::ALL.len();
        row.saturating_sub(Watcher::ALL.len()) as u64
    }
}

/// What is on its way in one watch.
#[derive(Clone, Debug, Default)]
struct Watch {
    undelivered: VecDeque<(SimTime, Arc<Change>)>,
    /// How late it is, and in which stretch of time.
    lag: Option<(i64, SimDuration)>,
    reflector: Reflector,
}

/// All watches.
#[derive(Clone, Debug)]
pub(super) struct Watches {
    watches: Vec<Watch>,
    latency: Distribution,
    /// Who listens at all.
    present: Watchers,
    /// Since when the API server does not answer.
    broken_since: Option<SimTime>,
}

impl Watches {
    /// Watches that are late by `latency`, with nothing on its way.
    pub(super) fn new(latency: Distribution) -> Self {
        let count = (Watcher::ALL.len() + KUBELET_GROUPS) * Resource::ALL.len();
        let present = Watcher::ALL.into_iter().fold(Watchers::NONE, Watchers::with);
        Self { watches: vec![Watch::default(); count], latency, present, broken_since: None }
    }

    /// From now on only these listen.
    pub(super) fn set_present(&mut self, present: Watchers) {
        self.present = present;
    }

    /// The processes began with a cluster whose oldest node is of that instant. For how long it has been watched since is not
    /// known, and drawn where it counts: within the time after which a reflector's back-off begins anew.
    pub(super) fn set_begun(&mut self, oldest: SimTime, streams: &Streams) {
        for watcher in Watcher::ALL {
            let part = streams.stream(watcher.concern(), "begun").unit();
            let age = SimDuration::from_nanos((RESET.as_nanos() as f64 * part) as u64);
            self.list(watcher, oldest - age);
        }
    }

    /// Sends a change to those of the `interested` who are there; `arm` is called for each watch that was idle, with the instant at which it delivers.
    pub(super) fn send(
        &mut self,
        change: &Arc<Change>,
        interested: Watchers,
        store: &Store,
        streams: &Streams,
        mut arm: impl FnMut(SimTime, WatchId),
    ) {
        let resource = Resource::of(&change.what);
        let interested = Watchers(interested.0 & self.present.0);
        for watcher in Watcher::ALL {
            if !interested.has(watcher) {
                continue;
            }
            let mut group = 0;
            if watcher == Watcher::Kubelets {
                // A pod that is nowhere concerns no kubelet.
                let Some(node) = node_of(&change.what, store) else { continue };
                group = group_of(node);
            }
            let id = WatchId::new(watcher, resource, group);
            let lag = self.lag(id, change.at, streams);
            let watch = &mut self.watches[usize::from(id.0)];
            let due = (change.at + lag).max(watch.reflector.blind_until());
            match watch.undelivered.back() {
                Some((last, _)) => watch.undelivered.push_back((due.max(*last), Arc::clone(change))),
                None => {
                    watch.undelivered.push_back((due, Arc::clone(change)));
                    arm(due, id);
                }
            }
        }
    }

    /// How late a watch is at an instant.
    fn lag(&mut self, id: WatchId, at: SimTime, streams: &Streams) -> SimDuration {
        if let Distribution::Constant(lag) = self.latency {
            return lag;
        }
        let stretch = at.as_nanos().div_euclid(STEADY_FOR.as_nanos() as i64);
        let watch = &mut self.watches[usize::from(id.0)];
        if let Some((known, lag)) = watch.lag
            && known == stretch
        {
            return lag;
        }
        let index = (stretch as u64).wrapping_mul(KUBELET_GROUPS as u64).wrapping_add(id.group());
        let lag = Latencies::draw(&self.latency, streams, id.watcher().concern(), id.resource().name(), index);
        watch.lag = Some((stretch, lag));
        lag
    }

    /// Takes the next change that is due; otherwise says when the next one is, if there is any.
    pub(super) fn take(&mut self, id: WatchId, now: SimTime) -> Result<Arc<Change>, Option<SimTime>> {
        let undelivered = &mut self.watches[usize::from(id.0)].undelivered;
        match undelivered.front() {
            Some((due, _)) if *due > now => Err(Some(*due)),
            _ => undelivered.pop_front().map(|(_, change)| change).ok_or(None),
        }
    }

    /// The API server does not answer any more: all watches break.
    pub(super) fn break_off(&mut self, now: SimTime) {
        self.broken_since.get_or_insert(now);
    }

    /// The API server answers again; each watch finds out at its next try. Stand-ins for kubelets do not back off: theirs are not
    /// blind for longer than `reconnect` says.
    pub(super) fn resume(&mut self, now: SimTime, store: &Store, streams: &Streams, reconnect: &Distribution) {
        let Some(since) = self.broken_since.take() else { return };
        let stand_ins = store.node_ids().filter(|node| store.machine(*node).has_stand_in_kubelet);
        let groups_of_stand_ins: FxHashSet<usize> = stand_ins.map(group_of).collect();
        for index in 0..self.watches.len() {
            let id = WatchId(index as u16);
            let watcher = id.watcher();
            // A command reads anew, or ends, when its connection breaks.
            if watcher == Watcher::Kubectl || !self.present.has(watcher) {
                continue;
            }
            let entity = format!("{}/{}/{}", id.resource().name(), id.group(), since.as_nanos());
            let mut stream = streams.stream(watcher.concern(), &entity);
            let backs_off = watcher != Watcher::Kubelets || !groups_of_stand_ins.contains(&(id.group() as usize));
            let at_most = (!backs_off).then(|| now + reconnect.sample(&mut stream));
            self.watches[index].reflector.outage(since, now, at_most, || stream.unit());
        }
    }

    /// A process has begun and has listed everything.
    pub(super) fn list(&mut self, watcher: Watcher, now: SimTime) {
        for (index, watch) in self.watches.iter_mut().enumerate() {
            if WatchId(index as u16).watcher() == watcher {
                *watch = Watch { reflector: Reflector::new(Some(now)), ..Watch::default() };
            }
        }
    }

    /// When the oldest change was committed that has not been delivered to every running watcher.
    pub(super) fn oldest_undelivered(&self) -> Option<SimTime> {
        let of = |index: &usize| self.present.has(WatchId(*index as u16).watcher());
        let watches = (0..self.watches.len()).filter(of).map(|index| &self.watches[index]);
        watches.filter_map(|watch| Some(watch.undelivered.front()?.1.at)).min()
    }

    /// What has not been delivered to a watcher yet.
    pub(super) fn undelivered(&self, watcher: Watcher) -> impl Iterator<Item = &Change> {
        let of = move |index: &usize| WatchId(*index as u16).watcher() == watcher;
        let watches = (0..self.watches.len()).filter(of).map(|index| &self.watches[index]);
        watches.flat_map(|watch| watch.undelivered.iter().map(|(_, change)| &**change))
    }
}

/// Whose watches a kubelet's are late with.
fn group_of(node: NodeId) -> usize {
    node.index() % KUBELET_GROUPS
}

/// The node whose kubelet is concerned.
fn node_of(changed: &Changed, store: &Store) -> Option<NodeId> {
    match changed {
        Changed::PodAdded(pod) | Changed::PodUpdated { pod, .. } => store.pod(*pod)?.node,
        Changed::PodRemoved { last, .. } => last.node,
        Changed::NodeAdded(node)
        | Changed::NodeUpdated { node, .. }
        | Changed::NodeRemoved { node, .. }
        | Changed::HeartbeatChanged(node)
        | Changed::AttachmentChanged { node, .. } => Some(*node),
        Changed::WorkloadAdded(_)
        | Changed::WorkloadUpdated(..)
        | Changed::WorkloadRemoved(_)
        | Changed::BudgetAdded(_)
        | Changed::BudgetUpdated(..)
        | Changed::BudgetRemoved(_)
        | Changed::ServiceChanged(_)
        | Changed::ServiceRemoved(_)
        | Changed::EndpointsChanged(_)
        | Changed::AutoscalerChanged(_)
        | Changed::AutoscalerRemoved(_)
        | Changed::QuotaChanged(_)
        | Changed::NamespaceChanged(_)
        | Changed::NamespaceRemoved(_)
        | Changed::VolumeChanged(_)
        | Changed::VolumeRemoved(_)
        | Changed::ClaimChanged(_)
        | Changed::ClaimRemoved(_)
        | Changed::ReferencesChanged
        | Changed::StorageChanged => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Symbol;
    use crate::state::CauseId;

    const PROCESSES: Watchers = Watchers::NONE.with(Watcher::KubeControllerManager).with(Watcher::KubeScheduler);

    fn jitter() -> Distribution {
        Distribution::Uniform { min: SimDuration::from_millis(1), max: SimDuration::from_millis(400) }
    }

    fn node_change(at_millis: i64, name: &str, store: &mut Store) -> Arc<Change> {
        let node = store.node_slot(Symbol::new(name));
        let at = SimTime::ZERO + SimDuration::from_millis(at_millis as u64);
        Arc::new(Change { at, cause: CauseId::NONE, by: "", what: Changed::NodeAdded(node) })
    }

    /// Sends node changes at these milliseconds; returns when each is delivered to each process, in the order of delivery.
    fn heard(latency: Distribution, at_millis: &[i64]) -> [Vec<(SimTime, SimTime)>; 2] {
        let (mut store, streams) = (Store::default(), Streams::new(7));
        let mut watches = Watches::new(latency);
        let mut armed = Vec::new();
        for &at in at_millis {
            let change = node_change(at, "n", &mut store);
            watches.send(&change, PROCESSES, &store, &streams, |due, id| armed.push((due, id)));
        }
        [Watcher::KubeControllerManager, Watcher::KubeScheduler].map(|watcher| {
            let (mut due, id) = *armed.iter().find(|(_, id)| id.watcher() == watcher).expect("armed");
            let mut heard = Vec::new();
            loop {
                match watches.take(id, due) {
                    Ok(change) => heard.push((change.at, due)),
                    Err(Some(next)) => due = next,
                    Err(None) => return heard,
                }
            }
        })
    }

    #[test]
    fn each_watch_keeps_the_order_of_commits() {
        let commits: Vec<i64> = (0..200).map(|n| n * 7).collect();
        for heard in heard(jitter(), &commits) {
            assert_eq!(heard.len(), commits.len());
            assert!(heard.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1), "{heard:?}");
        }
    }

    #[test]
    fn processes_hear_of_the_same_change_at_different_instants() {
        let [manager, scheduler] = heard(jitter(), &[0, 500, 1000]);
        assert_ne!(manager, scheduler);
    }

    #[test]
    fn a_constant_latency_is_the_same_for_everybody() {
        let five = SimDuration::from_millis(5);
        let [manager, scheduler] = heard(Distribution::Constant(five), &[0, 2, 500]);
        assert_eq!(manager, scheduler);
        assert!(manager.iter().all(|(at, due)| *at + five == *due), "{manager:?}");
    }

    #[test]
    fn changes_of_a_burst_are_late_together() {
        let [manager, _] = heard(jitter(), &[20, 23, 29]);
        let lag = |n: usize| manager[n].1.saturating_since(manager[n].0);
        assert_eq!([lag(0), lag(1)], [lag(1), lag(2)]);
    }

    #[test]
    fn a_draw_does_not_depend_on_earlier_changes() {
        let of_the_last = |commits: &[i64]| heard(jitter(), commits).map(|heard| heard.last().map(|(_, due)| *due));
        assert_eq!(of_the_last(&[2000]), of_the_last(&[0, 100, 900, 2000]));
    }

    #[test]
    fn who_is_not_there_hears_nothing() {
        let (mut store, streams) = (Store::default(), Streams::new(7));
        let mut watches = Watches::new(jitter());
        watches.set_present(Watchers::NONE.with(Watcher::KubeScheduler));
        let change = node_change(0, "n", &mut store);
        watches.send(&change, PROCESSES, &store, &streams, |_, _| ());
        assert_eq!(watches.undelivered(Watcher::KubeControllerManager).count(), 0);
        assert_eq!(watches.undelivered(Watcher::KubeScheduler).count(), 1);
    }
}
