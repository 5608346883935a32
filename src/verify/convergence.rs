//! What must have come about once nothing goes wrong any more.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::Verifier;
use crate::arena::Symbol;
use crate::component::{Config, Snapshot};
use crate::model::TaintEffect;
use crate::scheduler::Scheduler;
use crate::state::{
    BudgetReason, ContainerState, DaemonSetId, DeploymentId, Meta, NodeId, Owner, Pod, PodId, PodPhase, Power,
    ReplicaSetId, Service, StatefulSetId, Store, TaintOnNode, WorkloadId,
};
use crate::units::{SimDuration, SimTime};

/// What takes place within this time may still be under way, if calls take no time.
const UNDER_WAY: SimDuration = SimDuration::from_secs(120);

/// So many calls, one after the other, lie at most between what happens and what has to come of it.
const CALLS_IN_TURN: u64 = 8;

/// Of so many calls all but one are answered within the time that is allowed for each.
const CALLS_WITHIN: f64 = 0.9999;

/// The cluster after a long calm; all processes of the control plane run.
struct Calm<'a> {
    store: &'a Store,
    config: &'a Config,
    /// What it has seen happen.
    verifier: &'a Verifier,
    /// Workloads that made pod after pod, until they were kept from it.
    held: &'a FxHashSet<WorkloadId>,
    /// Whether the kubelet has something to do with a pod yet.
    is_busy_with: &'a dyn Fn(PodId) -> bool,
    /// Whether a machine has a boot that ends.
    is_booting: &'a dyn Fn(NodeId) -> bool,
    now: SimTime,
    /// What takes place within this time may still be under way.
    under_way: SimDuration,
}

/// What should have come about by now and has not: after a calm of an hour, with the whole control plane up. Every pod that is
/// wanted runs, or there is a reason why it does not; of workloads that are `held`, and of pods of whose
/// containers something is still to come, as `is_busy_with` knows, nothing is expected. Of machines that boot `is_booting` says whether that ends.
#[must_use]
pub fn unsettled(
    store: &Store,
    config: &Config,
    verifier: &Verifier,
    held: &FxHashSet<WorkloadId>,
    is_busy_with: &dyn Fn(PodId) -> bool,
    is_booting: &dyn Fn(NodeId) -> bool,
    now: SimTime,
) -> Option<String> {
    let call = longest_call(config);
    let under_way = UNDER_WAY + call * CALLS_IN_TURN;
    let calm = Calm { store, config, verifier, held, is_busy_with, is_booting, now, under_way };
    let result = calm
        .boots()
        .and_then(|()| calm.nodes())
        .and_then(|()| calm.pods())
        .and_then(|()| calm.workloads())
        .and_then(|()| calm.budgets());
    let result = result.and_then(|()| calm.services());
    result.err()
}

/// How long a call takes at most, but for very few.
#[must_use]
pub fn longest_call(config: &Config) -> SimDuration {
    config.latency.api_call.quantile(CALLS_WITHIN)
}

