//! `causes.csv`: the causal chain that `explain` walks.

use std::fmt::{Debug, Write};

use super::waiting::Waiting;
use crate::component::{Record, TypedCommand};
use crate::state::{AttachmentPhase, CauseId, Changed, NodeDelta, ObjectDelta, Pod, PodDelta, Store, WorkloadId};
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

/// How rows of actions of the timeline begin.
const NAMED: &str = "scenario: ";

#[derive(Debug)]
pub(super) struct Causes {
    keeps: bool,
    last: u32,
    rows: Vec<CauseRow>,
}

impl Causes {
    pub(super) fn new(keeps: bool) -> Self {
        Self { keeps, last: 0, rows: Vec::new() }
    }

    fn push(&mut self, at: SimTime, cause: CauseId, what: String) -> CauseId {
        self.last += 1;
        let effect = CauseId(self.last);
        self.rows.push(CauseRow { effect, at, what, cause });
        effect
    }

    pub(super) fn root(&mut self, at: SimTime, component: &'static str, what: &dyn Debug) -> CauseId {
        if !self.keeps {
            return CauseId::NONE;
        }
        let what = format!("{component}: {what:?}");
        self.push(at, CauseId::NONE, what)
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
        match describe(what, store) {
            Some(text) => self.push(at, parent, text),
            None => parent,
        }
    }

    /// Names the action behind a root, once its record says what it was.
    pub(super) fn recorded(&mut self, _at: SimTime, cause: CauseId, record: &Record) {
        if let Record::Event { component: "scenario", event } = record
            && let Some(row) = self.rows.get_mut((cause.0 as usize).wrapping_sub(1))
            && row.cause == CauseId::NONE
        {
            let began = format!("scenario: {} begins", event.message);
            row.what = match event.reason {
                "FaultBegan" => began,
                // It was over at once.
                "FaultEnded" if row.what == began => format!("scenario: {}", event.message),
                "FaultEnded" => format!("scenario: {} ends", event.message),
                _ => format!("scenario: {}", event.message),
            };
        }
    }

    /// The action of the timeline, or the fault, from which something follows, and when that was: `ImagePullFailure of 1m0s`.
    pub(super) fn action_behind(&self, effect: CauseId) -> Option<String> {
        let row = |id: CauseId| self.rows.get((id.0 as usize).checked_sub(1)?);
        let chain = std::iter::successors(row(effect), |effect| row(effect.cause));
        let root = chain.last().filter(|root| root.cause == CauseId::NONE)?;
        let what = root.what.strip_prefix(NAMED)?;
        // Of a fault, its kind is enough: events.csv says what it hit.
        let what = if what.starts_with("kubectl ") { what } else { what.split(' ').next().unwrap_or(what) };
        Some(format!("{what} of {}", root.at.moment()))
    }

    /// The rows. What began of itself, was named by nothing and led to nothing, as the typing of a line that has to wait for
    /// another one, explains nothing.
    pub(super) fn finish(mut self) -> Vec<CauseRow> {
        let mut leads = vec![false; self.rows.len() + 1];
        for row in &self.rows {
            leads[row.cause.0 as usize] = true;
        }
        let explains =
            |row: &CauseRow| row.cause != CauseId::NONE || leads[row.effect.0 as usize] || is_named(&row.what);
        self.rows.retain(explains);
        self.rows
    }
}

/// Whether a root is an action of the timeline, as its record tells.
fn is_named(what: &str) -> bool {
    what.starts_with(NAMED)
}

fn pod_name(store: &Store, id: crate::state::PodId) -> String {
    store.pod(id).map_or_else(|| "pod (gone)".to_owned(), |p| format!("pod/{}/{}", p.namespace, p.name))
}

fn workload_name(store: &Store, id: WorkloadId) -> String {
    let kind = store.workload_kind(id).to_ascii_lowercase();
    store.workload_meta(id).map_or_else(|| format!("{kind} (gone)"), |m| format!("{kind}/{}/{}", m.namespace, m.name))
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
                    Some(why) => write!(text, " PodScheduled=False ({}): {}", why.reason.as_str(), why.message).ok()?,
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
        Changed::NodeAdded(id) => format!("node/{} registered", store.node_name(*id)),
        Changed::NodeRemoved { node, .. } => format!("node/{} deleted", store.node_name(*node)),
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
        Changed::WorkloadAdded(id) => format!("{} created", workload_name(store, *id)),
        Changed::WorkloadUpdated(id, delta) if delta.touches(ObjectDelta::SPEC) => {
            format!("{} changed", workload_name(store, *id))
        }
        Changed::WorkloadUpdated(id, delta) if delta.touches(ObjectDelta::DELETION) => {
            format!("{} marked for deletion", workload_name(store, *id))
        }
        Changed::WorkloadRemoved(id) => format!("{} deleted", id.kind().to_ascii_lowercase()),
        Changed::BudgetAdded(id) | Changed::BudgetUpdated(id, _) => {
            let budget = store.budgets.get(*id)?;
            format!(
                "poddisruptionbudget/{}/{} allows {}",
                budget.meta.namespace, budget.meta.name, budget.status.disruptions_allowed
            )
        }
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
        _ => return None,
    })
}
