//! What selectors choose by: labels, and the fields that they may name.

use serde_json::Value;

use super::answer::Status;
use super::path::Path;
use super::resources::{EVENTS_GROUP, Resource};
use crate::arena::Symbol;
use crate::kubectl::FieldSelector;
use crate::model::{LabelSelector, Labels};

type Refused = Box<Status>;

/// A field, where it is, and what it is where nothing says so. What has no place is known and always empty.
type Field = (&'static str, &'static str, &'static str);

/// # Source
/// kube-apiserver, `AddFieldLabelConversionFunc` and `ToSelectableFields` of each kind.
const PODS: &[Field] = &[
    ("spec.nodeName", "/spec/nodeName", ""),
    // As old clients call it.
    ("spec.host", "/spec/nodeName", ""),
    ("spec.restartPolicy", "/spec/restartPolicy", "Always"),
    ("spec.schedulerName", "/spec/schedulerName", "default-scheduler"),
    ("spec.serviceAccountName", "/spec/serviceAccountName", "default"),
    ("spec.hostNetwork", "/spec/hostNetwork", "false"),
    ("status.phase", "/status/phase", ""),
    ("status.podIP", "/status/podIP", ""),
    ("status.podIPs", "", ""),
    ("status.nominatedNodeName", "/status/nominatedNodeName", ""),
];
const EVENTS: &[Field] = &[
    ("involvedObject.kind", "/involvedObject/kind", ""),
    ("involvedObject.namespace", "/involvedObject/namespace", ""),
    ("involvedObject.name", "/involvedObject/name", ""),
    ("involvedObject.uid", "/involvedObject/uid", ""),
    ("involvedObject.apiVersion", "/involvedObject/apiVersion", ""),
    ("involvedObject.resourceVersion", "/involvedObject/resourceVersion", ""),
    ("involvedObject.fieldPath", "/involvedObject/fieldPath", ""),
    ("reason", "/reason", ""),
    ("reportingComponent", "/reportingComponent", ""),
    ("source", "/source/component", ""),
    ("type", "/type", ""),
];
const EVENTS_OF_THE_GROUP: &[Field] = &[
    ("regarding.kind", "/regarding/kind", ""),
    ("regarding.namespace", "/regarding/namespace", ""),
    ("regarding.name", "/regarding/name", ""),
    ("regarding.uid", "/regarding/uid", ""),
    ("regarding.apiVersion", "/regarding/apiVersion", ""),
    ("regarding.resourceVersion", "/regarding/resourceVersion", ""),
    ("regarding.fieldPath", "/regarding/fieldPath", ""),
    ("reason", "/reason", ""),
    ("reportingController", "/reportingController", ""),
    ("type", "/type", ""),
];

fn of_kind(resource: &Resource) -> &'static [Field] {
    match resource.name().as_str() {
        "pods" => PODS,
        "events" if resource.group == EVENTS_GROUP => EVENTS_OF_THE_GROUP,
        "events" => EVENTS,
        "nodes" => &[("spec.unschedulable", "/spec/unschedulable", "false")],
        "namespaces" => &[("status.phase", "/status/phase", "")],
        "replicationcontrollers" => &[("status.replicas", "/status/replicas", "0")],
        "jobs.batch" => &[("status.successful", "/status/succeeded", "0")],
        "secrets" => &[("type", "/type", "Opaque")],
        "services" => &[("spec.clusterIP", "/spec/clusterIP", ""), ("spec.type", "/spec/type", "ClusterIP")],
        "certificatesigningrequests.certificates.k8s.io" => &[("spec.signerName", "/spec/signerName", "")],
        "resourceslices.resource.k8s.io" => {
            &[("spec.nodeName", "/spec/nodeName", ""), ("spec.driver", "/spec/driver", "")]
        }
        _ => &[],
    }
}

/// What an Event's `source` is compared with where it has none.
const REPORTER: &str = "/reportingComponent";

