//! kubectl lines against the objects that there are: a name that nothing has, and nothing can have got, is a slip.

use std::collections::{BTreeMap, BTreeSet};

use super::actions::{ActionEntry, TimelineEntry};
use super::annotations;
use super::at::At;
use super::document::Node;
use super::foresight;
use super::inventory::Inventory;
use super::resolved::ResolvedScenario;
use super::schema::Spec;
use super::typed::Typed;
use crate::arena::Symbol;
use crate::chaos::Course;
use crate::diagnostics::{Diagnostic, Diagnostics, nearest, slip};
use crate::kubectl::{Command, Kind, RunbookLine, Selection};
use crate::model::Object;

/// The names that objects have or may have got, in the order of the lines.
struct Names {
    /// By kind.
    of: BTreeMap<&'static str, BTreeSet<Symbol>>,
    namespaces: BTreeSet<Symbol>,
    /// Words of lines that make something without a file.
    loose: BTreeSet<String>,
    /// Machines come and go by themselves, under names of their pools.
    grows: bool,
}

/// Warns of names in kubectl lines that are in no manifest, that no earlier line makes, and that nobody generates.
pub(super) fn check(
    root: &Node,
    spec: &Spec,
    scenario: &ResolvedScenario,
    inventory: &Inventory,
    diagnostics: &mut Diagnostics,
) {
    let at = At::root(root).field("spec").field("timeline");
    let is_typed = |entry: &TimelineEntry| entry.actions.iter().any(|action| matches!(action, ActionEntry::Kubectl(_)));
    let entries = spec.timeline.iter().enumerate().filter(|(_, entry)| is_typed(entry));
    let entries = entries.filter_map(|(index, entry)| Some((entry.at, at.index(index).field("kubectl").node()?)));
    let each = |(at, node)| Typed::all(node).map(move |typed| (at, typed));
    let written: Vec<_> = entries.flat_map(each).collect();
    // Lines that cannot be read are errors of their own.
    if written.len() != scenario.kubectl.lines.len() {
        return;
    }
    let mut lines: Vec<_> = written.into_iter().zip(&scenario.kubectl.lines).collect();
    lines.sort_by_key(|((at, _), _)| *at);
    let mut names = Names::new(scenario, inventory);
    let mut earlier: Vec<&RunbookLine> = Vec::new();
    for ((_, typed), line) in lines {
        names.add_made_by(line);
        annotations::check_line(line, &typed, diagnostics);
        if let Some((problem, help)) = foresight::problem(line, &earlier, scenario) {
            let verb = if matches!(line.command, Command::Drain(_)) { "drain" } else { "undo" };
            let diagnostic = Diagnostic::warning("scenario::kubectl_refuses", problem);
            diagnostics.push(diagnostic.at(typed.place_of(verb), "as things are at the start").help(help));
        }
        earlier.push(line);
        let named = line.command.selection();
        if let Some(kind) = named.and_then(|selection| unknown_type(selection, scenario, &earlier)) {
            let word = kind.typed();
            let problem = format!("the server doesn't have a resource type {:?}", word.as_str());
            let diagnostic = Diagnostic::warning("scenario::unknown_name", problem)
                .at(typed.place_of(word.as_str()), "this line will fail");
            diagnostics.push(diagnostic.help(match slip(word.as_str(), Kind::words()) {
                Some(near) => format!("the nearest is `{near}`"),
                None => "bring its CustomResourceDefinition or an object of the type into the manifests".to_owned(),
            }));
            continue;
        }
        let Some(selection) = selection(&line.command) else { continue };
        for (word, problem, help) in names.slips(selection, inventory) {
            let diagnostic = Diagnostic::warning("scenario::unknown_name", problem);
            let diagnostic = diagnostic.at(typed.place_of(&word), "this line will fail");
            diagnostics.push(match help {
                Some(near) => diagnostic.help(format!("the nearest is `{near}`")),
                None => diagnostic,
            });
        }
    }
}

/// What a line works on, where a name that nothing has makes it fail.
fn selection(command: &Command) -> Option<&Selection> {
    Some(match command {
        Command::Delete(args) if args.ignore_not_found => return None,
        // To look for what is not there yet, or no longer, is what they are for.
        Command::Get(_) | Command::Wait(_) | Command::History(_) => return None,
        command => command.selection()?,
    })
}

/// A type that the server does not have, as far as manifests and lines tell.
fn unknown_type(selection: &Selection, scenario: &ResolvedScenario, lines: &[&RunbookLine]) -> Option<Kind> {
    let kinds = selection.targets.iter().map(|target| target.kind).chain(selection.kinds.iter().copied());
    let written = || lines.iter().flat_map(|line| &line.objects).map(|written| &written.object);
    let objects = || scenario.objects.iter().map(|object| &object.object).chain(written());
    kinds.into_iter().find(|kind| !kind.is_built_in() && !objects().any(|object| kind.is_made_known_by(object)))
}

