//! Limit ranges: what containers, pods and claims of a namespace may ask for, and what those ask for that say nothing.

use super::api_type::api_structs;
use super::meta::ObjectMeta;
use super::resources::ResourceList;
use crate::arena::Symbol;

api_structs! {
    /// Bounds and defaults of one namespace.
    pub struct LimitRange {
        pub metadata: ObjectMeta,
        pub spec: LimitRangeSpec,
    }

    /// What a limit range says.
    pub struct LimitRangeSpec {
        pub limits: Vec<LimitRangeItem>,
    }

    /// Bounds of one type: `Container`, `Pod`, `PersistentVolumeClaim`, or one that somebody else minds.
    pub struct LimitRangeItem {
        #[serde(rename = "type")]
        pub limit_type: Symbol,
        pub max: ResourceList,
        pub min: ResourceList,
        #[serde(rename = "default")]
        pub default_limit: ResourceList,
        pub default_request: ResourceList,
        pub max_limit_request_ratio: ResourceList,
    }
}

impl LimitRange {
    /// Fills in what the API server would.
    ///
    /// # Source
    ///
    /// kube-apiserver, `SetDefaults_LimitRangeItem`: a container's default limit is its maximum, its default request its default
    /// limit, else its minimum.
    pub fn apply_defaults(&mut self) {
        for item in self.spec.limits.iter_mut().filter(|item| item.limit_type == "Container") {
            fill(&mut item.default_limit, &item.max);
            fill(&mut item.default_request, &item.default_limit);
            fill(&mut item.default_request, &item.min);
        }
    }
}

/// Adds the amounts that are not named yet.
fn fill(list: &mut ResourceList, from: &ResourceList) {
    for (name, amount) in from.iter() {
        if !list.contains(name) {
            list.insert(name, *amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_come_from_maxima_and_requests_from_limits_then_minima() {
        let text = "{metadata: {name: l}, spec: {limits: [{type: Container, max: {cpu: 2}, min: {cpu: 100m, memory: 64Mi}, \
                    default: {memory: 1Gi}}, {type: Pod, max: {cpu: 4}}]}}";
        let mut range: LimitRange = serde_saphyr::from_str(text).expect("a limit range");
        range.apply_defaults();
        let shown = |list: &ResourceList| -> Vec<String> {
            list.iter().map(|(name, amount)| format!("{name}={amount}")).collect()
        };
        let [container, pod] = range.spec.limits.as_slice() else { panic!("two items") };
        assert_eq!(shown(&container.default_limit), ["cpu=2", "memory=1Gi"]);
        assert_eq!(shown(&container.default_request), ["cpu=2", "memory=1Gi"]);
        assert!(pod.default_limit.is_empty() && pod.default_request.is_empty());
    }
}
