//! How often things fail by themselves: the random processes of a year.

use serde_json::{Value, json};

use crate::arena::Symbol;
use crate::model::{ZONE_LABEL, domain_of};
use crate::scenario::Assumption;
use crate::state::Store;

/// A kind of random failure that the years of a forecast have, unless a file brings others.
struct Rate {
    name: &'static str,
    /// What fails how often, for people.
    about: &'static str,
    /// Where the figures come from.
    source: &'static str,
    /// Which machines fail together, if not each by itself.
    domain: Option<&'static str>,
    process: fn() -> Value,
}

/// # Source
///
/// Machines: docs/faults.md, Los Alamos, system 18. Of the others no public record is known that holds elsewhere: they are guesses, and
/// the report says so.
const RATES: [Rate; 5] = [
    Rate {
        name: "machine",
        about: "a machine crashes every 315 days on average and is away for 66 min (median; 1 % longer than 18.8 h)",
        source: "measured: docs/faults.md, Los Alamos system 18",
        domain: None,
        process: || {
            json!({
                "kind": "Crash",
                "timeToFailure": {"weibull": {"shape": 0.68, "mean": "315d"}},
                "timeToRepair": {"lognormal": {"median": "66m", "p99": "18h48m"}},
            })
        },
    },
    Rate {
        name: "hiccup",
        about: "a node's network is interrupted once a month for 75 s (median; 1 % longer than 15 min)",
        source: "a guess: docs/faults.md",
        domain: None,
        process: || {
            json!({
                "kind": "Partition",
                "timeToFailure": {"exponential": {"mean": "30d"}},
                "timeToRepair": {"lognormal": {"median": "75s", "p99": "15m"}},
            })
        },
    },
    Rate {
        name: "kubelet",
        about: "a kubelet hangs once a year for 10 min (median; 1 % longer than 2 h)",
        source: "a guess",
        domain: None,
        process: || {
            json!({
                "kind": "KubeletStop",
                "timeToFailure": {"exponential": {"mean": "365d"}},
                "timeToRepair": {"lognormal": {"median": "10m", "p99": "2h"}},
            })
        },
    },
    Rate {
        name: "switch",
        about: "a rack's switch fails every two years for 20 min (median; 1 % longer than 4 h)",
        source: "a guess",
        domain: Some("rack"),
        process: || {
            json!({
                "kind": "Partition",
                "timeToFailure": {"exponential": {"mean": "730d"}},
                "timeToRepair": {"lognormal": {"median": "20m", "p99": "4h"}},
            })
        },
    },
    Rate {
        name: "zone",
        about: "a zone loses power every five years for 45 min (median; 1 % longer than 8 h)",
        source: "a guess",
        domain: Some(ZONE_LABEL),
        process: || {
            json!({
                "kind": "Crash",
                "timeToFailure": {"exponential": {"mean": "1825d"}},
                "timeToRepair": {"lognormal": {"median": "45m", "p99": "8h"}},
            })
        },
    },
];

/// The label keys by which nodes fail together in this cluster, each with its values: those of two values at least.
pub(super) fn failure_domains(store: &Store) -> Vec<(Symbol, Vec<Symbol>)> {
    let mut keys: Vec<Symbol> =
        store.nodes().flat_map(|(_, node)| node.labels.iter().map(|(key, _)| key).collect::<Vec<_>>()).collect();
    keys.sort_unstable_by_key(|key| key.as_str());
    keys.dedup();
    let is_domain = |key: &Symbol| {
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        // A region is all there is; a host is a node.
        (name.contains("rack") || name.contains("switch") || name.contains("datacenter") || name == "room")
            && key.as_str() != ZONE_LABEL
    };
    let with_values = |key: Symbol| {
        let mut values: Vec<Symbol> =
            store.nodes().filter_map(|(_, node)| domain_of(&node.labels, key.as_str())).collect();
        values.sort_unstable_by_key(|value| value.as_str());
        values.dedup();
        (key, values)
    };
    keys.into_iter().filter(is_domain).map(with_values).filter(|(_, values)| values.len() > 1).collect()
}

/// The random processes of a cluster's years, as a scenario's `spec.faults`, and what is taken for granted by them.
pub(super) fn processes(store: &Store) -> (Vec<Value>, Vec<Assumption>) {
    let domains = failure_domains(store);
    let mut zones: Vec<Symbol> = store.nodes().filter_map(|(_, node)| domain_of(&node.labels, ZONE_LABEL)).collect();
    zones.sort_unstable();
    zones.dedup();
    let mut processes = Vec::new();
    let mut assumed = Vec::new();
    for rate in &RATES {
        let label = match rate.domain {
            None => None,
            Some(ZONE_LABEL) if !zones.is_empty() && store.nodes().count() > 1 => Some(ZONE_LABEL.to_owned()),
            Some(ZONE_LABEL) => continue,
            Some(_) => match domains.first() {
                Some((key, _)) => Some(key.as_str().to_owned()),
                None => continue,
            },
        };
        let mut process = (rate.process)();
        process["name"] = json!(rate.name);
        match label {
            Some(label) => process["domain"] = json!(label),
            None => process["nodes"] = json!({}),
        }
        processes.push(process);
        let effect = "how often it fails, and what that costs a year";
        let text = format!("{} ({})", rate.about, rate.source);
        assumed.push(Assumption::new(&format!("rate of {}", rate.name), text, effect, "--rates FILE"));
    }
    (processes, assumed)
}

/// The usual failures that a file of these processes leaves out, by name and with what they are.
pub(super) fn not_in(store: &Store, processes: &[Value]) -> Vec<String> {
    let is_in = |name: &Value| processes.iter().any(|process| process["name"] == *name);
    let (usual, _) = self::processes(store);
    let about = |name: &Value| {
        RATES.iter().find(|rate| *name == rate.name).map(|rate| format!("{}: {}", rate.name, rate.about))
    };
    usual.iter().map(|process| &process["name"]).filter(|name| !is_in(name)).filter_map(about).collect()
}
