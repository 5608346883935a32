//! The key figures of a scenario, as they are kept beside it, and what moved since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use super::trial::Unusable;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Sources};
use crate::facade;
use crate::model::manifest;
use crate::observe::WorkloadOutcome;
use crate::report;
use crate::scenario::{API_VERSION, SNAPSHOT_KIND};

/// How the name of a file ends in which figures are kept.
const SUFFIX: &str = ".snapshot.json";

/// Whether a file is one in which figures are kept.
pub(super) fn is_snapshot(path: &Path) -> bool {
    stem(path).is_some()
}

/// The path of the scenario without its extension; none if this is no snapshot.
pub(super) fn stem(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    // An extension is replaced later, so that what looks like one must not be the last part of the name.
    Some(path.with_file_name(format!("{}.", name.strip_suffix(SUFFIX)?)))
}

/// Where the figures of a scenario are kept; none of standard input.
pub(super) fn place(scenario: &Path) -> Option<PathBuf> {
    let name = scenario.file_stem().filter(|_| !manifest::is_standard_input(scenario))?;
    Some(scenario.with_file_name(format!("{}{SUFFIX}", name.to_string_lossy())))
}

/// A figure; whole numbers are written as such.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub(super) struct Figure(pub(super) f64);

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// From here on not every whole number is a float.
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        if self.0.fract() == 0.0 && self.0.abs() < EXACT_MAX {
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

/// The key figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Figures {
    api_version: String,
    kind: String,
    /// `metadata.name` of the scenario.
    scenario: String,
    duration_s: Figure,
    seed: u64,
    metrics: BTreeMap<String, Figure>,
    /// Pods by the cause of their deletion.
    deletions: BTreeMap<String, Figure>,
    /// By `kind/namespace/name`.
    workloads: BTreeMap<String, BTreeMap<String, Figure>>,
}

/// A figure that is not what it was; none where it is missing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Moved {
    pub(super) figure: String,
    pub(super) old: Option<Figure>,
    pub(super) new: Option<Figure>,
}

impl Moved {
    /// `evictions: 6 -> 7`
    pub(super) fn in_words(&self) -> String {
        let word = |figure: Option<Figure>| figure.map_or_else(|| "none".to_owned(), |Figure(value)| value.to_string());
        format!("{}: {} -> {}", self.figure, word(self.old), word(self.new))
    }
}

/// What became of the figures that are kept of a scenario.
#[derive(Debug)]
pub(super) enum Kept {
    /// None are, or they are not asked for.
    Nothing,
    /// They are as they were.
    Same,
    /// Some are not.
    Moved(Vec<Moved>),
    /// They are written anew.
    Written,
    /// They cannot be read or written.
    Unusable(Unusable),
}

impl Kept {
    /// Compares figures with those that are kept.
    pub(super) fn compare(place: &Path, now: &Figures) -> Self {
        if !place.exists() {
            return Self::Nothing;
        }
        match read(place) {
            Err(diagnostic) => Self::unusable(place, diagnostic),
            Ok(before) => match before.moved_to(now) {
                moved if moved.is_empty() => Self::Same,
                moved => Self::Moved(moved),
            },
        }
    }

    /// Keeps figures, unless they are kept already.
    pub(super) fn write(place: &Path, now: &Figures) -> Self {
        let text = now.text();
        if std::fs::read_to_string(place).is_ok_and(|before| before == text) {
            return Self::Same;
        }
        match report::replace_file(place, text.as_bytes()) {
            Ok(()) => Self::Written,
            Err(error) => Self::unusable(place, Diagnostic::error("snapshot::unwritable", error.to_string())),
        }
    }

    fn unusable(place: &Path, diagnostic: Diagnostic) -> Self {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(diagnostic);
        Self::Unusable(Unusable { file: place.to_string_lossy().into_owned(), diagnostics, sources: Sources::new() })
    }
}

fn read(place: &Path) -> Result<Figures, Diagnostic> {
    let name = place.to_string_lossy();
    let text = manifest::read_text(place, &name).map_err(|diagnostic| *diagnostic)?;
    let anew = "write it anew with `kubesquall test --update`";
    let figures: Figures = serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let at = u32::try_from(line).ok().zip(u32::try_from(column).ok());
        let location =
            at.map_or_else(|| Location::file(&*name), |(line, column)| Location::new(&*name, line, column, 1));
        Diagnostic::error("snapshot::unreadable", format!("`{name}` is no snapshot: {error}"))
            .at(location, "")
            .help(anew)
    })?;
    if (figures.api_version.as_str(), figures.kind.as_str()) != (API_VERSION, SNAPSHOT_KIND) {
        let message = format!("`{name}` is no snapshot: it is `{}` of `{}`", figures.kind, figures.api_version);
        return Err(Diagnostic::error("snapshot::unreadable", message).at(Location::file(&*name), "").help(anew));
    }
    Ok(figures)
}

