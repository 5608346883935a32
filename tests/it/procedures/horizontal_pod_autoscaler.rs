//! The horizontal pod autoscaler on a given load.

use std::path::Path;

use kubesquall::observe::{Detail, Observers};
use kubesquall::scenario::{self, Overrides};
use kubesquall::simulation::Prepared;
use kubesquall::units::{SimDuration, SimTime};

use super::{Played, deployment, play, pool, seconds, text};

fn spec(load: &str, duration: &str) -> String {
    format!(
        "duration: {duration}, {}, horizontalPodAutoscalers: [{{target: deployment/default/web, minReplicas: 2, maxReplicas: \
         20, targetUtilization: 50, perReplica: 100, load: [{load}]}}], timeline: []",
        pool(6)
    )
}

fn follow(load: &str, duration: &str) -> Played {
    play(&spec(load, duration), &[&deployment("web", 2, "500m")], &mut |_| {})
}

/// The sizes that the workload was given, and when.
fn sizes(played: &Played) -> Vec<(f64, i32)> {
    let size = |message: &str| message.strip_prefix("New size: ")?.split(';').next()?.parse().ok();
    let events = played.events("SuccessfulRescale");
    events.iter().map(|event| (seconds(event.at), size(&event.message).expect("a size"))).collect()
}

#[test]
fn a_jump_of_the_load_is_followed_by_at_most_doubling_at_each_sync() {
    // 1000 at 50 % of 100 each: twenty pods.
    let played = follow("{at: 0s, load: 100}, {at: 5m, load: 100}, {at: 5m, load: 1000}", "10m");
    let found = sizes(&played);
    let counts: Vec<i32> = found.iter().map(|(_, size)| *size).collect();
    assert_eq!(counts, [4, 8, 16, 20], "{found:?}");
    assert!((300.0..=315.1).contains(&found[0].0), "{found:?}");
    // New pods are Ready within seconds, so that every sync finds them.
    assert!(found.windows(2).all(|pair| (pair[1].0 - pair[0].0 - 15.0).abs() < 0.2), "{found:?}");
    assert_eq!(played.running(), 20);
}

#[test]
fn an_autoscaler_goes_on_when_its_rival_has_gone() {
    let lines = "timeline: [{at: 1m, kubectl: autoscale deployment web --name=web2 --min=2 --max=5 --cpu-percent=50}, \
                 {at: 3m, kubectl: delete hpa web2}]";
    let spec = spec("{at: 0s, load: 500}, {at: 5m, load: 500}", "10m").replace("timeline: []", lines);
    let found = sizes(&play(&spec, &[&deployment("web", 2, "500m")], &mut |_| {}));
    // The rival takes it down to its own limit; then neither scales, until there is one again.
    let [(down, 5), (up, 10)] = found[..] else { panic!("{found:?}") };
    assert!((60.0..=80.0).contains(&down) && (180.0..=196.0).contains(&up), "{found:?}");
}

#[test]
fn a_load_that_falls_is_followed_after_five_minutes() {
    let played = follow("{at: 0s, load: 500}, {at: 10m, load: 500}, {at: 10m, load: 150}", "20m");
    // The cluster has long had the size of its load.
    let found = sizes(&played);
    let [(at, size)] = found[..] else { panic!("{found:?}") };
    assert_eq!(size, 3, "{found:?}");
    assert!((900.0 - 15.0..=915.1).contains(&at), "{found:?}");
}

#[test]
fn a_load_within_the_tolerance_changes_nothing() {
    let played = follow("{at: 0s, load: 100}, {at: 5m, load: 109}, {at: 15m, load: 91}", "30m");
    assert!(sizes(&played).is_empty());
    assert_eq!(played.running(), 2);
}

#[test]
fn the_workload_stays_between_its_bounds() {
    let played = follow("{at: 0s, load: 0}, {at: 1m, load: 9000}, {at: 20m, load: 9000}, {at: 20m, load: 0}", "40m");
    let found = sizes(&played);
    assert_eq!(found.iter().map(|(_, size)| *size).max(), Some(20), "{found:?}");
    assert_eq!(found.last().map(|(_, size)| *size), Some(2), "{found:?}");
}

