//! What a pod asks of its node, and the quality of service that follows.

use std::sync::LazyLock;

use super::{Container, PodSpec, QosClass};
use crate::arena::Symbol;
use crate::model::resources::{Amounts, ResourceList, ResourceRequirements, Resources, is_pod_level_resource};
use crate::units::Quantity;

/// CPU that scoring takes a container to use when it names none: 0.1 core.
const UNNAMED_CPU: &str = "100m";

/// Memory that scoring takes a container to use when it names none.
const UNNAMED_MEMORY: &str = "200Mi";

/// What the scheduler subtracts from a node for a pod.
///
/// Containers run together and are summed; init containers run one after the other beside the sidecars that started
/// before them, so the largest of those moments counts if it exceeds the sum. Requests of the pod as a whole replace the
/// result, and the overhead of its runtime class comes on top.
///
/// # Source
///
/// Scheduler, `NodeResourcesFit`; for pods that wait. In-place resizes of running pods are not regarded.
#[must_use]
pub fn requests(spec: &PodSpec) -> Resources {
    exact_requests(spec, PodLevel::Counted, &[]).rounded_up()
}

/// [`requests`], where a container that does not name CPU or memory counts for 100m or 200 MiB; an explicit zero stays
/// zero. Node totals of the scoring plugins are sums of this.
///
/// # Source
///
/// Scheduler, `NodeResourcesFit` scoring.
#[must_use]
pub fn non_zero_requests(spec: &PodSpec) -> Resources {
    let mut pod_level = spec.resources.iter().flat_map(|resources| resources.requests.iter());
    let is_pod_level_set = pod_level.any(|(name, _)| is_pod_level_resource(name.as_str()));
    let named = if is_pod_level_set { exact_requests(spec, PodLevel::Counted, &[]) } else { Amounts::default() };
    let unnamed: Vec<_> = UNNAMED.iter().copied().filter(|(name, _)| !named.names(name.as_str())).collect();
    exact_requests(spec, PodLevel::Counted, &unnamed).rounded_up()
}

