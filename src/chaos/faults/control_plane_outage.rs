//! Processes of the control plane are down; kubelets and containers go on.

use super::super::Chaos;
use super::super::nesting::Nesting;
use super::super::spec::{FaultSpec, ProcessName};
use crate::component::Ctx;
use crate::state::{ControlPlaneProcess, MachineChange};

/// The processes meant; all three if none is named.
pub(super) fn processes(fault: &FaultSpec) -> Vec<ControlPlaneProcess> {
    let of = |name: ProcessName| match name {
        ProcessName::KubeApiserver => ControlPlaneProcess::KubeApiserver,
        ProcessName::KubeControllerManager => ControlPlaneProcess::KubeControllerManager,
        ProcessName::KubeScheduler => ControlPlaneProcess::KubeScheduler,
    };
    if fault.components.is_empty() {
        return vec![
            ControlPlaneProcess::KubeApiserver,
            ControlPlaneProcess::KubeControllerManager,
            ControlPlaneProcess::KubeScheduler,
        ];
    }
    fault.components.iter().copied().map(of).collect()
}

pub(super) fn begin(fault: &FaultSpec, nesting: &mut Nesting, ctx: &mut Ctx<'_, Chaos>) {
    for process in processes(fault) {
        if nesting.begin_outage(process) {
            ctx.change_machine(MachineChange::ProcessDown(process));
        }
    }
}

pub(super) fn end(fault: &FaultSpec, nesting: &mut Nesting, ctx: &mut Ctx<'_, Chaos>) {
    for process in processes(fault) {
        if nesting.end_outage(process) {
            ctx.change_machine(MachineChange::ProcessUp(process));
        }
    }
}
