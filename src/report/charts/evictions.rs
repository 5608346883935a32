//! Pods in trouble over time, and evictions as they add up.

use super::lines::{Line, Lines};
use super::style::{self, BAD, CALM, INK, WARN, px};
use super::{Chart, Tables};
use crate::report::table::{Row, is_true, maybe_number, number, text};

pub(super) const CHART: Chart = Chart { file: "evictions-and-pending.svg", draw, otherwise: "cluster.csv has no row" };

fn draw(tables: &Tables) -> Option<String> {
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
    let line = |name: &str, samples, color| (name.to_owned(), samples, color);
    let now = vec![
        line("Pending", series("pods_pending"), WARN),
        line("Running, not Ready", not_ready, BAD),
        line("Terminating", series("pods_terminating"), CALM),
    ];
    let mut sums = vec![line("evicted", series("evictions"), BAD), line("preempted", series("preemptions"), WARN)];
    let killed = killed(tables);
    if !killed.is_empty() {
        sums.push(line("killed by faults", killed, INK));
    }
    if tables.cluster.len() < CROWDED {
        return style::canvas((1100, 560), &tables.caption, |area| {
            let (upper, lower) = area.split_vertically(px(330));
            pods("Pods pending, not ready and terminating", now).draw(&upper, tables)?;
            pods("Pods taken away so far", sums).draw(&lower, tables)
        });
    }
    let panels: Vec<(String, Vec<Line>)> =
        now.into_iter().map(|line| (format!("Pods {}", line.0), vec![line])).collect();
    style::canvas((1100, 230 + PANEL * panels.len() as u32), &tables.caption, |area| {
        let mut rest = area.clone();
        for (title, lines) in panels {
            let (panel, below) = rest.split_vertically(px(PANEL));
            pods(&title, lines).draw(&panel, tables)?;
            rest = below;
        }
        pods("Pods taken away so far", sums).draw(&rest, tables)
    })
}

/// From so many changes on, lines are a thicket in which the last one hides the others: then each has a panel of its own.
const CROWDED: usize = 1500;

/// How high that is, in logical pixels.
const PANEL: u32 = 170;

/// How many pods faults have killed so far; nothing if none.
fn killed(tables: &Tables) -> Vec<(f64, f64)> {
    let (at, gone) = (tables.pods.column("deletion_s"), tables.pods.column("gone_s"));
    let (cause, taken) = (tables.pods.column("deletion_cause"), tables.pods.column("taken_away"));
    let killed = tables.pods.rows().filter(|row| text(row, cause) == "Kubectl" && is_true(row, taken));
    // What is deleted without grace is gone at once.
    let when = |row: Row<'_>| maybe_number(row, at).unwrap_or_else(|| number(row, gone));
    let mut times: Vec<f64> = killed.map(when).collect();
    times.sort_by(f64::total_cmp);
    if times.is_empty() {
        return Vec::new();
    }
    let sums = times.into_iter().zip(1_u32..).map(|(at_s, count)| (at_s, f64::from(count)));
    std::iter::once((0.0, 0.0)).chain(sums).collect()
}

fn pods(title: &str, lines: Vec<Line>) -> Lines<'_> {
    let top = style::ceiling(lines.iter().flat_map(|line| &line.1).map(|sample| sample.1).fold(0.0, f64::max));
    Lines { title, lines, top, unit: "pods", label: style::whole, limit: None }
}
