//! Graceful node shutdown: pods go group by group, then the machine is off.

use super::Kubelets;
use super::bound_pod::BoundPod;
use super::timer::NodeTimer;
use super::worker::WorkerState;
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::model::config::ShutdownGracePeriodByPodPriority;
use crate::state::{DisruptionReason, MachineChange, NodeId, PodPhase, Status};
use crate::units::SimDuration;

/// The group of a priority: the highest not above it, or the lowest.
fn group_of(groups: &[ShutdownGracePeriodByPodPriority], priority: i32) -> usize {
    groups.iter().rposition(|group| group.priority <= priority).unwrap_or(0)
}

/// What a pod is given to end: its group's time, or its own grace if that is shorter.
fn shutdown_grace(group: SimDuration, own_s: Option<i64>) -> SimDuration {
    own_s.map_or(group, |own| group.min(SimDuration::from_secs(own.max(0).unsigned_abs())))
}

fn length(group: &ShutdownGracePeriodByPodPriority) -> SimDuration {
    SimDuration::from_secs(group.shutdown_grace_period_seconds.max(0).unsigned_abs())
}

impl Kubelets {
    /// # Source
    /// kubelet, node shutdown manager: Ready=False at once, then group by group in ascending priority. Without a
    /// configured grace period the machine simply goes off.
    pub(super) fn shutdown_begins(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let machine = ctx.store.machine(node);
        if !machine.kubelet_alive() || ctx.config.kubelet.shutdown_groups.is_empty() {
            ctx.change_machine(MachineChange::PowerOff(node));
            return;
        }
        let name = ctx.store.node_name(node);
        let message = "Shutdown manager detected shutdown event";
        self.links.event(node, EventDraft::normal("Shutdown", ObjectRef::node(name), message), ctx);
        if self.links.are_up(node, ctx) {
            self.post(node, ctx);
        }
        self.shutdown_step(node, 0, ctx);
    }

    pub(super) fn shutdown_step(&mut self, node: NodeId, group: u32, ctx: &mut Ctx<'_, Self>) {
        let machine = ctx.store.machine(node);
        if !machine.reported.shutting_down || !machine.kubelet_alive() {
            return;
        }
        let is_about_to_stop = |pod: BoundPod<'_>| {
            let state = self.workers.get(&pod.id).map(|worker| &worker.state);
            matches!(state, Some(WorkerState::Terminating { stop: Some((_, at)), .. }) if *at <= ctx.now)
        };
        if BoundPod::unfinished_on(node, ctx.store).any(is_about_to_stop) {
            // It goes on when they have.
            NodeTimer::Shutdown(group).arm(node, ctx.now, ctx);
            return;
        }
        let groups = ctx.config.kubelet.shutdown_groups.clone();
        let mut index = group as usize;
        while let Some(current) = groups.get(index) {
            let is_member = |pod: &BoundPod<'_>| group_of(&groups, pod.spec.priority) == index;
            let members: Vec<_> = self.pods_that_go_on(node, ctx.store).filter(is_member).collect();
            index += 1;
            if members.is_empty() {
                continue;
            }
            let limit = length(current);
            let mut longest = SimDuration::ZERO;
            for pod in members {
                longest = longest.max(self.end_for_shutdown(pod, limit, ctx));
            }
            NodeTimer::Shutdown(index as u32).arm_in(node, longest.min(limit), ctx);
            return;
        }
        ctx.change_machine(MachineChange::PowerOff(node));
    }

    /// Ends a pod because the node goes down; returns how long that takes.
    fn end_for_shutdown(&mut self, pod: BoundPod<'_>, limit: SimDuration, ctx: &mut Ctx<'_, Self>) -> SimDuration {
        let status = PodStatusPatch {
            phase: Some(PodPhase::Failed),
            reason: Some(Symbol::new("Terminated")),
            ready: Some(Status::False),
            disruption: Some((DisruptionReason::TerminationByKubelet, true)),
            ..PodStatusPatch::default()
        };
        let grace = shutdown_grace(limit, pod.spec.termination_grace_period_seconds);
        self.end_pod(pod, grace, status, ctx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config::{KubeletConfiguration, KubernetesVersion};

    fn groups(of: &[(i32, i64)]) -> Vec<ShutdownGracePeriodByPodPriority> {
        let group = |&(priority, seconds): &(i32, i64)| ShutdownGracePeriodByPodPriority {
            priority,
            shutdown_grace_period_seconds: seconds,
        };
        of.iter().map(group).collect()
    }

    #[test]
    fn pods_belong_to_the_highest_group_not_above_their_priority() {
        let groups = groups(&[(1, 10), (2, 10), (3, 10), (4, 10)]);
        let found: Vec<usize> = (0..=5).map(|priority| group_of(&groups, priority)).collect();
        assert_eq!(found, [0, 0, 1, 2, 3, 3]);
    }

    #[test]
    fn critical_pods_are_the_last_group() {
        let groups = groups(&[(0, 180), (2_000_000_000, 120)]);
        let found: Vec<usize> = [0, 1_000_000_000, 2_000_000_000].map(|p| group_of(&groups, p)).to_vec();
        assert_eq!(found, [0, 0, 1]);
    }

    #[test]
    fn shutdown_periods_bound_the_grace_of_plain_and_of_critical_pods() {
        let check = |total: u64, critical: u64, own: Option<i64>, expected: [u64; 2]| {
            let configuration = KubeletConfiguration {
                shutdown_grace_period: Some(SimDuration::from_secs(total)),
                shutdown_grace_period_critical_pods: Some(SimDuration::from_secs(critical)),
                ..KubeletConfiguration::default()
            };
            let groups = configuration.resolve(KubernetesVersion::NEWEST).shutdown_groups;
            let grace = |priority| shutdown_grace(length(&groups[group_of(&groups, priority)]), own).as_secs();
            assert_eq!([0, 2_000_000_000].map(grace), expected, "{total}/{critical}, {own:?}");
        };
        check(30, 10, None, [20, 10]);
        check(30, 10, Some(2), [2, 2]);
        check(30, 10, Some(1000), [20, 10]);
        check(30, 0, None, [30, 0]);
        check(5, 5, None, [0, 5]);
    }

    #[test]
    fn the_shorter_of_group_and_pod_is_the_grace() {
        let s = SimDuration::from_secs;
        assert_eq!(shutdown_grace(s(20), None), s(20));
        assert_eq!(shutdown_grace(s(20), Some(2)), s(2));
        assert_eq!(shutdown_grace(s(20), Some(1000)), s(20));
    }
}
