//! What a dump says of the moment at which it was made, and what becomes of that in a run.

use std::collections::{BTreeMap, BTreeSet};

use super::assumption::Assumption;
use super::workloads::pod_template;
use crate::arena::Symbol;
use crate::model::config::KubernetesVersion;
use crate::model::{
    Behavior, ConditionStatus, Container, ContainerStatus, EXIT_CODE, INIT, INIT_EXIT_CODE, ManifestObject, Node,
    Object, Pod, PodConditionType, RUN_FOR, has_control_plane_role, runs_control_plane,
};
use crate::state::CrashLoop;
use crate::units::{SimDuration, unix_nanos_from_rfc3339};

/// How long containers of a crash loop run that do not tell.
const CRASH_AFTER: SimDuration = SimDuration::from_secs(1);

/// After so long a readiness gate would have been met if anybody wrote its condition.
const GATES_OPEN_WITHIN: SimDuration = SimDuration::from_secs(10);

/// What a run of these objects takes for granted about the moment of the dump.
pub(super) fn assumptions(version: KubernetesVersion, objects: &[ManifestObject]) -> Vec<Assumption> {
    let all = [unready_pods(objects), control_plane(objects), failed_jobs(objects), deleted_pods(objects)];
    all.into_iter().flatten().chain(kubernetes_version(version, objects)).collect()
}

fn pods(objects: &[ManifestObject]) -> impl Iterator<Item = &Pod> {
    objects.iter().filter_map(|object| match &object.object {
        Object::Pod(pod) => Some(&**pod),
        _ => None,
    })
}

fn nodes(objects: &[ManifestObject]) -> impl Iterator<Item = &Node> {
    objects.iter().filter_map(|object| match &object.object {
        Object::Node(node) => Some(&**node),
        _ => None,
    })
}

/// Containers of crash loops go on as they are recorded to: with the code with which they last ended, after as long.
///
/// A pod that says so itself by annotations keeps these.
pub(super) fn keep_crash_loops(objects: &mut [ManifestObject]) {
    for object in objects {
        let Object::Pod(pod) = &mut object.object else { continue };
        if pod.metadata.deletion_timestamp.is_some() || pod.status.phase.is_terminal() {
            continue;
        }
        keep(pod, RUN_FOR, EXIT_CODE, |pod| &pod.status.container_statuses);
        keep(pod, INIT, INIT_EXIT_CODE, |pod| &pod.status.init_container_statuses);
    }
}

/// What tells of a crash loop, and of what.
struct Told {
    annotations: Vec<(Symbol, Symbol)>,
    containers: Vec<Container>,
}

/// Namespace, kind and name of a workload, and the images of some of its pods.
type PodsAlike = (Symbol, Symbol, Symbol, Vec<Symbol>);

/// Workloads of which every pod with the same images was in a crash loop. It is the image's fault or the template's, so that
/// pods made anew crash as well until their containers are others. Of pods that `keep_crash_loops` has seen. Where the template says by
/// annotations how its pods do, that holds, and nothing else.
#[must_use]
pub fn crash_loops(objects: &[ManifestObject]) -> Vec<CrashLoop> {
    let deployments: BTreeMap<(Symbol, Symbol), Symbol> = objects
        .iter()
        .filter_map(|object| match &object.object {
            Object::ReplicaSet(set) => {
                let owner = set.metadata.owner_references.iter().find(|o| o.controller && o.kind == "Deployment")?;
                Some(((set.metadata.namespace, set.metadata.name), owner.name))
            }
            _ => None,
        })
        .collect();
    const TOLD: [&str; 4] = [RUN_FOR, EXIT_CODE, INIT, INIT_EXIT_CODE];
    let saying: BTreeSet<(Symbol, Symbol, Symbol)> = objects
        .iter()
        .filter_map(|object| {
            let annotations = &pod_template(&object.object)?.metadata.annotations;
            let meta = object.object.metadata();
            let says = TOLD.iter().any(|key| annotations.contains_key(&Symbol::new(key)));
            says.then(|| (meta.namespace, Symbol::new(object.object.kind().as_str()), meta.name))
        })
        .collect();
    // By workload and images: what tells of the loop, unless a pod was seen that is not in one.
    let mut found: BTreeMap<PodsAlike, Option<Told>> = BTreeMap::new();
    for pod in pods(objects).filter(|pod| pod.metadata.deletion_timestamp.is_none() && !pod.status.phase.is_terminal())
    {
        let metadata = &pod.metadata;
        let Some(owner) = metadata.controller() else { continue };
        let deployment = deployments.get(&(metadata.namespace, owner.name)).filter(|_| owner.kind == "ReplicaSet");
        let (kind, name) = match deployment {
            Some(deployment) => (Symbol::new("Deployment"), *deployment),
            None => (owner.kind, owner.name),
        };
        let images = pod.spec.init_containers.iter().chain(&pod.spec.containers).map(|container| container.image);
        let key = (metadata.namespace, kind, name, images.collect());
        let statuses = || pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
        if !statuses().any(|status| is_looping(pod, status)) {
            // One that does not run yet tells nothing.
            if statuses().any(|status| status.state.running.is_some()) {
                found.insert(key, None);
            }
            continue;
        }
        let is_said = saying.contains(&(metadata.namespace, owner.kind, owner.name));
        let told = TOLD.into_iter().map(Symbol::new);
        let told = told.filter_map(|key| Some((key, *metadata.annotations.get(&key)?)));
        let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
        found.entry(key).or_insert_with(|| {
            (!is_said).then(|| Told { annotations: told.collect(), containers: containers.cloned().collect() })
        });
    }
    found
        .into_iter()
        .filter_map(|((namespace, kind, name, _), told)| {
            let Told { annotations, containers } = told.filter(|told| !told.annotations.is_empty())?;
            Some(CrashLoop { namespace, kind, name, containers, annotations })
        })
        .collect()
}

