//! What there is of real clusters, made into parts of a scenario: texts, which are written nowhere.

use std::fmt;

use super::error::Error;
use crate::chaos::FaultKind;
use crate::diagnostics::Diagnostics;
use crate::engine::Family;
use crate::import::{FaultOptions, Records, Resampling, Wanted, fault_model};

#[cfg(feature = "bundles")]
pub use bundles::{ClusterImport, LatencyImport, OutageImport};
#[cfg(feature = "cli")]
pub(crate) use bundles::{Offset, latency_block, refined};

/// What was imported.
#[derive(Clone, Debug)]
pub struct Imported {
    files: Vec<(String, String)>,
    notes: Vec<String>,
    warnings: Diagnostics,
}

impl Imported {
    /// The document: a cluster, random processes, latencies, or the scenario of an outage.
    ///
    /// # Panics
    ///
    /// Never: there is one.
    #[must_use]
    pub fn document(&self) -> &str {
        &self.files.first().expect("the document is the first file").1
    }

    /// The document and the files beside it that it names: names and texts.
    #[must_use]
    pub fn files(&self) -> &[(String, String)] {
        &self.files
    }

    /// What to know about it, a line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What is wrong with what was read, none of it so that the rest is of no use.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
}

/// Makes tables of failures and repairs into a random process for a scenario's `spec.faults`. `docs/import.md` tells what tables hold.
///
/// # Examples
///
/// ```
/// use kubesquall::FaultImport;
///
/// let table = "node,failed,repaired\na,10,20\nb,30,45\na,70,90\nc,100,104\n";
/// let imported = FaultImport::new().kind("Crash").nodes(40).import([("outages.csv", table)])?;
/// assert!(imported.document().contains("kind: Crash"));
/// assert!(FaultImport::new().import([("outages.csv", "node\na\n")]).is_err());
/// # Ok::<(), kubesquall::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct FaultImport {
    name: Option<String>,
    kind: Option<String>,
    nodes: Option<u32>,
    since: Option<String>,
    until: Option<String>,
    is_of_new_nodes: bool,
    distribution: Option<String>,
    resamples: Option<u32>,
    seed: u64,
}

impl FaultImport {
    /// Crashes, called `measured`, with the distributions that go best.
    pub fn new() -> Self {
        Self::default()
    }

    /// The name of the process, and of the file.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The kind of the fault, such as `Crash`.
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// How many nodes were watched, those that never failed among them; otherwise those that failed.
    pub fn nodes(mut self, count: u32) -> Self {
        self.nodes = Some(count);
        self
    }

    /// When the observation began; otherwise with the first record.
    pub fn since(mut self, instant: impl Into<String>) -> Self {
        self.since = Some(instant.into());
        self
    }

    /// When the observation ended; otherwise with the last record.
    pub fn until(mut self, instant: impl Into<String>) -> Self {
        self.until = Some(instant.into());
        self
    }

    /// Whether the nodes were new when the observation began; otherwise they had been running before, and rests of lengths were seen.
    pub fn new_nodes(mut self, are_new: bool) -> Self {
        self.is_of_new_nodes = are_new;
        self
    }

    /// The distribution to be taken: `exponential`, `weibull`, `lognormal`, `gamma`, or `empirical` for the lengths themselves.
    pub fn distribution(mut self, name: impl Into<String>) -> Self {
        self.distribution = Some(name.into());
        self
    }

    /// Draws the records anew so often, 20 to 1000 times, node by node and with replacement, and fits each time: `<name>-resampled.yaml`, the
    /// last of the files, which studies name under `inputs`. 100 do as a rule.
    pub fn resample(mut self, count: u32) -> Self {
        self.resamples = Some(count);
        self
    }

    /// What they are drawn from; otherwise 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Reads tables: the names that messages call them by, and their texts.
    ///
    /// # Errors
    ///
    /// If a table cannot be used, there are too few records, or an option means nothing.
    pub fn import<N, T>(&self, tables: impl IntoIterator<Item = (N, T)>) -> Result<Imported, Error>
    where
        N: fmt::Display,
        T: AsRef<str>,
    {
        let kind = self.fault_kind()?;
        let wanted = self.wanted()?;
        let (mut records, mut names) = (Records::default(), Vec::new());
        for (name, text) in tables {
            records.add_table(text.as_ref()).map_err(|error| {
                Error::argument(format!("`{name}` cannot be used: {error}"), "docs/import.md tells what tables hold")
            })?;
            names.push(name.to_string());
        }
        let name = self.name.clone().unwrap_or_else(|| "measured".to_owned());
        let options = FaultOptions {
            name: name.clone(),
            kind: kind.as_str().to_owned(),
            is_repaired: kind.course().lasts(),
            needed: kind.needed_fields().collect(),
            since: self.since.clone(),
            until: self.until.clone(),
            nodes: self.nodes,
            is_of_new_nodes: self.is_of_new_nodes,
            wanted,
            resampling: self.resamples.map(|count| Resampling { count, seed: self.seed }),
        };
        let imported = fault_model(records, &options, &name)
            .map_err(|error| Error::argument(error.of_tables(&names), error.help(|option| format!("`{option}`"))))?;
        let of_models = imported.models.iter().flat_map(|model| model.notes.iter().cloned());
        let of_resamples = imported.resampled.iter().flat_map(|resampled| resampled.notes.iter().cloned());
        let notes = imported.notes.iter().cloned().chain(of_models).chain(of_resamples).collect();
        let document = (format!("{name}.yaml"), imported.document);
        let files = [document].into_iter().chain(imported.files).collect();
        Ok(Imported { files, notes, warnings: Diagnostics::new() })
    }

