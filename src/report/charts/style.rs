//! What the charts share: canvas, colors, time axis, fault bands, stepped lines.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::diagnostics::is_active;

/// Charts are drawn this much larger and scaled down by the viewBox: the SVG backend rounds to whole pixels.
const SCALE: u32 = 4;

/// A stretch of time.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

/// A character as a chart shows it: one that XML does not have makes a file that nobody can open, and one that turns the direction of writing
/// would turn what is not of the name.
fn seen(c: char) -> char {
    if is_active(c) || matches!(c, '\u{fffe}' | '\u{ffff}') { char::REPLACEMENT_CHARACTER } else { c }
}

/// Overlapping spans as one, ascending.
pub(super) fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.from_s <= last.to_s => last.to_s = last.to_s.max(span.to_s),
            _ => out.push(span),
        }
    }
    out
}

pub(super) const INK: RGBColor = RGBColor(32, 38, 46);
pub(super) const FAINT: RGBColor = RGBColor(222, 226, 230);
pub(super) const FAULT: RGBColor = RGBColor(255, 214, 102);
/// Of lines of operators and procedures.
pub(super) const LINE: RGBColor = RGBColor(112, 118, 156);
pub(super) const GOOD: RGBColor = RGBColor(64, 145, 108);
pub(super) const BAD: RGBColor = RGBColor(208, 64, 56);
pub(super) const WARN: RGBColor = RGBColor(236, 136, 32);
pub(super) const CALM: RGBColor = RGBColor(58, 108, 176);
pub(super) const DIM: RGBColor = RGBColor(140, 148, 158);

/// Distinct colors for lines that have no meaning of their own.
pub(super) const SERIES: [RGBColor; 8] = [
    CALM,
    WARN,
    GOOD,
    RGBColor(134, 84, 160),
    BAD,
    RGBColor(0, 140, 150),
    RGBColor(150, 110, 60),
    RGBColor(220, 100, 160),
];

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A length in logical pixels.
pub(super) const fn px(pixels: u32) -> u32 {
    pixels * SCALE
}

/// A font of that size in logical pixels.
pub(super) fn font(size: u32) -> TextStyle<'static> {
    ("sans-serif", px(size)).into_font().color(&INK)
}

/// Draws on a canvas of `width` x `height` logical pixels, with `caption`, which says of what the chart is, at its foot, and returns
/// the SVG. None if drawing failed, which it does only for nonsensical ranges.
pub(super) fn canvas(
    (width, height): (u32, u32),
    caption: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), Box<dyn std::error::Error>>,
) -> Option<String> {
    const FOOT: u32 = 20;
    let height = height + FOOT;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (px(width), px(height))).into_drawing_area();
        area.fill(&WHITE).ok()?;
        let (body, foot) = area.split_vertically(px(height - FOOT));
        draw(&body).ok()?;
        let right = Pos::new(HPos::Right, VPos::Top);
        let style = font(10).color(&DIM).pos(right);
        foot.draw(&Text::new(caption.to_owned(), (px(width - 16) as i32, px(2) as i32), style)).ok()?;
        area.present().ok()?;
    }
    let (large_width, large_height) = (px(width), px(height));
    let svg: String = svg.chars().map(seen).collect();
    Some(svg.replacen(
        &format!("<svg width=\"{large_width}\" height=\"{large_height}\""),
        &format!("<svg width=\"{width}\" height=\"{height}\""),
        1,
    ))
}

/// A moment of the run for an axis: seconds, minutes, hours or days, whichever suits the length of the run.
pub(super) fn moment(at_s: f64, end_s: f64) -> String {
    let plain = |value: f64, unit: &str| {
        let rounded = (value * 10.0).round() / 10.0;
        if (rounded - rounded.round()).abs() < 0.05 {
            format!("{rounded:.0}{unit}")
        } else {
            format!("{rounded:.1}{unit}")
        }
    };
    match end_s {
        end if end <= 180.0 => plain(at_s, " s"),
        end if end <= 3.0 * 3600.0 => plain(at_s / 60.0, " min"),
        end if end <= 3.0 * 86_400.0 => plain(at_s / 3600.0, " h"),
        _ => plain(at_s / 86_400.0, " d"),
    }
}

