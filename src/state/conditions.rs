//! Words of the API in conditions by which something is decided.

use std::fmt;

use crate::units::SimTime;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($word:ident),+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Copy, Clone, Debug, PartialEq, Eq)]
            #[allow(missing_docs, reason = "variants are the API's words")]
            pub enum $name {
                $($word,)+
                /// What somebody else wrote.
                Other(&'static str),
            }

            impl $name {
                /// The API's word.
                #[must_use]
                pub fn as_str(self) -> &'static str {
                    match self {
                        $(Self::$word => stringify!($word),)+
                        Self::Other(word) => word,
                    }
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self.as_str())
                }
            }

            impl From<&'static str> for $name {
                fn from(word: &'static str) -> Self {
                    match word {
                        $(stringify!($word) => Self::$word,)+
                        other => Self::Other(other),
                    }
                }
            }
        )+
    };
}

words! {
    /// The type of a Job's condition.
    JobConditionType { Complete, Failed, SuccessCriteriaMet, FailureTarget, Suspended }

    /// Why a condition of a Job holds, or does not.
    JobReason {
        BackoffLimitExceeded, DeadlineExceeded, MaxFailedIndexesExceeded, FailedIndexes, PodFailurePolicy,
        CompletionsReached, SuccessPolicy, JobSuspended, JobResumed
    }

    /// Why a condition of a Deployment holds, or does not.
    DeploymentReason {
        MinimumReplicasAvailable, MinimumReplicasUnavailable, NewReplicaSetCreated, FoundNewReplicaSet,
        ReplicaSetUpdated, ReplicaSetCreateError, NewReplicaSetAvailable, ProgressDeadlineExceeded, DeploymentPaused, DeploymentResumed
    }

    /// Why a budget allows disruptions, or does not.
    BudgetReason { SufficientPods, InsufficientPods, SyncFailed }
}

impl JobReason {
    /// The condition's message; none where it names a rule of a policy, as which has matched is not kept.
    ///
    /// # Source
    /// kube-controller-manager, job controller: `syncJob` and `finalizeJob`.
    #[must_use]
    pub fn message(self) -> Option<&'static str> {
        Some(match self {
            Self::CompletionsReached => "Reached expected number of succeeded pods",
            Self::BackoffLimitExceeded => "Job has reached the specified backoff limit",
            Self::DeadlineExceeded => "Job was active longer than specified deadline",
            Self::FailedIndexes => "Job has failed indexes",
            Self::MaxFailedIndexesExceeded => "Job has exceeded the specified maximal number of failed indexes",
            Self::JobSuspended => "Job suspended",
            Self::JobResumed => "Job resumed",
            Self::PodFailurePolicy | Self::SuccessPolicy | Self::Other(_) => return None,
        })
    }
}

/// A condition of a Job.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct JobCondition {
    /// Type.
    pub kind: JobConditionType,
    /// Reason.
    pub reason: JobReason,
    /// `lastTransitionTime`.
    pub since: SimTime,
}

impl JobCondition {
    /// Whether its status is True: all but that of a Job that has been resumed.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.reason != JobReason::JobResumed
    }
}

impl JobConditionType {
    /// Whether the Job is over for good.
    ///
    /// # Source
    /// `IsJobFinished`.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Complete | Self::Failed)
    }
}
