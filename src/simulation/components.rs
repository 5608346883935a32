//! The list of everything that lives in the cluster, and the dispatch to it.
//!
//! One line per component; the macro makes the struct that owns them, the closed enums of their timers and tags, and static
//! dispatch. Nothing is boxed.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::component::{
    Answer, ClientLimit, Component, Config, Controller, EventDraft, EventRecorder, Message, Outbox, Program, Reconcile,
    Start, TokenBucket,
};
use crate::controllers;
use crate::procedures::{self, ProcedurePlan};
use crate::state::{CauseId, Change, Changed, ControlPlaneProcess, MachineChange};

use super::inputs::Inputs;
use super::kernel::Kernel;
use super::watches::{Watcher, Watchers};

/// A component with its clients, and whether its process runs.
#[derive(Clone, Debug)]
pub(super) struct Slot<C: Component> {
    pub(super) component: C,
    /// What a handler asks for; empty but while one runs, and kept for its memory.
    pub(super) outbox: Outbox<C::Tag>,
    pub(super) clients: Vec<TokenBucket>,
    pub(super) recorder: EventRecorder,
    /// Events that wait for the one before to be posted, by client.
    pub(super) unposted: VecDeque<(usize, EventDraft, CauseId)>,
    pub(super) is_posting: bool,
    /// Raised at each stop: timers and answers of an earlier life are void.
    pub(super) epoch: u32,
    pub(super) is_up: bool,
}

impl<C: Component> Slot<C> {
    fn new(component: C, config: &Config) -> Self {
        let mut clients: Vec<_> = C::clients(config).into_iter().map(TokenBucket::new).collect();
        if clients.is_empty() {
            clients.push(TokenBucket::new(ClientLimit::UNLIMITED));
        }
        Self {
            component,
            outbox: Outbox::default(),
            clients,
            recorder: EventRecorder::default(),
            unposted: VecDeque::new(),
            is_posting: false,
            epoch: 0,
            is_up: false,
        }
    }
}

/// With whose informers the components of a program listen.
const fn watcher(program: Program) -> Watcher {
    match program {
        Program::ControlPlane(ControlPlaneProcess::KubeControllerManager) => Watcher::KubeControllerManager,
        Program::ControlPlane(ControlPlaneProcess::KubeScheduler) => Watcher::KubeScheduler,
        Program::ControlPlane(ControlPlaneProcess::KubeApiserver) => panic!("the API server has no informers"),
        Program::CloudControllerManager => Watcher::CloudControllerManager,
        Program::Kubelet => Watcher::Kubelets,
        Program::Kubectl => Watcher::Kubectl,
        Program::Other => Watcher::Procedures,
    }
}

