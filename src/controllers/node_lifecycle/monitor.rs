//! The pass over the nodes: health, census, taint decision, pods not ready, disruption.
//!
//! Only nodes about which there is something to find out are looked at: those whose object changed, whose silence is due,
//! or whose pods still have to be marked. For all others a real pass changes nothing but the probe, which
//! [`health`](super::health) works out when it is asked for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use super::health::{Health, probe, unknown_conditions};
use super::taints::{ChainEnd, Edit, Owner};
use super::zones::{self, Disruption, ZoneKey};
use super::{NodeLifecycle, Tag, Timer, Waiting};
use crate::component::{
    Answer, Ctx, ErrorReason, EventDraft, ObjectRef, PodStatusPatch, Record, Request, Timer as Waited, TimerPhase,
};
use crate::model::TaintEffect;
use crate::state::{Node, NodeId, PodId, Status};
use crate::units::{SimDuration, SimTime};

/// Nodes looked at in parallel.
const VISITS_MAX: usize = 8;

/// Tries of a health update, and the pause between them.
const HEALTH_TRIES: u8 = 5;
const HEALTH_RETRY: SimDuration = SimDuration::from_millis(20);

type Listed = (NodeId, Arc<Node>);

/// Where a pass stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// New nodes lose their NoExecute taints, one after the other.
    Strip,
    /// Nodes are looked at.
    Visit,
    /// All zones are down: every node loses its NoExecute taints, one after the other.
    Cleanup,
}

/// A pass under way. Nodes are those of the list at its begin, however they have changed since.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    index: u64,
    stage: Stage,
    strip: VecDeque<Listed>,
    todo: VecDeque<Listed>,
    visits: BTreeMap<NodeId, Visit>,
    /// Nodes that carried a NoExecute taint of this controller when the pass began.
    tainted: VecDeque<Listed>,
}

/// A node being looked at.
#[derive(Clone, Debug)]
struct Visit {
    node: Arc<Node>,
    /// Ready before the health update; a missing condition reads as Unknown.
    observed: Status,
    /// Ready after it.
    current: Option<Status>,
    tries: u8,
    /// None if nothing is held against it.
    overdue: Option<Overdue>,
    /// Pods to be marked, the next one last.
    pods: Vec<PodId>,
    has_failed: bool,
}

/// A node's silence as it is found out.
#[derive(Copy, Clone, Debug)]
struct Overdue {
    /// The last sign of life, if there was one.
    heard: Option<SimTime>,
    /// When it had been silent for as long as it may be.
    due: SimTime,
}

/// Whether a visit goes on when an answer comes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Progress {
    Waiting,
    Over,
}

impl NodeLifecycle {
    /// Where a node stands in the order of a pass: random, and another in every pass.
    pub(super) fn order_key(node: NodeId, pass_index: u64, ctx: &Ctx<'_, Self>) -> u64 {
        ctx.streams.at("node-monitor-order", ctx.store.node_name(node).as_str(), pass_index).next_u64()
    }

    /// A pass begins: lists what there is to look at.
    pub(super) fn begin_pass(&mut self, ctx: &mut Ctx<'_, Self>) {
        self.clock.begin(ctx.now);
        let (index, _) = self.clock.latest(ctx.now);
        self.take_due_deadlines(ctx.now);
        self.dirty.extend(self.retry.iter().copied());
        let dirty = std::mem::take(&mut self.dirty);
        let mut list: Vec<Listed> = dirty
            .into_iter()
            .filter_map(|node| ctx.store.node(node).map(|object| (node, Arc::clone(object))))
            .collect();
        list.sort_by_cached_key(|(node, _)| (Self::order_key(*node, index, ctx), *node));
        let tainted = self.tainted.iter().filter_map(|node| Some((*node, Arc::clone(ctx.store.node(*node)?))));
        let tainted = tainted.collect();
        let mut strip = VecDeque::new();
        for (node, object) in &list {
            self.zones.ensure(ZoneKey::of(&object.labels), &ctx.config.kube_controller_manager);
            if self.known.insert(*node) {
                let name = ctx.store.node_name(*node);
                let text = format!("Node {name} event: Registered Node {name} in Controller");
                ctx.event(EventDraft::normal("RegisteredNode", ObjectRef::node(name), text).on(*node));
                strip.push_back((*node, Arc::clone(object)));
            }
        }
        for node in std::mem::take(&mut self.removed) {
            if ctx.store.node(node).is_some() || !self.known.remove(&node) {
                continue;
            }
            self.zones.count(node, None);
            let name = ctx.store.node_name(node);
            let text = format!("Node {name} event: Removing Node {name} from Controller");
            ctx.event(EventDraft::normal("RemovingNode", ObjectRef::node(name), text).on(node));
        }
        let visits = BTreeMap::new();
        self.pass = Some(Pass { index, stage: Stage::Strip, strip, todo: list.into(), visits, tainted });
        self.pump(ctx);
    }

