//! What rows say, as sentences for people; the page says the same in the same words.

use super::causes::{Causes, object_of};
use super::sentence::Sentence;
use crate::report::{Told, Words};

/// Machines and pods of a fault that are named; the rest is counted.
const HIT_MAX: usize = 3;

/// What a cause of deletion means for the pod, as the beginning of a sentence.
pub(super) fn deletion(cause: &str, taken_away: bool) -> String {
    // What kills a pod in the place of an operator is a fault.
    let cause = if cause == "Kubectl" && taken_away { "PodKill" } else { cause };
    Words::of_all().deletions.get(cause).map_or_else(|| format!("Deleted ({cause})"), Clone::clone)
}

/// The same in two: when it was stands between what was done and why, `, as its node is gone`.
pub(super) fn deletion_and_why(cause: &str, taken_away: bool) -> (String, String) {
    let mut done = deletion(cause, taken_away);
    let why = done.find(", as ").map_or_else(String::new, |place| done.split_off(place));
    (done, why)
}

/// A row of `causes.csv` as a sentence about its object; none if it says nothing to people.
pub(super) fn says(causes: &Causes, effect: usize) -> Option<Sentence> {
    let what = &causes.effects[effect].what;
    let Some(object) = object_of(what).filter(|object| what.starts_with(object)) else {
        return Some(Sentence::new(action(what)));
    };
    let rest = what[object.len()..].trim_start();
    if let Some(taints) = Words::of_all().taints(rest) {
        return Some(Sentence::new(capitalized(&taints)));
    }
    let Some(form) = Words::of_all().form(rest) else {
        return (!rest.is_empty()).then(|| Sentence::new(capitalized(rest)));
    };
    let is_news = !form.asks_for_news() || is_news(causes, object, effect, rest);
    let told = form.says(is_news).into_iter().fold(Sentence::default(), |said, part| match part {
        Told::Text(text) => said.text(text),
        Told::Node(node) => said.object(format!("node/{node}")),
        Told::Object(object) => said.object(object.to_owned()),
        Told::Deletion(cause) => said.text(deletion(cause, false)),
        Told::Obstacle(message) => said.text(first_half(message)),
    });
    (told != Sentence::default()).then_some(told)
}

/// Whether a row about readiness tells what was not so before.
fn is_news(causes: &Causes, object: &str, effect: usize, rest: &str) -> bool {
    let Some(ready) = rest.strip_prefix("conditions changed, Ready=") else {
        // A pod that has just been bound is told not to be Ready, too.
        return was_ready(causes, object, effect);
    };
    let before = causes.about(object).iter().rev().filter(|index| **index < effect);
    let mut before = before.filter_map(|index| causes.effects[*index].what.split_once(", Ready="));
    // Nodes are Ready when the run begins, unless told otherwise.
    before.next().map_or("True", |(_, before)| before) != ready
}

/// The same of an object that is not the one that is spoken of: with its name.
pub(super) fn clause(causes: &Causes, effect: usize) -> Sentence {
    let what = &causes.effects[effect].what;
    let said = says(causes, effect);
    match object_of(what).filter(|object| what.starts_with(object)) {
        None => said.unwrap_or_default(),
        Some(object) => {
            let said = said.unwrap_or_else(|| Sentence::new("Its conditions changed"));
            Sentence::default().object(object).text(": ").then(said)
        }
    }
}

/// Whether the pod of that name had been Ready before.
pub(super) fn was_ready(causes: &Causes, object: &str, effect: usize) -> bool {
    let rows = causes.about(object).iter().take_while(|index| **index < effect);
    let last_begin = rows.clone().filter(|index| causes.effects[**index].what.ends_with(" created")).last();
    // One that was there at t=0 has no row of its creation, and may have been Ready.
    let from_start = last_begin.is_none() && !causes.unready_at_start.contains(object);
    let mut since = rows.filter(|index| last_begin.is_none_or(|begin| *index > begin));
    from_start || since.any(|index| causes.effects[*index].what.ends_with(" Ready=True"))
}

/// What the timeline or a component did of its own.
pub(super) fn action(what: &str) -> String {
    let Some(action) = what.strip_prefix("scenario: ") else { return what.to_owned() };
    let ending = [" begins", " ends"].into_iter().find(|ending| action.ends_with(ending)).unwrap_or_default();
    let Some((fault, hit)) = action[..action.len() - ending.len()].split_once(" of ") else { return action.to_owned() };
    let names: Vec<&str> = hit.split(", ").collect();
    if fault.contains(' ') || names.len() <= HIT_MAX + 1 {
        return action.to_owned();
    }
    format!("{fault} of {} and {} more{ending}", names[..HIT_MAX].join(", "), names.len() - HIT_MAX)
}

/// Of what the scheduler says, what stands in the way, without what it says of preemption.
pub(super) fn first_half(message: &str) -> &str {
    let message = message.split(" preemption: ").next().unwrap_or(message);
    let message = message.strip_suffix(" no new claims to deallocate,").unwrap_or(message);
    message.trim_end_matches(['.', ' ', ','])
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::{Value, json};

    use super::*;
    use crate::report::RunTables;

    /// What each row says to `explain` and to the page, whose own test reads the same file.
    const SENTENCES: &str = include_str!("../../web/test/sentences.json");

    #[test]
    fn rows_say_the_same_here_and_on_the_page() {
        let expected: Vec<(String, Value)> = serde_json::from_str(SENTENCES).expect("rows and what they say");
        let mut table = String::from("effect_id,time_s,what,cause_id\n");
        for (index, (what, _)) in expected.iter().enumerate() {
            writeln!(table, "{index},{index}.000,\"{what}\",").expect("text");
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("causes.csv"), table).expect("a file");
        let causes = Causes::read(&RunTables::new(dir.path().to_owned(), json!({}))).expect("a table");
        for (index, (what, said)) in expected.iter().enumerate() {
            assert_eq!(serde_json::to_value(clause(&causes, index)).expect("data"), *said, "{what}");
        }
        let rests: Vec<&str> =
            expected.iter().map(|(what, _)| what.split_once(' ').map_or("", |(_, rest)| rest)).collect();
        for form in &Words::of_all().forms {
            let is_its = |rest: &&str| Words::of_all().form(rest).is_some_and(|found| found.is_of(form));
            assert!(rests.iter().any(is_its), "no row of the file has the form `{}`", form.row);
        }
        for cause in
            Words::of_all().deletions.keys().filter(|cause| !["", "Failed", "PodKill"].contains(&cause.as_str()))
        {
            assert!(rests.iter().any(|rest| rest.ends_with(&format!("({cause})"))), "no row of the file has {cause}");
        }
    }
}
