//! A random process of failures, from records of failures and repairs.

use std::fmt::Write as _;

use super::records::{Records, Watch, instant};
use super::resampled::{Resampled, Resampling, resampled};
use crate::engine::{Distribution, Family, Fit, Observation, SCALES_S, are_alike, fit};
use crate::units::{SimDuration, counted, length, rfc3339_from_unix_nanos};

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

/// Why records cannot be made into a process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// A time of the observation that is none.
    #[error("`{text}` is not an instant such as 2026-03-01T00:00:00Z")]
    Instant {
        /// Which option it is of.
        option: &'static str,
        /// What is written.
        text: String,
    },
    /// The observation has no length.
    #[error("the observation ends, at {until}, before it begins, at {since}")]
    Backwards {
        /// When it begins.
        since: String,
        /// When it ends.
        until: String,
    },
    /// Nothing was observed.
    #[error("{} of the records {} outside of the observation, {watched}; they are from {first} to {last}", counted(*.count, "outage", "outages"), if *.count == 1 { "lies" } else { "lie" })]
    Outside {
        /// How many there are.
        count: usize,
        /// When it was.
        watched: String,
        /// The first instant of the records.
        first: String,
        /// The last.
        last: String,
    },
    /// More failed than were there.
    #[error("{failed} nodes have failed, which are more than {nodes}")]
    TooFewNodes {
        /// How many failed.
        failed: usize,
        /// How many are said to have been watched.
        nodes: u32,
    },
    /// The kind has parameters without which it cannot be played.
    #[error("a {kind} needs `{field}`, which records do not tell")]
    Parameter {
        /// The kind.
        kind: String,
        /// The field.
        field: &'static str,
        /// How it is added.
        add: &'static str,
    },
    /// What the records lack.
    #[error("{0}")]
    Records(String),
}

impl From<String> for FaultError {
    fn from(problem: String) -> Self {
        Self::Records(problem)
    }
}

impl FaultError {
    /// What is wrong, with the tables that say it where it is in what they say.
    pub fn of_tables(&self, tables: &[String]) -> String {
        match self {
            Self::Instant { .. } | Self::Backwards { .. } | Self::Parameter { .. } => self.to_string(),
            Self::Outside { .. } | Self::TooFewNodes { .. } | Self::Records(_) => {
                let named: Vec<String> = tables.iter().take(TABLES_MAX).map(|table| format!("`{table}`")).collect();
                let more = tables.len() - named.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("{}{more}: {self}", named.join(", "))
            }
        }
    }

    /// What can be done; options are called by what this makes of their names.
    pub fn help(&self, option: impl Fn(&str) -> String) -> String {
        match self {
            Self::Instant { option: name, .. } => {
                format!("give an instant or a number of seconds with {}", option(name))
            }
            Self::Backwards { .. } => format!("{} has to be before {}", option("since"), option("until")),
            Self::Outside { .. } => {
                format!("{} and {} say when nodes were watched", option("since"), option("until"))
            }
            Self::TooFewNodes { failed, .. } => format!(
                "{} is how many were watched, those that never failed among them: {failed} or more",
                option("nodes")
            ),
            Self::Parameter { kind, add, .. } => {
                format!("import them as a `Crash`, then write `kind: {kind}` and {add} to the process by hand")
            }
            Self::Records(_) => "give more records, or the fields by hand".to_owned(),
        }
    }
}

/// Tables that an error names.
const TABLES_MAX: usize = 3;

/// What the records do not say.
#[derive(Clone, Debug, Default)]
pub struct FaultOptions {
    /// Name of the process.
    pub name: String,
    /// Kind of the fault.
    pub kind: String,
    /// Whether a fault of the kind goes on until it is repaired, so that repairs are of interest.
    pub is_repaired: bool,
    /// Its fields without which a process of the kind cannot be played, each with how it is added.
    pub needed: Vec<(&'static str, &'static str)>,
    /// From when on nodes were watched.
    pub since: Option<String>,
    /// Until when.
    pub until: Option<String>,
    /// How many nodes were watched.
    pub nodes: Option<u32>,
    /// Whether they were new when that began; they had been running before if not.
    pub is_of_new_nodes: bool,
    /// Which distribution is taken.
    pub wanted: Wanted,
    /// How the records are to be drawn anew, if they are.
    pub resampling: Option<Resampling>,
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
    /// Why that is not what it seems, or not to be relied on.
    pub notes: Vec<String>,
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
    /// What was left out of the records.
    pub notes: Vec<String>,
    /// What records that are drawn anew say; the text of its file is the last of the files.
    pub resampled: Option<Resampled>,
}

