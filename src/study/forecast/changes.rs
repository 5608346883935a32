//! `--catalog`: what somebody takes out of the catalogue, and what is put in.

use serde::Deserialize;
use serde_json::Value;

use super::incident::{Incident, IncidentKind};
use crate::diagnostics::{Diagnostic, Location, Source, by_nearness, nearest};
use crate::scenario::{self, At, Invalid, OwnDocument};
use crate::study::problems::Problems;
use crate::units::{SimDuration, counted, with_days};

/// More often than this nothing happens a year: ten times an hour.
const PER_YEAR_MAX: f64 = 87_600.0;

/// A catalogue's file, as it is written.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    /// Kinds of incidents, or single ones by their names, that are not played.
    remove: Vec<String>,
    /// How often each node is drained a year.
    drains_per_year: Option<f64>,
    /// How often each workload is rolled out a year.
    roll_outs_per_year: Option<f64>,
    /// How often each node runs short of memory a year.
    pressures_per_year: Option<f64>,
    /// Incidents of one's own.
    incidents: Vec<Written>,
}

/// An incident as it is written.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    /// Its name.
    name: String,
    /// For how long it is played.
    #[serde(with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    duration: SimDuration,
    /// How often it is expected.
    #[serde(default)]
    per_year: f64,
    /// As a scenario's; each entry does one thing.
    #[cfg_attr(feature = "cli", schemars(with = "Vec<crate::scenario::TimelineEntry>"))]
    timeline: Vec<Value>,
}

/// What a catalogue's file looks like, for editors.
#[cfg(feature = "cli")]
pub(crate) fn schema() -> Value {
    scenario::schemas::of_part::<Document>(
        "Catalog",
        "what is taken out of the catalogue of a forecast, and what is put in",
    )
}

/// What a catalogue's file changes.
#[derive(Debug)]
pub(super) struct Changes {
    source: Source,
    document: Document,
    /// Of each entry of `remove`, where it stands.
    removed_at: Vec<Location>,
    /// Of each of its incidents, where the entries of its timeline stand.
    entries_at: Vec<Vec<Location>>,
}

fn refused(message: String, at: Location, help: String) -> Diagnostic {
    Diagnostic::error("scenario::bad_value", message).at(at, "").help(help)
}

impl Changes {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, Invalid> {
        let OwnDocument { value, root, diagnostics } = scenario::read_part::<Document>(name, text)?;
        let source = || Source::new(name, text);
        let mut problems = Problems::of(source(), diagnostics);
        let Some(document) = value else { return Err(problems.refuse()) };
        let root = At::root(&root);
        let place = |path: &str| root.written(path).location();
        document.check(&place, &mut problems);
        problems.end()?;
        let removed_at = (0..document.remove.len()).map(|index| place(&format!("remove[{index}]"))).collect();
        let entries_at = |(index, written): (usize, &Written)| {
            let entry = |entry: usize| place(&format!("incidents[{index}].timeline[{entry}]"));
            (0..written.timeline.len()).map(entry).collect()
        };
        let entries_at = document.incidents.iter().enumerate().map(entries_at).collect();
        Ok(Self { source: source(), removed_at, entries_at, document })
    }

    /// The text of the file.
    pub(super) fn source(&self) -> Source {
        self.source.clone()
    }

