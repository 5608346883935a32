//! The one way in which YAML is read: the options, and how a stream is cut into documents.

use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Budget, Options};

/// A document or list item of a file, with its place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// The text, parsable by itself.
    pub text: std::borrow::Cow<'a, str>,
    /// Lines of the file before the text.
    pub line_offset: usize,
    /// Characters of the first line that come before the text.
    pub column_offset: usize,
}

/// How YAML is read: as kubectl reads it, with limits in proportion to the text, so that large dumps pass and aliases
/// that multiply do not.
pub(crate) fn options(text: &str) -> Options {
    let size = text.len().max(1_000);
    let mut budget = Budget::default();
    budget.max_nodes = size;
    budget.max_events = size.saturating_mul(2);
    budget.max_total_scalar_bytes = size.saturating_mul(2);
    budget.max_recorded_anchor_events = size.saturating_mul(2);
    budget.max_recorded_anchor_bytes = size.saturating_mul(2);
    budget.max_aliases = size;
    budget.max_anchors = size;
    let mut options = Options::default();
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = size.saturating_mul(2);
    options.legacy_octal_numbers = true;
    // An unquoted label value such as `24e196277` must stay text.
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    options.duplicate_keys = DuplicateKeyPolicy::Error;
    options.with_snippet = false;
    options
}

/// [`options`] for a document in which a key occurs twice: the last one counts.
pub(crate) fn options_with_duplicates(text: &str) -> Options {
    let mut options = options(text);
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options
}

/// Cuts a file into its documents, leaving out those with nothing but blanks and comments.
pub(crate) fn documents(text: &str) -> Vec<Piece<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut documents = Vec::new();
    let mut start = (0, 0, 0);
    let mut offset = 0;
    for (line_count, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end();
        let marker = bare.strip_prefix("---").or_else(|| bare.strip_prefix("..."));
        if marker.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])) {
            push_document(&mut documents, &text[start.0..offset], start.1, start.2);
            start = (offset + 3, line_count, 3);
        } else if bare.starts_with('%') && text[start.0..offset].trim().is_empty() {
            // A directive; nothing of what it can say matters here.
            start = (offset + line.len(), line_count + 1, 0);
        }
        offset += line.len();
    }
    push_document(&mut documents, &text[start.0..], start.1, start.2);
    documents
}

fn push_document<'a>(documents: &mut Vec<Piece<'a>>, text: &'a str, line_offset: usize, column_offset: usize) {
    let has_content = text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with('#'));
    if has_content {
        documents.push(Piece { text: text.into(), line_offset, column_offset });
    }
}

/// Cuts the items of a `List` in block style into pieces that can be read one by one; `None` if the list is written in
/// another style or uses anchors, so that it must be read whole.
pub(crate) fn list_items<'a>(document: &Piece<'a>) -> Option<Vec<Piece<'a>>> {
    let text: &str = &document.text;
    if document.column_offset > 0 && !text.starts_with(['\n', '\r']) {
        return None;
    }
    let mut lines = text.split_inclusive('\n');
    let mut offset = 0;
    let mut line_count = document.line_offset;
    for line in lines.by_ref() {
        offset += line.len();
        line_count += 1;
        if line.trim_end() == "items:" {
            break;
        }
    }
    let mut items = Vec::new();
    let mut indent = None;
    let mut start: Option<(usize, usize)> = None;
    for line in lines {
        let content = line.trim_start_matches(' ');
        let column = line.len() - content.len();
        let is_blank = content.trim().is_empty() || content.starts_with('#');
        let is_item = content.starts_with("- ") && indent.is_none_or(|indent| indent == column);
        if is_item {
            indent = Some(column);
            items.extend(start.map(|start| item(text, start, offset)));
            start = Some((offset, line_count));
        } else if !is_blank && column <= indent? && !line.starts_with(' ') {
            // A field of the list behind its items.
            break;
        } else if !is_blank && column <= indent? {
            return None;
        }
        offset += line.len();
        line_count += 1;
    }
    let last = start?;
    items.push(item(text, last, offset));
    let stands_alone =
        |item: &Piece<'_>| aliases(&item.text).all(|name| is_anchored(&item.text, name) || !is_anchored(text, name));
    items.iter().all(stands_alone).then_some(items)
}

