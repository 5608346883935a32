//! A test bench: one controller against a small API server, with its client's token bucket, round trips and watch lag.
//!
//! Only what the node controllers ask for is understood. Machines and kubelets are played by the test.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::arena::Symbol;
use crate::component::{
    Answer, ApiError, Component, Config, Ctx, ErrorReason, EventDraft, Latencies, NodeConditionUpdate, Outbox, Reply,
    Request, Start, Timers, TokenBucket,
};
use crate::engine::{EventQueue, Streams, Ticket};
use crate::model::config::{
    KubeApiserver, KubeControllerManager, KubeSchedulerConfiguration, KubeletConfiguration, KubernetesVersion,
};
use crate::model::{Labels, PodSpec, QosClass, Resources, TaintEffect, Toleration};
use crate::state::{
    AdmittedSpec, Attachment, CauseId, Change, Changed, Deletion, DisruptionTarget, HeartbeatLoop, MachineChange, Meta,
    Node, NodeCondition, NodeConditionKind, NodeConditions, NodeDelta, NodeId, Owner, Pod, PodCondition, PodDelta,
    PodId, PodPhase, Status, Store, TaintOnNode, Uid,
};
use crate::units::{SimDuration, SimTime};

/// A Pending pod of the default namespace that nobody owns, created at t=0.
pub(super) fn bare_pod(name: &str, uid: u128) -> Pod {
    let spec = AdmittedSpec {
        spec: PodSpec::default(),
        finalizers: Box::default(),
        annotations: Arc::default(),
        requests: Resources::default(),
        non_zero_requests: Resources::default(),
        qos: QosClass::BestEffort,
        priority: 0,
    };
    Pod {
        namespace: Symbol::new("default"),
        name: Arc::from(name),
        uid: Uid(uid),
        labels: Labels::default(),
        owner: None,
        spec: Arc::new(spec),
        pinned_node: None,
        is_mirror: false,
        node: None,
        nominated_node: None,
        created_at: SimTime::ZERO,
        scheduled_at: None,
        started_at: None,
        deletion: None,
        job_tracking: false,
        phase: PodPhase::Pending,
        reason: Symbol::empty(),
        ready: None,
        not_scheduled: None,
        disruption_target: None,
        containers: SmallVec::new(),
        init_containers: SmallVec::new(),
        resource_version: 1,
    }
}

/// Metadata of an object of the default namespace.
pub(super) fn meta(name: &str, owner: Option<Owner>) -> Meta {
    Meta {
        namespace: Symbol::new("default"),
        name: Symbol::new(name),
        uid: Uid(u128::from(crate::arena::stable_hash(name.as_bytes()))),
        labels: Labels::default(),
        annotations: Arc::default(),
        created_at: SimTime::ZERO,
        generation: 1,
        version: 1,
        deleting: None,
        finalizers: Box::default(),
        owner,
    }
}

/// The deletion of a pod on a node that cannot confirm it.
pub(super) fn marked(at: SimTime) -> Deletion {
    let grace = SimDuration::from_secs(30);
    Deletion { requested_at: at, deadline: at + grace, grace, cause: crate::state::DeletionCause::Kubectl }
}

type Script<C> = Box<dyn FnOnce(&mut World, &mut C)>;
type Refusal = Box<dyn FnMut(&Request, SimTime) -> Option<ErrorReason>>;

enum Event<C: Component> {
    Timer(C::Timer),
    Arrive(Request, Option<C::Tag>),
    Answer(C::Tag, Answer),
    Post(EventDraft),
    Posted,
    Deliver(Change),
    Script(Script<C>),
    Machine(MachineChange),
}

/// The cluster as the test plays it.
pub(super) struct World {
    pub(super) now: SimTime,
    pub(super) store: Store,
    changed: Vec<Changed>,
    machine_changes: Vec<MachineChange>,
    next_uid: u128,
}

