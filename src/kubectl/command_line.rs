//! kubectl's command lines: words, flags, and what they mean.

use std::str::FromStr;

use super::resource::{Kind, Target};
use crate::model::{LabelSelector, TaintArgument};
use crate::state::Propagation;
use crate::units::SimDuration;

/// Why a line is not a kubectl line that can be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLineError {
    /// What is wrong.
    pub message: String,
    /// The offending word.
    pub word: String,
    /// What would be valid.
    pub help: Option<String>,
}

fn error(word: &str, message: impl Into<String>) -> CommandLineError {
    CommandLineError { message: message.into(), word: word.to_owned(), help: None }
}

/// A command.
#[derive(Clone, Debug)]
pub enum Command {
    /// `apply`, `create`.
    Apply(ApplyArgs),
    /// `delete`.
    Delete(DeleteArgs),
    /// `scale`.
    Scale(ScaleArgs),
    /// `label`, `annotate`.
    Label(LabelArgs),
    /// `taint`.
    Taint(TaintArgs),
    /// `cordon`, `uncordon`.
    Cordon(CordonArgs),
    /// `drain`.
    Drain(DrainArgs),
    /// `rollout`.
    Rollout(RolloutArgs),
    /// `set image`.
    SetImage(SetImageArgs),
    /// `patch`.
    Patch(PatchArgs),
}

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
    /// `-n`; `default` without it.
    pub namespace: String,
    /// Whether `-n` is given: an object of a file must then be of no other namespace.
    pub is_namespace_given: bool,
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

/// How a drain pretends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// It does not.
    None,
    /// It prints what it would do.
    Client,
    /// It asks the server whether it would be allowed.
    Server,
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
}

/// Splits a line into words as a shell would: quotes group, a backslash escapes.
fn words(line: &str) -> Result<Vec<String>, CommandLineError> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut has_word = false;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                has_word = true;
            }
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.push(c),
            (_, '\\') => word.extend(chars.next()),
            (None, c) if c.is_whitespace() => {
                if std::mem::take(&mut has_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => {
                word.push(c);
                has_word = true;
            }
        }
    }
    if let Some(open) = quote {
        return Err(error(line, format!("the quote {open} is never closed")));
    }
    if has_word {
        words.push(word);
    }
    Ok(words)
}

/// Words and flags of one command.
struct Arguments {
    words: Vec<String>,
    flags: Vec<(String, Option<String>)>,
    /// The last flag, when its value is missing.
    valueless: Option<String>,
}

/// Flags that take no value when none is joined with `=`.
const SWITCHES: [&str; 13] = [
    "--all",
    "--force",
    "--ignore-daemonsets",
    "--delete-emptydir-data",
    "--delete-local-data",
    "--disable-eviction",
    "--overwrite",
    "--wait",
    "--watch",
    "--now",
    "--ignore-not-found",
    "--server-side",
    "--record",
];

/// Flags that change nothing in a simulation.
const WITHOUT_EFFECT: [&str; 10] = [
    "--chunk-size",
    "--field-manager",
    "--output",
    "-o",
    "--record",
    "--server-side",
    "--validate",
    "--context",
    "--kubeconfig",
    "--request-timeout",
];

impl Arguments {
    fn split(all: Vec<String>) -> Result<Self, CommandLineError> {
        let (mut words, mut flags, mut valueless) = (Vec::new(), Vec::new(), None);
        let mut rest = all.into_iter();
        while let Some(word) = rest.next() {
            if !word.starts_with('-') || word == "-" {
                words.push(word);
                continue;
            }
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            let value = match joined {
                Some(value) => Some(value),
                None if SWITCHES.contains(&name.as_str()) => None,
                None => {
                    let next = rest.next();
                    if next.is_none() {
                        valueless = Some(name.clone());
                    }
                    next
                }
            };
            flags.push((name, value));
        }
        Ok(Self { words, flags, valueless })
    }

    fn take(&mut self, names: &[&str]) -> Option<Option<String>> {
        let mut found = None;
        self.flags.retain(|(name, value)| {
            let is_it = names.contains(&name.as_str());
            if is_it {
                found = Some(value.clone());
            }
            !is_it
        });
        found
    }

    fn text(&mut self, names: &[&str]) -> Option<String> {
        self.take(names).flatten()
    }

    fn all(&mut self, names: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        self.flags.retain(|(name, value)| {
            let is_it = names.contains(&name.as_str());
            if is_it {
                out.extend(value.iter().flat_map(|v| v.split(',').map(str::to_owned)));
            }
            !is_it
        });
        out
    }