impl Figures {
    /// Those of a run.
    pub(super) fn of(outcome: &facade::Outcome) -> Self {
        let scenario = outcome.scenario();
        let summary = &outcome.observed.summary;
        let named = |(name, value): (&&str, f64)| ((*name).to_owned(), Figure(value));
        Self {
            api_version: API_VERSION.to_owned(),
            kind: SNAPSHOT_KIND.to_owned(),
            scenario: scenario.name().to_owned(),
            duration_s: Figure(scenario.duration().as_secs_f64()),
            seed: outcome.seed(),
            metrics: summary.metrics.iter().map(|(name, value)| named((name, *value))).collect(),
            deletions: summary.counts.deletions.iter().map(|(cause, count)| named((cause, *count as f64))).collect(),
            workloads: summary.workloads.iter().map(of_workload).collect(),
        }
    }

    /// What stands in the file.
    fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("figures are plain data");
        text.push('\n');
        text
    }

    /// The figures that are others than these, in the order of the file.
    fn moved_to(&self, now: &Self) -> Vec<Moved> {
        let mut moved = Vec::new();
        let head = |figures: &Self| {
            BTreeMap::from([
                ("duration_s".to_owned(), figures.duration_s),
                ("seed".to_owned(), Figure(figures.seed as f64)),
            ])
        };
        compare("", &head(self), &head(now), &mut moved);
        compare("", &self.metrics, &now.metrics, &mut moved);
        compare("deletions by ", &self.deletions, &now.deletions, &mut moved);
        let none = BTreeMap::new();
        let names: BTreeSet<&String> = self.workloads.keys().chain(now.workloads.keys()).collect();
        for name in names {
            let of = |figures: &Self| figures.workloads.get(name).cloned();
            let (before, after) = (of(self), of(now));
            let (before, after) = (before.as_ref().unwrap_or(&none), after.as_ref().unwrap_or(&none));
            compare(&format!("{name} "), before, after, &mut moved);
        }
        moved
    }
}

fn compare(prefix: &str, old: &BTreeMap<String, Figure>, new: &BTreeMap<String, Figure>, moved: &mut Vec<Moved>) {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (old, new) = (old.get(name).copied(), new.get(name).copied());
        if old != new {
            moved.push(Moved { figure: format!("{prefix}{name}"), old, new });
        }
    }
}

fn of_workload(workload: &WorkloadOutcome) -> (String, BTreeMap<String, Figure>) {
    let name = format!("{}/{}/{}", workload.kind.to_lowercase(), workload.namespace, workload.name);
    let figures = [
        ("desired", f64::from(workload.desired)),
        ("ready", f64::from(workload.ready)),
        ("ready_min", f64::from(workload.ready_min)),
        ("missing_max", f64::from(workload.missing_max)),
        ("below_desired_s", workload.below_desired_s),
        ("longest_short_s", workload.longest_short_s),
        ("below_min_ready_s", workload.below_min_ready_s),
        ("unready_replica_s", workload.unready_replica_s),
        ("evictions", f64::from(workload.evictions)),
        ("needless_evictions", f64::from(workload.needless_evictions)),
        ("preemptions", f64::from(workload.preemptions)),
        ("lost", f64::from(workload.lost)),
        ("availability", workload.availability),
    ];
    (name, figures.into_iter().map(|(name, value)| (name.to_owned(), Figure(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(metrics: &[(&str, f64)]) -> Figures {
        Figures {
            api_version: API_VERSION.to_owned(),
            kind: SNAPSHOT_KIND.to_owned(),
            scenario: "s".to_owned(),
            duration_s: Figure(60.0),
            seed: 1,
            metrics: metrics.iter().map(|(name, value)| ((*name).to_owned(), Figure(*value))).collect(),
            deletions: BTreeMap::new(),
            workloads: BTreeMap::new(),
        }
    }

    #[test]
    fn what_moved_is_told_with_what_it_was() {
        let before = figures(&[("a", 1.0), ("b", 2.5), ("c", 0.0)]);
        let after = figures(&[("a", 1.0), ("b", 3.0), ("d", 4.0)]);
        let moved: Vec<String> = before.moved_to(&after).iter().map(Moved::in_words).collect();
        assert_eq!(moved, ["b: 2.5 -> 3", "c: 0 -> none", "d: none -> 4"]);
        assert_eq!(before.moved_to(&before), []);
    }

    #[test]
    fn a_snapshot_reads_as_it_was_written() {
        let figures = figures(&[("a", 1.0), ("b", 0.1 + 0.2), ("c", 1e300)]);
        assert_eq!(serde_json::from_str::<Figures>(&figures.text()).expect("a snapshot"), figures);
        assert!(figures.text().contains("\"a\": 1,"), "{}", figures.text());
    }

    #[test]
    fn a_snapshot_stands_beside_its_scenario() {
        let check = |scenario: &str, expected: &str| {
            let place = place(Path::new(scenario)).expect("a place");
            assert_eq!(place, Path::new(expected));
            let stem = stem(&place).expect("a snapshot");
            assert!(
                ["yaml", "yml", "json"].iter().any(|end| stem.with_extension(end) == Path::new(scenario)),
                "{scenario}"
            );
        };
        check("a/storm.yaml", "a/storm.snapshot.json");
        check("v1.2.yml", "v1.2.snapshot.json");
        assert_eq!(place(Path::new("-")), None);
        assert!(!is_snapshot(Path::new("a/snapshot.json")));
    }
}