/// A controller under test.
pub(super) struct Bench<C: Component> {
    pub(super) world: World,
    pub(super) component: C,
    pub(super) config: Config,
    streams: Streams,
    queue: EventQueue<Event<C>>,
    bucket: TokenBucket,
    unposted: VecDeque<EventDraft>,
    is_posting: bool,
    /// How late the controller hears of changes.
    pub(super) watch: SimDuration,
    refuse: Refusal,
    /// Requests that arrived, but for plain reads.
    pub(super) requests: Vec<(SimTime, Request)>,
    /// Plain reads that arrived.
    pub(super) reads: Vec<SimTime>,
    /// Events that arrived.
    pub(super) events: Vec<(SimTime, EventDraft)>,
    /// Timers that fired.
    pub(super) timers_fired: usize,
}

struct BenchTimers<'a, C: Component> {
    queue: &'a mut EventQueue<Event<C>>,
}

impl<C: Component> Timers<C::Timer> for BenchTimers<'_, C> {
    fn arm(&mut self, at: SimTime, timer: C::Timer) -> Ticket {
        self.queue.push(at, Event::Timer(timer))
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.queue.cancel(ticket).is_some()
    }
}

pub(super) fn config() -> Config {
    let version = KubernetesVersion::NEWEST;
    Config {
        version,
        kube_apiserver: KubeApiserver::defaults(version),
        kube_controller_manager: KubeControllerManager::defaults(version),
        kube_scheduler: KubeSchedulerConfiguration::default(),
        kubelet: KubeletConfiguration::default().resolve(version),
        latency: Latencies::default(),
        round_trip: SimDuration::from_millis(10),
        epoch_unix_s: 0,
    }
}

pub(super) fn secs(secs: f64) -> SimTime {
    SimTime::from_nanos((secs * 1e9) as i64)
}

const WATCH: SimDuration = SimDuration::from_millis(5);
/// A heartbeat that does not come again.
const NEVER: SimDuration = SimDuration::from_secs(1_000_000);

impl World {
    pub(super) fn node_id(&self, name: &str) -> NodeId {
        self.store.find_node(Symbol::new(name)).expect("the test made the node")
    }

    pub(super) fn node(&self, name: &str) -> &Node {
        self.store.node(self.node_id(name)).expect("the node exists")
    }

    /// Announces a change that the test has made itself.
    pub(super) fn change(&mut self, what: Changed) {
        self.changed.push(what);
    }

    /// Makes a Node object with all conditions as a healthy kubelet posts them, whose kubelet renews its lease every 10 s.
    pub(super) fn add_node(&mut self, name: &str, zone: &str) -> NodeId {
        let node = self.add_silent_node(name, zone, true);
        self.revive(name);
        node
    }

    /// Makes a Node object without a kubelet, with or without conditions.
    pub(super) fn add_silent_node(&mut self, name: &str, zone: &str, has_conditions: bool) -> NodeId {
        let id = self.store.node_slot(Symbol::new(name));
        let mut conditions = NodeConditions::default();
        if has_conditions {
            for kind in NodeConditionKind::ALL.into_iter().filter(|kind| *kind != NodeConditionKind::NetworkUnavailable)
            {
                let status = if kind == NodeConditionKind::Ready { Status::True } else { Status::False };
                conditions.set(kind, Some(NodeCondition { status, reason: "KubeletReady", since: self.now }));
            }
        }
        let zone = (!zone.is_empty()).then(|| (Symbol::new("topology.kubernetes.io/zone"), Symbol::new(zone)));
        self.next_uid += 1;
        let node = Node {
            uid: Uid(self.next_uid),
            labels: zone.into_iter().collect::<Labels>(),
            annotations: Arc::default(),
            created_at: self.now,
            unschedulable: false,
            taints: SmallVec::new(),
            allocatable: Arc::new(Resources::default()),
            allocatable_pods: 110,
            capacity: Arc::new(Resources::default()),
            images: Arc::from(Vec::new()),
            kubelet_version: Symbol::empty(),
            conditions,
        };
        self.store.insert_node(id, node);
        self.changed.push(Changed::NodeAdded(id));
        id
    }

    /// The kubelet renews its lease every 10 s, from now on; its phase differs by node.
    pub(super) fn revive(&mut self, name: &str) {
        let id = self.node_id(name);
        let lease = HeartbeatLoop::new(self.now, SimDuration::from_secs(10), id.index() as u64);
        let reports = HeartbeatLoop::new(self.now + NEVER, NEVER, 1);
        self.store.heartbeat_mut(id).begin(self.now, lease, reports);
        self.changed.push(Changed::HeartbeatChanged(id));
    }

