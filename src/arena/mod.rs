//! Dense storage: interned strings, tables with generational ids, columns beside them, sets of indexes, logs of changes.
//!
//! Everything that is iterated here is iterated in an order that the program's input decides: tables and sets by index,
//! symbols by text. There is deliberately no domain in it, and no reference counting.

mod bits;
mod change_log;
mod column;
mod symbol;
mod table;

pub use bits::{BitIndex, BitSet};
pub use change_log::ChangeLog;
pub use column::Column;
pub use symbol::{Symbol, stable_hash};
pub use table::{Id, Table};

pub(crate) use symbol::{StableHasher, sym};
