//! What a cluster takes for granted, as its objects and its scenario do not say it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::assumption::Assumption;
use super::schema::{Bootstrap, SETTLE_FOR, Spec};
use super::workloads::pod_template;
use crate::arena::Symbol;
use crate::component::Latencies;
use crate::engine::Distribution;
use crate::kubectl::{Command, DryRun, Runbook, RunbookLine};
use crate::model::{
    Behavior, Container, HorizontalPodAutoscaler, ManifestObject, MetricSpec, Object, PodSpec, READY, RUN_FOR,
    ResourceRequirements, RestartPolicy, requests, zone_of,
};
use crate::units::{SimDuration, length};

/// What a run of these objects takes for granted, in the order in which it is likely to matter.
pub(super) fn of(spec: &Spec, played: &Latencies, objects: &[ManifestObject], runbook: &Runbook) -> Vec<Assumption> {
    let all = [
        pod_requests(objects),
        node_capacity(objects),
        zones(objects),
        node_conditions(objects),
        node_ages(objects),
        job_lengths(spec, objects, runbook),
        cron_jobs(spec, objects),
        claims(objects),
        probes(objects),
        liveness(objects),
        gates(objects),
        ready_times(spec, objects),
        foreign_owners(objects),
        runtime_classes(objects),
        autoscalers(spec, objects),
        autoscaler_requests(spec, objects),
        start_times(objects),
        latencies(spec, played),
    ];
    all.into_iter().flatten().collect()
}

/// The specifications of pods that are written: of workloads, and of pods without one that is written.
fn pod_specs(objects: &[ManifestObject]) -> impl Iterator<Item = (&Object, &PodSpec)> {
    placed_pod_specs(objects).map(|(object, spec)| (&object.object, spec))
}

/// The same, each with the place of its object.
pub(super) fn placed_pod_specs(objects: &[ManifestObject]) -> impl Iterator<Item = (&ManifestObject, &PodSpec)> {
    let workloads: BTreeSet<(&str, Symbol, Symbol)> = objects
        .iter()
        .filter(|object| pod_template(&object.object).is_some())
        .map(|object| {
            let metadata = object.object.metadata();
            (object.object.kind().as_str(), metadata.namespace, metadata.name)
        })
        .collect();
    objects.iter().filter_map(move |object| {
        let metadata = object.object.metadata();
        let owner = metadata.controller();
        let is_owned =
            owner.is_some_and(|owner| workloads.contains(&(owner.kind.as_str(), metadata.namespace, owner.name)));
        match &object.object {
            _ if is_owned => None,
            Object::Pod(pod) if pod.status.phase.is_terminal() => None,
            Object::Pod(pod) => Some((object, &pod.spec)),
            other => Some((object, &pod_template(other)?.spec)),
        }
    })
}

/// Whether a limit range of the namespace gives containers a request of that resource.
fn is_given(objects: &[ManifestObject], namespace: Symbol, resource: Symbol) -> bool {
    let mut ranges = objects.iter().filter_map(|object| match &object.object {
        Object::LimitRange(range) if range.metadata.namespace == namespace => Some(&range.spec.limits),
        _ => None,
    });
    ranges.any(|limits| {
        let mut containers = limits.iter().filter(|item| item.limit_type == "Container");
        containers.any(|item| item.default_request.contains(resource))
    })
}

fn pod_requests(objects: &[ManifestObject]) -> Option<Assumption> {
    // What a limit range gives is no assumption.
    let given = |namespace: Symbol, name: &str| is_given(objects, namespace, Symbol::new(name));
    let silent = pod_specs(objects).filter(|(object, spec)| {
        let (total, namespace) = (requests(spec), object.metadata().namespace);
        (total.cpu_milli == 0 && !given(namespace, "cpu")) || (total.memory == 0 && !given(namespace, "memory"))
    });
    let assumption = Assumption::new(
        "podRequests",
        "pods without a request for CPU or memory take none of it",
        "the scheduler puts any number of them on a node, so that room for them is never short",
        "resources.requests of their containers",
    );
    assumption.about_any(silent.map(|(object, _)| object.label()))
}

