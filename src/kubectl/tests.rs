//! Command lines against an API server; pods stop as the test says.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::{CommandLine, Kubectl, Place, RunbookLine, Timer, Written, hand_over, parse};
use crate::apiserver::link_owners;
use crate::arena::Symbol;
use crate::component::{DeleteOptions, ErrorReason, PodStatusPatch, Request, StatusUpdate};
use crate::engine::Distribution;
use crate::model::{self, Object};
use crate::state::{
    Change, Changed, DeletionCause, PodDelta, PodDisruptionBudgetStatus, PodId, PodPhase, Propagation, Status,
    WorkloadId,
};
use crate::testing::{Lab, config};
use crate::units::{SimDuration, SimTime};

/// A cluster of nodes `n` and `m` with an operator.
struct Desk {
    lab: Lab<Kubectl>,
    has_begun: bool,
}

impl Deref for Desk {
    type Target = Lab<Kubectl>;

    fn deref(&self) -> &Self::Target {
        &self.lab
    }
}

impl DerefMut for Desk {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.lab
    }
}

/// When a line has read what it works on.
const BEGIN: f64 = 0.07;

impl Desk {
    /// Types one line at t=0.
    fn new(line: &str) -> Self {
        Self::with_files(line, &[])
    }

    /// Types one line at t=0 that names these files, each with one object.
    fn with_files(line: &str, files: &[(&str, &str)]) -> Self {
        let mut config = config();
        config.latency.kubectl_start = Distribution::Constant(SimDuration::from_millis(60));
        let mut line = runbook_line(line);
        line.objects = files.iter().map(|(file, text)| written(file, text)).collect();
        hand_over(&mut line.command, &mut line.objects);
        let mut desk = Self { lab: Lab::new(config, 3), has_begun: false };
        desk.lines().push(Arc::new(line));
        desk.stop(Some(SimDuration::from_millis(300)));
        for name in ["n", "m"] {
            let node = serde_saphyr::from_str(&format!("{{metadata: {{name: {name}}}}}")).expect("a node");
            desk.create(Object::Node(Box::new(node)));
        }
        desk
    }

    /// The lines that are typed.
    fn lines(&mut self) -> &mut Vec<Arc<RunbookLine>> {
        let runbook =
            if self.has_begun { &mut self.lab.component_mut().runbook } else { &mut self.lab.inputs_mut().kubectl };
        &mut Arc::make_mut(runbook).lines
    }

    /// The last of them.
    fn last_line(&mut self) -> &mut RunbookLine {
        Arc::make_mut(self.lines().last_mut().expect("a line"))
    }

    /// Types another line now.
    fn type_line(&mut self, line: &str) {
        self.lines().push(Arc::new(runbook_line(line)));
        if self.has_begun {
            let (now, line) = (self.now(), self.lines().len() - 1);
            self.arm(now, Timer::Run(line));
        }
    }

    /// How long containers take to stop; none: for ever.
    fn stop(&mut self, stop: Option<SimDuration>) {
        self.lab.react(move |change, store| match &change.what {
            Changed::PodUpdated { pod, .. } if store.pod(*pod)?.deletion.is_some() => {
                let options = DeleteOptions { grace_s: Some(0), uid: None };
                let request = Request::DeletePod { pod: *pod, options, cause: DeletionCause::Kubectl };
                Some((change.at + stop?, request))
            }
            _ => None,
        });
    }

    /// Answers no request of these.
    fn lose(&mut self, is_lost: fn(&Request) -> bool) {
        self.lab.refuse(move |request, _| is_lost(request).then_some(ErrorReason::Unavailable));
    }

    /// Reads are not answered from now on.
    fn is_deaf(&mut self) {
        self.lose(|request| matches!(request, Request::Get | Request::GetPod { .. }));
    }

    /// When evictions and deletions of pods arrived.
    fn asked(&self) -> Vec<f64> {
        self.times(|request| matches!(request, Request::EvictPod { .. } | Request::DeletePod { .. }))
    }

    /// When pods were marked for deletion.
    fn granted(&self) -> Vec<f64> {
        let is_mark = |change: &&Arc<Change>| matches!(&change.what, Changed::PodUpdated { delta, .. } if delta.touches(PodDelta::DELETION));
        self.changes.iter().filter(is_mark).map(|change| change.at.as_secs_f64()).collect()
    }

