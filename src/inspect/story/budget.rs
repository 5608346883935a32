//! The story of a budget: whose eviction it refused, until when, and when it allowed one again.

use super::super::record::Record;
use super::super::sentence::Sentence;
use super::super::words;
use super::{Step, Story, TOLD_MAX, chain};
use crate::units::{SimDuration, SimTime, counted};

pub(super) fn story(record: &Record, object: &str) -> Story {
    let effects = record.causes.effects.iter();
    let refused = effects.filter_map(|effect| {
        let (what, budget) = effect.what.rsplit_once(" by ")?;
        let (pod, how) = what.split_once(" eviction refused").filter(|_| budget == object)?;
        Some(Sentence::new("It refused the eviction of ").object(pod).text(" at ").at(effect.at).then(times(how)))
    });
    let mut facts: Vec<Sentence> = refused.collect();
    if facts.len() > TOLD_MAX {
        let more = counted(facts.len() - TOLD_MAX, "more pod", "more pods");
        facts.truncate(TOLD_MAX);
        facts.push(Sentence::new(format!("and of {more}, in causes.csv")));
    }
    let (steps, folded) = turns(record, object);
    if folded > 0 {
        let count = counted(folded, "change", "changes");
        let verb = if folded == 1 { "is" } else { "are" };
        facts.push(Sentence::new(format!(
            "Below is when it came to allow none, and some again; {count} from one number above 0 to another {verb} in causes.csv"
        )));
    }
    Story { facts, steps, ..Story::default() }
}

/// ` 37 times, the last at 12m5s,` as the end of a sentence.
fn times(how: &str) -> Sentence {
    const LAST_AT: &str = ", the last at ";
    let how = how.trim_end_matches(',');
    let last = how.split_once(LAST_AT).and_then(|(times, at)| Some((times, SimDuration::parse_with_days(at).ok()?)));
    match last {
        _ if how.is_empty() => Sentence::default(),
        Some((times, at)) => Sentence::new(format!(", and again:{times}{LAST_AT}")).at(SimTime::ZERO + at),
        None => Sentence::new(format!(", and again:{how}")),
    }
}

/// When it began to refuse, and when no longer; how many changes go from one number above 0 to another. Its status is written again with
/// the number that it has, too.
fn turns(record: &Record, object: &str) -> (Vec<Step>, usize) {
    let causes = &record.causes;
    let (mut steps, mut folded) = (Vec::new(), 0);
    let mut allowed: Option<&str> = None;
    for &row in causes.about(object) {
        let effect = &causes.effects[row];
        let allows = effect.what.rsplit_once(" allows ").map(|(_, count)| count);
        let before = allowed;
        allowed = allows.or(allowed);
        if let (Some(allows), Some(before)) = (allows, before)
            && (allows == "0") == (before == "0")
        {
            folded += usize::from(allows != before);
            continue;
        }
        let Some(says) = words::says(causes, row) else { continue };
        let (because, origin) = chain(causes, row);
        steps.push(Step { at: effect.at, says, because, origin });
    }
    (steps, folded)
}