fn node_capacity(objects: &[ManifestObject]) -> Option<Assumption> {
    let bare = nodes(objects).filter(|node| node.status.capacity.is_empty() && node.status.allocatable.is_empty());
    let assumption = Assumption::new(
        "nodeCapacity",
        "nodes that say neither capacity nor allocatable have nothing to give",
        "no pod fits on them",
        "status.allocatable of the Node",
    );
    assumption.about_any(bare.map(|node| format!("Node {}", node.metadata.name)))
}

fn nodes(objects: &[ManifestObject]) -> impl Iterator<Item = &crate::model::Node> {
    objects.iter().filter_map(|object| match &object.object {
        Object::Node(node) => Some(&**node),
        _ => None,
    })
}

fn zones(objects: &[ManifestObject]) -> Option<Assumption> {
    let bare = nodes(objects).filter(|node| zone_of(&node.metadata.labels).is_none());
    let assumption = Assumption::new(
        "zones",
        "nodes without a zone label are in one zone together",
        "the loss of a zone, the rate of evictions in a zone, and spreading over zones",
        "the label topology.kubernetes.io/zone of the Node, or zones of the node pool",
    );
    assumption.about_any(bare.map(|node| format!("Node {}", node.metadata.name)))
}

fn cron_jobs(spec: &Spec, objects: &[ManifestObject]) -> Option<Assumption> {
    let silent = objects.iter().filter(|object| {
        let Object::CronJob(cron_job) = &object.object else { return false };
        cron_job.is_without_past() && cron_job.spec.suspend != Some(true)
    });
    let assumption = Assumption::new(
        "cronJobs",
        "CronJobs that do not say when they last ran have run at all of their times before t=0",
        "which Jobs begin at t=0, as their CronJob has missed a time",
        "status.lastScheduleTime of the CronJob; metadata.creationTimestamp of one that never ran",
    );
    let is_settled = spec.cluster.bootstrap == Bootstrap::Settled;
    assumption.about_any(silent.filter(|_| is_settled).map(|object| object.object.label()))
}

fn node_conditions(objects: &[ManifestObject]) -> Option<Assumption> {
    // Nodes of pools are made Ready on purpose; they have no time stamps either.
    let is_of_cluster = |node: &&crate::model::Node| node.metadata.uid.is_some();
    let bare = nodes(objects).filter(is_of_cluster).filter(|node| node.status.conditions.is_empty());
    let assumption = Assumption::new(
        "nodeConditions",
        "nodes without conditions are Ready",
        "what is lost from the start",
        "status.conditions of the Node",
    );
    assumption.about_any(bare.map(|node| format!("Node {}", node.metadata.name)))
}

fn node_ages(objects: &[ManifestObject]) -> Option<Assumption> {
    // Those of pools are as old on purpose.
    let is_of_cluster = |node: &&crate::model::Node| node.metadata.uid.is_some();
    let undated = nodes(objects).filter(is_of_cluster).filter(|node| node.metadata.creation_timestamp.is_none());
    let assumption = Assumption::new(
        "nodeAges",
        format!("nodes that do not say when they were created are {} old at t=0", length(SETTLE_FOR.as_secs_f64())),
        "the age that kubectl shows, and how far apart nodes are in which second they renew their leases",
        "metadata.creationTimestamp of the Node",
    );
    assumption.about_any(undated.map(|node| format!("Node {}", node.metadata.name)))
}

