//! From the tree to a scenario with nothing left open.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::assumption::{self, Assumption};
use super::control_plane;
use super::decode::{Decoded, decode};
use super::document::{self, Node, Value};
use super::dump;
use super::effects;
use super::epoch::epoch;
use super::files::{self, Files, Manifests};
use super::input::{self, Input};
use super::kube_scheduler;
use super::node_labels;
use super::objects;
use super::overrides::Overrides;
use super::owners;
use super::pools::NodePool;
use super::revisions;
use super::runbook::Typed;
use super::schema::{API_VERSION, AutoscaledPoolEntry, KINDS, MissingOwners, ScenarioDocument, Spec};
use super::validate::{self, Inventory};
use super::{Invalid, ResolvedScenario, TimelineAction};
use crate::arena::Symbol;
use crate::chaos::ChaosPlan;
use crate::component::{Config, Latencies};
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Source, Sources, nearest};
use crate::engine::Distribution;
use crate::kubectl::{self, Command, CommandLine, Runbook, RunbookLine, Written};
use crate::model::config::{ClusterAutoscaler, FlagError, KubeApiserver, KubeControllerManager};
use crate::model::field_path::FieldPath;
use crate::model::manifest::{self, Loaded};
use crate::model::{ManifestObject, NotModelled, Object, ResourceList};
use crate::observe::{MinReady, Objective};
use crate::procedures::{AutoscaledPool, AutoscalerPlan, ProcedurePlan};
use crate::units::{IntOrPercent, Quantity, SimDuration, SimTime};

/// The most nodes that are played.
pub(super) const NODES_MAX: u64 = 50_000;

/// What a node can give if nothing says it.
const DEFAULT_CAPACITY: [(&str, &str); 2] = [("cpu", "8"), ("memory", "32Gi")];

/// Reads, resolves and checks a scenario.
pub(super) fn resolve(
    name: &str,
    text: &str,
    base_dir: &Path,
    overrides: &Overrides,
    kept: Option<&Manifests>,
) -> Result<ResolvedScenario, Invalid> {
    let mut resolver = Resolver {
        file: name.into(),
        base_dir,
        kept,
        diagnostics: Diagnostics::new(),
        sources: Sources::from_iter([Source::new(name, text)]),
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
    files::add_sources(&diagnostics, base_dir, &mut sources);
    diagnostics.sort();
    match resolved {
        Some(scenario) if !diagnostics.has_errors() => {
            let objects = scenario.objects.chunk_by(|a, b| a.source.file == b.source.file);
            let manifests = objects.map(|objects| &*objects[0].source.file).filter(|file| *file != name);
            let read = manifests.chain(scenario.files.keys().map(String::as_str));
            let inputs = read.map(|file| base_dir.join(file)).chain([PathBuf::from(name)]).collect();
            Ok(ResolvedScenario { warnings: diagnostics, sources, inputs, ..scenario })
        }
        _ => Err(Invalid { diagnostics, sources }),
    }
}

/// What to say about a document of ours whose kind does not exist.
pub(super) fn unknown_kind(kind: &str, location: Location) -> Diagnostic {
    let diagnostic = Diagnostic::error("scenario::unknown_kind", format!("`{kind}` is not a kind of {API_VERSION}"));
    diagnostic.at(location, "unknown kind").help(match nearest(kind, KINDS) {
        Some(nearest) => format!("the nearest kind is `{nearest}`"),
        None => format!("the kinds are `{}`", KINDS.join("`, `")),
    })
}

/// What the timeline's entries are sorted into.
struct Plans<'a> {
    chaos: &'a mut ChaosPlan,
    runbook: &'a mut Runbook,
    procedures: &'a mut ProcedurePlan,
}

struct Resolver<'a> {
    file: Arc<str>,
    base_dir: &'a Path,
    kept: Option<&'a Manifests>,
    diagnostics: Diagnostics,
    sources: Sources,
    /// What was read of manifests and dumps.
    input: Input,
    /// What was taken for granted in reading them.
    assumed: Vec<Assumption>,
}

