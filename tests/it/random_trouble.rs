//! What happens in a random scenario: faults of every kind, lines of kubectl, procedures and loads.

use std::fmt::Write;

use kubesquall::chaos::{FaultKind, Field};

use super::dice::Dice;
use super::random_scenario::Names;

pub(super) fn timeline(dice: &mut Dice, names: &Names, minutes: u64) -> String {
    let mut text = String::new();
    for _ in 0..dice.between(1, 9) {
        let at = dice.between(0, minutes * 60 - 1);
        let what = match dice.between(0, 9) {
            0..=4 => format!("fault: {}", fault(dice, names)),
            9 if dice.percent(60) => {
                let count = dice.between(1, 3);
                let pool = dice.between(0, names.pools.len() as u64 - 1) as usize;
                format!("addNodes: {{pool: {}, count: {count}}}", names.pools[pool])
            }
            _ => format!("kubectl: {}", kubectl(dice, names)),
        };
        let _ = writeln!(text, "  - {{at: {at}s, {what}}}");
    }
    text
}

/// A workload that follows its load.
pub(super) fn loads(dice: &mut Dice, names: &Names) -> String {
    let is_scalable = |workload: &&(&str, String, &str)| matches!(workload.0, "deployment" | "statefulset");
    let Some((kind, name, namespace)) = names.workloads.iter().find(is_scalable).filter(|_| dice.percent(20)) else {
        return String::new();
    };
    let mut points = Vec::new();
    let mut at = 0;
    for _ in 0..dice.between(1, 4) {
        points.push(format!("{{at: {at}s, load: {}}}", dice.between(0, 900)));
        at += dice.between(0, 900);
    }
    let (min, more) = (dice.between(1, 3), dice.between(0, 6));
    format!(
        "  horizontalPodAutoscalers:\n  - {{target: {kind}/{namespace}/{name}, minReplicas: {min}, maxReplicas: {}, \
         targetUtilization: 60, perReplica: 100, load: [{}]}}\n",
        min + more,
        points.join(", ")
    )
}

/// Reboots and reclaimed instances.
pub(super) fn reboots(dice: &mut Dice, names: &Names, minutes: u64) -> String {
    let mut text = String::new();
    while dice.percent(15) {
        let at = dice.between(0, minutes * 60 - 1);
        let pool = names.pools[dice.between(0, names.pools.len() as u64 - 1) as usize].as_str();
        let what = if dice.percent(50) {
            let timeout = dice.maybe(50, |_| ", drainTimeout: 1m".to_owned());
            let force = dice.maybe(30, |_| ", forceReboot: true".to_owned());
            let concurrency = dice.between(1, 2);
            format!(
                "rollingReboot: {{pool: {pool}, period: 1m, concurrency: {concurrency}, lockTtl: 9m{timeout}{force}}}"
            )
        } else {
            let length = dice.maybe(60, |dice| format!(", for: {}s", dice.between(0, 400)));
            let notice = dice.maybe(50, |dice| format!(", notice: {}s", dice.pick(&[0, 30, 200])));
            let drain = dice.maybe(30, |_| ", drain: false".to_owned());
            format!("fault: {{kind: SpotInterruption, nodes: {{pool: {pool}, count: 2}}{length}{notice}{drain}}}")
        };
        let _ = writeln!(text, "  - {{at: {at}s, {what}}}");
    }
    text
}

