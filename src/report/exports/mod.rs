//! Results in the formats of other programs: tables as Parquet, charts as PNG, what happened as Events, as an audit log and as samples of
//! kube-state-metrics. All are made of the files of a directory.

mod audit;
mod containers;
mod events;
mod identity;
mod metrics;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "png")]
mod png;
mod pods;

use std::path::Path;

use serde_json::Value;
use thiserror::Error;

pub(crate) use audit::write_audit_log;
pub(crate) use events::event_list;
pub(crate) use identity::Epoch;
pub(crate) use metrics::{is_place_of_openmetrics, write_exposition, write_metrics, write_openmetrics};

use super::TableError;
#[cfg(feature = "parquet")]
use super::tables::rows_written;
use crate::observe::TableInfo;

/// A format that files of a result can have besides their own. Each needs a feature of this crate.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Tables.
    Parquet,
    /// Charts.
    Png,
}

impl Format {
    /// How it is called.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::Png => "PNG",
        }
    }

    /// The feature that builds it in, and whether it is.
    pub(crate) fn feature(self) -> (&'static str, bool) {
        match self {
            Self::Parquet => ("parquet", cfg!(feature = "parquet")),
            Self::Png => ("png", cfg!(feature = "png")),
        }
    }

    /// The ending of its files.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Png => "png",
        }
    }
}

/// Why a file cannot be had in another format.
#[derive(Debug, Error)]
pub(crate) enum ExportError {
    /// It is a table that is missing or damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// It is a chart.
    #[cfg(feature = "png")]
    #[error("{chart} cannot become a PNG: {why}")]
    Picture {
        /// Its file.
        chart: String,
        /// Why.
        why: String,
    },
}

/// What is there to be had in other formats.
#[derive(Copy, Clone, Debug)]
#[cfg_attr(not(all(feature = "parquet", feature = "png")), allow(dead_code, reason = "no format may be built in"))]
pub(crate) struct Exported<'a> {
    /// Where the tables are.
    pub(crate) dir: &'a Path,
    /// Its `summary.json`, which says how many rows they have.
    pub(crate) summary: &'a Value,
    /// Those that there can be.
    pub(crate) tables: &'a [TableInfo],
    /// The charts: file names and SVG texts.
    pub(crate) charts: &'a [(&'static str, String)],
}

impl Exported<'_> {
    /// Gives `write` each file of that format: its name, relative to the directory, and its content. Without the format's feature there
    /// are none.
    ///
    /// # Errors
    ///
    /// If a table is damaged, a chart cannot be drawn, or `write` fails.
    pub(crate) fn files<E: From<ExportError>>(
        &self,
        format: Format,
        write: impl FnMut(&str, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        match format {
            Format::Parquet => self.parquet(write),
            Format::Png => self.png(write),
        }
    }

    #[cfg(feature = "parquet")]
    fn parquet<E: From<ExportError>>(&self, mut write: impl FnMut(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
        for table in self.tables {
            let path = self.dir.join(table.file);
            // Tables that a result need not have.
            if path.is_file() {
                let content = parquet::content(&path, rows_written(self.summary, table.file), table)
                    .map_err(ExportError::from)?;
                write(&renamed(table.file, Format::Parquet), &content)?;
            }
        }
        Ok(())
    }

    #[cfg(not(feature = "parquet"))]
    fn parquet<E>(&self, _: impl FnMut(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
        Ok(())
    }

    #[cfg(feature = "png")]
    fn png<E: From<ExportError>>(&self, mut write: impl FnMut(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let renderer = png::Renderer::new();
        for (chart, svg) in self.charts {
            let picture = renderer.png(svg);
            let picture = picture.map_err(|why| ExportError::Picture { chart: (*chart).to_owned(), why })?;
            write(&format!("charts/{}", renamed(chart, Format::Png)), &picture)?;
        }
        Ok(())
    }

    #[cfg(not(feature = "png"))]
    fn png<E>(&self, _: impl FnMut(&str, &[u8]) -> Result<(), E>) -> Result<(), E> {
        Ok(())
    }
}

/// The name of a file in that format.
pub(super) fn renamed(file: &str, format: Format) -> String {
    Path::new(file).with_extension(format.extension()).display().to_string()
}
