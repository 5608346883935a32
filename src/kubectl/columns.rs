//! The columns of `kubectl get`, and the cells that an object's own text holds.
//!
//! # Source
//! kube-apiserver, `internalversion.AddHandlers` and its printers; apiextensions and the generic API server, for kinds
//! that have no printer: when they were made.

use serde_json::Value;

use super::get::human;
use super::resource::Kind;
use crate::model::{LabelSelector, StoredKind};
use crate::units::SimDuration;

/// Headings after NAME: those that are always there, and those of `-o wide` behind them.
pub(crate) type Columns = (&'static [&'static str], &'static [&'static str]);

/// Names and images of the containers, and whose pods they are.
const OF_PODS: &[&str] = &["CONTAINERS", "IMAGES", "SELECTOR"];

/// The columns of a kind.
pub(crate) fn of(kind: Kind) -> Columns {
    match kind {
        Kind::Pod => (&["READY", "STATUS", "RESTARTS", "AGE"], &["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]),
        Kind::Node => (
            &["STATUS", "ROLES", "AGE", "VERSION"],
            &["INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"],
        ),
        Kind::Deployment => (&["READY", "UP-TO-DATE", "AVAILABLE", "AGE"], OF_PODS),
        Kind::ReplicaSet | Kind::ReplicationController => (&["DESIRED", "CURRENT", "READY", "AGE"], OF_PODS),
        Kind::StatefulSet => (&["READY", "AGE"], &["CONTAINERS", "IMAGES"]),
        Kind::DaemonSet => {
            (&["DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE"], OF_PODS)
        }
        Kind::Job => (&["STATUS", "COMPLETIONS", "DURATION", "AGE"], OF_PODS),
        Kind::CronJob => (&["SCHEDULE", "TIMEZONE", "SUSPEND", "ACTIVE", "LAST SCHEDULE", "AGE"], OF_PODS),
        Kind::PodDisruptionBudget => (&["MIN AVAILABLE", "MAX UNAVAILABLE", "ALLOWED DISRUPTIONS", "AGE"], &[]),
        Kind::Service => (&["TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"], &["SELECTOR"]),
        Kind::Namespace => (&["STATUS", "AGE"], &[]),
        Kind::PriorityClass => (&["VALUE", "GLOBAL-DEFAULT", "AGE", "PREEMPTIONPOLICY"], &[]),
        Kind::PersistentVolume => (
            &[
                "CAPACITY",
                "ACCESS MODES",
                "RECLAIM POLICY",
                "STATUS",
                "CLAIM",
                "STORAGECLASS",
                "VOLUMEATTRIBUTESCLASS",
                "REASON",
                "AGE",
            ],
            &["VOLUMEMODE"],
        ),
        Kind::PersistentVolumeClaim => (
            &["STATUS", "VOLUME", "CAPACITY", "ACCESS MODES", "STORAGECLASS", "VOLUMEATTRIBUTESCLASS", "AGE"],
            &["VOLUMEMODE"],
        ),
        Kind::Stored(kind) if kind.is_built_in() => of_stored(kind),
        Kind::Stored(_) => (&["AGE"], &[]),
    }
}

fn of_stored(kind: StoredKind) -> Columns {
    let usual: &[&str] = match kind.kind.as_str() {
        "HorizontalPodAutoscaler" => &["REFERENCE", "TARGETS", "MINPODS", "MAXPODS", "REPLICAS", "AGE"],
        "ResourceQuota" => &["REQUEST", "LIMIT", "AGE"],
        "ConfigMap" => &["DATA", "AGE"],
        "Secret" => &["TYPE", "DATA", "AGE"],
        "Endpoints" => &["ENDPOINTS", "AGE"],
        "EndpointSlice" => &["ADDRESSTYPE", "PORTS", "ENDPOINTS", "AGE"],
        "PodTemplate" => &["CONTAINERS", "IMAGES", "POD LABELS"],
        "ComponentStatus" => &["STATUS", "MESSAGE", "ERROR"],
        "ControllerRevision" => &["CONTROLLER", "REVISION", "AGE"],
        "NetworkPolicy" => &["POD-SELECTOR", "AGE"],
        "Ingress" => &["CLASS", "HOSTS", "ADDRESS", "PORTS", "AGE"],
        "IngressClass" => &["CONTROLLER", "PARAMETERS", "AGE"],
        "StorageClass" => &["PROVISIONER", "RECLAIMPOLICY", "VOLUMEBINDINGMODE", "ALLOWVOLUMEEXPANSION", "AGE"],
        "CSIDriver" => &[
            "ATTACHREQUIRED",
            "PODINFOONMOUNT",
            "STORAGECAPACITY",
            "TOKENREQUESTS",
            "REQUIRESREPUBLISH",
            "MODES",
            "AGE",
        ],
        "CSINode" => &["DRIVERS", "AGE"],
        "CSIStorageCapacity" => &["STORAGECLASSNAME", "CAPACITY"],
        "VolumeAttachment" => &["ATTACHER", "PV", "NODE", "ATTACHED", "AGE"],
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => &["WEBHOOKS", "AGE"],
        "ValidatingAdmissionPolicy" => &["VALIDATIONS", "PARAMKIND", "AGE"],
        "ValidatingAdmissionPolicyBinding" => &["POLICYNAME", "PARAMREF", "AGE"],
        "RoleBinding" | "ClusterRoleBinding" => return (&["ROLE", "AGE"], &["USERS", "GROUPS", "SERVICEACCOUNTS"]),
        "Lease" => &["HOLDER", "AGE"],
        "CertificateSigningRequest" => &["AGE", "SIGNERNAME", "REQUESTOR", "REQUESTEDDURATION", "CONDITION"],
        "RuntimeClass" => &["HANDLER", "AGE"],
        "FlowSchema" => &["PRIORITYLEVEL", "MATCHINGPRECEDENCE", "DISTINGUISHERMETHOD", "AGE", "MISSINGPL"],
        "PriorityLevelConfiguration" => {
            &["TYPE", "NOMINALCONCURRENCYSHARES", "QUEUES", "HANDSIZE", "QUEUELENGTHLIMIT", "AGE"]
        }
        "APIService" => &["SERVICE", "AVAILABLE", "AGE"],
        "Role" | "ClusterRole" | "LimitRange" | "CustomResourceDefinition" => &["CREATED AT"],
        _ => &["AGE"],
    };
    (usual, &[])
}

/// A text of an object: `/spec/type`.
fn text<'v>(object: &'v Value, path: &str) -> Option<&'v str> {
    object.pointer(path).and_then(Value::as_str)
}

