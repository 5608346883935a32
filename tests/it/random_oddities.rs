//! What random scenarios have besides: input that says things that cannot be, parts of the control plane that are off, and sizes at their
//! limits. Drawn with dice of their own, so that the rest of a seed's scenario stays what it is.

use std::fmt::Write;

use super::dice::Dice;

/// What is put into a scenario.
#[derive(Default)]
pub(crate) struct Oddities {
    /// Flags of kube-controller-manager, in flow style.
    pub(crate) manager: String,
    /// Fields of the scheduler's configuration, in flow style.
    pub(crate) scheduler: String,
    /// Behind `spec.cluster`.
    pub(crate) manifests: String,
}

/// What the scenario of a seed has; nothing in most.
pub(crate) fn draw(seed: u64) -> Oddities {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x6f64_6473);
    let mut odd = Oddities::default();
    if dice.percent(60) {
        return odd;
    }
    if dice.percent(25) {
        odd.manager = manager(&mut dice);
    }
    if dice.percent(25) {
        odd.scheduler = scheduler(&mut dice);
    }
    let mut text = String::new();
    for number in 0..dice.between(0, 2) {
        node(&mut dice, &mut text, number);
    }
    for number in 0..dice.between(0, 3) {
        match dice.between(0, 4) {
            0 | 1 => given(&mut dice, &mut text, number),
            2 => shared_claim(&mut dice, &mut text, number),
            3 => short(&mut dice, &mut text, number),
            _ => at_the_limits(&mut dice, &mut text, number),
        }
    }
    odd.manifests = text;
    odd
}

/// Controllers that are off.
fn manager(dice: &mut Dice) -> String {
    let off = dice.pick(&[
        "garbage-collector-controller",
        "pod-garbage-collector-controller",
        "taint-eviction-controller",
        "node-lifecycle-controller",
        "disruption-controller",
        "cronjob-controller",
        "job-controller",
        "ttl-after-finished-controller",
        "replicaset-controller",
        "deployment-controller",
        "daemonset-controller",
        "statefulset-controller",
        "namespace-controller",
        "endpointslice-controller",
        "persistentvolume-binder-controller",
        "persistentvolume-attach-detach-controller",
    ]);
    match dice.between(0, 3) {
        0 => "enable-garbage-collector: \"false\", ".to_owned(),
        _ => format!("controllers: \"*,-{off}\", "),
    }
}

/// A profile without one plugin, or with another weight. Without those whose work kubelets check or taints undo, pods would be made and
/// rejected without end, as real ones would.
fn scheduler(dice: &mut Dice) -> String {
    let plugins = [
        "NodeUnschedulable",
        "InterPodAffinity",
        "PodTopologySpread",
        "VolumeBinding",
        "NodeVolumeLimits",
        "VolumeZone",
        "DefaultPreemption",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    ];
    let plugin = dice.pick(&plugins);
    match dice.between(0, 2) {
        0 => format!("profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: {plugin}}}]}}}}}}], "),
        1 => format!(
            "profiles: [{{plugins: {{score: {{disabled: [{{name: NodeResourcesFit}}], enabled: [{{name: NodeResourcesFit, \
             weight: {}}}]}}}}}}], ",
            dice.between(1, 100)
        ),
        _ => format!("percentageOfNodesToScore: {}, ", dice.pick(&[1, 50, 100])),
    }
}

/// A Node whose conditions the input says.
fn node(dice: &mut Dice, text: &mut String, number: u64) {
    let ready = dice.pick(&["'True'", "'False'", "Unknown"]);
    let pressure = dice.maybe(40, |dice| {
        let kind = dice.pick(&["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"]);
        format!(", {{type: {kind}, status: {}}}", dice.pick(&["'True'", "Unknown"]))
    });
    let spec = dice.maybe(25, |dice| {
        let key = dice.pick(&["node.kubernetes.io/unreachable", "node.kubernetes.io/out-of-service", "dedicated"]);
        let effect = dice.pick(&["NoExecute", "NoSchedule"]);
        format!("spec: {{unschedulable: {}, taints: [{{key: {key}, effect: {effect}}}]}}\n", dice.percent(30))
    });
    let pods = dice.pick(&["0", "1", "110"]);
    let _ = write!(
        text,
        "---\napiVersion: v1\nkind: Node\nmetadata: {{name: odd-{number}.local, labels: {{tier: x}}}}\n{spec}status: {{capacity: \
         {{cpu: \"2\", memory: 4Gi, pods: \"{pods}\"}}, conditions: [{{type: Ready, status: {ready}}}{pressure}]}}\n"
    );
}

