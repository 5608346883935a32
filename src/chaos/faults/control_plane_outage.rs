//! Processes of the control plane are down; kubelets and containers go on.

use rustc_hash::FxHashMap;

use super::super::fault::{Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use super::super::{Chaos, ProcessName};
use crate::component::Ctx;
use crate::diagnostics::Diagnostic;
use crate::state::{ControlPlaneProcess, MachineChange, NodeId};

parameters! {
    /// Processes of the control plane are down.
    pub struct ControlPlaneOutage {
        /// which: `[kube-apiserver, kube-controller-manager, kube-scheduler]` or some of these
        "components" components: Vec<ProcessName>, needed "add `components: [kube-controller-manager]` or others of the control plane";
    }
}

impl ControlPlaneOutage {
    /// The processes meant; all three if none is named.
    fn processes(&self) -> Vec<ControlPlaneProcess> {
        let all = [ProcessName::KubeApiserver, ProcessName::KubeControllerManager, ProcessName::KubeScheduler];
        let named = if self.components.is_empty() { &all[..] } else { &self.components };
        named.iter().map(|name| name.process()).collect()
    }
}

/// How many faults keep each process down.
#[derive(Clone, Debug, Default)]
pub(in crate::chaos) struct Outages(FxHashMap<ControlPlaneProcess, u32>);

impl Outages {
    /// One more outage of a process; true if it is the first.
    fn begin(&mut self, process: ControlPlaneProcess) -> bool {
        let causes = self.0.entry(process).or_insert(0);
        *causes += 1;
        *causes == 1
    }

    /// One outage less; true if it was the last.
    fn end(&mut self, process: ControlPlaneProcess) -> bool {
        let causes = self.0.entry(process).or_insert(0);
        let was_down = *causes > 0;
        *causes = causes.saturating_sub(1);
        was_down && *causes == 0
    }
}

impl Fault for ControlPlaneOutage {
    const NAME: &'static str = "ControlPlaneOutage";
    const ABOUT: &'static str = "processes of the control plane are down; kubelets and containers go on";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = Outages;

    fn target(&self) -> Target<'_> {
        Target::Processes(self.processes())
    }

    /// An outage of no process is none. Names of none are reported where they are read.
    fn check(&self, check: &mut Check<'_>) {
        if self.components.is_empty() && (check.is_empty_list)("components") {
            check.diagnostics.push(
                Diagnostic::error("scenario::missing_field", "this names no component that is down")
                    .at((check.place)("components"), "")
                    .help("name some of `kube-apiserver`, `kube-controller-manager` and `kube-scheduler`"),
            );
        }
    }

    fn begin(&self, _hit: &Hit<'_>, outages: &mut Outages, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for process in self.processes() {
            if outages.begin(process) {
                ctx.change_machine(MachineChange::ProcessDown(process));
            }
        }
    }

    fn end(&self, _nodes: &[NodeId], outages: &mut Outages, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for process in self.processes() {
            if outages.end(process) {
                ctx.change_machine(MachineChange::ProcessUp(process));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_down_twice_runs_when_both_outages_are_over() {
        let mut outages = Outages::default();
        let process = ControlPlaneProcess::KubeScheduler;
        assert!(outages.begin(process));
        assert!(!outages.begin(process));
        assert!(!outages.end(process));
        assert!(outages.end(process));
        assert!(!outages.end(process));
    }
}
