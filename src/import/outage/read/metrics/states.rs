//! Series of which, for one object, exactly one is 1: the state that the object is in.

use super::between;
use super::labels::Metric;
use super::presence::{Presence, Watch};
use super::samples::{Line, Span, Table};
use crate::evidence::Bounds;

/// From when to when an object was seen in a state; `None`: in none of those that there are series of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stay<S> {
    pub first: i64,
    pub last: i64,
    pub state: Option<S>,
    pub place: u32,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change<S> {
    pub when: Bounds,
    pub to: Option<S>,
    pub place: u32,
}

fn is_one(span: &Span) -> bool {
    span.value >= 0.5
}

/// The states of an object, of the series of each.
pub(super) fn stays<S: Copy + PartialEq>(lines: &[(&Line, S)]) -> Vec<Stay<S>> {
    let stay = |span: &Span, state| Stay { first: span.first, last: span.last, state, place: span.place };
    let ones = lines
        .iter()
        .flat_map(|(line, state)| line.spans.iter().filter(|span| is_one(span)).map(|span| stay(span, Some(*state))));
    let mut stays: Vec<Stay<S>> = ones.collect();
    // While a series is 0 and none is 1, the object is in a state that has no series here.
    let zeros = lines.iter().flat_map(|(line, _)| line.spans.iter().filter(|span| !is_one(span)));
    let is_other = |span: &&Span| !stays.iter().any(|one| one.first <= span.last && span.first <= one.last);
    let others: Vec<Stay<S>> = zeros.filter(is_other).map(|span| stay(span, None)).collect();
    stays.extend(others);
    stays.sort_by_key(|stay| (stay.first, stay.last));
    stays
}

/// How the states follow each other. The first state is no change.
pub(super) fn changes<S: Copy + PartialEq>(stays: &[Stay<S>]) -> Vec<Change<S>> {
    let pairs = stays.windows(2).filter(|pair| pair[0].state != pair[1].state);
    let change = |pair: &[Stay<S>]| Change {
        when: between(pair[0].last, pair[1].first),
        to: pair[1].state,
        place: pair[1].place,
    };
    pairs.map(change).collect()
}

/// The same of a query that left out what is 0: where samples end, the state does.
pub(super) fn changes_of_ones<S: Copy + PartialEq>(
    stays: &[Stay<S>],
    presence: &Presence,
    watch: &Watch,
) -> Vec<Change<S>> {
    let mut found = Vec::new();
    let Some((first, last)) = stays.first().zip(stays.last()) else { return found };
    if let Some(when) = watch.appeared(presence, first.first) {
        found.push(Change { when, to: first.state, place: first.place });
    }
    for pair in stays.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        if before.state != after.state {
            found.push(Change { when: between(before.last, after.first), to: after.state, place: after.place });
        } else if watch.is_watched(presence, before.last, after.first) {
            found.extend(watch.vanished(presence, before.last).map(|when| Change {
                when,
                to: None,
                place: before.place,
            }));
            found.extend(watch.appeared(presence, after.first).map(|when| Change {
                when,
                to: after.state,
                place: after.place,
            }));
        }
    }
    found.extend(watch.vanished(presence, last.last).map(|when| Change { when, to: None, place: last.place }));
    found
}

/// When what a series stands for begins to be the case, and when it ends, whether the series is 0 meanwhile or not there.
pub(super) fn edges(line: &Line, watch: &Watch) -> Vec<(Bounds, bool, u32)> {
    let mut presence = Presence::default();
    presence.add(line);
    let mut found = Vec::new();
    let mut before: Option<&Span> = None;
    for span in &line.spans {
        match before {
            Some(before) if is_one(before) != is_one(span) => {
                found.push((between(before.last, span.first), is_one(span), span.place));
            }
            // The same again behind a gap: gone meanwhile, if others were watched.
            Some(before) if is_one(span) && watch.is_watched(&presence, before.last, span.first) => {
                found.extend(watch.vanished(&presence, before.last).map(|when| (when, false, before.place)));
                found.extend(watch.appeared(&presence, span.first).map(|when| (when, true, span.place)));
            }
            None if is_one(span) => {
                found.extend(watch.appeared(&presence, span.first).map(|when| (when, true, span.place)));
            }
            _ => {}
        }
        before = Some(span);
    }
    if let Some(last) = before.filter(|last| is_one(last)) {
        found.extend(watch.vanished(&presence, last.last).map(|when| (when, false, last.place)));
    }
    found
}

/// Whether a metric is never 0: then its query may have left out what is.
pub(super) fn is_never_zero(table: &Table, metric: Metric) -> bool {
    table.of(metric).all(|line| line.spans.iter().all(is_one))
}
