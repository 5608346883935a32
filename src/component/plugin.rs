//! Plug-ins that whoever embeds the simulator brings along: what kube-scheduler asks them, what they see, and how a run ends if one fails.

use std::error::Error;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use crate::arena::Symbol;
use crate::model::Resources;
use crate::state::{Node, Pod, PodId, Store};
use crate::units::SimTime;

/// Why a plug-in of one's own cannot answer; any error.
pub type PluginError = Box<dyn Error + Send + Sync>;

/// Says why a pod may not run on a node; nothing if it may.
pub type FilterHook = dyn Fn(&PluginPod<'_>, &PluginNode<'_>) -> Result<Option<String>, PluginError> + Send + Sync;

/// Says how good a node is for a pod, from 0 to 100.
pub type ScoreHook = dyn Fn(&PluginPod<'_>, &PluginNode<'_>) -> Result<i64, PluginError> + Send + Sync;

/// What a scheduler plug-in does.
#[derive(Clone)]
pub enum SchedulerHook {
    /// It keeps pods off nodes.
    Filter(Arc<FilterHook>),
    /// It prefers nodes, with this weight.
    Score(Arc<ScoreHook>, u32),
}

/// A scheduler plug-in of one's own. It is part of every profile, behind the plug-ins of that.
#[derive(Clone)]
pub struct SchedulerPlugin {
    /// Its name, which no other has.
    pub name: Symbol,
    /// What it does.
    pub hook: SchedulerHook,
}

impl fmt::Debug for SchedulerPlugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hook {
            SchedulerHook::Filter(_) => write!(formatter, "filter {}", self.name),
            SchedulerHook::Score(_, weight) => write!(formatter, "score {} of weight {weight}", self.name),
        }
    }
}

/// A pod as plug-ins of one's own see it.
#[derive(Clone, Copy)]
pub struct PluginPod<'a>(pub(crate) &'a Pod);

impl fmt::Debug for PluginPod<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace(), self.name())
    }
}

impl<'a> PluginPod<'a> {
    /// `metadata.namespace`.
    #[must_use]
    pub fn namespace(&self) -> &'static str {
        self.0.namespace.as_str()
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.0.name
    }

    /// A label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&'static str> {
        self.labels().find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// All labels, in the order of their keys.
    pub fn labels(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<'a> {
        self.0.labels.as_slice().iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// What its containers ask for, as the scheduler counts it: `cpu` in thousandths, `memory` and `ephemeral-storage` in bytes, other
    /// resources in pieces.
    #[must_use]
    pub fn requests(&self) -> Vec<(&'static str, i64)> {
        amounts(&self.0.spec.requests)
    }

    /// `spec.priority`.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.0.spec.priority
    }

    /// `spec.schedulerName`: plug-ins are part of every profile.
    #[must_use]
    pub fn scheduler_name(&self) -> &'static str {
        self.0.spec.scheduler_name.map_or("default-scheduler", Symbol::as_str)
    }
}

/// A node as plug-ins of one's own see it: as the scheduler knows it, with the pods that it has put there.
#[derive(Clone, Copy)]
pub struct PluginNode<'a> {
    pub(crate) name: Symbol,
    pub(crate) node: &'a Node,
    pub(crate) requested: &'a Resources,
    pub(crate) pod_count: i64,
    pub(crate) pods: &'a [PodId],
    pub(crate) store: &'a Store,
}

impl fmt::Debug for PluginNode<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl<'a> PluginNode<'a> {
    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name.as_str()
    }

    /// A label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&'static str> {
        self.labels().find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// All labels, in the order of their keys.
    pub fn labels(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<'a> {
        self.node.labels.as_slice().iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// `status.allocatable` in the units of [`PluginPod::requests`], with the number of `pods`.
    #[must_use]
    pub fn allocatable(&self) -> Vec<(&'static str, i64)> {
        with_pods(&self.node.allocatable, self.node.allocatable_pods)
    }

    /// What the pods on it ask for together, with the number of `pods`.
    #[must_use]
    pub fn requested(&self) -> Vec<(&'static str, i64)> {
        with_pods(self.requested, self.pod_count)
    }

    /// The pods that are counted on it. Their order says nothing, and is the same in each run. Nodes of which an autoscaler thinks, which
    /// nobody has made, show none.
    pub fn pods(&self) -> impl Iterator<Item = PluginPod<'a>> + use<'a> {
        let store = self.store;
        self.pods.iter().filter_map(|id| store.pod(*id)).map(PluginPod)
    }
}

fn amounts(of: &Resources) -> Vec<(&'static str, i64)> {
    let plain = [("cpu", of.cpu_milli), ("memory", of.memory), ("ephemeral-storage", of.ephemeral_storage)];
    plain.into_iter().chain(of.scalars.iter().map(|(name, amount)| (name.as_str(), *amount))).collect()
}

fn with_pods(of: &Resources, pods: i64) -> Vec<(&'static str, i64)> {
    let mut all = amounts(of);
    all.insert(3, ("pods", pods));
    all
}

/// A plug-in of one's own has failed: the run is over, and its state means nothing any more.
#[derive(Debug)]
pub struct PluginFailure {
    /// Which.
    pub name: Symbol,
    /// When, in the run.
    pub at: SimTime,
    /// What it was asked.
    pub asked: String,
    /// Why.
    pub error: PluginError,
}

impl PluginFailure {
    /// Leaves for [`unless_plugins_fail`], from whatever depth. No panic: nothing is printed.
    pub(crate) fn throw(self) -> ! {
        panic::resume_unwind(Box::new(self))
    }
}

impl fmt::Display for PluginFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, at, asked, error } = self;
        write!(formatter, "the plug-in `{name}` failed at {at}, asked {asked}: {error}")
    }
}

impl Error for PluginFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// Does what asks plug-ins of one's own.
///
/// # Errors
///
/// The first failure of one. Whatever the work has changed is to be thrown away then.
pub fn unless_plugins_fail<R>(work: impl FnOnce() -> R) -> Result<R, PluginFailure> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|thrown| match thrown.downcast::<PluginFailure>() {
        Ok(failure) => *failure,
        Err(bug) => panic::resume_unwind(bug),
    })
}
