//! Command lines against an API server; pods stop as the test says.

use std::sync::Arc;

use super::{CommandLine, Kubectl, Place, Runbook, RunbookLine, Tag, Timer, Written, hand_over, parse};
use crate::apiserver::{ApiServer, link_owners};
use crate::arena::Symbol;
use crate::component::{
    Answer, ApiError, Component, Config, Ctx, DeleteOptions, ErrorReason, Latencies, Outbox, PodStatusPatch, Record,
    Request, StatusUpdate, Timers, Transcript,
};
use crate::engine::{Distribution, EventQueue, Streams, Ticket};
use crate::model::config::{
    KubeApiserver, KubeControllerManager, KubeSchedulerConfiguration, KubeletConfiguration, KubernetesVersion,
};
use crate::model::{self, Object};
use crate::state::{
    CauseId, Change, Changed, DeletionCause, PodDisruptionBudgetStatus, PodId, PodPhase, Propagation, Status, Store,
    WorkloadId,
};
use crate::units::{SimDuration, SimTime};

enum Event {
    Timer(Timer),
    Arrive(Request, Option<Tag>),
    Answer(Tag, Answer),
    Deliver(Change),
    /// The pod's containers have stopped.
    Stopped(PodId),
    /// The budget allows so many disruptions from now on.
    Allow(i32),
}

struct Alarms<'a> {
    queue: &'a mut EventQueue<Event>,
}

impl Timers<Timer> for Alarms<'_> {
    fn arm(&mut self, at: SimTime, timer: Timer) -> Ticket {
        self.queue.push(at, Event::Timer(timer))
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.queue.cancel(ticket).is_some()
    }
}

/// A cluster of nodes `n` and `m` with an operator. A call takes 10 ms.
struct Desk {
    kubectl: Kubectl,
    api: ApiServer,
    store: Store,
    config: Config,
    now: SimTime,
    queue: EventQueue<Event>,
    changed: Vec<Changed>,
    /// How long containers take to stop; none: for ever.
    stop: Option<SimDuration>,
    /// When evictions and deletions of pods arrived, and whether they were granted.
    asked: Vec<(f64, bool)>,
    /// Reads are not answered.
    is_deaf: bool,
    /// Nothing is answered.
    is_down: bool,
    transcripts: Vec<Transcript>,
}

const WAY: SimDuration = SimDuration::from_millis(5);
/// When a line has read what it works on.
const BEGIN: f64 = 0.07;

impl Desk {
    /// Types one line at t=0.
    fn new(line: &str) -> Self {
        Self::with_files(line, &[])
    }

    /// Types one line at t=0 that names these files, each with one object.
    fn with_files(line: &str, files: &[(&str, &str)]) -> Self {
        let version = KubernetesVersion::NEWEST;
        let config = Config {
            version,
            kube_apiserver: KubeApiserver::defaults(version),
            kube_controller_manager: KubeControllerManager::defaults(version),
            kube_scheduler: KubeSchedulerConfiguration::default(),
            kubelet: KubeletConfiguration::default().resolve(version),
            latency: Latencies {
                kubectl_start: Distribution::Constant(SimDuration::from_millis(60)),
                ..Latencies::default()
            },
            round_trip: SimDuration::from_millis(10),
            epoch_unix_s: 0,
        };
        let mut line = runbook_line(line);
        line.objects = files.iter().map(|(file, text)| written(file, text)).collect();
        hand_over(&mut line.command, &mut line.objects);
        let lines = vec![Arc::new(line)];
        let mut desk = Self {
            kubectl: Kubectl::new(Arc::new(Runbook { lines, epoch_unix_nanos: 0 })),
            api: ApiServer::new(),
            store: Store::default(),
            config,
            now: SimTime::ZERO,
            queue: EventQueue::new(),
            changed: Vec::new(),
            stop: Some(SimDuration::from_millis(300)),
            asked: Vec::new(),
            is_deaf: false,
            is_down: false,
            transcripts: Vec::new(),
        };
        for name in ["n", "m"] {
            let node = serde_saphyr::from_str(&format!("{{metadata: {{name: {name}}}}}")).expect("a node");
            desk.create(Object::Node(Box::new(node)));
        }
        desk.queue.push(SimTime::ZERO, Event::Timer(Timer::Run(0)));
        desk
    }

