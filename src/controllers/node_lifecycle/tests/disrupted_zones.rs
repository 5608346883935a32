//! Zones that are disrupted.

use super::*;

#[test]
fn a_cluster_that_is_down_as_a_whole_loses_its_taints_and_gets_no_new_ones() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 3);
        (0..3).for_each(|n| world.last_renewal(&format!("a{n}"), secs(-3.0 * n as f64)));
    });
    bench.run_until(10_000.0);
    assert_eq!(bench.unknown_writes().len(), 3);
    for n in 0..3 {
        check_taints(&bench, &format!("a{n}"), &["unreachable:NoSchedule"]);
    }
    let writes = bench.no_execute_writes(UNREACHABLE);
    assert!(writes.iter().all(|(at, _)| *at < 70.0), "{writes:?}");
}

#[test]
fn nodes_that_fall_silent_as_they_say_that_they_are_not_ready_are_found_in_time_though_no_taint_has_a_pass_played() {
    let mut bench = bench(|world| add_nodes(world, "a", 3));
    bench.at(20.0, |world| {
        for n in 0..3 {
            world.post_ready(&format!("a{n}"), Status::False);
            world.silence(&format!("a{n}"));
        }
    });
    bench.run_until(200.0);
    let writes = bench.unknown_writes();
    assert_eq!(writes.len(), 3);
    // The grace counts from the pass after the one that sees the post.
    for (at, _) in writes {
        within(at, 75.0, 85.2);
    }
}

#[test]
fn a_process_that_begins_anew_in_a_cluster_that_is_down_taints_a_node_or_none() {
    let tainted = (0..20).map(|seed| {
        let mut bench = Lab::<NodeLifecycle>::new(config(), seed);
        add_nodes(&mut bench, "a", 3);
        (0..3).for_each(|n| bench.set_condition(&format!("a{n}"), NodeConditionKind::Ready, Some(Status::False)));
        bench.start_as(Start::Fresh);
        bench.run_until(100.0);
        bench.no_execute_writes(NOT_READY).len()
    });
    let counts = tainted.fold([0; 3], |mut counts, count: usize| {
        counts[count.min(2)] += 1;
        counts
    });
    assert!(counts[0] > 0 && counts[1] > 0 && counts[2] == 0, "{counts:?}");
}

#[test]
fn a_returning_node_of_a_dead_zone_of_three_resumes_tainting_after_a_full_interval() {
    let mut bench = bench(|world| add_nodes(world, "a", 3));
    silence(&mut bench, 1.0, "a", 0..3);
    bench.at(1000.0, |world| {
        world.revive("a0");
        world.post_ready("a0", Status::True);
    });
    bench.run_until(1200.0);
    let writes: Vec<_> =
        bench.no_execute_writes(UNREACHABLE).into_iter().filter(|(at, _)| *at > 1000.0).map(|(at, _)| at).collect();
    assert_eq!(writes.len(), 2);
    within(writes[0], 1010.0, 1015.2);
    within(writes[1] - writes[0], 9.99, 10.15);
}

#[test]
fn a_returning_node_of_a_dead_zone_of_twenty_leaves_tainting_stopped() {
    let mut bench = bench(|world| add_nodes(world, "a", 20));
    silence(&mut bench, 1.0, "a", 0..20);
    bench.at(1000.0, |world| {
        world.revive("a0");
        world.post_ready("a0", Status::True);
    });
    bench.run_until(3000.0);
    assert!(bench.no_execute_writes(UNREACHABLE).iter().all(|(at, _)| *at < 1000.0));
}

#[test]
fn leaving_master_disruption_gives_nodes_that_are_not_unknown_yet_a_new_grace() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 2);
        world.post_ready("a1", Status::False);
        world.post_ready("a0", Status::False);
    });
    // Both not ready: all zones are down. a1 falls silent; a0 returns 40 s later.
    bench.at(20.0, |world| world.last_renewal("a1", secs(20.0)));
    bench.at(60.0, |world| world.post_ready("a0", Status::True));
    bench.run_until(200.0);
    let writes = bench.unknown_writes();
    assert_eq!(writes.len(), 1);
    within(writes[0].0, 110.0, 120.2);
}

