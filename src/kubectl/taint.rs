//! `kubectl taint`.

use smallvec::SmallVec;

use super::command_line::{Arguments, CommandLineError, DRY, PRINT, Selection, Stop, WRITE, Words, error};
use super::failure::Failure;
use super::resource::{Found, Kind, find};
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Step};
use crate::component::Request;
use crate::model::{ApiEnum, TaintArgument, TaintEffect, TaintError};
use crate::state::{NodeId, Store, TaintOnNode};
use crate::units::SimTime;

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

/// What a taint may do.
fn effects() -> String {
    let words = TaintEffect::WORDS.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    words.join(", ")
}

impl Verb for TaintArgs {
    const COMMANDS: &'static [Words] = &[("taint", &[PRINT, DRY, WRITE, "all! overwrite! selector,l="])];

    /// # Source
    /// kubectl, `TaintOptions.Complete` and `Validate`, `parseTaints`.
    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
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
        let parse = |text: &String| {
            let help = || format!("write key=value:Effect, and key:Effect- to remove it; effects are {}", effects());
            let refused = |why: TaintError| CommandLineError { help: Some(help()), ..error(text, why.to_string()) };
            TaintArgument::parse(text).map_err(refused)
        };
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
        Ok(Self { selection, taints, overwrite })
    }

    works_on_selection!(of_words);

    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let Scene { store, now, .. } = *scene;
        for result in find(&self.selection, store) {
            match result {
                Ok(Found::Node(node)) => taint(self, node, store, now, plan),
                Ok(_) => {}
                Err(failure) => plan.fail(failure),
            }
        }
    }
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
/// kubectl taint, `updateTaints` and `reorganizeTaints`.
fn taint(args: &TaintArgs, id: NodeId, store: &Store, now: SimTime, plan: &mut CommandPlan) {
    let Some(node) = store.node(id) else { return };
    let name = store.node_name(id);
    let mut add: SmallVec<[TaintOnNode; 2]> = SmallVec::new();
    let mut remove: SmallVec<[_; 2]> = SmallVec::new();
    let (mut taken, mut missing) = (Vec::new(), Vec::new());
    for argument in &args.taints {
        match argument {
            TaintArgument::Add(taint) => {
                if node.taint(taint.key, taint.effect).is_some() && !args.overwrite {
                    taken.push(taint.key.as_str());
                }
                let added_at = (taint.effect == TaintEffect::NoExecute).then_some(now);
                add.push(TaintOnNode { key: taint.key, value: taint.value, effect: taint.effect, added_at });
            }
            TaintArgument::Remove { key, effect } => {
                let matching = node.taints.iter().filter(|t| t.key == *key && effect.is_none_or(|e| e == t.effect));
                let before = remove.len();
                remove.extend(matching.map(|t| (t.key, t.effect)));
                if remove.len() == before {
                    let shown = effect.map_or_else(|| key.to_string(), |e| format!("{key}:{e}"));
                    missing.push(format!("taint \"{shown}\" not found"));
                }
            }
        }
    }
    if !taken.is_empty() {
        let taken = taken.join(",");
        let text = format!("node {name} already has {taken} taint(s) with same effect(s) and --overwrite is false");
        return plan.fail(Failure::own(text));
    }
    if !missing.is_empty() {
        return plan.fail(Failure::Own(missing));
    }
    let done = match (add.is_empty(), remove.is_empty()) {
        _ if args.overwrite => "modified",
        (true, _) => "untainted",
        (false, true) => "tainted",
        (false, false) => "modified",
    };
    plan.call(Step::new(Request::PatchNodeTaints { node: id, add, remove }, format!("node/{name} {done}")));
}
