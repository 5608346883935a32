//! What things cost: `cost`.

use super::super::break_even::PRICE_MAX;
use super::super::metrics::{COST, UNREADY, metric_names};
use super::{Spec, UNKNOWN};
use crate::diagnostics::{Diagnostic, nearest};
use crate::units::plain;

/// What can have a price, in the words of the document, and the metric it prices.
pub(in crate::study) const PRICED: [(&str, &str); 10] = [
    ("unreadyReplicaSeconds", "unready_replica_s"),
    ("lostTrafficSeconds", "lost_traffic_s"),
    ("evictions", "evictions"),
    ("needlessEvictions", "needless_evictions"),
    ("statefulInterruptions", "stateful_interruptions"),
    ("sloBreaches", "objectives_missed"),
    ("belowMinReadySeconds", "below_min_ready_s"),
    ("preemptions", "preemptions"),
    ("replicaHours", "replica_h"),
    ("nodeHours", "node_h"),
];

pub(super) fn read(spec: &Spec, problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> Vec<(&'static str, f64)> {
    let mut prices = Vec::new();
    for (name, &price) in &spec.cost {
        let at = format!("spec.cost.{name}");
        let metric = PRICED.iter().find(|(word, _)| word == name).map(|(_, metric)| *metric);
        let metric = metric.or_else(|| metric_names().into_iter().find(|metric| metric == name && *metric != COST));
        let Some(metric) = metric else {
            let diagnostic = Diagnostic::error("study::unknown_name", format!("`{name}` cannot have a price"));
            let likely = nearest(name, PRICED.iter().map(|(word, _)| *word));
            let help = match likely {
                Some(likely) => format!("the nearest is `{likely}`"),
                None => format!("what can is {}", PRICED.map(|(word, _)| word).join(", ")),
            };
            problem(diagnostic.help(help), &at, UNKNOWN);
            continue;
        };
        if !(0.0..=PRICE_MAX).contains(&price) {
            let message = format!("{} cannot be a price: a price is a number from 0 to 1e12", plain(price));
            let help = "only what prices are to each other decides: count in another unit; what earns is priced by what its \
                        lack costs";
            problem(Diagnostic::error("study::bad_value", message).help(help), &at, "");
        }
        if prices.iter().any(|(known, _)| *known == metric) {
            let diagnostic = Diagnostic::error("study::repeated_name", format!("`{name}` has another price already"));
            let help = format!("it is the same as {}", same_words(metric));
            problem(diagnostic.help(help), &at, "again");
        }
        prices.push((metric, price));
    }
    prices
}

/// The words under which a metric can have a price.
fn same_words(metric: &str) -> String {
    let word = PRICED.iter().find(|(_, of)| *of == metric).map(|(word, _)| format!("`{word}` and "));
    format!("{}`{metric}`", word.unwrap_or_default())
}

/// Fields that decide how soon a lost node is found.
const DETECTION: [&str; 4] =
    ["node-monitor-grace-period", "node-monitor-period", "nodeStatusUpdateFrequency", "nodeLeaseDurationSeconds"];

/// The first path that is varied and decides how soon a lost node is found, and which of all that is varied it is.
pub(super) fn detection(spec: &Spec) -> Option<(&str, usize)> {
    spec.vary.iter().zip(0..).find_map(|(vary, index)| {
        let path = vary.path.as_deref()?;
        DETECTION.iter().any(|field| path.ends_with(field)).then_some((path, index))
    })
}

/// Where detection is varied, what the API shows tells nothing of a loss that nobody has found yet.
pub(super) fn warn_of_detection(spec: &Spec, prices: &[(&str, f64)], problem: &mut dyn FnMut(Diagnostic, &str, &str)) {
    let has_price = |metric: &str| prices.iter().any(|(name, price)| *name == metric && *price > 0.0);
    if !has_price(UNREADY) || has_price("lost_traffic_s") {
        return;
    }
    let Some((path, index)) = detection(spec) else { return };
    let message = format!("`{path}` decides when a loss is found, and unready replica-seconds count from then on only");
    let help = "price `lostTrafficSeconds`, which counts what services lose on machines that are down, found or not";
    let diagnostic = Diagnostic::warning("study::detection", message).help(help);
    problem(diagnostic, &format!("spec.vary[{index}].path"), "the later, the cheaper it looks");
}
