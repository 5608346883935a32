//! `causes.csv`: the causal chain that `explain` walks.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::observer::Keeps;
use super::rollouts::{essence, root};
use super::table::{Column, Row, Table};
use super::waiting::Waiting;
use crate::arena::Symbol;
use crate::component::{
    EventDraft, InvolvedKind, ObjectRef, Record, SCENARIO, TypedCommand, node_name, pod_name, reason, workload_name,
};
use crate::model::ObjectKind;
use crate::state::{
    AttachmentPhase, CauseId, Changed, NamespaceId, NodeDelta, NotScheduled, ObjectDelta, PersistentVolumeId, Pod,
    PodDelta, PodDisruptionBudgetId, ServiceId, Store, WorkloadId,
};
use crate::units::SimTime;

/// A row of `causes.csv`.
#[derive(Clone, Debug)]
pub struct CauseRow {
    /// The effect.
    pub effect: CauseId,
    /// When.
    pub at: SimTime,
    /// What happened.
    pub what: String,
    /// What it follows from; none for a root.
    pub cause: CauseId,
}

impl Row for CauseRow {
    const TABLE: Table<Self> = Table {
        file: "causes.csv",
        holds: "a row for each thing that happened, with what it follows from: what `kubesquall explain` walks",
        columns: &[
            Column::number("effect_id", "", "number of the row; later ones are larger", |row| i64::from(row.effect.0)),
            Column::time("time_s", "when", |row| row.at),
            Column::text("what", "what happened, and to which object", |row| &row.what),
            Column::maybe_number(
                "cause_id",
                "",
                "the `effect_id` that it follows from; empty for what began of itself",
                |row| (row.cause != CauseId::NONE).then_some(i64::from(row.cause.0)),
            ),
        ],
    };
}

/// How rows of actions of the timeline begin.
const NAMED: &str = "scenario: ";

#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    keeps: bool,
    last: u32,
    rows: Vec<CauseRow>,
    /// Rows of what happened without a change of any object, such as the end of a container.
    own: BTreeSet<CauseId>,
    /// What objects are called that are to be named when they are gone.
    names: FxHashMap<Named, String>,
    /// Whose last creation was refused: what each is called, the user's own workload last, and why.
    refused: FxHashMap<ObjectRef, (Vec<String>, String)>,
    /// The last change to a quota, by namespace.
    quotas: FxHashMap<Symbol, CauseId>,
}

/// An object whose removal leaves nothing but its id.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Named {
    Workload(WorkloadId),
    Budget(PodDisruptionBudgetId),
    Service(ServiceId),
    Volume(PersistentVolumeId),
    Namespace(NamespaceId),
}

impl Named {
    fn of(what: &Changed) -> Option<Self> {
        Some(match what {
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) | Changed::WorkloadRemoved(id) => {
                Self::Workload(*id)
            }
            Changed::BudgetAdded(id) | Changed::BudgetUpdated(id, _) | Changed::BudgetRemoved(id) => Self::Budget(*id),
            Changed::ServiceChanged(id) | Changed::ServiceRemoved(id) => Self::Service(*id),
            Changed::VolumeChanged(id) | Changed::VolumeRemoved(id) => Self::Volume(*id),
            Changed::NamespaceChanged(id) | Changed::NamespaceRemoved(id) => Self::Namespace(*id),
            Changed::PodAdded(_)
            | Changed::PodUpdated { .. }
            | Changed::PodRemoved { .. }
            | Changed::NodeAdded(_)
            | Changed::NodeUpdated { .. }
            | Changed::NodeRemoved { .. }
            | Changed::HeartbeatChanged(_)
            | Changed::EndpointsChanged(_)
            | Changed::AutoscalerChanged(_)
            | Changed::AutoscalerRemoved(_)
            | Changed::QuotaChanged(_)
            | Changed::ClaimChanged(_)
            | Changed::ClaimRemoved(_)
            | Changed::StorageChanged
            | Changed::AttachmentChanged { .. } => return None,
        })
    }

    fn is_removal(what: &Changed) -> bool {
        matches!(
            what,
            Changed::WorkloadRemoved(_)
                | Changed::BudgetRemoved(_)
                | Changed::ServiceRemoved(_)
                | Changed::VolumeRemoved(_)
                | Changed::NamespaceRemoved(_)
        )
    }

    /// Its name, while it is there.
    fn name(self, store: &Store) -> Option<String> {
        Some(match self {
            Self::Workload(id) => {
                store.workload_meta(id)?;
                workload_name(store, id)
            }
            Self::Budget(id) => {
                let meta = &store.budgets.get(id)?.meta;
                format!("poddisruptionbudget/{}/{}", meta.namespace, meta.name)
            }
            Self::Service(id) => {
                let meta = &store.services.get(id)?.meta;
                format!("service/{}/{}", meta.namespace, meta.name)
            }
            Self::Volume(id) => format!("persistentvolume/{}", store.volumes.volume(id)?.meta.name),
            Self::Namespace(id) => format!("namespace/{}", store.namespaces.get(id)?.name),
        })
    }
}

