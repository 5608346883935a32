//! The horizontal pod autoscaler: workloads between their bounds, by what their pods use.
//!
//! It syncs on a grid. A sync that would find nothing to do is not played: changes of pods, of the workload and of the
//! autoscaler call for the next one, and the load on a workload says when it will ask for another size.

mod calculator;
mod metrics;
mod pace;
mod rivals;
mod sync;
mod target;

use std::num::NonZeroU32;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::{Answer, ClientLimit, Component, Config, Ctx, Load, Program, Start};
use crate::engine::Ticket;
use crate::model::ObjectKind;
use crate::state::{
    AutoscalerKey, AutoscalerStatus, Change, Changed, ControlPlaneProcess, Pod, PodDelta, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};
use pace::Past;
use rivals::{Keys, Selectors};
use target::{find_target, target_kind};

/// A sync of an autoscaler.
#[derive(Copy, Clone, Debug)]
pub struct Timer {
    key: AutoscalerKey,
    why: Why,
}

/// What calls for a sync.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Why {
    /// Something that changed, or an earlier sync that had to wait.
    Change,
    /// The load, of itself: it asks for so many pods, and there are others.
    Load(NonZeroU32),
}

/// What an answer was for.
#[derive(Copy, Clone, Debug)]
pub enum Tag {
    /// The size of the target.
    Scale(AutoscalerKey),
    /// The autoscaler's status.
    Status(AutoscalerKey),
}

/// Kind, namespace and name of a workload, whether there is one or not.
type TargetName = (ObjectKind, Symbol, Symbol);

