//! What is varied, and from what it is compared: `vary` and `baseline`.

use super::super::grid::Axis;
use super::super::metrics::{WORKLOAD_METRICS, metric_names};
use super::super::setting::{Vary, Wrong, plain};
use super::{EMPTY, Seeds, Spec, UNKNOWN};
use crate::diagnostics::Diagnostic;
use crate::observe::TableInfo;
use crate::report::tables_of_studies;
use crate::scenario::At;

/// More runs than this are a slip of the pen.
pub(in crate::study) const RUNS_MAX: u64 = 10_000_000;

/// More variants than this fill the memory, as each has a cluster of its own.
const VARIANTS_MAX: u64 = 10_000;

/// The table that only studies have that require something.
const REQUIREMENTS: &str = "requirements.csv";

/// The table that only studies with ranges have.
const SURROGATE: &str = "surrogate.csv";

/// Those that only studies have that ask what their records leave open.
const OF_INPUTS: [&str; 2] = ["inputs.csv", "input-runs.csv"];

/// Which tables are written besides those of every study.
#[derive(Clone, Copy, Default)]
pub(in crate::study) struct Besides {
    pub(in crate::study) requirements: bool,
    pub(in crate::study) surrogate: bool,
    pub(in crate::study) inputs: bool,
}

/// Whether the grid is too large to be looked at.
pub(super) fn check_size(spec: &Spec, axes: &[Axis], problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> bool {
    if spec.replications == 0 {
        let diagnostic = Diagnostic::error("study::bad_value", "a study needs at least one replication");
        problem(diagnostic.help("200 tell small differences; 20 are enough to try"), "spec.replications", "zero");
    }
    if spec.seeds == Seeds::Antithetic && !spec.replications.is_multiple_of(2) {
        let diagnostic = Diagnostic::error("study::bad_value", "antithetic replications come in pairs");
        problem(diagnostic.help("take an even number, or `seeds: plain`"), "spec.replications", "odd");
    }
    if axes.iter().any(|axis| axis.range.is_some()) {
        // How many points are played is said elsewhere.
        return false;
    }
    let combinations = axes.iter().map(|axis| axis.settings.len() as u64).try_fold(1, u64::checked_mul);
    let runs = combinations.and_then(|count| count.checked_mul(spec.replications.into()));
    let is_too_large = combinations.is_none_or(|count| count > VARIANTS_MAX);
    if is_too_large {
        let diagnostic =
            Diagnostic::error("study::too_large", format!("the grid has more than {VARIANTS_MAX} variants"));
        problem(diagnostic.help("take fewer values"), "spec.vary", "multiplied");
    } else if runs.is_none_or(|runs| runs > RUNS_MAX) {
        let diagnostic = Diagnostic::error("study::too_large", format!("the grid has more than {RUNS_MAX} runs"));
        problem(diagnostic.help("take fewer values or replications"), "spec.vary", "multiplied");
    }
    is_too_large
}

pub(super) fn axes(spec: &Spec, root: At<'_>, problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> Vec<Axis> {
    let place = |path: &str| root.written(path).location();
    if spec.vary.is_empty() {
        let diagnostic = Diagnostic::error("study::empty_grid", "nothing is varied");
        problem(diagnostic.help("name at least one value, such as `- {name: grace, path: spec.controlPlane.kubeControllerManager.node-monitor-grace-period, values: [40s, 50s]}`"), "spec.vary", EMPTY);
    }
    let mut axes: Vec<Axis> = Vec::new();
    let besides = Besides {
        requirements: !spec.require.is_empty(),
        surrogate: spec.vary.iter().any(Vary::has_range),
        inputs: !spec.inputs.is_empty(),
    };
    for (index, vary) in spec.vary.iter().enumerate() {
        let at = format!("spec.vary[{index}]");
        if let Some((message, help)) = check_name(&vary.name, besides) {
            problem(Diagnostic::error("study::bad_name", message).help(help), &format!("{at}.name"), "");
        }
        if axes.iter().any(|axis| axis.name == vary.name) {
            let diagnostic = Diagnostic::error("study::repeated_name", format!("`{}` is varied twice", vary.name));
            problem(diagnostic, &format!("{at}.name"), "again");
        }
        let earlier = spec.vary[..index].iter().find(|earlier| match (&earlier.path, &vary.path) {
            (Some(one), Some(other)) => is_within(one, other) || is_within(other, one),
            _ => false,
        });
        if let Some(Vary { name, path: Some(path), .. }) = earlier {
            let message = format!("`{}` varies what `{name}` varies: `{path}`", vary.name);
            let help = "of two values of one field only one can hold: put all into one list";
            problem(Diagnostic::error("study::overlap", message).help(help), &format!("{at}.path"), "again");
        }
        if vary.path.as_deref().is_some_and(|path| is_within(path, "metadata")) {
            let diagnostic = Diagnostic::error("study::no_effect", "what a scenario is called makes no difference");
            problem(diagnostic.help("vary something below `spec`"), &format!("{at}.path"), "has no effect");
        }
        if vary.path.as_deref() == Some("spec.seed") {
            let diagnostic = Diagnostic::error("study::bad_vary", "the seed is what replications vary");
            let help = "set `replications`; replication r of every variant has the scenario's seed plus r";
            problem(diagnostic.help(help), &format!("{at}.path"), "has no effect");
        }
        match vary.values(&at, &place) {
            Ok((_, settings, _)) if settings.is_empty() => {
                let diagnostic = Diagnostic::error("study::empty_grid", format!("`{}` has no values", vary.name));
                problem(diagnostic.help("give it the values to be tried"), &at, EMPTY);
            }
            Ok((labels, settings, range)) => {
                let (name, location) = (vary.name.clone(), place(&format!("{at}.name")));
                let below = format!("{at}{}", settings[0].field());
                let value_at = |index: usize| match &range {
                    None => place(&format!("{below}.values[{index}]")),
                    Some(_) if index == 0 => place(&format!("{below}.range.min")),
                    Some(_) if index + 1 == settings.len() => place(&format!("{below}.range.max")),
                    Some(_) => place(&format!("{below}.range")),
                };
                let values_at = (0..settings.len()).map(value_at).collect();
                let pattern_at = |index: usize| place(&format!("{below}.workloads[{index}]"));
                let patterns_at = (0..settings[0].patterns().len()).map(pattern_at).collect();
                axes.push(Axis { name, labels, range, today: None, settings, location, values_at, patterns_at });
            }
            // What it lacks has been found wrong.
            Err(Wrong { is_lack: true, .. }) if root.has_lost_of(&at) => {}
            Err(Wrong { message, field, .. }) => {
                problem(Diagnostic::error("study::bad_vary", message), &format!("{at}{field}"), "");
            }
        }
    }
    axes
}

/// What is wrong with the name of what is varied, and what to do: it is the name of a column, and stands in `name=value, name=value`.
pub(in crate::study) fn check_name(name: &str, besides: Besides) -> Option<(String, &'static str)> {
    let is_written = |table: &TableInfo| match table.file {
        REQUIREMENTS => besides.requirements,
        SURROGATE => besides.surrogate,
        file => besides.inputs || !OF_INPUTS.contains(&file),
    };
    let is_column = |table: &TableInfo| is_written(table) && table.columns.iter().any(|column| column.name == name);
    let is_of_us =
        tables_of_studies().iter().any(is_column) || metric_names().contains(&name) || WORKLOAD_METRICS.contains(&name);
    if is_of_us {
        let message = format!("`{name}` is the name of a column of the tables already");
        return Some((message, "take a word of your own, such as what the value does"));
    }
    let is_readable = !name.trim().is_empty() && name.trim() == name;
    if is_readable && !name.contains(|c: char| c.is_control() || matches!(c, ',' | '=' | '"')) {
        return None;
    }
    let message = format!("{name:?} cannot be the name of what is varied");
    Some((
        message,
        "it heads a column and stands in lists such as `wait=60, grace=40s`: take a word without `,`, `=` and quotes",
    ))
}

/// Whether a path is another one or a field somewhere below it.
pub(in crate::study) fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The position of the value that `baseline` names, by axis; none where it names none.
pub(super) fn baseline(
    spec: &Spec,
    axes: &[Axis],
    problem: &mut dyn FnMut(Diagnostic, &str, &str),
) -> Vec<Option<usize>> {
    // One whose values are wrong is none of the axes, but named.
    for name in spec.baseline.keys().filter(|name| spec.vary.iter().all(|vary| vary.name != **name)) {
        let diagnostic = Diagnostic::error("study::unknown_name", format!("nothing that is varied is called `{name}`"));
        problem(diagnostic, &format!("spec.baseline.{name}"), UNKNOWN);
    }
    let named = axes.iter().map(|axis| {
        let value = spec.baseline.get(&axis.name)?;
        let label = plain(value);
        let index = match &axis.range {
            Some(range) => range.position(value),
            None => axis.labels.iter().position(|known| *known == label),
        };
        // Which of two things of one name is meant nobody knows.
        let is_one = axes.iter().filter(|other| other.name == axis.name).count() == 1;
        if index.is_none() && is_one {
            let message = format!("`{label}` is not one of the values of `{}`", axis.name);
            let values = match axis.range {
                Some(_) => axis.few_labels(),
                None => axis.labels.join(", "),
            };
            let help = format!("they are {values}; without it the scenario's own value is the baseline");
            let diagnostic = Diagnostic::error("study::unknown_name", message).help(help);
            problem(diagnostic, &format!("spec.baseline.{}", axis.name), "no such value");
        }
        index
    });
    named.collect()
}
