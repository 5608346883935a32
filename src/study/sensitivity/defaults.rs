//! What is taken as assumed if a study does not say: what no manifest says and hardly anybody measures.

use serde_json::{Value, json};

use super::super::definition::Study;
use super::super::document::is_within;
use super::document::{at, digest};
use super::input::{Assumed, Range, Scale, What};
use crate::engine::Distribution;
use crate::scenario::Reader;
use crate::units::SimDuration;

/// Latencies, and how far off they may be.
const LATENCIES: [(&str, &str, &str); 3] =
    [("kubeletReconnect", "0s", "60s"), ("podStart", "1s", "10s"), ("nodeBoot", "30s", "5m")];

/// Where distributions say how long something lasts.
const LENGTHS: [(&str, &str); 5] =
    [("exponential", "mean"), ("weibull", "mean"), ("weibull", "scale"), ("gamma", "mean"), ("gamma", "scale")];

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
    let failures = processes.flat_map(|(index, process)| {
        LENGTHS.iter().filter_map(move |(kind, field)| {
            let ends = ends_of(&process["timeToFailure"], kind, field)?;
            let [from, to] = ends.map(|end| json!(end.to_string()));
            let path = format!("spec.faults[{index}].timeToFailure.{kind}.{field}");
            assumed(process["name"].as_str()?.to_owned(), path, (&from, &to), Scale::Log)
        })
    });
    let varied: Vec<&str> =
        study.axes.iter().filter_map(|axis| Some(axis.settings.first()?.of_document()?.0)).collect();
    let are_one = |one: &str, other: &str| is_within(one, other) || is_within(other, one);
    let is_free = |of: &Assumed| varied.iter().all(|path| !are_one(of.of(), path));
    let decides = |of: &Assumed| {
        let ends = [0.0, 1.0].map(|share| at(reader, of, share).ok().map(|scenario| digest(&scenario)));
        ends[0].is_some() && ends[1].is_some() && ends[0] != ends[1]
    };
    latencies.chain(failures).filter(is_free).filter(decides).collect()
}

/// Half and twice a length that a distribution is given by. What is resolved may be written by another one, which is then no field of the
/// scenario.
fn ends_of(distribution: &Value, kind: &str, field: &str) -> Option<[SimDuration; 2]> {
    let written = distribution.get(kind)?;
    let length = match field {
        "mean" => serde_json::from_value::<Distribution>(distribution.clone()).ok()?.mean()?,
        field => SimDuration::parse_with_days(written[field].as_str()?).ok()?,
    };
    let seconds = length.as_secs_f64().round() as u64;
    (seconds > 1).then(|| [SimDuration::from_secs(seconds) / 2, SimDuration::from_secs(seconds) * 2])
}

fn assumed(name: String, path: String, (from, to): (&Value, &Value), scale: Scale) -> Option<Assumed> {
    let range = Range::read(from, to).ok()?;
    Some(Assumed { name, what: What::Path { path, written: None }, range, scale })
}
