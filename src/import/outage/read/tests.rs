//! Evidence as it comes: directories, archives, streams, and what is none.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use super::*;
use crate::evidence::{RecordKind, What};

const EVENT: &str = r#"{"apiVersion":"v1","kind":"Event","metadata":{"name":"w-1.17","namespace":"default"},"involvedObject":{"kind":"Node","name":"w-1"},"reason":"NodeNotReady","message":"Node w-1 status is now: NodeNotReady","source":{"component":"node-controller"},"firstTimestamp":"2026-03-01T14:05:50Z","lastTimestamp":"2026-03-01T14:05:50Z","count":1}"#;
const LOG: &str = "I0301 14:05:50.123456       1 node_lifecycle_controller.go:1044] \"Controller detected that zone is now in new state\" zone=\"r:\\x00:b\" newState=\"FullDisruption\"\n";

fn added(path: &Path) -> Evidence {
    let mut into = Evidence::new();
    add(path, &ClockOptions::default(), &mut into);
    into
}

fn streamed(bytes: impl Into<Vec<u8>>) -> Evidence {
    let mut into = Evidence::new();
    add_stream(Cursor::new(bytes.into()), "standard input", &ClockOptions::default(), &mut into);
    into
}

fn names(into: &Evidence) -> Vec<&str> {
    into.records.iter().map(|record| record.name.as_str()).collect()
}

fn codes(into: &Evidence) -> Vec<&str> {
    into.diagnostics.iter().map(|problem| problem.code).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = ::tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = ::tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        // As honest programs do not write them.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, text.as_bytes()).expect("memory");
    }
    builder.into_inner().expect("memory")
}

#[test]
fn a_directory_is_read_with_all_that_is_below_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("evidence");
    fs::create_dir_all(root.join("ns/shop")).expect("a directory");
    fs::write(root.join("ns/shop/events.json"), EVENT).expect("a file");
    fs::write(root.join("old.json.gz"), gzip(EVENT.as_bytes())).expect("a file");
    fs::write(root.join("bundle.tar.gz"), gzip(&tar(&[("b/events.json", EVENT)]))).expect("a file");
    fs::write(root.join("README.md"), "# Nothing").expect("a file");
    fs::write(root.join("empty.json"), "").expect("a file");
    let into = added(&root);
    let expected = ["evidence/bundle.tar.gz/b/events.json", "evidence/ns/shop/events.json", "evidence/old.json.gz"];
    assert_eq!(names(&into), expected);
    assert_eq!((into.passed_over, into.unread.len(), into.diagnostics.len()), (2, 0, 0));
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_are_not_followed() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().join("evidence");
    fs::create_dir(&root).expect("a directory");
    fs::write(directory.path().join("events.json"), EVENT).expect("a file");
    std::os::unix::fs::symlink(directory.path().join("events.json"), root.join("events.json")).expect("a link");
    std::os::unix::fs::symlink(&root, root.join("loop")).expect("a link");
    let into = added(&root);
    assert!(into.records.is_empty());
    assert_eq!(into.unread.len(), 1);
    assert!(into.unread[0].why.contains("leads out"), "{:?}", into.unread);
}

#[test]
fn a_file_is_named_by_its_last_part_unless_that_is_taken() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut into = Evidence::new();
    let paths = ["a", "b"].map(|name| directory.path().join(name).join("events.json"));
    for path in &paths {
        fs::create_dir(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, EVENT).expect("a file");
        add(path, &ClockOptions::default(), &mut into);
    }
    assert_eq!(names(&into), ["events.json", &*paths[1].to_string_lossy()]);
}

#[test]
fn what_comes_in_a_stream_is_read_packed_or_not() {
    for bytes in [EVENT.as_bytes().to_vec(), gzip(EVENT.as_bytes()), format!("\u{feff}{EVENT}").into_bytes()] {
        let into = streamed(bytes);
        assert_eq!(names(&into), ["standard input"]);
        assert_eq!(into.sightings.len(), 1);
    }
    assert_eq!(names(&streamed(tar(&[("x/events.json", EVENT)]))), ["standard input/x/events.json"]);
}

