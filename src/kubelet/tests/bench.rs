//! A cluster of one node `n` whose objects only the test, the kubelet and chaos touch.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::Arc;

use crate::arena::Symbol;
use crate::chaos::{self, AnyFault, ChaosPlan, ControlPlaneOutage, FaultKind, FaultSpec, ImagePullFailure};
use crate::component::{Ctx, DeleteOptions, NodeConditionUpdate, NodeRegistration, PodStatusPatch, PoolPlan, Request};
use crate::engine::Distribution;
use crate::kubelet::{Kubelets, PoolTemplate};
use crate::model::config::KubeletConfiguration;
use crate::model::{self, Object};
use crate::scenario::TimelineAction;
use crate::state::{
    Changed, DeletionCause, Machine, MachineChange, NodeCondition, NodeConditionKind, NodeId, Pod, PodDelta, PodPhase,
    Power, Status,
};
use crate::testing::{Lab, config};
use crate::units::{SimDuration, SimTime};

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n, labels: {topology.kubernetes.io/zone: a}}, \
    status: {allocatable: {cpu: '8', memory: 16Gi, pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}";

/// What happened to pods, in the order of time.
#[derive(Default)]
struct Diary {
    ready: Vec<(String, f64, bool)>,
    gone: Vec<(String, f64, PodPhase)>,
    finished: Vec<(String, f64)>,
}

/// Kubelets and faults.
pub(in crate::kubelet) struct Bench {
    lab: Lab<Kubelets>,
    diary: Rc<RefCell<Diary>>,
    has_begun: bool,
}

fn seconds(at: SimTime) -> f64 {
    at.as_nanos() as f64 / 1e9
}

impl Deref for Bench {
    type Target = Lab<Kubelets>;

    fn deref(&self) -> &Self::Target {
        &self.lab
    }
}

impl DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.lab
    }
}

impl Bench {
    /// One healthy node; nothing has started.
    pub(in crate::kubelet) fn new() -> Self {
        let constant = |secs| Distribution::Constant(SimDuration::from_secs(secs));
        let mut config = config();
        config.latency.pod_start = constant(2);
        config.latency.node_boot = constant(0);
        config.latency.kubelet_reconnect = constant(0);
        let node: model::Node = serde_saphyr::from_str(NODE).expect("a node");
        let registration = NodeRegistration::from(&node);
        let zones = vec![Symbol::new("a"), Symbol::new("b")];
        let template = PoolTemplate { registration: registration.clone(), zones: zones.clone() };
        let pool = PoolPlan { name: Symbol::new("n"), registration, zones };
        let mut bench = Self { lab: Lab::new(config, 1), diary: Rc::default(), has_begun: false };
        bench.inputs_mut().pools = Arc::new(vec![template]);
        bench.plan().pools = vec![pool];
        bench.ask(Request::Create(Box::new(Object::Node(Box::new(node))))).expect("a new node");
        let id = bench.the_node();
        *bench.store_mut().machine_mut(id) = Machine::running();
        bench.keep_a_diary();
        bench
    }

    fn keep_a_diary(&mut self) {
        let diary = Rc::clone(&self.diary);
        self.lab.react(move |change, store| {
            let (mut diary, at) = (diary.borrow_mut(), seconds(change.at));
            match &change.what {
                Changed::PodUpdated { pod, delta, .. } => {
                    let pod = store.pod(*pod)?;
                    if delta.touches(PodDelta::READY) {
                        diary.ready.push((pod.name.to_string(), at, pod.is_ready()));
                    }
                    if delta.touches(PodDelta::PHASE) && pod.phase.is_terminal() {
                        diary.finished.push((pod.name.to_string(), at));
                    }
                }
                Changed::PodRemoved { last, .. } => diary.gone.push((last.name.to_string(), at, last.phase)),
                _ => {}
            }
            None
        });
    }

    fn the_node(&self) -> NodeId {
        self.node_id("n")
    }

    fn node_mut(&mut self) -> &mut crate::state::Node {
        let id = self.the_node();
        self.store_mut().node_mut(id).expect("the node")
    }

