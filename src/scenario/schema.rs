//! The fields of a scenario, as they are written.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::actions::TimelineEntry;
use super::assumption::Assumption;
use super::input::Input;
use super::pools::NodePool;
use crate::arena::Symbol;
use crate::chaos::FaultProcessSpec;
use crate::component::WrittenLatencies;
use crate::engine::Distribution;
use crate::model::NotModelled;
use crate::model::config::{FlagMap, KubeSchedulerConfiguration, KubeletConfiguration, KubernetesVersion};
use crate::procedures::HorizontalPodAutoscalerSpec;
use crate::procedures::node_repair::NodeRepairSpec;
use crate::units::{IntOrPercent, SimDuration, parse_percent, with_days};

/// The version of the documents that are understood.
pub const API_VERSION: &str = "kubesquall.sim/v1alpha1";

/// The kinds of documents of our own.
pub const KINDS: [&str; 3] = ["Scenario", "Study", "Plan"];

/// A scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ScenarioDocument {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// What it is called.
    pub(crate) metadata: Metadata,
    /// What it says.
    pub(crate) spec: Spec,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Metadata {
    /// The name: results are written to `reports/<name>`.
    pub(crate) name: String,
    /// Labels; they have no effect.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) labels: BTreeMap<String, String>,
    /// Annotations; they have no effect.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Spec {
    /// How long it lasts.
    #[serde(with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    pub(crate) duration: SimDuration,
    /// What chance is drawn from.
    #[serde(default)]
    pub(crate) seed: u64,
    /// What there is.
    pub(crate) cluster: Cluster,
    /// The version, flags and configurations of the control plane and of kubelets.
    #[serde(default)]
    pub(crate) control_plane: ControlPlane,
    /// How long things take that no manifest says.
    #[serde(default)]
    pub(crate) latency: WrittenLatencies,
    /// What happens when; entries of one instant happen in their order.
    #[serde(default)]
    pub(crate) timeline: Vec<TimelineEntry>,
    /// What goes wrong again and again, at random.
    #[serde(default)]
    pub(crate) faults: Vec<FaultProcessSpec>,
    /// cluster-autoscaler runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cluster_autoscaler: Option<ClusterAutoscalerEntry>,
    /// Machines that stay unhealthy are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node_auto_repair: Option<NodeRepairSpec>,
    /// Loads on workloads, and how they are followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) horizontal_pod_autoscalers: Vec<HorizontalPodAutoscalerSpec>,
    /// What counts as good.
    #[serde(default)]
    pub(crate) slo: Vec<SloEntry>,
    /// What must hold in the end; the exit status is 1 if something does not.
    #[serde(default)]
    pub(crate) expect: Vec<ExpectEntry>,
    /// Texts that paths of this document mean, in place of the files on disk; lock files have them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) files: BTreeMap<String, String>,
    /// What had no effect when this document was made from another; lock files have it.
    /// Nothing but this is reported as being without effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) not_modelled: Option<Vec<NotModelledEntry>>,
    /// What was taken for granted when this document was made from another; lock files have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) assumed: Option<Vec<Assumption>>,
    /// What was read when this document was made from another; lock files have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Input>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Cluster {
    /// Files, directories and globs of manifests and dumps, relative to this file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) manifests: Vec<String>,
    /// Nodes that no manifest holds.
    pub(crate) node_pools: Vec<NodePool>,
    /// The state in which t=0 finds the cluster.
    pub(crate) bootstrap: Bootstrap,
    /// Whether to go on with a cluster of which something could not be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) allow_partial: bool,
    /// What becomes of workloads that pods name as their owners and that no manifest holds.
    pub(crate) missing_owners: MissingOwners,
}

/// What becomes of workloads that pods name as their owners and that no manifest holds.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub(crate) enum MissingOwners {
    /// They are made anew from their pods.
    #[default]
    Rebuild,
    /// They stay unknown: their pods are not replaced.
    Leave,
}

/// How long before t=0 a cluster is brought up: so old is what does not say when it was created. An OrderedReady set of a thousand pods
/// settles in it.
pub const SETTLE_FOR: SimDuration = SimDuration::from_secs(4 * 3600);

