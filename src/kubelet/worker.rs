//! What a kubelet keeps of a pod with something under way, or with a history.

use smallvec::SmallVec;

use super::back_off::{BackOff, PullBackOff};
use super::bound_pod::BoundPod;
use super::grace::KILLED;
use super::readiness::{Probed, have_started, ready_latency};
use super::timer::PodTimer;
use super::{Kubelets, settings, statuses};
use crate::component::{Ctx, PodStatusPatch};
use crate::engine::Ticket;
use crate::state::{ContainerStatus, Ending, Pod};
use crate::units::{SimDuration, SimTime};

/// A pod with something under way, or with a history.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) state: WorkerState,
    /// How often the containers that run had been restarted, or those will have been that run next.
    pub(super) restarts: u32,
    /// The same of the containers that began last, whether or not the API server knows of them.
    pub(super) begun: u32,
    pub(super) back_off: BackOff,
    /// Events of back-offs so far, as far as the recorder lets them pass.
    pub(super) back_offs_told: u32,
    /// How often an init container was restarted, and its back-off.
    pub(super) init_restarts: u32,
    pub(super) init_back_off: BackOff,
    /// Images whose pulls have failed.
    pub(super) pulls: SmallVec<[PullBackOff; 0]>,
    /// How the containers ended before they were restarted.
    pub(super) ended: Option<Ending>,
    /// A status that could not be posted.
    pub(super) unposted: Option<Box<PodStatusPatch>>,
    /// What was last said of the containers of a pod of which one has ended for good, or whose init containers run: it may still be on its way.
    /// Of containers of which there is none here, nothing was.
    pub(super) known: Option<Box<Known>>,
    /// The init container that the start of pod or sandbox has come to: those before it are done, or run if they are sidecars. If there are not
    /// as many, the others are started.
    pub(super) at_init: usize,
    /// How the pod is ended when the sync is over that is under way.
    pub(super) after_sync: Option<Box<End>>,
}

/// The end of a pod that has been asked for.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) grace: SimDuration,
    /// What is posted, if the kubelet itself ends the pod.
    pub(super) status: Option<Box<PodStatusPatch>>,
    /// The node does not take it: what runs of it waits for housekeeping, not for a sync.
    pub(super) is_rejected: bool,
}

/// Statuses of a pod's containers.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) containers: SmallVec<[ContainerStatus; 1]>,
    pub(super) inits: SmallVec<[ContainerStatus; 0]>,
}

// There is one for each pod that starts, of 150,000 pods.
const _: () = assert!(size_of::<Worker>() <= 272);

/// What a pod worker is about.
///
/// # Source
/// kubelet, `PodWorkerState`: a pod is synced, then terminating, then terminated.
#[derive(Clone, Debug)]
pub(super) enum WorkerState {
    /// Synced: nothing runs and nothing is under way. The worker is new, or its kubelet process has ended.
    Idle,
    /// Synced: on its way to containers that run.
    Starting(Launch, Awaits),
    /// Synced: containers run, as far as the API server knows.
    Running(Run),
    /// Synced: containers have crashed, and start again when that timer fires.
    BackingOff { ticket: Ticket, until: SimTime },
    /// Terminating: containers are being stopped.
    Terminating {
        /// What fires when they have stopped, and when; none if the kubelet process has ended meanwhile.
        stop: Option<(Ticket, SimTime)>,
        /// Fires when the readiness probe, which goes on, finds them ready for the first time.
        ready: Option<Ticket>,
        outcome: Outcome,
    },
    /// Terminated: containers have stopped, and the API server does not know yet.
    Stopped(Outcome),
    /// Terminated: the pod has come to its end by itself, which the API server does not know yet.
    Over,
    /// Terminated: the timer fires when what is left of the pod has been cleaned up; none if it has, and the object is there still.
    CleaningUp(Option<Ticket>),
}

/// What of a pod is started.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// The pod, for the first time.
    Pod,
    /// Its containers, once more.
    Containers,
    /// Its sandbox, made anew: init containers run first.
    Sandbox,
}