/// Makes records into a process; `stem` begins the names of the files it refers to.
///
/// # Errors
///
/// What the records lack.
pub fn fault_model(mut records: Records, options: &FaultOptions, stem: &str) -> Result<Imported, FaultError> {
    if let Some((field, add)) = options.needed.first() {
        return Err(FaultError::Parameter { kind: options.kind.clone(), field, add });
    }
    let at = |option: &'static str, text: &Option<String>| {
        let read = |text: &String| instant(text).ok_or_else(|| FaultError::Instant { option, text: text.clone() });
        text.as_ref().map(read).transpose()
    };
    let watch = Watch {
        since: at("since", &options.since)?,
        until: at("until", &options.until)?,
        nodes: options.nodes,
        is_of_new_nodes: options.is_of_new_nodes,
    };
    if let (Some(since), Some(until)) = (&options.since, &options.until)
        && watch.until <= watch.since
    {
        return Err(FaultError::Backwards { since: since.clone(), until: until.clone() });
    }
    if records.is_empty() {
        return Err("there are no rows below the line that names the columns".to_owned().into());
    }
    let failed = records.node_count();
    if let Some(nodes) = options.nodes
        && (nodes as usize) < failed
    {
        return Err(FaultError::TooFewNodes { failed, nodes });
    }
    if let Some(count) = records.all_outside(watch) {
        let (first, last) = records.span();
        let [first, last] = [first, last].map(in_words);
        return Err(FaultError::Outside { count, watched: watched(options), first, last });
    }
    records.settle(watch);
    let notes = left_out(&records, options);
    let mut files = Vec::new();
    let mut models = Vec::new();
    let repairs = ("timeToRepair", "repair", records.to_repair.clone());
    let fields = [("timeToFailure", "failure", records.to_failure.clone())]
        .into_iter()
        .chain(options.is_repaired.then_some(repairs));
    for (field, part, observations) in fields {
        let file = format!("{stem}-{part}.csv");
        let model = model(field, observations, options.wanted, &file)?;
        if let Distribution::Empirical { .. } = model.taken {
            files.push((file, lengths(&model.observations)));
        }
        models.push(model);
    }
    let resampled = options.resampling.map(|of| resampled(of, &records, options, &models)).transpose()?;
    if let Some(resampled) = &resampled {
        files.push((format!("{stem}-resampled.yaml"), resampled.document.clone()));
    }
    Ok(Imported { document: document(options, &models, &notes), files, models, notes, resampled })
}

/// When the observation was, as far as it is said.
fn watched(options: &FaultOptions) -> String {
    let [since, until] = [("from", &options.since), ("until", &options.until)]
        .map(|(word, text)| text.as_ref().map(|text| format!("{word} {text}")));
    since.into_iter().chain(until).collect::<Vec<_>>().join(" ")
}

/// An instant of the records: a stamp, or the number of seconds that they have.
fn in_words(seconds: f64) -> String {
    /// Less is a time since something else than 1970: no records of clusters are as old.
    const STAMP_MIN_S: f64 = 3e8;
    if seconds < STAMP_MIN_S { format!("{seconds} s") } else { rfc3339_from_unix_nanos((seconds * 1e9) as i64) }
}

fn left_out(records: &Records, options: &FaultOptions) -> Vec<String> {
    let outside = (records.outside > 0).then(|| {
        let lie = counted(records.outside, "outage lies", "outages lie");
        let are = if records.outside == 1 { "is" } else { "are" };
        let observation = watched(options);
        format!("{lie} outside of the observation, {observation}, and {are} left out")
    });
    let without_end = match records.without_end {
        0 => Vec::new(),
        1 => vec!["one outage has no repair although its node failed again: how long it lasted is left out".to_owned()],
        count => vec![format!(
            "{count} outages have no repair although their nodes failed again: how long they lasted is left out"
        )],
    };
    outside.into_iter().chain(without_end).collect()
}

