//! What the user sees besides results: colors, warnings, progress.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serializer as _;

use super::failure::{BugReport, Failure};
use super::paint::harmless;
use super::{Color, Shared};
use crate::diagnostics::{Diagnostics, Sources, Style};
use crate::study::Progress;

/// Problems that are drawn; the rest is counted.
const PROBLEMS_MAX: usize = 30;

/// Seconds between two lines that say how far something has got where there is no terminal.
const LINE_S: f64 = 10.0;

/// Bars on a terminal, one after the other, or one of the whole where its size is known; when piped, a line now and then of the whole,
/// or of the part that is under way.
pub(super) struct Bar<'a> {
    ui: &'a Ui,
    shown: Mutex<Option<ProgressBar>>,
    whole: Mutex<Whole>,
}

/// The exit status of a program that Ctrl-C has ended.
pub(super) const INTERRUPTED: i32 = 130;

/// Lets Ctrl-C say how to go on before it ends a program that keeps a journal of its runs.
pub(super) fn tell_at_ctrl_c() {
    let tell = || {
        const HOW: &str = "interrupted; the runs that were played are kept: the same command with --resume goes on";
        let _ = writeln!(io::stderr(), "{HOW}");
        std::process::exit(INTERRUPTED);
    };
    // Where there is a handler already, or none can be had, Ctrl-C ends the program.
    let _ = ctrlc::set_handler(tell);
}

/// How far the whole has got.
#[derive(Debug, Default)]
struct Whole {
    began_at: Option<Instant>,
    /// Of the part that is under way.
    what: String,
    steps: u64,
    done: u64,
    /// It is not taken back where more turns out to be left.
    share: f64,
    told_at_s: f64,
}

impl Whole {
    /// How many seconds are left: as long for each piece of work as those took that are done.
    fn left_s(elapsed_s: f64, done: u64, left: u64) -> f64 {
        if done == 0 { f64::INFINITY } else { elapsed_s * left as f64 / done as f64 }
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line measures real time, for those who wait")]
fn now() -> Instant {
    Instant::now()
}

impl Bar<'_> {
    fn shown(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_whole(&self) -> MutexGuard<'_, Whole> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Bar<'_> {
    fn begin(&self, steps: u64, done: u64, what: &str) {
        let mut whole = self.of_whole();
        whole.began_at.get_or_insert_with(now);
        (whole.steps, whole.done) = (steps, done.min(steps));
        what.clone_into(&mut whole.what);
        if whole.share > 0.0
            && let Some(bar) = &*self.shown()
        {
            bar.set_message(what.to_owned());
            return;
        }
        let bar = self.ui.progress(steps, what);
        bar.set_position(done.min(steps));
        // What an earlier sweep has played took none of this one's time.
        bar.reset_eta();
        *self.shown() = Some(bar);
    }

    fn advance(&self) {
        let mut whole = self.of_whole();
        whole.done += 1;
        if whole.share > 0.0 {
            return;
        }
        if let Some(bar) = &*self.shown() {
            bar.inc(1);
        }
        // What says nothing of the whole says how far its part has got.
        let elapsed_s = whole.began_at.map_or(0.0, |began_at| began_at.elapsed().as_secs_f64());
        if elapsed_s - whole.told_at_s >= LINE_S && !io::stderr().is_terminal() {
            whole.told_at_s = elapsed_s;
            let Whole { what, steps, done, .. } = &*whole;
            self.ui.note(format_args!("{what}: {done} of {steps}"));
        }
    }

    fn whole(&self, done: u64, left: u64) {
        let mut whole = self.of_whole();
        let elapsed_s = whole.began_at.map_or(0.0, |began_at| began_at.elapsed().as_secs_f64());
        let left_s = Whole::left_s(elapsed_s, done, left);
        whole.share = whole.share.max(done as f64 / (done + left).max(1) as f64);
        let eta = words_of_seconds(left_s);
        if let Some(bar) = &*self.shown() {
            const STEPS: f64 = 1000.0;
            if bar.length() != Some(STEPS as u64) || bar.prefix().is_empty() {
                bar.set_length(STEPS as u64);
                bar.set_style(style("{msg} {wide_bar} {percent:>3} % {prefix}"));
            }
            bar.set_prefix(eta.clone());
            bar.set_position((STEPS * whole.share) as u64);
        }
        if elapsed_s - whole.told_at_s >= LINE_S && !io::stderr().is_terminal() {
            whole.told_at_s = elapsed_s;
            let Whole { what, steps, done, share, .. } = &*whole;
            self.ui.note(format_args!("{:.0} %: {what}, {done} of {steps}; {eta} left", 100.0 * share));
        }
    }

    fn end(&self) {
        if self.of_whole().share > 0.0 {
            return;
        }
        if let Some(bar) = self.shown().take() {
            bar.finish_and_clear();
        }
    }

    fn warn(&self, text: &str) {
        self.ui.warning(text);
    }
}

impl Drop for Bar<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.shown().take() {
            bar.finish_and_clear();
        }
    }
}

/// `40 s`, `3 min`: no more exact than an estimate is.
fn words_of_seconds(seconds: f64) -> String {
    match seconds {
        left if !left.is_finite() => "nobody knows how much".to_owned(),
        left if left < 10.0 => "a few s".to_owned(),
        left if left < 95.0 => format!("about {:.0} s", (left / 10.0).round() * 10.0),
        left if left < 5700.0 => format!("about {:.0} min", (left / 60.0).round()),
        left => format!("about {:.1} h", left / 3600.0),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
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
        Bar { ui: self, shown: Mutex::default(), whole: Mutex::default() }
    }

    fn progress(&self, length: u64, what: &str) -> ProgressBar {
        let is_shown = !self.is_quiet && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(length), target);
        bar.set_style(style("{msg} {wide_bar} {percent:>3} % {eta:>4}"));
        bar.set_message(what.to_owned());
        if is_shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        bar
    }
}
