//! Formats of other programs, which most commands that write results take.

use clap::Args;

use crate::facade::WriteOptions;

/// What is written besides.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Formats {
    /// Write the tables as Parquet, too, beside the CSV files: for DuckDB, pandas, Polars and Spark
    #[arg(long)]
    parquet: bool,
    /// Write the charts as PNG, too, beside the SVG files
    #[arg(long)]
    png: bool,
}

impl Formats {
    /// The same as options of writing.
    pub(super) fn writing(self) -> WriteOptions {
        WriteOptions::new().parquet(self.parquet).png(self.png)
    }
}
