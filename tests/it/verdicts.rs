//! What a run says of itself: its verdict, the causes behind what happened, and the words for it.

use std::collections::BTreeMap;

use kubesquall::observe::{CauseRow, Matter, Observed, PodRow, Sentence, Tone};
use kubesquall::state::CauseId;

use super::figures::{metric, play, pod, tone, web};

fn said(observed: &Observed, matter: Matter) -> &Sentence {
    let verdict = &observed.summary.verdict;
    verdict.iter().find(|sentence| sentence.kind == matter).unwrap_or_else(|| panic!("{verdict:#?}"))
}

/// The chain of causes of the last row that says so, itself first.
fn chain<'a>(observed: &'a Observed, what: &str) -> Vec<&'a str> {
    let rows: BTreeMap<CauseId, &CauseRow> = observed.causes.iter().map(|row| (row.effect, row)).collect();
    let last = observed.causes.iter().rev().find(|row| row.what.contains(what));
    let last = last.unwrap_or_else(|| panic!("nothing says {what}: {:#?}", observed.causes));
    std::iter::successors(Some(last), |row| rows.get(&row.cause).copied()).map(|row| row.what.as_str()).collect()
}

fn root<'a>(observed: &'a Observed, what: &str) -> &'a str {
    chain(observed, what).last().copied().unwrap_or_default()
}

#[test]
fn each_line_of_a_shell_is_a_cause_of_its_own() {
    let lines = ["delete pod lonely --now", "cordon n-1 &", "drain n-0 --force", "uncordon n-0", "get pods"];
    let timeline: Vec<String> = lines.iter().map(|line| format!("{{at: 1m, kubectl: '{line}'}}")).collect();
    let observed = play("5m", &timeline.join(", "), &[&web(6), &pod("lonely", "")]);
    let check =
        |what: &str, line: &str| assert_eq!(root(&observed, what), format!("scenario: kubectl {line}"), "{what}");
    check("pod/default/lonely marked for deletion", lines[0]);
    check("node/n-1 cordoned", "cordon n-1");
    check("node/n-0 cordoned", lines[2]);
    check("(EvictionByEvictionAPI)", lines[2]);
    check("node/n-0 uncordoned", lines[3]);
    // The drain began when the deletion had ended, and is told so.
    let began = |line: &str| observed.causes.iter().find(|row| row.what.ends_with(line)).map(|row| row.at);
    assert!(began("lonely --now") < began("drain n-0 --force"), "{:?}", observed.causes);
    // Typing ahead is no cause of anything.
    assert!(observed.causes.iter().all(|row| !row.what.starts_with("kubectl: ")), "{:#?}", observed.causes);
}

#[test]
fn an_eviction_by_the_drain_of_an_upgrade_follows_from_the_drain() {
    let upgrade = "{at: 1m, rollingUpgrade: {pool: n, maxUnavailable: 1, drainTimeout: 5m}}";
    let observed = play("10m", upgrade, &[&web(6)]);
    let chain = chain(&observed, "(EvictionByEvictionAPI)");
    assert!(chain.iter().any(|what| what.starts_with("rolling-upgrade: kubectl drain n-")), "{chain:#?}");
    assert!(chain.last().is_some_and(|root| root.starts_with("scenario: rolling upgrade")), "{chain:#?}");
}

#[test]
fn a_pull_that_fails_is_named_with_its_fault() {
    let timeline = "{at: 1m, fault: {kind: ImagePullFailure, images: [bad*]}}, {at: 2m, kubectl: set image deployment/web c=bad:2}, \
                    {at: 2m, kubectl: cordon n-0}";
    let observed = play("10m", timeline, &[&web(2)]);
    let short = said(&observed, Matter::WorkloadsWhole);
    assert_eq!(short.tone, Tone::Neutral, "a roll-out that is stuck leaves the old pods: {short:?}");
    let waiting = said(&observed, Matter::PodsWaiting);
    assert_eq!(waiting.tone, Tone::Bad);
    let expected = "held up by ImagePullBackOff (bad:2), because of ImagePullFailure of 1m0s: pod/default/web-";
    assert!(waiting.text.contains(expected), "{waiting:?}");
    assert_eq!(
        root(&observed, "waits: ImagePullBackOff (bad:2)"),
        "scenario: ImagePullFailure of bad* on n-0, n-1, n-2 begins"
    );
    // Of a workload that is short, the reason stands beside the count.
    let timeline =
        "{at: 1m, fault: {kind: ImagePullFailure}}, {at: 2m, fault: {kind: PodKill, pods: {namespace: default}}}";
    let observed = play("10m", timeline, &[&web(2).replace("image: i", "image: i, imagePullPolicy: Always")]);
    let short = said(&observed, Matter::WorkloadsShort);
    assert!(short.text.contains("deployment/default/web (0 of 2 ready, ImagePullBackOff)"), "{short:?}");
}

