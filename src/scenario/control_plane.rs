//! Checks of what the control plane and the kubelets are configured with.

use super::ResolvedScenario;
use super::document::Node;
use super::kube_scheduler;
use super::schema::Spec;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::model::config::{
    AdmissionPlugins, ClusterAutoscaler, Controllers, KubeApiserver, KubeControllerManager, KubeletConfiguration,
};
use crate::model::field_path::FieldPath;
use crate::units::SimDuration;

/// The shortest time between two passes that a control plane could keep up with.
const PERIOD_MIN: SimDuration = SimDuration::from_millis(10);

/// Checks what is configured.
pub(super) fn check(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    kube_scheduler::check(root, spec, scenario, diagnostics);
    let flags = &scenario.config.kube_controller_manager;
    if flags.node_monitor_period < PERIOD_MIN {
        let place = root.locate_text("spec.controlPlane.kubeControllerManager[\"node-monitor-period\"]");
        let message =
            format!("a `node-monitor-period` of {} leaves no time for anything else", flags.node_monitor_period);
        diagnostics.push(
            Diagnostic::error("scenario::bad_value", message)
                .at(place, "")
                .help(format!("give at least {PERIOD_MIN}; the default is 5s")),
        );
    }
    for (field, expected) in spec.control_plane.kubelet.problems() {
        let rule = format!("be {expected}");
        refuse(root, "spec.controlPlane.kubelet", field, &rule, "a kubelet does not start with this", diagnostics);
    }
    for (field, period) in [
        ("nodeStatusUpdateFrequency", scenario.config.kubelet.node_status_update_frequency),
        ("nodeStatusReportFrequency", scenario.config.kubelet.node_status_report_frequency),
    ] {
        if period < PERIOD_MIN {
            let place = root.locate_text(&format!("spec.controlPlane.kubelet.{field}"));
            let message = format!("a `{field}` of {period} leaves no time for anything else");
            let help = format!("give at least {PERIOD_MIN}");
            diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(place, "").help(help));
        }
    }
}

/// Says what must be true of a field; `base` is the path of what the field's path goes on from.
pub(super) fn refuse(root: &Node, base: &str, field: &str, rule: &str, label: &str, diagnostics: &mut Diagnostics) {
    let path = if field.is_empty() { base.to_owned() } else { format!("{base}.{field}") };
    let found = super::overrides::parse_path(&path).ok().and_then(|path| root.find(&path)?.text());
    let found = found.map_or_else(String::new, |value| format!(" is {value}; it"));
    let name = if field.is_empty() { base.rsplit('.').next().unwrap_or(base) } else { field };
    let diagnostic = Diagnostic::error("scenario::bad_value", format!("`{name}`{found} must {rule}"));
    diagnostics.push(diagnostic.at(root.locate_text(&path), label));
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

/// Flags whose values name only controllers and admission plugins that are not played.
fn names_without_effect(root: &Node) -> Vec<FieldPath> {
    let flags = [
        ("kubeControllerManager[\"controllers\"]", Controllers::is_idle as fn(&str) -> bool),
        ("kubeApiserver[\"enable-admission-plugins\"]", AdmissionPlugins::is_idle),
        ("kubeApiserver[\"disable-admission-plugins\"]", AdmissionPlugins::is_idle),
    ];
    let path = |text: &str| super::overrides::parse_path(text).expect("a well-formed path");
    let found = flags.into_iter().map(|(flag, is_idle)| (path(&format!("spec.controlPlane.{flag}")), is_idle));
    found.filter(|(path, is_idle)| root.find(path).and_then(Node::text).is_some_and(is_idle)).map(|(p, _)| p).collect()
}

/// The keys below a path of which something is true, as paths.
fn below(root: &Node, part: &str, is_meant: fn(&str) -> bool) -> Vec<FieldPath> {
    let path = |text: &str| super::overrides::parse_path(text).expect("a well-formed path");
    let keys = root.find(&path(part)).into_iter().flat_map(Node::keys);
    keys.filter(|key| is_meant(key)).map(|key| path(&format!("{part}[\"{key}\"]"))).collect()
}
