//! The kinds of objects that are modelled.

use crate::arena::{Symbol, sym};
use crate::model::api_type::{ApiValue, whole};
use crate::model::field_path::FieldPath;
use crate::model::{
    CSIDriver, CSINode, ControllerRevision, CronJob, DaemonSet, Deployment, HorizontalPodAutoscaler, Job, LimitRange,
    Namespace, Node, ObjectMeta, PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, PriorityClass,
    ReplicaSet, ReplicationController, ResourceQuota, RuntimeClass, Service, StatefulSet, StorageClass, StoredKind,
    StoredObject,
};

/// Something that can be read as any of the kinds: one parse of YAML, JSON or a tree.
pub(super) trait ReadAs {
    type Error;
    fn read_as<T: serde::de::DeserializeOwned>(self) -> Result<T, Self::Error>;
}

macro_rules! objects {
    ($d:tt $($kind:ident, $scope:ident, $api_version:literal, groups $($group:literal)|+;)+) => {
        /// An object of one of the kinds that are modelled.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "variants are the kinds")]
        pub enum Object {
            $($kind(Box<$kind>),)+
            /// An object of a kind that decides nothing.
            Stored(Box<StoredObject>),
        }

        /// A kind of object that is modelled.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "variants are the kinds")]
        pub enum ObjectKind {
            $($kind,)+
            /// Any kind that decides nothing.
            Stored,
        }

        impl ObjectKind {
            /// Every kind that decides something.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// The kind's name, as in `kind:`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)+ Self::Stored => "Stored" }
            }

            /// [`as_str`](Self::as_str), interned.
            #[must_use]
            pub fn symbol(self) -> Symbol {
                match self { $(Self::$kind => sym!(stringify!($kind)),)+ Self::Stored => sym!("Stored") }
            }

            /// The `apiVersion` under which the kind is written today.
            #[must_use]
            pub const fn api_version(self) -> &'static str {
                match self { $(Self::$kind => $api_version,)+ Self::Stored => "" }
            }

            /// Whether objects of the kind make pods, themselves or by others.
            #[must_use]
            pub const fn is_workload(self) -> bool {
                matches!(
                    self,
                    Self::Deployment
                        | Self::ReplicaSet
                        | Self::ReplicationController
                        | Self::StatefulSet
                        | Self::DaemonSet
                        | Self::Job
                        | Self::CronJob
                )
            }

            /// Whether objects of the kind live in a namespace.
            #[must_use]
            pub const fn scope(self) -> Scope {
                match self { $(Self::$kind => Scope::$scope,)+ Self::Stored => Scope::Cluster }
            }

            /// The kind of an object, if it is modelled. Groups that a kind has lived in before count as well, in any
            /// of their versions.
            #[must_use]
            pub fn find(api_version: &str, kind: &str) -> Option<Self> {
                Self::in_group(kind, api_version.split_once('/').map_or("", |(group, _)| group))
            }

            /// The kind of that name, whatever its group.
            #[must_use]
            pub fn named(kind: &str) -> Option<Self> {
                match kind {
                    $(stringify!($kind) => Some(Self::$kind),)+
                    _ => None,
                }
            }

            /// The kind of that name in that group, if it is modelled.
            #[must_use]
            pub fn in_group(kind: &str, group: &str) -> Option<Self> {
                match (kind, group) {
                    $((stringify!($kind), $($group)|+) => Some(Self::$kind),)+
                    _ => None,
                }
            }

            pub(super) fn read<R: ReadAs>(self, source: R) -> Result<Object, R::Error> {
                match self {
                    $(Self::$kind => source.read_as().map(|object| Object::$kind(Box::new(object))),)+
                    Self::Stored => source.read_as().map(|object| Object::Stored(Box::new(object))),
                }
            }
        }

        impl Object {
            /// The object's kind.
            #[must_use]
            pub const fn kind(&self) -> ObjectKind {
                match self { $(Self::$kind(_) => ObjectKind::$kind,)+ Self::Stored(_) => ObjectKind::Stored }
            }

            /// The object's metadata.
            #[must_use]
            pub fn metadata(&self) -> &ObjectMeta {
                match self { $(Self::$kind(object) => &object.metadata,)+ Self::Stored(object) => &object.metadata }
            }

            /// The object's metadata, to be changed.
            pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
                match self { $(Self::$kind(object) => &mut object.metadata,)+ Self::Stored(object) => &mut object.metadata }
            }

            /// The object as the API server has it: with `apiVersion` and `kind`, and with words that are what their absence means.
            #[must_use]
            pub fn to_value(&self) -> serde_json::Value {
                whole(|| self.to_manifest())
            }

            /// The object as people write it: with `apiVersion` and `kind`, without anything that is absent or what its absence means.
            #[must_use]
            pub fn to_manifest(&self) -> serde_json::Value {
                let value = match self {
                    $(Self::$kind(object) => serde_json::to_value(object),)+
                    Self::Stored(object) => serde_json::to_value(object),
                };
                let mut value = value.expect("API objects have text keys only");
                if let Self::Stored(_) = self {
                    return value;
                }
                let fields = value.as_object_mut().expect("API objects are maps");
                fields.insert("apiVersion".to_owned(), self.kind().api_version().into());
                fields.insert("kind".to_owned(), self.kind().as_str().into());
                value
            }

            pub(super) fn opaque_parts(&self, visit: &mut dyn FnMut(&FieldPath)) {
                let mut path = FieldPath::default();
                match self { $(Self::$kind(object) => object.opaque_parts(&mut path, visit),)+ Self::Stored(_) => {} }
            }
        }

        $(impl From<$kind> for Object {
            fn from(object: $kind) -> Self {
                Self::$kind(Box::new(object))
            }
        })+

        impl From<StoredObject> for Object {
            fn from(object: StoredObject) -> Self {
                Self::Stored(Box::new(object))
            }
        }

        /// Does the same with an object of whichever kind; `with_object!(object, o => do_it(o))`.
        macro_rules! with_object {
            ($d object:expr, $d o:ident => $d body:expr) => {
                match $d object {
                    $($crate::model::Object::$kind($d o) => $d body,)+
                    $crate::model::Object::Stored($d o) => $d body,
                }
            };
        }

        /// Does the same with the type of whichever kind; `with_kind!(kind, Kind => do_it::<Kind>())`.
        macro_rules! with_kind {
            ($d kind:expr, $d of:ident => $d body:expr) => {
                match $d kind {
                    $($crate::model::ObjectKind::$kind => {
                        type $d of = $crate::model::$kind;
                        $d body
                    })+
                    $crate::model::ObjectKind::Stored => {
                        type $d of = $crate::model::StoredObject;
                        $d body
                    }
                }
            };
        }

        pub(crate) use {with_kind, with_object};
    };
}

