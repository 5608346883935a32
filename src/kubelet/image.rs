//! Images: what is on a node, and what is on its way.

use rustc_hash::{FxHashMap, FxHashSet};

use super::back_off::PullFailure;
use super::bound_pod::BoundPod;
use super::worker::{Launch, Worker};
use super::{settings, statuses};
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::engine::Distribution;
use crate::model::{Container, PullPolicy};
use crate::state::{CauseId, ContainerState, FaultId, NodeId, Pod, PodId, PodPhase};
use crate::units::{SimDuration, SimTime};

use super::Kubelets;

/// How long a pull takes that fails.
const FAILS_AFTER: SimDuration = SimDuration::from_secs(1);

/// What a pod's containers wait for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// All images are there at that time, the first that is pulled for the pod being this one.
    At(SimTime, Option<Symbol>),
    /// One cannot be had, as turns out at `at`; the pull begins at `begins`.
    Fails { image: Symbol, begins: SimTime, at: SimTime, how: PullFailure },
}

/// A pull that waits for its turn or is under way.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pull {
    pub(super) pod: PodId,
    image: Symbol,
    begins: SimTime,
    ends: SimTime,
    /// The registry does not give it.
    fails: bool,
}

/// Whether the Node object lists every image that is on the node: some, and not as many as it can list at most.
///
/// # Source
/// kubelet, `nodeStatusMaxImages`.
fn lists_all_images(node: NodeId, ctx: &Ctx<'_, Kubelets>) -> bool {
    const LISTED_MAX: usize = 50;
    ctx.store.node(node).is_some_and(|node| (1..LISTED_MAX).contains(&node.images.len()))
}

/// Images whose pulls fail.
#[derive(Copy, Clone, Debug)]
struct Failing {
    /// The fault that makes them fail; none if they failed when the run began.
    fault: Option<FaultId>,
    /// On which node; on all, if on none.
    node: Option<NodeId>,
    /// How their names begin (`*`), or which they are.
    images: Symbol,
    /// What the fault's beginning is known as; none if they failed when the run began.
    cause: CauseId,
}

/// Pulls in this run.
#[derive(Clone, Debug, Default)]
pub(super) struct Images {
    /// When an image is there, besides those the Node object lists.
    there_at: FxHashMap<(NodeId, Symbol), SimTime>,
    /// Pulls that have not ended, and some that have, in the order in which they were asked for.
    pulls: FxHashMap<NodeId, Vec<Pull>>,
    /// When each of the node's pullers is free; one if pulls are serial.
    free_at: FxHashMap<NodeId, Vec<SimTime>>,
    /// What each node may still ask its registries, and since when.
    allowance: FxHashMap<NodeId, (f64, SimTime)>,
    /// Images whose pulls fail.
    failing: Vec<Failing>,
    /// Images that the kubelet has deleted, though the Node object lists them or a pod has run them.
    deleted: FxHashSet<(NodeId, Symbol)>,
    /// When the machine before the present one of that name went, with all that was on it.
    replaced_at: FxHashMap<NodeId, SimTime>,
}

