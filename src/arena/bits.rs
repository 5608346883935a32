//! Sets of small indexes.

use super::Id;

const WORD_BITS: usize = u64::BITS as usize;

/// What a [`BitSet`] can hold: indexes, and ids by their index.
pub trait BitIndex: Copy {
    /// The index.
    fn bit(self) -> usize;
}

impl BitIndex for usize {
    fn bit(self) -> usize {
        self
    }
}

impl BitIndex for u32 {
    fn bit(self) -> usize {
        self as usize
    }
}

impl<T> BitIndex for Id<T> {
    fn bit(self) -> usize {
        self.index()
    }
}

/// A set of indexes, one bit each; it grows as needed and iterates in ascending order.
///
/// Like a column it knows the places of rows, not their generations.
#[derive(Clone, Debug, Default)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Adds an index; whether it is new.
    pub fn insert(&mut self, index: impl BitIndex) -> bool {
        let (word, mask) = place(index);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & mask == 0;
        self.words[word] |= mask;
        is_new
    }

    /// Takes an index out; whether it was there.
    pub fn remove(&mut self, index: impl BitIndex) -> bool {
        let (word, mask) = place(index);
        let Some(word) = self.words.get_mut(word) else { return false };
        let was_there = *word & mask != 0;
        *word &= !mask;
        was_there
    }

    /// Adds an index or takes it out.
    pub fn set(&mut self, index: impl BitIndex, is_in: bool) {
        if is_in {
            self.insert(index);
        } else {
            self.remove(index);
        }
    }

    /// Whether an index is in the set.
    #[must_use]
    pub fn contains(&self, index: impl BitIndex) -> bool {
        let (word, mask) = place(index);
        self.words.get(word).is_some_and(|word| word & mask != 0)
    }

    /// Empties the set and keeps its memory.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// How many indexes are in the set; counts them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Adds all of another set.
    pub fn union(&mut self, other: &Self) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Keeps only what is in another set, too.
    pub fn intersect(&mut self, other: &Self) {
        for (index, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(index).copied().unwrap_or(0);
        }
    }

    /// The indexes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let lowest_first = std::iter::successors(Some(*word), |rest| Some(rest & rest.wrapping_sub(1)));
            let bits = lowest_first.take_while(|rest| *rest != 0).map(|rest| rest.trailing_zeros() as usize);
            bits.map(move |bit| index * WORD_BITS + bit)
        })
    }
}

fn place(index: impl BitIndex) -> (usize, u64) {
    (index.bit() / WORD_BITS, 1 << (index.bit() % WORD_BITS))
}

impl PartialEq for BitSet {
    fn eq(&self, other: &Self) -> bool {
        // Sets may differ in the memory they keep.
        self.iter().eq(other.iter())
    }
}

impl Eq for BitSet {}

impl<I: BitIndex> FromIterator<I> for BitSet {
    fn from_iter<T: IntoIterator<Item = I>>(indexes: T) -> Self {
        let mut set = Self::new();
        for index in indexes {
            set.insert(index);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bit_set_behaves_as_a_set(steps in prop::collection::vec((0..3_u8, 0..300_usize), 0..200)) {
            let (mut bits, mut set) = (BitSet::new(), BTreeSet::new());
            for (step, index) in steps {
                match step {
                    0 | 1 => prop_assert_eq!(bits.insert(index), set.insert(index)),
                    _ => prop_assert_eq!(bits.remove(index), set.remove(&index)),
                }
                prop_assert_eq!(bits.contains(index), set.contains(&index));
                prop_assert_eq!(bits.len(), set.len());
                prop_assert_eq!(bits.is_empty(), set.is_empty());
            }
            prop_assert!(bits.iter().eq(set.iter().copied()));
        }
    }

    #[test]
    fn unions_and_intersections_need_no_equal_sizes() {
        let (small, large): (BitSet, BitSet) =
            ([1_usize, 63].into_iter().collect(), [1_usize, 200].into_iter().collect());
        let mut union = small.clone();
        union.union(&large);
        assert_eq!(union.iter().collect::<Vec<_>>(), [1, 63, 200]);
        let mut both = large.clone();
        both.intersect(&small);
        assert_eq!(both.iter().collect::<Vec<_>>(), [1]);
        assert_eq!(both, [1_u32].into_iter().collect());
        both.clear();
        assert_eq!(both, BitSet::new());
    }
}
