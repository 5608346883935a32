use std::fs;

use super::super::sentence::Part;
use super::super::story::{Origin, tell};
use super::*;

/// A run of one Deployment, of which a pod is evicted from a node that is lost, and of a service.
fn run() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("a file");
    write("summary.json", r#"{"scenario": "s", "duration_s": 600.0, "metrics": {}, "workloads": []}"#);
    write("services.csv", "time_s,namespace,name,ready,targets,dead_targets\n0.000,shop,web,1,1,0\n");
    write(
        "nodes.csv",
        "time_s,node,ready,unschedulable\n0.000,n1,True,false\n0.000,n2,True,false\n50.005,n1,Unknown,false\n",
    );
    write(
        "workloads.csv",
        "time_s,namespace,kind,name,desired,ready,missing\n0.000,shop,Deployment,web,1,1,0\n50.010,shop,Deployment,web,1,1,1\n\
         50.020,shop,Deployment,web,1,0,1\n352.500,shop,Deployment,web,1,0,0\n352.510,shop,Deployment,web,1,1,0\n",
    );
    write(
        "readiness.csv",
        "time_s,namespace,name,ready\n0.000,shop,web-5d-a,True\n50.010,shop,web-5d-a,False\n352.500,shop,web-5d-b,True\n",
    );
    write(
        "pods.csv",
        "namespace,name,owner_kind,owner_name,initial,node,created_s,scheduled_s,started_s,ready_s,deletion_s,deletion_cause,finished_s,\
         gone_s,phase,reason,restarts,workload_kind,workload_name,taken_away,unready_s,priority\n\
         shop,web-5d-a,ReplicaSet,web-5d,true,n1,0.000,0.000,0.000,0.000,350.120,TaintManagerEviction,,,Running,,0,Deployment,web,true,300.0,0\n\
         shop,web-5d-b,ReplicaSet,web-5d,false,n2,350.140,351.000,352.000,352.500,,,,,Running,,0,Deployment,web,false,2.0,0\n",
    );
    write(
        "events.csv",
        "time_s,component,reason,kind,namespace,name,message\n0.005,controllermanager,NoPods,PodDisruptionBudget,shop,web,No matching pods found\n",
    );
    write(
        "disruptions.csv",
        "namespace,name,created_s,lost_s,outcome,replacement,replacement_created_s,stopped_s,detect_s,dead_node_s,attach_s,mount_s\n\
         shop,web-5d-a,0.000,350.120,replaced,web-5d-b,350.140,10.000,40.010,0.000,0.000,0.000\n",
    );
    write("faults.csv", "name,kind,effect,object,began_s,ended_s\nCrash@10s,Crash,lost power,node/n1,10.000,\n");
    write(
        "taints.csv",
        "time_s,node,key,effect,change,by\n50.030,n1,node.kubernetes.io/unreachable,NoExecute,added,node-controller\n",
    );
    write(
        "timers.csv",
        "set_s,timer,namespace,name,length_s,due_s,ended_s,end,taint,by\n\
         5.000,node-monitor-grace,,n1,40.000,46.000,50.000,fired,,--node-monitor-grace-period\n\
         50.040,toleration,shop,web-5d-a,300.000,350.040,350.040,fired,node.kubernetes.io/unreachable:NoExecute,DefaultTolerationSeconds\n",
    );
    write(
        "causes.csv",
        "effect_id,time_s,what,cause_id\n1,10.000,scenario: Crash of n1 begins,\n2,50.005,\"node/n1 conditions changed, Ready=Unknown\",1\n\
         3,50.010,pod/shop/web-5d-a Ready=False,2\n4,50.030,node/n1 +node.kubernetes.io/unreachable:NoExecute,2\n\
         5,350.120,pod/shop/web-5d-a marked for deletion (TaintManagerEviction),4\n6,350.140,pod/shop/web-5d-b created,5\n\
         7,351.000,pod/shop/web-5d-b bound to n2,6\n8,351.002,pod/shop/web-5d-b Ready=False,7\n9,352.500,pod/shop/web-5d-b Ready=True,7\n",
    );
    dir
}

