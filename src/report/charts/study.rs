//! The charts of a study: cost of each variant, the trade-off, and how long recoveries took.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{self, BAD, CALM, DIM, FAINT, MarkedAxis, SERIES, Scale, font, px};
use super::surrogate::{self, SurrogateCurve};
use crate::units::SimDuration;

/// What the charts of a study show.
#[derive(Clone, Debug, Default)]
pub struct StudyChart {
    /// Name of the study.
    pub title: String,
    /// Of which scenario it is, and which seeds were played.
    pub caption: String,
    /// What is varied.
    pub axes: String,
    /// What the cost is called.
    pub value: String,
    /// What of it is shown: its mean.
    pub figure: String,
    /// The values of each variant, as one text.
    pub labels: Vec<String>,
    /// The same, one by one.
    pub values: Vec<Vec<String>>,
    /// Mean, low and high of each variant's cost.
    pub costs: Vec<(f64, f64, f64)>,
    /// What unavailability is counted in.
    pub unavailability: String,
    /// The metrics of the work that each variant leaves undone, for which it is ruled out; empty if it is not.
    pub undone: Vec<String>,
    /// What is required and each variant is told to miss.
    pub missed: Vec<Vec<String>>,
    /// Unavailability and needless evictions of each variant.
    pub trade_offs: Vec<(f64, f64)>,
    /// Position of the variant that is recommended, or that costs least; none if nothing has a price.
    pub best: Option<usize>,
    /// Whether none of the variants is what is recommended: workloads get values of their own, or nothing is recommended.
    pub is_mixture: bool,
    /// Whether no other variant is told to beat it in both.
    pub is_on_front: Vec<bool>,
    /// The longest gap of each run, ascending, by variant.
    pub recoveries: Vec<Vec<f64>>,
    /// Position of the variant that others are compared with.
    pub baseline: usize,
    /// What a value costs each workload, if it is tuned.
    pub workloads: Vec<WorkloadCurve>,
    /// What is predicted along each range, if ranges are searched.
    pub searched: Vec<SurrogateCurve>,
}

/// What the values of an axis cost one workload.
#[derive(Clone, Debug, Default)]
pub struct WorkloadCurve {
    /// `kind/namespace/name`.
    pub workload: String,
    /// What the values are of.
    pub axis: String,
    /// The values.
    pub labels: Vec<String>,
    /// Mean, low and high of the cost.
    pub costs: Vec<(f64, f64, f64)>,
    /// Position of the value that is recommended; none if that is what it has today, and not among the values.
    pub best: Option<usize>,
    /// Mean cost of what it has today.
    pub today: f64,
    /// Whether a value cannot be recommended, as work is left undone under it.
    pub is_ruled_out: Vec<bool>,
}

/// More lines than this cannot be told apart.
const LINES_MAX: usize = 8;

/// Ends of a value axis that shows everything between the two: from zero, unless that would press all of it into a corner.
fn value_axis(low: f64, high: f64) -> (f64, f64) {
    if low >= 0.0 && low < 0.5 * high {
        return (0.0, style::ceiling(high));
    }
    let span = (high - low).max(high.abs() * 1e-3).max(1e-9);
    let step = style::ceiling(span / 4.0);
    ((low / step).floor() * step, (high / step).ceil() * step)
}

