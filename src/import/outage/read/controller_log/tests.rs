//! What the controller manager has logged over the years.

use super::*;
use crate::arena::Symbol;
use crate::evidence::{DeletedBy, PodName, Reporter};
use crate::model::ConditionStatus;

fn read_text(text: &str) -> Evidence {
    assert!(is(&text.as_bytes()[..text.len().min(4096)]), "{text}");
    let clock = ClockOptions { year: Some(2026), ..ClockOptions::default() };
    let mut into = Evidence::new();
    read("kube-controller-manager.log", &mut text.as_bytes(), &clock, &mut into).expect("a text");
    settle(&clock, &mut into);
    into
}

fn at(text: &str) -> Instant {
    Instant::parse(text).expect("a time")
}

#[test]
fn messages_of_all_releases_say_what_came_about() {
    let node = Symbol::new("w-1");
    let web = PodName { namespace: Symbol::new("shop"), name: Symbol::new("web-1") };
    let zone = |zone: &str, state: &str| What::ZoneState { zone: Symbol::new(zone), state: Symbol::new(state) };
    let ready = |status, by| What::NodeReady { node, status, by };
    let deletion = |by, node| What::PodDeletion { pod: web, by, node };
    use ConditionStatus::{False, True, Unknown};
    for (text, before, expected) in [
        (
            r#"node_lifecycle_controller.go:1044] "Controller detected that zone is now in new state" logger="node-lifecycle-controller" zone="eu:\x00:b" newState="FullDisruption""#,
            0,
            zone("b", "FullDisruption"),
        ),
        (
            "node_lifecycle_controller.go:1044] Controller detected that zone westeurope::0 is now in state Normal.",
            0,
            zone("0", "Normal"),
        ),
        (
            r#"node_lifecycle_controller.go:800] "Node is unresponsive. Adding it to the Taint queue" node="w-1" timeStamp="2026-03-01 14:05:50.123456789 +0000 UTC m=+100""#,
            10,
            ready(Unknown, Reporter::Controller),
        ),
        (
            "node_lifecycle_controller.go:800] Node w-1 is NotReady as of 2026-03-01 14:05:50 +0000 UTC. Adding it to the Taint queue.",
            10,
            ready(False, Reporter::Kubelet),
        ),
        (
            r#"node_lifecycle_controller.go:800] "Node is healthy again, removed all taints" node="w-1""#,
            10,
            ready(True, Reporter::Unknown),
        ),
        (
            "node_lifecycle_controller.go:800] Node w-1 is healthy again, removing all taints",
            10,
            ready(True, Reporter::Unknown),
        ),
        (
            r#"node_lifecycle_controller.go:900] "ReadyCondition for Node transitioned from savedCondition to currentReadyCondition" node="w-1" savedCondition="&NodeCondition{Type:Ready,Status:True,}" currentReadyCondition="&NodeCondition{Type:Ready,Status:False,}""#,
            5,
            ready(False, Reporter::Kubelet),
        ),
        (
            r#"node_lifecycle_controller.go:600] "Controller observed a Node deletion" node="w-1""#,
            5,
            What::NodePresent { node, is_present: false },
        ),
        (
            "node_lifecycle_controller.go:600] Controller observed a new Node: w-1",
            5,
            What::NodePresent { node, is_present: true },
        ),
        (
            r#"taint_eviction.go:111] "Deleting pod" logger="taint-eviction-controller" controller="taint-eviction-controller" pod="shop/web-1""#,
            0,
            deletion(DeletedBy::TaintManager, None),
        ),
        (
            "taint_manager.go:106] NoExecuteTaintManager is deleting Pod: shop/web-1",
            0,
            deletion(DeletedBy::TaintManager, None),
        ),
        (
            r#"gc_controller.go:330] "Found orphaned Pod assigned to the Node, deleting" pod="shop/web-1" node="w-1""#,
            0,
            deletion(DeletedBy::PodGC, Some(node)),
        ),
        (
            "gc_controller.go:180] Found orphaned Pod shop/web-1 assigned to the Node w-1. Deleting.",
            0,
            deletion(DeletedBy::PodGC, Some(node)),
        ),
        (
            r#"event.go:307] "Event occurred" object="w-1" fieldPath="" kind="Node" apiVersion="v1" type="Normal" reason="NodeNotReady" message="Node w-1 status is now: NodeNotReady""#,
            0,
            ready(Unknown, Reporter::Controller),
        ),
        (
            r#"event.go:281] Event(v1.ObjectReference{Kind:"Pod", Namespace:"shop", Name:"web-1", UID:"u", APIVersion:"v1", ResourceVersion:"", FieldPath:""}): type: 'Normal' reason: 'TaintManagerEviction' Marking for deletion Pod shop/web-1"#,
            0,
            deletion(DeletedBy::TaintManager, None),
        ),
        (
            "leaderelection.go:258] successfully acquired lease kube-system/kube-controller-manager",
            0,
            What::ComponentStarted { component: Symbol::new("kube-controller-manager") },
        ),
    ] {
        let into = read_text(&format!("I0301 14:05:50.123456       1 {text}\n"));
        let found: Vec<(Bounds, What)> = into.sightings.iter().map(|seen| (seen.when, seen.what.clone())).collect();
        let latest = at("2026-03-01T14:05:50.123456Z");
        let when = Bounds { earliest: latest.earlier(SimDuration::from_secs(before)), latest };
        assert_eq!(found, [(when, expected)], "{text}");
    }
}

