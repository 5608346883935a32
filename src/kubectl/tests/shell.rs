//! Lines of one instant.

use super::super::ShellId;
use super::*;

/// Types lines into one shell at t=0.
fn one_shell(lines: &[(&str, Place)]) -> Desk {
    let mut desk = Desk::new(lines[0].0);
    let typed = lines
        .iter()
        .map(|(line, place)| Arc::new(RunbookLine { shell: Some(ShellId(0)), place: *place, ..runbook_line(line) }));
    *desk.lines() = typed.collect();
    desk
}

#[test]
fn a_line_starts_when_the_one_before_in_its_shell_has_ended() {
    let begun = |first: Place| {
        let mut desk = one_shell(&[("drain n", first), ("uncordon n", Place::Foreground)]);
        desk.web("web-1");
        desk.play(60.0);
        let rows: Vec<_> = desk.transcripts.iter().map(|t| (t.command.to_string(), t.at, t.done_at)).collect();
        (rows, desk.is_cordoned("n"))
    };
    let (rows, is_cordoned) = begun(Place::Foreground);
    assert_eq!((rows[0].0.as_str(), rows[1].0.as_str(), is_cordoned), ("drain n", "uncordon n", false));
    assert_eq!(Some(rows[1].1), rows[0].2, "the second starts with the end of the first");
    let (rows, _) = begun(Place::Background);
    assert_eq!((rows[0].0.as_str(), rows[0].1), ("uncordon n", SimTime::ZERO), "nobody waited for the drain");
}

#[test]
fn lines_that_have_not_ended_tell_what_they_have_printed() {
    let mut desk = one_shell(&[("drain n", Place::Foreground), ("uncordon n", Place::Foreground)]);
    desk.web("web-1");
    desk.budget("b", 0);
    desk.play(7.0);
    assert!(desk.transcripts.is_empty());
    let rows = desk.component().unfinished();
    let [drain, uncordon] = rows.as_slice() else { panic!("two lines") };
    assert_eq!((drain.exit, drain.done_at), (None, None));
    assert_eq!(drain.stdout, ["node/n cordoned", "evicting pod default/web-1", "evicting pod default/web-1"]);
    assert_eq!(drain.stderr.len(), 2);
    assert_eq!((&*uncordon.command, uncordon.exit, uncordon.stdout.len()), ("uncordon n", None, 0));
}
