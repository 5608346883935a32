//! Node states over time, by zone: a line a node, colored by what `kubectl get nodes` would have shown; of many nodes, how many were in
//! which state.

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::plot::{Plot, axis};
use super::style::{self, BAD, DIM, FAINT, INK, WARN, font, px};
use super::{Chart, Tables};
use crate::report::table::{is_true, maybe_number, number, text};

/// Of more nodes than this the picture says only how many are in which state.
const LINES_MAX: usize = 60;

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Ready,
    Cordoned,
    Tainted,
    Joining,
    NotReady,
    Unknown,
    Absent,
}

impl State {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Ready, "Ready"),
        (Self::Cordoned, "cordoned"),
        (Self::Tainted, "Ready, still tainted NoExecute"),
        (Self::Joining, "joining"),
        (Self::NotReady, "NotReady"),
        (Self::Unknown, "Unknown (unreachable)"),
        (Self::Absent, "deleted"),
    ];

    /// The state of a node after that one, by its row; none if there was no such node.
    fn after(before: Option<Self>, at_s: f64, ready: &str, unschedulable: bool, taints: &str) -> Self {
        let is_new = match before {
            None => at_s > 0.0,
            Some(before) => matches!(before, Self::Absent | Self::Joining),
        };
        match ready {
            "Absent" => Self::Absent,
            // A node that has just been created is no loss.
            "False" | "Unknown" if is_new => Self::Joining,
            "False" => Self::NotReady,
            "Unknown" => Self::Unknown,
            _ if taints.contains(":NoExecute") => Self::Tainted,
            _ if unschedulable => Self::Cordoned,
            _ => Self::Ready,
        }
    }

    fn color(self) -> RGBColor {
        match self {
            Self::Ready => RGBColor(190, 222, 203),
            Self::Cordoned => RGBColor(150, 184, 222),
            Self::Tainted => RGBColor(196, 160, 214),
            Self::Joining => RGBColor(226, 230, 234),
            Self::NotReady => WARN,
            Self::Unknown => BAD,
            Self::Absent => RGBColor(70, 74, 80),
        }
    }

    /// Whether nobody can run on it who did not choose so.
    fn is_bad(self) -> bool {
        matches!(self, Self::NotReady | Self::Unknown | Self::Absent)
    }
}

/// A node: its name, and its states with the time at which each began.
struct Line {
    name: String,
    states: Vec<(f64, State)>,
}

/// Nodes that stand together.
struct Group {
    name: String,
    lines: Vec<Line>,
}

fn lines(tables: &Tables) -> Vec<Line> {
    let table = &tables.nodes;
    let (at, node, ready) = (table.column("time_s"), table.column("node"), table.column("ready"));
    let (unschedulable, taints) = (table.column("unschedulable"), table.column("taints"));
    let mut by_name: BTreeMap<String, Vec<(f64, State)>> = BTreeMap::new();
    for row in table.rows() {
        let states = by_name.entry(text(row, node).to_owned()).or_default();
        let (at_s, before) = (number(row, at), states.last().map(|last| last.1));
        let state = State::after(before, at_s, text(row, ready), is_true(row, unschedulable), text(row, taints));
        if before != Some(state) {
            states.push((at_s, state));
        }
    }
    let mut lines: Vec<Line> = by_name.into_iter().map(|(name, states)| Line { name, states }).collect();
    lines.sort_by_cached_key(|line| natural(&line.name));
    lines
}