/// A kind of object, whether or not it decides anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyKind {
    /// It is modelled.
    Modelled(ObjectKind),
    /// It decides nothing.
    Stored(StoredKind),
}

impl From<ObjectKind> for AnyKind {
    fn from(kind: ObjectKind) -> Self {
        Self::Modelled(kind)
    }
}

impl From<StoredKind> for AnyKind {
    fn from(kind: StoredKind) -> Self {
        ObjectKind::in_group(kind.kind.as_str(), kind.group.as_str()).map_or(Self::Stored(kind), Self::Modelled)
    }
}

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Names are unique per namespace.
    Namespaced,
    /// Names are unique in the cluster.
    Cluster,
}

objects! {
    $ Namespace, Cluster, "v1", groups "";
    Node, Cluster, "v1", groups "";
    PriorityClass, Cluster, "scheduling.k8s.io/v1", groups "scheduling.k8s.io";
    RuntimeClass, Cluster, "node.k8s.io/v1", groups "node.k8s.io";
    StorageClass, Cluster, "storage.k8s.io/v1", groups "storage.k8s.io";
    CSIDriver, Cluster, "storage.k8s.io/v1", groups "storage.k8s.io";
    CSINode, Cluster, "storage.k8s.io/v1", groups "storage.k8s.io";
    PersistentVolume, Cluster, "v1", groups "";
    PersistentVolumeClaim, Namespaced, "v1", groups "";
    Service, Namespaced, "v1", groups "";
    PodDisruptionBudget, Namespaced, "policy/v1", groups "policy";
    Deployment, Namespaced, "apps/v1", groups "apps" | "extensions";
    ReplicaSet, Namespaced, "apps/v1", groups "apps" | "extensions";
    StatefulSet, Namespaced, "apps/v1", groups "apps";
    DaemonSet, Namespaced, "apps/v1", groups "apps" | "extensions";
    ReplicationController, Namespaced, "v1", groups "";
    CronJob, Namespaced, "batch/v1", groups "batch";
    Job, Namespaced, "batch/v1", groups "batch" | "extensions";
    ControllerRevision, Namespaced, "apps/v1", groups "apps";
    HorizontalPodAutoscaler, Namespaced, "autoscaling/v2", groups "autoscaling" | "extensions";
    Pod, Namespaced, "v1", groups "";
    LimitRange, Namespaced, "v1", groups "";
    ResourceQuota, Namespaced, "v1", groups "";
}

fn text<'a>(value: &'a serde_json::Value, field: &str) -> &'a str {
    value.get(field).and_then(serde_json::Value::as_str).unwrap_or_default()
}