fn keep(pod: &mut Pod, length: &'static str, code: &'static str, statuses: fn(&Pod) -> &[ContainerStatus]) {
    let annotations = &pod.metadata.annotations;
    let is_said = [length, code].iter().any(|key| annotations.contains_key(&Symbol::new(key)));
    let looping = statuses(pod).iter().find(|status| is_looping(pod, status));
    let Some(status) = looping.filter(|_| !is_said) else { return };
    let last = status.state.terminated.as_deref().or(status.last_state.terminated.as_deref());
    let stamp = |stamp: Option<Symbol>| stamp.and_then(|stamp| unix_nanos_from_rfc3339(stamp.as_str()));
    let ran = last.and_then(|last| {
        let nanos = stamp(last.finished_at)?.checked_sub(stamp(last.started_at)?)?;
        u64::try_from(nanos).ok().filter(|nanos| *nanos > 0).map(SimDuration::from_nanos)
    });
    let (ran, exit_code) = (ran.unwrap_or(CRASH_AFTER), last.map_or(1, |last| last.exit_code));
    pod.metadata.annotations.insert(Symbol::new(length), Symbol::from(ran.to_string()));
    pod.metadata.annotations.insert(Symbol::new(code), Symbol::from(exit_code.to_string()));
}

/// Whether the container is in a crash loop: it waits for its restart, or has ended and is about to. Its status says how it has ended until the
/// second sync of its back-off; the first restart comes at once, and is none.
fn is_looping(pod: &Pod, status: &ContainerStatus) -> bool {
    let is_regular = pod.spec.containers.iter().any(|container| container.name == status.name);
    let mut containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let container = containers.find(|container| container.name == status.name);
    let is_restarted = |code: i32| {
        let may_be = |container: &&Container| code != 0 || is_regular || container.is_sidecar();
        container.filter(may_be).is_some_and(|container| pod.spec.restarts(container, code))
    };
    let ended = status.state.terminated.as_deref().filter(|_| status.restart_count > 0);
    waits_for(status) == Some("CrashLoopBackOff") || ended.is_some_and(|end| is_restarted(end.exit_code))
}

/// The reason for which a container waits.
fn waits_for(status: &ContainerStatus) -> Option<&'static str> {
    status.state.waiting.as_ref().map(|waiting| waiting.reason.as_str()).filter(|reason| !reason.is_empty())
}