/// A pod of which the input says what became of it.
fn given(dice: &mut Dice, text: &mut String, number: u64) {
    let deleted = dice.maybe(40, |dice| {
        let grace = dice.pick(&[0, 30]);
        format!(", deletionTimestamp: '2024-05-01T00:10:00Z', deletionGracePeriodSeconds: {grace}")
    });
    let node = dice.pick(&["", "nodeName: pool0-0, ", "nodeName: odd-0.local, ", "nodeName: nowhere, "]);
    let phase = dice.pick(&["Pending", "Running", "Succeeded", "Failed", "Unknown"]);
    let conditions = dice.maybe(50, |dice| {
        let status = dice.pick(&["'True'", "'False'"]);
        format!(", conditions: [{{type: Ready, status: {status}, lastTransitionTime: '2024-05-01T00:02:00Z'}}]")
    });
    let container = dice.maybe(50, |dice| {
        let state = dice.pick(&[
            "running: {startedAt: '2024-05-01T00:01:30Z'}",
            "waiting: {reason: CrashLoopBackOff}",
            "waiting: {reason: ImagePullBackOff}",
            "terminated: {exitCode: 3}",
        ]);
        let count = dice.pick(&[0, 1, 77]);
        format!(
            ", containerStatuses: [{{name: main, restartCount: {count}, ready: {}, state: {{{state}}}}}]",
            count == 0
        )
    });
    let restart = dice.pick(&["Always", "OnFailure", "Never"]);
    let _ = write!(
        text,
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: given{number}, namespace: shop, labels: {{app: app0}}{deleted}}}\nspec: \
         {{{node}restartPolicy: {restart}, containers: [{{name: main, image: \"nginx:1\"}}]}}\nstatus: {{phase: \
         {phase}{conditions}{container}}}\n"
    );
}

/// A claim that all pods of a workload have.
fn shared_claim(dice: &mut Dice, text: &mut String, number: u64) {
    let class = dice.pick(&["disk", "files", "at-once", "missing"]);
    let mode = dice.pick(&["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod", "ReadOnlyMany"]);
    let _ = write!(
        text,
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: shared{number}, namespace: shop}}\nspec: {{accessModes: \
         [{mode}], storageClassName: {class}, resources: {{requests: {{storage: 1Gi}}}}}}\n"
    );
    let (kind, spec) = match dice.between(0, 2) {
        0 => ("Deployment", format!("replicas: {}, ", dice.between(1, 4))),
        1 => ("DaemonSet", String::new()),
        _ => ("ReplicaSet", format!("replicas: {}, ", dice.between(1, 4))),
    };
    let _ = write!(
        text,
        "---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: sharing{number}, namespace: shop}}\nspec: {{{spec}selector: \
         {{matchLabels: {{app: sharing{number}}}}}, template: {{metadata: {{labels: {{app: sharing{number}}}}}, spec: {{containers: \
         [{{name: main, image: \"nginx:1\"}}], volumes: [{{name: data, persistentVolumeClaim: {{claimName: shared{number}}}}}]}}}}}}\n"
    );
}

/// Containers that end at once, or nearly so.
fn short(dice: &mut Dice, text: &mut String, number: u64) {
    let (length, code) = (dice.pick(&["1ms", "20ms", "1s"]), dice.pick(&["0", "0", "1"]));
    let restart = dice.pick(&["Never", "OnFailure"]);
    let mode = dice.pick(&["Indexed", "NonIndexed"]);
    let (completions, parallelism) = (dice.between(1, 5), dice.between(1, 5));
    let limit = if mode == "Indexed" && dice.percent(40) { "backoffLimitPerIndex: 1" } else { "backoffLimit: 2" };
    let spec = format!(
        "{{completions: {completions}, parallelism: {parallelism}, completionMode: {mode}, {limit}, template: {{metadata: \
         {{annotations: {{kubesquall.sim/run-for: {length}, kubesquall.sim/exit-code: \"{code}\"}}}}, spec: {{restartPolicy: {}, \
         containers: [{{name: main, image: \"busybox:1\"}}]}}}}}}",
        if limit.contains("PerIndex") { "Never" } else { restart }
    );
    let head = format!("metadata: {{name: short{number}, namespace: default}}");
    let _ = if dice.percent(50) {
        let policy = dice.pick(&["Allow", "Forbid", "Replace"]);
        write!(
            text,
            "---\napiVersion: batch/v1\nkind: CronJob\n{head}\nspec: {{schedule: \"* * * * *\", concurrencyPolicy: {policy}, \
             jobTemplate: {{spec: {spec}}}}}\n"
        )
    } else {
        write!(text, "---\napiVersion: batch/v1\nkind: Job\n{head}\nspec: {spec}\n")
    };
}

/// Names as long as they may be, and counts of nothing.
fn at_the_limits(dice: &mut Dice, text: &mut String, number: u64) {
    let long = |length: usize| format!("n{number}{}", "x".repeat(length - 2));
    let (kind, length, spec) = match dice.between(0, 3) {
        0 => ("Deployment", 253, format!("replicas: {}, ", dice.between(0, 2))),
        1 => ("ReplicaSet", 253, format!("replicas: {}, ", dice.between(0, 2))),
        2 => ("DaemonSet", 253, String::new()),
        _ => ("StatefulSet", 50, format!("replicas: {}, serviceName: s, ", dice.between(0, 2))),
    };
    let (name, label) = (long(length), long(63));
    let grace = dice.pick(&["0", "1", "3600"]);
    let _ = write!(
        text,
        "---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: default}}\nspec: {{{spec}selector: {{matchLabels: \
         {{app: {label}}}}}, template: {{metadata: {{labels: {{app: {label}}}}}, spec: {{terminationGracePeriodSeconds: {grace}, \
         containers: [{{name: {label}, image: \"nginx:1\"}}]}}}}}}\n"
    );
}
