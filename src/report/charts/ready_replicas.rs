//! Ready replicas against wanted ones: a panel for each of the workloads that suffered most.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::style::{self, BAD, CALM, DIM, FAINT, MarkedAxis, font, px};
use super::{Chart, Tables};
use crate::report::table::{number, text};

const PANELS_MAX: usize = 12;

struct Workload {
    name: String,
    desired: Vec<(f64, f64)>,
    ready: Vec<(f64, f64)>,
}

fn workloads(tables: &Tables) -> Vec<Workload> {
    let table = &tables.workloads;
    let (at, namespace, kind) = (table.column("time_s"), table.column("namespace"), table.column("kind"));
    let (name, desired, ready) = (table.column("name"), table.column("desired"), table.column("ready"));
    let mut by_name: BTreeMap<String, Workload> = BTreeMap::new();
    for row in table.rows() {
        if matches!(text(row, kind), "Job" | "CronJob") {
            continue;
        }
        let key = format!("{}/{}/{}", text(row, kind).to_ascii_lowercase(), text(row, namespace), text(row, name));
        let workload = by_name.entry(key.clone()).or_insert_with(|| Workload {
            name: key,
            desired: Vec::new(),
            ready: Vec::new(),
        });
        workload.desired.push((number(row, at), number(row, desired)));
        workload.ready.push((number(row, at), number(row, ready)));
    }
    let mut workloads: Vec<Workload> = by_name.into_values().collect();
    // As the summary has them; runs of earlier versions have no such order.
    let place = |name: &str| tables.worst_first.iter().position(|(of, _)| of == name).unwrap_or(usize::MAX);
    workloads.sort_by_cached_key(|workload| place(&workload.name));
    workloads
}

pub(super) const CHART: Chart = Chart { file: "ready-replicas.svg", draw, otherwise: "there was no workload" };

fn draw(tables: &Tables) -> Option<String> {
    let all = workloads(tables);
    if all.is_empty() {
        return None;
    }
    let hurt = tables.worst_first.iter().filter(|(_, was_short)| *was_short).count();
    let shown = &all[..all.len().min(PANELS_MAX)];
    let columns = if shown.len() > 1 { 2 } else { 1 };
    let lines = shown.len().div_ceil(columns) as u32;
    let panel_height = 150 + style::names_height(tables) / px(1);
    style::canvas((1100, 64 + lines * panel_height), &tables.caption, |area| {
        let title = format!(
            "Ready replicas against wanted: {hurt} of {} workloads were short, the worst first",
            tables.worst_first.len()
        );
        area.draw(&Text::new(title, (px(16) as i32, px(12) as i32), font(18)))?;
        let legend = "blue: ready; gray line: wanted; red: missing; yellow: fault on (a strip at the top, if for most of the run); dashed: \
                      what somebody did";
        area.draw(&Text::new(legend, (px(16) as i32, px(36) as i32), font(11)))?;
        let (_, body) = area.split_vertically(px(56));
        for (panel, workload) in body.split_evenly((lines as usize, columns)).iter().zip(shown) {
            draw_panel(panel, workload, tables)?;
        }
        Ok(())
    })
}

/// Pixels below which a shortage would be nothing but the edges of a curve, and how wide one is at least.
const THIN: f64 = 4.0;
const THINNEST: f64 = 2.0;

/// Shortages that are so thin that their edges would hide them, as bars that are seen all the same, and as wide as can be seen in a long run.
fn thin_shortages(workload: &Workload, end_s: f64, pixel_s: f64) -> Vec<[(f64, f64); 2]> {
    let mut found = Vec::new();
    // Since when it is short, and how many are ready and wanted at the worst.
    let mut open: Option<(f64, f64, f64)> = None;
    let rows = workload.desired.iter().zip(&workload.ready).map(|(desired, ready)| (desired.0, ready.1, desired.1));
    for (at_s, ready, desired) in rows.chain([(end_s, 0.0, 0.0)]) {
        if ready < desired {
            let (from_s, fewest, most) = open.unwrap_or((at_s, ready, desired));
            open = Some((from_s, fewest.min(ready), most.max(desired)));
        } else if let Some((from_s, fewest, most)) = open.take()
            && at_s > from_s
            && at_s - from_s < THIN * pixel_s
        {
            let to_s = at_s.max(from_s + THINNEST * pixel_s).min(end_s);
            found.push([(from_s.min(to_s - THINNEST * pixel_s).max(0.0), fewest), (to_s, most)]);
        }
    }
    found
}