/// Writes the values of an axis that reaches from `low` to `high`.
fn axis_number(value: f64, low: f64, high: f64) -> String {
    let decimals = if high - low >= 20.0 {
        0
    } else if high - low >= 2.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

type Draw = fn(&StudyChart) -> Option<String>;

/// Their files, and how each is drawn; none if there is nothing to show.
pub(super) const CHARTS: [(&str, Draw); 5] = [
    ("cost-curve.svg", cost_curve),
    ("trade-off.svg", trade_off),
    ("recovery.svg", recovery),
    ("workload-costs.svg", workload_costs),
    (surrogate::FILE, |chart| surrogate::draw(&chart.title, &chart.caption, &chart.searched)),
];

/// Draws them: file name and SVG text.
#[must_use]
pub fn draw_study_charts(chart: &StudyChart) -> Vec<(&'static str, String)> {
    CHARTS.iter().filter_map(|(name, draw)| Some((*name, draw(chart)?))).collect()
}

/// Variants that differ in the last thing that is varied alone.
struct Line {
    /// What they have in common.
    label: String,
    /// The value of the last thing, and the variant.
    variants: Vec<(String, usize)>,
}

/// The variants as lines over the values of the last thing that is varied; all of them as one line if that does not make a
/// readable picture.
fn lines(chart: &StudyChart) -> Vec<Line> {
    let names: Vec<&str> = chart.axes.split(", ").collect();
    let mut lines: Vec<Line> = Vec::new();
    for (variant, values) in chart.values.iter().enumerate() {
        let Some((last, others)) = values.split_last() else { continue };
        let named: Vec<String> = names.iter().zip(others).map(|(name, value)| format!("{name}={value}")).collect();
        let (label, at) = (named.join(", "), (last.clone(), variant));
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.variants.push(at),
            None => lines.push(Line { label, variants: vec![at] }),
        }
    }
    // The scenario as it is may stand behind the grid, alone.
    let longest = lines.iter().map(|line| line.variants.len()).max().unwrap_or(0);
    lines.retain(|line| line.variants.len() == longest);
    if longest > 1 && (2..=LINES_MAX).contains(&lines.len()) {
        return lines;
    }
    vec![Line { label: String::new(), variants: chart.labels.iter().cloned().zip(0..).collect() }]
}

/// The name of a place on an axis of names; none between them.
fn name_at<T: AsRef<str>>(at: f64, names: &[T]) -> String {
    let index = at.round();
    let is_whole = (at - index).abs() < 1e-6 && index >= 0.0;
    let name = names.get(index as usize).filter(|_| is_whole);
    name.map_or_else(String::new, |name| name.as_ref().to_owned())
}

/// The cost of each variant with its interval.
fn cost_curve(chart: &StudyChart) -> Option<String> {
    let lines = lines(chart);
    let ticks: Vec<&String> = lines.first()?.variants.iter().map(|(label, _)| label).collect();
    let (count, is_ordered) = (ticks.len(), is_ordered(&ticks));
    let lowest = chart.costs.iter().map(|cost| cost.1).fold(f64::INFINITY, f64::min);
    let highest = chart.costs.iter().map(|cost| cost.2).fold(f64::NEG_INFINITY, f64::max);
    let (bottom, top) = value_axis(lowest, highest);
    let can_win = |(variant, _): &(usize, _)| !chart.is_ruled_out(*variant);
    let cheapest = || {
        let all = chart.costs.iter().enumerate().filter(can_win);
        all.min_by(|a, b| a.1.0.total_cmp(&b.1.0)).map(|(variant, _)| variant)
    };
    let best = if chart.is_mixture { None } else { chart.best.or_else(cheapest) };
    style::canvas((1100, 440), &chart.caption, |area| {
        let from = if bottom == 0.0 { "" } else { " (the axis does not begin at 0)" };
        let crossed = crossed(chart);
        let title = format!(
            "{}: {} by {}, {} with its interval{from}{crossed}",
            chart.title, chart.value, chart.axes, chart.figure
        );
        let named = lines.iter().map(|line| (line.label.clone(), line));
        let drawn = style::told_apart(named, |a, b| costs_of(chart, a).eq(costs_of(chart, b)));
        let entries: Vec<(&str, RGBColor)> =
            drawn.iter().zip(SERIES).map(|((names, _), color)| (names.as_str(), color)).collect();
        let area = style::header(area, &title, if lines.len() > 1 { &entries } else { &[] })?;
        let mut plot = ChartBuilder::on(&area)
            .margin(px(10))
            .margin_right(px(26))
            .x_label_area_size(px(44))
            .y_label_area_size(px(74))
            .build_cartesian_2d(-0.5..count as f64 - 0.5, bottom..top)?;
        let label = |at: &f64| name_at(*at, &ticks);
        plot.configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .axis_style(DIM.stroke_width(px(1)))
            .label_style(font(11))
            .axis_desc_style(font(11))
            .x_desc(if lines.len() > 1 { last_axis(chart) } else { chart.axes.as_str() })
            .y_desc(format!("{}, {} of a run", chart.value, chart.figure))
            .x_labels(count.min(24) + 1)
            .y_labels(6)
            .x_label_formatter(&label)
            .y_label_formatter(&|value| axis_number(*value, bottom, top))
            .draw()?;
        for (index, ((_, line), color)) in drawn.iter().zip(SERIES).enumerate() {
            let stroke = color.stroke_width(style::line_width(index, drawn.len()));
            let costs = || costs_of(chart, line).enumerate().map(|(at, cost)| (at as f64, cost));
            let points: Vec<(f64, f64)> = costs().map(|(at, cost)| (at, cost.0)).collect();
            if is_ordered {
                let upper = costs().map(|(at, cost)| (at, cost.2));
                let band: Vec<(f64, f64)> = upper.chain(costs().rev().map(|(at, cost)| (at, cost.1))).collect();
                plot.draw_series([Polygon::new(band, color.mix(0.15).filled())])?;
                plot.draw_series(LineSeries::new(points.clone(), stroke))?;
            } else {
                // Nothing lies between things of different kinds.
                let whisker = |(at, cost): (f64, (f64, f64, f64))| {
                    PathElement::new([(at, cost.1), (at, cost.2)], color.stroke_width(px(2)))
                };
                plot.draw_series(costs().map(whisker))?;
            }
            plot.draw_series(points.into_iter().map(|point| Circle::new(point, px(4), color.filled())))?;
        }
        for line in &lines {
            let is_out = |(_, (_, variant)): &(usize, &(String, usize))| chart.is_ruled_out(*variant);
            let out = line.variants.iter().enumerate().filter(is_out);
            plot.draw_series(out.map(|(at, (_, variant))| {
                Cross::new((at as f64, chart.costs[*variant].0), px(8), BAD.stroke_width(px(2)))
            }))?;
            let ringed = line.variants.iter().position(|(_, variant)| Some(*variant) == best);
            if let (Some(at), Some(best)) = (ringed, best) {
                plot.draw_series([Circle::new((at as f64, chart.costs[best].0), px(7), BAD.stroke_width(px(2)))])?;
            }
        }
        Ok(())
    })
}

