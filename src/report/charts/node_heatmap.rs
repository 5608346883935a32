//! Node states over time: a line a node, colored by what `kubectl get nodes` would have shown.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::style::{self, BAD, DIM, FAINT, INK, Span, WARN, font, px};
use super::{Chart, Tables};
use crate::report::tables::{number, text};

/// More nodes than this are not all shown: those that never changed are left out first.
const LINES_MAX: usize = 120;

#[derive(Copy, Clone, PartialEq, Eq)]
enum State {
    Ready,
    Cordoned,
    Tainted,
    NotReady,
    Unknown,
    Absent,
}

impl State {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Ready, "Ready"),
        (Self::Cordoned, "cordoned"),
        (Self::Tainted, "Ready, still tainted NoExecute"),
        (Self::NotReady, "NotReady"),
        (Self::Unknown, "Unknown (unreachable)"),
        (Self::Absent, "deleted"),
    ];

    fn of(ready: &str, unschedulable: &str, taints: &str) -> Self {
        match ready {
            "Absent" => Self::Absent,
            "False" => Self::NotReady,
            "Unknown" => Self::Unknown,
            _ if taints.contains(":NoExecute") => Self::Tainted,
            _ if unschedulable == "true" => Self::Cordoned,
            _ => Self::Ready,
        }
    }

    fn color(self) -> RGBColor {
        match self {
            Self::Ready => RGBColor(190, 222, 203),
            Self::Cordoned => RGBColor(150, 184, 222),
            Self::Tainted => RGBColor(196, 160, 214),
            Self::NotReady => WARN,
            Self::Unknown => BAD,
            Self::Absent => RGBColor(70, 74, 80),
        }
    }
}

/// A node's name, and its states with the time at which each began.
type Line = (String, Vec<(f64, State)>);

fn lines(tables: &Tables) -> Vec<Line> {
    let table = &tables.nodes;
    let (at, node, ready) = (table.column("time_s"), table.column("node"), table.column("ready"));
    let (unschedulable, taints) = (table.column("unschedulable"), table.column("taints"));
    let mut by_name: BTreeMap<String, Vec<(f64, State)>> = BTreeMap::new();
    for row in table.rows() {
        let state = State::of(text(row, ready), text(row, unschedulable), text(row, taints));
        let states = by_name.entry(text(row, node).to_owned()).or_default();
        if states.last().is_none_or(|last| last.1 != state) {
            states.push((number(row, at), state));
        }
    }
    let mut lines: Vec<Line> = by_name.into_iter().collect();
    lines.sort_by_key(|line| natural(&line.0));
    if lines.len() > LINES_MAX {
        let mut changed: Vec<Line> = lines.extract_if(.., |(_, states)| states.len() > 1).collect();
        changed.truncate(LINES_MAX);
        let room = LINES_MAX - changed.len();
        lines.truncate(room);
        lines.extend(changed);
        lines.sort_by_key(|line| natural(&line.0));
    }
    lines
}

/// A sort key under which `worker-2` comes before `worker-10`.
fn natural(name: &str) -> (String, u64) {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (stem, number) = name.split_at(name.len() - digits.min(18));
    (stem.to_owned(), number.parse().unwrap_or(0))
}

/// What all names end in, from a dot on, such as the domain of a cloud; nothing of a single name.
fn common_suffix<'a>(names: &[&'a str]) -> &'a str {
    let Some((first, rest)) = names.split_first().filter(|(_, rest)| !rest.is_empty()) else { return "" };
    let suffixes = first.match_indices('.').map(|(at, _)| &first[at..]);
    suffixes
        .filter(|suffix| suffix.len() < first.len())
        .find(|suffix| rest.iter().all(|n| n.ends_with(suffix)))
        .unwrap_or("")
}

/// A name that fits beside its line: what tells names apart stands at either end.
fn label(name: &str) -> String {
    const LABEL_MAX: usize = 28;
    const END: usize = 12;
    let count = name.chars().count();
    if count <= LABEL_MAX {
        return name.to_owned();
    }
    let begin = name.chars().take(LABEL_MAX - END - 1);
    begin.chain(['…']).chain(name.chars().skip(count - END)).collect()
}

pub(super) const CHART: Chart = Chart { file: "node-states.svg", draw, otherwise: "there was no node" };

