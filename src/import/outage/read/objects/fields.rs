//! The fields of objects, and of patches of them, that tell when something came about.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

use crate::arena::Symbol;
use crate::evidence::{Bounds, DeletedBy, Instant};
use crate::model::ConditionStatus;

/// Text that is borrowed where it has no escapes.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(in super::super) struct Text<'a>(#[serde(borrow)] pub(in super::super) Cow<'a, str>);

impl Text<'_> {
    pub(in super::super) fn symbol(&self) -> Symbol {
        Symbol::new(&self.0)
    }
}

/// What an absent text says: nothing.
pub(in super::super) fn text<'a>(text: Option<&'a Text<'_>>) -> &'a str {
    text.map_or("", |text| &text.0)
}

/// `None`: absent; `Some(None)`: null, which in a patch takes the field away.
fn or_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct Metadata<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    pub namespace: Option<Text<'a>>,
    pub creation_timestamp: Option<Text<'a>>,
    pub deletion_timestamp: Option<Text<'a>>,
    pub deletion_grace_period_seconds: Option<i64>,
    pub owner_references: Option<Vec<Owner<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Owner<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    name: Option<Text<'a>>,
    controller: Option<bool>,
}

impl Metadata<'_> {
    /// Kind and name of the controller.
    pub(in super::super) fn owner(&self) -> Option<(Symbol, Symbol)> {
        let owner = self.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
        Some((owner.kind.as_ref()?.symbol(), owner.name.as_ref()?.symbol()))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct NodeSpec<'a> {
    #[serde(borrow, deserialize_with = "or_null")]
    pub taints: Option<Option<Vec<Taint<'a>>>>,
    #[serde(deserialize_with = "or_null")]
    pub unschedulable: Option<Option<bool>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct Taint<'a> {
    #[serde(borrow)]
    pub key: Option<Text<'a>>,
    pub effect: Option<Text<'a>>,
    pub time_added: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct NodeStatus<'a> {
    #[serde(borrow)]
    pub conditions: Option<Vec<Condition<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct Condition<'a> {
    #[serde(borrow, rename = "type")]
    pub condition: Option<Text<'a>>,
    pub status: Option<Text<'a>>,
    pub reason: Option<Text<'a>>,
    pub message: Option<Text<'a>>,
    pub last_transition_time: Option<Text<'a>>,
    pub last_heartbeat_time: Option<Text<'a>>,
}

impl Condition<'_> {
    pub(in super::super) fn is(&self, name: &str) -> bool {
        text(self.condition.as_ref()) == name
    }

    pub(in super::super) fn has_status(&self, status: &str) -> bool {
        text(self.status.as_ref()) == status
    }

    /// Its status, if the record says it.
    pub(in super::super) fn status(&self) -> Option<ConditionStatus> {
        match text(self.status.as_ref()) {
            "True" => Some(ConditionStatus::True),
            "False" => Some(ConditionStatus::False),
            "Unknown" => Some(ConditionStatus::Unknown),
            _ => None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct PodSpec<'a> {
    #[serde(borrow)]
    pub node_name: Option<Text<'a>>,
    pub containers: Option<Vec<Container<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Container<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    pub image: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct PodStatus<'a> {
    #[serde(borrow)]
    pub phase: Option<Text<'a>>,
    pub reason: Option<Text<'a>>,
    pub start_time: Option<Text<'a>>,
    pub conditions: Option<Vec<Condition<'a>>>,
    pub container_statuses: Option<Vec<ContainerStatus<'a>>>,
}

impl PodStatus<'_> {
    pub(in super::super) fn condition(&self, name: &str) -> Option<&Condition<'_>> {
        self.conditions.iter().flatten().find(|condition| condition.is(name))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct ContainerStatus<'a> {
    #[serde(borrow)]
    pub name: Option<Text<'a>>,
    pub state: Option<ContainerState<'a>>,
    pub last_state: Option<ContainerState<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct ContainerState<'a> {
    #[serde(borrow)]
    pub running: Option<Running<'a>>,
    pub terminated: Option<Terminated<'a>>,
    pub waiting: Option<Waiting<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct Running<'a> {
    #[serde(borrow)]
    pub started_at: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct Terminated<'a> {
    #[serde(borrow)]
    pub started_at: Option<Text<'a>>,
    pub finished_at: Option<Text<'a>>,
    pub reason: Option<Text<'a>>,
    pub exit_code: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Waiting<'a> {
    #[serde(borrow)]
    pub reason: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(in super::super) struct LeaseSpec<'a> {
    #[serde(borrow)]
    pub holder_identity: Option<Text<'a>>,
    pub renew_time: Option<Text<'a>>,
}

/// The bounds that a time stamp leaves: the second, unless it says more. Nothing if it is none, or the time of Go that stands for none.
pub(in super::super) fn stamp(text: &str) -> Option<Bounds> {
    let at = Instant::parse(text)?;
    Some(if text.contains('.') { Bounds::at(at) } else { Bounds::second(at) })
}

/// [`stamp`] of a field that may be absent.
pub(in super::super) fn stamp_of(text: Option<&Text<'_>>) -> Option<Bounds> {
    stamp(&text?.0)
}

/// Who asked for a pod's disruption, as the reason of its condition `DisruptionTarget` says.
pub(in super::super) fn disruption(reason: &str) -> DeletedBy {
    match reason {
        "DeletionByTaintManager" => DeletedBy::TaintManager,
        "EvictionByEvictionAPI" => DeletedBy::Eviction,
        "PreemptionByScheduler" | "PreemptionByKubeScheduler" => DeletedBy::Preemption,
        "DeletionByPodGC" => DeletedBy::PodGC,
        "TerminationByKubelet" => DeletedBy::Kubelet,
        _ => DeletedBy::Unknown,
    }
}

/// Whether the kubelet itself gives a pod such a reason for its end.
pub(in super::super) fn is_by_kubelet(reason: &str) -> bool {
    matches!(reason, "Evicted" | "NodeShutdown" | "Terminated" | "Shutdown" | "Preempting")
}
