//! The numbers that the charts of a sensitivity analysis show, from its `sensitivity.csv`.

use std::path::Path;

use serde_json::Value;

use crate::observe::Cells;
use crate::report::{EffectPoint, Row, SensitivityChart, Table, TableError, is_true, text};

const COLUMNS: [(&str, Cells); 6] = [
    ("input", Cells::Text),
    ("figure", Cells::Text),
    ("mu_star", Cells::Real),
    ("sigma", Cells::Real),
    ("noise", Cells::Real),
    ("told", Cells::Truth),
];

/// Those of the results in a directory, whose summary has been read.
///
/// # Errors
///
/// If the table is missing or damaged.
pub(super) fn of(dir: &Path, summary: &Value) -> Result<SensitivityChart, TableError> {
    let table = Table::read_as(&dir.join("sensitivity.csv"), &COLUMNS)?;
    let [input, figure, mu_star, sigma, noise, told] = COLUMNS.map(|(name, _)| table.column(name));
    // What is a number has been checked; nothing stands for what is not known.
    let number = |row: Row<'_>, column: usize| text(row, column).parse::<f64>().ok();
    let points = |wanted: &str| {
        let of_figure = table.rows().filter(|row| text(row, figure) == wanted);
        let point = |row| EffectPoint {
            label: text(row, input).to_owned(),
            mu_star: number(row, mu_star).unwrap_or(0.0),
            sigma: number(row, sigma).unwrap_or(0.0),
            noise: number(row, noise),
            is_told: is_true(row, told),
        };
        of_figure.map(point).collect()
    };
    let name = summary["sensitivity"].as_str().unwrap_or_default();
    let caption = format!("{name} · seed {} · {} runs", summary["seed"], summary["runs"]);
    Ok(SensitivityChart { title: name.to_owned(), caption, on_cost: points("cost"), on_saving: points("saving") })
}
