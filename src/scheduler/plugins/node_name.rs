//! NodeName: a pod that names its node passes there only. Such pods never reach the queue.

use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::{AnyPlugin, Incoming, LocalPlugin, Plugin, Point, Register};

pub(in crate::scheduler) struct NodeName;

impl Register for NodeName {
    const NAME: &'static str = "NodeName";
    const POINTS: &'static [Point] = &[Point::Filter];
    const SUMMARY: &'static str = "never fails for pods of the queue";
    type Arguments = NoArguments;

    fn make(_: NoArguments, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self)
    }
}

impl LocalPlugin for NodeName {}

impl Plugin for NodeName {
    fn events(&self) -> Events {
        Events::NODE_ADDED
    }

    fn hint(&self, _waiting: Incoming<'_>, event: &ClusterEvent<'_>, _cache: &Cache) -> bool {
        matches!(event, ClusterEvent::NodeAdded(_))
    }
}
