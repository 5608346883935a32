//! Work that takes time: beside Python, which goes on, shows how far it has got, and hears Ctrl-C.
//!
//! The thread that works never waits for Python. The one that asked looks at it now and then.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use kubesquall::Progress;
use pyo3::prelude::*;

use crate::errors::Failure;

/// How often work is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// For how long work that is to stop is waited for. Longer work, such as bringing up a large cluster, ends by itself.
const STOPS_WITHIN: Duration = Duration::from_millis(700);
/// Documents may be nested deeply.
const STACK: usize = 64 << 20;

/// What work and its watcher share.
#[derive(Default)]
pub(crate) struct Watch {
    is_stopped: AtomicBool,
    state: Mutex<State>,
}

#[derive(Clone, Default)]
struct State {
    /// Counts the parts.
    part: u64,
    what: String,
    steps: u64,
    done: u64,
    warnings: Vec<String>,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody wants the rest.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Leaves if nobody wants the rest.
    pub(crate) fn heed(&self) -> Result<(), Failure> {
        if self.is_stopped() { Err(Failure::Stopped) } else { Ok(()) }
    }
}

impl Progress for Watch {
    fn begin(&self, steps: u64, done: u64, what: &str) {
        let mut state = self.state();
        let (part, warnings) = (state.part + 1, std::mem::take(&mut state.warnings));
        *state = State { part, what: what.to_owned(), steps, done, warnings };
    }

    fn advance(&self) {
        self.state().done += 1;
    }

    fn warn(&self, text: &str) {
        self.state().warnings.push(text.to_owned());
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

/// Does work on a thread of its own. `progress` is called with the number of the part, what it is, the steps done and all of them.
///
/// # Errors
///
/// Those of the work; what Ctrl-C or `progress` raises, within a second.
pub(crate) fn work<R: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    job: impl FnOnce(&Watch) -> Result<R, Failure> + Send + 'static,
) -> PyResult<R> {
    let watch = Arc::new(Watch::default());
    let (sender, mut receiver) = mpsc::channel();
    let watched = Arc::clone(&watch);
    thread::Builder::new().name("kubesquall".to_owned()).stack_size(STACK).spawn(move || {
        let done = panic::catch_unwind(AssertUnwindSafe(|| job(&watched)));
        // Who asked may have left.
        let _ = sender.send(done.unwrap_or_else(|thrown| Err(Failure::of_panic(&*thrown))));
    })?;
    loop {
        let found = wait(py, &mut receiver, LOOK_EVERY);
        let looked = look(py, &watch, progress, found.is_ok());
        match (found, looked) {
            (Ok(done), Ok(())) => return done.map_err(|failure| failure.into_exception(py)),
            (Err(RecvTimeoutError::Timeout), Ok(())) => {}
            (Err(RecvTimeoutError::Disconnected), Ok(())) => {
                return Err(Failure::Panic("the work ended without a word".to_owned()).into_exception(py));
            }
            (Ok(_), Err(raised)) => return Err(raised),
            (Err(_), Err(raised)) => {
                watch.stop();
                let _ = wait(py, &mut receiver, STOPS_WITHIN);
                return Err(raised);
            }
        }
    }
}

/// Waits without holding Python up.
fn wait<R: Send>(
    py: Python<'_>,
    receiver: &mut Receiver<Result<R, Failure>>,
    length: Duration,
) -> Result<Result<R, Failure>, RecvTimeoutError> {
    py.detach(move || receiver.recv_timeout(length))
}

/// Hears signals, and says how far it has got.
fn look(py: Python<'_>, watch: &Watch, progress: Option<&Py<PyAny>>, is_over: bool) -> PyResult<()> {
    py.check_signals()?;
    let state = watch.state().clone();
    if let Some(progress) = progress.filter(|_| state.part > 0) {
        progress.call1(py, (state.part, state.what, state.done, state.steps))?;
    }
    if is_over && !state.warnings.is_empty() {
        let warn = py.import("warnings")?.getattr("warn")?;
        for warning in state.warnings {
            warn.call1((warning,))?;
        }
    }
    Ok(())
}
