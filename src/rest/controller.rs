//! Controllers that whoever embeds the simulator brings along: they are told of changes and ask for others, as clients do.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::answer::Status;
use super::kept::Kept;
use super::path::Path;
use super::resources::{self, Resource, rendered};
use super::writes::chosen;
use super::{ClientRequest, Clock, Key};
use crate::arena::Symbol;
use crate::component::PluginError;
use crate::kubectl::objects::{Found, all, find_one};
use crate::state::Store;
use crate::units::SimTime;

/// What has become of an object, in the words of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new, or there when the run begins.
    Added,
    /// It is other than it was.
    Modified,
    /// It is gone.
    Deleted,
    /// A request of the controller's own was refused.
    Error,
}

impl ChangeKind {
    /// `ADDED`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Error => "ERROR",
        }
    }
}

/// What a controller of one's own is told.
#[derive(Clone, Copy, Debug)]
pub struct ObjectChange<'a> {
    /// What has become of the object.
    pub kind: ChangeKind,
    /// The object as clients see it, without its version; of one that is gone, as it was last; of a request that was refused, the
    /// `Status` that says why.
    pub object: &'a Value,
    /// The request that was refused.
    pub request: Option<&'a ClientRequest>,
}

/// The cluster as a controller of one's own reads it: as it stands.
#[derive(Clone, Copy)]
pub struct ClusterReader<'a> {
    pub(crate) store: &'a Store,
    pub(crate) kept: &'a Kept,
    pub(crate) now: SimTime,
    pub(crate) epoch_unix_nanos: i64,
}

impl fmt::Debug for ClusterReader<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ClusterReader at {}", self.now)
    }
}

impl ClusterReader<'_> {
    /// The instant.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// An object by its path, such as `/apis/apps/v1/namespaces/shop/deployments/web`; none if it is not there.
    ///
    /// # Errors
    ///
    /// If the path names no object of the API.
    pub fn get(&self, path: &str) -> Result<Option<Value>, PluginError> {
        let read = || Path::parse(path)?.target(self.store);
        let target = read().map_err(|status| unreadable(path, &status))?;
        if target.name.is_empty() || !target.subresource.is_empty() || target.resource.is_fault() {
            return Err(format!("`{path}` names no object: write `/api/v1/nodes/worker-1`").into());
        }
        Ok(super::object(&target, self.store, self.kept, self.epoch_unix_nanos))
    }

    /// The objects of a collection by its path, such as `/api/v1/pods?labelSelector=app=web`, in the order of namespace and name.
    ///
    /// # Errors
    ///
    /// If the path names no collection of the API, or its selectors cannot be read.
    pub fn list(&self, path: &str) -> Result<Vec<Value>, PluginError> {
        let unread = |status: Status| unreadable(path, &status);
        let parsed = Path::parse(path).map_err(unread)?;
        let target = parsed.target(self.store).map_err(unread)?;
        if !target.name.is_empty() || target.resource.is_fault() {
            return Err(format!("`{path}` names no collection: write `/api/v1/nodes`").into());
        }
        let seen = (self.store, self.kept, Clock(self.epoch_unix_nanos));
        let found = chosen(&parsed, &target, seen).map_err(|status| unread(*status))?;
        Ok(found.iter().filter_map(|of| self.rendered(of, &target.resource)).collect())
    }

    /// All objects of a resource, in the order of the store.
    pub(crate) fn all(&self, resource: &Resource) -> Vec<(Key, Value)> {
        let name = resource.name();
        let found = all(resource.kind, None, self.store);
        let keyed = found.iter().filter_map(|of| {
            let key = Key::new(&name, of.namespace(self.store).as_str(), &of.name(self.store));
            Some((key, self.rendered(of, resource)?))
        });
        keyed.collect()
    }

    /// An object as it is.
    pub(crate) fn object(&self, key: Key, resource: &Resource) -> Option<Value> {
        let found = find_one(resource.kind, key.namespace, key.name.as_str(), self.store)?;
        self.rendered(&found, resource)
    }

    fn rendered(&self, found: &Found, resource: &Resource) -> Option<Value> {
        rendered(found, resource, self.store, self.kept, Clock(self.epoch_unix_nanos))
    }
}

fn unreadable(path: &str, status: &Status) -> PluginError {
    format!("`{path}` cannot be read: {}", status.message).into()
}

/// Is told of a change and says what it wants done.
pub type ControllerHook =
    dyn Fn(&ObjectChange<'_>, &ClusterReader<'_>) -> Result<Vec<ClientRequest>, PluginError> + Send + Sync;

/// A controller of one's own.
#[derive(Clone)]
pub struct ControllerPlugin {
    /// Its name, which no other has.
    pub name: Symbol,
    /// What it watches.
    pub watched: Arc<[Resource]>,
    /// What it does.
    pub hook: Arc<ControllerHook>,
}

impl fmt::Debug for ControllerPlugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched: Vec<&str> = self.watched.iter().map(|resource| resource.kind_name.as_str()).collect();
        write!(formatter, "controller {} of {watched:?}", self.name)
    }
}

/// The kinds whose changes a controller of one's own can be told of.
const WATCHABLE: [&str; 16] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "Job",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "ReplicationController",
    "ResourceQuota",
    "Service",
    "StatefulSet",
];

impl ControllerPlugin {
    /// The kinds whose changes a controller can be told of, in alphabetical order.
    #[must_use]
    pub fn watchable() -> &'static [&'static str] {
        &WATCHABLE
    }

    /// The resource of a kind that can be watched.
    #[must_use]
    pub fn resource(kind: &str) -> Option<Resource> {
        WATCHABLE.contains(&kind).then(|| resources::of_kind(kind)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_can_be_watched_has_a_resource() {
        for kind in WATCHABLE {
            let resource = ControllerPlugin::resource(kind).expect(kind);
            assert_eq!(resource.kind_name, kind);
        }
        assert!(ControllerPlugin::resource("Secret").is_none(), "nothing tells of what decides nothing");
        assert!(ControllerPlugin::resource("pods").is_none(), "a kind is no resource");
    }
}
