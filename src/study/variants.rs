//! The scenarios of a study's variants: read once, tried before anything is played, compared with the scenario as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::definition::Study;
use super::edit;
use super::grid::{Axis, TODAY, Variant};
use super::problems::Problems;
use super::search::Space;
use super::setting::Setting;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::model::manifest::Folder;
use crate::scenario::{self, Invalid, Overrides, Reader, ResolvedScenario};
use crate::units::counted;

/// All variants of a study.
pub(super) struct Grid {
    pub(super) axes: Vec<Axis>,
    pub(super) variants: Vec<Variant>,
    /// The number that runs of each have in the journal; empty if that is its position.
    pub(super) numbers: Vec<usize>,
    pub(super) baseline: usize,
    pub(super) tuned: Vec<(String, usize)>,
    /// Digests of the scenarios that differ in values of their document.
    digests: Vec<u64>,
}

/// Kinds of which a run tells how they fared, and whose pods do not tolerate lost nodes for ever.
const OBSERVED: [&str; 3] = ["deployment/", "replicaset/", "statefulset/"];

const DAEMON_SET: &str = "daemonset/";

/// More variants that cannot be played than this need not be tried: what is wrong has been said.
const FAILED_MAX: usize = 30;

/// Resolves the scenarios of all variants. `baseline` has the position of the value that is the baseline, by axis; where it has
/// none, the scenario's own value is. Of a space in which is searched only those points are made with which that begins. None if something is wrong, which the problems then tell; they also have the warnings.
pub(super) fn resolve(
    mut axes: Vec<Axis>,
    baseline: &[Option<usize>],
    space: Option<&Space>,
    (folder, scenario_path): (&Folder, &Path),
    problems: &mut Problems,
    overrides: &Overrides,
) -> Option<Grid> {
    let reader = problems.take(Reader::open(folder, scenario_path, overrides))?;
    let mut bases = Bases { reader, found: BTreeMap::new() };
    let as_it_is = vec![None; axes.len()];
    let (today, digest) = problems.take(bases.get(&axes, &as_it_is))?;
    problems.absorb(&today.warnings, &today.sources);
    for index in 0..axes.len() {
        let found = check_values(&axes[index]);
        let found = found.and_then(|()| position_today(&axes, index, &mut bases, &today, digest));
        match found {
            Ok(position) => axes[index].today = position,
            Err(diagnostic) if diagnostic.labels.is_empty() => {
                problems.push(diagnostic.at(axes[index].location.clone(), ""));
            }
            Err(diagnostic) => problems.push(diagnostic),
        }
    }
    for (index, axis) in axes.iter().enumerate() {
        if let Some(diagnostic) = overlap(&axes[..index], axis, &today) {
            problems.push(diagnostic.at(axis.location.clone(), ""));
        }
        if let Some(diagnostic) = of_daemon_sets(axis, &today) {
            problems.push(diagnostic);
        }
    }
    if problems.has_errors() {
        tell_of_paths(&axes, &mut bases, problems);
        return None;
    }
    let points = space.map_or_else(|| Axis::combinations(&axes), Space::begin);
    let mut choices: Vec<Vec<Option<usize>>> =
        points.into_iter().map(|choice| choice.into_iter().map(Some).collect()).collect();
    let wanted: Vec<Option<usize>> = axes.iter().zip(baseline).map(|(axis, named)| named.or(axis.today)).collect();
    let baseline = choices.iter().position(|choice| *choice == wanted).unwrap_or_else(|| {
        choices.push(wanted);
        choices.len() - 1
    });
    let variants = variants(&axes, choices, &mut bases, problems)?;
    if let Err((variant, refused, axis)) = try_edits(&axes, &variants) {
        let unknown = unknown_patterns(&axes, &today);
        if unknown.is_empty() {
            problems.push(refused_edit(&axes, &variants[variant], refused, axis));
        }
        unknown.into_iter().for_each(|diagnostic| problems.push(diagnostic));
        return None;
    }
    // Where not every combination is played, what a value costs one workload is not told.
    let tuned = if space.is_some() { Vec::new() } else { tuned(&axes, &today) };
    let numbers = space.map_or_else(Vec::new, |space| {
        // The scenario as it is may be no point of these.
        let number = |variant: &Variant| variant.point().map(|point| space.number(&point)).or(space.size());
        variants.iter().filter_map(number).collect()
    });
    let digests = bases.found.into_values().map(|(_, digest)| digest).collect();
    Some(Grid { axes, variants, numbers, baseline, tuned, digests })
}

