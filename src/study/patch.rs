//! What makes a real cluster that of a variant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::edit::path_of;
use super::setting::Setting;
use crate::model::{ManifestObject, Object};

/// Changes, ready to be applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patches {
    /// kubectl lines.
    pub shell: String,
    /// The changed fields of each object, as documents for `kubectl apply --server-side` or review.
    pub yaml: String,
}

/// What turns the objects of today into those of a variant; one patch an object, whatever was changed in it. Values of the
/// scenario's document, such as flags, are told in words.
pub(super) fn patches(today: &[ManifestObject], wanted: &[ManifestObject], settings: &[Setting]) -> Patches {
    let mut patches = Patches { shell: "#!/bin/sh\nset -e\n".to_owned(), yaml: String::new() };
    for (path, value) in settings.iter().filter_map(Setting::of_document) {
        patches.tell(&in_words(path, value));
    }
    // Edits neither add nor remove objects.
    for (old, new) in today.iter().zip(wanted) {
        patches.compare(&old.object, &new.object);
    }
    if patches.yaml.is_empty() && patches.shell.lines().count() == 2 {
        patches.tell("nothing is to be changed");
    }
    patches
}

/// What turns the objects of today into others, among which some may be new or gone.
pub(super) fn of_change(today: &[ManifestObject], wanted: &[ManifestObject]) -> Patches {
    let mut patches = Patches { shell: "#!/bin/sh\nset -e\n".to_owned(), yaml: String::new() };
    let by_path = |objects: &[ManifestObject]| -> BTreeMap<String, usize> {
        objects.iter().enumerate().map(|(index, object)| (path_of(&object.object), index)).collect()
    };
    let (old, new) = (by_path(today), by_path(wanted));
    for (path, index) in &new {
        match old.get(path) {
            Some(before) => patches.compare(&today[*before].object, &wanted[*index].object),
            None => patches.create(&wanted[*index].object),
        }
    }
    // What a controller owns follows its owner.
    let is_own = |index: &usize| today[*index].object.metadata().owner_references.is_empty();
    for (path, index) in old.iter().filter(|(path, index)| !new.contains_key(*path) && is_own(index)) {
        let metadata = today[*index].object.metadata();
        let kind = path.split('/').next().unwrap_or_default();
        let _ = writeln!(patches.shell, "kubectl delete {kind} {} -n {}", metadata.name, metadata.namespace);
    }
    patches
}

/// What to do for a value of the scenario's document.
fn in_words(path: &str, value: &str) -> String {
    let value = value.trim_matches('"');
    let flag_of = |component: &str| path.strip_prefix(&format!("spec.controlPlane.{component}."));
    if let Some(flag) = flag_of("kubeControllerManager") {
        format!("start kube-controller-manager with --{flag}={value}")
    } else if let Some(flag) = flag_of("kubeApiserver") {
        format!("start kube-apiserver with --{flag}={value}")
    } else if let Some(field) = flag_of("kubelet") {
        format!("set {field}: {value} in the KubeletConfiguration of every node")
    } else {
        format!("make the cluster that of the scenario with {path} = {value}")
    }
}

/// What a merge patch says to turn one value into another; none if they are equal. Lists are replaced as a whole.
fn difference(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        _ if old == new => None,
        (Value::Object(old), Value::Object(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            let of = |name: &String| {
                difference(old.get(name).unwrap_or(&Value::Null), new.get(name).unwrap_or(&Value::Null))
            };
            Some(names.into_iter().filter_map(|name| Some((name.clone(), of(name)?))).collect())
        }
        _ => Some(new.clone()),
    }
}

/// Writes what the API server wants to be said, though it is what our types take for granted and leave out.
fn say_what_is_required(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(constraints)) = fields.get_mut("topologySpreadConstraints") {
                for constraint in constraints.iter_mut().filter_map(Value::as_object_mut) {
                    constraint.entry("whenUnsatisfiable").or_insert_with(|| json!("DoNotSchedule"));
                }
            }
            fields.values_mut().for_each(say_what_is_required);
        }
        Value::Array(items) => items.iter_mut().for_each(say_what_is_required),
        _ => {}
    }
}

impl Patches {
    fn tell(&mut self, what: &str) {
        let _ = writeln!(self.shell, "# {what}");
        let _ = writeln!(self.yaml, "# {what}");
    }

    /// The same with a comment in front.
    pub(super) fn with_comment(self, comment: &str) -> Self {
        let shell = self.shell.replacen("set -e\n", &format!("set -e\n# {comment}\n"), 1);
        Self { shell, yaml: format!("# {comment}\n{}", self.yaml) }
    }

    /// What no document can say: lines of a shell script, of which those that are no comments are one in the document.
    pub(super) fn by_hand(lines: &str) -> Self {
        let comment = |line: &str| if line.starts_with('#') { format!("{line}\n") } else { format!("# {line}\n") };
        Self { shell: format!("#!/bin/sh\nset -e\n{lines}"), yaml: lines.lines().map(comment).collect() }
    }

    fn create(&mut self, object: &Object) {
        let mut document = object.to_value();
        say_what_is_required(&mut document);
        let _ = writeln!(self.shell, "kubectl apply -f - <<'EOF'\n{document:#}\nEOF");
        let _ = writeln!(self.yaml, "---\n{document:#}");
    }

