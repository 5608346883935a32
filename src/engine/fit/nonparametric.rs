//! A distribution out of bounds alone, where no family goes with them.

use super::Bounds;
use crate::units::SimDuration;

/// Rounds after which shares no longer change by what anybody could see.
const ROUNDS: usize = 300;
/// The least difference between cells, in seconds.
const CELL_MIN: f64 = 1e-3;

/// Lengths that are equally likely together, `count` of them in ascending order: the quantiles of the distribution that makes bounds
/// likeliest among all distributions. None if nothing has an upper bound.
///
/// What only has a lower bound beyond all upper ones counts as the largest upper one.
///
/// # Source
///
/// Turnbull, The empirical distribution function with arbitrarily grouped, censored and truncated data, Journal of the Royal
/// Statistical Society B 38 (1976), by self-consistency; within a cell all lengths are taken for equally likely.
#[must_use]
pub fn quantiles(bounds: &[Bounds], count: usize) -> Vec<SimDuration> {
    let mut edges: Vec<f64> = bounds
        .iter()
        .flat_map(|bounds| [bounds.low_s - bounds.slack_s, bounds.low_s, bounds.high_s - bounds.slack_s, bounds.high_s])
        .filter(|edge| edge.is_finite())
        .map(|edge| edge.max(0.0))
        .collect();
    let Some(last) = bounds.iter().map(|bounds| bounds.high_s).filter(|high| high.is_finite()).reduce(f64::max) else {
        return Vec::new();
    };
    edges.push(0.0);
    edges.retain(|edge| *edge <= last);
    edges.sort_by(f64::total_cmp);
    edges.dedup_by(|next, kept| *next - *kept < CELL_MIN);
    let cells: Vec<(f64, f64)> = edges.windows(2).map(|pair| (pair[0], pair[1])).collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let shares = shares(bounds, &cells);
    let at = |share: f64| {
        let mut before = 0.0;
        for ((low, high), own) in cells.iter().zip(&shares) {
            if *own > 0.0 && before + own >= share {
                return low + (high - low) * ((share - before) / own).clamp(0.0, 1.0);
            }
            before += own;
        }
        last
    };
    let of = |index: usize| SimDuration::from_millis(libm::round(at((index as f64 + 0.5) / count as f64) * 1e3) as u64);
    (0..count).map(of).collect()
}

/// The share of lengths in each cell.
fn shares(bounds: &[Bounds], cells: &[(f64, f64)]) -> Vec<f64> {
    // With what weight each observation may come of each cell, from the first that it may come of.
    let weights: Vec<(usize, Vec<f64>)> = bounds
        .iter()
        .map(|bounds| {
            let weight = |cell: &(f64, f64)| covered(bounds, f64::midpoint(cell.0, cell.1));
            let first = cells.iter().position(|cell| weight(cell) > 0.0).unwrap_or(cells.len() - 1);
            let mut row: Vec<f64> = cells[first..].iter().map(weight).take_while(|weight| *weight > 0.0).collect();
            if row.is_empty() {
                row.push(1.0);
            }
            (first, row)
        })
        .collect();
    let mut shares = vec![1.0 / cells.len() as f64; cells.len()];
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; cells.len()];
        for (first, row) in &weights {
            let total: f64 = row.iter().zip(&shares[*first..]).map(|(weight, share)| weight * share).sum();
            if total > 0.0 {
                for (offset, weight) in row.iter().enumerate() {
                    next[first + offset] += weight * shares[first + offset] / total;
                }
            }
        }
        let sum: f64 = next.iter().sum();
        shares = next.into_iter().map(|share| share / sum).collect();
    }
    shares
}

/// With which probability a length within bounds would have been recorded so.
fn covered(bounds: &Bounds, length: f64) -> f64 {
    if bounds.slack_s <= 0.0 {
        return f64::from(u8::from(bounds.low_s <= length && length < bounds.high_s));
    }
    let (from, to) = ((bounds.low_s - length).max(0.0), (bounds.high_s - length).min(bounds.slack_s));
    ((to - from) / bounds.slack_s).max(0.0)
}
