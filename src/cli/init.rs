//! `init`: a first scenario for a cluster.

use std::path::{Component, Path, PathBuf};

use clap::Args;

use super::Ending;
use super::failure::Failure;
use super::import;
use super::ui::Ui;
use crate::import::{FirstScenario, cluster_alone, first_scenario};
use crate::model::manifest;
use crate::scenario::{self, Invalid, Overrides, ResolvedScenario};

/// How standard output is named in place of a file.
const STANDARD_OUTPUT: &str = "-";

/// Nodes of a pool, where no manifest has any.
const NODES_OF_POOL: u32 = 6;

/// Write a first scenario for a cluster
///
/// The scenario names the files that are given. A zone or the biggest node fails; what else could happen stands in comments, with the
/// names of this cluster. `check` finds nothing wrong with it, and `run` plays it as it is.
#[derive(Args, Debug)]
pub(super) struct InitArgs {
    /// What `kubectl get` saves, or manifests: files, directories and globs
    #[arg(required = true, value_name = "DUMP")]
    inputs: Vec<PathBuf>,
    /// The file to be written, or `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "scenario.yaml")]
    output: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

pub(super) fn init(arguments: &InitArgs, ui: &Ui) -> Result<Ending, Failure> {
    let InitArgs { inputs, output, force } = arguments;
    let is_written = output.as_os_str() != STANDARD_OUTPUT;
    if is_written && output.exists() && !force {
        return Err(Failure::input(
            format!("`{}` is there already", output.display()),
            "name another --output, or --force",
        ));
    }
    if inputs.iter().any(|input| manifest::is_standard_input(input)) {
        let help = "save it to a file: a scenario names what its cluster is read from";
        return Err(Failure::input("a scenario cannot name standard input", help));
    }
    let dir = if is_written { output.parent().unwrap_or(Path::new("")) } else { Path::new("") };
    let mut asked = FirstScenario {
        name: name_of(inputs),
        manifests: inputs.iter().map(|input| relative(input, dir).to_string_lossy().into_owned()).collect(),
        pool: None,
    };
    let cluster = read(&mut asked, output, dir)?;
    let text = first_scenario(&asked, &cluster);
    // What is written can be played.
    let scenario = parse(&text, output, dir)?;
    ui.diagnostics(&scenario.warnings, &scenario.sources);
    if !is_written {
        ui.data(&text)?;
        return Ok(Ending::Done);
    }
    import::write(&[(output.clone(), &text)], *force)?;
    if !ui.is_quiet {
        ui.out(&format!("{0}: play it with `kubesquall run {0}`\n", output.display()))?;
    }
    Ok(Ending::Done)
}

fn parse(text: &str, output: &Path, dir: &Path) -> Result<ResolvedScenario, Invalid> {
    scenario::load_text(&output.to_string_lossy(), text, dir, &Overrides::none())
}

/// The cluster; with a pool of nodes, if the files have none.
fn read(asked: &mut FirstScenario, output: &Path, dir: &Path) -> Result<ResolvedScenario, Failure> {
    let invalid = match parse(&cluster_alone(asked), output, dir) {
        Ok(cluster) => return Ok(cluster),
        Err(invalid) => invalid,
    };
    let lacks_nodes = invalid.diagnostics.as_slice().iter().any(|problem| problem.code == "scenario::no_nodes");
    if !lacks_nodes {
        return Err(as_given(invalid, output).into());
    }
    asked.pool = Some(NODES_OF_POOL);
    parse(&cluster_alone(asked), output, dir).map_err(|invalid| as_given(invalid, output).into())
}

/// Problems without places in a document that is not there.
fn as_given(mut invalid: Invalid, output: &Path) -> Invalid {
    let document = output.to_string_lossy();
    let diagnostics = std::mem::take(&mut invalid.diagnostics).into_iter().map(|mut diagnostic| {
        diagnostic.labels.retain(|label| *label.location.file != *document);
        for help in &mut diagnostic.help {
            *help = help.replace("relative to the file that names them", "relative to the current directory");
        }
        diagnostic
    });
    invalid.diagnostics = diagnostics.collect();
    invalid
}

/// The name of the scenario: that of the first file.
fn name_of(inputs: &[PathBuf]) -> String {
    let first = inputs.first().map(|path| path.as_path()).unwrap_or(Path::new(""));
    let stem = if first.is_dir() { first.file_name() } else { first.file_stem() };
    let stem = stem.unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "cluster".to_owned() } else { name.to_owned() }
}

/// A path as it is named from a directory; one that is absolute stays so.
fn relative(path: &Path, dir: &Path) -> PathBuf {
    if dir.as_os_str().is_empty() || path.is_absolute() {
        return path.to_owned();
    }
    let (Ok(path_whole), Ok(dir_whole)) = (std::path::absolute(path), std::path::absolute(dir)) else {
        return path.to_owned();
    };
    let plain = |path: &Path| -> Vec<PathBuf> {
        let mut parts: Vec<PathBuf> = Vec::new();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(parts.pop()),
                Component::CurDir => {}
                other => parts.push(PathBuf::from(other.as_os_str())),
            }
        }
        parts
    };
    let (path_parts, dir_parts) = (plain(&path_whole), plain(&dir_whole));
    let common = path_parts.iter().zip(&dir_parts).take_while(|(one, other)| one == other).count();
    let up = dir_parts[common..].iter().map(|_| PathBuf::from(".."));
    let found: PathBuf = up.chain(path_parts[common..].iter().cloned()).collect();
    if found.as_os_str().is_empty() { PathBuf::from(".") } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_from_the_scenario() {
        let check = |path: &str, dir: &str, expected: &str| {
            assert_eq!(relative(Path::new(path), Path::new(dir)), Path::new(expected), "{path} from {dir}");
        };
        check("cluster.yaml", "", "cluster.yaml");
        check("/abs/cluster.yaml", "out", "/abs/cluster.yaml");
        check("cluster.yaml", "out", "../cluster.yaml");
        check("out/cluster.yaml", "out", "cluster.yaml");
        check("a/b/*.yaml", "a/c", "../b/*.yaml");
        check("a/b", "a/b", ".");
    }

    #[test]
    fn a_scenario_is_called_as_its_cluster() {
        let check = |path: &str, expected: &str| assert_eq!(name_of(&[PathBuf::from(path)]), expected, "{path}");
        check("dumps/Prod_EU.yaml", "prod-eu");
        check("*.yaml", "cluster");
        check("prod.v2.json", "prod-v2");
    }
}
