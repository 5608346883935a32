//! `kubectl apply -f` and `kubectl create -f`.

use std::sync::Arc;

use super::command_line::{
    Arguments, CREATE, CommandLineError, DRY, FILES, FieldValidation, PRINT, Selection, Stop, WRITE, Words,
    check_kustomize, check_subresource, field_validation,
};
use super::failure::Failure;
use super::label::is_outdated;
use super::printing::DryRun;
use super::resource::{Found, Kind, find_one};
use super::verb::{Scene, Verb};
use super::{CommandPlan, Item, Step, UNNAMED, Written, three_way};
use crate::arena::Symbol;
use crate::component::Request;
use crate::model::{LabelSelector, Object};
use crate::state::{Propagation, Store};

/// Whether `apply` or `create`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ApplyVerb {
    /// Existing objects are changed.
    Apply,
    /// Existing objects are an error.
    Create,
}

/// Arguments of `apply` and `create`.
#[derive(Clone, Debug)]
pub struct ApplyArgs {
    /// Which.
    pub verb: ApplyVerb,
    /// `-f`.
    pub files: Vec<String>,
    /// `-n`, if given.
    pub namespace: Option<String>,
    /// `-l`: which objects of the files.
    pub selector: Option<LabelSelector>,
    /// `--force`: what cannot be changed is deleted and made anew.
    pub force: bool,
    /// `--validate`.
    pub validation: FieldValidation,
}

impl Verb for ApplyArgs {
    const COMMANDS: &'static [Words] = &[
        (
            "apply",
            &[
                FILES,
                PRINT,
                DRY,
                WRITE,
                "all! applyset= cascade? force! force-conflicts! grace-period= openapi-patch! overwrite! prune! \
                 prune-allowlist= selector,l= server-side! subresource= timeout= wait!",
            ],
        ),
        ("create", &[FILES, PRINT, DRY, WRITE, CREATE, "edit! raw= selector,l= windows-line-endings!"]),
    ];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let is_create = arguments.path == "create";
        read(arguments, if is_create { ApplyVerb::Create } else { ApplyVerb::Apply })
    }

    fn selection(&self) -> Option<&Selection> {
        None
    }

    fn given_namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let version = scene.version;
        let objects = &scene.line.objects;
        let is_chosen = |object: &Object| self.selector.as_ref().is_none_or(|s| s.matches(&object.metadata().labels));
        let chosen = (0..objects.len()).filter(|index| is_chosen(&objects[*index].object));
        let chosen: Vec<usize> = chosen.filter(|index| objects[*index].is_served(version)).collect();
        if chosen.is_empty() && plan.items.is_empty() {
            let verb = if self.verb == ApplyVerb::Create { "create" } else { "apply" };
            plan.fail(Failure::own(format!("no objects passed to {verb}")));
        }
        plan.items.extend(chosen.into_iter().map(Item::Apply));
    }
}

fn read(arguments: &Arguments, verb: ApplyVerb) -> Result<ApplyArgs, Stop> {
    let files = arguments.files();
    if !arguments.words.is_empty() {
        let words = arguments.words.join(" ");
        return Err(match (verb, files.is_empty()) {
            (ApplyVerb::Create, true) => Stop::usage(format!("unknown command {words:?}"), "create"),
            _ => Stop::usage(format!("Unexpected args: [{words}]"), &arguments.path),
        });
    }
    check_kustomize(arguments)?;
    check_subresource(arguments)?;
    check_apply(arguments)?;
    if files.is_empty() {
        return Err(Stop::error("must specify one of -f and -k"));
    }
    let namespace = arguments.has("namespace").then(|| arguments.namespace());
    let selector = arguments.label_selector()?;
    let force = arguments.switch("force", false)?;
    let validation = field_validation(arguments)?;
    Ok(ApplyArgs { verb, files, namespace, selector, force, validation })
}

/// # Source
/// kubectl, `ApplyOptions.Validate`.
fn check_apply(arguments: &Arguments) -> Result<(), Stop> {
    // `create` has none of these flags.
    let server_side = arguments.switch("server-side", false)?;
    let force = arguments.switch("force", false)?;
    if arguments.switch("force-conflicts", false)? && !server_side {
        return Err(Stop::error("--force-conflicts only works with --server-side"));
    }
    if server_side && arguments.printing.dry_run == DryRun::Client {
        let text = "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)";
        return Err(Stop::error(text));
    }
    if server_side && force {
        return Err(Stop::error("--force cannot be used with --server-side"));
    }
    for (flag, help) in
        [("prune", "name what is to go with an entry `delete`"), ("edit", "change the file, and leave the flag away")]
    {
        if arguments.switch(flag, false)? {
            let (message, word) =
                (format!("kubectl {} --{flag} cannot be played", arguments.path), format!("--{flag}"));
            return Err(CommandLineError { message, word, help: Some(help.to_owned()) }.into());
        }
    }
    Ok(())
}

