//! Services: what finds their pods, and what the API server looks at.

use super::api_type::api_structs;
use super::meta::{Labels, ObjectMeta, Opaque};
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
        pub ports: Opaque,
        pub external_name: Option<Symbol>,
        pub session_affinity: Option<Symbol>,
        pub session_affinity_config: Opaque,
        pub external_traffic_policy: Opaque,
        pub internal_traffic_policy: Opaque,
        pub traffic_distribution: Opaque,
        pub health_check_node_port: Opaque,
        pub load_balancer_source_ranges: Opaque,
        pub allocate_load_balancer_node_ports: Opaque,
        pub load_balancer_class: Opaque,
        #[serde(rename = "externalIPs")]
        pub external_ips: Opaque,
    }
}

impl ServiceSpec {
    /// Whether EndpointSlices are kept for it: it selects pods, and is not a name for something outside.
    #[must_use]
    pub fn has_endpoint_slices(&self) -> bool {
        !self.selector.is_empty() && self.service_type.is_none_or(|service_type| service_type != "ExternalName")
    }

    /// Takes away what another type needed and nobody wrote anew, as `old` has become this.
    ///
    /// # Source
    /// kube-apiserver, service storage, `dropTypeDependentFields`.
    pub fn drop_type_dependent(&mut self, old: &Self) {
        let has_node_ports = |spec: &Self| spec.service_type.is_some_and(|t| t == "NodePort" || t == "LoadBalancer");
        let is_balancer = |spec: &Self| spec.service_type.is_some_and(|word| word == "LoadBalancer");
        let drop = |new: &mut Opaque, old: Opaque| {
            if *new == old {
                *new = Opaque::default();
            }
        };
        if has_node_ports(old) && !has_node_ports(self) {
            if self.ports == old.ports {
                self.ports = self.ports.map(|ports| {
                    for port in ports.as_array_mut().into_iter().flatten().filter_map(serde_json::Value::as_object_mut)
                    {
                        port.remove("nodePort");
                    }
                });
            }
            drop(&mut self.external_traffic_policy, old.external_traffic_policy);
        }
        if is_balancer(old) && !is_balancer(self) {
            drop(&mut self.health_check_node_port, old.health_check_node_port);
            drop(&mut self.allocate_load_balancer_node_ports, old.allocate_load_balancer_node_ports);
            drop(&mut self.load_balancer_class, old.load_balancer_class);
        }
    }
}

impl Service {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.spec.service_type.get_or_insert_with(|| Symbol::from("ClusterIP"));
    }
}
