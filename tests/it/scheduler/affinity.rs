//! Pods that want to be near others, or far from them.

use serde_json::{Value, json};

use super::{Cluster, check_fits, check_scores};

fn term(key: &str, labels: Value) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": labels}})
}

fn near(terms: Value) -> Value {
    json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})
}

fn far(terms: Value) -> Value {
    json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})
}

fn weighted(weight: i64, term: Value) -> Value {
    json!({"weight": weight, "podAffinityTerm": term})
}

/// Nodes with a region, or none if it is empty.
fn regions(nodes: &[(&str, &str)]) -> Cluster {
    nodes.iter().fold(Cluster::new(), |cluster, (name, region)| {
        let labels = if region.is_empty() { json!({}) } else { json!({"region": region}) };
        cluster.node(name, json!({"labels": labels}))
    })
}

#[test]
fn the_first_of_a_group_is_let_in() {
    let labels = json!({"app": "x", "service": "y"});
    let both = near(json!([term("region", json!({"app": "x"})), term("zone", json!({"service": "y"}))]));
    let cluster = Cluster::new()
        .node("a", json!({"labels": {"region": "r", "zone": "z"}}))
        .node("b", json!({"labels": {"region": "r", "zone": "z2"}}))
        .node("c", json!({"labels": {"region": "r"}}))
        .pod("p", json!({"labels": labels, "affinity": both}));
    let shown = cluster.decision();
    assert_eq!(shown.fitting(), ["a", "b"]);
    assert_eq!(shown.filtered["c"], ("node(s) didn't match pod affinity rules".to_owned(), true));
    // A pod that is not one of those it wants has to wait for them.
    let stranger = near(json!([term("region", json!({"app": "other"}))]));
    check_fits(&regions(&[("a", "r")]).pod("p", json!({"affinity": stranger})), &[]);
}

#[test]
fn one_pod_must_satisfy_all_terms() {
    let both = near(json!([term("region", json!({"app": "x"})), term("region", json!({"service": "y"}))]));
    let cluster = regions(&[("a", "r"), ("b", "r")])
        .pod("one", json!({"node": "a", "labels": {"app": "x"}}))
        .pod("other", json!({"node": "b", "labels": {"service": "y"}}));
    check_fits(&cluster.clone().pod("p", json!({"affinity": both})), &[]);
    let whole = cluster.pod("whole", json!({"node": "b", "labels": {"app": "x", "service": "y"}}));
    check_fits(&whole.pod("p", json!({"affinity": both})), &["a", "b"]);
}

#[test]
fn required_distance_holds_in_the_whole_domain() {
    let shuns = far(json!([term("region", json!({"app": "x"}))]));
    let cluster = regions(&[("a", "r1"), ("b", "r1"), ("c", "r2"), ("d", "")])
        .pod("x", json!({"node": "a", "labels": {"app": "x"}}))
        .pod("p", json!({"affinity": shuns}));
    let shown = cluster.decision();
    assert_eq!(shown.fitting(), ["c", "d"]);
    assert_eq!(shown.filtered["a"], ("node(s) didn't match pod anti-affinity rules".to_owned(), false));
}

#[test]
fn distance_that_existing_pods_require_holds_too() {
    let shuns = far(json!([term("region", json!({"app": "x"})), term("zone", json!({"app": "y"}))]));
    let cluster = regions(&[("a", "r1"), ("b", "r2")]).pod("q", json!({"node": "a", "affinity": shuns}));
    let shown = cluster.clone().pod("p", json!({"labels": {"app": "x"}})).decision();
    assert_eq!(shown.fitting(), ["b"]);
    assert_eq!(shown.filtered["a"], ("node(s) didn't satisfy existing pods anti-affinity rules".to_owned(), false));
    // The key of the other term is on no node.
    check_fits(&cluster.pod("p", json!({"labels": {"app": "y"}})), &["a", "b"]);
}

#[test]
fn terms_speak_of_pods_in_their_namespaces() {
    let namespace = |name: &str, labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    let cluster = regions(&[("a", "r")])
        .object(namespace("one", json!({"team": "team1"})))
        .object(namespace("two", json!({"team": "team2"})))
        .pod("q", json!({"node": "a", "namespace": "one", "labels": {"app": "x"}}));
    let check = |fields: Value, fits: bool| {
        let mut wanted = term("region", json!({"app": "x"}));
        for (name, value) in fields.as_object().expect("fields") {
            wanted[name] = value.clone();
        }
        let shown = cluster.clone().pod("p", json!({"namespace": "two", "affinity": near(json!([wanted]))})).decision();
        assert_eq!(shown.node.is_some(), fits, "{fields}");
    };
    check(json!({}), false);
    check(json!({"namespaces": ["two"]}), false);
    check(json!({"namespaces": ["one"]}), true);
    check(json!({"namespaceSelector": {}}), true);
    check(json!({"namespaceSelector": {"matchLabels": {"team": "team1"}}}), true);
    check(json!({"namespaceSelector": {"matchLabels": {"team": "team2"}}}), false);
    check(json!({"namespaces": ["one"], "namespaceSelector": {"matchLabels": {"team": "team2"}}}), true);
    // A selector that only says what must not be there is also held against no labels at all.
    check(
        json!({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["team1"]}]}}),
        true,
    );
}