fn text_or(object: &Value, path: &str, default: &str) -> String {
    text(object, path).unwrap_or(default).to_owned()
}

fn switch_or(object: &Value, path: &str, default: bool) -> String {
    object.pointer(path).and_then(Value::as_bool).unwrap_or(default).to_string()
}

fn number_or_none(object: &Value, path: &str) -> String {
    object.pointer(path).filter(|number| number.is_number()).map_or("<none>".to_owned(), Value::to_string)
}

fn items<'v>(object: &'v Value, path: &str) -> &'v [Value] {
    object.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn texts(object: &Value, path: &str) -> Vec<String> {
    items(object, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text }
}

/// # Source
/// apimachinery, `labels.FormatLabels`.
pub(super) fn labels(object: &Value, path: &str) -> String {
    let labels = object.pointer(path).and_then(Value::as_object);
    let pairs = labels.into_iter().flatten().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")));
    let mut pairs: Vec<String> = pairs.collect();
    pairs.sort();
    or_none(pairs.join(","))
}

fn selector_text(object: &Value, path: &str) -> String {
    let selector = object.pointer(path).filter(|value| value.is_object());
    let selector = selector.and_then(|value| serde_json::from_value::<LabelSelector>(value.clone()).ok());
    selector.map_or_else(String::new, |selector| selector.to_string())
}

/// What `-o wide` adds of a pod template: `layoutContainerCells` and `FormatLabelSelector`.
pub(super) fn of_pods(kind: Kind, object: &Value) -> Vec<String> {
    let (template, selector) = match kind {
        Kind::CronJob => ("/spec/jobTemplate/spec/template/spec", "/spec/jobTemplate/spec/selector"),
        _ => ("/spec/template/spec", "/spec/selector"),
    };
    let [names, images] = containers(object, template);
    match kind {
        Kind::StatefulSet => vec![names, images],
        Kind::Deployment => vec![names, images, selector_text(object, selector)],
        Kind::ReplicationController => vec![names, images, labels(object, selector)],
        _ => vec![names, images, or_none(selector_text(object, selector))],
    }
}

fn containers(object: &Value, pod_spec: &str) -> [String; 2] {
    let containers = items(object, &format!("{pod_spec}/containers"));
    ["/name", "/image"].map(|field| containers.iter().map(|one| text_or(one, field, "")).collect::<Vec<_>>().join(","))
}

