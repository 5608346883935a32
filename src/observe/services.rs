//! `services.csv`: where the traffic of each service goes, at each change.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Detail;
use super::observer::{Keeps, Observer, Seen, Setup};
use super::slo::Slo;
use super::table::{Column, Row, Table};
use super::workload::WorkloadKey;
use crate::arena::Symbol;
use crate::state::{Change, Changed, MachineChange, NodeId, ObjectDelta, Power, Service, ServiceId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// A row of `services.csv`.
#[derive(Clone, Debug)]
pub struct ServiceRow {
    /// When.
    pub at: SimTime,
    /// Namespace.
    pub namespace: Symbol,
    /// Service.
    pub name: Symbol,
    /// What its EndpointSlices say from then on.
    pub traffic: Traffic,
}

impl Row for ServiceRow {
    const TABLE: Table<Self> = Table {
        file: "services.csv",
        holds: "a row at each change of a service's EndpointSlices, or of a machine behind them",
        columns: &[
            Column::time("time_s", "when", |row| row.at),
            Column::text("namespace", "the service's namespace", |row| row.namespace.as_str()),
            Column::text("name", "the service's name", |row| row.name.as_str()),
            Column::number("endpoints", "endpoints", "all in its slices", |row| row.traffic.endpoints),
            Column::number("ready", "endpoints", "those that are ready", |row| row.traffic.ready),
            Column::number("terminating", "endpoints", "those whose pods are being deleted", |row| {
                row.traffic.terminating
            }),
            Column::number(
                "targets",
                "endpoints",
                "where traffic goes: the ready ones, or else those that serve while they are being deleted",
                |row| row.traffic.targets,
            ),
            Column::number("dead_targets", "endpoints", "targets on machines that are down", |row| {
                row.traffic.dead_targets
            }),
        ],
    };
}

/// Where the traffic of a service goes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Endpoints in its slices.
    pub endpoints: i64,
    /// Those that are ready.
    pub ready: i64,
    /// Those whose pods are being deleted.
    pub terminating: i64,
    /// Those that traffic goes to: the ready ones; if there are none, those that still serve while they are being deleted.
    pub targets: i64,
    /// Targets on machines that are down: what is sent there is lost.
    pub dead_targets: i64,
}

impl Traffic {
    /// # Source
    /// kube-proxy: ready endpoints, or else those that serve and terminate.
    fn of(service: &Service, store: &Store) -> Self {
        let all = || service.slices.values().flat_map(|slice| slice.iter());
        let ready = all().filter(|endpoint| endpoint.ready).count() as i64;
        let is_target = |endpoint: &&crate::state::Endpoint| {
            if ready > 0 { endpoint.ready } else { endpoint.serving && endpoint.terminating }
        };
        let is_dead = |endpoint: &&crate::state::Endpoint| endpoint.node.is_some_and(|node| is_down(node, store));
        Self {
            endpoints: all().count() as i64,
            ready,
            terminating: all().filter(|endpoint| endpoint.terminating).count() as i64,
            targets: all().filter(is_target).count() as i64,
            dead_targets: all().filter(is_target).filter(is_dead).count() as i64,
        }
    }

    /// The share of the requests that is lost.
    fn lost(&self) -> f64 {
        if self.targets == 0 { 1.0 } else { self.dead_targets as f64 / self.targets as f64 }
    }
}

fn is_down(node: NodeId, store: &Store) -> bool {
    let machine = store.machine(node);
    !machine.exists || machine.power != Power::On
}

/// What became of a service, from the moment on at which it first had somewhere to send traffic to.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceOutcome {
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Symbol,
    /// When it was deleted, in seconds since t=0; absent if it is there at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_s: Option<f64>,
    /// Endpoints that traffic went to at the end.
    pub targets: i64,
    /// Seconds in which it went to none.
    pub without_targets_s: f64,
    /// Seconds of those in which none of the workloads behind it wanted a pod: they were scaled to 0 or deleted.
    pub unwanted_s: f64,
    /// The longest time without targets.
    pub longest_without_targets_s: f64,
    /// Seconds in which it went, among others, to machines that were down.
    pub dead_targets_s: f64,
    /// How much was lost, in seconds of its whole traffic, if that is spread evenly.
    pub lost_traffic_s: f64,
}

#[derive(Clone, Debug)]
struct Course {
    namespace: Symbol,
    name: Symbol,
    traffic: Traffic,
    since: SimTime,
    /// It has had targets: before that nobody can have lost anything.
    has_served: bool,
    /// Since when it has had no targets.
    empty_since: Option<SimTime>,
    without: SimDuration,
    /// What its endpoints have belonged to.
    behind: Vec<WorkloadKey>,
    /// It has no targets, and nobody wants any.
    is_unwanted: bool,
    unwanted: SimDuration,
    longest: SimDuration,
    dead: SimDuration,
    lost_s: f64,
}

impl Course {
    fn advance(&mut self, now: SimTime) {
        let span = now.saturating_since(self.since);
        self.since = now;
        if !self.has_served {
            return;
        }
        if self.traffic.targets == 0 {
            self.without += span;
        }
        if self.is_unwanted {
            self.unwanted += span;
        }
        if self.traffic.dead_targets > 0 {
            self.dead += span;
        }
        self.lost_s += span.as_secs_f64() * self.traffic.lost();
    }

    fn end_gap(&mut self, now: SimTime) {
        if let Some(since) = self.empty_since.take() {
            self.longest = self.longest.max(now.saturating_since(since));
        }
    }
}

/// Follows every service that has EndpointSlices.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    keeps_rows: bool,
    rows: Vec<ServiceRow>,
    courses: BTreeMap<ServiceId, Course>,
    /// Services that have had an endpoint on the node.
    by_node: BTreeMap<NodeId, BTreeSet<ServiceId>>,
    /// Those that have served and have no targets.
    idle: BTreeSet<ServiceId>,
    gone: Vec<ServiceOutcome>,
}