/// What a pod that starts waits for.
#[derive(Clone, Debug)]
pub(super) enum Awaits {
    /// The end of pods that make room for it.
    Room(Ticket),
    Volumes(MountWait),
    /// The failure of a pull, or the sync after it.
    Image {
        /// When the pull begins, or has begun.
        begins: SimTime,
        /// When it fails, or has failed.
        fails: SimTime,
        ticket: Ticket,
    },
    /// The turn of an init container, or its end.
    Init(InitRun),
    /// The end of an init container's back-off.
    InitRestart(Ticket),
    /// Its containers.
    Containers {
        /// When all images are there, and the start begins, or has begun.
        begins: SimTime,
        /// When the first of them runs.
        runs: SimTime,
        /// None if the kubelet process has ended meanwhile.
        ticket: Option<Ticket>,
    },
    /// The end of a container's postStart hook.
    Hook {
        /// When the first of the containers was started.
        since: SimTime,
        /// The container that is started next.
        next: usize,
        /// None if the kubelet process has ended meanwhile.
        ticket: Option<Ticket>,
    },
    /// A process of the kubelet: the one that was at it has ended, and nothing goes on without it.
    Process,
}

/// An init container whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct InitRun {
    /// When its image is there.
    pub(super) images_at: SimTime,
    /// When it begins, or has begun.
    pub(super) begins: SimTime,
    /// When it has ended; a sidecar, when it has started.
    pub(super) done: SimTime,
    /// With which code it ends.
    pub(super) code: i32,
    pub(super) has_begun: bool,
    /// None if the kubelet process has ended meanwhile.
    pub(super) ticket: Option<Ticket>,
}

/// A wait for volumes.
#[derive(Clone, Debug)]
pub(super) struct MountWait {
    /// Look-ups that failed.
    pub(super) failures: u32,
    pub(super) look_up: Ticket,
    /// Ends the present sync's wait, or the pause between two of them.
    pub(super) sync: Ticket,
    pub(super) is_paused: bool,
    pub(super) is_mounted: bool,
    pub(super) syncs: u64,
}

/// Containers that run.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// Since when, if this worker started them; their status may not have reached the API yet.
    pub(super) since: Option<SimTime>,
    /// Fires when the pod is ready.
    pub(super) ready: Option<Ticket>,
    /// Fires when containers end by themselves.
    pub(super) end: Option<Ticket>,
    /// Fires when a probe fails, or when what failed it has stopped.
    pub(super) probe: Option<Ticket>,
    /// How often each kind of probe has failed.
    pub(super) misses: [u64; 3],
    /// How many runs of the readiness probe have found the application not up yet.
    pub(super) early: u64,
    /// When a kubelet that began anew took over their probes.
    pub(super) probers_at: Option<SimTime>,
    /// When a change of the pod last had it synced while they were not ready.
    pub(super) synced_at: Option<SimTime>,
    /// The readiness probe has failed for good: nobody answers it any more.
    pub(super) is_silent: bool,
    /// They have had their signal to end.
    pub(super) killed: Option<Kill>,
    /// They have had it because they are to run with other images.
    pub(super) is_replaced: bool,
    /// They have ended so while no kubelet ran to see it.
    pub(super) ended_unseen: Option<Ending>,
}

impl Run {
    /// Who probes them, if they run since that instant.
    pub(super) fn probed<'a>(&self, known: &'a [ContainerStatus], since: SimTime) -> Probed<'a> {
        Probed { known, since, probers_at: self.probers_at, synced_at: self.synced_at }
    }
}

/// An end that containers have been told to come to.
#[derive(Copy, Clone, Debug)]
pub(super) struct Kill {
    pub(super) at: SimTime,
    pub(super) code: i32,
    /// The process that has told them is gone.
    pub(super) is_orphan: bool,
}

impl Kill {
    /// Whether containers that take `exit` to end at their signal do so if nobody attends to it any more: they have had it, and need
    /// not be killed.
    ///
    /// # Source
    /// kubelet, `killContainer`: hook and both signals are sent by the process, the last through a call that ends with it.
    pub(super) fn goes_on(&self, exit: SimDuration, now: SimTime) -> bool {
        now + exit >= self.at && self.code != KILLED
    }
}

/// What is posted of a pod whose containers have stopped.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// The status, if the kubelet itself ends the pod; the object then stays.
    pub(super) status: Option<Box<PodStatusPatch>>,
    /// How those that ran end: the regular ones, and sidecars with them.
    pub(super) ending: Option<Ending>,
    /// How init containers end that ran without them.
    pub(super) init_ending: Option<Ending>,
}

impl Outcome {
    /// When the last of them has ended, if nobody stops them again.
    pub(super) fn ends_at(&self) -> Option<SimTime> {
        [self.ending, self.init_ending].into_iter().flatten().map(|ending| ending.finished_at).max()
    }
}

