//! `traps.csv`: every object that a trap decided about; `summary.json` names the first few of each.

use super::Detail;
use super::observer::{Keeps, Observer};
use super::table::{Column, Row, Table};
use super::traps::{Trap, TrapKind};

/// A row of `traps.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrappedRow {
    /// Which trap.
    pub trap: TrapKind,
    /// About what it decided: `pod/NS/NAME`, `poddisruptionbudget/NS/NAME`.
    pub object: String,
}

impl Row for TrappedRow {
    const TABLE: Table<Self> = Table {
        file: "traps.csv",
        holds: "a row for each object that a known trap decided about, those of one trap together; `summary.json` says of each trap what it \
                did at the worst",
        columns: &[
            Column::text("trap", "its name, under which `docs/traps.md` explains it", |row| row.trap.as_str()),
            Column::text("object", "the object: `pod/NAMESPACE/NAME`, `poddisruptionbudget/NAMESPACE/NAME`", |row| {
                &row.object
            }),
        ],
    };
}

/// Keeps what the traps of a run decided about, once it has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Trapped {
    rows: Vec<TrappedRow>,
}

impl Trapped {
    /// The run has ended, and these are its traps, which need not name all any longer.
    pub(super) fn finish(&mut self, traps: &mut [Trap]) {
        for trap in traps {
            let kind = trap.trap;
            let rows = std::mem::take(&mut trap.all).into_iter().map(|object| TrappedRow { trap: kind, object });
            self.rows.extend(rows);
        }
    }
}

impl Observer for Trapped {
    const NEEDED_FOR: Detail = Detail::Files;
}

impl Keeps<TrappedRow> for Trapped {
    fn take_rows(&mut self) -> Vec<TrappedRow> {
        std::mem::take(&mut self.rows)
    }
}
