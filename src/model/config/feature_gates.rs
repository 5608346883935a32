//! Feature gates of the control plane.

use super::flags::FlagValue;
use super::version::KubernetesVersion;
use crate::arena::Symbol;

/// The gate of `maxUnavailable` of StatefulSets: off by default, also as a beta.
const MAX_UNAVAILABLE_STATEFUL_SET: &str = "MaxUnavailableStatefulSet";
/// The gate of `status.terminatingReplicas` of Deployments and ReplicaSets.
const TERMINATING_REPLICAS: &str = "DeploymentReplicaSetTerminatingReplicas";
/// Gates that decide something here.
const HEEDED: [&str; 2] = [MAX_UNAVAILABLE_STATEFUL_SET, TERMINATING_REPLICAS];
/// All gates of features that are alpha, and all of those that are beta.
const ALL: [&str; 2] = ["AllAlpha", "AllBeta"];

/// The value of `--feature-gates`: `Name=true`, joined by commas; of two of one name the later counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureGates {
    entries: Vec<(Symbol, bool)>,
}

impl FeatureGates {
    /// The gates that a text names; none if it is not well-formed.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        Self::parse_flag(text)
    }

    fn get(&self, name: &str) -> Option<bool> {
        self.entries.iter().rev().find(|(gate, _)| *gate == name).map(|(_, is_on)| *is_on)
    }

    /// Whether StatefulSets heed `maxUnavailable` of their rolling updates.
    ///
    /// # Source
    /// kube-controller-manager, feature `MaxUnavailableStatefulSet`: alpha until 1.34, beta from 1.35 on, off by default.
    #[must_use]
    pub fn max_unavailable_stateful_set(&self, version: KubernetesVersion) -> bool {
        let all = ALL[usize::from(version.at_least(35))];
        self.get(MAX_UNAVAILABLE_STATEFUL_SET).or_else(|| self.get(all)).unwrap_or(false)
    }

    /// Whether Deployments and ReplicaSets count their terminating pods.
    ///
    /// # Source
    /// kube-controller-manager, feature `DeploymentReplicaSetTerminatingReplicas`: alpha from 1.33 on, beta and on by default from
    /// 1.35 on.
    #[must_use]
    pub fn terminating_replicas(&self, version: KubernetesVersion) -> bool {
        let is_beta = version.at_least(35);
        let chosen = self.get(TERMINATING_REPLICAS).or_else(|| self.get(ALL[usize::from(is_beta)]));
        chosen.unwrap_or(is_beta)
    }

    /// Whether a value of the flag names a gate that decides nothing here.
    #[must_use]
    pub fn is_idle(text: &str) -> bool {
        let gates = Self::parse_flag(text).unwrap_or_default();
        gates.entries.iter().any(|(name, _)| !HEEDED.contains(&name.as_str()))
    }
}

/// A truth value as Go reads it.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn entry(text: &str) -> Option<(Symbol, bool)> {
    let (name, value) = text.split_once('=')?;
    Some((Symbol::new(name.trim()), truth(value.trim())?))
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

impl FlagValue for FeatureGates {
    const EXPECTED: &'static str = "`Name=true` or `Name=false`, joined by commas";

    fn parse_flag(text: &str) -> Option<Self> {
        let entries: Option<Vec<_>> = parts(text).map(entry).collect();
        Some(Self { entries: entries? })
    }

    fn flag_text(&self) -> String {
        let entries: Vec<String> = self.entries.iter().map(|(name, is_on)| format!("{name}={is_on}")).collect();
        entries.join(",")
    }

    fn help(text: &str) -> Option<String> {
        let wrong = parts(text).find(|part| entry(part).is_none())?;
        Some(match wrong.split_once('=') {
            None => format!("missing bool value for {wrong}"),
            Some((name, value)) => {
                format!("invalid value of {}={}, which is no truth value", name.trim(), value.trim())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_as_its_last_entry_says_or_as_all_of_its_stage() {
        let check = |text: &str, version: KubernetesVersion, expected: bool| {
            let gates = FeatureGates::parse_flag(text).expect("a value");
            assert_eq!(gates.max_unavailable_stateful_set(version), expected, "{text} in {version:?}");
        };
        let (old, new) = ("1.34".parse().expect("a version"), KubernetesVersion::NEWEST);
        check("", new, false);
        for text in
            ["MaxUnavailableStatefulSet=true", " MaxUnavailableStatefulSet = True ,", "MaxUnavailableStatefulSet=1"]
        {
            check(text, new, true);
        }
        check("MaxUnavailableStatefulSet=true,MaxUnavailableStatefulSet=f", new, false);
        check("AllBeta=true", new, true);
        check("AllBeta=true", old, false);
        check("AllAlpha=true", old, true);
        check("AllBeta=true,MaxUnavailableStatefulSet=false", new, false);
    }

    #[test]
    fn terminating_pods_are_counted_since_their_gate_is_on() {
        let check = |text: &str, version: &str, expected: bool| {
            let gates = FeatureGates::parse_flag(text).expect("a value");
            let version = version.parse().expect("a version");
            assert_eq!(gates.terminating_replicas(version), expected, "{text} in {version:?}");
        };
        check("", "1.36", true);
        check("", "1.35", true);
        check("", "1.34", false);
        check("AllBeta=false", "1.35", false);
        check("DeploymentReplicaSetTerminatingReplicas=false", "1.36", false);
        check("DeploymentReplicaSetTerminatingReplicas=true", "1.33", true);
        check("AllAlpha=true", "1.34", true);
        assert!(!FeatureGates::is_idle("DeploymentReplicaSetTerminatingReplicas=false"));
    }

    #[test]
    fn what_is_no_list_of_gates_is_refused_and_what_decides_nothing_is_told() {
        assert_eq!(FeatureGates::parse_flag("Foo"), None);
        assert_eq!(FeatureGates::help("A=true,Foo").as_deref(), Some("missing bool value for Foo"));
        assert_eq!(FeatureGates::help("Foo=yes").as_deref(), Some("invalid value of Foo=yes, which is no truth value"));
        assert!(FeatureGates::is_idle("MaxUnavailableStatefulSet=true,Foo=true"));
        assert!(!FeatureGates::is_idle("MaxUnavailableStatefulSet=true") && !FeatureGates::is_idle(""));
    }
}
