//! Resource quotas: how much of what a namespace may hold.

use super::api_type::api_structs;
use super::meta::ObjectMeta;
use super::resources::ResourceList;
use crate::arena::Symbol;

api_structs! {
    /// What the objects of a namespace may come to together.
    pub struct ResourceQuota {
        pub metadata: ObjectMeta,
        pub spec: ResourceQuotaSpec,
        pub status: ResourceQuotaStatus,
    }

    /// What may be used at most, and by which objects.
    pub struct ResourceQuotaSpec {
        pub hard: ResourceList,
        pub scopes: Vec<Symbol>,
        pub scope_selector: Option<ScopeSelector>,
    }

    /// What objects must have to be counted: all of it.
    #[derive(Eq)]
    pub struct ScopeSelector {
        pub match_expressions: Vec<ScopedResourceSelectorRequirement>,
    }

    /// One thing that they must have.
    #[derive(Eq)]
    pub struct ScopedResourceSelectorRequirement {
        pub scope_name: Symbol,
        pub operator: Symbol,
        pub values: Vec<Symbol>,
    }

    /// What is enforced, and what of it is used.
    pub struct ResourceQuotaStatus {
        pub hard: ResourceList,
        pub used: ResourceList,
    }
}
