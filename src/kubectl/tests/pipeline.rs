//! What a line's output goes through.

use super::*;
use crate::kubectl::{Command, Input, Source};

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[track_caller]
fn check(line: &str, exit: i32, stdout: &[&str], stderr: &[&str]) -> Desk {
    let mut desk = Desk::new(line);
    for pod in ["web-1", "web-2", "db-0"] {
        desk.web(pod);
    }
    let (found, out, err) = desk.printed(600.0);
    assert_eq!((out, err), (owned(stdout), owned(stderr)), "{line}");
    assert_eq!(found, exit, "{line}");
    desk
}

#[test]
fn small_programs_choose_among_the_lines() {
    check("get pods -o name | grep web", 0, &["pod/web-1", "pod/web-2"], &[]);
    check("get pods --no-headers | awk '{print $1}' | sort -r | head -1", 0, &["web-2"], &[]);
    check("get pods -o name|wc -l", 0, &["3"], &[]);
    check("get nodes -o name | tee nodes.txt", 0, &["node/m", "node/n"], &[]);
    check("cordon n | grep nothing", 0, &[], &[]);
    let text = "kubesquall: what `jq -r .x` makes of it is not simulated";
    check("get pods -o name | head -1 | jq -r .x", 0, &["pod/db-0"], &[text]);
    let text = "kubesquall: the output of `kubectl describe` is not simulated";
    check("describe pod web-1 | grep Image", 0, &[], &[text]);
}

#[test]
fn what_fails_fails_whatever_its_output_goes_through() {
    let missing = "Error from server (NotFound): pods \"no\" not found";
    check("get pod no | grep x", 1, &[], &[missing]);
    check("get pod no || true", 1, &[], &[missing]);
}

#[test]
fn xargs_calls_kubectl_with_what_it_reads() {
    let deleted = ["pod \"web-1\" deleted from default namespace", "pod \"web-2\" deleted from default namespace"];
    let desk = check("get pods -o name | grep web | xargs kubectl delete", 0, &deleted, &[]);
    assert!(!desk.exists("web-1") && !desk.exists("web-2") && desk.exists("db-0"));
    let done_s = desk.done_s();
    let desk = check("get pods | grep '^web' | awk '{print $1}' | xargs -n1 kubectl delete pod", 0, &deleted, &[]);
    assert!(desk.done_s() > done_s + 0.2, "each call starts when the one before has ended: {}", desk.done_s());
    let labeled = ["pod/db-0 labeled", "pod/web-1 labeled", "pod/web-2 labeled"];
    check("get pods -o name | xargs -I{} kubectl label {} seen=yes", 0, &labeled, &[]);
    let missing = "Error from server (NotFound): pods \"no\" not found";
    let line = "get pod db-0 -o name | sed 's/pod.db-0/no web-1/' | xargs kubectl delete pod";
    check(line, 123, &deleted[..1], &[missing]);
    let nothing = "error: resource(s) were provided, but no name was specified";
    check("get pods -o name | grep nothing | xargs kubectl delete pod", 123, &[], &[nothing]);
    check("get pods -o name | grep nothing | xargs -r kubectl delete pod", 0, &[], &[]);
}

#[test]
fn what_is_made_on_one_side_is_applied_on_the_other() {
    let left_out = crate::kubectl::view::LEFT_OUT;
    let desk =
        check("create ns shop --dry-run=client -o yaml | kubectl apply -f -", 0, &["namespace/shop created"], &[]);
    assert!(desk.store().namespace(Symbol::new("shop")).is_some());
    let line = "create deployment web --image=i --dry-run=client -o yaml | sed 's/replicas: 1/replicas: 3/' | kubectl create -f - | tee log";
    let desk = check(line, 0, &["deployment.apps/web created"], &[]);
    let (_, made) = desk.store().deployments.iter().next().expect("the deployment");
    assert_eq!(made.spec.replicas, Some(3));
    let line = "create cm c --from-literal=a=b --dry-run=client -o json | kubectl apply -n default -f -";
    check(line, 0, &["configmap/c created"], &[]);
    let desk = check(
        "get pod web-1 -o yaml | kubectl delete -f -",
        0,
        &["pod \"web-1\" deleted from default namespace"],
        &[left_out],
    );
    assert!(!desk.exists("web-1"));
    let line = "run web --image=i --dry-run=client -o yaml | kubectl create -n kube-system -f -";
    let desk = check(line, 0, &["pod/web created"], &[]);
    assert!(desk.store().find_pod(Symbol::new("kube-system"), &Arc::from("web")).is_some());
    let another = "error: the namespace from the provided object \"kube-public\" does not match the namespace \"kube-system\". \
                   You must pass '--namespace=kube-public' to perform this operation.";
    let line = "run web --image=i -n kube-public --dry-run=client -o yaml | kubectl create -n kube-system -f -";
    check(line, 1, &[], &[another]);
    let missing = "Error from server (NotFound): pods \"no\" not found";
    check("get pod no -o yaml | kubectl apply -f -", 1, &[], &[missing, "error: no objects passed to apply"]);
}

