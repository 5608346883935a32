//! The cloud's node controllers: they initialize Nodes, delete those whose instance is gone, taint those that are shut down.

use std::collections::{BTreeSet, VecDeque};

use smallvec::{SmallVec, smallvec};

use crate::arena::{Symbol, sym};
use crate::component::{Answer, ClientLimit, Component, Config, Ctx, EventDraft, ObjectRef, Program, Request, Start};
use crate::engine::Ticket;
use crate::model::TaintEffect;
use crate::state::{Change, Changed, MachineChange, NodeDelta, NodeId, Power, Status, Store, TaintOnNode};
use crate::units::{SimDuration, SimTime};

/// What a run takes at least.
const RUN_MIN: SimDuration = SimDuration::from_millis(1);

/// What the controller asks to be woken for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// A run that has something to do.
    Run,
}

/// How the controller recognises an answer.
#[derive(Copy, Clone, Debug)]
pub struct Tag {
    node: NodeId,
    step: Step,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Step {
    Deleted,
    Read(Shutdown),
    Patched,
    /// The node was read, to be initialized.
    Known,
    /// It has been.
    Initialized,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Shutdown {
    Taint,
    Untaint,
}

/// What is to be done about a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum NodeAction {
    Delete,
    Taint,
    Untaint,
}

/// The cloud controller manager's node lifecycle controller.
///
/// # Source
/// cloud-controller-manager, cloud-node-lifecycle-controller: every monitor period all nodes are gone through, one after
/// the other; a Ready node is never looked up in the cloud. And cloud-node-controller, `syncNode`: a node that appears with the
/// taint `node.cloudprovider.kubernetes.io/uninitialized` loses it when the cloud has described the instance.
///
/// # Differs
/// Runs that would find nothing are not played. The cloud answers at once. An instance without power counts as shut down
/// only where the Node's `spec.providerID` says that there is a cloud to ask; and where kubelets have reported Nodes and none
/// has such an id, nobody initializes any.
#[derive(Clone, Debug)]
pub struct CloudNodeLifecycle {
    shutdown: Symbol,
    period: SimDuration,
    /// A run; without work the others follow at the idle distance.
    anchor: SimTime,
    played_at: SimTime,
    armed: Option<(Ticket, SimTime)>,
    /// Nodes about which the next run has something to do, as far as known.
    suspects: BTreeSet<NodeId>,
    run: Option<VecDeque<NodeId>>,
    /// Instances that the cloud has deleted.
    gone: BTreeSet<NodeId>,
    /// Nodes that are being initialized.
    initializing: BTreeSet<NodeId>,
}

impl CloudNodeLifecycle {
    /// A controller that has not started.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            shutdown: Symbol::new("node.cloudprovider.kubernetes.io/shutdown"),
            period: config.kube_controller_manager.node_monitor_period,
            anchor: SimTime::ZERO,
            played_at: SimTime::MIN,
            armed: None,
            suspects: BTreeSet::new(),
            run: None,
            gone: BTreeSet::new(),
            initializing: BTreeSet::new(),
        }
    }

    /// Initializes a node that waits for it.
    fn initialize(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if ctx.store.is_without_cloud {
            return;
        }
        if uninitialized(node, ctx).is_some() && !self.gone.contains(&node) && self.initializing.insert(node) {
            ctx.call(Request::Get, Tag { node, step: Step::Known });
        }
    }

    fn judge(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> Option<NodeAction> {
        let object = ctx.store.node(node)?;
        let machine = ctx.store.machine(node);
        let has_taint = object.taint(self.shutdown, TaintEffect::NoSchedule).is_some();
        if object.conditions.ready() == Some(Status::True) {
            return has_taint.then_some(NodeAction::Untaint);
        }
        if self.gone.contains(&node) {
            return Some(NodeAction::Delete);
        }
        let is_shut_down = machine.is_cloud_instance && machine.power == Power::Off;
        (is_shut_down && !has_taint).then_some(NodeAction::Taint)
    }

    fn suspect(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if self.judge(node, ctx).is_some() {
            self.suspects.insert(node);
        } else {
            self.suspects.remove(&node);
        }
        self.arm(ctx);
    }

    fn arm(&mut self, ctx: &mut Ctx<'_, Self>) {
        if self.run.is_some() {
            return;
        }
        let step = self.period + RUN_MIN;
        let from = ctx.now.max(self.played_at + SimDuration::from_nanos(1));
        let next = self.anchor + step * from.saturating_since(self.anchor).as_nanos().div_ceil(step.as_nanos());
        let at = (!self.suspects.is_empty()).then_some(next);
        if self.armed.map(|(_, at)| at) == at {
            return;
        }
        if let Some((ticket, _)) = self.armed.take() {
            ctx.cancel(ticket);
        }
        self.armed = at.map(|at| (ctx.arm(at, Timer::Run), at));
    }

    fn advance(&mut self, ctx: &mut Ctx<'_, Self>) {
        while let Some(node) = self.run.as_mut().and_then(VecDeque::pop_front) {
            let name = ctx.store.node_name(node);
            match self.judge(node, ctx) {
                None => {}
                Some(NodeAction::Delete) => {
                    let text = format!("Deleting node {name} because it does not exist in the cloud provider");
                    ctx.event(EventDraft::normal("DeletingNode", ObjectRef::node(name), text).on(node));
                    ctx.call(Request::DeleteNode { node }, Tag { node, step: Step::Deleted });
                    return;
                }
                Some(NodeAction::Taint) => {
                    ctx.call(Request::Get, Tag { node, step: Step::Read(Shutdown::Taint) });
                    return;
                }
                Some(NodeAction::Untaint) => {
                    ctx.call(Request::Get, Tag { node, step: Step::Read(Shutdown::Untaint) });
                    return;
                }
            }
        }
        self.run = None;
        self.anchor = (self.played_at + RUN_MIN).max(ctx.now) + self.period;
        self.arm(ctx);
    }

    fn patch(&self, node: NodeId, shutdown: Shutdown, now: SimTime) -> Request {
        let (mut add, mut remove) = (SmallVec::new(), SmallVec::new());
        match shutdown {
            Shutdown::Taint => add.push(TaintOnNode {
                key: self.shutdown,
                value: Symbol::empty(),
                effect: TaintEffect::NoSchedule,
                added_at: Some(now),
            }),
            Shutdown::Untaint => remove.push((self.shutdown, TaintEffect::NoSchedule)),
        }
        Request::PatchNodeTaints { node, add, remove }
    }
}

