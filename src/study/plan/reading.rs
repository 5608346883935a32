//! Reads plans, and checks them with the scenarios that they name.

use std::path::Path;

use super::super::document::file_as_given;
use super::super::problems::Problems;
use super::case::labels;
use super::checker::Checker;
use super::definition::{Case, Plan, PoolRange};
use super::document::{PlanDocument, Spec};
use super::loader::Loader;
use crate::diagnostics::{Source, Sources};
use crate::model::manifest::Folder;
use crate::scenario::{self, At, Invalid, Overrides, OwnDocument, ResolvedScenario};

/// Reads a plan and the scenarios it names.
///
/// # Errors
///
/// Everything that is wrong with the plan and with its scenarios, as far as one problem does not hide another.
pub fn load(path: &Path) -> Result<Plan, Invalid> {
    load_with(path, &Overrides::none())
}

/// The same, with values that all of its scenarios have.
///
/// # Errors
///
/// Everything that is wrong with the plan and with its scenarios, as far as one problem does not hide another.
pub fn load_with(path: &Path, overrides: &Overrides) -> Result<Plan, Invalid> {
    let text = scenario::read_text(path)?;
    let plan = parse(&path.to_string_lossy(), &text, &Folder::on_disk(Path::new("")).around(path), overrides)?;
    Ok(Plan { file: file_as_given(path), ..plan })
}

/// Reads a plan from its text; `name` is how messages name it, `folder` where its paths lead.
///
/// # Errors
///
/// Everything that is wrong with the plan and with its scenarios, as far as one problem does not hide another.
pub(crate) fn parse(name: &str, text: &str, folder: &Folder, overrides: &Overrides) -> Result<Plan, Invalid> {
    let OwnDocument { value, root, diagnostics } = scenario::read_own::<PlanDocument>((name, text), "Plan", overrides)?;
    let problems = Problems::of(Source::new(name, text), diagnostics);
    let Some(PlanDocument { metadata, spec, .. }) = value else { return Err(problems.refuse()) };
    let root = At::root(&root);
    let place = |path: &str| root.written(path).location();
    let sources = Sources::from_iter([Source::new(name, text)]);
    let loader = Loader { folder, place: &place, sources: &sources, overrides };
    let mut checker = Checker { problems, place: &place, has_lost: &|path| root.has_lost_of(path) };
    checker.name(&metadata.name);
    checker.pools(&spec);
    checker.cases(&spec);
    let placements = checker.placements(&spec);
    checker.problems.sort();
    let found = loader.load(&spec.scenario, &Overrides::none(), "spec.scenario");
    let written = checker.problems.take(found);
    let (pools, priority) = match &written {
        Some(written) => (checker.pools_of(&spec, written), checker.priority(&spec, written)),
        None => (Vec::new(), (i32::MIN, None)),
    };
    let base = written.as_ref().and_then(|written| base(&spec, written, &pools, &loader, &mut checker));
    let cases = cases(&spec, &pools, &loader, &mut checker);
    if let (Some(base), false) = (&base, checker.problems.has_errors()) {
        checker.warn_of_nobody(&spec, priority.0, base, &cases);
    }
    let (warnings, sources) = checker.problems.end()?;
    let base = base.expect("there are errors where there is none");
    let (priority, priority_label) = priority;
    Ok(Plan {
        name: metadata.name,
        file: None,
        pools,
        cases,
        priority,
        priority_label,
        placements,
        base,
        warnings,
        sources,
    })
}

/// The cluster of a plan; none if something is wrong with it, or with what is known of the plan.
fn base(
    spec: &Spec,
    written: &ResolvedScenario,
    pools: &[PoolRange],
    loader: &Loader<'_>,
    checker: &mut Checker<'_>,
) -> Option<ResolvedScenario> {
    if checker.problems.has_errors() {
        return None;
    }
    let found = loader.base(spec, written, pools);
    let base = checker.problems.take(found)?;
    checker.sizes(spec, &base, pools);
    let plays_itself = spec.survive.iter().any(|case| case.scenario() == Some(&spec.scenario));
    checker.warn_of_requests(written);
    if !plays_itself && (!written.timeline.is_empty() || !written.chaos.processes.is_empty()) {
        checker.warn_of_timeline(&spec.scenario);
    }
    Some(base)
}

/// The cases, without those of which the scenario cannot be used.
fn cases(spec: &Spec, pools: &[PoolRange], loader: &Loader<'_>, checker: &mut Checker<'_>) -> Vec<Case> {
    // As long as something is wrong with the pools, scenarios are only held against themselves.
    let is_sound = !checker.problems.has_errors();
    let mut cases = Vec::new();
    for ((index, entry), label) in spec.survive.iter().enumerate().zip(labels(&spec.survive)) {
        let kind = entry.read(|file| {
            let at = format!("spec.survive[{index}]");
            let found = match is_sound {
                true => loader.case(file, pools, &at),
                false => loader.load(file, &Overrides::none(), &at),
            };
            checker.problems.take(found).map(Box::new)
        });
        cases.extend(kind.map(|kind| Case { label, kind }));
    }
    cases
}
