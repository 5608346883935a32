//! DynamicResources: claims of devices are not modelled; for pods without claims it has nothing to say but a line after
//! filtering.

use crate::model::config::KubernetesVersion;
use crate::scheduler::cache::Cache;
use crate::scheduler::framework::{Cycle, Plugin};
use crate::state::NodeId;

pub(in crate::scheduler) struct DynamicResources;

impl Plugin for DynamicResources {
    fn name(&self) -> &'static str {
        "DynamicResources"
    }

    fn is_local(&self) -> bool {
        true
    }

    /// # Source
    /// kube-scheduler 1.34+: it is on by default, and of a pod without claims says that none can be taken back.
    fn after_filters(&self, version: KubernetesVersion) -> Option<&'static str> {
        version.at_least(34).then_some("no new claims to deallocate")
    }

    /// A pod without claims is not scored.
    fn pre_score(&self, _cycle: &Cycle<'_>, _cache: &Cache, _feasible: &[NodeId]) -> Result<bool, String> {
        Ok(false)
    }
}
