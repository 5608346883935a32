//! What runs in a random scenario: workloads of every kind, their pods, budgets and disks.

use std::fmt::Write;

use super::dice::Dice;
use super::random_pods::{Extras, Features};
use super::random_scenario::Names;

const NAMESPACES: [&str; 2] = ["default", "shop"];

pub(super) fn manifests(dice: &mut Dice, names: &mut Names) -> String {
    let mut text = String::new();
    for (name, value, policy) in
        [("high", 1000, "PreemptLowerPriority"), ("low", -5, "PreemptLowerPriority"), ("shy", 500, "Never")]
    {
        let _ = writeln!(
            text,
            "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\nvalue: \
             {value}\npreemptionPolicy: {policy}"
        );
    }
    let _ = writeln!(text, "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: shop}}");
    text.push_str(CLASSES);
    for number in 0..dice.between(1, 7) {
        let namespace = dice.pick(&NAMESPACES);
        let app = format!("app{number}");
        match dice.between(0, 9) {
            0..=3 => deployment(dice, &mut text, &app, namespace, names),
            4 | 5 => stateful_set(dice, &mut text, &app, namespace, names),
            6 => daemon_set(dice, &mut text, &app, namespace, names),
            7 => job(dice, &mut text, &app, namespace, names),
            8 => cron_job(dice, &mut text, &app, namespace, names),
            _ => others(dice, &mut text, &app, namespace, names),
        }
        if dice.percent(45) {
            budget(dice, &mut text, &app, namespace, names);
        }
        if number % 2 == 0 {
            head(&mut text, "v1", "Service", &app, namespace);
            let _ = writeln!(
                text,
                "spec: {{selector: {{app: {app}}}, ports: [{{port: 80}}], publishNotReadyAddresses: {}}}",
                number == 4
            );
        }
    }
    text
}

fn head(text: &mut String, api: &str, kind: &str, name: &str, namespace: &str) {
    let _ = writeln!(text, "---\napiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}");
}

/// A pod template, as a flow mapping, for an app.
fn template(dice: &mut Dice, app: &str, names: &mut Names) -> String {
    let spec = pod_spec(dice, app, "", &mut names.features);
    let annotations = annotations(dice, &mut names.features);
    format!("{{metadata: {{labels: {{app: {app}}}, annotations: {{{annotations}}}}}, spec: {spec}}}")
}

fn annotations(dice: &mut Dice, features: &mut Features) -> String {
    let mut parts = Vec::new();
    let mut add = |dice: &mut Dice, chance: u64, name: &str, choices: &[&str]| {
        if dice.percent(chance) {
            parts.push(format!("kubesquall.sim/{name}: \"{}\"", dice.pick(choices)));
        }
    };
    add(dice, 15, "start", &["1s", "20s", "{uniform: {min: 1s, max: 30s}}"]);
    add(dice, 15, "ready", &["0s", "15s", "{exponential: {mean: 20s}}"]);
    add(dice, 15, "stop", &["0s", "8s", "90s"]);
    add(dice, 6, "run-for", &["40s", "5m", "{exponential: {mean: 3m}}"]);
    add(dice, 10, "exit-code", &["0", "1"]);
    add(dice, 4, "healthy-for", &["4m", "{exponential: {mean: 6m}}"]);
    add(dice, 8, "usage", &["{memory: 300Mi}", "{memory: 2Gi}"]);
    let own = features.paces().unwrap_or_default().into_iter().chain(features.annotations(false));
    let own: Vec<String> = own.collect();
    let name = |part: &String| part.split(": ").next().unwrap_or_default().to_owned();
    parts.retain(|part| own.iter().all(|other| name(other) != name(part)));
    parts.extend(own);
    parts.join(", ")
}

