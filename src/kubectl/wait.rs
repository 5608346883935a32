//! `kubectl wait`.
//!
//! # Differs
//! It looks every tenth of a second, where kubectl watches.

use serde_json::Value;

use super::command_line::{Arguments, FILES, PRINT, Selection, Stop, Words, all_or_refused, duration};
use super::failure::Failure;
use super::json_path::{Missing, Template, text_of};
use super::resource::{Found, find, find_one, unknown_kind};
use super::verb::{Scene, Verb, works_on_selection};
use super::view::{self, Clock};
use super::{Command, CommandPlan, Item, Kubectl, Process, Timer};
use crate::arena::{Id, Symbol};
use crate::component::Ctx;
use crate::state::{NodeConditionKind, Status, Store, WorkloadId};
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
    /// `--for`.
    pub what: WaitFor,
    /// `--timeout`.
    pub timeout: SimDuration,
}

/// How long `wait` waits without `--timeout`.
const WAIT: SimDuration = SimDuration::from_secs(30);

impl Verb for WaitArgs {
    const COMMANDS: &'static [Words] =
        &[("wait", &[FILES, PRINT, "all! all-namespaces,A! field-selector= for= local! selector,l= timeout="])];

    /// # Source
    /// kubectl, `conditionFuncFor` and `ToOptions`: a negative timeout is a week, none is one look.
    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let Some(text) = arguments.text("for").map(str::to_owned) else {
            return Err(Stop::error("unrecognized condition: \"\""));
        };
        let what = if text.eq_ignore_ascii_case("delete") {
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
        };
        let timeout = match arguments.text("timeout") {
            None => WAIT,
            Some(text) if text.starts_with('-') => SimDuration::from_secs(7 * 24 * 3600),
            Some(text) => duration(text)?,
        };
        let without = all_or_refused(arguments)?;
        let selection = arguments.selection(without)?;
        Ok(Self { selection, what, timeout })
    }

    works_on_selection!(of_words_or_files);

    fn only_looks(&self) -> bool {
        true
    }

    fn plan(&self, _scene: &Scene<'_>, out: &mut CommandPlan) {
        out.items.push(Item::Wait);
    }
}

/// The path of `--for=jsonpath=…` and the value that it is to have.
///
/// # Source
/// kubectl wait, `newJSONPathParser` and `conditionFuncFor`: the value stands behind the `=` after the last brace.
fn path_and_value(text: &str) -> Result<(Template, Option<String>), Stop> {
    let end = text.rfind('}').map_or(0, |end| end + 1);
    let sign = text[end..].find('=').map(|at| end + at);
    let (path, value) = match sign {
        Some(at) => (&text[..at], Some(text[at + 1..].trim_matches(['\'', '"']))),
        None => (text, None),
    };
    if value == Some("") {
        return Err(Stop::error(
            "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
        ));
    }
    if path.is_empty() {
        return Err(Stop::error("jsonpath expression cannot be empty"));
    }
    let template = Template::relaxed(path).map_err(Stop::error)?;
    Ok((template, value.map(str::to_owned)))
}

/// How long after a look it looks again.
const AGAIN: SimDuration = SimDuration::from_millis(100);

/// What a process waits for.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    deadline: SimTime,
    pending: Vec<Found>,
    /// Names that are not there yet, as positions among the targets.
    missing: Vec<usize>,
}

/// Whether an object has a condition, and its status is the one that is waited for.
///
/// # Source
/// kubectl wait, `ConditionalWait.checkCondition`: neither cares for case.
fn has_condition(found: &Found, name: &str, value: &str, store: &Store, clock: Clock) -> bool {
    if let Some(status) = condition(found, name, store) {
        return status == value;
    }
    let Some(object) = view::object(found, store, clock) else { return false };
    let is_it = |condition: &Value, field: &str, text: &str| {
        condition.get(field).and_then(Value::as_str).is_some_and(|found| found.eq_ignore_ascii_case(text))
    };
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|condition| is_it(condition, "type", name));
    found.is_some_and(|condition| is_it(condition, "status", value))
}

/// The status, in lower case, of a condition that is found without making the whole object; none of others.
fn condition(found: &Found, name: &str, store: &Store) -> Option<&'static str> {
    let text = |status: Status| match status {
        Status::True => "true",
        Status::False => "false",
        Status::Unknown => "unknown",
    };
    let yes = |is_so: bool| if is_so { "true" } else { "false" };
    match found {
        Found::Pod(id) => {
            let pod = store.pod(*id)?;
            match name {
                "ready" => Some(pod.ready.map_or("false", |ready| text(ready.status))),
                "containersready" => Some(pod.containers_ready.map_or("false", |ready| text(ready.status))),
                "podscheduled" => Some(yes(pod.node.is_some())),
                "initialized" => Some(yes(super::view::is_initialized(pod))),
                _ => None,
            }
        }
        Found::Node(id) => {
            let kinds = NodeConditionKind::ALL.into_iter();
            let kind = kinds.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name))?;
            store.node(*id)?.conditions.get(kind).map(|condition| text(condition.status))
        }
        Found::Workload(_, WorkloadId::Deployment(id)) => {
            let status = &store.deployments.get(*id)?.status;
            let condition = match name {
                "available" => &status.availability,
                "progressing" => &status.progressing,
                _ => return None,
            };
            condition.as_ref().map(|condition| text(condition.status))
        }
        Found::Workload(_, WorkloadId::Job(id)) => {
            let conditions = &store.jobs.get(*id)?.status.conditions;
            conditions.iter().any(|condition| condition.kind.as_str().eq_ignore_ascii_case(name)).then_some("true")
        }
        Found::Other(..) if name == "established" || name == "namesaccepted" => Some("true"),
        Found::Workload(..) | Found::Other(..) => None,
    }
}

