//! All verbs but drain and rollout.

use super::*;

const LONGER: &str = r#"{"spec":{"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":900},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute"}]}}"#;

#[test]
fn tolerations_of_a_pod_are_lengthened_and_added_but_never_taken_away() {
    let mut desk = Desk::new(&format!("patch pod p -p '{LONGER}'"));
    let pod = desk.web("p");
    desk.check(0, &["pod/p patched"], &[]);
    let seconds: Vec<Option<i64>> = desk
        .store()
        .pods()
        .next()
        .map(|(_, pod)| pod.spec.tolerations.iter().map(|t| t.toleration_seconds).collect())
        .expect("the pod");
    assert_eq!(seconds, [Some(900), None]);
    assert!(desk.store().pod(pod).is_some());
    let mut desk = Desk::new(r#"patch pod p -p '{"spec":{"tolerations":[{"operator":"Exists"}]}}'"#);
    desk.web("p");
    let refused = "The Pod \"p\" is invalid: spec.tolerations: Forbidden: existing toleration can not be modified except \
                   its tolerationSeconds";
    desk.check(1, &[], &[refused]);
}

#[test]
fn of_a_pod_that_exists_little_can_be_patched() {
    let mut desk = Desk::new(r#"patch pod p -p '{"metadata":{"labels":{"tier":"web","app":null}}}'"#);
    let pod = desk.web("p");
    desk.check(0, &["pod/p patched"], &[]);
    let labels = &desk.store().pod(pod).expect("the pod").labels;
    assert_eq!(labels.get(Symbol::new("tier")), Some(Symbol::new("web")));
    assert_eq!(labels.get(Symbol::new("app")), None);
    let mut desk = Desk::new(r#"patch pod p -p '{"spec":{"priority":5}}'"#);
    desk.web("p");
    let (exit, _, stderr) = desk.printed(60.0);
    assert!(exit == 1 && stderr[0].starts_with("The Pod \"p\" is invalid: spec: Forbidden"), "{stderr:?}");
    let mut desk = Desk::new(r#"patch pod p -p '{"metadata":{"labels":{"app":"a"}}}'"#);
    desk.web("p");
    desk.check(0, &["pod/p patched (no change)"], &[]);
}

#[test]
fn a_budget_can_be_patched() {
    let mut desk = Desk::new(r#"patch pdb b --type merge -p '{"spec":{"minAvailable":null,"maxUnavailable":1}}'"#);
    desk.budget("b", 0);
    desk.check(0, &["poddisruptionbudget.policy/b patched"], &[]);
    let budget = desk.store().budgets.iter().next().map(|(_, budget)| budget).expect("the budget");
    assert_eq!(budget.spec.min_available, None);
    assert!(budget.spec.max_unavailable.is_some() && budget.spec.selector.is_some());
}

#[test]
fn annotations_of_a_pod_are_set_and_removed() {
    let mut desk = Desk::new("annotate pod p controller.kubernetes.io/pod-deletion-cost=5");
    let pod = desk.web("p");
    desk.check(0, &["pod/p annotated"], &[]);
    let key = Symbol::new("controller.kubernetes.io/pod-deletion-cost");
    let found = desk.store().pod(pod).and_then(|pod| pod.annotation(key));
    assert_eq!(found, Some(Symbol::new("5")));
}

const LOST: &str = "The connection to the server was refused - did you specify the right host or port?";

#[test]
fn without_an_api_server_nothing_is_known() {
    let lines = [
        "uncordon n",
        "drain n",
        "label pod p app=a",
        "taint node n k-",
        "delete pod p",
        "delete deploy nope --ignore-not-found",
        "scale deploy/web --replicas=2",
        "set image deploy/web c=i:2",
        "rollout status deploy/web",
        "rollout undo deploy/web",
        "patch pdb b -p '{}'",
    ];
    for line in lines {
        let mut desk = Desk::new(line);
        desk.web("p");
        desk.lose(|_| true);
        let (exit, stdout, stderr) = desk.printed(60.0);
        assert_eq!((exit, stdout.as_slice()), (1, [].as_slice()), "{line}");
        assert_eq!(stderr, [LOST], "{line}");
    }
    let mut desk = Desk::with_files("apply -f a.yaml", &[("a.yaml", SERVICE)]);
    desk.lose(|_| true);
    desk.check(1, &[], &[LOST]);
}

const SERVICE: &str =
    "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {ports: [{port: 80}]}}";
const BUDGET: &str = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}, \
                      spec: {selector: {matchLabels: {app: a}}, minAvailable: 1}}";
const SPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: far}}";

fn pod_in(namespace: &str, name: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: {namespace}}}, \
         spec: {{nodeName: 'n', containers: [{{name: c, image: i}}]}}}}"
    )
}

