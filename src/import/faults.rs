//! A random process of failures, from records of failures and repairs.

use std::fmt::Write as _;

use super::records::{Records, Watch, instant};
use crate::engine::{Distribution, Family, Fit, Observation, fit};
use crate::units::SimDuration;

/// Which distribution is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The family that goes best with the records.
    #[default]
    Best,
    /// This family.
    Family(Family),
    /// The lengths themselves, all equally likely.
    Empirical,
}

/// What the records do not say.
#[derive(Clone, Debug, Default)]
pub struct FaultOptions {
    /// Name of the process.
    pub name: String,
    /// Kind of the fault.
    pub kind: String,
    /// From when on nodes were watched.
    pub since: Option<String>,
    /// Until when.
    pub until: Option<String>,
    /// How many nodes were watched.
    pub nodes: Option<u32>,
    /// Which distribution is taken.
    pub wanted: Wanted,
}

/// One of the two lengths of a process.
#[derive(Clone, Debug)]
pub struct FaultModel {
    /// The field that it is for.
    pub field: &'static str,
    /// What was observed.
    pub observations: Vec<Observation>,
    /// Every family that can be fitted, the best first.
    pub fits: Vec<Fit>,
    /// What is taken.
    pub taken: Distribution,
}

/// A process as a document, and the lengths it refers to.
#[derive(Clone, Debug)]
pub struct Imported {
    /// `faults:`, to stand below a scenario's `spec:`.
    pub document: String,
    /// Files of lengths for empirical distributions: name and text.
    pub files: Vec<(String, String)>,
    /// Both lengths.
    pub models: Vec<FaultModel>,
}

/// Makes records into a process; `stem` begins the names of the files it refers to.
///
/// # Errors
///
/// What the records lack.
pub fn fault_model(mut records: Records, options: &FaultOptions, stem: &str) -> Result<Imported, String> {
    let at = |text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => {
            instant(text).map(Some).ok_or_else(|| format!("`{text}` is not an instant such as 2026-03-01T00:00:00Z"))
        }
    };
    let watch = Watch { since: at(&options.since)?, until: at(&options.until)?, nodes: options.nodes };
    if let (Some(since), Some(until)) = (watch.since, watch.until)
        && until <= since
    {
        return Err("the observation ends before it begins".to_owned());
    }
    let failed = records.node_count();
    if let Some(nodes) = options.nodes
        && (nodes as usize) < failed
    {
        return Err(format!("{failed} nodes have failed, which are more than {nodes}"));
    }
    records.settle(watch);
    let mut files = Vec::new();
    let mut models = Vec::new();
    for (field, part, observations) in
        [("timeToFailure", "failure", records.to_failure), ("timeToRepair", "repair", records.to_repair)]
    {
        let file = format!("{stem}-{part}.csv");
        let model = model(field, observations, options.wanted, &file)?;
        if let Distribution::Empirical { .. } = model.taken {
            files.push((file, lengths(&model.observations)));
        }
        models.push(model);
    }
    Ok(Imported { document: document(options, &models), files, models })
}

fn model(
    field: &'static str,
    observations: Vec<Observation>,
    wanted: Wanted,
    file: &str,
) -> Result<FaultModel, String> {
    let ended = observations.iter().filter(|observation| !observation.is_censored).count();
    if ended < 2 {
        return Err(format!("there are {ended} whole lengths for {field}; at least 2 are needed"));
    }
    let mut fits: Vec<Fit> = Family::ALL.into_iter().filter_map(|family| fit(family, &observations)).collect();
    fits.sort_by(|a, b| a.aic.total_cmp(&b.aic));
    let of = |family: Family| fits.iter().find(|fit| fit.family == family);
    let taken = match wanted {
        Wanted::Empirical => Distribution::Empirical { file: file.into(), values: [].into() },
        Wanted::Best => best(&fits).ok_or_else(|| format!("nothing can be fitted to {field}"))?,
        Wanted::Family(family) => {
            let name = family.as_str();
            of(family)
                .map(|fit| fit.distribution.clone())
                .ok_or_else(|| format!("no {name} distribution can be fitted to {field}"))?
        }
    };
    Ok(FaultModel { field, observations, fits, taken })
}

/// The fit that goes best with the observations, of those whose mean agrees with theirs.
///
/// Where most lengths have not ended, a long tail may go best with those that have and yet have a mean of centuries: the failures
/// of a year would then be far too few. The exponential distribution has the observed time for each end as its mean.
fn best(fits: &[Fit]) -> Option<Distribution> {
    let seconds = |fit: &Fit| fit.distribution.mean().map_or(f64::INFINITY, SimDuration::as_secs_f64);
    let observed = fits.iter().find(|fit| fit.family == Family::Exponential).map(seconds)?;
    let agrees = |fit: &&Fit| (observed / MEANS_APART_MAX..=observed * MEANS_APART_MAX).contains(&seconds(fit));
    fits.iter().find(agrees).map(|fit| fit.distribution.clone())
}

/// By which factor the mean of the best fit may differ from the observed one.
const MEANS_APART_MAX: f64 = 2.0;

