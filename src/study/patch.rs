//! What makes a real cluster that of a variant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::edit::path_of;
use super::operations::operations;
use super::setting::Setting;
use crate::model::{ManifestObject, Object, ObjectMeta};

/// Changes, ready to be applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patches {
    /// kubectl lines; of what no kubectl line can do, a script that says so and fails.
    pub shell: String,
    /// The same as documents: the changed fields of each object as a merge patch, new objects as a whole; empty if there are none. Each
    /// has its kubectl line as a comment.
    pub yaml: String,
}

/// What turns the objects of today into those of a variant; one patch an object, whatever was changed in it. Values of the
/// scenario's document, such as flags, are told in words. The documents go to a file of that name.
pub(super) fn patches(
    today: &[ManifestObject],
    wanted: &[ManifestObject],
    settings: &[Setting],
    file: &str,
) -> Patches {
    let mut steps = Steps::default();
    steps.told.extend(settings.iter().filter_map(Setting::of_document).map(|(path, value)| in_words(path, value)));
    // Edits neither add nor remove objects.
    for (old, new) in today.iter().zip(wanted) {
        steps.compare(&old.object, &new.object);
    }
    if steps.is_empty() {
        steps.told.push("nothing is to be changed".to_owned());
    }
    steps.written(file)
}

/// What turns the objects of today into others, among which some may be new or gone. The documents go to a file of that name.
pub(super) fn of_change(today: &[ManifestObject], wanted: &[ManifestObject], file: &str) -> Patches {
    let mut steps = Steps::default();
    let (old, new) = (by_path(today), by_path(wanted));
    for (path, index) in &new {
        match old.get(path) {
            Some(before) => steps.compare(&today[*before].object, &wanted[*index].object),
            None => steps.create(&wanted[*index].object),
        }
    }
    // What a controller owns follows its owner.
    let is_own = |index: &usize| today[*index].object.metadata().owner_references.is_empty();
    for (path, index) in old.iter().filter(|(path, index)| !new.contains_key(*path) && is_own(index)) {
        let metadata = today[*index].object.metadata();
        let kind = path.split('/').next().unwrap_or_default();
        steps.deleted.push(format!("kubectl delete {kind} {}{}", metadata.name, in_namespace(metadata)));
    }
    steps.written(file)
}

/// What no kubectl line can do: the script says so, and fails; the documents are the objects as they are when it has been done, those
/// that are new or changed.
pub(super) fn by_hand(today: &[ManifestObject], wanted: &[ManifestObject], what: &str) -> Patches {
    let old = by_path(today);
    let differs = |object: &&ManifestObject| {
        let before = old.get(&path_of(&object.object)).map(|index| today[*index].object.to_manifest());
        before.is_none_or(|before| before["spec"] != object.object.to_manifest()["spec"])
    };
    let mut yaml = comment("No kubectl line does this. By hand:") + &comment(what);
    yaml += &comment(
        "The objects as they are then, for kubesquall and to be read: they make no machine, and move no data.",
    );
    for object in wanted.iter().filter(differs).map(|object| &object.object) {
        if object.metadata().owner_references.is_empty() {
            let _ = writeln!(yaml, "---\n{:#}", required(object.to_manifest()));
        }
    }
    let shell = format!("#!/bin/sh\ncat >&2 <<'EOF'\nNo kubectl line does this. By hand:\n{what}\nEOF\nexit 1\n");
    Patches { shell, yaml }
}

/// kubectl lines for an hour to come, which no document can say.
pub(super) fn runbook(lines: &str) -> Patches {
    Patches { shell: format!("{SCRIPT}{lines}"), yaml: String::new() }
}

/// How a script begins that ends with its first line that fails.
const SCRIPT: &str = "#!/bin/sh\nset -e\n";

/// Kinds that others name: they are made first.
const FIRST: [&str; 2] = ["PriorityClass", "StorageClass"];

/// Where objects stand, by their paths.
fn by_path(objects: &[ManifestObject]) -> BTreeMap<String, usize> {
    objects.iter().enumerate().map(|(index, object)| (path_of(&object.object), index)).collect()
}