/// A service's cells, with its selector.
///
/// # Differs
/// No address is handed out: one that the object does not name is `<none>`, a load balancer's is awaited.
pub(super) fn service(object: &Value, age: String) -> Vec<String> {
    let of_type = text_or(object, "/spec/type", "ClusterIP");
    let own = texts(object, "/spec/externalIPs").join(",");
    let external = match of_type.as_str() {
        "ExternalName" => text_or(object, "/spec/externalName", ""),
        "LoadBalancer" if own.is_empty() => "<pending>".to_owned(),
        _ => or_none(own),
    };
    let port = |port: &Value| {
        let number = port["port"].as_i64().unwrap_or_default();
        let node = port["nodePort"].as_i64().filter(|node| *node > 0).map_or(String::new(), |node| format!(":{node}"));
        format!("{number}{node}/{}", text_or(port, "/protocol", "TCP"))
    };
    let ports: Vec<String> = items(object, "/spec/ports").iter().map(port).collect();
    let address = or_none(text_or(object, "/spec/clusterIP", ""));
    vec![of_type, address, external, or_none(ports.join(",")), age, labels(object, "/spec/selector")]
}

/// # Source
/// core helpers, `GetAccessModesAsString`.
fn access_modes(object: &Value, path: &str) -> String {
    let modes = texts(object, path);
    let known =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let short = known.into_iter().filter(|(mode, _)| modes.iter().any(|own| own == mode)).map(|(_, short)| short);
    short.collect::<Vec<_>>().join(",")
}

fn phase(object: &Value) -> String {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return "Terminating".to_owned();
    }
    text_or(object, "/status/phase", "")
}

/// `printPersistentVolume`.
pub(super) fn volume(object: &Value, age: String) -> Vec<String> {
    let claim = object.pointer("/spec/claimRef").filter(|claim| claim.is_object());
    let claim = claim.map(|claim| format!("{}/{}", text_or(claim, "/namespace", ""), text_or(claim, "/name", "")));
    vec![
        text_or(object, "/spec/capacity/storage", "0"),
        access_modes(object, "/spec/accessModes"),
        text_or(object, "/spec/persistentVolumeReclaimPolicy", "Retain"),
        phase(object),
        claim.unwrap_or_default(),
        text_or(object, "/spec/storageClassName", ""),
        text_or(object, "/spec/volumeAttributesClassName", "<unset>"),
        String::new(),
        age,
        text_or(object, "/spec/volumeMode", "Filesystem"),
    ]
}

/// `printPersistentVolumeClaim`.
pub(super) fn claim(object: &Value, age: String) -> Vec<String> {
    let volume = text_or(object, "/spec/volumeName", "");
    let (capacity, modes) = match volume.is_empty() {
        true => (String::new(), String::new()),
        false => (text_or(object, "/status/capacity/storage", "0"), access_modes(object, "/status/accessModes")),
    };
    vec![
        phase(object),
        volume,
        capacity,
        modes,
        text_or(object, "/spec/storageClassName", ""),
        text_or(object, "/spec/volumeAttributesClassName", "<unset>"),
        age,
        text_or(object, "/spec/volumeMode", "Filesystem"),
    ]
}

/// What follows the name of a class that is the default.
pub(crate) fn mark(kind: Kind, object: &Value) -> &'static str {
    let keys: &[&str] = match kind {
        Kind::Stored(kind) if kind.kind == "StorageClass" => {
            &["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
        }
        Kind::Stored(kind) if kind.kind == "IngressClass" => &["ingressclass.kubernetes.io/is-default-class"],
        _ => return "",
    };
    let annotations = &object["metadata"]["annotations"];
    if keys.iter().any(|key| annotations[*key].as_str() == Some("true")) { " (default)" } else { "" }
}

