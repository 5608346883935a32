//! What was read of manifests and dumps, and what was not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::overrides::Caller;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::model::NotModelled;
use crate::model::manifest::{DUMP_COMMAND, Loaded, SkipReason};

/// Manifests and dumps in numbers, as they were read: before anything was added to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
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
        let counted = loaded.objects.iter().enumerate().filter(|(place, _)| !loaded.refused.contains(place));
        for (_, object) in counted {
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

/// What says that a part of the input could not be read.
const UNREAD_CODES: [&str; 11] = [
    "manifest::cut_short",
    "manifest::duplicate_object",
    "manifest::for_people",
    "manifest::no_name",
    "manifest::not_an_object",
    "manifest::refused",
    "manifest::syntax",
    "manifest::template",
    "manifest::too_deep",
    "manifest::too_many_values",
    "manifest::wrong_value",
];

/// Refuses a cluster of which a substantial part could not be read, unless the user goes on with the rest.
///
/// Substantial is: an object that is meant to be played, or more documents than were read.
///
/// Whoever goes on has nothing of what the API server would refuse.
pub(super) fn refuse_partial(
    loaded: &mut Loaded,
    input: &Input,
    is_allowed: bool,
    caller: Caller,
    diagnostics: &mut Diagnostics,
) {
    let mut found: Vec<Diagnostic> = std::mem::take(diagnostics).into_iter().collect();
    if is_allowed {
        let refused = std::mem::take(&mut loaded.refused);
        let objects = std::mem::take(&mut loaded.objects).into_iter().enumerate();
        loaded.objects = objects.filter(|(place, _)| !refused.contains(place)).map(|(_, object)| object).collect();
        for diagnostic in found.iter_mut().filter(|diagnostic| UNREAD_CODES.contains(&diagnostic.code)) {
            diagnostic.severity = Severity::Warning;
        }
        *diagnostics = Diagnostics::from(found);
        return;
    }
    let is_error = |diagnostic: &&mut Diagnostic| {
        diagnostic.severity == Severity::Error && UNREAD_CODES.contains(&diagnostic.code)
    };
    // What an import has left out was decided on then.
    let imported = loaded.skipped.iter().filter(|skipped| matches!(skipped.reason, SkipReason::NotImported(_))).count();
    let unread_count = input.unread().map(|skipped| skipped.count).sum::<usize>().saturating_sub(imported);
    let read_count = loaded.objects.len() + loaded.not_modelled.iter().filter(|row| row.is_whole_kind()).count();
    let last = found.iter_mut().filter(is_error).last();
    if let Some(last) = last {
        if !loaded.objects.is_empty() {
            last.help.push(caller.how_to_go_on().to_owned());
        }
    } else if unread_count > read_count {
        let total = unread_count + read_count;
        let message = match read_count {
            0 => "there is no Kubernetes object in the manifests".to_owned(),
            _ => format!("{unread_count} of {total} documents of the manifests are no objects that could be read"),
        };
        found.push(
            Diagnostic::error("manifest::partial", message)
                .help("name the files that hold the cluster's objects, or save them anew:")
                .help(format!("`{DUMP_COMMAND}`"))
                .help(caller.how_to_go_on()),
        );
    }
    *diagnostics = Diagnostics::from(found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::load_text;

    #[test]
    fn a_cluster_of_which_much_is_missing_is_refused() {
        #[track_caller]
        fn check(text: &str, is_allowed: bool, expected: Option<&str>) {
            let mut loaded = load_text("x.yaml", text);
            let mut input = Input::default();
            input.add(&loaded);
            let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
            refuse_partial(&mut loaded, &input, is_allowed, Caller::CommandLine, &mut diagnostics);
            let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
            assert_eq!(errors.map(|error| error.code).next(), expected, "{text}");
        }
        let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n";
        let values = "---\nreplicas: 3\n";
        check(node, false, None);
        check(&format!("{node}{values}"), false, None);
        check(&format!("{node}{values}{values}"), false, Some("manifest::partial"));
        check(&format!("{node}{values}{values}"), true, None);
        let broken = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: 3}\n";
        check(&format!("{node}{broken}"), false, Some("manifest::wrong_value"));
        check(&format!("{node}{broken}"), true, None);
        let template = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Name }}\n  {{- if .X }}\n";
        check(&format!("{node}{template}"), false, Some("manifest::template"));
        let of_no_effect = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
        check(&format!("{of_no_effect}{values}"), false, None);
    }

    #[test]
    fn what_was_not_read_is_counted_by_kind_and_reason() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n\
                    - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n- {a: b}\n\
                    - {apiVersion: v1, kind: Node, metadata: {name: n}}\n";
        let loaded = load_text("x.yaml", text);
        let mut input = Input::default();
        input.add(&loaded);
        let found: Vec<(&str, usize, &str)> =
            input.skipped.iter().map(|s| (s.kind.as_str(), s.count, s.first.as_str())).collect();
        // Objects of kinds without effect are kept by their names, and counted on both sides.
        assert_eq!(found, [("", 1, "x.yaml:6"), ("ConfigMap", 2, "x.yaml:4")]);
        assert_eq!((input.files, input.object_count()), (1, 3));
    }
}
