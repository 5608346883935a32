//! What objects are called in chains of causes: `pod/shop/web-0`, `node/worker-1`.

use crate::state::{NodeId, Pod, PodId, Store, WorkloadId};

/// A pod's name, as sentences and chains of causes have it.
#[must_use]
pub fn name_of_pod(pod: &Pod) -> String {
    format!("pod/{}/{}", pod.namespace, pod.name)
}

/// The name of a pod that may be gone.
#[must_use]
pub fn pod_name(store: &Store, id: PodId) -> String {
    store.pod(id).map_or_else(|| "a pod that is gone".to_owned(), name_of_pod)
}

/// A node's name, as chains of causes have it.
#[must_use]
pub fn node_name(store: &Store, id: NodeId) -> String {
    format!("node/{}", store.node_name(id))
}

/// A workload's name, as chains of causes have it.
#[must_use]
pub fn workload_name(store: &Store, id: WorkloadId) -> String {
    let kind = store.workload_kind(id).as_str().to_ascii_lowercase();
    let gone = || format!("a {kind} that is gone");
    store.workload_meta(id).map_or_else(gone, |m| format!("{kind}/{}/{}", m.namespace, m.name))
}