/// What the variants of a line cost.
fn costs_of(chart: &StudyChart, line: &Line) -> impl DoubleEndedIterator<Item = (f64, f64, f64)> + ExactSizeIterator {
    line.variants.iter().map(|(_, variant)| chart.costs[*variant])
}

/// The name of the last thing that is varied.
fn last_axis(chart: &StudyChart) -> &str {
    chart.axes.rsplit(", ").next().unwrap_or(&chart.axes)
}

/// Whether names are numbers or lengths of time that ascend: only then does a line between them mean something.
fn is_ordered(names: &[&String]) -> bool {
    let value = |name: &str| {
        let plain = name.parse::<f64>().ok();
        plain.or_else(|| name.parse::<SimDuration>().ok().map(SimDuration::as_secs_f64))
    };
    let values: Option<Vec<f64>> = names.iter().map(|name| value(name)).collect();
    values.is_some_and(|values| values.is_sorted())
}

impl StudyChart {
    fn is_ruled_out(&self, variant: usize) -> bool {
        let misses = self.missed.get(variant).is_some_and(|missed| !missed.is_empty());
        misses || self.undone.get(variant).is_some_and(|undone| !undone.is_empty())
    }
}

/// What crosses mean, if there are any.
fn crossed(chart: &StudyChart) -> String {
    let named = |mut names: Vec<&str>, what: &str| {
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        names.dedup();
        let more = if names.len() > 2 { ", …" } else { "" };
        names.truncate(2);
        (!names.is_empty()).then(|| format!("{what} ({}{more})", names.join(", ")))
    };
    let undone = named(chart.undone.iter().flat_map(|undone| undone.split(' ')).collect(), "work undone");
    let missed = named(chart.missed.iter().flatten().map(String::as_str).collect(), "required and missed");
    let reasons: Vec<String> = [undone, missed].into_iter().flatten().collect();
    if reasons.is_empty() { String::new() } else { format!("; crossed: {}", reasons.join(", ")) }
}

