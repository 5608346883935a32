//! What went into two runs, by their lock files: the scenario field by field, the objects of the cluster one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustc_hash::FxHashSet;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Run;
use crate::inspect::InspectError;
use crate::model::{lock_text, yaml};
use crate::report::{TableError, read_text};

/// The file.
const LOCK: &str = "scenario.lock.yaml";

/// Of a scenario, what says where something stood or what had no effect: nothing is decided by it.
const NO_INPUT: [&str; 3] = ["assumed", "input", "notModelled"];

/// Settings that decide what is said of a run, or how long it is, and nothing of what happens in it.
const JUDGES: [&str; 4] = ["metadata", "spec.duration", "spec.expect", "spec.slo"];

/// Settings that are listed; the rest is counted.
const LISTED_MAX: usize = 1000;

/// Characters of a value that are shown.
const VALUE_LENGTH_MAX: usize = 200;

/// What differs in what went in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inputs {
    /// Whether the lock files are the same, and with them the seeds: two such runs of one version are the same.
    pub same: bool,
    /// Whether they differ in nothing but the seed: what differs between such runs is chance.
    pub only_seed: bool,
    /// The seeds, if they differ.
    pub seeds: Option<[Option<u64>; 2]>,
    /// The versions of this program, if they differ.
    pub versions: Option<[String; 2]>,
    /// Whether one of them was played with plug-ins of somebody's own, of which no file tells more than names and weights.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_plugins: bool,
    /// What else differs, in the order of the lock file: the scenario first, then plug-ins, then the objects.
    pub settings: Vec<Setting>,
    /// How many more of these there are than are listed.
    pub more: usize,
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The object whose field it is, as in `Deployment shop/web`; none for the scenario.
    pub object: Option<String>,
    /// Where it stands, as in `spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds`; empty for a whole object.
    pub path: String,
    /// What it is in the first run, as JSON on one line; none if it is not there.
    pub before: Option<String>,
    /// What it is in the second run.
    pub after: Option<String>,
    /// Whether it can change what happens: other settings decide what is said of a run, or how long it is.
    pub decides: bool,
}