impl Images {
    /// What a pod needs for the images of what is started next: an init container, or the others that are not done, which ask for theirs one
    /// after the other. What is missing is pulled.
    ///
    /// # Source
    /// kubelet, `startContainer` and image manager: pulls are serial unless `maxParallelImagePulls` or `serializeImagePulls: false` says
    /// otherwise; a pod whose image is on its way waits for it. The policy Always asks the registry for an image that is there,
    /// too.
    ///
    /// # Differs
    /// Asking for an image that is there takes no time. Containers that are started together wait for the images of all. A pull that fails does so
    /// after a second; one that is under way when its registry fails goes on.
    ///
    /// Whether a pull fails, and how long it takes, is foreseen from what holds now. `again` are pulls that were foreseen before and have
    /// been taken back, as that has changed before they began.
    pub(super) fn need(
        &mut self,
        pod: BoundPod<'_>,
        (worker, launch): (&Worker, Launch),
        again: &[Pull],
        ctx: &Ctx<'_, Kubelets>,
    ) -> Need {
        let on = pod.node;
        let is_free = ctx.config.latency.image_pull == Distribution::Constant(SimDuration::ZERO);
        let is_never = |container: &Container| container.image_pull_policy == Some(PullPolicy::Never);
        if is_free && self.failing.is_empty() && !worker.started_next(&pod, launch).any(|(_, next)| is_never(next)) {
            return Need::At(ctx.now, None);
        }
        let (mut at, mut pulled) = (ctx.now, None);
        for (index, container) in worker.started_next(&pod, launch) {
            let image = container.image;
            let pulled_at = self.there_at.get(&(on, image)).copied();
            let is_pulled = pulled_at.is_some_and(|there_at| there_at <= ctx.now);
            let known = if is_pulled || self.is_present(pod.node, image, ctx) { Some(ctx.now) } else { pulled_at };
            if is_never(container) {
                if known.is_none_or(|there_at| there_at > at) && lists_all_images(on, ctx) {
                    return Need::Fails { image, begins: at, at, how: PullFailure::Never };
                }
                continue;
            }
            let is_asked = container.image_pull_policy == Some(PullPolicy::Always) || known.is_none();
            let is_under_way = known.is_some_and(|there_at| there_at > ctx.now);
            if is_asked && !is_under_way && self.fails(image, on).is_some() {
                let pull = self.pull((pod, image), at, FAILS_AFTER, true, ctx);
                return Need::Fails { image, begins: pull.begins, at: pull.ends, how: PullFailure::Refused };
            }
            let has_asked = || again.iter().any(|pull| (pull.pod, pull.image, pull.fails) == (pod.id, image, false));
            if known.is_none() && !has_asked() && !self.may_ask(on, at, ctx) {
                return Need::Fails { image, begins: at, at, how: PullFailure::TooMany };
            }
            let there_at = known.unwrap_or_else(|| {
                let takes = settings::pull_latency(&pod, index, ctx);
                let done = self.pull((pod, image), at, takes, false, ctx).ends;
                self.there_at.insert((on, image), done);
                pulled.get_or_insert(image);
                done
            });
            at = at.max(there_at);
        }
        Need::At(at, pulled)
    }

    /// Whether the image is on the node because the Node object lists it, or because a pod there has run it.
    fn is_present(&self, on: NodeId, image: Symbol, ctx: &Ctx<'_, Kubelets>) -> bool {
        let listed = ctx.store.node(on).map(|node| &node.images);
        let is_there = |names: &[Symbol]| names.contains(&image) && self.is_listed(on, names);
        if listed.is_some_and(|images| images.iter().any(|(names, _)| is_there(names))) {
            return true;
        }
        !self.deleted.contains(&(on, image))
            && BoundPod::all_on(on, ctx.store)
                .any(|pod| images_run(pod.object).any(|run| run == image) && self.is_of_this_machine(&pod, on))
    }

    /// Whether the pod has run on the present machine of that name, if it has.
    fn is_of_this_machine(&self, pod: &Pod, on: NodeId) -> bool {
        self.replaced_at.get(&on).is_none_or(|gone_at| pod.started_at.is_some_and(|at| at >= *gone_at))
    }

    /// Why pulls of the image fail on the node, if they do.
    pub(super) fn fails(&self, image: Symbol, on: NodeId) -> Option<CauseId> {
        let matches = |pattern: Symbol| match pattern.as_str().strip_suffix('*') {
            Some(beginning) => image.as_str().starts_with(beginning),
            None => image == pattern,
        };
        let failing = self.failing.iter().find(|f| f.node.is_none_or(|node| node == on) && matches(f.images));
        failing.map(|failing| failing.cause)
    }

    /// Pulls begin to fail on a node, or on all.
    pub(super) fn pulls_fail(&mut self, fault: FaultId, node: Option<NodeId>, images: Symbol, cause: CauseId) {
        self.failing.push(Failing { fault: Some(fault), node, images, cause });
    }

    /// A fault is over that made pulls fail.
    pub(super) fn pulls_work(&mut self, fault: FaultId) {
        self.failing.retain(|failing| failing.fault != Some(fault));
    }

