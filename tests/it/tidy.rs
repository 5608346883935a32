//! Conventions that matter, as tests: who may import whom, no forgotten files, no words that do not belong here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every room and the rooms it may import, besides itself.
const ROOMS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("arena", &[]),
    ("parallel", &[]),
    ("engine", &["units", "arena", "diagnostics"]),
    ("diagnostics", &["units", "arena"]),
    ("model", &["engine", "parallel", "units", "arena", "diagnostics"]),
    ("state", &["engine", "model", "units", "arena"]),
    ("component", &["state", "engine", "model", "units", "arena", "diagnostics"]),
    ("apiserver", BELOW_COMPONENTS),
    ("scheduler", BELOW_COMPONENTS),
    ("controllers", BELOW_COMPONENTS),
    ("kubelet", BELOW_COMPONENTS),
    ("kubectl", BELOW_COMPONENTS),
    ("chaos", BELOW_COMPONENTS),
    ("observe", BELOW_COMPONENTS),
    ("procedures", BELOW_COMPONENTS),
    ("rest", &["kubectl", "chaos", "component", "state", "engine", "model", "units", "arena", "diagnostics"]),
    (
        "serve",
        &[
            "facade",
            "simulation",
            "scenario",
            "rest",
            "kubectl",
            "chaos",
            "observe",
            "component",
            "state",
            "model",
            "diagnostics",
            "units",
            "arena",
        ],
    ),
    (
        "scenario",
        &[
            "rest",
            "chaos",
            "kubectl",
            "observe",
            "procedures",
            "scheduler",
            "component",
            "state",
            "engine",
            "model",
            "units",
            "arena",
            "diagnostics",
        ],
    ),
    ("verify", &["observe", "scheduler", "component", "state", "engine", "model", "units", "arena", "diagnostics"]),
    ("report", &["observe", "parallel", "diagnostics", "units", "arena"]),
    (
        "simulation",
        &[
            "rest",
            "verify",
            "scenario",
            "apiserver",
            "scheduler",
            "controllers",
            "kubelet",
            "kubectl",
            "chaos",
            "observe",
            "procedures",
            "component",
            "state",
            "engine",
            "model",
            "units",
            "arena",
            "diagnostics",
        ],
    ),
    (
        "facade",
        &[
            "rest",
            "import",
            "evidence",
            "kubectl",
            "chaos",
            "engine",
            "inspect",
            "report",
            "study",
            "simulation",
            "verify",
            "scenario",
            "scheduler",
            "observe",
            "component",
            "state",
            "model",
            "parallel",
            "diagnostics",
            "units",
            "arena",
        ],
    ),
    ("evidence", &["model", "diagnostics", "units", "arena"]),
    ("import", &["evidence", "scenario", "kubectl", "model", "engine", "diagnostics", "units", "arena"]),
    ("inspect", &["evidence", "report", "model", "diagnostics", "units", "arena"]),
    (
        "study",
        &[
            "report",
            "simulation",
            "scenario",
            "procedures",
            "chaos",
            "observe",
            "state",
            "model",
            "engine",
            "parallel",
            "diagnostics",
            "units",
            "arena",
        ],
    ),
];

const BELOW_COMPONENTS: &[&str] = &["component", "state", "engine", "model", "units", "arena", "diagnostics"];

