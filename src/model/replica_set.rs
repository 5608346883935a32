//! Replica sets and their predecessor, replication controllers.

use std::sync::Arc;

use super::api_type::api_structs;
use super::meta::{Labels, ObjectMeta};
use super::pod::PodTemplateSpec;
use super::pod_disruption_budget::Condition;
use super::selector::LabelSelector;

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
