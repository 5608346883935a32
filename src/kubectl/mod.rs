//! What operators do: kubectl's command lines, with kubectl's rules, printed lines and timing.
//!
//! Each line is a process of its own: it starts, reads what it needs, sends its requests one after the other (`drain`: side
//! by side), and ends with an exit status. It writes nothing but requests. Lines of one instant are typed into one shell:
//! each starts when the one before has ended, unless that was sent to the background.

mod autoscaler;
mod columns;
mod command_line;
mod custom;
mod drain_filters;
mod failure;
mod filter;
mod go_json;
mod goroutines;
mod json_patch;
mod json_path;
mod messages;
mod met;
pub(crate) mod objects;
mod output;
mod pattern;
mod pipeline;
mod printed;
mod printing;
mod process;
mod resource;
mod rollout_status;
mod runbook;
mod shell;
mod shown;
mod strategic;
mod three_way;
mod verb;
mod view;

use std::sync::Arc;

use crate::arena::{Id, Symbol, Table};
use crate::component::{
    Answer, ClientLimit, CommandEnd, Component, Config, Ctx, ErrorReason, EventDraft, InvolvedKind, Latencies, Message,
    ObjectRef, Program, Record, Reply, Request, SCENARIO, Start, Transcript, TypedCommand, reason, typed,
};
use crate::model::Object;
use crate::state::{Change, Changed, Store};
use crate::units::SimDuration;

use command_line::{Arguments, Grammar, Stop, Words};
pub use command_line::{
    CommandLine, CommandLineError, FieldSelector, Input, Selection, Source, Stage, commands, parse, placed_commands,
};
use delete::DeleteArgs;
pub use drain::DrainArgs;
use failure::Failure;
pub use label::MetadataPart;
pub(crate) use patch::{INPUT_FILE, patch_value};
pub use pipeline::{STANDARD_INPUT, hand_over};
pub use printing::{DryRun, Output, Printing};
pub use process::Process;
use process::{CommandPlan, Gone, Item, Step};
pub use resource::Kind;
pub use rollout::{RolloutArgs, RolloutVerb};
pub use runbook::{Runbook, RunbookLine, Written};
use shell::Shells;
pub use shell::{Place, ShellId, in_background, in_place};
#[cfg(feature = "bundles")]
pub(crate) use strategic::merge_strategically;
pub use three_way::{LAST_APPLIED, remembered};
use verb::{Scene, Verb, verbs};
use view::Clock;

// One line a verb, or several that are alike: `file::Arguments`, and how the commands are called in other places.
verbs! {
    apply::ApplyArgs => Apply
    create::CreateArgs => Create
    delete::DeleteArgs => Delete
    scale::ScaleArgs => Scale
    label::LabelArgs => Label
    taint::TaintArgs => Taint
    cordon::CordonArgs => Cordon
    drain::DrainArgs => Drain
    rollout::RolloutArgs => Rollout
    history::HistoryArgs => History
    set::SetImageArgs => SetImage
    setting::SetArgs => Set
    patch::PatchArgs => Patch
    replace::ReplaceArgs => Replace
    expose::ExposeArgs => Expose
    autoscale::AutoscaleArgs => Autoscale
    wait::WaitArgs => Wait
    get::GetArgs => Get
    edit::EditArgs => Edit
    certificate::CertificateArgs => Certificate
    unanswered::Unanswered => Unanswered
}

/// How often `replace --force` and `apply --force` look whether what they deleted is gone, and for how long.
const GONE_PERIOD: SimDuration = SimDuration::from_secs(1);
const GONE_TIMEOUT: SimDuration = SimDuration::from_secs(300);

/// What `--record` makes kubectl say.
///
/// # Source
/// cli-runtime, `RecordFlags.AddFlags`.
const RECORD: &str = "Flag --record has been deprecated, --record will be removed in the future";

/// The name of what the server is to name.
///
/// # Source
/// cli-runtime, `NamePrinter.PrintObj`.
const UNNAMED: &str = "<unknown>";

