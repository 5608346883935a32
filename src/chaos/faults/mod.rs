//! The kinds of faults, a file each where there is more to it than one loss.

mod control_plane_outage;
mod losses;
mod pods;

use super::nesting::Nesting;
use super::spec::{FaultKind, FaultSpec};
use super::Chaos;
use crate::component::Ctx;
use crate::state::NodeId;

/// A fault begins.
pub(super) fn begin(fault: &FaultSpec, name: &str, nodes: &[NodeId], nesting: &mut Nesting, ctx: &mut Ctx<'_, Chaos>) {
    match fault.kind {
        FaultKind::ControlPlaneOutage => control_plane_outage::begin(fault, ctx),
        FaultKind::ContainerCrash | FaultKind::OomKill | FaultKind::PodKill => pods::hit(fault, name, nodes, ctx),
        kind => begin_kind(kind, nodes, nesting, ctx),
    }
}

/// A fault ends.
pub(super) fn end(fault: &FaultSpec, nodes: &[NodeId], nesting: &mut Nesting, ctx: &mut Ctx<'_, Chaos>) {
    match fault.kind {
        FaultKind::ControlPlaneOutage => control_plane_outage::end(fault, ctx),
        kind => end_kind(kind, nodes, nesting, ctx),
    }
}

/// A fault of nodes begins.
pub(super) fn begin_kind(kind: FaultKind, nodes: &[NodeId], nesting: &mut Nesting, ctx: &mut Ctx<'_, Chaos>) {
    for &node in nodes {
        losses::begin(kind, node, nesting, ctx);
    }
}

/// A fault of nodes ends.
pub(super) fn end_kind(kind: FaultKind, nodes: &[NodeId], nesting: &mut Nesting, ctx: &mut Ctx<'_, Chaos>) {
    for &node in nodes {
        losses::end(kind, node, nesting, ctx);
    }
}