    /// The kubelet's last renewal was at this instant, and nothing follows.
    pub(super) fn last_renewal(&mut self, name: &str, at: SimTime) {
        let id = self.node_id(name);
        let lease = HeartbeatLoop::new(at, NEVER, 1);
        let reports = HeartbeatLoop::new(at + NEVER, NEVER, 1);
        self.store.heartbeat_mut(id).begin(at, lease, reports);
        self.silence(name);
    }

    /// Nothing of the kubelet is heard from now on.
    pub(super) fn silence(&mut self, name: &str) {
        let id = self.node_id(name);
        self.store.heartbeat_mut(id).silence(self.now);
        self.changed.push(Changed::HeartbeatChanged(id));
    }

    /// The kubelet posts its status.
    pub(super) fn post_ready(&mut self, name: &str, status: Status) {
        let id = self.node_id(name);
        let reports = HeartbeatLoop::new(self.now + NEVER, NEVER, 1);
        self.store.heartbeat_mut(id).post(self.now, reports);
        let condition = NodeCondition { status, reason: "KubeletReady", since: self.now };
        self.set_conditions(id, &[NodeConditionUpdate { kind: NodeConditionKind::Ready, condition }]);
    }

    /// Somebody writes a condition.
    pub(super) fn set_condition(&mut self, name: &str, kind: NodeConditionKind, status: Option<Status>) {
        let id = self.node_id(name);
        let since = self.now;
        self.edit_node(id, NodeDelta::CONDITIONS, |node| {
            node.conditions.set(kind, status.map(|status| NodeCondition { status, reason: "Test", since }));
        });
    }

    fn set_conditions(&mut self, id: NodeId, updates: &[NodeConditionUpdate]) {
        self.edit_node(id, NodeDelta::CONDITIONS, |node| {
            for update in updates {
                node.conditions.set(update.kind, Some(update.condition));
            }
        });
    }

    /// Changes a Node object.
    pub(super) fn edit_node(&mut self, id: NodeId, delta: NodeDelta, edit: impl FnOnce(&mut Node)) {
        let before = Arc::clone(self.store.node(id).expect("the node exists"));
        edit(self.store.node_mut(id).expect("the node exists"));
        self.changed.push(Changed::NodeUpdated { node: id, delta, before });
    }

    pub(super) fn taint(&mut self, name: &str, key: &str, effect: TaintEffect) {
        let id = self.node_id(name);
        let taint = TaintOnNode { key: Symbol::new(key), value: Symbol::empty(), effect, added_at: Some(self.now) };
        self.edit_node(id, NodeDelta::TAINTS, |node| {
            node.taints.retain(|other| (other.key, other.effect) != (taint.key, taint.effect));
            node.taints.push(taint);
        });
    }

    pub(super) fn untaint(&mut self, name: &str, key: &str) {
        let id = self.node_id(name);
        self.edit_node(id, NodeDelta::TAINTS, |node| node.taints.retain(|taint| taint.key != key));
    }

    pub(super) fn remove_node(&mut self, name: &str) {
        let node = self.node_id(name);
        let last = self.store.remove_node(node).expect("the node exists");
        self.changed.push(Changed::NodeRemoved { node, last });
    }

    pub(super) fn machine(&mut self, change: MachineChange) {
        self.machine_changes.push(change);
    }

    /// Makes a Running pod, Ready if it is on a node.
    pub(super) fn add_pod(&mut self, name: &str, node: Option<&str>, tolerations: &str) -> PodId {
        let tolerations: Vec<Toleration> = serde_json::from_str(tolerations).expect("tolerations are JSON");
        let node = node.map(|node| self.store.node_slot(Symbol::new(node)));
        self.next_uid += 1;
        let mut pod = bare_pod(name, self.next_uid);
        Arc::make_mut(&mut pod.spec).spec.tolerations = tolerations;
        pod.created_at = self.now;
        if node.is_some() {
            pod.node = node;
            pod.scheduled_at = Some(self.now);
            pod.started_at = Some(self.now);
            pod.phase = PodPhase::Running;
            pod.ready = Some(PodCondition { status: Status::True, since: self.now });
        }
        let id = self.store.insert_pod(pod);
        self.changed.push(Changed::PodAdded(id));
        id
    }