/// A number without zeros that say nothing.
pub(super) fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// No time axis has more labels than this.
pub(super) const TIME_LABELS_MAX: usize = 12;

/// The moments at which a time axis of that length is labeled: round values of the unit that [`moment`] uses.
pub(super) fn time_marks(end_s: f64) -> Vec<f64> {
    const STEPS: [f64; 21] = [
        1.0,
        2.0,
        5.0,
        10.0,
        15.0,
        30.0,
        60.0,
        120.0,
        300.0,
        600.0,
        900.0,
        1800.0,
        3600.0,
        7200.0,
        10_800.0,
        21_600.0,
        43_200.0,
        86_400.0,
        172_800.0,
        604_800.0,
        2_592_000.0,
    ];
    let is_wide_enough = |step: &f64| end_s / step < TIME_LABELS_MAX as f64;
    let step =
        STEPS.into_iter().find(is_wide_enough).unwrap_or_else(|| (end_s / 8.0 / 2_592_000.0).ceil() * 2_592_000.0);
    (0..TIME_LABELS_MAX).map(|index| index as f64 * step).take_while(|at| *at <= end_s).collect()
}

/// An axis from zero that is labeled where it is told to.
pub(super) struct MarkedAxis {
    coordinate: RangedCoordf64,
    marks: Vec<f64>,
}

impl MarkedAxis {
    /// Time, for a run of that length.
    pub(super) fn time(end_s: f64) -> Self {
        Self { coordinate: (0.0..end_s).into(), marks: time_marks(end_s) }
    }

    /// A count that gets as high as `max`.
    pub(super) fn count(max: f64) -> Self {
        Self { coordinate: (0.0..ceiling(max)).into(), marks: whole_marks(max) }
    }

    /// Values between two that is labeled at these.
    pub(super) fn between(low: f64, high: f64, marks: Vec<f64>) -> Self {
        Self { coordinate: (low..high).into(), marks }
    }

    /// Lengths of time that get as long as `max`, where the axis ends.
    pub(super) fn length(max: f64) -> Self {
        let max = if max > 0.0 { max } else { 1.0 };
        let step = round_steps().find(|step| max / step <= 10.0).unwrap_or(max);
        let marks = (0..=10).map(|index| f64::from(index) * step).take_while(|mark| *mark <= max).collect();
        Self { coordinate: (0.0..max).into(), marks }
    }
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Evenly.
    Linear,
    /// By their order of magnitude from this value on, and evenly below, so that zero has its place.
    Logarithmic(f64),
}

impl Scale {
    /// That on which values can be told apart: those that span two orders of magnitude would lie in a corner of an even axis.
    pub(super) fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        const WIDE: f64 = 100.0;
        let positive = values.clone().filter(|value| *value > 0.0);
        let (low, high) =
            positive.fold((f64::INFINITY, 0.0), |(low, high), value| (low.min(value), f64::max(high, value)));
        let is_wide = values.clone().all(|value| value >= 0.0) && high >= WIDE * low;
        if is_wide { Self::Logarithmic(low) } else { Self::Linear }
    }

    /// Where on the axis a value lies.
    pub(super) fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic(low) => libm::log10(1.0 + value / low),
        }
    }

    /// Where the axis ends that shows the values between two, and the values that it is labeled with.
    pub(super) fn axis(self, low: f64, high: f64) -> (f64, f64, Vec<f64>) {
        match self {
            Self::Linear => {
                let step = round_steps().find(|step| (high - low) / step <= 8.0).unwrap_or(high - low);
                let marks = (0..=9).map(|index| ((low / step).ceil() + f64::from(index)) * step);
                (low, high, marks.take_while(|mark| *mark <= high * (1.0 + 1e-9)).collect())
            }
            Self::Logarithmic(unit) => {
                let tens = round_steps().step_by(3).filter(|mark| *mark >= unit / 2.0 && *mark <= high);
                (0.0, self.place(high) * 1.04, std::iter::once(0.0).chain(tens).collect())
            }
        }
    }
}

