//! What `explain` tells: words of the field, and the causes that were.

use std::path::Path;

use kubesquall::inspect::{Chapter, explain};
use kubesquall::observe::{CauseRow, Observed};
use kubesquall::report::{OutputDir, Overwrite, write_tables};
use kubesquall::scenario::{self, Overrides};
use kubesquall::state::{CauseId, DeletionCause};
use kubesquall::units::{SimDuration, SimTime};
use rayon::prelude::*;

use super::figures::{play, web};
use super::random::seeds;
use super::{plays, random_scenario};

/// The first cause that shows how the program is made, if there is one.
pub(super) fn debug_text(observed: &Observed) -> Option<String> {
    let is_debug = |text: &str| {
        // What kubectl was told, or an event says, is somebody else's text.
        let ours = text.split_once("kubectl ").map_or(text, |(ours, _)| ours);
        let ours = ours.split_once(": ").filter(|_| ours.contains('/')).map_or(ours, |(ours, _)| ours);
        let call = ours
            .char_indices()
            .any(|(at, c)| c == '(' && ours[..at].ends_with(|before: char| before.is_ascii_alphanumeric()));
        call || ["{ ", "::", "#", "Some("].iter().any(|sign| ours.contains(sign))
    };
    observed.causes.iter().map(|row| row.what.clone()).find(|what| is_debug(what))
}

/// Plays, writes the files, and asks why of several objects: each step with its causes, nearest first.
fn asked(duration: &str, timeline: &str, objects: &[&str], about: &[&str]) -> Vec<Vec<Vec<String>>> {
    let observed = play(duration, timeline, objects);
    assert_eq!(debug_text(&observed), None);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = dir.path().join("run");
    let out = OutputDir::begin(&place, Overwrite::OnlyOurs).expect("a place for the results");
    write_tables(&observed, &out).expect("the tables");
    out.write("summary.json", br#"{"metrics": {}, "workloads": []}"#).expect("the summary");
    out.finish().expect("the results");
    let chain = |chapter: &Chapter| {
        let because = chapter.because.iter().map(|link| link.what.clone());
        std::iter::once(chapter.effect.what.clone()).chain(because).collect()
    };
    let told = |object: &&str| {
        let told = explain(&place, object).unwrap_or_else(|error| panic!("{error}"));
        told.chapters.iter().map(chain).collect()
    };
    about.iter().map(told).collect()
}

const AUTOSCALER: &str = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: default}, spec: \
     {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 9, metrics: [{type: Resource, \
     resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}";

fn loaded_web() -> String {
    web(2).replace("image: i", "image: i, resources: {requests: {cpu: 100m}}")
}

#[test]
fn an_autoscaler_that_follows_the_load_is_told_by_the_load() {
    let load = "], horizontalPodAutoscalers: [{target: deployment/default/web, perReplica: 100, load: [{at: 0s, load: 100}, {at: 5m, \
                load: 100}, {at: 5m, load: 300}]}";
    let timeline = format!("{{at: 1m, kubectl: label deploy web a=b}}{load}");
    let told = asked("10m", &timeline, &[&loaded_web(), AUTOSCALER], &["horizontalpodautoscaler/web"]);
    let root = "horizontal-pod-autoscaler: the load on deployment/default/web asks for 6 replicas";
    let scaled = told[0].iter().find(|chain| chain[0].contains("SuccessfulRescale: New size: 4"));
    let scaled = scaled.unwrap_or_else(|| panic!("{told:#?}"));
    assert_eq!(scaled.last().map(String::as_str), Some(root), "{scaled:#?}");
    // What holds it back is followed from there.
    let further = told[0].iter().find(|chain| chain[0].contains("New size: 6")).expect("the next size");
    assert_eq!(further.last().map(String::as_str), Some(root), "{further:#?}");
}

#[test]
fn each_run_of_a_cron_job_is_told_by_its_schedule() {
    let cron_job = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: often, namespace: default}, spec: {schedule: '*/5 * * * *', \
                    jobTemplate: {spec: {template: {metadata: {annotations: {kubesquall.sim/run-for: 10s}}, spec: {restartPolicy: \
                    Never, containers: [{name: c, image: i}]}}}}}}";
    let timeline = "{at: 1m, kubectl: cordon n-0}";
    let told = asked("21m", timeline, &[cron_job], &["cronjob/often"]);
    let schedule = "cronjob-controller: the schedule of cronjob/default/often";
    assert!(told[0].len() >= 3 && told[0].iter().all(|chain| chain[..] == [schedule]), "{told:#?}");
    let causes = play("21m", timeline, &[cron_job]).causes;
    let by = |row: &CauseRow| causes.iter().find(|other| other.effect == row.cause);
    let created: Vec<_> =
        causes.iter().filter(|row| row.what.starts_with("pod/") && row.what.ends_with(" created")).collect();
    assert!(created.len() >= 3);
    for pod in created {
        let job = by(pod).expect("its Job");
        assert!(job.what.starts_with("job/default/often-") && job.what.ends_with(" created"), "{}", job.what);
        // The one that was due when the run began has no cause in it.
        let root = by(job).map(|root| root.what.as_str());
        assert_eq!(root, (job.at > SimTime::ZERO + SimDuration::from_secs(1)).then_some(schedule));
    }
}

