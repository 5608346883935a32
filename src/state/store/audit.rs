//! The indexes, counted again from the objects.

use rustc_hash::FxHashMap;

use super::{PodSet, Store, Tally};
use crate::state::{DaemonPods, Owner, Requested, WorkloadId};

/// Says what does not hold.
macro_rules! hold {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}

impl Store {
    /// Counts every index anew and compares; a simulation that checks itself does so from time to time.
    ///
    /// # Errors
    ///
    /// If an index does not say what the objects say: what differs.
    pub fn audit(&self) -> Result<(), String> {
        self.audit_nodes()?;
        self.audit_pods()?;
        self.audit_owners()?;
        self.audit_workloads()?;
        self.volumes.audit(self.pods())
    }

    fn audit_nodes(&self) -> Result<(), String> {
        let count = self.nodes.len();
        let lengths = [
            self.node_names.len(),
            self.machines.len(),
            self.heartbeats.len(),
            self.pods_by_node.len(),
            self.unfinished_by_node.len(),
            self.requested_by_node.len(),
        ];
        hold!(lengths == [count; 6], "{count} node names have columns of {lengths:?}");
        let mut objects = 0;
        for (id, slot) in self.nodes.iter() {
            hold!(self.node_names.get(&slot.name) == Some(&id), "node name {} leads elsewhere", slot.name);
            objects += usize::from(slot.object.is_some());
        }
        hold!(objects == self.node_count, "{objects} nodes are counted as {}", self.node_count);
        Ok(())
    }

    fn audit_pods(&self) -> Result<(), String> {
        let total = |sets: &mut dyn Iterator<Item = &PodSet>| sets.map(PodSet::len).sum::<usize>();
        let (mut bound, mut unfinished) = (0, 0);
        let mut requested = vec![Requested::default(); self.requested_by_node.len()];
        for (id, pod) in self.pods.iter() {
            let name = format_args!("{}/{}", pod.namespace, pod.name);
            hold!(self.find_pod(pod.namespace, &pod.name) == Some(id), "the name of pod {name} leads elsewhere");
            hold!(self.pods_in(pod.namespace).contains(&id), "pod {name} is not among those of its namespace");
            if let Some(node) = pod.node {
                bound += 1;
                hold!(self.pods_on(node).contains(&id), "pod {name} is not among those of its node");
                let is_over = pod.phase.is_terminal();
                requested[node.index()] = requested[node.index()].plus(Requested::of(pod));
                unfinished += usize::from(!is_over);
                hold!(
                    self.unfinished_pods_on(node).contains(&id) != is_over,
                    "pod {name} is listed wrongly among the unfinished ones of its node"
                );
            }
        }
        hold!(requested == self.requested_by_node, "what the pods of each node ask for is added up wrongly");
        let counts = [self.pod_names.len(), total(&mut self.pods_by_namespace.values())];
        hold!(
            counts == [self.pods.len(); 2],
            "{} pods are listed by name and namespace as {counts:?}",
            self.pods.len()
        );
        let listed = (total(&mut self.pods_by_node.iter()), total(&mut self.unfinished_by_node.iter()));
        let found = (bound, unfinished);
        hold!(listed == found, "{found:?} bound and unfinished pods are listed by node as {listed:?}");
        Ok(())
    }

    fn audit_owners(&self) -> Result<(), String> {
        let mut tallies: FxHashMap<WorkloadId, (usize, Tally)> = FxHashMap::default();
        let mut ownerless = 0;
        for (id, pod) in self.pods.iter() {
            let name = format_args!("{}/{}", pod.namespace, pod.name);
            match pod.owner {
                None => {
                    ownerless += 1;
                    hold!(self.ownerless_pods(pod.namespace).contains(&id), "pod {name} is not among the ownerless");
                }
                Some(owner) => {
                    let Some(workload) = WorkloadId::from_owner(owner) else { continue };
                    hold!(self.pods_of(workload).contains(&id), "pod {name} is not among those of its owner");
                    let entry = tallies.entry(workload).or_default();
                    *entry = (entry.0 + 1, entry.1.plus(Tally::of(pod)));
                }
            }
        }
        let listed: usize = self.ownerless_pods.values().map(PodSet::len).sum();
        hold!(listed == ownerless, "{ownerless} ownerless pods are listed as {listed}");
        let daemons = self.pods.iter().filter_map(|(id, pod)| match (pod.owner, DaemonPods::node_of(pod)) {
            (Some(Owner::DaemonSet(set)), Some(node)) => Some((id, pod, set, node)),
            _ => None,
        });
        let mut placed = 0;
        for (id, pod, set, node) in daemons {
            placed += 1;
            let is_listed = self.daemon_pods(set).is_some_and(|pods| pods.on(node).contains(&id));
            hold!(is_listed, "daemon pod {}/{} is not among those of its node", pod.namespace, pod.name);
        }
        let listed: usize = self.daemon_pods.values().map(DaemonPods::len).sum();
        hold!(listed == placed, "{placed} daemon pods are listed by node as {listed}");
        let owners = (self.pods_by_owner.len(), tallies.len());
        hold!(owners.0 == owners.1, "{} owners of pods are listed as {}", owners.1, owners.0);
        // The order in which owners are looked at changes no verdict.
        let wrong = tallies
            .iter()
            .find(|(owner, (count, tally))| self.pods_of(**owner).len() != *count || self.tally(**owner) != *tally);
        match wrong {
            None => Ok(()),
            Some((owner, (count, tally))) => {
                let kept = (self.pods_of(*owner).len(), self.tally(*owner));
                Err(format!("the pods of {owner:?} are counted as {kept:?}, and are {:?}", (count, tally)))
            }
        }
    }

