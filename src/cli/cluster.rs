//! A cluster without a scenario: manifests and dumps, read and checked as those of a scenario in which nothing happens.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::diagnostics::Diagnostics;
use crate::scenario::{self, API_VERSION, Invalid, Overrides, ResolvedScenario};

/// How places in the document made here are named; nobody else sees it.
const DOCUMENT: &str = "arguments";

/// What is asked of a cluster.
#[derive(Debug, Default)]
pub(super) struct Wanted<'a> {
    /// Files, directories, globs, and `-`.
    pub(super) paths: &'a [PathBuf],
    /// Whether to go on with what could be read.
    pub(super) allow_partial: bool,
    /// Whether nodes may be missing, as they come from elsewhere.
    pub(super) without_nodes: bool,
    /// Whether workloads that only pods name are made anew.
    pub(super) rebuild_owners: bool,
    /// `spec.controlPlane`.
    pub(super) control_plane: Value,
}

/// Reads and checks it.
///
/// # Errors
///
/// Everything that is wrong with it, and the warnings.
pub(super) fn load(wanted: &Wanted<'_>) -> Result<ResolvedScenario, Invalid> {
    let paths: Vec<String> = wanted.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    // A pool without nodes says that they are left out on purpose.
    let pools = if wanted.without_nodes {
        json!([{"name": "nodes", "count": 0, "template": {"status": {"allocatable": {"cpu": "1"}}}}])
    } else {
        json!([])
    };
    let document = json!({
        "apiVersion": API_VERSION,
        "kind": "Scenario",
        "metadata": {"name": "cluster"},
        "spec": {
            "duration": "1s",
            "cluster": {
                "manifests": paths,
                "nodePools": pools,
                "allowPartial": wanted.allow_partial,
                "missingOwners": if wanted.rebuild_owners { "Rebuild" } else { "Leave" },
            },
            "controlPlane": wanted.control_plane,
        },
    });
    match scenario::load_text(DOCUMENT, &document.to_string(), Path::new(""), &Overrides::none()) {
        Ok(mut cluster) => {
            cluster.warnings = without_document(cluster.warnings, wanted);
            Ok(cluster)
        }
        Err(mut invalid) => {
            invalid.diagnostics = without_document(invalid.diagnostics, wanted);
            Err(invalid)
        }
    }
}

/// Problems as the user knows their places.
fn without_document(diagnostics: Diagnostics, wanted: &Wanted<'_>) -> Diagnostics {
    let is_meant = |code: &str| wanted.without_nodes && code == "scenario::no_nodes";
    diagnostics
        .into_iter()
        .filter(|diagnostic| !is_meant(diagnostic.code))
        .map(|mut diagnostic| {
            diagnostic.labels.retain(|label| &*label.location.file != DOCUMENT);
            if matches!(diagnostic.code, "scenario::unreadable" | "manifest::not_found") {
                for help in &mut diagnostic.help {
                    *help = help.replace("relative to the file that names them", "relative to the current directory");
                }
            }
            diagnostic
        })
        .collect()
}
