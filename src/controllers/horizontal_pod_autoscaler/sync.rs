//! One sync of an autoscaler.

use std::cmp::Ordering;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::calculator::{Goal, Proposal, Tolerances, proposal};
use super::metrics::{Pressure, View, samples};
use super::pace::Wish;
use super::target::{Target, find_target, target_kind};
use super::{HorizontalPodAutoscalers, Scaling, Tag, Why};
use crate::arena::Symbol;
use crate::component::{Answer, Ctx, ErrorReason, EventDraft, Load, LoadCurve, ObjectRef, Request, StatusUpdate};
use crate::model::{
    HorizontalPodAutoscalerSpec, LabelSelector, MetricSourceType, MetricSpec, MetricTarget, ObjectKind,
};
use crate::state::{Autoscaler, AutoscalerKey, AutoscalerStatus, MetricValue, Pod, PodId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// What the metrics of an autoscaler say together.
struct Findings {
    /// The size that is asked for, and by which metric; none if too little is known.
    replicas: Option<(i32, String)>,
    values: Vec<Option<MetricValue>>,
    /// How each metric that cannot be had fails: the reason and the words.
    failures: Vec<(&'static str, String)>,
    /// What is said of them all, if there are any.
    all: String,
}

/// What a sync looks at.
struct Scene<'a> {
    spec: &'a HorizontalPodAutoscalerSpec,
    current: i32,
    views: Vec<View<'a>>,
    tolerances: Tolerances,
    namespace: Symbol,
}

/// The pods that a selector selects, by name.
fn pods<'a>(namespace: Symbol, selector: &LabelSelector, store: &'a Store) -> Vec<&'a Pod> {
    let all = store.pods_in(namespace).iter().copied().filter_map(|id: PodId| store.pod(id));
    let mut pods: Vec<&Pod> = all.filter(|pod| selector.matches(&pod.labels)).collect();
    pods.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    pods
}

impl Scene<'_> {
    /// # Source
    /// `computeReplicasForMetrics`: the largest size of all metrics counts; if one cannot be had, none may scale down.
    fn findings(&self, pressure: Option<Pressure>) -> Findings {
        let specs = &self.spec.metrics;
        let (mut best, mut values, mut failures, mut first) = (None::<(i32, String)>, Vec::new(), Vec::new(), None);
        for spec in specs {
            match self.metric(spec, pressure) {
                Ok((name, found)) => {
                    let Proposal { replicas, utilization, average } = found;
                    values.push(Some(MetricValue { utilization, average_milli: average }));
                    if best.as_ref().is_none_or(|(most, _)| *most == 0 || replicas > *most) {
                        best = Some((replicas, name));
                    }
                }
                Err((reason, own, outer)) => {
                    values.push(None);
                    failures.push((reason, own));
                    first.get_or_insert(outer);
                }
            }
        }
        let (failed, first) = (failures.len(), first.unwrap_or_default());
        let all = format!("invalid metrics ({failed} invalid out of {}), first error is: {first}", specs.len());
        let replicas = best.filter(|(replicas, _)| failed == 0 || *replicas >= self.current);
        Findings { replicas, values, failures, all }
    }

    /// What one metric asks for, and its name; else the reason, and the warning of the failure.
    fn metric(
        &self,
        spec: &MetricSpec,
        pressure: Option<Pressure>,
    ) -> Result<(String, Proposal), (&'static str, String, String)> {
        let (source, container, what) = match (spec.metric_type, &spec.resource, &spec.container_resource) {
            (Some(MetricSourceType::Resource), Some(source), _) => (source, Symbol::empty(), ""),
            (Some(MetricSourceType::ContainerResource), _, Some(source)) => (source, source.container, "container "),
            (other, ..) => return Err(self.unknown(other)),
        };
        let reason = if container.is_empty() { "FailedGetResourceMetric" } else { "FailedGetContainerResourceMetric" };
        let (resource, goal) = (source.name, goal(&source.target));
        let found = samples(&self.views, resource, container, pressure, matches!(goal, Goal::Utilization(_)))
            .and_then(|samples| proposal(&samples, goal, self.current, self.tolerances));
        let kind = if matches!(goal, Goal::Utilization(_)) { "utilization" } else { "usage" };
        match found {
            Ok(found) if matches!(goal, Goal::Utilization(_)) => {
                Ok((format!("{resource} {what}resource utilization (percentage of request)"), found))
            }
            Ok(found) => Ok((format!("{resource} {what}resource"), found)),
            Err(error) => {
                let own = format!("failed to get {resource} {kind}: {error}");
                let outer = match container.as_str() {
                    "" => format!("failed to get {resource} resource metric value: {own}"),
                    container => format!("failed to get {container} container metric value: {own}"),
                };
                Err((reason, own, outer))
            }
        }
    }

    /// No adapter serves metrics of other sources.
    fn unknown(&self, source: Option<MetricSourceType>) -> (&'static str, String, String) {
        let (reason, what, api) = match source {
            Some(MetricSourceType::External) => ("FailedGetExternalMetric", "external", "external"),
            Some(MetricSourceType::Object) => ("FailedGetObjectMetric", "object", "custom"),
            _ => ("FailedGetPodsMetric", "pods", "custom"),
        };
        let own = format!(
            "unable to get {what} metric in {}: unable to fetch metrics from {api} metrics API: no {api} metrics API \
             ({api}.metrics.k8s.io) registered",
            self.namespace
        );
        let outer = format!("failed to get {what} metric value: {own}");
        (reason, own, outer)
    }
}