#[test]
fn every_chain_ends_at_the_fault() {
    let explanation = explain(run().path(), "pod/shop/web-5d-b").expect("a known pod");
    let because: Vec<&str> = explanation.chapters[0].because.iter().map(|link| link.what.as_str()).collect();
    assert_eq!(because.len(), 4);
    assert_eq!(because[3], "scenario: Crash of n1 begins");
    let evicted = explain(run().path(), "pod/shop/web-5d-a").expect("a known pod");
    assert_eq!(evicted.chapters[1].led_to[0].what, "pod/shop/web-5d-b created");
    assert_eq!(explain(run().path(), "deployment/web").expect("a workload").chapters.len(), 6);
}

#[test]
fn the_terms_of_an_eviction_add_up() {
    let story = tell(run().path(), "web-5d-a").expect("a known pod");
    let terms: Vec<(&str, u64)> = story.sums[0].terms.iter().map(|term| (term.name, term.takes.as_millis())).collect();
    let expected = [
        ("last heartbeat", 0),
        ("grace", 40_000),
        ("monitor pass", 5_005),
        ("limiter", 25),
        ("notice", 10),
        ("toleration", 300_000),
        ("client rate limit", 80),
        ("recreate", 20),
        ("schedule", 860),
        ("pull and start", 1_000),
        ("become Ready", 500),
    ];
    assert_eq!(terms, expected);
    assert_eq!(story.sums[0].together.as_millis(), terms.iter().map(|(_, takes)| takes).sum::<u64>());
    assert_eq!(story.sums[0].together.as_millis(), 347_500);
    // What is no table's time is not told as one.
    assert_eq!(story.sums[0].terms[1].until, None);
}

#[test]
fn a_fate_has_one_chain() {
    let story = tell(run().path(), "pod/shop/web-5d-b").expect("a known pod");
    let chains: Vec<usize> = story.steps.iter().map(|step| step.because.len()).collect();
    // Created, bound, Ready; that it was not Ready when it was bound is no news.
    assert_eq!(chains, [4, 0, 0], "{:#?}", story.steps);
    assert_eq!(story.steps[0].origin, Some(Origin::Scenario));
    let workload = tell(run().path(), "deployment/web").expect("a workload");
    assert_eq!(workload.steps.len(), 1, "{:#?}", workload.steps);
    let named: Vec<&Part> = workload.steps[0].says.0.iter().filter(|part| matches!(part, Part::Object(_))).collect();
    assert_eq!(named.len(), 3, "the pod, its node and what came: {named:?}");
}

#[test]
fn what_no_table_names_is_known_by_its_events_and_by_what_happened_to_it() {
    let dir = run();
    assert_eq!(tell(dir.path(), "poddisruptionbudget/web").expect("a budget").object, "poddisruptionbudget/shop/web");
    let path = dir.path().join("causes.csv");
    let text = fs::read_to_string(&path).expect("the file");
    let more = "10,400.000,horizontalpodautoscaler/shop/web wants 2 to 9,\n11,415.000,deployment/shop/web changed,10\n";
    fs::write(&path, text + more).expect("a file");
    let found = explain(dir.path(), "horizontalpodautoscaler/web").expect("an autoscaler");
    assert_eq!(found.object, "horizontalpodautoscaler/shop/web");
    assert_eq!(found.chapters[0].led_to[0].what, "deployment/shop/web changed");
    // What a table names comes first.
    assert_eq!(tell(dir.path(), "deployment/web").expect("a workload").object, "deployment/shop/web");
}