macro_rules! components {
    ($($variant:ident $field:ident: $ty:ty = $make:expr;)*) => {
        /// Which component.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Which { $($variant,)* }

        /// A timer of any component.
        #[derive(Copy, Clone, Debug)]
        pub(super) enum AnyTimer { $($variant(<$ty as Component>::Timer),)* }

        /// An answer's tag of any component.
        #[derive(Copy, Clone, Debug)]
        pub(super) enum AnyTag { $($variant(<$ty as Component>::Tag),)* }

        impl AnyTimer {
            pub(super) fn which(&self) -> Which {
                match self { $(Self::$variant(_) => Which::$variant,)* }
            }
        }

        /// All components.
        #[derive(Clone, Debug)]
        pub(super) struct Components { $(pub(super) $field: Slot<$ty>,)* }

        impl Components {
            /// Makes every component anew.
            pub(super) fn new(config: &Config, inputs: &Inputs) -> Self {
                Self { $($field: { let make: fn(&Config, &Inputs) -> $ty = $make; Slot::new(make(config, inputs), config) },)* }
            }

            pub(super) fn epoch(&self, which: Which) -> u32 {
                match which { $(Which::$variant => self.$field.epoch,)* }
            }

            pub(super) fn is_up(&self, which: Which) -> bool {
                match which { $(Which::$variant => self.$field.is_up,)* }
            }

            pub(super) fn name(which: Which) -> &'static str {
                match which { $(Which::$variant => <$ty as Component>::NAME,)* }
            }

            /// Whether any component of the process runs.
            pub(super) fn any_up(&self, process: ControlPlaneProcess) -> bool {
                false $(|| (<$ty as Component>::PROCESS == Some(process) && self.$field.is_up))*
            }

            /// Starts every component of the process (none: those that belong to no process).
            pub(super) fn start(&mut self, process: Option<ControlPlaneProcess>, start: Start, inputs: &Inputs,
                                wanted: fn(Which) -> bool, kernel: &mut Kernel) {
                $(if <$ty as Component>::PROCESS == process && !self.$field.is_up && wanted(Which::$variant)
                    && self.$field.component.has_work() && is_enabled::<$ty>(&kernel.config) {
                    if self.$field.epoch > 0 {
                        let make: fn(&Config, &Inputs) -> $ty = $make;
                        let epoch = self.$field.epoch;
                        self.$field = Slot { epoch, recorder: EventRecorder::fresh(), ..Slot::new(make(&kernel.config, inputs), &kernel.config) };
                    }
                    self.$field.is_up = true;
                    kernel.handle(Which::$variant, &mut self.$field, AnyTimer::$variant, AnyTag::$variant,
                                  |c, ctx| c.started(start, ctx));
                })*
            }

            /// Stops every component of the process; what they had in mind is lost.
            pub(super) fn stop(&mut self, process: ControlPlaneProcess) {
                $(if <$ty as Component>::PROCESS == Some(process) && self.$field.is_up {
                    self.$field.is_up = false;
                    self.$field.epoch += 1;
                })*
            }

            /// Whether the object that the timer is about still exists.
            pub(super) fn is_live(timer: &AnyTimer, store: &crate::state::Store) -> bool {
                match timer { $(AnyTimer::$variant(timer) => <$ty as Component>::is_live(timer, store),)* }
            }

            /// Whether the timer begins something that disturbs the cluster.
            pub(super) fn disturbs(timer: &AnyTimer) -> bool {
                match timer { $(AnyTimer::$variant(timer) => <$ty as Component>::disturbs(timer),)* }
            }

            /// Whether what follows from the timer is not to be blamed on what armed it.
            pub(super) fn begins_anew(timer: &AnyTimer) -> bool {
                match timer { $(AnyTimer::$variant(timer) => <$ty as Component>::begins_anew(timer),)* }
            }

            /// Whether the timer's firing is a thing that happens to an object.
            pub(super) fn happens(timer: &AnyTimer) -> bool {
                match timer { $(AnyTimer::$variant(timer) => <$ty as Component>::happens(timer),)* }
            }

            /// What the timer is for, in words.
            pub(super) fn words(timer: &AnyTimer, store: &crate::state::Store) -> String {
                match timer { $(AnyTimer::$variant(timer) => <$ty as Component>::words(timer, store),)* }
            }

            /// A timer fires.
            pub(super) fn fired(&mut self, timer: AnyTimer, kernel: &mut Kernel) {
                match timer {
                    $(AnyTimer::$variant(timer) => kernel.handle(Which::$variant, &mut self.$field, AnyTimer::$variant,
                        AnyTag::$variant, |c, ctx| c.fired(timer, ctx)),)*
                }
            }

            /// A call is answered.
            pub(super) fn answered(&mut self, tag: AnyTag, answer: &Answer, kernel: &mut Kernel) {
                match tag {
                    $(AnyTag::$variant(tag) => kernel.handle(Which::$variant, &mut self.$field, AnyTimer::$variant,
                        AnyTag::$variant, |c, ctx| c.answered(tag, answer, ctx)),)*
                }
            }

            /// An Event was posted.
            pub(super) fn posted(&mut self, which: Which, kernel: &mut Kernel) {
                match which { $(Which::$variant => kernel.post_next(which, &mut self.$field),)* }
            }

            /// Who watches what has changed.
            pub(super) fn watchers(what: &Changed) -> Watchers {
                let mut watchers = Watchers::NONE;
                $(if <$ty as Component>::watches(what) {
                    watchers = watchers.with(const { watcher(<$ty as Component>::PROGRAM) });
                })*
                watchers
            }

            /// Who has work in a run, and listens.
            pub(super) fn present(&self) -> Watchers {
                let mut watchers = Watchers::NONE;
                let is_typed = false $(|| <$ty as Component>::TYPES && self.$field.component.has_work())*;
                $(if self.$field.component.reacts(is_typed) {
                    watchers = watchers.with(const { watcher(<$ty as Component>::PROGRAM) });
                })*
                watchers
            }

            /// A watch delivers a change.
            pub(super) fn changed(&mut self, change: &Change, to: Watcher, kernel: &mut Kernel) {
                $(if const { watcher(<$ty as Component>::PROGRAM) } == to
                    && self.$field.is_up && <$ty as Component>::watches(&change.what) {
                    kernel.handle(Which::$variant, &mut self.$field, AnyTimer::$variant, AnyTag::$variant,
                                  |c, ctx| c.changed(change, ctx));
                })*
            }

            /// The physical world changed.
            pub(super) fn machine_changed(&mut self, change: &MachineChange, kernel: &mut Kernel) {
                $(if self.$field.is_up {
                    kernel.handle(Which::$variant, &mut self.$field, AnyTimer::$variant, AnyTag::$variant,
                                  |c, ctx| c.machine_changed(change, ctx));
                })*
            }

            /// Passes a message on to every running program.
            pub(super) fn notified(&mut self, message: &Message, kernel: &mut Kernel) {
                $(if self.$field.is_up {
                    kernel.handle(Which::$variant, &mut self.$field, AnyTimer::$variant, AnyTag::$variant,
                                  |c, ctx| c.notified(message, ctx));
                })*
            }
        }

        $(#[cfg(test)]
        impl super::lab::Member for $ty {
            fn alone(simulation: &mut super::Simulation) {
                simulation.wanted = |which| which == Which::$variant || which == Which::Chaos;
            }

            fn of(simulation: &super::Simulation) -> &Self {
                &simulation.components.$field.component
            }

            fn of_mut(simulation: &mut super::Simulation) -> &mut Self {
                &mut simulation.components.$field.component
            }

            fn arm(simulation: &mut super::Simulation, at: crate::units::SimTime, timer: Self::Timer) {
                let event = super::Event::Timer { epoch: simulation.components.$field.epoch, timer: AnyTimer::$variant(timer) };
                simulation.kernel.queue.push_certain(at, super::Scheduled { cause: CauseId::NONE, event });
            }
        })*

        impl AnyTag {
            pub(super) fn which(&self) -> Which {
                match self { $(Self::$variant(_) => Which::$variant,)* }
            }
        }
    };
}

