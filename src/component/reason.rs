//! Reasons of Events by which observers decide: who posts them and who looks for them name them alike.

/// A controller made a pod or a job.
pub const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
/// It could not.
pub const FAILED_CREATE: &str = "FailedCreate";
/// The deployment controller could not make a ReplicaSet.
pub const REPLICA_SET_CREATE_ERROR: &str = "ReplicaSetCreateError";
/// A fault of the scenario begins.
pub const FAULT_BEGAN: &str = "FaultBegan";
/// It ends.
pub const FAULT_ENDED: &str = "FaultEnded";
/// There is nothing for a fault to hit.
pub const NOTHING_TO_FAIL: &str = "NothingToFail";
/// Kubelets that do not wait for pods when their machine shuts down are shut down.
pub const NO_SHUTDOWN_GRACE_PERIOD: &str = "NoShutdownGracePeriod";
/// Nodes join by the timeline.
pub const ADD_NODES: &str = "AddNodes";
/// A line of kubectl is typed.
pub const KUBECTL: &str = "Kubectl";
/// A request of the timeline is refused.
pub const REQUEST_REFUSED: &str = "RequestRefused";
/// An upgrade of the timeline begins.
pub const ROLLING_UPGRADE_BEGAN: &str = "RollingUpgradeBegan";
/// It ends.
pub const ROLLING_UPGRADE_ENDED: &str = "RollingUpgradeEnded";
/// It is given up.
pub const ROLLING_UPGRADE_FAILED: &str = "RollingUpgradeFailed";
/// An upgrade cannot drain a node.
pub const NODE_UNDRAINABLE: &str = "NodeUndrainable";
/// The nodes of a pool need a reboot.
pub const REBOOT_REQUIRED: &str = "RebootRequired";
/// They all had it.
pub const REBOOTS_ENDED: &str = "RebootsEnded";
/// A node could not be drained for its reboot.
pub const REBOOT_GIVEN_UP: &str = "RebootGivenUp";
/// The lock of reboots was lost.
pub const REBOOT_LOCK_LOST: &str = "RebootLockLost";
