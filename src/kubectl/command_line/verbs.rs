//! The commands: from words and flags to their arguments.

use std::str::FromStr;
use std::sync::Arc;

use super::super::output::Format;
use super::super::printing::{DryRun, Output, Printing};
use super::flags::{Arguments, subcommands};
use super::resources::WithoutNames;
use super::{
    ApplyArgs, ApplyVerb, Command, CommandLineError, CordonArgs, DeleteArgs, DrainArgs, FieldValidation, LabelArgs,
    MetadataPart, PatchArgs, PatchType, ReplaceArgs, RolloutArgs, RolloutVerb, ScaleArgs, SetImageArgs, Stop,
    TaintArgs, error, looking, making, setting,
};
use crate::kubectl::resource::Kind;
use crate::model::{LabelSelector, TaintArgument};
use crate::state::Propagation;
use crate::units::SimDuration;

/// The outputs that kubectl names when it is asked for another.
const FORMATS: &str = "custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,\
     jsonpath-file,kyaml,name,template,templatefile,wide,yaml";

/// `--dry-run` and `-o`.
///
/// # Source
/// kubectl, `GetDryRunStrategy`: without a value, and as a boolean, it means the client's.
pub(super) fn printing(arguments: &Arguments) -> Result<Printing, Stop> {
    let dry_run = match arguments.text("dry-run") {
        None if arguments.has("dry-run") => DryRun::Client,
        None | Some("none") => DryRun::None,
        Some("client" | "unchanged") => DryRun::Client,
        Some("server") => DryRun::Server,
        Some(value) => match arguments.switch("dry-run", false) {
            Ok(true) => DryRun::Client,
            Ok(false) => DryRun::None,
            Err(_) => {
                let text = format!("Invalid dry-run value ({value}). Must be \"none\", \"server\", or \"client\".");
                return Err(Stop::error(text));
            }
        },
    };
    let output = match arguments.text("output") {
        None | Some("" | "wide") => Output::Human,
        Some("name") => Output::Name,
        Some(text) => {
            let format = Format::parse(text, arguments.text("template")).map_err(Stop::error)?;
            let prints_objects = !UNANSWERED.contains(&arguments.path.as_str());
            if prints_objects && !format.is_kubectls() {
                return Err(Stop::error(format!(
                    "unable to match a printer suitable for the output format \"{text}\", allowed formats are: {FORMATS}"
                )));
            }
            Output::Object(Arc::new(format))
        }
    };
    let server_side = arguments.path == "apply" && arguments.switch("server-side", false)?;
    Ok(Printing { dry_run, output, server_side })
}

/// The command of a line.
pub(super) fn command(arguments: &mut Arguments, printing: &Printing, line: &str) -> Result<Command, Stop> {
    match arguments.path.clone().as_str() {
        "apply" => apply(arguments, ApplyVerb::Apply),
        "create" => apply(arguments, ApplyVerb::Create),
        "delete" => delete(arguments),
        "scale" => scale(arguments, line),
        "label" => label(arguments, MetadataPart::Labels),
        "annotate" => label(arguments, MetadataPart::Annotations),
        "taint" => taint(arguments),
        "cordon" => cordon(arguments, true),
        "uncordon" => cordon(arguments, false),
        "drain" => drain(arguments, printing.dry_run),
        "rollout restart" => rollout(arguments, RolloutVerb::Restart),
        "rollout pause" => rollout(arguments, RolloutVerb::Pause),
        "rollout resume" => rollout(arguments, RolloutVerb::Resume),
        "rollout undo" => rollout(arguments, RolloutVerb::Undo),
        "rollout status" => rollout(arguments, RolloutVerb::Status),
        "set image" => set_image(arguments),
        "patch" => patch(arguments),
        path => more(arguments, path, printing),
    }
}

/// What changes nothing in the cluster, or nothing that is modelled.
const UNANSWERED: [&str; 26] = [
    "apply view-last-applied",
    "describe",
    "logs",
    "exec",
    "attach",
    "cp",
    "port-forward",
    "proxy",
    "top node",
    "top pod",
    "events",
    "explain",
    "version",
    "cluster-info",
    "api-resources",
    "api-versions",
    "config",
    "auth",
    "debug",
    "diff",
    "kustomize",
    "completion",
    "plugin",
    "options",
    "help",
    "create token",
];

