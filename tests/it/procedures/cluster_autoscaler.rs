//! cluster-autoscaler: nodes for pods that wait, and none too many.

use kubesquall::observe::{Detail, Observers};
use kubesquall::scenario::{self, Overrides};
use kubesquall::simulation::Prepared;
use kubesquall::units::{SimDuration, SimTime};
use std::path::Path;

use super::{Played, budget, deployment, play, pool, seconds, text};

/// Plays two nodes of four CPUs with an autoscaler up to `max`.
fn autoscale(max: u32, flags: &str, duration: &str, timeline: &str, objects: &[&str]) -> Played {
    let spec = format!(
        "duration: {duration}, {}, clusterAutoscaler: {{pools: [{{name: w, min: 1, max: {max}}}], provisioning: 30s, flags: \
         {{{flags}}}}}, timeline: [{timeline}]",
        pool(2)
    );
    play(&spec, objects, &mut |_| {})
}

#[test]
fn exactly_the_nodes_are_added_that_waiting_pods_need() {
    // Two pods fit on a node of four CPUs: ten pods need five nodes.
    let web = deployment("web", 2, "1500m");
    let played = autoscale(10, "", "9m", "{at: 1m, kubectl: scale deployment/web --replicas=10}", &[&web]);
    assert_eq!(played.nodes(), ["w-0", "w-1", "w-2", "w-3", "w-4"].map(str::to_owned));
    assert_eq!(played.running(), 10);
    assert_eq!(played.message("ScaledUpGroup"), "Scale-up: setting group w size to 5 instead of 2 (max: 10)");
    assert_eq!(played.events("TriggeredScaleUp").len(), 6);
    assert_eq!(played.message("TriggeredScaleUp"), "pod triggered scale-up: [{w 2->5 (max: 10)}]");
    // Seen within ten seconds, then half a minute for the machine and one for its boot.
    let decided = played.first("ScaledUpGroup");
    assert!((62.0..=72.0).contains(&decided), "{decided}");
    let ready = played.observed.pods.iter().filter_map(|pod| pod.ready_at).map(seconds).fold(0.0, f64::max);
    assert!((decided + 90.0..decided + 100.0).contains(&ready), "{ready}");
}

#[test]
fn no_pool_grows_beyond_its_largest_size() {
    let web = deployment("web", 2, "1500m");
    let played = autoscale(4, "", "9m", "{at: 1m, kubectl: scale deployment/web --replicas=12}", &[&web]);
    assert_eq!(played.nodes().len(), 4);
    assert_eq!(played.running(), 8);
    let told = played.events("NotTriggerScaleUp");
    // Which pods get the last places is the scheduler's choice.
    assert!(told.len() >= 4, "{}", told.len());
    assert!(told.iter().all(|event| event.message == "pod didn't trigger scale-up: 1 max node group size reached"));
}

#[test]
fn pods_that_no_new_node_would_take_add_none() {
    let web = deployment("web", 3, "5");
    let played = autoscale(10, "", "30m", "", &[&web]);
    assert!(played.events("ScaledUpGroup").is_empty());
    assert_eq!(played.message("NotTriggerScaleUp"), "pod didn't trigger scale-up: 1 Insufficient cpu");
}

#[test]
fn daemon_pods_take_their_share_of_a_new_node() {
    let web = deployment("web", 2, "2");
    let daemon = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, \
                  template: {metadata: {labels: {app: agent}}, spec: {priorityClassName: system-node-critical, \
                  containers: [{name: c, image: i, resources: {requests: {cpu: 500m}}}]}}}}";
    let played = autoscale(10, "", "9m", "{at: 1m, kubectl: scale deployment/web --replicas=5}", &[&web, daemon]);
    // With an agent on it, a node has room for one pod of two CPUs.
    assert_eq!(played.nodes().len(), 5);
    assert_eq!(played.running(), 10);
}

#[test]
fn unneeded_nodes_go_ten_minutes_after_they_have_become_so_and_the_smallest_size_is_kept() {
    let web = deployment("web", 10, "1500m");
    let timeline = "{at: 30m, kubectl: scale deployment/web --replicas=0}";
    let played = autoscale(10, "", "1h", timeline, &[&web]);
    let removed: Vec<f64> = played.events("RemovingNode").iter().map(|event| seconds(event.at)).collect();
    let decided: Vec<f64> = played.events("ScaleDownEmpty").iter().map(|event| seconds(event.at)).collect();
    // Five nodes; one stays.
    assert_eq!((decided.len(), removed.len()), (4, 4));
    assert!(decided.iter().all(|at| (2400.0..2425.0).contains(at)), "{decided:?}");
    assert_eq!(played.nodes().len(), 1);
}

