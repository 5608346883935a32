//! Node groups: pools that the autoscaler may change, and what is on its way to them.

use std::sync::Arc;

use super::AutoscaledPool;
use crate::arena::Symbol;
use crate::component::{Ctx, EventType, PoolPlan, Snapshot};
use crate::model::{Taint, TaintEffect};
use crate::procedures::note;
use crate::state::{
    AdmittedSpec, MachineChange, Node, NodeCondition, NodeConditionKind, NodeConditions, NodeId, Owner, Status, Store,
    TaintOnNode, Uid, WorkloadId,
};
use crate::units::{SimDuration, SimTime};

use super::{AutoscalerTimer, ClusterAutoscaler};

/// A machine that was asked for and is not a Ready node yet.
#[derive(Clone, Debug)]
pub(super) struct Request {
    number: u64,
    at: SimTime,
    /// Its name, once the cloud has it.
    name: Option<Symbol>,
}

/// A pool that the autoscaler changes.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The pool's position.
    pub(super) pool: usize,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) priority: i64,
    requests: Vec<Request>,
    /// It is left alone until then, and for how long that was.
    backoff: Option<(SimTime, SimDuration)>,
}

impl Group {
    pub(super) fn new(pool: &AutoscaledPool) -> Self {
        Self {
            pool: pool.pool,
            min: pool.min,
            max: pool.max,
            priority: pool.priority.into(),
            requests: Vec::new(),
            backoff: None,
        }
    }

    /// Machines that there are or that will be.
    pub(super) fn size(&self, pool: &PoolPlan, store: &Store) -> usize {
        let unborn = self.requests.iter().filter(|request| request.name.is_none()).count();
        pool.machines(store).len() + unborn
    }

    /// How many machines that are no Ready nodes yet are on their way.
    pub(super) fn coming(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn is_coming(&self, name: Symbol) -> bool {
        self.requests.iter().any(|request| request.name == Some(name))
    }

    /// When requests are given up.
    pub(super) fn expiries(&self, limit: SimDuration) -> impl Iterator<Item = SimTime> {
        self.requests.iter().map(move |request| request.at + limit)
    }

    pub(super) fn backs_off(&self, now: SimTime) -> Option<SimTime> {
        self.backoff.map(|(until, _)| until).filter(|until| *until > now)
    }

    /// A machine of that name is gone.
    pub(super) fn forget(&mut self, name: Symbol) {
        self.requests.retain(|request| request.name != Some(name));
    }
}

/// A Ready node of the pool, if there is one.
fn sample(pool: &PoolPlan, store: &Store) -> Option<NodeId> {
    let is_ready = |id: &NodeId| store.node(*id).is_some_and(|node| node.conditions.ready() == Some(Status::True));
    pool.machines(store).into_iter().find(is_ready)
}

/// The Node object of a machine as it is when it is Ready.
///
/// # Source
/// cluster-autoscaler, template nodes: the copy of a node of the group has the `creationTimestamp` of that node; one that is made of
/// the group's template has none.
pub(super) fn template_node(pool: &PoolPlan, name: Symbol, snapshot: Snapshot<'_>) -> Arc<Node> {
    let Snapshot { store, config, now } = snapshot;
    let registration = pool.registration_of(name);
    let mut taints = registration.taints;
    for taint in &config.kubelet.register_with_taints {
        if !taints.iter().any(|other| other.key == taint.key && other.effect == taint.effect) {
            taints.push(TaintOnNode { key: taint.key, value: taint.value, effect: taint.effect, added_at: None });
        }
    }
    let mut conditions = NodeConditions::default();
    let ready = NodeCondition { status: Status::True, reason: "KubeletReady", since: now };
    conditions.set(NodeConditionKind::Ready, Some(ready));
    Arc::new(Node {
        uid: Uid::default(),
        labels: registration.labels,
        annotations: registration.annotations,
        created_at: sample(pool, store).and_then(|node| store.node(node)).map_or(SimTime::MIN, |node| node.created_at),
        unschedulable: false,
        taints,
        allocatable: registration.allocatable,
        allocatable_pods: registration.allocatable_pods,
        capacity: registration.capacity,
        images: registration.images,
        kubelet_version: registration.kubelet_version,
        description: None,
        conditions,
    })
}

/// Daemon pods that a new node of the pool will have: those of a node that there is, else those that would run on it.
///
/// # Source
/// cluster-autoscaler, template nodes: a Ready node of the group is the model where there is one.
///
/// # Differs
/// For an empty pool only DaemonSets with a pod somewhere count.
pub(super) fn daemon_pods(pool: &PoolPlan, name: Symbol, node: &Node, store: &Store) -> Vec<Arc<AdmittedSpec>> {
    if let Some(sample) = sample(pool, store) {
        let pods = store.pods_on(sample).iter().filter_map(|&pod| store.pod(pod));
        let daemons = pods.filter(|pod| matches!(pod.owner, Some(Owner::DaemonSet(_))) && !pod.phase.is_terminal());
        return daemons.map(|pod| Arc::clone(&pod.spec)).collect();
    }
    let tolerates = |spec: &AdmittedSpec, taint: &TaintOnNode| {
        taint.effect == TaintEffect::PreferNoSchedule
            || spec.tolerations.iter().any(|t| t.tolerates(&Taint::new(taint.key, taint.value, taint.effect)))
    };
    let runs = |spec: &Arc<AdmittedSpec>| {
        spec.allows_node(&node.labels, name) && node.taints.iter().all(|taint| tolerates(spec, taint))
    };
    let of_set = |id| {
        let pods = store.pods_of(WorkloadId::DaemonSet(id)).iter();
        pods.filter_map(|&pod| store.pod(pod)).next().map(|pod| Arc::clone(&pod.spec)).filter(runs)
    };
    store.daemon_sets.iter().filter_map(|(id, _)| of_set(id)).collect()
}

impl ClusterAutoscaler {
    /// Asks the cloud for machines.
    pub(super) fn request(&mut self, group: usize, count: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let Some(autoscaler) = &plan.autoscaler else { return };
        let pool = plan.pools[self.groups[group].pool].name;
        for _ in 0..count {
            let number = self.provisioned;
            self.provisioned += 1;
            self.groups[group].requests.push(Request { number, at: ctx.now, name: None });
            let wait = autoscaler.provisioning.sample(&mut ctx.streams.at("provisioning", pool.as_str(), number));
            ctx.arm_in(wait, AutoscalerTimer::Provisioned(group, number));
        }
    }

