//! Labels of nodes by their former names: a dump of an old cluster has them, and the cluster that is played would add the present ones.

use super::assumption::Assumption;
use crate::arena::Symbol;
use crate::model::{ManifestObject, Node, Object, ZONE_LABEL};

/// Former and present names of labels, and whether the former one wins where the two differ.
///
/// # Source
/// cloud-controller-manager, node controller, `labelReconcileInfo`: the former names of zone, region and instance type are the source
/// of truth. The kubelet registers with both names of operating system and architecture.
const NAMES: [(&str, &str, bool); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", ZONE_LABEL, true),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region", true),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", true),
    ("beta.kubernetes.io/os", "kubernetes.io/os", false),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch", false),
];

/// Gives nodes that a kubelet reports the labels that they would have by now; none if they have them.
pub(super) fn complete(objects: &mut [ManifestObject]) -> Option<Assumption> {
    let mut changed = Vec::new();
    for object in objects {
        if let Object::Node(node) = &mut object.object
            && is_reported(node)
            && add_present_names(node)
        {
            changed.push(format!("Node {}", node.metadata.name));
        }
    }
    let assumption = Assumption::new(
        "nodeLabels",
        "nodes that have labels by former names, such as failure-domain.beta.kubernetes.io/zone, have those by present names, too",
        "spreading over zones, and what selects nodes by topology.kubernetes.io/zone, kubernetes.io/os and their like",
        "these labels of the Node",
    );
    assumption.about_any(changed)
}

/// Whether a kubelet has told of the node: what nobody runs gets no labels from anybody.
fn is_reported(node: &Node) -> bool {
    let version = node.status.node_info.as_ref().map(|info| info.kubelet_version);
    version.is_some_and(|version| !version.is_empty()) && !node.has_stand_in_kubelet()
}

/// Whether a label was missing or another one.
fn add_present_names(node: &mut Node) -> bool {
    let mut is_changed = false;
    for (former, present, wins) in
        NAMES.map(|(former, present, wins)| (Symbol::new(former), Symbol::new(present), wins))
    {
        let labels = &node.metadata.labels;
        let Some(value) = labels.get(former) else { continue };
        if labels.get(present).is_none_or(|found| wins && found != value) {
            node.metadata.labels = labels.with(present, value);
            is_changed = true;
        }
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::load_text;

    #[test]
    fn former_labels_of_nodes_that_run_bring_the_present_ones() {
        #[track_caller]
        fn check(version: &str, labels: &str, expected: &[(&str, &str)]) {
            let text = format!(
                "apiVersion: v1\nkind: Node\nmetadata: {{name: n, labels: {labels}}}\nstatus: {{nodeInfo: {{kubeletVersion: '{version}'}}}}\n"
            );
            let mut objects = load_text("x.yaml", &text).objects;
            let before = objects[0].object.metadata().labels.clone();
            let assumption = complete(&mut objects);
            let labels = &objects[0].object.metadata().labels;
            for (key, value) in expected {
                assert_eq!(labels.get(Symbol::new(key)).map(Symbol::as_str), Some(*value), "{key}");
            }
            assert_eq!(assumption.is_some(), *labels != before);
            assert_eq!(assumption.is_some(), !expected.is_empty());
        }
        let zone = "topology.kubernetes.io/zone";
        check("v1.8.0", "{failure-domain.beta.kubernetes.io/zone: a}", &[(zone, "a")]);
        check("v1.16.0", "{failure-domain.beta.kubernetes.io/zone: a, topology.kubernetes.io/zone: b}", &[(zone, "a")]);
        check("v1.30.0", "{failure-domain.beta.kubernetes.io/zone: a, topology.kubernetes.io/zone: a}", &[]);
        check("v1.30.0", "{topology.kubernetes.io/zone: a}", &[]);
        check("v1.30.0", "{beta.kubernetes.io/os: linux, kubernetes.io/os: windows}", &[]);
        check("v1.9.0", "{beta.kubernetes.io/os: linux}", &[("kubernetes.io/os", "linux")]);
        check("", "{failure-domain.beta.kubernetes.io/zone: a}", &[]);
        check("fake", "{failure-domain.beta.kubernetes.io/zone: a}", &[]);
    }
}