/// Unavailability against needless evictions.
fn trade_off(chart: &StudyChart) -> Option<String> {
    let (across, up) = (TradeOffAxis::of(chart, |point| point.0), TradeOffAxis::of(chart, |point| point.1));
    let (left, right, bottom, top) = (across.from, across.to, up.from, up.to);
    // From here on points are where they lie on the axes.
    let place = |point: &(f64, f64)| (across.scale.place(point.0), up.scale.place(point.1));
    let chart = &StudyChart { trade_offs: chart.trade_offs.iter().map(place).collect(), ..chart.clone() };
    style::canvas((1100, 440), &chart.caption, |area| {
        let crossed = crossed(chart);
        let title = format!(
            "{}: what less unavailability costs in needless evictions, by {}{crossed}",
            chart.title, chart.axes
        );
        let area = style::header(area, &title, &[])?;
        let mut plot = ChartBuilder::on(&area)
            .margin(px(10))
            .margin_right(px(RIGHT))
            .x_label_area_size(px(36))
            .y_label_area_size(px(64))
            .build_cartesian_2d(across.marked(), up.marked())?;
        plot.configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .axis_style(DIM.stroke_width(px(1)))
            .label_style(font(11))
            .axis_desc_style(font(11))
            .x_desc(across.named(&format!("{}, mean", chart.unavailability)))
            .y_desc(up.named("needless evictions, mean"))
            .x_label_formatter(&|place| across.label(*place))
            .y_label_formatter(&|place| up.label(*place))
            .draw()?;
        let mut front: Vec<(f64, f64)> =
            chart.trade_offs.iter().zip(&chart.is_on_front).filter(|(_, is)| **is).map(|(point, _)| *point).collect();
        front.sort_by(|a, b| a.0.total_cmp(&b.0));
        plot.draw_series(LineSeries::new(front, CALM.stroke_width(px(1))))?;
        let out = (0..chart.trade_offs.len()).filter(|variant| chart.is_ruled_out(*variant));
        plot.draw_series(out.map(|variant| Cross::new(chart.trade_offs[variant], px(8), BAD.stroke_width(px(2)))))?;
        for (point, is_on_front) in chart.trade_offs.iter().zip(&chart.is_on_front) {
            let color = if *is_on_front { CALM } else { DIM };
            plot.draw_series([Circle::new(*point, px(4), color.filled())])?;
        }
        let (wide, high) = plot.plotting_area().dim_in_pixel();
        let scale = (f64::from(wide) / (right - left), f64::from(high) / (top - bottom));
        for (variant, label) in labeled(chart, scale) {
            let point = chart.trade_offs[variant];
            // To the left where there is no room to the right.
            let end = (point.0 - left) * scale.0 + width_of(&label);
            let is_left = end > f64::from(wide + px(RIGHT));
            let (x, side) = if is_left { (-(px(7) as i32), HPos::Right) } else { (px(7) as i32, HPos::Left) };
            let style = font(11).pos(Pos::new(side, VPos::Top));
            plot.draw_series([EmptyElement::at(point) + Text::new(label, (x, -(px(14) as i32)), style)])?;
        }
        Ok(())
    })
}

/// An axis of a trade-off.
struct TradeOffAxis {
    scale: Scale,
    from: f64,
    to: f64,
    /// The values that it is labeled with.
    marks: Vec<f64>,
}

impl TradeOffAxis {
    fn of(chart: &StudyChart, value: fn(&(f64, f64)) -> f64) -> Self {
        let values = chart.trade_offs.iter().map(value);
        let scale = Scale::of(values.clone());
        let (low, high) =
            values.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
        let (low, high) = if scale == Scale::Linear { value_axis(low.min(high), high) } else { (low, high) };
        let (from, to, marks) = scale.axis(low, high);
        Self { scale, from, to, marks }
    }

    fn marked(&self) -> MarkedAxis {
        MarkedAxis::between(self.from, self.to, self.marks.iter().map(|mark| self.scale.place(*mark)).collect())
    }

    fn named(&self, name: &str) -> String {
        let is_even = self.scale == Scale::Linear;
        if is_even { name.to_owned() } else { format!("{name} (by order of magnitude)") }
    }

    /// The mark at a place.
    fn label(&self, place: f64) -> String {
        let mark =
            self.marks.iter().find(|mark| (self.scale.place(**mark) - place).abs() <= 1e-9 * place.abs().max(1.0));
        mark.map_or_else(String::new, |mark| style::plain(*mark))
    }
}

/// What is free to the right of a trade-off, in logical pixels, for the names of points at its edge.
const RIGHT: u32 = 60;

