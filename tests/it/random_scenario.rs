//! A scenario drawn from a seed: a small cluster, workloads of every kind, and trouble.

use std::fmt::Write;

use kubesquall::chaos::{FaultKind, Field};

use super::random_oddities;

/// A generator of numbers (splitmix64): equal seeds give equal scenarios, on every machine.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.between(1, 100) <= chance
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() as u64 - 1) as usize]
    }

    /// The text, with this chance; otherwise nothing.
    pub(crate) fn maybe(&mut self, chance: u64, text: impl FnOnce(&mut Self) -> String) -> String {
        if self.percent(chance) { text(self) } else { String::new() }
    }
}

/// What commands and faults can name.
#[derive(Default)]
struct Names {
    pools: Vec<String>,
    nodes: Vec<String>,
    zones: Vec<&'static str>,
    tiers: Vec<&'static str>,
    /// Some DaemonSet surges. Under pressure its pods would be made and rejected without end, as those of real ones are.
    surges: bool,
    /// Kind and name, as kubectl takes them, with the namespace.
    workloads: Vec<(&'static str, String, &'static str)>,
}

const ZONES: [&str; 3] = ["a", "b", "c"];
const NAMESPACES: [&str; 2] = ["default", "shop"];

/// The scenario of a seed: one file with its manifests.
pub(crate) fn scenario(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut names = Names::default();
    let minutes = dice.between(8, 40);
    let pools = pools(&mut dice, &mut names);
    let manifests = manifests(&mut dice, &mut names);
    let bootstrap = if dice.percent(75) { "settled" } else { "cold" };
    let timeline = timeline(&mut dice, &names, minutes);
    let faults = faults(&mut dice);
    let mut text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: random-{seed}}}\nspec:\n  duration: \
         {minutes}m\n  seed: {seed}\n  cluster:\n    bootstrap: {bootstrap}\n    nodePools:\n{pools}"
    );
    let odd = random_oddities::draw(seed);
    text.push_str(&with_flags(control_plane(&mut dice), &odd));
    text.push_str(&latency(&mut dice));
    // Dice of their own: what is drawn here changes nothing above.
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x7072_6f63);
    let upgrades = upgrades(&mut dice, &names, minutes);
    let autoscaler = autoscaler(&mut dice, &names);
    let upgrades = upgrades + &reboots(&mut dice, &names, minutes);
    let repair = dice.maybe(15, |dice| {
        let (wait, at_a_time) = (dice.pick(&["1m", "3m"]), dice.pick(&["1", "50%"]));
        let unhealthy = dice.pick(&["2", "60%", "100%"]);
        format!(
            "  nodeAutoRepair: {{unhealthyFor: {wait}, maxConcurrent: {at_a_time}, maxUnhealthy: {unhealthy}, drainTimeout: 2m}}\n"
        )
    });
    let loads = loads(&mut dice, &names);
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x6661_756c);
    let any = any_faults(&mut dice, &names, minutes);
    let more = any_processes(&mut dice, &names);
    let faults = if faults.is_empty() && !more.is_empty() { "  faults:\n".to_owned() } else { faults };
    let _ = write!(text, "  timeline:\n{timeline}{upgrades}{any}{faults}{more}{autoscaler}{repair}{loads}");
    text.push_str(&manifests);
    text.push_str(&odd.manifests);
    text
}

/// The control plane, with what else it is started with.
fn with_flags(mut text: String, odd: &random_oddities::Oddities) -> String {
    for (component, flags) in [("kubeControllerManager", &odd.manager), ("kubeScheduler", &odd.scheduler)] {
        let head = format!("    {component}: {{");
        if flags.is_empty() {
            continue;
        }
        if text.contains(&head) {
            text = text.replace(&head, &format!("{head}{flags}"));
        } else {
            let _ = writeln!(text, "{head}{}}}", flags.trim_end_matches(", "));
        }
    }
    text
}

