//! The resources that the server has: the built-in ones, those that definitions add, and faults.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::complete::complete;
use super::events::in_group;
use super::faults::{FAULT_GROUP, FAULT_VERSION};
use super::kept::{Kept, Whose};
use crate::arena::Symbol;
use crate::kubectl::Kind;
use crate::kubectl::objects::{Clock, Found, object};
use crate::model::{AnyKind, StoredKind};
use crate::state::Store;

/// The kind that is served in two versions.
const AUTOSCALERS: &str = "horizontalpodautoscalers.autoscaling";

/// The group whose Events are those of the core.
pub(super) const EVENTS_GROUP: &str = "events.k8s.io";

/// Kinds whose status is a resource below them.
///
/// # Source
/// Kubernetes, `api/discovery/`.
const HAVE_STATUS: [&str; 32] = [
    "namespaces",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "services",
    "daemonsets.apps",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "cronjobs.batch",
    "jobs.batch",
    AUTOSCALERS,
    "poddisruptionbudgets.policy",
    "apiservices.apiregistration.k8s.io",
    "certificatesigningrequests.certificates.k8s.io",
    "podcertificaterequests.certificates.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "devicetaintrules.resource.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "ingresses.networking.k8s.io",
    "podgroups.scheduling.k8s.io",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "resourceclaims.resource.k8s.io",
    "resourcepoolstatusrequests.resource.k8s.io",
    "servicecidrs.networking.k8s.io",
    "storageversionmigrations.storagemigration.k8s.io",
    "storageversions.internal.apiserver.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "volumeattachments.storage.k8s.io",
];

/// What stands before the hash that stands for a value of a Secret.
const HIDDEN: &str = "***";

/// A column that a definition asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Its heading.
    pub name: String,
    /// Where its cells are: `.spec.size`.
    pub path: String,
    /// Whether they are time stamps, shown as ages.
    pub is_date: bool,
    /// Whether only `-o wide` shows it.
    pub is_wide: bool,
}

/// A resource of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What commands call it.
    pub kind: Kind,
    /// `apps`; empty for the core's.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `Deployment`.
    pub kind_name: String,
    /// `deployments`.
    pub plural: String,
    /// `deployment`.
    pub singular: String,
    /// `deploy`.
    pub short_names: Vec<String>,
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
    /// The columns that its definition asks for.
    pub printer_columns: Vec<PrinterColumn>,
    /// The fields that its definition lets selectors name, such as `.spec.color`.
    pub selectable_fields: Vec<String>,
    /// Whether the status of its objects is a resource below them.
    pub has_status: bool,
}

impl Resource {
    /// `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `deployments.apps`. Events are `events` in both of their groups, as they are the same objects.
    #[must_use]
    pub fn name(&self) -> String {
        if self.group.is_empty() || self.group == EVENTS_GROUP {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// `Deployment.apps`, as refusals name what is invalid.
    #[must_use]
    pub fn qualified_kind(&self) -> String {
        if self.group.is_empty() { self.kind_name.clone() } else { format!("{}.{}", self.kind_name, self.group) }
    }

    /// Whether its objects are faults.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.group == FAULT_GROUP && self.plural == "faults"
    }

    /// Whether the API server itself has it.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.kind.is_built_in() && !self.is_fault()
    }

    /// Whether its objects have a size of their own.
    #[must_use]
    pub fn has_scale(&self) -> bool {
        matches!(self.kind, Kind::Deployment | Kind::ReplicaSet | Kind::StatefulSet | Kind::ReplicationController)
    }

