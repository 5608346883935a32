//! One line of an audit log, and what services wrap around it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::objects::fields::{Text, stamp, stamp_of, text};
use crate::evidence::Bounds;

/// Wraps in wraps that are opened.
const DEPTH_MAX: usize = 6;

/// An event, or what it is wrapped in. Bodies are cut and not read.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    stage: Option<Text<'a>>,
    verb: Option<Text<'a>>,
    #[serde(rename = "auditID")]
    audit_id: Option<Text<'a>>,
    #[serde(rename = "requestURI")]
    request_uri: Option<Text<'a>>,
    user: Option<User<'a>>,
    impersonated_user: Option<User<'a>>,
    user_agent: Option<Text<'a>>,
    object_ref: Option<ObjectRef<'a>>,
    response_status: Option<ResponseStatus>,
    request_object: Option<&'a RawValue>,
    response_object: Option<&'a RawValue>,
    request_received_timestamp: Option<Text<'a>>,
    stage_timestamp: Option<Text<'a>>,
    /// A text of v1beta1; services write numbers, too.
    timestamp: Option<&'a RawValue>,
    /// CloudWatch.
    #[serde(rename = "@message")]
    at_message: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    events: Option<&'a RawValue>,
    results: Option<&'a RawValue>,
    value: Option<&'a RawValue>,
    /// Stackdriver.
    proto_payload: Option<&'a RawValue>,
    json_payload: Option<&'a RawValue>,
    text_payload: Option<&'a RawValue>,
    entries: Option<&'a RawValue>,
    /// Log Analytics, and logs of containers.
    #[serde(rename = "log_s")]
    log_s: Option<&'a RawValue>,
    log: Option<&'a RawValue>,
    properties: Option<&'a RawValue>,
    records: Option<&'a RawValue>,
    tables: Option<&'a RawValue>,
    rows: Option<&'a RawValue>,
    /// Elasticsearch.
    #[serde(rename = "_source")]
    source: Option<&'a RawValue>,
    hits: Option<&'a RawValue>,
    /// Lists of the API.
    items: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct User<'a> {
    #[serde(borrow)]
    username: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ObjectRef<'a> {
    #[serde(borrow)]
    resource: Option<Text<'a>>,
    namespace: Option<Text<'a>>,
    name: Option<Text<'a>>,
    subresource: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: Option<u16>,
}

/// A request that has been answered.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub id: &'a str,
    pub user: &'a str,
    pub user_agent: &'a str,
    pub verb: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// 0 if the record does not say.
    pub code: u16,
    /// From when it was received to when it was answered.
    pub when: Bounds,
    pub is_dry_run: bool,
    pub request: Option<&'a RawValue>,
    pub response: Option<&'a RawValue>,
}

impl Call<'_> {
    /// Whether it came to something.
    pub(super) fn is_done(&self) -> bool {
        self.code < 400
    }
}

/// What a line held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opened {
    /// Events of any stage.
    pub events: usize,
    /// Events whose time stamps are missing or none.
    pub without_time: usize,
}

