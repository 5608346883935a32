//! What has changed of late.

use std::collections::VecDeque;

/// The last changes, numbered from 0: whoever has taken in all up to a number is told what came after, unless it is no longer kept.
///
/// It is for many readers, none of which it knows; each keeps the number up to which it has read.
#[derive(Clone, Debug)]
pub struct ChangeLog<T> {
    kept: VecDeque<T>,
    /// The number of the first that is kept.
    begin: u64,
}

impl<T: Copy> ChangeLog<T> {
    /// A log of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: VecDeque::new(), begin: 0 }
    }

    /// Adds a change, and keeps no more than that many.
    pub fn push(&mut self, change: T, kept_max: usize) {
        self.kept.push_back(change);
        while self.kept.len() > kept_max {
            self.kept.pop_front();
            self.begin += 1;
        }
    }

    /// The number that the next change will have.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.begin + self.kept.len() as u64
    }

    /// All changes from that number on; none if some of them are no longer kept, or if it is of another log.
    #[must_use]
    pub fn since(&self, number: u64) -> Option<impl Iterator<Item = T>> {
        let left_out = usize::try_from(number.checked_sub(self.begin)?).ok()?;
        (left_out <= self.kept.len()).then(|| self.kept.range(left_out..).copied())
    }
}

impl<T: Copy> Default for ChangeLog<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_read_up_to_a_number_is_told_what_came_after_as_long_as_it_is_kept() {
        let mut log = ChangeLog::new();
        let since = |log: &ChangeLog<char>, number| log.since(number).map(Iterator::collect::<String>);
        assert_eq!(since(&log, 0).as_deref(), Some(""));
        "abcde".chars().for_each(|change| log.push(change, 3));
        assert_eq!(log.end(), 5);
        assert_eq!(since(&log, 1), None, "`b` is no longer kept");
        assert_eq!(since(&log, 2).as_deref(), Some("cde"));
        assert_eq!(since(&log, 4).as_deref(), Some("e"));
        assert_eq!(since(&log, 5).as_deref(), Some(""));
        assert_eq!(since(&log, 6), None, "so many there have never been");
    }
}
