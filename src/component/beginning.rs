//! When a young cluster began, as far as its time stamps tell.

use crate::component::Config;
use crate::engine::Streams;
use crate::state::Store;
use crate::units::{SimDuration, SimTime};

/// A cluster is young for so long: until then the loops of its controllers have hardly drifted.
const YOUNG: SimDuration = SimDuration::from_secs(600);
/// How often pods are collected.
///
/// # Source
/// Pod garbage collector, `gcCheckPeriod`.
pub const POD_GC_PERIOD: SimDuration = SimDuration::from_secs(20);
/// So soon after the first namespace nodes register that wait for nothing but the controllers.
const AT_ONCE: SimDuration = SimDuration::from_secs(5);
/// How long before its first nodes register a cluster's controllers run, in milliseconds: in recordings.
const BEFORE_NODES_MS: (u64, u64) = (50, 700);

/// What passed between the last time stamp of the input and t=0, which nothing tells: the same for all that happened before. It counts
/// as a part of the longest loop whose phase is asked for: in a young cluster that of all controllers, else that of leases.
#[must_use]
pub fn since_input(is_young: bool, config: &Config, streams: &Streams) -> SimDuration {
    let of_leases = config.kubelet.node_lease_duration / 4;
    part(if is_young { POD_GC_PERIOD.max(of_leases) } else { of_leases }, streams.stream("node-heartbeat", "").unit())
}

/// When the loops of the controllers began, if the cluster is young, and its first nodes were there at once.
///
/// # Source
/// Recordings: kubelets register as soon as the controllers have made what they need, so that renewals of leases follow the passes of the
/// node monitor by a second or less.
#[must_use]
pub fn controllers_began(store: &Store, config: &Config, streams: &Streams, now: SimTime) -> Option<SimTime> {
    let first = store.namespaces.iter().map(|(_, namespace)| namespace.created_at).min()?;
    let oldest = store.nodes().map(|(_, node)| node.created_at).min()?;
    if oldest < first || oldest > first + AT_ONCE || oldest + YOUNG < now {
        return None;
    }
    let (least, most) = BEFORE_NODES_MS;
    let before = part(SimDuration::from_millis(most - least), streams.stream("controllers-began", "").unit());
    Some(oldest - since_input(true, config, streams) - before - SimDuration::from_millis(least))
}

fn part(whole: SimDuration, unit: f64) -> SimDuration {
    SimDuration::from_secs_f64(whole.as_secs_f64() * unit)
}

/// When a loop goes on after `now` that began then, and comes round every period.
#[must_use]
pub fn next_round(began: SimTime, period: SimDuration, now: SimTime) -> SimTime {
    let passed = now.saturating_since(began).as_nanos() % period.as_nanos().max(1);
    now + (period - SimDuration::from_nanos(passed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_comes_round_at_whole_periods_from_its_beginning() {
        let (began, period) = (SimTime::from_secs(3), SimDuration::from_secs(5));
        let next = |now: i64| next_round(began, period, SimTime::from_secs(now)).as_nanos() / 1_000_000_000;
        assert_eq!([3, 4, 7, 8, 12].map(next), [8, 8, 8, 13, 13]);
    }
}