    /// Changes a catalogue; what is taken out is added to what it leaves out.
    ///
    /// # Errors
    ///
    /// If there is nothing of a name that is to be removed, or nothing is left.
    pub(super) fn apply(self, incidents: &mut Vec<Incident>, left_out: &mut Vec<String>) -> Result<(), Invalid> {
        let Self { source, document, removed_at, entries_at } = self;
        let file = source.name.to_string();
        let mut problems = Problems::of(source, crate::diagnostics::Diagnostics::new());
        let ids: Vec<String> = incidents.iter().map(|incident| incident.id.clone()).collect();
        for (name, at) in document.remove.iter().zip(&removed_at) {
            let is_meant = |incident: &Incident| incident.id == *name || incident.kind.as_str() == name;
            let before = incidents.len();
            incidents.retain(|incident| !is_meant(incident));
            let is_kind = IncidentKind::ALL.iter().any(|kind| kind.as_str() == name);
            if before == incidents.len() && !is_kind {
                let help = what_there_is(name, &ids);
                problems.push(refused(format!("there is no incident `{name}` to remove"), at.clone(), help));
            }
            let count = counted(before - incidents.len(), "incident", "incidents");
            left_out.push(format!("`{name}` is not played, {count}: {file} removes it"));
        }
        let often = [
            (IncidentKind::Drain, document.drains_per_year),
            (IncidentKind::RollOut, document.roll_outs_per_year),
            (IncidentKind::NodePressure, document.pressures_per_year),
        ];
        for (kind, times) in often.into_iter().filter_map(|(kind, times)| Some((kind, times?))) {
            incidents.iter_mut().filter(|incident| incident.kind == kind).for_each(|of| of.per_year = times);
        }
        for (written, entries_at) in document.incidents.into_iter().zip(entries_at) {
            let Written { name, duration, per_year, timeline } = written;
            let mut incident = Incident::new(IncidentKind::Own, &name, name.clone(), duration, timeline);
            (incident.per_year, incident.entries_at) = (per_year, entries_at);
            incidents.push(incident);
        }
        if let (true, Some(at)) = (incidents.is_empty(), removed_at.first()) {
            let help = "leave a kind of incidents, or write some of your own under `incidents:`".to_owned();
            problems.push(refused("nothing is left to be played".to_owned(), at.clone(), help));
        }
        problems.end().map(|_| ())
    }
}

/// What can be removed in place of what there is not: the nearest kind for a word that is like one, and incidents of this cluster, the
/// nearest first.
fn what_there_is(name: &str, ids: &[String]) -> String {
    const LISTED_MAX: usize = 4;
    let kind = nearest(name, IncidentKind::ALL.iter().map(|kind| kind.as_str())).filter(|_| !name.contains('/'));
    let mut near = by_nearness(name, ids.iter().map(String::as_str));
    near.sort_by_key(|id| kind.is_some_and(|kind| id.split('/').next() != Some(kind)));
    let listed: Vec<String> = near.iter().take(LISTED_MAX).map(|id| format!("`{id}`")).collect();
    let more = if near.len() > LISTED_MAX { ", …" } else { "" };
    let incidents = format!("{}{more}", listed.join(", "));
    match kind {
        Some(kind) if ids.is_empty() => format!("the nearest kind is `{kind}`"),
        Some(kind) => format!("the nearest kind is `{kind}`; incidents of this cluster are {incidents}"),
        None if ids.is_empty() => "a kind such as `pairLost` stands for all incidents of it".to_owned(),
        None => {
            format!(
                "incidents of this cluster, the nearest first: {incidents}; a kind such as `pairLost` stands for all of it"
            )
        }
    }
}

