//! StorageClasses, CSIDrivers and CSINodes.

use std::sync::Arc;

use super::strategy::{Key, Strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::arena::Symbol;
use crate::component::{Answer, Reply};
use crate::model::{CSIDriver, CSINode, Object, StorageClass, VolumeBindingMode};
use crate::state::{Changed, Store};

fn changed(s: &mut Session<'_>) -> Answer {
    s.changed.push(Changed::StorageChanged);
    Ok(Reply::Done)
}

impl Strategy for StorageClass {
    type Id = Symbol;
    const RESOURCE: &'static str = "storageclasses.storage.k8s.io";

    fn find(store: &Store, key: &Key) -> Option<Symbol> {
        store.volumes.class(key.name).map(|_| key.name)
    }

    fn create(self, _api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        s.store.volumes.classes.push(Arc::new(self));
        changed(s)
    }

    fn replace(mut self, _api: &mut ApiServer, s: &mut Session<'_>, name: Symbol) -> Answer {
        self.apply_defaults();
        let mut classes = s.store.volumes.classes.iter_mut();
        match classes.find(|class| class.metadata.name == name) {
            Some(held) if **held != self => *held = Arc::new(self),
            _ => return Ok(Reply::Unchanged),
        }
        changed(s)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, name: Symbol) -> Answer {
        s.store.volumes.classes.retain(|class| class.metadata.name != name);
        changed(s)
    }

    fn present(store: &Store, name: Symbol) -> Option<Object> {
        Some(Object::from(Self::clone(store.volumes.class(name)?)))
    }

    fn inherit(&mut self, present: &Object) {
        let Object::StorageClass(present) = present else { return };
        self.reclaim_policy = self.reclaim_policy.or(present.reclaim_policy);
        self.parameters = if self.parameters.is_none() { present.parameters } else { self.parameters };
        if self.volume_binding_mode == VolumeBindingMode::default() {
            self.volume_binding_mode = present.volume_binding_mode;
        }
    }
}

impl Strategy for CSIDriver {
    type Id = Symbol;
    const RESOURCE: &'static str = "csidrivers.storage.k8s.io";

    fn find(store: &Store, key: &Key) -> Option<Symbol> {
        store.volumes.drivers.iter().find(|driver| driver.metadata.name == key.name).map(|_| key.name)
    }

    fn create(self, _api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        s.store.volumes.drivers.push(Arc::new(self));
        changed(s)
    }

    fn replace(self, api: &mut ApiServer, s: &mut Session<'_>, name: Symbol) -> Answer {
        let drivers = &mut s.store.volumes.drivers;
        if drivers.iter().any(|driver| **driver == self) {
            return Ok(Reply::Unchanged);
        }
        drivers.retain(|driver| driver.metadata.name != name);
        self.create(api, s)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, name: Symbol) -> Answer {
        s.store.volumes.drivers.retain(|driver| driver.metadata.name != name);
        changed(s)
    }
}

impl Strategy for CSINode {
    type Id = Symbol;
    const RESOURCE: &'static str = "csinodes.storage.k8s.io";

    fn find(store: &Store, key: &Key) -> Option<Symbol> {
        store.volumes.csi_nodes.contains_key(&key.name).then_some(key.name)
    }

    fn create(self, _api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        s.store.volumes.csi_nodes.insert(self.metadata.name, Arc::new(self));
        changed(s)
    }

    fn replace(self, api: &mut ApiServer, s: &mut Session<'_>, name: Symbol) -> Answer {
        if s.store.volumes.csi_nodes.get(&name).is_some_and(|held| **held == self) {
            return Ok(Reply::Unchanged);
        }
        self.create(api, s)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, name: Symbol) -> Answer {
        s.store.volumes.csi_nodes.remove(&name);
        changed(s)
    }
}