    pub(super) fn pod_id(&self, name: &str) -> Option<PodId> {
        self.store.find_pod(Symbol::new("default"), &Arc::from(name))
    }

    pub(super) fn pod(&self, name: &str) -> Option<&Pod> {
        self.store.pod(self.pod_id(name)?)
    }

    /// Changes a pod object.
    pub(super) fn edit_pod(&mut self, name: &str, delta: PodDelta, edit: impl FnOnce(&mut Pod)) {
        let pod = self.pod_id(name).expect("the pod exists");
        let before = self.store.pod(pod).cloned().map(Arc::new);
        self.store.update_pod(pod, edit);
        self.changed.push(Changed::PodUpdated { pod, delta, before });
    }

    pub(super) fn set_tolerations(&mut self, name: &str, tolerations: &str) {
        let tolerations: Vec<Toleration> = serde_json::from_str(tolerations).expect("tolerations are JSON");
        self.edit_pod(name, PodDelta::SPEC, |pod| Arc::make_mut(&mut pod.spec).spec.tolerations = tolerations);
    }

    pub(super) fn remove_pod(&mut self, name: &str) {
        let pod = self.pod_id(name).expect("the pod exists");
        let last = Arc::new(self.store.remove_pod(pod).expect("the pod exists"));
        self.changed.push(Changed::PodRemoved { pod, last });
    }

    fn delete_pod(&mut self, name: &str, grace_s: Option<i64>, cause: crate::state::DeletionCause) {
        let now = self.now;
        let pod = self.pod(name).expect("the pod exists");
        if grace_s == Some(0) || pod.phase.is_terminal() || pod.node.is_none() {
            self.remove_pod(name);
            return;
        }
        let grace = SimDuration::from_secs(30);
        self.edit_pod(name, PodDelta::DELETION, |pod| {
            pod.deletion.get_or_insert(Deletion { requested_at: now, deadline: now + grace, grace, cause });
        });
    }

    /// What the API server does with a request.
    fn handle(&mut self, request: &Request) -> Answer {
        let not_found = || Err(ApiError::new(ErrorReason::NotFound, "not found"));
        match request {
            Request::Get => Ok(Reply::Done),
            Request::PatchNodeStatus { node, conditions, base } => {
                let Some(object) = self.store.node(*node) else { return not_found() };
                if base.as_ref().is_some_and(|base| !Arc::ptr_eq(base, object)) {
                    return Err(ApiError::new(ErrorReason::Conflict, "modified"));
                }
                self.set_conditions(*node, conditions);
                Ok(Reply::Node(*node))
            }
            Request::PatchNodeTaints { node, add, remove } => {
                if self.store.node(*node).is_none() {
                    return not_found();
                }
                self.edit_node(*node, NodeDelta::TAINTS, |object| {
                    let same = |taint: &TaintOnNode, key, effect| taint.key == key && taint.effect == effect;
                    object.taints.retain(|t| !add.iter().any(|a| same(t, a.key, a.effect)));
                    object.taints.extend(add.iter().copied());
                    object.taints.retain(|t| !remove.iter().any(|(key, effect)| same(t, *key, *effect)));
                });
                Ok(Reply::Node(*node))
            }
            Request::SetNodeLabels { node, labels } => {
                self.edit_node(*node, NodeDelta::LABELS, |object| object.labels = labels.clone());
                Ok(Reply::Node(*node))
            }
            Request::DeleteNode { node } => {
                let name = self.store.node_name(*node);
                self.remove_node(name.as_str());
                Ok(Reply::Done)
            }
            Request::PatchPodStatus { pod, patch } => {
                let Some(name) = self.store.pod(*pod).map(|pod| Arc::clone(&pod.name)) else { return not_found() };
                let now = self.now;
                self.edit_pod(&name, PodDelta::READY | PodDelta::PHASE | PodDelta::CONDITIONS, |pod| {
                    pod.phase = patch.phase.unwrap_or(pod.phase);
                    if let Some(status) = patch.ready {
                        pod.ready = Some(PodCondition { status, since: now });
                    }
                    if let Some((reason, status)) = patch.disruption {
                        pod.disruption_target = Some(DisruptionTarget { reason, since: now, status });
                    }
                });
                Ok(Reply::Pod(*pod))
            }
            Request::DeletePod { pod, options, cause } => {
                let Some(name) = self.store.pod(*pod).map(|pod| Arc::clone(&pod.name)) else { return not_found() };
                self.delete_pod(&name, options.grace_s, *cause);
                Ok(Reply::Pod(*pod))
            }
            Request::SetAttachment { volume, node, phase } => {
                let before = self.store.volumes.attachment(*volume, *node);
                self.store.volumes.set_attachment(*volume, *node, Attachment { phase: *phase, ..before });
                self.change(Changed::AttachmentChanged { volume: *volume, node: *node });
                Ok(Reply::Done)
            }
            other => panic!("the bench does not know {other:?}"),
        }
    }
}