impl Document {
    fn check(&self, place: &dyn Fn(&str) -> Location, problems: &mut Problems) {
        let often = [
            ("drainsPerYear", self.drains_per_year),
            ("rollOutsPerYear", self.roll_outs_per_year),
            ("pressuresPerYear", self.pressures_per_year),
        ];
        let fields = often.into_iter().filter_map(|(name, rate)| Some((name.to_owned(), rate?)));
        let of_incidents = self.incidents.iter().enumerate();
        let of_incidents = of_incidents.map(|(index, of)| (format!("incidents[{index}].perYear"), of.per_year));
        for (path, rate) in fields.chain(of_incidents) {
            if !(0.0..=PER_YEAR_MAX).contains(&rate) {
                let help = format!("write a number from 0 to {PER_YEAR_MAX}, which is ten times an hour");
                problems.push(refused(format!("nothing happens {rate:?} times a year"), place(&path), help));
            }
        }
        for (index, written) in self.incidents.iter().enumerate() {
            let (at, name) = (place(&format!("incidents[{index}].name")), &written.name);
            if name.trim().is_empty() || self.incidents[..index].iter().any(|other| other.name == *name) {
                let what =
                    if name.trim().is_empty() { "an incident has no name" } else { "two incidents have one name" };
                problems.push(refused(what.to_owned(), at, "give each a name of its own".to_owned()));
            } else if written.timeline.is_empty() || written.duration.is_zero() {
                let message = format!("nothing happens in the incident `{name}`");
                problems.push(refused(message, at, "give it a `timeline` and a `duration`".to_owned()));
            }
        }
        if self.remove.is_empty() && self.incidents.is_empty() && often.iter().all(|(_, rate)| rate.is_none()) {
            let help = "write `remove:`, `drainsPerYear:` or `incidents:`; docs/forecast.md has an example".to_owned();
            problems.push(refused("this catalogue changes nothing".to_owned(), place(""), help));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_out_and_puts_in() {
        let incident =
            |kind, what: &str| Incident::new(kind, what, what.to_owned(), SimDuration::from_secs(60), Vec::new());
        let mut incidents = vec![
            incident(IncidentKind::NodeLost, "a"),
            incident(IncidentKind::NodeLost, "b"),
            incident(IncidentKind::Drain, "a"),
        ];
        let text = "remove: [nodeLost/a]\ndrainsPerYear: 12\nincidents:\n- {name: noon, duration: 1h, perYear: 365, timeline: [{at: 0s, kubectl: get pods}]}\n";
        let mut left_out = Vec::new();
        Changes::read("c.yaml", text).expect("fine").apply(&mut incidents, &mut left_out).expect("fine");
        let ids: Vec<(&str, f64)> =
            incidents.iter().map(|incident| (incident.id.as_str(), incident.per_year)).collect();
        assert_eq!(ids, [("nodeLost/b", 0.0), ("drain/a", 12.0), ("own/noon", 365.0)]);
        assert_eq!(left_out, ["`nodeLost/a` is not played, 1 incident: c.yaml removes it"]);
        let all = Changes::read("c.yaml", "drainsPerYear: 0\nremove: [nodeLost, drain, own]").expect("fine");
        let error = all.apply(&mut incidents, &mut left_out).expect_err("nothing is left").to_string();
        assert!(error.contains("nothing is left to be played") && error.contains("c.yaml:2:"), "{error}");
    }

    #[test]
    fn incidents_that_there_are_are_named_the_nearest_first() {
        let ids = ["drain/worker-1", "nodeLost/worker-1", "nodeLost/worker-2", "pairLost/worker-1", "own/noon"];
        let ids = ids.map(str::to_owned);
        assert_eq!(
            what_there_is("nodeLost/worker-3", &ids),
            "incidents of this cluster, the nearest first: `nodeLost/worker-1`, `nodeLost/worker-2`, `pairLost/worker-1`, `drain/worker-1`, …; \
             a kind such as `pairLost` stands for all of it"
        );
        assert!(
            what_there_is("nodesLost", &ids)
                .starts_with("the nearest kind is `nodeLost`; incidents of this cluster are `nodeLost/")
        );
        assert!(what_there_is("nonsense", &[]).starts_with("a kind such as"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        #[track_caller]
        fn check(text: &str, line: u32, expected: &str) {
            let read = Changes::read("c.yaml", text);
            let error = read.and_then(|changes| changes.apply(&mut Vec::new(), &mut Vec::new())).expect_err(text);
            let told = error.to_string();
            assert!(told.contains(expected) && told.contains(&format!("c.yaml:{line}:")), "{told}");
        }
        check("# none\nremoves: [drain]", 2, "removes");
        check("drainsPerYear: -1", 1, "nothing happens -1.0 times a year");
        check("remove: [drain]\ndrainsPerYear: 1e308", 2, "write a number from 0 to 87600");
        check("drainsPerYear: .nan", 1, "");
        check("remove: [nodeLost/worker-3]", 1, "there is no incident `nodeLost/worker-3`");
        check("remove: []", 1, "this catalogue changes nothing");
        check("remove:\n- drain\n- nodelost", 3, "the nearest kind is `nodeLost`");
        let empty = "incidents:\n- {name: a, duration: 1h, timeline: []}";
        check(empty, 2, "nothing happens in the incident `a`");
        let of =
            |name: &str| format!("\n- {{name: '{name}', duration: 1h, timeline: [{{at: 0s, kubectl: get pods}}]}}");
        check(&format!("incidents:{}{}", of("a"), of("a")), 3, "two incidents have one name");
        check(&format!("incidents:{}", of("")), 2, "an incident has no name");
        let twice = Changes::read("c.yaml", "drainsPerYear: -1\nrollOutsPerYear: 1e9").expect_err("two problems");
        assert_eq!(twice.diagnostics.len(), 2, "{twice}");
    }
}
