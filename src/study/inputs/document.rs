//! `inputs` of a study, read and checked.

use std::path::Path;

use serde::Deserialize;

use super::super::cost_by::CostBy;
use super::super::document::RUNS_MAX;
use super::super::grid::Variant;
use super::super::problems::Problems;
use super::resampled::{self, Lengths, Resampled, family};
use super::runs::{InputProcess, InputRecords, Inputs, REPLICATIONS_MAX};
use crate::chaos::FaultProcessSpec;
use crate::diagnostics::{Diagnostic, Location, nearest};
use crate::engine::Distribution;
use crate::model::manifest::Folder;
use crate::scenario::Invalid;
use crate::units::{counted, grouped};

/// A random process that was fitted to records, and the fits to these records, drawn anew.
#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::study) struct InputEntry {
    /// The name of the process in `faults` of the scenario.
    process: String,
    /// The file that `import faults --resample` wrote, relative to this one.
    resampled: String,
}

/// What a study has besides.
pub(in crate::study) struct InputsAround<'a> {
    pub(in crate::study) folder: &'a Folder,
    pub(in crate::study) variants: &'a [Variant],
    /// Runs of each variant.
    pub(in crate::study) replications: u32,
    pub(in crate::study) place: &'a dyn Fn(&str) -> Location,
}

/// Where the document lists them.
const LIST: &str = "spec.inputs";
const REPLICATIONS: &str = "spec.inputReplications";

/// Runs of each variant with each input, if nothing is said: at least so many, so that noise is told from what inputs make.
const REPLICATIONS_LEAST: u32 = 5;

/// Why something cannot be done, and what to do.
type Refusal = (String, String);

/// Says why what the records leave open cannot be told of a study with these, and what to do.
///
/// # Errors
///
/// That.
pub(in crate::study) fn check_question(by: CostBy, is_antithetic: bool, is_rare: bool) -> Result<(), Refusal> {
    let refuse = |message: &str, help: &str| Err((message.to_owned(), help.to_owned()));
    if is_rare {
        return refuse(
            "runs of a study of a rare event have weights, and what the records leave open is told of runs without",
            "leave either out: `inputs`, or what is rare",
        );
    }
    if is_antithetic {
        return refuse("mirrored runs cannot be told apart from inputs", "take `seeds: plain`, or leave out `inputs`");
    }
    if !by.is_mean() {
        return refuse(
            "what the records leave open is told of means, and the study judges by bad runs, of which an input has too few",
            "leave either out: `inputs`, or `costBy`",
        );
    }
    Ok(())
}

/// Reads them; what is wrong is told.
pub(in crate::study) fn read(
    entries: &[InputEntry],
    replications: Option<u32>,
    around: &InputsAround<'_>,
    problems: &mut Problems,
) -> Option<Inputs> {
    let at = |path: &str| (around.place)(path);
    let error = |message: String, help: String, path: &str, label: &str| {
        Diagnostic::error("study::inputs", message).help(help).at(at(path), label)
    };
    if entries.is_empty() {
        if replications.is_some() {
            let message = "there are no `inputs` that could be played so often".to_owned();
            problems.push(error(message, "leave it out, or say `inputs`".to_owned(), REPLICATIONS, ""));
        }
        return None;
    }
    let mut inputs = Inputs { processes: Vec::new(), count: u32::MAX, replications: 0, files: Vec::new() };
    for (index, entry) in entries.iter().enumerate() {
        let path = format!("{LIST}[{index}]");
        if entries[..index].iter().any(|earlier| earlier.process == entry.process) {
            let message = format!("`{}` is listed twice", entry.process);
            problems.push(error(
                message,
                "a process has one file of fits".to_owned(),
                &format!("{path}.process"),
                "again",
            ));
            continue;
        }
        let Some(found) = problems.take(read_file(around.folder, &entry.resampled)) else { continue };
        if let Err(Wrong { message, help, field }) = check(entry, &found, around.variants) {
            problems.push(error(message, help, &format!("{path}.{field}"), ""));
            continue;
        }
        inputs.count = inputs.count.min(found.resamples.len() as u32);
        inputs.files.push(around.folder.join(Path::new(&entry.resampled)));
        inputs.processes.push(process(entry, found));
    }
    if inputs.processes.len() < entries.len() {
        return None;
    }
    // About as many as the study has without: what inputs make is a mean over all of them.
    let usual = around.replications.div_ceil(inputs.count).max(REPLICATIONS_LEAST);
    inputs.replications = replications.unwrap_or(usual);
    if !(2..=REPLICATIONS_MAX).contains(&inputs.replications) {
        let runs = counted(inputs.replications as usize, "run", "runs");
        let message = match inputs.replications {
            0 | 1 => format!("{runs} with each input cannot be: noise is told from 2 on"),
            _ => format!("{runs} with each input are too many: {} are the most", grouped(REPLICATIONS_MAX)),
        };
        problems.push(error(message, format!("leave it out: that is {usual}"), REPLICATIONS, ""));
        return None;
    }
    let runs = around.variants.len() as u64 * u64::from(inputs.count) * u64::from(inputs.replications);
    if runs > RUNS_MAX {
        let message = format!("the inputs take {runs} runs; at most {RUNS_MAX} are played");
        problems.push(error(
            message,
            "draw the records less often, or take fewer values".to_owned(),
            LIST,
            "multiplied",
        ));
        return None;
    }
    Some(inputs)
}