    /// Types another line now.
    fn type_line(&mut self, line: &str) {
        let lines = &mut Arc::make_mut(&mut self.kubectl.runbook).lines;
        lines.push(Arc::new(runbook_line(line)));
        self.queue.push(self.now, Event::Timer(Timer::Run(lines.len() - 1)));
    }

    fn ask(&mut self, request: Request) -> Answer {
        let answer =
            self.api.handle(&mut self.store, &self.config, &Streams::new(3), self.now, request, &mut self.changed);
        self.deliver();
        answer
    }

    fn deliver(&mut self) {
        for what in std::mem::take(&mut self.changed) {
            if let Changed::PodUpdated { pod, .. } = &what
                && self.store.pod(*pod).is_some_and(|pod| pod.deletion.is_some())
                && let Some(stop) = self.stop
            {
                self.queue.push(self.now + stop, Event::Stopped(*pod));
            }
            if Kubectl::watches(&what) {
                let change = Change { at: self.now, cause: CauseId::NONE, what };
                self.queue.push(self.now + WAY, Event::Deliver(change));
            }
        }
    }

    #[track_caller]
    fn create(&mut self, object: Object) {
        let answer =
            self.api.restore(&mut self.store, &self.config, &Streams::new(3), self.now, object, &mut self.changed);
        self.deliver();
        answer.expect("a new object");
        link_owners(&mut self.store);
    }

    /// A ready pod of label `app: a`; `owner` is kind and name, or empty.
    #[track_caller]
    fn pod(&mut self, name: &str, node: &str, owner: (&str, &str), spec: &str) -> PodId {
        let owner = match owner {
            ("", _) => String::new(),
            (kind, name) => {
                format!(", ownerReferences: [{{kind: {kind}, name: {name}, uid: '', controller: true}}]")
            }
        };
        let text = format!(
            "{{metadata: {{name: {name}, namespace: default, labels: {{app: a}}{owner}}}, \
             spec: {{nodeName: {node}, {spec} containers: [{{name: c, image: i}}]}}}}"
        );
        let pod: model::Pod = serde_saphyr::from_str(&text).expect("a pod");
        self.create(Object::Pod(Box::new(pod)));
        let id = self.store.find_pod(Symbol::new("default"), &Arc::from(name)).expect("the pod");
        self.phase(id, PodPhase::Running);
        id
    }

    fn phase(&mut self, pod: PodId, phase: PodPhase) {
        let patch = PodStatusPatch { phase: Some(phase), ready: Some(Status::True), ..PodStatusPatch::default() };
        self.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
    }

    /// A pod of a ReplicaSet on node `n`.
    fn web(&mut self, name: &str) -> PodId {
        self.replica_set();
        self.pod(name, "n", ("ReplicaSet", "web"), "")
    }

    fn replica_set(&mut self) {
        if self.store.replica_sets.ids().next().is_none() {
            let set = serde_saphyr::from_str(
                "{metadata: {name: web, namespace: default}, spec: {replicas: 0, selector: {matchLabels: {app: a}}, \
                 template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}}}",
            );
            self.create(Object::ReplicaSet(Box::new(set.expect("a set"))));
        }
    }

    fn daemon_set(&mut self) {
        let set = serde_saphyr::from_str(
            "{metadata: {name: agent, namespace: default}, spec: {selector: {matchLabels: {app: a}}, \
             template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}}}",
        );
        self.create(Object::DaemonSet(Box::new(set.expect("a set"))));
    }

    fn budget(&mut self, name: &str, allowed: i32) {
        let text = format!(
            "{{metadata: {{name: {name}, namespace: default, generation: 1}}, \
             spec: {{selector: {{matchLabels: {{app: a}}}}, minAvailable: 1}}}}"
        );
        let budget: model::PodDisruptionBudget = serde_saphyr::from_str(&text).expect("a budget");
        self.create(Object::PodDisruptionBudget(Box::new(budget)));
        self.allow(allowed);
    }

