//! `kubectl wait`.
//!
//! # Source
//! kubectl wait, `RunWaitContext`: objects are waited for one after the other, and all by one deadline.
//!
//! # Differs
//! It looks every tenth of a second, where kubectl watches.

use std::collections::VecDeque;

use super::command_line::{Arguments, FILES, PRINT, Selection, Stop, Words, all_or_refused, duration};
use super::failure::Failure;
use super::json_path::Template;
use super::met::{has_condition, leads_to};
use super::resource::{Found, Kind, find, find_one, find_target, not_found, unknown_kind};
use super::verb::{Scene, Verb, works_on_selection};
use super::view;
use super::{Command, CommandPlan, Item, Kubectl, Process, Timer};
use crate::arena::{Id, Symbol};
use crate::component::Ctx;
use crate::state::Store;
use crate::units::{SimDuration, SimTime};

/// What `wait` waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitFor {
    /// `--for=delete`.
    Deletion,
    /// `--for=create`.
    Creation,
    /// `--for=condition=NAME[=VALUE]`, in lower case.
    Condition(String, String),
    /// `--for=jsonpath=PATH[=VALUE]`: a single value, of any kind if none is named.
    Path(Template, Option<String>),
}

/// Arguments of `wait`.
#[derive(Clone, Debug)]
pub struct WaitArgs {
    /// What.
    pub selection: Selection,
    /// `--for`, each in its turn.
    pub conditions: Vec<WaitFor>,
    /// `--timeout`; zero is one look.
    pub timeout: SimDuration,
}

/// How long `wait` waits without `--timeout`.
const WAIT: SimDuration = SimDuration::from_secs(30);

impl Verb for WaitArgs {
    const COMMANDS: &'static [Words] =
        &[("wait", &[FILES, PRINT, "all! all-namespaces,A! field-selector= for= local! selector,l= timeout="])];

    /// # Source
    /// kubectl, `conditionFuncsFor` and `ToOptions`: a negative timeout is a week, none is one look.
    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let conditions = arguments.texts("for").map(condition).collect::<Result<Vec<_>, _>>()?;
        if conditions.is_empty() {
            return Err(Stop::error("unrecognized condition: []"));
        }
        let timeout = match arguments.text("timeout") {
            None => WAIT,
            Some(text) if text.starts_with('-') => SimDuration::from_secs(7 * 24 * 3600),
            Some(text) => duration(text)?,
        };
        let without = all_or_refused(arguments)?;
        let selection = arguments.selection(without)?;
        Ok(Self { selection, conditions, timeout })
    }

    works_on_selection!(of_words_or_files);

    fn only_looks(&self) -> bool {
        true
    }

    fn plan(&self, _scene: &Scene<'_>, out: &mut CommandPlan) {
        out.items.push(Item::Wait);
    }
}

/// A value of `--for`.
fn condition(text: &str) -> Result<WaitFor, Stop> {
    Ok(if text.eq_ignore_ascii_case("delete") {
        WaitFor::Deletion
    } else if text.eq_ignore_ascii_case("create") {
        WaitFor::Creation
    } else if let Some(condition) = text.strip_prefix("condition=") {
        let (name, value) = condition.split_once('=').unwrap_or((condition, "true"));
        WaitFor::Condition(name.to_lowercase(), value.to_lowercase())
    } else if let Some(path) = text.strip_prefix("jsonpath=") {
        let (template, value) = path_and_value(path)?;
        WaitFor::Path(template, value)
    } else {
        return Err(Stop::error(format!("unrecognized condition: {text:?}")));
    })
}

/// The path of `--for=jsonpath=…` and the value that it is to have.
///
/// # Source
/// kubectl wait, `processJSONPathInput`: a single `=` stands between them, a double one is part of either.
fn path_and_value(text: &str) -> Result<(Template, Option<String>), Stop> {
    const FORM: &str = "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'";
    let mut parts = vec![String::new()];
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        let part = parts.last_mut().expect("there is one from the beginning");
        part.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('=') {
            part.push_str("==");
            rest = behind;
        } else {
            parts.push(String::new());
        }
    }
    parts.last_mut().expect("there is one from the beginning").push_str(rest);
    let (path, value) = match parts.as_slice() {
        [path] => (path, None),
        [path, value] => (path, Some(value.trim_matches(['\'', '"']))),
        _ => return Err(Stop::error(FORM)),
    };
    let template = if path.is_empty() { None } else { Some(Template::relaxed(path).map_err(Stop::error)?) };
    if value == Some("") {
        return Err(Stop::error(
            "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
        ));
    }
    let template = template.ok_or_else(|| Stop::error("jsonpath expression cannot be empty"))?;
    Ok((template, value.map(str::to_owned)))
}