fn model(
    field: &'static str,
    observations: Vec<Observation>,
    wanted: Wanted,
    file: &str,
) -> Result<FaultModel, String> {
    let ended = observations.iter().filter(|observation| !observation.is_censored).count();
    if observations.iter().all(|observation| observation.seconds <= 0.0) && ended > 0 {
        return Err(format!("every length for {field} is zero: how long they are is not in the records"));
    }
    if ended < 2 {
        let found = if ended == 1 { "is 1 whole length".to_owned() } else { format!("are {ended} whole lengths") };
        return Err(format!("there {found} for {field}; at least 2 are needed"));
    }
    let mut fits: Vec<Fit> = Family::ALL.into_iter().filter_map(|family| fit(family, &observations)).collect();
    fits.sort_by(|a, b| a.aicc.total_cmp(&b.aicc));
    let of = |family: Family| fits.iter().find(|fit| fit.family == family);
    let mut notes = Vec::new();
    let taken = match wanted {
        Wanted::Empirical => Distribution::Empirical { file: file.into(), values: [].into() },
        Wanted::Best if are_alike(&observations) => {
            notes.push(format!(
                "all {ended} lengths are the same, so that nothing is known of how they vary: exponential is taken; \
                 `constant` may be meant"
            ));
            of(Family::Exponential).map(|fit| fit.distribution.clone()).ok_or_else(|| unfit(field, &observations))?
        }
        Wanted::Best if ended < ENDED_MIN => {
            notes.push(format!(
                "{ended} whole lengths are too few to tell families apart, {ENDED_MIN} are needed: exponential is taken"
            ));
            of(Family::Exponential).map(|fit| fit.distribution.clone()).ok_or_else(|| unfit(field, &observations))?
        }
        Wanted::Best => {
            let unfit_families = Family::ALL.into_iter().filter(|family| of(*family).is_none());
            let names: Vec<&str> = unfit_families.map(Family::as_str).collect();
            let best = best(&fits, &mut notes).ok_or_else(|| unfit(field, &observations))?;
            if !names.is_empty() {
                notes.push(format!("cannot be fitted to these lengths: {}", names.join(", ")));
            }
            best
        }
        Wanted::Family(family) => {
            if family != Family::Exponential && ended < ENDED_MIN {
                notes.push(format!("{ended} whole lengths are few for two parameters: give or take a factor of two"));
            }
            let name = family.as_str();
            of(family).map(|fit| fit.distribution.clone()).ok_or_else(|| {
                format!("no {name} distribution can be fitted to {field}: {}", why_unfit(&observations))
            })?
        }
    };
    Ok(FaultModel { field, observations, fits, taken, notes })
}

fn unfit(field: &str, observations: &[Observation]) -> String {
    format!("nothing can be fitted to {field}: {}", why_unfit(observations))
}

/// Why what was observed cannot be fitted.
fn why_unfit(observations: &[Observation]) -> String {
    let ended = observations.iter().filter(|observation| !observation.is_censored).count();
    let mean = observations.iter().map(|observation| observation.seconds).sum::<f64>() / ended as f64;
    if SCALES_S.contains(&mean) {
        return "more lengths are needed, or such as differ".to_owned();
    }
    let [mean, most] = [mean, SCALES_S.end].map(length);
    format!("{mean} were observed for each that ended, and only means from 1us to {most} can be fitted")
}

/// How many lengths that ended it takes to choose among families.
const ENDED_MIN: usize = 10;

/// The fit that goes best with the observations, of those whose mean agrees with theirs; notes which are passed over.
///
/// Where most lengths have not ended, a long tail may go best with those that have and yet have a mean of centuries: the failures
/// of a year would then be far too few. The exponential distribution has the observed time for each end as its mean.
fn best(fits: &[Fit], notes: &mut Vec<String>) -> Option<Distribution> {
    let seconds = |fit: &Fit| fit.distribution.mean().map_or(f64::INFINITY, SimDuration::as_secs_f64);
    let observed = fits.iter().find(|fit| fit.family == Family::Exponential).map(seconds)?;
    let agrees = |fit: &Fit| (observed / MEANS_APART_MAX..=observed * MEANS_APART_MAX).contains(&seconds(fit));
    let taken = fits.iter().position(agrees)?;
    notes.extend(fits[..taken].iter().map(|fit| {
        let ratio = seconds(fit) / observed;
        let (family, next) = (fit.family.as_str(), fits[taken].family.as_str());
        format!("{family} goes best with the records but is passed over for {next}: its mean is {ratio:.2} times the observed one")
    }));
    let (chosen, second) = (&fits[taken], fits.iter().skip(taken + 1).find(|fit| agrees(fit)));
    if let Some(second) = second.filter(|second| second.aicc - chosen.aicc < LEAD_MIN) {
        let (first, lead) = (chosen.family.as_str(), second.aicc - chosen.aicc);
        notes
            .push(format!("{first} leads {} by {lead:.1} only, which tells nothing: try both", second.family.as_str()));
    }
    if chosen.distance > DISTANCE_MAX {
        let (family, distance) = (chosen.family.as_str(), chosen.distance);
        notes.push(format!(
            "even {family} is far from the records (distance {distance:.2}): `--distribution empirical` takes them as they are"
        ));
    }
    Some(chosen.distribution.clone())
}

