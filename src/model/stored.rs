//! Kinds of objects that decide nothing here: they are kept as they are written, so that commands find and change them.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::secret;
use super::{Object, ObjectMeta};
use crate::arena::Symbol;

/// A kind whose objects are stored without effect.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredKind {
    /// `kind`.
    pub kind: Symbol,
    /// The API group; empty for the core's.
    pub group: Symbol,
    /// Its resource in the API: the plural.
    pub plural: Symbol,
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
}

/// Kind, group, plural and short names, whether it lives in namespaces.
///
/// # Source
/// `kubectl api-resources` of a cluster with the built-in kinds.
const KINDS: &[(&str, &str, &[&str], bool)] = &[
    ("ServiceAccount", "", &["serviceaccounts", "sa"], true),
    ("ConfigMap", "", &["configmaps", "cm"], true),
    ("Secret", "", &["secrets"], true),
    ("Endpoints", "", &["endpoints", "ep"], true),
    ("Event", "", &["events", "ev"], true),
    ("LimitRange", "", &["limitranges", "limits"], true),
    ("ResourceQuota", "", &["resourcequotas", "quota"], true),
    ("PodTemplate", "", &["podtemplates"], true),
    ("ComponentStatus", "", &["componentstatuses", "cs"], false),
    ("ControllerRevision", "apps", &["controllerrevisions"], true),
    ("NetworkPolicy", "networking.k8s.io", &["networkpolicies", "netpol"], true),
    ("Ingress", "networking.k8s.io", &["ingresses", "ing"], true),
    ("IngressClass", "networking.k8s.io", &["ingressclasses"], false),
    ("StorageClass", "storage.k8s.io", &["storageclasses", "sc"], false),
    ("CSIDriver", "storage.k8s.io", &["csidrivers"], false),
    ("CSINode", "storage.k8s.io", &["csinodes"], false),
    ("VolumeAttachment", "storage.k8s.io", &["volumeattachments"], false),
    ("CSIStorageCapacity", "storage.k8s.io", &["csistoragecapacities"], true),
    ("HorizontalPodAutoscaler", "autoscaling", &["horizontalpodautoscalers", "hpa"], true),
    ("Role", "rbac.authorization.k8s.io", &["roles"], true),
    ("RoleBinding", "rbac.authorization.k8s.io", &["rolebindings"], true),
    ("ClusterRole", "rbac.authorization.k8s.io", &["clusterroles"], false),
    ("ClusterRoleBinding", "rbac.authorization.k8s.io", &["clusterrolebindings"], false),
    ("CustomResourceDefinition", "apiextensions.k8s.io", &["customresourcedefinitions", "crd", "crds"], false),
    ("APIService", "apiregistration.k8s.io", &["apiservices"], false),
    ("MutatingWebhookConfiguration", "admissionregistration.k8s.io", &["mutatingwebhookconfigurations"], false),
    ("ValidatingWebhookConfiguration", "admissionregistration.k8s.io", &["validatingwebhookconfigurations"], false),
    ("ValidatingAdmissionPolicy", "admissionregistration.k8s.io", &["validatingadmissionpolicies"], false),
    ("ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io", &["validatingadmissionpolicybindings"], false),
    ("Lease", "coordination.k8s.io", &["leases"], true),
    ("EndpointSlice", "discovery.k8s.io", &["endpointslices"], true),
    ("CertificateSigningRequest", "certificates.k8s.io", &["certificatesigningrequests", "csr"], false),
    ("RuntimeClass", "node.k8s.io", &["runtimeclasses"], false),
    ("FlowSchema", "flowcontrol.apiserver.k8s.io", &["flowschemas"], false),
    ("PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io", &["prioritylevelconfigurations"], false),
];