#[test]
fn nothing_is_removed_for_ten_minutes_after_an_addition() {
    let web = deployment("web", 1, "100m");
    let big = deployment("big", 0, "3");
    let timeline =
        "{at: 9m, kubectl: scale deployment/big --replicas=3}, {at: 11m, kubectl: scale deployment/big --replicas=0}";
    let flags = "scale-down-unneeded-time: 1m";
    let played = autoscale(10, flags, "40m", timeline, &[&web, &big]);
    let added = played.first("ScaledUpGroup");
    let going: Vec<f64> = played.events("ScaleDownEmpty").into_iter().map(|event| seconds(event.at)).collect();
    // One of the first two nodes goes early; after the addition there is quiet.
    assert!(going[0] < added, "{going:?}");
    assert!(going[1..].iter().all(|at| *at >= added + 600.0 && *at < added + 650.0), "{going:?}");
    assert_eq!(played.nodes().len(), 1);
}

#[test]
fn a_node_with_pods_is_drained_before_it_goes() {
    let web = deployment("web", 2, "500m");
    let played = autoscale(10, "", "30m", "", &[&web]);
    assert_eq!(played.nodes().len(), 1);
    assert_eq!(played.running(), 2);
    let pods = &played.observed.pods;
    let moved: Vec<_> = pods.iter().filter(|pod| pod.deletion_cause.is_some()).collect();
    assert_eq!(moved.len(), 1);
    let message = "deleting pod for node scale down";
    assert_eq!(played.events("ScaleDown").iter().filter(|event| event.message == message).count(), 1);
    let taint = "marked the node as toBeDeleted/unschedulable";
    let marked = played.events("ScaleDown").into_iter().find(|event| event.message == taint).expect("a mark");
    let gone = "node removed by cluster autoscaler";
    let gone = played.events("ScaleDown").into_iter().find(|event| event.message == gone).expect("a removal");
    // Five seconds after the mark the pod is evicted, and it stops within one.
    let length = seconds(gone.at) - seconds(marked.at);
    assert!((5.0..15.0).contains(&length), "{length}");
}

/// Whether a node that nothing but this keeps is removed.
#[track_caller]
fn check_kept(objects: &[&str], is_kept: bool) {
    let played = autoscale(10, "", "40m", "", objects);
    assert_eq!(played.nodes().len() == 2, is_kept, "{objects:?}");
}

#[test]
fn pods_that_must_not_move_keep_their_node() {
    let spread = |spec: &str, annotations: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{replicas: 2, selector: {{matchLabels: \
             {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}, annotations: {{{annotations}}}}}, spec: \
             {{{spec}containers: [{{name: c, image: i, resources: {{requests: {{cpu: 100m}}}}}}]}}}}}}}}"
        )
    };
    let empty_dir = "volumes: [{name: v, emptyDir: {}}], ";
    let memory = "volumes: [{name: v, emptyDir: {medium: Memory}}], ";
    let annotation = |key: &str, value: &str| format!("cluster-autoscaler.kubernetes.io/{key}: \"{value}\"");
    check_kept(&[&spread("", "")], false);
    check_kept(&[&spread(empty_dir, "")], true);
    check_kept(&[&spread(memory, "")], false);
    check_kept(&[&spread(empty_dir, &annotation("safe-to-evict", "true"))], false);
    check_kept(&[&spread(empty_dir, &annotation("safe-to-evict-local-volumes", "v"))], false);
    check_kept(&[&spread("", &annotation("safe-to-evict", "false"))], true);
    check_kept(&[&spread("", ""), &budget("web", "2")], true);
    check_kept(&[&spread("", ""), &budget("web", "1")], false);
    let bare = |name: &str, node: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{nodeName: {node}, containers: [{{name: c, \
             image: i}}]}}}}"
        )
    };
    check_kept(&[&bare("a", "w-0"), &bare("b", "w-1")], true);
    let anti = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
                kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}, ";
    check_kept(&[&spread(anti, "")], true);
}

