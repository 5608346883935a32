//! `schema`: what documents look like, as JSON Schemas, which editors read.

use clap::{Args, ValueEnum};

use super::Ending;
use super::failure::Failure;
use super::ui::Ui;
use crate::{scenario, study};

/// Print the JSON Schema of a kind of document, for editors
///
/// Schemas are of draft 2020-12. The language server for YAML finds one by the first line of a document:
/// `# yaml-language-server: $schema=scenario.json`.
#[derive(Args, Debug)]
pub(super) struct SchemaArgs {
    /// The kind
    #[arg(value_enum, ignore_case = true)]
    kind: Kind,
}

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A cluster, and what happens to it
    Scenario,
    /// A scenario that is played with many values and seeds
    Study,
    /// What a cluster is to survive, and with how many nodes
    Plan,
    /// What goes wrong: `fault:` of a timeline
    Fault,
    /// The catalogue of a forecast: `forecast --catalog`
    Catalog,
}

pub(super) fn schema(arguments: &SchemaArgs, ui: &Ui) -> Result<Ending, Failure> {
    let schema = match arguments.kind {
        Kind::Scenario => scenario::schemas::of_scenario(),
        Kind::Study => study::schema(),
        Kind::Plan => study::plan::schema(),
        Kind::Fault => scenario::schemas::of_fault(),
        Kind::Catalog => study::forecast::catalog_schema(),
    };
    ui.json(&schema)?;
    Ok(Ending::Done)
}