/// A controller that needs no more than its queue.
fn queued<R: Reconcile + Default>(config: &Config, _: &Inputs) -> Controller<R> {
    Controller::new(R::default(), config)
}

/// A procedure, with what the scenario asks of it.
fn planned<C: From<Arc<ProcedurePlan>>>(_: &Config, inputs: &Inputs) -> C {
    C::from(Arc::clone(&inputs.procedures))
}

// One line a component, in the order in which they start and changes reach them: what it is, and how it is made.
components! {
    Chaos chaos: crate::chaos::Chaos = |_, inputs| crate::chaos::Chaos::new(Arc::clone(&inputs.chaos));
    Kubelets kubelets: crate::kubelet::Kubelets = |_, inputs| crate::kubelet::Kubelets::new(Arc::clone(&inputs.pools));
    NodeLifecycle node_lifecycle: controllers::node_lifecycle::NodeLifecycle = |config, _| controllers::node_lifecycle::NodeLifecycle::new(config);
    TaintEviction taint_eviction: controllers::taint_eviction::TaintEviction = |_, _| controllers::taint_eviction::TaintEviction::new();
    PodGc pod_gc: controllers::pod_gc::PodGc = |_, _| controllers::pod_gc::PodGc::new();
    CloudNodeLifecycle cloud_node_lifecycle: controllers::cloud_node_lifecycle::CloudNodeLifecycle =
        |config, _| controllers::cloud_node_lifecycle::CloudNodeLifecycle::new(config);
    Deployments deployments: Controller<controllers::deployment::Deployments> = queued;
    ReplicaSets replica_sets: Controller<controllers::replica_set::ReplicaSets> = queued;
    DaemonSets daemon_sets: Controller<controllers::daemon_set::DaemonSets> = queued;
    StatefulSets stateful_sets: Controller<controllers::stateful_set::StatefulSets> = queued;
    Jobs jobs: Controller<controllers::job::Jobs> = queued;
    CronJobs cron_jobs: Controller<controllers::cron_job::CronJobs> = queued;
    Disruption disruption: Controller<controllers::disruption::Disruption> = queued;
    EndpointSlices endpoint_slices: Controller<controllers::endpoint_slice::EndpointSlices> = queued;
    GarbageCollector garbage_collector: Controller<controllers::garbage_collector::GarbageCollector> = queued;
    Namespaces namespaces: Controller<controllers::namespace::Namespaces> = queued;
    ServiceAccounts service_accounts: Controller<controllers::service_account::ServiceAccounts> = queued;
    ResourceQuotas resource_quotas: Controller<controllers::resource_quota::ResourceQuotas> = queued;
    PersistentVolumes persistent_volumes: Controller<controllers::persistent_volume::PersistentVolumes> = queued;
    AttachDetach attach_detach: controllers::attach_detach::AttachDetach = |_, _| Default::default();
    Scheduler scheduler: crate::scheduler::Scheduler = |config, _| crate::scheduler::Scheduler::new(config);
    RollingUpgrades rolling_upgrades: procedures::rolling_upgrade::RollingUpgrades = planned;
    HorizontalPodAutoscalers horizontal_pod_autoscalers: controllers::horizontal_pod_autoscaler::HorizontalPodAutoscalers =
        |_, inputs| controllers::horizontal_pod_autoscaler::HorizontalPodAutoscalers::new(inputs.procedures.loads());
    NodeRepair node_repair: procedures::node_repair::NodeRepair = planned;
    RollingReboots rolling_reboots: procedures::rolling_reboot::RollingReboots = planned;
    ClusterAutoscaler cluster_autoscaler: procedures::cluster_autoscaler::ClusterAutoscaler = |_, inputs| {
        let plan = Arc::clone(&inputs.procedures);
        procedures::cluster_autoscaler::ClusterAutoscaler::new(plan, crate::scheduler::Scheduler::what_if)
    };
    Kubectl kubectl: crate::kubectl::Kubectl = |_, inputs| crate::kubectl::Kubectl::new(Arc::clone(&inputs.kubectl));
}

/// Whether `--controllers` lets a component run; those that are no controllers always do.
fn is_enabled<C: Component>(config: &Config) -> bool {
    let manager = &config.kube_controller_manager;
    C::CONTROLLERS.is_empty() || C::CONTROLLERS.iter().any(|name| manager.controllers.runs(name))
}
