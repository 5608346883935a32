//! Random processes of failure and repair, one per node or per value of a label.

use rustc_hash::FxHashMap;

use super::biasing::{Age, Biased, CIRCUMSTANCES, Exposure};
use super::fault::Begun;
use super::faults::Damage;
use super::spec::FaultProcessSpec;
use super::{Chaos, Hit, Origin, Timer, began_or_missed, ended, hit, missed, target};
use crate::component::Ctx;
use crate::engine::Stream;
use crate::model::domain_of;
use crate::state::NodeId;
use crate::units::SimTime;

/// One node's or domain's process.
#[derive(Clone, Debug)]
struct Instance {
    /// What the user calls it: the node's name, the label's value, or the kind of what fails as a whole.
    name: String,
    nodes: Vec<NodeId>,
    /// The present failure.
    failure: Option<Begun>,
    stream: Stream,
    /// How often it has failed: each failure draws anew whom it hits.
    failures: u32,
    /// Its machine is gone, so that it does not fail again unless one of that name joins.
    is_over: bool,
}

/// A process and its instances.
#[derive(Clone, Debug, Default)]
pub struct FaultProcess {
    instances: Vec<Instance>,
    /// Where an instance of that name is.
    by_name: FxHashMap<String, usize>,
    /// With which hazards its failures are drawn, if not with those that they have.
    biased: Option<Box<Biased>>,
}

/// The instance a node belongs to; none if it has no value of the domain's label.
fn instance_name(spec: &FaultProcessSpec, node: NodeId, ctx: &Ctx<'_, Chaos>) -> Option<String> {
    if !spec.fault.fault.target().has_nodes() && spec.domain.is_none() {
        return Some(spec.fault.kind().as_str().to_owned());
    }
    match &spec.domain {
        None => Some(ctx.store.node_name(node).to_string()),
        Some(key) => domain_of(&ctx.store.node(node)?.labels, key).map(|value| value.to_string()),
    }
}

impl FaultProcess {
    /// Draws each instance's first failure. All work at t=0, and have so for some time: as a machine is met at a random moment
    /// of its life, its first wait is what is left then of a time to failure.
    pub(super) fn begin(
        process: u32,
        spec: &FaultProcessSpec,
        factors: Option<[f64; CIRCUMSTANCES]>,
        ctx: &mut Ctx<'_, Chaos>,
    ) -> Self {
        // What has no chance in it comes when it comes.
        let factors = factors.filter(|_| !spec.time_to_failure.is_constant());
        let biased = factors.map(|factors| Box::new(Biased::new(factors)));
        let mut this = Self { biased, ..Self::default() };
        for node in target::select(&spec.fault.nodes, &format!("process/{}", spec.name), ctx) {
            this.add(process, node, spec, Age::Grown, ctx);
        }
        if this.instances.is_empty() {
            missed(ctx, &spec.name, format!("{}: no node matches", spec.fault.kind().as_str()));
        }
        this
    }

    /// A Node object appeared: its machine fails like the others from now on. Where a failure ends an instance for good its age
    /// counts from its start; any other machine comes from a stock that is in use.
    pub(super) fn joins(&mut self, process: u32, node: NodeId, spec: &FaultProcessSpec, ctx: &mut Ctx<'_, Chaos>) {
        // Those that a count or a fraction draws are drawn once.
        let is_drawn = spec.fault.nodes.count.is_some() || spec.fault.nodes.fraction.is_some();
        let is_known = || instance_name(spec, node, ctx).is_some_and(|name| self.by_name.contains_key(&name));
        if target::matches(&spec.fault.nodes, node, ctx) && (!is_drawn || is_known()) {
            let age =
                if spec.fault.kind().course().ends_machines() && spec.domain.is_none() { Age::New } else { Age::Grown };
            self.add(process, node, spec, age, ctx);
        }
    }

    fn add(&mut self, process: u32, node: NodeId, spec: &FaultProcessSpec, age: Age, ctx: &mut Ctx<'_, Chaos>) {
        let Some(name) = instance_name(spec, node, ctx) else { return };
        if let Some(&index) = self.by_name.get(&name) {
            let instance = &mut self.instances[index];
            if !instance.nodes.contains(&node) {
                instance.nodes.push(node);
            }
            if std::mem::take(&mut instance.is_over) {
                self.next_failure(process, index as u32, spec, age, ctx);
            }
            return;
        }
        let stream = ctx.streams.stream(&format!("fault/{}", spec.name), &name);
        let index = self.instances.len();
        self.by_name.insert(name.clone(), index);
        self.instances.push(Instance { name, nodes: vec![node], failure: None, stream, failures: 0, is_over: false });
        self.next_failure(process, index as u32, spec, age, ctx);
    }

