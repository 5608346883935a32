//! Workloads as scenarios name them: `deployment/shop/frontend`, with `*` for any text.

use crate::diagnostics::nearest;
use crate::model::{ManifestObject, Object};

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
}
