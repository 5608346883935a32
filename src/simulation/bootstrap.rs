//! Bringing a cluster up: the objects of the manifests, their machines, and the state in which the incident finds them.
//!
//! `settled` plays the same components for as long as it takes before t=0, on clients without rate limits and pods that
//! start at once, and then lets every process begin anew on the result. It draws its names from a seed of its own, so
//! that all seeds of a scenario begin from the same cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::calls::Calls;
use super::components::{Components, Which};
use super::kernel::Kernel;
use super::refusals::RefusedObject;
use super::settling::Settling;
use super::{Inputs, Script, Simulation, Storm, past};
use smallvec::SmallVec;

use crate::apiserver::{self, ApiServer};
use crate::arena::Symbol;
use crate::chaos::{Biasing, ChaosPlan};
use crate::component::{Config, ErrorReason, Latencies, NodeConditionUpdate, Request, Snapshot, Start};
use crate::controllers::cron_job::last_due_before_start;
use crate::controllers::node_lifecycle::condition_taints;
use crate::engine::{Distribution, Streams};
use crate::kubelet::PoolTemplate;
use crate::model::{
    AccessMode, HorizontalPodAutoscaler, Object, ObjectKind, ObjectReference, PersistentVolume, PersistentVolumeClaim,
    PriorityClass, SYSTEM_PRIORITY_CLASSES, StorageClass, UNSPECIFIED_PROVISIONER, VolumeBindingMode,
};
use crate::observe::Observers;
use crate::procedures::ProcedurePlan;
use crate::scenario::{self, Bootstrap, ResolvedScenario, SETTLE_FOR};
use crate::state::{Machine, NodeCondition, NodeConditionKind, NodeId, Status, Store, TaintOnNode, WorkloadId};
use crate::units::{Quantity, SimDuration, SimTime};
use crate::verify::Violation;

/// The seed of everything that is drawn before t=0, unless another placement is asked for.
const BOOTSTRAP_SEED: u64 = 0x6b75_6265_7371_756c;

/// A cluster ready for t=0; runs with different seeds are forked from it.
#[derive(Clone, Debug)]
pub struct Prepared {
    store: Store,
    api: ApiServer,
    config: Arc<Config>,
    inputs: Arc<Inputs>,
    /// Objects to be created at t=0 (cold bootstrap).
    created_at_start: Vec<Object>,
    /// Objects that are there at t=0 as they are written (cold bootstrap).
    found_at_start: Vec<Object>,
    /// Nobody has called yet.
    calls: Calls,
    storms: Vec<Storm>,
}

impl Prepared {
    /// Loads the scenario's objects and brings the cluster to its state at t=0.
    #[must_use]
    pub fn new(scenario: &ResolvedScenario) -> Self {
        Self::placed(scenario, 0)
    }

    /// The same with another draw of what chance decides before t=0, such as which of several equal nodes a pod goes to. The draw of
    /// number 0 is that of [`Self::new`].
    #[must_use]
    pub fn placed(scenario: &ResolvedScenario, placement: u32) -> Self {
        let seed = BOOTSTRAP_SEED ^ u64::from(placement);
        let mut prepared = Self::load(scenario, Gaps::Filled, seed);
        let _ = prepared.settle(seed, |_| {});
        prepared
    }

    /// The same, checking itself on the way.
    ///
    /// # Errors
    ///
    /// The first thing that does not hold.
    pub fn verified(scenario: &ResolvedScenario) -> Result<Self, Violation> {
        let mut prepared = Self::load(scenario, Gaps::Filled, BOOTSTRAP_SEED);
        prepared.settle(BOOTSTRAP_SEED, Simulation::verify)?;
        Ok(prepared)
    }

