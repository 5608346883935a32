//! How a pod's containers behave, where no field of the API says it: annotations `kubesquall.sim/…`.

use std::collections::BTreeMap;
use std::ops::Deref;

use crate::arena::Symbol;
use crate::engine::Distribution;
use crate::units::{Quantity, SimDuration};

/// How these annotations begin.
pub const BEHAVIOR_PREFIX: &str = "kubesquall.sim/";
/// How long each init container runs.
pub const INIT: &str = "kubesquall.sim/init";
/// With which code the first init container ends.
pub const INIT_EXIT_CODE: &str = "kubesquall.sim/init-exit-code";
/// How long containers run before they end by themselves.
pub const RUN_FOR: &str = "kubesquall.sim/run-for";
/// With which code they do.
pub const EXIT_CODE: &str = "kubesquall.sim/exit-code";
/// How long an application takes until it answers its probes.
pub const READY: &str = "kubesquall.sim/ready";

/// Takes in what one annotation says; the objection, if it is not as it should be.
type Read = fn(&mut Behavior, &str) -> Option<Objection>;

/// All annotations, but for those of readiness gates.
const ANNOTATIONS: [(&str, Read); 9] = [
    ("kubesquall.sim/start", |behavior, text| read_length(&mut behavior.start, text)),
    (READY, |behavior, text| read_length(&mut behavior.ready, text)),
    ("kubesquall.sim/stop", |behavior, text| read_length(&mut behavior.stop, text)),
    (INIT, |behavior, text| read_length(&mut behavior.init, text)),
    (INIT_EXIT_CODE, |behavior, text| read_exit_code(&mut behavior.init_exit_code, text)),
    (RUN_FOR, |behavior, text| read_length(&mut behavior.run_for, text)),
    ("kubesquall.sim/healthy-for", |behavior, text| read_length(&mut behavior.healthy_for, text)),
    (EXIT_CODE, |behavior, text| read_exit_code(&mut behavior.exit_code, text)),
    ("kubesquall.sim/usage", read_usage),
];

/// How those begin that say when the condition of a readiness gate becomes True.
const GATE: &str = "kubesquall.sim/gate-";

/// What a pod's annotations say of its containers. A length that is not given is the scenario's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Behavior {
    /// Images present -> containers running.
    pub start: Option<Distribution>,
    /// Running -> the application answers.
    pub ready: Option<Distribution>,
    /// SIGTERM -> exit.
    pub stop: Option<Distribution>,
    /// How long each init container runs.
    pub init: Option<Distribution>,
    /// With which code the first init container ends; 0 if none is given.
    pub init_exit_code: Option<i32>,
    /// How long containers run before they end by themselves.
    pub run_for: Option<Distribution>,
    /// How long the application answers its probes.
    pub healthy_for: Option<Distribution>,
    /// With which code containers end by themselves; 0 if none is given.
    pub exit_code: Option<i32>,
    /// What containers use.
    pub usage: Option<StatedUsage>,
    /// By the last part of the condition's name.
    gates: Vec<(Symbol, GateTime)>,
}

/// When the condition of a readiness gate becomes True, counted from when the containers run.
#[derive(Clone, Debug, PartialEq)]
pub enum GateTime {
    /// After this time.
    After(Distribution),
    /// It does not.
    Never,
}

/// What a pod's containers use together; what is not named, they do not use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatedUsage {
    /// Cores.
    pub cpu: Option<Quantity>,
    /// Bytes of memory.
    pub memory: Option<Quantity>,
    /// Bytes on the node's disk, but for volumes.
    pub ephemeral_storage: Option<Quantity>,
    /// Processes.
    pub pids: Option<Quantity>,
    /// Bytes in volumes, by their names.
    volumes: Vec<(Symbol, Quantity)>,
}

impl StatedUsage {
    /// How much of a resource is used, if that is said.
    #[must_use]
    pub fn of(&self, resource: &str) -> Option<Quantity> {
        match resource {
            "cpu" => self.cpu,
            "memory" => self.memory,
            "ephemeral-storage" => self.ephemeral_storage,
            "pids" => self.pids,
            _ => None,
        }
    }

    /// How much a volume holds, if that is said.
    #[must_use]
    pub fn of_volume(&self, name: Symbol) -> Option<Quantity> {
        self.volumes.iter().find(|(volume, _)| *volume == name).map(|(_, used)| *used)
    }