/// The cells of an object of a kind that is stored.
pub(super) fn stored(kind: StoredKind, object: &Value, age: String) -> Vec<String> {
    let count = |path: &str| items(object, path).len().to_string();
    let field = |path: &str| text_or(object, path, "");
    let data = || object["data"].as_object().map_or(0, serde_json::Map::len).to_string();
    match kind.kind.as_str() {
        _ if !kind.is_built_in() => vec![age],
        "ConfigMap" => {
            let bytes = object["binaryData"].as_object().map_or(0, serde_json::Map::len);
            vec![(object["data"].as_object().map_or(0, serde_json::Map::len) + bytes).to_string(), age]
        }
        "Secret" => vec![text_or(object, "/type", "Opaque"), data(), age],
        "Endpoints" => vec![endpoints(object), age],
        "EndpointSlice" => vec![field("/addressType"), slice_ports(object), slice_addresses(object), age],
        "PodTemplate" => {
            let [names, images] = containers(object, "/template/spec");
            vec![names, images, labels(object, "/template/metadata/labels")]
        }
        "ComponentStatus" => vec!["Unknown".to_owned(), String::new(), String::new()],
        "NetworkPolicy" => vec![or_none(selector_text(object, "/spec/podSelector")), age],
        "Ingress" => {
            let class = text_or(object, "/spec/ingressClassName", "<none>");
            let ports = if items(object, "/spec/tls").is_empty() { "80" } else { "80, 443" };
            vec![class, hosts(object), String::new(), ports.to_owned(), age]
        }
        "IngressClass" => {
            let group = text(object, "/spec/parameters/apiGroup").map_or(String::new(), |group| format!(".{group}"));
            let named = |kind: &str| format!("{kind}{group}/{}", field("/spec/parameters/name"));
            vec![
                field("/spec/controller"),
                text(object, "/spec/parameters/kind").map_or("<none>".to_owned(), named),
                age,
            ]
        }
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => vec![count("/webhooks"), age],
        "RoleBinding" | "ClusterRoleBinding" => {
            let role = format!("{}/{}", field("/roleRef/kind"), field("/roleRef/name"));
            let [users, groups, accounts] = subjects(object);
            vec![role, age, users, groups, accounts]
        }
        "Lease" => vec![field("/spec/holderIdentity"), age],
        "RuntimeClass" => vec![field("/handler"), age],
        "CertificateSigningRequest" => {
            let seconds = object.pointer("/spec/expirationSeconds").and_then(Value::as_u64);
            let wanted = seconds.map_or("<none>".to_owned(), |seconds| human(SimDuration::from_secs(seconds)));
            let signer = or_none(field("/spec/signerName"));
            vec![age, signer, field("/spec/username"), wanted, "Pending".to_owned()]
        }
        "Role" | "ClusterRole" | "LimitRange" | "CustomResourceDefinition" => {
            vec![field("/metadata/creationTimestamp")]
        }
        "APIService" => {
            let service = |name: &str| format!("{}/{name}", text_or(object, "/spec/service/namespace", ""));
            let service = text(object, "/spec/service/name").map_or("Local".to_owned(), service);
            vec![service, "Unknown".to_owned(), age]
        }
        _ => of_storage(kind, object, &age).or_else(|| of_server(kind, object, &age)).unwrap_or_else(|| vec![age]),
    }
}

/// Kinds of storage.
fn of_storage(kind: StoredKind, object: &Value, age: &str) -> Option<Vec<String>> {
    let field = |path: &str| text_or(object, path, "");
    Some(match kind.kind.as_str() {
        "StorageClass" => vec![
            field("/provisioner"),
            text_or(object, "/reclaimPolicy", "Delete"),
            text_or(object, "/volumeBindingMode", "Immediate"),
            switch_or(object, "/allowVolumeExpansion", false),
            age.to_owned(),
        ],
        "CSIDriver" => {
            let audiences = object.pointer("/spec/tokenRequests").and_then(Value::as_array);
            let audience = |request: &Value| text_or(request, "/audience", "");
            let audiences = audiences.map(|all| all.iter().map(audience).collect::<Vec<_>>().join(","));
            vec![
                switch_or(object, "/spec/attachRequired", true),
                switch_or(object, "/spec/podInfoOnMount", false),
                switch_or(object, "/spec/storageCapacity", false),
                audiences.unwrap_or_else(|| "<unset>".to_owned()),
                switch_or(object, "/spec/requiresRepublish", false),
                // The server's default.
                Some(texts(object, "/spec/volumeLifecycleModes").join(","))
                    .filter(|modes| !modes.is_empty())
                    .unwrap_or_else(|| "Persistent".to_owned()),
                age.to_owned(),
            ]
        }
        "CSINode" => vec![items(object, "/spec/drivers").len().to_string(), age.to_owned()],
        "CSIStorageCapacity" => vec![field("/storageClassName"), text_or(object, "/capacity", "<unset>")],
        "VolumeAttachment" => vec![
            field("/spec/attacher"),
            field("/spec/source/persistentVolumeName"),
            field("/spec/nodeName"),
            // Its status is nobody's here.
            "false".to_owned(),
            age.to_owned(),
        ],
        _ => return None,
    })
}

