//! A reboot daemon.

use super::{Played, budget, deployment, play, pool, schedulable, seconds};

/// Plays reboots of four nodes; tells the fewest schedulable nodes at a time.
fn reboot(fields: &str, more: &str, objects: &[&str]) -> (Played, usize) {
    let spec = format!(
        "duration: 6h, {}, timeline: [{{at: 1m, rollingReboot: {{pool: w, {fields}}}}}{more}]",
        pool(4).replace("nodeBoot: 60s", "nodeBoot: 90s")
    );
    let web = deployment("web", 4, "500m");
    let mut all = vec![web.as_str()];
    all.extend(objects);
    let mut fewest = usize::MAX;
    let played = play(&spec, &all, &mut |run| fewest = fewest.min(schedulable(run.store())));
    (played, fewest)
}

#[test]
fn one_node_at_a_time_is_drained_rebooted_and_uncordoned() {
    let (played, fewest) = reboot("period: 5m", "", &[]);
    assert_eq!(fewest, 3);
    let times = |reason: &str| -> Vec<f64> { played.events(reason).iter().map(|event| seconds(event.at)).collect() };
    let (locked, rebooted) = (times("RebootLockAcquired"), times("NodeRebooted"));
    assert_eq!((locked.len(), rebooted.len()), (4, 4));
    assert!((1..4).all(|next| locked[next] >= rebooted[next - 1]), "{locked:?} {rebooted:?}");
    assert_eq!(played.nodes(), ["w-0", "w-1", "w-2", "w-3"].map(str::to_owned));
    assert_eq!(played.events("RebootsEnded").len(), 1);
    assert_eq!(played.running(), 4);
    // Every machine has booted once, not more.
    assert!(played.store.nodes().all(|(id, _)| played.store.machine(id).boots == 1));
}

#[test]
fn a_node_that_was_cordoned_before_stays_so() {
    let (played, _) = reboot("period: 5m", ", {at: 30s, kubectl: cordon w-2}", &[]);
    assert_eq!(played.nodes(), ["!w-2", "w-0", "w-1", "w-3"].map(str::to_owned));
    assert_eq!(played.events("NodeRebooted").len(), 4);
}

#[test]
fn a_drain_that_fails_gives_the_lock_back_unless_reboots_are_forced() {
    let budget = budget("web", "4");
    let (played, _) = reboot("period: 5m, drainTimeout: 2m", "", &[&budget]);
    assert!(played.events("NodeRebooted").is_empty());
    assert!(played.events("RebootGivenUp").len() > 4);
    let open = played.nodes().iter().filter(|name| !name.starts_with('!')).count();
    assert!(open >= 3, "{:?}", played.nodes());
    let (forced, _) = reboot("period: 5m, drainTimeout: 2m, forceReboot: true", "", &[&budget]);
    assert_eq!(forced.events("NodeRebooted").len(), 4);
}

#[test]
fn a_node_that_is_gone_takes_the_lock_with_it_unless_it_expires() {
    // The first drain hangs, and its node goes with all others.
    let budget = budget("web", "4");
    let lost = ", {at: 20m, fault: {kind: InstanceGone, nodes: {pool: w}}}";
    let (played, _) = reboot("period: 5m", lost, &[&budget]);
    assert_eq!(played.events("RebootLockLost").len(), 1);
    assert!(played.events("RebootsEnded").is_empty());
    let (played, _) = reboot("period: 5m, lockTtl: 1h", lost, &[&budget]);
    assert!(played.events("RebootLockLost").is_empty());
    assert_eq!(played.events("RebootsEnded").len(), 1);
}

#[test]
fn nodes_need_a_reboot_again_after_a_while() {
    let (played, _) = reboot("period: 5m, every: 3h", "", &[]);
    assert_eq!(played.events("NodeRebooted").len(), 8);
}

#[test]
fn a_machine_that_is_gone_with_its_daemon_gives_no_lock_back_before_it_expires() {
    let times = |played: &Played, reason: &str| -> Vec<f64> {
        played.events(reason).iter().map(|event| seconds(event.at)).collect()
    };
    let (played, _) = reboot("period: 5m", "", &[]);
    let (first, at) = (&played.events("NodeRebooted")[0].name, times(&played, "NodeRebooted")[0]);
    // The daemon would give the lock back at a tick of a minute.
    let lost = format!(", {{at: {}s, fault: {{kind: InstanceGone, nodes: {{names: [{first}]}}}}}}", at + 1.0);
    let (played, _) = reboot("period: 5m, lockTtl: 2h", &lost, &[]);
    let locked = times(&played, "RebootLockAcquired");
    assert!(locked[1] >= locked[0] + 7200.0, "{locked:?}");
    assert_eq!(played.events("RebootsEnded").len(), 1);
}
