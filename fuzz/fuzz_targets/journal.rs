//! Journals of studies and forecasts: whatever a kill or an editor has left in the file, it is taken up or refused, and nothing is
//! made up.
#![no_main]

use std::fs;

use kubesquall::study::forecast::Played;
use kubesquall::study::{Journal, Row, RunRow, Shard};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|rest: &[u8]| {
    go_on::<RunRow>(rest);
    go_on::<Played>(rest);
});

fn go_on<R: Row>(rest: &[u8]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = dir.path().join("study");
    let shard = Shard::WHOLE;
    drop(Journal::<R>::open(&place, 7, shard, false).expect("a new journal"));
    let path = dir.path().join("study.journal.tmp");
    let mut bytes = fs::read(&path).unwrap_or_default();
    bytes.extend_from_slice(rest);
    fs::write(&path, bytes).expect("a journal");
    if let Ok(journal) = Journal::<R>::open(&place, 7, shard, true) {
        let lines = rest.split(|byte| *byte == b'\n').count();
        let rows = journal.rows().expect("what was taken up can be read");
        assert!(rows.len() < lines.max(1), "{} runs of {lines} lines", rows.len());
    }
}
