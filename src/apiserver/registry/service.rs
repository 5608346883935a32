//! Services and their EndpointSlices.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::strategy::{Key, Strategy, replace};
use crate::apiserver::resource_quota;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, not_found};
use crate::component::{Answer, ApiError, Counted, Reply};
use crate::model::field_path::FieldPath;
use crate::model::validation::{ErrorKind, FieldError};
use crate::model::{self, Object, ObjectKind};
use crate::state::{Changed, Endpoint, Service, ServiceId, Store};

impl Strategy for model::Service {
    type Id = ServiceId;
    const RESOURCE: &'static str = "services";

    fn find(store: &Store, key: &Key) -> Option<ServiceId> {
        let is_it = |service: &Service| (service.meta.namespace, service.meta.name) == (key.namespace, key.name);
        store.services.iter().find(|(_, service)| is_it(service)).map(|(id, _)| id)
    }

    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        if !api.is_restoring {
            check_node_ports(s, &self, None)?;
            let of = (Self::RESOURCE, self.metadata.name.as_str());
            let new = Counted::Service(&self.spec);
            resource_quota::charge(s, self.metadata.namespace, of, new, None)?.commit(s);
        }
        let meta = api.meta(s, "Service", &self.metadata);
        let id = s.store.services.insert(Service { meta, spec: Arc::new(self.spec), slices: BTreeMap::new() });
        s.changed.push(Changed::ServiceChanged(id));
        Ok(Reply::Done)
    }

    fn replace(mut self, _api: &mut ApiServer, s: &mut Session<'_>, id: ServiceId) -> Answer {
        let old = &s.store.services[id].spec;
        self.spec.drop_type_dependent(old);
        check_node_ports(s, &self, Some(id))?;
        let old = &s.store.services[id].spec;
        let of = (Self::RESOURCE, self.metadata.name.as_str());
        let (new, old) = (Counted::Service(&self.spec), Counted::Service(old));
        resource_quota::charge(s, self.metadata.namespace, of, new, Some(old))?.commit(s);
        let held = &mut s.store.services[id];
        if replace(&mut held.meta, &self.metadata, &mut held.spec, self.spec).is_none() {
            return Ok(Reply::Unchanged);
        }
        s.changed.push(Changed::ServiceChanged(id));
        Ok(Reply::Done)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: ServiceId) -> Answer {
        s.store.services.remove(id);
        s.changed.push(Changed::ServiceRemoved(id));
        Ok(Reply::Done)
    }

    fn present(store: &Store, id: ServiceId) -> Option<Object> {
        let spec = model::ServiceSpec::clone(&store.services.get(id)?.spec);
        Some(Object::from(Self { spec, ..Self::default() }))
    }

    fn inherit(&mut self, present: &Object) {
        if let Object::Service(present) = present {
            self.spec.cluster_ip = self.spec.cluster_ip.or(present.spec.cluster_ip);
        }
    }
}

/// The ports of nodes that a Service names, with their places in its list.
fn node_ports(spec: &model::ServiceSpec) -> Vec<(usize, i64)> {
    let ports = serde_json::from_str::<serde_json::Value>(spec.ports.as_json()).unwrap_or_default();
    let list = ports.as_array().map_or(&[][..], Vec::as_slice).iter().enumerate();
    list.filter_map(|(index, port)| Some((index, port["nodePort"].as_i64().filter(|number| *number != 0)?))).collect()
}

/// # Source
/// kube-apiserver, service storage, `initNodePorts` and `updateNodePorts`; a number is taken whatever its protocol.
///
/// # Errors
/// 422, if another Service has a port of nodes, or it is none that Services may have.
fn check_node_ports(s: &Session<'_>, new: &model::Service, id: Option<ServiceId>) -> Result<(), ApiError> {
    let range = s.config.kube_apiserver.service_node_port_range;
    let own: Vec<i64> = id
        .and_then(|id| s.store.services.get(id))
        .map_or_else(Vec::new, |service| node_ports(&service.spec).into_iter().map(|(_, number)| number).collect());
    let is_taken = |number: i64| {
        let others = s.store.services.iter().filter(|(other, _)| Some(*other) != id);
        others.into_iter().any(|(_, service)| node_ports(&service.spec).iter().any(|(_, port)| *port == number))
    };
    for (index, number) in node_ports(&new.spec).into_iter().filter(|(_, number)| !own.contains(number)) {
        let detail = if !range.contains(number) {
            format!("provided port is not in the valid range. The range of valid ports is {range}")
        } else if is_taken(number) {
            "provided port is already allocated".to_owned()
        } else {
            continue;
        };
        let error = FieldError {
            field: format!("spec.ports[{index}].nodePort"),
            kind: ErrorKind::Invalid,
            value: Some(number.to_string()),
            detail,
            path: FieldPath::default(),
        };
        return Err(ApiError::invalid(ObjectKind::Service, new.metadata.name.as_str(), &[error]));
    }
    Ok(())
}

/// Writes one EndpointSlice.
pub(in crate::apiserver) fn put_endpoint_slice(
    s: &mut Session<'_>,
    id: ServiceId,
    number: u32,
    endpoints: Arc<[Endpoint]>,
) -> Answer {
    let Some(service) = s.store.services.get_mut(id) else { return Err(not_found("services", "")) };
    if endpoints.is_empty() && service.slices.keys().any(|other| *other != number) {
        service.slices.remove(&number);
    } else {
        service.slices.insert(number, endpoints);
    }
    s.changed.push(Changed::EndpointsChanged(id));
    Ok(Reply::Done)
}
