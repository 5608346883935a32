//! Samples in all their forms, and what is concluded from them.

use super::super::super::{ClockOptions, Evidence};
use super::{is, read};
use crate::evidence::{RecordKind, Sighting};
use crate::units::SimDuration;

/// A minute before which nothing is sampled here: 2026-03-01T14:00:00Z.
const START: i64 = 1_772_373_600;

fn evidence_at(text: &str, clock: &ClockOptions) -> Evidence {
    let mut into = Evidence::new();
    read("samples", &mut text.as_bytes(), clock, &mut into).expect("memory is read");
    into
}

fn evidence(text: &str) -> Evidence {
    let head = &text.as_bytes()[..text.len().min(4096)];
    assert!(is(head), "{}", String::from_utf8_lossy(head));
    evidence_at(text, &ClockOptions::default())
}

/// Sightings as lines: the bounds in seconds since the start, and what.
fn told(evidence: &Evidence) -> Vec<String> {
    let time = |nanos: i64| (nanos as f64 / 1e9 - START as f64).to_string();
    let line = |seen: &Sighting| {
        let (earliest, latest) = (seen.when.earliest.unix_nanos(), seen.when.latest.unix_nanos());
        let when = match latest - earliest {
            0 => time(earliest),
            999_999_999 => format!("{}+1s", time(earliest)),
            _ => format!("{}..{}", time(earliest), time(latest)),
        };
        format!("{when} {:?}", seen.what)
    };
    evidence.sightings.iter().map(line).collect()
}

/// A series: its labels as in PromQL, and its values every 30 s, `.` where there is none.
fn series(labels: &str, values: &str) -> String {
    let (name, labels) = labels.split_once('{').expect("labels");
    let mut metric = serde_json::Map::new();
    if !name.is_empty() {
        metric.insert("__name__".to_owned(), name.into());
    }
    for pair in labels.trim_end_matches('}').split(',') {
        let (label, value) = pair.split_once('=').expect("a label");
        metric.insert(label.to_owned(), value.trim_matches('"').into());
    }
    let values: Vec<String> = values
        .split_ascii_whitespace()
        .enumerate()
        .filter(|(_, value)| *value != ".")
        .map(|(index, value)| format!(r#"[{},"{value}"]"#, START + index as i64 * 30))
        .collect();
    format!(r#"{{"metric":{},"values":[{}]}}"#, serde_json::Value::from(metric), values.join(","))
}

fn answer(all: &[(&str, &str)]) -> String {
    let all: Vec<String> = all.iter().map(|(labels, values)| series(labels, values)).collect();
    format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{}]}}}}"#, all.join(","))
}

#[track_caller]
fn check(all: &[(&str, &str)], expected: &[&str]) -> Evidence {
    let found = evidence(&answer(all));
    assert_eq!(told(&found), expected, "{all:#?}");
    found
}

const READY: &str = r#"kube_node_status_condition{node="a",condition="Ready",status="#;

fn ready(status: &str) -> String {
    format!("{READY}\"{status}\"}}")
}

#[test]
fn a_change_lies_between_two_samples() {
    let (yes, no, unknown) = (ready("true"), ready("false"), ready("unknown"));
    let found = check(
        &[(&yes, "1 1 0 0 1"), (&no, "0 0 0 0 0"), (&unknown, "0 0 1 1 0")],
        &[
            r#"30..60 NodeReady { node: "a", status: Unknown, by: Controller }"#,
            r#"90..120 NodeReady { node: "a", status: True, by: Kubelet }"#,
        ],
    );
    let record = &found.records[0];
    assert_eq!(
        (found.records.len(), record.kind, record.step),
        (1, RecordKind::Metrics, Some(SimDuration::from_secs(30)))
    );
    let covers = record.covers.expect("it has samples");
    assert_eq!((covers.earliest.unix_nanos() / 1_000_000_000, covers.width()), (START, SimDuration::from_secs(120)));
    assert_eq!(found.sightings[0].place, 3);
    check(
        &[(&yes, "1 0 1"), (&no, "0 1 0"), (&unknown, "0 0 0")],
        &[
            r#"0..30 NodeReady { node: "a", status: False, by: Kubelet }"#,
            r#"30..60 NodeReady { node: "a", status: True, by: Kubelet }"#,
        ],
    );
}