/// What configures the API server, and what controllers keep.
fn of_server(kind: StoredKind, object: &Value, age: &str) -> Option<Vec<String>> {
    let field = |path: &str| text_or(object, path, "");
    let age = age.to_owned();
    Some(match kind.kind.as_str() {
        "ControllerRevision" => {
            let owners = items(object, "/metadata/ownerReferences");
            let controller = owners.iter().find(|owner| owner["controller"] == true);
            let name = |owner: &Value| {
                let group = text(owner, "/apiVersion").and_then(|version| version.split_once('/'));
                let group = group.map_or(String::new(), |(group, _)| format!(".{group}"));
                format!("{}{group}/{}", text_or(owner, "/kind", "").to_lowercase(), text_or(owner, "/name", ""))
            };
            let revision = object["revision"].as_i64().unwrap_or_default().to_string();
            vec![controller.map_or("<none>".to_owned(), name), revision, age]
        }
        "ValidatingAdmissionPolicy" => {
            let kind = text(object, "/spec/paramKind/kind");
            let kind = kind.map(|kind| format!("{}/{kind}", field("/spec/paramKind/apiVersion")));
            let count = items(object, "/spec/validations").len().to_string();
            vec![count, kind.unwrap_or_else(|| "<unset>".to_owned()), age]
        }
        "ValidatingAdmissionPolicyBinding" => {
            let name = text(object, "/spec/paramRef/name").filter(|name| !name.is_empty());
            let place = text(object, "/spec/paramRef/namespace").filter(|place| !place.is_empty()).unwrap_or("*");
            let name = name.map_or("<unset>".to_owned(), |name| format!("{place}/{name}"));
            vec![field("/spec/policyName"), name, age]
        }
        "FlowSchema" => {
            let precedence = object.pointer("/spec/matchingPrecedence").and_then(Value::as_i64).unwrap_or(1000);
            let method = text_or(object, "/spec/distinguisherMethod/type", "<none>");
            let level = field("/spec/priorityLevelConfiguration/name");
            vec![level, precedence.to_string(), method, age, "?".to_owned()]
        }
        "PriorityLevelConfiguration" => {
            let queuing = |name: &str| number_or_none(object, &format!("/spec/limited/limitResponse/queuing/{name}"));
            let shares = number_or_none(object, "/spec/limited/nominalConcurrencyShares");
            let [queues, hand, length] = ["queues", "handSize", "queueLengthLimit"].map(queuing);
            vec![field("/spec/type"), shares, queues, hand, length, age]
        }
        _ => return None,
    })
}

/// Three of a list, and how many more there are.
fn some(list: &[String]) -> String {
    match list.len() {
        0 => "<unset>".to_owned(),
        1..=3 => list.join(","),
        count => format!("{} + {} more...", list[..3].join(","), count - 3),
    }
}

/// `formatHosts`.
fn hosts(object: &Value) -> String {
    let rules = items(object, "/spec/rules");
    let hosts: Vec<&str> =
        rules.iter().filter_map(|rule| text(rule, "/host")).filter(|host| !host.is_empty()).collect();
    match hosts.as_slice() {
        [] => "*".to_owned(),
        [first, second, third, _, ..] => format!("{first},{second},{third} + {} more...", rules.len() - 3),
        few => few.join(","),
    }
}

/// `formatEndpoints`.
fn endpoints(object: &Value) -> String {
    let mut all = Vec::new();
    for subset in items(object, "/subsets") {
        let addresses = || items(subset, "/addresses").iter().map(|address| text_or(address, "/ip", ""));
        let ports = items(subset, "/ports");
        if ports.is_empty() {
            all.extend(addresses());
        }
        for port in ports {
            all.extend(addresses().map(|address| format!("{address}:{}", port["port"])));
        }
    }
    if items(object, "/subsets").is_empty() {
        return "<none>".to_owned();
    }
    if all.is_empty() { String::new() } else { some(&all) }
}

/// `formatDiscoveryPorts`.
fn slice_ports(object: &Value) -> String {
    let port = |port: &Value| match port["port"].as_i64() {
        Some(number) => number.to_string(),
        None => text_or(port, "/name", "*"),
    };
    some(&items(object, "/ports").iter().map(port).collect::<Vec<_>>())
}

/// `formatDiscoveryEndpoints`.
fn slice_addresses(object: &Value) -> String {
    some(&items(object, "/endpoints").iter().flat_map(|endpoint| texts(endpoint, "/addresses")).collect::<Vec<_>>())
}

/// Users, groups and service accounts: `rbac.SubjectsStrings`.
fn subjects(object: &Value) -> [String; 3] {
    let of = |kind: &str| {
        let subjects = items(object, "/subjects").iter().filter(|subject| text(subject, "/kind") == Some(kind));
        let name = |subject: &Value| match kind {
            "ServiceAccount" => format!("{}/{}", text_or(subject, "/namespace", ""), text_or(subject, "/name", "")),
            _ => text_or(subject, "/name", ""),
        };
        subjects.map(name).collect::<Vec<_>>().join(", ")
    };
    ["User", "Group", "ServiceAccount"].map(of)
}
