//! Pods of lost nodes are evicted after 30 seconds.

use std::collections::BTreeSet;

use super::objects::replicas_of;
use super::{Change, Circumstances};
use crate::model::Object;
use crate::scenario::ResolvedScenario;
use crate::study::edit::{self, path_of};

/// The taints of lost nodes.
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Pods of lost nodes are evicted after 30 seconds.
pub(super) struct Toleration;

impl Change for Toleration {
    fn file(&self) -> &'static str {
        "toleration"
    }

    fn words(&self) -> &'static str {
        "evict after 30 s (tolerationSeconds)"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "waits five minutes for a lost node before its pods are replaced",
            "wait five minutes for a lost node before their pods are replaced",
        ]
    }

    fn fits(&self, object: &Object, scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        let seconds = || edit::seconds_now(scenario, &[path_of(object)], &TAINTS);
        replicas_of(object).is_some() && seconds().is_some_and(|seconds| seconds > 60)
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        let paths: Vec<String> = workloads.iter().cloned().collect();
        // Which workloads there are was found out before.
        let _ = edit::toleration_seconds(&mut scenario.objects, &paths, &TAINTS, 30);
    }
}