    #[track_caller]
    fn create(&mut self, object: Object) {
        self.lab.create(object);
        link_owners(self.store_mut());
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
        let id = self.store().find_pod(Symbol::new("default"), &Arc::from(name)).expect("the pod");
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
        if self.store().replica_sets.ids().next().is_none() {
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
        allow(&mut self.lab, allowed);
    }

    /// Plays until nothing happens any more, or for so many seconds.
    fn play(&mut self, seconds: f64) {
        if !self.has_begun {
            self.has_begun = true;
            self.start();
            for line in 0..self.lines().len() {
                self.arm(SimTime::ZERO, Timer::Run(line));
            }
        }
        self.run_for(seconds);
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
        self.store().find_pod(Symbol::new("default"), &Arc::from(name)).is_some()
    }

    fn is_cordoned(&self, name: &str) -> bool {
        let node = self.store().find_node(Symbol::new(name)).and_then(|id| self.store().node(id));
        node.is_some_and(|node| node.unschedulable)
    }
}

/// The last budget allows so many disruptions from now on.
fn allow(lab: &mut Lab<Kubectl>, allowed: i32) {
    let id = lab.store().budgets.ids().last().expect("a budget");
    let budget = &lab.store().budgets[id];
    let (version, old) = (budget.resource_version, budget.status.clone());
    let status = PodDisruptionBudgetStatus {
        observed_generation: 1,
        disruptions_allowed: allowed,
        current_healthy: 1,
        desired_healthy: 1,
        ..old
    };
    lab.ask(Request::UpdateStatus(StatusUpdate::Budget(id, version, Box::new(status)))).expect("a status");
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
    let node = desk.store().find_node(Symbol::new("n")).expect("the node");
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
        let workload = WorkloadId::DaemonSet(desk.store().daemon_sets.ids().next().expect("the set"));
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
fn up_to_1_35_a_refusal_of_pods_without_a_controller_says_twice_what_cannot_be_done() {
    for (version, text) in [
        ("1.36", "cannot delete Pods that declare no controller (use --force to override): default/p"),
        ("1.35", "cannot delete cannot delete Pods that declare no controller (use --force to override): default/p"),
    ] {
        let mut desk = Desk::new("drain n");
        desk.config_mut().version = version.parse().expect("a version");
        desk.pod("p", "n", ("", ""), "");
        let (_, _, stderr) = desk.printed(600.0);
        assert_eq!(stderr.last().map(String::as_str), Some(text));
    }
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
    desk.is_deaf();
    let lost = "The connection to the server was refused - did you specify the right host or port?";
    let failed =
        |node: &str| format!("error: unable to drain node \"{node}\" due to error: {lost}, continuing command...");
    let stderr = [&failed("n"), &failed("m"), "There are pending nodes to be drained:", " n", " m", lost, lost];
    desk.check(1, &["node/n cordoned", "node/m cordoned"], &stderr);
    assert!(desk.is_cordoned("n") && desk.exists("p") && desk.asked().is_empty());
}

#[test]
fn a_pod_that_cannot_be_looked_at_is_no_longer_waited_for() {
    let check = |line: &str, printed: &str, why: &str| {
        let mut desk = Desk::new(line);
        desk.stop(None);
        desk.web("p");
        desk.play(3.5);
        desk.is_deaf();
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
    let mut at = desk.asked();
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
    desk.at(12.0, |lab| allow(lab, 1));
    let (exit, stdout, stderr) = desk.printed(600.0);
    assert_eq!(exit, 0);
    let at: Vec<f64> = desk.asked().iter().map(|at| (at - BEGIN).round()).take(4).collect();
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
    desk.stop(None);
    desk.web("p");
    let (exit, _, stderr) = desk.printed(600.0);
    assert_eq!(exit, 1);
    assert!((7.0..7.3).contains(&desk.done_s()), "{}", desk.done_s());
    assert!(stderr.last().is_some_and(|line| line.ends_with("context deadline exceeded")), "{stderr:?}");
}

#[test]
fn two_budgets_fail_a_pod_and_its_neighbors_finish_first() {
    let mut desk = Desk::new("drain n");
    desk.stop(Some(SimDuration::from_secs(20)));
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
    let mut at = desk.granted();
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
        let line = desk.last_line();
        line.text = format!("drain n #{number}").into();
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
    desk.stop(None);
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
    desk.stop(Some(SimDuration::from_millis(1010)));
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
    assert!(desk.asked()[1] > desk.asked()[0]);
}

#[test]
fn the_common_wait_looks_once_a_second() {
    let mut desk = Desk::new("drain n --disable-eviction");
    desk.stop(Some(SimDuration::from_millis(1500)));
    desk.web("p");
    desk.check(0, &["node/n cordoned", "pod/p deleted", "node/n drained"], &[]);
    assert!((2.0..2.2).contains(&desk.done_s()), "{}", desk.done_s());
}

#[test]
fn a_dry_run_changes_nothing() {
    let mut desk = Desk::new("drain n --dry-run=client");
    desk.web("p");
    desk.check(0, &["node/n cordoned (dry run)", "evicting pod default/p (dry run)", "node/n drained (dry run)"], &[]);
    assert!(!desk.is_cordoned("n") && desk.exists("p") && desk.asked().is_empty());
}

#[test]
fn a_pod_made_anew_under_the_same_name_counts_as_gone() {
    let mut desk = Desk::new("drain n");
    desk.stop(None);
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
        desk.stop(None);
        let pod = desk.web("p");
        desk.set_now(SimTime::from_secs(-30 - age_s));
        let options = DeleteOptions { grace_s: Some(30), uid: None };
        desk.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
        desk.set_now(SimTime::ZERO);
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
mod messages;
mod output;
mod pipeline;
mod rollout;
mod shell;
mod stored;
mod verbs;