// ---- delete -----------------------------------------------------------------------------------------------------------

#[test]
fn what_files_name_is_deleted_in_file_order_and_in_its_own_namespace() {
    let (far, near) = (pod_in("far", "p"), pod_in("default", "p"));
    let files = [("x.yaml", far.as_str()), ("x.yaml", BUDGET), ("y.yaml", SERVICE), ("y.yaml", &near)];
    let mut desk = Desk::with_files("delete -f x.yaml -f y.yaml", &files);
    for text in [SPACE, far.as_str(), BUDGET] {
        desk.create(object(text));
    }
    let stdout =
        ["pod \"p\" deleted from far namespace", "poddisruptionbudget.policy \"b\" deleted from default namespace"];
    let missing = |what: &str| {
        format!(
            "Error from server (NotFound): error when deleting \"y.yaml\": {what} \"{}\" not found",
            if what == "pods" { "p" } else { "s" }
        )
    };
    desk.check(1, &stdout, &[&missing("services"), &missing("pods")]);
}

#[test]
fn a_grace_of_zero_needs_force() {
    let check = |line: &str, waits: bool, deleted: &str, warned: bool| {
        let mut desk = Desk::new(line);
        desk.web("p");
        let (exit, stdout, stderr) = desk.printed(60.0);
        assert_eq!((exit, desk.done_s() > 0.3), (0, waits), "{line}");
        assert_eq!(stdout, [format!("pod \"p\" {deleted} from default namespace")]);
        assert_eq!(!stderr.is_empty(), warned, "{line}");
    };
    check("delete pod p --grace-period=0", true, "deleted", false);
    check("delete pod p --grace-period=0 --force", false, "force deleted", true);
    check("delete pod p --force", false, "force deleted", true);
    check("delete pod p --now", true, "deleted", false);
    let both = "error: --force and --grace-period greater than 0 cannot be specified together";
    Desk::new("delete pod p --force --grace-period=5").check(1, &[], &[both]);
}

#[test]
fn one_client_asks_whether_all_that_was_deleted_has_gone_and_scales_all() {
    let service = |index: usize| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: c{index}, namespace: default}}, spec: {{ports: [{{port: 80}}]}}}}"
        )
    };
    let check = |line: &str, printed: usize, seconds: std::ops::Range<f64>| {
        let mut desk = Desk::new(line);
        for index in 0..20 {
            desk.create(object(&service(index)));
            let set = format!(
                "{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: s{index}, namespace: default}}, spec: {{replicas: 0, \
                 selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}"
            );
            desk.create(object(&set));
        }
        let (exit, stdout, _) = desk.printed(60.0);
        assert_eq!((exit, stdout.len()), (0, printed), "{line}");
        assert!(seconds.contains(&desk.done_s()), "{line}: {}", desk.done_s());
    };
    // The requests themselves take 10 ms each.
    check("delete svc --all --wait=false", 20, 0.2..0.7);
    check("delete svc --all", 20, 2.2..2.7);
    check("scale rs --all --replicas=1", 20, 1.9..2.4);
    check("scale rs --all --replicas=1 --current-replicas=0", 20, 5.9..6.4);
    check("label rs --all a=b", 20, 0.2..0.7);
    check("wait svc --all --for=jsonpath=.metadata.name", 20, 1.9..2.4);
}

#[test]
fn a_patch_that_is_no_json_is_the_servers_to_refuse() {
    let check = |line: &str, why: &str| {
        let mut desk = Desk::new(line);
        desk.web("p");
        desk.check(1, &[], &[&format!("Error from server (BadRequest): {why}")]);
    };
    check(
        "patch rs web -p '{spec: {replicas: 2}}'",
        "invalid character 's' looking for beginning of object key string",
    );
    check("patch rs web --type=merge -p '{\"spec\":'", "error decoding patch: unexpected end of JSON input");
    check(
        "patch rs web -p '{\"metadata\":{\"name\":\"x\"}}'",
        "the name of the object (x) does not match the name on the URL (web)",
    );
}

#[test]
fn values_of_old_for_cascade_are_warned_of() {
    let mut desk = Desk::new("delete pod p --cascade=False");
    desk.web("p");
    let warning = "warning: --cascade=False is deprecated (boolean value) and can be replaced with --cascade=orphan.";
    desk.check(0, &["pod \"p\" deleted from default namespace"], &[warning]);
    let why = "error: invalid cascade value (no). Must be \"background\", \"foreground\", or \"orphan\"";
    Desk::new("delete pod p --cascade=no").check(1, &[], &[why]);
}

