//! Incidents drawn from a seed: a small cluster, one to three faults, and lines of an operator.

use std::fmt::Write;

use super::dice::Dice;

/// An incident: a scenario and the manifest that it names.
pub(crate) struct Incident {
    pub(crate) scenario: String,
    pub(crate) apps: String,
}

/// The line that saves the cluster at t=0, as one that could be saved by hand.
pub(crate) const SNAPSHOT: &str = "get nodes,pods,deployments,replicasets,statefulsets,daemonsets -A -o yaml";

/// The image of all pods but those of the agent. It has no tag, so that it is pulled for each pod.
pub(crate) const PULLED_IMAGE: &str = "nginx";

/// Seconds between the begins of two faults, at least: so long that the cluster is calm again.
const APART_S: u64 = 900;

/// The incident of a seed.
pub(crate) fn incident(seed: u64) -> Incident {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x6f75_7461);
    let (nodes, zones) = (dice.between(3, 12), dice.between(1, 3));
    let zones = &["a", "b", "c"][..zones as usize];
    let apps = apps(&mut dice, nodes);
    let faults = dice.between(1, 3);
    let mut timeline = format!("  - {{at: 0s, kubectl: '{SNAPSHOT}'}}\n");
    let mut at = 0;
    for number in 0..faults {
        at = 150 + number * APART_S + dice.between(0, 60);
        let fault = fault(&mut dice, nodes, zones);
        let _ = writeln!(timeline, "  - {{at: {at}s, fault: {{{fault}}}}}");
        if fault.starts_with("kind: ImagePullFailure") {
            let _ = writeln!(timeline, "  - {{at: {}s, kubectl: 'rollout restart deployment/app0'}}", at + 5);
        }
    }
    let end = at + APART_S;
    if dice.percent(50) {
        let (line, at) = (operator(&mut dice, nodes), dice.between(60, 120));
        let _ = writeln!(timeline, "  - {{at: {at}s, kubectl: '{line}'}}");
    }
    let scenario = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: incident-{seed}}}\nspec:\n  duration: {end}s\n  \
         seed: {seed}\n  cluster:\n    manifests: [apps.yaml]\n    nodePools:\n    - name: worker\n      count: {nodes}\n      \
         zones: [{}]\n      template: {{status: {{allocatable: {{cpu: '8', memory: 32Gi, pods: '110'}}}}}}\n  controlPlane:\n    \
         kubelet: {{shutdownGracePeriod: 40s, shutdownGracePeriodCriticalPods: 10s}}\n  timeline:\n{timeline}",
        zones.join(", ")
    );
    Incident { scenario, apps }
}

fn apps(dice: &mut Dice, nodes: u64) -> String {
    let mut text = String::new();
    for number in 0..dice.between(1, 3) {
        let kind = if number == 0 { "Deployment" } else { dice.pick(&["Deployment", "StatefulSet"]) };
        let seconds = dice.pick(&[0, 30, 300, 300, 300]);
        let tolerations: Vec<String> = ["not-ready", "unreachable"]
            .iter()
            .map(|key| {
                format!(
                    "{{key: node.kubernetes.io/{key}, operator: Exists, effect: NoExecute, tolerationSeconds: {seconds}}}"
                )
            })
            .collect();
        let _ = write!(
            text,
            "---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: app{number}, namespace: default}}\nspec:\n  replicas: {}\n  \
             {}selector: {{matchLabels: {{app: app{number}}}}}\n  template:\n    metadata: {{labels: {{app: app{number}}}}}\n    spec:\n      \
             tolerations: [{}]\n      containers: [{{name: main, image: {PULLED_IMAGE}, resources: {{requests: {{cpu: 100m, memory: 64Mi}}}}}}]\n",
            dice.between(1, nodes * 2),
            if kind == "StatefulSet" { format!("serviceName: app{number}\n  ") } else { String::new() },
            tolerations.join(", ")
        );
    }
    if dice.percent(50) {
        text.push_str(
            "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, namespace: default}\nspec:\n  \
             selector: {matchLabels: {app: agent}}\n  template:\n    metadata: {labels: {app: agent}}\n    spec: {containers: [{name: \
             main, image: agent, resources: {requests: {cpu: 50m}}}]}\n",
        );
    }
    text
}

/// Kinds of faults that leave traces, and how often each is drawn.
const KINDS: [&str; 16] = [
    "Crash",
    "Crash",
    "Partition",
    "Partition",
    "KubeletStop",
    "KubeletStop",
    "NotReady",
    "Reboot",
    "GracefulShutdown",
    "InstanceGone",
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
    "SpotInterruption",
    "SlowHeartbeats",
];

fn fault(dice: &mut Dice, nodes: u64, zones: &[&str]) -> String {
    if dice.percent(25) {
        let kind = dice.pick(&["PodKill", "ContainerCrash", "OOMKill", "ControlPlaneOutage", "ImagePullFailure"]);
        if kind == "ImagePullFailure" {
            return format!("kind: ImagePullFailure, images: [{PULLED_IMAGE}], for: {}s", dice.between(60, 400));
        }
        if kind == "ControlPlaneOutage" {
            let component = dice.pick(&["kube-controller-manager", "kube-apiserver"]);
            return format!("kind: ControlPlaneOutage, components: [{component}], for: {}s", dice.between(30, 120));
        }
        return format!("kind: {kind}, pods: {{namespace: default, selector: app=app0, count: 2}}");
    }
    let kind = dice.pick(&KINDS);
    let first = dice.between(0, nodes - 1);
    let is_zone = zones.len() > 1 && dice.percent(25) && !matches!(kind, "InstanceGone" | "SpotInterruption");
    let hit = if is_zone {
        format!("{{zone: {}}}", dice.pick(zones))
    } else if dice.percent(30) {
        format!("{{names: [worker-{first}, worker-{}]}}", (first + 1) % nodes)
    } else {
        format!("{{names: [worker-{first}]}}")
    };
    if kind == "SlowHeartbeats" {
        return format!(
            "kind: SlowHeartbeats, nodes: {hit}, delay: {{uniform: {{min: 0s, max: 70s}}}}, for: {}s",
            dice.between(300, 700)
        );
    }
    let lasts = !matches!(kind, "Reboot" | "InstanceGone" | "SpotInterruption");
    let length = if lasts { format!(", for: {}s", dice.between(120, 500)) } else { String::new() };
    format!("kind: {kind}, nodes: {hit}{length}")
}

fn operator(dice: &mut Dice, nodes: u64) -> String {
    let node = dice.between(0, nodes - 1);
    match dice.between(0, 3) {
        0 => format!("cordon worker-{node}"),
        1 => format!("drain worker-{node} --ignore-daemonsets --delete-emptydir-data"),
        2 => format!("scale deployment/app0 --replicas={}", dice.between(1, nodes)),
        _ => "rollout restart deployment/app0".to_owned(),
    }
}