fn draw_panel(panel: &style::Area<'_>, workload: &Workload, tables: &Tables) -> Result<(), Box<dyn std::error::Error>> {
    let max = workload.desired.iter().chain(&workload.ready).map(|s| s.1).fold(1.0, f64::max);
    let top = style::ceiling(max);
    let body = panel.titled(&workload.name, font(13))?;
    let mut chart = ChartBuilder::on(&body)
        .margin(px(6))
        .margin_top(px(2) + style::names_height(tables))
        .margin_right(px(26))
        .x_label_area_size(px(22))
        .y_label_area_size(px(34))
        .build_cartesian_2d(MarkedAxis::time(tables.end_s), MarkedAxis::count(max))?;
    style::draw_faults(&mut chart, tables, top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .axis_style(DIM.stroke_width(px(1)))
        .label_style(font(10))
        .set_tick_mark_size(LabelAreaPosition::Bottom, px(4))
        .x_labels(style::TIME_LABELS_MAX)
        .y_labels(5)
        .x_label_formatter(&|at| style::moment(*at, tables.end_s))
        .y_label_formatter(&|value| style::whole(*value))
        .draw()?;
    let desired = style::within(style::steps(&workload.desired, tables.end_s), top);
    let ready = style::within(style::steps(&workload.ready, tables.end_s), top);
    chart.draw_series(AreaSeries::new(desired.iter().copied(), 0.0, BAD.mix(0.35)))?;
    chart.draw_series(AreaSeries::new(ready.iter().copied(), 0.0, WHITE))?;
    chart.draw_series(AreaSeries::new(ready.iter().copied(), 0.0, CALM.mix(0.45)))?;
    // What is filled would cover them.
    style::draw_actions(&mut chart, tables, top)?;
    let pixel_s = tables.end_s / f64::from(chart.plotting_area().dim_in_pixel().0.max(1)) * f64::from(px(1));
    // One missing of many is to be seen as well.
    let least = THINNEST * top / f64::from(chart.plotting_area().dim_in_pixel().1.max(1)) * f64::from(px(1));
    let thin = thin_shortages(workload, tables.end_s, pixel_s);
    let thin = thin.into_iter().map(|[(from_s, fewest), to]| [(from_s, fewest.min(to.1 - least).max(0.0)), to]);
    chart.draw_series(LineSeries::new(ready, CALM.stroke_width(px(1))))?;
    chart.draw_series(thin.map(|corners| Rectangle::new(corners, BAD.filled())))?;
    chart.draw_series(LineSeries::new(desired, DIM.stroke_width(px(1))))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thin_shortage_is_as_wide_as_can_be_seen() {
        let workload = Workload {
            name: "w".to_owned(),
            desired: [0.0, 100.0, 101.0, 103.0, 200.0, 235.0, 500.0, 501.0].map(|at| (at, 3.0)).to_vec(),
            // A moment in the middle of a long shortage is no short one.
            ready: [0.0, 100.0, 101.0, 103.0, 200.0, 235.0, 500.0, 501.0]
                .into_iter()
                .zip([3.0, 2.0, 1.0, 3.0, 2.0, 3.0, 2.0, 1.0])
                .collect(),
        };
        let expected = [[(100.0, 1.0), (120.0, 3.0)], [(200.0, 2.0), (235.0, 3.0)]];
        assert_eq!(thin_shortages(&workload, 1000.0, 10.0), expected);
        // At the end of the run there is no room behind it.
        let last = Workload {
            name: "w".to_owned(),
            desired: vec![(0.0, 3.0), (995.0, 3.0), (999.0, 3.0)],
            ready: vec![(0.0, 3.0), (995.0, 2.0), (999.0, 3.0)],
        };
        assert_eq!(thin_shortages(&last, 1000.0, 10.0), [[(980.0, 2.0), (1000.0, 3.0)]]);
    }
}
