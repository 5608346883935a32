//! Containers whose pod has left the API before they have stopped.

use std::sync::Arc;

use super::bound_pod::BoundPod;
use super::grace::{GRACE_MIN, KILLED, own_grace, stop_of};
use super::running::Running;
use super::sync::Sync;
use super::timer::NodeTimer;
use super::worker::{Kill, WorkerState};
use super::{Kubelets, settings, statuses};
use crate::component::{Ctx, EventDraft, ObjectRef};
use crate::state::{NodeId, PersistentVolumeId, Pod, PodId};
use crate::units::{SimDuration, SimTime};

/// A pod of which nothing is left but what runs on its node, or is about to.
#[derive(Clone, Debug)]
pub(super) struct Dying {
    id: PodId,
    node: NodeId,
    /// The sync that still starts its containers.
    start: Option<Start>,
    /// What runs of it.
    running: Running,
    /// How it ends; none before somebody has told it to.
    kill: Option<Kill>,
    last: Arc<Pod>,
    volumes: Vec<PersistentVolumeId>,
}

/// A sync that nobody breaks off.
#[derive(Clone, Debug)]
struct Start {
    sync: Sync,
    /// How the kubelet has found out that the pod is gone, if it has.
    found: Option<Finding>,
}

/// How a kubelet finds out that the object of a pod is gone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Its watch shows it, at once or when it is back.
    Removal,
    /// It has just started, and containers run that belong to no pod.
    Orphans,
}

/// What is left to the containers of a pod that is gone.
///
/// # Source
/// kubelet, `HandlePodRemoves` and `calculateEffectiveGracePeriod`: what was given when it was deleted, but not nothing at all, else its own;
/// `HandlePodCleanups` and `SyncTerminatingRuntimePod`: a second, as nothing is known of the pod.
fn grace(last: &Pod, finding: Finding) -> SimDuration {
    let marked = || last.deletion.map(|deletion| deletion.grace).filter(|grace| !grace.is_zero());
    match finding {
        Finding::Removal => marked().unwrap_or_else(|| own_grace(last)),
        Finding::Orphans => GRACE_MIN,
    }
}

impl Kubelets {
    /// The object of a pod is gone: what runs, or is being started, is stopped as if the pod had been deleted with its own grace, as soon as
    /// its kubelet sees that, and keeps its volumes until then. False if nothing runs.
    ///
    /// # Source
    /// kubelet, `HandlePodRemoves`; the volume manager keeps what a runtime still uses.
    pub(super) fn dies(&mut self, id: PodId, last: &Arc<Pod>, ctx: &mut Ctx<'_, Self>) -> bool {
        let Some(node) = last.node else { return false };
        if last.is_mirror || !self.containers_survive(node, ctx) || self.links.is_stand_in(node, ctx) {
            return false;
        }
        let pod = BoundPod { id, node, object: last };
        let kill = match self.workers.get(&id).map(|worker| &worker.state) {
            Some(WorkerState::Terminating { stop, outcome, .. }) => {
                let is_killed = outcome.ending.is_some_and(|ending| ending.exit_code == KILLED);
                let code = if is_killed { KILLED } else { 0 };
                // Those who have had their signal end, though the process that has sent it is gone.
                let orphaned = || outcome.ends_at().filter(|at| (ctx.now..SimTime::MAX).contains(at));
                let at = stop.map(|(_, at)| at).or_else(orphaned);
                at.map(|at| Kill { at, code, is_orphan: stop.is_none() })
            }
            Some(WorkerState::Running(run)) => run.killed.filter(|kill| kill.is_orphan),
            _ => None,
        };
        let sync = self.sync(pod, ctx).filter(|sync| sync.then.is_any());
        let running = self.running(pod, ctx);
        if kill.is_none() && sync.is_none() && !running.is_any() {
            return false;
        }
        let found = self.links.show_pods(node, ctx).then_some(Finding::Removal);
        let start = sync.map(|sync| Start { sync, found });
        let volumes = super::volumes::attachable(last, ctx.store).into_iter().map(|(volume, _)| volume).collect();
        let mut dying = Dying { id, node, start, running, kill, last: Arc::clone(last), volumes };
        if let Some(kill) = kill {
            NodeTimer::Died.arm(node, kill.at, ctx);
        } else if let Some(start) = &dying.start {
            NodeTimer::Died.arm(node, start.sync.ends, ctx);
        } else if let Some(finding) = found {
            self.kill(&mut dying, finding, ctx);
        }
        self.dying.entry(node).or_default().push(dying);
        true
    }

