//! The charts of a forecast: who loses how much, what the changes bring one after the other, and the worst incidents.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{self, BAD, CALM, DIM, FAINT, GOOD, INK, font, px};
use crate::units::grouped;

/// More bars than this cannot be read.
const BARS_MAX: usize = 20;

/// More characters of a name are not shown.
const LABEL_MAX: usize = 56;

/// What the charts of a forecast show.
#[derive(Clone, Debug, Default)]
pub struct ForecastChart {
    /// Name of the forecast.
    pub title: String,
    /// Of which forecast it is, and of which seed.
    pub caption: String,
    /// Minutes of lost traffic a year, of each service and workload that loses any.
    pub units: Vec<ForecastBar>,
    /// Minutes a year of all of them: as it is, and with one change after the other.
    pub steps: Vec<ForecastBar>,
    /// Minutes that each incident costs all of them.
    pub incidents: Vec<ForecastBar>,
}

/// A value with its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForecastBar {
    /// What it is of.
    pub label: String,
    /// The value.
    pub mean: f64,
    /// The ends of its interval; none if it has none, or nobody knows them.
    pub interval: Option<(f64, f64)>,
}

pub(super) const FILES: [&str; 3] = ["lost-traffic.svg", "changes.svg", "incidents.svg"];

/// Draws them: file name and SVG text. What has nothing to show is left out.
#[must_use]
pub fn draw_forecast_charts(chart: &ForecastChart) -> Vec<(&'static str, String)> {
    let ForecastChart { title, caption, units, steps, incidents } = chart;
    let shown = |bars: &[ForecastBar], one: &str| {
        let all = bars.len();
        if all > BARS_MAX { format!(" (the worst {BARS_MAX} of {all} {one})") } else { String::new() }
    };
    let first = BarChart {
        title: format!("{title}: who loses traffic{}", shown(units, "services and workloads")),
        axis: "minutes of lost traffic a year, mean with its interval",
        bars: units,
        color: |_| CALM,
    };
    let second = BarChart {
        title: format!("{title}: the changes one after the other"),
        axis: "minutes a year of lost traffic, and of planned work that waits in vain, mean with its interval",
        bars: if steps.len() > 1 { steps } else { &[] },
        color: |at| if at == 0 { BAD } else { GOOD },
    };
    let third = BarChart {
        title: format!("{title}: the worst incidents{}", shown(incidents, "incidents")),
        axis: "minutes lost by all services and workloads together",
        bars: incidents,
        color: |_| BAD,
    };
    let all = FILES.into_iter().zip([first, second, third]);
    all.filter_map(|(file, bars)| Some((file, bars.draw(caption)?))).collect()
}

/// Bars with their names to the left, from above.
struct BarChart<'a> {
    title: String,
    axis: &'static str,
    bars: &'a [ForecastBar],
    /// By position.
    color: fn(usize) -> RGBColor,
}