/// What is wrong with such a list.
#[cfg(feature = "bundles")]
pub(crate) const CUT_LIST: &str = "the end of its list is missing: behind the items stands `kind: List`";

/// Whether the end of a list of objects is missing: `kubectl get -o yaml` writes its `kind` behind the items, and every object has one.
#[cfg(feature = "bundles")]
pub(crate) fn is_cut_list(document: &Piece<'_>) -> bool {
    let has = |key: &str| document.text.lines().any(|line| line.trim_end().starts_with(key));
    let kind = document.text.lines().find_map(|line| line.strip_prefix("kind:"));
    // The word itself may be cut.
    let is_told = kind.is_some_and(|kind| kind.trim().trim_matches(['"', '\'']).ends_with("List"));
    has("items:") && has("apiVersion:") && !is_told
}

fn item<'a>(text: &str, (start, line_offset): (usize, usize), end: usize) -> Piece<'a> {
    // A blank in place of the dash makes the item a map that stands alone, with every column as it was.
    let text = text[start..end].replacen('-', " ", 1);
    Piece { text: text.into(), line_offset, column_offset: 0 }
}

/// The names of what may be aliases; some are words of a text.
fn aliases(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', '\t', '\n', '\r', ',', '[', ']', '{', '}']);
    words.filter_map(|word| word.strip_prefix('*')).filter(|name| name.starts_with(char::is_alphanumeric))
}

/// Whether a text may define an anchor.
fn is_anchored(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(start, _)| text[..start].ends_with('&'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_cut_at_markers() {
        #[track_caller]
        fn check(text: &str, expected: &[(&str, usize)]) {
            let documents = documents(text);
            let found: Vec<_> = documents.iter().map(|piece| (piece.text.trim(), piece.line_offset)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
        check("", &[]);
        check("# nothing\n---\n\n", &[]);
        check("a: 1\n", &[("a: 1", 0)]);
        check("---\na: 1\n---\nb: 2\n", &[("a: 1", 0), ("b: 2", 2)]);
        check("a: 1\n--- # next\nb: 2", &[("a: 1", 0), ("# next\nb: 2", 1)]);
        check("a: 1\n...\n---\r\nb: 2\r\n", &[("a: 1", 0), ("b: 2", 2)]);
        check("%YAML 1.1\n---\na: 1", &[("a: 1", 1)]);
        check("a: |\n  ---\n  x", &[("a: |\n  ---\n  x", 0)]);
        check("----\n", &[("----", 0)]);
    }

    #[test]
    fn lists_are_cut_into_items() {
        #[track_caller]
        fn check(text: &str, expected: Option<&[(&str, usize)]>) {
            let document = &documents(text)[0];
            let items = list_items(document);
            let found: Option<Vec<_>> = items
                .as_ref()
                .map(|items| items.iter().map(|piece| (piece.text.as_ref(), piece.line_offset)).collect());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
        check(
            "kind: List\nitems:\n- a: 1\n  b:\n  - 2\n- a: 3\nmetadata: {}\n",
            Some(&[("  a: 1\n  b:\n  - 2\n", 2), ("  a: 3\n", 5)]),
        );
        check("items:\n  - a: 1\n\n  - a: 2\n", Some(&[("    a: 1\n\n", 1), ("    a: 2\n", 3)]));
        check("items: []\n", None);
        check("items:\n- &x {a: 1}\n- *x\n", None);
        check("items:\n- a: &x 1\n  b: *x\n- a: see *y\n", Some(&[("  a: &x 1\n  b: *x\n", 1), ("  a: see *y\n", 3)]));
        check("items:\n- {a: 1}\n", Some(&[("  {a: 1}\n", 1)]));
    }

    #[test]
    fn a_list_without_the_kind_behind_its_items_was_cut() {
        let list = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Event\n  metadata:\n    name: a\n";
        let check = |text: &str, expected: bool| assert_eq!(is_cut_list(&documents(text)[0]), expected, "{text}");
        check(list, true);
        check(&format!("{list}kin"), true);
        check(&format!("{list}kind: Lis"), true);
        check(&format!("{list}kind: List\n"), false);
        check(&format!("kind: EventList\n{list}"), false);
        check("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n", false);
    }
}