impl Causes {
    pub(super) fn new(keeps: bool) -> Self {
        Self { keeps, ..Self::default() }
    }

    /// What is there at t=0.
    pub(super) fn begin(&mut self, store: &Store) {
        if !self.keeps {
            return;
        }
        let others = store.budgets.iter().map(|(id, _)| Named::Budget(id));
        let others = others.chain(store.services.iter().map(|(id, _)| Named::Service(id)));
        let others = others.chain(store.volumes.volumes().map(|(id, _)| Named::Volume(id)));
        let others = others.chain(store.namespaces.iter().map(|(id, _)| Named::Namespace(id)));
        let all: Vec<Named> = store.workload_ids().map(Named::Workload).chain(others).collect();
        self.names.extend(all.into_iter().filter_map(|named| Some((named, named.name(store)?))));
    }

    fn push(&mut self, at: SimTime, cause: CauseId, what: String) -> CauseId {
        self.last += 1;
        let effect = CauseId(self.last);
        self.rows.push(CauseRow { effect, at, what, cause });
        effect
    }

    pub(super) fn root(&mut self, at: SimTime, component: &'static str, what: impl FnOnce() -> String) -> CauseId {
        if !self.keeps {
            return CauseId::NONE;
        }
        let what = format!("{component}: {}", what());
        self.push(at, CauseId::NONE, what)
    }

    /// Something happens to an object that no change says. What it follows from is what the last such thing followed from, if that is what
    /// led here: each restart of a container ends by itself. A timer that a component set of its own says no more than that.
    pub(super) fn happens(&mut self, at: SimTime, parent: CauseId, what: impl FnOnce() -> String) -> CauseId {
        if !self.keeps {
            return CauseId::NONE;
        }
        let before = self.row(parent);
        let is_own_clock = before.is_some_and(|row| row.cause == CauseId::NONE && !is_named(&row.what));
        let parent = match before {
            Some(row) if is_own_clock || self.own.contains(&parent) => row.cause,
            _ => parent,
        };
        let effect = self.push(at, parent, what());
        self.own.insert(effect);
        effect
    }

    fn row(&self, id: CauseId) -> Option<&CauseRow> {
        self.rows.get((id.0 as usize).checked_sub(1)?)
    }

    pub(super) fn typed(&mut self, at: SimTime, parent: CauseId, line: &TypedCommand) -> CauseId {
        if !self.keeps {
            return parent;
        }
        self.push(at, parent, format!("{}: kubectl {}", line.by, line.line))
    }

    pub(super) fn next(&mut self, at: SimTime, parent: CauseId, what: &Changed, store: &Store) -> CauseId {
        if !self.keeps {
            return CauseId::NONE;
        }
        if let Some(named) = Named::of(what) {
            if Named::is_removal(what) {
                return match self.names.remove(&named) {
                    Some(name) => self.push(at, parent, format!("{name} deleted")),
                    None => parent,
                };
            }
            if let Entry::Vacant(place) = self.names.entry(named) {
                let Some(name) = named.name(store) else { return parent };
                place.insert(name.clone());
                return self.push(at, parent, format!("{name} created"));
            }
        }
        let effect = match describe(what, store) {
            Some(text) => self.push(at, parent, text),
            None => parent,
        };
        match what {
            Changed::QuotaChanged((namespace, _)) => {
                self.quotas.insert(*namespace, effect);
            }
            // A pod that comes with what keeps it from the scheduler: no later change says so.
            Changed::PodAdded(id) => {
                if let Some(why) = store.pod(*id).and_then(|pod| pod.not_scheduled.as_ref()) {
                    self.push(at, effect, format!("{} {}", pod_name(store, *id), not_scheduled(why)));
                }
            }
            _ => {}
        }
        effect
    }