fn pools(dice: &mut Dice, names: &mut Names) -> String {
    let mut text = String::new();
    for pool in 0..dice.between(1, 3) {
        let (name, count) = (format!("pool{pool}"), dice.between(1, 7));
        names.nodes.extend((0..count).map(|number| format!("{name}-{number}")));
        let zone_count = dice.between(0, 3) as usize;
        let zones = ZONES[..zone_count].join(", ");
        names.zones.extend(ZONES.iter().take(zone_count.min(count as usize)));
        let (labels, tier) = dice.pick(&[("disk: ssd, tier: x", "x"), ("tier: y", "y")]);
        names.tiers.push(tier);
        let taint = dice.pick(&["", "", "", "NoSchedule", "NoExecute", "PreferNoSchedule"]);
        let taints = match taint {
            "" => String::new(),
            effect => format!("{{key: dedicated, value: x, effect: {effect}}}"),
        };
        let provider = dice.maybe(30, |_| format!("providerID: aws:///{name}, "));
        let (cpu, memory, pods) = (dice.between(1, 8), dice.between(1, 16), dice.between(3, 30));
        let _ = writeln!(
            text,
            "    - name: {name}\n      count: {count}\n      zones: [{zones}]\n      template:\n        metadata: \
             {{labels: {{{labels}}}}}\n        spec: {{{provider}taints: [{taints}]}}\n        status: {{allocatable: \
             {{cpu: \"{cpu}\", memory: {memory}Gi, pods: \"{pods}\"}}}}"
        );
        names.pools.push(name);
    }
    text
}

fn control_plane(dice: &mut Dice) -> String {
    let mut text = String::from("  controlPlane:\n");
    let version = dice.between(33, 36);
    let _ = writeln!(text, "    kubernetesVersion: \"1.{version}\"");
    if dice.percent(30) {
        let seconds = dice.pick(&[0, 5, 30, 60]);
        let _ = writeln!(
            text,
            "    kubeApiserver: {{default-not-ready-toleration-seconds: {seconds}, \
             default-unreachable-toleration-seconds: {seconds}}}"
        );
    }
    if dice.percent(40) {
        let grace = dice.pick(&["20s", "40s", "60s"]);
        let rate = dice.pick(&["0.1", "1", "0"]);
        let (threshold, large) = (dice.pick(&["0.3", "0.55", "1"]), dice.pick(&[2, 5, 50]));
        let (qps, burst) = (dice.pick(&[1, 5, 20]), dice.pick(&[1, 10, 30]));
        let terminated = dice.pick(&[2, 12500]);
        let _ = writeln!(
            text,
            "    kubeControllerManager: {{node-monitor-grace-period: {grace}, node-eviction-rate: {rate}, \
             unhealthy-zone-threshold: {threshold}, large-cluster-size-threshold: {large}, kube-api-qps: {qps}, \
             kube-api-burst: {burst}, terminated-pod-gc-threshold: {terminated}}}"
        );
    }
    if dice.percent(30) {
        text.push_str("    kubelet: {shutdownGracePeriod: 60s, shutdownGracePeriodCriticalPods: 20s}\n");
    }
    if dice.percent(20) {
        let (qps, burst) = (dice.pick(&[1, 5, 50]), dice.pick(&[1, 5, 100]));
        let _ = writeln!(text, "    kubeScheduler: {{clientConnection: {{qps: {qps}, burst: {burst}}}}}");
    }
    text
}

fn latency(dice: &mut Dice) -> String {
    let mut text = String::from("  latency:\n    watch: {constant: 5ms}\n");
    let mut draw = |name: &str, choices: &[&str]| {
        if dice.percent(40) {
            let _ = writeln!(text, "    {name}: {{{}}}", dice.pick(choices));
        }
    };
    draw("podStart", &["constant: 0s", "constant: 30s", "lognormal: {median: 2s, p99: 20s}"]);
    draw("imagePull", &["constant: 5s", "uniform: {min: 1s, max: 40s}"]);
    draw("podReady", &["constant: 0s", "exponential: {mean: 10s}"]);
    draw("podStop", &["constant: 0s", "constant: 20s", "exponential: {mean: 15s}"]);
    draw("nodeBoot", &["constant: 20s", "lognormal: {median: 60s, p99: 150s}"]);
    draw("kubeletReconnect", &["constant: 0s", "constant: 50s"]);
    text
}

// ---- what runs there ----------------------------------------------------------------------------------------------