#[test]
fn silence_tells_the_last_heartbeat_once() {
    let line = |time: &str, since: &str| {
        format!(
            "I0301 {time} 1 node_lifecycle_controller.go:1100] \"Node hasn't been updated\" node=\"w-1\" duration=\"{since}\"\n"
        )
    };
    let text = line("14:05:50.000000", "41s") + &line("14:05:55.000000", "46s") + &line("14:06:10.100000", "3s");
    let into = read_text(&text);
    let found: Vec<Instant> = into.sightings.iter().map(|seen| seen.when.latest).collect();
    assert_eq!(found, [at("2026-03-01T14:05:09Z"), at("2026-03-01T14:06:07.1Z")]);
}

#[test]
fn what_a_controller_finds_when_it_begins_may_be_old() {
    let new = "1 node_lifecycle_controller.go:600] \"Controller observed a new Node\" node=\"w-1\"\n";
    let text = format!(
        "I0301 14:05:50.000000 1 leaderelection.go:258] successfully acquired lease kube-system/kube-controller-manager\n\
         I0301 14:05:51.000000 {new}I0301 14:09:00.000000 {new}"
    );
    let into = read_text(&text);
    let found: Vec<u32> = into.sightings.iter().map(|seen| seen.place).collect();
    assert_eq!(found, [1, 3]);
}

#[test]
fn the_turn_of_a_year_is_no_jump_and_other_jumps_are_told() {
    let line =
        |time: &str| format!("I{time} 1 taint_manager.go:106] NoExecuteTaintManager is deleting Pod: shop/web-1\n");
    let into = read_text(&(line("1231 23:59:59.000000") + &line("0101 00:00:01.000000")));
    let found: Vec<Instant> = into.sightings.iter().map(|seen| seen.when.latest).collect();
    assert_eq!(found, [at("2026-12-31T23:59:59Z"), at("2027-01-01T00:00:01Z")]);
    assert!(into.diagnostics.is_empty());

    let into =
        read_text(&(line("0301 14:05:50.000000") + &line("0301 14:05:49.000000") + &line("0301 13:00:00.000000")));
    let told: Vec<String> = into.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("warning[evidence::clock_jump]") && told[0].contains("line 3 by 1h5m49s"), "{told:?}");
}

#[test]
fn the_year_is_that_of_what_else_there_is() {
    let year = |log: &str, from: &str, to: &str| {
        let log = at(log);
        year_near(Bounds::at(log), Bounds { earliest: at(from), latest: at(to) })
    };
    assert_eq!(year("2000-03-01T00:00:00Z", "2024-03-01T00:00:00Z", "2024-03-02T00:00:00Z"), Some(2024));
    assert_eq!(year("2000-12-31T23:00:00Z", "2025-01-01T00:00:00Z", "2025-01-02T00:00:00Z"), Some(2024));
    assert_eq!(year("2000-03-01T00:00:00Z", "2020-01-01T00:00:00Z", "2024-05-02T00:00:00Z"), Some(2024));
}

#[test]
fn logs_of_others_say_nothing() {
    let into = read_text(
        "I0301 14:05:50.123456 1 schedule_one.go:252] \"Successfully bound pod to node\" pod=\"shop/web-1\" node=\"w-1\"\n",
    );
    assert!(into.records.is_empty() && into.diagnostics.is_empty());
    assert_eq!(into.passed_over, 1);
}