fn value_at(object: &Value, path: &str, otherwise: &str) -> String {
    match object.pointer(path).filter(|_| !path.is_empty()) {
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        Some(Value::Null | Value::String(_)) | None => otherwise.to_owned(),
        Some(other) => other.to_string(),
    }
}

/// `.spec.color` as a pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

/// What of an object selectors choose by, beside its name and namespace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traits {
    labels: Labels,
    /// In the order of the resource's fields.
    fields: Box<[Symbol]>,
}

impl Traits {
    /// Those of an object as it is shown.
    pub(crate) fn of(resource: &Resource, object: &Value) -> Self {
        let value = |(name, path, otherwise): &Field| match value_at(object, path, otherwise) {
            text if text.is_empty() && *name == "source" => Symbol::new(&value_at(object, REPORTER, "")),
            text => Symbol::new(&text),
        };
        let own = resource.selectable_fields.iter().map(|path| Symbol::new(&value_at(object, &pointer(path), "")));
        let labels = serde_json::from_value(object["metadata"]["labels"].clone()).unwrap_or_default();
        Self { labels, fields: of_kind(resource).iter().map(value).chain(own).collect() }
    }
}

#[derive(Copy, Clone, Debug)]
enum Which {
    Name,
    Namespace,
    Own(usize),
}

#[derive(Clone, Debug)]
struct Requirement {
    which: Which,
    value: String,
    is_negated: bool,
}

/// Label and field selectors of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    labels: Option<LabelSelector>,
    fields: Vec<Requirement>,
}

impl Selection {
    /// Reads both.
    ///
    /// # Errors
    /// 400.
    pub(crate) fn read(path: &Path, resource: &Resource) -> Result<Self, Refused> {
        let bad = |message: String| Box::new(Status::bad_request(message));
        let labels = path.parameter("labelSelector").filter(|text| !text.is_empty());
        let labels = labels.map(LabelSelector::parse).transpose();
        let labels = labels.map_err(|error| bad(format!("unable to parse requirement: {error}")))?;
        let fields = FieldSelector::parse(path.parameter("fieldSelector").unwrap_or_default())
            .map_err(|part| bad(format!("invalid selector: '{part}'; can't understand '{part}'")))?;
        let mut selection = Self { labels, fields: Vec::new() };
        for of in fields.0 {
            let which = which(resource, &of.field).ok_or_else(|| bad(unknown(resource, &of.field)))?;
            selection.fields.push(Requirement { which, value: of.value, is_negated: of.is_negated });
        }
        Ok(selection)
    }

    /// Only the object of a name.
    #[cfg(feature = "serve")]
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.fields.push(Requirement { which: Which::Name, value: name.to_owned(), is_negated: false });
        self
    }

    /// Whether everything is chosen.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_empty()
    }

    /// Whether an object is chosen.
    pub(crate) fn chooses(&self, namespace: &str, name: &str, traits: &Traits) -> bool {
        let value = |which: Which| match which {
            Which::Name => name,
            Which::Namespace => namespace,
            Which::Own(place) => traits.fields.get(place).map_or("", |value| value.as_str()),
        };
        self.labels.as_ref().is_none_or(|selector| selector.matches(&traits.labels))
            && self.fields.iter().all(|of| (value(of.which) == of.value) != of.is_negated)
    }
}

fn which(resource: &Resource, field: &str) -> Option<Which> {
    let known = of_kind(resource);
    match field {
        "metadata.name" => Some(Which::Name),
        // Kinds with fields of their own that live in no namespace do not know it.
        "metadata.namespace" if resource.is_namespaced || known.is_empty() => Some(Which::Namespace),
        _ => {
            let place = known.iter().position(|(name, ..)| *name == field);
            let own = || resource.selectable_fields.iter().position(|path| path.trim_start_matches('.') == field);
            place.or_else(|| Some(known.len() + own()?)).map(Which::Own)
        }
    }
}