    /// Tells, once, that a workload is refused what it wants, and that it is not any longer; then it follows from the last change
    /// to a quota, if there was one.
    fn creation(&mut self, at: SimTime, cause: CauseId, event: &EventDraft, store: &Store) {
        let about = &event.about;
        if event.reason == reason::SUCCESSFUL_CREATE {
            let Some((names, _)) = self.refused.remove(about) else { return };
            let quota = self.quotas.get(&about.namespace).copied();
            for name in names {
                self.push(at, quota.unwrap_or(cause), format!("{name} is no longer refused: {}", event.message));
            }
            return;
        }
        let message = essence(&event.message);
        let why = message.split_once("\" is ").map_or(message, |(_, why)| why);
        let why = why.split(", requested:").next().unwrap_or(why);
        if self.refused.get(about).is_some_and(|(_, known)| known == why) {
            return;
        }
        let Some(kind) = about.kind.object() else { return };
        let Some(id) = store.find_workload(kind, about.namespace, Symbol::new(&about.name)) else { return };
        let mut names = vec![workload_name(store, id)];
        if root(id, store) != id {
            names.push(workload_name(store, root(id, store)));
        }
        for name in &names {
            self.push(at, cause, format!("{name} {}: {message}", event.reason));
        }
        // What changed before that did not help.
        self.quotas.remove(&about.namespace);
        self.refused.insert(about.clone(), (names, why.to_owned()));
    }

    /// Names the action behind a root, once its record says what it was; tells what autoscalers decide, which no change says.
    pub(super) fn recorded(&mut self, at: SimTime, cause: CauseId, record: &Record, store: &Store) {
        if let Record::Event { event, .. } = record
            && self.keeps
            && matches!(
                event.reason,
                reason::FAILED_CREATE | reason::REPLICA_SET_CREATE_ERROR | reason::SUCCESSFUL_CREATE
            )
        {
            self.creation(at, cause, event, store);
        }
        if let Record::Event { event, .. } = record
            && self.keeps
            && event.about.kind == InvolvedKind::Object(ObjectKind::HorizontalPodAutoscaler)
        {
            let ObjectRef { namespace, name, .. } = &event.about;
            let what = format!("horizontalpodautoscaler/{namespace}/{name} {}: {}", event.reason, event.message);
            self.push(at, cause, what);
        }
        if let Record::Event { component: SCENARIO, event } = record
            && let Some(row) = self.rows.get_mut((cause.0 as usize).wrapping_sub(1))
            && row.cause == CauseId::NONE
        {
            let began = format!("scenario: {} begins", event.message);
            row.what = match event.reason {
                reason::FAULT_BEGAN => began,
                // It was over at once.
                reason::FAULT_ENDED if row.what == began => format!("scenario: {}", event.message),
                reason::FAULT_ENDED => format!("scenario: {} ends", event.message),
                _ => format!("scenario: {}", event.message),
            };
        }
    }

    /// The action of the timeline, or the fault, from which something follows, and when that was: `ImagePullFailure of 1m0s`. Neither a
    /// fault nor what made a controller replace a pod is to blame for containers that end by themselves wherever they run; a new template is.
    pub(super) fn action_behind(&self, effect: CauseId) -> Option<String> {
        let chain = std::iter::successors(self.row(effect), |effect| self.row(effect.cause));
        let mut ended_by_itself = false;
        let mut root = None;
        for row in chain {
            ended_by_itself |= self.own.contains(&row.effect);
            if ended_by_itself && is_loss(&row.what) {
                return None;
            }
            root = Some(row);
        }
        let root = root.filter(|root| root.cause == CauseId::NONE)?;
        let what = root.what.strip_prefix(NAMED)?;
        if ended_by_itself && !what.starts_with("kubectl ") {
            return None;
        }
        // Of a fault, its kind is enough: events.csv says what it hit.
        let what = if what.starts_with("kubectl ") { what } else { what.split(' ').next().unwrap_or(what) };
        Some(format!("{what} of {}", root.at.moment()))
    }
}

