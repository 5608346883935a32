//! A cluster of one node `n` whose objects only the test, the kubelet and chaos touch.

use std::sync::Arc;

use crate::apiserver::ApiServer;
use crate::arena::Symbol;
use crate::chaos::{self, AnyFault, Chaos, ChaosPlan, ControlPlaneOutage, FaultKind, FaultSpec, ImagePullFailure};
use crate::component::{
    Answer, ApiError, Component, Config, Ctx, DeleteOptions, ErrorReason, Latencies, NodeConditionUpdate,
    NodeRegistration, Outbox, PodStatusPatch, PoolPlan, Record, Request, Start, Timers,
};
use crate::engine::{Distribution, EventQueue, Streams, Ticket};
use crate::kubelet::{Kubelets, PoolTemplate, Timer};
use crate::model::config::{
    KubeApiserver, KubeControllerManager, KubeSchedulerConfiguration, KubeletConfiguration, KubernetesVersion,
};
use crate::model::{self, Object};
use crate::state::{
    CauseId, Change, Changed, ControlPlaneProcess, DeletionCause, Machine, MachineChange, NodeCondition,
    NodeConditionKind, NodeId, Pod, PodDelta, PodId, PodPhase, Power, Status, Store,
};
use crate::units::{SimDuration, SimTime};

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n, labels: {topology.kubernetes.io/zone: a}}, \
    status: {allocatable: {cpu: '8', memory: 16Gi, pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}";

#[derive(Clone, Debug)]
enum Event {
    Kubelet(Timer),
    Chaos(chaos::Timer),
    Arrive(Request, Option<NodeId>),
    Answer(NodeId, Answer),
    Deliver(Change),
    Delete(String, Option<i64>),
    Unready(String),
}

struct BenchTimers<'a, T> {
    queue: &'a mut EventQueue<Event>,
    wrap: fn(T) -> Event,
}

impl<T> Timers<T> for BenchTimers<'_, T> {
    fn arm(&mut self, at: SimTime, timer: T) -> Ticket {
        self.queue.push(at, (self.wrap)(timer))
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.queue.cancel(ticket).is_some()
    }
}

/// Kubelets, chaos and an API server.
pub(in crate::kubelet) struct Bench {
    pub(super) config: Config,
    now: SimTime,
    store: Store,
    api: ApiServer,
    api_is_up: bool,
    streams: Streams,
    kubelets: Kubelets,
    chaos: Option<Chaos>,
    plan: ChaosPlan,
    queue: EventQueue<Event>,
    changed: Vec<Changed>,
    machine_changes: Vec<MachineChange>,
    records: Vec<(SimTime, &'static str, String, String)>,
    ready: Vec<(String, f64, bool)>,
    gone: Vec<(String, f64)>,
    last_phases: Vec<(String, PodPhase)>,
    finished: Vec<(String, f64)>,
    renewals: Vec<f64>,
}

fn secs(secs: f64) -> SimTime {
    SimTime::from_millis((secs * 1e3).round() as i64)
}

fn seconds(at: SimTime) -> f64 {
    at.as_nanos() as f64 / 1e9
}

fn config() -> Config {
    let version = KubernetesVersion::NEWEST;
    let constant = |secs| Distribution::Constant(SimDuration::from_secs(secs));
    Config {
        version,
        kube_apiserver: KubeApiserver::defaults(version),
        kube_controller_manager: KubeControllerManager::defaults(version),
        kube_scheduler: KubeSchedulerConfiguration::default(),
        kubelet: KubeletConfiguration::default().resolve(version),
        latency: Latencies {
            pod_start: constant(2),
            node_boot: constant(0),
            kubelet_reconnect: constant(0),
            ..Latencies::default()
        },
        round_trip: SimDuration::from_millis(10),
        epoch_unix_s: 0,
    }
}

impl Bench {
    /// One healthy node; nothing has started.
    pub(in crate::kubelet) fn new() -> Self {
        let node: model::Node = serde_saphyr::from_str(NODE).expect("a node");
        let registration = NodeRegistration::from(&node);
        let zones = vec![Symbol::new("a"), Symbol::new("b")];
        let template = PoolTemplate { registration: registration.clone(), zones: zones.clone() };
        let pool = PoolPlan { name: Symbol::new("n"), registration, zones };
        let mut bench = Self {
            config: config(),
            now: SimTime::ZERO,
            store: Store::default(),
            api: ApiServer::new(),
            api_is_up: true,
            streams: Streams::new(1),
            kubelets: Kubelets::new(Arc::new(vec![template])),
            chaos: None,
            plan: ChaosPlan { pools: vec![pool], ..ChaosPlan::default() },
            queue: EventQueue::new(),
            changed: Vec::new(),
            machine_changes: Vec::new(),
            records: Vec::new(),
            ready: Vec::new(),
            gone: Vec::new(),
            last_phases: Vec::new(),
            finished: Vec::new(),
            renewals: Vec::new(),
        };
        bench.handle_request(Request::Create(Box::new(Object::Node(Box::new(node))))).expect("a new node");
        bench.changed.clear();
        let id = bench.node_id();
        *bench.store.machine_mut(id) = Machine::running();
        bench
    }