fn more(arguments: &mut Arguments, path: &str, printing: &Printing) -> Result<Command, Stop> {
    match path {
        "set env" => setting::env(arguments),
        "set resources" => setting::resources(arguments),
        "set serviceaccount" => setting::service_account(arguments),
        "set selector" => setting::selector(arguments),
        "replace" => replace(arguments),
        "run" => making::run(arguments),
        "expose" => making::expose(arguments),
        "autoscale" => making::autoscale(arguments),
        "edit" | "apply edit-last-applied" => Err(edit(arguments).into()),
        "apply set-last-applied" => Err(set_last_applied().into()),
        "certificate" => certificate(arguments),
        "get" => looking::get(arguments, printing),
        "wait" => looking::wait(arguments),
        "rollout history" => looking::history(arguments),
        _ if UNANSWERED.contains(&path) => Ok(looking::unanswered(arguments)),
        "create secret" | "create service" => Err(unplayable(path, arguments)),
        _ if path.starts_with("create ") => making::create(arguments),
        _ => Err(unplayable(path, arguments)),
    }
}

fn set_last_applied() -> CommandLineError {
    CommandLineError {
        message: "kubectl apply set-last-applied cannot be played".to_owned(),
        word: "set-last-applied".to_owned(),
        help: Some(
            "write what it does: `annotate --overwrite TYPE/NAME kubectl.kubernetes.io/last-applied-configuration='…'`"
                .to_owned(),
        ),
    }
}

fn edit(arguments: &Arguments) -> CommandLineError {
    let what = if arguments.words.is_empty() { "TYPE/NAME".to_owned() } else { arguments.words.join(" ") };
    CommandLineError {
        message: format!("kubectl {} cannot be played: nobody is there to edit", arguments.path),
        word: arguments.path.rsplit(' ').next().unwrap_or_default().to_owned(),
        help: Some(format!(
            "write what is changed: `patch {what} -p '{{\"spec\": …}}'`, or change the file and `apply -f` it"
        )),
    }
}

/// # Source
/// kubectl, `ReplaceOptions.Validate`.
fn replace(arguments: &Arguments) -> Result<Command, Stop> {
    let force = arguments.switch("force", false)?;
    if !force && arguments.number::<i64>("grace-period")?.is_some_and(|seconds| seconds >= 0) {
        return Err(Stop::error("--grace-period must have --force specified"));
    }
    if !force && arguments.has("timeout") {
        return Err(Stop::error("--timeout must have --force specified"));
    }
    if force && arguments.has("dry-run") {
        return Err(Stop::error("--dry-run can not be used when --force is set"));
    }
    if arguments.files().is_empty() && !arguments.has("kustomize") {
        return Err(Stop::error("must specify --filename to replace"));
    }
    check_kustomize(arguments)?;
    check_subresource(arguments)?;
    let namespace = arguments.has("namespace").then(|| arguments.namespace());
    let validation = field_validation(arguments)?;
    Ok(Command::Replace(ReplaceArgs { namespace, force, validation }))
}

fn certificate(arguments: &mut Arguments) -> Result<Command, Stop> {
    let done = match arguments.words.first().map(String::as_str) {
        Some("approve") => "approved",
        Some("deny") => "denied",
        _ => return Err(error("certificate", "kubectl certificate needs `approve` or `deny`").into()),
    };
    arguments.words[0] = "csr".to_owned();
    Ok(Command::Certificate(arguments.selection(WithoutNames::Refused)?, done))
}

/// What a kustomization makes is not read.
fn check_kustomize(arguments: &Arguments) -> Result<(), CommandLineError> {
    let Some(directory) = arguments.text("kustomize") else { return Ok(()) };
    let help = format!("write what `kubectl kustomize {directory}` prints into a file, and name that with `-f`");
    let message = format!("kubectl {} -k cannot be played", arguments.path);
    Err(CommandLineError { message, word: directory.to_owned(), help: Some(help) })
}