fn pod_spec(dice: &mut Dice, app: &str, restart: &str, features: &mut Features) -> String {
    let mut parts = Vec::new();
    let requests = match dice.between(0, 4) {
        0 => String::new(),
        1 => format!("resources: {{requests: {{cpu: {}m}}}}, ", dice.between(1, 20) * 100),
        2 => format!("resources: {{requests: {{memory: {}Mi}}}}, ", dice.between(1, 40) * 100),
        _ => {
            let (cpu, memory) = (dice.between(1, 15) * 100, dice.between(1, 20) * 100);
            format!("resources: {{requests: {{cpu: {cpu}m, memory: {memory}Mi}}}}, ")
        }
    };
    let port = dice.maybe(8, |_| "ports: [{containerPort: 80, hostPort: 8080}], ".to_owned());
    let probe = |name: &str, dice: &mut Dice| {
        let (delay, period, failures) = (dice.between(0, 20), dice.between(1, 15), dice.between(1, 4));
        format!(
            "{name}: {{httpGet: {{path: /, port: 80}}, initialDelaySeconds: {delay}, periodSeconds: {period}, \
             failureThreshold: {failures}}}, "
        )
    };
    let readiness = dice.maybe(30, |dice| probe("readinessProbe", dice));
    let liveness = dice.maybe(12, |dice| probe("livenessProbe", dice));
    let image = dice.pick(&["nginx:1", "nginx:2", "postgres:16"]);
    let init = dice.maybe(8, |_| "{name: init, image: busybox}".to_owned());
    let grace = if dice.percent(40) { Some(dice.pick(&[0, 1, 10, 60])) } else { None };
    let grace = features.grace(grace);
    let Extras { first, others, inits, spec } =
        features.extras(&format!("{readiness}{liveness}"), grace, !restart.is_empty());
    parts.push(format!(
        "containers: [{{name: main, image: \"{image}\", {requests}{port}{readiness}{liveness}{first}}}{others}]"
    ));
    if !init.is_empty() || !inits.is_empty() {
        parts.push(format!("initContainers: [{}]", format!("{init}{inits}").trim_start_matches(", ")));
    }
    parts.extend(grace.map(|grace| format!("terminationGracePeriodSeconds: {grace}")));
    parts.extend(spec);
    if dice.percent(30) {
        parts.push(format!("priorityClassName: {}", dice.pick(&["high", "low", "shy"])));
    }
    if dice.percent(15) {
        parts.push(format!("nodeSelector: {{tier: {}}}", dice.pick(&["x", "y"])));
    }
    if dice.percent(15) {
        parts.push("volumes: [{name: scratch, emptyDir: {}}]".to_owned());
    }
    if dice.percent(35) {
        parts.push(format!("tolerations: [{}]", tolerations(dice)));
    }
    if dice.percent(30) {
        parts.push(format!("affinity: {{{}}}", affinity(dice, app)));
    }
    if dice.percent(25) {
        let key = dice.pick(&["topology.kubernetes.io/zone", "kubernetes.io/hostname"]);
        let (skew, action) = (dice.between(1, 2), dice.pick(&["DoNotSchedule", "ScheduleAnyway"]));
        parts.push(format!(
            "topologySpreadConstraints: [{{maxSkew: {skew}, topologyKey: {key}, whenUnsatisfiable: {action}, \
             labelSelector: {{matchLabels: {{app: {app}}}}}}}]"
        ));
    }
    if !restart.is_empty() {
        parts.push(format!("restartPolicy: {restart}"));
    }
    format!("{{{}}}", parts.join(", "))
}

fn tolerations(dice: &mut Dice) -> String {
    let mut parts = Vec::new();
    if dice.percent(60) {
        parts.push("{key: dedicated, operator: Equal, value: x}".to_owned());
    }
    if dice.percent(50) {
        let seconds = dice.pick(&[0, 20, 90, 600]);
        for key in ["not-ready", "unreachable"] {
            parts.push(format!(
                "{{key: node.kubernetes.io/{key}, operator: Exists, effect: NoExecute, tolerationSeconds: {seconds}}}"
            ));
        }
    }
    if dice.percent(10) {
        parts.push("{operator: Exists}".to_owned());
    }
    parts.join(", ")
}

fn affinity(dice: &mut Dice, app: &str) -> String {
    let key = dice.pick(&["topology.kubernetes.io/zone", "kubernetes.io/hostname"]);
    let term = format!("{{topologyKey: {key}, labelSelector: {{matchLabels: {{app: {app}}}}}}}");
    match dice.between(0, 4) {
        0 => format!("podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}"),
        1 => format!(
            "podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 50, podAffinityTerm: {term}}}]}}"
        ),
        2 => format!("podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}"),
        3 => "nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: \
              [{key: disk, operator: In, values: [ssd]}]}]}}"
            .to_owned(),
        _ => "nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, preference: \
              {matchExpressions: [{key: disk, operator: Exists}]}}]}"
            .to_owned(),
    }
}