/// Says what is wrong with paths of which no value can be used, where variants are not tried, as something else is wrong.
fn tell_of_paths(axes: &[Axis], bases: &mut Bases, problems: &mut Problems) {
    for (position, axis) in axes.iter().enumerate() {
        let mut alone = |value: usize| {
            let mut choice = vec![None; axes.len()];
            choice[position] = Some(value);
            bases.get(axes, &choice).err()
        };
        let failures: Vec<Invalid> = (0..axis.settings.len()).map_while(&mut alone).collect();
        if failures.len() == axis.settings.len() {
            // Of a range one of its values tells enough.
            let told = if axis.range.is_some() { 1 } else { failures.len() };
            for invalid in failures.into_iter().take(told) {
                problems.absorb(&invalid.diagnostics, &invalid.sources);
            }
        }
    }
}

/// All variants; none if some cannot be played. Those that cannot for what has been said of others are not named.
fn variants(
    axes: &[Axis],
    choices: Vec<Vec<Option<usize>>>,
    bases: &mut Bases,
    problems: &mut Problems,
) -> Option<Vec<Variant>> {
    let (mut variants, mut failed) = (Vec::with_capacity(choices.len()), 0);
    let mut ranges_told = BTreeSet::new();
    // What is warned of, with the variants that it holds for.
    let mut warned: Vec<(Diagnostic, Vec<String>)> = Vec::new();
    for choice in choices {
        let labels = labels(axes, &choice);
        match bases.get(axes, &choice) {
            Ok((base, _)) => {
                problems.absorb(&Diagnostics::new(), &base.sources);
                for warning in base.warnings.iter() {
                    match warned.iter_mut().find(|(known, _)| known == warning) {
                        Some((_, of)) => of.push(label(axes, &labels)),
                        None => warned.push((warning.clone(), vec![label(axes, &labels)])),
                    }
                }
                let chosen = axes.iter().zip(&choice);
                let settings = chosen.filter_map(|(axis, index)| Some(axis.settings[(*index)?].clone())).collect();
                variants.push(Variant { labels, choice, base, settings });
            }
            Err(invalid) => {
                failed += 1;
                let alone = (0..axes.len()).find(|axis| bases.fails_alone(axes, &choice, *axis));
                let of_end = alone.and_then(|axis| bases.failure_of_end(axes, axis));
                let invalid = of_end.unwrap_or(invalid);
                // Of a range one of its values tells enough.
                let is_told = alone.is_some_and(|axis| axes[axis].range.is_some() && !ranges_told.insert(axis));
                let is_new = !is_told && problems.absorb(&invalid.diagnostics, &invalid.sources) > 0;
                // What a value does by itself is told where it stands.
                let errors = || invalid.diagnostics.iter().filter(|of| of.severity == Severity::Error);
                let is_here = |axis: usize| {
                    errors().any(|of| of.location().is_some_and(|at| at.file == axes[axis].location.file))
                };
                if is_new && !alone.is_some_and(is_here) {
                    problems.push(cannot_be_played(axes, &labels, "its scenario is invalid, as said above"));
                }
            }
        }
        if failed == FAILED_MAX {
            break;
        }
    }
    for (warning, of) in warned {
        let is_of_all = of.len() == variants.len() || problems.knows(&warning);
        let more = of.len().saturating_sub(1);
        let others =
            if more > 0 { format!(" and {}", counted(more, "other variant", "other variants")) } else { String::new() };
        problems.push(if is_of_all { warning } else { warning.help(format!("so it is with {}{others}", of[0])) });
    }
    (failed == 0).then_some(variants)
}

impl Grid {
    /// Equal for grids that would give equal results in studies that are equal otherwise.
    pub(super) fn fingerprint(&self, of_study: &str) -> u64 {
        let mut text = format!("{of_study} {} {:?}", self.baseline, self.digests);
        for axis in &self.axes {
            let _ = write!(text, "\n{}: {:?}", axis.name, axis.labels);
            text.push_str(&axis.settings.first().map_or_else(String::new, Setting::identity));
        }
        crate::arena::stable_hash(text.as_bytes())
    }
}

/// Scenarios that differ in values of their document, by the choice of these; what stands at other axes is left out.
struct Bases {
    reader: Reader,
    found: BTreeMap<Vec<Option<usize>>, (Arc<ResolvedScenario>, u64)>,
}

