//! What samples tell of pods.

use std::collections::{BTreeMap, BTreeSet};

use super::super::objects::fields::is_by_kubelet;
use super::labels::{Label, Metric};
use super::presence::{Presence, Watch};
use super::samples::{Line, Table};
use super::states::{changes, edges, is_never_zero, stays};
use super::{Seen, at, between, second};
use crate::arena::Symbol;
use crate::evidence::{Bounds, DeletedBy, EndedBy, PodName, What};
use crate::units::SimDuration;

/// The longest that a kubelet waits before it starts a container again.
const BACK_OFF_MAX: SimDuration = SimDuration::from_secs(300);

pub(super) fn conclude(table: &Table, watch: &Watch, seen: &mut Seen) {
    let is_filtered = |metric| is_never_zero(table, metric);
    let filtered: Vec<Metric> = [Metric::PodPhase, Metric::PodReady, Metric::PodScheduled]
        .into_iter()
        .filter(|metric| is_filtered(*metric))
        .collect();
    let mut pods: BTreeMap<(Symbol, Symbol), Vec<&Line>> = BTreeMap::new();
    for line in table.lines.iter().filter(|line| line.key.metric.is_of_pod()) {
        pods.entry((line.key.id(Label::Namespace), line.key.id(Label::Pod))).or_default().push(line);
    }
    for ((namespace, name), lines) in pods {
        let name = PodName { namespace, name };
        // Pods that follow each other under one name have uids of their own.
        let uids: BTreeSet<Symbol> =
            lines.iter().map(|line| line.key.id(Label::Uid)).filter(|uid| !uid.is_empty()).collect();
        if uids.len() <= 1 {
            Pod::of(name, lines, &filtered, watch).conclude(watch, seen);
            continue;
        }
        for uid in uids {
            let lines = lines.iter().copied().filter(|line| line.key.id(Label::Uid) == uid).collect();
            Pod::of(name, lines, &filtered, watch).conclude(watch, seen);
        }
        let lines = lines.into_iter().filter(|line| line.key.id(Label::Uid).is_empty()).collect();
        let mut rest = Pod::of(name, lines, &filtered, watch);
        rest.presence = Presence::default();
        rest.conclude(watch, seen);
    }
}

/// The series of one pod.
struct Pod<'a> {
    name: PodName,
    lines: Vec<&'a Line>,
    presence: Presence,
    owner: Option<(Symbol, Symbol)>,
    /// If it came while it was watched: between which instants.
    appeared: Option<Bounds>,
}

impl<'a> Pod<'a> {
    fn of(name: PodName, lines: Vec<&'a Line>, filtered: &[Metric], watch: &Watch) -> Self {
        let mut presence = Presence::default();
        let is_always = |metric: Metric| {
            matches!(
                metric,
                Metric::PodInfo
                    | Metric::PodOwner
                    | Metric::PodCreated
                    | Metric::PodPhase
                    | Metric::PodReady
                    | Metric::PodScheduled
            ) && !filtered.contains(&metric)
        };
        lines.iter().filter(|line| is_always(line.key.metric)).for_each(|line| presence.add(line));
        let presence = presence.joined(watch);
        let appeared = presence.first().and_then(|first| watch.appeared(&presence, first));
        let owner = lines.iter().find_map(|line| owner(line));
        Self { name, lines, presence, owner, appeared }
    }