impl<C: Component> Bench<C> {
    /// A bench at t=0 with an empty cluster; the controller has not started.
    pub(super) fn new(component: C, config: Config, seed: u64) -> Self {
        let limit = C::clients(&config)[0];
        let world = World {
            now: SimTime::ZERO,
            store: Store::default(),
            changed: Vec::new(),
            machine_changes: Vec::new(),
            next_uid: 0,
        };
        Self {
            world,
            component,
            config,
            streams: Streams::new(seed),
            queue: EventQueue::new(),
            bucket: TokenBucket::new(limit),
            unposted: VecDeque::new(),
            is_posting: false,
            refuse: Box::new(|_, _| None),
            watch: WATCH,
            requests: Vec::new(),
            reads: Vec::new(),
            events: Vec::new(),
            timers_fired: 0,
        }
    }

    /// Makes the API server refuse some requests.
    pub(super) fn refuse(&mut self, refuse: impl FnMut(&Request, SimTime) -> Option<ErrorReason> + 'static) {
        self.refuse = Box::new(refuse);
    }

    /// Starts the controller; what was set up before is not news to it.
    pub(super) fn start(&mut self, start: Start) {
        self.world.changed.clear();
        self.handle(|component, ctx| component.started(start, ctx));
    }

    /// Plays something at a time.
    pub(super) fn at(&mut self, at_s: f64, script: impl FnOnce(&mut World) + 'static) {
        self.queue.push(secs(at_s), Event::Script(Box::new(|world, _| script(world))));
    }

    /// Plays until a time; what lies exactly there is played, too.
    pub(super) fn run_until(&mut self, until_s: f64) {
        let end = secs(until_s);
        while self.queue.peek_time().is_some_and(|at| at <= end) {
            let next = self.queue.pop().expect("there is an event");
            self.world.now = next.at;
            self.play(next.event);
        }
        self.world.now = end;
    }

    fn play(&mut self, event: Event<C>) {
        let half = self.config.round_trip / 2;
        match event {
            Event::Timer(timer) => {
                self.timers_fired += 1;
                self.handle(|component, ctx| component.fired(timer, ctx));
            }
            Event::Arrive(request, tag) => {
                let answer = match (self.refuse)(&request, self.world.now) {
                    Some(reason) => Err(ApiError::new(reason, "refused")),
                    None => self.world.handle(&request),
                };
                if let Some(tag) = tag {
                    self.queue.push(self.world.now + half, Event::Answer(tag, answer));
                }
                match request {
                    Request::Get => self.reads.push(self.world.now),
                    request => self.requests.push((self.world.now, request)),
                }
            }
            Event::Answer(tag, answer) => self.handle(|component, ctx| component.answered(tag, &answer, ctx)),
            Event::Post(event) => {
                self.events.push((self.world.now, event));
                self.queue.push(self.world.now + half, Event::Posted);
            }
            Event::Posted => self.post_next(),
            Event::Deliver(change) => self.handle(|component, ctx| component.changed(&change, ctx)),
            Event::Script(script) => script(&mut self.world, &mut self.component),
            Event::Machine(change) => self.handle(|component, ctx| component.machine_changed(&change, ctx)),
        }
        for what in std::mem::take(&mut self.world.changed) {
            if C::watches(&what) {
                let change = Change { at: self.world.now, cause: CauseId::NONE, what };
                self.queue.push(self.world.now + self.watch, Event::Deliver(change));
            }
        }
        for change in std::mem::take(&mut self.world.machine_changes) {
            self.queue.push(self.world.now, Event::Machine(change));
        }
    }