/// The taint of a node that the cloud has not described yet.
fn uninitialized(node: NodeId, ctx: &Ctx<'_, CloudNodeLifecycle>) -> Option<(Symbol, TaintEffect)> {
    let taints = &ctx.store.node(node)?.taints;
    let key = sym!("node.cloudprovider.kubernetes.io/uninitialized");
    taints.iter().find(|taint| taint.key == key).map(|taint| (taint.key, taint.effect))
}

impl Component for CloudNodeLifecycle {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "cloud-node-lifecycle-controller";
    const PROGRAM: Program = Program::CloudControllerManager;
    const CONTROLLERS: &'static [&'static str] = &[];

    fn words(_timer: &Timer, _store: &Store) -> String {
        "the regular look at the machines of nodes".to_owned()
    }

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![config.controller_client()]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::NodeAdded(_) | Changed::NodeRemoved { .. } => true,
            Changed::NodeUpdated { delta, .. } => delta.touches(NodeDelta::CONDITIONS | NodeDelta::TAINTS),
            _ => false,
        }
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let part = ctx.streams.stream("cloud-node-lifecycle", "").unit();
        self.anchor = ctx.now + SimDuration::from_nanos((self.period.as_nanos() as f64 * part) as u64);
        self.suspects =
            ctx.store.nodes().map(|(node, _)| node).filter(|node| self.judge(*node, ctx).is_some()).collect();
        self.arm(ctx);
        let nodes: Vec<NodeId> = ctx.store.nodes().map(|(node, _)| node).collect();
        nodes.into_iter().for_each(|node| self.initialize(node, ctx));
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match &change.what {
            Changed::NodeAdded(node) | Changed::NodeUpdated { node, .. } | Changed::NodeRemoved { node, .. } => {
                self.suspect(*node, ctx);
                self.initialize(*node, ctx);
            }
            _ => {}
        }
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Run => {
                self.armed = None;
                self.played_at = ctx.now;
                let mut nodes: Vec<NodeId> = self.suspects.iter().copied().collect();
                nodes.sort_by_key(|node| ctx.store.node_name(*node));
                self.run = Some(nodes.into());
                self.advance(ctx);
            }
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let node = tag.node;
        match (tag.step, answer) {
            (Step::Known | Step::Initialized, _) => {
                let taint = uninitialized(node, ctx).filter(|_| tag.step == Step::Known && answer.is_ok());
                if let Some(taint) = taint {
                    let (add, remove) = (SmallVec::new(), smallvec![taint]);
                    ctx.call(Request::PatchNodeTaints { node, add, remove }, Tag { node, step: Step::Initialized });
                    return;
                }
                self.initializing.remove(&node);
                if answer.is_err() {
                    self.initialize(node, ctx);
                }
                return;
            }
            (Step::Read(shutdown), Ok(_)) if ctx.store.node(node).is_some() => {
                let request = self.patch(node, shutdown, ctx.now);
                ctx.call(request, Tag { node, step: Step::Patched });
                return;
            }
            (Step::Deleted, Err(error)) => {
                let name = ctx.store.node_name(node);
                let text = format!("Failed deleting node {name}: {}", error.message);
                ctx.event(EventDraft::warning("DeletingNodeFailed", ObjectRef::node(name), text).on(node));
            }
            _ => {}
        }
        self.advance(ctx);
    }

    fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Self>) {
        match *change {
            MachineChange::InstanceGone(node) => {
                self.gone.insert(node);
                self.suspect(node, ctx);
            }
            MachineChange::InstanceCreated { name, .. } => {
                let Some(node) = ctx.store.find_node(name) else { return };
                self.gone.remove(&node);
                self.suspect(node, ctx);
            }
            MachineChange::PowerOff(node) | MachineChange::PowerOn(node) => self.suspect(node, ctx),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::ErrorReason;
    use crate::state::{Machine, NodeConditionKind};
    use crate::testing::{Lab, config, within};

    fn bench(setup: impl FnOnce(&mut Lab<CloudNodeLifecycle>)) -> Lab<CloudNodeLifecycle> {
        let config = config();
        let mut bench = Lab::<CloudNodeLifecycle>::new(config, 7);
        let node = bench.add_node("n", "");
        *bench.store_mut().machine_mut(node) = Machine { is_cloud_instance: true, ..Machine::running() };
        setup(&mut bench);
        bench.start();
        bench
    }

    fn power(world: &mut Lab<CloudNodeLifecycle>, power: Power) {
        let node = world.node_id("n");
        world.store_mut().machine_mut(node).power = power;
        world.machine(if power == Power::Off { MachineChange::PowerOff(node) } else { MachineChange::PowerOn(node) });
    }

    fn set_ready(world: &mut Lab<CloudNodeLifecycle>, status: Status) {
        world.set_condition("n", NodeConditionKind::Ready, Some(status));
    }

    #[test]
    fn the_node_of_a_vanished_instance_is_deleted_once_it_is_not_ready() {
        for status in [Status::False, Status::Unknown] {
            let mut bench = bench(|_| ());
            bench.at(10.0, |world| world.machine(MachineChange::InstanceGone(world.node_id("n"))));
            bench.at(50.0, move |world| set_ready(world, status));
            bench.run_until(49.0);
            assert!(bench.requests.is_empty());
            bench.run_until(100.0);
            let deletions = bench.times(|request| matches!(request, Request::DeleteNode { .. }));
            assert_eq!(deletions.len(), 1);
            within(deletions[0], 50.0, 55.1);
            let expected = "Deleting node n because it does not exist in the cloud provider";
            assert_eq!(bench.messages("DeletingNode"), [expected]);
        }
    }

    #[test]
    fn a_deletion_that_fails_is_reported_and_tried_at_the_next_run() {
        let mut bench = bench(|world| set_ready(world, Status::Unknown));
        let mut first = true;
        bench.refuse(move |_, _| std::mem::take(&mut first).then_some(ErrorReason::InternalError));
        bench.at(1.0, |world| world.machine(MachineChange::InstanceGone(world.node_id("n"))));
        bench.run_until(20.0);
        assert_eq!(bench.messages("DeletingNodeFailed"), ["Failed deleting node n: refused"]);
        assert_eq!(bench.messages("DeletingNode").len(), 2);
        assert_eq!(bench.store().node_count(), 0);
    }

    #[test]
    fn a_node_shut_down_is_tainted_and_untainted_when_it_is_ready_again() {
        let mut bench = bench(|_| ());
        bench.at(10.0, |world| power(world, Power::Off));
        bench.at(50.0, |world| set_ready(world, Status::Unknown));
        bench.at(100.0, |world| power(world, Power::On));
        bench.at(110.0, |world| set_ready(world, Status::True));
        bench.run_until(49.0);
        assert!(bench.taints("n").is_empty());
        bench.run_until(56.0);
        assert_eq!(bench.taints("n"), ["node.cloudprovider.kubernetes.io/shutdown:NoSchedule"]);
        bench.run_until(116.0);
        assert!(bench.taints("n").is_empty());
    }

    #[test]
    fn a_node_that_waits_for_the_cloud_is_initialized_at_once() {
        let key = "node.cloudprovider.kubernetes.io/uninitialized";
        let mut bench = bench(|world| world.taint("n", key, TaintEffect::NoSchedule));
        bench.run_until(1.0);
        assert!(bench.taints("n").is_empty());
        // One that comes later, and whose first patch is refused.
        let mut is_first = true;
        bench.refuse(move |_, _| std::mem::take(&mut is_first).then_some(ErrorReason::InternalError));
        bench.at(10.0, move |world| world.taint("n", key, TaintEffect::NoSchedule));
        bench.run_until(11.0);
        assert!(bench.taints("n").is_empty());
    }

    #[test]
    fn a_node_waits_for_ever_for_a_cloud_that_there_is_not() {
        let key = "node.cloudprovider.kubernetes.io/uninitialized";
        let mut bench = bench(|world| {
            world.taint("n", key, TaintEffect::NoSchedule);
            world.store_mut().is_without_cloud = true;
        });
        bench.run_until(100.0);
        assert_eq!(bench.taints("n"), [format!("{key}:NoSchedule")]);
    }

    #[test]
    fn a_machine_without_a_cloud_is_never_shut_down_in_it() {
        let mut bench = bench(|world| {
            let node = world.node_id("n");
            world.store_mut().machine_mut(node).is_cloud_instance = false;
        });
        bench.at(10.0, |world| power(world, Power::Off));
        bench.at(50.0, |world| set_ready(world, Status::Unknown));
        bench.run_until(100.0);
        assert!(bench.requests.is_empty() && bench.timers_fired == 0);
    }
}
