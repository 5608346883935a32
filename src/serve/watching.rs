//! Watches as they are asked for.

use axum::body::Bytes;
use tokio::sync::mpsc::{Receiver, channel};

use super::audience::{Choice, Watcher, bookmark, error_line};
use super::lists::Form;
use super::session::Session;
use crate::rest::{ListOptions, Path, Status, Target};

/// Lines that wait for somebody who watches; who has more is cut off.
const WAITING_MAX: usize = 4096;

/// Watches at once.
const WATCHES_MAX: usize = 2000;

/// What somebody hears who watches: what is known already, and what will follow.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) first: Vec<Bytes>,
    pub(super) rest: Receiver<Bytes>,
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
            let name = crate::kubectl::FieldSelector::parse(&format!("metadata.name={}", target.name));
            choice.fields.0.extend(name.unwrap_or_default().0);
        }
        let version = options.version.as_str();
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
                    return Ok(Heard { first: vec![line], rest });
                }
            }
        };
        if options.sends_present == Some(true) && wants_bookmarks {
            first.push(bookmark(&target.resource, last, true, &watcher));
        }
        audience.watchers.push(watcher);
        Ok(Heard { first, rest })
    }

    /// Tells those who want it how far they have got.
    pub(super) fn bookmarks(&mut self) {
        let last = self.versions.last();
        self.audiences.iter_mut().for_each(|audience| audience.bookmark(last));
    }
}
