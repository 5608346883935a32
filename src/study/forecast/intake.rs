//! Reading a cluster: dumps, manifests or a scenario, with everything that is going to happen to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::catalogue::{self, Catalogue, needs_runbook, runbook_lines};
use super::changes::Changes;
use super::extent::{Whole, Work};
use super::incident::{Incident, IncidentKind};
use super::rates;
use super::results::Question;
use super::share::fitting;
use super::toll::{Observing, Toll};
use super::units::{Loss, Units};
use super::work_out::{Options, YEARS};
use crate::arena::Symbol;
use crate::chaos::ChaosPlan;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Source, Sources};
use crate::model::manifest::Folder;
use crate::observe::Objective;
use crate::scenario::{
    self, API_VERSION, Assumption, At, DocumentKind, Invalid, Overrides, OwnDocument, Reader, ResolvedScenario,
    TimelineAction,
};
use crate::simulation::{Prepared, Script};
use crate::state::Store;
use crate::study::plan::cases::mentioned;
use crate::units::{SimDuration, SimTime};

/// How places in the document made here are named; nobody else sees it.
const DOCUMENT: &str = "arguments";

/// The longest play of random failures.
const YEAR: SimDuration = SimDuration::from_secs(365 * 24 * 3600);

/// A play of random failures has at most about so many.
const FAILURES_MAX: f64 = 3000.0;

/// A play of random failures has at most about so many events that would be there without any: Jobs that come and go, pods that wait
/// for a node for ever and are tried again, containers that crash.
const CALM_EVENTS_MAX: f64 = 150_000.0;

/// How long nothing happens for, to see who serves.
const CALM: SimDuration = SimDuration::from_secs(3600);

/// What is asked besides the cluster.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Random processes in place of the usual ones: the text of a file, as `import faults` writes it, and how it is called.
    pub rates: Option<(String, String)>,
    /// What the catalogue is to have besides or not to have: the text of a file, and how it is called.
    pub catalogue: Option<(String, String)>,
}

/// A cluster, and everything that is going to happen to it.
#[derive(Debug)]
pub struct Forecast {
    /// How it is called.
    pub name: String,
    /// What was asked of it.
    pub asked: Question,
    /// The cluster, in which nothing happens.
    pub scenario: ResolvedScenario,
    /// What happens, one at a time.
    pub incidents: Vec<Incident>,
    /// What the catalogue would have besides.
    pub left_out: Vec<String>,
    /// What is taken for granted about failures.
    pub assumed: Vec<Assumption>,
    /// The usual failures that are not played, as a file brings others.
    pub not_played: Vec<String>,
    /// How long a play of random failures is.
    pub year: SimDuration,
    /// Names of the random processes, in their order.
    pub faults: Vec<String>,
    /// The cluster as a document that needs no other file.
    pub lock_file: Arc<str>,
    /// Equal for clusters to which the same can happen.
    fingerprint: u64,
    pub(super) units: Units,
    pub(super) objectives: Vec<Objective>,
    pub(super) settled: Prepared,
    /// What plays take; guessed.
    pub(super) work: Work,
    /// What is typed of each node that is off, and when it is back; of none, where nobody would gain by it.
    pub(super) runbook: BTreeMap<Symbol, [TimelineAction; 2]>,
    /// Every incident in one script.
    pub(super) script: Script,
    /// The random processes.
    pub(super) random: Script,
}

