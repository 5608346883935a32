//! Watches as they are asked for.

use axum::body::Bytes;
use tokio::sync::mpsc::{Receiver, channel};

use super::audience::{Choice, Watcher, bookmark, error_line};
use super::lists::Form;
use super::session::Session;
use crate::rest::{ListOptions, Path, Status, Target};

/// Lines that wait for somebody who watches; who has more is cut off.
const WAITING_MAX: usize = 4096;

/// Watches at once: fewer than connections, so that others are answered whoever watches.
const WATCHES_MAX: usize = 900;
const _: () = assert!(WATCHES_MAX < super::http::CONNECTIONS_MAX);

/// What somebody hears who watches: what is known already, and what will follow.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) first: Vec<Bytes>,
    pub(super) rest: Receiver<Bytes>,
    /// How long; as long as the server likes if nothing is said.
    pub(super) timeout_s: Option<u64>,
}

impl Session {
    /// Begins a watch.
    ///
    /// # Source
    /// apiserver, `cacher.Watch`: without a version, or with `0`, what is there comes first, as if it had just appeared.
    pub(super) fn watch(&mut self, path: &Path, target: &Target, form: Form) -> Result<Heard, Box<Status>> {
        let options = ListOptions::read(path)?;
        // Who has gone is noticed when something is told; nothing may be for long.
        for audience in &mut self.audiences {
            audience.watchers.retain(|watcher| !watcher.to.is_closed());
        }
        if self.audiences.iter().map(|audience| audience.watchers.len()).sum::<usize>() >= WATCHES_MAX {
            let text = format!("there are {WATCHES_MAX} watches already");
            return Err(Box::new(Status::new(429, "TooManyRequests", text)));
        }
        let mut choice = Choice::of(path, target)?;
        if !target.name.is_empty() {
            choice.selection = choice.selection.named(&target.name);
        }
        let (version, timeout_s) = (options.version.as_str(), options.timeout_s);
        let is_from_now = version.is_empty() || version == "0";
        let place = self.attend(&target.resource);
        let last = self.versions.last();
        let (to, rest) = channel(WAITING_MAX);
        let wants_bookmarks = path.is_set("allowWatchBookmarks");
        let mut watcher = Watcher { choice, form, wants_bookmarks, to, has_columns: false };
        let audience = &mut self.audiences[place];
        let sends_present = options.sends_present.unwrap_or(is_from_now);
        let mut first = if sends_present {
            audience.present(&mut watcher)
        } else if is_from_now {
            Vec::new()
        } else {
            let Ok(since) = version.parse::<u64>() else {
                let text = format!("Invalid value: {version:?}: it is no version");
                return Err(Box::new(Status::bad_request(text)));
            };
            if since > last {
                let text = format!("Too large resource version: {since}, current: {last}");
                return Err(Box::new(Status::new(504, "Timeout", text)));
            }
            match audience.since(since, &mut watcher) {
                Some(lines) => lines,
                None => {
                    let text = format!("too old resource version: {since} ({})", audience.since);
                    let line = error_line(&Status::expired(text).to_value());
                    return Ok(Heard { first: vec![line], rest, timeout_s });
                }
            }
        };
        if options.sends_present == Some(true) && wants_bookmarks {
            first.push(bookmark(&target.resource, last, true, &watcher));
        }
        audience.watchers.push(watcher);
        Ok(Heard { first, rest, timeout_s })
    }

    /// Tells those who want it how far they have got.
    pub(super) fn bookmarks(&mut self) {
        let last = self.versions.last();
        self.audiences.iter_mut().for_each(|audience| audience.bookmark(last));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::facade::Scenario;

    const SCENARIO: &str = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: quiet}, spec: {duration: 10m, cluster: \
        {nodePools: [{name: n, count: 1, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}}}";

    #[test]
    fn watches_are_refused_before_there_are_as_many_as_connections() {
        let scenario = Scenario::parse(SCENARIO, [("", ""); 0]).expect("a scenario");
        let mut session = Session::new(Arc::clone(scenario.resolved()));
        let path = Path::parse("/api/v1/pods?watch=1&timeoutSeconds=0").expect("a path");
        let target = path.target(session.run.store()).expect("a resource");
        let mut heard: Vec<Heard> =
            (0..WATCHES_MAX).map(|_| session.watch(&path, &target, Form::Whole).expect("a watch")).collect();
        assert_eq!(heard[0].timeout_s, None, "zero is as if nothing was said");
        assert_eq!(session.watch(&path, &target, Form::Whole).expect_err("one too many").code, 429);
        // Who goes makes room.
        heard.pop();
        assert!(session.watch(&path, &target, Form::Whole).is_ok());
    }
}