#[test]
fn one_dead_zone_of_two_is_tainted_at_the_normal_rate() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 5);
        add_nodes(world, "b", 1);
        (0..5).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
    });
    bench.run_until(200.0);
    let writes = seconds_of(&bench.no_execute_writes(UNREACHABLE));
    assert_eq!(writes.len(), 5);
    within(writes[0], 50.0, 55.3);
    for pair in writes.windows(2) {
        within(pair[1] - pair[0], 9.99, 10.2);
    }
}

#[test]
fn two_zones_are_tainted_independently() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 6);
        add_nodes(world, "b", 6);
        for zone in ["a", "b"] {
            (0..2).for_each(|n| world.last_renewal(&format!("{zone}{n}"), secs(0.0)));
        }
    });
    bench.run_until(100.0);
    let writes = bench.no_execute_writes(UNREACHABLE);
    assert_eq!(writes.len(), 4);
    within(writes[1].0 - writes[0].0, 0.0, 0.3);
    assert_ne!(writes[0].1.as_bytes()[0], writes[1].1.as_bytes()[0]);
    within(writes[3].0 - writes[0].0, 9.99, 10.3);
}

#[test]
fn a_small_zone_in_partial_disruption_stops_after_those_tainted_before() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 20);
        world.add_node("b0", "b");
        (0..12).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
    });
    bench.run_until(2000.0);
    assert_eq!(bench.unknown_writes().len(), 12);
    assert!(bench.no_execute_writes(UNREACHABLE).len() <= 1);
}

#[test]
fn a_large_zone_in_partial_disruption_uses_the_secondary_rate() {
    let mut bench = bench(|world| {
        add_nodes(world, "a", 60);
        world.add_node("b0", "b");
        (0..40).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
    });
    bench.run_until(1000.0);
    let writes = seconds_of(&bench.no_execute_writes(UNREACHABLE));
    within(writes.len() as f64, 9.0, 11.0);
    within(writes[3] - writes[2], 99.9, 100.3);
}

#[test]
fn a_zone_of_fifty_is_small_and_one_of_fifty_one_is_large() {
    let tainted = |size: usize| {
        let mut bench = bench(|world| {
            add_nodes(world, "a", size);
            world.add_node("b0", "b");
            (0..30).for_each(|n| world.last_renewal(&format!("a{n}"), secs(0.0)));
        });
        bench.run_until(1000.0);
        bench.no_execute_writes(UNREACHABLE).len()
    };
    assert!(tainted(50) <= 1);
    within(tainted(51) as f64, 9.0, 11.0);
}

#[test]
fn the_only_node_losing_its_ready_condition_is_full_disruption() {
    let mut bench = bench(|world| add_nodes(world, "a", 1));
    bench.at(10.0, |world| world.set_condition("a0", NodeConditionKind::Ready, None));
    bench.run_until(20.0);
    let key = super::zones::ZoneKey::of(&bench.node("a0").labels);
    assert_eq!(bench.component().zones.state(key), Some(zones::ZoneState::FullDisruption));
}

#[test]
fn a_node_excluded_from_disruption_does_not_count() {
    let mut bench = bench(|world| {
        let master = world.add_node("master", "a");
        world.edit_node(master, NodeDelta::LABELS, |node| {
            node.labels = node.labels.with(Symbol::new("node.kubernetes.io/exclude-disruption"), Symbol::empty());
        });
        world.add_node("a0", "a");
        world.last_renewal("a0", secs(0.0));
    });
    bench.run_until(1000.0);
    let key = super::zones::ZoneKey::of(&bench.node("a0").labels);
    assert_eq!(bench.component().zones.state(key), Some(zones::ZoneState::FullDisruption));
    check_taints(&bench, "a0", &["unreachable:NoSchedule"]);
}
