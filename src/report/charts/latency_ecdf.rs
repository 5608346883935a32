//! How long replacements took: the share of pods that were taken away for which another was bound, and Ready, within a time.

use plotters::prelude::*;

use super::style::{self, CALM, DIM, FAINT, MarkedAxis, WARN, font, px};
use super::{Chart, Tables};
use crate::report::table::{is_true, maybe_number, text};
use crate::units::counted;

pub(super) const CHART: Chart =
    Chart { file: "rescheduling-latency.svg", draw, otherwise: "no pod was taken away for which another was to come" };

/// How `disruptions.csv` says that another came or was to come, and did not end before it was Ready: then one more came for that one.
const WAITED_FOR: [&str; 3] = ["replaced", "not ready by the end", "not by the end"];

fn draw(tables: &Tables) -> Option<String> {
    let lost = &tables.disruptions;
    let (taken_away, outcome, from) = (lost.column("taken_away"), lost.column("outcome"), lost.column("lost_s"));
    let (scheduled, ready) = (lost.column("replacement_scheduled_s"), lost.column("replacement_ready_s"));
    let mut to_bound = Vec::new();
    let mut to_ready = Vec::new();
    let mut lost_count = 0usize;
    let waited_for = lost.rows().filter(|row| is_true(row, taken_away) && WAITED_FOR.contains(&text(row, outcome)));
    for row in waited_for {
        let Some(from) = maybe_number(row, from) else { continue };
        lost_count += 1;
        // The other may be there before the deletion of the pod that it comes for has been asked for.
        to_bound.extend(maybe_number(row, scheduled).map(|at| (at - from).max(0.0)));
        to_ready.extend(maybe_number(row, ready).map(|at| (at - from).max(0.0)));
    }
    if lost_count == 0 {
        return None;
    }
    let longest = to_bound.iter().chain(&to_ready).copied().fold(0.0, f64::max);
    style::canvas((1100, 420), &tables.caption, |area| {
        let pods = counted(lost_count, "pod", "pods");
        let title = format!("Until another was bound and Ready: {pods} taken away");
        let curves = [(&mut to_bound, "bound", WARN), (&mut to_ready, "Ready", CALM)];
        let curves = curves.map(|(values, name, color)| (name.to_owned(), (ecdf(values, lost_count, longest), color)));
        let curves = style::told_apart(curves, |a, b| a.0 == b.0);
        let entries: Vec<(&str, RGBColor)> =
            curves.iter().map(|(names, (_, color))| (names.as_str(), *color)).collect();
        let area = style::header(area, &title, &entries)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(px(10))
            .margin_right(px(26))
            .x_label_area_size(px(36))
            .y_label_area_size(px(52))
            .build_cartesian_2d(MarkedAxis::length(longest), 0.0..1.02)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .axis_style(DIM.stroke_width(px(1)))
            .label_style(font(11))
            .axis_desc_style(font(11))
            .x_desc("seconds since the pod was taken away")
            .y_desc("share of pods")
            .x_labels(style::TIME_LABELS_MAX)
            .x_label_formatter(&|at| style::plain(*at))
            .y_label_formatter(&|share| format!("{:.0} %", share * 100.0))
            .draw()?;
        let count = curves.len();
        for (index, (_, (curve, color))) in curves.into_iter().enumerate() {
            chart.draw_series(LineSeries::new(curve, color.stroke_width(style::line_width(index, count))))?;
        }
        Ok(())
    })
}

/// The empirical distribution; pods for which none got there keep it below one.
fn ecdf(values: &mut [f64], of: usize, top: f64) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let samples: Vec<(f64, f64)> = std::iter::once((0.0, 0.0))
        .chain(values.iter().enumerate().map(|(index, value)| (*value, (index + 1) as f64 / of as f64)))
        .collect();
    style::steps(&samples, top)
}