#[test]
fn without_the_other_states_a_node_is_merely_not_ready() {
    check(
        &[(&ready("true"), "1 0 0 1")],
        &[
            r#"0..30 NodeReady { node: "a", status: Unknown, by: Unknown }"#,
            r#"60..90 NodeReady { node: "a", status: True, by: Kubelet }"#,
        ],
    );
    check(
        &[(&ready("unknown"), "0 1 0")],
        &[
            r#"0..30 NodeReady { node: "a", status: Unknown, by: Controller }"#,
            r#"30..60 NodeReady { node: "a", status: True, by: Unknown }"#,
        ],
    );
}

#[test]
fn of_a_query_for_ones_the_ends_of_series_are_changes() {
    let other = ready("true").replace("\"a\"", "\"b\"");
    check(
        &[(&ready("true"), "1 . . 1"), (&other, "1 1 1 1")],
        &[
            r#"0..30 NodeReady { node: "a", status: Unknown, by: Unknown }"#,
            r#"60..90 NodeReady { node: "a", status: True, by: Kubelet }"#,
        ],
    );
    check(
        &[(&ready("true"), "1 . 1"), (&ready("unknown"), ". 1 ."), (&other, "1 1 1")],
        &[
            r#"0..30 NodeReady { node: "a", status: Unknown, by: Controller }"#,
            r#"30..60 NodeReady { node: "a", status: True, by: Kubelet }"#,
        ],
    );
}

