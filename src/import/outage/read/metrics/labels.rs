//! Which metric and which object a series is about.

use crate::arena::{StableHasher, Symbol};

/// Bytes of a label's value that are read; no name of the API is longer.
const VALUE_MAX: usize = 1024;

/// Metrics of kube-state-metrics that tell when something came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Metric {
    NodeCondition,
    NodeTaint,
    NodeUnschedulable,
    NodeInfo,
    NodeCreated,
    PodInfo,
    PodOwner,
    PodCreated,
    PodPhase,
    PodReady,
    PodReadyTime,
    PodScheduled,
    PodScheduledTime,
    PodReason,
    PodUnschedulable,
    PodDeletion,
    ContainerRestarts,
    ContainerReason,
    DeploymentReplicas,
    StatefulSetReplicas,
}

/// Labels that tell objects apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Node,
    Condition,
    Status,
    Key,
    Effect,
    Namespace,
    Pod,
    Uid,
    Phase,
    Reason,
    Container,
    OwnerKind,
    OwnerName,
    CreatedByKind,
    CreatedByName,
    Deployment,
    StatefulSet,
}

/// Labels of a key, at most.
pub(super) const IDS_MAX: usize = 6;

impl Label {
    const COUNT: usize = 17;

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "node" => Self::Node,
            "condition" => Self::Condition,
            "status" => Self::Status,
            "key" => Self::Key,
            "effect" => Self::Effect,
            "namespace" => Self::Namespace,
            "pod" => Self::Pod,
            "uid" => Self::Uid,
            "phase" => Self::Phase,
            "reason" => Self::Reason,
            "container" => Self::Container,
            "owner_kind" => Self::OwnerKind,
            "owner_name" => Self::OwnerName,
            "created_by_kind" => Self::CreatedByKind,
            "created_by_name" => Self::CreatedByName,
            "deployment" => Self::Deployment,
            "statefulset" => Self::StatefulSet,
            _ => return None,
        })
    }
}

impl Metric {
    const ALL: [(&'static str, Self); 21] = [
        ("kube_node_status_condition", Self::NodeCondition),
        ("kube_node_spec_taint", Self::NodeTaint),
        ("kube_node_spec_unschedulable", Self::NodeUnschedulable),
        ("kube_node_info", Self::NodeInfo),
        ("kube_node_created", Self::NodeCreated),
        ("kube_pod_info", Self::PodInfo),
        ("kube_pod_owner", Self::PodOwner),
        ("kube_pod_created", Self::PodCreated),
        ("kube_pod_status_phase", Self::PodPhase),
        ("kube_pod_status_ready", Self::PodReady),
        ("kube_pod_status_ready_time", Self::PodReadyTime),
        ("kube_pod_status_scheduled", Self::PodScheduled),
        ("kube_pod_status_scheduled_time", Self::PodScheduledTime),
        ("kube_pod_status_reason", Self::PodReason),
        ("kube_pod_status_unschedulable", Self::PodUnschedulable),
        ("kube_pod_deletion_timestamp", Self::PodDeletion),
        ("kube_pod_container_status_restarts_total", Self::ContainerRestarts),
        ("kube_pod_container_status_restarts", Self::ContainerRestarts),
        ("kube_pod_container_status_last_terminated_reason", Self::ContainerReason),
        ("kube_deployment_spec_replicas", Self::DeploymentReplicas),
        ("kube_statefulset_replicas", Self::StatefulSetReplicas),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, metric)| *metric)
    }

    /// The labels that tell one object, or one state of it, from another.
    pub(super) fn labels(self) -> &'static [Label] {
        use Label::{
            Condition, Container, CreatedByKind, CreatedByName, Deployment, Effect, Key, Namespace, Node, OwnerKind,
            OwnerName, Phase, Pod, Reason, StatefulSet, Status, Uid,
        };
        match self {
            Self::NodeCondition => &[Node, Condition, Status],
            Self::NodeTaint => &[Node, Key, Effect],
            Self::NodeUnschedulable | Self::NodeInfo | Self::NodeCreated => &[Node],
            Self::PodInfo => &[Namespace, Pod, Uid, Node, CreatedByKind, CreatedByName],
            Self::PodOwner => &[Namespace, Pod, Uid, OwnerKind, OwnerName],
            Self::PodPhase => &[Namespace, Pod, Uid, Phase],
            Self::PodReady | Self::PodScheduled => &[Namespace, Pod, Uid, Condition],
            Self::PodReason => &[Namespace, Pod, Uid, Reason],
            Self::PodCreated
            | Self::PodReadyTime
            | Self::PodScheduledTime
            | Self::PodUnschedulable
            | Self::PodDeletion => &[Namespace, Pod, Uid],
            Self::ContainerRestarts => &[Namespace, Pod, Uid, Container],
            Self::ContainerReason => &[Namespace, Pod, Uid, Container, Reason],
            Self::DeploymentReplicas => &[Namespace, Deployment],
            Self::StatefulSetReplicas => &[Namespace, StatefulSet],
        }
    }

    /// Whether its series are there only while something is the case: of what is healthy there may be none at all.
    pub(super) fn is_sparse(self) -> bool {
        matches!(
            self,
            Self::NodeTaint | Self::PodUnschedulable | Self::PodDeletion | Self::PodReason | Self::ContainerReason
        )
    }

    pub(super) fn is_of_node(self) -> bool {
        self <= Self::NodeCreated
    }

    pub(super) fn is_of_pod(self) -> bool {
        Self::PodInfo <= self && self <= Self::ContainerReason
    }

    /// The metric of series whose name an operation has taken away, by the labels that only it has.
    fn of_labels(has: impl Fn(Label) -> bool) -> Option<Self> {
        use Label::{Condition, Effect, Key, Node, Phase, Pod, Status};
        if has(Node) && has(Condition) && has(Status) {
            Some(Self::NodeCondition)
        } else if has(Node) && has(Key) && has(Effect) {
            Some(Self::NodeTaint)
        } else if has(Pod) && has(Phase) {
            Some(Self::PodPhase)
        } else {
            None
        }
    }
}