impl Forecast {
    /// What it is made of, with so many years.
    pub(super) fn whole(&self, years: u64, are_years_asked: bool) -> Whole<'_> {
        let (fixes, faults) = (fitting(self), self.faults.len());
        Whole { incidents: &self.incidents, work: self.work, fixes, faults, years, are_years_asked }
    }

    /// Plays of random failures are no longer than is bearable.
    fn shorten(&mut self) {
        let year = self.whole(YEARS, false).bearable(self.year);
        self.work.year = (self.work.year as f64 * year.as_secs_f64() / self.year.as_secs_f64()) as u64;
        self.year = year;
    }

    /// Equal for forecasts whose plays are the same, one after the other, as far as they go.
    #[must_use]
    pub fn fingerprint(&self, options: &Options<'_>) -> u64 {
        let text = format!(
            "{} {:016x} {} {:?} {:?}",
            env!("CARGO_PKG_VERSION"),
            self.fingerprint,
            self.scenario.seed,
            options.years,
            options.precision
        );
        crate::arena::stable_hash(text.as_bytes())
    }
}

/// Reads a cluster: files, directories and globs of manifests and dumps, or one scenario, whose own timeline is an incident more.
///
/// # Errors
///
/// Everything that is wrong with them.
pub fn load(paths: &[PathBuf], folder: &Folder, overrides: &Overrides, asked: &Asked) -> Result<Forecast, Invalid> {
    let named: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let (reader, is_scenario) = match scenario_of(paths, folder)? {
        Some(path) => (Reader::open(folder, path, overrides)?, true),
        None => {
            let document = json!({
                "apiVersion": API_VERSION,
                "kind": "Scenario",
                "metadata": {"name": name_of(paths)},
                "spec": {"duration": "1h", "cluster": {"manifests": named}},
            });
            let reader = Reader::of_text(DOCUMENT, document.to_string(), folder.clone());
            (reader.with(overrides), false)
        }
    };
    let read = |overrides: &Overrides| {
        reader.load(overrides).map_err(|invalid| if is_scenario { invalid } else { as_given(invalid) })
    };
    let own = if is_scenario { Some(read(&Overrides::none())?) } else { None };
    let nothing = nothing_happens();
    let mut base = read(&nothing)?;
    if !is_scenario {
        base.warnings = without_document(base.warnings);
    }
    let settled = Prepared::new(&base);
    let mut units = Units::of(&base.objects);
    let calm = calm(&units, &base, &settled);
    units.down = down(&calm);
    let Catalogue { mut incidents, mut left_out } =
        Catalogue::of(settled.store(), &base, &mentioned(&base.objects), &units);
    let FromFiles { written, mut assumed, not_played, processes, processes_at } =
        from_files(asked, settled.store(), &mut incidents, &mut left_out)?;
    let of_files = |mut invalid: Invalid| {
        invalid.sources.insert_all(&written);
        invalid
    };
    if own.is_none() {
        assumed.extend(planned_assumed(&incidents));
    }
    let mut everything = nothing.clone();
    let mut timeline = one_after_the_other(&mut incidents);
    let names = || settled.store().nodes().map(|(id, _)| settled.store().node_name(id)).collect();
    let named: Vec<Symbol> = if needs_runbook(&base) { names() } else { Vec::new() };
    let typed: Vec<Value> = named.iter().flat_map(|name| runbook_lines(name.as_str())).map(at_any_time).collect();
    let of_nodes = timeline.len();
    timeline.extend(typed);
    everything.set("spec.timeline", &json!(timeline).to_string());
    everything.set("spec.faults", &json!(processes).to_string());
    everything.set("spec.duration", "365d");
    // What is wrong with something that a file brings is told at its place there.
    for (index, entry, at) in incidents.iter().flat_map(Incident::written) {
        everything.set_from(&format!("spec.timeline[{index}]"), &entry.to_string(), at.clone(), at.clone());
    }
    for ((index, process), at) in processes.iter().enumerate().zip(&processes_at) {
        everything.set_from(&format!("spec.faults[{index}]"), &process.to_string(), at.clone(), at.clone());
    }
    let all = read(&everything).map_err(of_files)?;
    let alone = |entry: &Value| {
        let mut alone = nothing.clone();
        alone.set("spec.timeline", &json!([entry]).to_string());
        read(&alone).map(|read| read.timeline.len())
    };
    check_written(&incidents, &all, timeline.len(), alone).map_err(of_files)?;
    let script = script_of(&all);
    let actions: Vec<TimelineAction> = all.timeline[of_nodes..].iter().map(|(_, action)| *action).collect();
    let runbook = named.into_iter().zip(actions.chunks_exact(2)).map(|(name, two)| (name, [two[0], two[1]])).collect();
    let random = Script { chaos: all.chaos.clone(), timeline: Vec::new(), ..script.clone() };
    let faults = all.chaos.processes.iter().map(|process| process.name.clone()).collect();
    if let Some(own) = own.filter(|own| !own.timeline.is_empty() || !own.chaos.processes.is_empty()) {
        let label = format!("what happens in {}", own.name);
        let mut incident = Incident::new(IncidentKind::Own, &own.name, label, own.duration, Vec::new());
        incident.own = Some(whole_script(&own));
        incidents.push(incident);
    }
    let (year, work) = length_of_years(&all, settled.store(), calm.events);
    let objectives = units.objectives(&base.objectives);
    let name = base.name.clone();
    let lock_file: Arc<str> = scenario::lock_file(&base).into();
    let fingerprint = fingerprint(&lock_file, &everything, &incidents);
    let mut forecast = Forecast {
        name,
        asked: question(paths, overrides, asked),
        scenario: base,
        incidents,
        left_out,
        assumed,
        not_played,
        year,
        faults,
        lock_file,
        fingerprint,
        units,
        objectives,
        settled,
        work,
        runbook,
        script,
        random,
    };
    forecast.shorten();
    Ok(forecast)
}

