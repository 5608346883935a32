//! `transcript.jsonl`: what the operator typed and saw.

use crate::component::Transcript;

/// A line of `transcript.jsonl`.
pub type TranscriptRow = Transcript;

#[derive(Debug, Default)]
pub(super) struct Transcripts {
    rows: Vec<TranscriptRow>,
}

impl Transcripts {
    pub(super) fn recorded(&mut self, transcript: &Transcript) {
        self.rows.push(transcript.clone());
    }

    /// The run ends before these do.
    pub(super) fn left_unfinished(&mut self, lines: Vec<Transcript>) {
        self.rows.extend(lines);
    }

    /// The lines in the order in which they were begun.
    pub(super) fn finish(mut self) -> Vec<TranscriptRow> {
        self.rows.sort_by_key(|row| (row.at, row.order));
        self.rows
    }
}
