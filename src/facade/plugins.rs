//! Plug-ins and controllers that whoever embeds the simulator brings along.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::error::Error;
use super::scenario::Scenario;
use crate::arena::Symbol;
use crate::component::{PluginError, PluginNode, PluginPod, SchedulerHook, SchedulerPlugin};
use crate::diagnostics::nearest_or;
use crate::rest::{ClientRequest, ClusterReader, ControllerHook, ControllerPlugin, ObjectChange};
use crate::scheduler::plugin_names;
use crate::simulation::ControllerTally;

/// Filters, scores and controllers of one's own, for [`Scenario::with_plugins`].
///
/// A filter or score is part of every profile of kube-scheduler, behind the plug-ins of that, from the time when the cluster is brought up.
/// It is asked about every pod and node anew, as nothing of what it says is remembered, and any event may help a pod that it rejected; so a
/// run with one is slower. A filter may be asked about a node as it would be without some of its pods, when preemption looks for room, and
/// about one that an autoscaler might add.
///
/// A controller watches kinds of objects from t=0, at which it is told of each object that there is. It hears of changes as late as its
/// watch is (`spec.latency.watch`). What it asks for arrives half a round trip later and at least after a millisecond, without a rate limit,
/// and takes place after all else of that instant; it is told of refusals.
///
/// All are asked in the same order with the same arguments whenever the same run is played. Whether the run is the same is up to them: what
/// they answer may hang on nothing else. So they have no state of their own, no clock and no chance but what they make of what they are
/// told; a controller keeps what it has to remember in annotations, as real ones do. Copies of a run, such as for the seeds of a scenario
/// that has [settled](Scenario::settle), share them, from several threads if they are played on several.
///
/// # Examples
///
/// ```
/// use kubesquall::{ChangeKind, ClientRequest, Method, Plugins, Scenario};
///
/// # let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: disks}, spec: {duration: 10m, cluster: \
/// #     {manifests: [web.yaml], nodePools: [\
/// #     {name: hdd, count: 2, template: {metadata: {labels: {disk: hdd}}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}},\
/// #     {name: ssd, count: 1, template: {metadata: {labels: {disk: ssd}}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]},\
/// #     timeline: [{at: 1m, fault: {kind: Crash, nodes: {names: [ssd-0]}}}]}}";
/// # let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, \
/// #     template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}";
/// let scenario = Scenario::parse(text, [("web.yaml", web)])?;
/// let plugins = Plugins::new()
///     // Nodes with fast disks are better, by more than all else may make up for.
///     .score("PreferFastDisk", 100, |_, node| Ok(if node.label("disk") == Some("ssd") { 100 } else { 0 }))
///     // This one is kept for others.
///     .filter("KeepFree", |_, node| Ok((node.name() == "hdd-0").then(|| "node(s) are kept free".to_owned())))
///     // As soon as a node is found lost there are to be more replicas.
///     .controller("scale-up", ["Node"], |change, cluster| {
///         let lost = |condition: &serde_json::Value| condition["type"] == "Ready" && condition["status"] == "Unknown";
///         let conditions = change.object["status"]["conditions"].as_array();
///         if change.kind != ChangeKind::Modified || !conditions.is_some_and(|all| all.iter().any(lost)) {
///             return Ok(Vec::new());
///         }
///         let path = "/apis/apps/v1/namespaces/default/deployments/web";
///         let web = cluster.get(path)?.ok_or("there is no web")?;
///         if web["spec"]["replicas"] == 4 {
///             return Ok(Vec::new());
///         }
///         Ok(vec![ClientRequest::new(Method::Patch, format!("{path}/scale"), r#"{"spec": {"replicas": 4}}"#)])
///     });
/// let settled = scenario.with_plugins(plugins)?.try_settle()?;
///
/// let start = settled.start(1);
/// assert!(start.pods().all(|pod| pod.node == Some("ssd-0")));
/// let outcome = settled.try_play(1)?;
/// assert_eq!(outcome.summary()["plugins"][2]["requests"], 1);
/// assert_eq!(outcome.summary()["workloads"][0]["desired"], 4);
/// assert_eq!(outcome.digest(), settled.try_play(1)?.digest());
/// # Ok::<(), kubesquall::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    scheduler: Vec<SchedulerPlugin>,
    controllers: Vec<Controller>,
}

#[derive(Clone)]
struct Controller {
    name: String,
    kinds: Vec<String>,
    hook: Arc<ControllerHook>,
}

impl fmt::Debug for Controller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "controller {} of {:?}", self.name, self.kinds)
    }
}

impl Plugins {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a filter: it says why a pod may not run on a node, and nothing if it may. Reasons are shown like kube-scheduler's, with the
    /// number of nodes before them: `node(s) are kept free`. There should be few of them, as each is kept for good.
    #[must_use]
    pub fn filter<F>(mut self, name: impl AsRef<str>, hook: F) -> Self
    where
        F: Fn(&PluginPod<'_>, &PluginNode<'_>) -> Result<Option<String>, PluginError> + Send + Sync + 'static,
    {
        let hook = SchedulerHook::Filter(Arc::new(hook));
        self.scheduler.push(SchedulerPlugin { name: Symbol::new(name.as_ref()), hook });
        self
    }

