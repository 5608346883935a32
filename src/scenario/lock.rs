//! The lock file: a scenario with every default spelled out and every file inlined.

use serde_json::{Value, json};

use super::schema::API_VERSION;
use super::{NodePool, ResolvedScenario, TimelineAction};
use crate::component::Latencies;
use crate::kubectl;
use crate::model::yaml_text;
use crate::model::{NotModelled, Object};
use crate::observe::{MinReady, Objective};

/// The resolved scenario as a document that needs no other file and plays the same run.
///
/// The first document is the scenario; the manifests' objects stand behind it, as far as they are modelled.
#[must_use]
pub fn lock_file(scenario: &ResolvedScenario) -> String {
    let head = json!({
        "apiVersion": API_VERSION,
        "kind": "Scenario",
        "metadata": {"name": scenario.name},
        "spec": spec(scenario),
    });
    let mut text = String::from("# Made by kubesquall: the scenario as it was run, with every default spelled out.\n");
    text.push_str(&yaml_text::document(&head));
    let pool_node_count: usize = scenario.pools.iter().map(|pool| pool.count as usize).sum();
    // The nodes of the pools stand behind all others and come back from `nodePools`.
    let written = &scenario.objects[..scenario.objects.len() - pool_node_count];
    text.push_str(&yaml_text::documents(written.iter().map(|object| object.object.to_value())));
    text
}

fn spec(scenario: &ResolvedScenario) -> Value {
    let config = &scenario.config;
    let mut spec = json!({
        "duration": scenario.duration,
        "seed": scenario.seed,
        "cluster": {
            "nodePools": scenario.pools.iter().map(pool).collect::<Vec<_>>(),
            "bootstrap": scenario.bootstrap,
            // What was to be made anew stands among the objects.
            "missingOwners": "Leave",
        },
        "controlPlane": {
            "kubernetesVersion": config.version,
            "kubeApiserver": config.kube_apiserver.to_flags(),
            "kubeControllerManager": config.kube_controller_manager.to_flags(),
            "kubeScheduler": config.kube_scheduler,
            "kubelet": config.kubelet.to_configuration(),
        },
        "latency": latency(&config.latency),
        "timeline": scenario.timeline.iter().map(|(at, action)| entry(scenario, *at, *action)).collect::<Vec<_>>(),
        "faults": scenario.chaos.processes,
        "slo": scenario.objectives.iter().map(objective).collect::<Vec<_>>(),
        "expect": scenario.expectations.iter().map(|expectation| json!({
            "metric": expectation.metric,
            "op": expectation.comparison,
            "value": expectation.value,
        })).collect::<Vec<_>>(),
    });
    if scenario.allow_partial {
        spec["cluster"]["allowPartial"] = json!(true);
    }
    let fields = spec.as_object_mut().expect("a map was made above");
    if !scenario.procedures.workload_autoscalers.is_empty() {
        fields.insert("horizontalPodAutoscalers".to_owned(), json!(scenario.procedures.workload_autoscalers));
    }
    if let Some(repair) = &scenario.procedures.repair {
        fields.insert("nodeAutoRepair".to_owned(), json!(repair));
    }
    if let Some(autoscaler) = &scenario.procedures.autoscaler {
        let pools = autoscaler.groups.iter().map(|group| {
            json!({
                "name": scenario.pools[group.pool].name,
                "min": group.min,
                "max": group.max,
                "priority": group.priority,
            })
        });
        let written = json!({
            "pools": pools.collect::<Vec<_>>(),
            "provisioning": autoscaler.provisioning,
            "flags": autoscaler.flags.to_flags(),
        });
        fields.insert("clusterAutoscaler".to_owned(), written);
    }
    if !scenario.files.is_empty() {
        fields.insert("files".to_owned(), json!(scenario.files));
    }
    fields.insert("notModelled".to_owned(), scenario.not_modelled.iter().map(not_modelled).collect());
    fields.insert("assumed".to_owned(), json!(scenario.assumed));
    fields.insert("input".to_owned(), json!(scenario.input));
    spec
}

fn pool(pool: &NodePool) -> Value {
    let mut template = Object::from(pool.template.clone()).to_value();
    let fields = template.as_object_mut().expect("objects are maps");
    fields.remove("apiVersion");
    fields.remove("kind");
    json!({"name": pool.name, "count": pool.count, "zones": pool.zones, "template": template})
}

pub(super) fn latency(latencies: &Latencies) -> Value {
    let Latencies {
        pod_start,
        image_pull,
        pod_ready,
        job_run,
        pod_stop,
        node_boot,
        kubelet_reconnect,
        volume_attach,
        volume_detach,
        volume_provision,
        watch,
        api_call,
        kubectl_start,
    } = latencies;
    let mut fields = json!({
        "podStart": pod_start,
        "imagePull": image_pull,
        "podReady": pod_ready,
        "podStop": pod_stop,
        "nodeBoot": node_boot,
        "kubeletReconnect": kubelet_reconnect,
        "volumeAttach": volume_attach,
        "volumeDetach": volume_detach,
        "volumeProvision": volume_provision,
        "watch": watch,
        "apiCall": api_call,
        "kubectlStart": kubectl_start,
    });
    // Nothing is said where containers run until they are stopped.
    if let Some(job_run) = job_run {
        fields["jobRun"] = json!(job_run);
    }
    fields
}

fn entry(scenario: &ResolvedScenario, at: crate::units::SimTime, action: TimelineAction) -> Value {
    let at = at.saturating_since(crate::units::SimTime::ZERO);
    match action {
        TimelineAction::Fault(index) => {
            let (_, fault) = &scenario.chaos.faults[index];
            let mut written = json!(fault);
            // All nodes are meant by a target that says nothing, which has to be said.
            if fault.fault.target().has_nodes() && fault.nodes.is_everything() {
                written["nodes"] = json!({});
            }
            json!({"at": at, "fault": written})
        }
        TimelineAction::Kubectl(index) => {
            let line = &scenario.kubectl.lines[index];
            json!({"at": at, "kubectl": kubectl::in_place(&line.text, line.place)})
        }
        TimelineAction::AddNodes(index) => {
            let (_, pool, count) = scenario.chaos.add_nodes[index];
            json!({"at": at, "addNodes": {"pool": scenario.pools[pool].name, "count": count}})
        }
        TimelineAction::RollingUpgrade(index) => {
            let upgrade = &scenario.procedures.upgrades[index];
            let mut written = json!(upgrade);
            written["maxSurge"] = json!(upgrade.surge());
            json!({"at": at, "rollingUpgrade": written})
        }
        TimelineAction::RollingReboot(index) => {
            json!({"at": at, "rollingReboot": scenario.procedures.reboots[index]})
        }
    }
}

fn objective(objective: &Objective) -> Value {
    let min_ready = match objective.min_ready {
        MinReady::Count(count) => json!(count),
        MinReady::Percent(percent) => json!(format!("{percent}%")),
    };
    json!({"workload": objective.workload, "minReady": min_ready, "objective": objective.objective})
}

fn not_modelled(row: &NotModelled) -> Value {
    json!({
        "file": row.file,
        "line": row.line,
        "object": row.object,
        "path": row.path,
        "value": row.value_excerpt,
        "count": row.count,
    })
}