#[test]
fn a_workload_is_short_from_when_its_pod_is_deleted_whatever_its_status_says() {
    let dir = run();
    let facts = || {
        let story = tell(dir.path(), "deployment/web").expect("a workload");
        story.facts.iter().map(|fact| serde_json::to_string(fact).expect("data")).collect::<Vec<_>>()
    };
    assert!(
        facts()
            .iter()
            .any(|fact| fact.starts_with(r#"["Short of up to 1 from ",{"at_s":50.01}," to ",{"at_s":352.5}"#)),
        "{:?}",
        facts()
    );
    // It goes on to serve while it is being deleted, and its Deployment counts it.
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("a file");
    write(
        "workloads.csv",
        "time_s,namespace,kind,name,desired,ready,missing\n0.000,shop,Deployment,web,1,1,0\n350.120,shop,Deployment,web,1,1,1\n\
         351.210,shop,Deployment,web,1,0,1\n352.500,shop,Deployment,web,1,0,0\n",
    );
    assert!(
        facts()
            .iter()
            .any(|fact| fact.starts_with(r#"["Short of up to 1 from ",{"at_s":350.12}," to ",{"at_s":352.5}"#)),
        "{:?}",
        facts()
    );
}

/// The text of all facts of a story, and of what happened.
fn told(dir: &std::path::Path, object: &str) -> (String, String) {
    let story = tell(dir, object).expect("a story");
    let says: Vec<_> = story.steps.iter().map(|step| &step.says).collect();
    (serde_json::to_string(&story.facts).expect("data"), serde_json::to_string(&says).expect("data"))
}

fn replace(dir: &std::path::Path, name: &str, from: &str, to: &str) {
    let text = fs::read_to_string(dir.join(name)).expect("the file");
    assert!(text.contains(from), "{from}: {text}");
    fs::write(dir.join(name), text.replace(from, to)).expect("a file");
}

#[test]
fn who_comes_too_late_to_evict_a_pod_did_not_evict_it() {
    let dir = run();
    assert!(told(dir.path(), "pod/shop/web-5d-a").0.contains("by the taint eviction controller"));
    replace(dir.path(), "causes.csv", "for deletion (TaintManagerEviction)", "for deletion (ReplicaSetScaleDown)");
    replace(dir.path(), "pods.csv", "Deployment,web,true", "Deployment,web,false");
    for object in ["pod/shop/web-5d-a", "deployment/shop/web"] {
        let (facts, says) = told(dir.path(), object);
        assert!(!facts.contains("taint eviction") && !says.contains("taint eviction"), "{facts} {says}");
        assert!(facts.contains("ReplicaSetScaleDown") || says.contains("ReplicaSetScaleDown"), "{facts} {says}");
    }
}

#[test]
fn a_budget_whose_status_is_written_again_has_not_changed() {
    let dir = run();
    let rows = "10,400.000,poddisruptionbudget/shop/web allows 0,\n11,401.000,poddisruptionbudget/shop/web allows 0,\n\
                12,402.000,poddisruptionbudget/shop/web allows 1,\n13,403.000,poddisruptionbudget/shop/web allows 1,\n";
    let path = dir.path().join("causes.csv");
    let text = fs::read_to_string(&path).expect("the file") + rows;
    fs::write(&path, &text).expect("a file");
    let (facts, says) = told(dir.path(), "poddisruptionbudget/shop/web");
    assert_eq!((facts.as_str(), says.matches("Allows").count()), ("[]", 2), "{says}");
    fs::write(&path, text + "14,404.000,poddisruptionbudget/shop/web allows 2,\n").expect("a file");
    let (facts, _) = told(dir.path(), "poddisruptionbudget/shop/web");
    assert!(facts.contains("1 change from one number above 0 to another is in causes.csv"), "{facts}");
}

#[test]
fn a_service_whose_number_of_ready_endpoints_is_what_it_was_has_no_step() {
    let dir = run();
    let rows = "10,400.000,service/shop/web has 1 ready endpoints,\n11,401.000,service/shop/web has 2 ready endpoints,\n\
                12,401.500,service/shop/web changed,\n13,402.000,service/shop/web has 2 ready endpoints,\n";
    let path = dir.path().join("causes.csv");
    fs::write(&path, fs::read_to_string(&path).expect("the file") + rows).expect("a file");
    let (_, says) = told(dir.path(), "service/shop/web");
    assert!(says.contains("Has 2 ready endpoints") && says.matches("Has ").count() == 1, "{says}");
}

#[test]
fn what_a_node_was_and_when_it_came_back_is_one_list() {
    let dir = run();
    let changes = "50.005,n1,False,false\n60.000,n1,Unknown,false\n70.000,n1,True,false\n";
    replace(dir.path(), "nodes.csv", "50.005,n1,Unknown,false\n", changes);
    let (facts, _) = told(dir.path(), "node/n1");
    assert!(facts.contains(r#"{"at_s":60.0},", Ready again at ""#) && !facts.contains(",,"), "{facts}");
}
