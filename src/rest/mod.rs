//! Requests of real clients, as HTTP has them: what a path means, what a body asks for, what is answered.
//!
//! A request is data: whoever plays a run hands it over at its instant, so that one that was typed into a live cluster and one that
//! stands in a scenario take the same way. No sockets, no watches, no versions of objects: those belong to whoever serves.

mod answer;
mod complete;
mod controller;
mod events;
mod faults;
mod fields;
mod kept;
mod names;
mod options;
mod patches;
mod path;
mod resources;
mod subresources;
mod writes;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chaos::FaultSpec;
use crate::component::{Answer, Request};
use crate::state::Store;
use crate::units::SimTime;

pub(crate) use crate::kubectl::objects::Clock;
pub use answer::{Response, Status};
pub use controller::{ChangeKind, ClusterReader, ControllerHook, ControllerPlugin, ObjectChange};
pub use faults::{FAULT_GROUP, FAULT_VERSION};
pub use kept::{FaultObject, FaultStanding, FaultState, Kept};
pub(crate) use names::{Key, Names};
pub use path::{Path, Target, without_query};
pub use resources::{PrinterColumn, Resource};

/// What a client wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
}

impl Method {
    /// As HTTP writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// A request that changes something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientRequest {
    /// Method.
    pub method: Method,
    /// Path and query: `/api/v1/nodes/worker-3?fieldManager=kubectl-cordon`.
    pub path: String,
    /// `Content-Type`; JSON without it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content_type: String,
    /// The body as it was sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Who asks.
    #[serde(default = "anybody", skip_serializing_if = "is_anybody")]
    pub user: String,
}

fn anybody() -> String {
    "kubectl".to_owned()
}

fn is_anybody(user: &str) -> bool {
    user == "kubectl"
}

impl fmt::Display for ClientRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} by {}", self.method.as_str(), without_query(&self.path), self.user)
    }
}

impl ClientRequest {
    /// A request with a body of JSON; one of DELETE may be empty. A PATCH is merged as JSON is (`application/merge-patch+json`), unless
    /// [`content_type`](ClientRequest::content_type) is set to something else.
    #[must_use]
    pub fn new(method: Method, path: impl Into<String>, body: impl Into<String>) -> Self {
        let content_type = if method == Method::Patch { "application/merge-patch+json" } else { "" };
        Self { method, path: path.into(), content_type: content_type.to_owned(), body: body.into(), user: anybody() }
    }

    /// What the body says: JSON, or YAML.
    ///
    /// # Errors
    /// 400, if it is neither.
    pub fn value(&self) -> Result<Value, Status> {
        if self.body.trim().is_empty() {
            return Ok(Value::Null);
        }
        let unreadable =
            |error: String| Status::bad_request(format!("the body of the request is not readable: {error}"));
        if self.content_type.contains("yaml") && !self.body.trim_start().starts_with('{') {
            return serde_saphyr::from_str(&self.body).map_err(|error| unreadable(error.to_string()));
        }
        serde_json::from_str(&self.body).map_err(|error| unreadable(error.to_string()))
    }

    /// Whether nothing is to be written: whoever plays the run has it done on a copy.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        options::is_dry_run(self)
    }
}

/// The cluster as a request finds it.
pub trait Cluster {
    /// Every object.
    fn store(&self) -> &Store;
    /// The instant.
    fn now(&self) -> SimTime;
    /// What t=0 is called, in nanoseconds since 1970.
    fn epoch_unix_nanos(&self) -> i64;
    /// Asks the API server.
    fn ask(&mut self, request: Request) -> Answer;
    /// What is kept for clients alone.
    fn kept(&self) -> &Kept;
    /// The same, to be changed.
    fn kept_mut(&mut self) -> &mut Kept;
    /// A fault begins; its place among those of the run.
    fn begin_fault(&mut self, fault: FaultSpec) -> usize;
    /// A fault ends, if it goes on.
    fn end_fault(&mut self, place: usize);
    /// How a fault stands.
    fn fault_standing(&self, place: usize) -> FaultStanding;
}

/// Does what a client asks for, in earnest: what is only tried is tried on a copy of the cluster.
pub fn handle(request: &ClientRequest, cluster: &mut dyn Cluster) -> Response {
    let response = answer(request, cluster);
    cluster.kept_mut().count();
    response.unwrap_or_else(|status| Response::from(*status))
}

fn answer(request: &ClientRequest, cluster: &mut dyn Cluster) -> Result<Response, Box<Status>> {
    let path = Path::parse(&request.path)?;
    let target = path.target(cluster.store())?;
    options::check_write(request, &path)?;
    let body = request.value()?;
    if target.resource.group == resources::EVENTS_GROUP {
        // They are the core's, by other names.
        let core = Path { group: String::new(), ..path };
        let target = Target { resource: core.target(cluster.store())?.resource, ..target };
        let mut response = answer_of(request, &core, &target, events::of_core(body), cluster)?;
        events::answered(&mut response.body);
        return Ok(response);
    }
    answer_of(request, &path, &target, body, cluster)
}

fn answer_of(
    request: &ClientRequest,
    path: &Path,
    target: &Target,
    body: Value,
    cluster: &mut dyn Cluster,
) -> Result<Response, Box<Status>> {
    if target.resource.is_fault() {
        return faults::handle(request, target, body, cluster);
    }
    if !target.subresource.is_empty() {
        return subresources::handle(request, path, target, body, cluster);
    }
    let verb = match (request.method, target.name.is_empty()) {
        (Method::Post, _) => "create",
        (Method::Put, _) => "update",
        (Method::Patch, _) => "patch",
        (Method::Delete, false) => "delete",
        (Method::Delete, true) => "deletecollection",
    };
    if !target.resource.verbs().contains(&verb) {
        return Err(Box::new(Status::method_not_allowed()));
    }
    match (request.method, target.name.is_empty()) {
        (Method::Post, true) => writes::create(path, target, body, cluster),
        (Method::Put, false) => writes::update(path, target, body, cluster),
        (Method::Patch, false) => patches::patch(request, path, target, body, cluster),
        (Method::Delete, false) => writes::delete(path, target, &body, cluster),
        (Method::Delete, true) => writes::delete_collection(path, target, &body, cluster),
        _ => Err(Box::new(Status::method_not_allowed())),
    }
}

/// An object as clients see it, without its version; none if there is none.
#[must_use]
pub fn object(target: &Target, store: &Store, kept: &Kept, epoch_unix_nanos: i64) -> Option<Value> {
    let found = target.find(store)?;
    resources::rendered(&found, &target.resource, store, kept, Clock(epoch_unix_nanos))
}

#[cfg(feature = "serve")]
pub(crate) use events::{Change as EventChange, changed as changed_event, in_group, of_core};
#[cfg(feature = "serve")]
pub(crate) use faults::rendered as rendered_fault;
#[cfg(feature = "serve")]
pub(crate) use fields::{Selection, Traits};
#[cfg(feature = "serve")]
pub(crate) use options::ListOptions;
#[cfg(feature = "serve")]
pub(crate) use resources::all as all_resources;
#[cfg(feature = "serve")]
pub(crate) use resources::rendered;
#[cfg(feature = "serve")]
pub(crate) use subresources::{not_simulated, scale_of};