    fn pass_mut(&mut self) -> &mut Pass {
        self.pass.as_mut().expect("a pass is under way")
    }

    /// Goes on with the pass until it waits for an answer or is over.
    fn pump(&mut self, ctx: &mut Ctx<'_, Self>) {
        loop {
            match self.pass_mut().stage {
                Stage::Strip => {
                    let Some((node, object)) = self.pass_mut().strip.pop_front() else {
                        self.pass_mut().stage = Stage::Visit;
                        continue;
                    };
                    if self.begin_reachable(Owner::Strip, node, &object, ctx) {
                        return;
                    }
                }
                Stage::Visit => {
                    while self.pass_mut().visits.len() < VISITS_MAX {
                        let Some((node, object)) = self.pass_mut().todo.pop_front() else { break };
                        if self.begin_visit(node, object, ctx) == Progress::Over {
                            self.pass_mut().visits.remove(&node);
                        }
                    }
                    if !self.pass_mut().visits.is_empty() {
                        return;
                    }
                    self.race_to_taint(ctx);
                    if !self.settle_disruption(ctx) {
                        self.end_pass(ctx);
                        return;
                    }
                    self.pass_mut().stage = Stage::Cleanup;
                }
                Stage::Cleanup => {
                    let Some((node, object)) = self.pass_mut().tainted.pop_front() else {
                        self.zones.stop_all(ctx.now);
                        self.end_pass(ctx);
                        return;
                    };
                    if self.begin_reachable(Owner::Cleanup, node, &object, ctx) {
                        return;
                    }
                }
            }
        }
    }

    fn end_pass(&mut self, ctx: &mut Ctx<'_, Self>) {
        self.pass = None;
        // A zone in which nobody counts gets a fresh queue from every pass: its waiting nodes are to be queued again.
        for (_, zone) in self.zones.iter_mut().filter(|(_, zone)| zone.state.is_none()) {
            self.dirty.extend(zone.queue.waiting().map(|(node, _)| node));
        }
        if self.clock.end(ctx.now) {
            self.refresh_all_deadlines(ctx);
        } else {
            self.date_undated(ctx);
        }
        self.see_all_pods(ctx);
        self.arm_pass(ctx);
        self.arm_tick(ctx);
    }

    // ---- removing NoExecute taints --------------------------------------------------------------------------------

    /// Removes both NoExecute taints that the listed node shows; false if it shows none and is done with.
    fn begin_reachable(&mut self, owner: Owner, node: NodeId, object: &Node, ctx: &mut Ctx<'_, Self>) -> bool {
        let edits = self.removals(object);
        if edits.is_empty() {
            self.zones.forget(ZoneKey::of(&object.labels), node);
            return false;
        }
        self.edit(owner, node, edits, ctx);
        true
    }

    fn removals(&self, object: &Node) -> SmallVec<[Edit; 2]> {
        let keys = [self.keys.unreachable, self.keys.not_ready];
        let present = keys.into_iter().filter(|key| object.taint(*key, TaintEffect::NoExecute).is_some());
        present.map(Edit::remove_no_execute).collect()
    }

    fn forget_in_queue(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        if let Some(object) = ctx.store.node(node) {
            self.zones.forget(ZoneKey::of(&object.labels), node);
        }
    }

    /// A new node was stripped.
    pub(super) fn stripped(&mut self, node: NodeId, end: ChainEnd, ctx: &mut Ctx<'_, Self>) {
        if end == ChainEnd::Done {
            self.forget_in_queue(node, ctx);
        }
        self.pump(ctx);
    }

    /// A node was cleaned up because all zones are down.
    pub(super) fn cleaned(&mut self, node: NodeId, end: ChainEnd, ctx: &mut Ctx<'_, Self>) {
        self.stripped(node, end, ctx);
    }

    // ---- one node -------------------------------------------------------------------------------------------------

