//! Commands that change nothing: `get`, `wait`, `rollout history`; and those whose output is not simulated.

use std::sync::Arc;

use super::super::json_path::Template;
use super::super::output::Format;
use super::super::printing::{Output, Printing};
use super::args::{Columns, GetArgs, HistoryArgs, WaitArgs, WaitFor};
use super::flags::Arguments;
use super::resources::WithoutNames;
use super::verbs::{duration, revision};
use super::{Command, Stop};
use crate::units::SimDuration;

/// How long `wait` waits without `--timeout`.
const WAIT: SimDuration = SimDuration::from_secs(30);

/// `get`.
pub(super) fn get(arguments: &mut Arguments, printing: &Printing) -> Result<Command, Stop> {
    let columns = match (&printing.output, arguments.text("output")) {
        (Output::Name, _) => Columns::Name,
        (Output::Human, Some("wide")) => Columns::Wide,
        (Output::Human, _) => Columns::Usual,
        (Output::Object(format), _) if matches!(**format, Format::Unknown(_)) => return Ok(unanswered(arguments)),
        (Output::Object(format), _) => Columns::Objects(Arc::clone(format)),
    };
    let shows_status = matches!(arguments.text("subresource"), None | Some("status"));
    if !shows_status || ["raw", "kustomize"].iter().any(|flag| arguments.has(flag)) {
        return Ok(unanswered(arguments));
    }
    let is_event = |word: &String| matches!(word.split(['/', '.']).next(), Some("event" | "events" | "ev"));
    if arguments.words.first().is_some_and(is_event) {
        return Ok(unanswered(arguments));
    }
    let path = arguments.text("sort-by").filter(|path| !path.is_empty()).map(str::to_owned);
    let sort_by = path
        .map(|path| Ok((path.clone(), Template::relaxed(&path)?)))
        .transpose()
        .map_err(|problem: String| Stop::error(problem))?;
    let label_columns = arguments.list("label-columns");
    let show_labels = arguments.switch("show-labels", false)?;
    let watch = arguments.switch("watch", false)? || arguments.switch("watch-only", false)?;
    let no_headers = arguments.switch("no-headers", false)?;
    let ignore_not_found = arguments.switch("ignore-not-found", false)?;
    if arguments.words.is_empty() && !arguments.has("filename") {
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
    Ok(Command::Get(GetArgs {
        selection,
        columns,
        no_headers,
        ignore_not_found,
        sort_by,
        label_columns,
        show_labels,
        watch,
    }))
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
    } else if let Some(path) = text.strip_prefix("jsonpath=") {
        let (template, value) = path_and_value(path)?;
        WaitFor::Path(template, value)
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

/// The path of `--for=jsonpath=…` and the value that it is to have.
///
/// # Source
/// kubectl wait, `newJSONPathParser` and `conditionFuncFor`: the value stands behind the `=` after the last brace.
fn path_and_value(text: &str) -> Result<(Template, Option<String>), Stop> {
    let end = text.rfind('}').map_or(0, |end| end + 1);
    let sign = text[end..].find('=').map(|at| end + at);
    let (path, value) = match sign {
        Some(at) => (&text[..at], Some(text[at + 1..].trim_matches(['\'', '"']))),
        None => (text, None),
    };
    if value == Some("") {
        return Err(Stop::error(
            "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
        ));
    }
    if path.is_empty() {
        return Err(Stop::error("jsonpath expression cannot be empty"));
    }
    let template = Template::relaxed(path).map_err(Stop::error)?;
    Ok((template, value.map(str::to_owned)))
}

/// `rollout history`.
pub(super) fn history(arguments: &mut Arguments) -> Result<Command, Stop> {
    if arguments.words.is_empty() && !arguments.has("filename") {
        return Err(Stop::error("required resource not specified"));
    }
    let revision = revision(arguments)?;
    if arguments.has("output") {
        return Ok(unanswered(arguments));
    }
    let selection = arguments.selection(WithoutNames::All)?;
    Ok(Command::History(HistoryArgs { selection, revision }))
}

/// A command that changes nothing in the cluster and whose output is not simulated.
pub(super) fn unanswered(arguments: &Arguments) -> Command {
    let output = arguments.text("output").map(|output| format!(" -o {}", output.split('=').next().unwrap_or(output)));
    Command::Unanswered(format!("{}{}", arguments.path, output.unwrap_or_default()))
}
