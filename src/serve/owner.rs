//! The thread that owns the run: it does one task after the other, and plays in between.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
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

/// Owns a session until nobody can hand over tasks any more. What was done is saved whatever ends it.
///
/// # Panics
/// If an invariant breaks: whoever asked is told that it did. Nothing can be said of a session in which one has.
pub(super) fn own(mut session: Session, tasks: &Receiver<Task>, mut save: Option<Save>) -> Session {
    let ended = catch_unwind(AssertUnwindSafe(|| listen(&mut session, tasks, &mut save)));
    let record = catch_unwind(AssertUnwindSafe(|| session.record()));
    if let (Some(save), Ok(record)) = (&mut save, record) {
        save(&record);
    }
    match ended {
        Ok(()) => session,
        Err(panic) => resume_unwind(panic),
    }
}

fn listen(session: &mut Session, tasks: &Receiver<Task>, save: &mut Option<Save>) {
    let (mut told, mut saved) = (now(), (now(), 0));
    loop {
        let wait = match session.pace.speed {
            Speed::Paused => Duration::from_millis(500),
            Speed::Times(_) => Duration::from_millis(5),
            Speed::Max => Duration::ZERO,
        };
        match tasks.recv_timeout(wait) {
            Ok(task) => {
                task(session);
                // Those that wait already meet the same instant.
                for _ in 0..WAITING_MAX {
                    match tasks.try_recv() {
                        Ok(task) => task(session),
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
        if let Some(save) = save
            && now().duration_since(saved.0) > SAVE_PERIOD
            && saved.1 != session.log.len()
        {
            saved = (now(), session.log.len());
            save(&session.record());
        }
    }
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::facade::Scenario;
    use crate::rest::{ClientRequest, Method};

    const SCENARIO: &str = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: quiet}, spec: {duration: 10m, cluster: \
        {nodePools: [{name: n, count: 1, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}}}";

    #[test]
    fn who_breaks_an_invariant_is_told_and_what_was_done_is_saved() {
        let scenario = Scenario::parse(SCENARIO, [("", ""); 0]).expect("a scenario");
        let session = Session::new(Arc::clone(scenario.resolved()));
        let (tasks, waiting) = sync_channel(WAITING_MAX);
        let saved = Arc::new(Mutex::new(String::new()));
        let to = Arc::clone(&saved);
        let save: Save = Box::new(move |text| text.clone_into(&mut to.lock().expect("one at a time")));
        let owner = std::thread::spawn(move || own(session, &waiting, Some(save)));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let desk = Desk(tasks);
        let request = ClientRequest {
            method: Method::Post,
            path: "/api/v1/namespaces".to_owned(),
            content_type: String::new(),
            body: r#"{"metadata":{"name":"games"}}"#.to_owned(),
            user: "kubectl".to_owned(),
        };
        let done = runtime.block_on(desk.ask(move |session| session.write(request)));
        assert_eq!(done.expect("an answer").code, 201);
        let broken = runtime.block_on(desk.ask(|_| -> u8 { panic!("an invariant") }));
        let told = broken.expect_err("a refusal");
        assert_eq!((told.code, told.reason), (500, "InternalError"));
        assert!(told.message.contains("which is a bug of kubesquall"), "{}", told.message);
        assert!(owner.join().is_err(), "whoever waits for the session hears of it");
        assert!(saved.lock().expect("it is over").contains("games"));
        assert_eq!(runtime.block_on(desk.ask(|_| ())).expect_err("nobody is there").code, 500);
    }
}
