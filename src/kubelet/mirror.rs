//! Static pods: the file on the node stays, so the pod runs whatever becomes of its mirror, which is made anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bound_pod::BoundPod;
use super::deadline::watch_deadline;
use super::readiness::ready_latency;
use super::recovery::after_boot;
use super::stopped::lost;
use super::timer::PodTimer;
use super::worker::{Awaits, Known, Launch, Worker, WorkerState};
use super::{Kubelets, settings, statuses};
use crate::arena::Symbol;
use crate::component::{Ctx, DeleteOptions, PodStatusPatch, Request};
use crate::model::{self, ObjectMeta, OwnerReference};
use crate::state::{DeletionCause, NodeId, Pod, PodId, PodPhase, Status};
use crate::units::{SimDuration, SimTime};

/// Marks a mirror pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// A static pod.
#[derive(Clone, Debug)]
struct File {
    /// Its last mirror.
    mirror: Arc<Pod>,
    standing: Standing,
    /// What is under way with it while there is no mirror, under the id of the last one.
    worker: Option<(PodId, Worker)>,
}

impl File {
    /// A kubelet finds nothing of the pod running, which has run: it is over if none of its containers is started again.
    ///
    /// # Source
    /// kubelet, `SyncPod`: the phase follows from how the runtime has found the containers, whatever a mirror says or does not.
    fn is_found_dead(&mut self, now: SimTime) {
        let last = Arc::make_mut(&mut self.mirror);
        last.containers = after_boot(&last.containers, last, now);
        if let Some(ending) = statuses::ended_for_good(last) {
            if !last.phase.is_terminal() {
                last.phase = if ending.exit_code == 0 { PodPhase::Succeeded } else { PodPhase::Failed };
            }
            self.standing = Standing::Over { is_looked_at: false };
        }
    }
}

/// What becomes of a static pod with its next mirror.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// It is started: nothing of it runs.
    Starts,
    /// It goes on.
    GoesOn,
    /// It shows how it has come to its end, to which only a new process of the kubelet makes it a mirror.
    Over { is_looked_at: bool },
}

/// The static pods of one machine, by namespace and name.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(BTreeMap<(Symbol, Arc<str>), File>);

fn key(pod: &Pod) -> (Symbol, Arc<str>) {
    (pod.namespace, Arc::clone(&pod.name))
}

impl Kubelets {
    /// A mirror shows that there is a file.
    pub(super) fn learn_file(&mut self, pod: BoundPod<'_>) {
        if pod.is_mirror {
            let files = &mut self.statics.entry(pod.node).or_default().0;
            let is_over = pod.phase.is_terminal();
            files.entry(key(&pod)).or_insert_with(|| File {
                mirror: Arc::new(pod.object.clone()),
                standing: if is_over { Standing::Over { is_looked_at: false } } else { Standing::Starts },
                worker: None,
            });
        }
    }

    /// Takes a mirror away without touching the pod.
    ///
    /// # Source
    /// kubelet, `tryReconcileMirrorPods`: a mirror that is being deleted is removed at once.
    pub(super) fn drop_mirror(mirror: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let options = DeleteOptions { grace_s: Some(0), uid: Some(mirror.uid) };
        let cause = mirror.deletion.map_or(DeletionCause::Completed, |deletion| deletion.cause);
        ctx.send(Request::DeletePod { pod: mirror.id, options, cause });
    }

    /// A mirror has left the API: it is made anew while the pod's file is there, and the pod goes on.
    ///
    /// # Source
    /// kubelet, pod workers: that of a static pod has the UID of the pod in the file, and knows nothing of its mirror; the worker of one that
    /// has come to its end does nothing more, and makes it no mirror.
    ///
    /// # Differs
    /// What comes about while there is no mirror is seen when there is one again.
    pub(super) fn mirror_gone(&mut self, id: PodId, last: &Pod, ctx: &mut Ctx<'_, Self>) {
        let Some(node) = last.node.filter(|_| last.is_mirror) else { return };
        let worker = self.workers.remove(&id);
        if let Some(worker) = &worker {
            worker.state.cancel(ctx);
        }
        // Its phase others may have written.
        let runs = last.phase == PodPhase::Running || statuses::running_since(last).is_some();
        let is_under_way = runs || (worker.is_some() && !last.phase.is_terminal());
        let has_ended = !last.containers.is_empty() && last.containers.iter().all(|it| it.state.ending().is_some());
        let survives = self.containers_survive(node, ctx);
        let begins_anew = self.statics.get(&node).and_then(|files| files.0.get(&key(last))).is_some_and(|file| {
            // The machine has been down since it ended.
            file.mirror.phase.is_terminal() && file.standing == Standing::Starts
        }) && statuses::ended_for_good(last).is_none();
        let standing = if survives && last.phase.is_terminal() && has_ended && !begins_anew {
            Standing::Over { is_looked_at: false }
        } else if survives && is_under_way {
            Standing::GoesOn
        } else {
            Standing::Starts
        };
        let worker = worker.filter(|_| standing == Standing::GoesOn).map(|worker| (id, worker));
        let file = File { mirror: Arc::new(last.clone()), standing, worker };
        self.statics.entry(node).or_default().0.insert(key(last), file);
        self.recreate_mirrors(node, ctx);
    }