#[test]
fn a_pull_that_failed_before_the_run_began_follows_from_nothing_in_it() {
    let stuck = "{apiVersion: v1, kind: Pod, metadata: {name: stuck, namespace: default}, spec: {nodeName: n-1, containers: [{name: c, image: typo}]}, \
                 status: {phase: Pending, containerStatuses: [{name: c, image: typo, imageID: '', ready: false, restartCount: 0, \
                 state: {waiting: {reason: ImagePullBackOff}}}]}}";
    let observed = play("40m", "{at: 10m, fault: {kind: Reboot, nodes: {names: [n-1]}}}", &[stuck]);
    let waiting = said(&observed, Matter::PodsWaiting);
    assert!(waiting.text.contains("(typo): pod/default/stuck"), "{waiting:?}");
}

#[test]
fn a_crash_loop_is_named() {
    let crashing = web(1).replace(
        "metadata: {labels: {app: web}}",
        "metadata: {labels: {app: web}, annotations: {kubesquall.sim/run-for: 1s, kubesquall.sim/exit-code: '1'}}",
    );
    let observed = play("30m", "{at: 29m, kubectl: cordon n-0}", &[&crashing]);
    assert!(said(&observed, Matter::WorkloadsShort).text.contains("ready, CrashLoopBackOff)"));
    assert!(said(&observed, Matter::PodsWaiting).text.contains("CrashLoopBackOff (c)"));
}

#[test]
fn machines_that_are_off_and_not_yet_missed_are_no_all_clear() {
    let crash = "{at: 4m50s, fault: {kind: Crash, nodes: {names: [n-0, n-1]}}}, {at: 4m50s, fault: {kind: Partition, nodes: {names: [n-2]}}}";
    let observed = play("5m", crash, &[&web(6)]);
    let unnoticed = said(&observed, Matter::MachinesUnnoticed);
    assert_eq!(unnoticed.tone, Tone::Bad);
    assert!(unnoticed.text.starts_with("3 machines are off, cut off or without a kubelet at the end"), "{unnoticed:?}");
    assert!(
        unnoticed.text.contains("6 pods there still count as Ready: node/n-0, node/n-1, node/n-2"),
        "{unnoticed:?}"
    );
    let whole = said(&observed, Matter::WorkloadsWhole);
    assert_eq!(whole.tone, Tone::Neutral);
    assert!(whole.text.ends_with("as far as the control plane knows."), "{whole:?}");
    // Once it has noticed, it is said otherwise.
    let later = play("10m", "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}}}", &[&web(6)]);
    assert_eq!(tone(&later, Matter::MachinesUnnoticed), None);
}

#[test]
fn without_workloads_nothing_is_well() {
    let observed =
        play("5m", "{at: 1m, kubectl: get nodes}", &["{apiVersion: v1, kind: Namespace, metadata: {name: empty}}"]);
    let whole = said(&observed, Matter::WorkloadsWhole);
    assert_eq!((whole.tone, whole.text.as_str()), (Tone::Neutral, "There is no workload to judge."));
}

