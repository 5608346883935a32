//! Chance, by name.

use std::fmt;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::arena::StableHasher;

/// 32-bit words in one block of a stream: eight 64-bit draws.
const BLOCK_WORDS: u128 = 16;

/// All random streams of one seed.
///
/// A stream is named by its *concern* and its *entity*, for example `fault/machine-crashes` and `worker-7`: words of the
/// user's world, never ids, so that a new consumer or another variant of a study shifts nobody else's draws.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
    /// The seed as a ChaCha key, expanded once.
    key: [u8; 32],
    /// The bits of every draw that are turned over.
    mirror: u64,
}

impl Streams {
    /// The streams of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, key: ChaCha8Rng::seed_from_u64(seed).get_seed(), mirror: 0 }
    }

    /// The mirror image of these streams: where they draw a unit of `u`, it draws 1 - 2^-53 - `u`.
    ///
    /// # Source
    ///
    /// Antithetic variates: Hammersley and Morton, A new Monte Carlo technique, Proceedings of the Cambridge Philosophical
    /// Society 52 (1956).
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Self { mirror: !self.mirror, ..*self }
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The stream of an entity for a concern, from its start.
    #[must_use]
    pub fn stream(&self, concern: &str, entity: &str) -> Stream {
        let mut hasher = StableHasher::default();
        hasher.write(concern.as_bytes());
        // A byte that no text contains: ("ab", "c") and ("a", "bc") are two streams.
        hasher.write(&[0xff]);
        hasher.write(entity.as_bytes());
        let mut generator = ChaCha8Rng::from_seed(self.key);
        generator.set_stream(hasher.finish());
        Stream { generator, mirror: self.mirror }
    }

    /// The stream of an entity for a concern, from its block number `index`.
    ///
    /// A block is eight 64-bit draws long: as long as a consumer takes no more per index, the draws of different
    /// indexes are independent of each other, in whatever order they are made. Block 0 is the start of the stream.
    #[must_use]
    pub fn at(&self, concern: &str, entity: &str, index: u64) -> Stream {
        let mut stream = self.stream(concern, entity);
        stream.generator.set_word_pos(u128::from(index) * BLOCK_WORDS);
        stream
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Streams").field(&self.seed).finish()
    }
}

/// A sequence of random numbers. It is some 300 bytes large: make it, draw, and drop it.
#[derive(Clone, Debug)]
pub struct Stream {
    generator: ChaCha8Rng,
    mirror: u64,
}

impl Stream {
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64() ^ self.mirror
    }

    /// A number in [0, 1), a multiple of 2^-53; one draw.
    pub fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * SCALE
    }

    /// A whole number below `n`, all equally likely; nearly always one draw.
    ///
    /// # Panics
    ///
    /// If `n` is zero.
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(n > 0, "there is no number below zero to draw");
        // The high half of draw × n is the result. Low halves under 2^64 mod n would favour some results: draw again.
        let threshold = (u64::MAX - u64::from(n) + 1) % u64::from(n);
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as u32;
            }
        }
    }

    /// Puts items in random order, all orders equally likely; one draw per item but the first.
    ///
    /// # Panics
    ///
    /// If there are more than 2^32 items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let pick = self.below(bound(last + 1));
            items.swap(pick as usize, last);
        }
    }

    /// Draws `k` different indexes below `n`, in the order drawn; all of them if there are fewer. One draw per index.
    ///
    /// # Panics
    ///
    /// If `n` is more than 2^32.
    pub fn sample_indices(&mut self, n: usize, k: usize) -> Vec<usize> {
        let mut indexes: Vec<usize> = (0..n).collect();
        let count = k.min(n);
        for next in 0..count {
            let pick = self.below(bound(n - next));
            indexes.swap(next, next + pick as usize);
        }
        indexes.truncate(count);
        indexes
    }
}

fn bound(count: usize) -> u32 {
    u32::try_from(count).expect("random choices are among at most 2^32 items")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirrored_unit_and_its_image_are_one_but_for_the_last_bit() {
        let (streams, one) = (Streams::new(3), 1.0 - 1.0 / (1_u64 << 53) as f64);
        let mut image = streams.mirrored().stream("a", "b");
        let mut plain = streams.stream("a", "b");
        assert!((0..100).all(|_| plain.unit() + image.unit() == one));
        assert!(streams.mirrored().mirrored() == streams);
    }

    fn first(mut stream: Stream) -> [u64; 3] {
        std::array::from_fn(|_| stream.next_u64())
    }

    #[test]
    fn names_and_seeds_tell_streams_apart() {
        let streams = Streams::new(42);
        assert_eq!(first(streams.stream("a", "b")), first(streams.stream("a", "b")));
        assert_ne!(first(streams.stream("ab", "c")), first(streams.stream("a", "bc")));
        assert_ne!(first(streams.stream("a", "b")), first(Streams::new(43).stream("a", "b")));
    }

    /// The numbers of every recorded run depend on these; a change here changes all results.
    #[test]
    fn first_draws_are_frozen() {
        let stream = || Streams::new(42).stream("fault/machine-crashes", "worker-7");
        assert_eq!(first(stream()), [10_602_947_771_329_993_346, 1_388_566_720_455_131_756, 590_168_030_244_986_826]);
        let block = Streams::new(42).at("fault/machine-crashes", "worker-7", 5);
        assert_eq!(first(block), [9_409_033_268_066_678_089, 1_894_589_681_975_439_108, 8_234_340_887_038_727_179]);
        assert_eq!(stream().unit(), 0.574_786_950_421_315_8);
        assert_eq!(stream().below(1000), 574);
        let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
        stream().shuffle(&mut items);
        assert_eq!(items, [2, 1, 7, 3, 5, 6, 0, 4]);
        assert_eq!(stream().sample_indices(100, 5), [57, 8, 5, 14, 87]);
    }

    #[test]
    fn blocks_follow_each_other_in_the_stream() {
        let streams = Streams::new(7);
        let mut whole = streams.stream("pod-start", "shop/frontend");
        for index in 0..3 {
            let mut block = streams.at("pod-start", "shop/frontend", index);
            for _ in 0..8 {
                assert_eq!(block.next_u64(), whole.next_u64());
            }
        }
        // The last block there is.
        let _ = streams.at("pod-start", "shop/frontend", u64::MAX).next_u64();
    }

    #[test]
    fn numbers_below_a_bound_are_equally_likely() {
        let mut stream = Streams::new(1).stream("test", "below");
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1;
        }
        // Six standard deviations of a binomial count.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 560), "{counts:?}");
        assert_eq!(stream.below(1), 0);
        assert!(stream.below(u32::MAX) < u32::MAX);
    }

    #[test]
    fn shuffles_and_samples_permute() {
        let mut stream = Streams::new(1).stream("test", "shuffle");
        let mut items: Vec<usize> = (0..100).collect();
        stream.shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
        let mut sample = stream.sample_indices(50, 20);
        assert_eq!(sample.len(), 20);
        sample.sort_unstable();
        sample.dedup();
        assert_eq!(sample.len(), 20);
        assert_eq!(stream.sample_indices(3, 9).len(), 3);
        assert!(stream.sample_indices(0, 1).is_empty());
    }

    #[test]
    #[should_panic(expected = "no number below zero")]
    fn below_zero_there_is_nothing() {
        Streams::new(0).stream("a", "b").below(0);
    }
}
