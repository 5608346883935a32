//! What the timeline ordered, and what came of it: kubectl lines, upgrades and reboots of pools.

use std::sync::Arc;

use serde::Serialize;

use super::Detail;
use super::observer::{Observer, Seen};
use crate::component::{InvolvedKind, Record, SCENARIO, Transcript, reason};
use crate::units::SimTime;

/// How an order ended, if it did not end well.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortcoming {
    /// It ended with an error.
    Failed,
    /// It had not ended when the run did.
    Unfinished,
}

/// An order of the timeline that did not end well.
#[derive(Clone, Debug)]
pub struct Order {
    /// When it began.
    pub at: SimTime,
    /// The line, with `kubectl`, or the procedure and its pool.
    pub what: Arc<str>,
    /// How it ended.
    pub shortcoming: Shortcoming,
    /// Why, as it was said; empty if nobody said anything.
    pub why: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    /// Lines that procedures have typed and that have not ended: theirs to answer for.
    of_procedures: Vec<(SimTime, Arc<str>)>,
    open_procedures: Vec<Procedure>,
    commands: Vec<Order>,
    procedures: Vec<Order>,
}

/// An upgrade or reboots under way.
#[derive(Clone, Debug)]
struct Procedure {
    at: SimTime,
    /// What it ends with.
    ends: [&'static str; 2],
    pool: Arc<str>,
    what: Arc<str>,
    /// The last thing that went wrong.
    trouble: String,
}

impl Observer for Orders {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn recorded(&mut self, record: &Record, seen: &Seen<'_>) {
        let now = seen.now;
        if let Record::Transcript(transcript) = record {
            self.ended(transcript);
        }
        let Record::Event { component, event } = record else { return };
        match *component {
            SCENARIO => match event.reason {
                reason::ROLLING_UPGRADE_BEGAN => {
                    self.begin(
                        now,
                        "upgrade",
                        &event.about.name,
                        [reason::ROLLING_UPGRADE_ENDED, reason::ROLLING_UPGRADE_FAILED],
                    );
                }
                reason::REBOOT_REQUIRED => self.begin(now, "reboots", &event.about.name, [reason::REBOOTS_ENDED; 2]),
                _ => {}
            },
            component if component != "kubectl" && event.about.kind == InvolvedKind::Kubectl => {
                self.of_procedures.push((now, Arc::clone(&event.about.name)));
            }
            "rolling-upgrade" | "reboot-daemon" => {
                let is_of = |open: &Procedure| open.pool == event.about.name && open.ends.contains(&event.reason);
                if let Some(place) = self.open_procedures.iter().position(is_of) {
                    let Procedure { at, what, .. } = self.open_procedures.remove(place);
                    if event.reason == reason::ROLLING_UPGRADE_FAILED {
                        let why = event.message.clone();
                        self.procedures.push(Order { at, what, shortcoming: Shortcoming::Failed, why });
                    }
                } else if matches!(
                    event.reason,
                    reason::NODE_UNDRAINABLE | reason::REBOOT_GIVEN_UP | reason::REBOOT_LOCK_LOST
                ) {
                    let is_upgrade = event.reason == reason::NODE_UNDRAINABLE;
                    let of_it =
                        |open: &&mut Procedure| open.ends.contains(&reason::ROLLING_UPGRADE_FAILED) == is_upgrade;
                    for open in self.open_procedures.iter_mut().filter(of_it) {
                        open.trouble = format!("node/{}: {}", event.about.name, event.message);
                    }
                }
            }
            _ => {}
        }
    }

    fn left_unfinished(&mut self, lines: &[Transcript]) {
        lines.iter().for_each(|line| self.ended(line));
    }
}

impl Orders {
    fn begin(&mut self, at: SimTime, what: &str, pool: &Arc<str>, ends: [&'static str; 2]) {
        // Reboots that are asked for again while they are under way are the same ones.
        if self.open_procedures.iter().any(|open| open.pool == *pool && open.ends == ends && what == "reboots") {
            return;
        }
        let what = Arc::from(format!("{what} of pool {pool}"));
        self.open_procedures.push(Procedure { at, ends, pool: Arc::clone(pool), what, trouble: String::new() });
    }

    fn ended(&mut self, transcript: &Transcript) {
        let is_it = |open: &(SimTime, Arc<str>)| open.0 == transcript.at && open.1 == transcript.command;
        if let Some(place) = self.of_procedures.iter().position(is_it) {
            self.of_procedures.remove(place);
            return;
        }
        let shortcoming = match transcript.exit {
            Some(0) => return,
            Some(_) => Shortcoming::Failed,
            None => Shortcoming::Unfinished,
        };
        let what = Arc::from(crate::component::typed(&transcript.command));
        self.commands.push(Order { at: transcript.at, what, shortcoming, why: reason(&transcript.stderr) });
    }

    /// The lines and the procedures that did not end well, in the order in which they began.
    pub(super) fn finish(mut self) -> (Vec<Order>, Vec<Order>) {
        let shortcoming = Shortcoming::Unfinished;
        let open = self.open_procedures.into_iter();
        self.procedures.extend(open.map(|open| Order { at: open.at, what: open.what, shortcoming, why: open.trouble }));
        self.commands.sort_by_key(|order| order.at);
        self.procedures.sort_by_key(|order| order.at);
        (self.commands, self.procedures)
    }
}

/// Why a line failed: the first error among warnings and lines about single objects, else the last thing it said.
fn reason(stderr: &[String]) -> String {
    let error = stderr.iter().find(|line| line.to_ascii_lowercase().starts_with("error"));
    error.or(stderr.last()).cloned().unwrap_or_default()
}
