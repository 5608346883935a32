//! Which pods go first.

use std::cmp::Ordering;

use crate::arena::sym;
use crate::state::{Pod, PodPhase};
use crate::units::SimTime;

fn deletion_cost(pod: &Pod) -> i32 {
    let annotation = pod.spec.annotations.get(&sym!("controller.kubernetes.io/pod-deletion-cost"));
    annotation.and_then(|cost| cost.as_str().parse().ok()).unwrap_or(0)
}

/// The whole second that the API shows for an instant.
fn shown_second(at: SimTime) -> i64 {
    at.as_nanos().div_euclid(NANOS_PER_SECOND)
}

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// floor(log2(age)) in nanoseconds since the shown second; -1 for no age.
fn age_bucket(since: SimTime, now: SimTime) -> i32 {
    let age = now.as_nanos() - shown_second(since) * NANOS_PER_SECOND;
    if age <= 0 { -1 } else { age.ilog2() as i32 }
}

/// Sorts by an order that need not be transitive, keeping what is equal in place. The order of victims is not: pods made in
/// one second are equal, and each is before or after a third of nearly their age by its UID. The sort of the standard
/// library may panic on such an order.
pub(super) fn merge_sorted<T: Copy>(mut items: Vec<T>, order: &dyn Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut width = 1;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for pair in items.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(first), Some(second)) = (left.first(), right.first()) {
                if order(second, first).is_lt() {
                    merged.push(*second);
                    right = &right[1..];
                } else {
                    merged.push(*first);
                    left = &left[1..];
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        items = merged;
        width *= 2;
    }
    items
}