#[test]
fn the_expander_chooses_the_pool() {
    let choose = |expander: &str| {
        let pools = "cluster: {nodePools: [{name: small, count: 1, template: {status: {allocatable: {cpu: \"2\", memory: 4Gi, \
                     pods: \"110\"}}}}, {name: large, count: 0, template: {status: {allocatable: {cpu: \"8\", memory: 16Gi, \
                     pods: \"110\"}}}}]}";
        let autoscaler = format!(
            "clusterAutoscaler: {{pools: [{{name: small, min: 0, max: 10, priority: 1}}, {{name: large, min: 0, max: 10, \
             priority: 5}}], flags: {{expander: \"{expander}\"}}}}"
        );
        let spec = format!("duration: 8m, {pools}, {autoscaler}, timeline: []");
        let web = deployment("web", 3, "1500m");
        let played = play(&spec, &[&web], &mut |_| {});
        assert_eq!(played.running(), 3, "{expander}");
        let mut pools: Vec<String> = played.nodes();
        pools.retain(|name| name != "small-0");
        pools.join(" ")
    };
    assert_eq!(choose("least-waste"), "small-1 small-2");
    assert_eq!(choose("least-nodes"), "large-0");
    assert_eq!(choose("priority"), "large-0");
    assert_eq!(choose("most-pods,least-waste"), "small-1 small-2");
}

#[test]
fn nothing_is_done_while_too_many_nodes_are_unready() {
    let pools = "cluster: {nodePools: [{name: w, count: 10, template: {status: {allocatable: {cpu: \"4\", memory: 8Gi, pods: \
                 \"110\"}}}}]}, clusterAutoscaler: {pools: [{name: w, min: 1, max: 20}]}";
    let spec = |lost: u32| {
        format!(
            "duration: 50m, {pools}, timeline: [{{at: 1m, fault: {{kind: NotReady, nodes: {{count: {lost}}}, for: 48m}}}}]"
        )
    };
    let healthy = play(&spec(4), &[], &mut |_| {});
    assert!(!healthy.events("ScaleDown").is_empty());
    let unhealthy = play(&spec(5), &[], &mut |_| {});
    assert_eq!(unhealthy.message("ClusterUnhealthy"), "5 of 10 nodes are not ready: nothing is done");
    assert!(unhealthy.events("ScaleDown").is_empty());
}

#[test]
fn machines_that_do_not_come_in_time_are_given_up_and_the_pool_is_left_alone_for_a_while() {
    let web = deployment("web", 3, "3");
    let spec = format!(
        "duration: 45m, {}, clusterAutoscaler: {{pools: [{{name: w, min: 1, max: 10}}]}}, timeline: []",
        pool(2).replace("nodeBoot: 60s", "nodeBoot: 2h")
    );
    let played = play(&spec, &[&web], &mut |_| {});
    let (first, late) = (played.first("ScaledUpGroup"), played.first("ScaleUpTimedOut"));
    assert!((first + 900.0..first + 911.0).contains(&late), "{first} {late}");
    let second = seconds(played.events("ScaledUpGroup")[1].at);
    assert!((late + 300.0..late + 311.0).contains(&second), "{late} {second}");
    // The second time the pool is left alone for twice as long.
    assert_eq!(played.events("ScaleUpTimedOut").len(), 2);
    assert!(played.events("ScaleUpTimedOut")[1].message.ends_with("none is added for 10m0s"));
}

#[test]
fn an_autoscaler_with_nothing_to_do_costs_nothing() {
    let events = |autoscaler: &str, duration: &str| {
        let spec = format!("duration: {duration}, {}, {autoscaler} timeline: []", pool(2));
        let text = text(&spec, &[&deployment("web", 4, "1500m")]);
        let scenario =
            scenario::load_text("s.yaml", &text, Path::new("absent"), &Overrides::none()).expect("a scenario");
        let observers = Observers::new(Detail::Nothing, Vec::new(), SimDuration::ZERO);
        let mut run = Prepared::new(&scenario).start(1, observers);
        run.run_until(SimTime::ZERO + scenario.duration);
        run.events()
    };
    let autoscaler = "clusterAutoscaler: {pools: [{name: w, min: 1, max: 10}]},";
    let (without, with) = (events("", "1d"), events(autoscaler, "1d"));
    assert!(with <= without + 2, "{without} and {with} events");
}