/// The whole lengths, as an empirical distribution reads them.
fn lengths(observations: &[Observation]) -> String {
    let mut text = String::from("seconds\n");
    for observation in observations.iter().filter(|observation| !observation.is_censored) {
        let _ = writeln!(text, "{}", observation.seconds);
    }
    text
}

fn document(options: &FaultOptions, models: &[FaultModel]) -> String {
    let mut text = String::from(
        "# Made by kubesquall from records of failures and repairs; to stand below a scenario's `spec:`.\n",
    );
    for model in models {
        let censored = model.observations.iter().filter(|observation| observation.is_censored).count();
        let _ = writeln!(text, "#\n# {}: {} lengths", model.field, model.observations.len() - censored);
        if censored > 0 {
            let _ = writeln!(text, "# and {censored} that had not ended when the observation did");
        }
        if matches!(model.taken, Distribution::Empirical { .. }) && censored > 0 {
            text.push_str("# (which the lengths themselves leave out: times come out too short)\n");
        }
        let _ = writeln!(text, "#   {:<12} {:>10} {:>9}  parameters", "family", "AIC", "distance");
        for fit in &model.fits {
            let parameters = written(&fit.distribution);
            let _ =
                writeln!(text, "#   {:<12} {:>10.1} {:>9.3}  {parameters}", fit.family.as_str(), fit.aic, fit.distance);
        }
    }
    let _ = writeln!(text, "faults:\n- name: {}\n  kind: {}", options.name, options.kind);
    for model in models {
        let _ = writeln!(text, "  {}: {}", model.field, written(&model.taken));
    }
    text
}

impl FaultModel {
    /// What is taken, on one line of YAML.
    #[must_use]
    pub fn written(&self) -> String {
        written(&self.taken)
    }
}

/// A distribution on one line of YAML.
fn written(distribution: &Distribution) -> String {
    let value = serde_json::to_value(distribution).unwrap_or_default();
    let mut text = String::new();
    flow(&value, &mut text);
    text
}

fn flow(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::Object(fields) => {
            text.push('{');
            for (index, (key, value)) in fields.iter().enumerate() {
                let _ = write!(text, "{}{key}: ", if index == 0 { "" } else { ", " });
                flow(value, text);
            }
            text.push('}');
        }
        serde_json::Value::String(plain) => text.push_str(plain),
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(wanted: Wanted) -> Result<Imported, String> {
        let mut records = Records::default();
        records.add_table("time_to_failure,time_to_repair\n10h,60\n20h,120\n40h,240\n80h,480\n").expect("a table");
        let options = FaultOptions { name: "crashes".into(), kind: "Crash".into(), wanted, ..FaultOptions::default() };
        fault_model(records, &options, "out")
    }

    #[test]
    fn the_process_names_what_was_fitted() {
        let found = imported(Wanted::Family(Family::Exponential)).expect("a model");
        let process = found.document.split_once("faults:\n").expect("a list").1;
        let expected = "- name: crashes\n  kind: Crash\n  timeToFailure: {exponential: {mean: 37h30m0s}}\n  timeToRepair: \
                        {exponential: {mean: 3m45s}}\n";
        assert_eq!(process, expected);
        assert_eq!(found.models[0].fits.len(), 4);
    }

    #[test]
    fn the_lengths_themselves_come_in_files() {
        let found = imported(Wanted::Empirical).expect("a model");
        assert!(found.document.contains("timeToRepair: {empirical: {file: out-repair.csv}}"), "{}", found.document);
        assert_eq!(found.files[1], ("out-repair.csv".to_owned(), "seconds\n60\n120\n240\n480\n".to_owned()));
    }

    #[test]
    fn a_tail_that_makes_failures_too_seldom_is_not_taken() {
        // Half of the nodes never failed in a year; the others did so at once, or late.
        let mut table = String::from("node,failed,repaired\n");
        for (node, day) in [0.01, 0.02, 0.05, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 200.0].into_iter().enumerate() {
            let _ = writeln!(table, "{node},{},{}", day * 86_400.0, day * 86_400.0 + 600.0 + node as f64);
        }
        let mut records = Records::default();
        records.add_table(&table).expect("a table");
        let watched = |text: &str| Some(text.to_owned());
        let options = FaultOptions {
            since: watched("0"),
            until: watched("31536000"),
            nodes: Some(20),
            ..FaultOptions::default()
        };
        let found = fault_model(records, &options, "out").expect("a model");
        let model = &found.models[0];
        let mean = |distribution: &Distribution| distribution.mean().expect("parameters").as_secs_f64();
        let observed = model.observations.iter().map(|of| of.seconds).sum::<f64>() / 10.0;
        assert!(model.fits.iter().any(|fit| mean(&fit.distribution) > 3.0 * observed));
        assert!((0.5..2.0).contains(&(mean(&model.taken) / observed)), "{:?}", model.taken);
    }

    #[test]
    fn too_little_is_told() {
        let mut records = Records::default();
        records.add_table("node,failed,repaired\na,5,9\n").expect("a table");
        let refused = fault_model(records, &FaultOptions::default(), "out").expect_err("refused");
        assert_eq!(refused, "there are 0 whole lengths for timeToFailure; at least 2 are needed");
    }
}