impl Worker {
    pub(super) fn new(state: WorkerState) -> Self {
        Self {
            state,
            restarts: 0,
            begun: 0,
            back_off: BackOff::default(),
            back_offs_told: 0,
            init_restarts: 0,
            init_back_off: BackOff::default(),
            pulls: SmallVec::new(),
            ended: None,
            unposted: None,
            known: None,
            at_init: 0,
            after_sync: None,
        }
    }

    /// That of a new pod.
    pub(super) fn idle() -> Self {
        Self::new(WorkerState::Idle)
    }

    /// That of a pod that has been started before, and of which nothing runs.
    pub(super) fn found(pod: &Pod) -> Self {
        let restarts = pod.restarts_max();
        Self { restarts, begun: restarts, ..Self::idle() }
    }

    /// That of a pod whose containers are found running.
    pub(super) fn running(pod: &Pod) -> Self {
        Self { state: WorkerState::Running(Run::default()), ..Self::found(pod) }
    }

    /// Since when the pod's containers run, if they do.
    pub(super) fn runs_since(&self, pod: &Pod) -> Option<SimTime> {
        self.run()?.since.or_else(|| statuses::running_since(pod))
    }

    /// The containers, if they run.
    pub(super) fn run(&self) -> Option<&Run> {
        if let WorkerState::Running(run) = &self.state { Some(run) } else { None }
    }

    /// The containers, if they run.
    pub(super) fn run_mut(&mut self) -> Option<&mut Run> {
        if let WorkerState::Running(run) = &mut self.state { Some(run) } else { None }
    }

    /// The wait for volumes, if there is one.
    pub(super) fn mount_wait(&mut self) -> Option<&mut MountWait> {
        if let WorkerState::Starting(_, Awaits::Volumes(wait)) = &mut self.state { Some(wait) } else { None }
    }

    /// Whether the pod has come to its end.
    pub(super) fn is_terminated(&self) -> bool {
        matches!(self.state, WorkerState::Stopped(_) | WorkerState::CleaningUp(_) | WorkerState::Over)
    }

    /// Whether the kubelet itself ends the pod.
    pub(super) fn is_ended_by_kubelet(&self) -> bool {
        if self.after_sync.as_ref().is_some_and(|end| end.status.is_some()) {
            return true;
        }
        match &self.state {
            WorkerState::Terminating { outcome, .. } | WorkerState::Stopped(outcome) => outcome.status.is_some(),
            WorkerState::Idle
            | WorkerState::Starting(..)
            | WorkerState::Running(_)
            | WorkerState::BackingOff { .. }
            | WorkerState::CleaningUp(_)
            | WorkerState::Over => false,
        }
    }

    /// Whether its node has rejected the pod, and nobody has begun to stop what runs of it.
    pub(super) fn is_rejected(&self) -> bool {
        self.after_sync.as_ref().is_some_and(|end| end.is_rejected)
    }

    /// Whether a timer goes on with the pod, or its application answers its readiness probe no more.
    pub(super) fn has_more_to_come(&self) -> bool {
        self.state.tickets().iter().any(Option::is_some)
            || self.is_rejected()
            || self.run().is_some_and(|run| run.is_silent || run.ended_unseen.is_some())
    }

    /// Whether there is nothing left to do and nothing to remember.
    pub(super) fn is_settled(&self) -> bool {
        let may_be_forgotten = match &self.state {
            WorkerState::Running(run) => run.ended_unseen.is_none() && self.restarts == 0,
            WorkerState::Over => true,
            _ => false,
        };
        may_be_forgotten
            && self.state.tickets().iter().all(Option::is_none)
            && self.unposted.is_none()
            && self.after_sync.is_none()
            && (self.known.is_none() || matches!(self.state, WorkerState::Over))
    }

    /// What is posted when the containers have stopped.
    pub(super) fn take_outcome(&mut self) -> Outcome {
        match &mut self.state {
            WorkerState::Terminating { outcome, .. } | WorkerState::Stopped(outcome) => std::mem::take(outcome),
            WorkerState::Idle
            | WorkerState::Starting(..)
            | WorkerState::Running(_)
            | WorkerState::BackingOff { .. }
            | WorkerState::CleaningUp(_)
            | WorkerState::Over => Outcome::default(),
        }
    }

