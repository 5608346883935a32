//! How what is given is read.

use clap::Args;

use crate::facade::{ClusterOptions, LoadOptions};
use crate::scenario::Limits;

/// What commands take that read scenarios or clusters.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Go on without objects that cannot be read, that the API server would refuse, or that are written twice
    #[arg(long)]
    allow_partial: bool,
    /// Play clusters of up to so many pods, and a tenth as many nodes [default: 500000, fewer where memory holds fewer]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=Limits::PODS_MAX))]
    max_pods: Option<u64>,
}

impl Reading {
    /// How a document of ours is read.
    pub(super) fn options(self) -> LoadOptions {
        let options = LoadOptions::new().allow_partial(self.allow_partial).of_command_line();
        self.max_pods.into_iter().fold(options, LoadOptions::max_pods)
    }

    /// How manifests and dumps are read that no document names.
    pub(super) fn cluster_options(self) -> ClusterOptions {
        let options = ClusterOptions::new().allow_partial(self.allow_partial).of_command_line();
        self.max_pods.into_iter().fold(options, ClusterOptions::max_pods)
    }
}