    fn visit_mut(&mut self, node: NodeId) -> &mut Visit {
        self.pass_mut().visits.get_mut(&node).expect("the node is being looked at")
    }

    fn begin_visit(&mut self, node: NodeId, object: Arc<Node>, ctx: &mut Ctx<'_, Self>) -> Progress {
        let visit = Visit {
            node: object,
            observed: Status::Unknown,
            current: None,
            tries: 0,
            overdue: None,
            pods: Vec::new(),
            has_failed: false,
        };
        self.pass_mut().visits.insert(node, visit);
        self.examine(node, ctx)
    }

    /// Goes on after an answer.
    fn proceed(&mut self, node: NodeId, progress: Progress, ctx: &mut Ctx<'_, Self>) {
        if progress == Progress::Over {
            self.pass_mut().visits.remove(&node);
            self.pump(ctx);
        }
    }

    /// The health update: writes Unknown if the node was silent for longer than its grace.
    fn examine(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) -> Progress {
        ctx.cause = self.cause_of(node, ctx);
        let object = Arc::clone(&self.visit_mut(node).node);
        let ready = object.conditions.ready();
        let floor = if ready.is_some() { ctx.now } else { object.created_at };
        let first_seen = Health { ready: None, floor, is_another: false };
        let health = self.health.entry(node).or_insert(first_seen);
        // A Ready condition with another heartbeat than the remembered one is a sign of life, whoever wrote it.
        let is_another = std::mem::take(&mut health.is_another);
        if (health.ready.is_none() || is_another) && ready.is_some() {
            health.floor = health.floor.max(ctx.now);
        }
        health.ready = ready;
        let floor = health.floor.max(self.probe_floor);
        let heartbeat = ctx.store.heartbeat(node);
        let is_heard = self.is_heard(node, heartbeat);
        let probe = probe(&self.clock, heartbeat, is_heard, floor, ctx.now);
        let visit = self.visit_mut(node);
        visit.observed = ready.unwrap_or(Status::Unknown);
        visit.current = ready;
        let deadline = probe.map(|probe| probe + Self::grace(ready.is_some(), ctx.config));
        if let Some(due) = deadline.filter(|due| ctx.now > *due && ready != Some(Status::Unknown)) {
            let heartbeat = ctx.store.heartbeat(node);
            let heard = heartbeat.renewed_at(ctx.now).max(heartbeat.posted_at(ctx.now));
            self.visit_mut(node).overdue = Some(Overdue { heard, due });
            let conditions = unknown_conditions(&object, ctx.now);
            let request = Request::PatchNodeStatus { node, conditions, base: Some(object) };
            if let Some(ready) = ready {
                self.unseen.insert(node, ready);
            }
            ctx.call(request, Tag(Waiting::Status(node)));
            return Progress::Waiting;
        }
        self.judge(node, ctx)
    }

    /// Unknown was written, or not.
    pub(super) fn status_answered(&mut self, node: NodeId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if answer.is_err() {
            self.unseen.remove(&node);
            ctx.call(Request::Get, Tag(Waiting::Reread(node)));
            return;
        }
        let visit = self.visit_mut(node);
        let has_posted = visit.current.replace(Status::Unknown).is_some();
        if let Some(overdue) = visit.overdue.take() {
            record_silence(node, has_posted, overdue, ctx);
        }
        if let Some(health) = self.health.get_mut(&node) {
            health.ready = Some(Status::Unknown);
        }
        let progress = self.judge(node, ctx);
        self.proceed(node, progress, ctx);
    }

    /// The node was read again after a failed write.
    pub(super) fn reread_answered(&mut self, node: NodeId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let object = ctx.store.node(node).filter(|_| answer.is_ok());
        let visit = self.visit_mut(node);
        visit.tries += 1;
        match object {
            Some(object) if visit.tries < HEALTH_TRIES => {
                visit.node = Arc::clone(object);
                ctx.arm_in(HEALTH_RETRY, Timer::Reexamine(node));
            }
            _ => {
                // Left out of this pass and of its zone's census.
                self.zones.count(node, None);
                if ctx.store.node(node).is_some() {
                    self.dirty.insert(node);
                }
                self.proceed(node, Progress::Over, ctx);
            }
        }
    }

    /// The pause before another try is over.
    pub(super) fn reexamine(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let progress = self.examine(node, ctx);
        self.proceed(node, progress, ctx);
    }

