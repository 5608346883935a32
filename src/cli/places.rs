//! Where the results of a run go if nobody says it.

use std::path::{Path, PathBuf};

use crate::arena::stable_hash;

const REPORTS: &str = "reports";

/// Where a run goes; `changes` are values that differ from the scenario's. What a run is compared with has to stay where it is, so a
/// scenario with other values than its file's has a place of its own.
pub(super) fn of_run(out: Option<&Path>, name: &str, changes: &[String]) -> PathBuf {
    match (out, changes) {
        (Some(out), _) => out.to_owned(),
        (None, []) => Path::new(REPORTS).join(name),
        (None, _) => {
            let hash = stable_hash(changes.join("\n").as_bytes());
            Path::new(REPORTS).join(format!("{name}-what-if-{:06x}", hash >> 40))
        }
    }
}