/// What the controller remembers of an autoscaler.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// When the queue hands it out next, if a sync that finds nothing to do is taken to need no time.
    next: SimTime,
    armed: Option<(Ticket, SimTime)>,
    /// A sync goes on: what it asked of the API server is not answered yet. Then, when something called for another one first.
    under_way: Option<Option<(SimTime, Why)>>,
    last_sync: Option<SimTime>,
    /// Whether the last sync came to recommend a size.
    recommended: bool,
    past: Past,
    /// What it is to scale.
    target: Option<TargetName>,
    /// The same, as it was found last.
    workload: Option<WorkloadId>,
    /// Who selects its pods, itself among them, if others do.
    rivals: Keys,
    /// The new size on its way.
    scaling: Option<Box<Scaling>>,
    /// What the last sync warned of: that is no news.
    warned: Vec<(&'static str, String)>,
    /// What this sync warns of.
    warnings: Vec<(&'static str, String)>,
}

/// A new size on its way to the API server.
#[derive(Clone, Debug)]
struct Scaling {
    from: i32,
    to: i32,
    reason: String,
    status: AutoscalerStatus,
}

/// The horizontal pod autoscaler.
///
/// # Source
/// kube-controller-manager, horizontal-pod-autoscaler-controller: `reconcileAutoscaler`.
///
/// # Differs
/// What pods use is what the scenario says: a load on a workload, shared by its Ready pods alike, or an annotation of the pod.
/// Metrics of other sources than resources have no adapter. What keeps an autoscaler from its work is warned of once, and not at each sync;
/// while the API server is away only those that want another size notice.
#[derive(Clone, Debug, Default)]
pub struct HorizontalPodAutoscalers {
    loads: Arc<[Load]>,
    memories: FxHashMap<AutoscalerKey, Memory>,
    /// Who scales a workload of that name.
    by_target: FxHashMap<TargetName, Keys>,
    /// Who scales a workload that was found.
    by_workload: FxHashMap<WorkloadId, Keys>,
    selectors: Selectors,
}

impl HorizontalPodAutoscalers {
    /// A controller that has not started; what is known of the loads on workloads.
    #[must_use]
    pub fn new(loads: Arc<[Load]>) -> Self {
        Self { loads, ..Self::default() }
    }

    /// Arms the first sync at or after an instant, unless an earlier one is armed.
    ///
    /// # Source
    /// `enqueueHPA`, `processNextWorkItem`: every key waits for the sync period, and who waits already does not wait anew.
    fn arm(&mut self, key: AutoscalerKey, at: SimTime, ctx: &mut Ctx<'_, Self>) {
        self.arm_for(Why::Change, key, at, ctx);
    }

    fn arm_for(&mut self, why: Why, key: AutoscalerKey, at: SimTime, ctx: &mut Ctx<'_, Self>) {
        let period = ctx.config.kube_controller_manager.horizontal_pod_autoscaler_sync_period.as_nanos().max(1);
        let Some(memory) = self.memories.get_mut(&key) else { return };
        if let Some(called) = &mut memory.under_way {
            let first = called.filter(|(first, _)| *first <= at);
            *called = first.or(Some((at, why)));
            return;
        }
        let steps = at.max(ctx.now).saturating_since(memory.next).as_nanos().div_ceil(period);
        let at = memory.next + SimDuration::from_nanos(steps * period);
        if memory.armed.is_some_and(|(_, armed)| armed <= at) {
            return;
        }
        if let Some((ticket, _)) = memory.armed.take() {
            ctx.cancel(ticket);
        }
        memory.armed = Some((ctx.arm(at, Timer { key, why }), at));
    }

    /// A sync is over: the next one follows a period later, and is played if something called for it.
    fn over(&mut self, key: AutoscalerKey, ctx: &mut Ctx<'_, Self>) {
        let period = ctx.config.kube_controller_manager.horizontal_pod_autoscaler_sync_period;
        let Some(memory) = self.memories.get_mut(&key) else { return };
        memory.next = ctx.now + period;
        memory.warned = std::mem::take(&mut memory.warnings);
        if let Some((at, why)) = memory.under_way.take().flatten() {
            self.arm_for(why, key, at, ctx);
        }
    }

    /// An autoscaler appeared or changed; its syncs begin a while after. One that was deleted and made anew before its next sync
    /// is taken for the same.
    fn take_up(&mut self, key: AutoscalerKey, next: SimTime, ctx: &mut Ctx<'_, Self>) {
        let Some(autoscaler) = ctx.store.autoscalers.get(&key) else { return };
        self.memories.entry(key).or_insert_with(|| Memory { next, ..Memory::default() });
        let target = &autoscaler.spec.scale_target_ref;
        let target = target_kind(target).map(|kind| (kind, key.0, target.name));
        if let Some(memory) = self.memories.get_mut(&key)
            && memory.target != target
        {
            let (name, workload) = (std::mem::replace(&mut memory.target, target), memory.workload.take());
            self.unlink(key, name, workload);
            if let Some(target) = target {
                self.by_target.entry(target).or_default().push(key);
            }
        }
        self.arm(key, ctx.now, ctx);
    }

    /// An autoscaler is gone. Who was held up because both selected the same pods is so no more.
    ///
    /// # Source
    /// `deleteHPA` lets go of the selector alone; what was recommended is forgotten by the sync that misses the autoscaler.
    fn removed(&mut self, key: AutoscalerKey, ctx: &mut Ctx<'_, Self>) {
        self.selectors.remove(key);
        let Some(memory) = self.memories.get_mut(&key) else { return };
        let (target, workload) = (memory.target.take(), memory.workload.take());
        let rivals = std::mem::take(&mut memory.rivals);
        memory.warned.clear();
        self.unlink(key, target, workload);
        self.arm_all(&rivals, ctx);
        self.arm(key, ctx.now, ctx);
    }

    /// Remembers who selects the pods of an autoscaler, and has the others look again if that is news.
    fn met(&mut self, key: AutoscalerKey, found: Keys, ctx: &mut Ctx<'_, Self>) {
        let Some(memory) = self.memories.get_mut(&key) else { return };
        let found = if found.len() > 1 { found } else { Keys::new() };
        if memory.rivals == found {
            return;
        }
        let mut others = std::mem::replace(&mut memory.rivals, found.clone());
        others.extend(found);
        others.retain(|other| *other != key);
        self.arm_all(&others, ctx);
    }

    fn unlink(&mut self, key: AutoscalerKey, target: Option<TargetName>, workload: Option<WorkloadId>) {
        let of_name = target.and_then(|target| self.by_target.get_mut(&target));
        let of_workload = workload.and_then(|workload| self.by_workload.get_mut(&workload));
        for keys in of_name.into_iter().chain(of_workload) {
            keys.retain(|other| *other != key);
        }
    }

    fn arm_all(&mut self, keys: &[AutoscalerKey], ctx: &mut Ctx<'_, Self>) {
        for key in keys {
            self.arm(*key, ctx.now, ctx);
        }
    }

    fn workload_changed(&mut self, workload: WorkloadId, ctx: &mut Ctx<'_, Self>) {
        let Some(meta) = ctx.store.workload_meta(workload) else { return };
        let kind = ctx.store.workload_kind(workload);
        if let Some(keys) = self.by_target.get(&(kind, meta.namespace, meta.name)).cloned() {
            self.arm_all(&keys, ctx);
        }
    }

    /// Who selects a pod looks at it; who looks at no metrics has no need to.
    fn pod_changed(&mut self, pod: &Pod, ctx: &mut Ctx<'_, Self>) {
        let keys = self.selectors.that_select(pod);
        self.arm_all(&keys, ctx);
    }

    /// A controller that has been running for long knows what its autoscalers select.
    fn recall(&mut self, key: AutoscalerKey, store: &Store) {
        let autoscaler = store.autoscalers.get(&key);
        let target = autoscaler.and_then(|autoscaler| find_target(key, &autoscaler.spec, store).ok());
        if let Some(selector) = target.filter(|target| target.replicas > 0).and_then(|target| target.selector) {
            self.selectors.put(key, &selector);
        }
    }
}

impl Component for HorizontalPodAutoscalers {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "horizontal-pod-autoscaler";
    const PROGRAM: Program = Program::ControlPlane(ControlPlaneProcess::KubeControllerManager);
    const CONTROLLERS: &'static [&'static str] = &["horizontal-pod-autoscaler-controller"];

    /// A load goes on by itself.
    fn begins_anew(timer: &Timer) -> bool {
        matches!(timer.why, Why::Load(_))
    }

    fn words(Timer { key, why }: &Timer, store: &Store) -> String {
        let target = store.autoscalers.get(key).map(|autoscaler| &autoscaler.spec.scale_target_ref);
        match (why, target) {
            (Why::Load(size), Some(target)) => {
                let kind = target.kind.as_str().to_ascii_lowercase();
                format!("the load on {kind}/{}/{} asks for {size} replicas", key.0, target.name)
            }
            _ => format!("the sync of horizontalpodautoscaler/{}/{} is due", key.0, key.1),
        }
    }

    fn is_live(timer: &Timer, store: &Store) -> bool {
        store.autoscalers.contains_key(&timer.key)
    }

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![config.controller_client()]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::PodAdded(_) | Changed::PodRemoved { .. } => true,
            Changed::PodUpdated { delta, .. } => {
                delta.touches(PodDelta::READY | PodDelta::PHASE | PodDelta::DELETION | PodDelta::ANNOTATIONS)
            }
            Changed::WorkloadAdded(_) | Changed::WorkloadUpdated(..) | Changed::WorkloadRemoved(_) => true,
            Changed::AutoscalerChanged(_) | Changed::AutoscalerRemoved(_) => true,
            _ => false,
        }
    }

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Self>) {
        let period = ctx.config.kube_controller_manager.horizontal_pod_autoscaler_sync_period;
        let keys: Vec<AutoscalerKey> = ctx.store.autoscalers.keys().copied().collect();
        for key in keys {
            let next = match start {
                // It has been running for long: the phase is anybody's guess.
                Start::Initial => {
                    let entity = format!("{}/{}", key.0, key.1);
                    let part = ctx.streams.stream("horizontal-pod-autoscaler", &entity).unit();
                    ctx.now + SimDuration::from_nanos((period.as_nanos() as f64 * part) as u64)
                }
                Start::Fresh => ctx.now + period,
            };
            if start == Start::Initial {
                self.recall(key, ctx.store);
            }
            self.take_up(key, next, ctx);
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
            Changed::WorkloadAdded(workload) | Changed::WorkloadUpdated(workload, _) => {
                self.workload_changed(*workload, ctx);
            }
            Changed::WorkloadRemoved(workload) => {
                let keys = self.by_workload.remove(workload).unwrap_or_default();
                self.arm_all(&keys, ctx);
            }
            Changed::AutoscalerChanged(key) => {
                let period = ctx.config.kube_controller_manager.horizontal_pod_autoscaler_sync_period;
                self.take_up(*key, ctx.now + period, ctx);
            }
            Changed::AutoscalerRemoved(key) => self.removed(*key, ctx),
            _ => {}
        }
    }

    fn fired(&mut self, Timer { key, .. }: Timer, ctx: &mut Ctx<'_, Self>) {
        self.sync(key, ctx);
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match tag {
            Tag::Scale(key) => self.was_scaled(key, answer, ctx),
            Tag::Status(key) => {
                // Lost to somebody else's write, or to an API server that is away: the next sync writes it.
                if answer.is_err() {
                    self.arm(key, ctx.now, ctx);
                }
                self.over(key, ctx);
            }
        }
    }
}