    fn compare(&mut self, old: &Object, new: &Object) {
        let metadata = new.metadata();
        // What a controller owns follows its owner.
        if matches!(new, Object::Pod(_) | Object::Node(_))
            || metadata.owner_references.iter().any(|owner| owner.controller)
        {
            return;
        }
        let Some(mut spec) = difference(&old.to_value()["spec"], &new.to_value()["spec"]) else { return };
        say_what_is_required(&mut spec);
        let kind = new.kind();
        if matches!(new, Object::Job(_)) {
            self.tell(&format!("{} cannot be changed: create it anew with what patch.yaml says of it", path_of(new)));
        } else {
            let patch = json!({"spec": spec}).to_string().replace('\'', "'\\''");
            let name = kind.as_str().to_ascii_lowercase();
            let (place, object) = (metadata.namespace, metadata.name);
            let _ = writeln!(self.shell, "kubectl patch {name} {object} -n {place} --type=merge -p '{patch}'");
        }
        let document = json!({
            "apiVersion": kind.api_version(),
            "kind": kind.as_str(),
            "metadata": {"name": metadata.name, "namespace": metadata.namespace},
            "spec": spec,
        });
        // JSON is YAML.
        let _ = writeln!(self.yaml, "---\n{document:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit;
    use super::*;
    use crate::model::manifest;

    #[test]
    fn two_changes_of_one_workload_are_one_patch() {
        let today = manifest::load_text("shop.yaml", edit::tests::SHOP).objects;
        let mut wanted = today.clone();
        let web = ["deployment/shop/web".to_owned()];
        edit::replicas(&mut wanted, &web, 5).expect("there is one");
        edit::toleration_seconds(&mut wanted, &web, &["node.kubernetes.io/unreachable"], 30).expect("there is one");
        let found = patches(&today, &wanted, &[]);
        let lines: Vec<&str> = found.shell.lines().collect();
        assert_eq!(
            lines[2..],
            [
                "kubectl patch deployment web -n shop --type=merge -p '{\"spec\":{\"replicas\":5,\"template\":{\"spec\":{\"tolerations\":[{\"effect\":\"NoExecute\",\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\",\"tolerationSeconds\":30},{\"operator\":\"Exists\"}]}}}}'"
            ]
        );
        assert_eq!(found.yaml.matches("---").count(), 1);
    }

    #[test]
    fn a_cron_job_is_patched_in_its_job_template_and_a_job_is_created_anew() {
        let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once, namespace: shop}\nspec: {template: {spec: \
                   {restartPolicy: Never, containers: [{name: c, image: x}]}}}\n";
        let today = manifest::load_text("shop.yaml", &format!("{}---\n{job}", edit::tests::SHOP)).objects;
        let mut wanted = today.clone();
        let both = ["cronjob/*".to_owned(), "job/*".to_owned()];
        edit::toleration_seconds(&mut wanted, &both, &["node.kubernetes.io/not-ready"], 5).expect("there are two");
        let found = patches(&today, &wanted, &[]);
        assert!(
            found.shell.contains("kubectl patch cronjob nightly -n shop --type=merge -p '{\"spec\":{\"jobTemplate\":")
        );
        assert!(found.shell.contains("# job/shop/once cannot be changed") && !found.shell.contains("patch job "));
    }

    #[test]
    fn what_is_new_is_applied_what_is_gone_is_deleted_and_nothing_required_is_left_out() {
        let today = manifest::load_text("shop.yaml", edit::tests::SHOP).objects;
        let mut wanted = today.clone();
        wanted.retain(|object| !matches!(object.object, Object::Pod(_)));
        let budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\nspec: {maxUnavailable: 1, \
                      selector: {matchLabels: {app: web}}}\n";
        wanted.extend(manifest::load_text("budget.yaml", budget).objects);
        if let Some(template) = crate::scenario::pod_template_mut(&mut wanted[0].object) {
            template.spec.topology_spread_constraints.push(crate::model::TopologySpreadConstraint {
                max_skew: 1,
                topology_key: crate::arena::Symbol::new("kubernetes.io/hostname"),
                ..Default::default()
            });
        }
        let found = of_change(&today, &wanted);
        assert!(found.shell.contains("kubectl apply -f - <<'EOF'") && found.shell.contains("\"PodDisruptionBudget\""));
        assert!(found.shell.contains("kubectl delete pod other -n shop"));
        assert!(found.shell.contains("\"whenUnsatisfiable\":\"DoNotSchedule\""), "{}", found.shell);
    }

    #[test]
    fn flags_are_told_in_words() {
        let told = |path: &str, value: &str| in_words(path, value);
        assert_eq!(
            told("spec.controlPlane.kubeControllerManager.node-monitor-grace-period", "\"20s\""),
            "start kube-controller-manager with --node-monitor-grace-period=20s"
        );
        assert_eq!(
            told("spec.controlPlane.kubelet.nodeLeaseDurationSeconds", "20"),
            "set nodeLeaseDurationSeconds: 20 in the KubeletConfiguration of every node"
        );
    }
}