#[test]
fn daemons_on_machines_that_are_off_are_told_though_nothing_is_short() {
    let daemon = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: default}, spec: {selector: {matchLabels: {app: \
                  agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: i}]}}}}";
    let crash = "{at: 5m, fault: {kind: Crash, nodes: {names: [n-0, n-1]}}}";
    let observed = play("1h", crash, &[daemon]);
    let off = said(&observed, Matter::DaemonsOff);
    assert_eq!(off.tone, Tone::Neutral);
    assert!(
        off.text.contains(
            "daemonset/default/agent (up to 2 at once, 55m0s in all, without counting as short, 2 at the end)"
        ),
        "{off:?}"
    );
    assert_eq!(said(&observed, Matter::WorkloadsWhole).tone, Tone::Neutral);
    let back =
        play("1h", "{at: 5m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 20s, boot: {constant: 5s}}}", &[daemon]);
    assert_eq!(tone(&back, Matter::DaemonsOff), None, "{:?}", back.summary.workloads);

    // A node comes back, and the pod that is wanted there again takes a while: that counts as short, and only that.
    let slow = daemon.replacen(
        "{app: agent}}, spec: {containers: [{name: c, image: i}]}",
        "{app: agent}}, spec: {containers: [{name: c, image: i, readinessProbe: {initialDelaySeconds: 40, httpGet: {port: 80}}}]}",
        1,
    );
    assert_ne!(slow, daemon);
    let twice =
        play("1h", "{at: 5m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 10m, boot: {constant: 5s}}}", &[&slow]);
    let agent = &twice.summary.workloads[0];
    let off = agent.off_machines.expect("a machine was off");
    assert!(agent.below_desired_s > 20.0 && off.hidden_s > 500.0 && off.hidden_s <= off.total_s, "{agent:?}");
    let text = &said(&twice, Matter::DaemonsOff).text;
    assert!(!text.contains("does not count as short") && text.contains(" counting as short)"), "{text}");
}

