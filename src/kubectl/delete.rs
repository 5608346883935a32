//! `kubectl delete`.

use std::sync::Arc;

use super::command_line::{Arguments, DRY, FILES, Selection, Stop, WithoutNames, Words, check_kustomize, timeout};
use super::failure::Failure;
use super::resource::{Found, Kind, Target, find, find_one, nameless, not_found, of_another_namespace, unknown_kind};
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Gone, Step, Written};
use crate::arena::Symbol;
use crate::component::{DeleteOptions, Request};
use crate::model::Labels;
use crate::state::{DeletionCause, Propagation, Store};
use crate::units::SimDuration;

/// Arguments of `delete`.
#[derive(Clone, Debug)]
pub struct DeleteArgs {
    /// What.
    pub selection: Selection,
    /// `-f`.
    pub files: Vec<String>,
    /// `--cascade`.
    pub cascade: Cascade,
    /// `--grace-period`.
    pub grace_s: Option<i64>,
    /// `--force`.
    pub force: bool,
    /// `--wait`.
    pub wait: bool,
    /// `--timeout` of the wait; none waits for ever.
    pub timeout: Option<SimDuration>,
    /// `--ignore-not-found`.
    pub ignore_not_found: bool,
}

/// `--cascade`: what becomes of dependents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cascade {
    /// What.
    pub propagation: Propagation,
    /// The flag's value, if it is one of old: true or false.
    pub flag: Option<String>,
}

impl Cascade {
    /// What kubectl says of a value of old.
    pub(super) fn warning(&self) -> Option<String> {
        let flag = self.flag.as_ref()?;
        let now = if self.propagation == Propagation::Orphan { "orphan" } else { "background" };
        Some(format!(
            "warning: --cascade={flag} is deprecated (boolean value) and can be replaced with --cascade={now}."
        ))
    }
}

/// Reads `--cascade`.
///
/// # Source
/// kubectl, `GetCascadingStrategy`.
pub(super) fn cascade(arguments: &Arguments) -> Result<Cascade, Stop> {
    let text = if arguments.has("cascade") { arguments.text("cascade") } else { None };
    let (propagation, is_of_old) = match text {
        None | Some("background") => (Propagation::Background, false),
        Some("foreground") => (Propagation::Foreground, false),
        Some("orphan") => (Propagation::Orphan, false),
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => (Propagation::Background, true),
        Some("0" | "f" | "F" | "false" | "FALSE" | "False") => (Propagation::Orphan, true),
        Some(other) => {
            let text =
                format!("invalid cascade value ({other}). Must be \"background\", \"foreground\", or \"orphan\"");
            return Err(Stop::error(text));
        }
    };
    Ok(Cascade { propagation, flag: text.filter(|_| is_of_old).map(str::to_owned) })
}

impl Verb for DeleteArgs {
    const COMMANDS: &'static [Words] = &[(
        "delete",
        &[
            FILES,
            DRY,
            "all! all-namespaces,A! cascade? field-selector= force! grace-period= ignore-not-found! interactive,i! now! \
                 output,o= raw= selector,l= timeout= wait!",
        ],
    )];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        check_kustomize(arguments)?;
        let cascade = cascade(arguments)?;
        let force = arguments.switch("force", false)?;
        let now = arguments.switch("now", false)?;
        let asked = arguments.number::<i64>("grace-period")?.filter(|seconds| *seconds != -1);
        if now && asked.is_some() {
            return Err(Stop::error("--now and --grace-period cannot be specified together"));
        }
        let grace_s = match asked.filter(|seconds| *seconds >= 0).or(now.then_some(1)) {
            // Without --force, none is asked for by mistake.
            Some(0) if !force => Some(1),
            None if force => Some(0),
            other => other,
        };
        if arguments.switch("all", false)? && (arguments.has("selector") || arguments.has("field-selector")) {
            return Err(Stop::error("setting 'all' parameter but found a non empty selector. "));
        }
        let files = arguments.files();
        let ignore_not_found =
            if arguments.has("ignore-not-found") { Some(arguments.switch("ignore-not-found", false)?) } else { None };
        let wait = arguments.switch("wait", true)?;
        let timeout = timeout(arguments)?;
        if let Some(output) = arguments.text("output").filter(|output| !output.is_empty() && *output != "name") {
            return Err(Stop::error(format!("unexpected -o output mode: {output}. We only support '-o name'")));
        }
        let selection = arguments.selection(WithoutNames::Refused)?;
        if force && grace_s.is_some_and(|seconds| seconds > 0) {
            return Err(Stop::error("--force and --grace-period greater than 0 cannot be specified together"));
        }
        // What is selected may go by itself.
        let ignore_not_found = ignore_not_found.unwrap_or(selection.is_selecting());
        Ok(Self { selection, files, cascade, grace_s, force, wait, timeout, ignore_not_found })
    }

    works_on_selection!(of_words);

    /// # Source
    /// kubectl delete, `DeleteResult`.
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let Scene { version, store, .. } = *scene;
        let objects = &scene.line.objects;
        plan.warnings.extend(self.cascade.warning());
        if self.force {
            plan.warnings.push(
                "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. \
                 The resource may continue to run on the cluster indefinitely."
                    .to_owned(),
            );
        }
        if let Some(failure) = unknown_kind(&self.selection, store) {
            return plan.fail(failure);
        }
        let is_chosen =
            |labels: &Labels| self.selection.selector.as_ref().is_none_or(|selector| selector.matches(labels));
        let objects: Vec<&Written> = objects.iter().filter(|w| is_chosen(&w.object.metadata().labels)).collect();
        for written in objects.iter().filter(|written| written.is_served(version)) {
            match of_another_namespace(written.object.metadata().namespace, self.selection.given_namespace()) {
                Some(failure) => plan.fail(failure),
                None => delete_written(self, written, store, plan),
            }
        }
        // A deletion asks for no object before; its own namespace is not looked for.
        let results: Vec<_> = if self.selection.targets.is_empty() {
            find(&self.selection, store)
        } else {
            let namespace = Symbol::new(&self.selection.namespace);
            let find = |target: &Target| {
                find_one(target.kind, namespace, &target.name, store)
                    .ok_or_else(|| Failure::refusal(&not_found(target.kind.meant(store), &target.name), None))
            };
            self.selection.targets.iter().map(find).collect()
        };
        if results.is_empty() && objects.is_empty() {
            plan.say("No resources found");
        }
        for result in results {
            match result {
                Ok(object) => step(self, &object, store).into_iter().for_each(|step| plan.call(step)),
                // A selection finds what it finds; what it tells is told.
                Err(failure) if !self.ignore_not_found || self.selection.targets.is_empty() => plan.fail(failure),
                Err(_) => {}
            }
        }
    }
}

