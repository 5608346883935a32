//! What kubelets keep, and what not, when their machines go down or are replaced.

use std::path::Path;

use kubesquall::observe::Observed;
use kubesquall::scenario::{self, Overrides};

use super::verified;

fn play(spec: &str, objects: &str) -> Observed {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: kubelets}}\nspec: {{seed: 1, {spec}}}\n---\n{objects}\n"
    );
    let scenario = scenario::load_text("kubelets.yaml", &text, Path::new("absent"), &Overrides::none())
        .unwrap_or_else(|invalid| panic!("{invalid:?}\n{text}"));
    verified::play(&scenario)
}

/// When events of a reason came.
fn times(observed: &Observed, reason: &str) -> Vec<i64> {
    let events = observed.events.iter().filter(|event| event.reason == reason);
    events.map(|event| event.at.as_nanos() / 1_000_000_000).collect()
}

const POOL: &str = "cluster: {bootstrap: cold, nodePools: [{name: w, count: COUNT, zones: [a], template: {status: {allocatable: {cpu: '8', \
                    memory: 16Gi, pods: '110'}}}}]}";

#[test]
fn a_machine_that_comes_in_place_of_another_has_none_of_its_images() {
    let pool = POOL.replace("COUNT", "1");
    let spec = format!(
        "duration: 40m, {pool}, latency: {{imagePull: 120s, podStart: 1s, nodeBoot: 60s}}, nodeAutoRepair: {{unhealthyFor: 5m, drainTimeout: \
         1m}}, timeline: [{{at: 10m, fault: {{kind: Crash, nodes: {{names: [w-0]}}}}}}]"
    );
    let objects = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 1, selector: \
                   {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: 'big:1'}]}}}}";
    let observed = play(&spec, objects);
    let (pulls, starts) = (times(&observed, "Pulling"), times(&observed, "Started"));
    assert_eq!((pulls.len(), starts.len()), (2, 2), "{pulls:?} {starts:?}");
    assert!(pulls[1] > 600 && (120..125).contains(&(starts[1] - pulls[1])), "{pulls:?} {starts:?}");
}

#[test]
fn a_reboot_leaves_nothing_of_a_pod_that_was_deleted_by_force() {
    let pool = POOL.replace("COUNT", "2");
    let spec = format!(
        "duration: 15m, {pool}, latency: {{podStart: 1s, podStop: 5s, kubeletReconnect: 5s, nodeBoot: 5s, volumeAttach: 5s, volumeDetach: 5s}}, \
         timeline: [{{at: 100s, kubectl: 'cordon w-0 w-1'}}, {{at: 101s, kubectl: 'delete pod db-0 --force --grace-period=0'}}, \
         {{at: 110s, fault: {{kind: Reboot, nodes: {{}}}}}}, {{at: 120s, kubectl: 'uncordon w-0 w-1'}}]"
    );
    let objects = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: disk.csi.azure.com, volumeBindingMode: \
                   WaitForFirstConsumer}\n---\n{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: disk.csi.azure.com}, spec: \
                   {attachRequired: true}}\n---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: default}, spec: {replicas: 1, \
                   serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}, annotations: \
                   {kubesquall.sim/stop: 200s}}, spec: {terminationGracePeriodSeconds: 300, containers: [{name: c, image: 'a:1', volumeMounts: \
                   [{name: d, mountPath: /d}]}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], \
                   storageClassName: disk, resources: {requests: {storage: 1Gi}}}}]}}";
    let observed = play(&spec, objects);
    let starts = times(&observed, "Started");
    assert!(starts.len() == 2 && (120..170).contains(&starts[1]), "{starts:?}");
    assert!(times(&observed, "FailedMount").is_empty());
}

#[test]
fn a_pod_is_ended_once_however_late_that_is_known() {
    let pool = POOL.replace("COUNT", "1");
    let slow = "{at: 60s, fault: {kind: SlowNetwork, nodes: {}, delay: 20s, for: 300s}}";
    let latency = "latency: {podStart: 1s, podStop: 5s}";
    let short = "{at: 70s, fault: {kind: MemoryPressure, nodes: {}, usage: {memory: 12Gi}, for: 30s}}";
    let spec = format!("duration: 10m, {pool}, {latency}, timeline: [{slow}, {short}]");
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, annotations: {kubesquall.sim/usage: '{memory: 6Gi}'}}, spec: \
               {containers: [{name: c, image: 'a:1'}]}}";
    let observed = play(&spec, pod);
    assert_eq!((times(&observed, "Evicted").len(), times(&observed, "Killing").len()), (1, 1));
    let spec = format!(
        "duration: 10m, {pool}, {latency}, timeline: [{slow}, {{at: 120s, kubectl: delete pod a --wait=false}}]"
    );
    let observed = play(&spec, pod);
    assert_eq!(times(&observed, "Killing").len(), 1);
}

