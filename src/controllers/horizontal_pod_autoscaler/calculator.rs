//! How many replicas a metric asks for.

/// How a pod counts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is being deleted or has failed.
    Ignored,
    /// It does not do its share yet.
    Unready,
    /// Nobody can say what it uses.
    Missing,
    /// What it uses counts.
    Counted,
}

/// One pod, as one metric sees it; amounts in thousandths of the resource's unit.
#[derive(Copy, Clone, Debug)]
pub(super) struct Sample {
    pub(super) standing: Standing,
    pub(super) used: i64,
    pub(super) requested: i64,
}

/// What a metric is to be.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Percent of what the pods request.
    Utilization(i32),
    /// An average over the pods.
    Average(i64),
}

/// By how much a metric may differ from its goal.
#[derive(Copy, Clone, Debug)]
pub(super) struct Tolerances {
    pub(super) down: f64,
    pub(super) up: f64,
}

impl Tolerances {
    fn contain(self, ratio: f64) -> bool {
        (1.0 - self.down) <= ratio && ratio <= (1.0 + self.up)
    }
}

/// What follows from a metric.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) replicas: i32,
    pub(super) utilization: Option<i32>,
    pub(super) average: i64,
}

/// How many times the goal some pods use, with the utilization and the average.
///
/// # Source
/// podautoscaler/metrics, `GetResourceUtilizationRatio` and `GetMetricUsageRatio`: whole percents, whole averages.
fn ratio(of: impl Iterator<Item = (i64, i64)>, goal: Goal) -> Result<(f64, Option<i32>, i64), String> {
    let (mut used, mut requested, mut count) = (0_i128, 0_i128, 0_i128);
    for (one_used, one_requested) in of {
        used += i128::from(one_used);
        requested += i128::from(one_requested);
        count += 1;
    }
    let average = i64::try_from(used / count.max(1)).unwrap_or(i64::MAX);
    match goal {
        Goal::Utilization(_) if requested == 0 => Err("no metrics returned matched known pods".to_owned()),
        Goal::Utilization(target) => {
            let percent = i32::try_from(used * 100 / requested).unwrap_or(i32::MAX);
            Ok((f64::from(percent) / f64::from(target), Some(percent), average))
        }
        Goal::Average(target) => Ok((average as f64 / target as f64, None, average)),
    }
}

