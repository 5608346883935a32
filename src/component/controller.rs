//! The machinery around a controller's rules: queue, workers, timers, batches, retries.
//!
//! A controller implements [`Reconcile`]: what a change enqueues, and what one pass over a key wants done. The rest is here,
//! once: [`Controller`] runs passes on a bounded number of workers, sends what they plan, waits for the answers as a real
//! worker would, and retries with the real back-off.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::config::Config;
use super::flow_control::{ClientLimit, TokenBucket};
use super::request::{Answer, Request};
use super::work_queue::WorkQueue;
use super::{Component, Ctx, Program, Start};
use crate::arena::{Id, Table};
use crate::engine::Ticket;
use crate::state::{CauseId, Change, Changed, ControlPlaneProcess, Store};
use crate::units::{SimDuration, SimTime};

/// From the start of kube-controller-manager until the caches of its controllers are filled and they begin, as recorded.
///
/// # Source
/// The controllers wait for the lists of all they watch (`WaitForNamedCacheSync`).
pub const CACHE_SYNC: SimDuration = SimDuration::from_millis(350);

/// Keys to be enqueued, collected by a watch handler.
#[derive(Debug)]
pub struct Enqueue<K> {
    entries: Vec<(K, When)>,
}

#[derive(Copy, Clone, Debug)]
enum When {
    Now,
    After(SimDuration),
}

impl<K> Default for Enqueue<K> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<K> Enqueue<K> {
    /// Adds a key.
    pub fn now(&mut self, key: K) {
        self.entries.push((key, When::Now));
    }

    /// Adds a key after a delay; of two delays the earlier counts.
    pub fn after(&mut self, key: K, delay: SimDuration) {
        self.entries.push((key, When::After(delay)));
    }
}

/// A request with what the controller wants to remember when it is answered.
#[derive(Clone, Debug)]
pub struct Planned<M> {
    /// The request.
    pub request: Request,
    /// Handed back with the answer.
    pub purpose: M,
}

/// A part of a plan; the next part begins when all calls of this one were answered.
#[derive(Clone, Debug)]
pub enum Step<M> {
    /// Batches of 1, 2, 4, … calls; a failure in a batch stops the rest of the plan.
    SlowStart(Vec<Planned<M>>),
    /// All at once.
    Concurrent(Vec<Planned<M>>),
}

/// What one pass over a key wants done.
#[derive(Clone, Debug)]
pub struct SyncPlan<M> {
    /// Parts in order; a failed call stops those after it.
    pub steps: Vec<Step<M>>,
    /// Sent after the steps, whether or not one of them failed: status writes.
    pub finally: Vec<Planned<M>>,
    /// Sent last, group after group, whether or not a step failed; a failed call of these stops the groups after it.
    pub record: Vec<Vec<Planned<M>>>,
    /// Look at the key again after this time, if the pass succeeds.
    pub requeue_after: Option<SimDuration>,
    /// Look at the key again after this time, counted from the pass, however it ends.
    pub wake_after: Option<SimDuration>,
    /// The pass has failed, whatever comes of its calls: retry with back-off.
    pub failed: bool,
}

impl<M> Default for SyncPlan<M> {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            finally: Vec::new(),
            record: Vec::new(),
            requeue_after: None,
            wake_after: None,
            failed: false,
        }
    }
}

impl<M> SyncPlan<M> {
    /// Nothing to do.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Appends one call.
    pub fn then(&mut self, request: Request, purpose: M) {
        self.steps.push(Step::Concurrent(vec![Planned { request, purpose }]));
    }
}