    /// Gives nodes the taints that follow from their conditions and that they lack, as the node lifecycle controller does within
    /// seconds; and says which. Cordoned nodes need none to be avoided, and taints that are written stay.
    #[must_use]
    pub fn taint_by_condition(&mut self) -> Vec<(NodeId, Symbol)> {
        let cordoned = Symbol::new("node.kubernetes.io/unschedulable");
        let Self { api, store, config, .. } = self;
        let mut patches = condition_taints(store.nodes().map(|(id, node)| (id, &**node)), SimTime::ZERO);
        let mut given = Vec::new();
        patches.retain_mut(|patch| {
            let Request::PatchNodeTaints { node, add, remove } = patch else { return false };
            add.retain(|taint| taint.key != cordoned);
            remove.clear();
            given.extend(add.iter().map(|taint| (*node, taint.key)));
            !add.is_empty()
        });
        patch_taints(patches, api, store, config, &Streams::new(BOOTSTRAP_SEED), SimTime::ZERO);
        given
    }

    /// Loads the scenario's objects and leaves them as they are.
    #[must_use]
    pub fn unsettled(scenario: &ResolvedScenario) -> Self {
        Self::load(scenario, Gaps::Left, BOOTSTRAP_SEED)
    }

    fn load(scenario: &ResolvedScenario, gaps: Gaps, seed: u64) -> Self {
        let config = Arc::new(scenario.config.clone());
        let inputs = Arc::new(inputs_of(scenario));
        let streams = Streams::new(seed);
        let mut api = ApiServer::new();
        api.set_epoch(scenario.epoch_unix_nanos);
        let mut store = Store::default();
        store.reserve_pods(scenario::pod_count(scenario).min(scenario.limits.pods()) as usize);
        store.crash_loops = scenario::crash_loops(&scenario.objects).into();
        store.unwritten_gates = scenario::unwritten_gates(&scenario.objects, scenario.epoch_unix_nanos).into();
        let mut objects: Vec<&Object> = scenario.objects.iter().map(|o| &o.object).collect();
        let implied = if gaps == Gaps::Filled { implied_storage(&objects) } else { Vec::new() };
        objects.extend(&implied);
        let autoscalers = implied_autoscalers(&scenario.procedures, &objects);
        objects.extend(&autoscalers);
        let mut system = implied_namespaces(&objects);
        system.extend(implied_classes(&objects));
        objects.extend(&system);
        objects.sort_by_key(|o| rank(o));
        let begin = SimTime::ZERO - SETTLE_FOR;
        let (now, later) = match scenario.bootstrap {
            Bootstrap::Settled => (objects, Vec::new()),
            Bootstrap::Cold => objects.into_iter().partition(|o| rank(o) <= rank_of_nodes()),
        };
        restore(&now, &mut api, &mut store, &config);
        if scenario.bootstrap == Bootstrap::Settled {
            catch_up(&now, &mut store, &config);
        }
        store.is_without_cloud = are_without_cloud(scenario.objects.iter().map(|o| &o.object));
        post_first_status(&mut api, &mut store, &config, &streams, begin);
        if gaps == Gaps::Filled {
            taint_by_condition(&mut api, &mut store, &config, &streams, begin);
        }
        start_machines(&mut store);
        mark_machines(&mut store, scenario.objects.iter().map(|o| &o.object));
        api.joined();
        let there = past::keys(&later);
        let (found, created): (Vec<&Object>, Vec<&Object>) =
            later.into_iter().partition(|object| there.contains(&past::key(object)));
        let found_at_start = found.into_iter().cloned().collect();
        let created_at_start = created.into_iter().cloned().collect();
        let calls = Calls::new(&config.latency.api_call, config.round_trip);
        Self { store, api, config, inputs, created_at_start, found_at_start, calls, storms: Vec::new() }
    }