/// What series are told apart by, whoever scraped them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub metric: Metric,
    pub ids: [Symbol; IDS_MAX],
}

impl Key {
    pub(super) fn id(&self, label: Label) -> Symbol {
        let at = self.metric.labels().iter().position(|known| *known == label);
        at.map_or_else(Symbol::empty, |at| self.ids[at])
    }
}

/// The labels of one series while they are read; one for all, as there are many.
#[derive(Debug, Default)]
pub(super) struct Labels {
    name: String,
    values: [String; Label::COUNT],
    /// Which values come from `exported_…`: with them, the plain ones are those of the scraped pod.
    exported: u32,
    is_owner_no_controller: bool,
    pub cluster: String,
    /// A hash of the labels that say who scraped what, in any order.
    pub source: u64,
    pub count: usize,
}

impl Labels {
    pub(super) fn clear(&mut self) {
        self.name.clear();
        self.values.iter_mut().for_each(String::clear);
        self.cluster.clear();
        (self.exported, self.is_owner_no_controller, self.source, self.count) = (0, false, 0, 0);
    }

    pub(super) fn set_name(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Takes a label.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.count += 1;
        if value.len() > VALUE_MAX {
            return;
        }
        match name {
            "__name__" => return self.set_name(value),
            "cluster" => value.clone_into(&mut self.cluster),
            "owner_is_controller" => self.is_owner_no_controller = value == "false",
            _ => {}
        }
        let (plain, is_exported) = name.strip_prefix("exported_").map_or((name, false), |plain| (plain, true));
        let Some(label) = Label::named(plain) else {
            // Of an object's own labels none says who scraped it.
            if matches!(
                name,
                "job"
                    | "instance"
                    | "prometheus"
                    | "prometheus_replica"
                    | "replica"
                    | "cluster"
                    | "service"
                    | "endpoint"
            ) {
                self.source = self.source.wrapping_add(hash_of(name, value));
            }
            return;
        };
        let bit = 1_u32 << label as usize;
        if is_exported {
            self.exported |= bit;
        } else if self.exported & bit != 0 {
            return;
        }
        value.clone_into(&mut self.values[label as usize]);
    }

    pub(super) fn name_of_node(&self) -> &str {
        self.value(Label::Node)
    }

    fn value(&self, label: Label) -> &str {
        &self.values[label as usize]
    }

    /// The key, if the series is one of those that are read.
    pub(super) fn key(&self) -> Option<Key> {
        let metric = if self.name.is_empty() {
            Metric::of_labels(|label| !self.value(label).is_empty())?
        } else {
            Metric::named(&self.name)?
        };
        let is_named = match metric {
            _ if metric.is_of_node() => !self.value(Label::Node).is_empty(),
            _ if metric.is_of_pod() => !self.value(Label::Pod).is_empty(),
            Metric::DeploymentReplicas => !self.value(Label::Deployment).is_empty(),
            _ => !self.value(Label::StatefulSet).is_empty(),
        };
        if !is_named || self.is_owner_no_controller {
            return None;
        }
        let mut ids = [Symbol::empty(); IDS_MAX];
        for (id, label) in ids.iter_mut().zip(metric.labels()) {
            *id = Symbol::new(self.value(*label));
        }
        Some(Key { metric, ids })
    }

    /// The key of a series that is named after a node alone, taken for whether the node is ready.
    pub(super) fn assumed(&self) -> Option<Key> {
        let node = self.value(Label::Node);
        let has_other = [Label::Pod, Label::Condition, Label::Key].iter().any(|label| !self.value(*label).is_empty());
        (self.name.is_empty() && !node.is_empty() && !has_other).then(|| ready_of(node))
    }
}

/// The key of whether a node is ready.
pub(super) fn ready_of(node: &str) -> Key {
    let mut ids = [Symbol::empty(); IDS_MAX];
    ids[..3].copy_from_slice(&[Symbol::new(node), Symbol::new("Ready"), Symbol::new("true")]);
    Key { metric: Metric::NodeCondition, ids }
}

fn hash_of(name: &str, value: &str) -> u64 {
    let mut hasher = StableHasher::default();
    for text in [name, value] {
        hasher.write(text.as_bytes());
        hasher.write(&[0xff]);
    }
    hasher.finish()
}