impl BarChart<'_> {
    /// None if there is nothing to show.
    fn draw(&self, caption: &str) -> Option<String> {
        let bars = &self.bars[..self.bars.len().min(BARS_MAX)];
        let is_drawable = |value: f64| value.is_finite() && value.abs() < 1e12;
        let ends = bars.iter().flat_map(|bar| [bar.mean, bar.interval.map_or(bar.mean, |(_, high)| high)]);
        let highest = ends.filter(|value| is_drawable(*value)).fold(0.0, f64::max);
        if bars.is_empty() || bars.iter().any(|bar| !is_drawable(bar.mean)) || highest <= 0.0 {
            return None;
        }
        let count = bars.len() as f64;
        let names: Vec<String> = bars.iter().map(|bar| shortened(&bar.label)).collect();
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as u32;
        // The lowest bar has the position 0.
        let at = |index: usize| count - 1.0 - index as f64;
        style::canvas((1100, 110 + 24 * bars.len() as u32), caption, |area| {
            let area = style::header(area, &self.title, &[])?;
            let mut plot = ChartBuilder::on(&area)
                .margin(px(10))
                .margin_right(px(96))
                .x_label_area_size(px(40))
                .y_label_area_size(px(longest * 7 + 12))
                .build_cartesian_2d(0.0..style::ceiling(highest), -0.5..count - 0.5)?;
            plot.configure_mesh()
                .disable_y_mesh()
                .light_line_style(WHITE)
                .bold_line_style(FAINT)
                .axis_style(DIM.stroke_width(px(1)))
                .label_style(font(11))
                .axis_desc_style(font(11))
                .x_desc(self.axis)
                .x_labels(8)
                .y_labels(0)
                .x_label_formatter(&|value| if highest < 10.0 { format!("{value:.1}") } else { whole(*value) })
                .draw()?;
            for (index, (bar, name)) in bars.iter().zip(&names).enumerate() {
                let (y, color) = (at(index), (self.color)(index));
                let end = bar.mean.max(0.0);
                plot.draw_series([Rectangle::new([(0.0, y - 0.32), (end, y + 0.32)], color.mix(0.75).filled())])?;
                let known = bar.interval.filter(|(low, high)| is_drawable(*low) && is_drawable(*high));
                if let Some((low, high)) = known {
                    plot.draw_series([PathElement::new([(low.max(0.0), y), (high, y)], INK.stroke_width(px(1)))])?;
                }
                let reach = known.map_or(end, |(_, high)| high.max(end));
                let value = if bar.mean < 10.0 { format!("{:.1}", bar.mean) } else { whole(bar.mean) };
                let beside = |side| font(11).pos(Pos::new(side, VPos::Center));
                let behind = Text::new(value, (px(6) as i32, 0), beside(HPos::Left));
                let before = Text::new(name.clone(), (-(px(8) as i32), 0), beside(HPos::Right));
                plot.draw_series([EmptyElement::at((reach, y)) + behind])?;
                plot.draw_series([EmptyElement::at((0.0, y)) + before])?;
            }
            Ok(())
        })
    }
}

/// A number on a chart, rounded.
fn whole(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(value.abs().round() as u64))
}

/// A name whose middle is left out if it is too long: its ends tell most.
fn shortened(label: &str) -> String {
    let count = label.chars().count();
    if count <= LABEL_MAX {
        return label.to_owned();
    }
    let half = LABEL_MAX / 2;
    let (first, last) = (label.chars().take(half), label.chars().skip(count - half + 1));
    first.chain(['…']).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, mean: f64) -> ForecastBar {
        ForecastBar { label: label.to_owned(), mean, interval: Some((mean - 1.0, mean + 1.0)) }
    }

    #[test]
    fn what_has_nothing_to_show_is_not_drawn_and_names_stay_text() {
        let drawn =
            |chart: &ForecastChart| -> Vec<&str> { draw_forecast_charts(chart).iter().map(|of| of.0).collect() };
        assert!(drawn(&ForecastChart::default()).is_empty());
        let mut chart = ForecastChart { units: vec![bar("<b>&\u{202e}", 12.0)], ..ForecastChart::default() };
        let svg = &draw_forecast_charts(&chart)[0].1;
        assert!(svg.contains("&lt;b&gt;&amp;\u{fffd}") && !svg.contains("<b>"), "{svg}");
        chart.units.push(bar("odd", f64::NAN));
        assert!(drawn(&chart).is_empty());
        chart = ForecastChart { steps: vec![bar("as it is", 5.0), bar("+ replicas", 0.0)], ..ForecastChart::default() };
        assert_eq!(drawn(&chart), ["changes.svg"]);
    }

    #[test]
    fn more_bars_than_can_be_read_are_counted() {
        let units = (0..30).map(|index| bar(&format!("unit-{index}"), 30.0 - f64::from(index))).collect();
        let svg = &draw_forecast_charts(&ForecastChart { units, ..ForecastChart::default() })[0].1;
        assert!(svg.contains("the worst 20 of 30") && svg.contains("unit-19") && !svg.contains("unit-20"));
    }
}
