//! How far something has got, for who wants to show it, and whether it is to go on.

use std::panic::{self, AssertUnwindSafe};

/// Shows how far something has got. What takes long consists of one or several parts, one after the other; within one, steps may be
/// done side by side.
pub trait Progress: Sync {
    /// A part begins that takes at most so many steps, of which so many are done already. Where it is not known before how many are
    /// needed, as in a search, `end` may come sooner.
    fn begin(&self, _steps: u64, _done: u64, _what: &str) {}

    /// One more step is done.
    fn advance(&self);

    /// Of the whole, with all parts that are still to come, so much work is done and so much is left, as far as that is known. Work has
    /// no unit, but takes about as long wherever it is done.
    fn whole(&self, _done: u64, _left: u64) {}

    /// The part is over, whether all went well or not.
    fn end(&self) {}

    /// Something that people should know before it takes long.
    fn warn(&self, _text: &str) {}

    /// Whether nobody wants it any more. Studies, plans and forecasts ask before each play, studies also within one, and end with
    /// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped). What is in a journal by then is there to be resumed. Ending takes unwinding: a
    /// program whose panics abort has to say no.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn advance(&self) {}
}

/// A part that is under way. It ends with this value, also where an error leaves it.
pub(crate) struct Part<'a>(&'a dyn Progress);

impl<'a> Part<'a> {
    pub(crate) fn begin(progress: &'a dyn Progress, steps: u64, done: u64, what: &str) -> Self {
        progress.begin(steps, done, what);
        Self(progress)
    }

    pub(crate) fn advance(&self) {
        self.0.advance();
    }

    pub(crate) fn whole(&self, done: u64, left: u64) {
        self.0.whole(done, left);
    }

    /// Leaves for [`stoppable`], from whatever depth and thread, if nobody wants the rest.
    pub(crate) fn heed(&self) {
        if self.0.is_stopped() {
            panic::resume_unwind(Box::new(Stopped));
        }
    }
}

/// What is thrown when nobody wants the rest. No panic: nothing is printed.
struct Stopped;

/// Does what may be stopped by [`Part::heed`]; none if it was.
pub(crate) fn stoppable<R>(work: impl FnOnce() -> R) -> Option<R> {
    match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(thrown) if thrown.is::<Stopped>() => None,
        Err(bug) => panic::resume_unwind(bug),
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