/// The state in which t=0 finds the cluster.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Bootstrap {
    /// Every pod that fits is bound, started and Ready.
    #[default]
    Settled,
    /// The manifests are applied at t=0 on a cluster of Ready nodes.
    Cold,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ControlPlane {
    /// The version, from which defaults and behavior follow.
    pub(crate) kubernetes_version: KubernetesVersion,
    /// Flags of kube-apiserver.
    #[cfg_attr(feature = "cli", schemars(schema_with = "crate::model::config::KubeApiserver::schema"))]
    pub(crate) kube_apiserver: FlagMap,
    /// Flags of kube-controller-manager.
    #[cfg_attr(feature = "cli", schemars(schema_with = "crate::model::config::KubeControllerManager::schema"))]
    pub(crate) kube_controller_manager: FlagMap,
    /// The configuration of kube-scheduler.
    pub(crate) kube_scheduler: KubeSchedulerConfiguration,
    /// The configuration of the kubelets.
    pub(crate) kubelet: KubeletConfiguration,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ClusterAutoscalerEntry {
    /// The pools that it sizes.
    pub(crate) pools: Vec<AutoscaledPoolEntry>,
    /// From the wish for a machine to its first boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) provisioning: Option<Distribution>,
    /// Its flags.
    #[serde(default)]
    #[cfg_attr(feature = "cli", schemars(schema_with = "crate::model::config::ClusterAutoscaler::schema"))]
    pub(crate) flags: FlagMap,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AutoscaledPoolEntry {
    /// The pool.
    pub(crate) name: Symbol,
    /// The fewest nodes.
    pub(crate) min: u32,
    /// The most nodes.
    pub(crate) max: u32,
    /// Of several pools that would do, those of the highest are sized, with the expander `priority`.
    #[serde(default)]
    pub(crate) priority: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SloEntry {
    /// Which workloads, as `kind/namespace/name`; `*` stands for any text.
    pub(crate) workload: String,
    /// How many pods have to be ready, as a number or a percentage of those wanted.
    #[serde(default = "all")]
    pub(crate) min_ready: IntOrPercent,
    /// For which share of the time.
    pub(crate) objective: Share,
}

const fn all() -> IntOrPercent {
    IntOrPercent::Percent(100)
}

/// A share of the time: `99.9%`, or 0.999.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShareVisitor;

        impl Visitor<'_> for ShareVisitor {
            type Value = Share;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a share such as `99.9%`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Share, E> {
                match parse_percent(text) {
                    Some(share) if (0.0..=1.0).contains(&share) => Ok(Share(share)),
                    Some(_) => Err(E::custom(format_args!("`{text}` is not between 0 % and 100 %"))),
                    None => Err(E::custom(format_args!("`{text}` is not a share such as `99.9%`"))),
                }
            }

            fn visit_f64<E: Error>(self, share: f64) -> Result<Share, E> {
                if (0.0..=1.0).contains(&share) {
                    return Ok(Share(share));
                }
                Err(E::custom(format_args!("{share} is not a share between 0 and 1; write `{share}%` for percent")))
            }

            fn visit_u64<E: Error>(self, share: u64) -> Result<Share, E> {
                self.visit_f64(share as f64)
            }

            fn visit_i64<E: Error>(self, share: i64) -> Result<Share, E> {
                self.visit_f64(share as f64)
            }
        }
        deserializer.deserialize_any(ShareVisitor)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExpectEntry {
    /// A metric of `summary.json`.
    pub(crate) metric: String,
    /// How to compare.
    pub(crate) op: super::expect::Comparison,
    /// With what.
    pub(crate) value: Amount,
}

/// A number, or a duration in seconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Amount {
    pub(crate) value: f64,
    /// Whether it is written as a duration.
    pub(crate) is_length: bool,
}

impl From<f64> for Amount {
    fn from(value: f64) -> Self {
        Self { value, is_length: false }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;

        impl Visitor<'_> for AmountVisitor {
            type Value = Amount;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number, or a duration such as `90s`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
                match SimDuration::parse_with_days(text) {
                    Ok(duration) => Ok(Amount { value: duration.as_secs_f64(), is_length: true }),
                    Err(_) => Err(E::custom(format_args!("`{text}` is neither a number nor a duration such as `90s`"))),
                }
            }

            fn visit_f64<E>(self, value: f64) -> Result<Amount, E> {
                Ok(value.into())
            }

            fn visit_u64<E>(self, value: u64) -> Result<Amount, E> {
                Ok((value as f64).into())
            }

            fn visit_i64<E>(self, value: i64) -> Result<Amount, E> {
                Ok((value as f64).into())
            }
        }
        deserializer.deserialize_any(AmountVisitor)
    }
}

/// A row of `not-modelled.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NotModelledEntry {
    /// The file.
    pub(crate) file: Symbol,
    /// The line.
    pub(crate) line: u32,
    /// The object.
    pub(crate) object: String,
    /// The field.
    pub(crate) path: String,
    /// What it says.
    pub(crate) value: String,
    /// How many fields are meant.
    #[serde(default = "one_field")]
    pub(crate) count: usize,
}

const fn one_field() -> usize {
    1
}

impl From<&NotModelledEntry> for NotModelled {
    fn from(row: &NotModelledEntry) -> Self {
        Self {
            file: row.file,
            line: row.line,
            object: row.object.clone(),
            path: row.path.clone(),
            value_excerpt: row.value.clone(),
            count: row.count,
        }
    }
}

impl From<&NotModelled> for NotModelledEntry {
    fn from(row: &NotModelled) -> Self {
        Self {
            file: row.file,
            line: row.line,
            object: row.object.clone(),
            path: row.path.clone(),
            value: row.value_excerpt.clone(),
            count: row.count,
        }
    }
}
