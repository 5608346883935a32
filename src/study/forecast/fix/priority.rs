//! A priority above that of the others.

use std::collections::BTreeSet;

use serde_json::json;

use super::objects::{change_templates, read, replicas_of};
use super::{Change, Circumstances};
use crate::arena::Symbol;
use crate::model::manifest::ManifestObject;
use crate::model::{Object, ObjectKind};
use crate::scenario::ResolvedScenario;
use crate::study::edit::path_of;

/// The class that it makes.
const CLASS: &str = "forecast-important";

/// A priority above that of the others.
pub(super) struct Priority;

impl Change for Priority {
    fn file(&self) -> &'static str {
        "priority"
    }

    fn words(&self) -> &'static str {
        "give it a higher priority"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["finds no room, which less important pods take", "find no room, which less important pods take"]
    }

    fn fits(&self, object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        // Everybody at once gains nothing: services go before what no service leads to.
        replicas_of(object).is_some() && around.lacks_room && around.served.contains(&path_of(object))
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": CLASS}, "value": 1_000_000,
            "description": "Workloads that go before others when room is short",
        });
        // Another fix may have made it, or an earlier forecast.
        let is_it = |object: &ManifestObject| {
            object.object.kind() == ObjectKind::PriorityClass && object.object.metadata().name == CLASS
        };
        if !scenario.objects.iter().any(is_it) {
            scenario.objects.extend(read(&class));
        }
        change_templates(&mut scenario.objects, workloads, |template, _| {
            (template.spec.priority_class_name, template.spec.priority) = (Some(Symbol::new(CLASS)), None);
        });
    }
}