impl Setting {
    /// The object and the path.
    #[must_use]
    pub fn place(&self) -> String {
        let parts = [self.object.as_deref().unwrap_or_default(), &self.path];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Compares the lock files of two runs.
///
/// # Errors
///
/// If one is missing, or is none of ours.
pub(super) fn compare(dirs: [&Path; 2], runs: &[Run; 2]) -> Result<Inputs, InspectError> {
    let [before, after] = dirs.map(|dir| dir.join(LOCK));
    let texts = [read(&before)?, read(&after)?];
    let locks = [Lock::of(&before, &texts[0])?, Lock::of(&after, &texts[1])?];
    let mut found = Found::default();
    found.values("", &locks[0].scenario, &locks[1].scenario);
    found.values("plugins", &runs[0].plugins, &runs[1].plugins);
    found.objects(&locks);
    let own_plugins = runs.iter().any(|run| run.plugins != Value::Array(Vec::new()));
    let differing = |[one, other]: [String; 2]| (one != other).then_some([one, other]);
    let Found { settings, more, .. } = found;
    let seeds = runs.each_ref().map(|run| run.seed);
    let only_seed = seeds[0] != seeds[1] && settings.is_empty();
    Ok(Inputs {
        same: seeds[0] == seeds[1] && settings.is_empty() && !own_plugins,
        own_plugins,
        only_seed: only_seed && !own_plugins,
        seeds: (seeds[0] != seeds[1]).then_some(seeds),
        versions: differing(runs.each_ref().map(|run| run.version.clone())),
        settings,
        more,
    })
}

fn read(path: &Path) -> Result<String, TableError> {
    let text = read_text(path)?;
    if text.trim().is_empty() { Err(TableError::new(path, None, "the file is empty")) } else { Ok(text) }
}

/// A lock file: the scenario, and the texts of the objects behind it.
struct Lock<'a> {
    path: &'a Path,
    scenario: Value,
    objects: Vec<&'a str>,
}

impl<'a> Lock<'a> {
    fn of(path: &'a Path, text: &'a str) -> Result<Self, TableError> {
        // We have written it: a line of three dashes stands between documents and nowhere else, as texts of several lines are indented.
        if lock_text::is_cut(text) {
            let last = text.lines().count() as u64;
            return Err(TableError::new(
                path,
                Some(last),
                "the file ends here, before the line that says that it is whole",
            ));
        }
        let mut documents = text.trim_end_matches(lock_text::LAST_LINE).split("\n---\n");
        let mut scenario = parsed(path, documents.next().unwrap_or_default())?;
        if scenario["kind"] != "Scenario" {
            return Err(TableError::new(path, None, "its first document is not a scenario"));
        }
        if let Some(spec) = scenario["spec"].as_object_mut() {
            NO_INPUT.iter().for_each(|name| drop(spec.remove(*name)));
            // The runs tell it.
            spec.remove("seed");
        }
        Ok(Self { path, scenario, objects: documents.map(|document| document.trim_end_matches('\n')).collect() })
    }
}

fn parsed(path: &Path, text: &str) -> Result<Value, TableError> {
    serde_saphyr::from_str_with_options(text, yaml::options(text)).map_err(|error| {
        let error = error.to_string();
        TableError::new(path, None, format!("this is no YAML: {}", error.lines().next().unwrap_or_default()))
    })
}

/// `Deployment shop/web` of the text of an object, which we have written; read by its lines, as there can be many.
fn name_of(document: &str) -> String {
    let unquoted = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
    let top = |line: &&str| !line.starts_with([' ', '-']);
    let kind = document.lines().filter(top).find_map(|line| line.strip_prefix("kind: ")).map(unquoted);
    let metadata = document.lines().skip_while(|line| *line != "metadata:").skip(1).take_while(|line| !top(line));
    let field = |name: &str| metadata.clone().find_map(|line| line.strip_prefix(name)).map(unquoted);
    let (kind, name) = (kind.unwrap_or_default(), field("  name: ").unwrap_or_default());
    field("  namespace: ").map_or(format!("{kind} {name}"), |namespace| format!("{kind} {namespace}/{name}"))
}

/// Differences, as they are found.
#[derive(Default)]
struct Found {
    object: Option<String>,
    settings: Vec<Setting>,
    more: usize,
}

impl Found {
    fn add(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        if self.settings.len() == LISTED_MAX {
            self.more += 1;
            return;
        }
        let is_below = |judge: &str| {
            path.strip_prefix(judge).is_some_and(|rest| rest.is_empty() || !rest.starts_with(char::is_alphanumeric))
        };
        let decides = self.object.is_some() || !JUDGES.iter().any(|judge| is_below(judge));
        let (before, after) = (before.map(shown), after.map(shown));
        self.settings.push(Setting { object: self.object.clone(), path: path.to_owned(), before, after, decides });
    }

    fn values(&mut self, path: &str, before: &Value, after: &Value) {
        match (before, after) {
            _ if before == after => {}
            (Value::Object(before), Value::Object(after)) => self.members(path, before, after),
            (Value::Array(before), Value::Array(after)) => self.items(path, before, after),
            _ => self.add(path, Some(before), Some(after)),
        }
    }

