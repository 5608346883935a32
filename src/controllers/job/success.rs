//! When an Indexed Job has succeeded before all of its indexes have.

use crate::model::{JobSpec, SuccessPolicy, job_index_intervals};

/// Whether some rule of the policy is met.
///
/// # Source
/// job-controller, `matchSuccessPolicy`: a rule with indexes needs all of them, or as many of them as its count says; a rule
/// without needs as many as its count says.
pub(super) fn is_met(spec: &JobSpec, succeeded: &[i32]) -> bool {
    let Some(policy) = &spec.success_policy else { return false };
    let completions = spec.completions.unwrap_or(0);
    !succeeded.is_empty() && rules_met(policy, completions, succeeded)
}

fn rules_met(policy: &SuccessPolicy, completions: i32, succeeded: &[i32]) -> bool {
    policy.rules.iter().any(|rule| {
        let enough = |count: usize| rule.succeeded_count.is_some_and(|wanted| count as i64 >= i64::from(wanted));
        let Some(indexes) = rule.succeeded_indexes else { return enough(succeeded.len()) };
        let wanted = job_index_intervals(indexes.as_str(), completions);
        let total: i64 = wanted.iter().map(|(first, last)| i64::from(last - first + 1)).sum();
        let is_wanted = |index: &&i32| wanted.iter().any(|(first, last)| (first..=last).contains(index));
        let found = succeeded.iter().filter(is_wanted).count();
        total > 0 && (found as i64 == total || enough(found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, succeeded: &[i32], expected: bool) {
        let spec: JobSpec = serde_saphyr::from_str(&format!("{{completions: 10, successPolicy: {{rules: [{rule}]}}}}"))
            .expect("a spec");
        assert_eq!(is_met(&spec, succeeded), expected, "{rule} of {succeeded:?}");
    }

    #[test]
    fn a_rule_needs_its_indexes_or_its_count_of_them() {
        check("{succeededIndexes: '0'}", &[], false);
        check("{succeededIndexes: '0'}", &[1], false);
        check("{succeededIndexes: '0'}", &[0], true);
        check("{succeededIndexes: '0,2-4'}", &[0, 2, 3], false);
        check("{succeededIndexes: '0,2-4'}", &[0, 1, 2, 3, 4], true);
        check("{succeededIndexes: '0,2-4', succeededCount: 2}", &[1, 2], false);
        check("{succeededIndexes: '0,2-4', succeededCount: 2}", &[2, 4], true);
        check("{succeededCount: 3}", &[7, 8], false);
        check("{succeededCount: 3}", &[7, 8, 9], true);
        check("{succeededIndexes: '20-30'}", &[0, 1], false);
    }
}
