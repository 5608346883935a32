//! Label selectors and node selectors.

use super::api_type::{api_enums, api_structs};
use super::meta::Labels;
use crate::arena::Symbol;

api_structs! {
    /// A label selector. An empty one matches everything; what an *absent* one means differs per field, so fields hold
    /// an `Option`.
    #[derive(Eq)]
    pub struct LabelSelector {
        pub match_labels: Labels,
        pub match_expressions: Vec<LabelSelectorRequirement>,
    }

    /// One expression of a label selector.
    #[derive(Eq)]
    pub struct LabelSelectorRequirement {
        pub key: Symbol,
        pub operator: LabelSelectorOperator,
        pub values: Vec<Symbol>,
    }

    /// Alternatives of which a node must meet one.
    #[derive(Eq)]
    pub struct NodeSelector {
        pub node_selector_terms: Vec<NodeSelectorTerm>,
    }

    /// Requirements that a node must meet together. A term without any matches no node.
    #[derive(Eq)]
    pub struct NodeSelectorTerm {
        pub match_expressions: Vec<NodeSelectorRequirement>,
        pub match_fields: Vec<NodeSelectorRequirement>,
    }

    /// One requirement on a node's labels or fields.
    #[derive(Eq)]
    pub struct NodeSelectorRequirement {
        pub key: Symbol,
        pub operator: NodeSelectorOperator,
        pub values: Vec<Symbol>,
    }
}

api_enums! {
    /// Operators of label selectors.
    pub enum LabelSelectorOperator or In {
        In = "In",
        NotIn = "NotIn",
        Exists = "Exists",
        DoesNotExist = "DoesNotExist",
    }

    /// Operators of node selectors.
    pub enum NodeSelectorOperator or In {
        In = "In",
        NotIn = "NotIn",
        Exists = "Exists",
        DoesNotExist = "DoesNotExist",
        Gt = "Gt",
        Lt = "Lt",
    }
}
