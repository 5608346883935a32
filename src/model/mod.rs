//! Kubernetes API objects as they are written, and rules that need one object only.
//!
//! The types hold the fields that decide something; whatever else an input says is reported as not modelled by the
//! manifest loader. Rules here are pure functions of one object: defaults, requests, matching, quality of service. Nothing
//! here knows time, other objects or the cluster's state, and nothing reads files but the manifest loader.

pub(crate) mod api_fields;
pub(crate) mod api_type;
pub mod field_path;
#[cfg(feature = "cli")]
pub(crate) mod schemas;
pub(crate) mod yaml;

pub mod meta;
pub mod resources;
pub mod selector;
pub mod taint;

pub mod namespace;
pub mod node;
pub mod pod;
pub mod priority_class;
pub mod volume;

pub(crate) mod cluster_text;
pub mod controller_revision;
pub mod cron;
pub mod cron_job;
pub mod daemon_set;
pub mod deployment;
pub mod horizontal_pod_autoscaler;
pub mod job;
pub mod limit_range;
pub(crate) mod lock_text;
pub mod pod_disruption_budget;
pub mod replica_set;
pub mod resource_quota;
pub mod runtime_class;
mod secret;
mod served;
pub mod service;
pub mod stateful_set;
pub mod stored;
pub mod time_zone;
pub(crate) mod yaml_text;

pub mod config;
pub mod manifest;
pub mod validation;

pub use api_type::ApiEnum;
pub use controller_revision::*;
pub use cron_job::*;
pub use daemon_set::*;
pub use deployment::*;
pub use horizontal_pod_autoscaler::*;
pub use job::*;
pub use limit_range::*;
pub use manifest::{AnyKind, ManifestObject, NotModelled, Object, ObjectKind, Scope};
pub(crate) use manifest::{with_kind, with_object};
pub use meta::*;
pub use namespace::*;
pub use node::*;
pub use pod::*;
pub use pod_disruption_budget::*;
pub use priority_class::*;
pub use replica_set::*;
pub use resource_quota::*;
pub use resources::*;
pub use runtime_class::*;
pub use selector::*;
pub use served::{is_served, served_as};
pub use service::*;
pub use stateful_set::*;
pub use stored::{StoredKind, StoredObject};
pub use taint::*;
pub use time_zone::TimeZone;
pub use volume::*;