/// What is no command, or wants one more word: kubectl prints its help, and fails.
///
/// # Source
/// kubectl, `DefaultSubCommandRun`.
fn unplayable(path: &str, arguments: &Arguments) -> Stop {
    let valid: Vec<&str> = subcommands(path).collect();
    if valid.is_empty() {
        return error(path, format!("kubectl {path} cannot be played")).into();
    }
    match arguments.words.as_slice() {
        [] => Stop::error(format!("kubectl {path} needs one of its commands: {}", valid.join(", "))),
        words => Stop::usage(format!("unknown command {:?}", words.join(" ")), path),
    }
}

/// A Go duration as kubectl's flags take it.
pub(super) fn duration(value: &str) -> Result<SimDuration, CommandLineError> {
    SimDuration::from_str(value).map_err(|e| error(value, e.to_string()))
}

/// `--timeout`; none waits for ever.
fn timeout(arguments: &Arguments) -> Result<Option<SimDuration>, CommandLineError> {
    let timeout = arguments.text("timeout").map(duration).transpose()?;
    Ok(timeout.filter(|timeout| *timeout > SimDuration::ZERO))
}

fn apply(arguments: &Arguments, verb: ApplyVerb) -> Result<Command, Stop> {
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
    Ok(Command::Apply(ApplyArgs { verb, files, namespace, selector, force, validation }))
}

