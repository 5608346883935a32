//! The cluster at t=0, from one that was saved after the outage: what it changed is put back, as far as the evidence says how it was.

use std::collections::{BTreeMap, BTreeSet};

use super::timeline::Timeline;
use crate::arena::Symbol;
use crate::evidence::{Instant, PodName, What};
use crate::model::{
    ConditionStatus, ContainerState, ManifestObject, Node, NodeConditionType, Object, Pod, PodConditionType, PodPhase,
    Taint, TaintEffect,
};
use crate::units::{SimDuration, counted};

/// Names that a statement gives.
const NAMED_MAX: usize = 5;

/// Taints that follow from conditions, which the control plane sets and takes away.
const OF_CONDITIONS: [(&str, NodeConditionType); 6] = [
    ("node.kubernetes.io/unreachable", NodeConditionType::Ready),
    ("node.kubernetes.io/not-ready", NodeConditionType::Ready),
    ("node.kubernetes.io/memory-pressure", NodeConditionType::MemoryPressure),
    ("node.kubernetes.io/disk-pressure", NodeConditionType::DiskPressure),
    ("node.kubernetes.io/pid-pressure", NodeConditionType::PidPressure),
    ("node.kubernetes.io/network-unavailable", NodeConditionType::NetworkUnavailable),
];
/// What time stamps of objects are rounded down to.
const STAMP: SimDuration = SimDuration::from_secs(1);
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The cluster, and what was done to it.
#[derive(Debug, Default)]
pub(super) struct PutBack {
    pub(super) objects: Vec<ManifestObject>,
    /// What was put back, as sentences.
    pub(super) done: Vec<String>,
    /// What is not known, as sentences.
    pub(super) not_done: Vec<String>,
}

/// The objects as they were at t=0.
pub(super) fn put_back(objects: &[ManifestObject], timeline: &Timeline<'_>, t0: Instant) -> PutBack {
    let mut work = Work { timeline, t0, done: BTreeMap::new(), not_done: Vec::new() };
    let mut kept: Vec<ManifestObject> = Vec::with_capacity(objects.len());
    for object in objects {
        let mut object = object.clone();
        let is_kept = match &mut object.object {
            Object::Node(node) => work.node(node),
            Object::Pod(pod) => work.pod(pod),
            Object::ReplicaSet(set) if work.is_later(set.metadata.creation_timestamp) => {
                work.note("ReplicaSets that came later are not there", set.metadata.name.as_str());
                false
            }
            _ => true,
        };
        if is_kept {
            work.workload(&mut object.object);
            work.clamp(&mut object.object);
            kept.push(object);
        }
    }
    work.templates(&mut kept, objects);
    work.restore_pods(&mut kept, objects);
    let done = work.done.into_iter().map(|(what, names)| {
        let mut named: Vec<&str> = names.iter().take(NAMED_MAX).map(String::as_str).collect();
        if names.len() > NAMED_MAX {
            named.push("…");
        }
        format!("{what} ({}: {})", names.len(), named.join(", "))
    });
    PutBack { objects: kept, done: done.collect(), not_done: work.not_done }
}

struct Work<'t> {
    timeline: &'t Timeline<'t>,
    t0: Instant,
    /// What was done, and to what.
    done: BTreeMap<&'static str, Vec<String>>,
    not_done: Vec<String>,
}

