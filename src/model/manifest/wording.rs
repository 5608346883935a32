//! What parsers say, in the words of users.

use crate::diagnostics::{Diagnostic, Location, suggest};

/// A type in the words of users.
pub(super) fn reword_type(name: &str) -> String {
    match name {
        "i32" | "i64" | "u32" | "u64" | "integer" => "a whole number".to_owned(),
        "f64" | "floating point" => "a number".to_owned(),
        "bool" | "boolean" | "a boolean" => "`true` or `false`".to_owned(),
        "map" => "a map".to_owned(),
        "a text" => "a string".to_owned(),
        "a sequence" | "sequence" => "a list".to_owned(),
        name if name.starts_with("struct ") => "a map of fields".to_owned(),
        name => name.to_owned(),
    }
}

/// Says what parsers say without the names of Rust types.
pub(super) fn reword(message: &str, written: &str) -> String {
    if let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "))
    {
        let expected = reword_type(expected);
        // A word is a string only for want of anything else.
        if found.starts_with("string ") && !written.starts_with(['"', '\'']) && !expected.ends_with("string") {
            return format!("`{written}` is not {expected}");
        }
        return format!("found {found}, expected {expected}");
    }
    match message.strip_prefix("invalid ").map(reword_type) {
        Some(expected) if expected.starts_with(['a', '`']) => format!("`{written}` is not {expected}"),
        _ => match message {
            "expected mapping start" => format!("found `{written}`, expected a map of fields"),
            "expected sequence start" => format!("found `{written}`, expected a list"),
            _ => message.to_owned(),
        },
    }
}

/// The nearest of the words that an error about an unknown one lists.
pub(super) fn nearest_word(message: &str) -> Option<String> {
    let (written, words) = message.split_once(" is not one of ")?;
    let words: Vec<&str> = words.split('`').skip(1).step_by(2).collect();
    let nearest = suggest::nearest(written.trim_matches('`'), words.iter().copied());
    nearest.map(|word| format!("the nearest value is `{word}`"))
}

/// What to say about a text that cannot be read at all, from what its parser says.
pub(super) fn syntax_error(message: &str, location: Location) -> Diagnostic {
    if message.starts_with("EOF") {
        return Diagnostic::error("manifest::syntax", "this JSON ends in the middle")
            .at(location, "here")
            .help("the file is incomplete: write it again");
    }
    if message.contains("limits breached") && !message.contains("Depth") {
        return Diagnostic::error("manifest::too_many_values", "the aliases of this document multiply without end")
            .at(location, "here it has more values than its text has characters")
            .help("write out what the aliases stand for");
    }
    if message.contains("recursion limit") || message.contains("Depth") {
        let diagnostic = Diagnostic::error("manifest::too_deep", "values are nested too deep");
        return diagnostic.at(location, "no object of Kubernetes is nested like this");
    }
    Diagnostic::error("manifest::syntax", message).at(location, "here")
}
