//! What kubelets wait for.

use super::back_off::PullFailure;
use super::links::Away;
use super::probe_timing::ProbeKind;
use crate::arena::Symbol;
use crate::component::{node_name, pod_name};
use crate::state::{NodeId, PodId, Store};

/// What a kubelet waits for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// Something of its node.
    Node(NodeId, NodeTimer),
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
    /// The eviction manager looks again.
    Pressure,
    /// The graceful shutdown's next group, or the end of it.
    Shutdown(u32),
    /// The node's status says which volumes are in use.
    ReportVolumes,
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
    /// A probe runs and the application is not up yet.
    ProbeEarly(ProbeKind),
    /// A probe has failed often enough.
    ProbeFailed(ProbeKind),
    /// The containers that failed their probe have stopped, with this exit code.
    ProbeKilled(i32),
    /// A container ends by itself.
    Ended,
    /// A container uses more memory than it may.
    OutOfMemory,
    /// The back-off before a restart is over.
    Restart,
    /// The pod has been active as long as it may be.
    Deadline,
    /// The pod's containers have stopped.
    Stopped,
    /// What is left of a pod that has stopped is cleaned up.
    Cleaned,
    /// The status manager compares its pods with the API's.
    Resync,
}

impl Timer {
    /// Whether what it is about is still there. The machine behind a name outlives its Node object.
    pub(super) fn is_live(&self, store: &Store) -> bool {
        match *self {
            Self::Node(..) => true,
            Self::Pod(pod, _) => store.pod(pod).is_some(),
        }
    }

    /// What it is for, in words.
    pub(super) fn words(&self, store: &Store) -> String {
        match self {
            Self::Node(node, timer) => format!("{} {}", node_name(store, *node), timer.words()),
            Self::Pod(pod, timer) => format!("{} {}", pod_name(store, *pod), timer.words()),
        }
    }
}

impl NodeTimer {
    fn words(self) -> &'static str {
        match self {
            Self::Booted => "has booted",
            Self::Reconnected(_) => "reaches the API server again",
            Self::FirstStatus => "has a kubelet that has just started",
            Self::PodsSeen => "has a kubelet that looks at its pods for the first time",
            Self::Register => "tries to register",
            Self::LateRenewal => "gets a renewal of its lease through",
            Self::Report => "reports its status",
            Self::Pressure => "looks at its pressure",
            Self::Shutdown(_) => "shuts down",
            Self::ReportVolumes => "reports which volumes it uses",
        }
    }
}

impl PodTimer {
    fn words(self) -> &'static str {
        match self {
            Self::Started => "has containers that run",
            Self::RoomMade => "has the room that was made for it",
            Self::PullFailed(..) => "cannot get an image",
            Self::PullSync(..) => "is looked at after a failed pull",
            Self::InitFailed(..) => "has an init container that has failed",
            Self::InitRestart => "has an init container that backs off no more",
            Self::Ready => "passes its readiness probe",
            Self::Stopped => "has containers that have ended",
            Self::Cleaned => "has been cleaned up",
            Self::Deadline => "is past its deadline",
            Self::GatesMet => "has its readiness gates met",
            Self::Ended => "has a container that ends by itself",
            Self::ProbeFailed(_) => "has failed its probe often enough",
            Self::ProbeEarly(_) => "is probed before it is up",
            Self::ProbeKilled(_) => "has been stopped because of its probe",
            Self::Restart => "backs off no more",
            Self::Resync => "is compared with what the API server has",
            Self::LookUpVolumes | Self::MountSync => "is looked at for its volumes",
            Self::OutOfMemory => "uses more memory than it may",
        }
    }
}