/// What makes pods that are to end, and does not say when: objects of the input, and of the lines of the timeline.
fn job_lengths(spec: &Spec, objects: &[ManifestObject], runbook: &Runbook) -> Option<Assumption> {
    let run_for = Symbol::new(RUN_FOR);
    let is_endless = |object: &&Object| {
        let is_to_end = match object {
            Object::Job(job) => spec.latency.job_run.is_none() && !job.status.is_finished(),
            Object::CronJob(_) => spec.latency.job_run.is_none(),
            Object::Pod(pod) => {
                pod.metadata.owner_references.is_empty()
                    && pod.spec.restart_policy != RestartPolicy::Always
                    && !pod.status.phase.is_terminal()
            }
            _ => false,
        };
        is_to_end && !annotations(object).contains_key(&run_for)
    };
    let makes =
        |line: &&Arc<RunbookLine>| line.printing.dry_run == DryRun::None && !matches!(line.command, Command::Delete(_));
    let made = runbook.lines.iter().filter(makes);
    let made = made.flat_map(|line| line.command.made().into_iter().chain(line.objects.iter().map(|w| &w.object)));
    let endless = objects.iter().map(|object| &object.object).chain(made).filter(is_endless);
    // An object that is applied again is one object.
    let endless: Vec<String> = endless.map(Object::label).collect();
    let mut seen = BTreeSet::new();
    let endless = endless.into_iter().filter(|label| seen.insert(label.clone()));
    let assumption = Assumption::new(
        "jobLengths",
        "Jobs, and pods that are not restarted, never end unless they say how long they run",
        "Jobs do not complete, and hold their room",
        "latency.jobRun for all Jobs, or the annotation kubesquall.sim/run-for of the pod template",
    );
    assumption.about_any(endless)
}

fn claims(objects: &[ManifestObject]) -> Option<Assumption> {
    if objects.iter().any(|object| matches!(object.object, Object::StorageClass(_) | Object::PersistentVolume(_))) {
        return None;
    }
    let uses_claims = |object: &Object, spec: &PodSpec| {
        spec.volumes.iter().any(|volume| volume.persistent_volume_claim.is_some())
            || matches!(object, Object::StatefulSet(set) if !set.spec.volume_claim_templates.is_empty())
    };
    let users = pod_specs(objects).filter(|(object, spec)| uses_claims(object, spec));
    let assumption = Assumption::new(
        "volumes",
        "claims are met by volumes that every node reaches at once",
        "no pod waits for its volume, neither for its zone nor for its detachment",
        "StorageClasses, PersistentVolumes and PersistentVolumeClaims among the manifests",
    );
    assumption.about_any(users.map(|(object, _)| object.label()))
}

fn probes(objects: &[ManifestObject]) -> Option<Assumption> {
    let probed = pod_specs(objects)
        .filter(|(_, spec)| spec.containers.iter().any(|container| container.readiness_probe.is_some()));
    let assumption = Assumption::new(
        "probes",
        "containers that run pass their probes at the first try",
        "how soon pods are Ready after their start",
        "the annotation kubesquall.sim/ready of the pod template",
    );
    assumption.about_any(probed.map(|(object, _)| object.label()))
}

/// Applications that come up later than their liveness probes have patience, if these ask what the readiness probes ask.
fn liveness(objects: &[ManifestObject]) -> Option<Assumption> {
    let seconds = |count: i32| SimDuration::from_secs(count.max(0).unsigned_abs().into());
    let is_patient = |container: &Container, ready: &Distribution| {
        let Some(probe) = container.liveness_probe.as_ref().filter(|_| container.startup_probe.is_none()) else {
            return true;
        };
        let period = seconds(probe.period_seconds.unwrap_or(10).max(1));
        let failures = u64::from(probe.failure_threshold.unwrap_or(3).max(1).unsigned_abs());
        ready.quantile(0.5) <= seconds(probe.initial_delay_seconds) + period * failures
    };
    let is_killed = |object: &Object, spec: &PodSpec| {
        let ready = Behavior::of(annotations(object)).ready;
        ready.is_some_and(|ready| spec.containers.iter().any(|container| !is_patient(container, &ready)))
    };
    let late = pod_specs(objects).filter(|(object, spec)| is_killed(object, spec));
    let assumption = Assumption::new(
        "livenessProbes",
        "liveness probes are answered before the application is",
        "whether pods come up at all: one that asks what is not up yet kills its container again and again",
        "a startup probe, which waits for kubesquall.sim/ready; or initialDelaySeconds",
    );
    assumption.about_any(late.map(|(object, _)| object.label()))
}

/// The annotations with which a workload's pods are made, or which a pod has.
fn annotations(object: &Object) -> &BTreeMap<Symbol, Symbol> {
    pod_template(object).map_or(&object.metadata().annotations, |template| &template.metadata.annotations)
}

