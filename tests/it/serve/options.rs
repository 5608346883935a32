//! Options of requests, which the API server reads strictly, and what can be asked of which resource.

use serde_json::{Value, json};

use super::server::Server;

const PODS: &str = "/api/v1/namespaces/shop/pods";
const MAPS: &str = "/api/v1/namespaces/shop/configmaps";

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    items.filter_map(|of| of["metadata"]["name"].as_str()).collect()
}

#[test]
fn options_that_cannot_be_read_are_refused_and_nothing_is_done() {
    let server = Server::shop();
    let check = |method: &str, path: &str, body: &str, expected: (u16, &str)| {
        let (code, said) = server.ask(method, path, "Content-Type: application/json\r\n", body);
        let message = said["message"].as_str().unwrap_or_default();
        assert!(code == expected.0 && message.contains(expected.1), "{method} {path}: {code} {said}");
    };
    let pod = format!("{PODS}/db-0");
    check("DELETE", &format!("{pod}?gracePeriodSeconds=abc"), "", (400, "parsing \"abc\": invalid syntax"));
    check("DELETE", &pod, r#"{"gracePeriodSeconds": "5"}"#, (400, "gracePeriodSeconds is no whole number"));
    check("DELETE", &format!("{pod}?dryRun=Some"), "", (422, "dryRun: Unsupported value"));
    let both = format!("{pod}?orphanDependents=true&propagationPolicy=Orphan");
    check("DELETE", &both, "", (422, "orphanDependents and deletionPropagation cannot be both set"));
    let map = json!({"metadata": {"name": "m"}}).to_string();
    check("POST", &format!("{MAPS}?dryRun=Some"), &map, (422, "CreateOptions.meta.k8s.io \"\" is invalid: dryRun"));
    check("POST", &format!("{MAPS}?fieldValidation=Bla"), &map, (422, "fieldValidation: Unsupported value: \"Bla\""));
    for query in ["limit=abc", "timeoutSeconds=abc", "watch=maybe&timeoutSeconds=x"] {
        check("GET", &format!("{PODS}?{query}"), "", (400, "strconv.ParseInt"));
    }
    for query in ["resourceVersionMatch=Exact", "resourceVersionMatch=Foo&resourceVersion=1"] {
        check("GET", &format!("{PODS}?{query}"), "", (422, "resourceVersionMatch: "));
    }
    check("GET", &format!("{PODS}?watch=true&sendInitialEvents=true"), "", (422, "NotOlderThan"));
    check("DELETE", &format!("{PODS}?limit=abc"), "", (400, "strconv.ParseInt"));
    let (_, pod) = server.get(&pod);
    assert!(pod["metadata"]["deletionTimestamp"].is_null(), "{pod}");
    assert_eq!(server.get(&format!("{MAPS}/m")).0, 404);
}

#[test]
fn what_has_a_version_is_not_created() {
    let server = Server::shop();
    assert_eq!(server.post(MAPS, &json!({"metadata": {"name": "saved"}})).0, 201);
    let (_, mut saved) = server.get(&format!("{MAPS}/saved"));
    saved["metadata"]["name"] = "again".into();
    let (code, refused) = server.post(MAPS, &saved);
    let text = "resourceVersion should not be set on objects to be created";
    assert_eq!((code, &refused["message"]), (500, &json!(text)), "{refused}");
    assert_eq!(server.get(&format!("{MAPS}/again")).0, 404);
    // The storage says so, and a dry run does not ask it.
    assert_eq!(server.post(&format!("{MAPS}?dryRun=All"), &saved).0, 201);
    saved["metadata"]["resourceVersion"] = "0".into();
    assert_eq!(server.post(MAPS, &saved).0, 201);
}

#[test]
fn a_page_goes_on_with_its_own_resource_and_the_selectors_of_its_request() {
    let server = Server::shop();
    let (_, first) = server.get(&format!("{PODS}?limit=1"));
    let token = first["metadata"]["continue"].as_str().expect("more").to_owned();
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["db-0"], &json!(5)));
    let (code, nodes) = server.get(&format!("/api/v1/nodes?limit=3&continue={token}"));
    assert_eq!((code, &nodes["reason"]), (400, &json!("BadRequest")), "{nodes}");
    let (_, web) = server.get(&format!("{PODS}?limit=2&labelSelector=app%3Dweb&continue={token}"));
    assert!(web["items"].as_array().is_some_and(|items| items.len() == 2), "{web}");
    assert!(
        web["items"].as_array().into_iter().flatten().all(|pod| pod["metadata"]["labels"]["app"] == "web"),
        "{web}"
    );
    // How many remain is told where nothing is selected.
    let next = web["metadata"]["continue"].as_str().expect("more");
    assert!(web["metadata"].get("remainingItemCount").is_none(), "{web}");
    let (_, last) = server.get(&format!("{PODS}?limit=2&labelSelector=app%3Dweb&continue={next}"));
    assert!(last["items"].as_array().is_some_and(|items| items.len() == 2), "{last}");
    assert!(last["metadata"].get("continue").is_none(), "{last}");
    let (code, both) = server.get(&format!("{PODS}?limit=1&continue={token}&resourceVersion=1"));
    assert!(code == 400 && both["message"].as_str().is_some_and(|text| text.contains("using continue")), "{both}");
}