    fn handle(&mut self, handler: impl FnOnce(&mut C, &mut Ctx<'_, C>)) {
        let mut outbox = Outbox::default();
        let mut timers = BenchTimers { queue: &mut self.queue };
        let world = &self.world;
        let mut ctx =
            Ctx::new(world.now, &world.store, &self.config, &self.streams, CauseId::NONE, &mut timers, &mut outbox);
        handler(&mut self.component, &mut ctx);
        let half = self.config.round_trip / 2;
        for call in outbox.calls {
            let at = self.bucket.reserve(self.world.now) + half;
            self.queue.push(at, Event::Arrive(call.request, call.tag));
        }
        self.unposted.extend(outbox.events.into_iter().map(|(_, event, _)| event));
        if !self.is_posting {
            self.post_next();
        }
    }

    fn post_next(&mut self) {
        let next = self.unposted.pop_front();
        self.is_posting = next.is_some();
        if let Some(event) = next {
            let at = self.bucket.reserve(self.world.now) + self.config.round_trip / 2;
            self.queue.push(at, Event::Post(event));
        }
    }

    // ---- what happened --------------------------------------------------------------------------------------------

    /// When requests of a kind arrived, in seconds.
    pub(super) fn times(&self, wanted: impl Fn(&Request) -> bool) -> Vec<f64> {
        self.requests.iter().filter(|(_, request)| wanted(request)).map(|(at, _)| at.as_secs_f64()).collect()
    }

    /// When a NoExecute taint with this key was written, and to which node.
    pub(super) fn no_execute_writes(&self, key: &str) -> Vec<(f64, String)> {
        let mut writes = Vec::new();
        for (at, request) in &self.requests {
            if let Request::PatchNodeTaints { node, add, .. } = request
                && add.iter().any(|taint| taint.key == key && taint.effect == TaintEffect::NoExecute)
            {
                writes.push((at.as_secs_f64(), self.world.store.node_name(*node).as_str().to_owned()));
            }
        }
        writes
    }

    /// When Unknown was written, and to which node.
    pub(super) fn unknown_writes(&self) -> Vec<(f64, String)> {
        let mut writes = Vec::new();
        for (at, request) in &self.requests {
            if let Request::PatchNodeStatus { node, .. } = request {
                writes.push((at.as_secs_f64(), self.world.store.node_name(*node).as_str().to_owned()));
            }
        }
        writes
    }

    /// When pods were marked not ready.
    pub(super) fn marks(&self) -> Vec<f64> {
        self.times(|request| matches!(request, Request::PatchPodStatus { patch, .. } if patch.ready.is_some()))
    }

    /// When pods were deleted.
    pub(super) fn deletions(&self) -> Vec<f64> {
        self.times(|request| matches!(request, Request::DeletePod { .. }))
    }

    /// Messages of events with this reason.
    pub(super) fn messages(&self, reason: &str) -> Vec<&str> {
        let events = self.events.iter().filter(|(_, event)| event.reason == reason);
        events.map(|(_, event)| event.message.as_str()).collect()
    }

    /// Taints of a node as `key:Effect`, sorted.
    pub(super) fn taints(&self, node: &str) -> Vec<String> {
        let mut taints: Vec<String> =
            self.world.node(node).taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
        taints.sort();
        taints
    }
}

/// Asserts that a time lies in a range.
#[track_caller]
pub(super) fn within(value: f64, from: f64, to: f64) {
    assert!((from..=to).contains(&value), "{value} is not between {from} and {to}");
}