    fn next_failure(&mut self, process: u32, index: u32, spec: &FaultProcessSpec, age: Age, ctx: &mut Ctx<'_, Chaos>) {
        let stream = &mut self.instances[index as usize].stream;
        if let Some(biased) = &mut self.biased {
            biased.arm((process, index), &spec.time_to_failure, age, stream, ctx);
            return;
        }
        let wait = match age {
            Age::New => spec.time_to_failure.sample(stream),
            Age::Grown => spec.time_to_failure.sample_rest(stream),
        };
        ctx.arm_in(wait, Timer::Fails(process, index));
    }

    /// How many failures are under way.
    pub(super) fn under_way(&self) -> usize {
        self.instances.iter().filter(|instance| instance.failure.is_some()).count()
    }

    /// From now on so many faults are under way in the cluster.
    pub(super) fn set_under_way(
        &mut self,
        count: usize,
        process: u32,
        spec: &FaultProcessSpec,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let Some(biased) = &mut self.biased else { return };
        let instances = &self.instances;
        let redraws = |place: usize, ctx: &Ctx<'_, Chaos>| {
            ctx.streams.stream(&format!("failure-biasing/{}", spec.name), &instances[place].name)
        };
        biased.under_way(count, process, &spec.time_to_failure, &redraws, ctx);
    }

    /// What its instances went through until now; nothing if its failures are drawn as they come.
    pub(super) fn exposure(&self, spec: &FaultProcessSpec, now: SimTime) -> Exposure {
        self.biased.as_ref().map_or_else(Exposure::default, |biased| biased.exposure(&spec.time_to_failure, now))
    }

    /// Names what a failure draws.
    fn draw_name(&self, index: u32, name: &str) -> String {
        match self.instances[index as usize].failures {
            1 => name.to_owned(),
            failure => format!("{name}#{failure}"),
        }
    }

    fn event_name(&self, index: u32, spec: &FaultProcessSpec) -> String {
        format!("{}/{}", spec.name, self.instances[index as usize].name)
    }

    pub(super) fn fails(
        &mut self,
        process: u32,
        index: u32,
        spec: &FaultProcessSpec,
        damage: &mut Damage,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        if let Some(biased) = &mut self.biased {
            biased.fails(index);
        }
        let name = self.event_name(index, spec);
        let instance = &mut self.instances[index as usize];
        let nodes: Vec<NodeId> =
            instance.nodes.iter().copied().filter(|&node| ctx.store.machine(node).exists).collect();
        if spec.fault.fault.target().has_nodes() && nodes.is_empty() {
            // What is gone cannot fail.
            instance.is_over = true;
            return;
        }
        instance.failures += 1;
        let draw_name = self.draw_name(index, &name);
        let targets = hit::hit(&spec.fault, &draw_name, &nodes, ctx);
        // Each machine fails by itself: one that joins does so in its turn.
        let is_everywhere = false;
        let Some(what) = began_or_missed(ctx, &name, &spec.fault, (targets, is_everywhere)) else {
            self.next_failure(process, index, spec, Age::New, ctx);
            return;
        };
        let fault = damage.next_fault();
        let hit = Hit { fault, name: &draw_name, nodes: &nodes, is_everywhere, origin: Origin::Process };
        damage.begin(&spec.fault.fault, &hit, ctx);
        let instance = &mut self.instances[index as usize];
        if spec.fault.kind().course().lasts() {
            instance.failure = Some(Begun { fault, nodes });
            if let Some(repair) = &spec.time_to_repair {
                let repair = repair.sample(&mut instance.stream);
                ctx.arm_in(repair, Timer::Repaired(process, index));
            } else {
                instance.is_over = true;
            }
            return;
        }
        ended(ctx, &name, what);
        instance.is_over = spec.fault.kind().course().ends_machines();
        if !instance.is_over {
            self.next_failure(process, index, spec, Age::New, ctx);
        }
    }

    pub(super) fn repaired(
        &mut self,
        process: u32,
        index: u32,
        spec: &FaultProcessSpec,
        damage: &mut Damage,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let name = self.event_name(index, spec);
        let Some(failure) = self.instances[index as usize].failure.take() else { return };
        let what = hit::describe(&spec.fault, &hit::hit(&spec.fault, &name, &failure.nodes, ctx), ctx);
        damage.end(&spec.fault.fault, &failure, ctx);
        ended(ctx, &name, what.unwrap_or_else(|| spec.fault.kind().as_str().to_owned()));
        // A reclaimed instance is replaced by one of another name, which fails by itself.
        let is_over = spec.fault.kind().course().ends_machines() && spec.domain.is_none();
        self.instances[index as usize].is_over = is_over;
        if !is_over {
            self.next_failure(process, index, spec, Age::New, ctx);
        }
    }
}
