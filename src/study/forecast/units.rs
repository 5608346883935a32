//! Who can be hurt: services, and workloads that no service leads to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::arena::Symbol;
use crate::model::{LabelSelector, ManifestObject, Object, is_mirror};
use crate::observe::{MinReady, Objective, Phase, Summary, WorkloadOutcome, workload_matches};
use crate::scenario::pod_template;
use crate::study::edit::path_of;

/// A service with the workloads behind it, or a workload that no service leads to.
#[derive(Clone, Debug)]
pub struct Unit {
    /// `service/shop/web` or `deployment/shop/web`.
    pub object: String,
    /// The workloads whose pods do its work, by their paths; of a workload, itself.
    pub workloads: Vec<String>,
    /// Whether nothing makes its pods anew: they have no controller. What is lost with the first failure is lost for ever, so that the
    /// minutes of a year say when it came; they are told apart, and are in no sum.
    pub never_comes_back: bool,
    key: UnitKey,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum UnitKey {
    Service(Symbol, Symbol),
    Workload,
}

/// All units of a cluster, and where each is found.
#[derive(Clone, Debug, Default)]
pub(super) struct Units {
    pub(super) all: Vec<Unit>,
    by_service: BTreeMap<(Symbol, Symbol), usize>,
    by_workload: BTreeMap<String, usize>,
    /// Those that do not serve before anything happens, and that nothing is counted of.
    pub(super) down: Vec<usize>,
    /// Of each workload, the units that it works for.
    pub(super) of_workload: BTreeMap<String, Vec<usize>>,
}

/// What a unit suffered in one play, in seconds.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Of a service, lost traffic: seconds of its whole traffic. Of a workload that no service leads to, the time in which too few
    /// of its pods were Ready by its objective; without one, none of them.
    pub lost_s: f64,
    /// Time in which one of its workloads had fewer Ready pods than wanted.
    pub short_s: f64,
    /// Missing Ready pods times seconds.
    pub unready_replica_s: f64,
    /// Time in which planned work waited in vain for its pods to go.
    pub blocked_s: f64,
    /// Seconds that lost pods of its workloads were missed for, by phase, in the order of [`Phase::ALL`].
    pub phases_s: [f64; Phase::ALL.len()],
}

impl Loss {
    /// What a forecast ranks by, in seconds: lost traffic, and planned work that waits in vain.
    #[must_use]
    pub fn cost_s(&self) -> f64 {
        self.lost_s + self.blocked_s
    }

    /// Adds so many times another loss.
    pub(super) fn add_times(&mut self, times: f64, other: &Self) {
        self.lost_s += times * other.lost_s;
        self.short_s += times * other.short_s;
        self.unready_replica_s += times * other.unready_replica_s;
        self.blocked_s += times * other.blocked_s;
        for (sum, phase) in self.phases_s.iter_mut().zip(&other.phases_s) {
            *sum += times * phase;
        }
    }

    fn add(&mut self, workload: &WorkloadOutcome) {
        self.short_s = self.short_s.max(workload.below_desired_s);
        self.unready_replica_s += workload.unready_replica_s;
        for (sum, phase) in self.phases_s.iter_mut().zip(&workload.phases_s) {
            *sum += phase;
        }
    }
}

impl Units {
    /// The units of these objects. Pods of DaemonSets and Jobs, and those that a kubelet runs from a file, serve nobody by themselves: they
    /// are units behind a service only.
    pub(super) fn of(objects: &[ManifestObject]) -> Self {
        let is_worker = |object: &&ManifestObject| is_worker(&object.object);
        let workers: Vec<&Object> = objects.iter().filter(is_worker).map(|object| &object.object).collect();
        let mut units = Self::default();
        let mut served: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for object in objects {
            let Object::Service(service) = &object.object else { continue };
            if service.spec.selector.is_empty() {
                continue;
            }
            let selector = LabelSelector::from_labels(&service.spec.selector);
            let namespace = service.metadata.namespace;
            let is_behind = |worker: &&&Object| {
                worker.metadata().namespace == namespace
                    && labels(worker).is_some_and(|labels| selector.matches(labels))
            };
            let workloads: Vec<String> = workers.iter().filter(is_behind).map(|worker| path_of(worker)).collect();
            if workloads.is_empty() {
                continue;
            }
            let index = units.all.len();
            for workload in &workloads {
                served.entry(workload.clone()).or_default().push(index);
            }
            let name = service.metadata.name;
            units.by_service.insert((namespace, name), index);
            let key = UnitKey::Service(namespace, name);
            let never_comes_back = workers.iter().filter(is_behind).all(|worker| is_bare(worker));
            units.all.push(Unit { object: format!("service/{namespace}/{name}"), workloads, never_comes_back, key });
        }
        for worker in &workers {
            let path = path_of(worker);
            if served.contains_key(&path) || is_of_its_node(worker) {
                continue;
            }
            let index = units.all.len();
            units.by_workload.insert(path.clone(), index);
            // What it would be with a controller.
            if let Some(name) = path.strip_prefix("pod/") {
                units.by_workload.entry(format!("deployment/{name}")).or_insert(index);
            }
            served.insert(path.clone(), vec![index]);
            units.all.push(Unit {
                object: path.clone(),
                workloads: vec![path],
                never_comes_back: is_bare(worker),
                key: UnitKey::Workload,
            });
        }
        units.of_workload = served;
        units
    }