    /// Tells what runs to end; who has been told before by a process that is gone ends when it would have, if that comes first.
    fn kill(&self, dying: &mut Dying, finding: Finding, ctx: &mut Ctx<'_, Self>) {
        let Dying { id, node, running, last, .. } = &*dying;
        self.killing_events(BoundPod { id: *id, node: *node, object: last }, running, ctx);
        let stop = stop_of(last, running, grace(last, finding), ctx);
        let at = ctx.now + stop.takes;
        let kill = dying.kill.filter(|before| before.at <= at);
        let kill = kill.unwrap_or(Kill { at, code: stop.code(0), is_orphan: false });
        NodeTimer::Died.arm(*node, kill.at, ctx);
        dying.kill = Some(kill);
    }

    /// The node's kubelet finds out which pods are gone: what it has not stopped of them, it stops. A new process knows of nothing that the one
    /// before has told to end.
    pub(super) fn kills_the_dying(&mut self, node: NodeId, finding: Finding, ctx: &mut Ctx<'_, Self>) {
        let Some(mut all) = self.dying.remove(&node) else { return };
        for dying in &mut all {
            let is_told = match finding {
                Finding::Removal => dying.kill.is_some(),
                Finding::Orphans => dying.kill.is_some_and(|kill| kill.at <= ctx.now),
            };
            match &mut dying.start {
                Some(start) => start.found = Some(finding),
                None if is_told => {}
                None => self.kill(dying, finding, ctx),
            }
        }
        self.dying.insert(node, all);
        self.died(node, ctx);
    }

    /// The node's kubelet process is gone: what it was about to start does not begin, and what it was about to stop goes on, unless it has had
    /// its signal.
    pub(super) fn nobody_stops_the_dying(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        for dying in self.dying.get_mut(&node).into_iter().flatten() {
            let exit = settings::exit_latency(&dying.last, ctx);
            dying.kill = dying.kill.filter(|kill| kill.goes_on(exit, ctx.now));
            dying.start = None;
        }
    }

    /// The machine is down: nothing is left of them.
    pub(super) fn the_dying_are_gone(&mut self, node: NodeId) {
        self.dying.remove(&node);
    }

    /// Containers of pods that are gone have begun, or have stopped.
    pub(super) fn died(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(node).kubelet_alive() {
            // Whoever takes up its pods sees it.
            return;
        }
        let Some(mut all) = self.dying.remove(&node) else { return };
        for dying in &mut all {
            if let Some(start) = dying.start.take_if(|start| start.sync.ends <= ctx.now) {
                self.begins_and_dies(dying, start, ctx);
            }
        }
        let is_over = |dying: &mut Dying| dying.kill.is_some_and(|kill| kill.at <= ctx.now);
        let over: Vec<Dying> = all.extract_if(.., is_over).collect();
        if !all.is_empty() {
            self.dying.insert(node, all);
        }
        for Dying { last, .. } in over {
            self.unmount(&last, ctx);
        }
    }

    /// The sync is over that has started containers of a pod that is gone.
    fn begins_and_dies(&self, dying: &mut Dying, start: Start, ctx: &mut Ctx<'_, Self>) {
        let Start { sync, found } = start;
        for container in dying.last.spec.containers.iter().skip(sync.first) {
            let text = statuses::started_text(container, ctx.config.version);
            let about = ObjectRef::pod(&dying.last);
            self.links.event(dying.node, EventDraft::normal("Started", about, text), ctx);
        }
        dying.running = sync.then;
        if let Some(finding) = found {
            self.kill(dying, finding, ctx);
        }
    }

    /// Whether containers use the volume on that node whose pod is gone.
    pub(super) fn is_held_by_the_dying(&self, volume: PersistentVolumeId, node: NodeId) -> bool {
        self.dying.get(&node).is_some_and(|all| all.iter().any(|dying| dying.volumes.contains(&volume)))
    }
}
