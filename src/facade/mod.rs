//! The front door: scenarios, studies, plans and decisions as a program that embeds kubesquall uses them, and as the command
//! line does. It has no rules of its own, prints nothing and reads no environment. The crate's root exports what is stable.

mod agreement;
mod cluster;
mod columns;
mod comparison;
mod decisions;
mod document;
mod error;
mod explanation;
mod forecast;
mod forecast_chart;
mod imports;
mod load;
mod outcome;
mod place;
mod plan;
mod plan_chart;
mod plugins;
mod refine;
mod replay;
mod report;
mod rows;
mod run_files;
mod scenario;
mod sensitivity;
mod sensitivity_chart;
mod simulation;
mod study;
mod study_chart;
mod study_files;
mod study_outcome;
mod verify;
mod view;
mod write_options;

pub use agreement::Observations;
pub use cluster::{Cluster, ClusterOptions};
pub use columns::{Column, Columns, Values};
pub use comparison::Comparison;
#[cfg(feature = "cli")]
pub(crate) use comparison::expect_place_of_page;
#[cfg(feature = "cli")]
pub(crate) use decisions::path_of;
pub use decisions::{Decision, Decisions, Rejected};
pub use document::Document;
#[cfg(feature = "cli")]
pub(crate) use error::{Advice, Reason};
pub use error::{Error, ErrorKind};
pub use explanation::Explanation;
pub use forecast::{Forecast, ForecastInputs, ForecastOptions, ForecastOutcome};
#[cfg(feature = "bundles")]
pub use imports::{ClusterImport, LatencyImport, OutageImport};
pub use imports::{FaultImport, Imported};
#[cfg(feature = "cli")]
pub(crate) use imports::{Offset, latency_block, refined};
pub use load::LoadOptions;
pub use outcome::Outcome;
pub use plan::{Plan, PlanOutcome, SolveOptions};
pub use plugins::Plugins;
pub use refine::{RefineOptions, Refined, Refinement, Unsure};
pub use replay::Replay;
pub use report::Report;
#[cfg(feature = "cli")]
pub(crate) use report::{expect_place_of_openmetrics, expect_place_of_trace};
pub use rows::{Cell, Row, Rows};
pub use scenario::Scenario;
pub use sensitivity::{SensitivityOptions, SensitivityOutcome};
pub use simulation::{PlayOptions, Settled, Simulation};
pub use study::{Study, SweepOptions};
pub use study_outcome::StudyOutcome;
pub use view::{NodeView, PodCounts, PodView};
pub use write_options::WriteOptions;