impl Ranged for MarkedAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.coordinate.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.coordinate.range()
    }
}

/// A line that stays inside its chart, whatever a damaged table says: what is drawn is an axis of so many, from 0 to `top`.
pub(super) fn within(mut line: Vec<(f64, f64)>, top: f64) -> Vec<(f64, f64)> {
    for (_, value) in &mut line {
        *value = value.clamp(0.0, top.max(0.0));
    }
    line
}

/// Turns samples that hold until the next one into the corners of a stepped line, thinned to what the eye can see: of a
/// crowded column of the picture the extremes and the last value stay.
pub(super) fn steps(samples: &[(f64, f64)], end_s: f64) -> Vec<(f64, f64)> {
    const COLUMNS: f64 = 1600.0;
    let column = |at: f64| (at / end_s.max(f64::MIN_POSITIVE) * COLUMNS) as i64;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for crowd in samples.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let mut chosen: Vec<(f64, f64)> = [crowd.iter().min_by(by_value), crowd.iter().max_by(by_value), crowd.last()]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        chosen.sort_by(|a, b| a.0.total_cmp(&b.0));
        kept.extend(chosen);
    }
    let mut out: Vec<(f64, f64)> = Vec::with_capacity(kept.len() * 2 + 1);
    for (at, value) in kept {
        match out.last() {
            Some(&last) if last == (at, value) => continue,
            Some(&(_, before)) => out.push((at, before)),
            None => {}
        }
        out.push((at, value));
    }
    if let Some(&(_, last)) = out.last() {
        out.push((end_s, last));
    }
    out
}

/// A fault, or what somebody did by intent: when it was on, and what it is called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) span: Span,
    pub(super) name: String,
}

/// More faults than this are a strip at the top, as bands would color all of the chart.
const BANDS_MAX: usize = 40;
/// More lines of operators and procedures than this are short marks at the foot, as dashes would hide the curves.
const DASHED_LINES_MAX: usize = 60;
/// More faults, or more lines of operators and procedures, than this are not named.
const NAMES_MAX: usize = 12;
/// Width of a character of a fault's name, in logical pixels.
const NAME_WIDTH: f64 = 5.0;

/// Height of a line of names, in logical pixels.
const NAME_HEIGHT: u32 = 11;

/// The lines of names that stand above a chart, where no curve is: of faults, and of what somebody did. None where they are too many.
fn named(tables: &super::Tables) -> impl Iterator<Item = &[Fault]> {
    let all = [tables.named_faults.as_slice(), tables.lines.as_slice()];
    all.into_iter().filter(|named| (1..=NAMES_MAX).contains(&named.len()))
}

/// What the names above a chart take, in pixels.
pub(super) fn names_height(tables: &super::Tables) -> u32 {
    px(NAME_HEIGHT) * named(tables).count() as u32
}

/// Draws when something was broken, behind a chart whose values reach up to `top`: a band, or a strip at the top for what lasts most of the
/// run and would color all of it; and above the chart, which leaves them [`names_height`] there, the names that there is room for.
pub(super) fn draw_faults<Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<MarkedAxis, Y>>,
    tables: &super::Tables,
    top: f64,
) -> Result<(), Box<dyn std::error::Error>>
where
    Y: Ranged<ValueType = f64>,
{
    let pixel_s = tables.end_s / f64::from(chart.plotting_area().dim_in_pixel().0.max(1)) * f64::from(SCALE);
    let are_many = tables.faults.len() > BANDS_MAX;
    let bands = tables.faults.iter().map(|span| {
        let length_s = span.to_s - span.from_s;
        let (low, color) = if are_many || length_s > 0.5 * tables.end_s {
            (top * 0.955, FAULT.mix(0.9))
        } else if length_s < 2.0 * pixel_s {
            // What is over at once would hardly be seen.
            (0.0, FAULT.mix(0.8))
        } else {
            (0.0, FAULT.mix(0.28))
        };
        let to_s = span.to_s.max(span.from_s + pixel_s).min(tables.end_s);
        Rectangle::new([(span.from_s.min(to_s - pixel_s), low), (to_s, top)], color.filled())
    });
    chart.draw_series(bands)?;
    let name_s = pixel_s * NAME_WIDTH;
    let style = font(9).color(&DIM);
    let height = names_height(tables) as i32;
    for (labels, row) in named(tables).zip(0..) {
        let names = fitting(labels, tables.end_s, name_s).into_iter();
        let y = row * px(NAME_HEIGHT) as i32 - height;
        chart.draw_series(
            names.map(|(at_s, name)| EmptyElement::at((at_s, top)) + Text::new(name, (0, y), style.clone())),
        )?;
    }
    Ok(())
}

