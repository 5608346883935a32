//! What was read of manifests and dumps, and what was not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::NotModelled;
use crate::model::manifest::Loaded;

/// Manifests and dumps in numbers, as they were read: before anything was added to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Files, standard input among them.
    pub files: usize,
    /// Objects that are played, by kind.
    pub objects: BTreeMap<String, usize>,
    /// What is not played, by kind and reason.
    pub skipped: Vec<Skipped>,
}

/// Documents and list items of one kind that are not played for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// What they say they are; empty if they do not.
    pub kind: String,
    /// Why they are not played.
    pub reason: String,
    /// How many.
    pub count: usize,
    /// Where the first of them is.
    pub first: String,
}

impl Input {
    /// Counts what was loaded.
    pub(super) fn add(&mut self, loaded: &Loaded) {
        self.files += loaded.file_count;
        for object in &loaded.objects {
            *self.objects.entry(object.object.kind().as_str().to_owned()).or_default() += 1;
        }
        for row in loaded.not_modelled.iter().filter(|row| row.is_whole_kind()) {
            self.skip(&row.value_excerpt, NotModelled::KIND_REASON, &format!("{}:{}", row.file, row.line));
        }
        for skipped in &loaded.skipped {
            let place = format!("{}:{}", skipped.file, skipped.line);
            self.skip(skipped.kind.as_str(), skipped.reason.as_str(), &place);
        }
        self.skipped.sort_by(|a, b| (&a.kind, &a.reason).cmp(&(&b.kind, &b.reason)));
    }

    fn skip(&mut self, kind: &str, reason: &str, place: &str) {
        let known = self.skipped.iter_mut().find(|skipped| skipped.kind == kind && skipped.reason == reason);
        if let Some(known) = known {
            known.count += 1;
            return;
        }
        let (kind, reason, first) = (kind.to_owned(), reason.to_owned(), place.to_owned());
        self.skipped.push(Skipped { kind, reason, count: 1, first });
    }

    /// How many objects are played.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.objects.values().sum()
    }

    /// What could not be read, which says nothing against kinds that merely have no effect.
    pub fn unread(&self) -> impl Iterator<Item = &Skipped> {
        self.skipped.iter().filter(|skipped| skipped.reason != NotModelled::KIND_REASON)
    }
}