    fn node_id(&self) -> NodeId {
        self.store.find_node(Symbol::new("n")).expect("the node has a place")
    }

    // ---- the plot ---------------------------------------------------------------------------------------------------

    pub(super) fn create(&mut self, at_s: f64, pod: &str) {
        let pod: model::Pod = serde_saphyr::from_str(pod).expect("a pod");
        let mut pod = pod;
        pod.apply_defaults();
        if let Some(value) = pod.spec.priority {
            pod.spec.priority_class_name = Some(self.class(value));
        }
        let request = Request::Create(Box::new(Object::Pod(Box::new(pod))));
        self.queue.push(secs(at_s), Event::Arrive(request, None));
    }

    /// A priority class of that value: without one no pod has it.
    fn class(&mut self, value: i32) -> Symbol {
        let name = match model::SYSTEM_PRIORITY_CLASSES.iter().find(|(_, known)| *known == value) {
            Some((name, _)) => (*name).to_owned(),
            None => format!("of-{value}"),
        };
        let mut class = model::PriorityClass { value, ..model::PriorityClass::default() };
        class.metadata.name = Symbol::new(&name);
        let object = Object::PriorityClass(Box::new(class));
        let _ = self.api.restore(&mut self.store, &self.config, &self.streams, self.now, object, &mut self.changed);
        Symbol::new(&name)
    }

    pub(super) fn delete(&mut self, at_s: f64, pod: &str, grace_s: Option<i64>) {
        self.queue.push(secs(at_s), Event::Delete(pod.to_owned(), grace_s));
    }

    pub(super) fn unready(&mut self, at_s: f64, pod: &str) {
        self.queue.push(secs(at_s), Event::Unready(pod.to_owned()));
    }

    pub(super) fn delete_node(&mut self, at_s: f64) {
        let node = self.node_id();
        self.queue.push(secs(at_s), Event::Arrive(Request::DeleteNode { node }, None));
    }

    /// The node controller has not heard of the node and says so.
    pub(super) fn taken_for_lost(&mut self, at_s: f64) {
        let node = self.node_id();
        let condition = NodeCondition { status: Status::Unknown, reason: "NodeStatusUnknown", since: secs(at_s) };
        let update = NodeConditionUpdate { kind: NodeConditionKind::Ready, condition };
        let conditions = std::iter::once(update).collect();
        self.queue.push(secs(at_s), Event::Arrive(Request::PatchNodeStatus { node, conditions, base: None }, None));
    }

    pub(super) fn taint(&mut self, key: &str, effect: &str) {
        let taint: model::Taint =
            serde_saphyr::from_str(&format!("{{key: {key}, effect: {effect}}}")).expect("a taint");
        let id = self.node_id();
        let taint =
            crate::state::TaintOnNode { key: taint.key, value: taint.value, effect: taint.effect, added_at: None };
        self.store.node_mut(id).expect("the node").taints.push(taint);
    }

