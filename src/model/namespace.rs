//! Namespaces.

use super::api_type::{api_open_enums, api_structs};
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
        pub phase: Option<NamespacePhase>,
    }
}

api_open_enums! {
    /// Whether a namespace takes new objects. Dumps of broken clusters hold other words as well.
    pub enum NamespacePhase {
        Active = "Active",
        Terminating = "Terminating",
    }
}

impl Namespace {
    /// Fills in what the API server would: the label with the name, and the finalizer. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        let labels = &mut self.metadata.labels;
        *labels = labels.with(Symbol::from("kubernetes.io/metadata.name"), self.metadata.name);
        if self.spec.finalizers.is_empty() && self.metadata.deletion_timestamp.is_none() {
            self.spec.finalizers.push(Symbol::from("kubernetes"));
        }
    }
}
