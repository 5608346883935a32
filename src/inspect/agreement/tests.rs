use proptest::prelude::*;

use super::*;
use crate::evidence::RecordKind;

/// The length of every run here, in milliseconds.
const END: i64 = 3_600_000;

fn symbol(text: &str) -> Symbol {
    Symbol::new(text)
}

fn fact(at: i64, kind: FactKind, value: &str, node: &str) -> PlayedFact {
    PlayedFact { at, kind, value: symbol(value), node: symbol(node), is_implied: false }
}

/// A pod of the ReplicaSet `web-1` with these facts.
fn web(name: &str, is_initial: bool, facts: Vec<PlayedFact>) -> PlayedPod {
    let [namespace, name, owner_kind, owner_name] = ["shop", name, "ReplicaSet", "web-1"].map(symbol);
    let node = facts.first().map_or_else(Symbol::empty, |fact| fact.node);
    PlayedPod { namespace, name, owner_kind, owner_name, is_of_deployment: true, is_initial, node, facts }
}

/// The life of a pod that is made meanwhile.
fn life(created: i64, ready_after: i64) -> Vec<PlayedFact> {
    vec![
        fact(created, FactKind::PodCreated, "", "n-0"),
        fact(created + 20, FactKind::PodScheduled, "", "n-0"),
        fact(created + 20 + ready_after, FactKind::PodReady, "True", "n-0"),
    ]
}

fn played(nodes: &[(&str, Vec<PlayedFact>)], pods: Vec<PlayedPod>) -> Played {
    let by_name = pods.iter().enumerate().map(|(place, pod)| ((pod.namespace, pod.name), place)).collect();
    Played { nodes: nodes.iter().map(|(name, facts)| (symbol(name), facts.clone())).collect(), pods, by_name }
}

/// What somebody would have seen of a play who samples once in so many milliseconds; of pods that were made, under other names.
fn seen_of(played: &Played, step: i64) -> Vec<ObservedFact> {
    let observed = |fact: &PlayedFact, object: Object| {
        let earliest = fact.at.div_euclid(step) * step;
        let latest = earliest + step - 1;
        let [at, earliest, latest] = [i64::midpoint(earliest, latest), earliest, latest].map(SimTime::from_millis);
        let Object { namespace, name, owner_kind, owner_name } = object;
        let &PlayedFact { kind, value, node, .. } = fact;
        let fact = Fact { kind, namespace, name, owner_kind, owner_name, node, value };
        ObservedFact { at, earliest, latest, fact, sources: Vec::new() }
    };
    let nodes = played
        .nodes
        .iter()
        .flat_map(|(name, facts)| facts.iter().map(|fact| observed(fact, Object { name: *name, ..Object::default() })));
    let pods = played.pods.iter().enumerate().flat_map(|(place, pod)| {
        let other =
            if pod.is_initial { pod.name } else { symbol(&format!("web-1-seen{}", (place * 7) % 11 + place * 20)) };
        pod.facts.iter().map(move |fact| observed(fact, Object { name: other, ..Object::of(pod) }))
    });
    let mut all: Vec<ObservedFact> = nodes.chain(pods).collect();
    all.sort_by_key(|fact| fact.at);
    all
}

fn held(played: &Played, observed: &[ObservedFact]) -> Agreement {
    hold(played, observed, SimDuration::from_millis(END as u64))
}

fn counts(agreement: &Agreement) -> [u64; 5] {
    let Tally { same, other_time, missing, extra, not_seen, .. } = agreement.total;
    [same, other_time, missing, extra, not_seen]
}