    /// The timer of the readiness probe that goes on while the pod's containers are being stopped, taken out.
    ///
    /// # Source
    /// kubelet, prober, `doProbe`: of a pod that is being deleted liveness and startup probes end; before the latter has succeeded nothing asks
    /// whether it is ready. Of one that the kubelet itself ends nothing is probed any more.
    ///
    /// # Differs
    /// Of a pod with init containers nothing is probed any more, as when the regular containers end before its sidecars is not kept; and
    /// readiness is not lost any more.
    pub(super) fn goes_on_probing(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Kubelets>) -> Option<Ticket> {
        if pod.deletion.is_none() || self.is_ended_by_kubelet() || !pod.spec.init_containers.is_empty() {
            return None;
        }
        let is_asked = self.is_asked_anew(pod, ctx);
        match &mut self.state {
            WorkerState::Running(run) if is_asked => run.ready.take(),
            WorkerState::Terminating { ready, .. } => ready.take(),
            _ => None,
        }
    }

    /// A sync has containers that are not ready asked at once, and every period from then on. Returns whether they may be: all startup
    /// probes have succeeded.
    ///
    /// # Source
    /// kubelet, `UpdatePodStatus`, at the beginning of `SyncPod` and of `SyncTerminatingPod`.
    pub(super) fn is_asked_anew(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Kubelets>) -> bool {
        let Some(run) = self.run().filter(|run| run.ready.is_some()) else { return true };
        let probers_at = run.probers_at;
        let Some(since) = self.runs_since(&pod) else { return true };
        let known = statuses::known(Some(self), &pod);
        let probed = Probed { known, since, probers_at, synced_at: Some(ctx.now) };
        if !have_started(&pod, self.restarts, probed, ctx) {
            return false;
        }
        if settings::readiness_period(&pod).is_some() {
            let due = since + ready_latency(&pod, self.restarts, probed, ctx);
            let ticket = pod.arm(due.max(ctx.now), PodTimer::Ready, ctx);
            if let Some(run) = self.run_mut() {
                run.synced_at = Some(ctx.now);
                rearm(&mut run.ready, Some(ticket), ctx);
            }
        }
        true
    }

    /// Goes over to another state; timers of the old one are taken back.
    pub(super) fn enter(&mut self, state: WorkerState, ctx: &mut Ctx<'_, Kubelets>) {
        std::mem::replace(&mut self.state, state).cancel(ctx);
    }

    /// The kubelet process ends. What runs goes on, and containers that have had their signal end; who was to be stopped, probed or
    /// started next, only the process knew. What is asked of a pod that is deleted is not forgotten: it is in the API.
    pub(super) fn halt(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Kubelets>) {
        let now = ctx.now;
        self.after_sync = None;
        let state = std::mem::replace(&mut self.state, WorkerState::Idle);
        if !matches!(state, WorkerState::Running(_)) {
            state.cancel(ctx);
        }
        self.state = match state {
            WorkerState::Running(mut run) => {
                let exit = || settings::exit_latency(&pod, ctx);
                run.killed = run.killed.filter(|kill| kill.goes_on(exit(), now));
                if let Some(kill) = &mut run.killed {
                    kill.is_orphan = true;
                } else {
                    rearm(&mut run.probe, None, ctx);
                }
                rearm(&mut run.ready, None, ctx);
                let is_replaced = run.is_replaced && run.killed.is_some();
                WorkerState::Running(Run { misses: [0; 3], early: 0, is_replaced, ..run })
            }
            WorkerState::Starting(launch, awaits) => self.halted_start(launch, awaits, &pod, ctx),
            WorkerState::Terminating { stop, outcome, .. } if outcome.status.is_some() => {
                let kill = stop.zip(outcome.ending);
                let kill = kill.map(|((_, at), ending)| {
                    // That it has ended may be said later.
                    Kill { at: at.min(ending.finished_at), code: ending.exit_code, is_orphan: true }
                });
                let killed = kill.filter(|kill| kill.goes_on(settings::exit_latency(&pod, ctx), now));
                let probe = killed.map(|kill| pod.arm(kill.at, PodTimer::ProbeKilled(kill.code), ctx));
                match outcome.ending {
                    Some(_) => WorkerState::Running(Run { probe, killed, ..Run::default() }),
                    None => WorkerState::Idle,
                }
            }
            WorkerState::Terminating { stop, mut outcome, .. } => {
                let exit = settings::exit_latency(&pod, ctx);
                let endings = [&mut outcome.ending, &mut outcome.init_ending].into_iter().flatten();
                for ending in endings.filter(|ending| ending.finished_at > now) {
                    let kill = stop.map(|(_, at)| Kill { at, code: ending.exit_code, is_orphan: true });
                    let goes_on = kill.map_or(ending.exit_code != KILLED, |kill| kill.goes_on(exit, now));
                    if !goes_on {
                        ending.finished_at = SimTime::MAX;
                    }
                }
                WorkerState::Terminating { stop: None, ready: None, outcome }
            }
            WorkerState::Stopped(Outcome { status: Some(_), ending, .. }) => match ending {
                Some(ending) => WorkerState::Running(Run { ended_unseen: Some(ending), ..Run::default() }),
                None => WorkerState::Idle,
            },
            WorkerState::Idle | WorkerState::BackingOff { .. } => WorkerState::Idle,
            WorkerState::CleaningUp(_) => WorkerState::CleaningUp(None),
            state @ (WorkerState::Stopped(_) | WorkerState::Over) => state,
        };
        if self.run().is_some_and(|run| run.end.is_none() && run.ended_unseen.is_none()) {
            // Whom the process was about to end comes to its own end again.
            self.watch_end(pod, ctx);
        }
    }

