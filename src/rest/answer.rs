//! Answers, and refusals as the API has them.

use serde_json::{Value, json};

use super::resources::Resource;
use crate::component::{ApiError, ErrorReason};
use crate::units::SimDuration;

/// What a client is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// HTTP status code.
    pub code: u16,
    /// An object, a list or a Status.
    pub body: Value,
    /// What is said besides, in headers.
    pub warnings: Vec<String>,
    /// `Retry-After`.
    pub retry_after: Option<SimDuration>,
}

impl Response {
    /// 200.
    #[must_use]
    pub fn ok(body: Value) -> Self {
        Self { code: 200, body, warnings: Vec::new(), retry_after: None }
    }

    /// 200 of what was done and leaves nothing to show.
    #[must_use]
    pub fn done() -> Self {
        Self::ok(json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}))
    }

    /// The same of an object that is gone.
    #[must_use]
    pub fn gone(name: &str, group: &str, resource: &str, uid: &Value) -> Self {
        let mut gone = Self::done();
        gone.body["details"] = json!({"name": name, "group": group, "kind": resource, "uid": uid});
        gone
    }

    /// 201.
    #[must_use]
    pub fn created(body: Value) -> Self {
        Self { code: 201, ..Self::ok(body) }
    }

    /// The same with warnings.
    #[must_use]
    pub fn with(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// Whether it was done.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code < 300
    }
}

impl From<Status> for Response {
    fn from(status: Status) -> Self {
        let retry_after = status.retry_after;
        Self { code: status.code, body: status.to_value(), warnings: Vec::new(), retry_after }
    }
}

/// Whom a refusal is about. `kind` is that of an object which is invalid, else the resource.
///
/// # Source
/// apimachinery, `NewInvalid`, `NewNotFound`, `NewAlreadyExists`, `NewConflict`.
fn details(name: &str, group: &str, kind: &str) -> Value {
    let mut details = json!({"name": name, "kind": kind});
    if !group.is_empty() {
        details["group"] = group.into();
    }
    details
}

/// A refusal.
///
/// # Source
/// apimachinery, `api/errors`.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// HTTP status code.
    pub code: u16,
    /// `reason`.
    pub reason: &'static str,
    /// `message`.
    pub message: String,
    /// `details`.
    pub details: Value,
    /// `Retry-After`.
    pub retry_after: Option<SimDuration>,
}

impl Status {
    /// A refusal without details.
    #[must_use]
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null, retry_after: None }
    }

    /// 400.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 422 of a JSON patch that does not go together with the object.
    #[must_use]
    pub fn failed_patch() -> Self {
        Self::new(422, "Invalid", "the server rejected our request due to an error in our request")
    }

    /// 404 of a path that means nothing.
    #[must_use]
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// 404 of an object.
    #[must_use]
    pub fn not_found(resource: &str, group: &str, name: &str) -> Self {
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!("{resource}{dot}{group} \"{name}\" not found");
        Self { details: details(name, group, resource), ..Self::new(404, "NotFound", message) }
    }

    /// 405.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    }

    /// 409. The resource is `deployments.apps`.
    #[must_use]
    pub fn conflict(resource: &str, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        Self { details: details(name, group, plural), ..Self::new(409, "Conflict", message) }
    }

    /// 409 of a write that meets another.
    #[must_use]
    pub fn modified(resource: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 410 of what is no longer kept.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 415.
    #[must_use]
    pub fn unsupported(accepted: &str) -> Self {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}");
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 422 of a field. The kind is `Deployment.apps`.
    #[must_use]
    pub fn invalid(kind: &str, name: &str, message: &str) -> Self {
        // kubectl prints the causes alone.
        let is_field = |word: &str| !word.contains(char::is_whitespace);
        let (field, text) = message.split_once(": ").filter(|(field, _)| is_field(field)).unwrap_or(("spec", message));
        let cause = json!({"reason": "FieldValueInvalid", "message": text, "field": field});
        let (own, group) = kind.split_once('.').unwrap_or((kind, ""));
        let mut details = details(name, group, own);
        details["causes"] = json!([cause]);
        Self { details, ..Self::new(422, "Invalid", format!("{kind} \"{name}\" is invalid: {message}")) }
    }

    /// The same of several fields, each as `field: what is wrong`.
    pub(super) fn invalid_in(kind: &str, name: &str, problems: &[String]) -> Self {
        let [one] = problems else {
            let mut all = Self::invalid(kind, name, &problems.join(", "));
            all.message = format!("{kind} \"{name}\" is invalid: [{}]", problems.join(", "));
            let causes = problems.iter().map(|problem| Self::invalid(kind, name, problem).details["causes"][0].clone());
            all.details["causes"] = causes.collect();
            return all;
        };
        Self::invalid(kind, name, one)
    }

    /// As the API writes it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
            "reason": self.reason, "code": self.code,
        });
        let mut details = self.details.clone();
        if let Some(wait) = self.retry_after {
            if details.is_null() {
                details = json!({});
            }
            details["retryAfterSeconds"] = wait.as_secs().max(1).into();
        }
        if !details.is_null() {
            value["details"] = details;
        }
        value
    }

    /// The API server's refusal of a request about an object.
    #[must_use]
    pub fn of(error: &ApiError, resource: &Resource, name: &str) -> Self {
        let (code, reason) = match error.reason {
            ErrorReason::BadRequest => (400, "BadRequest"),
            ErrorReason::Forbidden => (403, "Forbidden"),
            ErrorReason::NotFound => (404, "NotFound"),
            ErrorReason::AlreadyExists => (409, "AlreadyExists"),
            ErrorReason::Conflict => (409, "Conflict"),
            ErrorReason::Invalid => (422, "Invalid"),
            ErrorReason::TooManyRequests => (429, "TooManyRequests"),
            ErrorReason::InternalError => (500, "InternalError"),
            ErrorReason::Unavailable => (503, "ServiceUnavailable"),
        };
        let mut causes: Vec<Value> = Vec::new();
        if let Some(detail) = &error.detail {
            causes.push(json!({"reason": "DisruptionBudget", "message": detail}));
        }
        for cause in &error.causes {
            let (field, message) = cause.split_once(": ").unwrap_or(("", cause));
            let reason = match message.split_once(':').map_or(message, |(kind, _)| kind) {
                "Required value" => "FieldValueRequired",
                "Duplicate value" => "FieldValueDuplicate",
                "Unsupported value" => "FieldValueNotSupported",
                "Not found" => "FieldValueNotFound",
                "Forbidden" => "FieldValueForbidden",
                _ => "FieldValueInvalid",
            };
            causes.push(json!({"reason": reason, "message": message, "field": field}));
        }
        // What is invalid is of a kind, all else is about a resource.
        let is_invalid = error.reason == ErrorReason::Invalid;
        let kind = if is_invalid { &resource.kind_name } else { &resource.plural };
        let mut details = details(name, &resource.group, kind);
        if !causes.is_empty() {
            details["causes"] = causes.into();
        }
        let message = match (error.reason, error.message.as_str()) {
            // The eviction of what is gone names no object.
            (ErrorReason::NotFound, "pods not found") => format!("pods \"{name}\" not found"),
            (_, message) => message.to_owned(),
        };
        Self { details, retry_after: error.retry_after, ..Self::new(code, reason, message) }
    }
}
