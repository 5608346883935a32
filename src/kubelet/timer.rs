//! What kubelets wait for.

use super::back_off::PullFailure;
use super::links::Away;
use super::memory::out_of_memory;
use super::probe_timing::ProbeKind;
use super::restart::ends_by_itself;
use crate::arena::Symbol;
use crate::component::{node_name, pod_name};
use crate::state::{Ending, NodeId, PodId, Store};
use crate::units::SimTime;

/// What a kubelet waits for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// Something of its node, for the process of that number: as many have ended before it.
    Node(NodeId, u32, NodeTimer),
    /// Something of one of its pods.
    Pod(PodId, PodTimer),
}

/// What a kubelet waits for on its node.
#[derive(Copy, Clone, Debug)]
pub enum NodeTimer {
    /// The machine is up.
    Booted,
    /// The kubelet sees again what the API server has.
    Reconnected(Away),
    /// The API server, which has been away, answers the kubelet; what its watches show comes by them.
    Answered,
    /// A new kubelet process finds its node ready.
    FirstStatus,
    /// A new kubelet process looks at the pods that are bound to it.
    PodsSeen,
    /// Another try to register.
    Register,
    /// A renewal that was held up gets through.
    LateRenewal,
    /// The status loop comes round and finds the node's conditions written by somebody else.
    Report,
    /// The status loop comes round after the node was cordoned or uncordoned.
    Schedulable,
    /// The eviction manager looks again.
    Pressure,
    /// The graceful shutdown's next group, or the end of it.
    Shutdown(u32),
    /// The node's status says which volumes are in use.
    ReportVolumes,
    /// Containers of a pod that is gone have stopped.
    Died,
}

/// What a kubelet waits for with one pod.
#[derive(Copy, Clone, Debug)]
pub enum PodTimer {
    /// The pods that go for a critical one are gone.
    RoomMade,
    /// The volume manager looks whether the pod's volumes are attached.
    LookUpVolumes,
    /// A sync has waited long enough for the pod's volumes, or the next one begins.
    MountSync,
    /// A pull of the pod's has failed.
    PullFailed(Symbol, PullFailure),
    /// A sync after a failed pull.
    PullSync(Symbol, PullFailure),
    /// An init container begins or has succeeded.
    InitsChange,
    /// The init container of that number has ended with that code.
    InitFailed(u32, i32),
    /// The back-off of an init container is over.
    InitRestart,
    /// The pod's containers run.
    Started,
    /// The pod is ready.
    Ready,
    /// The pod's readiness gates are met.
    GatesMet,
    /// The readiness probe runs and the application is not up yet.
    ProbeEarly,
    /// A probe has failed often enough.
    ProbeFailed(ProbeKind),
    /// The containers that failed their probe have stopped, with this exit code.
    ProbeKilled(i32),
    /// A container ends by itself.
    Ended,
    /// All containers are listed, and one has ended.
    EndSeen,
    /// A container uses more memory than it may.
    OutOfMemory,
    /// A sync finds containers in their back-off, before they are restarted for that time.
    BackOffSync(u32),
    /// A sync finds an init container in its back-off, before it is restarted for that time.
    InitBackOffSync(u32),
    /// The back-off before a restart is over.
    Restart,
    /// The pod has been active as long as it may be.
    Deadline,
    /// The sync may be over that is under way.
    SyncOver,
    /// Housekeeping finds what runs of a pod that has been rejected.
    Orphaned,
    /// The pod's containers have stopped.
    Stopped,
    /// What is left of a pod that has stopped is cleaned up.
    Cleaned,
    /// The status manager compares its pods with the API's.
    Resync,
}

/// How a container ends.
#[derive(Copy, Clone, Debug)]
enum End {
    /// As its pod says.
    ByItself,
    /// Killed for its memory.
    OutOfMemory,
    /// With that exit code.
    WithCode(i32),
}

impl Timer {
    /// Whether what it is about is still there. The machine behind a name outlives its Node object.
    pub(super) fn is_live(&self, store: &Store) -> bool {
        match *self {
            // Containers that die do so whichever process has told them to.
            Self::Node(_, _, NodeTimer::Died) => true,
            Self::Node(node, life, _) => store.machine(node).kubelet_ends == life,
            Self::Pod(pod, _) => store.pod(pod).is_some(),
        }
    }

