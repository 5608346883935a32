//! Where two runs first went apart, and why.
//!
//! The clusters as they were at t=0, what happened, what the API server was told and the waits that began are compared row by row, in
//! the order of their times. All rows before the first one that differs are the same in both runs, but for names that chance makes.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::inputs::Inputs;
use super::made_names::MadeNames;
use super::{Run, Setting};
use crate::inspect::causes::{Causes, object_of};
use crate::inspect::record::object_name;
use crate::report::{Row, RunTables, TableError, is_true, text, time};
use crate::units::{SimDuration, SimTime, counted};

/// From this on, a thing that happens in both runs happens at another time rather than at nearly the same.
const APART: SimDuration = SimDuration::from_secs(1);

/// Where two runs first went apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Divergence {
    /// The first row that differs.
    pub first: Apart,
    /// The first row that the other run has not, or not within a second: often the same one.
    pub by_more: Option<Apart>,
    /// Why.
    pub why: Why,
}

/// A thing that happened in both runs, but not alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// When, in the run in which it came first.
    pub at_s: f64,
    /// The table that has it.
    pub table: &'static str,
    /// What there is in the first run; none if nothing of the kind is there any more while both runs last.
    pub before: Option<Happening>,
    /// What there is in the second run.
    pub after: Option<Happening>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Happening {
    /// When.
    pub at_s: f64,
    /// What, in the words of the table.
    pub what: String,
}

/// Why two runs went apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// What it is.
    pub kind: WhyKind,
    /// What it is, as a sentence without its full stop.
    pub text: String,
    /// When what is to blame happened: the entry of the timeline that only one run has.
    pub at_s: Option<f64>,
}

/// What can drive two runs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyKind {
    /// An entry of the timeline, or a random fault, that only one of them has then.
    Timeline,
    /// One setting or more, or objects of the cluster.
    Settings,
    /// Nothing but chance: another seed.
    Chance,
    /// Another version of this program.
    Version,
    /// It cannot be told, as chance differs beside settings; or nothing that is known: equal inputs give equal runs.
    Unknown,
}

/// A row as it is compared: by its time, and by what it says but for names that chance makes.
#[derive(Debug)]
struct Line {
    at: SimTime,
    what: String,
    /// What it says without such names; none if there are none in it.
    nameless: Option<String>,
}

impl Line {
    fn says(&self) -> &str {
        self.nameless.as_deref().unwrap_or(&self.what)
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.says()) == (other.at, other.says())
    }
}

impl From<&Line> for Happening {
    fn from(line: &Line) -> Self {
        Self { at_s: seconds(line.at), what: line.what.clone() }
    }
}

/// Milliseconds are all that tables have.
fn seconds(at: SimTime) -> f64 {
    (at.as_secs_f64() * 1000.0).round() / 1000.0
}

type Lines = fn(&RunTables) -> Result<Vec<Line>, TableError>;

/// The tables, in the order in which they are asked where several differ from the same instant on.
const TABLES: [(&str, Lines); 4] =
    [("pods.csv", start), ("causes.csv", causes), ("events.csv", events), ("timers.csv", timers)];

/// The first divergence of two runs.
///
/// # Errors
///
/// If a table is missing or damaged.
pub(super) fn first(
    tables: [&RunTables; 2],
    runs: &[Run; 2],
    inputs: &Inputs,
) -> Result<Option<Divergence>, TableError> {
    let end = runs[0].end().min(runs[1].end());
    let (mut first, mut by_more): (Option<Apart>, Option<Apart>) = (None, None);
    let made = [MadeNames::of(tables[0])?, MadeNames::of(tables[1])?];
    for (table, lines) in TABLES {
        if !tables.iter().all(|run| run.has_written(table)) {
            continue;
        }
        let side = |run: usize| Ok::<_, TableError>(until(without_made_names(lines(tables[run])?, &made[run]), end));
        let sides = [side(0)?, side(1)?];
        let found = [differing(table, &sides), apart(table, &sides)];
        for (best, found) in [&mut first, &mut by_more].into_iter().zip(found) {
            if found.as_ref().is_some_and(|found| best.as_ref().is_none_or(|best| found.at_s < best.at_s)) {
                *best = found;
            }
        }
    }
    let Some(first) = first else { return Ok(None) };
    let why = match only_in_one(tables, by_more.as_ref().unwrap_or(&first), end)? {
        Some(why) => why,
        None => of_inputs(inputs, runs, by_more.as_ref().unwrap_or(&first), &owners(tables)?),
    };
    Ok(Some(Divergence { first, by_more, why }))
}

