//! What pods of a random scenario have besides: sidecars, init containers, probes, hooks, deadlines, gates, files on nodes. Each scenario
//! draws which of these it has at all, so that few meet each other often. Drawn with dice of their own, so that the rest of a seed's
//! scenario stays what it is.

use std::fmt::Write;

use super::dice::Dice;
use super::random_scenario::Names;

/// Something that pods may have.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Feature {
    /// More regular containers, which may have policies of their own.
    Containers,
    /// Init containers with `restartPolicy: Always`.
    Sidecars,
    /// Init containers that take time, or fail.
    Inits,
    Startup,
    Liveness,
    Readiness,
    PreStop,
    PostStart,
    /// Containers end by themselves.
    Ends,
    /// The time that they take to start, to answer and to stop.
    Paces,
    /// `activeDeadlineSeconds` of pods.
    Deadline,
    ReadinessGates,
    SchedulingGates,
    /// Pods from files on nodes.
    Static,
    /// Images, and when they are pulled.
    Images,
    /// `terminationGracePeriodSeconds` of 0 and 1.
    ShortGrace,
}

const ALL: [Feature; 16] = [
    Feature::Containers,
    Feature::Sidecars,
    Feature::Inits,
    Feature::Startup,
    Feature::Liveness,
    Feature::Readiness,
    Feature::PreStop,
    Feature::PostStart,
    Feature::Ends,
    Feature::Paces,
    Feature::Deadline,
    Feature::ReadinessGates,
    Feature::SchedulingGates,
    Feature::Static,
    Feature::Images,
    Feature::ShortGrace,
];

/// Which of them a scenario has; none, a third do.
pub(super) struct Features {
    dice: Dice,
    on: Vec<Feature>,
    /// Containers may have policies of their own.
    has_policies: bool,
    /// A node with files.
    of_files: Option<usize>,
}

impl Default for Features {
    fn default() -> Self {
        Self { dice: Dice(0), on: Vec::new(), has_policies: false, of_files: None }
    }
}

/// What a pod template has besides.
#[derive(Default)]
pub(super) struct Extras {
    /// Fields of the first container, in flow style, each with a comma behind it.
    pub(super) first: String,
    /// Other containers, each with a comma before it.
    pub(super) others: String,
    /// Init containers, likewise.
    pub(super) inits: String,
    /// Fields of the spec.
    pub(super) spec: Vec<String>,
}

