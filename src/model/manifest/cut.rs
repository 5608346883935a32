//! Lists of which the end is missing.
//!
//! `kubectl get -o yaml` writes `kind: List` behind the items, so that a list that was cut is a document without a kind, and its items
//! would be passed over as one that is no object.

use super::piece::{File, TextPiece};
use crate::diagnostics::Diagnostic;
use crate::model::yaml;

/// What kubectl calls its lists.
const LIST: &str = "List";

/// Whether a document is a list whose end is missing.
pub(super) fn is_cut_list(document: &TextPiece<'_>) -> bool {
    if document.is_item || !document.piece.text.lines().any(|line| line.trim_end() == "items:") {
        return false;
    }
    let Ok(header) = document.header() else { return false };
    let kind = header.kind();
    // The word itself may be cut.
    if !LIST.starts_with(kind.as_str()) || kind == LIST {
        return false;
    }
    !header.api_version().is_empty() || holds_objects(document)
}

/// Whether its first item says that it is an object.
fn holds_objects(document: &TextPiece<'_>) -> bool {
    let first = yaml::list_items(&document.piece).and_then(|items| items.into_iter().next());
    let first = first.map(|piece| TextPiece { piece, is_item: true, ..document.clone() });
    first.is_some_and(|item| item.header().is_ok_and(|header| !header.kind().is_empty()))
}

/// What to say of it.
pub(super) fn explain(document: &TextPiece<'_>, file: &File<'_>) -> Diagnostic {
    let last = document.piece.text.trim_end().lines().count().saturating_sub(1);
    let message = format!("the end of this list is missing: behind its items stands `kind: {LIST}`");
    Diagnostic::error("manifest::cut_short", message)
        .at(document.location(file, None, document.line(last)), "the text ends here")
        .help("the file is incomplete: write it again")
        .help(format!("if it is whole, add `kind: {LIST}`"))
}
