//! What a run is made of besides the cluster.

use std::sync::Arc;

use crate::chaos::ChaosPlan;
use crate::kubectl::Runbook;
use crate::kubelet::PoolTemplate;
use crate::procedures::ProcedurePlan;
use crate::rest::{ClientRequest, ControllerPlugin};
use crate::scenario::TimelineAction;
use crate::units::SimTime;

/// What the scenario gives to the components.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Faults, random processes and node pools.
    pub chaos: Arc<ChaosPlan>,
    /// How the machines of each pool register.
    pub pools: Arc<Vec<PoolTemplate>>,
    /// kubectl lines.
    pub kubectl: Arc<Runbook>,
    /// What operators and their automata do.
    pub procedures: Arc<ProcedurePlan>,
    /// What clients of the API server want done.
    pub requests: Arc<Vec<ClientRequest>>,
    /// Controllers that whoever plays the run brings along.
    pub controllers: Arc<[ControllerPlugin]>,
    /// What t=0 is called, in nanoseconds since 1970.
    pub epoch_unix_nanos: i64,
    /// When which of them happens, in file order.
    pub timeline: Vec<(SimTime, TimelineAction)>,
}