    /// Plays the workload controllers, the scheduler and the kubelets until t=0.
    fn settle(&mut self, seed: u64, watch: fn(&mut Simulation)) -> Result<(), Violation> {
        let (streams, begin) = (Streams::new(seed), SimTime::ZERO - SETTLE_FOR);
        let config = Arc::new(unhurried(&self.config));
        // Workloads have long had the size that their load at t=0 asks for.
        let workload_autoscalers = self.inputs.procedures.workload_autoscalers.clone();
        let procedures = Arc::new(ProcedurePlan { workload_autoscalers, ..ProcedurePlan::default() });
        let inputs = Arc::new(Inputs { procedures, ..Inputs::default() });
        let components = Components::new(&config, &inputs);
        let store = std::mem::take(&mut self.store);
        let api = std::mem::take(&mut self.api);
        let calls = Calls::new(&config.latency.api_call, config.round_trip);
        let settling = Settling::new(&store);
        let kernel = Kernel::new(store, api, config, streams, begin, Observers::none(), calls);
        let mut bringing_up = Simulation::new(kernel, components, inputs, takes_part_in_settling);
        bringing_up.kernel.settling = Some(Box::new(settling));
        watch(&mut bringing_up);
        bringing_up.begin(Start::Initial);
        bringing_up.run_until(SimTime::ZERO - SimDuration::from_nanos(1));
        self.store = bringing_up.kernel.store;
        self.api = bringing_up.kernel.api;
        self.storms = bringing_up.kernel.settling.map_or_else(Vec::new, |settling| settling.into_storms());
        let found: Vec<&Object> = self.found_at_start.iter().collect();
        restore(&found, &mut self.api, &mut self.store, &self.config);
        bringing_up.violation.map_or(Ok(()), Err)
    }

    /// The same cluster, to which happens what another scenario says.
    #[must_use]
    pub fn with_script(&self, scenario: &ResolvedScenario) -> Self {
        Self { inputs: Arc::new(inputs_of(scenario)), ..self.clone() }
    }

    /// Begins a run at t=0.
    #[must_use]
    pub fn start(&self, seed: u64, observers: Observers) -> Simulation {
        self.start_with(Streams::new(seed), observers)
    }

    /// Begins a run at t=0 with that chance.
    #[must_use]
    pub fn start_with(&self, streams: Streams, observers: Observers) -> Simulation {
        self.start_on(self.cluster(), Arc::clone(&self.inputs), streams, observers, None)
    }

    /// The only run: it takes the cluster over, where others begin on a copy.
    #[must_use]
    pub fn start_once(mut self, seed: u64, observers: Observers) -> Simulation {
        let cluster = (std::mem::take(&mut self.store), std::mem::take(&mut self.api));
        self.start_on(cluster, Arc::clone(&self.inputs), Streams::new(seed), observers, None)
    }

    fn cluster(&self) -> (Store, ApiServer) {
        (self.store.clone(), self.api.clone())
    }

    /// Begins a run at t=0 with that chance, in which failures are drawn with other hazards than they have.
    ///
    /// # Panics
    /// If there are factors for other than the processes of the scenario.
    #[must_use]
    pub fn start_biased(&self, streams: Streams, biasing: Arc<Biasing>, observers: Observers) -> Simulation {
        self.start_on(self.cluster(), Arc::clone(&self.inputs), streams, observers, Some(biasing))
    }

    /// Begins a run at t=0 with that chance, in which other faults come than the scenario says.
    #[must_use]
    pub fn start_with_faults(&self, chaos: Arc<ChaosPlan>, streams: Streams, observers: Observers) -> Simulation {
        let inputs = Inputs { chaos, ..Inputs::clone(&self.inputs) };
        self.start_on(self.cluster(), Arc::new(inputs), streams, observers, None)
    }

    /// Begins a run at t=0 in which other things happen than the scenario says.
    #[must_use]
    pub fn start_script(&self, script: Script, seed: u64, observers: Observers) -> Simulation {
        let Script { chaos, kubectl, procedures, requests, timeline } = script;
        let pools = Arc::clone(&self.inputs.pools);
        let (controllers, epoch_unix_nanos) = (Arc::clone(&self.inputs.controllers), self.inputs.epoch_unix_nanos);
        let inputs = Inputs { chaos, pools, kubectl, procedures, requests, controllers, epoch_unix_nanos, timeline };
        self.start_on(self.cluster(), Arc::new(inputs), Streams::new(seed), observers, None)
    }