    /// A new process finds that the static pod has ended with its machine, or before: it starts it with the next mirror.
    pub(super) fn begins_with_next_mirror(&mut self, mirror: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let file = File { mirror: Arc::new(mirror.object.clone()), standing: Standing::Starts, worker: None };
        self.statics.entry(mirror.node).or_default().0.insert(key(&mirror), file);
        Self::drop_mirror(mirror, ctx);
    }

    /// The machine is down: its containers are gone.
    pub(super) fn static_pods_stop(&mut self, node: NodeId) {
        for file in self.statics.get_mut(&node).into_iter().flat_map(|files| files.0.values_mut()) {
            (file.standing, file.worker) = (Standing::Starts, None);
        }
    }

    /// A new process of the kubelet looks at its static pods: of those that are over, too, it makes mirrors.
    pub(super) fn looks_at_static_pods(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        for file in self.statics.get_mut(&node).into_iter().flat_map(|files| files.0.values_mut()) {
            if let Standing::Over { is_looked_at } = &mut file.standing {
                *is_looked_at = true;
            }
        }
        self.recreate_mirrors(node, ctx);
    }

    /// The kubelet process is gone: so is what it knew of static pods that have no mirror.
    pub(super) fn nobody_sees_static_pods(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        for File { mirror, worker, .. } in
            self.statics.get_mut(&node).into_iter().flat_map(|files| files.0.values_mut())
        {
            if let Some((id, worker)) = worker {
                worker.halt(BoundPod { id: *id, node, object: mirror }, ctx);
            }
        }
    }

    /// Makes the mirrors that are missing, if the Node is there to own them.
    ///
    /// # Source
    /// kubelet, mirror client: `CreateMirrorPod` needs the Node's UID.
    pub(super) fn recreate_mirrors(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(owner) = ctx.store.node(node).map(|object| object.uid).filter(|_| self.links.are_up(node, ctx)) else {
            return;
        };
        let name = ctx.store.node_name(node);
        let owner = OwnerReference {
            api_version: Symbol::new("v1"),
            kind: Symbol::new("Node"),
            name,
            uid: Symbol::new(&owner.to_string()),
            controller: true,
            ..OwnerReference::default()
        };
        for file in self.statics.get(&node).into_iter().flat_map(|files| files.0.values()) {
            let is_made = file.standing != Standing::Over { is_looked_at: false };
            if is_made && ctx.store.find_pod(file.mirror.namespace, &file.mirror.name).is_none() {
                let pod = picture(&file.mirror, name, owner.clone());
                ctx.send(Request::Create(Box::new(model::Object::Pod(Box::new(pod)))));
            }
        }
    }