impl Bases {
    fn get(&mut self, axes: &[Axis], choice: &[Option<usize>]) -> Result<(Arc<ResolvedScenario>, u64), Invalid> {
        let mut overrides = Overrides::none();
        let mut key = Vec::with_capacity(choice.len());
        for (axis, index) in axes.iter().zip(choice) {
            let is_of_document = |index: &usize| axis.settings[*index].override_with(&mut overrides);
            key.push(index.filter(is_of_document));
        }
        if let Some(found) = self.found.get(&key) {
            return Ok(found.clone());
        }
        let scenario = self.reader.load(&overrides)?;
        let digest = crate::arena::stable_hash(scenario::lock_file(&scenario).as_bytes());
        let found = (Arc::new(scenario), digest);
        self.found.insert(key, found.clone());
        Ok(found)
    }

    /// What is wrong with an end of a range, whatever the others have: it is what somebody wrote, and values between were made of it.
    fn failure_of_end(&mut self, axes: &[Axis], axis: usize) -> Option<Invalid> {
        let last = axes[axis].range.as_ref()?.len() - 1;
        [0, last].into_iter().find_map(|end| {
            let alone: Vec<Option<usize>> = (0..axes.len()).map(|other| (other == axis).then_some(end)).collect();
            self.get(axes, &alone).err()
        })
    }

    /// Whether the value of one axis cannot be used, whatever the others have.
    fn fails_alone(&mut self, axes: &[Axis], choice: &[Option<usize>], axis: usize) -> bool {
        let only = |(other, value): (usize, &Option<usize>)| value.filter(|_| other == axis);
        let alone: Vec<Option<usize>> = choice.iter().enumerate().map(only).collect();
        self.get(axes, &alone).is_err()
    }
}

/// Makes variants of a study when they are wanted.
pub(crate) struct Later<'a> {
    axes: &'a [Axis],
    bases: Bases,
}

impl<'a> Later<'a> {
    /// Those of a study, whose scenario is read again.
    ///
    /// # Errors
    ///
    /// If that is invalid by now.
    pub(crate) fn new(study: &'a Study) -> Result<Self, Invalid> {
        let (folder, path, overrides) = &study.origin;
        let reader = Reader::open(folder, path, overrides)?;
        Ok(Self { axes: &study.axes, bases: Bases { reader, found: BTreeMap::new() } })
    }

    /// The variant of a choice; none if it cannot be played.
    pub(super) fn variant(&mut self, choice: &[Option<usize>]) -> Option<Variant> {
        let (base, _) = self.bases.get(self.axes, choice).ok()?;
        let chosen = self.axes.iter().zip(choice);
        let settings = chosen.filter_map(|(axis, index)| Some(axis.settings[(*index)?].clone())).collect();
        let variant = Variant { labels: labels(self.axes, choice), choice: choice.to_vec(), base, settings };
        let is_playable = try_edits(self.axes, std::slice::from_ref(&variant)).is_ok();
        is_playable.then_some(variant)
    }
}

fn check_values(axis: &Axis) -> Result<(), Diagnostic> {
    let repeated = axis.labels.iter().enumerate().find(|(index, label)| axis.labels[..*index].contains(label));
    repeated.map_or(Ok(()), |(index, label)| {
        let message = format!("`{label}` is twice among the values of `{}`", axis.name);
        Err(Diagnostic::error("study::repeated_value", message)
            .at(axis.values_at[index].clone(), "again")
            .help("each value makes a variant of its own: name it once"))
    })
}

/// Says which workload is already varied by an earlier axis in the same respect: the later value would silently win.
fn overlap(earlier: &[Axis], axis: &Axis, today: &ResolvedScenario) -> Option<Diagnostic> {
    let selected = |patterns: &[String]| edit::workloads(&today.objects, patterns).unwrap_or_default();
    for other in earlier {
        let Some((ours, theirs)) = axis.settings.first()?.same_of(other.settings.first()?) else { continue };
        let theirs = selected(theirs);
        if let Some(index) = selected(ours).into_iter().find(|index| theirs.contains(index)) {
            let path = edit::path_of(&today.objects[index].object);
            let message = format!("`{}` varies what `{}` varies: that of {path}", axis.name, other.name);
            let help = "a workload can have only one value: let each pattern select other workloads, or other taints";
            return Some(Diagnostic::error("study::overlap", message).help(help));
        }
    }
    None
}