/// Why a pod that is meant to run was not Ready, in one word; none if it was, or if nothing tells.
fn why_unready(pod: &Pod) -> Option<&'static str> {
    let status = &pod.status;
    let is_dumped = pod.metadata.uid.is_some() || status.start_time.is_some() || !status.conditions.is_empty();
    if !is_dumped || status.phase.is_terminal() || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let ready = status.condition(PodConditionType::Ready);
    let is_ready = ready.is_some_and(|ready| ready.status == ConditionStatus::True);
    let waiting = || status.init_container_statuses.iter().chain(&status.container_statuses).find_map(waits_for);
    let ended = || {
        let has_ended =
            |status: &ContainerStatus| status.state.terminated.as_ref().is_some_and(|end| end.exit_code != 0);
        status.container_statuses.iter().any(has_ended).then_some("Error")
    };
    let unscheduled = || pod.spec.node_name.is_none_or(|node| node.is_empty()).then_some("Pending");
    if is_ready || (ready.is_none() && waiting().is_none() && ended().is_none() && unscheduled().is_none()) {
        return None;
    }
    Some(waiting().or_else(ended).or_else(unscheduled).unwrap_or("not Ready"))
}

/// Conditions of readiness gates that nobody writes: a pod waits for one whose containers have long been ready, and no pod has it. Whoever
/// writes a condition says that it is False, too, or has met the gate of a pod that is Ready. Of pods on lost nodes that says nothing.
#[must_use]
pub fn unwritten_gates(objects: &[ManifestObject], epoch_unix_nanos: Option<i64>) -> Vec<PodConditionType> {
    let Some(epoch) = epoch_unix_nanos else { return Vec::new() };
    let long_ago = epoch.saturating_sub(GATES_OPEN_WITHIN.as_nanos().cast_signed());
    let lost: BTreeSet<Symbol> =
        nodes(objects).filter(|node| node.status.is_not_ready()).map(|node| node.metadata.name).collect();
    let (mut written, mut waited_for) = (BTreeSet::new(), BTreeSet::new());
    for pod in pods(objects) {
        let status = &pod.status;
        let ready_since = status
            .condition(PodConditionType::ContainersReady)
            .filter(|condition| condition.status == ConditionStatus::True)
            .and_then(|condition| unix_nanos_from_rfc3339(condition.last_transition_time?.as_str()));
        let waits = ready_since.is_some_and(|since| since <= long_ago)
            && pod.spec.node_name.is_none_or(|node| !lost.contains(&node))
            && pod.metadata.deletion_timestamp.is_none();
        for gate in pod.spec.readiness_gates.iter().map(|gate| gate.condition_type) {
            let is_said = pod.metadata.annotations.contains_key(&Behavior::gate_annotation(gate.as_str()));
            if status.is_ready() || status.condition(gate).is_some() {
                written.insert(gate);
            } else if waits && !is_said {
                waited_for.insert(gate);
            }
        }
    }
    waited_for.difference(&written).copied().collect()
}

fn unready_pods(objects: &[ManifestObject]) -> Option<Assumption> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names = Vec::new();
    for pod in pods(objects) {
        if let Some(reason) = why_unready(pod) {
            *reasons.entry(reason).or_default() += 1;
            names.push(format!("Pod {}/{}", pod.metadata.namespace, pod.metadata.name));
        }
    }
    if names.is_empty() {
        return None;
    }
    let reasons: Vec<String> = reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let text =
        format!("pods were not Ready in the input ({}); crash loops and failing pulls go on", reasons.join(", "));
    let assumption = Assumption::new(
        "unreadyPods",
        text,
        "who is short at t=0; the others come up if nothing hinders them. What replaces a pod in a crash loop crashes as well if \
         all pods of its workload with these images did, until its containers are others",
        "bootstrap: cold, which begins with the dump as it is; kubesquall.sim/exit-code, run-for and ready in the pod template, an \
         ImagePullFailure fault, or a dump of a later moment",
    );
    Some(assumption.about(names))
}

fn deleted_pods(objects: &[ManifestObject]) -> Option<Assumption> {
    let deleted = pods(objects).filter(|pod| pod.metadata.deletion_timestamp.is_some());
    let assumption = Assumption::new(
        "deletedPods",
        "pods that were being deleted in the input are gone at t=0, unless their node was lost",
        "how many pods there are at the start",
        "bootstrap: cold, which begins with the dump as it is, or a dump of an earlier moment",
    );
    assumption.about_any(deleted.map(|pod| format!("Pod {}/{}", pod.metadata.namespace, pod.metadata.name)))
}

