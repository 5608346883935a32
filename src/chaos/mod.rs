//! Physical faults: which machines, when, what stops. Nothing here writes an API object.
//!
//! A fault begins and ends as changes of machines; overlapping faults nest, so that a machine hit twice is whole again only
//! when both are over.

#[macro_use]
mod parameters;
#[macro_use]
mod registry;
mod biasing;
mod causes;
mod document;
mod fault;
mod faults;
mod hit;
mod losses;
mod pressure;
mod process;
#[cfg(test)]
mod reference;
mod renewals;
#[cfg(feature = "cli")]
mod schema;
mod spec;
mod target;

use std::sync::Arc;

use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, EventDraft, FaultNature, FaultPhase, FaultTarget, InvolvedKind,
    ObjectRef, PoolPlan, Program, Record, SCENARIO, Start, node_name, reason,
};
use crate::state::{Change, Changed, MachineChange, NodeId, Store};
use crate::units::{SimTime, counted};
pub use biasing::{Age, Biasing, CIRCUMSTANCES, Exposure, circumstance};
pub use document::{PROCESS_FIELDS, STRUCT_BY_KIND};
pub use fault::{Check, Course, Target};
use faults::Damage;
pub use faults::*;
use hit::{Begun, Hit, Origin};
pub use parameters::{Field, Length};
pub use process::FaultProcess;
pub use spec::{FaultProcessSpec, FaultSpec, ProcessName};
pub use target::{NodeTarget, PodTarget};

/// What can go wrong in a scenario, and when.
#[derive(Clone, Debug, Default)]
pub struct ChaosPlan {
    /// Faults of the timeline.
    pub faults: Vec<(SimTime, FaultSpec)>,
    /// Random processes.
    pub processes: Vec<FaultProcessSpec>,
    /// Node pools, by position; new machines are made after them.
    pub pools: Vec<PoolPlan>,
    /// Machines added by the timeline: when, which pool, how many.
    pub add_nodes: Vec<(SimTime, usize, u32)>,
}

impl ChaosPlan {
    /// Whether failures come at random times, so that a run may have none.
    #[must_use]
    pub fn is_random(&self) -> bool {
        !self.processes.is_empty()
    }

    /// A fault of the timeline in the user's words: its kind, when it begins, and which of several such it is.
    #[must_use]
    pub fn fault_name(&self, index: usize) -> String {
        let (at, fault) = &self.faults[index];
        let alike = self.faults[..index].iter().filter(|(other, f)| other == at && f.kind() == fault.kind()).count();
        let name = format!("{}@{}", fault.kind().as_str(), at.saturating_since(SimTime::ZERO));
        if alike == 0 { name } else { format!("{name}#{}", alike + 1) }
    }
}

/// What a fault has hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultOutcome {
    /// Nodes, pods (`pod/shop/web-1`) and processes, by name; none if there was nothing to hit.
    pub targets: Vec<String>,
    /// That, or that there was nothing, in words.
    pub message: String,
}

/// What chaos waits for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// A fault of the timeline begins.
    Fault(usize),
    /// A fault of the timeline ends.
    FaultEnds(usize),
    /// Machines are added.
    AddNodes(usize),
    /// A process's instance fails.
    Fails(u32, u32),
    /// It is repaired.
    Repaired(u32, u32),
    /// What a kind of fault waits for on a machine.
    Due(FaultKind, NodeId),
}

/// The physical world's misfortunes.
#[derive(Clone, Debug)]
pub struct Chaos {
    plan: Arc<ChaosPlan>,
    damage: Damage,
    /// Faults of the timeline that go on.
    begun: Vec<Option<Begun>>,
    /// What those have hit that have begun.
    outcomes: Vec<Option<Arc<FaultOutcome>>>,
    processes: Vec<FaultProcess>,
    /// With which hazards failures are drawn, if not with those that they have.
    biasing: Option<Arc<Biasing>>,
}

impl Chaos {
    /// Nothing has gone wrong yet.
    #[must_use]
    pub fn new(plan: Arc<ChaosPlan>) -> Self {
        let begun = vec![None; plan.faults.len()];
        let outcomes = vec![None; plan.faults.len()];
        let damage = Damage::none(Arc::clone(&plan));
        Self { damage, plan, begun, outcomes, processes: Vec::new(), biasing: None }
    }

    /// Draws failures with other hazards than they have. To be said before it starts.
    ///
    /// # Panics
    /// If there are factors for other than the processes of the plan.
    pub fn bias(&mut self, biasing: Arc<Biasing>) {
        assert_eq!(biasing.factors.len(), self.plan.processes.len(), "each process has factors");
        self.biasing = Some(biasing);
    }

    /// What each process went through until now, if failures are drawn with other hazards than they have; else nothing.
    #[must_use]
    pub fn exposures(&self, now: SimTime) -> Vec<Exposure> {
        self.processes.iter().zip(&self.plan.processes).map(|(process, spec)| process.exposure(spec, now)).collect()
    }