fn gates(objects: &[ManifestObject]) -> Option<Assumption> {
    let is_open = |object: &Object, spec: &PodSpec| {
        spec.readiness_gates
            .iter()
            .any(|gate| !annotations(object).contains_key(&Behavior::gate_annotation(gate.condition_type.as_str())))
    };
    let gated = pod_specs(objects).filter(|(object, spec)| is_open(object, spec));
    let assumption = Assumption::new(
        "readinessGates",
        "readiness gates are met as soon as the containers run, unless pods of a dump show that nobody writes their conditions",
        "how soon pods are Ready after their start; pods behind a cloud's load balancer wait for it",
        "the annotation kubesquall.sim/gate-CONDITION of the pod template",
    );
    assumption.about_any(gated.map(|(object, _)| object.label()))
}

/// Workloads to whose pods `latency.podReady` says nothing, as their readiness probes decide; and how many others there are.
pub(super) fn timed_by_probes(objects: &[ManifestObject]) -> (Vec<&Object>, usize) {
    let ready = Symbol::new(READY);
    let is_timed = |object: &Object, spec: &PodSpec| {
        let is_probed = spec.containers.iter().any(|container| container.readiness_probe.is_some());
        is_probed && !annotations(object).contains_key(&ready)
    };
    let (timed, others): (Vec<_>, Vec<_>) = pod_specs(objects).partition(|(object, spec)| is_timed(object, spec));
    (timed.into_iter().map(|(object, _)| object).collect(), others.len())
}

fn ready_times(spec: &Spec, objects: &[ManifestObject]) -> Option<Assumption> {
    spec.latency.pod_ready.as_ref()?;
    let assumption = Assumption::new(
        "podReady",
        "latency.podReady does not apply to pods with a readiness probe",
        "how soon they are Ready after their start: at the first run of the probe, whatever latency.podReady says",
        "the annotation kubesquall.sim/ready of the pod template",
    );
    let (timed, _) = timed_by_probes(objects);
    assumption.about_any(timed.into_iter().map(Object::label))
}

/// Autoscalers of which a metric is told by nobody: neither a load nor an annotation of the pods says what these use.
fn autoscalers(spec: &Spec, objects: &[ManifestObject]) -> Option<Assumption> {
    let is_loaded = |object: &HorizontalPodAutoscaler| {
        let target = &object.spec.scale_target_ref;
        let namespace = object.metadata.namespace;
        spec.horizontal_pod_autoscalers
            .iter()
            .filter_map(|load| load.target_parts())
            .any(|(kind, place, name)| target.kind == kind.as_str() && namespace == place && target.name == name)
    };
    let usage = |object: &HorizontalPodAutoscaler| {
        let target = &object.spec.scale_target_ref;
        let is_it = |other: &&ManifestObject| {
            let metadata = other.object.metadata();
            target.kind == other.object.kind().as_str()
                && (metadata.namespace, metadata.name) == (object.metadata.namespace, target.name)
        };
        let template = objects.iter().find(is_it).and_then(|target| pod_template(&target.object))?;
        Behavior::of(&template.metadata.annotations).usage
    };
    let is_blind = |object: &HorizontalPodAutoscaler| {
        let (is_loaded, usage) = (is_loaded(object), usage(object).unwrap_or_default());
        let mut with_defaults = object.clone();
        with_defaults.apply_defaults();
        let is_known = |metric: &MetricSpec| {
            let source = metric.resource.as_ref().or(metric.container_resource.as_ref());
            let name = source.map_or("", |source| source.name.as_str());
            (name == "cpu" && is_loaded) || usage.of(name).is_some()
        };
        !with_defaults.spec.metrics.iter().all(is_known)
    };
    let blind = objects
        .iter()
        .filter(|object| matches!(&object.object, Object::HorizontalPodAutoscaler(object) if is_blind(object)));
    let assumption = Assumption::new(
        "autoscalerMetrics",
        "autoscalers of whose metrics nothing is known hold their workloads between their bounds, and otherwise as they are",
        "how many replicas follow the load",
        "horizontalPodAutoscalers with the load, or the annotation kubesquall.sim/usage on the pods",
    );
    assumption.about_any(blind.map(|object| object.object.label()))
}

