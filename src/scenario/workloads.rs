//! Workloads: the templates of their pods, and how scenarios name them: `deployment/shop/frontend`, with `*` for any text.

use std::sync::Arc;

use crate::diagnostics::nearest;
use crate::model::{ManifestObject, Object, PodTemplateSpec};
use crate::observe::workload_matches;

/// The kinds that can be named.
const KINDS: [&str; 4] = ["deployment", "replicaset", "daemonset", "statefulset"];

/// What is wrong with a pattern, and what would be right.
pub(super) fn check_pattern(pattern: &str) -> Result<(), (String, String)> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let [kind, namespace, name] = parts.as_slice() else {
        // One star can stand for several parts.
        if pattern.contains('*') && parts.len() < 3 {
            return Ok(());
        }
        let message = format!("`{pattern}` does not name a workload");
        return Err((message, "write `kind/namespace/name`, such as `deployment/shop/*`".to_owned()));
    };
    if namespace.is_empty() || name.is_empty() {
        let message = format!("`{pattern}` does not name a workload");
        return Err((message, "write `kind/namespace/name`, such as `deployment/shop/*`".to_owned()));
    }
    if kind.contains('*') || KINDS.contains(kind) {
        return Ok(());
    }
    let help = match nearest(kind, KINDS) {
        Some(kind) => format!("the nearest kind is `{kind}`"),
        None => format!("the kinds are `{}`", KINDS.join("`, `")),
    };
    Err((format!("`{kind}` is not a kind of workload here"), help))
}

/// What a pattern that selects none of these workloads probably means: a pattern as well, if it is one; or the workload whose last parts are as
/// given.
pub(crate) fn nearest_pattern(pattern: &str, known: &[String]) -> Option<String> {
    let written: Vec<&str> = pattern.split('/').collect();
    if written.len() < 3 {
        let end = |path: &str| path.split('/').skip(3 - written.len()).collect::<Vec<_>>().join("/");
        let ends: Vec<String> = known.iter().map(|path| end(path)).collect();
        let near = nearest(pattern, ends.iter().map(String::as_str))?;
        return ends.iter().position(|end| end == near).map(|place| known[place].clone());
    }
    // What a star stands for need not be near to it.
    let as_written = |(part, written): (&str, &&str)| {
        let is_meant = written.contains('*') && workload_matches(written, part);
        if is_meant { (*written).to_owned() } else { part.to_owned() }
    };
    let candidates: Vec<String> =
        known.iter().map(|path| path.split('/').zip(&written).map(as_written).collect::<Vec<_>>().join("/")).collect();
    nearest(pattern, candidates.iter().map(String::as_str)).map(str::to_owned)
}

/// How a scenario names the workload that an object is.
pub(super) fn path_of(object: &ManifestObject) -> Option<String> {
    let kind = match object.object {
        Object::Deployment(_) => "deployment",
        Object::ReplicaSet(_) | Object::ReplicationController(_) => "replicaset",
        Object::DaemonSet(_) => "daemonset",
        Object::StatefulSet(_) => "statefulset",
        _ => return None,
    };
    let metadata = object.object.metadata();
    Some(format!("{kind}/{}/{}", metadata.namespace, metadata.name))
}

/// The template of a workload's pods.
pub(crate) fn pod_template(object: &Object) -> Option<&PodTemplateSpec> {
    match object {
        Object::Deployment(object) => Some(&object.spec.template),
        Object::ReplicaSet(object) => Some(&object.spec.template),
        Object::ReplicationController(object) => Some(&object.spec.template),
        Object::DaemonSet(object) => Some(&object.spec.template),
        Object::StatefulSet(object) => Some(&object.spec.template),
        Object::Job(object) => Some(&object.spec.template),
        Object::CronJob(object) => Some(&object.spec.job_template.spec.template),
        _ => None,
    }
}

/// The same, to be changed.
pub(crate) fn pod_template_mut(object: &mut Object) -> Option<&mut PodTemplateSpec> {
    Some(match object {
        Object::Deployment(object) => Arc::make_mut(&mut object.spec.template),
        Object::ReplicaSet(object) => Arc::make_mut(&mut object.spec.template),
        Object::ReplicationController(object) => Arc::make_mut(&mut object.spec.template),
        Object::DaemonSet(object) => Arc::make_mut(&mut object.spec.template),
        Object::StatefulSet(object) => Arc::make_mut(&mut object.spec.template),
        Object::Job(object) => Arc::make_mut(&mut object.spec.template),
        Object::CronJob(object) => Arc::make_mut(&mut object.spec.job_template.spec.template),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_kind_namespace_and_name() {
        let check = |pattern: &str, expected: bool| assert_eq!(check_pattern(pattern).is_ok(), expected, "{pattern}");
        check("deployment/shop/frontend", true);
        check("deployment/shop/*", true);
        check("*/shop/*", true);
        check("*", true);
        check("statefulset/*/db-*", true);
        check("Deployment/shop/x", false);
        check("pod/shop/x", false);
        check("deployment/shop", false);
        check("deployment//x", false);
    }

    #[test]
    fn the_nearest_pattern_keeps_its_stars() {
        let known =
            ["deployment/default/frontend", "deployment/default/cart", "statefulset/data/db"].map(str::to_owned);
        let check = |pattern: &str, expected: Option<&str>| {
            assert_eq!(nearest_pattern(pattern, &known).as_deref(), expected, "{pattern}");
        };
        check("deployment/defualt/*", Some("deployment/default/*"));
        check("deployment/defualt/f*", Some("deployment/default/f*"));
        check("deployment/default/frontnd", Some("deployment/default/frontend"));
        check("frontend", Some("deployment/default/frontend"));
        check("data/dbs", Some("statefulset/data/db"));
        check("job/other/nothing-alike", None);
    }
}