/// Rooms that may import everything.
const TOP: &[&str] = &["cli", "testing", "main", "lib"];

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && !is_test_code(&path) {
                let text = fs::read_to_string(&path).expect("a readable file");
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// Files that are only compiled for tests.
fn is_test_code(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
        || path.file_stem().is_some_and(|s| s.to_string_lossy().ends_with("tests"))
}

/// The room a file belongs to: the first part of its path below `src`.
fn room_of(path: &Path) -> String {
    let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("a file below src");
    let first = below.components().next().expect("a file name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// The code of a file without its tests, which may use more.
fn without_tests(text: &str) -> &str {
    let begins = ["#[cfg(test)]\nmod tests {", "#[cfg(test)]\npub(super) mod tests {"].into_iter();
    begins.filter_map(|begin| text.find(begin)).min().map_or(text, |at| &text[..at])
}

#[test]
fn rooms_import_only_what_the_architecture_allows() {
    let allowed: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let room = room_of(&path);
        if TOP.contains(&room.as_str()) {
            continue;
        }
        let Some(rooms) = allowed.get(room.as_str()) else {
            wrong.push(format!("{}: room `{room}` is not in the table", path.display()));
            continue;
        };
        for (index, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            for part in code.split("crate::").skip(1) {
                let target: String = part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                let is_room = allowed.contains_key(target.as_str()) || TOP.contains(&target.as_str());
                if is_room && target != room && !rooms.contains(&target.as_str()) {
                    wrong.push(format!("{}:{}: `{room}` imports `{target}`", path.display(), index + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "imports against the direction:\n{}", wrong.join("\n"));
}

/// Folders whose modules a macro declares, and the files that hold its lines, `file::Type` or `file =>`.
const REGISTRIES: [(&str, &str); 10] = [
    ("src/chaos/faults", "src/chaos/registry.rs"),
    ("src/scheduler/plugins", "src/scheduler/plugins/mod.rs"),
    ("src/observe", "src/observe/mod.rs"),
    ("src/observe/traps", "src/observe/traps/mod.rs"),
    ("src/report/charts", "src/report/charts/mod.rs"),
    ("src/cli", "src/cli/mod.rs"),
    ("src/kubectl", "src/kubectl/mod.rs"),
    ("src/procedures", "src/procedures/mod.rs"),
    ("src/scenario/actions", "src/scenario/actions/mod.rs"),
    ("src/study/forecast/fix", "src/study/forecast/fix/mod.rs"),
];

/// Whether a registry has a line for a file.
fn is_registered(path: &Path, stem: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let registry = REGISTRIES.iter().find(|(folder, _)| path.parent() == Some(&root.join(folder)));
    registry.is_some_and(|(_, file)| {
        let text = fs::read_to_string(root.join(file)).expect("a registry");
        let begins = [format!("{stem}::"), format!("{stem} =>")];
        text.lines().any(|line| begins.iter().any(|begin| line.trim().starts_with(begin)))
    })
}

#[test]
fn every_source_file_is_declared_as_a_module() {
    let sources = sources();
    let mut forgotten = Vec::new();
    for (path, _) in &sources {
        let stem = path.file_stem().expect("a file name").to_string_lossy().into_owned();
        if matches!(stem.as_str(), "lib" | "main" | "mod") {
            continue;
        }
        let folder = path.parent().expect("a folder");
        let declaration = format!("mod {stem};");
        let parent_file = folder.with_extension("rs");
        let declared = sources.iter().any(|(other, text)| {
            let is_parent = *other == folder.join("mod.rs") || *other == folder.join("lib.rs") || *other == parent_file;
            is_parent && text.contains(&declaration)
        });
        if !declared && !is_registered(path, &stem) {
            forgotten.push(path.display().to_string());
        }
    }
    assert!(forgotten.is_empty(), "files that no module declares:\n{}", forgotten.join("\n"));
}

#[test]
fn nothing_is_left_half_done() {
    let banned = ["todo!", "unimplemented!", "FIXME", "dbg!("];
    let mut found = Vec::new();
    for (path, text) in sources() {
        for (index, line) in text.lines().enumerate() {
            if banned.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{}: {}", path.display(), index + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "left half done:\n{}", found.join("\n"));
}

#[test]
fn only_the_api_server_writes_api_state() {
    let writers = [
        ".insert_pod(",
        ".remove_pod(",
        ".update_pod(",
        ".set_pod_node(",
        ".insert_node(",
        ".remove_node(",
        ".replace_node(",
        ".node_mut(",
    ];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let room = room_of(&path);
        if matches!(room.as_str(), "apiserver" | "state" | "testing") {
            continue;
        }
        for (index, line) in without_tests(&text).lines().enumerate() {
            if writers.iter().any(|writer| line.contains(&format!("store{writer}"))) {
                wrong.push(format!("{}:{}: {}", path.display(), index + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "writes outside the API server:\n{}", wrong.join("\n"));
}

fn text_of(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a readable file")
}

/// What stands between single backticks.
fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with("```")).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// `scenario::unknown_field` and the like: what a problem with the user's text is called for scripts.
fn is_diagnostic_code(text: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let rooms = ["bundle", "evidence", "file", "manifest", "records", "scenario", "snapshot", "study", "plan"];
    text.split_once("::").is_some_and(|(room, name)| rooms.contains(&room) && is_word(name))
}

#[test]
fn every_diagnostic_code_is_listed_for_users() {
    let document = text_of("docs/diagnostics.md");
    let listed: Vec<&str> =
        document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(code, _)| code)).collect();
    let used: BTreeSet<String> = sources()
        .iter()
        .flat_map(|(_, text)| without_tests(text).split('"').filter(|part| is_diagnostic_code(part)))
        .map(str::to_owned)
        .collect();
    let sections: Vec<Vec<&str>> =
        listed.chunk_by(|a, b| a.split("::").next() == b.split("::").next()).map(<[&str]>::to_vec).collect();
    assert!(sections.iter().all(|codes| codes.is_sorted()), "sort the codes of each section of docs/diagnostics.md");
    let listed: BTreeSet<String> = listed.into_iter().map(str::to_owned).collect();
    let missing: Vec<_> = used.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&used).collect();
    assert!(missing.is_empty(), "not in docs/diagnostics.md: {missing:?}");
    assert!(stale.is_empty(), "nothing says these of docs/diagnostics.md any more: {stale:?}");
}

/// Whether a path that a document names is there; `<name>` stands for any one.
fn exists(path: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixed = match path.split_once('<') {
        Some((before, _)) => before.rsplit_once('/').map_or("", |(folder, _)| folder),
        None => path,
    };
    // Files of the source are named as from `src`, or by their name alone beside the room that the sentence is about.
    let is_bare = !fixed.contains('/');
    [root.to_owned(), root.join("src")].iter().any(|base| base.join(fixed).exists())
        || (is_bare && sources().iter().any(|(file, _)| file.file_name().is_some_and(|name| name == fixed)))
}

#[test]
fn paths_that_the_map_and_the_guide_name_exist() {
    let mut missing = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = text_of(document);
        let is_path = |word: &&str| {
            let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.<>".contains(c));
            let is_file = [".rs", ".md", ".yaml", ".toml"].iter().any(|end| word.ends_with(end));
            is_plain && (is_file || (word.ends_with('/') && word.len() > 1))
        };
        missing.extend(
            in_backticks(&text).filter(is_path).filter(|path| !exists(path)).map(|path| format!("{document}: {path}")),
        );
    }
    assert!(missing.is_empty(), "named, but not there:\n{}", missing.join("\n"));
}

/// An example of a row of "Where to add what": the files of its own, and the words by which other files name it.
struct Example {
    row: &'static str,
    own: &'static [&'static str],
    words: &'static [&'static str],
}

const fn example(row: &'static str, own: &'static [&'static str], words: &'static [&'static str]) -> Example {
    Example { row, own, words }
}

const EXAMPLES: &[Example] = &[
    example(
        "scheduler plugin",
        &["scheduler/plugins/node_resources_allocatable.rs"],
        &["node_resources_allocatable", "NodeResourcesAllocatable"],
    ),
    example("controller", &["controllers/service_account.rs"], &["mod service_account", "ServiceAccounts"]),
    example("fault kind", &["chaos/faults/slow_disk.rs"], &["slow_disk", "SlowDisk"]),
    example("output file", &["observe/transcript.rs"], &["transcript::Transcripts"]),
    example(
        "trap that summaries name",
        &["observe/traps/one_place.rs"],
        &["mod one_place", "OnePlace", "AllInOnePlace", "\"all-in-one-place\""],
    ),
    example("chart", &["report/charts/node_heatmap.rs"], &["node_heatmap", "\"node-states.svg\""]),
    example("view of the page", &[], &["\"costs.js\""]),
    example("what a page that plays can turn", &["scenario/knobs.rs"], &["Group::Budgets"]),
    example(
        "procedure",
        &["procedures/rolling_reboot.rs", "scenario/actions/rolling_reboot.rs"],
        &["rolling_reboot =>", "rolling_reboot::RollingReboots", "reboot-daemon"],
    ),
    example("kubectl verb", &["kubectl/cordon.rs"], &["CordonArgs", "Command::Cordon", "Self::Cordon", "\"cordon\""]),
    example("case that a plan survives", &["study/plan/case.rs"], &["CaseKind::Zone", "CaseEntry::Zone", "Self::Zone"]),
    example("thing that a study varies", &["study/setting.rs"], &["Setting::Replicas", "Self::Replicas"]),
    example("fix of forecasts", &["study/forecast/fix/priority.rs"], &["priority::Priority", "Fix::Priority"]),
    example(
        "timeline action",
        &["scenario/actions/add_nodes.rs"],
        &["AddNodesEntry", "TimelineAction::AddNodes", "ActionEntry::AddNodes"],
    ),
    example(
        "lasting effect on a machine",
        &["state/effects.rs", "chaos/faults/slow_disk.rs"],
        &["DiskSlowed", "disk_slowdown"],
    ),
    example(
        "fact that observers are given",
        &[
            "kubectl/mod.rs",
            "observe/transcript.rs",
            "observe/orders.rs",
            "observe/traps/drains.rs",
            "simulation/clients.rs",
            "simulation/lab.rs",
        ],
        &["Record::Transcript", "Transcript(Transcript)"],
    ),
    example("subcommand", &["cli/merge.rs"], &["mod merge", "merge::merge", "MergeArgs"]),
];

/// The rows that no list of lines can be given for: the compiler leads through them, or there is nothing to register.
const UNCOUNTED: [&str; 6] = [
    "kind of object",
    "what is kept and is no object",
    "API field that decides something",
    "field that a version adds to pod templates",
    "page",
    "format of results",
];

/// Whether a word stands in a line of code, and is no part of a longer one.
fn names(line: &str, word: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let begins = !word.starts_with(is_inside) || !before.ends_with(is_inside);
        let ends = !word.ends_with(is_inside) || !after.starts_with(is_inside);
        begins && ends
    })
}

/// How many lines of each file, apart from its own ones, tests and comments, name the example.
fn places_of(example: &Example) -> BTreeMap<String, usize> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut places = BTreeMap::new();
    for (path, text) in sources() {
        let path = path.strip_prefix(&src).expect("a file below src").to_string_lossy().replace('\\', "/");
        if example.own.contains(&path.as_str()) {
            continue;
        }
        let code = without_tests(&text).lines().map(|line| line.split("//").next().unwrap_or(""));
        let count = code.filter(|line| example.words.iter().any(|word| names(line, word))).count();
        if count > 0 {
            places.insert(path, count);
        }
    }
    places
}

/// The files that a cell of the table names, and in how many lines of each: one, unless the number follows in brackets.
fn places_in(cell: &str) -> BTreeMap<String, usize> {
    let parts: Vec<&str> = cell.split('`').collect();
    let named = parts.iter().enumerate().skip(1).step_by(2).map(|(index, file)| {
        let behind = parts.get(index + 1).and_then(|text| text.strip_prefix(" ("));
        let count = behind.and_then(|text| text.split_once(')')).and_then(|(count, _)| count.parse().ok());
        ((*file).to_owned(), count.unwrap_or(1))
    });
    named.collect()
}

#[test]
fn a_new_thing_touches_the_places_that_the_map_names() {
    let map = text_of("ARCHITECTURE.md");
    let (_, table) = map.split_once("| to add |").expect("the table of what to add where");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    for row in &rows {
        let is_known = EXAMPLES.iter().any(|example| example.row == row[0])
            || UNCOUNTED.iter().any(|uncounted| row[0].starts_with(uncounted));
        assert!(is_known, "the row `{}` of ARCHITECTURE.md has no example here", row[0]);
    }
    for example in EXAMPLES {
        let row = rows.iter().find(|row| row[0] == example.row);
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row `{}`", example.row));
        assert!(example.own.iter().all(|file| exists(file)), "`{}`: there is no {:?}", row[0], example.own);
        assert_eq!(places_of(example), places_in(row[2]), "where `{}` is named, and where the map says", row[0]);
    }
}
