//! The charts of a sensitivity analysis: how large the effect of each input is, and how much it differs from place to place.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{self, BAD, CALM, DIM, FAINT, font, px};

/// What the charts of a sensitivity analysis show.
#[derive(Clone, Debug, Default)]
pub struct SensitivityChart {
    /// Name of the study.
    pub title: String,
    /// Of which study it is, and which seeds were played.
    pub caption: String,
    /// Effects on what the baseline costs.
    pub on_cost: Vec<EffectPoint>,
    /// Effects on what the other variant saves.
    pub on_saving: Vec<EffectPoint>,
}

/// The effect of one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectPoint {
    /// The input.
    pub label: String,
    /// The mean size of its effect.
    pub mu_star: f64,
    /// How much it differs from place to place.
    pub sigma: f64,
    /// What the size would be on average of chance alone; none if that is not known.
    pub noise: Option<f64>,
    /// Whether there is an effect as far as the runs tell.
    pub is_told: bool,
}

pub(super) const FILES: [&str; 2] = ["effects-on-saving.svg", "effects-on-cost.svg"];

/// More names cannot be read.
const NAMED_MAX: usize = 30;

/// Draws them: file name and SVG text. What has nothing to show is left out.
#[must_use]
pub fn draw_sensitivity_charts(chart: &SensitivityChart) -> Vec<(&'static str, String)> {
    let SensitivityChart { title, caption, on_cost, on_saving } = chart;
    let saving = draw(&format!("{title}: what the saving rests on"), caption, on_saving);
    let cost = draw(&format!("{title}: what the baseline's cost rests on"), caption, on_cost);
    FILES.into_iter().zip([saving, cost]).filter_map(|(file, drawn)| Some((file, drawn?))).collect()
}

/// Each input at the size of its effect and at its deviation. Effects that are as large everywhere lie on the floor; above the broken line
/// lies what differs more from place to place than it is large.
fn draw(title: &str, caption: &str, effects: &[EffectPoint]) -> Option<String> {
    let is_drawable = |value: f64| value.is_finite() && value.abs() < 1e12;
    let all = || effects.iter().filter(|of| is_drawable(of.mu_star) && is_drawable(of.sigma));
    let noise = |of: &EffectPoint| of.noise.filter(|noise| is_drawable(*noise)).unwrap_or(0.0);
    let widest = all().map(|of| of.mu_star.max(noise(of))).fold(0.0, f64::max);
    let highest = all().map(|of| of.sigma).fold(0.0, f64::max);
    if widest <= 0.0 {
        return None;
    }
    let (right, top) = (style::ceiling(widest * 1.15), style::ceiling((highest * 1.1).max(widest / 4.0)));
    let entries = [("told", CALM), ("not told", DIM), ("what chance alone makes of it", BAD)];
    style::canvas((900, 480), caption, |area| {
        let area = style::header(area, title, &entries)?;
        let mut plot = ChartBuilder::on(&area)
            .margin(px(10))
            .margin_right(px(120))
            .x_label_area_size(px(40))
            .y_label_area_size(px(64))
            .build_cartesian_2d(0.0..right, 0.0..top)?;
        plot.configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .axis_style(DIM.stroke_width(px(1)))
            .label_style(font(11))
            .axis_desc_style(font(11))
            .x_desc("μ*: mean size of the effect, in cost a run")
            .y_desc("σ: how much it differs from place to place")
            .x_labels(8)
            .y_labels(6)
            .x_label_formatter(&|value| style::plain(*value))
            .y_label_formatter(&|value| style::plain(*value))
            .draw()?;
        let end = right.min(top);
        plot.draw_series(DashedLineSeries::new([(0.0, 0.0), (end, end)], px(4), px(4), DIM.stroke_width(px(1))))?;
        for of in all() {
            let (color, at) = (if of.is_told { CALM } else { DIM }, (of.mu_star, of.sigma));
            // A bar from nothing to what chance makes of no effect.
            let bar = [(0.0, of.sigma), (noise(of), of.sigma)];
            plot.draw_series([PathElement::new(bar, BAD.mix(0.5).stroke_width(px(2)))])?;
            plot.draw_series([Circle::new(at, px(4), color.filled())])?;
        }
        let named = font(11).pos(Pos::new(HPos::Left, VPos::Center));
        for (at, label) in labels(all(), (right, top)) {
            let beside = EmptyElement::at(at) + Text::new(label, (px(8) as i32, -(px(8) as i32)), named.clone());
            plot.draw_series([beside])?;
        }
        Ok(())
    })
}

/// The names of points, those of points that lie on each other as one.
fn labels<'a>(effects: impl Iterator<Item = &'a EffectPoint>, (right, top): (f64, f64)) -> Vec<((f64, f64), String)> {
    /// Points closer than these shares of the axes have one name.
    const NEAR: (f64, f64) = (0.08, 0.04);
    let mut found: Vec<((f64, f64), Vec<&str>)> = Vec::new();
    for of in effects.take(NAMED_MAX) {
        let at = (of.mu_star, of.sigma);
        let is_near =
            |other: &(f64, f64)| (other.0 - at.0).abs() < NEAR.0 * right && (other.1 - at.1).abs() < NEAR.1 * top;
        match found.iter_mut().find(|(other, _)| is_near(other)) {
            Some((other, names)) => {
                other.0 = other.0.max(at.0);
                names.push(&of.label);
            }
            None => found.push((at, vec![&of.label])),
        }
    }
    found.into_iter().map(|(at, names)| (at, names.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_that_lie_on_each_other_have_one_name() {
        let point = |label: &str, mu_star: f64, sigma: f64| EffectPoint {
            label: label.to_owned(),
            mu_star,
            sigma,
            ..EffectPoint::default()
        };
        let effects = [point("a", 0.0, 0.0), point("b", 100.0, 50.0), point("c", 1.0, 0.5)];
        let found = labels(effects.iter(), (120.0, 60.0));
        assert_eq!(found, [((1.0, 0.0), "a, c".to_owned()), ((100.0, 50.0), "b".to_owned())]);
        let chart = SensitivityChart { on_saving: effects.to_vec(), ..SensitivityChart::default() };
        let drawn = draw_sensitivity_charts(&chart);
        assert_eq!(drawn.iter().map(|(file, _)| *file).collect::<Vec<_>>(), ["effects-on-saving.svg"]);
        assert!(drawn[0].1.contains("a, c"));
    }
}
