//! DynamicResources: claims of devices are not modelled; for pods without claims it has nothing to say but a line after
//! filtering.

use serde::Deserialize;

use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::{ArgumentUse, PluginArguments, Problems};
use crate::scheduler::framework::{
    AnyPlugin, Handle, LocalPlugin, Plugin, Point, PostFilter, PreFilter, Register, Spec,
};
use crate::state::Store;
use crate::units::SimDuration;

pub(in crate::scheduler) struct DynamicResources {
    version: KubernetesVersion,
}

/// `DynamicResourcesArgs`, which are understood and decide nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::scheduler) struct DynamicResourcesArgs {
    filter_timeout: Option<SimDuration>,
    binding_timeout: Option<SimDuration>,
}

impl PluginArguments for DynamicResourcesArgs {
    const USE: ArgumentUse = ArgumentUse::Ignored;

    fn exist(version: KubernetesVersion) -> bool {
        version.at_least(34)
    }

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

impl Register for DynamicResources {
    const NAME: &'static str = "DynamicResources";
    const POINTS: &'static [Point] = &[
        Point::PreEnqueue,
        Point::PreFilter,
        Point::Filter,
        Point::PostFilter,
        Point::Score,
        Point::Reserve,
        Point::PreBind,
    ];
    const WEIGHT: i64 = 2;
    const SUMMARY: &'static str = "nothing: no pod has claims; its sentence is part of messages since 1.34";
    type Arguments = DynamicResourcesArgs;

    fn make(_: DynamicResourcesArgs, version: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self { version })
    }
}

impl Plugin for DynamicResources {
    /// # Source
    /// kube-scheduler 1.34+: it is on by default, and of a pod without claims says that none can be taken back. If its turn did
    /// not come before filtering it cannot find its state.
    fn post_filter(&self, handle: &mut dyn Handle<'_>) -> Option<PostFilter> {
        if !self.version.at_least(34) {
            return None;
        }
        if handle.is_pre_filter_cut_short() {
            return Some(PostFilter::Error("not found".to_owned()));
        }
        let reason = "no new claims to deallocate".to_owned();
        Some(PostFilter::Unschedulable { reason, clears_nomination: false })
    }
}

/// A pod without claims is neither filtered nor scored.
impl LocalPlugin for DynamicResources {
    fn pre_filter(&self, _spec: Spec<'_>, _store: &Store) -> PreFilter {
        PreFilter::Skip
    }

    fn pre_score(&self, _spec: Spec<'_>) -> Result<bool, String> {
        Ok(false)
    }
}
