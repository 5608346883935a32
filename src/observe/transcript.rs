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

    /// The lines in the order in which they were typed.
    pub(super) fn finish(mut self) -> Vec<TranscriptRow> {
        self.rows.sort_by_key(|row| row.at);
        self.rows
    }
}
