//! Requested against allocatable, per zone: how much room a zone had when another one's pods came.

use std::collections::BTreeMap;

use super::lines::Lines;
use super::style::{self, SERIES};
use super::{Chart, Tables};
use crate::report::table::{number, text};

pub(super) const CHART: Chart = Chart { file: "utilization-per-zone.svg", draw, otherwise: "there was no node" };

fn draw(tables: &Tables) -> Option<String> {
    if tables.zones.is_empty() {
        return None;
    }
    style::canvas((1100, 810), &tables.caption, |area| {
        let panels = [
            ("CPU requested, share of what Ready nodes offer", "cpu_milli"),
            ("Memory requested, share of what Ready nodes offer", "memory_bytes"),
            ("Pod slots taken, share of what Ready nodes have", "pods"),
        ];
        for (panel, (title, resource)) in area.split_evenly((panels.len(), 1)).iter().zip(panels) {
            room(title, resource, tables).draw(panel, tables)?;
        }
        Ok(())
    })
}

fn shares(tables: &Tables, resource: &str) -> BTreeMap<String, Vec<(f64, f64)>> {
    let table = &tables.zones;
    let (at, zone) = (table.column("time_s"), table.column("zone"));
    let requested = table.column(&format!("requested_{resource}"));
    let allocatable = table.column(&format!("allocatable_{resource}"));
    let mut by_zone: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in table.rows() {
        let offered = number(row, allocatable);
        // Of nothing there is no share: the zone has no Ready node.
        let share = if offered > 0.0 { (number(row, requested) / offered).min(1.5) } else { f64::NAN };
        let name = if text(row, zone).is_empty() { "no zone".to_owned() } else { format!("zone {}", text(row, zone)) };
        by_zone.entry(name).or_default().push((number(row, at), share));
    }
    by_zone
}

fn room<'a>(title: &'a str, resource: &str, tables: &Tables) -> Lines<'a> {
    let zones = shares(tables, resource);
    let top = zones.values().flatten().map(|s| s.1).fold(1.0, f64::max) * 1.04;
    let colored = zones.into_iter().zip(SERIES.iter().cycle());
    let lines = colored.map(|((zone, samples), color)| (zone, samples, *color)).collect();
    Lines { title, lines, top, unit: "", label: |share| format!("{:.0} %", share * 100.0), limit: Some(1.0) }
}