    pub(super) fn shutdown_grace(&mut self, total_s: u64, critical_s: u64) {
        let kubelet = KubeletConfiguration {
            shutdown_grace_period: Some(SimDuration::from_secs(total_s)),
            shutdown_grace_period_critical_pods: Some(SimDuration::from_secs(critical_s)),
            ..KubeletConfiguration::default()
        };
        self.config.kubelet = kubelet.resolve(self.config.version);
    }

    /// The node has no kubelet of Kubernetes' own.
    pub(super) fn has_stand_in(&mut self) {
        let id = self.node_id();
        self.store.machine_mut(id).has_stand_in_kubelet = true;
    }

    /// The kubelet's configuration.
    pub(super) fn configure(&mut self, json: &str) {
        let kubelet: KubeletConfiguration = serde_json::from_str(json).expect("a configuration");
        self.config.kubelet = kubelet.resolve(self.config.version);
    }

    /// The node has so many of an extended resource.
    pub(super) fn extended(&mut self, name: &str, count: i64) {
        let id = self.node_id();
        let node = self.store.node_mut(id).expect("the node");
        Arc::make_mut(&mut node.allocatable).scalars.push((Symbol::new(name), count));
    }

    /// The node's disk and what of it images take.
    pub(super) fn disk(&mut self, bytes: i64, images: &[(&str, i64)]) {
        let id = self.node_id();
        let node = self.store.node_mut(id).expect("the node");
        Arc::make_mut(&mut node.allocatable).ephemeral_storage = bytes;
        node.images = images.iter().map(|(name, size)| (vec![Symbol::new(name)], *size)).collect();
    }

    /// Pulls of an image fail from one second to another.
    pub(super) fn lacks_image(&mut self, from_s: u64, until_s: u64, image: &str) {
        let length = Some(SimDuration::from_secs(until_s - from_s));
        let images = vec![image.to_owned()];
        self.fault_spec(from_s, FaultSpec { length, ..FaultSpec::new(ImagePullFailure { images }) });
    }

    /// Labels the node without telling anybody.
    pub(super) fn label(&mut self, key: &str, value: &str) {
        let id = self.node_id();
        let node = self.store.node_mut(id).expect("the node");
        node.labels = node.labels.with(Symbol::new(key), Symbol::new(value));
    }

    /// Sets the annotations of a pod.
    pub(super) fn annotate(&mut self, pod: &str, key: &str, value: &str) {
        let pod = self.pod_id(pod).expect("the pod exists");
        let annotations = Arc::new([(Symbol::new(key), Symbol::new(value))].into_iter().collect());
        self.handle_request(Request::SetPodAnnotations { pod, annotations }).expect("a change");
        self.settle();
    }

    /// The machine's memory; what is allocatable stays.
    pub(super) fn capacity_of_memory(&mut self, bytes: i64) {
        let id = self.node_id();
        let node = self.store.node_mut(id).expect("the node");
        Arc::make_mut(&mut node.capacity).memory = bytes;
    }

    /// From one second to another, others than pods use something of the node.
    pub(super) fn burden(&mut self, from_s: u64, until_s: u64, kind: FaultKind, usage: &str) {
        let text = format!("{{kind: {}, for: {}s, usage: {usage}}}", kind.as_str(), until_s - from_s);
        self.fault_spec(from_s, serde_saphyr::from_str(&text).expect("a fault"));
    }

    pub(super) fn fault(&mut self, at_s: u64, kind: FaultKind, for_s: Option<u64>) {
        let fault: AnyFault = match kind {
            FaultKind::ControlPlaneOutage => {
                ControlPlaneOutage { components: vec![chaos::ProcessName::KubeApiserver] }.into()
            }
            kind => kind.into(),
        };
        self.fault_spec(at_s, FaultSpec { length: for_s.map(SimDuration::from_secs), ..FaultSpec::new(fault) });
    }

