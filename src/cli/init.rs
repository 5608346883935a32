//! `init`: a first scenario for a cluster.

use std::path::{Component, Path, PathBuf};

use clap::Args;

use super::Ending;
use super::failure::Failure;
use super::import;
use super::ui::Ui;
use crate::facade::path_of;
use crate::import::{AtStart, FirstScenario, cluster_alone, first_scenario};
use crate::model::config::KubernetesVersion;
use crate::model::{NotModelled, Object, manifest, served_as};
use crate::observe::{Detail, Observers};
use crate::scenario::{self, Invalid, Overrides, ResolvedScenario, Skipped, pod_template};
use crate::scheduler::Scheduler;
use crate::simulation::Prepared;
use crate::units::{SimDuration, SimTime, counted};

/// How standard output is named in place of a file.
const STANDARD_OUTPUT: &str = "-";

/// Pods without a node that a note names.
const HOMELESS_NAMED_MAX: usize = 5;

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
    let (at_start, why) = at_start(&cluster);
    let text = first_scenario(&asked, &cluster, &at_start);
    // What is written can be played.
    let scenario = parse(&text, output, dir)?;
    ui.diagnostics(&scenario.warnings, &scenario.sources);
    if !is_written {
        ui.data(&text)?;
    } else {
        import::write(&[(output.clone(), &text)], *force)?;
    }
    if let Some(why) = why {
        ui.note(homeless(&at_start, &why, asked.pool.is_some()));
    }
    if let Some(left_out) = custom_resources(&cluster) {
        ui.note(left_out);
    }
    if !is_written {
        return Ok(Ending::Done);
    }
    if !ui.is_quiet {
        ui.out(&format!("{0}: play it with `kubesquall run {0}`\n", output.display()))?;
    }
    Ok(Ending::Done)
}

fn parse(text: &str, output: &Path, dir: &Path) -> Result<ResolvedScenario, Invalid> {
    scenario::load_text(&output.to_string_lossy(), text, dir, &Overrides::none())
}

/// The cluster at t=0, and what the scheduler says of the first pod without a node.
fn at_start(cluster: &ResolvedScenario) -> (AtStart, Option<String>) {
    let prepared = Prepared::new(cluster);
    let store = prepared.store();
    let mut found = AtStart::default();
    let mut waiting = Vec::new();
    for (id, pod) in store.pods().filter(|(_, pod)| pod.is_active()) {
        match pod.node {
            Some(node) => *found.pods_on.entry(store.node_name(node)).or_default() += 1,
            None => waiting.push((path_of(store, id), id)),
        }
    }
    waiting.sort();
    let first: Vec<_> = waiting.iter().take(1).map(|(_, id)| *id).collect();
    let decision = Scheduler::decide(prepared.snapshot(), &first).next().flatten();
    let why = decision.and_then(|decision| decision.message);
    found.homeless = waiting.into_iter().map(|(path, _)| path).collect();
    // As many as a run that ends at once counts.
    let observers = Observers::new(Detail::Summary, Vec::new(), SimDuration::from_secs(1));
    let finished = prepared.start(cluster.seed, observers).finish();
    let observed = finished.observers.finish(SimTime::ZERO, &finished.store, 0);
    found.workloads = observed.summary.workloads.len();
    let why = found.homeless.first().map(|_| why.unwrap_or_else(|| "no scheduler of the scenario takes it".to_owned()));
    (found, why)
}

/// Pods that fit on no node though nothing has happened, and what to do about it.
fn homeless(at_start: &AtStart, why: &str, has_pool: bool) -> String {
    let named: Vec<&str> = at_start.homeless.iter().take(HOMELESS_NAMED_MAX).map(String::as_str).collect();
    let more = if at_start.homeless.len() > named.len() { ", …" } else { "" };
    let pods = counted(at_start.homeless.len(), "pod has", "pods have");
    let remedy = if has_pool {
        "the nodes are invented: say under `nodePools` what yours are like (count, CPU, memory, labels, taints)"
    } else {
        "what is expected of the end allows for them"
    };
    format!("{pods} no node before anything happens: {}{more}\n  the first: {why}\n  {remedy}", named.join(", "))
}

/// Objects of kinds that Kubernetes does not have: operators make pods of some.
fn custom_resources(cluster: &ResolvedScenario) -> Option<String> {
    let is_custom = |skipped: &&Skipped| {
        let is_built_in = || served_as(&skipped.kind, KubernetesVersion::NEWEST).is_some();
        skipped.reason == NotModelled::KIND_REASON && !is_built_in()
    };
    let kinds: Vec<String> = cluster
        .input
        .skipped
        .iter()
        .filter(is_custom)
        .map(|skipped| format!("{} {}", skipped.count, skipped.kind))
        .collect();
    (!kinds.is_empty()).then(|| {
        format!("not played: {}; of what operators make of these, only what the input has is", kinds.join(", "))
    })
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
    let cluster = parse(&cluster_alone(asked), output, dir).map_err(|invalid| as_given(invalid, output))?;
    let makes_pods = |object: &Object| matches!(object, Object::Pod(_)) || pod_template(object).is_some();
    if !cluster.objects.iter().any(|object| makes_pods(&object.object)) {
        let help =
            "name what `kubectl get` saves, or manifests; `kubesquall import` reads records of failures and of outages";
        return Err(Failure::input("there is neither a node nor a pod or workload in what is given", help));
    }
    Ok(cluster)
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
