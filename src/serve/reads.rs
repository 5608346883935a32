//! What clients ask to be shown.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::discovery;
use super::documents;
use super::lists::Form;
use super::openapi;
use super::session::Session;
use super::watching::Heard;
use crate::rest::{ClientRequest, FAULT_GROUP, Method, Path, Response, Status, not_simulated, scale_of, without_query};

/// What is sent back.
#[derive(Debug)]
pub(super) enum Shown {
    /// A document.
    Document(u16, Bytes),
    /// A watch.
    Watch(Heard),
}

impl Shown {
    pub(super) fn of(value: &Value) -> Self {
        Self::Document(200, Bytes::from(value.to_string()))
    }
}

impl From<Box<Status>> for Shown {
    fn from(status: Box<Status>) -> Self {
        Self::Document(status.code, Bytes::from(status.to_value().to_string()))
    }
}

impl Session {
    /// Answers a GET.
    pub(super) fn read(&mut self, path: &str, accept: &str) -> Shown {
        self.try_read(path, accept).unwrap_or_else(Shown::from)
    }

    fn try_read(&mut self, text: &str, accept: &str) -> Result<Shown, Box<Status>> {
        let bare = without_query(text);
        if !documents::is_own(bare) {
            self.expect_up(bare)?;
        }
        if let Some(document) = documents::fixed(bare, self) {
            return Ok(document);
        }
        if let Some(value) = openapi::document(bare, self.run.store()) {
            return Ok(Shown::of(&value));
        }
        if let Some(value) = discovery::document(bare, self.run.store()) {
            return Ok(Shown::of(&value));
        }
        let path = Path::parse(text)?;
        if path.group == "metrics.k8s.io" {
            return self.metrics(&path).map(|value| Shown::of(&value));
        }
        if path.rest.first().is_some_and(|first| first == "watch") {
            // The old way to ask for a watch.
            let query = path.query.iter().cloned().chain([("watch".to_owned(), "true".to_owned())]).collect();
            let rest = path.rest[1..].to_vec();
            return self.show_resource(&Path { query, rest, ..path }, accept);
        }
        self.show_resource(&path, accept)
    }

    /// While the API server is down nothing is answered but what is about faults.
    ///
    /// # Errors
    /// 503.
    pub(super) fn expect_up(&self, path: &str) -> Result<(), Box<Status>> {
        // Who applies a fault asks first how one is described.
        let described = path.strip_prefix("/openapi/v3");
        if described == Some("") {
            return Ok(());
        }
        let below = described.unwrap_or(path).strip_prefix("/apis/").and_then(|rest| rest.strip_prefix(FAULT_GROUP));
        if self.run.api_is_up() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return Ok(());
        }
        Err(Box::new(Status::new(503, "ServiceUnavailable", "the API server is down")))
    }

    fn show_resource(&mut self, path: &Path, accept: &str) -> Result<Shown, Box<Status>> {
        let target = path.target(self.run.store())?;
        let form = Form::of(accept, path);
        match target.subresource.as_str() {
            "" => {}
            "status" if target.resource.has_status => {
                return self.get(&target, form).map(|bytes| Shown::Document(200, bytes));
            }
            "scale" if target.resource.has_scale() => {
                let key = crate::rest::Key::new(&target.resource.name(), &target.namespace, &target.name);
                let found = self.look(&target.resource, key);
                let (object, _) = found.ok_or_else(|| Box::new(target.missing()))?;
                let mut scale = scale_of(&target, &object);
                scale["metadata"]["resourceVersion"] = self.versions.of(key).to_string().into();
                return Ok(Shown::of(&scale));
            }
            "log" | "exec" | "attach" | "portforward" | "proxy" => {
                if target.find(self.run.store()).is_none() {
                    return Err(Box::new(target.missing()));
                }
                return Err(Box::new(not_simulated(&target)));
            }
            _ => return Err(Box::new(Status::no_such_path())),
        }
        if path.is_set("watch") {
            if !target.resource.verbs().contains(&"watch") {
                return Err(Box::new(Status::method_not_allowed()));
            }
            return self.watch(path, &target, form).map(Shown::Watch);
        }
        let bytes = match target.name.as_str() {
            "" => self.list(path, &target, form)?,
            _ => self.get(&target, form)?,
        };
        Ok(Shown::Document(200, bytes))
    }

    /// Does what a client asks for, be it about objects or about time.
    pub fn do_it(&mut self, request: ClientRequest) -> Response {
        let bare = without_query(&request.path).to_owned();
        if let (Method::Post, true) = (request.method, bare.starts_with("/kubesquall/v1/")) {
            return match request.value() {
                Ok(body) => self.turn(&bare, &body),
                Err(status) => Response::from(status),
            };
        }
        if let Err(status) = self.expect_up(&bare) {
            return Response::from(*status);
        }
        if request.method == Method::Post && bare.starts_with("/apis/auth") {
            let body = request.value().unwrap_or_default();
            if let Some(review) = Self::review(&bare, &body) {
                return review;
            }
        }
        self.write(request)
    }

    /// Answers a POST that asks and changes nothing; none if it is another.
    ///
    /// # Source
    /// kube-apiserver, authorization and authentication reviews: whoever gets so far may do everything here.
    pub(super) fn review(bare: &str, body: &Value) -> Option<Response> {
        let rest = bare.strip_prefix("/apis/authorization.k8s.io/v1/");
        let kind = match (rest, bare) {
            (Some("selfsubjectaccessreviews"), _) => "SelfSubjectAccessReview",
            (Some("subjectaccessreviews"), _) => "SubjectAccessReview",
            (Some("selfsubjectrulesreviews"), _) => {
                let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
                let paths = json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]);
                let status = json!({"resourceRules": all, "nonResourceRules": paths, "incomplete": false});
                let review = json!({
                    "kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {},
                    "spec": body["spec"], "status": status,
                });
                return Some(Response::created(review));
            }
            (Some(rest), _) if rest.ends_with("/localsubjectaccessreviews") => "LocalSubjectAccessReview",
            (None, "/apis/authentication.k8s.io/v1/selfsubjectreviews") => {
                let user = json!({"username": "kubectl", "groups": ["system:masters", "system:authenticated"]});
                let review = json!({
                    "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {},
                    "status": {"userInfo": user},
                });
                return Some(Response::created(review));
            }
            _ => return None,
        };
        Some(Response::created(json!({
            "kind": kind, "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": body["spec"],
            "status": {"allowed": true, "reason": "everything is allowed in a simulation"},
        })))
    }
}
