use super::*;

#[track_caller]
fn refused(line: &str) -> Vec<String> {
    match parse(line).expect("a line").command {
        Command::Refused(lines) => lines,
        other => panic!("{line} is not refused: {other:?}"),
    }
}

#[track_caller]
fn check_refused(line: &str, expected: &[&str]) {
    assert_eq!(refused(line), expected, "{line}");
}

#[test]
fn unknown_flags_name_the_nearest() {
    let error = parse("drain n1 --ignore-daemonset").expect_err("an unknown flag");
    assert!(error.help.expect("help").contains("--ignore-daemonsets"), "{}", error.message);
}

#[test]
fn flags_of_other_commands_and_of_old_are_refused_as_kubectl_does() {
    let usage = |command: &str| format!("See 'kubectl {command} --help' for usage.");
    let gone = "error: unknown flag: --delete-local-data";
    check_refused("drain n1 --delete-local-data", &[gone, &usage("drain")]);
    check_refused("patch pod -l a=b -p '{}'", &["error: unknown shorthand flag: 'l' in -l", &usage("patch")]);
    check_refused("patch pod p -la=b -p '{}'", &["error: unknown shorthand flag: 'l' in -la=b", &usage("patch")]);
    check_refused("rollout restart deploy/a --force", &["error: unknown flag: --force", &usage("rollout restart")]);
}

#[test]
fn drain_needs_nodes_but_not_twice() {
    let help = |verb: &str| format!("See 'kubectl {verb} -h' for help and examples");
    check_refused("drain", &["error: USAGE: drain NODE [flags]", &help("drain")]);
    let both = "error: cannot specify both a node name and a --selector option";
    check_refused("drain n1 -l a=b", &[both, &help("drain")]);
    check_refused("cordon n1 -l a=b", &[both, &help("cordon")]);
    assert!(matches!(parse("drain -l a=b --timeout 5m").expect("a drain").command, Command::Drain(_)));
    assert!(parse("drain n1 --timeout=-5m").is_err());
}

#[test]
fn labels_and_taints_are_told_from_names() {
    let Command::Label(args) = parse("label node w-0 gpu=yes role-").expect("a line").command else {
        panic!("a label")
    };
    assert_eq!(args.changes, [("gpu".into(), Some("yes".into())), ("role".into(), None)]);
    let Command::Taint(args) = parse("taint nodes w-0 maint:NoExecute-").expect("a line").command else {
        panic!("a taint")
    };
    assert_eq!((args.selection.targets.len(), args.taints.len()), (1, 1));
}

#[test]
fn a_type_without_a_name_is_refused() {
    let text = "error: resource(s) were provided, but no name was specified";
    for line in [
        "delete pods",
        "delete pod --force",
        "scale deployment --replicas=3",
        "label pods a=b",
        "annotate nodes a=b",
        "set image deployment c=i",
        "patch deployment -p '{}'",
    ] {
        check_refused(line, &[text]);
    }
    check_refused(
        "taint nodes a=b:NoSchedule",
        &["error: at least one resource name must be specified since 'all' parameter is not set"],
    );
    for verb in ["cordon", "uncordon"] {
        check_refused(
            verb,
            &[&format!("error: USAGE: {verb} NODE [flags]"), &format!("See 'kubectl {verb} -h' for help and examples")],
        );
    }
    assert_eq!(refused("scale --replicas=2").len(), 6);
    check_refused("rollout restart", &["error: required resource not specified"]);
    assert!(matches!(parse("rollout restart deployment").expect("all").command, Command::Rollout(_)));
}