/// The cluster of a scenario without what happens to it.
fn nothing_happens() -> Overrides {
    let mut nothing = Overrides::none();
    for field in ["spec.timeline", "spec.faults", "spec.expect"] {
        nothing.set(field, "[]");
    }
    nothing
}

/// What files of one's own bring.
struct FromFiles {
    /// Their texts.
    written: Sources,
    /// What is taken for granted where they say nothing.
    assumed: Vec<Assumption>,
    /// Usual failures that they leave out.
    not_played: Vec<String>,
    /// The random processes, and where they stand if a file has them.
    processes: Vec<Value>,
    processes_at: Vec<Location>,
}

/// Reads the files, and changes the catalogue.
fn from_files(
    asked: &Asked,
    store: &Store,
    incidents: &mut Vec<Incident>,
    left_out: &mut Vec<String>,
) -> Result<FromFiles, Invalid> {
    let mut written = Sources::new();
    if let Some((name, text)) = &asked.catalogue {
        let changes = Changes::read(name, text)?;
        written.insert(changes.source());
        changes.apply(incidents, left_out)?;
    }
    let Some((name, text)) = &asked.rates else {
        let (processes, assumed) = rates::processes(store);
        return Ok(FromFiles { written, assumed, not_played: Vec::new(), processes, processes_at: Vec::new() });
    };
    written.insert(Source::new(name.as_str(), text.as_str()));
    let (processes, processes_at) = processes_of_file(name, text)?;
    let not_played = rates::not_in(store, &processes);
    Ok(FromFiles { written, assumed: Vec::new(), not_played, processes, processes_at })
}

/// The entries of all incidents, each of which is told where its own stand.
fn one_after_the_other(incidents: &mut [Incident]) -> Vec<Value> {
    let mut timeline = Vec::new();
    for incident in incidents {
        incident.entries = timeline.len()..timeline.len() + incident.timeline.len();
        timeline.extend(incident.timeline.iter().cloned());
        incident.runbook_entries = timeline.len()..timeline.len() + incident.runbook.len();
        timeline.extend(incident.runbook.iter().cloned());
    }
    timeline
}

