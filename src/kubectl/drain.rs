//! `kubectl drain`: cordon, filter, evict, wait.

use std::sync::Arc;

use super::command_line::{Arguments, NODES, Selection, Stop, Words, check_nodes, error, timeout};
use super::drain_filters::{filter, is_long_overdue};
use super::failure::{Failure, aggregated};
use super::printing::DryRun;
use super::process::CLIENT_LIMIT;
use super::resource::{Found, find};
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Item, Kubectl, Process, Tag, Timer, cordon, failure, goroutines};
use crate::arena::{Id, Symbol};
use crate::component::{Answer, ApiError, Ctx, DeleteOptions, ErrorReason, Request, TokenBucket};
use crate::engine::Stream;
use crate::model::LabelSelector;
use crate::state::{DeletionCause, NodeId, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// Arguments of `drain`.
#[derive(Clone, Debug)]
pub struct DrainArgs {
    /// Which nodes.
    pub selection: Selection,
    /// `--force`.
    pub force: bool,
    /// `--ignore-daemonsets`.
    pub ignore_daemon_sets: bool,
    /// `--delete-emptydir-data`.
    pub delete_empty_dir_data: bool,
    /// `--grace-period`, if not negative.
    pub grace_s: Option<i64>,
    /// `--timeout` per node; none waits for ever.
    pub timeout: Option<SimDuration>,
    /// `--pod-selector`.
    pub pod_selector: Option<LabelSelector>,
    /// `--disable-eviction`.
    pub disable_eviction: bool,
    /// `--skip-wait-for-delete-timeout` in seconds; 0 never skips.
    pub skip_wait_s: i64,
    /// `--dry-run`.
    pub dry_run: DryRun,
}

impl Verb for DrainArgs {
    const COMMANDS: &'static [Words] = &[(
        "drain",
        &[
            NODES,
            "chunk-size= delete-emptydir-data! disable-eviction! force! grace-period= ignore-daemonsets! pod-selector= \
                 skip-wait-for-delete-timeout= timeout=",
        ],
    )];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        check_nodes(arguments)?;
        let pod_selector = arguments.text("pod-selector").map(|text| {
            let message = format!("--pod-selector={text} must be a valid label selector");
            LabelSelector::parse(text).map_err(|_| error(text, message))
        });
        Ok(Self {
            pod_selector: pod_selector.transpose()?,
            force: arguments.switch("force", false)?,
            ignore_daemon_sets: arguments.switch("ignore-daemonsets", false)?,
            delete_empty_dir_data: arguments.switch("delete-emptydir-data", false)?,
            grace_s: arguments.number::<i64>("grace-period")?.filter(|s| *s >= 0),
            timeout: timeout(arguments)?,
            disable_eviction: arguments.switch("disable-eviction", false)?,
            skip_wait_s: arguments.number("skip-wait-for-delete-timeout")?.unwrap_or(0),
            dry_run: arguments.printing.dry_run,
            selection: arguments.nodes()?,
        })
    }

    works_on_selection!(of_words);

    fn plan(&self, scene: &Scene<'_>, out: &mut CommandPlan) {
        match targets(self, scene.store) {
            Ok(nodes) => out.items.push(Item::Drain(Box::new(Drain::new(self.clone(), nodes)))),
            Err(failure) => out.fail(failure),
        }
    }
}

/// Pause after a refused eviction.
const RETRY: SimDuration = SimDuration::from_secs(5);

/// How often a client repeats a request that a server answers with a time to wait.
const REPEATS_MAX: u32 = 10;

/// Pause between two looks at a pod that is going.
const POLL: SimDuration = SimDuration::from_secs(1);

/// How much sooner than a write a read that leaves with it is served: it waits for no commit. So a pod that leaves the API
/// just a second after its eviction is still there at the second look. A server whose calls take no time is no sooner with reads.
const READ_AHEAD: SimDuration = SimDuration::from_millis(4);

