//! The list of everything that lives in the cluster, and the dispatch to it.
//!
//! One line per component; the macro makes the struct that owns them, the closed enums of their timers and tags, and static
//! dispatch. Nothing is boxed.

use std::collections::VecDeque;

use crate::component::{
    Answer, ClientLimit, Component, Config, Controller, EventDraft, EventRecorder, Message, Start, TokenBucket,
};
use crate::state::{CauseId, Change, Changed, ControlPlaneProcess, MachineChange};

use super::kernel::Kernel;
use super::watches::{Watcher, Watchers};

/// A component with its clients, and whether its process runs.
#[derive(Clone, Debug)]
pub(super) struct Slot<C> {
    pub(super) component: C,
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
            clients,
            recorder: EventRecorder::default(),
            unposted: VecDeque::new(),
            is_posting: false,
            epoch: 0,
            is_up: false,
        }
    }
}

/// With whose informers a component listens.
const fn watcher(which: Which, process: Option<ControlPlaneProcess>) -> Watcher {
    match (process, which) {
        (Some(ControlPlaneProcess::KubeControllerManager), _) => Watcher::KubeControllerManager,
        (Some(ControlPlaneProcess::KubeScheduler), _) => Watcher::KubeScheduler,
        (_, Which::Kubelets) => Watcher::Kubelets,
        (_, Which::CloudNodeLifecycle) => Watcher::CloudControllerManager,
        (_, Which::Kubectl) => Watcher::Kubectl,
        (_, _) => Watcher::Procedures,
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
            pub(super) fn new(config: &Config, inputs: &super::Inputs) -> Self {
                let _ = inputs;
                Self { $($field: { let make: fn(&Config, &super::Inputs) -> $ty = $make; Slot::new(make(config, inputs), config) },)* }
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
            pub(super) fn start(&mut self, process: Option<ControlPlaneProcess>, start: Start, inputs: &super::Inputs,
                                wanted: fn(Which) -> bool, kernel: &mut Kernel) {
                $(if <$ty as Component>::PROCESS == process && !self.$field.is_up && wanted(Which::$variant)
                    && inputs.have_work_for(Which::$variant) && is_enabled(Which::$variant, &kernel.config) {
                    if self.$field.epoch > 0 {
                        let make: fn(&Config, &super::Inputs) -> $ty = $make;
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
                    watchers = watchers.with(const { watcher(Which::$variant, <$ty as Component>::PROCESS) });
                })*
                watchers
            }

            /// Who has work in a run, and listens.
            pub(super) fn present(inputs: &super::Inputs) -> Watchers {
                let mut watchers = Watchers::NONE;
                $(if inputs.reacts_to_changes(Which::$variant) {
                    watchers = watchers.with(const { watcher(Which::$variant, <$ty as Component>::PROCESS) });
                })*
                watchers
            }

            /// A watch delivers a change.
            pub(super) fn changed(&mut self, change: &Change, to: Watcher, kernel: &mut Kernel) {
                $(if const { watcher(Which::$variant, <$ty as Component>::PROCESS) } == to
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
                simulation.kernel.queue.push(at, super::Scheduled { cause: CauseId::NONE, event });
            }
        })*

        impl AnyTag {
            pub(super) fn which(&self) -> Which {
                match self { $(Self::$variant(_) => Which::$variant,)* }
            }
        }
    };
}

components! {
    Chaos chaos: crate::chaos::Chaos = |_, inputs| crate::chaos::Chaos::new(std::sync::Arc::clone(&inputs.chaos));
    Kubelets kubelets: crate::kubelet::Kubelets =
        |_, inputs| crate::kubelet::Kubelets::new(std::sync::Arc::clone(&inputs.pools));
    NodeLifecycle node_lifecycle: crate::controllers::node_lifecycle::NodeLifecycle =
        |config, _| crate::controllers::node_lifecycle::NodeLifecycle::new(config);
    TaintEviction taint_eviction: crate::controllers::taint_eviction::TaintEviction =
        |_, _| crate::controllers::taint_eviction::TaintEviction::new();
    PodGc pod_gc: crate::controllers::pod_gc::PodGc = |_, _| crate::controllers::pod_gc::PodGc::new();
    CloudNodeLifecycle cloud_node_lifecycle: crate::controllers::cloud_node_lifecycle::CloudNodeLifecycle =
        |config, _| crate::controllers::cloud_node_lifecycle::CloudNodeLifecycle::new(config);
    Deployments deployments: Controller<crate::controllers::deployment::Deployments> =
        |config, _| Controller::new(Default::default(), config);
    ReplicaSets replica_sets: Controller<crate::controllers::replica_set::ReplicaSets> =
        |config, _| Controller::new(Default::default(), config);
    DaemonSets daemon_sets: Controller<crate::controllers::daemon_set::DaemonSets> =
        |config, _| Controller::new(Default::default(), config);
    StatefulSets stateful_sets: Controller<crate::controllers::stateful_set::StatefulSets> =
        |config, _| Controller::new(Default::default(), config);
    Jobs jobs: Controller<crate::controllers::job::Jobs> = |config, _| Controller::new(Default::default(), config);
    CronJobs cron_jobs: Controller<crate::controllers::cron_job::CronJobs> =
        |config, _| Controller::new(Default::default(), config);
    Disruption disruption: Controller<crate::controllers::disruption::Disruption> =
        |config, _| Controller::new(Default::default(), config);
    EndpointSlices endpoint_slices: Controller<crate::controllers::endpoint_slice::EndpointSlices> =
        |config, _| Controller::new(Default::default(), config);
    GarbageCollector garbage_collector: Controller<crate::controllers::garbage_collector::GarbageCollector> =
        |config, _| Controller::new(Default::default(), config);
    Namespaces namespaces: Controller<crate::controllers::namespace::Namespaces> =
        |config, _| Controller::new(Default::default(), config);
    ServiceAccounts service_accounts: Controller<crate::controllers::service_account::ServiceAccounts> =
        |config, _| Controller::new(Default::default(), config);
    ResourceQuotas resource_quotas: Controller<crate::controllers::resource_quota::ResourceQuotas> =
        |config, _| Controller::new(Default::default(), config);
    PersistentVolumes persistent_volumes: Controller<crate::controllers::persistent_volume::PersistentVolumes> =
        |config, _| Controller::new(Default::default(), config);
    AttachDetach attach_detach: crate::controllers::attach_detach::AttachDetach = |_, _| Default::default();
    Scheduler scheduler: crate::scheduler::Scheduler = |config, _| crate::scheduler::Scheduler::new(config);
    RollingUpgrades rolling_upgrades: crate::procedures::RollingUpgrades =
        |_, inputs| crate::procedures::RollingUpgrades::new(std::sync::Arc::clone(&inputs.procedures));
    HorizontalPodAutoscalers horizontal_pod_autoscalers:
        crate::controllers::horizontal_pod_autoscaler::HorizontalPodAutoscalers = |_, inputs| {
        crate::controllers::horizontal_pod_autoscaler::HorizontalPodAutoscalers::new(inputs.procedures.loads())
    };
    NodeRepair node_repair: crate::procedures::NodeRepair =
        |_, inputs| crate::procedures::NodeRepair::new(std::sync::Arc::clone(&inputs.procedures));
    RollingReboots rolling_reboots: crate::procedures::RollingReboots =
        |_, inputs| crate::procedures::RollingReboots::new(std::sync::Arc::clone(&inputs.procedures));
    ClusterAutoscaler cluster_autoscaler: crate::procedures::ClusterAutoscaler = |_, inputs| {
        let plan = std::sync::Arc::clone(&inputs.procedures);
        crate::procedures::ClusterAutoscaler::new(plan, crate::scheduler::Scheduler::what_if)
    };
    Kubectl kubectl: crate::kubectl::Kubectl = |_, inputs| crate::kubectl::Kubectl::new(std::sync::Arc::clone(&inputs.kubectl));
}

/// Whether `--controllers` lets a component run; those that are no controllers always do.
fn is_enabled(which: Which, config: &Config) -> bool {
    let manager = &config.kube_controller_manager;
    let name = match which {
        Which::NodeLifecycle => "node-lifecycle-controller",
        Which::TaintEviction => "taint-eviction-controller",
        Which::PodGc => "pod-garbage-collector-controller",
        Which::Deployments => "deployment-controller",
        // Both kinds are one component, which asks by itself.
        Which::ReplicaSets => {
            return manager.controllers.runs("replicaset-controller")
                || manager.controllers.runs("replicationcontroller-controller");
        }
        Which::DaemonSets => "daemonset-controller",
        Which::StatefulSets => "statefulset-controller",
        Which::Jobs => {
            return manager.controllers.runs("job-controller")
                || manager.controllers.runs("ttl-after-finished-controller");
        }
        Which::CronJobs => "cronjob-controller",
        Which::Disruption => "disruption-controller",
        Which::EndpointSlices => "endpointslice-controller",
        Which::GarbageCollector => "garbage-collector-controller",
        Which::Namespaces => "namespace-controller",
        Which::ServiceAccounts => "serviceaccount-controller",
        Which::ResourceQuotas => "resourcequota-controller",
        Which::PersistentVolumes => "persistentvolume-binder-controller",
        Which::AttachDetach => "persistentvolume-attach-detach-controller",
        Which::HorizontalPodAutoscalers => "horizontal-pod-autoscaler-controller",
        Which::Chaos
        | Which::Kubelets
        | Which::CloudNodeLifecycle
        | Which::Scheduler
        | Which::RollingUpgrades
        | Which::NodeRepair
        | Which::RollingReboots
        | Which::ClusterAutoscaler
        | Which::Kubectl => return true,
    };
    manager.controllers.runs(name)
}