    fn start_on(
        &self,
        (store, api): (Store, ApiServer),
        inputs: Arc<Inputs>,
        streams: Streams,
        observers: Observers,
        biasing: Option<Arc<Biasing>>,
    ) -> Simulation {
        let mut components = Components::new(&self.config, &inputs);
        if let Some(biasing) = biasing {
            components.chaos.component.bias(biasing);
        }
        let mut kernel =
            Kernel::new(store, api, Arc::clone(&self.config), streams, SimTime::ZERO, observers, self.calls.clone());
        kernel.observers.begin(&kernel.store, &kernel.config);
        let mut run = Simulation::new(kernel, components, inputs, |_| true);
        run.begin(Start::Initial);
        for object in &self.created_at_start {
            let kernel = &mut run.kernel;
            let answer = kernel.api.apply_input(
                &mut kernel.store,
                &kernel.config,
                &kernel.streams,
                kernel.now,
                object.clone(),
                &mut kernel.changed,
            );
            if let Err(error) = answer {
                run.refused_at_start.push(RefusedObject::new(object, error));
            }
            run.kernel.publish();
        }
        run
    }

    /// Workloads whose pods never stayed while the cluster was brought up.
    #[must_use]
    pub fn storms(&self) -> &[Storm] {
        &self.storms
    }

    /// The cluster at t=0.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What the components are configured with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Both.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot { store: &self.store, config: &self.config, now: SimTime::ZERO }
    }
}

/// What a scenario says that happens.
fn inputs_of(scenario: &ResolvedScenario) -> Inputs {
    Inputs {
        chaos: Arc::clone(&scenario.chaos),
        pools: Arc::new(pool_templates(scenario)),
        kubectl: Arc::clone(&scenario.kubectl),
        procedures: Arc::clone(&scenario.procedures),
        requests: Arc::clone(&scenario.requests),
        controllers: Arc::clone(&scenario.controllers),
        epoch_unix_nanos: scenario.kubectl.epoch_unix_nanos,
        timeline: scenario.timeline.clone(),
    }
}

/// What follows the loads of the scenario, where the objects do not say what does.
fn implied_autoscalers(procedures: &ProcedurePlan, objects: &[&Object]) -> Vec<Object> {
    let is_said = |implied: &HorizontalPodAutoscaler| {
        objects.iter().any(|object| {
            matches!(object, Object::HorizontalPodAutoscaler(there) if there.metadata.namespace == implied.metadata.namespace
                && there.spec.scale_target_ref.kind == implied.spec.scale_target_ref.kind
                && there.spec.scale_target_ref.name == implied.spec.scale_target_ref.name)
        })
    };
    let implied = procedures.workload_autoscalers.iter().filter_map(|spec| spec.object());
    implied.filter(|implied| !is_said(implied)).map(Object::from).collect()
}

/// CronJobs of a cluster that has long run have missed nothing; those that say when they were made, and not when they last ran, never have.
fn catch_up(objects: &[&Object], store: &mut Store, config: &Config) {
    for object in objects.iter().copied() {
        let Object::CronJob(written) = object else { continue };
        if !written.is_without_past() {
            continue;
        }
        let metadata = &written.metadata;
        let found = store.find_workload(ObjectKind::CronJob, metadata.namespace, metadata.name);
        if let Some(WorkloadId::CronJob(id)) = found
            && let Some(cron_job) = store.cron_jobs.get_mut(id)
        {
            cron_job.status.last_scheduled_at = last_due_before_start(&written.spec, config);
        }
    }
}