    /// Those that are in sums, by their positions.
    pub(super) fn counted(&self) -> impl Iterator<Item = usize> + Clone {
        self.positions(false)
    }

    /// Those that are told apart.
    pub(super) fn apart(&self) -> impl Iterator<Item = usize> + Clone {
        self.positions(true)
    }

    fn positions(&self, never_comes_back: bool) -> impl Iterator<Item = usize> + Clone {
        let units = self.all.iter().enumerate();
        units.filter(move |(_, unit)| unit.never_comes_back == never_comes_back).map(|(position, _)| position)
    }

    /// What those that are in sums suffered together.
    pub(super) fn sum(&self, losses: &[Loss], of: fn(&Loss) -> f64) -> f64 {
        self.counted().map(|unit| of(&losses[unit])).fold(0.0, |sum, of| sum + of)
    }

    /// Of these, those by which a change for them is judged: who is in sums, or all if nobody is.
    pub(super) fn judged(&self, units: &BTreeSet<usize>) -> BTreeSet<usize> {
        let counted: BTreeSet<usize> = units.iter().copied().filter(|unit| !self.all[*unit].never_comes_back).collect();
        if counted.is_empty() { units.clone() } else { counted }
    }

    /// Workloads that services lead to, by their paths.
    pub(super) fn served(&self) -> BTreeSet<String> {
        let services = self.all.iter().filter(|unit| unit.key != UnitKey::Workload);
        services.flat_map(|unit| unit.workloads.iter().cloned()).collect()
    }

    /// What counts as enough for workloads that no objective of the user speaks of: one Ready pod.
    pub(super) fn objectives(&self, own: &[Objective]) -> Vec<Objective> {
        let mut objectives = own.to_vec();
        for unit in self.all.iter().filter(|unit| unit.key == UnitKey::Workload) {
            if own.iter().any(|objective| workload_matches(&objective.workload, &unit.object)) {
                continue;
            }
            objectives.push(Objective { workload: unit.object.clone(), min_ready: MinReady::Count(1), objective: 0.0 });
        }
        objectives
    }

    /// What each suffered, by the summary of a play.
    pub(super) fn losses(&self, summary: &Summary) -> Vec<Loss> {
        let mut losses = vec![Loss::default(); self.all.len()];
        for service in &summary.services {
            if let Some(&index) = self.by_service.get(&(service.namespace, service.name)) {
                losses[index].lost_s += service.lost_traffic_s - service.unwanted_s;
            }
        }
        for workload in &summary.workloads {
            let path = workload.object();
            if let Some(&index) = self.by_workload.get(&path) {
                losses[index].lost_s += workload.below_min_ready_s;
            }
            for &index in self.of_workload.get(&path).into_iter().flatten() {
                losses[index].add(workload);
            }
        }
        for loss in &mut losses {
            loss.lost_s = loss.lost_s.max(0.0);
        }
        for &unit in &self.down {
            losses[unit] = Loss::default();
        }
        losses
    }
}

/// Whether an object makes pods that go on for ever, or is such a pod, and is nobody's.
pub(super) fn is_worker(object: &Object) -> bool {
    let runs_on = matches!(
        object,
        Object::Deployment(_)
            | Object::StatefulSet(_)
            | Object::ReplicaSet(_)
            | Object::ReplicationController(_)
            | Object::DaemonSet(_)
            | Object::Pod(_)
    );
    runs_on && object.metadata().owner_references.is_empty()
}

/// Whether it is a pod that nothing makes anew.
fn is_bare(object: &Object) -> bool {
    matches!(object, Object::Pod(pod) if !is_mirror(&pod.metadata))
}

/// Whether its pods come and go with their nodes: a DaemonSet, or a pod that a kubelet runs from a file.
fn is_of_its_node(object: &Object) -> bool {
    match object {
        Object::DaemonSet(_) => true,
        Object::Pod(pod) => is_mirror(&pod.metadata),
        _ => false,
    }
}

/// The labels of a workload's pods.
pub(super) fn labels(object: &Object) -> Option<&crate::model::Labels> {
    match object {
        Object::Pod(pod) => Some(&pod.metadata.labels),
        other => pod_template(other).map(|template| &template.metadata.labels),
    }
}
