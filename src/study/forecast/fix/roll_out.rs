//! Roll-outs take a pod away before they make the next.

use std::collections::BTreeSet;

use super::{Change, Circumstances};
use crate::model::{DeploymentStrategy, DeploymentStrategyType, ManifestObject, Object, RollingUpdateDeployment};
use crate::scenario::ResolvedScenario;
use crate::study::edit::path_of;
use crate::units::IntOrPercent;

/// Roll-outs take a pod away before they make the next.
pub(super) struct RollOut;

impl Change for RollOut {
    fn file(&self) -> &'static str {
        "roll-out"
    }

    fn words(&self) -> &'static str {
        "let roll-outs take a pod away before they make the next (maxUnavailable: 1, maxSurge: 0)"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "cannot be rolled out: the new pod waits for the place of an old one",
            "cannot be rolled out: a new pod waits for the place of an old one",
        ]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        matches!(object, Object::Deployment(_)) && around.stuck.contains(&path_of(object))
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        for ManifestObject { object, .. } in &mut scenario.objects {
            if !workloads.contains(&path_of(object)) {
                continue;
            }
            if let Object::Deployment(deployment) = object {
                deployment.spec.strategy = DeploymentStrategy {
                    strategy_type: Some(DeploymentStrategyType::RollingUpdate),
                    rolling_update: Some(RollingUpdateDeployment {
                        max_unavailable: Some(IntOrPercent::Int(1)),
                        max_surge: Some(IntOrPercent::Int(0)),
                    }),
                };
            }
        }
    }
}