/// Deletes an object of a file, in its own namespace.
fn delete_written(args: &DeleteArgs, written: &Written, store: &Store, plan: &mut CommandPlan) {
    let metadata = written.object.metadata();
    let source = Some(("deleting", Arc::clone(&written.file)));
    let (Some(kind), name) = (Kind::of(&written.object), metadata.name) else { return };
    if name.is_empty() {
        return plan.fail(nameless().with_source("deleting", &written.file));
    }
    match find_one(kind, metadata.namespace, name.as_str(), store) {
        Some(object) => {
            if let Some(step) = step(args, &object, store) {
                plan.call(Step { source, ..step });
            }
        }
        None if args.ignore_not_found => {}
        None => plan.fail(Failure::refusal(&not_found(kind, name.as_str()), Some(("deleting", &written.file)))),
    }
}

/// The deletion of an object that is to be made anew: it has to be gone first.
pub(super) fn forced(object: &Found, cascade: Propagation, store: &Store) -> Option<Step> {
    let args = DeleteArgs {
        selection: Selection::default(),
        files: Vec::new(),
        cascade: Cascade { propagation: cascade, flag: None },
        grace_s: None,
        force: false,
        wait: true,
        timeout: None,
        ignore_not_found: true,
    };
    step(&args, object, store)
}

fn step(args: &DeleteArgs, object: &Found, store: &Store) -> Option<Step> {
    let namespace = object.namespace(store);
    let (request, gone) = match object {
        Found::Pod(pod) => {
            let options = DeleteOptions { grace_s: args.grace_s, uid: None };
            (Request::DeletePod { pod: *pod, options, cause: DeletionCause::Kubectl }, Some(Gone::Pod(*pod)))
        }
        Found::Node(node) => (Request::DeleteNode { node: *node }, Some(Gone::Node(*node))),
        Found::Workload(_, id) => {
            let request = Request::DeleteWorkload { workload: *id, propagation: args.cascade.propagation };
            (request, Some(Gone::Workload(*id)))
        }
        Found::Other(kind, namespace, name) => (
            Request::DeleteOther { kind: kind.any(), namespace: *namespace, name: *name },
            lingers(*kind, *namespace, *name, store),
        ),
    };
    let kind = object.kind();
    let force = if args.grace_s == Some(0) { "force " } else { "" };
    let place = if kind.is_namespaced() { format!(" from {namespace} namespace") } else { String::new() };
    let line = format!("{} \"{}\" {force}deleted{place}", kind.printed(), object.name(store));
    let wait = gone.or(Some(Gone::AtOnce)).filter(|_| args.wait);
    Some(Step { wait, may_be_gone: args.ignore_not_found, ..Step::new(request, line) })
}

/// What to wait for of the kinds that stay for a while after they are deleted; the others are gone with the answer.
fn lingers(kind: Kind, namespace: Symbol, name: Symbol, store: &Store) -> Option<Gone> {
    match kind {
        Kind::Namespace => store.namespace(name).map(|(id, _)| Gone::Namespace(id)),
        Kind::PersistentVolumeClaim => store.volumes.find_claim(namespace, name).map(Gone::Claim),
        _ => None,
    }
}