pub(super) fn autoscaler(dice: &mut Dice, names: &Names) -> String {
    if dice.percent(80) {
        return String::new();
    }
    let mut pools = Vec::new();
    for name in &names.pools {
        if pools.is_empty() || dice.percent(70) {
            let (min, more) = (dice.between(0, 3), dice.between(0, 9));
            pools.push(format!("{{name: {name}, min: {min}, max: {}, priority: {}}}", min + more, dice.between(0, 2)));
        }
    }
    let expander = dice.pick(&["random", "least-waste", "most-pods", "least-nodes", "priority,least-waste"]);
    let (unneeded, delay) = (dice.pick(&["1m", "4m", "10m"]), dice.pick(&["0s", "2m", "10m"]));
    let provisioning = dice.pick(&["0s", "{exponential: {mean: 40s}}"]);
    let late = dice.maybe(20, |_| ", max-node-provision-time: 1m, initial-node-group-backoff-duration: 1m".to_owned());
    format!(
        "  clusterAutoscaler:\n    pools: [{}]\n    provisioning: {provisioning}\n    flags: {{expander: \"{expander}\", \
         scale-down-unneeded-time: {unneeded}, scale-down-unready-time: {unneeded}, scale-down-delay-after-add: \
         {delay}{late}}}\n",
        pools.join(", ")
    )
}

pub(super) fn upgrades(dice: &mut Dice, names: &Names, minutes: u64) -> String {
    let mut text = String::new();
    while dice.percent(15) {
        let at = dice.between(0, minutes * 60 - 1);
        let pool = names.pools[dice.between(0, names.pools.len() as u64 - 1) as usize].as_str();
        let limits = dice.pick(&[
            "",
            "maxSurge: 1, ",
            "maxSurge: 50%, ",
            "maxUnavailable: 1, ",
            "maxSurge: 2, maxUnavailable: 2, ",
        ]);
        let timeout = dice.pick(&["30s", "2m", "5m"]);
        let soak = dice.maybe(20, |_| "nodeSoak: 1m, ".to_owned());
        let behavior = dice.pick(&["Schedule", "Cordon", "Force"]);
        let _ = writeln!(
            text,
            "  - {{at: {at}s, rollingUpgrade: {{pool: {pool}, {limits}drainTimeout: {timeout}, \
             {soak}undrainableNodeBehavior: {behavior}}}}}"
        );
    }
    text
}

fn nodes(dice: &mut Dice, names: &Names) -> String {
    let index = dice.between(0, names.nodes.len() as u64 - 1) as usize;
    let pool = dice.between(0, names.pools.len() as u64 - 1) as usize;
    match dice.between(0, 6) {
        0 | 1 => format!("{{names: [{}]}}", names.nodes[index]),
        2 if !names.zones.is_empty() => format!("{{zone: {}}}", dice.pick(&names.zones)),
        3 => format!("{{pool: {}}}", names.pools[pool]),
        4 => format!("{{count: {}}}", dice.between(1, 3)),
        5 => "{fraction: 0.5}".to_owned(),
        _ => format!("{{selector: \"tier={}\"}}", dice.pick(&names.tiers)),
    }
}

const OUTAGES: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-scheduler, kube-controller-manager",
    "kube-apiserver, kube-controller-manager, kube-scheduler",
];

fn pods(dice: &mut Dice) -> String {
    match dice.between(0, 2) {
        0 => "{fraction: 0.5}".to_owned(),
        1 => format!("{{count: {}}}", dice.between(1, 5)),
        _ => format!("{{namespace: shop, selector: \"app=app{}\"}}", dice.between(0, 5)),
    }
}

const LASTING: [&str; 12] = [
    "Crash",
    "Crash",
    "KubeletStop",
    "Partition",
    "Partition",
    "NotReady",
    "GracefulShutdown",
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
    "SlowHeartbeats",
];

