//! Checks of what the control plane and the kubelets are configured with.

use super::at::{At, parse_path, refuse};
use super::document::Node;
use super::kube_scheduler;
use super::resolved::ResolvedScenario;
use super::schema::Spec;
use crate::arena::Symbol;
use crate::component::Config;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::model::config::{
    AdmissionPlugin, AdmissionPlugins, ClusterAutoscaler, Controllers, FeatureGates, KubeApiserver,
    KubeControllerManager, KubeletConfiguration,
};
use crate::model::field_path::FieldPath;
use crate::model::{ManifestObject, NotModelled, Object};
use crate::units::SimDuration;

/// The shortest time between two passes that a control plane could keep up with.
const PERIOD_MIN: SimDuration = SimDuration::from_millis(10);

/// Checks what is configured.
pub(super) fn check(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    kube_scheduler::check(root, spec, scenario, diagnostics);
    let flags = &scenario.config.kube_controller_manager;
    if flags.node_monitor_period < PERIOD_MIN {
        let place = At::root(root)
            .field("spec")
            .field("controlPlane")
            .field("kubeControllerManager")
            .key("node-monitor-period")
            .location();
        let message =
            format!("a `node-monitor-period` of {} leaves no time for anything else", flags.node_monitor_period);
        diagnostics.push(
            Diagnostic::error("scenario::bad_value", message)
                .at(place, "")
                .help(format!("give at least {PERIOD_MIN}; the default is 5s")),
        );
    }
    check_controller_manager(root, spec, flags, diagnostics);
    let kubelet = At::root(root).field("spec").field("controlPlane").field("kubelet");
    for (field, expected) in spec.control_plane.kubelet.problems(scenario.config.version) {
        let rule = format!("be {expected}");
        refuse(kubelet, "kubelet", field, &rule, "a kubelet does not start with this", diagnostics);
    }
    for (field, period) in [
        ("nodeStatusUpdateFrequency", scenario.config.kubelet.node_status_update_frequency),
        ("nodeStatusReportFrequency", scenario.config.kubelet.node_status_report_frequency),
    ] {
        if period < PERIOD_MIN {
            let place = kubelet.field(field).location();
            let message = format!("a `{field}` of {period} leaves no time for anything else");
            let help = format!("give at least {PERIOD_MIN}");
            diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(place, "").help(help));
        }
    }
}

/// Flags with which kube-controller-manager would not start.
fn check_controller_manager(root: &Node, spec: &Spec, flags: &KubeControllerManager, diagnostics: &mut Diagnostics) {
    /// It decides nothing here, but the process would not start.
    const IDLE: &str = "concurrent-horizontal-pod-autoscaler-syncs";
    let manager = At::root(root).field("spec").field("controlPlane").field("kubeControllerManager");
    if flags.leader_elect && flags.leader_elect_lease_duration <= flags.leader_elect_renew_deadline {
        let (lease, renewal) = (flags.leader_elect_lease_duration, flags.leader_elect_renew_deadline);
        let message = format!("a lease of {lease} has to last longer than its holder tries to renew it, {renewal}");
        let is_said = manager.key("leader-elect-renew-deadline").node().is_some();
        let flag = if is_said { "leader-elect-renew-deadline" } else { "leader-elect-lease-duration" };
        diagnostics.push(
            Diagnostic::error("scenario::bad_value", message)
                .at(manager.key(flag).location(), "kube-controller-manager does not start with this")
                .help("set `leader-elect-lease-duration` above `leader-elect-renew-deadline`"),
        );
    }
    for (flag, value) in spec.control_plane.kube_controller_manager.0.iter().filter(|(flag, _)| *flag == IDLE) {
        if !value.as_str().parse::<i64>().is_ok_and(|number| number >= 1) {
            let message = format!("`{value}` is not a value of `{flag}`, expected an integer of at least 1");
            diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(manager.key(IDLE).location(), ""));
        }
    }
}

/// What is configured and decides nothing: paths below the document's root.
pub(super) fn without_effect(root: &Node) -> Vec<FieldPath> {
    let kubelet = |field: &str| KubeletConfiguration::WITHOUT_EFFECT.contains(&field);
    let mut paths = below(root, "spec.controlPlane.kubeApiserver", KubeApiserver::is_without_effect);
    paths.extend(below(root, "spec.controlPlane.kubeControllerManager", KubeControllerManager::is_without_effect));
    paths.extend(below(root, "spec.controlPlane.kubelet", kubelet));
    paths.extend(below(root, "spec.clusterAutoscaler.flags", ClusterAutoscaler::is_without_effect));
    paths.extend(kube_scheduler::without_effect(root));
    paths.extend(names_without_effect(root));
    paths
}

/// Fields of objects that decide nothing because their feature gate is off.
pub(super) fn gated_fields(objects: &[ManifestObject], config: &Config) -> Vec<NotModelled> {
    if config.kube_controller_manager.feature_gates.max_unavailable_stateful_set(config.version) {
        return Vec::new();
    }
    let rows = objects.iter().filter_map(|object| {
        let Object::StatefulSet(set) = &object.object else { return None };
        let limit = set.spec.update_strategy.rolling_update.as_ref()?.max_unavailable?;
        Some(NotModelled {
            file: Symbol::new(&object.source.file),
            line: object.source.line,
            object: format!("StatefulSet {}/{}", set.metadata.namespace, set.metadata.name),
            path: "spec.updateStrategy.rollingUpdate.maxUnavailable".to_owned(),
            value_excerpt: limit.to_string(),
            count: 1,
        })
    });
    rows.collect()
}

