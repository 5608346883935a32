//! The tables of a sensitivity analysis.

use crate::observe::{Column, Row, Table, TableInfo};

/// Every table of the directory of a sensitivity analysis.
#[must_use]
pub fn tables_of_sensitivities() -> Vec<TableInfo> {
    vec![TableInfo::of::<EffectRow>(), TableInfo::of::<PointRow>()]
}

/// A row of `sensitivity.csv`.
#[derive(Clone, Debug)]
pub(crate) struct EffectRow {
    pub(crate) input: String,
    pub(crate) of: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) scale: &'static str,
    pub(crate) figure: &'static str,
    /// Mean, low and high.
    pub(crate) mu: [f64; 3],
    pub(crate) mu_star: f64,
    pub(crate) sigma: f64,
    pub(crate) noise: f64,
    pub(crate) is_told: bool,
    /// Steps, those that turn the answer round, and those of which that is told.
    pub(crate) turns: [usize; 3],
}

impl Row for EffectRow {
    const TABLE: Table<Self> = Table {
        file: "sensitivity.csv",
        holds: "for each input a row for what it does to the baseline's cost, and one for what it does to the saving",
        columns: &[
            Column::text("input", "the name of what is assumed", |row| &row.input),
            Column::text("of", "the path of the scenario's field, or the metric that has the price", |row| &row.of),
            Column::text("from", "the least value", |row| &row.from),
            Column::text("to", "the highest value", |row| &row.to),
            Column::text("scale", "how values lie between them: `linear` or `log`", |row| row.scale),
            Column::text(
                "figure",
                "`cost`: what a run of the baseline costs; `saving`: what the other variant saves against it",
                |row| row.figure,
            ),
            Column::real(
                "mu",
                "cost",
                "by how much the figure rises as the input goes from the least to the highest value, on average of all places",
                |row| row.mu[0],
            ),
            Column::real("mu_low", "cost", "the lower end of its confidence interval", |row| row.mu[1]),
            Column::real("mu_high", "cost", "the upper end", |row| row.mu[2]),
            Column::real("mu_star", "cost", "the mean size of the effect, whatever its direction", |row| row.mu_star),
            Column::real("sigma", "cost", "the standard deviation of the effect from place to place", |row| row.sigma),
            Column::real(
                "noise",
                "cost",
                "what `mu_star` would be on average of chance alone; nothing if one replication tells no noise",
                |row| row.noise,
            ),
            Column::truth("told", "whether there is an effect, as far as the runs tell", |row| row.is_told),
            Column::number("steps", "steps", "in which the input moves and all others stay", |row| row.turns[0] as i64),
            Column::number("turned", "steps", "those that turn round who is cheaper", |row| row.turns[1] as i64),
            Column::number("turned_told", "steps", "those of which that is told", |row| row.turns[2] as i64),
        ],
    };
}

/// A row of `points.csv`.
#[derive(Clone, Debug)]
pub(crate) struct PointRow {
    pub(crate) trajectory: Option<i64>,
    pub(crate) moved: String,
    pub(crate) values: Vec<String>,
    /// Mean, low and high.
    pub(crate) cost: [f64; 3],
    /// The same of the other variant's.
    pub(crate) variant_cost: [f64; 3],
    /// The same of the difference.
    pub(crate) saving: [f64; 3],
    pub(crate) cheaper: &'static str,
    pub(crate) is_told: bool,
}

impl Row for PointRow {
    const TABLE: Table<Self> = Table {
        file: "points.csv",
        holds: "a row for the scenario as it is, and one for each stop of each trajectory",
        columns: &[
            Column::maybe_number("trajectory", "", "its number, from 0; nothing of the scenario as it is", |row| {
                row.trajectory
            }),
            Column::text("moved", "the input that has moved from the row before", |row| &row.moved),
            Column::texts(
                "<input>",
                "a column for each input: its value as documents write it, with a unit that may differ from row to row, such as `500ms` and `1m0s`",
                |row| &row.values,
            ),
            Column::real("cost", "cost", "what a run of the baseline costs", |row| row.cost[0]),
            Column::real("cost_low", "cost", "the lower end of its confidence interval", |row| row.cost[1]),
            Column::real("cost_high", "cost", "the upper end", |row| row.cost[2]),
            Column::real("variant_cost", "cost", "what one of the other variant costs", |row| row.variant_cost[0]),
            Column::real("variant_cost_low", "cost", "the lower end of its confidence interval", |row| {
                row.variant_cost[1]
            }),
            Column::real("variant_cost_high", "cost", "the upper end", |row| row.variant_cost[2]),
            Column::real("saving", "cost", "what it saves, run by run", |row| row.saving[0]),
            Column::real(
                "saving_low",
                "cost",
                "the lower end of its confidence interval, which holds at all points at once",
                |row| row.saving[1],
            ),
            Column::real("saving_high", "cost", "the upper end", |row| row.saving[2]),
            Column::text("cheaper", "who costs less on average: `baseline`, `variant` or `neither`", |row| row.cheaper),
            Column::truth("told", "whether that is told", |row| row.is_told),
        ],
    };
}