/// Within this time the server gets to requests that leave a client together, in any order; within two calls' ways if those are
/// shorter: a server whose calls take no time gets to all at once, as one does whose time stands still for its clients.
const SCATTER: SimDuration = SimDuration::from_millis(20);

/// Why nothing is waited for any longer.
const TIMED_OUT: &str = "context deadline exceeded";

/// A drain in progress.
#[derive(Clone, Debug)]
pub(super) struct Drain {
    args: DrainArgs,
    nodes: Vec<NodeId>,
    /// The node being drained, or cordoned before that.
    current: usize,
    cordoning: bool,
    /// The current node's pods are being asked for.
    is_listing: bool,
    /// Raised at each node: timers of an earlier one are void.
    round: u32,
    began_at: SimTime,
    /// Pods of all nodes so far: an answer that comes late finds the pod it is about.
    tasks: Vec<Task>,
    /// Where the current node's pods begin in `tasks`.
    first: usize,
    /// What the current node could not be drained for, in the order in which it turned out.
    errors: Vec<String>,
    /// The whims of the current node's goroutines.
    whims: Option<Stream>,
    /// Nodes that could not be drained, with what is printed about them at the end.
    failed: Vec<(NodeId, Vec<String>)>,
    policy: TokenBucket,
    core: TokenBucket,
}

/// One pod that has to go.
#[derive(Clone, Debug)]
struct Task {
    pod: PodId,
    namespace: Symbol,
    name: Arc<str>,
    state: State,
    /// When the last look was due; none before the first.
    looked_at: Option<SimTime>,
    /// How often in a row the server has asked for patience.
    repeats: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Evicting,
    Leaving,
    Done,
    Failed,
}

/// The nodes of the command.
fn targets(args: &DrainArgs, store: &Store) -> Result<Vec<NodeId>, Failure> {
    let found = find(&args.selection, store).into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().filter_map(|object| if let Found::Node(node) = object { Some(node) } else { None }).collect())
}

impl Drain {
    fn new(args: DrainArgs, nodes: Vec<NodeId>) -> Self {
        let bucket = || TokenBucket::new(CLIENT_LIMIT);
        Self {
            args,
            nodes,
            current: 0,
            cordoning: true,
            is_listing: false,
            round: 0,
            began_at: SimTime::ZERO,
            tasks: Vec::new(),
            first: 0,
            errors: Vec::new(),
            whims: None,
            failed: Vec::new(),
            policy: bucket(),
            core: bucket(),
        }
    }

    fn suffix(&self) -> &'static str {
        match self.args.dry_run {
            DryRun::None => "",
            DryRun::Client => " (dry run)",
            DryRun::Server => " (server dry run)",
        }
    }
}

impl Kubectl {
    fn drain_of(&mut self, id: Id<Process>) -> Option<(&mut Process, Box<Drain>)> {
        let process = self.processes.get_mut(id)?;
        let drain = process.drain.take()?;
        Some((process, drain))
    }

    /// Cordons the next node; when all are, drains the first.
    pub(super) fn cordon_next(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        while let Some(&node) = drain.nodes.get(drain.current) {
            let name = ctx.store.node_name(node);
            let is_so = ctx.store.node(node).is_some_and(|n| n.unschedulable);
            if is_so || drain.args.dry_run != DryRun::None {
                let line = cordon::line(name.as_str(), true, is_so);
                process.stdout.push(format!("{line}{}", drain.suffix()));
                drain.current += 1;
                continue;
            }
            let (leaves_at, index) = (drain.core.reserve(ctx.now), drain.current as u32);
            process.drain = Some(drain);
            if leaves_at > ctx.now {
                ctx.arm(leaves_at, Timer::SendCordon(id, index));
            } else {
                self.send_cordon(id, index, ctx);
            }
            return;
        }
        drain.current = 0;
        drain.cordoning = false;
        process.drain = Some(drain);
        self.drain_node(id, ctx);
    }