/// What kubectl waits for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// A line of the runbook is typed.
    Run(usize),
    /// A shell goes on to its next line.
    Next(ShellId),
    /// Its process has started.
    Begin(Id<Process>),
    /// A drain's cordon of its n-th node leaves its client.
    SendCordon(Id<Process>, u32),
    /// A drain's question for its node's pods leaves its client.
    List(Id<Process>),
    /// A drain's eviction of its n-th pod is due.
    Evict(Id<Process>, u32),
    /// A drain's n-th pod is to be read again before its next eviction.
    Reread(Id<Process>, u32),
    /// This reading leaves the drain's client.
    SendReread(Id<Process>, u32),
    /// The eviction of the n-th pod leaves the drain's client.
    Send(Id<Process>, u32),
    /// A drain's look at its n-th pod is due.
    Poll(Id<Process>, u32),
    /// The look leaves the drain's client.
    Look(Id<Process>, u32),
    /// The drain's timeout.
    Timeout(Id<Process>, u32),
    /// The timeout of the wait for what was deleted.
    WaitTimeout(Id<Process>),
    /// `wait` looks again.
    LookAgain(Id<Process>),
    /// A process goes on with what it has to do.
    GoOn(Id<Process>),
    /// The timeout of the n-th roll-out of `rollout status`.
    RolloutTimeout(Id<Process>, u32),
}

/// What an answer was for.
#[derive(Copy, Clone, Debug)]
pub enum Tag {
    /// What the command works on.
    Read(Id<Process>),
    /// The process's current step.
    Step(Id<Process>),
    /// The cordon of a drain's n-th node.
    Cordon(Id<Process>, u32),
    /// The pods of a drain's node.
    List(Id<Process>),
    /// The eviction of the n-th pod.
    Evict(Id<Process>, u32),
    /// The n-th pod, read again after its eviction was refused.
    Reread(Id<Process>, u32),
    /// A look at the n-th pod.
    Poll(Id<Process>, u32),
}

/// kubectl.
#[derive(Clone, Debug)]
pub struct Kubectl {
    runbook: Arc<Runbook>,
    shells: Shells,
    processes: Table<Process>,
    /// How many processes were started.
    started: u64,
    clock: Clock,
}

impl Kubectl {
    /// An operator with a runbook.
    #[must_use]
    pub fn new(runbook: Arc<Runbook>) -> Self {
        let clock = Clock(runbook.epoch_unix_nanos);
        Self { clock, runbook, shells: Shells::default(), processes: Table::new(), started: 0 }
    }

    /// What the command works on is known; without an API server nothing is.
    fn has_read(&mut self, id: Id<Process>, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match answer {
            Ok(_) => self.begin(id, ctx),
            Err(error) => {
                let Some(process) = self.processes.get_mut(id) else { return };
                process.failures.push(Failure::refusal(error, None));
                self.finish(id, ctx);
            }
        }
    }

    fn begin(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get(id) else { return };
        let line = Arc::clone(&process.line);
        let mut plan = CommandPlan::default();
        let version = ctx.config.version;
        let unserved = line.objects.iter().filter(|written| !written.is_served(version));
        unserved.for_each(|written| plan.fail(written.no_match()));
        let scene = Scene { line: &line, store: ctx.store, now: ctx.now, clock: self.clock, version };
        if line.printing.record {
            plan.warnings.push(RECORD.to_owned());
        }
        line.command.plan(&scene, &mut plan);
        let process = &mut self.processes[id];
        process.stderr.extend(plan.warnings);
        process.items.extend(plan.items);
        self.go_on(id, ctx);
    }

