//! What is asked for besides objects: the version, health, and simulated time.

use axum::body::Bytes;
use serde_json::{Value, json};

use super::discovery;
use super::reads::Shown;
use super::session::Session;
use super::time::{Pace, Speed};
use crate::rest::{Response, Status};
use crate::units::{SimDuration, SimTime};

/// Whether a path is answered whatever has become of the API server: time, and whether that is up.
pub(super) fn is_own(path: &str) -> bool {
    path.starts_with("/kubesquall/v1/") || matches!(path, "/healthz" | "/livez" | "/readyz")
}

/// A document that has a path of its own.
pub(super) fn fixed(path: &str, session: &Session) -> Option<Shown> {
    Some(match path {
        "/" => Shown::of(&json!({"paths": discovery::paths(session.run.store())})),
        "/version" | "/version/" => Shown::of(&version(session)),
        "/healthz" | "/livez" | "/readyz" => match session.run.api_is_up() {
            true => Shown::Document(200, Bytes::from_static(b"ok")),
            false => Shown::Document(503, Bytes::from_static(b"the API server is down")),
        },
        "/kubesquall/v1/clock" => Shown::of(&clock(session)),
        "/kubesquall/v1/branches" => Shown::of(&json!({"branches": session.branches()})),
        "/kubesquall/v1/record" => Shown::Document(200, Bytes::from(session.record())),
        _ => return None,
    })
}

fn version(session: &Session) -> Value {
    let own = session.scenario.config.version.to_string();
    let (major, minor) = own.split_once('.').unwrap_or(("1", "36"));
    json!({
        "major": major, "minor": minor, "gitVersion": format!("v{own}.0+kubesquall"), "gitCommit": "",
        "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": "linux/amd64",
    })
}

/// Where simulated time is.
pub(super) fn clock(session: &Session) -> Value {
    let standing = session.standing();
    let since = |at: SimTime| at.saturating_since(SimTime::ZERO).to_string();
    json!({
        "now": since(standing.now), "nowSeconds": standing.now.as_secs_f64(),
        "wallClock": session.clock().stamp(standing.now), "end": since(standing.end),
        "speed": standing.speed.to_string(), "next": standing.next.map(since), "events": standing.events,
        "digest": format!("{:016x}", standing.digest), "requests": standing.requests, "watches": standing.watches,
        "violation": standing.violation,
    })
}

/// What a body may say, so that nothing is passed over that somebody has meant.
fn check_fields(what: &str, body: &Value) -> Result<(), Status> {
    let known: &[&str] = match what {
        "pause" | "step" => &[],
        "speed" => &["speed"],
        "jump" => &["to", "by", "back"],
        "branch" => &["name"],
        _ => return Ok(()),
    };
    let mut said = body.as_object().into_iter().flat_map(serde_json::Map::keys);
    if let Some(unknown) = said.clone().find(|field| !known.contains(&field.as_str())) {
        return Err(Status::bad_request(format!("`{what}` knows no `{unknown}`")));
    }
    match (said.next(), said.next()) {
        (Some(one), Some(other)) => Err(Status::bad_request(format!("give either `{one}` or `{other}`"))),
        _ => Ok(()),
    }
}

impl Session {
    /// Answers a POST that has to do with time.
    pub(super) fn turn(&mut self, path: &str, body: &Value) -> Response {
        let what = path.trim_start_matches("/kubesquall/v1/");
        if let Err(status) = check_fields(what, body) {
            return Response::from(status);
        }
        let done = match what {
            "pause" => {
                self.pace = Pace::new(Speed::Paused, self.run.now());
                Ok(())
            }
            "speed" => self.set_speed(body),
            "step" => {
                if let Some(next) = self.run.next_at() {
                    self.jump(next);
                }
                Ok(())
            }
            "jump" => self.instant(body).map(|instant| self.jump(instant)),
            "branch" => {
                let name = body["name"].as_str().unwrap_or_default().to_owned();
                self.take_up(&name)
            }
            _ => Err(Status::no_such_path()),
        };
        match done {
            Ok(()) => Response::ok(clock(self)),
            Err(status) => Response::from(status),
        }
    }

    fn set_speed(&mut self, body: &Value) -> Result<(), Status> {
        let text = match &body["speed"] {
            Value::String(text) => text.clone(),
            Value::Number(times) => times.to_string(),
            _ => return Err(Status::bad_request("write {\"speed\": \"60x\"}; or paused, or max")),
        };
        let speed = text.parse::<Speed>().map_err(Status::bad_request)?;
        self.pace = Pace::new(speed, self.run.now());
        Ok(())
    }

    /// `{"to": "12m"}`, `{"by": "30s"}` or `{"back": "30s"}`.
    fn instant(&self, body: &Value) -> Result<SimTime, Status> {
        let length = |field: &str| {
            let text = body[field].as_str()?;
            Some(SimDuration::parse_with_days(text).map_err(|error| Status::bad_request(error.to_string())))
        };
        let now = self.run.now();
        if let Some(to) = length("to") {
            return Ok(SimTime::ZERO + to?);
        }
        if let Some(by) = length("by") {
            return Ok(now + by?);
        }
        match length("back") {
            Some(back) => Ok(SimTime::ZERO + now.saturating_since(SimTime::ZERO + back?)),
            None => Err(Status::bad_request("write {\"to\": \"12m\"}, {\"by\": \"30s\"} or {\"back\": \"30s\"}")),
        }
    }
}