/// What one object of a file asks for, as things are when its turn comes.
pub(super) fn plan_one(args: &ApplyArgs, written: &Written, store: &Store, plan: &mut CommandPlan) {
    let Written { file, object, .. } = written;
    let verb = args.verb;
    let metadata = object.metadata();
    let kind = Kind::of(object);
    if verb == ApplyVerb::Apply && metadata.name.is_empty() {
        let prefix = metadata.generate_name;
        return plan.fail(Failure::own(format!("from {prefix}: cannot use generate name with apply")));
    }
    let own_name = if metadata.name.is_empty() { UNNAMED } else { metadata.name.as_str() };
    let name = format!("{}/{own_name}", kind.map_or_else(|| printed(object), |k| k.printed().to_owned()));
    let exists = kind.and_then(|k| find_one(k, metadata.namespace, metadata.name.as_str(), store));
    let is_new = verb == ApplyVerb::Create || exists.is_none();
    if !written.is_taken(if is_new { "creating" } else { "patching" }, args.validation, plan) {
        return;
    }
    let version = metadata.resource_version.map(Symbol::as_str).filter(|version| !version.is_empty());
    if is_new && version.is_some() {
        // The storage says so, and gives no reason.
        const SET: &str = "resourceVersion should not be set on objects to be created";
        return plan.fail(Failure::line(format!("Error from server: error when creating \"{file}\": {SET}")));
    }
    if is_new {
        let request = match verb {
            ApplyVerb::Create => Request::Create(Box::new(object.clone())),
            ApplyVerb::Apply => Request::Apply(Box::new(three_way::remembered(object))),
        };
        let source = Some(("creating", Arc::clone(file)));
        let home = Some(metadata.namespace).filter(|namespace| *namespace != Symbol::empty());
        return plan.call(Step { source, home, ..Step::new(request, format!("{name} created")) });
    }
    let Some(found) = &exists else { return };
    if verb == ApplyVerb::Apply {
        if let Some(failure) = is_outdated(version, found, store, Some(("patching", file))) {
            return plan.fail(failure);
        }
        apply_one(object, found, &name, store, plan);
        if args.force {
            or_replace(object, found, store, plan);
        }
    }
}

/// What the server finds invalid, or in conflict, is deleted and made anew.
///
/// # Source
/// kubectl, `Patcher.Patch` and `deleteAndCreate`.
///
/// # Differs
/// An object that cannot be made anew is not restored.
fn or_replace(object: &Object, found: &Found, store: &Store, plan: &mut CommandPlan) {
    let Some(Item::Call(step)) = plan.items.last_mut() else { return };
    let Some(deletion) = super::delete::forced(found, Propagation::Background, store) else { return };
    let create = Request::Create(Box::new(three_way::remembered(object)));
    step.otherwise = vec![
        Item::Call(Box::new(Step { line: String::new(), ..deletion })),
        Item::AwaitGone(None),
        Item::Call(Box::new(Step::new(create, step.line.clone()))),
    ];
}

/// What an object of a file makes of the one that is there.
///
/// # Source
/// kubectl, `applyOneObject`.
fn apply_one(object: &Object, found: &Found, name: &str, store: &Store, plan: &mut CommandPlan) {
    let line = format!("{name} configured");
    let Some(live) = three_way::export(found, store) else {
        let unchanged = Some(format!("{name} unchanged"));
        let request = Request::Apply(Box::new(object.clone()));
        return plan.call(Step { unchanged, ..Step::new(request, line) });
    };
    let is_remembered = live.metadata().annotations.contains_key(&Symbol::new(three_way::LAST_APPLIED));
    if !is_remembered {
        let resource = found.kind().resource().split('.').next().unwrap_or_default();
        plan.warnings.push(format!(
            "Warning: resource {resource}/{} is missing the {} annotation which is required by kubectl apply. kubectl apply \
             should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. \
             The missing annotation will be patched automatically.",
            found.name(store),
            three_way::LAST_APPLIED
        ));
    }
    let merged = match three_way::merged(object, &live) {
        Ok(merged) => merged,
        Err(problem) => return plan.fail(Failure::line(format!("The request is invalid: {problem}"))),
    };
    if found.is_being_deleted(store) {
        let name = found.name(store);
        plan.warnings.push(format!("Warning: Detected changes to resource {name} which is currently being deleted."));
    }
    match merged {
        Some(merged) => plan.call(Step::new(Request::Apply(Box::new(merged)), line)),
        // The patch names it although it is the same.
        None if three_way::is_always_replaced(object) => plan.call(Step::new(Request::Apply(Box::new(live)), line)),
        None => plan.say(format!("{name} unchanged")),
    }
}

/// The kind of an object that no command line names, as printed.
fn printed(object: &Object) -> String {
    let kind = object.kind().as_str().to_ascii_lowercase();
    let group = match object {
        Object::StorageClass(_) | Object::CSIDriver(_) | Object::CSINode(_) => ".storage.k8s.io",
        Object::HorizontalPodAutoscaler(_) => ".autoscaling",
        Object::RuntimeClass(_) => ".node.k8s.io",
        Object::ControllerRevision(_) => ".apps",
        _ => "",
    };
    kind + group
}