fn deployment(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    head(text, "apps/v1", "Deployment", app, namespace);
    let strategy = match dice.between(0, 3) {
        0 => "{type: Recreate}".to_owned(),
        1 => "{type: RollingUpdate}".to_owned(),
        _ => {
            let surge = dice.pick(&["1", "25%", "2", "100%"]);
            let unavailable = dice.pick(&["0", "1", "25%", "50%"]);
            format!("{{type: RollingUpdate, rollingUpdate: {{maxSurge: {surge}, maxUnavailable: {unavailable}}}}}")
        }
    };
    let replicas = dice.between(0, 9);
    let ready = dice.maybe(25, |dice| format!("  minReadySeconds: {}\n", dice.between(1, 40)));
    let history = dice.maybe(25, |dice| format!("  revisionHistoryLimit: {}\n", dice.between(0, 3)));
    let progress = dice.maybe(25, |_| "  progressDeadlineSeconds: 90\n".to_owned());
    let template = template(dice, app, names);
    let _ = writeln!(
        text,
        "spec:\n  replicas: {replicas}\n{ready}{history}{progress}  strategy: {strategy}\n  selector: {{matchLabels: \
         {{app: {app}}}}}\n  template: {template}"
    );
    names.workloads.push(("deployment", app.to_owned(), namespace));
}

/// What a StatefulSet's pods keep, of half of all sets.
fn disks(dice: &mut Dice) -> String {
    dice.maybe(50, |dice| {
        let mode = dice.pick(&["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"]);
        let class = dice.pick(&["disk", "disk", "files", "at-once"]);
        let policy = dice.maybe(40, |dice| {
            let policies = ["Retain", "Delete"];
            let (deleted, scaled) = (dice.pick(&policies), dice.pick(&policies));
            format!("  persistentVolumeClaimRetentionPolicy: {{whenDeleted: {deleted}, whenScaled: {scaled}}}\n")
        });
        format!(
            "{policy}  volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{accessModes: [{mode}], storageClassName: {class}, \
             resources: {{requests: {{storage: 1Gi}}}}}}}}]\n"
        )
    })
}

/// The classes that claims name.
const CLASSES: &str = "---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: disk.csi.azure.com, volumeBindingMode: \
 WaitForFirstConsumer}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: files}, provisioner: file.csi.azure.com, volumeBindingMode: \
 WaitForFirstConsumer}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: at-once}, provisioner: ebs.csi.aws.com, volumeBindingMode: Immediate}
";

fn stateful_set(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    head(text, "apps/v1", "StatefulSet", app, namespace);
    let replicas = dice.between(0, 6);
    let policy = dice.pick(&["OrderedReady", "Parallel"]);
    let update = match dice.between(0, 2) {
        0 => "{type: OnDelete}".to_owned(),
        1 => "{type: RollingUpdate}".to_owned(),
        _ => format!("{{type: RollingUpdate, rollingUpdate: {{partition: {}}}}}", dice.between(0, 3)),
    };
    let ready = dice.maybe(25, |dice| format!("  minReadySeconds: {}\n", dice.between(1, 40)));
    let claims = disks(&mut Dice(dice.0 ^ 0x00d1_5c5d));
    let template = template(dice, app, names);
    let _ = writeln!(
        text,
        "spec:\n  replicas: {replicas}\n{ready}{claims}  serviceName: {app}\n  podManagementPolicy: {policy}\n  updateStrategy: \
         {update}\n  selector: {{matchLabels: {{app: {app}}}}}\n  template: {template}"
    );
    names.workloads.push(("statefulset", app.to_owned(), namespace));
}

fn daemon_set(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    head(text, "apps/v1", "DaemonSet", app, namespace);
    let update = match dice.between(0, 3) {
        0 => "{type: OnDelete}".to_owned(),
        1 => "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 50%}}".to_owned(),
        2 => "{type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}".to_owned(),
        _ => "{type: RollingUpdate}".to_owned(),
    };
    names.surges |= update.contains("maxSurge");
    let template = template(dice, app, names);
    let _ = writeln!(
        text,
        "spec:\n  updateStrategy: {update}\n  selector: {{matchLabels: {{app: {app}}}}}\n  template: {template}"
    );
    names.workloads.push(("daemonset", app.to_owned(), namespace));
}

