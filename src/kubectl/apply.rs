//! `kubectl apply -f` and `kubectl create -f`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::command_line::{ApplyArgs, ApplyVerb};
use super::failure::Failure;
use super::resource::{Found, Kind, find_one};
use super::{Item, Plan, Step, Written, three_way};
use crate::arena::Symbol;
use crate::component::Request;
use crate::model::{Labels, Object};
use crate::state::{NodeId, PodId, Store, TaintOnNode};

pub(super) fn plan(args: &ApplyArgs, objects: &[Written], plan: &mut Plan) {
    if objects.is_empty() {
        let verb = if args.verb == ApplyVerb::Create { "create" } else { "apply" };
        plan.fail(Failure::own(format!("no objects passed to {verb}")));
    }
    plan.items.extend((0..objects.len()).map(Item::Apply));
}

/// What one object of a file asks for, as things are when its turn comes.
pub(super) fn plan_one(verb: ApplyVerb, Written { file, object }: &Written, store: &Store, plan: &mut Plan) {
    let metadata = object.metadata();
    let kind = Kind::parse(object.kind().as_str());
    let name = format!("{}/{}", kind.map_or_else(|| printed(object), |k| k.printed().to_owned()), metadata.name);
    let exists = kind.and_then(|k| find_one(k, metadata.namespace, metadata.name.as_str(), store));
    if verb == ApplyVerb::Create || exists.is_none() {
        let request = match verb {
            ApplyVerb::Create => Request::Create(Box::new(object.clone())),
            ApplyVerb::Apply => Request::Apply(Box::new(three_way::remembered(object))),
        };
        let source = Some(("creating", Arc::clone(file)));
        let home = Some(metadata.namespace).filter(|namespace| *namespace != Symbol::empty());
        return plan.call(Step { source, home, ..Step::new(request, format!("{name} created")) });
    }
    let Some(found) = &exists else { return };
    match (found, three_way::export(found, store)) {
        (Found::Pod(pod), _) => all_or_unchanged(change_pod(*pod, object, store), &name, plan),
        (Found::Node(node), _) => all_or_unchanged(change_node(*node, object, store), &name, plan),
        (_, Some(live)) => match three_way::merged(object, &live) {
            Ok(None) => plan.say(format!("{name} unchanged")),
            Ok(Some(merged)) => {
                plan.call(Step::new(Request::Apply(Box::new(merged)), format!("{name} configured")));
            }
            Err(problem) => plan.fail(Failure::line(format!("The request is invalid: {problem}"))),
        },
        (_, None) => {
            let request = Request::Apply(Box::new(object.clone()));
            let unchanged = Some(format!("{name} unchanged"));
            plan.call(Step { unchanged, ..Step::new(request, format!("{name} configured")) });
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