    /// What can be done with its objects.
    ///
    /// # Source
    /// Kubernetes, `api/discovery/`.
    #[must_use]
    pub fn verbs(&self) -> &'static [&'static str] {
        match self.name().as_str() {
            "componentstatuses" => &["get", "list"],
            "namespaces" => &["create", "delete", "get", "list", "patch", "update", "watch"],
            _ => &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        }
    }

    /// Whether a writer has to say which version he has read.
    ///
    /// # Source
    /// kube-apiserver, `AllowUnconditionalUpdate` of each kind; apiextensions, `customResourceStrategy`.
    #[must_use]
    pub fn needs_version(&self) -> bool {
        const CONDITIONAL: [&str; 18] = [
            "clustertrustbundles.certificates.k8s.io",
            "csidrivers.storage.k8s.io",
            "csinodes.storage.k8s.io",
            "csistoragecapacities.storage.k8s.io",
            "leasecandidates.coordination.k8s.io",
            "leases.coordination.k8s.io",
            "mutatingadmissionpolicies.admissionregistration.k8s.io",
            "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
            "mutatingwebhookconfigurations.admissionregistration.k8s.io",
            "podcertificaterequests.certificates.k8s.io",
            "poddisruptionbudgets.policy",
            "resourcepoolstatusrequests.resource.k8s.io",
            "runtimeclasses.node.k8s.io",
            "storageversionmigrations.storagemigration.k8s.io",
            "storageversions.internal.apiserver.k8s.io",
            "validatingadmissionpolicies.admissionregistration.k8s.io",
            "validatingadmissionpolicybindings.admissionregistration.k8s.io",
            "volumeattachments.storage.k8s.io",
        ];
        !self.is_fault() && (!self.is_built_in() || CONDITIONAL.contains(&self.name().as_str()))
    }

    /// Whether a PUT makes what is not there.
    ///
    /// # Source
    /// kube-apiserver, `AllowCreateOnUpdate` of each kind.
    #[must_use]
    pub fn is_made_by_updates(&self) -> bool {
        const MADE: [&str; 11] = [
            "clusterrolebindings.rbac.authorization.k8s.io",
            "clusterroles.rbac.authorization.k8s.io",
            "endpoints",
            "events",
            "leasecandidates.coordination.k8s.io",
            "leases.coordination.k8s.io",
            "limitranges",
            "rolebindings.rbac.authorization.k8s.io",
            "roles.rbac.authorization.k8s.io",
            "runtimeclasses.node.k8s.io",
            "services",
        ];
        MADE.contains(&self.name().as_str())
    }

    /// Whether the deletion of an object that goes at once is answered with it.
    ///
    /// # Source
    /// kube-apiserver, `ReturnDeletedObject` of each store.
    #[must_use]
    pub fn returns_deleted(&self) -> bool {
        const RETURNED: [&str; 19] = [
            "csidrivers.storage.k8s.io",
            "csinodes.storage.k8s.io",
            "deviceclasses.resource.k8s.io",
            "devicetaintrules.resource.k8s.io",
            "namespaces",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "resourceclaims.resource.k8s.io",
            "resourceclaimtemplates.resource.k8s.io",
            "resourcepoolstatusrequests.resource.k8s.io",
            "resourcequotas",
            "resourceslices.resource.k8s.io",
            "serviceaccounts",
            "services",
            "storageclasses.storage.k8s.io",
            "volumeattachments.storage.k8s.io",
            "volumeattributesclasses.storage.k8s.io",
        ];
        RETURNED.contains(&self.name().as_str())
    }

    fn of(kind: Kind, words: &[&str]) -> Self {
        let (kind_name, group) = match kind.any() {
            AnyKind::Modelled(kind) => {
                (kind.as_str(), kind.api_version().split_once('/').map_or("", |(group, _)| group))
            }
            AnyKind::Stored(kind) => (kind.kind.as_str(), kind.group.as_str()),
        };
        let version = if group == "autoscaling" { "v2" } else { "v1" };
        // Words of kinds that are modelled begin with the singular. That of Endpoints is the plural, too.
        let singular = kind_name.to_ascii_lowercase();
        let is_modelled = matches!(kind.any(), AnyKind::Modelled(_));
        let others = words.iter().filter(|word| !is_modelled || **word != singular);
        let mut others = others.map(|word| (*word).to_owned());
        let plural = others.next().unwrap_or_default();
        let name = if group.is_empty() { plural.clone() } else { format!("{plural}.{group}") };
        Self {
            kind,
            has_status: HAVE_STATUS.contains(&name.as_str()),
            group: group.to_owned(),
            version: version.to_owned(),
            kind_name: kind_name.to_owned(),
            plural,
            short_names: others.filter(|word| *word != singular).collect(),
            singular,
            is_namespaced: kind.is_namespaced(),
            printer_columns: Vec::new(),
            selectable_fields: Vec::new(),
        }
    }
}

/// What the scenario calls `fault`, as a resource.
fn fault() -> Resource {
    let stored = StoredKind {
        kind: Symbol::new("Fault"),
        group: Symbol::new(FAULT_GROUP),
        plural: Symbol::new("faults"),
        is_namespaced: false,
    };
    Resource {
        kind: Kind::Stored(stored),
        group: FAULT_GROUP.to_owned(),
        version: FAULT_VERSION.to_owned(),
        kind_name: "Fault".to_owned(),
        plural: "faults".to_owned(),
        singular: "fault".to_owned(),
        short_names: Vec::new(),
        is_namespaced: false,
        printer_columns: Vec::new(),
        selectable_fields: Vec::new(),
        has_status: false,
    }
}

