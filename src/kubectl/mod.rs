//! What operators do: kubectl's command lines, with kubectl's rules, printed lines and timing.
//!
//! Each line is a process of its own: it starts, reads what it needs, sends its requests one after the other (`drain`: side
//! by side), and ends with an exit status. It writes nothing but requests.

mod apply;
mod command_line;
mod cordon;
mod delete;
mod drain;
mod label;
mod patch;
mod resource;
mod rollout;
mod rollout_status;
mod scale;
mod set;
mod taint;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::arena::{Id, Table};
use crate::component::{
    Answer, ClientLimit, CommandEnd, Component, Config, Ctx, EventDraft, Message, ObjectRef, Record, Reply, Request,
    Start, Transcript, TypedCommand,
};
use crate::model::Object;
use crate::state::{
    Change, Changed, ControlPlaneProcess, NamespaceId, NodeId, PersistentVolumeClaimId, PodId, WorkloadId,
};
use crate::units::{SimDuration, SimTime};

use command_line::RolloutVerb;
pub use command_line::{Command, CommandLineError, parse};
use drain::Drain;

/// A line of the runbook, parsed, with the objects of its files.
#[derive(Clone, Debug)]
pub struct RunbookLine {
    /// The line as it was written, without `kubectl`.
    pub text: Arc<str>,
    /// What it means.
    pub command: Command,
    /// The objects of `-f`, in file order.
    pub objects: Vec<Object>,
}

/// All lines of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Runbook {
    /// In file order.
    pub lines: Vec<Arc<RunbookLine>>,
}

/// How long a kubectl process takes before its first request.
const START: SimDuration = SimDuration::from_millis(70);

/// What kubectl waits for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// A line of the runbook is typed.
    Run(usize),
    /// Its process has started.
    Begin(Id<Process>),
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
    /// The timeout of `rollout status`.
    RolloutTimeout(Id<Process>),
}

/// What an answer was for.
#[derive(Copy, Clone, Debug)]
pub enum Tag {
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

/// One request with the line it prints.
#[derive(Clone, Debug)]
struct Step {
    request: Request,
    /// Printed when it succeeds.
    line: String,
    /// Printed instead when nothing had to change.
    unchanged: Option<String>,
    /// The resource of an error message.
    subject: String,
    /// What has to be gone before the process ends.
    wait: Option<Gone>,
}

/// An object that has to be gone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Gone {
    Pod(PodId),
    Node(NodeId),
    Workload(WorkloadId),
    Namespace(NamespaceId),
    Claim(PersistentVolumeClaimId),
}

/// A running kubectl.
#[derive(Clone, Debug)]
pub struct Process {
    line: Arc<RunbookLine>,
    /// The program that typed it, and its ticket; none for the scenario's own lines.
    typist: Option<(&'static str, u64)>,
    at: SimTime,
    steps: VecDeque<Step>,
    current: Option<Step>,
    waits: Vec<Gone>,
    drain: Option<Box<Drain>>,
    /// Whose roll-out is being watched.
    rollout: Option<WorkloadId>,
    stdout: Vec<String>,
    stderr: Vec<String>,
    exit: i32,
}

/// What a verb wants done.
#[derive(Debug, Default)]
struct Plan {
    steps: Vec<Step>,
    stdout: Vec<String>,
    /// Lines of standard error that are no failure.
    warnings: Vec<String>,
    /// Lines of standard error that make the exit status 1.
    stderr: Vec<String>,
}

impl Plan {
    fn fail(&mut self, line: impl Into<String>) {
        self.stderr.push(line.into());
    }

    fn step(&mut self, request: Request, line: impl Into<String>, subject: impl Into<String>) {
        let (line, subject) = (line.into(), subject.into());
        self.steps.push(Step { request, line, unchanged: None, subject, wait: None });
    }
}

/// kubectl.
#[derive(Clone, Debug)]
pub struct Kubectl {
    runbook: Arc<Runbook>,
    processes: Table<Process>,
}

impl Kubectl {
    /// An operator with a runbook.
    #[must_use]
    pub fn new(runbook: Arc<Runbook>) -> Self {
        Self { runbook, processes: Table::new() }
    }

