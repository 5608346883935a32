//! Which rows have changed of late.

use std::collections::VecDeque;

use super::Id;

/// Of so many changes the rows are kept in any case; of more, if there are more rows. Who has to catch up with more looks at every row,
/// which then takes no longer than the changes have.
const KEPT: usize = 64;

/// The rows of a table of `K` that changed last, some of them several times; the changes are numbered from 0: whoever has taken in all up to
/// a number is told what came after, unless it is no longer kept.
///
/// It is for many readers, none of which it knows; each keeps the number up to which it has read.
#[derive(Clone, Debug)]
pub struct ChangeLog<K> {
    kept: VecDeque<Id<K>>,
    /// The number of the first that is kept.
    begin: u64,
    /// More than the place of any row that ever changed.
    rows: usize,
}

impl<K> ChangeLog<K> {
    /// A log of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: VecDeque::new(), begin: 0, rows: 0 }
    }

    /// Adds a change.
    pub fn push(&mut self, row: Id<K>) {
        self.rows = self.rows.max(row.index() + 1);
        self.kept.push_back(row);
        while self.kept.len() > self.rows.max(KEPT) {
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
    pub fn since(&self, number: u64) -> Option<impl Iterator<Item = Id<K>>> {
        let left_out = usize::try_from(number.checked_sub(self.begin)?).ok()?;
        (left_out <= self.kept.len()).then(|| self.kept.range(left_out..).copied())
    }
}

impl<K> Default for ChangeLog<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Table;

    /// A log of so many changes of rows in turn.
    fn log(rows: usize, changes: usize) -> ChangeLog<usize> {
        let mut table = Table::new();
        let ids: Vec<Id<usize>> = (0..rows).map(|row| table.insert(row)).collect();
        let mut log = ChangeLog::new();
        (0..changes).for_each(|change| log.push(ids[change % rows]));
        log
    }

    fn since(log: &ChangeLog<usize>, number: u64) -> Option<Vec<usize>> {
        log.since(number).map(|changes| changes.map(Id::index).collect())
    }

    #[test]
    fn who_has_read_up_to_a_number_is_told_what_came_after_as_long_as_it_is_kept() {
        assert_eq!(since(&log(1, 0), 0), Some(vec![]));
        let log = log(5, KEPT + 2);
        assert_eq!(log.end(), KEPT as u64 + 2);
        assert_eq!(since(&log, 1), None, "the second is no longer kept");
        assert_eq!(since(&log, 2).map(|rows| rows.len()), Some(KEPT));
        assert_eq!(since(&log, KEPT as u64), Some(vec![KEPT % 5, (KEPT + 1) % 5]));
        assert_eq!(since(&log, log.end()), Some(vec![]));
        assert_eq!(since(&log, log.end() + 1), None, "so many there have never been");
    }

    #[test]
    fn of_many_rows_as_many_changes_are_kept() {
        let log = log(2 * KEPT, 5 * KEPT);
        assert_eq!(since(&log, 3 * KEPT as u64).map(|rows| rows.len()), Some(2 * KEPT));
        assert_eq!(since(&log, 3 * KEPT as u64 - 1), None);
    }
}
