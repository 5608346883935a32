//! Rows into files, and files into pictures and a page.
//!
//! These are drawn from the CSVs alone, so that rebuilding them later gives the same bytes as the run did. Nothing here
//! knows the simulation.

mod agreement_rows;
mod charts;
mod csv;
mod exports;
mod forecast_file;
mod input_rows;
mod ours;
mod page;
mod plan_rows;
mod run_dir;
mod run_tables;
mod sensitivity_rows;
mod study_rows;
mod table;
mod tables;
mod trace;
mod typed;
mod words;

pub use agreement_rows::{AgreementRow, Verdict, tables_of_runs};
pub use charts::{
    DrawnCharts, EffectPoint, ForecastBar, ForecastChart, SURVIVAL_COLUMNS_MAX, SensitivityChart, StudyChart,
    SurrogateCurve, SurvivalCell, SurvivalChart, WorkloadCurve, draw_forecast_charts, draw_run_charts,
    draw_sensitivity_charts, draw_study_charts, draw_survival_matrix,
};
pub(crate) use csv::{named_table_text, write_named_table};
pub use csv::{table_text, write_table, write_tables};
pub(crate) use exports::{
    Epoch, ExportError, Exported, Format, event_list, is_place_of_openmetrics, write_audit_log, write_exposition,
    write_metrics, write_openmetrics,
};
pub(crate) use input_rows::{InputRow, InputRunRow, UncertainCells};
pub use ours::{Contents, is_place_of_result};
pub(crate) use page::{COMPARED_TABLES, Live, draw_live_page, is_live_built, replayed};
pub use page::{
    draw_diff_page, draw_forecast_page, draw_plan_page, draw_run_page, draw_sensitivity_page, draw_study_page,
    is_place_of_page, read_forecast,
};
pub use plan_rows::tables_of_plans;
pub(crate) use plan_rows::{BlastRow, CandidateRow, PlayRow};
pub use run_dir::{OutputDir, OutputError, Overwrite, replace_file};
pub use run_tables::RunTables;
pub use sensitivity_rows::tables_of_sensitivities;
pub(crate) use sensitivity_rows::{EffectRow, PointRow};
pub use study_rows::tables_of_studies;
pub(crate) use study_rows::{
    MetricRow, RareEventRow, RequirementRow, RunRow, SHOWN_METRICS, SurrogateRow, TuningRow, WorkloadRunRow,
};
pub(crate) use table::{Row, Table, is_true, line, text, time, whole};
pub use tables::TableError;
pub(crate) use tables::{expect_whole, read_text};
pub use trace::{is_place_of_trace, write_trace};
pub(crate) use typed::{Type, may_lack, scan as scan_typed};
pub(crate) use words::{Told, Words};
