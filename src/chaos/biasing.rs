//! Failures that are drawn more often than they come, and by how much: so that what needs several of them at once is seen at all.
//!
//! The hazard of each failure is multiplied by a factor, which depends on how many faults are under way. A hazard can be multiplied
//! whatever the distribution: a time to failure is the quantile at a uniform number, and of a cumulative hazard that is drawn
//! from the exponential distribution, the factor divides what is drawn. So a run's likelihood, against that of the same run with other
//! factors, follows from two sums in each circumstance: failures, and the true hazard that was gone through.
//!
//! # Source
//!
//! Heidelberger, Shahabuddin and Nicola, Bounded relative error in estimating transient measures of highly dependable non-Markovian
//! systems, ACM Transactions on Modeling and Computer Simulation 4 (1994); exponential transformation of hazards: Nicola, Heidelberger
//! and Shahabuddin, Uniformization and exponential transformation, FTCS-22 (1992).

use serde::{Deserialize, Serialize};

use super::{Chaos, Timer};
use crate::component::Ctx;
use crate::engine::{Distribution, Stream, Ticket};
use crate::units::{SimDuration, SimTime};

/// Circumstances in which a machine may fail: no fault, one or several under way, each for machines that were in use when the run
/// began and for those that have been repaired, or made, since.
pub const CIRCUMSTANCES: usize = 6;

/// The circumstance that is `under_way` faults, of an age.
#[must_use]
pub const fn circumstance(under_way: usize, age: Age) -> usize {
    let under_way = if under_way < 2 { under_way } else { 2 };
    match age {
        Age::Grown => under_way,
        Age::New => 3 + under_way,
    }
}

/// Since when an instance has worked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Age {
    /// Since now: it has just been started or repaired.
    New,
    /// Since some moment in the past.
    Grown,
}

impl Age {
    /// The age that counts: what has no memory has none.
    fn of(self, time_to_failure: &Distribution) -> Self {
        if matches!(time_to_failure, Distribution::Exponential { .. }) { Self::Grown } else { self }
    }

    fn hazard(self, time_to_failure: &Distribution, age: SimDuration) -> f64 {
        match self {
            Self::New => time_to_failure.hazard(age),
            Self::Grown => time_to_failure.rest_hazard(age),
        }
    }

    /// The time that is not exceeded with probability `p`.
    fn quantile(self, time_to_failure: &Distribution, p: f64) -> SimDuration {
        match self {
            Self::New => time_to_failure.quantile(p),
            Self::Grown => time_to_failure.rest_quantile(p),
        }
    }
}

/// By what the hazards of each random process are multiplied, by circumstance; above 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Biasing {
    /// Of each process, in the order of the scenario.
    pub factors: Vec<[f64; CIRCUMSTANCES]>,
}

impl Biasing {
    /// Failures come as often as they do.
    #[must_use]
    pub fn none(processes: usize) -> Self {
        Self { factors: vec![[1.0; CIRCUMSTANCES]; processes] }
    }
}

/// What a process of a run went through in each circumstance.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Exposure {
    /// Failures.
    pub failures: [f64; CIRCUMSTANCES],
    /// The hazard, as it truly is: so many failures were to be expected.
    pub hazard: [f64; CIRCUMSTANCES],
}

impl Exposure {
    /// The logarithm of how much likelier it is with the factors than without.
    #[must_use]
    pub fn log_likelihood(&self, factors: &[f64; CIRCUMSTANCES]) -> f64 {
        let each = factors.iter().zip(self.failures.iter().zip(&self.hazard));
        each.fold(0.0, |sum, (factor, (failures, hazard))| {
            sum + failures * libm::log(*factor) - (factor - 1.0) * hazard
        })
    }
}

/// The next failure of an instance.
#[derive(Clone, Debug)]
struct Pending {
    ticket: Ticket,
    /// Since when it works.
    since: SimTime,
    age: Age,
    circumstance: usize,
    /// The hazard that it has gone through before the circumstance began.
    from: f64,
    /// The hazard at which it fails.
    until: f64,
}

