//! `events.csv`: what `kubectl get events` would have shown, and each timeline action and fault.

use std::sync::Arc;

use super::Detail;
use super::observer::{Keeps, Observer, Seen};
use super::table::{Column, Row, Table};
use crate::arena::Symbol;
use crate::component::{InvolvedKind, Record};
use crate::model::ObjectKind;
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

/// The kind of lines that are typed, in place of an object's.
pub const KUBECTL_KIND: &str = InvolvedKind::Kubectl.as_str();

impl Row for EventRow {
    const TABLE: Table<Self> = Table {
        file: "events.csv",
        holds: "what `kubectl get events` would have shown, and each timeline action and fault (`component=scenario`)",
        columns: &[
            Column::time("time_s", "when it reached the API server", |row| row.at),
            Column::text("component", "`source.component`, or `scenario`", |row| row.component),
            Column::text("type", "Normal or Warning", |row| row.event_type),
            Column::text("reason", "the API's reason", |row| row.reason),
            Column::text("kind", "kind of the object that it is about", |row| row.kind),
            Column::text("namespace", "that object's namespace", |row| row.namespace.as_str()),
            Column::text("name", "that object's name; of a fault, its kind and when it began", |row| &row.name),
            Column::text("node", "the node that it concerns", |row| row.node.as_str()),
            Column::text("message", "the text", |row| &row.message),
        ],
    };
}

#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    rows: Vec<EventRow>,
}

impl Observer for Events {
    const NEEDED_FOR: Detail = Detail::Files;

    fn recorded(&mut self, record: &Record, seen: &Seen<'_>) {
        let Record::Event { component, event } = record else { return };
        let node = match event.node {
            Some(node) => seen.store.node_name(node),
            None if event.about.kind == InvolvedKind::Object(ObjectKind::Node) => Symbol::new(&event.about.name),
            None => Symbol::default(),
        };
        self.rows.push(EventRow {
            at: seen.now,
            component,
            event_type: event.event_type.as_str(),
            reason: event.reason,
            kind: event.about.kind.as_str(),
            namespace: event.about.namespace,
            name: Arc::clone(&event.about.name),
            node,
            message: event.message.clone(),
        });
    }
}

impl Keeps<EventRow> for Events {
    fn take_rows(&mut self) -> Vec<EventRow> {
        std::mem::take(&mut self.rows)
    }
}
