//! RuntimeClasses: what they say counts for the pods that come; who they are stands among the stored objects.

use std::sync::Arc;

use super::stored;
use super::strategy::{Key, Strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::arena::Symbol;
use crate::component::{Answer, Reply};
use crate::model::{Object, ObjectKind, RuntimeClass, StoredObject};
use crate::state::Store;

impl Strategy for RuntimeClass {
    type Id = Symbol;
    const RESOURCE: &'static str = "runtimeclasses.node.k8s.io";

    fn find(store: &Store, key: &Key) -> Option<Symbol> {
        store.runtime_classes.contains_key(&key.name).then_some(key.name)
    }

    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        stored::insert(api, s, &StoredObject::from(&Object::from(self.clone())));
        api.admission.clear();
        s.store.runtime_classes.insert(self.metadata.name, Arc::new(self));
        Ok(Reply::Done)
    }

    fn replace(self, api: &mut ApiServer, s: &mut Session<'_>, name: Symbol) -> Answer {
        let reply = stored::write(s, &StoredObject::from(&Object::from(self.clone())));
        api.admission.clear();
        s.store.runtime_classes.insert(name, Arc::new(self));
        Ok(reply)
    }

    fn delete(api: &mut ApiServer, s: &mut Session<'_>, name: Symbol) -> Answer {
        stored::remove(s, ObjectKind::RuntimeClass, Symbol::empty(), name);
        api.admission.clear();
        s.store.runtime_classes.remove(&name);
        Ok(Reply::Done)
    }
}