#[test]
fn a_deletion_that_failed_waits_for_nothing() {
    let mut desk = Desk::new("delete pod p missing");
    desk.stop(None);
    desk.web("p");
    let gone = "Error from server (NotFound): pods \"missing\" not found";
    desk.check(1, &["pod \"p\" deleted from default namespace"], &[gone]);
    assert!(desk.done_s() < 0.2, "{}", desk.done_s());
}

#[test]
fn what_is_selected_may_go_by_itself() {
    let check = |line: &str, exit: i32| {
        let mut desk = Desk::new(line);
        let (p, _) = (desk.web("p"), desk.web("q"));
        // `p` goes between the list and its deletion.
        desk.play(BEGIN + 0.001);
        let options = DeleteOptions { grace_s: Some(0), uid: None };
        desk.ask(Request::DeletePod { pod: p, options, cause: DeletionCause::Kubectl }).expect("a deletion");
        let (found, stdout, _) = desk.printed(60.0);
        assert_eq!((found, stdout.len()), (exit, 1), "{line}: {stdout:?}");
    };
    check("delete pod -l app=a", 0);
    check("delete pod --all", 0);
    check("delete pod --all --ignore-not-found=false", 1);
    check("delete pod p q", 1);
}

// ---- apply, create ----------------------------------------------------------------------------------------------------

#[test]
fn what_cannot_be_created_names_its_file() {
    let mut desk = Desk::with_files("create -f b.yaml -f s.yaml", &[("b.yaml", BUDGET), ("s.yaml", SERVICE)]);
    desk.create(object(BUDGET));
    let exists = "Error from server (AlreadyExists): error when creating \"b.yaml\": poddisruptionbudgets.policy \"b\" \
                  already exists";
    desk.check(1, &["service/s created"], &[exists]);
}

#[test]
fn an_object_needs_its_namespace() {
    let far = pod_in("far", "p");
    let nowhere = "Error from server (NotFound): error when creating \"p.yaml\": namespaces \"far\" not found";
    for line in ["create -f p.yaml", "apply -f p.yaml"] {
        Desk::with_files(line, &[("p.yaml", &far)]).check(1, &[], &[nowhere]);
        let files = [("p.yaml", SPACE), ("p.yaml", &far)];
        Desk::with_files(line, &files).check(0, &["namespace/far created", "pod/p created"], &[]);
    }
    let mut desk = Desk::new("scale deploy/web --replicas=2 -n far");
    desk.check(1, &[], &["Error from server (NotFound): namespaces \"far\" not found"]);
}

#[test]
fn what_is_no_field_is_refused_unless_somebody_does_not_mind() {
    let text = SERVICE.replace("spec: {", "spec: {bogus: 1, ");
    let check = |line: &str, exit: i32, stdout: &[&str], stderr: &[&str]| {
        let mut desk = Desk::new(line);
        let line = desk.last_line();
        let loaded = crate::model::manifest::load_text("x", &text).objects.pop().expect("an object");
        line.objects = vec![super::super::Written::new(&"x".into(), loaded)];
        desk.check(exit, stdout, stderr);
    };
    let refusal = "Error from server (BadRequest): error when creating \"x\": Service in version \"v1\" cannot be handled as a \
                   Service: strict decoding error: unknown field \"spec.bogus\"";
    check("create -f x", 1, &[], &[refusal]);
    check("apply -f x --validate=strict", 1, &[], &[refusal]);
    check("apply -f x --validate=warn", 0, &["service/s created"], &["Warning: unknown field \"spec.bogus\""]);
    check("create -f x --validate=false", 0, &["service/s created"], &[]);
}

#[test]
fn a_patch_is_warned_of_what_is_no_field() {
    let mut desk = Desk::new("patch service s -p '{\"spec\":{\"bogus\":1}}'");
    desk.create(object(SERVICE));
    desk.check(0, &["service/s patched (no change)"], &["Warning: unknown field \"spec.bogus\""]);
}

/// Types `apply -f x` of these objects.
fn apply_again(desk: &mut Desk, texts: &[&str]) {
    desk.type_line("apply -f x");
    let line = desk.last_line();
    line.objects = texts.iter().map(|text| written("x", text)).collect();
    desk.play(2.0);
}

#[test]
fn what_is_applied_twice_is_unchanged_but_for_budgets() {
    let more = SERVICE.replace("name: s,", "name: s, labels: {a: b},");
    let mut desk = Desk::with_files("apply -f x", &[("x", BUDGET), ("x", SERVICE), ("x", SPACE)]);
    desk.play(2.0);
    apply_again(&mut desk, &[BUDGET, SERVICE, SPACE, &more]);
    let lines = [
        "poddisruptionbudget.policy/b configured",
        "service/s unchanged",
        "namespace/far unchanged",
        "service/s configured",
    ];
    let again = &desk.transcripts[1];
    assert_eq!((again.stdout.as_slice(), again.stderr.len()), (&lines.map(str::to_owned)[..], 0));
}