/// Workloads that are to be scaled by a part of what their pods request, and whose pods do not request it.
fn autoscaler_requests(spec: &Spec, objects: &[ManifestObject]) -> Option<Assumption> {
    let lacks = |pod: &PodSpec, resource: Symbol, container: Symbol| {
        let says = |resources: &ResourceRequirements| {
            // A limit is the request of who names none.
            resources.requests.get(resource).or_else(|| resources.limits.get(resource)).is_some()
        };
        let whole = pod.resources.as_ref().filter(|_| container.is_empty());
        match whole.filter(|whole| whole.requests != Default::default() || whole.limits != Default::default()) {
            Some(whole) => !says(whole),
            None => {
                let meant = pod.containers.iter().filter(|one| container.is_empty() || one.name == container);
                meant.into_iter().any(|one| !says(&one.resources))
            }
        }
    };
    let target = |kind: Symbol, namespace: Symbol, name: Symbol| {
        objects.iter().map(|object| &object.object).find(|object| {
            let metadata = object.metadata();
            kind == object.kind().as_str() && (metadata.namespace, metadata.name) == (namespace, name)
        })
    };
    let mut found = BTreeSet::new();
    for load in &spec.horizontal_pod_autoscalers {
        let target =
            load.target_parts().and_then(|(kind, place, name)| target(Symbol::new(kind.as_str()), place, name));
        if let Some(object) = target
            && pod_template(object).is_some_and(|pod| lacks(&pod.spec, Symbol::new("cpu"), Symbol::empty()))
            && !is_given(objects, object.metadata().namespace, Symbol::new("cpu"))
        {
            found.insert(object.label());
        }
    }
    for object in objects {
        let Object::HorizontalPodAutoscaler(autoscaler) = &object.object else { continue };
        let reference = &autoscaler.spec.scale_target_ref;
        let target = target(reference.kind, autoscaler.metadata.namespace, reference.name);
        let Some((object, pod)) = target.and_then(|object| Some((object, pod_template(object)?))) else { continue };
        let mut with_defaults = autoscaler.clone();
        with_defaults.apply_defaults();
        let is_unrequested = |metric: &MetricSpec| {
            let source = metric.resource.as_ref().or(metric.container_resource.as_ref());
            let source = source.filter(|source| source.target.average_utilization.is_some());
            source.is_some_and(|source| {
                lacks(&pod.spec, source.name, source.container)
                    && !is_given(objects, autoscaler.metadata.namespace, source.name)
            })
        };
        if with_defaults.spec.metrics.iter().any(is_unrequested) {
            found.insert(object.label());
        }
    }
    let assumption = Assumption::new(
        "autoscalerRequests",
        "autoscalers get no utilization of pods that do not request what it is a part of (FailedGetResourceMetric, missing request), \
         and do not scale by it",
        "that no load changes how many replicas there are",
        "resources.requests of the containers of their pods",
    );
    assumption.about_any(found)
}

fn runtime_classes(objects: &[ManifestObject]) -> Option<Assumption> {
    let is_there = |name: Symbol| {
        let mut classes = objects.iter().map(|object| &object.object).filter(|o| matches!(o, Object::RuntimeClass(_)));
        classes.any(|class| class.metadata().name == name)
    };
    // The pods of a dump have been given what their class adds.
    let is_open =
        |spec: &PodSpec| spec.overhead.is_empty() && spec.runtime_class_name.is_some_and(|name| !is_there(name));
    let open = pod_specs(objects).filter(|(_, spec)| is_open(spec));
    let assumption = Assumption::new(
        "runtimeClasses",
        "runtime classes that the input lacks are there and add nothing to their pods",
        "how much room such pods take, and on which nodes they can run",
        "the RuntimeClasses among the manifests",
    );
    assumption.about_any(open.map(|(object, _)| object.label()))
}