    fn set(&mut self, resource: &str, amount: Quantity) {
        match resource {
            "cpu" => self.cpu = Some(amount),
            "memory" => self.memory = Some(amount),
            "ephemeral-storage" => self.ephemeral_storage = Some(amount),
            "pids" => self.pids = Some(amount),
            other => {
                if let Some(volume) = other.strip_prefix("volumes/") {
                    self.volumes.push((Symbol::new(volume), amount));
                }
            }
        }
    }
}

/// What is wrong with an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// There is none of that name.
    Unknown,
    /// Its value says nothing.
    Nothing {
        /// What would say something.
        help: &'static str,
    },
    /// Its value is not what it should be.
    Value {
        /// What it is instead.
        problem: String,
        /// What would be valid.
        help: &'static str,
    },
}

impl Behavior {
    /// What annotations say, as far as they can be read: those of a manifest have been checked, those of a command line have
    /// not.
    #[must_use]
    pub fn of(annotations: &BTreeMap<Symbol, Symbol>) -> Self {
        let mut behavior = Self::default();
        for (key, value) in annotations {
            let _ = behavior.read(key.as_str(), value.as_str());
        }
        behavior
    }

    /// The names of all annotations behind their prefix.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ANNOTATIONS.iter().map(|(name, _)| &name[BEHAVIOR_PREFIX.len()..]).chain(["gate-<condition>"])
    }

    /// The annotation for a readiness gate's condition.
    #[must_use]
    pub fn gate_annotation(condition: &str) -> Symbol {
        Symbol::new(&format!("{GATE}{}", last_part(condition)))
    }

    /// Takes in what one annotation says; those of others say nothing.
    ///
    /// # Errors
    /// What is wrong with it. What can be understood all the same, such as a distribution without its braces, counts.
    pub fn read(&mut self, name: &str, text: &str) -> Result<(), Objection> {
        if !name.starts_with(BEHAVIOR_PREFIX) {
            return Ok(());
        }
        let objection = if let Some(gate) = name.strip_prefix(GATE) {
            self.read_gate(gate, text)
        } else {
            match ANNOTATIONS.iter().find(|(known, _)| *known == name) {
                Some((_, read)) => read(self, text),
                None => Some(Objection::Unknown),
            }
        };
        objection.map_or(Ok(()), Err)
    }

    fn read_gate(&mut self, gate: &str, text: &str) -> Option<Objection> {
        let help = "write `never`, or how long after the containers run the condition is True, such as `30s`";
        let (time, problem) = match text {
            "never" => (Some(GateTime::Never), None),
            other => {
                let (length, problem) = length(other);
                (length.map(GateTime::After), problem)
            }
        };
        self.gates.extend(time.map(|time| (Symbol::new(gate), time)));
        problem.map(|problem| Objection::Value { problem, help })
    }

    /// When the condition of a readiness gate becomes True; none if it has always been.
    #[must_use]
    pub fn gate(&self, condition: &str) -> Option<&GateTime> {
        let part = last_part(condition);
        self.gates.iter().find(|(gate, _)| gate.as_str() == part).map(|(_, time)| time)
    }
}

/// A condition's name may have a prefix of its own, which an annotation's may not have within.
fn last_part(condition: &str) -> &str {
    condition.rsplit('/').next().unwrap_or(condition)
}

/// A duration or a distribution in braces; and what is wrong with it.
fn length(text: &str) -> (Option<Distribution>, Option<String>) {
    let problem = match text.parse::<SimDuration>() {
        Ok(duration) => return (Some(Distribution::Constant(duration)), None),
        Err(problem) => problem.to_string(),
    };
    let (length, of_braces) = match serde_saphyr::from_str::<Distribution>(text) {
        Ok(Distribution::Empirical { .. }) => (None, Some("an annotation cannot name a file".to_owned())),
        Ok(distribution) => (Some(distribution), None),
        Err(_) => (None, Some(format!("`{text}` is not a distribution"))),
    };
    (length, if text.trim_start().starts_with('{') { of_braces } else { Some(problem) })
}

fn read_length(length_read: &mut Option<Distribution>, text: &str) -> Option<Objection> {
    let (length, problem) = length(text);
    *length_read = length;
    let help = "write a duration such as `60s`, or a distribution such as `{exponential: {mean: 60s}}`";
    problem.map(|problem| Objection::Value { problem, help })
}

