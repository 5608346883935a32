//! The chart of a plan: which counts survive which case.

use plotters::prelude::*;

use super::style::{self, BAD, DIM, FAINT, GOOD, INK, font, px};

/// What a plan's chart shows.
#[derive(Clone, Debug, Default)]
pub struct SurvivalChart {
    /// Name of the plan.
    pub title: String,
    /// Of which scenario it is.
    pub caption: String,
    /// What the columns count.
    pub counted: String,
    /// The counts.
    pub columns: Vec<String>,
    /// The cases.
    pub rows: Vec<String>,
    /// What became of each case, row by row.
    pub cells: Vec<Vec<SurvivalCell>>,
    /// The column of the answer.
    pub answer: Option<usize>,
}

/// What became of a case with some count.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SurvivalCell {
    /// Every play was survived.
    Survived {
        /// Pods of one play that were short, but that no number of nodes helps: most of all plays.
        beyond_help: u64,
    },
    /// Some were not.
    Failed {
        /// How many.
        failed: usize,
        /// Of how many.
        plays: usize,
    },
    /// Some placements were not survived.
    FailedPlacements {
        /// How many.
        failed: usize,
        /// Of how many.
        placements: usize,
    },
    /// The first that is not survived was the last that was played.
    Stopped,
    /// Not played, as too little is left in any case.
    RuledOut,
    /// Not played, as something before it failed.
    NotPlayed,
}

/// A chart with more columns cannot be read.
pub const SURVIVAL_COLUMNS_MAX: usize = 24;

/// More characters of a case's name are not shown.
const LABEL_MAX: usize = 44;

/// A lighter gray than that of lines, under text.
const UNPLAYED: RGBColor = RGBColor(240, 242, 244);

/// Of a color that is light enough under text.
fn pale(color: RGBColor, share: f64) -> RGBColor {
    let mix = |part: u8| (f64::from(part) * share + 255.0 * (1.0 - share)).round() as u8;
    RGBColor(mix(color.0), mix(color.1), mix(color.2))
}

impl SurvivalCell {
    fn color(self) -> RGBColor {
        match self {
            Self::Survived { beyond_help: 0 } => pale(GOOD, 0.55),
            Self::Survived { .. } => pale(GOOD, 0.25),
            Self::Failed { failed, plays } => pale(BAD, if failed == plays { 0.75 } else { 0.45 }),
            Self::FailedPlacements { failed, placements } => pale(BAD, if failed == placements { 0.7 } else { 0.4 }),
            Self::Stopped => pale(BAD, 0.6),
            Self::RuledOut => pale(DIM, 0.45),
            Self::NotPlayed => UNPLAYED,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Survived { beyond_help } if beyond_help > 0 => format!("but {beyond_help}"),
            Self::Survived { .. } | Self::Stopped | Self::RuledOut | Self::NotPlayed => String::new(),
            Self::Failed { failed, plays } => format!("{failed}/{plays}"),
            Self::FailedPlacements { failed, placements } => format!("{failed}/{placements}"),
        }
    }
}

pub(super) const FILE: &str = "survival-matrix.svg";

