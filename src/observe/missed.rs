//! Faults that hit nobody, and faults that stop the last machine on which the control plane would run.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use crate::component::{FaultPhase, Record};
use crate::model::{has_control_plane_role, is_control_plane_program};
use crate::state::{MachineChange, NodeId, Power};
use crate::units::SimTime;

/// What was found about the faults of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    /// Faults that hit nobody whenever they came.
    pub(super) hit_nobody: Vec<HitNobody>,
    /// When no node was left that bears the control plane, and these nodes.
    pub(super) without_control_plane: Option<(SimTime, Vec<String>)>,
}

/// A fault that found nothing to hit.
#[derive(Clone, Debug)]
pub(super) struct HitNobody {
    /// The fault as `events.csv` names it.
    name: Arc<str>,
    /// Why there was nothing, at first.
    why: String,
    /// How often it came; more than once only if it comes by chance.
    times: u32,
}

impl fmt::Display for HitNobody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.times {
            1 => write!(f, "{} ({})", self.name, self.why),
            times => write!(f, "{} ({}, {times} times)", self.name, self.why),
        }
    }
}

/// Follows faults and the machines that they stop.
#[derive(Clone, Debug, Default)]
pub(super) struct MissedFaults {
    /// Nodes with programs of the control plane.
    bearers: Vec<NodeId>,
    /// Whether the user plays an outage of the control plane.
    is_outage_played: bool,
    /// Faults that hit somebody: one that comes by chance and does so at times is as it is meant.
    hit_somebody: FxHashSet<Arc<str>>,
    missed: Missed,
}

impl Observer for MissedFaults {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        let store = seen.store;
        let runs_program = |node: NodeId| {
            let pods = store.pods_on(node).iter().filter_map(|pod| store.pod(*pod)).filter(|pod| pod.is_mirror);
            pods.flat_map(|pod| &pod.spec.containers).any(|container| is_control_plane_program(container.name))
        };
        self.bearers = store.nodes().map(|(id, _)| id).filter(|id| runs_program(*id)).collect();
        if self.bearers.is_empty() {
            let by_role = store.nodes().filter(|(_, node)| has_control_plane_role(&node.labels));
            self.bearers = by_role.map(|(id, _)| id).collect();
        }
    }

    fn recorded(&mut self, record: &Record, _seen: &Seen<'_>) {
        let Record::Fault { name, phase } = record else { return };
        match phase {
            FaultPhase::Began { .. } => {
                self.hit_somebody.insert(Arc::clone(name));
            }
            FaultPhase::Ended => {}
            FaultPhase::Missed(why) => {
                let hit_nobody = &mut self.missed.hit_nobody;
                match hit_nobody.iter_mut().find(|fault| fault.name == *name) {
                    Some(fault) => fault.times += 1,
                    None => hit_nobody.push(HitNobody { name: Arc::clone(name), why: why.clone(), times: 1 }),
                }
            }
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, seen: &Seen<'_>) {
        let Seen { now, store, .. } = *seen;
        match change {
            MachineChange::ProcessDown(_) => self.is_outage_played = true,
            MachineChange::PowerOff(_) | MachineChange::InstanceGone(_) if !self.bearers.is_empty() => {
                let runs = |node: &NodeId| store.machine(*node).power == Power::On;
                if self.missed.without_control_plane.is_none() && !self.bearers.iter().any(runs) {
                    let names: BTreeSet<String> =
                        self.bearers.iter().map(|node| format!("node/{}", store.node_name(*node))).collect();
                    self.missed.without_control_plane = Some((now, names.into_iter().collect()));
                }
            }
            _ => {}
        }
    }
}

impl MissedFaults {
    pub(super) fn finish(mut self) -> Missed {
        if self.is_outage_played {
            self.missed.without_control_plane = None;
        }
        self.missed.hit_nobody.retain(|fault| !self.hit_somebody.contains(&fault.name));
        self.missed
    }
}
