//! `causes.csv`: the causal chain that `explain` walks.

mod endpoints;
mod words;

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::observer::Keeps;
use super::rollouts::{essence, is_of_claim, root};
use super::table::{Column, Row, Table};
use crate::arena::Symbol;
use crate::component::{
    EventDraft, InvolvedKind, ObjectRef, Record, SCENARIO, TypedCommand, name_of_pod, pod_name, reason, workload_name,
};
use crate::model::ObjectKind;
use crate::state::{
    CauseId, Changed, NamespaceId, NodeId, PersistentVolumeId, PodDisruptionBudget, PodDisruptionBudgetId, PodId,
    ServiceId, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};

use endpoints::Endpoints;
use words::{Said, describe, not_scheduled};

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

/// Of what nature a row is, where that decides what follows from what.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Nature {
    /// Nothing below.
    Plain,
    /// A command line of the timeline, as its record tells.
    Line,
    /// Another action of the timeline, or a fault, likewise.
    Action,
    /// Something that happened without a change of any object, such as the end of a container.
    Own,
    /// A pod that its controller replaces as it is.
    Loss,
    /// A change of a node.
    Node(NodeId),
    /// What cluster-autoscaler decides at one of its looks.
    Decision,
}

impl Nature {
    /// Whether the scenario says it.
    fn is_of_scenario(self) -> bool {
        matches!(self, Self::Line | Self::Action)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    keeps: bool,
    last: u32,
    rows: Vec<CauseRow>,
    /// Of each row.
    natures: Vec<Nature>,
    /// What objects are called that are to be named when they are gone.
    names: FxHashMap<Named, String>,
    /// Whose last creation was refused: what each is called, the user's own workload last, and why.
    refused: FxHashMap<ObjectRef, (Vec<String>, String)>,
    /// The last change to a quota, by namespace.
    quotas: FxHashMap<Symbol, CauseId>,
    /// The last change of each node.
    nodes: FxHashMap<NodeId, CauseId>,
    /// Pods whose eviction was refused, and the last time that it was.
    kept: FxHashMap<PodId, KeptPod>,
    endpoints: Endpoints,
}

/// A pod whose eviction was refused again and again: all that is one row.
#[derive(Clone, Debug)]
struct KeptPod {
    row: CauseId,
    budget: String,
    times: u32,
    last_at: SimTime,
}

/// Who wants to evict a pod tries again sooner than this, or has given up.
const TRIED_AGAIN_WITHIN: SimDuration = SimDuration::from_secs(120);

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
            | Changed::ReferencesChanged
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
        self.endpoints.begin(store);
        let others = store.budgets.iter().map(|(id, _)| Named::Budget(id));
        let others = others.chain(store.services.iter().map(|(id, _)| Named::Service(id)));
        let others = others.chain(store.volumes.volumes().map(|(id, _)| Named::Volume(id)));
        let others = others.chain(store.namespaces.iter().map(|(id, _)| Named::Namespace(id)));
        let all: Vec<Named> = store.workload_ids().map(Named::Workload).chain(others).collect();
        self.names.extend(all.into_iter().filter_map(|named| Some((named, named.name(store)?))));
    }

    fn push(&mut self, at: SimTime, cause: CauseId, what: String) -> CauseId {
        self.push_of(at, cause, Nature::Plain, what)
    }

    fn push_of(&mut self, at: SimTime, cause: CauseId, nature: Nature, what: String) -> CauseId {
        self.last += 1;
        let effect = CauseId(self.last);
        self.rows.push(CauseRow { effect, at, what, cause });
        self.natures.push(nature);
        effect
    }

    pub(super) fn root(&mut self, at: SimTime, component: &'static str, what: impl FnOnce() -> String) -> CauseId {
        if !self.keeps {
            return CauseId::NONE;
        }
        let what = format!("{component}: {}", what());
        let nature = if component == SCENARIO { Nature::Action } else { Nature::Plain };
        self.push_of(at, CauseId::NONE, nature, what)
    }

    /// Something happens to an object that no change says. What it follows from is what the last such thing followed from, if that is what
    /// led here: each restart of a container ends by itself. A timer that a component set of its own says no more than that.
    pub(super) fn happens(&mut self, at: SimTime, parent: CauseId, what: impl FnOnce() -> String) -> CauseId {
        if !self.keeps {
            return CauseId::NONE;
        }
        let parent = match self.row(parent) {
            Some((row, Nature::Own)) => row.cause,
            Some((row, nature)) if row.cause == CauseId::NONE && !nature.is_of_scenario() => CauseId::NONE,
            _ => parent,
        };
        self.push_of(at, parent, Nature::Own, what())
    }

    fn row(&self, id: CauseId) -> Option<(&CauseRow, Nature)> {
        let place = (id.0 as usize).checked_sub(1)?;
        Some((self.rows.get(place)?, self.natures[place]))
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
                let effect = self.push(at, parent, format!("{name} created"));
                self.endpoints.told(what, effect, store);
                return effect;
            }
        }
        let effect = match describe(what, store) {
            Some(Said { nature, text }) => {
                let parent = match what {
                    Changed::EndpointsChanged(service) => self.endpoints.written(*service, store).unwrap_or(parent),
                    _ => self.node_history(what, parent),
                };
                self.push_of(at, parent, nature, text)
            }
            None => parent,
        };
        self.endpoints.told(what, effect, store);
        if let Some((_, Nature::Node(node))) = self.row(effect) {
            self.nodes.insert(node, effect);
        }
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

    /// What the deletion of a node follows from. A pass over all nodes is led to by a change of one of them: the others go for what had
    /// befallen themselves.
    fn node_history(&self, what: &Changed, parent: CauseId) -> CauseId {
        match (what, self.row(parent)) {
            (Changed::NodeRemoved { node, .. }, Some((_, Nature::Node(other)))) if other != *node => {
                self.nodes.get(node).copied().unwrap_or(parent)
            }
            _ => parent,
        }
    }

    /// The API server refuses to evict a pod, for a budget's sake.
    pub(super) fn refused(&mut self, at: SimTime, cause: CauseId, pod: PodId, store: &Store) {
        if !self.keeps {
            return;
        }
        let Some(object) = store.pod(pod) else { return };
        let selects = |budget: &PodDisruptionBudget| {
            budget.meta.namespace == object.namespace
                && budget.spec.selector.as_ref().is_some_and(|selector| selector.matches(&object.labels))
        };
        let Some((_, budget)) = store.budgets.iter().find(|(_, budget)| selects(budget)) else { return };
        let budget = format!("poddisruptionbudget/{}/{}", budget.meta.namespace, budget.meta.name);
        let name = name_of_pod(object);
        if let Some(kept) = self.kept.get_mut(&pod)
            && kept.budget == budget
            && at.saturating_since(kept.last_at) <= TRIED_AGAIN_WITHIN
        {
            kept.times += 1;
            kept.last_at = at;
            let times = kept.times;
            let text = format!("{name} eviction refused {times} times, the last at {}, by {budget}", at.moment());
            if let Some(row) = self.rows.get_mut((kept.row.0 as usize).wrapping_sub(1)) {
                row.what = text;
            }
            return;
        }
        let row = self.push(at, cause, format!("{name} eviction refused by {budget}"));
        self.kept.insert(pod, KeptPod { row, budget, times: 1, last_at: at });
    }

    /// Tells, once, that a workload is refused what it wants, and that it is not any longer; then it follows from the last change
    /// to a quota, if there was one.
    fn creation(&mut self, at: SimTime, cause: CauseId, event: &EventDraft, store: &Store) {
        let about = &event.about;
        if event.reason == reason::SUCCESSFUL_CREATE {
            if is_of_claim(&event.message) {
                return;
            }
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
        let place = (cause.0 as usize).wrapping_sub(1);
        if let Record::Event { component, event } = record
            && matches!(event.about.kind, InvolvedKind::ConfigMap | InvolvedKind::NodePool)
            && let Some(row) = self.rows.get_mut(place)
            && row.cause == CauseId::NONE
            && self.natures[place] == Nature::Plain
        {
            // The first thing that it decides at a look names the look.
            row.what = format!("{component}: {}", event.message);
            self.natures[place] = Nature::Decision;
        }
        if let Record::Event { component: SCENARIO, event } = record
            && let Some(row) = self.rows.get_mut(place)
            && row.cause == CauseId::NONE
        {
            self.natures[place] = if event.reason == reason::KUBECTL { Nature::Line } else { Nature::Action };
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
        let chain = std::iter::successors(self.row(effect), |(effect, _)| self.row(effect.cause));
        let mut ended_by_itself = false;
        let mut root = None;
        for (row, nature) in chain {
            ended_by_itself |= nature == Nature::Own;
            if ended_by_itself && nature == Nature::Loss {
                return None;
            }
            root = Some((row, nature));
        }
        let (root, nature) = root.filter(|(root, _)| root.cause == CauseId::NONE)?;
        let what = root.what.split_once(": ").map_or(root.what.as_str(), |(_, what)| what);
        let what = match nature {
            Nature::Line => what,
            // Of a fault, its kind is enough: events.csv says what it hit.
            Nature::Action if !ended_by_itself => what.split(' ').next().unwrap_or(what),
            Nature::Action | Nature::Plain | Nature::Own | Nature::Loss | Nature::Node(_) | Nature::Decision => {
                return None;
            }
        };
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
        let mut natures = std::mem::take(&mut self.natures).into_iter();
        let explains = |row: &CauseRow| {
            let nature = natures.next().unwrap_or(Nature::Plain);
            let follows = row.cause != CauseId::NONE && nature != Nature::Own;
            follows || leads[row.effect.0 as usize] || nature.is_of_scenario()
        };
        self.rows.retain(explains);
        std::mem::take(&mut self.rows)
    }
}
