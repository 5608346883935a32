//! `--catalog`: what somebody takes out of the catalogue, and what is put in.

use serde::Deserialize;
use serde_json::Value;

use super::incident::{Incident, IncidentKind};
use crate::diagnostics::{Diagnostic, nearest};
use crate::scenario::Invalid;
use crate::units::{SimDuration, with_days};

/// A catalogue's file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Changes {
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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    name: String,
    /// For how long it is played.
    #[serde(with = "with_days")]
    duration: SimDuration,
    /// How often it is expected.
    #[serde(default)]
    per_year: f64,
    /// As a scenario's; each entry does one thing.
    timeline: Vec<Value>,
}

fn refused(message: String, help: &str) -> Invalid {
    Invalid::of(Diagnostic::error("scenario::bad_value", message).help(help))
}

impl Changes {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, Invalid> {
        let help = "write `remove:`, `drainsPerYear:` and `incidents:`; docs/forecast.md has an example";
        let read: Self = serde_saphyr::from_str(text).map_err(|error| refused(format!("{name}: {error}"), help))?;
        let rates = read
            .incidents
            .iter()
            .map(|incident| incident.per_year)
            .chain([read.drains_per_year, read.roll_outs_per_year, read.pressures_per_year].into_iter().flatten());
        for rate in rates {
            if !(rate.is_finite() && rate >= 0.0) {
                return Err(refused(
                    format!("{name}: nothing happens {rate} times a year"),
                    "write a number from 0 up",
                ));
            }
        }
        if let Some(empty) =
            read.incidents.iter().find(|incident| incident.timeline.is_empty() || incident.duration.is_zero())
        {
            let message = format!("{name}: nothing happens in the incident `{}`", empty.name);
            return Err(refused(message, "give it a `timeline` and a `duration`"));
        }
        Ok(read)
    }

    /// Changes a catalogue; what is taken out is added to what it leaves out.
    ///
    /// # Errors
    ///
    /// If there is nothing of a name that is to be removed.
    pub(super) fn apply(
        self,
        file: &str,
        incidents: &mut Vec<Incident>,
        left_out: &mut Vec<String>,
    ) -> Result<(), Invalid> {
        for name in &self.remove {
            let is_meant = |incident: &Incident| incident.id == *name || incident.kind.as_str() == name;
            let before = incidents.len();
            incidents.retain(|incident| !is_meant(incident));
            let is_kind = IncidentKind::ALL.iter().any(|kind| kind.as_str() == name);
            if before == incidents.len() && !is_kind {
                let near = nearest(name, IncidentKind::ALL.iter().map(|kind| kind.as_str()));
                let help = near.map_or(
                    "name a kind such as `pairLost`, or an incident such as `nodeLost/worker-3`".to_owned(),
                    |near| format!("the nearest kind is `{near}`"),
                );
                return Err(refused(format!("{file}: there is no incident `{name}` to remove"), &help));
            }
            left_out.push(format!(
                "{file} removes {}",
                crate::units::counted(before - incidents.len(), "incident", "incidents")
            ));
        }
        let often = [
            (IncidentKind::Drain, self.drains_per_year),
            (IncidentKind::RollOut, self.roll_outs_per_year),
            (IncidentKind::NodePressure, self.pressures_per_year),
        ];
        for (kind, times) in often.into_iter().filter_map(|(kind, times)| Some((kind, times?))) {
            incidents.iter_mut().filter(|incident| incident.kind == kind).for_each(|of| of.per_year = times);
        }
        for written in self.incidents {
            let Written { name, duration, per_year, timeline } = written;
            let mut incident = Incident::new(IncidentKind::Own, &name, name.clone(), duration, timeline);
            incident.per_year = per_year;
            incidents.push(incident);
        }
        Ok(())
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
        Changes::read("c.yaml", text).expect("fine").apply("c.yaml", &mut incidents, &mut left_out).expect("fine");
        let ids: Vec<(&str, f64)> =
            incidents.iter().map(|incident| (incident.id.as_str(), incident.per_year)).collect();
        assert_eq!(ids, [("nodeLost/b", 0.0), ("drain/a", 12.0), ("own/noon", 365.0)]);
        assert_eq!(left_out, ["c.yaml removes 1 incident"]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |text: &str| Changes::read("c.yaml", text).expect_err(text).to_string();
        assert!(told("removes: []").contains("removes"));
        assert!(told("drainsPerYear: -1").contains("-1 times a year"));
        assert!(
            told("incidents: [{name: a, duration: 1h, timeline: []}]").contains("nothing happens in the incident `a`")
        );
        let mut none = Vec::new();
        let wrong =
            Changes::read("c.yaml", "remove: [nodelost]").expect("read").apply("c.yaml", &mut none, &mut Vec::new());
        assert!(wrong.expect_err("no such kind").to_string().contains("the nearest kind is `nodeLost`"));
    }
}