    pub(super) fn fault_spec(&mut self, at_s: u64, fault: FaultSpec) {
        let at = secs(at_s as f64);
        self.queue.push(at, Event::Chaos(chaos::Timer::Fault(self.plan.faults.len())));
        self.plan.faults.push((at, fault));
    }

    pub(super) fn add_nodes(&mut self, at_s: u64, _pool: &str, count: u32) {
        let at = secs(at_s as f64);
        self.queue.push(at, Event::Chaos(chaos::Timer::AddNodes(self.plan.add_nodes.len())));
        self.plan.add_nodes.push((at, 0, count));
    }

    // ---- the play ---------------------------------------------------------------------------------------------------

    pub(super) fn run_until(&mut self, until_s: f64) {
        if self.chaos.is_none() {
            self.chaos = Some(Chaos::new(Arc::new(self.plan.clone())));
            self.chaos(|chaos, ctx| chaos.started(Start::Initial, ctx));
            self.kubelet(|kubelets, ctx| kubelets.started(Start::Initial, ctx));
            self.settle();
        }
        let end = secs(until_s);
        while self.queue.peek_time().is_some_and(|at| at <= end) {
            let next = self.queue.pop().expect("there is an event");
            self.now = next.at;
            self.play(next.event);
            self.settle();
        }
        self.now = end;
    }

