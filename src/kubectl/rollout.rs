//! `kubectl rollout restart`, `pause`, `resume` and `undo`.

use serde_json::{Value, json};

use super::command_line::{
    Arguments, DRY, FILES, PRINT, ROLLOUT, Selection, Stop, WithoutNames, Words, revision_flag, timeout,
};
use super::failure::Failure;
use super::patch::apply_value;
use super::resource::{Found, find};
use super::three_way::LAST_APPLIED;
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, rollout_status};
use crate::arena::Symbol;
use crate::component::export_workload;
use crate::model::PodTemplateSpec;
use crate::state::{Meta, ReplicaSet, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// The verbs of `rollout`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RolloutVerb {
    /// `restart`.
    Restart,
    /// `pause`.
    Pause,
    /// `resume`.
    Resume,
    /// `undo`.
    Undo,
    /// `status`.
    Status,
}

/// Arguments of `rollout`.
#[derive(Clone, Debug)]
pub struct RolloutArgs {
    /// Which verb.
    pub verb: RolloutVerb,
    /// What.
    pub selection: Selection,
    /// `--to-revision`; 0 is the one before.
    pub to_revision: i64,
    /// `--revision` that `status` has to find; 0 is any.
    pub revision: i64,
    /// `--watch`: `status` waits for the end.
    pub watch: bool,
    /// `--timeout` of `status`; none waits for ever.
    pub timeout: Option<SimDuration>,
}

impl Verb for RolloutArgs {
    const COMMANDS: &'static [Words] = &[
        ("rollout restart", &[FILES, PRINT, ROLLOUT]),
        ("rollout pause", &[FILES, PRINT, ROLLOUT]),
        ("rollout resume", &[FILES, PRINT, ROLLOUT]),
        ("rollout undo", &[FILES, PRINT, DRY, ROLLOUT, "to-revision="]),
        ("rollout status", &[FILES, ROLLOUT, "revision= timeout= watch,w!"]),
    ];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let verb = match arguments.path.as_str() {
            "rollout restart" => RolloutVerb::Restart,
            "rollout pause" => RolloutVerb::Pause,
            "rollout resume" => RolloutVerb::Resume,
            "rollout undo" => RolloutVerb::Undo,
            _ => RolloutVerb::Status,
        };
        read(arguments, verb)
    }

    works_on_selection!(of_words_or_files);

    fn only_looks(&self) -> bool {
        self.verb == RolloutVerb::Status
    }

    fn plan(&self, scene: &Scene<'_>, out: &mut CommandPlan) {
        match self.verb {
            RolloutVerb::Status => rollout_status::plan(self, scene.store, out),
            RolloutVerb::Restart | RolloutVerb::Pause | RolloutVerb::Resume | RolloutVerb::Undo => {
                plan(self, scene.store, scene.now, out);
            }
        }
    }
}

fn read(arguments: &mut Arguments, verb: RolloutVerb) -> Result<RolloutArgs, Stop> {
    if arguments.words.is_empty() && !arguments.has("filename") {
        return Err(Stop::error("required resource not specified"));
    }
    let to_revision = arguments.number("to-revision")?.unwrap_or(0);
    let revision = revision_flag(arguments)?;
    let watch = arguments.switch("watch", true)?;
    let timeout = timeout(arguments)?;
    let selection = arguments.selection(WithoutNames::All)?;
    Ok(RolloutArgs { verb, selection, to_revision, revision, watch, timeout })
}

/// # Source
/// kubectl, `RunRestart`, `RunPause`, `RunResume` and `RunUndo`: of the first three, what was not found is printed first.
fn plan(args: &RolloutArgs, store: &Store, now: SimTime, plan: &mut CommandPlan) {
    let mut results = find(&args.selection, store);
    if args.verb != RolloutVerb::Undo {
        if results.is_empty() {
            plan.warnings.push(format!("No resources found in {} namespace.", args.selection.namespace));
        }
        results.sort_by_key(Result::is_ok);
    }
    for result in results {
        if let Err(failure) = result.and_then(|object| change(args, &object, store, now, plan)) {
            plan.fail(failure);
        }
    }
}