/// Puts objects into the store as they are, and ties them to their owners.
fn restore(objects: &[&Object], api: &mut ApiServer, store: &mut Store, config: &Config) {
    let (streams, begin) = (Streams::new(BOOTSTRAP_SEED), SimTime::ZERO - SETTLE_FOR);
    let mut changed = Vec::new();
    for &object in objects {
        if let Err(error) = api.restore(store, config, &streams, begin, object.clone(), &mut changed) {
            // Admission may forbid a pod, as the real one would.
            let is_forbidden = matches!(error.reason, ErrorReason::Forbidden | ErrorReason::InternalError);
            debug_assert!(is_forbidden, "a validated object was refused: {}", error.message);
        }
        changed.clear();
    }
    apiserver::link_owners(store);
}

/// What becomes of that which a cluster has if it has run for some time, and which the input does not say: storage for its
/// claims, and the taints that follow from a node's conditions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Gaps {
    /// A decision is about the state as it is: claims stay unbound, and a node that is only `unschedulable` has no taint.
    Left,
    /// The cluster has run until now.
    Filled,
}

/// The namespaces that every cluster has, and those that objects are in although the input does not declare them.
///
/// # Source
/// kube-apiserver, system namespaces controller; nothing is made in a namespace that is not there.
fn implied_namespaces(objects: &[&Object]) -> Vec<Object> {
    let mut names: BTreeSet<Symbol> =
        ["default", "kube-node-lease", "kube-public", "kube-system"].into_iter().map(Symbol::new).collect();
    names.extend(objects.iter().map(|object| object.metadata().namespace).filter(|name| !name.is_empty()));
    for object in objects {
        if let Object::Namespace(namespace) = object {
            names.remove(&namespace.metadata.name);
        }
    }
    let mut names: Vec<Symbol> = names.into_iter().collect();
    names.sort_by_key(|name| name.as_str());
    names
        .into_iter()
        .map(|name| {
            let mut namespace = crate::model::Namespace::default();
            namespace.metadata.name = name;
            Object::Namespace(Box::new(namespace))
        })
        .collect()
}

/// The priority classes that every cluster has, where the input does not hold them.
///
/// # Source
/// kube-apiserver, the post-start hook of the scheduling API, `AddSystemPriorityClasses`.
fn implied_classes(objects: &[&Object]) -> Vec<Object> {
    let is_there =
        |name: &str| objects.iter().any(|o| matches!(o, Object::PriorityClass(class) if class.metadata.name == name));
    let missing = SYSTEM_PRIORITY_CLASSES.into_iter().filter(|(name, _)| !is_there(name));
    missing
        .map(|(name, value)| {
            let mut class = PriorityClass { value, ..PriorityClass::default() };
            class.metadata.name = Symbol::new(name);
            Object::PriorityClass(Box::new(class))
        })
        .collect()
}

/// Classes, volumes and claims that are referred to, where the input says nothing of storage: it has no class and no
/// volume; claims, only if it has none either.
///
/// # Differs
/// A cluster without a StorageClass leaves such claims unbound, and pods whose claim is missing wait. Manifests of an
/// application seldom bring the cluster's classes, and `kubectl get all` leaves out claims and volumes, so that claims are met
/// here, by volumes that can be reached from every node and are attached at once.
fn implied_storage(objects: &[&Object]) -> Vec<Object> {
    if objects.iter().any(|object| matches!(object, Object::StorageClass(_) | Object::PersistentVolume(_))) {
        return Vec::new();
    }
    let mut classes: BTreeSet<Symbol> = BTreeSet::new();
    let mut claims: BTreeSet<(Symbol, Symbol)> = BTreeSet::new();
    let mut implied = Vec::new();
    for object in objects {
        match object {
            Object::PersistentVolumeClaim(claim) => {
                classes.extend(claim.spec.storage_class_name);
                implied.extend(claim.spec.volume_name.map(|name| volume_for(claim, name)));
            }
            Object::StatefulSet(set) => {
                classes.extend(set.spec.volume_claim_templates.iter().filter_map(|c| c.spec.storage_class_name));
            }
            _ => {}
        }
        let own = if let Object::Pod(pod) = object { Some(&pod.spec) } else { None };
        if let Some(spec) = own.or_else(|| scenario::pod_template(object).map(|template| &template.spec)) {
            let used = spec.volumes.iter().filter_map(|volume| volume.persistent_volume_claim.as_ref());
            claims.extend(used.map(|claim| (object.metadata().namespace, claim.claim_name)));
        }
    }
    let default = Symbol::new("kubesquall-unspecified");
    classes.insert(default);
    implied.extend(classes.into_iter().filter(|name| !name.is_empty()).map(|name| class_for(name, name == default)));
    if !objects.iter().any(|object| matches!(object, Object::PersistentVolumeClaim(_))) {
        implied.extend(claims.into_iter().map(|(namespace, name)| {
            let mut claim = PersistentVolumeClaim::default();
            (claim.metadata.namespace, claim.metadata.name) = (namespace, name);
            // What the API server wants to be said, and what hinders nobody.
            claim.spec.access_modes.push(AccessMode::ReadWriteMany);
            claim.spec.resources.requests.insert(Symbol::new("storage"), Quantity::from_value(1));
            Object::from(claim)
        }));
    }
    implied
}

