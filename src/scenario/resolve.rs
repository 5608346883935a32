//! From the tree to a scenario with nothing left open.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::DocumentKind;
use super::actions::{self, Timeline, remember_applied};
use super::assumptions;
use super::at::At;
use super::control_plane;
use super::decode::{Decoded, decode};
use super::document::{self, Node, Value};
use super::dump;
use super::effects;
use super::epoch::{UNSTAMPED_EPOCH_NANOS, epoch};
use super::files::{self, Files, Kept};
use super::former_taints;
use super::input::{self, Input};
use super::invalid::Invalid;
use super::inventory::Inventory;
use super::kube_scheduler;
use super::node_labels;
use super::overrides::Overrides;
use super::owners;
use super::pools::NodePool;
use super::resolved::ResolvedScenario;
use super::resolver::{Resolver, with_place};
use super::revisions;
use super::schema::{API_VERSION, KINDS, MissingOwners, ScenarioDocument, Spec};
use super::validate;
use crate::arena::Symbol;
use crate::chaos::{ChaosPlan, FaultProcessSpec};
use crate::component::Config;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Severity, Source, Sources, nearest};
use crate::kubectl::Runbook;
use crate::model::field_path::FieldPath;
use crate::model::manifest::{Folder, Loaded};
use crate::model::{ManifestObject, NotModelled, Object, ResourceList, lock_text};
use crate::observe::{MinReady, Objective};
use crate::procedures::ProcedurePlan;
use crate::units::{IntOrPercent, Quantity};

/// What a node can give if nothing says it.
const DEFAULT_CAPACITY: [(&str, &str); 2] = [("cpu", "8"), ("memory", "32Gi")];

/// The kind of what `test` keeps beside scenarios. It is of our group, and no input.
pub(crate) const SNAPSHOT_KIND: &str = "Snapshot";

/// What is said of such a file.
const SNAPSHOT_CODE: &str = "scenario::snapshot";

/// Whether a text could not be used because it is what `test` keeps beside scenarios.
#[cfg(feature = "cli")]
pub(crate) fn is_snapshot(invalid: &Invalid) -> bool {
    invalid.diagnostics.as_slice().iter().any(|diagnostic| diagnostic.code == SNAPSHOT_CODE)
}

/// Reads, resolves and checks a scenario.
pub(super) fn resolve(
    name: &str,
    text: &str,
    folder: &Folder,
    overrides: &Overrides,
    kept: Option<&Kept>,
) -> Result<ResolvedScenario, Invalid> {
    if lock_text::is_cut(text) {
        let message =
            format!("`{name}` is a lock file whose end is missing: it ends with line {}", text.lines().count());
        let help = "play the run again for a whole one; without its first line it is taken for a scenario as it is";
        return Err(Invalid::of(Diagnostic::error("scenario::cut_short", message).help(help)));
    }
    let mut resolver = Resolver {
        file: name.into(),
        folder,
        kept,
        diagnostics: Diagnostics::new(),
        sources: Sources::from_iter([Source::new(name, text)]),
        caller: overrides.caller(),
        limits: overrides.limits(),
        input: Input::default(),
        assumed: Vec::new(),
    };
    if !overrides.is_empty() {
        resolver.sources.insert(overrides.source());
    }
    let resolved = resolver.run(text, overrides);
    let Resolver { mut diagnostics, mut sources, .. } = resolver;
    // What stands behind the scenario was read under its name, with blanks in its place.
    sources.insert(Source::new(name, text));
    files::add_sources(&diagnostics, folder, &mut sources);
    diagnostics.sort();
    match resolved {
        Some(scenario) if !diagnostics.has_errors() => {
            let objects = scenario.objects.chunk_by(|a, b| a.source.file == b.source.file);
            let manifests = objects.map(|objects| &*objects[0].source.file).filter(|file| *file != name);
            let read = manifests.chain(scenario.files.keys().map(String::as_str));
            let inputs = read.map(|file| folder.join(Path::new(file))).chain([PathBuf::from(name)]).collect();
            Ok(ResolvedScenario { warnings: diagnostics, sources, inputs, ..scenario })
        }
        _ => Err(Invalid { diagnostics, sources }),
    }
}

