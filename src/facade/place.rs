//! The one rule of what may take the place of earlier results without being told to: results of the same kind, and of a study or
//! plan those of the same one.

use std::path::Path;

use serde_json::Value;

use super::error::{Advice, Error, Reason};
use super::write_options::WriteOptions;
use crate::report::{OutputDir, Overwrite};
use crate::study::Shard;

/// What results are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of<'a> {
    /// A run, of whatever scenario.
    Run,
    /// A plan of that name.
    Plan(&'a str),
    /// A forecast of a cluster of that name.
    Forecast(&'a str),
    /// A sensitivity analysis of the study of that name.
    Sensitivity(&'a str),
    /// A study of that name, or a part of it.
    Study(&'a str, Shard),
}

impl Of<'_> {
    /// What stands against results of this being written where others are, of which this is the summary.
    fn objection(self, there: &Value) -> Option<String> {
        let study = there["study"]["study"].as_str();
        match self {
            Self::Run => {
                (!there["scenario"].is_string()).then(|| "holds the results of something else than a run".to_owned())
            }
            Self::Plan(name) => {
                (there["plan"] != name).then(|| format!("holds other results than those of the plan {name}"))
            }
            Self::Forecast(name) => {
                (there["forecast"] != name).then(|| format!("holds something else than a forecast of {name}"))
            }
            Self::Sensitivity(name) => (there["sensitivity"] != name)
                .then(|| format!("holds something else than a sensitivity analysis of the study {name}")),
            Self::Study(name, shard) => match (study, serde_json::from_value::<Shard>(there["study"]["shard"].clone()))
            {
                (None, _) => Some("holds the results of something else than a study".to_owned()),
                (Some(found), _) if found != name => Some(format!("holds the results of the study `{found}`")),
                (_, Ok(part)) if part != shard => Some(format!("holds the results of part {part} of the study")),
                _ => None,
            },
        }
    }
}

/// Refuses a place that holds something else than earlier results of the same thing, unless everything is to be replaced; and one that
/// holds what is read, if it is. Options that cannot be met are refused before, too.
pub(super) fn check<'a>(
    place: &Path,
    options: &WriteOptions,
    of: Of<'_>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Error> {
    options.check_formats()?;
    let overwrite = options.overwrite();
    OutputDir::spare_inputs(place, overwrite, inputs)?;
    OutputDir::check(place, overwrite)?;
    let Ok(text) = std::fs::read_to_string(place.join("summary.json")) else { return Ok(()) };
    if overwrite == Overwrite::Anything {
        return Ok(());
    }
    let summary = serde_json::from_str(&text).unwrap_or_default();
    of.objection(&summary).map_or(Ok(()), |what| Err(taken(format!("{} {what}", place.display()), Advice::OtherPlace)))
}

/// Refuses a place that holds what `tune` recommended, which results without a recommendation would remove.
pub(super) fn spare_recommendation(place: &Path, overwrite: Overwrite, who: &str) -> Result<(), Error> {
    if overwrite == Overwrite::Anything || !place.join("patch.sh").exists() {
        return Ok(());
    }
    let message = format!("{} holds what `tune` recommended, which {who} would remove", place.display());
    Err(taken(message, Advice::OtherPlaceOrRuns))
}

fn taken(message: String, advice: Advice) -> Error {
    Reason::Taken { message, advice }.into()
}
