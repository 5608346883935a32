//! What a kind of fault is: the trait that every file under `faults` implements.

use std::fmt::Debug;

pub(super) use super::hit::{Begun, Hit, Origin};
use super::losses::Losses;
use super::parameters::Parameters;
use super::{Chaos, PodTarget};
use crate::component::{Config, Ctx, Stops};
use crate::diagnostics::{Diagnostic, Diagnostics, Location};
use crate::state::{ControlPlaneProcess, MachineChange, NodeId, Slowdown};

/// What takes longer than this many times as long does not happen.
const FACTOR_MAX: f64 = 1e6;

/// A kind of fault; the value is what a scenario says of one such fault.
pub(super) trait Fault: Parameters {
    /// The name in a scenario.
    const NAME: &'static str;
    /// What it does, in a line of the reference.
    const ABOUT: &'static str;
    /// What became of what it hit, and what went on there: the end of a sentence such as `3 machines …`, of one as of many.
    const EFFECT: &'static str;
    /// What does nothing while it lasts.
    const STOPS: Stops;
    /// In what it differs from what such a fault would be in reality, as a part of a sentence for the reference; empty if in nothing
    /// that is known.
    const DIFFERS: &'static str;
    /// How it ends.
    const COURSE: Course;
    /// Whether a node that it hits can lose the condition Ready, or its Node object, by it.
    const MAKES_NODES_NOT_READY: bool;
    /// What faults of this kind have done and not yet undone, if nothing else does the same: for what changes a machine while they
    /// last, [`Causes`](super::causes::Causes). What several kinds do to the same thing stands in [`Losses`].
    type State: Clone + Debug + Default;

    /// What it is aimed at.
    fn target(&self) -> Target<'_>;

    /// Reports what is wrong with its parameters, each of which has the right type.
    fn check(&self, _check: &mut Check<'_>) {}

    /// It begins.
    fn begin(&self, hit: &Hit<'_>, state: &mut Self::State, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>);

    /// It ends; called for kinds that last. A machine that it hit may have been replaced under its name: what is taken back is what
    /// stands under this fault's number.
    fn end(&self, fault: &Begun, state: &mut Self::State, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>);

    /// The world goes on in the middle of a fault.
    fn machine_changed(_change: &MachineChange, _state: &mut Self::State, _ctx: &mut Ctx<'_, Chaos>) {}

    /// The time has come for which it armed [`super::Timer::Due`].
    fn due(_node: NodeId, _state: &mut Self::State, _losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {}

    /// What it waits for on a machine, in words.
    fn due_in_words(node: &str) -> String {
        format!("{} goes on at {node}", Self::NAME)
    }
}

/// How a fault ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// It is over at once.
    Instantaneous,
    /// It lasts until it is repaired.
    Lasting,
    /// It ends machines for good, at once.
    ForGood,
    /// It ends machines for good; in place of a repair others come, or none.
    UntilReplaced,
}

impl Course {
    /// Whether it goes on until something ends it.
    #[must_use]
    pub fn lasts(self) -> bool {
        matches!(self, Self::Lasting | Self::UntilReplaced)
    }

    /// Whether a random process of it has to say how long a repair takes.
    #[must_use]
    pub fn needs_repair(self) -> bool {
        self == Self::Lasting
    }

    /// Whether it ends machines for good.
    #[must_use]
    pub fn ends_machines(self) -> bool {
        matches!(self, Self::ForGood | Self::UntilReplaced)
    }
}

/// What a fault is aimed at.
#[derive(Clone, Debug, PartialEq)]
pub enum Target<'a> {
    /// Machines.
    Nodes,
    /// Images, on machines; of all names if none is named.
    Images(&'a [String]),
    /// Pods, on machines.
    Pods(&'a PodTarget),
    /// Processes of the control plane.
    Processes(Vec<ControlPlaneProcess>),
}

impl Target<'_> {
    /// Whether machines are hit, as opposed to pods and processes.
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        matches!(self, Self::Nodes | Self::Images(_))
    }
}

/// A look at the parameters of a fault as they are written.
pub struct Check<'a> {
    /// Flags and configuration of the cluster.
    pub config: &'a Config,
    /// Where a field of the fault is written.
    pub place: &'a dyn Fn(&str) -> Location,
    /// Whether a field is written as a list or map of nothing.
    pub is_empty: &'a dyn Fn(&str) -> bool,
    /// What was found.
    pub diagnostics: &'a mut Diagnostics,
}

impl Check<'_> {
    /// How many times as long as always something takes, from 1 up; `thing` is what would take so long.
    pub(super) fn factor(&mut self, kind: &str, field: &str, factor: f64, thing: &str) {
        if !(1.0..=FACTOR_MAX).contains(&factor) {
            let message = format!("no {thing} takes {factor} times as long");
            let diagnostic = Diagnostic::error("scenario::bad_value", message).at((self.place)(field), "");
            self.diagnostics.push(diagnostic.help(format!("write a number from 1 to {FACTOR_MAX}")));
        } else if Slowdown::by(factor) == Slowdown::NONE {
            self.no_effect(kind, field, "write how many times as long, such as 3");
        }
    }

    /// What is written in this field makes the fault change nothing.
    pub(super) fn no_effect(&mut self, kind: &str, field: &str, help: &str) {
        let message = format!("this {kind} changes nothing");
        let at = (self.place)(field);
        let diagnostic = Diagnostic::warning("scenario::no_effect", message);
        self.diagnostics.push(diagnostic.at(at, "everything takes as long as without it").help(help));
    }
}
