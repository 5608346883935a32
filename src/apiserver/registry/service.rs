//! Services and their EndpointSlices.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::strategy::{Key, Strategy, replace};
use crate::apiserver::resource_quota;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, not_found};
use crate::component::{Answer, Counted, Reply};
use crate::model::{self, Object};
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