/// The rules of one controller.
pub trait Reconcile: Sized {
    /// What it works on.
    type Key: Copy + Eq + Hash + Debug;
    /// What it remembers about a call in flight.
    type Purpose: Copy + Debug;
    /// The real controller's name.
    const NAME: &'static str;
    /// The names by which `--controllers` switches it: it runs if one of them does.
    const CONTROLLERS: &'static [&'static str];
    /// Whether a delayed look at a key goes by a schedule, and not by what happened before.
    const GOES_BY_SCHEDULE: bool = false;

    /// What a delayed look at a key is for, in words.
    fn words(_key: Self::Key, _store: &Store) -> String {
        "what was put off is due".to_owned()
    }

    /// Concurrent syncs.
    fn workers(config: &Config) -> usize;

    /// Rate limit of its client.
    fn client(config: &Config) -> ClientLimit {
        config.controller_client()
    }

    /// First and longest retry delay of one key, and whether the shared bucket of 10 retries a second applies.
    fn retry() -> (SimDuration, SimDuration, bool) {
        (SimDuration::from_millis(5), SimDuration::from_secs(1000), true)
    }

    /// After how many failures in a row a key is dropped; none = never.
    fn retries_max() -> Option<u32> {
        None
    }

    /// Whether it watches the kind of object that changed.
    fn watches(changed: &Changed) -> bool;

    /// The process starts: enqueue what exists.
    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Self::Key>);

    /// A watch delivers a change: update expectations, enqueue keys.
    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Self::Key>);

    /// One pass over a key.
    fn sync(&mut self, key: Self::Key, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Self::Purpose>;

    /// What the pass writes last, reckoned when the calls of its plan were answered (whether or not one of them failed), and after
    /// which time the key is to be looked at again, if the pass succeeds.
    fn conclude(
        &mut self,
        _key: Self::Key,
        _ctx: &mut Ctx<'_, Controller<Self>>,
    ) -> (Option<Planned<Self::Purpose>>, Option<SimDuration>) {
        (None, None)
    }

    /// Keys that the pass found to be affected; asked for after each pass.
    fn affected(&mut self, _queue: &mut Enqueue<Self::Key>) {}

    /// A call of a plan was answered: lower expectations on failure, post events.
    fn answered(
        &mut self,
        key: Self::Key,
        purpose: Self::Purpose,
        answer: &Answer,
        ctx: &mut Ctx<'_, Controller<Self>>,
    );

    /// A call that follows from an answer, before the rest of the plan. The answer itself then fails nothing.
    fn follow_up(
        &mut self,
        _key: Self::Key,
        _memo: Self::Purpose,
        _answer: &Answer,
        _ctx: &mut Ctx<'_, Controller<Self>>,
    ) -> Option<Planned<Self::Purpose>> {
        None
    }

    /// A planned call was given up before it was sent.
    fn skipped(&mut self, _key: Self::Key, _memo: Self::Purpose) {}

    /// Whether this answer fails the pass (stops its plan and makes it retry).
    fn is_failure(_memo: Self::Purpose, answer: &Answer) -> bool {
        answer.is_err()
    }
}

/// A timer of a controller.
#[derive(Copy, Clone, Debug)]
pub enum ControllerTimer<K> {
    /// A delayed key is due.
    Due(K),
    /// The caches are filled: work begins.
    Synced,
}

/// How a controller recognises an answer.
#[derive(Copy, Clone, Debug)]
pub struct ControllerTag<K, M> {
    run: Id<Run<K, M>>,
    purpose: M,
}

/// A pass in progress.
#[derive(Clone, Debug)]
pub(super) struct Run<K, M> {
    key: K,
    cause: CauseId,
    parts: VecDeque<Part<M>>,
    outstanding: usize,
    failed: bool,
    /// It is tried again with back-off, even if no call fails.
    is_to_be_retried: bool,
    record_failed: bool,
    is_concluded: bool,
    requeue_after: Option<SimDuration>,
}

/// What keeps a part of a plan from being sent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Unless {
    Never,
    PassFailed,
    RecordFailed,
}

#[derive(Clone, Debug)]
struct Part<M> {
    calls: VecDeque<Planned<M>>,
    batch: Option<usize>,
    unless: Unless,
}

/// A controller: its rules and its machinery.
#[derive(Clone, Debug)]
pub struct Controller<R: Reconcile> {
    /// The rules.
    pub rules: R,
    queue: WorkQueue<R::Key>,
    runs: Table<Run<R::Key, R::Purpose>>,
    delayed: FxHashMap<R::Key, (Ticket, SimTime)>,
    failures: FxHashMap<R::Key, u32>,
    retry_bucket: TokenBucket,
    /// Whether it has begun to work.
    is_synced: bool,
}