#[test]
fn wishes_draw_pods_to_where_their_kind_is() {
    let wish = |weight, labels| json!({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted(weight, term("region", labels))]}});
    let cluster = regions(&[("china", "c"), ("india", "i"), ("nowhere", "")])
        .pod("one", json!({"node": "china", "labels": {"security": "S1"}}))
        .pod("two", json!({"node": "india", "labels": {"security": "S2"}}))
        .pod("three", json!({"node": "nowhere", "labels": {"security": "S1"}}));
    let wanting = cluster.clone().pod("p", json!({"affinity": wish(5, json!({"security": "S1"}))}));
    check_scores(&wanting, "InterPodAffinity", &[("china", 100), ("india", 0), ("nowhere", 0)]);
    let expression =
        |key: &str, operator: &str, values: Value| json!({"key": key, "operator": operator, "values": values});
    let by = |weight, expressions: Value| {
        weighted(weight, json!({"topologyKey": "region", "labelSelector": {"matchExpressions": expressions}}))
    };
    let terms = json!([
        by(8, json!([expression("security", "NotIn", json!(["S1"])), expression("security", "In", json!(["S2"]))])),
        by(2, json!([expression("security", "Exists", json!([]))])),
    ]);
    let wanting = cluster
        .pod("p", json!({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}}));
    check_scores(&wanting, "InterPodAffinity", &[("china", 20), ("india", 100), ("nowhere", 0)]);
}

#[test]
fn what_existing_pods_want_counts_as_well() {
    let wish = json!({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted(5, term("region", json!({"app": "x"})))]}});
    let must = near(json!([term("region", json!({"app": "x"}))]));
    let cluster = |affinity: &Value| {
        regions(&[("a", "r1"), ("b", "r2")])
            .pod("q", json!({"node": "a", "labels": {"app": "x"}, "affinity": affinity}))
            .pod("p", json!({"labels": {"app": "x"}}))
    };
    check_scores(&cluster(&wish), "InterPodAffinity", &[("a", 100), ("b", 0)]);
    check_scores(&cluster(&must), "InterPodAffinity", &[("a", 100), ("b", 0)]);
    let without_weight = json!({"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 0}}]});
    let shown = cluster(&must).profile(without_weight).decision();
    assert_eq!(shown.scores("InterPodAffinity", &["a", "b"]), [None, None]);
    let ignoring =
        json!({"pluginConfig": [{"name": "InterPodAffinity", "args": {"ignorePreferredTermsOfExistingPods": true}}]});
    let shown = cluster(&wish).profile(ignoring.clone()).decision();
    assert_eq!(shown.scores("InterPodAffinity", &["a", "b"]), [None, None]);
    // A pod with a wish of its own, if only to be far from nobody, has the wishes of others counted all the same.
    let own = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted(1, term("region", json!({"app": "nobody"})))]}});
    let wishing = regions(&[("a", "r1"), ("b", "r2")])
        .pod("q", json!({"node": "a", "labels": {"app": "x"}, "affinity": wish}))
        .pod("p", json!({"labels": {"app": "x"}, "affinity": own}));
    let shown = wishing.profile(ignoring).decision();
    assert_eq!(shown.scores("InterPodAffinity", &["a", "b"]), [Some(100), Some(0)]);
}

#[test]
fn wished_distance_lowers_the_score() {
    let wish = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted(5, term("region", json!({"app": "x"})))]}});
    let pod = json!({"affinity": wish});
    let one = regions(&[("a", "r1"), ("b", "r2")]).pod("q", json!({"node": "a", "labels": {"app": "x"}}));
    check_scores(&one.clone().pod("p", pod.clone()), "InterPodAffinity", &[("a", 0), ("b", 100)]);
    let both = one.pod("r", json!({"node": "b", "labels": {"app": "x"}}));
    check_scores(&both.pod("p", pod), "InterPodAffinity", &[("a", 0), ("b", 0)]);
}

#[test]
fn scores_are_cut_in_the_order_of_the_real_arithmetic() {
    let wish = |weight: i64, app: &str| weighted(weight, term("region", json!({"app": app})));
    let cluster = regions(&[("a", "r1"), ("b", "r2"), ("c", "r3")])
        .pod("x", json!({"node": "b", "labels": {"app": "x"}}))
        .pod("y", json!({"node": "c", "labels": {"app": "y"}}))
        .pod("p", json!({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish(29, "x"), wish(50, "y")]}}}));
    check_scores(&cluster, "InterPodAffinity", &[("a", 0), ("b", 57), ("c", 100)]);
}

#[test]
fn distance_that_a_nominated_pod_requires_holds_for_everybody() {
    let keeps_away = json!({"priority": 10, "affinity": far(json!([term("kubernetes.io/hostname", json!({"app": "p"}))])),
        "status": {"phase": "Pending", "nominatedNodeName": "a"}});
    let other = far(json!([term("kubernetes.io/hostname", json!({"app": "z"}))]));
    let wants = || json!({"labels": {"app": "p"}, "affinity": other});
    let cluster = Cluster::new()
        .node("a", json!({"labels": {"kubernetes.io/hostname": "a"}, "cpu": "1"}))
        .pod("nominated", keeps_away)
        .pod("p", wants())
        .pod("q", wants());
    for name in ["p", "q"] {
        let shown = cluster.decision_of(name);
        assert_eq!(shown.reason("a"), "node(s) didn't satisfy existing pods anti-affinity rules", "{name}");
    }
}
