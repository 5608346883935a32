//! ControllerRevisions.

use std::sync::Arc;

use super::strategy::{Key, Strategy};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::apiserver::workloads;
use crate::arena::Symbol;
use crate::component::{Answer, Reply};
use crate::model::{self, PodTemplateSpec};
use crate::state::{ControllerRevision, ControllerRevisionId, Store};

impl Strategy for model::ControllerRevision {
    type Id = ControllerRevisionId;
    const RESOURCE: &'static str = "controllerrevisions.apps";

    fn find(store: &Store, key: &Key) -> Option<ControllerRevisionId> {
        let is_it = |held: &ControllerRevision| (held.meta.namespace, held.meta.name) == (key.namespace, key.name);
        store.controller_revisions.iter().find(|(_, held)| is_it(held)).map(|(id, _)| id)
    }

    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        let hash = self.metadata.labels.get(Symbol::new("controller-revision-hash")).unwrap_or_else(|| {
            let name = self.metadata.name.as_str();
            Symbol::new(name.rsplit_once('-').map_or(name, |(_, hash)| hash))
        });
        let template = self.data.as_ref().and_then(|d| d.pointer("/spec/template"));
        let mut template: PodTemplateSpec =
            template.and_then(|template| model::manifest::from_value(template).ok()).unwrap_or_default();
        template.spec.apply_defaults();
        let meta = api.meta(s, "ControllerRevision", &self.metadata);
        let revision = ControllerRevision { meta, hash, revision: self.revision, template: Arc::new(template) };
        Ok(Reply::Revision(s.store.insert_revision(revision)))
    }

    /// What it holds never changes.
    fn replace(self, _api: &mut ApiServer, _s: &mut Session<'_>, _id: ControllerRevisionId) -> Answer {
        Ok(Reply::Unchanged)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: ControllerRevisionId) -> Answer {
        workloads::delete_revision(s, id)
    }
}
