//! Whatever becomes of a text on its way, reading it neither panics nor takes long.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kubesquall::model::manifest;
use kubesquall::scenario::{Overrides, load_text};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A hundred times what the slowest takes.
const TIME_MAX: Duration = Duration::from_secs(10);

/// What happens to a text: bytes lost, put in, or doubled.
#[derive(Clone, Debug)]
enum Mutation {
    Delete { at: prop::sample::Index, length: usize },
    Insert { at: prop::sample::Index, text: String },
    Double { at: prop::sample::Index, length: usize, times: usize },
    Cut { at: prop::sample::Index },
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let place = |at: &prop::sample::Index, bytes: &Vec<u8>| at.index(bytes.len() + 1);
        match self {
            Self::Delete { at, length } => {
                let at = place(at, bytes);
                let end = bytes.len().min(at + length);
                bytes.drain(at..end);
            }
            Self::Insert { at, text } => {
                let at = place(at, bytes);
                bytes.splice(at..at, text.bytes());
            }
            Self::Double { at, length, times } => {
                let at = place(at, bytes);
                let end = bytes.len().min(at + length);
                let piece = bytes[at..end].repeat(*times);
                bytes.splice(at..at, piece);
            }
            Self::Cut { at } => bytes.truncate(place(at, bytes)),
        }
    }
}

/// What hurts readers of YAML and of numbers.
fn hurtful() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "\t",
        "\n",
        "\r\n",
        "- ",
        ": ",
        "? ",
        "{",
        "}",
        "[",
        "]",
        "&a ",
        "*a",
        "<<: *a",
        "!!binary ",
        "|\n",
        ">-\n",
        "'",
        "\"",
        "#",
        "---\n",
        "...\n",
        "%YAML 1.3\n",
        "null",
        "~",
        "-1",
        "0",
        "1e999",
        "9223372036854775808",
        "NaN",
        ".inf",
        "0x",
        "-0s",
        "1000000d",
        "\u{feff}",
        "\u{0}",
        "\u{202e}",
        "é",
        "😀",
        "{{ .Values.x }}",
        "*",
        "100%",
        "[[[[[[[[",
        "{{{{{{{{",
        "a.b[0]",
    ];
    prop_oneof![3 => prop::sample::select(KNOWN).prop_map(str::to_owned), 1 => "\\PC{1,6}"]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), 1_usize..12).prop_map(|(at, length)| Mutation::Delete { at, length }),
        6 => (at(), hurtful()).prop_map(|(at, text)| Mutation::Insert { at, text }),
        2 => (at(), 1_usize..60, 1_usize..4).prop_map(|(at, length, times)| Mutation::Double { at, length, times }),
        1 => at().prop_map(|at| Mutation::Cut { at }),
    ]
}

/// Reads mutants of a text. Random numbers are always the same, as tests are to be.
fn check(original: &str, cases: u32, read: impl Fn(&str)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let result = runner.run(&prop::collection::vec(mutation(), 1..4), |mutations| {
        let mut bytes = original.as_bytes().to_vec();
        for mutation in &mutations {
            mutation.apply(&mut bytes);
        }
        let mutant = String::from_utf8_lossy(&bytes);
        #[expect(clippy::disallowed_methods, reason = "how long a user waits")]
        let started = Instant::now();
        read(&mutant);
        prop_assert!(started.elapsed() < TIME_MAX, "it takes {:?} to read {mutant}", started.elapsed());
        Ok(())
    });
    assert!(result.is_ok(), "{}", result.err().map(|error| error.to_string()).unwrap_or_default());
}

fn scenarios() -> Vec<(PathBuf, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let entries = fs::read_dir(dir).expect("scenarios").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|name| name == "yaml")).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("a scenario"))).collect()
}

#[test]
fn mutants_of_the_shipped_scenarios_are_read_or_refused() {
    // Manifests elsewhere would take most of the time; without them names are unknown, which is one more mistake.
    let nowhere = Path::new("absent");
    for (path, text) in scenarios() {
        check(&text, 1_000, |mutant| {
            if let Err(invalid) = load_text("mutant.yaml", mutant, nowhere, &Overrides::none()) {
                let said = invalid.to_string();
                assert!(said.contains("error"), "{}: {said}", path.display());
            }
        });
    }
}

#[test]
fn mutants_of_a_scenario_that_holds_its_manifests_are_read_or_refused() {
    let text = include_str!("../cli/small.yaml");
    check(text, 5_000, |mutant| {
        let _ = load_text("mutant.yaml", mutant, Path::new("absent"), &Overrides::none());
    });
}

#[test]
fn mutants_of_overrides_are_read_or_refused() {
    let text = include_str!("../cli/small.yaml");
    check("spec.cluster.nodePools[0].template.metadata.labels[\"a.b/c\"]=x", 2_000, |mutant| {
        let overrides: Overrides = [mutant].into_iter().collect();
        let _ = load_text("small.yaml", text, Path::new("absent"), &overrides);
    });
}

#[test]
fn mutants_of_manifests_are_read_or_refused() {
    let yaml = include_str!("../recordings/drain-budget/manifests.yaml");
    check(yaml, 4_000, |mutant| drop(manifest::load_text("mutant.yaml", mutant)));
    let json = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"a": "b"}}, "status": {"capacity": {"cpu": "4"}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n1", "containers": [{"name": "c"}]}}]}"#;
    check(json, 4_000, |mutant| drop(manifest::load_text("mutant.json", mutant)));
}

#[test]
fn mutants_of_kubectl_lines_are_read_or_refused() {
    for line in [
        "drain worker-0 --ignore-daemonsets --delete-emptydir-data --timeout=5m",
        "taint nodes -l 'pool in (a,b)' dedicated=gpu:NoSchedule --overwrite",
        "patch deployment/web -n shop --type=json -p '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 3}]'",
        "set image deployment/web web=web:2 -n shop",
    ] {
        check(line, 2_000, |mutant| drop(kubesquall::kubectl::parse(mutant)));
    }
}