/// Draws it; none if there is nothing to draw.
#[must_use]
pub fn draw_survival_matrix(chart: &SurvivalChart) -> Option<(&'static str, String)> {
    if chart.columns.is_empty() || chart.rows.is_empty() {
        return None;
    }
    let longest_row = chart.rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let label_width = longest_row.min(LABEL_MAX) as u32 * 8 + 28;
    let longest = chart.columns.iter().map(|column| column.chars().count()).max().unwrap_or(1) as u32;
    let cell_width = (longest * 8 + 16).max(48);
    let cell_height = 30;
    let width = (label_width + cell_width * chart.columns.len() as u32 + 30).max(700).max(legend_width(chart));
    let height = 84 + cell_height * chart.rows.len() as u32 + 84;
    let svg = style::canvas((width, height), &chart.caption, |area| {
        let at = |x: u32, y: u32| (px(x) as i32, px(y) as i32);
        area.draw(&Text::new(chart.title.clone(), at(16, 12), font(18)))?;
        let x = |column: usize| label_width + cell_width * column as u32;
        let y = |row: usize| 62 + cell_height * row as u32;
        for (index, column) in chart.columns.iter().enumerate() {
            let shift = (cell_width - (column.chars().count() as u32 * 6).min(cell_width)) / 2;
            area.draw(&Text::new(column.clone(), at(x(index) + shift, 44), font(13)))?;
        }
        for (row, name) in chart.rows.iter().enumerate() {
            let label: String = name.chars().take(LABEL_MAX).collect();
            area.draw(&Text::new(label, at(16, y(row) + 8), font(13)))?;
            for (column, cell) in chart.cells[row].iter().enumerate() {
                let corners = [at(x(column) + 1, y(row) + 1), at(x(column) + cell_width - 1, y(row) + cell_height - 1)];
                area.draw(&Rectangle::new(corners, cell.color().filled()))?;
                let text = cell.text();
                let shift = (cell_width - (text.len() as u32 * 6).min(cell_width)) / 2;
                area.draw(&Text::new(text, at(x(column) + shift, y(row) + 9), font(12)))?;
            }
        }
        if let Some(answer) = chart.answer {
            // A path, as the backend draws the border of a rectangle one unit wide whatever it is told.
            let (left, right, bottom) = (x(answer), x(answer) + cell_width, y(chart.rows.len()));
            let frame = vec![at(left, 40), at(right, 40), at(right, bottom), at(left, bottom), at(left, 40)];
            area.draw(&PathElement::new(frame, INK.stroke_width(px(2))))?;
        }
        area.draw(&Text::new(chart.counted.clone(), at(label_width, y(chart.rows.len()) + 8), font(12)))?;
        legend(area, chart, y(chart.rows.len()) + 44)
    })?;
    Some((FILE, svg))
}

/// Every color, and what it means.
const LEGEND: [(SurvivalCell, &str); 9] = [
    (SurvivalCell::Survived { beyond_help: 0 }, "survived"),
    (SurvivalCell::Survived { beyond_help: 1 }, "survived but for so many pods that no node helps"),
    (SurvivalCell::Failed { failed: 1, plays: 2 }, "some plays not survived"),
    (SurvivalCell::Failed { failed: 1, plays: 1 }, "none survived"),
    (SurvivalCell::FailedPlacements { failed: 1, placements: 2 }, "fails in some placements"),
    (SurvivalCell::FailedPlacements { failed: 1, placements: 1 }, "fails in all placements"),
    (SurvivalCell::Stopped, "fails, stopped at the first"),
    (SurvivalCell::RuledOut, "ruled out: less left than is asked for"),
    (SurvivalCell::NotPlayed, "not played"),
];

/// What the legend explains: the colors that there are.
fn entries(chart: &SurvivalChart) -> impl Iterator<Item = (SurvivalCell, &'static str)> {
    let occurs = |cell: SurvivalCell| chart.cells.iter().flatten().any(|other| other.color() == cell.color());
    LEGEND.into_iter().filter(move |(cell, _)| occurs(*cell))
}

fn entry_width(name: &str) -> u32 {
    34 + name.len() as u32 * 6
}

fn legend_width(chart: &SurvivalChart) -> u32 {
    16 + entries(chart).map(|(_, name)| entry_width(name)).sum::<u32>()
}

fn legend(area: &style::Area<'_>, chart: &SurvivalChart, y: u32) -> Result<(), Box<dyn std::error::Error>> {
    let mut x = 16;
    for (cell, name) in entries(chart) {
        let corners = [(px(x) as i32, px(y) as i32), (px(x + 12) as i32, px(y + 12) as i32)];
        area.draw(&Rectangle::new(corners, cell.color().filled()))?;
        area.draw(&Rectangle::new(corners, FAINT))?;
        area.draw(&Text::new(name, (px(x + 17) as i32, px(y) as i32), font(11).color(&INK)))?;
        x += entry_width(name);
    }
    Ok(())
}