    fn allow(&mut self, allowed: i32) {
        let id = self.store.budgets.ids().last().expect("a budget");
        let version = self.store.budgets[id].resource_version;
        let status = PodDisruptionBudgetStatus {
            observed_generation: 1,
            disruptions_allowed: allowed,
            current_healthy: 1,
            desired_healthy: 1,
            ..self.store.budgets[id].status.clone()
        };
        self.ask(Request::UpdateStatus(StatusUpdate::Budget(id, version, Box::new(status)))).expect("a status");
    }

    /// Plays until nothing happens any more, or for so many seconds.
    fn play(&mut self, seconds: f64) {
        let end = self.now + SimDuration::from_secs_f64(seconds);
        while self.queue.peek_time().is_some_and(|at| at <= end) {
            let next = self.queue.pop().expect("there is an event");
            self.now = next.at;
            match next.event {
                Event::Timer(timer) => self.handle(|kubectl, ctx| kubectl.fired(timer, ctx)),
                Event::Deliver(change) => self.handle(|kubectl, ctx| kubectl.changed(&change, ctx)),
                Event::Answer(tag, answer) => self.handle(|kubectl, ctx| kubectl.answered(tag, &answer, ctx)),
                Event::Arrive(request, tag) => {
                    let counts = matches!(request, Request::EvictPod { .. } | Request::DeletePod { .. });
                    let is_read = matches!(request, Request::Get | Request::GetPod { .. });
                    let is_lost = self.is_down || self.is_deaf && is_read;
                    let answer = if is_lost { Err(unavailable()) } else { self.ask(request) };
                    if counts {
                        self.asked.push((self.now.as_secs_f64(), answer.is_ok()));
                    }
                    if let Some(tag) = tag {
                        self.queue.push(self.now + WAY, Event::Answer(tag, answer));
                    }
                }
                Event::Stopped(pod) => {
                    let options = DeleteOptions { grace_s: Some(0), uid: None };
                    self.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).ok();
                }
                Event::Allow(allowed) => self.allow(allowed),
            }
        }
        self.now = end;
    }

    fn handle(&mut self, handler: impl FnOnce(&mut Kubectl, &mut Ctx<'_, Kubectl>)) {
        let mut outbox = Outbox::default();
        let mut timers = Alarms { queue: &mut self.queue };
        let streams = Streams::new(3);
        let mut ctx = Ctx::new(self.now, &self.store, &self.config, &streams, CauseId::NONE, &mut timers, &mut outbox);
        handler(&mut self.kubectl, &mut ctx);
        for call in outbox.calls {
            self.queue.push(self.now + WAY, Event::Arrive(call.request, call.tag));
        }
        for (record, _) in outbox.records {
            if let Record::Transcript(transcript) = record {
                self.transcripts.push(transcript);
            }
        }
    }

    /// Exit status, standard output and standard error of the line.
    #[track_caller]
    fn printed(&mut self, seconds: f64) -> (i32, Vec<String>, Vec<String>) {
        self.play(seconds);
        let [transcript] = self.transcripts.as_slice() else { panic!("the line has not ended") };
        (transcript.exit.expect("it has ended"), transcript.stdout.clone(), transcript.stderr.clone())
    }

    /// Exit status and what was printed, both streams in turn.
    #[track_caller]
    fn check(&mut self, exit: i32, stdout: &[&str], stderr: &[&str]) {
        let (found, out, err) = self.printed(600.0);
        assert_eq!(out, stdout);
        assert_eq!(err, stderr);
        assert_eq!(found, exit);
    }

    fn done_s(&self) -> f64 {
        self.transcripts[0].done_at.expect("it has ended").as_secs_f64()
    }

    fn exists(&self, name: &str) -> bool {
        self.store.find_pod(Symbol::new("default"), &Arc::from(name)).is_some()
    }

    fn is_cordoned(&self, name: &str) -> bool {
        let node = self.store.find_node(Symbol::new(name)).and_then(|id| self.store.node(id));
        node.is_some_and(|node| node.unschedulable)
    }
}

