//! How documents are read.

use std::path::Path;

use serde_json::Value;

use super::error::Error;
use crate::model::manifest::Folder;
use crate::scenario::{Limits, Overrides};

/// How a document is read: with which other values than it says.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    set: Vec<String>,
    seed: Option<u64>,
    allows_partial: bool,
    is_of_command_line: bool,
    are_flags: bool,
    max_pods: Option<u64>,
}

impl LoadOptions {
    /// As it says.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With another value, as `--set` takes it: `spec.timeline[0].at=2m`. Of a study or plan it is one of all its scenarios. The last of
    /// several for one path counts.
    #[must_use]
    pub fn set(mut self, assignment: impl Into<String>) -> Self {
        self.set.push(assignment.into());
        self
    }

    /// With another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether to go on without objects that cannot be read, that the API server would refuse, or that are written twice.
    #[must_use]
    pub fn allow_partial(mut self, is_allowed: bool) -> Self {
        self.allows_partial = is_allowed;
        self
    }

    /// With clusters of up to so many pods, five million at most, and a tenth as many nodes. Without it that is 500,000; to the command line,
    /// fewer where memory holds fewer.
    #[must_use]
    pub fn max_pods(mut self, pods: u64) -> Self {
        self.max_pods = Some(pods);
        self
    }

    /// For somebody who can give flags. Nobody asks for the scenario with other values then, so that files are forgotten once they are
    /// read: large ones would be large twice.
    #[cfg(feature = "cli")]
    pub(crate) fn of_command_line(mut self) -> Self {
        self.is_of_command_line = true;
        self
    }

    /// For somebody who writes values as flags, and may ask for the scenario with others.
    pub(super) fn of_flags(mut self) -> Self {
        self.are_flags = true;
        self
    }

    pub(super) fn is_of_command_line(&self) -> bool {
        self.is_of_command_line
    }

    pub(super) fn allows_partial(&self) -> bool {
        self.allows_partial
    }

    /// The values that were set.
    pub(super) fn assignments(&self) -> &[String] {
        &self.set
    }

    pub(super) fn overrides(&self) -> Overrides {
        let mut overrides: Overrides = self.set.iter().cloned().collect();
        if let Some(seed) = self.seed {
            overrides.set("spec.seed", &seed.to_string());
        }
        if self.allows_partial {
            overrides.set("spec.cluster.allowPartial", "true");
        }
        let overrides = overrides.within(limits(self.max_pods, self.is_of_command_line));
        if self.is_of_command_line || self.are_flags { overrides } else { overrides.for_program() }
    }
}

/// How large a cluster is taken: as is asked for; to the command line, as memory holds.
pub(super) fn limits(max_pods: Option<u64>, is_of_command_line: bool) -> Limits {
    match max_pods {
        Some(pods) => Limits::of_pods(pods),
        None if is_of_command_line => of_memory(),
        None => Limits::DEFAULT,
    }
}

#[cfg(feature = "cli")]
fn of_memory() -> Limits {
    memory_at_hand().map_or(Limits::DEFAULT, |bytes| Limits::of_memory(bytes).min(Limits::DEFAULT))
}

/// Only the command line asks.
#[cfg(not(feature = "cli"))]
fn of_memory() -> Limits {
    Limits::DEFAULT
}

/// Bytes that can be had: of the machine, or of the control group that this runs in.
#[cfg(feature = "cli")]
fn memory_at_hand() -> Option<u64> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let of_group = system.cgroup_limits().map(|limits| limits.free_memory);
    let bytes = of_group.into_iter().chain([system.available_memory()]).filter(|bytes| *bytes > 0).min();
    bytes.filter(|_| sysinfo::IS_SUPPORTED_SYSTEM)
}

/// A document as it is given.
pub(super) enum Written<'a> {
    /// A file on disk.
    File(&'a Path),
    /// A text, how messages name it, and the files that it names.
    Text { name: &'static str, text: &'a str, folder: Folder },
}

/// Texts by their paths.
pub(super) fn in_memory<P, T>(files: impl IntoIterator<Item = (P, T)>) -> Result<Folder, Error>
where
    P: AsRef<Path>,
    T: Into<String>,
{
    Folder::in_memory(files).map_err(|path| {
        let message = format!("two files are called `{}`", path.display());
        Error::argument(message, "give each a path of its own, `a/../b` and `b` being the same")
    })
}