impl Features {
    pub(super) fn of(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x706f_6473);
        let mut on = Vec::new();
        if dice.percent(66) {
            let chance = dice.pick(&[15, 30, 50]);
            on.extend(ALL.into_iter().filter(|_| dice.percent(chance)));
        }
        let has_policies = on.contains(&Feature::Containers) && dice.percent(60);
        Self { dice, on, has_policies, of_files: None }
    }

    /// The first version whose API server takes these pods.
    pub(super) fn least_version(&self) -> u64 {
        if self.has_policies { 35 } else { 33 }
    }

    fn is_on(&self, feature: Feature) -> bool {
        self.on.contains(&feature)
    }

    /// Whether this pod has it.
    fn has(&mut self, feature: Feature, chance: u64) -> bool {
        self.is_on(feature) && self.dice.percent(chance)
    }

    /// Seconds of grace in place of those drawn.
    pub(super) fn grace(&mut self, drawn: Option<u64>) -> Option<u64> {
        if self.has(Feature::ShortGrace, 60) { Some(self.dice.pick(&[0, 1, 1, 2])) } else { drawn }
    }

    /// Annotations besides; `is_ending` if those that say how containers end are given already.
    pub(super) fn annotations(&mut self, is_ending: bool) -> Vec<String> {
        let mut parts = Vec::new();
        let mut add = |name: &str, value: &str| parts.push(format!("kubesquall.sim/{name}: \"{value}\""));
        if self.has(Feature::Inits, 50) {
            add("init", self.dice.pick(&["0s", "1s", "4s", "30s", "{exponential: {mean: 8s}}"]));
            if self.dice.percent(40) {
                add("init-exit-code", self.dice.pick(&["1", "1", "0", "137"]));
            }
        }
        if self.has(Feature::Ends, 60) && !is_ending {
            add("run-for", self.dice.pick(&["1s", "5s", "20s", "90s", "{exponential: {mean: 1m}}"]));
            add("exit-code", self.dice.pick(&["0", "1", "1"]));
        }
        if self.has(Feature::ReadinessGates, 80) {
            add("gate-lb", self.dice.pick(&["0s", "10s", "10s", "1m", "never"]));
        }
        parts
    }

    /// The annotations of paces, in place of those drawn.
    pub(super) fn paces(&mut self) -> Option<Vec<String>> {
        if !self.has(Feature::Paces, 70) {
            return None;
        }
        let (start, ready, stop) = (
            self.dice.pick(&["0s", "1s", "3s", "15s"]),
            self.dice.pick(&["0s", "0s", "4s", "20s"]),
            self.dice.pick(&["0s", "500ms", "3s", "20s", "90s"]),
        );
        let paces = [("start", start), ("ready", ready), ("stop", stop)];
        Some(paces.iter().map(|(name, value)| format!("kubesquall.sim/{name}: \"{value}\"")).collect())
    }

    fn probe(&mut self, name: &str) -> String {
        let dice = &mut self.dice;
        let (delay, period) = (dice.pick(&[0, 0, 3, 12, 40]), dice.pick(&[1, 1, 3, 10]));
        let (failures, timeout) = (dice.pick(&[1, 3, 3, 10]), dice.pick(&[1, 1, 5]));
        let successes = if name == "readinessProbe" { dice.pick(&[1, 1, 2]) } else { 1 };
        let grace = match name {
            "readinessProbe" => String::new(),
            _ => dice.maybe(20, |dice| format!(", terminationGracePeriodSeconds: {}", dice.pick(&[1, 5]))),
        };
        format!(
            "{name}: {{tcpSocket: {{port: 80}}, initialDelaySeconds: {delay}, periodSeconds: {period}, failureThreshold: {failures}, \
             timeoutSeconds: {timeout}, successThreshold: {successes}{grace}}}, "
        )
    }

    /// Probes and hooks of a container that keeps running, but for the probes that it has.
    fn running(&mut self, has: &str, grace: u64) -> String {
        let mut text = String::new();
        for (feature, name) in [
            (Feature::Startup, "startupProbe"),
            (Feature::Liveness, "livenessProbe"),
            (Feature::Readiness, "readinessProbe"),
        ] {
            if !has.contains(name) && self.has(feature, 50) {
                text.push_str(&self.probe(name));
            }
        }
        let mut hooks = Vec::new();
        for (feature, name) in [(Feature::PreStop, "preStop"), (Feature::PostStart, "postStart")] {
            if self.has(feature, 50) {
                let seconds = self.dice.pick(&[0, 1, 4, 12, 28]).min(grace);
                hooks.push(format!("{name}: {{sleep: {{seconds: {seconds}}}}}"));
            }
        }
        if !hooks.is_empty() {
            let _ = write!(text, "lifecycle: {{{}}}, ", hooks.join(", "));
        }
        text
    }

    fn image(&mut self) -> String {
        let image = self.dice.pick(&["nginx:1", "nginx:2", "busybox", "app:latest", "sidecar:3"]);
        let policy = if self.has(Feature::Images, 60) {
            self.dice.pick(&["Always", "IfNotPresent", "IfNotPresent", "Never"])
        } else {
            ""
        };
        // One that nothing else uses would never be there.
        match policy {
            "" => format!("image: \"{image}\", "),
            "Never" => {
                format!("image: \"{}\", imagePullPolicy: IfNotPresent, ", self.dice.pick(&["nginx:1", "rare:1"]))
            }
            policy => format!("image: \"{image}\", imagePullPolicy: {policy}, "),
        }
    }

    /// What a pod has besides; `first` is what its first container has, `may_end` whether pods of this kind may have a deadline.
    pub(super) fn extras(&mut self, first: &str, grace: Option<u64>, may_end: bool) -> Extras {
        let mut extras = Extras::default();
        if self.on.is_empty() {
            return extras;
        }
        let grace = grace.unwrap_or(30);
        extras.first = self.running(first, grace);
        if self.has(Feature::Images, 30) {
            extras.first.push_str("imagePullPolicy: Always, ");
        }
        if self.has(Feature::Containers, 15) && self.has_policies {
            extras.first.push_str(&self.policy());
        }
        if self.has(Feature::Containers, 70) {
            for number in 0..self.dice.between(1, 2) {
                let (image, running) = (self.image(), self.running("", grace));
                let policy = if self.has_policies && self.dice.percent(30) { self.policy() } else { String::new() };
                let _ = write!(extras.others, ", {{name: more{number}, {image}{running}{policy}}}");
            }
        }
        self.inits(&mut extras, grace);
        if may_end && self.has(Feature::Deadline, 60) {
            extras.spec.push(format!("activeDeadlineSeconds: {}", self.dice.pick(&[1, 5, 30, 120, 600])));
        }
        if self.has(Feature::ReadinessGates, 80) {
            extras.spec.push("readinessGates: [{conditionType: example.com/lb}]".to_owned());
        }
        if self.has(Feature::SchedulingGates, 15) {
            extras.spec.push("schedulingGates: [{name: example.com/hold}]".to_owned());
        }
        extras
    }

    fn policy(&mut self) -> String {
        format!("restartPolicy: {}, ", self.dice.pick(&["Always", "Never", "OnFailure"]))
    }

    fn inits(&mut self, extras: &mut Extras, grace: u64) {
        let count =
            if self.is_on(Feature::Sidecars) || self.is_on(Feature::Inits) { self.dice.between(0, 3) } else { 0 };
        for number in 0..count {
            let image = self.image();
            if self.has(Feature::Sidecars, if self.is_on(Feature::Inits) { 50 } else { 100 }) {
                let running = self.running("", grace);
                let _ = write!(extras.inits, ", {{name: side{number}, {image}{running}restartPolicy: Always}}");
            } else {
                let _ = write!(extras.inits, ", {{name: step{number}, {image}}}");
            }
        }
    }

    /// Pods from files on nodes.
    pub(super) fn static_pods(&mut self, text: &mut String, names: &mut Names) {
        if !self.is_on(Feature::Static) {
            return;
        }
        for number in 0..self.dice.between(1, 2) {
            let index = self.dice.between(0, names.nodes.len() as u64 - 1) as usize;
            self.of_files = Some(index);
            let node = names.nodes[index].clone();
            let grace = self.grace(None);
            let extras = self.extras("", grace, true);
            let restart = self.dice.pick(&["Always", "Always", "OnFailure", "Never"]);
            let mut annotations = self.annotations(false);
            annotations.extend(self.paces().into_iter().flatten());
            for (name, value) in [("mirror", "x"), ("hash", "x"), ("source", "file")] {
                annotations.push(format!("kubernetes.io/config.{name}: {value}"));
            }
            let Extras { first, others, inits, mut spec } = extras;
            spec.retain(|field| !field.starts_with("schedulingGates"));
            spec.extend(grace.map(|grace| format!("terminationGracePeriodSeconds: {grace}")));
            if !inits.is_empty() {
                spec.push(format!("initContainers: [{}]", inits.trim_start_matches(", ")));
            }
            // As whoever reads the file adds (kubelet, `applyDefaults`).
            spec.push("tolerations: [{operator: Exists, effect: NoExecute}]".to_owned());
            let spec: String = spec.iter().map(|field| format!(", {field}")).collect();
            let _ = writeln!(
                text,
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: file{number}-{node}, namespace: default, labels: {{app: file{number}}}, \
                 annotations: {{{}}}}}\nspec: {{nodeName: {node}, restartPolicy: {restart}, containers: [{{name: main, {first}image: \
                 \"nginx:1\"}}{others}]{spec}}}",
                annotations.join(", ")
            );
            names.files.push((format!("file{number}-{node}"), format!("file{number}")));
        }
    }

    /// Trouble that kubelets have, close together.
    pub(super) fn timeline(&mut self, names: &Names, minutes: u64) -> String {
        let mut text = String::new();
        if self.on.is_empty() {
            return text;
        }
        let mut at_ms = 0;
        let favorite = self.dice.between(0, names.nodes.len() as u64 - 1) as usize;
        let favorite = self.of_files.unwrap_or(favorite);
        for _ in 0..self.dice.between(0, 14) {
            let dice = &mut self.dice;
            let end = minutes * 60_000 - 1;
            at_ms = match dice.between(0, 2) {
                0 => dice.between(0, end),
                1 => at_ms + dice.between(0, 8_000),
                _ => at_ms + dice.between(0, 60_000),
            }
            .min(end);
            let what = trouble(dice, names, favorite);
            let _ = writeln!(text, "  - {{at: {at_ms}ms, {what}}}");
        }
        text
    }
}

fn trouble(dice: &mut Dice, names: &Names, favorite: usize) -> String {
    let any = dice.between(0, names.nodes.len() as u64 - 1) as usize;
    let node = &names.nodes[if dice.percent(60) { favorite } else { any }];
    let nodes = format!("{{names: [{node}]}}");
    let length = dice.pick(&["2s", "5s", "12s", "30s", "90s"]);
    let boot = dice.pick(&["1s", "10s", "40s"]);
    let app = match names.workloads.get(dice.between(0, names.workloads.len() as u64) as usize) {
        Some((_, name, namespace)) => format!("-l app={name} -n {namespace}"),
        None => match names.files.first() {
            Some((_, app)) => format!("-l app={app}"),
            None => "-l app=app0".to_owned(),
        },
    };
    match dice.between(0, 17) {
        0..=2 => format!("fault: {{kind: KubeletStop, nodes: {nodes}, for: {length}}}"),
        3 | 4 => format!("fault: {{kind: Reboot, nodes: {nodes}, boot: {boot}}}"),
        5 => format!("fault: {{kind: Partition, nodes: {nodes}, for: {length}}}"),
        6 => format!("fault: {{kind: GracefulShutdown, nodes: {nodes}, for: {length}, boot: {boot}}}"),
        7 => format!(
            "fault: {{kind: SlowNetwork, nodes: {nodes}, for: {length}, delay: {}}}",
            dice.pick(&["1s", "8s", "30s"])
        ),
        8 => format!("fault: {{kind: SlowDisk, nodes: {nodes}, for: {length}, factor: {}}}", dice.pick(&[2, 10])),
        9 => format!(
            "fault: {{kind: ImagePullFailure, for: {length}, images: [\"{}\"]}}",
            dice.pick(&["*", "nginx:1", "busybox"])
        ),
        10 => format!(
            "fault: {{kind: {}, pods: {}}}",
            dice.pick(&["ContainerCrash", "OOMKill", "PodKill"]),
            dice.pick(&["{fraction: 1}", "{count: 1}"])
        ),
        11 => format!("fault: {{kind: ControlPlaneOutage, components: [kube-apiserver], for: {length}}}"),
        12 => {
            let how = dice.pick(&["", "--grace-period=1", "--grace-period=10", "--grace-period=0 --force"]);
            format!("kubectl: delete pods {app} --wait=false {how}")
        }
        13 => match names.files.first() {
            Some((file, _)) => {
                format!("kubectl: delete pod {file} --wait=false {}", dice.pick(&["", "--grace-period=0 --force"]))
            }
            None => format!("kubectl: delete pods {app} --wait=false"),
        },
        14 => {
            let what = dice.pick(&["init-exit-code=0", "exit-code=0", "usage='{memory: 5Gi}'", "run-for=10s"]);
            format!("kubectl: \"annotate --overwrite pods {app} kubesquall.sim/{what}\"")
        }
        15 => format!("kubectl: label node {node} tier={} --overwrite", dice.pick(&["x", "y", "z"])),
        16 => format!("kubectl: taint nodes {node} {}", dice.pick(&["k=w:NoExecute", "k-", "k=v:NoSchedule"])),
        _ => format!("kubectl: delete node {node} --wait=false"),
    }
}
