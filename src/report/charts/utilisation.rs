//! Requested against allocatable, per zone: how much room a zone had when another one's pods came.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::Tables;
use super::style::{self, BAD, DIM, FAINT, MarkedAxis, SERIES, font, px};
use crate::report::tables::{number, text};

pub(super) fn draw(tables: &Tables) -> Option<String> {
    if tables.zones.is_empty() {
        return None;
    }
    style::canvas(1100, 600, |area| {
        let (upper, lower) = area.split_vertically(px(300));
        panel(&upper, "CPU requested, share of what Ready nodes offer", "cpu_milli", tables)?;
        panel(&lower, "Memory requested, share of what Ready nodes offer", "memory_bytes", tables)
    })
}

fn shares(tables: &Tables, resource: &str) -> BTreeMap<String, Vec<(f64, f64)>> {
    let table = &tables.zones;
    let (at, zone) = (table.column("time_s"), table.column("zone"));
    let requested = table.column(&format!("requested_{resource}"));
    let allocatable = table.column(&format!("allocatable_{resource}"));
    let mut by_zone: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in table.rows() {
        let offered = number(row, allocatable);
        let share = if offered > 0.0 { (number(row, requested) / offered).min(1.5) } else { 0.0 };
        let name = if text(row, zone).is_empty() { "no zone" } else { text(row, zone) };
        by_zone.entry(name.to_owned()).or_default().push((number(row, at), share));
    }
    by_zone
}

fn panel(
    area: &style::Area<'_>,
    title: &str,
    resource: &str,
    tables: &Tables,
) -> Result<(), Box<dyn std::error::Error>> {
    let zones = shares(tables, resource);
    let top = zones.values().flatten().map(|s| s.1).fold(1.0, f64::max) * 1.04;
    let mut chart = ChartBuilder::on(area)
        .caption(title, font(18))
        .margin(px(10))
        .margin_right(px(26))
        .x_label_area_size(px(26))
        .y_label_area_size(px(46))
        .build_cartesian_2d(MarkedAxis::time(tables.end_s), 0.0..top)?;
    chart.draw_series(style::bands(&tables.faults, top))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .axis_style(DIM.stroke_width(px(1)))
        .label_style(font(11))
        .x_labels(style::TIME_LABELS_MAX)
        .y_labels(5)
        .x_label_formatter(&|at| style::moment(*at, tables.end_s))
        .y_label_formatter(&|share| format!("{:.0} %", share * 100.0))
        .draw()?;
    let full = [(0.0, 1.0), (tables.end_s, 1.0)];
    chart.draw_series(LineSeries::new(full, BAD.mix(0.6).stroke_width(px(1))))?;
    for (index, (zone, samples)) in zones.iter().enumerate() {
        let color = SERIES[index % SERIES.len()];
        chart
            .draw_series(LineSeries::new(style::steps(samples, tables.end_s), color.stroke_width(px(2))))?
            .label(zone.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + px(18) as i32, y)], color.stroke_width(px(2))));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(FAINT)
        .label_font(font(11))
        .legend_area_size(px(24))
        .margin(px(6))
        .draw()?;
    Ok(())
}
