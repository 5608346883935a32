//! How far an answer rests on prices, in words.

use super::super::break_even::{BreakEven, PriceRange};
use super::super::document::PRICED;
use super::{Remark, Teller};
use crate::observe::Tone;

impl Teller<'_> {
    /// Within which range of each price the answer stays what it is; `is_tuned` says that it is a recommendation. None if nothing can be
    /// said of it.
    #[must_use]
    pub fn break_even(&self, prices: &[BreakEven], is_tuned: bool) -> Option<Remark> {
        let what = if is_tuned { "the recommendation" } else { "the lowest cost" };
        let text = format!("How far {what} rests on prices, each alone and the others as they are:");
        let remark = Remark::new(Tone::Neutral, text);
        let told = |remark: Remark, of: &BreakEven| remark.with(line(of, is_tuned));
        (!prices.is_empty()).then(|| prices.iter().fold(remark, told))
    }
}

/// `evictions, 30 now: cheapest on average while an eviction costs between 12 and 410; below, wait=0 is`.
fn line(of: &BreakEven, is_tuned: bool) -> String {
    let word = PRICED.iter().find(|(_, metric)| *metric == of.metric).map_or(of.metric.as_str(), |(word, _)| word);
    let unit = unit(&of.metric);
    let cheapest = match (&of.cheapest, is_tuned) {
        (Some(range), _) => {
            let mut text = format!("cheapest on average {}", within(range, &unit));
            for (side, variant) in [("below", &range.below), ("above", &range.above)] {
                if let Some(variant) = variant {
                    text.push_str(&format!("; {side}, {variant} is"));
                }
            }
            text
        }
        (None, true) => "on average another one is cheaper, or that is not known".to_owned(),
        (None, false) => "on average another one is cheaper".to_owned(),
    };
    let told = match (&of.told, is_tuned) {
        (Some(range), true) => format!("; the same is recommended {}", within(range, &unit)),
        (Some(range), false) => format!("; told to be cheaper than the baseline {}", within(range, &unit)),
        (None, _) => String::new(),
    };
    format!("{word}, {} now: {cheapest}{told}", price(of.now))
}

/// One of what has the price.
fn unit(metric: &str) -> String {
    let words = match metric {
        "unready_replica_s" => "an unready replica-second",
        "lost_traffic_s" => "a second of lost traffic",
        "evictions" => "an eviction",
        "needless_evictions" => "a needless eviction",
        "stateful_interruptions" => "an interruption of a StatefulSet's pod",
        "objectives_missed" => "a missed objective",
        "below_min_ready_s" => "a second below minReady",
        "preemptions" => "a preemption",
        "replica_h" => "a replica-hour",
        "node_h" => "a node-hour",
        other => return format!("one of {other}"),
    };
    words.to_owned()
}

fn within(range: &PriceRange, unit: &str) -> String {
    match (range.from, range.to) {
        (from, None) if from <= 0.0 => format!("whatever {unit} costs"),
        (from, None) => format!("while {unit} costs more than {}", price(from)),
        (_, Some(0.0)) => format!("while {unit} costs nothing"),
        (from, Some(to)) if from <= 0.0 => format!("while {unit} costs less than {}", price(to)),
        (from, Some(to)) => format!("while {unit} costs between {} and {}", price(from), price(to)),
    }
}

/// A price, to three digits: `0.0123`, `12.5`, `410`.
fn price(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (2.0 - libm::log10(value.abs()).floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_three_digits() {
        let check = |value: f64, expected: &str| assert_eq!(price(value), expected);
        check(0.0, "0");
        check(0.012_345, "0.0123");
        check(30.0, "30");
        check(12.44, "12.4");
        check(1234.5, "1234");
    }

    #[test]
    fn a_range_says_at_which_prices_it_ends_and_what_comes_then() {
        let range = |from: f64, to: Option<f64>| PriceRange { from, to, below: None, above: None };
        let said = |range: PriceRange| within(&range, "an eviction");
        assert_eq!(said(range(0.0, None)), "whatever an eviction costs");
        assert_eq!(said(range(0.0, Some(4.0))), "while an eviction costs less than 4");
        assert_eq!(said(range(0.0, Some(0.0))), "while an eviction costs nothing");
        assert_eq!(said(range(2.5, None)), "while an eviction costs more than 2.5");
        let below = Some("wait=0".to_owned());
        let cheapest = Some(PriceRange { below, ..range(12.0, Some(410.2)) });
        let told = Some(range(20.0, Some(200.0)));
        let of = BreakEven { metric: "evictions".into(), now: 30.0, cheapest, told };
        assert_eq!(
            line(&of, false),
            "evictions, 30 now: cheapest on average while an eviction costs between 12 and 410; below, wait=0 is; told to be cheaper \
             than the baseline while an eviction costs between 20 and 200"
        );
        let none = BreakEven { cheapest: None, told: None, ..of };
        assert_eq!(line(&none, false), "evictions, 30 now: on average another one is cheaper");
    }
}