#[test]
fn faults_name_what_they_hit() {
    let timeline = "{at: 1m, fault: {kind: ControlPlaneOutage, components: [kube-scheduler], for: 10s}}, \
                    {at: 2m, fault: {kind: PodKill, pods: {names: [lonely]}}}, {at: 3m, fault: {kind: OOMKill, pods: {namespace: absent}}}";
    let observed = play("5m", timeline, &[&pod("lonely", "")]);
    let faults = observed.events.iter().filter(|event| event.kind == "Fault");
    let told: Vec<(&str, &str)> = faults.map(|event| (event.reason, event.message.as_str())).collect();
    let expected = [
        ("FaultBegan", "ControlPlaneOutage of kube-scheduler"),
        ("FaultEnded", "ControlPlaneOutage of kube-scheduler"),
        ("FaultBegan", "PodKill of pod/default/lonely"),
        ("FaultEnded", "PodKill of pod/default/lonely"),
        ("NothingToFail", "OOMKill: no pod matches"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn requests_that_are_refused_are_told_as_lines_that_fail() {
    let timeline = "{at: 1m, request: {method: POST, path: /api/v1/podss, body: '{}'}}, \
                    {at: 2m, request: {method: DELETE, path: /api/v1/namespaces/default/pods/nope?gracePeriodSeconds=0}}, \
                    {at: 3m, request: {method: DELETE, path: /api/v1/namespaces/default/pods/lonely}}";
    let observed = play("5m", timeline, &[&web(2), &pod("lonely", "")]);
    assert_eq!(metric(&observed, "commands_failed"), 2.0);
    let told: Vec<&str> = observed
        .summary
        .verdict
        .iter()
        .filter(|of| of.kind == Matter::CommandFailed)
        .map(|of| of.text.as_str())
        .collect();
    let expected = [
        "FAILED: POST /api/v1/podss of 1m0s: Error from server (NotFound): the server could not find the requested resource",
        "FAILED: DELETE /api/v1/namespaces/default/pods/nope of 2m0s: Error from server (NotFound): pods \"nope\" not found",
    ];
    assert_eq!(told, expected);
    let rows: Vec<(&str, Option<i32>)> = observed.transcript.iter().map(|row| (&*row.command, row.exit)).collect();
    assert_eq!(rows, [("POST /api/v1/podss", Some(1)), ("DELETE /api/v1/namespaces/default/pods/nope", Some(1))]);
    let events = observed.events.iter().filter(|event| event.reason == "RequestRefused");
    assert_eq!(events.map(|event| (event.component, event.kind)).collect::<Vec<_>>(), [("scenario", "Request"); 2]);
    // One that is to be asked again later is a refusal.
    let evict = "{at: 1m, request: {method: POST, path: /api/v1/namespaces/default/pods/lonely/eviction, body: '{\"metadata\":{\"name\":\"lonely\"}}'}}";
    let budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: all}\nspec: {maxUnavailable: 0, selector: {}}\n";
    let observed = play("5m", evict, &[&pod("lonely", ""), budget]);
    assert_eq!((metric(&observed, "commands_failed"), metric(&observed, "refusals")), (0.0, 1.0));
}

#[test]
fn what_a_fault_kills_is_taken_away_by_it() {
    let observed =
        play("5m", "{at: 1m, fault: {kind: PodKill, pods: {names: [lonely]}}}", &[&web(2), &pod("lonely", "")]);
    let counts = &observed.summary.counts;
    assert_eq!(counts.deletions.get("Kubectl"), Some(&1));
    assert_eq!((counts.disruptions, counts.evictions, counts.pods_lost), (1, 0, 1));
    // Kills of a whole Deployment are made up for.
    let observed = play("5m", "{at: 1m, fault: {kind: PodKill, pods: {namespace: default}}}", &[&web(2)]);
    assert_eq!((observed.summary.counts.disruptions, observed.summary.rescheduling.count), (2, 2));
    assert_eq!(observed.summary.workloads[0].disruptions, 2);
}

#[test]
fn a_pod_that_had_finished_is_not_taken_away() {
    let done =
        pod("done", ", annotations: {kubesquall.sim/run-for: 1s}").replace("spec: {", "spec: {restartPolicy: Never, ");
    let timelines = [
        "{at: 2m, kubectl: drain n-0 --force}",
        "{at: 2m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}",
        "{at: 2m, kubectl: 'taint node n-0 a=b:NoExecute'}",
    ];
    for timeline in timelines {
        let observed = play("10m", timeline, &[&done, &pod("lonely", "")]);
        let of = |name: &str| observed.pods.iter().find(|pod| &*pod.name == name).and_then(PodRow::taken_away);
        assert_eq!(of("done"), None, "{timeline}");
        assert!(of("lonely").is_some(), "{timeline}");
        assert_eq!((metric(&observed, "evictions"), metric(&observed, "disruptions")), (1.0, 1.0), "{timeline}");
        assert_eq!(observed.cluster.last().map(|row| row.evictions), Some(1), "{timeline}");
        assert_eq!(metric(&observed, "pods_lost"), 1.0, "{timeline}");
    }
}

#[test]
fn a_service_whose_workload_was_scaled_away_is_told_from_one_that_lost_it() {
    let service = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: web}, ports: [{port: 80}]}}";
    let check = |timeline: &str, expected: (f64, f64)| {
        let observed = play("10m", timeline, &[&web(2), service]);
        let web = &observed.summary.services[0];
        let (found, wanted) = ((web.without_targets_s, web.unwanted_s), expected);
        assert!((found.0 - wanted.0).abs() < 5.0 && (found.1 - wanted.1).abs() < 5.0, "{timeline}: {found:?}");
    };
    check("{at: 4m, kubectl: scale deployment web --replicas=0}", (360.0, 360.0));
    check("{at: 4m, kubectl: delete deployment web}", (360.0, 360.0));
    check(
        "{at: 4m, kubectl: scale deployment web --replicas=0}, {at: 6m, kubectl: scale deployment web --replicas=2}",
        (120.0, 120.0),
    );
    // Images are gone when it is wanted again.
    let back = "{at: 4m, kubectl: scale deployment web --replicas=0}, {at: 5m, kubectl: cordon n-0 n-1 n-2}, \
                {at: 6m, kubectl: scale deployment web --replicas=2}";
    check(back, (360.0, 120.0));
}

#[test]
fn a_daemon_set_without_a_node_is_not_one_that_nobody_wants() {
    let service = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: web}, ports: [{port: 80}]}}";
    let set = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: web, namespace: default}, spec: {selector: {matchLabels: {app: web}}, \
               template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}";
    let unwanted = |timeline: &str| {
        let observed = play("10m", timeline, &[set, service]);
        let web = &observed.summary.services[0];
        assert!((web.without_targets_s - 360.0).abs() < 10.0, "{timeline}: {}", web.without_targets_s);
        web.unwanted_s
    };
    assert_eq!(unwanted("{at: 4m, kubectl: 'taint nodes --all broken=:NoExecute'}"), 0.0);
    assert!(unwanted("{at: 4m, kubectl: delete daemonset web}") > 350.0);
    let nowhere = r#"{"spec":{"template":{"spec":{"nodeSelector":{"nobody":"here"}}}}}"#;
    assert!(unwanted(&format!("{{at: 4m, kubectl: 'patch daemonset web -p ''{nowhere}'''}}")) > 350.0);
    // One that is made under its name has had no node yet.
    let anew = set.replace("spec: {containers", "spec: {nodeSelector: {nobody: here}, containers");
    let again = format!("{{at: 4m, kubectl: delete daemonset web}}, {{at: 5m, kubectl: 'apply -f - <<<\"{anew}\"'}}");
    assert!(unwanted(&again) > 350.0);
    // And one that a label gives a node is wanted from then on.
    let moved = r#"{"spec":{"template":{"spec":{"nodeSelector":{"nobody":"here"},"containers":[{"name":"web","image":"next"}]}}}}"#;
    let wanted = unwanted(&format!(
        "{{at: 4m, kubectl: 'patch daemonset web -p ''{moved}'''}}, {{at: 5m, fault: {{kind: ImagePullFailure, images: ['*'], for: \
         1h}}}}, {{at: 6m, kubectl: label node n-0 nobody=here}}"
    ));
    assert!((wanted - 120.0).abs() < 10.0, "{wanted}");
}