/// The plural of a kind as code generators make it.
fn plural(kind: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| kind.ends_with(end));
    match kind.strip_suffix('y') {
        Some(stem) if !ends(&["ay", "ey", "iy", "oy", "uy"]) => format!("{stem}ies"),
        _ if ends(&["s", "x", "ch", "sh"]) => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

impl StoredKind {
    fn of_entry((kind, group, words, is_namespaced): &(&str, &str, &[&str], bool)) -> Self {
        let plural = Symbol::new(words[0]);
        Self { kind: Symbol::new(kind), group: Symbol::new(group), plural, is_namespaced: *is_namespaced }
    }

    /// The kind of an object; kinds of others live in namespaces, if the object does.
    fn of(api_version: &str, kind: &str, has_namespace: bool) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is_it = |entry: &&(&str, &str, &[&str], bool)| {
            entry.0 == kind && (entry.1 == group || matches!(group, "extensions" | "events.k8s.io"))
        };
        KINDS.iter().find(is_it).map_or_else(
            || Self {
                kind: Symbol::new(kind),
                group: Symbol::new(group),
                plural: Symbol::new(&plural(&kind.to_ascii_lowercase())),
                is_namespaced: has_namespace || !kind.starts_with("Cluster"),
            },
            Self::of_entry,
        )
    }

    /// The built-in kind of a word on a command line, without its group.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let is_it =
            |entry: &&(&str, &str, &[&str], bool)| entry.2.contains(&word) || entry.0.eq_ignore_ascii_case(word);
        KINDS.iter().find(is_it).map(Self::of_entry)
    }

    /// A kind that only its word on a command line tells of; the word is kept as its plural.
    #[must_use]
    pub fn custom(typed: &str, group: &str) -> Self {
        let word = typed.to_ascii_lowercase();
        let word = word.as_str();
        let singular = match word {
            _ if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
            _ if ["ses", "xes", "ches", "shes"].iter().any(|end| word.ends_with(end)) => {
                word[..word.len() - 2].to_owned()
            }
            _ => word.strip_suffix('s').unwrap_or(word).to_owned(),
        };
        let (kind, group) = (Symbol::new(&singular), Symbol::new(group));
        Self { kind, group, plural: Symbol::new(typed), is_namespaced: true }
    }

    /// The built-in kinds, each with its plural and short names.
    pub(crate) fn built_in() -> impl Iterator<Item = (Self, &'static [&'static str])> {
        KINDS.iter().map(|entry| (Self::of_entry(entry), entry.2))
    }

    /// Every word of the built-in kinds.
    pub fn words() -> impl Iterator<Item = &'static str> {
        KINDS.iter().flat_map(|(_, _, words, _)| words.iter().copied())
    }

    /// Whether the API server itself has it; others are custom resources.
    #[must_use]
    pub fn is_built_in(self) -> bool {
        KINDS.iter().any(|(kind, group, ..)| self.kind == *kind && self.group == *group)
    }

    /// Whether its objects, which are stored besides, scale workloads.
    #[must_use]
    pub fn is_autoscaler(self) -> bool {
        self.kind == "HorizontalPodAutoscaler" && self.group == "autoscaling"
    }

    /// As printed: `networkpolicy.networking.k8s.io`.
    #[must_use]
    pub fn printed(self) -> Symbol {
        with_group(&self.kind.as_str().to_ascii_lowercase(), self.group)
    }

    /// As in error messages: `networkpolicies.networking.k8s.io`.
    #[must_use]
    pub fn resource(self) -> Symbol {
        with_group(self.plural.as_str(), self.group)
    }

    /// Whether a kind that a word tells of is this one.
    #[must_use]
    pub fn is_meant_by(self, word: Self) -> bool {
        self.kind.as_str().eq_ignore_ascii_case(word.kind.as_str())
            && (word.group.is_empty() || word.group == self.group)
    }
}

fn with_group(name: &str, group: Symbol) -> Symbol {
    if group.is_empty() { Symbol::new(name) } else { Symbol::new(&format!("{name}.{group}")) }
}

/// An object that is stored without effect.
///
/// It is kept as it is written, without its status. What a Secret holds is kept as a hash of each value: enough to tell whether
/// a file says something new, and no secret is copied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredObject {
    /// `apiVersion`.
    pub api_version: Symbol,
    /// `kind`.
    pub kind: Symbol,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Every other field but the status.
    pub fields: Arc<Map<String, Value>>,
}

impl StoredObject {
    /// Its kind.
    #[must_use]
    pub fn stored_kind(&self) -> StoredKind {
        StoredKind::of(self.api_version.as_str(), self.kind.as_str(), !self.metadata.namespace.is_empty())
    }

    /// Takes the object for one of that kind, if the text does not say it.
    pub(super) fn take_for(&mut self, kind: Symbol, api_version: Symbol) {
        (self.kind, self.api_version) = (kind, api_version);
        self.hide_secrets();
    }

    /// Replaces what a Secret holds by hashes. Doing it twice changes nothing.
    fn hide_secrets(&mut self) {
        if self.kind == "Secret" && matches!(self.api_version.as_str(), "" | "v1") {
            secret::hide(Arc::make_mut(&mut self.fields));
            secret::hide_applied(&mut self.metadata.annotations);
        }
    }
}

