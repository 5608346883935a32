//! Fits to records that were drawn anew, as `import faults --resample` writes them.

use serde::Deserialize;

use crate::chaos::FaultKind;
use crate::diagnostics::{Diagnostic, Source, Sources};
use crate::engine::{Distribution, Family, RESAMPLES};
use crate::scenario::{self, At, Invalid, OwnDocument};
use crate::units::counted;

/// Fits to records that were drawn anew.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Resampled {
    /// What the process was called that was fitted; a study may call it otherwise.
    #[serde(rename = "process")]
    _process: String,
    /// The kind of the fault.
    pub(super) fault: FaultKind,
    /// What was drawn from.
    #[serde(rename = "seed")]
    _seed: u64,
    /// How often the records were drawn; what could not be fitted is not among the fits.
    pub(super) drawn: u32,
    /// What was drawn.
    pub(super) records: Recorded,
    /// The fit to the records as they are.
    pub(super) fitted: Lengths,
    /// The fits to what was drawn.
    pub(super) resamples: Vec<Lengths>,
}

/// What there was to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Recorded {
    /// Nodes that were watched.
    #[serde(default)]
    pub(super) nodes: Option<u64>,
    /// Those of them that failed; not said in older files.
    #[serde(default)]
    pub(super) failed_nodes: Option<u64>,
    /// Rows of lengths, if nodes were not named.
    #[serde(default)]
    pub(super) rows: Option<u64>,
    /// Failures that were seen.
    pub(super) failures: u64,
}

/// Both lengths of a process.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Lengths {
    pub(super) time_to_failure: Distribution,
    #[serde(default)]
    pub(super) time_to_repair: Option<Distribution>,
}

/// The family as documents name it.
pub(super) fn family(of: &Distribution) -> &'static str {
    match of {
        Distribution::Constant(_) => "constant",
        Distribution::Uniform { .. } => "uniform",
        Distribution::Empirical { .. } => "empirical",
        fitted => Family::of(fitted).expect("all others are").as_str(),
    }
}

impl Lengths {
    /// Each length with its field.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'static str, &Distribution)> {
        let failure = std::iter::once(("timeToFailure", &self.time_to_failure));
        failure.chain(self.time_to_repair.iter().map(|of| ("timeToRepair", of)))
    }

    fn families(&self) -> Vec<(&'static str, &'static str)> {
        self.fields().map(|(field, of)| (field, family(of))).collect()
    }

    /// `timeToFailure weibull, timeToRepair lognormal`.
    fn told(&self) -> String {
        let each = self.families().into_iter().map(|(field, family)| format!("{field} {family}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// Reads such a document; `name` is how messages name it.
///
/// # Errors
///
/// Everything that is wrong with it.
pub(super) fn read(name: &str, text: &str) -> Result<Resampled, Invalid> {
    let OwnDocument { value, root, mut diagnostics } = scenario::read_part::<Resampled>(name, text)?;
    let root = At::root(&root);
    // What is too little because some of it was wrong has been told.
    let is_whole = !root.written(FITS).has_lost();
    for (message, help, path) in value.iter().flat_map(|of| of.problems(is_whole)) {
        diagnostics.push(Diagnostic::error("study::inputs", message).help(help).at(root.written(&path).location(), ""));
    }
    match value {
        Some(found) if !diagnostics.has_errors() => Ok(found),
        _ => Err(Invalid { sources: Sources::from_iter([Source::new(name, text)]), diagnostics }),
    }
}

/// Where the fits stand.
const FITS: &str = "resamples";

impl Resampled {
    /// What is wrong with it, what to do, and where; whether nothing of the fits has been left out.
    fn problems(&self, is_whole: bool) -> Vec<(String, &'static str, String)> {
        const AGAIN: &str = "let `import faults --resample` write it";
        let Self { drawn, fitted, resamples, records, .. } = self;
        let mut found = Vec::new();
        let fitted_as = fitted.families();
        for (field, of) in fitted.fields().filter(|(_, of)| Family::of(of).is_none()) {
            let message = format!("`{}` is no family that is fitted to records", family(of));
            found.push((message, AGAIN, format!("fitted.{field}")));
        }
        if records.nodes.is_some() == records.rows.is_some() {
            found.push(("records are those of `nodes` or of `rows`".to_owned(), AGAIN, "records".to_owned()));
        }
        if records.failed_nodes > records.nodes {
            found.push(("more nodes have failed than there were".to_owned(), AGAIN, "records.failedNodes".to_owned()));
        }
        if let Some(index) = resamples.iter().position(|of| of.families() != fitted_as) {
            let message = format!("this is {}, and the fit to the records {}", resamples[index].told(), fitted.told());
            found.push((message, "all fits are of the same families", format!("{FITS}[{index}]")));
        }
        let (count, least, most) = (resamples.len(), *RESAMPLES.start() as usize, *RESAMPLES.end() as usize);
        if count > *drawn as usize || count > most {
            let draws = counted(*drawn as usize, "draw", "draws");
            let message = format!("there are {count} fits of {draws}; at most {most} are read");
            found.push((message, AGAIN, FITS.to_owned()));
        } else if count < least && is_whole {
            let fits = counted(count, "fit is", "fits are");
            let message = format!("{fits} too few to tell how far apart they lie: it takes {least}");
            found.push((message, "draw the records more often: `import faults --resample 100`", FITS.to_owned()));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(fits: usize, fit: &str) -> String {
        let lines: String = (0..fits).map(|_| format!("- {fit}\n")).collect();
        format!(
            "process: crashes\nfault: Crash\nseed: 0\ndrawn: 100\nrecords: {{nodes: 20, failures: 31}}\nfitted: {{timeToFailure: \
             {{exponential: {{mean: 10h}}}}, timeToRepair: {{exponential: {{mean: 1h}}}}}}\nresamples:\n{lines}"
        )
    }

    const FIT: &str = "{timeToFailure: {exponential: {mean: 9h}}, timeToRepair: {exponential: {mean: 50m}}}";

    #[test]
    fn what_was_written_is_read() {
        let found = read("r.yaml", &document(40, FIT)).expect("fits");
        assert_eq!((found.resamples.len(), found.drawn, found.records.failures), (40, 100, 31));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let check = |text: String, expected: &str, line: u32| {
            let refused = read("r.yaml", &text).expect_err("refused");
            let found = refused.diagnostics.iter().find(|of| of.message.contains(expected));
            let found = found.unwrap_or_else(|| panic!("{expected}: {:?}", refused.diagnostics));
            assert_eq!(found.labels.first().map(|label| label.location.line), Some(line), "{found:?}");
        };
        check(document(19, FIT), "19 fits are too few", 7);
        let other = document(30, FIT).replacen("9h", "9q", 1);
        check(other, "9q", 8);
        let other = document(30, FIT).replacen("{exponential: {mean: 50m}}", "{weibull: {shape: 1, mean: 50m}}", 1);
        check(other, "this is timeToFailure exponential, timeToRepair weibull, and the fit", 8);
        check(document(101, FIT), "101 fits of 100 draws", 7);
        let other = document(30, FIT).replace("exponential: {mean: 10h}", "constant: 10h");
        check(other, "`constant` is no family", 6);
        check(document(30, FIT).replace("nodes: 20, ", ""), "`nodes` or of `rows`", 5);
        check(document(30, FIT).replace("nodes: 20", "nodes: 20, failedNodes: 21"), "more nodes have failed", 5);
        check(document(30, FIT).replace("drawn:", "draws:"), "draws", 4);
    }
}