fn fault(dice: &mut Dice, names: &Names) -> String {
    let length = dice.maybe(85, |dice| format!(", for: {}s", dice.pick(&[3, 20, 45, 70, 200, 400, 900])));
    match dice.between(0, 9) {
        0 => {
            let kind = dice.pick(&["Reboot", "InstanceGone"]);
            format!("{{kind: {kind}, nodes: {}}}", nodes(dice, names))
        }
        1 | 2 => {
            let kind = dice.pick(&["ContainerCrash", "OOMKill", "PodKill"]);
            format!("{{kind: {kind}, pods: {}}}", pods(dice))
        }
        3 => format!("{{kind: ControlPlaneOutage, components: [{}]{length}}}", dice.pick(&OUTAGES)),
        _ => {
            let kind = dice.pick(&LASTING);
            let kind = if names.surges && kind.ends_with("Pressure") { "NotReady" } else { kind };
            let delay = if kind == "SlowHeartbeats" { ", delay: {exponential: {mean: 40s}}" } else { "" };
            let boot =
                if kind == "Crash" { dice.maybe(30, |_| ", boot: {constant: 10s}".to_owned()) } else { String::new() };
            format!("{{kind: {kind}, nodes: {}{length}{delay}{boot}}}", nodes(dice, names))
        }
    }
}

/// A fault of any kind that there is, without its braces: a kind that is new is drawn, too.
fn any_fault(dice: &mut Dice, names: &Names) -> (FaultKind, String) {
    let kind = loop {
        let kind = dice.pick(FaultKind::ALL);
        if !(names.surges && kind.as_str().ends_with("Pressure")) {
            break kind;
        }
    };
    let mut text = format!("kind: {}", kind.as_str());
    for field in kind.fields() {
        if let Some(value) = value_of(field, dice, names) {
            let _ = write!(text, ", {}: {value}", field.name);
        }
    }
    (kind, text)
}

/// What a fault says in a field; nothing, at times, if it may.
fn value_of(field: Field, dice: &mut Dice, names: &Names) -> Option<String> {
    if field.needed.is_none() && dice.percent(40) {
        return None;
    }
    Some(match field.name {
        "nodes" => nodes(dice, names),
        "for" => format!("{}s", dice.pick(&[3, 20, 45, 70, 200, 400, 900])),
        "boot" => dice.pick(&["10s", "{exponential: {mean: 2m}}"]).to_owned(),
        "usage" => {
            dice.pick(&["{memory: 3Gi}", "{memory: 15Gi, ephemeral-storage: 9Gi}", "{pids: 4000000}"]).to_owned()
        }
        "notice" => format!("{}s", dice.pick(&[0, 30, 200])),
        "drain" => dice.pick(&["true", "false"]).to_owned(),
        "pods" => pods(dice),
        "exitCode" => dice.pick(&["0", "1", "143"]).to_owned(),
        "images" => dice.pick(&["[\"nginx:1\"]", "[\"nginx*\", \"postgres:16\"]", "[busybox]"]).to_owned(),
        "components" => format!("[{}]", dice.pick(&OUTAGES)),
        "delay" => {
            dice.pick(&["2s", "45s", "{exponential: {mean: 40s}}", "{lognormal: {median: 5s, p99: 5m}}"]).to_owned()
        }
        "factor" => dice.pick(&["1.5", "10", "400"]).to_owned(),
        // What its message says to add if it is missing.
        name => field.needed?.split('`').nth(1)?.strip_prefix(name)?.strip_prefix(": ")?.to_owned(),
    })
}

/// Entries of the timeline.
pub(super) fn any_faults(dice: &mut Dice, names: &Names, minutes: u64) -> String {
    let mut text = String::new();
    while dice.percent(60) {
        let at = dice.between(0, minutes * 60 - 1);
        let (_, fault) = any_fault(dice, names);
        let _ = writeln!(text, "  - {{at: {at}s, fault: {{{fault}}}}}");
    }
    text
}

/// Random processes.
pub(super) fn any_processes(dice: &mut Dice, names: &Names) -> String {
    let mut text = String::new();
    let mut number = 0;
    while dice.percent(25) {
        let (kind, fault) = any_fault(dice, names);
        // A random process has a time to repair in place of a length.
        let fault = fault.split(", ").filter(|part| !part.starts_with("for: ")).collect::<Vec<_>>().join(", ");
        let domain = dice.maybe(30, |_| ", domain: topology.kubernetes.io/zone".to_owned());
        let (failure, repair) = (dice.between(3, 40), dice.between(1, 5));
        let repair = if kind.course().lasts() {
            format!(", timeToRepair: {{exponential: {{mean: {repair}m}}}}")
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "  - {{name: any-{number}, {fault}{domain}, timeToFailure: {{exponential: {{mean: {failure}m}}}}{repair}}}"
        );
        number += 1;
    }
    text
}

