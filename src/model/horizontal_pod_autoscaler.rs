//! Horizontal pod autoscalers: their target and bounds. Metrics are not modelled.

use super::api_type::api_structs;
use super::meta::{ObjectMeta, ObjectReference};

api_structs! {
    /// An autoscaler.
    pub struct HorizontalPodAutoscaler {
        pub metadata: ObjectMeta,
        pub spec: HorizontalPodAutoscalerSpec,
        pub status: HorizontalPodAutoscalerStatus,
    }

    /// What is scaled, and between which bounds.
    #[derive(Eq)]
    pub struct HorizontalPodAutoscalerSpec {
        pub scale_target_ref: ObjectReference,
        pub min_replicas: Option<i32>,
        pub max_replicas: i32,
    }

    /// What the autoscaler last wanted.
    #[derive(Eq)]
    pub struct HorizontalPodAutoscalerStatus {
        pub current_replicas: i32,
        pub desired_replicas: i32,
    }
}

impl HorizontalPodAutoscaler {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.spec.min_replicas.get_or_insert(1);
    }
}
