//! When kubelets were heard: only the ends of silences are kept.

use crate::evidence::{Bounds, Instant};
use crate::units::SimDuration;

/// A word of a kubelet, and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    when: Bounds,
    place: u32,
}

/// Stretches of time in which a kubelet was never silent for long, in their order.
#[derive(Debug)]
pub(super) struct Heartbeats {
    silence: SimDuration,
    stretches: Vec<(Word, Word)>,
}

impl Heartbeats {
    /// Longer silences than this are told.
    pub(super) fn new(silence: SimDuration) -> Self {
        Self { silence, stretches: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Takes a word, in whichever order they come: logs of several API servers stand one behind the other.
    pub(super) fn hear(&mut self, when: Bounds, place: u32) {
        let word = Word { when, place };
        let is_near = |earlier: Instant, later: Instant| earlier.later(self.silence) >= later;
        let at = self.stretches.partition_point(|(first, _)| first.when.earliest <= when.earliest);
        let (before, after) = self.stretches.split_at_mut(at);
        let joins_earlier = before.last().is_some_and(|(_, last)| is_near(last.when.earliest, when.earliest));
        let joins_later = after.first().is_some_and(|(first, _)| is_near(when.earliest, first.when.earliest));
        match (before.last_mut(), after.first_mut(), joins_earlier, joins_later) {
            (Some(earlier), Some(later), true, true) => {
                earlier.1 = later.1;
                self.stretches.remove(at);
            }
            (Some(earlier), _, true, _) if when.earliest > earlier.1.when.earliest => earlier.1 = word,
            (Some(_), _, true, _) => {}
            (_, Some(later), _, true) => later.0 = word,
            _ => self.stretches.insert(at, (word, word)),
        }
    }

    /// The last word before each silence, the first after it, and the last of all.
    pub(super) fn told(&self) -> impl Iterator<Item = (Bounds, u32)> {
        let words = self.stretches.iter().enumerate().flat_map(|(index, (first, last))| {
            let first = Some(first).filter(|first| index > 0 && *first != last);
            first.into_iter().chain([last])
        });
        words.map(|word| (word.when, word.place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(heard: &[u64], expected: &[u64]) {
        let at = |second: u64| Instant::default().later(SimDuration::from_secs(second));
        let mut heartbeats = Heartbeats::new(SimDuration::from_secs(15));
        for (second, place) in heard.iter().zip(1..) {
            heartbeats.hear(Bounds::at(at(*second)), place);
        }
        let told: Vec<Instant> = heartbeats.told().map(|(when, _)| when.earliest).collect();
        assert_eq!(told, expected.iter().map(|second| at(*second)).collect::<Vec<_>>());
    }

    #[test]
    fn the_ends_of_silences_and_the_last_word_are_told() {
        check(&[], &[]);
        check(&[10], &[10]);
        check(&[0, 10, 20, 30], &[30]);
        check(&[0, 10, 60, 70, 80, 200], &[10, 60, 80, 200]);
    }

    #[test]
    fn the_order_does_not_matter() {
        check(&[60, 70, 80, 0, 10], &[10, 60, 80]);
        // What another API server heard fills the silence of the first.
        check(&[0, 10, 50, 60, 20, 30, 40], &[60]);
        check(&[50, 30, 40, 35], &[50]);
        check(&[0, 10, 10, 5], &[10]);
    }
}