#[test]
fn what_was_never_applied_is_warned_of_once() {
    let mut desk = Desk::new("create -f x");
    desk.create(object(SERVICE));
    desk.play(1.0);
    apply_again(&mut desk, &[SERVICE]);
    apply_again(&mut desk, &[SERVICE]);
    let warning = "Warning: resource services/s is missing the kubectl.kubernetes.io/last-applied-configuration annotation \
                   which is required by kubectl apply. kubectl apply should only be used on resources created declaratively \
                   by either kubectl create --save-config or kubectl apply. The missing annotation will be patched \
                   automatically.";
    assert_eq!(
        (&desk.transcripts[1].stdout[..], &desk.transcripts[1].stderr[..]),
        (&["service/s configured".to_owned()][..], &[warning.to_owned()][..])
    );
    assert_eq!(
        (&desk.transcripts[2].stdout[..], desk.transcripts[2].stderr.len()),
        (&["service/s unchanged".to_owned()][..], 0)
    );
}

#[test]
fn a_pod_is_let_go_by_taking_its_gate_away() {
    let check = |line: &str, exit: i32, stdout: &[&str], stderr: &[&str], gates: usize| {
        let mut desk = Desk::new(line);
        let pod = desk.pod("g", "n", ("", ""), "schedulingGates: [{name: a}],");
        desk.check(exit, stdout, stderr);
        assert_eq!(desk.store().pod(pod).map(|pod| pod.spec.scheduling_gates.len()), Some(gates), "{line}");
    };
    let done = &["pod/g patched"];
    check(r#"patch pod g --type=json -p '[{"op":"remove","path":"/spec/schedulingGates/0"}]'"#, 0, done, &[], 0);
    check(r#"patch pod g -p '{"spec":{"schedulingGates":null}}'"#, 0, done, &[], 0);
    check(r#"patch pod g --type=merge -p '{"spec":{"schedulingGates":[]}}'"#, 0, done, &[], 0);
    let refused = "The Pod \"g\" is invalid: spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new \
                   scheduling gate 'b'";
    check(r#"patch pod g -p '{"spec":{"schedulingGates":[{"name":"b"}]}}'"#, 1, &[], &[refused], 1);
    let vague = "The request is invalid: the server rejected our request due to an error in our request";
    check(r#"patch pod g --type=json -p '[{"op":"remove","path":"/spec/schedulingGates/1"}]'"#, 1, &[], &[vague], 1);
    let typed = "The request is invalid: patch: Invalid value: \"map[spec:map[activeDeadlineSeconds:x]]\": unrecognized type: int64";
    check(r#"patch pod g -p '{"spec":{"activeDeadlineSeconds":"x"}}'"#, 1, &[], &[typed], 1);
}

#[test]
fn a_patch_with_a_word_that_the_api_does_not_know_is_refused_as_the_server_refuses_it() {
    let restart = "The Pod \"p\" is invalid: spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \
                   \"OnFailure\", \"Never\"";
    let mut desk = Desk::new(r#"patch pod p -p '{"spec":{"restartPolicy":"Sometimes"}}'"#);
    desk.web("p");
    desk.check(1, &[], &[restart]);
    let policy = "The PodDisruptionBudget \"b\" is invalid: spec.unhealthyPodEvictionPolicy: Unsupported value: \"Never\": \
                  supported values: \"AlwaysAllow\", \"IfHealthyBudget\"";
    let mut desk = Desk::new(r#"patch pdb b --type merge -p '{"spec":{"unhealthyPodEvictionPolicy":"Never"}}'"#);
    desk.budget("b", 0);
    desk.check(1, &[], &[policy]);
}

#[test]
fn of_a_volume_the_server_keeps_what_it_is_and_lets_its_claim_be_forgotten() {
    const VOLUME: &str = "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], \
                          capacity: {storage: 1Gi}, claimRef: {namespace: default, name: c, uid: u}, hostPath: {path: /d}, \
                          persistentVolumeReclaimPolicy: Retain}, status: {phase: Released}}";
    let check = |patch: &str, exit: i32, stdout: &[&str], stderr: &[&str]| {
        let mut desk = Desk::new(&format!("patch pv v -p '{patch}'"));
        desk.create(object(VOLUME));
        desk.check(exit, stdout, stderr);
        let volume = desk.store().volumes.find_volume(Symbol::new("v")).and_then(|id| desk.store().volumes.volume(id));
        let volume = volume.expect("the volume").clone();
        (
            volume.is_released,
            volume.claim.is_some(),
            volume.spec.capacity.get(Symbol::new("storage")).map(ToString::to_string).unwrap_or_default(),
        )
    };
    let done = &["persistentvolume/v patched"];
    let source = "The PersistentVolume \"v\" is invalid: spec.persistentvolumesource: Forbidden: \
                  spec.persistentvolumesource is immutable after creation";
    let gone = "The PersistentVolume \"v\" is invalid: spec.accessModes: Required value";
    let kept = (true, true);
    let left = |(is_released, has_claim, _): (bool, bool, String)| (is_released, has_claim);
    assert_eq!(left(check(r#"{"spec":{"hostPath":{"path":"/other"}}}"#, 1, &[], &[source])), kept);
    assert_eq!(left(check(r#"{"spec":{"accessModes":null}}"#, 1, &[], &[gone])), kept);
    assert_eq!(left(check(r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#, 0, done, &[])), kept);
    assert_eq!(left(check(r#"{"spec":{"claimRef":{"uid":null}}}"#, 0, done, &[])), (false, true));
    assert_eq!(left(check(r#"{"spec":{"claimRef":null}}"#, 0, done, &[])), (false, false));
    assert!(check(r#"{"spec":{"capacity":{"storage":"2Gi"}}}"#, 0, done, &[]).2 == "2Gi");
}

#[test]
fn a_claim_grows_only_if_it_is_bound_and_its_class_lets_it() {
    let check = |bound: &str, expands: &str, size: &str, exit: i32, stdout: &[&str], stderr: &[&str]| {
        let patch = format!(r#"{{"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}"#);
        let mut desk = Desk::new(&format!("patch pvc c -p '{patch}'"));
        desk.create(object(&format!(
            "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: s}}, provisioner: p.io/x{expands}}}"
        )));
        desk.create(object(
            "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], capacity: \
             {storage: 1Gi}, claimRef: {namespace: default, name: c}, hostPath: {path: /d}, storageClassName: s}}",
        ));
        desk.create(object(&format!(
            "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: c, namespace: default, annotations: \
             {{pv.kubernetes.io/bind-completed: 'yes'}}}}, spec: {{accessModes: [ReadWriteOnce], storageClassName: s, resources: {{requests: {{storage: 1Gi}}}}{bound}}}}}"
        )));
        desk.check(exit, stdout, stderr);
    };
    let expands = ", allowVolumeExpansion: true";
    let bound = ", volumeName: v";
    let only = "Error from server (Forbidden): persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be \
                resized and the storageclass that provisions the pvc must support resize";
    check(bound, expands, "2Gi", 0, &["persistentvolumeclaim/c patched"], &[]);
    check(bound, "", "2Gi", 1, &[], &[only]);
    let less = "The PersistentVolumeClaim \"c\" is invalid: spec.resources.requests.storage: Forbidden: field can not be less \
                than status.capacity";
    check(bound, expands, "512Mi", 1, &[], &[less]);
    let unbound = "The PersistentVolumeClaim \"c\" is invalid: spec: Forbidden: spec is immutable after creation except \
                   resources.requests and volumeAttributesClassName for bound claims";
    check("", expands, "2Gi", 1, &[], &[unbound]);
}

#[test]
fn taints_and_labels_of_a_node_can_be_patched() {
    let check = |line: &str, taints: &[&str], is_cordoned: bool| {
        let mut desk = Desk::new("cordon n");
        desk.play(2.0);
        desk.type_line("taint node n a=b:NoSchedule");
        desk.play(2.0);
        desk.type_line(line);
        desk.play(2.0);
        assert_eq!(desk.transcripts[2].stdout, ["node/n patched"], "{line}: {:?}", desk.transcripts[2].stderr);
        let node = desk.store().find_node(Symbol::new("n")).and_then(|id| desk.store().node(id)).expect("the node");
        let found: Vec<&str> = node.taints.iter().map(|taint| taint.key.as_str()).collect();
        assert_eq!((found.as_slice(), node.unschedulable), (taints, is_cordoned), "{line}");
    };
    check(r#"patch node n -p '{"spec":{"taints":[{"key":"p","effect":"NoSchedule"}]}}'"#, &["p"], true);
    check(r#"patch node n --type=json -p '[{"op":"remove","path":"/spec/taints"}]'"#, &[], true);
    check(r#"patch node n -p '{"spec":{"unschedulable":null}}'"#, &["a"], false);
    check(r#"patch node n --type=merge -p '{"metadata":{"labels":{"x":"y"}}}'"#, &["a"], true);
}

#[test]
fn apply_leaves_what_others_wrote_and_takes_back_what_it_wrote() {
    let file = |image: &str, more: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default}}, spec: {{{more} selector: \
             {{matchLabels: {{app: a}}}}, template: {{metadata: {{labels: {{app: a}}}}, spec: {{containers: [{{name: c, \
             image: {image}}}]}}}}}}}}"
        )
    };
    let (one, two) = (file("i:1", "minReadySeconds: 7,"), file("i:2", ""));
    let mut desk = Desk::with_files("apply -f one", &[("one", &one)]);
    let apply = |desk: &mut Desk, name: &str, text: &str| {
        desk.type_line(&format!("apply -f {name}"));
        let line = desk.last_line();
        line.objects = vec![written(name, text)];
        desk.play(1.0);
    };
    desk.play(1.0);
    for line in ["scale deploy web --replicas=4", "annotate deploy web note=x"] {
        desk.type_line(line);
        desk.play(1.0);
    }
    apply(&mut desk, "one", &one);
    apply(&mut desk, "two", &two);
    apply(&mut desk, "two", &two);
    let printed: Vec<&str> = desk.transcripts.iter().map(|t| t.stdout[0].as_str()).collect();
    let did = |word: &str| format!("deployment.apps/web {word}");
    assert_eq!(printed, ["created", "scaled", "annotated", "unchanged", "configured", "unchanged"].map(did));
    let (_, web) = desk.store().deployments.iter().next().expect("the deployment");
    assert_eq!((web.spec.replicas, web.spec.min_ready_seconds), (Some(4), 0));
    assert_eq!(super::rollout::image(&desk), "i:2");
    assert_eq!(web.meta.annotations.get(&Symbol::new("note")), Some(&Symbol::new("x")));
    assert_eq!(web.meta.generation, 3);
}

// ---- the others -------------------------------------------------------------------------------------------------------

#[test]
fn what_was_done_to_taints_and_labels_is_told() {
    let check = |line: &str, stdout: &[&str]| {
        let mut desk = Desk::new(line);
        let node = desk.store().find_node(Symbol::new("n")).expect("the node");
        let labels = model::Labels::default().with(Symbol::new("a"), Symbol::new("1"));
        desk.ask(Request::SetNodeLabels { node, labels }).expect("labels");
        desk.check(0, stdout, &[]);
    };
    check("taint node n k=v:NoSchedule", &["node/n tainted"]);
    check("taint node n k=v:NoSchedule --overwrite", &["node/n modified"]);
    check("label node n a- b=c", &["node/n modified"]);
    check("label node n a-", &["node/n unlabeled"]);
    check("label node n b=c", &["node/n labeled"]);
    check("label node n a=1", &["node/n not labeled"]);
    check("label node n x- b=c", &["label \"x\" not found.", "node/n labeled"]);
}

#[test]
fn several_errors_are_lines_of_their_own() {
    let mut desk = Desk::new("taint node n m k-");
    desk.check(1, &[], &["taint \"k\" not found", "taint \"k\" not found"]);
    let mut desk = Desk::new("taint node n k-");
    desk.check(1, &[], &["error: taint \"k\" not found"]);
    let mut desk = Desk::new("taint node no n k-");
    desk.check(1, &[], &["Error from server (NotFound): nodes \"no\" not found", "taint \"k\" not found"]);
}

#[test]
fn what_has_no_scale_cannot_be_scaled() {
    let mut desk = Desk::new("scale job/x --replicas=2");
    desk.create(object(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: x, namespace: default}, \
         spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}",
    ));
    desk.check(1, &[], &["Error from server (NotFound): the server could not find the requested resource"]);
    let mut desk = Desk::new("scale deploy -l none=1 --replicas=2");
    desk.check(1, &[], &["error: no objects passed to scale"]);
}

#[test]
fn an_image_of_one_container_is_set_although_another_is_not_there() {
    let mut desk = Desk::new("set image deploy/web c=reg/app:2 d=x");
    super::rollout::deployment(&mut desk, "", &[]);
    desk.check(1, &["deployment.apps/web image updated"], &["error: unable to find container named \"d\""]);
    assert_eq!(super::rollout::image(&desk), "reg/app:2");
}

#[test]
fn a_wait_for_what_does_not_go_ends_with_its_timeout() {
    let check = |line: &str, stdout: &str, subject: &str| {
        let mut desk = Desk::new(line);
        desk.stop(None);
        desk.web("p");
        let stderr = format!("error: timed out waiting for the condition on {subject}");
        desk.check(1, &[stdout], &[&stderr]);
        assert!((30.0..30.3).contains(&desk.done_s()), "{}", desk.done_s());
    };
    check("delete pod p --timeout=30s", "pod \"p\" deleted from default namespace", "pods/p");
    let mut desk = Desk::new("delete pod p --timeout=30s --wait=false");
    desk.stop(None);
    desk.web("p");
    desk.check(0, &["pod \"p\" deleted from default namespace"], &[]);
    assert!(desk.done_s() < 1.0);
    let mut desk = Desk::new("delete pod p --timeout=30s");
    desk.web("p");
    desk.check(0, &["pod \"p\" deleted from default namespace"], &[]);
    assert!(desk.done_s() < 1.0);
}

#[test]
fn a_file_of_another_namespace_is_refused() {
    let text = "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {ports: [{port: 80}]}}";
    let why = "error: the namespace from the provided object \"shop\" does not match the namespace \"far\". You must pass \
               '--namespace=shop' to perform this operation.";
    for line in ["apply -f x -n far", "create -n far -f x", "delete -n far -f x"] {
        Desk::with_files(line, &[("x", text)]).check(1, &[], &[why]);
    }
}

#[test]
fn the_namespaces_of_every_cluster_are_not_deleted() {
    let mut desk = Desk::new("delete namespace default");
    desk.create(object("{apiVersion: v1, kind: Namespace, metadata: {name: default}}"));
    let why = "Error from server (Forbidden): namespaces \"default\" is forbidden: this namespace may not be deleted";
    desk.check(1, &[], &[why]);
    let mut desk = Desk::new("label ns far a=b");
    desk.create(object("{apiVersion: v1, kind: Namespace, metadata: {name: far}}"));
    desk.check(0, &["namespace/far labeled"], &[]);
    let label = desk.store().namespace(Symbol::new("far")).and_then(|(_, far)| far.labels.get(Symbol::new("a")));
    assert_eq!(label, Some(Symbol::new("b")));
}

#[test]
fn a_dry_run_says_what_it_would_do_and_does_nothing() {
    let check = |line: &str, expected: &str| {
        let mut desk = Desk::new(line);
        let pod = desk.web("p");
        desk.check(0, &[expected], &[]);
        assert!(!desk.is_cordoned("n") && desk.exists("p"), "{line}");
        assert_eq!(desk.store().pod(pod).expect("the pod").labels.len(), 1, "{line}");
        assert_eq!(desk.store().replica_sets.iter().next().expect("the set").1.replicas, 0, "{line}");
        assert!(desk.done_s() < 0.2, "{line}");
    };
    check("cordon n --dry-run=client", "node/n cordoned (dry run)");
    check("uncordon n --dry-run=server", "node/n already uncordoned (server dry run)");
    check("delete pod p --dry-run=client", "pod \"p\" deleted from default namespace (dry run)");
    check("label pod p a=b --dry-run=server", "pod/p labeled (server dry run)");
    check("taint node n a=b:NoExecute --dry-run", "node/n tainted (dry run)");
    check("scale rs/web --replicas=3 --dry-run=client", "replicaset.apps/web scaled (dry run)");
}

#[test]
fn o_name_leaves_the_name() {
    let mut desk = Desk::new("label pod p a=b -o name");
    desk.web("p");
    desk.check(0, &["pod/p"], &[]);
    let mut desk = Desk::new("delete pod p -o name");
    desk.web("p");
    desk.check(0, &["pod/p"], &[]);
}

#[test]
fn fields_select_in_all_namespaces() {
    let select = |line: &str| {
        let mut desk = Desk::new(line);
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: far, namespace: other}, \
                   spec: {nodeName: 'n', containers: [{name: c, image: i}]}}";
        desk.create(object(pod));
        desk.web("p");
        desk.pod("q", "m", ("", ""), "");
        desk.printed(60.0)
    };
    let deleted = |names: &[&str]| -> Vec<String> {
        let place = |name: &str| if name == "far" { "other" } else { "default" };
        names.iter().map(|name| format!("pod \"{name}\" deleted from {} namespace", place(name))).collect()
    };
    let line = "delete pods -A --field-selector=spec.nodeName=n --wait=false";
    assert_eq!(select(line), (0, deleted(&["p", "far"]), Vec::new()));
    let line = "delete pods --field-selector spec.nodeName!=n,status.phase==Running";
    assert_eq!(select(line), (0, deleted(&["q"]), Vec::new()));
    let unknown = "Error from server (BadRequest): Unable to find \"/v1, Resource=pods\" that match label selector \"\", field \
                   selector \"spec.nodename=n\": field label not supported: spec.nodename";
    assert_eq!(select("delete pods --field-selector=spec.nodename=n"), (1, Vec::new(), vec![unknown.to_owned()]));
}

const POLICY: &str = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: default}, \
                      spec: {podSelector: {}}}";
const WIDGET: &str =
    "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, spec: {size: 1}}";

/// An object of a file, of whatever kind.
fn loaded(text: &str) -> Object {
    let value: serde_json::Value = serde_saphyr::from_str(text).expect("YAML");
    let mut loaded = crate::model::manifest::load_text("x.yaml", &value.to_string());
    loaded.objects.pop().expect("an object").object
}

#[test]
fn kinds_without_effect_are_there_for_commands() {
    let mut desk = Desk::with_files("apply -f x", &[]);
    let type_with = |desk: &mut Desk, line: &str, texts: &[&str]| -> (i32, Vec<String>, Vec<String>) {
        desk.type_line(line);
        let line = desk.last_line();
        let objects = texts.iter().map(|text| Written {
            file: "x".into(),
            object: loaded(text),
            names_namespace: true,
            unknown_fields: Vec::new(),
            api_version: Symbol::empty(),
        });
        line.objects = objects.collect();
        desk.play(2.0);
        let said = desk.transcripts.last().expect("an end");
        (said.exit.expect("an end"), said.stdout.clone(), said.stderr.clone())
    };
    let said = |lines: &[&str]| (0, lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>(), Vec::new());
    let failed = |line: &str| (1, Vec::new(), vec![line.to_owned()]);
    desk.play(1.0);
    let (policy, widget) = ("networkpolicy.networking.k8s.io/deny", "widget.example.com/w");
    let check = |desk: &mut Desk, line: &str, done: &str| {
        let expected = said(&[&format!("{policy} {done}"), &format!("{widget} {done}")]);
        assert_eq!(type_with(desk, line, &[POLICY, WIDGET]), expected);
    };
    check(&mut desk, "apply -f x", "created");
    check(&mut desk, "apply -f x", "unchanged");
    let bigger = WIDGET.replace("size: 1", "size: 2");
    assert_eq!(type_with(&mut desk, "apply -f x", &[&bigger]), said(&[&format!("{widget} configured")]));
    let taken = "Error from server (AlreadyExists): error when creating \"x\": networkpolicies.networking.k8s.io \"deny\" already exists";
    assert_eq!(type_with(&mut desk, "create -f x", &[POLICY]), failed(taken));
    assert_eq!(type_with(&mut desk, "label netpol deny a=b", &[]), said(&[&format!("{policy} labeled")]));
    assert_eq!(
        type_with(&mut desk, "annotate widgets.example.com w a=b", &[]),
        said(&[&format!("{widget} annotated")])
    );
    let deleted = said(&["networkpolicy.networking.k8s.io \"deny\" deleted from default namespace"]);
    assert_eq!(type_with(&mut desk, "delete netpol -l a=b", &[]), deleted);
    let gone = "Error from server (NotFound): networkpolicies.networking.k8s.io \"deny\" not found";
    assert_eq!(type_with(&mut desk, "delete netpol deny", &[]), failed(gone));
    let deleted = said(&["widget.example.com \"w\" deleted from default namespace"]);
    assert_eq!(type_with(&mut desk, "delete widget w", &[]), deleted);
    let unknown = "error: the server doesn't have a resource type \"gizmo\"";
    assert_eq!(type_with(&mut desk, "delete gizmo g", &[]), failed(unknown));
    let unknown = "error: the server doesn't have a resource type \"Certificate\"";
    assert_eq!(type_with(&mut desk, "delete Certificate.v1.cert-manager.io g", &[]), failed(unknown));
}

#[test]
fn a_definition_gives_a_type_its_names() {
    let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: certificates.cert-manager.io}, \
                      spec: {group: cert-manager.io, scope: Namespaced, names: {kind: Certificate, plural: certificates, shortNames: [cert]}}}";
    let www =
        "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: www, namespace: default}, spec: {}}";
    let run = |with: &[&str], line: &str| {
        let mut desk = Desk::new(line);
        with.iter().for_each(|text| desk.create(loaded(text)));
        desk.printed(5.0)
    };
    let deleted =
        || (0, vec!["certificate.cert-manager.io \"www\" deleted from default namespace".to_owned()], Vec::new());
    for word in ["certificate", "certificates", "cert", "Certificate", "certificates.cert-manager.io"] {
        assert_eq!(run(&[definition, www], &format!("delete {word} www")), deleted(), "{word}");
        let missing = "Error from server (NotFound): certificates.cert-manager.io \"www\" not found";
        let failed = (1, Vec::new(), vec![missing.to_owned()]);
        assert_eq!(run(&[definition], &format!("delete {word} www")), failed, "{word}");
    }
    assert_eq!(run(&[www], "delete certificate www"), deleted());
    let unknown = (1, Vec::new(), vec!["error: the server doesn't have a resource type \"cert\"".to_owned()]);
    assert_eq!(run(&[www], "delete cert www"), unknown);
}