    /// Nodes with pulls that may not have ended, in order.
    pub(super) fn pulling_nodes(&self) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = self.pulls.keys().copied().collect();
        nodes.sort_unstable_by_key(|node| node.index());
        nodes
    }

    /// Takes back the pulls of the node that have not begun.
    pub(super) fn take_back(&mut self, on: NodeId, now: SimTime) -> Vec<Pull> {
        let Some(pulls) = self.pulls.get_mut(&on) else { return Vec::new() };
        let (waiting, begun): (Vec<Pull>, Vec<Pull>) =
            pulls.drain(..).filter(|pull| pull.ends > now).partition(|pull| pull.begins > now);
        for pull in waiting.iter().filter(|pull| !pull.fails) {
            self.there_at.remove(&(on, pull.image));
        }
        if let Some(free_at) = self.free_at.get_mut(&on).filter(|_| !waiting.is_empty()) {
            *free_at = begun.iter().map(|pull| pull.ends).collect();
        }
        *pulls = begun;
        waiting
    }

    /// The machine is gone: what was on it, and pulls that failed on it, say nothing of one that comes in its place.
    pub(super) fn instance_gone(&mut self, node: NodeId, now: SimTime) {
        self.failing.retain(|failing| failing.node != Some(node));
        self.there_at.retain(|(on, _), _| *on != node);
        self.deleted.retain(|(on, _)| *on != node);
        self.replaced_at.insert(node, now);
    }

    /// A pod that has run is gone; its images stay.
    pub(super) fn keep_images_of(&mut self, pod: &Pod, now: SimTime) {
        let Some(on) = pod.node.filter(|on| self.is_of_this_machine(pod, *on)) else { return };
        for image in images_run(pod) {
            if !self.deleted.contains(&(on, image)) {
                self.there_at.entry((on, image)).or_insert(now);
            }
        }
    }

    /// Whether an image that the Node object lists under these names is still on the node.
    pub(super) fn is_listed(&self, node: NodeId, names: &[Symbol]) -> bool {
        names.first().is_none_or(|name| !self.deleted.contains(&(node, *name)))
    }

    /// Whether the node may ask a registry once more.
    ///
    /// # Source
    /// kubelet, `throttledImageService`: `registryBurst` at once, then `registryPullQPS` a second; no limit if that is 0.
    fn may_ask(&mut self, on: NodeId, at: SimTime, ctx: &Ctx<'_, Kubelets>) -> bool {
        let limits = &ctx.config.kubelet;
        let (rate, burst) = (limits.registry_pull_qps, limits.registry_burst as f64);
        if rate <= 0.0 {
            return true;
        }
        let pullers = self.free_at.get(&on).filter(|pullers| {
            limits.parallel_image_pulls_max.is_some_and(|limit| pullers.len() >= limit.max(1) as usize)
        });
        let at = pullers.and_then(|pullers| pullers.iter().min().copied()).map_or(at, |free_at| free_at.max(at));
        let (left, since) = self.allowance.entry(on).or_insert((burst, at));
        *left = (*left + at.saturating_since(*since).as_secs_f64() * rate).min(burst);
        *since = at.max(*since);
        let may = *left >= 1.0;
        if may {
            *left -= 1.0;
        }
        may
    }

    /// A pull that is asked for at `at`, and takes so long once it has begun.
    fn pull(
        &mut self,
        (pod, image): (BoundPod<'_>, Symbol),
        at: SimTime,
        takes: SimDuration,
        fails: bool,
        ctx: &Ctx<'_, Kubelets>,
    ) -> Pull {
        let begins = self.begin_of_pull(pod.node, at, takes, ctx.config.kubelet.parallel_image_pulls_max);
        let pull = Pull { pod: pod.id, image, begins, ends: begins + takes, fails };
        let pulls = self.pulls.entry(pod.node).or_default();
        pulls.retain(|pull| pull.ends > ctx.now);
        pulls.push(pull);
        pull
    }

    /// When a pull begins that is asked for at `at`.
    fn begin_of_pull(&mut self, on: NodeId, at: SimTime, takes: SimDuration, limit: Option<i32>) -> SimTime {
        let Some(limit) = limit else { return at };
        let pullers = self.free_at.entry(on).or_default();
        if pullers.len() < limit.max(1) as usize {
            pullers.push(at + takes);
            return at;
        }
        let Some(first) = pullers.iter_mut().min() else { return at };
        let begins = (*first).max(at);
        *first = begins + takes;
        begins
    }

    /// The kubelet's process ends, with its machine or alone: pulls under way are lost.
    ///
    /// # Source
    /// containerd, CRI: a pull ends with the connection of its client.
    pub(super) fn lose_pulls(&mut self, node: NodeId, now: SimTime) {
        self.free_at.remove(&node);
        self.allowance.remove(&node);
        self.pulls.remove(&node);
        self.there_at.retain(|(on, _), at| *on != node || *at <= now);
    }
}

/// Whether containers of the pod have run, so that their images were there.
fn has_run(pod: &Pod) -> bool {
    let has_begun =
        |state: ContainerState| matches!(state, ContainerState::Running { .. } | ContainerState::Terminated(_));
    let mut containers = pod.containers.iter();
    pod.phase == PodPhase::Running || containers.any(|status| status.restarts > 0 || has_begun(status.state))
}