/// Whether what is waited for is so; why that cannot be told, if it cannot.
fn is_met(args: &WaitArgs, found: &Found, store: &Store, clock: Clock) -> Result<bool, String> {
    let exists = match found {
        Found::Pod(id) => store.pod(*id).is_some(),
        Found::Node(id) => store.node(*id).is_some(),
        Found::Workload(_, id) => store.workload_meta(*id).is_some(),
        Found::Other(kind, namespace, name) => find_one(*kind, *namespace, name.as_str(), store).is_some(),
    };
    Ok(match &args.what {
        WaitFor::Deletion => !exists,
        WaitFor::Creation => exists,
        WaitFor::Condition(name, value) => exists && has_condition(found, name, value, store, clock),
        WaitFor::Path(path, value) => match view::object(found, store, clock) {
            Some(object) => leads_to(path, value.as_deref(), &object)?,
            None => false,
        },
    })
}

/// Whether a path leads to a value: a certain one, or any.
///
/// # Source
/// kubectl wait, `JSONPathWait.checkCondition`, `verifyParsedJSONPath` and `compareResults`.
fn leads_to(path: &Template, value: Option<&str>, object: &Value) -> Result<bool, String> {
    let found = path.find(object, Missing::Allowed)?;
    let first = match found.as_slice() {
        [] => return Ok(false),
        [values] => values,
        _ => return Err("given jsonpath expression matches more than one list".to_owned()),
    };
    match (first.as_slice(), value) {
        ([], _) => Ok(false),
        ([_], None) => Ok(true),
        ([Value::Object(_) | Value::Array(_)], Some(_)) => {
            Err("jsonpath leads to a nested object or list which is not supported".to_owned())
        }
        ([one], Some(value)) => Ok(text_of(one).trim() == value.trim()),
        _ => Err("given jsonpath expression matches more than one value".to_owned()),
    }
}

impl Kubectl {
    /// # Source
    /// kubectl, `WaitOptions.RunWaitContext`.
    pub(super) fn begin_wait(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        let line = std::sync::Arc::clone(&process.line);
        let Command::Wait(args) = &line.command else { return };
        if let Some(failure) = unknown_kind(&args.selection, ctx.store) {
            process.failures.push(failure);
            return self.finish(id, ctx);
        }
        let mut wait = Wait { deadline: ctx.now + args.timeout, pending: Vec::new(), missing: Vec::new() };
        let results = find(&args.selection, ctx.store);
        if results.is_empty() && args.what != WaitFor::Deletion {
            process.failures.push(Failure::own("no matching resources found"));
        }
        for (index, result) in results.into_iter().enumerate() {
            match (result, &args.what) {
                (Ok(found), _) => wait.pending.push(found),
                (Err(_), WaitFor::Deletion) => {}
                (Err(_), WaitFor::Creation) => wait.missing.push(index),
                (Err(failure), WaitFor::Condition(..) | WaitFor::Path(..)) => process.failures.push(failure),
            }
        }
        // The names of what goes are printed when it has gone.
        process.wait = Some(Box::new((wait, Vec::new())));
        let names: Vec<String> = self.processes[id]
            .wait
            .iter()
            .flat_map(|wait| wait.0.pending.iter())
            .map(|found| found.printed(ctx.store))
            .collect();
        if let Some(wait) = &mut self.processes[id].wait {
            wait.1 = names;
        }
        self.look_again(id, ctx);
    }

    pub(super) fn look_again(&mut self, id: Id<Process>, ctx: &mut Ctx<'_, Self>) {
        let Some(process) = self.processes.get_mut(id) else { return };
        let line = std::sync::Arc::clone(&process.line);
        let Command::Wait(args) = &line.command else { return };
        let Some(mut wait) = process.wait.take() else { return };
        let (state, names) = &mut *wait;
        let namespace = Symbol::new(&args.selection.namespace);
        state.missing.retain(|index| {
            let target = &args.selection.targets[*index];
            let place = target.namespace.unwrap_or(namespace);
            let Some(found) = find_one(target.kind, place, &target.name, ctx.store) else { return true };
            names.push(found.printed(ctx.store));
            state.pending.push(found);
            false
        });
        let mut index = 0;
        while index < state.pending.len() {
            let is_met = match is_met(args, &state.pending[index], ctx.store, self.clock) {
                Ok(is_met) => is_met,
                Err(problem) => {
                    process.failures.push(Failure::own(problem));
                    return self.finish(id, ctx);
                }
            };
            if is_met {
                state.pending.remove(index);
                process.print(format!("{} condition met", names.remove(index)), None, ctx.store, self.clock);
            } else {
                index += 1;
            }
        }
        let is_over = state.pending.is_empty() && state.missing.is_empty();
        if !is_over && ctx.now < state.deadline {
            let next = (ctx.now + AGAIN).min(state.deadline);
            process.wait = Some(wait);
            ctx.arm_in(next.saturating_since(ctx.now), Timer::LookAgain(id));
            return;
        }
        for found in &state.pending {
            let resource = found.kind().resource();
            let plain = resource.split('.').next().unwrap_or(resource);
            let name = found.name(ctx.store);
            process.failures.push(Failure::own(format!("timed out waiting for the condition on {plain}/{name}")));
        }
        for index in &state.missing {
            let target = &args.selection.targets[*index];
            let resource = target.kind.resource();
            let plain = resource.split('.').next().unwrap_or(resource);
            let text = format!("timed out waiting for the condition on {plain}/{}", target.name);
            process.failures.push(Failure::own(text));
        }
        self.finish(id, ctx);
    }
}
