//! The horizontal pod autoscaler, on loads that the scenario tells.
//!
//! It syncs on a grid. A sync that would find nothing to do is not played: the load curve tells when it leaves the tolerated
//! range, and changes of pods call for the next sync.

use std::sync::Arc;

use super::{HorizontalPodAutoscalerSpec, LoadCurve, ProcedurePlan};
use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, EventDraft, ObjectRef, Request, Start, export_workload,
};
use crate::engine::Ticket;
use crate::model::Object;
use crate::state::{Change, Changed, ControlPlaneProcess, Owner, Pod, PodDelta, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// A sync of the n-th autoscaler.
#[derive(Copy, Clone, Debug)]
pub struct HpaTimer(usize);

/// The period of the default scaling policies.
const POLICY_PERIOD: SimDuration = SimDuration::from_secs(15);

/// What an autoscaler remembers.
#[derive(Clone, Debug, Default)]
struct Memory {
    curve: LoadCurve,
    /// Syncs lie on a grid from here.
    anchor: SimTime,
    armed: Option<(Ticket, SimTime)>,
    last_sync: Option<SimTime>,
    /// What was recommended when.
    recommendations: Vec<(SimTime, i32)>,
    /// By how many replicas it was scaled when.
    scalings: Vec<(SimTime, i32)>,
}

/// What is known of a target.
#[derive(Copy, Clone, Debug)]
struct Target {
    workload: WorkloadId,
    replicas: i32,
    ready: i32,
    unready: i32,
}

/// The horizontal pod autoscaler.
///
/// # Source
/// horizontal-pod-autoscaler controller: replica calculator (unready pods count as idle when scaling up and not at all when
/// scaling down), tolerance, stabilization of the last five minutes on the way down, and on the way up at most 100 % or four
/// pods in 15 seconds, whichever is more.
///
/// # Differs
/// The load is shared by Ready pods alike and measured at once: scraping and the metrics server take no time, and a pod counts
/// as soon as it is Ready. Use may exceed what a pod requests without limit.
#[derive(Clone, Debug)]
pub struct HorizontalPodAutoscalers {
    plan: Arc<ProcedurePlan>,
    memories: Vec<Memory>,
}

impl HorizontalPodAutoscalers {
    /// Autoscalers that have not started.
    #[must_use]
    pub fn new(plan: Arc<ProcedurePlan>) -> Self {
        let memory = |spec: &HorizontalPodAutoscalerSpec| Memory {
            curve: LoadCurve::from(spec.load.as_slice()),
            ..Memory::default()
        };
        Self { memories: plan.workload_autoscalers.iter().map(memory).collect(), plan }
    }

    fn target(&self, index: usize, store: &Store) -> Option<Target> {
        let spec = &self.plan.workload_autoscalers[index];
        let (kind, namespace, name) = spec.target_parts()?;
        let workload = store.find_workload(kind, namespace, name)?;
        let tally = |workload: WorkloadId| {
            let tally = store.tally(workload);
            (tally.ready, tally.active - tally.ready)
        };
        let (replicas, (ready, unready)) = match workload {
            WorkloadId::Deployment(id) => {
                let sets = store.replica_sets_of(id).iter().map(|&set| tally(WorkloadId::ReplicaSet(set)));
                let sum = sets.fold((0, 0), |sum, set| (sum.0 + set.0, sum.1 + set.1));
                (store.deployments.get(id)?.spec.replicas.unwrap_or(1), sum)
            }
            WorkloadId::StatefulSet(id) => (store.stateful_sets.get(id)?.spec.replicas.unwrap_or(1), tally(workload)),
            WorkloadId::ReplicaSet(id) => (store.replica_sets.get(id)?.replicas, tally(workload)),
            _ => return None,
        };
        Some(Target { workload, replicas, ready, unready })
    }

    /// Arms the first sync at or after an instant, unless an earlier one is armed.
    fn arm(&mut self, index: usize, at: SimTime, ctx: &mut Ctx<'_, Self>) {
        let period = ctx.config.kube_controller_manager.horizontal_pod_autoscaler_sync_period.as_nanos().max(1);
        let memory = &mut self.memories[index];
        let after_last = memory.last_sync.map_or(at, |last| at.max(last + SimDuration::from_nanos(1)));
        let steps = after_last.max(ctx.now).saturating_since(memory.anchor).as_nanos().div_ceil(period);
        let at = memory.anchor + SimDuration::from_nanos(steps * period);
        if memory.armed.is_some_and(|(_, armed)| armed <= at) {
            return;
        }
        if let Some((ticket, _)) = memory.armed.take() {
            ctx.cancel(ticket);
        }
        memory.armed = Some((ctx.arm(at, HpaTimer(index)), at));
    }

    fn sync(&mut self, index: usize, ctx: &mut Ctx<'_, Self>) {
        self.memories[index].armed = None;
        let Some(target) = self.target(index, ctx.store).filter(|target| target.replicas > 0) else { return };
        let plan = Arc::clone(&self.plan);
        let spec = &plan.workload_autoscalers[index];
        let flags = &ctx.config.kube_controller_manager;
        let load = self.memories[index].curve.at(ctx.now);
        let tolerance = flags.horizontal_pod_autoscaler_tolerance;
        let proposed = spec.proposal(target.replicas, target.ready, target.unready, load, tolerance);
        let (desired, reason) = if target.replicas > spec.max_replicas {
            (spec.max_replicas, "Current number of replicas above Spec.MaxReplicas")
        } else if target.replicas < spec.min_replicas {
            (spec.min_replicas, "Current number of replicas below Spec.MinReplicas")
        } else {
            let window = flags.horizontal_pod_autoscaler_downscale_stabilization;
            let memory = &mut self.memories[index];
            let desired = memory.stabilized(proposed, target.replicas, window, ctx);
            let desired = desired.min(memory.upper_limit(target.replicas, ctx.now));
            let is_up = desired > target.replicas;
            let above = "cpu resource utilization (percentage of request) above target";
            (
                desired.clamp(spec.min_replicas, spec.max_replicas),
                if is_up { above } else { "All metrics below target" },
            )
        };
        let memory = &mut self.memories[index];
        memory.last_sync = Some(ctx.now);
        if desired != target.replicas {
            memory.scalings.push((ctx.now, desired - target.replicas));
            scale(target.workload, desired, ctx);
            if let Some(about) = ObjectRef::workload(ctx.store, target.workload) {
                let about = ObjectRef { kind: "HorizontalPodAutoscaler", ..about };
                let text = format!("New size: {desired}; reason: {reason}");
                ctx.event(EventDraft::normal("SuccessfulRescale", about, text));
            }
            self.arm(index, ctx.now, ctx);
            return;
        }
        let is_at_limit = (proposed > target.replicas && target.replicas == spec.max_replicas)
            || (proposed < target.replicas && target.replicas == spec.min_replicas);
        if proposed != target.replicas && !is_at_limit {
            // Stabilization or a policy holds it back.
            self.arm(index, ctx.now, ctx);
        } else if target.ready > 0 {
            let (low, high) = spec.quiet_range(target.replicas, target.ready, target.unready, tolerance);
            if let Some(at) = self.memories[index].curve.leaves(low, high, ctx.now) {
                self.arm(index, at, ctx);
            }
        }
    }

    /// Something has changed about pods of a workload, or about itself.
    fn disturb(&mut self, workload: WorkloadId, ctx: &mut Ctx<'_, Self>) {
        for index in 0..self.memories.len() {
            if self.target(index, ctx.store).is_some_and(|target| target.workload == workload) {
                self.arm(index, ctx.now, ctx);
            }
        }
    }

    fn pod_changed(&mut self, pod: &Pod, ctx: &mut Ctx<'_, Self>) {
        let owner = match pod.owner {
            Some(Owner::ReplicaSet(id)) => {
                let set = ctx.store.replica_sets.get(id);
                set.and_then(|set| set.meta.owner).or(Some(Owner::ReplicaSet(id)))
            }
            other => other,
        };
        if let Some(workload) = owner.and_then(WorkloadId::from_owner) {
            self.disturb(workload, ctx);
        }
    }
}

impl Memory {
    /// What follows from a proposal and those before it.
    ///
    /// # Source
    /// horizontal-pod-autoscaler controller, `stabilizeRecommendationWithBehaviors`: on the way down the largest recommendation of
    /// the window counts. While syncs were not played they would have recommended what the last one did.
    fn stabilized(
        &mut self,
        proposed: i32,
        replicas: i32,
        window: SimDuration,
        ctx: &Ctx<'_, HorizontalPodAutoscalers>,
    ) -> i32 {
        let period = ctx.config.kube_controller_manager.horizontal_pod_autoscaler_sync_period;
        let unplayed = ctx.now - period;
        match (self.last_sync, self.recommendations.last().copied()) {
            (Some(last), Some((_, before))) if last < unplayed => self.recommendations.push((unplayed, before)),
            (_, None) => self.recommendations.push((ctx.now, replicas)),
            _ => {}
        }
        self.recommendations.push((ctx.now, proposed));
        self.recommendations.retain(|(at, _)| *at + window > ctx.now);
        let largest = self.recommendations.iter().map(|(_, count)| *count).max().unwrap_or(proposed);
        if proposed >= replicas { proposed } else { largest.min(replicas) }
    }

    /// The most replicas that the default policies allow now.
    fn upper_limit(&mut self, replicas: i32, now: SimTime) -> i32 {
        self.scalings.retain(|(at, _)| *at + POLICY_PERIOD > now);
        let changed: i32 = self.scalings.iter().map(|(_, by)| *by).sum();
        let at_first = replicas - changed;
        (at_first + 4).max(at_first.saturating_mul(2))
    }
}

/// Writes the new size.
fn scale(workload: WorkloadId, replicas: i32, ctx: &mut Ctx<'_, HorizontalPodAutoscalers>) {
    let Some(mut object) = export_workload(ctx.store, workload) else { return };
    match &mut object {
        Object::Deployment(deployment) => deployment.spec.replicas = Some(replicas),
        Object::StatefulSet(set) => set.spec.replicas = Some(replicas),
        Object::ReplicaSet(set) => set.spec.replicas = Some(replicas),
        _ => return,
    }
    ctx.tell(Request::Apply(Box::new(object)));
}

impl Component for HorizontalPodAutoscalers {
    type Timer = HpaTimer;
    type Tag = ();
    const NAME: &'static str = "horizontal-pod-autoscaler";
    const PROCESS: Option<ControlPlaneProcess> = Some(ControlPlaneProcess::KubeControllerManager);

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![config.controller_client()]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::PodAdded(_) | Changed::PodRemoved { .. } => true,
            Changed::PodUpdated { delta, .. } => delta.touches(PodDelta::READY | PodDelta::PHASE | PodDelta::DELETION),
            Changed::WorkloadAdded(_) | Changed::WorkloadUpdated(..) => true,
            _ => false,
        }
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let period = ctx.config.kube_controller_manager.horizontal_pod_autoscaler_sync_period;
        let plan = Arc::clone(&self.plan);
        for (index, spec) in plan.workload_autoscalers.iter().enumerate() {
            let part = ctx.streams.stream("horizontal-pod-autoscaler", &spec.target).unit();
            self.memories[index].anchor = ctx.now + SimDuration::from_nanos((period.as_nanos() as f64 * part) as u64);
            self.arm(index, ctx.now, ctx);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match &change.what {
            Changed::PodAdded(pod) | Changed::PodUpdated { pod, .. } => {
                if let Some(pod) = ctx.store.pod(*pod) {
                    self.pod_changed(pod, ctx);
                }
            }
            Changed::PodRemoved { last, .. } => self.pod_changed(last, ctx),
            Changed::WorkloadAdded(workload) | Changed::WorkloadUpdated(workload, _) => self.disturb(*workload, ctx),
            _ => {}
        }
    }

    fn fired(&mut self, HpaTimer(index): HpaTimer, ctx: &mut Ctx<'_, Self>) {
        self.sync(index, ctx);
    }

    fn answered(&mut self, (): (), _answer: &Answer, _ctx: &mut Ctx<'_, Self>) {}
}

impl HorizontalPodAutoscalerSpec {
    /// Kind, namespace and name of the target.
    #[must_use]
    pub fn target_parts(&self) -> Option<(&'static str, Symbol, Symbol)> {
        let mut parts = self.target.split('/');
        let (kind, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = match kind {
            "deployment" => "Deployment",
            "statefulset" => "StatefulSet",
            "replicaset" => "ReplicaSet",
            _ => return None,
        };
        parts.next().is_none().then(|| (kind, Symbol::new(namespace), Symbol::new(name)))
    }

    /// How many times the target utilization that many pods would use.
    fn ratio(&self, load: f64, pods: i32) -> f64 {
        load / f64::from(pods) / self.per_replica / (f64::from(self.target_utilization) / 100.0)
    }

    /// How many replicas the load asks for.
    ///
    /// # Source
    /// horizontal-pod-autoscaler controller, `GetResourceReplicas`.
    #[must_use]
    pub fn proposal(&self, replicas: i32, ready: i32, unready: i32, load: f64, tolerance: f64) -> i32 {
        if ready == 0 {
            return replicas;
        }
        let is_tolerated = |ratio: f64| (1.0 - ratio).abs() <= tolerance;
        let count = |ratio: f64, pods: i32| (ratio * f64::from(pods)).ceil() as i32;
        let ratio = self.ratio(load, ready);
        if unready == 0 || ratio <= 1.0 {
            return if is_tolerated(ratio) { replicas } else { count(ratio, ready) };
        }
        // Pods that are not Ready yet will take their share.
        let all = ready + unready;
        let ratio = self.ratio(load, all);
        if is_tolerated(ratio) || ratio < 1.0 { replicas } else { count(ratio, all).max(replicas) }
    }

    /// Between which loads nothing is to be done.
    fn quiet_range(&self, replicas: i32, ready: i32, unready: i32, tolerance: f64) -> (f64, f64) {
        let at_target = |pods: i32| f64::from(pods) * self.per_replica * f64::from(self.target_utilization) / 100.0;
        // One replica less is enough up to and including this load; the bound itself has to lie outside.
        let one_less = at_target(replicas - 1) * (1.0 + 1e-9);
        let low = (at_target(ready) * (1.0 - tolerance)).min(one_less);
        let high = (at_target(ready + unready) * (1.0 + tolerance)).max(at_target(replicas));
        (
            if replicas <= self.min_replicas { f64::NEG_INFINITY } else { low },
            if replicas >= self.max_replicas { f64::INFINITY } else { high },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_follow_the_use_beyond_the_tolerance() {
        let spec: HorizontalPodAutoscalerSpec = serde_saphyr::from_str(
            "{target: deployment/a/b, maxReplicas: 50, targetUtilization: 50, perReplica: 100, load: [{at: 0s, load: 1}]}",
        )
        .expect("an autoscaler");
        let check = |(replicas, ready, unready): (i32, i32, i32), load: f64, expected: i32| {
            let found = spec.proposal(replicas, ready, unready, load, 0.1);
            assert_eq!(found, expected, "{load} on {ready} of {replicas}");
        };
        check((4, 4, 0), 200.0, 4);
        check((4, 4, 0), 219.0, 4);
        check((4, 4, 0), 221.0, 5);
        check((4, 4, 0), 181.0, 4);
        check((4, 4, 0), 179.0, 4);
        check((4, 4, 0), 149.0, 3);
        // Pods that are not Ready dampen the way up and count for nothing on the way down.
        check((8, 4, 4), 400.0, 8);
        check((8, 4, 4), 800.0, 16);
        check((8, 4, 4), 100.0, 2);
        check((4, 0, 4), 900.0, 4);
    }
}
