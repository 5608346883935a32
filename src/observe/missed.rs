//! Faults that hit nobody, and faults that stop the last machine on which the control plane would run.

use std::collections::BTreeSet;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use crate::component::{FaultPhase, Record};
use crate::model::{has_control_plane_role, is_control_plane_program};
use crate::state::{MachineChange, NodeId, Power};
use crate::units::SimTime;

/// What was found about the faults of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    /// Faults that hit nobody: when, which, and why not.
    pub(super) hit_nobody: Vec<(SimTime, String)>,
    /// When no node was left that bears the control plane, and these nodes.
    pub(super) without_control_plane: Option<(SimTime, Vec<String>)>,
}

/// Follows faults and the machines that they stop.
#[derive(Clone, Debug, Default)]
pub(super) struct MissedFaults {
    /// Nodes with programs of the control plane.
    bearers: Vec<NodeId>,
    /// Whether the user plays an outage of the control plane.
    is_outage_played: bool,
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

    fn recorded(&mut self, record: &Record, seen: &Seen<'_>) {
        if let Record::Fault { name, phase: FaultPhase::Missed(why) } = record {
            self.missed.hit_nobody.push((seen.now, format!("{name} ({why})")));
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
        self.missed
    }
}
