//! A grace period within the patience of a drain.

use std::collections::BTreeSet;

use super::objects::{change_templates, pod_spec};
use super::{Change, Circumstances};
use crate::model::Object;
use crate::scenario::ResolvedScenario;

/// A grace period within the patience of a drain.
pub(super) struct Grace;

impl Change for Grace {
    fn file(&self) -> &'static str {
        "grace"
    }

    fn words(&self) -> &'static str {
        "shorten terminationGracePeriodSeconds to 60"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["takes longer to stop than a drain waits", "take longer to stop than a drain waits"]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        pod_spec(object).is_some_and(|spec| spec.termination_grace_period_seconds.is_some_and(|seconds| seconds > 300))
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        change_templates(&mut scenario.objects, workloads, |template, _| {
            template.spec.termination_grace_period_seconds = Some(60);
        });
    }
}
