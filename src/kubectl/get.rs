//! `kubectl get` as a table.
//!
//! # Differs
//! Addresses, images of nodes, versions and whatever else is not modelled are shown as `<none>` or `<unknown>`, and left out
//! of objects; of readiness gates, a pod that is not ready has met none. A watch ends when the objects as they are have been
//! printed.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::autoscaler;
use super::command_line::{Arguments, FILES, PRINT, Selection, Stop, WithoutNames, Words, has_command};
use super::failure::Failure;
use super::json_path::Template;
use super::output::{self, Format};
use super::printing::Output;
use super::resource::{Found, Kind, find, kinds_answered};
use super::shown::is_shown;
use super::unanswered::Unanswered;
use super::verb::{Scene, Verb, works_on_selection};
use super::view::{self, Clock, is_initialized};
use super::{CommandPlan, Item, columns};
use crate::arena::Symbol;
use crate::model::{Container, NodeSystemInfo, StoredKind};
use crate::state::{
    ContainerState, ContainerStatus, JobConditionType, JobId, Node, NotScheduledReason, Pod, Quota, Status, Store,
    WorkloadId,
};
use crate::units::{SimDuration, SimTime};

const _: () = assert!(has_command(Unanswered::COMMANDS, "events"), "what answers `events` answers `get events`, too");

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
    /// `--show-kind`.
    pub show_kind: bool,
    /// `--watch`, `--watch-only`.
    pub watch: bool,
}

impl Verb for GetArgs {
    const COMMANDS: &'static [Words] = &[(
        "get",
        &[
            FILES,
            PRINT,
            "all-namespaces,A! chunk-size= field-selector= ignore-not-found! label-columns,L= no-headers! \
                 output-watch-events! raw= selector,l= server-print! show-kind! show-labels! sort-by= subresource= watch,w! \
                 watch-only!",
        ],
    )];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let columns = match (&arguments.printing.output, arguments.text("output")) {
            (Output::Name, _) => Columns::Name,
            (Output::Human, Some("wide")) => Columns::Wide,
            (Output::Human, _) => Columns::Usual,
            (Output::Object(format), _) if matches!(**format, Format::Unknown(_)) => return Err(arguments.unanswered()),
            (Output::Object(format), _) => Columns::Objects(Arc::clone(format)),
        };
        let shows_status = matches!(arguments.text("subresource"), None | Some("status"));
        if !shows_status || ["raw", "kustomize"].iter().any(|flag| arguments.has(flag)) {
            return Err(arguments.unanswered());
        }
        let is_event = |word: &String| matches!(word.split(['/', '.']).next(), Some("event" | "events" | "ev"));
        if arguments.words.first().is_some_and(is_event) {
            return Err(arguments.unanswered());
        }
        let path = arguments.text("sort-by").filter(|path| !path.is_empty()).map(str::to_owned);
        let sort_by = path
            .map(|path| Ok((path.clone(), Template::relaxed(&path)?)))
            .transpose()
            .map_err(|problem: String| Stop::error(problem))?;
        let label_columns = arguments.list("label-columns");
        let show_labels = arguments.switch("show-labels", false)?;
        let show_kind = arguments.switch("show-kind", false)?;
        let watch = arguments.switch("watch", false)? || arguments.switch("watch-only", false)?;
        let no_headers = arguments.switch("no-headers", false)?;
        let ignore_not_found = arguments.switch("ignore-not-found", false)?;
        if arguments.words.is_empty() && !arguments.has("filename") {
            return Err(Stop::refused(&[
                "You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list of supported \
                 resources.",
                "",
                "error: Required resource not specified.",
                "Use \"kubectl explain <resource>\" for a detailed description of that resource (e.g. kubectl explain pods).",
                "See 'kubectl get -h' for help and examples",
            ]));
        }
        let selection = arguments.selection(WithoutNames::All)?;
        Ok(Self {
            selection,
            columns,
            no_headers,
            ignore_not_found,
            sort_by,
            label_columns,
            show_labels,
            show_kind,
            watch,
        })
    }

    works_on_selection!(of_words_or_files);

    fn only_looks(&self) -> bool {
        true
    }

    /// What `get` prints.
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let Scene { store, now, clock, .. } = *scene;
        let (found, failures): (Vec<_>, Vec<_>) = find(&self.selection, store).into_iter().partition(Result::is_ok);
        let mut found: Vec<Found> = found.into_iter().flatten().collect();
        if let Some((text, path)) = &self.sort_by {
            match sorted(found, path, text, store, clock) {
                Ok(sorted) => found = sorted,
                Err(problem) => return plan.fail(Failure::own(problem)),
            }
        }
        let is_silent = !failures.is_empty() || self.ignore_not_found;
        match &self.columns {
            Columns::Objects(format) => objects(self, format, &found, !failures.is_empty(), store, clock, plan),
            // As it is: `-o name` has been heeded.
            Columns::Name => plan.items.extend(found.iter().map(|object| Item::Print(vec![object.printed(store)]))),
            Columns::Usual | Columns::Wide => tables(self, &found, is_silent, store, (now, clock), plan),
        }
        let made = self
            .selection
            .kinds
            .iter()
            .filter_map(|kind| if let Kind::Stored(kind) = kind { Some(*kind) } else { None });
        for kind in made.filter(|kind| is_made_by_controllers(*kind)) {
            plan.warnings.push(format!("kubesquall: {} that a control plane makes are not simulated", kind.plural));
        }
        if self.watch {
            plan.warnings.push(WATCH.to_owned());
        }
        if !self.ignore_not_found {
            failures.into_iter().filter_map(Result::err).for_each(|failure| plan.fail(failure));
        }
    }
}

