//! What older API versions meant, and what is implied, in the form of today.

use super::object::{Object, Scope};
use crate::arena::Symbol;
use crate::model::selector::LabelSelector;

/// Brings what older API versions meant, and what is implied, into the form of today.
pub(super) fn settle(object: &mut Object, api_version: &str) {
    let scope = object.kind().scope();
    let metadata = object.metadata_mut();
    match scope {
        Scope::Cluster => metadata.namespace = Symbol::default(),
        Scope::Namespaced if metadata.namespace.is_empty() => metadata.namespace = Symbol::from("default"),
        Scope::Namespaced => {}
    }
    let takes_labels_of_template = api_version.starts_with("extensions/") || api_version == "apps/v1beta1";
    if takes_labels_of_template {
        select_by_labels_of_template(object);
    }
    object.convert();
    let labels = match object {
        // An empty selector selected nothing before `policy/v1`.
        Object::PodDisruptionBudget(budget) if api_version == "policy/v1beta1" => {
            budget.spec.selector = budget.spec.selector.take().filter(|selector| !selector.is_empty());
            return;
        }
        Object::Deployment(object) => object.spec.template.metadata.labels.clone(),
        Object::ReplicaSet(object) => object.spec.template.metadata.labels.clone(),
        Object::StatefulSet(object) => object.spec.template.metadata.labels.clone(),
        Object::DaemonSet(object) => object.spec.template.metadata.labels.clone(),
        _ => return,
    };
    let metadata = object.metadata_mut();
    if takes_labels_of_template && metadata.labels.is_empty() {
        metadata.labels = labels;
    }
}

/// What old versions did with workloads that had no selector.
fn select_by_labels_of_template(object: &mut Object) {
    let (selector, template) = match object {
        Object::Deployment(object) => (&mut object.spec.selector, &object.spec.template),
        Object::ReplicaSet(object) => (&mut object.spec.selector, &object.spec.template),
        Object::StatefulSet(object) => (&mut object.spec.selector, &object.spec.template),
        Object::DaemonSet(object) => (&mut object.spec.selector, &object.spec.template),
        _ => return,
    };
    selector.get_or_insert_with(|| LabelSelector::from_labels(&template.metadata.labels));
}