    /// Adds a score: it says how good a node is for a pod, from 0 to 100. That counts with this weight, beside those of the other plug-ins,
    /// of which most have a weight of 1 or 2.
    #[must_use]
    pub fn score<F>(mut self, name: impl AsRef<str>, weight: u32, hook: F) -> Self
    where
        F: Fn(&PluginPod<'_>, &PluginNode<'_>) -> Result<i64, PluginError> + Send + Sync + 'static,
    {
        let hook = SchedulerHook::Score(Arc::new(hook), weight);
        self.scheduler.push(SchedulerPlugin { name: Symbol::new(name.as_ref()), hook });
        self
    }

    /// Adds a controller that watches these kinds, such as `Node` and `Deployment`: it is told of a change, and says what it wants done.
    #[must_use]
    pub fn controller<K, F>(mut self, name: impl Into<String>, kinds: impl IntoIterator<Item = K>, hook: F) -> Self
    where
        K: Into<String>,
        F: Fn(&ObjectChange<'_>, &ClusterReader<'_>) -> Result<Vec<ClientRequest>, PluginError> + Send + Sync + 'static,
    {
        let kinds = kinds.into_iter().map(Into::into).collect();
        self.controllers.push(Controller { name: name.into(), kinds, hook: Arc::new(hook) });
        self
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scheduler.is_empty() && self.controllers.is_empty()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let scheduler = self.scheduler.iter().map(|plugin| plugin.name.as_str());
        scheduler.chain(self.controllers.iter().map(|controller| controller.name.as_str()))
    }

    /// # Errors
    ///
    /// If two have one name, a name is that of a plug-in of kube-scheduler, or a weight is no weight.
    fn check(&self, taken: &[&str]) -> Result<(), Error> {
        let mut seen: Vec<&str> = Vec::new();
        for name in self.names() {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if name.is_empty() || !name.chars().all(is_plain) {
                let advice = "a name consists of letters, digits, `-`, `_` and `.`, such as `PreferFastDisk`";
                return Err(Error::argument(format!("`{name}` is no name of a plug-in"), advice));
            }
            if taken.contains(&name) {
                let message = format!("`{name}` is a plug-in of kube-scheduler itself");
                return Err(Error::argument(message, "give it a name of its own"));
            }
            if seen.contains(&name) {
                return Err(Error::argument(format!("two plug-ins are called `{name}`"), "give each its own name"));
            }
            seen.push(name);
        }
        let is_void = |plugin: &&SchedulerPlugin| matches!(plugin.hook, SchedulerHook::Score(_, 0));
        if let Some(void) = self.scheduler.iter().find(is_void) {
            let message = format!("the score `{}` has no weight", void.name);
            return Err(Error::argument(message, "a weight is a whole number from 1 on"));
        }
        Ok(())
    }

    pub(super) fn of_scheduler(&self) -> Arc<[SchedulerPlugin]> {
        self.scheduler.clone().into()
    }

    fn made(&self) -> Result<Arc<[ControllerPlugin]>, Error> {
        self.controllers.iter().map(Controller::made).collect()
    }

    /// What summaries say of them.
    pub(super) fn told(&self, tallies: &[ControllerTally]) -> Vec<PluginRow> {
        let scheduler = self.scheduler.iter().map(|plugin| {
            let (kind, weight) = match plugin.hook {
                SchedulerHook::Filter(_) => ("filter", None),
                SchedulerHook::Score(_, weight) => ("score", Some(weight)),
            };
            PluginRow { name: plugin.name.to_string(), kind, weight, requests: None, refused: None }
        });
        let controllers = self.controllers.iter().zip(tallies).map(|(controller, tally)| PluginRow {
            name: controller.name.clone(),
            kind: "controller",
            weight: None,
            requests: Some(tally.requests),
            refused: Some(tally.refused),
        });
        scheduler.chain(controllers).collect()
    }
}

impl Controller {
    fn made(&self) -> Result<ControllerPlugin, Error> {
        let known = ControllerPlugin::watchable();
        if self.kinds.is_empty() {
            let message = format!("the controller `{}` watches nothing", self.name);
            return Err(Error::argument(message, format!("name kinds of objects: {}", known.join(", "))));
        }
        let resource = |kind: &String| {
            ControllerPlugin::resource(kind).ok_or_else(|| {
                let listed = || format!("kinds that can be watched are {}", known.join(", "));
                let help = nearest_or(kind, known.iter().copied(), listed);
                Error::argument(format!("the controller `{}` cannot watch `{kind}`", self.name), help)
            })
        };
        let watched = self.kinds.iter().map(resource).collect::<Result<_, Error>>()?;
        Ok(ControllerPlugin { name: Symbol::new(&self.name), watched, hook: Arc::clone(&self.hook) })
    }
}

impl Scenario {
    /// The scenario with these plug-ins and controllers, and none that it had before. Its lock file does not have them: a run of that is
    /// another.
    ///
    /// # Errors
    ///
    /// If names are taken or mean nothing, or a weight is 0.
    pub fn with_plugins(&self, plugins: Plugins) -> Result<Self, Error> {
        plugins.check(&plugin_names(self.resolved().config.version))?;
        let controllers = plugins.made()?;
        Ok(self.plugged(Arc::new(plugins), controllers))
    }
}

/// A plug-in or controller, as `summary.json` has it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PluginRow {
    name: String,
    /// `filter`, `score` or `controller`.
    kind: &'static str,
    /// That of a score.
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u32>,
    /// What a controller has asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
    /// What of that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
}
