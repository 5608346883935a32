//! The kubelet ends its pods, then the machine is off.

use super::super::fault::{Begun, Check, Course, Fault, Hit, Origin, Target};
use super::super::losses::{Losses, time_boot};
use super::super::{Chaos, Severity, note};
use crate::component::{Ctx, Stops, reason};
use crate::diagnostics::Diagnostic;
use crate::engine::Distribution;

parameters! {
    /// The kubelet's graceful node shutdown, then off.
    pub struct GracefulShutdown {
        /// how long the machine boots afterwards, a length or a distribution; `latency.nodeBoot` if not said
        "boot" boot: Option<Distribution>;
    }
}

impl Fault for GracefulShutdown {
    const NAME: &'static str = "GracefulShutdown";
    const ABOUT: &'static str = "the kubelet's graceful node shutdown, then off; a plain crash, which is said, unless `controlPlane.kubelet` has `shutdownGracePeriod`";
    const EFFECT: &'static str = "ended what ran there, then went off";
    const STOPS: Stops = Stops::Machine;
    const DIFFERS: &'static str = "";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn check(&self, check: &mut Check<'_>) {
        if !check.config.kubelet.shutdown_groups.is_empty() {
            return;
        }
        let message = "GracefulShutdown is a plain crash here: the kubelets have no `shutdownGracePeriod`";
        check.diagnostics.push(
            Diagnostic::warning("scenario::no_grace_period", message)
                .at((check.place)("kind"), "no pod is ended before its machine is off")
                .help("add `kubelet: {shutdownGracePeriod: 30s, shutdownGracePeriodCriticalPods: 10s}` under `spec.controlPlane`"),
        );
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        if hit.origin == Origin::Timeline && ctx.config.kubelet.shutdown_groups.is_empty() {
            let message = "GracefulShutdown is a plain crash here: the kubelets have no shutdownGracePeriod";
            note(ctx, Severity::Warning, reason::NO_SHUTDOWN_GRACE_PERIOD, hit.name, message.to_owned());
        }
        for &node in hit.nodes {
            time_boot(self.boot.as_ref(), hit.name, node, ctx);
            losses.shut_down(hit.fault, node, ctx);
        }
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            losses.give_power_back(fault.fault, node, ctx);
        }
    }
}