fn change(
    args: &RolloutArgs,
    object: &Found,
    store: &Store,
    now: SimTime,
    plan: &mut CommandPlan,
) -> Result<(), Failure> {
    let name = object.printed(store);
    let subject = format!("error: {} \"{}\"", object.kind().resource(), object.name(store));
    let refused = |text: &str| Err(Failure::own(format!("{subject} {text}")));
    let verb = match args.verb {
        RolloutVerb::Restart => "restarting",
        RolloutVerb::Pause => "pausing",
        RolloutVerb::Resume => "resuming",
        RolloutVerb::Undo | RolloutVerb::Status => {
            return undo(args, object, store, plan);
        }
    };
    let id = match object {
        Found::Workload(_, id @ WorkloadId::Deployment(_)) => *id,
        Found::Workload(_, id @ (WorkloadId::DaemonSet(_) | WorkloadId::StatefulSet(_)))
            if args.verb == RolloutVerb::Restart =>
        {
            *id
        }
        _ => return refused(&format!("{verb} is not supported")),
    };
    let Some(current) = export_workload(store, id) else { return Ok(()) };
    let mut value = current.to_value();
    let is_paused = is_paused(&value);
    let done = if args.verb == RolloutVerb::Restart {
        if is_paused {
            return refused("can't restart paused deployment (run rollout resume first)");
        }
        if !restart(&mut value, now) {
            let why = "if restart has already been triggered within the past second, please wait before attempting to \
                       trigger another";
            return Err(Failure::own(format!("failed to create patch for {}: {why}", object.name(store))));
        }
        "restarted"
    } else {
        let pauses = args.verb == RolloutVerb::Pause;
        if pauses == is_paused {
            return refused(if pauses { "is already paused" } else { "is not paused" });
        }
        value["spec"]["paused"] = json!(pauses);
        if pauses { "paused" } else { "resumed" }
    };
    apply_value(value, format!("{name} {done}"), None, plan);
    Ok(())
}

fn is_paused(value: &Value) -> bool {
    value.pointer("/spec/paused").and_then(Value::as_bool) == Some(true)
}

fn undo(args: &RolloutArgs, object: &Found, store: &Store, plan: &mut CommandPlan) -> Result<(), Failure> {
    let id = match object {
        Found::Workload(
            _,
            id @ (WorkloadId::Deployment(_) | WorkloadId::DaemonSet(_) | WorkloadId::StatefulSet(_)),
        ) => *id,
        _ => {
            let kind = object.kind().group_kind();
            return Err(Failure::own(format!("no rollbacker has been implemented for \"{kind}\"")));
        }
    };
    let Some(current) = export_workload(store, id) else { return Ok(()) };
    if current.metadata().annotations.contains_key(&Symbol::new(LAST_APPLIED)) {
        let resource = object.kind().resource().split('.').next().unwrap_or_default();
        plan.warnings.push(format!(
            "Warning: resource {resource}/{} was previously managed with 'kubectl apply'. Rolling back will not update the \
             {LAST_APPLIED} annotation, which may cause unexpected behavior on future 'kubectl apply' operations. Consider \
             using 'kubectl apply' with your previous configuration file instead.",
            object.name(store)
        ));
    }
    let (name, mut value) = (object.printed(store), current.to_value());
    let template = undone(store, id, args.to_revision, is_paused(&value)).map_err(Failure::own)?;
    if is_same_template(&template, &value["spec"]["template"]) {
        let revision = args.to_revision;
        plan.say(format!("{name} skipped rollback (current template already matches revision {revision})"));
        return Ok(());
    }
    value["spec"]["template"] = template;
    apply_value(value, format!("{name} rolled back"), None, plan);
    Ok(())
}