impl Keeps<CauseRow> for Causes {
    /// The rows. What began of itself, was named by nothing and led to nothing, as the typing of a line that has to wait for
    /// another one, explains nothing.
    fn take_rows(&mut self) -> Vec<CauseRow> {
        let mut leads = vec![false; self.rows.len() + 1];
        for row in &self.rows {
            leads[row.cause.0 as usize] = true;
        }
        // Nor does the end of a container of which nobody was told.
        let own = std::mem::take(&mut self.own);
        let explains = |row: &CauseRow| {
            let follows = row.cause != CauseId::NONE && !own.contains(&row.effect);
            follows || leads[row.effect.0 as usize] || is_named(&row.what)
        };
        self.rows.retain(explains);
        std::mem::take(&mut self.rows)
    }
}

/// Whether a root is an action of the timeline, as its record tells.
fn is_named(what: &str) -> bool {
    what.starts_with(NAMED)
}

/// The condition of a pod that has no node, and why.
fn not_scheduled(why: &NotScheduled) -> String {
    format!("PodScheduled=False ({}): {}", why.reason.as_str(), why.message)
}

/// Whether a row tells of a pod that its controller replaces as it is. What takes a pod away says so in its conditions first.
fn is_loss(what: &str) -> bool {
    let marked = what.split_once(" marked for deletion (");
    what.starts_with("pod/")
        && (what.ends_with(" gone")
            || what.ends_with(" conditions changed")
            || what.contains(" is Failed")
            || marked.is_some_and(|(_, by)| by != "RollingUpdate)"))
}

/// What the pod's containers wait for, if they do.
fn waits(text: &mut String, verb: &str, pod: &Pod) {
    if let Some(Waiting { reason, subject, .. }) = Waiting::of(pod, CauseId::NONE) {
        text.push_str(&format!("{verb}: {reason} ({subject})"));
    }
}

/// A change in words; none for those that explain nothing.
fn describe(what: &Changed, store: &Store) -> Option<String> {
    Some(match what {
        Changed::PodAdded(id) => format!("{} created", pod_name(store, *id)),
        Changed::PodUpdated { pod, delta, .. } => {
            let object = store.pod(*pod)?;
            let mut text = pod_name(store, *pod);
            if delta.touches(PodDelta::DELETION) {
                let cause = object.deletion.map_or("", |d| d.cause.as_str());
                write!(text, " marked for deletion ({cause})").ok()?;
            } else if delta.touches(PodDelta::NODE) {
                write!(text, " bound to {}", store.node_name(object.node?)).ok()?;
            } else if delta.touches(PodDelta::PHASE) {
                write!(text, " is {}", object.phase.as_str()).ok()?;
                if !object.reason.as_str().is_empty() {
                    write!(text, " ({})", object.reason).ok()?;
                }
                waits(&mut text, ", its containers wait", object);
            } else if delta.touches(PodDelta::CONTAINERS) && Waiting::of(object, CauseId::NONE).is_some() {
                waits(&mut text, " waits", object);
            } else if delta.touches(PodDelta::READY) {
                write!(text, " Ready={}", if object.is_ready() { "True" } else { "False" }).ok()?;
            } else if delta.touches(PodDelta::CONDITIONS) {
                match &object.not_scheduled {
                    Some(why) => write!(text, " {}", not_scheduled(why)).ok()?,
                    None => write!(text, " conditions changed").ok()?,
                }
            } else if delta.touches(PodDelta::NOMINATION) {
                write!(text, " nominated").ok()?;
            } else {
                return None;
            }
            text
        }
        Changed::PodRemoved { last, .. } => format!("pod/{}/{} gone", last.namespace, last.name),
        Changed::NodeAdded(id) => format!("{} registered", node_name(store, *id)),
        Changed::NodeRemoved { node, .. } => format!("{} deleted", node_name(store, *node)),
        Changed::NodeUpdated { node, delta, before } => {
            let object = store.node(*node)?;
            let mut text = format!("node/{}", store.node_name(*node));
            if delta.touches(NodeDelta::TAINTS) {
                for taint in object.taints.iter().filter(|t| before.taint(t.key, t.effect).is_none()) {
                    write!(text, " +{}:{}", taint.key, taint.effect).ok()?;
                }
                for taint in before.taints.iter().filter(|t| object.taint(t.key, t.effect).is_none()) {
                    write!(text, " -{}:{}", taint.key, taint.effect).ok()?;
                }
            } else if delta.touches(NodeDelta::CONDITIONS) {
                let ready = object.conditions.ready().map_or("absent", |s| s.as_str());
                write!(text, " conditions changed, Ready={ready}").ok()?;
            } else if delta.touches(NodeDelta::UNSCHEDULABLE) {
                write!(text, " {}", if object.unschedulable { "cordoned" } else { "uncordoned" }).ok()?;
            } else if delta.touches(NodeDelta::LABELS) {
                text.push_str(" relabeled");
            } else {
                return None;
            }
            text
        }
        Changed::WorkloadUpdated(id, delta) if delta.touches(ObjectDelta::SPEC) => {
            format!("{} changed", workload_name(store, *id))
        }
        Changed::WorkloadUpdated(id, delta) if delta.touches(ObjectDelta::DELETION) => {
            format!("{} marked for deletion", workload_name(store, *id))
        }
        Changed::BudgetAdded(id) | Changed::BudgetUpdated(id, _) => {
            let budget = store.budgets.get(*id)?;
            format!(
                "poddisruptionbudget/{}/{} allows {}",
                budget.meta.namespace, budget.meta.name, budget.status.disruptions_allowed
            )
        }
        other => return describe_other(other, store),
    })
}

