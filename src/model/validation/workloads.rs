//! Workloads of pods that are to run for ever.

use super::error::{Errors, Json};
use super::format;
use super::path::Path;
use super::{claim, pod, selector};
use crate::model::{
    DaemonSet, DaemonSetUpdateStrategyType, Deployment, DeploymentStrategyType, PodTemplateSpec, ReplicaSet,
    ReplicationController, RestartPolicy, StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategyType,
};
use crate::units::IntOrPercent;

const SPEC: Path<'static> = Path::ROOT.child("spec");

/// A template whose pods are always restarted; `kind` is how the server calls the workload.
///
/// # Source
///
/// kube-apiserver, `ValidatePodTemplateSpecForReplicaSet` and its likes.
fn template(template: &PodTemplateSpec, claims: Vec<&str>, kind: &str, e: &mut Errors) {
    let path = SPEC.child("template");
    pod::template(template, claims, &path, e);
    let spec = path.child("spec");
    if template.spec.restart_policy != RestartPolicy::Always {
        e.not_supported(&spec.child("restartPolicy"), template.spec.restart_policy.as_str(), &["Always"]);
    }
    if template.spec.active_deadline_seconds.is_some() {
        let detail = std::format!("activeDeadlineSeconds in {kind} is not Supported");
        e.forbidden(&spec.child("activeDeadlineSeconds"), detail);
    }
}

/// # Source
///
/// kube-apiserver, `ValidatePositiveIntOrPercent` and `IsNotMoreThan100Percent`.
pub(super) fn int_or_percent(value: IntOrPercent, path: &Path<'_>, e: &mut Errors) {
    match value {
        IntOrPercent::Int(count) => e.non_negative(path, count),
        IntOrPercent::Percent(percent) if percent < 0 => {
            let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                          '93%', regex used for validation is '[0-9]+%')";
            e.invalid(path, &Json(&value), detail);
        }
        IntOrPercent::Percent(_) => {}
    }
}

pub(super) fn not_more_than_all(value: IntOrPercent, path: &Path<'_>, e: &mut Errors) {
    if matches!(value, IntOrPercent::Percent(percent) if percent > 100) {
        e.invalid(path, &Json(&value), "must not be greater than 100%");
    }
}

fn is_zero(value: IntOrPercent) -> bool {
    matches!(value, IntOrPercent::Int(0) | IntOrPercent::Percent(0))
}

/// # Source
///
/// kube-apiserver, `ValidateDeploymentSpec`.
pub(super) fn deployment(deployment: &Deployment, e: &mut Errors) {
    let spec = &deployment.spec;
    e.non_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    selector::of_workload(spec.selector.as_ref(), &spec.template.metadata.labels, "deployment", e);
    template(&spec.template, Vec::new(), "ReplicaSet", e);
    strategy(deployment, &SPEC.child("strategy"), e);
    e.non_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds);
    e.non_negative(&SPEC.child("revisionHistoryLimit"), spec.revision_history_limit.unwrap_or(10));
    let deadline = spec.progress_deadline_seconds.unwrap_or(600);
    let path = SPEC.child("progressDeadlineSeconds");
    e.non_negative(&path, deadline);
    if deadline <= spec.min_ready_seconds {
        e.invalid(&path, &deadline, "must be greater than minReadySeconds");
    }
}

fn strategy(deployment: &Deployment, path: &Path<'_>, e: &mut Errors) {
    let strategy = &deployment.spec.strategy;
    let path = &path.child("rollingUpdate");
    if strategy.strategy_type == Some(DeploymentStrategyType::Recreate) {
        if strategy.rolling_update.is_some() {
            e.forbidden(path, "may not be specified when strategy `type` is 'Recreate'");
        }
        return;
    }
    let Some(update) = &strategy.rolling_update else { return };
    let default = IntOrPercent::Percent(25);
    let (unavailable, surge) = (update.max_unavailable.unwrap_or(default), update.max_surge.unwrap_or(default));
    let unavailable_path = path.child("maxUnavailable");
    int_or_percent(unavailable, &unavailable_path, e);
    int_or_percent(surge, &path.child("maxSurge"), e);
    if is_zero(unavailable) && is_zero(surge) {
        e.invalid(&unavailable_path, &Json(&unavailable), "may not be 0 when `maxSurge` is 0");
    }
    not_more_than_all(unavailable, &unavailable_path, e);
}

