//! What was read, and what was not.

use std::collections::{BTreeMap, BTreeSet};

use super::form::Form;
use crate::arena::Symbol;
use crate::model::cluster_text::not_read_statement;
use crate::model::manifest::{Loaded, SkipReason};
use crate::units::counted;

/// Statements of a kind that are listed; the others are counted.
const LISTED_MAX: usize = 50;

/// Counts what is read of bundles.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The directory of the input that is read, which no statement names: the same bundle gives the same bytes anywhere.
    pub(super) parent: String,
    /// What inputs there were.
    sources: Vec<String>,
    /// What an earlier import said, as it said it.
    carried: Vec<String>,
    pub(super) is_carried: bool,
    notes: Vec<String>,
    anew: Vec<String>,
    /// By kind, objects of kinds that decide nothing.
    left_out: BTreeMap<String, usize>,
    /// By what it is and why: how many, and the first.
    not_read: BTreeMap<(String, String), (usize, String)>,
    /// Documents that are no objects.
    not_objects: usize,
    /// Files that cannot hold objects, such as logs.
    pub(super) other_files: usize,
    /// Objects that were there again as they were, and in another state.
    pub(super) repeated: usize,
    pub(super) superseded: usize,
    pub(super) problems: usize,
    /// Of the namespace kube-system, by which a cluster is known.
    pub(super) cluster_uids: BTreeSet<Symbol>,
}

impl Tally {
    pub(super) fn from(&mut self, name: &str, forms: &BTreeSet<Form>, files: usize) {
        let forms: Vec<&str> = forms.iter().map(|form| form.as_str()).collect();
        let form = if forms.is_empty() { String::new() } else { format!("{}, ", forms.join(", ")) };
        let name = self.short(name).to_owned();
        self.sources.push(format!("{name} ({form}{})", counted(files, "file", "files")));
    }

    pub(super) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    pub(super) fn made_anew(&mut self, texts: impl Iterator<Item = String>) {
        self.anew.extend(texts);
    }

    /// Takes what an earlier import said of its own inputs.
    pub(super) fn carry(&mut self, statement: &str) {
        self.is_carried = true;
        if !self.carried.iter().any(|known| known == statement) {
            self.carried.push(statement.to_owned());
        }
    }

    pub(super) fn not_read(&mut self, what: &str, why: &str, first: &str) {
        let first = self.short(first).to_owned();
        let known = self.not_read.entry((what.to_owned(), why.to_owned())).or_insert_with(|| (0, first));
        known.0 += 1;
    }

    /// A name without the directory of the input.
    pub(super) fn short<'n>(&self, name: &'n str) -> &'n str {
        name.strip_prefix(self.parent.as_str()).unwrap_or(name)
    }

    pub(super) fn of_loaded(&mut self, loaded: &Loaded) {
        for row in loaded.not_modelled.iter().filter(|row| row.is_whole_kind()) {
            *self.left_out.entry(row.value_excerpt.clone()).or_default() += 1;
        }
        for skipped in &loaded.skipped {
            match skipped.reason {
                SkipReason::NotAnObject => self.not_objects += 1,
                // It is among what is carried.
                SkipReason::NotImported(_) => {}
                reason => {
                    let kind = if skipped.kind.is_empty() { "document" } else { skipped.kind.as_str() };
                    self.not_read(kind, reason.as_str(), &format!("{}:{}", skipped.file, skipped.line));
                }
            }
        }
    }

    /// What there was where no cluster was.
    pub(super) fn found_nothing(&self) -> String {
        let mut parts: Vec<String> = self.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        if self.not_objects > 0 {
            parts.push(counted(self.not_objects, "document that is no object", "documents that are no objects"));
        }
        if self.other_files > 0 {
            parts.push(counted(self.other_files, "file of another kind", "files of other kinds"));
        }
        parts.extend(self.notes.iter().cloned());
        if parts.is_empty() { "nothing is in it".to_owned() } else { parts.join(", ") }
    }

    /// Everything that is to be said, a line each.
    pub(super) fn statements(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.sources.iter().map(|source| format!("From: {source}")).collect();
        lines.extend(self.carried.iter().cloned());
        lines.extend(self.notes.iter().take(LISTED_MAX).map(|note| format!("Note: {note}")));
        lines.extend(self.anew.iter().map(|text| format!("Made anew: {text}")));
        if self.superseded > 0 {
            let what = counted(self.superseded, "object was", "objects were");
            lines.push(format!("Note: {what} there again in another state; of each the newest counts"));
        }
        let mut left_out: Vec<String> = self.left_out.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        if self.not_objects > 0 {
            left_out.push(counted(self.not_objects, "document that is no object", "documents that are no objects"));
        }
        if self.other_files > 0 {
            left_out.push(counted(self.other_files, "file of another kind", "files of other kinds"));
        }
        if !left_out.is_empty() {
            let more = left_out.len().saturating_sub(LISTED_MAX);
            left_out.truncate(LISTED_MAX);
            let more = if more > 0 { format!(" and {more} kinds more") } else { String::new() };
            lines.push(format!("Left out: {}{more}", left_out.join(", ")));
        }
        for ((what, why), (count, first)) in self.not_read.iter().take(LISTED_MAX) {
            let is_word = what.starts_with(|first: char| first.is_ascii_lowercase());
            let what = if is_word && *count > 1 { format!("{what}s") } else { what.clone() };
            lines.push(not_read_statement(*count, &what, why, first));
        }
        if let Some(more) = self.not_read.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
            let what = if more == 1 { "kind of things more" } else { "kinds of things more" };
            lines.push(not_read_statement(more, what, "as many are listed as fit", &self.not_read.len().to_string()));
        }
        lines
    }
}
