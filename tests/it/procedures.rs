//! Procedures of operators and their automata, on whole runs that verify themselves.

use std::fmt::Write as _;
use std::path::Path;

use kubesquall::observe::{EventRow, Observed};
use kubesquall::scenario::{self, Overrides};
use kubesquall::simulation::{Prepared, Simulation};
use kubesquall::state::{Status, Store};
use kubesquall::units::SimTime;

use super::plays;

/// A played scenario.
struct Played {
    observed: Observed,
    store: Store,
}

impl Played {
    fn events(&self, reason: &str) -> Vec<&EventRow> {
        self.observed.events.iter().filter(|event| event.reason == reason).collect()
    }

    /// When an event of that reason first came, in seconds.
    #[track_caller]
    fn first(&self, reason: &str) -> f64 {
        let event = self.events(reason).into_iter().next().unwrap_or_else(|| panic!("no {reason}"));
        seconds(event.at)
    }

    #[track_caller]
    fn message(&self, reason: &str) -> &str {
        &self.events(reason).first().unwrap_or_else(|| panic!("no {reason}")).message
    }

    /// The nodes there are, with `!` before those that take no pods.
    fn nodes(&self) -> Vec<String> {
        let name = |(id, node): (_, &std::sync::Arc<kubesquall::state::Node>)| {
            let sign = if node.unschedulable { "!" } else { "" };
            format!("{sign}{}", self.store.node_name(id))
        };
        let mut nodes: Vec<String> = self.store.nodes().map(name).collect();
        nodes.sort();
        nodes
    }

    fn running(&self) -> usize {
        self.store.pods().filter(|(_, pod)| pod.is_ready() && pod.deletion.is_none()).count()
    }
}

fn seconds(at: SimTime) -> f64 {
    (at.as_nanos() as f64 / 1e6).round() / 1e3
}

/// Nodes that are Ready and not cordoned.
fn schedulable(store: &Store) -> usize {
    store.nodes().filter(|(_, node)| node.conditions.ready() == Some(Status::True) && !node.unschedulable).count()
}

fn text(spec: &str, objects: &[&str]) -> String {
    let mut text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: procedures}}\nspec: {{{spec}}}\n"
    );
    for object in objects {
        write!(text, "---\n{object}\n").expect("text");
    }
    text
}

/// Plays a scenario; `look` sees every event that is over.
fn play(spec: &str, objects: &[&str], look: &mut dyn FnMut(&Simulation)) -> Played {
    let text = text(spec, objects);
    let scenario = scenario::load_text("procedures.yaml", &text, Path::new("absent"), &Overrides::none())
        .unwrap_or_else(|invalid| panic!("{invalid}\n{text}"));
    let prepared = Prepared::verified(&scenario).unwrap_or_else(|violation| panic!("{violation}"));
    let mut run = plays::begun(&prepared, &scenario, scenario.seed);
    run.verify();
    let end = SimTime::ZERO + scenario.duration;
    while run.next_at().is_some_and(|at| at <= end) {
        run.step();
        assert!(run.violation().is_none(), "{:?}", run.violation());
        look(&run);
    }
    let (observed, store) = plays::ended(run, end);
    Played { observed, store }
}

fn pool(count: u32) -> String {
    format!(
        "cluster: {{nodePools: [{{name: w, count: {count}, zones: [a, b, c], template: {{status: {{allocatable: {{cpu: \
         \"4\", memory: 8Gi, pods: \"110\"}}}}}}}}]}}, latency: {{nodeBoot: 60s, podStart: 1s, podStop: 1s}}"
    )
}

fn deployment(name: &str, replicas: u32, cpu: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}}}, spec: {{replicas: {replicas}, selector: \
         {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: \
         c, image: i, resources: {{requests: {{cpu: \"{cpu}\"}}}}}}]}}}}}}}}"
    )
}

fn budget(name: &str, min_available: &str) -> String {
    format!(
        "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: {name}}}, spec: {{minAvailable: \
         {min_available}, selector: {{matchLabels: {{app: {name}}}}}}}}}"
    )
}

mod cluster_autoscaler;
mod horizontal_pod_autoscaler;
mod node_repair;
mod random_processes;
mod rolling_reboot;
mod rolling_upgrade;
mod slow_machines;
mod spot_interruption;
