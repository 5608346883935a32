//! Tables whose rows are named by ids that know when the row is gone.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// The name of a row in a [`Table`] of `T`: where it stands, and which of the rows that ever stood there it is.
///
/// Ids order by index, then by age.
pub struct Id<T> {
    index: u32,
    generation: NonZeroU32,
    of: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// Before every other id, for the beginning of a range.
    pub const MIN: Self = Self { index: 0, generation: NonZeroU32::MIN, of: PhantomData };

    /// Where the row stands; below [`Table::capacity_index`].
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }
}

// Written out because derives would ask the same of `T`.
impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.index, self.generation) == (other.index, other.generation)
    }
}

impl<T> Eq for Id<T> {}

impl<T> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.index, self.generation).cmp(&(other.index, other.generation))
    }
}

impl<T> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.generation.get()) << 32 | u64::from(self.index));
    }
}

impl<T> fmt::Debug for Id<T> {
    /// `Pod#12` for the first row at index 12, `Pod#12.3` for the third.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = std::any::type_name::<T>();
        let plain = path.split('<').next().unwrap_or(path);
        write!(formatter, "{}#{}", plain.rsplit("::").next().unwrap_or(plain), self.index)?;
        if self.generation == NonZeroU32::MIN { Ok(()) } else { write!(formatter, ".{}", self.generation) }
    }
}

#[derive(Clone)]
struct Slot<T> {
    /// Of the row that stands here, or else of the next one.
    generation: NonZeroU32,
    row: Option<T>,
}

/// Rows of one kind. Places of removed rows are used again, the latest first; ids of removed rows stay invalid.
#[derive(Clone)]
pub struct Table<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    row_count: usize,
}

impl<T> Table<T> {
    /// A table without rows.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), row_count: 0 }
    }

    /// A table with room for so many rows.
    #[must_use]
    pub fn with_capacity(row_count: usize) -> Self {
        Self { slots: Vec::with_capacity(row_count), free: Vec::new(), row_count: 0 }
    }

    /// Makes room for so many rows more: a large table that grows by and by is copied several times.
    pub fn reserve(&mut self, row_count: usize) {
        self.slots.reserve(row_count.saturating_sub(self.free.len()));
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If the table would need more than 2^32 places.
    pub fn insert(&mut self, row: T) -> Id<T> {
        self.row_count += 1;
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.row = Some(row);
            return Id { index, generation: slot.generation, of: PhantomData };
        }
        let index = u32::try_from(self.slots.len()).expect("a table has at most 2^32 places");
        self.slots.push(Slot { generation: NonZeroU32::MIN, row: Some(row) });
        Id { index, generation: NonZeroU32::MIN, of: PhantomData }
    }

    /// Takes a row out, if it is still there.
    pub fn remove(&mut self, id: Id<T>) -> Option<T> {
        let slot = self.slots.get_mut(id.index())?;
        if slot.generation != id.generation {
            return None;
        }
        let row = slot.row.take()?;
        self.row_count -= 1;
        // After four billion rows a place is retired: its last id stays taken by nobody.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(id.index);
        }
        Some(row)
    }

    /// A row, if it is still there.
    #[must_use]
    pub fn get(&self, id: Id<T>) -> Option<&T> {
        match self.slots.get(id.index()) {
            Some(slot) if slot.generation == id.generation => slot.row.as_ref(),
            _ => None,
        }
    }

    /// A row to change, if it is still there.
    #[must_use]
    pub fn get_mut(&mut self, id: Id<T>) -> Option<&mut T> {
        match self.slots.get_mut(id.index()) {
            Some(slot) if slot.generation == id.generation => slot.row.as_mut(),
            _ => None,
        }
    }

    /// Whether a row is still there.
    #[must_use]
    pub fn contains(&self, id: Id<T>) -> bool {
        self.get(id).is_some()
    }

    /// The id of the row that stands at an index now, for indexes that come from a bit set or a column.
    #[must_use]
    pub fn id_at(&self, index: usize) -> Option<Id<T>> {
        let slot = self.slots.get(index)?;
        slot.row.as_ref()?;
        Some(Id { index: index as u32, generation: slot.generation, of: PhantomData })
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.row_count
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest index that any row has had.
    #[must_use]
    pub fn capacity_index(&self) -> usize {
        self.slots.len()
    }

    /// The rows in the order of their indexes.
    pub fn iter(&self) -> impl Iterator<Item = (Id<T>, &T)> + Clone {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let id = Id { index: index as u32, generation: slot.generation, of: PhantomData };
            slot.row.as_ref().map(|row| (id, row))
        })
    }

    /// The rows to change, in the order of their indexes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Id<T>, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(index, slot)| {
            let id = Id { index: index as u32, generation: slot.generation, of: PhantomData };
            slot.row.as_mut().map(|row| (id, row))
        })
    }

    /// The ids in the order of their indexes.
    pub fn ids(&self) -> impl Iterator<Item = Id<T>> + Clone {
        self.iter().map(|(id, _)| id)
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl<T> Index<Id<T>> for Table<T> {
    type Output = T;

    /// # Panics
    ///
    /// If the row has been removed; holding on to its id was the mistake.
    fn index(&self, id: Id<T>) -> &T {
        self.get(id).unwrap_or_else(|| gone(id))
    }
}

impl<T> IndexMut<Id<T>> for Table<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        self.get_mut(id).unwrap_or_else(|| gone(id))
    }
}