    fn plan(&mut self) -> &mut ChaosPlan {
        Arc::make_mut(&mut self.inputs_mut().chaos)
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
        self.at(at_s, |lab| drop(lab.ask(request)));
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
        self.lab.restore(object).ok();
        Symbol::new(&name)
    }

    pub(super) fn delete(&mut self, at_s: f64, pod: &str, grace_s: Option<i64>) {
        let pod = pod.to_owned();
        self.at(at_s, move |lab| {
            let pod = lab.pod_id(&pod).expect("the pod exists");
            let options = DeleteOptions { grace_s, uid: None };
            let request = Request::DeletePod { pod, options, cause: DeletionCause::Kubectl };
            lab.ask(request).expect("a deletion");
        });
    }

    pub(super) fn unready(&mut self, at_s: f64, pod: &str) {
        let pod = pod.to_owned();
        self.at(at_s, move |lab| {
            let pod = lab.pod_id(&pod).expect("the pod exists");
            let patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
            lab.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
        });
    }

    pub(super) fn delete_node(&mut self, at_s: f64) {
        let node = self.the_node();
        self.at(at_s, move |lab| drop(lab.ask(Request::DeleteNode { node })));
    }

    /// The node controller has not heard of the node and says so.
    pub(super) fn taken_for_lost(&mut self, at_s: f64) {
        let node = self.the_node();
        let condition =
            NodeCondition { status: Status::Unknown, reason: "NodeStatusUnknown", since: crate::testing::secs(at_s) };
        let update = NodeConditionUpdate { kind: NodeConditionKind::Ready, condition };
        let conditions = std::iter::once(update).collect();
        let request = Request::PatchNodeStatus { node, conditions, base: None };
        self.at(at_s, |lab| drop(lab.ask(request)));
    }

    pub(super) fn taint(&mut self, key: &str, effect: &str) {
        let taint: model::Taint =
            serde_saphyr::from_str(&format!("{{key: {key}, effect: {effect}}}")).expect("a taint");
        let taint =
            crate::state::TaintOnNode { key: taint.key, value: taint.value, effect: taint.effect, added_at: None };
        self.node_mut().taints.push(taint);
    }

    pub(super) fn shutdown_grace(&mut self, total_s: u64, critical_s: u64) {
        let kubelet = KubeletConfiguration {
            shutdown_grace_period: Some(SimDuration::from_secs(total_s)),
            shutdown_grace_period_critical_pods: Some(SimDuration::from_secs(critical_s)),
            ..KubeletConfiguration::default()
        };
        let config = self.config_mut();
        config.kubelet = kubelet.resolve(config.version);
    }

    /// The node has no kubelet of Kubernetes' own.
    pub(super) fn has_stand_in(&mut self) {
        let id = self.the_node();
        self.store_mut().machine_mut(id).has_stand_in_kubelet = true;
    }

    /// Machines take so long from power on until their kubelet runs.
    pub(super) fn boots_for(&mut self, seconds: u64) {
        self.config_mut().latency.node_boot = Distribution::Constant(SimDuration::from_secs(seconds));
    }

    /// The kubelet's configuration.
    pub(super) fn configure(&mut self, json: &str) {
        let kubelet: KubeletConfiguration = serde_json::from_str(json).expect("a configuration");
        let config = self.config_mut();
        config.kubelet = kubelet.resolve(config.version);
    }

    /// The node has so many of an extended resource.
    pub(super) fn extended(&mut self, name: &str, count: i64) {
        let node = self.node_mut();
        Arc::make_mut(&mut node.allocatable).scalars.push((Symbol::new(name), count));
    }

    /// The node's disk and what of it images take.
    pub(super) fn disk(&mut self, bytes: i64, images: &[(&str, i64)]) {
        let node = self.node_mut();
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
        let node = self.node_mut();
        node.labels = node.labels.with(Symbol::new(key), Symbol::new(value));
    }

