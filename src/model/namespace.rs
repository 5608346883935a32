//! Namespaces.

use super::api_type::{api_enums, api_structs};
use super::meta::ObjectMeta;
use crate::arena::Symbol;

api_structs! {
    /// A namespace.
    pub struct Namespace {
        pub metadata: ObjectMeta,
        pub spec: NamespaceSpec,
        pub status: NamespaceStatus,
    }

    /// What must be removed before a namespace can go.
    #[derive(Eq)]
    pub struct NamespaceSpec {
        pub finalizers: Vec<Symbol>,
    }

    /// What has become of a namespace.
    #[derive(Eq)]
    pub struct NamespaceStatus {
        pub phase: NamespacePhase,
    }
}

api_enums! {
    /// Whether a namespace takes new objects.
    pub enum NamespacePhase or Active {
        Active = "Active",
        Terminating = "Terminating",
    }
}