/// How old something is: time stamps hold whole seconds.
///
/// # Source
/// kubectl's printers, `translateTimestampSince`.
fn age(since: SimTime, now: SimTime) -> String {
    human(now.saturating_since(since.floor_to_second()))
}

/// A length of time, as kubectl prints it.
///
/// # Source
/// apimachinery, `duration.HumanDuration`.
pub(crate) fn human(time: SimDuration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |first: u64, unit: char, second: u64, lesser: char| match second {
        0 => format!("{first}{unit}"),
        _ => format!("{first}{unit}{second}{lesser}"),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, 'd', hours % 24, 'h'),
        _ if days < 730 => format!("{days}d"),
        _ if days < 2920 => pair(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

/// What is said of a watch, and what waits for changes instead.
const WATCH: &str = "kubesquall: the changes that a watch would go on to print are not simulated: `kubectl wait --for=…` and \
                     `kubectl rollout status` wait for them, and a second `kubectl get` at a later `at:` shows them";

/// Kinds whose objects components make, which none does here.
fn is_made_by_controllers(kind: StoredKind) -> bool {
    matches!(kind.kind.as_str(), "Endpoints" | "EndpointSlice" | "Lease" | "ControllerRevision" | "VolumeAttachment")
}

fn sorted(found: Vec<Found>, path: &Template, text: &str, store: &Store, clock: Clock) -> Result<Vec<Found>, String> {
    let pair = |found: Found| {
        let value = view::object(&found, store, clock).unwrap_or_default();
        (found, value)
    };
    output::sort(found.into_iter().map(pair).collect(), path, text)
}

/// `-o json`, `yaml`, `jsonpath` and `custom-columns`.
fn objects(
    args: &GetArgs,
    format: &Format,
    found: &[Found],
    has_failed: bool,
    store: &Store,
    clock: Clock,
    plan: &mut CommandPlan,
) {
    let mut values: Vec<Value> = found.iter().filter_map(|found| view::object(found, store, clock)).collect();
    let is_one = args.selection.targets.len() == 1 && args.selection.kinds.len() <= 1;
    if is_one && values.is_empty() {
        return;
    }
    let mut lacks = false;
    let printed = match format {
        Format::Columns(columns) => {
            let headings = columns.iter().map(|(heading, _)| heading.clone()).collect();
            let rows = values.iter().map(|value| output::row(columns, value)).collect::<Result<Vec<_>, _>>();
            rows.map(|rows| {
                let is_missed = |column: usize| rows.iter().any(|row| row[column] == "<none>");
                let mut columns = columns.iter().enumerate();
                lacks = columns.any(|(column, (_, path))| is_missed(column) && !is_shown(path));
                let headings: Option<Vec<String>> = Some(headings).filter(|_| !args.no_headers);
                table_lines(&headings.into_iter().chain(rows).collect::<Vec<_>>())
            })
        }
        _ if is_one => format.lines(&values.swap_remove(0)),
        _ => format.lines(&output::list(values)),
    };
    match printed {
        Ok(lines) => {
            if let Format::JsonPath(_, path) | Format::JsonPathAsJson(_, path) = format {
                lacks = lines.is_empty() && !is_shown(path);
            }
            if matches!(format, Format::Json | Format::Yaml) || lacks && !has_failed {
                plan.warnings.push(view::LEFT_OUT.to_owned());
            }
            plan.items.push(Item::Print(lines));
        }
        Err(problem) => plan.fail(Failure::own(problem)),
    }
}

/// # Source
/// kubectl, `get`: names have their kind where more than one is answered, be it by a table without rows.
fn tables(
    args: &GetArgs,
    found: &[Found],
    is_silent: bool,
    store: &Store,
    (now, clock): (SimTime, Clock),
    plan: &mut CommandPlan,
) {
    let mut kinds: Vec<Kind> = Vec::new();
    for object in found {
        if !kinds.contains(&object.kind()) {
            kinds.push(object.kind());
        }
    }
    if found.is_empty() && !is_silent {
        let is_placed = !args.selection.all_namespaces && args.selection.kinds.iter().all(|kind| kind.is_namespaced());
        let place = if is_placed { format!(" in {} namespace", args.selection.namespace) } else { String::new() };
        plan.warnings.push(format!("No resources found{place}{}", if is_placed { "." } else { "" }));
    }
    let with_kind = args.show_kind || kinds_answered(&args.selection, found).len() > 1;
    for (index, kind) in kinds.iter().enumerate() {
        let objects: Vec<&Found> = found.iter().filter(|object| object.kind() == *kind).collect();
        if index > 0 {
            plan.items.push(Item::Print(vec![String::new()]));
        }
        let headings = headings(*kind, args);
        let rows = objects.iter().map(|object| row(object, args, with_kind, store, (now, clock)));
        let rows: Vec<Vec<String>> = Some(headings).filter(|_| !args.no_headers).into_iter().chain(rows).collect();
        plan.items.push(Item::Print(table_lines(&rows)));
    }
}

/// Columns stand three spaces apart, and none but the last is narrower than six with them.
///
/// # Source
/// cli-runtime, `GetNewTabWriter`.
fn table_lines(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|column| (width(column).unwrap_or(0) + 3).max(6)).collect();
    let line = |row: &Vec<String>| -> String {
        let cells = row.iter().enumerate().map(|(column, cell)| match column + 1 == row.len() {
            true => cell.clone(),
            false => format!("{cell:width$}", width = widths[column]),
        });
        cells.collect()
    };
    rows.iter().map(line).collect()
}

fn headings(kind: Kind, args: &GetArgs) -> Vec<String> {
    let (usual, wide) = columns::of(kind);
    let wide = wide.iter().filter(|_| args.columns == Columns::Wide);
    let own = std::iter::once("NAME").chain(usual.iter().chain(wide).copied());
    let place = (args.selection.all_namespaces && kind.is_namespaced()).then_some("NAMESPACE");
    let mut headings: Vec<String> = place.into_iter().chain(own).map(str::to_owned).collect();
    // The last part of a label's key.
    headings.extend(args.label_columns.iter().map(|key| key.rsplit('/').next().unwrap_or(key).to_uppercase()));
    headings.extend(args.show_labels.then(|| "LABELS".to_owned()));
    headings
}

fn row(found: &Found, args: &GetArgs, with_kind: bool, store: &Store, (now, clock): (SimTime, Clock)) -> Vec<String> {
    let kind = found.kind();
    let object = view::object(found, store, clock).unwrap_or_default();
    let name = found.name(store) + columns::mark(kind, &object);
    let name = if with_kind { format!("{}/{name}", found.kind().printed()) } else { name };
    let place = (args.selection.all_namespaces && found.kind().is_namespaced()).then(|| found.namespace(store));
    let mut cells: Vec<String> = place.map(|place| place.to_string()).into_iter().chain([name]).collect();
    let (usual, wide) = columns::of(kind);
    let count = usual.len() + if args.columns == Columns::Wide { wide.len() } else { 0 };
    cells.extend(cells_of(found, &object, store, (now, clock)).unwrap_or_default().into_iter().take(count));
    if args.show_labels || !args.label_columns.is_empty() {
        let labels = found.labels(store);
        let label = |key: &String| labels.get(Symbol::new(key)).map_or("", |value| value.as_str()).to_owned();
        cells.extend(args.label_columns.iter().map(label));
        let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let all = if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") };
        cells.extend(args.show_labels.then_some(all));
    }
    cells
}

/// What a pod's STATUS reads.
///
/// # Source
/// kube-apiserver, `printPod`: later rules hide what earlier ones say, and of the containers the first speaks last.
fn status(pod: &Pod) -> String {
    if pod.deletion.is_some() && pod.reason.as_str() == "NodeLost" {
        return "Unknown".to_owned();
    }
    if pod.deletion.is_some() && !pod.phase.is_terminal() {
        return "Terminating".to_owned();
    }
    let initializing = initializing(pod);
    if let Some(initializing) = initializing.as_ref().filter(|_| !is_initialized(pod)) {
        return initializing.clone();
    }
    let mut status = match &pod.not_scheduled {
        // A sidecar that has ended since.
        _ if initializing.is_some() => initializing.as_deref().unwrap_or_default(),
        Some(gated) if gated.reason == NotScheduledReason::SchedulingGated => gated.reason.as_str(),
        _ if !pod.reason.is_empty() => pod.reason.as_str(),
        _ => pod.phase.as_str(),
    };
    let (mut runs, mut error) = (false, None);
    for container in pod.containers.iter().rev() {
        match container.state {
            ContainerState::Running { .. } => runs |= container.ready,
            ContainerState::Terminated(ending) => {
                status = ending.reason.as_str();
                if ending.exit_code != 0 {
                    error = Some(status);
                }
            }
            waiting => status = waiting_for(waiting, pod),
        }
    }
    if status == "Completed" {
        let is_ready = pod.ready.is_some_and(|ready| ready.status == Status::True);
        return match error {
            _ if runs && is_ready => "Running",
            Some(error) => error,
            None if runs => "NotReady",
            None => status,
        }
        .to_owned();
    }
    // The kubelet has not written yet what its containers do.
    let is_awaited = pod.containers.is_empty() && pod.node.is_some() && status == "Pending";
    (if is_awaited && pod.started_at.is_some() { "ContainerCreating" } else { status }).to_owned()
}

/// Why a container waits.
fn waiting_for(state: ContainerState, pod: &Pod) -> &'static str {
    match state {
        ContainerState::CrashLoopBackOff => "CrashLoopBackOff",
        ContainerState::ErrImagePull => "ErrImagePull",
        ContainerState::ImagePullBackOff => "ImagePullBackOff",
        ContainerState::ErrImageNeverPull => "ErrImageNeverPull",
        _ if pod.init_containers.is_empty() => "ContainerCreating",
        _ => "PodInitializing",
    }
}

