//! The numbers that the charts of a forecast show, from its `forecast.json`: `forecast` draws them, and `report` draws them again.

use serde_json::Value;

use crate::report::{ForecastBar, ForecastChart};

/// Those of a forecast. What is not of the form that a forecast has is left out.
pub(super) fn of(forecast: &Value) -> ForecastChart {
    let list = |name: &str| forecast[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let words = |fix: &Value| {
        let known = list("fixes").iter().find(|of| of["fix"] == *fix);
        known.and_then(|of| of["words"].as_str()).or(fix.as_str()).unwrap_or_default().to_owned()
    };
    let unit = |unit: &Value| bar(unit["unit"].as_str()?.to_owned(), &unit["lost_min_per_year"]);
    let step = |step: &Value| bar(format!("+ {}", words(&step["fix"])), &step["cost"]);
    let incident = |row: &Value| {
        let mean = row["lost_min"].as_f64()?;
        Some(ForecastBar { label: row["label"].as_str()?.to_owned(), mean, interval: None })
    };
    let as_it_is = bar("as it is".to_owned(), &forecast["cost_min_per_year"]);
    let loses = |bar: &ForecastBar| bar.mean > 0.0;
    let name = forecast["forecast"].as_str().unwrap_or_default();
    ForecastChart {
        title: name.to_owned(),
        caption: format!("{name} · seed {}", forecast["seed"]),
        units: list("units").iter().filter_map(unit).filter(loses).collect(),
        steps: as_it_is.into_iter().chain(list("together").iter().filter_map(step)).collect(),
        incidents: list("incidents").iter().filter_map(incident).filter(loses).collect(),
    }
}

fn bar(label: String, interval: &Value) -> Option<ForecastBar> {
    let ends = interval["low"].as_f64().zip(interval["high"].as_f64());
    Some(ForecastBar { label, mean: interval["mean"].as_f64()?, interval: ends })
}