fn a_play() -> impl Strategy<Value = Played> {
    let flaps = prop::collection::vec((0_i64..END, any::<bool>()), 1..6);
    let nodes = prop::collection::vec(flaps, 1..4);
    let made = prop::collection::vec((0_i64..600_000, 0_i64..400_000), 1..12);
    let initial = prop::collection::vec(0_i64..END, 0..6);
    (nodes, made, initial).prop_map(|(nodes, made, initial)| {
        let flap = |&(at, is_ready): &(i64, bool)| {
            fact(at, FactKind::NodeReady, if is_ready { "True" } else { "Unknown" }, "")
        };
        let nodes: Vec<(String, Vec<PlayedFact>)> = nodes
            .iter()
            .enumerate()
            .map(|(place, flaps)| {
                let mut facts: Vec<PlayedFact> = flaps.iter().map(flap).collect();
                facts.sort_by_key(|fact| fact.at);
                (format!("n-{place}"), facts)
            })
            .collect();
        let nodes: Vec<(&str, Vec<PlayedFact>)> =
            nodes.iter().map(|(name, facts)| (name.as_str(), facts.clone())).collect();
        let initial = initial.iter().enumerate().map(|(place, at)| {
            web(
                &format!("web-1-old{place}"),
                true,
                vec![fact(*at, FactKind::PodDeletion, "TaintManagerEviction", "n-0")],
            )
        });
        let made = made
            .iter()
            .enumerate()
            .map(|(place, (created, after))| web(&format!("web-1-new{place}"), false, life(*created, *after)));
        played(&nodes, initial.chain(made).collect())
    })
}

proptest! {
    #[test]
    fn a_run_agrees_with_its_own_facts(played in a_play(), step in prop::sample::select(vec![1_i64, 1000, 15_000, 60_000])) {
        let observed = seen_of(&played, step);
        let found = held(&played, &observed);
        prop_assert_eq!(counts(&found), [observed.len() as u64, 0, 0, 0, 0], "{:?}", found.worst);
        prop_assert_eq!(found.total.score(), Some(1.0));
        prop_assert_eq!(found.rows.len(), observed.len());
    }

    #[test]
    fn a_fact_that_is_dropped_is_extra_and_one_that_is_added_is_missing(played in a_play(), which in any::<prop::sample::Index>()) {
        // Exact times, so that nothing else can stand for what is gone.
        let mut observed = seen_of(&played, 1);
        let all = observed.len() as u64;
        let place = which.index(observed.len());
        let is_of_node = !observed[place].fact.kind.is_of_pod();
        let mut added = observed[place].clone();
        added.fact.name = symbol("n-unheard-of");
        if is_of_node {
            let with_more: Vec<ObservedFact> = observed.iter().cloned().chain([added]).collect();
            prop_assert_eq!(counts(&held(&played, &with_more)), [all, 0, 1, 0, 0]);
        }
        let ends = [observed[0].at, observed[observed.len() - 1].at];
        let dropped = observed.remove(place);
        let found = held(&played, &observed);
        prop_assert_eq!(found.total.same, all - 1);
        prop_assert_eq!(found.total.missing + found.total.other_time, 0);
        prop_assert_eq!(found.total.extra + found.total.not_seen, 1);
        let is_told = observed.iter().any(|other| other.fact.kind == dropped.fact.kind);
        if is_told && !ends.contains(&dropped.at) {
            prop_assert_eq!(found.total.extra, 1, "it would have been seen");
        }
    }
}

#[test]
fn a_fact_within_the_bounds_is_the_same_and_one_outside_is_at_another_time() {
    let play = |at| played(&[("n-0", vec![fact(at, FactKind::NodeReady, "Unknown", "")])], Vec::new());
    let observed = seen_of(&play(61_000), 1000);
    let check = |at, verdict, off| {
        let found = held(&play(at), &observed);
        assert_eq!((found.rows[0].verdict, found.rows[0].off), (verdict, Some(SimTime::from_millis(off))), "{at}");
    };
    check(61_000, Verdict::Same, 0);
    check(61_999, Verdict::Same, 0);
    check(62_000, Verdict::Same, 0);
    check(63_999, Verdict::OtherTime, 2000);
    check(58_000, Verdict::OtherTime, -3000);
    assert_eq!(
        held(&play(58_000), &observed).worst,
        ["node n-0 Ready=Unknown: seen at 1m01.5s, played at 58.0s, 3s too early"]
    );
}

