//! Containers of single pods exit.

use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use super::super::{Chaos, PodTarget, target};
use crate::component::{Ctx, Stops};
use crate::diagnostics::Diagnostic;
use crate::state::{ContainerFate, MachineChange};

/// The highest exit code of a process.
const EXIT_CODE_MAX: i32 = 255;

parameters! {
    /// Containers of chosen pods exit with an error.
    pub struct ContainerCrash {
        /// which pods: by `namespace`, `selector`, `names`, and `count` or `fraction` of those
        "pods" pods: PodTarget, needed "add `pods: {namespace: ...}`, `{selector: ...}` or `{names: [...]}`";
        /// the exit code, 0 to 255; 1 if not said
        "exitCode" exit_code: Option<i32>;
    }
}

impl Fault for ContainerCrash {
    const NAME: &'static str = "ContainerCrash";
    const ABOUT: &'static str = "containers of pods exit with an error";
    const EFFECT: &'static str = "had containers that exited with an error";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str = "all containers of a pod end together";
    const COURSE: Course = Course::Instantaneous;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Pods(&self.pods)
    }

    fn check(&self, check: &mut Check<'_>) {
        if let Some(code) = self.exit_code.filter(|code| !(0..=EXIT_CODE_MAX).contains(code)) {
            let message = format!("no container exits with {code}");
            let diagnostic =
                Diagnostic::error("scenario::bad_value", message).at((check.place)("exitCode"), "not an exit code");
            check.diagnostics.push(diagnostic.help(format!("write 0 to {EXIT_CODE_MAX}; 1 if left out")));
        }
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for pod in target::select_pods(&self.pods, hit.nodes, hit.name, ctx) {
            let fate = ContainerFate::Exit(self.exit_code.unwrap_or(1));
            ctx.change_machine(MachineChange::ContainerEnds { pod, fate });
        }
    }

    fn end(&self, _fault: &Begun, (): &mut (), _losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {}
}