impl Object {
    /// Turns what an older version of the kind says into the words of today's.
    pub(super) fn convert(&mut self) {
        if let Self::HorizontalPodAutoscaler(autoscaler) = self {
            autoscaler.convert();
        }
    }

    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        match self {
            Self::Namespace(object) => object.apply_defaults(),
            Self::Node(object) => object.apply_defaults(),
            Self::PriorityClass(object) => object.apply_defaults(),
            Self::StorageClass(object) => object.apply_defaults(),
            Self::PersistentVolume(object) => object.apply_defaults(),
            Self::PersistentVolumeClaim(object) => object.apply_defaults(),
            Self::Service(object) => object.apply_defaults(),
            Self::Deployment(object) => object.apply_defaults(),
            Self::ReplicaSet(object) => object.apply_defaults(),
            Self::StatefulSet(object) => object.apply_defaults(),
            Self::DaemonSet(object) => object.apply_defaults(),
            Self::ReplicationController(object) => object.apply_defaults(),
            Self::CronJob(object) => object.apply_defaults(),
            Self::Job(object) => object.apply_defaults(),
            Self::HorizontalPodAutoscaler(object) => object.apply_defaults(),
            Self::Pod(object) => object.apply_defaults(),
            Self::LimitRange(object) => object.apply_defaults(),
            Self::CSIDriver(_)
            | Self::CSINode(_)
            | Self::RuntimeClass(_)
            | Self::PodDisruptionBudget(_)
            | Self::ControllerRevision(_)
            | Self::ResourceQuota(_)
            | Self::Stored(_) => {}
        }
    }

    /// Drops what a client cannot give an object that it creates: its status and its deletion. Nodes keep the status with which
    /// their kubelets register them, volumes and claims that of their binding.
    ///
    /// # Source
    /// kube-apiserver, create strategies of pods, workloads and budgets (`PrepareForCreate`); object metadata before a create.
    pub fn forget_status(&mut self) {
        match self {
            Self::Pod(object) => object.status = Default::default(),
            Self::Deployment(object) => object.status = Default::default(),
            Self::ReplicaSet(object) => object.status = Default::default(),
            Self::ReplicationController(object) => object.status = Default::default(),
            Self::DaemonSet(object) => object.status = Default::default(),
            Self::StatefulSet(object) => object.status = Default::default(),
            Self::Job(object) => object.status = Default::default(),
            Self::CronJob(object) => object.status = Default::default(),
            Self::PodDisruptionBudget(object) => object.status = Default::default(),
            Self::HorizontalPodAutoscaler(object) => object.status = Default::default(),
            Self::ResourceQuota(object) => object.status = Default::default(),
            Self::Namespace(_)
            | Self::Node(_)
            | Self::PriorityClass(_)
            | Self::RuntimeClass(_)
            | Self::StorageClass(_)
            | Self::CSIDriver(_)
            | Self::CSINode(_)
            | Self::PersistentVolume(_)
            | Self::PersistentVolumeClaim(_)
            | Self::Service(_)
            | Self::LimitRange(_)
            | Self::ControllerRevision(_)
            | Self::Stored(_) => {}
        }
        let metadata = self.metadata_mut();
        metadata.deletion_timestamp = None;
        metadata.deletion_grace_period_seconds = None;
    }

    /// How messages name the object: `Deployment shop/web`, `Node n1`.
    #[must_use]
    pub fn label(&self) -> String {
        let metadata = self.metadata();
        let name = metadata.name.as_str();
        if let Self::Stored(object) = self {
            let place = if metadata.namespace.is_empty() { String::new() } else { format!("{}/", metadata.namespace) };
            return format!("{} {place}{name}", object.kind);
        }
        match self.kind().scope() {
            Scope::Namespaced => format!("{} {}/{name}", self.kind().as_str(), metadata.namespace.as_str()),
            Scope::Cluster => format!("{} {name}", self.kind().as_str()),
        }
    }

    /// Reads a tree that has `apiVersion` and `kind`; `None` if the kind is not modelled.
    ///
    /// # Errors
    ///
    /// The field that cannot be read.
    pub fn from_value(value: serde_json::Value) -> Option<Result<Self, serde_json::Error>> {
        let kind = ObjectKind::find(text(&value, "apiVersion"), text(&value, "kind"))?;
        Some(Self::read_tree(kind, value))
    }

    /// Reads a tree of any kind; `None` if it does not say which.
    ///
    /// # Errors
    ///
    /// The field that cannot be read.
    pub fn from_any(value: serde_json::Value) -> Option<Result<Self, serde_json::Error>> {
        let known = ObjectKind::find(text(&value, "apiVersion"), text(&value, "kind"));
        let kind = known.or_else(|| (!text(&value, "kind").is_empty()).then_some(ObjectKind::Stored))?;
        Some(Self::read_tree(kind, value))
    }

    fn read_tree(kind: ObjectKind, value: serde_json::Value) -> Result<Self, serde_json::Error> {
        struct Tree(serde_json::Value);
        impl ReadAs for Tree {
            type Error = serde_json::Error;
            fn read_as<T: serde::de::DeserializeOwned>(self) -> Result<T, serde_json::Error> {
                super::from_value(&self.0)
            }
        }
        let mut object = kind.read(Tree(value))?;
        object.convert();
        Ok(object)
    }

    /// The kind, if objects of it are stored without effect.
    #[must_use]
    pub fn stored_kind(&self) -> Option<StoredKind> {
        if let Self::Stored(object) = self { Some(object.stored_kind()) } else { None }
    }

    /// The identity by which objects are told apart: kind, namespace, name.
    #[must_use]
    pub fn key(&self) -> (ObjectKind, Symbol, Symbol) {
        let (namespace, name) = (self.metadata().namespace, self.metadata().name);
        match self.stored_kind() {
            // One kind here stands for many.
            Some(kind) => (self.kind(), namespace, Symbol::new(&format!("{}/{name}", kind.printed()))),
            None => (self.kind(), namespace, name),
        }
    }
}
