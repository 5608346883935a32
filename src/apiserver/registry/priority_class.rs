//! PriorityClasses.

use super::strategy::{Key, Strategy};
use crate::apiserver::admission;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::component::{Answer, ApiError, ErrorReason, Reply};
use crate::model::config::AdmissionPlugin;
use crate::model::{self, Object, PreemptionPolicy, SYSTEM_PRIORITY_CLASSES};
use crate::state::{PriorityClass, PriorityClassId, Store};

impl Strategy for model::PriorityClass {
    type Id = PriorityClassId;
    const RESOURCE: &'static str = "priorityclasses.scheduling.k8s.io";

    fn find(store: &Store, key: &Key) -> Option<PriorityClassId> {
        store.priority_classes.iter().find(|(_, class)| class.name == key.name).map(|(id, _)| id)
    }

    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        refuse_second_default(&self, api, s)?;
        api.admission.clear();
        s.store.priority_classes.insert(PriorityClass {
            name: self.metadata.name,
            value: self.value,
            global_default: self.global_default,
            never_preempts: self.preemption_policy == Some(PreemptionPolicy::Never),
            created_at: api.instant(self.metadata.creation_timestamp, s.now),
        });
        Ok(Reply::Done)
    }

    /// Value and policy stay as they are.
    fn replace(self, api: &mut ApiServer, s: &mut Session<'_>, id: PriorityClassId) -> Answer {
        refuse_second_default(&self, api, s)?;
        let held = &mut s.store.priority_classes[id];
        if std::mem::replace(&mut held.global_default, self.global_default) == self.global_default {
            return Ok(Reply::Unchanged);
        }
        api.admission.clear();
        Ok(Reply::Done)
    }

    fn admit_deletion(key: &Key) -> Result<(), ApiError> {
        if SYSTEM_PRIORITY_CLASSES.iter().all(|(system, _)| key.name != *system) {
            return Ok(());
        }
        let why = "this is a system priority class and cannot be deleted";
        Err(ApiError::new(ErrorReason::Forbidden, format!("{} \"{}\" is forbidden: {why}", Self::RESOURCE, key.name)))
    }

    fn delete(api: &mut ApiServer, s: &mut Session<'_>, id: PriorityClassId) -> Answer {
        api.admission.clear();
        s.store.priority_classes.remove(id);
        Ok(Reply::Done)
    }

    fn present(store: &Store, id: PriorityClassId) -> Option<Object> {
        let class = store.priority_classes.get(id)?;
        let policy =
            if class.never_preempts { PreemptionPolicy::Never } else { PreemptionPolicy::PreemptLowerPriority };
        Some(Object::from(Self {
            value: class.value,
            global_default: class.global_default,
            preemption_policy: Some(policy),
            ..Self::default()
        }))
    }

    fn inherit(&mut self, present: &Object) {
        if let Object::PriorityClass(present) = present {
            self.preemption_policy = self.preemption_policy.or(present.preemption_policy);
        }
    }
}

/// # Source
/// Admission plugin Priority: one class at most is the default of all. Of several that the input has none is refused.
fn refuse_second_default(new: &model::PriorityClass, api: &ApiServer, s: &Session<'_>) -> Result<(), ApiError> {
    if !new.global_default || api.is_restoring || !s.config.kube_apiserver.admits_with(AdmissionPlugin::Priority) {
        return Ok(());
    }
    let name = new.metadata.name;
    let Some(other) = admission::global_default(s.store).filter(|other| other.name != name) else { return Ok(()) };
    let why = format!("PriorityClass {} is already marked as default. Only one default can exist", other.name);
    let message = format!("{} \"{name}\" is forbidden: {why}", model::PriorityClass::RESOURCE);
    Err(ApiError::new(ErrorReason::Forbidden, message))
}
