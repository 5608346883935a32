//! A scenario drawn from a seed: a small cluster, workloads of every kind, and trouble.

use std::fmt::Write;

use super::dice::Dice;
use super::random_oddities;
use super::random_pods::Features;
use super::random_trouble::{any_faults, any_processes, autoscaler, faults, loads, reboots, timeline, upgrades};
use super::random_workloads::manifests;

/// What commands and faults can name.
#[derive(Default)]
pub(super) struct Names {
    pub(super) pools: Vec<String>,
    pub(super) nodes: Vec<String>,
    pub(super) zones: Vec<&'static str>,
    pub(super) tiers: Vec<&'static str>,
    /// Some DaemonSet surges. Under pressure its pods would be made and rejected without end, as those of real ones are.
    pub(super) surges: bool,
    /// What pods have.
    pub(super) features: Features,
    /// Pods from files on nodes, with the names of their apps.
    pub(super) files: Vec<(String, String)>,
    /// Kind and name, as kubectl takes them, with the namespace.
    pub(super) workloads: Vec<(&'static str, String, &'static str)>,
}

const ZONES: [&str; 3] = ["a", "b", "c"];

/// The scenario of a seed: one file with its manifests.
pub(crate) fn scenario(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut names = Names { features: Features::of(seed), ..Names::default() };
    let minutes = dice.between(8, 40);
    let pools = pools(&mut dice, &mut names);
    let mut manifests = manifests(&mut dice, &mut names);
    let mut features = std::mem::take(&mut names.features);
    features.static_pods(&mut manifests, &mut names);
    let bootstrap = if dice.percent(75) { "settled" } else { "cold" };
    let timeline = timeline(&mut dice, &names, minutes);
    let faults = faults(&mut dice);
    let mut text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: random-{seed}}}\nspec:\n  duration: \
         {minutes}m\n  seed: {seed}\n  cluster:\n    bootstrap: {bootstrap}\n    nodePools:\n{pools}"
    );
    let odd = random_oddities::draw(seed);
    text.push_str(&with_flags(control_plane(&mut dice, features.least_version()), &odd));
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
    let near = features.timeline(&names, minutes);
    let faults = if faults.is_empty() && !more.is_empty() { "  faults:\n".to_owned() } else { faults };
    let _ = write!(text, "  timeline:\n{timeline}{upgrades}{any}{near}{faults}{more}{autoscaler}{repair}{loads}");
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

fn control_plane(dice: &mut Dice, least_version: u64) -> String {
    let mut text = String::from("  controlPlane:\n");
    let version = dice.between(33, 36).max(least_version);
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
