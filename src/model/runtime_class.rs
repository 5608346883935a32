//! Runtime classes.

use super::api_type::api_structs;
use super::meta::{Labels, ObjectMeta, Opaque};
use super::resources::ResourceList;
use super::taint::Toleration;

api_structs! {
    /// How the containers of some pods are run, and what that costs.
    pub struct RuntimeClass {
        pub metadata: ObjectMeta,
        pub handler: Opaque,
        pub overhead: Option<Overhead>,
        pub scheduling: Option<RuntimeClassScheduling>,
    }

    /// What a pod takes besides what its containers do.
    pub struct Overhead {
        pub pod_fixed: ResourceList,
    }

    /// The nodes that have the runtime.
    #[derive(Eq)]
    pub struct RuntimeClassScheduling {
        pub node_selector: Labels,
        pub tolerations: Vec<Toleration>,
    }
}
