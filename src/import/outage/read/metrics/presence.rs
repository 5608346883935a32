//! When there were samples at all, and what can be concluded from their absence.

use std::collections::BTreeMap;

use super::between;
use super::samples::{Coverage, Line, Table};
use crate::evidence::Bounds;

/// Who watched when.
#[derive(Debug)]
pub(super) struct Watch {
    coverage: Coverage,
    /// When anybody watched.
    all: Vec<(i64, i64)>,
    step: i64,
    slack: i64,
    /// Whether all series are there only while something is the case: whoever watched them watched longer than they say.
    is_sparse: bool,
}

/// When an object had samples, whoever brought them.
#[derive(Debug, Default, Clone)]
pub(super) struct Presence {
    /// First and last sample of each stretch.
    pub spans: Vec<(i64, i64)>,
    sources: BTreeMap<u64, ()>,
}

impl Presence {
    pub(super) fn add(&mut self, line: &Line) {
        self.spans.extend(line.spans.iter().map(|span| (span.first, span.last)));
        self.sources.extend(line.sources.iter().map(|source| (*source, ())));
    }

    /// Joins stretches without a gap between them.
    pub(super) fn joined(mut self, watch: &Watch) -> Self {
        self.spans.sort_unstable();
        self.spans.dedup_by(|next, kept| {
            let is_near = next.0.saturating_sub(kept.1) <= watch.gap();
            if is_near {
                kept.1 = kept.1.max(next.1);
            }
            is_near
        });
        self
    }

    pub(super) fn first(&self) -> Option<i64> {
        self.spans.first().map(|span| span.0)
    }

    pub(super) fn last(&self) -> Option<i64> {
        self.spans.last().map(|span| span.1)
    }
}

impl Watch {
    pub(super) fn of(table: &Table) -> Self {
        let mut all: Vec<(i64, i64)> = table.coverage.values().flatten().copied().collect();
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let is_near = next.0.saturating_sub(kept.1) <= table.step.saturating_mul(3) / 2;
            if is_near {
                kept.1 = kept.1.max(next.1);
            }
            is_near
        });
        let is_sparse = table.lines.iter().all(|line| line.key.metric.is_sparse());
        Self { coverage: table.coverage.clone(), all, step: table.step, slack: table.slack, is_sparse }
    }

    /// When anybody watched: first and last sample of each stretch.
    pub(super) fn all(&self) -> &[(i64, i64)] {
        &self.all
    }

    fn of_source(&self, source: u64) -> &[(i64, i64)] {
        self.coverage.get(&source).map_or(&[], Vec::as_slice)
    }

    /// Whether one who brought samples of an object brought samples, of whatever, all the time from one instant to another.
    pub(super) fn is_watched(&self, presence: &Presence, from: i64, to: i64) -> bool {
        let covers = |source: u64| self.of_source(source).iter().any(|(begin, end)| *begin <= from && to <= *end);
        presence.sources.keys().any(|source| covers(*source)) || self.is_sparse
    }

    /// How far apart samples may lie without a gap between them.
    pub(super) fn gap(&self) -> i64 {
        self.step.saturating_mul(3) / 2
    }

    /// Between which instants something came whose first sample is that one; nothing if it may have been there before all watching.
    pub(super) fn appeared(&self, presence: &Presence, first: i64) -> Option<Bounds> {
        let before = first - self.step - self.slack;
        let is_watched = |source: u64| {
            let stretches = self.of_source(source);
            stretches.iter().any(|(begin, end)| *begin <= first - self.step / 2 && first <= *end) && self.step > 0
        };
        if presence.sources.keys().any(|source| is_watched(*source)) || (self.is_sparse && self.step > 0) {
            return Some(between(before, first));
        }
        // The scraper came back, or took the place of another one, with it.
        let earlier = self.coverage.iter().filter_map(|(source, stretches)| {
            let end = stretches.iter().rev().find(|(_, end)| *end < first)?.1;
            let has_gone = stretches.last().is_some_and(|(_, end)| *end < first);
            (has_gone || presence.sources.contains_key(source)).then_some(end)
        });
        earlier.max().map(|end| between(end, first))
    }

    /// Between which instants something went whose last sample is that one; nothing if it may have been there as long as anybody watched.
    pub(super) fn vanished(&self, presence: &Presence, last: i64) -> Option<Bounds> {
        let after = last + self.step + self.slack;
        let is_watched = |source: u64| {
            let stretches = self.of_source(source);
            stretches.iter().any(|(begin, end)| *begin <= last && *end >= last + self.step / 2) && self.step > 0
        };
        if presence.sources.keys().any(|source| is_watched(*source)) || (self.is_sparse && self.step > 0) {
            return Some(between(last, after));
        }
        let later = self.coverage.iter().filter_map(|(source, stretches)| {
            let begin = stretches.iter().find(|(begin, _)| *begin > last)?.0;
            let is_new = stretches.first().is_some_and(|(begin, _)| *begin > last);
            (is_new || presence.sources.contains_key(source)).then_some(begin)
        });
        later.min().map(|begin| between(last, begin))
    }
}
