//! The one definition of the score, and what is counted beside it.

use std::collections::BTreeMap;
use std::iter::Sum;

use serde::{Serialize, Serializer};

use super::seen::Source;
use crate::evidence::FactKind;
use crate::report::{AgreementRow, Verdict};
use crate::units::SimDuration;

/// How far from the bounds of the evidence a play may have a fact, and still be near: the phases of heartbeats and of the node lifecycle
/// controller's passes, and the order in which it goes through zones and nodes.
const NEAR: SimDuration = SimDuration::from_secs(60);

/// How many facts there are of each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The play has them within the bounds of the evidence.
    pub same: u64,
    /// The play has them at another time.
    pub other_time: u64,
    /// Of those: at most a minute before or after the bounds.
    pub near: u64,
    /// Seen, not in the play.
    pub missing: u64,
    /// In the play, and the evidence, which would tell of them, does not.
    pub extra: u64,
    /// In the play, and the evidence cannot know of them. They count for nothing.
    pub not_seen: u64,
}

impl Tally {
    /// What is the same, of all that is the same, at another time, missing or extra; none if nothing is.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        let all = self.judged();
        (all > 0).then(|| self.same as f64 / all as f64)
    }

    /// The same with what is near the bounds: by that much times differ from one play of an incident to another, and from a play to what it
    /// is of.
    #[must_use]
    pub fn near_score(&self) -> Option<f64> {
        let all = self.judged();
        (all > 0).then(|| (self.same + self.near) as f64 / all as f64)
    }

    /// How many facts the score is of.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.same + self.other_time + self.missing + self.extra
    }

    fn add(&mut self, row: &AgreementRow) {
        let is_near = row.off.is_some_and(|off| off.as_nanos().unsigned_abs() <= NEAR.as_nanos());
        self.near += u64::from(row.verdict == Verdict::OtherTime && is_near);
        *match row.verdict {
            Verdict::Same => &mut self.same,
            Verdict::OtherTime => &mut self.other_time,
            Verdict::Missing => &mut self.missing,
            Verdict::Extra => &mut self.extra,
        } += 1;
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, of| Self {
            same: sum.same + of.same,
            other_time: sum.other_time + of.other_time,
            near: sum.near + of.near,
            missing: sum.missing + of.missing,
            extra: sum.extra + of.extra,
            not_seen: sum.not_seen + of.not_seen,
        })
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written {
            score: Option<f64>,
            near_score: Option<f64>,
            same: u64,
            other_time: u64,
            near: u64,
            missing: u64,
            extra: u64,
            not_seen: u64,
        }
        let &Self { same, other_time, near, missing, extra, not_seen } = self;
        let (score, near_score) = (self.score(), self.near_score());
        Written { score, near_score, same, other_time, near, missing, extra, not_seen }.serialize(serializer)
    }
}

/// The facts of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindTally {
    /// Which.
    pub fact: FactKind,
    /// How many.
    pub tally: Tally,
}

impl Serialize for KindTally {
    /// The counts, and what the kind is called in tables and by people.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written {
            fact: &'static str,
            what: &'static str,
            #[serde(flatten)]
            tally: Tally,
        }
        Written { fact: self.fact.as_str(), what: self.fact.in_words(), tally: self.tally }.serialize(serializer)
    }
}

/// Facts that were seen, that the play does not have, and that may have come about when it does not play.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Before t=0.
    pub before: u64,
    /// After the end.
    pub after: u64,
}

/// A node, or an owner of pods, that the scenario does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stranger {
    /// `node a`, `ReplicaSet shop/web-5d9`.
    pub what: String,
    /// What was seen of it.
    pub facts: u64,
}

/// From when to when a source of the evidence tells something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceSpan {
    /// The kind of record; empty of facts that name none.
    pub source: &'static str,
    /// How many facts it tells.
    pub facts: u64,
    /// When the first of them may have come about, in seconds.
    pub from_s: f64,
    /// When the last of them may have.
    pub to_s: f64,
}

impl SourceSpan {
    pub(super) fn of(source: &Source) -> Self {
        let seconds = |millis: i64| millis as f64 / 1000.0;
        Self {
            source: source.kind.map_or("", |kind| kind.as_str()),
            facts: source.facts as u64,
            from_s: seconds(source.from),
            to_s: seconds(source.to),
        }
    }
}

/// What there is of each kind, those left out of which there is nothing.
pub(super) fn by_kind(rows: &[AgreementRow], unseen: &BTreeMap<FactKind, u64>) -> Vec<KindTally> {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    rows.iter().for_each(|row| tallies.entry(row.fact).or_default().add(row));
    let of_kind = |fact: FactKind| {
        let not_seen = unseen.get(&fact).copied().unwrap_or_default();
        let tally = Tally { not_seen, ..tallies.get(fact.as_str()).copied().unwrap_or_default() };
        (tally != Tally::default()).then_some(KindTally { fact, tally })
    };
    FactKind::ALL.into_iter().filter_map(of_kind).collect()
}

/// Those of which most was seen first.
pub(super) fn strangers(facts: BTreeMap<String, u64>) -> Vec<Stranger> {
    let mut all: Vec<Stranger> = facts.into_iter().map(|(what, facts)| Stranger { what, facts }).collect();
    all.sort_by_key(|stranger| std::cmp::Reverse(stranger.facts));
    all
}