fn read_exit_code(exit_code: &mut Option<i32>, text: &str) -> Option<Objection> {
    *exit_code = text.parse().ok();
    text.parse::<u8>().is_err().then(|| Objection::Value {
        problem: format!("`{text}` is not an exit code"),
        help: "write a whole number from 0 to 255 in quotes",
    })
}

fn read_usage(behavior: &mut Behavior, text: &str) -> Option<Objection> {
    let Ok(amounts) = serde_saphyr::from_str::<BTreeMap<String, Quantity>>(text) else {
        let problem = format!("`{text}` is not a map of resources");
        return Some(Objection::Value { problem, help: "write it as `{memory: 900Mi}`" });
    };
    let says_nothing = amounts.is_empty();
    let usage = behavior.usage.insert(StatedUsage::default());
    for (resource, amount) in amounts {
        usage.set(&resource, amount);
    }
    let help = "write how much is used, as `{memory: 900Mi}`, or leave it out";
    says_nothing.then_some(Objection::Nothing { help })
}

/// A pod's annotations, and what those of them say that are kubesquall's: read once, when they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodAnnotations {
    written: BTreeMap<Symbol, Symbol>,
    behavior: Behavior,
}

impl PodAnnotations {
    /// Whether some rule may read an annotation of this name of every pod: how containers behave, what a controller does with them.
    #[must_use]
    pub fn is_rule(key: Symbol) -> bool {
        key.as_str().starts_with(BEHAVIOR_PREFIX) || key.as_str().starts_with("controller.")
    }

    /// How the pod's containers behave.
    #[must_use]
    pub fn behavior(&self) -> &Behavior {
        &self.behavior
    }
}

impl From<BTreeMap<Symbol, Symbol>> for PodAnnotations {
    fn from(written: BTreeMap<Symbol, Symbol>) -> Self {
        Self { behavior: Behavior::of(&written), written }
    }
}

impl FromIterator<(Symbol, Symbol)> for PodAnnotations {
    fn from_iter<I: IntoIterator<Item = (Symbol, Symbol)>>(written: I) -> Self {
        Self::from(BTreeMap::from_iter(written))
    }
}

impl Deref for PodAnnotations {
    type Target = BTreeMap<Symbol, Symbol>;

    fn deref(&self) -> &BTreeMap<Symbol, Symbol> {
        &self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> (Behavior, Option<Objection>) {
        let mut behavior = Behavior::default();
        let objection = behavior.read(&format!("{BEHAVIOR_PREFIX}{name}"), text).err();
        (behavior, objection)
    }

    #[test]
    fn a_command_lines_annotation_counts_as_far_as_it_can_be_read() {
        let minute = Some(Distribution::Constant(SimDuration::from_secs(60)));
        for (text, expected, is_fine) in [
            ("60s", &minute, true),
            ("{constant: 60s}", &minute, true),
            ("constant: 60s", &minute, false),
            ("soon", &None, false),
        ] {
            let (behavior, objection) = read("start", text);
            assert_eq!((&behavior.start, objection.is_none()), (expected, is_fine), "{text}");
        }
        let (behavior, objection) = read("exit-code", "-1073741819");
        assert_eq!((behavior.exit_code, objection.is_some()), (Some(-1_073_741_819), true));
        assert_eq!(read("usage", "much").0.usage, None);
        assert_eq!(read("run_for", "1s"), (Behavior::default(), Some(Objection::Unknown)));
    }

    #[test]
    fn a_gate_is_found_by_the_last_part_of_its_condition() {
        let (behavior, _) = read("gate-lb", "never");
        assert_eq!(behavior.gate("cloud.example/lb"), Some(&GateTime::Never));
        assert_eq!(behavior.gate("lb.example/other"), None);
        assert_eq!(Behavior::gate_annotation("cloud.example/lb").as_str(), "kubesquall.sim/gate-lb");
    }

    #[test]
    fn annotations_of_others_say_nothing() {
        let key = Symbol::new("example.com/run-for");
        let annotations = PodAnnotations::from(BTreeMap::from([(key, Symbol::new("5s"))]));
        assert_eq!((annotations.behavior(), annotations.len()), (&Behavior::default(), 1));
    }
}
