//! A picture with time from left to right that is drawn line by line: where a moment is, and the axis below the lines.

use plotters::prelude::*;

use super::Tables;
use super::style::{self, DIM, Span, font, px};

/// What all parts of a picture need: where a moment is.
pub(super) struct Plot<'a> {
    pub(super) tables: &'a Tables,
    pub(super) left: u32,
    pub(super) width: u32,
}

impl Plot<'_> {
    pub(super) fn x(&self, at_s: f64) -> i32 {
        (px(self.left) + (at_s / self.tables.end_s * f64::from(px(self.width))) as u32) as i32
    }
}

/// Draws the axis, with what was broken and what somebody did, from that height on.
pub(super) fn axis(area: &style::Area<'_>, plot: &Plot<'_>, y: i32) -> Result<(), Box<dyn std::error::Error>> {
    let (tables, x) = (plot.tables, |at_s| plot.x(at_s));
    for Span { from_s, to_s } in &tables.faults {
        let corners = [(x(*from_s), y + px(2) as i32), (x(*to_s).max(x(*from_s) + px(1) as i32), y + px(8) as i32)];
        area.draw(&Rectangle::new(corners, style::FAULT.filled()))?;
    }
    // Over the strip, which would hide them.
    for line in tables.lines.iter().map(|line| x(line.span.from_s)) {
        let mark = [(line, y + px(1) as i32), (line, y + px(9) as i32)];
        area.draw(&PathElement::new(mark, style::CALM.stroke_width(px(1))))?;
    }
    let last = x(tables.end_s);
    for at_s in style::time_marks(tables.end_s) {
        area.draw(&PathElement::new([(x(at_s), y), (x(at_s), y + px(11) as i32)], DIM.stroke_width(px(1))))?;
        let label = style::moment(at_s, tables.end_s);
        // A label at the very end would be cut off.
        let shift = if x(at_s) + px(20) as i32 > last { px(30) as i32 } else { 0 };
        area.draw(&Text::new(label, (x(at_s) - shift, y + px(14) as i32), font(11)))?;
    }
    Ok(())
}