/// What the first init container says that the pod still waits for, if it waits for one.
fn initializing(pod: &Pod) -> Option<String> {
    let containers = pod.spec.init_containers.iter().zip(&pod.init_containers).enumerate();
    let open = |(_, (container, status)): &(usize, (&Container, &ContainerStatus))| match status.state {
        ContainerState::Terminated(ending) if ending.exit_code == 0 => false,
        ContainerState::Running { .. } => !container.is_sidecar(),
        _ => true,
    };
    let (index, (_, status)) = { containers }.find(open)?;
    let count = pod.spec.init_containers.len();
    Some(match status.state {
        ContainerState::Terminated(ending) => format!("Init:{}", ending.reason.as_str()),
        ContainerState::Running { .. } | ContainerState::Waiting => format!("Init:{index}/{count}"),
        waiting => format!("Init:{}", waiting_for(waiting, pod)),
    })
}

/// READY and RESTARTS.
///
/// # Source
/// kube-apiserver, `printPod`: who runs and is ready, of the containers and those init containers that go on running.
fn ready_and_restarts(pod: &Pod, now: SimTime) -> [String; 2] {
    let runs = |status: &&ContainerStatus| status.ready && matches!(status.state, ContainerState::Running { .. });
    let init = || pod.spec.init_containers.iter().zip(&pod.init_containers);
    let sidecars = || init().filter(|(container, _)| container.is_sidecar()).map(|(_, status)| status);
    let is_initializing = initializing(pod).is_some() && !is_initialized(pod);
    let own = pod.containers.iter().filter(|_| !is_initializing);
    let ready = own.clone().filter(runs).count() + sidecars().filter(runs).count();
    let counted: Vec<&ContainerStatus> =
        if is_initializing { init().map(|(_, status)| status).collect() } else { own.chain(sidecars()).collect() };
    let restarts: u32 = counted.iter().map(|status| status.restarts).sum();
    let last = counted.iter().filter_map(|status| status.last).map(|ending| ending.finished_at).max();
    let restarts = match last.filter(|_| restarts != 0) {
        Some(last) => format!("{restarts} ({} ago)", age(last, now)),
        None => restarts.to_string(),
    };
    let side = pod.spec.init_containers.iter().filter(|container| container.is_sidecar()).count();
    [format!("{ready}/{}", pod.spec.containers.len() + side), restarts]
}