fn draw(tables: &Tables) -> Option<String> {
    let lines = lines(tables);
    if lines.is_empty() {
        return None;
    }
    let line_height = if lines.len() > 40 { 9 } else { 18 };
    let plot_height = lines.len() as u32 * line_height;
    let (width, height) = (1100, plot_height + 120);
    let names: Vec<&str> = lines.iter().map(|line| line.0.as_str()).collect();
    let suffix = common_suffix(&names);
    let labels: Vec<String> = names.iter().map(|name| label(&name[..name.len() - suffix.len()])).collect();
    let label_width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) as u32 * 7 + 14;
    let title = match suffix {
        "" => "Node states over time".to_owned(),
        _ => format!("Node states over time (all names end in {suffix})"),
    };
    style::canvas(width, height, |area| {
        area.draw(&Text::new(title, (px(16) as i32, px(12) as i32), font(18)))?;
        let plot_width = width - label_width - 24;
        let x = |at_s: f64| (px(label_width) + (at_s / tables.end_s * f64::from(px(plot_width))) as u32) as i32;
        let top = |line: usize| (px(44) + line as u32 * px(line_height)) as i32;
        for (index, (_, states)) in lines.iter().enumerate() {
            let (y0, y1) = (top(index), top(index + 1) - px(1) as i32);
            if line_height >= 12 || index % 4 == 0 {
                let size = if line_height >= 12 { 12 } else { 9 };
                area.draw(&Text::new(labels[index].clone(), (px(8) as i32, y0 + px(2) as i32), font(size)))?;
            }
            area.draw(&Rectangle::new([(x(states[0].0), y0), (x(tables.end_s), y1)], State::Ready.color().filled()))?;
            for (position, &(from, state)) in states.iter().enumerate().filter(|(_, s)| s.1 != State::Ready) {
                let to = states.get(position + 1).map_or(tables.end_s, |next| next.0);
                // In a long run an outage is thinner than a pixel, and must be seen all the same.
                let corners = [(x(from), y0), (x(to).max(x(from) + px(1) as i32), y1)];
                area.draw(&Rectangle::new(corners, state.color().filled()))?;
            }
        }
        axis(area, tables, &x, top(lines.len()))?;
        legend(area, px(label_width) as i32, top(lines.len()) + px(44) as i32)
    })
}

fn axis(
    area: &style::Area<'_>,
    tables: &Tables,
    x: &dyn Fn(f64) -> i32,
    y: i32,
) -> Result<(), Box<dyn std::error::Error>> {
    for Span { from_s, to_s } in &tables.faults {
        let corners = [(x(*from_s), y + px(2) as i32), (x(*to_s).max(x(*from_s) + px(1) as i32), y + px(8) as i32)];
        area.draw(&Rectangle::new(corners, style::FAULT.filled()))?;
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

fn legend(area: &style::Area<'_>, mut x: i32, y: i32) -> Result<(), Box<dyn std::error::Error>> {
    let entries =
        State::ALL.iter().map(|(state, name)| (state.color(), *name)).chain([(style::FAULT, "fault on (strip below)")]);
    for (color, name) in entries {
        let side = px(12) as i32;
        area.draw(&Rectangle::new([(x, y), (x + side, y + side)], color.filled()))?;
        area.draw(&Rectangle::new([(x, y), (x + side, y + side)], FAINT))?;
        area.draw(&Text::new(name, (x + side + px(5) as i32, y), font(11).color(&INK)))?;
        x += side + px(22) as i32 + name.len() as i32 * px(6) as i32;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_still_differ() {
        let names = ["ip-10-0-9-16.us-west-2.compute.internal", "ip-10-0-9-17.us-west-2.compute.internal"];
        assert_eq!(common_suffix(&names), ".us-west-2.compute.internal");
        assert_eq!(common_suffix(&names[..1]), "");
        assert_eq!(common_suffix(&["a.x", "b.y"]), "");
        let labels = ["aks-agentpool-31411420-vmss000001-eu", "aks-agentpool-31411420-vmss000002-eu"].map(label);
        assert_eq!(labels, ["aks-agentpool-3…mss000001-eu", "aks-agentpool-3…mss000002-eu"].map(str::to_owned));
    }

    #[test]
    fn numbers_in_names_sort_as_numbers() {
        assert!(natural("worker-2") < natural("worker-10"));
        assert!(natural("a-10") < natural("b-2"));
    }
}
