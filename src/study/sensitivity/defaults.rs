//! What is taken as assumed if a study does not say: what no manifest says and hardly anybody measures.

use serde_json::{Value, json};

use super::super::document::Study;
use super::document::{at, digest};
use super::input::{Assumed, Range, Scale, What};
use crate::scenario::Reader;
use crate::units::SimDuration;

/// Latencies, and how far off they may be.
const LATENCIES: [(&str, &str, &str); 3] =
    [("kubeletReconnect", "0s", "60s"), ("podStart", "1s", "10s"), ("nodeBoot", "30s", "5m")];

/// Distributions that say how long machines last by a mean.
const WITH_MEAN: [&str; 3] = ["exponential", "weibull", "gamma"];

/// The latencies, and how often machines fail at random: from half as long to twice as long between failures. What makes no difference to
/// the scenario, or what the study varies, is left out.
pub(super) fn of(study: &Study, reader: &Reader) -> Vec<Assumed> {
    let latencies = LATENCIES.iter().filter_map(|(field, from, to)| {
        let path = format!("spec.latency.{field}");
        assumed((*field).to_owned(), path, (&json!(from), &json!(to)), Scale::Linear)
    });
    let base = &study.variants[study.baseline].base;
    let processes = serde_json::to_value(&base.chaos.processes).unwrap_or_default();
    let processes = processes.as_array().into_iter().flatten().enumerate();
    let failures = processes.filter_map(|(index, process)| {
        let name = process["name"].as_str()?;
        let (kind, mean) = WITH_MEAN.iter().find_map(|kind| Some((kind, mean_of(process, kind)?)))?;
        let ends = [SimDuration::from_nanos(mean.as_nanos() / 2), mean.checked_mul(2)?];
        let [from, to] = ends.map(|end| json!(end.to_string()));
        assumed(name.to_owned(), format!("spec.faults[{index}].timeToFailure.{kind}.mean"), (&from, &to), Scale::Log)
    });
    let varied: Vec<&str> =
        study.axes.iter().filter_map(|axis| Some(axis.settings.first()?.of_document()?.0)).collect();
    let is_free = |of: &Assumed| varied.iter().all(|path| !super::super::document::is_within(of.of(), path));
    let decides = |of: &Assumed| {
        let ends = [0.0, 1.0].map(|share| at(reader, of, share).ok().map(|scenario| digest(&scenario)));
        ends[0].is_some() && ends[1].is_some() && ends[0] != ends[1]
    };
    latencies.chain(failures).filter(is_free).filter(decides).collect()
}

fn mean_of(process: &Value, kind: &str) -> Option<SimDuration> {
    SimDuration::parse_with_days(process["timeToFailure"][kind]["mean"].as_str()?).ok()
}

fn assumed(name: String, path: String, (from, to): (&Value, &Value), scale: Scale) -> Option<Assumed> {
    let range = Range::read(from, to).ok()?;
    Some(Assumed { name, what: What::Path { path, written: None }, range, scale })
}
