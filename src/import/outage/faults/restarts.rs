//! Boots and starts of kubelets that were over before anybody missed a heartbeat.

use super::silence::RENEWAL_MAX;
use super::{Confidence, Detection, Extra, Fault, Found, Hit};
use crate::arena::Symbol;
use crate::evidence::{Bounds, Instant, What};
use crate::import::outage::timeline::Timeline;
use crate::units::SimDuration;

/// A boot or start is a silence's if it lies so close to it.
const NEAR: SimDuration = SimDuration::from_secs(120);
/// Starts that lie closer together are one.
const ONE_START: SimDuration = SimDuration::from_secs(60);
/// A node that is younger has just joined: its kubelet starts for the first time.
const YOUNG: SimDuration = SimDuration::from_secs(300);

/// Looks for them on a node.
pub(super) fn find(node: Symbol, timeline: &Timeline<'_>, detection: Detection, found: &mut Found) {
    let mut last: Option<Instant> = None;
    for (index, seen) in timeline.of_node(node) {
        let is_boot = match seen.what {
            What::Rebooted { .. } => true,
            What::KubeletStarted { .. } => false,
            _ => continue,
        };
        if found.explained.contains(&index)
            || found.of_node(node).any(|fault| fault.covers(seen.when, NEAR))
            || last.is_some_and(|last| seen.when.earliest <= last.later(ONE_START))
            || is_young(node, seen.when, timeline)
        {
            continue;
        }
        let near = |other: &What| matches!(other, What::Rebooted { .. });
        let reboot = timeline.first_of_node(node, seen.when.earliest.earlier(ONE_START), near);
        let reboot = reboot.filter(|(_, other)| other.when.earliest <= seen.when.latest.later(ONE_START));
        last = Some(seen.when.latest);
        let back = seen.when;
        let earliest = back.earliest.earlier(detection.grace + RENEWAL_MAX);
        let heartbeat = timeline
            .last_of_node(node, back.earliest, |what| matches!(what, What::Heartbeat { .. }))
            .filter(|(_, heartbeat)| heartbeat.when.earliest >= earliest && heartbeat.when.latest < back.earliest);
        let mut evidence = vec![index];
        evidence.extend(reboot.map(|(index, _)| index));
        evidence.extend(heartbeat.map(|(index, _)| index));
        let earliest = heartbeat.map_or(earliest, |(_, heartbeat)| heartbeat.when.earliest);
        let begin = Bounds { earliest, latest: back.latest };
        let boot = SimDuration::from_nanos(u64::try_from(back.middle().nanos_since(begin.middle())).unwrap_or(0));
        let fault = if is_boot || reboot.is_some() {
            Fault {
                kind: "Reboot",
                hit: Hit::Node(node),
                begin,
                begin_guess: None,
                end: None,
                end_guess: None,
                extra: Extra::Boot(boot),
                confidence: Confidence::Certain,
                reason: "the machine booted anew, and was back before anybody missed it".to_owned(),
                alternatives: vec!["Crash"],
                evidence,
            }
        } else {
            Fault {
                kind: "KubeletStop",
                hit: Hit::Node(node),
                begin,
                begin_guess: None,
                end: Some(back),
                end_guess: None,
                extra: Extra::None,
                confidence: Confidence::Likely,
                reason: "its kubelet started anew, and was back before anybody missed it".to_owned(),
                alternatives: vec!["Reboot"],
                evidence,
            }
        };
        found.push(fault);
    }
}

fn is_young(node: Symbol, when: Bounds, timeline: &Timeline<'_>) -> bool {
    let created = timeline.inventory.nodes.get(&node).and_then(|known| known.created);
    let made =
        timeline.last_of_node(node, when.latest, |what| matches!(what, What::NodePresent { is_present: true, .. }));
    let since = made.map(|(_, seen)| seen.when.earliest).max(created);
    since.is_some_and(|since| when.earliest <= since.later(YOUNG))
}
