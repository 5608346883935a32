//! Somebody says of a machine that is off that it is.

use std::collections::BTreeSet;

use super::{Change, Circumstances};
use crate::model::Object;
use crate::scenario::ResolvedScenario;

/// Somebody says of a machine that is off that it is: `node.kubernetes.io/out-of-service`.
pub(super) struct OutOfService;

impl Change for OutOfService {
    fn file(&self) -> &'static str {
        "out-of-service"
    }

    fn words(&self) -> &'static str {
        "when a machine is off, taint its node out-of-service within ten minutes (runbook)"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "waits for a dead node: a StatefulSet does not replace a pod that may still run",
            "wait for dead nodes: a StatefulSet does not replace a pod that may still run",
        ]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        matches!(object, Object::StatefulSet(_))
    }

    fn apply(&self, _scenario: &mut ResolvedScenario, _workloads: &BTreeSet<String>) {
        // The cluster stays as it is: the plays have the lines of the runbook.
    }

    fn runbook(&self) -> Option<&'static str> {
        Some(
            "# For the hour in which a machine is lost; NODE is its node. Make sure first that it is off, and not only cut off: its pods are\n\
             # deleted at once, and others take over their names and volumes.\n\
             : \"${NODE:?the node whose machine is off}\"\n\
             # It ends here if the kubelet is heard of.\n\
             kubectl wait --for=condition=Ready=Unknown node \"$NODE\" --timeout=10s\n\
             kubectl taint nodes \"$NODE\" node.kubernetes.io/out-of-service=nodeshutdown:NoExecute\n\
             # Once the machine is back, so that pods may run there again:\n\
             # kubectl taint nodes \"$NODE\" node.kubernetes.io/out-of-service=nodeshutdown:NoExecute-\n",
        )
    }
}