#[cold]
#[track_caller]
fn gone<T>(id: Id<T>) -> ! {
    panic!("{id:?} is not in its table: it has been removed, or belongs to another table")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    struct NotEvenDebug;

    const _: () = assert!(size_of::<Id<NotEvenDebug>>() == 8 && size_of::<Option<Id<NotEvenDebug>>>() == 8);

    #[test]
    fn the_id_of_a_removed_row_stays_invalid() {
        let mut table = Table::new();
        let first = table.insert("a");
        assert_eq!(table.remove(first), Some("a"));
        assert_eq!(table.remove(first), None);
        let second = table.insert("b");
        assert_eq!(first.index(), second.index());
        assert_ne!(first, second);
        assert_eq!(table.get(first), None);
        assert_eq!(table[second], "b");
        assert_eq!(table.id_at(0), Some(second));
        assert_eq!(table.id_at(1), None);
        assert_eq!(format!("{first:?} {second:?}"), "&str#0 &str#0.2");
    }

    #[test]
    fn the_latest_free_place_is_used_first() {
        let mut table: Table<u32> = Table::new();
        let ids: Vec<_> = (0..4).map(|row| table.insert(row)).collect();
        table.remove(ids[1]);
        table.remove(ids[3]);
        assert_eq!(table.insert(9).index(), 3);
        assert_eq!(table.insert(9).index(), 1);
        assert_eq!(table.insert(9).index(), 4);
        assert_eq!(table.capacity_index(), 5);
    }

    #[test]
    #[should_panic(expected = "i32#0 is not in its table")]
    fn indexing_with_the_id_of_a_removed_row_panics() {
        let mut table: Table<i32> = Table::new();
        let id = table.insert(1);
        table.remove(id);
        let _ = table[id];
    }

    proptest! {
        #[test]
        fn a_table_behaves_as_a_map(steps in prop::collection::vec((any::<bool>(), any::<usize>()), 0..200)) {
            let mut table = Table::new();
            let mut map = BTreeMap::new();
            let mut given = Vec::new();
            for (row, (insert, pick)) in steps.into_iter().enumerate() {
                if insert || given.is_empty() {
                    let id = table.insert(row);
                    prop_assert_eq!(map.insert(id, row), None);
                    given.push(id);
                } else {
                    let id = given[pick % given.len()];
                    prop_assert_eq!(table.remove(id), map.remove(&id));
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert_eq!(table.is_empty(), map.is_empty());
                let rows: Vec<_> = table.iter().map(|(id, row)| (id, *row)).collect();
                let expected: Vec<_> = map.iter().map(|(id, row)| (*id, *row)).collect();
                prop_assert_eq!(rows, expected);
            }
        }
    }
}