    /// Census and taint decision.
    ///
    /// # Source
    /// Node lifecycle controller; until 1.33 the decision is taken on the condition before the health update.
    fn judge(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) -> Progress {
        let visit = self.visit_mut(node);
        let (object, observed, current) = (Arc::clone(&visit.node), visit.observed, visit.current);
        let zone = ZoneKey::of(&object.labels);
        self.zones.ensure(zone, &ctx.config.kube_controller_manager);
        let place = zones::counts(&object.labels).then_some((zone, current == Some(Status::True)));
        self.zones.count(node, place);
        let Some(current) = current else {
            self.retry.remove(&node);
            self.refresh_deadline(node, ctx);
            return Progress::Over;
        };
        let decisive = if ctx.config.version.at_least(34) { current } else { observed };
        if decisive != current {
            // Its own write makes the next pass look again.
            self.dirty.insert(node);
        }
        let edits = self.decide_taints(node, &object, decisive, ctx.now);
        if edits.is_empty() {
            return self.begin_marking(node, ctx);
        }
        self.edit(Owner::Visit, node, edits, ctx);
        Progress::Waiting
    }

    /// Queues the node, or says which taints change at once.
    fn decide_taints(&mut self, node: NodeId, object: &Node, ready: Status, now: SimTime) -> SmallVec<[Edit; 2]> {
        let zone = ZoneKey::of(&object.labels);
        let Some((wanted, opposite)) = self.keys.no_execute(ready) else {
            let edits = self.removals(object);
            if edits.is_empty() {
                self.zones.forget(zone, node);
            }
            return edits;
        };
        let has = |key| object.taint(key, TaintEffect::NoExecute).is_some();
        if has(opposite) {
            return SmallVec::from_iter([Edit::add_no_execute(wanted), Edit::remove_no_execute(opposite)]);
        }
        let zone = self.zones.get_mut(zone).expect("the zone of a node being looked at has been made");
        if !has(wanted) {
            zone.queue.remove(node);
        }
        zone.queue.add(node, now);
        SmallVec::new()
    }

    /// Taints were swapped or removed.
    pub(super) fn visit_tainted(&mut self, node: NodeId, end: ChainEnd, ctx: &mut Ctx<'_, Self>) {
        let visit = self.visit_mut(node);
        let is_back = visit.current == Some(Status::True);
        match end {
            ChainEnd::Done if is_back => self.forget_in_queue(node, ctx),
            ChainEnd::Done => {}
            ChainEnd::Failed => {
                self.dirty.insert(node);
            }
        }
        let progress = self.begin_marking(node, ctx);
        self.proceed(node, progress, ctx);
    }

    // ---- pods not ready -------------------------------------------------------------------------------------------

    fn begin_marking(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) -> Progress {
        self.arm_tick(ctx);
        let visit = self.visit_mut(node);
        let was_ready = visit.observed == Status::True;
        let has_turned = was_ready && visit.current != Some(Status::True);
        if has_turned {
            let name = ctx.store.node_name(node);
            let text = format!("Node {name} status is now: NodeNotReady");
            ctx.event(EventDraft::normal("NodeNotReady", ObjectRef::node(name), text).on(node));
        }
        if has_turned || (!was_ready && self.retry.contains(&node)) {
            let index = self.pass_mut().index;
            let mut pods: Vec<PodId> = ctx.store.pods_on(node).iter().copied().collect();
            let key = |pod: &PodId| {
                let name = ctx.store.pod(*pod).map_or("", |pod| &*pod.name);
                ctx.streams.at("node-monitor-pods", name, index).next_u64()
            };
            pods.sort_by_cached_key(|pod| (key(pod), *pod));
            self.visit_mut(node).pods = pods;
        }
        self.mark_next(node, ctx)
    }

    fn mark_next(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) -> Progress {
        while let Some(pod) = self.visit_mut(node).pods.pop() {
            if let Some(request) = not_ready_patch(pod, ctx) {
                ctx.call(request, Tag(Waiting::Mark(node, pod)));
                return Progress::Waiting;
            }
        }
        if self.visit_mut(node).has_failed {
            self.retry.insert(node);
        } else {
            self.retry.remove(&node);
        }
        self.refresh_deadline(node, ctx);
        Progress::Over
    }