impl Resolver<'_> {
    fn run(&mut self, text: &str, overrides: &Overrides) -> Option<ResolvedScenario> {
        let document::FirstDocument { mut root, rest } = match document::parse_first(&self.file, text) {
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
        let mut files = Files::new(self.base_dir, self.kept, document.spec.files.clone());
        let mut not_modelled = self.ignored_fields(&root, &ignored, &document.metadata.name);
        let mut idle = control_plane::without_effect(&root);
        idle.extend(effects::of_processes(&document.spec));
        not_modelled.extend(self.ignored_fields(&root, &idle, &document.metadata.name));
        let objects = self.load_objects(&root, &document.spec, &rest, &mut not_modelled);
        if !self.can_have_nodes(&root, &document.spec) {
            return None;
        }
        let scenario = self.build(&root, document, objects, not_modelled, &mut files);
        Some(ResolvedScenario { files: files.into_used(), ..scenario })
    }

    /// Whether the nodes of all pools are as many as can be played; they are made one by one.
    fn can_have_nodes(&mut self, root: &Node, spec: &Spec) -> bool {
        let pools = spec.cluster.node_pools.iter().enumerate();
        let pools = pools.map(|(index, pool)| (format!("spec.cluster.nodePools[{index}].count"), pool.count));
        let timeline = spec.timeline.iter().enumerate();
        let added = timeline.filter_map(|(index, entry)| {
            Some((format!("spec.timeline[{index}].addNodes.count"), entry.add_nodes.as_ref()?.count))
        });
        let counts: Vec<(String, u32)> = pools.chain(added).collect();
        let total: u64 = counts.iter().map(|(_, count)| u64::from(*count)).sum();
        if total <= NODES_MAX {
            return true;
        }
        let most = counts.iter().max_by_key(|(_, count)| *count).map_or("spec.cluster", |(path, _)| path.as_str());
        self.diagnostics.push(
            Diagnostic::error("scenario::too_many", format!("the cluster would have {total} nodes"))
                .at(root.locate_text(most), "most of them come from here")
                .help(format!("at most {NODES_MAX} can be played; Kubernetes itself is made for 5000")),
        );
        false
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
            (Some(API_VERSION), Some(kind @ ("Study" | "Plan"))) => {
                let diagnostic =
                    Diagnostic::error("scenario::not_a_scenario", format!("this is a {kind}, not a Scenario"));
                let help = match kind {
                    "Plan" => format!("work it out with `kubesquall plan {}`", self.file),
                    _ => format!(
                        "play it with `kubesquall sweep {0}`, or `kubesquall tune {0}` for a recommendation",
                        self.file
                    ),
                };
                self.diagnostics.push(diagnostic.at(root.locate_text("kind"), "").help(help));
                false
            }
            (Some(API_VERSION), Some(kind)) => {
                self.diagnostics.push(unknown_kind(kind, root.locate_text("kind")));
                false
            }
            (Some(API_VERSION), None) => {
                let diagnostic = Diagnostic::error("scenario::not_a_scenario", "the document has no `kind`");
                let location = root.locate_text("apiVersion");
                self.diagnostics.push(diagnostic.at(location, "").help("add `kind: Scenario`"));
                false
            }
            (api_version, kind) => {
                let kind = kind.unwrap_or("document");
                let diagnostic =
                    Diagnostic::error("scenario::not_a_scenario", format!("this {kind} is not a scenario"));
                let (location, label) = match api_version {
                    Some(found) => (root.locate_text("apiVersion"), format!("`{found}` is not `{API_VERSION}`")),
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
        let read = files::read(&self.base_dir.join(&path), &path).map_err(Box::new);
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
            let location = root.locate(path);
            NotModelled {
                file: self.file_of_row(&location.file),
                line: location.line,
                object: format!("Scenario {name}"),
                path: path.to_string(),
                value_excerpt: root.find(path).map(excerpt).unwrap_or_default(),
                count: 1,
            }
        });
        rows.collect()
    }

    /// How rows name a file. Rows must not depend on the directory in which the program was started.
    fn file_of_row(&self, file: &Arc<str>) -> Symbol {
        if *file == self.file {
            let name =
                Path::new(&**file).file_name().map_or_else(|| file.to_string(), |name| name.to_string_lossy().into());
            Symbol::from(name)
        } else {
            Symbol::from(&**file)
        }
    }

    /// Reads the manifests on disk, then the documents behind the scenario's own.
    fn load_objects(
        &mut self,
        root: &Node,
        spec: &Spec,
        rest: &str,
        not_modelled: &mut Vec<NotModelled>,
    ) -> Vec<ManifestObject> {
        let files = Files::new(self.base_dir, self.kept, std::collections::BTreeMap::new());
        let mut loaded = Loaded::default();
        for (index, path) in spec.cluster.manifests.iter().enumerate() {
            // Paths that stand for nothing are told apart from problems inside the files by having no place.
            let place = root.locate_text(&format!("spec.cluster.manifests[{index}]"));
            let probe = files::exists(path, self.base_dir);
            if let Err(diagnostic) = probe {
                self.diagnostics.push(diagnostic.at(place, ""));
            }
        }
        let found: Vec<String> =
            spec.cluster.manifests.iter().filter(|path| files::exists(path, self.base_dir).is_ok()).cloned().collect();
        if !found.is_empty() {
            loaded = files.cluster_manifests(&found);
        }
        let place = root.locate_text("spec.cluster.manifests");
        self.input.add(&loaded);
        let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
        input::refuse_partial(&mut loaded, &self.input, spec.cluster.allow_partial, &mut diagnostics);
        loaded.diagnostics = with_place(diagnostics, &place);
        let mut objects = self.take(loaded, not_modelled);
        if !rest.is_empty() {
            let mut behind = manifest::load_text(&self.file, rest);
            self.input.add(&behind);
            if spec.cluster.allow_partial {
                let mut diagnostics = std::mem::take(&mut behind.diagnostics);
                input::refuse_partial(&mut behind, &self.input, true, &mut diagnostics);
                behind.diagnostics = diagnostics;
            }
            objects.extend(self.take(behind, not_modelled));
        }
        self.assumed.extend(node_labels::complete(&mut objects));
        if spec.cluster.missing_owners == MissingOwners::Rebuild {
            let rebuilt = owners::missing(&objects);
            objects.extend(rebuilt.objects);
            self.assumed.extend(rebuilt.assumed);
        }
        objects.extend(revisions::missing(&objects));
        dump::keep_crash_loops(&mut objects);
        objects
    }

    fn take(&mut self, loaded: Loaded, not_modelled: &mut Vec<NotModelled>) -> Vec<ManifestObject> {
        for diagnostic in &loaded.diagnostics {
            for label in &diagnostic.labels {
                let file = &label.location.file;
                if let Some(text) = loaded.sources.text(file) {
                    self.sources.insert(Source::new(Arc::clone(file), Arc::clone(text)));
                }
            }
        }
        self.diagnostics.extend(loaded.diagnostics);
        not_modelled.extend(loaded.not_modelled.into_iter().map(|row| {
            let file: Arc<str> = row.file.as_str().into();
            NotModelled { file: self.file_of_row(&file), ..row }
        }));
        loaded.objects
    }

    fn build(
        &mut self,
        root: &Node,
        document: ScenarioDocument,
        mut objects: Vec<ManifestObject>,
        mut not_modelled: Vec<NotModelled>,
        files: &mut Files<'_>,
    ) -> ResolvedScenario {
        let ScenarioDocument { metadata, spec, .. } = document;
        let mut config = self.configuration(root, &spec, files);
        not_modelled.extend(control_plane::gated_fields(&objects, &config));
        let pools = self.pools(root, &spec, &config, &objects);
        for (index, pool) in pools.iter().enumerate() {
            let source = root.locate_text(&format!("spec.cluster.nodePools[{index}].name"));
            objects.extend((0..pool.count).map(|index| {
                let object = Object::from(pool.node(index));
                ManifestObject {
                    object,
                    source: source.clone(),
                    names_namespace: true,
                    unknown_fields: Vec::new(),
                    api_version: Symbol::empty(),
                }
            }));
        }
        let mut chaos = ChaosPlan {
            pools: pools.iter().map(NodePool::plan).collect(),
            processes: spec.faults.clone(),
            ..ChaosPlan::default()
        };
        let epoch_unix_nanos = epoch(&objects);
        config.epoch_unix_s = epoch_unix_nanos.unwrap_or(0).div_euclid(1_000_000_000);
        let mut runbook = Runbook { epoch_unix_nanos: epoch_unix_nanos.unwrap_or(0), ..Runbook::default() };
        let mut procedures = ProcedurePlan { pools: chaos.pools.clone(), ..ProcedurePlan::default() };
        let mut plans = Plans { chaos: &mut chaos, runbook: &mut runbook, procedures: &mut procedures };
        let timeline = self.timeline(root, &spec, &mut plans, &mut not_modelled, files);
        procedures.workload_autoscalers.clone_from(&spec.horizontal_pod_autoscalers);
        procedures.repair.clone_from(&spec.node_auto_repair);
        procedures.autoscaler = self.autoscaler(root, &spec, &procedures, files);
        for (index, process) in chaos.processes.iter_mut().enumerate() {
            let at = |field: &str| root.locate_text(&format!("spec.faults[{index}].{field}"));
            self.observations(&mut process.time_to_failure, at("timeToFailure"), files);
            let repair = (&mut process.time_to_repair, "timeToRepair");
            for (distribution, field) in [repair, (&mut process.boot, "boot"), (&mut process.delay, "delay")] {
                if let Some(distribution) = distribution {
                    self.observations(distribution, at(field), files);
                }
            }
        }
        remember_applied(&mut objects, &runbook);
        // A lock file tells what the scenario it was made of did.
        if let Some(listed) = &spec.not_modelled {
            not_modelled = listed.iter().map(NotModelled::from).collect();
        }
        not_modelled.sort_by_key(|row| (row.file, row.line));
        let mut assumed = dump::assumptions(config.version, &objects);
        assumed.append(&mut self.assumed);
        assumed.extend(assumption::of(&spec, &config.latency, &objects, &runbook));
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
            objectives: objectives(&spec),
            expectations: validate::expectations(root, &spec, &mut self.diagnostics),
            not_modelled,
            assumed,
            input,
            allow_partial: spec.cluster.allow_partial,
            warnings: Diagnostics::new(),
            sources: Sources::new(),
            files: std::collections::BTreeMap::new(),
            inputs: std::collections::BTreeSet::new(),
        };
        let inventory = Inventory::new(&scenario);
        validate::validate(root, &spec, &scenario, &inventory, &mut self.diagnostics);
        scenario
    }

    fn configuration(&mut self, root: &Node, spec: &Spec, files: &mut Files<'_>) -> Config {
        let control_plane = &spec.control_plane;
        let version = control_plane.kubernetes_version;
        let (kube_apiserver, errors) = KubeApiserver::resolve(&control_plane.kube_apiserver, version);
        self.flag_errors(root, "spec.controlPlane.kubeApiserver", errors);
        let (kube_controller_manager, errors) =
            KubeControllerManager::resolve(&control_plane.kube_controller_manager, version);
        self.flag_errors(root, "spec.controlPlane.kubeControllerManager", errors);
        let mut kube_scheduler = control_plane.kube_scheduler.clone();
        kube_scheduler.apply_defaults();
        let latency = self.latencies(root, spec, files);
        Config {
            version,
            kube_apiserver,
            kube_controller_manager,
            kube_scheduler,
            kubelet: control_plane.kubelet.resolve(version),
            round_trip: Config::round_trip(&latency.api_call),
            latency,
            epoch_unix_s: 0,
        }
    }

    fn autoscaler(
        &mut self,
        root: &Node,
        spec: &Spec,
        procedures: &ProcedurePlan,
        files: &mut Files<'_>,
    ) -> Option<AutoscalerPlan> {
        let written = spec.cluster_autoscaler.as_ref()?;
        let version = spec.control_plane.kubernetes_version;
        let (flags, errors) = ClusterAutoscaler::resolve(&written.flags, version);
        self.flag_errors(root, "spec.clusterAutoscaler.flags", errors);
        let mut provisioning = written.provisioning.clone().unwrap_or(Distribution::Constant(SimDuration::ZERO));
        self.observations(&mut provisioning, root.locate_text("spec.clusterAutoscaler.provisioning"), files);
        let group = |entry: &AutoscaledPoolEntry| {
            let AutoscaledPoolEntry { min, max, priority, .. } = *entry;
            let pool = procedures.pool(entry.name.as_str())?;
            Some(AutoscaledPool { pool, min, max, priority: priority.into() })
        };
        Some(AutoscalerPlan { groups: written.pools.iter().filter_map(group).collect(), flags, provisioning })
    }

    fn flag_errors(&mut self, root: &Node, field: &str, errors: Vec<FlagError>) {
        for error in errors {
            let flag = root.find(&super::overrides::parse_path(field).expect("a well-formed path"));
            let entry = flag.and_then(|node| node.entry(error.flag.as_str()));
            let is_unknown = error.message.contains("is not a flag");
            let location = match entry {
                Some(entry) if is_unknown => entry.key_location.clone(),
                Some(entry) => entry.node.location.clone(),
                None => root.locate_text(field),
            };
            let (code, label) =
                if is_unknown { ("scenario::unknown_flag", "unknown flag") } else { ("scenario::bad_value", "") };
            let mut diagnostic = Diagnostic::error(code, error.message).at(location, label);
            if let Some(help) = error.help {
                diagnostic = diagnostic.help(help);
            }
            self.diagnostics.push(diagnostic);
        }
    }

    fn latencies(&mut self, root: &Node, spec: &Spec, files: &mut Files<'_>) -> Latencies {
        let mut latencies = Latencies::default();
        let written = &spec.latency;
        let fields = [
            (&written.pod_start, &mut latencies.pod_start, "podStart"),
            (&written.image_pull, &mut latencies.image_pull, "imagePull"),
            (&written.pod_ready, &mut latencies.pod_ready, "podReady"),
            (&written.pod_stop, &mut latencies.pod_stop, "podStop"),
            (&written.node_boot, &mut latencies.node_boot, "nodeBoot"),
            (&written.kubelet_reconnect, &mut latencies.kubelet_reconnect, "kubeletReconnect"),
            (&written.volume_attach, &mut latencies.volume_attach, "volumeAttach"),
            (&written.volume_detach, &mut latencies.volume_detach, "volumeDetach"),
            (&written.volume_provision, &mut latencies.volume_provision, "volumeProvision"),
            (&written.watch, &mut latencies.watch, "watch"),
            (&written.api_call, &mut latencies.api_call, "apiCall"),
            (&written.kubectl_start, &mut latencies.kubectl_start, "kubectlStart"),
        ];
        for (written, latency, field) in fields {
            if let Some(written) = written {
                *latency = written.clone();
                self.observations(latency, root.locate_text(&format!("spec.latency.{field}")), files);
            }
        }
        latencies.job_run.clone_from(&written.job_run);
        if let Some(job_run) = &mut latencies.job_run {
            self.observations(job_run, root.locate_text("spec.latency.jobRun"), files);
        }
        latencies
    }

    /// Reads the file of an empirical distribution.
    fn observations(&mut self, distribution: &mut Distribution, location: Location, files: &mut Files<'_>) {
        let mut unreadable = None;
        let result = distribution.resolve_files(&mut |path| {
            files.text(path).map_err(|diagnostic| {
                let message = diagnostic.message.clone();
                unreadable = Some(diagnostic);
                message
            })
        });
        if let Err(error) = result {
            let diagnostic = unreadable.unwrap_or_else(|| Diagnostic::error("scenario::bad_value", error.to_string()));
            self.diagnostics.push(diagnostic.at(location, ""));
            // Something that can be sampled, as checks go on, and that gives no further trouble.
            *distribution = Distribution::Constant(SimDuration::MAX);
        }
    }

    fn pools(&mut self, root: &Node, spec: &Spec, config: &Config, objects: &[ManifestObject]) -> Vec<NodePool> {
        let mut pools = Vec::new();
        for (index, entry) in spec.cluster.node_pools.iter().enumerate() {
            let mut pool = NodePool {
                name: entry.name,
                count: entry.count,
                zones: entry.zones.clone(),
                template: entry.template.clone(),
            };
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
                        let location = root.locate_text(&format!("spec.cluster.nodePools[{index}].name"));
                        self.diagnostics.push(
                            Diagnostic::warning("scenario::no_capacity", message)
                                .at(location, "8 CPUs and 32Gi of memory are assumed")
                                .help("add `template: {status: {allocatable: {cpu: \"8\", memory: 32Gi, pods: \"110\"}}}`"),
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

    fn timeline(
        &mut self,
        root: &Node,
        spec: &Spec,
        plans: &mut Plans<'_>,
        not_modelled: &mut Vec<NotModelled>,
        files: &mut Files<'_>,
    ) -> Vec<(SimTime, TimelineAction)> {
        let Plans { chaos, runbook, procedures } = plans;
        let mut timeline = Vec::new();
        // Lines of one instant are typed into one shell.
        let mut shells: BTreeMap<SimTime, kubectl::ShellId> = BTreeMap::new();
        for (index, entry) in spec.timeline.iter().enumerate() {
            let at = SimTime::ZERO + entry.at;
            if let Some(fault) = &entry.fault {
                timeline.push((at, TimelineAction::Fault(chaos.faults.len())));
                let mut fault = fault.clone();
                for (distribution, field) in [(&mut fault.boot, "boot"), (&mut fault.delay, "delay")] {
                    if let Some(distribution) = distribution {
                        let place = root.locate_text(&format!("spec.timeline[{index}].fault.{field}"));
                        self.observations(distribution, place, files);
                    }
                }
                chaos.faults.push((at, fault));
            } else if entry.kubectl.is_some() {
                let text = root.find_text(&format!("spec.timeline[{index}].kubectl"));
                for typed in text.into_iter().flat_map(Typed::all) {
                    let Some(mut line) = self.runbook_line(&typed, not_modelled, files) else { continue };
                    let next = kubectl::ShellId(u32::try_from(shells.len()).unwrap_or(u32::MAX));
                    line.shell = Some(*shells.entry(at).or_insert(next));
                    timeline.push((at, TimelineAction::Kubectl(runbook.lines.len())));
                    runbook.lines.push(Arc::new(line));
                }
            } else if let Some(add) = &entry.add_nodes {
                let Some(pool) = chaos.pools.iter().position(|pool| pool.name == add.pool) else { continue };
                timeline.push((at, TimelineAction::AddNodes(chaos.add_nodes.len())));
                chaos.add_nodes.push((at, pool, add.count));
            } else if let Some(upgrade) = &entry.rolling_upgrade {
                timeline.push((at, TimelineAction::RollingUpgrade(procedures.upgrades.len())));
                procedures.upgrades.push(upgrade.clone());
            } else if let Some(reboot) = &entry.rolling_reboot {
                timeline.push((at, TimelineAction::RollingReboot(procedures.reboots.len())));
                procedures.reboots.push(reboot.clone());
            }
        }
        timeline
    }

    /// Reads a kubectl line and the files it names; none if it cannot be read.
    fn runbook_line(
        &mut self,
        typed: &Typed<'_>,
        not_modelled: &mut Vec<NotModelled>,
        files: &mut Files<'_>,
    ) -> Option<RunbookLine> {
        let (trimmed, place) = kubectl::in_background(typed.text);
        let CommandLine { mut command, printing, files: paths, input, rest } = match kubectl::parse(trimmed) {
            Ok(line) => line,
            Err(error) => {
                let diagnostic = Diagnostic::error("scenario::bad_kubectl_line", error.message);
                let mut diagnostic = diagnostic.at(typed.place_of(&error.word), "");
                diagnostic.help.extend(error.help);
                self.diagnostics.push(diagnostic);
                return None;
            }
        };
        if let Command::Refused(lines) = &command {
            let why = lines.first().map(|line| line.trim_start_matches("error: ")).unwrap_or_default();
            let diagnostic =
                Diagnostic::warning("scenario::refused_kubectl_line", format!("kubectl refuses this line: {why}"));
            self.diagnostics.push(diagnostic.at(typed.place(), ""));
        }
        let mut objects = Vec::new();
        for path in &paths {
            let place = typed.place_of(path);
            let saved = address_name(path).map(|name| (name, files.is_there(name)));
            if let Some((name, is_there)) = saved {
                self.diagnostics.push(of_address(path, name, is_there).at(place.clone(), ""));
                if !is_there {
                    continue;
                }
            }
            let path = saved.map_or(path.as_str(), |(name, _)| name);
            if path == "-" {
                let written = input.as_ref().map(|input| self.standard_input(input, typed, not_modelled, files));
                objects.extend(written.into_iter().flatten());
                continue;
            }
            let mut loaded = files.manifests(path);
            loaded.diagnostics = with_place(loaded.diagnostics, &place);
            let file: Arc<str> = path.into();
            let written = self.take(loaded, not_modelled).into_iter();
            objects.extend(written.map(|object| Written::new(&file, object)));
        }
        if let Command::Patch(arguments) = &mut command
            && let Some(path) = &arguments.patch_file
        {
            let place = typed.place_of(path);
            arguments.patch = self.patch_file(path, place, files)?;
        }
        kubectl::hand_over(&mut command, &mut objects);
        objects::check_line(&command, &objects, &typed.place(), &mut self.diagnostics);
        let shown = trimmed.strip_prefix("kubectl ").map_or(trimmed, str::trim_start);
        Some(RunbookLine { text: shown.into(), command, printing, objects, shell: None, place, rest })
    }
}

impl Resolver<'_> {
    /// The objects that a line reads as standard input.
    fn standard_input(
        &mut self,
        input: &kubectl::Input,
        typed: &Typed<'_>,
        not_modelled: &mut Vec<NotModelled>,
        files: &mut Files<'_>,
    ) -> Vec<Written> {
        let text = match &input.source {
            kubectl::Source::Text(text) => text.clone(),
            kubectl::Source::File(path) => match files.text(path) {
                Ok(text) => text,
                Err(problem) => {
                    self.diagnostics.push(problem.at(typed.place_of(path), "named here"));
                    return Vec::new();
                }
            },
        };
        let read = input.filtered(&text);
        let mut loaded = crate::model::manifest::load_text(kubectl::STANDARD_INPUT, &read);
        let placed = loaded.diagnostics.into_iter().map(|mut problem| {
            // What stands in the line as it is read has a place of its own there.
            let places: Option<Vec<_>> =
                problem.labels.iter().map(|label| typed.place_within(&read, &label.location)).collect();
            match places {
                Some(places) => {
                    problem.labels.iter_mut().zip(places).for_each(|(label, place)| label.location = place);
                    problem
                }
                None => problem.at(typed.place(), "this line reads it"),
            }
        });
        loaded.diagnostics = placed.collect();
        let file: Arc<str> = kubectl::STANDARD_INPUT.into();
        let objects = self.take(loaded, not_modelled).into_iter();
        objects.map(|object| Written::new(&file, object)).collect()
    }

    /// The patch that a file holds; none if it holds none.
    fn patch_file(&mut self, path: &str, place: Location, files: &mut Files<'_>) -> Option<serde_json::Value> {
        let problem = match files.text(path) {
            Ok(text) => match kubectl::patch_value(&text) {
                Ok(value) => return Some(value),
                Err(error) => Diagnostic::error("scenario::bad_kubectl_line", error.message),
            },
            Err(diagnostic) => diagnostic,
        };
        let placed = if problem.labels.is_empty() { problem.at(place, "named here") } else { problem };
        self.diagnostics.push(placed);
        None
    }
}

/// The name that a file is saved under which lies at an address; none if the path is no address.
fn address_name(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("https://").or_else(|| path.strip_prefix("http://"))?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    Some(rest.rsplit('/').next().unwrap_or_default())
}

/// What lies at an address is not known here; a file beside the scenario may hold it.
fn of_address(address: &str, name: &str, is_there: bool) -> Diagnostic {
    if is_there {
        let message =
            format!("there is no network in a simulation: `{name}` beside the scenario is read for `{address}`");
        return Diagnostic::warning("scenario::saved_address", message);
    }
    let message = format!("`{address}` cannot be read: there is no network in a simulation");
    let help = match name {
        "" => "save what it holds as a file beside the scenario, and name that".to_owned(),
        name => format!("save what it holds as `{name}` beside the scenario; the line may stay as it is"),
    };
    Diagnostic::error("scenario::bad_kubectl_line", message).help(help)
}

/// Objects of manifests that the timeline applies once more were applied before, too. Those of dumps tell themselves.
fn remember_applied(objects: &mut [ManifestObject], runbook: &Runbook) {
    let applies = |line: &&Arc<RunbookLine>| matches!(line.command, Command::Apply(_));
    let written = runbook.lines.iter().filter(applies).flat_map(|line| &line.objects);
    let applied: BTreeSet<_> = written.map(|written| written.object.key()).collect();
    for ManifestObject { object, .. } in objects {
        let metadata = object.metadata();
        let is_dumped = metadata.uid.is_some() || metadata.creation_timestamp.is_some();
        let is_remembered = metadata.annotations.contains_key(&Symbol::new(kubectl::LAST_APPLIED));
        if !is_dumped && !is_remembered && applied.contains(&object.key()) {
            *object = kubectl::remembered(object);
        }
    }
}

/// Problems with files that could not be read have no place of their own.
fn with_place(diagnostics: Diagnostics, place: &Location) -> Diagnostics {
    let placed = diagnostics.into_iter().map(|diagnostic| match diagnostic.labels.as_slice() {
        [] => diagnostic.at(place.clone(), "named here"),
        _ => diagnostic,
    });
    placed.collect()
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
