//! What the API server adds to pods and their templates.

use super::requests::{aggregate, container_requests};
use super::{Container, Pod, PodSpec, Probe, PullPolicy};
use crate::arena::Symbol;
use crate::model::meta::Labels;
use crate::model::resources::{Amounts, ResourceRequirements, is_pod_level_resource};
use crate::model::selector::{LabelSelector, LabelSelectorOperator, LabelSelectorRequirement};

impl PodSpec {
    /// Writes the pod's own label values into the selectors of affinity terms that name keys with `matchLabelKeys` or
    /// `mismatchLabelKeys`; the scheduler never reads those fields. Keys the pod does not have are left alone.
    ///
    /// # Source
    ///
    /// API server at pod creation, 1.29+.
    pub fn merge_affinity_label_keys(&mut self, labels: &Labels) {
        let Some(affinity) = &mut self.affinity else { return };
        for pods in [&mut affinity.pod_affinity, &mut affinity.pod_anti_affinity].into_iter().flatten() {
            let preferred = &mut pods.preferred_during_scheduling_ignored_during_execution;
            let required = pods.required_during_scheduling_ignored_during_execution.iter_mut();
            for term in required.chain(preferred.iter_mut().map(|wish| &mut wish.pod_affinity_term)) {
                let Some(selector) = &mut term.label_selector else { continue };
                merge_label_keys(selector, &term.match_label_keys, LabelSelectorOperator::In, labels);
                merge_label_keys(selector, &term.mismatch_label_keys, LabelSelectorOperator::NotIn, labels);
            }
        }
    }

    /// The same for `matchLabelKeys` of topology spread constraints.
    ///
    /// # Source
    ///
    /// API server at pod creation, 1.34+. Before, the scheduler does it for itself, with the same outcome.
    pub fn merge_spread_label_keys(&mut self, labels: &Labels) {
        for constraint in &mut self.topology_spread_constraints {
            let Some(selector) = &mut constraint.label_selector else { continue };
            merge_label_keys(selector, &constraint.match_label_keys, LabelSelectorOperator::In, labels);
        }
    }

    /// Fills in what the API server would. Doing it twice changes nothing.
    ///
    /// # Source
    ///
    /// API server, defaults of pod specs. Fields that decide nothing here keep their absence, and mean the same by it ([`PodSpec::means`]).
    pub fn apply_defaults(&mut self) {
        self.service_account_name = self.service_account_name.or(self.service_account.take());
        self.service_account = None;
        self.termination_grace_period_seconds.get_or_insert(30);
        self.scheduler_name.get_or_insert_with(|| Symbol::from("default-scheduler"));
        for container in self.containers.iter_mut().chain(&mut self.init_containers) {
            container.apply_defaults();
        }
        self.overhead.round_up_to_milli();
        if let Some(resources) = &mut self.resources {
            resources.apply_defaults();
        }
    }

    /// Fills in what the API server does in pods, but not in the templates they are made from: requests that follow from
    /// limits, and ports of the node for pods in its network. To be called after [`PodSpec::apply_defaults`]; doing it
    /// twice changes nothing.
    ///
    /// # Source
    ///
    /// API server, defaults of pods.
    pub fn apply_pod_defaults(&mut self) {
        let host_network = self.host_network;
        for container in self.containers.iter_mut().chain(&mut self.init_containers) {
            let ResourceRequirements { requests, limits, .. } = &mut container.resources;
            for (name, limit) in limits.iter() {
                if !requests.contains(name) {
                    requests.insert(name, *limit);
                }
            }
            for port in container.ports.iter_mut().filter(|port| host_network && port.host_port == 0) {
                port.host_port = port.container_port;
            }
        }
        if let Some(mut resources) = self.resources.take() {
            self.default_pod_level_resources(&mut resources);
            self.resources = Some(resources);
        }
    }

    /// Limits of huge pages follow from the containers' limits; then, if there is any limit, requests follow from the
    /// containers' requests, and what is still open from the limits.
    fn default_pod_level_resources(&self, resources: &mut ResourceRequirements) {
        let ResourceRequirements { requests, limits, .. } = resources;
        let of_containers = aggregate(self, |container| {
            let mut amounts = Amounts::default();
            amounts.add(&container.resources.limits);
            amounts
        });
        if !(requests.is_empty() && limits.is_empty()) {
            for (name, limit) in of_containers.iter().filter(|(name, _)| name.as_str().starts_with("hugepages-")) {
                if !requests.contains(name) && !limits.contains(name) {
                    limits.insert(name, *limit);
                }
            }
        }
        if limits.is_empty() {
            return;
        }
        let of_containers = container_requests(self, &[]);
        for (name, request) in of_containers.iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")) {
            if !requests.contains(name) {
                requests.insert(name, *request);
            }
        }
        for (name, limit) in limits.iter().filter(|(name, _)| is_pod_level_resource(name.as_str())) {
            if !requests.contains(name) {
                requests.insert(name, *limit);
            }
        }
    }
}

impl Container {
    fn apply_defaults(&mut self) {
        self.resources.apply_defaults();
        let image = self.image.as_str();
        self.image_pull_policy.get_or_insert_with(|| {
            if image_tag(image).is_none_or(|tag| tag == "latest") {
                PullPolicy::Always
            } else {
                PullPolicy::IfNotPresent
            }
        });
        let probes = [&mut self.readiness_probe, &mut self.liveness_probe, &mut self.startup_probe];
        for probe in probes.into_iter().flatten() {
            probe.apply_defaults();
        }
    }
}