    /// The next of what the process has to do.
    fn go_on(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        while let Some(item) = process.items.pop_front() {
            match item {
                Item::Say(line) => process.print(line, None, ctx.store, self.clock),
                Item::Print(lines) => process.stdout.extend(lines),
                Item::Fail(failure) => process.failures.push(failure),
                Item::Call(mut step) => {
                    if std::mem::take(&mut step.is_paced) && process.line.printing.dry_run != DryRun::Client {
                        let leaves_at = process.client.reserve(ctx.now);
                        if leaves_at > ctx.now {
                            process.items.push_front(Item::Call(step));
                            ctx.arm(leaves_at, Timer::GoOn(id));
                            return;
                        }
                    }
                    let is_homeless = step.home.is_some_and(|home| !resource::has_namespace(home, ctx.store));
                    let request = match process.line.printing.dry_run {
                        _ if is_homeless => Request::Get,
                        DryRun::None => step.request.clone(),
                        DryRun::Client => Request::Get,
                        DryRun::Server => Request::DryRun(Box::new(step.request.clone())),
                    };
                    ctx.call(request, Tag::Step(id));
                    process.current = Some(*step);
                    return;
                }
                Item::Apply(index) => {
                    let Command::Apply(args) = &process.line.command else { continue };
                    let mut plan = CommandPlan::default();
                    let written = &process.line.objects[index];
                    match resource::of_another_namespace(written.object.metadata().namespace, args.namespace.as_deref())
                    {
                        Some(failure) => plan.fail(failure),
                        None => apply::plan_one(args, written, ctx.store, &mut plan),
                    }
                    process.stderr.append(&mut plan.warnings);
                    plan.items.into_iter().rev().for_each(|item| process.items.push_front(item));
                }
                Item::Watch(workload) => return self.watch_rollout(id, workload, ctx),
                Item::Wait => return self.begin_wait(id, ctx),
                Item::Drain(drain) => {
                    process.drain = Some(drain);
                    return self.cordon_next(id, ctx);
                }
                Item::AwaitGone(until) => {
                    let until = until.unwrap_or(ctx.now + GONE_TIMEOUT);
                    process.waits.retain(|gone| gone.is_there(ctx.store));
                    if !process.failures.is_empty() {
                        process.items.clear();
                    } else if !process.waits.is_empty() && ctx.now >= until {
                        process.failures.push(Failure::own("context deadline exceeded"));
                        process.items.clear();
                    } else if !process.waits.is_empty() {
                        process.items.push_front(Item::AwaitGone(Some(until)));
                        ctx.arm_in(GONE_PERIOD, Timer::GoOn(id));
                        return;
                    }
                }
            }
        }
        self.finish_when_gone(id, ctx);
    }

    fn step_answered(&mut self, id: Id<Process>, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        let Some(step) = process.current.take() else { return };
        let homeless = step.home.filter(|home| answer.is_ok() && !resource::has_namespace(*home, ctx.store));
        let homeless = homeless.map(|home| resource::not_found(resource::Kind::Namespace, home.as_str()));
        match homeless.as_ref().map_or(answer.as_ref(), Err) {
            Ok(reply) => {
                let line = match (reply, step.unchanged) {
                    (Reply::Unchanged, Some(unchanged)) => unchanged,
                    (Reply::Named(name), _) => step.line.replacen(UNNAMED, name.as_str(), 1),
                    _ => step.line,
                };
                if !line.is_empty() {
                    process.print(line, Some(&step.request), ctx.store, self.clock);
                }
                let is_done = process.line.printing.dry_run == DryRun::None;
                process.waits.extend(step.wait.filter(|_| is_done));
            }
            Err(error) if step.may_be_gone && error.reason == ErrorReason::NotFound => {}
            Err(error)
                if !step.otherwise.is_empty()
                    && matches!(
                        error.reason,
                        ErrorReason::Invalid | ErrorReason::Conflict | ErrorReason::AlreadyExists
                    ) =>
            {
                step.otherwise.into_iter().rev().for_each(|item| process.items.push_front(item));
            }
            Err(error) if let Some(failed) = &step.failed => {
                process.failures.push(Failure::own(format!("{failed}{}", error.message)));
            }
            Err(error) => {
                let source = step.source.as_ref().map(|(doing, file)| (*doing, &**file));
                process.failures.push(Failure::refusal(error, source));
            }
        }
        self.go_on(id, ctx);
    }

    /// Ends the process once all it deleted is gone; one that failed waits for nothing. One client asks for one object after the
    /// other, and watches those that are still there.
    ///
    /// # Source
    /// kubectl delete, `DeleteResult`; kubectl wait, `IsDeleted`.
    fn finish_when_gone(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        if !process.items.is_empty() || process.current.is_some() {
            return;
        }
        if !process.failures.is_empty() {
            process.waits.clear();
        }
        if let (Command::Delete(DeleteArgs { timeout: Some(timeout), .. }), None, false) =
            (&process.line.command, process.gives_up_at, process.waits.is_empty())
        {
            process.gives_up_at = Some(ctx.now + *timeout);
            ctx.arm_in(*timeout, Timer::WaitTimeout(id));
        }
        while let Some(first) = process.waits.first() {
            let asks_at = match process.asks_at {
                Some(asks_at) => asks_at,
                None => {
                    let asks_at = process.client.reserve(ctx.now);
                    if process.gives_up_at.is_some_and(|at| asks_at > at) {
                        let text =
                            "client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline";
                        process.failures.push(Failure::own(text));
                        break;
                    }
                    if asks_at > ctx.now {
                        ctx.arm(asks_at, Timer::GoOn(id));
                    } else if first.is_there(ctx.store) {
                        process.client.reserve(ctx.now);
                    }
                    *process.asks_at.insert(asks_at)
                }
            };
            if asks_at > ctx.now || first.is_there(ctx.store) {
                return;
            }
            process.waits.remove(0);
            process.asks_at = None;
        }
        self.finish(id, ctx);
    }