    fn fault_kind(&self) -> Result<FaultKind, Error> {
        let kind = self.kind.as_deref().unwrap_or("Crash");
        serde_json::from_value(kind.into()).map_err(|error| {
            Error::argument(format!("`{kind}` is no kind of fault: {error}"), "docs/faults.md has all")
        })
    }

    fn wanted(&self) -> Result<Wanted, Error> {
        match self.distribution.as_deref() {
            None | Some("best") => Ok(Wanted::Best),
            Some("empirical") => Ok(Wanted::Empirical),
            Some(name) => {
                let found = Family::ALL.into_iter().find(|family| family.as_str() == name);
                found.map(Wanted::Family).ok_or_else(|| {
                    let names: Vec<&str> = Family::ALL.iter().map(|family| family.as_str()).collect();
                    let help = format!("take best, empirical, {}", names.join(", "));
                    Error::argument(format!("`{name}` is no distribution that is fitted"), help)
                })
            }
        }
    }
}

#[cfg(feature = "bundles")]
mod bundles {
    use std::path::Path;

    use serde_json::{Map, Value};

    use super::Imported;
    use crate::diagnostics::Diagnostics;
    use crate::evidence::write_observed;
    use crate::facade::{Error, Observations, RefineOptions, Scenario, Unsure};
    use crate::import::cluster;
    use crate::import::latencies::{LatencyEvidence, LatencyOptions};
    use crate::import::outage::{self, ClockOptions, ImportedOutage, RefinedTimes};
    use crate::model::{ManifestObject, manifest, yaml};
    use crate::scenario::Invalid;
    use crate::units::SimDuration;

    /// Makes dumps, support bundles, backups and recordings into a cluster to play. `docs/import.md` tells what is read.
    #[derive(Clone, Copy, Debug, Default)]
    #[must_use]
    pub struct ClusterImport {
        allows_partial: bool,
    }

    impl ClusterImport {
        /// All of it has to be readable.
        pub fn new() -> Self {
            Self::default()
        }

        /// Whether to go on without what cannot be read; the document says what is missing.
        pub fn allow_partial(mut self, is_allowed: bool) -> Self {
            self.allows_partial = is_allowed;
            self
        }

        /// Reads files, archives and directories, and makes one cluster of them: `cluster.yaml`.
        ///
        /// # Errors
        ///
        /// Nothing of a cluster was found, or a part of it cannot be read, see [`Error::diagnostics`].
        pub fn import<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Result<Imported, Error> {
            let imported = self.read(paths)?;
            let files = vec![("cluster.yaml".to_owned(), imported.document)];
            Ok(Imported { files, notes: imported.statements, warnings: imported.warnings })
        }

        fn read<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Result<cluster::ImportedCluster, Error> {
            let mut importing = cluster::ClusterImport::new();
            paths.into_iter().for_each(|path| importing.add(path.as_ref()));
            let unusable = |found: cluster::UnusableCluster| {
                Error::from(Invalid { diagnostics: found.diagnostics, sources: found.sources })
            };
            importing.finish(self.allows_partial).map_err(unusable)
        }
    }

    /// Makes a cluster's pods, nodes and events into the latencies of a scenario. `docs/latencies.md` tells how.
    #[derive(Clone, Copy, Debug)]
    #[must_use]
    pub struct LatencyImport {
        samples_min: usize,
        allows_partial: bool,
    }

    impl Default for LatencyImport {
        fn default() -> Self {
            Self { samples_min: 10, allows_partial: false }
        }
    }

    impl LatencyImport {
        /// Ten lengths make a distribution, and all has to be readable.
        pub fn new() -> Self {
            Self::default()
        }

        /// Lengths with a beginning and an end that it takes for a distribution: at least 4.
        pub fn min_samples(mut self, count: usize) -> Self {
            self.samples_min = count.max(4);
            self
        }

        /// Whether to go on without what cannot be read.
        pub fn allow_partial(mut self, is_allowed: bool) -> Self {
            self.allows_partial = is_allowed;
            self
        }

