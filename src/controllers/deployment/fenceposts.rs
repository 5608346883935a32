//! How many pods a rolling update may add and take away.

use super::view::View;
use crate::model::RollingUpdateDeployment;
use crate::units::{IntOrPercent, Rounding};

/// How many pods a rolling update may add and take away.
///
/// # Source
/// deployment-controller, `ResolveFenceposts`: surge rounds up, unavailability down; both zero means one unavailable.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Fenceposts {
    surge: i32,
    unavailable: i32,
}

fn fenceposts(update: Option<&RollingUpdateDeployment>, replicas: i32) -> Fenceposts {
    let resolve = |value: Option<IntOrPercent>, rounding| value.map_or(0, |v| v.resolve(replicas, rounding));
    let surge = resolve(update.and_then(|u| u.max_surge), Rounding::Up);
    let mut unavailable = resolve(update.and_then(|u| u.max_unavailable), Rounding::Down);
    if surge == 0 && unavailable == 0 {
        unavailable = 1;
    }
    Fenceposts { surge, unavailable }
}

/// Unavailable pods that are allowed: none for an empty Deployment, never more than there are pods.
pub(super) fn max_unavailable(view: &View<'_>) -> i32 {
    if !view.is_rolling() || view.replicas() == 0 {
        return 0;
    }
    fenceposts(view.deployment.spec.strategy.rolling_update.as_ref(), view.replicas()).unavailable.min(view.replicas())
}

pub(super) fn max_surge(view: &View<'_>) -> i32 {
    if !view.is_rolling() {
        return 0;
    }
    fenceposts(view.deployment.spec.strategy.rolling_update.as_ref(), view.replicas()).surge
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::DeploymentSpec;
    use crate::state::{Deployment, DeploymentStatus, Store};
    use crate::testing::meta;
    use crate::units::SimTime;

    #[test]
    fn unavailability_is_capped_by_the_size() {
        let check = |spec: &str, expected: i32| {
            let spec: DeploymentSpec = serde_saphyr::from_str(&format!("{{{spec}}}")).expect("a spec");
            let mut store = Store::default();
            let status = DeploymentStatus::default();
            let deployment = Deployment { meta: meta("web", None), spec: Arc::new(spec), status };
            let id = store.deployments.insert(deployment.clone());
            let view = View { id, deployment: &deployment, newest: None, old: Vec::new(), now: SimTime::ZERO };
            assert_eq!(max_unavailable(&view), expected, "{:?}", deployment.spec);
        };
        check("replicas: 5, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 10}}", 5);
        check("replicas: 0, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}", 0);
        check("replicas: 10, strategy: {type: Recreate}", 0);
        check("replicas: 10, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 50%}}", 5);
        check("replicas: 10, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}", 1);
    }

    #[test]
    fn what_is_no_number_and_no_percentage_is_refused() {
        for text in ["20Hundred", "%", "", "1.5", "abc%"] {
            assert!(text.parse::<IntOrPercent>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn surge_rounds_up_and_unavailability_down() {
        use IntOrPercent::{Int, Percent};
        let check =
            |surge: Option<IntOrPercent>, unavailable: Option<IntOrPercent>, replicas: i32, expected: (i32, i32)| {
                let update = RollingUpdateDeployment { max_surge: surge, max_unavailable: unavailable };
                let posts = fenceposts(Some(&update), replicas);
                assert_eq!((posts.surge, posts.unavailable), expected, "{surge:?} {unavailable:?} of {replicas}");
            };
        check(Some(Percent(39)), Some(Percent(39)), 10, (4, 3));
        check(Some(Percent(39)), None, 10, (4, 0));
        check(None, None, 10, (0, 1));
        check(Some(Percent(0)), Some(Percent(0)), 0, (0, 1));
        check(Some(Int(3)), Some(Int(2)), 10, (3, 2));
    }
}
