//! A pod that is bound to a node, looked up once for all that an event makes of it.

use std::ops::Deref;

use super::Kubelets;
use super::timer::{PodTimer, Timer};
use crate::component::Ctx;
use crate::engine::Ticket;
use crate::state::{NodeId, Pod, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// A pod that is bound to a node.
#[derive(Copy, Clone, Debug)]
pub(super) struct BoundPod<'a> {
    pub(super) id: PodId,
    pub(super) node: NodeId,
    pub(super) object: &'a Pod,
}

impl<'a> BoundPod<'a> {
    /// The pod, if it is still there and has a node.
    pub(super) fn find(id: PodId, store: &'a Store) -> Option<Self> {
        let object = store.pod(id)?;
        Some(Self { id, node: object.node?, object })
    }

    /// All pods of a node.
    pub(super) fn all_on(node: NodeId, store: &'a Store) -> impl Iterator<Item = Self> + 'a {
        store.pods_on(node).iter().filter_map(|id| Self::find(*id, store))
    }

    /// The pods of a node that have not ended, as the API shows them.
    pub(super) fn unfinished_on(node: NodeId, store: &'a Store) -> impl Iterator<Item = Self> + 'a {
        store.unfinished_pods_on(node).iter().filter_map(|id| Self::find(*id, store))
    }

    /// Wakes the kubelets for the pod at `at`.
    pub(super) fn arm(&self, at: SimTime, timer: PodTimer, ctx: &mut Ctx<'_, Kubelets>) -> Ticket {
        ctx.arm(at, Timer::Pod(self.id, timer))
    }

    /// Wakes the kubelets for the pod after `delay`.
    pub(super) fn arm_in(&self, delay: SimDuration, timer: PodTimer, ctx: &mut Ctx<'_, Kubelets>) -> Ticket {
        ctx.arm_in(delay, Timer::Pod(self.id, timer))
    }
}

impl Deref for BoundPod<'_> {
    type Target = Pod;

    fn deref(&self) -> &Pod {
        self.object
    }
}