fn failed_jobs(objects: &[ManifestObject]) -> Option<Assumption> {
    let failed = objects.iter().filter(|object| match &object.object {
        Object::Job(job) => job.status.true_condition("Failed").is_some(),
        _ => false,
    });
    let assumption = Assumption::new(
        "failedJobs",
        "Jobs that had failed before t=0 stay so; the verdict names them apart, and fails no run for them",
        "nothing that happens in the run",
        "the Job without its status, which then runs once more",
    );
    assumption.about_any(failed.map(|object| object.object.label()))
}

/// Nodes on which programs of the control plane run: by their pods, or else by the nodes' role.
fn control_plane(objects: &[ManifestObject]) -> Option<Assumption> {
    let by_pods: BTreeSet<Symbol> =
        pods(objects).filter(|pod| runs_control_plane(pod)).filter_map(|pod| pod.spec.node_name).collect();
    let bears = |node: &&Node| {
        let metadata = &node.metadata;
        if by_pods.is_empty() { has_control_plane_role(&metadata.labels) } else { by_pods.contains(&metadata.name) }
    };
    let bearers = nodes(objects).filter(bears).map(|node| format!("Node {}", node.metadata.name));
    let assumption = Assumption::new(
        "controlPlane",
        "the control plane is taken to run apart from the nodes, although these bear it",
        "whether anything reacts to the loss of these nodes",
        "a ControlPlaneOutage fault beside the fault of the nodes",
    );
    assumption.about_any(bearers)
}

/// `1.20` of `v1.20.0+k3s1`.
fn minor_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix('v')?.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?;
    let digits = minor.find(|c: char| !c.is_ascii_digit()).map_or(minor, |end| &minor[..end]);
    Some((major, digits.parse().ok()?))
}

/// The newest version of the kubelets that the input has.
pub(super) fn newest_kubelet(objects: &[ManifestObject]) -> Option<(u32, u32)> {
    nodes(objects).filter_map(|node| minor_version(node.status.node_info.as_ref()?.kubelet_version.as_str())).max()
}