    fn begin(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let line = Arc::clone(&self.processes[id].line);
        let mut plan = Plan::default();
        match &line.command {
            Command::Apply(args) => apply::plan(args, &line.objects, ctx.store, &mut plan),
            Command::Delete(args) => delete::plan(args, &line.objects, ctx.store, &mut plan),
            Command::Scale(args) => scale::plan(args, ctx.store, &mut plan),
            Command::Label(args) => label::plan(args, ctx.store, &mut plan),
            Command::Taint(args) => taint::plan(args, ctx.store, ctx.now, &mut plan),
            Command::Cordon(args) => cordon::plan(args, ctx.store, &mut plan),
            Command::Rollout(args) if args.verb == RolloutVerb::Status => {
                self.watch_rollout(id, args, ctx);
                return;
            }
            Command::Rollout(args) => rollout::plan(args, ctx.store, ctx.now, &mut plan),
            Command::SetImage(args) => set::plan(args, ctx.store, &mut plan),
            Command::Patch(args) => patch::plan(args, ctx.store, &mut plan),
            Command::Drain(args) => {
                match drain::targets(args, ctx.store) {
                    Ok(nodes) => {
                        self.processes[id].drain = Some(Box::new(Drain::new(args.clone(), nodes)));
                        self.cordon_next(id, ctx);
                    }
                    Err(line) => {
                        let process = &mut self.processes[id];
                        process.stderr.push(line);
                        process.exit = 1;
                        self.finish(id, ctx);
                    }
                }
                return;
            }
        }
        let process = &mut self.processes[id];
        if !plan.stderr.is_empty() {
            process.exit = 1;
        }
        process.stdout.extend(plan.stdout);
        process.stderr.extend(plan.warnings);
        process.stderr.extend(plan.stderr);
        process.steps.extend(plan.steps);
        self.next_step(id, ctx);
    }

    fn next_step(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let process = &mut self.processes[id];
        match process.steps.pop_front() {
            Some(step) => {
                ctx.call(step.request.clone(), Tag::Step(id));
                process.current = Some(step);
            }
            None => self.finish_when_gone(id, ctx),
        }
    }

    fn step_answered(&mut self, id: Id<Process>, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        let Some(step) = process.current.take() else { return };
        match answer {
            Ok(reply) => {
                let line = match (reply, step.unchanged) {
                    (Reply::Unchanged, Some(unchanged)) => unchanged,
                    _ => step.line,
                };
                if !line.is_empty() {
                    process.stdout.push(line);
                }
                process.waits.extend(step.wait);
            }
            Err(error) => {
                process.exit = 1;
                process.stderr.push(resource::server_error(error, &step.subject));
            }
        }
        self.next_step(id, ctx);
    }

    /// Ends the process once all it deleted is gone.
    fn finish_when_gone(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        process.waits.retain(|gone| match gone {
            Gone::Pod(pod) => ctx.store.pod(*pod).is_some(),
            Gone::Node(node) => ctx.store.node(*node).is_some(),
            Gone::Workload(workload) => ctx.store.workload_meta(*workload).is_some(),
            Gone::Namespace(namespace) => ctx.store.namespaces.get(*namespace).is_some(),
            Gone::Claim(claim) => ctx.store.volumes.claim(*claim).is_some(),
        });
        if process.waits.is_empty() && process.steps.is_empty() && process.current.is_none() {
            self.finish(id, ctx);
        }
    }