#[test]
fn who_leaves_a_selection_is_told_of_as_it_was_in_it() {
    let server = Server::shop();
    let (_, list) = server.get(&format!("{PODS}?labelSelector=app%3Ddb"));
    let version = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
    let merge = "Content-Type: application/merge-patch+json\r\n";
    let (code, patched) = server.ask("PATCH", &format!("{PODS}/db-0"), merge, r#"{"metadata":{"labels":{"app":"x"}}}"#);
    assert_eq!(code, 200, "{patched}");
    for accept in ["application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"] {
        let watch = format!("{PODS}?watch=true&timeoutSeconds=1&labelSelector=app%3Ddb&resourceVersion={version}");
        let told = super::text_of(&server, &watch, accept);
        let mut events = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let event = events.find(|event| event["type"] == "DELETED").unwrap_or_else(|| panic!("{told}"));
        let object = if accept.contains("Table") { &event["object"]["rows"][0]["object"] } else { &event["object"] };
        assert_eq!(object["metadata"]["labels"]["app"], "db", "{event}");
        assert_eq!(object["metadata"]["resourceVersion"], patched["metadata"]["resourceVersion"], "{event}");
    }
}

#[test]
fn verbs_and_subresources_are_those_of_kubernetes() {
    let server = Server::shop();
    let (code, refused) = server.ask("DELETE", "/api/v1/namespaces", "", "");
    assert_eq!((code, &refused["reason"]), (405, &json!("MethodNotAllowed")), "{refused}");
    assert_eq!(server.get("/api/v1/namespaces/shop").1["status"]["phase"], "Active");
    let status = json!({"metadata": {"name": "scheduler"}});
    assert_eq!(server.post("/api/v1/componentstatuses", &status).0, 405);
    let (_, core) = server.get("/api/v1");
    let found = |name: &str| {
        let mut all = core["resources"].as_array().into_iter().flatten();
        all.find(|of| of["name"] == name).map(|of| of["verbs"].clone())
    };
    let every = json!(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]);
    assert_eq!(found("pods"), Some(every));
    assert_eq!(found("namespaces"), Some(json!(["create", "delete", "get", "list", "patch", "update", "watch"])));
    assert_eq!(found("componentstatuses"), Some(json!(["get", "list"])));
    assert_eq!(found("replicationcontrollers/scale"), Some(json!(["get", "patch", "update"])));
    for plain in ["configmaps", "secrets", "events", "limitranges", "serviceaccounts", "componentstatuses"] {
        assert_eq!(found(&format!("{plain}/status")), None, "{plain}");
    }
    for known in ["pods", "nodes", "namespaces", "resourcequotas", "replicationcontrollers"] {
        assert!(found(&format!("{known}/status")).is_some(), "{known}");
    }
    let controller = json!({
        "metadata": {"name": "old"},
        "spec": {
            "replicas": 1, "selector": {"a": "old"},
            "template": {"metadata": {"labels": {"a": "old"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}},
        },
    });
    let path = "/api/v1/namespaces/shop/replicationcontrollers";
    assert_eq!(server.post(path, &controller).0, 201);
    let (code, scale) = server.get(&format!("{path}/old/scale"));
    assert_eq!((code, &scale["spec"]["replicas"], &scale["status"]["selector"]), (200, &json!(1), &json!("a=old")));
}

#[test]
fn objects_that_are_deleted_together_bear_the_versions_that_they_had() {
    let server = Server::shop();
    let versions = |list: &Value| -> Vec<Value> {
        let items = list["items"].as_array().into_iter().flatten();
        items.map(|of| of["metadata"]["resourceVersion"].clone()).collect()
    };
    for name in ["a", "b"] {
        assert_eq!(server.post(MAPS, &json!({"metadata": {"name": name}})).0, 201);
    }
    for path in [MAPS, PODS] {
        let (_, before) = server.get(path);
        assert!(versions(&before).iter().all(Value::is_string), "{before}");
        let (code, gone) = server.ask("DELETE", path, "", "");
        assert_eq!((code, versions(&gone)), (200, versions(&before)), "{gone}");
    }
}