impl<R: Reconcile> Controller<R> {
    /// A controller that has not started.
    #[must_use]
    pub fn new(rules: R, config: &Config) -> Self {
        Self {
            rules,
            queue: WorkQueue::new(R::workers(config)),
            runs: Table::new(),
            delayed: FxHashMap::default(),
            failures: FxHashMap::default(),
            retry_bucket: TokenBucket::new(ClientLimit { qps: 10.0, burst: 100 }),
            is_synced: true,
        }
    }

    fn enqueue(&mut self, entries: Enqueue<R::Key>, ctx: &mut Ctx<'_, Self>) {
        for (key, when) in entries.entries {
            match when {
                When::Now | When::After(SimDuration::ZERO) => self.queue.add(key, ctx.cause),
                When::After(delay) => self.add_after(key, delay, ctx),
            }
        }
    }

    fn add_after(&mut self, key: R::Key, delay: SimDuration, ctx: &mut Ctx<'_, Self>) {
        if delay == SimDuration::ZERO {
            self.queue.add(key, ctx.cause);
            return;
        }
        let due = ctx.now + delay;
        if let Some((ticket, at)) = self.delayed.get(&key).copied() {
            if at <= due {
                return;
            }
            ctx.cancel(ticket);
        }
        let ticket = ctx.arm(due, ControllerTimer::Due(key));
        self.delayed.insert(key, (ticket, due));
    }

    fn retry_later(&mut self, key: R::Key, ctx: &mut Ctx<'_, Self>) {
        let failures = self.failures.entry(key).or_insert(0);
        let (base, cap, shared) = R::retry();
        if R::retries_max().is_some_and(|max| *failures >= max) {
            self.failures.remove(&key);
            return;
        }
        let factor = 1u64.checked_shl((*failures).min(40)).unwrap_or(u64::MAX);
        let mut delay = base.checked_mul(factor).unwrap_or(cap).min(cap);
        *failures += 1;
        if shared {
            delay = delay.max(self.retry_bucket.reserve(ctx.now).saturating_since(ctx.now));
        }
        self.add_after(key, delay, ctx);
    }

    /// Gives waiting keys to free workers.
    fn work(&mut self, ctx: &mut Ctx<'_, Self>) {
        if !self.is_synced {
            return;
        }
        let outer = ctx.cause;
        while let Some((key, cause)) = self.queue.take() {
            ctx.cause = cause;
            let plan = self.rules.sync(key, ctx);
            let mut affected = Enqueue::default();
            self.rules.affected(&mut affected);
            self.enqueue(affected, ctx);
            let mut parts = VecDeque::new();
            for step in plan.steps {
                let (calls, batch) = match step {
                    Step::SlowStart(calls) => (calls, Some(1)),
                    Step::Concurrent(calls) => (calls, None),
                };
                parts.push_back(Part { calls: calls.into(), batch, unless: Unless::PassFailed });
            }
            if !plan.finally.is_empty() {
                parts.push_back(Part { calls: plan.finally.into(), batch: None, unless: Unless::Never });
            }
            for group in plan.record {
                parts.push_back(Part { calls: group.into(), batch: None, unless: Unless::RecordFailed });
            }
            if let Some(delay) = plan.wake_after {
                self.add_after(key, delay, ctx);
            }
            let run = Run {
                key,
                cause,
                parts,
                outstanding: 0,
                failed: false,
                is_to_be_retried: plan.failed,
                record_failed: false,
                is_concluded: false,
                requeue_after: plan.requeue_after,
            };
            let id = self.runs.insert(run);
            self.advance(id, ctx);
        }
        ctx.cause = outer;
    }

