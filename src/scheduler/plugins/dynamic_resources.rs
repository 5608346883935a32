//! DynamicResources: claims of devices are not modelled; for pods without claims it has nothing to say but a line after
//! filtering.

use serde::Deserialize;

use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::{PluginArguments, Problems};
use crate::scheduler::cache::Cache;
use crate::scheduler::framework::{Cycle, Plugin};
use crate::state::NodeId;
use crate::units::SimDuration;

pub(in crate::scheduler) struct DynamicResources;

/// `DynamicResourcesArgs`, which are understood and decide nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct DynamicResourcesArgs {
    filter_timeout: Option<SimDuration>,
    binding_timeout: Option<SimDuration>,
}

impl PluginArguments for DynamicResourcesArgs {
    fn check(&self, problems: &mut Problems) {
        const PATH: &str = "bindingTimeout";
        let second = SimDuration::from_secs(1);
        if problems.version().at_least(36) {
            problems.unless(self.binding_timeout.is_none_or(|timeout| timeout >= second), PATH, "be at least 1s");
        } else {
            // A feature gate is off.
            problems.unless(self.binding_timeout.is_none(), PATH, "be left out before Kubernetes 1.36");
        }
    }
}

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
