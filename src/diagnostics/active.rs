//! Which characters of a name do something instead of being seen.

/// Whether a character does something instead of being seen: a control character other than line break and tab, or one that turns the
/// direction of writing. A name from somebody else's cluster that holds one could steer a terminal, or show as another name.
#[must_use]
pub fn is_active(c: char) -> bool {
    let turns_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns_direction || (c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_turns_of_direction_are_active_and_what_is_seen_is_not() {
        for c in "\u{1b}\u{9b}\u{7}\r\0\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}".chars() {
            assert!(is_active(c), "{c:?}");
        }
        for c in "a ü\n\t日\u{200d}\u{fffd}<\"".chars() {
            assert!(!is_active(c), "{c:?}");
        }
    }
}