/// Owners that pods name and that nobody plays: kinds that are not modelled, Indexed Jobs that the input lacks, and those of
/// which the input has only another with the same name.
fn foreign_owners(objects: &[ManifestObject]) -> Option<Assumption> {
    let present: BTreeMap<(Symbol, &str, Symbol), Option<Symbol>> = objects
        .iter()
        .map(|object| {
            let metadata = object.object.metadata();
            ((metadata.namespace, object.object.kind().as_str(), metadata.name), metadata.uid)
        })
        .collect();
    let mut owners: Vec<String> = Vec::new();
    for object in objects {
        let Object::Pod(pod) = &object.object else { continue };
        let is_over = pod.status.phase.is_terminal() || pod.metadata.deletion_timestamp.is_some();
        let Some(owner) = pod.metadata.controller().filter(|owner| owner.kind != "Node" && !is_over) else { continue };
        let namespace = pod.metadata.namespace;
        let is_it =
            |uid: &Option<Symbol>| uid.is_none_or(|uid| uid.is_empty() || owner.uid.is_empty() || uid == owner.uid);
        if present.get(&(namespace, owner.kind.as_str(), owner.name)).is_some_and(is_it) {
            continue;
        }
        let label = format!("{} {namespace}/{}", owner.kind, owner.name);
        if !owners.contains(&label) {
            owners.push(label);
        }
    }
    let assumption = Assumption::new(
        "foreignOwners",
        "owners that are not modelled, or not in the input, do not replace their pods",
        "pods that they lose are lost for good",
        "owners among the manifests, of a kind that is modelled",
    );
    assumption.about_any(owners)
}

fn start_times(objects: &[ManifestObject]) -> Option<Assumption> {
    let undated = objects.iter().filter(|object| match &object.object {
        Object::Pod(pod) => pod.spec.node_name.is_some() && pod.status.start_time.is_none(),
        _ => false,
    });
    let assumption = Assumption::new(
        "startTimes",
        "bound pods without a start time have run for hours",
        "which of several pods preemption and scaling down take first",
        "status.startTime of the Pod",
    );
    assumption.about_any(undated.map(|object| object.object.label()))
}

fn latencies(spec: &Spec, latencies: &Latencies) -> Option<Assumption> {
    let written = serde_json::to_value(&spec.latency).expect("a scenario is plain data");
    let played = serde_json::to_value(latencies.written()).expect("a scenario is plain data");
    let fields = played.as_object().into_iter().flatten();
    let silent = fields.filter(|(name, _)| written.get(name.as_str()).is_none());
    let defaults: Vec<String> = silent.map(|(name, value)| format!("{name} {}", in_words(value))).collect();
    if defaults.is_empty() {
        return None;
    }
    Some(Assumption::new(
        "latencies",
        format!("latencies as by default: {}", defaults.join(", ")),
        "how long replacements take to be Ready, and what happens in the meantime",
        "spec.latency of the scenario",
    ))
}

