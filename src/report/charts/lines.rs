//! Lines over time, with fault bands behind them and a legend: the panel that several charts share.

use plotters::prelude::*;

use super::Tables;
use super::style::{self, BAD, DIM, FAINT, MarkedAxis, font, px};

/// A line: its name, its samples, which hold until the next one (what is not a number is a gap), and its color.
pub(super) type Line = (String, Vec<(f64, f64)>, RGBColor);

/// A panel of lines.
pub(super) struct Lines<'a> {
    pub(super) title: &'a str,
    pub(super) lines: Vec<Line>,
    /// Upper end of the value axis.
    pub(super) top: f64,
    /// What values are called; empty to leave it out.
    pub(super) unit: &'a str,
    pub(super) label: fn(f64) -> String,
    /// A value that must not be exceeded.
    pub(super) limit: Option<f64>,
}

impl Lines<'_> {
    pub(super) fn draw(&self, area: &style::Area<'_>, tables: &Tables) -> Result<(), Box<dyn std::error::Error>> {
        let lines = told_apart(&self.lines);
        let entries: Vec<(&str, RGBColor)> =
            lines.iter().map(|(names, (.., color))| (names.as_str(), *color)).collect();
        let area = style::header(area, self.title, &entries)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(px(10))
            .margin_top(px(4) + style::names_height(tables))
            .margin_right(px(26))
            .x_label_area_size(px(26))
            .y_label_area_size(px(46))
            .build_cartesian_2d(MarkedAxis::time(tables.end_s), 0.0..self.top)?;
        style::draw_faults(&mut chart, tables, self.top)?;
        style::draw_actions(&mut chart, tables, self.top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .axis_style(DIM.stroke_width(px(1)))
            .label_style(font(11))
            .set_tick_mark_size(LabelAreaPosition::Bottom, px(7))
            .y_desc(self.unit)
            .axis_desc_style(font(11))
            .x_labels(style::TIME_LABELS_MAX)
            .y_labels(5)
            .x_label_formatter(&|at| style::moment(*at, tables.end_s))
            .y_label_formatter(&|value| (self.label)(*value))
            .draw()?;
        if let Some(limit) = self.limit {
            let line = [(0.0, limit), (tables.end_s, limit)];
            chart.draw_series(LineSeries::new(line, BAD.mix(0.6).stroke_width(px(1))))?;
        }
        for (index, (_, (_, samples, color))) in lines.iter().enumerate() {
            let stroke = color.stroke_width(style::line_width(index, lines.len()));
            for (stretch, end_s) in style::stretches(samples, tables.end_s) {
                chart.draw_series(LineSeries::new(style::within(style::steps(stretch, end_s), self.top), stroke))?;
            }
        }
        Ok(())
    }
}

/// Lines that lie on each other as one that has the names of all.
fn told_apart(lines: &[Line]) -> Vec<(String, &Line)> {
    let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    let is_same = |(_, a, _): &Line, (_, b, _): &Line| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a.0, b.0) && same(a.1, b.1))
    };
    style::told_apart(lines.iter().map(|line| (line.0.clone(), line)), |a, b| is_same(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_coincide_are_one_with_all_names() {
        let line = |name: &str, value: f64| (name.to_owned(), vec![(0.0, value), (1.0, f64::NAN)], BAD);
        let lines = [line("a", 1.0), line("b", 2.0), line("c", 1.0)];
        let apart = told_apart(&lines);
        let names: Vec<&str> = apart.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["a, c", "b"]);
    }
}