        /// Reads files, archives and directories: `latencies.yaml`, whose block stands below a scenario's `spec:`.
        ///
        /// # Errors
        ///
        /// Nothing of use was read, or a part cannot be read, see [`Error::diagnostics`].
        pub fn import<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Result<Imported, Error> {
            let mut evidence = LatencyEvidence::new();
            paths.into_iter().for_each(|path| evidence.add(path.as_ref()));
            let stem = "latencies".to_owned();
            let options =
                LatencyOptions { samples_min: self.samples_min, is_partial_allowed: self.allows_partial, stem };
            let imported = evidence
                .finish(&options)
                .map_err(|found| Error::from(Invalid { diagnostics: found.diagnostics, sources: found.sources }))?;
            let of =
                |workload: &Option<String>| workload.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
            let notes = imported.latencies.iter().flat_map(|latency| {
                let field = latency.measure.field();
                latency.notes.iter().map(move |note| format!("{field}{}: {note}", of(&latency.workload)))
            });
            let notes = notes.collect();
            let document = ("latencies.yaml".to_owned(), imported.document);
            let files = [document].into_iter().chain(imported.files).collect();
            Ok(Imported { files, notes, warnings: imported.warnings })
        }
    }

    /// Makes records of an outage into a scenario that plays it again. `docs/outage.md` tells what is read and how sure it is.
    #[derive(Clone, Debug, Default)]
    #[must_use]
    pub struct OutageImport {
        name: Option<String>,
        grace: Option<SimDuration>,
        timezone: Option<String>,
        year: Option<i16>,
        latencies: Option<(String, String)>,
        plays: Option<u32>,
        allows_partial: bool,
    }

    impl OutageImport {
        /// Called `outage`; clocks that do not say otherwise are UTC.
        pub fn new() -> Self {
            Self::default()
        }

        /// The name of the scenario: lower case letters, digits, `-` and `.`.
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.name = Some(name.into());
            self
        }

        /// kube-controller-manager's `--node-monitor-grace-period`; otherwise that of the cluster's version.
        pub fn grace(mut self, length: SimDuration) -> Self {
            self.grace = Some(length);
            self
        }

        /// By how much clocks that do not say it are ahead of UTC, such as `+02:00` or `-05:30`.
        pub fn timezone(mut self, offset: impl Into<String>) -> Self {
            self.timezone = Some(offset.into());
            self
        }

        /// The year of logs that name none; otherwise that of the other records.
        pub fn year(mut self, year: i16) -> Self {
            self.year = Some(year);
            self
        }

        /// A text with a `latency` block, such as [`LatencyImport`] makes, and how messages name it.
        pub fn latencies(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
            self.latencies = Some((name.into(), text.into()));
            self
        }

        /// Plays the outage, this many times at most, and moves begins and lengths of faults, within what the evidence leaves open, to
        /// where the play agrees best with what was seen.
        pub fn refine(mut self, plays: u32) -> Self {
            self.plays = Some(plays);
            self
        }

        /// Whether to go on without what cannot be read; the files say what is missing.
        pub fn allow_partial(mut self, is_allowed: bool) -> Self {
            self.allows_partial = is_allowed;
            self
        }

        /// Reads the evidence and the cluster: files, archives and directories. Gives `outage.yaml`, `cluster.yaml`, `evidence.json`,
        /// `observed.csv` and what was applied.
        ///
        /// # Errors
        ///
        /// Nothing of use was read, a part cannot be read, see [`Error::diagnostics`]; or an option means nothing.
        pub fn import<P, Q>(
            &self,
            evidence: impl IntoIterator<Item = P>,
            cluster: impl IntoIterator<Item = Q>,
        ) -> Result<Imported, Error>
        where
            P: AsRef<Path>,
            Q: AsRef<Path>,
        {
            let options = self.options()?;
            let mut warnings = Diagnostics::new();
            let imported = ClusterImport::new().allow_partial(self.allows_partial).read(cluster)?;
            warnings.extend(imported.warnings);
            let cluster: Vec<ManifestObject> = manifest::load_text("cluster.yaml", &imported.document).objects;
            let mut importing = outage::OutageImport::new(options);
            evidence.into_iter().for_each(|path| importing.add(path.as_ref()));
            let mut imported = importing
                .finish(&cluster)
                .map_err(|found| Error::from(Invalid { diagnostics: found.diagnostics, sources: found.sources }))?;
            if let Some(plays) = self.plays
                && let Some(found) = refined(&imported, plays)?
            {
                imported.refine(&found);
            }
            warnings.extend(imported.warnings);
            let mut observed = Vec::new();
            write_observed(&mut observed, &imported.observed).expect("writing to memory");
            let mut files = vec![
                ("outage.yaml".to_owned(), imported.scenario),
                ("cluster.yaml".to_owned(), imported.cluster),
                ("evidence.json".to_owned(), imported.record),
                ("observed.csv".to_owned(), String::from_utf8_lossy(&observed).into_owned()),
            ];
            files.extend(imported.applied);
            let parts =
                [imported.faults, imported.commands, imported.put_back, imported.not_put_back, imported.unexplained];
            let unread = imported.unread.iter().map(|unread| format!("not read: {}: {}", unread.name, unread.why));
            Ok(Imported { files, notes: unread.chain(parts.concat()).collect(), warnings })
        }

