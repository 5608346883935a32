//! Lengths of time that nodes' events tell of. When power or link came back nobody records, so that all are bounds.

use std::collections::BTreeMap;

use super::evidence::{Event, Evidence};
use super::instant::{Instant, at_most, between, longer};
use super::lengths::{Lengths, Measure};
use crate::engine::Bounds;

/// Seconds of silence after which a node counts as lost at the latest, with what the monitor's period adds.
///
/// # Source
/// kube-controller-manager, `--node-monitor-grace-period` (50 s, 40 s before 1.32) and `--node-monitor-period` (5 s); kubelet, a lease
/// is renewed every 10 s.
const SILENCE_S: f64 = 65.0;
/// Seconds after which a kubelet that is back has posted its status at the latest.
const STATUS_S: f64 = 10.0;
/// Seconds within which a kubelet that is back stops what was deleted meanwhile.
const CATCHES_UP_S: f64 = 300.0;

/// Something that happened to a node.
#[derive(Clone, Copy, Debug)]
struct Happening<'e> {
    at: Instant,
    event: &'e Event,
}

/// Adds what there is of nodes.
pub(super) fn of_nodes(evidence: &Evidence, found: &mut BTreeMap<Measure, Lengths>) {
    let stops = stops(evidence);
    for ((_, node, _), events) in evidence.events_of("Node") {
        let mut happenings: Vec<Happening<'_>> = Vec::new();
        for event in events {
            happenings.push(Happening { at: event.first, event });
            // Of what was counted only the first and the last time are known.
            if event.last.nanos != event.first.nanos {
                happenings.push(Happening { at: event.last, event });
            }
        }
        happenings.sort_by_key(|happening| happening.at.nanos);
        let mut from = 0;
        for (index, back) in
            happenings.iter().enumerate().filter(|(_, happening)| happening.event.reason == "NodeReady")
        {
            // A reboot may be told in the second in which the node is Ready.
            let is_near = |next: &&Happening<'_>| next.at.since_s(back.at) <= 1.0 && next.event.reason == "Rebooted";
            let after = happenings[index + 1..].iter().take_while(is_near).count();
            let absence = Absence::of(&happenings[from..=index + after], back.at, from > 0);
            absence.tell(stops.get(node).map(Vec::as_slice).unwrap_or_default(), found);
            from = index + 1;
        }
    }
}

/// When kubelets began to stop containers, by node.
fn stops(evidence: &Evidence) -> BTreeMap<&str, Vec<Instant>> {
    let mut found: BTreeMap<&str, Vec<Instant>> = BTreeMap::new();
    for events in evidence.events_of("Pod").into_values() {
        for killing in events.into_iter().filter(|event| event.reason == "Killing" && !event.host.is_empty()) {
            found.entry(&killing.host).or_default().push(killing.first);
        }
    }
    found.values_mut().for_each(|times| times.sort_by_key(|at| at.nanos));
    found
}

/// The time from one NodeReady to the next.
#[derive(Clone, Copy, Debug)]
struct Absence {
    /// When it was noticed that the node is lost.
    lost: Option<Instant>,
    /// When its kubelet started.
    started: Option<Instant>,
    is_reboot: bool,
    back: Instant,
    /// Whether the node is known to have been Ready before.
    was_ready: bool,
}

impl Absence {
    fn of(happenings: &[Happening<'_>], back: Instant, was_ready: bool) -> Self {
        let mut absence = Self { lost: None, started: None, is_reboot: false, back, was_ready };
        for Happening { at, event } in happenings {
            match event.reason.as_str() {
                // A kubelet that says so itself is not lost.
                "NodeNotReady" if event.component != "kubelet" => absence.lost = absence.lost.or(Some(*at)),
                "Starting" if event.message.contains("kubelet") => absence.started = Some(*at),
                "Rebooted" => absence.is_reboot = true,
                _ => {}
            }
        }
        absence
    }

    fn tell(&self, stops: &[Instant], found: &mut BTreeMap<Measure, Lengths>) {
        let mut add = |measure: Measure, bounds: Bounds| {
            found.entry(measure).or_default().add(bounds, None, true);
        };
        let back = self.back;
        match (self.is_reboot, self.lost, self.started) {
            // Of a new node nothing tells when its power came on.
            (false, None, Some(started)) if !self.was_ready => add(Measure::NodeBoot, longer(started, back)),
            (true, lost, started) => {
                // Its power went before the silence was noticed, and came back later.
                let off = lost.or(started.filter(|_| self.was_ready)).map(|at| at.plus(-SILENCE_S));
                match (off, started) {
                    (Some(off), Some(started)) => {
                        let (least, most) = (between(started, back), between(off, back));
                        add(
                            Measure::NodeBoot,
                            Bounds { low_s: (least.low_s - least.slack_s).max(0.0), slack_s: 0.0, ..most },
                        );
                    }
                    (Some(off), None) => add(Measure::NodeBoot, at_most(off, back)),
                    (None, Some(started)) => add(Measure::NodeBoot, longer(started, back)),
                    (None, None) => {}
                }
            }
            (false, Some(lost), None) => {
                let catches_up = |at: &&Instant| (0.0..CATCHES_UP_S).contains(&at.since_s(back));
                match stops.iter().find(catches_up) {
                    Some(acts) => {
                        let bounds = between(back, *acts);
                        let (low_s, high_s) = ((bounds.low_s - 1.0).max(0.0), bounds.high_s + STATUS_S);
                        add(Measure::KubeletReconnect, Bounds { low_s, high_s, slack_s: 0.0 });
                    }
                    None => add(Measure::KubeletReconnect, at_most(lost.plus(-SILENCE_S), back)),
                }
            }
            // A kubelet that was started anew had neither a boot nor a broken link behind it.
            (false, _, _) => {}
        }
    }
}
