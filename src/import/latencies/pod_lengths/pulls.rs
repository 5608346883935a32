//! What pods waited for images.

use std::collections::BTreeMap;

use super::super::evidence::{Event, items, text};
use super::super::instant::{Instant, at_most, between, longer, measured};
use super::subject::{Started, Subject};
use crate::engine::Bounds;
use crate::units::SimDuration;

/// Since when images are known to be on nodes, in nanoseconds, by node and image.
#[derive(Debug, Default)]
pub(super) struct Images<'e>(BTreeMap<(&'e str, &'e str), i64>);

/// The pulls of one pod.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    /// How long they took.
    pub(super) lengths: Vec<Bounds>,
    /// Seconds that they took of its start at least and at most; none if there were none.
    pub(super) before_start: Option<(f64, f64)>,
    /// Whether it is known what was pulled.
    pub(super) is_known: bool,
    /// Since when one is under way.
    pub(super) open: Option<Instant>,
    /// Images that were on the node and were asked for all the same.
    pub(super) checks: usize,
}

impl<'e> Images<'e> {
    pub(super) fn of(subjects: &'e [Subject<'e>]) -> Self {
        let mut images = Self::default();
        for subject in subjects {
            for pulled in subject.events.iter().filter(|event| event.reason == "Pulled") {
                images.saw(&pulled.host, image_of(&pulled.message), pulled.first);
            }
            let Some(pod) = subject.object() else { continue };
            for container in items(pod, "/spec/containers") {
                let name = text(container, "/name");
                let status = items(pod, "/status/containerStatuses").find(|status| text(status, "/name") == name);
                for path in ["/state/running", "/state/terminated", "/lastState/terminated"] {
                    let at = status.and_then(|status| Instant::at(status.pointer(path)?, "/startedAt"));
                    if let Some(at) = at {
                        images.saw(text(pod, "/spec/nodeName"), text(container, "/image"), at);
                    }
                }
            }
        }
        images
    }

    fn saw(&mut self, node: &'e str, image: &'e str, at: Instant) {
        if node.is_empty() || image.is_empty() {
            return;
        }
        let since = self.0.entry((node, image)).or_insert(at.nanos);
        *since = (*since).min(at.nanos);
    }

    fn were_there(&self, node: &str, image: &str, at: Instant) -> bool {
        self.0.get(&(node, image)).is_some_and(|since| *since < at.nanos)
    }
}

impl Pulls {
    pub(super) fn of(subject: &Subject<'_>, images: &Images<'_>) -> Self {
        // Kubelets say of each container what became of its image; who says when it was bound and when it ran, but nothing of images,
        // pulled none.
        let is_told = |reason: &str| subject.first(reason).is_some();
        let is_silent = is_told("Scheduled") && is_told("Started") && !is_told("Pulling") && !is_told("Pulled");
        let mut pulls = Self { is_known: is_silent || are_there(subject, images), ..Self::default() };
        let started = if let Started::At(at) = subject.started() { Some(at) } else { None };
        for pulled in subject.events.iter().filter(|event| event.reason == "Pulled") {
            pulls.is_known = true;
            pulls.ended(subject, pulled, started, images);
        }
        for pulling in subject.events.iter().filter(|event| event.reason == "Pulling") {
            let image = image_of(&pulling.message);
            let is_its_end = |event: &&&Event| {
                matches!(event.reason.as_str(), "Pulled" | "Failed") && image_of(&event.message) == image
            };
            if subject.events.iter().any(|event| is_its_end(&event)) {
                continue;
            }
            pulls.is_known = true;
            match (started, subject.until) {
                // It ended by then, without a word.
                (Some(started), _) if started.nanos >= pulling.first.nanos => {
                    pulls.took(0.0, started.since_s(pulling.first) + started.step_s);
                    pulls.lengths.push(at_most(pulling.first, started));
                }
                (None, Some(until)) if until.nanos > pulling.first.nanos => {
                    pulls.open = Some(pulling.first);
                    pulls.lengths.push(longer(pulling.first, until));
                }
                _ => {}
            }
        }
        pulls
    }

    /// A pull that ended well, or none because the image was there.
    fn ended(&mut self, subject: &Subject<'_>, pulled: &Event, started: Option<Instant>, images: &Images<'_>) {
        if !pulled.message.contains("uccessfully pulled") {
            return;
        }
        let image = image_of(&pulled.message);
        let is_its_begin = |event: &&&Event| {
            event.reason == "Pulling" && image_of(&event.message) == image && event.first.nanos <= pulled.first.nanos
        };
        let pulling = subject.events.iter().find(is_its_begin).map(|event| event.first);
        if images.were_there(&pulled.host, image, pulling.unwrap_or(pulled.first)) {
            self.checks += 1;
            return;
        }
        let took = said(&pulled.message);
        if let Some((own_s, _)) = took {
            self.lengths.push(measured(own_s));
        } else if let Some(pulling) = pulling {
            self.lengths.push(between(pulling, pulled.first));
        }
        if started.is_none_or(|started| started.nanos < pulled.first.nanos) {
            return;
        }
        match (took, pulling) {
            (Some((_, waited_s)), _) => self.took(waited_s, waited_s),
            (None, Some(pulling)) => {
                let length_s = pulled.first.since_s(pulling);
                self.took((length_s - pulling.step_s).max(0.0), length_s + pulled.first.step_s);
            }
            (None, None) => self.is_known = false,
        }
    }

    fn took(&mut self, least_s: f64, most_s: f64) {
        let (least, most) = self.before_start.unwrap_or_default();
        self.before_start = Some((least + least_s, most + most_s));
    }
}

/// Whether all images of a pod were on its node before it was bound, or are never pulled.
fn are_there(subject: &Subject<'_>, images: &Images<'_>) -> bool {
    let Some(pod) = subject.object() else { return false };
    let started = if let Started::At(at) = subject.started() { at } else { return false };
    let mut containers = items(pod, "/spec/containers");
    containers.all(|container| {
        let policy = text(container, "/imagePullPolicy");
        let is_there = images.were_there(text(pod, "/spec/nodeName"), text(container, "/image"), started);
        policy == "Never" || (policy != "Always" && is_there)
    })
}

/// The image that a message has in quotes.
fn image_of(message: &str) -> &str {
    message.split('"').nth(1).unwrap_or_default()
}

/// Seconds that a message says a pull took: alone, and with what it waited for other pulls.
fn said(message: &str) -> Option<(f64, f64)> {
    let (_, behind) = message.rsplit_once("\" in ")?;
    let mut words = behind.split([' ', '(']).filter(|word| !word.is_empty());
    let seconds = |word: &str| {
        let word = word.trim_end_matches(['.', ',', ';']);
        word.parse::<SimDuration>().ok().map(SimDuration::as_secs_f64)
    };
    let own = seconds(words.next()?)?;
    Some((own, words.next().and_then(seconds).unwrap_or(own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_how_long_pulls_took() {
        let check = |message: &str, expected| assert_eq!(said(message), expected, "{message}");
        check(
            "Successfully pulled image \"a:1\" in 3.25s (5.5s including waiting). Image size: 18 bytes.",
            Some((3.25, 5.5)),
        );
        check("Successfully pulled image \"a:1\" in 812.5ms", Some((0.8125, 0.8125)));
        check("Successfully pulled image \"a:1\" in 1m2.5s.", Some((62.5, 62.5)));
        check("Successfully pulled image \"a:1\"", None);
        check("Container image \"a in b\" already present on machine", None);
        assert_eq!(image_of("pulling image \"a:1\""), "a:1");
    }
}