    pub(super) fn send_cordon(&mut self, id: Id<Process>, index: u32, ctx: &mut Ctx<'_, Self>) {
        let drain = self.processes.get(id).and_then(|process| process.drain.as_ref());
        if let Some(&node) = drain.and_then(|drain| drain.nodes.get(index as usize)) {
            ctx.call(Request::SetNodeUnschedulable { node, unschedulable: true }, Tag::Cordon(id, index));
        }
    }

    pub(super) fn cordoned(&mut self, id: Id<Process>, index: u32, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let name = ctx.store.node_name(drain.nodes[index as usize]);
        match answer {
            Ok(_) => process.stdout.push(cordon::line(name.as_str(), true, false)),
            Err(error) => {
                process.stderr.push(format!("error: unable to cordon node \"{name}\": {}", error.message));
            }
        }
        drain.current = index as usize + 1;
        process.drain = Some(drain);
        self.cordon_next(id, ctx);
    }

    /// Asks for the current node's pods.
    fn drain_node(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        if drain.current >= drain.nodes.len() {
            end(process, &drain, ctx);
            process.drain = Some(drain);
            self.finish(id, ctx);
            return;
        }
        // Until the pods are known, the answers that are still on their way are those of the node before.
        drain.first = drain.tasks.len();
        drain.errors.clear();
        drain.round += 1;
        drain.is_listing = true;
        let leaves_at = drain.core.reserve(ctx.now);
        process.drain = Some(drain);
        if leaves_at > ctx.now {
            ctx.arm(leaves_at, Timer::List(id));
        } else {
            ctx.call(Request::Get, Tag::List(id));
        }
    }

    /// The current node's pods are known, or cannot be.
    pub(super) fn listed(&mut self, id: Id<Process>, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        drain.is_listing = false;
        if let Err(error) = answer {
            let node = drain.nodes[drain.current];
            fail_node(process, &mut drain, node, vec![refusal(error)], ctx);
            process.drain = Some(drain);
            self.drain_node(id, ctx);
            return;
        }
        process.drain = Some(drain);
        self.evict_pods(id, ctx);
    }

    /// Looks at the current node's pods and begins to evict them.
    fn evict_pods(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let node = drain.nodes[drain.current];
        drain.began_at = ctx.now;
        let entity = format!("{} {} {}", process.line.text, process.at, ctx.store.node_name(node));
        // kubectl keeps these texts in a map, whose order differs from run to run.
        let mut order = ctx.streams.stream("kubectl-text-order", &entity);
        let listed = filter(node, &drain.args, ctx);
        if !listed.refusals.is_empty() {
            let mut lines = listed.refusals();
            order.shuffle(&mut lines);
            fail_node(process, &mut drain, node, lines, ctx);
            process.drain = Some(drain);
            self.drain_node(id, ctx);
            return;
        }
        if !listed.warnings.is_empty() {
            let texts = listed.warnings.iter().map(|(text, pods)| format!("{text}: {}", pods.join(", ")));
            let mut texts: Vec<String> = texts.collect();
            order.shuffle(&mut texts);
            process.stderr.push(format!("Warning: {}", texts.join("; ")));
        }
        drain.tasks.extend(listed.pods.into_iter().map(|(pod, namespace, name)| Task {
            pod,
            namespace,
            name,
            state: State::Evicting,
            looked_at: None,
            repeats: 0,
        }));
        // Of deletions the wait alone is timed.
        if let Some(timeout) = drain.args.timeout.filter(|_| !drain.args.disable_eviction) {
            ctx.arm_in(timeout, Timer::Timeout(id, drain.round));
        }
        let first = drain.first;
        let count = drain.tasks.len() - first;
        if drain.args.dry_run == DryRun::Client {
            for task in &mut drain.tasks[first..] {
                process.stdout.push(format!("evicting pod {}/{} (dry run)", task.namespace, task.name));
                task.state = State::Done;
            }
            process.drain = Some(drain);
            self.check_node(id, ctx);
            return;
        }
        // Deletions go out one after the other, evictions side by side.
        let mut whims = ctx.streams.stream("kubectl-goroutines", &entity);
        let at_once = match drain.args.disable_eviction {
            true => (0..count).take(1).collect(),
            false => goroutines::order(count, &mut whims),
        };
        drain.whims = Some(whims);
        process.drain = Some(drain);
        for place in at_once {
            self.evict(id, (first + place) as u32, ctx);
        }
        self.check_node(id, ctx);
    }