    /// Whether a new mirror shows a static pod that is under way already: its status is posted, and the pod goes on.
    ///
    /// # Source
    /// kubelet, status manager: as far as it knows nothing has changed, so that only the comparison of all finds the mirror.
    pub(super) fn goes_on_as_mirror(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> bool {
        let Some(files) = self.statics.get_mut(&pod.node).filter(|_| pod.is_mirror) else { return false };
        let Some(file) = files.0.get_mut(&key(&pod)) else { return false };
        let has_run = file.mirror.uid != pod.uid && file.mirror.phase != PodPhase::Pending;
        if file.standing == Standing::Starts && has_run {
            file.is_found_dead(ctx.now);
        }
        let last = Arc::clone(&file.mirror);
        let standing = file.standing;
        file.standing = match standing {
            Standing::Starts | Standing::GoesOn => Standing::Starts,
            Standing::Over { .. } => Standing::Over { is_looked_at: false },
        };
        if standing == Standing::Starts {
            if has_run {
                let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
                worker.restarts = last.restarts_max() + 1;
                worker.ended = last.containers.iter().find_map(|it| it.last).or(Some(lost(ctx.now)));
                if last.containers.iter().any(|status| status.state.ending().is_some()) {
                    worker.known = Some(Box::new(Known { containers: last.containers.clone(), ..Known::default() }));
                }
            }
            return false;
        }
        let mut worker = file.worker.take().map(|(_, worker)| worker);
        let mut patch = PodStatusPatch {
            phase: match last.phase {
                PodPhase::Pending => None,
                PodPhase::Succeeded | PodPhase::Failed if standing == Standing::GoesOn => Some(PodPhase::Running),
                phase => Some(phase),
            },
            ready: Some(if statuses::are_containers_ready(&last) { Status::True } else { Status::False }),
            started: last.started_at,
            containers: (!last.containers.is_empty()).then(|| last.containers.clone()),
            init_containers: Some(last.init_containers.clone()),
            ..PodStatusPatch::default()
        };
        if let Some(worker) = &mut worker {
            // What was posted of the last mirror may not have arrived any more.
            if let Some(run) = worker.run().filter(|run| run.since.is_some()) {
                let containers = statuses::running(Some(worker), &last, run.ready.is_none() && !run.is_silent);
                patch.phase = Some(PodPhase::Running);
                patch.ready = Some(if statuses::are_ready(&containers) { Status::True } else { Status::False });
                patch.containers = Some(containers);
                let inits = statuses::known_inits(Some(worker), &last);
                patch.init_containers = Some(statuses::inits_done(inits, &last, ctx.now));
            }
            if let Some(unposted) = worker.unposted.take() {
                statuses::merge(&mut patch, *unposted);
            }
        }
        if patch.phase == Some(PodPhase::Running) {
            // Nobody has written conditions of this one yet.
            self.gates.watch(pod, ctx.now, ctx);
            patch.ready = patch.ready.filter(|_| !self.gates.are_closed(pod.id)).or(Some(Status::False));
        }
        let is_under_way = worker.is_some();
        let mut worker = worker.unwrap_or_else(|| match standing {
            Standing::Over { .. } => Worker::new(WorkerState::Over),
            Standing::Starts | Standing::GoesOn => Worker::running(&last),
        });
        worker.unposted = Some(Box::new(patch));
        self.workers.insert(pod.id, worker);
        pod.arm(Self::next_status_sync(pod.node, ctx), PodTimer::Resync, ctx);
        if is_under_way {
            self.goes_on_under_another_id(pod, &last, ctx);
        }
        true
    }

    /// Waits anew for what a static pod waited for under the id of its last mirror.
    ///
    /// # Differs
    /// Back-offs of its pulls and init containers are over.
    fn goes_on_under_another_id(&mut self, pod: BoundPod<'_>, last: &Pod, ctx: &mut Ctx<'_, Self>) {
        watch_deadline(BoundPod { object: last, ..pod }, ctx);
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let restarts = worker.restarts;
        // The last mirror may not have shown it.
        let phase = worker.unposted.as_ref().and_then(|patch| patch.phase).unwrap_or(last.phase);
        match &mut worker.state {
            WorkerState::Running(run) => {
                let since = *run.since.get_or_insert(statuses::running_since(last).unwrap_or(ctx.now));
                if run.ready.is_some() {
                    let probed = run.probed(&last.containers, since);
                    let due = since + ready_latency(&pod, restarts, probed, ctx);
                    run.ready = Some(pod.arm(due, PodTimer::Ready, ctx));
                }
                run.end = None;
                run.probe = run.killed.map(|kill| pod.arm(kill.at, PodTimer::ProbeKilled(kill.code), ctx));
                worker.watch_end(pod, ctx);
                worker.watch_probes(pod, ctx);
                self.watch_memory_of(pod, ctx);
                self.settle(pod);
            }
            WorkerState::BackingOff { ticket, until } => *ticket = pod.arm(*until, PodTimer::Restart, ctx),
            WorkerState::Starting(_, Awaits::Hook { since, next, ticket }) => {
                let begun = pod.spec.containers.iter().take(*next);
                let hooks = begun.fold(SimDuration::ZERO, |sum, container| sum + settings::post_start(container));
                *ticket = Some(pod.arm(*since + hooks, PodTimer::Started, ctx));
            }
            WorkerState::Starting(_, Awaits::Containers { runs, ticket: Some(ticket), .. }) => {
                *ticket = pod.arm((*runs).max(ctx.now), PodTimer::Started, ctx);
            }
            WorkerState::Starting(_, Awaits::Init(_)) => self.goes_on_with_init(pod, ctx),
            WorkerState::Starting(_, Awaits::Room(_) | Awaits::Volumes(_)) => self.await_volumes(pod, ctx),
            WorkerState::Starting(launch, _) => {
                let launch = *launch;
                self.try_again(pod, launch, ctx);
            }
            WorkerState::Idle if phase == PodPhase::Pending => self.await_volumes(pod, ctx),
            WorkerState::Idle => self.restart(pod, Launch::Containers, ctx),
            WorkerState::Terminating { stop, outcome, .. } => {
                let at = stop.map(|(_, at)| at).or(outcome.ends_at()).unwrap_or(ctx.now);
                *stop = Some((pod.arm(at, PodTimer::Stopped, ctx), at));
            }
            WorkerState::Stopped(_) => self.containers_stopped(pod, ctx),
            WorkerState::Over | WorkerState::CleaningUp(_) => self.settle(pod),
        }
    }
}

/// The mirror of a static pod, as it is created.
fn picture(last: &Pod, node: Symbol, owner: OwnerReference) -> model::Pod {
    let mut annotations = last.annotations();
    annotations.insert(Symbol::new(MIRROR), Symbol::new(&format!("{node}-{}", last.name)));
    let metadata = ObjectMeta {
        name: Symbol::new(&last.name),
        namespace: last.namespace,
        labels: last.labels.clone(),
        annotations,
        owner_references: vec![owner],
        ..ObjectMeta::default()
    };
    let spec = model::PodSpec { node_name: Some(node), ..last.spec.spec.clone() };
    model::Pod { metadata, spec, ..model::Pod::default() }
}