/// What to say about a document of ours whose kind does not exist.
pub(super) fn unknown_kind(kind: &str, location: Location) -> Diagnostic {
    if kind == SNAPSHOT_KIND {
        let message = format!("`{}` holds key figures that `kubesquall test` keeps of a scenario", location.file);
        let help = "name the scenario itself: its file has the same name without `.snapshot`";
        return Diagnostic::error(SNAPSHOT_CODE, message).at(location, "not to be played").help(help);
    }
    let diagnostic = Diagnostic::error("scenario::unknown_kind", format!("`{kind}` is not a kind of {API_VERSION}"));
    diagnostic.at(location, "unknown kind").help(match nearest(kind, KINDS) {
        Some(nearest) => format!("the nearest kind is `{nearest}`"),
        None => format!("the kinds are `{}`", KINDS.join("`, `")),
    })
}

impl Resolver<'_> {
    fn run(&mut self, text: &str, overrides: &Overrides) -> Option<ResolvedScenario> {
        let document::FirstDocument { mut root, rest } = match Kept::first_document(self.kept, &self.file, text) {
            Ok(document) => document,
            Err(diagnostic) => {
                self.diagnostics.push(*diagnostic);
                return None;
            }
        };
        overrides.apply(&mut root, &mut self.diagnostics);
        if !self.is_scenario(&root) {
            return None;
        }
        self.include_scheduler_configuration(&mut root);
        let Decoded { value, mut ignored, mut near_misses } =
            decode::<ScenarioDocument>(&mut root, &mut self.diagnostics);
        kube_scheduler::refuse_unknown_fields(&root, &mut ignored, &mut near_misses, &mut self.diagnostics);
        for near_miss in near_misses {
            self.diagnostics.push(near_miss);
        }
        let document = value?;
        let mut files = Files::new(self.folder, self.kept, document.spec.files.clone());
        let mut not_modelled = self.ignored_fields(&root, &ignored, &document.metadata.name);
        let mut idle = control_plane::without_effect(&root);
        idle.extend(effects::of_processes(&document.spec));
        not_modelled.extend(self.ignored_fields(&root, &idle, &document.metadata.name));
        for (path, names) in control_plane::idle_plugins(&root) {
            let rows = self.ignored_fields(&root, &[path], &document.metadata.name);
            not_modelled.extend(rows.into_iter().map(|row| NotModelled { value_excerpt: names.clone(), ..row }));
        }
        let told = self.diagnostics.len();
        let objects = self.load_objects(&root, &document.spec, &rest, (overrides, &mut not_modelled));
        let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        let is_whole =
            !At::root(&root).has_lost_of("spec.cluster") && !self.diagnostics.as_slice()[told..].iter().any(is_error);
        if !self.can_have_nodes(&root, &document.spec) {
            return None;
        }
        let scenario = self.build(&root, document, (objects, is_whole), not_modelled, &mut files);
        Some(ResolvedScenario { files: files.into_used(), ..scenario })
    }

    /// Whether the nodes of all pools are as many as can be played; they are made one by one.
    fn can_have_nodes(&mut self, root: &Node, spec: &Spec) -> bool {
        let at = At::root(root).field("spec");
        let pools = spec.cluster.node_pools.iter().enumerate();
        let pools = pools.map(|(index, pool)| (at.field("cluster").field("nodePools").index(index), pool.count));
        let added = spec.timeline.iter().enumerate().flat_map(|(index, entry)| {
            let entry_at = at.field("timeline").index(index);
            entry.actions.iter().map(move |action| action.added_nodes(entry_at)).filter(|(_, count)| *count > 0)
        });
        let counts: Vec<(At<'_>, u32)> = pools.chain(added).map(|(at, count)| (at.field("count"), count)).collect();
        let total: u64 = counts.iter().map(|(_, count)| u64::from(*count)).sum();
        if total <= self.limits.nodes() {
            return true;
        }
        let most = counts.iter().max_by_key(|(_, count)| *count).map_or(at.field("cluster"), |(at, _)| *at);
        self.diagnostics.push(
            Diagnostic::error("scenario::too_many", format!("the cluster would have {total} nodes"))
                .at(most.location(), "most of them come from here")
                .help(self.limits.of_nodes_in_words()),
        );
        false
    }

    /// How a document of another kind of ours is played.
    fn how_to_play(&self, kind: &str) -> Option<String> {
        let kind = [DocumentKind::Study, DocumentKind::Plan].into_iter().find(|known| known.as_str() == kind)?;
        self.caller.how_to_play(kind, &self.file)
    }

    fn is_scenario(&mut self, root: &Node) -> bool {
        let text = |field: &str| root.get(field).and_then(Node::text);
        if !matches!(root.value, Value::Map(_)) {
            let diagnostic = Diagnostic::error("scenario::not_a_scenario", "this is not a scenario");
            self.diagnostics.push(diagnostic.at(root.location.clone(), "expected a map with `apiVersion` and `kind`"));
            return false;
        }
        match (text("apiVersion"), text("kind")) {
            (Some(API_VERSION), Some("Scenario")) => true,
            (Some(API_VERSION), Some(kind)) if let Some(help) = self.how_to_play(kind) => {
                let diagnostic =
                    Diagnostic::error("scenario::not_a_scenario", format!("this is a {kind}, not a Scenario"));
                self.diagnostics.push(diagnostic.at(At::root(root).field("kind").location(), "").help(help));
                false
            }
            (Some(API_VERSION), Some(kind)) => {
                self.diagnostics.push(unknown_kind(kind, At::root(root).field("kind").location()));
                false
            }
            (Some(API_VERSION), None) => {
                let diagnostic = Diagnostic::error("scenario::not_a_scenario", "the document has no `kind`");
                let location = At::root(root).field("apiVersion").location();
                self.diagnostics.push(diagnostic.at(location, "").help("add `kind: Scenario`"));
                false
            }
            (api_version, kind) => {
                let kind = kind.unwrap_or("document");
                let diagnostic =
                    Diagnostic::error("scenario::not_a_scenario", format!("this {kind} is not a scenario"));
                let (location, label) = match api_version {
                    Some(found) => {
                        (At::root(root).field("apiVersion").location(), format!("`{found}` is not `{API_VERSION}`"))
                    }
                    None => (root.location.clone(), "has no `apiVersion`".to_owned()),
                };
                let help = format!("a scenario begins with `apiVersion: {API_VERSION}` and `kind: Scenario`");
                self.diagnostics.push(diagnostic.at(location, label).help(help));
                false
            }
        }
    }

    /// Puts the content of the file into the place of `{file: …}`.
    fn include_scheduler_configuration(&mut self, root: &mut Node) {
        let path = ["spec", "controlPlane", "kubeScheduler"];
        let mut node = root;
        for key in path {
            let Value::Map(entries) = &mut node.value else { return };
            let Some(entry) = entries.iter_mut().find(|entry| &*entry.key == key) else { return };
            node = &mut entry.node;
        }
        let Some(file) = node.get("file") else { return };
        let (path, location) = (file.text().unwrap_or_default().to_owned(), file.location.clone());
        let read = Files::new(self.folder, self.kept, std::collections::BTreeMap::new()).text(&path).map_err(Box::new);
        match read.and_then(|text| Ok((document::parse_first(&path.as_str().into(), &text)?.root, text))) {
            Ok((configuration, text)) => {
                *node = configuration;
                self.sources.insert(Source::new(path, text));
            }
            Err(diagnostic) => {
                *node = Node::empty_map(location.clone());
                let is_elsewhere = diagnostic.location().is_some_and(|place| !place.is_whole_file());
                self.diagnostics.push(if is_elsewhere { *diagnostic } else { diagnostic.at(location, "named here") });
            }
        }
    }

    /// Rows for fields of Kubernetes' own types that decide nothing.
    fn ignored_fields(&self, root: &Node, ignored: &[FieldPath], name: &str) -> Vec<NotModelled> {
        let rows = ignored.iter().map(|path| {
            let at = At::root(root).path(path);
            let location = at.location();
            NotModelled {
                file: self.file_of_row(&location.file),
                line: location.line,
                object: format!("Scenario {name}"),
                path: path.to_string(),
                value_excerpt: at.node().map(excerpt).unwrap_or_default(),
                count: 1,
            }
        });
        rows.collect()
    }

    /// Reads the manifests on disk, then the documents behind the scenario's own.
    fn load_objects(
        &mut self,
        root: &Node,
        spec: &Spec,
        rest: &str,
        (overrides, not_modelled): (&Overrides, &mut Vec<NotModelled>),
    ) -> Vec<ManifestObject> {
        let files = Files::new(self.folder, self.kept, BTreeMap::new());
        let mut loaded = Loaded::default();
        let manifests_at = At::root(root).field("spec").field("cluster").field("manifests");
        for (index, path) in spec.cluster.manifests.iter().enumerate() {
            // Paths that stand for nothing are told apart from problems inside the files by having no place.
            let place = manifests_at.index(index).location();
            if let Err(diagnostic) = files.exists(path) {
                self.diagnostics.push(diagnostic.at(place, ""));
            }
        }
        let found: Vec<String> =
            spec.cluster.manifests.iter().filter(|path| files.exists(path).is_ok()).cloned().collect();
        if !found.is_empty() {
            loaded = files.cluster_manifests(&found);
        }
        let place = manifests_at.location();
        self.input.add(&loaded);
        let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
        input::refuse_partial(&mut loaded, &self.input, spec.cluster.allow_partial, self.caller, &mut diagnostics);
        loaded.diagnostics = with_place(diagnostics, &place);
        let mut objects = self.take(loaded, not_modelled);
        if !rest.is_empty() {
            let mut behind = files.behind(&self.file, rest);
            self.input.add(&behind);
            if spec.cluster.allow_partial {
                let mut diagnostics = std::mem::take(&mut behind.diagnostics);
                input::refuse_partial(&mut behind, &self.input, true, self.caller, &mut diagnostics);
                behind.diagnostics = diagnostics;
            }
            objects.extend(self.take(behind, not_modelled));
        }
        self.assumed.extend(node_labels::complete(&mut objects));
        self.assumed.extend(former_taints::complete(&mut objects));
        if spec.cluster.missing_owners == MissingOwners::Rebuild {
            let rebuilt = owners::missing(&objects);
            objects.extend(rebuilt.objects);
            self.assumed.extend(rebuilt.assumed);
        }
        overrides.apply_to_objects(&mut objects, &mut self.diagnostics);
        objects.extend(revisions::missing(&objects));
        dump::keep_crash_loops(&mut objects);
        objects
    }

    fn build(
        &mut self,
        root: &Node,
        document: ScenarioDocument,
        (mut objects, is_whole): (Vec<ManifestObject>, bool),
        mut not_modelled: Vec<NotModelled>,
        files: &mut Files<'_>,
    ) -> ResolvedScenario {
        let ScenarioDocument { metadata, spec, .. } = document;
        let mut config = self.configuration(root, &spec, files);
        not_modelled.extend(control_plane::gated_fields(&objects, &config));
        not_modelled.extend(control_plane::enforced_pod_security(&objects, &config));
        let pools = self.pools(root, &spec, &config, &objects);
        let pools_at = At::root(root).field("spec").field("cluster").field("nodePools");
        for (index, pool) in pools.iter().enumerate() {
            objects.extend(pool.objects(pools_at.index(index).field("name").location()));
        }
        let mut chaos = ChaosPlan {
            pools: pools.iter().map(NodePool::plan).collect(),
            processes: spec.faults.clone(),
            ..ChaosPlan::default()
        };
        let epoch_unix_nanos = epoch(&objects);
        let epoch_shown = epoch_unix_nanos.unwrap_or(UNSTAMPED_EPOCH_NANOS);
        config.epoch_unix_s = epoch_shown.div_euclid(1_000_000_000);
        let mut runbook = Runbook { epoch_unix_nanos: epoch_shown, ..Runbook::default() };
        let mut procedures = ProcedurePlan { pools: chaos.pools.clone(), ..ProcedurePlan::default() };
        let mut requests = Vec::new();
        let timeline = Timeline {
            resolver: &mut *self,
            chaos: &mut chaos,
            runbook: &mut runbook,
            procedures: &mut procedures,
            requests: &mut requests,
            not_modelled: &mut not_modelled,
            files: &mut *files,
            shells: BTreeMap::new(),
        };
        let timeline = actions::resolve(&spec.timeline, At::root(root).field("spec").field("timeline"), timeline);
        procedures.workload_autoscalers.clone_from(&spec.horizontal_pod_autoscalers);
        procedures.repair.clone_from(&spec.node_auto_repair);
        procedures.autoscaler = self.autoscaler(root, &spec, &procedures, files);
        self.observations_of(At::root(root).field("spec").field("faults"), &mut chaos.processes, files);
        remember_applied(&mut objects, &runbook);
        // A lock file tells what the scenario it was made of did.
        if let Some(listed) = &spec.not_modelled {
            not_modelled = listed.iter().map(NotModelled::from).collect();
        }
        not_modelled.sort_by_key(|row| (row.file, row.line));
        let mut assumed = dump::assumptions(config.version, &objects);
        assumed.append(&mut self.assumed);
        assumed.extend(assumptions::of(&spec, &config.latency, &objects, &runbook));
        let assumed = spec.assumed.clone().unwrap_or(assumed);
        let input = spec.input.clone().unwrap_or_else(|| std::mem::take(&mut self.input));
        let scenario = ResolvedScenario {
            name: metadata.name,
            duration: spec.duration,
            seed: spec.seed,
            config,
            epoch_unix_nanos,
            objects,
            bootstrap: spec.cluster.bootstrap,
            timeline,
            chaos: Arc::new(chaos),
            pools,
            kubectl: Arc::new(runbook),
            procedures: Arc::new(procedures),
            requests: Arc::new(requests),
            controllers: [].into(),
            objectives: objectives(&spec),
            expectations: validate::expectations(root, &spec, &mut self.diagnostics),
            not_modelled,
            assumed,
            input,
            allow_partial: spec.cluster.allow_partial,
            limits: self.limits,
            warnings: Diagnostics::new(),
            sources: Sources::new(),
            files: BTreeMap::new(),
            inputs: BTreeSet::new(),
        };
        let mut inventory = Inventory::new(&scenario.objects, &scenario.pools, &scenario.kubectl, &scenario.chaos);
        inventory.is_whole = is_whole;
        validate::validate(root, &spec, &scenario, &inventory, &mut self.diagnostics);
        scenario
    }

    /// Reads the observations that the distributions of random processes name.
    fn observations_of(&mut self, at: At<'_>, processes: &mut [FaultProcessSpec], files: &mut Files<'_>) {
        for (index, process) in processes.iter_mut().enumerate() {
            let at = at.index(index);
            let failure = ("timeToFailure", &mut process.time_to_failure);
            let repair = process.time_to_repair.as_mut().map(|repair| ("timeToRepair", repair));
            for (field, distribution) in iter::once(failure).chain(repair).chain(process.fault.fault.distributions()) {
                self.observations(distribution, at.field(field).location(), files);
            }
        }
    }

    fn pools(&mut self, root: &Node, spec: &Spec, config: &Config, objects: &[ManifestObject]) -> Vec<NodePool> {
        let pools_at = At::root(root).field("spec").field("cluster").field("nodePools");
        let mut pools = Vec::new();
        for (index, entry) in spec.cluster.node_pools.iter().enumerate() {
            let mut pool = entry.clone();
            let status = &mut pool.template.status;
            if status.allocatable.is_empty() && status.capacity.is_empty() {
                let known = objects.iter().find_map(|object| match &object.object {
                    Object::Node(node) => node_of_pool(&entry.name, node).then_some(&node.status),
                    _ => None,
                });
                match known {
                    Some(known) => {
                        (status.allocatable, status.capacity) = (known.allocatable.clone(), known.capacity.clone())
                    }
                    None => {
                        status.allocatable = default_capacity();
                        let message = format!("node pool `{}` does not say what its nodes can give", entry.name);
                        let pool_at = pools_at.index(index);
                        let location = pool_at.field("name").location();
                        let template = pool_at.key("template");
                        let misplaced = ["allocatable", "capacity"].into_iter().find(|field| {
                            [pool_at, template, template.key("spec")]
                                .iter()
                                .any(|outer| outer.key(field).node().is_some())
                        });
                        let help = match misplaced {
                            Some(field) => {
                                format!("`{field}` stands below `status`: `template: {{status: {{{field}: …}}}}`")
                            }
                            None => {
                                "add `template: {status: {allocatable: {cpu: \"8\", memory: 32Gi, pods: \"110\"}}}`"
                                    .to_owned()
                            }
                        };
                        self.diagnostics.push(
                            Diagnostic::warning("scenario::no_capacity", message)
                                .at(location, "8 CPUs and 32Gi of memory are assumed")
                                .help(help),
                        );
                    }
                }
            }
            for resources in [&mut status.allocatable, &mut status.capacity] {
                let pods = Symbol::new("pods");
                if !resources.is_empty() && !resources.contains(pods) {
                    resources.insert(pods, Quantity::from_value(i64::from(config.kubelet.max_pods)));
                }
            }
            pools.push(pool);
        }
        pools
    }
}

