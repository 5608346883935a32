//! The kinds of workloads: one line each, and what all of them have.

use std::sync::Arc;

use super::meta::{Meta, Owner};
use super::store::Store;
use super::workloads::{
    CronJob, CronJobStatus, DaemonSet, DaemonSetStatus, Deployment, DeploymentStatus, Job, JobStatus, ReplicaSet,
    ReplicaSetStatus, StatefulSet, StatefulSetStatus,
};
use crate::arena::{Id, Table};
use crate::model::{self, ObjectKind};

/// A kind of workload: an object with metadata, a spec and a status in a table of the store.
pub trait Workload: Sized {
    /// Its spec.
    type Spec: PartialEq;
    /// Its status.
    type Status: PartialEq;

    /// An object of the kind as any workload.
    fn workload_id(id: Id<Self>) -> WorkloadId;

    /// The object, if it is of this kind.
    fn of_kind(id: WorkloadId) -> Option<Id<Self>>;

    /// All objects of the kind.
    fn table(store: &Store) -> &Table<Self>;

    /// The same, for writing; names and owners have functions of their own, which keep the indexes.
    fn table_mut(store: &mut Store) -> &mut Table<Self>;

    /// Metadata and spec, for writing.
    fn parts_mut(&mut self) -> (&mut Meta, &mut Arc<Self::Spec>);

    /// Its status, for writing.
    fn status_mut(&mut self) -> &mut Self::Status;
}

macro_rules! workloads {
    ($($kind:ident: $spec:ident, $status:ident, in $table:ident, $resource:literal;)+) => {
        /// Any workload object.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "variants are the kinds")]
        pub enum WorkloadId {
            $($kind(Id<$kind>),)+
        }

        impl WorkloadId {
            /// The API kind.
            #[must_use]
            pub fn kind(self) -> ObjectKind {
                match self { $(Self::$kind(_) => ObjectKind::$kind,)+ }
            }

            /// Resource and group, as messages of the API server name them.
            #[must_use]
            pub fn resource(self) -> &'static str {
                match self { $(Self::$kind(_) => $resource,)+ }
            }

            /// The same reference as an owner.
            #[must_use]
            pub fn as_owner(self) -> Owner {
                match self { $(Self::$kind(id) => Owner::$kind(id),)+ }
            }

            /// The workload that an owner reference names, if it is one.
            #[must_use]
            pub fn from_owner(owner: Owner) -> Option<Self> {
                match owner {
                    $(Owner::$kind(id) => Some(Self::$kind(id)),)+
                    Owner::Node(_) | Owner::Foreign { .. } => None,
                }
            }
        }

        $(impl Workload for $kind {
            type Spec = model::$spec;
            type Status = $status;

            fn workload_id(id: Id<Self>) -> WorkloadId {
                WorkloadId::$kind(id)
            }

            fn of_kind(id: WorkloadId) -> Option<Id<Self>> {
                if let WorkloadId::$kind(id) = id { Some(id) } else { None }
            }

            fn table(store: &Store) -> &Table<Self> {
                &store.$table
            }

            fn table_mut(store: &mut Store) -> &mut Table<Self> {
                &mut store.$table
            }

            fn parts_mut(&mut self) -> (&mut Meta, &mut Arc<Self::Spec>) {
                (&mut self.meta, &mut self.spec)
            }

            fn status_mut(&mut self) -> &mut Self::Status {
                &mut self.status
            }
        })+

        impl Store {
            /// Every workload, kind after kind, in the order of creation.
            pub fn workload_ids(&self) -> impl Iterator<Item = WorkloadId> + '_ {
                std::iter::empty()$(.chain(self.$table.ids().map(WorkloadId::$kind)))+
            }

            /// Metadata of a workload, if it exists.
            #[must_use]
            pub fn workload_meta(&self, id: WorkloadId) -> Option<&Meta> {
                match id { $(WorkloadId::$kind(id) => self.$table.get(id).map(|object| &object.meta),)+ }
            }

            /// Metadata of a workload for writing; the owner has a function of its own.
            pub fn workload_meta_mut(&mut self, id: WorkloadId) -> Option<&mut Meta> {
                match id { $(WorkloadId::$kind(id) => self.$table.get_mut(id).map(|object| &mut object.meta),)+ }
            }

            /// Takes a workload out.
            pub fn remove_workload(&mut self, id: WorkloadId) {
                self.unindex_workload(id);
                match id { $(WorkloadId::$kind(id) => drop(self.$table.remove(id)),)+ }
            }
        }
    };
}

workloads! {
    Deployment: DeploymentSpec, DeploymentStatus, in deployments, "deployments.apps";
    ReplicaSet: ReplicaSetSpec, ReplicaSetStatus, in replica_sets, "replicasets.apps";
    DaemonSet: DaemonSetSpec, DaemonSetStatus, in daemon_sets, "daemonsets.apps";
    StatefulSet: StatefulSetSpec, StatefulSetStatus, in stateful_sets, "statefulsets.apps";
    Job: JobSpec, JobStatus, in jobs, "jobs.batch";
    CronJob: CronJobSpec, CronJobStatus, in cron_jobs, "cronjobs.batch";
}