/// Refuses incidents of somebody's own of which an entry does several things, or happens when they are over. `all` has been made of so
/// many entries.
fn check_written(
    incidents: &[Incident],
    all: &ResolvedScenario,
    entries: usize,
    actions_of: impl Fn(&Value) -> Result<usize, Invalid>,
) -> Result<(), Invalid> {
    if all.timeline.len() != entries {
        return Err(several_at_once(incidents, actions_of)?);
    }
    let late = incidents.iter().find_map(|incident| after_the_end(incident, all));
    late.map_or(Ok(()), |diagnostic| Err(Invalid::of(diagnostic)))
}

/// An entry of somebody's incident does several things at once.
fn several_at_once(
    incidents: &[Incident],
    actions_of: impl Fn(&Value) -> Result<usize, Invalid>,
) -> Result<Invalid, Invalid> {
    let mut found = Diagnostics::new();
    for (_, entry, at) in incidents.iter().flat_map(Incident::written) {
        let count = actions_of(entry)?;
        if count != 1 {
            let message = format!("this entry does {count} things at once");
            let help = "write an entry for each: a fault, a kubectl line";
            found.push(Diagnostic::error("scenario::bad_value", message).at(at.clone(), "").help(help));
        }
    }
    Ok(Invalid { diagnostics: found, sources: Sources::new() })
}

/// What somebody's incident has behind its end, where it is not played any more.
fn after_the_end(incident: &Incident, all: &ResolvedScenario) -> Option<Diagnostic> {
    let end = SimTime::ZERO + incident.length;
    let late = incident.written().find(|(index, _, _)| all.timeline[*index].0 >= end)?;
    let message =
        format!("this happens at {}, but `{}` lasts for {}", all.timeline[late.0].0, incident.label, incident.length);
    let diagnostic = Diagnostic::error("scenario::after_the_end", message).at(late.2.clone(), "");
    Some(diagnostic.help("make its `duration` longer, or let this happen earlier"))
}

/// Of a cluster, what overrides let happen to it, and its incidents in their order.
fn fingerprint(lock_file: &str, everything: &Overrides, incidents: &[Incident]) -> u64 {
    let mut text = format!("{lock_file}{}", everything.source().text);
    for incident in incidents {
        let _ = write!(text, "\n{} {} {} {}", incident.id, incident.length, incident.per_year, incident.alike);
    }
    crate::arena::stable_hash(text.as_bytes())
}

/// What was asked, as far as it is known before anything is played.
fn question(paths: &[PathBuf], overrides: &Overrides, asked: &Asked) -> Question {
    let name_of = |file: &Option<(String, String)>| file.as_ref().map(|(name, _)| name.clone());
    let set = overrides.source();
    Question {
        inputs: paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        // The seed is told by itself.
        set: set.text.lines().filter(|line| !line.starts_with("spec.seed=")).map(str::to_owned).collect(),
        catalog: name_of(&asked.catalogue),
        rates: name_of(&asked.rates),
        ..Question::default()
    }
}

/// An hour in which nothing happens.
fn calm(units: &Units, scenario: &ResolvedScenario, settled: &Prepared) -> Toll {
    let objectives = units.objectives(&scenario.objectives);
    let observing = Observing { units, objectives: &objectives };
    let calm = ChaosPlan { pools: scenario.chaos.pools.clone(), ..ChaosPlan::default() };
    let script = Script { chaos: calm.into(), procedures: scenario.procedures.clone(), ..Script::default() };
    observing.play(settled, script, scenario.seed, CALM)
}

/// The units that do not serve though nothing happens: for half of an hour or more.
fn down(calm: &Toll) -> Vec<usize> {
    let is_down = |(_, loss): &(usize, &Loss)| loss.lost_s >= CALM.as_secs_f64() / 2.0;
    calm.losses.iter().enumerate().filter(is_down).map(|(unit, _)| unit).collect()
}

/// Everything that a scenario lets happen.
fn whole_script(scenario: &ResolvedScenario) -> Script {
    Script {
        chaos: scenario.chaos.clone(),
        kubectl: scenario.kubectl.clone(),
        procedures: scenario.procedures.clone(),
        requests: scenario.requests.clone(),
        timeline: scenario.timeline.clone(),
    }
}

