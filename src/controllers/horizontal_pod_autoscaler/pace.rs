//! How fast an autoscaler scales: stabilization, rates, bounds.

use crate::model::{HPAScalingPolicyType, HPAScalingRules, HorizontalPodAutoscalerBehavior, ScalingPolicySelect};
use crate::units::{SimDuration, SimTime};

/// What an autoscaler has recommended and done; gone with its process.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    recommendations: Vec<(SimTime, i32)>,
    ups: Vec<(SimTime, i32)>,
    downs: Vec<(SimTime, i32)>,
}

/// Where a workload stands and what is wanted of it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Wish {
    pub(super) current: i32,
    pub(super) proposed: i32,
    pub(super) min: i32,
    pub(super) max: i32,
}

/// Reason and message of a condition.
pub(super) type Why = (&'static str, &'static str);

/// What becomes of a wish.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Normalized {
    pub(super) desired: i32,
    /// What `AbleToScale` says.
    pub(super) able: Why,
    /// Whether a rate or a bound holds it back, and what `ScalingLimited` says.
    pub(super) limited: (bool, Why),
    /// It may become something else though nothing changes but the time.
    pub(super) waits: bool,
}

const READY: Why = ("ReadyForNewScale", "recommended size matches current size");
const WITHIN: Why = ("DesiredWithinRange", "the desired count is within the acceptable range");
const TOO_FAST: &str = "the desired replica count is increasing faster than the maximum scale rate";
const TOO_FAST_DOWN: &str = "the desired replica count is decreasing faster than the maximum scale rate";
const TOO_MANY: Why = ("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const TOO_FEW: Why = ("TooFewReplicas", "the desired replica count is less than the minimum replica count");
const HIGHEST: &str = "recent recommendations were higher than current one, applying the highest recent recommendation";
const LOWEST: &str = "recent recommendations were lower than current one, applying the lowest recent recommendation";

impl Past {
    /// A process that knows nothing yet takes what is there for its first recommendation.
    ///
    /// # Source
    /// `recordInitialRecommendation`.
    pub(super) fn begin(&mut self, current: i32, now: SimTime) {
        if self.recommendations.is_empty() {
            self.recommendations.push((now, current));
        }
    }

    /// Syncs that were not played recommended what the last one did, the latest of them at `until`.
    pub(super) fn went_on(&mut self, until: SimTime) {
        if let Some(&(at, last)) = self.recommendations.last()
            && at < until
        {
            self.recommendations.push((until, last));
        }
    }

    /// # Source
    /// `normalizeDesiredReplicas` and `normalizeDesiredReplicasWithBehaviors`.
    pub(super) fn normalize(
        &mut self,
        wish: Wish,
        behavior: Option<&HorizontalPodAutoscalerBehavior>,
        window: SimDuration,
        now: SimTime,
    ) -> Normalized {
        let rules = behavior.and_then(|b| Some((b.scale_up.as_ref()?, b.scale_down.as_ref()?)));
        let (stable, able) = match rules {
            None => self.stabilized(wish.proposed, window, now),
            Some(rules) => self.stabilized_by(rules, wish, window, now),
        };
        let (desired, why) = match rules {
            None => within_rules(wish, stable),
            Some((up, down)) => self.within_rates(wish, stable, up, down, now),
        };
        let is_off = rules.is_some_and(|(up, down)| {
            let rules = if wish.proposed > wish.current { up } else { down };
            rules.select_policy == Some(ScalingPolicySelect::Disabled)
        });
        // What stabilization or a rate holds back comes with time; what a bound holds back does not.
        let waits = wish.proposed.clamp(wish.min, wish.max) != desired && !is_off;
        let able = if stable == wish.proposed { READY } else { able };
        Normalized { desired, able, limited: (desired != stable, why), waits }
    }

    fn record(&mut self, proposed: i32, longest: SimDuration, now: SimTime) {
        self.recommendations.retain(|(at, _)| *at + longest >= now);
        self.recommendations.push((now, proposed));
    }

    /// # Source
    /// `stabilizeRecommendation`: the largest recommendation of the window.
    fn stabilized(&mut self, proposed: i32, window: SimDuration, now: SimTime) -> (i32, Why) {
        let recent = self.recommendations.iter().filter(|(at, _)| *at + window >= now).map(|(_, count)| *count);
        let largest = recent.fold(proposed, i32::max);
        self.record(proposed, window, now);
        (largest, ("ScaleDownStabilized", HIGHEST))
    }

    /// # Source
    /// `stabilizeRecommendationWithBehaviors`.
    fn stabilized_by(
        &mut self,
        (up, down): (&HPAScalingRules, &HPAScalingRules),
        wish: Wish,
        window: SimDuration,
        now: SimTime,
    ) -> (i32, Why) {
        let seconds = |rules: &HPAScalingRules| {
            let given = rules.stabilization_window_seconds;
            given.map(|seconds| SimDuration::from_secs(seconds.max(0).unsigned_abs().into()))
        };
        let up_window = seconds(up).unwrap_or(SimDuration::ZERO);
        // The flag is cut to whole seconds.
        let down_window = seconds(down).unwrap_or_else(|| SimDuration::from_secs(window.as_secs()));
        let recent = |window: SimDuration| {
            let recent = self.recommendations.iter().filter(move |(at, _)| *at + window > now);
            recent.map(|(_, count)| *count)
        };
        let lowest = recent(up_window).fold(wish.proposed, i32::min);
        let highest = recent(down_window).fold(wish.proposed, i32::max);
        // As the real one: first up, then down.
        let stable = wish.current.max(lowest).min(highest);
        self.record(wish.proposed, up_window.max(down_window), now);
        let why = if wish.proposed >= wish.current {
            ("ScaleUpStabilized", LOWEST)
        } else {
            ("ScaleDownStabilized", HIGHEST)
        };
        (stable, why)
    }

    /// # Source
    /// `convertDesiredReplicasWithBehaviorRate`.
    fn within_rates(
        &self,
        wish: Wish,
        stable: i32,
        up: &HPAScalingRules,
        down: &HPAScalingRules,
        now: SimTime,
    ) -> (i32, Why) {
        if stable > wish.current {
            let rate = self.limit(wish.current, up, Direction::Up, now).max(wish.current);
            let (most, why) = if wish.max > rate { (rate, ("ScaleUpLimit", TOO_FAST)) } else { (wish.max, TOO_MANY) };
            if stable > most {
                return (most, why);
            }
        } else if stable < wish.current {
            let rate = self.limit(wish.current, down, Direction::Down, now).min(wish.current);
            let (least, why) =
                if wish.min < rate { (rate, ("ScaleDownLimit", TOO_FAST_DOWN)) } else { (wish.min, TOO_FEW) };
            if stable < least {
                return (least, why);
            }
        }
        (stable, WITHIN)
    }

    /// How far the policies of a direction let the count go.
    ///
    /// # Source
    /// `calculateScaleUpLimitWithScalingRules`, `calculateScaleDownLimitWithBehaviors`: what was done within a policy's period
    /// counts towards it; percentages are rounded up on the way up and cut on the way down.
    fn limit(&self, current: i32, rules: &HPAScalingRules, direction: Direction, now: SimTime) -> i32 {
        let select = rules.select_policy.unwrap_or(ScalingPolicySelect::Max);
        if select == ScalingPolicySelect::Disabled {
            return current;
        }
        let proposals = rules.policies().iter().map(|policy| {
            let period = SimDuration::from_secs(policy.period_seconds.max(0).unsigned_abs().into());
            let done = |events: &[(SimTime, i32)]| -> i32 {
                events.iter().filter(|(at, _)| *at + period > now).map(|(_, by)| *by).sum()
            };
            let at_first = current - done(&self.ups) + done(&self.downs);
            let part = f64::from(policy.value) / 100.0;
            match (policy.policy_type, direction) {
                (Some(HPAScalingPolicyType::Pods), Direction::Up) => at_first.saturating_add(policy.value),
                (Some(HPAScalingPolicyType::Pods), Direction::Down) => at_first.saturating_sub(policy.value),
                (_, Direction::Up) => (f64::from(at_first) * (1.0 + part)).ceil() as i32,
                (_, Direction::Down) => (f64::from(at_first) * (1.0 - part)) as i32,
            }
        });
        let takes_more = (select == ScalingPolicySelect::Max) == (direction == Direction::Up);
        if takes_more { proposals.max().unwrap_or(i32::MIN) } else { proposals.min().unwrap_or(i32::MAX) }
    }

    /// The workload was scaled.
    ///
    /// # Source
    /// `storeScaleEvent`: without behavior nothing asks for it.
    pub(super) fn scaled(
        &mut self,
        from: i32,
        to: i32,
        behavior: Option<&HorizontalPodAutoscalerBehavior>,
        now: SimTime,
    ) {
        let Some(behavior) = behavior else { return };
        let (events, rules, by) = if to > from {
            (&mut self.ups, &behavior.scale_up, to - from)
        } else {
            (&mut self.downs, &behavior.scale_down, from - to)
        };
        let policies = rules.iter().flat_map(|rules| rules.policies());
        let longest = policies.map(|policy| policy.period_seconds.max(0).unsigned_abs()).max().unwrap_or(0);
        events.retain(|(at, _)| *at + SimDuration::from_secs(longest.into()) >= now);
        events.push((now, by));
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// # Source
/// `convertDesiredReplicasWithRules`, `calculateScaleUpLimit`: at most twice as many, or four.
fn within_rules(wish: Wish, stable: i32) -> (i32, Why) {
    let rate = wish.current.saturating_mul(2).max(4);
    let (most, why) = if wish.max > rate { (rate, ("ScaleUpLimit", TOO_FAST)) } else { (wish.max, TOO_MANY) };
    match stable {
        _ if stable < wish.min => (wish.min, TOO_FEW),
        _ if stable > most => (most, why),
        _ => (stable, WITHIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    const WINDOW: SimDuration = SimDuration::from_secs(300);

    fn behavior(text: &str) -> HorizontalPodAutoscalerBehavior {
        let spec = format!("{{metadata: {{name: a}}, spec: {{maxReplicas: 100, behavior: {text}}}}}");
        let mut read: crate::model::HorizontalPodAutoscaler = serde_saphyr::from_str(&spec).expect("an autoscaler");
        read.apply_defaults();
        read.spec.behavior.expect("behavior")
    }

    fn wish(current: i32, proposed: i32) -> Wish {
        Wish { current, proposed, min: 1, max: 100 }
    }

    #[test]
    fn without_behavior_it_doubles_at_most_and_waits_before_it_goes_down() {
        let mut past = Past::default();
        past.begin(1, at(0));
        let mut size =
            |proposed: i32, current: i32, now: u64| past.normalize(wish(current, proposed), None, WINDOW, at(now));
        assert_eq!(size(50, 1, 0).desired, 4);
        assert_eq!(size(50, 4, 15).desired, 8);
        assert_eq!(size(50, 8, 30).limited, (true, ("ScaleUpLimit", TOO_FAST)));
        let held = size(2, 16, 45);
        assert_eq!((held.desired, held.able.0, held.waits), (32, "ScaleDownStabilized", true));
        assert_eq!(size(2, 16, 330).desired, 32);
        assert_eq!(size(2, 16, 331).desired, 2);
    }

    #[test]
    fn policies_count_what_was_done_in_their_period() {
        let behavior = behavior("{scaleUp: {policies: [{type: Pods, value: 2, periodSeconds: 60}]}}");
        let mut past = Past::default();
        past.begin(4, at(0));
        let first = past.normalize(wish(4, 20), Some(&behavior), WINDOW, at(0));
        assert_eq!((first.desired, first.waits), (6, true));
        past.scaled(4, 6, Some(&behavior), at(0));
        assert_eq!(past.normalize(wish(6, 20), Some(&behavior), WINDOW, at(45)).desired, 6);
        assert_eq!(past.normalize(wish(6, 20), Some(&behavior), WINDOW, at(60)).desired, 8);
    }

    #[test]
    fn a_window_on_the_way_up_takes_the_lowest_and_a_direction_can_be_off() {
        let slow = behavior("{scaleUp: {stabilizationWindowSeconds: 60}}");
        let mut past = Past::default();
        past.begin(4, at(0));
        let held = past.normalize(wish(4, 8), Some(&slow), WINDOW, at(15));
        assert_eq!((held.desired, held.able.0), (4, "ScaleUpStabilized"));
        assert_eq!(past.normalize(wish(4, 8), Some(&slow), WINDOW, at(60)).desired, 8);
        let never = behavior("{scaleDown: {selectPolicy: Disabled, stabilizationWindowSeconds: 0}}");
        let mut past = Past::default();
        past.begin(4, at(0));
        let held = past.normalize(wish(4, 1), Some(&never), WINDOW, at(400));
        assert_eq!((held.desired, held.limited.1.0, held.waits), (4, "ScaleDownLimit", false));
    }
}