    fn audit_workloads(&self) -> Result<(), String> {
        let (mut count, mut sets, mut jobs) = (0, 0, 0);
        for id in self.workload_ids() {
            let Some(meta) = self.workload_meta(id) else { continue };
            let (kind, name) = (self.workload_kind(id).as_str(), format_args!("{}/{}", meta.namespace, meta.name));
            count += 1;
            hold!(
                self.find_workload(self.workload_kind(id), meta.namespace, meta.name) == Some(id),
                "{kind} {name} is found elsewhere"
            );
            match (id, meta.owner) {
                (WorkloadId::ReplicaSet(set), Some(Owner::Deployment(owner))) => {
                    sets += 1;
                    hold!(self.replica_sets_of(owner).contains(&set), "{kind} {name} is not among those of its owner");
                }
                (WorkloadId::Job(job), Some(Owner::CronJob(owner))) => {
                    jobs += 1;
                    hold!(self.jobs_of(owner).contains(&job), "{kind} {name} is not among those of its owner");
                }
                _ => {}
            }
        }
        hold!(self.workload_names.len() == count, "{count} workloads have {} names", self.workload_names.len());
        let listed: usize = self.replica_sets_by_deployment.values().map(Vec::len).sum();
        hold!(listed == sets, "{sets} ReplicaSets of Deployments are listed as {listed}");
        let listed: usize = self.jobs_by_cron_job.values().map(Vec::len).sum();
        hold!(listed == jobs, "{jobs} Jobs of CronJobs are listed as {listed}");
        let owned = |r: &super::ControllerRevision| r.meta.owner.and_then(WorkloadId::from_owner).is_some();
        let revisions = self.controller_revisions.iter().filter(|(_, revision)| owned(revision)).count();
        let listed: usize = self.revisions_by_owner.values().map(Vec::len).sum();
        hold!(listed == revisions, "{revisions} owned revisions are listed as {listed}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Symbol;
    use crate::testing::bare_pod;

    /// A node slot, a pod on it, and one without a node.
    fn store() -> Store {
        let mut store = Store::default();
        let node = store.node_slot(Symbol::new("n"));
        let pod = store.insert_pod(bare_pod("bound", 1));
        store.set_pod_node(pod, node);
        store.insert_pod(bare_pod("waiting", 2));
        store
    }

    #[test]
    fn each_index_that_says_something_else_is_found() {
        #[track_caller]
        fn check(spoil: impl FnOnce(&mut Store), expected: &str) {
            let mut store = store();
            assert_eq!(store.audit(), Ok(()));
            spoil(&mut store);
            let found = store.audit().expect_err("an index is wrong");
            assert!(found.contains(expected), "{found}");
        }
        check(|store| store.node_count += 1, "0 nodes are counted as 1");
        check(|store| store.node_names.clear(), "columns of");
        check(|store| store.pods_by_node[0] = PodSet::default(), "not among those of its node");
        check(|store| store.unfinished_by_node[0] = PodSet::default(), "listed wrongly among the unfinished ones");
        check(|store| store.requested_by_node[0] = Requested::default(), "ask for is added up wrongly");
        check(|store| store.pod_names.clear(), "leads elsewhere");
        check(|store| store.pods_by_namespace.clear(), "not among those of its namespace");
        check(|store| store.ownerless_pods.clear(), "not among the ownerless");
    }
}