fn goal(target: &MetricTarget) -> Goal {
    match (target.average_value, target.average_utilization) {
        (Some(value), _) => Goal::Average(value.milli_value().max(1)),
        (None, percent) => Goal::Utilization(percent.unwrap_or(100).max(1)),
    }
}

fn tolerances(spec: &HorizontalPodAutoscalerSpec, tolerance: f64) -> Tolerances {
    let behavior = spec.behavior.as_ref();
    let of = |rules: Option<&crate::model::HPAScalingRules>| {
        rules.and_then(|rules| rules.tolerance).map_or(tolerance, |given| given.nano_value() as f64 / 1e9)
    };
    Tolerances {
        down: of(behavior.and_then(|behavior| behavior.scale_down.as_ref())),
        up: of(behavior.and_then(|behavior| behavior.scale_up.as_ref())),
    }
}

impl HorizontalPodAutoscalers {
    pub(super) fn sync(&mut self, key: AutoscalerKey, ctx: &mut Ctx<'_, Self>) {
        let Some(memory) = self.memories.get_mut(&key) else { return };
        memory.armed = None;
        let Some(autoscaler) = ctx.store.autoscalers.get(&key) else {
            self.memories.remove(&key);
            return;
        };
        let period = ctx.config.kube_controller_manager.horizontal_pod_autoscaler_sync_period;
        // Syncs that were not played did what the last one did.
        if memory.recommended && memory.last_sync.is_some_and(|last| last < ctx.now - period) {
            memory.past.went_on(ctx.now - period);
        }
        (memory.last_sync, memory.recommended, memory.under_way) = (Some(ctx.now), false, Some(None));
        let store = ctx.store;
        let mut status = autoscaler.status.clone();
        let target = match find_target(key, &autoscaler.spec, store) {
            Ok(target) => target,
            Err(problem) => return self.without_target(key, status, autoscaler, &problem, ctx),
        };
        self.found(key, target.workload);
        let able = "the HPA controller was able to get the target's current scale";
        status.set_condition("AbleToScale", true, "SucceededGetScale", able, ctx.now);
        let Some(memory) = self.memories.get_mut(&key) else { return };
        memory.past.begin(target.replicas, ctx.now);
        let spec = Arc::clone(&autoscaler.spec);
        let min = spec.min_replicas.unwrap_or(1);
        let bound = if target.replicas > spec.max_replicas {
            Some((spec.max_replicas, "Current number of replicas above Spec.MaxReplicas"))
        } else if target.replicas < min {
            Some((min, "Current number of replicas below Spec.MinReplicas"))
        } else {
            None
        };
        match bound {
            _ if target.replicas == 0 => {
                let off = "scaling is disabled since the replica count of the target is zero";
                status.set_condition("ScalingActive", false, "ScalingDisabled", off, ctx.now);
                (status.current_replicas, status.desired_replicas, status.metrics) = (0, 0, Vec::new());
                self.write(key, autoscaler, status, ctx);
            }
            Some((size, reason)) => {
                status.metrics = Vec::new();
                self.scale(key, &target, size, reason.to_owned(), status, ctx);
            }
            None => self.follow(key, &target, autoscaler, status, ctx),
        }
    }