fn built_in() -> impl Iterator<Item = Resource> {
    let modelled = Kind::modelled().map(|(kind, words)| Resource::of(kind, words));
    let stored = StoredKind::built_in().map(|(kind, words)| Resource::of(Kind::Stored(kind), words));
    modelled.chain(stored).flat_map(|resource| {
        let first = (resource.name() == AUTOSCALERS).then(|| Resource { version: "v1".to_owned(), ..resource.clone() });
        let other =
            (resource.name() == "events").then(|| Resource { group: EVENTS_GROUP.to_owned(), ..resource.clone() });
        [resource].into_iter().chain(first).chain(other)
    })
}

/// Whether the API server itself has kinds of a group.
pub(super) fn is_built_in_group(group: &str) -> bool {
    built_in().any(|resource| resource.group == group)
}

/// The resources that it has of a version of a group.
pub(super) fn plurals(group: &str, version: &str) -> Vec<String> {
    built_in().filter(|of| of.group == group && of.version == version).map(|of| of.plural).collect()
}

/// What a definition adds: a resource a version.
fn defined(definition: &Value) -> Vec<Resource> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind, plural) = (text(&spec["group"]), text(&spec["names"]["kind"]), text(&spec["names"]["plural"]));
    if group.is_empty() || kind.is_empty() || plural.is_empty() {
        return Vec::new();
    }
    let is_namespaced = spec["scope"].as_str() != Some("Cluster");
    let singular = spec["names"]["singular"].as_str().map_or_else(|| kind.to_ascii_lowercase(), str::to_owned);
    let short_names: Vec<String> = spec["names"]["shortNames"].as_array().into_iter().flatten().map(text).collect();
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"].as_bool() != Some(false));
    let served = served.filter(|version| version["name"].as_str().is_some_and(|name| !name.is_empty()));
    let stored = StoredKind {
        kind: Symbol::new(&kind),
        group: Symbol::new(&group),
        plural: Symbol::new(&plural),
        is_namespaced,
    };
    served
        .map(|version| Resource {
            kind: Kind::Stored(stored),
            group: group.clone(),
            version: text(&version["name"]),
            kind_name: kind.clone(),
            plural: plural.clone(),
            singular: singular.clone(),
            short_names: short_names.clone(),
            is_namespaced,
            printer_columns: columns(version),
            selectable_fields: selectable(version),
            has_status: version["subresources"]["status"].is_object(),
        })
        .collect()
}

fn selectable(version: &Value) -> Vec<String> {
    let fields = version["selectableFields"].as_array().into_iter().flatten();
    fields.filter_map(|field| field["jsonPath"].as_str().map(str::to_owned)).collect()
}

fn columns(version: &Value) -> Vec<PrinterColumn> {
    let columns = version["additionalPrinterColumns"].as_array().into_iter().flatten();
    let column = |of: &Value| {
        Some(PrinterColumn {
            name: of["name"].as_str()?.to_owned(),
            path: of["jsonPath"].as_str()?.to_owned(),
            is_date: of["type"].as_str() == Some("date"),
            is_wide: of["priority"].as_i64().is_some_and(|priority| priority > 0),
        })
    };
    columns.filter_map(column).collect()
}

/// Kinds that nothing but their objects tells of, as in dumps without definitions.
fn told_by_objects(store: &Store, known: &[Resource]) -> Vec<Resource> {
    let mut found: Vec<Resource> = Vec::new();
    for stored in store.stored.values() {
        let kind = stored.kind;
        let (group, version) = stored.api_version.as_str().split_once('/').unwrap_or(("", stored.api_version.as_str()));
        let is_it = |resource: &Resource| resource.group == group && resource.kind_name == kind.kind.as_str();
        let is_same = |resource: &Resource| is_it(resource) && resource.version == version;
        if known.iter().any(is_it) || kind.is_built_in() || version.is_empty() || found.iter().any(is_same) {
            continue;
        }
        found.push(Resource {
            kind: Kind::Stored(kind),
            group: group.to_owned(),
            version: version.to_owned(),
            kind_name: kind.kind.as_str().to_owned(),
            plural: kind.plural.as_str().to_owned(),
            singular: kind.kind.as_str().to_ascii_lowercase(),
            short_names: Vec::new(),
            is_namespaced: kind.is_namespaced,
            printer_columns: Vec::new(),
            selectable_fields: Vec::new(),
            // Nothing says that it has none.
            has_status: true,
        });
    }
    found
}

fn definitions(store: &Store) -> impl Iterator<Item = Resource> {
    let kind = "customresourcedefinition.apiextensions.k8s.io";
    let definitions = store.stored.iter().filter(move |((printed, ..), _)| printed.as_str() == kind);
    definitions.flat_map(|(_, stored)| defined(&Value::Object((*stored.fields).clone())))
}

