//! ResourceQuotas: what they allow is enforced; who they are stands among the stored objects.

use std::sync::Arc;

use super::stored;
use super::strategy::{Key, Strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, not_found};
use crate::apiserver::workloads::modified;
use crate::component::{Answer, Reply, quota_usage};
use crate::model::{Object, ObjectKind, ResourceList, ResourceQuota, ResourceQuotaSpec, StoredObject};
use crate::state::{Changed, Quota, QuotaKey, Store};

impl Strategy for ResourceQuota {
    type Id = QuotaKey;
    const RESOURCE: &'static str = "resourcequotas";

    fn find(store: &Store, key: &Key) -> Option<QuotaKey> {
        let key = (key.namespace, key.name);
        store.quotas.contains_key(&key).then_some(key)
    }

    /// One of the input has long been counted: what it allows is enforced from the start.
    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        let (key, spec) = ((self.metadata.namespace, self.metadata.name), Arc::new(self.spec.clone()));
        let (mut hard, mut used) = (self.status.hard.clone(), self.status.used.clone());
        stored::insert(api, s, &StoredObject::from(&Object::from(self)));
        if api.is_restoring && hard.is_empty() {
            hard.clone_from(&spec.hard);
            used = quota_usage(s.store, key.0, &spec, s.now);
        }
        s.store.quotas.insert(key, Quota { spec, hard, used, version: 1 });
        s.changed.push(Changed::QuotaChanged(key));
        Ok(Reply::Done)
    }

    fn replace(self, _api: &mut ApiServer, s: &mut Session<'_>, key: QuotaKey) -> Answer {
        let spec = Arc::new(self.spec.clone());
        if let Reply::Unchanged = stored::write(s, &StoredObject::from(&Object::from(self))) {
            return Ok(Reply::Unchanged);
        }
        if let Some(held) = s.store.quotas.get_mut(&key) {
            held.spec = spec;
            held.version += 1;
        }
        s.changed.push(Changed::QuotaChanged(key));
        Ok(Reply::Done)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, key: QuotaKey) -> Answer {
        stored::remove(s, ObjectKind::ResourceQuota, key.0, key.1);
        s.store.quotas.remove(&key);
        Ok(Reply::Done)
    }

    fn present(store: &Store, key: QuotaKey) -> Option<Object> {
        let spec = ResourceQuotaSpec::clone(&store.quotas.get(&key)?.spec);
        Some(Object::from(Self { spec, ..Self::default() }))
    }
}

/// What the controller has found to be used, from the version of the quota that it read.
pub(in crate::apiserver) fn update_status(
    s: &mut Session<'_>,
    key: QuotaKey,
    read_version: u64,
    (hard, used): (ResourceList, ResourceList),
) -> Answer {
    let quota = s.store.quotas.get_mut(&key).ok_or_else(|| not_found(ResourceQuota::RESOURCE, key.1.as_str()))?;
    if quota.version != read_version {
        return Err(modified(ResourceQuota::RESOURCE, key.1));
    }
    (quota.hard, quota.used) = (hard, used);
    quota.version += 1;
    Ok(Reply::Done)
}