    /// Remembers whose pods matter to an autoscaler's target.
    fn found(&mut self, key: AutoscalerKey, workload: WorkloadId) {
        let Some(memory) = self.memories.get_mut(&key) else { return };
        let old = memory.workload.replace(workload).filter(|old| *old != workload);
        self.unlink(key, None, old);
        let keys = self.by_workload.entry(workload).or_default();
        if !keys.contains(&key) {
            keys.push(key);
            keys.sort_unstable();
        }
    }

    fn without_target(
        &mut self,
        key: AutoscalerKey,
        mut status: AutoscalerStatus,
        autoscaler: &Autoscaler,
        problem: &str,
        ctx: &mut Ctx<'_, Self>,
    ) {
        self.warn(key, "FailedGetScale", problem.to_owned(), ctx);
        let message = format!("the HPA controller was unable to get the target's current scale: {problem}");
        status.set_condition("AbleToScale", false, "FailedGetScale", &message, ctx.now);
        self.write(key, autoscaler, status, ctx);
    }

    /// Warns of something that keeps the autoscaler from its work, unless its last sync did.
    fn warn(&mut self, key: AutoscalerKey, reason: &'static str, message: String, ctx: &mut Ctx<'_, Self>) {
        let Some(memory) = self.memories.get_mut(&key) else { return };
        let warning = (reason, message);
        if !memory.warned.contains(&warning) {
            ctx.event(EventDraft::warning(reason, reference(key), warning.1.clone()));
        }
        memory.warnings.push(warning);
    }

