//! Whom a fault hits, once it is its time.

use super::spec::FaultSpec;
use super::target::select_pods;
use super::{Chaos, Target};
use crate::component::{Ctx, FaultTarget};
use crate::state::{FaultId, NodeId};

/// Who asked for a fault.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An entry of the timeline.
    Timeline,
    /// A random process.
    Process,
}

/// Which fault begins, and whom it hits.
#[derive(Copy, Clone, Debug)]
pub(super) struct Hit<'a> {
    pub(super) fault: FaultId,
    /// Names what it draws.
    pub(super) name: &'a str,
    /// Machines that exist.
    pub(super) nodes: &'a [NodeId],
    /// Whether machines are hit, too, that join while it lasts.
    pub(super) is_everywhere: bool,
    pub(super) origin: Origin,
}

/// A fault that has begun.
#[derive(Clone, Debug)]
pub(super) struct Begun {
    pub(super) fault: FaultId,
    /// The machines that it hit.
    pub(super) nodes: Vec<NodeId>,
}

/// What a fault hits that has these nodes, whenever it is asked at one instant: processes, pods or machines.
pub(super) fn hit(spec: &FaultSpec, name: &str, nodes: &[NodeId], ctx: &Ctx<'_, Chaos>) -> Vec<FaultTarget> {
    match spec.fault.target() {
        Target::Processes(processes) => processes.into_iter().map(FaultTarget::Process).collect(),
        Target::Pods(pods) => select_pods(pods, nodes, name, ctx).into_iter().map(FaultTarget::Pod).collect(),
        Target::Nodes | Target::Images(_) => nodes.iter().copied().map(FaultTarget::Node).collect(),
    }
}

/// The names of what a fault hits.
pub(super) fn names(hit: &[FaultTarget], ctx: &Ctx<'_, Chaos>) -> Vec<String> {
    let names = hit.iter().filter_map(|target| match *target {
        FaultTarget::Process(process) => Some(process.as_str().to_owned()),
        FaultTarget::Pod(pod) => ctx.store.pod(pod).map(|pod| format!("pod/{}/{}", pod.namespace, pod.name)),
        FaultTarget::Node(node) => Some(ctx.store.node_name(node).to_string()),
    });
    names.collect()
}

/// What a fault hits, in words; none if that is nothing. All names are there, as whoever reads the events may look for one.
pub(super) fn describe(spec: &FaultSpec, hit: &[FaultTarget], ctx: &Ctx<'_, Chaos>) -> Option<String> {
    let names = names(hit, ctx);
    let images = match spec.fault.target() {
        Target::Images([]) => "all images on ".to_owned(),
        Target::Images(images) => format!("{} on ", images.join(" and ")),
        Target::Nodes | Target::Pods(_) | Target::Processes(_) => String::new(),
    };
    (!names.is_empty()).then(|| format!("{} of {images}{}", spec.kind().as_str(), names.join(", ")))
}