fn without_made_names(mut lines: Vec<Line>, made: &MadeNames) -> Vec<Line> {
    lines.iter_mut().for_each(|line| line.nameless = made.taken_out(&line.what));
    lines
}

/// The lines up to an instant, in their order; those of the start, which have none, by what they say.
fn until(mut lines: Vec<Line>, end: SimTime) -> Vec<Line> {
    if lines.last().is_some_and(|line| line.at == SimTime::ZERO) {
        lines.sort_by(|a, b| a.says().cmp(b.says()));
    }
    lines.sort_by_key(|line| line.at);
    lines.truncate(lines.partition_point(|line| line.at <= end));
    lines
}

/// The first rows that differ: of the same object, or the earlier one and the like of it that the other run has later.
fn differing(table: &'static str, sides: &[Vec<Line>; 2]) -> Option<Apart> {
    let [before, after] = sides;
    let place = before.iter().zip(after).position(|(one, other)| one != other);
    let place = place.unwrap_or(before.len().min(after.len()));
    let (Some(one), Some(other)) = (before.get(place), after.get(place)) else {
        return pair(table, before.get(place), after.get(place));
    };
    let is_same = object_of(one.says()).is_some_and(|object| object_of(other.says()) == Some(object));
    let like = |side: usize, line: &Line| sides[side][place..].iter().find(|of| of.says() == line.says());
    match one.at.cmp(&other.at) {
        _ if is_same => pair(table, Some(one), Some(other)),
        Ordering::Less => pair(table, Some(one), like(1, one)),
        Ordering::Equal => pair(table, Some(one), Some(other)),
        Ordering::Greater => pair(table, like(0, other), Some(other)),
    }
}

fn pair(table: &'static str, before: Option<&Line>, after: Option<&Line>) -> Option<Apart> {
    let at = before.into_iter().chain(after).map(|line| line.at).min()?;
    Some(Apart { at_s: seconds(at), table, before: before.map(Happening::from), after: after.map(Happening::from) })
}

/// The first row that the other run has not, or not within a second, with the time at which the other run has the like.
fn apart(table: &'static str, sides: &[Vec<Line>; 2]) -> Option<Apart> {
    let unmatched = |own: usize| {
        let mut times: FxHashMap<&str, Vec<&Line>> = FxHashMap::default();
        for line in sides[1 - own].iter().rev() {
            times.entry(line.says()).or_default().push(line);
        }
        sides[own].iter().find_map(|line| match times.get_mut(line.says()).and_then(Vec::pop) {
            Some(other) if other.at.max(line.at).saturating_since(other.at.min(line.at)) < APART => None,
            other => Some((line, other)),
        })
    };
    let (left, right) = (unmatched(0), unmatched(1));
    match (left, right) {
        (Some((line, other)), Some((later, _))) if line.at <= later.at => pair(table, Some(line), other),
        (Some((line, other)), None) => pair(table, Some(line), other),
        (_, Some((line, other))) => pair(table, other, Some(line)),
        (None, None) => None,
    }
}