/// The nodes by zone, and how the groups are called; by pool where there is but one zone.
fn groups(tables: &Tables) -> (Vec<Group>, &'static str) {
    let table = &tables.inventory;
    let node = table.column("node");
    let by = |column: &str| -> BTreeMap<&str, &str> {
        let column = table.column(column);
        table.rows().map(|row| (text(row, node), text(row, column))).collect()
    };
    let (zones, pools) = (by("zone"), by("pool"));
    let is_one = |of: &BTreeMap<&str, &str>| of.values().all(|value| Some(value) == of.values().next());
    let (place, kind) = match (is_one(&zones), is_one(&pools)) {
        (false, _) => (Some(&zones), "zone"),
        (true, false) => (Some(&pools), "pool"),
        (true, true) => (None, ""),
    };
    let mut groups: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in lines(tables) {
        let name = place.and_then(|place| place.get(line.name.as_str())).copied().unwrap_or_default();
        let name = match (place, name) {
            (None, _) => String::new(),
            (Some(_), "") => format!("no {kind}"),
            (Some(_), name) => format!("{kind} {name}"),
        };
        groups.entry(name).or_default().push(line);
    }
    (groups.into_iter().map(|(name, lines)| Group { name, lines }).collect(), kind)
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
    let (groups, kind) = groups(tables);
    match groups.iter().map(|group| group.lines.len()).sum() {
        0 => None,
        1..=LINES_MAX => draw_lines(tables, &groups),
        count => draw_counts(tables, &groups, kind, count),
    }
}

const WIDTH: u32 = 1100;
const TOP: u32 = 44;
const HEADING: u32 = 18;
/// What stands under the lines: the axis and the legend.
const BELOW: u32 = 76;

fn draw_lines(tables: &Tables, groups: &[Group]) -> Option<String> {
    let count: usize = groups.iter().map(|group| group.lines.len()).sum();
    let line_height = if count > 40 { 13 } else { 18 };
    let names: Vec<&str> = groups.iter().flat_map(|group| &group.lines).map(|line| line.name.as_str()).collect();
    let suffix = common_suffix(&names);
    let shown = |name: &str| label(&name[..name.len() - suffix.len()]);
    let longest = names.iter().map(|name| shown(name).chars().count()).max().unwrap_or(0) as u32;
    let mut title = "Node states over time".to_owned();
    if !suffix.is_empty() {
        title.push_str(&format!(" (all names end in {suffix})"));
    }
    if tables.agreement.is_some() {
        title.push_str("; black lines: when Ready or a taint was seen to change");
    }
    let heading = |group: &Group| if group.name.is_empty() { 0 } else { HEADING };
    let height: u32 = groups.iter().map(|group| heading(group) + group.lines.len() as u32 * line_height).sum();
    let left = longest * 7 + 14;
    let plot = Plot { tables, left, width: WIDTH - left - 24 };
    let seen = seen(tables);
    style::canvas((WIDTH, TOP + height + BELOW), &tables.caption, |area| {
        area.draw(&Text::new(title, (px(16) as i32, px(12) as i32), font(18)))?;
        let mut y = TOP;
        for group in groups {
            area.draw(&Text::new(group.name.clone(), (px(8) as i32, px(y + 3) as i32), font(11).color(&DIM)))?;
            y += heading(group);
            for line in &group.lines {
                let changes = seen.get(line.name.as_str()).map_or(&[][..], Vec::as_slice);
                let size = if line_height >= 18 { 12 } else { 10 };
                area.draw(&Text::new(shown(&line.name), (px(8) as i32, px(y + 2) as i32), font(size)))?;
                let corners = (px(y) as i32, px(y + line_height - 1) as i32);
                draw_line(area, &plot, line, corners)?;
                draw_seen(area, &plot, changes, corners)?;
                y += line_height;
            }
        }
        axis(area, &plot, px(y) as i32)?;
        legend(area, px(8) as i32, px(y + 44) as i32)
    })
}

fn draw_line(
    area: &style::Area<'_>,
    plot: &Plot<'_>,
    line: &Line,
    (y0, y1): (i32, i32),
) -> Result<(), Box<dyn std::error::Error>> {
    let end_s = plot.tables.end_s;
    let all = [(plot.x(line.states[0].0), y0), (plot.x(end_s), y1)];
    area.draw(&Rectangle::new(all, State::Ready.color().filled()))?;
    for (position, &(from, state)) in line.states.iter().enumerate().filter(|(_, s)| s.1 != State::Ready) {
        let to = line.states.get(position + 1).map_or(end_s, |next| next.0);
        // In a long run an outage is thinner than a pixel, and must be seen all the same.
        let corners = [(plot.x(from), y0), (plot.x(to).max(plot.x(from) + px(1) as i32), y1)];
        area.draw(&Rectangle::new(corners, state.color().filled()))?;
    }
    Ok(())
}

