//! What kind of bundle paths tell of, and which of its files may hold objects.

/// Bytes by which a file is told that its name does not tell.
pub(in crate::import) const HEAD_LENGTH: u64 = 64;

/// A kind of bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    Sonobuoy,
    MustGather,
    Insights,
    Troubleshoot,
    Velero,
    ClusterInfo,
    K8shark,
    Kwok,
    SimKube,
    SchedulerSimulator,
    /// What an earlier import wrote.
    Imported,
}

impl Form {
    /// The words that users see.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Sonobuoy => "sonobuoy results",
            Self::MustGather => "must-gather",
            Self::Insights => "Insights archive",
            Self::Troubleshoot => "troubleshoot.sh support bundle",
            Self::Velero => "Velero backup",
            Self::ClusterInfo => "kubectl cluster-info dump",
            Self::K8shark => "k8shark capture",
            Self::Kwok => "KWOK recording",
            Self::SimKube => "SimKube trace",
            Self::SchedulerSimulator => "kube-scheduler-simulator",
            Self::Imported => "imported cluster",
        }
    }
}

/// The form of a bundle that has a file of that path.
pub(super) fn of_path(path: &str) -> Option<Form> {
    let has = |part: &str| path.contains(part);
    if has("/cluster-scoped-resources/") || (has("/namespaces/") && has("/core/pods.yaml")) {
        Some(Form::MustGather)
    } else if has("/cluster-resources/") {
        Some(Form::Troubleshoot)
    } else if has("/resources/")
        && (has("/namespaces/") || has("/cluster/"))
        && path.ends_with(".json")
        && !has("/core_v1_")
    {
        Some(Form::Velero)
    } else if has("/core_v1_") || has("/cluster/Nodes.json") || has("/Pods.json") {
        Some(Form::Sonobuoy)
    } else if has("/config/node/") || has("/config/pod/") {
        Some(Form::Insights)
    } else {
        None
    }
}

/// Whether a file of a bundle may hold objects, as its name tells.
pub(in crate::import) fn may_have_objects(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    [".yaml", ".yml", ".json", ".sktrace"].iter().any(|end| name.ends_with(end))
}

/// Whether a file whose name does not tell begins like an object. Logs are none, whatever they begin with.
pub(in crate::import) fn looks_like_objects(path: &str, head: &[u8]) -> bool {
    let is_log = path.ends_with(".log") || path.ends_with(".jsonl") || path.contains("/logs/");
    let head = String::from_utf8_lossy(head);
    let head = head.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
    let head = head.strip_prefix("---").unwrap_or(head).trim_start();
    let begin = head.strip_prefix('{').unwrap_or(head).trim_start().trim_start_matches('"');
    !is_log
        && ["apiVersion", "kind"]
            .iter()
            .any(|key| begin.strip_prefix(key).is_some_and(|rest| rest.starts_with([':', '"'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_the_form() {
        for (path, form) in [
            ("b/cluster-scoped-resources/core/nodes/n1.yaml", Some(Form::MustGather)),
            ("b/cluster-resources/pods/shop.json", Some(Form::Troubleshoot)),
            ("b/resources/pods/namespaces/shop/web.json", Some(Form::Velero)),
            ("b/resources/ns/shop/core_v1_pods.json", Some(Form::Sonobuoy)),
            ("b/config/pod/shop/web.json", Some(Form::Insights)),
            ("dump/pods.yaml", None),
        ] {
            assert_eq!(of_path(path), form, "{path}");
        }
    }

    #[test]
    fn files_that_begin_like_objects_are_told_from_others() {
        for (path, head, expected) in [
            ("x", "apiVersion: v1\n", true),
            ("x.txt", "---\nkind: Pod\n", true),
            ("x", "{\n  \"kind\": \"Pod\"", true),
            ("x.log", "{\"kind\":\"Event\"", false),
            ("metrics", "# TYPE x counter\n", false),
            ("x", "kindness\n", false),
        ] {
            assert_eq!(looks_like_objects(path, head.as_bytes()), expected, "{path} {head}");
        }
        assert!(
            may_have_objects("a/b/Pods.JSON") && may_have_objects("a.yaml.gz") && !may_have_objects("json/current.log")
        );
    }
}