/// Draws when somebody did something: a dashed line each, or short marks where there are many.
pub(super) fn draw_actions<Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<MarkedAxis, Y>>,
    tables: &super::Tables,
    top: f64,
) -> Result<(), Box<dyn std::error::Error>>
where
    Y: Ranged<ValueType = f64>,
{
    let mark_top = if tables.lines.len() <= DASHED_LINES_MAX { top } else { top * 0.045 };
    for line in &tables.lines {
        let mark = [(line.span.from_s, 0.0), (line.span.from_s, mark_top)];
        chart.draw_series(DashedLineSeries::new(mark, px(3), px(3), LINE.stroke_width(px(1))))?;
    }
    Ok(())
}

/// The names of faults that can be written side by side, each from its fault's beginning up to the next one's, if a character takes
/// so many seconds.
fn fitting(faults: &[Fault], end_s: f64, character_s: f64) -> Vec<(f64, String)> {
    const SHORTEST: usize = 5;
    let mut names = Vec::new();
    for (place, Fault { span, name }) in faults.iter().enumerate() {
        let next = faults[place + 1..].iter().map(|fault| fault.span.from_s).find(|from_s| *from_s > span.from_s);
        let room = ((next.unwrap_or(end_s) - span.from_s) / character_s - 1.0).max(0.0) as usize;
        let is_second = names.last().is_some_and(|(at_s, _): &(f64, String)| *at_s == span.from_s);
        if room < SHORTEST || is_second {
            continue;
        }
        let is_whole = name.chars().count() <= room;
        let shown: String = name.chars().take(if is_whole { room } else { room - 1 }).collect();
        let shown = shown.trim_end().trim_end_matches(" of").to_owned();
        names.push((span.from_s, if is_whole { shown } else { format!("{shown}…") }));
    }
    names
}

/// Splits samples at gaps, which are not numbers: each stretch, and when it ends.
pub(super) fn stretches(samples: &[(f64, f64)], end_s: f64) -> Vec<(&[(f64, f64)], f64)> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, sample) in samples.iter().enumerate() {
        if sample.1.is_nan() {
            found.push((&samples[from..at], sample.0));
            from = at + 1;
        }
    }
    found.push((&samples[from.min(samples.len())..], end_s));
    found.retain(|(stretch, _)| !stretch.is_empty());
    found
}

/// How wide a line is that is drawn as the so-manieth of so many, in pixels: each is narrower than the one before, so that of lines that lie
/// on each other for a while the edges of the lower ones are seen.
pub(super) fn line_width(index: usize, of: usize) -> u32 {
    /// Quarters of a logical pixel by which a line is wider than the next one, and all of them together.
    const STEP: usize = 8;
    const MOST: usize = 24;
    let above = of.saturating_sub(index + 1);
    let step = STEP.min(MOST / of.saturating_sub(1).max(1));
    px(2) + (above * step) as u32 * SCALE / 4
}

