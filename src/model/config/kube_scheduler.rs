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

impl Plugins {
    /// The names of the extension points and what is said about each.
    #[must_use]
    pub fn sets(&self) -> [(&'static str, &PluginSet); 13] {
        [
            ("preEnqueue", &self.pre_enqueue),
            ("queueSort", &self.queue_sort),
            ("preFilter", &self.pre_filter),
            ("filter", &self.filter),
            ("postFilter", &self.post_filter),
            ("preScore", &self.pre_score),
            ("score", &self.score),
            ("reserve", &self.reserve),
            ("permit", &self.permit),
            ("preBind", &self.pre_bind),
            ("bind", &self.bind),
            ("postBind", &self.post_bind),
            ("multiPoint", &self.multi_point),
        ]
    }
}

impl PluginSet {
    /// Whether a plugin is left out, by its name or with all others.
    #[must_use]
    pub fn disables(&self, plugin: &str) -> bool {
        self.disabled.iter().any(|disabled| matches!(disabled.name.as_str(), "*") || disabled.name == plugin)
    }

    /// Whether a plugin is added.
    #[must_use]
    pub fn enables(&self, plugin: &str) -> bool {
        self.enabled.iter().any(|enabled| enabled.name == plugin)
    }
}

impl KubeSchedulerConfiguration {
    /// Fields of the real kind that are understood and decide nothing here; `[]` stands for any position.
    pub const WITHOUT_EFFECT: &[&str] = &[
        "parallelism",
        "leaderElection.leaseDuration",
        "leaderElection.retryPeriod",
        "leaderElection.resourceLock",
        "leaderElection.resourceName",
        "leaderElection.resourceNamespace",
        "clientConnection.kubeconfig",
        "clientConnection.acceptContentTypes",
        "clientConnection.contentType",
        "enableProfiling",
        "enableContentionProfiling",
        "extenders",
        "delayCacheUntilActive",
        "profiles[].plugins.queueSort",
        "profiles[].plugins.preFilter",
        "profiles[].plugins.preScore",
        "profiles[].plugins.reserve",
        "profiles[].plugins.permit",
        "profiles[].plugins.preBind",
        "profiles[].plugins.bind",
        "profiles[].plugins.postBind",
        "profiles[].plugins.placementGenerate",
        "profiles[].plugins.placementScore",
    ];

    /// Fills in what kube-scheduler would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        let seconds = |seconds: u64| SimDuration::from_secs(seconds);
        self.parallelism.get_or_insert(16);
        self.percentage_of_nodes_to_score.get_or_insert(0);
        self.pod_initial_backoff_seconds.get_or_insert(1);
        self.pod_max_backoff_seconds.get_or_insert(10);
        // Zero stands for nothing.
        self.client_connection.qps = self.client_connection.qps.filter(|qps| *qps != 0.0).or(Some(50.0));
        self.client_connection.burst = self.client_connection.burst.filter(|burst| *burst != 0).or(Some(100));
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
