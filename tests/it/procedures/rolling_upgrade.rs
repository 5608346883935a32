//! Rolling upgrades of a node pool.

use super::{Played, budget, deployment, play, pool, schedulable};

/// Plays an upgrade of a pool of `count` nodes with three web servers; tells the fewest schedulable and the most nodes at a time.
fn upgrade(count: u32, fields: &str, objects: &[&str]) -> (Played, usize, usize) {
    let spec = format!("duration: 3h, {}, timeline: [{{at: 1m, rollingUpgrade: {{pool: w, {fields}}}}}]", pool(count));
    let web = deployment("web", 3, "500m");
    let mut all = vec![web.as_str()];
    all.extend(objects);
    let (mut fewest, mut most) = (usize::MAX, 0);
    let played = play(&spec, &all, &mut |run| {
        fewest = fewest.min(schedulable(run.store()));
        most = most.max(run.store().node_count());
    });
    (played, fewest, most)
}

#[test]
fn with_a_surge_of_one_the_pool_never_has_fewer_schedulable_nodes_than_before() {
    let (played, fewest, most) = upgrade(4, "maxSurge: 1", &[]);
    assert_eq!((fewest, most), (4, 5));
    // The zones stay as they are: a, b, c, a.
    assert_eq!(played.nodes(), ["w-6", "w-7", "w-8", "w-9"].map(str::to_owned));
    assert_eq!(played.message("RollingUpgradeEnded"), "4 of 4 nodes upgraded");
    assert_eq!(played.events("NodeUpgraded").len(), 4);
    assert_eq!(played.running(), 3);
    // Four boots of a minute, one after the other.
    assert!(played.first("RollingUpgradeEnded") > 300.0);
}

#[test]
fn without_surge_the_nodes_come_back_under_their_names() {
    let (played, fewest, most) = upgrade(4, "maxUnavailable: 1", &[]);
    assert_eq!((fewest, most), (3, 4));
    assert_eq!(played.nodes(), ["w-0", "w-1", "w-2", "w-3"].map(str::to_owned));
    assert_eq!(played.message("RollingUpgradeEnded"), "4 of 4 nodes upgraded");
    assert_eq!(played.running(), 3);
}

#[test]
fn surge_and_unavailability_together_say_how_many_nodes_are_worked_on() {
    // The example of GKE's documentation: at least four of five are there at any time.
    let (played, fewest, most) = upgrade(5, "maxSurge: 2, maxUnavailable: 1", &[]);
    assert!(fewest >= 4, "{fewest}");
    // Whether an old one is being drained when the second of the new ones is there, calls decide.
    assert!((6..=7).contains(&most), "{most}");
    assert_eq!(played.message("RollingUpgradeBegan"), "rolling upgrade of 5 nodes, 2 more and 1 less at a time");
    assert_eq!(played.message("RollingUpgradeEnded"), "5 of 5 nodes upgraded");
}

#[test]
fn a_percentage_of_the_pool_rounds_up() {
    let (_, fewest, most) = upgrade(4, "maxSurge: 30%", &[]);
    assert_eq!((fewest, most), (4, 6));
}

#[test]
fn a_soak_stands_between_the_drain_and_the_end_of_a_node() {
    let (played, ..) = upgrade(2, "maxSurge: 1, nodeSoak: 5m", &[]);
    let drained =
        played.observed.transcript.iter().map(|row| super::seconds(row.done_at.expect("every drain has ended")));
    for (drained, upgraded) in drained.zip(played.events("NodeUpgraded")) {
        let soaked = super::seconds(upgraded.at) - drained;
        assert!((300.0..301.0).contains(&soaked), "{soaked}");
    }
}

#[test]
fn a_budget_that_can_never_be_met_stalls_the_drain_until_its_timeout_and_the_upgrade_fails() {
    let budget = budget("web", "3");
    let (played, ..) = upgrade(3, "maxSurge: 1, drainTimeout: 20m", &[&budget]);
    // A minute to the upgrade, one to the surge node's boot, and the drain.
    let undrainable = played.first("NodeUndrainable");
    assert!((1320.0..1330.0).contains(&undrainable), "{undrainable}");
    assert_eq!(played.message("RollingUpgradeFailed"), "0 of 3 nodes upgraded, 1 could not be drained");
    // The node is uncordoned, the surge node is gone, and nothing was disturbed.
    assert_eq!(played.nodes(), ["w-0", "w-1", "w-2"].map(str::to_owned));
    assert_eq!(played.running(), 3);
    assert!(played.observed.pods.iter().all(|pod| pod.deletion_cause.is_none()));
}

#[test]
fn a_node_that_cannot_be_drained_stays_cordoned_beside_its_successor_if_asked_for() {
    let budget = budget("web", "3");
    let fields = "maxSurge: 1, drainTimeout: 5m, undrainableNodeBehavior: Cordon";
    let (played, ..) = upgrade(3, fields, &[&budget]);
    assert_eq!(played.events("NodeQuarantined").len(), 3);
    assert_eq!(played.nodes(), ["!w-0", "!w-1", "!w-2", "w-3", "w-4", "w-5"].map(str::to_owned));
    assert_eq!(played.message("RollingUpgradeFailed"), "0 of 3 nodes upgraded, 3 could not be drained");
}

#[test]
fn a_node_that_cannot_be_drained_is_deleted_with_its_pods_if_asked_for() {
    let budget = budget("web", "3");
    let fields = "maxSurge: 1, drainTimeout: 5m, undrainableNodeBehavior: Force";
    let (played, ..) = upgrade(3, fields, &[&budget]);
    assert_eq!(played.message("RollingUpgradeEnded"), "3 of 3 nodes upgraded, 3 could not be drained");
    assert_eq!(played.nodes(), ["w-3", "w-4", "w-5"].map(str::to_owned));
    assert_eq!(played.running(), 3);
}

#[test]
fn an_upgrade_outlives_an_outage_of_the_api_server_and_the_loss_of_its_new_machine() {
    let timeline = "timeline: [{at: 1m, rollingUpgrade: {pool: w, maxSurge: 1}}, {at: 90s, fault: {kind: InstanceGone, nodes: \
                    {pool: w, count: 4}}}, {at: 5m, fault: {kind: ControlPlaneOutage, components: [kube-apiserver], for: \
                    4m}}]";
    let spec = format!("duration: 2h, {}, {timeline}", pool(3));
    let web = deployment("web", 3, "500m");
    let played = play(&spec, &[&web], &mut |_| {});
    // All machines were lost, among them the one that was to take the first node's place.
    assert_eq!(played.events("SurgeNodeAdded").len(), 2);
    assert_eq!(played.message("RollingUpgradeEnded"), "1 of 3 nodes upgraded");
    assert_eq!(played.running(), 3);
}