impl Names {
    fn new(scenario: &ResolvedScenario, inventory: &Inventory) -> Self {
        let always = ["default", "kube-system", "kube-public", "kube-node-lease"];
        let mut names = Self {
            of: BTreeMap::new(),
            namespaces: always.into_iter().map(Symbol::new).chain(inventory.namespaces().iter().copied()).collect(),
            loose: BTreeSet::new(),
            grows: !scenario.procedures.upgrades.is_empty()
                || scenario.procedures.autoscaler.is_some()
                || scenario.procedures.repair.is_some()
                || !scenario.chaos.processes.is_empty()
                || scenario.chaos.faults.iter().any(|(_, fault)| fault.kind().course() == Course::UntilReplaced),
        };
        scenario.objects.iter().for_each(|object| names.add(&object.object));
        names
    }

    fn add(&mut self, object: &Object) {
        if let Some(kind) = Kind::of(object) {
            self.of.entry(kind.printed()).or_default().insert(object.metadata().name);
        }
        match object {
            Object::Namespace(namespace) => drop(self.namespaces.insert(namespace.metadata.name)),
            other => drop(self.namespaces.insert(other.metadata().namespace)),
        }
    }

    fn add_made_by(&mut self, line: &RunbookLine) {
        if matches!(line.command, Command::Delete(_)) {
            return;
        }
        line.objects.iter().for_each(|written| self.add(&written.object));
        let verb = line.text.split_whitespace().find(|word| !word.starts_with('-')).unwrap_or_default();
        if ["create", "run", "expose", "autoscale", "replace"].contains(&verb) {
            self.loose.extend(line.text.split_whitespace().map(str::to_owned));
        }
    }

    fn has(&self, kind: Kind, name: &str) -> bool {
        self.of.get(kind.printed()).is_some_and(|names| names.contains(&Symbol::new(name)))
    }

    /// Whether the name is one that a controller or the kubelet may have given.
    fn may_be_generated(&self, kind: Kind, name: &str, inventory: &Inventory) -> bool {
        let begins_as = |kinds: &[Kind]| {
            let stems = kinds.iter().filter_map(|kind| self.of.get(kind.printed())).flatten().map(|stem| stem.as_str());
            stems
                .chain(self.loose.iter().map(String::as_str))
                .any(|stem| name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('-')))
        };
        match kind {
            Kind::Pod => {
                // A mirror pod is named after a manifest and its node.
                begins_as(&MAKE_PODS) || begins_as(&[Kind::Pod])
            }
            Kind::ReplicaSet => begins_as(&[Kind::Deployment]),
            Kind::Job => begins_as(&[Kind::CronJob]),
            Kind::PersistentVolumeClaim => {
                let sets = self.of.get(Kind::StatefulSet.printed());
                sets.into_iter().flatten().any(|set| name.contains(&format!("-{set}-")))
            }
            Kind::PersistentVolume => name.starts_with("pvc-"),
            Kind::Node => {
                let of_pool =
                    |pool: &Symbol| name.strip_prefix(pool.as_str()).is_some_and(|rest| rest.starts_with('-'));
                inventory.has_node(Symbol::new(name)) || self.grows && inventory.pools().iter().any(of_pool)
            }
            Kind::Namespace => self.namespaces.contains(&Symbol::new(name)),
            _ => false,
        }
    }

    /// The words that name nothing, what is wrong with each, and the nearest name.
    fn slips(&self, selection: &Selection, inventory: &Inventory) -> Vec<(String, String, Option<String>)> {
        let mut slips = Vec::new();
        let namespace = Symbol::new(&selection.namespace);
        if !self.namespaces.contains(&namespace) && !self.loose.contains(&selection.namespace) {
            let near = nearest(&selection.namespace, self.namespaces.iter().map(|name| name.as_str()));
            let problem = format!("there is no namespace `{namespace}`");
            slips.push((selection.namespace.clone(), problem, near.map(str::to_owned)));
        }
        for target in &selection.targets {
            let (kind, name) = (target.kind, target.name.as_str());
            if name.is_empty() || self.has(kind, name) || self.loose.contains(name) {
                continue;
            }
            if self.may_be_generated(kind, name, inventory) || !is_checked(kind) {
                continue;
            }
            let of_kind = self.of.get(kind.printed()).into_iter().flatten().map(|name| name.as_str());
            let nodes = inventory.nodes().filter(|_| kind == Kind::Node).map(|node| node.name.as_str());
            let near = nearest(name, of_kind.chain(nodes)).map(str::to_owned);
            let problem = format!("{} `{name}` is in no manifest, and no line before makes it", kind.printed());
            slips.push((name.to_owned(), problem, near));
        }
        slips
    }
}

/// Kinds whose pods bear their names.
const MAKE_PODS: [Kind; 7] = [
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::ReplicationController,
    Kind::DaemonSet,
    Kind::StatefulSet,
    Kind::Job,
    Kind::CronJob,
];

/// Whether objects of a kind come from manifests, lines and generated names alone.
fn is_checked(kind: Kind) -> bool {
    MAKE_PODS.contains(&kind) || !matches!(kind, Kind::Service | Kind::Stored(_))
}
