//! Values beside the rows of a table.

use std::marker::PhantomData;

use super::Id;

/// A value of `V` for every row of a table of `K`, the default until it is set.
///
/// A column knows places, not generations: the row that takes over a place takes over its value. Whoever owns the
/// column clears it when a row goes.
#[derive(Clone, Debug)]
pub struct Column<K, V> {
    values: Vec<V>,
    default: V,
    of: PhantomData<fn() -> K>,
}

impl<K, V: Default + Clone> Column<K, V> {
    /// A column in which nothing is set.
    #[must_use]
    pub fn new() -> Self {
        Self { values: Vec::new(), default: V::default(), of: PhantomData }
    }

    /// The value at a row's place.
    #[must_use]
    pub fn get(&self, id: Id<K>) -> &V {
        self.values.get(id.index()).unwrap_or(&self.default)
    }

    /// The value at a row's place, to change.
    #[must_use]
    pub fn get_mut(&mut self, id: Id<K>) -> &mut V {
        if id.index() >= self.values.len() {
            self.values.resize(id.index() + 1, self.default.clone());
        }
        &mut self.values[id.index()]
    }

    /// The values, by place, up to the last that was ever set.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.values.iter()
    }

    /// Puts the default back, and returns what was there.
    pub fn clear(&mut self, id: Id<K>) -> V {
        self.values.get_mut(id.index()).map(std::mem::take).unwrap_or_default()
    }
}

impl<K, V: Default + Clone> Default for Column<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Table;

    #[test]
    fn a_column_holds_defaults_until_set() {
        let mut table = Table::new();
        let ids: Vec<Id<char>> = "abc".chars().map(|row| table.insert(row)).collect();
        let mut column: Column<char, u32> = Column::new();
        assert_eq!(*column.get(ids[2]), 0);
        *column.get_mut(ids[1]) += 7;
        assert_eq!(ids.iter().map(|id| *column.get(*id)).collect::<Vec<_>>(), [0, 7, 0]);
        assert_eq!(column.clear(ids[1]), 7);
        assert_eq!(column.clear(ids[2]), 0);
        assert_eq!(*column.get(ids[1]), 0);
    }
}
