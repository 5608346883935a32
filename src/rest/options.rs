//! Options of requests, as queries and bodies have them, and what the API server refuses of them.
//!
//! # Source
//! apimachinery: conversions of query parameters (`runtime/conversion.go`), `meta/v1/validation`, `meta/internalversion/validation`.

use serde_json::Value;

use super::answer::Status;
use super::path::Path;
use super::{ClientRequest, Method};
use crate::state::Propagation;

type Refused = Box<Status>;

/// How long the name of a field's manager may be.
const MANAGER_MAX: usize = 128;

/// What a list or a watch is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "serve"), allow(dead_code, reason = "who serves reads all of them"))]
pub(crate) struct ListOptions {
    /// Objects of a page; none for all.
    pub(crate) limit: Option<usize>,
    /// How long a watch lasts; none, and so zero, for as long as the server likes.
    pub(crate) timeout_s: Option<u64>,
    /// Where the page before ended; empty at the beginning.
    pub(crate) next: String,
    /// `resourceVersion`, as it is written.
    pub(crate) version: String,
    /// `resourceVersionMatch=Exact`.
    pub(crate) is_exact: bool,
    /// `watch`.
    pub(crate) watches: bool,
    /// `sendInitialEvents`.
    pub(crate) sends_present: Option<bool>,
}

