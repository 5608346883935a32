//! The audit log that the API server would have written, as far as tables show what was asked of it.

mod kubectl;
mod nodes;
mod pods;
mod request;

use std::io::{self, Write};

use self::kubectl::Lines;
use self::request::{Request, User};
use super::containers::{self, Restarts};
use super::identity::Epoch;
use super::pods::{NODES, PODS, READINESS, node_histories};
use crate::report::run_tables::RunTables;
use crate::report::tables::TableError;

const TAINTS: &[&str] = &["time_s", "node", "key", "value", "effect", "change", "by"];
const DISRUPTIONS: &[&str] = &["namespace", "name", "created_s", "by"];
const TRANSCRIPT: &[&str] = &["at_s", "done_s", "command", "stdout"];

/// Writes a line of JSON for each request that a table shows: of kubelets about their nodes and pods, of controllers that taint nodes, mark,
/// make and delete pods, of the scheduler, and of who types kubectl. The level is Metadata; what is posted or patched about nodes, bindings
/// and statuses is there as a policy of level Request keeps it.
///
/// # Errors
///
/// If a table is missing or damaged; within, if `out` cannot be written.
///
/// # Source
/// k8s.io/apiserver, audit: lines of the stage ResponseComplete. The bodies are those of the node lifecycle controller, of the taint eviction
/// controller, of kubelets and of kubectl.
///
/// # Differs
/// Of each request there is what tables know: no renewals of leases, no heartbeats that change nothing, no reads, no refusals, no writes of
/// workloads' statuses. A request takes no time.
pub(crate) fn write_audit_log(
    run: &RunTables,
    version: &str,
    epoch: Epoch,
    mut out: impl Write,
) -> Result<io::Result<()>, TableError> {
    let lines = Lines::new(run.read("transcript.jsonl", TRANSCRIPT)?);
    let nodes = node_histories(run.read("nodes.csv", NODES)?);
    let events = run.read("events.csv", containers::EVENTS)?;
    let restarts = Restarts::new(events, run.read("faults.csv", containers::FAULTS)?);
    let mut requests = nodes::requests(&nodes, events, run.read("taints.csv", TAINTS)?, &lines, epoch);
    let (pods, readiness) = (run.read("pods.csv", PODS)?, run.read("readiness.csv", READINESS)?);
    let disruptions = run.read("disruptions.csv", DISRUPTIONS)?;
    requests.extend(pods::requests(pods, readiness, disruptions, &restarts, &nodes, &lines, epoch));
    requests.extend(lines.requests(epoch));
    requests.sort_by_key(|request| request.at_ms);
    let version = format!("v{version}.0");
    let mut write = |(index, request): (usize, &Request<'_>)| {
        serde_json::to_writer(&mut out, &request.line(index, epoch, &version))?;
        out.write_all(b"\n")
    };
    let written = requests.iter().enumerate().try_for_each(&mut write);
    Ok(written.and_then(|()| out.flush()))
}

/// The user behind a component of the simulation.
fn user_of<'a>(component: &'a str, node: &'a str) -> User<'a> {
    match component {
        "kubectl" => User::Admin,
        "kubelet" => User::Kubelet(node),
        "default-scheduler" => User::Scheduler,
        "cloud-node-lifecycle-controller" => CLOUD,
        "node-controller" | "taint-eviction-controller" => User::Controller("node-controller"),
        other => User::Program("kube-system", other, other),
    }
}

/// The cloud's controllers.
const CLOUD: User<'static> = User::Program("kube-system", "cloud-controller-manager", "cloud-controller-manager");