/// All resources, in the order of discovery.
pub(crate) fn all(store: &Store) -> Vec<Resource> {
    let mut all: Vec<Resource> = built_in().chain([fault()]).collect();
    let added: Vec<Resource> = definitions(store).filter(|new| !all.iter().any(|old| is_same(old, new))).collect();
    all.extend(added);
    let told = told_by_objects(store, &all);
    all.extend(told);
    all
}

fn is_same(one: &Resource, other: &Resource) -> bool {
    (&one.group, &one.version, &one.plural) == (&other.group, &other.version, &other.plural)
}

/// The resource of that name.
pub(super) fn find(store: &Store, group: &str, version: &str, plural: &str) -> Option<Resource> {
    let is_it = |resource: &Resource| {
        (resource.group.as_str(), resource.version.as_str(), resource.plural.as_str()) == (group, version, plural)
    };
    if group == FAULT_GROUP {
        return Some(fault()).filter(is_it);
    }
    built_in().find(is_it).or_else(|| definitions(store).find(is_it)).or_else(|| all(store).into_iter().find(is_it))
}

/// The resource of a built-in kind, in the version that is preferred.
pub(super) fn of_kind(kind: &str) -> Option<Resource> {
    built_in().find(|resource| resource.kind_name == kind)
}

/// An object as clients see it, without its version.
pub(crate) fn rendered(found: &Found, resource: &Resource, store: &Store, kept: &Kept, clock: Clock) -> Option<Value> {
    let mut value = object(found, store, clock)?;
    if let Kind::Stored(_) = resource.kind
        && !resource.is_built_in()
    {
        value["apiVersion"] = resource.api_version().into();
    }
    if resource.is_built_in() {
        complete(&mut value);
    }
    if resource.name() == "secrets" {
        show_hashes(&mut value);
    }
    if resource.name() == AUTOSCALERS && resource.version == "v1" {
        as_first_version(&mut value);
    }
    let mut value = in_group(value, resource);
    let whose = Whose::of(&resource.name(), found.namespace(store).as_str(), &found.name(store), &value);
    if let Some(status) = kept.status_of(&whose) {
        value["status"] = status.clone();
    }
    if resource.plural == "customresourcedefinitions" {
        value["status"] = established(&value);
    }
    Some(value)
}

fn values_of(secret: &mut Value) -> impl Iterator<Item = &mut Value> {
    let data = secret.get_mut("data").and_then(Value::as_object_mut);
    data.into_iter().flat_map(serde_json::Map::values_mut)
}

/// What stands for the values of a Secret is text; in the API values are bytes.
fn show_hashes(secret: &mut Value) {
    if secret["type"].as_str().is_none_or(str::is_empty) {
        secret["type"] = "Opaque".into();
    }
    for value in values_of(secret) {
        if let Some(text) = value.as_str().filter(|text| text.starts_with(HIDDEN)) {
            *value = STANDARD.encode(text).into();
        }
    }
}

/// A Secret as its writer has read it bears what stands for its values, which are then as they were.
pub(super) fn take_hashes(secret: &mut Value) {
    for value in values_of(secret) {
        let text = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| text.starts_with(HIDDEN));
        if let Some(text) = text {
            *value = text.into();
        }
    }
}

/// # Source
/// kube-apiserver, conversion of autoscaling/v2 to v1: the share of the CPU that is wanted is a field of its own.
fn as_first_version(autoscaler: &mut Value) {
    autoscaler["apiVersion"] = "autoscaling/v1".into();
    let Some(spec) = autoscaler["spec"].as_object_mut() else { return };
    let metrics = spec.remove("metrics").unwrap_or_default();
    let of_cpu = metrics.as_array().into_iter().flatten().find(|of| of["resource"]["name"] == "cpu");
    if let Some(wanted) = of_cpu.map(|of| &of["resource"]["target"]["averageUtilization"]).filter(|of| of.is_number()) {
        spec.insert("targetCPUUtilizationPercentage".to_owned(), wanted.clone());
    }
    if let Some(status) = autoscaler["status"].as_object_mut() {
        status.remove("conditions");
        status.remove("currentMetrics");
    }
}

/// # Source
/// apiextensions, naming and establishing controllers: clients wait for a definition to be established.
fn established(definition: &Value) -> Value {
    let since = &definition["metadata"]["creationTimestamp"];
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since});
    json!({
        "acceptedNames": definition["spec"]["names"],
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "storedVersions": [],
    })
}