/// # Source
///
/// kube-apiserver, `ValidateDeploymentUpdate`.
pub(super) fn deployment_update(new: &Deployment, old: &Deployment, e: &mut Errors) {
    deployment(new, e);
    e.immutable(&SPEC.child("selector"), &new.spec.selector, &old.spec.selector);
}

/// # Source
///
/// kube-apiserver, `ValidateReplicaSetSpec`, which calls an empty selector one of a deployment.
pub(super) fn replica_set(set: &ReplicaSet, e: &mut Errors) {
    let spec = &set.spec;
    e.non_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    e.non_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds);
    selector::of_workload(spec.selector.as_ref(), &spec.template.metadata.labels, "deployment", e);
    template(&spec.template, Vec::new(), "ReplicaSet", e);
}

/// # Source
///
/// kube-apiserver, `ValidateReplicaSetUpdate`.
pub(super) fn replica_set_update(new: &ReplicaSet, old: &ReplicaSet, e: &mut Errors) {
    replica_set(new, e);
    e.immutable(&SPEC.child("selector"), &new.spec.selector, &old.spec.selector);
}

/// # Source
///
/// kube-apiserver, `ValidateReplicationControllerSpec`; without a selector that of the template holds.
pub(super) fn replication_controller(controller: &ReplicationController, e: &mut Errors) {
    let spec = &controller.spec;
    let labels = &spec.template.metadata.labels;
    e.non_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds);
    if spec.selector.is_empty() && labels.is_empty() {
        e.required(&SPEC.child("selector"), "");
    }
    e.non_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    if spec.selector.iter().any(|(key, value)| labels.get(key) != Some(value)) {
        let path = SPEC.child("template");
        let metadata = path.child("metadata");
        selector::mismatch(labels, &metadata.child("labels"), e);
    }
    template(&spec.template, Vec::new(), "ReplicationController", e);
}

/// # Source
///
/// kube-apiserver, `ValidateDaemonSetSpec`; an absent selector, which old versions allowed, is refused since `apps/v1`.
pub(super) fn daemon_set(set: &DaemonSet, e: &mut Errors) {
    let spec = &set.spec;
    selector::of_workload(spec.selector.as_ref(), &spec.template.metadata.labels, "daemonset", e);
    template(&spec.template, Vec::new(), "DaemonSet", e);
    e.non_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds);
    let strategy = SPEC.child("updateStrategy");
    if spec.update_strategy.strategy_type != Some(DaemonSetUpdateStrategyType::OnDelete)
        && let Some(update) = &spec.update_strategy.rolling_update
    {
        let path = strategy.child("rollingUpdate");
        let unavailable = update.max_unavailable.unwrap_or(IntOrPercent::Int(1));
        let surge = update.max_surge.unwrap_or(IntOrPercent::Int(0));
        let (unavailable_path, surge_path) = (path.child("maxUnavailable"), path.child("maxSurge"));
        int_or_percent(unavailable, &unavailable_path, e);
        int_or_percent(surge, &surge_path, e);
        not_more_than_all(unavailable, &unavailable_path, e);
        not_more_than_all(surge, &surge_path, e);
        match (is_zero(unavailable), is_zero(surge)) {
            (false, false) => e.invalid(&surge_path, &Json(&surge), "may not be set when maxUnavailable is non-zero"),
            (true, true) => e.required(&unavailable_path, "cannot be 0 when maxSurge is 0"),
            _ => {}
        }
    }
    e.non_negative(&SPEC.child("revisionHistoryLimit"), spec.revision_history_limit.unwrap_or(10));
}