#[test]
fn every_kind_of_object_can_be_asked_about() {
    let set = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop}, spec: {replicas: 1, serviceName: db, selector: \
               {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: i}]}}, \
               volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: \
               {requests: {storage: 1Gi}}}}]}}";
    let class =
        "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: example.com/disk}";
    let budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 1, \
                  selector: {matchLabels: {app: web}}}}";
    let service = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: web}, ports: [{port: \
                   80}]}}";
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: once, namespace: default}, spec: {template: {spec: {restartPolicy: \
               Never, containers: [{name: c, image: i}]}}}}";
    let daemons = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: default}, spec: {selector: {matchLabels: {app: \
                   agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: i}]}}}}";
    let timeline = "{at: 1m, kubectl: delete statefulset db -n shop}, {at: 2m, kubectl: delete pvc --all -n shop}, {at: 3m, kubectl: \
                    rollout restart deploy/web}, {at: 4m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 2m}}, {at: 12m, kubectl: \
                    'delete pdb,svc,job,ds,hpa --all'}, {at: 13m, kubectl: delete ns shop}, {at: 14m, kubectl: create ns late}, {at: 15m, \
                    kubectl: autoscale deploy web --max=3}";
    let objects = [&*loaded_web(), set, class, budget, service, job, daemons, AUTOSCALER];
    let about = [
        "node/n-0",
        "deployment/web",
        "statefulset/db",
        "daemonset/agent",
        "job/once",
        "service/web",
        "poddisruptionbudget/web",
        "horizontalpodautoscaler/web",
        "persistentvolumeclaim/data-db-0",
        "namespace/shop",
        "namespace/late",
    ];
    for (name, told) in about.iter().zip(asked("20m", timeline, &objects, &about)) {
        assert!(!told.is_empty(), "{name}");
        let is_typed = |chain: &Vec<String>| chain.last().is_some_and(|root| root.starts_with("scenario: "));
        assert!(told.iter().any(is_typed), "{name}: {told:#?}");
    }
}

#[test]
fn random_scenarios_are_told_in_words() {
    let (seeds, _) = seeds("RANDOM_SEEDS", 0..15);
    let wrong: Vec<String> = seeds
        .into_par_iter()
        .filter_map(|seed| {
            let text = random_scenario::scenario(seed);
            let scenario = scenario::load_text("scenario.yaml", &text, Path::new(""), &Overrides::none()).ok()?;
            let (observed, _) = plays::whole(&scenario);
            Some(format!("seed {seed}: {}", debug_text(&observed)?))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// What a thing follows from, nearest first.
pub(super) fn behind<'a>(causes: &'a [CauseRow], of: &CauseRow) -> Vec<&'a str> {
    let row = |id: CauseId| causes.binary_search_by_key(&id.0, |row| row.effect.0).ok().map(|at| &causes[at]);
    std::iter::successors(row(of.cause), |effect| row(effect.cause)).map(|row| row.what.as_str()).collect()
}

#[test]
fn what_becomes_of_a_pod_whose_node_is_gone_follows_from_its_own_node() {
    let timeline = "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}, {at: 1m, fault: {kind: InstanceGone, nodes: {names: \
                    [n-1]}}}";
    let observed = play("10m", timeline, &[&web(6)]);
    let mut told = 0;
    for pod in observed.pods.iter().filter(|pod| pod.deletion_cause == Some(DeletionCause::DeletionByPodGc)) {
        let name = format!("pod/{}/{} ", pod.namespace, pod.name);
        let ends = ["marked for deletion (DeletionByPodGC)", "is Failed"].map(|what| format!("{name}{what}"));
        for row in observed.causes.iter().filter(|row| ends.contains(&row.what)) {
            let node = format!("node/{} deleted", pod.node);
            assert!(behind(&observed.causes, row).contains(&node.as_str()), "{row:?}");
            told += 1;
        }
    }
    assert!(told >= 4, "{told}");
}
