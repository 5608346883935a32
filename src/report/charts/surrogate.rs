//! The chart of a search: what is predicted along each range, with what was played.

use plotters::prelude::*;

use super::style::{self, BAD, CALM, DIM, FAINT, INK, MarkedAxis, font, px};

/// What is predicted along one range, the others being those of the best point.
#[derive(Clone, Debug, Default)]
pub struct SurrogateCurve {
    /// The name of the range.
    pub along: String,
    /// The values of the others.
    pub at: String,
    /// Its values.
    pub labels: Vec<String>,
    /// Where they lie between its ends: 0 to 1.
    pub places: Vec<f64>,
    /// Mean, low and high of what is predicted to be paid more than for the baseline.
    pub predicted: Vec<(f64, f64, f64)>,
    /// What the runs say, where the point was played.
    pub observed: Vec<Option<f64>>,
    /// Position of the cheapest of the values that were played.
    pub best: Option<usize>,
}

pub(super) const FILE: &str = "surrogate.svg";

/// Names of values that find room below a curve.
const NAMED_MAX: usize = 12;

/// A picture for each range, one below the other; none if nothing is searched.
pub(super) fn draw(title: &str, caption: &str, curves: &[SurrogateCurve]) -> Option<String> {
    let curves: Vec<&SurrogateCurve> = curves.iter().filter(|curve| curve.labels.len() > 1).collect();
    if curves.is_empty() {
        return None;
    }
    let entries = [("predicted, with its interval", CALM), ("played", INK), ("cheapest that was played", BAD)];
    style::canvas((1100, 60 + 300 * curves.len() as u32), caption, |area| {
        let area = style::header(area, &format!("{title}: cost a run against the baseline"), &entries)?;
        for (curve, area) in curves.iter().zip(area.split_evenly((curves.len(), 1))) {
            draw_one(curve, &area)?;
        }
        Ok(())
    })
}

fn draw_one(curve: &SurrogateCurve, area: &style::Area<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let values = || curve.predicted.iter().flat_map(|of| [of.1, of.2]).chain(curve.observed.iter().copied().flatten());
    let (lowest, highest) = values().fold((0.0_f64, 0.0_f64), |ends, value| (ends.0.min(value), ends.1.max(value)));
    let step = style::ceiling((highest - lowest).max(1e-9) / 4.0);
    let (bottom, top) = ((lowest / step).floor() * step, (highest / step).ceil() * step);
    let along = if curve.at.is_empty() { curve.along.clone() } else { format!("{}, with {}", curve.along, curve.at) };
    let mut plot = ChartBuilder::on(area)
        .margin(px(10))
        .margin_right(px(40))
        .x_label_area_size(px(44))
        .y_label_area_size(px(74))
        .build_cartesian_2d(MarkedAxis::between(-0.02, 1.02, named(curve)), bottom..top)?;
    let label = |place: &f64| {
        let found = curve.places.iter().position(|at| (at - place).abs() < 1e-9);
        found.map_or_else(String::new, |at| curve.labels[at].clone())
    };
    plot.configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .axis_style(DIM.stroke_width(px(1)))
        .label_style(font(11))
        .axis_desc_style(font(11))
        .x_desc(along)
        .y_desc("cost more than the baseline")
        .x_labels(NAMED_MAX)
        .y_labels(6)
        .x_label_formatter(&label)
        .y_label_formatter(&|value| style::plain(*value))
        .draw()?;
    let at = || curve.places.iter().copied().zip(&curve.predicted);
    let upper = at().map(|(place, of)| (place, of.2));
    let lower: Vec<(f64, f64)> = at().map(|(place, of)| (place, of.1)).collect();
    let band: Vec<(f64, f64)> = upper.chain(lower.into_iter().rev()).collect();
    plot.draw_series([Polygon::new(band, CALM.mix(0.15).filled())])?;
    plot.draw_series([PathElement::new([(0.0, 0.0), (1.0, 0.0)], DIM.stroke_width(px(1)))])?;
    plot.draw_series(LineSeries::new(at().map(|(place, of)| (place, of.0)), CALM.stroke_width(px(2))))?;
    let played = curve.places.iter().zip(&curve.observed).filter_map(|(place, of)| Some((*place, (*of)?)));
    plot.draw_series(played.map(|point| Circle::new(point, px(4), INK.filled())))?;
    let best = curve.best.and_then(|best| Some((curve.places[best], curve.observed[best]?)));
    plot.draw_series(best.map(|point| Circle::new(point, px(7), BAD.stroke_width(px(2)))))?;
    Ok(())
}

/// The places whose values are named: about evenly spread, both ends among them.
fn named(curve: &SurrogateCurve) -> Vec<f64> {
    let mut named: Vec<f64> = Vec::new();
    let last = curve.places.len() - 1;
    for (index, place) in curve.places.iter().enumerate() {
        let has_room = named.last().is_none_or(|before| place - before >= 1.0 / NAMED_MAX as f64);
        let leaves_room = index == last || 1.0 - place >= 0.8 / NAMED_MAX as f64;
        if index == last || has_room && leaves_room {
            named.push(*place);
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_named_where_there_is_room_and_at_both_ends() {
        let curve = SurrogateCurve {
            along: "wait".into(),
            labels: (0..61).map(|at| (at * 10).to_string()).collect(),
            places: (0..61).map(|at| f64::from(at) / 60.0).collect(),
            predicted: vec![(0.0, -1.0, 1.0); 61],
            observed: (0..61).map(|at| (at % 20 == 0).then_some(0.5)).collect(),
            best: Some(20),
            ..SurrogateCurve::default()
        };
        let named = named(&curve);
        assert!(named.len() <= NAMED_MAX + 1 && named[0] == 0.0 && named.last() == Some(&1.0), "{named:?}");
        let drawn = draw("s", "c", std::slice::from_ref(&curve)).expect("a chart");
        assert!(drawn.contains("\n600\n") && drawn.contains("\n310\n"), "{drawn}");
        assert!(draw("s", "c", &[]).is_none());
    }
}
