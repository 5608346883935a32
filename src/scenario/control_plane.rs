//! Checks of what the control plane and the kubelets are configured with.

use super::ResolvedScenario;
use super::document::Node;
use super::schema::Spec;
use crate::diagnostics::{Diagnostic, Diagnostics, nearest};
use crate::model::config::{ClusterAutoscaler, KubeApiserver, KubeControllerManager, KubeletConfiguration, PluginSet};
use crate::model::field_path::FieldPath;
use crate::units::SimDuration;

/// The shortest time between two passes that a control plane could keep up with.
const PERIOD_MIN: SimDuration = SimDuration::from_millis(10);

/// Every plugin that kube-scheduler 1.33 to 1.36 is built with.
const PLUGINS: [&str; 23] = [
    "DefaultBinder",
    "DefaultPreemption",
    "DynamicResources",
    "GangScheduling",
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodeName",
    "NodePorts",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "NodeVolumeLimits",
    "PodGroupPodsCount",
    "PodTopologySpread",
    "PrioritySort",
    "SchedulingGates",
    "TaintToleration",
    "TopologyPlacementGenerator",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
];

/// Checks what is configured.
pub(super) fn check(root: &Node, spec: &Spec, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    check_scheduler_kind(root, scenario, diagnostics);
    check_plugins(root, spec, diagnostics);
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
    let kubelet = &spec.control_plane.kubelet;
    for (field, expected) in kubelet.problems() {
        let path = format!("spec.controlPlane.kubelet.{field}");
        let place = root.locate_text(&path);
        let value = super::overrides::parse_path(&path).ok().and_then(|path| root.find(&path)?.text());
        let found = value.map_or_else(String::new, |value| format!(" is {value}; it"));
        let message = format!("`{field}`{found} must be {expected}");
        let label = "a kubelet does not start with this";
        diagnostics.push(Diagnostic::error("scenario::bad_value", message).at(place, label));
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

/// What is configured and decides nothing: paths below the document's root.
pub(super) fn without_effect(root: &Node) -> Vec<FieldPath> {
    let kubelet = |field: &str| KubeletConfiguration::WITHOUT_EFFECT.contains(&field);
    let mut paths = below(root, "spec.controlPlane.kubeApiserver", KubeApiserver::is_without_effect);
    paths.extend(below(root, "spec.controlPlane.kubeControllerManager", KubeControllerManager::is_without_effect));
    paths.extend(below(root, "spec.controlPlane.kubelet", kubelet));
    paths.extend(below(root, "spec.clusterAutoscaler.flags", ClusterAutoscaler::is_without_effect));
    paths
}

/// The keys below a path of which something is true, as paths.
fn below(root: &Node, part: &str, is_meant: fn(&str) -> bool) -> Vec<FieldPath> {
    let path = |text: &str| super::overrides::parse_path(text).expect("a well-formed path");
    let keys = root.find(&path(part)).into_iter().flat_map(Node::keys);
    keys.filter(|key| is_meant(key)).map(|key| path(&format!("{part}[\"{key}\"]"))).collect()
}

fn check_scheduler_kind(root: &Node, scenario: &ResolvedScenario, diagnostics: &mut Diagnostics) {
    let configuration = &scenario.config.kube_scheduler;
    let expected = [
        ("apiVersion", configuration.api_version, "kubescheduler.config.k8s.io/v1"),
        ("kind", configuration.kind, "KubeSchedulerConfiguration"),
    ];
    for (field, found, expected) in expected {
        if !found.is_empty() && found != expected {
            let message = format!("`{found}` is not the `{field}` of a configuration of kube-scheduler");
            let location = root.locate_text(&format!("spec.controlPlane.kubeScheduler.{field}"));
            let diagnostic = Diagnostic::error("scenario::bad_value", message);
            diagnostics.push(diagnostic.at(location, "").help(format!("write `{field}: {expected}`")));
        }
    }
}

/// Plugins that kube-scheduler does not have, which it refuses to start with.
fn check_plugins(root: &Node, spec: &Spec, diagnostics: &mut Diagnostics) {
    let mut check = |name: &str, path: String| {
        // `*` stands for all of them.
        if name == "*" || PLUGINS.contains(&name) {
            return;
        }
        let diagnostic = Diagnostic::error("scenario::unknown_name", format!("kube-scheduler has no plugin `{name}`"));
        diagnostics.push(diagnostic.at(root.locate_text(&path), "unknown plugin").help(match nearest(name, PLUGINS) {
            Some(nearest) => format!("the nearest plugin is `{nearest}`"),
            None => "plugins that are not part of kube-scheduler cannot be played".to_owned(),
        }));
    };
    for (index, profile) in spec.control_plane.kube_scheduler.profiles.iter().enumerate() {
        let profile_path = format!("spec.controlPlane.kubeScheduler.profiles[{index}]");
        let plugins = &profile.plugins;
        let points: [(&str, &PluginSet); 13] = [
            ("preEnqueue", &plugins.pre_enqueue),
            ("queueSort", &plugins.queue_sort),
            ("preFilter", &plugins.pre_filter),
            ("filter", &plugins.filter),
            ("postFilter", &plugins.post_filter),
            ("preScore", &plugins.pre_score),
            ("score", &plugins.score),
            ("reserve", &plugins.reserve),
            ("permit", &plugins.permit),
            ("preBind", &plugins.pre_bind),
            ("bind", &plugins.bind),
            ("postBind", &plugins.post_bind),
            ("multiPoint", &plugins.multi_point),
        ];
        for (point, set) in points {
            for (list, plugins) in [("enabled", &set.enabled), ("disabled", &set.disabled)] {
                for (index, plugin) in plugins.iter().enumerate() {
                    check(plugin.name.as_str(), format!("{profile_path}.plugins.{point}.{list}[{index}].name"));
                }
            }
        }
        for (index, config) in profile.plugin_config.iter().enumerate() {
            check(config.name.as_str(), format!("{profile_path}.pluginConfig[{index}].name"));
        }
    }
}