/// The images that containers of the pod have run, which so were on its node.
fn images_run(pod: &Pod) -> impl Iterator<Item = Symbol> {
    let are_all = has_run(pod);
    let is_run = move |index: &usize| are_all || pod.init_containers.get(*index).is_some_and(statuses::has_run);
    let inits = pod.spec.init_containers.iter().enumerate().filter(move |(index, _)| is_run(index));
    let regular = pod.spec.containers.iter().filter(move |_| are_all);
    inits.map(|(_, container)| container).chain(regular).map(|container| container.image)
}

impl Worker {
    /// The containers of the pod that are started next, numbered from its first init container on.
    pub(super) fn started_next<'a>(
        &'a self,
        pod: &'a Pod,
        launch: Launch,
    ) -> impl Iterator<Item = (usize, &'a Container)> {
        let init = self.next_init(pod, launch);
        let inits = pod.spec.init_containers.len();
        let regular = statuses::undone(pod, statuses::known(Some(self), pod)).filter(move |_| init.is_none());
        init.into_iter().chain(regular.map(move |(index, container)| (inits + index, container)))
    }
}

impl Kubelets {
    /// Pulls begin to fail on a node, or on all, or no longer do.
    pub(super) fn pulls_changed(&mut self, node: Option<NodeId>, ctx: &mut Ctx<'_, Self>) {
        for node in node.map_or_else(|| self.images.pulling_nodes(), |node| vec![node]) {
            self.foresee_again(node, ctx);
        }
    }

    /// Images that some pod waits for in vain when the run begins cannot be had by others, either, and not later on.
    ///
    /// # Differs
    /// The registry may have been away for a moment; a dump does not say.
    pub(super) fn find_failing_pulls(&mut self, ctx: &Ctx<'_, Self>) {
        let is_failing =
            |state: ContainerState| matches!(state, ContainerState::ErrImagePull | ContainerState::ImagePullBackOff);
        for (_, pod) in ctx.store.pods().filter(|(_, pod)| pod.is_active() && pod.node.is_some()) {
            let init = pod.spec.init_containers.iter().zip(&pod.init_containers);
            for (container, status) in init.chain(pod.spec.containers.iter().zip(&pod.containers)) {
                let images = container.image;
                let is_known = self.images.failing.iter().any(|f| f.node.is_none() && f.images == images);
                if is_failing(status.state) && !is_known {
                    let failing = Failing { fault: None, node: None, images, cause: CauseId::NONE };
                    self.images.failing.push(failing);
                }
            }
        }
    }

    /// Deletes the images of the node that no pod there needs.
    ///
    /// # Source
    /// kubelet, `DeleteAllUnusedContainers` and `DeleteUnusedImages`.
    ///
    /// # Differs
    /// The Node object goes on listing them.
    pub(super) fn delete_unused_images(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        let Some(object) = ctx.store.node(node) else { return };
        let pods = || ctx.store.unfinished_pods_on(node).iter().filter_map(|pod| ctx.store.pod(*pod));
        let is_used = |names: &[Symbol]| {
            pods().any(|pod| {
                let mut containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
                containers.any(|container| names.contains(&container.image))
            })
        };
        for (names, _) in object.images.iter().filter(|(names, _)| !is_used(names)) {
            if let Some(name) = names.first() {
                self.images.deleted.insert((node, *name));
            }
        }
        // Containers of pods that have ended go first, and so need theirs no more.
        for pod in BoundPod::all_on(node, ctx.store).filter(|pod| pod.phase.is_terminal()) {
            let images = pod.spec.init_containers.iter().chain(&pod.spec.containers).map(|container| container.image);
            self.images.deleted.extend(images.filter(|image| !is_used(&[*image])).map(|image| (node, image)));
        }
        self.images.there_at.retain(|(on, image), _| *on != node || is_used(&[*image]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Store;

    /// Three pulls of ten seconds asked for at once.
    fn check(limit: Option<i32>, expected_s: [i64; 3]) {
        let node = Store::default().node_slot(Symbol::new("n"));
        let mut images = Images::default();
        let begins = [(); 3].map(|()| images.begin_of_pull(node, SimTime::ZERO, SimDuration::from_secs(10), limit));
        assert_eq!(begins, expected_s.map(SimTime::from_secs), "{limit:?}");
    }

    #[test]
    fn pulls_wait_for_a_free_puller() {
        check(Some(1), [0, 10, 20]);
        check(Some(2), [0, 0, 10]);
        check(None, [0, 0, 0]);
    }
}
