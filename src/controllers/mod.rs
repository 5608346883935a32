//! kube-controller-manager: one file per controller, named as the real one without its suffix.
//!
//! A controller sees the others' work only in the store. None of them imports another.

pub mod attach_detach;
pub mod cloud_node_lifecycle;
pub mod cron_job;
pub mod daemon_set;
pub mod deployment;
pub mod disruption;
pub mod endpoint_slice;
pub mod garbage_collector;
pub mod horizontal_pod_autoscaler;
pub mod job;
pub mod namespace;
pub mod node_lifecycle;
pub mod persistent_volume;
pub mod pod_gc;
pub mod replica_set;
pub mod resource_quota;
pub mod service_account;
pub mod stateful_set;
pub mod taint_eviction;

#[cfg(test)]
mod cron_job_tests;
#[cfg(test)]
mod daemon_set_tests;
#[cfg(test)]
mod disruption_tests;
#[cfg(test)]
mod endpoint_slice_tests;
#[cfg(test)]
mod job_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod volume_tests;
