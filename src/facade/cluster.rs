//! A cluster without a scenario: manifests and dumps, read and checked as those of a scenario in which nothing happens.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::decisions::Decisions;
use super::error::Error;
use super::load;
use crate::diagnostics::Diagnostics;
use crate::model::manifest::Folder;
use crate::scenario::{self, API_VERSION, Invalid, Overrides, ResolvedScenario};

/// How places in the document made here are named; nobody else sees it.
const DOCUMENT: &str = "arguments";

/// How a cluster is read, and what decides about its pods.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    allows_partial: bool,
    version: Option<String>,
    scheduler: Option<String>,
    is_of_command_line: bool,
    max_pods: Option<u64>,
    /// Whether nodes may be missing, as they come from elsewhere.
    without_nodes: bool,
}

impl ClusterOptions {
    /// All of it has to be readable; the newest version of Kubernetes; kube-scheduler's default profile.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether to go on with what can be read.
    #[must_use]
    pub fn allow_partial(mut self, is_allowed: bool) -> Self {
        self.allows_partial = is_allowed;
        self
    }

    /// The version of Kubernetes, such as `1.34`.
    #[must_use]
    pub fn kubernetes_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// The file of a KubeSchedulerConfiguration; of a cluster in memory, one of its texts.
    #[must_use]
    pub fn scheduler_config(mut self, file: impl Into<String>) -> Self {
        self.scheduler = Some(file.into());
        self
    }

    /// Of up to so many pods, and a tenth as many nodes: see [`LoadOptions::max_pods`](super::load::LoadOptions::max_pods).
    #[must_use]
    pub fn max_pods(mut self, pods: u64) -> Self {
        self.max_pods = Some(pods);
        self
    }

    /// For somebody who can give flags.
    #[cfg(feature = "cli")]
    pub(crate) fn of_command_line(mut self) -> Self {
        self.is_of_command_line = true;
        self
    }

    /// Takes manifests as they are applied: without nodes.
    pub(crate) fn manifests_alone(mut self) -> Self {
        self.without_nodes = true;
        self
    }

    fn control_plane(&self) -> Value {
        if self.without_nodes {
            return json!({});
        }
        let scheduler = self.scheduler.as_ref().map_or_else(|| json!({}), |file| json!({"file": file}));
        json!({"kubernetesVersion": self.version.as_deref().unwrap_or("1.36"), "kubeScheduler": scheduler})
    }
}

/// Nodes, pods and what else there is, at an instant.
#[derive(Clone, Debug)]
pub struct Cluster(ResolvedScenario);

impl Cluster {
    /// Reads files, directories (recursively `*.yaml`, `*.yml` and `*.json`) and globs: what `kubectl get` saves, or manifests.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them, see [`Error::diagnostics`].
    pub fn load<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, Error> {
        Self::load_with(paths, &ClusterOptions::new())
    }

    /// Reads them in that way.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub fn load_with<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        options: &ClusterOptions,
    ) -> Result<Self, Error> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        Self::read(&paths, &Folder::on_disk(Path::new("")), options)
    }

    /// Reads texts, by the paths that messages name them by. Nothing is read from disk.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub fn parse<P, T>(texts: impl IntoIterator<Item = (P, T)>) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        T: Into<String>,
    {
        Self::parse_with(texts, &ClusterOptions::new())
    }

    /// Reads texts in that way. The one that the options name as a KubeSchedulerConfiguration is no manifest.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub fn parse_with<P, T>(texts: impl IntoIterator<Item = (P, T)>, options: &ClusterOptions) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        T: Into<String>,
    {
        let texts: Vec<(PathBuf, String)> =
            texts.into_iter().map(|(path, text)| (path.as_ref().to_owned(), text.into())).collect();
        let is_manifest = |path: &&PathBuf| options.scheduler.as_deref().map(Path::new) != Some(path.as_path());
        let paths: Vec<PathBuf> = texts.iter().map(|(path, _)| path).filter(is_manifest).cloned().collect();
        Self::read(&paths, &load::in_memory(texts)?, options)
    }

    fn read(paths: &[PathBuf], folder: &Folder, options: &ClusterOptions) -> Result<Self, Error> {
        if let [path] = paths
            && folder.is_file(path)
            && !folder.is_standard_input(path)
            && let Ok(text) = folder.read(path, &path.to_string_lossy())
            && let Ok(kind) = scenario::recognize(&path.to_string_lossy(), &text)
            && let Some(invalid) = scenario::no_cluster(&path.to_string_lossy(), kind)
        {
            return Err(Invalid::into(invalid));
        }
        let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        // A pool without nodes says that they are left out on purpose.
        let pools = if options.without_nodes {
            json!([{"name": "nodes", "count": 0, "template": {"status": {"allocatable": {"cpu": "1"}}}}])
        } else {
            json!([])
        };
        let document = json!({
            "apiVersion": API_VERSION,
            "kind": "Scenario",
            "metadata": {"name": "cluster"},
            "spec": {
                "duration": "1s",
                "cluster": {
                    "manifests": paths,
                    "nodePools": pools,
                    "allowPartial": options.allows_partial,
                },
                "controlPlane": options.control_plane(),
            },
        });
        let overrides = Overrides::none().within(load::limits(options.max_pods, options.is_of_command_line));
        let overrides = if options.is_of_command_line { overrides } else { overrides.for_program() };
        match scenario::parse(DOCUMENT, &document.to_string(), folder, &overrides) {
            Ok(mut cluster) => {
                cluster.warnings = without_document(cluster.warnings, options);
                Ok(Self(cluster))
            }
            Err(mut invalid) => {
                invalid.diagnostics = without_document(invalid.diagnostics, options);
                Err(Invalid::into(invalid))
            }
        }
    }

    /// What may not mean what its author thinks.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.0.warnings
    }

    /// What kube-scheduler decides about the pending pods, in the order of its queue.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn decisions(&self) -> Decisions {
        Decisions::of_all(&self.0)
    }

    /// What it decides about these, each `NAMESPACE/NAME`.
    ///
    /// # Errors
    ///
    /// If there is no such pod.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    pub fn decisions_of<S: AsRef<str>>(&self, pods: impl IntoIterator<Item = S>) -> Result<Decisions, Error> {
        Decisions::of_named(&self.0, pods)
    }

    #[cfg(feature = "cli")]
    pub(crate) fn resolved(&self) -> &ResolvedScenario {
        &self.0
    }

    #[cfg(feature = "cli")]
    pub(crate) fn into_resolved(self) -> ResolvedScenario {
        self.0
    }
}

/// Problems as the user knows their places.
fn without_document(diagnostics: Diagnostics, options: &ClusterOptions) -> Diagnostics {
    let is_meant = |code: &str| options.without_nodes && code == "scenario::no_nodes";
    diagnostics
        .into_iter()
        .filter(|diagnostic| !is_meant(diagnostic.code))
        .map(|mut diagnostic| {
            diagnostic.labels.retain(|label| &*label.location.file != DOCUMENT);
            if matches!(diagnostic.code, "scenario::unreadable" | "manifest::not_found") {
                for help in &mut diagnostic.help {
                    *help = help.replace("relative to the file that names them", "relative to the current directory");
                }
            }
            diagnostic
        })
        .collect()
}