/// # Source
///
/// kube-apiserver, `ValidateDaemonSetUpdate`.
pub(super) fn daemon_set_update(new: &DaemonSet, old: &DaemonSet, e: &mut Errors) {
    e.immutable(&SPEC.child("selector"), &new.spec.selector, &old.spec.selector);
    daemon_set(new, e);
}

/// Whether the claim templates are looked at; after creation they cannot be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claims {
    Checked,
    AsTheyAre,
}

/// # Source
///
/// kube-apiserver, `ValidateStatefulSetSpec`.
pub(super) fn stateful_set(set: &StatefulSet, e: &mut Errors) {
    stateful_set_spec(&set.spec, Claims::Checked, e);
}

fn stateful_set_spec(spec: &StatefulSetSpec, claims: Claims, e: &mut Errors) {
    let strategy = SPEC.child("updateStrategy");
    let path = strategy.child("rollingUpdate");
    let update = &spec.update_strategy;
    match (&update.rolling_update, update.strategy_type) {
        (Some(update), Some(StatefulSetUpdateStrategyType::OnDelete)) => {
            e.invalid(&path, &Json(update), "only allowed for updateStrategy 'RollingUpdate'");
        }
        (Some(update), _) => {
            e.non_negative(&path.child("partition"), update.partition.unwrap_or(0));
            if let Some(unavailable) = update.max_unavailable {
                let path = path.child("maxUnavailable");
                int_or_percent(unavailable, &path, e);
                if is_zero(unavailable) {
                    e.invalid(&path, &Json(&unavailable), "cannot be 0");
                }
                not_more_than_all(unavailable, &path, e);
            }
        }
        (None, _) => {}
    }
    if claims == Claims::Checked {
        let list = SPEC.child("volumeClaimTemplates");
        for (index, template) in spec.volume_claim_templates.iter().enumerate() {
            claim::spec(&template.spec, &list.index(index).child("spec"), e);
        }
    }
    e.non_negative(&SPEC.child("replicas"), spec.replicas.unwrap_or(1));
    e.non_negative(&SPEC.child("minReadySeconds"), spec.min_ready_seconds);
    if let Some(ordinals) = &spec.ordinals {
        e.non_negative(&SPEC.child("ordinals").child("start"), ordinals.start);
    }
    if claims == Claims::Checked && !spec.service_name.is_empty() {
        let name = spec.service_name.as_str();
        e.texts(&SPEC.child("serviceName"), name, format::dns_label(name));
    }
    selector::of_workload(spec.selector.as_ref(), &spec.template.metadata.labels, "statefulset", e);
    let names = spec.volume_claim_templates.iter().map(|claim| claim.metadata.name.as_str()).collect();
    template_of_set(&spec.template, names, e);
}

/// The controller writes host name and subdomain itself, so that whatever stands there is good.
fn template_of_set(pods: &PodTemplateSpec, claims: Vec<&str>, e: &mut Errors) {
    if pods.spec.hostname.is_none() && pods.spec.subdomain.is_none() {
        return template(pods, claims, "StatefulSet", e);
    }
    let mut pods = pods.clone();
    (pods.spec.hostname, pods.spec.subdomain) = (None, None);
    template(&pods, claims, "StatefulSet", e);
}

/// # Source
///
/// kube-apiserver, `ValidateStatefulSetUpdate`.
pub(super) fn stateful_set_update(new: &StatefulSet, old: &StatefulSet, e: &mut Errors) {
    stateful_set_spec(&new.spec, Claims::AsTheyAre, e);
    let kept = |set: &StatefulSet| {
        let spec = &set.spec;
        (spec.selector.clone(), spec.service_name, spec.pod_management_policy, spec.volume_claim_templates.clone())
    };
    if kept(new) != kept(old) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                      'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                      'minReadySeconds' are forbidden";
        e.forbidden(&SPEC, detail);
    }
}
