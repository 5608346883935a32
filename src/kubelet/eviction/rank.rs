//! In which order pods are evicted.

use std::cmp::Reverse;

use super::starved::StarvedResource;
use crate::kubelet::settings::{amount, disk_use};
use crate::model::StatedUsage;
use crate::state::Pod;

/// What decides when a pod's turn comes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rank {
    priority: i32,
    /// What it uses; none while nothing of it runs.
    usage: Option<Amounts>,
    requests: Amounts,
}

/// Amounts of what can run short: memory, disk, processes.
pub(super) type Amounts = [i64; 3];

impl Rank {
    pub(super) fn new(pod: &Pod, usage: Option<&StatedUsage>) -> Self {
        let amounts = |usage: &StatedUsage| [amount(usage.memory), disk_use(pod, usage), amount(usage.pids)];
        let requests = StarvedResource::ALL.map(|starved| starved.request(pod));
        Self { priority: pod.spec.priority, usage: usage.map(amounts), requests }
    }

    /// The place in the order; the least goes first.
    ///
    /// # Source
    /// kubelet, `rankMemoryPressure`, `rankDiskPressureFunc`: pods of which there are no figures, then those over their
    /// request; each by lower priority, then by how far they are over it. `rankPIDPressure`: lower priority, then pods of which
    /// there are no figures, then those with more processes.
    #[expect(clippy::unnecessary_wraps, reason = "the other order leaves pods out")]
    pub(super) fn key(&self, starved: StarvedResource) -> Option<(bool, bool, i32, bool, Reverse<i64>)> {
        let over = self.over(starved);
        let is_measured = over.is_some();
        Some(match starved {
            StarvedResource::Memory | StarvedResource::Disk => {
                let is_within = over.is_none_or(|over| over <= 0);
                (is_measured, is_within, self.priority, false, Reverse(over.unwrap_or(0)))
            }
            StarvedResource::Pids => (false, false, self.priority, is_measured, Reverse(over.unwrap_or(0))),
        })
    }

    /// The place among pods that are over their request; none for others.
    pub(super) fn key_if_over(&self, starved: StarvedResource) -> Option<(i32, Reverse<i64>)> {
        let over = self.over(starved)?;
        (over > 0).then_some((self.priority, Reverse(over)))
    }

    /// How far it is over its request.
    fn over(&self, starved: StarvedResource) -> Option<i64> {
        Some(self.usage?[starved as usize].saturating_sub(self.requests[starved as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pods by name, priority, usage and request, in the order in which they go.
    fn check(starved: StarvedResource, pods: &[(&str, i32, Option<i64>, i64)]) {
        let mut ranked: Vec<(&str, Rank)> = pods
            .iter()
            .map(|&(name, priority, usage, request)| {
                (name, Rank { priority, usage: usage.map(|usage| [usage; 3]), requests: [request; 3] })
            })
            .collect();
        ranked.reverse();
        ranked.sort_by_key(|(_, rank)| rank.key(starved));
        let order: Vec<&str> = ranked.iter().map(|(name, _)| *name).collect();
        let expected: Vec<&str> = pods.iter().map(|pod| pod.0).collect();
        assert_eq!(order, expected);
    }

    #[test]
    fn pods_over_their_request_go_by_priority_then_by_how_far_they_are_over() {
        check(
            StarvedResource::Memory,
            &[
                ("low 500 over", 0, Some(600), 100),
                ("low 50 over", 0, Some(150), 100),
                ("high 500 over", 1000, Some(600), 100),
                ("high 50 over", 1000, Some(150), 100),
                ("low 100 under", 0, Some(800), 900),
                ("low 700 under", 0, Some(200), 900),
                ("high under", 1000, Some(400), 900),
            ],
        );
    }

    #[test]
    fn without_priorities_the_excess_alone_decides() {
        check(
            StarvedResource::Disk,
            &[
                ("700", 0, Some(800), 100),
                ("500", 0, Some(500), 0),
                ("300", 0, Some(400), 100),
                ("200", 0, Some(300), 100),
                ("-200", 0, Some(700), 900),
                ("-800", 0, Some(100), 900),
            ],
        );
    }

    #[test]
    fn pods_without_figures_go_first() {
        check(StarvedResource::Memory, &[("high", 1000, None, 100), ("low", 0, Some(600), 100)]);
    }

    #[test]
    fn for_process_numbers_priority_comes_before_everything() {
        let pods = [("unknown", 0, None, 0), ("many", 0, Some(500), 0), ("few", 0, Some(5), 0), ("high", 9, None, 0)];
        check(StarvedResource::Pids, &pods);
    }
}
