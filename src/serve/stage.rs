//! The page of a session, and what a scrape gets: the run up to now, and on to its end as it goes if nobody does anything more.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use tokio::sync::Semaphore;

use super::owner::Desk;
use crate::facade::{Error, Replay, Scenario};
use crate::rest::{ClientRequest, Status};
use crate::units::SimTime;

/// What clients have done, by which plays of it are told apart.
type Done = Vec<(SimTime, Arc<ClientRequest>)>;

/// The play behind the page: made anew when clients have done something since.
#[derive(Debug)]
pub(super) struct Stage {
    latest: Mutex<Option<(Done, Arc<Replay>)>>,
    places: Semaphore,
}

impl Default for Stage {
    fn default() -> Self {
        Self { latest: Mutex::default(), places: Semaphore::new(PLAYS_MAX) }
    }
}

/// Plays at once; others wait for them.
const PLAYS_MAX: usize = 2;

impl Stage {
    /// The page as it is now.
    ///
    /// # Errors
    /// 429 and 500 of the desk.
    pub(super) async fn page(&self, desk: &Desk) -> Result<Bytes, Box<Status>> {
        let replay = self.replay(desk).await?;
        self.beside(move || replay.served_page()).await.map(Bytes::from)
    }

    /// Answers a question of the page.
    ///
    /// # Errors
    /// 400 with what is wrong with the question or the values; 429 and 500 of the desk.
    pub(super) async fn answer(&self, question: Bytes, desk: &Desk) -> Result<Bytes, Box<Status>> {
        let replay = self.replay(desk).await?;
        self.beside(move || replay.answer(&question)).await.map(Bytes::from)
    }

    /// What kube-state-metrics says now, as a scrape gets it.
    ///
    /// # Errors
    /// 429 and 500 of the desk.
    pub(super) async fn metrics(&self, desk: &Desk) -> Result<Bytes, Box<Status>> {
        // Of which play it is a variant does not matter.
        let replay = match self.kept() {
            Some((_, replay)) => replay,
            None => self.replay(desk).await?,
        };
        let (scenario, run) = desk.ask(|session| (Arc::clone(&session.scenario), session.run.clone())).await?;
        let mut text = Vec::new();
        let written = self.beside(move || {
            let written = replay.adopt(&scenario, run).write_exposition(&mut text)?;
            Ok(written.map(|()| text))
        });
        let failed = |error: std::io::Error| Box::new(Status::new(500, "InternalError", error.to_string()));
        written.await?.map(Bytes::from).map_err(failed)
    }

    /// Does what takes long beside what answers others, and no more of it at once than the machine bears.
    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Box<Status>> {
        let _place = self.places.acquire().await;
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Box::new(Status::bad_request(error.to_string()))),
            Err(_) => {
                Err(Box::new(Status::new(500, "InternalError", "an invariant of kubesquall broke, which is a bug")))
            }
        }
    }

    fn kept(&self) -> Option<(Done, Arc<Replay>)> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn replay(&self, desk: &Desk) -> Result<Arc<Replay>, Box<Status>> {
        let done = desk.ask(|session| session.log.entries().to_vec()).await?;
        if let Some((_, replay)) = self.kept().filter(|(of, _)| is_same(of, &done)) {
            return Ok(replay);
        }
        // What was done meanwhile is in both.
        let (done, text) = desk.ask(|session| (session.log.entries().to_vec(), session.outlook())).await?;
        let replay = self.beside(move || Scenario::parse(&text, [("", ""); 0]).map(Replay::new)).await?;
        let replay = Arc::new(replay);
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((done, Arc::clone(&replay)));
        Ok(replay)
    }
}

/// The very same requests at the same instants.
fn is_same(one: &Done, other: &Done) -> bool {
    let is_one =
        |((at, request), (also, asked)): (&(SimTime, _), &(SimTime, _))| at == also && Arc::ptr_eq(request, asked);
    one.len() == other.len() && one.iter().zip(other).all(is_one)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn two_plays_at_once_are_enough() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let stage = Arc::new(Stage::default());
        let plays: Vec<_> = (0..6)
            .map(|_| {
                let (stage, at_once, most) = (Arc::clone(&stage), Arc::clone(&at_once), Arc::clone(&most));
                runtime.spawn(async move {
                    let play = move || {
                        most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(20));
                        at_once.fetch_sub(1, Ordering::SeqCst);
                        Ok(())
                    };
                    stage.beside(play).await
                })
            })
            .collect();
        for play in plays {
            assert!(runtime.block_on(play).expect("it ends").is_ok());
        }
        assert_eq!(most.load(Ordering::SeqCst), PLAYS_MAX);
    }

    #[test]
    fn a_play_that_breaks_an_invariant_ends_nothing_but_itself() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let stage = Stage::default();
        let told = runtime.block_on(stage.beside(|| -> Result<(), Error> { panic!("an invariant") }));
        assert_eq!(told.expect_err("a refusal").code, 500);
        assert!(runtime.block_on(stage.beside(|| Ok(()))).is_ok());
    }
}
