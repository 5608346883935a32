//! Pods in trouble over time, and evictions as they add up.

use plotters::prelude::*;

use super::Tables;
use super::style::{self, BAD, CALM, DIM, FAINT, MarkedAxis, WARN, font, px};
use crate::report::tables::number;

pub(super) fn draw(tables: &Tables) -> Option<String> {
    if tables.cluster.is_empty() {
        return None;
    }
    let series = |name: &str| -> Vec<(f64, f64)> {
        let (at, column) = (tables.cluster.column("time_s"), tables.cluster.column(name));
        tables.cluster.rows().map(|row| (number(row, at), number(row, column))).collect()
    };
    let not_ready: Vec<(f64, f64)> = {
        let running = series("pods_running");
        let ready = series("pods_ready");
        running.iter().zip(ready).map(|(a, b)| (a.0, a.1 - b.1)).collect()
    };
    let now = [
        ("Pending", series("pods_pending"), WARN),
        ("Running, not Ready", not_ready, BAD),
        ("Terminating", series("pods_terminating"), CALM),
    ];
    let sums = [("evicted", series("evictions"), BAD), ("preempted", series("preemptions"), WARN)];
    style::canvas(1100, 560, |area| {
        let (upper, lower) = area.split_vertically(px(330));
        panel(&upper, "Pods pending, not ready and terminating", &now, tables)?;
        panel(&lower, "Pods taken away so far", &sums, tables)
    })
}

type Series<'a> = (&'a str, Vec<(f64, f64)>, RGBColor);

fn panel(
    area: &style::Area<'_>,
    title: &str,
    series: &[Series<'_>],
    tables: &Tables,
) -> Result<(), Box<dyn std::error::Error>> {
    let top = style::ceiling(series.iter().flat_map(|s| &s.1).map(|s| s.1).fold(0.0, f64::max));
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
        .y_desc("pods")
        .axis_desc_style(font(11))
        .x_labels(style::TIME_LABELS_MAX)
        .y_labels(5)
        .x_label_formatter(&|at| style::moment(*at, tables.end_s))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .draw()?;
    for (name, samples, color) in series {
        let color = *color;
        chart
            .draw_series(LineSeries::new(style::steps(samples, tables.end_s), color.stroke_width(px(2))))?
            .label(*name)
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