    fn members(&mut self, path: &str, before: &Map<String, Value>, after: &Map<String, Value>) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let path = joined(path, name);
            match (before.get(name), after.get(name)) {
                (Some(before), Some(after)) => self.values(&path, before, after),
                (before, after) => self.add(&path, before, after),
            }
        }
    }

    /// Items with names go by their names. Of others, those that stand in both lists are left out, and the rest is compared in its order.
    fn items(&mut self, path: &str, before: &[Value], after: &[Value]) {
        if let (Some(before), Some(after)) = (by_name(before), by_name(after)) {
            let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
            for name in names {
                let path = format!("{path}[{name}]");
                match (before.get(name), after.get(name)) {
                    (Some(before), Some(after)) => self.values(&path, before, after),
                    (before, after) => self.add(&path, before.copied(), after.copied()),
                }
            }
            return;
        }
        let (left, right) = (without(before, after), without(after, before));
        if left.is_empty() && right.is_empty() {
            // The same items in another order, or more often.
            self.add(path, Some(&before.into()), Some(&after.into()));
        }
        for place in 0..left.len().max(right.len()) {
            match (left.get(place), right.get(place)) {
                // A line of kubectl in place of a fault is another entry, not a changed one.
                (Some((index, before)), Some((_, after))) if is_alike(before, after) => {
                    self.values(&format!("{path}[{index}]"), before, after);
                }
                (before, after) => {
                    if let Some((index, item)) = before {
                        self.add(&format!("{path}[{index}]"), Some(item), None);
                    }
                    if let Some((index, item)) = after {
                        self.add(&format!("{path}[{index}]"), None, Some(item));
                    }
                }
            }
        }
    }

    /// Objects by their names. Those whose texts stand in both files are not looked at.
    fn objects(&mut self, locks: &[Lock<'_>; 2]) {
        let known = locks.each_ref().map(|lock| lock.objects.iter().copied().collect::<FxHashSet<&str>>());
        let named = |side: usize| {
            let own = locks[side].objects.iter().filter(|text| !known[1 - side].contains(**text));
            own.map(|text| (name_of(text), *text)).collect::<BTreeMap<String, &str>>()
        };
        let sides = [named(0), named(1)];
        let names: BTreeSet<&String> = sides[0].keys().chain(sides[1].keys()).collect();
        for name in names {
            if self.settings.len() == LISTED_MAX {
                self.more += 1;
                continue;
            }
            self.object = Some(name.clone());
            let there = Value::from("there");
            match (sides[0].get(name), sides[1].get(name)) {
                (Some(before), Some(after)) => match (parsed(locks[0].path, before), parsed(locks[1].path, after)) {
                    (Ok(before), Ok(after)) => self.values("", &before, &after),
                    _ => self.add("", Some(&(*before).into()), Some(&(*after).into())),
                },
                (before, after) => self.add("", before.map(|_| &there), after.map(|_| &there)),
            }
        }
        self.object = None;
    }
}

/// Whether two items of a list are the same kind of entry.
fn is_alike(before: &Value, after: &Value) -> bool {
    match (before.as_object(), after.as_object()) {
        (Some(before), Some(after)) => before.keys().eq(after.keys()),
        (None, None) => true,
        _ => false,
    }
}

/// The items of a list that the other one does not have as well, with their places.
fn without<'a>(items: &'a [Value], others: &[Value]) -> Vec<(usize, &'a Value)> {
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for other in others {
        *left.entry(other.to_string()).or_default() += 1;
    }
    let mut own = Vec::new();
    for (place, item) in items.iter().enumerate() {
        match left.get_mut(&item.to_string()) {
            Some(count @ 1..) => *count -= 1,
            _ => own.push((place, item)),
        }
    }
    own
}

/// Items by their names, if each has one and no two have the same.
fn by_name(items: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let named: Option<BTreeMap<&str, &Value>> = items
        .iter()
        .map(|item| Some((item["name"].as_str().or_else(|| item["metadata"]["name"].as_str())?, item)))
        .collect();
    named.filter(|named| named.len() == items.len())
}