impl Work<'_> {
    fn note(&mut self, what: &'static str, name: &str) {
        self.done.entry(what).or_default().push(name.to_owned());
    }

    fn is_later(&self, stamp: Option<Symbol>) -> bool {
        stamp.and_then(|stamp| Instant::parse(stamp.as_str())).is_some_and(|at| at > self.t0)
    }

    fn stamp(&self) -> Symbol {
        Symbol::from(crate::units::rfc3339_from_unix_nanos(self.t0.unix_nanos()))
    }

    /// Puts a node back; false if it was not there.
    fn node(&mut self, node: &mut Node) -> bool {
        let name = node.metadata.name;
        let is_new = self.is_later(node.metadata.creation_timestamp);
        if is_new && !self.was_node(name) {
            self.note("nodes that joined later are not there", name.as_str());
            return false;
        }
        self.conditions(node);
        self.cordon(node);
        self.taints(node);
        true
    }

    /// Whether a Node that was created later had been there before: one that was removed and registered again.
    fn was_node(&self, node: Symbol) -> bool {
        let first = self.timeline.of_node(node).find(|(_, seen)| !matches!(seen.what, What::CloudNotice { .. }));
        first.is_some_and(|(_, seen)| {
            !matches!(seen.what, What::NodePresent { is_present: true, .. }) && seen.when.latest < self.created(node)
        })
    }

    fn created(&self, node: Symbol) -> Instant {
        let known = self.timeline.inventory.nodes.get(&node).and_then(|known| known.created);
        known.unwrap_or(self.t0)
    }

    /// Conditions whose last change, or first change in the evidence, came after t=0.
    fn conditions(&mut self, node: &mut Node) {
        let name = node.metadata.name;
        let stamp = self.stamp();
        let first = self.timeline.turns(name).iter().find(|turn| turn.when.latest > self.t0).copied();
        for condition in &mut node.status.conditions {
            let is_ready = condition.condition_type == NodeConditionType::Ready;
            let healthy = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
            let has_changed = condition
                .last_transition_time
                .and_then(|at| Instant::parse(at.as_str()))
                .is_some_and(|at| at > self.t0);
            if condition.status != healthy && (has_changed || (is_ready && first.is_some())) {
                condition.status = healthy;
                condition.reason = Symbol::new(if is_ready { "KubeletReady" } else { "" });
                condition.message = Symbol::empty();
                self.done
                    .entry("conditions of nodes are as they are when all is well")
                    .or_default()
                    .push(format!("{name} {}", condition.condition_type.as_str()));
            } else if is_ready && condition.status == healthy && has_changed && first.is_none() {
                self.not_done.push(format!("node {name} changed after t=0 in a way that no record tells"));
            }
            condition.last_heartbeat_time = Some(stamp);
        }
        if first.is_some_and(|first| first.status == ConditionStatus::True) {
            self.not_done
                .push(format!("node {name} was not Ready at t=0 and came back later; it is Ready from the start"));
        }
    }

    fn cordon(&mut self, node: &mut Node) {
        let name = node.metadata.name;
        let first = self.timeline.first_of_node(name, self.t0, |what| matches!(what, What::NodeSchedulable { .. }));
        let Some((_, seen)) = first else { return };
        let What::NodeSchedulable { is_schedulable, .. } = seen.what else { return };
        // What it changed to, it was not before.
        if node.spec.unschedulable == is_schedulable {
            return;
        }
        node.spec.unschedulable = is_schedulable;
        node.spec.taints.retain(|taint| taint.key.as_str() != UNSCHEDULABLE);
        if is_schedulable {
            node.spec.taints.push(Taint::new(Symbol::new(UNSCHEDULABLE), Symbol::empty(), TaintEffect::NoSchedule));
            self.note("nodes that were uncordoned later are cordoned", name.as_str());
        } else {
            self.note("nodes that were cordoned later take pods", name.as_str());
        }
    }

    fn taints(&mut self, node: &mut Node) {
        let name = node.metadata.name;
        let conditions = node.status.conditions.clone();
        let unschedulable = node.spec.unschedulable;
        let holds = |of: NodeConditionType| {
            let healthy = if of == NodeConditionType::Ready { ConditionStatus::True } else { ConditionStatus::False };
            conditions.iter().any(|condition| condition.condition_type == of && condition.status != healthy)
        };
        let mut removed = Vec::new();
        let (timeline, t0) = (self.timeline, self.t0);
        let is_kept = |taint: &Taint| {
            if let Some((_, of)) = OF_CONDITIONS.iter().find(|(key, _)| *key == taint.key.as_str()) {
                return holds(*of);
            }
            if taint.key.as_str() == UNSCHEDULABLE {
                return unschedulable;
            }
            let added = taint.time_added.and_then(|at| Instant::parse(at.as_str()));
            let first = timeline.first_of_node(name, t0, |what| {
                matches!(what, What::NodeTaint { key, effect, .. } if *key == taint.key && effect.as_str() == taint.effect.to_string())
            });
            let came = first.is_some_and(|(_, seen)| matches!(seen.what, What::NodeTaint { is_present: true, .. }));
            !came && added.is_none_or(|added| added <= t0)
        };
        node.spec.taints.retain(|taint| {
            let keep = is_kept(taint);
            if !keep {
                removed.push(format!("{name} {taint}"));
            }
            keep
        });
        if !removed.is_empty() {
            self.done.entry("taints that came later are not there").or_default().extend(removed);
        }
        self.lost_taints(node);
    }

    /// Taints that the evidence saw going, and that nobody had seen coming.
    fn lost_taints(&mut self, node: &mut Node) {
        let name = node.metadata.name;
        let mut met: BTreeSet<(Symbol, Symbol)> = BTreeSet::new();
        for (_, seen) in self.timeline.of_node(name).filter(|(_, seen)| seen.when.latest > self.t0) {
            let What::NodeTaint { key, effect, is_present, .. } = &seen.what else { continue };
            let is_first = met.insert((*key, *effect));
            let is_of_condition =
                OF_CONDITIONS.iter().any(|(of, _)| *of == key.as_str()) || key.as_str() == UNSCHEDULABLE;
            if !is_first || *is_present || is_of_condition {
                continue;
            }
            let Some(effect) = <TaintEffect as crate::model::ApiEnum>::parse(effect.as_str()) else { continue };
            let taint = Taint::new(*key, Symbol::empty(), effect);
            if !node.spec.taints.iter().any(|known| known.is_same(&taint)) {
                self.done
                    .entry("taints that went later are there, without values")
                    .or_default()
                    .push(format!("{name} {taint}"));
                node.spec.taints.push(taint);
            }
        }
    }

    /// Puts a pod back; false if it was not there.
    fn pod(&mut self, pod: &mut Pod) -> bool {
        let name = PodName { namespace: pod.metadata.namespace, name: pod.metadata.name };
        let full = format!("{}/{}", name.namespace, name.name);
        if self.is_later(pod.metadata.creation_timestamp) {
            self.note("pods that were created later are not there", &full);
            return false;
        }
        let grace =
            SimDuration::from_secs(pod.metadata.deletion_grace_period_seconds.unwrap_or(0).max(0).unsigned_abs());
        let due = pod.metadata.deletion_timestamp.and_then(|at| Instant::parse(at.as_str()));
        if due.is_some_and(|due| due.earlier(grace) > self.t0) {
            pod.metadata.deletion_timestamp = None;
            pod.metadata.deletion_grace_period_seconds = None;
            pod.status.conditions.retain(|condition| condition.condition_type != PodConditionType::DisruptionTarget);
            self.note("pods that were deleted later are not being deleted", &full);
        }
        let finished =
            pod.status.container_statuses.iter().filter_map(|status| status.state.terminated.as_ref()?.finished_at);
        let is_over_later = finished.filter_map(|at| Instant::parse(at.as_str())).max().is_some_and(|at| at > self.t0)
            || self
                .timeline
                .of_pod(name)
                .any(|(_, seen)| matches!(seen.what, What::PodFinished { .. }) && seen.when.earliest > self.t0);
        if pod.status.phase.is_terminal() && is_over_later {
            pod.status.phase = PodPhase::Running;
            pod.status.reason = Symbol::empty();
            pod.status.message = Symbol::empty();
            self.note("pods that ended later run", &full);
            self.run(pod);
        } else {
            let was_ready =
                pod.status.conditions.iter().find(|condition| condition.condition_type == PodConditionType::Ready);
            let turned_later = was_ready.is_some_and(|condition| {
                condition.status != ConditionStatus::True && self.is_later(condition.last_transition_time)
            });
            if turned_later && pod.status.phase == PodPhase::Running {
                self.note("pods that turned unready later are Ready", &full);
                self.run(pod);
            }
        }
        self.place(pod, name, &full);
        true
    }

    /// All of its containers run and are ready.
    fn run(&self, pod: &mut Pod) {
        for status in &mut pod.status.container_statuses {
            status.ready = true;
            status.started = Some(true);
            if status.state.running.is_none() {
                let running = crate::model::ContainerStateRunning { started_at: Some(self.stamp()) };
                status.state = ContainerState { running: Some(running), ..ContainerState::default() };
            }
        }
        let of_readiness = [PodConditionType::Ready, PodConditionType::ContainersReady];
        for condition in
            pod.status.conditions.iter_mut().filter(|condition| of_readiness.contains(&condition.condition_type))
        {
            condition.status = ConditionStatus::True;
            condition.reason = Symbol::empty();
            condition.message = Symbol::empty();
        }
    }

    /// A pod that was bound later, as the evidence saw, waited at t=0. What is bound after a pod of that name went is the next one.
    fn place(&mut self, pod: &mut Pod, name: PodName, full: &str) {
        let condition = pod.status.condition(PodConditionType::PodScheduled);
        let says = condition.filter(|condition| condition.status == ConditionStatus::True);
        let says = says.and_then(|condition| Instant::parse(condition.last_transition_time?.as_str()));
        let was_bound = says.is_some_and(|at| at.later(STAMP) <= self.t0);
        let later = self.timeline.of_pod(name).filter(|(_, seen)| seen.when.earliest > self.t0);
        let mut of_this = later.take_while(|(_, seen)| {
            !matches!(seen.what, What::PodDeletion { .. } | What::PodGone { .. } | What::PodFinished { .. })
        });
        let is_bound_later = of_this.any(
            |(_, seen)| matches!(&seen.what, What::PodScheduled { node, .. } if Some(*node) == pod.spec.node_name),
        );
        if is_bound_later && !was_bound {
            pod.spec.node_name = None;
            pod.status = Default::default();
            self.note("pods that were bound later wait for a node", full);
        }
    }

    /// Replicas that were changed later.
    fn workload(&mut self, object: &mut Object) {
        let (kind, metadata) = (Symbol::new(object.kind().as_str()), object.metadata());
        let (namespace, name) = (metadata.namespace, metadata.name);
        let replicas = match object {
            Object::Deployment(deployment) => &mut deployment.spec.replicas,
            Object::StatefulSet(set) => &mut set.spec.replicas,
            Object::ReplicaSet(set) => &mut set.spec.replicas,
            _ => return,
        };
        let first = self.timeline.scales((kind, namespace, name)).find(|(_, seen)| seen.when.latest > self.t0);
        let Some((_, seen)) = first else { return };
        let What::Scaled { from, .. } = &seen.what else { return };
        match from.and_then(|from| i32::try_from(from).ok()) {
            Some(from) if *replicas != Some(from) => {
                *replicas = Some(from);
                self.note(
                    "replicas are as they were before they were changed",
                    &format!("{kind} {namespace}/{name}: {from}"),
                );
            }
            Some(_) => {}
            None => {
                self.not_done.push(format!("{kind} {namespace}/{name} was scaled later; from how many is not recorded"))
            }
        }
    }

    /// Deployments that were rolled out later have the template of the ReplicaSet before.
    fn templates(&mut self, kept: &mut [ManifestObject], all: &[ManifestObject]) {
        let made_later: BTreeMap<(Symbol, Symbol), Symbol> = all
            .iter()
            .filter_map(|object| match &object.object {
                Object::ReplicaSet(set) if self.is_later(set.metadata.creation_timestamp) => {
                    let owner = set.metadata.controller()?;
                    Some(((set.metadata.namespace, owner.name), set.metadata.name))
                }
                _ => None,
            })
            .collect();
        let mut before: BTreeMap<(Symbol, Symbol), (i64, std::sync::Arc<crate::model::PodTemplateSpec>)> =
            BTreeMap::new();
        for object in kept.iter() {
            let Object::ReplicaSet(set) = &object.object else { continue };
            let Some(owner) = set.metadata.controller() else { continue };
            let key = (set.metadata.namespace, owner.name);
            let revision = set.metadata.annotations.get(&Symbol::new("deployment.kubernetes.io/revision"));
            let revision: i64 = revision.and_then(|text| text.as_str().parse().ok()).unwrap_or(0);
            if made_later.contains_key(&key) && before.get(&key).is_none_or(|(known, _)| *known < revision) {
                let mut template = crate::model::PodTemplateSpec::clone(&set.spec.template);
                template.metadata.labels = template.metadata.labels.without(Symbol::new("pod-template-hash"));
                before.insert(key, (revision, template.into()));
            }
        }
        for object in kept {
            let Object::Deployment(deployment) = &mut object.object else { continue };
            let key = (deployment.metadata.namespace, deployment.metadata.name);
            let full = format!("{}/{}", key.0, key.1);
            if let Some((_, template)) = before.remove(&key) {
                deployment.spec.template = template;
                self.note("templates are as they were before the rollout", &full);
            } else if made_later.contains_key(&key) {
                self.not_done
                    .push(format!("deployment {full} was rolled out later; its template before is not recorded"));
            }
        }
    }

    /// Pods that the evidence saw on a node, and that are not in the file: made anew after a pod of the same owner.
    fn restore_pods(&mut self, kept: &mut Vec<ManifestObject>, all: &[ManifestObject]) {
        let mut models: BTreeMap<(Symbol, Symbol, Symbol), &ManifestObject> = BTreeMap::new();
        for object in all {
            if let Object::Pod(pod) = &object.object
                && let Some(owner) = pod.metadata.controller()
            {
                models.entry((pod.metadata.namespace, owner.kind, owner.name)).or_insert(object);
            }
        }
        let mut lost: Vec<String> = Vec::new();
        for name in self.timeline.pods().collect::<Vec<_>>() {
            if self.timeline.inventory.pods.contains_key(&name) || !self.was_pod(name) {
                continue;
            }
            let full = format!("{}/{}", name.namespace, name.name);
            let owner = self.owner(name);
            let model = owner.and_then(|(kind, owner)| models.get(&(name.namespace, kind, owner)));
            let Some(model) = model else {
                lost.push(full);
                continue;
            };
            let node =
                self.timeline.node_of(name, self.t0).filter(|node| self.timeline.inventory.nodes.contains_key(node));
            let mut object = (*model).clone();
            let Object::Pod(pod) = &mut object.object else { continue };
            pod.metadata.name = name.name;
            pod.metadata.uid = Some(Symbol::from(format!("restored-{}-{}", name.namespace, name.name)));
            pod.metadata.deletion_timestamp = None;
            pod.metadata.deletion_grace_period_seconds = None;
            pod.metadata.creation_timestamp = Some(self.stamp());
            pod.spec.node_name = node;
            if node.is_some() {
                pod.status.phase = PodPhase::Running;
                pod.status
                    .conditions
                    .retain(|condition| condition.condition_type != PodConditionType::DisruptionTarget);
                self.run(pod);
                self.note("pods that went later are there again, on their nodes", &full);
            } else {
                pod.status = Default::default();
                self.note("pods that went later are there again; on which nodes they were is not recorded", &full);
            }
            self.clamp(&mut object.object);
            kept.push(object);
        }
        if !lost.is_empty() {
            let pods = counted(lost.len(), "pod that went is not", "pods that went are not");
            lost.truncate(NAMED_MAX);
            self.not_done.push(format!("{pods} in the file, and no pod of the same owner is: {}", lost.join(", ")));
        }
    }

    /// Whether a pod was there at t=0: the first that was seen of it is not that it came.
    fn was_pod(&self, name: PodName) -> bool {
        let mut of_pod = self.timeline.of_pod(name);
        let first = of_pod.next();
        first.is_some_and(|(_, seen)| match seen.what {
            What::PodCreated { .. } | What::PodScheduled { .. } | What::PodUnschedulable { .. } => {
                let is_before = seen.when.latest <= self.t0;
                is_before
                    && !of_pod.any(|(_, seen)| matches!(seen.what, What::PodGone { .. }) && seen.when.latest <= self.t0)
            }
            What::PodGone { .. } => seen.when.earliest > self.t0,
            What::PodDeletion { .. }
            | What::PodReady { is_ready: false, .. }
            | What::PodSeen { .. }
            | What::DeletionCancelled { .. } => true,
            _ => false,
        })
    }

    fn owner(&self, name: PodName) -> Option<(Symbol, Symbol)> {
        let told = self.timeline.of_pod(name).find_map(|(_, seen)| match &seen.what {
            What::PodCreated { owner, .. } | What::PodSeen { owner, .. } => *owner,
            _ => None,
        });
        told.or_else(|| self.timeline.inventory.owner_of(name))
    }

    /// No stamp lies after t=0: a play begins with the latest.
    fn clamp(&self, object: &mut Object) {
        let stamp = self.stamp();
        let clamp = |time: &mut Option<Symbol>| {
            if time.and_then(|at| Instant::parse(at.as_str())).is_some_and(|at| at > self.t0) {
                *time = Some(stamp);
            }
        };
        clamp(&mut object.metadata_mut().creation_timestamp);
        match object {
            Object::Node(node) => {
                for condition in &mut node.status.conditions {
                    clamp(&mut condition.last_transition_time);
                    clamp(&mut condition.last_heartbeat_time);
                }
                node.spec.taints.iter_mut().for_each(|taint| clamp(&mut taint.time_added));
            }
            Object::Pod(pod) => {
                clamp(&mut pod.status.start_time);
                pod.status.conditions.iter_mut().for_each(|condition| clamp(&mut condition.last_transition_time));
                for status in &mut pod.status.container_statuses {
                    if let Some(running) = &mut status.state.running {
                        clamp(&mut running.started_at);
                    }
                }
            }
            Object::Job(job) => {
                clamp(&mut job.status.start_time);
                clamp(&mut job.status.completion_time);
                job.status.conditions.iter_mut().for_each(|condition| clamp(&mut condition.last_transition_time));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