    /// Sets the annotations of a pod.
    pub(super) fn annotate(&mut self, pod: &str, key: &str, value: &str) {
        let pod = self.lab.pod_id(pod).expect("the pod exists");
        let annotations = Arc::new([(Symbol::new(key), Symbol::new(value))].into_iter().collect());
        self.ask(Request::SetPodAnnotations { pod, annotations }).expect("a change");
    }

    /// Writes another image into the first container of a pod.
    pub(super) fn set_image(&mut self, pod: &str, image: &str) {
        let pod = self.lab.pod_id(pod).expect("the pod exists");
        let found = self.store().pod(pod).expect("the pod exists");
        let mut object = model::Pod { spec: (**found.spec).clone(), ..model::Pod::default() };
        (object.metadata.namespace, object.metadata.name) = (found.namespace, Symbol::new(&found.name));
        object.metadata.annotations = found.spec.annotations.iter().map(|(key, value)| (*key, *value)).collect();
        object.spec.node_name = Some(Symbol::new("n"));
        object.spec.containers[0].image = Symbol::new(image);
        self.ask(Request::Apply(Box::new(Object::Pod(Box::new(object))))).expect("a change");
    }

    /// The machine's memory; what is allocatable stays.
    pub(super) fn capacity_of_memory(&mut self, bytes: i64) {
        let node = self.node_mut();
        Arc::make_mut(&mut node.capacity).memory = bytes;
    }

    /// From one second to another, others than pods use something of the node.
    pub(super) fn burden(&mut self, from_s: u64, until_s: u64, kind: FaultKind, usage: &str) {
        let text = format!("{{kind: {}, for: {}s, usage: {usage}}}", kind.as_str(), until_s - from_s);
        self.fault_spec(from_s, serde_saphyr::from_str(&text).expect("a fault"));
    }

    /// A container of each pod crashes.
    pub(super) fn crashes(&mut self, at_s: u64) {
        self.fault_spec(at_s, serde_saphyr::from_str("{kind: ContainerCrash, pods: {}}").expect("a fault"));
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
        let at = SimTime::from_secs(at_s as i64);
        self.plan().faults.push((at, fault));
        let number = self.plan().faults.len() - 1;
        self.inputs_mut().timeline.push((at, TimelineAction::Fault(number)));
    }

    pub(super) fn add_nodes(&mut self, at_s: u64, _pool: &str, count: u32) {
        let at = SimTime::from_secs(at_s as i64);
        self.plan().add_nodes.push((at, 0, count));
        let number = self.plan().add_nodes.len() - 1;
        self.inputs_mut().timeline.push((at, TimelineAction::AddNodes(number)));
    }

    // ---- the play ---------------------------------------------------------------------------------------------------