/// The entry of the timeline that a row follows from, if only that run has it then.
fn only_in_one(tables: [&RunTables; 2], apart: &Apart, end: SimTime) -> Result<Option<Why>, TableError> {
    if apart.table != "causes.csv" && apart.table != "events.csv" {
        return Ok(None);
    }
    let all = [Causes::read(tables[0])?, Causes::read(tables[1])?];
    let actions = all.each_ref().map(|causes| {
        let begun = causes.effects.iter().filter(|effect| effect.what.starts_with(ACTION) && effect.at <= end);
        begun.map(|effect| (effect.at, effect.what.as_str())).collect::<Vec<_>>()
    });
    let found = [(0, &apart.before), (1, &apart.after)].into_iter().find_map(|(side, row)| {
        let row = row.as_ref().filter(|row| row.at_s <= apart.at_s)?;
        let effects = &all[side].effects;
        let found = effects.iter().position(|effect| effect.what == row.what && seconds(effect.at) == row.at_s);
        // What the API server is told of an action has the time of the action.
        let root = found.map(|effect| &effects[all[side].root(effect)]);
        let root = root.or_else(|| {
            effects.iter().find(|effect| effect.what.starts_with(ACTION) && seconds(effect.at) == row.at_s)
        })?;
        let is_new = root.what.starts_with(ACTION) && !actions[1 - side].contains(&(root.at, root.what.as_str()));
        is_new.then_some((side, root))
    });
    Ok(found.map(|(side, root)| {
        let action = root.what.trim_start_matches(ACTION);
        let run = ["first", "second"][side];
        Why {
            kind: WhyKind::Timeline,
            text: format!("what only the {run} run has then, {action}"),
            at_s: Some(seconds(root.at)),
        }
    }))
}

/// How `causes.csv` begins what the timeline or a random fault did.
const ACTION: &str = "scenario: ";

/// What of the inputs drives the runs apart.
fn of_inputs(inputs: &Inputs, runs: &[Run; 2], apart: &Apart, owners: &Owners) -> Why {
    // Whatever a setting may do, another seed may have done as well.
    let why = |kind, text: String| match (kind, &inputs.seeds) {
        (WhyKind::Settings, Some(_)) => {
            Why { kind: WhyKind::Unknown, text: format!("chance, as the seeds differ, or {text}"), at_s: None }
        }
        _ => Why { kind, text, at_s: None },
    };
    let deciding: Vec<&Setting> = inputs.settings.iter().filter(|setting| setting.decides).collect();
    let named: Vec<&&Setting> = deciding.iter().filter(|setting| is_about(setting, apart, owners)).collect();
    match (&deciding[..], &named[..]) {
        ([only], _) if inputs.settings.len() == 1 => {
            why(WhyKind::Settings, format!("the only setting that differs, {}", only.place()))
        }
        ([only], _) => {
            why(WhyKind::Settings, format!("the only setting that differs and decides anything, {}", only.place()))
        }
        ([_, ..], [one, ..]) => {
            why(WhyKind::Settings, format!("what differs in the object that this happens to, {}", one.place()))
        }
        ([_, ..], []) => {
            let count = counted(deciding.len() + inputs.more, "setting", "settings");
            why(WhyKind::Settings, format!("one of the {count} that differ"))
        }
        ([], _) => match (&inputs.seeds, &inputs.versions) {
            (Some([before, after]), _) => {
                let seed = |of: &Option<u64>| of.map_or("none".to_owned(), |seed| seed.to_string());
                why(WhyKind::Chance, format!("chance alone: the seed is {} in the first run and {} in the second", seed(before), seed(after)))
            }
            (None, Some([before, after])) => {
                why(WhyKind::Version, format!("nothing of the inputs: kubesquall {before} played the first run and {after} the second"))
            }
            (None, None) if runs[0].duration_s != runs[1].duration_s => {
                why(WhyKind::Settings, "nothing but how long the runs are: random faults are drawn for all of it".to_owned())
            }
            (None, None) if inputs.own_plugins => {
                why(WhyKind::Unknown, "nothing that files tell: they do not hold the plug-ins of the runs".to_owned())
            }
            (None, None) => why(
                WhyKind::Unknown,
                "nothing that is known: the inputs are the same, and equal inputs give equal runs; somebody has changed a file, or this is a bug to report".to_owned(),
            ),
        },
    }
}