        fn options(&self) -> Result<outage::OutageOptions, Error> {
            let name = self.name.clone().unwrap_or_else(|| "outage".to_owned());
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
            if name.is_empty() || name.len() > 253 || !name.chars().all(is_plain) {
                let message = format!("`{name}` is no name of a scenario");
                return Err(Error::argument(message, "a name has lower case letters, digits, `-` and `.`"));
            }
            if self.grace.is_some_and(SimDuration::is_zero) {
                return Err(Error::argument("a grace of no time misses every node", "give a length such as 40s"));
            }
            let offset = self.timezone.as_deref().map(Offset::parse).transpose();
            let offset = offset.map_err(|help| Error::argument("there is no such offset from UTC", help))?;
            let latency = match &self.latencies {
                None => Map::new(),
                Some((name, text)) => latency_block(text).map_err(|why| {
                    let help = "it has a `latency:` block, as `import latencies` writes it";
                    Error::argument(format!("`{name}` cannot be used: {why}"), help)
                })?,
            };
            Ok(outage::OutageOptions {
                name,
                grace: self.grace,
                latency,
                clock: ClockOptions {
                    offset: offset.map(|offset| offset.by),
                    is_behind: offset.is_some_and(|offset| offset.is_behind),
                    year: self.year,
                },
                is_partial_allowed: self.allows_partial,
            })
        }
    }

    /// East or west of UTC.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Offset {
        pub(crate) by: SimDuration,
        pub(crate) is_behind: bool,
    }

    impl Offset {
        /// Reads `+02:00`, `-05:30` or `Z`.
        ///
        /// # Errors
        ///
        /// What is to be written.
        pub(crate) fn parse(text: &str) -> Result<Self, String> {
            let wrong = || "write an offset such as +02:00, -05:30 or Z".to_owned();
            if matches!(text, "Z" | "z" | "UTC") {
                return Ok(Self { by: SimDuration::ZERO, is_behind: false });
            }
            let (is_behind, digits) = match text.split_at_checked(1) {
                Some(("+", digits)) => (false, digits),
                Some(("-", digits)) => (true, digits),
                _ => return Err(wrong()),
            };
            let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "00"));
            let number = |text: &str, max: u64| {
                let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
                text.parse::<u64>().ok().filter(|number| is_number && *number <= max).ok_or_else(wrong)
            };
            let by = SimDuration::from_secs(number(hours, 14)? * 3600 + number(minutes, 59)? * 60);
            Ok(Self { by, is_behind })
        }
    }

    /// The `latency` block of a text: below `spec`, at the top, or all of it.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(crate) fn latency_block(text: &str) -> Result<Map<String, Value>, String> {
        let document: Value =
            serde_saphyr::from_str_with_options(text, yaml::options(text)).map_err(|error| error.to_string())?;
        let block = document.pointer("/spec/latency").or_else(|| document.get("latency")).unwrap_or(&document);
        block.as_object().cloned().ok_or_else(|| "no map is in it".to_owned())
    }

    /// The times with which a play agrees best; none if there is nothing to find.
    ///
    /// # Errors
    ///
    /// If the scenario cannot be played with one of them.
    pub(crate) fn refined(imported: &ImportedOutage, plays: u32) -> Result<Option<RefinedTimes>, Error> {
        if imported.observed.is_empty() || imported.bounded.is_empty() {
            return Ok(None);
        }
        let mut observed = Vec::new();
        write_observed(&mut observed, &imported.observed).expect("writing to memory");
        let seen = Observations::parse(&String::from_utf8_lossy(&observed))?;
        let mut files = vec![("cluster.yaml".to_owned(), imported.cluster.clone())];
        files.extend(imported.applied.iter().cloned());
        let scenario = Scenario::parse(&imported.scenario, files)?;
        let unsure: Vec<Unsure> = imported
            .bounded
            .iter()
            .map(|time| Unsure { path: time.path.clone(), value: time.value, least: time.least, most: time.most })
            .collect();
        let found = scenario.refine(&seen, &unsure, &RefineOptions::new().plays(plays as usize))?;
        Ok(Some(RefinedTimes {
            before: found.before,
            after: found.after,
            plays: found.plays,
            times: found.values.iter().map(|value| (value.after, value.explains)).collect(),
        }))
    }
}