#[test]
fn standard_input_is_what_the_line_holds() {
    let input = |line: &str| -> Input {
        let parsed = parse(line).expect(line);
        assert!(matches!(parsed.command, Command::Apply(_)), "{line}");
        assert_eq!(parsed.files, ["-"], "{line}");
        parsed.input.expect(line)
    };
    let text = |line: &str| match input(line) {
        Input { source: Source::Text(text), .. } => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text("kubectl apply -f - <<EOF\na: b\nEOF\n"), "a: b\n");
    assert_eq!(text("cat <<EOF | kubectl apply -n x -f -\na: b\nEOF\n"), "a: b\n");
    assert_eq!(text("echo 'a: b' | kubectl create -f /dev/stdin"), "a: b\n");
    let from_file = input("cat x.yaml | sed 's/a/b/' | kubectl apply -f -");
    assert!(matches!(&from_file.source, Source::File(path) if path == "x.yaml"));
    assert_eq!(from_file.filtered("a: a\n"), "b: a\n");
    assert!(matches!(input("kubectl apply -f - < x.yaml").source, Source::File(path) if path == "x.yaml"));
}

#[test]
fn what_nobody_knows_is_not_acted_on() {
    let check = |line: &str, word: &str| {
        let error = parse(line).expect_err(line);
        assert!(error.message.contains("not simulated"), "{line}: {}", error.message);
        assert_eq!(error.word, word, "{line}");
        assert!(error.help.is_some(), "{line}");
    };
    check("get pods -o json | jq -r .x | xargs kubectl delete pod", "xargs kubectl delete pod");
    check("kustomize x | kubectl apply -f -", "kubectl apply -f -");
    check("logs x | xargs -n1 kubectl cordon", "xargs -n1 kubectl cordon");
    assert!(parse("get pods -o json | jq .x | xargs kubectl describe pod").is_ok());
    let error = parse("apply -f -").expect_err("nothing comes in");
    assert!(error.help.is_some_and(|help| help.contains("<<EOF")));
    assert!(parse("helm template x | kubectl apply -f -").is_err());
}

#[test]
fn what_is_replaced_by_force_is_gone_before_it_is_made_anew() {
    let line = "get pod web-1 -o yaml | sed 's/node: n/node: m/' | kubectl replace --force -f -";
    let stdout = ["pod \"web-1\" deleted from default namespace", "pod/web-1 replaced"];
    let desk = check(line, 0, &stdout, &[crate::kubectl::view::LEFT_OUT]);
    assert!(desk.exists("web-1"));
    let done_s = desk.done_s();
    assert!((1.0..1.5).contains(&done_s), "it looks every second whether the pod is gone: {done_s}");
}

#[test]
fn what_other_programs_feed_to_kubectl_is_not_known() {
    let refused = |line: &str, word: &str| {
        let error = parse(line).expect_err(line);
        assert_eq!((error.word.as_str(), error.help.is_some()), (word, true), "{line}: {}", error.message);
        assert!(error.message.contains("is not simulated"), "{line}: {}", error.message);
    };
    refused("envsubst < f.yaml | kubectl apply -f -", "kubectl apply -f -");
    refused("curl -X POST https://x.example/f.yaml | kubectl apply -f -", "kubectl apply -f -");
    refused("helm template x | kubectl apply -f -", "kubectl apply -f -");
    for line in [
        "curl -sSL https://x.example/f.yaml | kubectl apply -f -",
        "curl https://x.example/f.yaml | sed s/a/b/ | kubectl apply -f -",
    ] {
        let source = parse(line).expect(line).input.map(|input| input.source);
        assert!(matches!(source, Some(Source::File(path)) if path == "https://x.example/f.yaml"), "{line}");
    }
}
