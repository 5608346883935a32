//! How much is still to be played, as far as anybody knows: for a progress that is of the whole.

use std::collections::BTreeMap;

use super::incident::IncidentKind;

/// Plays that take about as long as each other.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Random failures of all kinds.
    Years,
    /// Random failures of one kind.
    OneFault(usize),
    /// A single incident.
    Incident(IncidentKind),
}

/// The parts of a forecast, in their order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Years and incidents of the cluster as it is.
    AsItIs,
    /// Each change by itself.
    Changes,
    /// Each finding by itself, on new seeds.
    Confirmation,
    /// One finding's change after the other.
    Together,
    /// Each kind of failure by itself.
    Faults,
}

/// Plays by their classes.
pub(super) type Plays = BTreeMap<Class, u64>;

/// Work is counted in events; what begins a play counts as so many of them for each object that is copied.
#[derive(Debug)]
pub(super) struct Outlook {
    /// What it takes to begin a play.
    fork: u64,
    /// What is ahead in each stage, besides what is being played.
    ahead: BTreeMap<Stage, Plays>,
    /// Work of the plays that were made, and how many they were.
    made: BTreeMap<Class, (u64, u64)>,
}

impl Outlook {
    pub(super) fn new(fork: u64) -> Self {
        Self { fork, ahead: BTreeMap::new(), made: BTreeMap::new() }
    }

    /// Expects these plays in a stage, in place of what was expected there.
    pub(super) fn expect(&mut self, stage: Stage, plays: Plays) {
        self.ahead.insert(stage, plays);
    }

    /// Notes a play that was made.
    pub(super) fn note(&mut self, class: Class, work: u64) {
        let (sum, count) = self.made.entry(class).or_default();
        *sum += work;
        *count += 1;
    }

    /// The work of all that is ahead, with these plays.
    pub(super) fn ahead(&self, now: &Plays) -> u64 {
        let plays = self.ahead.values().flatten().chain(now);
        let work = |(class, count): (&Class, &u64)| self.mean(*class) * *count as f64;
        plays.map(work).fold(0.0, |sum, of| sum + of) as u64
    }

    /// The work of a play of a class: of those that were made, else of what comes nearest.
    fn mean(&self, class: Class) -> f64 {
        let of = |is_meant: &dyn Fn(Class) -> bool| {
            let made = self.made.iter().filter(|(class, _)| is_meant(**class));
            let (sum, count) = made.fold((0, 0), |(sum, count), (_, (work, plays))| (sum + work, count + plays));
            (count > 0).then(|| sum as f64 / count as f64)
        };
        let exact = of(&|other| other == class);
        let like = || match class {
            Class::Incident(_) => of(&|other| matches!(other, Class::Incident(_))),
            Class::OneFault(_) => {
                of(&|other| matches!(other, Class::OneFault(_))).or_else(|| of(&|other| other == Class::Years))
            }
            Class::Years => None,
        };
        exact.or_else(like).unwrap_or(2.0 * self.fork as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ahead_takes_what_the_like_of_it_took() {
        let mut outlook = Outlook::new(10);
        outlook.expect(Stage::Faults, Plays::from([(Class::OneFault(1), 2)]));
        outlook.expect(Stage::AsItIs, Plays::from([(Class::Incident(IncidentKind::Drain), 3)]));
        let now = |years| Plays::from([(Class::Years, years)]);
        assert_eq!(outlook.ahead(&now(0)), 2 * 20 + 3 * 20, "nothing is known yet");
        outlook.note(Class::Years, 1000);
        outlook.note(Class::Years, 3000);
        assert_eq!(outlook.ahead(&now(1)), 2000 + 2 * 2000 + 3 * 20, "one kind of failure as all of them");
        outlook.note(Class::Incident(IncidentKind::NodeLost), 50);
        assert_eq!(outlook.ahead(&now(0)), 2 * 2000 + 3 * 50, "one incident as another");
        outlook.expect(Stage::Faults, Plays::new());
        assert_eq!(outlook.ahead(&now(0)), 3 * 50, "what is over is not expected");
    }
}