/// A process whose failures are drawn with other hazards than they have.
#[derive(Clone, Debug)]
pub(super) struct Biased {
    factors: [f64; CIRCUMSTANCES],
    under_way: usize,
    exposure: Exposure,
    /// By instance.
    pending: Vec<Option<Pending>>,
    /// What redraws draw from, by instance: those of repairs stay where they are.
    redraws: Vec<Option<Stream>>,
}

impl Biased {
    pub(super) fn new(factors: [f64; CIRCUMSTANCES]) -> Self {
        Self { factors, under_way: 0, exposure: Exposure::default(), pending: Vec::new(), redraws: Vec::new() }
    }

    /// Draws the next failure of an instance that works since now.
    pub(super) fn arm(
        &mut self,
        (process, index): (u32, u32),
        time_to_failure: &Distribution,
        age: Age,
        stream: &mut Stream,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let unit = stream.unit();
        let timer = Timer::Fails(process, index);
        let (place, circumstance) = (index as usize, circumstance(self.under_way, age.of(time_to_failure)));
        let factor = self.factors[circumstance];
        let until = -libm::log1p(-unit) / factor;
        // As it is drawn without factors, to the last bit.
        let p = if factor == 1.0 { unit } else { -libm::expm1(-until) };
        let ticket = ctx.arm_in(age.quantile(time_to_failure, p), timer);
        if self.pending.len() <= place {
            self.pending.resize(place + 1, None);
            self.redraws.resize(place + 1, None);
        }
        self.pending[place] = Some(Pending { ticket, since: ctx.now, age, circumstance, from: 0.0, until });
    }

    /// The next failure of an instance has come.
    pub(super) fn fails(&mut self, index: u32) {
        let Some(pending) = self.pending.get_mut(index as usize).and_then(Option::take) else { return };
        self.exposure.failures[pending.circumstance] += 1.0;
        self.exposure.hazard[pending.circumstance] += pending.until - pending.from;
    }

    /// From now on so many faults are under way. What has not failed yet is drawn anew where its hazard changes: given that it has
    /// lasted so long.
    ///
    /// All instances are looked at, as all hazards change.
    pub(super) fn under_way(
        &mut self,
        count: usize,
        process: u32,
        time_to_failure: &Distribution,
        redraws: &dyn Fn(usize, &Ctx<'_, Chaos>) -> Stream,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let count = count.min(2);
        if count == self.under_way {
            return;
        }
        self.under_way = count;
        for (place, (pending, stream)) in self.pending.iter_mut().zip(&mut self.redraws).enumerate() {
            let Some(pending) = pending else { continue };
            let lasted = ctx.now.saturating_since(pending.since);
            let gone_through = pending.age.hazard(time_to_failure, lasted).clamp(pending.from, pending.until);
            self.exposure.hazard[pending.circumstance] += gone_through - pending.from;
            pending.from = gone_through;
            let p = -libm::expm1(-pending.until);
            if pending.age.quantile(time_to_failure, p) <= lasted {
                // It fails at this very instant, by what was drawn before.
                continue;
            }
            let before =
                std::mem::replace(&mut pending.circumstance, circumstance(count, pending.age.of(time_to_failure)));
            let factor = self.factors[pending.circumstance];
            if factor == self.factors[before] {
                continue;
            }
            let unit = stream.get_or_insert_with(|| redraws(place, ctx)).unit();
            pending.until = pending.from - libm::log1p(-unit) / factor;
            let length = pending.age.quantile(time_to_failure, -libm::expm1(-pending.until));
            ctx.cancel(pending.ticket);
            pending.ticket = ctx.arm(pending.since + length.max(lasted), Timer::Fails(process, place as u32));
        }
    }

    /// What it has gone through until now.
    pub(super) fn exposure(&self, time_to_failure: &Distribution, now: SimTime) -> Exposure {
        let mut exposure = self.exposure;
        for pending in self.pending.iter().flatten() {
            let lasted = now.saturating_since(pending.since);
            let gone_through = pending.age.hazard(time_to_failure, lasted).clamp(pending.from, pending.until);
            exposure.hazard[pending.circumstance] += gone_through - pending.from;
        }
        exposure
    }
}
