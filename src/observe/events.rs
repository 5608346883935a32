//! `events.csv`: what `kubectl get events` would have shown, and each timeline action and fault.

use std::sync::Arc;

use crate::arena::Symbol;
use crate::component::EventDraft;
use crate::state::Store;
use crate::units::SimTime;

/// A row of `events.csv`.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// When it reached the API server.
    pub at: SimTime,
    /// `source.component`, or `scenario`.
    pub component: &'static str,
    /// Normal or Warning.
    pub event_type: &'static str,
    /// The API's reason.
    pub reason: &'static str,
    /// Kind of the object it is about.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: Symbol,
    /// Its name.
    pub name: Arc<str>,
    /// The node it concerns.
    pub node: Symbol,
    /// The text.
    pub message: String,
}

#[derive(Debug, Default)]
pub(super) struct Events {
    rows: Vec<EventRow>,
}

impl Events {
    pub(super) fn recorded(&mut self, at: SimTime, component: &'static str, event: &EventDraft, store: &Store) {
        let node = match event.node {
            Some(node) => store.node_name(node),
            None if event.about.kind == "Node" => Symbol::new(&event.about.name),
            None => Symbol::default(),
        };
        self.rows.push(EventRow {
            at,
            component,
            event_type: event.event_type.as_str(),
            reason: event.reason,
            kind: event.about.kind,
            namespace: event.about.namespace,
            name: Arc::clone(&event.about.name),
            node,
            message: event.message.clone(),
        });
    }

    pub(super) fn finish(self) -> Vec<EventRow> {
        self.rows
    }
}
