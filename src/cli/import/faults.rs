//! `import faults`: records of failures and repairs become a random process of a scenario.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table};

use super::super::Ending;
use super::super::failure::Failure;
use super::super::ui::Ui;
use super::write;
use crate::chaos::FaultKind;
use crate::engine::{Family, RESAMPLES};
use crate::import::{
    FaultOptions, Imported, Records, Resampled, Resampling, Wanted, criterion, error_of_mean, fault_model,
};
use crate::scenario;
use crate::units::{SimDuration, counted, length};

/// Make tables of failures and repairs into a random process for a scenario's `spec.faults`
///
/// Each row is an outage (columns `node`, `failed`, `repaired`) or has lengths of time (`time_to_failure`, `time_to_repair`).
/// Exponential, Weibull, lognormal and gamma distributions are fitted by maximum likelihood, and the best is taken.
#[derive(Args, Debug)]
pub(in crate::cli) struct FaultsArgs {
    /// The tables (CSV)
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// The file to be written
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The name of the process
    #[arg(long, default_value = "measured")]
    name: String,
    /// The kind of the fault
    #[arg(long, value_name = "KIND", default_value = "Crash", value_parser = fault_kind)]
    fault: FaultKind,
    /// How many nodes were watched, those that never failed among them [default: those that failed]
    #[arg(long, value_name = "N", value_parser = nodes, allow_hyphen_values = true)]
    nodes: Option<u32>,
    /// When the observation began [default: with the first record]
    #[arg(long, value_name = "INSTANT")]
    since: Option<String>,
    /// When the observation ended [default: with the last record]
    #[arg(long, value_name = "INSTANT")]
    until: Option<String>,
    /// The nodes were new when the observation began [default: they had been running before, so that the rests of lengths were seen]
    #[arg(long)]
    new: bool,
    /// The distribution to be taken
    #[arg(long, value_enum, default_value_t = Choice::Best)]
    distribution: Choice,
    /// Draw the records anew so often, node by node and with replacement, fit each time, and write the fits beside the output, as
    /// `<output>-resampled.yaml`: a study that names them under `inputs` says how far its answer rests on the records. 100 do as a rule
    #[arg(long, value_name = "COUNT", value_parser = resamples, allow_hyphen_values = true)]
    resample: Option<u32>,
    /// What they are drawn from
    #[arg(long, value_name = "SEED", default_value_t = 0, requires = "resample")]
    seed: u64,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

fn nodes(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("a number of nodes is a whole number from 0 to {}", u32::MAX))
}

fn resamples(text: &str) -> Result<u32, String> {
    let (least, most) = (RESAMPLES.start(), RESAMPLES.end());
    text.parse()
        .ok()
        .filter(|count| RESAMPLES.contains(count))
        .ok_or_else(|| format!("records are drawn anew {least} to {most} times"))
}

fn fault_kind(text: &str) -> Result<FaultKind, String> {
    serde_json::from_value(text.into()).map_err(|error| error.to_string())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// The one that goes best with the records
    Best,
    /// One parameter: the mean
    Exponential,
    /// Shape and scale
    Weibull,
    /// Median and 99th percentile
    Lognormal,
    /// Shape and scale
    Gamma,
    /// The lengths themselves, in files beside the output
    Empirical,
}

impl From<Choice> for Wanted {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Best => Self::Best,
            Choice::Exponential => Self::Family(Family::Exponential),
            Choice::Weibull => Self::Family(Family::Weibull),
            Choice::Lognormal => Self::Family(Family::Lognormal),
            Choice::Gamma => Self::Family(Family::Gamma),
            Choice::Empirical => Self::Empirical,
        }
    }
}