/// The same, without what comes at random.
fn script_of(scenario: &ResolvedScenario) -> Script {
    let chaos = ChaosPlan { processes: Vec::new(), ..(*scenario.chaos).clone() };
    Script { chaos: chaos.into(), ..whole_script(scenario) }
}

/// So long that a play has about as many failures, and events besides, as are bearable: a year, if that has no more. Also what plays
/// take, in events.
fn length_of_years(scenario: &ResolvedScenario, store: &Store, events_an_hour: u64) -> (SimDuration, Work) {
    /// To copy a pod or a node, and to list it anew.
    const FORK: f64 = 0.8;
    /// Of a failure, and of each pod that it hits.
    const FAILURE: f64 = 45.0;
    const POD: f64 = 36.0;
    /// Of each pod that is restarted.
    const RESTART: f64 = 52.0;
    let (nodes, pods) = (store.nodes().count(), store.pods().count());
    let day = SimDuration::from_secs(24 * 3600);
    let of_process = |process: &crate::chaos::FaultProcessSpec| {
        let entities = if process.domain.is_some() { 1.0 } else { nodes as f64 };
        entities * YEAR.as_secs_f64()
            / process.time_to_failure.mean().map_or(f64::INFINITY, |mean| mean.as_secs_f64().max(1.0))
    };
    let failures: f64 = scenario.chaos.processes.iter().map(of_process).sum();
    let events = events_an_hour as f64 * YEAR.as_secs_f64() / CALM.as_secs_f64();
    let times = (failures / FAILURES_MAX).max(events / CALM_EVENTS_MAX);
    let year = if times <= 1.0 { YEAR } else { day * ((365.0 / times).floor().max(7.0) as u64) };
    let of_failure = FAILURE + POD * pods as f64 / nodes.max(1) as f64;
    let in_year = |year: SimDuration| (failures * of_failure + events) * year.as_secs_f64() / YEAR.as_secs_f64();
    let fork = (FORK * (nodes + pods) as f64) as u64;
    let incident = (2.0 * of_failure) as u64 + events_an_hour;
    let roll_out = (RESTART * pods as f64) as u64;
    let domain = incident * nodes as u64 / 3;
    (year, Work { fork, year: in_year(year) as u64, incident, roll_out, domain })
}

/// The scenario, if the input is one.
fn scenario_of<'a>(paths: &'a [PathBuf], folder: &Folder) -> Result<Option<&'a Path>, Invalid> {
    let [path] = paths else { return Ok(None) };
    let name = path.to_string_lossy();
    if !folder.is_file(path) || folder.is_standard_input(path) {
        return Ok(None);
    }
    let text = folder.read(path, &name).map_err(|diagnostic| Invalid::of(*diagnostic))?;
    let kind = scenario::recognize(&name, &text)?;
    if let Some(invalid) = scenario::no_cluster(&name, kind) {
        return Err(invalid);
    }
    Ok((kind == DocumentKind::Scenario).then_some(path))
}

/// Problems of a cluster without a document, as its user knows their places.
fn as_given(invalid: Invalid) -> Invalid {
    Invalid { diagnostics: without_document(invalid.diagnostics), ..invalid }
}

fn without_document(diagnostics: Diagnostics) -> Diagnostics {
    let in_words = |mut diagnostic: Diagnostic| {
        diagnostic.labels.retain(|label| &*label.location.file != DOCUMENT);
        if diagnostic.code == "scenario::no_nodes" {
            let help = "nodes that no file has: `--set 'spec.cluster.nodePools=[{name: worker, count: 6, zones: [a, b, c], template: {status: \
                        {allocatable: {cpu: \"4\", memory: 16Gi, pods: \"110\"}}}}]'`";
            diagnostic = diagnostic.help(help);
        }
        if diagnostic.code == "manifest::duplicate_object" {
            let help = "a forecast is of one cluster: if these are files of several, give those of one at a time; `--allow-partial` goes on with \
                        the first of each name";
            diagnostic = diagnostic.help(help);
        }
        diagnostic
    };
    diagnostics.into_iter().map(in_words).collect()
}

