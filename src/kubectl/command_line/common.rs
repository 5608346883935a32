//! What the flags of several verbs say.

use std::str::FromStr;
use std::sync::Arc;

use super::super::output::Format;
use super::super::printing::{DryRun, Output, Printing};
use super::flags::Arguments;
use super::resources::WithoutNames;
use super::selection::FieldValidation;
use super::stop::{CommandLineError, Stop, error};
use crate::units::SimDuration;

/// The outputs that kubectl names when it is asked for another.
const FORMATS: &str = "custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,\
     jsonpath-file,kyaml,name,template,templatefile,wide,yaml";

/// `--dry-run` and `-o`, of a command whose output is simulated or not.
///
/// # Source
/// kubectl, `GetDryRunStrategy`: without a value, and as a boolean, it means the client's.
pub(super) fn printing(arguments: &Arguments, is_answered: bool) -> Result<Printing, Stop> {
    let dry_run = match arguments.text("dry-run") {
        None if arguments.has("dry-run") => DryRun::Client,
        None | Some("none") => DryRun::None,
        Some("client" | "unchanged") => DryRun::Client,
        Some("server") => DryRun::Server,
        Some(value) => match arguments.switch("dry-run", false) {
            Ok(true) => DryRun::Client,
            Ok(false) => DryRun::None,
            Err(_) => {
                let text = format!("Invalid dry-run value ({value}). Must be \"none\", \"server\", or \"client\".");
                return Err(Stop::error(text));
            }
        },
    };
    let output = match arguments.text("output") {
        None | Some("" | "wide") => Output::Human,
        Some("name") => Output::Name,
        Some(text) => {
            let format = Format::parse(text, arguments.text("template")).map_err(Stop::error)?;
            if is_answered && !format.is_kubectls() {
                return Err(Stop::error(format!(
                    "unable to match a printer suitable for the output format \"{text}\", allowed formats are: {FORMATS}"
                )));
            }
            Output::Object(Arc::new(format))
        }
    };
    let server_side = arguments.path == "apply" && arguments.switch("server-side", false)?;
    Ok(Printing { dry_run, output, server_side, record: arguments.has("record") })
}

/// What a kustomization makes is not read.
pub(in crate::kubectl) fn check_kustomize(arguments: &Arguments) -> Result<(), CommandLineError> {
    let Some(directory) = arguments.text("kustomize") else { return Ok(()) };
    let help = format!("write what `kubectl kustomize {directory}` prints into a file, and name that with `-f`");
    let message = format!("kubectl {} -k cannot be played", arguments.path);
    Err(CommandLineError { message, word: directory.to_owned(), help: Some(help) })
}

/// A Go duration as kubectl's flags take it.
pub(in crate::kubectl) fn duration(value: &str) -> Result<SimDuration, CommandLineError> {
    SimDuration::from_str(value).map_err(|e| error(value, e.to_string()))
}

/// `--timeout`; none waits for ever.
pub(in crate::kubectl) fn timeout(arguments: &Arguments) -> Result<Option<SimDuration>, CommandLineError> {
    let timeout = arguments.text("timeout").map(duration).transpose()?;
    Ok(timeout.filter(|timeout| *timeout > SimDuration::ZERO))
}

/// `--validate`.
///
/// # Source
/// kubectl, `GetValidationDirective`.
pub(in crate::kubectl) fn field_validation(arguments: &Arguments) -> Result<FieldValidation, Stop> {
    match arguments.text("validate").unwrap_or("strict") {
        "" | "strict" | "true" => Ok(FieldValidation::Strict),
        "warn" => Ok(FieldValidation::Warn),
        "ignore" | "false" => Ok(FieldValidation::Ignore),
        other => Err(Stop::error(format!(
            "invalid - validate option {other:?}; must be one of: strict (or true), warn, ignore (or false)"
        ))),
    }
}