#[test]
fn values_are_not_confused_and_a_value_that_nobody_saw_is_any() {
    let deletion = |value: &str| vec![fact(5000, FactKind::PodDeletion, value, "n-0")];
    let play = played(&[], vec![web("web-1-a", true, deletion("TaintManagerEviction"))]);
    let seen = |value: &str| seen_of(&played(&[], vec![web("web-1-a", true, deletion(value))]), 1000);
    assert_eq!(counts(&held(&play, &seen("TaintManagerEviction"))), [1, 0, 0, 0, 0]);
    assert_eq!(counts(&held(&play, &seen(""))), [1, 0, 0, 0, 0]);
    assert_eq!(counts(&held(&play, &seen("Kubectl"))), [0, 0, 1, 1, 0]);
}

#[test]
fn pods_of_a_rollout_are_those_of_its_deployment_whatever_hash_it_has() {
    let rollout = |hash: &str| {
        let pods = (0..3).map(|place| PlayedPod {
            owner_name: symbol(&format!("web-{hash}")),
            ..web(&format!("web-{hash}-{place}"), false, life(10_000 + place * 5000, 3000))
        });
        let old = web("web-1-a", true, vec![fact(20_000, FactKind::PodDeletion, "RollingUpdate", "n-0")]);
        played(&[], pods.chain([old]).collect())
    };
    let mut observed = seen_of(&rollout("abc"), 1000);
    assert_eq!(counts(&held(&rollout("xyz"), &observed)), [10, 0, 0, 0, 0]);
    // Also where nobody saw the owners, as names tell them.
    for fact in &mut observed {
        (fact.fact.owner_kind, fact.fact.owner_name) = (Symbol::empty(), Symbol::empty());
        fact.fact.name = symbol(&fact.fact.name.as_str().replace("web-1-seen", "web-abc-"));
    }
    assert_eq!(counts(&held(&rollout("xyz"), &observed)), [10, 0, 0, 0, 0]);
}

#[test]
fn pods_at_the_beginning_whose_names_nobody_saw_are_found_by_their_node() {
    let lost = |name: &str, node: &str, at| web(name, true, vec![fact(at, FactKind::PodReady, "False", node)]);
    let play = played(&[], vec![lost("web-1-a", "n-1", 50_000), lost("web-1-b", "n-2", 90_000)]);
    let real = played(&[], vec![lost("web-1-x", "n-2", 90_000), lost("web-1-y", "n-1", 91_000)]);
    let found = held(&play, &seen_of(&real, 1000));
    let of = |row: &AgreementRow| (row.name.as_str(), row.played_name.as_str(), row.verdict);
    let rows: Vec<_> = found.rows.iter().map(of).collect();
    assert_eq!(rows, [("web-1-x", "web-1-b", Verdict::Same), ("web-1-y", "web-1-a", Verdict::OtherTime)]);
}

#[test]
fn what_the_evidence_cannot_know_is_not_extra() {
    let node = vec![fact(60_000, FactKind::NodeReady, "Unknown", ""), fact(900_000, FactKind::NodeReady, "True", "")];
    let other = vec![fact(100_000, FactKind::NodeReady, "Unknown", ""), fact(950_000, FactKind::NodeReady, "True", "")];
    let pod = web("web-1-a", true, vec![fact(100_000, FactKind::PodDeletion, "TaintManagerEviction", "n-1")]);
    let play = played(&[("n-0", node.clone()), ("n-1", other)], vec![pod]);
    let mut observed = seen_of(&played(&[("n-0", node)], Vec::new()), 1000);
    // Of n-1 the first is within the time of the evidence, the second behind it, and no pod is spoken of.
    assert_eq!(counts(&held(&play, &observed)), [2, 0, 0, 1, 2]);
    // A dump has the last change of each object alone.
    observed.iter_mut().for_each(|fact| fact.sources = vec![RecordKind::Objects]);
    assert_eq!(counts(&held(&play, &observed)), [2, 0, 0, 0, 3]);
    observed.iter_mut().for_each(|fact| fact.sources.push(RecordKind::Metrics));
    assert_eq!(counts(&held(&play, &observed)), [2, 0, 0, 1, 2]);
}

