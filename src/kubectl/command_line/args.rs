//! Arguments of the commands.

use std::fmt;
use std::sync::Arc;

use super::super::json_path::Template;
use super::super::output::Format;
use super::super::printing::DryRun;
use super::super::resource::{Kind, Target};
use crate::model::{LabelSelector, Object, TaintArgument};
use crate::state::Propagation;
use crate::units::{Quantity, SimDuration};

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

/// What the API server does about what is no field of an object.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// It refuses the object.
    #[default]
    Strict,
    /// It warns, and drops the field.
    Warn,
    /// It drops the field.
    Ignore,
}

/// What a command works on: named objects, or a selection.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Named objects.
    pub targets: Vec<Target>,
    /// The kinds of a selection by label or of all.
    pub kinds: Vec<Kind>,
    /// `-l`.
    pub selector: Option<LabelSelector>,
    /// `--all`.
    pub all: bool,
    /// `-l` as it is written.
    pub label_text: String,
    /// `--field-selector`.
    pub fields: FieldSelector,
    /// `-n`; `default` without it.
    pub namespace: String,
    /// Whether `-n` is given: an object of a file must then be of no other namespace.
    pub is_namespace_given: bool,
    /// Of objects of files the labels count that they have, not those of the file.
    pub reads_before: bool,
    /// `-A`.
    pub all_namespaces: bool,
}

impl Selection {
    /// `-n`, if it is given.
    #[must_use]
    pub fn given_namespace(&self) -> Option<&str> {
        Some(self.namespace.as_str()).filter(|_| self.is_namespace_given)
    }

    /// Whether it selects, rather than names.
    #[must_use]
    pub fn is_selecting(&self) -> bool {
        self.all || self.selector.is_some() || !self.fields.is_empty()
    }
}

/// `--field-selector`: fields and the values that they must have, or must not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(pub Vec<FieldRequirement>);

/// One field of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field's path, such as `spec.nodeName`.
    pub field: String,
    /// The value.
    pub value: String,
    /// `!=`.
    pub is_negated: bool,
}

impl FieldSelector {
    /// Reads `a=b,c!=d`.
    ///
    /// # Errors
    /// The part that is no requirement.
    ///
    /// # Source
    /// apimachinery, `fields.ParseSelector`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let requirements = parts.map(|part| {
            let signs = [("!=", true), ("==", false), ("=", false)];
            let split = signs.iter().find_map(|(sign, is_negated)| Some((part.split_once(sign)?, *is_negated)));
            let ((field, value), is_negated) = split.ok_or_else(|| part.to_owned())?;
            Ok(FieldRequirement { field: field.to_owned(), value: value.to_owned(), is_negated })
        });
        requirements.collect::<Result<_, _>>().map(Self)
    }

    /// Whether everything matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, FieldRequirement { field, value, is_negated }) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{field}{}{value}", if *is_negated { "!=" } else { "=" })?;
        }
        Ok(())
    }
}

/// Arguments of `delete`.
#[derive(Clone, Debug)]
pub struct DeleteArgs {
    /// What.
    pub selection: Selection,
    /// `-f`.
    pub files: Vec<String>,
    /// `--cascade`.
    pub cascade: Propagation,
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

/// Arguments of `scale`.
#[derive(Clone, Debug)]
pub struct ScaleArgs {
    /// What.
    pub selection: Selection,
    /// `--replicas`.
    pub replicas: i32,
    /// `--current-replicas`.
    pub current: Option<i32>,
    /// `--resource-version`.
    pub resource_version: Option<String>,
}

/// What `label` and `annotate` change.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MetadataPart {
    /// Labels.
    Labels,
    /// Annotations.
    Annotations,
}

/// Arguments of `label` and `annotate`.
#[derive(Clone, Debug)]
pub struct LabelArgs {
    /// Which.
    pub part: MetadataPart,
    /// What.
    pub selection: Selection,
    /// Keys and values; no value removes the key.
    pub changes: Vec<(String, Option<String>)>,
    /// `--overwrite`.
    pub overwrite: bool,
    /// `--list`: what the object would have is printed, and nothing changed.
    pub list: bool,
    /// `--resource-version` that the object has to have.
    pub resource_version: Option<String>,
}

/// Arguments of `taint`.
#[derive(Clone, Debug)]
pub struct TaintArgs {
    /// Which nodes.
    pub selection: Selection,
    /// Changes.
    pub taints: Vec<TaintArgument>,
    /// `--overwrite`.
    pub overwrite: bool,
}

/// Arguments of `cordon` and `uncordon`.
#[derive(Clone, Debug)]
pub struct CordonArgs {
    /// Which nodes.
    pub selection: Selection,
    /// What `spec.unschedulable` becomes.
    pub unschedulable: bool,
}

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

/// Arguments of `set image`.
#[derive(Clone, Debug)]
pub struct SetImageArgs {
    /// What.
    pub selection: Selection,
    /// Container (`*` for all) and image.
    pub images: Vec<(String, String)>,
}

