//! Taints by their former keys: nodes of a dump may bear them, and pods of an old cluster tolerate them, while what is played taints by
//! the present keys.

use serde_json::Value;

use super::assumption::Assumption;
use super::dump;
use super::workloads::pod_template_mut;
use crate::arena::Symbol;
use crate::model::{ManifestObject, Object, Toleration};

/// Former and present keys of the taints of the node lifecycle controller. Others were not renamed, or nobody puts them on nodes but
/// people and installers, such as `node-role.kubernetes.io/master`: they stay on nodes as they are, and what tolerates them goes on to.
///
/// # Source
/// node lifecycle controller, 1.9 to 1.16, `doFixDeprecatedTaintKeyPass`, and its list of deprecated taints.
pub(super) const KEYS: [(&str, &str); 2] = [
    ("node.alpha.kubernetes.io/notReady", "node.kubernetes.io/not-ready"),
    ("node.alpha.kubernetes.io/unreachable", "node.kubernetes.io/unreachable"),
];

/// The first version that taints by the present keys. From it on tolerations by former keys alone meant nothing.
const RENAMED: (u32, u32) = (1, 9);

fn present(key: &str) -> Option<&'static str> {
    KEYS.into_iter().find_map(|(former, present)| (former == key).then_some(present))
}

/// Gives taints of nodes their present keys, and pods and templates of a cluster that tainted by the former ones tolerations by the
/// present ones.
pub(super) fn complete(objects: &mut [ManifestObject]) -> Vec<Assumption> {
    let is_former = dump::newest_kubelet(objects).is_some_and(|version| version < RENAMED);
    let (mut nodes, mut pods) = (Vec::new(), Vec::new());
    for object in objects {
        let label = object.object.label();
        if let Object::Node(node) = &mut object.object {
            let mut is_changed = false;
            for taint in &mut node.spec.taints {
                if let Some(key) = present(taint.key.as_str()) {
                    (taint.key, is_changed) = (Symbol::new(key), true);
                }
            }
            if is_changed {
                nodes.push(label);
            }
        } else if is_former && add_tolerations(&mut object.object) {
            pods.push(label);
        }
    }
    let assumptions = [
        Assumption::new(
            "formerTaints",
            "taints of nodes by former keys, such as node.alpha.kubernetes.io/notReady, have the present ones",
            "which pods may be on these nodes, and who takes the taints away",
            "these taints of the Node",
        )
        .about(nodes),
        Assumption::new(
            "formerTolerations",
            "pods that tolerate taints by former keys, such as node.alpha.kubernetes.io/unreachable, tolerate them by present ones, too",
            "which pods stay on a node that is lost, and for how long",
            "tolerations of node.kubernetes.io/not-ready and node.kubernetes.io/unreachable in pods and templates",
        )
        .about(pods),
    ];
    assumptions.into_iter().filter(|assumption| assumption.count > 0).collect()
}

/// Whether a pod, a template or a template of the past was given a toleration.
fn add_tolerations(object: &mut Object) -> bool {
    let tolerations = match object {
        Object::Pod(pod) => &mut pod.spec.tolerations,
        Object::ControllerRevision(revision) => {
            // A revision that differs from its workload would be a rollout. Only workloads are counted.
            if let Some(tolerations) = revision.data.as_mut().and_then(|data| data.pointer_mut(TOLERATIONS)) {
                add_to_value(tolerations);
            }
            return false;
        }
        other => {
            let Some(template) = super::workloads::pod_template(other) else { return false };
            // Looked at first, as changing a template takes it apart from others that share it.
            if with_present(&template.spec.tolerations).is_none() {
                return false;
            }
            &mut pod_template_mut(other).expect("it has a template").spec.tolerations
        }
    };
    let Some(completed) = with_present(tolerations) else { return false };
    *tolerations = completed;
    true
}

/// Where the data of a revision have tolerations.
const TOLERATIONS: &str = "/spec/template/spec/tolerations";

fn add_to_value(value: &mut Value) {
    let Ok(tolerations) = serde_json::from_value::<Vec<Toleration>>(value.clone()) else { return };
    if let Some(completed) = with_present(&tolerations)
        && let Ok(completed) = serde_json::to_value(completed)
    {
        *value = completed;
    }
}