#[test]
fn what_may_be_from_before_or_after_the_run_is_left_out() {
    let at = |at| fact(at, FactKind::NodeReady, "Unknown", "");
    let real = played(&[("n-0", vec![at(-90_000), at(10_000), at(END + 5000)])], Vec::new());
    let play = played(&[("n-0", vec![at(10_500)])], Vec::new());
    let found = held(&play, &seen_of(&real, 1000));
    assert_eq!(counts(&found), [1, 0, 0, 0, 0]);
    assert_eq!(found.left_out, LeftOut { before: 1, after: 1 });
}

#[test]
fn what_the_scenario_does_not_have_is_named_and_missing() {
    let unready = vec![fact(10_000, FactKind::NodeReady, "Unknown", "")];
    let stranger = PlayedPod { owner_name: symbol("api-9"), ..web("api-9-a", false, life(20_000, 1000)) };
    let real = played(&[("n-0", unready.clone()), ("n-9", unready.clone())], vec![stranger]);
    let play = played(&[("n-0", unready)], Vec::new());
    let found = held(&play, &seen_of(&real, 1000));
    assert_eq!(counts(&found), [1, 0, 4, 0, 0]);
    let strangers: Vec<(&str, u64)> = found.unknown.iter().map(|of| (of.what.as_str(), of.facts)).collect();
    assert_eq!(strangers, [("ReplicaSet shop/api-9", 3), ("node n-9", 1)]);
    assert_eq!(found.worst[0], "node n-9 Ready=Unknown: seen at 10.5s, and the scenario has no such node");
}

#[test]
fn what_comes_with_an_object_is_compared_if_it_was_seen_and_otherwise_nothing() {
    let ready = |at, is_implied| PlayedFact { is_implied, ..fact(at, FactKind::PodReady, "False", "n-0") };
    // A pod of a StatefulSet stops, and one of its name is made at once, which is not Ready yet.
    let play = |facts: Vec<PlayedFact>| played(&[], vec![web("db-0", true, facts)]);
    let both = play(vec![ready(68_000, false), ready(68_400, true)]);
    let one = seen_of(&play(vec![ready(68_000, false)]), 1000);
    let found = held(&both, &one);
    assert_eq!((counts(&found), found.rows[0].played_at), ([1, 0, 0, 0, 0], Some(SimTime::from_millis(68_000))));
    assert_eq!(counts(&held(&both, &seen_of(&both, 1000))), [2, 0, 0, 0, 0]);
}

#[test]
fn what_was_over_before_the_next_sample_is_not_extra_where_samples_alone_tell() {
    let turns = |turns: &[(i64, &str)]| -> Vec<PlayedFact> {
        turns.iter().map(|(at, value)| fact(*at, FactKind::NodeReady, value, "")).collect()
    };
    let slow = turns(&[(60_000, "Unknown"), (900_000, "True")]);
    // Ten seconds between two samples; then two minutes.
    let blip = turns(&[(100_000, "Unknown"), (110_000, "True"), (400_000, "Unknown"), (520_000, "True")]);
    let play = played(&[("n-0", slow.clone()), ("n-1", blip)], Vec::new());
    let mut observed = seen_of(&played(&[("n-0", slow)], Vec::new()), 30_000);
    assert_eq!(counts(&held(&play, &observed)), [2, 0, 0, 4, 0]);
    observed.iter_mut().for_each(|fact| fact.sources = vec![RecordKind::Metrics]);
    assert_eq!(counts(&held(&play, &observed)), [2, 0, 0, 2, 2]);
}

#[test]
fn what_is_at_most_a_minute_outside_the_bounds_is_near() {
    let at = |at| fact(at, FactKind::NodeReady, "Unknown", "");
    let of = |off: i64| {
        let real = played(&[("n-0", vec![at(600_000)])], Vec::new());
        let play = played(&[("n-0", vec![at(600_000 + off)])], Vec::new());
        held(&play, &seen_of(&real, 1000)).total
    };
    assert_eq!([0, 60_000, 62_000].map(|off| of(off).near), [0, 1, 0]);
    assert_eq!([0, 60_000, 62_000].map(|off| of(off).near_score()), [Some(1.0), Some(1.0), Some(0.0)]);
}