/// A lead of less in the criterion tells no family from the next.
///
/// # Source
/// Burnham and Anderson, Model Selection and Multimodel Inference, section 2.6: models within 2 of the best have support, too.
const LEAD_MIN: f64 = 2.0;

/// From which Kolmogorov distance on a fit is called bad.
const DISTANCE_MAX: f64 = 0.2;

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

fn document(options: &FaultOptions, models: &[FaultModel], notes: &[String]) -> String {
    let mut text = String::from(
        "# Made by kubesquall from records of failures and repairs; to stand below a scenario's `spec:`.\n",
    );
    for note in notes {
        let _ = writeln!(text, "# note: {note}");
    }
    for model in models {
        let censored = model.observations.iter().filter(|observation| observation.is_censored).count();
        let _ = writeln!(text, "#\n# {}: {} lengths", model.field, model.observations.len() - censored);
        if censored > 0 {
            let _ = writeln!(text, "# and {censored} that had not ended when the observation did");
        }
        let rests = model.observations.iter().filter(|observation| observation.is_rest).count();
        if rests > 0 {
            let _ = writeln!(
                text,
                "# {rests} of all were under way when it began, and are taken for the rests that they are"
            );
        }
        if matches!(model.taken, Distribution::Empirical { .. }) && censored > 0 {
            text.push_str("# (which the lengths themselves leave out: times come out too short)\n");
        }
        let _ =
            writeln!(text, "#   {:<12} {:>10} {:>9} {:>11}  parameters", "family", "AICc", "distance", "mean within");
        for fit in &model.fits {
            let parameters = written(&fit.distribution);
            let _ = writeln!(
                text,
                "#   {:<12} {:>10} {:>9.3} {:>11}  {parameters}",
                fit.family.as_str(),
                criterion(fit),
                fit.distance,
                error_of_mean(fit)
            );
        }
        for note in &model.notes {
            let _ = writeln!(text, "# note: {note}");
        }
    }
    let _ = writeln!(text, "faults:\n- name: {}\n  kind: {}", scalar(&options.name), options.kind);
    for model in models {
        let _ = writeln!(text, "  {}: {}", model.field, written(&model.taken));
    }
    text
}

/// The criterion of a fit as people read it.
#[must_use]
pub fn criterion(fit: &Fit) -> String {
    if fit.aicc.is_finite() { format!("{:.1}", fit.aicc) } else { "-".to_owned() }
}

/// The standard error of a fit's mean as people read it, as a share of the mean.
#[must_use]
pub fn error_of_mean(fit: &Fit) -> String {
    fit.errors.map_or_else(|| "-".to_owned(), |errors| format!("±{:.1} %", errors.mean * 100.0))
}

/// A text in YAML: in quotes if it could be taken for something else.
pub(super) fn scalar(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_word);
    let is_other = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    if is_plain && !is_other.contains(&text.to_ascii_lowercase().as_str()) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

impl FaultModel {
    /// What is taken, on one line of YAML.
    #[must_use]
    pub fn written(&self) -> String {
        written(&self.taken)
    }
}

