//! What servers before 1.36 refuse beside what that refuses, and the fields that they do not know yet.

use super::error::Errors;
use super::format;
use super::path::Path;
use crate::model::config::KubernetesVersion;
use crate::model::{Container, ContainerRestartPolicy, Object, Opaque, PodSpec};

/// The spec of an object's pods, and the way to it.
fn pod_spec(object: &Object) -> Option<(&'static [&'static str], &PodSpec)> {
    const TEMPLATE: &[&str] = &["spec", "template", "spec"];
    Some(match object {
        Object::Pod(object) => (&["spec"], &object.spec),
        Object::Deployment(object) => (TEMPLATE, &object.spec.template.spec),
        Object::ReplicaSet(object) => (TEMPLATE, &object.spec.template.spec),
        Object::ReplicationController(object) => (TEMPLATE, &object.spec.template.spec),
        Object::StatefulSet(object) => (TEMPLATE, &object.spec.template.spec),
        Object::DaemonSet(object) => (TEMPLATE, &object.spec.template.spec),
        Object::Job(object) => (TEMPLATE, &object.spec.template.spec),
        Object::CronJob(object) => {
            (&["spec", "jobTemplate", "spec", "template", "spec"], &object.spec.job_template.spec.template.spec)
        }
        _ => return None,
    })
}

fn pod_spec_mut(object: &mut Object) -> Option<&mut PodSpec> {
    use std::sync::Arc;
    let template = match object {
        Object::Pod(object) => return Some(&mut object.spec),
        Object::Deployment(object) => &mut object.spec.template,
        Object::ReplicaSet(object) => &mut object.spec.template,
        Object::ReplicationController(object) => &mut object.spec.template,
        Object::StatefulSet(object) => &mut object.spec.template,
        Object::DaemonSet(object) => &mut object.spec.template,
        Object::Job(object) => &mut object.spec.template,
        Object::CronJob(object) => &mut object.spec.job_template.spec.template,
        _ => return None,
    };
    Some(&mut Arc::make_mut(template).spec)
}

/// What that version refuses of a new object.
///
/// # Source
///
/// kube-apiserver up to 1.35: Services have names of RFC 1035 (`RelaxedServiceNameValidation`, 1.36); up to 1.34: only init
/// containers have a `restartPolicy`, and it is `Always` (`ContainerRestartRules`, 1.35).
pub(super) fn validate(object: &Object, version: KubernetesVersion, e: &mut Errors) {
    if let Object::Service(service) = object
        && !version.at_least(36)
    {
        let name = service.metadata.name.as_str();
        let problems = if name.is_empty() { Vec::new() } else { format::old_dns_label(name) };
        // What is no name today either is told of once.
        if format::dns_label(name).is_empty() {
            let metadata = Path::ROOT.child("metadata");
            e.texts(&metadata.child("name"), name, problems);
        }
    }
    let Some((way, spec)) = pod_spec(object).filter(|_| !version.at_least(35)) else { return };
    below(&Path::ROOT, way, &mut |path| {
        for (index, container) in spec.containers.iter().enumerate() {
            if container.restart_policy.is_some() {
                let path = path.child("containers");
                e.forbidden(&path.index(index).child("restartPolicy"), "may not be set for non-init containers");
            }
        }
        for (index, container) in spec.init_containers.iter().enumerate() {
            let policy = container.restart_policy.filter(|policy| *policy != ContainerRestartPolicy::Always);
            if let Some(policy) = policy {
                let path = path.child("initContainers");
                e.not_supported(&path.index(index).child("restartPolicy"), policy.as_str(), &["Always"]);
            }
        }
    });
}

fn below(path: &Path<'_>, way: &[&'static str], then: &mut dyn FnMut(&Path<'_>)) {
    match way {
        [] => then(path),
        [first, rest @ ..] => below(&path.child(first), rest, then),
    }
}

/// Takes away the fields that a server of that version drops.
///
/// # Source
///
/// kube-apiserver, `DropDisabledFields` of the strategies: `resources` of pods (`PodLevelResources`) before 1.34; rules of
/// restarts (`ContainerRestartRules`) and the tolerance of autoscalers (`HPAConfigurableTolerance`) before 1.35.
pub fn drop_unknown(object: &mut Object, version: KubernetesVersion) {
    if version.at_least(35) {
        return;
    }
    if let Object::HorizontalPodAutoscaler(autoscaler) = object
        && let Some(behavior) = &mut autoscaler.spec.behavior
    {
        for rules in [&mut behavior.scale_up, &mut behavior.scale_down].into_iter().flatten() {
            rules.tolerance = None;
        }
    }
    let has = |spec: &PodSpec| {
        let has_rules = |container: &Container| !container.restart_policy_rules.is_none();
        let mut containers = spec.containers.iter().chain(&spec.init_containers);
        (spec.resources.is_some() && !version.at_least(34)) || containers.any(has_rules)
    };
    if !pod_spec(object).is_some_and(|(_, spec)| has(spec)) {
        return;
    }
    let Some(spec) = pod_spec_mut(object) else { return };
    if !version.at_least(34) {
        spec.resources = None;
    }
    for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
        container.restart_policy_rules = Opaque::none();
    }
}

#[cfg(test)]
mod tests {
    use super::super::validate_in;
    use super::*;

    fn object(json: &str) -> Object {
        Object::from_value(serde_json::from_str(json).expect("JSON")).expect("a kind").expect("an object")
    }

    #[test]
    fn names_of_services_and_restarts_of_containers_are_refused_by_older_servers() {
        #[track_caller]
        fn check(json: &str, version: &str, expected: &[&str]) {
            let version = version.parse().expect("a version");
            let found: Vec<String> = validate_in(&object(json), version)
                .iter()
                .map(|error| format!("{}: {}", error.field, error.detail))
                .collect();
            assert!(
                found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a.starts_with(b)),
                "{found:?}"
            );
        }
        let service = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"1st"},"spec":{"ports":[{"port":1}]}}"#;
        check(service, "1.36", &[]);
        check(service, "1.35", &["metadata.name: a DNS-1035 label must consist of"]);
        let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","terminationMessagePolicy":"File",
            "imagePullPolicy":"Always","restartPolicy":"Never"}],"initContainers":[{"name":"d","image":"i","terminationMessagePolicy":"File",
            "imagePullPolicy":"Always","restartPolicy":"OnFailure"}],"restartPolicy":"Always","dnsPolicy":"ClusterFirst"}}"#;
        check(pod, "1.35", &[]);
        let expected = [
            "spec.containers[0].restartPolicy: may not be set for non-init containers",
            "spec.initContainers[0].restartPolicy: supported values: \"Always\"",
        ];
        check(pod, "1.34", &expected);
    }

    #[test]
    fn fields_that_a_version_does_not_have_are_dropped() {
        let pods = |version: &str| {
            let mut deployment = object(
                r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"template":{"spec":{"resources":{"requests":
                   {"cpu":"1"}},"containers":[{"name":"c","restartPolicyRules":[{"action":"Restart"}]}]}}}}"#,
            );
            drop_unknown(&mut deployment, version.parse().expect("a version"));
            let spec = pod_spec(&deployment).expect("pods").1;
            (spec.resources.is_some(), spec.containers[0].restart_policy_rules.is_none())
        };
        assert_eq!([pods("1.33"), pods("1.34"), pods("1.35")], [(false, true), (true, true), (true, false)]);
    }
}