    /// Announces the eviction of one pod, or its deletion; it leaves when the process's own clients let it.
    pub(super) fn evict(&mut self, id: Id<Process>, index: u32, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let timed_out = drain.args.timeout.is_some_and(|t| ctx.now > drain.began_at + t);
        let (timeout, suffix) = (drain.args.timeout, drain.suffix());
        let Some(task) = drain.tasks.get_mut(index as usize) else {
            process.drain = Some(drain);
            return;
        };
        if !drain.args.disable_eviction {
            process.stdout.push(format!("evicting pod {}/{}{suffix}", task.namespace, task.name));
        }
        if timed_out && let Some(timeout) = timeout {
            task.state = State::Failed;
            drain.errors.push(format!(
                "error when evicting pods/\"{}\" -n \"{}\": global timeout reached: {timeout}",
                task.name, task.namespace
            ));
            process.drain = Some(drain);
            self.check_node(id, ctx);
            return;
        }
        let leaves_at = if drain.args.disable_eviction {
            drain.core.reserve(ctx.now)
        } else {
            let within = SCATTER.min(ctx.config.round_trip * 2);
            let scatter = drain.whims.as_mut().map_or(0.0, Stream::unit) * within.as_secs_f64();
            drain.policy.reserve(ctx.now) + SimDuration::from_secs_f64(scatter)
        };
        process.drain = Some(drain);
        if leaves_at > ctx.now {
            ctx.arm(leaves_at, Timer::Send(id, index));
        } else {
            self.send(id, index, ctx);
        }
    }

    /// The pod of a refused eviction is to be read again; whatever comes of it, the next try follows.
    pub(super) fn reread(&mut self, id: Id<Process>, index: u32, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let leaves_at = drain.core.reserve(ctx.now);
        process.drain = Some(drain);
        if leaves_at > ctx.now {
            ctx.arm(leaves_at, Timer::SendReread(id, index));
        } else {
            ctx.call(Request::Get, Tag::Reread(id, index));
        }
    }

