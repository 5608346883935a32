//! Ways in: what a release is called is what those who look for it expect, and the program knows how it was called.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn yaml(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What Cargo.toml says of the package.
fn manifest() -> Value {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"][0].clone()
}

/// What a program has to answer to be packed: the real one takes long to pack.
fn stand_in(dir: &Path, version: &str) -> PathBuf {
    let path = dir.join("kubesquall");
    let script = format!(
        "#!/bin/sh\ncase $1 in\n--version) echo kubesquall {version} ;;\nman) mkdir -p $3 && echo page >$3/kubesquall.1 ;;\ncompletions) \
         echo $2 ;;\nesac\n"
    );
    fs::write(&path, script).expect("a script");
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    path
}

fn dist(arguments: &[&str]) -> (bool, String) {
    let output =
        Command::new("python3").arg(root().join("tools/dist")).args(arguments).output().expect("the script runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// The targets of the release.
fn targets() -> Vec<String> {
    let workflow = yaml(".github/workflows/release.yml");
    let matrix = &workflow["jobs"]["program"]["strategy"]["matrix"]["include"];
    matrix
        .as_array()
        .expect("a matrix")
        .iter()
        .map(|entry| entry["target"].as_str().expect("text").to_owned())
        .collect()
}

/// The address and the path within an archive at which cargo-binstall looks.
fn binstall(package: &Value, target: &str) -> (String, String) {
    let rules = &package["metadata"]["binstall"];
    let rule =
        |name: &str| rules["overrides"][target][name].as_str().or(rules[name].as_str()).expect("text").to_owned();
    let filled = |template: String| {
        let values = [
            ("repo", package["repository"].as_str().expect("text")),
            ("name", package["name"].as_str().expect("text")),
            ("version", package["version"].as_str().expect("text")),
            ("target", target),
            ("bin", "kubesquall"),
            ("binary-ext", if target.contains("windows") { ".exe" } else { "" }),
        ];
        values.iter().fold(template, |text, (name, value)| text.replace(&format!("{{ {name} }}"), value))
    };
    (filled(rule("pkg-url")), filled(rule("bin-dir")))
}

fn files_of(archive: &Path) -> Vec<(String, u32)> {
    let data = fs::read(archive).unwrap_or_else(|error| panic!("{}: {error}", archive.display()));
    if archive.extension().is_some_and(|extension| extension == "zip") {
        let mut zip = zip::ZipArchive::new(std::io::Cursor::new(data)).expect("a zip");
        let count = zip.len();
        let entry = |index| {
            let file = zip.by_index(index).expect("an entry");
            (file.name().expect("a name").into_owned(), file.unix_mode().unwrap_or_default() & 0o777)
        };
        return (0..count).map(entry).collect();
    }
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(&data[..]));
    let entry = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let entry = entry.expect("an entry");
        (entry.path().expect("a path").display().to_string(), entry.header().mode().expect("a mode"))
    };
    tar.entries().expect("entries").map(entry).collect()
}

#[test]
fn archives_are_where_cargo_binstall_and_krew_look_for_them() {
    let package = manifest();
    let version = package["version"].as_str().expect("text");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (program, licensed, out) = (stand_in(dir.path(), version), root().join("LICENSE-MIT"), dir.path().join("out"));
    let [program, licensed, out_text] = [&program, &licensed, &out].map(|path| path.to_str().expect("text"));
    let targets = targets();
    for target in &targets {
        let (is_done, said) = dist(&["archive", program, licensed, target, out_text]);
        assert!(is_done, "{target}: {said}");
        let (address, path) = binstall(&package, target);
        let archive = out.join(address.rsplit_once('/').expect("an address").1);
        let files = files_of(&archive);
        assert!(files.contains(&(path.clone(), 0o755)), "{path} is not in {}: {files:?}", archive.display());
        assert!(files.iter().any(|(name, _)| name.ends_with("/THIRD-PARTY.txt")), "{files:?}");
    }
    for verb in ["sums", "krew"] {
        let (is_done, said) = dist(&[verb, out_text]);
        assert!(is_done, "{verb}: {said}");
    }
    let plugin: Value =
        serde_saphyr::from_str(&fs::read_to_string(out.join("squall.yaml")).expect("a manifest")).expect("YAML");
    assert_eq!(plugin["spec"]["version"], format!("v{version}"));
    let platforms = plugin["spec"]["platforms"].as_array().expect("platforms");
    let found: BTreeSet<(String, String)> = platforms
        .iter()
        .map(|platform| {
            (platform["uri"].as_str().expect("text").to_owned(), platform["bin"].as_str().expect("text").to_owned())
        })
        .collect();
    let wanted: BTreeSet<(String, String)> = targets.iter().map(|target| binstall(&package, target)).collect();
    assert_eq!(found, wanted);
    let sums = fs::read_to_string(out.join("SHA256SUMS")).expect("checksums");
    for platform in platforms {
        let name = platform["uri"].as_str().expect("text").rsplit_once('/').expect("an address").1;
        let line = format!("{}  {name}\n", platform["sha256"].as_str().expect("text"));
        assert!(sums.contains(&line), "{line}{sums}");
    }
}

#[test]
fn a_program_of_another_version_is_not_packed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let program = stand_in(dir.path(), "0.0.9");
    let [program, out] = [&program, dir.path()].map(|path| path.to_str().expect("text"));
    let (is_done, said) = dist(&["archive", program, program, "x86_64-unknown-linux-musl", out]);
    assert!(!is_done && said.contains("is kubesquall 0.0.9, and Cargo.toml has"), "{said}");
}