/// How wide the name of a point is, in pixels.
fn width_of(label: &str) -> f64 {
    const CHARACTER: f64 = 6.5;
    (label.chars().count() as f64 + 1.0) * CHARACTER * f64::from(px(1))
}

/// What is written beside which points, if the axes are so many pixels to a unit: what is best and what is on the front before the rest, and
/// nothing over another. Points that lie on each other have one name: whose each is cannot be told.
fn labeled(chart: &StudyChart, (x_px, y_px): (f64, f64)) -> Vec<(usize, String)> {
    const LINE: f64 = 13.0;
    let place = |variant: usize| (chart.trade_offs[variant].0 * x_px, chart.trade_offs[variant].1 * y_px);
    let mut order: Vec<usize> = (0..chart.trade_offs.len()).collect();
    order.sort_by_key(|&variant| (Some(variant) != chart.best, !chart.is_on_front[variant], variant));
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    let mut found = Vec::new();
    for heap in heaps(&order, place) {
        let label = heap_label(chart, &heap);
        // To the right of all of them.
        let beside = |a: &usize, b: &usize| place(*a).0.total_cmp(&place(*b).0);
        let Some(rightmost) = heap.into_iter().max_by(beside) else { continue };
        let (x, y) = place(rightmost);
        let width = width_of(&label);
        let covers =
            |of: &(f64, f64, f64)| (of.1 - y).abs() < LINE * f64::from(px(1)) && of.0 < x + width && x < of.0 + of.2;
        if !taken.iter().any(covers) {
            taken.push((x, y, width));
            found.push((rightmost, label));
        }
    }
    found.sort_unstable();
    found
}

/// Points that cannot be told apart, as each touches another of its heap; heaps and their points in the order that is given.
fn heaps(order: &[usize], place: impl Fn(usize) -> (f64, f64)) -> Vec<Vec<usize>> {
    let reach = 8.0 * f64::from(px(1));
    let touch = |a: usize, b: usize| {
        let ((ax, ay), (bx, by)) = (place(a), place(b));
        (ax - bx).abs() < reach && (ay - by).abs() < reach
    };
    // Positions in the order.
    let mut heaps: Vec<Vec<usize>> = Vec::new();
    for (position, &variant) in order.iter().enumerate() {
        let (touched, apart): (Vec<_>, Vec<_>) =
            heaps.into_iter().partition(|heap| heap.iter().any(|other| touch(variant, order[*other])));
        let mut heap = touched.concat();
        heap.push(position);
        heap.sort_unstable();
        heaps = apart;
        heaps.push(heap);
    }
    heaps.sort_unstable();
    heaps.into_iter().map(|heap| heap.into_iter().map(|position| order[position]).collect()).collect()
}

/// The names of a heap's points, as many as are soon read.
fn heap_label(chart: &StudyChart, heap: &[usize]) -> String {
    const NAMES_MAX: usize = 3;
    let names: Vec<&str> = heap.iter().take(NAMES_MAX).map(|variant| chart.labels[*variant].as_str()).collect();
    match heap.len().saturating_sub(NAMES_MAX) {
        0 => names.join("; "),
        more => format!("{}; {more} more", names.join("; ")),
    }
}

/// How long the longest gap of a run was, by variant.
fn recovery(chart: &StudyChart) -> Option<String> {
    let shown = shown(chart);
    if chart.recoveries.iter().all(Vec::is_empty) && !chart.costs.is_empty() {
        return None;
    }
    let longest = shown.iter().flat_map(|variant| &chart.recoveries[*variant]).copied().fold(0.0, f64::max);
    let curves = distinct(chart, &shown);
    style::canvas((1100, 440), &chart.caption, |area| {
        let entries: Vec<(&str, RGBColor)> =
            curves.iter().zip(SERIES).map(|((label, _), color)| (label.as_str(), color)).collect();
        let area = style::header(area, &recovery_title(chart, shown.len()), &entries)?;
        let mut plot = ChartBuilder::on(&area)
            .margin(px(10))
            .margin_right(px(26))
            .x_label_area_size(px(36))
            .y_label_area_size(px(52))
            .build_cartesian_2d(MarkedAxis::length(longest), 0.0..1.02)?;
        plot.configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .axis_style(DIM.stroke_width(px(1)))
            .label_style(font(11))
            .axis_desc_style(font(11))
            .x_desc("seconds below minReady")
            .x_labels(style::TIME_LABELS_MAX)
            .x_label_formatter(&|value| style::plain(*value))
            .y_label_formatter(&|share| format!("{:.0} %", share * 100.0))
            .draw()?;
        for (index, ((_, gaps), color)) in curves.iter().zip(SERIES).enumerate() {
            let stroke = color.stroke_width(style::line_width(index, curves.len()));
            let count = gaps.len().max(1) as f64;
            let steps = gaps.iter().enumerate().map(|(index, gap)| (*gap, (index + 1) as f64 / count));
            let samples: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(steps).collect();
            plot.draw_series(LineSeries::new(style::steps(&samples, longest), stroke))?;
        }
        Ok(())
    })
}