impl Calm<'_> {
    /// Whether a controller is on: what is its work is nobody's otherwise.
    fn runs(&self, controller: &str) -> bool {
        self.config.kube_controller_manager.controllers.runs(controller)
    }

    fn collects_garbage(&self) -> bool {
        self.config.kube_controller_manager.enable_garbage_collector && self.runs("garbage-collector-controller")
    }

    /// The slices of a service show the pods that run behind it as they are.
    fn services(&self) -> Result<(), String> {
        if !self.runs("endpointslice-controller") {
            return Ok(());
        }
        let is_led = |service: &&Service| service.spec.has_endpoint_slices();
        for service in self.store.services.iter().map(|(_, service)| service).filter(is_led) {
            let (namespace, name) = (service.meta.namespace, service.meta.name);
            let shown: BTreeMap<PodId, bool> =
                service.slices.values().flat_map(|slice| slice.iter()).map(|e| (e.pod, e.ready)).collect();
            for &id in self.store.pods_in(namespace) {
                let Some(pod) = self.store.pod(id) else { continue };
                let is_selected = service.spec.selector.iter().all(|(key, value)| pod.labels.get(key) == Some(value));
                let has_node = pod.node.is_some_and(|node| self.store.node(node).is_some());
                let is_calm = pod.ready.is_some_and(|ready| ready.since + self.under_way < self.now);
                if !is_selected || !has_node || !is_calm || pod.phase != PodPhase::Running {
                    continue;
                }
                let is_ready = pod.is_ready() && pod.deletion.is_none();
                let expected = Some(is_ready || service.spec.publish_not_ready_addresses);
                if shown.get(&id).copied() != expected {
                    let found = shown.get(&id);
                    return Err(format!("service {namespace}/{name} shows pod {} as ready: {found:?}", pod.name));
                }
            }
            if let Some(id) = shown.keys().find(|id| self.store.pod(**id).is_none()) {
                return Err(format!("service {namespace}/{name} shows {id:?}, a pod that is gone"));
            }
        }
        Ok(())
    }

    /// The machine is up and nothing is wrong with it; nobody has reason to keep off it.
    fn is_fine(&self, node: NodeId) -> bool {
        let machine = self.store.machine(node);
        let reported = machine.reported;
        let pressed = reported.memory_pressure || reported.disk_pressure || reported.pid_pressure;
        self.store.node(node).is_some()
            && machine.talks()
            && !(reported.not_ready || reported.shutting_down || pressed || machine.network_unavailable)
            && self.store.heartbeat(node).is_alive()
            && machine.booted_at + self.under_way < self.now
    }

    /// Machines that boot come to an end with that.
    fn boots(&self) -> Result<(), String> {
        let hangs = |id: &NodeId| {
            let machine = self.store.machine(*id);
            machine.exists && machine.power == Power::Booting && !(self.is_booting)(*id)
        };
        match self.store.node_ids().find(hangs) {
            Some(id) => Err(format!("the machine of node {} boots without end", self.store.node_name(id))),
            None => Ok(()),
        }
    }

    fn nodes(&self) -> Result<(), String> {
        let ours = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].map(Symbol::new);
        for (id, node) in self.store.nodes().filter(|(id, _)| self.is_fine(*id)) {
            let name = self.store.node_name(id);
            if node.conditions.ready() != Some(crate::state::Status::True) {
                return Err(format!("node {name} is fine and not Ready"));
            }
            let is_ours = |t: &&TaintOnNode| ours.contains(&t.key) && t.effect != TaintEffect::PreferNoSchedule;
            let taint = node.taints.iter().find(is_ours).filter(|_| self.runs("node-lifecycle-controller"));
            if let Some(taint) = taint {
                return Err(format!("node {name} is fine and tainted {}", taint.key));
            }
        }
        Ok(())
    }

    fn pods(&self) -> Result<(), String> {
        for (id, pod) in self.store.pods() {
            if pod.created_at + self.under_way > self.now {
                continue;
            }
            if let Some(what) = self.wrong_with(id, pod) {
                return Err(format!("pod {}/{} {what}", pod.namespace, pod.name));
            }
        }
        Ok(())
    }

    fn wrong_with(&self, id: PodId, pod: &Pod) -> Option<String> {
        if let Some(deletion) = pod.deletion {
            // A deletion waits for the start that is under way, however long a slow disk makes it.
            let is_starting = pod.phase == PodPhase::Pending && (self.is_busy_with)(id);
            return self.lingers(pod, deletion.deadline).filter(|_| !is_starting);
        }
        if pod.phase.is_terminal() {
            return None;
        }
        if let Some(owner) = pod.owner.and_then(WorkloadId::from_owner)
            && self.store.workload_meta(owner).is_none()
            && self.collects_garbage()
        {
            return Some("is left of an owner that is gone".to_owned());
        }
        let Some(node) = pod.node else { return self.waits_in_vain(id, pod) };
        if !self.is_fine(node) {
            return None;
        }
        let is_fine = pod.phase == PodPhase::Running
            && (pod.is_ready() || Self::was_never_ready(pod) || Self::has_a_container_that_is_done(pod));
        let is_new = pod.scheduled_at.is_some_and(|at| at + self.under_way > self.now);
        if is_fine
            || is_new
            || self.is_restless(id, pod)
            || self.waits_for_a_volume(pod, node)
            || self.lacks_volumes(pod)
        {
            return None;
        }
        let name = self.store.node_name(node);
        Some(format!("is on node {name}, which is fine, and {}, not Ready", pod.phase.as_str()))
    }

    /// A pod that is being deleted goes once its node's kubelet, or the garbage collector, has had its time.
    fn lingers(&self, pod: &Pod, deadline: SimTime) -> Option<String> {
        let keeps_finalizer = !pod.spec.finalizers.is_empty() || (pod.job_tracking && !self.runs("job-controller"));
        if deadline + self.under_way * 5 > self.now || self.waits_for_its_successor(pod) || keeps_finalizer {
            return None;
        }
        let is_collected = self.runs("pod-garbage-collector-controller");
        match pod.node {
            Some(node) if self.store.node(node).is_none() => {
                is_collected.then(|| "lingers on a node that is gone".to_owned())
            }
            Some(node) if self.is_fine(node) => {
                Some(format!("lingers on node {}, which is fine", self.store.node_name(node)))
            }
            Some(_) => None,
            None => is_collected.then(|| "lingers though it never had a node".to_owned()),
        }
    }

    /// A volume that one node at a time may have is on another node, and stays there as long as its pods do.
    fn waits_for_a_volume(&self, pod: &Pod, node: NodeId) -> bool {
        let volumes = &self.store.volumes;
        let claims = pod.spec.volumes.iter().filter_map(|volume| volume.persistent_volume_claim.as_ref());
        let mut bound = claims.filter_map(|claim| volumes.volume_of(pod.namespace, claim.claim_name));
        bound.any(|id| {
            let is_shared = volumes.volume(id).is_some_and(|volume| volume.spec.is_shared());
            let is_elsewhere = volumes.attachments_of(id).any(|(on, other)| on != node && other.phase.is_some());
            !is_shared && is_elsewhere
        })
    }

    /// The input says that it runs and is not Ready, and nothing has changed since: its application does not answer its probe.
    fn was_never_ready(pod: &Pod) -> bool {
        pod.ready.is_some_and(|ready| ready.since <= SimTime::ZERO) && pod.created_at <= SimTime::ZERO
    }

    /// One of its containers has ended for good while others run: it is not ready any more.
    fn has_a_container_that_is_done(pod: &Pod) -> bool {
        pod.spec.containers.iter().zip(&pod.containers).any(|(container, status)| {
            status.state.ending().is_some_and(|ending| !pod.spec.restarts(container, ending.exit_code))
        })
    }

    /// It has claims, and nobody binds or attaches volumes.
    fn lacks_volumes(&self, pod: &Pod) -> bool {
        let is_served = ["persistentvolume-binder-controller", "persistentvolume-attach-detach-controller"]
            .into_iter()
            .all(|controller| self.runs(controller));
        !is_served && pod.spec.volumes.iter().any(|volume| volume.persistent_volume_claim.is_some())
    }

    /// The last failed pod of an index keeps its finalizer until the next one is made, which a namespace that is being deleted
    /// refuses: neither ever goes.
    ///
    /// # Source
    /// kube-controller-manager, job controller, `getPodsWithDelayedDeletionPerIndex`; namespaces delete pods first.
    fn waits_for_its_successor(&self, pod: &Pod) -> bool {
        let Some(Owner::Job(job)) = pod.owner.filter(|_| pod.job_tracking) else { return false };
        let job = self.store.jobs.get(job);
        self.store.is_terminating(pod.namespace) && job.is_some_and(|job| job.spec.backoff_limit_per_index.is_some())
    }

    /// A pod without a node, for which there is one.
    fn waits_in_vain(&self, id: PodId, pod: &Pod) -> Option<String> {
        if !pod.spec.scheduling_gates.is_empty() || self.lacks_volumes(pod) {
            return None;
        }
        let fits_at = |now: SimTime| {
            let snapshot = Snapshot { store: self.store, config: self.config, now };
            Scheduler::decide(snapshot, &[id]).next().flatten()?.node
        };
        let node = fits_in_vain(fits_at, self.now, self.under_way)?;
        Some(format!("has no node, though it fits on {}", self.store.node_name(node)))
    }

    /// Its containers end, or fail, by themselves.
    fn is_restless(&self, id: PodId, pod: &Pod) -> bool {
        let behavior = pod.spec.behavior();
        let annotated =
            behavior.run_for.is_some() || behavior.healthy_for.is_some() || behavior.init_exit_code.is_some();
        // A probe may fail long before the application is up.
        let is_probed = pod.spec.containers.iter().any(|c| c.startup_probe.is_some() || c.liveness_probe.is_some());
        let backs_off = pod.containers.iter().any(|c| c.state == ContainerState::CrashLoopBackOff);
        let lacks_image = pod.containers.iter().chain(&pod.init_containers).any(|c| {
            matches!(
                c.state,
                ContainerState::ErrImagePull | ContainerState::ImagePullBackOff | ContainerState::ErrImageNeverPull
            )
        });
        // Of a pod that is Ready nothing more is expected than that it stays.
        let is_on_its_way = !pod.is_ready() && (self.is_busy_with)(id);
        annotated || is_on_its_way || lacks_image || (is_probed && backs_off)
    }

    /// It exists, and neither it nor its namespace is being deleted.
    fn stays(&self, meta: &Meta) -> bool {
        let is_going = self.store.is_terminating(meta.namespace);
        meta.deleting.is_none() && !is_going
    }

    fn workloads(&self) -> Result<(), String> {
        let replicates = self.runs("replicaset-controller") && self.runs("replicationcontroller-controller");
        for (id, set) in self.store.replica_sets.iter() {
            if self.stays(&set.meta) && replicates {
                self.replica_set(id)
                    .map_err(|what| format!("ReplicaSet {}/{} {what}", set.meta.namespace, set.meta.name))?;
            }
        }
        for (id, deployment) in self.store.deployments.iter() {
            if self.stays(&deployment.meta) && replicates && self.runs("deployment-controller") {
                let name = format!("Deployment {}/{}", deployment.meta.namespace, deployment.meta.name);
                self.deployment(id).map_err(|what| format!("{name} {what}"))?;
            }
        }
        for (id, set) in self.store.stateful_sets.iter() {
            if self.stays(&set.meta) && self.runs("statefulset-controller") {
                let name = format!("StatefulSet {}/{}", set.meta.namespace, set.meta.name);
                self.stateful_set(id).map_err(|what| format!("{name} {what}"))?;
            }
        }
        for (id, set) in self.store.daemon_sets.iter() {
            if self.stays(&set.meta) && self.runs("daemonset-controller") {
                let name = format!("DaemonSet {}/{}", set.meta.namespace, set.meta.name);
                self.daemon_set(id).map_err(|what| format!("{name} {what}"))?;
            }
        }
        Ok(())
    }

    fn pods_of(&self, owner: WorkloadId) -> impl Iterator<Item = &Pod> {
        self.store.pods_of(owner).iter().filter_map(|id| self.store.pod(*id))
    }

    fn has_restless_pods(&self, owner: WorkloadId) -> bool {
        let is_restless = |id: &PodId| self.store.pod(*id).is_some_and(|pod| self.is_restless(*id, pod));
        self.fails_again(owner) || self.store.pods_of(owner).iter().any(is_restless)
    }

    /// Pods that tolerate what their kubelet does not, or use more than there is, are made and end without end.
    fn fails_again(&self, owner: WorkloadId) -> bool {
        let is_rejected = self.verifier.last_failure(owner).is_some_and(|at| at + self.under_way * 10 > self.now);
        is_rejected || self.held.contains(&owner) || self.verifier.was_refused(owner)
    }

    fn replica_set(&self, id: ReplicaSetId) -> Result<(), String> {
        let Some(set) = self.store.replica_sets.get(id) else { return Ok(()) };
        let owner = WorkloadId::ReplicaSet(id);
        let tally = self.store.tally(owner);
        if let Some(Owner::Deployment(id)) = set.meta.owner
            && self.store.deployments.get(id).is_none()
            && self.collects_garbage()
        {
            return Err("is left of a Deployment that is gone".to_owned());
        }
        if tally.active != set.replicas && set.status.failure.is_none() && !self.has_restless_pods(owner) {
            return Err(format!("wants {} pods and has {}", set.replicas, tally.active));
        }
        let status = set.status;
        if self.has_restless_pods(owner) {
            return Ok(());
        }
        if (status.replicas, status.ready) != (tally.active, tally.ready) {
            let shown = (status.replicas, status.ready);
            return Err(format!("shows {shown:?} replicas and ready ones, and has {:?}", (tally.active, tally.ready)));
        }
        Ok(())
    }

    fn deployment(&self, id: DeploymentId) -> Result<(), String> {
        let Some(deployment) = self.store.deployments.get(id) else { return Ok(()) };
        if self.verifier.was_refused(WorkloadId::Deployment(id)) {
            return Ok(());
        }
        if deployment.status.observed_generation != deployment.meta.generation {
            return Err("has not been looked at since its last change".to_owned());
        }
        let sets = self.store.replica_sets_of(id).iter().map(|set| WorkloadId::ReplicaSet(*set));
        let (mut active, mut ready, mut terminating, mut restless) = (0, 0, 0, false);
        for set in sets {
            let tally = self.store.tally(set);
            (active, ready) = (active + tally.active, ready + tally.ready);
            terminating += tally.terminating;
            restless |= self.has_restless_pods(set);
        }
        let wanted = deployment.spec.replicas.unwrap_or(1);
        if restless || deployment.spec.paused {
            return Ok(());
        }
        let status = deployment.status;
        if (status.replicas, status.ready) != (active, ready) {
            return Err(format!(
                "shows {:?} replicas and ready ones, and has {:?}",
                (status.replicas, status.ready),
                (active, ready)
            ));
        }
        // A Deployment that re-creates waits for the last pod of its old template.
        if ready == active && terminating == 0 && (active != wanted || status.updated != wanted) {
            return Err(format!(
                "wants {wanted} pods and has {active}, {} of them up to date, all Ready",
                status.updated
            ));
        }
        Ok(())
    }

    fn stateful_set(&self, id: StatefulSetId) -> Result<(), String> {
        let Some(set) = self.store.stateful_sets.get(id) else { return Ok(()) };
        let owner = WorkloadId::StatefulSet(id);
        let tally = self.store.tally(owner);
        if self.verifier.was_refused(owner) {
            return Ok(());
        }
        if set.status.observed_generation != set.meta.generation {
            return Err("has not been looked at since its last change".to_owned());
        }
        let wanted = set.spec.replicas.unwrap_or(1);
        let all_ready = tally.ready == tally.active && tally.terminating == 0;
        // A pod that was taken out of the set by its labels keeps its name, and the set waits for it.
        let has_its_name = |ordinal: i32| {
            let name = std::sync::Arc::from(format!("{}-{ordinal}", set.meta.name));
            let pod = self.store.find_pod(set.meta.namespace, &name);
            pod.is_some_and(|pod| !self.store.pods_of(owner).contains(&pod))
        };
        let first = set.spec.ordinals.as_ref().map_or(0, |ordinals| ordinals.start);
        let is_blocked = (first..first + wanted).any(has_its_name);
        if all_ready && tally.active != wanted && !self.has_restless_pods(owner) && !is_blocked {
            return Err(format!("wants {wanted} pods and has {}, all Ready", tally.active));
        }
        Ok(())
    }

    fn daemon_set(&self, id: DaemonSetId) -> Result<(), String> {
        let Some(set) = self.store.daemon_sets.get(id) else { return Ok(()) };
        let owner = WorkloadId::DaemonSet(id);
        let tally = self.store.tally(owner);
        let status = set.status;
        if self.verifier.was_refused(owner) {
            return Ok(());
        }
        if status.observed_generation != set.meta.generation {
            return Err("has not been looked at since its last change".to_owned());
        }
        if self.has_restless_pods(owner) || tally.terminating > 0 {
            return Ok(());
        }
        let mut targets: Vec<NodeId> =
            self.pods_of(owner).filter(|p| p.is_active()).filter_map(|p| p.pinned_node.or(p.node)).collect();
        targets.sort_unstable();
        let count = targets.len();
        targets.dedup();
        let all_ready = tally.ready == tally.active;
        if all_ready && targets.len() != count {
            return Err("has two pods for one node".to_owned());
        }
        // A pod that has failed stands in the way of the next one until its node's back-off is over.
        if tally.active + tally.terminal < status.desired {
            return Err(format!("wants {} pods and has {}", status.desired, tally.active));
        }
        Ok(())
    }

    fn budgets(&self) -> Result<(), String> {
        if !self.runs("disruption-controller") {
            return Ok(());
        }
        for (id, budget) in self.store.budgets.iter() {
            let Some(selector) = budget.spec.selector.as_ref() else { continue };
            let name = budget.meta.name;
            // A budget whose pods have no count to go by shows nothing.
            if budget.status.condition.as_ref().is_some_and(|(_, reason, _)| *reason == BudgetReason::SyncFailed) {
                continue;
            }
            if budget.status.observed_generation != budget.meta.generation {
                return Err(format!(
                    "PodDisruptionBudget {}/{name} has not been looked at since its last change",
                    budget.meta.namespace
                ));
            }
            let ids = self.store.pods_in(budget.meta.namespace).iter().copied();
            let pods = ids.filter_map(|id| Some((id, self.store.pod(id)?)));
            let (ids, mine): (Vec<PodId>, Vec<&Pod>) = pods.filter(|(_, pod)| selector.matches(&pod.labels)).unzip();
            // A pod that leaves the selection by its labels goes unnoticed: the controller looks at pods as they are.
            let is_noticed = !mine.is_empty();
            let fails_again =
                |pod: &&Pod| pod.owner.and_then(WorkloadId::from_owner).is_some_and(|o| self.fails_again(o));
            let is_restless = mine.iter().zip(&ids).any(|(pod, id)| self.is_restless(*id, pod) || fails_again(pod));
            if !is_noticed || is_restless || self.verifier.has_shared_pods(id) {
                continue;
            }
            // The controller goes by the condition, whatever the phase.
            let is_healthy = |pod: &&&Pod| pod.is_ready() && pod.deletion.is_none();
            let healthy = mine.iter().filter(is_healthy).count();
            let shown = budget.status.current_healthy;
            if usize::try_from(shown) != Ok(healthy) {
                let namespace = budget.meta.namespace;
                return Err(format!(
                    "PodDisruptionBudget {namespace}/{name} shows {shown} healthy pods; there are {healthy}"
                ));
            }
        }
        Ok(())
    }
}

/// The node on which a pod fits and has fitted for so long that it should have been tried there: no event tells the scheduler what time
/// alone has helped, which is tried again in a while.
fn fits_in_vain(fits_at: impl Fn(SimTime) -> Option<NodeId>, now: SimTime, under_way: SimDuration) -> Option<NodeId> {
    let node = fits_at(now)?;
    fits_at(now - (Scheduler::TRIES_AGAIN_WITHIN + under_way)).map(|_| node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_time_alone_has_helped_is_given_until_it_is_tried_again() {
        let mut store = Store::default();
        let node = store.node_slot(Symbol::new("a"));
        let fits_since = SimTime::from_secs(1000);
        let in_vain =
            |after: SimDuration| fits_in_vain(|at| (at >= fits_since).then_some(node), fits_since + after, UNDER_WAY);
        let patience = Scheduler::TRIES_AGAIN_WITHIN + UNDER_WAY;
        let second = SimDuration::from_secs(1);
        assert_eq!([in_vain(SimDuration::ZERO), in_vain(patience - second)], [None, None]);
        assert_eq!(in_vain(patience), Some(node));
        assert_eq!(fits_in_vain(|_| None, SimTime::from_secs(9999), UNDER_WAY), None);
    }
}