/// # Source
/// apimachinery, `DefaultMetaV1FieldSelectorConversion`, and those of each kind.
fn unknown(resource: &Resource, field: &str) -> String {
    match resource.name().as_str() {
        "jobs.batch" => format!("field label {field:?} not supported for Job"),
        _ if !of_kind(resource).is_empty() || !resource.is_built_in() => format!("field label not supported: {field}"),
        _ => {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rest::resources;
    use crate::state::Store;

    #[test]
    fn selectors_know_the_fields_of_each_kind_and_what_they_are_where_nothing_is_said() {
        let store = Store::default();
        let check = |path: &str, field: &str, object: Value, expected: Result<bool, &str>| {
            let path = format!("{path}?fieldSelector={}", field.replace('=', "%3D"));
            let path = Path::parse(&path).expect("a path");
            let resource = path.target(&store).expect("a resource").resource;
            let found = Selection::read(&path, &resource);
            let found = found.map(|selection| selection.chooses("shop", "web", &Traits::of(&resource, &object)));
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{field}"),
                (Err(status), Err(text)) => assert!(status.message.contains(text), "{field}: {}", status.message),
                (found, _) => panic!("{field}: {found:?}"),
            }
        };
        let (pods, jobs, events) = ("/api/v1/pods", "/apis/batch/v1/jobs", "/api/v1/events");
        check(pods, "metadata.name=web", json!({}), Ok(true));
        check(pods, "metadata.namespace!=shop", json!({}), Ok(false));
        check(pods, "spec.nodeName=n", json!({"spec": {"nodeName": "n"}}), Ok(true));
        check(pods, "spec.host=n", json!({"spec": {"nodeName": "n"}}), Ok(true));
        check(pods, "spec.hostNetwork=false", json!({}), Ok(true));
        check(pods, "spec.serviceAccountName=default", json!({}), Ok(true));
        check(pods, "status.podIPs=1.2.3.4", json!({}), Ok(false));
        check(pods, "spec.nodename=n", json!({}), Err("field label not supported: spec.nodename"));
        check(jobs, "status.successful=1", json!({"status": {"succeeded": 1}}), Ok(true));
        check(jobs, "status.successful=0", json!({"status": {}}), Ok(true));
        check(jobs, "status.failed=0", json!({}), Err("field label \"status.failed\" not supported for Job"));
        check(events, "source=kubelet", json!({"source": {"component": "kubelet"}}), Ok(true));
        check(events, "source=kubelet", json!({"source": {}, "reportingComponent": "kubelet"}), Ok(true));
        check(events, "involvedObject.kin=Pod", json!({}), Err("field label not supported"));
        check("/api/v1/secrets", "type=Opaque", json!({}), Ok(true));
        check("/api/v1/services", "spec.type=NodePort", json!({"spec": {"type": "NodePort"}}), Ok(true));
        check("/api/v1/nodes", "spec.unschedulable=true", json!({"spec": {"unschedulable": true}}), Ok(true));
        check("/api/v1/nodes", "metadata.namespace=a", json!({}), Err("field label not supported"));
        check("/apis/apps/v1/deployments", "spec.replicas=1", json!({}), Err("is not a known field selector"));
        check("/apis/apps/v1/replicasets", "status.replicas=1", json!({}), Err("is not a known field selector"));
    }

    #[test]
    fn a_definition_says_which_fields_of_its_objects_selectors_know() {
        let mut resource = resources::of_kind("ConfigMap").expect("a resource");
        resource.selectable_fields = vec![".spec.color".to_owned()];
        let path = Path::parse("/api/v1/configmaps?fieldSelector=spec.color%3Dred").expect("a path");
        let selection = Selection::read(&path, &resource).expect("a selection");
        for (color, expected) in [("red", true), ("blue", false)] {
            let traits = Traits::of(&resource, &json!({"spec": {"color": color}}));
            assert_eq!(selection.chooses("a", "b", &traits), expected);
        }
    }
}