#[test]
fn archives_that_lead_out_or_are_cut_are_told() {
    let into = streamed(tar(&[("../events.json", EVENT), ("events.json", EVENT)]));
    assert_eq!((names(&into), codes(&into)), (vec!["standard input/events.json"], vec!["bundle::outside"]));
    let whole = gzip(&tar(&[("a.json", EVENT), ("b.json", &EVENT.repeat(200))]));
    let into = streamed(&whole[..whole.len() - 20]);
    assert_eq!(codes(&into), ["bundle::damaged"]);
    assert!(!into.sightings.is_empty());
}

#[test]
fn what_is_no_evidence_is_told() {
    let into = streamed("name: x\n");
    assert_eq!((codes(&into), into.unread.len()), (vec!["evidence::unknown_form"], 1));
    let into = streamed("");
    assert_eq!((into.diagnostics.len(), into.unread.len()), (0, 1));
    let utf_16: Vec<u8> = [0xff, 0xfe].into_iter().chain(EVENT.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let into = streamed(utf_16);
    assert!(into.records.is_empty() && into.unread[0].why.contains("UTF-16"));
    let alerts = fs::read("tests/evidence/samples/alertmanager-alerts.json").expect("a sample");
    assert_eq!(codes(&streamed(alerts)), ["evidence::unknown_form"]);
    let into = added(Path::new("no/such/file"));
    assert_eq!(codes(&into), ["evidence::unreadable"]);
    assert!(into.diagnostics.has_errors());
}

#[test]
fn tables_for_people_are_refused_with_the_command_that_saves_events() {
    let table = "NAMESPACE   LAST SEEN   TYPE     REASON         OBJECT     MESSAGE\ndefault     10m         Normal   NodeNotReady   node/w-1   Node w-1\n";
    let server = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[],"rows":[]}"#;
    for text in [table, server] {
        let into = streamed(text);
        assert_eq!(codes(&into), ["evidence::for_people"]);
        let problem = into.diagnostics.iter().next().expect("a problem");
        assert!(problem.help[0].contains("kubectl get events -A -o json"), "{:?}", problem.help);
    }
}

#[test]
fn every_sample_goes_to_its_reader() {
    for (name, kind) in [
        ("events-k3s.json", RecordKind::Events),
        ("events-kubeadm-v1.8.json", RecordKind::Events),
        ("openshift-monitor-drain.json", RecordKind::Intervals),
        ("audit-delete-deployment.jsonl", RecordKind::Audit),
        ("prometheus-federate.txt", RecordKind::Metrics),
    ] {
        let into = added(&Path::new("tests/evidence/samples").join(name));
        let kinds: Vec<RecordKind> = into.records.iter().map(|record| record.kind).collect();
        assert_eq!(kinds, [kind], "{name}");
    }
    assert_eq!(streamed(format!("{LOG}{LOG}")).records[0].kind, RecordKind::ControllerLog);
}

fn zones(into: &Evidence) -> Vec<String> {
    let seen = into.sightings.iter().filter(|seen| matches!(seen.what, What::ZoneState { .. }));
    seen.map(|seen| seen.when.earliest.to_string()).collect()
}

#[test]
fn logs_without_years_wait_for_what_tells_theirs() {
    let mut into = streamed(LOG);
    assert!(zones(&into).is_empty());
    add_stream(Cursor::new(EVENT), "events", &ClockOptions::default(), &mut into);
    assert_eq!(zones(&into), ["2026-03-01T14:05:50.123456Z"]);
    finish(&ClockOptions::default(), &mut into);
    assert!(into.diagnostics.is_empty() && into.unread.is_empty());

    let mut into = streamed(LOG);
    finish(&ClockOptions { year: Some(2024), ..ClockOptions::default() }, &mut into);
    assert_eq!(zones(&into), ["2024-03-01T14:05:50.123456Z"]);

    let mut into = streamed(LOG);
    finish(&ClockOptions::default(), &mut into);
    assert_eq!((codes(&into), into.unread.len()), (vec!["evidence::no_year"], 1));
}