fn runbook_line(line: &str) -> RunbookLine {
    let CommandLine { command, printing, rest, .. } = parse(line).expect("a command line");
    RunbookLine {
        text: line.into(),
        command,
        printing,
        objects: Vec::new(),
        shell: None,
        place: Place::Foreground,
        rest,
    }
}

/// An object as a file gives it; it may name no namespace.
#[track_caller]
fn from_file(file: &str, text: &str) -> Written {
    let value: serde_json::Value = serde_saphyr::from_str(text).expect("YAML");
    let mut loaded = crate::model::manifest::load_text(file, &value.to_string());
    Written::new(&file.into(), loaded.objects.pop().expect("an object"))
}

fn written(file: &str, text: &str) -> Written {
    Written {
        file: file.into(),
        object: object(text),
        names_namespace: true,
        unknown_fields: Vec::new(),
        api_version: Symbol::empty(),
    }
}

#[track_caller]
fn object(text: &str) -> Object {
    let value = serde_saphyr::from_str(text).expect("YAML");
    Object::from_value(value).expect("a known kind").expect("an object")
}

fn unavailable() -> ApiError {
    ApiError::new(ErrorReason::Unavailable, "the server is currently unable to handle the request")
}

#[test]
fn a_drain_cordons_evicts_and_waits() {
    let mut desk = Desk::new("drain n");
    desk.web("bar");
    desk.check(0, &["node/n cordoned", "evicting pod default/bar", "pod/bar evicted", "node/n drained"], &[]);
    assert!(desk.is_cordoned("n") && !desk.is_cordoned("m") && !desk.exists("bar"));
}

#[test]
fn an_empty_node_is_drained_and_a_cordoned_one_is_said_to_be_so() {
    Desk::new("drain n").check(0, &["node/n cordoned", "node/n drained"], &[]);
    let mut desk = Desk::new("drain n");
    let node = desk.store.find_node(Symbol::new("n")).expect("the node");
    desk.ask(Request::SetNodeUnschedulable { node, unschedulable: true }).expect("a cordon");
    desk.check(0, &["node/n already cordoned", "node/n drained"], &[]);
}

#[test]
fn an_unknown_node_ends_the_drain_before_anything_is_cordoned() {
    let mut desk = Desk::new("drain n no");
    desk.check(1, &[], &["Error from server (NotFound): nodes \"no\" not found"]);
    assert!(!desk.is_cordoned("n"));
}