    /// Whether it is the end of a container.
    pub(super) fn happens(&self) -> bool {
        matches!(self, Self::Pod(_, timer) if timer.end().is_some())
    }

    /// What it is for, in words.
    pub(super) fn words(&self, store: &Store) -> String {
        match self {
            Self::Node(node, _, timer) => format!("{} {}", node_name(store, *node), timer.words()),
            Self::Pod(pod, timer) => {
                let how = timer.ending(*pod, store).map_or_else(String::new, |how| format!(": {how}"));
                format!("{} {}{how}", pod_name(store, *pod), timer.words())
            }
        }
    }
}

impl NodeTimer {
    fn words(self) -> &'static str {
        match self {
            Self::Booted => "has booted",
            Self::Reconnected(_) | Self::Answered => "reaches the API server again",
            Self::FirstStatus => "has a kubelet that has just started",
            Self::PodsSeen => "has a kubelet that looks at its pods for the first time",
            Self::Register => "tries to register",
            Self::LateRenewal => "gets a renewal of its lease through",
            Self::Report => "reports its status",
            Self::Schedulable => "tells whether its node is cordoned",
            Self::Pressure => "looks at its pressure",
            Self::Shutdown(_) => "shuts down",
            Self::ReportVolumes => "reports which volumes it uses",
            Self::Died => "has stopped what was left of a pod",
        }
    }
}

impl PodTimer {
    /// How a container ends with it: `Error, exit code 1`.
    fn ending(self, pod: PodId, store: &Store) -> Option<String> {
        let Ending { exit_code, reason, .. } = match self.end()? {
            End::ByItself => ends_by_itself(store.pod(pod)?, SimTime::ZERO),
            End::OutOfMemory => out_of_memory(SimTime::ZERO),
            End::WithCode(code) => Ending::exit(code, SimTime::ZERO),
        };
        Some(format!("{}, exit code {exit_code}", reason.as_str()))
    }

    /// The end of a container that it is; none if it is anything else.
    fn end(self) -> Option<End> {
        match self {
            Self::Ended => Some(End::ByItself),
            Self::OutOfMemory => Some(End::OutOfMemory),
            Self::ProbeKilled(code) | Self::InitFailed(_, code) => Some(End::WithCode(code)),
            Self::RoomMade
            | Self::LookUpVolumes
            | Self::MountSync
            | Self::PullFailed(..)
            | Self::PullSync(..)
            | Self::InitsChange
            | Self::InitRestart
            | Self::Started
            | Self::Ready
            | Self::GatesMet
            | Self::ProbeEarly
            | Self::ProbeFailed(_)
            | Self::BackOffSync(_)
            | Self::InitBackOffSync(_)
            | Self::Restart
            | Self::Deadline
            | Self::EndSeen
            | Self::SyncOver
            | Self::Orphaned
            | Self::Stopped
            | Self::Cleaned
            | Self::Resync => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Started => "has containers that run",
            Self::RoomMade => "has the room that was made for it",
            Self::PullFailed(..) => "cannot get an image",
            Self::PullSync(..) => "is looked at after a failed pull",
            Self::InitsChange => "has an init container that begins or has succeeded",
            Self::InitFailed(..) => "had an init container that ended",
            Self::InitRestart => "has an init container that backs off no more",
            Self::Ready => "passes its readiness probe",
            Self::SyncOver => "has been synced",
            Self::Orphaned => "is not the node's, and is looked at by housekeeping",
            Self::Stopped => "has containers that have ended",
            Self::Cleaned => "has been cleaned up",
            Self::Deadline => "is past its deadline",
            Self::GatesMet => "has its readiness gates met",
            Self::Ended => "had a container that ended by itself",
            Self::EndSeen => "is seen to have a container that has ended",
            Self::ProbeFailed(_) => "has failed its probe often enough",
            Self::ProbeEarly => "is probed before it is up",
            Self::ProbeKilled(_) => "had a container that was stopped because of its probe",
            Self::BackOffSync(_) | Self::InitBackOffSync(_) => "is looked at in its back-off",
            Self::Restart => "backs off no more",
            Self::Resync => "is compared with what the API server has",
            Self::LookUpVolumes | Self::MountSync => "is looked at for its volumes",
            Self::OutOfMemory => "had a container that used more memory than it may",
        }
    }
}