/// How long after a look it looks again, and whether that what is to be made is there.
const AGAIN: SimDuration = SimDuration::from_millis(100);
const UNTIL_MADE: SimDuration = SimDuration::from_millis(500);

/// An object by its name.
#[derive(Copy, Clone, Debug)]
struct Named {
    kind: Kind,
    namespace: Symbol,
    name: Symbol,
}

impl Named {
    fn of(found: &Found, store: &Store) -> Self {
        Self { kind: found.kind(), namespace: found.namespace(store), name: Symbol::new(&found.name(store)) }
    }

    fn find(self, store: &Store) -> Option<Found> {
        find_one(self.kind, self.namespace, self.name.as_str(), store)
    }

    /// Resource and name, without the group.
    fn subject(self) -> String {
        let resource = self.kind.resource();
        format!("{}/{}", resource.split('.').next().unwrap_or(resource), self.name)
    }
}

/// Whose turn it is.
#[derive(Clone, Debug)]
enum Turn {
    /// The n-th of the targets, which is looked up when its turn comes.
    Target(usize),
    /// One of a list.
    Listed(Object),
    Failed(Failure),
}

/// An object that is waited for.
#[derive(Clone, Debug)]
struct Object {
    named: Named,
    /// How it is printed.
    printed: String,
    /// The one that was there when its turn came.
    found: Option<Found>,
    /// Which condition is next.
    place: usize,
    /// When the first question for it leaves.
    asks_at: Option<SimTime>,
}

impl Object {
    fn of(found: &Found, store: &Store) -> Self {
        Self { named: Named::of(found, store), printed: found.printed(store), found: None, place: 0, asks_at: None }
    }
}

/// What a process waits for.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    deadline: SimTime,
    /// What is to be made first is not all there.
    is_unmade: bool,
    turns: VecDeque<Turn>,
    current: Option<Object>,
}

/// How a look at an object ended.
enum Look {
    Met,
    NotYet,
    Failed(Failure),
}

impl WaitArgs {
    fn has(&self, what: &WaitFor) -> bool {
        self.conditions.contains(what)
    }

    /// What is worked on is found anew, as it is when objects are visited.
    fn turns(&self, store: &Store) -> VecDeque<Turn> {
        if !self.selection.targets.is_empty() {
            return (0..self.selection.targets.len()).map(Turn::Target).collect();
        }
        let listed = find(&self.selection, store).into_iter();
        listed.map(|result| result.map_or_else(Turn::Failed, |found| Turn::Listed(Object::of(&found, store)))).collect()
    }

    /// Whether all names are there, or something that is selected is; why that cannot be told.
    fn is_made(&self, store: &Store) -> Result<bool, Failure> {
        if !self.selection.targets.is_empty() {
            let mut targets = self.selection.targets.iter();
            return Ok(targets.all(|target| find_target(target, &self.selection, store).is_none_or(|it| it.is_ok())));
        }
        let mut is_there = false;
        for result in find(&self.selection, store) {
            is_there = result.map(|_| true)?;
        }
        Ok(is_there)
    }

    /// A look at the object whose turn it is.
    ///
    /// # Source
    /// kubectl wait, `IsDeleted`, `IsCreated` and `getObjAndCheckCondition`: once the deadline is over a condition is not looked
    /// at, and the question whether an object is gone is not sent.
    fn look(&self, object: &mut Object, wait: &Wait, ctx: &Ctx<'_, Kubectl>, clock: view::Clock) -> Look {
        let store = ctx.store;
        let is_one_look = self.timeout.is_zero();
        let live = object.named.find(store);
        let what = &self.conditions[object.place];
        let is_first = object.found.is_none();
        let is_late = !is_one_look && ctx.now >= wait.deadline;
        let in_time = || Failure::own(format!("timed out waiting for the condition on {}", object.named.subject()));
        let is_met = match what {
            WaitFor::Creation => true,
            WaitFor::Deletion if is_first && is_late => {
                return Look::Failed(Failure::own(
                    "client rate limiter Wait returned an error: context deadline exceeded",
                ));
            }
            WaitFor::Deletion => {
                live.is_none() || object.found.as_ref().is_some_and(|first| live.as_ref() != Some(first))
            }
            _ if is_first && is_late => return Look::Failed(in_time()),
            _ if is_first && live.is_none() => {
                let error = not_found(object.named.kind, object.named.name.as_str());
                return Look::Failed(Failure::refusal(&error, None));
            }
            WaitFor::Condition(name, value) => {
                live.as_ref().is_some_and(|found| has_condition(found, name, value, store, clock))
            }
            WaitFor::Path(path, value) => {
                let shown = live.as_ref().and_then(|found| view::object(found, store, clock));
                match shown.map_or(Ok(false), |shown| leads_to(path, value.as_deref(), &shown)) {
                    Ok(is_met) => is_met,
                    Err(problem) => return Look::Failed(Failure::own(problem)),
                }
            }
        };
        object.found = object.found.take().or(live);
        if is_met {
            Look::Met
        } else if is_one_look {
            Look::Failed(Failure::own(format!("condition not met for {}", object.named.subject())))
        } else if is_late {
            Look::Failed(in_time())
        } else {
            Look::NotYet
        }
    }
}