/// [`non_zero_requests`] without the resources of the pod as a whole, which the scorers overlook in the pod that they
/// find a place for.
///
/// # Source
///
/// Scheduler, `NodeResourcesFit` scoring, up to 1.36.
#[must_use]
pub fn non_zero_container_requests(spec: &PodSpec) -> Resources {
    exact_requests(spec, PodLevel::Ignored, &*UNNAMED).rounded_up()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PodLevel {
    Counted,
    Ignored,
}

/// What counts for a resource that a container does not name.
static UNNAMED: LazyLock<[(Symbol, Quantity); 2]> = LazyLock::new(|| {
    let quantity = |text: &str| text.parse().expect("the constant is a quantity");
    [(Symbol::from("cpu"), quantity(UNNAMED_CPU)), (Symbol::from("memory"), quantity(UNNAMED_MEMORY))]
});

fn exact_requests(spec: &PodSpec, pod_level: PodLevel, unnamed: &[(Symbol, Quantity)]) -> Amounts {
    let mut total = container_requests(spec, unnamed);
    if pod_level == PodLevel::Counted {
        set_pod_level(&mut total, spec, |resources| &resources.requests);
    }
    total.add(&spec.overhead);
    total
}

pub(in crate::model) fn container_requests(spec: &PodSpec, unnamed: &[(Symbol, Quantity)]) -> Amounts {
    aggregate(spec, |container| {
        let mut amounts = Amounts::default();
        amounts.add(&container.resources.requests);
        for (name, amount) in unnamed {
            if !container.resources.requests.contains(*name) {
                amounts.set(*name, *amount);
            }
        }
        amounts
    })
}

/// What containers, sidecars and init containers need together at the worst moment.
pub(super) fn aggregate(spec: &PodSpec, of_container: impl Fn(&Container) -> Amounts) -> Amounts {
    let mut total = Amounts::default();
    for container in &spec.containers {
        total.add_all(&of_container(container));
    }
    let mut sidecars = Amounts::default();
    let mut initial_max = Amounts::default();
    for container in &spec.init_containers {
        let own = of_container(container);
        if container.is_sidecar() {
            total.add_all(&own);
            sidecars.add_all(&own);
            initial_max.raise_to(&sidecars);
        } else {
            let mut moment = sidecars.clone();
            moment.add_all(&own);
            initial_max.raise_to(&moment);
        }
    }
    total.raise_to(&initial_max);
    total
}

/// Exact requests of a pod, with what its runtime class costs if `with_overhead`.
///
/// # Source
///
/// kube-apiserver, `PodRequests`; LimitRanger has one of its own that knows no overhead.
#[must_use]
pub fn requested(spec: &PodSpec, with_overhead: bool) -> ResourceList {
    let mut total = container_requests(spec, &[]);
    set_pod_level(&mut total, spec, |resources| &resources.requests);
    if with_overhead {
        total.add(&spec.overhead);
    }
    total.iter().map(|(name, amount)| (name, *amount)).collect()
}

/// Exact limits of a pod, with what its runtime class costs if `with_overhead`.
///
/// # Source
///
/// kube-apiserver, `PodLimits`: overhead counts where there is a limit.
#[must_use]
pub fn limited(spec: &PodSpec, with_overhead: bool) -> ResourceList {
    let mut total = aggregate(spec, |container| {
        let mut amounts = Amounts::default();
        amounts.add(&container.resources.limits);
        amounts
    });
    set_pod_level(&mut total, spec, |resources| &resources.limits);
    if with_overhead {
        for (name, amount) in spec.overhead.iter() {
            if total.get(name).is_some_and(|limit| !limit.is_zero()) {
                total.add_one(name, amount);
            }
        }
    }
    total.iter().map(|(name, amount)| (name, *amount)).collect()
}

fn set_pod_level(total: &mut Amounts, spec: &PodSpec, list: fn(&ResourceRequirements) -> &ResourceList) {
    let Some(resources) = &spec.resources else { return };
    for (name, amount) in list(resources).iter() {
        if is_pod_level_resource(name.as_str()) {
            total.set(name, *amount);
        }
    }
}

/// The quality of service class of a pod.
///
/// Only CPU and memory above zero count, over containers and init containers. Resources of the pod as a whole decide
/// alone where they are given.
///
/// # Source
///
/// API server and kubelet; the rule on pod-level resources is on by default from 1.34.
#[must_use]
pub fn qos(spec: &PodSpec) -> QosClass {
    let containers: Vec<&ResourceRequirements> = match &spec.resources {
        Some(resources) => vec![resources],
        None => spec.containers.iter().chain(&spec.init_containers).map(|container| &container.resources).collect(),
    };
    let mut requests = Amounts::default();
    let mut limits = Amounts::default();
    let mut every_container_is_limited = true;
    for container in containers {
        let counted = |list: &ResourceList| -> ResourceList {
            let named = list.iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory"));
            named.filter(|(_, amount)| amount.milli_value() > 0).map(|(name, amount)| (name, *amount)).collect()
        };
        let container_limits = counted(&container.limits);
        every_container_is_limited &= container_limits.iter().len() == 2;
        requests.add(&counted(&container.requests));
        limits.add(&container_limits);
    }
    if requests.iter().next().is_none() && limits.iter().next().is_none() {
        return QosClass::BestEffort;
    }
    let is_equal = requests.iter().count() == limits.iter().count()
        && requests.iter().all(|(name, amount)| limits.get(name).is_some_and(|limit| limit == amount));
    if every_container_is_limited && is_equal { QosClass::Guaranteed } else { QosClass::Burstable }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(json: &str) -> PodSpec {
        serde_json::from_str(json).unwrap()
    }

    /// A container with these requests, given as `"cpu":"1"`.
    fn container(requests: &str) -> String {
        format!(r#"{{"resources":{{"requests":{{{requests}}}}}}}"#)
    }

    fn sidecar(requests: &str) -> String {
        format!(r#"{{"restartPolicy":"Always","resources":{{"requests":{{{requests}}}}}}}"#)
    }

    #[test]
    fn requests_are_the_larger_of_the_sum_and_the_largest_moment_of_initialisation() {
        #[track_caller]
        fn check(init: &[String], containers: &[String], more: &str, expected: [i64; 2]) {
            let json =
                format!(r#"{{"initContainers":[{}],"containers":[{}]{more}}}"#, init.join(","), containers.join(","));
            let requests = requests(&spec(&json));
            assert_eq!([requests.cpu_milli, requests.memory], expected, "{json}");
        }
        let cpu = |amount: &str| container(&format!(r#""cpu":"{amount}""#));
        let cpu_sidecar = |amount: &str| sidecar(&format!(r#""cpu":"{amount}""#));
        check(&[], &[], "", [0, 0]);
        check(&[], &[cpu("100m"), container(r#""cpu":1,"memory":"1Ki""#)], "", [1100, 1024]);
        check(&[cpu("2")], &[cpu("1"), cpu("500m")], "", [2000, 0]);
        check(&[cpu("1"), cpu("1")], &[cpu("1"), cpu("500m")], "", [1500, 0]);
        check(&[cpu_sidecar("1"), cpu("2")], &[cpu("1")], "", [3000, 0]);
        check(&[cpu("2"), cpu_sidecar("1")], &[cpu("1")], "", [2000, 0]);
        check(&[cpu_sidecar("1"), cpu_sidecar("1"), cpu("1")], &[cpu("1")], "", [3000, 0]);
        check(&[], &[cpu("1")], r#","overhead":{"cpu":"250m","memory":"1Mi"}"#, [1250, 1 << 20]);
        check(&[], &[cpu("1")], r#","resources":{"requests":{"cpu":"4"}},"overhead":{"cpu":"1"}"#, [5000, 0]);
        check(&[], &[cpu("100u"), cpu("100u"), cpu("800u")], "", [1, 0]);
        check(&[], &[cpu("1100u"), cpu("1100u")], "", [3, 0]);
    }

    #[test]
    fn only_resources_the_scheduler_knows_are_counted() {
        let json = container(
            r#""nvidia.com/gpu":"2","hugepages-2Mi":"4Mi","pods":"3","storage":"1Gi","ephemeral-storage":"1k","requests.x/y":1"#,
        );
        let counted = requests(&spec(&format!(r#"{{"containers":[{json}]}}"#)));
        let scalars: Vec<_> = counted.scalars.iter().map(|scalar| (scalar.0.as_str(), scalar.1)).collect();
        assert_eq!(scalars, [("hugepages-2Mi", 4 << 20), ("nvidia.com/gpu", 2)]);
        assert_eq!(counted.ephemeral_storage, 1000);
        assert!(requests(&spec(r#"{"containers":[{}]}"#)).requests_nothing());
    }

    #[test]
    fn unnamed_cpu_and_memory_count_when_scoring() {
        #[track_caller]
        fn check(json: &str, expected: [i64; 2], expected_without_pod_level: [i64; 2]) {
            let of = |resources: Resources| [resources.cpu_milli, resources.memory];
            let spec = spec(json);
            assert_eq!(of(non_zero_requests(&spec)), expected, "{json}");
            assert_eq!(of(non_zero_container_requests(&spec)), expected_without_pod_level, "{json}");
        }
        const DEFAULT: [i64; 2] = [100, 209_715_200];
        check(r#"{"containers":[{}]}"#, DEFAULT, DEFAULT);
        check(r#"{"containers":[{},{}]}"#, [200, 419_430_400], [200, 419_430_400]);
        let named = container(r#""cpu":"0","memory":"1Mi""#);
        check(&format!(r#"{{"containers":[{named}]}}"#), [0, 1 << 20], [0, 1 << 20]);
        let init = r#"{"containers":[{}],"initContainers":[{}]}"#;
        check(init, DEFAULT, DEFAULT);
        check(r#"{"containers":[{}],"resources":{"requests":{"cpu":"1"}}}"#, [1000, 209_715_200], DEFAULT);
    }

    #[test]
    fn quality_of_service_follows_requests_and_limits() {
        #[track_caller]
        fn check(json: &str, expected: QosClass) {
            assert_eq!(qos(&spec(json)), expected, "{json}");
        }
        let full = r#"{"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1000m","memory":"1Gi"}}}"#;
        check(r#"{"containers":[{}]}"#, QosClass::BestEffort);
        check(r#"{"containers":[{"resources":{"requests":{"cpu":"0"}}}]}"#, QosClass::BestEffort);
        check(r#"{"containers":[{"resources":{"requests":{"nvidia.com/gpu":"1"}}}]}"#, QosClass::BestEffort);
        check(&format!(r#"{{"containers":[{full}]}}"#), QosClass::Guaranteed);
        check(&format!(r#"{{"containers":[{full},{{}}]}}"#), QosClass::Burstable);
        check(&format!(r#"{{"containers":[{full}],"initContainers":[{{}}]}}"#), QosClass::Burstable);
        check(r#"{"containers":[{"resources":{"limits":{"memory":"1Gi"}}}]}"#, QosClass::Burstable);
        let zero = r#"{"requests":{"cpu":"0","memory":"0"},"limits":{"cpu":"1","memory":"1Gi"}}"#;
        check(&format!(r#"{{"containers":[{{"resources":{zero}}}]}}"#), QosClass::Burstable);
        let pages = r#"{"requests":{"hugepages-2Mi":"4Mi"},"limits":{"hugepages-2Mi":"4Mi"}}"#;
        check(&format!(r#"{{"containers":[{{"resources":{pages}}}]}}"#), QosClass::BestEffort);
        check(&format!(r#"{{"containers":[{{}}],"initContainers":[{full}]}}"#), QosClass::Burstable);
        check(&format!(r#"{{"containers":[{full}],"resources":{{"requests":{{"cpu":"1"}}}}}}"#), QosClass::Burstable);
    }
}