/// How many replicas a metric asks for.
///
/// # Errors
/// If no pod's use counts.
///
/// # Source
/// horizontal-pod-autoscaler controller, `ReplicaCalculator.GetResourceReplicas` and `calcPlainMetricReplicas`: pods without
/// metrics are taken to be at their goal or idle, whichever dampens; pods that are not ready dampen the way up alone.
pub(super) fn proposal(
    samples: &[Sample],
    goal: Goal,
    current: i32,
    tolerances: Tolerances,
) -> Result<Proposal, String> {
    let of = |standing: Standing| samples.iter().filter(move |sample| sample.standing == standing);
    let counted = || of(Standing::Counted).map(|sample| (sample.used, sample.requested));
    let (ready, unready, missing) = (counted().count(), of(Standing::Unready).count(), of(Standing::Missing).count());
    if ready == 0 {
        return Err("did not receive metrics for targeted pods (pods might be unready)".to_owned());
    }
    let (first, utilization, average) = ratio(counted(), goal)?;
    let answer = |replicas: i32| Ok(Proposal { replicas, utilization, average });
    let count = |ratio: f64, pods: usize| (ratio * pods as f64).ceil() as i32;
    let takes_up_unready = unready > 0 && first > 1.0;
    if !takes_up_unready && missing == 0 {
        return answer(if tolerances.contain(first) { current } else { count(first, ready) });
    }
    let stand_in = |sample: &Sample| {
        let used = match goal {
            _ if first > 1.0 => 0,
            Goal::Utilization(target) => {
                let of_request = i128::from(sample.requested) * i128::from(target.max(100)) / 100;
                i64::try_from(of_request).unwrap_or(i64::MAX)
            }
            Goal::Average(target) => target,
        };
        (used, sample.requested)
    };
    // At a ratio of exactly one nothing is put in the place of what is missing.
    let missing = of(Standing::Missing).filter(|_| first.total_cmp(&1.0).is_ne()).map(stand_in);
    let unready = of(Standing::Unready).filter(|_| takes_up_unready).map(|sample| (0, sample.requested));
    let all: Vec<(i64, i64)> = counted().chain(missing).chain(unready).collect();
    let (second, ..) = ratio(all.iter().copied(), goal)?;
    let flips = (first < 1.0 && second > 1.0) || (first > 1.0 && second < 1.0);
    if tolerances.contain(second) || flips {
        return answer(current);
    }
    let replicas = count(second, all.len());
    let goes_the_other_way = (second < 1.0 && replicas > current) || (second > 1.0 && replicas < current);
    answer(if goes_the_other_way { current } else { replicas })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN_PERCENT: Tolerances = Tolerances { down: 0.1, up: 0.1 };

    fn samples(used: &[i64], requested: i64, unready: usize, missing: usize) -> Vec<Sample> {
        let one = |standing, used| Sample { standing, used, requested };
        let counted = used.iter().map(|used| one(Standing::Counted, *used));
        let others = std::iter::repeat_n(one(Standing::Unready, 0), unready);
        let gone = std::iter::repeat_n(one(Standing::Missing, 0), missing);
        counted.chain(others).chain(gone).collect()
    }

    #[test]
    fn replicas_follow_the_use_beyond_the_tolerance() {
        let check = |used: i64, pods: usize, expected: i32| {
            let samples = samples(&vec![used; pods], 1000, 0, 0);
            let found = proposal(&samples, Goal::Utilization(50), pods as i32, TEN_PERCENT).expect("a proposal");
            assert_eq!(found.replicas, expected, "{used} of 1000 on {pods}");
        };
        check(500, 4, 4);
        // Percents are whole: 55.9 % are 55 %, which is still tolerated.
        check(559, 4, 4);
        check(560, 4, 5);
        check(450, 4, 4);
        check(449, 4, 4);
        check(370, 4, 3);
    }

    #[test]
    fn pods_that_are_not_ready_or_tell_nothing_dampen() {
        let check = |used: &[i64], unready: usize, missing: usize, current: i32, expected: i32| {
            let samples = samples(used, 1000, unready, missing);
            let found = proposal(&samples, Goal::Utilization(50), current, TEN_PERCENT).expect("a proposal");
            assert_eq!(found.replicas, expected, "{used:?}, {unready} unready, {missing} missing");
        };
        // 4 at 100 %, 4 that are idle so far: together they are at their goal.
        check(&[1000; 4], 4, 0, 8, 8);
        check(&[2000; 4], 4, 0, 8, 16);
        // On the way down those that are not ready do not count.
        check(&[250; 4], 4, 0, 8, 2);
        // On the way down those without metrics are taken to use all they request: 4 × 10 % and 4 × 100 % are 55 %.
        check(&[100; 4], 0, 4, 8, 8);
        // On the way up they are taken to be idle.
        check(&[1500; 2], 0, 2, 4, 6);
        check(&[800; 2], 0, 2, 4, 4);
        assert!(proposal(&samples(&[], 1000, 3, 0), Goal::Utilization(50), 3, TEN_PERCENT).is_err());
    }

    #[test]
    fn averages_have_no_need_of_requests() {
        let samples = samples(&[300, 500], 0, 0, 0);
        let found = proposal(&samples, Goal::Average(200), 2, TEN_PERCENT).expect("a proposal");
        assert_eq!(found, Proposal { replicas: 4, utilization: None, average: 400 });
        assert!(proposal(&samples, Goal::Utilization(50), 2, TEN_PERCENT).is_err());
    }
}