#[test]
fn a_workload_whose_pods_all_fail_before_they_run_storms() {
    let picky = web(2).replace("containers:", "nodeName: n-1, nodeSelector: {disk: none}, containers:");
    let timeline = format!("{{at: 1m, kubectl: 'apply -f - <<<\"{picky}\"'}}");
    let observed = play("4m", &timeline, &[]);
    let storm = said(&observed, Matter::PodStorm);
    assert_eq!((storm.tone, storm.objects.as_slice()), (Tone::Bad, &["deployment/default/web".to_owned()][..]));
    let failed = observed.pods.iter().filter(|pod| pod.finished_at.is_some()).count();
    assert!(failed > 100, "{failed}");
    let expected =
        format!("STORM: deployment/default/web made {failed} pods that failed before they ran, from 1m0s to ");
    assert!(storm.text.starts_with(&expected), "{storm:?}");
    assert!(storm.text.ends_with(": NodeAffinity on node/n-1"), "{storm:?}");
    // One that fails once is lost, not storming, and its reason is told.
    let lost = pod("lonely", "").replace("containers:", "nodeSelector: {disk: none}, containers:");
    let observed = play("4m", &format!("{{at: 1m, kubectl: 'apply -f - <<<\"{lost}\"'}}"), &[]);
    assert_eq!(tone(&observed, Matter::PodStorm), None);
    let text = &said(&observed, Matter::PodsLost).text;
    assert!(text.ends_with(": pod/default/lonely (NodeAffinity)"), "{text}");
}

#[test]
fn a_namespace_that_cannot_go_and_what_holds_it_are_named() {
    let held = pod("held", ", finalizers: [example.com/backup]").replace("namespace: default", "namespace: shop");
    let shop = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}";
    let observed = play("10m", "{at: 1m, kubectl: delete namespace shop --wait=false}", &[shop, &held]);
    let pods = said(&observed, Matter::PodsTerminating);
    assert_eq!(pods.text, "1 pod is Terminating and not gone, though ended: finalizers hold: pod/shop/held");
    let namespaces = said(&observed, Matter::NamespacesTerminating);
    assert_eq!(namespaces.text, "1 namespace is being deleted and not gone: namespace/shop");
    assert_eq!(namespaces.tone, Tone::Bad);
}

#[test]
fn why_a_pod_waits_at_the_end_is_what_its_condition_says() {
    let gated = pod("gated", "").replace("nodeName: n-0,", "schedulingGates: [{name: example.com/g}],");
    let observed = play("3m", "", &[&gated]);
    let said_of =
        |name: &str| observed.pods.iter().rfind(|pod| &*pod.name == name).and_then(|pod| pod.not_scheduled.clone());
    assert_eq!(said_of("gated").as_deref(), Some("Scheduling is blocked due to non-empty scheduling gates"));
    let observed =
        play("3m", "{at: 1m, kubectl: cordon -l '!x'}, {at: 2m, kubectl: delete pods --all --wait=false}", &[&web(1)]);
    let waits = observed.pods.last().and_then(|pod| pod.not_scheduled.clone()).unwrap_or_default();
    assert!(waits.starts_with("0/3 nodes are available: 3 node(s) were unschedulable."), "{waits}");
    assert_eq!(observed.pods.first().and_then(|pod| pod.not_scheduled.clone()), None, "it was bound");
}