    /// Tells biased processes how many faults are under way: those of the timeline, and failures that last.
    fn count_under_way(&mut self, ctx: &mut Ctx<'_, Self>) {
        if self.biasing.is_none() {
            return;
        }
        let of_timeline = self.begun.iter().flatten().count();
        let count = self.processes.iter().map(FaultProcess::under_way).sum::<usize>() + of_timeline;
        let plan = Arc::clone(&self.plan);
        for (index, (process, spec)) in self.processes.iter_mut().zip(&plan.processes).enumerate() {
            process.set_under_way(count, index as u32, spec, ctx);
        }
    }

    /// A fault that the scenario did not know of joins those of the timeline; its place among them.
    pub fn add(&mut self, at: SimTime, fault: FaultSpec) -> usize {
        let faults = &mut Arc::make_mut(&mut self.plan).faults;
        faults.push((at, fault));
        self.begun.push(None);
        self.outcomes.push(None);
        faults.len() - 1
    }

    /// What a fault of the timeline has hit; none if it has not begun.
    #[must_use]
    pub fn outcome(&self, place: usize) -> Option<&Arc<FaultOutcome>> {
        self.outcomes.get(place)?.as_ref()
    }

    /// What it is called.
    ///
    /// # Panics
    /// If there is no such fault.
    #[must_use]
    pub fn fault_name(&self, place: usize) -> String {
        self.plan.fault_name(place)
    }

    /// Whether a fault of the timeline goes on.
    #[must_use]
    pub fn is_going_on(&self, place: usize) -> bool {
        self.begun.get(place).is_some_and(Option::is_some)
    }

    fn begin_fault(&mut self, index: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let (_, fault) = &plan.faults[index];
        let name = plan.fault_name(index);
        let nodes = target::select(&fault.nodes, &name, ctx);
        let kind = fault.kind();
        let targets = hit::hit(fault, &name, &nodes, ctx);
        let is_everywhere = fault.is_everywhere();
        let names = hit::names(&targets, ctx);
        let what = began_or_missed(ctx, &name, fault, (targets, is_everywhere));
        let message = what.clone().unwrap_or_else(|| nothing_matches(fault));
        self.outcomes[index] = Some(Arc::new(FaultOutcome { targets: names, message }));
        let Some(what) = what else { return };
        let id = self.damage.next_fault();
        let hit = Hit { fault: id, name: &name, nodes: &nodes, is_everywhere, origin: Origin::Timeline };
        self.damage.begin(&fault.fault, &hit, ctx);
        if !kind.course().lasts() {
            ended(ctx, &name, what);
            return;
        }
        self.begun[index] = Some(Begun { fault: id, nodes });
        if let Some(length) = fault.length {
            ctx.arm_in(length, Timer::FaultEnds(index));
        }
    }

    fn end_fault(&mut self, index: usize, ctx: &mut Ctx<'_, Self>) {
        let Some(begun) = self.begun[index].take() else { return };
        let plan = Arc::clone(&self.plan);
        let (_, fault) = &plan.faults[index];
        let name = plan.fault_name(index);
        let what = hit::describe(fault, &hit::hit(fault, &name, &begun.nodes, ctx), ctx);
        self.damage.end(&fault.fault, &begun, ctx);
        ended(ctx, &name, what.unwrap_or_else(|| fault.kind().as_str().to_owned()));
    }

    fn add_nodes(&mut self, index: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let (_, pool, count) = plan.add_nodes[index];
        let name = plan.pools[pool].name;
        let next = plan.pools[pool].next_number(ctx.store);
        let machines = counted(count, "machine joins", "machines join");
        note(ctx, Severity::Normal, reason::ADD_NODES, name.as_str(), format!("{machines} pool {name}"));
        for number in next..next + u64::from(count) {
            let name = plan.pools[pool].node_name(number);
            ctx.change_machine(MachineChange::InstanceCreated { name, pool: pool as u32 });
        }
    }
}

/// How much a note of the scenario matters.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Severity {
    Normal,
    Warning,
}

/// Writes down what the scenario did.
fn note(ctx: &mut Ctx<'_, Chaos>, severity: Severity, reason: &'static str, name: &str, message: String) {
    let about = ObjectRef::named(InvolvedKind::Fault, Symbol::empty(), name);
    let event = match severity {
        Severity::Normal => EventDraft::normal(reason, about, message),
        Severity::Warning => EventDraft::warning(reason, about, message),
    };
    ctx.record(Record::Event { component: SCENARIO, event });
}

/// That there is nothing for a fault to hit.
fn nothing_matches(fault: &FaultSpec) -> String {
    let meant = if fault.fault.target().has_nodes() { "node" } else { "pod" };
    format!("{}: no {meant} matches", fault.kind().as_str())
}

