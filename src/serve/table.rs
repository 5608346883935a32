//! Objects as rows, as `kubectl get` asks for them.
//!
//! # Source
//! apiserver, `transformResponseObject` and the printers of each kind; apiextensions, `additionalPrinterColumns`.

use serde_json::{Value, json};

use crate::kubectl::objects::{Missing, Template, columns_of, human};
use crate::rest::Resource;
use crate::units::SimDuration;

/// How much of each object goes with its row.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Included {
    Nothing,
    Metadata,
    Whole,
}

impl Included {
    pub(super) fn parse(text: Option<&str>) -> Self {
        match text {
            Some("None") => Self::Nothing,
            Some("Object") => Self::Whole,
            _ => Self::Metadata,
        }
    }
}

fn column(name: &str, priority: u8) -> Value {
    let format = if name == "Name" { "name" } else { "" };
    json!({"name": name, "type": "string", "format": format, "description": "", "priority": priority})
}

/// Headings are printed in capitals, whatever they are here.
fn titled(heading: &str) -> String {
    let mut letters = heading.chars();
    let first = letters.next().map(String::from).unwrap_or_default();
    first + &letters.as_str().to_lowercase()
}

/// The columns of a resource.
pub(super) fn columns(resource: &Resource) -> Value {
    if resource.is_fault() {
        let names = ["Name", "Kind", "Hit", "For", "Phase", "Age"];
        return names.iter().map(|name| column(name, 0)).collect();
    }
    if resource.name() == "events" {
        let usual = ["Last Seen", "Type", "Reason", "Object"].map(|name| column(name, 0));
        let wide = ["Subobject", "Source"].map(|name| column(name, 1));
        let more = ["First Seen", "Count", "Name"].map(|name| column(name, 1));
        return usual.into_iter().chain(wide).chain([column("Message", 0)]).chain(more).collect();
    }
    if !resource.printer_columns.is_empty() {
        let own = resource.printer_columns.iter().map(|of| column(&of.name, u8::from(of.is_wide)));
        return [column("Name", 0)].into_iter().chain(own).collect();
    }
    let (usual, wide) = columns_of(resource.kind);
    let usual = usual.iter().map(|heading| column(&titled(heading), 0));
    let wide = wide.iter().map(|heading| column(&titled(heading), 1));
    [column("Name", 0)].into_iter().chain(usual).chain(wide).collect()
}

/// The cells of a custom resource whose definition says what they hold.
pub(super) fn own_cells(
    resource: &Resource,
    object: &Value,
    age_of: &dyn Fn(&str) -> Option<SimDuration>,
) -> Vec<String> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let cell = |of: &crate::rest::PrinterColumn| {
        let template = Template::relaxed(&of.path).ok()?;
        let text = template.print(object, Missing::Allowed).ok()?;
        if of.is_date { age_of(&text).map(human) } else { Some(text) }
    };
    let own = resource.printer_columns.iter().map(|of| cell(of).unwrap_or_default());
    [name].into_iter().chain(own).collect()
}

/// Names in one cell of what a fault has hit.
const NAMES_MAX: usize = 3;

/// The cells of a fault.
pub(super) fn fault_cells(object: &Value, age: SimDuration) -> Vec<String> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let length = text("/spec/for");
    let targets: Vec<&str> =
        object["status"]["targets"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let hit = match targets.as_slice() {
        [] => "<none>".to_owned(),
        few if few.len() <= NAMES_MAX => few.join(","),
        many => format!("{} + {} more", many[..NAMES_MAX].join(","), many.len() - NAMES_MAX),
    };
    let length = if length.is_empty() { "<none>".to_owned() } else { length };
    vec![text("/metadata/name"), text("/spec/kind"), hit, length, text("/status/phase"), human(age)]
}

/// An object's metadata alone.
pub(super) fn metadata_of(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

/// One row.
pub(super) fn row(cells: &[String], object: &Value, included: Included) -> Value {
    match included {
        Included::Nothing => json!({"cells": cells}),
        Included::Metadata => json!({"cells": cells, "object": metadata_of(object)}),
        Included::Whole => json!({"cells": cells, "object": object}),
    }
}

/// Rows as the object that they are.
pub(super) fn table(columns: Option<Value>, rows: Vec<Value>, version: &str) -> Value {
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": version},
        "columnDefinitions": columns.unwrap_or_else(|| json!([])), "rows": rows,
    })
}