/// The spec of a Job, as a flow mapping.
fn job_spec(dice: &mut Dice, app: &str, features: &mut Features) -> String {
    let mut parts = vec![format!("parallelism: {}", dice.between(0, 4))];
    let is_indexed = dice.percent(35);
    if is_indexed || dice.percent(70) {
        parts.push(format!("completions: {}", dice.between(1, 6)));
    }
    if is_indexed {
        parts.push("completionMode: Indexed".to_owned());
    }
    if dice.percent(40) {
        parts.push(format!("backoffLimit: {}", dice.between(0, 3)));
    }
    if dice.percent(15) {
        parts.push(format!("activeDeadlineSeconds: {}", dice.between(20, 300)));
    }
    if dice.percent(20) {
        parts.push(format!("ttlSecondsAfterFinished: {}", dice.between(0, 120)));
    }
    if dice.percent(10) {
        parts.push("suspend: true".to_owned());
    }
    let restart = dice.pick(&["Never", "OnFailure"]);
    if restart == "Never" && dice.percent(25) {
        parts.push(
            "podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}".to_owned(),
        );
    } else if dice.percent(30) {
        parts.push(format!("podReplacementPolicy: {}", dice.pick(&["Failed", "TerminatingOrFailed"])));
    }
    let spec = pod_spec(dice, app, restart, features);
    let more: String = features.annotations(true).iter().map(|it| format!(", {it}")).collect();
    let (length, code) = (dice.pick(&["10s", "90s", "{exponential: {mean: 1m}}"]), dice.pick(&["0", "0", "0", "1"]));
    parts.push(format!(
        "template: {{metadata: {{labels: {{app: {app}}}, annotations: {{kubesquall.sim/run-for: \"{length}\", \
         kubesquall.sim/exit-code: \"{code}\"{more}}}}}, spec: {spec}}}"
    ));
    format!("{{{}}}", parts.join(", "))
}

fn job(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    head(text, "batch/v1", "Job", app, namespace);
    let spec = job_spec(dice, app, &mut names.features);
    let _ = writeln!(text, "spec: {spec}");
    names.workloads.push(("job", app.to_owned(), namespace));
}

fn cron_job(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    head(text, "batch/v1", "CronJob", app, namespace);
    let schedule = dice.pick(&["*/2 * * * *", "*/5 * * * *", "* * * * *"]);
    let policy = dice.pick(&["Allow", "Forbid", "Replace"]);
    let history = dice.maybe(30, |_| "  successfulJobsHistoryLimit: 1\n  failedJobsHistoryLimit: 0\n".to_owned());
    let spec = job_spec(dice, app, &mut names.features);
    let _ = writeln!(
        text,
        "spec:\n  schedule: \"{schedule}\"\n  concurrencyPolicy: {policy}\n{history}  jobTemplate: {{spec: {spec}}}"
    );
    names.workloads.push(("cronjob", app.to_owned(), namespace));
}

/// Pods and sets without a Deployment.
fn others(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    match dice.between(0, 3) {
        0 => {
            head(text, "apps/v1", "ReplicaSet", app, namespace);
            let (replicas, template) = (dice.between(1, 5), template(dice, app, names));
            let _ = writeln!(
                text,
                "spec: {{replicas: {replicas}, selector: {{matchLabels: {{app: {app}}}}}, template: {template}}}"
            );
            names.workloads.push(("replicaset", app.to_owned(), namespace));
        }
        1 => {
            head(text, "v1", "ReplicationController", app, namespace);
            let (replicas, template) = (dice.between(1, 5), template(dice, app, names));
            let _ = writeln!(text, "spec: {{replicas: {replicas}, selector: {{app: {app}}}, template: {template}}}");
            names.workloads.push(("replicationcontroller", app.to_owned(), namespace));
        }
        kind => {
            let annotations = names.features.annotations(false).join(", ");
            let _ = writeln!(
                text,
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {app}, namespace: {namespace}, labels: {{app: {app}}}, annotations: \
                 {{{annotations}}}}}"
            );
            let restart = dice.pick(&["Always", "Never", "OnFailure"]);
            let spec = pod_spec(dice, app, restart, &mut names.features);
            // Every third is one that no scheduler looked at.
            let node = if kind == 3 && dice.percent(60) { dice.pick(&["pool0-0", "nowhere"]) } else { "" };
            let node = if spec.contains("schedulingGates") { "" } else { node };
            let spec = if node.is_empty() { spec } else { format!("{{nodeName: {node}, {}", &spec[1..]) };
            let _ = writeln!(text, "spec: {spec}");
            names.workloads.push(("pod", app.to_owned(), namespace));
        }
    }
}

fn budget(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    head(text, "policy/v1", "PodDisruptionBudget", app, namespace);
    let limit = match dice.between(0, 3) {
        0 => format!("minAvailable: {}", dice.between(0, 4)),
        1 => format!("minAvailable: {}%", dice.between(0, 10) * 10),
        2 => format!("maxUnavailable: {}", dice.between(0, 2)),
        _ => format!("maxUnavailable: {}%", dice.between(0, 10) * 10),
    };
    let policy = dice.maybe(30, |_| "unhealthyPodEvictionPolicy: AlwaysAllow, ".to_owned());
    let _ = writeln!(text, "spec: {{{limit}, {policy}selector: {{matchLabels: {{app: {app}}}}}}}");
    names.workloads.push(("pdb", app.to_owned(), namespace));
}