impl From<&Object> for StoredObject {
    /// An object of a kind that is read, as it is written.
    fn from(object: &Object) -> Self {
        let Value::Object(mut fields) = object.to_manifest() else { return Self::default() };
        fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        Self {
            api_version: Symbol::new(object.kind().api_version()),
            kind: Symbol::new(object.kind().as_str()),
            metadata: object.metadata().clone(),
            fields: Arc::new(fields),
        }
    }
}

impl<'de> Deserialize<'de> for StoredObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = StoredObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a Kubernetes object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StoredObject, A::Error> {
                let (mut object, mut rest) = (StoredObject::default(), Map::new());
                while let Some(field) = map.next_key::<String>()? {
                    match field.as_str() {
                        "apiVersion" => object.api_version = map.next_value::<Option<Symbol>>()?.unwrap_or_default(),
                        "kind" => object.kind = map.next_value::<Option<Symbol>>()?.unwrap_or_default(),
                        "metadata" => object.metadata = map.next_value::<Option<ObjectMeta>>()?.unwrap_or_default(),
                        "status" => drop(map.next_value::<IgnoredAny>()?),
                        _ => drop(rest.insert(field, map.next_value()?)),
                    }
                }
                object.fields = Arc::new(rest);
                object.hide_secrets();
                Ok(object)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl Serialize for StoredObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3 + self.fields.len()))?;
        map.serialize_entry("apiVersion", &self.api_version)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("metadata", &self.metadata)?;
        for (field, value) in &*self.fields {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> StoredObject {
        serde_saphyr::from_str(text).expect("an object")
    }

    #[test]
    fn an_object_is_kept_as_it_is_written() {
        let ingress = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}, spec: {rules: [{host: a}]}, \
                       status: {x: 1}}";
        let ingress = read(ingress);
        let written = serde_json::to_value(&ingress).expect("JSON");
        assert_eq!(written["spec"], serde_json::json!({"rules": [{"host": "a"}]}));
        assert_eq!(written.get("status"), None);
        assert_eq!(serde_json::from_value::<StoredObject>(written).expect("an object"), ingress);
    }

    #[test]
    fn of_what_a_secret_holds_only_hashes_are_kept() {
        let secret = read("{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Zm9v, b: YmFy}}");
        let again =
            read("{kind: Secret, stringData: {b: bar, a: foo}, apiVersion: v1, metadata: {name: s}, status: {x: 1}}");
        assert_eq!(secret, again);
        let other = read("{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Zm9v}}");
        assert_ne!(secret.fields, other.fields);
        let applied = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"foo"}}"#;
        let annotation = "kubectl.kubernetes.io/last-applied-configuration";
        let dumped = read(&format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: s, annotations: {{{annotation}: '{applied}'}}}}, data: {{a: \
             Zm9v}}}}"
        ));
        for secret in [secret, dumped] {
            let written = serde_json::to_string(&secret).expect("JSON");
            assert!(!written.contains("Zm9v") && !written.contains("foo"), "{written}");
            assert_eq!(serde_json::from_str::<StoredObject>(&written).expect("an object"), secret);
        }
    }

    #[test]
    fn an_object_whose_kind_is_found_by_its_content_hides_its_secrets_too() {
        let mut found = read("{metadata: {name: s}, data: {a: Zm9v}}");
        found.take_for(Symbol::new("Secret"), Symbol::new("v1"));
        assert!(!serde_json::to_string(&found).expect("JSON").contains("Zm9v"));
    }

    #[test]
    fn kinds_are_printed_with_their_group() {
        let check = |api_version: &str, kind: &str, printed: &str, resource: &str| {
            let kind = StoredKind::of(api_version, kind, true);
            assert_eq!((kind.printed().as_str(), kind.resource().as_str()), (printed, resource));
        };
        check("v1", "ConfigMap", "configmap", "configmaps");
        check(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "networkpolicy.networking.k8s.io",
            "networkpolicies.networking.k8s.io",
        );
        check("extensions/v1beta1", "Ingress", "ingress.networking.k8s.io", "ingresses.networking.k8s.io");
        check("cert-manager.io/v1", "Certificate", "certificate.cert-manager.io", "certificates.cert-manager.io");
        for word in ["gateways", "policies", "boxes", "switches"] {
            assert_eq!(StoredKind::custom(word, "").plural.as_str(), word);
        }
    }
}
