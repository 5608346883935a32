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
fn a_jump_of_the_load_is_followed_by_at_most_doubling_or_four_pods_in_fifteen_seconds() {
    // 1000 at 50 % of 100 each: twenty pods.
    let played = follow("{at: 0s, load: 100}, {at: 5m, load: 100}, {at: 5m, load: 1000}", "10m");
    let found = sizes(&played);
    let counts: Vec<i32> = found.iter().map(|(_, size)| *size).collect();
    assert_eq!(counts, [6, 12, 20], "{found:?}");
    assert!((300.0..=315.1).contains(&found[0].0), "{found:?}");
    // New pods are Ready within seconds, so that every sync finds them.
    assert!(found.windows(2).all(|pair| (pair[1].0 - pair[0].0 - 15.0).abs() < 0.2), "{found:?}");
    assert_eq!(played.running(), 20);
}

#[test]
fn a_load_that_falls_is_followed_after_five_minutes() {
    let played = follow("{at: 0s, load: 500}, {at: 10m, load: 500}, {at: 10m, load: 150}", "20m");
    let found = sizes(&played);
    let (at, size) = *found.last().expect("a size");
    assert_eq!(size, 3, "{found:?}");
    assert!((900.0 - 15.0..=915.1).contains(&at), "{found:?}");
    assert!(found.iter().filter(|(_, size)| *size < 10).all(|(at, size)| *at > 880.0 || *size == 6), "{found:?}");
}

#[test]
fn a_load_within_the_tolerance_changes_nothing() {
    let played = follow("{at: 0s, load: 100}, {at: 5m, load: 109}, {at: 15m, load: 91}", "30m");
    assert!(sizes(&played).is_empty());
    assert_eq!(played.running(), 2);
}

#[test]
fn the_workload_stays_between_its_bounds() {
    let played = follow("{at: 0s, load: 9000}, {at: 20m, load: 9000}, {at: 20m, load: 0}", "40m");
    let found = sizes(&played);
    assert_eq!(found.iter().map(|(_, size)| *size).max(), Some(20));
    assert_eq!(found.last().map(|(_, size)| *size), Some(2));
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