/// Admission plugins that are switched and not played: the path of the flag, and their names.
pub(super) fn idle_plugins(root: &Node) -> Vec<(FieldPath, String)> {
    let flags = ["enable-admission-plugins", "disable-admission-plugins"].into_iter().filter_map(|flag| {
        let path = parse_path(&format!("spec.controlPlane.kubeApiserver[\"{flag}\"]")).expect("a well-formed path");
        let idle = AdmissionPlugins::idle(At::root(root).path(&path).text()?);
        let names: Vec<&str> = idle.iter().map(|name| name.as_str()).collect();
        (!names.is_empty()).then(|| (path, names.join(",")))
    });
    flags.collect()
}

/// Namespaces whose pods the API server holds against Pod Security Standards, which is not played.
///
/// # Source
/// kube-apiserver, admission PodSecurity: the label `enforce` alone refuses pods; `privileged` refuses none.
pub(super) fn enforced_pod_security(objects: &[ManifestObject], config: &Config) -> Vec<NotModelled> {
    const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
    if !config.kube_apiserver.admits_with(AdmissionPlugin::PodSecurity) {
        return Vec::new();
    }
    let rows = objects.iter().filter_map(|object| {
        let Object::Namespace(namespace) = &object.object else { return None };
        let level = namespace.metadata.labels.get(Symbol::new(ENFORCE)).filter(|level| *level != "privileged")?;
        Some(NotModelled {
            file: Symbol::new(&object.source.file),
            line: object.source.line,
            object: object.object.label(),
            path: format!("metadata.labels[\"{ENFORCE}\"]"),
            value_excerpt: level.to_string(),
            count: 1,
        })
    });
    rows.collect()
}

/// Flags whose values name only controllers that are not played, or a feature gate that decides nothing.
fn names_without_effect(root: &Node) -> Vec<FieldPath> {
    let flags = [
        ("kubeControllerManager[\"controllers\"]", Controllers::is_idle as fn(&str) -> bool),
        ("kubeControllerManager[\"feature-gates\"]", FeatureGates::is_idle),
    ];
    let path = |text: &str| parse_path(text).expect("a well-formed path");
    let found = flags.into_iter().map(|(flag, is_idle)| (path(&format!("spec.controlPlane.{flag}")), is_idle));
    found.filter(|(path, is_idle)| At::root(root).path(path).text().is_some_and(is_idle)).map(|(p, _)| p).collect()
}

/// The keys below a path of which something is true, as paths.
fn below(root: &Node, part: &str, is_meant: fn(&str) -> bool) -> Vec<FieldPath> {
    let path = |text: &str| parse_path(text).expect("a well-formed path");
    let keys = At::root(root).path(&path(part)).node().into_iter().flat_map(Node::keys);
    keys.filter(|key| is_meant(key)).map(|key| path(&format!("{part}[\"{key}\"]"))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Overrides, load_text};

    /// The paths of what has no effect with these flags of kube-controller-manager.
    fn idle(flags: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: s}}\nspec: {{duration: 1m, cluster: {{nodePools: [{{name: n, \
             count: 1, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, controlPlane: \
             {{kubeControllerManager: {{{flags}}}}}}}\n---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db}}\nspec: {{serviceName: db, \
             selector: {{matchLabels: {{a: b}}}}, updateStrategy: {{rollingUpdate: {{maxUnavailable: 2}}}}, template: {{metadata: {{labels: \
             {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}\n"
        );
        let scenario = load_text("s.yaml", &text, Path::new("."), &Overrides::none()).expect("a scenario");
        let mut paths: Vec<String> = scenario.not_modelled.iter().map(|row| row.path.clone()).collect();
        paths.retain(|path| path.contains("maxUnavailable") || path.contains("controllers") || path.contains("gates"));
        paths
    }

    #[test]
    fn what_a_gate_or_a_name_leaves_without_effect_is_listed() {
        let max_unavailable = "spec.updateStrategy.rollingUpdate.maxUnavailable";
        assert_eq!(idle(""), [max_unavailable]);
        assert_eq!(idle("feature-gates: MaxUnavailableStatefulSet=true"), <[&str; 0]>::default());
        assert_eq!(idle("feature-gates: 'MaxUnavailableStatefulSet=True'"), <[&str; 0]>::default());
        assert!(idle("feature-gates: 'Sidecars=true,MaxUnavailableStatefulSet=true'")[0].contains("feature-gates"));
        assert_eq!(idle("controllers: '*,-podgc'"), [max_unavailable]);
        let idle = idle("controllers: '*,-ttl'");
        assert!(
            idle.len() == 2
                && idle.iter().any(|path| path.ends_with("[\"controllers\"]") || path.ends_with(".controllers")),
            "{idle:?}"
        );
    }
}