/// Of C sources that a crate brings along, too.
#[test]
fn whoever_made_a_part_of_the_program_is_named_with_the_licence() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("notices");
    let (is_done, said) = dist(&["notices", "x86_64-unknown-linux-gnu", file.to_str().expect("text")]);
    assert!(is_done, "{said}");
    let text = fs::read_to_string(&file).expect("a text");
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name).collect();
    assert!(["clap", "mimalloc", "zstd-sys", "tokio"].iter().all(|name| names.contains(name)), "{names:?}");
    // What only tests and builds use is not in the program.
    assert!(!names.contains(&"criterion") && !names.contains(&"cc"), "{names:?}");
    for part in ["Meta Platforms, Inc", "Microsoft Corporation", "Leon Sorokin", "SIL OPEN FONT LICENSE"] {
        assert!(text.contains(part), "{part}");
    }
    let ruler = "-".repeat(80);
    let texts: Vec<&str> =
        text.split(&ruler).skip(1).filter_map(|part| part.split_once("\n\n")).map(|(_, text)| text).collect();
    let different: BTreeSet<&str> = texts.iter().copied().collect();
    assert!(texts.len() > 50 && different.len() == texts.len(), "{} of {}", different.len(), texts.len());
}

/// A wheel is made of other crates than the program.
#[test]
fn a_wheel_takes_the_licences_of_what_it_is_made_of_along() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (is_done, said) = dist(&["wheel", "x86_64-unknown-linux-gnu", dir.path().to_str().expect("text")]);
    assert!(is_done, "{said}");
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    for own in ["LICENSE-APACHE", "LICENSE-MIT"] {
        assert_eq!(read(own), fs::read_to_string(root().join(own)).expect("a licence"));
    }
    let text = read("THIRD-PARTY.txt");
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name).collect();
    assert!(["pyo3", "arrow-array", "zstd-sys"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(!names.contains(&"clap") && !text.contains("\nkubesquall 0."), "{names:?}");
    assert!(text.contains("PyO3 Project and Contributors") && text.contains("Leon Sorokin"));
    let project = fs::read_to_string(root().join("python/pyproject.toml")).expect("the package of Python");
    assert!(project.contains("\nlicense-files = [\"LICENSE-*\", \"THIRD-PARTY.txt\"]\n"));
}

/// Whatever the sources take in is in the package that is published.
#[test]
fn the_package_holds_what_it_is_built_from() {
    let output = Command::new("cargo")
        .args(["package", "--list", "--allow-dirty", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let packed: BTreeSet<String> = String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect();
    let unused = ["web/jsconfig.json", "web/package.json", "web/package-lock.json", "web/types.d.ts"];
    let mut missing = Vec::new();
    for folder in ["src", "src/report/exports/fonts", "web", "web/vendor"] {
        for entry in fs::read_dir(root().join(folder)).expect("a directory") {
            let entry = entry.expect("an entry");
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_file() && !packed.contains(&name) && !unused.contains(&name.as_str()) {
                missing.push(name);
            }
        }
    }
    assert!(packed.contains("build.rs") && packed.contains("askama.toml"), "{packed:?}");
    assert_eq!(missing, Vec::<String>::new());
    let astray: Vec<&String> =
        packed.iter().filter(|name| name.starts_with("tests/") || name.starts_with("scenarios/")).collect();
    assert!(astray.is_empty(), "{astray:?}");
}

/// As kubectl calls its plugins: by the path of an executable whose name begins with `kubectl-`.
#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "kubectl looks for plugins on the PATH")]
fn kubectl_calls_it_as_a_plugin() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plugin = dir.path().join("kubectl-squall");
    std::os::unix::fs::symlink(cargo_bin("kubesquall"), &plugin).expect("a link");
    let output = Command::new(&plugin).args(["run", "--help"]).output().expect("the plugin runs");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(said.contains("\nUsage: kubectl squall run [OPTIONS] <SCENARIO>\n"), "{said}");

    // Through kubectl itself, if there is one.
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap_or_default());
    let kubectl =
        |words: &[&str]| Command::new("kubectl").args(words).env("PATH", &path).env("HOME", dir.path()).output();
    let Ok(output) = kubectl(&["squall", "--version"]) else { return };
    assert_eq!(String::from_utf8_lossy(&output.stdout), concat!("kubesquall ", env!("CARGO_PKG_VERSION"), "\n"));
    let listed = kubectl(&["plugin", "list"]).expect("kubectl runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.lines().any(|line| Path::new(line) == plugin), "{listed}");
}

#[test]
fn packages_have_a_page_of_each_command() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let said = super::binary::kubesquall(dir.path(), "man --out pages", "");
    assert_eq!((said.status, said.stdout.as_str(), said.stderr.as_str()), (0, "", ""));
    let page = |name: &str| {
        fs::read_to_string(dir.path().join("pages").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert!(page("kubesquall.1").contains("kubesquall\\-forecast(1)"), "{}", page("kubesquall.1"));
    assert!(page("kubesquall-run.1").contains(".SH OPTIONS"));
    assert!(page("kubesquall-import-cluster.1").contains("kubesquall import cluster"));
    fs::write(dir.path().join("file"), "").expect("a file");
    let said = super::binary::kubesquall(dir.path(), "man --out file", "");
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("cannot write to `file`"), "{}", said.stderr);
}
