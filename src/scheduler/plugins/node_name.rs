//! NodeName: a pod that names its node passes there only. Such pods never reach the queue.

use crate::scheduler::cache::Cache;
use crate::scheduler::event::{ClusterEvent, Events};
use crate::scheduler::framework::Plugin;
use crate::state::{Pod, Store};

pub(in crate::scheduler) struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }

    fn is_local(&self) -> bool {
        true
    }

    fn events(&self) -> Events {
        Events::NODE_ADDED
    }

    fn hint(&self, _pod: &Pod, event: &ClusterEvent<'_>, _cache: &Cache, _store: &Store) -> bool {
        matches!(event, ClusterEvent::NodeAdded(_))
    }
}
