//! `KubeSchedulerConfiguration` (`kubescheduler.config.k8s.io/v1`) as written.
//!
//! Which plugins exist, what their arguments mean and how plugin sets are merged is the scheduler's business.

use crate::arena::Symbol;
use crate::model::api_type::api_structs;
use crate::units::SimDuration;

api_structs! {
    /// The configuration of kube-scheduler.
    pub struct KubeSchedulerConfiguration {
        pub api_version: Symbol,
        pub kind: Symbol,
        pub parallelism: Option<i32>,
        pub percentage_of_nodes_to_score: Option<i32>,
        pub pod_initial_backoff_seconds: Option<i64>,
        pub pod_max_backoff_seconds: Option<i64>,
        pub client_connection: ClientConnection,
        pub leader_election: LeaderElection,
        pub profiles: Vec<KubeSchedulerProfile>,
    }

    /// Rate limits of the scheduler's clients.
    pub struct ClientConnection {
        pub qps: Option<f64>,
        pub burst: Option<i64>,
    }

    /// How the scheduler takes over from a predecessor.
    pub struct LeaderElection {
        pub leader_elect: Option<bool>,
        pub lease_duration: Option<SimDuration>,
        pub renew_deadline: Option<SimDuration>,
        pub retry_period: Option<SimDuration>,
    }

    /// One way to schedule, chosen by a pod's `schedulerName`.
    pub struct KubeSchedulerProfile {
        pub scheduler_name: Option<Symbol>,
        pub percentage_of_nodes_to_score: Option<i32>,
        pub plugins: Plugins,
        pub plugin_config: Vec<PluginConfig>,
    }

    /// Changes to the default plugins, per extension point.
    pub struct Plugins {
        pub pre_enqueue: PluginSet,
        pub queue_sort: PluginSet,
        pub pre_filter: PluginSet,
        pub filter: PluginSet,
        pub post_filter: PluginSet,
        pub pre_score: PluginSet,
        pub score: PluginSet,
        pub reserve: PluginSet,
        pub permit: PluginSet,
        pub pre_bind: PluginSet,
        pub bind: PluginSet,
        pub post_bind: PluginSet,
        pub multi_point: PluginSet,
    }

    /// Plugins to add and to leave out; `*` under `disabled` leaves out all.
    pub struct PluginSet {
        pub enabled: Vec<Plugin>,
        pub disabled: Vec<Plugin>,
    }

    /// A plugin by name. Weight 0 stands for the default, 1.
    #[derive(Eq)]
    pub struct Plugin {
        pub name: Symbol,
        pub weight: i32,
    }

    /// Arguments of one plugin.
    pub struct PluginConfig {
        pub name: Symbol,
        pub args: serde_json::Value,
    }
}

impl KubeSchedulerConfiguration {
    /// Fills in what kube-scheduler would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        let seconds = |seconds: u64| SimDuration::from_secs(seconds);
        self.parallelism.get_or_insert(16);
        self.percentage_of_nodes_to_score.get_or_insert(0);
        self.pod_initial_backoff_seconds.get_or_insert(1);
        self.pod_max_backoff_seconds.get_or_insert(10);
        self.client_connection.qps.get_or_insert(50.0);
        self.client_connection.burst.get_or_insert(100);
        self.leader_election.leader_elect.get_or_insert(true);
        self.leader_election.lease_duration.get_or_insert(seconds(15));
        self.leader_election.renew_deadline.get_or_insert(seconds(10));
        self.leader_election.retry_period.get_or_insert(seconds(2));
        if self.profiles.is_empty() {
            self.profiles.push(KubeSchedulerProfile::default());
        }
        if let [only] = self.profiles.as_mut_slice() {
            only.scheduler_name.get_or_insert_with(|| Symbol::from("default-scheduler"));
        }
    }
}