/// Notes the second in which a restart was asked for; not if it is noted already.
fn restart(value: &mut Value, now: SimTime) -> bool {
    if value.pointer("/spec/template/metadata/annotations").is_none() {
        if value.pointer("/spec/template/metadata").is_none() {
            value["spec"]["template"]["metadata"] = json!({});
        }
        value["spec"]["template"]["metadata"]["annotations"] = json!({});
    }
    let second = SimTime::from_secs(now.as_nanos().div_euclid(1_000_000_000));
    let note = &mut value["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"];
    let restarted = json!(format!("t={second}"));
    *note != restarted && {
        *note = restarted;
        true
    }
}

fn is_same_template(a: &Value, b: &Value) -> bool {
    let read = |value: &Value| serde_json::from_value::<PodTemplateSpec>(value.clone()).ok();
    read(a).is_some_and(|a| read(b).is_some_and(|b| a.metadata == b.metadata && a.spec.means(&b.spec)))
}

/// The template to go back to.
///
/// # Source
/// kubectl, rollbackers of Deployments, DaemonSets and StatefulSets.
///
/// # Differs
/// Annotations of the Deployment stay as they are.
fn undone(store: &Store, id: WorkloadId, revision: i64, is_paused: bool) -> Result<Value, String> {
    let name = store.workload_meta(id).map(|meta| meta.name).unwrap_or_default();
    let Some(template) = previous(store, id, revision) else {
        return Err(match (revision, id) {
            (0, WorkloadId::Deployment(_)) => format!("no rollout history found for deployment \"{name}\""),
            (0, _) => "no last revision to roll back to".to_owned(),
            _ => format!("unable to find specified revision {revision} in history"),
        });
    };
    if is_paused {
        let text =
            "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again";
        return Err(text.to_owned());
    }
    Ok(template)
}

pub(super) fn revision_of(set: &ReplicaSet) -> i64 {
    revision(&set.meta)
}

/// The revision that a Deployment or its ReplicaSet is at; 0 if none is noted.
pub(super) fn revision(meta: &Meta) -> i64 {
    let key = Symbol::new("deployment.kubernetes.io/revision");
    meta.annotations.get(&key).and_then(|r| r.as_str().parse().ok()).unwrap_or(0)
}

/// The template of an earlier revision, without what its controller added; 0 is the one before the present.
fn previous(store: &Store, id: WorkloadId, revision: i64) -> Option<Value> {
    let mut template = template(store, id, revision)?;
    if matches!(id, WorkloadId::Deployment(_)) {
        template.metadata.labels = template.metadata.labels.without(Symbol::new("pod-template-hash"));
    }
    serde_json::to_value(template).ok()
}

/// The template of a revision as it is kept; 0 is the one before the present.
pub(super) fn template(store: &Store, id: WorkloadId, revision: i64) -> Option<PodTemplateSpec> {
    Some(match id {
        WorkloadId::Deployment(deployment) => {
            let mut sets: Vec<&ReplicaSet> =
                store.replica_sets_of(deployment).iter().filter_map(|&rs| store.replica_sets.get(rs)).collect();
            sets.sort_by_key(|set| revision_of(set));
            let set = match revision {
                0 => sets.iter().rev().nth(1)?,
                wanted => sets.iter().find(|set| revision_of(set) == wanted)?,
            };
            PodTemplateSpec::clone(&set.spec.template)
        }
        _ => {
            let mut revisions: Vec<_> =
                store.revisions_of(id).iter().filter_map(|&r| store.controller_revisions.get(r)).collect();
            revisions.sort_by_key(|r| r.revision);
            let found = match revision {
                0 => revisions.iter().rev().nth(1)?,
                wanted => revisions.iter().find(|r| r.revision == wanted)?,
            };
            PodTemplateSpec::clone(&found.template)
        }
    })
}