    /// Sends the eviction of one pod, or its deletion.
    pub(super) fn send(&mut self, id: Id<Process>, index: u32, ctx: &mut Ctx<'_, Self>) {
        let Some(drain) = self.processes.get(id).and_then(|process| process.drain.as_ref()) else { return };
        let pod = drain.tasks[index as usize].pod;
        let request = if drain.args.disable_eviction {
            let options = DeleteOptions { grace_s: drain.args.grace_s, uid: None };
            Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }
        } else {
            let dry_run = drain.args.dry_run == DryRun::Server;
            Request::EvictPod { pod, grace_s: drain.args.grace_s, dry_run }
        };
        ctx.call(request, Tag::Evict(id, index));
    }

    pub(super) fn evicted(&mut self, id: Id<Process>, index: u32, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        if drain.args.disable_eviction {
            process.drain = Some(drain);
            self.deleted(id, index, answer, ctx);
            return;
        }
        let is_dry = drain.args.dry_run == DryRun::Server;
        let task = &mut drain.tasks[index as usize];
        match answer {
            Ok(_) if is_dry => task.state = State::Done,
            Ok(_) => {
                task.state = State::Leaving;
                ctx.arm(ctx.now, Timer::Poll(id, index));
            }
            Err(error) if error.reason == ErrorReason::NotFound => task.state = State::Done,
            Err(error) if error.retry_after.is_some() && task.repeats < REPEATS_MAX => {
                // A server that asks for patience is asked again by the client itself, unseen.
                task.repeats += 1;
                ctx.arm_in(error.retry_after.unwrap_or(RETRY), Timer::Send(id, index));
            }
            Err(error) if error.reason == ErrorReason::TooManyRequests => {
                task.repeats = 0;
                process.stderr.push(format!(
                    "error when evicting pods/\"{}\" -n \"{}\" (will retry after 5s): {}",
                    task.name, task.namespace, error.message
                ));
                retry(id, index, ctx);
            }
            Err(error) if error.is_of_terminating_namespace() => {
                let is_leaving = ctx.store.pod(task.pod).is_none_or(|pod| pod.deletion.is_some());
                if is_leaving {
                    task.state = State::Leaving;
                    ctx.arm(ctx.now, Timer::Poll(id, index));
                } else {
                    // Nothing can be evicted there; the namespace controller will delete the pod.
                    process.stderr.push(format!(
                        "error when evicting pod \"{}\" from terminating namespace \"{}\" (will retry after 5s): {}",
                        task.name, task.namespace, error.message
                    ));
                    retry(id, index, ctx);
                }
            }
            Err(error) => {
                task.state = State::Failed;
                drain.errors.push(format!(
                    "error when evicting pods/\"{}\" -n \"{}\": {}",
                    task.name, task.namespace, error.message
                ));
            }
        }
        process.drain = Some(drain);
        self.check_node(id, ctx);
    }

    /// One pod was deleted without asking its budget: the next one follows; after the last begins the common wait.
    ///
    /// # Source
    /// kubectl, `deletePods`: the first error other than 404 ends it; then one loop looks at all pods every second.
    fn deleted(&mut self, id: Id<Process>, index: u32, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let (done, rest) = drain.tasks.split_at_mut(index as usize + 1);
        let Some(task) = done.last_mut() else { return };
        match answer {
            Ok(_) => task.state = State::Leaving,
            Err(error) if error.reason == ErrorReason::NotFound => task.state = State::Leaving,
            Err(error) => {
                task.state = State::Failed;
                drain.errors.push(refusal(error));
                for task in done.iter_mut().chain(rest).filter(|t| matches!(t.state, State::Evicting | State::Leaving))
                {
                    task.state = State::Done;
                }
                process.drain = Some(drain);
                self.check_node(id, ctx);
                return;
            }
        }
        let (is_last, first) = (rest.is_empty(), drain.first as u32);
        if let Some(timeout) = drain.args.timeout.filter(|_| is_last) {
            ctx.arm_in(timeout, Timer::Timeout(id, drain.round));
        }
        process.drain = Some(drain);
        if is_last {
            self.poll(id, first, ctx);
        } else {
            self.evict(id, index + 1, ctx);
        }
    }

    /// After the look at one pod of the common wait: the next one, or the next round a second after this one began.
    fn looked(&mut self, id: Id<Process>, index: u32, ctx: &mut Ctx<'_, Self>) {
        let Some(drain) = self.processes.get(id).and_then(|process| process.drain.as_ref()) else { return };
        let is_leaving = |i: &usize| drain.tasks[*i].state == State::Leaving;
        let (first, count) = (drain.first, drain.tasks.len());
        if let Some(next) = (index as usize + 1..count).find(is_leaving) {
            self.poll(id, next as u32, ctx);
        } else if let Some(next) = (first..count).find(is_leaving) {
            let began_at = drain.tasks[first].looked_at.unwrap_or(ctx.now);
            ctx.arm(ctx.now.max(began_at + POLL), Timer::Poll(id, next as u32));
        }
    }

    /// A look at a pod is due; it leaves when the process's own client lets it.
    pub(super) fn poll(&mut self, id: Id<Process>, index: u32, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let (first, index_of) = (drain.first, index as usize);
        // One that was given up, perhaps with its whole node, is not looked at any more.
        if index_of < first || drain.tasks[index_of].state != State::Leaving {
            process.drain = Some(drain);
            return;
        }
        // The common wait has one beat, that of its first look.
        let is_round = !drain.tasks[first..index_of].iter().any(|t| t.state == State::Leaving);
        let beat = if drain.args.disable_eviction { is_round.then_some(first) } else { Some(index_of) };
        if let Some(looked_at) = beat.map(|task| &mut drain.tasks[task].looked_at) {
            *looked_at = Some(looked_at.map_or(ctx.now - READ_AHEAD.min(ctx.config.round_trip), |_| ctx.now));
        }
        let leaves_at = drain.core.reserve(ctx.now);
        process.drain = Some(drain);
        if leaves_at > ctx.now {
            ctx.arm(leaves_at, Timer::Look(id, index));
        } else {
            self.look(id, index, ctx);
        }
    }

    /// Looks whether a pod is gone.
    pub(super) fn look(&mut self, id: Id<Process>, index: u32, ctx: &mut Ctx<'_, Self>) {
        let Some(drain) = self.processes.get(id).and_then(|process| process.drain.as_ref()) else { return };
        let task = &drain.tasks[index as usize];
        if task.state == State::Leaving {
            ctx.call(Request::GetPod { pod: task.pod }, Tag::Poll(id, index));
        }
    }

    pub(super) fn polled(&mut self, id: Id<Process>, index: u32, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let done = if drain.args.disable_eviction { "deleted" } else { "evicted" };
        let task = &mut drain.tasks[index as usize];
        if task.state == State::Leaving {
            let pod = ctx.store.pod(task.pod);
            if let Err(error) = answer
                && error.reason != ErrorReason::NotFound
            {
                let error = error.clone();
                process.drain = Some(drain);
                self.look_failed(id, index, &error, ctx);
                return;
            }
            if answer.is_err() {
                task.state = State::Done;
                process.stdout.push(format!("pod/{} {done}", task.name));
            } else if pod.is_some_and(|pod| is_long_overdue(pod, &drain.args, ctx.now)) {
                task.state = State::Done;
                let seconds = drain.args.skip_wait_s;
                process.stdout.push(format!(
                    "pod \"{}\" has DeletionTimestamp older than {seconds} seconds, skipping",
                    task.name
                ));
            } else if !drain.args.disable_eviction
                && drain.args.timeout.is_some_and(|timeout| ctx.now >= drain.began_at + timeout)
            {
                // It was evicted when the time was over already: there was this one look.
                task.state = State::Failed;
                let error = waiting_failed(task, TIMED_OUT);
                drain.errors.push(error);
            } else if !drain.args.disable_eviction {
                // A look that was held back beyond the next beat is followed by another at once.
                let looked_at = task.looked_at.unwrap_or(ctx.now);
                ctx.arm(ctx.now.max(looked_at + POLL), Timer::Poll(id, index));
            }
        }
        let is_common = drain.args.disable_eviction;
        process.drain = Some(drain);
        if is_common {
            self.looked(id, index, ctx);
        }
        self.check_node(id, ctx);
    }

    /// A pod could not be looked at: nobody waits for it any more, nor for those that are waited for together with it.
    fn look_failed(&mut self, id: Id<Process>, index: u32, error: &ApiError, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let is_common = drain.args.disable_eviction;
        let what = if is_common { "deletion failed" } else { "eviction failed" };
        let task = &mut drain.tasks[index as usize];
        process.stdout.push(format!("pod/{} {what}", task.name));
        let why = refusal(error);
        task.state = State::Failed;
        drain.errors.push(if is_common { why } else { waiting_failed(task, &why) });
        if is_common {
            for task in drain.tasks.iter_mut().filter(|task| task.state == State::Leaving) {
                task.state = State::Done;
            }
        }
        process.drain = Some(drain);
        self.check_node(id, ctx);
    }

    /// The node's timeout: pods that were evicted and are still there are given up.
    pub(super) fn timed_out(&mut self, id: Id<Process>, round: u32, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        if drain.round == round {
            let mut errors = Vec::new();
            for task in drain.tasks.iter_mut().filter(|t| t.state == State::Leaving) {
                task.state = State::Failed;
                errors.push(if drain.args.disable_eviction {
                    TIMED_OUT.to_owned()
                } else {
                    waiting_failed(task, TIMED_OUT)
                });
            }
            errors.truncate(if drain.args.disable_eviction { 1 } else { usize::MAX });
            // All goroutines wake at once.
            drain.whims.iter_mut().for_each(|whims| whims.shuffle(&mut errors));
            drain.errors.extend(errors);
        }
        process.drain = Some(drain);
        self.check_node(id, ctx);
    }

    /// Goes on to the next node once every pod of this one is done or given up.
    fn check_node(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some((process, mut drain)) = self.drain_of(id) else { return };
        let open = drain.tasks.iter().any(|t| matches!(t.state, State::Evicting | State::Leaving));
        if drain.cordoning || drain.is_listing || open || drain.current >= drain.nodes.len() {
            process.drain = Some(drain);
            return;
        }
        let node = drain.nodes[drain.current];
        let failures = std::mem::take(&mut drain.errors);
        if failures.is_empty() {
            process.stdout.push(format!("node/{} drained{}", ctx.store.node_name(node), drain.suffix()));
            drain.current += 1;
        } else {
            let name = ctx.store.node_name(node);
            let joined = aggregated(&failures);
            // The node's pods are listed and judged once more.
            let pending = filter(node, &drain.args, ctx);
            if !pending.pods.is_empty() {
                let text = format!("There are pending pods in node \"{name}\" when an error occurred: {joined}");
                process.stderr.push(text);
                process.stderr.extend(pending.pods.iter().map(|(.., name)| format!("pod/{name}")));
            }
            if !pending.refusals.is_empty() {
                process.stderr.push("Following errors occurred while getting the list of pods to delete:".to_owned());
                process.stderr.push(aggregated(&pending.refusals()));
            }
            fail_node(process, &mut drain, node, failures, ctx);
        }
        process.drain = Some(drain);
        self.drain_node(id, ctx);
    }
}