    fn switch(&mut self, name: &str, default: bool) -> Result<bool, CommandLineError> {
        match self.take(&[name]) {
            None => Ok(default),
            Some(None) => Ok(true),
            Some(Some(value)) => {
                value.parse().map_err(|_| error(&value, format!("{name} takes true or false, not `{value}`")))
            }
        }
    }

    fn number<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, CommandLineError> {
        self.text(&[name])
            .map(|value| value.parse().map_err(|_| error(&value, format!("{name} takes a number, not `{value}`"))))
            .transpose()
    }

    /// Refuses flags that nobody took.
    fn end(mut self, verb: &str, known: &[&'static str]) -> Result<(), CommandLineError> {
        self.take(&WITHOUT_EFFECT);
        let Some((name, _)) = self.flags.first() else {
            let without = self.valueless.map(|name| error(&name, format!("flag needs an argument: {name}")));
            return without.map_or(Ok(()), Err);
        };
        let nearest = crate::diagnostics::suggest::nearest(name, known.iter().copied());
        Err(CommandLineError {
            message: format!("unknown flag of kubectl {verb}: {name}"),
            word: name.clone(),
            help: nearest.map(|flag| format!("the nearest flag is `{flag}`")),
        })
    }

    fn namespace(&mut self) -> String {
        self.text(&["-n", "--namespace"]).unwrap_or_else(|| "default".to_owned())
    }

    fn selector(&mut self) -> Result<Option<LabelSelector>, CommandLineError> {
        let text = self.text(&["-l", "--selector"]);
        text.map(|text| LabelSelector::parse(&text).map_err(|e| error(&text, e.to_string()))).transpose()
    }

    /// `TYPE/NAME…` or `TYPE NAME…`, or `TYPE` with a selector.
    fn selection(&mut self) -> Result<Selection, CommandLineError> {
        let mut selection = Selection {
            selector: self.selector()?,
            all: self.switch("--all", false)?,
            is_namespace_given: self.flags.iter().any(|(name, _)| name == "-n" || name == "--namespace"),
            namespace: self.namespace(),
            ..Selection::default()
        };
        let words = std::mem::take(&mut self.words);
        let Some(first) = words.first() else { return Ok(selection) };
        if first.contains('/') {
            for word in &words {
                let (kind, name) = word.split_once('/').unwrap_or((word, ""));
                selection.targets.push(Target { kind: kind_of(kind)?, name: name.to_owned() });
            }
            return Ok(selection);
        }
        for kind in first.split(',') {
            let kind = kind_of(kind)?;
            selection.kinds.push(kind);
            for name in &words[1..] {
                selection.targets.push(Target { kind, name: name.clone() });
            }
        }
        Ok(selection)
    }

    /// Node names, or a selector.
    fn nodes(&mut self) -> Result<Selection, CommandLineError> {
        let words = std::mem::take(&mut self.words);
        let name = |word: String| word.strip_prefix("node/").map_or(word.clone(), str::to_owned);
        Ok(Selection {
            targets: words.into_iter().map(|word| Target { kind: Kind::Node, name: name(word) }).collect(),
            kinds: vec![Kind::Node],
            selector: self.selector()?,
            all: self.switch("--all", false)?,
            namespace: self.namespace(),
            is_namespace_given: false,
        })
    }
}

fn kind_of(word: &str) -> Result<Kind, CommandLineError> {
    Kind::parse(word).ok_or_else(|| {
        let nearest = crate::diagnostics::suggest::nearest(word, Kind::words());
        CommandLineError {
            message: format!("the server doesn't have a resource type \"{word}\""),
            word: word.to_owned(),
            help: nearest.map(|kind| format!("the nearest resource type is `{kind}`")),
        }
    })
}

/// A Go duration as kubectl's flags take it.
fn duration(value: &str) -> Result<SimDuration, CommandLineError> {
    SimDuration::from_str(value).map_err(|e| error(value, e.to_string()))
}

const VERBS: [&str; 12] = [
    "apply", "create", "delete", "scale", "label", "annotate", "taint", "cordon", "uncordon", "drain", "rollout", "set",
];

/// Reads a kubectl line; a leading `kubectl` is allowed.
///
/// # Errors
/// If the verb, a flag or an argument is not one that can be played.
pub fn parse(line: &str) -> Result<Command, CommandLineError> {
    let mut words = words(line)?;
    if words.first().is_some_and(|w| w == "kubectl") {
        words.remove(0);
    }
    if words.is_empty() {
        return Err(error(line, "an empty kubectl line"));
    }
    let verb = words.remove(0);
    let mut arguments = Arguments::split(words)?;
    match verb.as_str() {
        "apply" | "create" => {
            let verb_kind = if verb == "apply" { ApplyVerb::Apply } else { ApplyVerb::Create };
            let namespace = arguments.text(&["-n", "--namespace"]);
            let files = arguments.all(&["-f", "--filename"]);
            if files.is_empty() {
                return Err(error(line, format!("kubectl {verb} needs -f FILE")));
            }
            arguments.end(&verb, &["-f", "--filename", "-n", "--namespace"])?;
            Ok(Command::Apply(ApplyArgs { verb: verb_kind, files, namespace }))
        }
        "delete" => delete(arguments),
        "scale" => scale(arguments, line),
        "label" | "annotate" => label(arguments, &verb),
        "taint" => taint(arguments),
        "cordon" | "uncordon" => {
            let selection = arguments.nodes()?;
            arguments.take(&["--dry-run"]);
            arguments.end(&verb, &["-l", "--selector", "--dry-run"])?;
            Ok(Command::Cordon(CordonArgs { selection, unschedulable: verb == "cordon" }))
        }
        "drain" => drain(arguments),
        "rollout" => rollout(arguments, line),
        "set" => set_image(arguments, line),
        "patch" => patch(arguments, line),
        other => {
            let nearest = crate::diagnostics::suggest::nearest(other, VERBS.iter().copied().chain(["patch"]));
            Err(CommandLineError {
                message: format!("kubectl {other} cannot be played"),
                word: other.to_owned(),
                help: nearest.map(|verb| format!("the nearest command is `{verb}`")),
            })
        }
    }
}

fn delete(mut arguments: Arguments) -> Result<Command, CommandLineError> {
    let files = arguments.all(&["-f", "--filename"]);
    let cascade = match arguments.text(&["--cascade"]).as_deref() {
        None | Some("background" | "true") => Propagation::Background,
        Some("foreground") => Propagation::Foreground,
        Some("orphan" | "false") => Propagation::Orphan,
        Some(other) => return Err(error(other, "--cascade is background, foreground or orphan")),
    };
    let force = arguments.switch("--force", false)?;
    let now = arguments.switch("--now", false)?;
    let grace_s = arguments.number::<i64>("--grace-period")?.filter(|s| *s >= 0).or(now.then_some(1));
    let grace_s = match grace_s {
        // Without --force, none is asked for by mistake.
        Some(0) if !force => Some(1),
        None if force => Some(0),
        Some(1..) if force => {
            let text = "error: --force and --grace-period greater than 0 cannot be specified together";
            return Err(error("--force", text));
        }
        other => other,
    };
    let wait = arguments.switch("--wait", true)?;
    let ignore_not_found = match arguments.flags.iter().any(|(name, _)| name == "--ignore-not-found") {
        true => Some(arguments.switch("--ignore-not-found", false)?),
        false => None,
    };
    let timeout = arguments.text(&["--timeout"]).map(|t| duration(&t)).transpose()?;
    let timeout = timeout.filter(|timeout| *timeout > SimDuration::ZERO);
    let selection = arguments.selection()?;
    // What is selected may go by itself.
    let ignore_not_found = ignore_not_found.unwrap_or(selection.all || selection.selector.is_some());
    arguments.end(
        "delete",
        &["-f", "-l", "-n", "--all", "--cascade", "--force", "--grace-period", "--wait", "--now", "--ignore-not-found"],
    )?;
    Ok(Command::Delete(DeleteArgs { selection, files, cascade, grace_s, force, wait, timeout, ignore_not_found }))
}

fn scale(mut arguments: Arguments, line: &str) -> Result<Command, CommandLineError> {
    let replicas =
        arguments.number("--replicas")?.ok_or_else(|| error(line, "kubectl scale needs --replicas=COUNT"))?;
    let current = arguments.number::<i32>("--current-replicas")?.filter(|c| *c >= 0);
    arguments.take(&["--timeout"]);
    let selection = arguments.selection()?;
    arguments.end("scale", &["--replicas", "--current-replicas", "-n", "-l", "--all"])?;
    Ok(Command::Scale(ScaleArgs { selection, replicas, current }))
}

/// Splits off the words that change something: `key=value` and `key-`.
fn changes(words: &mut Vec<String>) -> Vec<(String, Option<String>)> {
    let mut changes = Vec::new();
    words.retain(|word| {
        if word.contains('/') && !word.contains('=') && !word.ends_with('-') {
            return true;
        }
        if let Some((key, value)) = word.split_once('=') {
            changes.push((key.to_owned(), Some(value.to_owned())));
            return false;
        }
        match word.strip_suffix('-') {
            Some(key) if !key.is_empty() => {
                changes.push((key.to_owned(), None));
                false
            }
            _ => true,
        }
    });
    changes
}

fn label(mut arguments: Arguments, verb: &str) -> Result<Command, CommandLineError> {
    let part = if verb == "label" { MetadataPart::Labels } else { MetadataPart::Annotations };
    let changes = changes(&mut arguments.words);
    let overwrite = arguments.switch("--overwrite", false)?;
    let selection = arguments.selection()?;
    arguments.end(verb, &["--overwrite", "--all", "-l", "-n"])?;
    if changes.is_empty() {
        return Err(error(verb, format!("kubectl {verb} needs KEY=VALUE or KEY-")));
    }
    Ok(Command::Label(LabelArgs { part, selection, changes, overwrite }))
}

fn taint(mut arguments: Arguments) -> Result<Command, CommandLineError> {
    let is_kind = arguments.words.first().is_some_and(|w| Kind::parse(w) == Some(Kind::Node));
    if !is_kind {
        let word = arguments.words.first().cloned().unwrap_or_default();
        return Err(error(&word, "kubectl taint needs `node` or `nodes` and a name"));
    }
    arguments.words.remove(0);
    let (taints, names): (Vec<String>, Vec<String>) = std::mem::take(&mut arguments.words)
        .into_iter()
        .partition(|word| word.contains('=') || word.contains(':') || word.ends_with('-'));
    arguments.words = names;
    let overwrite = arguments.switch("--overwrite", false)?;
    let selection = arguments.nodes()?;
    arguments.end("taint", &["--overwrite", "--all", "-l"])?;
    let parse = |text: &String| TaintArgument::parse(text).map_err(|e| error(text, e.to_string()));
    let taints = taints.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    if taints.is_empty() {
        return Err(error("taint", "kubectl taint needs KEY=VALUE:EFFECT, KEY:EFFECT- or KEY-"));
    }
    Ok(Command::Taint(TaintArgs { selection, taints, overwrite }))
}

fn drain(mut arguments: Arguments) -> Result<Command, CommandLineError> {
    let selection = arguments.nodes()?;
    let pod_selector = arguments.text(&["--pod-selector"]);
    let pod_selector = pod_selector
        .map(|text| {
            let message = format!("--pod-selector={text} must be a valid label selector");
            LabelSelector::parse(&text).map_err(|_| error(&text, message))
        })
        .transpose()?;
    let timeout = arguments.text(&["--timeout"]).map(|t| duration(&t)).transpose()?;
    let dry_run = match arguments.text(&["--dry-run"]).as_deref() {
        None | Some("none") => DryRun::None,
        Some("client") => DryRun::Client,
        Some("server") => DryRun::Server,
        Some(other) => return Err(error(other, "--dry-run is none, client or server")),
    };
    let old_name = arguments.switch("--delete-local-data", false)?;
    let args = DrainArgs {
        selection,
        force: arguments.switch("--force", false)?,
        ignore_daemon_sets: arguments.switch("--ignore-daemonsets", false)?,
        delete_empty_dir_data: arguments.switch("--delete-emptydir-data", false)? || old_name,
        grace_s: arguments.number::<i64>("--grace-period")?.filter(|s| *s >= 0),
        timeout: timeout.filter(|t| *t > SimDuration::ZERO),
        pod_selector,
        disable_eviction: arguments.switch("--disable-eviction", false)?,
        skip_wait_s: arguments.number("--skip-wait-for-delete-timeout")?.unwrap_or(0),
        dry_run,
    };
    let known = [
        "--force",
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        "--grace-period",
        "--timeout",
        "--pod-selector",
        "--disable-eviction",
        "--skip-wait-for-delete-timeout",
        "--selector",
        "--dry-run",
    ];
    arguments.end("drain", &known)?;
    let selection = &args.selection;
    if selection.targets.is_empty() && selection.selector.is_none() {
        return Err(error("drain", "kubectl drain needs a node name or a --selector"));
    }
    if !selection.targets.is_empty() && selection.selector.is_some() {
        return Err(error("drain", "error: cannot specify both a node name and a --selector option"));
    }
    Ok(Command::Drain(args))
}

fn rollout(mut arguments: Arguments, line: &str) -> Result<Command, CommandLineError> {
    if arguments.words.is_empty() {
        return Err(error(line, "kubectl rollout needs restart, pause, resume, status or undo"));
    }
    let word = arguments.words.remove(0);
    let verb = match word.as_str() {
        "restart" => RolloutVerb::Restart,
        "pause" => RolloutVerb::Pause,
        "resume" => RolloutVerb::Resume,
        "undo" => RolloutVerb::Undo,
        "status" => RolloutVerb::Status,
        _ => return Err(error(&word, "kubectl rollout can be played with restart, pause, resume, status and undo")),
    };
    let to_revision = arguments.number("--to-revision")?.unwrap_or(0);
    let watch = arguments.switch("--watch", true)?;
    let timeout = arguments.text(&["--timeout"]).map(|t| duration(&t)).transpose()?;
    let timeout = timeout.filter(|t| *t > SimDuration::ZERO);
    let selection = arguments.selection()?;
    arguments.end("rollout", &["--to-revision", "--watch", "--timeout", "-n", "-l"])?;
    Ok(Command::Rollout(RolloutArgs { verb, selection, to_revision, watch, timeout }))
}

fn set_image(mut arguments: Arguments, line: &str) -> Result<Command, CommandLineError> {
    if arguments.words.first().is_none_or(|w| w != "image") {
        return Err(error(line, "of kubectl set only `set image` can be played"));
    }
    arguments.words.remove(0);
    let images = changes(&mut arguments.words);
    let images: Vec<(String, String)> = images.into_iter().filter_map(|(c, image)| image.map(|i| (c, i))).collect();
    let selection = arguments.selection()?;
    arguments.end("set image", &["-n", "-l", "--all"])?;
    if images.is_empty() {
        return Err(error(line, "kubectl set image needs CONTAINER=IMAGE"));
    }
    Ok(Command::SetImage(SetImageArgs { selection, images }))
}

fn patch(mut arguments: Arguments, line: &str) -> Result<Command, CommandLineError> {
    let text = arguments.text(&["-p", "--patch"]).ok_or_else(|| error(line, "kubectl patch needs -p PATCH"))?;
    let patch_type = match arguments.text(&["--type"]).as_deref() {
        None | Some("strategic") => PatchType::Strategic,
        Some("merge") => PatchType::Merge,
        Some("json") => PatchType::Json,
        Some(other) => return Err(error(other, "--type is strategic, merge or json")),
    };
    let patch: serde_json::Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(_) => serde_saphyr::from_str(&text).map_err(|_| error(&text, "the patch is neither JSON nor YAML"))?,
    };
    let selection = arguments.selection()?;
    arguments.end("patch", &["-p", "--patch", "--type", "-n"])?;
    Ok(Command::Patch(PatchArgs { selection, patch_type, patch }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words(line).expect("closed quotes"), expected, "{line}");
        check("drain n1  --force", &["drain", "n1", "--force"]);
        check(r#"patch x -p '{"a": "b c"}'"#, &["patch", "x", "-p", r#"{"a": "b c"}"#]);
        check(r#"label x a="b c""#, &["label", "x", "a=b c"]);
        assert!(words("patch -p '{").is_err());
    }

    #[test]
    fn unknown_flags_name_the_nearest() {
        let error = parse("drain n1 --ignore-daemonset").expect_err("an unknown flag");
        assert!(error.help.expect("help").contains("--ignore-daemonsets"), "{}", error.message);
    }

    #[test]
    fn drain_needs_nodes_but_not_twice() {
        assert!(parse("drain").is_err());
        assert!(parse("drain n1 -l a=b").is_err());
        assert!(parse("drain -l a=b --timeout 5m").is_ok());
        assert!(parse("drain n1 --timeout=-5m").is_err());
    }

    #[test]
    fn labels_and_taints_are_told_from_names() {
        let Ok(Command::Label(args)) = parse("label node w-0 gpu=yes role-") else { panic!("a label line") };
        assert_eq!(args.changes, [("gpu".into(), Some("yes".into())), ("role".into(), None)]);
        let Ok(Command::Taint(args)) = parse("taint nodes w-0 maint:NoExecute-") else { panic!("a taint line") };
        assert_eq!((args.selection.targets.len(), args.taints.len()), (1, 1));
    }
}
