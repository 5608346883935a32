//! When a young cluster began, as far as its time stamps tell.

use super::{Component, Ctx};
use crate::units::{SimDuration, SimTime};

/// A cluster is young for so long: until then the loops of its controllers have hardly drifted.
const YOUNG: SimDuration = SimDuration::from_secs(600);
/// How long pod garbage collection waits from the end of a run to the next.
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
pub fn since_input<C: Component>(is_young: bool, ctx: &Ctx<'_, C>) -> SimDuration {
    let of_leases = ctx.config.kubelet.node_lease_duration / 4;
    let longest = if is_young { POD_GC_PERIOD.max(of_leases) } else { of_leases };
    part(longest, ctx.streams.stream("node-heartbeat", "").unit())
}

/// When the loops of the controllers began, if the cluster is young, and its first nodes were there at once.
///
/// # Source
/// Recordings: kubelets register as soon as the controllers have made what they need, so that renewals of leases follow the passes of the
/// node monitor by a second or less.
#[must_use]
pub fn controllers_began<C: Component>(ctx: &Ctx<'_, C>) -> Option<SimTime> {
    let first = ctx.store.namespaces.iter().map(|(_, namespace)| namespace.created_at).min()?;
    let oldest = ctx.store.nodes().map(|(_, node)| node.created_at).min()?;
    if oldest < first || oldest > first + AT_ONCE || oldest + YOUNG < ctx.now {
        return None;
    }
    let (least, most) = BEFORE_NODES_MS;
    let before = part(SimDuration::from_millis(most - least), ctx.streams.stream("controllers-began", "").unit());
    Some(oldest - since_input(true, ctx) - before - SimDuration::from_millis(least))
}

fn part(whole: SimDuration, unit: f64) -> SimDuration {
    SimDuration::from_secs_f64(whole.as_secs_f64() * unit)
}

/// When a controller's loop that has long been going first comes round: in a young cluster it began with the controllers, else its phase is
/// drawn from that stream.
#[must_use]
pub fn first_round<C: Component>(concern: &str, period: SimDuration, ctx: &Ctx<'_, C>) -> SimTime {
    let drawn = || {
        let unit = ctx.streams.stream(concern, "").unit();
        ctx.now + SimDuration::from_nanos((period.as_nanos() as f64 * unit) as u64)
    };
    controllers_began(ctx).map_or_else(drawn, |began| next_round(began, period, ctx.now))
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