/// Writes down that a fault begins, or that there is nothing for it to hit. What it hits, in words; none if that is nothing.
fn began_or_missed(
    ctx: &mut Ctx<'_, Chaos>,
    name: &str,
    fault: &FaultSpec,
    (targets, is_everywhere): (Vec<FaultTarget>, bool),
) -> Option<String> {
    let kind = fault.kind();
    let Some(what) = hit::describe(fault, &targets, ctx) else {
        missed(ctx, name, nothing_matches(fault));
        return None;
    };
    note(ctx, Severity::Normal, reason::FAULT_BEGAN, name, what.clone());
    let nature = FaultNature {
        kind: kind.as_str(),
        effect: kind.effect(),
        stops: kind.stops(),
        makes_nodes_not_ready: kind.makes_nodes_not_ready(),
        ends_machines: kind.course().ends_machines(),
    };
    ctx.record(Record::Fault { name: name.into(), phase: FaultPhase::Began { nature, is_everywhere, targets } });
    Some(what)
}

/// Writes down that a fault is over.
fn ended(ctx: &mut Ctx<'_, Chaos>, name: &str, message: String) {
    note(ctx, Severity::Normal, reason::FAULT_ENDED, name, message);
    ctx.record(Record::Fault { name: name.into(), phase: FaultPhase::Ended });
}

/// Writes down that there is nothing for a fault to hit.
fn missed(ctx: &mut Ctx<'_, Chaos>, name: &str, message: String) {
    note(ctx, Severity::Warning, reason::NOTHING_TO_FAIL, name, message.clone());
    ctx.record(Record::Fault { name: name.into(), phase: FaultPhase::Missed(message) });
}

impl Component for Chaos {
    type Timer = Timer;
    type Tag = ();
    const NAME: &'static str = "chaos";
    const PROGRAM: Program = Program::Other;
    const CONTROLLERS: &'static [&'static str] = &[];

    fn reacts(&self, _is_typed: bool) -> bool {
        !self.plan.processes.is_empty()
    }

    fn disturbs(timer: &Timer) -> bool {
        matches!(timer, Timer::Fault(_) | Timer::AddNodes(_) | Timer::Fails(..))
    }

    fn begins_anew(timer: &Timer) -> bool {
        matches!(timer, Timer::FaultEnds(_) | Timer::Fails(..) | Timer::Repaired(..))
    }

    fn words(timer: &Timer, store: &Store) -> String {
        match *timer {
            Timer::Fault(_) => "a fault of the timeline".to_owned(),
            Timer::FaultEnds(_) => "a fault of the timeline ends".to_owned(),
            Timer::AddNodes(_) => "nodes are added".to_owned(),
            Timer::Fails(..) => "a failure by chance".to_owned(),
            Timer::Repaired(..) => "what failed by chance is repaired".to_owned(),
            Timer::Due(kind, node) => kind.due_in_words(&node_name(store, node)),
        }
    }

    fn clients(_config: &Config) -> Vec<ClientLimit> {
        Vec::new()
    }

    /// Machines that join in the middle of the run can fail, too.
    fn watches(changed: &Changed) -> bool {
        matches!(changed, Changed::NodeAdded(_))
    }

    /// The timeline is armed by who plays it; here only the random processes begin.
    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        for (index, spec) in plan.processes.iter().enumerate() {
            let factors = self.biasing.as_ref().map(|biasing| biasing.factors[index]);
            let process = FaultProcess::begin(index as u32, spec, factors, ctx);
            self.processes.push(process);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        let Changed::NodeAdded(node) = change.what else { return };
        let plan = Arc::clone(&self.plan);
        for (index, spec) in plan.processes.iter().enumerate() {
            self.processes[index].joins(index as u32, node, spec, ctx);
        }
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Fault(index) => self.begin_fault(index, ctx),
            Timer::FaultEnds(index) => self.end_fault(index, ctx),
            Timer::AddNodes(index) => self.add_nodes(index, ctx),
            Timer::Due(kind, node) => self.damage.due(kind, node, ctx),
            Timer::Fails(process, instance) => {
                let plan = Arc::clone(&self.plan);
                let spec = &plan.processes[process as usize];
                self.processes[process as usize].fails(process, instance, spec, &mut self.damage, ctx);
            }
            Timer::Repaired(process, instance) => {
                let plan = Arc::clone(&self.plan);
                let spec = &plan.processes[process as usize];
                self.processes[process as usize].repaired(process, instance, spec, &mut self.damage, ctx);
            }
        }
        self.count_under_way(ctx);
    }

    fn answered(&mut self, (): (), _answer: &Answer, _ctx: &mut Ctx<'_, Self>) {}

    fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Self>) {
        self.damage.machine_changed(change, ctx);
    }
}