impl Probe {
    /// Fills in the timing that the API server would.
    pub fn apply_defaults(&mut self) {
        let positive = |value: Option<i32>, default| Some(value.filter(|value| *value != 0).unwrap_or(default));
        self.timeout_seconds = positive(self.timeout_seconds, 1);
        self.period_seconds = positive(self.period_seconds, 10);
        self.success_threshold = positive(self.success_threshold, 1);
        self.failure_threshold = positive(self.failure_threshold, 3);
    }
}

impl Pod {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.spec.apply_defaults();
        self.spec.apply_pod_defaults();
    }
}

/// The tag of an image, or `None` if it has neither tag nor digest; a digest counts as a tag of its own.
#[must_use]
pub fn image_tag(image: &str) -> Option<&str> {
    if let Some((_, digest)) = image.split_once('@') {
        return Some(digest);
    }
    let name_start = image.rfind('/').map_or(0, |slash| slash + 1);
    image[name_start..].split_once(':').map(|(_, tag)| tag)
}

fn merge_label_keys(selector: &mut LabelSelector, keys: &[Symbol], operator: LabelSelectorOperator, labels: &Labels) {
    for key in keys {
        if let Some(value) = labels.get(*key) {
            let requirement = LabelSelectorRequirement { key: *key, operator, values: vec![value] };
            if !selector.match_expressions.contains(&requirement) {
                selector.match_expressions.push(requirement);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::model::pod::requests;

    fn spec(json: &str) -> PodSpec {
        serde_json::from_str(json).unwrap()
    }

    /// A container with these requests, given as `"cpu":"1"`.
    fn container(requests: &str) -> String {
        format!(r#"{{"resources":{{"requests":{{{requests}}}}}}}"#)
    }

    #[test]
    fn the_old_word_for_a_service_account_is_the_new_one() {
        let name = |text: &str| {
            let mut spec: PodSpec = serde_json::from_str(text).unwrap();
            spec.apply_defaults();
            (spec.service_account_name.map(Symbol::as_str), spec.service_account)
        };
        assert_eq!(name(r#"{"serviceAccount":"a"}"#), (Some("a"), None));
        assert_eq!(name(r#"{"serviceAccount":"a","serviceAccountName":"b"}"#), (Some("b"), None));
        assert_eq!(name("{}"), (None, None));
    }

    #[test]
    fn defaults_fill_only_what_is_absent() {
        let mut pod = Pod {
            spec: spec(
                r#"{"hostNetwork":true,"terminationGracePeriodSeconds":0,"containers":[
                  {"image":"web","resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}},
                   "ports":[{"containerPort":80}],"readinessProbe":{"periodSeconds":5}},
                  {"image":"registry:5000/web:1.2"},{"image":"web@sha256:ab"},{"image":"web:latest"}]}"#,
            ),
            ..Pod::default()
        };
        pod.apply_defaults();
        let once = pod.clone();
        pod.apply_defaults();
        assert_eq!(pod, once);

        let policies: Vec<_> =
            pod.spec.containers.iter().map(|container| container.image_pull_policy.unwrap()).collect();
        let pulled = PullPolicy::Always;
        let kept = PullPolicy::IfNotPresent;
        assert_eq!(policies, [pulled, kept, kept, pulled]);
        let first = &pod.spec.containers[0];
        let probe = first.readiness_probe.as_ref().unwrap();
        assert_eq!((probe.period_seconds, probe.failure_threshold), (Some(5), Some(3)));
        assert_eq!(first.ports[0].host_port, 80);
        assert_eq!(pod.spec.termination_grace_period_seconds, Some(0));
        let counted = requests(&pod.spec);
        assert_eq!((counted.cpu_milli, counted.memory), (1000, 1 << 30));
    }

    #[test]
    fn requests_of_the_pod_follow_from_containers_and_limits_once_there_is_a_limit() {
        #[track_caller]
        fn check(resources: &str, containers: &str, expected: &str) {
            let mut spec = spec(&format!(r#"{{"resources":{resources},"containers":[{containers}]}}"#));
            spec.apply_defaults();
            spec.apply_pod_defaults();
            assert_eq!(serde_json::to_string(&spec.resources.unwrap().requests).unwrap(), expected);
        }
        let one = container(r#""cpu":"1""#);
        check(r#"{"limits":{"cpu":"4"}}"#, &one, r#"{"cpu":"1"}"#);
        check(r#"{"limits":{"memory":"4Gi"}}"#, &one, r#"{"cpu":"1","memory":"4Gi"}"#);
        check(r#"{"limits":{"cpu":"4"},"requests":{"cpu":"3"}}"#, &one, r#"{"cpu":"3"}"#);
        check(r#"{"requests":{"memory":"1Gi"}}"#, &one, r#"{"memory":"1Gi"}"#);
        let pages = r#"{"resources":{"limits":{"hugepages-2Mi":"4Mi"}}}"#;
        check(r#"{"limits":{"cpu":"4"}}"#, pages, r#"{"cpu":"4","hugepages-2Mi":"4Mi"}"#);
    }

    #[test]
    fn amounts_finer_than_a_thousandth_are_rounded_up_on_the_way_in() {
        let tiny = container(r#""cpu":"100u""#);
        let mut spec = spec(&format!(r#"{{"containers":[{tiny},{tiny}]}}"#));
        assert_eq!(requests(&spec).cpu_milli, 1);
        spec.apply_defaults();
        assert_eq!(requests(&spec).cpu_milli, 2);
    }
}