/// The ways to read a kind of document, the same of each. What is other is said in words: what it names, who says the values that
/// options replace, and in what something can be wrong.
macro_rules! loaders {
    ($Document:ident, $name:literal, names $named:literal, values $says:literal, wrong with $it:literal) => {
        impl $Document {
            /// Reads a file and what it names. Paths in it are relative to it.
            ///
            /// # Errors
            ///
            #[doc = concat!("Everything that is wrong with ", $it, ", see [`Error::diagnostics`].")]
            pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
                Self::load_with(path, &LoadOptions::new())
            }

            #[doc = concat!("Reads a file with other values than ", $says, ".")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Everything that is wrong with ", $it, ".")]
            pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Self, Error> {
                Self::read(Written::File(path.as_ref()), options)
            }

            #[doc = concat!("Reads a text. The files that it names, ", $named, ", are texts by their paths as well: \
                             `[(\"apps/web.yaml\", \"…\")]`. Nothing is read from disk.")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Everything that is wrong with ", $it, ", see [`Error::diagnostics`]; two files of one name.")]
            pub fn parse<P, T>(text: &str, files: impl IntoIterator<Item = (P, T)>) -> Result<Self, Error>
            where
                P: AsRef<Path>,
                T: Into<String>,
            {
                Self::parse_with(text, files, &LoadOptions::new())
            }

            #[doc = concat!("Reads a text with other values than ", $says, ".")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Everything that is wrong with ", $it, "; two files of one name.")]
            pub fn parse_with<P, T>(
                text: &str,
                files: impl IntoIterator<Item = (P, T)>,
                options: &LoadOptions,
            ) -> Result<Self, Error>
            where
                P: AsRef<Path>,
                T: Into<String>,
            {
                Self::read(Written::Text { name: $name, text, folder: load::in_memory(files)? }, options)
            }

            #[doc = concat!("Reads a text whose files are on disk: paths in it are relative to this directory, `\"\"` being the current one.")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Everything that is wrong with ", $it, ".")]
            pub fn parse_in(text: &str, dir: impl AsRef<Path>, options: &LoadOptions) -> Result<Self, Error> {
                let folder = crate::model::manifest::Folder::on_disk(dir.as_ref());
                Self::read(Written::Text { name: $name, text, folder }, options)
            }

            #[doc = concat!("Takes a document that a program has made; otherwise as [`parse_with`](", stringify!($Document), "::parse_with).")]
            ///
            /// # Errors
            ///
            #[doc = concat!("Everything that is wrong with ", $it, "; two files of one name.")]
            pub fn from_value<P, T>(
                document: &serde_json::Value,
                files: impl IntoIterator<Item = (P, T)>,
                options: &LoadOptions,
            ) -> Result<Self, Error>
            where
                P: AsRef<Path>,
                T: Into<String>,
            {
                Self::parse_with(&load::text_of(document), files, options)
            }
        }
    };
}

pub(super) use loaders;

/// A document as its text: YAML with a line for each field, so that messages have places to point at.
pub(super) fn text_of(document: &Value) -> String {
    format!("{document:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facade::Scenario;

    #[test]
    fn who_reads_says_how_large_a_cluster_may_be() {
        let text = |nodes: u32| {
            format!(
                "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: a}}\nspec:\n  duration: 1m\n  cluster:\n    manifests: [a.yaml]\n    \
                 nodePools: [{{name: n, count: {nodes}, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]\n"
            )
        };
        let read = |nodes: u32, replicas: u32, options: &LoadOptions| {
            let manifest = format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{replicas: {replicas}, selector: {{matchLabels: {{a: b}}}}, \
                 template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}\n"
            );
            Scenario::parse_with(&text(nodes), [("a.yaml", manifest)], options)
                .map(drop)
                .map_err(|error| error.to_string())
        };
        let small = LoadOptions::new().max_pods(100);
        assert_eq!(read(10, 100, &small), Ok(()));
        let pods = read(10, 101, &small).expect_err("too many pods");
        assert!(pods.contains("the cluster would have 101 pods") && pods.contains("at most 100 are played"), "{pods}");
        let nodes = read(11, 100, &small).expect_err("too many nodes");
        assert!(nodes.contains("11 nodes") && nodes.contains("at most 10 are played"), "{nodes}");
        assert!(read(10, 500_001, &LoadOptions::new()).is_err());
        assert_eq!(read(10, 500_001, &LoadOptions::new().max_pods(600_000)), Ok(()));
    }

    #[cfg(feature = "cli")]
    #[test]
    fn memory_is_at_hand() {
        assert!(limits(None, true).pods() > 1000);
        assert_eq!(limits(Some(7), true), Limits::of_pods(7));
    }
}