/// The curves of variants, those that coincide as one with the names of all.
fn distinct<'a>(chart: &'a StudyChart, shown: &[usize]) -> Vec<(String, &'a [f64])> {
    let curve = |variant: &usize| (chart.labels[*variant].clone(), chart.recoveries[*variant].as_slice());
    style::told_apart(shown.iter().map(curve), |a, b| a == b)
}

/// The variants whose lines fit into one picture, in their order: the baseline, the cheapest, those on the front, the others.
fn shown(chart: &StudyChart) -> Vec<usize> {
    let mut order: Vec<usize> = (0..chart.recoveries.len()).collect();
    let can_win = |variant: &usize| !chart.is_ruled_out(*variant);
    let cheapest = order.iter().copied().filter(can_win).min_by(|a, b| chart.costs[*a].0.total_cmp(&chart.costs[*b].0));
    let rank = |variant: &usize| match *variant {
        variant if variant == chart.baseline => 0,
        variant if Some(variant) == cheapest => 1,
        variant if chart.is_on_front[variant] => 2,
        _ => 3,
    };
    order.sort_by_key(|variant| (rank(variant), *variant));
    order.truncate(LINES_MAX);
    order.sort_unstable();
    order
}

fn recovery_title(chart: &StudyChart, shown: usize) -> String {
    let title = format!("{}: share of runs whose longest gap was at most so long, by {}", chart.title, chart.axes);
    let all = chart.recoveries.len();
    if shown == all { title } else { format!("{title} ({shown} of {all} variants)") }
}

