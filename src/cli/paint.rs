//! Colors, and what names must not do to a terminal.

use std::borrow::Cow;

use crate::diagnostics::{Style, is_active};

/// Colors what is told on a terminal.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    pub(super) style: Style,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        match self.style {
            Style::Plain => text.to_owned(),
            Style::Colored => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(super) fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }
}

/// A text whose names do nothing to a terminal: control characters, and those that turn the direction of writing, stand as `\u{1b}`. Line
/// breaks, tabs and, where there are colors, the escapes that set them stay.
pub(super) fn harmless(text: &str, style: Style) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_active) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let color = if style == Style::Colored { color_length(found) } else { 0 };
        let kept = if color > 0 { color } else { found.chars().next().map_or(0, char::len_utf8) };
        let (head, tail) = found.split_at(kept);
        if color > 0 {
            out.push_str(head)
        } else {
            out.extend(head.chars().flat_map(char::escape_unicode))
        }
        rest = tail;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Bytes of the escape that sets a color, with which a text begins; 0 if it begins with none.
fn color_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if rest[digits..].starts_with('m') { digits + 3 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_seen_instead() {
        let hostile = "a\u{1b}[31m\u{1b}]0;title\u{7}b\r\u{9b}2J\u{202e}cba\n\tümlaut";
        let plain = r"a\u{1b}[31m\u{1b}]0;title\u{7}b\u{d}\u{9b}2J\u{202e}cba".to_owned() + "\n\tümlaut";
        assert_eq!(harmless(hostile, Style::Plain), plain);
        let colored = Paint { style: Style::Colored }.bad("x\u{1b}[2J");
        assert_eq!(harmless(&colored, Style::Colored), "\u{1b}[1;31mx\\u{1b}[2J\u{1b}[0m");
        assert!(matches!(harmless("plain =cmd() </script>\n", Style::Plain), Cow::Borrowed(_)));
    }
}