    /// What was deleted is still there: the wait is given up, and the first of it named.
    ///
    /// # Source
    /// kubectl wait, `IsDeleted` and `RunWaitContext`.
    fn wait_timed_out(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        let Some(first) = process.waits.first() else { return };
        let text = format!("timed out waiting for the condition on {}", first.subject(ctx.store));
        process.failures.push(Failure::own(text));
        self.finish(id, ctx);
    }

    /// Somebody types a line; its process starts.
    fn run(&mut self, line: Arc<RunbookLine>, typist: Option<(&'static str, u64)>, ctx: &mut Ctx<'_, Self>) {
        let text = Arc::clone(&line.text);
        let about = ObjectRef::named(InvolvedKind::Kubectl, Symbol::empty(), title(&text));
        let event = EventDraft::normal(reason::KUBECTL, about, typed(&text));
        ctx.record(Record::Event { component: typist.map_or(SCENARIO, |(by, _)| by), event });
        let id = self.processes.insert(Process::new(line, typist, ctx.now, self.started));
        self.started += 1;
        ctx.arm_in(start(&text, ctx), Timer::Begin(id));
    }

    fn finish(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(mut process) = self.processes.remove(id) else { return };
        let failed = failure::lines(&process.failures);
        if !failed.is_empty() {
            process.exit = 1;
        }
        // What it failed of, among warnings and lines about single objects.
        let is_fatal = |line: &&String| line.starts_with("error: ");
        let said = failed.first().or(process.stderr.iter().find(is_fatal)).or(process.stderr.first());
        let said = said.filter(|_| process.exit != 0).cloned();
        process.stderr.extend(failed);
        if self.pipes_on(&mut process, ctx) {
            return;
        }
        if let (Some(shell), Place::Foreground, None) = (process.line.shell, process.line.place, process.typist)
            && self.shells.ended(shell)
        {
            ctx.arm(ctx.now, Timer::Next(shell));
        }
        let command = Arc::clone(&process.line.text);
        if process.exit != 0 {
            let about = ObjectRef::named(InvolvedKind::Kubectl, Symbol::empty(), title(&command));
            let event = EventDraft::warning("CommandFailed", about, said.clone().unwrap_or_default());
            ctx.record(Record::Event { component: "kubectl", event });
        }
        if let Some((by, ticket)) = process.typist {
            ctx.notify(Message::Ended(CommandEnd { by, ticket, exit: process.exit, error: said }));
        }
        ctx.record(Record::Transcript(Transcript {
            at: process.at,
            order: process.order,
            done_at: Some(ctx.now),
            command,
            exit: Some(process.exit),
            stdout: process.stdout,
            stderr: process.stderr,
        }));
    }
}

/// How long the process of a line takes before its first call.
fn start(line: &str, ctx: &Ctx<'_, Kubectl>) -> SimDuration {
    let index = ctx.now.as_nanos() as u64;
    Latencies::draw(&ctx.config.latency.kubectl_start, ctx.streams, "kubectl-start", line, index)
}

/// A line as events name it: without the lines of a here-document.
fn title(text: &Arc<str>) -> Arc<str> {
    match text.split_once('\n') {
        Some((first, _)) => first.trim_end_matches('\\').trim_end().into(),
        None => Arc::clone(text),
    }
}

impl Component for Kubectl {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "kubectl";
    const PROGRAM: Program = Program::Kubectl;
    const CONTROLLERS: &'static [&'static str] = &[];

    fn reacts(&self, is_typed: bool) -> bool {
        is_typed || !self.runbook.lines.is_empty()
    }

    fn disturbs(timer: &Timer) -> bool {
        matches!(timer, Timer::Run(_) | Timer::Next(_))
    }

    /// A line does what it does because it was typed, and not because the one before it ended.
    fn begins_anew(timer: &Timer) -> bool {
        matches!(timer, Timer::Next(_))
    }