/// Which of two pods goes first.
pub(super) fn victim_order(a: &Pod, b: &Pod, rank_a: i32, rank_b: i32, now: SimTime) -> Ordering {
    let phase = |pod: &Pod| i32::from(pod.phase == PodPhase::Running);
    let ready = (a.is_ready(), b.is_ready());
    a.node
        .is_some()
        .cmp(&b.node.is_some())
        .then_with(|| phase(a).cmp(&phase(b)))
        .then_with(|| ready.0.cmp(&ready.1))
        .then_with(|| deletion_cost(a).cmp(&deletion_cost(b)))
        .then_with(|| rank_b.cmp(&rank_a))
        .then_with(|| match (ready, a.ready, b.ready) {
            ((true, true), Some(since_a), Some(since_b))
                if shown_second(since_a.since) != shown_second(since_b.since) =>
            {
                let buckets = (age_bucket(since_a.since, now), age_bucket(since_b.since, now));
                buckets.0.cmp(&buckets.1).then_with(|| a.uid.cmp(&b.uid))
            }
            _ => Ordering::Equal,
        })
        .then_with(|| b.restarts_max().cmp(&a.restarts_max()))
        .then_with(|| b.sidecar_restarts_max().cmp(&a.sidecar_restarts_max()))
        .then_with(|| {
            if shown_second(a.created_at) == shown_second(b.created_at) {
                return Ordering::Equal;
            }
            let buckets = (age_bucket(a.created_at, now), age_bucket(b.created_at, now));
            buckets.0.cmp(&buckets.1).then_with(|| a.uid.cmp(&b.uid))
        })
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::arena::Symbol;
    use crate::state::{ContainerStatus, NodeId, PodCondition, Status, Store};
    use crate::testing::bare_pod;

    pub(in super::super) const NOW: SimTime = SimTime::from_secs(100_000_000);
    const HOUR: i64 = 3600;

    fn node(name: &str) -> Option<NodeId> {
        Some(Store::default().node_slot(Symbol::new(name)))
    }

    pub(in super::super) fn ago(seconds: i64) -> SimTime {
        SimTime::from_secs(100_000_000 - seconds)
    }

    pub(in super::super) fn running(uid: u128, ready_since: Option<SimTime>) -> Pod {
        let mut pod = bare_pod("p", uid);
        pod.node = node("n");
        pod.phase = PodPhase::Running;
        pod.created_at = ago(1000 * HOUR);
        pod.ready = ready_since.map(|since| PodCondition { status: Status::True, since });
        pod
    }

    fn restarted(restarts: u32) -> Pod {
        let mut pod = running(1, Some(ago(1)));
        pod.containers.push(ContainerStatus { restarts, ..ContainerStatus::default() });
        pod
    }

    fn created(uid: u128, at: SimTime) -> Pod {
        let mut pod = bare_pod("p", uid);
        pod.created_at = at;
        pod
    }

    /// The first goes before the second, whichever way they are compared.
    #[track_caller]
    fn check_before(first: &Pod, second: &Pod, ranks: (i32, i32)) {
        assert_eq!(victim_order(first, second, ranks.0, ranks.1, NOW), Ordering::Less);
        assert_eq!(victim_order(second, first, ranks.1, ranks.0, NOW), Ordering::Greater);
    }

    #[test]
    fn pods_that_do_less_go_first() {
        let unscheduled = created(1, ago(1));
        let pending = Pod { node: node("n"), ..created(1, ago(1)) };
        let not_ready = running(1, None);
        let ready_now = running(1, Some(NOW));
        let ready_long_ago = running(1, Some(ago(30 * 24 * HOUR)));
        let order = [unscheduled, pending, not_ready, ready_now, ready_long_ago];
        for pair in order.windows(2) {
            check_before(&pair[0], &pair[1], (0, 0));
        }
        check_before(&restarted(9001), &restarted(0), (0, 0));
    }

    #[test]
    fn a_pod_on_a_fuller_node_goes_before_any_rule_of_time() {
        check_before(&running(1, Some(ago(1000))), &running(2, Some(ago(1))), (2, 1));
    }

    #[test]
    fn deletion_cost_goes_before_rank() {
        let costs = |cost: &str| {
            let mut pod = running(1, Some(ago(1)));
            let annotations =
                [(Symbol::new("controller.kubernetes.io/pod-deletion-cost"), Symbol::new(cost))].into_iter().collect();
            Arc::make_mut(&mut pod.spec).annotations = Arc::new(annotations);
            pod
        };
        check_before(&costs("10"), &costs("100"), (1, 2));
        check_before(&costs("-1"), &costs("none"), (0, 0));
    }

    #[test]
    fn ready_times_count_by_powers_of_two() {
        check_before(&running(2, Some(ago(2 * HOUR))), &running(1, Some(ago(5 * HOUR))), (0, 0));
        // 5 h and 8 h are in one bucket: the lower UID decides.
        check_before(&running(1, Some(ago(5 * HOUR))), &running(2, Some(ago(8 * HOUR))), (0, 0));
        check_before(&running(1, Some(ago(8 * HOUR))), &running(2, Some(ago(5 * HOUR))), (0, 0));
        check_before(&created(1, ago(5 * HOUR)), &created(2, ago(8 * HOUR)), (0, 0));
        check_before(&created(2, NOW), &created(1, ago(30 * 24 * HOUR)), (0, 0));
    }

    #[test]
    fn of_two_pods_one_goes_first_whichever_way_they_are_compared() {
        let mut stream = crate::engine::Streams::new(1).stream("victims", "random");
        let mut pod = |uid: u128| {
            let mut below = |n: u32| stream.below(n);
            let mut pod = created(uid, ago(i64::from(below(5)) * HOUR));
            if below(4) > 0 {
                pod.node = node("n");
                pod.phase = if below(4) > 0 { PodPhase::Running } else { PodPhase::Pending };
                let since = ago(i64::from(below(5)) * HOUR);
                pod.ready = (below(3) > 0).then_some(PodCondition { status: Status::True, since });
                pod.containers.push(ContainerStatus { restarts: below(2), ..ContainerStatus::default() });
            }
            (pod, below(3) as i32)
        };
        for uid in 0..2000 {
            let ((a, rank_a), (b, rank_b)) = (pod(2 * uid), pod(2 * uid + 1));
            let order = victim_order(&a, &b, rank_a, rank_b, NOW);
            assert_eq!(order.reverse(), victim_order(&b, &a, rank_b, rank_a, NOW), "{a:?} {b:?}");
            // The first rules, in their order, for those that they tell apart.
            let first = |pod: &Pod| (pod.node.is_some(), pod.phase == PodPhase::Running, pod.is_ready());
            if first(&a) != first(&b) {
                assert_eq!(order, first(&a).cmp(&first(&b)), "{a:?} {b:?}");
            } else if rank_a != rank_b {
                assert_eq!(order, rank_b.cmp(&rank_a), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn restarts_of_sidecars_tell_pods_apart_that_are_equal_otherwise() {
        let with_sidecar = |restarts: u32| {
            let mut pod = restarted(3);
            let containers = "[{name: proxy, image: i, restartPolicy: Always}]";
            Arc::make_mut(&mut pod.spec).spec.init_containers = serde_saphyr::from_str(containers).expect("containers");
            pod.init_containers.push(ContainerStatus { restarts, ..ContainerStatus::default() });
            pod
        };
        check_before(&with_sidecar(5), &with_sidecar(2), (0, 0));
        check_before(&restarted(4), &with_sidecar(5), (0, 0));
    }

    #[test]
    fn orders_that_go_in_circles_are_sorted_without_a_panic() {
        let circle = |a: &u32, b: &u32| ((b + 3 - a) % 3).cmp(&1).reverse();
        let mut sorted = merge_sorted((0..1_000).map(|n| n % 3).collect(), &circle);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1_000).map(|n| n % 3).collect::<std::collections::BinaryHeap<u32>>().into_sorted_vec());
        let by_tens = merge_sorted(vec![31, 12, 25, 11, 39, 20], &|a: &i32, b: &i32| (a / 10).cmp(&(b / 10)));
        assert_eq!(by_tens, [12, 11, 25, 20, 31, 39]);
    }
}