#[test]
fn a_steady_load_costs_nothing() {
    let events = |spec: &str| {
        let text = text(spec, &[&deployment("web", 2, "500m")]);
        let scenario =
            scenario::load_text("s.yaml", &text, Path::new("absent"), &Overrides::none()).expect("a scenario");
        let observers = Observers::new(Detail::Nothing, Vec::new(), SimDuration::ZERO);
        let mut run = Prepared::new(&scenario).start(1, observers);
        run.run_until(SimTime::ZERO + scenario.duration);
        run.events()
    };
    let without = events(&format!("duration: 1d, {}, timeline: []", pool(6)));
    for load in ["{at: 0s, load: 100}", "{at: 0s, load: 60}", "{at: 0s, load: 100}, {at: 1d, load: 105}"] {
        let with = events(&spec(load, "1d"));
        assert!(with <= without + 2, "{load}: {without} and {with} events");
    }
}

/// An autoscaler of the manifests for the Deployment `web`.
fn object(spec: &str) -> String {
    format!(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec: {{scaleTargetRef: {{apiVersion: \
         apps/v1, kind: Deployment, name: web}}, {spec}}}\n"
    )
}

fn empty(duration: &str, timeline: &str) -> String {
    format!("duration: {duration}, {}, timeline: [{timeline}]", pool(6))
}

fn wanted(played: &Played) -> i32 {
    let (_, web) = played.store.deployments.iter().next().expect("the Deployment");
    web.spec.replicas.unwrap_or(1)
}

/// Reason of a condition of the autoscaler, and whether it is met.
fn condition(played: &Played, kind: &str) -> Option<(String, bool)> {
    let autoscaler = played.store.autoscalers.values().next()?;
    let found = autoscaler.status.conditions.iter().find(|condition| condition.kind == kind)?;
    Some((found.reason.to_string(), found.status == kubesquall::state::Status::True))
}

#[test]
fn without_metrics_the_bounds_hold_and_nothing_else_changes() {
    let web = deployment("web", 2, "500m");
    let bounded = object("minReplicas: 4, maxReplicas: 10");
    let played = play(&empty("5m", "{at: 1m, kubectl: scale deploy web --replicas=7}"), &[&web, &bounded], &mut |_| {});
    // Before t=0 two were too few; seven are as good as four.
    assert_eq!((wanted(&played), played.running()), (7, 7));
    assert_eq!(condition(&played, "ScalingActive"), Some(("FailedGetResourceMetric".to_owned(), false)));
    assert_eq!(played.events("FailedGetResourceMetric").len(), 1);
    let down = play(&empty("5m", "{at: 1m, kubectl: scale deploy web --replicas=1}"), &[&web, &bounded], &mut |_| {});
    assert_eq!(wanted(&down), 4);
    let [event] = &down.events("SuccessfulRescale")[..] else { panic!("one new size") };
    assert_eq!(event.message, "New size: 4; reason: Current number of replicas below Spec.MinReplicas");
    assert!((60.0..=75.2).contains(&seconds(event.at)));
    let up = play(&empty("5m", "{at: 1m, kubectl: scale deploy web --replicas=30}"), &[&web, &bounded], &mut |_| {});
    assert_eq!(wanted(&up), 10);
    // None at all switches it off.
    let off = play(&empty("5m", "{at: 1m, kubectl: scale deploy web --replicas=0}"), &[&web, &bounded], &mut |_| {});
    assert_eq!((wanted(&off), condition(&off, "ScalingActive")), (0, Some(("ScalingDisabled".to_owned(), false))));
}

#[test]
fn a_controller_that_is_left_out_scales_nothing() {
    let flag = "controlPlane: {kubeControllerManager: {controllers: \"*,-horizontal-pod-autoscaler-controller\"}}";
    let spec = format!("{}, {flag}", empty("5m", ""));
    let played = play(&spec, &[&deployment("web", 2, "500m"), &object("minReplicas: 4, maxReplicas: 10")], &mut |_| {});
    assert_eq!(wanted(&played), 2);
}