fn manifests(dice: &mut Dice, names: &mut Names) -> String {
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
fn template(dice: &mut Dice, app: &str, restart: &str) -> String {
    let spec = pod_spec(dice, app, restart);
    let annotations = annotations(dice);
    format!("{{metadata: {{labels: {{app: {app}}}, annotations: {{{annotations}}}}}, spec: {spec}}}")
}

fn annotations(dice: &mut Dice) -> String {
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
    parts.join(", ")
}

fn pod_spec(dice: &mut Dice, app: &str, restart: &str) -> String {
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
    parts.push(format!("containers: [{{name: main, image: \"{image}\", {requests}{port}{readiness}{liveness}}}]"));
    if dice.percent(8) {
        parts.push("initContainers: [{name: init, image: busybox}]".to_owned());
    }
    if dice.percent(40) {
        parts.push(format!("terminationGracePeriodSeconds: {}", dice.pick(&[0, 1, 10, 60])));
    }
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
    let template = template(dice, app, "");
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
    let template = template(dice, app, "");
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
    let template = template(dice, app, "");
    let _ = writeln!(
        text,
        "spec:\n  updateStrategy: {update}\n  selector: {{matchLabels: {{app: {app}}}}}\n  template: {template}"
    );
    names.workloads.push(("daemonset", app.to_owned(), namespace));
}

/// The spec of a Job, as a flow mapping.
fn job_spec(dice: &mut Dice, app: &str) -> String {
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
    let spec = pod_spec(dice, app, restart);
    let (length, code) = (dice.pick(&["10s", "90s", "{exponential: {mean: 1m}}"]), dice.pick(&["0", "0", "0", "1"]));
    parts.push(format!(
        "template: {{metadata: {{labels: {{app: {app}}}, annotations: {{kubesquall.sim/run-for: \"{length}\", \
         kubesquall.sim/exit-code: \"{code}\"}}}}, spec: {spec}}}"
    ));
    format!("{{{}}}", parts.join(", "))
}

fn job(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    head(text, "batch/v1", "Job", app, namespace);
    let spec = job_spec(dice, app);
    let _ = writeln!(text, "spec: {spec}");
    names.workloads.push(("job", app.to_owned(), namespace));
}

fn cron_job(dice: &mut Dice, text: &mut String, app: &str, namespace: &'static str, names: &mut Names) {
    head(text, "batch/v1", "CronJob", app, namespace);
    let schedule = dice.pick(&["*/2 * * * *", "*/5 * * * *", "* * * * *"]);
    let policy = dice.pick(&["Allow", "Forbid", "Replace"]);
    let history = dice.maybe(30, |_| "  successfulJobsHistoryLimit: 1\n  failedJobsHistoryLimit: 0\n".to_owned());
    let spec = job_spec(dice, app);
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
            let (replicas, template) = (dice.between(1, 5), template(dice, app, ""));
            let _ = writeln!(
                text,
                "spec: {{replicas: {replicas}, selector: {{matchLabels: {{app: {app}}}}}, template: {template}}}"
            );
            names.workloads.push(("replicaset", app.to_owned(), namespace));
        }
        1 => {
            head(text, "v1", "ReplicationController", app, namespace);
            let (replicas, template) = (dice.between(1, 5), template(dice, app, ""));
            let _ = writeln!(text, "spec: {{replicas: {replicas}, selector: {{app: {app}}}, template: {template}}}");
            names.workloads.push(("replicationcontroller", app.to_owned(), namespace));
        }
        kind => {
            let _ = writeln!(
                text,
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {app}, namespace: {namespace}, labels: {{app: {app}}}}}"
            );
            let restart = dice.pick(&["Always", "Never", "OnFailure"]);
            let spec = pod_spec(dice, app, restart);
            // Every third is one that no scheduler looked at.
            let node = if kind == 3 && dice.percent(60) { dice.pick(&["pool0-0", "nowhere"]) } else { "" };
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

// ---- what happens to it -------------------------------------------------------------------------------------------

fn timeline(dice: &mut Dice, names: &Names, minutes: u64) -> String {
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
fn loads(dice: &mut Dice, names: &Names) -> String {
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
fn reboots(dice: &mut Dice, names: &Names, minutes: u64) -> String {
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

fn autoscaler(dice: &mut Dice, names: &Names) -> String {
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

fn upgrades(dice: &mut Dice, names: &Names, minutes: u64) -> String {
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
fn any_faults(dice: &mut Dice, names: &Names, minutes: u64) -> String {
    let mut text = String::new();
    while dice.percent(60) {
        let at = dice.between(0, minutes * 60 - 1);
        let (_, fault) = any_fault(dice, names);
        let _ = writeln!(text, "  - {{at: {at}s, fault: {{{fault}}}}}");
    }
    text
}

/// Random processes.
fn any_processes(dice: &mut Dice, names: &Names) -> String {
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

fn faults(dice: &mut Dice) -> String {
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