fn pod_cells(pod: &Pod, store: &Store, now: SimTime) -> Vec<String> {
    let [ready, restarts] = ready_and_restarts(pod, now);
    let node =
        |node: Option<crate::state::NodeId>| node.map_or("<none>".to_owned(), |node| store.node_name(node).to_string());
    let gates = match pod.spec.readiness_gates.len() {
        0 => "<none>".to_owned(),
        // Who is ready has met them all.
        count if pod.ready.is_some_and(|ready| ready.status == Status::True) => format!("{count}/{count}"),
        count => format!("0/{count}"),
    };
    let address = "<none>".to_owned();
    let age = age(pod.created_at, now);
    vec![ready, status(pod), restarts, age, address, node(pod.node), node(pod.nominated_node), gates]
}

/// # Source
/// kube-apiserver, `printNode`, `findNodeRoles`.
fn node_cells(node: &Node, now: SimTime) -> Vec<String> {
    let ready = match node.conditions.ready() {
        Some(Status::True) => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let cordoned = if node.unschedulable { ",SchedulingDisabled" } else { "" };
    let role = |(key, value): (Symbol, Symbol)| match key.as_str() {
        "kubernetes.io/role" => Some(value.as_str()),
        key => key.strip_prefix("node-role.kubernetes.io/"),
    };
    let roles: BTreeSet<&str> = node.labels.iter().filter_map(role).filter(|role| !role.is_empty()).collect();
    let roles = if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") };
    let version = node.kubelet_version.as_str();
    let own = [format!("{ready}{cordoned}"), roles, age(node.created_at, now)];
    let described = node.description.as_deref();
    let said = |of: fn(&NodeSystemInfo) -> Symbol| match described.map(|description| of(&description.info)) {
        Some(text) if !text.is_empty() => text.to_string(),
        _ => "<unknown>".to_owned(),
    };
    let address = |kind: &str| described.and_then(|description| description.address(kind));
    let address = |kind: &str| address(kind).unwrap_or_else(|| "<none>".to_owned());
    let wide = [
        version.to_owned(),
        address("InternalIP"),
        address("ExternalIP"),
        said(|info| info.os_image),
        said(|info| info.kernel_version),
        said(|info| info.container_runtime_version),
    ];
    own.into_iter().chain(wide).collect()
}

/// All cells of an object behind its name, those of `-o wide` last.
pub(crate) fn cells_of(
    found: &Found,
    object: &Value,
    store: &Store,
    (now, clock): (SimTime, Clock),
) -> Option<Vec<String>> {
    Some(match found {
        Found::Pod(id) => pod_cells(store.pod(*id)?, store, now),
        Found::Node(id) => node_cells(store.node(*id)?, now),
        Found::Workload(kind, id) => {
            let mut cells = workload_cells(*id, object, store, now)?;
            cells.extend(columns::of_pods(*kind, object));
            cells
        }
        Found::Other(kind, namespace, name) => {
            let made = object["metadata"]["creationTimestamp"].as_str().and_then(|text| clock.instant(text));
            let age = made.map_or("<unknown>".to_owned(), |made| age(made, now));
            other_cells(*kind, *namespace, *name, object, age, store)?
        }
    })
}

fn workload_cells(id: WorkloadId, object: &Value, store: &Store, now: SimTime) -> Option<Vec<String>> {
    let age = age(store.workload_meta(id)?.created_at, now);
    Some(match id {
        WorkloadId::Deployment(id) => {
            let (spec, status) = (&store.deployments.get(id)?.spec, &store.deployments.get(id)?.status);
            let ready = format!("{}/{}", status.ready, spec.replicas.unwrap_or(1));
            vec![ready, status.updated.to_string(), status.available.to_string(), age]
        }
        WorkloadId::ReplicaSet(id) => {
            let set = store.replica_sets.get(id)?;
            vec![set.replicas.to_string(), set.status.replicas.to_string(), set.status.ready.to_string(), age]
        }
        WorkloadId::StatefulSet(id) => {
            let set = store.stateful_sets.get(id)?;
            vec![format!("{}/{}", set.status.ready, set.spec.replicas.unwrap_or(1)), age]
        }
        WorkloadId::DaemonSet(id) => {
            let status = &store.daemon_sets.get(id)?.status;
            let counts = [status.desired, status.current, status.ready, status.updated, status.available];
            let counts = counts.iter().map(ToString::to_string);
            counts.chain([columns::labels(object, "/spec/template/spec/nodeSelector"), age]).collect()
        }
        WorkloadId::Job(id) => job_cells(id, store, now, age)?,
        WorkloadId::CronJob(id) => {
            let cron_job = store.cron_jobs.get(id)?;
            let last = cron_job.status.last_scheduled_at.map_or("<none>".to_owned(), |at| self::age(at, now));
            let suspend = if cron_job.spec.suspend == Some(true) { "True" } else { "False" };
            let active = cron_job.status.active.len().to_string();
            let schedule = cron_job.spec.schedule.to_string();
            let zone = cron_job.spec.time_zone.map_or("<none>".to_owned(), |zone| zone.to_string());
            vec![schedule, zone, suspend.to_owned(), active, last, age]
        }
    })
}

/// # Source
/// kube-apiserver, `printJob`: only success has a completion time, so that a Job that failed goes on counting.
fn job_cells(id: JobId, store: &Store, now: SimTime, age: String) -> Option<Vec<String>> {
    use JobConditionType::{Complete, Failed, FailureTarget, SuccessCriteriaMet, Suspended};
    let job = store.jobs.get(id)?;
    let has = |kind: &JobConditionType| job.status.condition(*kind).is_some();
    let state = match [Complete, Failed].iter().find(|kind| has(kind)) {
        Some(ended) => ended.as_str(),
        None if job.meta.deleting.is_some() => "Terminating",
        None => {
            let interim = [Suspended, FailureTarget, SuccessCriteriaMet];
            interim.iter().find(|kind| has(kind)).map_or("Running", |kind| kind.as_str())
        }
    };
    let completions = match (job.spec.completions, job.spec.parallelism) {
        (Some(wanted), _) => format!("{}/{wanted}", job.status.succeeded),
        (None, Some(parallelism)) if parallelism > 1 => format!("{}/1 of {parallelism}", job.status.succeeded),
        (None, _) => format!("{}/1", job.status.succeeded),
    };
    let ended = job.status.completed_at.filter(|_| has(&Complete));
    let duration = job.status.started_at.map(|start| self::age(start, ended.map_or(now, SimTime::floor_to_second)));
    Some(vec![state.to_owned(), completions, duration.unwrap_or_default(), age])
}

fn other_cells(
    kind: Kind,
    namespace: Symbol,
    name: Symbol,
    object: &Value,
    age: String,
    store: &Store,
) -> Option<Vec<String>> {
    let is_it = |meta: &crate::state::Meta| meta.namespace == namespace && meta.name == name;
    let amount = |value: Option<crate::units::IntOrPercent>| value.map_or("N/A".to_owned(), |value| value.to_string());
    Some(match kind {
        Kind::PodDisruptionBudget => {
            let (_, budget) = store.budgets.iter().find(|(_, budget)| is_it(&budget.meta))?;
            let allowed = budget.status.disruptions_allowed.to_string();
            vec![amount(budget.spec.min_available), amount(budget.spec.max_unavailable), allowed, age]
        }
        Kind::Service => columns::service(object, age),
        Kind::PersistentVolume => columns::volume(object, age),
        Kind::PersistentVolumeClaim => columns::claim(object, age),
        Kind::Namespace => {
            let is_going = store.namespace(name)?.1.deleting_since.is_some();
            vec![(if is_going { "Terminating" } else { "Active" }).to_owned(), age]
        }
        Kind::PriorityClass => {
            let class = store.priority_class(name)?;
            let policy = if class.never_preempts { "Never" } else { "PreemptLowerPriority" };
            vec![class.value.to_string(), class.global_default.to_string(), age, policy.to_owned()]
        }
        Kind::Stored(kind) if kind.is_autoscaler() => {
            let autoscaler = store.autoscalers.get(&(namespace, name));
            let mut cells = autoscaler.map_or_else(|| vec![String::new(); 5], autoscaler::cells);
            cells.push(age);
            cells
        }
        Kind::Stored(kind) if kind.is_built_in() && kind.kind == "ResourceQuota" => {
            let mut cells = quota_cells(store.quotas.get(&(namespace, name)));
            cells.push(age);
            cells
        }
        Kind::Stored(kind) => columns::stored(kind, object, age),
        _ => vec![age],
    })
}

/// # Source
/// kube-apiserver, `printResourceQuota`.
fn quota_cells(quota: Option<&Quota>) -> Vec<String> {
    let hard = quota.iter().flat_map(|quota| quota.hard.iter().map(|(name, hard)| (name, hard, quota.used.get(name))));
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (name, hard, used) in hard {
        let cells = if name.as_str().starts_with("limits.") { &mut limits } else { &mut requests };
        cells.push(format!("{name}: {}/{hard}", used.copied().unwrap_or_default()));
    }
    vec![requests.join(", "), limits.join(", ")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_as_kubectl_tells_them() {
        let check = |seconds: u64, text: &str| {
            assert_eq!(age(SimTime::ZERO, SimTime::ZERO + SimDuration::from_secs(seconds)), text)
        };
        check(0, "0s");
        check(119, "119s");
        check(120, "2m");
        check(150, "2m30s");
        check(3_700, "61m");
        check(11_000, "3h3m");
        check(100_000, "27h");
        check(180_000, "2d2h");
        check(900_000, "10d");
    }
}
