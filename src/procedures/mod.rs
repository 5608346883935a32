//! What operators and their automata do to a cluster by a plan: upgrades of node pools, and what keeps pools in shape.
//!
//! Each program is a component of its own, which costs nothing where the scenario does not ask for it. Nodes are drained by
//! kubectl, whose lines the programs type. Nothing here decides where a pod goes or stops a container.

mod drain;
mod note;
mod workload_load;

use std::sync::Arc;

pub use workload_load::HorizontalPodAutoscalerSpec;

use crate::component::{Load, LoadCurve, PoolPlan};

/// Makes the modules and the plan of the list of procedures.
macro_rules! procedures {
    ($($module:ident => $field:ident: $asked:ty)+) => {
        $(pub mod $module;)+

        /// What a scenario asks of operators and their automata.
        #[derive(Clone, Debug, Default)]
        pub struct ProcedurePlan {
            /// Node pools, by position.
            pub pools: Vec<PoolPlan>,
            /// Loads on workloads, and how they are followed.
            pub workload_autoscalers: Vec<HorizontalPodAutoscalerSpec>,
            $(#[doc = concat!("What is asked of `", stringify!($module), "`.")] pub $field: $asked,)+
        }
    };
}

// One line a procedure: its file, and what of it a scenario asks for.
procedures! {
    rolling_upgrade => upgrades: Vec<rolling_upgrade::RollingUpgradeSpec>
    rolling_reboot => reboots: Vec<rolling_reboot::RollingRebootSpec>
    node_repair => repair: Option<node_repair::NodeRepairSpec>
    cluster_autoscaler => autoscaler: Option<cluster_autoscaler::AutoscalerPlan>
}

impl ProcedurePlan {
    /// What is known of the loads on workloads.
    #[must_use]
    pub fn loads(&self) -> Arc<[Load]> {
        let load = |spec: &HorizontalPodAutoscalerSpec| {
            let (kind, namespace, name) = spec.target_parts()?;
            let curve = LoadCurve::from(spec.load.as_slice());
            Some(Load { kind, namespace, name, per_replica: spec.per_replica, curve })
        };
        self.workload_autoscalers.iter().filter_map(load).collect()
    }

    /// The position of the pool of that name.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<usize> {
        self.pools.iter().position(|pool| pool.name == name)
    }
}