    /// Sets the size by the metrics.
    fn follow(
        &mut self,
        key: AutoscalerKey,
        target: &Target,
        autoscaler: &Autoscaler,
        mut status: AutoscalerStatus,
        ctx: &mut Ctx<'_, Self>,
    ) {
        let (now, store, config) = (ctx.now, ctx.store, ctx.config);
        let spec = &*autoscaler.spec;
        status.current_replicas = target.replicas;
        let Some(selector) = &target.selector else {
            let condition = "the HPA target's scale is missing a selector".to_owned();
            let said = ("SelectorRequired", "selector is required".to_owned());
            return self.without_selector(key, said, ("InvalidSelector", condition), autoscaler, status, ctx);
        };
        let pods = pods(key.0, selector, store);
        self.selectors.put(key, selector);
        let rivals = self.selectors.that_select_any(&pods);
        self.met(key, rivals.clone(), ctx);
        if rivals.len() > 1 {
            let rivals: Vec<String> = rivals.iter().map(|(namespace, name)| format!("{namespace}/{name}")).collect();
            let rivals = rivals.join(" ");
            let text = format!("pods by selector {selector} are controlled by multiple HPAs: [{rivals}]");
            let said = ("AmbiguousSelector", text.clone());
            return self.without_selector(key, said, ("AmbiguousSelector", text), autoscaler, status, ctx);
        }
        let loads = Arc::clone(&self.loads);
        let load = target_kind(&spec.scale_target_ref)
            .and_then(|kind| find_load(&loads, kind, key.0, spec.scale_target_ref.name));
        let pressure = |load: f64, per_replica: f64| Pressure { load, per_replica };
        let scene = Scene {
            spec,
            current: target.replicas,
            views: pods.into_iter().map(|pod| View::new(pod, store, config, now)).collect(),
            tolerances: tolerances(spec, config.kube_controller_manager.horizontal_pod_autoscaler_tolerance),
            namespace: key.0,
        };
        let findings = scene.findings(load.map(|load| pressure(load.curve.at(now), load.per_replica)));
        status.metrics.clone_from(&findings.values);
        self.warn_of_metrics(key, &findings, &mut status, ctx);
        let Some((proposed, metric)) = findings.replicas else {
            self.arm_initialized(key, &scene, ctx);
            return self.write(key, autoscaler, status, ctx);
        };
        let found = format!("the HPA was able to successfully calculate a replica count from {metric}");
        status.set_condition("ScalingActive", true, "ValidMetricFound", &found, now);
        let wish =
            Wish { current: target.replicas, proposed, min: spec.min_replicas.unwrap_or(1), max: spec.max_replicas };
        let window = config.kube_controller_manager.horizontal_pod_autoscaler_downscale_stabilization;
        let Some(memory) = self.memories.get_mut(&key) else { return };
        memory.recommended = true;
        let normal = memory.past.normalize(wish, spec.behavior.as_ref(), window, now);
        status.set_condition("AbleToScale", true, normal.able.0, normal.able.1, now);
        let (is_limited, why) = normal.limited;
        status.set_condition("ScalingLimited", is_limited, why.0, why.1, now);
        if normal.desired != target.replicas {
            // None, if it is another recommendation of late that counts.
            let reason = match proposed.cmp(&target.replicas) {
                Ordering::Greater => format!("{metric} above target"),
                Ordering::Less => "All metrics below target".to_owned(),
                Ordering::Equal => String::new(),
            };
            return self.scale(key, target, normal.desired, reason, status, ctx);
        }
        status.desired_replicas = target.replicas;
        self.write(key, autoscaler, status, ctx);
        if normal.waits {
            return self.arm(key, now, ctx);
        }
        self.arm_initialized(key, &scene, ctx);
        if let Some(load) = load {
            let size_at = |at_load: f64| {
                let found = scene.findings(Some(pressure(at_load, load.per_replica))).replicas;
                found.map(|(replicas, _)| replicas.clamp(wish.min, wish.max))
            };
            let moves = |at_load: f64| size_at(at_load).is_some_and(|size| size != target.replicas);
            let period = config.kube_controller_manager.horizontal_pod_autoscaler_sync_period;
            if let Some(at) = first_move(&load.curve, now, period, moves) {
                // It comes to ask for another size between two syncs.
                let asked = [at, at + period].into_iter().filter_map(|at| size_at(load.curve.at(at)));
                let size = asked.into_iter().find(|size| *size != target.replicas).unwrap_or(target.replicas);
                let size = NonZeroU32::new(size.unsigned_abs()).unwrap_or(NonZeroU32::MIN);
                self.arm_for(Why::Load(size), key, at, ctx);
            }
        }
    }

    /// Says which metric cannot be had, and what follows if too little is known.
    fn warn_of_metrics(
        &mut self,
        key: AutoscalerKey,
        findings: &Findings,
        status: &mut AutoscalerStatus,
        ctx: &mut Ctx<'_, Self>,
    ) {
        for (reason, own) in &findings.failures {
            self.warn(key, reason, own.clone(), ctx);
        }
        if let (None, Some((reason, own))) = (&findings.replicas, findings.failures.first()) {
            self.warn(key, "FailedComputeMetricsReplicas", findings.all.clone(), ctx);
            let message = format!("the HPA was unable to compute the replica count: {own}");
            status.set_condition("ScalingActive", false, reason, &message, ctx.now);
        }
    }

