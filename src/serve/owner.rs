//! The thread that owns the run: it does one task after the other, and plays in between.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::session::Session;
use super::time::{Pace, SLICE, Speed, now};
use crate::rest::Status;
use crate::units::SimDuration;

/// Something to be done with the session.
pub(super) type Task = Box<dyn FnOnce(&mut Session) + Send>;

/// Tasks that may wait.
pub(super) const WAITING_MAX: usize = 512;

/// How often those who watch are told how far they have got, and how often what was done is saved.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(30);
const SAVE_PERIOD: Duration = Duration::from_secs(10);

/// Where a record of the session goes.
pub type Save = Box<dyn FnMut(&str) + Send>;

/// Hands tasks to the owner.
#[derive(Clone, Debug)]
pub(super) struct Desk(pub(super) SyncSender<Task>);

impl Desk {
    /// Has something done, and waits for what comes of it.
    ///
    /// # Errors
    /// 429 if too many wait, 500 if the owner is gone.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Session) -> T + Send + 'static,
    ) -> Result<T, Box<Status>> {
        let (to, answer) = oneshot::channel();
        let task: Task = Box::new(move |session| {
            // Who does not wait any more need not be told.
            let _ = to.send(task(session));
        });
        match self.0.try_send(task) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                let retry_after = Some(SimDuration::from_secs(1));
                let text = "too many requests wait, please try again later";
                return Err(Box::new(Status { retry_after, ..Status::new(429, "TooManyRequests", text) }));
            }
            Err(TrySendError::Disconnected(_)) => return Err(gone()),
        }
        answer.await.map_err(|_| gone())
    }
}

fn gone() -> Box<Status> {
    let text = "the simulation has stopped because an invariant of it broke, which is a bug of kubesquall";
    Box::new(Status::new(500, "InternalError", text))
}

/// Owns a session until nobody can hand over tasks any more.
pub(super) fn own(mut session: Session, tasks: &Receiver<Task>, mut save: Option<Save>) -> Session {
    let (mut told, mut saved) = (now(), (now(), 0));
    loop {
        let wait = match session.pace.speed {
            Speed::Paused => Duration::from_millis(500),
            Speed::Times(_) => Duration::from_millis(5),
            Speed::Max => Duration::ZERO,
        };
        match tasks.recv_timeout(wait) {
            Ok(task) => {
                task(&mut session);
                // Those that wait already meet the same instant.
                for _ in 0..WAITING_MAX {
                    match tasks.try_recv() {
                        Ok(task) => task(&mut session),
                        Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        session.advance(now() + SLICE);
        if now().duration_since(told) > BOOKMARK_PERIOD {
            told = now();
            session.bookmarks();
        }
        if let Some(save) = &mut save
            && now().duration_since(saved.0) > SAVE_PERIOD
            && saved.1 != session.log.len()
        {
            saved = (now(), session.log.len());
            save(&session.record());
        }
    }
    if let Some(save) = &mut save {
        save(&session.record());
    }
    session
}

impl Session {
    /// Sets how fast simulated time goes.
    pub fn set_pace(&mut self, speed: Speed) {
        self.pace = Pace::new(speed, self.run.now());
    }

    /// Plays as far as the wall clock wants, but no longer than until `deadline` of it.
    fn advance(&mut self, deadline: Instant) {
        let Some(target) = self.pace.target() else { return };
        let target = target.min(self.end());
        let mut played = 0_u32;
        while self.run.violation().is_none() && self.run.next_at().is_some_and(|at| at <= target) {
            self.step();
            played += 1;
            if played.is_multiple_of(16) && now() >= deadline {
                // What is behind is not made up for.
                if let Speed::Times(_) = self.pace.speed {
                    self.pace.rebase(self.run.now());
                }
                self.over();
                return;
            }
        }
        if target > self.run.now() {
            self.play_until(target);
        }
        if self.run.now() >= self.end() || self.run.violation().is_some() {
            self.pace = Pace::new(Speed::Paused, self.run.now());
        }
    }
}
