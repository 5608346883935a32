//! Forecasts: what is likely to happen to a cluster, whom it hurts most, what would help, and the proof.
//!
//! Single incidents of a catalogue and years of random failures are played from one settled state. What they cost is measured for
//! each service, and for each workload that no service leads to. Changes that may help are made and played on the same incidents
//! and the same years; those that help become findings, ranked by what they save.

mod budget;
mod catalogue;
mod changes;
mod evaluation;
mod extent;
mod finding;
mod fix;
mod gate;
mod incident;
mod intake;
mod measured;
mod outlook;
mod played;
mod proposal;
mod rates;
mod results;
mod runbook;
mod sample;
mod share;
mod told;
mod toll;
mod units;
mod work_out;

pub use budget::{Budget, Handed, PlayPool};
#[cfg(feature = "cli")]
pub(crate) use changes::schema as catalog_schema;
pub use finding::{Alternative, Dropped, Finding, Front, Price, Saved, Unhelped, UnitCost, Worst};
pub use fix::Fix;
pub use gate::{Baseline, Condition};
pub use incident::{Incident, IncidentKind};
pub use intake::{Asked, Forecast, load};
pub use played::Played;
pub use results::{Apart, ForecastResults, IncidentRow, Question, StandsOn};
pub use toll::Toll;
pub use units::{Loss, Unit};
pub use work_out::Options;
pub(crate) use work_out::work_out;
