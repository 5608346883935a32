//! The lock file: a scenario with every default spelled out and every file inlined.

use std::collections::BTreeMap;

use super::actions::{ActionEntry, Plans, TimelineAction, TimelineEntry};
use super::resolved::ResolvedScenario;
use super::schema::{
    API_VERSION, Amount, AutoscaledPoolEntry, Cluster, ClusterAutoscalerEntry, ControlPlane, ExpectEntry, Metadata,
    MissingOwners, NotModelledEntry, ScenarioDocument, Share, SloEntry, Spec,
};
use crate::model::{lock_text, yaml_text};
use crate::observe::MinReady;
use crate::procedures::cluster_autoscaler::AutoscalerPlan;
use crate::units::{IntOrPercent, SimTime};

/// The resolved scenario as a document that needs no other file and plays the same run.
///
/// The first document is the scenario; the manifests' objects stand behind it, as far as they are modelled.
#[must_use]
pub fn lock_file(scenario: &ResolvedScenario) -> String {
    let head = serde_json::to_value(document(scenario)).expect("a scenario is plain data");
    let mut text = String::from(lock_text::FIRST_LINE);
    text.push_str(&yaml_text::document(&head));
    let pool_node_count: usize = scenario.pools.iter().map(|pool| pool.count as usize).sum();
    // The nodes of the pools stand behind all others and come back from `nodePools`.
    let written = &scenario.objects[..scenario.objects.len() - pool_node_count];
    text.push_str(&yaml_text::documents(written.iter().map(|object| object.object.to_manifest())));
    text.push_str(lock_text::LAST_LINE);
    text
}

pub(super) fn document(scenario: &ResolvedScenario) -> ScenarioDocument {
    ScenarioDocument {
        api_version: API_VERSION.to_owned(),
        kind: "Scenario".to_owned(),
        metadata: Metadata { name: scenario.name.clone(), labels: BTreeMap::new(), annotations: BTreeMap::new() },
        spec: spec(scenario),
    }
}

fn spec(scenario: &ResolvedScenario) -> Spec {
    let procedures = &scenario.procedures;
    Spec {
        duration: scenario.duration,
        seed: scenario.seed,
        cluster: Cluster {
            manifests: Vec::new(),
            node_pools: scenario.pools.clone(),
            bootstrap: scenario.bootstrap,
            allow_partial: scenario.allow_partial,
            // What was to be made anew stands among the objects.
            missing_owners: MissingOwners::Leave,
        },
        control_plane: control_plane(scenario),
        latency: scenario.config.latency.written(),
        timeline: scenario.timeline.iter().map(|(at, action)| entry(scenario, *at, *action)).collect(),
        faults: scenario.chaos.processes.clone(),
        cluster_autoscaler: procedures.autoscaler.as_ref().map(|plan| autoscaler(scenario, plan)),
        node_auto_repair: procedures.repair.clone(),
        horizontal_pod_autoscalers: procedures.workload_autoscalers.clone(),
        slo: objectives(scenario),
        expect: expectations(scenario),
        files: scenario.files.clone(),
        not_modelled: Some(scenario.not_modelled.iter().map(NotModelledEntry::from).collect()),
        assumed: Some(scenario.assumed.clone()),
        input: Some(scenario.input.clone()),
    }
}

fn control_plane(scenario: &ResolvedScenario) -> ControlPlane {
    let config = &scenario.config;
    ControlPlane {
        kubernetes_version: config.version,
        kube_apiserver: config.kube_apiserver.to_flags(),
        kube_controller_manager: config.kube_controller_manager.to_flags(),
        kube_scheduler: config.kube_scheduler.clone(),
        kubelet: config.kubelet.to_configuration(config.version),
    }
}

fn entry(scenario: &ResolvedScenario, at: SimTime, action: TimelineAction) -> TimelineEntry {
    let ResolvedScenario { chaos, kubectl, procedures, requests, .. } = scenario;
    let action = ActionEntry::written(action, Plans { chaos, runbook: kubectl, procedures, requests });
    TimelineEntry { at: at.saturating_since(SimTime::ZERO), actions: vec![action] }
}

fn autoscaler(scenario: &ResolvedScenario, plan: &AutoscalerPlan) -> ClusterAutoscalerEntry {
    let pools = plan.groups.iter().map(|group| AutoscaledPoolEntry {
        name: scenario.pools[group.pool].name,
        min: group.min,
        max: group.max,
        priority: group.priority,
    });
    ClusterAutoscalerEntry {
        pools: pools.collect(),
        provisioning: Some(plan.provisioning.clone()),
        flags: plan.flags.to_flags(),
    }
}

fn objectives(scenario: &ResolvedScenario) -> Vec<SloEntry> {
    let objectives = scenario.objectives.iter().map(|objective| SloEntry {
        workload: objective.workload.clone(),
        min_ready: match objective.min_ready {
            MinReady::Count(count) => IntOrPercent::Int(count),
            MinReady::Percent(percent) => IntOrPercent::Percent(percent),
        },
        objective: Share(objective.objective),
    });
    objectives.collect()
}

fn expectations(scenario: &ResolvedScenario) -> Vec<ExpectEntry> {
    let expectations = scenario.expectations.iter().map(|expectation| ExpectEntry {
        metric: expectation.metric.clone(),
        op: expectation.comparison,
        value: Amount::from(expectation.value),
    });
    expectations.collect()
}