/// What a drain says of one pod on `n`: evicted, left alone, or refused with this text.
enum Fate {
    Evicted,
    Left,
    Refused(&'static str),
}

#[track_caller]
fn check_pod(line: &str, prepare: impl FnOnce(&mut Desk), fate: Fate, warning: Option<&str>) {
    let mut desk = Desk::new(line);
    prepare(&mut desk);
    let (exit, stdout, stderr) = desk.printed(600.0);
    let is_refused = matches!(fate, Fate::Refused(_));
    assert_eq!(exit, i32::from(is_refused), "{line}: {stdout:?} {stderr:?}");
    assert_eq!(desk.exists("p"), !matches!(fate, Fate::Evicted), "{line}");
    assert!(desk.is_cordoned("n"), "{line}");
    if let Fate::Refused(text) = fate {
        assert_eq!(stderr.last().map(String::as_str), Some(&*format!("cannot delete {text}: default/p")), "{line}");
    }
    let found = stderr.iter().find(|text| text.starts_with("Warning: "));
    assert_eq!(found.map(|text| text.as_str()), warning.map(|text| format!("Warning: {text}")).as_deref(), "{line}");
}

fn daemon_pod(desk: &mut Desk) {
    desk.daemon_set();
    desk.pod("p", "n", ("DaemonSet", "agent"), "");
}

const SCRATCH: &str = "volumes: [{name: v, emptyDir: {}}],";

#[test]
fn daemon_pods_are_refused_or_left_alone() {
    const REFUSED: Fate = Fate::Refused("DaemonSet-managed Pods (use --ignore-daemonsets to ignore)");
    let ignored = Some("ignoring DaemonSet-managed Pods: default/p");
    check_pod("drain n", daemon_pod, REFUSED, None);
    check_pod("drain n --ignore-daemonsets", daemon_pod, Fate::Left, ignored);
    let finished = |desk: &mut Desk| {
        desk.daemon_set();
        let pod = desk.pod("p", "n", ("DaemonSet", "agent"), "");
        desk.phase(pod, PodPhase::Succeeded);
    };
    check_pod("drain n", finished, Fate::Evicted, None);
    let with_scratch = |desk: &mut Desk| {
        desk.daemon_set();
        desk.pod("p", "n", ("DaemonSet", "agent"), SCRATCH);
    };
    check_pod("drain n --ignore-daemonsets", with_scratch, Fate::Left, ignored);
}

#[test]
fn daemon_pods_without_their_set_need_force() {
    let check = |line: &str, exit: i32| {
        let mut desk = Desk::new(line);
        desk.daemon_set();
        desk.pod("agent-x7k2p", "n", ("DaemonSet", "agent"), "");
        let workload = WorkloadId::DaemonSet(desk.store.daemon_sets.ids().next().expect("the set"));
        let propagation = Propagation::Background;
        desk.ask(Request::DeleteWorkload { workload, propagation }).expect("a deletion");
        let (found, _, stderr) = desk.printed(600.0);
        assert_eq!(found, exit, "{line}");
        assert_eq!(desk.exists("agent-x7k2p"), exit == 1, "{line}");
        stderr
    };
    let stderr = check("drain n", 1);
    let text = "cannot delete daemonsets.apps \"agent\" not found: default/agent-x7k2p";
    assert_eq!(stderr.last().map(String::as_str), Some(text));
    assert!(check("drain n --force", 0).is_empty(), "a daemon pod has a controller: no warning");
}

#[test]
fn pods_without_a_controller_need_force() {
    const REFUSED: Fate = Fate::Refused("Pods that declare no controller (use --force to override)");
    let bare = |desk: &mut Desk| {
        desk.pod("p", "n", ("", ""), "");
    };
    check_pod("drain n", bare, REFUSED, None);
    let warning = Some("deleting Pods that declare no controller: default/p");
    check_pod("drain n --force", bare, Fate::Evicted, warning);
    let finished = |desk: &mut Desk| {
        let pod = desk.pod("p", "n", ("", ""), SCRATCH);
        desk.phase(pod, PodPhase::Failed);
    };
    check_pod("drain n", finished, Fate::Evicted, None);
}

#[test]
fn local_storage_needs_a_flag_and_is_never_warned_of() {
    const REFUSED: Fate = Fate::Refused("Pods with local storage (use --delete-emptydir-data to override)");
    let scratch = |desk: &mut Desk| {
        desk.replica_set();
        desk.pod("p", "n", ("ReplicaSet", "web"), SCRATCH);
    };
    check_pod("drain n --force", scratch, REFUSED, None);
    check_pod("drain n --delete-emptydir-data", scratch, Fate::Evicted, None);
}

#[test]
fn a_node_whose_pods_cannot_be_listed_stays_cordoned_and_is_not_drained() {
    let mut desk = Desk::new("drain n m");
    desk.web("p");
    desk.play(BEGIN);
    desk.is_deaf = true;
    let lost = "The connection to the server was refused - did you specify the right host or port?";
    let failed =
        |node: &str| format!("error: unable to drain node \"{node}\" due to error: {lost}, continuing command...");
    let stderr = [&failed("n"), &failed("m"), "There are pending nodes to be drained:", " n", " m", lost, lost];
    desk.check(1, &["node/n cordoned", "node/m cordoned"], &stderr);
    assert!(desk.is_cordoned("n") && desk.exists("p") && desk.asked.is_empty());
}

#[test]
fn a_pod_that_cannot_be_looked_at_is_no_longer_waited_for() {
    let check = |line: &str, printed: &str, why: &str| {
        let mut desk = Desk::new(line);
        desk.stop = None;
        desk.web("p");
        desk.play(3.5);
        desk.is_deaf = true;
        let (exit, stdout, stderr) = desk.printed(10.0);
        assert_eq!(exit, 1);
        assert_eq!(stdout.last().map(String::as_str), Some(printed));
        assert_eq!(stderr.last().map(String::as_str), Some(why));
        assert!((3.5..4.2).contains(&desk.done_s()), "{}", desk.done_s());
    };
    let lost = "The connection to the server was refused - did you specify the right host or port?";
    let waiting = format!("error when waiting for pod \"p\" in namespace \"default\" to terminate: {lost}");
    check("drain n", "pod/p eviction failed", &waiting);
    check("drain n --disable-eviction", "pod/p deletion failed", lost);
}

#[test]
fn refused_evictions_wait_for_the_client_that_reads_their_pods_again() {
    let mut desk = Desk::new("drain n --timeout 6s");
    for number in 0..30 {
        desk.web(&format!("p{number:02}"));
    }
    desk.budget("b", 0);
    assert_eq!(desk.printed(60.0).0, 1);
    let mut at: Vec<f64> = desk.asked.iter().map(|(at, _)| *at).collect();
    at.sort_by(f64::total_cmp);
    // Each is read again five seconds after it was refused, before it is tried once more.
    let first = at[0];
    assert!((at[30] - first - 5.02).abs() < 0.03, "{at:?}");
}

#[test]
fn one_refused_pod_saves_all_of_its_node() {
    let mut desk = Desk::new("drain n");
    desk.web("good");
    desk.pod("naked", "n", ("", ""), "");
    assert_eq!(desk.printed(600.0).0, 1);
    assert!(desk.exists("good") && desk.exists("naked"));
}

#[test]
fn pods_that_the_selector_leaves_out_are_no_matter() {
    let mut desk = Desk::new("drain n --pod-selector app=b");
    desk.pod("naked", "n", ("", ""), "");
    desk.check(0, &["node/n cordoned", "node/n drained"], &[]);
}

#[test]
fn a_spent_budget_is_asked_again_every_five_seconds() {
    let mut desk = Desk::new("drain n");
    desk.web("p");
    desk.budget("b", 0);
    desk.queue.push(SimTime::from_secs(12), Event::Allow(1));
    let (exit, stdout, stderr) = desk.printed(600.0);
    assert_eq!(exit, 0);
    let at: Vec<f64> = desk.asked.iter().map(|(at, _)| (at - BEGIN).round()).take(4).collect();
    assert_eq!(at, [0.0, 5.0, 10.0, 15.0]);
    assert_eq!(stdout.iter().filter(|line| line.starts_with("evicting pod")).count(), 4);
    let retry = "error when evicting pods/\"p\" -n \"default\" (will retry after 5s): Cannot evict pod as it would \
                 violate the pod's disruption budget.";
    assert_eq!(stderr, [retry; 3]);
}

#[test]
fn a_timeout_is_noticed_after_the_pause() {
    let mut desk = Desk::new("drain n --timeout 7s");
    desk.web("p");
    desk.budget("b", 0);
    let (exit, _, stderr) = desk.printed(600.0);
    assert_eq!(exit, 1);
    assert!((10.0..10.3).contains(&desk.done_s()), "{}", desk.done_s());
    let reached = "error when evicting pods/\"p\" -n \"default\": global timeout reached: 7s";
    assert_eq!(stderr[2], format!("There are pending pods in node \"n\" when an error occurred: {reached}"));
    assert_eq!(stderr[3], "pod/p");
    assert_eq!(stderr[4], format!("error: unable to drain node \"n\" due to error: {reached}, continuing command..."));
    assert_eq!(stderr[5..], ["There are pending nodes to be drained:", " n", reached]);
}

#[test]
fn a_timeout_while_waiting_ends_the_drain_at_once() {
    let mut desk = Desk::new("drain n --timeout 7s");
    desk.stop = None;
    desk.web("p");
    let (exit, _, stderr) = desk.printed(600.0);
    assert_eq!(exit, 1);
    assert!((7.0..7.3).contains(&desk.done_s()), "{}", desk.done_s());
    assert!(stderr.last().is_some_and(|line| line.ends_with("context deadline exceeded")), "{stderr:?}");
}

#[test]
fn two_budgets_fail_a_pod_and_its_neighbors_finish_first() {
    let mut desk = Desk::new("drain n");
    desk.stop = Some(SimDuration::from_secs(20));
    desk.web("p");
    desk.budget("b1", 5);
    desk.budget("b2", 5);
    desk.replica_set();
    let other = desk.pod("q", "n", ("ReplicaSet", "web"), "");
    desk.ask(Request::SetPodLabels { pod: other, labels: model::Labels::default() }).expect("labels");
    let (exit, stdout, stderr) = desk.printed(600.0);
    assert_eq!(exit, 1);
    assert!(stdout.contains(&"pod/q evicted".to_owned()), "{stdout:?}");
    assert!(stderr.last().is_some_and(|line| line.contains("more than one PodDisruptionBudget")), "{stderr:?}");
    assert!(desk.done_s() > 20.0);
}

#[test]
fn nodes_are_cordoned_together_and_drained_in_turn() {
    let mut desk = Desk::new("drain n m --timeout 7s");
    desk.web("p");
    desk.budget("b", 0);
    let on_m = desk.pod("q", "m", ("ReplicaSet", "web"), "");
    desk.ask(Request::SetPodLabels { pod: on_m, labels: model::Labels::default() }).expect("labels");
    desk.play(5.0);
    assert!(desk.is_cordoned("m") && desk.exists("q"));
    let (exit, stdout, stderr) = desk.printed(600.0);
    assert_eq!(exit, 1);
    assert!(stdout.contains(&"node/m drained".to_owned()) && !desk.exists("q"));
    let at = stderr.iter().position(|line| line == "There are pending nodes to be drained:").expect("a list");
    assert_eq!(stderr[at + 1], " n");
}

#[test]
fn thirty_evictions_leave_ten_at_once_and_then_five_a_second() {
    let mut desk = Desk::new("drain n");
    for number in 0..30 {
        desk.web(&format!("p{number:02}"));
    }
    assert_eq!(desk.printed(600.0).0, 0);
    let mut at: Vec<f64> = desk.asked.iter().filter(|(_, granted)| *granted).map(|(at, _)| *at).collect();
    at.truncate(30);
    at.sort_by(f64::total_cmp);
    let first = at[0];
    assert!(at[..10].iter().all(|t| *t < first + 0.02), "the server gets to them in any order: {at:?}");
    assert!((at[10] - first - 0.2).abs() < 0.021 && (at[29] - first - 4.0).abs() < 0.021, "{at:?}");
}

#[test]
fn what_is_evicted_together_goes_in_any_order_and_the_newest_is_mostly_begun_first() {
    let begun = |number: u32| {
        let mut desk = Desk::new("drain n --timeout 5m");
        let line = Arc::make_mut(&mut desk.kubectl.runbook).lines.last_mut().expect("a line");
        Arc::make_mut(line).text = format!("drain n #{number}").into();
        for pod in ["p0", "p1", "p2", "p3"] {
            desk.web(pod);
        }
        let (exit, stdout, _) = desk.printed(600.0);
        assert_eq!((exit, stdout.len()), (0, 10));
        (stdout[1].clone(), stdout[5].clone())
    };
    let all: Vec<(String, String)> = (0..40).map(begun).collect();
    let newest_first = all.iter().filter(|(first, _)| first == "evicting pod default/p3").count();
    assert!((24..40).contains(&newest_first), "{newest_first} of 40");
    for pod in ["p0", "p1", "p2", "p3"] {
        assert!(all.iter().any(|(_, gone)| *gone == format!("pod/{pod} evicted")), "{pod} is never gone first");
    }
}

#[test]
fn a_node_given_up_is_looked_at_no_more_while_the_next_is_drained() {
    // The look at the first node's pod comes due when the second node's pods are already known.
    let mut desk = Desk::new("drain n m --timeout 3s");
    desk.stop = None;
    desk.web("p");
    desk.replica_set();
    desk.pod("q", "m", ("ReplicaSet", "web"), "");
    desk.pod("r", "m", ("ReplicaSet", "web"), "");
    let (exit, _, stderr) = desk.printed(60.0);
    assert_eq!(exit, 1);
    assert_eq!(stderr.iter().filter(|line| line.starts_with("error: unable to drain node")).count(), 2, "{stderr:?}");
}

#[test]
fn a_pod_gone_a_second_after_its_eviction_is_missed_by_the_second_look() {
    // A kubelet sees the deletion after 5 ms, needs a second to stop the containers, and its deletion takes its way.
    let mut desk = Desk::new("drain n");
    desk.stop = Some(SimDuration::from_millis(1010));
    desk.web("p");
    desk.check(0, &["node/n cordoned", "evicting pod default/p", "pod/p evicted", "node/n drained"], &[]);
    assert!((2.0..2.2).contains(&desk.done_s()), "{}", desk.done_s());
}

#[test]
fn without_eviction_budgets_are_not_asked_and_deletions_follow_each_other() {
    let mut desk = Desk::new("drain n --disable-eviction");
    desk.web("p");
    desk.web("q");
    desk.budget("b", 0);
    desk.check(0, &["node/n cordoned", "pod/p deleted", "pod/q deleted", "node/n drained"], &[]);
    assert!(desk.asked[1].0 > desk.asked[0].0);
}

#[test]
fn the_common_wait_looks_once_a_second() {
    let mut desk = Desk::new("drain n --disable-eviction");
    desk.stop = Some(SimDuration::from_millis(1500));
    desk.web("p");
    desk.check(0, &["node/n cordoned", "pod/p deleted", "node/n drained"], &[]);
    assert!((2.0..2.2).contains(&desk.done_s()), "{}", desk.done_s());
}

#[test]
fn a_dry_run_changes_nothing() {
    let mut desk = Desk::new("drain n --dry-run=client");
    desk.web("p");
    desk.check(0, &["node/n cordoned (dry run)", "evicting pod default/p (dry run)", "node/n drained (dry run)"], &[]);
    assert!(!desk.is_cordoned("n") && desk.exists("p") && desk.asked.is_empty());
}

#[test]
fn a_pod_made_anew_under_the_same_name_counts_as_gone() {
    let mut desk = Desk::new("drain n");
    desk.stop = None;
    let pod = desk.web("db-0");
    desk.play(3.0);
    let options = DeleteOptions { grace_s: Some(0), uid: None };
    desk.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    desk.pod("db-0", "m", ("ReplicaSet", "web"), "");
    let (exit, stdout, _) = desk.printed(10.0);
    assert_eq!(exit, 0);
    assert_eq!(stdout[2], "pod/db-0 evicted");
}

#[test]
fn pods_that_should_long_be_gone_are_passed_over() {
    // A pod marked so long before the drain that its deletionTimestamp is this old; when the drain ends.
    let check = |age_s: i64, ended: std::ops::Range<f64>, printed: bool| {
        let mut desk = Desk::new("drain n --skip-wait-for-delete-timeout 20");
        desk.stop = None;
        let pod = desk.web("p");
        desk.now = SimTime::from_secs(-30 - age_s);
        let options = DeleteOptions { grace_s: Some(30), uid: None };
        desk.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
        desk.now = SimTime::ZERO;
        let (exit, stdout, _) = desk.printed(600.0);
        assert_eq!(exit, 0);
        assert!(ended.contains(&desk.done_s()), "{age_s} s ago: {}", desk.done_s());
        let line = "pod \"p\" has DeletionTimestamp older than 20 seconds, skipping";
        assert_eq!(stdout.iter().any(|said| said == line), printed, "{stdout:?}");
    };
    check(0, 20.9..22.2, true);
    check(1, 19.9..21.2, true);
    check(100, 0.0..0.3, false);
}

mod columns;
mod files;
mod looking;
mod making;
mod output;
mod pipeline;
mod rollout;
mod shell;
mod stored;
mod verbs;
