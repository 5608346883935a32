//! `set env`, `set resources`, `set serviceaccount`, `set selector`.

use super::args::{SetArgs, SetWhat};
use super::flags::Arguments;
use super::resources::WithoutNames;
use super::{Command, Stop, error};

const NO_RESOURCES: &str = "one or more resources must be specified as <resource> <name> or <resource>/<name>";

/// Without a name all are meant only if so said.
fn set(arguments: &mut Arguments, what: SetWhat) -> Result<Command, Stop> {
    if arguments.switch("all", false)? && arguments.has("selector") {
        return Err(Stop::error("cannot set --all and --selector at the same time"));
    }
    if arguments.words.is_empty() && !arguments.has("filename") {
        return Err(Stop::error(NO_RESOURCES));
    }
    let container = arguments.text("containers").unwrap_or("*").to_owned();
    let without = if arguments.switch("all", false)? { WithoutNames::All } else { WithoutNames::Refused };
    let selection = arguments.selection(without)?;
    Ok(Command::Set(SetArgs { selection, container, what }))
}

/// # Source
/// kubectl, `EnvOptions.Validate` and `RunEnv`.
pub(super) fn env(arguments: &mut Arguments) -> Result<Command, Stop> {
    let is_change = |word: &String| word.contains('=') || word.ends_with('-') && word != "-";
    let first = arguments.words.iter().position(is_change).unwrap_or(arguments.words.len());
    let mut changes = arguments.words.split_off(first);
    if let Some(word) = changes.iter().find(|word| !is_change(word)) {
        return Err(Stop::error(format!("all resources must be specified before environment changes: {word}")));
    }
    changes.extend(arguments.texts("env").map(str::to_owned));
    if arguments.switch("list", false)? {
        return Ok(super::looking::unanswered(arguments));
    }
    if let Some(from) = arguments.text("from") {
        // Which variables it holds is not kept: one that stands for all of them makes the templates differ.
        changes.push(format!("_from={from}"));
    }
    if changes.is_empty() {
        return Err(Stop::error("at least one environment variable must be provided"));
    }
    let overwrite = arguments.switch("overwrite", true)?;
    let change = |word: String| match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (word.trim_end_matches('-').to_owned(), None),
    };
    set(arguments, SetWhat::Env { changes: changes.into_iter().map(change).collect(), overwrite })
}

/// # Source
/// kubectl, `SetResourcesOptions.Validate`.
pub(super) fn resources(arguments: &mut Arguments) -> Result<Command, Stop> {
    let amounts = |flag: &'static str| -> Result<Vec<(String, String)>, Stop> {
        let parse = |pair: String| {
            let invalid = || error(&pair, format!("--{flag} takes RESOURCE=AMOUNT, not `{pair}`"));
            let (name, amount) = pair.split_once('=').ok_or_else(invalid)?;
            amount.parse::<crate::units::Quantity>().map_err(|_| invalid())?;
            Ok((name.to_owned(), amount.to_owned()))
        };
        arguments.list(flag).into_iter().filter(|pair| !pair.is_empty()).map(parse).collect()
    };
    let (limits, requests) = (amounts("limits")?, amounts("requests")?);
    if limits.is_empty() && requests.is_empty() {
        let text = "you must specify an update to requests or limits (in the form of --requests/--limits)";
        return Err(Stop::error(text));
    }
    set(arguments, SetWhat::Resources { limits, requests })
}

pub(super) fn service_account(arguments: &mut Arguments) -> Result<Command, Stop> {
    let Some(account) = arguments.words.pop() else {
        return Err(Stop::error("serviceaccount is required"));
    };
    set(arguments, SetWhat::ServiceAccount(account))
}

pub(super) fn selector(arguments: &mut Arguments) -> Result<Command, Stop> {
    let Some(text) = arguments.words.pop_if(|word| word.contains('=') || word.contains(' ')) else {
        return Err(Stop::error("one or more selectors must be specified"));
    };
    let pairs =
        text.split(',').map(|pair| pair.split_once('=').ok_or_else(|| error(pair, "a Service selects by KEY=VALUE")));
    let pairs = pairs
        .map(|pair| pair.map(|(key, value)| (key.trim().to_owned(), value.trim_start_matches('=').trim().to_owned())));
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    set(arguments, SetWhat::Selector(pairs))
}
