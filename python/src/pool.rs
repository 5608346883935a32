//! Plays of a forecast that several processes have among themselves, handed out by an object of Python's.

use std::sync::Mutex;

use kubesquall::{Handed, PlayPool, Progress as _};
use pyo3::prelude::*;

use crate::errors::Failure;
use crate::work::Watch;

/// An object with `begin` and `next`; `kubesquall/ray.py` has one.
pub(crate) struct Pool<'w> {
    object: Py<PyAny>,
    watch: &'w Watch,
    raised: Mutex<Option<PyErr>>,
}

/// What `next` returns.
#[derive(FromPyObject)]
enum Answer {
    /// A play to be made.
    Play(usize),
    /// All of the batch.
    Over(Vec<String>),
}

impl<'w> Pool<'w> {
    pub(crate) fn new(object: Py<PyAny>, watch: &'w Watch) -> Self {
        Self { object, watch, raised: Mutex::new(None) }
    }

    /// Why work ended: what the object raised, if it did.
    pub(crate) fn failure(self, otherwise: Failure) -> Failure {
        self.raised.into_inner().ok().flatten().map_or(otherwise, Failure::Raised)
    }

    /// What a call gives; none, and the end of the work, if it raises something.
    fn ask<R>(&self, call: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
        let raise = |raised| {
            if let Ok(mut slot) = self.raised.lock() {
                slot.get_or_insert(raised);
            }
            self.watch.stop();
        };
        Python::attach(call).map_err(raise).ok()
    }
}

impl PlayPool for Pool<'_> {
    fn begin(&self, fingerprint: u64) {
        self.ask(|py| self.object.call_method1(py, "begin", (fingerprint,)));
    }

    fn next(&self, batch: u64, count: usize, mut made: Option<(usize, String)>) -> Handed {
        while !self.watch.is_stopped() {
            let made = made.take();
            let answer = |py: Python<'_>| {
                self.object.call_method1(py, "next", (batch, count, made))?.extract::<Option<Answer>>(py)
            };
            match self.ask(answer) {
                Some(Some(Answer::Play(play))) => return Handed::Play(play),
                Some(Some(Answer::Over(texts))) => return Handed::Over(texts),
                // Nothing yet.
                Some(None) => {}
                None => break,
            }
        }
        Handed::Over(Vec::new())
    }
}