/// Says which pattern of `tolerationSeconds` selects DaemonSets only.
///
/// # Source
///
/// The DaemonSet controller gives its pods tolerations of the taints of lost nodes that have no end, whatever the template says.
fn of_daemon_sets(axis: &Axis, today: &ResolvedScenario) -> Option<Diagnostic> {
    let workloads = axis.settings.first()?.tuned()?;
    let is_vain = |pattern: &&String| {
        let found = edit::workloads(&today.objects, std::slice::from_ref(*pattern)).unwrap_or_default();
        let mut paths = found.iter().map(|&index| edit::path_of(&today.objects[index].object));
        !found.is_empty() && paths.all(|path| path.starts_with(DAEMON_SET))
    };
    let (position, pattern) = workloads.iter().enumerate().find(|(_, pattern)| is_vain(pattern))?;
    let message = format!("`{pattern}` makes no difference: pods of DaemonSets tolerate lost nodes for ever");
    let help = "leave it out; the DaemonSet controller replaces such tolerations of the template";
    Some(Diagnostic::error("study::no_effect", message).at(axis.patterns_at[position].clone(), "").help(help))
}

/// The position of the value that the scenario itself has.
fn position_today(
    axes: &[Axis],
    index: usize,
    bases: &mut Bases,
    today: &ResolvedScenario,
    digest: u64,
) -> Result<Option<usize>, Diagnostic> {
    let axis = &axes[index];
    if axis.settings.first().and_then(Setting::of_document).is_none() {
        return Ok(axis.settings.iter().position(|setting| setting.is_today(today)));
    }
    let mut digests = Vec::new();
    for value in 0..axis.settings.len() {
        let mut choice = vec![None; axes.len()];
        choice[index] = Some(value);
        // One that cannot be used alone may be usable with others.
        digests.push(bases.get(axes, &choice).ok().map(|(_, digest)| digest));
    }
    if digests.len() > 1 && digests[0].is_some() && digests.iter().all(|digest| *digest == digests[0]) {
        let message = format!("the values of `{}` all give the same scenario", axis.name);
        let help = "vary something that decides something; `check` lists the fields that have no effect";
        return Err(Diagnostic::error("study::no_effect", message).help(help));
    }
    if let Some((one, other)) = same_again(&digests, axis.range.is_some()) {
        let place = axis.values_at[other].clone();
        let (one, other) = (&axis.labels[one], &axis.labels[other]);
        let message = format!("`{one}` and `{other}` of `{}` give the same scenario", axis.name);
        let help = match axis.range {
            Some(_) => {
                "what lies between gives another one, so that the range has no order: let it begin or end elsewhere, such as above 0 where \
                 that stands for another value"
            }
            None => "each value makes a variant of its own: name it once",
        };
        return Err(Diagnostic::error("study::repeated_value", message).at(place, "").help(help));
    }
    Ok(digests.iter().position(|found| *found == Some(digest)))
}

/// Two values that give the same scenario, though each should give one of its own. Neighbours of a range may come to the same.
fn same_again(digests: &[Option<u64>], is_range: bool) -> Option<(usize, usize)> {
    let mut known: Vec<(usize, u64)> = (0..).zip(digests).filter_map(|(value, of)| Some((value, (*of)?))).collect();
    if is_range {
        known.dedup_by_key(|(_, digest)| *digest);
    }
    let earlier = |at: usize| known[..at].iter().find(|(_, digest)| *digest == known[at].1);
    (0..known.len()).find_map(|at| Some((earlier(at)?.0, known[at].0)))
}

fn labels(axes: &[Axis], choice: &[Option<usize>]) -> Vec<String> {
    let label = |(axis, index): (&Axis, &Option<usize>)| {
        index.map_or_else(|| TODAY.to_owned(), |index| axis.labels[index].clone())
    };
    axes.iter().zip(choice).map(label).collect()
}

/// `wait=30, nodes=5`.
fn label(axes: &[Axis], labels: &[String]) -> String {
    axes.iter().zip(labels).map(|(axis, label)| format!("{}={label}", axis.name)).collect::<Vec<_>>().join(", ")
}

fn cannot_be_played(axes: &[Axis], labels: &[String], message: &str) -> Diagnostic {
    let told: Vec<String> = axes.iter().zip(labels).map(|(axis, label)| format!("{}={label}", axis.name)).collect();
    let message = format!("the variant {} cannot be played: {message}", told.join(", "));
    Diagnostic::error("study::bad_variant", message)
}

/// What is wrong with patterns that select nothing in the scenario as it is.
fn unknown_patterns(axes: &[Axis], today: &ResolvedScenario) -> Vec<Diagnostic> {
    let of_axis = |axis: &Axis| -> Vec<Diagnostic> {
        let patterns = axis.settings[0].patterns().iter().zip(&axis.patterns_at);
        let unknown = patterns.filter_map(|(pattern, at)| {
            let refused = edit::workloads(&today.objects, std::slice::from_ref(pattern)).err()?;
            let diagnostic = Diagnostic::error("study::bad_vary", refused.message).at(at.clone(), "");
            Some(refused.help.into_iter().fold(diagnostic, Diagnostic::help))
        });
        unknown.collect()
    };
    axes.iter().flat_map(of_axis).collect()
}