fn waiting_failed(task: &Task, why: &str) -> String {
    format!("error when waiting for pod \"{}\" in namespace \"{}\" to terminate: {why}", task.name, task.namespace)
}

/// An error of the server as it stands within others.
fn refusal(error: &ApiError) -> String {
    failure::lines(&[Failure::refusal(error, None)]).concat()
}

fn fail_node(process: &mut Process, drain: &mut Drain, node: NodeId, errors: Vec<String>, ctx: &Ctx<'_, Kubectl>) {
    let name = ctx.store.node_name(node);
    process.stderr.push(format!(
        "error: unable to drain node \"{name}\" due to error: {}, continuing command...",
        aggregated(&errors)
    ));
    process.exit = 1;
    drain.failed.push((node, errors));
    drain.current += 1;
}

/// What is printed after the last node.
fn end(process: &mut Process, drain: &Drain, ctx: &Ctx<'_, Kubectl>) {
    if drain.failed.is_empty() {
        return;
    }
    process.stderr.push("There are pending nodes to be drained:".to_owned());
    process.stderr.extend(drain.failed.iter().map(|(node, _)| format!(" {}", ctx.store.node_name(*node))));
    match drain.failed.as_slice() {
        [(_, errors)] => process.stderr.extend(errors.iter().cloned()),
        // Those of one node are one line, once there are several.
        failed => process.stderr.extend(failed.iter().map(|(_, errors)| aggregated(errors))),
    }
}

/// Tries an eviction again after a while; since 1.35 the pod is read again before.
fn retry(id: Id<Process>, index: u32, ctx: &mut Ctx<'_, Kubectl>) {
    let rereads = ctx.config.version.at_least(35);
    ctx.arm_in(RETRY, if rereads { Timer::Reread(id, index) } else { Timer::Evict(id, index) });
}
