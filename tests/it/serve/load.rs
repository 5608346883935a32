//! Many who watch and many who write at once.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::played;
use super::server::Server;

/// What somebody knows who has watched to the end: objects by name, with their versions; none if he was cut off.
fn watched(server_address: &str, path: &str) -> Result<std::collections::BTreeMap<String, u64>, String> {
    let mut stream = TcpStream::connect(server_address).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(Duration::from_secs(90))).map_err(|error| error.to_string())?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {server_address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let (mut known, mut last) = (std::collections::BTreeMap::new(), 0);
    let mut is_initial = true;
    for line in BufReader::new(stream).lines().map_while(Result::ok).filter(|line| line.starts_with('{')) {
        let event: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
        let metadata = &event["object"]["metadata"];
        let version: u64 =
            metadata["resourceVersion"].as_str().and_then(|text| text.parse().ok()).ok_or(line.clone())?;
        // What was there comes in the order of names, and then what happened in its own.
        is_initial &= event["type"] == "ADDED";
        if !is_initial && version <= last {
            return Err(format!("{version} after {last}: {line}"));
        }
        last = last.max(version);
        let name = metadata["name"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("ADDED") => {
                let is_new = known.insert(name.clone(), version).is_none();
                if !is_new {
                    return Err(format!("{name} is added twice: {line}"));
                }
            }
            Some("MODIFIED") if known.insert(name.clone(), version).is_some() => {}
            Some("DELETED") if known.remove(&name).is_some() => {}
            _ => return Err(format!("{name} was not known: {line}")),
        }
    }
    Ok(known)
}

/// How many watch, how many write, and for how many seconds: `SERVE_LOAD=200,100,60`.
#[expect(clippy::disallowed_methods, reason = "how much is to be done is said by who runs the test")]
fn load() -> (usize, usize, u64) {
    let said = std::env::var("SERVE_LOAD").unwrap_or_default();
    let mut numbers = said.split(',').filter_map(|number| number.parse::<u64>().ok());
    let mut next = |otherwise| numbers.next().unwrap_or(otherwise);
    (next(20) as usize, next(10) as usize, next(4))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "clients of a server live in real time")]
fn nothing_is_lost_for_those_who_watch_while_many_write() {
    use std::time::Instant;
    let (watchers, writers, seconds) = load();
    let server = Server::start(&["tests/serve/shop.yaml"], &["--verify"]);
    server.turn("jump", &json!({"to": "1s"}));
    let list = server.get("/api/v1/namespaces/shop/pods").1;
    let version = list["metadata"]["resourceVersion"].as_str().expect("one").to_owned();
    server.turn("speed", &json!({"speed": "20x"}));
    let end = Instant::now() + Duration::from_secs(seconds);
    let address = server.address.as_str();
    let known = std::thread::scope(|scope| {
        let last = seconds + 3;
        let watch = |number: usize| {
            let kind = ["pods", "configmaps"][number % 2];
            let path = format!("/api/v1/namespaces/shop/{kind}?watch=true&timeoutSeconds={last}");
            scope.spawn(move || (kind, watched(address, &path)))
        };
        let watching: Vec<_> = (0..watchers).map(watch).collect();
        let server = &server;
        for number in 0..writers {
            scope.spawn(move || {
                let mut turn = 0;
                while Instant::now() < end {
                    turn += 1;
                    let name = format!("c-{number}-{}", turn % 3);
                    let body = json!({"metadata": {"name": name}, "data": {"turn": turn.to_string()}});
                    let (code, said) = server.post("/api/v1/namespaces/shop/configmaps", &body);
                    assert!(matches!(code, 201 | 409 | 429), "{code} {said}");
                    let path = format!("/api/v1/namespaces/shop/configmaps/{name}");
                    let patch = json!({"data": {"turn": format!("{turn}b")}}).to_string();
                    server.ask("PATCH", &path, "Content-Type: application/merge-patch+json\r\n", &patch);
                    if turn % 2 == 0 {
                        server.ask("DELETE", &path, "", "");
                    }
                    if number == 0 && turn % 5 == 0 {
                        let size = json!({"spec": {"replicas": 1 + turn % 4}}).to_string();
                        let path = "/apis/apps/v1/namespaces/shop/statefulsets/db/scale";
                        server.ask("PATCH", path, "Content-Type: application/merge-patch+json\r\n", &size);
                        let fault = json!({
                            "metadata": {"name": format!("f-{turn}")},
                            "spec": {"kind": "Reboot", "nodes": {"names": [format!("n-{}", turn % 4)]}},
                        });
                        server.post("/apis/kubesquall.sim/v1alpha1/faults", &fault);
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_secs(seconds + 1));
        server.turn("pause", &json!({}));
        watching.into_iter().map(|watch| watch.join().expect("it ends")).collect::<Vec<_>>()
    });
    let clock = server.get("/kubesquall/v1/clock").1;
    assert_eq!(clock["violation"], Value::Null, "{clock}");
    assert!(version.parse::<u64>().is_ok());
    for (kind, known) in known {
        let known = known.unwrap_or_else(|problem| panic!("{kind}: {problem}"));
        let list = server.get(&format!("/api/v1/namespaces/shop/{kind}")).1;
        let there = list["items"].as_array().into_iter().flatten().map(|object| {
            let metadata = &object["metadata"];
            let version = metadata["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a version");
            (metadata["name"].as_str().expect("a name").to_owned(), version)
        });
        assert_eq!(known, there.collect(), "{kind}");
    }
    let (record, dir) = server.end();
    assert_eq!(Some(played(&record, dir.path()).0.as_str()), clock["digest"].as_str());
}
