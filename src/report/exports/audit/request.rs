//! A request to the API server, and its line in the log.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::identity::{Epoch, uuid};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User<'a> {
    /// A person with kubectl.
    Admin,
    /// kube-scheduler.
    Scheduler,
    /// The kubelet of that node.
    Kubelet(&'a str),
    /// A controller of kube-controller-manager, by its service account.
    Controller(&'a str),
    /// Another program that runs in the cluster, by its namespace, service account and name.
    Program(&'a str, &'a str, &'a str),
}

impl User<'_> {
    fn name(self) -> String {
        match self {
            Self::Admin => "kubernetes-admin".to_owned(),
            Self::Scheduler => "system:kube-scheduler".to_owned(),
            Self::Kubelet(node) => format!("system:node:{node}"),
            Self::Controller(account) => format!("system:serviceaccount:kube-system:{account}"),
            Self::Program(namespace, account, _) => format!("system:serviceaccount:{namespace}:{account}"),
        }
    }

    fn groups(self) -> Vec<String> {
        let mut groups = match self {
            Self::Admin => vec!["kubeadm:cluster-admins".to_owned()],
            Self::Scheduler => Vec::new(),
            Self::Kubelet(_) => vec!["system:nodes".to_owned()],
            Self::Controller(_) => Self::accounts("kube-system"),
            Self::Program(namespace, ..) => Self::accounts(namespace),
        };
        groups.push("system:authenticated".to_owned());
        groups
    }

    fn accounts(namespace: &str) -> Vec<String> {
        vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
    }

    /// The user agent of its client in that version of Kubernetes, built without the number of a commit.
    ///
    /// # Source
    /// client-go, rest: `DefaultKubernetesUserAgent`, `AddUserAgent`; kube-controller-manager, `SAControllerClientBuilder`.
    fn agent(self, version: &str) -> String {
        let program = |name: &str, version: &str| format!("{name}/{version} (linux/amd64) kubernetes/$Format");
        match self {
            Self::Admin => program("kubectl", version),
            Self::Scheduler => format!("{}/scheduler", program("kube-scheduler", version)),
            Self::Kubelet(_) => program("kubelet", version),
            Self::Controller(_) => format!("{}/{}", program("kube-controller-manager", version), self.name()),
            Self::Program(.., name) => program(name, "v0.0.0"),
        }
    }
}

/// A kind of objects as paths have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resource<'a> {
    /// Empty for the core's.
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    /// Plural, in small letters.
    pub(super) name: &'a str,
}

pub(super) const NODES: Resource<'static> = Resource { group: "", version: "v1", name: "nodes" };
pub(super) const PODS: Resource<'static> = Resource { group: "", version: "v1", name: "pods" };

/// A request that the API server has answered.
#[derive(Debug)]
pub(super) struct Request<'a> {
    /// In milliseconds since t=0.
    pub(super) at_ms: i64,
    pub(super) user: User<'a>,
    pub(super) verb: &'static str,
    pub(super) resource: Resource<'a>,
    pub(super) subresource: &'static str,
    /// Empty for what is in none.
    pub(super) namespace: &'a str,
    /// Empty where the API server makes the name.
    pub(super) name: &'a str,
    pub(super) body: Option<Value>,
    /// Whether there was such an object already, and nothing came of it.
    pub(super) is_refused: bool,
}

impl<'a> Request<'a> {
    /// One about a node.
    pub(super) fn on_node(at_ms: i64, user: User<'a>, verb: &'static str, name: &'a str) -> Self {
        Self { at_ms, user, verb, resource: NODES, subresource: "", namespace: "", name, body: None, is_refused: false }
    }

    /// One about a pod, by namespace and name.
    pub(super) fn on_pod(
        at_ms: i64,
        user: User<'a>,
        verb: &'static str,
        (namespace, name): (&'a str, &'a str),
    ) -> Self {
        Self { at_ms, user, verb, resource: PODS, subresource: "", namespace, name, body: None, is_refused: false }
    }

    pub(super) fn subresource(self, subresource: &'static str) -> Self {
        Self { subresource, ..self }
    }

    pub(super) fn body(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }

    pub(super) fn refused(self) -> Self {
        Self { is_refused: true, ..self }
    }

    fn uri(&self) -> String {
        let Resource { group, version, name } = self.resource;
        let mut uri = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if !self.namespace.is_empty() {
            uri.push_str(&format!("/namespaces/{}", self.namespace));
        }
        for part in [name, self.name, self.subresource].into_iter().filter(|part| !part.is_empty()) {
            uri.push('/');
            uri.push_str(part);
        }
        uri
    }

    /// Its line; `index` is its place in the log, which makes its id.
    pub(super) fn line(&self, index: usize, epoch: Epoch, version: &str) -> Line {
        let uri = self.uri();
        let stamp = epoch.microsecond(self.at_ms);
        let Resource { group, version: api_version, name: resource } = self.resource;
        let fields = [
            ("resource", resource),
            ("namespace", self.namespace),
            ("name", self.name),
            ("apiGroup", group),
            ("apiVersion", api_version),
            ("subresource", self.subresource),
        ];
        let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let code = match self.verb {
            "create" if self.is_refused => 409,
            "create" => 201,
            _ => 200,
        };
        Line {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: if self.body.is_some() { "Request" } else { "Metadata" },
            audit_id: uuid(&format!("{index}/{stamp}/{}/{uri}", self.verb)),
            stage: "ResponseComplete",
            request_uri: uri,
            verb: self.verb,
            user: json!({"username": self.user.name(), "groups": self.user.groups()}),
            user_agent: self.user.agent(version),
            object_ref: fields.map(|(field, value)| (field.to_owned(), Value::from(value))).collect(),
            response_status: json!({"metadata": {}, "code": code}),
            request_object: self.body.clone(),
            request_received_timestamp: stamp.clone(),
            stage_timestamp: stamp,
            annotations: json!({"authorization.k8s.io/decision": "allow"}),
        }
    }
}

/// A line of an audit log.
///
/// # Source
/// k8s.io/apiserver, pkg/apis/audit/v1: `Event`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    kind: &'static str,
    api_version: &'static str,
    level: &'static str,
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: &'static str,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: &'static str,
    user: Value,
    user_agent: String,
    object_ref: Value,
    response_status: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object: Option<Value>,
    request_received_timestamp: String,
    stage_timestamp: String,
    annotations: Value,
}