    /// The target's pods cannot be distinguished from others'; what is said of that as an event, and as a condition.
    ///
    /// # Source
    /// `validateAndParseSelector`.
    fn without_selector(
        &mut self,
        key: AutoscalerKey,
        (event, message): (&'static str, String),
        (reason, condition): (&'static str, String),
        autoscaler: &Autoscaler,
        mut status: AutoscalerStatus,
        ctx: &mut Ctx<'_, Self>,
    ) {
        self.warn(key, event, message.clone(), ctx);
        self.warn(key, "FailedComputeMetricsReplicas", message, ctx);
        status.metrics = Vec::new();
        status.set_condition("ScalingActive", false, reason, &condition, ctx.now);
        self.write(key, autoscaler, status, ctx);
    }

    /// Looks again when a pod begins to count that is not ready.
    fn arm_initialized(&mut self, key: AutoscalerKey, scene: &Scene<'_>, ctx: &mut Ctx<'_, Self>) {
        if let Some(at) = scene.views.iter().filter_map(|view| view.initializing_until).min() {
            self.arm(key, at, ctx);
        }
    }

    fn scale(
        &mut self,
        key: AutoscalerKey,
        target: &Target,
        to: i32,
        reason: String,
        status: AutoscalerStatus,
        ctx: &mut Ctx<'_, Self>,
    ) {
        let Some(memory) = self.memories.get_mut(&key) else { return };
        memory.scaling = Some(Box::new(Scaling { from: target.replicas, to, reason, status }));
        ctx.call(Request::Scale { workload: target.workload, replicas: to }, Tag::Scale(key));
    }

    pub(super) fn was_scaled(&mut self, key: AutoscalerKey, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some(scaling) = self.memories.get_mut(&key).and_then(|memory| memory.scaling.take()) else { return };
        let Scaling { from, to, reason, mut status } = *scaling;
        let Some(autoscaler) = ctx.store.autoscalers.get(&key) else { return self.over(key, ctx) };
        status.current_replicas = from;
        match answer {
            // It could not even have looked how many there are.
            Err(error) if error.reason == ErrorReason::Unavailable => {
                let status = autoscaler.status.clone();
                self.arm(key, ctx.now, ctx);
                return self.without_target(key, status, autoscaler, &error.message, ctx);
            }
            Ok(_) => {
                let message = format!("the HPA controller was able to update the target scale to {to}");
                status.set_condition("AbleToScale", true, "SucceededRescale", &message, ctx.now);
                status.desired_replicas = to;
                status.last_scale_at = Some(ctx.now);
                let text = format!("New size: {to}; reason: {reason}");
                ctx.event(EventDraft::normal("SuccessfulRescale", reference(key), text));
                if let Some(memory) = self.memories.get_mut(&key) {
                    memory.past.scaled(from, to, autoscaler.spec.behavior.as_ref(), ctx.now);
                }
            }
            Err(error) => {
                let text = format!("New size: {to}; reason: {reason}; error: {}", error.message);
                ctx.event(EventDraft::warning("FailedRescale", reference(key), text));
                let message = format!("the HPA controller was unable to update the target scale: {}", error.message);
                status.set_condition("AbleToScale", false, "FailedUpdateScale", &message, ctx.now);
            }
        }
        self.arm(key, ctx.now, ctx);
        self.write(key, autoscaler, status, ctx);
    }

    /// # Source
    /// `updateStatusIfNeeded`.
    fn write(&mut self, key: AutoscalerKey, old: &Autoscaler, status: AutoscalerStatus, ctx: &mut Ctx<'_, Self>) {
        if old.status == status {
            return self.over(key, ctx);
        }
        let update = StatusUpdate::Autoscaler(key, Box::new(status));
        ctx.call(Request::UpdateStatus(update), Tag::Status(key));
    }
}

fn find_load(loads: &[Load], kind: ObjectKind, namespace: Symbol, name: Symbol) -> Option<&Load> {
    loads.iter().find(|load| load.kind == kind && load.namespace == namespace && load.name == name)
}

fn reference((namespace, name): AutoscalerKey) -> ObjectRef {
    ObjectRef::named(ObjectKind::HorizontalPodAutoscaler, namespace, name.as_str())
}

/// About when the load on a workload will ask for another size for the first time; none if never.
///
/// Between two points of the curve the load goes one way, and with it what it asks for: the first instant is found by halving.
fn first_move(curve: &LoadCurve, now: SimTime, step: SimDuration, moves: impl Fn(f64) -> bool) -> Option<SimTime> {
    let mut from = now;
    for to in curve.turns_after(now) {
        if moves(curve.before(to)) {
            let (mut quiet, mut moving) = (from, to);
            while moving.saturating_since(quiet) > step {
                let middle = quiet + moving.saturating_since(quiet) / 2_u64;
                if moves(curve.at(middle)) { moving = middle } else { quiet = middle }
            }
            return Some(quiet);
        }
        // The load may jump here.
        if moves(curve.at(to)) {
            return Some(to);
        }
        from = to;
    }
    None
}