fn kubernetes_version(played: KubernetesVersion, objects: &[ManifestObject]) -> Option<Assumption> {
    let found: BTreeSet<(u32, u32)> = nodes(objects)
        .filter_map(|node| minor_version(node.status.node_info.as_ref()?.kubelet_version.as_str()))
        .filter(|version| *version != (1, played.minor()))
        .collect();
    let last = *found.iter().next_back()?;
    let written: Vec<String> = found.iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
    let oldest = (1, KubernetesVersion::OLDEST.minor());
    let change = if last >= oldest && last < (1, KubernetesVersion::NEWEST.minor()) {
        format!("spec.controlPlane.kubernetesVersion: \"{}.{}\"", last.0, last.1)
    } else {
        format!("spec.controlPlane.kubernetesVersion, {} to {}", KubernetesVersion::OLDEST, KubernetesVersion::NEWEST)
    };
    Some(Assumption::new(
        "kubernetesVersion",
        format!("kubelets of the input are of {}; the cluster is played as {played}", written.join(", ")),
        "defaults and behavior that differ between versions",
        &change,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::load_text;

    fn pod(name: &str, rest: &str) -> String {
        format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, uid: u-{name}}}\n{rest}\n")
    }

    const SPEC: &str = "spec: {nodeName: n, containers: [{name: c, image: i}]}";

    #[test]
    fn versions_are_read_of_every_distribution() {
        let read = ["v1.20.0", "v1.24.4+k3s1", "v1.16.2", "v1.21+", "fake", ""].map(minor_version);
        assert_eq!(read, [Some((1, 20)), Some((1, 24)), Some((1, 16)), Some((1, 21)), None, None]);
    }

    #[test]
    fn pods_that_were_not_ready_are_said_with_their_reason() {
        let waiting = |reason: &str| {
            format!("{SPEC}\nstatus: {{containerStatuses: [{{name: c, state: {{waiting: {{reason: {reason}}}}}}}]}}")
        };
        let text = [
            pod("a", &waiting("CrashLoopBackOff")),
            pod("b", &waiting("ImagePullBackOff")),
            pod("c", &waiting("ImagePullBackOff")),
            pod("d", &format!("{SPEC}\nstatus: {{conditions: [{{type: Ready, status: 'False'}}]}}")),
            pod("e", &format!("{SPEC}\nstatus: {{conditions: [{{type: Ready, status: 'True'}}]}}")),
            pod("f", &format!("{SPEC}\nstatus: {{phase: Succeeded}}")),
            pod("g", "spec: {containers: [{name: c, image: i}]}"),
            // Nothing tells of a pod that somebody wrote.
            "---\napiVersion: v1\nkind: Pod\nmetadata: {name: h}\nspec: {containers: [{name: c, image: i}]}\n"
                .to_owned(),
        ];
        let objects = load_text("x.yaml", &text.concat()).objects;
        let said = unready_pods(&objects).expect("some were not");
        assert!(
            said.text.contains("(CrashLoopBackOff 1, ImagePullBackOff 2, Pending 1, not Ready 1)"),
            "{}",
            said.text
        );
        assert_eq!(said.count, 5);
    }

    #[test]
    fn crash_loops_keep_their_code_and_length() {
        let last = "{name: c, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 7, \
                    startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:20Z'}}}";
        #[track_caller]
        fn check(text: &str, expected: [Option<&str>; 2]) {
            let mut objects = load_text("x.yaml", text).objects;
            keep_crash_loops(&mut objects);
            let annotations = &objects[0].object.metadata().annotations;
            let found = [RUN_FOR, EXIT_CODE].map(|key| annotations.get(&Symbol::new(key)).map(|value| value.as_str()));
            assert_eq!(found, expected);
        }
        check(&pod("a", &format!("{SPEC}\nstatus: {{containerStatuses: [{last}]}}")), [Some("20s"), Some("7")]);
        let bare = "{name: c, state: {waiting: {reason: CrashLoopBackOff}}}";
        check(&pod("a", &format!("{SPEC}\nstatus: {{containerStatuses: [{bare}]}}")), [Some("1s"), Some("1")]);
        check(&pod("a", &format!("{SPEC}\nstatus: {{containerStatuses: [{{name: c}}]}}")), [None, None]);
        // Until the second sync of its back-off a container shows its end.
        let ended = |restarts: u32, code: i32| {
            format!(
                "status: {{containerStatuses: [{{name: c, restartCount: {restarts}, state: {{terminated: {{exitCode: {code}, startedAt: \
                 '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:05Z'}}}}}}]}}"
            )
        };
        check(&pod("a", &format!("{SPEC}\n{}", ended(1, 3))), [Some("5s"), Some("3")]);
        check(&pod("a", &format!("{SPEC}\n{}", ended(2, 0))), [Some("5s"), Some("0")]);
        check(&pod("a", &format!("{SPEC}\n{}", ended(0, 3))), [None, None]);
        let once = SPEC.replacen("containers:", "restartPolicy: Never, containers:", 1);
        check(&pod("a", &format!("{once}\n{}", ended(2, 3))), [None, None]);
    }

    #[test]
    fn a_workload_crashes_if_all_its_pods_of_the_same_images_do() {
        let set = "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web-1, ownerReferences: [{apiVersion: apps/v1, kind: \
                   Deployment, name: web, uid: d, controller: true}]}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: \
                   {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n";
        let pod = |name: &str, state: &str| {
            format!(
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, uid: u-{name}, ownerReferences: [{{apiVersion: apps/v1, \
                 kind: ReplicaSet, name: web-1, uid: r, controller: true}}]}}\n{SPEC}\nstatus: {{containerStatuses: [{{name: c, \
                 state: {{{state}}}}}]}}\n"
            )
        };
        const LOOPS: &str = "waiting: {reason: CrashLoopBackOff}";
        let found = |pods: &[String]| {
            let mut objects = load_text("x.yaml", &format!("{set}{}", pods.concat())).objects;
            keep_crash_loops(&mut objects);
            crash_loops(&objects)
        };
        let both = found(&[pod("a", LOOPS), pod("b", LOOPS)]);
        assert_eq!(both.len(), 1);
        assert_eq!((both[0].kind.as_str(), both[0].name.as_str(), both[0].containers.len()), ("Deployment", "web", 1));
        assert_eq!(both[0].annotations.len(), 2);
        assert_eq!(found(&[pod("a", LOOPS), pod("b", "waiting: {reason: ContainerCreating}")]).len(), 1);
        assert_eq!(found(&[pod("a", LOOPS), pod("b", "running: {}")]).len(), 0);
        assert_eq!(found(&[pod("b", "running: {}"), pod("a", LOOPS)]).len(), 0);
        assert_eq!(found(&[pod("b", "running: {}")]).len(), 0);
    }
}