fn read_file(folder: &Folder, file: &str) -> Result<Resampled, Invalid> {
    let path = Path::new(file);
    let name = folder.join(path).to_string_lossy().into_owned();
    let text = folder.read(path, &name).map_err(|diagnostic| Invalid::of(*diagnostic))?;
    resampled::read(&name, &text)
}

fn process(entry: &InputEntry, found: Resampled) -> InputProcess {
    let Resampled { drawn, records, resamples, .. } = found;
    let records = InputRecords {
        process: entry.process.clone(),
        file: entry.resampled.clone(),
        units: records.nodes.or(records.rows).unwrap_or_default(),
        by_node: records.nodes.is_some(),
        failed_nodes: records.failed_nodes,
        failures: records.failures,
        drawn,
        fitted: resamples.len() as u32,
    };
    InputProcess { records, fits: resamples }
}

/// What is wrong, what to do, and in which field.
struct Wrong {
    message: String,
    help: String,
    field: &'static str,
}

/// Whether the fits are to what is played: to the process, in every variant.
fn check(entry: &InputEntry, found: &Resampled, variants: &[Variant]) -> Result<(), Wrong> {
    let name = &entry.process;
    let of = |variant: &Variant| variant.base.chaos.processes.iter().find(|of| of.name == *name).cloned();
    let processes: Vec<Option<FaultProcessSpec>> = variants.iter().map(of).collect();
    let there: Vec<&FaultProcessSpec> = processes.iter().flatten().collect();
    let wrong = |message: String, help: &str, field: &'static str| Wrong { message, help: help.to_owned(), field };
    let Some(first) = there.first() else {
        let all = variants.iter().flat_map(|variant| variant.base.chaos.processes.iter());
        let mut names: Vec<&str> = all.map(|process| process.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let help = match (nearest(name, names.iter().copied()), names.is_empty()) {
            (_, true) => "nothing in it fails by chance: put into `spec.faults` what `import faults` wrote".to_owned(),
            (Some(likely), false) => format!("the nearest is `{likely}`; there are {}", names.join(", ")),
            (None, false) => format!("there are {}", names.join(", ")),
        };
        let message = format!("the scenario has no random process `{name}` in `faults`");
        return Err(Wrong { message, help, field: "process" });
    };
    let lengths = |of: &FaultProcessSpec| (of.time_to_failure.clone(), of.time_to_repair.clone());
    if there.len() < variants.len() || there.iter().any(|of| lengths(of) != lengths(first)) {
        let message =
            format!("`{name}` is not the same in every variant, so that its records do not tell of all of them");
        return Err(wrong(message, "vary something else, or leave the process out of `inputs`", "process"));
    }
    if first.fault.kind() != found.fault {
        let (ours, theirs) = (first.fault.kind().as_str(), found.fault.as_str());
        let message = format!("`{name}` is of kind {ours}, and the records are those of kind {theirs}");
        return Err(wrong(message, "name the process that was fitted to these records", "resampled"));
    }
    let Lengths { time_to_failure, time_to_repair } = &found.fitted;
    compared(name, "timeToFailure", Some(&first.time_to_failure), Some(time_to_failure))?;
    compared(name, "timeToRepair", first.time_to_repair.as_ref(), time_to_repair.as_ref())
}

/// Whether a length of the process is the one that was fitted.
fn compared(name: &str, field: &str, ours: Option<&Distribution>, fitted: Option<&Distribution>) -> Result<(), Wrong> {
    let again = "put into the scenario what `import faults` wrote beside the file, or draw the records anew";
    let wrong = |message: String, help: &str| Err(Wrong { message, help: help.to_owned(), field: "resampled" });
    match (ours, fitted) {
        (None, None) => Ok(()),
        (Some(ours), Some(fitted)) if ours == fitted => Ok(()),
        (Some(ours @ Distribution::Constant(_)), _) => wrong(
            format!("{field} of `{name}` is {}: it has no chance in it that records could leave open", family(ours)),
            "leave the process out of `inputs`, or put into the scenario what `import faults` wrote",
        ),
        (Some(ours), Some(fitted)) if family(ours) != family(fitted) => wrong(
            format!("{field} of `{name}` is {}, and the fits of the file are {}", family(ours), family(fitted)),
            again,
        ),
        (Some(_), Some(fitted)) => {
            let fitted = serde_json::to_string(fitted).unwrap_or_default();
            wrong(format!("{field} of `{name}` is not what its records were fitted with, {fitted}"), again)
        }
        (Some(_), None) => wrong(format!("`{name}` has a {field}, and the fits of the file have none"), again),
        (None, Some(_)) => wrong(format!("`{name}` has no {field}, and the fits of the file have one"), again),
    }
}
