//! Output that is meant for people, where objects were expected.

use crate::diagnostics::{Diagnostic, Location};

/// The command that saves everything of a cluster that a run makes use of.
pub const DUMP_COMMAND: &str = "kubectl get nodes,namespaces,pods,services,deployments,replicasets,statefulsets,daemonsets,\
jobs,cronjobs,replicationcontrollers,controllerrevisions,poddisruptionbudgets,priorityclasses,horizontalpodautoscalers,limitranges,resourcequotas,\
persistentvolumes,persistentvolumeclaims,storageclasses,runtimeclasses,csinodes,csidrivers -A -o yaml > cluster.yaml";

/// What to say of a text that is no YAML of objects but what kubectl prints for people; nothing if it is another.
pub(super) fn explain(text: &str, location: impl FnOnce() -> Location) -> Option<Diagnostic> {
    let first = text.lines().map(str::trim_end).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let is_heading = |word: &str| word.chars().all(|c| c.is_ascii_uppercase() || "-()/%".contains(c));
    let is_table = (first.starts_with("NAME ") || first.starts_with("NAMESPACE ") || first.starts_with("LAST SEEN "))
        && first.split_whitespace().all(is_heading);
    let message = if is_table {
        "this is a table that kubectl prints for people"
    } else if is_description(first, text) {
        "this is a description that kubectl prints for people"
    } else {
        return None;
    };
    Some(refusal(message, location()))
}

/// Whether a text is that of `kubectl describe`.
fn is_description(first: &str, text: &str) -> bool {
    let fields = ["Namespace:", "Labels:", "Roles:", "Annotations:"];
    first.starts_with("Name: ") && text.lines().skip(1).take(8).any(|line| fields.iter().any(|f| line.starts_with(f)))
}

/// What to say of a `Table`, as API servers send it for printing.
pub(super) fn server_table(location: Location) -> Diagnostic {
    refusal("this is a Table, which an API server makes for printing and which holds no objects", location)
}

fn refusal(message: &str, location: Location) -> Diagnostic {
    Diagnostic::error("manifest::for_people", message)
        .at(location, "no objects can be read from this")
        .help(format!("save the objects themselves: `{DUMP_COMMAND}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectKind;

    #[test]
    fn what_is_for_people_is_told_from_objects() {
        let check = |text: &str, expected: bool| {
            assert_eq!(explain(text, || Location::file("x")).is_some(), expected, "{text}");
        };
        check("NAME   READY   STATUS    RESTARTS   AGE\nweb    1/1     Running   0          3d\n", true);
        check("NAMESPACE     NAME   READY\nkube-system   a      1/1\n", true);
        check("Name:         n1\nRoles:        <none>\nLabels:       a=b\n", true);
        check("apiVersion: v1\nkind: Pod\n", false);
        check("Name: x\nValue: y\n", false);
        check("NAME: x\n", false);
    }

    #[test]
    fn the_command_asks_for_every_kind_that_is_played() {
        for kind in ObjectKind::ALL {
            let name = kind.as_str().to_lowercase();
            let plural = match name.strip_suffix('y') {
                Some(stem) => format!("{stem}ies"),
                None if name.ends_with('s') => format!("{name}es"),
                None => format!("{name}s"),
            };
            let asked: Vec<&str> = DUMP_COMMAND.split([' ', ',']).collect();
            assert!(asked.contains(&plural.as_str()), "{plural}");
        }
    }
}
