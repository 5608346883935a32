//! Drains that wait for what does not come, until they give up or the run ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::named::{Names, and_more, length, moment};
use super::nodes::{NodeFacts, Turn};
use super::{Mechanism, Trap, TrapKind};
use crate::arena::Symbol;
use crate::component::{Config, InvolvedKind, Record, SCENARIO, name_of_pod};
use crate::state::{Change, Changed, NodeId, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// A pod that was refused for less than this before the end may still be let go.
const PATIENCE: SimDuration = SimDuration::from_secs(60);

/// A kubelet that lives takes a few seconds after the grace period.
const SLACK: SimDuration = SimDuration::from_secs(10);

/// How a drain ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum End {
    /// At its timeout.
    TimedOut,
    /// Not before the run.
    WithTheRun,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Drains {
    /// Drains that have begun and not ended.
    open: Vec<(SimTime, Arc<str>)>,
    /// Pods whose eviction was refused: first and last time.
    refused: BTreeMap<PodId, (SimTime, SimTime)>,
    drains: Names,
    first_at: Option<SimTime>,
    worst: Option<(SimDuration, String)>,
}

impl Mechanism for Drains {
    type Found = Option<Trap>;

    fn begin(_: &NodeFacts, _: &Store, _: &Config) -> Self {
        Self::default()
    }

    fn changed(&mut self, change: &Change, _: Turn, _: &NodeFacts, _: &Store) {
        if let Changed::PodRemoved { pod, .. } = &change.what
            && !self.refused.is_empty()
        {
            self.refused.remove(pod);
        }
    }

    fn recorded(&mut self, now: SimTime, record: &Record, store: &Store) {
        match record {
            Record::Event { component: SCENARIO, event }
                if event.about.kind == InvolvedKind::Kubectl && is_drain(&event.about.name) =>
            {
                self.open.push((now, Arc::clone(&event.about.name)));
            }
            Record::Transcript(transcript) if is_drain(&transcript.command) => {
                let is_it = |open: &(SimTime, Arc<str>)| open.0 == transcript.at && open.1 == transcript.command;
                if let Some(place) = self.open.iter().position(is_it) {
                    self.open.remove(place);
                }
                let has_timed_out = |line: &String| {
                    line.contains("global timeout reached") || line.contains("context deadline exceeded")
                };
                if transcript.stderr.iter().any(has_timed_out) {
                    self.judge(transcript.at, now, &transcript.command, End::TimedOut, store);
                }
            }
            _ => {}
        }
    }

    fn refused(&mut self, now: SimTime, pod: PodId, _: &Store) {
        self.refused.entry(pod).or_insert((now, now)).1 = now;
    }

    fn finish(mut self, end: SimTime, _: &NodeFacts, store: &Store) -> Self::Found {
        for (began, command) in std::mem::take(&mut self.open) {
            self.judge(began, end, &command, End::WithTheRun, store);
        }
        let (cost, text) = self.worst?;
        let text = format!("{text}{}", and_more(self.drains.count() - 1, "drain", "drains"));
        Some(self.drains.trap(TrapKind::EndlessDrain, self.first_at?, text, Some(cost)))
    }
}

impl Drains {
    fn judge(&mut self, began: SimTime, at: SimTime, command: &Arc<str>, end: End, store: &Store) {
        let (refused, leaving) = self.waiting(began, at, command, end, store);
        if end == End::WithTheRun && refused.count() + leaving.count() == 0 {
            return;
        }
        self.drains.add(crate::component::typed(command));
        self.first_at = Some(self.first_at.map_or(began, |first| first.min(began)));
        let cost = at.saturating_since(began);
        if self.worst.as_ref().is_some_and(|worst| cost <= worst.0) {
            return;
        }
        let mut reasons = Vec::new();
        if refused.count() > 0 {
            reasons.push(format!("{refused}, which no budget let go"));
        }
        if leaving.count() > 0 {
            reasons.push(format!("{leaving}, which did not end"));
        }
        let reasons = if reasons.is_empty() { String::new() } else { format!(" for {}", reasons.join("; and for ")) };
        let how = match end {
            End::TimedOut => "until its timeout",
            End::WithTheRun => "and still does at the end of the run",
        };
        let text = format!(
            "`{}` of {} waited{reasons}, {} {how}",
            crate::component::typed(command),
            moment(began),
            length(cost)
        );
        self.worst = Some((cost, text));
    }

    /// What a drain waits for: pods whose eviction is refused, and pods that do not end.
    fn waiting(&self, began: SimTime, at: SimTime, command: &str, end: End, store: &Store) -> (Names, Names) {
        let (mut refused, mut leaving) = (Names::default(), Names::default());
        let mut nodes: Vec<NodeId> =
            command.split_whitespace().skip(1).filter_map(|word| store.find_node(Symbol::new(word))).collect();
        if nodes.is_empty() {
            nodes = store.nodes().map(|(id, node)| (id, node.unschedulable)).filter(|n| n.1).map(|n| n.0).collect();
        }
        for (id, pod) in nodes.iter().flat_map(|&node| store.pods_on(node)).filter_map(|&id| Some((id, store.pod(id)?)))
        {
            match (pod.deletion, self.refused.get(&id)) {
                _ if pod.phase.is_terminal() => {}
                (Some(deletion), _) if end == End::TimedOut || at > deletion.deadline + SLACK => {
                    leaving.add(name_of_pod(pod));
                }
                (None, Some((first, last))) if *last >= began && (end == End::TimedOut || at >= *first + PATIENCE) => {
                    refused.add(name_of_pod(pod));
                }
                _ => {}
            }
        }
        (refused, leaving)
    }
}

/// Whether a line of kubectl is a drain.
fn is_drain(command: &str) -> bool {
    command.split_whitespace().next() == Some("drain")
}
