//! LimitRanges: what they say counts for the pods and claims that come; who they are stands among the stored objects.

use std::sync::Arc;

use super::stored;
use super::strategy::{Key, Strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::arena::Symbol;
use crate::component::{Answer, Reply};
use crate::model::{LimitRange, LimitRangeSpec, Object, ObjectKind, StoredObject};
use crate::state::Store;

impl Strategy for LimitRange {
    type Id = (Symbol, Symbol);
    const RESOURCE: &'static str = "limitranges";

    fn find(store: &Store, key: &Key) -> Option<(Symbol, Symbol)> {
        let key = (key.namespace, key.name);
        store.limit_ranges.contains_key(&key).then_some(key)
    }

    fn create(mut self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        self.apply_defaults();
        let (key, spec) = ((self.metadata.namespace, self.metadata.name), Arc::new(self.spec.clone()));
        stored::insert(api, s, &StoredObject::from(&Object::from(self)));
        api.admission.clear();
        s.store.limit_ranges.insert(key, spec);
        Ok(Reply::Done)
    }

    fn replace(mut self, api: &mut ApiServer, s: &mut Session<'_>, key: (Symbol, Symbol)) -> Answer {
        self.apply_defaults();
        let spec = Arc::new(self.spec.clone());
        let reply = stored::write(s, &StoredObject::from(&Object::from(self)));
        api.admission.clear();
        s.store.limit_ranges.insert(key, spec);
        Ok(reply)
    }

    fn delete(api: &mut ApiServer, s: &mut Session<'_>, key: (Symbol, Symbol)) -> Answer {
        stored::remove(s, ObjectKind::LimitRange, key.0, key.1);
        api.admission.clear();
        s.store.limit_ranges.remove(&key);
        Ok(Reply::Done)
    }

    fn present(store: &Store, key: (Symbol, Symbol)) -> Option<Object> {
        let spec = LimitRangeSpec::clone(store.limit_ranges.get(&key)?);
        Some(Object::from(Self { spec, ..Self::default() }))
    }
}