#[test]
fn what_excludes_each_other_is_refused() {
    let check = |line: &str, text: &str| assert_eq!(refused(line)[0], format!("error: {text}"), "{line}");
    check("delete pods --all -l a=b", "setting 'all' parameter but found a non empty selector. ");
    check("delete pod a --now --grace-period=5", "--now and --grace-period cannot be specified together");
    check(
        "delete pod a --force --grace-period=5",
        "--force and --grace-period greater than 0 cannot be specified together",
    );
    check("delete pod a -l b=c", "name cannot be provided when a selector is specified");
    check("delete pod/a -l b=c", "selectors and the all flag cannot be used when passing resource/name arguments");
    check("delete pod a -A", "a resource cannot be retrieved by name across all namespaces");
    check("delete pod/a/b", "arguments in resource/name form may not have more than one slash");
    check("delete pod a -o json", "unexpected -o output mode: json. We only support '-o name'");
    check("label pods --all -l a=b c=d", "cannot set --all and --selector at the same time");
    check("label pod a b=c b-", "can not both modify and remove a label in the same command");
    check("label pod a b=c x", "all resources must be specified before label changes: x");
    check("label pod a", "at least one label update is required");
    check("annotate pod a k=v k-", "can not both modify and remove the following annotation(s) in the same command: k");
    check(
        "taint node a k=v:NoSchedule k-",
        "can not both modify and remove the following taint(s) in the same command: k=",
    );
    check(
        "taint node a k=v:NoSchedule k=w:NoSchedule",
        "duplicated taints with the same key and effect: {k w NoSchedule <nil>}",
    );
    check("taint node a k", "at least one taint update is required");
    check("taint pod a k=v:NoSchedule", "invalid resource type pod, only node types are supported");
    check("cordon a --dry-run=maybe", "Invalid dry-run value (maybe). Must be \"none\", \"server\", or \"client\".");
}

#[test]
fn flags_stand_anywhere_and_in_any_form() {
    let check = |line: &str, namespace: &str| {
        let parsed = parse(line).expect(line);
        let Command::Rollout(args) = parsed.command else { panic!("{line}: {:?}", parsed.command) };
        assert_eq!(args.selection.namespace, namespace, "{line}");
        assert_eq!(args.selection.targets.len(), 1, "{line}");
    };
    for line in [
        "kubectl -n kube-system rollout restart ds/x",
        "kubectl --namespace=kube-system rollout restart ds/x",
        "kubectl rollout -n kube-system restart ds/x",
        "kubectl rollout restart ds/x -nkube-system",
        "kubectl rollout restart -n=kube-system ds x",
        "--context prod --kubeconfig=/k rollout restart daemonset.apps/x --namespace kube-system",
        "KUBECONFIG=/k kubectl --as admin -v5 rollout restart daemonsets.v1.apps/x -n kube-system --request-timeout 5s",
    ] {
        check(line, "kube-system");
    }
    check("rollout restart ds/x", "default");
}

#[test]
fn dry_runs_and_outputs_are_read() {
    use crate::kubectl::printing::{DryRun, Output};
    let check = |line: &str, dry_run: DryRun, output: Output| {
        let expected = Printing { dry_run, output, ..Printing::default() };
        assert_eq!(parse(line).expect(line).printing, expected, "{line}");
    };
    check("cordon n", DryRun::None, Output::Human);
    check("cordon n --dry-run", DryRun::Client, Output::Human);
    check("cordon --dry-run n", DryRun::Client, Output::Human);
    check("cordon n --dry-run=true", DryRun::Client, Output::Human);
    check("cordon n --dry-run=server", DryRun::Server, Output::Human);
    check("scale deploy/a --replicas=1 --dry-run=none -oname", DryRun::None, Output::Name);
    check(
        "apply -f x -o yaml",
        DryRun::None,
        Output::Object(std::sync::Arc::new(crate::kubectl::output::Format::Yaml)),
    );
}

#[test]
fn fields_and_labels_select() {
    let line = "delete pods -A -lapp=x,tier!=y --field-selector=spec.nodeName=n-0,status.phase!=Running";
    let Command::Delete(args) = parse(line).expect("a line").command else { panic!("a deletion") };
    let fields = args.selection.fields.0;
    assert!(args.selection.all_namespaces && args.selection.selector.is_some());
    assert_eq!(
        (fields[0].field.as_str(), fields[0].value.as_str(), fields[0].is_negated),
        ("spec.nodeName", "n-0", false)
    );
    assert_eq!(
        (fields[1].field.as_str(), fields[1].value.as_str(), fields[1].is_negated),
        ("status.phase", "Running", true)
    );
}