fn kubectl(dice: &mut Dice, names: &Names) -> String {
    let index = dice.between(0, names.nodes.len() as u64 - 1) as usize;
    let node = &names.nodes[index];
    if dice.percent(45) {
        return match dice.between(0, 7) {
            0..=2 => {
                let force = dice.maybe(50, |_| " --force".to_owned());
                let timeout = dice.maybe(40, |_| " --timeout=3m".to_owned());
                let grace = dice.maybe(20, |dice| format!(" --grace-period={}", dice.pick(&[0, 5])));
                let eviction = dice.maybe(15, |_| " --disable-eviction".to_owned());
                format!("drain {node} --ignore-daemonsets --delete-emptydir-data{force}{timeout}{grace}{eviction}")
            }
            3 => format!("cordon {node}"),
            4 => format!("uncordon {node}"),
            5 => format!(
                "taint nodes {node} {}",
                dice.pick(&["dedicated=x:NoExecute", "k=v:NoSchedule", "k=w:NoExecute", "k-"])
            ),
            6 => format!(
                "label node {node} {}",
                dice.pick(&["tier=x --overwrite", "disk-", "topology.kubernetes.io/zone=b --overwrite"])
            ),
            _ => format!("delete node {node}"),
        };
    }
    let index = dice.between(0, names.workloads.len() as u64 - 1) as usize;
    let (kind, name, namespace) = &names.workloads[index];
    let line = match (*kind, dice.between(0, 5)) {
        ("deployment" | "statefulset" | "replicaset" | "replicationcontroller", 0 | 1) => {
            format!("scale {kind}/{name} --replicas={}", dice.between(0, 10))
        }
        ("deployment" | "statefulset" | "daemonset", 2) => format!("rollout restart {kind}/{name}"),
        ("deployment" | "statefulset" | "daemonset", 3) => {
            format!("set image {kind}/{name} main=nginx:{}", dice.between(3, 5))
        }
        ("deployment", 4) => format!("rollout {} {kind}/{name}", dice.pick(&["pause", "resume", "undo"])),
        ("statefulset" | "daemonset", 4) => format!("rollout undo {kind}/{name}"),
        (_, 5) if dice.percent(40) => {
            format!("delete pods -l app={name} {}", dice.pick(&["", "--grace-period=1", "--force --grace-period=0"]))
        }
        (_, 5) if dice.percent(20) => "delete namespace shop".to_owned(),
        (_, 5) => format!("label pods -l app={name} app=other --overwrite"),
        _ => format!("delete {kind} {name} --cascade={}", dice.pick(&["background", "foreground", "orphan"])),
    };
    if line.contains("namespace shop") { line } else { format!("{line} -n {namespace}") }
}

pub(super) fn faults(dice: &mut Dice) -> String {
    if dice.percent(70) {
        return String::new();
    }
    let mut text = String::from("  faults:\n");
    for number in 0..dice.between(1, 2) {
        let kind = dice.pick(&["Crash", "Partition", "NotReady", "KubeletStop", "Reboot"]);
        let domain = dice.maybe(30, |_| "    domain: topology.kubernetes.io/zone\n".to_owned());
        let (failure, repair) = (dice.between(3, 40), dice.between(1, 5));
        let _ = write!(
            text,
            "  - name: process-{number}\n    kind: {kind}\n{domain}    timeToFailure: {{exponential: {{mean: \
             {failure}m}}}}\n    timeToRepair: {{exponential: {{mean: {repair}m}}}}\n"
        );
    }
    text
}