/// When the real cluster's nodes were seen to change their condition Ready or a taint, by their names; none if the run was held against
/// nothing.
fn seen(tables: &Tables) -> BTreeMap<&str, Vec<f64>> {
    let mut changes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let Some((table, _)) = &tables.agreement else { return changes };
    let [at, fact, name] = ["observed_s", "fact", "name"].map(|column| table.column(column));
    for row in table.rows().filter(|row| matches!(text(row, fact), "NodeReady" | "NodeTaint")) {
        let at_s = maybe_number(row, at).filter(|at_s| (0.0..=tables.end_s).contains(at_s));
        changes.entry(text(row, name)).or_default().extend(at_s);
    }
    changes
}

/// Marks what was seen over what was played.
fn draw_seen(
    area: &style::Area<'_>,
    plot: &Plot<'_>,
    changes: &[f64],
    (y0, y1): (i32, i32),
) -> Result<(), Box<dyn std::error::Error>> {
    for x in changes.iter().map(|at_s| plot.x(*at_s)) {
        area.draw(&PathElement::new([(x, y0), (x, y1)], WHITE.stroke_width(px(3))))?;
        area.draw(&PathElement::new([(x, y0), (x, y1)], INK.stroke_width(px(1))))?;
    }
    Ok(())
}

/// How many nodes are in each state, in the order of [`State::ALL`].
type Census = [u32; State::ALL.len()];

