//! `kubectl apply -f` and `kubectl create -f`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::command_line::{ApplyArgs, ApplyVerb};
use super::failure::Failure;
use super::resource::{Found, Kind, find_one};
use super::{Plan, Step, Written};
use crate::arena::Symbol;
use crate::component::Request;
use crate::model::{Labels, Object};
use crate::state::{NodeId, PodId, Store, TaintOnNode};

pub(super) fn plan(args: &ApplyArgs, objects: &[Written], store: &Store, plan: &mut Plan) {
    if objects.is_empty() {
        let verb = if args.verb == ApplyVerb::Create { "create" } else { "apply" };
        plan.fail(Failure::own(format!("no objects passed to {verb}")));
    }
    for Written { file, object } in objects {
        let metadata = object.metadata();
        let kind = Kind::parse(object.kind().as_str());
        let name = format!("{}/{}", kind.map_or_else(|| printed(object), |k| k.printed().to_owned()), metadata.name);
        let source = Some(("creating", Arc::clone(file)));
        let home = Some(metadata.namespace).filter(|namespace| *namespace != Symbol::empty());
        let exists = kind.and_then(|k| find_one(k, metadata.namespace, metadata.name.as_str(), store));
        let created = format!("{name} created");
        match (args.verb, exists) {
            (ApplyVerb::Create, _) => {
                let request = Request::Create(Box::new(object.clone()));
                plan.call(Step { source, home, ..Step::new(request, created) });
            }
            (ApplyVerb::Apply, None) => {
                let request = Request::Apply(Box::new(object.clone()));
                plan.call(Step { source, home, ..Step::new(request, created) });
            }
            (ApplyVerb::Apply, Some(Found::Pod(pod))) => {
                let requests = change_pod(pod, object, store);
                all_or_unchanged(requests, &name, plan);
            }
            (ApplyVerb::Apply, Some(Found::Node(node))) => {
                let requests = change_node(node, object, store);
                all_or_unchanged(requests, &name, plan);
            }
            (ApplyVerb::Apply, Some(_)) => {
                let request = Request::Apply(Box::new(object.clone()));
                let unchanged = Some(format!("{name} unchanged"));
                plan.call(Step { unchanged, ..Step::new(request, format!("{name} configured")) });
            }
        }
    }
}

/// The kind of an object that no command line names, as printed.
fn printed(object: &Object) -> String {
    let kind = object.kind().as_str().to_ascii_lowercase();
    let group = match object {
        Object::StorageClass(_) | Object::CSIDriver(_) | Object::CSINode(_) => ".storage.k8s.io",
        Object::HorizontalPodAutoscaler(_) => ".autoscaling",
        Object::ControllerRevision(_) => ".apps",
        _ => "",
    };
    kind + group
}

/// Requests of one object, with the line at the last of them.
fn all_or_unchanged(mut requests: Vec<Request>, name: &str, plan: &mut Plan) {
    let Some(last) = requests.pop() else { return plan.say(format!("{name} unchanged")) };
    for request in requests {
        plan.call(Step::new(request, ""));
    }
    plan.call(Step::new(last, format!("{name} configured")));
}

fn merged_labels(old: &Labels, written: &Labels) -> Option<Labels> {
    let new = written.iter().fold(old.clone(), |labels, (key, value)| labels.with(key, value));
    (new != *old).then_some(new)
}

type Annotations = Arc<BTreeMap<Symbol, Symbol>>;

fn merged_annotations(old: &Annotations, written: &BTreeMap<Symbol, Symbol>) -> Option<Annotations> {
    let mut new = BTreeMap::clone(old);
    new.extend(written.iter().map(|(key, value)| (*key, *value)));
    (new != **old).then(|| Arc::new(new))
}

/// What of a pod can be changed by applying it again.
///
/// # Differs
/// Only labels and annotations; the API server would refuse most of the spec.
fn change_pod(pod: PodId, object: &Object, store: &Store) -> Vec<Request> {
    let Some(old) = store.pod(pod) else { return Vec::new() };
    let metadata = object.metadata();
    let labels = merged_labels(&old.labels, &metadata.labels).map(|labels| Request::SetPodLabels { pod, labels });
    let annotations = merged_annotations(&old.spec.annotations, &metadata.annotations)
        .map(|annotations| Request::SetPodAnnotations { pod, annotations });
    labels.into_iter().chain(annotations).collect()
}

/// What of a node can be changed by applying it again: metadata, taints, and whether it is schedulable.
fn change_node(node: NodeId, object: &Object, store: &Store) -> Vec<Request> {
    let (Some(old), Object::Node(new)) = (store.node(node), object) else { return Vec::new() };
    let mut requests = Vec::new();
    if let Some(labels) = merged_labels(&old.labels, &new.metadata.labels) {
        requests.push(Request::SetNodeLabels { node, labels });
    }
    if let Some(annotations) = merged_annotations(&old.annotations, &new.metadata.annotations) {
        requests.push(Request::SetNodeAnnotations { node, annotations });
    }
    let is_same =
        |a: &TaintOnNode, b: &crate::model::Taint| a.key == b.key && a.effect == b.effect && a.value == b.value;
    let add: Vec<TaintOnNode> = new
        .spec
        .taints
        .iter()
        .filter(|taint| !old.taints.iter().any(|t| is_same(t, taint)))
        .map(|t| TaintOnNode { key: t.key, value: t.value, effect: t.effect, added_at: None })
        .collect();
    if !add.is_empty() {
        requests.push(Request::PatchNodeTaints { node, add: add.into(), remove: Vec::new().into() });
    }
    if new.spec.unschedulable && !old.unschedulable {
        requests.push(Request::SetNodeUnschedulable { node, unschedulable: true });
    }
    requests
}