/// The tolerations, each by a former key with one by the present key behind it; none if nothing is missing. Who tolerates the present
/// key already has said what holds.
fn with_present(tolerations: &[Toleration]) -> Option<Vec<Toleration>> {
    let is_there = |key: &str| tolerations.iter().any(|toleration| toleration.key == key);
    let mut completed = Vec::with_capacity(tolerations.len() + KEYS.len());
    for toleration in tolerations {
        completed.push(toleration.clone());
        if let Some(key) = present(toleration.key.as_str()).filter(|key| !is_there(key)) {
            completed.push(Toleration { key: Symbol::new(key), ..toleration.clone() });
        }
    }
    (completed.len() > tolerations.len()).then_some(completed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::load_text;
    use crate::scenario::workloads::pod_template;

    const FORMER: &str = "{key: node.alpha.kubernetes.io/unreachable, operator: Exists, effect: NoExecute}";

    fn objects(version: &str, tolerations: &str) -> Vec<ManifestObject> {
        let text = format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: n}}\nspec: {{taints: [{{key: node.alpha.kubernetes.io/notReady, effect: \
             NoExecute}}]}}\nstatus: {{nodeInfo: {{kubeletVersion: '{version}'}}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {{name: \
             p}}\nspec: {{tolerations: [{tolerations}], containers: [{{name: c, image: i}}]}}\n---\napiVersion: apps/v1\nkind: \
             DaemonSet\nmetadata: {{name: d}}\nspec: {{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, \
             spec: {{tolerations: [{tolerations}], containers: [{{name: c, image: i}}]}}}}}}\n---\napiVersion: apps/v1\nkind: \
             ControllerRevision\nmetadata: {{name: d-1}}\nrevision: 1\ndata: {{spec: {{template: {{spec: {{tolerations: \
             [{tolerations}]}}}}}}}}\n"
        );
        load_text("x.yaml", &text).objects
    }

    /// Keys of tolerations, a list each of the pod, the template and the revision.
    fn keys(objects: &[ManifestObject]) -> Vec<Vec<String>> {
        let keys = |tolerations: &[Toleration]| tolerations.iter().map(|t| t.key.to_string()).collect::<Vec<_>>();
        let of = |object: &ManifestObject| match &object.object {
            Object::Pod(pod) => Some(keys(&pod.spec.tolerations)),
            Object::ControllerRevision(revision) => {
                let value = revision.data.as_ref()?.pointer(TOLERATIONS)?.clone();
                Some(keys(&serde_json::from_value::<Vec<Toleration>>(value).expect("tolerations")))
            }
            other => pod_template(other).map(|template| keys(&template.spec.tolerations)),
        };
        objects.iter().filter_map(of).collect()
    }

    #[test]
    fn pods_of_a_cluster_that_tainted_by_former_keys_tolerate_the_present_ones() {
        #[track_caller]
        fn check(version: &str, tolerations: &str, expected: &[&str], said: &[(&str, usize)]) {
            let mut objects = objects(version, tolerations);
            let assumed = complete(&mut objects);
            assert_eq!(keys(&objects), vec![expected.to_vec(); 3]);
            let found: Vec<_> = assumed.iter().map(|assumption| (assumption.name.as_str(), assumption.count)).collect();
            assert_eq!(found, said);
            let Object::Node(node) = &objects[0].object else { panic!("a node") };
            assert_eq!(node.spec.taints[0].key, "node.kubernetes.io/not-ready");
        }
        let (former, present) = ("node.alpha.kubernetes.io/unreachable", "node.kubernetes.io/unreachable");
        let (taints, both) = (("formerTaints", 1), ("formerTolerations", 2));
        check("v1.8.5", FORMER, &[former, present], &[taints, both]);
        let said_already = format!("{FORMER}, {{key: {present}, operator: Exists, tolerationSeconds: 5}}");
        check("v1.8.5", &said_already, &[former, present], &[taints]);
        check("v1.8.5", "{key: node-role.kubernetes.io/master}", &["node-role.kubernetes.io/master"], &[taints]);
        // From 1.9 on nodes were tainted by the present key, which such a pod did not tolerate.
        check("v1.9.0", FORMER, &[former], &[taints]);
        check("fake", FORMER, &[former], &[taints]);
    }
}