pub(in crate::kubectl) fn all_or_refused(arguments: &Arguments) -> Result<WithoutNames, CommandLineError> {
    Ok(if arguments.switch("all", false)? { WithoutNames::All } else { WithoutNames::Refused })
}

/// Splits off the words that change something, `key=value` and `key-`, which stand at the end.
///
/// # Source
/// kubectl, `GetResourcesAndPairs`.
pub(in crate::kubectl) fn pairs(arguments: &mut Arguments, what: &str) -> Result<Vec<(String, Option<String>)>, Stop> {
    let is_pair = |word: &String| word.contains('=') && !word.starts_with('=') || word.ends_with('-') && word != "-";
    let first = arguments.words.iter().position(is_pair).unwrap_or(arguments.words.len());
    let changes = arguments.words.split_off(first);
    if let Some(word) = changes.iter().find(|word| !is_pair(word)) {
        return Err(Stop::error(format!("all resources must be specified before {what} changes: {word}")));
    }
    let change = |word: String| match word.split_once('=') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (word.trim_end_matches('-').to_owned(), None),
    };
    Ok(changes.into_iter().map(change).collect())
}

/// # Source
/// kubectl, `DrainCmdOptions.Complete`.
pub(in crate::kubectl) fn check_nodes(arguments: &Arguments) -> Result<(), Stop> {
    if arguments.words.is_empty() && !arguments.has("selector") {
        return Err(Stop::usage(format!("USAGE: {} NODE [flags]", arguments.path), &arguments.path));
    }
    if !arguments.words.is_empty() && arguments.text("selector").is_some_and(|text| !text.is_empty()) {
        let text = "cannot specify both a node name and a --selector option";
        return Err(Stop::usage(text, &arguments.path));
    }
    Ok(())
}

/// `--revision`.
///
/// # Source
/// kubectl, `RolloutStatusOptions.Validate`, `RolloutHistoryOptions.Validate`.
pub(in crate::kubectl) fn revision_flag(arguments: &Arguments) -> Result<i64, Stop> {
    match arguments.number("revision")?.unwrap_or(0) {
        revision if revision < 0 => Err(Stop::error(format!("revision must be a positive integer: {revision}"))),
        revision => Ok(revision),
    }
}

/// What an object's status says is what components find, not what operators write.
pub(in crate::kubectl) fn check_subresource(arguments: &Arguments) -> Result<(), CommandLineError> {
    let Some(name) = arguments.text("subresource").filter(|name| !matches!(*name, "" | "scale")) else { return Ok(()) };
    Err(CommandLineError {
        message: format!("kubectl {} --subresource={name} cannot be played", arguments.path),
        word: "--subresource".to_owned(),
        help: Some(
            "statuses are simulated; when a readiness gate is met is said by the annotation `kubesquall.sim/gate-<condition>` \
             of the pod template, what befalls a node by a `fault:`"
                .to_owned(),
        ),
    })
}

impl Arguments {
    /// Why there is nothing to play: the command changes nothing in the cluster, and its output is not simulated.
    pub(in crate::kubectl) fn unanswered(&self) -> Stop {
        let output = self.text("output").map(|output| format!(" -o {}", output.split('=').next().unwrap_or(output)));
        Stop::Unanswered(format!("{}{}", self.path, output.unwrap_or_default()))
    }

    /// What is no command, or wants one more word: kubectl prints its help, and fails.
    ///
    /// # Source
    /// kubectl, `DefaultSubCommandRun`.
    pub(in crate::kubectl) fn unplayable(&self) -> Stop {
        let path = &self.path;
        let valid: Vec<&str> = self.grammar.subcommands(path).collect();
        if valid.is_empty() {
            return error(path, format!("kubectl {path} cannot be played")).into();
        }
        match self.words.as_slice() {
            [] => Stop::error(format!("kubectl {path} needs one of its commands: {}", valid.join(", "))),
            words => Stop::usage(format!("unknown command {:?}", words.join(" ")), path),
        }
    }
}