    pub(super) fn run_until(&mut self, until_s: f64) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.start();
        }
        self.lab.run_until(until_s);
    }

    /// Looks at the cluster as the kubelets do.
    pub(in crate::kubelet) fn look(&self, look: impl FnOnce(NodeId, &Ctx<'_, Kubelets>)) {
        self.lab.look(|ctx| look(self.the_node(), ctx));
    }

    // ---- what happened ----------------------------------------------------------------------------------------------

    pub(super) fn pod_exists(&self, name: &str) -> bool {
        self.lab.pod_id(name).is_some()
    }

    pub(super) fn pod(&self, name: &str) -> &Pod {
        self.lab.pod_id(name).and_then(|id| self.store().pod(id)).expect("the pod exists")
    }

    /// When the pod was ready for the first time, and what came after.
    pub(super) fn ready_changes(&self, name: &str) -> Vec<(f64, bool)> {
        let diary = self.diary.borrow();
        let changes = diary.ready.iter().filter(|(pod, ..)| pod == name);
        changes.skip_while(|(.., ready)| !ready).map(|(_, at, ready)| (*at, *ready)).collect()
    }

    /// Every change of the pod's Ready condition, from the first one on.
    pub(super) fn readiness(&self, name: &str) -> Vec<(f64, bool)> {
        self.diary.borrow().ready.iter().filter(|(pod, ..)| pod == name).map(|(_, at, ready)| (*at, *ready)).collect()
    }

    /// When the pod had Succeeded or Failed.
    pub(super) fn finished_at(&self, name: &str) -> Option<f64> {
        self.diary.borrow().finished.iter().find(|(pod, _)| pod == name).map(|(_, at)| *at)
    }

    /// In which phase the pod was when its object went.
    pub(super) fn last_phase(&self, name: &str) -> Option<PodPhase> {
        self.diary.borrow().gone.iter().find(|(pod, ..)| pod == name).map(|(.., phase)| *phase)
    }

    pub(super) fn gone_at(&self, name: &str) -> Option<f64> {
        self.diary.borrow().gone.iter().find(|(pod, ..)| pod == name).map(|(_, at, _)| *at)
    }

    pub(super) fn events(&self, reason: &str) -> Vec<f64> {
        self.lab.events.iter().filter(|(_, event)| event.reason == reason).map(|(at, _)| seconds(*at)).collect()
    }

    /// Which objects events of that reason are about, and what they say.
    pub(super) fn messages(&self, reason: &str) -> Vec<(&str, &str)> {
        let events = self.lab.events.iter().map(|(_, event)| event).filter(|event| event.reason == reason);
        events.map(|event| (&*event.about.name, &*event.message)).collect()
    }

    /// Whether a condition of the node is True.
    pub(super) fn condition(&self, kind: NodeConditionKind) -> bool {
        let node = self.store().node(self.the_node());
        node.and_then(|node| node.conditions.get(kind)).is_some_and(|condition| condition.status == Status::True)
    }

    pub(super) fn heard(&self) -> bool {
        self.store().heartbeat(self.the_node()).is_alive()
    }

    /// When the kubelet began to renew its lease, but for the beginning of the run.
    pub(super) fn renewals(&self) -> Vec<f64> {
        let begins =
            self.machine_changes.iter().filter(|(_, change)| matches!(change, MachineChange::HeartbeatBegins { .. }));
        begins.map(|(at, _)| seconds(*at)).filter(|at| *at > 11.0).collect()
    }

    pub(super) fn node_exists(&self) -> bool {
        self.store().node(self.the_node()).is_some()
    }

    pub(super) fn node_ready(&self) -> Option<Status> {
        self.store().node(self.the_node()).and_then(|node| node.conditions.ready())
    }

    /// When the status was posted, as far as the present loop of reports tells.
    pub(super) fn reports(&self) -> Vec<f64> {
        let heartbeat = self.store().heartbeat(self.the_node());
        let seconds_so_far = self.now().as_nanos() / 1_000_000_000;
        let mut posts: Vec<SimTime> =
            (0..=seconds_so_far).filter_map(|at| heartbeat.posted_at(SimTime::from_secs(at))).collect();
        posts.dedup();
        posts.into_iter().map(seconds).collect()
    }

    /// When a condition of the node last changed its status.
    pub(super) fn since(&self, kind: NodeConditionKind) -> Option<f64> {
        let node = self.store().node(self.the_node())?;
        node.conditions.get(kind).map(|condition| seconds(condition.since))
    }

    /// Taints as `key:Effect`, sorted.
    pub(super) fn taints(&self) -> Vec<String> {
        let taints = self.store().node(self.the_node()).into_iter().flat_map(|node| &node.taints);
        let mut taints: Vec<String> = taints.map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
        taints.sort();
        taints
    }

    pub(super) fn is_on(&self) -> bool {
        self.store().machine(self.the_node()).power == Power::On
    }

    pub(super) fn boots(&self) -> u32 {
        self.store().machine(self.the_node()).boots
    }

    pub(super) fn nodes_and_zones(&self) -> Vec<(String, String)> {
        let zone = Symbol::new("topology.kubernetes.io/zone");
        let of = |(id, node): (NodeId, &Arc<crate::state::Node>)| {
            let zone = node.labels.get(zone).map_or("", |zone| zone.as_str());
            (self.store().node_name(id).to_string(), zone.to_owned())
        };
        self.store().nodes().map(of).collect()
    }
}