fn joined(path: &str, name: &str) -> String {
    let is_plain = !name.contains(['.', '/', '[', ']', ' ']) && !name.is_empty();
    match (path.is_empty(), is_plain) {
        (true, _) => name.to_owned(),
        (false, true) => format!("{path}.{name}"),
        (false, false) => format!("{path}[{name}]"),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= VALUE_LENGTH_MAX {
        return text;
    }
    text.chars().take(VALUE_LENGTH_MAX).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str =
        "# Made by us.\nkind: Scenario\nmetadata:\n  name: a\nspec:\n  seed: 1\n  notModelled:\n  - line: 1\n";

    /// The settings that differ, as `object path: before -> after`.
    #[track_caller]
    fn check(before: &str, after: &str, expected: &[&str]) {
        let path = Path::new("lock");
        let texts = [before, after].map(|text| format!("{SCENARIO}{text}"));
        let locks = texts.each_ref().map(|text| Lock::of(path, text).expect("a lock file"));
        let mut found = Found::default();
        found.values("", &locks[0].scenario, &locks[1].scenario);
        found.objects(&locks);
        let written = found.settings.iter().map(|Setting { object, path, before, after, .. }| {
            let side = |of: &Option<String>| of.clone().unwrap_or_else(|| "nothing".to_owned());
            let object = object.as_ref().map_or(String::new(), |object| format!("{object} "));
            format!("{object}{path}: {} -> {}", side(before), side(after))
        });
        assert_eq!(written.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn settings_are_compared_field_by_field() {
        check("  kubelet:\n    a: 1\n", "  kubelet:\n    a: 1\n", &[]);
        check(
            "  kubelet:\n    a: 1\n    b: x\n",
            "  kubelet:\n    a: 2\n",
            &["spec.kubelet.a: 1 -> 2", "spec.kubelet.b: \"x\" -> nothing"],
        );
        check("  input:\n    files: 1\n  assumed: []\n", "  input:\n    files: 2\n", &[]);
        check("  labels:\n    a.b/c: x\n", "  labels:\n    a.b/c: z\n", &["spec.labels[a.b/c]: \"x\" -> \"z\""]);
    }

    #[test]
    fn entries_of_lists_are_matched_before_they_are_compared() {
        let fault = |at: &str, kind: &str| format!("  - at: {at}\n    fault:\n      kind: {kind}\n");
        let [early, late, cut] = [fault("1m", "Crash"), fault("2m", "Crash"), fault("1m", "Reboot")];
        let kubectl = "  - at: 3m\n    kubectl: drain n\n";
        let list = |items: &[&str]| format!("  timeline:\n{}", items.concat());
        check(
            &list(&[&early]),
            &list(&[kubectl, &early]),
            &["spec.timeline[0]: nothing -> {\"at\":\"3m\",\"kubectl\":\"drain n\"}"],
        );
        check(&list(&[&early, kubectl]), &list(&[&late, kubectl]), &["spec.timeline[0].at: \"1m\" -> \"2m\""]);
        check(&list(&[&early]), &list(&[&cut]), &["spec.timeline[0].fault.kind: \"Crash\" -> \"Reboot\""]);
        check(
            &list(&[kubectl]),
            &list(&[&early]),
            &[
                "spec.timeline[0]: {\"at\":\"3m\",\"kubectl\":\"drain n\"} -> nothing",
                "spec.timeline[0]: nothing -> {\"at\":\"1m\",\"fault\":{\"kind\":\"Crash\"}}",
            ],
        );
        let pools = |count: u32| format!("  nodePools:\n  - name: a\n    count: 1\n  - name: b\n    count: {count}\n");
        check(&pools(2), &pools(3), &["spec.nodePools[b].count: 2 -> 3"]);
        check("  zones:\n  - a\n  - b\n", "  zones:\n  - b\n  - a\n", &["spec.zones: [\"a\",\"b\"] -> [\"b\",\"a\"]"]);
    }

    #[test]
    fn objects_go_by_their_names() {
        let object = |name: &str, replicas: u32| {
            format!(
                "---\nkind: Deployment\nmetadata:\n  labels:\n    name: x\n  name: {name}\n  namespace: shop\nspec:\n  replicas: {replicas}\n"
            )
        };
        let node = "---\nkind: Node\nmetadata:\n  name: \"1\"\n";
        check(
            &[object("web", 3), object("db", 1)].concat(),
            &[object("db", 1), object("web", 5)].concat(),
            &["Deployment shop/web spec.replicas: 3 -> 5"],
        );
        check(&object("web", 3), &[node, &object("web", 3)].concat(), &["Node 1 : nothing -> \"there\""]);
    }

    #[test]
    fn what_only_judges_a_run_decides_nothing() {
        let decides = |path: &str| {
            let mut found = Found::default();
            found.add(path, None, None);
            found.settings[0].decides
        };
        for judge in ["metadata.name", "spec.duration", "spec.slo[0].objective", "spec.expect"] {
            assert!(!decides(judge), "{judge}");
        }
        assert!(decides("spec.timeline[0].at") && decides("spec.durations"));
    }
}