/// Whether a setting is of the object, or of the workload of the pod, that a row tells of.
fn is_about(setting: &Setting, apart: &Apart, owners: &Owners) -> bool {
    let Some((kind, name)) = setting.object.as_ref().and_then(|object| object.split_once(' ')) else { return false };
    let named = format!("{}/{name}", kind.to_ascii_lowercase());
    let rows = apart.before.iter().chain(&apart.after);
    rows.filter_map(|row| object_of(&row.what))
        .any(|object| object == named || owners.get(object).is_some_and(|owners| owners.contains(&named)))
}

/// Of each pod, and of each owner of pods, what it belongs to, as `pods.csv` of either run has it.
type Owners = FxHashMap<String, Vec<String>>;

fn owners(tables: [&RunTables; 2]) -> Result<Owners, TableError> {
    const COLUMNS: [&str; 6] = ["namespace", "name", "owner_kind", "owner_name", "workload_kind", "workload_name"];
    let mut found = Owners::default();
    for run in tables {
        if !run.has_written("pods.csv") {
            continue;
        }
        let table = run.read_columns("pods.csv", &COLUMNS)?;
        let places = COLUMNS.map(|name| table.column(name));
        for row in table.rows() {
            let [namespace, name, owner_kind, owner_name, kind, workload] = places.map(|place| text(row, place));
            let owner = object_name(owner_kind, namespace, owner_name);
            let workload = object_name(kind, namespace, workload);
            found.entry(object_name("pod", namespace, name)).or_default().extend([owner.clone(), workload.clone()]);
            if owner != workload {
                let of_owner = found.entry(owner).or_default();
                if !of_owner.contains(&workload) {
                    of_owner.push(workload);
                }
            }
        }
    }
    Ok(found)
}

