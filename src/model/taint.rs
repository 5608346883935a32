//! Taints and tolerations.

use super::api_type::{api_enums, api_structs};
use crate::arena::Symbol;

api_structs! {
    /// A taint of a node; unique there by key and effect.
    #[derive(Eq, Hash)]
    pub struct Taint {
        pub key: Symbol,
        pub value: Symbol,
        pub effect: TaintEffect,
        pub time_added: Option<Symbol>,
    }

    /// A pod's toleration. An empty key stands for every key, no effect for every effect.
    #[derive(Eq, Hash)]
    pub struct Toleration {
        pub key: Symbol,
        pub operator: TolerationOperator,
        pub value: Symbol,
        pub effect: Option<TaintEffect> = "crate::model::api_type::empty_is_none",
        pub toleration_seconds: Option<i64>,
    }
}

api_enums! {
    /// What a taint does to pods that do not tolerate it.
    pub enum TaintEffect or NoSchedule {
        NoSchedule = "NoSchedule",
        PreferNoSchedule = "PreferNoSchedule",
        NoExecute = "NoExecute",
    }

    /// How a toleration compares values. `Gt` and `Lt` are alpha from 1.35 and off by default.
    pub enum TolerationOperator or Equal {
        Equal = "Equal",
        Exists = "Exists",
        Lt = "Lt",
        Gt = "Gt",
    }
}
