//! A run beside what was seen of the real cluster.

use std::path::Path;

use super::error::Error;
use super::outcome::Outcome;
use crate::diagnostics::{Diagnostic, Location, Source, Sources};
use crate::evidence::{ObservedError, ObservedFact, read_observed};
#[cfg(feature = "cli")]
use crate::inspect::Agreement;
use crate::inspect::{TABLES_OF_FACTS, agree};
use crate::report::RunTables;
use crate::scenario::{Invalid, read_text};

/// What was seen of a real cluster, a fact a row: `observed.csv`, as `import outage` writes it. `docs/replay.md` tells what may stand there.
///
/// # Examples
///
/// ```
/// use kubesquall::{Observations, Scenario};
///
/// # let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: crash}, spec: {duration: 10m, cluster: \
/// #     {nodePools: [{name: n, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, \
/// #     timeline: [{at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}}}]}}";
/// let seen = Observations::parse("time_s,earliest_s,latest_s,fact,name,value\n108,90,120,NodeReady,n-1,Unknown\n")?;
/// let outcome = Scenario::parse(text, [("", ""); 0])?.play(7).held_against(&seen)?;
/// assert_eq!(outcome.agreement(), Some(1.0));
/// assert_eq!(outcome.summary()["agreement"]["same"], 1);
/// # Ok::<(), kubesquall::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Observations {
    facts: Vec<ObservedFact>,
}

impl Observations {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or holds no facts; see [`Error::diagnostics`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::read(&path.to_string_lossy(), &read_text(path)?)
    }

    /// Reads a text.
    ///
    /// # Errors
    ///
    /// If it holds no facts.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::read("observed.csv", text)
    }

    fn read(name: &str, text: &str) -> Result<Self, Error> {
        let facts = read_observed(text).map_err(|error| unreadable(name, text, &error))?;
        if facts.is_empty() {
            let problem = Diagnostic::error("evidence::no_facts", "there is no fact to hold a run against");
            let problem =
                problem.at(Location::file(name), "").help("a row says when what was seen of which node or pod");
            return Err(Invalid::of(problem).into());
        }
        Ok(Self { facts })
    }

    /// How many facts there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.facts.len()
    }
}

/// What is wrong with a row.
fn unreadable(name: &str, text: &str, error: &ObservedError) -> Error {
    let mut help = "`import outage` writes such a file; docs/replay.md tells what its columns hold".to_owned();
    let (line, cell, message) = match error {
        ObservedError::Column(column) => (1, "", format!("there is no column `{column}`")),
        ObservedError::Cell { line, cell, wanted } => (*line, cell.as_str(), format!("`{cell}` is not {wanted}")),
        ObservedError::Value { line, fact, value, valid } => {
            help = format!("{valid}; docs/replay.md tells what values facts have");
            (*line, value.as_str(), format!("`{value}` is no value of {fact}"))
        }
        ObservedError::Order { line } => {
            (*line, "", "`time_s` does not lie between `earliest_s` and `latest_s`".to_owned())
        }
        ObservedError::Uneven { line } => (*line, "", "this row does not have the cells of the header".to_owned()),
        ObservedError::Csv(problem) => (0, "", problem.clone()),
    };
    let written = text.lines().nth(usize::try_from(line).unwrap_or_default().saturating_sub(1)).unwrap_or_default();
    let start = if cell.is_empty() { None } else { written.find(cell) };
    let column = start.map_or(0, |start| written[..start].chars().count()) + 1;
    let length = if start.is_some() { cell } else { written }.chars().count();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    let location = Location::new(name, line, number(column), number(length));
    let problem = Diagnostic::error("evidence::bad_row", message).at(location, "");
    let problem = problem.help(help);
    let sources = Sources::from_iter([Source::new(name, text)]);
    Invalid { diagnostics: problem.into(), sources }.into()
}

impl Outcome {
    /// Holds the run against what was seen: [`summary`](Outcome::summary), rows and files then have the agreement, too.
    ///
    /// # Errors
    ///
    /// If no rows were kept.
    pub fn held_against(mut self, seen: &Observations) -> Result<Self, Error> {
        self.expect_rows()?;
        let tables = RunTables::in_memory(&self.observed, &TABLES_OF_FACTS);
        self.agreement = Some(agree(&tables, &seen.facts, self.scenario.duration())?);
        Ok(self)
    }

    /// The share of facts in which the run agrees with what was seen, from 0 to 1; none if it was held against nothing, or nothing of
    /// that can be in it.
    #[must_use]
    pub fn agreement(&self) -> Option<f64> {
        self.agreement.as_ref().and_then(|agreement| agreement.total.score())
    }

    /// All that it is made of.
    #[cfg(feature = "cli")]
    pub(crate) fn agreement_in_full(&self) -> Option<&Agreement> {
        self.agreement.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use crate::evidence::FactKind;
    use crate::state::DeletionCause;

    #[test]
    fn evidence_may_have_the_causes_that_a_run_has() {
        let known = FactKind::PodDeletion.values().expect("a list");
        for word in known {
            assert!(DeletionCause::ALL.iter().any(|cause| cause.column() == *word), "{word}");
        }
        for cause in DeletionCause::ALL {
            assert!(known.contains(&cause.column()), "{cause:?}");
        }
    }
}
