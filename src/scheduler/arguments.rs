//! Arguments of plugins: how they are read, and what can be wrong with them.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::config::KubernetesVersion;

/// Something in a configuration with which kube-scheduler does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationProblem {
    /// Where it stands, from the configuration or the arguments on: `scoringStrategy.resources[0].weight`.
    pub path: String,
    /// What is true of everything that could stand there; it goes on "it must".
    pub rule: String,
}

/// Problems, in the order in which they are found.
#[derive(Debug)]
pub struct Problems {
    version: KubernetesVersion,
    list: Vec<ConfigurationProblem>,
}

impl Problems {
    /// None yet, for a kube-scheduler of that version.
    pub(super) fn new(version: KubernetesVersion) -> Self {
        Self { version, list: Vec::new() }
    }

    /// The version of the kube-scheduler that is to start.
    pub(super) fn version(&self) -> KubernetesVersion {
        self.version
    }

    /// Notes a problem unless all is well.
    pub(super) fn unless(&mut self, is_fine: bool, path: impl Display, rule: impl Display) {
        if !is_fine {
            self.list.push(ConfigurationProblem { path: path.to_string(), rule: rule.to_string() });
        }
    }

    /// Notes a problem unless a number lies within bounds, which are part of them.
    pub(super) fn unless_within(&mut self, number: impl Into<i64>, bounds: RangeInclusive<i64>, path: impl Display) {
        let (low, high) = (bounds.start(), bounds.end());
        let rule = if *high == i64::MAX { format!("be at least {low}") } else { format!("be from {low} to {high}") };
        self.unless(bounds.contains(&number.into()), path, rule);
    }

    /// All of them.
    pub(super) fn into_list(self) -> Vec<ConfigurationProblem> {
        self.list
    }
}

/// Whether anything hangs on the arguments of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentUse {
    /// It has none.
    None,
    /// They are read, and decide nothing here.
    Ignored,
    /// They decide something.
    Decides,
}

/// Arguments of a plugin.
pub trait PluginArguments: DeserializeOwned + Default {
    /// Whether anything hangs on them.
    const USE: ArgumentUse = ArgumentUse::Decides;

    /// Whether the plugin has them in a version.
    #[must_use]
    fn exist(_version: KubernetesVersion) -> bool {
        true
    }

    /// Notes what kube-scheduler refuses; paths go from the arguments on. A plugin that is enabled without arguments is given the
    /// default ones, which are checked, too: a field that is needed is an `Option`.
    fn check(&self, problems: &mut Problems);
}

/// The arguments of a plugin that has none.
#[derive(Debug, Default, Deserialize)]
pub(super) struct NoArguments {}

impl PluginArguments for NoArguments {
    const USE: ArgumentUse = ArgumentUse::None;

    fn check(&self, _problems: &mut Problems) {}
}

/// Somebody who has arguments as text and reads them as whatever type they have.
pub trait ReadArguments {
    /// The arguments without `apiVersion` and `kind`; none if they cannot be read, which the reader says.
    fn read<A: PluginArguments>(&mut self) -> Option<A>;
}

/// Reads arguments; null stands for none at all, which are the defaults.
pub(super) fn from_value<A: DeserializeOwned + Default>(arguments: &Value) -> Result<A, serde_json::Error> {
    let mut arguments = arguments.clone();
    match &mut arguments {
        Value::Null => return Ok(A::default()),
        Value::Object(fields) => fields.retain(|name, _| name != "apiVersion" && name != "kind"),
        _ => {}
    }
    serde_json::from_value(arguments)
}