impl Kubectl {
    pub(super) fn begin_wait(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        let line = std::sync::Arc::clone(&process.line);
        let Command::Wait(args) = &line.command else { return };
        if let Some(failure) = unknown_kind(&args.selection, ctx.store) {
            process.failures.push(failure);
            return self.finish(id, ctx);
        }
        let is_unmade = args.has(&WaitFor::Creation);
        let deadline = ctx.now + args.timeout;
        let turns = if is_unmade { VecDeque::new() } else { args.turns(ctx.store) };
        process.wait = Some(Box::new(Wait { deadline, is_unmade, turns, current: None }));
        self.look_again(id, ctx);
    }

    pub(super) fn look_again(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        let line = std::sync::Arc::clone(&process.line);
        let Command::Wait(args) = &line.command else { return };
        let Some(mut wait) = process.wait.take() else { return };
        let next = if wait.is_unmade {
            match args.is_made(ctx.store) {
                Ok(true) => {
                    wait.is_unmade = false;
                    wait.turns = args.turns(ctx.store);
                    None
                }
                Ok(false) if ctx.now < wait.deadline => Some(ctx.now + UNTIL_MADE),
                Ok(false) => {
                    process.failures.push(Failure::own("timed out waiting for the condition"));
                    return self.finish(id, ctx);
                }
                Err(failure) => {
                    process.failures.push(failure);
                    return self.finish(id, ctx);
                }
            }
        } else {
            None
        };
        let next = next.or_else(|| process.wait_in_turn(args, &mut wait, ctx, self.clock));
        let Some(next) = next else { return self.finish(id, ctx) };
        let next = if args.timeout.is_zero() { next } else { next.min(wait.deadline) };
        process.wait = Some(wait);
        ctx.arm(next, Timer::LookAgain(id));
    }
}

impl Process {
    /// Goes through the objects as far as they are as they should be; when one that is not yet is looked at again. One client
    /// asks for all.
    fn wait_in_turn(
        &mut self,
        args: &WaitArgs,
        wait: &mut Wait,
        ctx: &Ctx<'_, Kubectl>,
        clock: view::Clock,
    ) -> Option<SimTime> {
        let is_deletion = args.has(&WaitFor::Deletion);
        if wait.current.is_none() && wait.turns.is_empty() && !is_deletion {
            self.failures.push(Failure::own("no matching resources found"));
        }
        loop {
            if wait.current.is_none() {
                wait.current = match wait.turns.pop_front() {
                    None => return None,
                    Some(Turn::Listed(object)) => Some(object),
                    Some(Turn::Failed(failure)) => {
                        self.failures.push(failure);
                        continue;
                    }
                    Some(Turn::Target(index)) => {
                        match find_target(&args.selection.targets[index], &args.selection, ctx.store) {
                            Some(Ok(found)) => Some(Object::of(&found, ctx.store)),
                            // Of what is to go, what is not there is nothing to tell.
                            Some(Err(failure)) if !(is_deletion && failure.is_not_found()) => {
                                self.failures.push(failure);
                                continue;
                            }
                            _ => continue,
                        }
                    }
                };
            }
            let Some(mut object) = wait.current.take() else { continue };
            let asks_at = match object.asks_at {
                Some(asks_at) => asks_at,
                None if args.conditions[object.place] == WaitFor::Creation => ctx.now,
                None => self.client.reserve(ctx.now),
            };
            object.asks_at = Some(asks_at);
            if asks_at > ctx.now && (args.timeout.is_zero() || ctx.now < wait.deadline) {
                wait.current = Some(object);
                return Some(asks_at);
            }
            match args.look(&mut object, wait, ctx, clock) {
                Look::Met => {
                    self.print(format!("{} condition met", object.printed), None, ctx.store, clock);
                    object.place += 1;
                    if object.place < args.conditions.len() {
                        wait.current = Some(Object { found: None, asks_at: None, ..object });
                    }
                }
                Look::Failed(failure) => self.failures.push(failure),
                Look::NotYet => {
                    wait.current = Some(object);
                    return Some(ctx.now + AGAIN);
                }
            }
        }
    }
}
