//! How large a cluster may be that is played.

use crate::diagnostics::Diagnostic;

/// How many pods and nodes may be played, so that what is asked for by mistake is refused before it takes all memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limits {
    pods_max: u64,
}

/// Bytes that a pod takes in a run which keeps everything, generously: those of 150,000 pods and their 5,000 nodes are 4,200 each.
#[cfg(feature = "cli")]
const BYTES_PER_POD: u64 = 8_000;

/// A node takes more than a pod: its lease, heartbeats and conditions, and the pods of DaemonSets.
const PODS_PER_NODE: u64 = 10;

impl Limits {
    /// What anybody may play who has said nothing. Kubernetes is tested with 150,000 pods.
    pub const DEFAULT: Self = Self::of_pods(500_000);

    /// The most that can be asked for.
    pub const PODS_MAX: u64 = 5_000_000;

    /// So many pods, and a tenth as many nodes.
    #[must_use]
    pub const fn of_pods(pods_max: u64) -> Self {
        Self { pods_max: if pods_max < Self::PODS_MAX { pods_max } else { Self::PODS_MAX } }
    }

    /// As much as so many bytes hold.
    #[cfg(feature = "cli")]
    #[must_use]
    pub fn of_memory(bytes: u64) -> Self {
        Self::of_pods(bytes / BYTES_PER_POD)
    }

    /// Pods that a cluster may have.
    #[must_use]
    pub fn pods(self) -> u64 {
        self.pods_max
    }

    /// Nodes that a cluster may have.
    #[must_use]
    pub fn nodes(self) -> u64 {
        self.pods_max / PODS_PER_NODE
    }

    /// What to do about too many pods.
    #[must_use]
    pub(super) fn of_pods_in_words(self) -> String {
        let most = self.pods_max;
        format!(
            "at most {most} are played here, unless `--max-pods` or `LoadOptions::max_pods` says more; Kubernetes itself is made for 150000"
        )
    }

    /// What to do about too many nodes.
    pub(super) fn of_nodes_in_words(self) -> String {
        let most = self.nodes();
        format!(
            "at most {most} are played here, a tenth of what `--max-pods` or `LoadOptions::max_pods` says; Kubernetes itself is made for 5000"
        )
    }

    /// What is said of so many pods, if they are too many.
    pub(super) fn refusal(self, pods: u64) -> Option<Diagnostic> {
        (pods > self.pods_max).then(|| {
            let diagnostic = Diagnostic::error("scenario::too_many", format!("this asks for {pods} pods"));
            diagnostic.help(self.of_pods_in_words())
        })
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