#[test]
fn a_series_that_ends_while_others_go_on_is_an_object_that_went() {
    let found = check(
        &[
            (r#"kube_node_info{node="a"}"#, "1 1 . . ."),
            (r#"kube_node_info{node="b"}"#, "1 1 1 1 1"),
            (r#"kube_node_info{node="c"}"#, ". . 1 1 1"),
            (&ready("true"), "1 1 . . ."),
            (&ready("true").replace("\"a\"", "\"b\""), "1 1 1 1 1"),
        ],
        &[
            r#"30..60 NodePresent { node: "a", is_present: false }"#,
            r#"30..60 NodePresent { node: "c", is_present: true }"#,
        ],
    );
    assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
}

#[test]
fn a_gap_of_all_series_says_nothing_of_objects() {
    let found = check(
        &[
            (r#"kube_node_info{node="a"}"#, "1 1 . . . 1 1"),
            (r#"kube_node_info{node="b"}"#, "1 1 . . . 1 1"),
            (r#"kube_node_info{node="c"}"#, "1 1 . . . . ."),
            (&ready("true"), "1 1 . . . 0 0"),
        ],
        &[
            r#"30..150 NodePresent { node: "c", is_present: false }"#,
            r#"30..150 NodeReady { node: "a", status: Unknown, by: Unknown }"#,
        ],
    );
    let covers: Vec<i64> = found
        .records
        .iter()
        .map(|record| record.covers.unwrap().earliest.unix_nanos() / 1_000_000_000 - START)
        .collect();
    assert_eq!(covers, [0, 150], "a record for each stretch");
    let why = &found.unread[0].why;
    assert!(why.starts_with("it has no samples from 2026-03-01T14:00:30Z to 2026-03-01T14:02:30Z"), "{why}");
}

#[test]
fn a_scraper_that_is_replaced_or_away_takes_no_objects_with_it() {
    let info = |node: &str, instance: &str| format!(r#"kube_node_info{{node="{node}",instance="{instance}"}}"#);
    // Another pod of kube-state-metrics goes on; node c was removed meanwhile.
    check(
        &[
            (&info("a", "1"), "1 1 1 . . ."),
            (&info("b", "1"), "1 1 1 . . ."),
            (&info("c", "1"), "1 1 1 . . ."),
            (&info("a", "2"), ". . . 1 1 1"),
            (&info("b", "2"), ". . . 1 1 1"),
        ],
        &[r#"60..90 NodePresent { node: "c", is_present: false }"#],
    );
    // Of two that share the objects one is away.
    check(&[(&info("a", "1"), "1 1 1 1 1 1"), (&info("b", "2"), "1 1 . . 1 1")], &[]);
}

#[test]
fn replicas_of_prometheus_are_one_and_leave_narrower_bounds() {
    let at = |replica: &str, shift: f64, values: [u32; 3]| {
        let values: Vec<String> = (0..)
            .zip(values)
            .map(|(index, value)| format!(r#"[{},"{value}"]"#, START as f64 + f64::from(index * 30) + shift))
            .collect();
        format!(
            r#"{{"metric":{{"__name__":"kube_node_status_condition","node":"a","condition":"Ready","status":"true","prometheus_replica":"{replica}"}},"values":[{}]}}"#,
            values.join(",")
        )
    };
    let text = format!("[{},{}]", at("0", 0.0, [1, 1, 0]), at("1", 12.5, [1, 0, 0]));
    assert_eq!(told(&evidence(&text)), [r#"30..42.5 NodeReady { node: "a", status: Unknown, by: Unknown }"#]);
}

#[test]
fn taints_and_cordons_come_and_go() {
    check(
        &[
            (
                r#"kube_node_spec_taint{node="a",key="node.kubernetes.io/unreachable",effect="NoExecute",value=""}"#,
                ". . 1 1 .",
            ),
            (r#"kube_node_spec_unschedulable{node="a"}"#, "0 1 1 0 0"),
            (r#"kube_node_spec_unschedulable{node="b"}"#, "0 0 0 0 0"),
        ],
        &[
            r#"0..30 NodeSchedulable { node: "a", is_schedulable: false }"#,
            r#"30..60 NodeTaint { node: "a", key: "node.kubernetes.io/unreachable", effect: "NoExecute", is_present: true }"#,
            r#"60..90 NodeSchedulable { node: "a", is_schedulable: true }"#,
            r#"90..120 NodeTaint { node: "a", key: "node.kubernetes.io/unreachable", effect: "NoExecute", is_present: false }"#,
        ],
    );
}

#[test]
fn a_query_for_taints_alone_is_believed_with_a_warning() {
    let found = check(
        &[(r#"kube_node_spec_taint{node="a",key="k",effect="NoExecute"}"#, ". 1 1 1 .")],
        &[
            r#"0..30 NodeTaint { node: "a", key: "k", effect: "NoExecute", is_present: true }"#,
            r#"90..120 NodeTaint { node: "a", key: "k", effect: "NoExecute", is_present: false }"#,
        ],
    );
    assert_eq!(found.diagnostics.as_slice()[0].code, "evidence::sparse_metrics");
}

#[test]
fn a_node_that_is_registered_anew_was_gone() {
    check(
        &[(r#"kube_node_created{node="a"}"#, "1772000000 1772000000 1772373655 1772373655")],
        &[
            r#"30..56 NodePresent { node: "a", is_present: false }"#,
            r#"55+1s NodePresent { node: "a", is_present: true }"#,
        ],
    );
}

fn pod(metric: &str, more: &str) -> String {
    format!(r#"{metric}{{namespace="shop",pod="web-1",uid="u1"{more}}}"#)
}

const WEB: &str = r#"pod: PodName { namespace: "shop", name: "web-1" }"#;

#[test]
fn a_pods_life_is_told() {
    let other = r#"kube_pod_info{namespace="shop",pod="web-0",uid="u0",node="n0",created_by_kind="ReplicaSet",created_by_name="web"}"#;
    let found = evidence(&answer(&[
        (other, "1 1 1 1 1 1 1"),
        (&pod("kube_pod_info", r#",node="",created_by_kind="ReplicaSet",created_by_name="web""#), ". 1 . . . . ."),
        (&pod("kube_pod_info", r#",node="n1",created_by_kind="ReplicaSet",created_by_name="web""#), ". . 1 1 1 1 ."),
        (&pod("kube_pod_created", ""), ". 1772373610 1772373610 1772373610 1772373610 1772373610 ."),
        (&pod("kube_pod_status_ready", r#",condition="true""#), ". 0 0 1 1 0 ."),
        (&pod("kube_pod_status_ready", r#",condition="false""#), ". 1 1 0 0 1 ."),
        (&pod("kube_pod_status_ready_time", ""), ". . . 1772373675 1772373675 . ."),
        (&pod("kube_pod_status_unschedulable", ""), ". 1 . . . . ."),
        (&pod("kube_pod_deletion_timestamp", ""), ". . . . 1772373730 1772373730 ."),
        (&pod("kube_pod_container_status_restarts_total", r#",container="web""#), ". . 0 1 1 1 ."),
        (
            &pod("kube_pod_container_status_last_terminated_reason", r#",container="web",reason="OOMKilled""#),
            ". . . 1 1 1 .",
        ),
    ]));
    let expected = [
        format!(r#"-240..90 ContainerEnded {{ {WEB}, container: "web", by: OutOfMemory }}"#),
        r#"0 PodSeen { pod: PodName { namespace: "shop", name: "web-0" }, node: "n0", owner: Some(("ReplicaSet", "web")), is_ready: true }"#.to_owned(),
        format!(r#"0..30 PodUnschedulable {{ {WEB}, message: "" }}"#),
        format!(r#"10+1s PodCreated {{ {WEB}, owner: Some(("ReplicaSet", "web")) }}"#),
        format!(r#"30..60 PodScheduled {{ {WEB}, node: "n1" }}"#),
        format!(r#"60..90 ContainerStarted {{ {WEB}, container: "web" }}"#),
        format!("75+1s PodReady {{ {WEB}, is_ready: true }}"),
        format!(r#"90..120 PodDeletion {{ {WEB}, by: Unknown, node: Some("n1") }}"#),
        format!("120..150 PodReady {{ {WEB}, is_ready: false }}"),
        format!("150..180 PodGone {{ {WEB} }}"),
    ];
    assert_eq!(told(&found), expected);
}

#[test]
fn pods_end_and_are_evicted_by_kubelets() {
    check(
        &[
            (&pod("kube_pod_status_phase", r#",phase="Running""#), "1 1 0 0"),
            (&pod("kube_pod_status_phase", r#",phase="Failed""#), "0 0 1 1"),
            (&pod("kube_pod_status_reason", r#",reason="Evicted""#), "0 0 1 1"),
        ],
        &[
            &format!("30..60 PodDeletion {{ {WEB}, by: Kubelet, node: None }}"),
            &format!(r#"30..60 PodFinished {{ {WEB}, is_success: false, reason: "Evicted" }}"#),
        ],
    );
}

#[test]
fn pods_that_follow_each_other_under_one_name_have_their_own_lives() {
    let info =
        |uid: &str, node: &str| format!(r#"kube_pod_info{{namespace="shop",pod="web-1",uid="{uid}",node="{node}"}}"#);
    check(
        &[(r#"kube_node_info{node="x"}"#, "1 1 1 1"), (&info("u1", "a"), "1 1 . ."), (&info("u2", "b"), ". . 1 1")],
        &[
            &format!(r#"0 PodSeen {{ {WEB}, node: "a", owner: None, is_ready: true }}"#),
            &format!("30..60 PodGone {{ {WEB} }}"),
            &format!("30..60 PodCreated {{ {WEB}, owner: None }}"),
            &format!(r#"30..60 PodScheduled {{ {WEB}, node: "b" }}"#),
        ],
    );
}

#[test]
fn labels_of_scrapes_give_way_to_those_that_are_exported() {
    let text = answer(&[(
        r#"kube_node_status_condition{condition="Ready",exported_node="a",node="of-the-scrape",namespace="monitoring",status="true"}"#,
        "1 0",
    )]);
    assert_eq!(told(&evidence(&text)), [r#"0..30 NodeReady { node: "a", status: Unknown, by: Unknown }"#]);
    // An operation took the name away.
    let text = answer(&[(r#"{condition="Ready",node="a",status="true"}"#, "1 0")]);
    assert_eq!(told(&evidence(&text)).len(), 1);
}

#[test]
fn workloads_are_scaled() {
    check(
        &[(r#"kube_deployment_spec_replicas{namespace="shop",deployment="web"}"#, "3 3 5")],
        &[r#"30..60 Scaled { kind: "Deployment", namespace: "shop", name: "web", from: Some(3), to: 5 }"#],
    );
}

const CHANGED: [&str; 1] = [r#"30..60 NodeReady { node: "a", status: Unknown, by: Unknown }"#];

#[test]
fn forms_of_json_are_read_alike() {
    let matrix = answer(&[(&ready("true"), "1 1 0")]);
    let series = series(&ready("true"), "1 1 0");
    let vector = |second: i64, value: u32| {
        format!(
            r#"{{"status":"success","data":{{"resultType":"vector","result":[{{"value":[{},"{value}"],"metric":{{"__name__":"kube_node_status_condition","node":"a","condition":"Ready","status":"true"}}}}]}}}}"#,
            START + second
        )
    };
    let exported = format!(
        r#"{{"metric":{{"__name__":"kube_node_status_condition","node":"a","condition":"Ready","status":"true"}},"values":[1,1,0],"timestamps":[{0}000,{1}000,{2}000]}}"#,
        START,
        START + 30,
        START + 60
    );
    for text in [
        matrix.clone(),
        format!("\u{feff}{matrix}"),
        format!("[{series}]"),
        [vector(0, 1), vector(30, 1), vector(60, 0)].join("\n"),
        exported,
        matrix.replace("\"0\"", "0"),
    ] {
        let found = evidence(&text);
        assert_eq!((told(&found), found.unread.len()), (CHANGED.map(str::to_owned).into(), 0), "{text}");
    }
}

#[test]
fn forms_of_text_are_read_alike() {
    let labels = r#"condition="Ready", node="a", status="true""#;
    let line = |value: u32, second: i64, unit: &str| {
        format!("kube_node_status_condition{{{labels}}} {value} {}{unit}", START + second)
    };
    let named = |value: u32, second: i64| {
        format!(r#"{{__name__="kube_node_status_condition", {labels}}} {value} {}000"#, START + second)
    };
    let exposition =
        format!("# TYPE x untyped\n{}\n{}\n{}\n", line(1, 0, "000"), line(1, 30, "000"), line(0, 60, "000"));
    let open = format!("{}\n{}\n{} # {{a=\"b\"}} 1\n# EOF\n", line(1, 0, ".0"), line(1, 30, ""), line(0, 60, ".000"));
    let dump = [named(1, 0), named(1, 30), named(0, 60)].join("\n");
    let range = format!(
        "kube_node_status_condition{{{labels}}} =>\n1 @[{}]\n1 @[{}]\n0 @[{}]\n",
        START,
        START + 30,
        START + 60
    );
    let instant = |value: u32, second: i64| {
        format!("{{__name__=\"kube_node_status_condition\", {labels}}} => {value} @[{}]\n", START + second)
    };
    let instants = [instant(1, 0), instant(1, 30), instant(0, 60)].concat();
    let quoted = exposition.replace("kube_node_status_condition{", "{\"kube_node_status_condition\", ");
    for text in [exposition, open, dump, range, instants, quoted] {
        let found = evidence(&text);
        assert_eq!(
            (told(&found), found.diagnostics.len()),
            (CHANGED.map(str::to_owned).into(), 0),
            "{text}\n{found:?}"
        );
    }
}

#[test]
fn tables_of_grafana_are_read_alike() {
    let legend = r#"kube_node_status_condition{condition=""Ready"", node=""a"", status=""true""}"#;
    let wide = |first: &str, end: &str| {
        format!(
            "{first}\"Time\",\"{legend}\"{end}\"2026-03-01 14:00:00\",1{end}\"2026-03-01 14:00:30\",1 {end}\"2026-03-01 14:01:00\",0{end}"
        )
    };
    let milliseconds = format!("\"Time\",\"{legend}\"\n{START}000,1\n{}000,1\n{}000,0\n", START + 30, START + 60);
    let rows = format!(
        "\"Series\";\"Time\";\"Value\"\n\"{legend}\";2026-03-01T14:00:00+00:00;1\n\"{legend}\";2026-03-01T14:00:30+00:00;1\n\"{legend}\";2026-03-01T14:01:00+00:00;0\n"
    );
    let labeled = "Time,__name__,condition,node,status,Value\n2026-03-01 14:00:00,kube_node_status_condition,Ready,a,true,1\n2026-03-01 14:00:30,kube_node_status_condition,Ready,a,true,1\n2026-03-01 14:01:00,kube_node_status_condition,Ready,a,true,0\n";
    let short = "Time,{node=\"\"a\"\"}\n".replace("{", "\"{").replace("}", "}\"")
        + "2026-03-01 14:00:00,Ready\n2026-03-01 14:00:30,Ready\n2026-03-01 14:01:00,NotReady\n";
    let bare = "Time,a\n2026-03-01 14:01:00,0\n2026-03-01 14:00:30,1\n2026-03-01 14:00:00,1\n".to_owned();
    for text in [wide("", "\n"), wide("\u{feff}sep=,\r\n", "\r\n"), milliseconds, rows, labeled.to_owned(), short, bare]
    {
        let found = evidence(&text);
        assert_eq!((told(&found), found.unread.len()), (CHANGED.map(str::to_owned).into(), 0), "{text}\n{found:?}");
    }
    let offset = Some(SimDuration::from_secs(3600));
    let clock = ClockOptions { offset, ..ClockOptions::default() };
    let found = evidence_at(&wide("", "\n"), &clock);
    assert_eq!(told(&found), [CHANGED[0].replace("30..60", "-3570..-3540")]);
    assert!(found.diagnostics.is_empty());
    assert_eq!(evidence(&wide("", "\n")).diagnostics.as_slice()[0].code, "evidence::no_offset");
}

#[test]
fn answers_that_are_errors_or_partial_say_so() {
    let found =
        evidence(r#"{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points"}"#);
    assert_eq!(found.unread[0].why, "Prometheus answered with an error: exceeded maximum resolution of 11,000 points");
    let text = answer(&[(&ready("true"), "1 1 0")]);
    let warned = text.replace(
        r#"{"status":"success","#,
        r#"{"status":"success","isPartial":true,"warnings":["a store is away"],"infos":null,"#,
    );
    let found = evidence(&warned);
    assert_eq!((found.sightings.len(), found.diagnostics.len()), (1, 2));
    let empty = evidence(r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#);
    assert_eq!((empty.records.len(), empty.sightings.len()), (0, 0));
    let scalar = evidence(r#"{"status":"success","data":{"resultType":"scalar","result":[1772373600,"1"]}}"#);
    assert_eq!(scalar.sightings.len(), 0);
}

#[test]
fn what_is_hostile_is_told_and_passed_over() {
    // Not a number ends a series, infinity is no state; times that are none are counted.
    let text = answer(&[(&ready("true"), "1 1 0")]).replace(
        r#""values":["#,
        r#""values":[[-5,"1"],[1e300,"1"],[9404946892800,"1"],[1772373600,"NaN"],[1772373600,"+Inf"],[1772373600,"soon"],"#,
    );
    let found = evidence(&text);
    assert_eq!(told(&found), CHANGED);
    assert_eq!(
        found.diagnostics.as_slice()[0].to_string(),
        "warning[evidence::no_time]: samples whose time or value is none: 4 (samples)"
    );
    // The end is missing.
    let text = answer(&[(&ready("true"), "1 1 0"), (&ready("unknown"), "0 0 1")]);
    let found = evidence(&text[..text.len() - 20]);
    assert_eq!((told(&found).len(), found.unread[0].why.as_str()), (1, "it ends in the middle"));
    // Times that go backwards, and the same twice.
    let text = r#"[{"metric":{"__name__":"kube_node_status_condition","node":"a","condition":"Ready","status":"true"},"values":[[1772373660,"0"],[1772373600,"1"],[1772373630,"1"],[1772373630,"1"],[1772373630,"0"]]}]"#;
    assert_eq!(told(&evidence(text)), CHANGED);
    // Nothing that is read.
    let found = evidence("# TYPE up gauge\nup{job=\"x\"} 1 1772373600000\n");
    assert_eq!(found.unread[0].why, "none of its metrics tells when something came about");
    // No time at all.
    let found = evidence("# TYPE kube_node_info gauge\nkube_node_info{node=\"a\"} 1\n");
    assert_eq!(found.diagnostics.as_slice()[0].code, "evidence::no_time");
    // Lines that are none, and one without an end.
    let found = evidence(
        "# TYPE kube_node_info gauge\nkube_node_info{node=\"a\" 1 1\nx y z\nkube_node_info{node=\"a\"} 1 1772373600000\nkube_node_info{no",
    );
    assert_eq!(
        found.diagnostics.as_slice()[0].to_string(),
        "warning[evidence::syntax]: `kube_node_info{node=\"a\" 1 1` is no sample, and 1 more lines are none (samples:2:1)"
    );
    assert_eq!(found.unread[0].why, "it ends in the middle");
    // Several clusters.
    let info = |cluster: &str| format!(r#"kube_node_info{{node="a",cluster="{cluster}"}}"#);
    let found = evidence(&answer(&[(&info("x"), "1 1"), (&info("y"), "1 1")]));
    assert_eq!(found.diagnostics.as_slice()[0].code, "evidence::several_clusters");
}

#[test]
fn many_points_and_many_labels_stay_small() {
    let values: Vec<String> =
        (0..20_000).map(|index| format!(r#"[{},"{}"]"#, START + index * 15, u32::from(index < 15_000))).collect();
    let labels: Vec<String> = (0..5_000).map(|index| format!(r#""label_{index}":"{index}""#)).collect();
    let text = format!(
        r#"[{{"metric":{{"__name__":"kube_node_status_condition","node":"a","condition":"Ready","status":"true",{}}},"values":[{}]}}]"#,
        labels.join(","),
        values.join(",")
    );
    let found = evidence(&text);
    assert_eq!(told(&found), [r#"224985..225000 NodeReady { node: "a", status: Unknown, by: Unknown }"#]);
    assert_eq!(found.sightings[0].place, 15_001);
}

#[test]
fn other_texts_are_no_samples() {
    for text in [
        r#"{"kind":"Event","auditID":"x","stage":"ResponseComplete"}"#,
        r#"{"apiVersion":"v1","kind":"List","items":[]}"#,
        r#"[{"labels":{"alertname":"x"},"status":{"state":"active"}}]"#,
        "time_s,fact,name\n",
        "I0301 14:05:00.000000       1 node_lifecycle_controller.go:1] \"x\" node=\"a\"\n",
        "apiVersion: v1\nkind: Node\n",
        "",
    ] {
        assert!(!is(text.as_bytes()), "{text}");
    }
}

#[test]
fn a_real_federation_has_no_node_in_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/evidence/samples/prometheus-federate.txt");
    let found = evidence(&std::fs::read_to_string(path).expect("a sample"));
    assert_eq!((found.sightings.len(), found.diagnostics.len()), (0, 0), "{found:?}");
    assert_eq!(found.unread[0].why, "none of its metrics tells when something came about");
}