/// That a variant cannot be made, for the value or a pattern of an axis.
fn refused_edit(axes: &[Axis], variant: &Variant, refused: edit::Refused, axis: usize) -> Diagnostic {
    let edit::Refused { message, help, pattern } = refused;
    let diagnostic = cannot_be_played(axes, &variant.labels, &message);
    let of_value = || variant.choice[axis].map(|value| axes[axis].values_at[value].clone());
    let place = pattern.map(|position| axes[axis].patterns_at[position].clone()).or_else(of_value);
    let diagnostic = diagnostic.at(place.unwrap_or_else(|| axes[axis].location.clone()), "");
    help.into_iter().fold(diagnostic, Diagnostic::help)
}

/// Makes every change once on every scenario; says which variant cannot be made, why, and at which axis.
fn try_edits(axes: &[Axis], variants: &[Variant]) -> Result<(), (usize, edit::Refused, usize)> {
    let mut tried: Vec<(*const ResolvedScenario, usize, usize)> = Vec::new();
    let mut scratch: Option<(*const ResolvedScenario, ResolvedScenario)> = None;
    for (position, variant) in variants.iter().enumerate() {
        let base = Arc::as_ptr(&variant.base);
        for (axis, index) in variant.choice.iter().enumerate() {
            let Some(index) = *index else { continue };
            let setting = &axes[axis].settings[index];
            if setting.of_document().is_some() || tried.contains(&(base, axis, index)) {
                continue;
            }
            tried.push((base, axis, index));
            if scratch.as_ref().is_none_or(|(of, _)| *of != base) {
                scratch = Some((base, ResolvedScenario::clone(&variant.base)));
            }
            let (_, scenario) = scratch.as_mut().expect("made above");
            setting.apply(scenario).map_err(|refused| (position, refused, axis))?;
        }
        check_pods(variant).map_err(|(refused, axis)| (position, refused, axis))?;
    }
    Ok(())
}

/// Refuses replicas that make more pods than can be played, with the axis of the largest count.
fn check_pods(variant: &Variant) -> Result<(), (edit::Refused, usize)> {
    let count = |(axis, index): (usize, &Option<usize>), settings: &mut std::slice::Iter<'_, Setting>| {
        index.and_then(|_| Some((settings.next()?.pods()?, axis)))
    };
    let mut settings = variant.settings.iter();
    let largest = variant.choice.iter().enumerate().filter_map(|of| count(of, &mut settings)).max();
    let Some((_, axis)) = largest else { return Ok(()) };
    let mut scenario = ResolvedScenario::clone(&variant.base);
    for setting in variant.settings.iter().filter(|setting| setting.pods().is_some()) {
        setting.apply(&mut scenario).map_err(|refused| (refused, axis))?;
    }
    scenario::too_many_pods(&scenario).map_or(Ok(()), |(total, help)| {
        Err((edit::Refused::value(format!("it would have {total} pods"), Some(help)), axis))
    })
}

/// Workloads whose `tolerationSeconds` are varied, with the first axis that does.
fn tuned(axes: &[Axis], today: &ResolvedScenario) -> Vec<(String, usize)> {
    let mut tuned: Vec<(String, usize)> = Vec::new();
    for (position, axis) in axes.iter().enumerate() {
        let Some(workloads) = axis.settings.first().and_then(Setting::tuned) else { continue };
        for index in edit::workloads(&today.objects, workloads).unwrap_or_default() {
            let path = edit::path_of(&today.objects[index].object);
            let is_observed = OBSERVED.iter().any(|kind| path.starts_with(kind));
            if is_observed && tuned.iter().all(|(known, _)| *known != path) {
                tuned.push((path, position));
            }
        }
    }
    tuned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_range_may_give_the_same_and_nothing_else_may() {
        let check = |digests: &[u64], is_range: bool, expected: Option<(usize, usize)>| {
            let digests: Vec<Option<u64>> = digests.iter().map(|of| Some(*of).filter(|of| *of > 0)).collect();
            assert_eq!(same_again(&digests, is_range), expected, "{digests:?}");
        };
        check(&[1, 1, 2, 3, 3], true, None);
        check(&[1, 1, 2, 3, 3], false, Some((0, 1)));
        check(&[1, 2, 2, 3, 1], true, Some((0, 4)));
        // Those that cannot be used alone are 0.
        check(&[1, 0, 1, 0], true, None);
        check(&[0, 1, 0, 1], false, Some((1, 3)));
    }
}