/// A distribution on one line of YAML.
pub(super) fn written(distribution: &Distribution) -> String {
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

    fn imported(wanted: Wanted) -> Result<Imported, FaultError> {
        let mut records = Records::default();
        records.add_table("time_to_failure,time_to_repair\n10h,60\n20h,120\n40h,240\n80h,480\n").expect("a table");
        let options = FaultOptions {
            name: "crashes".into(),
            kind: "Crash".into(),
            is_repaired: true,
            wanted,
            ..FaultOptions::default()
        };
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
    fn lengths_of_nothing_alone_say_nothing() {
        let mut records = Records::default();
        records.add_table("time_to_failure,time_to_repair\n10h,0\n20h,0\n40h,0s\n").expect("a table");
        let options =
            FaultOptions { name: "a".into(), kind: "Crash".into(), is_repaired: true, ..FaultOptions::default() };
        let refused = fault_model(records.clone(), &options, "out").expect_err("nothing to fit").to_string();
        assert!(refused.contains("every length for timeToRepair is zero"), "{refused}");
        // Nobody repairs what is over at once.
        let options = FaultOptions { is_repaired: false, ..options };
        let found = fault_model(records, &options, "out").expect("a model");
        assert!(!found.document.contains("timeToRepair"), "{}", found.document);
    }

    #[test]
    fn a_tail_that_makes_failures_too_seldom_is_not_taken() {
        // Half of the nodes, which were new, never failed in a year; the others did so at once, or late.
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
            is_of_new_nodes: true,
            ..FaultOptions::default()
        };
        let found = fault_model(records, &options, "out").expect("a model");
        let model = &found.models[0];
        let mean = |distribution: &Distribution| distribution.mean().expect("parameters").as_secs_f64();
        let observed = model.observations.iter().map(|of| of.seconds).sum::<f64>() / 10.0;
        assert!(model.fits.iter().any(|fit| mean(&fit.distribution) > 3.0 * observed));
        assert!((0.5..2.0).contains(&(mean(&model.taken) / observed)), "{:?}", model.taken);
        assert!(model.notes[0].contains("goes best with the records but is passed over for"), "{:?}", model.notes);
        assert!(found.document.contains(&format!("# note: {}", model.notes[0])), "{}", found.document);
    }

    #[test]
    fn few_lengths_and_equal_ones_are_taken_for_exponential() {
        let check = |table: &str, expected: &str| {
            let mut records = Records::default();
            records.add_table(table).expect("a table");
            let found = fault_model(records, &FaultOptions::default(), "out").expect("a model");
            for model in &found.models {
                assert!(matches!(model.taken, Distribution::Exponential { .. }), "{:?}", model.taken);
                assert!(model.notes.len() == 1 && model.notes[0].starts_with(expected), "{:?}", model.notes);
            }
        };
        let header = "time_to_failure,time_to_repair\n";
        check(&format!("{header}100,60\n200,61\n"), "2 whole lengths are too few");
        check(&format!("{header}{}", "3600,60\n".repeat(12)), "all 12 lengths are the same");
        let mut ten = String::from(header);
        for length in 1..=10 {
            let _ = writeln!(ten, "{},{}", 1000 + length, 60 + length);
        }
        let mut records = Records::default();
        records.add_table(&ten).expect("a table");
        let found = fault_model(records, &FaultOptions::default(), "out").expect("a model");
        assert!(found.models.iter().all(|model| !matches!(model.taken, Distribution::Exponential { .. })));
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let check = |name: &str, expected: &str| assert_eq!(scalar(name), expected);
        check("crashes-2025", "crashes-2025");
        check("a: b", "\"a: b\"");
        check("yes", "\"yes\"");
        check("1e3", "\"1e3\"");
        check("", "\"\"");
    }

    #[test]
    fn too_little_is_told() {
        let mut records = Records::default();
        records.add_table("node,failed,repaired\na,5,9\n").expect("a table");
        let refused = fault_model(records, &FaultOptions::default(), "out").expect_err("refused").to_string();
        assert_eq!(refused, "there are 0 whole lengths for timeToFailure; at least 2 are needed");
        let mut records = Records::default();
        records.add_table("node,failed,repaired\n").expect("a table");
        let refused = fault_model(records, &FaultOptions::default(), "out").expect_err("refused").to_string();
        assert_eq!(refused, "there are no rows below the line that names the columns");
        let mut records = Records::default();
        records.add_table("time_to_failure\n3e10\n2e10\n").expect("a table");
        let refused = fault_model(records, &FaultOptions::default(), "out").expect_err("refused").to_string();
        let why = "289351d20h were observed for each that ended, and only means from 1us to 115740d17h can be fitted";
        assert_eq!(refused, format!("nothing can be fitted to timeToFailure: {why}"));
    }

    #[test]
    fn what_lies_outside_of_the_observation_is_told() {
        let mut records = Records::default();
        let table = "node,failed,repaired\na,100,160\na,500,560\nb,300,390\nb,900,1000\nb,2000,2020\n";
        records.add_table(table).expect("a table");
        let [since, until] = ["200", "950"].map(|at| Some(at.to_owned()));
        let options = FaultOptions {
            name: "a".into(),
            kind: "Crash".into(),
            is_repaired: true,
            since,
            until,
            ..FaultOptions::default()
        };
        let found = fault_model(records, &options, "out").expect("a model");
        let note = "2 outages lie outside of the observation, from 200 until 950, and are left out";
        assert_eq!(found.notes, [note]);
        assert!(found.document.contains(note), "{}", found.document);
    }
}