/// How a patch is merged.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// Lists of named things merge by name.
    Strategic,
    /// Lists are replaced.
    Merge,
    /// A list of operations.
    Json,
}

/// Arguments of `patch`.
#[derive(Clone, Debug)]
pub struct PatchArgs {
    /// What.
    pub selection: Selection,
    /// `--type`.
    pub patch_type: PatchType,
    /// `-p`.
    pub patch: serde_json::Value,
    /// `--patch-file`, whose content takes the place of `patch`.
    pub patch_file: Option<String>,
    /// `--subresource=scale`: of the size alone.
    pub of_scale: bool,
}

/// Arguments of `create KIND` and `run`: an object made from flags.
#[derive(Clone, Debug)]
pub struct MakeArgs {
    /// The object.
    pub object: Object,
    /// What is printed to be done.
    pub done: &'static str,
    /// What stands before the server's refusal.
    pub failed: String,
    /// Whether `-n` says the namespace.
    pub is_namespace_given: bool,
    /// The Service that `run --expose` makes besides.
    pub service: Option<Object>,
}

/// Arguments of `create job --from`.
#[derive(Clone, Debug)]
pub struct JobFromArgs {
    /// The Job's name.
    pub name: String,
    /// The CronJob.
    pub selection: Selection,
}

/// Arguments of `expose`.
#[derive(Clone, Debug)]
pub struct ExposeArgs {
    /// What is exposed.
    pub selection: Selection,
    /// `--name`.
    pub name: Option<String>,
    /// `--port`.
    pub ports: Vec<i32>,
    /// `--target-port`.
    pub target_port: Option<String>,
    /// `--selector`.
    pub selector: Option<String>,
    /// `--type`.
    pub service_type: Option<String>,
}

/// Arguments of `autoscale`.
#[derive(Clone, Debug)]
pub struct AutoscaleArgs {
    /// What is scaled.
    pub selection: Selection,
    /// `--name`.
    pub name: Option<String>,
    /// `--min`; less than 1 if not given.
    pub min: i32,
    /// `--max`.
    pub max: i32,
    /// `--cpu-percent`, if it is positive.
    pub cpu_percent: Option<i32>,
    /// `--cpu`.
    pub cpu: Option<UsageTarget>,
    /// `--memory`.
    pub memory: Option<UsageTarget>,
    /// Whether `--cpu-percent` was given, which kubectl advises against.
    pub is_deprecated: bool,
}

/// How much of a resource an autoscaler is to have pods use.
#[derive(Copy, Clone, Debug)]
pub enum UsageTarget {
    /// Percent of what they request.
    Utilization(i32),
    /// On average.
    Average(Quantity),
}

/// Arguments of `set` but for images.
#[derive(Clone, Debug)]
pub struct SetArgs {
    /// What.
    pub selection: Selection,
    /// `--containers`; `*` for all.
    pub container: String,
    /// What is set.
    pub what: SetWhat,
}

/// What `set` sets.
#[derive(Clone, Debug)]
pub enum SetWhat {
    /// Variables; no value removes one.
    Env {
        /// Names and values.
        changes: Vec<(String, Option<String>)>,
        /// `--overwrite`.
        overwrite: bool,
    },
    /// Resources of containers.
    Resources {
        /// `--limits`.
        limits: Vec<(String, String)>,
        /// `--requests`.
        requests: Vec<(String, String)>,
    },
    /// `spec.serviceAccountName`.
    ServiceAccount(String),
    /// The selector of a Service.
    Selector(Vec<(String, String)>),
}

/// Arguments of `replace`.
#[derive(Clone, Debug)]
pub struct ReplaceArgs {
    /// `-n`, if given.
    pub namespace: Option<String>,
    /// `--force`: the objects are deleted and made anew.
    pub force: bool,
    /// `--validate`.
    pub validation: FieldValidation,
}

/// Which columns `get` prints.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    /// The usual ones.
    Usual,
    /// `-o wide`.
    Wide,
    /// `-o name`.
    Name,
    /// Objects, or columns of one's own.
    Objects(Arc<Format>),
}

/// Arguments of `get`.
#[derive(Clone, Debug)]
pub struct GetArgs {
    /// What.
    pub selection: Selection,
    /// `-o`.
    pub columns: Columns,
    /// `--no-headers`.
    pub no_headers: bool,
    /// `--ignore-not-found`.
    pub ignore_not_found: bool,
    /// `--sort-by`, as written and as read.
    pub sort_by: Option<(String, Template)>,
    /// `-L`: labels with a column of their own.
    pub label_columns: Vec<String>,
    /// `--show-labels`.
    pub show_labels: bool,
    /// `--watch`, `--watch-only`.
    pub watch: bool,
}

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

/// Arguments of `rollout history`.
#[derive(Clone, Debug)]
pub struct HistoryArgs {
    /// What.
    pub selection: Selection,
    /// `--revision` whose template is shown; 0 for the list of all.
    pub revision: i64,
}