#[test]
fn a_volume_is_free_as_soon_as_a_new_kubelet_has_stopped_who_used_it() {
    let pool = POOL.replace("COUNT", "2");
    let spec = format!(
        "duration: 15m, controlPlane: {{}}, {pool}, latency: {{podStart: 1s, kubeletReconnect: 5s, nodeBoot: 5s, volumeAttach: 5s, volumeDetach: \
         5s}}, timeline: [{{at: 100s, kubectl: cordon w-0 w-1}}, {{at: 101s, kubectl: delete pod db-0 --force --grace-period=0}}, \
         {{at: 103s, fault: {{kind: KubeletStop, nodes: {{}}, for: 10s}}}}, {{at: 120s, kubectl: uncordon w-1}}]"
    );
    let objects = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: disk.csi.azure.com, \
                   volumeBindingMode: WaitForFirstConsumer}\n---\n{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: \
                   disk.csi.azure.com}, spec: {attachRequired: true}}\n---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, \
                   namespace: default}, spec: {replicas: 1, serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: \
                   {app: db}, annotations: {kubesquall.sim/stop: 200s}}, spec: {terminationGracePeriodSeconds: 300, containers: [{name: c, image: \
                   'a:1', volumeMounts: [{name: d, mountPath: /d}]}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: \
                   [ReadWriteOnce], storageClassName: disk, resources: {requests: {storage: 1Gi}}}}]}}";
    let observed = play(&spec, objects);
    let starts = times(&observed, "Started");
    assert!(starts.len() == 2 && starts[1] < 300, "{starts:?}");
}

/// A Deployment of one pod on one node in a cluster that has settled, with these annotations and more of its container.
fn settled(annotations: &str, pod: &str, container: &str, timeline: &str) -> Observed {
    let pool = POOL.replace("COUNT", "1").replace("bootstrap: cold, ", "");
    let spec = format!("duration: 20m, {pool}, latency: {{podStart: 1s, podStop: 1s}}, timeline: [{timeline}]");
    let objects = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default}}, spec: {{replicas: 1, selector: {{matchLabels: \
         {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}, annotations: {{{annotations}}}}}, spec: {{{pod}containers: [{{name: c, \
         image: 'a:1'{container}}}]}}}}}}}}"
    );
    play(&spec, &objects)
}

#[test]
fn an_application_that_was_there_at_the_start_falls_silent_as_others() {
    let probe = ", livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 10, failureThreshold: 3}";
    for timeline in ["", "{at: 100s, fault: {kind: KubeletStop, nodes: {}, for: 10s}}"] {
        let observed = settled("kubesquall.sim/healthy-for: 300s", "", probe, timeline);
        // Once every five and a half minutes, or a little more.
        let (killed, failed) = (times(&observed, "Killing"), times(&observed, "Unhealthy"));
        assert!((3..=4).contains(&killed.len()), "{timeline}: {killed:?}");
        for killed in killed.into_iter().filter(|at| *at > 150) {
            let near: Vec<i64> = failed.iter().copied().filter(|at| (killed - 25..=killed).contains(at)).collect();
            assert_eq!(near.len(), 3, "{timeline}: {killed}, {failed:?}");
        }
    }
}

#[test]
fn what_runs_for_a_time_and_has_been_restarted_ends_in_that_time() {
    let observed = settled("kubesquall.sim/run-for: 1000s", "", "", "");
    // It has begun before the start of the run, and begins once more at its end.
    let starts = times(&observed, "Started");
    assert!(!starts.is_empty() && starts[0] < 999, "{starts:?}");
}

#[test]
fn readiness_gates_that_were_not_met_before_the_start_are_not_met_by_it() {
    let gate = "readinessGates: [{conditionType: lb}], ";
    let observed = settled("kubesquall.sim/gate-lb: never", gate, "", "");
    assert_eq!(observed.pods[0].ready_at, None);
}

#[test]
fn a_static_pod_counts_its_restarts_on_whatever_mirror_it_has() {
    let pool = POOL.replace("COUNT", "1").replace("bootstrap: cold, ", "");
    let spec = format!(
        "duration: 20m, {pool}, latency: {{podStart: 1s, podStop: 2s, kubeletReconnect: 3s, nodeBoot: 20s}}, timeline: [{{at: 121s, fault: \
         {{kind: KubeletStop, nodes: {{}}, for: 178s}}}}, {{at: 143s, kubectl: delete pod -n kube-system --all --wait=false}}]"
    );
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: st-w-0, namespace: kube-system, annotations: {kubernetes.io/config.mirror: x, \
               kubernetes.io/config.source: file, kubesquall.sim/run-for: 202s, kubesquall.sim/exit-code: '1'}, ownerReferences: [{apiVersion: v1, \
               kind: Node, name: w-0, uid: u, controller: true}]}, spec: {nodeName: w-0, containers: [{name: c, image: 'a:1', lifecycle: \
               {postStart: {sleep: {seconds: 18}}}}]}}";
    // The play is verified.
    play(&spec, pod);
}

#[test]
fn containers_that_wait_for_init_containers_say_so() {
    let pool = POOL.replace("COUNT", "1");
    let line = "get pods -o jsonpath='{range .items[*]}{.status.containerStatuses[0].state.waiting.reason} {end}'";
    let spec = format!(
        "duration: 2m, {pool}, latency: {{podStart: 1s, imagePull: 60s}}, timeline: [{{at: 5s, kubectl: {}}}]",
        serde_json::to_string(line).expect("text")
    );
    let pod = |name: &str, inits: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default}}, spec: {{{inits}containers: [{{name: c, image: i}}]}}}}"
        )
    };
    let objects = [pod("a", ""), pod("b", "initContainers: [{name: i, image: i}], ")].join("\n---\n");
    let observed = play(&spec, &objects);
    assert_eq!(observed.transcript[0].stdout, ["ContainerCreating PodInitializing "]);
}