/// `--validate`.
///
/// # Source
/// kubectl, `GetValidationDirective`.
fn field_validation(arguments: &Arguments) -> Result<FieldValidation, Stop> {
    match arguments.text("validate").unwrap_or("strict") {
        "" | "strict" | "true" => Ok(FieldValidation::Strict),
        "warn" => Ok(FieldValidation::Warn),
        "ignore" | "false" => Ok(FieldValidation::Ignore),
        other => Err(Stop::error(format!(
            "invalid - validate option {other:?}; must be one of: strict (or true), warn, ignore (or false)"
        ))),
    }
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
    if server_side && printing(arguments)?.dry_run == DryRun::Client {
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

fn delete(arguments: &mut Arguments) -> Result<Command, Stop> {
    check_kustomize(arguments)?;
    let cascade = match (arguments.has("cascade"), arguments.text("cascade")) {
        (false, _) | (true, None | Some("background" | "true")) => Propagation::Background,
        (true, Some("foreground")) => Propagation::Foreground,
        (true, Some("orphan" | "false")) => Propagation::Orphan,
        (true, Some(other)) => {
            let text =
                format!("invalid cascade value ({other}). Must be \"background\", \"foreground\", or \"orphan\"");
            return Err(Stop::error(text));
        }
    };
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
    Ok(Command::Delete(DeleteArgs { selection, files, cascade, grace_s, force, wait, timeout, ignore_not_found }))
}

fn scale(arguments: &mut Arguments, line: &str) -> Result<Command, Stop> {
    let replicas = arguments.number("replicas")?.ok_or_else(|| error(line, "kubectl scale needs --replicas=COUNT"))?;
    if replicas < 0 {
        let text = "The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0";
        return Err(Stop::error(text));
    }
    let current = arguments.number::<i32>("current-replicas")?;
    if current.is_some_and(|current| current < -1) {
        return Err(Stop::error("The --current-replicas must specify an integer of -1 or greater"));
    }
    if arguments.switch("all", false)?
        && let Some(selector) = arguments.text("selector")
    {
        return Err(Stop::error(format!(
            "found non-empty label selector {selector:?} with previously set 'all' parameter. "
        )));
    }
    let without = all_or_refused(arguments)?;
    let selection = arguments.selection(without)?;
    let resource_version = arguments.text("resource-version").filter(|text| !text.is_empty()).map(str::to_owned);
    let current = current.filter(|current| *current >= 0);
    Ok(Command::Scale(ScaleArgs { selection, replicas, current, resource_version }))
}

fn all_or_refused(arguments: &Arguments) -> Result<WithoutNames, CommandLineError> {
    Ok(if arguments.switch("all", false)? { WithoutNames::All } else { WithoutNames::Refused })
}

/// Splits off the words that change something, `key=value` and `key-`, which stand at the end.
///
/// # Source
/// kubectl, `GetResourcesAndPairs`.
fn pairs(arguments: &mut Arguments, what: &str) -> Result<Vec<(String, Option<String>)>, Stop> {
    let is_pair = |word: &String| word.contains('=') && !word.starts_with('=') || word.ends_with('-') && word != "-";
    let first = arguments.words.iter().position(is_pair).unwrap_or(arguments.words.len());
    let changes = arguments.words.split_off(first);
    if let Some(word) = changes.iter().find(|word| !is_pair(word)) {
        return Err(Stop::error(format!("all resources must be specified before {what} changes: {word}")));
    }
    let change = |word: String| match word.split_once('=') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (word.trim_end_matches('-').to_owned(), None),
    };
    Ok(changes.into_iter().map(change).collect())
}

/// # Source
/// kubectl, `LabelOptions.Validate`, `parseLabels`, `AnnotateOptions`.
fn label(arguments: &mut Arguments, part: MetadataPart) -> Result<Command, Stop> {
    let (what, update) = match part {
        MetadataPart::Labels => ("label", "at least one label update is required"),
        MetadataPart::Annotations => ("annotation", "at least one annotation update is required"),
    };
    let changes = pairs(arguments, what)?;
    let removed: Vec<&str> = changes.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| key.as_str()).collect();
    let both: Vec<&str> = removed
        .into_iter()
        .filter(|key| changes.iter().any(|(other, value)| other == key && value.is_some()))
        .collect();
    match part {
        MetadataPart::Labels => {
            for (key, value) in changes.iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
                if value.contains('=') {
                    return Err(Stop::error(format!("invalid label spec: {key}={value}")));
                }
                if !crate::model::is_label_value(value) {
                    return Err(Stop::error(format!("invalid label value: \"{key}={value}\": {LABEL_VALUE}")));
                }
            }
            if !both.is_empty() {
                return Err(Stop::error("can not both modify and remove a label in the same command"));
            }
        }
        MetadataPart::Annotations if !both.is_empty() => {
            let both = both.join(", ");
            let text = "can not both modify and remove the following annotation(s) in the same command";
            return Err(Stop::error(format!("{text}: {both}")));
        }
        MetadataPart::Annotations => {}
    }
    if arguments.switch("all", false)?
        && let Some(flag) = ["selector", "field-selector"].into_iter().find(|flag| arguments.has(flag))
    {
        return Err(Stop::error(format!("cannot set --all and --{flag} at the same time")));
    }
    let has_files = arguments.has("filename");
    if arguments.words.is_empty() && !has_files {
        return Err(Stop::error("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
    }
    if changes.is_empty() && !arguments.switch("list", false)? {
        return Err(Stop::error(update));
    }
    let list = arguments.switch("list", false)?;
    if list && arguments.has("output") {
        return Err(Stop::error("--list and --output may not be specified together"));
    }
    let overwrite = arguments.switch("overwrite", false)?;
    let resource_version = arguments.text("resource-version").filter(|text| !text.is_empty()).map(str::to_owned);
    let without = all_or_refused(arguments)?;
    let selection = arguments.selection(without)?;
    Ok(Command::Label(LabelArgs { part, selection, changes, overwrite, list, resource_version }))
}

/// What a label's value has to be like, in the API's words.
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
     validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// # Source
/// kubectl, `TaintOptions.Complete` and `Validate`, `parseTaints`.
fn taint(arguments: &mut Arguments) -> Result<Command, Stop> {
    let is_taint = |word: &String| word.contains('=') || word.contains(':') || word.ends_with('-');
    let first = arguments.words.iter().position(is_taint).unwrap_or(arguments.words.len());
    let taints = arguments.words.split_off(first);
    if let Some(word) = taints.iter().find(|word| !is_taint(word)) {
        return Err(Stop::error(format!("all resources must be specified before taint changes: {word}")));
    }
    if arguments.words.is_empty() {
        return Err(Stop::error("one or more resources must be specified as <resource> <name>"));
    }
    if taints.is_empty() {
        return Err(Stop::error("at least one taint update is required"));
    }
    let parse = |text: &String| TaintArgument::parse(text).map_err(|e| error(text, e.to_string()));
    let taints = taints.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    check_taints(&taints)?;
    let word = arguments.words.remove(0);
    let kind = Kind::parse(&word);
    if kind != Kind::Node {
        let text = format!("invalid resource type {}, only node types are supported", word.to_lowercase());
        return Err(Stop::error(text));
    }
    let conflicts = conflicts(&taints);
    if !conflicts.is_empty() {
        let text = "can not both modify and remove the following taint(s) in the same command";
        return Err(Stop::error(format!("{text}: {}", conflicts.join(", "))));
    }
    let all = arguments.switch("all", false)?;
    let selects = arguments.label_selector()?.is_some();
    if all && selects {
        return Err(Stop::error("setting 'all' parameter with a non empty selector is prohibited"));
    }
    if all || selects {
        // Names beside a selector are passed over.
        arguments.words.clear();
    } else if arguments.words.is_empty() {
        return Err(Stop::error("at least one resource name must be specified since 'all' parameter is not set"));
    }
    let overwrite = arguments.switch("overwrite", false)?;
    let selection = arguments.nodes()?;
    Ok(Command::Taint(TaintArgs { selection, taints, overwrite }))
}

/// Two taints to add of one key and effect are refused.
fn check_taints(taints: &[TaintArgument]) -> Result<(), Stop> {
    for (index, argument) in taints.iter().enumerate() {
        let TaintArgument::Add(taint) = argument else { continue };
        let is_same = |other: &TaintArgument| matches!(other, TaintArgument::Add(other) if other.is_same(taint));
        if taints[..index].iter().any(is_same) {
            let shown = format!("{{{} {} {} <nil>}}", taint.key, taint.value, taint.effect);
            return Err(Stop::usage(format!("duplicated taints with the same key and effect: {shown}"), "taint"));
        }
    }
    Ok(())
}

/// Taints that are to be added and removed, as kubectl names them.
fn conflicts(taints: &[TaintArgument]) -> Vec<String> {
    let mut conflicts = Vec::new();
    for added in taints {
        let TaintArgument::Add(added) = added else { continue };
        for removed in taints {
            if let TaintArgument::Remove { key, effect } = removed
                && *key == added.key
                && effect.is_none_or(|effect| effect == added.effect)
            {
                conflicts.push(format!("{key}={}", effect.map(|effect| effect.to_string()).unwrap_or_default()));
            }
        }
    }
    conflicts
}

/// # Source
/// kubectl, `DrainCmdOptions.Complete`.
fn check_nodes(arguments: &Arguments) -> Result<(), Stop> {
    if arguments.words.is_empty() && !arguments.has("selector") {
        return Err(Stop::usage(format!("USAGE: {} NODE [flags]", arguments.path), &arguments.path));
    }
    if !arguments.words.is_empty() && arguments.text("selector").is_some_and(|text| !text.is_empty()) {
        let text = "cannot specify both a node name and a --selector option";
        return Err(Stop::usage(text, &arguments.path));
    }
    Ok(())
}

fn cordon(arguments: &mut Arguments, unschedulable: bool) -> Result<Command, Stop> {
    check_nodes(arguments)?;
    let selection = arguments.nodes()?;
    Ok(Command::Cordon(CordonArgs { selection, unschedulable }))
}

fn drain(arguments: &mut Arguments, dry_run: DryRun) -> Result<Command, Stop> {
    check_nodes(arguments)?;
    let pod_selector = arguments.text("pod-selector").map(|text| {
        let message = format!("--pod-selector={text} must be a valid label selector");
        LabelSelector::parse(text).map_err(|_| error(text, message))
    });
    let args = DrainArgs {
        pod_selector: pod_selector.transpose()?,
        force: arguments.switch("force", false)?,
        ignore_daemon_sets: arguments.switch("ignore-daemonsets", false)?,
        delete_empty_dir_data: arguments.switch("delete-emptydir-data", false)?,
        grace_s: arguments.number::<i64>("grace-period")?.filter(|s| *s >= 0),
        timeout: timeout(arguments)?,
        disable_eviction: arguments.switch("disable-eviction", false)?,
        skip_wait_s: arguments.number("skip-wait-for-delete-timeout")?.unwrap_or(0),
        dry_run,
        selection: arguments.nodes()?,
    };
    Ok(Command::Drain(args))
}

fn rollout(arguments: &mut Arguments, verb: RolloutVerb) -> Result<Command, Stop> {
    if arguments.words.is_empty() && !arguments.has("filename") {
        return Err(Stop::error("required resource not specified"));
    }
    let to_revision = arguments.number("to-revision")?.unwrap_or(0);
    let revision = revision(arguments)?;
    let watch = arguments.switch("watch", true)?;
    let timeout = timeout(arguments)?;
    let selection = arguments.selection(WithoutNames::All)?;
    Ok(Command::Rollout(RolloutArgs { verb, selection, to_revision, revision, watch, timeout }))
}

/// `--revision`.
///
/// # Source
/// kubectl, `RolloutStatusOptions.Validate`, `RolloutHistoryOptions.Validate`.
pub(super) fn revision(arguments: &Arguments) -> Result<i64, Stop> {
    match arguments.number("revision")?.unwrap_or(0) {
        revision if revision < 0 => Err(Stop::error(format!("revision must be a positive integer: {revision}"))),
        revision => Ok(revision),
    }
}

fn set_image(arguments: &mut Arguments) -> Result<Command, Stop> {
    let images = pairs(arguments, "image")?;
    let images: Vec<(String, String)> = images.into_iter().filter_map(|(c, image)| image.map(|i| (c, i))).collect();
    let all = arguments.switch("all", false)?;
    let mut problems = Vec::new();
    if all && arguments.has("selector") {
        problems.push("cannot set --all and --selector at the same time");
    }
    if arguments.words.is_empty() && !arguments.has("filename") {
        problems.push("one or more resources must be specified as <resource> <name> or <resource>/<name>");
    }
    if images.is_empty() {
        problems.push("at least one image update is required");
    } else if images.len() > 1 && images.iter().any(|(container, _)| container == "*") {
        let text =
            "all containers are already specified by *, but saw more than one container_name=container_image pairs";
        problems.push(text);
    }
    match problems.as_slice() {
        [] => {}
        [one] => return Err(Stop::error(one)),
        several => return Err(Stop::refused(several)),
    }
    let without = all_or_refused(arguments)?;
    let selection = arguments.selection(without)?;
    Ok(Command::SetImage(SetImageArgs { selection, images }))
}

/// What an object's status says is what components find, not what operators write.
fn check_subresource(arguments: &Arguments) -> Result<(), CommandLineError> {
    let Some(name) = arguments.text("subresource").filter(|name| !matches!(*name, "" | "scale")) else { return Ok(()) };
    Err(CommandLineError {
        message: format!("kubectl {} --subresource={name} cannot be played", arguments.path),
        word: "--subresource".to_owned(),
        help: Some(
            "statuses are simulated; when a readiness gate is met is said by the annotation `kubesquall.sim/gate-<condition>` \
             of the pod template, what befalls a node by a `fault:`"
                .to_owned(),
        ),
    })
}

/// # Source
/// kubectl, `PatchOptions.Validate` and `RunPatch`.
fn patch(arguments: &mut Arguments) -> Result<Command, Stop> {
    let file = arguments.text("patch-file").filter(|file| !file.is_empty()).map(str::to_owned);
    let text = arguments.text("patch").filter(|text| !text.is_empty()).map(str::to_owned);
    let text = match (&file, text) {
        (Some(_), Some(_)) => return Err(Stop::error("cannot specify --patch and --patch-file together")),
        (None, None) => {
            return Err(Stop::error("must specify --patch or --patch-file containing the contents of the patch"));
        }
        (Some(_), None) => "null".to_owned(),
        (None, Some(text)) => text,
    };
    let patch_type = match arguments.text("type").map(str::to_lowercase).as_deref() {
        None | Some("strategic") => PatchType::Strategic,
        Some("merge") => PatchType::Merge,
        Some("json") => PatchType::Json,
        Some(other) => {
            return Err(Stop::error(format!("--type must be one of [json merge strategic], not {other:?}")));
        }
    };
    check_subresource(arguments)?;
    let invalid = |error: CommandLineError| Stop::error(format!("unable to parse {text:?}: {}", error.message));
    let patch = patch_value(&text).map_err(invalid)?;
    let selection = arguments.selection(WithoutNames::Refused)?;
    let of_scale = arguments.text("subresource") == Some("scale");
    Ok(Command::Patch(PatchArgs { selection, patch_type, patch, patch_file: file, of_scale }))
}

/// Reads a patch: JSON, or YAML.
pub(crate) fn patch_value(text: &str) -> Result<serde_json::Value, CommandLineError> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(_) => serde_saphyr::from_str(text).map_err(|_| error(text, "the patch is neither JSON nor YAML")),
    }
}