    /// Sends the next calls of a pass, or ends it.
    fn advance(&mut self, id: Id<Run<R::Key, R::Purpose>>, ctx: &mut Ctx<'_, Self>) {
        let Some(run) = self.runs.get_mut(id) else { return };
        while run.outstanding == 0 {
            if run.parts.is_empty() && !run.is_concluded {
                run.is_concluded = true;
                ctx.cause = run.cause;
                let (last, again_after) = self.rules.conclude(run.key, ctx);
                run.requeue_after = run.requeue_after.into_iter().chain(again_after).min();
                let calls = last.into_iter().collect();
                run.parts.push_back(Part { calls, batch: None, unless: Unless::Never });
            }
            let Some(part) = run.parts.front_mut() else {
                let Some(run) = self.runs.remove(id) else { return };
                self.finish(&run, ctx);
                return;
            };
            if part.calls.is_empty() {
                run.parts.pop_front();
                continue;
            }
            let is_void = match part.unless {
                Unless::Never => false,
                Unless::PassFailed => run.failed,
                Unless::RecordFailed => run.record_failed,
            };
            if is_void {
                for call in part.calls.drain(..) {
                    self.rules.skipped(run.key, call.purpose);
                }
                continue;
            }
            let count = part.batch.map_or(part.calls.len(), |n| n.min(part.calls.len()));
            part.batch = part.batch.map(|n| n * 2);
            ctx.cause = run.cause;
            for call in part.calls.drain(..count) {
                ctx.call(call.request, ControllerTag { run: id, purpose: call.purpose });
            }
            run.outstanding = count;
        }
    }

    fn finish(&mut self, run: &Run<R::Key, R::Purpose>, ctx: &mut Ctx<'_, Self>) {
        ctx.cause = run.cause;
        if run.failed || run.is_to_be_retried {
            self.retry_later(run.key, ctx);
        } else {
            self.failures.remove(&run.key);
            if let Some(delay) = run.requeue_after {
                self.add_after(run.key, delay, ctx);
            }
        }
        self.queue.done(run.key);
    }
}

impl<R: Reconcile> Component for Controller<R> {
    type Timer = ControllerTimer<R::Key>;
    type Tag = ControllerTag<R::Key, R::Purpose>;
    const NAME: &'static str = R::NAME;
    const PROGRAM: Program = Program::ControlPlane(ControlPlaneProcess::KubeControllerManager);
    const CONTROLLERS: &'static [&'static str] = R::CONTROLLERS;

    fn begins_anew(timer: &ControllerTimer<R::Key>) -> bool {
        R::GOES_BY_SCHEDULE && matches!(timer, ControllerTimer::Due(_))
    }

    fn words(timer: &ControllerTimer<R::Key>, store: &Store) -> String {
        match timer {
            ControllerTimer::Due(key) => R::words(*key, store),
            ControllerTimer::Synced => "its caches are filled".to_owned(),
        }
    }

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![R::client(config)]
    }

    fn watches(changed: &Changed) -> bool {
        R::watches(changed)
    }

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Self>) {
        let mut entries = Enqueue::default();
        self.rules.started(start, ctx, &mut entries);
        self.enqueue(entries, ctx);
        if start == Start::Fresh {
            self.is_synced = false;
            ctx.arm(ctx.now + CACHE_SYNC, ControllerTimer::Synced);
        }
        self.work(ctx);
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        let mut entries = Enqueue::default();
        self.rules.changed(change, ctx, &mut entries);
        self.enqueue(entries, ctx);
        self.work(ctx);
    }

    fn fired(&mut self, timer: Self::Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            ControllerTimer::Due(key) => {
                self.delayed.remove(&key);
                self.queue.add(key, ctx.cause);
            }
            ControllerTimer::Synced => self.is_synced = true,
        }
        self.work(ctx);
    }

    fn answered(&mut self, tag: Self::Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let id = tag.run;
        let Some(run) = self.runs.get_mut(id) else { return };
        let key = run.key;
        if let Some(next) = self.rules.follow_up(key, tag.purpose, answer, ctx) {
            ctx.cause = run.cause;
            ctx.call(next.request, ControllerTag { run: id, purpose: next.purpose });
            return;
        }
        run.outstanding -= 1;
        if R::is_failure(tag.purpose, answer) {
            run.failed = true;
            run.record_failed |= run.parts.front().is_some_and(|part| part.unless == Unless::RecordFailed);
        }
        let outstanding = run.outstanding;
        self.rules.answered(key, tag.purpose, answer, ctx);
        if outstanding == 0 {
            self.advance(id, ctx);
        }
        self.work(ctx);
    }
}