fn class_for(name: Symbol, is_default: bool) -> Object {
    let mut class = StorageClass { provisioner: UNSPECIFIED_PROVISIONER.into(), ..StorageClass::default() };
    class.metadata.name = name;
    class.volume_binding_mode = VolumeBindingMode::WaitForFirstConsumer;
    if is_default {
        let key = Symbol::new("storageclass.kubernetes.io/is-default-class");
        class.metadata.annotations.insert(key, Symbol::new("true"));
    }
    Object::from(class)
}

fn volume_for(claim: &PersistentVolumeClaim, name: Symbol) -> Object {
    let mut volume = PersistentVolume::default();
    volume.metadata.name = name;
    volume.spec.capacity = claim.spec.resources.requests.clone();
    volume.spec.access_modes.clone_from(&claim.spec.access_modes);
    volume.spec.storage_class_name = claim.spec.storage_class_name.unwrap_or_default();
    volume.spec.claim_ref = Some(ObjectReference {
        namespace: claim.metadata.namespace,
        name: claim.metadata.name,
        ..ObjectReference::default()
    });
    Object::from(volume)
}

/// How the machines of each pool register.
fn pool_templates(scenario: &ResolvedScenario) -> Vec<PoolTemplate> {
    let template = |pool: &crate::component::PoolPlan| PoolTemplate {
        registration: pool.registration.clone(),
        zones: pool.zones.clone(),
    };
    scenario.chaos.pools.iter().map(template).collect()
}

/// Order in which kinds are created, so that admission finds what it looks up.
fn rank(object: &Object) -> u8 {
    match object {
        Object::Namespace(_) => 0,
        Object::PriorityClass(_) | Object::RuntimeClass(_) | Object::LimitRange(_) => 1,
        Object::StorageClass(_) | Object::CSIDriver(_) | Object::CSINode(_) => 2,
        Object::PersistentVolume(_) => 3,
        Object::Node(_) => rank_of_nodes(),
        Object::PersistentVolumeClaim(_) => 6,
        Object::Service(_) | Object::PodDisruptionBudget(_) => 7,
        Object::CronJob(_) | Object::Deployment(_) => 8,
        Object::ReplicaSet(_)
        | Object::ReplicationController(_)
        | Object::DaemonSet(_)
        | Object::StatefulSet(_)
        | Object::Job(_) => 9,
        Object::Pod(_) => 11,
        // It counts what is there.
        Object::ResourceQuota(_) => 12,
        Object::ControllerRevision(_) | Object::HorizontalPodAutoscaler(_) | Object::Stored(_) => 10,
    }
}

fn rank_of_nodes() -> u8 {
    5
}

