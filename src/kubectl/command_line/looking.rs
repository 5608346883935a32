//! Commands that change nothing: `get`, `wait`, `rollout history`; and those whose output is not simulated.

use super::args::{Columns, GetArgs, HistoryArgs, WaitArgs, WaitFor};
use super::flags::Arguments;
use super::resources::WithoutNames;
use super::verbs::duration;
use super::{Command, Stop};
use crate::units::SimDuration;

/// How long `wait` waits if it is not told.
const WAIT: SimDuration = SimDuration::from_secs(30);

/// `get`.
pub(super) fn get(arguments: &mut Arguments) -> Result<Command, Stop> {
    let columns = match arguments.text("output") {
        None | Some("") => Columns::Usual,
        Some("wide") => Columns::Wide,
        Some("name") => Columns::Name,
        Some(_) => return Ok(unanswered(arguments)),
    };
    let is_table = !["raw", "subresource", "label-columns", "show-labels", "filename", "kustomize"]
        .iter()
        .any(|flag| arguments.has(flag));
    if !is_table || arguments.words.first().is_some_and(|word| word.starts_with("events")) {
        return Ok(unanswered(arguments));
    }
    let no_headers = arguments.switch("no-headers", false)?;
    let ignore_not_found = arguments.switch("ignore-not-found", false)?;
    if arguments.words.is_empty() {
        return Err(Stop::refused(&[
            "You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list of supported \
             resources.",
            "",
            "error: Required resource not specified.",
            "Use \"kubectl explain <resource>\" for a detailed description of that resource (e.g. kubectl explain pods).",
            "See 'kubectl get -h' for help and examples",
        ]));
    }
    let selection = arguments.selection(WithoutNames::All)?;
    Ok(Command::Get(GetArgs { selection, columns, no_headers, ignore_not_found }))
}

/// `wait`.
///
/// # Source
/// kubectl, `conditionFuncFor` and `ToOptions`: a negative timeout is a week, none is one look.
pub(super) fn wait(arguments: &mut Arguments) -> Result<Command, Stop> {
    let Some(text) = arguments.text("for").map(str::to_owned) else {
        return Err(Stop::error("unrecognized condition: \"\""));
    };
    let what = if text.eq_ignore_ascii_case("delete") {
        WaitFor::Deletion
    } else if text.eq_ignore_ascii_case("create") {
        WaitFor::Creation
    } else if let Some(condition) = text.strip_prefix("condition=") {
        let (name, value) = condition.split_once('=').unwrap_or((condition, "true"));
        WaitFor::Condition(name.to_lowercase(), value.to_lowercase())
    } else if text.starts_with("jsonpath=") {
        // What a path finds is not simulated: it counts as found.
        return Ok(unanswered(arguments));
    } else {
        return Err(Stop::error(format!("unrecognized condition: {text:?}")));
    };
    let timeout = match arguments.text("timeout") {
        None => WAIT,
        Some(text) if text.starts_with('-') => SimDuration::from_secs(7 * 24 * 3600),
        Some(text) => duration(text)?,
    };
    let without = if arguments.switch("all", false)? { WithoutNames::All } else { WithoutNames::Refused };
    let selection = arguments.selection(without)?;
    Ok(Command::Wait(WaitArgs { selection, what, timeout }))
}

/// `rollout history`.
pub(super) fn history(arguments: &mut Arguments) -> Result<Command, Stop> {
    if arguments.words.is_empty() && !arguments.has("filename") {
        return Err(Stop::error("required resource not specified"));
    }
    if arguments.has("revision") || arguments.has("output") {
        return Ok(unanswered(arguments));
    }
    let selection = arguments.selection(WithoutNames::All)?;
    Ok(Command::History(HistoryArgs { selection }))
}

/// A command that changes nothing in the cluster and whose output is not simulated.
pub(super) fn unanswered(arguments: &Arguments) -> Command {
    let output = arguments.text("output").map(|output| format!(" -o {}", output.split('=').next().unwrap_or(output)));
    Command::Unanswered(format!("{}{}", arguments.path, output.unwrap_or_default()))
}
