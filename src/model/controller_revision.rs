//! Controller revisions: the templates that daemon sets and stateful sets have had.

use super::api_type::api_structs;
use super::meta::ObjectMeta;

api_structs! {
    /// One template of the past or present.
    pub struct ControllerRevision {
        pub metadata: ObjectMeta,
        pub data: Option<serde_json::Value>,
        pub revision: i64,
    }
}