/// Nodes that come without conditions, as those of pools do, have long been reported Ready by their kubelets.
fn post_first_status(api: &mut ApiServer, store: &mut Store, config: &Config, streams: &Streams, now: SimTime) {
    let silent: Vec<_> =
        store.nodes().filter(|(_, node)| node.conditions.ready().is_none()).map(|(id, _)| id).collect();
    let kinds = [
        (NodeConditionKind::MemoryPressure, Status::False, "KubeletHasSufficientMemory"),
        (NodeConditionKind::DiskPressure, Status::False, "KubeletHasNoDiskPressure"),
        (NodeConditionKind::PidPressure, Status::False, "KubeletHasSufficientPID"),
        (NodeConditionKind::Ready, Status::True, "KubeletReady"),
    ];
    let uninitialized = Symbol::new("node.cloudprovider.kubernetes.io/uninitialized");
    for node in silent {
        let conditions = kinds.iter().map(|&(kind, status, reason)| NodeConditionUpdate {
            kind,
            condition: NodeCondition { status, reason, since: now },
        });
        let request = Request::PatchNodeStatus { node, conditions: conditions.collect(), base: None };
        let answer = api.handle(store, config, streams, now, request, &mut Vec::new());
        debug_assert!(answer.is_ok(), "a node of the input takes its first status");
        if store.is_without_cloud {
            continue;
        }
        // The cloud, if there is one, has told of it as well.
        let of_cloud = |taint: &&TaintOnNode| taint.key == uninitialized;
        let remove: SmallVec<[_; 2]> = store
            .node(node)
            .map(|node| node.taints.iter().filter(of_cloud).map(|taint| (taint.key, taint.effect)).collect())
            .unwrap_or_default();
        if remove.is_empty() {
            continue;
        }
        let request = Request::PatchNodeTaints { node, add: SmallVec::new(), remove };
        let _ = api.handle(store, config, streams, now, request, &mut Vec::new());
    }
}

/// Nodes whose conditions have long been known have the taints that follow from them.
fn taint_by_condition(api: &mut ApiServer, store: &mut Store, config: &Config, streams: &Streams, now: SimTime) {
    let patches = condition_taints(store.nodes().map(|(id, node)| (id, &**node)), now);
    patch_taints(patches, api, store, config, streams, now);
}

fn patch_taints(
    patches: Vec<Request>,
    api: &mut ApiServer,
    store: &mut Store,
    config: &Config,
    streams: &Streams,
    now: SimTime,
) {
    for patch in patches {
        let answer = api.handle(store, config, streams, now, patch, &mut Vec::new());
        debug_assert!(answer.is_ok(), "a node of the input takes its taints");
    }
}

/// Every Node object of the input has a machine; its conditions tell in which state.
fn start_machines(store: &mut Store) {
    let nodes: Vec<_> = store.nodes().map(|(id, node)| (id, node.conditions)).collect();
    for (id, conditions) in nodes {
        let machine = store.machine_mut(id);
        *machine = Machine::running();
        match conditions.ready() {
            Some(Status::Unknown) => {
                // Nobody heard of it when the dump was made: the machine is off.
                machine.power = crate::state::Power::Off;
                machine.kubelet_running = false;
            }
            Some(Status::False) => machine.reported.not_ready = true,
            Some(Status::True) | None => {}
        }
        machine.reported.memory_pressure = conditions.is_true(NodeConditionKind::MemoryPressure);
        machine.reported.disk_pressure = conditions.is_true(NodeConditionKind::DiskPressure);
        machine.reported.pid_pressure = conditions.is_true(NodeConditionKind::PidPressure);
        machine.network_unavailable = conditions.is_true(NodeConditionKind::NetworkUnavailable);
    }
}