    /// The cloud has a machine; it boots.
    pub(super) fn provisioned(&mut self, group: usize, number: u64, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let group = &mut self.groups[group];
        let pool = &plan.pools[group.pool];
        let Some(request) = group.requests.iter_mut().find(|request| request.number == number) else { return };
        let name = pool.node_name(pool.next_number(ctx.store));
        request.name = Some(name);
        ctx.change_machine(MachineChange::InstanceCreated { name, pool: group.pool as u32 });
    }

    /// Forgets requests that have become Ready nodes, and gives those up that take too long.
    pub(super) fn expire_requests(&mut self, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let limit = self.flags.max_node_provision_time;
        for group in &mut self.groups {
            let is_ready = |name: Symbol| {
                let node = ctx.store.find_node(name).and_then(|id| ctx.store.node(id));
                node.is_some_and(|node| node.conditions.ready() == Some(Status::True))
            };
            group.requests.retain(|request| !request.name.is_some_and(is_ready));
            let late: Vec<Request> = group.requests.iter().filter(|r| r.at + limit <= ctx.now).cloned().collect();
            if late.is_empty() {
                continue;
            }
            group.requests.retain(|request| request.at + limit > ctx.now);
            let longest = self.flags.max_node_group_backoff_duration;
            let first = self.flags.initial_node_group_backoff_duration;
            let reset = self.flags.node_group_backoff_reset_timeout;
            let length = match group.backoff {
                Some((until, length)) if until + reset > ctx.now => (length * 2).min(longest),
                _ => first,
            };
            group.backoff = Some((ctx.now + length, length));
            let pool = plan.pools[group.pool].name;
            let message = format!("{} nodes have not come within {limit}; none is added for {length}", late.len());
            note::about_pool(ctx, "cluster-autoscaler", EventType::Warning, "ScaleUpTimedOut", pool, message);
            let machines = late.into_iter().filter_map(|request| ctx.store.find_node(request.name?));
            let machines: Vec<NodeId> = machines.filter(|&id| ctx.store.machine(id).exists).collect();
            for machine in machines {
                ctx.change_machine(MachineChange::InstanceGone(machine));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::NodeRegistration;
    use crate::model;
    use crate::state::Machine;
    use crate::testing::{config, secs};

    #[test]
    fn a_template_is_as_old_as_a_ready_node_of_its_pool_and_without_one_older_than_any() {
        let registration = NodeRegistration::from(&model::Node::default());
        let pool = PoolPlan { name: "w".into(), registration, zones: Vec::new() };
        let (mut store, config) = (Store::default(), config());
        let age = |store: &Store| {
            template_node(&pool, "w-9".into(), Snapshot { store, config: &config, now: secs(900.0) }).created_at
        };
        assert_eq!(age(&store), SimTime::MIN);
        let ready = template_node(&pool, "w-1".into(), Snapshot { store: &store, config: &config, now: secs(70.0) });
        let node = |conditions, created_at| Node { created_at, conditions, ..(*ready).clone() };
        let nodes = [("w-0", NodeConditions::default(), 10.0), ("w-1", ready.conditions, 70.0)];
        for (name, conditions, created_s) in nodes {
            let id = store.node_slot(name.into());
            *store.machine_mut(id) = Machine::running();
            store.insert_node(id, node(conditions, secs(created_s)));
        }
        assert_eq!(age(&store), secs(70.0), "w-0 is not Ready");
    }
}