/// The census of a group for each of so many columns of the picture: where it changes within one, at its worst.
fn censuses(group: &Group, end_s: f64, columns: usize) -> Vec<Census> {
    let mut changes: Vec<(f64, Option<State>, State)> = Vec::new();
    for line in &group.lines {
        let mut before = None;
        for &(at_s, state) in &line.states {
            changes.push((at_s, before, state));
            before = Some(state);
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bad = |census: &Census| -> u32 {
        State::ALL.iter().zip(census).filter(|((state, _), _)| state.is_bad()).map(|(_, count)| count).sum()
    };
    let mut now: Census = [0; State::ALL.len()];
    let mut worst = vec![None::<Census>; columns];
    let mut after = vec![None::<Census>; columns];
    for (at_s, before, state) in changes {
        if let Some(before) = before {
            now[before as usize] -= 1;
        }
        now[state as usize] += 1;
        let column = ((at_s / end_s * columns as f64) as usize).min(columns - 1);
        after[column] = Some(now);
        if worst[column].is_none_or(|census| bad(&now) >= bad(&census)) {
            worst[column] = Some(now);
        }
    }
    let mut holds: Census = [0; State::ALL.len()];
    let mut found = Vec::with_capacity(columns);
    for (worst, after) in worst.into_iter().zip(after) {
        // What held at the beginning of the column may be the worst of it.
        let shown = worst.filter(|census| bad(census) >= bad(&holds)).unwrap_or(holds);
        found.push(if shown.iter().sum::<u32>() == 0 { after.unwrap_or(holds) } else { shown });
        holds = after.unwrap_or(holds);
    }
    found
}

fn draw_counts(tables: &Tables, groups: &[Group], kind: &str, count: usize) -> Option<String> {
    const HEIGHT: u32 = 64;
    const GAP: u32 = 10;
    let left = 190;
    let plot = Plot { tables, left, width: WIDTH - left - 24 };
    let by = if kind.is_empty() { String::new() } else { format!(" by {kind}") };
    let title = format!("Node states over time{by}: how many of {count} nodes");
    let height = groups.len() as u32 * (HEIGHT + GAP);
    style::canvas((WIDTH, TOP + height + BELOW), &tables.caption, |area| {
        area.draw(&Text::new(title, (px(16) as i32, px(12) as i32), font(18)))?;
        let mut y = TOP;
        for group in groups {
            let of = group.lines.len();
            area.draw(&Text::new(label(&group.name), (px(8) as i32, px(y + 18) as i32), font(12)))?;
            area.draw(&Text::new(format!("{of} nodes"), (px(8) as i32, px(y + 34) as i32), font(11).color(&DIM)))?;
            draw_census(area, &plot, &censuses(group, tables.end_s, plot.width as usize), (y, HEIGHT))?;
            y += HEIGHT + GAP;
        }
        axis(area, &plot, px(y) as i32)?;
        legend(area, px(8) as i32, px(y + 44) as i32)
    })
}

/// Stacks the states of a group, the bad ones on top, each of which is seen however few nodes it is.
fn draw_census(
    area: &style::Area<'_>,
    plot: &Plot<'_>,
    censuses: &[Census],
    (y, height): (u32, u32),
) -> Result<(), Box<dyn std::error::Error>> {
    let most = censuses.iter().map(|census| census.iter().sum::<u32>()).max().unwrap_or(0).max(1);
    let whole = f64::from(px(height));
    let tall = |nodes: u32| (f64::from(nodes) / f64::from(most) * whole) as i32;
    let (bottom, x) = (px(y + height) as i32, |column: usize| px(plot.left + column as u32) as i32);
    let total = |census: &Census| census.iter().sum::<u32>();
    let mut column = 0;
    // Seams would show between rectangles that need not be apart.
    for same in censuses.chunk_by(|a, b| total(a) == total(b)) {
        let corners = [(x(column), bottom - tall(total(&same[0]))), (x(column + same.len()), bottom)];
        area.draw(&Rectangle::new(corners, State::Ready.color().filled()))?;
        column += same.len();
    }
    column = 0;
    for same in censuses.chunk_by(|a, b| a == b) {
        let (x0, x1) = (x(column), x(column + same.len()));
        column += same.len();
        let mut top = bottom - tall(total(&same[0]));
        let others = State::ALL.iter().zip(same[0]).skip(1).rev().filter(|(_, nodes)| *nodes > 0);
        for ((state, _), nodes) in others {
            let least = if state.is_bad() { px(2) as i32 } else { 0 };
            let to = (top + tall(nodes).max(least)).min(bottom);
            area.draw(&Rectangle::new([(x0, top), (x1, to)], state.color().filled()))?;
            top = to;
        }
    }
    Ok(())
}

fn legend(area: &style::Area<'_>, mut x: i32, y: i32) -> Result<(), Box<dyn std::error::Error>> {
    let entries = State::ALL
        .iter()
        .map(|(state, name)| (state.color(), *name))
        .chain([(style::FAULT, "fault on (strip below)"), (style::CALM, "what somebody did (tick below)")]);
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
    fn a_node_that_joins_is_not_lost_until_it_was_ready() {
        let mut states = Vec::new();
        for (at_s, ready) in
            [(5.0, "Unknown"), (6.0, "False"), (9.0, "True"), (20.0, "Unknown"), (30.0, "Absent"), (40.0, "False")]
        {
            states.push(State::after(states.last().copied(), at_s, ready, false, ""));
        }
        use State::{Absent, Joining, Ready, Unknown};
        assert_eq!(states, [Joining, Joining, Ready, Unknown, Absent, Joining]);
        assert_eq!(State::after(None, 0.0, "False", false, ""), State::NotReady, "it was there before");
    }

    #[test]
    fn of_a_column_the_worst_is_shown_and_after_it_what_held_at_its_end() {
        let line = |states: &[(f64, State)]| Line { name: String::new(), states: states.to_vec() };
        let short = [(0.0, State::Ready), (42.0, State::Unknown), (43.0, State::Ready)];
        let group = Group { name: String::new(), lines: vec![line(&short), line(&[(0.0, State::Ready)])] };
        let found = censuses(&group, 100.0, 10);
        let unknown: Vec<u32> = found.iter().map(|census| census[State::Unknown as usize]).collect();
        assert_eq!(unknown, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
        assert!(found.iter().all(|census| census.iter().sum::<u32>() == 2));
    }

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
