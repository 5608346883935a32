//! Which files are results of ours: what a new result may replace, and what belongs to the user and stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::exports::{Format, renamed};

/// Every file that a result can have, besides tables and charts.
const NAMES: [&str; 7] =
    ["forecast.json", "patch.sh", "patch.yaml", "report.html", "scenario.lock.yaml", "summary.json", LOCK];

/// Every file of an outage that was imported, besides those that its timeline applies: `applied-01.yaml`.
const NAMES_OF_OUTAGES: [&str; 5] = ["cluster.yaml", "evidence.json", "observed.csv", "outage.yaml", LOCK];

/// What a directory of ours holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The results of a run, a study, a plan or a forecast.
    Results,
    /// An outage that was imported.
    Outage,
}

impl Contents {
    /// Whether it can have a file of that name, relative to its directory.
    pub(super) fn has(self, name: &Path) -> bool {
        match self {
            Self::Results => is_name(name),
            Self::Outage => {
                let text = name.to_str().unwrap_or_default();
                let number = text.strip_prefix("applied-").and_then(|rest| rest.strip_suffix(".yaml"));
                let is_number = |digits: &str| digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
                NAMES_OF_OUTAGES.contains(&text) || number.is_some_and(is_number)
            }
        }
    }

    /// Whether a directory holds it.
    pub(super) fn is_in(self, place: &Path) -> bool {
        match self {
            Self::Results => is_result(place),
            Self::Outage => {
                let text = fs::read(place.join("evidence.json")).unwrap_or_default();
                let evidence: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
                evidence["t0"].is_string() && evidence["faults"].is_array()
            }
        }
    }
}

/// The file that a run in progress keeps locked.
pub(super) const LOCK: &str = "lock.tmp";

/// Where the pictures are.
const CHARTS: &str = "charts";

/// Where the changes are that a forecast proposes.
const PATCHES: &str = "patches";

/// Whether a forecast's change can be called so: `01-replicas.sh`.
fn is_patch(name: &Path) -> bool {
    let is_ours = |extension: &std::ffi::OsStr| extension == "sh" || extension == "yaml";
    let stem = name.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_numbered = stem
        .split_once('-')
        .is_some_and(|(number, _)| number.len() >= 2 && number.bytes().all(|byte| byte.is_ascii_digit()));
    is_numbered && name.extension().is_some_and(is_ours)
}

/// Whether a result can have a file of that name, relative to its directory.
pub(super) fn is_name(name: &Path) -> bool {
    if name.parent() == Some(Path::new(CHARTS)) {
        // Other charts may be of another version; pictures in that form are made by others, too.
        let is_png = |chart: &str| name.file_name() == Some(renamed(chart, Format::Png).as_ref());
        return name.extension().is_some_and(|extension| extension == "svg") || super::charts::files().any(is_png);
    }
    if name.parent() == Some(Path::new(PATCHES)) {
        return is_patch(name);
    }
    let tables = [
        super::tables_of_runs(),
        super::tables_of_studies(),
        super::tables_of_plans(),
        super::tables_of_sensitivities(),
    ]
    .concat();
    let is_table = |file: &str| name == Path::new(file) || name == Path::new(&renamed(file, Format::Parquet));
    tables.iter().any(|table| is_table(table.file)) || NAMES.iter().any(|known| name == Path::new(known))
}

/// Whether a directory holds a result: a summary that this program wrote.
pub(super) fn is_result(place: &Path) -> bool {
    let text = fs::read(place.join("summary.json")).unwrap_or_default();
    let summary: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    summary["scenario"].is_string()
        || summary["plan"].is_string()
        || summary["forecast"].is_string()
        || summary["sensitivity"].is_string()
        || summary["study"]["study"].is_string()
}

/// Whether a file of a result stands there, or would: its directory, or the one above that of charts, holds one.
#[must_use]
pub fn is_place_of_result(path: &Path) -> bool {
    let mut place = path.parent();
    for _ in 0..2 {
        let Some(dir) = place else { return false };
        let here = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        if path.strip_prefix(dir).is_ok_and(is_name) && is_result(here) {
            return true;
        }
        place = dir.parent();
    }
    false
}

/// The files below a directory that none of its kind can have, relative to it; directories without files do not count.
pub(super) fn foreign(place: &Path, contents: Contents) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(below) = left.pop() {
        for entry in fs::read_dir(place.join(&below))? {
            let entry = entry?;
            let name = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                left.push(name);
            } else if !contents.has(&name) {
                found.push(name);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_summary_of_ours_marks_a_result() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let check = |text: &str, expected: bool| {
            fs::write(root.path().join("summary.json"), text).expect("a file");
            assert_eq!(is_result(root.path()), expected, "{text}");
        };
        check("", false);
        check("{}", false);
        check("[1]", false);
        check("{\"scenario\": 3}", false);
        check("{\"study\": \"mine\"}", false);
        check("{\"version\": \"1\", \"total\": 3}", false);
        check("{\"scenario\": \"a\", \"version\": \"0.1.0\"}", true);
        check("{\"forecast\": \"a\"}", true);
        check("{\"plan\": \"a\", \"version\": \"0.1.0\"}", true);
        check("{\"study\": {\"study\": \"a\", \"version\": \"0.1.0\"}}", true);
    }

    #[test]
    fn a_place_of_a_result_is_one_of_its_names_in_its_directory() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let is_place = |name: &str| is_place_of_result(&root.path().join(name));
        assert!(!is_place("report.html"));
        fs::write(root.path().join("summary.json"), "{\"scenario\": \"a\"}").expect("a file");
        assert!(is_place("report.html") && is_place("charts/node-states.svg") && is_place("pods.csv"));
        assert!(!is_place("diff.html") && !is_place("notes/report.html"));
    }

    #[test]
    fn files_of_others_are_told_from_ours() {
        let root = tempfile::tempdir().expect("a temporary directory");
        for directory in ["charts", "notes", "empty", "patches"] {
            fs::create_dir(root.path().join(directory)).expect("a directory");
        }
        let ours = [
            "patches/01-replicas.sh",
            "events.csv",
            "events.parquet",
            "transcript.parquet",
            "charts/nodes.svg",
            "charts/node-states.png",
        ];
        let theirs = ["charts/mine.png", "mine.parquet", "notes/events.csv", "patches/mine.sh", "thesis.txt"];
        for name in ours.iter().chain(&theirs) {
            fs::write(root.path().join(name), "x").expect("a file");
        }
        let found = foreign(root.path(), Contents::Results).expect("it can be read");
        assert_eq!(found, theirs.map(PathBuf::from));
    }

    #[test]
    fn an_outage_is_told_by_its_evidence_and_has_names_of_its_own() {
        let root = tempfile::tempdir().expect("a temporary directory");
        assert!(!Contents::Outage.is_in(root.path()));
        for (name, text) in [
            ("evidence.json", r#"{"t0": "2026-01-01T00:00:00Z", "faults": []}"#),
            ("applied-01.yaml", "x"),
            ("applied-mine.yaml", "x"),
            ("pods.csv", "x"),
        ] {
            fs::write(root.path().join(name), text).expect("a file");
        }
        assert!(Contents::Outage.is_in(root.path()) && !Contents::Results.is_in(root.path()));
        let found = foreign(root.path(), Contents::Outage).expect("it can be read");
        assert_eq!(found, ["applied-mine.yaml", "pods.csv"].map(PathBuf::from));
    }
}