    fn play(&mut self, event: Event) {
        match event {
            Event::Kubelet(timer) => self.kubelet(|kubelets, ctx| kubelets.fired(timer, ctx)),
            Event::Chaos(timer) => self.chaos(|chaos, ctx| chaos.fired(timer, ctx)),
            Event::Answer(node, answer) => self.kubelet(|kubelets, ctx| kubelets.answered(node, &answer, ctx)),
            Event::Deliver(change) => {
                self.kubelet(|kubelets, ctx| kubelets.changed(&change, ctx));
                self.chaos(|chaos, ctx| {
                    if Chaos::watches(&change.what) {
                        chaos.changed(&change, ctx);
                    }
                });
            }
            Event::Arrive(request, tag) => {
                let answer = if self.api_is_up {
                    self.handle_request(request)
                } else {
                    Err(ApiError::new(ErrorReason::Unavailable, "down"))
                };
                if let Some(tag) = tag {
                    self.queue.push(self.now + SimDuration::from_millis(5), Event::Answer(tag, answer));
                }
            }
            Event::Delete(pod, grace_s) => {
                let pod = self.pod_id(&pod).expect("the pod exists");
                let options = DeleteOptions { grace_s, uid: None };
                let request = Request::DeletePod { pod, options, cause: DeletionCause::Kubectl };
                self.handle_request(request).expect("a deletion");
            }
            Event::Unready(pod) => {
                let pod = self.pod_id(&pod).expect("the pod exists");
                let patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
                self.handle_request(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
            }
        }
    }

    fn handle_request(&mut self, request: Request) -> Answer {
        self.api.handle(&mut self.store, &self.config, &self.streams, self.now, request, &mut self.changed)
    }

    fn settle(&mut self) {
        self.publish();
        while !self.machine_changes.is_empty() {
            let change = self.machine_changes.remove(0);
            match change {
                MachineChange::ProcessDown(ControlPlaneProcess::KubeApiserver) => self.api_is_up = false,
                MachineChange::ProcessUp(ControlPlaneProcess::KubeApiserver) => self.api_is_up = true,
                MachineChange::HeartbeatBegins { .. } if self.now > secs(11.0) => self.renewals.push(seconds(self.now)),
                _ => {}
            }
            self.store.apply_machine_change(&change, self.now);
            self.chaos(|chaos, ctx| chaos.machine_changed(&change, ctx));
            self.kubelet(|kubelets, ctx| kubelets.machine_changed(&change, ctx));
            self.publish();
        }
    }

    fn publish(&mut self) {
        for what in std::mem::take(&mut self.changed) {
            match &what {
                Changed::PodUpdated { pod, delta, .. } => {
                    let pod = self.store.pod(*pod).expect("the pod was updated");
                    if delta.touches(PodDelta::READY) {
                        self.ready.push((pod.name.to_string(), seconds(self.now), pod.is_ready()));
                    }
                    if delta.touches(PodDelta::PHASE) && pod.phase.is_terminal() {
                        self.finished.push((pod.name.to_string(), seconds(self.now)));
                    }
                }
                Changed::PodRemoved { last, .. } => {
                    self.gone.push((last.name.to_string(), seconds(self.now)));
                    self.last_phases.push((last.name.to_string(), last.phase));
                }
                _ => {}
            }
            let change = Change { at: self.now, cause: CauseId::NONE, what };
            self.queue.push(self.now + SimDuration::from_millis(5), Event::Deliver(change));
        }
    }

    fn kubelet(&mut self, handler: impl FnOnce(&mut Kubelets, &mut Ctx<'_, Kubelets>)) {
        let mut outbox = Outbox::default();
        let mut timers = BenchTimers { queue: &mut self.queue, wrap: Event::Kubelet };
        let (store, config, streams) = (&self.store, &self.config, &self.streams);
        let mut ctx = Ctx::new(self.now, store, config, streams, CauseId::NONE, &mut timers, &mut outbox);
        handler(&mut self.kubelets, &mut ctx);
        self.take(outbox);
    }

    /// Looks at the cluster as the kubelets do.
    pub(in crate::kubelet) fn look(&self, look: impl FnOnce(NodeId, &Ctx<'_, Kubelets>)) {
        let (mut outbox, mut queue) = (Outbox::default(), EventQueue::new());
        let mut timers = BenchTimers { queue: &mut queue, wrap: Event::Kubelet };
        let (store, config, streams) = (&self.store, &self.config, &self.streams);
        look(self.node_id(), &Ctx::new(self.now, store, config, streams, CauseId::NONE, &mut timers, &mut outbox));
    }

    fn chaos(&mut self, handler: impl FnOnce(&mut Chaos, &mut Ctx<'_, Chaos>)) {
        let mut outbox = Outbox::default();
        let mut timers = BenchTimers { queue: &mut self.queue, wrap: Event::Chaos };
        let (store, config, streams) = (&self.store, &self.config, &self.streams);
        let mut ctx = Ctx::new(self.now, store, config, streams, CauseId::NONE, &mut timers, &mut outbox);
        handler(self.chaos.as_mut().expect("chaos has started"), &mut ctx);
        let outbox = Outbox {
            calls: Vec::new(),
            events: outbox.events,
            records: outbox.records,
            machine_changes: outbox.machine_changes,
            messages: outbox.messages,
        };
        self.take(outbox);
    }

    fn take(&mut self, outbox: Outbox<NodeId>) {
        for call in outbox.calls {
            self.queue.push(self.now + SimDuration::from_millis(5), Event::Arrive(call.request, call.tag));
        }
        for (record, _) in outbox.records {
            if let Record::Event { event, .. } = record {
                let name = event.about.name.to_string();
                self.records.push((self.now, event.reason, name, event.message));
            }
        }
        self.machine_changes.extend(outbox.machine_changes.into_iter().map(|(change, _)| change));
    }

    // ---- what happened ----------------------------------------------------------------------------------------------

    fn pod_id(&self, name: &str) -> Option<PodId> {
        self.store.find_pod(Symbol::new("default"), &Arc::from(name))
    }

    pub(super) fn pod_exists(&self, name: &str) -> bool {
        self.pod_id(name).is_some()
    }

    pub(super) fn pod(&self, name: &str) -> &Pod {
        self.pod_id(name).and_then(|id| self.store.pod(id)).expect("the pod exists")
    }

    /// When the pod was ready for the first time, and what came after.
    pub(super) fn ready_changes(&self, name: &str) -> Vec<(f64, bool)> {
        let changes = self.ready.iter().filter(|(pod, ..)| pod == name);
        changes.skip_while(|(.., ready)| !ready).map(|(_, at, ready)| (*at, *ready)).collect()
    }

    /// Every change of the pod's Ready condition, from the first one on.
    pub(super) fn readiness(&self, name: &str) -> Vec<(f64, bool)> {
        self.ready.iter().filter(|(pod, ..)| pod == name).map(|(_, at, ready)| (*at, *ready)).collect()
    }

    /// When the pod had Succeeded or Failed.
    pub(super) fn finished_at(&self, name: &str) -> Option<f64> {
        self.finished.iter().find(|(pod, _)| pod == name).map(|(_, at)| *at)
    }

    /// In which phase the pod was when its object went.
    pub(super) fn last_phase(&self, name: &str) -> Option<PodPhase> {
        self.last_phases.iter().find(|(pod, _)| pod == name).map(|(_, phase)| *phase)
    }

    pub(super) fn gone_at(&self, name: &str) -> Option<f64> {
        self.gone.iter().find(|(pod, _)| pod == name).map(|(_, at)| *at)
    }

    pub(super) fn events(&self, reason: &str) -> Vec<f64> {
        self.records.iter().filter(|record| record.1 == reason).map(|record| seconds(record.0)).collect()
    }

    /// Which objects events of that reason are about, and what they say.
    pub(super) fn messages(&self, reason: &str) -> Vec<(&str, &str)> {
        self.records.iter().filter(|record| record.1 == reason).map(|record| (&*record.2, &*record.3)).collect()
    }

    /// Whether a condition of the node is True.
    pub(super) fn condition(&self, kind: NodeConditionKind) -> bool {
        let node = self.store.node(self.node_id());
        node.and_then(|node| node.conditions.get(kind)).is_some_and(|condition| condition.status == Status::True)
    }

    pub(super) fn heard(&self) -> bool {
        self.store.heartbeat(self.node_id()).is_alive()
    }

    pub(super) fn renewals(&self) -> &[f64] {
        &self.renewals
    }

    pub(super) fn node_exists(&self) -> bool {
        self.store.node(self.node_id()).is_some()
    }

    pub(super) fn node_ready(&self) -> Option<Status> {
        self.store.node(self.node_id()).and_then(|node| node.conditions.ready())
    }

    /// When the status was posted, as far as the present loop of reports tells.
    pub(super) fn reports(&self) -> Vec<f64> {
        let heartbeat = self.store.heartbeat(self.node_id());
        let seconds_so_far = self.now.as_nanos() / 1_000_000_000;
        let mut posts: Vec<SimTime> =
            (0..=seconds_so_far).filter_map(|at| heartbeat.posted_at(SimTime::from_secs(at))).collect();
        posts.dedup();
        posts.into_iter().map(seconds).collect()
    }

    /// When a condition of the node last changed its status.
    pub(super) fn since(&self, kind: NodeConditionKind) -> Option<f64> {
        let node = self.store.node(self.node_id())?;
        node.conditions.get(kind).map(|condition| seconds(condition.since))
    }

    /// Taints as `key:Effect`, sorted.
    pub(super) fn taints(&self) -> Vec<String> {
        let taints = self.store.node(self.node_id()).into_iter().flat_map(|node| &node.taints);
        let mut taints: Vec<String> = taints.map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
        taints.sort();
        taints
    }

    pub(super) fn is_on(&self) -> bool {
        self.store.machine(self.node_id()).power == Power::On
    }

    pub(super) fn boots(&self) -> u32 {
        self.store.machine(self.node_id()).boots
    }

    pub(super) fn nodes_and_zones(&self) -> Vec<(String, String)> {
        let zone = Symbol::new("topology.kubernetes.io/zone");
        let of = |(id, node): (NodeId, &Arc<crate::state::Node>)| {
            let zone = node.labels.get(zone).map_or("", |zone| zone.as_str());
            (self.store.node_name(id).to_string(), zone.to_owned())
        };
        self.store.nodes().map(of).collect()
    }

    pub(super) fn pending_events(&self) -> usize {
        self.queue.len()
    }
}