/// The same, of objects other than pods, nodes, workloads and budgets.
fn describe_other(what: &Changed, store: &Store) -> Option<String> {
    Some(match what {
        Changed::EndpointsChanged(id) => {
            let service = store.services.get(*id)?;
            let ready =
                service.slices.values().flat_map(|slice| slice.iter()).filter(|endpoint| endpoint.ready).count();
            format!("service/{}/{} has {ready} ready endpoints", service.meta.namespace, service.meta.name)
        }
        Changed::AttachmentChanged { volume, node } => {
            let name = store.volumes.volume(*volume)?.meta.name;
            let how = match store.volumes.attachment(*volume, *node).phase {
                Some(AttachmentPhase::Attached) => "is attached to",
                Some(AttachmentPhase::Attaching) => "is being attached to",
                Some(AttachmentPhase::Detaching) => "is being detached from",
                None => "is not attached to",
            };
            format!("persistentvolume/{name} {how} {}", store.node_name(*node))
        }
        Changed::AutoscalerChanged((namespace, name)) => {
            let autoscaler = store.autoscalers.get(&(*namespace, *name))?;
            let min = autoscaler.spec.min_replicas.unwrap_or(1);
            format!("horizontalpodautoscaler/{namespace}/{name} wants {min} to {}", autoscaler.spec.max_replicas)
        }
        Changed::AutoscalerRemoved((namespace, name)) => format!("horizontalpodautoscaler/{namespace}/{name} deleted"),
        Changed::NamespaceChanged(id) => {
            let namespace = store.namespaces.get(*id)?;
            let how = if namespace.deleting_since.is_some() { "marked for deletion" } else { "changed" };
            format!("namespace/{} {how}", namespace.name)
        }
        Changed::QuotaChanged((namespace, name)) => format!("resourcequota/{namespace}/{name} changed"),
        Changed::ServiceChanged(id) => {
            let meta = &store.services.get(*id)?.meta;
            format!("service/{}/{} changed", meta.namespace, meta.name)
        }
        Changed::ClaimChanged(id) => {
            let claim = store.volumes.claim(*id)?;
            let how = if claim.volume.is_some() { "is bound" } else { "is not bound" };
            format!("persistentvolumeclaim/{}/{} {how}", claim.meta.namespace, claim.meta.name)
        }
        Changed::ClaimRemoved(claim) => {
            format!("persistentvolumeclaim/{}/{} deleted", claim.meta.namespace, claim.meta.name)
        }
        Changed::VolumeChanged(id) => {
            let volume = store.volumes.volume(*id)?;
            let how = match (volume.is_released, volume.claim) {
                (true, _) => "is released",
                (false, Some(_)) => "is bound",
                (false, None) => "is available",
            };
            format!("persistentvolume/{} {how}", volume.meta.name)
        }
        _ => return None,
    })
}
