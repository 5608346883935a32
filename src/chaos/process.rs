//! Random processes of failure and repair, one per node or per value of a label.

use super::nesting::Nesting;
use super::spec::FaultProcessSpec;
use super::{Chaos, ChaosPlan, Severity, Timer, faults, note, target};
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::engine::Stream;
use crate::state::NodeId;

/// One node's or domain's process.
#[derive(Clone, Debug)]
struct Instance {
    /// What the user calls it: the node's name or the label's value.
    name: String,
    nodes: Vec<NodeId>,
    stream: Stream,
}

/// A process and its instances.
#[derive(Clone, Debug)]
pub struct FaultProcess {
    instances: Vec<Instance>,
}

impl FaultProcess {
    /// Draws each instance's first failure, as seen from a repair at t=0.
    pub(super) fn begin(process: u32, spec: &FaultProcessSpec, _plan: &ChaosPlan, ctx: &mut Ctx<'_, Chaos>) -> Self {
        let nodes = target::candidates(&spec.nodes, ctx);
        let mut groups: Vec<(String, Vec<NodeId>)> = Vec::new();
        for node in nodes {
            let name = match &spec.domain {
                None => ctx.store.node_name(node).to_string(),
                Some(key) => {
                    let value = ctx.store.node(node).and_then(|n| n.labels.get(Symbol::new(key)));
                    let Some(value) = value else { continue };
                    value.to_string()
                }
            };
            match groups.iter_mut().find(|(other, _)| *other == name && spec.domain.is_some()) {
                Some((_, members)) => members.push(node),
                None => groups.push((name, vec![node])),
            }
        }
        let concern = format!("fault/{}", spec.name);
        let mut this = Self { instances: Vec::new() };
        for (name, nodes) in groups {
            let stream = ctx.streams.stream(&concern, &name);
            this.instances.push(Instance { name, nodes, stream });
        }
        for index in 0..this.instances.len() {
            this.next_failure(process, index as u32, spec, ctx);
        }
        if this.instances.is_empty() {
            note(ctx, Severity::Warning, "NothingToFail", &spec.name, format!("{}: no node matches", spec.kind.as_str()));
        }
        this
    }

    fn next_failure(&mut self, process: u32, index: u32, spec: &FaultProcessSpec, ctx: &mut Ctx<'_, Chaos>) {
        let wait = spec.time_to_failure.sample(&mut self.instances[index as usize].stream);
        ctx.arm_in(wait, Timer::Fails(process, index));
    }

    fn event_name(&self, index: u32, spec: &FaultProcessSpec) -> String {
        format!("{}/{}", spec.name, self.instances[index as usize].name)
    }

    pub(super) fn fails(
        &mut self,
        process: u32,
        index: u32,
        spec: &FaultProcessSpec,
        nesting: &mut Nesting,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let name = self.event_name(index, spec);
        let instance = &mut self.instances[index as usize];
        let repair = spec.time_to_repair.sample(&mut instance.stream);
        let detail = target::describe(&instance.nodes, ctx);
        note(ctx, Severity::Normal, "FaultBegan", &name, format!("{}{detail}", spec.kind.as_str()));
        faults::begin_kind(spec.kind, &instance.nodes, nesting, ctx);
        ctx.arm_in(repair, Timer::Repaired(process, index));
    }

    pub(super) fn repaired(
        &mut self,
        process: u32,
        index: u32,
        spec: &FaultProcessSpec,
        nesting: &mut Nesting,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let name = self.event_name(index, spec);
        let instance = &self.instances[index as usize];
        faults::end_kind(spec.kind, &instance.nodes, nesting, ctx);
        let detail = target::describe(&instance.nodes, ctx);
        note(ctx, Severity::Normal, "FaultEnded", &name, format!("{}{detail}", spec.kind.as_str()));
        self.next_failure(process, index, spec, ctx);
    }
}
