//! The kinds of faults: those of processes, of machines and of pods.

mod control_plane_outage;
mod image_pull_failure;
mod losses;
mod pods;
mod spot_interruption;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

pub(super) use spot_interruption::reclaimed;

use super::nesting::{Loss, Nesting};
use super::spec::{FaultKind, FaultSpec};
use super::{Chaos, ChaosPlan, target};
use crate::component::{Ctx, FaultTarget};
use crate::engine::{Distribution, Stream};
use crate::state::{MachineChange, NodeId, Usage};
use crate::units::SimDuration;

/// What faults have done to the world and not yet undone.
#[derive(Clone, Debug, Default)]
pub(super) struct Damage {
    nesting: Nesting,
    /// Machines in graceful shutdown whose fault is over already: they are powered on as soon as they are off.
    returning: FxHashSet<NodeId>,
    /// How late the renewals of a node are.
    delays: FxHashMap<NodeId, (Distribution, Stream)>,
    /// Spot instances that have been warned.
    reclaims: FxHashMap<NodeId, spot_interruption::Reclaim>,
    /// What faults make others than pods use of a machine.
    burdens: FxHashMap<NodeId, Vec<Usage>>,
    /// Pulls that fail.
    pull_failures: Vec<image_pull_failure::PullFailure>,
    /// By pool: numbers from here on have not been given.
    next_numbers: FxHashMap<usize, u64>,
    plan: Arc<ChaosPlan>,
}

impl Damage {
    /// Nothing is broken.
    pub(super) fn none(plan: Arc<ChaosPlan>) -> Self {
        Self { plan, ..Self::default() }
    }
}

/// What a fault that begins now hits, in words: processes, pods, images or machines. None if it hits nothing.
pub(super) fn describe(fault: &FaultSpec, name: &str, nodes: &[NodeId], ctx: &Ctx<'_, Chaos>) -> Option<String> {
    let machines = target::describe(nodes, ctx);
    match fault.kind {
        FaultKind::ControlPlaneOutage => {
            let names: Vec<&str> =
                control_plane_outage::processes(fault).iter().map(|process| process.as_str()).collect();
            Some(format!("{} of {}", fault.kind.as_str(), names.join(", ")))
        }
        FaultKind::ContainerCrash | FaultKind::OomKill | FaultKind::PodKill => {
            let pods = pods::meant(fault, name, nodes, ctx);
            let pods = pods.into_iter().filter_map(|pod| ctx.store.pod(pod));
            let names: Vec<String> = pods.map(|pod| format!("pod/{}/{}", pod.namespace, pod.name)).collect();
            (!names.is_empty()).then(|| format!("{} of {}", fault.kind.as_str(), names.join(", ")))
        }
        _ if nodes.is_empty() => None,
        FaultKind::ImagePullFailure => {
            let images = if fault.images.is_empty() { "all images".to_owned() } else { fault.images.join(" and ") };
            Some(format!("{} of {images} on {machines}", fault.kind.as_str()))
        }
        _ => Some(format!("{} of {machines}", fault.kind.as_str())),
    }
}

/// What a fault that begins now hits: processes, pods or machines.
pub(super) fn targets(fault: &FaultSpec, name: &str, nodes: &[NodeId], ctx: &Ctx<'_, Chaos>) -> Vec<FaultTarget> {
    if fault.kind == FaultKind::ControlPlaneOutage {
        return control_plane_outage::processes(fault).into_iter().map(FaultTarget::Process).collect();
    }
    if fault.kind.hits_pods() {
        return pods::meant(fault, name, nodes, ctx).into_iter().map(FaultTarget::Pod).collect();
    }
    nodes.iter().copied().map(FaultTarget::Node).collect()
}

/// A fault begins.
pub(super) fn begin(fault: &FaultSpec, name: &str, nodes: &[NodeId], damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    match fault.kind {
        FaultKind::ControlPlaneOutage => control_plane_outage::begin(fault, &mut damage.nesting, ctx),
        FaultKind::ImagePullFailure => image_pull_failure::begin(fault, nodes, damage, ctx),
        FaultKind::ContainerCrash | FaultKind::OomKill | FaultKind::PodKill => pods::hit(fault, name, nodes, ctx),
        FaultKind::SpotInterruption => {
            for &node in nodes {
                spot_interruption::begin(fault, node, damage, ctx);
            }
        }
        _ => {
            for &node in nodes {
                losses::begin(fault, name, node, damage, ctx);
            }
        }
    }
}

/// A fault ends.
pub(super) fn end(fault: &FaultSpec, nodes: &[NodeId], damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    if fault.kind == FaultKind::ControlPlaneOutage {
        control_plane_outage::end(fault, &mut damage.nesting, ctx);
        return;
    }
    if fault.kind == FaultKind::ImagePullFailure {
        image_pull_failure::end(fault, nodes, damage, ctx);
        return;
    }
    for &node in nodes {
        if fault.kind == FaultKind::SpotInterruption {
            spot_interruption::end(node, damage, ctx);
        } else {
            losses::end(fault, node, damage, ctx);
        }
    }
}

impl Damage {
    /// What follows from a change of the machines: the world goes on in the middle of a fault.
    pub(super) fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Chaos>) {
        match *change {
            MachineChange::PowerOff(node) if self.returning.remove(&node) && !self.nesting.holds(node, Loss::Power) => {
                ctx.change_machine(MachineChange::PowerOn(node));
            }
            MachineChange::HeartbeatBegins { node, .. } => self.hold_up(node, ctx),
            // Whoever takes the machine away: nothing of it is broken any more.
            MachineChange::InstanceGone(node) => self.forget(node),
            _ => {}
        }
    }

    /// The machine is gone for good.
    fn forget(&mut self, node: NodeId) {
        self.nesting.forget(node);
        self.delays.remove(&node);
        self.burdens.remove(&node);
        self.returning.remove(&node);
        self.reclaims.remove(&node);
    }

    /// Draws by how much the next renewal of a slow node is late.
    fn hold_up(&mut self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        if let Some((distribution, stream)) = self.delays.get_mut(&node) {
            let delay = distribution.sample(stream).max(SimDuration::from_nanos(1));
            ctx.change_machine(MachineChange::HeartbeatsDelayed { node, delay_ns: delay.as_nanos() });
        }
    }
}