/// What curves call something: of those that are of different things each name, `front | back`.
fn named_apart<'a>(curves: &[&'a WorkloadCurve], name: impl Fn(&'a WorkloadCurve) -> Option<&'a String>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in curves.iter().filter_map(|curve| name(curve)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.join(" | ")
}

/// What each value costs each workload, against what it has today.
fn workload_costs(chart: &StudyChart) -> Option<String> {
    let curves: Vec<&WorkloadCurve> =
        chart.workloads.iter().filter(|curve| curve.today > 0.0).take(LINES_MAX).collect();
    let axis = named_apart(&curves, |curve| Some(&curve.axis));
    let count = curves.iter().map(|curve| curve.labels.len()).max()?;
    let labels: Vec<String> = (0..count).map(|at| named_apart(&curves, |curve| curve.labels.get(at))).collect();
    let relative = |curve: &WorkloadCurve, cost: f64| 100.0 * cost / curve.today;
    let highest =
        curves.iter().flat_map(|curve| curve.costs.iter().map(|cost| relative(curve, cost.0))).fold(100.0, f64::max);
    let (all, count) = (chart.workloads.len(), curves.len());
    style::canvas((1100, 440), &chart.caption, |area| {
        let which = if all == count { String::new() } else { format!(" ({count} of {all} workloads)") };
        let crossed = crossed(chart);
        let title =
            format!("{}: cost by {axis}, in % of today's; what is recommended is ringed{which}{crossed}", chart.title);
        let cost = |curve: &WorkloadCurve| curve.costs.iter().map(|cost| relative(curve, cost.0)).collect::<Vec<f64>>();
        let curves = curves.iter().map(|curve| (curve.workload.clone(), *curve));
        let curves = style::told_apart(curves, |a, b| (cost(a), a.best) == (cost(b), b.best));
        let entries: Vec<(&str, RGBColor)> =
            curves.iter().zip(SERIES).map(|((names, _), color)| (names.as_str(), color)).collect();
        let area = style::header(area, &title, &entries)?;
        let mut plot = ChartBuilder::on(&area)
            .margin(px(10))
            .margin_right(px(26))
            .x_label_area_size(px(44))
            .y_label_area_size(px(74))
            .build_cartesian_2d(-0.5..labels.len() as f64 - 0.5, 0.0..style::ceiling(highest))?;
        let label = |at: &f64| name_at(*at, &labels);
        plot.configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .axis_style(DIM.stroke_width(px(1)))
            .label_style(font(11))
            .axis_desc_style(font(11))
            .x_desc(axis.as_str())
            .y_desc("cost, % of today's")
            .x_labels(labels.len().min(24) + 1)
            .y_labels(6)
            .x_label_formatter(&label)
            .y_label_formatter(&|value| format!("{value:.0} %"))
            .draw()?;
        for (index, ((_, curve), color)) in curves.iter().zip(SERIES).enumerate() {
            let stroke = color.stroke_width(style::line_width(index, curves.len()));
            let points: Vec<(f64, f64)> =
                curve.costs.iter().enumerate().map(|(index, cost)| (index as f64, relative(curve, cost.0))).collect();
            let best = curve.best.map(|best| points[best]);
            plot.draw_series(LineSeries::new(points.clone(), stroke))?;
            plot.draw_series(points.into_iter().map(|point| Circle::new(point, px(3), color.filled())))?;
            plot.draw_series(best.map(|best| Circle::new(best, px(7), color.stroke_width(px(2)))))?;
            let out = curve.is_ruled_out.iter().enumerate().filter(|(_, is_out)| **is_out);
            let out = out.map(|(index, _)| (index as f64, relative(curve, curve.costs[index].0)));
            plot.draw_series(out.map(|at| Cross::new(at, px(8), BAD.stroke_width(px(2)))))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_drawn_between_numbers_and_lengths_of_time_only() {
        let check = |names: &[&str], expected: bool| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(is_ordered(&names.iter().collect::<Vec<_>>()), expected, "{names:?}");
        };
        check(&["0", "30", "300"], true);
        check(&["20s", "1m", "2m30s"], true);
        check(&["shop-a", "shop-b"], false);
        check(&["300", "30"], false);
    }

    #[test]
    fn costs_of_workloads_are_over_the_values_of_their_own_axis() {
        let curve = |workload: &str, axis: &str, labels: &[&str]| WorkloadCurve {
            workload: workload.to_owned(),
            axis: axis.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            costs: vec![(5.0, 4.0, 6.0); labels.len()],
            today: 10.0,
            is_ruled_out: vec![false; labels.len()],
            ..WorkloadCurve::default()
        };
        let drawn = |workloads: Vec<WorkloadCurve>| {
            let chart = StudyChart { axes: "wait, grace".to_owned(), workloads, ..StudyChart::default() };
            workload_costs(&chart).expect("something to show")
        };
        let one = drawn(vec![curve("web", "wait", &["0", "60"])]);
        assert!(one.contains("cost by wait, in %") && !one.contains("grace"), "{one}");
        let two = drawn(vec![curve("web", "front", &["0", "60"]), curve("db", "back", &["0", "120", "600"])]);
        assert!(two.contains("front | back") && two.contains("60 | 120") && two.contains("600"), "{two}");
    }

    #[test]
    fn points_that_lie_on_each_other_have_one_name_with_the_best_first() {
        let chart = StudyChart {
            labels: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
            trade_offs: vec![(1.0, 1.0), (1.0, 1.0), (50.0, 50.0)],
            is_on_front: vec![true, true, false],
            best: Some(1),
            ..StudyChart::default()
        };
        let expected = [(0, "b; a".to_owned()), (2, "c".to_owned())];
        assert_eq!(labeled(&chart, (40.0, 40.0)), expected);
    }

    #[test]
    fn curves_that_coincide_are_one() {
        let chart = StudyChart {
            labels: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
            recoveries: vec![vec![1.0, 2.0], vec![1.0, 2.0], vec![3.0]],
            ..StudyChart::default()
        };
        let names: Vec<String> = distinct(&chart, &[0, 1, 2]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a, b", "c"]);
    }
}
