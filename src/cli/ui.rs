//! What the user sees besides results: colors, warnings, progress.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serializer as _;

use super::failure::{BugReport, Failure};
use super::paint::harmless;
use super::{Color, Shared};
use crate::diagnostics::{Diagnostics, Sources, Style};
use crate::study::Progress;

/// Problems that are drawn; the rest is counted.
const PROBLEMS_MAX: usize = 30;

/// Bars on a terminal, one after the other; nothing when piped.
pub(super) struct Bar<'a> {
    ui: &'a Ui,
    shown: Mutex<Option<ProgressBar>>,
}

impl Bar<'_> {
    fn shown(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Bar<'_> {
    fn begin(&self, steps: u64, done: u64, what: &str) {
        let bar = self.ui.progress(steps, what);
        bar.set_position(done.min(steps));
        // What an earlier sweep has played took none of this one's time.
        bar.reset_eta();
        *self.shown() = Some(bar);
    }

    fn advance(&self) {
        if let Some(bar) = &*self.shown() {
            bar.inc(1);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.shown().take() {
            bar.finish_and_clear();
        }
    }

    fn warn(&self, text: &str) {
        self.ui.warning(text);
    }
}

/// How to talk to the user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ui {
    pub(super) is_quiet: bool,
    pub(super) is_verbose: bool,
    stderr: Style,
    pub(super) stdout: Style,
}

impl Ui {
    pub(super) fn new(shared: &Shared) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let style = |is_terminal: bool| match shared.color {
            Color::Always => Style::Colored,
            Color::Auto if is_terminal && !no_color => Style::Colored,
            Color::Auto | Color::Never => Style::Plain,
        };
        Self {
            is_quiet: shared.quiet,
            is_verbose: shared.verbose,
            stderr: style(io::stderr().is_terminal()),
            stdout: style(io::stdout().is_terminal()),
        }
    }

    /// Writes text for people to standard output.
    pub(super) fn out(&self, text: &str) -> Result<(), Failure> {
        self.data(&harmless(text, self.stdout))
    }

    /// Writes data for programs to standard output, as they are.
    pub(super) fn data(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }

    /// Writes JSON to standard output.
    pub(super) fn json(&self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value).expect("results are plain data");
        text.push('\n');
        self.data(&text)
    }

    /// Writes a JSON array to standard output, item by item.
    pub(super) fn json_list(&self, items: impl Iterator<Item = impl serde::Serialize>) -> Result<(), Failure> {
        let mut stdout = io::BufWriter::new(io::stdout().lock());
        let mut serializer = serde_json::Serializer::pretty(&mut stdout);
        serializer.collect_seq(items).map_err(io::Error::from)?;
        writeln!(stdout)?;
        stdout.flush()?;
        Ok(())
    }

    /// Says something that is neither a result nor a problem.
    pub(super) fn note(&self, text: impl Display) {
        if !self.is_quiet {
            self.err(format_args!("{text}\n"));
        }
    }

    /// Says something that must not be missed.
    pub(super) fn always(&self, text: impl Display) {
        self.err(format_args!("{text}\n"));
    }

    /// Says what is no problem of a text, but may not be what its user expects; only if warnings are wanted.
    pub(super) fn warning(&self, text: &str) {
        if !self.is_quiet {
            self.err(format_args!("{} {text}\n", self.colored("warning:", "1;33")));
        }
    }

    /// Shows problems; warnings only if they are wanted.
    pub(super) fn diagnostics(&self, diagnostics: &Diagnostics, sources: &Sources) {
        if diagnostics.is_empty() || (self.is_quiet && !diagnostics.has_errors()) {
            return;
        }
        self.err(diagnostics.render(sources, self.stderr, PROBLEMS_MAX));
    }

    /// Says why there is no result.
    pub(super) fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Invalid(invalid) => self.diagnostics(&invalid.diagnostics, &invalid.sources),
            Failure::Input { message, help } => {
                self.err(format_args!("{} {message}\n", self.error_word("error:")));
                if let Some(help) = help {
                    self.err(format_args!("  = help: {help}\n"));
                }
            }
            Failure::ClosedOutput => {}
            Failure::Bug { what } => {
                self.err(format_args!("{} {}\n", self.error_word("internal error:"), BugReport { what }));
            }
        }
    }

    fn error_word(&self, word: &str) -> String {
        self.colored(word, "1;31")
    }

    fn colored(&self, word: &str, codes: &str) -> String {
        match self.stderr {
            Style::Plain => word.to_owned(),
            Style::Colored => format!("\u{1b}[{codes}m{word}\u{1b}[0m"),
        }
    }

    fn err(&self, text: impl Display) {
        // Nobody is left to be told if standard error is closed.
        let text = text.to_string();
        let _ = io::stderr().lock().write_all(harmless(&text, self.stderr).as_bytes());
    }

    /// Shows how far something has got.
    pub(super) fn bar(&self) -> Bar<'_> {
        Bar { ui: self, shown: Mutex::default() }
    }

    fn progress(&self, length: u64, what: &str) -> ProgressBar {
        let is_shown = !self.is_quiet && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} % {eta:>4}")
            .expect("the template is well formed");
        bar.set_style(style);
        bar.set_message(what.to_owned());
        if is_shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        bar
    }
}
