//! Services: only what finds their pods.

use super::api_type::api_structs;
use super::meta::{Labels, ObjectMeta};
use crate::arena::Symbol;

api_structs! {
    /// A service.
    pub struct Service {
        pub metadata: ObjectMeta,
        pub spec: ServiceSpec,
    }

    /// Which pods a service leads to. A service without a selector leads to none of ours.
    #[derive(Eq)]
    pub struct ServiceSpec {
        pub selector: Labels,
        #[serde(rename = "clusterIP")]
        pub cluster_ip: Option<Symbol>,
        pub publish_not_ready_addresses: bool,
        #[serde(rename = "type")]
        pub service_type: Option<Symbol>,
    }
}

impl Service {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.spec.service_type.get_or_insert_with(|| Symbol::from("ClusterIP"));
    }
}