    fn words(timer: &Timer, _store: &Store) -> String {
        let words = match timer {
            Timer::Run(_) | Timer::Next(_) | Timer::Begin(_) => "a line is typed",
            Timer::Timeout(..) | Timer::WaitTimeout(_) | Timer::RolloutTimeout(..) => "a command gives up",
            Timer::SendCordon(..)
            | Timer::List(_)
            | Timer::Evict(..)
            | Timer::Reread(..)
            | Timer::SendReread(..)
            | Timer::Send(..)
            | Timer::Poll(..)
            | Timer::Look(..)
            | Timer::LookAgain(_)
            | Timer::GoOn(_) => "a command goes on",
        };
        words.to_owned()
    }

    fn clients(_config: &Config) -> Vec<ClientLimit> {
        Vec::new()
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodRemoved { .. }
                | Changed::NodeRemoved { .. }
                | Changed::WorkloadRemoved(_)
                | Changed::WorkloadUpdated(..)
                | Changed::NamespaceRemoved(_)
                | Changed::ClaimRemoved(_)
        )
    }

    fn started(&mut self, _start: Start, _ctx: &mut Ctx<'_, Self>) {}

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        if let Changed::WorkloadUpdated(workload, _) | Changed::WorkloadRemoved(workload) = change.what {
            let watches = |p: &Process| p.rollout == Some(workload);
            let watching: Vec<Id<Process>> =
                self.processes.iter().filter(|(_, p)| watches(p)).map(|(id, _)| id).collect();
            for id in watching {
                self.look_at_rollout(id, workload, ctx);
            }
        }
        let waiting: Vec<Id<Process>> =
            self.processes.iter().filter(|(_, p)| !p.waits.is_empty()).map(|(id, _)| id).collect();
        for id in waiting {
            self.finish_when_gone(id, ctx);
        }
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Run(line) => self.typed(line, ctx),
            Timer::Next(shell) => self.next_line(shell, ctx),
            Timer::Begin(id) => {
                let Some(process) = self.processes.get_mut(id) else { return };
                let Command::Refused(lines) = &process.line.command else {
                    return ctx.call(Request::Get, Tag::Read(id));
                };
                process.stderr.extend(lines.iter().cloned());
                process.exit = 1;
                self.finish(id, ctx);
            }
            Timer::SendCordon(id, index) => self.send_cordon(id, index, ctx),
            Timer::List(id) => ctx.call(Request::Get, Tag::List(id)),
            Timer::Evict(id, pod) => self.evict(id, pod, ctx),
            Timer::Reread(id, pod) => self.reread(id, pod, ctx),
            Timer::SendReread(id, pod) => ctx.call(Request::Get, Tag::Reread(id, pod)),
            Timer::Send(id, pod) => self.send(id, pod, ctx),
            Timer::Poll(id, pod) => self.poll(id, pod, ctx),
            Timer::Look(id, pod) => self.look(id, pod, ctx),
            Timer::WaitTimeout(id) => self.wait_timed_out(id, ctx),
            Timer::LookAgain(id) => self.look_again(id, ctx),
            Timer::GoOn(id) => self.go_on(id, ctx),
            Timer::RolloutTimeout(id, round) => self.rollout_timed_out(id, round, ctx),
            Timer::Timeout(id, node) => self.timed_out(id, node, ctx),
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match tag {
            Tag::Read(id) => self.has_read(id, answer, ctx),
            Tag::Step(id) => self.step_answered(id, answer, ctx),
            Tag::Cordon(id, node) => self.cordoned(id, node, answer, ctx),
            Tag::List(id) => self.listed(id, answer, ctx),
            Tag::Evict(id, pod) => self.evicted(id, pod, answer, ctx),
            Tag::Reread(id, pod) => self.evict(id, pod, ctx),
            Tag::Poll(id, pod) => self.polled(id, pod, answer, ctx),
        }
    }

    fn notified(&mut self, message: &Message, ctx: &mut Ctx<'_, Self>) {
        let Message::Typed(TypedCommand { by, ticket, line }) = message else { return };
        match parse(line) {
            Ok(CommandLine { command, printing, rest, .. }) => {
                let (objects, place) = (Vec::new(), Place::Background);
                let line = RunbookLine { text: Arc::clone(line), command, printing, objects, shell: None, place, rest };
                self.run(Arc::new(line), Some((*by, *ticket)), ctx);
            }
            Err(error) => {
                debug_assert!(false, "{by} types what is no command: {}", error.message);
                let error = Some(error.message);
                ctx.notify(Message::Ended(CommandEnd { by, ticket: *ticket, exit: 1, error }));
            }
        }
    }
}

#[cfg(test)]
mod tests;