/// Writes a title and the key of its lines above a chart, where it covers nothing; what is left of the area is for the chart.
pub(super) fn header<'a>(
    area: &Area<'a>,
    title: &str,
    entries: &[(&str, RGBColor)],
) -> Result<Area<'a>, Box<dyn std::error::Error>> {
    const LEFT: u32 = 56;
    const ROW: u32 = 16;
    area.draw(&Text::new(title.to_owned(), (px(16) as i32, px(10) as i32), font(18)))?;
    let (width, _) = area.dim_in_pixel();
    let (mut x, mut y) = (px(LEFT), px(36));
    for (index, (name, color)) in entries.iter().enumerate() {
        let length = px(34) + px(name.chars().count() as u32 * 6);
        if x > px(LEFT) && x + length > width {
            (x, y) = (px(LEFT), y + px(ROW));
        }
        area.draw(&legend_key(x as i32, (y + px(6)) as i32, color.stroke_width(line_width(index, entries.len()))))?;
        area.draw(&Text::new((*name).to_owned(), ((x + px(22)) as i32, y as i32), font(11)))?;
        x += length;
    }
    let bottom = if entries.is_empty() { px(36) } else { y + px(ROW) };
    Ok(area.split_vertically(bottom).1)
}

/// Curves that lie on each other as one that has the names of all.
pub(super) fn told_apart<T>(
    curves: impl IntoIterator<Item = (String, T)>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<(String, T)> {
    let mut apart: Vec<(String, T)> = Vec::new();
    for (name, curve) in curves {
        match apart.iter_mut().find(|(_, of)| is_same(of, &curve)) {
            Some((names, _)) => *names = format!("{names}, {name}"),
            None => apart.push((name, curve)),
        }
    }
    apart
}

/// What stands beside a line's name in a legend.
pub(super) fn legend_key(x: i32, y: i32, stroke: ShapeStyle) -> PathElement<(i32, i32)> {
    PathElement::new([(x, y), (x + px(18) as i32, y)], stroke)
}

/// A round upper end for a value axis that has to show `max`.
pub(super) fn ceiling(max: f64) -> f64 {
    if max <= 0.0 {
        return 1.0;
    }
    let mut magnitude = 1.0;
    while magnitude * 10.0 <= max {
        magnitude *= 10.0;
    }
    [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0]
        .into_iter()
        .map(|step| step * magnitude)
        .find(|top| *top >= max * 1.04)
        .unwrap_or(max * 1.1)
}

/// What an axis counts in: 0.001, 0.002, 0.005, 0.01, …
fn round_steps() -> impl Iterator<Item = f64> {
    (-3..17_i32).flat_map(|exponent| {
        let magnitude = (0..exponent.abs()).fold(1.0, |magnitude, _| magnitude * 10.0);
        [1.0, 2.0, 5.0].map(|step| if exponent < 0 { step / magnitude } else { step * magnitude })
    })
}

/// The label of an axis that counts; none between whole numbers.
pub(super) fn whole(value: f64) -> String {
    if (value - value.round()).abs() < 1e-6 { format!("{value:.0}") } else { String::new() }
}

/// Whole numbers to label an axis with that has to show `max`: zero, `max`, and what is round between them.
pub(super) fn whole_marks(max: f64) -> Vec<f64> {
    let is_wide_enough = |step: &f64| max / step <= 4.0;
    let step = round_steps().filter(|step| *step >= 1.0).find(is_wide_enough).unwrap_or(max);
    let below = (0..5).map(|index| f64::from(index) * step).take_while(|mark| *mark <= max - step / 2.0);
    below.chain([max]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_lie_on_each_other_have_edges() {
        for of in 1..9 {
            let widths: Vec<u32> = (0..of).map(|index| line_width(index, of)).collect();
            assert!(widths.is_sorted_by(|a, b| a >= &(b + 2)), "{widths:?}");
            assert!(widths.iter().all(|width| (px(2)..=px(8)).contains(width)), "{widths:?}");
        }
    }

    #[test]
    fn values_that_span_decades_lie_by_their_order_of_magnitude() {
        let scale = |values: &[f64]| Scale::of(values.iter().copied());
        assert_eq!(scale(&[1.0, 50.0, 0.0]), Scale::Linear);
        assert_eq!(scale(&[-1.0, 1.0, 500.0]), Scale::Linear);
        assert_eq!(scale(&[0.0, 2.0, 500.0]), Scale::Logarithmic(2.0));
        let log = Scale::Logarithmic(2.0);
        assert_eq!(log.place(0.0), 0.0);
        assert!(log.place(20.0) - log.place(2.0) > 0.3 * log.place(500.0) && log.place(2.0) > 0.1 * log.place(500.0));
        assert_eq!(log.axis(0.0, 500.0).2, [0.0, 1.0, 10.0, 100.0]);
        assert_eq!(Scale::Linear.axis(30.0, 70.0).2, [30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0]);
    }

    #[test]
    fn a_sample_holds_until_the_next() {
        assert_eq!(steps(&[(0.0, 1.0), (5.0, 2.0)], 10.0), [(0.0, 1.0), (5.0, 1.0), (5.0, 2.0), (10.0, 2.0)]);
    }

    #[test]
    fn of_a_crowd_the_extremes_stay() {
        let crowd: Vec<(f64, f64)> =
            (0..900).map(|i| (f64::from(i), f64::from(if i == 450 { 9 } else { i % 2 }))).collect();
        let line = steps(&crowd, 1e9);
        assert!(line.len() < 10 && line.contains(&(450.0, 9.0)), "{line:?}");
    }

    #[test]
    fn names_of_faults_end_where_the_next_one_begins() {
        let fault = |from_s, to_s, name: &str| Fault { span: Span { from_s, to_s }, name: name.to_owned() };
        let faults =
            [fault(0.0, 5.0, "Crash of worker-1"), fault(100.0, 900.0, "Partition"), fault(100.0, 200.0, "Crash")];
        let expected = [(0.0, "Crash…".to_owned()), (100.0, "Partition".to_owned())];
        assert_eq!(fitting(&faults, 1000.0, 10.0), expected);
        assert_eq!(fitting(&[fault(990.0, 1000.0, "Crash")], 1000.0, 10.0), []);
    }

    #[test]
    fn what_is_not_a_number_is_a_gap() {
        let samples = [(0.0, 1.0), (5.0, f64::NAN), (7.0, f64::NAN), (8.0, 2.0)];
        assert_eq!(stretches(&samples, 10.0), [(&samples[..1], 5.0), (&samples[3..], 10.0)]);
    }

    #[test]
    fn overlapping_spans_become_one() {
        let span = |from_s, to_s| Span { from_s, to_s };
        assert_eq!(merged(vec![span(5.0, 9.0), span(0.0, 6.0), span(20.0, 21.0)]), [span(0.0, 9.0), span(20.0, 21.0)]);
    }

    #[test]
    fn time_axes_are_labeled_at_round_moments() {
        assert_eq!(time_marks(2400.0), [0.0, 300.0, 600.0, 900.0, 1200.0, 1500.0, 1800.0, 2100.0, 2400.0]);
        assert_eq!(time_marks(45.0).last(), Some(&45.0));
        assert!((4..TIME_LABELS_MAX).contains(&time_marks(365.0 * 86_400.0).len()));
        assert!(time_marks(1e12).len() <= TIME_LABELS_MAX);
    }

    #[test]
    fn counts_are_labeled_with_whole_numbers() {
        assert_eq!(whole_marks(1.0), [0.0, 1.0]);
        assert_eq!(whole_marks(3.0), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(whole_marks(12.0), [0.0, 5.0, 12.0]);
        assert_eq!(whole_marks(100.0), [0.0, 50.0, 100.0]);
    }

    #[test]
    fn moments_use_the_unit_that_suits_the_run() {
        assert_eq!(moment(90.0, 120.0), "90 s");
        assert_eq!(moment(90.0, 1800.0), "1.5 min");
        assert_eq!(moment(86_400.0, 365.0 * 86_400.0), "1 d");
    }
}
