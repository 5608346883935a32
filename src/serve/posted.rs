//! What clients do to the Events that the run has posted. Those are no objects of the run: nothing of it is recorded.

use std::sync::Arc;

use serde_json::Value;

use super::audience::Choice;
use super::session::Session;
use crate::arena::Symbol;
use crate::rest::{ClientRequest, EventChange, Key, Path, Response, Status, Target, Traits, changed_event, in_group};

impl Session {
    /// Does to an Event what a client asks for; none if the run has posted no such Event.
    pub(super) fn write_event(
        &mut self,
        request: &ClientRequest,
        path: &Path,
        target: &Target,
    ) -> Option<Result<Response, Box<Status>>> {
        if target.resource.name() != "events" || !target.subresource.is_empty() {
            return None;
        }
        let key = Key::new("events", &target.namespace, &target.name);
        let live = Arc::clone(self.events.find(key.namespace, key.name)?);
        Some(changed_event(request, path, target, &live).map(|change| self.take(change, request, target, key)))
    }

    fn take(&mut self, change: EventChange, request: &ClientRequest, target: &Target, key: Key) -> Response {
        let is_done = !request.is_dry_run();
        match change {
            EventChange::Gone(response) => {
                if is_done {
                    self.drop_event(key);
                }
                response
            }
            EventChange::Other(event) => {
                let event = Arc::new(event);
                if is_done && self.events.find(key.namespace, key.name) != Some(&event) {
                    self.events.replace(key.namespace, key.name, Arc::clone(&event));
                    self.show_event(key, Some(&event));
                }
                let mut shown = in_group((*event).clone(), &target.resource);
                shown["metadata"]["resourceVersion"] = self.versions.of(key).to_string().into();
                Response::ok(shown)
            }
        }
    }

    fn drop_event(&mut self, key: Key) {
        if self.events.remove(key.namespace, key.name).is_some() {
            self.show_event(key, None);
        }
    }

    /// Those of a namespace that is gone go with it.
    pub(super) fn drop_events_of(&mut self, namespace: Symbol) {
        let of_it = self.events.iter().filter(|posted| posted.namespace == namespace);
        let keys: Vec<Key> = of_it.map(|of| Key::new("events", of.namespace.as_str(), of.name.as_str())).collect();
        keys.into_iter().for_each(|key| self.drop_event(key));
    }

    /// DELETE of a collection of Events takes those along that it chooses, and tells of them, too.
    ///
    /// # Errors
    /// 400 of selectors that cannot be read.
    pub(super) fn drop_chosen_events(
        &mut self,
        path: &Path,
        target: &Target,
        response: &mut Response,
    ) -> Result<(), Box<Status>> {
        if target.resource.name() != "events" || !response.body["items"].is_array() {
            return Ok(());
        }
        let (choice, resource) = (Choice::of(path, target)?, &target.resource);
        let mut gone: Vec<(Key, Value)> = Vec::new();
        for posted in self.events.iter() {
            let shown = in_group((*posted.object).clone(), resource);
            if choice.takes((posted.namespace, posted.name), &Traits::of(resource, &shown)) {
                gone.push((Key::new("events", posted.namespace.as_str(), posted.name.as_str()), shown));
            }
        }
        for (key, shown) in gone {
            self.drop_event(key);
            if let Some(items) = response.body["items"].as_array_mut() {
                items.push(shown);
            }
        }
        Ok(())
    }
}
