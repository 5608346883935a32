//! `transcript.jsonl`: what the operator typed and saw.

use super::Detail;
use super::observer::{Keeps, Observer, Seen};
use super::table::{Column, Row, Table};
use crate::component::{Record, Transcript};

/// A line of `transcript.jsonl`.
pub type TranscriptRow = Transcript;

impl Row for TranscriptRow {
    const TABLE: Table<Self> = Table {
        file: "transcript.jsonl",
        holds: "an object for each kubectl line, and for each `request` of the timeline that was refused. A line that the end of the run found unfinished has printed what it had by then; one \
                that still waited for the line before it has printed nothing",
        columns: &[
            Column::time("at_s", "when it was begun; of one that still waited, when it was typed", |row| row.at),
            Column::maybe_time("done_s", "when it ended; `null` if the run ended before", |row| row.done_at),
            Column::text("command", "the line, without `kubectl`; of a request, its method and path", |row| {
                &row.command
            }),
            Column::maybe_number("exit", "", "exit status; `null` if the run ended before", |row| {
                row.exit.map(i64::from)
            }),
            Column::lines("stdout", "what it would have printed", |row| &row.stdout),
            Column::lines("stderr", "the same on standard error", |row| &row.stderr),
        ],
    };
}

#[derive(Clone, Debug, Default)]
pub(super) struct Transcripts {
    rows: Vec<TranscriptRow>,
}

impl Observer for Transcripts {
    const NEEDED_FOR: Detail = Detail::Files;

    fn recorded(&mut self, record: &Record, _seen: &Seen<'_>) {
        if let Record::Transcript(transcript) = record {
            self.rows.push(transcript.clone());
        }
    }

    fn left_unfinished(&mut self, lines: &[TranscriptRow]) {
        self.rows.extend_from_slice(lines);
    }
}

impl Keeps<TranscriptRow> for Transcripts {
    /// The lines in the order in which they were begun.
    fn take_rows(&mut self) -> Vec<TranscriptRow> {
        self.rows.sort_by_key(|row| (row.at, row.order));
        std::mem::take(&mut self.rows)
    }
}