/// What a forecast of these files is called.
fn name_of(paths: &[PathBuf]) -> String {
    let is_document =
        |path: &&PathBuf| path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
    let first = paths.first();
    let stem =
        first.filter(is_document).and_then(|path| path.file_stem()).or_else(|| first.and_then(|path| path.file_name()));
    let stem = stem.unwrap_or_default().to_string_lossy();
    let is_fine = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let name: String = stem.to_ascii_lowercase().chars().map(|c| if is_fine(&c) { c } else { '-' }).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "cluster".to_owned() } else { name.to_owned() }
}

/// An entry of a timeline that is moved to its time later.
fn at_any_time(line: String) -> Value {
    json!({"at": "0s", "kubectl": line})
}

/// How often what is planned or guessed comes, where no catalogue says it.
fn planned_assumed(incidents: &[Incident]) -> Vec<Assumption> {
    let mut assumed = Vec::new();
    let mut add = |kind: IncidentKind, per_year: f64, name: &str, text: String, effect: &str| {
        let of_kind = || incidents.iter().filter(|incident| incident.kind == kind);
        let is_assumed = |incident: &Incident| incident.per_year.total_cmp(&per_year).is_eq();
        let count = of_kind().filter(|incident| is_assumed(incident)).count();
        if count > 0 {
            let but = if count < of_kind().count() { ", but where the catalogue says otherwise" } else { "" };
            assumed.push(Assumption::new(name, text + but, effect, "--catalog FILE"));
        }
    };
    let (pressures, rollouts, drains) =
        (catalogue::PRESSURES_PER_YEAR, catalogue::ROLLOUTS_PER_YEAR, catalogue::DRAINS_PER_YEAR);
    let text = format!("each node runs short of memory {pressures} times a year (a guess)");
    add(IncidentKind::NodePressure, pressures, "memory pressure a year", text, "what it costs a year");
    let effect = "what planned work costs a year";
    let text = format!("each workload is rolled out {rollouts} times a year");
    add(IncidentKind::RollOut, rollouts, "roll-outs a year", text, effect);
    let text = format!("each node is drained {drains} times a year, and patience lasts 30 min");
    add(IncidentKind::Drain, drains, "drains a year", text, effect);
    assumed
}

/// The processes of a file that `import faults` writes, and where they stand.
fn processes_of_file(name: &str, text: &str) -> Result<(Vec<Value>, Vec<Location>), Invalid> {
    let OwnDocument { value, root, diagnostics } = scenario::read_part::<BTreeMap<String, Value>>(name, text)?;
    let refused =
        |diagnostics: Diagnostics| Invalid { diagnostics, sources: Sources::from_iter([Source::new(name, text)]) };
    let Some(read) = value.filter(|_| !diagnostics.has_errors()) else { return Err(refused(diagnostics)) };
    let root = At::root(&root);
    let found = [("faults", read.get("faults")), ("spec.faults", read.get("spec").and_then(|spec| spec.get("faults")))];
    let found = found.into_iter().find_map(|(path, faults)| Some((path, faults?.as_array()?)));
    match found.filter(|(_, processes)| !processes.is_empty()) {
        Some((path, processes)) => {
            let place = |index: usize| root.written(&format!("{path}[{index}]")).location();
            Ok((processes.clone(), (0..processes.len()).map(place).collect()))
        }
        None => {
            let diagnostic = Diagnostic::error("scenario::bad_value", format!("{name} has no `faults`"));
            let help = "write `faults:` with a list of random processes, as `import faults` does";
            Err(refused(diagnostic.at(root.location(), "").help(help).into()))
        }
    }
}
