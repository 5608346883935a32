//! Lease renewals and status reports of a node: loops with a phase of their own.

use super::Kubelets;
use super::links::Away;
use super::timer::NodeTimer;
use super::worker::rearm;
use crate::component::{Ctx, since_input};
use crate::engine::Stream;
use crate::state::{HeartbeatLoop, MachineChange, NodeId};
use crate::units::{SimDuration, SimTime};

/// How far back a running kubelet's loops began, so that every phase is possible at t=0.
const LONG_AGO: SimDuration = SimDuration::from_secs(3600);

fn stream(node: NodeId, ctx: &Ctx<'_, Kubelets>) -> Stream {
    let name = ctx.store.node_name(node);
    // One block of draws per begin: what happened before decides nothing but the place in the stream.
    let begun = (ctx.now.as_nanos() / 1_000_000).unsigned_abs();
    ctx.streams.at("node-heartbeat", name.as_str(), begun)
}

fn lease_interval(ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    ctx.config.kubelet.node_lease_duration / 4
}

fn uniform(stream: &mut Stream, length: SimDuration) -> SimDuration {
    SimDuration::from_secs_f64(stream.unit() * length.as_secs_f64())
}

/// The kubelet has been running since before t=0: in a young cluster, since its node has registered.
pub(super) fn begin_long_ago(node: NodeId, is_young: bool, ctx: &mut Ctx<'_, Kubelets>) {
    let mut stream = stream(node, ctx);
    let interval = lease_interval(ctx);
    let report = ctx.config.kubelet.node_status_report_frequency;
    let lease_first = lease_phase(node, is_young, &mut stream, ctx);
    let report_first = ctx.now - LONG_AGO - uniform(&mut stream, report);
    let lease = HeartbeatLoop::new(lease_first, interval, stream.next_u64());
    let reports = HeartbeatLoop::new(report_first, report, stream.next_u64());
    ctx.change_machine(MachineChange::HeartbeatBegins { node, lease, reports });
}

/// A renewal of the past, from which the others are counted.
///
/// # Source
/// Kubelet, lease controller: the first renewal comes with the registration, each further one 100 to 104 % of the interval
/// after the last. So kubelets that joined together renew together until jitter has pulled them apart, which takes hours.
fn lease_phase(node: NodeId, is_young: bool, stream: &mut Stream, ctx: &Ctx<'_, Kubelets>) -> SimTime {
    let interval = lease_interval(ctx);
    let created_at = ctx.store.node(node).map_or(ctx.now, |object| object.created_at);
    let renewal_count = ctx.now.saturating_since(created_at).as_nanos() / interval.as_nanos().max(1);
    // As wide as the sum of so many jitters of 4 %.
    let spread = interval * renewal_count.isqrt() / 25;
    if spread >= interval {
        return ctx.now - LONG_AGO - uniform(stream, interval);
    }
    // What passed between the last time stamp of the input and t=0 is not known, but the same for all. The node's own part
    // holds the second to which its time stamp is cut.
    let since_input = since_input(is_young, ctx);
    let own = uniform(stream, spread + SimDuration::from_secs(1));
    let registered_at = created_at - since_input + own;
    if is_young { registered_at } else { registered_at - LONG_AGO }
}

/// The kubelet renews its lease now and goes on from here.
pub(super) fn begin_now(node: NodeId, ctx: &mut Ctx<'_, Kubelets>) {
    begin(node, None, ctx);
}

/// A kubelet that has been running is heard again. A stand-in renews its lease now, and keeps the beat that it had.
pub(super) fn is_heard_again(node: NodeId, is_stand_in: bool, ctx: &mut Ctx<'_, Kubelets>) {
    let kept = ctx.store.heartbeat(node).lease().filter(|_| is_stand_in);
    begin(node, kept, ctx);
}

fn begin(node: NodeId, kept: Option<HeartbeatLoop>, ctx: &mut Ctx<'_, Kubelets>) {
    let mut stream = stream(node, ctx);
    let key = stream.next_u64();
    let lease = kept.unwrap_or_else(|| HeartbeatLoop::new(ctx.now, lease_interval(ctx), key));
    let reports = reports(&mut stream, ctx.now, ctx);
    ctx.change_machine(MachineChange::HeartbeatBegins { node, lease, reports });
}

/// The status was posted because something changed.
pub(super) fn posted(node: NodeId, ctx: &mut Ctx<'_, Kubelets>) {
    let mut stream = stream(node, ctx);
    let _ = stream.next_u64();
    let reports = reports(&mut stream, ctx.now, ctx);
    ctx.change_machine(MachineChange::StatusPosted { node, reports });
}

/// # Source
/// kubelet, node status (1.34+): the first report after a change comes 0.5 to 1.5 report periods later.
fn reports(stream: &mut Stream, now: SimTime, ctx: &Ctx<'_, Kubelets>) -> HeartbeatLoop {
    let period = ctx.config.kubelet.node_status_report_frequency;
    let first = if ctx.config.version.at_least(34) { period / 2 + uniform(stream, period) } else { period };
    HeartbeatLoop::new(now + first, period, stream.next_u64())
}

impl Kubelets {
    /// Nothing reaches the API server: renewals end for everybody.
    pub(super) fn api_stopped(&mut self, ctx: &mut Ctx<'_, Self>) {
        self.links.is_api_down = true;
        // Every kubelet loses its API server, so every node is looked at.
        for node in ctx.store.node_ids() {
            if ctx.store.heartbeat(node).is_alive() {
                ctx.change_machine(MachineChange::HeartbeatLost(node));
            }
        }
    }

    /// The API server answers again.
    ///
    /// # Source
    /// kubelet, lease controller: after failures it tries again at most 7 s apart. A stand-in has but one try each interval.
    pub(super) fn api_started(&mut self, ctx: &mut Ctx<'_, Self>) {
        const RETRY_MAX: SimDuration = SimDuration::from_secs(7);
        self.links.is_api_down = false;
        let nodes: Vec<NodeId> = ctx.store.node_ids().filter(|&node| ctx.store.machine(node).talks()).collect();
        for node in nodes {
            let is_stand_in = self.links.is_stand_in(node, ctx);
            let beat = ctx.store.heartbeat(node).next_beat(ctx.now).filter(|_| is_stand_in);
            let delay = match beat {
                Some(beat) => beat.saturating_since(ctx.now),
                None => uniform(&mut stream(node, ctx), RETRY_MAX),
            };
            let is_unheard = self.links.process(node).is_some_and(|process| process.is_unheard);
            if is_unheard && !is_stand_in {
                self.reads_later(node, ctx);
            }
            if is_stand_in || is_unheard {
                self.await_reconnection(node, delay, Away::ApiServer, ctx);
            } else {
                self.sees_what_it_missed(node, ctx);
                NodeTimer::Answered.arm_in(node, delay, ctx);
            }
        }
    }

    /// The next renewal gets through late.
    pub(super) fn renewal_held_up(&mut self, node: NodeId, delay: SimDuration, ctx: &mut Ctx<'_, Self>) {
        if delay == SimDuration::ZERO || !ctx.store.machine(node).talks() {
            return;
        }
        let last = ctx.store.heartbeat(node).renewed_at(ctx.now).unwrap_or(ctx.now);
        let due = (last + lease_interval(ctx)).max(ctx.now) + delay;
        let ticket = NodeTimer::LateRenewal.arm(node, due, ctx);
        rearm(&mut self.links.process_mut(node).late, Some(ticket), ctx);
    }
}