/// ` -n shop`; nothing for what is in no namespace.
fn in_namespace(metadata: &ObjectMeta) -> String {
    if metadata.namespace.is_empty() { String::new() } else { format!(" -n {}", metadata.namespace) }
}

/// Each line as a comment of YAML or of a shell.
fn comment(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
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

/// The same value, with what [`say_what_is_required`] says.
fn required(mut value: Value) -> Value {
    say_what_is_required(&mut value);
    value
}

impl Patches {
    /// The same with a comment in front.
    pub(super) fn with_comment(self, text: &str) -> Self {
        let shell = self.shell.replacen(SCRIPT, &format!("{SCRIPT}{}", comment(text)), 1);
        Self { shell, yaml: comment(text) + &self.yaml }
    }
}

/// What is to be done, in the order of the fields.
#[derive(Default)]
struct Steps {
    /// In words.
    told: Vec<String>,
    /// Objects that are new.
    created: Vec<Value>,
    /// Objects that are changed.
    patched: Vec<Patched>,
    /// kubectl lines.
    deleted: Vec<String>,
}

/// An object that is changed.
struct Patched {
    /// `deployment web -n shop`; none if it cannot be changed.
    target: Option<String>,
    operations: Vec<Value>,
    /// The changed fields.
    document: Value,
}

impl Steps {
    fn is_empty(&self) -> bool {
        self.told.is_empty() && self.created.is_empty() && self.patched.is_empty() && self.deleted.is_empty()
    }

    fn create(&mut self, object: &Object) {
        self.created.push(required(object.to_manifest()));
    }

    fn compare(&mut self, old: &Object, new: &Object) {
        let metadata = new.metadata();
        // What a controller owns follows its owner.
        if matches!(new, Object::Pod(_) | Object::Node(_))
            || metadata.owner_references.iter().any(|owner| owner.controller)
        {
            return;
        }
        let (before, after) = (required(old.to_manifest()), required(new.to_manifest()));
        let Some(spec) = difference(&before["spec"], &after["spec"]) else { return };
        let kind = new.kind();
        let is_fixed = matches!(new, Object::Job(_));
        if is_fixed {
            let told = format!("{} cannot be changed: create it anew with what the YAML file says of it", path_of(new));
            self.told.push(told);
        }
        let name = kind.as_str().to_ascii_lowercase();
        let document = json!({
            "apiVersion": kind.api_version(),
            "kind": kind.as_str(),
            "metadata": {"name": metadata.name, "namespace": metadata.namespace},
            "spec": spec,
        });
        self.patched.push(Patched {
            target: (!is_fixed).then(|| format!("{name} {}{}", metadata.name, in_namespace(metadata))),
            operations: operations("/spec", &before["spec"], &after["spec"]),
            document,
        });
    }

    /// As a script and as documents, which go to a file of that name.
    fn written(mut self, file: &str) -> Patches {
        self.created.sort_by_key(|object| !FIRST.iter().any(|kind| object["kind"] == *kind));
        Patches { shell: self.shell(), yaml: self.yaml(file) }
    }

    fn shell(&self) -> String {
        let mut shell = SCRIPT.to_owned();
        shell.extend(self.told.iter().map(|told| comment(told)));
        for object in &self.created {
            let _ = writeln!(shell, "kubectl apply -f - <<'EOF'\n{object:#}\nEOF");
        }
        for patched in &self.patched {
            let Some(target) = &patched.target else { continue };
            let patch = json!(patched.operations).to_string().replace('\'', "'\\''");
            let _ = writeln!(shell, "kubectl patch {target} --type=json -p '{patch}'");
        }
        shell.extend(self.deleted.iter().map(|line| format!("{line}\n")));
        if !self.told.is_empty() {
            // Who runs it has not done what it only says.
            shell += "echo 'left to do by hand:' >&2\n";
            for line in self.told.iter().flat_map(|told| told.lines()) {
                let _ = writeln!(shell, "echo '  {}' >&2", line.replace('\'', "'\\''"));
            }
            shell += "exit 1\n";
        }
        shell
    }

    fn yaml(&self, file: &str) -> String {
        let mut yaml: String = self.told.iter().map(|told| comment(told)).collect();
        let count = self.created.len() + self.patched.len();
        let script = file.replace(".yaml", ".sh");
        let place = if count == 1 { file } else { "FILE" };
        if count > 1 {
            yaml += &comment(&format!(
                "Each document as a FILE of its own, with the line above it: of a file with several, `kubectl patch TYPE NAME \
                 --patch-file FILE` takes the first alone.\n{script} does all of it."
            ));
        }
        if self.patched.iter().any(|patched| patched.target.is_some()) {
            yaml += &comment(&format!(
                "A merge patch replaces lists as a whole. Those below are the lists of the input with the change: what has been added \
                 to them since is lost.\n{script} changes what it changes alone, and fails where that is not what it was."
            ));
        }
        for object in &self.created {
            let _ = writeln!(yaml, "---\n# kubectl apply -f {place}\n{object:#}");
        }
        for Patched { target, document, .. } in &self.patched {
            let line =
                target.as_ref().map(|target| format!("# kubectl patch {target} --type=merge --patch-file {place}\n"));
            // JSON is YAML.
            let _ = writeln!(yaml, "---\n{}{document:#}", line.unwrap_or_default());
        }
        yaml.extend(self.deleted.iter().map(|line| comment(line)));
        yaml
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
        let found = patches(&today, &wanted, &[], "patch.yaml");
        let lines: Vec<&str> = found.shell.lines().collect();
        let operations = json!([
            {"op": "replace", "path": "/spec/replicas", "value": 5},
            {"op": "test", "path": "/spec/template/spec/tolerations/0/operator", "value": "Exists"},
            {"op": "add", "path": "/spec/template/spec/tolerations/0", "value": {
                "effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 30,
            }},
        ]);
        assert_eq!(lines[2..], [format!("kubectl patch deployment web -n shop --type=json -p '{operations}'")]);
        assert_eq!(found.yaml.matches("---").count(), 1);
        let line = "# kubectl patch deployment web -n shop --type=merge --patch-file patch.yaml";
        assert!(found.yaml.lines().any(|of| of == line), "{}", found.yaml);
        assert!(found.yaml.starts_with("# A merge patch replaces lists as a whole."), "{}", found.yaml);
    }

    #[test]
    fn a_cron_job_is_patched_in_its_job_template_and_a_job_is_created_anew() {
        let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once, namespace: shop}\nspec: {template: {spec: \
                   {restartPolicy: Never, containers: [{name: c, image: x}]}}}\n";
        let today = manifest::load_text("shop.yaml", &format!("{}---\n{job}", edit::tests::SHOP)).objects;
        let mut wanted = today.clone();
        let both = ["cronjob/*".to_owned(), "job/*".to_owned()];
        edit::toleration_seconds(&mut wanted, &both, &["node.kubernetes.io/not-ready"], 5).expect("there are two");
        let found = patches(&today, &wanted, &[], "patch.yaml");
        let patch =
            "kubectl patch cronjob nightly -n shop --type=json -p '[{\"op\":\"test\",\"path\":\"/spec/jobTemplate/";
        assert!(found.shell.contains(patch), "{}", found.shell);
        assert!(found.shell.contains("# job/shop/once cannot be changed") && !found.shell.contains("patch job "));
        // Who runs it has not done all of it.
        assert!(found.shell.contains("left to do by hand") && found.shell.ends_with("exit 1\n"), "{}", found.shell);
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
        let class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n";
        wanted.extend(manifest::load_text("class.yaml", class).objects);
        let found = of_change(&today, &wanted, "01.yaml");
        let at = |text: &str| found.shell.find(text).unwrap_or_else(|| panic!("{text} in {}", found.shell));
        // Who names a class finds it.
        assert!(at("\"PriorityClass\"") < at("\"PodDisruptionBudget\""), "{}", found.shell);
        assert!(at("\"PodDisruptionBudget\"") < at("kubectl patch deployment web"), "{}", found.shell);
        assert!(at("kubectl patch deployment web") < at("kubectl delete pod other -n shop"), "{}", found.shell);
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