/// Nodes with a provider id are instances of a cloud. Nodes whose status is no kubelet's work have a stand-in for one. Kubelets of nodes that
/// registered together, as far as time stamps tell, began together.
fn mark_machines<'a>(store: &mut Store, objects: impl Iterator<Item = &'a Object> + Clone) {
    const TOGETHER: SimDuration = SimDuration::from_secs(2);
    let nodes = objects.filter_map(|object| if let Object::Node(node) = object { Some(node) } else { None });
    let registered_at = |store: &Store, node: &crate::model::Node| {
        node.metadata.creation_timestamp?;
        Some(store.node(store.find_node(node.metadata.name)?)?.created_at)
    };
    let first = nodes.clone().filter_map(|node| registered_at(store, node)).min();
    for node in nodes {
        let registered_at = registered_at(store, node);
        let provider = node.spec.provider_id.map_or("", |id| id.as_str());
        let is_cloud = names_an_instance(provider);
        if let Some(id) = store.find_node(node.metadata.name) {
            let machine = store.machine_mut(id);
            machine.is_cloud_instance = is_cloud;
            machine.has_stand_in_kubelet = node.has_stand_in_kubelet();
            machine.began_with_others = registered_at.zip(first).is_some_and(|(own, first)| own <= first + TOGETHER);
        }
    }
}

/// Whether kubelets have reported Nodes of these, none of which is an instance of a cloud: a Node that nobody has reported yet may be one.
fn are_without_cloud<'a>(objects: impl Iterator<Item = &'a Object>) -> bool {
    let mut is_reported = false;
    for object in objects {
        let Object::Node(node) = object else { continue };
        if node.spec.provider_id.is_some_and(|id| names_an_instance(id.as_str())) {
            return false;
        }
        is_reported |= !node.status.conditions.is_empty();
    }
    is_reported
}

/// Whether a provider id is that of an instance that a cloud can be asked about. kind, k3s, kubemark and KWOK name providers that have
/// none.
fn names_an_instance(provider_id: &str) -> bool {
    let without_instances = ["kind", "k3s", "kubemark", "kwok"];
    provider_id.split_once("://").is_some_and(|(provider, _)| !without_instances.contains(&provider))
}

/// The same configuration without rate limits and with pods that start at once.
fn unhurried(config: &Config) -> Config {
    let mut config = config.clone();
    let at_once = || Distribution::Constant(SimDuration::ZERO);
    config.kube_controller_manager.kube_api_qps = f64::INFINITY;
    config.kube_scheduler.client_connection.qps = Some(f64::INFINITY);
    config.latency = Latencies {
        pod_start: at_once(),
        image_pull: at_once(),
        pod_ready: at_once(),
        job_run: config.latency.job_run.clone(),
        pod_stop: at_once(),
        node_boot: at_once(),
        kubelet_reconnect: at_once(),
        volume_attach: at_once(),
        volume_detach: at_once(),
        volume_provision: at_once(),
        watch: Distribution::Constant(SimDuration::from_millis(5)),
        api_call: Distribution::Constant(Config::ROUND_TRIP_MAX),
        kubectl_start: at_once(),
    };
    config.round_trip = Config::ROUND_TRIP_MAX;
    config
}

/// Controllers that act on failures, on clocks or on commands have nothing to do before t=0.
fn takes_part_in_settling(which: Which) -> bool {
    !matches!(
        which,
        Which::NodeLifecycle
            | Which::TaintEviction
            | Which::PodGc
            | Which::CloudNodeLifecycle
            | Which::CronJobs
            | Which::Namespaces
    )
}

#[cfg(test)]
mod tests {
    use super::names_an_instance;

    #[test]
    fn kubemark_kind_k3s_and_kwok_have_no_instances() {
        for (provider_id, expected) in [
            ("aws:///eu-west-1a/i-0abc", true),
            ("gce://p/z/n", true),
            ("kind://docker/kind/kind-worker", false),
            ("k3s://node", false),
            ("kubemark://h-0", false),
            ("kwok://n", false),
            ("", false),
        ] {
            assert_eq!(names_an_instance(provider_id), expected, "{provider_id}");
        }
    }
}
