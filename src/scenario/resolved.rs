//! A scenario with nothing left open, as plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::actions::TimelineAction;
use super::assumption::Assumption;
use super::expect::Expectation;
use super::input::Input;
use super::limits::Limits;
use super::pools::NodePool;
use super::schema::Bootstrap;
use crate::chaos::ChaosPlan;
use crate::component::Config;
use crate::diagnostics::{Diagnostics, Sources};
use crate::kubectl::Runbook;
use crate::model::{ManifestObject, NotModelled};
use crate::observe::Objective;
use crate::procedures::ProcedurePlan;
use crate::rest::{ClientRequest, ControllerPlugin};
use crate::units::{SimDuration, SimTime};

/// A scenario with nothing left open.
#[derive(Clone, Debug)]
pub struct ResolvedScenario {
    /// `metadata.name`.
    pub name: String,
    /// How long it runs.
    pub duration: SimDuration,
    /// What chance is drawn from.
    pub seed: u64,
    /// Everything the components are configured with.
    pub config: Config,
    /// The objects of the manifests in their order, then the nodes of the pools.
    pub objects: Vec<ManifestObject>,
    /// The state in which t=0 finds the cluster.
    pub bootstrap: Bootstrap,
    /// The wall-clock instant of t=0, if the objects carry time stamps: the earliest at which they can have been as they are.
    pub epoch_unix_nanos: Option<i64>,
    /// What happens when, in file order.
    pub timeline: Vec<(SimTime, TimelineAction)>,
    /// Faults, random processes and node pools.
    pub chaos: Arc<ChaosPlan>,
    /// Node pools, in file order.
    pub pools: Vec<NodePool>,
    /// kubectl lines.
    pub kubectl: Arc<Runbook>,
    /// What operators and their automata do.
    pub procedures: Arc<ProcedurePlan>,
    /// What clients of the API server want done.
    pub requests: Arc<Vec<ClientRequest>>,
    /// Controllers that whoever plays it brings along; no document names them.
    pub controllers: Arc<[ControllerPlugin]>,
    /// What counts as good for this user.
    pub objectives: Vec<Objective>,
    /// What must hold in the end.
    pub expectations: Vec<Expectation>,
    /// What of the input has no effect.
    pub not_modelled: Vec<NotModelled>,
    /// What the input does not say and is taken for granted.
    pub assumed: Vec<Assumption>,
    /// What was read of manifests and dumps, and what was not.
    pub input: Input,
    /// Whether its author goes on with a cluster of which a part is missing.
    pub allow_partial: bool,
    /// How large its reader takes a cluster.
    pub limits: Limits,
    /// What may not mean what its author thinks.
    pub warnings: Diagnostics,
    /// The texts that the warnings are about.
    pub sources: Sources,
    /// Texts of files that paths of the document mean, by path; manifests of the cluster are not among them.
    pub(super) files: BTreeMap<String, String>,
    /// The files that were read, itself among them.
    pub(super) inputs: BTreeSet<PathBuf>,
}

impl ResolvedScenario {
    /// The files that it was read from, itself among them. Some of these may not exist, such as standard input.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.inputs.iter().map(PathBuf::as_path)
    }
}