    fn of_metric(&self, metric: Metric) -> impl Iterator<Item = &'a Line> {
        self.lines.iter().copied().filter(move |line| line.key.metric == metric)
    }

    fn conclude(&self, watch: &Watch, seen: &mut Seen) {
        self.life(watch, seen);
        self.scheduling(watch, seen);
        self.readiness(seen);
        self.end(watch, seen);
        self.restarts(seen);
    }

    /// Where it is at some time, of the series that name a node.
    fn node_at(&self, nanos: i64) -> Option<Symbol> {
        let mut named =
            self.bound().filter(|line| line.spans.iter().any(|span| span.first <= nanos)).collect::<Vec<_>>();
        named.sort_by_key(|line| line.spans[0].first);
        named.last().map(|line| line.key.id(Label::Node))
    }

    fn bound(&self) -> impl Iterator<Item = &'a Line> {
        self.of_metric(Metric::PodInfo).filter(|line| !line.key.id(Label::Node).is_empty())
    }

    fn life(&self, watch: &Watch, seen: &mut Seen) {
        let Some((first, last)) = self.presence.first().zip(self.presence.last()) else { return };
        let pod = self.name;
        match self.appeared {
            Some(when) => {
                let created = self.of_metric(Metric::PodCreated).find_map(|line| second(line.spans[0].value));
                seen.see(created.unwrap_or(when), 1, What::PodCreated { pod, owner: self.owner });
            }
            None => {
                if let Some(node) = self.node_at(first) {
                    let (owner, is_ready) = (self.owner, self.is_ready_at(first));
                    seen.see(Bounds::at(at(first)), 1, What::PodSeen { pod, node, owner, is_ready });
                }
            }
        }
        if let Some(when) = watch.vanished(&self.presence, last) {
            seen.see(when, 1, What::PodGone { pod });
        }
    }

    /// Whether it was ready; of pods of which that is not told, whether they ran.
    fn is_ready_at(&self, nanos: i64) -> bool {
        let is_one = |metric, label, wanted: &str| {
            let mut lines = self.of_metric(metric).filter(|line| line.key.id(label) == wanted).peekable();
            lines.peek().is_some().then(|| {
                lines
                    .flat_map(|line| &line.spans)
                    .any(|span| span.first <= nanos && nanos <= span.last && span.value >= 0.5)
            })
        };
        let ready = is_one(Metric::PodReady, Label::Condition, "true");
        ready.or_else(|| is_one(Metric::PodPhase, Label::Phase, "Running")).unwrap_or(true)
    }

    fn scheduling(&self, watch: &Watch, seen: &mut Seen) {
        let pod = self.name;
        let exact = self.of_metric(Metric::PodScheduledTime).find_map(|line| second(line.spans[0].value));
        let first = self.bound().min_by_key(|line| line.spans[0].first);
        if let Some(line) = first {
            let (node, span) = (line.key.id(Label::Node), line.spans[0]);
            let unbound = self.of_metric(Metric::PodInfo).filter(|line| line.key.id(Label::Node).is_empty());
            let unbound =
                unbound.flat_map(|line| &line.spans).map(|span| span.last).filter(|last| *last < span.first).max();
            let sampled = match (unbound, self.appeared) {
                (Some(last), _) => Some(between(last, span.first)),
                (None, Some(appeared)) => Some(between(appeared.earliest.unix_nanos(), span.first)),
                (None, None) => None,
            };
            if let Some(sampled) = sampled {
                seen.see(exact.unwrap_or(sampled), span.place, What::PodScheduled { pod, node });
            }
        }
        for (when, is_so, place) in self.of_metric(Metric::PodUnschedulable).flat_map(|line| edges(line, watch)) {
            if is_so {
                seen.see(when, place, What::PodUnschedulable { pod, message: Symbol::empty() });
            }
        }
    }

    fn readiness(&self, seen: &mut Seen) {
        let pod = self.name;
        let states = self.of_metric(Metric::PodReady).map(|line| (line, line.key.id(Label::Condition) == "true"));
        let stays = stays(&states.collect::<Vec<_>>());
        let exact: Vec<Bounds> = self
            .of_metric(Metric::PodReadyTime)
            .flat_map(|line| &line.spans)
            .filter_map(|span| second(span.value))
            .collect();
        if let (Some(first), Some(appeared)) = (stays.first(), self.appeared)
            && first.state == Some(true)
        {
            let when = between(appeared.earliest.unix_nanos(), first.first);
            seen.see(sharper(when, &exact), first.place, What::PodReady { pod, is_ready: true });
        }
        // Between two ways not to be ready nothing changes.
        let mut was_ready = stays.first().is_some_and(|stay| stay.state == Some(true));
        for change in changes(&stays) {
            let is_ready = change.to == Some(true);
            if is_ready != was_ready {
                let when = if is_ready { sharper(change.when, &exact) } else { change.when };
                seen.see(when, change.place, What::PodReady { pod, is_ready });
            }
            was_ready = is_ready;
        }
    }

    fn end(&self, watch: &Watch, seen: &mut Seen) {
        let pod = self.name;
        let mut reason = Symbol::empty();
        for line in self.of_metric(Metric::PodReason).filter(|line| line.spans.iter().any(|span| span.value >= 0.5)) {
            reason = line.key.id(Label::Reason);
            if !is_by_kubelet(reason.as_str()) {
                continue;
            }
            for (when, _, place) in edges(line, watch).into_iter().filter(|(_, is_so, _)| *is_so) {
                let node = self.node_at(when.latest.unix_nanos());
                seen.see(when, place, What::PodDeletion { pod, by: DeletedBy::Kubelet, node });
            }
        }
        let phases = self.of_metric(Metric::PodPhase).map(|line| (line, line.key.id(Label::Phase)));
        let is_end = |phase: Symbol| matches!(phase.as_str(), "Succeeded" | "Failed");
        for change in changes(&stays(&phases.collect::<Vec<_>>())) {
            if let Some(phase) = change.to.filter(|phase| is_end(*phase)) {
                let is_success = phase == "Succeeded";
                seen.see(change.when, change.place, What::PodFinished { pod, is_success, reason });
            }
        }
        for line in self.of_metric(Metric::PodDeletion) {
            // The value is the request and a grace period that nobody tells: the request is not later.
            let latest = line.spans.iter().filter_map(|span| second(span.value)).map(|ends| ends.latest).min();
            if let Some((when, _, place)) = edges(line, watch).into_iter().find(|(_, is_so, _)| *is_so) {
                let latest = latest.map_or(when.latest, |latest| latest.clamp(when.earliest, when.latest));
                let when = Bounds { earliest: when.earliest, latest };
                let node = self.node_at(when.latest.unix_nanos());
                seen.see(when, place, What::PodDeletion { pod, by: DeletedBy::Unknown, node });
            }
        }
    }

    /// A container that is started again had ended before, at most as long ago as a kubelet waits.
    fn restarts(&self, seen: &mut Seen) {
        let pod = self.name;
        for line in self.of_metric(Metric::ContainerRestarts) {
            let container = line.key.id(Label::Container);
            for pair in line.spans.windows(2).filter(|pair| pair[0].value < pair[1].value) {
                let started = between(pair[0].last, pair[1].first);
                let ended = Bounds { earliest: started.earliest.earlier(BACK_OFF_MAX), latest: started.latest };
                let by = self.ended_by(container, pair[1].first);
                seen.see(ended, pair[1].place, What::ContainerEnded { pod, container, by });
                seen.see(started, pair[1].place, What::ContainerStarted { pod, container });
            }
        }
    }

    fn ended_by(&self, container: Symbol, nanos: i64) -> EndedBy {
        let is_so = |line: &&Line| {
            let is_now = |first: i64, last: i64| first <= nanos && nanos <= last;
            line.key.id(Label::Container) == container
                && line.spans.iter().any(|span| is_now(span.first, span.last) && span.value >= 0.5)
        };
        let reason = self.of_metric(Metric::ContainerReason).find(is_so).map(|line| line.key.id(Label::Reason));
        match reason.map(Symbol::as_str) {
            Some("OOMKilled") => EndedBy::OutOfMemory,
            Some("Completed") => EndedBy::Completed,
            Some("Error" | "StartError") => EndedBy::Crash,
            _ => EndedBy::Unknown,
        }
    }
}

/// What a time stamp leaves of bounds.
fn sharper(when: Bounds, exact: &[Bounds]) -> Bounds {
    exact.iter().find_map(|exact| when.and(*exact)).unwrap_or(when)
}

fn owner(line: &Line) -> Option<(Symbol, Symbol)> {
    let (kind, name) = match line.key.metric {
        Metric::PodOwner => (Label::OwnerKind, Label::OwnerName),
        Metric::PodInfo => (Label::CreatedByKind, Label::CreatedByName),
        _ => return None,
    };
    let (kind, name) = (line.key.id(kind), line.key.id(name));
    let is_none = |text: Symbol| text.is_empty() || text == "<none>";
    (!is_none(kind) && !is_none(name)).then_some((kind, name))
}