impl ListOptions {
    /// Reads and checks them.
    ///
    /// # Errors
    /// 400 of what cannot be read, 422 of what does not go together.
    pub(crate) fn read(path: &Path) -> Result<Self, Refused> {
        let text = |name: &str| path.parameter(name).unwrap_or_default().to_owned();
        let limit = number(path, "limit")?;
        let timeout = number(path, "timeoutSeconds")?;
        let options = Self {
            limit: limit.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0),
            timeout_s: timeout.and_then(|timeout| u64::try_from(timeout).ok()).filter(|timeout| *timeout > 0),
            next: text("continue"),
            version: text("resourceVersion"),
            is_exact: text("resourceVersionMatch") == "Exact",
            watches: path.is_set("watch"),
            sends_present: path.parameter("sendInitialEvents").map(|_| path.is_set("sendInitialEvents")),
        };
        let problems = options.problems(&text("resourceVersionMatch"));
        if problems.is_empty() { Ok(options) } else { Err(invalid("ListOptions", &problems)) }
    }

    fn problems(&self, how: &str) -> Vec<String> {
        const FIELD: &str = "resourceVersionMatch: Forbidden: ";
        const NOT_OLDER: &str = "NotOlderThan";
        let mut problems = Vec::new();
        let forbidden = |text: &str| format!("{FIELD}{text}");
        let unknown =
            |known: &str| format!("resourceVersionMatch: Unsupported value: {how:?}: supported values: {known}");
        if self.watches {
            if self.sends_present.is_some() && how != NOT_OLDER {
                problems.push(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
            }
            if !how.is_empty() {
                if self.sends_present.is_none() {
                    problems.push(forbidden(
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                    ));
                }
                if how != NOT_OLDER {
                    problems.push(unknown("\"NotOlderThan\""));
                }
                if !self.next.is_empty() {
                    problems.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
                }
            }
            return problems;
        }
        if !how.is_empty() {
            if self.version.is_empty() {
                problems.push(forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"));
            }
            if !self.next.is_empty() {
                problems.push(forbidden("resourceVersionMatch is forbidden when continue is provided"));
            }
            if how != NOT_OLDER && !self.is_exact {
                problems.push(unknown("\"Exact\", \"NotOlderThan\", \"\""));
            }
            if self.is_exact && self.version == "0" {
                problems.push(forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
            }
        }
        if self.sends_present.is_some() {
            problems.push("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list".to_owned());
        }
        problems
    }
}

/// What a deletion is to respect.
#[derive(Clone, Debug, Default)]
pub(super) struct DeleteOptions {
    pub(super) grace_s: Option<i64>,
    pub(super) propagation: Propagation,
    pub(super) uid: Option<String>,
}

impl DeleteOptions {
    /// Reads and checks them: those of the body, or without a body those of the query.
    ///
    /// # Errors
    /// 400 of what cannot be read, 422 of what does not go together.
    pub(super) fn read(path: &Path, body: &Value) -> Result<Self, Refused> {
        let (grace_s, orphans, policy) = if body.is_null() {
            let orphans = path.parameter("orphanDependents").map(|_| path.is_set("orphanDependents"));
            (number(path, "gracePeriodSeconds")?, orphans, path.parameter("propagationPolicy").map(str::to_owned))
        } else {
            let unreadable = |field: &str, expected: &str| {
                Box::new(Status::bad_request(format!("DeleteOptions.{field} is no {expected}: {}", body[field])))
            };
            if !body.is_object() {
                return Err(Box::new(Status::bad_request("the body of the request is no DeleteOptions")));
            }
            let said = |field: &str| Some(&body[field]).filter(|value| !value.is_null());
            let grace = said("gracePeriodSeconds")
                .map(|value| value.as_i64().ok_or_else(|| unreadable("gracePeriodSeconds", "whole number")));
            let orphans = said("orphanDependents")
                .map(|value| value.as_bool().ok_or_else(|| unreadable("orphanDependents", "boolean")));
            let policy = said("propagationPolicy")
                .map(|value| value.as_str().map(str::to_owned).ok_or_else(|| unreadable("propagationPolicy", "text")));
            (grace.transpose()?, orphans.transpose()?, policy.transpose()?)
        };
        let mut problems = Vec::new();
        if let (Some(_), Some(policy)) = (orphans, &policy) {
            problems.push(format!(
                "propagationPolicy: Invalid value: {policy:?}: orphanDependents and deletionPropagation cannot be both set"
            ));
        }
        let propagation = match policy.as_deref() {
            Some("Foreground") => Propagation::Foreground,
            Some("Orphan") => Propagation::Orphan,
            None if orphans == Some(true) => Propagation::Orphan,
            Some("Background") | None => Propagation::Background,
            Some(other) => {
                problems.push(format!(
                    "propagationPolicy: Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \
                     \"nil\""
                ));
                Propagation::Background
            }
        };
        let dry = if body.is_null() { path.all("dryRun") } else { dry_run_of(body) };
        problems.extend(dry_run_problem(&dry));
        if !problems.is_empty() {
            return Err(invalid("DeleteOptions", &problems));
        }
        let uid = body["preconditions"]["uid"].as_str().map(str::to_owned);
        Ok(Self { grace_s, propagation, uid })
    }
}

/// Whether a request is to be tried and not done. Of a deletion a body has all options; an eviction has those of its query, too.
///
/// # Source
/// kube-apiserver, `handlers/delete.go`; `dryrun.IsDryRun`; `propagateDryRun` of evictions.
pub(super) fn is_dry_run(request: &ClientRequest) -> bool {
    let Ok(path) = Path::parse(&request.path) else { return false };
    let of_query = || is_all(&path.all("dryRun"));
    let body = || request.value().unwrap_or_default();
    match request.method {
        Method::Delete => match body() {
            Value::Null => of_query(),
            body => is_all(&dry_run_of(&body)),
        },
        Method::Post if path.rest.last().is_some_and(|last| last == "eviction") => {
            of_query() || is_all(&dry_run_of(&body()["deleteOptions"]))
        }
        _ => of_query(),
    }
}

/// What options of a body say of `dryRun`.
fn dry_run_of(options: &Value) -> Vec<&str> {
    options["dryRun"].as_array().into_iter().flatten().map(|value| value.as_str().unwrap_or_default()).collect()
}

/// Any other value is refused.
fn is_all(said: &[&str]) -> bool {
    !said.is_empty() && dry_run_problem(said).is_none()
}

/// Checks the options of a request that makes or changes something.
///
/// # Errors
/// 422.
pub(super) fn check_write(request: &ClientRequest, path: &Path) -> Result<(), Refused> {
    let kind = match request.method {
        Method::Post => "CreateOptions",
        Method::Put => "UpdateOptions",
        Method::Patch => "PatchOptions",
        Method::Delete => return Ok(()),
    };
    let mut problems = Vec::new();
    if kind == "PatchOptions" && !request.content_type.contains("apply-patch") && path.parameter("force").is_some() {
        problems.push("force: Forbidden: may not be specified for non-apply patch".to_owned());
    }
    let manager = path.parameter("fieldManager").unwrap_or_default();
    if manager.len() > MANAGER_MAX {
        problems.push(format!("fieldManager: Too long: may not be more than {MANAGER_MAX} bytes"));
    }
    problems.extend(dry_run_problem(&path.all("dryRun")));
    let validation = path.parameter("fieldValidation").unwrap_or_default();
    if !["", "Ignore", "Strict", "Warn"].contains(&validation) {
        let known = "\"\", \"Ignore\", \"Strict\", \"Warn\"";
        problems.push(format!("fieldValidation: Unsupported value: {validation:?}: supported values: {known}"));
    }
    if problems.is_empty() { Ok(()) } else { Err(invalid(kind, &problems)) }
}

fn dry_run_problem(said: &[&str]) -> Option<String> {
    let listed: Vec<String> = said.iter().map(|value| format!("{value:?}")).collect();
    let problem = format!("dryRun: Unsupported value: []string{{{}}}: supported values: \"All\"", listed.join(", "));
    said.iter().any(|value| *value != "All").then_some(problem)
}

fn invalid(kind: &str, problems: &[String]) -> Refused {
    Box::new(Status::invalid_in(&format!("{kind}.meta.k8s.io"), "", problems))
}

/// A whole number of a query.
///
/// # Source
/// Go, `strconv.ParseInt`: a sign and digits, of 64 bits.
fn number(path: &Path, name: &str) -> Result<Option<i64>, Refused> {
    let Some(text) = path.parameter(name) else { return Ok(None) };
    text.parse().map(Some).map_err(|error: std::num::ParseIntError| {
        let why = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        Box::new(Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(query: &str) -> Path {
        Path::parse(&format!("/api/v1/pods?{query}")).expect("a path")
    }

    #[test]
    fn options_of_lists_are_checked_as_the_api_server_does() {
        let check = |query: &str, expected: Result<(), (u16, &str)>| {
            let found = ListOptions::read(&path(query));
            match (found, expected) {
                (Ok(_), Ok(())) => {}
                (Err(status), Err((code, text))) => {
                    assert!(status.code == code && status.message.contains(text), "{query}: {status:?}");
                }
                (found, _) => panic!("{query}: {found:?}"),
            }
        };
        check("", Ok(()));
        check("limit=500&resourceVersion=0", Ok(()));
        check("limit=-1", Ok(()));
        check("limit=abc", Err((400, "strconv.ParseInt: parsing \"abc\": invalid syntax")));
        check("limit=", Err((400, "parsing \"\": invalid syntax")));
        check("limit=9223372036854775808", Err((400, "value out of range")));
        check("timeoutSeconds=5s", Err((400, "parsing \"5s\"")));
        check("resourceVersionMatch=Exact", Err((422, "is forbidden unless resourceVersion is provided")));
        check("resourceVersionMatch=Exact&resourceVersion=0", Err((422, "is forbidden for resourceVersion \"0\"")));
        check("resourceVersionMatch=Exact&resourceVersion=3", Ok(()));
        check("resourceVersionMatch=Foo&resourceVersion=3", Err((422, "Unsupported value: \"Foo\"")));
        check("sendInitialEvents=true", Err((422, "sendInitialEvents is forbidden for list")));
        check("watch=1&sendInitialEvents=true", Err((422, "requires setting resourceVersionMatch to NotOlderThan")));
        check("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", Ok(()));
        check("watch=1&resourceVersionMatch=NotOlderThan", Err((422, "unless sendInitialEvents is provided")));
    }

    #[test]
    fn a_switch_is_off_only_if_it_says_so() {
        for (query, expected) in [
            ("", false),
            ("watch", true),
            ("watch=", true),
            ("watch=maybe", true),
            ("watch=0", false),
            ("watch=FALSE", false),
        ] {
            assert_eq!(ListOptions::read(&path(query)).expect("a list").watches, expected, "{query}");
        }
    }

    #[test]
    fn options_of_deletions_are_those_of_the_body_if_there_is_one() {
        let read = |query: &str, body: Value| DeleteOptions::read(&path(query), &body);
        assert_eq!(read("gracePeriodSeconds=5", Value::Null).expect("options").grace_s, Some(5));
        assert_eq!(read("gracePeriodSeconds=5", serde_json::json!({})).expect("options").grace_s, None);
        assert_eq!(read("gracePeriodSeconds=abc", Value::Null).expect_err("no number").code, 400);
        assert_eq!(read("", serde_json::json!({"gracePeriodSeconds": "5"})).expect_err("no number").code, 400);
        assert_eq!(read("orphanDependents=true", Value::Null).expect("options").propagation, Propagation::Orphan);
        for query in
            ["orphanDependents=true&propagationPolicy=Orphan", "propagationPolicy=Any", "dryRun=Some", "dryRun="]
        {
            assert_eq!(read(query, Value::Null).expect_err(query).code, 422, "{query}");
        }
    }
}
