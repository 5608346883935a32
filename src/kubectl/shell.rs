//! Shells: lines that are typed at one instant run one after the other.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{Kubectl, Process, Timer};
use crate::component::{Ctx, Transcript};
use crate::units::SimTime;

/// A shell that lines are typed into.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShellId(pub u32);

/// Whether a shell waits for the end of a line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It does; the next line starts then.
    Foreground,
    /// It does not: the line ends with `&`.
    Background,
}

/// A line without the `&` at its end, and whether the shell waits for it.
#[must_use]
pub fn in_background(line: &str) -> (&str, Place) {
    match line.strip_suffix('&') {
        Some(rest) if !rest.ends_with(['&', '\\']) => (rest.trim_end(), Place::Background),
        _ => (line, Place::Foreground),
    }
}

/// The line as it is typed there: what [`in_background`] takes apart.
#[must_use]
pub fn in_place(line: &str, place: Place) -> Cow<'_, str> {
    match place {
        Place::Foreground => Cow::Borrowed(line),
        Place::Background => Cow::Owned(format!("{line} &")),
    }
}

/// What was typed ahead, and when.
#[derive(Clone, Debug)]
struct Ahead {
    line: usize,
    at: SimTime,
}

#[derive(Clone, Debug, Default)]
struct Shell {
    /// A line in the foreground has not ended.
    is_busy: bool,
    ahead: VecDeque<Ahead>,
}

/// All shells that something was typed into.
#[derive(Clone, Debug, Default)]
pub(super) struct Shells(BTreeMap<ShellId, Shell>);

impl Shells {
    /// The line in the foreground has ended; whether there is another one.
    pub(super) fn ended(&mut self, shell: ShellId) -> bool {
        let Some(shell) = self.0.get_mut(&shell) else { return false };
        shell.is_busy = false;
        !shell.ahead.is_empty()
    }
}

impl Kubectl {
    /// A line of the runbook is typed.
    pub(super) fn typed(&mut self, line: usize, ctx: &mut Ctx<'_, Self>) {
        match self.runbook.lines[line].shell {
            None => self.run(Arc::clone(&self.runbook.lines[line]), None, ctx),
            Some(shell) => {
                let typed = self.shells.0.entry(shell).or_default();
                typed.ahead.push_back(Ahead { line, at: ctx.now });
                // Where others wait, the shell is about to go on by itself.
                if typed.ahead.len() == 1 {
                    self.next_line(shell, ctx);
                }
            }
        }
    }

    /// Starts the next line of a shell that waits for none. Each line is started by a timer of its own, so that what it does has it
    /// for a cause, and not another line of the shell.
    pub(super) fn next_line(&mut self, id: ShellId, ctx: &mut Ctx<'_, Self>) {
        let Some(shell) = self.shells.0.get_mut(&id).filter(|shell| !shell.is_busy) else { return };
        let Some(Ahead { line, .. }) = shell.ahead.pop_front() else { return };
        let line = Arc::clone(&self.runbook.lines[line]);
        shell.is_busy = line.place == Place::Foreground;
        if !shell.is_busy && !shell.ahead.is_empty() {
            ctx.arm(ctx.now, Timer::Next(id));
        }
        self.run(line, None, ctx);
    }

    /// The lines that have not ended, with what they have printed so far; also those that never began.
    #[must_use]
    pub fn unfinished(&self) -> Vec<Transcript> {
        let mut rows: Vec<Transcript> = self.processes.iter().map(|(_, process)| so_far(process)).collect();
        rows.extend(self.shells.0.values().flat_map(|shell| &shell.ahead).map(|ahead| Transcript {
            at: ahead.at,
            order: u64::MAX,
            done_at: None,
            command: Arc::clone(&self.runbook.lines[ahead.line].text),
            exit: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
        }));
        rows
    }
}

fn so_far(process: &Process) -> Transcript {
    Transcript {
        at: process.at,
        order: process.order,
        done_at: None,
        command: Arc::clone(&process.line.text),
        exit: None,
        stdout: process.stdout.clone(),
        stderr: process.stderr.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ampersand_at_the_end_is_the_shells() {
        let check = |line: &str, text: &str, place: Place| assert_eq!(in_background(line), (text, place), "{line}");
        check("drain n &", "drain n", Place::Background);
        check("drain n&", "drain n", Place::Background);
        check("drain n", "drain n", Place::Foreground);
        check("drain n &&", "drain n &&", Place::Foreground);
        check("label node n a='b&'", "label node n a='b&'", Place::Foreground);
    }
}
