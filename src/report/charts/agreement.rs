//! The run beside what was seen of the real cluster: for each kind of fact, over time, what was seen above a line and what was played below.

use plotters::prelude::*;
use serde_json::Value;

use super::plot::{Plot, axis};
use super::style::{self, CALM, DIM, GOOD, INK, WARN, font, px};
use super::{Chart, Tables};
use crate::report::table::{Table, maybe_number, text};

pub(super) const CHART: Chart = Chart { file: "agreement.svg", draw, otherwise: "" };

const WIDTH: u32 = 1100;
/// What stands above the lanes: title and legend.
const TOP: u32 = 62;
/// What a lane takes, and its half above the line.
const LANE: u32 = 70;
const HALF: u32 = 30;
/// Where the lanes begin.
const LEFT: u32 = 210;
/// How wide a bar is, in logical pixels.
const BAR: u32 = 3;

/// The verdicts, in the order in which bars are stacked from the line on, and the color of each.
const VERDICTS: [(&str, RGBColor); 4] =
    [("same", GOOD), ("other time", WARN), ("missing", style::BAD), ("extra", CALM)];

/// How many facts of each verdict fall on a bar.
type Stack = [u32; VERDICTS.len()];

/// The facts of a kind: bars of what was seen, and of what was played.
struct Lane {
    name: String,
    score: String,
    seen: Vec<Stack>,
    played: Vec<Stack>,
}

fn draw(tables: &Tables) -> Option<String> {
    let (table, found) = tables.agreement.as_ref()?;
    let plot = Plot { tables, left: LEFT, width: WIDTH - LEFT - 24 };
    let kinds = found["kinds"].as_array()?.iter().filter(|kind| !kind["score"].is_null());
    let lanes: Vec<Lane> = kinds.map(|kind| lane(table, kind, &plot)).collect();
    let score = match found["score"].as_f64() {
        Some(score) => match found["near_score"].as_f64() {
            Some(near) => {
                format!("in {}, within a minute in {}, of what the evidence tells of", percent(score), percent(near))
            }
            None => format!("in {} of what the evidence tells of", percent(score)),
        },
        None => "in nothing that can be told".to_owned(),
    };
    style::canvas((WIDTH, TOP + lanes.len() as u32 * LANE + 30), &tables.caption, |area| {
        let title = format!("What was seen, and what was played: they agree {score}");
        area.draw(&Text::new(title, (px(16) as i32, px(10) as i32), font(18)))?;
        legend(area)?;
        let mut y = TOP;
        for lane in &lanes {
            draw_lane(area, &plot, lane, y)?;
            y += LANE;
        }
        axis(area, &plot, px(y) as i32)
    })
}

/// A share to the tenth of a percent; one below all never looks like all.
fn percent(share: f64) -> String {
    let tenths = (share * 1000.0).round().min(if share < 1.0 { 999.0 } else { 1000.0 });
    format!("{} %", tenths / 10.0)
}

/// The facts of one kind, as the summary counts it.
fn lane(table: &Table, kind: &Value, plot: &Plot<'_>) -> Lane {
    let count = (plot.width / BAR) as usize;
    let [mut seen, mut played] = [vec![Stack::default(); count], vec![Stack::default(); count]];
    let [fact, verdict, seen_s, played_s] =
        ["fact", "verdict", "observed_s", "played_s"].map(|column| table.column(column));
    for row in table.rows().filter(|row| text(row, fact) == kind["fact"]) {
        let Some(place) = VERDICTS.iter().position(|(name, _)| *name == text(row, verdict)) else { continue };
        let bar = |at_s: f64| ((at_s.max(0.0) / plot.tables.end_s * count as f64) as usize).min(count - 1);
        if let Some(at_s) = maybe_number(row, seen_s) {
            seen[bar(at_s)][place] += 1;
        }
        if let Some(at_s) = maybe_number(row, played_s) {
            played[bar(at_s)][place] += 1;
        }
    }
    let judged: u64 = ["same", "other_time", "missing", "extra"].iter().filter_map(|name| kind[name].as_u64()).sum();
    let score = kind["score"].as_f64().map_or_else(String::new, |score| format!("{} of {judged}", percent(score)));
    Lane { name: kind["what"].as_str().unwrap_or_default().to_owned(), score, seen, played }
}

fn draw_lane(area: &style::Area<'_>, plot: &Plot<'_>, lane: &Lane, y: u32) -> Result<(), Box<dyn std::error::Error>> {
    let line = (px(y + LANE / 2)) as i32;
    let (x0, x1) = (px(plot.left) as i32, plot.x(plot.tables.end_s));
    for span in &plot.tables.faults {
        let corners = [(plot.x(span.from_s), line - px(HALF) as i32), (plot.x(span.to_s), line + px(HALF) as i32)];
        area.draw(&Rectangle::new(corners, style::FAULT.mix(0.28).filled()))?;
    }
    let total = |stack: &Stack| stack.iter().sum::<u32>();
    let most = lane.seen.iter().chain(&lane.played).map(total).max().unwrap_or(0).max(1);
    for (bars, sign) in [(&lane.seen, -1), (&lane.played, 1)] {
        for (bar, stack) in bars.iter().enumerate().filter(|(_, stack)| total(stack) > 0) {
            let x = x0 + px(bar as u32 * BAR) as i32;
            let mut below = 0;
            for ((_, color), facts) in VERDICTS.iter().zip(stack).filter(|(_, facts)| **facts > 0) {
                let above = below + facts;
                let height = |facts: u32| (f64::from(px(HALF)) * f64::from(facts) / f64::from(most)) as i32;
                // One fact among thousands is seen all the same.
                let tall = height(above).max(height(below) + px(2) as i32);
                let corners = [(x, line + sign * height(below)), (x + px(BAR) as i32, line + sign * tall)];
                area.draw(&Rectangle::new(corners, color.filled()))?;
                below = above;
            }
        }
    }
    area.draw(&PathElement::new([(x0, line), (x1, line)], INK.stroke_width(px(1))))?;
    let place = |x: u32, dy: i32| (px(x) as i32, line + dy * px(1) as i32);
    area.draw(&Text::new(lane.name.as_str(), place(16, -18), font(12)))?;
    area.draw(&Text::new(lane.score.as_str(), place(16, 2), font(11).color(&DIM)))?;
    area.draw(&Text::new("seen", place(LEFT - 46, -18), font(10).color(&DIM)))?;
    area.draw(&Text::new("played", place(LEFT - 46, 8), font(10).color(&DIM)))?;
    Ok(())
}

fn legend(area: &style::Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let meanings =
        ["the same, within the bounds of the evidence", "at another time", "missing in the run", "extra in the run"];
    let colors = VERDICTS.iter().map(|(_, color)| *color).zip(meanings);
    let (mut x, y, side) = (px(16) as i32, px(38) as i32, px(12) as i32);
    for (color, name) in colors.chain([(style::FAULT, "fault on")]) {
        area.draw(&Rectangle::new([(x, y), (x + side, y + side)], color.filled()))?;
        area.draw(&Text::new(name, (x + side + px(5) as i32, y), font(11).color(&INK)))?;
        x += side + px(22) as i32 + name.len() as i32 * px(6) as i32;
    }
    Ok(())
}