    /// A pod of a node was marked, or not.
    pub(super) fn mark_answered(&mut self, node: NodeId, pod: PodId, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match answer {
            Err(error) if error.reason == ErrorReason::NotFound => {}
            other => {
                self.visit_mut(node).has_failed |= other.is_err();
                pod_not_ready_event(pod, node, ctx);
            }
        }
        let progress = self.mark_next(node, ctx);
        self.proceed(node, progress, ctx);
    }

    /// Whether the last look at a node found it not Ready.
    pub(super) fn is_known_down(&self, node: NodeId) -> bool {
        self.health.get(&node).and_then(|health| health.ready).is_some_and(|ready| ready != Status::True)
    }

    /// A pod newly seen on a node that is not Ready is marked like those that were there.
    ///
    /// # Source
    /// Node lifecycle controller, pod-update workers.
    pub(super) fn pod_bound(&mut self, pod: PodId, attempt: u8, ctx: &mut Ctx<'_, Self>) {
        let Some(node) = ctx.store.pod(pod).and_then(|pod| pod.node) else { return };
        let is_down = self.is_known_down(node) && ctx.store.node(node).is_some();
        if is_down && let Some(request) = not_ready_patch(pod, ctx) {
            ctx.call(request, Tag(Waiting::Pod(pod, attempt)));
        }
    }

    /// The mark of a newly seen pod was answered.
    pub(super) fn pod_answered(&mut self, pod: PodId, attempt: u8, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        const FIRST_RETRY: SimDuration = SimDuration::from_millis(5);
        match answer {
            Err(error) if error.reason == ErrorReason::NotFound => return,
            Err(_) => {
                let delay = FIRST_RETRY * (1 << attempt.min(17));
                ctx.arm_in(delay, Timer::MarkPod { pod, attempt: attempt.saturating_add(1) });
            }
            Ok(_) => {}
        }
        if let Some(node) = ctx.store.pod(pod).and_then(|pod| pod.node) {
            pod_not_ready_event(pod, node, ctx);
        }
    }

    // ---- the whole cluster ----------------------------------------------------------------------------------------

    /// Zone states follow the census; true if every node's taints are to be removed.
    fn settle_disruption(&mut self, ctx: &mut Ctx<'_, Self>) -> bool {
        match self.zones.evaluate(&ctx.config.kube_controller_manager, ctx.now) {
            Disruption::PerZone => false,
            Disruption::Entering => {
                // Nodes without taints leave their queues at once, the others as they lose their taints; the next pass puts back who is still dead.
                let tainted: BTreeSet<NodeId> = self.pass_mut().tainted.iter().map(|(node, _)| *node).collect();
                for (_, zone) in self.zones.iter_mut() {
                    self.dirty
                        .extend(zone.queue.waiting().map(|(node, _)| node).filter(|node| !tainted.contains(node)));
                    zone.queue.retain(|node| tainted.contains(node));
                }
                true
            }
            Disruption::Leaving => {
                self.probe_floor = ctx.now;
                self.refresh_all_deadlines(ctx);
                false
            }
        }
    }
}

/// A node's silence is noticed: it counts from the last sign of life, the grace from the pass that saw that.
fn record_silence(node: NodeId, has_posted: bool, Overdue { heard, due }: Overdue, ctx: &mut Ctx<'_, NodeLifecycle>) {
    let length = NodeLifecycle::grace(has_posted, ctx.config);
    let created_at = ctx.store.node(node).map_or(ctx.now, |object| object.created_at);
    for phase in [TimerPhase::Set { from: heard.unwrap_or(created_at), length, due }, TimerPhase::Fired] {
        let timer = if has_posted { Waited::NodeMonitorGrace(node) } else { Waited::NodeStartupGrace(node) };
        ctx.record(Record::Timer { timer, phase });
    }
}

/// The write that marks a pod not ready; none if it never was Ready or is marked already.
fn not_ready_patch(pod: PodId, ctx: &Ctx<'_, NodeLifecycle>) -> Option<Request> {
    let ready = ctx.store.pod(pod)?.ready?;
    (ready.status != Status::False).then(|| {
        let patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        Request::PatchPodStatus { pod, patch: Box::new(patch) }
    })
}

fn pod_not_ready_event(pod: PodId, node: NodeId, ctx: &mut Ctx<'_, NodeLifecycle>) {
    if let Some(object) = ctx.store.pod(pod) {
        let about = ObjectRef::pod(object);
        ctx.event(EventDraft::warning("NodeNotReady", about, "Node is not ready").on(node));
    }
}
