//! Work that parts do side by side: on as many threads as there are with the feature `parallel`, else one after the other.
//!
//! Results come in the order of the work, so that nothing depends on the number of threads.

use std::num::NonZeroUsize;

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// A list longer than so many items is done in as many pieces; a shorter one item by item, so that a thread that has nothing
/// left to do can take any that is not begun.
#[cfg(feature = "parallel")]
const PIECES_MAX: usize = 4096;

/// What becomes of each item, in their order.
#[cfg(feature = "parallel")]
pub(crate) fn map<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    items.par_iter().with_max_len(items.len() / PIECES_MAX + 1).map(&of).collect()
}

/// What becomes of each item, in their order.
#[cfg(not(feature = "parallel"))]
pub(crate) fn map<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    items.iter().map(of).collect()
}

/// Does each item until one fails.
///
/// # Errors
///
/// That of one which failed.
#[cfg(feature = "parallel")]
pub(crate) fn try_each<T: Sync, E: Send>(items: &[T], doing: impl Fn(&T) -> Result<(), E> + Sync) -> Result<(), E> {
    items.par_iter().with_max_len(items.len() / PIECES_MAX + 1).try_for_each(&doing)
}

/// Does each item until one fails.
///
/// # Errors
///
/// That of the first that failed.
#[cfg(not(feature = "parallel"))]
pub(crate) fn try_each<T: Sync, E: Send>(items: &[T], doing: impl Fn(&T) -> Result<(), E> + Sync) -> Result<(), E> {
    items.iter().try_for_each(doing)
}

/// The threads that do the work that is begun with [`Threads::install`].
#[derive(Debug)]
pub(crate) struct Threads {
    #[cfg(feature = "parallel")]
    pool: rayon::ThreadPool,
}

impl Threads {
    /// So many, or one a core if nothing is wanted: at most one a core, as more take memory and gain no time.
    ///
    /// # Errors
    ///
    /// Why the system starts none.
    #[cfg(feature = "parallel")]
    #[expect(clippy::disallowed_methods, reason = "how many threads there are changes no result")]
    pub(crate) fn new(wanted: Option<NonZeroUsize>) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let count = wanted.map_or(cores, |wanted| wanted.min(cores));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count.get());
        pool.build().map(|pool| Self { pool }).map_err(|error| error.to_string())
    }

    /// The thread that asks, whatever is wanted.
    ///
    /// # Errors
    ///
    /// None.
    #[cfg(not(feature = "parallel"))]
    pub(crate) fn new(_wanted: Option<NonZeroUsize>) -> Result<Self, String> {
        Ok(Self {})
    }

    /// How many there are.
    #[cfg(feature = "parallel")]
    pub(crate) fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// One.
    #[cfg(not(feature = "parallel"))]
    pub(crate) fn count(&self) -> usize {
        1
    }

    /// Does this on them.
    #[cfg(feature = "parallel")]
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// Does this.
    #[cfg(not(feature = "parallel"))]
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_work() {
        let items: Vec<u32> = (0..10_000).collect();
        let doubled = Threads::new(NonZeroUsize::new(4)).expect("threads").install(|| map(&items, |item| item * 2));
        assert!(doubled.iter().zip(&items).all(|(doubled, item)| *doubled == item * 2) && doubled.len() == items.len());
        let failed = try_each(&items, |item| if *item == 7 { Err(*item) } else { Ok(()) });
        assert_eq!(failed, Err(7));
    }
}
