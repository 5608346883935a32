//! Replica sets and their predecessor, replication controllers.

use std::sync::Arc;

use super::api_type::api_structs;
use super::meta::{Labels, ObjectMeta};
use super::pod::PodTemplateSpec;
use super::pod_disruption_budget::Condition;
use super::selector::LabelSelector;
use crate::arena::Symbol;

/// Letters and digits that spell no words.
pub(crate) const SAFE_LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A text in letters and digits that spell no words.
///
/// # Source
/// apimachinery, `rand.SafeEncodeString`.
pub(crate) fn safe_encoded(text: &[u8]) -> String {
    text.iter().map(|&byte| char::from(SAFE_LETTERS[usize::from(byte) % SAFE_LETTERS.len()])).collect()
}

/// The name of the Deployment that made a ReplicaSet: what stands before the hash that its pods bear as `pod-template-hash`.
///
/// # Source
/// deployment-controller, `getNewReplicaSet`: the name ends in the hash; some former versions (1.8 and those that followed) wrote it
/// into the name with safe letters, and into the label as a number.
pub(crate) fn deployment_of_replica_set(name: Symbol, template_hash: Symbol) -> Option<Symbol> {
    let hash = template_hash.as_str();
    let stem = |hash: &str| name.as_str().strip_suffix(hash)?.strip_suffix('-').filter(|stem| !stem.is_empty());
    let is_number = || hash.bytes().all(|byte| byte.is_ascii_digit());
    if hash.is_empty() {
        return None;
    }
    stem(hash).or_else(|| is_number().then(|| stem(&safe_encoded(hash.as_bytes()))).flatten()).map(Symbol::from)
}

api_structs! {
    /// A number of equal pods.
    pub struct ReplicaSet {
        pub metadata: ObjectMeta,
        pub spec: ReplicaSetSpec,
        pub status: ReplicaSetStatus,
    }

    /// What is wanted of a replica set.
    pub struct ReplicaSetSpec {
        pub replicas: Option<i32>,
        pub min_ready_seconds: i32,
        pub selector: Option<LabelSelector>,
        pub template: Arc<PodTemplateSpec>,
    }

    /// What the controller last counted; a replication controller's is the same.
    pub struct ReplicaSetStatus {
        pub replicas: i32,
        pub fully_labeled_replicas: i32,
        pub ready_replicas: i32,
        pub available_replicas: i32,
        pub terminating_replicas: Option<i32>,
        pub observed_generation: i64,
        pub conditions: Vec<Condition>,
    }

    /// A replica set with a selector of plain labels.
    pub struct ReplicationController {
        pub metadata: ObjectMeta,
        pub spec: ReplicationControllerSpec,
        pub status: ReplicaSetStatus,
    }

    /// What is wanted of a replication controller.
    pub struct ReplicationControllerSpec {
        pub replicas: Option<i32>,
        pub min_ready_seconds: i32,
        pub selector: Labels,
        pub template: Arc<PodTemplateSpec>,
    }
}

impl ReplicaSet {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        let spec = &mut self.spec;
        Arc::make_mut(&mut spec.template).spec.apply_defaults();
        spec.replicas.get_or_insert(1);
        spec.selector.get_or_insert_with(|| LabelSelector::from_labels(&spec.template.metadata.labels));
    }
}

impl ReplicationController {
    /// Fills in what the API server would; selector and labels come from the template. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        let spec = &mut self.spec;
        Arc::make_mut(&mut spec.template).spec.apply_defaults();
        spec.replicas.get_or_insert(1);
        let labels = &spec.template.metadata.labels;
        for inherited in [&mut spec.selector, &mut self.metadata.labels] {
            if inherited.is_empty() {
                *inherited = labels.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_set_is_named_by_the_hash_or_by_the_number_in_safe_letters() {
        #[track_caller]
        fn check(name: &str, hash: &str, expected: Option<&str>) {
            let found = deployment_of_replica_set(Symbol::new(name), Symbol::new(hash));
            assert_eq!(found, expected.map(Symbol::from));
        }
        check("web-6d4b75cb6d", "6d4b75cb6d", Some("web"));
        check("web-3046147152", "3046147152", Some("web"));
        check("calico-kube-controllers-6ff88bf6d4", "2994469280", Some("calico-kube-controllers"));
        check("kube-dns-545bc4bfd4", "1016706980", Some("kube-dns"));
        check("web-6ff88bf6d4", "6ff88bf6d5", None);
        check("6ff88bf6d4", "2994469280", None);
        check("-6ff88bf6d4", "2994469280", None);
        check("web-", "", None);
    }
}