    /// Somebody types a line; its process starts.
    fn run(&mut self, line: Arc<RunbookLine>, typist: Option<(&'static str, u64)>, ctx: &mut Ctx<'_, Self>) {
        let text = Arc::clone(&line.text);
        let about = ObjectRef { kind: "Kubectl", namespace: "".into(), name: Arc::clone(&text) };
        let event = EventDraft::normal("Kubectl", about, format!("kubectl {text}"));
        ctx.record(Record::Event { component: typist.map_or("scenario", |(by, _)| by), event });
        let id = self.processes.insert(Process {
            line,
            typist,
            at: ctx.now,
            steps: VecDeque::new(),
            current: None,
            waits: Vec::new(),
            drain: None,
            rollout: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
            exit: 0,
        });
        ctx.arm_in(START, Timer::Begin(id));
    }

    fn finish(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.remove(id) else { return };
        let command = Arc::clone(&process.line.text);
        // What it failed of, among warnings and lines about single objects.
        let is_fatal = |line: &&String| line.starts_with("error: ");
        let said =
            process.stderr.iter().find(is_fatal).or(process.stderr.first()).filter(|_| process.exit != 0).cloned();
        if process.exit != 0 {
            let about = ObjectRef { kind: "Kubectl", namespace: "".into(), name: Arc::clone(&command) };
            let event = EventDraft::warning("CommandFailed", about, said.clone().unwrap_or_default());
            ctx.record(Record::Event { component: "kubectl", event });
        }
        if let Some((by, ticket)) = process.typist {
            ctx.send(Message::Ended(CommandEnd { by, ticket, exit: process.exit, error: said }));
        }
        ctx.record(Record::Transcript(Transcript {
            at: process.at,
            done_at: ctx.now,
            command,
            exit: process.exit,
            stdout: process.stdout,
            stderr: process.stderr,
        }));
    }
}

impl Component for Kubectl {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "kubectl";
    const PROCESS: Option<ControlPlaneProcess> = None;

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
            Timer::Run(line) => {
                let line = Arc::clone(&self.runbook.lines[line]);
                self.run(line, None, ctx);
            }
            Timer::Begin(id) => self.begin(id, ctx),
            Timer::List(id) => ctx.call(Request::Get, Tag::List(id)),
            Timer::Evict(id, pod) => self.evict(id, pod, ctx),
            Timer::Reread(id, pod) => self.reread(id, pod, ctx),
            Timer::SendReread(id, pod) => ctx.call(Request::Get, Tag::Reread(id, pod)),
            Timer::Send(id, pod) => self.send(id, pod, ctx),
            Timer::Poll(id, pod) => self.poll(id, pod, ctx),
            Timer::Look(id, pod) => self.look(id, pod, ctx),
            Timer::RolloutTimeout(id) => self.rollout_timed_out(id, ctx),
            Timer::Timeout(id, node) => self.timed_out(id, node, ctx),
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match tag {
            Tag::Step(id) => self.step_answered(id, answer, ctx),
            Tag::Cordon(id, node) => self.cordoned(id, node, answer, ctx),
            Tag::List(id) => self.listed(id, answer, ctx),
            Tag::Evict(id, pod) => self.evicted(id, pod, answer, ctx),
            Tag::Reread(id, pod) => self.evict(id, pod, ctx),
            Tag::Poll(id, pod) => self.polled(id, pod, answer, ctx),
        }
    }

    fn told(&mut self, message: &Message, ctx: &mut Ctx<'_, Self>) {
        let Message::Typed(TypedCommand { by, ticket, line }) = message else { return };
        match parse(line) {
            Ok(command) => {
                let line = RunbookLine { text: Arc::clone(line), command, objects: Vec::new() };
                self.run(Arc::new(line), Some((*by, *ticket)), ctx);
            }
            Err(error) => {
                debug_assert!(false, "{by} types what is no command: {}", error.message);
                let error = Some(error.message);
                ctx.send(Message::Ended(CommandEnd { by, ticket: *ticket, exit: 1, error }));
            }
        }
    }
}

#[cfg(test)]
mod tests;