impl Services {
    /// Workloads want more pods or fewer: this may be why a service has no targets.
    fn look_at_idle(&mut self, now: SimTime, store: &Store, slo: &Slo) {
        for id in Vec::from_iter(self.idle.iter().copied()) {
            self.look(id, now, store, slo);
        }
    }

    fn look(&mut self, id: ServiceId, now: SimTime, store: &Store, slo: &Slo) {
        let Some(service) = store.services.get(id).filter(|service| !service.slices.is_empty()) else { return };
        let nodes = service.slices.values().flat_map(|slice| slice.iter()).filter_map(|endpoint| endpoint.node);
        for node in nodes {
            self.by_node.entry(node).or_default().insert(id);
        }
        let (namespace, name) = (service.meta.namespace, service.meta.name);
        let traffic = Traffic::of(service, store);
        let is_new = !self.courses.contains_key(&id);
        let course = self.courses.entry(id).or_insert_with(|| Course {
            namespace,
            name,
            traffic,
            since: now,
            has_served: false,
            empty_since: None,
            without: SimDuration::ZERO,
            behind: Vec::new(),
            is_unwanted: false,
            unwanted: SimDuration::ZERO,
            longest: SimDuration::ZERO,
            dead: SimDuration::ZERO,
            lost_s: 0.0,
        });
        if is_new || traffic.endpoints > course.traffic.endpoints {
            let pods = service.slices.values().flat_map(|slice| slice.iter()).filter_map(|end| store.pod(end.pod));
            for key in pods.map(|pod| WorkloadKey::of_pod(pod, store)) {
                if !course.behind.contains(&key) {
                    course.behind.push(key);
                }
            }
        }
        let is_unwanted =
            traffic.targets == 0 && !course.behind.is_empty() && course.behind.iter().all(|key| slo.is_unwanted(*key));
        if traffic.targets > 0 {
            self.idle.remove(&id);
        } else if course.has_served {
            self.idle.insert(id);
        }
        if !is_new && (course.traffic, course.is_unwanted) == (traffic, is_unwanted) {
            return;
        }
        course.advance(now);
        course.is_unwanted = is_unwanted;
        if !is_new && course.traffic == traffic {
            return;
        }
        course.traffic = traffic;
        if traffic.targets > 0 {
            course.has_served = true;
            course.end_gap(now);
        } else if course.has_served {
            course.empty_since.get_or_insert(now);
        }
        if self.keeps_rows {
            self.rows.push(ServiceRow { at: now, namespace, name, traffic });
        }
    }

    /// What became of each service, by name.
    pub(super) fn take_outcomes(&mut self, end: SimTime) -> Vec<ServiceOutcome> {
        let mut outcomes = std::mem::take(&mut self.gone);
        outcomes.extend(std::mem::take(&mut self.courses).into_values().map(|course| outcome(course, end)));
        outcomes.sort_by(|a, b| (a.namespace.as_str(), a.name.as_str()).cmp(&(b.namespace.as_str(), b.name.as_str())));
        outcomes
    }
}

impl Observer for Services {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn begin(&mut self, setup: &Setup<'_>, seen: &Seen<'_>) {
        let Seen { store, slo, .. } = *seen;
        self.keeps_rows = setup.detail >= Detail::Files;
        for id in store.services.ids() {
            self.look(id, SimTime::ZERO, store, slo);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let Seen { store, slo, .. } = *seen;
        match &change.what {
            Changed::EndpointsChanged(id) => {
                self.look(*id, change.at, store, slo);
            }
            Changed::WorkloadAdded(_) | Changed::WorkloadRemoved(_) => self.look_at_idle(change.at, store, slo),
            Changed::WorkloadUpdated(_, delta) if delta.touches(ObjectDelta::SPEC | ObjectDelta::DELETION) => {
                self.look_at_idle(change.at, store, slo);
            }
            // How many pods a DaemonSet wants is what its status says.
            Changed::WorkloadUpdated(WorkloadId::DaemonSet(_), _) => self.look_at_idle(change.at, store, slo),
            Changed::ServiceRemoved(id) => {
                self.idle.remove(id);
                if let Some(course) = self.courses.remove(id) {
                    let gone_s = Some(change.at.as_nanos() as f64 / 1e9);
                    self.gone.push(ServiceOutcome { gone_s, ..outcome(course, change.at) });
                }
            }
            _ => {}
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, seen: &Seen<'_>) {
        let Seen { now, store, slo, .. } = *seen;
        let (MachineChange::PowerOff(node) | MachineChange::InstanceGone(node) | MachineChange::Booted(node)) = change
        else {
            return;
        };
        let services: Vec<ServiceId> = self.by_node.get(node).into_iter().flatten().copied().collect();
        for id in services {
            self.look(id, now, store, slo);
        }
    }
}

impl Keeps<ServiceRow> for Services {
    fn take_rows(&mut self) -> Vec<ServiceRow> {
        std::mem::take(&mut self.rows)
    }
}

fn outcome(mut course: Course, end: SimTime) -> ServiceOutcome {
    course.advance(end);
    course.end_gap(end);
    ServiceOutcome {
        namespace: course.namespace,
        name: course.name,
        gone_s: None,
        targets: course.traffic.targets,
        without_targets_s: course.without.as_secs_f64(),
        unwanted_s: course.unwanted.as_secs_f64(),
        longest_without_targets_s: course.longest.as_secs_f64(),
        dead_targets_s: course.dead.as_secs_f64(),
        lost_traffic_s: course.lost_s,
    }
}