/// Finds the events in a text, whatever it is wrapped in, and hands over those that are answers.
///
/// # Errors
///
/// Text that is no JSON, or an event whose fields are of other types.
pub(super) fn open(text: &str, depth: usize, give: &mut dyn FnMut(&Call<'_>)) -> Result<Opened, serde_json::Error> {
    let line: Line<'_> = serde_json::from_str(text)?;
    if line.stage.is_some() && (line.verb.is_some() || line.audit_id.is_some()) {
        return Ok(line.hand_over(give));
    }
    let mut opened = Opened::default();
    if let Some(payload) = line.proto_payload
        && let Ok(entry) = serde_json::from_str::<CloudPayload<'_>>(payload.get())
        && entry.method_name.is_some()
    {
        entry.hand_over(line.timestamp, &mut opened, give);
        return Ok(opened);
    }
    let wraps = [
        line.at_message,
        line.message,
        line.events,
        line.results,
        line.value,
        line.proto_payload,
        line.json_payload,
        line.text_payload,
        line.entries,
        line.log_s,
        line.log,
        line.properties,
        line.records,
        line.tables,
        line.rows,
        line.source,
        line.hits,
        line.items,
    ];
    for wrapped in wraps.into_iter().flatten() {
        unwrap(wrapped.get(), depth + 1, &mut opened, give)?;
    }
    Ok(opened)
}

/// Opens a value that may hold events: an object, a text that is one, or a list of either.
fn unwrap(
    value: &str,
    depth: usize,
    opened: &mut Opened,
    give: &mut dyn FnMut(&Call<'_>),
) -> Result<(), serde_json::Error> {
    if depth > DEPTH_MAX {
        return Ok(());
    }
    let mut add = |text: &str| {
        let found = open(text, depth, give)?;
        opened.events += found.events;
        opened.without_time += found.without_time;
        Ok(())
    };
    match value.as_bytes().first() {
        Some(b'{') => add(value),
        Some(b'"') => {
            let text: Text<'_> = serde_json::from_str(value)?;
            // Text that is no event of the audit log stands beside those that are.
            match text.0.find('{') {
                Some(begin) => add(&text.0[begin..]),
                None => Ok(()),
            }
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(value)?;
            values.into_iter().try_for_each(|value| unwrap(value.get(), depth + 1, opened, give))
        }
        _ => Ok(()),
    }
}

impl Line<'_> {
    /// Only answers count: what was received, or begun, is said again once it is answered.
    fn hand_over(&self, give: &mut dyn FnMut(&Call<'_>)) -> Opened {
        let mut opened = Opened { events: 1, without_time: 0 };
        if !matches!(text(self.stage.as_ref()), "ResponseComplete" | "Panic") {
            return opened;
        }
        let Some(when) = self.when() else {
            opened.without_time = 1;
            return opened;
        };
        let none = ObjectRef::default();
        let object = self.object_ref.as_ref().unwrap_or(&none);
        let user = self.impersonated_user.as_ref().or(self.user.as_ref()).and_then(|user| user.username.as_ref());
        let uri = text(self.request_uri.as_ref());
        give(&Call {
            id: text(self.audit_id.as_ref()),
            user: text(user),
            user_agent: text(self.user_agent.as_ref()),
            verb: text(self.verb.as_ref()),
            resource: text(object.resource.as_ref()),
            subresource: text(object.subresource.as_ref()),
            namespace: text(object.namespace.as_ref()),
            name: text(object.name.as_ref()),
            code: self.response_status.as_ref().and_then(|status| status.code).unwrap_or(0),
            when,
            is_dry_run: uri.split_once('?').is_some_and(|(_, query)| query.contains("dryRun=")),
            request: self.request_object,
            response: self.response_object,
        });
        opened
    }

    /// Between its receipt and its answer, as far as either is there.
    fn when(&self) -> Option<Bounds> {
        let received = stamp_of(self.request_received_timestamp.as_ref());
        let answered = stamp_of(self.stage_timestamp.as_ref());
        match (received, answered) {
            (Some(received), Some(answered)) => Some(Bounds::between(received.earliest, answered.latest)),
            (one, other) => one.or(other).or_else(|| {
                let text: Text<'_> = serde_json::from_str(self.timestamp?.get()).ok()?;
                stamp(&text.0)
            }),
        }
    }
}

/// An entry of Google's audit logs, which say the same in other words.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CloudPayload<'a> {
    /// `io.k8s.core.v1.pods.eviction.create`.
    #[serde(borrow)]
    method_name: Option<Text<'a>>,
    /// `core/v1/namespaces/shop/pods/web-1/eviction`.
    resource_name: Option<Text<'a>>,
    authentication_info: Option<CloudUser<'a>>,
    request_metadata: Option<CloudCaller<'a>>,
    status: Option<ResponseStatus>,
    request: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CloudUser<'a> {
    #[serde(borrow)]
    principal_email: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CloudCaller<'a> {
    #[serde(borrow)]
    caller_supplied_user_agent: Option<Text<'a>>,
}

impl CloudPayload<'_> {
    fn hand_over(&self, timestamp: Option<&RawValue>, opened: &mut Opened, give: &mut dyn FnMut(&Call<'_>)) {
        let method = text(self.method_name.as_ref());
        let Some((path, verb)) = method.strip_prefix("io.k8s.").and_then(|method| method.rsplit_once('.')) else {
            return;
        };
        opened.events += 1;
        let stamped = timestamp.and_then(|stamp| serde_json::from_str::<Text<'_>>(stamp.get()).ok());
        let Some(when) = stamp_of(stamped.as_ref()) else {
            opened.without_time += 1;
            return;
        };
        // Behind the version, which is what begins like one: groups have points of their own.
        let is_version = |part: &str| part.starts_with('v') && part[1..].starts_with(|c: char| c.is_ascii_digit());
        let mut parts = path.split('.').skip_while(|part| !is_version(part)).skip(1);
        let (resource, subresource) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let names: Vec<&str> = text(self.resource_name.as_ref()).split('/').collect();
        let behind = |word: &str| {
            names.iter().position(|name| *name == word).and_then(|at| names.get(at + 1).copied()).unwrap_or("")
        };
        let user = self.authentication_info.as_ref().and_then(|user| user.principal_email.as_ref());
        let caller = self.request_metadata.as_ref();
        let agent = caller.and_then(|caller| caller.caller_supplied_user_agent.as_ref());
        give(&Call {
            id: "",
            user: text(user),
            user_agent: text(agent),
            verb,
            resource,
            subresource,
            namespace: if resource == "namespaces" { "" } else { behind("namespaces") },
            name: behind(resource),
            code: http_code(self.status.as_ref().and_then(|status| status.code)),
            when,
            is_dry_run: false,
            request: self.request,
            response: self.response,
        });
    }
}

/// The status of HTTP for one of gRPC, which Google's logs have.
fn http_code(code: Option<u16>) -> u16 {
    match code {
        None => 0,
        Some(0) => 200,
        Some(3) => 400,
        Some(5) => 404,
        Some(6 | 10) => 409,
        Some(7) => 403,
        Some(8) => 429,
        Some(16) => 401,
        Some(code) if code >= 100 => code,
        Some(_) => 500,
    }
}