    /// What is left of a start whose kubelet process ends.
    fn halted_start(&self, launch: Launch, awaits: Awaits, pod: &Pod, ctx: &Ctx<'_, Kubelets>) -> WorkerState {
        let left = match awaits {
            Awaits::Room(_) | Awaits::Volumes(_) => return WorkerState::Idle,
            Awaits::Hook { since, next, .. } => Awaits::Hook { since, next, ticket: None },
            Awaits::Containers { begins, runs, .. } if begins <= ctx.now => {
                Awaits::Containers { begins, runs, ticket: None }
            }
            Awaits::Init(run) => {
                let container = pod.spec.init_containers.get(self.at_init);
                run.halted(container, pod, ctx).map_or(Awaits::Process, Awaits::Init)
            }
            Awaits::Containers { .. } | Awaits::Image { .. } | Awaits::InitRestart(_) | Awaits::Process => {
                Awaits::Process
            }
        };
        WorkerState::Starting(launch, left)
    }
}

impl WorkerState {
    /// The timers under way.
    fn tickets(&self) -> [Option<Ticket>; 3] {
        let one = |ticket: Ticket| [Some(ticket), None, None];
        match self {
            Self::Idle | Self::Stopped(_) | Self::Over | Self::Starting(_, Awaits::Process) => [None; 3],
            Self::Starting(
                _,
                Awaits::Hook { ticket, .. } | Awaits::Containers { ticket, .. } | Awaits::Init(InitRun { ticket, .. }),
            )
            | Self::CleaningUp(ticket) => [*ticket, None, None],
            Self::Starting(_, Awaits::Volumes(wait)) => [Some(wait.look_up), Some(wait.sync), None],
            Self::Starting(_, Awaits::Room(ticket) | Awaits::InitRestart(ticket) | Awaits::Image { ticket, .. })
            | Self::BackingOff { ticket, .. } => one(*ticket),
            Self::Running(run) => [run.ready, run.end, run.probe],
            Self::Terminating { stop, ready, .. } => [stop.map(|(ticket, _)| ticket), *ready, None],
        }
    }

    /// The state after containers have stopped, if the API server cannot be reached.
    pub(super) fn stopped(self) -> Self {
        match self {
            Self::Terminating { outcome, .. } => Self::Stopped(outcome),
            state @ (Self::Idle
            | Self::Starting(..)
            | Self::Running(_)
            | Self::BackingOff { .. }
            | Self::Stopped(_)
            | Self::Over
            | Self::CleaningUp(_)) => state,
        }
    }

    /// Takes the timers back.
    pub(super) fn cancel(&self, ctx: &mut Ctx<'_, Kubelets>) {
        for ticket in self.tickets().into_iter().flatten() {
            ctx.cancel(ticket);
        }
    }
}

/// Sets a timer in place of another, which is taken back.
pub(super) fn rearm(timer: &mut Option<Ticket>, ticket: Option<Ticket>, ctx: &mut Ctx<'_, Kubelets>) {
    if let Some(old) = std::mem::replace(timer, ticket) {
        ctx.cancel(old);
    }
}