/// A distribution in a few words: `1s`, `lognormal(median 1.1s, p99 3.5s)`.
fn in_words(distribution: &serde_json::Value) -> String {
    use serde_json::Value;
    let Some((kind, value)) = distribution.as_object().and_then(|fields| fields.iter().next()) else {
        return distribution.as_str().map_or_else(|| distribution.to_string(), str::to_owned);
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name} {}", text(value))).collect();
            format!("{kind}({})", fields.join(", "))
        }
        value => text(value),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::scenario::{Overrides, load_text, lock_file};

    fn scenario(spec: &str, objects: &str) -> String {
        format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: x}}\n\
             spec: {{duration: 1m, {spec}, cluster: {{nodePools: [{{name: n, count: 2, zones: [a], template: \
             {{status: {{allocatable: {{cpu: \"1\", memory: 1Gi, pods: \"9\"}}}}}}}}]}}}}\n{objects}"
        )
    }

    fn pod(name: &str, spec: &str, requests: &str) -> String {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n\
             spec: {{{spec}containers: [{{name: c, image: i, resources: {{requests: {requests}}}}}]}}\n"
        )
    }

    #[test]
    fn what_the_input_does_not_say_is_listed() {
        #[track_caller]
        fn check(spec: &str, objects: &str, expected: &[(&str, usize)]) {
            let loaded = load_text("x.yaml", &scenario(spec, objects), Path::new(""), &Overrides::none()).unwrap();
            let found: Vec<(&str, usize)> = loaded.assumed.iter().map(|a| (a.name.as_str(), a.count)).collect();
            assert_eq!(found, expected, "{objects}");
            let locked = load_text("lock.yaml", &lock_file(&loaded), Path::new(""), &Overrides::none()).unwrap();
            assert_eq!(locked.assumed, loaded.assumed, "a lock file says the same");
            assert_eq!(locked.input, loaded.input);
        }
        let all = "latency: {podStart: 1s, imagePull: 0s, podReady: 0s, podStop: 1s, nodeBoot: 9s, kubeletReconnect: 1s, \
                   volumeAttach: 1s, volumeDetach: 1s, volumeProvision: 1s, watch: 1ms, apiCall: 9ms, \
                   kubectlStart: 60ms}";
        let enough = "{cpu: 1m, memory: 1Mi}";
        check(all, &pod("a", "", enough), &[]);
        check("seed: 1", &pod("a", "", enough), &[("latencies", 0)]);
        check(all, &(pod("a", "", "{cpu: 1m}") + &pod("b", "", "{}") + &pod("c", "", enough)), &[("podRequests", 2)]);
        let claim = "volumes: [{name: v, persistentVolumeClaim: {claimName: x}}], ";
        check(all, &pod("a", claim, enough), &[("volumes", 1)]);
        check(all, &pod("a", "nodeName: n-0, ", enough), &[("startTimes", 1)]);
        check(all, &pod("a", "readinessGates: [{conditionType: example.com/lb}], ", enough), &[("readinessGates", 1)]);
        let class = "---\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\n";
        let sandboxed = pod("a", "runtimeClassName: kata, ", enough);
        check(all, &sandboxed, &[("runtimeClasses", 1)]);
        check(all, &(sandboxed + class), &[]);
        let web = |requests: &str| {
            format!(
                "---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: w, namespace: default}}, spec: {{selector: {{matchLabels: \
                 {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}, annotations: {{kubesquall.sim/usage: '{{cpu: 1m}}'}}}}, spec: \
                 {{containers: [{{name: c, image: i, resources: {requests}}}]}}}}}}}}\n"
            )
        };
        let scaled = "---\n{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: w, namespace: default}, spec: \
                      {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: w}}}\n";
        let memory_only = "{requests: {memory: 1Mi}}";
        check(all, &(web(memory_only) + scaled), &[("podRequests", 1), ("autoscalerRequests", 1)]);
        check(all, &(web("{requests: {memory: 1Mi, cpu: 1m}}") + scaled), &[]);
        let load = format!(
            "{all}, horizontalPodAutoscalers: [{{target: deployment/default/w, perReplica: 1, load: [{{at: 0s, load: 1}}]}}]"
        );
        check(&load, &(web(memory_only) + scaled), &[("podRequests", 1), ("autoscalerRequests", 1)]);
        let range = "---\n{apiVersion: v1, kind: LimitRange, metadata: {name: r, namespace: default}, spec: {limits: [{type: \
                     Container, defaultRequest: {cpu: 1m}}]}}\n";
        check(all, &(web(memory_only) + scaled + range), &[]);
        check(&load, &(web(memory_only) + scaled + range), &[]);
        let said =
            pod("a, annotations: {kubesquall.sim/gate-lb: 9s}", "readinessGates: [{conditionType: x.io/lb}], ", enough);
        check(all, &said, &[]);
        let owned = "ownerReferences: [{apiVersion: example.com/v1, kind: Rollout, name: r, uid: u, controller: true}]";
        check(all, &pod(&format!("a, {owned}"), "", enough), &[("foreignOwners", 1)]);
        let node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: m}\nstatus: {capacity: {cpu: 1, memory: 1Gi}}\n";
        check(all, node, &[("zones", 1)]);
        let dumped = |created: &str| {
            let metadata = format!("name: m, uid: u{created}, labels: {{topology.kubernetes.io/zone: a}}");
            let conditions = "1Gi}, conditions: [{type: Ready, status: 'True'}]}";
            node.replace("name: m", &metadata).replace("1Gi}}", conditions)
        };
        check(all, &dumped(""), &[("nodeAges", 1)]);
        check(all, &dumped(", creationTimestamp: '2026-01-01T00:00:00Z'"), &[]);
        let job = |more: &str| {
            format!(
                "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: j}}\nspec: {{template: {{metadata: {{{more}}}, spec: \
                 {{restartPolicy: Never, containers: [{{name: c, image: i, resources: {{requests: {enough}}}}}]}}}}}}\n"
            )
        };
        check(all, &job(""), &[("jobLengths", 1)]);
        check(all, &job("annotations: {kubesquall.sim/run-for: 3s}"), &[]);
        check(&all.replace("podStop", "jobRun: 3s, podStop"), &job(""), &[]);
        check(all, &pod("a", "restartPolicy: OnFailure, ", enough), &[("jobLengths", 1)]);
    }

    #[test]
    fn applications_that_a_liveness_probe_would_not_wait_for_are_said() {
        let check = |ready: &str, probes: &str, is_said: bool| {
            let pod = format!(
                "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: a, annotations: {{kubesquall.sim/ready: {ready}}}}}\n\
                 spec: {{containers: [{{name: c, image: i, {probes}}}]}}\n"
            );
            let loaded = load_text("x.yaml", &scenario("seed: 1", &pod), Path::new(""), &Overrides::none()).unwrap();
            let found = loaded.assumed.iter().any(|assumption| assumption.name == "livenessProbes");
            assert_eq!(found, is_said, "{ready} {probes}");
        };
        check("60s", "livenessProbe: {tcpSocket: {port: 1}}", true);
        check("30s", "livenessProbe: {tcpSocket: {port: 1}}", false);
        check("60s", "livenessProbe: {tcpSocket: {port: 1}, initialDelaySeconds: 30}", false);
        check("60s", "livenessProbe: {tcpSocket: {port: 1}}, startupProbe: {tcpSocket: {port: 1}}", false);
        check("60s", "readinessProbe: {tcpSocket: {port: 1}}", false);
    }

    #[test]
    fn jobs_that_lines_make_are_said_like_those_of_the_input() {
        let check = |lines: &str, expected: &[&str]| {
            let spec = format!("timeline: [{{at: 1s, kubectl: {lines:?}}}]");
            let loaded = load_text("x.yaml", &scenario(&spec, ""), Path::new(""), &Overrides::none()).unwrap();
            let lengths = loaded.assumed.iter().find(|assumption| assumption.name == "jobLengths");
            assert_eq!(lengths.map_or(&[][..], |lengths| &lengths.objects), expected, "{lines}");
        };
        check("create job a --image=i", &["Job default/a"]);
        check("create job a --image=i --dry-run=client", &[]);
        check(
            "create cronjob a --image=i --schedule='* * * * *'\ncreate job b --from=cronjob/a",
            &["CronJob default/a"],
        );
        check("run a --image=i --restart=Never", &["Pod default/a"]);
        check("run a --image=i --restart=Never --annotations=kubesquall.sim/run-for=3s", &[]);
        check("run a --image=i", &[]);
        let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {restartPolicy: Never, \
                   containers: [{name: c, image: i}]}}}}";
        let text = |verb: &str| format!("{verb} -f - <<< '{job}'");
        check(&format!("{}\n{}", text("apply"), text("apply")), &["Job default/a"]);
        check(&text("delete"), &[]);
    }

    #[test]
    fn default_latencies_are_said_in_words() {
        let text = scenario("latency: {podStart: 1s}", "");
        let loaded = load_text("x.yaml", &text, Path::new(""), &Overrides::none()).unwrap();
        let said = &loaded.assumed[0].text;
        assert!(said.contains("kubeletReconnect uniform(max 1m0s, min 0s)"), "{said}");
        assert!(said.contains("nodeBoot 1m30s") && !said.contains("podStart"), "{said}");
    }
}
