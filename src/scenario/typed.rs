//! kubectl lines as they are written: the commands of a text, each with its place.

use super::document::Node;
use crate::diagnostics::Location;
use crate::kubectl::placed_commands;

/// A command of a text, as it is written.
#[derive(Copy, Clone)]
pub(super) struct Typed<'a> {
    pub(super) text: &'a str,
    /// The text that it is a command of.
    node: &'a Node,
    /// The byte of that text at which it begins.
    offset: usize,
}

impl<'a> Typed<'a> {
    /// The commands of a text, in order.
    pub(super) fn all(node: &'a Node) -> impl Iterator<Item = Self> {
        let text = node.text().unwrap_or_default();
        placed_commands(text).into_iter().map(move |(offset, text)| Self { text, node, offset })
    }

    /// Where the command stands: its first line.
    pub(super) fn place(&self) -> Location {
        self.node.locate_stretch(self.offset, self.text)
    }

    /// Where a place in a text stands that is a part of the command, as a here-document is; none if it is no part.
    pub(super) fn place_within(&self, part: &str, place: &Location) -> Option<Location> {
        let start = self.text.find(part).filter(|_| !part.is_empty())?;
        let before =
            part.split_inclusive('\n').take((place.line as usize).checked_sub(1)?).map(str::len).sum::<usize>();
        let characters =
            |count: u32| move |text: &str| text.chars().take(count as usize).map(char::len_utf8).sum::<usize>();
        let column = characters(place.column.checked_sub(1)?)(&part[before..]);
        let at = before + column;
        let length = characters(place.length)(&part[at..]);
        Some(self.node.locate_stretch(self.offset + start + at, &part[at..at + length]))
    }

    /// Where a word of it stands; the command, if it is no word of it.
    pub(super) fn place_of(&self, word: &str) -> Location {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_whole = |at: &usize| {
            let (before, after) = (&self.text[..*at], &self.text[at + word.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        };
        let places = || self.text.match_indices(word).map(|(at, _)| at);
        match places().find(is_whole).or_else(|| places().next()).filter(|_| !word.is_empty()) {
            Some(at) => self.node.locate_stretch(self.offset + at, word),
            None => self.place(),
        }
    }
}