pub(super) fn import(arguments: &FaultsArgs, ui: &Ui) -> Result<Ending, Failure> {
    let mut records = Records::default();
    for input in &arguments.inputs {
        let refuse = |message: &dyn std::fmt::Display| {
            Failure::input(
                format!("`{}` cannot be used: {message}", input.display()),
                "`import --help` says what tables hold",
            )
        };
        let text = scenario::read_text(input)?;
        records.add_table(&text).map_err(|error| refuse(&error))?;
    }
    let (nodes, is_of_lengths) = (records.node_count(), !records.is_empty() && records.node_count() == 0);
    if nodes > 0 && arguments.nodes.is_none() {
        ui.note(format_args!(
            "{} failed; if more were watched, say how many with --nodes",
            counted(nodes, "node", "nodes")
        ));
    }
    let of_outages = [
        ("--nodes", arguments.nodes.is_some()),
        ("--since", arguments.since.is_some()),
        ("--until", arguments.until.is_some()),
        ("--new", arguments.new),
    ];
    for (flag, _) in of_outages.iter().filter(|(_, is_given)| is_of_lengths && *is_given) {
        ui.note(format_args!("{flag} has no effect: the tables hold lengths of time, not outages of nodes"));
    }
    let options = FaultOptions {
        name: arguments.name.clone(),
        kind: arguments.fault.as_str().to_owned(),
        is_repaired: arguments.fault.course().lasts(),
        needed: arguments.fault.needed_fields().collect(),
        since: arguments.since.clone(),
        until: arguments.until.clone(),
        nodes: arguments.nodes,
        is_of_new_nodes: arguments.new,
        wanted: arguments.distribution.into(),
        resampling: arguments.resample.map(|count| Resampling { count, seed: arguments.seed }),
    };
    let output = &arguments.output;
    let stem = output.file_stem().map_or_else(|| "faults".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let tables: Vec<String> = arguments.inputs.iter().map(|input| input.display().to_string()).collect();
    let imported = fault_model(records, &options, &stem)
        .map_err(|error| Failure::input(error.of_tables(&tables), error.help(|option| format!("--{option}"))))?;
    for note in &imported.notes {
        ui.note(note);
    }
    let folder = output.parent().unwrap_or(Path::new(""));
    let mut files = vec![(output.clone(), &*imported.document)];
    files.extend(imported.files.iter().map(|(name, text)| (folder.join(name), &**text)));
    write(&files, arguments.force)?;
    if !ui.is_quiet {
        ui.out(&told(&imported))?;
    }
    Ok(Ending::Done)
}

/// How well each family goes with the records.
fn told(imported: &Imported) -> String {
    let mut text = String::new();
    for model in &imported.models {
        let ended = model.observations.iter().filter(|observation| !observation.is_censored).count();
        let open = model.observations.len() - ended;
        let _ = write!(text, "{}: {}", model.field, counted(ended, "length", "lengths"));
        let _ = writeln!(text, "{}", if open > 0 { format!(", {open} not ended") } else { String::new() });
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(["FAMILY", "AICc", "DISTANCE", "MEDIAN", "MEAN", "ERROR", "90 %"]);
        for fit in &model.fits {
            let said = |of: SimDuration| length(of.as_secs_f64());
            let at = |p: f64| said(fit.distribution.quantile(p));
            let mean = fit.distribution.mean().map_or_else(String::new, said);
            table.add_row([
                fit.family.as_str().to_owned(),
                criterion(fit),
                format!("{:.3}", fit.distance),
                at(0.5),
                mean,
                error_of_mean(fit),
                at(0.9),
            ]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let _ = writeln!(text, "{}", table.trim_fmt());
        let _ = writeln!(text, "taken: {}", model.written());
        for note in &model.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text.push('\n');
    }
    text.push_str(
        "The lowest AICc is the best; the distance is by how much the fitted shares of times are off at most; the error is the standard \
         error of the mean.\n",
    );
    text.extend(imported.resampled.as_ref().map(drawn_anew));
    text
}

/// How far what was fitted is spread, the records drawn anew.
fn drawn_anew(resampled: &Resampled) -> String {
    let mut text = format!(
        "\nThe records drawn anew, {} of {} times fitted:\n",
        resampled.drawn - resampled.unfitted,
        resampled.drawn
    );
    for of in &resampled.spreads {
        let _ = writeln!(
            text,
            "{}: mean within ±{:.1} %, 95 % of them from {} to {}",
            of.field,
            of.error * 100.0,
            length(of.low_s),
            length(of.high_s)
        );
    }
    for note in &resampled.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}