/// Lines made from the cells of these columns, the first of which has the time.
fn lines<const N: usize>(
    run: &RunTables,
    file: &str,
    columns: [&'static str; N],
    line_of: impl Fn(Row<'_>, [usize; N]) -> Option<String>,
) -> Result<Vec<Line>, TableError> {
    let table = run.read_columns(file, &columns)?;
    let places = columns.map(|name| table.column(name));
    let line = |row: Row<'_>| {
        let (at, what) = (time(row, places[0]).unwrap_or_default(), line_of(row, places)?);
        Some(Line { at, what, nameless: None })
    };
    Ok(table.rows().filter_map(line).collect())
}

/// The pods that are there at t=0, and where.
fn start(run: &RunTables) -> Result<Vec<Line>, TableError> {
    let columns = ["created_s", "namespace", "name", "initial", "node", "scheduled_s"];
    lines(run, "pods.csv", columns, |row, [_, namespace, name, initial, node, scheduled]| {
        let pod = object_name("pod", text(row, namespace), text(row, name));
        let is_bound = time(row, scheduled) == Some(SimTime::ZERO);
        let place = if is_bound { format!("on node/{}", text(row, node)) } else { "on no node".to_owned() };
        is_true(row, initial).then(|| format!("{pod} is {place}"))
    })
}

fn causes(run: &RunTables) -> Result<Vec<Line>, TableError> {
    lines(run, "causes.csv", ["time_s", "what"], |row, [_, what]| Some(text(row, what).to_owned()))
}

fn events(run: &RunTables) -> Result<Vec<Line>, TableError> {
    let columns = ["time_s", "component", "reason", "kind", "namespace", "name", "message"];
    lines(run, "events.csv", columns, |row, [_, component, reason, kind, namespace, name, message]| {
        let about = object_name(text(row, kind), text(row, namespace), text(row, name));
        Some(format!("{about} {} ({}): {}", text(row, reason), text(row, component), text(row, message)))
    })
}

fn timers(run: &RunTables) -> Result<Vec<Line>, TableError> {
    let columns = ["set_s", "timer", "namespace", "name", "length_s", "taint"];
    lines(run, "timers.csv", columns, |row, [_, timer, namespace, name, length, taint]| {
        // A silence is known once it has lasted: what made it began after the last sign of life.
        if text(row, timer) == "node-monitor-grace" {
            return None;
        }
        let kind = if text(row, namespace).is_empty() { "node" } else { "pod" };
        let about = object_name(kind, text(row, namespace), text(row, name));
        let taint = if text(row, taint).is_empty() { String::new() } else { format!(" for {}", text(row, taint)) };
        let length = time(row, length).unwrap_or_default().seconds_text();
        Some(format!("{about} begins to wait for {length} s: {}{taint}", text(row, timer)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times and texts of both sides, where two lists of lines first differ and where they are a second apart.
    #[track_caller]
    fn check(before: &[(i64, &str)], after: &[(i64, &str)], expected: [Option<(&str, &str)>; 2]) {
        let lines = |all: &[(i64, &str)]| {
            all.iter()
                .map(|(ms, what)| Line { at: SimTime::from_millis(*ms), what: (*what).to_owned(), nameless: None })
                .collect::<Vec<_>>()
        };
        let sides = [lines(before), lines(after)];
        let written = |found: Option<Apart>| {
            let side =
                |of: Option<Happening>| of.map_or_else(|| "-".to_owned(), |of| format!("{} {}", of.at_s, of.what));
            found.map(|found| (side(found.before), side(found.after)))
        };
        let found = [differing("causes.csv", &sides), apart("causes.csv", &sides)].map(written);
        let expected = expected.map(|side| side.map(|(one, other)| (one.to_owned(), other.to_owned())));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_pod_is_about_the_workload_that_it_is_of_and_no_other_of_a_like_name() {
        let of = |workload: &str| vec![format!("replicaset/shop/{workload}-5d"), format!("deployment/shop/{workload}")];
        let owners: Owners =
            ["web", "web-admin"].map(|name| (format!("pod/shop/{name}-5d-a"), of(name))).into_iter().collect();
        let is_about = |object: &str, row: &str| {
            let setting = Setting {
                object: Some(object.to_owned()),
                path: "spec.replicas".to_owned(),
                before: Some("1".to_owned()),
                after: Some("2".to_owned()),
                decides: true,
            };
            let happening = Happening { at_s: 1.0, what: row.to_owned() };
            let apart = Apart { at_s: 1.0, table: "causes.csv", before: None, after: Some(happening) };
            super::is_about(&setting, &apart, &owners)
        };
        assert!(is_about("Deployment shop/web", "pod/shop/web-5d-a created"));
        assert!(!is_about("Deployment shop/web", "pod/shop/web-admin-5d-a created"));
        assert!(is_about("Deployment shop/web-admin", "pod/shop/web-admin-5d-a created"));
        assert!(is_about("Deployment shop/web", "deployment/shop/web changed, replicas: 2"));
        assert!(!is_about("Deployment shop/web", "deployment/shop/web-admin changed, replicas: 2"));
        assert!(!is_about("StatefulSet shop/web", "pod/shop/web-5d-a created"));
    }

    #[test]
    fn the_first_difference_has_both_sides() {
        check(&[(1, "pod/a gone"), (2, "pod/b gone")], &[(1, "pod/a gone"), (2, "pod/b gone")], [None, None]);
        // The same a little later is a difference, but not one by more than a second.
        let nearly = Some(("0.001 pod/a gone", "0.003 pod/a gone"));
        check(&[(1, "pod/a gone")], &[(3, "pod/a gone")], [nearly, None]);
        let later = Some(("0.001 pod/a gone", "2.5 pod/a gone"));
        check(&[(1, "pod/a gone")], &[(2500, "pod/a gone")], [later, later]);
        // What comes next in the run that lacks a row is not its counterpart.
        let lacks = Some(("-", "0.001 scenario: kubectl cordon n"));
        check(
            &[(9000, "scenario: Crash")],
            &[(1, "scenario: kubectl cordon n"), (9000, "scenario: Crash")],
            [lacks, lacks],
        );
        let ends = Some(("0.002 pod/b gone", "-"));
        check(&[(1, "pod/a gone"), (2, "pod/b gone")], &[(1, "pod/a gone")], [ends, ends]);
    }
}