/// The beginning of a value, for a row.
fn excerpt(node: &Node) -> String {
    const LENGTH_MAX: usize = 60;
    let text = match &node.value {
        Value::Scalar { text, .. } => text.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(excerpt).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entries = entries.iter().map(|entry| format!("{}: {}", entry.key, excerpt(&entry.node)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Removed => String::new(),
    };
    if text.chars().count() > LENGTH_MAX { text.chars().take(LENGTH_MAX).chain(['…']).collect() } else { text }
}

fn node_of_pool(pool: &Symbol, node: &crate::model::Node) -> bool {
    let pool = NodePool { name: *pool, count: 0, zones: Vec::new(), template: crate::model::Node::default() };
    pool.index_of(node.metadata.name.as_str()).is_some()
}

fn default_capacity() -> ResourceList {
    let amount = |text: &str| text.parse::<Quantity>().expect("our own quantities are well formed");
    DEFAULT_CAPACITY.iter().map(|(name, text)| (Symbol::new(name), amount(text))).collect()
}

fn objectives(spec: &Spec) -> Vec<Objective> {
    let min_ready = |written: IntOrPercent| match written {
        IntOrPercent::Int(count) => MinReady::Count(count),
        IntOrPercent::Percent(percent) => MinReady::Percent(percent),
    };
    let objectives = spec.slo.iter().map(|entry| Objective {
        workload: entry.workload.clone(),
        min_ready: min_ready(entry.min_ready),
        objective: entry.objective.0,
    });
    objectives.collect()
}
