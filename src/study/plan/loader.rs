//! The scenarios that a plan names, as they are played with the counts that are tried.

use std::path::Path;
use std::sync::Arc;

use super::definition::PoolRange;
use super::document::Spec;
use crate::diagnostics::{Diagnostic, Location, Source, Sources};
use crate::model::manifest::Folder;
use crate::scenario::{self, Invalid, Overrides, ResolvedScenario};

/// Reads the scenarios that a plan names.
pub(super) struct Loader<'a> {
    pub(super) folder: &'a Folder,
    pub(super) place: &'a dyn Fn(&str) -> Location,
    pub(super) sources: &'a Sources,
    /// Values that all scenarios have.
    pub(super) overrides: &'a Overrides,
}

impl Loader<'_> {
    pub(super) fn load(&self, file: &str, overrides: &Overrides, at: &str) -> Result<ResolvedScenario, Invalid> {
        let path = Path::new(file);
        if !self.folder.is_file(path) {
            let message = format!("there is no scenario `{}`", self.folder.join(path).display());
            let help = "paths are relative to the file that names them";
            let diagnostic = Diagnostic::error("plan::unreadable", message).at((self.place)(at), "").help(help);
            return Err(Invalid { diagnostics: diagnostic.into(), sources: self.sources.clone() });
        }
        scenario::load_from(self.folder, path, &self.overrides.and(overrides))
    }

    /// The cluster of a plan, checked with the fewest and the most nodes; what happens to it is left out, and so are
    /// an autoscaler and auto-repair of nodes: the question is what the nodes can take that there are.
    pub(super) fn base(
        &self,
        spec: &Spec,
        written: &ResolvedScenario,
        pools: &[PoolRange],
    ) -> Result<ResolvedScenario, Invalid> {
        let load = |loader: &Self, end: fn(&PoolRange) -> u32| {
            let mut overrides = counts(written, pools, end);
            for (path, value) in [
                ("spec.timeline", "[]"),
                ("spec.faults", "[]"),
                ("spec.expect", "[]"),
                ("spec.cluster.bootstrap", "settled"),
            ] {
                overrides.set(path, value);
            }
            let at = "spec.scenario";
            loader.load(&spec.scenario, &overrides, at).map_err(|invalid| loader.at_end(invalid, pools, end, at))
        };
        load(self, PoolRange::fewest)?;
        let mut base = load(self, PoolRange::most)?;
        leave_nodes_alone(&mut base);
        Ok(base)
    }

    /// The scenario of a case, like the base without an autoscaler and auto-repair of nodes. With the fewest nodes it must be sound, too: what it names has to be there.
    pub(super) fn case(&self, file: &str, pools: &[PoolRange], at: &str) -> Result<ResolvedScenario, Invalid> {
        let mut written = self.load(file, &Overrides::none(), at)?;
        if let Some(missing) = pools.iter().find(|pool| written.pools.iter().all(|other| other.name != pool.name)) {
            let message = format!("the scenario has no node pool `{}`", missing.name);
            let help = "a case is played with the counts that are searched, so it needs the same pools";
            let diagnostic = Diagnostic::error("plan::unknown_pool", message).at((self.place)(at), "").help(help);
            return Err(Invalid { diagnostics: diagnostic.into(), sources: self.sources.clone() });
        }
        for end in [PoolRange::fewest, PoolRange::most] {
            self.load(file, &counts(&written, pools, end), at)
                .map_err(|invalid| self.at_end(invalid, pools, end, at))?;
        }
        leave_nodes_alone(&mut written);
        Ok(written)
    }

    /// Says with which counts a scenario that is sound as it is written cannot be used.
    fn at_end(&self, mut invalid: Invalid, pools: &[PoolRange], end: fn(&PoolRange) -> u32, at: &str) -> Invalid {
        let counts: Vec<String> = pools.iter().map(|pool| format!("{} of {}", end(pool), pool.name)).collect();
        let message = format!("the scenario cannot be used with {}, which the plan would try", counts.join(" and "));
        let help = "change the range of the pool, or what the scenario says of single nodes";
        let diagnostic = Diagnostic::error("plan::bad_count", message).at((self.place)(at), "").help(help);
        invalid.diagnostics.push(diagnostic);
        let file = (self.place)(at).file;
        if let Some(text) = self.sources.text(&file) {
            invalid.sources.insert(Source::new(file, text.clone()));
        }
        invalid
    }
}

/// Takes away what adds and replaces nodes by itself.
fn leave_nodes_alone(scenario: &mut ResolvedScenario) {
    let procedures = Arc::make_mut(&mut scenario.procedures);
    (procedures.autoscaler, procedures.repair) = (None, None);
}

fn counts(written: &ResolvedScenario, pools: &[PoolRange], count: fn(&PoolRange) -> u32) -> Overrides {
    let mut overrides = Overrides::none();
    for (index, pool) in written.pools.iter().enumerate() {
        if let Some(range) = pools.iter().find(|range| range.name == pool.name) {
            overrides.set(&format!("spec.cluster.nodePools[{index}].count"), &count(range).to_string());
        }
    }
    overrides
}
