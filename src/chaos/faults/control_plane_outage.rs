//! Processes of the control plane are down; kubelets and containers go on.

use super::super::causes::Causes;
use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use super::super::{Chaos, ProcessName};
use crate::component::{Ctx, Stops};
use crate::diagnostics::Diagnostic;
use crate::state::{ControlPlaneProcess, MachineChange};

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

impl Fault for ControlPlaneOutage {
    const NAME: &'static str = "ControlPlaneOutage";
    const ABOUT: &'static str = "processes of the control plane are down; kubelets and containers go on";
    const EFFECT: &'static str = "stopped; kubelets and containers went on";
    const STOPS: Stops = Stops::Process;
    const DIFFERS: &'static str =
        "there is one replica of each process, which works again at the instant at which the outage ends";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = false;
    /// The outages of each process.
    type State = Causes<(), ControlPlaneProcess>;

    fn target(&self) -> Target<'_> {
        Target::Processes(self.processes())
    }

    /// An outage of no process is none. Names of none are reported where they are read.
    fn check(&self, check: &mut Check<'_>) {
        if self.components.is_empty() && (check.is_empty)("components") {
            check.diagnostics.push(
                Diagnostic::error("scenario::missing_field", "this names no component that is down")
                    .at((check.place)("components"), "")
                    .help("name some of `kube-apiserver`, `kube-controller-manager` and `kube-scheduler`"),
            );
        }
    }

    fn begin(&self, hit: &Hit<'_>, outages: &mut Self::State, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for process in self.processes() {
            if outages.add(process, hit.fault, ()) {
                ctx.change_machine(MachineChange::ProcessDown(process));
            }
        }
    }

    fn end(&self, fault: &Begun, outages: &mut Self::State, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for process in self.processes() {
            if outages.remove_last(process, fault.fault) {
                ctx.change_machine(MachineChange::ProcessUp(process));
            }
        }
    }
}