#[test]
fn what_pods_say_that_they_use_counts() {
    let say = |usage: &str| {
        let text = deployment("web", 4, "500m");
        let said = format!("metadata: {{annotations: {{kubesquall.sim/usage: '{usage}'}}, ");
        let at = text.find("template:").expect("a template");
        let (head, tail) = text.split_at(at);
        format!("{head}{}", tail.replacen("metadata: {", &said, 1))
    };
    let size = |usage: &str, metrics: &str| {
        let spec = object(&format!("minReplicas: 1, maxReplicas: 20, metrics: [{metrics}]"));
        let played = play(&empty("20m", ""), &[&say(usage), &spec], &mut |_| {});
        (wanted(&played), condition(&played, "ScalingActive").expect("a condition").0)
    };
    let cpu = "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}";
    let found = "ValidMetricFound".to_owned();
    // Each uses 200m of 500m whatever there are, so that fewer and fewer are enough.
    assert_eq!(size("{cpu: 240m}", cpu), (4, found.clone()));
    assert_eq!(size("{cpu: 50m}", cpu), (1, found.clone()));
    assert_eq!(size("{cpu: 500m}", cpu), (20, found.clone()));
    let memory = "{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 100Mi}}}";
    assert_eq!(size("{memory: 105Mi}", memory), (4, found.clone()));
    assert_eq!(size("{memory: 50Mi}", memory), (1, found.clone()));
    // Of several metrics the largest counts, and one that nobody knows lets none go down.
    assert_eq!(size("{cpu: 50m, memory: 105Mi}", &format!("{cpu}, {memory}")), (4, found));
    assert_eq!(size("{cpu: 50m}", &format!("{cpu}, {memory}")), (4, "FailedGetResourceMetric".to_owned()));
}

#[test]
fn the_load_of_a_scenario_is_followed_by_an_object_of_the_manifests_as_its_behavior_says() {
    let load = "horizontalPodAutoscalers: [{target: deployment/default/web, perReplica: 100, load: [{at: 0s, load: 100}, \
                {at: 5m, load: 100}, {at: 5m, load: 1000}]}]";
    let spec = format!("{}, {load}", empty("10m", ""));
    let policies = "policies: [{type: Pods, value: 3, periodSeconds: 60}]";
    let object = object(&format!(
        "minReplicas: 2, maxReplicas: 20, metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, \
         averageUtilization: 50}}}}}}], behavior: {{scaleUp: {{{policies}}}}}"
    ));
    let played = play(&spec, &[&deployment("web", 2, "500m"), &object], &mut |_| {});
    let found = sizes(&played);
    let counts: Vec<i32> = found.iter().map(|(_, size)| *size).collect();
    assert_eq!(counts, [5, 8, 11, 14, 17], "{found:?}");
    assert!(found.windows(2).all(|pair| (59.8..60.5).contains(&(pair[1].0 - pair[0].0))), "{found:?}");
}

#[test]
fn two_autoscalers_of_one_workload_are_ambiguous() {
    let other = object("maxReplicas: 10").replace("metadata: {name: web}", "metadata: {name: other}");
    let played =
        play(&empty("5m", ""), &[&deployment("web", 2, "500m"), &object("maxReplicas: 10"), &other], &mut |_| {});
    assert_eq!(condition(&played, "ScalingActive"), Some(("AmbiguousSelector".to_owned(), false)));
}

#[test]
fn what_kubectl_makes_acts_and_a_target_may_be_missing() {
    let web = deployment("web", 2, "500m");
    let played = play(&empty("5m", "{at: 1m, kubectl: autoscale deploy web --min=3 --max=5}"), &[&web], &mut |_| {});
    assert_eq!(wanted(&played), 3);
    let gone = "{at: 1m, kubectl: delete deploy web}";
    let played = play(&empty("5m", gone), &[&web, &object("maxReplicas: 5")], &mut |_| {});
    assert_eq!(condition(&played, "AbleToScale"), Some(("FailedGetScale".to_owned(), false)));
    let [event] = &played.events("FailedGetScale")[..] else { panic!("one event") };
    assert_eq!(event.message, "deployments.apps \"web\" not found");
}
