//! What clients write: options, words that mean the same, lists that many write, objects that are gone.

use serde_json::{Value, json};

use super::server::Server;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";
const PODS: &str = "/api/v1/namespaces/shop/pods";
const JSON: &str = "Content-Type: application/json\r\n";
const MERGE: &str = "Content-Type: application/merge-patch+json\r\n";
const APPLY: &str = "Content-Type: application/apply-patch+yaml\r\n";

fn deployment(name: &str, container: &Value) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"a": name}},
            "template": {"metadata": {"labels": {"a": name}}, "spec": {"containers": [container]}},
        },
    })
}

#[test]
fn what_is_tried_is_not_done_however_it_is_asked_for() {
    let server = Server::shop();
    let maps = "/api/v1/namespaces/shop/configmaps";
    let tried = json!({"metadata": {"name": "tried", "resourceVersion": "7"}});
    for query in ["dryRun=All", "dry%52un=All", "dryRun=%41ll"] {
        let (code, shown) = server.post(&format!("{maps}?{query}"), &tried);
        assert_eq!((code, &shown["metadata"]["name"]), (201, &json!("tried")), "{query}: {shown}");
    }
    assert_eq!(server.get(&format!("{maps}/tried")).0, 404);
    assert_eq!(server.post(maps, &json!({"metadata": {"name": "there"}})).0, 201);
    let there = format!("{maps}/there");
    let yaml = "Content-Type: application/yaml\r\n";
    for (headers, body) in [(yaml, "dryRun: [All]"), (JSON, r#"{"dryRun":["All"]}"#)] {
        assert_eq!(server.ask("DELETE", &there, headers, body).0, 200, "{body}");
    }
    assert_eq!(server.get(&there).0, 200);
    let evicted = format!("{PODS}/db-0/eviction");
    let options = |options: Value| json!({"metadata": {"name": "db-0"}, "deleteOptions": options});
    for (query, eviction) in
        [("", options(json!({"dryRun": ["All"]}))), ("?dry%52un=All", json!({"metadata": {"name": "db-0"}}))]
    {
        assert_eq!(server.post(&format!("{evicted}{query}"), &eviction).0, 201, "{eviction}");
    }
    let pod = server.get(&format!("{PODS}/db-0")).1;
    assert!(pod["metadata"]["deletionTimestamp"].is_null(), "{pod}");
    assert_eq!(server.get("/kubesquall/v1/clock").1["requests"], 1, "what is tried is not recorded");
}

#[test]
fn metadata_that_is_no_object_is_refused_and_the_session_goes_on() {
    let server = Server::shop();
    assert_eq!(server.ask("DELETE", &format!("{PODS}/db-0"), "", "").0, 200);
    server.turn("jump", &json!({"to": "2m"}));
    let events = "/api/v1/namespaces/shop/events";
    let posted = server.get(&format!("{events}?limit=1")).1["items"][0]["metadata"]["name"].clone();
    let event = format!("{events}/{}", posted.as_str().expect("an Event"));
    let pod = format!("{PODS}/db-0");
    let replace = "Content-Type: application/json-patch+json\r\n";
    for path in [&pod, &event] {
        for (method, headers, body) in [
            ("PATCH", MERGE, r#"{"metadata":"x"}"#),
            ("PUT", JSON, r#"{"metadata":"x"}"#),
            ("PUT", JSON, r#"{"metadata":null}"#),
            ("PATCH", replace, r#"[{"op":"replace","path":"","value":[null]}]"#),
            ("PATCH", replace, r#"[{"op":"replace","path":"/metadata","value":"x"}]"#),
        ] {
            let (code, answer) = server.ask(method, path, headers, body);
            assert!([400, 422].contains(&code), "{method} {path} {body}: {code} {answer}");
        }
    }
    assert_eq!(server.get(&pod).0, 200);
}

#[test]
fn defaults_and_zeros_that_are_written_out_change_nothing() {
    let server = Server::shop();
    let plain = json!({
        "name": "c", "image": "example.com/c:1", "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "livenessProbe": {"httpGet": {"port": 80}},
    });
    let with = |more: Value| {
        let mut container = plain.clone();
        container.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        let mut of = deployment("z", &container);
        of["spec"]["template"]["spec"]["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        of
    };
    assert_eq!(server.post(DEPLOYMENTS, &with(json!({}))).0, 201);
    let path = format!("{DEPLOYMENTS}/z");
    let put = |of: &Value| server.ask("PUT", &path, JSON, &of.to_string()).1["metadata"]["generation"].clone();
    for same in [
        json!({"tty": false, "stdin": false, "command": [], "workingDir": ""}),
        json!({"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}),
        json!({"volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": false, "subPath": ""}]}),
        json!({"livenessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}}}),
    ] {
        assert_eq!(put(&with(same.clone())), 1, "{same}");
    }
    let mut same = with(json!({}));
    same["spec"]["template"]["spec"]["dnsPolicy"] = "ClusterFirst".into();
    same["spec"]["template"]["spec"]["securityContext"] = json!({});
    assert_eq!(put(&same), 1);
    assert_eq!(put(&with(json!({"securityContext": {}}))), 2, "that of a container is one as soon as it is there");
    // What must not change has not.
    let container = json!({"name": "c", "image": "example.com/c:1"});
    let job = json!({
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    });
    let jobs = "/apis/batch/v1/namespaces/shop/jobs";
    // A Job that is read is written with the selector that it was given.
    let (status, made) = server.post(jobs, &job);
    assert_eq!(status, 201);
    let again = |more: Value| {
        let mut job = made.clone();
        // Its controller may have written meanwhile.
        job["metadata"]["resourceVersion"] = Value::Null;
        let container = job["spec"]["template"]["spec"]["containers"][0].as_object_mut().expect("a container");
        container.extend(more.as_object().expect("fields").clone());
        server.ask("PUT", &format!("{jobs}/j"), JSON, &job.to_string())
    };
    assert_eq!(again(json!({"tty": false, "env": []})).0, 200);
    assert_eq!(again(json!({"tty": true})).0, 422);
    let pod = |more: &str| {
        format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","image":"i:1"}}]{more}}}}}"#)
    };
    assert_eq!(server.ask("POST", PODS, JSON, &pod("")).0, 201);
    let own = format!("{PODS}/p");
    assert_eq!(server.ask("PUT", &own, JSON, &pod(r#","dnsPolicy":"ClusterFirst""#)).0, 200);
    assert_eq!(server.ask("PUT", &own, JSON, &pod(r#","dnsPolicy":"Default""#)).0, 422);
}

#[test]
fn a_template_in_other_words_is_the_one_that_was_there() {
    let server = Server::shop();
    let container = |image: &str, more: &str| {
        serde_json::from_str::<Value>(&format!(r#"{{"name":"c","image":"{image}"{more}}}"#)).expect("a container")
    };
    let path = format!("{DEPLOYMENTS}/undone");
    let first = deployment("undone", &container("i:1", r#","stdin":false"#));
    assert_eq!(server.post(DEPLOYMENTS, &first).0, 201);
    server.turn("jump", &json!({"by": "1m"}));
    for next in [container("i:2", ""), container("i:1", r#","tty":false"#)] {
        assert_eq!(server.ask("PUT", &path, JSON, &deployment("undone", &next).to_string()).0, 200);
        server.turn("jump", &json!({"by": "1m"}));
    }
    let sets = server.get("/apis/apps/v1/namespaces/shop/replicasets?labelSelector=a%3Dundone").1;
    let sets = sets["items"].as_array().expect("items");
    assert_eq!(sets.len(), 2, "the first is taken again: {sets:?}");
}

#[test]
fn what_is_kept_of_an_object_is_not_its_namesakes() {
    let server = Server::shop();
    let names = json!({"kind": "Widget", "plural": "widgets", "singular": "widget"});
    let definition = json!({
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Namespaced", "names": names,
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    assert_eq!(server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).0, 201);
    let namespace = json!({"metadata": {"name": "t"}});
    let widgets = "/apis/ex.io/v1/namespaces/t/widgets";
    let applied =
        |spec: &str| format!(r#"{{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{{"name":"w"}},"spec":{spec}}}"#);
    let apply = |spec: &str| server.ask("PATCH", &format!("{widgets}/w?fieldManager=m"), APPLY, &applied(spec)).1;
    assert_eq!(server.post("/api/v1/namespaces", &namespace).0, 201);
    let first = apply(r#"{"size":1,"color":"red"}"#);
    let metadata = json!({"name": "w", "resourceVersion": first["metadata"]["resourceVersion"]});
    let status =
        json!({"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": metadata, "status": {"phase": "Ready"}});
    let status = server.ask("PUT", &format!("{widgets}/w/status"), JSON, &status.to_string()).1;
    assert_eq!(status["status"]["phase"], "Ready");
    assert_eq!(server.ask("DELETE", "/api/v1/namespaces/t", "", "").0, 200);
    server.turn("jump", &json!({"by": "2m"}));
    assert_eq!(server.post("/api/v1/namespaces", &namespace).0, 201);
    let made = json!({"metadata": {"name": "w"}, "spec": {"size": 1, "color": "blue"}});
    let (code, second) = server.post(widgets, &made);
    assert_eq!(code, 201, "{second}");
    assert_ne!(second["metadata"]["uid"], first["metadata"]["uid"]);
    assert!(second["status"].is_null(), "{second}");
    // What the manager had applied to the first one is no part of what it takes back from the second.
    assert_eq!(apply(r#"{"size":2}"#)["spec"], json!({"size": 2, "color": "blue"}));
    assert_eq!(server.get(&format!("{widgets}/w")).1["status"], Value::Null);
}

#[test]
fn what_is_applied_has_its_owners_and_finalizers() {
    let server = Server::shop();
    let sets = "/apis/apps/v1/namespaces/shop/statefulsets/db";
    let owner = server.get(sets).1;
    let reference = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": owner["metadata"]["uid"], "controller": true,
    });
    let path = "/apis/apps/v1/namespaces/shop/replicasets/of-db";
    let body = |finalizers: Value| {
        let mut of = deployment("of-db", &json!({"name": "c", "image": "example.com/c:1"}));
        of["apiVersion"] = "apps/v1".into();
        of["kind"] = "ReplicaSet".into();
        of["metadata"]["finalizers"] = finalizers;
        of["metadata"]["ownerReferences"] = json!([reference]);
        of.to_string()
    };
    let apply = |manager: &str, finalizers: Value| {
        let (code, applied) = server.ask("PATCH", &format!("{path}?fieldManager={manager}"), APPLY, &body(finalizers));
        assert!(code < 300, "{applied}");
        applied["metadata"].clone()
    };
    let made = apply("one", json!(["x.io/one"]));
    assert_eq!(made["finalizers"], json!(["x.io/one"]), "{made}");
    assert_eq!(made["ownerReferences"][0]["uid"], owner["metadata"]["uid"], "{made}");
    assert_eq!(apply("two", json!(["x.io/two"]))["finalizers"], json!(["x.io/one", "x.io/two"]));
    assert_eq!(apply("one", json!([]))["finalizers"], json!(["x.io/two"]), "each takes back his own");
    assert_eq!(server.ask("DELETE", sets, "", "").0, 200);
    server.turn("jump", &json!({"by": "2m"}));
    assert!(server.get(path).1["metadata"]["deletionTimestamp"].is_string(), "it goes with its owner, and is held");
    // What lets go of it is answered with it as it was last.
    let (code, last) = server.ask("PATCH", path, MERGE, r#"{"metadata":{"finalizers":null}}"#);
    assert_eq!(
        (code, &last["kind"], &last["metadata"]["name"]),
        (200, &json!("ReplicaSet"), &json!("of-db")),
        "{last}"
    );
    assert!(last["metadata"]["finalizers"].is_null() && last["metadata"]["uid"] == made["uid"], "{last}");
    assert_eq!(server.get(path).0, 404);
    let uid =
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "of-db", "uid": "u"}}).to_string();
    assert_eq!(server.ask("PATCH", &format!("{path}?fieldManager=one"), APPLY, &uid).0, 409);
}

#[test]
fn what_is_not_there_is_not_found_whatever_its_writer_has_read() {
    let server = Server::shop();
    let maps = "/api/v1/namespaces/shop/configmaps";
    let nope = format!("{maps}/nope");
    let body = json!({"metadata": {"name": "nope", "resourceVersion": "77"}}).to_string();
    assert_eq!(server.ask("PUT", &nope, JSON, &body).0, 404);
    assert_eq!(server.ask("DELETE", &nope, JSON, r#"{"preconditions":{"resourceVersion":"77"}}"#).0, 404);
    let made = server.post(maps, &json!({"metadata": {"name": "there"}, "data": {"a": "b"}})).1;
    let there = format!("{maps}/there");
    let version = made["metadata"]["resourceVersion"].as_str().expect("a version");
    let patch = |op: &str, version: &str| {
        let patch = json!([
            {"op": op, "path": "/metadata/resourceVersion", "value": version},
            {"op": "replace", "path": "/data/a", "value": op},
        ]);
        server.ask("PATCH", &there, "Content-Type: application/json-patch+json\r\n", &patch.to_string()).0
    };
    // A test that fails is no conflict: only what the object is to be may be one.
    assert_eq!((patch("test", "1000"), patch("replace", "1000"), patch("test", version)), (422, 409, 200));
    assert_eq!(server.ask("DELETE", &there, JSON, r#"{"preconditions":{"resourceVersion":"1000"}}"#).0, 409);
}

#[test]
fn evictions_and_bindings_are_read_as_they_are_meant() {
    let server = Server::shop();
    let evict = |body: Value| server.post(&format!("{PODS}/db-0/eviction"), &body).0;
    let named = |options: Value| json!({"metadata": {"name": "db-0"}, "deleteOptions": options});
    for (body, code) in [
        (json!({"metadata": {"name": "someone-else"}}), 400),
        (json!({"metadata": {"name": "db-0", "namespace": "other"}}), 400),
        (json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db-0"}}), 400),
        (named(json!({"dryRun": ["Some"]})), 422),
        (named(json!({"gracePeriodSeconds": "x"})), 400),
        (named(json!({"propagationPolicy": "Any"})), 422),
        (named(json!({"preconditions": {"uid": "another"}})), 409),
    ] {
        assert_eq!(evict(body.clone()), code, "{body}");
    }
    assert!(server.get(&format!("{PODS}/db-0")).1["metadata"]["deletionTimestamp"].is_null());
    let pod = json!({
        "metadata": {"name": "own"},
        "spec": {"schedulerName": "mine", "containers": [{"name": "c", "image": "example.com/c:1"}]},
    });
    let uid = server.post(PODS, &pod).1["metadata"]["uid"].clone();
    let binding = |name: &str, uid: &Value, kind: &str| {
        let metadata = json!({"name": name, "uid": uid, "annotations": {"mine/why": "best"}});
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": kind, "name": "n-1"}})
    };
    let bind = |body: &Value| server.post(&format!("{PODS}/own/binding"), body).0;
    assert_eq!(bind(&binding("other", &uid, "Node")), 400);
    assert_eq!(bind(&binding("own", &json!("of-an-earlier-one"), "Node")), 409);
    assert_eq!(bind(&binding("own", &uid, "Pod")), 500);
    assert_eq!(bind(&binding("own", &uid, "Node")), 201);
    let bound = server.get(&format!("{PODS}/own")).1;
    assert_eq!(
        (&bound["spec"]["nodeName"], &bound["metadata"]["annotations"]["mine/why"]),
        (&json!("n-1"), &json!("best"))
    );
}

fn definition(has_status: bool, columns: &Value) -> Value {
    let names = json!({"kind": "Widget", "plural": "widgets", "singular": "widget"});
    let below = if has_status { json!({"status": {}}) } else { json!({}) };
    json!({
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Namespaced", "names": names,
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": below,
                "additionalPrinterColumns": columns, "selectableFields": [{"jsonPath": ".spec.color"}],
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    })
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/ex.io/v1/namespaces/shop/widgets";

#[test]
fn the_status_of_a_custom_resource_is_where_its_definition_puts_it() {
    for has_status in [true, false] {
        let server = Server::shop();
        assert_eq!(server.post(DEFINITIONS, &definition(has_status, &json!([]))).0, 201);
        let widget = json!({"metadata": {"name": "w"}, "spec": {"color": "red"}, "status": {"phase": "New"}});
        let made = server.post(WIDGETS, &widget).1;
        let own = format!("{WIDGETS}/w");
        let patched = server.ask("PATCH", &own, MERGE, r#"{"status":{"phase":"Old"}}"#).1;
        let expected = |word: &str| if has_status { Value::Null } else { json!({"phase": word}) };
        assert_eq!((&made["status"], &patched["status"]), (&expected("New"), &expected("Old")));
        let put = |path: &str, version: &Value| {
            let mut of = widget.clone();
            of["metadata"]["resourceVersion"] = version.clone();
            of["status"]["phase"] = "Put".into();
            server.ask("PUT", path, JSON, &of.to_string())
        };
        assert_eq!(put(&own, &Value::Null).0, 422, "a writer says what he has read");
        assert_eq!(put(&own, &patched["metadata"]["resourceVersion"]).1["status"], expected("Put"));
        let version = server.get(&own).1["metadata"]["resourceVersion"].clone();
        let below = put(&format!("{own}/status"), &version);
        assert_eq!(below.0, if has_status { 200 } else { 404 });
        assert_eq!(server.get(&own).1["status"], json!({"phase": "Put"}));
    }
}

#[test]
fn rows_are_as_the_definition_says_now_and_objects_go_with_it() {
    let server = Server::shop();
    let column = |name: &str, path: &str| json!({"name": name, "type": "string", "jsonPath": path});
    assert_eq!(server.post(DEFINITIONS, &definition(true, &json!([column("Color", ".spec.color")]))).0, 201);
    let widget = json!({"metadata": {"name": "w"}, "spec": {"color": "red", "size": "big"}});
    assert_eq!(server.post(WIDGETS, &widget).0, 201);
    let rows = |server: &Server| {
        let table = super::text_of(server, WIDGETS, "application/json;as=Table;v=v1;g=meta.k8s.io");
        let body = table.find('{').map(|first| table[first..].to_owned()).expect("a table");
        let table = serde_json::Deserializer::from_str(&body).into_iter::<Value>().next().expect("one").expect("JSON");
        let names: Vec<Value> =
            table["columnDefinitions"].as_array().into_iter().flatten().map(|of| of["name"].clone()).collect();
        (json!(names), table["rows"][0]["cells"].clone())
    };
    assert_eq!(rows(&server), (json!(["Name", "Color"]), json!(["w", "red"])));
    let columns = json!([column("Size", ".spec.size"), column("Color", ".spec.color")]);
    let path = format!("{DEFINITIONS}/widgets.ex.io");
    let changed = json!({"spec": {"versions": definition(true, &columns)["spec"]["versions"]}});
    assert_eq!(server.ask("PATCH", &path, MERGE, &changed.to_string()).0, 200);
    assert_eq!(rows(&server), (json!(["Name", "Size", "Color"]), json!(["w", "big", "red"])));
    let count =
        |field: &str| server.get(&format!("{WIDGETS}?fieldSelector={field}")).1["items"].as_array().map(Vec::len);
    assert_eq!(
        (count("spec.color%3Dred"), count("spec.color%3Dblue"), count("spec.size%3Dbig")),
        (Some(1), Some(0), None)
    );
    assert_eq!(server.ask("DELETE", &path, "", "").0, 200);
    assert_eq!(server.get(WIDGETS).0, 404);
    // Made again, its objects may live elsewhere.
    let mut anew = definition(true, &columns);
    anew["spec"]["scope"] = "Cluster".into();
    assert_eq!(server.post(DEFINITIONS, &anew).0, 201);
    let everywhere = "/apis/ex.io/v1/widgets";
    assert_eq!(server.get(everywhere).1["items"], json!([]));
    assert_eq!(server.post(everywhere, &json!({"metadata": {"name": "v"}})).0, 201);
    assert_eq!(server.get(everywhere).1["items"][0]["metadata"]["name"], "v");
}

#[test]
fn dependents_of_custom_resources_go_with_the_definition() {
    let server = Server::shop();
    assert_eq!(server.post(DEFINITIONS, &definition(true, &json!([]))).0, 201);
    let owner = server.post(WIDGETS, &json!({"metadata": {"name": "w"}})).1["metadata"]["uid"].clone();
    let reference =
        json!([{"apiVersion": "ex.io/v1", "kind": "Widget", "name": "w", "uid": owner, "controller": true}]);
    let maps = "/api/v1/namespaces/shop/configmaps";
    for (path, mut body) in [
        (maps, json!({"metadata": {"name": "c"}})),
        (DEPLOYMENTS, deployment("c", &json!({"name": "c", "image": "i"}))),
    ] {
        body["metadata"]["ownerReferences"] = reference.clone();
        assert_eq!(server.post(path, &body).0, 201);
    }
    server.turn("jump", &json!({"to": "1m"}));
    assert_eq!(server.get(&format!("{maps}/c")).0, 200);
    assert_eq!(server.ask("DELETE", &format!("{DEFINITIONS}/widgets.ex.io"), "", "").0, 200);
    server.turn("jump", &json!({"to": "2m"}));
    assert_eq!([maps, DEPLOYMENTS].map(|path| server.get(&format!("{path}/c")).0), [404, 404]);
}

#[test]
fn writes_are_answered_as_each_kind_is() {
    let server = Server::shop();
    // Some are made by a PUT.
    let role = json!({"metadata": {"name": "r"}, "rules": []}).to_string();
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles/r";
    assert_eq!((server.ask("PUT", path, JSON, &role).0, server.ask("PUT", path, JSON, &role).0), (201, 200));
    let map = json!({"metadata": {"name": "m"}}).to_string();
    assert_eq!(server.ask("PUT", "/api/v1/namespaces/shop/configmaps/m", JSON, &map).0, 404);
    // Some are answered as they were.
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}});
    assert_eq!(server.post(PODS, &pod).0, 201);
    let (code, gone) = server.ask("DELETE", &format!("{PODS}/p?gracePeriodSeconds=0"), "", "");
    assert_eq!((code, &gone["kind"], &gone["metadata"]["name"]), (200, &json!("Pod"), &json!("p")), "{gone}");
    assert_eq!(server.ask("DELETE", path, "", "").1["kind"], "Status");
    // Names that are given are names.
    let long = json!({"metadata": {"generateName": "a".repeat(70)}});
    let (code, made) = server.post("/api/v1/namespaces/shop/configmaps", &long);
    assert_eq!((code, made["metadata"]["name"].as_str().map(str::len)), (201, Some(63)), "{made}");
    let of =
        |version: &str| json!({"apiVersion": version, "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}});
    let (code, refused) = server.post(DEPLOYMENTS, &of("apps/v1beta1"));
    let text = "the API version in the data (apps/v1beta1) does not match the expected API version (apps/v1)";
    assert_eq!((code, refused["message"].as_str()), (400, Some(text)));
    let (_, secret) = server.post("/api/v1/namespaces/shop/secrets", &json!({"metadata": {"name": "s"}}));
    assert_eq!((secret.get("data"), &secret["type"]), (None, &json!("Opaque")), "{secret}");
    // Faults are deleted as all else is.
    let faults = "/apis/kubesquall.sim/v1alpha1/faults";
    for (name, team) in [("one", "a"), ("two", "b")] {
        let metadata = json!({"name": name, "labels": {"team": team}});
        let fault = json!({"metadata": metadata, "spec": {"kind": "Crash", "nodes": {"names": ["n-3"]}}});
        assert_eq!(server.post(faults, &fault).0, 201);
    }
    let uid = r#"{"preconditions":{"uid":"another"}}"#;
    assert_eq!(server.ask("DELETE", &format!("{faults}/one"), JSON, uid).0, 409);
    assert_eq!(server.ask("DELETE", &format!("{faults}?propagationPolicy=Any"), "", "").0, 422);
    assert_eq!(
        server.ask("DELETE", &format!("{faults}?labelSelector=team%3Db"), "", "").1["items"][0]["metadata"]["name"],
        "two"
    );
    assert_eq!((server.get(&format!("{faults}/one")).0, server.get(&format!("{faults}/two")).0), (200, 404));
}
