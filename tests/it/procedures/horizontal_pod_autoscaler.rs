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
    let lines = "timeline: [{at: 1m, kubectl: autoscale deployment web --name=web2 --min=2 --max=20 --cpu=50%}, \
                 {at: 5m, kubectl: delete hpa web2}]";
    let spec = spec("{at: 0s, load: 500}, {at: 3m, load: 500}, {at: 3m, load: 800}", "10m");
    let found = sizes(&play(&spec.replace("timeline: []", lines), &[&deployment("web", 2, "500m")], &mut |_| {}));
    // While both select the same pods neither scales.
    let [(up, 16)] = found[..] else { panic!("{found:?}") };
    assert!((300.0..=316.0).contains(&up), "{found:?}");
}

#[test]
fn rivals_with_bounds_that_exclude_each_other_pull_for_ever() {
    let lines = "timeline: [{at: 1m, kubectl: autoscale deployment web --name=web2 --min=2 --max=5 --cpu=50%}]";
    let spec = spec("{at: 0s, load: 500}", "5m").replace("timeline: []", lines);
    let found = sizes(&play(&spec, &[&deployment("web", 2, "500m")], &mut |_| {}));
    // Who finds too many looks at no metrics, and so selects no pods that would be ambiguous.
    assert!(found.len() > 20, "{found:?}");
    assert!(found.chunks_exact(2).all(|pair| pair[0].1 == 5 && pair[1].1 == 10), "{found:?}");
}

#[test]
fn autoscalers_are_ambiguous_by_the_pods_they_select() {
    let [stable, canary] = [("web", "app: web"), ("canary", "app: web, track: canary")].map(|(name, labels)| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec: {{replicas: 2, selector: {{matchLabels: \
             {{{labels}}}}}, template: {{metadata: {{labels: {{{labels}}}, annotations: {{kubesquall.sim/usage: '{{cpu: \
             250m}}'}}}}, spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 500m}}}}}}]}}}}}}\n"
        )
    });
    let metrics =
        "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]";
    let of_web = object(&format!("minReplicas: 2, maxReplicas: 9, {metrics}"));
    let of_canary = of_web.replace("name: web", "name: canary");
    let timeline =
        "{at: 1m, kubectl: scale deploy canary --replicas=0}, {at: 3m, kubectl: scale deploy canary --replicas=2}";
    let played = play(&empty("5m", timeline), &[&stable, &canary, &of_web, &of_canary], &mut |_| {});
    let events = played.events("AmbiguousSelector").into_iter();
    let mut seen: Vec<_> = events.map(|event| (seconds(event.at) as u64 / 60, event.message.to_string())).collect();
    let text = |selector: &str| {
        format!("pods by selector {selector} are controlled by multiple HPAs: [default/canary default/web]")
    };
    // The selector of one selects the pods of the other, too; without these there is nothing to confuse.
    let both = |minute| [(minute, text("app=web")), (minute, text("app=web,track=canary"))];
    seen.sort();
    assert_eq!(seen, [both(0), both(3)].concat());
    assert_eq!(played.events("FailedComputeMetricsReplicas").len(), seen.len());
}

#[test]
fn no_two_syncs_are_nearer_than_the_period() {
    let web = deployment("web", 3, "200m");
    let web = web.replace(
        "template: {metadata: {",
        "template: {metadata: {annotations: {kubesquall.sim/usage: '{cpu: 300m}'}, ",
    );
    assert!(web.contains("usage"), "{web}");
    let object = object(
        "minReplicas: 2, maxReplicas: 40, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, \
         averageUtilization: 60}}}]",
    );
    let timeline = "{at: 1m, kubectl: scale deploy web --replicas=0}, {at: 2m, kubectl: scale deploy web --replicas=1}";
    for seed in 1..=6 {
        let spec = format!("{}, seed: {seed}", empty("5m", timeline));
        let found = sizes(&play(&spec, &[&web, &object], &mut |_| {}));
        let counts: Vec<i32> = found.iter().map(|(_, size)| *size).filter(|size| *size < 40).collect();
        assert!(counts.ends_with(&[2, 4, 8, 16, 32]), "{found:?}");
        // The next one follows a period after the end of the one before: as much later as its calls took.
        let gaps = found.windows(2).filter(|pair| pair[0].0 > 60.0).map(|pair| pair[1].0 - pair[0].0);
        assert!(gaps.clone().all(|gap| (15.0..16.0).contains(&gap)), "{:?}", gaps.collect::<Vec<_>>());
    }
}

#[test]
fn one_that_is_made_anew_before_its_next_sync_goes_on_with_what_was_recommended() {
    let load = "{at: 0s, load: 500}, {at: 1m, load: 500}, {at: 1m, load: 100}";
    let make = "autoscale deployment web --min=2 --max=20 --cpu=50%";
    let down = |again: &str| {
        let lines = format!("timeline: [{{at: 3m, kubectl: delete hpa web}}, {{at: {again}, kubectl: {make}}}]");
        let spec = spec(load, "12m").replace("timeline: []", &lines);
        let found = sizes(&play(&spec, &[&deployment("web", 2, "500m")], &mut |_| {}));
        let [(at, 2)] = found[..] else { panic!("{found:?}") };
        at
    };
    // Ten were recommended until one minute; who has forgotten that takes what there is for its first recommendation.
    let (soon, late) = (down("180500ms"), down("4m"));
    assert!((345.0..=376.0).contains(&soon), "{soon}");
    assert!((555.0..=576.0).contains(&late), "{late}");
}

#[test]
fn what_was_recommended_before_metrics_were_lost_is_not_recommended_meanwhile() {
    let web = deployment("web", 10, "500m");
    let object = object(
        "minReplicas: 2, maxReplicas: 20, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, \
         averageUtilization: 50}}}]",
    );
    let usage = |at: &str, usage: &str| format!("{{at: {at}, kubectl: \"annotate pod --all --overwrite {usage}\"}}");
    let timeline = [
        usage("1m", "'kubesquall.sim/usage={cpu: 250m}'"),
        usage("2m", "kubesquall.sim/usage-"),
        usage("20m", "'kubesquall.sim/usage={cpu: 50m}'"),
    ];
    let found = sizes(&play(&empty("30m", &timeline.join(", ")), &[&web, &object], &mut |_| {}));
    let [(at, 2)] = found[..] else { panic!("{found:?}") };
    assert!((1200.0..=1216.0).contains(&at), "{found:?}");
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
